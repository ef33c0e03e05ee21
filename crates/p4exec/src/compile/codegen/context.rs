//! What code and helpers share in the context, and where in the packet the code stands.

use cranelift_codegen::ir::{InstBuilder as _, Value, types::I64};

use super::{CONSTANT, FLAGS, Gen, Kind, field};

impl Gen<'_, '_> {
    /// Takes over where the packet ends.
    pub(super) fn find_end(&mut self) {
        let packet = self.load_ctx(field::PACKET);
        let len = self.load_ctx(field::PACKET_LEN);
        self.end = Some(self.b.ins().iadd(packet, len));
    }

    /// Whether the parser's place is a pointer in [`Gen::position`].
    pub(super) fn reads_bytes(&self) -> bool {
        self.kind == Kind::Parser && self.unit.plan.whole_bytes
    }

    /// Whether the deparser's place is a pointer in [`Gen::position`].
    pub(super) fn writes_bytes(&self) -> bool {
        self.kind == Kind::Deparser && self.unit.plan.out_room.is_some()
    }

    /// Takes the place in the packet over from the context.
    pub(super) fn load_position(&mut self) {
        let position = if self.reads_bytes() {
            self.load_cursor()
        } else if self.writes_bytes() {
            self.load_ctx(field::OUT)
        } else {
            return;
        };
        self.b.def_var(self.position, position);
    }

    /// Gives the place in the packet to the context.
    pub(super) fn save_position(&mut self) {
        if self.reads_bytes() {
            let at = self.b.use_var(self.position);
            let packet = self.load_ctx(field::PACKET);
            self.store_cursor(packet, at);
        } else if self.writes_bytes() {
            let at = self.b.use_var(self.position);
            self.store_ctx(field::OUT, at);
        }
    }

    /// The place in the packet that the context has.
    pub(super) fn load_cursor(&mut self) -> Value {
        let packet = self.load_ctx(field::PACKET);
        let bits = self.load_ctx(field::CURSOR);
        let bytes = self.b.ins().ushr_imm_s(bits, 3);
        self.b.ins().iadd(packet, bytes)
    }

    /// Gives a place in a packet to the context.
    pub(super) fn store_cursor(&mut self, packet: Value, at: Value) {
        let bytes = self.b.ins().isub(at, packet);
        let bits = self.b.ins().ishl_imm_s(bytes, 3);
        self.store_ctx(field::CURSOR, bits);
    }

    /// A field of the context; what it has of the packet, the function of all blocks knows.
    pub(super) fn load_ctx(&mut self, field: i32) -> Value {
        if let Some(arrived) = self.arrived {
            match field {
                field::PACKET => return arrived.at,
                field::PACKET_LEN | field::LENGTH => return arrived.length,
                _ => {}
            }
        }
        let flags = if field::CONSTANT.contains(&field) {
            CONSTANT
        } else {
            FLAGS
        };
        self.b.ins().load(I64, flags, self.ctx, field)
    }

    /// Sets a field of the context.
    pub(super) fn store_ctx(&mut self, field: i32, value: Value) {
        self.b.ins().store(FLAGS, value, self.ctx, field);
    }
}

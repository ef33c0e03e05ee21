//! All blocks of the pipeline in one function, with what `simple_switch` does between them for a
//! packet that asks for nothing special: what one block stored, the next finds in a register.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value};
use p4ir::{Callee, ControlId};

use super::{Gen, Kind, Label, field};
use crate::compile::jit::Way;
use crate::v1model::{DROP_PORT, instance_type};

impl Gen<'_, '_> {
    /// The function of all blocks. It is given a cleared frame in which the metadata of a received
    /// packet is set, and returns a [`Way`].
    pub(super) fn whole(&mut self) {
        let info = self.unit.info;
        let blocks = &info.blocks;
        let callees = |ids: &[ControlId]| -> Vec<Callee> {
            ids.iter().copied().map(Callee::Control).collect()
        };
        let standard = &self.unit.info.standard;
        self.start_cleared();
        let abort = self.label();
        self.in_turn(&[Callee::Parser(blocks.parser)], None);
        if self.live {
            self.save_position();
            let error = self.b.use_var(self.error);
            self.set_standard(standard.parser_error, error);
        }
        self.enter(Kind::Control);
        let ingress = callees(&blocks.ingress);
        self.in_turn(&ingress, Some(abort));
        let before = self.label();
        let dropped = self.label();
        self.leave_if_requested(before);
        let group = self.standard(standard.mcast_grp);
        self.leave_if(group, before);
        let port = self.standard(standard.egress_spec);
        self.leave_if_dropped(port, dropped);
        self.enter_egress(port);
        self.enter(Kind::Control);
        self.in_turn(&callees(&blocks.egress), Some(abort));
        let after = self.label();
        let dropped_late = self.label();
        self.leave_if_requested(after);
        let port = self.standard(standard.egress_spec);
        self.leave_if_dropped(port, dropped_late);
        self.enter(Kind::Deparser);
        let last = callees(&blocks.deparser);
        self.in_turn(&last, Some(abort));
        if self.live {
            self.save_position();
        }
        self.end(Way::Sent);
        for (label, way) in [
            (abort, Way::Aborted),
            (before, Way::AfterIngress),
            (dropped, Way::DroppedInIngress),
            (after, Way::AfterEgress),
            (dropped_late, Way::DroppedInEgress),
        ] {
            self.bind(label);
            self.end(way);
        }
    }

    /// What was not set for the packet is zero.
    fn start_cleared(&mut self) {
        let (info, layout) = (self.unit.info, self.unit.layout);
        let standard = &info.standard;
        let mut set = Vec::new();
        for leaf in [
            standard.ingress_port,
            standard.packet_length,
            standard.ingress_global_timestamp,
            info.port_status,
        ] {
            let slot = leaf.map(|leaf| layout.slot(leaf));
            set.extend(slot.map(|slot| slot.word..slot.word + slot.words()));
        }
        let zero = self.imm(0);
        for word in 0..layout.kept as u32 {
            if !set.iter().any(|words| words.contains(&word)) {
                self.cache.insert(word, zero);
            }
        }
    }

    /// Begins a block of another kind.
    fn enter(&mut self, kind: Kind) {
        self.kind = kind;
        if self.live {
            let zero = self.imm(0);
            self.store_ctx(field::ROUNDS, zero);
            self.load_position();
        }
    }

    /// What a packet enters egress with.
    fn enter_egress(&mut self, port: Value) {
        if !self.live {
            return;
        }
        let standard = &self.unit.info.standard;
        self.store_ctx(field::PORT, port);
        let rid = self.standard(standard.egress_rid);
        self.store_ctx(field::RID, rid);
        let zero = self.imm(0);
        let normal = self.imm_u(instance_type::NORMAL);
        let length = self.load_ctx(field::LENGTH);
        let now = self.load_ctx(field::NOW_US);
        for (leaf, value) in [
            (standard.instance_type, normal),
            (standard.egress_port, port),
            (standard.egress_spec, zero),
            (standard.packet_length, length),
            (standard.enq_timestamp, now),
            (standard.egress_global_timestamp, now),
        ] {
            self.set_standard(leaf, value);
        }
    }

    /// A field of the standard metadata, zero if the program's has none.
    fn standard(&mut self, leaf: Option<usize>) -> Value {
        match leaf {
            Some(leaf) if self.live => {
                let word = self.unit.layout.slot(leaf).word;
                self.load_word(word)
            }
            _ => self.imm(0),
        }
    }

    /// Sets a field of the standard metadata to the low bits of a value.
    fn set_standard(&mut self, leaf: Option<usize>, value: Value) {
        if let Some(leaf) = leaf {
            let slot = self.unit.layout.slot(leaf);
            let value = self.and_imm(value, u64::MAX >> (64 - slot.width.clamp(1, 64)));
            self.store_word(slot.word, value);
        }
    }

    /// Leaves if some block asked the switch for something.
    fn leave_if_requested(&mut self, there: Label) {
        if self.live && self.unit.requests > 0 {
            let requested = self.load_ctx(field::REQUESTED);
            self.leave_if(requested, there);
        }
    }

    fn leave_if_dropped(&mut self, port: Value, there: Label) {
        if self.live {
            let dropped = self
                .b
                .ins()
                .icmp_imm_s(IntCC::Equal, port, DROP_PORT as i64);
            self.leave_if(dropped, there);
        }
    }

    fn leave_if(&mut self, condition: Value, there: Label) {
        if self.live {
            self.branch_if(condition, there);
        }
    }

    fn end(&mut self, way: Way) {
        if self.live {
            let code = self.imm_u(way as u64);
            self.b.ins().return_(&[code]);
            self.live = false;
        }
    }
}

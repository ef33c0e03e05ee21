//! Reading headers from the packet.
//!
//! Where the parser always stands between two bytes, a header is compared with the packet's end
//! once; its fields are then cut out of words loaded whole. Otherwise, and for varbits, a helper
//! does it bit by bit.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder as _, MemFlagsData, Type, Value};
use p4ir::{ExprId, LeafKind, Place, TypeId};

use super::place::Spot;
use super::words::{Words, top_mask};
use super::{Gen, Helper};
use crate::compile::frame::Slot;
use crate::compile::site::Site;
use crate::v1model::set_by_reading;

/// Packets lie at any address.
pub(super) const BYTES: MemFlagsData = MemFlagsData::new().with_notrap();

/// Where a field was cut out: bits of a word of the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) word: Value,
    /// Bits of the word below the field.
    pub(super) low: u32,
    pub(super) width: u32,
    pub(super) source: Source,
}

/// A place in the packet: so many bits behind an address that has so many bytes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) at: Value,
    pub(super) bytes: u32,
    pub(super) bit: u32,
}

/// Bytes of the packet from a pointer on, as many as were found to be there, and the words loaded
/// so far.
struct Window {
    at: Value,
    bytes: u32,
    loaded: HashMap<u32, Value>,
}

impl Gen<'_, '_> {
    /// Takes a header from the packet. `varbit` is the length of its varbit field in bits.
    pub(super) fn extract(
        &mut self,
        header: &Place,
        varbit: Option<ExprId>,
        advance: Option<&Place>,
    ) {
        let (spot, ty) = (self.locate(header), self.place_type(header));
        match spot {
            Spot::Fixed(_) => {}
            Spot::Nowhere => return self.reject_named("StackOutOfBounds"),
            Spot::Moving { ok, .. } => {
                let (good, bad) = (self.label(), self.label());
                self.branch(ok, good, bad);
                self.bind(bad);
                self.reject_named("StackOutOfBounds");
                self.bind(good);
            }
        }
        match varbit {
            None if self.reads_bytes() => self.extract_whole(&spot, ty),
            None => {
                let none = self.imm(0);
                self.extract_slowly(&spot, ty, none, true);
            }
            Some(size) => {
                let bits = self.number(size);
                let odd = self.and_imm(bits, 7);
                let (good, bad) = (self.label(), self.label());
                self.branch(odd, bad, good);
                self.bind(bad);
                self.reject_named("ParserInvalidArgument");
                self.bind(good);
                self.extract_slowly(&spot, ty, bits, true);
            }
        }
        if let (Some(stack), true) = (advance, self.live) {
            let stack = self.locate(stack);
            let next = self.read(&stack, 1)[0];
            let next = self.b.ins().iadd_imm_s(next, 1);
            let next = self.and_imm(next, u64::from(u32::MAX));
            self.write(&stack, &[next]);
        }
    }

    fn extract_slowly(&mut self, spot: &Spot, ty: TypeId, varbit: Value, take: bool) {
        let leaves = self.unit.layout.shape(self.unit.program, ty);
        let site = self.site(Site::Leaves(leaves));
        self.flush_place(spot, ty);
        let word = self.word_index(spot, true);
        let take_arg = self.imm(i64::from(take));
        self.save_position();
        let error = self.call_helper(Helper::Extract, &[self.ctx, site, word, varbit, take_arg]);
        self.load_position();
        let (good, bad) = (self.label(), self.label());
        self.branch(error, bad, good);
        self.bind(bad);
        let error = self.b.ins().iadd_imm_s(error, -1);
        self.reject(error);
        self.bind(good);
        self.forget_place(spot, ty);
    }

    fn extract_whole(&mut self, spot: &Spot, ty: TypeId) {
        let next = self.read_leaves(spot, ty);
        self.b.def_var(self.position, next);
    }

    /// Reads the leaves of a type at the parser's place, which does not move; where they end.
    fn read_leaves(&mut self, spot: &Spot, ty: TypeId) -> Value {
        let leaves = self.unit.layout.shape(self.unit.program, ty);
        let bits: u32 = leaves.iter().map(|leaf| packet_width(*leaf)).sum();
        let bytes = bits.div_ceil(8);
        let at = self.b.use_var(self.position);
        let next = self.b.ins().iadd_imm_s(at, i64::from(bytes));
        let end = self.end.unwrap_or(next);
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, next, end);
        let (good, bad) = (self.label(), self.label());
        self.branch(beyond, bad, good);
        self.bind(bad);
        self.reject_named("PacketTooShort");
        self.bind(good);
        let mut window = Window {
            at,
            bytes,
            loaded: HashMap::new(),
        };
        let mut bit = 0;
        for leaf @ (slot, kind) in leaves {
            let value = if let Some(value) = set_by_reading(kind) {
                vec![self.imm(value.low_u64() as i64)]
            } else {
                let width = packet_width(leaf);
                let mut value = self.field(&mut window, bit, width);
                bit += width;
                value.resize(slot.words() as usize, self.imm(0));
                value
            };
            let part = self.part(spot, slot.word);
            self.write(&part, &value);
        }
        next
    }

    /// `width` bits of a window.
    fn field(&mut self, window: &mut Window, bit: u32, width: u32) -> Words {
        let mut result = Vec::new();
        let mut left = width;
        while left > 64 {
            result.push(self.field_word(window, bit + left - 64, 64));
            left -= 64;
        }
        result.push(self.field_word(window, bit, left));
        result
    }

    /// Up to 64 bits of a window.
    fn field_word(&mut self, window: &mut Window, bit: u32, width: u32) -> Value {
        if width == 0 {
            return self.imm(0);
        }
        let (first, last) = (bit / 8, (bit + width - 1) / 8);
        if last - first >= 8 {
            let low = self.field_word(window, bit + width - 32, 32);
            let high = self.field_word(window, bit, width - 32);
            let high = self.shl_imm(high, 32);
            return self.or(high, low);
        }
        let (word, behind) = if window.bytes < 8 {
            (self.small_window(window), window.bytes * 8)
        } else {
            // Neighbours share words that begin at multiples of eight.
            let aligned = first / 8 * 8;
            let start = if last < aligned + 8 && aligned + 8 <= window.bytes {
                aligned
            } else {
                first.min(window.bytes - 8)
            };
            (self.window_word(window, start), (start + 8) * 8)
        };
        let low = behind - (bit + width);
        let value = self.moved(word, -(low as i32), top_mask(width));
        let source = Source {
            at: window.at,
            bytes: window.bytes,
            bit,
        };
        let origin = Origin {
            word,
            low,
            width,
            source,
        };
        self.origins.insert(value, origin);
        value
    }

    /// Eight bytes of a window as a number.
    fn window_word(&mut self, window: &mut Window, start: u32) -> Value {
        if let Some(known) = window.loaded.get(&start) {
            return *known;
        }
        let raw = self.b.ins().load(I64, BYTES, window.at, start as i32);
        let word = self.b.ins().bswap(raw);
        window.loaded.insert(start, word);
        word
    }

    /// All bytes of a window of fewer than eight as a number.
    fn small_window(&mut self, window: &mut Window) -> Value {
        if let Some(known) = window.loaded.get(&0) {
            return *known;
        }
        let size = window.bytes;
        let piece = 1 << size.max(1).ilog2();
        let mut word = self.piece(window.at, 0, piece);
        if size > piece {
            // The second piece overlaps the first unless both fill the window.
            let low = self.piece(window.at, size - piece, piece);
            let word_up = self.shl_imm(word, (size - piece) * 8);
            let low = self.and_imm(low, top_mask((size - piece) * 8));
            word = self.or(word_up, low);
        }
        window.loaded.insert(0, word);
        word
    }

    /// One, two or four bytes as a number.
    fn piece(&mut self, at: Value, offset: u32, size: u32) -> Value {
        let raw = self.b.ins().load(integer(size), BYTES, at, offset as i32);
        let number = self.turned(raw);
        self.b.ins().uextend(I64, number)
    }

    /// A number of bytes in network order as it is loaded or stored.
    pub(super) fn turned(&mut self, number: Value) -> Value {
        match self.b.func.dfg.value_type(number) {
            I8 => number,
            _ => self.b.ins().bswap(number),
        }
    }

    /// Reads the bits ahead into a place; headers in it become valid.
    pub(super) fn lookahead(&mut self, dst: &Place) {
        let (spot, ty) = (self.locate(dst), self.place_type(dst));
        if matches!(spot, Spot::Nowhere) {
            return;
        }
        let done = self.label();
        if let Spot::Moving { ok, .. } = spot {
            self.branch_unless(ok, done);
        }
        if self.reads_bytes() {
            self.read_leaves(&spot, ty);
        } else {
            let none = self.imm(0);
            self.extract_slowly(&spot, ty, none, false);
        }
        self.goto(done);
        self.bind(done);
    }

    /// Moves the parser ahead, by whole bytes as BMv2 does.
    pub(super) fn skip(&mut self, bits: ExprId) {
        let bits = self.eval(bits);
        let odd = self.and_imm(bits[0], 7);
        let (good, bad) = (self.label(), self.label());
        self.branch(odd, bad, good);
        self.bind(bad);
        self.reject_named("ParserInvalidArgument");
        self.bind(good);
        let bits = self.saturated(&bits);
        let bytes = self.shr_imm(bits, 3);
        let left = if let (true, Some(end)) = (self.reads_bytes(), self.end) {
            let at = self.b.use_var(self.position);
            self.b.ins().isub(end, at)
        } else {
            let len = self.load_ctx(super::field::PACKET_LEN);
            let all = self.shl_imm(len, 3);
            let cursor = self.load_ctx(super::field::CURSOR);
            let left = self.b.ins().isub(all, cursor);
            // The amount is a whole number of bytes, so what is left may be rounded down.
            self.shr_imm(left, 3)
        };
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, bytes, left);
        let (good, bad) = (self.label(), self.label());
        self.branch(beyond, bad, good);
        self.bind(bad);
        self.reject_named("PacketTooShort");
        self.bind(good);
        if self.reads_bytes() {
            let at = self.b.use_var(self.position);
            let next = self.b.ins().iadd(at, bytes);
            self.b.def_var(self.position, next);
        } else {
            let cursor = self.load_ctx(super::field::CURSOR);
            let bits = self.shl_imm(bytes, 3);
            let next = self.b.ins().iadd(cursor, bits);
            self.store_ctx(super::field::CURSOR, next);
        }
    }
}

/// The integer of so many bytes: 1, 2, 4 or 8.
pub(super) const fn integer(bytes: u32) -> Type {
    match bytes {
        1 => I8,
        2 => I16,
        4 => I32,
        _ => I64,
    }
}

/// Bits of a leaf in a packet, a varbit being empty.
pub(super) fn packet_width((slot, kind): (Slot, LeafKind)) -> u32 {
    if kind.is_data() { slot.width } else { 0 }
}

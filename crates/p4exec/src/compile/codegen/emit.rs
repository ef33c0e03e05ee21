//! Writing headers to the packet.
//!
//! Where the deparser always stands between two bytes, the fields of a header are joined to words
//! that are stored whole. Of a header that was taken from the packet, what the program did not
//! change is copied from there, and only the rest is joined. Otherwise, and for varbits, a helper
//! writes bit by bit.

use std::ops::Range;

use cranelift_codegen::ir::types::{I8X16, I64};
use cranelift_codegen::ir::{InstBuilder as _, Value};
use p4ir::{LeafKind, Place};

use super::packet::{BYTES, Source, integer, packet_width};
use super::place::Spot;
use super::words::Words;
use super::{Gen, Helper};
use crate::compile::frame::Slot;
use crate::compile::site::Site;

/// Bytes from which on it is worth copying them.
const SOME_BYTES: u32 = 2;

/// The most bytes that are copied at once.
const VECTOR_BYTES: u32 = 16;

/// Fields that fill whole bytes of a header together.
struct Group {
    fields: Range<usize>,
    bytes: Range<u32>,
    /// The header in the packet that has these fields at this place, unchanged.
    of: Option<Source>,
}

impl Gen<'_, '_> {
    /// Appends a header to the outgoing packet if it is valid.
    pub(super) fn emit(&mut self, header: &Place) {
        let (spot, ty) = (self.locate(header), self.place_type(header));
        let valid = self.read(&spot, 1)[0];
        let done = self.label();
        self.branch_unless(valid, done);
        let leaves = self.unit.layout.shape(self.unit.program, ty);
        let varbit = leaves.iter().any(|(slot, _)| slot.varbit.is_some());
        if self.writes_bytes() && !varbit {
            self.emit_whole(&spot, &leaves);
        } else {
            let site = self.site(Site::Leaves(leaves));
            self.flush_place(&spot, ty);
            let word = self.word_index(&spot, false);
            if self.writes_bytes() {
                self.save_position();
                self.call_helper(Helper::EmitBytes, &[self.ctx, site, word]);
                self.load_position();
            } else {
                self.call_helper(Helper::Emit, &[self.ctx, site, word]);
            }
        }
        self.goto(done);
        self.bind(done);
    }

    fn emit_whole(&mut self, spot: &Spot, leaves: &[(Slot, LeafKind)]) {
        let mut fields = Vec::new();
        for leaf @ (slot, kind) in leaves {
            if kind.is_data() {
                let part = self.part(spot, slot.word);
                let value = self.read(&part, slot.words() as usize);
                fields.push((value, packet_width(*leaf)));
            }
        }
        let bits: u32 = fields.iter().map(|(_, width)| width).sum();
        let at = self.b.use_var(self.position);
        match self.kept(&fields) {
            Some((groups, source)) => self.copy_and_mend(&fields, &groups, source, at),
            None => {
                let words = self.joined(&fields);
                self.store_joined(&words, at);
            }
        }
        let next = self.b.ins().iadd_imm_s(at, i64::from(bits / 8));
        self.b.def_var(self.position, next);
    }

    /// The groups of a header's fields, and the header in the packet that has some of them, if
    /// there is one.
    fn kept(&self, fields: &[(Words, u32)]) -> Option<(Vec<Group>, Source)> {
        let mut groups: Vec<Group> = Vec::new();
        let (mut bit, mut first, mut of) = (0, 0, None);
        for (i, (value, width)) in fields.iter().enumerate() {
            let source = self.source_of(value, *width, bit);
            of = if i == first || source == of {
                source
            } else {
                None
            };
            bit += width;
            if bit.is_multiple_of(8) {
                let from = groups.last().map_or(0, |group| group.bytes.end);
                groups.push(Group {
                    fields: first..i + 1,
                    bytes: from..bit / 8,
                    of,
                });
                first = i + 1;
            }
        }
        let source = groups.iter().find_map(|group| group.of)?;
        for group in &mut groups {
            group.of = group.of.filter(|of| *of == source);
        }
        let kept = groups.iter().filter(|group| group.of.is_some());
        let count: u32 = kept.map(|group| group.bytes.len() as u32).sum();
        let is_whole = bit.is_multiple_of(8) && source.bit / 8 + bit / 8 <= source.bytes;
        (is_whole && count >= SOME_BYTES).then_some((groups, source))
    }

    /// The header in the packet that has a field's value at a place, if it was cut out of one and
    /// begins between two bytes.
    fn source_of(&self, value: &[Value], width: u32, bit: u32) -> Option<Source> {
        let mut found = None;
        for (i, low) in (0..width).step_by(64).enumerate() {
            let count = (width - low).min(64);
            let origin = self.origins.get(value.get(i)?)?;
            let place = bit + width - low - count;
            let source = Source {
                bit: origin.source.bit.checked_sub(place)?,
                ..origin.source
            };
            let same = found.is_none_or(|found| found == source);
            if !same || origin.width != count || !source.bit.is_multiple_of(8) {
                return None;
            }
            found = Some(source);
        }
        found
    }

    /// Copies a header from the packet to an address, and stores the groups that the packet has
    /// not.
    fn copy_and_mend(
        &mut self,
        fields: &[(Words, u32)],
        groups: &[Group],
        source: Source,
        at: Value,
    ) {
        let length = groups.last().map_or(0, |group| group.bytes.end);
        let offset = source.bit / 8;
        for bytes in pieces(length) {
            let kept = |group: &Group| {
                group.of.is_some() && group.bytes.start < bytes.end && bytes.start < group.bytes.end
            };
            if groups.iter().any(kept) {
                let ty = match bytes.end - bytes.start {
                    VECTOR_BYTES => I8X16,
                    count => integer(count),
                };
                let from = (offset + bytes.start) as i32;
                let piece = self.b.ins().load(ty, BYTES, source.at, from);
                self.b.ins().store(BYTES, piece, at, bytes.start as i32);
            }
        }
        let runs = groups.chunk_by(|a, b| a.of.is_none() && b.of.is_none());
        for run in runs.filter(|run| run[0].of.is_none()) {
            let (first, last) = (&run[0], &run[run.len() - 1]);
            let fields = &fields[first.fields.start..last.fields.end];
            self.store_bytes(fields, at, first.bytes.start);
        }
    }

    /// Stores fields that fill whole bytes, and no byte besides.
    fn store_bytes(&mut self, fields: &[(Words, u32)], at: Value, offset: u32) {
        let bits: u32 = fields.iter().map(|(_, width)| width).sum();
        // The first word is the one that is not full; its bytes are the lowest.
        let first = bits / 8 % 8;
        let mut padded = Vec::with_capacity(fields.len() + 1);
        if first > 0 {
            padded.push((vec![self.imm(0)], 64 - first * 8));
        }
        padded.extend_from_slice(fields);
        let words = self.joined(&padded);
        let mut to = offset;
        for (i, word) in words.into_iter().enumerate() {
            let count = if i == 0 && first > 0 { first } else { 8 };
            self.store_low(word, count, at, to);
            to += count;
        }
    }

    /// Stores the lowest bytes of a word (1 to 8), in network order.
    fn store_low(&mut self, word: Value, count: u32, at: Value, offset: u32) {
        if count.is_power_of_two() {
            let low = match integer(count) {
                I64 => word,
                ty => self.b.ins().ireduce(ty, word),
            };
            let raw = self.turned(low);
            self.b.ins().store(BYTES, raw, at, offset as i32);
            return;
        }
        // The largest part that a store takes, then the rest.
        let part = 1 << count.ilog2();
        let rest = count - part;
        let high = self.shr_imm(word, rest * 8);
        self.store_low(high, part, at, offset);
        self.store_low(word, rest, at, offset + part);
    }

    /// Stores joined words at an address, as bytes in network order.
    pub(super) fn store_joined(&mut self, words: &[Value], at: Value) {
        for (i, word) in words.iter().enumerate() {
            self.store_low(*word, 8, at, (i * 8) as u32);
        }
    }
}

/// The parts in which so many bytes are copied: as large as they can be, the last one overlapping
/// where that spares others.
fn pieces(length: u32) -> Vec<Range<u32>> {
    let mut pieces = Vec::new();
    let size = 1 << length.max(1).ilog2().min(VECTOR_BYTES.ilog2());
    let mut from = 0;
    while from < length {
        let left = length - from;
        let piece = match left {
            _ if left >= size => from..from + size,
            1 | 2 | 4 | 8 => from..length,
            _ => length - size..length,
        };
        from = piece.end;
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_cover_all_bytes_and_none_besides() {
        for length in 0..100 {
            let mut covered = vec![false; length as usize];
            for piece in pieces(length) {
                assert!(matches!(piece.end - piece.start, 1 | 2 | 4 | 8 | 16));
                piece.for_each(|byte| covered[byte as usize] = true);
            }
            assert!(covered.into_iter().all(|byte| byte), "{length}");
        }
    }
}

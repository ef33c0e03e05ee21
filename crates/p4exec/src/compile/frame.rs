//! Where everything lies while a packet is processed: one flat array of 64-bit words.
//!
//! A leaf of up to 64 bits is one word; a wider one `ceil(width / 64)` words, the lowest first; a
//! varbit a word with its length in bits and then the words of its maximum, zero beyond the length.
//! Words hold canonical values: no bit above the width is ever set. Headers, user metadata and
//! standard metadata lie at the start, so that one fill clears and one copy keeps them. Behind all
//! variables lie two areas as large as the largest type: one is always zero and is read where an
//! index is out of bounds, the other takes what is written there.

use std::collections::HashMap;
use std::ops::Range;

use p4ir::{Entity as _, LeafKind, Type, TypeId, ValidProgram, VarId};
use serde::{Deserialize, Serialize};

use crate::info::ProgramInfo;
use crate::v1model::leaf_width;
use crate::value::Bits;

/// One leaf in the frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Slot {
    /// Its first word.
    pub(super) word: u32,
    /// Bits; 0 for a varbit.
    pub(super) width: u32,
    /// The most bits, if it is a varbit.
    pub(super) varbit: Option<u32>,
}

impl Slot {
    fn new(word: u32, kind: LeafKind) -> Self {
        let varbit = match kind {
            LeafKind::Varbit { max } => Some(max),
            _ => None,
        };
        Self {
            word,
            width: leaf_width(kind),
            varbit,
        }
    }

    /// A value of so many bits.
    pub(super) const fn of_bits(word: u32, width: u32) -> Self {
        Self {
            word,
            width,
            varbit: None,
        }
    }

    /// Words it takes.
    pub(super) fn words(self) -> u32 {
        match self.varbit {
            Some(max) => 1 + max.div_ceil(64),
            None => self.width.div_ceil(64).max(1),
        }
    }

    /// Its value in a frame, or in words laid out the same way.
    pub(super) fn read(self, frame: &[u64]) -> Bits {
        let at = self.word as usize;
        let words = &frame[at..at + self.words() as usize];
        match self.varbit {
            Some(_) => bits_of(words[0] as u32, &words[1..]),
            None => bits_of(self.width, words),
        }
    }

    /// Stores a value, which has its width or, in a varbit, at most its maximum.
    pub(super) fn write(self, frame: &mut [u64], value: &Bits) {
        let at = self.word as usize;
        let words = &mut frame[at..at + self.words() as usize];
        let words = if self.varbit.is_some() {
            words[0] = u64::from(value.width());
            &mut words[1..]
        } else {
            words
        };
        words_of(value, words);
    }
}

/// The value of some words, the lowest first.
pub(super) fn bits_of(width: u32, words: &[u64]) -> Bits {
    match width {
        0 => Bits::zero(0),
        1..=64 => Bits::from_u64(width, words[0]),
        65..=128 => Bits::from_u128(width, u128::from(words[1]) << 64 | u128::from(words[0])),
        _ => {
            let used = &words[..width.div_ceil(64) as usize];
            let high_first: Vec<u64> = used.iter().rev().copied().collect();
            Bits::from_words(width, &high_first)
        }
    }
}

/// Writes a value as words, the lowest first, zeroes above.
pub(super) fn words_of(value: &Bits, out: &mut [u64]) {
    out.fill(0);
    if value.width() <= 64 {
        if let Some(word) = out.first_mut() {
            *word = value.low_u64();
        }
        return;
    }
    let mut high_first = Vec::new();
    value.push_words(&mut high_first);
    for (word, value) in out.iter_mut().zip(high_first.iter().rev()) {
        *word = *value;
    }
}

/// The layout of the frame.
#[derive(Clone, Debug)]
pub(super) struct FrameLayout {
    /// By leaf of the program's layout.
    slots: Vec<Slot>,
    bases: Vec<u32>,
    per_type: HashMap<TypeId, u32>,
    /// Words from the start of a record to each of its fields.
    offsets: HashMap<TypeId, Vec<u32>>,
    /// Words of headers and metadata, which come first.
    pub(super) kept: usize,
    /// First word of the area that reads as zero.
    pub(super) zeros: u32,
    /// First word of the area that takes stray writes.
    pub(super) dump: u32,
    /// All words.
    pub(super) words: usize,
}

impl FrameLayout {
    pub(super) fn new(program: &ValidProgram, info: &ProgramInfo) -> Self {
        let layout = program.layout();
        let mut per_type = HashMap::new();
        let mut offsets = HashMap::new();
        for (id, ty) in program.types.iter() {
            let words = match ty {
                Type::Record { kind, fields, .. } => {
                    let mut next = u32::from(*kind == p4ir::RecordKind::Header);
                    let mut starts = Vec::with_capacity(fields.len());
                    for field in fields {
                        starts.push(next);
                        next += per_type[&field.ty];
                    }
                    offsets.insert(id, starts);
                    next
                }
                Type::Stack { element, size } => 1 + size * per_type[element],
                Type::Varbit { max } => 1 + max.div_ceil(64),
                Type::Bits { width, .. } => width.div_ceil(64).max(1),
                _ => 1,
            };
            per_type.insert(id, words);
        }
        let first = info.kept_vars();
        let rest = program.vars.keys().filter(|var| !first.contains(var));
        let mut slots = vec![Slot::new(0, LeafKind::Bool); layout.leaves().len()];
        let mut bases = vec![0; program.vars.len()];
        let (mut next, mut kept) = (0, 0);
        for (order, var) in first.iter().copied().chain(rest).enumerate() {
            bases[var.index()] = next;
            let start = layout.base(var) as usize;
            let count = layout.leaves_of(program.vars[var].ty) as usize;
            let leaves = start..start + count;
            for (slot, leaf) in slots[leaves.clone()]
                .iter_mut()
                .zip(&layout.leaves()[leaves])
            {
                *slot = Slot::new(next, leaf.kind);
                next += slot.words();
            }
            if order + 1 == first.len() {
                kept = next as usize;
            }
        }
        let largest = per_type.values().copied().max().unwrap_or(1).max(1);
        Self {
            slots,
            bases,
            per_type,
            offsets,
            kept,
            zeros: next,
            dump: next + largest,
            words: (next + 2 * largest) as usize,
        }
    }

    /// A leaf.
    pub(super) fn slot(&self, leaf: usize) -> Slot {
        self.slots[leaf]
    }

    /// First word of a variable.
    pub(super) fn base(&self, var: VarId) -> u32 {
        self.bases[var.index()]
    }

    /// Words of a type.
    pub(super) fn words_of(&self, ty: TypeId) -> u32 {
        self.per_type.get(&ty).copied().unwrap_or(1)
    }

    /// The words of a run of leaves of one variable.
    pub(super) fn range(&self, leaves: &Range<usize>) -> Range<usize> {
        if leaves.is_empty() {
            return 0..0;
        }
        let last = self.slots[leaves.end - 1];
        self.slots[leaves.start].word as usize..(last.word + last.words()) as usize
    }

    /// Words from the start of a record to a field of it.
    pub(super) fn field_offset(&self, record: TypeId, field: u32) -> u32 {
        let starts = self.offsets.get(&record);
        starts.map_or(0, |starts| starts[field as usize])
    }

    /// The leaves of a type, placed as if it began at word 0.
    pub(super) fn shape(&self, program: &ValidProgram, ty: TypeId) -> Vec<(Slot, LeafKind)> {
        let mut leaves = Vec::new();
        let mut next = 0;
        self.collect(program, ty, &mut next, &mut leaves);
        leaves
    }

    fn collect(
        &self,
        program: &ValidProgram,
        ty: TypeId,
        next: &mut u32,
        leaves: &mut Vec<(Slot, LeafKind)>,
    ) {
        let mut push = |next: &mut u32, kind| {
            let slot = Slot::new(*next, kind);
            *next += slot.words();
            leaves.push((slot, kind));
        };
        match &program.types[ty] {
            Type::Record { kind, fields, .. } => {
                if *kind == p4ir::RecordKind::Header {
                    push(next, LeafKind::Valid);
                }
                for field in fields {
                    self.collect(program, field.ty, next, leaves);
                }
            }
            Type::Stack { element, size } => {
                push(next, LeafKind::NextIndex);
                for _ in 0..*size {
                    self.collect(program, *element, next, leaves);
                }
            }
            Type::Bits { width, signed } => push(
                next,
                LeafKind::Bits {
                    width: *width,
                    signed: *signed,
                },
            ),
            Type::Bool => push(next, LeafKind::Bool),
            Type::Error => push(next, LeafKind::Error),
            Type::Enum { .. } => push(next, LeafKind::Enum),
            Type::Varbit { max } => push(next, LeafKind::Varbit { max: *max }),
            Type::String => push(next, LeafKind::Str),
        }
    }
}

//! Values of the oracle: numbers that may be undefined, and what is made of them.

use super::ast::{ELEMENTS, Record, Ty};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A number of some width; `None` where the language leaves it undefined.
    Number(u32, Option<u64>),
    /// A struct or header: whether it is valid (a struct always is), and its fields.
    Record(bool, Vec<Value>),
    /// A stack: its `nextIndex` and elements.
    Stack(usize, Vec<Value>),
}

/// The largest number of some width.
pub(super) const fn ones(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

impl Value {
    /// What a variable without first value holds: nothing defined, headers invalid.
    pub(super) fn undefined(ty: Ty) -> Self {
        match ty {
            Ty::Bits(width) => Self::Number(width, None),
            Ty::Record(record) => {
                let fields = record.fields().iter();
                let fields = fields.map(|(_, ty)| Self::undefined(*ty)).collect();
                Self::Record(!record.is_header(), fields)
            }
            Ty::Stack => {
                let element = Self::undefined(Ty::Record(Record::Element));
                Self::Stack(0, vec![element; ELEMENTS])
            }
        }
    }

    /// Metadata as a packet enters with it.
    pub(super) fn zero(ty: Ty) -> Self {
        match ty {
            Ty::Bits(width) => Self::Number(width, Some(0)),
            Ty::Record(record) if !record.is_header() => {
                let fields = record.fields().iter();
                Self::Record(true, fields.map(|(_, ty)| Self::zero(*ty)).collect())
            }
            other => Self::undefined(other),
        }
    }

    /// The number, if it is one and defined.
    pub(super) const fn number(&self) -> Option<u64> {
        match self {
            Self::Number(_, value) => *value,
            _ => None,
        }
    }

    /// Part `index`: a field, or an element.
    pub(super) fn part(&self, index: usize) -> Option<&Self> {
        match self {
            Self::Record(_, parts) | Self::Stack(_, parts) => parts.get(index),
            Self::Number(..) => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn part_mut(&mut self, index: usize) -> Option<&mut Self> {
        match self {
            Self::Record(_, parts) | Self::Stack(_, parts) => parts.get_mut(index),
            Self::Number(..) => None,
        }
    }

    /// Bits `hi..=lo` of a number.
    pub(super) fn slice(&self, hi: u32, lo: u32) -> Self {
        let width = hi - lo + 1;
        Self::Number(width, self.number().map(|n| n >> lo & ones(width)))
    }

    /// The same number with other bits `hi..=lo`.
    pub(super) fn with_slice(&self, hi: u32, lo: u32, part: &Self) -> Self {
        let Self::Number(width, old) = self else {
            return self.clone();
        };
        let mask = ones(hi - lo + 1) << lo;
        let new = old.zip(part.number());
        Self::Number(*width, new.map(|(old, part)| old & !mask | part << lo))
    }

    /// Makes a header valid; one that was not gets new fields.
    pub(super) fn set_valid(&mut self) {
        if let Self::Record(valid, fields) = self
            && !*valid
        {
            *valid = true;
            for field in fields {
                if let Self::Number(_, value) = field {
                    *value = None;
                }
            }
        }
    }

    /// Makes a header invalid: its fields are undefined from now on.
    pub(super) fn set_invalid(&mut self) {
        if let Self::Record(valid, fields) = self {
            *valid = false;
            for field in fields {
                if let Self::Number(_, value) = field {
                    *value = None;
                }
            }
        }
    }

    /// Appends a header as it is sent: its bytes, `None` where they are undefined. Nothing if it is
    /// invalid.
    pub(super) fn emit(&self, out: &mut Vec<Option<u8>>) {
        let fields = match self {
            Self::Record(true, fields) => fields,
            Self::Stack(_, elements) => return elements.iter().for_each(|e| e.emit(out)),
            _ => return,
        };
        let mut bits = Vec::new();
        for field in fields {
            let Self::Number(width, value) = field else {
                continue;
            };
            let bit = |i: u32| value.map(|n| n >> i & 1 != 0);
            bits.extend((0..*width).rev().map(bit));
        }
        for byte in bits.chunks(8) {
            let all = byte.iter().copied().collect::<Option<Vec<bool>>>();
            let byte = all.map(|bits| bits.iter().fold(0, |n, bit| n << 1 | u8::from(*bit)));
            out.push(byte);
        }
    }
}

//! Match keys: what a table matches on and how one entry matches it.

use std::fmt;

pub use p4ir::MatchKind;
use thiserror::Error;

use crate::value::Bits;

/// One field of a table's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// The name the control plane uses.
    pub name: String,
    /// Bits.
    pub width: u32,
    /// How entries match it.
    pub kind: MatchKind,
}

/// How one entry matches one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldMatch {
    /// This value and no other.
    Exact(Bits),
    /// Values that share the first `prefix_len` bits.
    Lpm {
        /// The prefix, followed by bits that do not matter.
        value: Bits,
        /// Bits that matter, counted from the most significant.
        prefix_len: u32,
    },
    /// Values equal where the mask is one.
    Ternary {
        /// The value.
        value: Bits,
        /// Ones where the value matters.
        mask: Bits,
    },
    /// Values from `low` to `high`, both included.
    Range {
        /// The least value.
        low: Bits,
        /// The greatest value.
        high: Bits,
    },
    /// This value, or anything.
    Optional(Option<Bits>),
}

impl FieldMatch {
    /// The match kind this is a match of.
    #[must_use]
    pub const fn kind(&self) -> MatchKind {
        match self {
            Self::Exact(_) => MatchKind::Exact,
            Self::Lpm { .. } => MatchKind::Lpm,
            Self::Ternary { .. } => MatchKind::Ternary,
            Self::Range { .. } => MatchKind::Range,
            Self::Optional(_) => MatchKind::Optional,
        }
    }

    /// The match that every value passes; `None` for an exact field, which has none.
    #[must_use]
    pub fn any(kind: MatchKind, width: u32) -> Option<Self> {
        let zero = Bits::zero(width);
        match kind {
            MatchKind::Exact => None,
            MatchKind::Lpm => Some(Self::Lpm {
                value: zero,
                prefix_len: 0,
            }),
            MatchKind::Ternary => Some(Self::Ternary {
                value: zero.clone(),
                mask: zero,
            }),
            MatchKind::Range => Some(Self::Range {
                low: zero,
                high: Bits::ones(width),
            }),
            MatchKind::Optional => Some(Self::Optional(None)),
        }
    }

    /// A prefix in its normal form, where bits that do not matter are zero; `None` where no bit
    /// matters.
    #[must_use]
    pub fn lpm(value: &Bits, prefix_len: u32) -> Option<Self> {
        (prefix_len > 0).then(|| Self::Lpm {
            value: value.and(&Bits::prefix_mask(value.width(), prefix_len)),
            prefix_len,
        })
    }

    /// A value and a mask in their normal form, where bits that do not matter are zero; `None`
    /// where no bit matters.
    #[must_use]
    pub fn ternary(value: &Bits, mask: Bits) -> Option<Self> {
        mask.is_true().then(|| Self::Ternary {
            value: value.and(&mask),
            mask,
        })
    }

    /// A range; `None` where it holds every value.
    #[must_use]
    pub fn range(low: Bits, high: Bits) -> Option<Self> {
        let every = low.is_zero() && high == Bits::ones(high.width());
        (!every).then_some(Self::Range { low, high })
    }

    /// Whether a value of the field passes this match: the definition all structures agree with.
    #[must_use]
    pub fn matches(&self, key: &Bits) -> bool {
        match self {
            Self::Exact(value) | Self::Optional(Some(value)) => key == value,
            Self::Lpm { value, prefix_len } => {
                let mask = Bits::prefix_mask(key.width(), *prefix_len);
                key.and(&mask) == value.and(&mask)
            }
            Self::Ternary { value, mask } => key.and(mask) == value.and(mask),
            Self::Range { low, high } => {
                key.cmp_unsigned(low).is_ge() && key.cmp_unsigned(high).is_le()
            }
            Self::Optional(None) => true,
        }
    }
}

impl fmt::Display for FieldMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(value) | Self::Optional(Some(value)) => write!(f, "{value}"),
            Self::Lpm { value, prefix_len } => write!(f, "{value}/{prefix_len}"),
            Self::Ternary { value, mask } => write!(f, "{value} &&& {mask}"),
            Self::Range { low, high } => write!(f, "{low}..{high}"),
            Self::Optional(None) => f.write_str("*"),
        }
    }
}

/// Why a key does not fit its table. The caller's input is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The key has too few or too many fields.
    #[error("the key has {given} fields where the table has {expected}; give one match per field")]
    FieldCount {
        /// Fields of the table.
        expected: usize,
        /// Fields of the key.
        given: usize,
    },
    /// A field is matched in another way than the table says.
    #[error("field `{field}` is matched as {given} where the table says {expected}")]
    Kind {
        /// The field.
        field: String,
        /// The table's kind.
        expected: MatchKind,
        /// The key's kind.
        given: MatchKind,
    },
    /// A value does not fit its field.
    #[error("value {value} does not fit field `{field}` of {width} bits")]
    TooWide {
        /// The field.
        field: String,
        /// Its width.
        width: u32,
        /// The value.
        value: String,
    },
    /// A prefix longer than its field.
    #[error("prefix length {prefix_len} exceeds the {width} bits of field `{field}`")]
    PrefixTooLong {
        /// The field.
        field: String,
        /// Its width.
        width: u32,
        /// The prefix length.
        prefix_len: u32,
    },
    /// Bits set where they do not matter.
    #[error("field `{field}`: bits of the value that do not matter must be zero")]
    StrayBits {
        /// The field.
        field: String,
    },
    /// A range that holds nothing.
    #[error("range {low}..{high} of field `{field}` is empty; its bounds are swapped")]
    EmptyRange {
        /// The field.
        field: String,
        /// Lower bound.
        low: String,
        /// Upper bound.
        high: String,
    },
}

/// `value` at the field's width, if none of its set bits is lost.
fn fit(field: &KeyField, value: &Bits) -> Result<Bits, KeyError> {
    let fitted = value.resize_unsigned(field.width);
    if value.width() <= field.width || fitted.resize_unsigned(value.width()) == *value {
        return Ok(fitted);
    }
    Err(KeyError::TooWide {
        field: field.name.clone(),
        width: field.width,
        value: value.to_string(),
    })
}

/// The match in its one canonical form: values resized to their field, bits that do not matter
/// cleared.
pub(crate) fn canonical_field(
    field: &KeyField,
    given: &FieldMatch,
) -> Result<FieldMatch, KeyError> {
    if given.kind() != field.kind {
        return Err(KeyError::Kind {
            field: field.name.clone(),
            expected: field.kind,
            given: given.kind(),
        });
    }
    Ok(match given {
        FieldMatch::Exact(value) => FieldMatch::Exact(fit(field, value)?),
        FieldMatch::Optional(value) => {
            FieldMatch::Optional(value.as_ref().map(|v| fit(field, v)).transpose()?)
        }
        FieldMatch::Lpm { value, prefix_len } => {
            if *prefix_len > field.width {
                return Err(KeyError::PrefixTooLong {
                    field: field.name.clone(),
                    width: field.width,
                    prefix_len: *prefix_len,
                });
            }
            let mask = Bits::prefix_mask(field.width, *prefix_len);
            FieldMatch::Lpm {
                value: fit(field, value)?.and(&mask),
                prefix_len: *prefix_len,
            }
        }
        FieldMatch::Ternary { value, mask } => {
            let mask = fit(field, mask)?;
            FieldMatch::Ternary {
                value: fit(field, value)?.and(&mask),
                mask,
            }
        }
        FieldMatch::Range { low, high } => {
            let (low, high) = (fit(field, low)?, fit(field, high)?);
            if low.cmp_unsigned(&high).is_gt() {
                return Err(KeyError::EmptyRange {
                    field: field.name.clone(),
                    low: low.to_string(),
                    high: high.to_string(),
                });
            }
            FieldMatch::Range { low, high }
        }
    })
}

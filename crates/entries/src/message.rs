//! Matches as P4Runtime's messages hold them (P4Runtime 1.5, section 9.1.1).

use p4exec::tables::FieldMatch;
use p4exec::value::Bits;
use p4ir::MatchKind;
use p4runtime::p4::v1::{self, field_match, field_match::FieldMatchType as Given};

use crate::{Problem, check};

/// The message of a match; `None` for a match that everything passes: its field is left out.
/// `bytes` writes a value.
#[must_use]
pub fn write(
    field_id: u32,
    given: &FieldMatch,
    bytes: impl Fn(&Bits) -> Vec<u8>,
) -> Option<v1::FieldMatch> {
    let given = match given {
        FieldMatch::Exact(value) => Given::Exact(field_match::Exact {
            value: bytes(value),
        }),
        FieldMatch::Lpm { prefix_len: 0, .. } | FieldMatch::Optional(None) => return None,
        FieldMatch::Lpm { value, prefix_len } => Given::Lpm(field_match::Lpm {
            value: bytes(value),
            // At most the width of a field, which P4Info gives as i32.
            prefix_len: *prefix_len as i32,
        }),
        FieldMatch::Ternary { mask, .. } if mask.is_zero() => return None,
        FieldMatch::Ternary { value, mask } => Given::Ternary(field_match::Ternary {
            value: bytes(value),
            mask: bytes(mask),
        }),
        FieldMatch::Range { low, high } if low.is_zero() && *high == Bits::ones(high.width()) => {
            return None;
        }
        FieldMatch::Range { low, high } => Given::Range(field_match::Range {
            low: bytes(low),
            high: bytes(high),
        }),
        FieldMatch::Optional(Some(value)) => Given::Optional(field_match::Optional {
            value: bytes(value),
        }),
    };
    Some(v1::FieldMatch {
        field_id,
        field_match_type: Some(given),
    })
}

/// Reads the message of a match of a field's kind. `bits` reads a value.
///
/// # Errors
/// [`Problem::MatchKind`], [`Problem::PrefixLength`], or what `bits` refuses.
pub fn read<E: From<Problem>>(
    field: &str,
    width: u32,
    kind: Option<MatchKind>,
    given: &v1::FieldMatch,
    bits: impl Fn(&[u8]) -> Result<Bits, E>,
) -> Result<FieldMatch, E> {
    let wrong = |given| E::from(check::wrong_kind(field, kind, given));
    let of_kind = |given: MatchKind| match kind == Some(given) {
        true => Ok(()),
        false => Err(wrong(given.name())),
    };
    match &given.field_match_type {
        Some(Given::Exact(given)) => {
            of_kind(MatchKind::Exact)?;
            Ok(FieldMatch::Exact(bits(&given.value)?))
        }
        Some(Given::Lpm(given)) => {
            of_kind(MatchKind::Lpm)?;
            Ok(FieldMatch::Lpm {
                value: bits(&given.value)?,
                prefix_len: check::prefix_length(field, width, given.prefix_len.into())?,
            })
        }
        Some(Given::Ternary(given)) => {
            of_kind(MatchKind::Ternary)?;
            Ok(FieldMatch::Ternary {
                value: bits(&given.value)?,
                mask: bits(&given.mask)?,
            })
        }
        Some(Given::Range(given)) => {
            of_kind(MatchKind::Range)?;
            Ok(FieldMatch::Range {
                low: bits(&given.low)?,
                high: bits(&given.high)?,
            })
        }
        Some(Given::Optional(given)) => {
            of_kind(MatchKind::Optional)?;
            Ok(FieldMatch::Optional(Some(bits(&given.value)?)))
        }
        Some(Given::Other(_)) => Err(wrong("another kind")),
        None => Err(wrong("nothing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytestring as _;

    fn bits(value: u64) -> Bits {
        Bits::from_u64(9, value)
    }

    fn read_back(kind: MatchKind, given: &v1::FieldMatch) -> Result<FieldMatch, Problem> {
        read("f", 9, Some(kind), given, |bytes| {
            check::bytes(bytes, 9, || check::field_place("f"))
        })
    }

    #[test]
    fn what_is_written_is_read_back() {
        let (low, high, value, mask) = (bits(3), bits(0x1fe), bits(4), bits(0x104));
        let prefix_len = 7;
        for given in [
            FieldMatch::Exact(bits(0)),
            FieldMatch::Optional(Some(bits(0x1ff))),
            FieldMatch::Lpm {
                value: bits(0x100),
                prefix_len,
            },
            FieldMatch::Ternary { value, mask },
            FieldMatch::Range { low, high },
        ] {
            let message = write(5, &given, Bits::canonical).unwrap();
            assert_eq!(message.field_id, 5);
            assert_eq!(read_back(given.kind(), &message), Ok(given));
        }
    }

    #[test]
    fn what_everything_passes_is_left_out() {
        for kind in MatchKind::ALL {
            let any = FieldMatch::any(kind, 9);
            assert_eq!(any.and_then(|any| write(1, &any, Bits::canonical)), None);
        }
    }

    #[test]
    fn another_kind_goes_before_a_value_that_does_not_fit() {
        let wide = Given::Exact(field_match::Exact { value: vec![2, 0] });
        let given = v1::FieldMatch {
            field_id: 1,
            field_match_type: Some(wide),
        };
        let said = |kind, given| read_back(kind, given).unwrap_err().to_string();
        assert_eq!(
            said(MatchKind::Lpm, &given),
            "the match field `f` is matched as lpm; exact is given"
        );
        assert_eq!(
            said(MatchKind::Exact, &given),
            "the match field `f`: the value 0x0200 does not fit 9 bits: it needs 10 bits"
        );
        assert_eq!(
            said(MatchKind::Lpm, &v1::FieldMatch::default()),
            "the match field `f` is matched as lpm; nothing is given"
        );
    }
}

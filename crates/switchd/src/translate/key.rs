//! Match keys of table entries and of value sets (P4Runtime 1.5, section 9.1.1).

use entries::{Problem, check};
use p4exec::tables::{FieldMatch, MatchKind};
use p4exec::value::Bits;
use p4runtime::p4::v1;
use p4runtime::p4::v1::field_match::{self, FieldMatchType as Given};

use super::refusal::Refusal;
use super::schema::FieldSchema;
use super::value;

/// Reads a key: every field at most once, in any order; left out is "don't care" (P4Runtime 1.5,
/// section 9.1.1).
///
/// # Errors
/// INVALID_ARGUMENT or OUT_OF_RANGE, naming the field.
pub fn decode_key(
    fields: &[FieldSchema],
    given: &[v1::FieldMatch],
) -> Result<Vec<FieldMatch>, Refusal> {
    if given.len() == fields.len() && given.iter().zip(fields).all(|(g, f)| g.field_id == f.id) {
        return fields.iter().zip(given).map(|(f, g)| read(f, g)).collect();
    }
    let mut key: Vec<Option<FieldMatch>> = vec![None; fields.len()];
    for one in given {
        let Some(place) = fields.iter().position(|f| f.id == one.field_id) else {
            let ids: Vec<_> = fields.iter().map(|f| f.id.to_string()).collect();
            return Err(Refusal::invalid(format!(
                "there is no match field {}; there are {}",
                one.field_id,
                ids.join(", ")
            )));
        };
        if key[place].is_some() {
            return Err(Problem::KeyTwice(fields[place].name.clone()).into());
        }
        key[place] = Some(read(&fields[place], one)?);
    }
    let left_out = |field: &FieldSchema| {
        // What is held as ternary is optional, and can be left out as well.
        check::left_out(&field.name, field.shape.width, Some(field.held_as))
    };
    let matches = fields.iter().zip(key);
    matches
        .map(|(field, one)| Ok(one.map_or_else(|| left_out(field), Ok)?))
        .collect()
}

fn read(field: &FieldSchema, given: &v1::FieldMatch) -> Result<FieldMatch, Refusal> {
    let value = |bytes: &[u8]| {
        let read = value::read(bytes, field.shape, field.names.as_deref());
        read.map_err(|r| r.at(&check::field_place(&field.name)))
    };
    let width = field.shape.width;
    let wrong = |given| Err(check::wrong_kind(&field.name, Some(field.kind), given).into());
    let kind = match given.field_match_type.as_ref() {
        Some(Given::Exact(_)) => MatchKind::Exact,
        Some(Given::Lpm(_)) => MatchKind::Lpm,
        Some(Given::Ternary(_)) => MatchKind::Ternary,
        Some(Given::Range(_)) => MatchKind::Range,
        Some(Given::Optional(_)) => MatchKind::Optional,
        Some(Given::Other(_)) => return wrong("another kind"),
        None => return wrong("nothing"),
    };
    if kind != field.kind {
        return wrong(kind.name());
    }
    let given = match given.field_match_type.as_ref() {
        Some(Given::Exact(m)) => FieldMatch::Exact(value(&m.value)?),
        Some(Given::Optional(m)) => FieldMatch::Optional(Some(value(&m.value)?)),
        Some(Given::Lpm(m)) => FieldMatch::Lpm {
            value: value(&m.value)?,
            prefix_len: check::prefix_length(&field.name, width, m.prefix_len.into())?,
        },
        Some(Given::Ternary(m)) => FieldMatch::Ternary {
            value: value(&m.value)?,
            mask: value(&m.mask)?,
        },
        Some(Given::Range(m)) => FieldMatch::Range {
            low: value(&m.low)?,
            high: value(&m.high)?,
        },
        Some(Given::Other(_)) | None => return wrong("nothing"),
    };
    let read = check::field_match(&field.name, width, Some(field.kind), &given)?;
    Ok(match read {
        FieldMatch::Optional(Some(value)) if field.held_as == MatchKind::Ternary => {
            let mask = Bits::ones(width);
            FieldMatch::Ternary { value, mask }
        }
        read => read,
    })
}

/// The message of a key; "don't care" is left out.
#[must_use]
pub fn encode_key(fields: &[FieldSchema], key: &[FieldMatch]) -> Vec<v1::FieldMatch> {
    let mut out = Vec::with_capacity(key.len());
    for (field, one) in fields.iter().zip(key) {
        let value = |bits: &Bits| value::write(bits, field.shape, field.names.as_deref());
        let given = match one {
            FieldMatch::Exact(bits) => Given::Exact(field_match::Exact { value: value(bits) }),
            FieldMatch::Lpm { prefix_len: 0, .. } | FieldMatch::Optional(None) => continue,
            FieldMatch::Lpm {
                value: bits,
                prefix_len,
            } => Given::Lpm(field_match::Lpm {
                value: value(bits),
                prefix_len: *prefix_len as i32,
            }),
            FieldMatch::Ternary { mask, .. } if mask.is_zero() => continue,
            FieldMatch::Ternary { value: bits, .. } if field.kind == MatchKind::Optional => {
                Given::Optional(field_match::Optional { value: value(bits) })
            }
            FieldMatch::Ternary { value: bits, mask } => Given::Ternary(field_match::Ternary {
                value: value(bits),
                mask: value(mask),
            }),
            FieldMatch::Range { low, high }
                if low.is_zero() && *high == Bits::ones(high.width()) =>
            {
                continue;
            }
            FieldMatch::Range { low, high } => Given::Range(field_match::Range {
                low: value(low),
                high: value(high),
            }),
            FieldMatch::Optional(Some(bits)) => {
                Given::Optional(field_match::Optional { value: value(bits) })
            }
        };
        out.push(v1::FieldMatch {
            field_id: field.id,
            field_match_type: Some(given),
        });
    }
    out
}

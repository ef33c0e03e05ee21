//! Match keys of table entries and of value sets (P4Runtime 1.5, section 9.1.1).

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
            let name = &fields[place].name;
            return Err(Refusal::invalid(format!(
                "match field `{name}` is given twice"
            )));
        }
        key[place] = Some(read(&fields[place], one)?);
    }
    fields
        .iter()
        .zip(key)
        .map(|(field, one)| {
            one.or_else(|| FieldMatch::any(field.held_as, field.shape.width))
                .ok_or_else(|| {
                    let name = &field.name;
                    Refusal::invalid(format!("match field `{name}` is exact and must be given"))
                })
        })
        .collect()
}

fn read(field: &FieldSchema, given: &v1::FieldMatch) -> Result<FieldMatch, Refusal> {
    read_kind(field, given).map_err(|r| r.at(&format!("match field `{}`", field.name)))
}

fn read_kind(field: &FieldSchema, given: &v1::FieldMatch) -> Result<FieldMatch, Refusal> {
    let shape = field.shape;
    let decode = |bytes: &[u8], shape| value::read(bytes, shape, field.names.as_deref());
    let dont_care = || Refusal::invalid("a match that lets everything pass must be left out");
    match (field.kind, given.field_match_type.as_ref()) {
        (MatchKind::Exact, Some(Given::Exact(m))) => {
            Ok(FieldMatch::Exact(decode(&m.value, shape)?))
        }
        (MatchKind::Optional, Some(Given::Optional(m))) => {
            let value = decode(&m.value, shape)?;
            if field.held_as == MatchKind::Ternary {
                let mask = Bits::ones(shape.width);
                return Ok(FieldMatch::Ternary { value, mask });
            }
            Ok(FieldMatch::Optional(Some(value)))
        }
        (MatchKind::Lpm, Some(Given::Lpm(m))) => {
            let value = decode(&m.value, shape)?;
            if m.prefix_len == 0 {
                return Err(dont_care());
            }
            let Some(prefix_len) = u32::try_from(m.prefix_len)
                .ok()
                .filter(|l| *l <= shape.width)
            else {
                return Err(Refusal::invalid(format!(
                    "prefix length {} is not between 1 and {}",
                    m.prefix_len, shape.width
                )));
            };
            if value.and(&Bits::prefix_mask(shape.width, prefix_len)) != value {
                return Err(Refusal::invalid(format!(
                    "value {value} has bits set after its first {prefix_len}"
                )));
            }
            Ok(FieldMatch::Lpm { value, prefix_len })
        }
        (MatchKind::Ternary, Some(Given::Ternary(m))) => {
            let (value, mask) = (decode(&m.value, shape)?, decode(&m.mask, shape)?);
            if mask.is_zero() {
                return Err(dont_care());
            }
            if value.and(&mask) != value {
                return Err(Refusal::invalid(format!(
                    "value {value} has bits set outside mask {mask}"
                )));
            }
            Ok(FieldMatch::Ternary { value, mask })
        }
        (MatchKind::Range, Some(Given::Range(m))) => {
            let (low, high) = (decode(&m.low, shape)?, decode(&m.high, shape)?);
            if low.cmp_unsigned(&high).is_gt() {
                return Err(Refusal::invalid(format!("range {low}..{high} is empty")));
            }
            if low.is_zero() && high == Bits::ones(shape.width) {
                return Err(dont_care());
            }
            Ok(FieldMatch::Range { low, high })
        }
        (expected, None) => Err(Refusal::invalid(format!("no {expected} match is given"))),
        (expected, Some(_)) => Err(Refusal::invalid(format!(
            "another kind of match is given where {expected} is expected"
        ))),
    }
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

//! Match keys of table entries and of value sets (P4Runtime 1.5, section 9.1.1).

use entries::{Problem, check, message};
use p4exec::tables::{FieldMatch, MatchKind};
use p4exec::value::Bits;
use p4runtime::p4::v1;

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
    let (name, width, kind) = (&field.name, field.shape.width, Some(field.kind));
    let value = |bytes: &[u8]| {
        let read = value::read(bytes, field.shape, field.names.as_deref());
        read.map_err(|r| r.at(&check::field_place(name)))
    };
    let given = message::read(name, width, kind, given, value)?;
    Ok(match check::field_match(name, width, kind, &given)? {
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
    let fields = fields.iter().zip(key);
    fields
        .filter_map(|(field, one)| {
            let bytes = |bits: &Bits| value::write(bits, field.shape, field.names.as_deref());
            match one {
                FieldMatch::Ternary { value, mask }
                    if field.kind == MatchKind::Optional && !mask.is_zero() =>
                {
                    message::write(field.id, &FieldMatch::Optional(Some(value.clone())), bytes)
                }
                one => message::write(field.id, one, bytes),
            }
        })
        .collect()
}

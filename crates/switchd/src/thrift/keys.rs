//! Match keys and action calls between Thrift's structures and the messages of P4Runtime.

use entries::{Problem, check};
use p4exec::tables::{ActionCall, FieldMatch, MatchKind};
use p4exec::value::Bits;
use p4runtime::bytestring::canonical;
use p4runtime::p4::v1;
use thrift::protocol::TType;

use super::Fault;
use super::value::{Fields, Value};
use crate::translate::key::encode_key;
use crate::translate::schema::{ActionChoice, FieldSchema, Schema};
use crate::translate::value;

/// `TableOperationErrorCode`.
pub(super) mod code {
    pub(crate) const TABLE_FULL: i32 = 1;
    pub(crate) const INVALID_HANDLE: i32 = 2;
    pub(crate) const EXPIRED_HANDLE: i32 = 3;
    pub(crate) const COUNTERS_DISABLED: i32 = 4;
    pub(crate) const METERS_DISABLED: i32 = 5;
    pub(crate) const AGEING_DISABLED: i32 = 6;
    pub(crate) const INVALID_TABLE_NAME: i32 = 7;
    pub(crate) const INVALID_ACTION_NAME: i32 = 8;
    pub(crate) const WRONG_TABLE_TYPE: i32 = 9;
    pub(crate) const INVALID_MBR_HANDLE: i32 = 10;
    pub(crate) const MBR_STILL_USED: i32 = 11;
    pub(crate) const MBR_ALREADY_IN_GRP: i32 = 12;
    pub(crate) const MBR_NOT_IN_GRP: i32 = 13;
    pub(crate) const INVALID_GRP_HANDLE: i32 = 14;
    pub(crate) const GRP_STILL_USED: i32 = 15;
    pub(crate) const EMPTY_GRP: i32 = 16;
    pub(crate) const DUPLICATE_ENTRY: i32 = 17;
    pub(crate) const BAD_MATCH_KEY: i32 = 18;
    pub(crate) const INVALID_METER_OPERATION: i32 = 19;
    pub(crate) const DEFAULT_ACTION_IS_CONST: i32 = 20;
    pub(crate) const INVALID_ACTION_PROFILE_NAME: i32 = 23;
    pub(crate) const NO_ACTION_PROFILE_SELECTION: i32 = 24;
    pub(crate) const IMMUTABLE_TABLE_ENTRIES: i32 = 25;
    pub(crate) const BAD_ACTION_DATA: i32 = 26;
    pub(crate) const NO_TABLE_KEY: i32 = 27;
    pub(crate) const ERROR: i32 = 100;
}

/// `BmMatchParamType`.
mod kind {
    pub(super) const EXACT: i32 = 0;
    pub(super) const LPM: i32 = 1;
    pub(super) const TERNARY: i32 = 2;
    pub(super) const VALID: i32 = 3;
    pub(super) const RANGE: i32 = 4;
}

fn bad_key(problem: Problem) -> Fault {
    Fault::Refused(code::BAD_MATCH_KEY, problem.to_string())
}

/// Reads the bits of a value.
fn bits(field: &FieldSchema, bytes: &[u8]) -> Result<Bits, Fault> {
    let what = || check::field_place(&field.name);
    check::bytes(bytes, field.shape.width, what).map_err(bad_key)
}

/// A key as the state has it. What a prefix or a mask leaves out is zeroed, as in BMv2.
pub(super) fn read_key(
    fields: &[FieldSchema],
    params: &[&Fields],
) -> Result<Vec<FieldMatch>, Fault> {
    if fields.len() != params.len() {
        let (wanted, given) = (fields.len(), params.len());
        return Err(Fault::Refused(
            code::BAD_MATCH_KEY,
            format!("the key has {wanted} fields and {given} are given"),
        ));
    }
    fields
        .iter()
        .zip(params)
        .map(|(field, param)| read_field(field, param))
        .collect()
}

fn read_field(field: &FieldSchema, param: &Fields) -> Result<FieldMatch, Fault> {
    let width = field.shape.width;
    match (field.held_as, param.i32(1)?) {
        (MatchKind::Exact, kind::EXACT) => {
            let value = bits(field, &param.fields(2)?.bytes(1)?)?;
            Ok(FieldMatch::Exact(value))
        }
        (MatchKind::Exact, kind::VALID) => {
            let valid = u64::from(param.fields(5)?.bool(1)?);
            Ok(FieldMatch::Exact(Bits::from_u64(width, valid)))
        }
        (MatchKind::Lpm, kind::LPM) => {
            let given = param.fields(3)?;
            let prefix_len = check::prefix_length(&field.name, width, given.i32(2)?.into());
            let prefix_len = prefix_len.map_err(bad_key)?;
            let value = bits(field, &given.bytes(1)?)?.and(&Bits::prefix_mask(width, prefix_len));
            Ok(FieldMatch::Lpm { value, prefix_len })
        }
        (held, kind::TERNARY) => {
            let given = param.fields(4)?;
            let mask = bits(field, &given.bytes(2)?)?;
            let value = bits(field, &given.bytes(1)?)?.and(&mask);
            ternary(field, held, value, mask)
        }
        (MatchKind::Optional, kind::EXACT) => {
            let value = bits(field, &param.fields(2)?.bytes(1)?)?;
            Ok(FieldMatch::Optional(Some(value)))
        }
        (MatchKind::Range, kind::RANGE) => {
            let given = param.fields(6)?;
            let low = bits(field, &given.bytes(1)?)?;
            let high = bits(field, &given.bytes(2)?)?;
            check::range(&field.name, &low, &high).map_err(bad_key)?;
            Ok(FieldMatch::Range { low, high })
        }
        (held, given) => Err(wrong_kind(field, held, given)),
    }
}

fn wrong_kind(field: &FieldSchema, held: MatchKind, given: i32) -> Fault {
    let names = ["exact", "lpm", "ternary", "valid", "range"];
    let given = usize::try_from(given).ok().and_then(|at| names.get(at));
    let given = given.copied().unwrap_or("another kind");
    bad_key(check::wrong_kind(&field.name, Some(held), given))
}

/// A masked match. BMv2 knows no optional fields: they are masked wholly or not at all.
fn ternary(
    field: &FieldSchema,
    held: MatchKind,
    value: Bits,
    mask: Bits,
) -> Result<FieldMatch, Fault> {
    let whole = mask == Bits::ones(mask.width());
    if field.kind == MatchKind::Optional && !whole && !mask.is_zero() {
        let why = "an optional field has no other mask than 0 and all ones";
        let why = format!("{}: {why}", check::field_place(&field.name));
        return Err(Fault::Refused(code::BAD_MATCH_KEY, why));
    }
    match held {
        MatchKind::Ternary => Ok(FieldMatch::Ternary { value, mask }),
        MatchKind::Optional => Ok(FieldMatch::Optional(whole.then_some(value))),
        _ => Err(wrong_kind(field, held, kind::TERNARY)),
    }
}

/// The messages of a key.
pub(super) fn key_messages(fields: &[FieldSchema], key: &[FieldMatch]) -> Vec<v1::FieldMatch> {
    encode_key(fields, key)
}

/// A key for Thrift, all bytes of each field.
pub(super) fn key_value(key: &[FieldMatch], fields: &[FieldSchema]) -> Value {
    let bytes = |bits: &Bits| Value::Bytes(bits.to_bytes_be());
    let param = |(one, field): (&FieldMatch, &FieldSchema)| {
        let (kind, place, given) = match one {
            FieldMatch::Exact(value) => (kind::EXACT, 2, Fields::of([(1, bytes(value))])),
            FieldMatch::Lpm { value, prefix_len } => {
                let length = i32::try_from(*prefix_len).unwrap_or(i32::MAX);
                let given = [(1, bytes(value)), (2, Value::I32(length))];
                (kind::LPM, 3, Fields::of(given))
            }
            FieldMatch::Ternary { value, mask } => {
                let given = [(1, bytes(value)), (2, bytes(mask))];
                (kind::TERNARY, 4, Fields::of(given))
            }
            FieldMatch::Optional(value) => {
                let width = field.shape.width;
                let (value, mask) = match value {
                    Some(value) => (value.clone(), Bits::ones(width)),
                    None => (Bits::zero(width), Bits::zero(width)),
                };
                let given = [(1, bytes(&value)), (2, bytes(&mask))];
                (kind::TERNARY, 4, Fields::of(given))
            }
            FieldMatch::Range { low, high } => {
                let given = [(1, bytes(low)), (2, bytes(high))];
                (kind::RANGE, 6, Fields::of(given))
            }
        };
        Value::structure([(1, Value::I32(kind)), (place, Value::Struct(given))])
    };
    Value::structures(key.iter().zip(fields).map(param))
}

/// The message of an action with its data.
pub(super) fn read_action(
    choices: &[ActionChoice],
    name: &str,
    data: &[&[u8]],
) -> Result<v1::Action, Fault> {
    let Some(choice) = choices.iter().find(|choice| choice.schema.name == name) else {
        return Err(Fault::Refused(
            code::INVALID_ACTION_NAME,
            format!("there is no action `{name}` here"),
        ));
    };
    let params = &choice.schema.params;
    let bad = |why: String| Fault::Refused(code::BAD_ACTION_DATA, why);
    if params.len() != data.len() {
        return Err(bad(format!(
            "action `{name}` takes {} values and {} are given",
            params.len(),
            data.len()
        )));
    }
    let mut given = Vec::with_capacity(params.len());
    for (param, bytes) in params.iter().zip(data) {
        let what = || check::param_place(name, &param.name);
        let bits = check::bytes(bytes, param.shape.width, what).map_err(|e| bad(e.to_string()))?;
        given.push(v1::action::Param {
            param_id: param.id,
            value: value::write(&bits, param.shape, param.names.as_deref()),
        });
    }
    Ok(v1::Action {
        action_id: choice.schema.id,
        params: given,
    })
}

/// The name and the data of an action call. The data are in the shortest form, as BMv2 writes them.
pub(super) fn action_values(schema: &Schema, call: &ActionCall) -> (Value, Value) {
    let name = schema.program.actions[call.action].name.clone();
    let bytes = |bits: &Bits| Value::Bytes(canonical(&bits.to_bytes_be()).to_vec());
    let data = call.args.iter().map(bytes).collect();
    (Value::text(name), Value::List(TType::String, data))
}

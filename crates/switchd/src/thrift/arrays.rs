//! `bm_counter_*`, `bm_meter_*`, `bm_register_*` and `bm_parse_vset_*`.

use std::collections::BTreeMap;

use p4exec::RuntimeState;
use p4exec::externs::counter::CounterCell;
use p4exec::externs::meter::MeterConfig;
use p4exec::state::ExternConfig;
use p4exec::tables::FieldMatch;
use p4exec::value::Bits;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::update::Type;
use thrift::protocol::TType;

use super::keys::key_messages;
use super::value::{Fields, Value, WrongType};
use super::{Call, Fault, Outcome};
use crate::translate::pipeline_state::PipelineState;
use crate::translate::refusal::Refusal;
use crate::translate::schema::{ArraySchema, FieldSchema, Schema, ValueSetSchema};
use crate::translate::update_of;

/// The codes of counters, meters and registers that mean the same.
const INVALID_NAME: i32 = 1;
const INVALID_INDEX: i32 = 2;

/// `ERROR` of counters and registers, of meters, and of value sets.
const ERROR: i32 = 3;
const METER_ERROR: i32 = 6;
const VALUE_SET_ERROR: i32 = 2;

/// Meters count per microsecond here, and per second in P4Runtime.
const PER_SECOND: f64 = 1_000_000.0;

/// What an update of an array is refused for: the error of its kind.
struct Refused<const CODE: i32>(Fault);

impl<const CODE: i32> From<Fault> for Refused<CODE> {
    fn from(fault: Fault) -> Self {
        Self(fault)
    }
}

impl<const CODE: i32> From<Refusal> for Refused<CODE> {
    fn from(refusal: Refusal) -> Self {
        Self(Fault::Refused(CODE, refusal.message))
    }
}

impl<const CODE: i32> From<Refused<CODE>> for Fault {
    fn from(refused: Refused<CODE>) -> Self {
        refused.0
    }
}

fn change<const CODE: i32>(
    call: &Call<'_>,
    make: impl FnOnce(&PipelineState) -> Result<Vec<Entity>, Fault>,
) -> Outcome {
    let make = |contents: &PipelineState| {
        let entities = make(contents)?.into_iter();
        Ok::<_, Refused<CODE>>(
            entities
                .map(|entity| update_of(Type::Modify, entity))
                .collect(),
        )
    };
    call.subject.switch.amend(make)?;
    Ok(None)
}

fn find<'a>(arrays: &'a BTreeMap<u32, ArraySchema>, name: &str) -> Result<&'a ArraySchema, Fault> {
    let found = arrays.values().find(|array| array.name == name);
    found.ok_or(Fault::Code(INVALID_NAME))
}

fn size_of(contents: &PipelineState, array: &ArraySchema) -> usize {
    match contents.state().extern_config(array.object) {
        Some(ExternConfig::Array { size }) => *size,
        _ => 0,
    }
}

/// A cell's place, which must be there.
fn cell(contents: &PipelineState, array: &ArraySchema, index: i32) -> Result<usize, Fault> {
    usize::try_from(index)
        .ok()
        .filter(|index| *index < size_of(contents, array))
        .ok_or(Fault::Code(INVALID_INDEX))
}

fn index(place: usize) -> Option<v1::Index> {
    let index = i64::try_from(place).unwrap_or(i64::MAX);
    Some(v1::Index { index })
}

/// `BmCounterValue`.
pub(super) fn counter_value(cell: &CounterCell) -> Value {
    let number = |number: u64| Value::I64(number.cast_signed());
    Value::structure([(1, number(cell.bytes.get())), (2, number(cell.packets))])
}

pub(super) fn read_counter(call: &Call<'_>) -> Outcome {
    let (name, at) = (call.args.text(2)?, call.args.i32(3)?);
    call.look(INVALID_NAME, |contents| {
        let array = find(&contents.schema.counters, &name)?;
        let at = cell(contents, array, at)?;
        let counted = contents.control.counted(array.object, at..at + 1);
        let counted = counted.map_err(|e| Fault::Refused(ERROR, e.to_string()))?;
        Ok(counted.first().map(counter_value))
    })
}

fn set_counter(call: &Call<'_>, at: Option<i32>, data: v1::CounterData) -> Outcome {
    let name = call.args.text(2)?;
    change::<ERROR>(call, |contents| {
        let array = find(&contents.schema.counters, &name)?;
        let at = at.map(|at| cell(contents, array, at)).transpose()?;
        Ok(vec![Entity::CounterEntry(v1::CounterEntry {
            counter_id: array.id,
            index: at.and_then(index),
            data: Some(data),
        })])
    })
}

pub(super) fn reset_counter(call: &Call<'_>) -> Outcome {
    set_counter(call, None, v1::CounterData::default())
}

pub(super) fn write_counter(call: &Call<'_>) -> Outcome {
    let value = call.args.fields(4)?;
    let data = v1::CounterData {
        byte_count: value.i64(1)?,
        packet_count: value.i64(2)?,
    };
    set_counter(call, Some(call.args.i32(3)?), data)
}

/// What is wrong with rates; the numbers are those of `MeterOperationErrorCode`.
#[derive(Clone, Copy)]
pub(super) enum BadRates {
    /// Their number.
    List = 3,
    /// A rate.
    Rate = 4,
    /// A burst.
    Burst = 5,
}

impl BadRates {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::List => "a meter has two rates, the committed one and the peak",
            Self::Rate => "a rate is negative, too large, or the committed one exceeds the peak",
            Self::Burst => "a burst is negative",
        }
    }

    fn fault(self) -> Fault {
        Fault::Refused(self as i32, self.text().to_owned())
    }
}

/// Reads a list of rates.
pub(super) fn read_rates(
    args: &Fields,
    field: i16,
) -> Result<Result<v1::MeterConfig, BadRates>, WrongType> {
    let mut rates = Vec::new();
    for given in args.structs(field)? {
        rates.push((given.double(1)? * PER_SECOND, i64::from(given.i32(2)?)));
    }
    let &[(cir, cburst), (pir, pburst)] = rates.as_slice() else {
        return Ok(Err(BadRates::List));
    };
    // Above this a double is no longer below the largest integer.
    let fits = |rate: f64| (0.0..9.2e18).contains(&rate);
    if !fits(cir) || !fits(pir) || cir > pir {
        return Ok(Err(BadRates::Rate));
    }
    if cburst < 0 || pburst < 0 {
        return Ok(Err(BadRates::Burst));
    }
    Ok(Ok(v1::MeterConfig {
        cir: cir.round() as i64,
        cburst,
        pir: pir.round() as i64,
        pburst,
        eburst: 0,
    }))
}

/// The rates of a meter; none if none are set.
pub(super) fn rates_value(config: Option<MeterConfig>) -> Value {
    let rate = |rate: u64, burst: u64| {
        let burst = i32::try_from(burst).unwrap_or(i32::MAX);
        Value::structure([
            (1, Value::Double(rate as f64 / PER_SECOND)),
            (2, Value::I32(burst)),
        ])
    };
    let rates = config.map(|c| [rate(c.cir, c.cburst), rate(c.pir, c.pburst)]);
    Value::structures(rates.into_iter().flatten())
}

fn set_meter(call: &Call<'_>, at: Option<i32>, field: i16) -> Outcome {
    let name = call.args.text(2)?;
    let config = read_rates(&call.args, field)?;
    change::<METER_ERROR>(call, |contents| {
        let array = find(&contents.schema.meters, &name)?;
        let at = at.map(|at| cell(contents, array, at)).transpose()?;
        Ok(vec![Entity::MeterEntry(v1::MeterEntry {
            meter_id: array.id,
            index: at.and_then(index),
            config: Some(config.map_err(BadRates::fault)?),
            counter_data: None,
        })])
    })
}

pub(super) fn set_all_rates(call: &Call<'_>) -> Outcome {
    set_meter(call, None, 3)
}

pub(super) fn set_rates(call: &Call<'_>) -> Outcome {
    set_meter(call, Some(call.args.i32(3)?), 4)
}

pub(super) fn rates(call: &Call<'_>) -> Outcome {
    let (name, at) = (call.args.text(2)?, call.args.i32(3)?);
    call.look(INVALID_NAME, |contents| {
        let array = find(&contents.schema.meters, &name)?;
        let (at, object) = (cell(contents, array, at)?, array.object);
        let look = move |state: &mut RuntimeState, _| {
            let meter = state.meter(object).ok()?;
            meter.cells.get(at)?.config()
        };
        let config = contents.control.visit_one(look);
        let config = config.map_err(|e| Fault::Refused(METER_ERROR, e.to_string()))?;
        Ok(Some(rates_value(config)))
    })
}

/// The cells of a register.
fn cells(call: &Call<'_>, at: Option<i32>) -> Result<Vec<Value>, Fault> {
    let name = call.args.text(2)?;
    call.look(INVALID_NAME, |contents| {
        let array = find(&contents.schema.registers, &name)?;
        let (size, object) = (size_of(contents, array), array.object);
        let range = match at {
            None => 0..size,
            Some(at) => {
                let at = cell(contents, array, at)?;
                at..at + 1
            }
        };
        let look = move |state: &mut RuntimeState, _| {
            let cells = state.register(object).map(|register| register.cells());
            cells
                .ok()
                .and_then(|cells| cells.get(range))
                .map(<[Bits]>::to_vec)
        };
        let cells = contents.control.visit_one(look);
        let cells = cells.map_err(|e| Fault::Refused(ERROR, e.to_string()))?;
        let value = |bits: &Bits| Value::I64(bits.low_u64().cast_signed());
        Ok(cells.unwrap_or_default().iter().map(value).collect())
    })
}

pub(super) fn read_register(call: &Call<'_>) -> Outcome {
    Ok(cells(call, Some(call.args.i32(3)?))?.into_iter().next())
}

pub(super) fn read_registers(call: &Call<'_>) -> Outcome {
    Ok(Some(Value::List(TType::I64, cells(call, None)?)))
}

/// Sets cells of a register; all without a range.
fn set_register(call: &Call<'_>, range: Option<(i32, i32)>, value: i64) -> Outcome {
    let name = call.args.text(2)?;
    change::<ERROR>(call, |contents| {
        let array = find(&contents.schema.registers, &name)?;
        let entry = |at| register_entry(&contents.schema, array, at, value);
        let Some((start, end)) = range else {
            return Ok(vec![entry(None)?]);
        };
        let size = size_of(contents, array);
        let bounds = (usize::try_from(start).ok(), usize::try_from(end).ok());
        match bounds {
            (Some(start), Some(end)) if start <= end && end <= size => {
                (start..end).map(|at| entry(index(at))).collect()
            }
            _ => Err(Fault::Code(INVALID_INDEX)),
        }
    })
}

/// A cell is written as the type of the program's cells has it: the low bits of the number, and its
/// sign above 64.
fn register_entry(
    schema: &Schema,
    array: &ArraySchema,
    index: Option<v1::Index>,
    value: i64,
) -> Result<Entity, Fault> {
    let bits = Bits::from_u64(64, value.cast_unsigned());
    let bits = match array.width {
        width @ 0..=64 => Bits::from_u64(64, value.cast_unsigned()).slice(width.max(1) - 1, 0),
        width => bits.resize_signed(width),
    };
    let Some(spec) = &array.data else {
        return Err(Fault::Refused(
            ERROR,
            "the type of its cells is not known".to_owned(),
        ));
    };
    Ok(Entity::RegisterEntry(v1::RegisterEntry {
        register_id: array.id,
        index,
        data: Some(crate::translate::data::encode_cell(
            &schema.types,
            spec,
            &bits,
        )),
    }))
}

pub(super) fn write_register(call: &Call<'_>) -> Outcome {
    let at = call.args.i32(3)?;
    set_register(call, Some((at, at.saturating_add(1))), call.args.i64(4)?)
}

pub(super) fn write_registers(call: &Call<'_>) -> Outcome {
    let range = (call.args.i32(3)?, call.args.i32(4)?);
    set_register(call, Some(range), call.args.i64(5)?)
}

pub(super) fn reset_register(call: &Call<'_>) -> Outcome {
    set_register(call, None, 0)
}

fn find_set<'a>(schema: &'a Schema, name: &str) -> Result<&'a ValueSetSchema, Fault> {
    let found = schema.value_sets.values().find(|set| set.name == name);
    found.ok_or(Fault::Code(INVALID_NAME))
}

/// A member that is one number: all fields side by side, whole bytes of each as BMv2 has them.
fn read_member(set: &ValueSetSchema, bytes: &[u8]) -> Result<Vec<FieldMatch>, Fault> {
    let bad =
        |why: &str| Fault::Refused(VALUE_SET_ERROR, format!("value set `{}`: {why}", set.name));
    let width: u32 = set.fields.iter().map(|field| field.shape.width).sum();
    let shape = crate::translate::value::Shape::unsigned(width);
    let whole = crate::translate::value::decode(bytes, shape).map_err(|r| bad(&r.message))?;
    let mut left = width;
    let mut member = Vec::with_capacity(set.fields.len());
    for field in &set.fields {
        let width = field.shape.width;
        if width == 0 || width > left {
            return Err(bad("a field has no bits"));
        }
        let value = whole.slice(left - 1, left - width);
        left -= width;
        member.push(exactly(field.held_as, value));
    }
    Ok(member)
}

/// A match of one value.
fn exactly(kind: p4exec::tables::MatchKind, value: Bits) -> FieldMatch {
    use p4exec::tables::MatchKind;
    let width = value.width();
    match kind {
        MatchKind::Exact => FieldMatch::Exact(value),
        MatchKind::Lpm => FieldMatch::Lpm {
            value,
            prefix_len: width,
        },
        MatchKind::Ternary => FieldMatch::Ternary {
            value,
            mask: Bits::ones(width),
        },
        MatchKind::Range => FieldMatch::Range {
            low: value.clone(),
            high: value,
        },
        MatchKind::Optional => FieldMatch::Optional(Some(value)),
    }
}

/// Changes the members of a value set.
fn change_set(
    call: &Call<'_>,
    change_members: impl FnOnce(&ValueSetSchema, &mut Vec<Vec<FieldMatch>>) -> Result<(), Fault>,
) -> Outcome {
    let name = call.args.text(2)?;
    change::<VALUE_SET_ERROR>(call, |contents| {
        let set = find_set(&contents.schema, &name)?;
        let mut members = members_of(contents, set)?.to_vec();
        change_members(set, &mut members)?;
        let member = |member: &Vec<FieldMatch>| v1::ValueSetMember {
            r#match: key_messages(&set.fields, member),
        };
        Ok(vec![Entity::ValueSetEntry(v1::ValueSetEntry {
            value_set_id: set.id,
            members: members.iter().map(member).collect(),
        })])
    })
}

fn members_of<'a>(
    contents: &'a PipelineState,
    set: &ValueSetSchema,
) -> Result<&'a [Vec<FieldMatch>], Fault> {
    let state = contents.state().value_set(set.set);
    let state = state.map_err(|e| Fault::Refused(VALUE_SET_ERROR, e.to_string()))?;
    Ok(state.members())
}

pub(super) fn add_to_value_set(call: &Call<'_>) -> Outcome {
    let bytes = call.args.bytes(3)?;
    change_set(call, |set, members| {
        let member = read_member(set, &bytes)?;
        if !members.contains(&member) {
            members.push(member);
        }
        Ok(())
    })
}

pub(super) fn remove_from_value_set(call: &Call<'_>) -> Outcome {
    let bytes = call.args.bytes(3)?;
    change_set(call, |set, members| {
        let member = read_member(set, &bytes)?;
        members.retain(|there| *there != member);
        Ok(())
    })
}

pub(super) fn clear_value_set(call: &Call<'_>) -> Outcome {
    change_set(call, |_, members| {
        members.clear();
        Ok(())
    })
}

pub(super) fn value_set(call: &Call<'_>) -> Outcome {
    let name = call.args.text(2)?;
    call.look(INVALID_NAME, |contents| {
        let set = find_set(&contents.schema, &name)?;
        let values = members_of(contents, set)?
            .iter()
            .map(|m| member_bytes(m, set));
        Ok(Some(Value::List(TType::String, values.collect())))
    })
}

/// A member as one number.
fn member_bytes(member: &[FieldMatch], set: &ValueSetSchema) -> Value {
    let value = |(one, field): (&FieldMatch, &FieldSchema)| match one {
        FieldMatch::Exact(value)
        | FieldMatch::Lpm { value, .. }
        | FieldMatch::Ternary { value, .. }
        | FieldMatch::Range { low: value, .. }
        | FieldMatch::Optional(Some(value)) => value.clone(),
        FieldMatch::Optional(None) => Bits::zero(field.shape.width),
    };
    let whole = member
        .iter()
        .zip(&set.fields)
        .map(value)
        .reduce(|all, next| all.concat(&next));
    Value::Bytes(whole.map_or_else(Vec::new, |bits| bits.to_bytes_be()))
}

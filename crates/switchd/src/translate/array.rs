//! Indexed counters, meters and registers (P4Runtime 1.5, sections 9.3.2, 9.4.2 and 9.7).

use std::collections::BTreeMap;
use std::ops::Range;

use p4exec::externs::counter::CounterCell;
use p4exec::externs::meter::{Marked, MeterConfig};
use p4exec::state::{ControlState, ExternConfig};
use p4exec::{RuntimeState, StateError, Update};
use p4ir::ExternId;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use quantities::Bytes as ByteCount;

use super::action::WriteContext;
use super::pipeline_state::{PipelineState, Step, View};
use super::refusal::Refusal;
use super::schema::{ArraySchema, unknown};
use super::{Sink, Steps, Verb, data};

/// Cells fetched in one visit of the data plane.
const VISIT: usize = 4096;

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// A counter's value.
#[must_use]
pub fn cell(data: &v1::CounterData) -> CounterCell {
    CounterCell {
        packets: number(data.packet_count),
        bytes: quantities::Bytes::new(number(data.byte_count)),
    }
}

/// Rates and bursts of a two-rate three-colour meter (P4Runtime 1.5, section 9.4).
///
/// # Errors
/// INVALID_ARGUMENT if one is negative, the committed rate exceeds the peak rate, or an excess
/// burst is given.
pub fn meter_config(given: &v1::MeterConfig) -> Result<MeterConfig, Refusal> {
    if given.eburst != 0 {
        return Err(Refusal::invalid(
            "eburst is for single-rate three-colour meters; these have two rates",
        ));
    }
    let rate = |name: &str, value: i64| {
        u64::try_from(value)
            .map_err(|_| Refusal::invalid(format!("{name} {value} of the meter is negative")))
    };
    let config = MeterConfig {
        cir: rate("cir", given.cir)?,
        cburst: rate("cburst", given.cburst)?,
        pir: rate("pir", given.pir)?,
        pburst: rate("pburst", given.pburst)?,
    };
    if config.cir > config.pir {
        return Err(Refusal::invalid(format!(
            "cir {} of the meter exceeds its pir {}: the peak rate is the larger one (RFC 2698, section 2)",
            config.cir, config.pir
        )));
    }
    Ok(config)
}

/// The message of a meter's configuration.
#[must_use]
pub fn meter_message(config: &MeterConfig) -> v1::MeterConfig {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    v1::MeterConfig {
        cir: number(config.cir),
        cburst: number(config.cburst),
        pir: number(config.pir),
        pburst: number(config.pburst),
        eburst: 0,
    }
}

/// What a meter has marked by colour (P4Runtime 1.5, section 9.4.3); a colour that is left out has
/// marked nothing. Clients may only set it back to zero.
///
/// # Errors
/// INVALID_ARGUMENT if a client gives a number.
pub fn marked(
    around: &WriteContext<'_>,
    given: &v1::MeterCounterData,
) -> Result<Box<Marked>, Refusal> {
    let cell = |data: &Option<v1::CounterData>| data.as_ref().map_or_else(Default::default, cell);
    let marked = Marked {
        green: cell(&given.green),
        yellow: cell(&given.yellow),
        red: cell(&given.red),
    };
    if marked != Marked::default() && !around.restoring {
        return Err(Refusal::invalid(
            "the counts of a meter's colours can only be set back to zero",
        ));
    }
    Ok(Box::new(marked))
}

/// The message of what a meter has marked.
#[must_use]
pub fn marked_message(marked: &Marked) -> v1::MeterCounterData {
    v1::MeterCounterData {
        green: Some(counter_data(&marked.green)),
        yellow: Some(counter_data(&marked.yellow)),
        red: Some(counter_data(&marked.red)),
    }
}

fn find<'a>(
    arrays: &'a BTreeMap<u32, ArraySchema>,
    what: &'static str,
    id: u32,
) -> Result<&'a ArraySchema, Refusal> {
    arrays.get(&id).ok_or_else(|| unknown(what, id))
}

/// Cells of an array: the program's number, not P4Info's.
fn array_size(state: &ControlState, array: &ArraySchema) -> usize {
    match state.extern_config(array.object) {
        Some(ExternConfig::Array { size }) => *size,
        _ => 0,
    }
}

/// The cells an index names: all if it is left out.
fn cells(
    state: &ControlState,
    array: &ArraySchema,
    index: Option<&v1::Index>,
) -> Result<Range<usize>, Refusal> {
    let size = array_size(state, array);
    let Some(index) = index else {
        return Ok(0..size);
    };
    let Ok(at) = usize::try_from(index.index) else {
        return Err(Refusal::invalid(format!(
            "index {} of `{}` is negative",
            index.index, array.name
        )));
    };
    if at >= size {
        return Err(Refusal::out_of_range(format!(
            "index {at} is beyond the {size} cells of `{}`",
            array.name
        )));
    }
    Ok(at..at + 1)
}

fn each(range: Range<usize>, make: impl Fn(usize) -> Update) -> Steps {
    let mut steps = Steps::default();
    for index in range {
        steps.push(Step::Update(make(index)));
    }
    steps
}

/// Sets counters.
///
/// # Errors
/// INVALID_ARGUMENT, NOT_FOUND or OUT_OF_RANGE.
pub fn write_counter(
    contents: &View<'_>,
    verb: Verb,
    entry: &v1::CounterEntry,
) -> Result<Steps, Refusal> {
    verb.only_modify("counter")?;
    let array = find(&contents.schema.counters, "counter", entry.counter_id)?;
    let range = cells(contents.state(), array, entry.index.as_ref())?;
    let Some(data) = &entry.data else {
        return Ok(Steps::default());
    };
    let (counter, value) = (array.object, cell(data));
    Ok(each(range, |index| Update::SetCounter {
        counter,
        index,
        value,
    }))
}

/// Configures meters; without configuration they say green.
///
/// # Errors
/// INVALID_ARGUMENT, NOT_FOUND or OUT_OF_RANGE.
pub fn write_meter(
    contents: &View<'_>,
    around: &WriteContext<'_>,
    verb: Verb,
    entry: &v1::MeterEntry,
) -> Result<Steps, Refusal> {
    verb.only_modify("meter")?;
    let array = find(&contents.schema.meters, "meter", entry.meter_id)?;
    let range = cells(contents.state(), array, entry.index.as_ref())?;
    let config = entry.config.as_ref().map(meter_config).transpose()?;
    let meter = array.object;
    let mut steps = each(range.clone(), |index| Update::SetMeter {
        meter,
        index,
        config,
    });
    if let Some(given) = &entry.counter_data {
        let marked = marked(around, given)?;
        for index in range {
            steps.push(Step::Update(Update::SetMarked {
                meter,
                index,
                marked: marked.clone(),
            }));
        }
    }
    Ok(steps)
}

/// Sets registers.
///
/// # Errors
/// INVALID_ARGUMENT, NOT_FOUND or OUT_OF_RANGE.
pub fn write_register(
    contents: &View<'_>,
    verb: Verb,
    entry: &v1::RegisterEntry,
) -> Result<Steps, Refusal> {
    verb.only_modify("register")?;
    let array = find(&contents.schema.registers, "register", entry.register_id)?;
    let range = cells(contents.state(), array, entry.index.as_ref())?;
    let (Some(given), Some(spec)) = (&entry.data, &array.data) else {
        return Err(Refusal::invalid(format!(
            "register `{}`: the data is missing",
            array.name
        )));
    };
    let value = data::decode_cell(&contents.schema.types, spec, given, array.width)
        .map_err(|r| r.at(&format!("register `{}`", array.name)))?;
    let register = array.object;
    Ok(each(range, |index| Update::SetRegister {
        register,
        index,
        value: value.clone(),
    }))
}

/// The arrays a request names: all if the id is 0.
fn selected<'a>(
    arrays: &'a BTreeMap<u32, ArraySchema>,
    what: &'static str,
    id: u32,
) -> Result<Vec<&'a ArraySchema>, Refusal> {
    if id == 0 {
        return Ok(arrays.values().collect());
    }
    Ok(vec![find(arrays, what, id)?])
}

/// Reads cells in stretches: `fetch` from the data plane, and tells them.
fn stretch<T>(
    range: Range<usize>,
    mut fetch: impl FnMut(Range<usize>) -> Result<Vec<T>, Refusal>,
    mut tell: impl FnMut(v1::Index, T) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + VISIT);
        let read = fetch(start..end)?;
        for (index, value) in (start..end).zip(read) {
            let index = i64::try_from(index).unwrap_or(i64::MAX);
            tell(v1::Index { index }, value)?;
        }
        start = end;
    }
    Ok(())
}

/// Cells of a meter or a register.
fn cells_of<T: Send + 'static>(
    contents: &PipelineState,
    object: ExternId,
    range: Range<usize>,
    look: impl Fn(&RuntimeState, ExternId, usize) -> Result<T, StateError> + Send + 'static,
) -> Result<Vec<T>, Refusal> {
    let look = move |state: &mut RuntimeState, _| {
        let cells = range.map(|i| look(state, object, i));
        cells.collect::<Result<Vec<_>, _>>()
    };
    Ok(contents.control.visit_one(look)??)
}

/// Hands out counters.
///
/// # Errors
/// INVALID_ARGUMENT, NOT_FOUND or OUT_OF_RANGE.
pub fn read_counters(
    contents: &PipelineState,
    filter: &v1::CounterEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    for array in selected(&contents.schema.counters, "counter", filter.counter_id)? {
        let range = cells(contents.state(), array, filter.index.as_ref())?;
        let fetch = |range| Ok(contents.control.counted(array.object, range)?);
        stretch(range, fetch, |index, cell| {
            sink(Entity::CounterEntry(v1::CounterEntry {
                counter_id: array.id,
                index: Some(index),
                data: Some(counter_data(&cell)),
            }))
        })?;
    }
    Ok(())
}

/// Hands out meters.
///
/// # Errors
/// INVALID_ARGUMENT, NOT_FOUND or OUT_OF_RANGE.
pub fn read_meters(
    contents: &PipelineState,
    filter: &v1::MeterEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    for array in selected(&contents.schema.meters, "meter", filter.meter_id)? {
        let range = cells(contents.state(), array, filter.index.as_ref())?;
        let look = |state: &RuntimeState, id, i: usize| {
            let cell = &state.meter(id)?.cells[i];
            Ok((cell.config(), *cell.marked()))
        };
        let asked = filter.counter_data.is_some();
        let fetch = |range| cells_of(contents, array.object, range, look);
        stretch(range, fetch, |index, (config, marked)| {
            sink(Entity::MeterEntry(v1::MeterEntry {
                meter_id: array.id,
                index: Some(index),
                config: config.as_ref().map(meter_message),
                counter_data: asked.then(|| marked_message(&marked)),
            }))
        })?;
    }
    Ok(())
}

/// Hands out registers.
///
/// # Errors
/// INVALID_ARGUMENT, NOT_FOUND or OUT_OF_RANGE.
pub fn read_registers(
    contents: &PipelineState,
    filter: &v1::RegisterEntry,
    sink: &mut Sink<'_>,
) -> Result<(), Refusal> {
    for array in selected(&contents.schema.registers, "register", filter.register_id)? {
        let range = cells(contents.state(), array, filter.index.as_ref())?;
        let look = |state: &RuntimeState, id, i: usize| {
            let register = state.register(id)?;
            register.read(i).cloned().ok_or(StateError::Index {
                name: register.name.clone(),
                index: i,
                size: register.size(),
            })
        };
        let fetch = |range| cells_of(contents, array.object, range, look);
        stretch(range, fetch, |index, value| {
            let spec = array.data.as_ref();
            sink(Entity::RegisterEntry(v1::RegisterEntry {
                register_id: array.id,
                index: Some(index),
                data: spec.map(|spec| data::encode_cell(&contents.schema.types, spec, &value)),
            }))
        })?;
    }
    Ok(())
}

/// The message of a counter.
#[must_use]
pub fn counter_data(cell: &CounterCell) -> v1::CounterData {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    v1::CounterData {
        byte_count: number(ByteCount::get(cell.bytes)),
        packet_count: number(cell.packets),
    }
}

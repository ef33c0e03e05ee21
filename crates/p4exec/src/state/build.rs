//! The first state of a program: empty arrays, tables with their initial entries.

use std::sync::Arc;

use p4ir::{
    ActionScope, BigUint, CRC_PARTS, Const, Entity as _, Entry, ExprId, ExprKind, ExternId,
    ExternInstance, ExternType, KeyKind, KeySet, Type, TypeId, ValidProgram, ValueSet,
};
use quantities::Nanos;
use thiserror::Error;

use super::control::Binding;
use super::{
    ControlState, DataState, ExternConfig, ExternState, ProfileState, RuntimeState, StateError,
    TableCells, ValueSetState,
};
use crate::externs::counter::{CounterArray, CounterCell, CounterKind};
use crate::externs::hash::{Calculation, CrcConfig, HashAlgorithm};
use crate::externs::meter::{Meter, MeterArray, MeterKind};
use crate::externs::register::RegisterArray;
use crate::limits::{MAX_INSTRUCTIONS, MAX_STACK_BYTES};
use crate::tables::{
    ActionCall, ActionProfile, ActionSpec, EntryAction, EntryOptions, EntryPriority, FieldMatch,
    KeyField, MatchKind, NewEntry, Table, TableSpec,
};
use crate::v1model::{enum_member, scalar_width};
use crate::value::Bits;

/// Cells one extern array may have.
const MAX_CELLS: u64 = 1 << 24;

/// Bytes that all counters, meters and registers may take together.
pub const MAX_STATE_BYTES: u64 = 1 << 30;

/// Why a program cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// Nothing is instantiated.
    #[error("no `main`: this program is a library, from which others include declarations")]
    NoMain,
    /// A chip of several pipes, each with a program.
    #[error(
        "`main` has {0} different pipelines; executors run programs of one pipeline, which all pipes of the chip may share"
    )]
    Pipes(usize),
    /// `main` is none that executors run.
    #[error(
        "the program is for architecture `{0}`; executors run v1model (`V1Switch`) and Tofino (`Switch` of a `Pipeline`)"
    )]
    Architecture(String),
    /// The executor lacks an extern.
    #[error("{what}{place} is not one that the embedded switch can run")]
    UnsupportedExtern {
        /// What is called, with the algorithm of a hash.
        what: String,
        /// ` at FILE:LINE:COLUMN`, or nothing.
        place: String,
    },
    /// A match kind the executor lacks.
    #[error("`{place}` uses match kind `{kind}`, which this executor lacks")]
    UnsupportedMatch {
        /// Table or value set.
        place: String,
        /// The kind.
        kind: String,
    },
    /// An array too large to be allocated.
    #[error("`{name}` asks for {size} cells, more than the {MAX_CELLS} this executor allows")]
    TooLarge {
        /// The extern.
        name: String,
        /// Cells.
        size: u64,
    },
    /// Arrays too large together.
    #[error(
        "line {line}: with `{name}` the counters, meters and registers need {need} bytes of state; the limit is {MAX_STATE_BYTES}"
    )]
    StateBytes {
        /// The extern that is too much.
        name: String,
        /// Line in the source; 0 if it is not known.
        line: u32,
        /// Bytes of it and of those before.
        need: u64,
    },
    /// Too much code.
    #[error(
        "compiled, the program needs {need} instructions or more; the limit is {}; run it on `interp`",
        MAX_INSTRUCTIONS
    )]
    CodeSize {
        /// Instructions of the code generator when it gave up.
        need: usize,
    },
    /// Too much stack.
    #[error(
        "compiled, the program needs {need} bytes of stack; the limit is {}; run it on `interp`",
        MAX_STACK_BYTES
    )]
    StackBytes {
        /// Bytes along the deepest calls.
        need: u64,
    },
    /// The code generator failed: an error of Switchwright, not of the program.
    #[error("the program cannot be compiled to machine code: {0}; run it on `interp`")]
    CodeGenerator(String),
    /// An initial entry does not fit its table.
    #[error("initial entry of table `{table}` at line {line}: {source}")]
    Entry {
        /// The table.
        table: String,
        /// Line in the source.
        line: u32,
        /// What is wrong.
        source: Box<StateError>,
    },
    /// An initial entry has a set its match kind cannot express.
    #[error("initial entry of table `{table}` at line {line}: key `{key}` cannot match that way")]
    EntryKey {
        /// The table.
        table: String,
        /// Line in the source.
        line: u32,
        /// The key.
        key: String,
    },
}

/// Whether `main` is something that executors run.
pub(crate) fn check_main(program: &ValidProgram) -> Result<(), BuildError> {
    if program.main.type_name.is_empty() {
        return Err(BuildError::NoMain);
    }
    match program.pipes() {
        1 => Ok(()),
        pipes => Err(BuildError::Pipes(pipes)),
    }
}

impl BuildError {
    /// Where the program has what the error is about, if one place has.
    #[must_use]
    pub fn span(&self, program: &ValidProgram) -> Option<p4ir::Span> {
        let table = |name: &str| program.table_by_name(name).map(|id| &program.tables[id]);
        match self {
            Self::Entry {
                table: name, line, ..
            }
            | Self::EntryKey {
                table: name, line, ..
            } => {
                let table = table(name)?;
                let mut entries = table.entries.iter();
                let entry = entries.find(|e| e.span.line == *line);
                Some(entry.map_or(table.span, |e| e.span))
            }
            Self::UnsupportedMatch { place, .. } => {
                let set = || program.value_sets.values().find(|set| set.name == *place);
                table(place)
                    .map(|t| t.span)
                    .or_else(|| set().map(|s| s.span))
            }
            Self::TooLarge { name, .. } | Self::StateBytes { name, .. } => {
                let id = program.extern_by_name(name)?;
                Some(program.externs[id].span)
            }
            // The text of this one names its place.
            Self::UnsupportedExtern { .. }
            | Self::Architecture(_)
            | Self::NoMain
            | Self::Pipes(_)
            | Self::CodeSize { .. }
            | Self::StackBytes { .. }
            | Self::CodeGenerator(_) => None,
        }
    }

    /// Whether the program itself cannot be, on any target that takes its P4Info; otherwise the
    /// executors here lack something.
    #[must_use]
    pub const fn is_of_program(&self) -> bool {
        matches!(self, Self::Entry { .. } | Self::EntryKey { .. })
    }
}

impl RuntimeState {
    /// The state a switch starts with. Random numbers start from seed 0.
    pub fn new(program: Arc<ValidProgram>) -> Result<Self, BuildError> {
        Self::first(program, true)
    }

    /// Whether there is such a state. Counters, meters and registers are not made.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn check(program: &Arc<ValidProgram>) -> Result<(), BuildError> {
        Self::first(Arc::clone(program), false).map(drop)
    }

    fn first(program: Arc<ValidProgram>, with_arrays: bool) -> Result<Self, BuildError> {
        check_state_bytes(&program)?;
        let externs = program
            .externs
            .values()
            .map(|instance| build_extern(&program, instance, with_arrays))
            .collect::<Result<Vec<_>, _>>()?;
        let (configs, arrays): (Vec<_>, Vec<_>) = externs.into_iter().unzip();
        let value_sets = program
            .value_sets
            .values()
            .map(|v| build_value_set(&program, v))
            .collect::<Result<_, _>>()?;
        let tables = program
            .tables
            .values()
            .map(|table| build_table(&program, table))
            .collect::<Result<Vec<_>, _>>()?;
        let bindings: Vec<Binding> = program
            .tables
            .values()
            .map(|table| bind(&program, table, &configs))
            .collect();
        let direct_registers = |table: &p4ir::Table| {
            let direct = table.direct.iter().copied();
            let is = |id: &ExternId| {
                matches!(configs.get(id.index()), Some(ExternConfig::DirectRegister))
            };
            direct.filter(is).collect()
        };
        let cells = bindings.iter().zip(program.tables.values());
        let cells = cells
            .map(|(binding, table)| TableCells::new(*binding, direct_registers(table)))
            .collect();
        let mut state = Self {
            control: Arc::new(ControlState {
                tables,
                bindings,
                externs: configs,
                value_sets,
                ..ControlState::empty(Arc::clone(&program))
            }),
            data: DataState::new(cells, arrays),
        };
        for (id, table) in program.tables.iter() {
            for entry in &table.entries {
                let new = initial_entry(&program, table, entry)?;
                let inserted = state.insert_entry(id, new, Nanos::default());
                inserted.map_err(|source| BuildError::Entry {
                    table: table.name.clone(),
                    line: entry.span.line,
                    source: Box::new(source),
                })?;
            }
        }
        Ok(state)
    }
}

/// What belongs to a table besides its entries.
fn bind(program: &ValidProgram, table: &p4ir::Table, externs: &[ExternConfig]) -> Binding {
    let has = |is: fn(&ExternConfig) -> bool| {
        let direct = table.direct.iter();
        direct.filter_map(|id| externs.get(id.index())).any(is)
    };
    Binding {
        profile: table.implementation.filter(|id| is_profile(program, *id)),
        counter: has(|e| matches!(e, ExternConfig::DirectCounter(_))),
        meter: has(|e| matches!(e, ExternConfig::DirectMeter(_))),
        register: has(|e| matches!(e, ExternConfig::DirectRegister)),
        idle_timeout: table.idle_timeout,
    }
}

/// A constant constructor argument.
fn constructor_arg(instance: &ExternInstance, index: usize) -> Option<p4ir::ExprId> {
    instance.args.get(index).map(|(_, expr)| *expr)
}

fn number(program: &ValidProgram, instance: &ExternInstance, index: usize) -> u64 {
    let Some(expr) = constructor_arg(instance, index) else {
        return 0;
    };
    match &program.exprs[expr].kind {
        ExprKind::Const(Const::Bits(bits)) => u64::try_from(bits).unwrap_or(u64::MAX),
        _ => 0,
    }
}

fn member<'p>(
    program: &'p ValidProgram,
    instance: &ExternInstance,
    index: usize,
) -> Option<&'p str> {
    let expr = &program.exprs[constructor_arg(instance, index)?];
    match &expr.kind {
        ExprKind::Const(Const::Enum(i)) => enum_member(program, expr.ty, u64::from(*i)),
        _ => None,
    }
}

fn cells(program: &ValidProgram, instance: &ExternInstance) -> Result<usize, BuildError> {
    let size = number(program, instance, 0);
    if size > MAX_CELLS {
        return Err(BuildError::TooLarge {
            name: instance.name.clone(),
            size,
        });
    }
    Ok(size as usize)
}

/// An error if the arrays of a program take too much memory; none has been made.
fn check_state_bytes(program: &ValidProgram) -> Result<(), BuildError> {
    let mut need: u64 = 0;
    for instance in program.externs.values() {
        let cell = match &instance.ty {
            ExternType::Counter => size_of::<CounterCell>() as u64,
            ExternType::Meter => size_of::<Meter>() as u64,
            ExternType::Register => {
                let ty = instance.type_args.first();
                Bits::bytes(ty.map_or(0, |ty| register_width(program, *ty)))
            }
            _ => continue,
        };
        let size = cells(program, instance)? as u64;
        need = need.saturating_add(size.saturating_mul(cell));
        if need > MAX_STATE_BYTES {
            return Err(BuildError::StateBytes {
                name: instance.name.clone(),
                line: instance.span.line,
                need,
            });
        }
    }
    Ok(())
}

fn counter_kind(member: Option<&str>) -> CounterKind {
    match member {
        Some("packets" | "PACKETS") => CounterKind::Packets,
        Some("bytes" | "BYTES") => CounterKind::Bytes,
        _ => CounterKind::PacketsAndBytes,
    }
}

fn meter_kind(member: Option<&str>) -> MeterKind {
    if matches!(member, Some("bytes" | "BYTES")) {
        MeterKind::Bytes
    } else {
        MeterKind::Packets
    }
}

/// The algorithm of a member of `HashAlgorithm`, or of Tofino's `HashAlgorithm_t`. What a named
/// calculation of BMv2's JSON has is a member of its own: `crc32_custom@NUMBER:NAME`.
pub(crate) fn hash_algorithm(member: &str) -> Option<HashAlgorithm> {
    let (member, number) = match member.split_once('@') {
        Some((member, rest)) => (member, rest.split(':').next()?.parse().ok()?),
        None => (member, 0),
    };
    Some(match member {
        "crc32" | "CRC32" => HashAlgorithm::Crc32,
        "crc32_custom" => HashAlgorithm::Crc32Custom(Calculation(number)),
        "crc16" | "CRC16" => HashAlgorithm::Crc16,
        "crc16_custom" => HashAlgorithm::Crc16Custom(Calculation(number)),
        "random" => HashAlgorithm::Random,
        "RANDOM" => HashAlgorithm::Crc(CrcConfig::RANDOM),
        "identity" => HashAlgorithm::Identity,
        "IDENTITY" => HashAlgorithm::LowBits,
        "csum16" => HashAlgorithm::Csum16,
        "xor16" | "XOR16" => HashAlgorithm::Xor16,
        "XOR8" => HashAlgorithm::Xor8,
        "XOR32" => HashAlgorithm::Xor32,
        "CRC8" => HashAlgorithm::Crc(CrcConfig::CRC8),
        "CRC64" => HashAlgorithm::Crc(CrcConfig::CRC64),
        _ => return None,
    })
}

/// The CRC that constants describe, as a `CRCPolynomial` of Tofino does: coefficients, whether
/// input and output are reflected, remainder at the start, what is exclusive-ored to the remainder
/// before it is reflected. None if one of them is no constant.
pub(crate) fn described_crc(program: &ValidProgram, parts: &[ExprId]) -> Option<CrcConfig> {
    let [coeff, reversed, init, xor] = parts else {
        return None;
    };
    let constant = |expr: ExprId| match &program.exprs[expr].kind {
        ExprKind::Const(Const::Bits(value)) => Some(value.iter_u64_digits().next().unwrap_or(0)),
        ExprKind::Const(Const::Bool(value)) => Some(u64::from(*value)),
        _ => None,
    };
    let width = scalar_width(program, program.exprs[*coeff].ty).clamp(1, 64);
    let reflected = constant(*reversed)? != 0;
    let xor = constant(*xor)?;
    Some(CrcConfig {
        width,
        // The constant term of a CRC's polynomial is 1.
        polynomial: constant(*coeff)? | 1,
        initial: constant(*init)?,
        final_xor: match reflected {
            true => xor.reverse_bits() >> (64 - width),
            false => xor,
        },
        reflect_input: reflected,
        reflect_output: reflected,
    })
}

/// The algorithm of a selector: the CRC that the program describes, or the one it names.
fn selector_algorithm(program: &ValidProgram, instance: &ExternInstance) -> HashAlgorithm {
    let part = |name| {
        let mut args = instance.args.iter();
        args.find(|(given, _)| given == name).map(|(_, e)| *e)
    };
    let parts: Vec<ExprId> = CRC_PARTS.into_iter().filter_map(part).collect();
    match described_crc(program, &parts) {
        Some(config) => HashAlgorithm::Crc(config),
        None => member(program, instance, 0)
            .and_then(hash_algorithm)
            .unwrap_or(HashAlgorithm::Crc16),
    }
}

/// An extern object's part of the control state and of the data state.
fn build_extern(
    program: &ValidProgram,
    instance: &ExternInstance,
    with_arrays: bool,
) -> Result<(ExternConfig, ExternState), BuildError> {
    let name = instance.name.clone();
    let cells = |program, instance| {
        let size = cells(program, instance);
        size.map(|size| if with_arrays { size } else { 0 })
    };
    let kind = |index| member(program, instance, index);
    let array = |size| ExternConfig::Array { size };
    let profile = |profile, algorithm| {
        let state = ProfileState { profile, algorithm };
        (ExternConfig::Profile(Box::new(state)), ExternState::None)
    };
    Ok(match &instance.ty {
        ExternType::Counter => {
            let size = cells(program, instance)?;
            let counter = CounterArray::new(name, counter_kind(kind(1)), size);
            (array(size), ExternState::Counter(counter))
        }
        ExternType::Meter => {
            let size = cells(program, instance)?;
            let meter = MeterArray::new(name, meter_kind(kind(1)), size);
            (array(size), ExternState::Meter(meter))
        }
        ExternType::Register => {
            let width = instance
                .type_args
                .first()
                .map_or(0, |ty| register_width(program, *ty));
            let size = cells(program, instance)?;
            let register = new_register(program, instance, width, size);
            (array(size), ExternState::Register(register))
        }
        ExternType::DirectRegister => {
            // The cell of a miss; those of entries come with them.
            let cell = instance.type_args.first();
            let width = cell.map_or(0, |ty| register_width(program, *ty));
            let register = new_register(program, instance, width, 1);
            (ExternConfig::DirectRegister, ExternState::Register(register))
        }
        ExternType::ActionProfile => profile(
            ActionProfile::new(name, false, profile_size(number(program, instance, 0))),
            HashAlgorithm::Crc16,
        ),
        ExternType::ActionSelector => profile(
            ActionProfile::new(name, true, profile_size(number(program, instance, 1))),
            selector_algorithm(program, instance),
        ),
        ExternType::DirectCounter => {
            let kind = counter_kind(kind(0));
            (ExternConfig::DirectCounter(kind), ExternState::None)
        }
        ExternType::DirectMeter => {
            let kind = meter_kind(kind(0));
            (ExternConfig::DirectMeter(kind), ExternState::None)
        }
        // What Tofino programs make of these is written out in the program.
        ExternType::Checksum16
        | ExternType::Checksum
        | ExternType::ParserCounter
        | ExternType::ParserPriority
        | ExternType::CrcPolynomial
        | ExternType::Hash
        | ExternType::Random
        | ExternType::DirectRegisterAction
        | ExternType::RegisterAction
        | ExternType::Mirror
        | ExternType::Resubmit
        | ExternType::Digest
        | ExternType::RegisterAction2
        | ExternType::RegisterAction3
        | ExternType::RegisterAction4
        | ExternType::MinMaxAction
        // Calls of what is not known are refused; an object that nothing calls is in nobody's way.
        | ExternType::Other(_) => (ExternConfig::Stateless, ExternState::None),
    })
}

fn new_register(
    program: &ValidProgram,
    instance: &ExternInstance,
    width: u32,
    size: usize,
) -> RegisterArray {
    let mut register = RegisterArray::new(instance.name.clone(), width, size);
    let initial = instance.args.iter().find(|(n, _)| n == "initial_value");
    if let Some((_, expr)) = initial
        && let ExprKind::Const(value) = &program.exprs[*expr].kind
    {
        register.start_with(const_bits(value, width));
    }
    register
}

/// A size of zero means that the program does not care.
fn profile_size(size: u64) -> Option<usize> {
    usize::try_from(size).ok().filter(|size| *size > 0)
}

/// The bits of a register cell: a scalar, or the fields of a struct side by side.
fn register_width(program: &ValidProgram, ty: TypeId) -> u32 {
    let wire = program
        .types
        .wire_width(ty)
        .and_then(|w| u32::try_from(w).ok());
    wire.filter(|w| *w > 0)
        .unwrap_or_else(|| scalar_width(program, ty))
}

fn match_kind(kind: &KeyKind, place: &str) -> Result<MatchKind, BuildError> {
    kind.matched().ok_or_else(|| {
        let (place, kind) = (place.to_owned(), kind.name().to_owned());
        BuildError::UnsupportedMatch { place, kind }
    })
}

fn build_value_set(program: &ValidProgram, set: &ValueSet) -> Result<ValueSetState, BuildError> {
    let fields = set
        .fields
        .iter()
        .map(|field| {
            Ok(KeyField {
                name: field.name.clone(),
                width: scalar_width(program, field.ty),
                kind: match_kind(&field.kind, &set.name)?,
            })
        })
        .collect::<Result<_, BuildError>>()?;
    let size = usize::try_from(set.size).unwrap_or(usize::MAX);
    Ok(ValueSetState::new(set.name.clone(), fields, size))
}

/// The widths of an action's control-plane parameters.
fn param_widths(program: &ValidProgram, action: p4ir::ActionId) -> Vec<u32> {
    program.actions[action]
        .data_params()
        .map(|param| scalar_width(program, program.vars[param.var].ty))
        .collect()
}

fn build_table(program: &ValidProgram, table: &p4ir::Table) -> Result<Table, BuildError> {
    let keys = table
        .keys
        .iter()
        .filter(|key| key.kind != KeyKind::Selector)
        .map(|key| {
            let ty = program.exprs[key.expr].ty;
            let kind = match_kind(&key.kind, &table.name)?;
            // The control plane's bounds are unsigned: it has no way to say a negative one.
            if kind == MatchKind::Range
                && matches!(program.types[ty], Type::Bits { signed: true, .. })
            {
                let (place, kind) = (table.name.clone(), "range of int<N>".to_owned());
                return Err(BuildError::UnsupportedMatch { place, kind });
            }
            Ok(KeyField {
                name: key.name.clone(),
                width: scalar_width(program, ty),
                kind,
            })
        })
        .collect::<Result<_, BuildError>>()?;
    let actions = table
        .actions
        .iter()
        .map(|a| ActionSpec {
            id: a.action,
            name: program.actions[a.action].name.clone(),
            params: param_widths(program, a.action),
            in_entries: a.scope != ActionScope::DefaultOnly,
            as_default: a.scope != ActionScope::TableOnly,
        })
        .collect();
    let default = &table.default_action;
    let default_action = table
        .actions
        .get(default.action as usize)
        .map(|action| action_call(program, action.action, &default.args));
    Ok(Table::new(TableSpec {
        name: table.name.clone(),
        keys,
        actions,
        default_action,
        const_default: default.is_const,
        const_entries: table.const_entries,
        size: table
            .capacity(None)
            .and_then(|size| usize::try_from(size).ok()),
        indirect: table
            .implementation
            .is_some_and(|id| is_profile(program, id)),
    }))
}

fn is_profile(program: &ValidProgram, id: ExternId) -> bool {
    program.externs[id].ty.holds_actions()
}

fn action_call(program: &ValidProgram, action: p4ir::ActionId, args: &[Const]) -> ActionCall {
    let widths = param_widths(program, action);
    let args = args
        .iter()
        .zip(widths)
        .map(|(arg, width)| const_bits(arg, width))
        .collect();
    ActionCall { action, args }
}

/// A constant as a bit string of a width.
pub(crate) fn const_bits(value: &Const, width: u32) -> Bits {
    match value {
        Const::Bits(bits) => Bits::from_biguint(width, bits),
        Const::Bool(b) => Bits::from_u64(width, u64::from(*b)),
        Const::Error(index) | Const::Enum(index) => Bits::from_u64(width, u64::from(*index)),
        Const::Str(_) => Bits::zero(width),
    }
}

fn initial_entry(
    program: &ValidProgram,
    table: &p4ir::Table,
    entry: &Entry,
) -> Result<NewEntry, BuildError> {
    let mut key = Vec::with_capacity(entry.keys.len());
    for (field, set) in table.keys.iter().zip(&entry.keys) {
        if field.kind == KeyKind::Selector {
            continue;
        }
        let width = scalar_width(program, program.exprs[field.expr].ty);
        let kind = match_kind(&field.kind, &table.name)?;
        key.push(
            field_match(kind, width, set).ok_or_else(|| BuildError::EntryKey {
                table: table.name.clone(),
                line: entry.span.line,
                key: field.name.clone(),
            })?,
        );
    }
    let action = table.actions[entry.action as usize].action;
    Ok(NewEntry {
        key,
        priority: EntryPriority(i32::try_from(entry.priority).unwrap_or(i32::MAX)),
        action: EntryAction::Call(action_call(program, action, &entry.args)),
        is_const: entry.is_const,
        options: EntryOptions::default(),
    })
}

/// The match of a key set, if the kind can express it.
fn field_match(kind: MatchKind, width: u32, set: &KeySet) -> Option<FieldMatch> {
    let bits = |v: &BigUint| Bits::from_biguint(width, v);
    Some(match (kind, set) {
        (_, KeySet::Any) => return FieldMatch::any(kind, width),
        (MatchKind::Exact, KeySet::Value(v)) => FieldMatch::Exact(const_bits(v, width)),
        (MatchKind::Optional, KeySet::Value(v)) => FieldMatch::Optional(Some(const_bits(v, width))),
        (MatchKind::Lpm, KeySet::Value(v)) => FieldMatch::Lpm {
            value: const_bits(v, width),
            prefix_len: width,
        },
        (MatchKind::Ternary, KeySet::Value(v)) => FieldMatch::Ternary {
            value: const_bits(v, width),
            mask: Bits::ones(width),
        },
        (MatchKind::Range, KeySet::Value(v)) => {
            let value = const_bits(v, width);
            FieldMatch::Range {
                low: value.clone(),
                high: value,
            }
        }
        (MatchKind::Range, KeySet::Range { lo, hi }) => FieldMatch::Range {
            low: bits(lo),
            high: bits(hi),
        },
        (MatchKind::Ternary, KeySet::Mask { value, mask }) => FieldMatch::Ternary {
            value: bits(value),
            mask: bits(mask),
        },
        (MatchKind::Lpm, KeySet::Mask { value, mask }) => {
            let prefix_len = u32::try_from(mask.count_ones()).ok()?;
            if bits(mask) != Bits::prefix_mask(width, prefix_len) {
                return None;
            }
            FieldMatch::Lpm {
                value: bits(value),
                prefix_len,
            }
        }
        _ => return None,
    })
}

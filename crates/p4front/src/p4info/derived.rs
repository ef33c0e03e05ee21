//! P4Info of a program that comes without its source, such as BMv2 JSON. Ids and aliases are those
//! that p4c makes of names; what only the source says is absent: annotations with their `@id`s,
//! documentation, names of types, digests, headers of the controller.

use std::collections::BTreeMap;

use num_traits::ToPrimitive;
use p4ir::{
    ActionId, Const, ExprKind, ExternId, ExternInstance, ExternType, Program, Type, TypeId,
};
use p4runtime::p4::config::v1 as proto;
use p4runtime::p4::config::v1::counter_spec::Unit;
use p4runtime::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime::p4::config::v1::table::IdleTimeoutBehavior;

use super::build::{DEFAULT_TABLE_SIZE, extern_kind, match_kind, scope};
use super::ids::{Kind, Symbols};
use super::int32;
use super::objects::meter_spec;

/// The P4Info of a program, as far as the program itself tells it.
#[must_use]
pub fn p4info_of(program: &Program) -> proto::P4Info {
    let mut actions: BTreeMap<&str, ActionId> = BTreeMap::new();
    for listed in program.tables.values().flat_map(|table| &table.actions) {
        let name = program.actions[listed.action].name.as_str();
        actions.entry(name).or_insert(listed.action);
    }
    let mut symbols = Symbols::default();
    let named = |kind, names: Vec<&str>, symbols: &mut Symbols| {
        for name in names {
            // Without an `@id` nothing can be wrong.
            let _ = symbols.add(kind, name, None);
        }
    };
    named(
        Kind::Action,
        actions.keys().copied().collect(),
        &mut symbols,
    );
    let tables = program.tables.values().map(|table| table.name.as_str());
    named(Kind::Table, tables.collect(), &mut symbols);
    for object in program.externs.values() {
        if let Some(kind) = extern_kind(&object.ty) {
            named(kind, vec![&object.name], &mut symbols);
        }
    }
    let sets = program.value_sets.values().map(|set| set.name.as_str());
    named(Kind::ValueSet, sets.collect(), &mut symbols);
    symbols.assign();
    let mut derived = Derived {
        program,
        symbols,
        info: proto::P4Info::default(),
    };
    for action in actions.into_values() {
        derived.action(action);
    }
    program
        .tables
        .values()
        .for_each(|table| derived.table(table));
    for (id, object) in program.externs.iter() {
        derived.object(id, object);
    }
    program
        .value_sets
        .values()
        .for_each(|set| derived.value_set(set));
    derived.info
}

/// P4Info in the making.
struct Derived<'p> {
    program: &'p Program,
    symbols: Symbols,
    info: proto::P4Info,
}

impl Derived<'_> {
    fn preamble(&self, kind: Kind, name: &str) -> Option<proto::Preamble> {
        Some(proto::Preamble {
            id: self.symbols.id(kind, name),
            name: name.to_owned(),
            alias: self.symbols.alias(name),
            ..Default::default()
        })
    }

    fn width(&self, ty: TypeId) -> i32 {
        match self.program.types.get(ty) {
            Some(Type::Bits { width, .. }) => int32(*width),
            Some(Type::Bool) => 1,
            Some(Type::Varbit { max }) => int32(*max),
            _ => 0,
        }
    }

    fn action(&mut self, id: ActionId) {
        let action = &self.program.actions[id];
        let param = |(number, param): (u32, &p4ir::Param)| proto::action::Param {
            id: number,
            name: self.program.vars[param.var].name.clone(),
            bitwidth: self.width(self.program.vars[param.var].ty),
            ..Default::default()
        };
        let params = (1..).zip(action.data_params()).map(param).collect();
        let preamble = self.preamble(Kind::Action, &action.name);
        self.info.actions.push(proto::Action { preamble, params });
    }

    fn table(&mut self, table: &p4ir::Table) {
        let program = self.program;
        let keys = table.keys.iter().filter_map(|key| {
            let kind = match_kind(&key.kind)?;
            Some((&key.name, program.exprs[key.expr].ty, kind))
        });
        let field = |(id, (name, ty, kind)): (u32, (&String, TypeId, _))| proto::MatchField {
            id,
            name: name.clone(),
            bitwidth: self.width(ty),
            r#match: Some(kind),
            ..Default::default()
        };
        let match_fields = (1..).zip(keys).map(field).collect();
        let mut action_refs: Vec<proto::ActionRef> = Vec::new();
        for listed in &table.actions {
            let id = self
                .symbols
                .id(Kind::Action, &program.actions[listed.action].name);
            if action_refs.iter().all(|known| known.id != id) {
                action_refs.push(proto::ActionRef {
                    id,
                    scope: scope(listed.scope).into(),
                    ..Default::default()
                });
            }
        }
        let direct = |id: &ExternId| {
            let object = &program.externs[*id];
            let kind = extern_kind(&object.ty)?;
            Some(self.symbols.id(kind, &object.name))
        };
        let implementation = table.implementation.map(|id| &program.externs[id].name);
        let behaviour = match table.idle_timeout {
            true => IdleTimeoutBehavior::NotifyControl,
            false => IdleTimeoutBehavior::NoTimeout,
        };
        self.info.tables.push(proto::Table {
            preamble: self.preamble(Kind::Table, &table.name),
            match_fields,
            action_refs,
            implementation_id: implementation
                .map_or(0, |name| self.symbols.id(Kind::ActionProfile, name)),
            direct_resource_ids: table.direct.iter().filter_map(direct).collect(),
            size: table
                .capacity(Some(DEFAULT_TABLE_SIZE))
                .and_then(|size| i64::try_from(size).ok())
                .unwrap_or(i64::MAX),
            idle_timeout_behavior: behaviour.into(),
            is_const_table: table.const_entries,
            has_initial_entries: !table.entries.is_empty(),
            ..Default::default()
        });
    }

    fn size(&self, object: &ExternInstance) -> i64 {
        let given = object.args.iter().find(|(name, _)| name == "size");
        match given.map(|(_, expr)| &self.program.exprs[*expr].kind) {
            Some(ExprKind::Const(Const::Bits(size))) => size.to_i64().unwrap_or(i64::MAX),
            _ => 0,
        }
    }

    /// What an object counts: the member of its `type`.
    fn unit(&self, object: &ExternInstance) -> Unit {
        let given = object.args.iter().find(|(name, _)| name == "type");
        let Some(expr) = given.map(|(_, expr)| &self.program.exprs[*expr]) else {
            return Unit::Both;
        };
        let member = match (&expr.kind, self.program.types.get(expr.ty)) {
            (ExprKind::Const(Const::Enum(index)), Some(Type::Enum { members, .. })) => {
                usize::try_from(*index).ok().and_then(|i| members.get(i))
            }
            _ => None,
        };
        match member.map(|name| name.to_ascii_lowercase()).as_deref() {
            Some("bytes") => Unit::Bytes,
            Some("packets") => Unit::Packets,
            _ => Unit::Both,
        }
    }

    /// The table of a direct object.
    fn table_of(&self, id: ExternId) -> Option<u32> {
        let table = self
            .program
            .tables
            .values()
            .find(|t| t.direct.contains(&id))?;
        Some(self.symbols.id(Kind::Table, &table.name))
    }

    fn object(&mut self, id: ExternId, object: &ExternInstance) {
        let Some(kind) = extern_kind(&object.ty) else {
            return;
        };
        let preamble = self.preamble(kind, &object.name);
        let (size, unit) = (self.size(object), self.unit(object));
        let spec = Some(proto::CounterSpec { unit: unit.into() });
        match (kind, self.table_of(id)) {
            (Kind::Counter, _) => self.info.counters.push(proto::Counter {
                preamble,
                spec,
                size,
                ..Default::default()
            }),
            (Kind::Meter, _) => self.info.meters.push(proto::Meter {
                preamble,
                spec: Some(meter_spec(unit)),
                size,
                ..Default::default()
            }),
            (Kind::DirectCounter, Some(direct_table_id)) => {
                self.info.direct_counters.push(proto::DirectCounter {
                    preamble,
                    spec,
                    direct_table_id,
                });
            }
            (Kind::DirectMeter, Some(direct_table_id)) => {
                self.info.direct_meters.push(proto::DirectMeter {
                    preamble,
                    spec: Some(meter_spec(unit)),
                    direct_table_id,
                });
            }
            (Kind::Register, _) => self.info.registers.push(proto::Register {
                preamble,
                type_spec: Some(self.cell_type(object)),
                size: int32(size),
                ..Default::default()
            }),
            (Kind::ActionProfile, _) => self.profile(id, object, preamble, size),
            _ => {}
        }
    }

    /// The type of a register's cell: JSON knows numbers only.
    fn cell_type(&self, object: &ExternInstance) -> proto::P4DataTypeSpec {
        let bitwidth = object.type_args.first().map_or(0, |ty| self.width(*ty));
        proto::P4DataTypeSpec {
            type_spec: Some(TypeSpec::Bitstring(proto::P4BitstringLikeTypeSpec {
                type_spec: Some(Bitstring::Bit(proto::P4BitTypeSpec { bitwidth })),
                ..Default::default()
            })),
        }
    }

    fn profile(
        &mut self,
        id: ExternId,
        object: &ExternInstance,
        preamble: Option<proto::Preamble>,
        size: i64,
    ) {
        let users = self.program.tables.values();
        let users = users.filter(|table| table.implementation == Some(id));
        let table_ids = users.map(|table| self.symbols.id(Kind::Table, &table.name));
        let table_ids = table_ids.collect();
        self.info.action_profiles.push(proto::ActionProfile {
            preamble,
            table_ids,
            with_selector: object.ty == ExternType::ActionSelector,
            size,
            ..Default::default()
        });
    }

    fn value_set(&mut self, set: &p4ir::ValueSet) {
        let field = |(id, field): (u32, &p4ir::ValueSetField)| proto::MatchField {
            id,
            name: field.name.clone(),
            bitwidth: self.width(field.ty),
            r#match: match_kind(&field.kind),
            ..Default::default()
        };
        let fields = (1..).zip(&set.fields).map(field).collect();
        self.info.value_sets.push(proto::ValueSet {
            preamble: self.preamble(Kind::ValueSet, &set.name),
            r#match: fields,
            size: int32(set.size),
        });
    }
}

//! P4Info and program put together: every id of the control plane with the thing of the program it
//! names, and every width checked.
//!
//! The ids are those of the P4Info given (P4Runtime 1.5, chapter 14); what it names must be in the
//! program and look as it says. Widths may differ only where P4Info says that a type is translated.

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use entries::Problem;
use entries::catalog::match_kind;
use p4exec::tables::MatchKind;
use p4exec::v1model::scalar_width;
use p4ir::{
    ActionId, Entity as _, ExternId, ExternType, KeySet, TableId, Type, TypeId, ValidProgram,
    ValueSetId,
};
use p4runtime::NameError;
use p4runtime::p4::config::v1 as info;
use quantities::PortId;

use super::refusal::Refusal;
use super::value::Shape;
use crate::ports::PortNames;

/// A field of a key.
#[derive(Clone, Debug)]
pub struct FieldSchema {
    /// Its id in the table.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// How its values are written.
    pub shape: Shape,
    /// The names that its values have on the wire, if they are names of ports.
    pub names: Option<Arc<PortNames>>,
    /// How entries match it.
    pub kind: MatchKind,
    /// How the program's table holds such a match: in BMv2's JSON, which knows no optional fields,
    /// as ternary.
    pub held_as: MatchKind,
}

impl FieldSchema {
    /// Whether it may be left out.
    #[must_use]
    pub const fn has_dont_care(&self) -> bool {
        !matches!(self.kind, MatchKind::Exact)
    }
}

/// A parameter of an action.
#[derive(Clone, Debug)]
pub struct ParamSchema {
    /// Its id in the action.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// How its values are written.
    pub shape: Shape,
    /// The names that its values have on the wire, if they are names of ports.
    pub names: Option<Arc<PortNames>>,
}

/// An action.
#[derive(Clone, Debug)]
pub struct ActionSchema {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// What the control plane fills, in the program's order.
    pub params: Vec<ParamSchema>,
}

/// An action as a table offers it.
#[derive(Clone, Debug)]
pub struct ActionChoice {
    /// The action.
    pub schema: Arc<ActionSchema>,
    /// The program's action.
    pub action: ActionId,
    /// Whether entries may use it.
    pub in_entries: bool,
    /// Whether it may be the default action.
    pub as_default: bool,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableSchema {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The program's table.
    pub table: TableId,
    /// Its key in the program's order.
    pub fields: Vec<FieldSchema>,
    /// What it offers.
    pub actions: Vec<ActionChoice>,
    /// Whether entries carry a priority.
    pub needs_priority: bool,
    /// Whether entries age.
    pub idle_timeout: bool,
    /// Declared `const entries`.
    pub const_entries: bool,
    /// The default action is `const`.
    pub const_default: bool,
    /// The profile that holds its actions.
    pub profile: Option<u32>,
    /// The id of its direct counter.
    pub counter: Option<u32>,
    /// The id of its direct meter.
    pub meter: Option<u32>,
    /// Whether its entries can take the short way: direct actions, unsigned keys, entries that are
    /// not const.
    pub fast: bool,
}

/// An action profile.
#[derive(Clone, Debug)]
pub struct ProfileSchema {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The program's object.
    pub profile: ExternId,
    /// Whether it has groups.
    pub with_selector: bool,
    /// The most a group may hold; 0 leaves it open.
    pub max_group_size: u32,
    /// What a group's size counts: members (with the largest weight, 0 for any) or, `None`,
    /// weights.
    pub max_member_weight: Option<u32>,
    /// Whether the switch decides weights, and clients leave them out.
    pub weights_disallowed: bool,
    /// What members may do.
    pub actions: Vec<ActionChoice>,
    /// The tables that use it.
    pub tables: Vec<TableId>,
}

/// An array of counters, meters or registers.
#[derive(Clone, Debug)]
pub struct ArraySchema {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The program's object.
    pub object: ExternId,
    /// Cells.
    pub size: usize,
    /// Bits of a register's cell.
    pub width: u32,
    /// The type of a register's cell.
    pub data: Option<info::P4DataTypeSpec>,
}

/// A value set.
#[derive(Clone, Debug)]
pub struct ValueSetSchema {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The program's value set.
    pub set: ValueSetId,
    /// Its fields.
    pub fields: Vec<FieldSchema>,
}

/// A digest.
#[derive(Clone, Debug)]
pub struct DigestSchema {
    /// Its id.
    pub id: u32,
    /// Its name, which the data plane says with every message.
    pub name: String,
    /// The type of a message.
    pub data: info::P4DataTypeSpec,
}

/// The header of packets from or to the controller.
#[derive(Clone, Debug, Default)]
pub struct HeaderSchema {
    /// Its fields in order.
    pub fields: Vec<ParamSchema>,
}

/// Everything the control plane can name. See the module's documentation.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The program.
    pub program: Arc<ValidProgram>,
    /// Named types, for registers and digests.
    pub types: info::P4TypeInfo,
    /// The names by which the control plane knows ports, if the program has a type for that:
    /// replicas and watched ports are named so too.
    pub port_names: Option<Arc<PortNames>>,
    /// Tables by id.
    pub tables: BTreeMap<u32, TableSchema>,
    /// Action profiles by id.
    pub profiles: BTreeMap<u32, ProfileSchema>,
    /// Counters by id.
    pub counters: BTreeMap<u32, ArraySchema>,
    /// Meters by id.
    pub meters: BTreeMap<u32, ArraySchema>,
    /// Registers by id.
    pub registers: BTreeMap<u32, ArraySchema>,
    /// Value sets by id.
    pub value_sets: BTreeMap<u32, ValueSetSchema>,
    /// Digests by id.
    pub digests: BTreeMap<u32, DigestSchema>,
    /// The header of packets to the controller.
    pub packet_in: Option<HeaderSchema>,
    /// The header of packets from the controller.
    pub packet_out: Option<HeaderSchema>,
    /// The id of each action of the program.
    pub action_ids: Vec<Option<u32>>,
}

pub(super) fn unfit<T>(what: impl std::fmt::Display) -> Result<T, Refusal> {
    Err(Refusal::invalid(format!(
        "P4Info does not fit the device config: {what}"
    )))
}

/// The preamble of an object, which none may lack.
fn preamble<'a>(
    preamble: Option<&'a info::Preamble>,
    what: &str,
) -> Result<&'a info::Preamble, Refusal> {
    match preamble {
        Some(preamble) if preamble.id != 0 => Ok(preamble),
        Some(preamble) => unfit(format!("{what} `{}` has no id", preamble.name)),
        None => unfit(format!("a {what} has no preamble")),
    }
}

pub(super) struct Builder<'a> {
    pub(super) program: &'a ValidProgram,
    pub(super) info: &'a info::P4Info,
    pub(super) names: &'a Arc<PortNames>,
    actions: BTreeMap<u32, &'a info::Action>,
}

impl Schema {
    /// Puts both together.
    ///
    /// # Errors
    /// INVALID_ARGUMENT naming the first thing that does not fit; UNIMPLEMENTED for one whose
    /// values are strings that nobody can translate.
    pub fn new(
        program: Arc<ValidProgram>,
        given: &info::P4Info,
        names: &Arc<PortNames>,
    ) -> Result<Self, Refusal> {
        let mut actions = BTreeMap::new();
        for action in &given.actions {
            let head = preamble(action.preamble.as_ref(), "action")?;
            if actions.insert(head.id, action).is_some() {
                return unfit(format!("two actions have the id {}", head.id));
            }
        }
        let builder = Builder {
            program: &program,
            info: given,
            names,
            actions,
        };
        let mut tables = BTreeMap::new();
        for table in &given.tables {
            let table = builder.table(table)?;
            put(&mut tables, table.id, table)?;
        }
        let mut action_ids = vec![None; program.actions.len()];
        for choice in tables.values().flat_map(|t: &TableSchema| &t.actions) {
            action_ids[choice.action.index()] = Some(choice.schema.id);
        }
        let mut schema = Self {
            types: given.type_info.clone().unwrap_or_default(),
            port_names: builder.has_port_names().then(|| Arc::clone(names)),
            profiles: builder.profiles(&tables)?,
            counters: builder.arrays()?,
            meters: builder.meters()?,
            registers: builder.registers()?,
            value_sets: builder.value_sets()?,
            digests: builder.digests()?,
            packet_in: builder.header("packet_in")?,
            packet_out: builder.header("packet_out")?,
            tables,
            action_ids,
            program: Arc::clone(&program),
        };
        schema.direct(given)?;
        Ok(schema)
    }

    /// A port as the program's control plane knows ports: by its number in the shortest form, or by
    /// its name.
    #[must_use]
    pub fn port_bytes(&self, port: PortId) -> Vec<u8> {
        match &self.port_names {
            None => super::value::port_bytes(port),
            Some(names) => names.name(port.get().into()).into_bytes(),
        }
    }

    /// The id of the action, if P4Info has it.
    #[must_use]
    pub fn action_id(&self, action: ActionId) -> Option<u32> {
        self.action_ids.get(action.index()).copied().flatten()
    }

    /// The table of an id.
    ///
    /// # Errors
    /// NOT_FOUND, naming the id.
    pub fn table(&self, id: u32) -> Result<&TableSchema, Refusal> {
        self.tables.get(&id).ok_or_else(|| unknown("table", id))
    }

    /// The profile of a table, by the program's number.
    #[must_use]
    pub fn profile_of(&self, table: TableId) -> Option<&ProfileSchema> {
        let mut profiles = self.profiles.values();
        profiles.find(|profile| profile.tables.contains(&table))
    }

    /// The profile of an id.
    ///
    /// # Errors
    /// NOT_FOUND, naming the id.
    pub fn profile(&self, id: u32) -> Result<&ProfileSchema, Refusal> {
        self.profiles
            .get(&id)
            .ok_or_else(|| unknown("action profile", id))
    }

    /// Notes which tables have direct resources; these must be bound in the program too.
    fn direct(&mut self, given: &info::P4Info) -> Result<(), Refusal> {
        let counters = given.direct_counters.iter();
        let counters = counters.map(|c| (c.preamble.as_ref(), c.direct_table_id, true));
        let meters = given.direct_meters.iter();
        let meters = meters.map(|m| (m.preamble.as_ref(), m.direct_table_id, false));
        for (head, table, counter) in counters.chain(meters) {
            let head = preamble(head, "direct resource")?;
            let Some(table) = self.tables.get_mut(&table) else {
                return unfit(format!(
                    "`{}` is of table {table}, which is missing",
                    head.name
                ));
            };
            let bound = |id: &ExternId| {
                let kind = if counter {
                    ExternType::DirectCounter
                } else {
                    ExternType::DirectMeter
                };
                self.program.externs[*id].ty == kind
            };
            if !self.program.tables[table.table].direct.iter().any(bound) {
                return unfit(format!("table `{}` has no `{}`", table.name, head.name));
            }
            let place = if counter {
                &mut table.counter
            } else {
                &mut table.meter
            };
            *place = Some(head.id);
        }
        Ok(())
    }
}

/// "there is no table 7".
pub(super) fn unknown(kind: &'static str, id: u32) -> Refusal {
    if id == 0 {
        return Refusal::invalid(format!("the {kind} id is missing"));
    }
    Problem::from(NameError::UnknownId { kind, id }).into()
}

fn put<T>(map: &mut BTreeMap<u32, T>, id: u32, value: T) -> Result<(), Refusal> {
    match map.insert(id, value) {
        None => Ok(()),
        Some(_) => unfit(format!("two objects of one kind have the id {id}")),
    }
}

impl Builder<'_> {
    pub(super) fn shape(&self, ty: TypeId) -> Shape {
        let signed = matches!(self.program.types[ty], Type::Bits { signed: true, .. });
        Shape {
            width: scalar_width(self.program, ty),
            signed,
        }
    }

    /// The width P4Info gives must be the program's, unless the type is translated.
    fn width(
        &self,
        place: &str,
        given: i32,
        type_name: Option<&info::P4NamedType>,
        ty: TypeId,
    ) -> Result<Shape, Refusal> {
        let shape = self.shape(ty);
        let translated = self.translation(type_name).is_some();
        let plain = matches!(self.program.types[ty], Type::Bits { .. } | Type::Bool);
        if plain && !translated && u32::try_from(given) != Ok(shape.width) {
            return unfit(format!(
                "{place} has {given} bits in P4Info and {} in the program",
                shape.width
            ));
        }
        Ok(shape)
    }

    fn action(&self, id: u32, action: ActionId) -> Result<ActionSchema, Refusal> {
        let Some(given) = self.actions.get(&id) else {
            return unfit(format!("there is no action with id {id}"));
        };
        let head = preamble(given.preamble.as_ref(), "action")?;
        let params: Vec<_> = self.program.actions[action].data_params().collect();
        if params.len() != given.params.len() {
            return unfit(format!(
                "action `{}` has {} parameters in P4Info and {} in the program",
                head.name,
                given.params.len(),
                params.len()
            ));
        }
        let mut schemas = Vec::with_capacity(params.len());
        for (param, given) in params.iter().zip(&given.params) {
            let place = format!("parameter `{}` of action `{}`", given.name, head.name);
            let ty = self.program.vars[param.var].ty;
            let type_name = given.type_name.as_ref();
            let shape = self.width(&place, given.bitwidth, type_name, ty)?;
            schemas.push(ParamSchema {
                id: given.id,
                name: given.name.clone(),
                shape,
                names: self.names(&place, type_name, shape.width)?,
            });
        }
        Ok(ActionSchema {
            id,
            name: head.name.clone(),
            params: schemas,
        })
    }

    /// The actions a table offers: those of P4Info, found in the program's list by name.
    fn choices(
        &self,
        given: &info::Table,
        name: &str,
        table: &p4ir::Table,
    ) -> Result<Vec<ActionChoice>, Refusal> {
        let mut choices = Vec::with_capacity(given.action_refs.len());
        let name_of =
            |action: &p4ir::TableAction| self.program.actions[action.action].name.as_str();
        // Of two with one name the first counts.
        let listed: HashMap<&str, &p4ir::TableAction> = table
            .actions
            .iter()
            .rev()
            .map(|action| (name_of(action), action))
            .collect();
        for reference in &given.action_refs {
            let action = self.actions.get(&reference.id);
            let Some(head) = action.and_then(|a| a.preamble.as_ref()) else {
                return unfit(format!(
                    "table `{name}` refers to action {}, which is missing",
                    reference.id
                ));
            };
            let Some(found) = listed.get(head.name.as_str()) else {
                return unfit(format!("table `{name}` has no action `{}`", head.name));
            };
            let scope = reference.scope();
            choices.push(ActionChoice {
                schema: Arc::new(self.action(reference.id, found.action)?),
                action: found.action,
                in_entries: scope != info::action_ref::Scope::DefaultOnly,
                as_default: scope != info::action_ref::Scope::TableOnly,
            });
        }
        Ok(choices)
    }

    fn fields(
        &self,
        place: &str,
        given: &[info::MatchField],
        keys: &[(&str, TypeId, &p4ir::KeyKind)],
    ) -> Result<Vec<FieldSchema>, Refusal> {
        if keys.len() != given.len() {
            return unfit(format!(
                "`{place}` has {} match fields in P4Info and {} in the program",
                given.len(),
                keys.len()
            ));
        }
        let mut fields = Vec::with_capacity(keys.len());
        for ((name, ty, kind), given) in keys.iter().zip(given) {
            let here = format!("match field `{}` of `{place}`", given.name);
            if *name != given.name {
                return unfit(format!("{here} is called `{name}` in the program"));
            }
            let Some(held_as) = kind.matched() else {
                return unfit(format!("{here} is matched as `{}`", kind.name()));
            };
            let kind = match (match_kind(given), held_as) {
                (Some(MatchKind::Optional), MatchKind::Ternary) => MatchKind::Optional,
                (Some(kind), _) if kind == held_as => kind,
                _ => return unfit(format!("{here} is matched as `{held_as}` in the program")),
            };
            let type_name = given.type_name.as_ref();
            let shape = self.width(&here, given.bitwidth, type_name, *ty)?;
            let names = self.names(&here, type_name, shape.width)?;
            if names.is_some() && !matches!(kind, MatchKind::Exact | MatchKind::Optional) {
                return Err(Refusal::unimplemented(format!(
                    "{here} is matched as `{kind}`, and strings only as `exact` or `optional`"
                )));
            }
            fields.push(FieldSchema {
                id: given.id,
                name: given.name.clone(),
                shape,
                names,
                kind,
                held_as,
            });
        }
        Ok(fields)
    }

    fn table(&self, given: &info::Table) -> Result<TableSchema, Refusal> {
        let head = preamble(given.preamble.as_ref(), "table")?;
        let Some(id) = self.program.table_by_name(&head.name) else {
            return unfit(format!("there is no table `{}`", head.name));
        };
        let table = &self.program.tables[id];
        let keys: Vec<_> = table
            .keys
            .iter()
            .filter(|key| key.kind != p4ir::KeyKind::Selector)
            .map(|key| {
                (
                    key.name.as_str(),
                    self.program.exprs[key.expr].ty,
                    &key.kind,
                )
            })
            .collect();
        let has_profile = table.implementation.is_some();
        if has_profile != (given.implementation_id != 0) {
            let not = if has_profile { "" } else { "no " };
            return unfit(format!("table `{}` has {not}action profile", head.name));
        }
        let fields = self.fields(&head.name, &given.match_fields, &keys)?;
        check_initial(&head.name, &fields, table)?;
        let fast = !has_profile
            && !table.const_entries
            && !fields.is_empty()
            && fields
                .iter()
                .all(|f| !f.shape.signed && f.names.is_none() && f.kind == f.held_as);
        Ok(TableSchema {
            id: head.id,
            name: head.name.clone(),
            table: id,
            fields,
            actions: self.choices(given, &head.name, table)?,
            needs_priority: table.needs_priority(),
            idle_timeout: given.idle_timeout_behavior()
                == info::table::IdleTimeoutBehavior::NotifyControl,
            const_entries: table.const_entries,
            const_default: table.default_action.is_const,
            profile: (given.implementation_id != 0).then_some(given.implementation_id),
            counter: None,
            meter: None,
            fast,
        })
    }

    fn object(&self, name: &str, types: &[ExternType]) -> Result<ExternId, Refusal> {
        let found = self.program.extern_by_name(name);
        match found.filter(|id| types.contains(&self.program.externs[*id].ty)) {
            Some(id) => Ok(id),
            None => unfit(format!("there is no {} `{name}`", types[0].name())),
        }
    }

    fn profiles(
        &self,
        tables: &BTreeMap<u32, TableSchema>,
    ) -> Result<BTreeMap<u32, ProfileSchema>, Refusal> {
        let mut profiles = BTreeMap::new();
        for given in &self.info.action_profiles {
            let head = preamble(given.preamble.as_ref(), "action profile")?;
            let users: Vec<_> = tables
                .values()
                .filter(|t| t.profile == Some(head.id))
                .collect();
            use info::action_profile::SelectorSizeSemantics as Size;
            let max_member_weight = match &given.selector_size_semantics {
                Some(Size::SumOfMembers(sum)) => Some(unsigned(sum.max_member_weight)),
                _ => None,
            };
            // On Tofino the object that tables draw from is the selector, and P4Info has the
            // profile's name.
            let used = users
                .first()
                .and_then(|t| self.program.tables[t.table].implementation);
            let named = || {
                let types = [ExternType::ActionProfile, ExternType::ActionSelector];
                self.object(&head.name, &types)
            };
            let profile = ProfileSchema {
                id: head.id,
                name: head.name.clone(),
                profile: used.map_or_else(named, Ok)?,
                with_selector: given.with_selector,
                max_group_size: unsigned(given.max_group_size),
                max_member_weight,
                weights_disallowed: given.weights_disallowed,
                actions: users.first().map(|t| t.actions.clone()).unwrap_or_default(),
                tables: users.iter().map(|t| t.table).collect(),
            };
            put(&mut profiles, head.id, profile)?;
        }
        for table in tables.values() {
            if let Some(id) = table.profile.filter(|id| !profiles.contains_key(id)) {
                return unfit(format!(
                    "table `{}` has profile {id}, which is missing",
                    table.name
                ));
            }
        }
        Ok(profiles)
    }

    fn array(
        &self,
        map: &mut BTreeMap<u32, ArraySchema>,
        head: Option<&info::Preamble>,
        kind: ExternType,
        size: i64,
        data: Option<info::P4DataTypeSpec>,
    ) -> Result<(), Refusal> {
        let head = preamble(head, kind.name())?;
        let object = self.object(&head.name, &[kind])?;
        let array = ArraySchema {
            id: head.id,
            name: head.name.clone(),
            object,
            size: usize::try_from(size).unwrap_or(0),
            width: self.cell_width(object),
            data,
        };
        put(map, head.id, array)
    }

    /// Bits of a cell: those of a scalar, or of an aggregate's fields side by side.
    fn cell_width(&self, object: ExternId) -> u32 {
        let Some(ty) = self.program.externs[object].type_args.first() else {
            return 0;
        };
        let wire = self.program.types.wire_width(*ty);
        let wire = wire.and_then(|w| u32::try_from(w).ok()).filter(|w| *w > 0);
        wire.unwrap_or_else(|| scalar_width(self.program, *ty))
    }

    fn arrays(&self) -> Result<BTreeMap<u32, ArraySchema>, Refusal> {
        let mut map = BTreeMap::new();
        for counter in &self.info.counters {
            let head = counter.preamble.as_ref();
            self.array(&mut map, head, ExternType::Counter, counter.size, None)?;
        }
        Ok(map)
    }

    fn meters(&self) -> Result<BTreeMap<u32, ArraySchema>, Refusal> {
        let mut map = BTreeMap::new();
        for meter in &self.info.meters {
            let head = meter.preamble.as_ref();
            self.array(&mut map, head, ExternType::Meter, meter.size, None)?;
        }
        Ok(map)
    }

    fn registers(&self) -> Result<BTreeMap<u32, ArraySchema>, Refusal> {
        let mut map = BTreeMap::new();
        for register in &self.info.registers {
            let (head, data) = (register.preamble.as_ref(), register.type_spec.clone());
            let size = i64::from(register.size);
            self.array(&mut map, head, ExternType::Register, size, data)?;
        }
        Ok(map)
    }

    fn value_sets(&self) -> Result<BTreeMap<u32, ValueSetSchema>, Refusal> {
        let mut sets = BTreeMap::new();
        for given in &self.info.value_sets {
            let head = preamble(given.preamble.as_ref(), "value set")?;
            let mut all = self.program.value_sets.iter();
            let Some((id, set)) = all.find(|(_, set)| set.name == head.name) else {
                return unfit(format!("there is no value set `{}`", head.name));
            };
            // p4c names the only field of a value set after no field: positions decide.
            let keys: Vec<_> = set
                .fields
                .iter()
                .zip(&given.r#match)
                .map(|(field, given)| (given.name.as_str(), field.ty, &field.kind))
                .collect();
            let fields = self.fields(&head.name, &given.r#match, &keys)?;
            if fields.len() != set.fields.len() {
                return unfit(format!(
                    "value set `{}` has {} fields",
                    head.name,
                    set.fields.len()
                ));
            }
            let set = ValueSetSchema {
                id: head.id,
                name: head.name.clone(),
                set: id,
                fields,
            };
            put(&mut sets, head.id, set)?;
        }
        Ok(sets)
    }

    fn digests(&self) -> Result<BTreeMap<u32, DigestSchema>, Refusal> {
        let mut digests = BTreeMap::new();
        for given in &self.info.digests {
            let head = preamble(given.preamble.as_ref(), "digest")?;
            let digest = DigestSchema {
                id: head.id,
                name: head.name.clone(),
                data: given.type_spec.clone().unwrap_or_default(),
            };
            put(&mut digests, head.id, digest)?;
        }
        Ok(digests)
    }

    fn header(&self, name: &str) -> Result<Option<HeaderSchema>, Refusal> {
        let mut headers = self.info.controller_packet_metadata.iter();
        let named = |h: &&info::ControllerPacketMetadata| {
            h.preamble.as_ref().is_some_and(|p| p.name == name)
        };
        let Some(given) = headers.find(named) else {
            return Ok(None);
        };
        let widths = self.header_widths(name, given)?;
        let mut fields = Vec::with_capacity(widths.len());
        for (field, width) in given.metadata.iter().zip(widths) {
            let place = format!("field `{}` of header `{name}`", field.name);
            fields.push(ParamSchema {
                id: field.id,
                name: field.name.clone(),
                shape: Shape::unsigned(width),
                names: self.names(&place, field.type_name.as_ref(), width)?,
            });
        }
        let bits: u64 = fields.iter().map(|f| u64::from(f.shape.width)).sum();
        if !bits.is_multiple_of(8) {
            return unfit(format!(
                "header `{name}` has {bits} bits, which are no whole bytes"
            ));
        }
        Ok(Some(HeaderSchema { fields }))
    }
}

/// The program's own entries must be such that P4Info's kinds of match can say them.
fn check_initial(name: &str, fields: &[FieldSchema], table: &p4ir::Table) -> Result<(), Refusal> {
    let keys = table.keys.iter().enumerate();
    let keys = keys.filter(|(_, key)| key.kind != p4ir::KeyKind::Selector);
    for (field, (at, _)) in fields.iter().zip(keys) {
        let masked = |e: &p4ir::Entry| matches!(e.keys.get(at), Some(KeySet::Mask { .. }));
        if field.kind == MatchKind::Optional && table.entries.iter().any(masked) {
            return unfit(format!(
                "match field `{}` of `{name}` is optional, and an entry of the program masks a part of it",
                field.name
            ));
        }
    }
    Ok(())
}

pub(super) fn unsigned(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

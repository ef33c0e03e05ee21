//! What entries can name in a program: tables with their match fields and actions, and action
//! profiles. Made of a program or of its P4Info.

use std::collections::BTreeMap;

use p4exec::v1model::scalar_width;
use p4ir::{ActionScope, ExternId, KeyKind, MatchKind, ValidProgram};
use p4runtime::NameError;
use p4runtime::p4::config::v1::match_field::{Match, MatchType};
use p4runtime::p4::config::v1::{self as info, P4Info, action_ref::Scope};

/// A match field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its id in the table; 0 if the catalog is that of a program.
    pub id: u32,
    /// Bits.
    pub width: u32,
    /// How entries match it; `None` for a way that only its architecture knows.
    pub kind: Option<MatchKind>,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its id in the action; 0 if the catalog is that of a program.
    pub id: u32,
    /// Bits.
    pub width: u32,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// Its P4Runtime id; 0 if the catalog is that of a program.
    pub id: u32,
    /// What the control plane fills, in order.
    pub params: Vec<Param>,
}

/// An action as a table offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The place of the action in [`Catalog::actions`].
    pub action: usize,
    /// Whether entries may use it (not `@defaultonly`).
    pub in_entries: bool,
    /// Whether it may be the default action (not `@tableonly`).
    pub as_default: bool,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its P4Runtime id; 0 if the catalog is that of a program.
    pub id: u32,
    /// Its key in order.
    pub fields: Vec<Field>,
    /// What it offers.
    pub actions: Vec<Offer>,
    /// The place of its action profile in [`Catalog::profiles`].
    pub profile: Option<usize>,
    /// The most entries; 0 leaves it open.
    pub size: u64,
    /// Whether the entries are `const`.
    pub const_entries: bool,
    /// Whether the default action is `const`.
    pub const_default: bool,
}

impl Table {
    /// Whether entries carry a priority (P4Runtime 1.5, section 9.1).
    #[must_use]
    pub fn needs_priority(&self) -> bool {
        let mut kinds = self.fields.iter().filter_map(|field| field.kind);
        kinds.any(MatchKind::needs_priority)
    }
}

/// An action profile or selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its P4Runtime id; 0 if the catalog is that of a program.
    pub id: u32,
    /// The program's object, if the catalog is that of a program.
    pub object: Option<ExternId>,
    /// Whether it has groups.
    pub with_selector: bool,
    /// The most members; 0 leaves it open.
    pub size: u64,
    /// The most members of a group; 0 leaves it open.
    pub max_group_size: u64,
}

/// What entries can name in a program. See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Tables, in the order of the program or of P4Info. In the catalog of a program, a table's
    /// place is its number.
    pub tables: Vec<Table>,
    /// Actions. In the catalog of a program, an action's place is its number.
    pub actions: Vec<Action>,
    /// Action profiles.
    pub profiles: Vec<Profile>,
    tables_by_name: BTreeMap<String, usize>,
    actions_by_name: BTreeMap<String, usize>,
    profiles_by_name: BTreeMap<String, usize>,
}

impl Catalog {
    /// What entries can name in a program, by the program's own numbers.
    #[must_use]
    pub fn of_program(program: &ValidProgram) -> Self {
        let profiles = program.externs.iter().filter(|(_, e)| e.ty.holds_actions());
        let profiles: Vec<(ExternId, &p4ir::ExternInstance)> = profiles.collect();
        let table = |table: &p4ir::Table| Table {
            name: table.name.clone(),
            id: 0,
            fields: program_fields(program, table),
            actions: table.actions.iter().map(program_offer).collect(),
            profile: table
                .implementation
                .and_then(|id| profiles.iter().position(|(other, _)| *other == id)),
            size: table.capacity(None).unwrap_or(0),
            const_entries: table.const_entries,
            const_default: table.default_action.is_const,
        };
        let action = |action: &p4ir::Action| Action {
            name: action.name.clone(),
            id: 0,
            params: action
                .data_params()
                .map(|param| Param {
                    name: param.name.clone(),
                    id: 0,
                    width: scalar_width(program, program.vars[param.var].ty),
                })
                .collect(),
        };
        let profile = |(id, object): &(ExternId, &p4ir::ExternInstance)| Profile {
            name: object.name.clone(),
            id: 0,
            object: Some(*id),
            with_selector: object.ty == p4ir::ExternType::ActionSelector,
            // The executor holds members and groups against their limits.
            size: 0,
            max_group_size: 0,
        };
        Self {
            tables: program.tables.iter().map(|(_, t)| table(t)).collect(),
            actions: program.actions.iter().map(|(_, a)| action(a)).collect(),
            profiles: profiles.iter().map(profile).collect(),
            tables_by_name: index(program.tables.iter().map(|(_, t)| (t.name.as_str(), ""))),
            actions_by_name: index(program.actions.iter().map(|(_, a)| (a.name.as_str(), ""))),
            profiles_by_name: index(profiles.iter().map(|(_, p)| (p.name.as_str(), ""))),
        }
    }

    /// What entries can name according to P4Info. Objects are found by name and by alias
    /// (P4Runtime 1.5, section 6.1).
    #[must_use]
    pub fn of_p4info(given: &P4Info) -> Self {
        let profile_ids = given.action_profiles.iter().map(info::ActionProfile::id);
        let profile_ids: Vec<u32> = profile_ids.collect();
        let numbers = given.actions.iter().map(info::Action::id).enumerate();
        let numbers: BTreeMap<u32, usize> = numbers.map(|(at, id)| (id, at)).collect();
        let table = |table: &info::Table| {
            let offer = |offer: &info::ActionRef| info_offer(&numbers, offer);
            Table {
                name: table.name().to_owned(),
                id: table.id(),
                fields: table.match_fields.iter().map(info_field).collect(),
                actions: table.action_refs.iter().filter_map(offer).collect(),
                profile: profile_ids
                    .iter()
                    .position(|id| *id == table.implementation_id),
                size: u64::try_from(table.size).unwrap_or(0),
                const_entries: table.is_const_table,
                const_default: table.const_default_action_id != 0,
            }
        };
        let action = |action: &info::Action| {
            let params = action.params.iter().map(|param| Param {
                name: param.name.clone(),
                id: param.id,
                width: width(param.bitwidth),
            });
            Action {
                name: action.name().to_owned(),
                id: action.id(),
                params: params.collect(),
            }
        };
        let profile = |profile: &info::ActionProfile| Profile {
            name: profile.name().to_owned(),
            id: profile.id(),
            object: None,
            with_selector: profile.with_selector,
            size: u64::try_from(profile.size).unwrap_or(0),
            max_group_size: u64::try_from(profile.max_group_size).unwrap_or(0),
        };
        Self {
            tables: given.tables.iter().map(table).collect(),
            actions: given.actions.iter().map(action).collect(),
            profiles: given.action_profiles.iter().map(profile).collect(),
            tables_by_name: index(given.tables.iter().map(|t| names(&t.preamble))),
            actions_by_name: index(given.actions.iter().map(|a| names(&a.preamble))),
            profiles_by_name: index(given.action_profiles.iter().map(|p| names(&p.preamble))),
        }
    }

    /// The place of a table in [`Catalog::tables`].
    ///
    /// # Errors
    /// [`NameError::UnknownName`], with the names that there are.
    pub fn table(&self, name: &str) -> Result<usize, NameError> {
        let known = || self.tables.iter().map(|t| t.name.clone()).collect();
        place(&self.tables_by_name, "table", name, known)
    }

    /// The place of an action in [`Catalog::actions`].
    ///
    /// # Errors
    /// [`NameError::UnknownName`], with the names that there are.
    pub fn action(&self, name: &str) -> Result<usize, NameError> {
        let known = || self.actions.iter().map(|a| a.name.clone()).collect();
        place(&self.actions_by_name, "action", name, known)
    }

    /// The place of an action profile in [`Catalog::profiles`].
    ///
    /// # Errors
    /// [`NameError::UnknownName`], with the names that there are.
    pub fn profile(&self, name: &str) -> Result<usize, NameError> {
        let known = || self.profiles.iter().map(|p| p.name.clone()).collect();
        place(&self.profiles_by_name, "action profile", name, known)
    }
}

/// Places by name and by alias. The first of a name stands for it: a program that was compiled for
/// BMv2 has one action for each table that offers it. A name goes before an alias.
fn index<'a>(names: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, usize> {
    let (names, aliases): (Vec<&str>, Vec<&str>) = names.unzip();
    let mut places = BTreeMap::new();
    for (place, name) in names
        .into_iter()
        .enumerate()
        .chain(aliases.into_iter().enumerate())
    {
        if !name.is_empty() {
            places.entry(name.to_owned()).or_insert(place);
        }
    }
    places
}

/// Name and alias.
fn names(preamble: &Option<info::Preamble>) -> (&str, &str) {
    let head = preamble.as_ref();
    head.map_or(("", ""), |p| (p.name.as_str(), p.alias.as_str()))
}

fn place(
    by_name: &BTreeMap<String, usize>,
    kind: &'static str,
    name: &str,
    known: impl FnOnce() -> Vec<String>,
) -> Result<usize, NameError> {
    by_name
        .get(name)
        .copied()
        .ok_or_else(|| NameError::UnknownName {
            kind,
            name: name.to_owned(),
            known: known(),
        })
}

fn width(bitwidth: i32) -> u32 {
    u32::try_from(bitwidth).unwrap_or(0)
}

fn program_fields(program: &ValidProgram, table: &p4ir::Table) -> Vec<Field> {
    let keys = table
        .keys
        .iter()
        .filter(|key| key.kind != KeyKind::Selector);
    keys.map(|key| Field {
        name: key.name.clone(),
        id: 0,
        width: scalar_width(program, program.exprs[key.expr].ty),
        kind: key.kind.matched(),
    })
    .collect()
}

fn program_offer(offer: &p4ir::TableAction) -> Offer {
    use p4ir::Entity as _;
    Offer {
        action: offer.action.index(),
        in_entries: offer.scope != ActionScope::DefaultOnly,
        as_default: offer.scope != ActionScope::TableOnly,
    }
}

fn info_offer(numbers: &BTreeMap<u32, usize>, offer: &info::ActionRef) -> Option<Offer> {
    let scope = Scope::try_from(offer.scope).ok()?;
    Some(Offer {
        action: *numbers.get(&offer.id)?,
        in_entries: matches!(scope, Scope::TableAndDefault | Scope::TableOnly),
        as_default: matches!(scope, Scope::TableAndDefault | Scope::DefaultOnly),
    })
}

fn info_field(field: &info::MatchField) -> Field {
    Field {
        name: field.name.clone(),
        id: field.id,
        width: width(field.bitwidth),
        kind: match_kind(field),
    }
}

/// How P4Info says that a field is matched; `None` for a way that only its architecture knows.
#[must_use]
pub fn match_kind(field: &info::MatchField) -> Option<MatchKind> {
    let Some(Match::MatchType(kind)) = field.r#match else {
        return None;
    };
    Some(match MatchType::try_from(kind).ok()? {
        MatchType::Exact => MatchKind::Exact,
        MatchType::Lpm => MatchKind::Lpm,
        MatchType::Ternary => MatchKind::Ternary,
        MatchType::Range => MatchKind::Range,
        MatchType::Optional => MatchKind::Optional,
        MatchType::Unspecified => return None,
    })
}

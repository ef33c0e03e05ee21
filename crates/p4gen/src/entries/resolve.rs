//! Entries against the program: every name looked up, every value measured, before anything is
//! written. The rules are those of P4Runtime 1.5, 9.1 and 9.2.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use p4runtime::p4::config::v1::match_field::{Match, MatchType};
use p4runtime::p4::config::v1::{Action, MatchField, Table, action::Param, action_ref::Scope};
use p4runtime::{Bits, NameError, P4InfoIndex};

use super::model::{ActionCall, EntryAction, MatchValue, Replica, SwitchEntries, TableEntry};
use super::{EntriesError, Problem};

/// Largest id of multicast groups and clone sessions; BMv2 uses the numbers above for itself.
pub(super) const MAX_REPLICATION_ID: u32 = 0x7fff;

/// An entry with everything that it names.
pub(super) struct Resolved<'a> {
    /// Its table.
    pub(super) table: &'a Table,
    /// Every key of the table in order, with the value if it is not "don't care".
    pub(super) keys: Vec<(&'a MatchField, Option<&'a MatchValue>)>,
    /// P4Runtime's priority, 0 where the table has none.
    pub(super) priority: i32,
    /// What it does.
    pub(super) action: ResolvedAction<'a>,
    /// Whether it is the default entry.
    pub(super) is_default: bool,
}

/// What an entry does, with everything that it names.
pub(super) enum ResolvedAction<'a> {
    Direct(ResolvedCall<'a>),
    Member(u32),
    Group(u32),
}

/// An action with its arguments in the order of its parameters.
pub(super) struct ResolvedCall<'a> {
    pub(super) action: &'a Action,
    pub(super) args: Vec<(&'a Param, &'a Bits)>,
}

/// All of a switch's entries, checked.
pub(super) struct ResolvedSwitch<'a> {
    /// Profile id, member id, action.
    pub(super) members: Vec<(u32, u32, ResolvedCall<'a>)>,
    /// In the order of the tables in P4Info, otherwise as given.
    pub(super) tables: Vec<Resolved<'a>>,
}

impl SwitchEntries {
    /// Whether everything fits the program.
    ///
    /// # Errors
    /// The first thing that does not, with its place.
    pub fn check(&self, info: &P4InfoIndex) -> Result<(), EntriesError> {
        self.resolve(info).map(|_| ())
    }

    /// Puts tables, keys, arguments and replicas in the one order that all readers return: that
    /// of the P4Info; entries of one table keep their order, replicas go by instance and port.
    ///
    /// # Errors
    /// [`EntriesError::Name`] for what the program does not have.
    pub fn arrange(&mut self, info: &P4InfoIndex) -> Result<(), EntriesError> {
        let place = |names: Vec<&str>| -> BTreeMap<String, usize> {
            names
                .into_iter()
                .enumerate()
                .map(|(at, name)| (name.to_owned(), at))
                .collect()
        };
        let tables = place(info.info().tables.iter().map(Table::name).collect());
        for (number, entry) in self.tables.iter_mut().enumerate() {
            let at = || entry_place(&self.switch, &entry.table, number);
            let table = info
                .table(&entry.table)
                .map_err(|source| named(at(), source))?;
            entry.table = rename(&entry.table, table.name());
            let fields = place(table.match_fields.iter().map(|f| f.name.as_str()).collect());
            entry
                .keys
                .sort_by_key(|key| fields.get(key.field.as_ref()).copied());
            if let EntryAction::Direct(call) = &mut entry.action {
                arrange_call(call, info).map_err(|source| named(self.switch.clone(), source))?;
            }
        }
        self.tables
            .sort_by_key(|entry| tables.get(entry.table.as_ref()).copied());
        for member in &mut self.members {
            arrange_call(&mut member.action, info)
                .map_err(|source| named(self.switch.clone(), source))?;
        }
        let replicas = self
            .multicast_groups
            .iter_mut()
            .map(|group| &mut group.replicas);
        for replicas in replicas.chain(self.clone_sessions.iter_mut().map(|s| &mut s.replicas)) {
            replicas.sort_unstable();
        }
        Ok(())
    }

    /// Looks everything up and checks everything.
    pub(super) fn resolve<'a>(
        &'a self,
        info: &'a P4InfoIndex,
    ) -> Result<ResolvedSwitch<'a>, EntriesError> {
        let mut profiles: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        let mut members = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let at = || {
                format!(
                    "{}, member {} of {}",
                    self.switch, member.id, member.profile
                )
            };
            let profile = info
                .action_profile(&member.profile)
                .map_err(|source| named(at(), source))?;
            let (last, _) = profiles.entry(profile.id()).or_default();
            next_number("member", last, member.id).map_err(|problem| unfit(at(), problem))?;
            let call = resolve_call(&member.action, info).map_err(|why| why.at(at()))?;
            members.push((profile.id(), member.id, call));
        }
        // By member: the last group that has named it.
        let mut seen: Vec<Option<usize>> = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            let at = || format!("{}, group {} of {}", self.switch, group.id, group.profile);
            let profile = info
                .action_profile(&group.profile)
                .map_err(|source| named(at(), source))?;
            let (members, last) = profiles.entry(profile.id()).or_default();
            next_number("group", last, group.id).map_err(|problem| unfit(at(), problem))?;
            if !profile.with_selector {
                let why = "the profile has no selector, so it has no groups";
                return Err(unfit(at(), Problem::Indirection(why)));
            }
            seen.resize(seen.len().max(*members as usize), None);
            for &id in &group.members {
                // Members count from 1.
                let known = id.checked_sub(1).filter(|_| id <= *members);
                let last = known.and_then(|at| seen.get_mut(at as usize));
                if last.is_none_or(|last| last.replace(number) == Some(number)) {
                    let profile = profile.name().to_owned();
                    return Err(unfit(
                        at(),
                        Problem::NoSuchMember {
                            kind: "member",
                            id,
                            profile,
                        },
                    ));
                }
            }
        }
        let mut tables = Vec::with_capacity(self.tables.len());
        for (number, entry) in self.tables.iter().enumerate() {
            let resolved = resolve_entry(entry, info, &profiles)
                .map_err(|why| why.at(entry_place(&self.switch, &entry.table, number)))?;
            tables.push(resolved);
        }
        let order: BTreeMap<u32, usize> = info
            .info()
            .tables
            .iter()
            .enumerate()
            .map(|(at, table)| (table.id(), at))
            .collect();
        tables.sort_by_key(|entry| order.get(&entry.table.id()).copied());
        self.check_room(&tables, info)?;
        self.check_replication()?;
        Ok(ResolvedSwitch { members, tables })
    }

    /// Whether tables, profiles and groups have room, where the P4Info tells their size.
    fn check_room(
        &self,
        resolved: &[Resolved<'_>],
        info: &P4InfoIndex,
    ) -> Result<(), EntriesError> {
        let fits = |what: &dyn fmt::Display, size: i64, count: usize| {
            let (size, count) = (u64::try_from(size).unwrap_or_default(), count as u64);
            if size == 0 || count <= size {
                return Ok(());
            }
            let problem = Problem::Full {
                what: what.to_string(),
                size,
                count,
            };
            Err(unfit(self.switch.clone(), problem))
        };
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for entry in resolved.iter().filter(|entry| !entry.is_default) {
            *counts.entry(entry.table.id()).or_default() += 1;
        }
        for table in &info.info().tables {
            let count = counts.get(&table.id()).copied().unwrap_or_default();
            fits(&table.name(), table.size, count)?;
        }
        for profile in &info.info().action_profiles {
            let members = self
                .members
                .iter()
                .filter(|m| m.profile == profile.name())
                .count();
            fits(&profile.name(), profile.size, members)?;
            for group in self.groups.iter().filter(|g| g.profile == profile.name()) {
                let what = format_args!("group {} of {}", group.id, group.profile);
                fits(&what, profile.max_group_size.into(), group.members.len())?;
            }
        }
        Ok(())
    }

    fn check_replication(&self) -> Result<(), EntriesError> {
        let groups = self
            .multicast_groups
            .iter()
            .map(|group| (group.id, &group.replicas));
        self.check_replicas("multicast group", groups)?;
        let sessions = self
            .clone_sessions
            .iter()
            .map(|session| (session.id, &session.replicas));
        self.check_replicas("clone session", sessions)
    }

    fn check_replicas<'a>(
        &self,
        kind: &str,
        entries: impl Iterator<Item = (u32, &'a Vec<Replica>)>,
    ) -> Result<(), EntriesError> {
        let mut seen = BTreeSet::new();
        for (id, replicas) in entries {
            let distinct: BTreeSet<_> = replicas.iter().collect();
            let problem = if id == 0 || id > MAX_REPLICATION_ID {
                "ids of multicast groups and clone sessions are 1 to 32767"
            } else if !seen.insert(id) {
                "the id is taken"
            } else if distinct.len() < replicas.len() {
                "two copies have the same port and instance"
            } else {
                continue;
            };
            let at = format!("{}, {kind} {id}", self.switch);
            return Err(unfit(at, Problem::Replication(problem)));
        }
        Ok(())
    }
}

/// A name or a problem that does not know its place yet.
pub(super) enum Why {
    Name(NameError),
    Problem(Problem),
}

impl Why {
    pub(super) fn at(self, at: String) -> EntriesError {
        match self {
            Self::Name(source) => named(at, source),
            Self::Problem(problem) => unfit(at, problem),
        }
    }
}

impl From<NameError> for Why {
    fn from(source: NameError) -> Self {
        Self::Name(source)
    }
}

impl From<Problem> for Why {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

fn named(at: String, source: NameError) -> EntriesError {
    EntriesError::Name { at, source }
}

fn unfit(at: String, problem: Problem) -> EntriesError {
    EntriesError::Unfit { at, problem }
}

/// The place of an entry, for people.
pub(super) fn entry_place(switch: &str, table: &str, number: usize) -> String {
    format!("{switch}, entry {number} ({table})")
}

fn rename(name: &super::Name, full: &str) -> super::Name {
    if name == full {
        name.clone()
    } else {
        full.to_owned().into()
    }
}

fn arrange_call(call: &mut ActionCall, info: &P4InfoIndex) -> Result<(), NameError> {
    let action = info.action(&call.action)?;
    call.action = rename(&call.action, action.name());
    call.params
        .sort_by_key(|(name, _)| action.params.iter().position(|p| p.name == *name));
    Ok(())
}

fn next_number(kind: &'static str, last: &mut u32, found: u32) -> Result<(), Problem> {
    let expected = *last + 1;
    if found != expected {
        return Err(Problem::NotNumbered {
            kind,
            expected,
            found,
        });
    }
    *last = found;
    Ok(())
}

fn resolve_entry<'a>(
    entry: &'a TableEntry,
    info: &'a P4InfoIndex,
    profiles: &BTreeMap<u32, (u32, u32)>,
) -> Result<Resolved<'a>, Why> {
    let table = info.table(&entry.table)?;
    let keys = resolve_keys(entry, table)?;
    let priority = check_priority(entry, table)?;
    let reference = |kind, id, count| {
        let profile = info.action_profile_by_id(table.implementation_id)?;
        if id == 0 || id > count {
            let profile = profile.name().to_owned();
            return Err(Why::from(Problem::NoSuchMember { kind, id, profile }));
        }
        Ok(())
    };
    let indirect = table.implementation_id != 0;
    let (members, groups) = profiles
        .get(&table.implementation_id)
        .copied()
        .unwrap_or_default();
    let action = match &entry.action {
        EntryAction::Direct(_) if indirect => {
            let why = "the table's actions are members of a profile; refer to a member or group";
            return Err(Problem::Indirection(why).into());
        }
        EntryAction::Member(_) | EntryAction::Group(_) if !indirect => {
            let why = "the table has no action profile; give it an action";
            return Err(Problem::Indirection(why).into());
        }
        EntryAction::Direct(call) => {
            let call = resolve_call(call, info)?;
            check_allowed(table, call.action, entry.is_default, info)?;
            ResolvedAction::Direct(call)
        }
        EntryAction::Member(id) => {
            reference("member", *id, members)?;
            ResolvedAction::Member(*id)
        }
        EntryAction::Group(id) => {
            reference("group", *id, groups)?;
            ResolvedAction::Group(*id)
        }
    };
    Ok(Resolved {
        table,
        keys,
        priority,
        action,
        is_default: entry.is_default,
    })
}

fn resolve_keys<'a>(
    entry: &'a TableEntry,
    table: &'a Table,
) -> Result<Vec<(&'a MatchField, Option<&'a MatchValue>)>, Why> {
    if entry.is_default {
        if !entry.keys.is_empty() {
            return Err(Problem::DefaultWithKeys.into());
        }
        return Ok(Vec::new());
    }
    for (at, key) in entry.keys.iter().enumerate() {
        table.field(&key.field)?;
        if entry.keys[..at]
            .iter()
            .any(|other| other.field == key.field)
        {
            return Err(Problem::KeyTwice(key.field.to_string()).into());
        }
    }
    let mut keys = Vec::with_capacity(table.match_fields.len());
    for field in &table.match_fields {
        let value = entry
            .keys
            .iter()
            .find(|key| key.field == field.name)
            .map(|key| &key.value);
        match value {
            Some(value) => check_value(field, value)?,
            None if match_type(field) == MatchType::Exact => {
                return Err(Problem::ExactKeyMissing(field.name.clone()).into());
            }
            None => {}
        }
        keys.push((field, value));
    }
    Ok(keys)
}

/// The match kind of a key; unspecified for those that only one architecture knows.
pub(super) fn match_type(field: &MatchField) -> MatchType {
    match field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(kind).unwrap_or(MatchType::Unspecified),
        _ => MatchType::Unspecified,
    }
}

/// Width of a key in bits.
pub(super) fn width(bitwidth: i32, what: &str) -> Result<u32, Problem> {
    match u32::try_from(bitwidth) {
        Ok(width) if width > 0 => Ok(width),
        _ => Err(Problem::P4Info(format!("{what} has no width"))),
    }
}

/// Whether entries of the table have a priority.
pub(super) fn has_priority(table: &Table) -> bool {
    let kinds = [MatchType::Ternary, MatchType::Range, MatchType::Optional];
    table
        .match_fields
        .iter()
        .any(|field| kinds.contains(&match_type(field)))
}

fn check_priority(entry: &TableEntry, table: &Table) -> Result<i32, Problem> {
    match entry.priority {
        Some(_) if entry.is_default => Err(Problem::DefaultWithKeys),
        Some(_) if !has_priority(table) => Err(Problem::PriorityUnexpected),
        Some(priority) if priority > 0 => Ok(priority),
        None if entry.is_default || !has_priority(table) => Ok(0),
        _ => Err(Problem::PriorityMissing),
    }
}

fn check_value(field: &MatchField, value: &MatchValue) -> Result<(), Problem> {
    let key = || field.name.clone();
    let expected = match match_type(field) {
        MatchType::Exact => "exact",
        MatchType::Lpm => "lpm",
        MatchType::Ternary => "ternary",
        MatchType::Range => "range",
        MatchType::Optional => "optional",
        MatchType::Unspecified => "in a way of its architecture",
    };
    if expected != value.kind() {
        return Err(Problem::MatchKind {
            key: key(),
            expected,
            found: value.kind(),
        });
    }
    let measure = |bits: &Bits| check_width(bits, field.bitwidth, &field.name);
    let not_normal = |rule| Err(Problem::NotNormal { key: key(), rule });
    match value {
        MatchValue::Exact(value) | MatchValue::Optional(value) => measure(value),
        MatchValue::Lpm { value, prefix_len } => {
            measure(value)?;
            if *prefix_len == 0 {
                return Err(Problem::DontCareWritten(key()));
            }
            if *prefix_len > value.width() {
                return not_normal("the prefix is at most as long as the key");
            }
            if !value.ends_after(*prefix_len) {
                return not_normal("bits after the prefix are zero");
            }
            Ok(())
        }
        MatchValue::Ternary { value, mask } => {
            measure(value)?;
            measure(mask)?;
            if mask.is_zero() {
                return Err(Problem::DontCareWritten(key()));
            }
            if value.masked(mask) != *value {
                return not_normal("bits outside the mask are zero");
            }
            Ok(())
        }
        MatchValue::Range { low, high } => {
            measure(low)?;
            measure(high)?;
            if low > high {
                return not_normal("a range starts at or before its end");
            }
            if MatchValue::range(low.clone(), high.clone()).is_none() {
                return Err(Problem::DontCareWritten(key()));
            }
            Ok(())
        }
    }
}

fn check_width(bits: &Bits, bitwidth: i32, what: &str) -> Result<(), Problem> {
    let expected = width(bitwidth, what)?;
    if bits.width() == expected {
        return Ok(());
    }
    Err(Problem::Width {
        what: what.to_owned(),
        expected,
        found: bits.width(),
        value: bits.to_string(),
    })
}

fn resolve_call<'a>(call: &'a ActionCall, info: &'a P4InfoIndex) -> Result<ResolvedCall<'a>, Why> {
    let action = info.action(&call.action)?;
    for (at, (name, _)) in call.params.iter().enumerate() {
        action.param(name)?;
        if call.params[..at].iter().any(|(other, _)| other == name) {
            return Err(Problem::ParamTwice(name.to_string()).into());
        }
    }
    let mut args = Vec::with_capacity(action.params.len());
    for param in &action.params {
        let Some((_, value)) = call.params.iter().find(|(name, _)| *name == param.name) else {
            let (action, param) = (action.name().to_owned(), param.name.clone());
            return Err(Problem::ParamMissing { action, param }.into());
        };
        check_width(value, param.bitwidth, &param.name)?;
        args.push((param, value));
    }
    Ok(ResolvedCall { action, args })
}

fn check_allowed(
    table: &Table,
    action: &Action,
    is_default: bool,
    info: &P4InfoIndex,
) -> Result<(), Problem> {
    let fits = |scope: i32| match Scope::try_from(scope) {
        Ok(Scope::TableAndDefault) => true,
        Ok(Scope::TableOnly) => !is_default,
        Ok(Scope::DefaultOnly) => is_default,
        Ok(Scope::GroupAction) | Err(_) => false,
    };
    let mut allowed = table.action_refs.iter().filter(|r| fits(r.scope));
    if allowed.clone().any(|r| r.id == action.id()) {
        return Ok(());
    }
    let names = allowed
        .by_ref()
        .filter_map(|r| info.action_by_id(r.id).ok())
        .map(Action::name);
    Err(Problem::ActionNotAllowed {
        action: action.name().to_owned(),
        usage: if is_default {
            "the default entry"
        } else {
            "entries"
        },
        allowed: names.collect::<Vec<_>>().join(", "),
    })
}

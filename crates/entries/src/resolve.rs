//! Entries against the program: every name looked up, every value measured, before anything is
//! installed or written. The rules are those of P4Runtime 1.5, sections 9.1 and 9.2.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use p4exec::Update;
use p4exec::state::Replica;
use p4exec::tables::{
    ActionCall, EntryAction, EntryOptions, EntryPriority, FieldMatch, GroupId, GroupMember,
    MemberId, NewEntry,
};
use p4exec::value::Bits;
use p4ir::{ActionId, Entity as _, ExternId, TableId, ValidProgram};
use p4runtime::NameError;

use crate::catalog::{Action, Catalog, Field, Param, Profile, Table};
use crate::model::{Key, Name, NamedAction, NamedCall, SwitchEntries, TableEntry};
use crate::{EntryError, Problem, check};

/// Largest id of multicast groups and clone sessions; BMv2 uses the numbers above for itself.
pub const MAX_REPLICATION_ID: u32 = 0x7fff;

/// An entry with everything that it names.
#[derive(Clone, Debug)]
pub struct Resolved<'a> {
    /// Its table.
    pub table: &'a Table,
    /// The place of the table in [`Catalog::tables`].
    pub place: usize,
    /// A match for every field of the table in order; `None` if it is left out. Empty for the
    /// default entry.
    pub keys: Vec<Option<FieldMatch>>,
    /// P4Runtime's priority, 0 where the table has none.
    pub priority: i32,
    /// What it does.
    pub action: EntryAction<ResolvedCall<'a>, Infallible>,
    /// Whether it is the default entry.
    pub is_default: bool,
}

/// An action with its arguments in the order of its parameters.
#[derive(Clone, Debug)]
pub struct ResolvedCall<'a> {
    /// The action.
    pub action: &'a Action,
    /// The place of the action in [`Catalog::actions`].
    pub place: usize,
    /// One value for each parameter.
    pub args: Vec<Bits>,
}

/// A member of a profile, checked.
#[derive(Clone, Debug)]
pub struct ResolvedMember<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// The member's id.
    pub id: u32,
    /// What it does.
    pub call: ResolvedCall<'a>,
}

/// All of a switch's entries, checked.
#[derive(Clone, Debug)]
pub struct ResolvedSwitch<'a> {
    /// In the order given.
    pub members: Vec<ResolvedMember<'a>>,
    /// For each group of the switch in the order given, its profile.
    pub groups: Vec<&'a Profile>,
    /// In the order of the catalog's tables, otherwise as given.
    pub tables: Vec<Resolved<'a>>,
}

impl<'a> Resolved<'a> {
    /// The fields of the key with their matches.
    pub fn matches(&self) -> impl Iterator<Item = (&'a Field, Option<&FieldMatch>)> {
        self.table
            .fields
            .iter()
            .zip(self.keys.iter().map(Option::as_ref))
    }

    /// The update that installs the entry; the catalog is that of the program which runs.
    ///
    /// # Errors
    /// [`Problem`] if a field is left out that matches in a way of its architecture.
    pub fn update(self) -> Result<Update, Problem> {
        let table = TableId::new(self.place);
        match self.action {
            EntryAction::Call(call) if self.is_default => Ok(Update::SetDefault {
                table,
                call: Some(call.call()),
            }),
            _ => Ok(Update::InsertEntry {
                table,
                entry: self.entry()?,
            }),
        }
    }

    /// The entry by the program's numbers. As [`Resolved::update`].
    ///
    /// # Errors
    /// As [`Resolved::update`].
    pub fn entry(self) -> Result<NewEntry, Problem> {
        let mut key = Vec::with_capacity(self.keys.len());
        for (field, given) in self.table.fields.iter().zip(self.keys) {
            let left_out = || check::left_out(&field.name, field.width, field.kind);
            key.push(given.map_or_else(left_out, Ok)?);
        }
        Ok(NewEntry {
            key,
            priority: EntryPriority(self.priority),
            action: match self.action {
                EntryAction::Call(call) => EntryAction::Call(call.call()),
                EntryAction::Member(id) => EntryAction::Member(id),
                EntryAction::Group(id) => EntryAction::Group(id),
                EntryAction::OneShot(never) => match never {},
            },
            is_const: false,
            options: EntryOptions::default(),
        })
    }
}

impl<'a> ResolvedCall<'a> {
    /// The call by the program's number of the action.
    #[must_use]
    pub fn call(self) -> ActionCall {
        ActionCall {
            action: ActionId::new(self.place),
            args: self.args,
        }
    }

    /// The parameters with their values.
    pub fn params(&self) -> impl Iterator<Item = (&'a Param, &Bits)> {
        self.action.params.iter().zip(&self.args)
    }
}

/// The updates that install everything that a switch gets: members before the groups that hold
/// them, groups before the entries that name them.
///
/// # Errors
/// The first thing that does not fit the program, with its place.
pub fn resolve(program: &ValidProgram, entries: &SwitchEntries) -> Result<Vec<Update>, EntryError> {
    let catalog = Catalog::of_program(program);
    let resolved = catalog.resolve(entries)?;
    let object = |profile: &Profile, at: &str| -> Result<ExternId, EntryError> {
        let missing = || Problem::Incomplete(format!("{} is no object", profile.name));
        profile.object.ok_or_else(|| missing().at(at))
    };
    let switch = &entries.switch;
    let mut updates = Vec::with_capacity(resolved.tables.len());
    for member in resolved.members {
        updates.push(Update::InsertMember {
            profile: object(member.profile, switch)?,
            member: MemberId(member.id),
            call: member.call.call(),
        });
    }
    for (group, profile) in entries.groups.iter().zip(resolved.groups) {
        let member = |id: &u32| GroupMember {
            member: MemberId(*id),
            weight: 1,
            watch_port: None,
        };
        updates.push(Update::InsertGroup {
            profile: object(profile, switch)?,
            group: GroupId(group.id),
            members: group.members.iter().map(member).collect(),
        });
    }
    for entry in resolved.tables {
        let table = entry.table;
        let update = entry.update();
        updates.push(update.map_err(|why| why.at(format!("{switch}, {}", table.name)))?);
    }
    for group in &entries.multicast_groups {
        updates.push(Update::SetMulticastGroup {
            // Checked to be below 2^15.
            group: group.id as u16,
            replicas: Some(group.replicas.clone()),
        });
    }
    for (session, config) in &entries.clone_sessions {
        updates.push(Update::SetCloneSession {
            session: *session,
            config: Some(config.clone()),
        });
    }
    Ok(updates)
}

impl Catalog {
    /// Looks everything up and checks everything.
    ///
    /// # Errors
    /// The first thing that does not fit, with its place.
    pub fn resolve<'a>(
        &'a self,
        entries: &SwitchEntries,
    ) -> Result<ResolvedSwitch<'a>, EntryError> {
        let switch = &entries.switch;
        let mut known = vec![(0, 0); self.profiles.len()];
        let mut members = Vec::with_capacity(entries.members.len());
        for member in &entries.members {
            let at = || format!("{switch}, member {} of {}", member.id, member.profile);
            let resolved = self
                .profile(&member.profile)
                .map_err(Problem::from)
                .and_then(|place| {
                    next_number("member", &mut known[place].0, member.id)?;
                    let call = self.member_call(place, &member.action)?;
                    Ok(ResolvedMember {
                        profile: &self.profiles[place],
                        id: member.id,
                        call,
                    })
                });
            members.push(resolved.map_err(|why| why.at(at()))?);
        }
        let groups = self.resolve_groups(entries, &mut known)?;
        let mut tables = Vec::with_capacity(entries.tables.len());
        for (number, entry) in entries.tables.iter().enumerate() {
            let resolved = self.resolve_entry(entry).and_then(|resolved| {
                self.check_reference(&resolved, &known)?;
                Ok(resolved)
            });
            let at = || entry_place(switch, &entry.table, number);
            tables.push(resolved.map_err(|why| why.at(at()))?);
        }
        tables.sort_by_key(|entry| entry.place);
        self.check_room(entries, &tables)?;
        check_replication(entries)?;
        Ok(ResolvedSwitch {
            members,
            groups,
            tables,
        })
    }

    fn resolve_groups<'a>(
        &'a self,
        entries: &SwitchEntries,
        known: &mut [(u32, u32)],
    ) -> Result<Vec<&'a Profile>, EntryError> {
        let mut profiles = Vec::with_capacity(entries.groups.len());
        // By member: the last group that has named it.
        let mut seen: Vec<Option<usize>> = Vec::new();
        for (number, group) in entries.groups.iter().enumerate() {
            let at = |why: Problem| {
                why.at(format!(
                    "{}, group {} of {}",
                    entries.switch, group.id, group.profile
                ))
            };
            let place = self.profile(&group.profile).map_err(|e| at(e.into()))?;
            let profile = &self.profiles[place];
            let (members, last) = &mut known[place];
            next_number("group", last, group.id).map_err(at)?;
            if !profile.with_selector {
                return Err(at(check::NO_SELECTOR));
            }
            seen.resize(seen.len().max(*members as usize), None);
            for &id in &group.members {
                // Members count from 1.
                let known = id.checked_sub(1).filter(|_| id <= *members);
                let last = known.and_then(|at| seen.get_mut(at as usize));
                if last.is_none_or(|last| last.replace(number) == Some(number)) {
                    return Err(at(no_such("member", id, profile)));
                }
            }
            profiles.push(profile);
        }
        Ok(profiles)
    }

    /// A call of an action that a member may do: one of those of the tables that use the profile.
    ///
    /// # Errors
    /// [`Problem`], with the name or the value.
    pub fn member_call<'a>(
        &'a self,
        profile: usize,
        call: &NamedCall,
    ) -> Result<ResolvedCall<'a>, Problem> {
        let mut tables = self.tables.iter().filter(|t| t.profile == Some(profile));
        let offers = |table: &&Table| {
            let mut actions = table.actions.iter();
            actions.any(|offer| self.actions[offer.action].name == call.action)
        };
        let first = tables.clone().next();
        match tables.find(offers).or(first) {
            Some(table) => self.call(table, call, false),
            None => self.free_call(self.action(&call.action)?, call),
        }
    }

    /// An entry with everything that it names. Whether its member or group is there is not looked
    /// at.
    ///
    /// # Errors
    /// [`Problem`], with the name or the value.
    pub fn resolve_entry<'a>(&'a self, entry: &TableEntry) -> Result<Resolved<'a>, Problem> {
        let place = self.table(&entry.table)?;
        let table = &self.tables[place];
        let keys = resolve_keys(entry, table)?;
        let priority = match entry.is_default {
            true if entry.priority.is_some() => return Err(check::DEFAULT_WITH_KEYS),
            true => 0,
            false => check::priority(table.needs_priority(), entry.priority)?,
        };
        let action = self.entry_action(table, &entry.action, entry.is_default)?;
        Ok(Resolved {
            table,
            place,
            keys,
            priority,
            action,
            is_default: entry.is_default,
        })
    }

    fn entry_action<'a>(
        &'a self,
        table: &'a Table,
        action: &NamedAction,
        is_default: bool,
    ) -> Result<EntryAction<ResolvedCall<'a>, Infallible>, Problem> {
        Ok(match (action, table.profile) {
            (EntryAction::Member(_) | EntryAction::Group(_), Some(_)) if is_default => {
                return Err(check::DEFAULT_IS_AN_ACTION);
            }
            (EntryAction::Call(_), Some(_)) if !is_default => return Err(check::NAME_A_MEMBER),
            (EntryAction::Call(call), _) => EntryAction::Call(self.call(table, call, is_default)?),
            (_, None) => return Err(check::GIVE_AN_ACTION),
            (EntryAction::Member(id), Some(_)) => EntryAction::Member(*id),
            (EntryAction::Group(_), Some(profile)) if !self.profiles[profile].with_selector => {
                return Err(check::NO_SELECTOR);
            }
            (EntryAction::Group(id), Some(_)) => EntryAction::Group(*id),
            (EntryAction::OneShot(never), _) => match *never {},
        })
    }

    /// Whether the member or group of an entry is among those that are known of its profile.
    fn check_reference(&self, entry: &Resolved<'_>, known: &[(u32, u32)]) -> Result<(), Problem> {
        let Some(place) = entry.table.profile else {
            return Ok(());
        };
        let (members, groups) = known[place];
        let (kind, id, count) = match &entry.action {
            EntryAction::Member(MemberId(id)) => ("member", *id, members),
            EntryAction::Group(GroupId(id)) => ("group", *id, groups),
            EntryAction::Call(_) => return Ok(()),
            EntryAction::OneShot(never) => match *never {},
        };
        if id == 0 || id > count {
            return Err(no_such(kind, id, &self.profiles[place]));
        }
        Ok(())
    }

    /// A call of an action of a table.
    ///
    /// # Errors
    /// [`Problem`], with the name or the value.
    pub fn call<'a>(
        &'a self,
        table: &Table,
        call: &NamedCall,
        as_default: bool,
    ) -> Result<ResolvedCall<'a>, Problem> {
        // An alias stands for the name; the program may have others of that name.
        let place = self.action(&call.action)?;
        let name = &self.actions[place].name;
        let mut offers = table.actions.iter();
        let offer = offers.find(|offer| self.actions[offer.action].name == *name);
        let allowed = |offer: &crate::catalog::Offer| match as_default {
            true => offer.as_default,
            false => offer.in_entries,
        };
        match offer.filter(|offer| allowed(offer)) {
            Some(found) => self.free_call(found.action, call),
            None => {
                let names = table.actions.iter().filter(|offer| allowed(offer));
                let names = names.map(|offer| self.actions[offer.action].name.as_str());
                Err(check::not_allowed(name, as_default, offer.is_some(), names))
            }
        }
    }

    fn free_call<'a>(
        &'a self,
        place: usize,
        call: &NamedCall,
    ) -> Result<ResolvedCall<'a>, Problem> {
        let action = &self.actions[place];
        for (at, (name, _)) in call.params.iter().enumerate() {
            if !action.params.iter().any(|param| param.name == *name) {
                let known = action.params.iter().map(|param| param.name.clone());
                return Err(unknown_part(&action.name, "parameter", name, known));
            }
            if call.params[..at].iter().any(|(other, _)| other == name) {
                return Err(Problem::ParamTwice(name.to_string()));
            }
        }
        let mut args = Vec::with_capacity(action.params.len());
        for param in &action.params {
            let Some((_, value)) = call.params.iter().find(|(name, _)| *name == param.name) else {
                let (action, param) = (action.name.clone(), param.name.clone());
                return Err(Problem::ParamMissing { action, param });
            };
            let what = || check::param_place(&action.name, &param.name);
            args.push(check::value(value, param.width, what)?);
        }
        Ok(ResolvedCall {
            action,
            place,
            args,
        })
    }

    /// Whether tables, profiles and groups have room, where the program tells their size.
    fn check_room(
        &self,
        entries: &SwitchEntries,
        resolved: &[Resolved<'_>],
    ) -> Result<(), EntryError> {
        let fits = |what: String, size: u64, count: usize| {
            let count = count as u64;
            if size == 0 || count <= size {
                return Ok(());
            }
            Err(Problem::Full { what, size, count }.at(&entries.switch))
        };
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for entry in resolved.iter().filter(|entry| !entry.is_default) {
            *counts.entry(entry.place).or_default() += 1;
        }
        for (place, count) in counts {
            let table = &self.tables[place];
            fits(table.name.clone(), table.size, count)?;
        }
        for profile in self
            .profiles
            .iter()
            .filter(|p| p.size != 0 || p.max_group_size != 0)
        {
            let members = entries.members.iter().filter(|m| m.profile == profile.name);
            fits(profile.name.clone(), profile.size, members.count())?;
            for group in entries.groups.iter().filter(|g| g.profile == profile.name) {
                let what = format!("group {} of {}", group.id, group.profile);
                fits(what, profile.max_group_size, group.members.len())?;
            }
        }
        Ok(())
    }

    /// Puts tables, keys, arguments and replicas in the one order that all readers return: that
    /// of the catalog; entries of one table keep their order, replicas go by instance and port.
    ///
    /// # Errors
    /// [`Problem::Name`] for what the program does not have.
    pub fn arrange(&self, entries: &mut SwitchEntries) -> Result<(), EntryError> {
        let switch = entries.switch.clone();
        let mut places = BTreeMap::new();
        for (number, entry) in entries.tables.iter_mut().enumerate() {
            let at = || entry_place(&switch, &entry.table, number);
            let place = self
                .table(&entry.table)
                .map_err(|e| Problem::from(e).at(at()))?;
            let table = &self.tables[place];
            rename(&mut entry.table, &table.name);
            places.insert(entry.table.clone(), place);
            let field_at = |key: &Key| table.fields.iter().position(|f| f.name == key.field);
            entry.keys.sort_by_cached_key(field_at);
            if let EntryAction::Call(call) = &mut entry.action {
                self.arrange_call(call).map_err(|why| why.at(&switch))?;
            }
        }
        entries
            .tables
            .sort_by_key(|entry| places.get(&entry.table).copied());
        for member in &mut entries.members {
            self.arrange_call(&mut member.action)
                .map_err(|why| why.at(&switch))?;
        }
        let groups = entries.multicast_groups.iter_mut();
        let sessions = entries.clone_sessions.iter_mut();
        let replicas = groups.map(|group| &mut group.replicas);
        for replicas in replicas.chain(sessions.map(|(_, session)| &mut session.replicas)) {
            replicas.sort_unstable_by_key(|copy| (copy.rid, copy.port));
        }
        Ok(())
    }

    fn arrange_call(&self, call: &mut NamedCall) -> Result<(), Problem> {
        let action = &self.actions[self.action(&call.action)?];
        rename(&mut call.action, &action.name);
        call.params
            .sort_by_key(|(name, _)| action.params.iter().position(|p| p.name == *name));
        Ok(())
    }
}

fn resolve_keys(entry: &TableEntry, table: &Table) -> Result<Vec<Option<FieldMatch>>, Problem> {
    if entry.is_default {
        return match entry.keys.is_empty() && table.const_default {
            true => Err(Problem::ConstDefault),
            false if !entry.keys.is_empty() => Err(check::DEFAULT_WITH_KEYS),
            false => Ok(Vec::new()),
        };
    }
    if table.const_entries {
        return Err(Problem::ConstEntries);
    }
    if table.fields.is_empty() {
        return Err(check::NO_KEY);
    }
    for (at, key) in entry.keys.iter().enumerate() {
        if !table.fields.iter().any(|field| field.name == key.field) {
            let known = table.fields.iter().map(|field| field.name.clone());
            return Err(unknown_part(&table.name, "match field", &key.field, known));
        }
        let mut earlier = entry.keys[..at].iter();
        if earlier.any(|other| other.field == key.field) {
            return Err(Problem::KeyTwice(key.field.to_string()));
        }
    }
    let mut keys = Vec::with_capacity(table.fields.len());
    for field in &table.fields {
        let given = entry.keys.iter().find(|key| key.field == field.name);
        keys.push(match given {
            Some(key) => {
                let Field {
                    name, width, kind, ..
                } = field;
                Some(check::field_match(name, *width, *kind, &key.value)?)
            }
            None if field.kind == Some(p4ir::MatchKind::Exact) => {
                return Err(Problem::ExactKeyMissing(field.name.clone()));
            }
            None => None,
        });
    }
    Ok(keys)
}

fn check_replication(entries: &SwitchEntries) -> Result<(), EntryError> {
    let groups = entries.multicast_groups.iter();
    let groups = groups.map(|group| (group.id, &group.replicas));
    check_replicas(&entries.switch, "multicast group", groups)?;
    for (id, session) in &entries.clone_sessions {
        if session.multicast_group.is_some() {
            let why = "a clone session names its copies, not a multicast group";
            let at = format!("{}, clone session {id}", entries.switch);
            return Err(Problem::Rule(why).at(at));
        }
    }
    let sessions = entries.clone_sessions.iter();
    let sessions = sessions.map(|(id, session)| (*id, &session.replicas));
    check_replicas(&entries.switch, "clone session", sessions)
}

fn check_replicas<'a>(
    switch: &str,
    kind: &str,
    entries: impl Iterator<Item = (u32, &'a Vec<Replica>)>,
) -> Result<(), EntryError> {
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
        return Err(Problem::Rule(problem).at(format!("{switch}, {kind} {id}")));
    }
    Ok(())
}

/// The place of an entry, for people: the switch, the entry's number from 0, its table.
#[must_use]
pub fn entry_place(switch: &str, table: &str, number: usize) -> String {
    format!("{switch}, entry {number} ({table})")
}

fn rename(name: &mut Name, full: &str) {
    if name != full {
        *name = full.to_owned().into();
    }
}

fn no_such(kind: &'static str, id: u32, profile: &Profile) -> Problem {
    let profile = profile.name.clone();
    Problem::NoSuchMember { kind, id, profile }
}

fn unknown_part(
    owner: &str,
    kind: &'static str,
    name: &str,
    known: impl Iterator<Item = String>,
) -> Problem {
    Problem::from(NameError::UnknownPart {
        owner: owner.to_owned(),
        kind,
        name: name.to_owned(),
        known: known.collect(),
    })
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

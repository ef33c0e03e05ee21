//! A program beside the BMv2 JSON that we write of it: the same updates and packets on both.

use std::collections::BTreeMap;
use std::sync::Arc;

use bmv2json::{Bmv2Error, WriteError};
use p4exec::Update;
use p4exec::state::EntryRef;
use p4exec::tables::{ActionCall, EntryAction, FieldMatch, NewEntry};
use p4exec::value::Bits;
use p4ir::{
    ActionId, ExternId, Key, MatchKind, Program, TableId, ValidProgram, ValueSetField, ValueSetId,
};
use thiserror::Error;

/// Why no JSON stands beside a program.
#[derive(Debug, Error)]
pub enum NoJson {
    /// The format cannot say what the program means, or BMv2 does something else with some packets.
    #[error("{0}")]
    Refused(WriteError),
    /// What we write is not read: a fault of the writer or of the reader.
    #[error("the JSON that we write is not read: {0}")]
    Unread(Bmv2Error),
}

impl NoJson {
    /// The kind of refusal: its text without the names of the program; `None` for a fault.
    #[must_use]
    pub fn kind(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => Some(kind_of(&refusal.what)),
            Self::Unread(_) => None,
        }
    }
}

/// A text whose quoted names are `_`.
fn kind_of(what: &str) -> String {
    let parts = what.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { "`_`" } else { part })
        .collect()
}

/// Whether executors write the status of the ports to a field of the program.
fn is_told_of_ports(program: &Program) -> bool {
    let fields = program.types.iter().filter_map(|(_, ty)| ty.fields());
    let mut annotations = fields.flatten().flat_map(|field| &field.annotations);
    annotations.any(|annotation| annotation.says("switchwright", "port_status"))
}

/// The JSON of a program, read back.
#[derive(Clone, Debug)]
pub struct Beside {
    program: Arc<ValidProgram>,
    tables: BTreeMap<TableId, TableId>,
    /// Actions of each table of the JSON by those of the program.
    actions: BTreeMap<(TableId, ActionId), ActionId>,
    externs: BTreeMap<ExternId, ExternId>,
    value_sets: BTreeMap<ValueSetId, ValueSetId>,
    /// Match kinds and widths of each table's keys in the JSON.
    kinds: BTreeMap<TableId, Vec<(Option<MatchKind>, u32)>>,
}

impl Beside {
    /// Writes a program's JSON and reads it.
    ///
    /// # Errors
    /// The refusal or the fault.
    pub fn new(program: &ValidProgram) -> Result<Self, NoJson> {
        let text = bmv2json::write(program, "beside").map_err(NoJson::Refused)?;
        Self::read(program, &text)
    }

    /// As [`Beside::new`], for packets of any length.
    ///
    /// # Errors
    /// Also where BMv2 does something else with packets that end early, or leaves a field zero that
    /// our executors fill.
    pub fn for_any_packets(program: &ValidProgram) -> Result<Self, NoJson> {
        if is_told_of_ports(program) {
            return Err(NoJson::Refused(WriteError {
                place: String::new(),
                what: "BMv2 does not fill the field of the port status".into(),
            }));
        }
        let written = bmv2json::write_with_notes(program, "beside");
        let (text, notes) = written.map_err(NoJson::Refused)?;
        if let Some(note) = notes.into_iter().find(|note| note.of_packets) {
            let (place, what) = (note.place, note.what);
            return Err(NoJson::Refused(WriteError { place, what }));
        }
        Self::read(program, &text)
    }

    fn read(program: &ValidProgram, text: &str) -> Result<Self, NoJson> {
        let read = bmv2json::read(text).map_err(NoJson::Unread)?;
        let mut made = Self {
            program: Arc::new(read),
            tables: BTreeMap::new(),
            actions: BTreeMap::new(),
            externs: BTreeMap::new(),
            value_sets: BTreeMap::new(),
            kinds: BTreeMap::new(),
        };
        made.pair(program);
        Ok(made)
    }

    /// What the JSON means.
    #[must_use]
    pub const fn program(&self) -> &Arc<ValidProgram> {
        &self.program
    }

    /// Finds the objects of the same names.
    fn pair(&mut self, source: &Program) {
        let json = Arc::clone(&self.program);
        for (id, table) in source.tables.iter() {
            let Some(found) = json.table_by_name(&table.name) else {
                continue;
            };
            self.tables.insert(id, found);
            let same = &json.tables[found];
            let kind = |key: &Key| {
                let bits = json.types[json.expr_type(key.expr)].bits();
                (key.kind.matched(), bits.map_or(1, |(width, _)| width))
            };
            self.kinds.insert(id, same.keys.iter().map(kind).collect());
            for (ours, theirs) in table.actions.iter().zip(&same.actions) {
                self.actions.insert((id, ours.action), theirs.action);
            }
        }
        for (id, object) in source.externs.iter() {
            if let Some(found) = json.extern_by_name(&object.name) {
                self.externs.insert(id, found);
            }
        }
        for (id, set) in source.value_sets.iter() {
            let mut all = json.value_sets.iter();
            if let Some((found, _)) = all.find(|(_, other)| other.name == set.name) {
                self.value_sets.insert(id, found);
            }
        }
    }

    /// The same change of the JSON program; `None` if it has no such object: what is never applied
    /// is not written.
    #[must_use]
    pub fn update(&self, source: &Program, update: &Update) -> Option<Update> {
        if let Update::InsertEntry { table, .. }
        | Update::ModifyEntry { table, .. }
        | Update::DeleteEntry { table, .. } = update
        {
            // BMv2 takes initial entries for const ones, of which the writer warns.
            let table = &source.tables[*table];
            if !table.entries.is_empty() && !table.const_entries {
                return None;
            }
        }
        let mut update = update.clone();
        match &mut update {
            Update::InsertEntry { table, entry } => {
                self.entry(*table, entry)?;
                *table = *self.tables.get(table)?;
            }
            Update::ModifyEntry {
                table, key, action, ..
            } => {
                self.key(*table, key);
                self.action(*table, action)?;
                *table = *self.tables.get(table)?;
            }
            Update::DeleteEntry { table, key, .. } => {
                self.key(*table, key);
                *table = *self.tables.get(table)?;
            }
            Update::SetDefault { table, call } => {
                if let Some(call) = call {
                    self.call(*table, call)?;
                }
                *table = *self.tables.get(table)?;
            }
            Update::SetDirectCounter { table, entry, .. }
            | Update::SetDirectMeter { table, entry, .. }
            | Update::SetDirectMarked { table, entry, .. } => {
                if let EntryRef::Key { key, .. } = entry {
                    self.key(*table, key);
                }
                *table = *self.tables.get(table)?;
            }
            Update::InsertMember { profile, call, .. }
            | Update::ModifyMember { profile, call, .. } => {
                let mut tables = source.tables.iter();
                let (table, _) = tables.find(|(_, t)| t.implementation == Some(*profile))?;
                self.call(table, call)?;
                *profile = *self.externs.get(profile)?;
            }
            Update::DeleteMember { profile: id, .. }
            | Update::InsertGroup { profile: id, .. }
            | Update::ModifyGroup { profile: id, .. }
            | Update::DeleteGroup { profile: id, .. }
            | Update::SetCounter { counter: id, .. }
            | Update::SetMeter { meter: id, .. }
            | Update::SetMarked { meter: id, .. }
            | Update::SetRegister { register: id, .. } => *id = *self.externs.get(id)?,
            Update::SetValueSet { set, members } => {
                *set = *self.value_sets.get(set)?;
                // The format has no place for `@match`.
                let fields = &self.program.value_sets[*set].fields;
                let fits = |(given, field): (&FieldMatch, &ValueSetField)| {
                    Some(given.kind()) == field.kind.matched()
                };
                let mut all = members.iter().flat_map(|member| member.iter().zip(fields));
                all.all(fits).then_some(())?;
            }
            // A calculation of the JSON has parameters that the source's do not share.
            Update::SetCrc { .. } => return None,
            Update::SetMulticastGroup { .. }
            | Update::SetCloneSession { .. }
            | Update::SetBackups { .. } => {}
        }
        Some(update)
    }

    fn entry(&self, table: TableId, entry: &mut NewEntry) -> Option<()> {
        self.key(table, &mut entry.key);
        self.action(table, &mut entry.action)
    }

    /// The format has no optional keys: they are ternary there.
    fn key(&self, table: TableId, key: &mut [FieldMatch]) {
        let kinds = self.kinds.get(&table).map_or(&[][..], Vec::as_slice);
        for (field, (kind, width)) in key.iter_mut().zip(kinds) {
            if let (FieldMatch::Optional(given), Some(MatchKind::Ternary)) = (&*field, kind) {
                let (value, mask) = match given {
                    Some(value) => (value.clone(), Bits::ones(*width)),
                    None => (Bits::zero(*width), Bits::zero(*width)),
                };
                *field = FieldMatch::Ternary { value, mask };
            }
        }
    }

    fn action(&self, table: TableId, action: &mut EntryAction) -> Option<()> {
        match action {
            EntryAction::Call(call) => self.call(table, call),
            EntryAction::OneShot(calls) => calls
                .iter_mut()
                .try_for_each(|one| self.call(table, &mut one.call).ok_or(()))
                .ok(),
            EntryAction::Member(_) | EntryAction::Group(_) => Some(()),
        }
    }

    fn call(&self, table: TableId, call: &mut ActionCall) -> Option<()> {
        call.action = *self.actions.get(&(table, call.action))?;
        Some(())
    }
}

//! A table: its entries, its default action, and the match structure that finds the winner.

use std::collections::HashMap;

use units::Nanos;

use super::Slot;
use super::entry::{
    ActionCall, Entry, EntryAction, EntryHandle, EntryPriority, NewEntry, TableError, TableSpec,
    WeightedCall,
};
use super::exact::ExactIndex;
use super::key::{FieldMatch, KeyLayout, MatchKind};
use super::lpm::{self, LpmIndex};
use super::tuple_space::TupleSpace;
use crate::externs::counter::CounterCell;
use crate::externs::meter::Meter;

/// The match structure, by the kinds of the key.
#[derive(Clone, Debug)]
enum Index {
    Exact(ExactIndex),
    Lpm {
        index: LpmIndex,
        field: usize,
    },
    /// `by_prefix`: one LPM field too wide for the trie, so its length is the priority.
    Tuples {
        index: TupleSpace,
        by_prefix: bool,
    },
}

/// A match-action table.
#[derive(Clone, Debug)]
pub struct Table {
    spec: TableSpec,
    layout: KeyLayout,
    index: Index,
    entries: Vec<Option<Box<Entry>>>,
    free: Vec<Slot>,
    len: usize,
    by_key: HashMap<(Vec<FieldMatch>, EntryPriority), Slot, foldhash::fast::FixedState>,
    default_action: Option<ActionCall>,
    /// The direct counter's cell of the default action.
    pub default_counter: CounterCell,
    /// The direct meter's cell of the default action.
    pub default_meter: Meter,
}

/// A key as messages show it.
fn show_key(key: &[FieldMatch]) -> String {
    key.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(spec: TableSpec) -> Self {
        let layout = KeyLayout::new(spec.keys.clone());
        let lpm: Vec<usize> = (0..spec.keys.len())
            .filter(|i| spec.keys[*i].kind == MatchKind::Lpm)
            .collect();
        let index = match lpm.as_slice() {
            _ if layout.needs_priority() => Index::Tuples {
                index: TupleSpace::default(),
                by_prefix: false,
            },
            [] => Index::Exact(ExactIndex::default()),
            [field] if spec.keys[*field].width <= lpm::MAX_WIDTH => {
                let words = layout.field_words(*field);
                let width = spec.keys[*field].width;
                Index::Lpm {
                    index: LpmIndex::new(words, width, layout.words()),
                    field: *field,
                }
            }
            _ => Index::Tuples {
                index: TupleSpace::default(),
                by_prefix: true,
            },
        };
        Self {
            default_action: spec.default_action.clone(),
            spec,
            layout,
            index,
            entries: Vec::new(),
            free: Vec::new(),
            len: 0,
            by_key: HashMap::default(),
            default_counter: CounterCell::default(),
            default_meter: Meter::default(),
        }
    }

    /// The fixed part, from the program.
    #[must_use]
    pub const fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// The key's fields and packing.
    #[must_use]
    pub const fn layout(&self) -> &KeyLayout {
        &self.layout
    }

    /// Installed entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no entry is installed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The action of a miss; `None` does nothing.
    #[must_use]
    pub const fn default_action(&self) -> Option<&ActionCall> {
        self.default_action.as_ref()
    }

    /// The entries in handle order.
    pub fn iter(&self) -> impl Iterator<Item = (EntryHandle, &Entry)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(i, e)| e.as_deref().map(|e| (EntryHandle(i as u32), e)))
    }

    /// The entry of a handle.
    #[must_use]
    pub fn entry(&self, handle: EntryHandle) -> Option<&Entry> {
        self.entries.get(handle.0 as usize)?.as_deref()
    }

    /// The entry of a handle, to change its counters, meter or times. Key, priority and action
    /// are changed by [`Table::modify`] only.
    #[must_use]
    pub fn entry_mut(&mut self, handle: EntryHandle) -> Option<&mut Entry> {
        self.entries.get_mut(handle.0 as usize)?.as_deref_mut()
    }

    fn fail<T>(&self, make: impl FnOnce(String) -> TableError) -> Result<T, TableError> {
        Err(make(self.spec.name.clone()))
    }

    fn canonical(&self, key: &[FieldMatch]) -> Result<Vec<FieldMatch>, TableError> {
        self.layout
            .canonical(key)
            .map_err(|source| TableError::Key {
                table: self.spec.name.clone(),
                source,
            })
    }

    fn effective_priority(&self, given: EntryPriority) -> EntryPriority {
        if self.layout.needs_priority() {
            given
        } else {
            EntryPriority::default()
        }
    }

    /// The call with its arguments resized to their parameters, or why it does not fit.
    fn check_call(&self, call: &ActionCall, default: bool) -> Result<ActionCall, TableError> {
        let spec = self
            .spec
            .actions
            .iter()
            .find(|a| a.id == call.action && if default { a.as_default } else { a.in_entries });
        let Some(spec) = spec else {
            let place = if default {
                "as default action"
            } else {
                "in entries"
            };
            return self.fail(|table| TableError::ActionNotAllowed {
                table,
                action: call.action,
                place,
            });
        };
        if spec.params.len() != call.args.len() {
            return self.fail(|table| TableError::ArgumentCount {
                table,
                action: spec.name.clone(),
                expected: spec.params.len(),
                given: call.args.len(),
            });
        }
        let mut args = Vec::with_capacity(call.args.len());
        for (index, (width, value)) in spec.params.iter().zip(&call.args).enumerate() {
            let fitted = value.resize_unsigned(*width);
            if value.width() > *width && fitted.resize_unsigned(value.width()) != *value {
                return self.fail(|table| TableError::ArgumentTooWide {
                    table,
                    action: spec.name.clone(),
                    index,
                    width: *width,
                    value: value.to_string(),
                });
            }
            args.push(fitted);
        }
        Ok(ActionCall {
            action: call.action,
            args,
        })
    }

    fn check_action(&self, action: &EntryAction) -> Result<EntryAction, TableError> {
        let direct = matches!(action, EntryAction::Call(_));
        if direct == self.spec.indirect {
            let indirect = self.spec.indirect;
            return self.fail(|table| TableError::Implementation { table, indirect });
        }
        Ok(match action {
            EntryAction::Call(call) => EntryAction::Call(self.check_call(call, false)?),
            EntryAction::OneShot(set) => EntryAction::OneShot(
                set.iter()
                    .map(|w| {
                        Ok(WeightedCall {
                            call: self.check_call(&w.call, false)?,
                            ..w.clone()
                        })
                    })
                    .collect::<Result<_, TableError>>()?,
            ),
            EntryAction::Member(_) | EntryAction::Group(_) => action.clone(),
        })
    }

    /// Checks that a member's action may be used by this table's entries.
    pub fn check_member_call(&self, call: &ActionCall) -> Result<ActionCall, TableError> {
        self.check_call(call, false)
    }

    /// Installs an entry. Const tables take only const entries, which come from the program.
    pub fn insert(&mut self, new: NewEntry, now: Nanos) -> Result<EntryHandle, TableError> {
        if self.spec.const_entries && !new.is_const {
            return self.fail(|table| TableError::ConstEntries { table });
        }
        let key = self.canonical(&new.key)?;
        let action = self.check_action(&new.action)?;
        let priority = self.effective_priority(new.priority);
        if self.by_key.contains_key(&(key.clone(), priority)) {
            let (key, priority) = (show_key(&key), priority.0);
            return self.fail(|table| TableError::Duplicate {
                table,
                key,
                priority,
            });
        }
        if let Some(size) = self.spec.size
            && self.len >= size
        {
            return self.fail(|table| TableError::Full { table, size });
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as Slot
        });
        self.index_insert(&key, priority, slot);
        self.by_key.insert((key.clone(), priority), slot);
        self.entries[slot as usize] = Some(Box::new(Entry {
            key,
            priority,
            action,
            is_const: new.is_const,
            counter: CounterCell::default(),
            meter: Meter::default(),
            last_hit: now,
            controller_metadata: Vec::new(),
            idle_timeout: Nanos::default(),
        }));
        self.len += 1;
        Ok(EntryHandle(slot))
    }

    /// Replaces the action of an entry and returns the old one. The key, counters and times stay.
    pub fn modify(
        &mut self,
        handle: EntryHandle,
        action: EntryAction,
    ) -> Result<EntryAction, TableError> {
        self.writable(handle)?;
        let action = self.check_action(&action)?;
        match self.entry_mut(handle) {
            Some(entry) => Ok(std::mem::replace(&mut entry.action, action)),
            None => self.not_found(handle),
        }
    }

    /// Removes an entry and returns it.
    pub fn remove(&mut self, handle: EntryHandle) -> Result<Entry, TableError> {
        self.writable(handle)?;
        let Some(entry) = self
            .entries
            .get_mut(handle.0 as usize)
            .and_then(Option::take)
        else {
            return self.not_found(handle);
        };
        self.index_remove(&entry.key, entry.priority, handle.0);
        self.by_key.remove(&(entry.key.clone(), entry.priority));
        self.free.push(handle.0);
        self.len -= 1;
        Ok(*entry)
    }

    /// Puts an entry back that [`Table::remove`] took out, with its counters and times.
    pub fn restore(&mut self, entry: Entry) -> Result<EntryHandle, TableError> {
        let new = NewEntry {
            key: entry.key.clone(),
            priority: entry.priority,
            action: entry.action.clone(),
            is_const: entry.is_const,
        };
        let handle = self.insert(new, entry.last_hit)?;
        if let Some(place) = self.entry_mut(handle) {
            *place = entry;
        }
        Ok(handle)
    }

    /// Removes every entry that is not const.
    pub fn clear(&mut self) {
        let handles: Vec<_> = self
            .iter()
            .filter(|(_, e)| !e.is_const)
            .map(|(h, _)| h)
            .collect();
        for handle in handles {
            // Only const entries refuse, and they were left out.
            let _ = self.remove(handle);
        }
    }

    /// Sets the action of a miss and returns the old one; `None` is the program's own.
    pub fn set_default(
        &mut self,
        call: Option<&ActionCall>,
    ) -> Result<Option<ActionCall>, TableError> {
        if self.spec.const_default {
            return self.fail(|table| TableError::ConstDefault { table });
        }
        let call = match call {
            Some(call) => Some(self.check_call(call, true)?),
            None => self.spec.default_action.clone(),
        };
        Ok(std::mem::replace(&mut self.default_action, call))
    }

    /// Puts back what [`Table::set_default`] replaced.
    pub(crate) fn restore_default(&mut self, call: Option<ActionCall>) {
        self.default_action = call;
    }

    /// The entry with exactly this key and priority.
    pub fn find(
        &self,
        key: &[FieldMatch],
        priority: EntryPriority,
    ) -> Result<EntryHandle, TableError> {
        let key = self.canonical(key)?;
        let place = (key, self.effective_priority(priority));
        match self.by_key.get(&place) {
            Some(slot) => Ok(EntryHandle(*slot)),
            None => {
                let entry = show_key(&place.0);
                self.fail(|table| TableError::NotFound { table, entry })
            }
        }
    }

    fn writable(&self, handle: EntryHandle) -> Result<(), TableError> {
        match self.entry(handle) {
            Some(entry) if entry.is_const => self.fail(|table| TableError::ConstEntries { table }),
            Some(_) => Ok(()),
            None => self.not_found(handle),
        }
    }

    fn not_found<T>(&self, handle: EntryHandle) -> Result<T, TableError> {
        self.fail(|table| TableError::NotFound {
            table,
            entry: handle.to_string(),
        })
    }

    /// The winning entry for packed key words (see [`KeyLayout::pack`]).
    #[must_use]
    pub fn lookup(&self, key: &[u64]) -> Option<EntryHandle> {
        if self.len == 0 || key.len() != self.layout.words() {
            return None;
        }
        match &self.index {
            Index::Exact(index) => index.lookup(key),
            Index::Lpm { index, .. } => index.lookup(key),
            Index::Tuples { index, .. } => index.lookup(key),
        }
        .map(EntryHandle)
    }

    /// The packed words of the values of a key whose fields all match exactly or by prefix.
    fn value_words(&self, key: &[FieldMatch]) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.layout.words());
        for field in key {
            if let FieldMatch::Exact(value) | FieldMatch::Lpm { value, .. } = field {
                value.push_words(&mut words);
            }
        }
        words
    }

    fn index_insert(&mut self, key: &[FieldMatch], priority: EntryPriority, slot: Slot) {
        let words = self.value_words(key);
        match &mut self.index {
            Index::Exact(index) => index.insert(words.into_boxed_slice(), slot),
            Index::Lpm { index, field } => index.insert(&words, prefix_len(&key[*field]), slot),
            Index::Tuples { index, by_prefix } => {
                index.insert(&self.layout, key, rank(key, priority, *by_prefix), slot);
            }
        }
    }

    fn index_remove(&mut self, key: &[FieldMatch], priority: EntryPriority, slot: Slot) {
        let words = self.value_words(key);
        match &mut self.index {
            Index::Exact(index) => index.remove(&words),
            Index::Lpm { index, field } => index.remove(&words, prefix_len(&key[*field])),
            Index::Tuples { index, by_prefix } => {
                index.remove(&self.layout, key, rank(key, priority, *by_prefix), slot);
            }
        }
    }
}

fn prefix_len(field: &FieldMatch) -> u32 {
    match field {
        FieldMatch::Lpm { prefix_len, .. } => *prefix_len,
        _ => 0,
    }
}

/// The rank of an entry in the tuple space.
fn rank(key: &[FieldMatch], priority: EntryPriority, by_prefix: bool) -> i32 {
    if by_prefix {
        key.iter().map(|f| prefix_len(f) as i32).sum()
    } else {
        priority.0
    }
}

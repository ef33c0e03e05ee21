//! A table: its entries, its default action, and the match structure that finds the winner.

use std::sync::Arc;

use p4ir::{ActionId, Entity as _};
use quantities::Nanos;

use super::Slot;
use super::action::{self, ActionWord, PackedAction, RowKind};
use super::entry::{
    ActionCall, Entry, EntryAction, EntryHandle, EntryOptions, EntryPriority, NewEntry, TableError,
    TableSpec, WeightedCall,
};
use super::exact::ExactIndex;
use super::key::FieldMatch;
use super::layout::{KeyForm, KeyLayout, PackedKey};
use super::lpm::LpmIndex;
use super::profile::Choice;
use super::records::{self, Records};
use super::revision::Revision;
use super::small_table::SmallTable;
use super::tuple_space::TupleSpace;
use crate::ports::PortSet;

mod approach;
mod together;
mod view;

pub use approach::approach;
#[cfg(feature = "jit")]
pub(crate) use together::Together;
pub use view::EntryView;

/// The match structure, by the form of the key.
#[derive(Clone, Debug)]
enum Index {
    Exact(ExactIndex),
    Lpm(Box<LpmIndex>),
    Tuples(Box<TupleSpace>),
}

/// The set of a one-shot selector, ready to pick from.
#[derive(Clone, Debug)]
pub(crate) struct OneShot {
    calls: Vec<WeightedCall>,
    rows: Vec<Box<[u64]>>,
    choice: Choice,
}

/// What few entries have, kept beside the records.
#[derive(Clone, Debug, Default)]
pub(crate) struct RareOptions {
    controller_metadata: Vec<u8>,
    idle_timeout: Nanos,
    one_shot: Option<OneShot>,
}

/// A match-action table.
#[derive(Clone, Debug)]
pub struct Table {
    spec: Arc<TableSpec>,
    layout: KeyLayout,
    index: Index,
    small: SmallTable,
    /// Changes with what lookups find.
    revision: Revision,
    records: Records,
    /// By slot; only as long as the last slot that has one.
    rare: Vec<Option<Box<RareOptions>>>,
    default_row: Option<Vec<u64>>,
    /// Argument words of the longest action.
    arg_words: usize,
    key: PackedKey,
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
        let index = match layout.form() {
            KeyForm::Exact => Index::Exact(ExactIndex::default()),
            KeyForm::Prefix { field } => Index::Lpm(Box::new(LpmIndex::new(&layout, field))),
            KeyForm::Masked => Index::Tuples(Box::default()),
        };
        let arg_words = if spec.indirect {
            0
        } else {
            action::most_arg_words(&spec.actions)
        };
        let mut table = Self {
            records: Records::new(layout.stored_words(), arg_words),
            layout,
            index,
            small: SmallTable::default(),
            revision: Revision::new(),
            rare: Vec::new(),
            default_row: None,
            arg_words,
            key: PackedKey::default(),
            spec: Arc::new(spec),
        };
        table.default_row = table.program_default();
        table.entries_changed();
        table
    }

    /// The default action that the program gives, whatever its scope says.
    fn program_default(&self) -> Option<Vec<u64>> {
        let call = self.spec.default_action.as_ref()?;
        let position = self.position_of(call.action)?;
        let mut row = vec![ActionWord::call(position as usize, call.action).0];
        let params = &self.spec.actions[position as usize].params;
        for (value, width) in call.args.iter().zip(params) {
            action::push_arg(&value.resize_unsigned(*width), &mut row);
        }
        Some(row)
    }

    /// The fixed part, from the program.
    #[must_use]
    pub const fn spec(&self) -> &Arc<TableSpec> {
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
        self.records.len()
    }

    /// Whether no entry is installed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.records.len() == 0
    }

    /// Bytes of memory the entries and their index take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let index = match &self.index {
            Index::Exact(index) => index.bytes(),
            Index::Lpm(index) => index.bytes(),
            Index::Tuples(index) => index.bytes(),
        };
        let rare: usize = self
            .rare
            .iter()
            .flatten()
            .map(|_| size_of::<RareOptions>())
            .sum();
        index + self.records.bytes() + self.rare.capacity() * 8 + rare
    }

    /// Hash tables that a lookup that hits nothing asks: one, unless the key is masked.
    #[must_use]
    pub const fn probes(&self) -> usize {
        match &self.index {
            Index::Tuples(index) => index.tuples(),
            _ => 1,
        }
    }

    /// The action of a miss; `None` does nothing.
    #[must_use]
    pub fn default_action(&self) -> Option<ActionCall> {
        let row = self.default_row.as_deref()?;
        match action::unpack_action(row, &self.spec.actions, &[]) {
            EntryAction::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The default action as a row: action word, then argument words.
    #[must_use]
    pub fn default_row(&self) -> Option<&[u64]> {
        self.default_row.as_deref()
    }

    /// Where an action is in the list of this table.
    #[must_use]
    pub fn position_of(&self, action: ActionId) -> Option<u32> {
        let at = self.spec.actions.iter().position(|a| a.id == action)?;
        u32::try_from(at).ok()
    }

    /// The same for the action of a row that may have been packed for another table.
    #[inline]
    pub(crate) fn position_in_list(&self, word: ActionWord) -> Option<u32> {
        let told = word.position();
        match self.spec.actions.get(told as usize) {
            Some(action) if action.id == word.action() => Some(told),
            _ => self.position_of(word.action()),
        }
    }

    /// The entries in slot order.
    pub fn iter(&self) -> impl Iterator<Item = EntryView<'_>> {
        self.iter_from(0)
    }

    /// The entries from a slot on, in slot order: to go on where a reader stopped, begin with the
    /// slot after its last.
    pub fn iter_from(&self, slot: Slot) -> impl Iterator<Item = EntryView<'_>> {
        let view = |slot| EntryView { table: self, slot };
        self.records.iter_from(slot).map(view)
    }

    /// The entry of a handle.
    #[must_use]
    pub fn view(&self, handle: EntryHandle) -> Option<EntryView<'_>> {
        let slot = handle.0;
        let view = EntryView { table: self, slot };
        self.records.is_used(slot).then_some(view)
    }

    /// The entry of a handle, typed.
    #[must_use]
    pub fn entry(&self, handle: EntryHandle) -> Option<Entry> {
        self.view(handle).map(|view| view.to_entry())
    }

    /// Action word and arguments of a slot in use.
    #[must_use]
    #[inline]
    pub fn action_row(&self, slot: Slot) -> &[u64] {
        self.records.row(slot)
    }

    /// The address of the rows of all slots; they stay there as long as no entry comes or goes.
    pub(crate) fn rows_at(&self) -> usize {
        self.records.address()
    }

    /// The row that a hash value picks from the one-shot set of a slot; `None` if no member lives.
    #[must_use]
    pub fn one_shot_row(&self, slot: Slot, hash: u64, ports: &PortSet) -> Option<&[u64]> {
        let one_shot = self.rare(slot)?.one_shot.as_ref()?;
        let index = one_shot.choice.pick(hash, ports)?;
        Some(&one_shot.rows[index])
    }

    /// The rows of the live members of a one-shot set in their order, each with its weight.
    pub(crate) fn one_shot_rows<'a>(
        &'a self,
        slot: Slot,
        ports: &'a PortSet,
    ) -> impl Iterator<Item = (u32, &'a [u64])> {
        let one_shot = self.rare(slot).and_then(|side| side.one_shot.as_ref());
        one_shot.into_iter().flat_map(|set| {
            let live = set.choice.live(ports);
            live.map(|(index, weight)| (weight, &*set.rows[index]))
        })
    }

    fn rare(&self, slot: Slot) -> Option<&RareOptions> {
        self.rare.get(slot as usize)?.as_deref()
    }

    fn fail<T>(&self, make: impl FnOnce(String) -> TableError) -> Result<T, TableError> {
        Err(make(self.spec.name.clone()))
    }

    /// Checks a key and packs it.
    ///
    /// # Errors
    /// [`TableError::Key`] with the field that does not fit.
    pub fn pack_key(
        &self,
        key: &[FieldMatch],
        priority: EntryPriority,
        out: &mut PackedKey,
    ) -> Result<(), TableError> {
        let packed = self.layout.pack_match(key, priority.0, out);
        packed.map_err(|source| TableError::Key {
            table: self.spec.name.clone(),
            source,
        })
    }

    /// Checks what an entry is to do and packs it.
    ///
    /// # Errors
    /// [`TableError`] if the action, its arguments, or naming a member does not suit the table.
    pub fn pack_action(
        &self,
        action: &EntryAction,
        out: &mut PackedAction,
    ) -> Result<(), TableError> {
        let direct = matches!(action, EntryAction::Call(_));
        if direct == self.spec.indirect {
            let indirect = self.spec.indirect;
            return self.fail(|table| TableError::Implementation { table, indirect });
        }
        out.one_shot.clear();
        match action {
            EntryAction::Call(call) => self.pack_call(call, false, &mut out.row)?,
            EntryAction::Member(id) => out.set_member(*id),
            EntryAction::Group(id) => out.set_group(*id),
            EntryAction::OneShot(set) => {
                out.set(ActionWord::one_shot());
                let mut row = Vec::new();
                for weighted in set {
                    self.pack_call(&weighted.call, false, &mut row)?;
                    let call = self.unpack_row(&row);
                    out.one_shot.push(WeightedCall {
                        call,
                        ..weighted.clone()
                    });
                }
            }
        }
        Ok(())
    }

    /// The typed call of a row.
    #[must_use]
    pub fn unpack_row(&self, row: &[u64]) -> ActionCall {
        let position = ActionWord(row.first().copied().unwrap_or(0)).position();
        let spec = self.spec.actions.get(position as usize);
        action::unpack_call(row, spec.map_or(&[], |s| &s.params))
    }

    pub(crate) fn pack_call(
        &self,
        call: &ActionCall,
        default: bool,
        out: &mut Vec<u64>,
    ) -> Result<(), TableError> {
        action::pack_call(&self.spec.name, &self.spec.actions, call, default, out)
    }

    /// The side record of an entry: nothing if there is nothing to keep.
    pub(crate) fn make_rare(
        &self,
        options: &EntryOptions,
        action: &PackedAction,
    ) -> Option<Box<RareOptions>> {
        let is_set = action
            .row
            .first()
            .is_some_and(|w| ActionWord(*w).kind() == RowKind::OneShot);
        let one_shot = is_set.then(|| OneShot {
            rows: self.rows_of(&action.one_shot),
            choice: Choice::new(action.one_shot.iter().map(|w| (w.weight, w.watch_port))),
            calls: action.one_shot.clone(),
        });
        let plain = options.controller_metadata.is_empty() && options.idle_timeout.get() == 0;
        if plain && one_shot.is_none() {
            return None;
        }
        Some(Box::new(RareOptions {
            controller_metadata: options.controller_metadata.clone(),
            idle_timeout: options.idle_timeout,
            one_shot,
        }))
    }

    /// The rows of calls that were checked.
    fn rows_of(&self, calls: &[WeightedCall]) -> Vec<Box<[u64]>> {
        let mut row = Vec::new();
        let pack = |w: &WeightedCall| {
            row.clear();
            let _ = self.pack_call(&w.call, false, &mut row);
            row.as_slice().into()
        };
        calls.iter().map(pack).collect()
    }

    /// What [`Table::make_rare`] keeps, given back as options.
    pub(crate) fn options_of(&self, slot: Slot) -> EntryOptions {
        let side = self.rare(slot);
        EntryOptions {
            controller_metadata: side.map_or_else(Vec::new, |s| s.controller_metadata.clone()),
            idle_timeout: side.map_or(Nanos::default(), |s| s.idle_timeout),
            ..EntryOptions::default()
        }
    }

    /// Whether entries may be inserted so: the checks of an insertion that need no lookup.
    pub(crate) fn check_shape(
        &self,
        key: &PackedKey,
        action: &PackedAction,
    ) -> Result<(), TableError> {
        if key.words.len() != self.layout.stored_words() {
            return self.fail(|table| TableError::Foreign { table, what: "key" });
        }
        let word = ActionWord(action.row.first().copied().unwrap_or(u64::MAX));
        let suits = match word.kind() {
            RowKind::Call => {
                let spec = self.spec.actions.get(word.position() as usize);
                let len = action.row.len();
                spec.is_some_and(|s| {
                    s.id.index() as u64 == u64::from(word.id())
                        && s.in_entries
                        && len <= 1 + self.arg_words
                })
            }
            _ => action.row.len() == 1,
        };
        if !suits {
            let what = "action";
            return self.fail(|table| TableError::Foreign { table, what });
        }
        if (word.kind() == RowKind::Call) == self.spec.indirect {
            let indirect = self.spec.indirect;
            return self.fail(|table| TableError::Implementation { table, indirect });
        }
        Ok(())
    }

    /// Whether an entry can be inserted: const, shape, duplicate, room.
    pub(crate) fn check_insert(
        &self,
        key: &PackedKey,
        action: &PackedAction,
        is_const: bool,
    ) -> Result<(), TableError> {
        self.check_new(key, action, is_const)?;
        if self.find_packed(key).is_some() {
            return self.there_already(key);
        }
        let size = self.most();
        if self.len() >= size {
            return self.fail(|table| TableError::Full { table, size });
        }
        Ok(())
    }

    /// The checks of an insertion that need no lookup.
    fn check_new(
        &self,
        key: &PackedKey,
        action: &PackedAction,
        is_const: bool,
    ) -> Result<(), TableError> {
        if self.spec.const_entries && !is_const {
            return self.fail(|table| TableError::ConstEntries { table });
        }
        self.check_shape(key, action)
    }

    /// How many entries there may be.
    fn most(&self) -> usize {
        let size = self.spec.size.unwrap_or(usize::MAX);
        size.min(records::MAX_SLOTS as usize)
    }

    fn there_already<T>(&self, key: &PackedKey) -> Result<T, TableError> {
        let priority = match self.layout.needs_priority() {
            true => key.rank,
            false => 0,
        };
        let key = show_key(&self.layout.unpack(&key.words, key.rank));
        self.fail(|table| TableError::Duplicate {
            table,
            key,
            priority,
        })
    }

    /// Puts an entry in; says whether its slot is a new one.
    ///
    /// # Errors
    /// As [`Table::check_insert`].
    pub(crate) fn put(
        &mut self,
        key: &PackedKey,
        action: &PackedAction,
        is_const: bool,
    ) -> Result<(Slot, bool), TableError> {
        // A tree finds out on the way whether it has such a prefix.
        match &self.index {
            Index::Lpm(_) if self.len() < self.most() => self.check_new(key, action, is_const)?,
            _ => self.check_insert(key, action, is_const)?,
        }
        let head = records::head(key.rank, is_const);
        let (slot, fresh) = self.records.add(head, &key.words, &action.row);
        if !self.index_insert(slot) {
            self.records.undo_add(slot, fresh);
            return self.there_already(key);
        }
        self.entries_changed();
        Ok((slot, fresh))
    }

    /// Words of a record.
    pub(crate) const fn stride(&self) -> usize {
        self.records.stride()
    }

    /// The whole record of a slot in use.
    pub(crate) fn record(&self, slot: Slot) -> &[u64] {
        self.records.record(slot)
    }

    /// The rank and the stored key of a record that begins here.
    pub(crate) fn rank_and_key<'r>(&self, record: &'r [u64]) -> (i32, &'r [u64]) {
        (
            records::rank(record[0]),
            &record[1..=self.layout.stored_words()],
        )
    }

    /// Puts a record in as another copy of this table did.
    pub(crate) fn put_record(&mut self, record: &[u64]) -> Slot {
        let (key, row) = record[1..].split_at(self.layout.stored_words());
        let (slot, _) = self.records.add(record[0], key, row);
        self.index_insert(slot);
        self.entries_changed();
        slot
    }

    /// Takes an entry out.
    pub(crate) fn take(&mut self, slot: Slot) {
        self.index_remove(slot);
        self.records.remove(slot);
        self.entries_changed();
    }

    /// Takes back the last [`Table::put`].
    pub(crate) fn undo_put(&mut self, slot: Slot, fresh: bool) {
        self.index_remove(slot);
        self.records.undo_add(slot, fresh);
        self.entries_changed();
    }

    /// Takes back the last [`Table::take`].
    pub(crate) fn undo_take(&mut self, slot: Slot, record: &[u64]) {
        self.records.undo_remove(slot, record);
        self.index_insert(slot);
        self.entries_changed();
    }

    /// Replaces the row of a slot in use; what is missing at its end is zero.
    pub(crate) fn set_row(&mut self, slot: Slot, row: &[u64]) {
        let place = self.records.row_mut(slot);
        let (given, rest) = place.split_at_mut(row.len());
        given.copy_from_slice(row);
        rest.fill(0);
        self.revision = Revision::new();
    }

    /// Replaces the side record of a slot and returns the old one.
    pub(crate) fn set_rare(
        &mut self,
        slot: Slot,
        side: Option<Box<RareOptions>>,
    ) -> Option<Box<RareOptions>> {
        let at = slot as usize;
        if at >= self.rare.len() {
            side.as_ref()?;
            self.rare.resize(at + 1, None);
        }
        self.revision = Revision::new();
        std::mem::replace(&mut self.rare[at], side)
    }

    /// The side record of a slot.
    pub(crate) fn rare_of(&self, slot: Slot) -> Option<Box<RareOptions>> {
        self.rare.get(slot as usize)?.clone()
    }

    /// Replaces the default row and returns the old one.
    pub(crate) fn replace_default(&mut self, row: Option<Vec<u64>>) -> Option<Vec<u64>> {
        self.revision = Revision::new();
        std::mem::replace(&mut self.default_row, row)
    }

    /// The row of a new default action; `None` brings back the program's own.
    pub(crate) fn check_default(
        &self,
        call: Option<&ActionCall>,
    ) -> Result<Option<Vec<u64>>, TableError> {
        if self.spec.const_default {
            return self.fail(|table| TableError::ConstDefault { table });
        }
        let Some(call) = call else {
            return Ok(self.program_default());
        };
        let mut row = Vec::new();
        self.pack_call(call, true, &mut row)?;
        Ok(Some(row))
    }

    /// Installs an entry. Const tables take only const entries, which come from the program.
    ///
    /// # Errors
    /// [`TableError`]: what does not fit, or is there already, or has no room.
    pub fn insert(&mut self, new: &NewEntry) -> Result<EntryHandle, TableError> {
        let mut key = std::mem::take(&mut self.key);
        let mut action = PackedAction::default();
        let packed = self
            .pack_key(&new.key, new.priority, &mut key)
            .and_then(|()| self.pack_action(&new.action, &mut action));
        let put = packed.and_then(|()| self.put(&key, &action, new.is_const));
        let result = put.map(|(slot, _)| {
            let side = self.make_rare(&new.options, &action);
            self.set_rare(slot, side);
            EntryHandle(slot)
        });
        self.key = key;
        result
    }

    /// Installs an entry that is packed already.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn insert_packed(
        &mut self,
        key: &PackedKey,
        action: &PackedAction,
    ) -> Result<EntryHandle, TableError> {
        let (slot, _) = self.put(key, action, false)?;
        let side = self.make_rare(&EntryOptions::default(), action);
        self.set_rare(slot, side);
        Ok(EntryHandle(slot))
    }

    /// Replaces the action of an entry and returns the old one. The rest stays.
    ///
    /// # Errors
    /// [`TableError`] if there is no such entry, it is const, or the action does not suit.
    pub fn modify(
        &mut self,
        handle: EntryHandle,
        action: &EntryAction,
    ) -> Result<EntryAction, TableError> {
        self.check_writable(handle)?;
        let mut packed = PackedAction::default();
        self.pack_action(action, &mut packed)?;
        let old = EntryView {
            table: self,
            slot: handle.0,
        }
        .action();
        let side = self.make_rare(&self.options_of(handle.0), &packed);
        self.set_row(handle.0, &packed.row);
        self.set_rare(handle.0, side);
        Ok(old)
    }

    /// Removes an entry and returns it.
    ///
    /// # Errors
    /// [`TableError`] if there is no such entry or it is const.
    pub fn remove(&mut self, handle: EntryHandle) -> Result<Entry, TableError> {
        self.check_writable(handle)?;
        let entry = EntryView {
            table: self,
            slot: handle.0,
        }
        .to_entry();
        self.set_rare(handle.0, None);
        self.take(handle.0);
        Ok(entry)
    }

    /// The entry with exactly this key and priority.
    ///
    /// # Errors
    /// [`TableError`] if the key does not fit or there is no such entry.
    pub fn find(
        &self,
        key: &[FieldMatch],
        priority: EntryPriority,
    ) -> Result<EntryHandle, TableError> {
        let mut packed = PackedKey::default();
        self.pack_key(key, priority, &mut packed)?;
        match self.find_packed(&packed) {
            Some(slot) => Ok(EntryHandle(slot)),
            None => self.no_entry(&packed),
        }
    }

    /// The slot of the entry with exactly this packed key.
    #[must_use]
    pub fn find_packed(&self, key: &PackedKey) -> Option<Slot> {
        if key.words.len() != self.layout.stored_words() {
            return None;
        }
        match &self.index {
            Index::Exact(index) => index.lookup(&self.records, &key.words),
            Index::Lpm(index) => index.find(&self.layout, &key.words, key.rank),
            Index::Tuples(index) => index.find(&self.layout, &self.records, &key.words, key.rank),
        }
    }

    pub(crate) fn no_entry<T>(&self, key: &PackedKey) -> Result<T, TableError> {
        let entry = show_key(&self.layout.unpack(&key.words, key.rank));
        self.fail(|table| TableError::NotFound { table, entry })
    }

    /// Whether there is such an entry and the control plane may change it.
    pub(crate) fn check_writable(&self, handle: EntryHandle) -> Result<(), TableError> {
        if !self.records.is_used(handle.0) {
            return self.fail(|table| TableError::NotFound {
                table,
                entry: handle.to_string(),
            });
        }
        if self.records.is_const(handle.0) {
            return self.fail(|table| TableError::ConstEntries { table });
        }
        Ok(())
    }

    /// The winning entry for key words (see [`KeyLayout::pack`]). Nothing is allocated for keys of
    /// up to 2,048 bits.
    #[must_use]
    pub fn lookup(&self, key: &[u64]) -> Option<Slot> {
        if key.len() != self.layout.words() {
            return None;
        }
        if self.layout.is_plain() {
            return self.lookup_dense(key);
        }
        match self.layout.dense_words() {
            0..=2 => self.lookup_on::<2>(key),
            3..=4 => self.lookup_on::<4>(key),
            5..=32 => self.lookup_on::<32>(key),
            words => {
                let mut dense = vec![0; words];
                self.layout.densify(key, &mut dense);
                self.lookup_dense(&dense)
            }
        }
    }

    fn lookup_on<const N: usize>(&self, key: &[u64]) -> Option<Slot> {
        let mut dense = [0; N];
        let dense = &mut dense[..self.layout.dense_words()];
        self.layout.densify(key, dense);
        self.lookup_dense(dense)
    }

    /// The entries, if they are compared one and all.
    pub(crate) const fn small(&self) -> &SmallTable {
        &self.small
    }

    /// The winning entry for dense words (see [`KeyLayout::densify`]).
    #[inline]
    pub(crate) fn lookup_dense(&self, key: &[u64]) -> Option<Slot> {
        match self.small.lookup(key) {
            Some(found) => found,
            None => self.lookup_index(key),
        }
    }

    fn lookup_index(&self, key: &[u64]) -> Option<Slot> {
        if self.records.len() == 0 || key.len() != self.layout.dense_words() {
            return None;
        }
        match &self.index {
            Index::Exact(index) => index.lookup(&self.records, key),
            Index::Lpm(index) => index.lookup(&self.layout, key),
            Index::Tuples(index) => index.lookup(&self.layout, &self.records, key),
        }
    }

    /// Whether a lookup takes no longer than remembering its answer would.
    #[inline]
    pub(crate) const fn is_quick(&self) -> bool {
        !matches!(self.small, SmallTable::Indexed) || matches!(self.index, Index::Exact(_))
    }

    /// What lookups find, and the actions that those entries name, depends on this and the key
    /// alone.
    #[inline]
    pub(crate) const fn revision(&self) -> Revision {
        self.revision
    }

    fn entries_changed(&mut self) {
        self.revision = Revision::new();
        self.small = SmallTable::new(&self.layout, &self.records);
    }

    /// Whether it was not there yet, where that is found out: otherwise it is known.
    fn index_insert(&mut self, slot: Slot) -> bool {
        let (layout, records) = (&self.layout, &self.records);
        match &mut self.index {
            Index::Exact(index) => index.insert(records, slot),
            Index::Lpm(index) => {
                return index.insert(layout, records.key(slot), records.rank(slot), slot);
            }
            Index::Tuples(index) => index.insert(layout, records, slot),
        }
        true
    }

    fn index_remove(&mut self, slot: Slot) {
        let (layout, records) = (&self.layout, &self.records);
        match &mut self.index {
            Index::Exact(index) => index.remove(records, slot),
            Index::Lpm(index) => index.remove(layout, records.key(slot), records.rank(slot)),
            Index::Tuples(index) => index.remove(layout, records, slot),
        }
    }
}

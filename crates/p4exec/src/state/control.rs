//! The control part of the state: everything the control plane decides and packets only read.
//!
//! It is changed by [`Transaction`]s only, so that two copies can be kept alike: a transaction on
//! one gives a [`Delta`], which is replayed on the other. A switch applies a batch to the copy
//! that no packet uses, swaps the copies between two packets, and replays the batch on the other.
//!
//! [`Transaction`]: super::Transaction
//! [`Delta`]: super::Delta

use std::sync::Arc;

use p4ir::{ActionId, Entity as _, ExternId, TableId, ValidProgram, ValueSetId};

use super::{Replication, StateError};
use crate::externs::counter::CounterKind;
use crate::externs::hash::{HashAlgorithm, Hashers};
use crate::externs::meter::MeterKind;
use crate::tables::action::{self, ActionWord};
use crate::tables::{
    ActionCall, ActionProfile, FieldMatch, GroupId, KeyField, KeyLayout, MemberId, PackedKey,
    RowKind, Table,
};
use crate::value::Bits;

/// An action profile or selector.
#[derive(Clone, Debug)]
pub struct ProfileState {
    /// Members and groups.
    pub profile: ActionProfile,
    /// How the selector hashes.
    pub algorithm: HashAlgorithm,
}

impl ProfileState {
    /// How many bits of a selector's hash count, whatever width the program asks for, as in BMv2.
    pub const HASH_BITS: u32 = 32;

    /// The bits of a selector's hash that count.
    #[must_use]
    pub const fn cut(hash: u64) -> u64 {
        hash & ((1 << Self::HASH_BITS) - 1)
    }
}

/// What the control part knows of an extern object.
#[derive(Clone, Debug)]
pub enum ExternConfig {
    /// A counter, meter or register of so many cells; they are in the data part.
    Array {
        /// Cells.
        size: usize,
    },
    /// `action_profile` or `action_selector`.
    Profile(Box<ProfileState>),
    /// `direct_counter`.
    DirectCounter(CounterKind),
    /// `direct_meter`.
    DirectMeter(MeterKind),
    /// Tofino's `DirectRegister`.
    DirectRegister,
    /// An object without state.
    Stateless,
}

/// What belongs to each table besides its entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Binding {
    pub(super) profile: Option<ExternId>,
    pub(super) counter: bool,
    pub(super) meter: bool,
    pub(super) register: bool,
    pub(super) idle_timeout: bool,
}

impl Binding {
    /// Whether the data part keeps something for each entry.
    pub(super) const fn has_cells(self) -> bool {
        self.counter || self.meter || self.register || self.idle_timeout
    }
}

/// A parser value set.
#[derive(Clone, Debug)]
pub struct ValueSetState {
    /// The control-plane name.
    pub name: String,
    layout: KeyLayout,
    size: usize,
    members: Vec<Vec<FieldMatch>>,
    packed: Vec<PackedKey>,
}

impl ValueSetState {
    pub(super) fn new(name: String, fields: Vec<KeyField>, size: usize) -> Self {
        Self {
            name,
            layout: KeyLayout::masked(fields),
            size,
            members: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// The members as they were set, made canonical.
    #[must_use]
    pub fn members(&self) -> &[Vec<FieldMatch>] {
        &self.members
    }

    /// The fields.
    #[must_use]
    pub const fn layout(&self) -> &KeyLayout {
        &self.layout
    }

    /// Whether some member matches the values.
    #[must_use]
    pub fn contains(&self, values: &[Bits]) -> bool {
        let mut words = Vec::new();
        self.layout.pack(values, &mut words);
        self.contains_words(&words)
    }

    /// The same for key words ([`KeyLayout::pack`]). Nothing is allocated for up to 512 bits.
    #[must_use]
    pub fn contains_words(&self, key: &[u64]) -> bool {
        let dense = self.layout.dense_words();
        let mut stack = [0; 8];
        let mut heap = Vec::new();
        let words = if dense <= stack.len() {
            &mut stack[..dense]
        } else {
            heap.resize(dense, 0);
            &mut heap[..]
        };
        self.layout.densify(key, words);
        let matches = |member: &PackedKey| self.layout.verify(member.words(), words);
        self.packed.iter().any(matches)
    }

    /// The members in canonical form, or what does not fit.
    pub(super) fn check(
        &self,
        members: &[Vec<FieldMatch>],
    ) -> Result<Vec<Vec<FieldMatch>>, StateError> {
        if members.len() > self.size {
            return Err(StateError::ValueSetFull {
                name: self.name.clone(),
                size: self.size,
                given: members.len(),
            });
        }
        let mut packed = PackedKey::default();
        let canonical = members.iter().map(|member| {
            self.layout.pack_match(member, 0, &mut packed)?;
            Ok(self.layout.unpack(packed.words(), 0))
        });
        canonical
            .collect::<Result<_, _>>()
            .map_err(|source| StateError::ValueSetKey {
                name: self.name.clone(),
                source,
            })
    }

    /// Puts members that [`ValueSetState::check`] gave.
    pub(super) fn put(&mut self, members: Vec<Vec<FieldMatch>>) {
        self.packed.clear();
        for member in &members {
            let mut packed = PackedKey::default();
            if self.layout.pack_match(member, 0, &mut packed).is_ok() {
                self.packed.push(packed);
            }
        }
        self.members = members;
    }
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct ControlState {
    pub(super) program: Arc<ValidProgram>,
    pub(super) tables: Vec<Table>,
    pub(super) bindings: Vec<Binding>,
    pub(super) externs: Vec<ExternConfig>,
    pub(super) value_sets: Vec<ValueSetState>,
    /// Multicast groups and clone sessions.
    pub replication: Replication,
    /// Hash algorithms; the custom CRCs can be set.
    pub hashers: Hashers,
}

/// The error for a handle that is not of this program.
pub(super) fn no_such(what: &'static str, id: impl ToString) -> StateError {
    StateError::NoSuch {
        what,
        id: id.to_string(),
    }
}

impl ControlState {
    /// Without tables, externs and value sets.
    pub(super) fn empty(program: Arc<ValidProgram>) -> Self {
        Self {
            program,
            tables: Vec::new(),
            bindings: Vec::new(),
            externs: Vec::new(),
            value_sets: Vec::new(),
            replication: Replication::default(),
            hashers: Hashers::default(),
        }
    }

    /// The program this is the state of.
    #[must_use]
    pub const fn program(&self) -> &Arc<ValidProgram> {
        &self.program
    }

    /// A table.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn table(&self, id: TableId) -> Result<&Table, StateError> {
        self.tables
            .get(id.index())
            .ok_or_else(|| no_such("table", id))
    }

    /// A table, for the packet path.
    #[inline]
    pub(crate) fn known_table(&self, id: TableId) -> Option<&Table> {
        self.tables.get(id.index())
    }

    /// All tables in program order.
    pub fn tables(&self) -> impl Iterator<Item = (TableId, &Table)> {
        let tables = self.tables.iter().enumerate();
        tables.map(|(i, t)| (TableId::new(i), t))
    }

    pub(super) fn table_at(&mut self, index: usize) -> &mut Table {
        &mut self.tables[index]
    }

    pub(super) fn binding(&self, id: TableId) -> Binding {
        self.bindings.get(id.index()).copied().unwrap_or_default()
    }

    /// What is known of an extern object.
    #[must_use]
    pub fn extern_config(&self, id: ExternId) -> Option<&ExternConfig> {
        self.externs.get(id.index())
    }

    /// An action profile with how its selector hashes.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn profile_state(&self, id: ExternId) -> Result<&ProfileState, StateError> {
        match self.extern_config(id) {
            Some(ExternConfig::Profile(profile)) => Ok(profile),
            _ => Err(no_such("action profile", id)),
        }
    }

    /// An action profile.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn profile(&self, id: ExternId) -> Result<&ActionProfile, StateError> {
        self.profile_state(id).map(|state| &state.profile)
    }

    pub(super) fn profile_mut(&mut self, id: ExternId) -> Option<&mut ActionProfile> {
        match self.externs.get_mut(id.index()) {
            Some(ExternConfig::Profile(state)) => Some(&mut state.profile),
            _ => None,
        }
    }

    /// A value set.
    ///
    /// # Errors
    /// [`StateError::NoSuch`].
    pub fn value_set(&self, id: ValueSetId) -> Result<&ValueSetState, StateError> {
        self.value_sets
            .get(id.index())
            .ok_or_else(|| no_such("value set", id))
    }

    /// The table of a control-plane name.
    #[must_use]
    pub fn table_named(&self, name: &str) -> Option<TableId> {
        self.program.table_by_name(name)
    }

    /// The action of a control-plane name.
    #[must_use]
    pub fn action_named(&self, name: &str) -> Option<ActionId> {
        self.program.action_by_name(name)
    }

    /// The extern object of a control-plane name.
    #[must_use]
    pub fn extern_named(&self, name: &str) -> Option<ExternId> {
        self.program.extern_by_name(name)
    }

    /// Bytes of memory that entries and their indices take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(Table::bytes).sum()
    }

    /// Whether what a row of a table refers to exists.
    pub(super) fn check_reference(&self, table: TableId, row: &[u64]) -> Result<(), StateError> {
        let Some(profile) = self.binding(table).profile else {
            return Ok(());
        };
        let word = ActionWord(row.first().copied().unwrap_or(0));
        match word.kind() {
            RowKind::Member => {
                self.profile(profile)?.member(MemberId(word.id()))?;
            }
            RowKind::Group => {
                self.profile(profile)?.group(GroupId(word.id()))?;
            }
            RowKind::Call | RowKind::OneShot => {}
        }
        Ok(())
    }

    /// Counts what a row of a table refers to, or one less.
    pub(super) fn count_reference(&mut self, table: usize, word: u64, more: bool) {
        let Some(id) = self.bindings[table].profile else {
            return;
        };
        let Some(profile) = self.profile_mut(id) else {
            return;
        };
        let word = ActionWord(word);
        match word.kind() {
            RowKind::Member => profile.count_member(MemberId(word.id()), more),
            RowKind::Group => profile.count_group(GroupId(word.id()), more),
            RowKind::Call | RowKind::OneShot => {}
        }
    }

    /// A member's action must suit every table that uses the profile. Its row is that of the
    /// first of them.
    pub(super) fn pack_member(
        &self,
        profile: ExternId,
        call: &ActionCall,
    ) -> Result<(ActionCall, Vec<u64>), StateError> {
        let mut call = call.clone();
        let mut first: Option<Vec<u64>> = None;
        for (binding, table) in self.bindings.iter().zip(&self.tables) {
            if binding.profile == Some(profile) {
                let mut row = Vec::new();
                table.pack_call(&call, false, &mut row)?;
                call = table.unpack_row(&row);
                first.get_or_insert(row);
            }
        }
        let row = first.unwrap_or_else(|| {
            let mut row = vec![ActionWord::call(0, call.action).0];
            call.args
                .iter()
                .for_each(|arg| action::push_arg(arg, &mut row));
            row
        });
        Ok((call, row))
    }
}

//! Match-action tables: typed keys and entries, packed records, and match structures that scale.
//!
//! | keys of the table | structure | winner |
//! |---|---|---|
//! | all exact | open addressing ([`exact`]) | the only match |
//! | one LPM, the rest exact | one tree bitmap per exact part ([`lpm`]) | longest prefix |
//! | anything else | tuple-space search, tuples merged ([`tuple_space`]) | largest priority, then lowest slot |
//!
//! A table of a few short keys is not asked through its structure at all ([`small_table`]).
//!
//! Entries lie side by side as packed words ([`records`]), keys and actions alike; the typed forms
//! ([`Entry`], [`FieldMatch`], [`EntryAction`]) are made when somebody asks. How keys are packed
//! is told in [`layout`], how actions are in [`action`].

pub mod action;
mod arena;
pub mod entry;
mod exact;
mod hash;
pub mod key;
pub mod layout;
mod lpm;
mod merge;
mod packing;
pub mod profile;
mod records;
pub(crate) mod revision;
mod slot_map;
pub(crate) mod small_table;
pub mod table;
mod tuple;
mod tuple_space;

pub use action::{ActionWord, PackedAction, PackedCall, RowKind};
pub use entry::{
    ActionCall, ActionSpec, Entry, EntryAction, EntryHandle, EntryOptions, EntryPriority, GroupId,
    MemberId, NewEntry, TableError, TableSpec, WeightedCall,
};
pub use key::{FieldMatch, KeyField, MatchKind};
pub use layout::{KeyForm, KeyLayout, PackedKey};
pub use profile::{ActionProfile, GroupMember};
pub use table::{EntryView, Table, approach};

use crate::prefetch;

/// The place of an entry in its table. Slots of deleted entries are used again.
pub type Slot = u32;

/// Entries that are worth going to at once ([`approach`]): more than the processor fetches from
/// memory at a time.
pub const TOGETHER: usize = 16;

/// Bytes that are fetched to the cache together.
pub(crate) const CACHE_LINE: usize = 64;

/// Asks for an item to be fetched to the cache, if there is one.
#[inline]
pub(crate) fn prefetch_item<T>(items: &[T], at: usize) {
    if let Some(item) = items.get(at) {
        prefetch(item);
    }
}

/// Hash maps over packed words. The seed is fixed: nothing here may differ from run to run.
pub(crate) type WordMap<V> = std::collections::HashMap<Box<[u64]>, V, foldhash::fast::FixedState>;

//! Match-action tables: typed keys and entries, and match structures that scale.
//!
//! | keys of the table | structure | winner |
//! |---|---|---|
//! | all exact | hash map ([`exact`]) | the only match |
//! | one LPM, the rest exact | one path-compressed trie per exact part ([`lpm`]) | longest prefix |
//! | anything else | tuple-space search ([`tuple_space`]) | largest priority, then lowest handle |
//!
//! Key values travel as packed words: every field takes `ceil(width / 64)` words, in key order,
//! most significant word first ([`key::KeyLayout::pack`]).

pub mod entry;
pub mod exact;
pub mod key;
pub mod lpm;
pub mod profile;
pub mod table;
pub mod tuple_space;

pub use entry::{
    ActionCall, ActionSpec, Entry, EntryAction, EntryHandle, EntryPriority, NewEntry, TableError,
    TableSpec, WeightedCall,
};
pub use key::{FieldMatch, KeyField, KeyLayout, MatchKind};
pub use profile::{ActionProfile, GroupId, GroupMember, MemberId, Selector};
pub use table::Table;

/// The place of an entry in its table, as the match structures know it.
pub(crate) type Slot = u32;

/// Hash maps over packed keys. The seed is fixed: nothing here may differ from run to run.
pub(crate) type WordMap<V> = std::collections::HashMap<Box<[u64]>, V, foldhash::fast::FixedState>;

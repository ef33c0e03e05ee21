//! Going to several entries at once before they are changed. A large table is not in the
//! processor's caches, and the way to an entry reads memory a few times, one time after the other:
//! what each step will read is asked for in the step before, for all entries together, so that
//! memory is waited for once and not by each.

use super::{Index, Table};
use crate::tables::TOGETHER;
use crate::tables::exact::ExactIndex;
use crate::tables::lpm::{Descent, LpmIndex};
use crate::tables::records::Records;

/// Where an entry is looked for.
enum Step<'a> {
    /// The hash of its key.
    Hash(&'a ExactIndex, &'a Records, u32),
    /// A step down a tree.
    Tree(&'a LpmIndex, Descent),
}

impl<'a> Step<'a> {
    fn first(table: &'a Table, key: &[u64], rank: i32) -> Option<Self> {
        if key.len() != table.layout.stored_words() {
            return None;
        }
        match &table.index {
            Index::Exact(index) => Some(Self::Hash(index, &table.records, index.begin(key))),
            Index::Lpm(index) => {
                let descent = index.descent(&table.layout, key, rank)?;
                Some(Self::Tree(index, descent))
            }
            Index::Tuples(_) => None,
        }
    }

    /// Takes the step; the next one, if there is one.
    fn next(self) -> Option<Self> {
        match self {
            Self::Hash(index, records, hash) => {
                index.go_on(records, hash);
                None
            }
            Self::Tree(index, descent) => {
                let descent = index.descend(descent)?;
                Some(Self::Tree(index, descent))
            }
        }
    }
}

/// Asks for the memory that inserting or deleting entries with these keys (stored words and rank)
/// will read; no more than [`TOGETHER`] of them.
pub fn approach<'a>(entries: impl Iterator<Item = (&'a Table, &'a [u64], i32)>) {
    let mut steps = [const { None }; TOGETHER];
    for (step, (table, key, rank)) in steps.iter_mut().zip(entries) {
        *step = Step::first(table, key, rank);
    }
    while steps.iter().any(Option::is_some) {
        for step in &mut steps {
            *step = step.take().and_then(Step::next);
        }
    }
}

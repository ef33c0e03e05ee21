//! Table compression (003 section 4.5.2): rules with the same output and action become one where masking off
//! the bits in which they differ takes nothing from other rules.
//!
//! Groups of rules with one action are taken by falling size, and later groups get higher priority. So a merged
//! rule must keep clear of the original rules of the groups *before* it only: those after it are matched first.

use thiserror::Error;

use super::index::{Key, KeyLayout, Overlaps};
use crate::plan::failover::SwitchTable;

/// How many merges are tried for a rule, those that lose the fewest bits first.
const TRIES: usize = 24;
/// How many merged rules are looked at for each rule, the latest first.
const LOOKED_AT: usize = 4096;

/// A compressed table.
#[derive(Clone, Debug)]
pub struct Compressed {
    /// The table.
    pub table: SwitchTable,
    /// Rules before.
    pub before: usize,
}

/// Why a compressed table is not the original one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompressError {
    /// A rule is taken over by one that does something else.
    #[error(
        "rule {original} of the table is overruled by compressed rule {compressed}, which acts otherwise; this is a bug of Switchwright"
    )]
    Overruled {
        /// Place of the original rule.
        original: usize,
        /// Place of the compressed rule.
        compressed: usize,
    },
    /// A rule is not covered.
    #[error(
        "no compressed rule covers rule {original} of the table; this is a bug of Switchwright"
    )]
    Uncovered {
        /// Place of the original rule.
        original: usize,
    },
}

/// A rule under construction.
struct Merged {
    key: Key,
    /// Place of the first rule that went into it.
    first: usize,
    /// Hops of the longest reverse route that went into it.
    longest: usize,
}

/// Compresses a table whose rules do not overlap unless they do the same.
///
/// # Errors
/// None today; an invariant that fails would be reported as [`CompressError`].
pub fn compress(table: &SwitchTable) -> Result<Compressed, CompressError> {
    let layout = KeyLayout::of(table);
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); table.actions().len()];
    for (at, action) in table.action_numbers().enumerate() {
        groups[action as usize].push(at);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let order: Vec<usize> = groups.iter().flatten().copied().collect();
    let rules: Vec<_> = table.iter().collect();
    let keys: Vec<Key> = order.iter().map(|&at| layout.key(&rules[at])).collect();
    let overlaps = Overlaps::new(&layout, &keys);
    let mut start = 0;
    let mut merged: Vec<Vec<Merged>> = Vec::with_capacity(groups.len());
    for group in &groups {
        let mut working: Vec<Merged> = Vec::new();
        for (offset, &at) in group.iter().enumerate() {
            let key = &keys[start + offset];
            let longest = rules[at].reverse.hops.len();
            match place(&working, key, &overlaps, start) {
                Some((into, key)) => {
                    working[into].key = key;
                    working[into].longest = working[into].longest.max(longest);
                }
                None => working.push(Merged {
                    key: key.clone(),
                    first: at,
                    longest,
                }),
            }
        }
        start += group.len();
        merged.push(working);
    }
    let mut compressed = SwitchTable::default();
    for rule in merged.iter().rev().flatten() {
        compressed.push(layout.rule(&rule.key, rule.longest, &rules[rule.first]));
    }
    compressed.shrink();
    Ok(Compressed {
        table: compressed,
        before: table.len(),
    })
}

/// Which of the merged rules takes a rule in, and its key then.
fn place(
    working: &[Merged],
    key: &Key,
    overlaps: &Overlaps,
    others: usize,
) -> Option<(usize, Key)> {
    let oldest = working.len().saturating_sub(LOOKED_AT);
    let mut near: Vec<(u32, usize)> = Vec::with_capacity(working.len() - oldest);
    for (at, candidate) in working.iter().enumerate().skip(oldest) {
        let loss = candidate.key.loss(key);
        if loss == 0 && candidate.key.covers(key) {
            return Some((at, candidate.key.clone()));
        }
        near.push((loss, at));
    }
    if near.len() > TRIES {
        near.select_nth_unstable(TRIES);
        near.truncate(TRIES);
    }
    near.sort_unstable();
    near.into_iter().find_map(|(_, at)| {
        let merged = working[at].key.merged(key);
        let free = overlaps.first(&merged, 0, others).is_none();
        free.then_some((at, merged))
    })
}

/// Proves that a compressed table does what the original does, for every key that the original matches: each
/// original rule is covered by compressed rules of its action before any rule of another action overlaps it.
///
/// # Errors
/// [`CompressError`] names an original rule of which this is not so.
pub fn equivalent(original: &SwitchTable, compressed: &SwitchTable) -> Result<(), CompressError> {
    let layout = KeyLayout::of(original);
    let rules: Vec<_> = compressed.iter().collect();
    let keys: Vec<Key> = rules.iter().map(|rule| layout.key(rule)).collect();
    let overlaps = Overlaps::new(&layout, &keys);
    for (at, rule) in original.iter().enumerate() {
        let key = layout.key(&rule);
        let mut from = 0;
        loop {
            let Some(found) = overlaps.first(&key, from, keys.len()) else {
                return Err(CompressError::Uncovered { original: at });
            };
            if rules[found].action != rule.action {
                return Err(CompressError::Overruled {
                    original: at,
                    compressed: found,
                });
            }
            if keys[found].covers(&key) {
                break;
            }
            from = found + 1;
        }
    }
    Ok(())
}

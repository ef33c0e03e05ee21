//! Table compression (Stephens15 section 4.5.2): rules with the same output and action become one
//! where masking off the bits in which they differ takes nothing from other rules.
//!
//! Groups of rules with one action are taken by falling size, and later groups get higher priority.
//! So a merged rule must keep clear of the original rules of the groups *before* it only: those
//! after it are matched first.

use plan::failover::{Action, Origin, PortMatch, ReverseMatch, RuleRef, SwitchTable, Ternary};
use thiserror::Error;

use super::index::{Key, KeyLayout, MAX_WORDS, Overlaps};

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
    /// A rule matches packets that are not its table's.
    #[error(
        "compressed rule {compressed} matches packets to code {code}, which another scheme plans; this is a bug of Switchwright"
    )]
    Foreign {
        /// Place of the compressed rule.
        compressed: usize,
        /// The code.
        code: u32,
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

/// The rules under construction for one action.
struct Working<const W: usize> {
    rules: Vec<Merged<W>>,
    /// Their places, those that took a rule in latest first.
    recent: Vec<u32>,
}

/// Merged rules, by what they would lose: room to work in.
type Near = Vec<(u32, usize)>;

/// A rule under construction.
struct Merged<const W: usize> {
    key: Key<W>,
    /// Place of the first rule that went into it.
    first: usize,
    /// Hops of the longest reverse route that went into it.
    longest: usize,
}

/// Calls a function with the words of a layout as a constant.
macro_rules! with_words {
    ($layout:expr, $function:ident($($argument:expr),*)) => {
        match $layout.words() {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            4 => $function::<4>($($argument),*),
            5 => $function::<5>($($argument),*),
            6 => $function::<6>($($argument),*),
            _ => $function::<MAX_WORDS>($($argument),*),
        }
    };
}

/// Compresses a table whose rules do not overlap unless they do the same.
///
/// # Errors
/// None today; an invariant that fails would be reported as [`CompressError`].
pub fn compress(table: &SwitchTable) -> Result<Compressed, CompressError> {
    compress_beside(table, &[])
}

/// The same, such that no rule matches packets of foreign codes, which no rule of the table is for.
///
/// # Errors
/// As [`compress`].
pub fn compress_beside(table: &SwitchTable, foreign: &[u32]) -> Result<Compressed, CompressError> {
    let layout = KeyLayout::with_codes(table, foreign);
    Ok(with_words!(layout, compress_words(table, &layout, foreign)))
}

/// Proves that no rule of a table matches packets of these codes.
///
/// # Errors
/// [`CompressError::Foreign`] names a rule that does.
pub fn keeps_clear(table: &SwitchTable, foreign: &[u32]) -> Result<(), CompressError> {
    for (compressed, rule) in table.iter().enumerate() {
        let mut matched = foreign
            .iter()
            .filter(|&&code| rule.destination.matches(code));
        if let Some(&code) = matched.next() {
            return Err(CompressError::Foreign { compressed, code });
        }
    }
    Ok(())
}

fn compress_words<const W: usize>(
    table: &SwitchTable,
    layout: &KeyLayout,
    foreign: &[u32],
) -> Compressed {
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); table.actions().len()];
    for (at, action) in table.action_numbers().enumerate() {
        groups[action as usize].push(at);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let rules: Vec<_> = table.iter().collect();
    // Whatever is for a foreign code stands before all groups, so that every merged rule keeps
    // clear of it.
    let drop = Action::Drop;
    let any = ReverseMatch::default();
    let foreign_key = |&code: &u32| {
        layout.key(&RuleRef {
            destination: Ternary::exact(code),
            tag: Ternary::ANY,
            tree: None,
            origin: Origin::Any,
            reverse: &any,
            ports: PortMatch::default(),
            action: &drop,
        })
    };
    let order = groups.iter().flatten();
    let own = order.map(|&at| layout.key(&rules[at]));
    let keys: Vec<Key<W>> = foreign.iter().map(foreign_key).chain(own).collect();
    let overlaps = Overlaps::new(&keys);
    let mut near = Near::new();
    let mut start = foreign.len();
    let mut merged: Vec<Working<W>> = Vec::with_capacity(groups.len());
    for group in &groups {
        let mut working = Working {
            rules: Vec::new(),
            recent: Vec::new(),
        };
        for (offset, &at) in group.iter().enumerate() {
            let longest = rules[at].reverse.hops.len();
            let rule = (keys[start + offset], at, longest);
            working.take(rule, &overlaps, start, &mut near);
        }
        start += group.len();
        merged.push(working);
    }
    let mut compressed = SwitchTable::default();
    for rule in merged.iter().rev().flat_map(|working| &working.rules) {
        compressed.push(layout.rule(&rule.key, rule.longest, &rules[rule.first]));
    }
    compressed.shrink();
    Compressed {
        table: compressed,
        before: table.len(),
    }
}

impl<const W: usize> Working<W> {
    /// Takes a rule in: into a merged rule that matches it already, or that can be widened to, or
    /// as it is. The first `others` of the overlaps are the rules of other actions that must not be
    /// matched.
    fn take(
        &mut self,
        (key, first, longest): (Key<W>, usize, usize),
        overlaps: &Overlaps,
        others: usize,
        near: &mut Near,
    ) {
        let covers = |&at: &u32| self.rules[at as usize].key.covers(&key);
        let covering = self.recent.iter().position(covers);
        let place = covering.or_else(|| {
            let (at, widened) = self.widen(&key, overlaps, others, near)?;
            self.rules[at].key = widened;
            self.recent.iter().position(|&recent| recent as usize == at)
        });
        let Some(place) = place else {
            self.recent
                .insert(0, u32::try_from(self.rules.len()).unwrap_or(u32::MAX));
            self.rules.push(Merged {
                key,
                first,
                longest,
            });
            return;
        };
        self.recent[..=place].rotate_right(1);
        let rule = &mut self.rules[self.recent[0] as usize];
        rule.longest = rule.longest.max(longest);
    }

    /// The merged rule that can be widened to match a key with the least loss, and its key then.
    fn widen(
        &self,
        key: &Key<W>,
        overlaps: &Overlaps,
        others: usize,
        near: &mut Near,
    ) -> Option<(usize, Key<W>)> {
        let oldest = self.rules.len().saturating_sub(LOOKED_AT);
        let candidates = self.rules.iter().enumerate().skip(oldest);
        near.clear();
        near.extend(candidates.map(|(at, candidate)| (candidate.key.loss(key), at)));
        if near.len() > TRIES {
            near.select_nth_unstable(TRIES);
            near.truncate(TRIES);
        }
        near.sort_unstable();
        near.iter().find_map(|&(_, at)| {
            let merged = self.rules[at].key.merged(key);
            let free = overlaps.first(&merged, 0, others).is_none();
            free.then_some((at, merged))
        })
    }
}

/// Proves that a compressed table does what the original does, for every key that the original
/// matches: each original rule is covered by compressed rules of its action before any rule of
/// another action overlaps it.
///
/// # Errors
/// [`CompressError`] names an original rule of which this is not so.
pub fn equivalent(original: &SwitchTable, compressed: &SwitchTable) -> Result<(), CompressError> {
    let layout = KeyLayout::of(original);
    with_words!(layout, equivalent_words(original, compressed, &layout))
}

fn equivalent_words<const W: usize>(
    original: &SwitchTable,
    compressed: &SwitchTable,
    layout: &KeyLayout,
) -> Result<(), CompressError> {
    let rules: Vec<_> = compressed.iter().collect();
    let keys: Vec<Key<W>> = rules.iter().map(|rule| layout.key(rule)).collect();
    let overlaps = Overlaps::new(&keys);
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

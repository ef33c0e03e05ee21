//! Initial entries of tables and their priorities.

use std::collections::HashMap;

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};
use p4ir::{ActionScope, Entry, Key, KeyKind, KeySet, MatchKind};

use super::Lowerer;
use super::table::{ActionList, not_listed};
use crate::annotations;
use crate::ast;
use crate::diag::Diagnostic;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    pub(super) fn entries(
        &mut self,
        t: &'a ast::Table,
        keys: &[Key],
        tys: &[Ty],
        list: &ActionList<'a>,
    ) -> (Vec<Entry>, bool) {
        let Some(property) = t.property("entries") else {
            return (Vec::new(), false);
        };
        let mut out = Vec::new();
        let mut priorities = Vec::new();
        if keys.len() != t.key().len() {
            return (out, property.is_const);
        }
        if keys.is_empty() && !t.entries().is_empty() {
            self.error(
                "table",
                property.at.span,
                "a table without a key cannot have entries",
            );
            return (out, property.is_const);
        }
        for entry in t.entries() {
            self.annotation_values(&entry.annotations);
            let priority = entry
                .priority
                .as_ref()
                .and_then(|p| self.const_int(p))
                .and_then(|p| p.to_i64());
            let Some(sets) = self.key_sets(&entry.keyset, tys) else {
                continue;
            };
            let Some(info) = self.action_named(&entry.action.path) else {
                continue;
            };
            let Some(index) = list.infos.iter().position(|i| i.id == info.id) else {
                let (path, span) = (&entry.action.path, entry.action.at.span);
                self.report(not_listed(path, span, list));
                continue;
            };
            if list.listed[index].scope == ActionScope::DefaultOnly {
                let text = format!(
                    "`{}` is @defaultonly and cannot stand in an entry",
                    entry.action.path.name
                );
                self.error("table", entry.action.at.span, text);
            }
            self.check_possible(keys, tys, &sets, &entry.keyset);
            let args = entry.action.args.as_deref().unwrap_or(&[]);
            self.check_bound(list, index, args);
            let Some(args) = self.action_data(&info, args, entry.action.at.span) else {
                continue;
            };
            priorities.push(priority);
            out.push(Entry {
                keys: sets,
                action: index as u32,
                args,
                priority: 0,
                is_const: property.is_const || entry.is_const,
                annotations: self.annotations(&entry.annotations),
                span: self.span(entry.at.span),
            });
        }
        self.check_duplicates(t, keys, &out);
        if keys.iter().any(|k| k.kind.needs_priority()) {
            self.prioritise(t, &mut out, &priorities);
        } else if priorities.iter().any(Option::is_some) {
            self.error(
                "table",
                property.at.span,
                "entries of this table have no priorities: its key does not need them",
            );
        }
        (out, property.is_const)
    }

    /// Whether each set is one that its key's kind of match can hold.
    fn check_possible(
        &mut self,
        keys: &[Key],
        tys: &[Ty],
        sets: &[KeySet],
        keyset: &'a ast::Keyset,
    ) {
        if !self.v1model() {
            return;
        }
        for (i, (key, set)) in keys.iter().zip(sets).enumerate() {
            let ok = match (&key.kind, set) {
                (KeyKind::Match(MatchKind::Exact), KeySet::Value(_)) => Ok(()),
                (KeyKind::Match(MatchKind::Exact), _) => Err("one value"),
                (KeyKind::Match(MatchKind::Optional), KeySet::Value(_) | KeySet::Any) => Ok(()),
                (KeyKind::Match(MatchKind::Optional), _) => Err("one value or `_`"),
                (KeyKind::Match(MatchKind::Lpm), KeySet::Mask { mask, .. }) => {
                    let width = tys.get(i).and_then(|t| t.size_bits(true)).unwrap_or(0);
                    let prefix = is_prefix(mask, width);
                    prefix
                        .then_some(())
                        .ok_or("a prefix: a mask of ones followed by zeros")
                }
                (KeyKind::Match(MatchKind::Lpm), KeySet::Range { .. }) => {
                    Err("a prefix, not a range")
                }
                (KeyKind::Match(MatchKind::Ternary), KeySet::Range { .. }) => {
                    Err("a value and mask, not a range")
                }
                (KeyKind::Match(MatchKind::Range), KeySet::Mask { .. }) => {
                    Err("a range, not a mask")
                }
                _ => Ok(()),
            };
            if let Err(what) = ok {
                let element = keyset.elements.get(i).map_or(keyset.at.span, |e| e.at.span);
                let text = format!(
                    "key `{}` is matched as `{}` and takes {what}",
                    key.name,
                    key.kind.name()
                );
                self.error("table", element, text);
            }
        }
    }

    /// Two entries that match the same, where the first cannot hide the second by its priority.
    fn check_duplicates(&mut self, t: &'a ast::Table, keys: &[Key], entries: &[Entry]) {
        let ordered = keys.iter().any(|k| k.kind.needs_priority());
        let mut seen: HashMap<&[KeySet], usize> = HashMap::new();
        for (i, entry) in entries.iter().enumerate() {
            let Some(first) = seen.insert(&entry.keys, i) else {
                continue;
            };
            let at = |i: usize| t.entries().get(i).map_or(t.name.span, |e| e.keyset.at.span);
            if ordered {
                self.report(
                    Diagnostic::warning(
                        "table",
                        at(i),
                        "this entry is never reached: an earlier one has the same key",
                    )
                    .with_related(at(first), "the earlier one"),
                );
            } else {
                self.report(
                    Diagnostic::error("table", at(i), "two entries have the same key")
                        .with_related(at(first), "the first one"),
                );
            }
        }
    }

    /// Gives entries the priorities they have by the language (explicit, or by position), turned so
    /// that the larger number wins.
    fn prioritise(&mut self, t: &'a ast::Table, entries: &mut [Entry], explicit: &[Option<i64>]) {
        let Some(property) = t.property("entries") else {
            return;
        };
        let some = explicit.iter().any(Option::is_some);
        if property.is_const {
            if some {
                self.error(
                    "table",
                    property.at.span,
                    "`const entries` cannot have priorities",
                );
            }
            self.prioritise_constant(t, entries);
            return;
        }
        if some && explicit.first().is_some_and(Option::is_none) {
            self.error(
                "table",
                property.at.span,
                "if entries have priorities, the first one must have one",
            );
        }
        let largest_wins = self
            .bool_property(t, "largest_priority_wins")
            .unwrap_or(true);
        let delta = self.int_property(t, "priority_delta").unwrap_or(1).max(1);
        let count = entries.len() as i64;
        let mut values: Vec<i64> = Vec::new();
        for given in explicit {
            let value = match (given, values.last()) {
                (Some(p), _) => *p,
                (None, None) if largest_wins => (count - 1).saturating_mul(delta).saturating_add(1),
                (None, None) => 1,
                (None, Some(last)) if largest_wins => last.saturating_sub(delta),
                (None, Some(last)) => last.saturating_add(delta),
            };
            if !(0..=i64::from(i32::MAX)).contains(&value) {
                let text = format!("the priority of an entry would be {value}");
                self.report(Diagnostic::error("table", t.name.span, text).with_help(
                    "give the first entry a larger priority, or a smaller `priority_delta`",
                ));
                return;
            }
            values.push(value);
        }
        set_priorities(entries, &values, largest_wins);
    }

    /// Constant entries: the first wins; or, as BMv2 has it, the smallest `@priority`, which is the
    /// position where none is given.
    fn prioritise_constant(&mut self, t: &'a ast::Table, entries: &mut [Entry]) {
        let annotated = |e: &ast::Entry| {
            let a = annotations::find(&e.annotations, "priority")?;
            annotations::integer(a).ok()?.to_i64()
        };
        let given: Vec<Option<i64>> = t.entries().iter().map(annotated).collect();
        let values: Vec<i64> = given
            .iter()
            .enumerate()
            .map(|(i, p)| p.unwrap_or(i as i64 + 1))
            .collect();
        set_priorities(entries, &values, false);
    }
}

/// Stores priorities so that the larger number wins, keeping the numbers of the source where that
/// is so already.
fn set_priorities(entries: &mut [Entry], values: &[i64], largest_wins: bool) {
    let top = values.iter().copied().max().unwrap_or(0);
    let lowest = values.iter().copied().min().unwrap_or(1);
    for (entry, value) in entries.iter_mut().zip(values) {
        let turned = match (largest_wins, lowest >= 1) {
            (true, true) => *value,
            (true, false) => value.saturating_sub(lowest).saturating_add(1),
            (false, _) => top.saturating_sub(*value).saturating_add(1),
        };
        entry.priority = turned.clamp(1, i64::from(u32::MAX)) as u32;
    }
}

/// Ones followed by zeros.
fn is_prefix(mask: &BigUint, width: u64) -> bool {
    let zeros = mask.trailing_zeros().unwrap_or(width);
    let filled = mask + (BigUint::one() << zeros);
    mask.bits() == 0 || filled == BigUint::one() << width
}

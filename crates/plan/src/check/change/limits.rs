//! What switches have room for while they hold the rules of several plans.

use std::collections::BTreeSet;

use quantities::{Bytes, Priority};
use topology::SwitchId;

use super::error::ChangeError;
use super::model::PlanIndex;
use super::union::Union;
use crate::budget::switch_headroom;
use crate::model::Tables;

/// The lossless priorities that a switch needs if it holds rules of these plans.
pub(super) fn priorities(
    union: &Union<'_>,
    switch: usize,
    plans: &BTreeSet<PlanIndex>,
) -> BTreeSet<Priority> {
    let tables = holders(union, switch, plans).map(|(tables, _)| tables);
    tables
        .flat_map(|tables| tables.tagging.priorities.values().copied())
        .collect()
}

/// Those of the plans that have the switch, and what it is in them.
fn holders<'a>(
    union: &'a Union<'_>,
    switch: usize,
    plans: &'a BTreeSet<PlanIndex>,
) -> impl Iterator<Item = (&'a Tables, SwitchId)> {
    let ids = &union.switches[switch].ids;
    let plans = plans
        .iter()
        .filter_map(move |&plan| Some((plan, ids[plan]?)));
    plans.map(|(plan, id)| (union.members[plan].tables, id))
}

/// What is too much for a switch in a step, in which it holds rules of these plans.
pub(super) fn too_much(
    union: &Union<'_>,
    step: usize,
    switch: usize,
    plans: &BTreeSet<PlanIndex>,
) -> Option<ChangeError> {
    let name = || union.switches[switch].name.to_owned();
    let holders = || holders(union, switch, plans);
    let priorities = priorities(union, switch, plans);
    let available = holders()
        .map(|(tables, _)| tables.budget.lossless_priorities)
        .min()?;
    if priorities.len() > usize::from(available) {
        return Some(ChangeError::Priorities {
            step,
            switch: name(),
            needed: priorities.len(),
            available,
        });
    }
    let count = priorities.len() as u64;
    for (tables, id) in holders() {
        let headroom = switch_headroom(&tables.topology, id, &tables.budget);
        if headroom.affordable < count {
            let buffer = tables.topology.switch(id).buffer;
            return Some(ChangeError::Buffer {
                step,
                switch: name(),
                priorities: priorities.len(),
                needed: Bytes::new(headroom.per_priority.get().saturating_mul(count)),
                available: buffer.unwrap_or(tables.budget.buffer),
            });
        }
    }
    let counts = holders().map(|(tables, id)| tables.counts(id));
    let (rules, needed) = counts.fold((0, 0), |(rules, bits), counts| {
        (rules + counts.rules, bits + counts.tcam_bits)
    });
    let available = holders()
        .filter_map(|(tables, _)| tables.budget.tcam_bits)
        .min()?;
    (needed > available).then(|| ChangeError::Tcam {
        step,
        switch: name(),
        rules,
        needed,
        available,
    })
}

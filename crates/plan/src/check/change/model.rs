//! A change: plans, and the steps that lead from the first to the last.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Tables;

/// A plan of a change, by its place in [`Change::plans`].
pub type PlanIndex = usize;

/// A change from the first of its plans to the last, in steps.
///
/// Before the first step every switch has the tag rules of the first plan alone, and hosts send
/// with its initial tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The plans: the old one first, the new one last, and those that are only passed through.
    pub plans: Vec<Tables>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A step: what is written on switches, and with which initial tags hosts send from then on. All of
/// it may happen in any order. The next step begins when all of it has been done.
///
/// On one switch new rules are inserted, then forwarding changes, then old rules are deleted. Rules
/// of higher precedence are inserted first and deleted last. So a packet meets what the rules
/// before the step give it, or what those after it do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// By the name of a switch: the plans whose tag rules it has after the step. Switches that are
    /// not named keep what they have.
    pub rules: BTreeMap<String, BTreeSet<PlanIndex>>,
    /// The plan with whose initial tags hosts send after the step, if that changes.
    pub hosts: Option<PlanIndex>,
    /// The plan whose forwarding entries all switches have after the step, if that changes.
    pub forwarding: Option<PlanIndex>,
    /// Whether lossless classes may be lossy from this step to the next.
    pub lossy: bool,
    /// Whether the step ends with a drain: the next begins when all packets have left the network
    /// that were sent before all of this step had been done.
    pub drain: bool,
}

impl Change {
    /// The names of all switches of all plans, in order.
    pub(super) fn switch_names(&self) -> BTreeSet<&str> {
        let switches = self
            .plans
            .iter()
            .flat_map(|plan| plan.topology.switches())
            .map(|switch| switch.name.as_str());
        switches.collect()
    }
}

/// What all switches and hosts hold at one moment between steps.
#[derive(Clone, Debug)]
pub(super) struct Moment<'a> {
    /// By the name of a switch: the plans whose rules it has.
    pub(super) rules: BTreeMap<&'a str, BTreeSet<PlanIndex>>,
    /// The plan with whose initial tags hosts send.
    pub(super) hosts: PlanIndex,
    /// The plan that forwards.
    pub(super) forwarding: PlanIndex,
}

impl<'a> Moment<'a> {
    /// The moment before the first step.
    pub(super) fn first(change: &'a Change) -> Self {
        let names = change.switch_names().into_iter();
        Self {
            rules: names.map(|name| (name, BTreeSet::from([0]))).collect(),
            hosts: 0,
            forwarding: 0,
        }
    }

    /// The moment after a step.
    pub(super) fn after(&self, step: &Step) -> Self {
        let mut next = self.clone();
        for (name, held) in &mut next.rules {
            if let Some(plans) = step.rules.get(*name) {
                held.clone_from(plans);
            }
        }
        next.hosts = step.hosts.unwrap_or(self.hosts);
        next.forwarding = step.forwarding.unwrap_or(self.forwarding);
        next
    }

    /// All moments of a change: before its first step, and after each.
    pub(super) fn all(change: &'a Change) -> Vec<Self> {
        let mut moments = vec![Self::first(change)];
        for step in &change.steps {
            let next = moments[moments.len() - 1].after(step);
            moments.push(next);
        }
        moments
    }
}

/// Steps between which nothing drains: what packets of one of them were given may be met in all.
pub(super) fn epochs(change: &Change) -> Vec<std::ops::Range<usize>> {
    let mut epochs = Vec::new();
    let mut begin = 0;
    for (at, step) in change.steps.iter().enumerate() {
        if step.drain || at + 1 == change.steps.len() {
            epochs.push(begin..at + 1);
            begin = at + 1;
        }
    }
    epochs
}

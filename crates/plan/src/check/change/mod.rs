//! The proof of a change from one plan to another, while packets are under way.
//!
//! [`check()`] reads the plans and the steps of a [`Change`] and nothing else; it does not know
//! how they were found.
//!
//! # Model
//!
//! The model of a plan is that of [`check`](super), except that tables change. A packet carries a
//! *code*, and a switch reads it by the rules that it has when the packet comes in: those of one
//! plan, or those of several plans that read different codes. Packets of failover plans carry the
//! version of their plan too, and are read by that plan alone.
//!
//! A change is a sequence of *steps*. In a step switches are written, and hosts change the initial
//! tags with which they send, in any order. A switch inserts rules, then changes its forwarding,
//! then deletes rules; it inserts those of higher precedence first and deletes them last. So each
//! packet meets what the rules before the step say or what those after it say, and while a switch
//! forwards as before the step, it has all rules from before. The next step begins when the last
//! has been done, everywhere. Some steps end with a *drain*: the next begins when all packets have
//! left that were sent before the step had been done. Steps between which nothing drains are an
//! *epoch*.
//!
//! # Assumptions
//!
//! A2 to A7 of the [theorem](super) hold of every plan of the change, with these differences:
//!
//! - **C1** Switches apply the rules as the steps say (in place of A1).
//! - **C2** A drain is long enough: all packets leave that were in the network when it began.
//! - **C3** A lossless priority of any plan that a switch holds has a queue at each port, an
//!   ingress buffer and headroom of its own, all the time.
//! - **C4** Cables of any of the plans may be there at any time of the change.
//!
//! # What is shown
//!
//! - Every plan of the change is proven by itself.
//! - **Acyclic.** In each epoch the graph of all buffers (port, priority) that packets can get
//!   into, by any of the rules that switches may have in it, has no cycle.
//! - **Counted alike.** A packet is counted under the priority in which it was sent.
//! - **Promised.** A packet that is sent in a step, with the initial tag of a plan that hosts may
//!   follow in it, along a route that a plan promises which may forward while the packet is under
//!   way, stays lossless whichever of the rules it meets. What only the new plan promises holds
//!   from the step that changes forwarding. Failover plans forward and mark by the version of the
//!   packet: there each packet finds the tables of its own version everywhere. Steps that say that
//!   classes may be lossy in them are left out.
//! - **Within the budget.** Each switch has room for the priorities and the rules of all plans that
//!   it holds in a step, together.
//!
//! Then no deadlock can form at any time of the change, for any forwarding, traffic and failures:
//! a packet that waits for ever was given its queue by rules of the epoch in which it came in, and
//! by C2 a packet of an epoch with a drain is not in the network any more when the next begins. So
//! the argument of T1 in [`check`](super) holds with the graph of the epoch. No lossless packet is
//! dropped for want of buffer (T2, by C3 and because packets are counted alike).
//!
//! # What is not claimed
//!
//! Lossless transport of packets that some switches forward by one plan and some by another, on
//! routes that no plan promises. They cannot cause a deadlock.

mod error;
mod file;
mod graph;
mod limits;
mod model;
mod packets;
mod rules;
mod union;

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;
use thiserror::Error;

pub use error::{ChangeError, Dependency, MixedCycle, WaitingBuffer};
pub use file::ChangeFileError;
pub use model::{Change, PlanIndex, Step};

use super::certificate::GraphSize;
use super::{Options, Verdict};
use graph::Graph;
use model::{Moment, epochs};
use packets::Packets;
use union::Union;

/// A change that was proven. Only [`check()`] makes one.
#[derive(Clone, Debug)]
pub struct CheckedChange {
    change: Change,
    report: ChangeReport,
}

impl CheckedChange {
    /// The change.
    #[must_use]
    pub const fn change(&self) -> &Change {
        &self.change
    }

    /// The report of the proof.
    #[must_use]
    pub const fn report(&self) -> &ChangeReport {
        &self.report
    }
}

/// What was found of a change, in figures.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeReport {
    /// What was shown, in a word.
    pub verdict: Verdict,
    /// Whether the change is proven.
    pub proven: bool,
    /// How many plans it has.
    pub plans: usize,
    /// The steps.
    pub steps: Vec<StepReport>,
    /// The most lossless priorities that a switch needs at once; absent if that was not computed.
    pub priorities: Option<usize>,
    /// The first thing that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<String>,
}

/// A step in figures.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct StepReport {
    /// How many switches are written.
    pub switches: usize,
    /// How many tag rules are inserted, on all switches.
    pub inserted: usize,
    /// How many tag rules are deleted, on all switches.
    pub deleted: usize,
    /// Whether hosts change the initial tags with which they send.
    pub hosts: bool,
    /// Whether forwarding entries change.
    pub forwarding: bool,
    /// Whether lossless classes may be lossy in the step.
    pub lossy: bool,
    /// Whether the step ends with a drain.
    pub drain: bool,
    /// The graph of all buffers in the epoch of the step; absent if it was not made.
    pub graph: Option<GraphSize>,
}

/// A refused change: every error that was found, and the report.
#[derive(Clone, Debug, Error)]
#[error("{}", .errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ChangeFailure {
    /// What is wrong; at least one error.
    pub errors: Vec<ChangeError>,
    /// The same in figures.
    pub report: ChangeReport,
}

impl ChangeFailure {
    /// Whose fault the refusal is.
    #[must_use]
    pub fn fault(&self) -> super::Fault {
        let faults = self.errors.iter().map(ChangeError::fault);
        faults.min().unwrap_or(super::Fault::Proof)
    }
}

/// Proves a change.
///
/// # Errors
/// Every error that could be found: of each plan, and one of each kind for each epoch or step.
pub fn check(change: Change, options: &Options) -> Result<CheckedChange, Box<ChangeFailure>> {
    let mut drawn = false;
    let mut errors = Vec::new();
    for (plan, tables) in change.plans.iter().enumerate() {
        match super::check(tables.clone(), options) {
            Ok(proven) => drawn |= proven.report().verdict == Verdict::Sampled,
            Err(failure) => {
                let of = |error| ChangeError::Plan { plan, error };
                errors.extend(failure.errors.into_iter().map(of));
            }
        }
    }
    let mut found = Findings::default();
    if errors.is_empty() {
        found = examine(&change, options);
        errors.append(&mut found.errors);
    }
    let verdict = match (errors.is_empty(), drawn) {
        (false, _) => Verdict::Refuted,
        (true, true) => Verdict::Sampled,
        (true, false) => Verdict::Proven,
    };
    let report = ChangeReport {
        verdict,
        proven: verdict == Verdict::Proven,
        plans: change.plans.len(),
        steps: steps(&change, &found.graphs),
        priorities: found.priorities,
        counterexample: errors.first().map(ToString::to_string),
    };
    match errors.is_empty() {
        true => Ok(CheckedChange { change, report }),
        false => Err(Box::new(ChangeFailure { errors, report })),
    }
}

/// Examines the steps of a change, of whose plans each was proven before.
///
/// # Errors
/// Everything that is wrong with the steps.
pub fn check_steps(change: &Change, options: &Options) -> Result<(), Vec<ChangeError>> {
    match examine(change, options).errors {
        errors if errors.is_empty() => Ok(()),
        errors => Err(errors),
    }
}

/// The steps of a change in figures. `graphs` has the graph of the epoch of each step, as far as
/// they were made.
fn steps(change: &Change, graphs: &[GraphSize]) -> Vec<StepReport> {
    let moments = Moment::all(change);
    let between = moments.windows(2).zip(&change.steps);
    let reports = between.enumerate().map(|(at, (moments, step))| StepReport {
        graph: graphs.get(at).copied(),
        ..StepReport::of(change, moments, step)
    });
    reports.collect()
}

impl StepReport {
    fn of(change: &Change, moments: &[Moment<'_>], step: &Step) -> Self {
        let mut report = Self {
            hosts: step.hosts.is_some(),
            forwarding: step.forwarding.is_some(),
            lossy: step.lossy,
            drain: step.drain,
            ..Self::default()
        };
        let [before, after] = moments else {
            return report;
        };
        for (switch, held) in &before.rules {
            let next = &after.rules[switch];
            if held == next {
                continue;
            }
            let old = rules::held(&change.plans, held, switch);
            let new = rules::held(&change.plans, next, switch);
            let (inserted, deleted) = (new.difference(&old).count(), old.difference(&new).count());
            report.switches += usize::from(inserted + deleted > 0);
            report.inserted += inserted;
            report.deleted += deleted;
        }
        report
    }
}

/// What was found of the steps of a change.
#[derive(Default)]
struct Findings {
    /// All that is wrong with them.
    errors: Vec<ChangeError>,
    /// The graph of the epoch of each step, as far as they were made.
    graphs: Vec<GraphSize>,
    /// The most lossless priorities that a switch needs at once.
    priorities: Option<usize>,
}

impl From<Vec<ChangeError>> for Findings {
    fn from(errors: Vec<ChangeError>) -> Self {
        Self {
            errors,
            ..Self::default()
        }
    }
}

/// Examines the steps of a change whose plans are proven.
fn examine(change: &Change, options: &Options) -> Findings {
    let wrong = unknown(change);
    if !wrong.is_empty() {
        return wrong.into();
    }
    let union = match Union::new(change) {
        Ok(union) => union,
        Err(errors) => return errors.into(),
    };
    let moments = Moment::all(change);
    let mut errors = shared_codes(&union, &moments);
    errors.extend(unfinished(change, &moments));
    let mut found = Findings::from(errors);
    if !found.errors.is_empty() {
        return found;
    }
    for epoch in epochs(change) {
        options.progress.checkpoint();
        let (size, wrong) = deadlocks(&union, &moments, &epoch);
        found.graphs.extend(epoch.clone().map(|_| size));
        // What can deadlock is not sound, whatever it promises.
        if wrong.is_empty() {
            found
                .errors
                .extend(promises(&union, change, &moments, &epoch));
        }
        found.errors.extend(wrong);
    }
    let (most, over) = budgets(&union, &moments);
    found.priorities = Some(most);
    if options.budgets {
        found.errors.extend(over);
    }
    found
}

/// Steps that name a switch or a plan which does not exist.
fn unknown(change: &Change) -> Vec<ChangeError> {
    let names = change.switch_names();
    let plans = change.plans.len();
    let mut errors = Vec::new();
    for (step, one) in (1..).zip(&change.steps) {
        let unknown = one.rules.keys().find(|name| !names.contains(name.as_str()));
        errors.extend(unknown.map(|switch| ChangeError::UnknownSwitch {
            step,
            switch: switch.clone(),
        }));
        let held = one.rules.values().flatten();
        let mut named = held.chain(&one.hosts).chain(&one.forwarding);
        let wrong = named.find(|plan| **plan >= plans);
        errors.extend(wrong.map(|&plan| ChangeError::UnknownPlan { step, plan, plans }));
    }
    errors
}

/// Plans that are to stand side by side and read the same code: the first of each step.
fn shared_codes(union: &Union<'_>, moments: &[Moment<'_>]) -> Vec<ChangeError> {
    let shared = |(step, moment): (usize, &Moment<'_>)| {
        moment.rules.iter().find_map(|(switch, held)| {
            let held: Vec<PlanIndex> = held.iter().copied().collect();
            let pairs = held.iter().enumerate();
            let mut pairs = pairs.flat_map(|(at, a)| held[at + 1..].iter().map(move |b| (*a, *b)));
            pairs.find_map(|(first, second)| {
                let both = |code: &usize| {
                    let code = u8::try_from(*code).unwrap_or(u8::MAX);
                    let reads = |plan: PlanIndex| union.members[plan].reads(code).is_some();
                    reads(first) && reads(second)
                };
                let code = (0..union.codes.len()).find(both)?;
                Some(ChangeError::SharedCode {
                    step,
                    switch: (*switch).to_owned(),
                    first,
                    second,
                    code: union.codes[code].1,
                })
            })
        })
    };
    moments.iter().enumerate().filter_map(shared).collect()
}

/// What is not as in the last plan when the change is over.
fn unfinished(change: &Change, moments: &[Moment<'_>]) -> Option<ChangeError> {
    let last = change.plans.len() - 1;
    let end = moments.last()?;
    let own = BTreeSet::from([last]);
    let stays = change.plans[last]
        .topology
        .switches()
        .iter()
        .find_map(|switch| {
            let held = end.rules.get(switch.name.as_str())?;
            (*held != own).then(|| format!("switch `{}` has rules of other plans", switch.name))
        });
    let what = stays
        .or_else(|| (end.hosts != last).then(|| "hosts send as another plan says".to_owned()))
        .or_else(|| (end.forwarding != last).then(|| "another plan forwards".to_owned()))?;
    Some(ChangeError::Unfinished { what, last })
}

/// By switch: the plans whose rules it has in some of these moments.
fn held(union: &Union<'_>, moments: &[Moment<'_>]) -> Vec<BTreeSet<PlanIndex>> {
    let of = |switch: &union::UnionSwitch<'_>| {
        let held = moments.iter().filter_map(|m| m.rules.get(switch.name));
        held.flatten().copied().collect()
    };
    union.switches.iter().map(of).collect()
}

/// The graph of some moments of an epoch.
fn graph<'a>(union: &'a Union<'a>, moments: &[Moment<'_>]) -> Graph<'a> {
    let sending = moments.iter().map(|moment| moment.hosts).collect();
    Graph::new(union, &held(union, moments), &sending)
}

/// The size of the graph of an epoch; cycles of buffers, and packets that are counted under another
/// priority than that in which they were sent.
fn deadlocks(
    union: &Union<'_>,
    moments: &[Moment<'_>],
    epoch: &Range<usize>,
) -> (GraphSize, Vec<ChangeError>) {
    let whole = graph(union, &moments[epoch.start..=epoch.end]);
    let (size, cycle) = (whole.size(), whole.cycle());
    let mut errors: Vec<ChangeError> = whole.mismatch.into_iter().collect();
    errors.extend(cycle.map(|cycle| {
        // The first step after which there is one.
        let earlier = (epoch.start..epoch.end - 1).find_map(|step| {
            let cycle = graph(union, &moments[epoch.start..=step + 1]).cycle()?;
            Some((step + 1, cycle))
        });
        let (step, cycle) = earlier.unwrap_or((epoch.end, cycle));
        ChangeError::Cycle { step, cycle }
    }));
    (size, errors)
}

/// The first broken promise of each step of an epoch.
fn promises(
    union: &Union<'_>,
    change: &Change,
    moments: &[Moment<'_>],
    epoch: &Range<usize>,
) -> Vec<ChangeError> {
    let of = |step: usize| {
        let under_way = &moments[step..=epoch.end];
        let sending = BTreeSet::from([moments[step].hosts, moments[step + 1].hosts]);
        sending
            .into_iter()
            .find_map(|sent| broken(union, sent, under_way, step + 1))
    };
    let steps = epoch.clone().filter(|step| !change.steps[*step].lossy);
    steps.filter_map(of).collect()
}

/// The first broken promise to packets that are sent with the initial tags of a plan.
fn broken(
    union: &Union<'_>,
    sent: PlanIndex,
    under_way: &[Moment<'_>],
    step: usize,
) -> Option<ChangeError> {
    if union.members[sent].tables.failover.is_some() {
        let switch = packets::lacking(union, sent, under_way)?.to_owned();
        let plan = sent;
        return Some(ChangeError::Missing { step, plan, switch });
    }
    let forwarding: BTreeSet<_> = under_way.iter().map(|m| m.forwarding).collect();
    let mut kept = forwarding
        .into_iter()
        .map(|routes| Packets::new(union, (sent, routes), under_way).replay(step));
    kept.find_map(Result::err).map(|error| *error)
}

/// The most priorities that a switch needs at once, and the first switch of each step for which
/// something is too much.
fn budgets(union: &Union<'_>, moments: &[Moment<'_>]) -> (usize, Vec<ChangeError>) {
    let mut most = 0;
    let mut errors = Vec::new();
    for (step, two) in (1..).zip(moments.windows(2)) {
        let both = held(union, two);
        let over = both.iter().enumerate();
        let needed = over
            .clone()
            .map(|(at, plans)| limits::priorities(union, at, plans).len());
        most = most.max(needed.max().unwrap_or(0));
        let mut over = over.filter_map(|(at, plans)| limits::too_much(union, step, at, plans));
        errors.extend(over.next());
    }
    (most, errors)
}

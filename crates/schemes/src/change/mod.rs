//! The steps of a change from one proven plan to another (docs/changes.md).
//!
//! The means are tried in this order, the first that [`check_steps`] accepts is taken:
//!
//! 1. One step, in which every switch may have the old rules or the new ones.
//! 2. Other codes for the tags of the new plan: its rules stand beside the old ones, then hosts
//!    send with the new initial tags, then the old packets leave the network, then the old rules
//!    go. Tags of both plans share priorities.
//! 3. The same, with other priorities for some tags of the new plan, as few more as can be.
//! 4. A plan in between, which promises the routes of both: first its rules beside the old ones,
//!    then forwarding changes, then the new rules beside its own.

//! 5. If that is allowed: the old rules go, and the new ones come when the old packets have left.
//!    Until then lossless classes are lossy.

mod between;

use std::collections::{BTreeMap, BTreeSet};

use plan::check::Options;
use plan::check::change::{Change, ChangeError, PlanIndex, Step, check_steps};
use plan::{
    Carrier, CarrierKind, LOSSY_PRIORITY, Tables, Tag, TagCode, TagNumbers, usual_codes,
    usual_priorities,
};
use quantities::Priority;
use strum::IntoStaticStr;
use thiserror::Error;

/// The priorities of IEEE 802.1Q that can be lossless.
const MOST_PRIORITIES: usize = 7;

/// How a change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Means {
    /// In one step.
    OneStep,
    /// By other codes.
    OtherCodes,
    /// By other codes and other priorities.
    OtherPriorities,
    /// By a plan in between.
    PlanBetween,
    /// By a time without lossless transport.
    Lossy,
}

/// Whether lossless classes may be lossy during a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossyChange {
    /// They stay lossless.
    #[default]
    Never,
    /// If there is no other change.
    IfNeeded,
}

impl Means {
    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A change that was found.
#[derive(Clone, Debug)]
pub struct FoundChange {
    /// The change. Its last plan is the new one, with the codes and priorities that the change
    /// takes.
    pub change: Change,
    /// How it is made.
    pub means: Means,
}

/// No change was found.
#[derive(Clone, Debug, Error)]
#[error("{}", reasons(.tried))]
pub struct NoChange {
    /// The means that were tried, and the first thing that is wrong with each.
    pub tried: Vec<(Means, ChangeError)>,
}

fn reasons(tried: &[(Means, ChangeError)]) -> String {
    let line = |(means, error): &(Means, ChangeError)| format!("{}: {error}", means.describe());
    tried.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Means {
    /// What is done, in words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::OneStep => "in one step",
            Self::OtherCodes => "with other codes",
            Self::OtherPriorities => "with other codes and priorities",
            Self::PlanBetween => "by a plan in between",
            Self::Lossy => "by a time without lossless transport",
        }
    }
}

/// Finds a change from a proven plan to another.
///
/// # Errors
/// [`NoChange`] if no means gives a change that is proven.
pub fn find_change(
    old: &Tables,
    new: &Tables,
    options: &Options,
    lossy: LossyChange,
) -> Result<FoundChange, Box<NoChange>> {
    let mut search = Finder {
        old,
        options,
        tried: Vec::new(),
    };
    let one = in_one_step(old, new);
    if let Some(found) = search.attempt(Means::OneStep, one) {
        return Ok(found);
    }
    // Other steps do not mend what is wrong with the plans themselves.
    if search.plans_contradict() {
        return Err(search.end());
    }
    let lossless =
        by_versions(&mut search, old, new).or_else(|| by_plan_between(&mut search, old, new));
    let found = lossless.or_else(|| match (lossy, &new.failover) {
        (LossyChange::IfNeeded, None) => search.attempt(Means::Lossy, without_rules(old, new)),
        _ => None,
    });
    match found {
        Some(found) => Ok(found),
        None => Err(search.end()),
    }
}

/// By rules side by side that packets tell apart.
fn by_versions(search: &mut Finder<'_>, old: &Tables, new: &Tables) -> Option<FoundChange> {
    let recoded = match new.failover {
        Some(_) => new.clone(), // its packets carry a version
        None => match with_other_codes(&[old], new) {
            Some(recoded) => recoded,
            None => {
                let error = ChangeError::TooFewCodes {
                    carrier: new.carrier.kind.name(),
                    needed: new.carrier.codes.len(),
                };
                search.tried.push((Means::OtherCodes, error));
                return None;
            }
        },
    };
    if let Some(found) = search.attempt_both(Means::OtherCodes, &recoded) {
        return Some(found);
    }
    with_priorities(&[old], &recoded).find_map(|tables| {
        search.options.progress.checkpoint();
        search.attempt_both(Means::OtherPriorities, &tables)
    })
}

/// By a plan in between, whose codes are those of neither.
fn by_plan_between(search: &mut Finder<'_>, old: &Tables, new: &Tables) -> Option<FoundChange> {
    if old.failover.is_some() || new.failover.is_some() {
        return None;
    }
    let middle = between::between(old, new)?;
    let middle = with_other_codes(&[old, new], &middle)?;
    with_priorities(&[old, new], &middle).find_map(|middle| {
        search.options.progress.checkpoint();
        search.attempt(Means::PlanBetween, through(old, middle, new))
    })
}

/// A plan with every choice of priorities, those first that need the fewest beside other plans.
fn with_priorities<'a>(
    others: &[&Tables],
    plan: &'a Tables,
) -> impl Iterator<Item = Tables> + use<'a> {
    // The priority code point is the priority: other codes are other priorities already.
    let fixed = plan.carrier.kind == CarrierKind::VlanPcp;
    let chosen = (!fixed).then(|| assignments(others, plan));
    let own = fixed.then(|| plan.tagging.priorities.clone());
    own.into_iter()
        .chain(chosen.into_iter().flatten())
        .map(|priorities| {
            let mut tables = plan.clone();
            tables.tagging.priorities = priorities;
            tables
        })
}

struct Finder<'a> {
    old: &'a Tables,
    options: &'a Options,
    tried: Vec<(Means, ChangeError)>,
}

impl Finder<'_> {
    /// The change, if it is proven. Else remembers what is wrong with it: of each means the last.
    fn attempt(&mut self, means: Means, change: Change) -> Option<FoundChange> {
        debug_assert_eq!(change.plans.first(), Some(self.old));
        match check_steps(&change, self.options) {
            Ok(()) => Some(FoundChange { change, means }),
            Err(errors) => {
                let first = errors.into_iter().next();
                self.tried.retain(|(tried, _)| *tried != means);
                self.tried.extend(first.map(|error| (means, error)));
                None
            }
        }
    }

    /// The change by rules of both plans side by side.
    fn attempt_both(&mut self, means: Means, new: &Tables) -> Option<FoundChange> {
        let orders: &[Forwarding] = match new.failover {
            Some(_) => &[Forwarding::WithHosts],
            None => &[Forwarding::First, Forwarding::Last],
        };
        orders.iter().find_map(|&order| {
            let change = side_by_side(self.old, new, order);
            self.attempt(means, change)
        })
    }

    /// Whether the plans cannot be those of one change, whatever the steps are.
    fn plans_contradict(&self) -> bool {
        let contradicts = |error: &ChangeError| {
            matches!(
                error,
                ChangeError::NothingInCommon { .. }
                    | ChangeError::OtherKind { .. }
                    | ChangeError::Renumbered { .. }
                    | ChangeError::Carrier { .. }
                    | ChangeError::Program { .. }
                    | ChangeError::Plan { .. }
            )
        };
        self.tried.iter().any(|(_, error)| contradicts(error))
    }

    fn end(self) -> Box<NoChange> {
        Box::new(NoChange { tried: self.tried })
    }
}

/// Writes steps in which all switches of some plans are written alike.
struct Steps(BTreeSet<String>);

impl Steps {
    fn of(plans: &[&Tables]) -> Self {
        let switches = plans.iter().flat_map(|plan| plan.topology.switches());
        Self(switches.map(|switch| switch.name.clone()).collect())
    }

    /// After the step all switches have the rules of these plans.
    fn hold(&self, plans: &[PlanIndex]) -> Step {
        let held: BTreeSet<PlanIndex> = plans.iter().copied().collect();
        let switches = self.0.iter();
        Step {
            rules: switches
                .map(|switch| (switch.clone(), held.clone()))
                .collect(),
            ..Step::default()
        }
    }
}

/// Hosts send with the initial tags of another plan, until packets with the tags before have left.
fn restamp(plan: PlanIndex) -> Step {
    Step {
        hosts: Some(plan),
        drain: true,
        ..Step::default()
    }
}

/// One step.
fn in_one_step(old: &Tables, new: &Tables) -> Change {
    let step = Step {
        hosts: Some(1),
        forwarding: Some(1),
        ..Steps::of(&[old, new]).hold(&[1])
    };
    Change {
        steps: vec![step],
        plans: vec![old.clone(), new.clone()],
    }
}

/// No rules until old packets have left.
fn without_rules(old: &Tables, new: &Tables) -> Change {
    let all = Steps::of(&[old, new]);
    let steps = vec![
        Step {
            lossy: true,
            drain: true,
            ..all.hold(&[])
        },
        Step {
            hosts: Some(1),
            forwarding: Some(1),
            lossy: true,
            ..all.hold(&[1])
        },
    ];
    Change {
        steps,
        plans: vec![old.clone(), new.clone()],
    }
}

/// From the old plan to one in between, by it to the new forwarding, and to the new plan.
fn through(old: &Tables, middle: Tables, new: &Tables) -> Change {
    let all = Steps::of(&[old, &middle, new]);
    let onward = Step {
        forwarding: Some(2),
        // Whatever hosts send, no packet that the old rules have marked meets the new ones.
        drain: true,
        ..all.hold(&[1])
    };
    let steps = vec![
        all.hold(&[0, 1]),
        restamp(1),
        onward,
        all.hold(&[1, 2]),
        restamp(2),
        all.hold(&[2]),
    ];
    Change {
        plans: vec![old.clone(), middle, new.clone()],
        steps,
    }
}

/// When forwarding changes, where the rules of both plans stand side by side.
#[derive(Clone, Copy)]
enum Forwarding {
    /// With the initial tags of hosts.
    WithHosts,
    /// Before all else: the old rules keep the new routes lossless.
    First,
    /// When only packets with new tags are left: the new rules keep the old routes lossless.
    Last,
}

/// The new rules beside the old ones, then the new initial tags, then the old rules go.
fn side_by_side(old: &Tables, new: &Tables, forwarding: Forwarding) -> Change {
    let all = Steps::of(&[old, new]);
    let forward = || Step {
        forwarding: Some(1),
        ..Step::default()
    };
    let mut steps = vec![all.hold(&[0, 1]), restamp(1), all.hold(&[1])];
    match forwarding {
        Forwarding::WithHosts => steps[1].forwarding = Some(1),
        Forwarding::First => steps.insert(0, forward()),
        Forwarding::Last => steps.insert(2, forward()),
    }
    Change {
        plans: vec![old.clone(), new.clone()],
        steps,
    }
}

/// The new plan with codes that no other plan reads; nothing if there are too few.
fn with_other_codes(others: &[&Tables], new: &Tables) -> Option<Tables> {
    let carrier = &new.carrier;
    let others = others.iter().map(|plan| &plan.carrier);
    let taken: BTreeSet<u16> = others
        .flat_map(|other| other.codes.values().chain([&other.lossy]))
        .chain([&carrier.lossy])
        .map(|code| code.get())
        .collect();
    let below = carrier
        .class_shift
        .map_or(u32::MAX, |shift| 1 << shift.min(16));
    let free = usual_codes(carrier.kind).filter(|code| {
        !taken.contains(code) && *code <= carrier.kind.max_code() && u32::from(*code) < below
    });
    let tags: Vec<Tag> = carrier.codes.keys().copied().collect();
    let codes: Vec<TagCode> = free.map(TagCode::new).take(tags.len()).collect();
    if codes.len() < tags.len() {
        return None;
    }
    let mut tables = new.clone();
    if carrier.kind == CarrierKind::VlanPcp {
        let numbers = TagNumbers {
            codes: codes.clone(),
            priorities: Vec::new(),
        };
        tables.tagging.priorities = numbers.priorities(carrier.kind, &tags);
    }
    tables.carrier = Carrier {
        codes: tags.into_iter().zip(codes).collect(),
        ..carrier.clone()
    };
    Some(tables)
}

/// Priorities for the tags of a plan, those first that need the fewest beside those of other plans.
fn assignments(
    others: &[&Tables],
    new: &Tables,
) -> impl Iterator<Item = BTreeMap<Tag, Priority>> + use<> {
    let own = &new.tagging.priorities;
    let tags: Vec<Tag> = own.keys().copied().collect();
    let others = others
        .iter()
        .flat_map(|plan| plan.tagging.priorities.values());
    let held: BTreeSet<Priority> = others.copied().collect();
    let fresh: Vec<Priority> = usual_priorities()
        .take(MOST_PRIORITIES)
        .filter(|priority| !held.contains(priority) && *priority != LOSSY_PRIORITY)
        .collect();
    let most = fresh.len().min(tags.len());
    let held: Vec<Priority> = held.into_iter().collect();
    (0..=most).flat_map(move |count| {
        let mut found = Vec::new();
        assign(&tags, (&held, &fresh[..count]), &mut Vec::new(), &mut found);
        let tags = tags.clone();
        let all = found.into_iter();
        all.map(move |priorities| tags.iter().copied().zip(priorities).collect())
    })
}

/// All ways to give each tag a priority of its own: one of `held`, or the next of `fresh`, all of
/// which are given.
fn assign(
    tags: &[Tag],
    (held, fresh): (&[Priority], &[Priority]),
    given: &mut Vec<Priority>,
    found: &mut Vec<Vec<Priority>>,
) {
    let left = tags.len() - given.len();
    if left == 0 {
        if fresh.is_empty() {
            found.push(given.clone());
        }
        return;
    }
    if left > fresh.len() {
        for priority in held {
            if !given.contains(priority) {
                given.push(*priority);
                assign(tags, (held, fresh), given, found);
                given.pop();
            }
        }
    }
    if let Some((first, rest)) = fresh.split_first() {
        given.push(*first);
        assign(tags, (held, rest), given, found);
        given.pop();
    }
}

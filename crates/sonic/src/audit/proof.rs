//! Buffers that wait for each other: the maps of a fabric as tag tables, for the proof of plans.
//!
//! A tag stands for a priority group: a buffer is an ingress port with a priority group. A rule
//! stands for packets that are accounted to a group where they come in and wait in a queue that the
//! PAUSE of a group at the far end stops. That is the group for which the far end accounts them,
//! unless maps at both ends of the cable disagree. DSCPs that share a group and fare differently
//! are told apart as classes; what a DSCP is rewritten to belongs to its class.

use std::collections::{BTreeMap, BTreeSet};

use plan::check::Cycle;
use plan::{
    Budget, Carrier, CarrierKind, Class, ClassId, NewTag, PlanError, PortSet, Provenance, RuleForm,
    Tables, Tag, TagRule, Tagging,
};
use quantities::{PortId, Priority};
use topology::SwitchId;
use topology::routes::RoutePolicy;

use super::View;
use super::follow::{Followed, State, Step};
use crate::audit::FindingKind;
use crate::pipeline::DSCPS;

/// The most lossless priorities beside a lossy one.
const PRIORITIES_MAX: usize = 7;

/// What the proof has shown.
pub(super) struct Proof {
    pub(super) cbd_free: Option<bool>,
    pub(super) unknown: Option<String>,
    pub(super) cycle: Option<Cycle>,
}

/// The rules of one class, by switch.
type ClassRules = Vec<Vec<TagRule>>;

pub(super) fn prove(view: &View<'_>, followed: &Followed) -> Proof {
    let mut unknown = unfollowed(view);
    let mut kinds: BTreeSet<Vec<Vec<RuleKey>>> = BTreeSet::new();
    for dscps in classes(followed) {
        match rules(view, followed, &dscps) {
            Ok(rules) => {
                kinds.insert(rules);
            }
            Err(why) => unknown = unknown.or(Some(why)),
        }
    }
    let misses = followed.findings.iter().any(|finding| {
        matches!(
            finding.kind,
            FindingKind::PauseMisses | FindingKind::ClassChanges
        )
    });
    if misses {
        let why = "packets change their class on a cable, so that which buffer waits for which is not what the maps say";
        unknown = unknown.or(Some(why.to_owned()));
    }
    let groups: BTreeSet<u8> = followed
        .lossless
        .iter()
        .filter_map(|state| followed.states.get(state).map(|(group, _)| *group))
        .collect();
    if groups.len() > PRIORITIES_MAX {
        let why = format!("{} priorities are lossless, and none is left", groups.len());
        return Proof {
            cbd_free: None,
            unknown: Some(why),
            cycle: None,
        };
    }
    if groups.is_empty() {
        // No buffer ever asks for a pause.
        return Proof {
            cbd_free: unknown.is_none().then_some(true),
            unknown,
            cycle: None,
        };
    }
    let tables = tables(view, &groups, kinds.into_iter().collect());
    let options = plan::check::Options {
        budgets: false,
        ..plan::check::Options::default()
    };
    let (report, errors) = match plan::check(tables, &options) {
        Ok(plan) => (plan.report(), Vec::new()),
        Err(failure) => (failure.report, failure.errors),
    };
    let cycle = errors.into_iter().find_map(|error| match error {
        PlanError::Cycle(cycle) => Some(cycle),
        _ => None,
    });
    let free = report.cbd_free;
    // A cycle is one whatever else is wrong; that there is none holds only if everything was
    // followed.
    let cbd_free = free.filter(|free| !*free || unknown.is_none());
    Proof {
        unknown: match cbd_free {
            Some(_) => None,
            None => unknown.or_else(|| report.cbd_free_unknown.map(str::to_owned)),
        },
        cbd_free,
        cycle,
    }
}

/// What decides about classes and is not followed, if there is anything.
fn unfollowed(view: &View<'_>) -> Option<String> {
    let topology = view.fabric.topology;
    topology.switch_ids().find_map(|switch| {
        let what = view.config(switch).unfollowed.first()?;
        let name = &topology.switch(switch).name;
        Some(format!("on {name} {what}, which is not followed"))
    })
}

/// The DSCPs that belong together: each with what it is rewritten to while it stays lossless.
fn classes(followed: &Followed) -> Vec<BTreeSet<u8>> {
    let mut class: Vec<u8> = (0..DSCPS).collect();
    for state in &followed.lossless {
        let steps = followed.states.get(state).map(|(_, steps)| steps);
        for next in steps.into_iter().flatten().filter_map(|step| step.next) {
            if followed.lossless.contains(&next) {
                let [a, b] = [state.dscp, next.dscp].map(|dscp| class[usize::from(dscp)]);
                let (low, high) = (a.min(b), a.max(b));
                class
                    .iter_mut()
                    .filter(|c| **c == high)
                    .for_each(|c| *c = low);
            }
        }
    }
    let mut sets: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
    for state in &followed.lossless {
        let of = class[usize::from(state.dscp)];
        sets.entry(of).or_default().insert(state.dscp);
    }
    sets.into_values().collect()
}

/// A rule without class: group, ingress port, egress ports, new group.
type RuleKey = (u8, PortId, Vec<PortId>, u8);

/// The rules of some DSCPs, or why a priority group does not say what becomes of them.
fn rules(
    view: &View<'_>,
    followed: &Followed,
    dscps: &BTreeSet<u8>,
) -> Result<Vec<Vec<RuleKey>>, String> {
    let topology = view.fabric.topology;
    let mut cells: Vec<BTreeMap<(u8, PortId), BTreeMap<PortId, u8>>> =
        vec![BTreeMap::new(); topology.switches().len()];
    let of_class = followed.lossless.iter().filter(|s| dscps.contains(&s.dscp));
    for state in of_class {
        let Some((group, _)) = followed.states.get(state) else {
            continue;
        };
        let row = row(followed, state);
        let cell = cells[state.switch.index()].entry((*group, state.port));
        let known = cell.or_insert_with(|| row.clone());
        if *known != row {
            return Err(format!(
                "DSCPs of one class share priority group {group} at {} and go on differently",
                view.name(state.switch, state.port)
            ));
        }
    }
    let keys = cells.into_iter().map(|cells| {
        let mut keys = Vec::new();
        for ((group, port), row) in cells {
            let mut by_group: BTreeMap<u8, Vec<PortId>> = BTreeMap::new();
            for (out, next) in row {
                by_group.entry(next).or_default().push(out);
            }
            keys.extend(
                by_group
                    .into_iter()
                    .map(|(next, outs)| (group, port, outs, next)),
            );
        }
        keys
    });
    Ok(keys.collect())
}

/// By egress port: the group at the far end whose PAUSE stops the queue, or the own one towards
/// hosts.
fn row(followed: &Followed, state: &State) -> BTreeMap<PortId, u8> {
    let Some((group, steps)) = followed.states.get(state) else {
        return BTreeMap::new();
    };
    let lossless = steps.iter().filter(|step| step.is_lossless());
    lossless
        .filter_map(|step| match step.next {
            None => Some((step.out, *group)),
            Some(next) => Some((step.out, waits_for(followed, step, next)?)),
        })
        .collect()
}

/// The group of the far end that packets wait for: the one that accounts them, if its PAUSE stops
/// their queue, else the first whose PAUSE does. None where no such group has PFC, or packets.
fn waits_for(followed: &Followed, step: &Step, next: State) -> Option<u8> {
    let arrives = followed.states.get(&next).map(|(group, _)| *group);
    let stops = |group: &u8| step.stopped_by >> group & 1 == 1;
    let at = |dscp| State { dscp, ..next };
    let fills = |group: &u8| {
        let mut states = followed.lossless.range(at(0)..at(DSCPS));
        states.any(|state| followed.states.get(state).map(|(group, _)| group) == Some(group))
    };
    let mut groups = arrives.into_iter().chain(0..8);
    groups.find(|group| stops(group) && fills(group))
}

fn tables(view: &View<'_>, groups: &BTreeSet<u8>, kinds: Vec<Vec<Vec<RuleKey>>>) -> Tables {
    let topology = view.fabric.topology.all_up();
    let tags: Vec<Tag> = groups.iter().map(|group| Tag::new(*group)).collect();
    let class_bits = kinds.len() > 1;
    let spelled = |switch: SwitchId| -> Vec<TagRule> {
        let of_kind = (0..)
            .map(ClassId::new)
            .zip(&kinds)
            .flat_map(|(class, kind)| {
                let keys = kind.get(switch.index()).into_iter().flatten();
                keys.map(move |(group, port, outs, next)| TagRule {
                    precedence: 0,
                    class: class_bits.then_some(class),
                    tag: Tag::new(*group),
                    in_ports: PortSet::single(*port),
                    out_ports: outs.iter().copied().collect(),
                    new_tag: NewTag::Lossless(Tag::new(*next)),
                })
            });
        of_kind.collect()
    };
    let rules: ClassRules = topology.switch_ids().map(spelled).collect();
    let first = tags.first().copied().unwrap_or(Tag::new(0));
    let classes = (0..kinds.len().max(1)).map(|number| Class {
        name: format!("class{number}"),
        initial: first,
        limit: None,
    });
    Tables {
        provenance: Provenance::ours("sonic", ""),
        tagging: Tagging {
            classes: classes.collect(),
            class_bits,
            priorities: tags.iter().copied().zip((1..).map(Priority::new)).collect(),
            form: RuleForm::PortSets,
            rules,
        },
        carrier: Carrier::numbered(CarrierKind::Shim, tags, class_bits),
        promises: Vec::new(),
        forwarding: RoutePolicy::Shortest,
        failover: None,
        budget: Budget::default(),
        topology,
    }
}

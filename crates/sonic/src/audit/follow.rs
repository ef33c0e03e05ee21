//! Every DSCP from every host on: which states (port, DSCP) packets reach, and whether both ends of
//! every cable on the way take them for the same class.

use std::collections::{BTreeMap, BTreeSet};

use quantities::PortId;
use topology::{NodeId, SwitchId};

use super::{Finding, FindingKind, View};
use crate::pipeline::DSCPS;

/// Packets that arrive at a port with a DSCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) switch: SwitchId,
    pub(super) port: PortId,
    pub(super) dscp: u8,
}

/// What becomes of them by an egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub(super) out: PortId,
    /// The priorities whose PAUSE stops the queue in which they wait, one bit each.
    pub(super) stopped_by: u8,
    /// Where they arrive, if that is a switch.
    pub(super) next: Option<State>,
}

impl Step {
    /// Whether PFC can stop the queue in which they wait.
    pub(super) const fn is_lossless(&self) -> bool {
        self.stopped_by != 0
    }
}

/// Everything that packets from hosts reach.
pub(super) struct Followed {
    /// By state: the priority group, and the steps from there.
    pub(super) states: BTreeMap<State, (u8, Vec<Step>)>,
    pub(super) findings: Vec<Finding>,
    /// The states in whose priority group PFC is on.
    pub(super) lossless: BTreeSet<State>,
}

impl Followed {
    pub(super) fn lossless_dscps(&self) -> Vec<u8> {
        let dscps: BTreeSet<u8> = self.lossless.iter().map(|state| state.dscp).collect();
        dscps.into_iter().collect()
    }
}

/// A kind of fault at a cable: from, to, kind, what is said of it.
type Fault = (String, FindingKind, String);

/// Follows packets from every host until nothing new is reached. What `known` tells of a cable is
/// not told again.
pub(super) fn follow(view: &View<'_>, known: &[Finding]) -> Followed {
    let mut stack = starts(view);
    let mut seen: BTreeSet<State> = stack.iter().copied().collect();
    let mut followed = Followed {
        states: BTreeMap::new(),
        findings: Vec::new(),
        lossless: BTreeSet::new(),
    };
    let mut faults: BTreeMap<Fault, BTreeSet<u8>> = BTreeMap::new();
    while let Some(state) = stack.pop() {
        let Some((group, steps)) = go_on(view, state, &mut faults) else {
            continue;
        };
        let reached = steps.iter().filter_map(|step| step.next);
        stack.extend(reached.filter(|next| seen.insert(*next)));
        if view.pfc(state.switch, state.port, group) {
            followed.lossless.insert(state);
        }
        followed.states.insert(state, (group, steps));
    }
    followed.findings = told(faults, known);
    followed
}

/// Every DSCP at every port that a host is at.
fn starts(view: &View<'_>) -> Vec<State> {
    let topology = view.fabric.topology;
    let mut starts: Vec<State> = Vec::new();
    for switch in topology.switch_ids() {
        for (port, peer) in topology.peers(switch) {
            if matches!(peer.end.node, NodeId::Host(_)) {
                starts.extend((0..DSCPS).map(|dscp| State { switch, port, dscp }));
            }
        }
    }
    starts
}

/// The priority group of packets, and what becomes of them by every port; none if the port has no
/// maps.
fn go_on(
    view: &View<'_>,
    state: State,
    faults: &mut BTreeMap<Fault, BTreeSet<u8>>,
) -> Option<(u8, Vec<Step>)> {
    let topology = view.fabric.topology;
    let index = view.index(state.switch, state.port)?;
    let pipeline = &view.pipelines[state.switch.index()];
    let mut steps = Vec::new();
    let group = pipeline.arrival(index, state.dscp);
    for out in view.outs(state.switch, state.port) {
        let Some(leaving) = view.index(state.switch, out) else {
            continue;
        };
        let treated = pipeline.treat(index, state.dscp, leaving);
        let pausing: Vec<u8> = view.pausing(state.switch, out, treated.queue).collect();
        let next = topology.peer(state.switch, out).and_then(|peer| {
            let NodeId::Switch(switch) = peer.end.node else {
                return None;
            };
            Some(State {
                switch,
                port: peer.end.port,
                dscp: treated.dscp,
            })
        });
        let step = Step {
            out,
            stopped_by: pausing
                .iter()
                .fold(0, |bits, priority| bits | 1 << priority),
            next,
        };
        let fault = next.and_then(|next| cable(view, state, &step, next, &pausing, treated.queue));
        if let Some(fault) = fault {
            faults.entry(fault).or_default().insert(state.dscp);
        }
        steps.push(step);
    }
    Some((group, steps))
}

/// The faults at cables as findings, without those that follow from PFC or maps that differ, which
/// `known` tells.
fn told(faults: BTreeMap<Fault, BTreeSet<u8>>, known: &[Finding]) -> Vec<Finding> {
    let known = known.iter().filter(|finding| {
        matches!(
            finding.kind,
            FindingKind::PfcOneEnd | FindingKind::PfcPriorities | FindingKind::NoMaps
        )
    });
    let known: BTreeSet<&str> = known.map(|finding| finding.place.as_str()).collect();
    let fresh = faults.into_iter().filter(|((place, _, problem), _)| {
        let far = problem.rsplit(' ').next().unwrap_or_default();
        !known.contains(place.as_str()) && !known.contains(far)
    });
    fresh
        .map(|((place, kind, problem), dscps)| {
            let dscps: Vec<String> = dscps.iter().map(u8::to_string).collect();
            Finding {
                kind,
                place,
                problem: format!("DSCP {}: {problem}", dscps.join(", ")),
            }
        })
        .collect()
}

/// Whether both ends of a cable take packets for the same class.
fn cable(
    view: &View<'_>,
    state: State,
    step: &Step,
    next: State,
    pausing: &[u8],
    queue: u8,
) -> Option<Fault> {
    let index = view.index(next.switch, next.port)?;
    let group = view.pipelines[next.switch.index()].arrival(index, next.dscp);
    let arrives_lossless = view.pfc(next.switch, next.port, group);
    let place = view.name(state.switch, step.out);
    let far = view.name(next.switch, next.port);
    match (step.is_lossless(), arrives_lossless) {
        (true, false) => Some((
            place,
            FindingKind::ClassChanges,
            format!("lossless here (queue {queue}), lossy (priority group {group}) at {far}"),
        )),
        (false, true) => Some((
            place,
            FindingKind::ClassChanges,
            format!("lossy here (queue {queue}), lossless (priority group {group}) at {far}"),
        )),
        (true, true) if pausing != [group] => Some((
            place,
            FindingKind::PauseMisses,
            format!(
                "waits in queue {queue}, which a PAUSE of {} stops; accounted to priority group {group} at {far}",
                pausing
                    .iter()
                    .map(u8::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        )),
        (false, false) if next.dscp == state.dscp => other_queue(view, next, queue)
            .map(|problem| (place, FindingKind::QueueChanges, format!("{problem} {far}"))),
        _ => None,
    }
}

/// Where lossy packets that waited in a queue wait in others at the next switch, whatever way they
/// take there: what is said of it, up to the name of that place.
fn other_queue(view: &View<'_>, next: State, queue: u8) -> Option<String> {
    let index = view.index(next.switch, next.port)?;
    let pipeline = &view.pipelines[next.switch.index()];
    let outs = view.outs(next.switch, next.port).into_iter();
    let leaving = outs.filter_map(|out| view.index(next.switch, out));
    let queues: BTreeSet<u8> = leaving
        .map(|out| pipeline.treat(index, next.dscp, out).queue)
        .collect();
    let differs = !queues.is_empty() && !queues.contains(&queue);
    differs.then(|| {
        let queues: Vec<String> = queues.iter().map(u8::to_string).collect();
        format!(
            "lossy in queue {queue} here, in {} from",
            queues.join(" or ")
        )
    })
}

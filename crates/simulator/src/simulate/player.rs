//! A scenario for whoever plays it, by the simulator's calendar or by a clock and cables of his
//! own: the switches' buffers and entries, the hosts' cards and flows, and what happens when. Times
//! are the scenario's; nothing here reads a clock.

use std::collections::BTreeSet;
use std::sync::Arc;

use device::buffer::{Buffer, BufferConfig, CLASSES};
use device::deadlock::Deadlock;
use p4exec::FastestExecutor;
use p4gen::family::ProgramFeatures;
use plan::CheckedPlan;
use quantities::{Nanos, PortId, Priority};

use super::host::flow::{Flow, HEAD};
pub use super::host::hosts::Hosts;
use topology::{HostId, LinkId, SwitchId, Topology};
use wire::pfc::is_mac_control;

use super::engine::event::PeerPort;
use super::host::hosts::NicAction;
use super::observe::report::{DeadlockReport, FlowReport, SwitchReport};
use super::setup::resolve::{self, ScriptAction};
use super::setup::routing::Routing;
use spec::{Scenario, ScenarioError};

use super::SimulateError;
use super::observe::report;
use super::setup::check;
use crate::embedded::Network;

/// Something that happens in the network itself; what happens to tables is done by
/// [`ScenarioPlayer::act`].
#[derive(Clone, Copy, Debug)]
pub enum NetworkEvent {
    /// A link fails.
    Fail(LinkId),
    /// A link works again.
    Restore(LinkId),
    /// A host pauses its switch until a time.
    Pause {
        /// The host's number.
        host: usize,
        /// The priority.
        class: Priority,
        /// Until when.
        until: u64,
    },
    /// Only tables change.
    Tables,
}

/// See the module documentation.
pub struct ScenarioPlayer {
    plan: Arc<CheckedPlan>,
    scenario: Scenario,
    pub(super) routing: Routing,
    first: FastestExecutor,
    script_actions: Vec<ScriptAction>,
    failed: BTreeSet<LinkId>,
    /// By host: where it is plugged in.
    pub(super) uplinks: Vec<PeerPort>,
    /// Events in the order in which they happen: time and number.
    pub order: Vec<(u64, usize)>,
    /// How each switch is configured.
    pub buffers: Vec<BufferConfig>,
}

impl ScenarioPlayer {
    /// Looks everything up.
    ///
    /// # Errors
    /// As [`super::simulate`].
    pub fn new(network: &Network, scenario: &Scenario) -> Result<(Self, Hosts), SimulateError> {
        check::check(scenario)?;
        let resolved = resolve::resolve(network, scenario)?;
        let events = scenario.events.iter().enumerate();
        let mut order: Vec<(u64, usize)> = events
            .map(|(number, event)| (event.at.0.get(), number))
            .collect();
        order.sort_unstable();
        let player = Self {
            plan: Arc::clone(network.shared_plan()),
            scenario: scenario.clone(),
            routing: resolved.routing,
            first: resolved.first,
            script_actions: resolved.script_actions,
            failed: BTreeSet::new(),
            uplinks: resolved.uplinks,
            order,
            buffers: resolved.buffers,
        };
        let (cards, flows) = (resolved.hosts, resolved.flows);
        Ok((
            player,
            Hosts::new(cards, flows, resolved.workloads, scenario),
        ))
    }

    /// A switch's executor with the entries that it is to have now.
    pub fn executor(&self, switch: SwitchId) -> Result<FastestExecutor, SimulateError> {
        resolve::executor(&self.first, &self.routing, switch)
    }

    /// The longest frame between switches, with what carries its tag, in bytes.
    #[must_use]
    pub fn longest_frame(&self) -> u64 {
        let carrier = ProgramFeatures::of(&self.plan).carrier_bytes();
        resolve::longest_packet(&self.scenario) + u64::from(carrier)
    }

    /// An event happens at a time: what the network does, and which switches get other tables.
    pub fn act(
        &mut self,
        now: u64,
        number: usize,
    ) -> Result<(NetworkEvent, Vec<(SwitchId, FastestExecutor)>), SimulateError> {
        match self.script_actions.get(number).copied() {
            Some(action) => self.perform(now, action),
            None => Ok((NetworkEvent::Tables, Vec::new())),
        }
    }

    /// The same of something that need not be in the scenario.
    pub(super) fn perform(
        &mut self,
        now: u64,
        action: ScriptAction,
    ) -> Result<(NetworkEvent, Vec<(SwitchId, FastestExecutor)>), SimulateError> {
        let none = Vec::new();
        let change = match action {
            ScriptAction::Fail(link) => {
                self.failed.insert(link);
                return Ok((NetworkEvent::Fail(link), none));
            }
            ScriptAction::Restore(link) => {
                self.failed.remove(&link);
                return Ok((NetworkEvent::Restore(link), none));
            }
            ScriptAction::Pause(host, class, lasts) => {
                let paused = NetworkEvent::Pause {
                    host: host.index(),
                    class,
                    until: now.saturating_add(lasts),
                };
                return Ok((paused, none));
            }
            change => change,
        };
        let ids = self.plan.topology().switch_ids();
        let before = ids.map(|id| self.routing.entries(id));
        let before = before.collect::<Result<Vec<_>, _>>()?;
        match change {
            ScriptAction::Reroute(reroute) => self.routing.reroute(&self.failed, reroute)?,
            ScriptAction::Route(event) => {
                let about = &self.scenario.events[event];
                if let Some(route) = &about.route {
                    self.routing.route(&about.place(event), route)?;
                }
            }
            _ => self.routing.mend(),
        }
        let mut changed = Vec::new();
        for (id, before) in self.plan.topology().switch_ids().zip(before) {
            if self.routing.entries(id)? != before {
                changed.push((id, self.executor(id)?));
            }
        }
        Ok((NetworkEvent::Tables, changed))
    }

    /// The links that are down.
    pub fn failed(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.failed.iter().copied()
    }
}

/// What a card does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicStep {
    /// It sends the frame that was made, until this time.
    Sends(u64),
    /// Nothing before this time, unless something is heard.
    Waits(u64),
}

/// What a flow got so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowProgress {
    /// Bytes of frames that arrived, each once.
    pub bytes: u64,
    /// Whether it has begun and not ended.
    pub runs: bool,
}

impl FlowProgress {
    /// Of a flow as its receiver has it.
    pub(super) fn new(flow: &Flow, now: u64) -> Self {
        Self {
            bytes: flow.arrivals.bytes,
            runs: flow.start <= now && now < flow.stop && flow.arrivals.complete.is_none(),
        }
    }
}

/// A flow as others may send it.
#[derive(Clone, Debug)]
pub struct PlannedFlow {
    /// The flow's name in the scenario.
    pub name: String,
    /// The host that sends.
    pub from: HostId,
    /// The host that receives.
    pub to: HostId,
    /// Bits per second, at most.
    pub rate: f64,
    /// Length of its frames.
    pub packet: u32,
    /// When it begins, in nanoseconds from the start of the scenario.
    pub start: u64,
    /// When it ends, likewise.
    pub stop: u64,
}

impl Hosts {
    /// The host's link came up or went down.
    pub fn set_up(&mut self, host: usize, up: bool) {
        self.cards[host].up = up;
    }

    /// The host pauses its switch for a class until some time.
    pub fn pause(&mut self, host: usize, class: Priority, now: u64, until: u64) {
        let card = &mut self.cards[host];
        let at = usize::from(class.get() & 7);
        card.pausing[at] = until;
        card.next_pause[at] = now;
    }

    /// A frame has arrived at a host, by an interface where the system's own come too.
    pub fn take(&mut self, host: usize, now: u64, frame: &[u8]) {
        if !self.cards[host].up {
            return;
        }
        if is_mac_control(frame) {
            self.receive(host, now, frame);
        } else if let Some(head) = frame.get(..HEAD).filter(|head| is_ours(head)) {
            self.receive(host, now, head);
        }
    }

    /// What a host's card does now; a frame that it sends replaces `frame`.
    pub fn step(&mut self, host: usize, now: u64, frame: &mut Vec<u8>) -> NicStep {
        let timer = self.timers(host, now);
        match self.turn(host, now, frame) {
            NicAction::Nothing => NicStep::Waits(timer),
            NicAction::Waits(at) => NicStep::Waits(at.min(timer)),
            NicAction::Sends { until, length, .. } => {
                frame.resize(length as usize, 0);
                NicStep::Sends(until)
            }
        }
    }

    /// Does what time has brought to a host; when it will bring more.
    fn timers(&mut self, host: usize, now: u64) -> u64 {
        let mut next = u64::MAX;
        for class in (0..CLASSES as u8).map(Priority::new) {
            let at = usize::from(class.get());
            if self.cards[host].next_pause[at] <= now {
                let again = self.send_pause(host, class, now);
                self.cards[host].next_pause[at] = again.unwrap_or(u64::MAX);
            }
            next = next.min(self.cards[host].next_pause[at]);
        }
        for nth in 0..self.cards[host].flows.len() {
            let flow = self.cards[host].flows[nth];
            next = next.min(self.expire(flow, now).unwrap_or(u64::MAX));
        }
        next
    }

    /// The flows.
    pub fn planned_flows(&self) -> impl Iterator<Item = PlannedFlow> + '_ {
        self.flows.iter().map(|flow| PlannedFlow {
            name: flow.name.clone(),
            from: flow.from,
            to: flow.to,
            rate: flow.rate,
            packet: flow.packet,
            start: flow.start,
            stop: flow.stop,
        })
    }

    /// What every flow got so far, with its name.
    pub fn progress(&self, now: u64) -> Vec<(&str, FlowProgress)> {
        let flows = self.flows.iter();
        flows
            .map(|flow| (flow.name.as_str(), FlowProgress::new(flow, now)))
            .collect()
    }

    /// The flows' figures at the end.
    pub fn reports(&self, topology: &Topology, now: u64) -> Vec<FlowReport> {
        let report = |flow| FlowReport::new(topology, (flow, flow), self.measure_from, now);
        self.flows.iter().map(report).collect()
    }
}

/// Whether a frame is one of ours: IPv4, UDP, to the port that all flows send to.
fn is_ours(head: &[u8]) -> bool {
    head[12..14] == [8, 0] && head[23] == 17 && head[36..38] == 4791u16.to_be_bytes()
}

/// Refuses what only virtual time can play.
///
/// # Errors
/// [`SimulateError::Scenario`] for a scenario with workloads, a round-trip time or jitter.
pub fn refuse_simulated(scenario: &Scenario) -> Result<(), SimulateError> {
    let given = [
        ("workloads", !scenario.workloads.is_empty()),
        ("round_trip", scenario.round_trip.is_some()),
        ("jitter", scenario.jitter.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => {
            let problem = "is for `simulate` alone: real hosts take their own time, and send the flows that are named";
            Err(ScenarioError::wrong(*name, problem).into())
        }
    }
}

/// A deadlock by the names of the network; times as the detector has them.
pub fn deadlock(topology: &Topology, deadlock: &Deadlock) -> DeadlockReport {
    DeadlockReport::new(topology, deadlock)
}

/// What the scenario does, in order of time.
pub fn timeline(scenario: &Scenario) -> Vec<report::TimelineEntry> {
    report::timeline(scenario)
}

/// A switch's figures at a time of its own clock.
pub fn switch(topology: &Topology, id: SwitchId, buffer: &Buffer, now: Nanos) -> SwitchReport {
    SwitchReport::new(topology, id, buffer, now)
}

/// A queue as people read it.
pub fn queue(topology: &Topology, switch: usize, port: PortId, class: Priority) -> String {
    report::port_name(topology, switch, port, class)
}

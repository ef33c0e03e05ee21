//! From a scenario and a network to a simulation that can run: switches with their program, entries
//! and buffers; cards; flows; the list of what will happen.

use std::collections::BTreeMap;
use std::sync::Arc;

use device::buffer::{Buffer, BufferConfig};
use p4exec::{Executor as _, FastestExecutor};
use plan::{ClassId, propagation};
use quantities::{BitRate, Nanos, PortId, Priority};
use topology::routes::forwarding::Reroute;
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};
use wire::pfc::Quanta;

use super::buffers::{self, REACTION_QUANTA};
use super::demands;
use super::distance::Distances;
use super::routing::Routing;
use super::senders::{Ends, Head, host_delay, link_rate, no_class, rate_of, rules};
use crate::embedded::{Network, install};
use crate::simulate::SimulateError;
use crate::simulate::engine::event::PeerPort;
use crate::simulate::host::chance::Chance;
use crate::simulate::host::flow::{ANSWER_LENGTH, Arrivals, Flow, HEAD, Role, Sender, checksum};
use crate::simulate::host::hosts;
use crate::simulate::host::nic::Nic;
use crate::simulate::host::sender::Dcqcn;
use crate::simulate::host::window::Window;
use crate::simulate::host::workload::Workloads;
use spec::{
    EventSpec, FlowSpec, MAX_PACKET, MIN_PACKET, PatternSpec, Scenario, ScenarioError,
    TransportSpec,
};

/// The most flows of a scenario.
const MAX_FLOWS: usize = 1_000_000;

/// Something that will happen, with names looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScriptAction {
    Fail(LinkId),
    Restore(LinkId),
    Reroute(Reroute),
    Route(usize),
    Mend,
    Pause(HostId, Priority, u64),
}

/// Everything of a scenario that is looked up.
pub(crate) struct ResolvedScenario {
    pub(crate) routing: Routing,
    pub(crate) script_actions: Vec<ScriptAction>,
    /// The first switch's executor, of which others are made.
    pub(crate) first: FastestExecutor,
    /// By switch.
    pub(crate) buffers: Vec<BufferConfig>,
    pub(crate) hosts: Vec<Nic>,
    /// By host: where it is plugged in.
    pub(crate) uplinks: Vec<PeerPort>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) workloads: Workloads,
}

/// Looks a scenario up.
pub(crate) fn resolve(
    network: &Network,
    scenario: &Scenario,
) -> Result<ResolvedScenario, SimulateError> {
    let plan = network.plan();
    let topology = plan.topology();
    let entries = topology.switch_ids().map(|s| network.entries(s));
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    let mut routing = Routing::new(network, entries, scenario.tags);
    let longest = longest_packet(scenario).max(plan.tables().budget.mtu.get());
    let rate = scenario.rate.map(|speed| speed.0);
    let mut distances = Distances::new(topology, rate, hosts::overhead(scenario));
    let flows = flows(network, scenario, &mut routing, &mut distances)?;
    let workloads = demands::workloads(network, scenario, &routing, &mut distances)?;
    let script_actions = script_actions(topology, scenario, &mut routing)?;
    let first = FastestExecutor::new(Arc::clone(network.program()))?;
    let mut buffers = Vec::with_capacity(topology.switches().len());
    for id in topology.switch_ids() {
        let mut config = buffers::of_plan(plan, &scenario.switches, scenario.rate, id, longest)?;
        config.seed = scenario.seed.wrapping_add(id.index() as u64);
        let name = &topology.switch(id).name;
        let wrong = |e| ScenarioError::wrong(format!("switch `{name}`"), e);
        Buffer::new(config.clone()).map_err(wrong)?;
        buffers.push(config);
    }
    let (hosts, uplinks) = cards(topology, scenario)?;
    Ok(ResolvedScenario {
        routing,
        script_actions,
        first,
        buffers,
        hosts,
        uplinks,
        flows,
        workloads,
    })
}

/// A switch's executor with the entries that it is to have now.
pub(crate) fn executor(
    first: &FastestExecutor,
    routing: &Routing,
    switch: SwitchId,
) -> Result<FastestExecutor, SimulateError> {
    let mut executor = first.sibling()?;
    install(executor.state_mut(), &routing.entries(switch)?)?;
    Ok(executor)
}

pub(crate) fn longest_packet(scenario: &Scenario) -> u64 {
    let own = scenario.flows.iter().filter_map(|f| f.packet);
    let jobs = scenario.workloads.iter().filter_map(|w| w.packet);
    own.chain(jobs)
        .chain([scenario.packet])
        .max()
        .unwrap_or(0)
        .into()
}

fn quanta(count: u16, rate: BitRate) -> Nanos {
    Quanta(count).duration(rate)
}

pub(crate) fn cables(topology: &Topology, switch: SwitchId) -> Vec<Option<PeerPort>> {
    let last = topology.peers(switch).map(|(port, _)| port.get()).max();
    let mut cables = vec![None; last.map_or(0, |last| usize::from(last) + 1)];
    for (port, peer) in topology.peers(switch) {
        cables[usize::from(port.get())] = Some(far(topology, peer));
    }
    cables
}

fn far(topology: &Topology, peer: topology::Peer) -> PeerPort {
    let (host, node) = match peer.end.node {
        NodeId::Switch(switch) => (false, switch.index()),
        NodeId::Host(host) => (true, host.index()),
    };
    PeerPort {
        host,
        shard: 0,
        node: node as u32,
        port: peer.end.port.get(),
        delay: propagation(topology.link(peer.link).length).get(),
    }
}

/// The hosts' cards, and where they are plugged in. A host with several links uses its first.
fn cards(
    topology: &Topology,
    scenario: &Scenario,
) -> Result<(Vec<Nic>, Vec<PeerPort>), SimulateError> {
    let reaction = scenario.switches.reaction_quanta.unwrap_or(REACTION_QUANTA);
    let (mut cards, mut uplinks) = (Vec::new(), Vec::new());
    for id in topology.host_ids() {
        let host = topology.host(id);
        let uplink = topology.uplinks(id).first();
        let Some((_, peer)) = uplink.filter(|(_, p)| matches!(p.end.node, NodeId::Switch(_)))
        else {
            return Err(
                ScenarioError::wrong(format!("host `{}`", host.name), "has no switch").into(),
            );
        };
        let rate = rate_of(scenario, topology.link(peer.link).rate);
        cards.push(Nic::new(rate, host.mac, quanta(reaction, rate).get()));
        uplinks.push(far(topology, *peer));
    }
    Ok((cards, uplinks))
}

fn flows(
    network: &Network,
    scenario: &Scenario,
    routing: &mut Routing,
    distances: &mut Distances<'_>,
) -> Result<Vec<Flow>, SimulateError> {
    let topology = network.plan().topology();
    let packet = scenario.packet;
    if !(MIN_PACKET..=MAX_PACKET).contains(&packet) {
        let problem = format!("{packet} bytes; frames may have {MIN_PACKET} to {MAX_PACKET}");
        return Err(ScenarioError::wrong("packet", problem).into());
    }
    let mut chance = Chance::new(scenario.seed);
    let mut flows = Vec::new();
    let mut turns = BTreeMap::new();
    for (number, spec) in scenario.flows.iter().enumerate() {
        let place = spec.place(number);
        let wrong = |e| ScenarioError::wrong(place.clone(), e);
        let ends: Vec<(HostId, HostId)> = match (&spec.pattern, &spec.from, &spec.to) {
            (Some(pattern), _, _) => pairs(topology, *pattern),
            (None, Some(from), Some(to)) => {
                let from = topology.host_named(from).map_err(wrong)?;
                vec![(from, topology.host_named(to).map_err(wrong)?)]
            }
            _ => Vec::new(),
        };
        let times = spec.times.unwrap_or(1);
        let more = (times as usize).saturating_mul(ends.len());
        if flows.len().saturating_add(more) > MAX_FLOWS {
            let problem = format!("makes {more} flows; there may be {MAX_FLOWS} in all");
            return Err(ScenarioError::wrong(place, problem).into());
        }
        for (time, (from, to)) in (0..times).flat_map(|t| ends.iter().map(move |&pair| (t, pair))) {
            if from == to {
                return Err(ScenarioError::wrong(place, "sends to itself").into());
            }
            let port = spec.port.unwrap_or_else(|| chance.port());
            let path = match spec.path.as_deref() {
                Some(path) => Some(path),
                None if spec.paths.is_empty() => None,
                None => Some(path_in_turn(
                    topology,
                    &spec.paths,
                    &place,
                    (from, to),
                    &mut turns,
                )?),
            };
            let made = Maker {
                network,
                scenario,
                spec,
                place: &place,
                path,
                port,
                time,
                id: flows.len(),
            };
            flows.push(made.flow(routing, distances, from, to)?);
        }
    }
    Ok(flows)
}

/// The switch that a host's first link leads to.
fn first_switch(topology: &Topology, host: HostId) -> Option<NodeId> {
    let uplink = topology.uplinks(host).first();
    uplink.map(|(_, peer)| peer.end.node)
}

/// How many flows between two switches have a path already.
type Turns = BTreeMap<(NodeId, NodeId), usize>;

/// The next of the paths between two hosts' switches.
fn path_in_turn<'a>(
    topology: &Topology,
    paths: &'a [Vec<String>],
    place: &str,
    (from, to): (HostId, HostId),
    turns: &mut Turns,
) -> Result<&'a [String], ScenarioError> {
    let ends = |host| first_switch(topology, host).map(|node| (node, topology.node_name(node)));
    let (Some((from, first)), Some((to, last))) = (ends(from), ends(to)) else {
        return Err(ScenarioError::wrong(place, "has a host without a switch"));
    };
    let name = |step: Option<&'a String>| step.and_then(|s| s.split(':').next());
    let fits = |path: &&'a Vec<String>| {
        name(path.first()) == Some(first) && name(path.last()) == Some(last)
    };
    let fitting: Vec<&Vec<String>> = paths.iter().filter(fits).collect();
    if fitting.is_empty() {
        let problem = format!("none of its paths goes from `{first}` to `{last}`");
        return Err(ScenarioError::wrong(place, problem));
    }
    let turn = turns.entry((from, to)).or_default();
    let path = fitting[*turn % fitting.len()];
    *turn += 1;
    Ok(path)
}

fn pairs(topology: &Topology, pattern: PatternSpec) -> Vec<(HostId, HostId)> {
    let hosts: Vec<HostId> = topology.host_ids().collect();
    let half = hosts.len() / 2;
    let switch = |host: HostId| first_switch(topology, host);
    match pattern {
        PatternSpec::Permutation => {
            let across = |(i, &from): (usize, &HostId)| (from, hosts[(i + half) % hosts.len()]);
            let pairs = hosts.iter().enumerate().map(across);
            pairs.filter(|(from, to)| from != to).collect()
        }
        PatternSpec::AllToAll => {
            let from_one = |&from: &HostId| {
                let others = hosts.iter().filter(move |&&to| switch(from) != switch(to));
                others.map(move |&to| (from, to))
            };
            hosts.iter().flat_map(from_one).collect()
        }
    }
}

/// Makes one flow.
struct Maker<'a> {
    network: &'a Network,
    scenario: &'a Scenario,
    spec: &'a FlowSpec,
    place: &'a str,
    /// The switches that it passes, if it has routes of its own.
    path: Option<&'a [String]>,
    port: u16,
    /// How many like it there are before it.
    time: u32,
    id: usize,
}

impl Maker<'_> {
    fn flow(
        &self,
        routing: &mut Routing,
        distances: &mut Distances<'_>,
        from: HostId,
        to: HostId,
    ) -> Result<Flow, SimulateError> {
        let (spec, topology) = (self.spec, self.network.plan().topology());
        let wrong = |problem: String| ScenarioError::wrong(self.place, problem);
        let class = match spec.lossy {
            true => Priority::new(0),
            false => routing
                .priority(spec.class)
                .ok_or_else(|| wrong(no_class(self.network, spec.class)))?,
        };
        let packet = spec.packet.unwrap_or(self.scenario.packet);
        let line = link_rate(topology, self.scenario, from);
        let rate = spec.rate.map_or(line, |r| r.0.get().min(line));
        let end = self.scenario.duration.0.get();
        let name = format!("{}->{}", topology.host(from).name, topology.host(to).name);
        let name = match (&spec.name, spec.pattern) {
            (Some(given), None) => given.clone(),
            (Some(given), Some(_)) => format!("{given} {name}"),
            (None, _) => name,
        };
        let name = match spec.times {
            Some(_) => format!("{name} #{}", self.time + 1),
            None => name,
        };
        let later = spec.every.map_or(0, |every| every.0.get()) * u64::from(self.time);
        let mut data = self.head(from, to, packet, spec.transport.is_ecn_capable())?;
        let answer = self.head(to, from, ANSWER_LENGTH as u16, false)?;
        if let Some(names) = self.path {
            let steps = names.iter().map(|step| self.step(step));
            let path = steps.collect::<Result<Vec<_>, _>>()?;
            self.check_path(&path, from)?;
            let address = routing.path(self.place, &name, &path, to)?;
            data[30..34].copy_from_slice(&address.octets());
            checksum(&mut data);
        }
        let ends = Ends { from, to, packet };
        let delay = host_delay(self.scenario, distances, ends).map_err(wrong)?;
        let sender = match spec.transport {
            TransportSpec::Open => Sender::Open,
            TransportSpec::Dcqcn => Sender::Rate(Box::new(Dcqcn::new(rate as f64))),
            _ => Sender::Window(Box::new(Window::new(rules(
                &spec.sender(),
                distances,
                ends,
                delay,
            )))),
        };
        let (packets, last_packet) = match spec.bytes {
            None => (u64::MAX, packet.into()),
            Some(bytes) => Flow::cut(bytes.0.get(), packet.into()),
        };
        let start = spec.start.map_or(0, |t| t.0.get()) + later;
        Ok(Flow {
            id: self.id as u32,
            name,
            from,
            to,
            class: class.get(),
            data,
            answer,
            packet: packet.into(),
            last_packet,
            host_delay: delay,
            acted: [0; 2],
            rate: rate as f64,
            paced: rate < line,
            spray: spec.spray,
            start,
            stop: spec.stop.map_or(end, |t| t.0.get()),
            cycle: spec
                .on
                .zip(spec.off)
                .map(|(on, off)| (on.0.get(), off.0.get())),
            packets,
            sender,
            next: 0,
            due: start as f64,
            sent: 0,
            arrivals: Arrivals::default(),
            timer_at: u64::MAX,
            role: Role::Own,
        })
    }

    /// A step of a path: a switch, and the port by which it is left if that is said.
    fn step(&self, step: &str) -> Result<(SwitchId, Option<PortId>), ScenarioError> {
        let wrong = |problem: String| ScenarioError::wrong(self.place, problem);
        let topology = self.network.plan().topology();
        let (name, port) = match step.split_once(':') {
            None => (step, None),
            Some((name, port)) => (name, Some(port)),
        };
        let switch = topology.switch_named(name);
        let switch = switch.map_err(|e| wrong(e.to_string()))?;
        let Some(text) = port else {
            return Ok((switch, None));
        };
        match topology.port_named(NodeId::Switch(switch), text) {
            Some(port) => Ok((switch, Some(port))),
            None => Err(wrong(format!("`{step}`: `{text}` is no port of `{name}`"))),
        }
    }

    fn check_path(
        &self,
        path: &[(SwitchId, Option<PortId>)],
        from: HostId,
    ) -> Result<(), ScenarioError> {
        let topology = self.network.plan().topology();
        let first = first_switch(topology, from);
        if path.first().map(|&(s, _)| NodeId::Switch(s)) == first {
            return Ok(());
        }
        let first = first.map_or("nothing", |node| topology.node_name(node));
        let problem = format!("its path must begin at `{first}`, where its sender is plugged in");
        Err(ScenarioError::wrong(self.place, problem))
    }

    /// The first bytes of a frame: Ethernet, IPv4, UDP, and room for a note.
    fn head(
        &self,
        from: HostId,
        to: HostId,
        packet: u16,
        ecn: bool,
    ) -> Result<[u8; HEAD], SimulateError> {
        let head = Head {
            class: (!self.spec.lossy).then_some(ClassId::new(self.spec.class)),
            port: self.port,
            packet,
            ecn,
            id: self.id as u16,
        };
        head.bytes(self.network, from, to)
    }
}

fn script_actions(
    topology: &Topology,
    scenario: &Scenario,
    routing: &mut Routing,
) -> Result<Vec<ScriptAction>, SimulateError> {
    let mut script_actions = Vec::new();
    for (number, event) in scenario.events.iter().enumerate() {
        script_actions.push(act(topology, number, event, routing)?);
    }
    routing.mend();
    Ok(script_actions)
}

fn act(
    topology: &Topology,
    number: usize,
    event: &EventSpec,
    routing: &mut Routing,
) -> Result<ScriptAction, ScenarioError> {
    let place = event.place(number);
    let wrong = |e| ScenarioError::wrong(place.clone(), e);
    if let Some(link) = &event.fail {
        return Ok(ScriptAction::Fail(
            topology.link_named(link).map_err(wrong)?,
        ));
    }
    if let Some(link) = &event.restore {
        return Ok(ScriptAction::Restore(
            topology.link_named(link).map_err(wrong)?,
        ));
    }
    if let Some(who) = event.reroute {
        routing.by_routes(&place)?;
        return Ok(ScriptAction::Reroute(who.into()));
    }
    if let Some(route) = &event.route {
        // Tried now, so that a wrong name is found before anything runs.
        routing.route(&place, route)?;
        return Ok(ScriptAction::Route(number));
    }
    if let Some(pause) = &event.pause {
        let host = topology.host_named(&pause.host).map_err(wrong)?;
        if !(1..8).contains(&pause.priority) {
            let problem = format!("priority {} cannot be paused; use 1 to 7", pause.priority);
            return Err(ScenarioError::wrong(place, problem));
        }
        return Ok(ScriptAction::Pause(
            host,
            Priority::new(pause.priority),
            pause.lasts.0.get(),
        ));
    }
    Ok(ScriptAction::Mend)
}

//! From a scenario's workloads to those that run: names looked up, hosts' addresses and distances.

use std::sync::Arc;

use plan::ClassId;
use topology::{HostId, Topology};

use super::distance::Distances;
use super::routing::Routing;
use super::senders::{Ends, Head, host_delay, link_rate, no_class, rules};
use crate::embedded::Network;
use crate::simulate::SimulateError;
use crate::simulate::host::chance::Chance;
use crate::simulate::host::flow::ANSWER_LENGTH;
use crate::simulate::host::hosts;
use crate::simulate::host::workload::{
    Address, Arriving, Between, Demand, Sending, Workload, Workloads,
};
use spec::{ArrivalsSpec, Scenario, ScenarioError, TransportSpec, WorkloadSpec};

/// The most hosts of a network with workloads: what every pair has is kept.
const MAX_HOSTS: usize = 2_048;
/// The most flows that jobs may be expected to have.
const MAX_FLOWS: f64 = 1e7;

/// Looks up what hosts send by chance.
pub(crate) fn workloads(
    network: &Network,
    scenario: &Scenario,
    routing: &Routing,
    distances: &mut Distances<'_>,
) -> Result<Workloads, SimulateError> {
    let topology = network.plan().topology();
    let hosts = topology.hosts().len();
    if scenario.workloads.is_empty() {
        return Ok(Workloads::default());
    }
    if !(2..=MAX_HOSTS).contains(&hosts) {
        let problem = format!("need 2 to {MAX_HOSTS} hosts; this network has {hosts}");
        return Err(ScenarioError::wrong("workloads", problem).into());
    }
    let mut all = Vec::new();
    for spec in &scenario.workloads {
        all.push(workload(network, scenario, routing, distances, spec)?);
    }
    let packet = all.iter().map(|w| w.packet).max().unwrap_or(0);
    let count = all.len() * hosts;
    Ok(Workloads {
        chance: (0..count as u64)
            .map(|number| Chance::of(scenario.seed, number))
            .collect(),
        bytes: vec![0; all.len()],
        demand: Arc::new(Demand {
            hosts: addresses(network, scenario)?,
            between: between(topology, scenario, distances, packet)?,
            overhead: hosts::overhead(scenario),
            all,
        }),
        ..Workloads::default()
    })
}

fn workload(
    network: &Network,
    scenario: &Scenario,
    routing: &Routing,
    distances: &mut Distances<'_>,
    spec: &WorkloadSpec,
) -> Result<Workload, SimulateError> {
    let topology = network.plan().topology();
    let place = format!("workload `{}`", spec.name);
    let wrong = |problem: String| ScenarioError::wrong(place.clone(), problem);
    let end = scenario.duration.0.get();
    let start = spec.start.map_or(0, |time| time.0.get());
    if start >= end {
        return Err(wrong("starts when the simulation has ended".to_owned()).into());
    }
    let stop = spec.stop.map_or(end, |time| time.0.get());
    let others = topology.hosts().len() - 1;
    let servers = spec.servers.map(|servers| servers as usize);
    if servers.is_some_and(|servers| servers > others) {
        return Err(wrong(format!(
            "asks {} servers; there are {others} other hosts",
            spec.servers.unwrap_or(0)
        ))
        .into());
    }
    if let ArrivalsSpec::Poisson(rate) = spec.arrivals {
        let jobs = rate * (stop.min(end) - start) as f64 / 1e9 * (others + 1) as f64;
        let flows = jobs * servers.map_or(1.0, |servers| 2.0 * servers as f64);
        if flows > MAX_FLOWS {
            return Err(wrong(format!(
                "would make {flows:.0} flows; there may be {MAX_FLOWS:.0}"
            ))
            .into());
        }
    }
    let packet = spec.packet.unwrap_or(scenario.packet);
    let class = match spec.lossy {
        true => 0,
        false => {
            let known = routing.priority(spec.class);
            known
                .ok_or_else(|| wrong(no_class(network, spec.class)))?
                .get()
        }
    };
    let (from, to) = (HostId::new(0), HostId::new(1));
    let head = |ecn: bool, packet: u16| Head {
        class: (!spec.lossy).then_some(ClassId::new(spec.class)),
        port: 0,
        packet,
        ecn,
        id: 0,
    };
    let ends = Ends { from, to, packet };
    let delay = host_delay(scenario, distances, ends).map_err(wrong)?;
    let far = farthest(topology, distances, ends);
    let request = spec
        .request
        .map_or(u64::from(ANSWER_LENGTH), |size| size.0.get());
    Ok(Workload {
        name: spec.name.clone(),
        arriving: match spec.arrivals {
            ArrivalsSpec::Poisson(rate) => Arriving::Poisson(rate),
            ArrivalsSpec::Closed(pause) => Arriving::Closed(pause.0.get()),
        },
        servers,
        sizes: spec.sizes.iter().map(|size| size.0.get()).collect(),
        request: u32::try_from(request).unwrap_or(u32::MAX),
        start,
        stop,
        class,
        spray: spec.spray,
        packet: packet.into(),
        sending: match spec.transport {
            TransportSpec::Open => Sending::Open,
            TransportSpec::Dcqcn => Sending::Rate,
            _ => Sending::Window(rules(&spec.sender(), distances, far, delay)),
        },
        data: head(spec.transport.is_ecn_capable(), packet).bytes(network, from, to)?,
        answer: head(false, ANSWER_LENGTH as u16).bytes(network, to, from)?,
    })
}

/// The host that is farthest from the first one: a window that is enough for it is enough for all.
fn farthest(topology: &Topology, distances: &mut Distances<'_>, ends: Ends) -> Ends {
    let others = topology.host_ids().filter(|host| *host != ends.from);
    let far = others.max_by_key(|&to| distances.one_way(ends.from, to, ends.packet.into()));
    Ends {
        to: far.unwrap_or(ends.to),
        ..ends
    }
}

/// What frames to and from every host have of it.
fn addresses(network: &Network, scenario: &Scenario) -> Result<Vec<Address>, SimulateError> {
    let topology = network.plan().topology();
    let direct = network.plan().tables().failover.is_some();
    let mut addresses = Vec::new();
    for host in topology.host_ids() {
        let other = HostId::new(u32::from(host.index() == 0));
        let head = Head {
            class: None,
            port: 0,
            packet: ANSWER_LENGTH as u16,
            ecn: false,
            id: 0,
        };
        let bytes = head.bytes(network, host, other)?;
        let six = |at: usize| std::array::from_fn(|i| bytes[at + i]);
        addresses.push(Address {
            mac: six(6),
            next: (!direct).then(|| six(0)),
            ip: std::array::from_fn(|i| bytes[26 + i]),
            rate: link_rate(topology, scenario, host),
        });
    }
    Ok(addresses)
}

fn between(
    topology: &Topology,
    scenario: &Scenario,
    distances: &mut Distances<'_>,
    packet: u32,
) -> Result<Vec<Between>, ScenarioError> {
    let mut all = Vec::new();
    for from in topology.host_ids() {
        for to in topology.host_ids() {
            let ends = Ends {
                from,
                to,
                packet: packet as u16,
            };
            let delay = match from == to {
                true => 0,
                false => host_delay(scenario, distances, ends)
                    .map_err(|problem| ScenarioError::wrong("round_trip", problem))?,
            };
            all.push(Between {
                data: distances.one_way(from, to, packet) + delay,
                short: distances.one_way(from, to, ANSWER_LENGTH) + delay,
                host_delay: delay,
            });
        }
    }
    Ok(all)
}

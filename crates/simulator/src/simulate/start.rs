//! The simulation before anything happens in it.

use device::{Device, Egress};
use quantities::PortId;

use super::engine::event::PeerPort;
use super::engine::partition::Partition;
use super::engine::simulation::{Simulation, SimulationSetup};
use super::engine::watchdog::Watchdog;
use super::host::hosts::Hosts;
use super::player::ScenarioPlayer;
use super::setup::resolve::cables;
use super::{SimulateError, Threads};
use crate::embedded::Network;
use spec::{Scenario, ScenarioError};

/// Samples of a plot.
const SAMPLES: u64 = 400;

/// A simulation in which nothing has happened yet.
pub(super) fn simulation(
    network: &Network,
    scenario: &Scenario,
    player: &ScenarioPlayer,
    (hosts, uplinks): (Hosts, Vec<PeerPort>),
    observe: bool,
    threads: Threads,
) -> Result<Simulation, SimulateError> {
    let topology = network.plan().topology();
    let mut switches = Vec::with_capacity(topology.switches().len());
    for (id, config) in topology.switch_ids().zip(&player.buffers) {
        let ports: Vec<PortId> = topology.peers(id).map(|(port, _)| port).collect();
        let mut device = Device::new(player.executor(id)?, ports);
        let name = &topology.switch(id).name;
        let wrong = |e| ScenarioError::wrong(format!("switch `{name}`"), e);
        device.set_egress(Egress::buffer(config.clone()).map_err(wrong)?);
        switches.push(device);
    }
    let end = scenario.duration.0.get();
    let rate: u64 = hosts.cards.iter().map(|h| h.rate.get()).sum();
    let cables: Vec<Vec<Option<PeerPort>>> =
        topology.switch_ids().map(|s| cables(topology, s)).collect();
    let parts = threads.parts.max(threads.threads).clamp(1, Threads::MAX) as u8;
    let partition = match parts {
        1 => Partition::whole(switches.len(), uplinks.len()),
        _ => Partition::new(&cables, &work(player, &hosts, &uplinks), &uplinks, parts),
    };
    Ok(Simulation::new(SimulationSetup {
        end,
        partition,
        threads: threads.threads,
        cables,
        switches,
        hosts,
        uplinks,
        sample: scenario.sample.map_or(end / SAMPLES, |t| t.0.get()).max(1),
        observe,
        watchdog: scenario.watchdog.as_ref().map(Watchdog::new),
        scan_every: (end / 200).clamp(10_000, 1_000_000),
        // Every packet is two events at each of about five nodes.
        events_per_microsecond: rate / (u64::from(scenario.packet) * 8) * 10 / 1_000_000,
    }))
}

/// What each switch and its hosts have to do, if all links are used alike: in megabits per second
/// that they send.
fn work(player: &ScenarioPlayer, hosts: &Hosts, uplinks: &[PeerPort]) -> Vec<u64> {
    let rates = player.buffers.iter().map(|config| {
        let ports = config.ports.iter().map(|port| port.rate.get() / 1_000_000);
        ports.sum::<u64>().max(1)
    });
    let mut work: Vec<u64> = rates.collect();
    for (card, far) in hosts.cards.iter().zip(uplinks) {
        work[far.node as usize] += card.rate.get() / 1_000_000;
    }
    work
}

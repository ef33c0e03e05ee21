//! A switch of a network as it is under way: its program, its entries, the state of its ports, and the packets that reach it when
//! every host sends to every other one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use netsim::embedded::{self, Network, NetworkError, Probe};
use p4exec::exec::{Batch, Executor};
use p4exec::{ExecutorKind, FastestExecutor, RuntimeState};
use p4gen::entries::SwitchEntries;
use p4ir::ValidProgram;
use packetgen::Traffic;
use quantities::{Nanos, PortId};
use topology::{LinkId, NodeId, SwitchId, Topology};

/// Bytes of a packet as a host sends it.
const SIZE: usize = 64;

/// UDP ports that hosts send from, one after the other, until there are enough packets.
const FLOWS: std::ops::Range<u16> = 49_152..49_152 + 1024;

/// Switches that a packet crosses at most.
const HOPS: usize = 64;

/// See the module documentation.
pub struct SwitchLoad {
    program: Arc<ValidProgram>,
    entries: SwitchEntries,
    ports: Vec<(PortId, bool)>,
    packets: Traffic,
}

impl SwitchLoad {
    /// A switch of a network in which some links have failed, and at least so many packets if they reach it at all.
    ///
    /// # Errors
    /// [`NetworkError`] if switches cannot be started, or hosts are not plugged in.
    pub fn new(
        network: &Network,
        at: SwitchId,
        failed: &[LinkId],
        count: usize,
    ) -> Result<Self, NetworkError> {
        let mut load = Self {
            program: Arc::clone(network.program()),
            entries: network.entries(at)?,
            ports: ports(network.topology(), at, failed),
            packets: Traffic::new(),
        };
        let mut walk = Walk {
            network,
            failed,
            first: FastestExecutor::new(Arc::clone(network.program()))?,
            switches: BTreeMap::new(),
        };
        let hosts: Vec<_> = network.topology().host_ids().collect();
        for flow in FLOWS {
            for from in &hosts {
                for to in hosts.iter().filter(|to| *to != from) {
                    let probe = Probe {
                        from: *from,
                        to: *to,
                        class: None,
                        flow,
                        ipv6: false,
                    };
                    walk.follow(&probe, at, &mut load.packets)?;
                }
            }
            if load.packets.len() >= count || load.packets.is_empty() {
                break;
            }
        }
        load.packets.truncate(count);
        Ok(load)
    }

    /// The packets, each with the port that it comes by.
    #[must_use]
    pub const fn packets(&self) -> &Traffic {
        &self.packets
    }

    /// The switch on an executor.
    ///
    /// # Errors
    /// [`NetworkError`] if the executor refuses the program, or entries do not fit.
    pub fn start(&self, kind: ExecutorKind) -> Result<Box<dyn Executor + Send>, NetworkError> {
        let mut executor = p4exec::executor(kind, Arc::clone(&self.program))?;
        fill(executor.state_mut(), &self.entries, &self.ports)?;
        Ok(executor)
    }
}

/// The ports of a switch that lead somewhere, with whether they are up.
fn ports(topology: &Topology, switch: SwitchId, failed: &[LinkId]) -> Vec<(PortId, bool)> {
    let is_up = |link| topology.is_live(link) && !failed.contains(&link);
    let peers = topology.peers(switch);
    peers.map(|(port, peer)| (port, is_up(peer.link))).collect()
}

fn fill(
    state: &mut RuntimeState,
    entries: &SwitchEntries,
    ports: &[(PortId, bool)],
) -> Result<(), NetworkError> {
    embedded::install(state, entries)?;
    let last = ports.iter().map(|(port, _)| port.get()).max();
    let count = last.map_or(0, |port| port.saturating_add(1));
    state.set_port_count(count);
    for port in 0..count {
        let port = PortId::new(port);
        state.set_port_up(port, ports.contains(&(port, true)));
    }
    Ok(())
}

/// Packets on their way through a network.
struct Walk<'a> {
    network: &'a Network,
    failed: &'a [LinkId],
    /// What all switches share the machine code of.
    first: FastestExecutor,
    switches: BTreeMap<SwitchId, FastestExecutor>,
}

impl Walk<'_> {
    fn switch(&mut self, id: SwitchId) -> Result<&mut FastestExecutor, NetworkError> {
        match self.switches.entry(id) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let mut switch = self.first.sibling()?;
                let ports = ports(self.network.topology(), id, self.failed);
                fill(switch.state_mut(), &self.network.entries(id)?, &ports)?;
                Ok(place.insert(switch))
            }
        }
    }

    /// Follows a packet, and whatever comes of it, and keeps what reaches `at`.
    fn follow(
        &mut self,
        probe: &Probe,
        at: SwitchId,
        reached: &mut Traffic,
    ) -> Result<(), NetworkError> {
        let (mut bytes, switch, port) = self.network.packet(probe)?;
        bytes.resize(SIZE, 0);
        let mut under_way = VecDeque::from([(switch, port, bytes, 0)]);
        let mut out = Batch::default();
        while let Some((switch, port, bytes, hops)) = under_way.pop_front() {
            out.clear();
            let arrival = [(port, bytes.as_slice())];
            self.switch(switch)?
                .process_batch(Nanos::new(0), &arrival, &mut out);
            for departure in &out.sent {
                let peer = self.network.topology().peer(switch, departure.port);
                if let Some(peer) = peer.filter(|peer| !self.failed.contains(&peer.link))
                    && let NodeId::Switch(next) = peer.end.node
                    && hops < HOPS
                {
                    let bytes = out.packet(departure).to_vec();
                    under_way.push_back((next, peer.end.port, bytes, hops + 1));
                }
            }
            if switch == at {
                reached.push((port, bytes));
            }
        }
        Ok(())
    }
}

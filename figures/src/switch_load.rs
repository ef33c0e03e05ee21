//! A switch of a network as it is under way: its program, its entries, the state of its ports, and
//! the packets that reach it when every host sends to every other one.

use std::sync::Arc;

use p4exec::ExecutorKind;
use p4exec::exec::Executor;
use packetgen::Traffic;
use simulator::embedded::{self, Arrival, Fleet, Network, NetworkError, Probe};
use topology::{LinkId, SwitchId};

/// Bytes of a packet as a host sends it.
const SIZE: usize = 64;

/// UDP ports that hosts send from, one after the other, until there are enough packets.
const FLOWS: std::ops::Range<u16> = 49_152..49_152 + 1024;

/// See the module documentation.
pub struct SwitchLoad<'a> {
    network: &'a Network,
    at: SwitchId,
    failed: &'a [LinkId],
    packets: Traffic,
}

impl<'a> SwitchLoad<'a> {
    /// A switch of a network in which some links have failed, and at least so many packets if they
    /// reach it at all.
    ///
    /// # Errors
    /// [`NetworkError`] if switches cannot be started, or hosts are not plugged in.
    pub fn new(
        network: &'a Network,
        at: SwitchId,
        failed: &'a [LinkId],
        count: usize,
    ) -> Result<Self, NetworkError> {
        let mut fleet = Fleet::on(network)?;
        fleet.set_failed(failed);
        let mut packets = Traffic::new();
        for flow in FLOWS {
            fleet.send_past(&all_to_all(network, flow)?, |switch, port, bytes| {
                if switch == at {
                    packets.push((port, bytes.to_vec()));
                }
            });
            if packets.len() >= count || packets.is_empty() {
                break;
            }
        }
        packets.truncate(count);
        Ok(Self {
            network,
            at,
            failed,
            packets,
        })
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
        let Self { network, at, .. } = *self;
        let mut executor = p4exec::executor(kind, Arc::clone(network.program()))?;
        let (state, topology) = (executor.state_mut(), network.topology());
        embedded::install_switch(state, topology, at, &network.entries(at)?)?;
        embedded::set_failed(state, topology, at, self.failed);
        Ok(executor)
    }
}

/// A packet from every host to every other one.
fn all_to_all(network: &Network, flow: u16) -> Result<Vec<Arrival>, NetworkError> {
    let hosts: Vec<_> = network.topology().host_ids().collect();
    let mut arrivals = Vec::new();
    for &from in &hosts {
        for &to in hosts.iter().filter(|to| **to != from) {
            let (mut bytes, switch, port) = network.packet(&Probe {
                from,
                to,
                class: None,
                flow,
                ipv6: false,
            })?;
            bytes.resize(SIZE, 0);
            arrivals.push(Arrival {
                switch,
                port,
                bytes,
            });
        }
    }
    Ok(arrivals)
}

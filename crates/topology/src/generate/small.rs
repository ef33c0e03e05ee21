//! The small ones: the papers' triangle, lines and rings.

use super::{Cables, Check, GenerateError, MAX_NODES, MAX_PORTS, Network};
use crate::{Switch, SwitchId, Topology};

/// The three switches of Tagger17 with their port numbers, one host each:
/// A {2 host, 3 to B, 4 to C}, B {1 to A, 2 host, 4 to C}, C {1 to A, 3 to B, 4 host}.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreeNode {
    /// Rates and lengths.
    pub cables: Cables,
}

impl ThreeNode {
    /// Generates the topology.
    ///
    /// # Errors
    /// None in practice; the signature is that of all generators.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let mut net = Network::new("three-node", "three-node".to_owned(), self.cables);
        let [a, b, c] = ["A", "B", "C"].map(|name| net.builder.switch(Switch::new(name, 4)));
        net.host(a, 2);
        net.host(b, 2);
        net.host(c, 4);
        net.join((a, 3), (b, 1));
        net.join((a, 4), (c, 1));
        net.join((b, 4), (c, 3));
        net.finish()
    }
}

/// Switches `s1` to `sN` in a row. With H hosts a switch, ports 1 to H are the hosts', port H + 1
/// leads to the previous switch and port H + 2 to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Number of switches.
    pub switches: u32,
    /// Hosts per switch.
    pub hosts: u16,
    /// Rates and lengths.
    pub cables: Cables,
}

impl Line {
    /// Generates the topology.
    ///
    /// # Errors
    /// [`GenerateError`] if a parameter is out of range.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("line");
        check.range("the number of switches", self.switches, 1, MAX_NODES)?;
        let (mut net, switches) = row("line", self.switches, self.hosts, self.cables)?;
        for pair in switches.windows(2) {
            net.join((pair[0], self.hosts + 2), (pair[1], self.hosts + 1));
        }
        net.finish()
    }
}

/// Switches `s1` to `sN` in a circle, with ports as in [`Line`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Number of switches.
    pub switches: u32,
    /// Hosts per switch.
    pub hosts: u16,
    /// Rates and lengths.
    pub cables: Cables,
}

impl Ring {
    /// Generates the topology.
    ///
    /// # Errors
    /// [`GenerateError`] if a parameter is out of range.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("ring");
        check.range("the number of switches", self.switches, 3, MAX_NODES)?;
        let (mut net, switches) = row("ring", self.switches, self.hosts, self.cables)?;
        for (at, &switch) in switches.iter().enumerate() {
            let next = switches[(at + 1) % switches.len()];
            net.join((switch, self.hosts + 2), (next, self.hosts + 1));
        }
        net.finish()
    }
}

/// The switches of a line or ring with their hosts.
fn row(
    topology: &'static str,
    switches: u32,
    hosts: u16,
    cables: Cables,
) -> Result<(Network, Vec<SwitchId>), GenerateError> {
    let check = Check(topology);
    check.range(
        "the number of hosts per switch",
        hosts,
        0,
        u64::from(MAX_PORTS) - 2,
    )?;
    check.nodes("hosts", Some(u64::from(switches) * u64::from(hosts)))?;
    let mut net = Network::new(topology, format!("{topology}-{switches}"), cables);
    let ids = (1..=switches).map(|n| {
        let switch = Switch::new(format!("s{n}"), hosts + 2);
        let id = net.builder.switch(switch);
        net.hosts(id, hosts);
        id
    });
    let ids = ids.collect();
    Ok((net, ids))
}

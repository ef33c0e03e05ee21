//! Xpander: a random lift of a complete graph (Xpander16).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{Cables, Check, GenerateError, MAX_NODES, MAX_PORTS, Network};
use crate::{Switch, Topology};

/// How often a lift is drawn until one is connected.
const DRAWS: usize = 100;

/// A random lift of the complete graph of `fabric_ports + 1` nodes: every node becomes a group of
/// switches, and every edge a random perfect matching of two groups. No two switches are joined
/// twice. Ports of a switch are its hosts', then those to other switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xpander {
    /// Number of switches: a multiple of `fabric_ports + 1`.
    pub switches: u32,
    /// Ports per switch.
    pub ports: u16,
    /// Ports of each switch that lead to switches. The others lead to hosts.
    pub fabric_ports: u16,
    /// Seed of the matchings.
    pub seed: u64,
    /// Rates and lengths.
    pub cables: Cables,
}

impl Xpander {
    /// Generates the topology.
    ///
    /// # Errors
    /// [`GenerateError`] if a parameter is out of range, or no connected network has that shape.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("xpander");
        self.check(&check)?;
        let hosts = self.ports - self.fabric_ports;
        let name = format!("xpander-{}x{}", self.switches, self.ports);
        let mut net = Network::new("xpander", name, self.cables);
        let groups = u32::from(self.fabric_ports) + 1;
        let per_group = self.switches / groups;
        let mut ids = Vec::new();
        for number in 0..self.switches {
            let mut switch = Switch::new(format!("s{}", number + 1), self.ports);
            switch.group = Some(number / per_group);
            ids.push(net.builder.switch(switch));
        }
        for &id in &ids {
            net.hosts(id, hosts);
        }
        let mut next_port = vec![hosts; ids.len()];
        for (a, b) in self.connected(&check)? {
            next_port[a] += 1;
            next_port[b] += 1;
            net.join((ids[a], next_port[a]), (ids[b], next_port[b]));
        }
        net.finish()
    }

    fn check(&self, check: &Check) -> Result<(), GenerateError> {
        let (ports, fabric_ports) = (self.ports, self.fabric_ports);
        check.range("the number of ports", ports, 1, u64::from(MAX_PORTS))?;
        check.range(
            "the number of fabric ports",
            fabric_ports,
            1,
            u64::from(ports),
        )?;
        let groups = u32::from(fabric_ports) + 1;
        check.range(
            "the number of switches",
            self.switches,
            u64::from(groups),
            MAX_NODES,
        )?;
        if !self.switches.is_multiple_of(groups) {
            let below = self.switches / groups * groups;
            return Err(check.impossible(format!(
                "{} switches are no multiple of {groups}, the fabric ports and one; use {below} or {}",
                self.switches,
                below + groups
            )));
        }
        let hosts = u64::from(self.switches) * u64::from(ports - fabric_ports);
        check.nodes("hosts", Some(hosts))
    }

    /// Draws the matchings until the network is connected.
    fn connected(&self, check: &Check) -> Result<Vec<(usize, usize)>, GenerateError> {
        let switches = self.switches as usize;
        let groups = usize::from(self.fabric_ports) + 1;
        let per_group = switches / groups;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        for _ in 0..DRAWS {
            let mut edges = Vec::new();
            for a in 0..groups {
                for b in a + 1..groups {
                    let mut partners: Vec<usize> = (0..per_group).collect();
                    partners.shuffle(&mut rng);
                    let pairs = partners.iter().enumerate();
                    edges.extend(pairs.map(|(i, &j)| (a * per_group + i, b * per_group + j)));
                }
            }
            edges.sort_unstable();
            if super::is_connected(switches, &edges) {
                return Ok(edges);
            }
        }
        Err(check.impossible(format!(
            "none of {DRAWS} lifts to {switches} switches with {} fabric ports was connected; use more fabric ports",
            self.fabric_ports
        )))
    }
}

//! Digit-correcting paths in a BCube.
//!
//! A server's address is its number among the servers written in base n; a switch joins the servers
//! that differ in one digit (BCube(n, k): k + 1 digits). The structure is read off the topology and
//! verified, so it does not matter who made the topology or how its nodes are called.

use crate::{ArcId, Fabric, NodeId, Role, SwitchId, Topology};

use super::error::RouteError;

/// The digits of the servers of a BCube.
#[derive(Clone, Debug)]
pub(super) struct Bcube {
    n: usize,
    /// `n` to the power of each digit's position.
    weights: Vec<usize>,
    /// The servers in address order.
    servers: Vec<SwitchId>,
    /// The address of a server, by switch index.
    address: Vec<Option<usize>>,
}

impl Bcube {
    /// Reads the structure off a topology, links that are down included.
    pub(super) fn new(topology: &Topology) -> Result<Self, RouteError> {
        let refuse = |reason: String| Err(RouteError::NotBcube { reason });
        let is_server = |s: &SwitchId| topology.switch(*s).role == Role::Server;
        let servers: Vec<_> = topology.switch_ids().filter(is_server).collect();
        let mut address = vec![None; topology.switches().len()];
        for (number, server) in servers.iter().enumerate() {
            address[server.index()] = Some(number);
        }
        // The servers on each switch.
        let mut members = Vec::new();
        for switch in topology.switch_ids().filter(|s| !is_server(s)) {
            let mut joined = Vec::new();
            for (_, peer) in topology.peers(switch) {
                match peer.end.node {
                    NodeId::Switch(s) if is_server(&s) => joined.extend(address[s.index()]),
                    other => {
                        let (a, b) = (&topology.switch(switch).name, topology.node_name(other));
                        return refuse(format!(
                            "switch `{a}` is linked to `{b}`, which is no server"
                        ));
                    }
                }
            }
            members.push((switch, joined));
        }
        let n = members
            .iter()
            .map(|(_, joined)| joined.len())
            .max()
            .unwrap_or(0);
        let mut weights = Vec::new();
        let mut size = 1;
        while n >= 2 && size < servers.len() {
            weights.push(size);
            size *= n;
        }
        if weights.is_empty() || size != servers.len() {
            return refuse(format!(
                "{} servers on switches of {n} servers are no power of {n}",
                servers.len()
            ));
        }
        let bcube = Self {
            n,
            weights,
            servers,
            address,
        };
        for (switch, joined) in members {
            if !bcube.is_line(&joined) {
                let name = &topology.switch(switch).name;
                return refuse(format!(
                    "the servers of switch `{name}` do not differ in exactly one digit"
                ));
            }
        }
        Ok(bcube)
    }

    fn digit(&self, address: usize, level: usize) -> usize {
        address / self.weights[level] % self.n
    }

    /// Whether addresses are the `n` that agree in all digits but one.
    fn is_line(&self, addresses: &[usize]) -> bool {
        let (Some(min), Some(max)) = (addresses.iter().min(), addresses.iter().max()) else {
            return false;
        };
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() == self.n
            && (0..self.weights.len()).any(|level| {
                let step = self.weights[level];
                max - min == step * (self.n - 1)
                    && sorted.iter().all(|a| (a - min) % step == 0)
                    && self.digit(*min, level) == 0
            })
    }

    /// How many digits an address has.
    pub(super) fn levels(&self) -> usize {
        self.weights.len()
    }

    /// The highest digit in which two servers differ; `None` if either is no server or they are
    /// one.
    pub(super) fn highest_difference(&self, a: SwitchId, b: SwitchId) -> Option<usize> {
        let (a, b) = (self.address[a.index()]?, self.address[b.index()]?);
        (0..self.levels())
            .rev()
            .find(|&l| self.digit(a, l) != self.digit(b, l))
    }

    /// The two arcs from a server over a switch to the server that has the digit `level` of `to`.
    pub(super) fn correct(
        &self,
        fabric: &Fabric,
        from: SwitchId,
        to: SwitchId,
        level: usize,
    ) -> Option<[ArcId; 2]> {
        let (at, goal) = (self.address[from.index()]?, self.address[to.index()]?);
        let weight = self.weights[level];
        let next = at - self.digit(at, level) * weight + self.digit(goal, level) * weight;
        let next = self.servers[next];
        fabric.out_arcs(from).find_map(|(first, arc)| {
            let mut onward = fabric.out_arcs(arc.to);
            let (second, _) = onward.find(|(_, arc)| arc.to == next)?;
            Some([first, second])
        })
    }

    /// The paths from one server to another, one for each order of digits that begins at `first`
    /// and goes down, wrapping around; each path once, and only those whose links are all up.
    pub(super) fn paths(
        &self,
        fabric: &Fabric,
        from: SwitchId,
        to: SwitchId,
        first: impl Iterator<Item = usize>,
    ) -> Vec<Vec<ArcId>> {
        let mut paths = Vec::new();
        for first in first {
            let levels = self.levels();
            let order = (0..levels).map(|step| (first + levels - step) % levels);
            if let Some(path) = self.path(fabric, from, to, order)
                && !paths.contains(&path)
            {
                paths.push(path);
            }
        }
        paths
    }

    fn path(
        &self,
        fabric: &Fabric,
        from: SwitchId,
        to: SwitchId,
        order: impl Iterator<Item = usize>,
    ) -> Option<Vec<ArcId>> {
        let goal = self.address[to.index()]?;
        let mut path = Vec::new();
        let mut at = from;
        for level in order {
            if self.digit(self.address[at.index()]?, level) != self.digit(goal, level) {
                let arcs = self.correct(fabric, at, to, level)?;
                path.extend(arcs);
                at = fabric.arc(arcs[1]).to;
            }
        }
        Some(path)
    }
}

//! Destination-based forwarding: which prefixes a switch sends to which ports.
//!
//! A routing policy becomes, for every switch, a longest-prefix-match table whose entries name groups of
//! equal next hops. Tables are small and exact:
//!
//! - one prefix per edge switch, and two neighbouring blocks become one where both are assigned and go
//!   the same way; no table ever sends an unassigned address toward the hosts;
//! - below the top layer, what goes up by the most common set of ports becomes the default route;
//! - an edge switch with a default route discards what lies in its own subnet and is no host of its own.
//!
//! So an address that nobody has climbs at most to the top and is dropped there: nothing can circulate.

mod costs;
mod lpm;
mod next;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use quantities::PortId;
use rayon::prelude::*;

use super::error::RouteError;
use super::policy::RoutePolicy;
use super::set::RouteSet;
use crate::{HostId, Ipv4Prefix, Ipv6Prefix, NodeId, SwitchId, Topology};
use lpm::{AddressPlan, Block};
use next::NextSets;

/// Who reacts to links and switches that are down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reroute {
    /// The whole network has converged: best routes over what is up. In layered topologies under an
    /// up-down policy they bounce only where no up-down path survives.
    #[default]
    Converged,
    /// Only the switches at a failed link have reacted, the others forward as before the failure. A
    /// switch left without a next hop detours over its best neighbour (a bounce, in a Clos). Packets may
    /// come back and circulate until their TTL ends: see [`Forwarding::find_loop`]. Through virtual layers the detour is
    /// the one that bounces least, to a neighbour whose ways as before the failure do not come back.
    Local,
}

/// One of the equal ways to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHop {
    /// The port to send from.
    pub port: PortId,
    /// The Ethernet destination to write: the host's, or that of the next switch's port.
    pub mac: [u8; 6],
}

/// What to do with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ForwardAction {
    /// Send it by one member of the group of this number.
    Group(u32),
    /// Drop it.
    Discard,
}

/// The forwarding of one switch. A packet that matches no entry is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchForwarding {
    /// Groups of equal next hops, each in port order and none empty.
    pub groups: Vec<Vec<NextHop>>,
    /// IPv4 entries by address, then length; the longest match counts.
    pub ipv4: Vec<(Ipv4Prefix, ForwardAction)>,
    /// IPv6 entries likewise.
    pub ipv6: Vec<(Ipv6Prefix, ForwardAction)>,
}

impl SwitchForwarding {
    /// The next hops of an address; none if it is discarded or unknown.
    #[must_use]
    pub fn lookup(&self, address: IpAddr) -> &[NextHop] {
        let action = match address {
            IpAddr::V4(address) => {
                let matching = self
                    .ipv4
                    .iter()
                    .filter(|(prefix, _)| prefix.contains(address));
                matching
                    .max_by_key(|(prefix, _)| prefix.length())
                    .map(|&(_, action)| action)
            }
            IpAddr::V6(address) => {
                let matching = self
                    .ipv6
                    .iter()
                    .filter(|(prefix, _)| prefix.contains(address));
                matching
                    .max_by_key(|(prefix, _)| prefix.length())
                    .map(|&(_, action)| action)
            }
        };
        match action {
            Some(ForwardAction::Group(group)) => {
                let group = usize::try_from(group)
                    .ok()
                    .and_then(|at| self.groups.get(at));
                group.map_or(&[], Vec::as_slice)
            }
            Some(ForwardAction::Discard) | None => &[],
        }
    }
}

/// The forwarding of a network, switch by switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    switches: Vec<SwitchForwarding>,
}

impl Forwarding {
    /// Derives the tables from a policy.
    ///
    /// Packets follow routes of the policy as far as forwarding by destination can: up-down routes, the
    /// shortest up and down through virtual layers that keep to one rank a switch, all shortest paths, the first of the k shortest, one order of BCube digits, the first listed route
    /// through each switch. Where the policy has no route, the shortest path fills in, so that every host
    /// is reached that can be.
    ///
    /// # Errors
    /// [`RouteError`] if the policy does not fit the topology.
    pub fn new(
        topology: &Topology,
        policy: &RoutePolicy,
        reroute: Reroute,
    ) -> Result<Self, RouteError> {
        let switches = Self::each(topology, policy, reroute, |_, table| table)?;
        Ok(Self { switches })
    }

    /// What a function makes of the tables of every switch, in topology order. Tables that it does not keep are never held together: those of
    /// a large network take gigabytes.
    ///
    /// # Errors
    /// [`RouteError`] if the policy does not fit the topology.
    pub fn each<T: Send>(
        topology: &Topology,
        policy: &RoutePolicy,
        reroute: Reroute,
        made: impl Fn(SwitchId, SwitchForwarding) -> T + Sync,
    ) -> Result<Vec<T>, RouteError> {
        let planned;
        let routed = match reroute {
            Reroute::Converged => topology,
            Reroute::Local => {
                planned = topology.all_up();
                &planned
            }
        };
        let set = RouteSet::new(routed, policy.clone())?;
        let plan = AddressPlan::new(routed, &set);
        let next = NextSets::new(&set, &plan, topology);
        let switches: Vec<SwitchId> = topology.switch_ids().collect();
        let table = |&switch: &SwitchId| {
            let table = if topology.switch(switch).up {
                next.table(topology, &plan, switch)
            } else {
                SwitchForwarding::default()
            };
            made(switch, table)
        };
        Ok(switches.par_iter().map(table).collect())
    }

    /// Tables that somebody else made: one of each switch, in topology order.
    #[must_use]
    pub fn of(switches: Vec<SwitchForwarding>) -> Self {
        Self { switches }
    }

    /// The tables of one switch.
    #[must_use]
    pub fn switch(&self, switch: SwitchId) -> &SwitchForwarding {
        &self.switches[switch.index()]
    }

    /// The tables of all switches, in id order.
    #[must_use]
    pub fn switches(&self) -> &[SwitchForwarding] {
        &self.switches
    }

    /// A cycle of switches in which packets to a host may circulate, if there is one.
    #[must_use]
    pub fn find_loop(&self, topology: &Topology, host: HostId) -> Option<Vec<SwitchId>> {
        let address = IpAddr::V4(topology.host(host).ipv4);
        let next = |switch: SwitchId| -> Vec<SwitchId> {
            let hops = self.switch(switch).lookup(address).iter();
            let peer = |hop: &NextHop| match topology.peer(switch, hop.port)?.end.node {
                NodeId::Switch(next) => Some(next),
                NodeId::Host(_) => None,
            };
            hops.filter_map(peer).collect()
        };
        let mut done = BTreeSet::new();
        for start in topology.switch_ids() {
            // Depth first; `path` holds the switches under way with what is left to try of each.
            let mut path = vec![(start, next(start))];
            while let Some((at, ahead)) = path.last_mut() {
                let at = *at;
                match ahead.pop() {
                    Some(to) => {
                        if let Some(begin) = path.iter().position(|&(s, _)| s == to) {
                            return Some(path[begin..].iter().map(|&(s, _)| s).collect());
                        }
                        if !done.contains(&to) {
                            path.push((to, next(to)));
                        }
                    }
                    None => {
                        done.insert(at);
                        path.pop();
                    }
                }
            }
        }
        None
    }
}

/// Groups of next hops under construction, each once.
#[derive(Debug, Default)]
struct Groups {
    groups: Vec<Vec<NextHop>>,
    known: BTreeMap<Vec<NextHop>, u32>,
}

impl Groups {
    /// The number of a group; an empty one discards.
    fn intern(&mut self, hops: Vec<NextHop>) -> ForwardAction {
        if hops.is_empty() {
            return ForwardAction::Discard;
        }
        let number = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        let number = *self.known.entry(hops.clone()).or_insert_with(|| {
            self.groups.push(hops);
            number
        });
        ForwardAction::Group(number)
    }

    /// The groups that entries use, numbered anew in the order of first use.
    fn compact(
        self,
        v4: Vec<(Block, ForwardAction)>,
        v6: Vec<(Block, ForwardAction)>,
    ) -> SwitchForwarding {
        let mut table = SwitchForwarding::default();
        let mut renamed: BTreeMap<u32, u32> = BTreeMap::new();
        let mut rename = |action| match action {
            ForwardAction::Discard => ForwardAction::Discard,
            ForwardAction::Group(old) => {
                let next = u32::try_from(table.groups.len()).unwrap_or(u32::MAX);
                ForwardAction::Group(*renamed.entry(old).or_insert_with(|| {
                    let at = usize::try_from(old).unwrap_or(usize::MAX);
                    table.groups.push(self.groups[at].clone());
                    next
                }))
            }
        };
        table.ipv4 = v4
            .into_iter()
            .map(|(b, action)| (b.ipv4(), rename(action)))
            .collect();
        table.ipv6 = v6
            .into_iter()
            .map(|(b, action)| (b.ipv6(), rename(action)))
            .collect();
        table
    }
}

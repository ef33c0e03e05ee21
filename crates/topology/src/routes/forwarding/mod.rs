//! Destination-based forwarding: which prefixes a switch sends to which ports.
//!
//! A routing policy becomes, for every switch, a longest-prefix-match table whose entries name
//! groups of equal next hops. Tables are small and exact:
//!
//! - one prefix per edge switch: its subnet, or else the smallest block that holds its hosts, if
//!   nobody else has a part of it; hosts whose addresses do not lie together have entries of their
//!   own;
//! - two neighbouring blocks become one where both are assigned and go the same way: an unassigned
//!   address goes to the switch in whose block it lies, which drops it, or nowhere;
//! - below the top layer, what goes up by the most common set of ports becomes the default route;
//! - an edge switch with a default route discards what lies in its own subnet and is no host of its
//!   own.
//!
//! So an address that nobody has climbs at most to the top and is dropped there: nothing can
//! circulate.

mod costs;
mod groups;
mod lpm;
mod next;
mod returns;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use quantities::PortId;
use rayon::prelude::*;

use super::error::RouteError;
use super::policy::RoutePolicy;
use super::set::RouteSet;
use crate::{HostId, Ipv4Prefix, Ipv6Prefix, NodeId, SwitchId, Topology};
use groups::Groups;
pub use groups::HopGroups;
use lpm::AddressPlan;
use next::NextSets;
pub use returns::after_return;

/// Who reacts to links and switches that are down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reroute {
    /// The whole network has converged: best routes over what is up. In layered topologies under an
    /// up-down policy they bounce only where no up-down path survives.
    #[default]
    Converged,
    /// Only the switches at a failed link have reacted, the others forward as before the failure. A
    /// switch left without a next hop detours over its best neighbour (a bounce, in a Clos). A
    /// packet that comes back goes on by another member of the group ([`after_return`]). Where
    /// several links have failed it may still circulate until its TTL ends: see
    /// [`Forwarding::find_loop`]. Through virtual layers the detour is the one that bounces least,
    /// to a neighbour whose ways as before the failure do not come back.
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
    pub groups: HopGroups,
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
            Some(ForwardAction::Group(group)) => self.groups.get(group).unwrap_or_default(),
            Some(ForwardAction::Discard) | None => &[],
        }
    }
}

/// Where the tables of switches come from.
pub trait SwitchTables: fmt::Debug + Sync {
    /// The tables of one switch.
    fn tables_of(&self, switch: SwitchId) -> Cow<'_, SwitchForwarding>;
}

/// The forwarding of a network, from which the tables of a switch are made when they are asked for.
/// It holds how far every switch is from every destination, which is far less than all tables.
#[derive(Debug)]
pub struct Routing<'a> {
    topology: &'a Topology,
    plan: AddressPlan,
    next: NextSets,
}

impl<'a> Routing<'a> {
    /// The forwarding by a policy; see [`Forwarding::new`].
    ///
    /// # Errors
    /// [`RouteError`] if the policy does not fit the topology.
    pub fn new(
        topology: &'a Topology,
        policy: &RoutePolicy,
        reroute: Reroute,
    ) -> Result<Self, RouteError> {
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
        let next = NextSets::new(set, &plan, topology);
        Ok(Self {
            topology,
            plan,
            next,
        })
    }

    /// The tables of one switch; empty if it is down.
    #[must_use]
    pub fn table(&self, switch: SwitchId) -> SwitchForwarding {
        if self.topology.switch(switch).up {
            self.next.table(self.topology, &self.plan, switch)
        } else {
            SwitchForwarding::default()
        }
    }
}

impl SwitchTables for Routing<'_> {
    fn tables_of(&self, switch: SwitchId) -> Cow<'_, SwitchForwarding> {
        Cow::Owned(self.table(switch))
    }
}

/// The forwarding of a network, switch by switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    switches: Vec<SwitchForwarding>,
}

impl SwitchTables for Forwarding {
    fn tables_of(&self, switch: SwitchId) -> Cow<'_, SwitchForwarding> {
        Cow::Borrowed(self.switch(switch))
    }
}

impl Forwarding {
    /// Derives the tables from a policy.
    ///
    /// Packets follow routes of the policy as far as forwarding by destination can: up-down routes,
    /// the shortest up and down through virtual layers that keep to one rank a switch, all shortest
    /// paths, the first of the k shortest, one order of BCube digits, the first listed route
    /// through each switch. Where the policy has no route, the shortest path fills in, so that
    /// every host is reached that can be.
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

    /// What a function makes of the tables of every switch, in topology order. Tables that it does
    /// not keep are never held together: those of a large network take gigabytes.
    ///
    /// # Errors
    /// [`RouteError`] if the policy does not fit the topology.
    pub fn each<T: Send>(
        topology: &Topology,
        policy: &RoutePolicy,
        reroute: Reroute,
        made: impl Fn(SwitchId, SwitchForwarding) -> T + Sync,
    ) -> Result<Vec<T>, RouteError> {
        let routing = Routing::new(topology, policy, reroute)?;
        let switches: Vec<SwitchId> = topology.switch_ids().collect();
        let of = |&switch: &SwitchId| made(switch, routing.table(switch));
        Ok(switches.par_iter().map(of).collect())
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

    /// A cycle of switches in which packets to a host may circulate, if there is one. Packets that
    /// come back to a switch go on as [`after_return`] says.
    #[must_use]
    pub fn find_loop(&self, topology: &Topology, host: HostId) -> Option<Vec<SwitchId>> {
        let address = IpAddr::V4(topology.host(host).ipv4);
        let next = |(switch, arrived): (SwitchId, Option<PortId>)| {
            let hops = self.switch(switch).lookup(address);
            let back = after_return(topology, switch, hops).into_iter();
            let mut back = back.filter(|(port, _)| Some(*port) == arrived);
            let hops = back
                .next()
                .map_or_else(|| hops.to_vec(), |(_, hop)| vec![hop]);
            let peer = |hop: &NextHop| {
                let end = topology.peer(switch, hop.port)?.end;
                match end.node {
                    NodeId::Switch(next) => Some((next, Some(end.port))),
                    NodeId::Host(_) => None,
                }
            };
            hops.iter().filter_map(peer).collect::<Vec<_>>()
        };
        let mut done = BTreeSet::new();
        for start in topology.switch_ids().map(|switch| (switch, None)) {
            // Depth first; `path` holds the arrivals under way with what is left to try of each.
            let mut path = vec![(start, next(start))];
            while let Some((at, ahead)) = path.last_mut() {
                let at = *at;
                match ahead.pop() {
                    Some(to) => {
                        if let Some(begin) = path.iter().position(|&(s, _)| s == to) {
                            return Some(path[begin..].iter().map(|((s, _), _)| *s).collect());
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

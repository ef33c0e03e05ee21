//! The forwarding tables of all switches in little room: groups as ports, and prefixes as runs of hosts in the order of addresses.

use std::sync::Arc;

use quantities::PortId;
use topology::routes::forwarding::{ForwardAction, SwitchForwarding};
use topology::{HostId, Topology};

/// Address families, for which tables are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) const ALL: [Self; 2] = [Self::V4, Self::V6];
}

/// What a switch does with packets to some hosts: its group of next hops, if it forwards at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Action(u32);

impl Action {
    /// Dropped.
    const NONE: Self = Self(u32::MAX);

    pub(super) fn group(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}

impl From<ForwardAction> for Action {
    fn from(action: ForwardAction) -> Self {
        match action {
            ForwardAction::Group(group) => Self(group),
            ForwardAction::Discard => Self::NONE,
        }
    }
}

/// All hosts by their addresses of one family.
#[derive(Debug)]
pub(super) struct Ranking {
    /// Rising.
    addresses: Vec<u128>,
    /// The place of every host among them.
    ranks: Vec<u32>,
}

impl Ranking {
    pub(super) fn new(topology: &Topology, family: Family) -> Self {
        let address = |id: HostId| {
            let host = topology.host(id);
            match family {
                Family::V4 => u128::from(u32::from(host.ipv4)),
                Family::V6 => u128::from(host.ipv6),
            }
        };
        let mut order: Vec<(u128, HostId)> =
            topology.host_ids().map(|id| (address(id), id)).collect();
        order.sort_unstable();
        let mut ranks = vec![0; order.len()];
        for ((_, host), rank) in order.iter().zip(0..) {
            ranks[host.index()] = rank;
        }
        Self {
            addresses: order.into_iter().map(|(address, _)| address).collect(),
            ranks,
        }
    }

    /// The rank of the first address that is not below `start`; it is known not to be less than `known`, and mostly little more.
    fn first_from(&self, known: usize, start: u128) -> usize {
        let rest = &self.addresses[known..];
        let mut step = 1;
        while rest.get(step).is_some_and(|address| *address < start) {
            step *= 2;
        }
        let near = &rest[..rest.len().min(step)];
        known + near.partition_point(|address| *address < start)
    }

    pub(super) fn rank(&self, host: HostId) -> u32 {
        self.ranks[host.index()]
    }

    /// Whether hosts stand in the same order by the addresses of another family.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.ranks == other.ranks
    }
}

/// The groups of one switch.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Where the ports of every group end.
    ends: Vec<u32>,
    ports: Vec<PortId>,
}

impl Groups {
    pub(super) fn new(table: &SwitchForwarding) -> Self {
        let mut groups = Self::default();
        for group in &table.groups {
            groups.ports.extend(group.iter().map(|hop| hop.port));
            let end = u32::try_from(groups.ports.len()).unwrap_or(u32::MAX);
            groups.ends.push(end);
        }
        groups.ends.shrink_to_fit();
        groups.ports.shrink_to_fit();
        groups
    }

    /// The ports to which a switch sends; none if it drops.
    pub(super) fn ports(&self, action: Action) -> &[PortId] {
        let Some(group) = action.group() else {
            return &[];
        };
        let start = match group.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).copied().unwrap_or(u32::MAX),
        };
        let end = self.ends.get(group).copied().unwrap_or(0);
        self.ports
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }
}

/// The table of one switch and family: where each run of hosts that it treats alike begins, in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Runs(Arc<[(u32, Action)]>);

impl Runs {
    /// Flattens a table. Prefixes nest, so the innermost that is open decides.
    pub(super) fn new(table: &SwitchForwarding, family: Family, hosts: &Ranking) -> Self {
        let mut runs: Vec<(u32, Action)> = vec![(0, Action::NONE)];
        let mut below = 0;
        for (start, action) in intervals(table, family) {
            below = hosts.first_from(below, start);
            let rank = u32::try_from(below).unwrap_or(u32::MAX);
            // Of intervals without a host between them the last counts.
            runs.pop_if(|(before, _)| *before == rank);
            if runs.last().is_none_or(|(_, before)| *before != action) {
                runs.push((rank, action));
            }
        }
        Self(runs.into())
    }

    /// What happens to packets to hosts, whose ranks must rise: the action, and the first rank to which something else may happen.
    pub(super) fn follow(&self) -> impl FnMut(u32) -> (Action, u32) + '_ {
        let mut at = 0;
        move |rank| {
            while self.0.get(at + 1).is_some_and(|(start, _)| *start <= rank) {
                at += 1;
            }
            let end = self.0.get(at + 1).map_or(u32::MAX, |(start, _)| *start);
            (self.0[at].1, end)
        }
    }
}

/// A table as the first address of each interval, from 0, with what happens there.
fn intervals(table: &SwitchForwarding, family: Family) -> Vec<(u128, Action)> {
    let mut starts = vec![(0, Action::NONE)];
    // The prefixes that are open, outermost first: last address and action.
    let mut open: Vec<(u128, Action)> = Vec::new();
    for (first, last, action) in prefixes(table, family) {
        close(&mut starts, &mut open, Some(first));
        starts.push((first, action));
        open.push((last, action));
    }
    close(&mut starts, &mut open, None);
    starts
}

/// Ends all open prefixes that do not reach `next`; what is around them goes on.
fn close(starts: &mut Vec<(u128, Action)>, open: &mut Vec<(u128, Action)>, next: Option<u128>) {
    while let Some(&(last, _)) = open.last()
        && next.is_none_or(|next| last < next)
    {
        open.pop();
        let around = open.last().map_or(Action::NONE, |(_, action)| *action);
        if let Some(after) = last.checked_add(1) {
            starts.push((after, around));
        }
    }
}

/// The prefixes of a table as first address, last address and action; by address, outer before inner.
fn prefixes(table: &SwitchForwarding, family: Family) -> Vec<(u128, u128, Action)> {
    let span = |bits: u32, address: u128, length: u8, action: ForwardAction| {
        let host = (u128::MAX >> (128 - bits))
            .checked_shr(u32::from(length))
            .unwrap_or(0);
        let below = if u32::from(length) >= bits { 0 } else { host };
        (address & !below, address | below, Action::from(action))
    };
    let mut found: Vec<(u128, u128, Action)> = match family {
        Family::V4 => table
            .ipv4
            .iter()
            .map(|(p, a)| span(32, u128::from(u32::from(p.address())), p.length(), *a))
            .collect(),
        Family::V6 => table
            .ipv6
            .iter()
            .map(|(p, a)| span(128, u128::from(p.address()), p.length(), *a))
            .collect(),
    };
    found.sort_by_key(|(first, last, _)| (*first, std::cmp::Reverse(*last)));
    found
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;
    use topology::Ipv4Prefix;
    use topology::routes::forwarding::NextHop;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_the_longest_match(
            entries in prop::collection::btree_map((0u32..64, 26u8..=32), prop::option::of(0u16..4), 0..20),
            addresses in prop::collection::btree_set(0u32..80, 1..20)
        ) {
            let mut ipv4: Vec<(Ipv4Prefix, ForwardAction)> = entries
                .iter()
                .map(|((address, length), group)| {
                    let group = group.map(u32::from);
                    let action = group.map_or(ForwardAction::Discard, ForwardAction::Group);
                    (Ipv4Prefix::new((*address).into(), *length), action)
                })
                .collect();
            ipv4.sort_by_key(|(prefix, _)| (prefix.address(), prefix.length()));
            ipv4.dedup_by_key(|(prefix, _)| (prefix.address(), prefix.length()));
            let hop = |port| NextHop { port: PortId::new(port), mac: [0; 6] };
            let table = SwitchForwarding {
                groups: (0..4).map(|group| (0..=group).map(hop).collect()).collect(),
                ipv4,
                ipv6: vec![],
            };
            let hosts = Ranking {
                addresses: addresses.iter().map(|address| u128::from(*address)).collect(),
                ranks: vec![],
            };
            let groups = Groups::new(&table);
            let runs = Runs::new(&table, Family::V4, &hosts);
            let mut follow = runs.follow();
            for (rank, address) in (0..).zip(&addresses) {
                let (action, end) = follow(rank);
                let hops = table.lookup(IpAddr::V4((*address).into())).iter();
                let ports: Vec<PortId> = hops.map(|hop| hop.port).collect();
                prop_assert_eq!(groups.ports(action), &ports[..]);
                prop_assert!(end > rank);
                for same in rank..end.min(u32::try_from(addresses.len()).unwrap_or(0)) {
                    prop_assert_eq!(runs.follow()(same).0, action);
                }
            }
        }
    }
}

//! The forwarding tables of all switches in little room: groups as ports, and prefixes as runs of hosts in the order of addresses.

use std::cmp::Reverse;
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

    /// Whether this is the rank of the first address that is not below `start`; there is one.
    fn is_first_from(&self, rank: usize, start: u128) -> bool {
        let before = rank
            .checked_sub(1)
            .and_then(|before| self.addresses.get(before));
        let here = self.addresses.get(rank);
        before.is_some_and(|before| *before < start) && here.is_some_and(|here| *here >= start)
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
        for group in table.groups.iter() {
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
        match family {
            Family::V4 => Self::of(&table.ipv4, hosts, |prefix| {
                let address = u128::from(u32::from(prefix.address()));
                (address, address | below(32, prefix.length()))
            }),
            Family::V6 => Self::of(&table.ipv6, hosts, |prefix| {
                let address = u128::from(prefix.address());
                (address, address | below(128, prefix.length()))
            }),
        }
    }

    /// The same of one family's entries, whose prefixes are from one address to another.
    fn of<P: Copy>(
        entries: &[(P, ForwardAction)],
        hosts: &Ranking,
        span: impl Fn(P) -> (u128, u128),
    ) -> Self {
        let mut filling = Filling::new(hosts, entries.len());
        let order = |(prefix, _): &(P, ForwardAction)| {
            let (first, last) = span(*prefix);
            (first, Reverse(last))
        };
        let mut add = |(prefix, action): &(P, ForwardAction)| {
            filling.prefix(span(*prefix), Action::from(*action));
        };
        // They are said to stand in order, which is not taken for granted.
        if entries.is_sorted_by_key(order) {
            entries.iter().for_each(&mut add);
        } else {
            let mut sorted = entries.to_vec();
            sorted.sort_by_key(order);
            sorted.iter().for_each(&mut add);
        }
        Self(filling.end().into())
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

/// What the addresses of a prefix have beyond its first, as the last of them has it.
fn below(bits: u32, length: u8) -> u128 {
    let host = bits.saturating_sub(u32::from(length));
    u128::MAX.checked_shr(128 - host).unwrap_or(0)
}

/// Runs under construction: prefixes come by address, outer before inner.
struct Filling<'a> {
    hosts: &'a Ranking,
    runs: Vec<(u32, Action)>,
    /// Hosts whose addresses are below where the last run was to begin, and how many more they were than before.
    passed: usize,
    stride: usize,
    /// The prefixes that are open, outermost first: last address and action.
    open: Vec<(u128, Action)>,
}

impl<'a> Filling<'a> {
    /// Of so many prefixes.
    fn new(hosts: &'a Ranking, prefixes: usize) -> Self {
        let mut runs = Vec::with_capacity(prefixes + 1);
        runs.push((0, Action::NONE));
        Self {
            hosts,
            runs,
            passed: 0,
            stride: 0,
            open: Vec::new(),
        }
    }

    /// Goes on with what happens to a prefix's addresses.
    fn prefix(&mut self, (first, last): (u128, u128), action: Action) {
        self.close(Some(first));
        self.begin(first, action);
        self.open.push((last, action));
    }

    /// Ends all open prefixes that do not reach `next`; what is around them goes on until then.
    fn close(&mut self, next: Option<u128>) {
        while let Some(&(last, _)) = self.open.last()
            && next.is_none_or(|next| last < next)
        {
            self.open.pop();
            let after = last.checked_add(1);
            if let Some(after) = after.filter(|after| next != Some(*after)) {
                let around = self.open.last();
                self.begin(after, around.map_or(Action::NONE, |(_, action)| *action));
            }
        }
    }

    /// From this address on something happens.
    fn begin(&mut self, address: u128, action: Action) {
        let before = self.passed;
        // Switches often have as many hosts as each other.
        self.passed = match self.hosts.is_first_from(before + self.stride, address) {
            true => before + self.stride,
            false => self.hosts.first_from(before, address),
        };
        self.stride = self.passed - before;
        let rank = u32::try_from(self.passed).unwrap_or(u32::MAX);
        // Of intervals without a host between them the last counts.
        self.runs.pop_if(|(before, _)| *before == rank);
        if self.runs.last().is_none_or(|(_, before)| *before != action) {
            self.runs.push((rank, action));
        }
    }

    fn end(mut self) -> Vec<(u32, Action)> {
        self.close(None);
        self.runs
    }
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
            let mut reversed = table.clone();
            reversed.ipv4.reverse();
            prop_assert_eq!(&runs, &Runs::new(&reversed, Family::V4, &hosts));
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

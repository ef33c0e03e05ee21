//! The forwarding tables of all switches in little room: groups as ports, and prefixes as runs of
//! hosts in the order of addresses.

use std::cmp::Reverse;
use std::sync::Arc;

use quantities::PortId;
use topology::routes::forwarding::{ForwardAction, SwitchForwarding};
use topology::{HostId, Ipv4Prefix, Ipv6Prefix, Topology};

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

    /// The ranks of the hosts from one address to another.
    fn ranks(&self, (first, last): (u128, u128)) -> (u32, u32) {
        let start = self.addresses.partition_point(|address| *address < first);
        let rest = &self.addresses[start..];
        let end = start + rest.partition_point(|address| *address <= last);
        let rank = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (rank(start), rank(end))
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

/// A prefix of either family.
pub(super) trait Prefix: Copy + PartialEq {
    /// Its first and its last address.
    fn span(self) -> (u128, u128);

    /// What prefixes rise by: containers come before their contents.
    fn order(self) -> (u128, Reverse<u128>) {
        let (first, last) = self.span();
        (first, Reverse(last))
    }
}

impl Prefix for Ipv4Prefix {
    fn span(self) -> (u128, u128) {
        let first = u128::from(u32::from(self.address()));
        (first, first | below(32, self.length()))
    }
}

impl Prefix for Ipv6Prefix {
    fn span(self) -> (u128, u128) {
        let first = u128::from(self.address());
        (first, first | below(128, self.length()))
    }
}

/// What the addresses of a prefix have beyond its first, as the last of them has it.
fn below(bits: u32, length: u8) -> u128 {
    let host = bits.saturating_sub(u32::from(length));
    u128::MAX.checked_shr(128 - host).unwrap_or(0)
}

/// The ranks of the hosts of prefixes. Tables of a network mostly have the same ones, which are
/// looked for but once.
pub(super) struct Known<'a, P> {
    hosts: &'a Ranking,
    /// The prefixes of some table and the ranks of their hosts, rising.
    spans: Vec<(P, (u32, u32))>,
}

impl<'a, P: Prefix> Known<'a, P> {
    /// Of hosts ranked by the addresses of the family of the prefixes.
    pub(super) fn new(hosts: &'a Ranking) -> Self {
        Self {
            hosts,
            spans: Vec::new(),
        }
    }

    /// Flattens a table. Prefixes nest, so the innermost that is open decides.
    pub(super) fn flatten(&mut self, entries: &[(P, ForwardAction)]) -> Runs {
        // They are said to stand in order, which is not taken for granted.
        let runs = self.flatten_sorted(entries).unwrap_or_else(|| {
            let mut sorted = entries.to_vec();
            sorted.sort_by_key(|(prefix, _)| prefix.order());
            let mut filling = Filling::new(sorted.len());
            for (prefix, action) in sorted {
                filling.add(self.hosts.ranks(prefix.span()), action.into());
            }
            filling.end()
        });
        Runs(runs.into())
    }

    /// The same of entries that stand in order; nothing if they do not.
    fn flatten_sorted(&mut self, entries: &[(P, ForwardAction)]) -> Option<Vec<(u32, Action)>> {
        let mut filling = Filling::new(entries.len());
        let (mut next, mut new) = (0, 0);
        let mut before: Option<P> = None;
        for &(prefix, action) in entries {
            let known = self.spans.get(next).filter(|(known, _)| *known == prefix);
            let ranks = if let Some((_, ranks)) = known {
                next += 1;
                *ranks
            } else {
                let order = prefix.order();
                if before.is_some_and(|before| before.order() > order) {
                    return None;
                }
                // The first that comes after it, so that what is met there rises too.
                let rest = &self.spans[next..];
                next += rest.partition_point(|(known, _)| known.order() <= order);
                new += 1;
                self.hosts.ranks(prefix.span())
            };
            filling.add(ranks, action.into());
            before = Some(prefix);
        }
        if 2 * new > entries.len() {
            let span =
                |&(prefix, _): &(P, ForwardAction)| (prefix, self.hosts.ranks(prefix.span()));
            self.spans = entries.iter().map(span).collect();
        }
        Some(filling.end())
    }
}

/// The table of one switch and family: where each run of hosts that it treats alike begins, in
/// rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Runs(Arc<[(u32, Action)]>);

impl Runs {
    /// What happens to packets to the host of a rank.
    pub(super) fn at(&self, rank: u32) -> Action {
        let begun = self.0.partition_point(|(start, _)| *start <= rank);
        let run = begun.checked_sub(1).and_then(|last| self.0.get(last));
        run.map_or(Action::NONE, |(_, action)| *action)
    }

    /// What happens to packets to hosts, whose ranks must rise: the action, and the first rank to
    /// which something else may happen.
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

/// Runs under construction: prefixes come by address, outer before inner. Nothing is told of
/// prefixes without hosts.
struct Filling {
    runs: Vec<(u32, Action)>,
    /// The prefixes that are open, outermost first: the rank after their last host, and the action.
    open: Vec<(u32, Action)>,
}

impl Filling {
    /// Of so many prefixes.
    fn new(prefixes: usize) -> Self {
        let mut runs = Vec::with_capacity(prefixes + 1);
        runs.push((0, Action::NONE));
        Self {
            runs,
            open: Vec::new(),
        }
    }

    /// Goes on with what happens to the hosts of a prefix.
    #[inline]
    fn add(&mut self, (start, end): (u32, u32), action: Action) {
        if start >= end {
            return;
        }
        match &mut self.open[..] {
            // Mostly it follows the only one that is open.
            [open] if open.0 == start => *open = (end, action),
            _ => {
                self.close(start);
                self.open.push((end, action));
            }
        }
        self.begin(start, action);
    }

    /// Ends all open prefixes that do not reach `next`; what is around them goes on until then.
    fn close(&mut self, next: u32) {
        while let Some((end, _)) = self.open.pop_if(|(end, _)| *end <= next) {
            if end < next {
                let around = self.open.last();
                self.begin(end, around.map_or(Action::NONE, |(_, action)| *action));
            }
        }
    }

    /// From this rank on something happens.
    fn begin(&mut self, rank: u32, action: Action) {
        // Of intervals without a host between them the last counts.
        self.runs.pop_if(|(before, _)| *before == rank);
        if self.runs.last().is_none_or(|(_, before)| *before != action) {
            self.runs.push((rank, action));
        }
    }

    fn end(mut self) -> Vec<(u32, Action)> {
        self.close(u32::MAX);
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
            let runs = Known::new(&hosts).flatten(&table.ipv4);
            // The same whatever is known, and whatever the order.
            let mut reversed = table.ipv4.clone();
            reversed.reverse();
            let mut known = Known::new(&hosts);
            for _ in 0..2 {
                prop_assert_eq!(&runs, &known.flatten(&table.ipv4));
                prop_assert_eq!(&runs, &known.flatten(&reversed));
                let some: Vec<_> = table.ipv4.iter().copied().step_by(3).collect();
                prop_assert_eq!(&known.flatten(&some), &Known::new(&hosts).flatten(&some));
            }
            let mut follow = runs.follow();
            for (rank, address) in (0..).zip(&addresses) {
                let (action, end) = follow(rank);
                let hops = table.lookup(IpAddr::V4((*address).into())).iter();
                let ports: Vec<PortId> = hops.map(|hop| hop.port).collect();
                prop_assert_eq!(groups.ports(action), &ports[..]);
                prop_assert!(end > rank);
                prop_assert_eq!(runs.at(rank), action);
                for same in rank..end.min(u32::try_from(addresses.len()).unwrap_or(0)) {
                    prop_assert_eq!(runs.follow()(same).0, action);
                }
            }
        }
    }
}

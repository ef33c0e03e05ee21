//! The plan's own forwarding: no packet between hosts circulates, and none is dropped on the way while
//! there is a way.
//!
//! Tables are flattened into intervals of addresses. The hosts of an edge switch are looked at together
//! unless some other switch tells them apart.

use quantities::PortId;
use rayon::prelude::*;
use topology::routes::forwarding::{ForwardAction, Forwarding, SwitchForwarding};
use topology::{Attachment, Fabric, HostId, NodeId, SwitchId, Topology, UNREACHABLE};

use super::error::PlanError;

/// Address families, for which tables are apart.
#[derive(Clone, Copy)]
pub(super) enum Family {
    V4,
    V6,
}

/// What a switch does with an interval of addresses: its group of next hops, if it forwards at all.
type Action = Option<u32>;

/// The table of one switch: where each interval of addresses begins, in rising order.
struct Intervals(Vec<(u128, Action)>);

impl Intervals {
    /// Flattens a table. Prefixes nest, so the innermost that is open decides.
    fn new(table: &SwitchForwarding, family: Family) -> Self {
        let mut starts = vec![(0, None)];
        // The prefixes that are open, outermost first: last address and action.
        let mut open: Vec<(u128, Action)> = Vec::new();
        for (first, last, action) in prefixes(table, family) {
            close(&mut starts, &mut open, Some(first));
            starts.push((first, action));
            open.push((last, action));
        }
        close(&mut starts, &mut open, None);
        Self(starts)
    }

    /// What happens to addresses, which must rise: the action, and the first address to which something
    /// else may happen.
    fn follow(&self) -> impl FnMut(u128) -> (Action, u128) + '_ {
        let mut at = 0;
        move |address| {
            while self
                .0
                .get(at + 1)
                .is_some_and(|(start, _)| *start <= address)
            {
                at += 1;
            }
            let end = self.0.get(at + 1).map_or(u128::MAX, |(start, _)| *start);
            (self.0[at].1, end)
        }
    }
}

/// Ends all open prefixes that do not reach `next`; what is around them goes on.
fn close(starts: &mut Vec<(u128, Action)>, open: &mut Vec<(u128, Action)>, next: Option<u128>) {
    while let Some(&(last, _)) = open.last()
        && next.is_none_or(|next| last < next)
    {
        open.pop();
        let around = open.last().and_then(|(_, action)| *action);
        if let Some(after) = last.checked_add(1) {
            starts.push((after, around));
        }
    }
}

/// The prefixes of a table as first address, last address and action; by address, outer before inner.
fn prefixes(table: &SwitchForwarding, family: Family) -> Vec<(u128, u128, Action)> {
    let group = |action: ForwardAction| match action {
        ForwardAction::Group(group) => Some(group),
        ForwardAction::Discard => None,
    };
    let span = |bits: u32, address: u128, length: u8, action| {
        let host = (u128::MAX >> (128 - bits))
            .checked_shr(u32::from(length))
            .unwrap_or(0);
        let below = if u32::from(length) >= bits { 0 } else { host };
        (address & !below, address | below, group(action))
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

/// Hosts of one edge switch that all other switches treat alike.
#[derive(Clone)]
struct Column {
    edge: SwitchId,
    /// Their addresses and hosts, rising.
    hosts: Vec<(u128, Attachment)>,
}

/// Packets of one family on their way.
pub(super) struct Walk<'a> {
    topology: &'a Topology,
    forwarding: &'a Forwarding,
    fabric: &'a Fabric,
    columns: Vec<Column>,
    /// `actions[switch][column]`: what happens to packets to the column's hosts.
    actions: Vec<Vec<Action>>,
    /// `next[switch][group]`: the switches behind a group's ports; `None` if something else is there too.
    next: Vec<Vec<Option<Vec<SwitchId>>>>,
    /// A packet that its edge switch does not hand to its host.
    undelivered: Option<PlanError>,
}

/// What is known of packets at a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    Unseen,
    /// On the path under way.
    OnPath,
    /// All of them arrive.
    Arrives,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        fabric: &'a Fabric,
        forwarding: &'a Forwarding,
        family: Family,
    ) -> Self {
        let tables: Vec<Intervals> = forwarding
            .switches()
            .par_iter()
            .map(|table| Intervals::new(table, family))
            .collect();
        let whole: Vec<Column> = fabric
            .edge_switches()
            .map(|edge| Column::new(topology, fabric, edge, family))
            .collect();
        let split = told_apart(&tables, &whole);
        let columns = whole.into_iter().zip(split).flat_map(|(column, split)| {
            if split {
                column.singles()
            } else {
                vec![column]
            }
        });
        let mut columns: Vec<Column> = columns.collect();
        columns.sort_by_key(|column| column.hosts.first().map(|(address, _)| *address));
        let row = |table: &Intervals| {
            let mut follow = table.follow();
            let first = columns.iter().filter_map(|c| c.hosts.first());
            first.map(|(address, _)| follow(*address).0).collect()
        };
        let next = topology.switch_ids().map(|at| {
            let groups = forwarding.switch(at).groups.iter();
            let behind = groups.map(|group| {
                let ports = group.iter().map(|hop| topology.peer(at, hop.port));
                ports
                    .map(|peer| Some(peer?.end.node))
                    .map(switch_of)
                    .collect()
            });
            behind.collect()
        });
        Self {
            undelivered: undelivered(topology, forwarding, &tables, &columns),
            actions: tables.par_iter().map(row).collect(),
            next: next.collect(),
            topology,
            forwarding,
            fabric,
            columns,
        }
    }

    /// How many columns of hosts there are.
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The switch of a column's hosts.
    pub(super) fn edge(&self, column: usize) -> SwitchId {
        self.columns[column].edge
    }

    /// By switch: whether a way leads from it to a column's hosts.
    pub(super) fn joined(&self, column: usize) -> Vec<bool> {
        let distance = self.fabric.distances(self.edge(column));
        distance.iter().map(|hops| *hops != UNREACHABLE).collect()
    }

    /// The ports by which a switch sends packets to a column's hosts.
    pub(super) fn hops(&self, at: SwitchId, column: usize) -> impl Iterator<Item = PortId> + '_ {
        let Column { edge, hosts } = &self.columns[column];
        let own = if *edge == at { hosts.as_slice() } else { &[] };
        let action = self.actions[at.index()][column].filter(|_| *edge != at);
        let group = action.and_then(|group| self.forwarding.switch(at).groups.get(group as usize));
        let hops = group.map_or(&[][..], Vec::as_slice);
        let own = own.iter().map(|(_, host)| host.port);
        own.chain(hops.iter().map(|hop| hop.port))
    }

    /// The first loop and the first dropped packet, by address of the destination.
    pub(super) fn errors(&self) -> Vec<PlanError> {
        let mut found: Vec<PlanError> = (0..self.columns.len())
            .into_par_iter()
            .filter_map(|column| self.toward(column).err().map(|error| *error))
            .collect();
        found.extend(self.undelivered.clone());
        let mut kinds = Vec::new();
        found.retain(|error| {
            let kind = std::mem::discriminant(error);
            let new = !kinds.contains(&kind);
            kinds.push(kind);
            new
        });
        found
    }

    /// Follows packets to the hosts of one column from all edge switches.
    fn toward(&self, column: usize) -> Result<(), Box<PlanError>> {
        let edge = self.columns[column].edge;
        let distance = self.fabric.distances(edge);
        let mut visited = vec![VisitState::Unseen; self.actions.len()];
        visited[edge.index()] = VisitState::Arrives;
        // A host may be plugged into several switches; it is then a column of its own.
        if let [(_, host)] = self.columns[column].hosts[..] {
            for (_, peer) in self.topology.uplinks(host.host) {
                if let NodeId::Switch(switch) = peer.end.node
                    && self.topology.is_live(peer.link)
                {
                    visited[switch.index()] = VisitState::Arrives;
                }
            }
        }
        for start in self.fabric.edge_switches() {
            if distance[start.index()] == UNREACHABLE
                || visited[start.index()] != VisitState::Unseen
            {
                continue;
            }
            visited[start.index()] = VisitState::OnPath;
            let mut path = vec![(start, self.next(start, column)?.iter())];
            while let Some((at, ahead)) = path.last_mut() {
                let Some(&to) = ahead.next() else {
                    visited[at.index()] = VisitState::Arrives;
                    path.pop();
                    continue;
                };
                match visited[to.index()] {
                    VisitState::Arrives => {}
                    VisitState::OnPath => {
                        let switches = path.iter().map(|(at, _)| *at);
                        let names = switches.skip_while(|at| *at != to).map(|at| self.name(at));
                        return Err(Box::new(PlanError::Loop {
                            host: self.host_name(column),
                            switches: names.collect(),
                        }));
                    }
                    VisitState::Unseen => {
                        visited[to.index()] = VisitState::OnPath;
                        path.push((to, self.next(to, column)?.iter()));
                    }
                }
            }
        }
        Ok(())
    }

    /// The switches to which packets go next.
    fn next(&self, at: SwitchId, column: usize) -> Result<&[SwitchId], Box<PlanError>> {
        let action = self.actions[at.index()][column];
        let group = action.and_then(|group| self.next[at.index()].get(group as usize));
        match group {
            Some(Some(switches)) if !switches.is_empty() => Ok(switches),
            _ => Err(Box::new(PlanError::BlackHole {
                host: self.host_name(column),
                switch: self.name(at),
            })),
        }
    }

    fn host_name(&self, column: usize) -> String {
        let first = self.columns[column].hosts.first();
        let name = first.map(|(_, host)| self.topology.host(host.host).name.clone());
        name.unwrap_or_default()
    }

    fn name(&self, switch: SwitchId) -> String {
        self.topology.switch(switch).name.clone()
    }
}

fn switch_of(node: Option<NodeId>) -> Option<SwitchId> {
    match node {
        Some(NodeId::Switch(switch)) => Some(switch),
        _ => None,
    }
}

impl Column {
    /// All hosts of an edge switch.
    fn new(topology: &Topology, fabric: &Fabric, edge: SwitchId, family: Family) -> Self {
        let hosts = fabric.attachments(edge).iter();
        let mut hosts: Vec<(u128, Attachment)> = hosts
            .map(|host| (address(topology, host.host, family), *host))
            .collect();
        hosts.sort_by_key(|(address, _)| *address);
        Self { edge, hosts }
    }

    /// Its hosts one by one.
    fn singles(self) -> Vec<Self> {
        let edge = self.edge;
        let hosts = self.hosts.into_iter();
        hosts
            .map(|host| Self {
                edge,
                hosts: vec![host],
            })
            .collect()
    }
}

/// Which columns have hosts that some switch other than their own treats differently.
fn told_apart(tables: &[Intervals], columns: &[Column]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|column| columns[*column].hosts.first().map(|(address, _)| *address));
    let order = &order;
    let splits = |(at, table): (usize, &Intervals)| {
        let mut follow = table.follow();
        let mut split = vec![false; columns.len()];
        for &column in order {
            let Column { edge, hosts } = &columns[column];
            if let (Some((first, _)), Some((last, _))) = (hosts.first(), hosts.last()) {
                split[column] = edge.index() != at && follow(*first).1 <= *last;
            }
        }
        split
    };
    let either = |a: Vec<bool>, b: Vec<bool>| a.iter().zip(b).map(|(a, b)| *a || b).collect();
    let none = || vec![false; columns.len()];
    tables
        .par_iter()
        .enumerate()
        .map(|(at, table)| splits((at, table)))
        .reduce(none, either)
}

/// The first host to which its own switch does not hand packets.
fn undelivered(
    topology: &Topology,
    forwarding: &Forwarding,
    tables: &[Intervals],
    columns: &[Column],
) -> Option<PlanError> {
    let handed = |edge: SwitchId, address: u128, host: &Attachment| {
        let action = tables[edge.index()].follow()(address).0;
        let groups = &forwarding.switch(edge).groups;
        let group = action.and_then(|group| groups.get(group as usize));
        group.is_some_and(|hops| hops.iter().all(|hop| hop.port == host.port))
    };
    let mut hosts = columns.iter().flat_map(|column| {
        column
            .hosts
            .iter()
            .map(|(address, host)| (column.edge, *address, host))
    });
    let (edge, _, host) = hosts.find(|(edge, address, host)| !handed(*edge, *address, host))?;
    Some(PlanError::BlackHole {
        host: topology.host(host.host).name.clone(),
        switch: topology.switch(edge).name.clone(),
    })
}

fn address(topology: &Topology, host: HostId, family: Family) -> u128 {
    let host = topology.host(host);
    match family {
        Family::V4 => u128::from(u32::from(host.ipv4)),
        Family::V6 => u128::from(host.ipv6),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use topology::routes::forwarding::Reroute;

    use proptest::prelude::*;

    use super::*;
    use topology::Ipv4Prefix;
    use topology::generate::{Cables, Ring};
    use topology::routes::forwarding::NextHop;

    fn hop(port: u16) -> NextHop {
        NextHop {
            port: PortId::new(port),
            mac: [0; 6],
        }
    }

    /// A ring of four switches, one host each on port 1, and its shortest-path tables.
    fn ring() -> (Topology, Vec<SwitchForwarding>) {
        let ring = Ring {
            switches: 4,
            hosts: 1,
            cables: Cables::default(),
        };
        let topology = ring.generate().expect("a valid ring");
        let shortest = topology::routes::RoutePolicy::Shortest;
        let made = Forwarding::new(&topology, &shortest, Reroute::Converged);
        let tables = made
            .expect("any topology has shortest paths")
            .switches()
            .to_vec();
        (topology, tables)
    }

    fn errors(topology: &Topology, tables: Vec<SwitchForwarding>) -> Vec<String> {
        let forwarding = Forwarding::of(tables);
        let fabric = Fabric::new(topology);
        let walk = Walk::new(topology, &fabric, &forwarding, Family::V4);
        walk.errors().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn loops_and_holes_are_named() {
        let (topology, sound) = ring();
        assert_eq!(errors(&topology, sound.clone()), Vec::<String>::new());
        // Every switch sends everything that is not its own host's on round the ring.
        let mut round = sound.clone();
        for (at, table) in round.iter_mut().enumerate() {
            let next = SwitchId::new(u32::try_from((at + 1) % 4).unwrap_or(0));
            let here = SwitchId::new(u32::try_from(at).unwrap_or(0));
            let forth = topology.peers(here).find_map(|(port, peer)| {
                (peer.end.node == NodeId::Switch(next)).then_some(port.get())
            });
            for group in &mut table.groups {
                if group.iter().all(|hop| hop.port.get() != 1) {
                    *group = vec![hop(forth.expect("a ring"))];
                }
            }
        }
        assert_eq!(errors(&topology, round.clone()), Vec::<String>::new());
        // ... and one of them back.
        let back = round[1]
            .groups
            .iter_mut()
            .filter(|group| group[0].port.get() != 1);
        for group in back {
            let towards = topology.peers(SwitchId::new(1)).find_map(|(port, peer)| {
                (peer.end.node == NodeId::Switch(SwitchId::new(0))).then_some(port.get())
            });
            *group = vec![hop(towards.expect("a ring"))];
        }
        let found = errors(&topology, round);
        assert!(
            found
                .iter()
                .any(|e| e.starts_with("packets to `h") && e.contains("circulate: ")),
            "{found:?}"
        );
        let mut holed = sound;
        holed[2].ipv4.clear();
        let found = errors(&topology, holed);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("are dropped at `s3`"), "{found:?}");
    }

    proptest! {
        #[test]
        fn intervals_are_the_longest_match(
            entries in prop::collection::btree_map((0u32..64, 26u8..=32), prop::option::of(0u32..4), 0..20),
            addresses in prop::collection::vec(0u32..80, 20)
        ) {
            let mut ipv4: Vec<(Ipv4Prefix, ForwardAction)> = entries
                .iter()
                .map(|((address, length), group)| {
                    let action = group.map_or(ForwardAction::Discard, ForwardAction::Group);
                    (Ipv4Prefix::new((*address).into(), *length), action)
                })
                .collect();
            ipv4.sort_by_key(|(prefix, _)| (prefix.address(), prefix.length()));
            ipv4.dedup_by_key(|(prefix, _)| (prefix.address(), prefix.length()));
            let table = SwitchForwarding {
                groups: (0..4).map(|group| vec![hop(group)]).collect(),
                ipv4,
                ipv6: vec![],
            };
            let intervals = Intervals::new(&table, Family::V4);
            let mut addresses = addresses;
            addresses.sort_unstable();
            let mut follow = intervals.follow();
            for address in addresses {
                let (action, end) = follow(u128::from(address));
                let hops = action.map_or(&[][..], |group| &table.groups[group as usize][..]);
                prop_assert_eq!(hops, table.lookup(IpAddr::V4(address.into())));
                prop_assert!(end > u128::from(address));
                for same in address..u32::try_from(end.min(80)).unwrap_or(80) {
                    prop_assert_eq!(intervals.follow()(u128::from(same)).0, action);
                }
            }
        }
    }
}

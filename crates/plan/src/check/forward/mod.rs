//! The plan's own forwarding: no packet between hosts circulates, and none is dropped on the way
//! while there is a way.
//!
//! Tables are flattened into intervals of addresses. The hosts of an edge switch are looked at
//! together unless some other switch tells them apart.

mod blocks;
mod flat;
pub(super) mod strays;

use std::collections::{BTreeMap, BTreeSet};

use quantities::PortId;
use rayon::prelude::*;
use topology::routes::forwarding::{Routing, SwitchForwarding};
use topology::{
    Attachment, Fabric, HostId, Ipv4Prefix, Ipv6Prefix, NodeId, SwitchId, Topology, UNREACHABLE,
};

use super::destinations::{BLOCK, Set, members};
use super::error::PlanError;
use super::rules::Rules;
use crate::model::Tables;
use crate::tag::ClassId;
use blocks::Block;
use flat::{Action, Family, Groups, Known, Ranking, Runs};
use strays::Forwarded;

/// Switches whose tables are flattened by one thread, at least.
const TABLES_AT_ONCE: usize = 16;

/// What following packets through the plan's own forwarding shows.
pub(super) struct Followed {
    /// The first loop and the first dropped packet.
    pub(super) errors: Vec<PlanError>,
    /// How much of the traffic stays lossless; `None` if packets are lost, or the tag rules
    /// contradict each other.
    pub(super) lossless: Option<Forwarded>,
}

/// Follows packets through the forwarding that entries are made from. Classes in `shortest` are
/// known to stay lossless on all shortest paths.
pub(super) fn follow(
    tables: &Tables,
    Flattened { groups, families }: Flattened,
    rules: Option<&Rules<'_>>,
    shortest: &[ClassId],
) -> Followed {
    let topology = &tables.topology;
    let fabric = Fabric::new(topology);
    // What one family's walk is made from goes before the other's begins.
    let made = |family| Walk::new(topology, &fabric, &groups, family);
    let walks: Vec<Walk<'_>> = families.into_iter().map(made).collect();
    let mut errors: Vec<PlanError> = walks.iter().flat_map(Walk::errors).collect();
    errors.dedup();
    let lossless = rules
        .filter(|_| errors.is_empty())
        .map(|rules| strays::forwarded(rules, &walks, shortest));
    Followed { errors, lossless }
}

/// The tables of all switches.
pub(super) struct Flattened {
    /// Switch by switch.
    groups: Vec<Groups>,
    /// Per family, switch by switch; once if both families fare alike.
    families: Vec<(Ranking, Vec<Runs>)>,
}

impl Flattened {
    /// The tables that entries are made from, for the hosts of a network.
    pub(super) fn new(topology: &Topology, routing: &Routing<'_>) -> Self {
        let hosts = Family::ALL.map(|family| Ranking::new(topology, family));
        let switches: Vec<SwitchId> = topology.switch_ids().collect();
        let known = || Prefixes::new(&hosts);
        let flatten = |known: &mut Prefixes<'_>, id: &SwitchId| known.switch(&routing.table(*id));
        let made = switches.par_iter().with_min_len(TABLES_AT_ONCE);
        let made = made.map_init(known, flatten).collect();
        Self::of(hosts, made)
    }

    /// The hosts to which a switch sends packets by each of these ports, by the addresses of the
    /// first family.
    pub(super) fn hosts_by_port(
        &self,
        topology: &Topology,
        switch: SwitchId,
        ports: &BTreeSet<PortId>,
    ) -> BTreeMap<PortId, Vec<HostId>> {
        let mut found: BTreeMap<PortId, Vec<HostId>> = BTreeMap::new();
        let Some((ranking, tables)) = self.families.first() else {
            return found;
        };
        for host in topology.host_ids() {
            let action = tables[switch.index()].at(ranking.rank(host));
            let hops = self.groups[switch.index()].ports(action).iter();
            for port in hops.filter(|port| ports.contains(port)) {
                found.entry(*port).or_default().push(host);
            }
        }
        found
    }

    fn of(hosts: [Ranking; 2], switches: Vec<(Groups, [Runs; 2])>) -> Self {
        let (groups, runs): (Vec<Groups>, Vec<[Runs; 2]>) = switches.into_iter().unzip();
        let alike = hosts[0].is_same(&hosts[1]) && runs.iter().all(|[v4, v6]| v4 == v6);
        let (v4, v6): (Vec<Runs>, Vec<Runs>) = runs.into_iter().map(|[v4, v6]| (v4, v6)).unzip();
        let mut families: Vec<_> = hosts.into_iter().zip([v4, v6]).collect();
        families.truncate(if alike { 1 } else { 2 });
        Self { groups, families }
    }
}

/// The prefixes of both families that tables have.
struct Prefixes<'a> {
    v4: Known<'a, Ipv4Prefix>,
    v6: Known<'a, Ipv6Prefix>,
}

impl<'a> Prefixes<'a> {
    /// Of hosts ranked by the addresses of IPv4 and of IPv6.
    fn new([v4, v6]: &'a [Ranking; 2]) -> Self {
        Self {
            v4: Known::new(v4),
            v6: Known::new(v6),
        }
    }

    /// The tables of one switch.
    fn switch(&mut self, table: &SwitchForwarding) -> (Groups, [Runs; 2]) {
        let v4 = self.v4.flatten(&table.ipv4);
        let v6 = self.v6.flatten(&table.ipv6);
        // Mostly they are the same, and kept once.
        let v6 = if v6 == v4 { v4.clone() } else { v6 };
        (Groups::new(table), [v4, v6])
    }
}

/// Hosts of one edge switch that all other switches treat alike.
#[derive(Clone)]
struct Column {
    edge: SwitchId,
    /// Their ranks by address, rising, and themselves.
    hosts: Vec<(u32, Attachment)>,
}

/// Packets of one family on their way.
struct Walk<'a> {
    topology: &'a Topology,
    fabric: &'a Fabric,
    groups: &'a [Groups],
    columns: Vec<Column>,
    /// `actions[switch][column]`: what happens to packets to the column's hosts.
    actions: Vec<Box<[Action]>>,
    /// A packet that its edge switch does not hand to its host.
    undelivered: Option<PlanError>,
    /// Columns to which some switch may send packets otherwise than nearer.
    doubtful: Vec<usize>,
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
    /// Packets of the family whose hosts and runs these are.
    fn new(
        topology: &'a Topology,
        fabric: &'a Fabric,
        groups: &'a [Groups],
        (hosts, tables): (Ranking, Vec<Runs>),
    ) -> Self {
        let whole: Vec<Column> = fabric
            .edge_switches()
            .map(|edge| Column::new(fabric, edge, &hosts))
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
        columns.sort_by_key(|column| column.hosts.first().map(|(rank, _)| *rank));
        let undelivered = undelivered(topology, groups, &tables, &columns);
        let row = |table: Runs| {
            let mut follow = table.follow();
            let first = columns.iter().filter_map(|c| c.hosts.first());
            first.map(|(rank, _)| follow(*rank).0).collect()
        };
        let mut walk = Self {
            actions: tables.into_par_iter().map(row).collect(),
            undelivered,
            topology,
            fabric,
            groups,
            columns,
            doubtful: Vec::new(),
        };
        walk.doubtful = walk.columns_left(|_, block| block.doubtful);
        walk
    }

    /// Whether every packet is known to go by a shortest path.
    fn is_shortest(&self) -> bool {
        self.doubtful.is_empty() && self.undelivered.is_none()
    }

    /// The live network.
    fn fabric(&self) -> &'a Fabric {
        self.fabric
    }

    /// The switch of a column's hosts.
    fn edge(&self, column: usize) -> SwitchId {
        self.columns[column].edge
    }

    /// By switch: whether a way leads from it to a column's hosts.
    fn joined(&self, column: usize) -> Vec<bool> {
        let distance = self.fabric.distances(self.edge(column));
        distance.iter().map(|hops| *hops != UNREACHABLE).collect()
    }

    /// The ports of a column's hosts.
    fn host_ports(&self, column: usize) -> impl Iterator<Item = PortId> + '_ {
        self.columns[column].hosts.iter().map(|(_, host)| host.port)
    }

    /// The ports by which a switch sends packets to a column's hosts.
    fn hops(&self, at: SwitchId, column: usize) -> impl Iterator<Item = PortId> + '_ {
        let Column { edge, hosts } = &self.columns[column];
        let (own, onward) = if *edge == at {
            (hosts.as_slice(), &[][..])
        } else {
            (&[][..], self.ports(at, column))
        };
        own.iter()
            .map(|(_, host)| host.port)
            .chain(onward.iter().copied())
    }

    /// What `left` leaves of the columns of every block, rising; all columns of a block where a
    /// network is too wide for blocks.
    fn columns_left(&self, left: impl Fn(usize, &Block) -> Set + Sync) -> Vec<usize> {
        let edges: Vec<SwitchId> = self.columns.iter().map(|column| column.edge).collect();
        let of_block = |(number, edges): (usize, &[SwitchId])| -> Vec<usize> {
            let first = number * BLOCK;
            let actions = |switch: usize| &self.actions[switch][first..first + edges.len()];
            match Block::new(self.fabric, edges, self.groups, actions) {
                Some(block) => members(&left(first, &block))
                    .map(|column| first + column)
                    .collect(),
                None => (first..first + edges.len()).collect(),
            }
        };
        let blocks = edges.par_chunks(BLOCK).enumerate();
        blocks.flat_map_iter(of_block).collect()
    }

    /// The first loop and the first dropped packet, by address of the destination.
    fn errors(&self) -> Vec<PlanError> {
        self.told(self.doubtful.clone())
    }

    /// The same, of some columns that are followed one by one.
    fn told(&self, columns: Vec<usize>) -> Vec<PlanError> {
        let mut found: Vec<PlanError> = columns
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
            let mut path = vec![(start, self.next(start, column)?)];
            while let Some((at, ahead)) = path.last_mut() {
                let Some(to) = ahead.next() else {
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
                        path.push((to, self.next(to, column)?));
                    }
                }
            }
        }
        Ok(())
    }

    /// The ports of the group by which a switch sends to a column's hosts.
    fn ports(&self, at: SwitchId, column: usize) -> &'a [PortId] {
        self.groups[at.index()].ports(self.actions[at.index()][column])
    }

    /// The switches to which packets go next.
    fn next(
        &self,
        at: SwitchId,
        column: usize,
    ) -> Result<impl Iterator<Item = SwitchId> + 'a, Box<PlanError>> {
        let topology = self.topology;
        let behind = move |port: &PortId| match topology.peer(at, *port)?.end.node {
            NodeId::Switch(next) => Some(next),
            NodeId::Host(_) => None,
        };
        let ports = self.ports(at, column);
        if ports.is_empty() || ports.iter().any(|port| behind(port).is_none()) {
            return Err(Box::new(PlanError::BlackHole {
                host: self.host_name(column),
                switch: self.name(at),
            }));
        }
        Ok(ports.iter().filter_map(behind))
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

impl Column {
    /// All hosts of an edge switch.
    fn new(fabric: &Fabric, edge: SwitchId, ranking: &Ranking) -> Self {
        let hosts = fabric.attachments(edge).iter();
        let mut hosts: Vec<(u32, Attachment)> =
            hosts.map(|host| (ranking.rank(host.host), *host)).collect();
        hosts.sort_by_key(|(rank, _)| *rank);
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
fn told_apart(tables: &[Runs], columns: &[Column]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|column| columns[*column].hosts.first().map(|(rank, _)| *rank));
    let order = &order;
    let splits = |(at, table): (usize, &Runs)| {
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
    groups: &[Groups],
    tables: &[Runs],
    columns: &[Column],
) -> Option<PlanError> {
    let handed = |edge: SwitchId, rank: u32, host: &Attachment| {
        let action = tables[edge.index()].at(rank);
        let ports = groups[edge.index()].ports(action);
        !ports.is_empty() && ports.iter().all(|port| *port == host.port)
    };
    let mut hosts = columns.iter().flat_map(|column| {
        let hosts = column.hosts.iter();
        hosts.map(|(rank, host)| (column.edge, *rank, host))
    });
    let (edge, _, host) = hosts.find(|(edge, rank, host)| !handed(*edge, *rank, host))?;
    Some(PlanError::BlackHole {
        host: topology.host(host.host).name.clone(),
        switch: topology.switch(edge).name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use topology::generate::{Cables, Jellyfish, JellyfishSize, Ring};
    use topology::routes::forwarding::{Forwarding, NextHop, Reroute};

    use super::*;

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

    /// Has a switch send by other hops what it sent by some groups.
    fn send(table: &mut SwitchForwarding, some: impl Fn(&[NextHop]) -> bool, hops: &[NextHop]) {
        let groups = table.groups.iter();
        let changed = groups.map(|group| if some(group) { hops } else { group }.to_vec());
        table.groups = changed.collect();
    }

    /// What is wrong with tables, which is the same where all columns are followed.
    fn errors(topology: &Topology, tables: Vec<SwitchForwarding>) -> Vec<String> {
        let fabric = Fabric::new(topology);
        let hosts = Family::ALL.map(|family| Ranking::new(topology, family));
        let mut known = Prefixes::new(&hosts);
        let made = tables.iter().map(|table| known.switch(table)).collect();
        let Flattened { groups, families } = Flattened::of(hosts, made);
        let v4 = families.into_iter().next().expect("a family");
        let walk = Walk::new(topology, &fabric, &groups, v4);
        let errors = walk.errors();
        assert_eq!(errors, walk.told((0..walk.columns.len()).collect()));
        errors.iter().map(ToString::to_string).collect()
    }

    /// A random graph with one host a switch.
    fn random_graph(switches: u32, seed: u64) -> Topology {
        let graph = Jellyfish {
            size: JellyfishSize::Switches {
                switches,
                fabric_ports: 3,
            },
            ports: 4,
            seed,
            cables: Cables::default(),
        };
        graph.generate().expect("a random graph")
    }

    fn shortest(topology: &Topology) -> Vec<SwitchForwarding> {
        let policy = topology::routes::RoutePolicy::Shortest;
        let made = Forwarding::new(topology, &policy, Reroute::Converged);
        made.expect("any topology has shortest paths")
            .switches()
            .to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn blocks_miss_nothing_that_following_finds(
            seed in 0u64..8,
            changes in prop::collection::vec((0usize..12, any::<prop::sample::Index>(), prop::collection::vec(1u16..=4, 0..3)), 0..4)
        ) {
            let topology = random_graph(12, seed);
            let mut tables = shortest(&topology);
            for (switch, group, ports) in changes {
                let groups = &mut tables[switch].groups;
                let at = group.index(groups.len());
                let mut rows: Vec<Vec<NextHop>> = groups.iter().map(<[NextHop]>::to_vec).collect();
                rows[at] = ports.into_iter().map(hop).collect();
                *groups = rows.into_iter().collect();
            }
            errors(&topology, tables);
        }
    }

    #[test]
    fn a_loop_in_the_second_block_is_found() {
        let topology = random_graph(2 + BLOCK as u32, 1);
        let sound = shortest(&topology);
        assert_eq!(errors(&topology, sound.clone()), Vec::<String>::new());
        let last = SwitchId::new(1 + BLOCK as u32);
        let host = topology.host_ids().last().map(|host| topology.host(host));
        let address = std::net::IpAddr::V4(host.expect("hosts").ipv4);
        // A neighbour of the last switch sends all that it would send there back to where it came
        // from.
        let near = topology
            .peers(last)
            .find_map(|(_, peer)| match peer.end.node {
                NodeId::Switch(near) => Some(near),
                NodeId::Host(_) => None,
            });
        let near = near.expect("a neighbour");
        let mut back = sound.clone();
        let straight = sound[near.index()].lookup(address).to_vec();
        // Its host is on port 1.
        let other = (2..=4).find(|port| straight.iter().all(|hop| hop.port.get() != *port));
        let other = [hop(other.expect("three neighbours"))];
        let turned = |group: &[NextHop]| group == straight;
        send(&mut back[near.index()], turned, &other);
        let found = errors(&topology, back);
        assert!(
            found.iter().any(|error| error.contains("circulate")),
            "{found:?}"
        );
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
            let onward = |group: &[NextHop]| group.iter().all(|hop| hop.port.get() != 1);
            send(table, onward, &[hop(forth.expect("a ring"))]);
        }
        assert_eq!(errors(&topology, round.clone()), Vec::<String>::new());
        // ... and one of them back.
        let towards = topology.peers(SwitchId::new(1)).find_map(|(port, peer)| {
            (peer.end.node == NodeId::Switch(SwitchId::new(0))).then_some(port.get())
        });
        let onward = |group: &[NextHop]| group[0].port.get() != 1;
        send(&mut round[1], onward, &[hop(towards.expect("a ring"))]);
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
}

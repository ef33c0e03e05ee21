//! Every address goes where it should, and nowhere else.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;
use crate::generate::{
    Bcube, Cables, Clos, FatTree, Jellyfish, JellyfishSize, ThreeLayerClos, ThreeNode,
};
use crate::{Fabric, LinkId, UNREACHABLE};

/// Where packets may end up, following every member of every group, or the one by which a packet
/// that comes back goes on; the switches of each way.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
enum End {
    Delivered(HostId, Vec<SwitchId>),
    Dropped(Vec<SwitchId>),
    Loop(Vec<SwitchId>),
}

fn follow(topology: &Topology, tables: &Forwarding, from: SwitchId, address: IpAddr) -> Vec<End> {
    let mut ends = Vec::new();
    let mut ahead = vec![vec![(from, None)]];
    while let Some(way) = ahead.pop() {
        let (at, arrived) = way[way.len() - 1];
        let names = || way.iter().map(|(switch, _)| *switch).collect();
        if way[..way.len() - 1].contains(&(at, arrived)) {
            ends.push(End::Loop(names()));
            continue;
        }
        let hops = tables.switch(at).lookup(address);
        if hops.is_empty() {
            ends.push(End::Dropped(names()));
        }
        let back = after_return(topology, at, hops).into_iter();
        let back: Vec<NextHop> = back
            .filter(|(port, _)| Some(*port) == arrived)
            .map(|(_, hop)| hop)
            .collect();
        for hop in if back.is_empty() { hops } else { &back } {
            let peer = topology.peer(at, hop.port).expect("a plugged port");
            assert!(
                topology.is_live(peer.link),
                "a packet leaves by a port that is down"
            );
            match peer.end.node {
                NodeId::Host(host) => {
                    assert_eq!(hop.mac, topology.host(host).mac);
                    ends.push(End::Delivered(host, names()));
                }
                NodeId::Switch(next) => {
                    assert_eq!(hop.mac, topology.port_mac(next, peer.end.port));
                    ahead.push([&way[..], &[(next, Some(peer.end.port))]].concat());
                }
            }
        }
    }
    ends
}

/// Every pair of hosts that are connected is served over every member of every group, in both
/// families; the others are not.
fn assert_delivers(topology: &Topology, tables: &Forwarding) {
    let fabric = Fabric::new(topology);
    for host in topology.host_ids() {
        let place = |h: HostId| {
            let live = topology
                .uplinks(h)
                .iter()
                .find(|(_, p)| topology.is_live(p.link))?;
            match live.1.end.node {
                NodeId::Switch(s) => Some(s),
                NodeId::Host(_) => None,
            }
        };
        let target = place(host);
        let distances = target.map(|t| fabric.distances(t));
        for from in topology.switch_ids().filter(|&s| topology.switch(s).up) {
            let reachable = distances
                .as_ref()
                .is_some_and(|d| d[from.index()] != UNREACHABLE);
            let entry = topology.host(host);
            for address in [IpAddr::V4(entry.ipv4), IpAddr::V6(entry.ipv6)] {
                for end in follow(topology, tables, from, address) {
                    match end {
                        End::Delivered(to, _) => assert_eq!(to, host),
                        End::Dropped(way) => assert!(!reachable, "{address} dropped after {way:?}"),
                        End::Loop(way) => panic!("{address} circulates: {way:?}"),
                    }
                }
            }
        }
        assert_eq!(tables.find_loop(topology, host), None);
    }
}

/// Addresses that nobody has are dropped, from wherever they start.
fn assert_drops_strays(
    topology: &Topology,
    tables: &Forwarding,
    strays: impl IntoIterator<Item = u32>,
) {
    let owned: BTreeSet<_> = topology.hosts().iter().map(|h| h.ipv4).collect();
    for stray in strays
        .into_iter()
        .map(Ipv4Addr::from)
        .filter(|a| !owned.contains(a))
    {
        for from in topology.switch_ids() {
            for end in follow(topology, tables, from, IpAddr::V4(stray)) {
                assert!(matches!(end, End::Dropped(_)), "{stray}: {end:?}");
            }
        }
    }
}

fn cables() -> Cables {
    Cables::default()
}

fn converged(topology: &Topology, policy: &RoutePolicy) -> Forwarding {
    Forwarding::new(topology, policy, Reroute::Converged).unwrap()
}

fn fail(topology: &Topology, mask: u64) -> Topology {
    let failed: Vec<LinkId> = topology
        .link_ids()
        .filter(|l| mask >> (l.index() % 64) & 1 == 1)
        .collect();
    topology.with_failed_links(&failed)
}

fn layered() -> impl Strategy<Value = Topology> {
    prop_oneof![
        (2u32..6, 1u32..4, 0u16..4).prop_map(|(leaves, spines, hosts)| {
            Clos {
                leaves,
                spines,
                hosts,
                parallel: 1,
                cables: cables(),
            }
            .generate()
        }),
        (2u32..4, 1u32..4, 1u32..3, any::<bool>()).prop_map(
            |(pods, leaves, aggregations, planes)| {
                let spines = 2 * aggregations;
                ThreeLayerClos {
                    pods,
                    leaves,
                    aggregations,
                    spines,
                    hosts: 1,
                    planes,
                    parallel: 1,
                    cables: cables(),
                }
                .generate()
            }
        ),
        Just(
            FatTree {
                k: 4,
                cables: cables()
            }
            .generate()
        ),
    ]
    .prop_filter_map("a valid topology", Result::ok)
}

fn random() -> impl Strategy<Value = Topology> {
    (2u32..9, 2u16..4, 1u16..3, any::<u64>()).prop_map(|(switches, fabric_ports, hosts, seed)| {
        let size = JellyfishSize::Switches {
            switches,
            fabric_ports,
        };
        Jellyfish {
            size,
            ports: fabric_ports + hosts,
            seed,
            cables: cables(),
        }
        .generate()
        .unwrap()
    })
}

/// The same network without subnets: hosts have addresses in their own order or, the more, the
/// farther apart, in another.
fn readdressed(topology: &Topology, spread: u32, seed: u64) -> Topology {
    let mut switches = topology.switches().to_vec();
    switches.iter_mut().for_each(|switch| switch.subnet = None);
    let mut taken = BTreeSet::new();
    let mut hosts = topology.hosts().to_vec();
    for (host, number) in hosts.iter_mut().zip(0u32..) {
        // A number that is the same for the same host and seed.
        let mixed = (u64::from(number) + 1)
            .wrapping_mul(seed | 1)
            .rotate_left(23);
        let mut address = 0x0a00_0001 + number + u32::try_from(mixed % 1000).unwrap() % spread;
        while !taken.insert(address) {
            address += 1;
        }
        host.ipv4 = address.into();
        host.ipv6 = crate::address::ipv6_of(host.ipv4);
    }
    Topology::new("r".to_owned(), switches, hosts, topology.links().to_vec()).unwrap()
}

/// The fewest bounces of any way between two switches, by brute force over simple up-down paths.
fn fewest_bounces(topology: &Topology, from: SwitchId, to: SwitchId) -> Option<usize> {
    (0..4)
        .find(|&bounces| {
            let set = RouteSet::new(topology, RoutePolicy::UpDown { bounces }).unwrap();
            from == to || set.paths_between(from, to).advance().is_some()
        })
        .map(usize::from)
}

fn bounces(topology: &Topology, way: &[SwitchId]) -> usize {
    let layer = |s: SwitchId| topology.switch(s).layer;
    let bounce = |w: &&[SwitchId]| layer(w[0]) > layer(w[1]) && layer(w[2]) > layer(w[1]);
    way.windows(3).filter(bounce).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn layered_networks_deliver_and_drop(topology in layered(), x in any::<u64>(), y in any::<u64>(), strays in prop::collection::vec(0x0a00_0000u32..0x0a04_0000, 8)) {
        let topology = fail(&topology, x & y);
        for policy in [RoutePolicy::UpDown { bounces: 1 }, RoutePolicy::Shortest] {
            let tables = converged(&topology, &policy);
            assert_delivers(&topology, &tables);
            let subnets = topology.switches().iter().filter_map(|s| s.subnet);
            let inside = subnets.map(|s| u32::from(s.ipv4.address()) + 77);
            assert_drops_strays(&topology, &tables, strays.iter().copied().chain(inside));
        }
    }

    #[test]
    fn packets_bounce_only_where_they_must(topology in layered(), x in any::<u64>(), y in any::<u64>()) {
        let topology = fail(&topology, x & y);
        let tables = converged(&topology, &RoutePolicy::UpDown { bounces: 3 });
        let fabric = Fabric::new(&topology);
        for from in fabric.edge_switches() {
            for to in fabric.edge_switches() {
                let host = fabric.attachments(to)[0].host;
                let address = IpAddr::V4(topology.host(host).ipv4);
                let fewest = fewest_bounces(&topology, from, to);
                for end in follow(&topology, &tables, from, address) {
                    if let End::Delivered(_, way) = end {
                        // With destination-based tables the first bounce-free way binds all who
                        // share it, so optimality is claimed where it is needed: no bounce unless
                        // one is needed.
                        let bounced = bounces(&topology, &way);
                        prop_assert!(fewest != Some(0) || bounced == 0, "{:?}", way);
                        prop_assert!(fewest.is_none_or(|fewest| bounced >= fewest));
                    }
                }
            }
        }
    }

    #[test]
    fn random_networks_deliver_and_drop(topology in random(), x in any::<u64>(), y in any::<u64>(), strays in prop::collection::vec(0x0a00_0000u32..0x0a00_1000, 8)) {
        let topology = fail(&topology, x & y);
        let policies = [RoutePolicy::Shortest, RoutePolicy::Ksp { k: 3 }, RoutePolicy::AllSimple { max_switches: 4 }];
        for policy in policies {
            let tables = converged(&topology, &policy);
            assert_delivers(&topology, &tables);
            assert_drops_strays(&topology, &tables, strays.iter().copied());
        }
    }

    #[test]
    fn addresses_that_lie_anyhow_are_delivered_and_others_dropped(topology in random(), x in any::<u64>(), spread in 1u32..200, seed in any::<u64>()) {
        let topology = readdressed(&topology, spread, seed);
        let strays = (0x0a00_0000..0x0a00_0100).chain([0x0aff_ffff, 0]);
        assert_delivers(&topology, &converged(&topology, &RoutePolicy::Shortest));
        assert_drops_strays(&topology, &converged(&topology, &RoutePolicy::Shortest), strays);
        let failed = fail(&topology, x);
        assert_delivers(&failed, &converged(&failed, &RoutePolicy::Shortest));
    }

    #[test]
    fn bcube_delivers_with_and_without_failures(x in any::<u64>(), y in any::<u64>(), n in 2u16..4, k in 0u16..3) {
        let topology = Bcube { n, k, cables: cables() }.generate().unwrap();
        let policy = RoutePolicy::BcubeDigit;
        assert_delivers(&topology, &converged(&topology, &policy));
        let failed = fail(&topology, x & y);
        assert_delivers(&failed, &converged(&failed, &policy));
    }

    #[test]
    fn listed_routes_deliver_and_so_does_the_rest(topology in random(), x in any::<u64>(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        // List some simple paths, good or bad, in a random order.
        let set = RouteSet::new(&topology, RoutePolicy::AllSimple { max_switches: 5 }).unwrap();
        let all: Vec<_> = set.routes().collect();
        let line = |route: &super::super::Route| {
            let switches = route.hops.iter().map(|h| topology.switch(h.switch).name.as_str());
            let mut words = vec![topology.host(route.source).name.as_str()];
            words.extend(switches);
            words.push(&topology.host(route.destination).name);
            words.join(" ")
        };
        let routes = picks.iter().filter(|_| !all.is_empty()).map(|pick| line(&all[pick.index(all.len())])).collect();
        let policy = RoutePolicy::Explicit { routes };
        assert_delivers(&topology, &converged(&topology, &policy));
        let failed = fail(&topology, x);
        assert_delivers(&failed, &converged(&failed, &policy));
    }

    #[test]
    fn local_rerouting_delivers_to_the_right_host_or_not_at_all(topology in layered(), x in any::<u64>(), y in any::<u64>()) {
        let topology = fail(&topology, x & y);
        let tables = Forwarding::new(&topology, &RoutePolicy::UpDown { bounces: 1 }, Reroute::Local).unwrap();
        let links = topology.link_ids().filter(|&l| !topology.is_live(l)).map(|l| topology.link(l));
        let adjacent: BTreeSet<_> = links.flat_map(|l| [l.a.node, l.b.node]).collect();
        let before = converged(&topology.all_up(), &RoutePolicy::UpDown { bounces: 1 });
        for switch in topology.switch_ids() {
            // Whoever is not at a failure has not noticed.
            if !adjacent.contains(&NodeId::Switch(switch)) {
                prop_assert_eq!(tables.switch(switch), before.switch(switch));
            }
        }
        for host in topology.host_ids() {
            let mut circulates = false;
            for from in topology.switch_ids() {
                for end in follow(&topology, &tables, from, IpAddr::V4(topology.host(host).ipv4)) {
                    circulates |= matches!(end, End::Loop(_));
                    prop_assert!(!matches!(end, End::Delivered(to, _) if to != host), "{:?}", end);
                }
            }
            prop_assert_eq!(circulates, tables.find_loop(&topology, host).is_some());
        }
    }

    #[test]
    fn without_failures_local_is_converged(topology in layered()) {
        let policy = RoutePolicy::UpDown { bounces: 0 };
        let local = Forwarding::new(&topology, &policy, Reroute::Local).unwrap();
        prop_assert_eq!(local, converged(&topology, &policy));
    }
}

/// The routes of a policy are those that packets follow where nothing has failed.
#[test]
fn packets_follow_the_policy() {
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 12,
            fabric_ports: 3,
        },
        ports: 4,
        seed: 7,
        cables: cables(),
    };
    let cases = [
        (jellyfish.generate().unwrap(), RoutePolicy::Ksp { k: 2 }),
        (jellyfish.generate().unwrap(), RoutePolicy::Shortest),
        (
            Bcube {
                n: 3,
                k: 2,
                cables: cables(),
            }
            .generate()
            .unwrap(),
            RoutePolicy::BcubeDigit,
        ),
        (
            Bcube {
                n: 2,
                k: 2,
                cables: cables(),
            }
            .generate()
            .unwrap(),
            RoutePolicy::BcubeRotations,
        ),
        (
            FatTree {
                k: 4,
                cables: cables(),
            }
            .generate()
            .unwrap(),
            RoutePolicy::UpDown { bounces: 0 },
        ),
    ];
    for (topology, policy) in cases {
        let tables = converged(&topology, &policy);
        let set = RouteSet::new(&topology, policy).unwrap();
        let edges: Vec<_> = set.fabric().edge_switches().collect();
        for &from in &edges {
            for &to in edges.iter().filter(|&&to| to != from) {
                let mut allowed = BTreeSet::new();
                let mut paths = set.paths_between(from, to);
                while let Some(path) = paths.advance() {
                    let rest = path.arcs.iter().map(|&arc| set.fabric().arc(arc).to);
                    allowed.insert(std::iter::once(from).chain(rest).collect::<Vec<_>>());
                }
                let host = set.fabric().attachments(to)[0].host;
                let address = IpAddr::V4(topology.host(host).ipv4);
                for end in follow(&topology, &tables, from, address) {
                    let End::Delivered(_, way) = end else {
                        panic!("{end:?}")
                    };
                    assert!(allowed.contains(&way), "{way:?} is no route");
                }
            }
        }
    }
}

fn show(topology: &Topology, switch: &str, policy: &RoutePolicy) -> String {
    let tables = converged(topology, policy);
    let table = tables.switch(topology.switch_named(switch).unwrap());
    let mut text = String::new();
    for (prefix, action) in &table.ipv4 {
        let to = match action {
            ForwardAction::Discard => "discard".to_owned(),
            ForwardAction::Group(group) => {
                let ports = table.groups.get(*group).unwrap().iter();
                format!("{:?}", ports.map(|hop| hop.port.get()).collect::<Vec<_>>())
            }
        };
        text.push_str(&format!("{prefix} -> {to}\n"));
    }
    text
}

#[test]
fn fat_tree_tables_are_small() {
    let topology = FatTree {
        k: 8,
        cables: cables(),
    }
    .generate()
    .unwrap();
    let policy = RoutePolicy::UpDown { bounces: 0 };
    insta::assert_snapshot!(show(&topology, "p2e3", &policy), @r"
    0.0.0.0/0 -> [5, 6, 7, 8]
    10.1.2.0/24 -> discard
    10.1.2.1/32 -> [1]
    10.1.2.2/32 -> [2]
    10.1.2.3/32 -> [3]
    10.1.2.4/32 -> [4]
    ");
    insta::assert_snapshot!(show(&topology, "p2a1", &policy), @r"
    0.0.0.0/0 -> [5, 6, 7, 8]
    10.1.0.0/24 -> [1]
    10.1.1.0/24 -> [2]
    10.1.2.0/24 -> [3]
    10.1.3.0/24 -> [4]
    ");
    insta::assert_snapshot!(show(&topology, "core5", &policy), @r"
    10.0.0.0/22 -> [1]
    10.1.0.0/22 -> [2]
    10.2.0.0/22 -> [3]
    10.3.0.0/22 -> [4]
    10.4.0.0/22 -> [5]
    10.5.0.0/22 -> [6]
    10.6.0.0/22 -> [7]
    10.7.0.0/22 -> [8]
    ");
}

#[test]
fn a_failure_costs_entries_only_where_it_matters() {
    let topology = Clos {
        leaves: 4,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: cables(),
    }
    .generate()
    .unwrap();
    let link = topology.link_named("leaf3-spine1").unwrap();
    let failed = topology.with_failed_links(&[link]);
    let policy = RoutePolicy::UpDown { bounces: 1 };
    insta::assert_snapshot!(show(&failed, "leaf1", &policy), @r"
    0.0.0.0/0 -> [3, 4]
    10.0.0.0/24 -> discard
    10.0.0.1/32 -> [1]
    10.0.0.2/32 -> [2]
    10.0.2.0/24 -> [4]
    ");
}

#[test]
fn only_a_bounce_is_left_after_two_failures() {
    // The example of Tagger17: each of two leaves has lost the spine that the other still has.
    let topology = Clos {
        leaves: 3,
        spines: 2,
        hosts: 1,
        parallel: 1,
        cables: cables(),
    }
    .generate()
    .unwrap();
    let failed = ["leaf1-spine2", "leaf3-spine1"].map(|name| topology.link_named(name).unwrap());
    let topology = topology.with_failed_links(&failed);
    let tables = converged(&topology, &RoutePolicy::UpDown { bounces: 1 });
    let from = topology.switch_named("leaf1").unwrap();
    let to = IpAddr::V4(topology.host(HostId::new(2)).ipv4);
    let ends = follow(&topology, &tables, from, to);
    let [End::Delivered(_, way)] = &ends[..] else {
        panic!("{ends:?}")
    };
    let names: Vec<_> = way
        .iter()
        .map(|&s| topology.switch(s).name.as_str())
        .collect();
    assert_eq!(names, ["leaf1", "spine1", "leaf2", "spine2", "leaf3"]);
}

#[test]
fn local_rerouting_bounces_at_the_failure() {
    let topology = Clos {
        leaves: 3,
        spines: 2,
        hosts: 1,
        parallel: 1,
        cables: cables(),
    }
    .generate()
    .unwrap();
    let failed = topology.with_failed_links(&[topology.link_named("leaf3-spine1").unwrap()]);
    let policy = RoutePolicy::UpDown { bounces: 1 };
    let tables = Forwarding::new(&failed, &policy, Reroute::Local).unwrap();
    let from = failed.switch_named("leaf1").unwrap();
    let host = HostId::new(2);
    let ends = follow(&failed, &tables, from, IpAddr::V4(failed.host(host).ipv4));
    let delivered =
        |end: &End| matches!(end, End::Delivered(to, way) if *to == host && way.len() <= 5);
    assert!(ends.iter().all(delivered), "{ends:?}");
    assert_eq!(tables.find_loop(&failed, host), None);
}

/// Fabrics in which every switch below the top has several ways up.
fn fabrics() -> Vec<Topology> {
    let clos = |leaves, spines, parallel| Clos {
        leaves,
        spines,
        hosts: 1,
        parallel,
        cables: cables(),
    };
    let mut all: Vec<Topology> = [(3, 2, 1), (4, 2, 1), (4, 3, 1), (4, 2, 2), (3, 4, 2)]
        .into_iter()
        .map(|(leaves, spines, parallel)| clos(leaves, spines, parallel).generate().unwrap())
        .collect();
    let fat_tree = FatTree {
        k: 4,
        cables: cables(),
    };
    all.push(fat_tree.generate().unwrap());
    all
}

/// The ways of all packets between hosts that do not end at their host.
fn astray(topology: &Topology, tables: &Forwarding) -> Vec<End> {
    let mut astray = Vec::new();
    let edges: Vec<SwitchId> = Fabric::new(topology).edge_switches().collect();
    for host in topology.host_ids() {
        let address = IpAddr::V4(topology.host(host).ipv4);
        for &from in &edges {
            let ends = follow(topology, tables, from, address).into_iter();
            astray.extend(ends.filter(|end| !matches!(end, End::Delivered(to, _) if *to == host)));
        }
    }
    astray
}

fn fabric_links(topology: &Topology) -> Vec<LinkId> {
    let between = |link: &LinkId| {
        let link = topology.link(*link);
        [link.a.node, link.b.node]
            .iter()
            .all(|node| matches!(node, NodeId::Switch(_)))
    };
    topology.link_ids().filter(between).collect()
}

#[test]
fn local_rerouting_delivers_every_packet_around_any_failed_link() {
    let policy = RoutePolicy::UpDown { bounces: 1 };
    for topology in fabrics() {
        for link in fabric_links(&topology) {
            let failed = topology.with_failed_links(&[link]);
            let tables = Forwarding::new(&failed, &policy, Reroute::Local).unwrap();
            let link = topology.describe_link(link);
            assert_eq!(astray(&failed, &tables), [], "{} {link}", topology.name());
        }
    }
}

#[test]
fn local_rerouting_delivers_every_packet_around_two_failed_links_of_a_clos_that_stays_connected() {
    let policy = RoutePolicy::UpDown { bounces: 1 };
    let mut tried = 0;
    for topology in fabrics().into_iter().take(5) {
        let links = fabric_links(&topology);
        for (number, &first) in links.iter().enumerate() {
            for &second in &links[number + 1..] {
                let failed = topology.with_failed_links(&[first, second]);
                let fabric = Fabric::new(&failed);
                if fabric.distances(SwitchId::new(0)).contains(&UNREACHABLE) {
                    continue;
                }
                tried += 1;
                let tables = Forwarding::new(&failed, &policy, Reroute::Local).unwrap();
                let names = [first, second].map(|link| topology.describe_link(link));
                assert_eq!(
                    astray(&failed, &tables),
                    [],
                    "{} {names:?}",
                    topology.name()
                );
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn hosts_that_share_a_subnet_or_have_two_switches_get_entries_of_their_own() {
    let text = r#"{"format": "switchwright-topology", "version": 1,
      "switches": [{"name": "s1", "ports": 4}, {"name": "s2", "ports": 4}, {"name": "s3", "ports": 4}],
      "hosts": [{"name": "h1", "ipv4": "10.0.0.1"}, {"name": "h2", "ipv4": "10.0.0.2"},
                {"name": "h3", "ipv4": "10.0.0.3"}, {"name": "twin", "ipv4": "10.0.0.4"}],
      "links": [{"a": "s1:1", "b": "h1:0"}, {"a": "s2:1", "b": "h2:0"}, {"a": "s2:2", "b": "h3:0"},
                {"a": "s1:4", "b": "twin:0"}, {"a": "s2:4", "b": "twin:1"},
                {"a": "s1:2", "b": "s3:1"}, {"a": "s2:3", "b": "s3:2"}]}"#;
    let topology = Topology::from_json(text).unwrap();
    assert_delivers(&topology, &converged(&topology, &RoutePolicy::Shortest));
    insta::assert_snapshot!(show(&topology, "s3", &RoutePolicy::Shortest), @r"
    10.0.0.1/32 -> [1]
    10.0.0.2/31 -> [2]
    10.0.0.4/32 -> [1, 2]
    ");
    let failed = topology.with_failed_links(&[topology.link_named("s1-twin").unwrap()]);
    assert_delivers(&failed, &converged(&failed, &RoutePolicy::Shortest));
}

#[test]
fn hosts_whose_addresses_lie_together_share_an_entry() {
    let text = r#"{"format": "switchwright-topology", "version": 1,
      "switches": [{"name": "s1", "ports": 4}, {"name": "s2", "ports": 4}, {"name": "s3", "ports": 4}],
      "hosts": [{"name": "a1", "ipv4": "10.0.1.1"}, {"name": "a2", "ipv4": "10.0.1.6"}, {"name": "a3", "ipv4": "10.0.1.12"},
                {"name": "b1", "ipv4": "10.0.2.1"}, {"name": "b2", "ipv4": "10.0.2.9"},
                {"name": "c1", "ipv4": "10.0.2.5"}],
      "links": [{"a": "s1:1", "b": "a1:0"}, {"a": "s1:2", "b": "a2:0"}, {"a": "s1:3", "b": "a3:0"},
                {"a": "s2:1", "b": "b1:0"}, {"a": "s2:2", "b": "b2:0"}, {"a": "s3:1", "b": "c1:0"},
                {"a": "s1:4", "b": "s3:2"}, {"a": "s2:3", "b": "s3:3"}]}"#;
    let topology = Topology::from_json(text).unwrap();
    let tables = converged(&topology, &RoutePolicy::Shortest);
    assert_delivers(&topology, &tables);
    assert_drops_strays(&topology, &tables, 0x0a00_0100..0x0a00_0210);
    // c1 lies between the hosts of s2.
    insta::assert_snapshot!(show(&topology, "s3", &RoutePolicy::Shortest), @r"
    10.0.1.0/28 -> [2]
    10.0.2.1/32 -> [3]
    10.0.2.5/32 -> [1]
    10.0.2.9/32 -> [3]
    ");
}

#[test]
fn a_switch_that_is_down_forwards_nothing() {
    let topology = ThreeNode::default().generate().unwrap();
    let down = topology.switch_named("B").unwrap();
    let topology = topology.with_failed_switches(&[down]);
    let tables = converged(&topology, &RoutePolicy::Shortest);
    assert_eq!(tables.switch(down), &SwitchForwarding::default());
    assert_delivers(&topology, &tables);
}

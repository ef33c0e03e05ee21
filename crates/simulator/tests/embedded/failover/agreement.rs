//! The executed program against the tables: the same failures, the same packets, the same ways.

use p4gen::targets::TNA;
use plan::check::resilience::{Survey, TableWalk};
use plan::failover::Target;
use plan::{CheckedPlan, failover::Failover};
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use schemes::failover::{FailoverOptions, FailoverScheme, Important};
use simulator::embedded::{Arrival, Fleet, Network, Probe, Trail, TrailEnd};
use topology::generate::{Cables, FatTree, Jellyfish, JellyfishSize, Line, ThreeNode};
use topology::{Fabric, HostId, LinkId, NodeId, SwitchId, Topology};

use super::{plan, variants, with_stack};
use crate::large;

/// Packet walks over all schemes and topologies, at least; and of the large case.
const WALKS: [usize; 2] = [20_000, 100_000];

/// Six switches in a ring, three chords across, a host each.
const RING_WITH_CHORDS: &str =
    include_str!("../../../../../examples/topologies/ring-with-chords.json");

/// A network, how many sets of failures it is tried with, and how many failures a set has at most.
struct Trial {
    topology: Topology,
    resilience: u8,
    trees: u8,
    sets: usize,
    most: usize,
}

fn trials() -> Vec<Trial> {
    let cables = Cables::default();
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 12,
            fabric_ports: 4,
        },
        ports: 6,
        seed: 3,
        cables,
    };
    let trial = |topology, resilience, trees, sets, most| Trial {
        topology,
        resilience,
        trees,
        sets,
        most,
    };
    vec![
        trial(ThreeNode { cables }.generate().unwrap(), 2, 1, 8, 3),
        trial(Topology::from_json(RING_WITH_CHORDS).unwrap(), 2, 1, 60, 4),
        trial(FatTree { k: 4, cables }.generate().unwrap(), 1, 1, 30, 4),
        trial(jellyfish.generate().unwrap(), 1, 2, 25, 5),
    ]
}

/// Sets of failed links: none, every link alone as far as they go, then random ones.
fn sets(links: &[LinkId], wanted: usize, most: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<LinkId>> {
    let mut sets = vec![vec![]];
    sets.extend(links.iter().take(wanted / 3).map(|&link| vec![link]));
    while sets.len() < wanted {
        let size = rng.random_range(1..=most.min(links.len()));
        let mut set: Vec<LinkId> = links.sample(rng, size).copied().collect();
        set.sort_unstable();
        sets.push(set);
    }
    sets
}

/// A packet between two hosts: where it enters, and the places of the destinations that it may be
/// given.
struct Pair {
    to: HostId,
    source: SwitchId,
    destinations: Vec<usize>,
}

fn pairs(topology: &Topology, failover: &Failover, fleet: &Fleet) -> (Vec<Pair>, Vec<Arrival>) {
    let home = |host: HostId| match topology.uplinks(host)[0].1.end.node {
        NodeId::Switch(switch) => switch,
        NodeId::Host(_) => panic!("hosts stand at switches"),
    };
    let (mut pairs, mut packets) = (vec![], vec![]);
    for from in topology.host_ids() {
        for to in topology.host_ids().filter(|&to| to != from) {
            let places = failover.destinations.iter().enumerate();
            let destinations = places
                .filter(|(_, d)| match d.target {
                    Target::Host(host) => host == to,
                    Target::Switch { switch, .. } => switch == home(to),
                })
                .map(|(place, _)| place);
            pairs.push(Pair {
                to,
                source: home(from),
                destinations: destinations.collect(),
            });
            let number = pairs.len() as u32;
            packets.push(fleet.probe(from, to, &number.to_be_bytes()).unwrap());
        }
    }
    (pairs, packets)
}

/// Packets on trees keep no reverse route, so that they go farther than the header has room for;
/// packets of Plinko do not.
#[test]
fn packets_on_trees_go_beyond_the_stack_of_the_others() {
    let line = Line {
        switches: 7,
        hosts: 1,
        cables: Cables::default(),
    };
    let topology = line.generate().unwrap();
    let hosts: Vec<HostId> = topology.host_ids().collect();
    let middle = hosts[3];
    let plinko = FailoverOptions {
        resilience: 0,
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let options = FailoverOptions {
        trees: Some(1),
        important: Some(Important {
            hosts: [middle].into(),
            options: Box::new(plinko),
            all_trees: false,
        }),
        ..FailoverOptions::new(FailoverScheme::Edst)
    };
    let plan = plan(&topology, &with_stack(options, 3));
    for mut fleet in [
        Fleet::of(plan.clone()).unwrap(),
        Fleet::of_tofino(&plan, &TNA).unwrap(),
    ] {
        let packet = |from: HostId, to: HostId| fleet.probe(from, to, b"far").unwrap();
        let far = packet(hosts[0], hosts[6]);
        let packets = [far, packet(hosts[0], middle), packet(hosts[6], middle)];
        for (trail, packet) in fleet.send(&packets).iter().zip(&packets) {
            let TrailEnd::Host(_, bytes) = &trail.end else {
                panic!("{trail:?}");
            };
            assert_eq!(*bytes, packet.bytes);
        }
        assert_eq!(fleet.send(&packets[..1])[0].hops.len(), 7);
    }
    // What a trace shows of the header.
    let mut network = Network::of(plan).unwrap();
    for (to, kept) in [(hosts[6], None), (middle, Some(2))] {
        let probe = Probe {
            from: hosts[0],
            to,
            class: None,
            flow: 7,
            ipv6: false,
        };
        let (packet, switch, port) = network.packet(&probe).unwrap();
        let walk = network.walk("h", packet, switch, port).unwrap();
        let header = walk.hops[2].header_after.as_ref().unwrap();
        assert_eq!(header.reverse.as_ref().map(Vec::len), kept, "{header}");
    }
}

/// The links between switches that a packet crossed.
fn links(topology: &Topology, trail: &Trail) -> Vec<(LinkId, bool)> {
    let crossed = trail.hops.iter().filter_map(|&(switch, port)| {
        let peer = topology.peer(switch, port)?;
        matches!(peer.end.node, NodeId::Switch(_)).then(|| {
            let first = topology.link(peer.link).a.node == NodeId::Switch(switch);
            (peer.link, first)
        })
    });
    crossed.collect()
}

/// Whether what the program did is what the tables say.
fn agrees(
    topology: &Topology,
    packet: &Arrival,
    to: HostId,
    trail: &Trail,
    said: &TableWalk,
) -> bool {
    match &trail.end {
        TrailEnd::Host(host, bytes) => {
            said.arrived
                && *host == to
                && *bytes == packet.bytes
                && links(topology, trail) == said.links
        }
        // The tables see a circle as soon as it closes, the program when the hop limit is used up.
        TrailEnd::Dropped => !said.arrived && links(topology, trail).starts_with(&said.links),
        TrailEnd::Lost | TrailEnd::Circling => false,
    }
}

#[derive(Debug, Default)]
struct Count {
    walks: usize,
    delivered: usize,
    hops: usize,
}

fn compare(plan: &CheckedPlan, mut fleet: Fleet, name: &str, trial: &Trial, count: &mut Count) {
    let topology = plan.topology();
    let failover = plan.tables().failover.as_ref().unwrap();
    let survey = Survey::new(topology, failover);
    let (pairs, packets) = pairs(topology, failover, &fleet);
    let fabric = Fabric::new(topology);
    let mut live: Vec<LinkId> = fabric.arcs().iter().map(|arc| arc.link).collect();
    live.sort_unstable();
    live.dedup();
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for failed in sets(&live, trial.sets, trial.most, &mut rng) {
        fleet.set_failed(&failed);
        let trails = fleet.send(&packets);
        let elements: Vec<u32> = failed.iter().map(|link| link.index() as u32).collect();
        // The tables are asked once per destination, for all switches.
        let sources: Vec<SwitchId> = topology.switch_ids().collect();
        let said: Vec<Vec<TableWalk>> = (0..survey.destinations())
            .map(|place| survey.walks(&elements, place, &sources))
            .collect();
        for ((pair, packet), trail) in pairs.iter().zip(&packets).zip(&trails) {
            let mut ways = pair.destinations.iter();
            let found = ways.any(|&place| {
                let said = &said[place][pair.source.index()];
                agrees(topology, packet, pair.to, trail, said)
            });
            assert!(
                found,
                "{name} on {} with {failed:?} failed, to {:?}: the program went {trail:?}, the tables say {:?}",
                topology.name(),
                pair.to,
                pair.destinations
                    .iter()
                    .map(|&d| &said[d][pair.source.index()])
                    .collect::<Vec<_>>()
            );
            count.walks += 1;
            count.hops += trail.hops.len();
            count.delivered += usize::from(matches!(trail.end, TrailEnd::Host(..)));
        }
    }
}

/// Every scheme on every network, with the switches that these make of a plan.
fn compare_all(fleet: impl Fn(&CheckedPlan) -> Fleet) -> Count {
    let mut count = Count::default();
    for (place, trial) in trials().into_iter().enumerate() {
        // Each scheme on each network, or on one in turn.
        let tried = |variant: usize| large() || variant % 4 == place;
        let variants = variants().into_iter().enumerate();
        for (_, (name, mut options)) in variants.filter(|(number, _)| tried(*number)) {
            options.resilience = trial.resilience;
            if options.scheme.by_trees() {
                options.trees = Some(trial.trees.max(1));
            }
            let plan = plan(&trial.topology, &options);
            compare(&plan, fleet(&plan), name, &trial, &mut count);
        }
    }
    assert!(count.walks >= WALKS[usize::from(large())], "{count:?}");
    assert!(count.delivered < count.walks, "some sets cut hosts off");
    count
}

#[test]
fn the_executed_program_does_what_the_tables_say() {
    let count = compare_all(|plan| Fleet::of(plan.clone()).unwrap());
    println!("{count:?}");
}

#[test]
fn the_program_for_tofino_does_what_the_tables_say() {
    let count = compare_all(|plan| Fleet::of_tofino(plan, &TNA).unwrap());
    println!("{count:?}");
}

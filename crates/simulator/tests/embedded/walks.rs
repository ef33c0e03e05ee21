//! What the interpreter does to a packet equals what the plan's tables say: 10,000 random packets
//! on random walks, through the generated program and entries of every carrier and rule form.
#![allow(clippy::unwrap_used, clippy::panic)]

use device::Frame;
use p4exec::tables::key::FieldMatch;
use p4exec::tables::{ActionCall, EntryAction, EntryOptions, EntryPriority, NewEntry};
use p4exec::value::Bits;
use p4exec::{Executor, RuntimeState};
use p4gen::layout::{action, edge_dscp, table};
use p4gen::targets::{SONIC_16TC_ACL, Target as _};
use plan::{
    CarrierKind, CheckedPlan, ClassId, LOSSY_PRIORITY, NewTag, RuleForm, TagCode, TagNumbers, check,
};
use quantities::{Nanos, PortId, Priority};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schemes::{Algorithm, TaggerOptions};
use simulator::embedded::Network;
use topology::generate::{Cables, Clos, FlattenedClos, Jellyfish, JellyfishSize, ThreeNode};
use topology::{HostId, NodeId, SwitchId, Topology};
use wire::PacketBuilder;

/// Random routes per switch: destination 198.51.100.N leaves every switch by a random port.
const DESTINATIONS: u8 = 200;
/// Packets over all plans.
const PACKETS: usize = 10_000;
/// Switches that a packet crosses at most.
const HOPS: u8 = 12;

fn topologies() -> Vec<Topology> {
    let cables = Cables::default();
    let size = JellyfishSize::Switches {
        switches: 12,
        fabric_ports: 4,
    };
    vec![
        ThreeNode { cables }.generate().unwrap(),
        Clos {
            leaves: 4,
            spines: 3,
            hosts: 2,
            parallel: 1,
            cables,
        }
        .generate()
        .unwrap(),
        Jellyfish {
            size,
            ports: 6,
            seed: 7,
            cables,
        }
        .generate()
        .unwrap(),
    ]
}

/// Plans over all carriers, forms and ways to carry classes.
fn plans() -> Vec<CheckedPlan> {
    let carriers = CarrierKind::ALL;
    let mut plans = Vec::new();
    for topology in topologies() {
        for &carrier in carriers {
            for form in [RuleForm::Exact, RuleForm::PortSets] {
                for class_bits in [false, true] {
                    let layered = topology.is_layered();
                    let algorithm = if layered {
                        Algorithm::Clos
                    } else {
                        Algorithm::SingleValued
                    };
                    // Numbers by convention, and numbers that somebody has chosen, where there
                    // are two tags.
                    let numbers = match form {
                        RuleForm::Exact if layered => TagNumbers {
                            codes: vec![TagCode::new(5), TagCode::new(6)],
                            priorities: vec![Priority::new(6), Priority::new(1)],
                        },
                        RuleForm::Exact | RuleForm::PortSets => TagNumbers::default(),
                    };
                    let options = TaggerOptions {
                        algorithm: Some(algorithm),
                        carrier,
                        numbers,
                        form,
                        class_bits,
                        ..TaggerOptions::default()
                    };
                    // Three bits of PCP do not hold two classes beside their tags everywhere.
                    let classes = if carrier == CarrierKind::VlanPcp {
                        1
                    } else {
                        2
                    };
                    let options = options.with_classes(classes);
                    let tables = schemes::tagger(&topology, &options).unwrap();
                    plans.push(check(tables, &check::Options::default()).unwrap());
                }
            }
        }
    }
    plans.extend(flattened_plans());
    plans
}

/// Plans of a Flattened Clos with a bounce, over all forms.
fn flattened_plans() -> impl Iterator<Item = CheckedPlan> {
    let clos = FlattenedClos {
        switches: 12,
        ports: 9,
        fabric_ports: 8,
        layers: None,
        split: Some(vec![2, 2]),
        single_links: false,
        optical: None,
        seed: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().unwrap();
    [RuleForm::Exact, RuleForm::PortSets]
        .map(|form| {
            let options = TaggerOptions {
                form,
                ..TaggerOptions::default()
            };
            let tables = schemes::flattened_clos(&topology, 1, &options).unwrap();
            check(tables, &check::Options::default()).unwrap()
        })
        .into_iter()
}

/// Adds the random routes and tells them: `routes[destination]` is the port.
fn add_routes(state: &mut RuntimeState, ports: &[PortId], random: &mut ChaCha8Rng) -> Vec<PortId> {
    let routes = state.table_named(table::IPV4_ROUTE).unwrap();
    let next_hop = state.action_named(action::NEXT_HOP).unwrap();
    (0..DESTINATIONS)
        .map(|destination| {
            let port = ports[random.random_range(0..ports.len())];
            let value = Bits::from_bytes_be(32, &[198, 51, 100, destination]);
            let args = [(9, u64::from(port.get())), (48, 0x06), (48, 0x07)];
            let args = args
                .map(|(width, value)| Bits::from_u64(width, value))
                .to_vec();
            let entry = NewEntry {
                key: vec![FieldMatch::Lpm {
                    value,
                    prefix_len: 32,
                }],
                priority: EntryPriority(0),
                action: EntryAction::Call(ActionCall {
                    action: next_hop,
                    args,
                }),
                is_const: false,
                options: EntryOptions::default(),
            };
            state.insert_entry(routes, entry, Nanos::new(0)).unwrap();
            port
        })
        .collect()
}

/// What the plan says becomes of a packet: both priorities and the code that it leaves with.
fn expected(
    plan: &CheckedPlan,
    switch: SwitchId,
    code: u16,
    in_port: PortId,
    out_port: PortId,
) -> (Priority, Priority, u16) {
    let carrier = plan.carrier();
    let lossy = (LOSSY_PRIORITY, LOSSY_PRIORITY, carrier.lossy.get());
    let NewTag::Lossless(tag) = carrier.decode(TagCode::new(code)) else {
        return lossy;
    };
    let class = carrier.class_shift.map_or(0, |shift| code >> shift);
    let class = ClassId::new(u8::try_from(class).unwrap());
    let classified = plan.classify(switch, class, tag, in_port, out_port);
    let left = carrier.code(class, classified.new_tag).unwrap();
    (classified.ingress, classified.egress, left.get())
}

/// Follows one packet and compares every hop; tells how many there were.
fn follow(
    network: &mut Network,
    routes: &[Vec<PortId>],
    random: &mut ChaCha8Rng,
) -> (usize, usize) {
    let plan = network.plan().clone();
    let maps = network.made_for().1.maps.is_some();
    let topology = plan.topology().clone();
    let carrier = plan.carrier().clone();
    let host = HostId::new(random.random_range(0..u32::try_from(topology.hosts().len()).unwrap()));
    let peer = topology.uplinks(host)[0].1;
    let NodeId::Switch(mut switch) = peer.end.node else {
        panic!("a host is plugged into a switch")
    };
    let mut port = peer.end.port;
    let classes = u8::try_from(plan.tagging().classes.len()).unwrap();
    let class = ClassId::new(random.random_range(0..classes));
    // With the DSCP as carrier a host may send any code; else it asks for a class.
    let dscp = if carrier.kind == CarrierKind::Dscp {
        let tags = carrier.codes.keys().map(|tag| NewTag::Lossless(*tag));
        let codes = tags.filter_map(|tag| carrier.code(class, tag));
        let codes: Vec<u8> = codes
            .map(|code| u8::try_from(code.get()).unwrap())
            .collect();
        match random.random_bool(0.5) {
            true => codes[random.random_range(0..codes.len())],
            false => random.random_range(0..64),
        }
    } else {
        edge_dscp(class)
    };
    let mut code = if carrier.kind == CarrierKind::Dscp {
        u16::from(dscp)
    } else {
        let initial = plan.tagging().classes[class.index()].initial;
        carrier
            .code(class, NewTag::Lossless(initial))
            .unwrap()
            .get()
    };
    let destination = random.random_range(0..DESTINATIONS);
    let mut bytes = PacketBuilder::new()
        .mac(topology.host(host).mac, topology.port_mac(switch, port))
        .ipv4([10, 9, 8, 7], [198, 51, 100, destination])
        .dscp(dscp)
        .ttl(HOPS)
        .udp(random.random(), 4791)
        .payload([0; 16])
        .build()
        .unwrap();
    let (mut hops, mut lossless) = (0, 0);
    loop {
        let out_port = routes[switch.index()][usize::from(destination)];
        let (device, now) = (network.device(switch).unwrap(), Nanos::new(0));
        device.accept(now, &[Frame::new(port, &bytes)]);
        let drops = device.drops().to_vec();
        let Some(transmit) = device.poll_transmit(now) else {
            assert_eq!(
                hops,
                usize::from(HOPS) - 1,
                "only the TTL ends a walk early: {drops:?}"
            );
            return (hops, lossless);
        };
        let sent = transmit.bytes.to_vec();
        let priorities = (transmit.ing_prio, transmit.eg_prio);
        assert_eq!(transmit.port, out_port);
        assert_eq!(device.poll_transmit(now), None);
        let (mut ingress, egress, left) = expected(&plan, switch, code, port, out_port);
        if maps && egress == LOSSY_PRIORITY {
            // The priority group is chosen before the egress port is known.
            let arrived = plan.tagging().priority(carrier.decode(TagCode::new(code)));
            assert!([LOSSY_PRIORITY, arrived].contains(&priorities.0));
            ingress = priorities.0;
        }
        let place = format!(
            "{} in {port} out {out_port}, code {code}, carrier {:?}, form {:?}",
            topology.switch(switch).name,
            carrier.kind,
            plan.tagging().form
        );
        assert_eq!(priorities, (ingress, egress), "{place}");
        hops += 1;
        lossless += usize::from(egress != LOSSY_PRIORITY);
        let peer = topology.peer(switch, out_port).unwrap();
        let faces_host = matches!(peer.end.node, NodeId::Host(_));
        if !faces_host || carrier.kind == CarrierKind::Dscp {
            assert_eq!(network.code(&sent), Some(left), "{place}");
        }
        let NodeId::Switch(next) = peer.end.node else {
            return (hops, lossless);
        };
        (switch, port, code, bytes) = (next, peer.end.port, left, sent);
    }
}

/// The networks of a plan: with rules, and with SONiC's maps where DSCPs carry its tags and a
/// platform has room for them.
fn networks(plan: &CheckedPlan) -> Vec<Network> {
    let mut networks = vec![Network::of(plan.clone()).unwrap()];
    let carrier = plan.carrier();
    if carrier.kind == CarrierKind::Dscp && carrier.class_shift.is_none() {
        let target = SONIC_16TC_ACL.capabilities();
        let platform = target.maps.unwrap();
        let mut switches = plan.topology().switch_ids();
        if switches.all(|switch| sonic::assign(plan, switch, platform).is_ok()) {
            networks.push(Network::on(plan.clone(), target).unwrap());
        }
    }
    networks
}

#[test]
fn the_interpreter_does_what_the_tables_say() {
    let plans = plans();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut hops, mut lossless) = (0, 0);
    let mut networks: Vec<Network> = plans.iter().flat_map(networks).collect();
    let mapped = networks.len() - plans.len();
    assert!(mapped >= 4, "{mapped} networks with maps");
    let packets = PACKETS.div_ceil(networks.len());
    for network in &mut networks {
        let plan = network.plan().clone();
        let topology = plan.topology();
        let routes: Vec<Vec<PortId>> = topology
            .switch_ids()
            .map(|switch| {
                let ports: Vec<PortId> = topology.peers(switch).map(|(port, _)| port).collect();
                let device = network.device(switch).unwrap();
                add_routes(device.executor_mut().state_mut(), &ports, &mut random)
            })
            .collect();
        for _ in 0..packets {
            let (crossed, kept) = follow(network, &routes, &mut random);
            hops += crossed;
            lossless += kept;
        }
    }
    assert!(
        hops > 2 * PACKETS,
        "walks are too short to mean anything: {hops} hops"
    );
    assert!(
        lossless > PACKETS / 2 && lossless < hops,
        "{lossless} of {hops} hops were lossless"
    );
}

//! Configurations written, read back, and compared with the plan that they are for.

use plan::{CheckedPlan, ClassId, NewTag, Tables, check};
use quantities::PortId;
use schemes::{Algorithm, TaggerOptions, flattened_clos, tagger};
use sonic::platform::{GENERIC_8TC, GENERIC_16TC, GENERIC_16TC_ACL};
use sonic::{ConfigDb, Options, Pipeline, Platform, Watchdog, configure, interface, need};
use topology::generate::{Bcube, Cables, Clos, FatTree, FlattenedClos, Jellyfish, JellyfishSize};
use topology::routes::RoutePolicy;
use topology::{SwitchId, Topology};

pub(crate) fn proven(tables: Tables) -> CheckedPlan {
    check(tables, &plan::check::Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn clos() -> Topology {
    let shape = Clos {
        leaves: 4,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    shape.generate().unwrap()
}

pub(crate) fn bounces(topology: &Topology, bounces: u8) -> CheckedPlan {
    let options = TaggerOptions {
        bounces,
        ..TaggerOptions::default()
    };
    proven(tagger(topology, &options).unwrap())
}

pub(crate) fn options(platform: &'static Platform) -> Options {
    Options {
        platform,
        watchdog: Watchdog::Off,
    }
}

/// A configuration as a reader sees it: written and read back.
pub(crate) fn through_text(config: &ConfigDb) -> ConfigDb {
    let text = serde_json::to_string_pretty(&sonic::write::tables(config)).unwrap();
    let back = sonic::read("config_db.json", &text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(back, *config, "what is read is not what was written");
    back
}

/// Compares what tables do with what the plan says, for every DSCP, ingress port and egress port;
/// tells how many keys.
fn compare(plan: &CheckedPlan, switch: SwitchId, config: &ConfigDb) -> usize {
    let (topology, tagging, carrier) = (plan.topology(), plan.tagging(), plan.carrier());
    let pipeline = Pipeline::of(config);
    let ports: Vec<PortId> = topology.peers(switch).map(|(port, _)| port).collect();
    let index = |port| pipeline.port(&interface(topology, switch, port)).unwrap();
    let mut keys = 0;
    for dscp in 0..64u8 {
        let tag = carrier.decode(plan::TagCode::new(dscp.into()));
        let class = carrier.class_shift.map_or(0, |shift| dscp >> shift);
        let known = usize::from(class) < tagging.classes.len().max(1);
        let class = ClassId::new(class);
        for &input in &ports {
            for &output in &ports {
                let got = pipeline.treat(index(input), dscp, index(output));
                let new_tag = match tag {
                    NewTag::Lossless(tag) if known => {
                        tagging.new_tag(switch, class, tag, input, output)
                    }
                    _ => NewTag::Lossy,
                };
                let code = carrier.code(class, new_tag).unwrap().get();
                let queue = tagging.priority(new_tag).get();
                let place = || {
                    let name = &topology.switch(switch).name;
                    format!("{name}: DSCP {dscp}, {input} -> {output}: {got:?}")
                };
                assert_eq!(u16::from(got.dscp), code, "{}", place());
                assert_eq!(got.queue, queue, "{}", place());
                let group = tagging.priority(tag).get();
                let stays_lossless = |out: &PortId| match tag {
                    NewTag::Lossless(tag) if known => {
                        tagging.new_tag(switch, class, tag, input, *out) != NewTag::Lossy
                    }
                    _ => false,
                };
                // The priority group is chosen before the egress port is known: it is the tag's if
                // any egress port keeps the packet lossless.
                let group = if ports.iter().any(stays_lossless) {
                    group
                } else {
                    0
                };
                assert_eq!(got.priority_group, group, "{}", place());
                assert_eq!(pipeline.arrival(index(input), dscp), group, "{}", place());
                keys += 1;
            }
        }
        for &port in &ports {
            for priority in 1..8u8 {
                let lossless = tagging.priorities.values().any(|p| p.get() == priority);
                assert_eq!(pipeline.pfc(index(port), priority), lossless);
            }
        }
    }
    keys
}

/// Every switch of a plan; tells the keys compared and the ACL rules written.
fn compare_all(plan: &CheckedPlan, platform: &'static Platform) -> (usize, usize) {
    let (mut keys, mut rules) = (0, 0);
    for switch in plan.topology().switch_ids() {
        let config = configure(plan, switch, &options(platform)).unwrap_or_else(|e| panic!("{e}"));
        rules += config.acl.len();
        keys += compare(plan, switch, &through_text(&config));
    }
    (keys, rules)
}

/// The most traffic classes that a switch needs without ACL rules.
fn most_classes(plan: &CheckedPlan) -> usize {
    let switches = plan.topology().switch_ids();
    switches
        .map(|switch| need(plan, switch).traffic_classes)
        .max()
        .unwrap()
}

#[test]
fn a_clos_needs_no_acl_rule() {
    let plan = bounces(&clos(), 1);
    let (keys, rules) = compare_all(&plan, &GENERIC_8TC);
    assert_eq!(rules, 0);
    // 4 leaves of 4 ports, 2 spines of 4 ports.
    assert_eq!(keys, 64 * 6 * 16);
    let fat_tree = FatTree {
        k: 4,
        cables: Cables::default(),
    };
    let plan = bounces(&fat_tree.generate().unwrap(), 1);
    assert_eq!(compare_all(&plan, &GENERIC_8TC).1, 0);
}

#[test]
fn traffic_classes_grow_by_two_a_bounce() {
    let needed: Vec<usize> = (1..=3)
        .map(|count| most_classes(&bounces(&clos(), count)))
        .collect();
    println!("bounces 1, 2, 3: {needed:?} traffic classes");
    assert_eq!(needed, [5, 7, 9]);
    assert_eq!(compare_all(&bounces(&clos(), 3), &GENERIC_16TC).1, 0);
    let short = configure(
        &bounces(&clos(), 3),
        SwitchId::new(0),
        &options(&GENERIC_8TC),
    );
    let short = short.unwrap_err();
    assert_eq!((short.need, short.limit), (9, 8));
}

#[test]
fn classes_carried_beside_the_tag() {
    let options = TaggerOptions {
        class_bits: true,
        ..TaggerOptions::default()
    };
    let plan = proven(tagger(&clos(), &options.with_classes(2)).unwrap());
    assert!(plan.carrier().class_shift.is_some());
    assert_eq!(compare_all(&plan, &GENERIC_16TC).1, 0);
}

/// A platform of so few traffic classes that rules are wanted.
pub(crate) static FEW: Platform = Platform {
    name: "few",
    traffic_classes: 6,
    acl_rules: 1024,
};

#[test]
fn acl_rules_say_what_traffic_classes_cannot() {
    // Two bounces: 7 traffic classes, or 6 with rules.
    let plan = bounces(&clos(), 2);
    let (keys, rules) = compare_all(&plan, &FEW);
    println!("{rules} ACL rules, {keys} keys alike");
    assert!(rules > 0);
    let none = Platform {
        acl_rules: 0,
        ..FEW
    };
    let short = sonic::assign(&plan, SwitchId::new(0), &none).unwrap_err();
    assert_eq!(
        (short.resource, short.need, short.limit),
        ("traffic classes", 7, 6)
    );
    let few = Platform {
        acl_rules: 1,
        ..FEW
    };
    let short = sonic::assign(&plan, SwitchId::new(0), &few).unwrap_err();
    assert_eq!((short.resource, short.limit), ("ACL rules", 1));
    assert!(short.need > 1);
}

pub(crate) fn routed(routes: RoutePolicy, algorithm: Option<Algorithm>) -> TaggerOptions {
    TaggerOptions {
        routes: Some(routes),
        algorithm,
        ..TaggerOptions::default()
    }
}

#[test]
fn networks_that_are_no_clos() {
    let cables = Cables::default();
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 12,
            fabric_ports: 4,
        },
        ports: 6,
        seed: 1,
        cables,
    };
    let jellyfish = jellyfish.generate().unwrap();
    let bcube = Bcube { n: 4, k: 1, cables }.generate().unwrap();
    let flat = FlattenedClos {
        switches: 16,
        ports: 8,
        fabric_ports: 4,
        layers: Some(3),
        split: None,
        single_links: false,
        optical: None,
        seed: 1,
        cables,
    };
    let flat = flat.generate().unwrap();
    let shortest = routed(RoutePolicy::Shortest, None);
    let digits = routed(RoutePolicy::BcubeRotations, Some(Algorithm::SingleValued));
    let ksp = routed(RoutePolicy::Ksp { k: 3 }, None);
    let plans = [
        ("jellyfish", tagger(&jellyfish, &shortest)),
        ("jellyfish, 3 shortest", tagger(&jellyfish, &ksp)),
        ("bcube", tagger(&bcube, &digits)),
        (
            "flattened clos",
            flattened_clos(&flat, 1, &TaggerOptions::default()),
        ),
    ];
    for (name, tables) in plans {
        let plan = proven(tables.unwrap());
        let (keys, rules) = compare_all(&plan, &GENERIC_16TC_ACL);
        println!(
            "{name}: {} traffic classes without rules; {keys} keys alike, {rules} ACL rules",
            most_classes(&plan)
        );
        assert!(keys > 0);
    }
}

#[test]
fn the_patch_has_the_tables_and_not_the_device() {
    let plan = bounces(&clos(), 1);
    let config = configure(&plan, SwitchId::new(0), &options(&GENERIC_8TC)).unwrap();
    let tables = sonic::write::tables(&config);
    let patch = sonic::write::patch(&config);
    let paths: Vec<&str> = patch
        .as_array()
        .unwrap()
        .iter()
        .map(|operation| operation["path"].as_str().unwrap())
        .collect();
    assert!(paths.contains(&"/PORT_QOS_MAP") && !paths.contains(&"/PORT"));
    for operation in patch.as_array().unwrap() {
        assert_eq!(operation["op"], "add");
        let table = operation["path"].as_str().unwrap().trim_start_matches('/');
        assert_eq!(operation["value"], tables[table]);
    }
}

/// All kinds of network, as large as seconds allow: every switch, every DSCP, every pair of ports.
#[test]
fn larger_networks_are_compared_key_by_key() {
    let cables = Cables::default();
    let clos = Clos {
        leaves: 32,
        spines: 8,
        hosts: 8,
        parallel: 1,
        cables,
    };
    let fat_tree = FatTree { k: 8, cables };
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 40,
            fabric_ports: 6,
        },
        ports: 10,
        seed: 1,
        cables,
    };
    let bcube = Bcube { n: 4, k: 2, cables };
    let flat = FlattenedClos {
        switches: 48,
        ports: 12,
        fabric_ports: 8,
        layers: Some(3),
        split: None,
        single_links: false,
        optical: None,
        seed: 1,
        cables,
    };
    let up_down = TaggerOptions::default();
    let shortest = routed(RoutePolicy::Shortest, None);
    let digits = routed(RoutePolicy::BcubeRotations, Some(Algorithm::SingleValued));
    let flat = flat.generate().unwrap();
    let plans = [
        ("clos", tagger(&clos.generate().unwrap(), &up_down)),
        ("fat-tree", tagger(&fat_tree.generate().unwrap(), &up_down)),
        (
            "jellyfish",
            tagger(&jellyfish.generate().unwrap(), &shortest),
        ),
        ("bcube", tagger(&bcube.generate().unwrap(), &digits)),
        ("flattened clos", flattened_clos(&flat, 1, &up_down)),
    ];
    for (name, tables) in plans {
        let plan = proven(tables.unwrap());
        let switches = plan.topology().switches().len();
        let (keys, rules) = compare_all(&plan, &GENERIC_16TC_ACL);
        println!(
            "{name}: {switches} switches, {} traffic classes without rules; {keys} keys alike, {rules} ACL rules",
            most_classes(&plan)
        );
        assert!(keys > 100_000, "{name}: {keys}");
    }
}

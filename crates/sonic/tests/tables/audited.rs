//! Audits of fabrics that are right, and of one that knows no tags.

use plan::CheckedPlan;
use quantities::Bytes;
use schemes::{Algorithm, TaggerOptions, one_tag, tagger};
use sonic::audit::{AuditReport, Fabric, FindingKind, Routing, audit};
use sonic::platform::{GENERIC_8TC, GENERIC_8TC_ACL, GENERIC_16TC, GENERIC_16TC_ACL};
use sonic::tables::MapKind;
use sonic::{ConfigDb, configure, without_tags};
use topology::Topology;
use topology::generate::{Bcube, Cables, FatTree, Jellyfish, JellyfishSize};
use topology::import::{ImportOptions, NamedText, configurations, import_fabric_parts};
use topology::routes::RoutePolicy;

use super::written::{FEW, bounces, clos, options, proven, routed, through_text};

/// The configurations of a plan.
pub(crate) fn configs(plan: &CheckedPlan) -> Vec<ConfigDb> {
    let switches = plan.topology().switch_ids();
    let made = switches.map(|switch| configure(plan, switch, &options(&GENERIC_8TC)));
    made.map(|made| made.unwrap_or_else(|e| panic!("{e}")))
        .collect()
}

/// An audit over up-down ways with so many bounces.
pub(crate) fn up_down(topology: &Topology, configs: &[ConfigDb], bounces: u8) -> AuditReport {
    let routes = RoutePolicy::UpDown { bounces };
    let turns = one_tag(topology, "audit", &routes, &TaggerOptions::default()).unwrap();
    audit(
        &Fabric {
            topology,
            configs,
            mtu: Bytes::new(1500),
        },
        Routing::Turns(&turns.tagging.rules),
    )
}

/// The ways that packets take in a folder of configurations.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Any,
    Shortest,
}

/// The audit of a folder of configurations, as the command does it: each connected part by itself.
pub(crate) fn audit_folder(files: &[NamedText], way: Way) -> AuditReport {
    let parts = import_fabric_parts(files, &ImportOptions::default());
    let parts = parts.unwrap_or_else(|e| panic!("{e}"));
    let owners = configurations(files);
    let reports = parts.iter().map(|part| {
        let topology = &part.topology;
        let configs: Vec<ConfigDb> = topology
            .switches()
            .iter()
            .map(|switch| &files[owners[&switch.name]])
            .map(|file| sonic::read(&file.name, &file.text).unwrap_or_else(|e| panic!("{e}")))
            .collect();
        let fabric = Fabric {
            topology,
            configs: &configs,
            mtu: Bytes::new(1500),
        };
        match way {
            Way::Any => audit(&fabric, Routing::Any),
            Way::Shortest => {
                let routes = RoutePolicy::Shortest;
                let turns = one_tag(topology, "audit", &routes, &TaggerOptions::default()).unwrap();
                audit(&fabric, Routing::Turns(&turns.tagging.rules))
            }
        }
    });
    AuditReport::of_parts(reports.collect())
}

#[test]
fn our_own_maps_are_clean_whatever_the_routing() {
    let fat_tree = FatTree {
        k: 4,
        cables: Cables::default(),
    };
    for topology in [clos(), fat_tree.generate().unwrap()] {
        let plan = bounces(&topology, 1);
        let configs = configs(&plan);
        let fabric = Fabric {
            topology: &topology,
            configs: &configs,
            mtu: Bytes::new(1500),
        };
        for report in [
            audit(&fabric, Routing::Any),
            up_down(&topology, &configs, 1),
            up_down(&topology, &configs, 0),
        ] {
            assert_eq!(report.findings, []);
            assert_eq!(report.cbd_free, Some(true), "{:?}", report.cbd_free_unknown);
            assert_eq!(report.lossless_dscps, [26, 28]);
            assert_eq!(report.lossless_priorities, [3, 4]);
        }
    }
}

/// The maps of a fabric without tags, with its buffers.
fn plain(plan: &CheckedPlan) -> Vec<ConfigDb> {
    let whole = configs(plan).into_iter();
    let each = whole.zip(plan.topology().switch_ids());
    each.map(|(config, switch)| {
        let plain = without_tags(plan, switch);
        ConfigDb {
            maps: plain.maps,
            port_qos: plain.port_qos,
            ..config
        }
    })
    .collect()
}

#[test]
fn maps_without_tags_are_free_of_cycles_until_packets_bounce() {
    let plan = bounces(&clos(), 1);
    let configs = plain(&plan);
    let straight = up_down(plan.topology(), &configs, 0);
    assert_eq!(straight.findings, []);
    assert_eq!(straight.cbd_free, Some(true));
    let bounced = up_down(plan.topology(), &configs, 1);
    assert_eq!(bounced.cbd_free, Some(false));
    let kinds: Vec<FindingKind> = bounced.findings.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [FindingKind::CyclicBuffers]);
    // The cycle is named by interfaces: a leaf, a spine, another leaf, the other spine.
    let told = bounced.findings[0].problem.clone();
    assert_eq!(told.matches(" -> ").count(), 4, "{told}");
    assert!(told.contains("leaf") && told.contains("spine") && told.contains("Ethernet"));
}

/// Plans of several kinds of network, numbers of bounces and classes.
fn plans() -> Vec<CheckedPlan> {
    let cables = Cables::default();
    let mut made: Vec<CheckedPlan> = (0..=3).map(|count| bounces(&clos(), count)).collect();
    for class_bits in [false, true] {
        for classes in 2..=3 {
            let options = TaggerOptions {
                class_bits,
                ..TaggerOptions::default()
            };
            made.extend(tagger(&clos(), &options.with_classes(classes)).map(proven));
        }
    }
    for seed in 1..=6 {
        let size = JellyfishSize::Switches {
            switches: 8,
            fabric_ports: 4,
        };
        let jellyfish = Jellyfish {
            size,
            ports: 6,
            seed,
            cables,
        };
        let jellyfish = jellyfish.generate().unwrap();
        for routes in [RoutePolicy::Shortest, RoutePolicy::Ksp { k: 3 }] {
            let options = routed(routes, None);
            made.push(proven(tagger(&jellyfish, &options).unwrap()));
            made.extend(tagger(&jellyfish, &options.with_classes(2)).map(proven));
        }
    }
    let bcube = Bcube { n: 4, k: 1, cables }.generate().unwrap();
    let digits = routed(RoutePolicy::BcubeRotations, Some(Algorithm::SingleValued));
    made.push(proven(tagger(&bcube, &digits).unwrap()));
    made
}

/// What is built for a platform is proven by the audit, whatever ways packets take.
#[test]
fn what_is_built_is_proven_on_every_platform() {
    let (mut fabrics, mut with_rules) = (0, 0);
    let platforms = [
        &GENERIC_8TC,
        &GENERIC_16TC,
        &GENERIC_8TC_ACL,
        &GENERIC_16TC_ACL,
        &FEW,
    ];
    for (number, plan) in plans().iter().enumerate() {
        for platform in platforms {
            let switches = plan.topology().switch_ids();
            let made = switches.map(|switch| configure(plan, switch, &options(platform)));
            let Ok(configs) = made.collect::<Result<Vec<ConfigDb>, _>>() else {
                continue;
            };
            let configs: Vec<ConfigDb> = configs.iter().map(through_text).collect();
            let fabric = Fabric {
                topology: plan.topology(),
                configs: &configs,
                mtu: plan.tables().budget.mtu,
            };
            let report = audit(&fabric, Routing::Any);
            let place = format!("plan {number} on {}", platform.name);
            assert_eq!(report.findings, [], "{place}");
            let unknown = &report.cbd_free_unknown;
            assert_eq!(report.cbd_free, Some(true), "{place}: {unknown:?}");
            fabrics += 1;
            with_rules += usize::from(configs.iter().any(|config| !config.acl.is_empty()));
        }
    }
    println!("{fabrics} fabrics, {with_rules} with ACL rules");
    assert!(fabrics > 100 && with_rules > 5, "{fabrics}, {with_rules}");
}

/// Packets that wait in a queue wait for the buffer whose PAUSE stops it. Where that is not the
/// buffer that accounts them, a circle of buffers that account them is none, and that there is no
/// other is not known.
#[test]
fn a_circle_that_no_pause_closes_is_none() {
    let shape = topology::generate::Clos {
        leaves: 3,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let plan = bounces(&shape.generate().unwrap(), 1);
    let topology = plan.topology();
    let mut configs = configs(&plan);
    let leaf = topology.switch_named("leaf3").unwrap();
    // Of every port where the second tag leaves as the second: as the first.
    for map in configs[leaf.index()]
        .maps
        .get_mut(&MapKind::TcToDscp)
        .unwrap()
        .values_mut()
    {
        for dscp in map.values_mut().filter(|dscp| **dscp == 28) {
            *dscp = 26;
        }
    }
    let fabric = Fabric {
        topology,
        configs: &configs,
        mtu: Bytes::new(1500),
    };
    let report = audit(&fabric, Routing::Any);
    assert_eq!(report.cbd_free, None);
    let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
    assert!(
        !kinds.contains(&FindingKind::CyclicBuffers),
        "{:?}",
        report.findings
    );
    assert!(
        kinds.contains(&FindingKind::PauseMisses),
        "{:?}",
        report.findings
    );
}

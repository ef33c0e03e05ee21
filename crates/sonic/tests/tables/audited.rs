//! Audits of fabrics that are right, and of one that knows no tags.

use plan::CheckedPlan;
use quantities::Bytes;
use schemes::{TaggerOptions, one_tag};
use sonic::audit::{AuditReport, Fabric, FindingKind, Routing, audit};
use sonic::platform::GENERIC_8TC;
use sonic::{ConfigDb, configure, without_tags};
use topology::Topology;
use topology::generate::{Cables, FatTree};
use topology::import::{ImportOptions, NamedText, configurations, import_fabric_parts};
use topology::routes::RoutePolicy;

use super::written::{bounces, clos, options};

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
            assert_eq!(report.lossless_dscps, [1, 2]);
            assert_eq!(report.lossless_priorities, [1, 2]);
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

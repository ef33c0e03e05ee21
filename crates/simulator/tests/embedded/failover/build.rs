//! Builds of failover plans, and the goldens of the three-switch examples.

use p4gen::build::{BuildDirectory, BuildOptions, build_with};
use p4gen::entries::{commands, runtime_json, write_request};
use p4gen::targets::{Formats, V1MODEL};
use p4runtime::P4InfoIndex;
use simulator::embedded::{Network, Probe, WalkEnd};
use topology::generate::{Cables, ThreeNode};

use super::{plan, variants, with_stack};

#[test]
fn all_formats_of_a_build_carry_the_same_and_packets_cross_it() {
    let topology = ThreeNode {
        cables: Cables::default(),
    };
    let topology = topology.generate().unwrap();
    for (name, mut options) in variants() {
        if options.scheme.by_trees() {
            options.trees = Some(1);
        }
        let options = with_stack(options, 4);
        let plan = plan(&topology, &options);
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("build");
        let options = BuildOptions {
            formats: Formats::all(),
            ..BuildOptions::default()
        };
        let report = build_with(&plan, &V1MODEL, &at, &options, &|_| {}).unwrap();
        assert!(report.failover.is_some());
        let directory = BuildDirectory::open(&at).unwrap();
        let program = &directory.manifest().program;
        let info = p4runtime::from_text(&directory.read_text(&program.p4info).unwrap()).unwrap();
        let index = P4InfoIndex::new(info).unwrap();
        let mut shown = String::new();
        for switch in &directory.manifest().switches {
            let read = |file: &str| directory.read_text(file).unwrap();
            let mut texts = read(&switch.commands_txt());
            let mut of_text =
                write_request::read_text(&switch.name, &read(&switch.entries_txtpb()), &index)
                    .unwrap();
            let (mut of_json, _) =
                runtime_json::read(&switch.name, &read(&switch.runtime_json()), &index).unwrap();
            let mut of_commands = commands::read(&switch.name, &texts, &index).unwrap();
            for entries in [&mut of_text, &mut of_json, &mut of_commands] {
                p4gen::entries::Catalog::of_p4info(index.info())
                    .arrange(entries)
                    .unwrap();
            }
            assert_eq!(of_text, of_json, "{name}");
            assert_eq!(of_text, of_commands, "{name}");
            assert!(of_text.tables.len() as u64 == switch.entries);
            texts.insert_str(0, &format!("# {}\n", switch.name));
            shown.push_str(&texts);
        }
        insta::assert_snapshot!(format!("entries_{name}"), shown);
        cross(directory, plan);
    }
}

/// Every host reaches every other, through the entry files, with any one link failed.
fn cross(directory: BuildDirectory, plan: plan::CheckedPlan) {
    let topology = plan.topology().clone();
    let mut network = Network::open(directory, plan).unwrap();
    for from in topology.host_ids() {
        for to in topology.host_ids().filter(|&to| to != from) {
            let probe = Probe {
                from,
                to,
                class: None,
                flow: 7,
                ipv6: from.index() == 0,
            };
            let (packet, switch, port) = network.packet(&probe).unwrap();
            let sent: String = packet.iter().map(|b| format!("{b:02x}")).collect();
            let walk = network.walk("h", packet, switch, port).unwrap();
            let host = topology.host(to).name.clone();
            assert_eq!(walk.end, WalkEnd::Delivered { host }, "{walk:?}");
            assert_eq!(walk.hops.last().unwrap().bytes_after.as_ref(), Some(&sent));
        }
    }
}

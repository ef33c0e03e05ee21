//! Builds of failover plans for Tofino.

use p4runtime::P4InfoIndex;
use plan::{CheckedPlan, check};
use schemes::failover::{FailoverOptions, FailoverScheme, Important, failover};
use serde_json::Value;
use topology::generate::{Cables, Clos};

use crate::build::{BuildDirectory, BuildFault, BuildOptions, build, build_with};
use crate::entries::{DevicePorts, write_request};
use crate::family::ProgramFeatures;
use crate::targets::{TNA, TNA2, Target, V1MODEL};

/// A failover plan of a small network.
fn failover_plan(options: &FailoverOptions) -> CheckedPlan {
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 1,
        parallel: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().expect("a small Clos");
    let tables = failover(&topology, options).expect("a Clos gets failover tables");
    check(tables, &check::Options::default()).expect("and they are sound")
}

/// What a failover build for Tofino says of a switch, in v1model's words: without tables of its
/// own, with the port status as wide as the plan's.
fn failover_of_bfrt(
    opened: &BuildDirectory,
    name: &str,
    layout: &crate::layout::Layout,
) -> crate::entries::SwitchEntries {
    use crate::entries::{Bytestring as _, EntryAction, FieldMatch, bfrt};
    use crate::layout::{action, table};

    let info = opened.read_text(&opened.manifest().program.p4info).unwrap();
    let index = P4InfoIndex::new(p4runtime::from_text(&info).unwrap()).unwrap();
    let files = opened.switch(name).unwrap();
    let text = opened.read_text(&files.bfrt_json()).unwrap();
    let (mut entries, program) = bfrt::read(name, &text, &index).unwrap();
    assert_eq!(program, "failover");
    assert_eq!(files.entries, entries.tables.len() as u64, "{name}");
    let own = [table::PORT_DOWN, table::PORT_ALIVE, table::WAY];
    entries.tables.retain(|e| !own.contains(&e.table.as_ref()));
    for entry in &mut entries.tables {
        if entry.table == table::INGRESS_ISLAND_OUT {
            entry.table = table::ISLAND_OUT.into();
        }
        for key in &mut entry.keys {
            assert_ne!(key.field, "port_status_high");
            if let ("port_status", FieldMatch::Ternary { value, mask }) =
                (key.field.as_ref(), &mut key.value)
            {
                let field = layout.table(&entry.table).unwrap().field("port_status");
                let width = u32::from(field.unwrap().bits);
                for bits in [value, mask] {
                    *bits = entries::Bits::from_uint(bits.to_u128().unwrap(), width).unwrap();
                }
            }
        }
        if let EntryAction::Call(call) = &mut entry.action {
            if call.action == action::INGRESS_DECAPSULATE {
                call.action = action::DECAPSULATE.into();
            }
            if call.action == action::FROM_FABRIC {
                assert_eq!(call.params.len(), 1);
                call.params.clear();
            }
        }
    }
    entries
}

#[test]
fn a_failover_plan_has_the_same_entries_on_every_target() {
    let place = tempfile::tempdir().unwrap();
    let routed = |scheme| FailoverOptions {
        output: plan::failover::Output::SourceRoutes,
        ..FailoverOptions::new(scheme)
    };
    for options in [
        routed(FailoverScheme::Plinko),
        routed(FailoverScheme::MplsFrr),
        FailoverOptions::new(FailoverScheme::Fcp),
        FailoverOptions {
            multipath: Some(3),
            ..FailoverOptions::new(FailoverScheme::Plinko)
        },
        FailoverOptions::new(FailoverScheme::Adst),
        FailoverOptions {
            important: Some(Important {
                hosts: [topology::HostId::new(0)].into(),
                options: Box::new(FailoverOptions::new(FailoverScheme::Adst)),
                all_trees: true,
            }),
            ..routed(FailoverScheme::Plinko)
        },
    ] {
        let plan = failover_plan(&options);
        let open = |target: &'static dyn Target| {
            let capabilities = target.capabilities();
            let directory = place.path().join(capabilities.target);
            let report = build(&plan, target, &directory, &|_| ()).unwrap();
            assert!(report.failover.is_some());
            assert_eq!(report.pipeline.is_some(), capabilities.pipeline.is_some());
            BuildDirectory::open(&directory).unwrap()
        };
        let targets: [&dyn Target; 3] = [&V1MODEL, &TNA, &TNA2];
        let [v1model, tna, tna2] = targets.map(open);
        assert!(tna.path("bfrt_ports.py").is_file());
        let program = v1model.read_text(&v1model.manifest().program.p4info);
        let index = P4InfoIndex::new(p4runtime::from_text(&program.unwrap()).unwrap()).unwrap();
        let layout = ProgramFeatures::of(&plan).layout(V1MODEL.capabilities.architecture);
        for switch in &v1model.manifest().switches {
            let name = &switch.name;
            let text = v1model.read_text(&switch.entries_txtpb()).unwrap();
            let mut ours = write_request::read_text(name, &text, &index).unwrap();
            let mut theirs = failover_of_bfrt(&tna, name, &layout);
            crate::entries::Catalog::of_p4info(index.info())
                .arrange(&mut theirs)
                .unwrap();
            crate::entries::Catalog::of_p4info(index.info())
                .arrange(&mut ours)
                .unwrap();
            assert_eq!(ours, theirs, "{name}, {:?}", options.scheme);
            let text = |opened: &BuildDirectory| opened.read_text(&switch.bfrt_json()).unwrap();
            assert_eq!(text(&tna), text(&tna2), "{name}");
        }
    }
}

#[test]
fn what_no_chip_holds_is_refused_with_a_way_out() {
    let place = tempfile::tempdir().unwrap();
    let deep = FailoverOptions {
        stack: Some(20),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let plan = failover_plan(&deep);
    let error = build(&plan, &TNA, &place.path().join("out"), &|_| ()).unwrap_err();
    assert_eq!(error.fault(), BuildFault::Target);
    let text = error.to_string();
    assert!(
        text.contains("needs 20 hops") && text.contains("has 16"),
        "{text}"
    );
    assert!(text.contains("--stack"), "{text}");
}

#[test]
fn device_ports_of_a_failover_plan_are_outside_and_the_generators_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let plan = failover_plan(&FailoverOptions::new(FailoverScheme::MplsFrr));
    let name = plan.topology().switches()[0].name.clone();
    let with = |device: u16| BuildOptions {
        device_ports: DevicePorts::from_json(
            &serde_json::json!({ &name: { "1": device } }).to_string(),
        )
        .unwrap(),
        ..BuildOptions::default()
    };
    let directory = place.path().join("out");
    let make = |target: &'static dyn Target, device| {
        build_with(&plan, target, &directory, &with(device), &|_| ())
    };
    make(&TNA, 132).unwrap();
    let opened = BuildDirectory::open(&directory).unwrap();
    let path = opened.switch(&name).unwrap().bfrt_json();
    let file: Value = serde_json::from_str(&opened.read_text(&path).unwrap()).unwrap();
    let entries = |name: &str| {
        let tables = file["tables"].as_array().unwrap().iter();
        let mut table = tables.filter(|t| t["table"] == format!("pipe.ingress.{name}"));
        table.next().unwrap()["entries"].as_array().unwrap().clone()
    };
    let of_port_1 = |name: &str| {
        let found = entries(name)
            .into_iter()
            .find(|e| e["key"]["port"] == "0x84");
        found.unwrap_or_else(|| panic!("{name} has no such port"))
    };
    assert_eq!(of_port_1("port_down")["data"]["others"], "0xfffffffd");
    assert_eq!(of_port_1("port_alive")["key"]["port_status"]["mask"], "0x2");
    assert!(of_port_1("island_in").is_object());
    let cases: [(&dyn Target, u16); 2] = [(&TNA, 68 + 128), (&TNA2, 6 + 256)];
    for (target, device) in cases {
        let error = make(target, device).unwrap_err();
        assert_eq!(error.fault(), BuildFault::Input, "{error}");
        assert!(error.to_string().contains("--device-ports"), "{error}");
    }
}

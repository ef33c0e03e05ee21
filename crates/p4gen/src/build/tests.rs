//! Whole builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use p4runtime::P4InfoIndex;
use plan::{CarrierKind, RuleForm, check};
use schemes::{TaggerOptions, tagger};
use serde_json::Value;
use topology::generate::{Cables, Clos};
use topology::import::{ImportOptions, import};
use topology::{Endpoint, NodeId, SwitchId, Topology};

use super::*;
use crate::capabilities::Capabilities;
use crate::entries::{commands, runtime_json, write_request};
use crate::targets::{Format, TNA, TNA2, V1MODEL};

fn clos(options: &TaggerOptions) -> CheckedPlan {
    let clos = Clos {
        leaves: 4,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().expect("a small Clos");
    let tables = tagger(&topology, options).expect("a Clos gets tags");
    check(tables, &check::Options::default()).expect("and they are sound")
}

fn build_into(directory: &Path, plan: &CheckedPlan) -> BuildReport {
    build_all(plan, &V1MODEL, directory).expect("the build succeeds")
}

/// A build with everything that there is to write.
fn build_all(
    plan: &CheckedPlan,
    target: &'static dyn Target,
    directory: &Path,
) -> Result<BuildReport, BuildError> {
    let options = BuildOptions {
        formats: Formats::all(),
        ..BuildOptions::default()
    };
    build_with(plan, target, directory, &options, &|_| ())
}

/// What is written beside the program: one of P4Runtime's formats always, the rest where it is
/// asked for.
#[test]
fn formats_are_written_when_they_are_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let plan = clos(&TaggerOptions::default());
    let made = |formats: &[Format]| {
        let directory = place.path().join("out");
        let options = BuildOptions {
            formats: Formats::new(formats.iter().copied()),
            ..BuildOptions::default()
        };
        build_with(&plan, &V1MODEL, &directory, &options, &|_| ()).unwrap();
        let opened = BuildDirectory::open(&directory).unwrap();
        let held = opened.entries(&[]).unwrap();
        let files = files(&directory).into_keys();
        let for_switches = ["topology.json", "Makefile", "p4-utils/p4app.json"];
        let leaf = files.filter_map(|file| match file.strip_prefix("switches/leaf1/") {
            Some(name) => Some(name.to_owned()),
            None => for_switches.contains(&file.as_str()).then_some(file),
        });
        (leaf.collect::<Vec<_>>(), held)
    };
    let (text, entries) = made(&[]);
    assert_eq!(text, ["entries.txtpb"]);
    for (formats, expected) in [
        (&[Format::Binpb][..], &["entries.binpb"][..]),
        (
            &[Format::Binpb, Format::Txtpb],
            &["entries.binpb", "entries.txtpb"],
        ),
        (&[Format::Commands], &["commands.txt", "entries.txtpb"]),
        (
            &[Format::P4Utils, Format::Binpb],
            &["p4-utils/p4app.json", "commands.txt", "entries.binpb"],
        ),
        (
            &[Format::Tutorials],
            &[
                "Makefile",
                "commands.txt",
                "entries.txtpb",
                "runtime.json",
                "topology.json",
            ],
        ),
    ] {
        let (files, held) = made(formats);
        assert_eq!(files, expected);
        assert_eq!(held, entries, "{expected:?}");
    }
}

/// All files of a directory, by path.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path
                    .strip_prefix(directory)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                found.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_build_is_complete_deterministic_and_replaceable() {
    let place = tempfile::tempdir().unwrap();
    let plan = clos(&TaggerOptions::default());
    let first = place.path().join("first");
    let second = place.path().join("second");
    build_into(&first, &plan);
    build_into(&second, &plan);
    let built = files(&first);
    assert_eq!(built, files(&second), "the same plan gives the same bytes");
    build_into(&second, &plan);
    assert_eq!(built, files(&second), "a build replaces a build");
    let opened = BuildDirectory::open(&first).unwrap();
    let manifest = opened.manifest();
    assert_eq!(manifest.switches.len(), 6);
    let mut listed: Vec<&str> = manifest.files.keys().map(String::as_str).collect();
    listed.push(MANIFEST);
    listed.sort_unstable();
    assert_eq!(listed, built.keys().map(String::as_str).collect::<Vec<_>>());
    for path in manifest.files.keys() {
        opened.read(path).unwrap();
    }
    for switch in &manifest.switches {
        for path in [
            switch.entries_txtpb(),
            switch.runtime_json(),
            switch.commands_txt(),
        ] {
            assert!(built.contains_key(&path), "{path}");
        }
    }
    for path in [&manifest.program.main, &manifest.program.p4info] {
        assert!(built.contains_key(path), "{path}");
    }
    assert!(
        std::fs::read_dir(place.path()).unwrap().count() == 2,
        "nothing is left behind"
    );
}

#[test]
fn a_changed_file_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    build_into(&directory, &clos(&TaggerOptions::default()));
    let main = directory.join("p4/tagger.p4");
    std::fs::write(&main, "changed").unwrap();
    let opened = BuildDirectory::open(&directory).unwrap();
    assert!(matches!(
        opened.read("p4/tagger.p4"),
        Err(ManifestError::Changed { .. })
    ));
    assert!(matches!(
        opened.switch("nobody"),
        Err(ManifestError::NoSuchSwitch { .. })
    ));
}

#[test]
fn a_foreign_directory_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("home");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("precious"), "data").unwrap();
    let plan = clos(&TaggerOptions::default());
    let error = build(&plan, &V1MODEL, &directory, &|_| ()).unwrap_err();
    assert_eq!(error.fault(), BuildFault::Input);
    assert_eq!(std::fs::read(directory.join("precious")).unwrap(), b"data");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn every_carrier_and_form_is_built() {
    let place = tempfile::tempdir().unwrap();
    for &carrier in CarrierKind::ALL {
        for form in [RuleForm::Exact, RuleForm::PortSets] {
            let options = TaggerOptions {
                carrier,
                form,
                ..TaggerOptions::default()
            };
            let report = build_into(&place.path().join("out"), &clos(&options));
            assert_eq!(report.carrier, carrier);
            assert_eq!(report.tags.len(), 2);
        }
    }
}

#[test]
fn the_mininet_file_is_what_the_tutorials_read() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    let plan = clos(&TaggerOptions::default());
    build_into(&directory, &plan);
    let text = std::fs::read_to_string(directory.join("topology.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    for (name, switch) in json["switches"].as_object().unwrap() {
        let file = switch.get("cli_input").or(switch.get("runtime_json"));
        let file = file.and_then(Value::as_str).unwrap();
        assert!(directory.join(file).is_file(), "{name}: {file}");
        assert_eq!(switch["priority_queues"], 8);
    }
    for (name, host) in json["hosts"].as_object().unwrap() {
        let (address, length) = host["ip"].as_str().unwrap().split_once('/').unwrap();
        assert!(address.parse::<std::net::Ipv4Addr>().is_ok(), "{name}");
        assert!(length.parse::<u8>().unwrap() <= 32, "{name}");
        assert!(!host["commands"].as_array().unwrap().is_empty(), "{name}");
    }
    let links = json["links"].as_array().unwrap();
    assert_eq!(links.len(), plan.topology().links().len());
    // The runner's own conditions (utils/run_exercise.py, parse_links and ExerciseTopo).
    for link in links {
        let mut ends = [0, 1].map(|i| link[i].as_str().unwrap());
        ends.sort_unstable();
        assert!(
            ends[1].starts_with('s') && ends[1].split('-').count() == 2,
            "{ends:?}"
        );
        for end in ends {
            let name = end.split('-').next().unwrap();
            let kind = if name.starts_with('h') {
                "hosts"
            } else {
                "switches"
            };
            assert!(json[kind].get(name).is_some(), "{end}");
        }
    }
}

#[test]
fn the_files_for_mininet_describe_the_network_that_was_planned() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    let plan = clos(&TaggerOptions::default());
    build_into(&directory, &plan);
    // Names may be others; the order of nodes, and the ports of switches, are the plan's.
    let end = |end: Endpoint| match end.node {
        NodeId::Switch(id) => format!("switch {} port {}", id.index(), end.port),
        NodeId::Host(id) => format!("host {}", id.index()),
    };
    let cables = |topology: &Topology| {
        let links = topology.links().iter();
        let ends = links.map(|link| BTreeSet::from([end(link.a), end(link.b)]));
        ends.collect::<BTreeSet<_>>()
    };
    for file in ["topology.json", "p4-utils/p4app.json"] {
        let text = std::fs::read_to_string(directory.join(file)).unwrap();
        let read = import(&text, &ImportOptions::default()).unwrap().topology;
        let wanted = plan.topology();
        assert_eq!(read.switches().len(), wanted.switches().len(), "{file}");
        assert_eq!(cables(&read), cables(wanted), "{file}");
        for (read, wanted) in read.hosts().iter().zip(wanted.hosts()) {
            assert_eq!((read.ipv4, read.mac), (wanted.ipv4, wanted.mac), "{file}");
        }
    }
    let text = std::fs::read_to_string(directory.join("p4-utils/p4app.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let directory = directory.join("p4-utils");
    assert!(directory.join(json["p4_src"].as_str().unwrap()).is_file());
    for (name, switch) in json["topology"]["switches"].as_object().unwrap() {
        assert!(
            directory
                .join(switch["cli_input"].as_str().unwrap())
                .is_file(),
            "{name}"
        );
    }
}

#[test]
fn what_the_target_lacks_is_refused_by_name() {
    let plan = clos(&TaggerOptions::default());
    let small = Capabilities {
        target: "toy",
        priorities: 2,
        highest_port: 1,
        bitmap_bits: 3,
        ..V1MODEL.capabilities
    };
    let demands = ProgramFeatures::of(&plan).demands(&plan);
    let refusals = small.refusals(&plan, &demands);
    assert_eq!(refusals.len(), 3);
    for refusal in &refusals {
        let text = refusal.to_string();
        assert!(
            text.starts_with("target toy cannot carry this plan: "),
            "{text}"
        );
        assert!(refusal.need > refusal.limit, "{text}");
    }
    assert!(V1MODEL.capabilities.refusals(&plan, &demands).is_empty());
}

/// What plans are built for.
const TARGETS: [&dyn Target; 3] = [&V1MODEL, &TNA, &TNA2];

/// A plan whose proof leaves out what today's switches have, for a Clos of two leaves.
fn unbudgeted(hosts: u16, options: &TaggerOptions) -> CheckedPlan {
    let clos = Clos {
        leaves: 2,
        spines: 2,
        hosts,
        parallel: 1,
        cables: Cables::default(),
    };
    let topology = clos.generate().expect("a small Clos");
    let mut options = options.clone();
    options.budget.lossless_priorities = 16;
    options.budget.ports = 2048;
    let tables = tagger(&topology, &options).expect("a Clos gets tags");
    let free = check::Options {
        budgets: false,
        ..check::Options::default()
    };
    check(tables, &free).expect("and they are sound")
}

/// Priorities, ports and bitmaps, by a build for every target: what, how much, how much there is,
/// what to change; and nothing is left in the directory's place.
#[test]
fn every_target_refuses_a_plan_that_it_cannot_hold() {
    let place = tempfile::tempdir().unwrap();
    let exact = TaggerOptions {
        form: RuleForm::Exact,
        ..TaggerOptions::default()
    };
    let bounces = TaggerOptions {
        bounces: 8,
        ..TaggerOptions::default()
    };
    let many_priorities = unbudgeted(2, &bounces);
    let many_ports = unbudgeted(520, &exact);
    let wide = unbudgeted(40, &TaggerOptions::default());
    for target in TARGETS {
        let name = target.capabilities().target;
        let mut cases = vec![
            (
                &many_priorities,
                "it needs 10 priorities, the target has 8",
                "fewer bounces",
            ),
            (
                &many_ports,
                "needs 522 port numbers, the target has 510",
                "split the switch",
            ),
        ];
        if target.capabilities().pipeline.is_some() {
            let words =
                "it needs 43 bits of port bitmap (one per port, and bit 0), the target has 33";
            cases.push((&wide, words, "`plan --rules exact`"));
        }
        for (plan, words, mend) in cases {
            let directory = place.path().join(name);
            let error = build(plan, target, &directory, &|_| ()).unwrap_err();
            assert_eq!(error.fault(), BuildFault::Target, "{error}");
            let text = error.to_string();
            assert!(
                text.contains(&format!("target {name} cannot carry this plan")),
                "{text}"
            );
            assert!(text.contains(words) && text.contains(mend), "{text}");
            assert!(!directory.exists());
        }
    }
}

/// Failover plans with lossless tags: built for every target where tags are in the shim, refused by
/// name for other carriers.
#[test]
fn lossless_failover_is_built_where_there_is_a_program() {
    use schemes::failover::{FailoverOptions, FailoverScheme, Method, lossless_failover};

    let ring = topology::generate::ThreeNode {
        cables: Cables::default(),
    };
    let ring = ring.generate().unwrap();
    let plan = |scheme, method, carrier| {
        let tags = TaggerOptions {
            carrier,
            ..TaggerOptions::default()
        };
        let options = FailoverOptions::new(scheme);
        let tables = lossless_failover(&ring, &options, method, &tags).unwrap();
        check(tables, &check::Options::default()).unwrap()
    };
    let place = tempfile::tempdir().unwrap();
    let rising = plan(FailoverScheme::Plinko, Method::Rising, CarrierKind::Shim);
    let report = build(&rising, &V1MODEL, &place.path().join("ours"), &|_| ()).unwrap();
    let tables = &report.switches[0].tables;
    for table in ["ingress.edge_class", "ingress.classify", "egress.rewrite"] {
        assert!(tables[table] > 0, "{table}: {tables:?}");
    }
    let channels = Method::Channels(1);
    let channels = plan(FailoverScheme::DfFi, channels, CarrierKind::Shim);
    build(&channels, &V1MODEL, &place.path().join("theirs"), &|_| ()).unwrap();
    for (plan, name) in [(&rising, "rising"), (&channels, "channels")] {
        for target in [&TNA, &TNA2] {
            let name = format!("{name}-{}", target.capabilities().target);
            let report = build(plan, target, &place.path().join(name), &|_| ()).unwrap();
            let tables = &report.switches[0].tables;
            assert!(tables["ingress.rewrite"] > 0, "{tables:?}");
        }
    }
    let other_carrier = plan(FailoverScheme::Plinko, Method::Rising, CarrierKind::Dscp);
    let error = build(&other_carrier, &V1MODEL, &place.path().join("x"), &|_| ()).unwrap_err();
    assert_eq!(error.fault(), BuildFault::Target, "{error}");
    assert!(error.to_string().contains("--carrier shim"), "{error}");
}

/// Stages and TCAM of both chips, for a program that is too large for them; software has neither.
#[test]
fn a_pipeline_refuses_what_its_stages_and_tcam_cannot_hold() {
    use crate::family::{Family, TaggerFeatures};
    use crate::layout::table;

    let features = TaggerFeatures {
        carrier: CarrierKind::Dscp,
        class_shift: None,
        lossy: plan::TagCode::new(0),
        form: RuleForm::PortSets,
        port_bits: 33,
        maps: false,
    };
    for (target, stages, blocks) in [(&TNA, 12, 288), (&TNA2, 20, 480)] {
        let capabilities = target.capabilities();
        let pipeline = capabilities.pipeline.expect("Tofino has one");
        let refusals = |need: TableSizes| {
            let layout = features.layout(capabilities.architecture).holding(&need);
            let estimate = Estimate::of(&features.ingress(&layout, &pipeline), &pipeline);
            capabilities.pipeline_refusals(&estimate)
        };
        assert!(refusals(TableSizes::default()).is_empty());
        for (table, entries, mend) in [
            (table::IPV4_ROUTE, 1 << 18, "from one prefix"),
            (table::CLASSIFY, 1 << 17, "fewer or narrower tag rules"),
        ] {
            let refused = refusals(TableSizes::from([(table, entries)]));
            let of = |resource: &str| refused.iter().find(|r| r.resource == resource);
            for (resource, limit) in [("stages", stages), ("TCAM blocks", blocks)] {
                let refusal = of(resource).unwrap_or_else(|| panic!("{resource}: {refused:?}"));
                assert!(
                    refusal.need > refusal.limit && refusal.limit == limit,
                    "{refusal}"
                );
                let text = BuildError::Refused(vec![refusal.clone()]).to_string();
                assert!(
                    text.contains(capabilities.target) && text.contains(mend),
                    "{text}"
                );
            }
        }
    }
    assert!(V1MODEL.capabilities.pipeline.is_none());
}

#[test]
fn the_page_names_every_tag_and_class() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    let options = TaggerOptions::default().with_classes(2);
    let report = build_into(&directory, &clos(&options));
    let page = std::fs::read_to_string(directory.join("report.html")).unwrap();
    for class in &report.classes {
        assert!(page.contains(&format!("<td>{}</td>", class.name)));
    }
    assert_eq!(report.tags.len(), 3);
    for tag in &report.tags {
        let row = format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            tag.tag, tag.code, tag.priority
        );
        assert!(page.contains(&row), "{row}");
    }
    // It shows without the certificate that it links to; an arrow's head is in the page itself.
    let rest = page.replace("href=\"certificate.json\"", "");
    let rest = rest.replace("url(#ring-arrow)", "");
    for link in ["href=", "src=", "url(", "@import"] {
        assert!(
            !rest.contains(link),
            "the page needs nothing else, but has {link}"
        );
    }
    assert!(page.contains("<svg"), "the network is drawn");
}

#[test]
fn the_page_says_what_is_assumed_and_how_to_check_it() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    let report = build_into(&directory, &clos(&TaggerOptions::default()));
    let read = |name: &str| std::fs::read(directory.join(name)).unwrap();
    let page = String::from_utf8(read("report.html")).unwrap();
    let certificate: serde_json::Value = serde_json::from_slice(&read("certificate.json")).unwrap();
    let digest = Digest::of(&read("plan.json")).to_string();
    assert_eq!(certificate["plan_sha256"], digest.as_str());
    let graph = report.proof.graph.unwrap();
    assert_eq!(certificate["graph"]["buffers"], graph.buffers);
    for words in [
        "PFC is on for priority 3, 4 at every port",
        "Hosts drain: no host pauses a priority for ever.",
        "<b>A6</b> All links are those of the topology",
        "Without tags: a cycle of buffers",
        "switchwright check plan.json",
        &digest,
        &format!("has {} buffers", graph.buffers),
    ] {
        assert!(page.contains(words), "{words}");
    }
}

/// What a build for v1model says of a switch, in each of its formats: all the same.
fn read_v1model(
    opened: &BuildDirectory,
    switch: &SwitchFiles,
    index: &P4InfoIndex,
) -> crate::entries::SwitchEntries {
    let text = |path: String| opened.read_text(&path).unwrap();
    let name = &switch.name;
    let request = text(switch.entries_txtpb());
    let request = write_request::read_text(name, &request, index).unwrap();
    let (json, _) = runtime_json::read(name, &text(switch.runtime_json()), index).unwrap();
    let commands = commands::read(name, &text(switch.commands_txt()), index).unwrap();
    assert_eq!(request, json, "{name}");
    assert_eq!(request, commands, "{name}");
    let count = request.tables.len() + request.members.len() + request.groups.len();
    assert_eq!(switch.entries, count as u64, "{name}");
    request
}

#[test]
fn the_plan_in_the_directory_is_the_plan() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    let plan = clos(&TaggerOptions::default());
    build_into(&directory, &plan);
    let opened = BuildDirectory::open(&directory).unwrap();
    let text = opened.read_text(&opened.manifest().made_from.plan).unwrap();
    assert_eq!(&plan::Tables::from_json(&text).unwrap(), plan.tables());
}

/// What a build for Tofino says of a switch, in v1model's words: read back, renamed, without the
/// bits of ports.
fn read_bfrt(opened: &BuildDirectory, name: &str) -> crate::entries::SwitchEntries {
    use crate::entries::{EntryAction, bfrt};
    use crate::layout::{action, table};

    let info = opened.read_text(&opened.manifest().program.p4info).unwrap();
    let index = P4InfoIndex::new(p4runtime::from_text(&info).unwrap()).unwrap();
    let text = opened
        .read_text(&opened.switch(name).unwrap().bfrt_json())
        .unwrap();
    let (mut entries, program) = bfrt::read(name, &text, &index).unwrap();
    assert_eq!(program, "tagger");
    let files = opened.switch(name).unwrap();
    let count = entries.tables.len() + entries.members.len() + entries.groups.len();
    assert_eq!(files.entries, count as u64, "{name}");
    entries
        .tables
        .retain(|e| e.table != table::IN_PORT_BIT && e.table != table::OUT_PORT_BIT);
    for entry in &mut entries.tables {
        if entry.table == table::INGRESS_REWRITE {
            entry.table = table::REWRITE.into();
        }
        if let EntryAction::Call(call) = &mut entry.action {
            for (ours, theirs) in [
                (action::SET_TAG, action::INGRESS_SET_TAG),
                (action::SET_LOSSY_CODE, action::INGRESS_SET_LOSSY_CODE),
            ] {
                if call.action == theirs {
                    call.action = ours.into();
                }
            }
        }
    }
    entries
}

/// One plan for every target, every format of it read back: runtime.json, the WriteRequest, the
/// commands of simple_switch_CLI, bfrt.json for both chips. The embedded switch is filled from the
/// WriteRequest.
#[test]
fn a_plan_has_the_same_entries_on_every_target() {
    let place = tempfile::tempdir().unwrap();
    for &carrier in CarrierKind::ALL {
        for form in [RuleForm::Exact, RuleForm::PortSets] {
            let options = TaggerOptions {
                carrier,
                form,
                ..TaggerOptions::default()
            };
            let plan = clos(&options);
            let open = |target: &'static dyn Target| {
                let capabilities = target.capabilities();
                let directory = place.path().join(capabilities.target);
                let report = build_all(&plan, target, &directory).unwrap();
                assert_eq!(report.target, capabilities.target);
                assert_eq!(report.pipeline.is_some(), capabilities.pipeline.is_some());
                BuildDirectory::open(&directory).unwrap()
            };
            let [v1model, tna, tna2] = TARGETS.map(open);
            let info = v1model
                .read_text(&v1model.manifest().program.p4info)
                .unwrap();
            let index = P4InfoIndex::new(p4runtime::from_text(&info).unwrap()).unwrap();
            for switch in &v1model.manifest().switches {
                let name = &switch.name;
                let mut ours = read_v1model(&v1model, switch, &index);
                crate::entries::Catalog::of_p4info(index.info())
                    .arrange(&mut ours)
                    .unwrap();
                for tofino in [&tna, &tna2] {
                    let mut theirs = read_bfrt(tofino, name);
                    crate::entries::Catalog::of_p4info(index.info())
                        .arrange(&mut theirs)
                        .unwrap();
                    assert_eq!(ours, theirs, "{name}, {carrier:?}, {form:?}");
                }
            }
        }
    }
}

#[test]
fn device_ports_change_port_numbers_and_no_port_sets() {
    let place = tempfile::tempdir().unwrap();
    let plan = clos(&TaggerOptions {
        form: RuleForm::PortSets,
        ..TaggerOptions::default()
    });
    let name = plan.topology().switches()[0].name.clone();
    let ports: Vec<u16> = plan
        .topology()
        .peers(SwitchId::new(0))
        .map(|(port, _)| port.get())
        .collect();
    let map: BTreeMap<u16, u16> = ports.iter().map(|&p| (p, 128 + 4 * p)).collect();
    let json = serde_json::json!({ &name: map }).to_string();
    let text = |file: &str, options: &BuildOptions| {
        let directory = place.path().join(file);
        build_with(&plan, &TNA, &directory, options, &|_| ()).unwrap();
        let opened = BuildDirectory::open(&directory).unwrap();
        let path = opened.switch(&name).unwrap().bfrt_json();
        serde_json::from_str::<Value>(&opened.read_text(&path).unwrap()).unwrap()
    };
    let with = |json: &str| BuildOptions {
        device_ports: DevicePorts::from_json(json).unwrap(),
        ..BuildOptions::default()
    };
    let table = |file: &Value, name: &str| {
        let tables = file["tables"].as_array().unwrap();
        tables.iter().find(|t| t["table"] == name).unwrap()["entries"].clone()
    };
    let (plain, mapped) = (
        text("plain", &BuildOptions::default()),
        text("mapped", &with(&json)),
    );
    for name in ["pipe.ingress.classify", "pipe.ingress.rewrite"] {
        assert_eq!(table(&plain, name), table(&mapped, name));
    }
    let bits = table(&mapped, "pipe.ingress.in_port_bit");
    let keys: Vec<&str> = bits
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["key"]["port"].as_str().unwrap())
        .collect();
    let wanted: Vec<String> = ports
        .iter()
        .map(|p| format!("{:#x}", 128 + 4 * p))
        .collect();
    assert_eq!(keys, wanted);
    let error = |json: &str| {
        let directory = place.path().join("wrong");
        build_with(&plan, &TNA, &directory, &with(json), &|_| ()).unwrap_err()
    };
    assert_eq!(error(r#"{"nobody": {"1": 5}}"#).fault(), BuildFault::Input);
    let twice = serde_json::json!({ &name: { ports[0].to_string(): ports[1] } }).to_string();
    let error = error(&twice);
    assert_eq!(error.fault(), BuildFault::Input, "{error}");
}

#[test]
fn a_build_for_tofino_is_not_taken_for_one_over_p4runtime() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    build(&clos(&TaggerOptions::default()), &TNA, &directory, &|_| ()).unwrap();
    let opened = BuildDirectory::open(&directory).unwrap();
    assert!(opened.path("bfrt_load.py").is_file());
    let error = opened.over_p4runtime().unwrap_err();
    assert!(matches!(error, ManifestError::Target { .. }), "{error}");
    assert!(error.to_string().contains("BF Runtime"));
}

/// A fat-tree of 1,280 switches; run it in release mode to measure.
#[test]
#[ignore = "a measurement"]
fn a_large_fat_tree_is_built_in_seconds() {
    let fat_tree = topology::generate::FatTree {
        k: 32,
        cables: Cables::default(),
    };
    let topology = fat_tree.generate().unwrap();
    let tables = tagger(&topology, &TaggerOptions::default()).unwrap();
    let plan = check(tables, &check::Options::default()).unwrap();
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    let start = std::time::Instant::now();
    let report = build_into(&directory, &plan);
    let bytes: usize = files(&directory).values().map(Vec::len).sum();
    let (entries, seconds) = (report.entries_total, start.elapsed().as_secs_f64());
    println!(
        "{} switches, {entries} entries, {bytes} bytes: {seconds:.2} s",
        report.switches.len()
    );
}

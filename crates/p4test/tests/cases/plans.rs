//! Plans of a Flattened Clos, switch by switch: what the embedded network sends on with a plan's entries, every executor and BMv2 send
//! too.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use netsim::embedded::{Network, Probe};
use p4front::Options;
use p4gen::entries::{ActionCall, EntryAction, MatchValue, SwitchEntries};
use p4gen::family::ProgramFeatures;
use p4gen::program;
use p4gen::targets::V1MODEL;
use p4runtime::Bits;
use plan::check::{Options as CheckOptions, check};
use plan::{CheckedPlan, ClassId, Tables};
use quantities::Progress;
use schemes::TaggerOptions;
use schemes::failover::{SourceRouteOptions, source_routes};
use stf::bmv2::{self, Compiler, missing_tool};
use topology::Topology;
use topology::generate::{Cables, FlattenedClos};

/// Ports whose status a failover program of a small switch matches.
const PORTS: u32 = 33;

fn flattened() -> Topology {
    let clos = FlattenedClos {
        switches: 6,
        ports: 10,
        fabric_ports: 8,
        layers: None,
        split: Some(vec![2, 2]),
        single_links: false,
        optical: None,
        seed: 1,
        cables: Cables::default(),
    };
    clos.generate().expect("a network")
}

/// Forwarding by destination, and source routes over disjoint paths.
fn plans() -> [(&'static str, CheckedPlan); 2] {
    let topology = flattened();
    let options = TaggerOptions::default();
    let by_destination = schemes::flattened_clos(&topology, 0, &options).expect("a plan");
    let wanted = SourceRouteOptions {
        paths: None,
        bounces: 1,
        stack: 8,
    };
    let options = TaggerOptions {
        carrier: plan::CarrierKind::Shim,
        ..options
    };
    let by_source = source_routes(&topology, wanted, &options, &Progress::default());
    let proven = |tables: Tables| check(tables, &CheckOptions::default()).expect("proven");
    [
        ("by destination", proven(by_destination)),
        ("source routes", proven(by_source.expect("a plan"))),
    ]
}

fn hex(bits: &Bits) -> String {
    let bytes = bits.as_bytes().iter();
    let digits: String = bytes.map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

fn matched(value: &MatchValue) -> String {
    match value {
        MatchValue::Exact(value) | MatchValue::Optional(value) => hex(value),
        MatchValue::Lpm { value, prefix_len } => format!("{}/{prefix_len}", hex(value)),
        MatchValue::Ternary { value, mask } => format!("{}&&&{}", hex(value), hex(mask)),
        MatchValue::Range { low, high } => format!("{}..{}", hex(low), hex(high)),
    }
}

fn called(call: &ActionCall) -> String {
    let params: Vec<String> = call
        .params
        .iter()
        .map(|(name, value)| format!("{name}:{}", hex(value)))
        .collect();
    format!("{}({})", call.action, params.join(", "))
}

/// Entries as statements of a case.
fn statements(entries: &SwitchEntries) -> String {
    let mut text = String::new();
    for member in &entries.members {
        let _ = writeln!(
            text,
            "member {} {} {}",
            member.profile,
            member.id,
            called(&member.action)
        );
    }
    assert!(
        entries.groups.is_empty(),
        "hashes of groups are an executor's own"
    );
    for entry in &entries.tables {
        let action = match &entry.action {
            EntryAction::Direct(call) => called(call),
            EntryAction::Member(id) => format!("@member({id})"),
            EntryAction::Group(id) => format!("@group({id})"),
        };
        if entry.is_default {
            let _ = writeln!(text, "setdefault {} {action}", entry.table);
            continue;
        }
        let priority = entry
            .priority
            .map_or_else(String::new, |priority| format!("{priority} "));
        let keys: Vec<String> = entry
            .keys
            .iter()
            .map(|key| format!("{}:{}", key.field, matched(&key.value)))
            .collect();
        let _ = writeln!(
            text,
            "add {} {priority}{} {action}",
            entry.table,
            keys.join(" ")
        );
    }
    text
}

/// What each switch gets and sends while every host sends to every other one, lossless and lossy.
fn packets(network: &mut Network) -> BTreeMap<String, String> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let hosts: Vec<_> = network.plan().topology().host_ids().collect();
    for (number, (from, to)) in hosts
        .iter()
        .flat_map(|&from| hosts.iter().map(move |&to| (from, to)))
        .filter(|(from, to)| from != to)
        .enumerate()
    {
        let probe = Probe {
            from,
            to,
            class: (number % 4 != 0).then_some(ClassId::new(0)),
            flow: 50_000 + u16::try_from(number).expect("few pairs"),
            ipv6: false,
        };
        let (packet, switch, port) = network.packet(&probe).expect("a packet");
        let walk = network.walk("host", packet, switch, port).expect("a walk");
        for hop in walk.hops {
            let (out, sent) = hop.out_port.zip(hop.bytes_after).expect("it is sent on");
            let text = seen.entry(hop.switch).or_default();
            let _ = writeln!(
                text,
                "packet {} {}\nexpect {out} {sent}$",
                hop.in_port, hop.bytes_before
            );
        }
    }
    seen
}

/// A case for every switch of a plan, and the folder with its program.
fn cases(plan: CheckedPlan, folder: &Path) -> (PathBuf, Vec<String>) {
    let features = ProgramFeatures::of(&plan);
    let generated = program::generate(features, &V1MODEL.capabilities).expect("a program");
    for file in generated.includes.iter().chain([&generated.main]) {
        fs::write(folder.join(&file.name), &file.text).expect("a writable folder");
    }
    let main = folder.join(&generated.main.name);
    // BMv2 does not know which ports are up.
    let status = match features.routes() {
        true => String::new(),
        false => format!(
            "setdefault ingress.port_status ingress.set_port_status(up:0x{:x})\n",
            (1_u64 << PORTS) - 1
        ),
    };
    let mut network = Network::of(plan).expect("a network");
    let packets = packets(&mut network);
    let switches: Vec<_> = network.plan().topology().switch_ids().collect();
    let case = |switch| {
        let entries = network.entries(switch).expect("entries");
        let sent = &packets[&entries.switch];
        assert!(sent.lines().count() > 60, "{}: few packets", entries.switch);
        format!("{status}{}{sent}", statements(&entries))
    };
    (main, switches.into_iter().map(case).collect())
}

#[test]
fn every_executor_does_what_the_embedded_network_does() {
    for (name, plan) in plans() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, cases) = cases(plan, folder.path());
        for (number, case) in cases.iter().enumerate() {
            let report = super::ours::play_text(case, &program, &Options::on_disk());
            let first: Vec<&str> = report.lines().take(4).collect();
            assert!(
                first.is_empty(),
                "{name}, switch {number}: {}",
                first.join("\n")
            );
        }
    }
}

#[test]
fn bmv2_does_what_the_embedded_network_does() {
    if let Some(tool) = missing_tool() {
        return println!("skipped: {tool} is not installed");
    }
    for (name, plan) in plans() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, cases) = cases(plan, folder.path());
        for compiler in Compiler::here() {
            let program =
                bmv2::Program::compile(&program, compiler, &Options::on_disk(), folder.path());
            let program = program.unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
            for (number, case) in cases.iter().enumerate() {
                let case = stf::parse(case).expect("a case");
                if let Err(trouble) = bmv2::play(&program, &case) {
                    panic!("{name}, by {compiler}, switch {number}: {trouble}");
                }
            }
        }
    }
}

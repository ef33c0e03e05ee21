//! Plans of a Flattened Clos and lossless failover plans, switch by switch: what the embedded
//! network sends on with a plan's entries, before and after links fail, every executor and BMv2
//! send too.

#![allow(clippy::print_stdout, reason = "says what was skipped")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use p4front::Options;
use p4gen::entries::{Bits, EntryAction, FieldMatch, GroupId, MemberId, NamedCall, SwitchEntries};
use p4gen::family::ProgramFeatures;
use p4gen::program;
use p4gen::targets::V1MODEL;
use plan::check::{Options as CheckOptions, check};
use plan::{CheckedPlan, ClassId, Tables};
use quantities::Progress;
use schemes::TaggerOptions;
use schemes::failover::{
    FailoverOptions, FailoverScheme, Important, Method, SourceRouteOptions, TransitionKind,
    TransitionOptions, df_edst, lossless_failover, source_routes,
};
use simulator::embedded::{Network, Probe};
use stf::bmv2::{self, Compiler, missing_tool};
use topology::generate::{Cables, FlattenedClos, Jellyfish, JellyfishSize};
use topology::routes::forwarding::Reroute;
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};

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

fn proven(tables: Tables) -> CheckedPlan {
    check(tables, &CheckOptions::default()).expect("proven")
}

/// Tags in the header that failover tables have.
fn in_the_shim() -> TaggerOptions {
    TaggerOptions {
        carrier: plan::CarrierKind::Shim,
        ..TaggerOptions::default()
    }
}

/// Forwarding by destination, and source routes over disjoint paths.
fn routed() -> Vec<(&'static str, CheckedPlan)> {
    let topology = flattened();
    let options = TaggerOptions::default();
    let by_destination = schemes::flattened_clos(&topology, 0, &options).expect("a plan");
    let wanted = SourceRouteOptions {
        paths: None,
        bounces: 1,
        stack: Some(8),
    };
    let by_source = source_routes(&topology, wanted, &in_the_shim(), &Progress::default());
    vec![
        ("by destination", proven(by_destination)),
        ("source routes", proven(by_source.expect("a plan"))),
    ]
}

/// Lossless failover that withstands one failed link: channels, trees with transitions, and tags
/// that rise.
fn lossless_failover_plans() -> Vec<(&'static str, CheckedPlan)> {
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 8,
            fabric_ports: 4,
        },
        ports: 5,
        seed: 3,
        cables: Cables::default(),
    };
    let topology = jellyfish.generate().expect("a network");
    let trees = FailoverOptions {
        trees: Some(2),
        transitions: TransitionOptions::new(TransitionKind::Line),
        ..FailoverOptions::new(FailoverScheme::DfEdst)
    };
    let by = |scheme, method| {
        let options = FailoverOptions::new(scheme);
        lossless_failover(&topology, &options, method, &in_the_shim())
    };
    let channels = by(FailoverScheme::DfFi, Method::Channels(2));
    let rising = by(FailoverScheme::Plinko, Method::Rising);
    let trees = df_edst(&topology, &trees, &in_the_shim());
    let beside = FailoverOptions {
        important: Some(Important {
            hosts: [HostId::new(0), HostId::new(5)].into(),
            options: Box::new(FailoverOptions::new(FailoverScheme::Adst)),
            all_trees: true,
        }),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let mixed = lossless_failover(&topology, &beside, Method::Rising, &in_the_shim());
    vec![
        (
            "plinko beside adst, rising tags",
            proven(mixed.expect("a plan")),
        ),
        ("df-fi", proven(channels.expect("a plan"))),
        ("df-edst", proven(trees.expect("a plan"))),
        ("plinko with rising tags", proven(rising.expect("a plan"))),
    ]
}

/// Links that fail one after the other, each alone.
fn failures(topology: &Topology) -> Vec<LinkId> {
    let between_switches = |link: &LinkId| {
        let link = topology.link(*link);
        let ends = [link.a.node, link.b.node];
        ends.iter().all(|end| matches!(end, NodeId::Switch(_)))
    };
    let all: Vec<LinkId> = topology.link_ids().filter(between_switches).collect();
    vec![all[0], all[all.len() / 2]]
}

fn hex(bits: &Bits) -> String {
    let bytes = bits.to_bytes_be();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

fn matched(value: &FieldMatch) -> String {
    match value {
        FieldMatch::Exact(value) | FieldMatch::Optional(Some(value)) => hex(value),
        FieldMatch::Lpm { value, prefix_len } => format!("{}/{prefix_len}", hex(value)),
        FieldMatch::Ternary { value, mask } => format!("{}&&&{}", hex(value), hex(mask)),
        FieldMatch::Range { low, high } => format!("{}..{}", hex(low), hex(high)),
        FieldMatch::Optional(None) => unreachable!("what matches everything is left out"),
    }
}

fn called(call: &NamedCall) -> String {
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
            EntryAction::Call(call) => called(call),
            EntryAction::Member(MemberId(id)) => format!("@member({id})"),
            EntryAction::Group(GroupId(id)) => format!("@group({id})"),
            EntryAction::OneShot(never) => match *never {},
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

/// A switch's ports whose links failed.
fn down(topology: &Topology, switch: SwitchId, failed: LinkId) -> Vec<u16> {
    let peers = topology.peers(switch);
    let ports = peers.filter(|(_, peer)| peer.link == failed);
    ports.map(|(port, _)| port.get()).collect()
}

/// Who learns of ports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    /// The switch itself.
    Known,
    /// A table: BMv2 does not know which ports are up.
    Told,
}

impl Status {
    /// `width` is that of the table's set of ports.
    fn change(self, ports: &[u16], up: bool, width: u32) -> String {
        let mask = ports.iter().fold(0_u64, |mask, port| mask | 1 << port);
        let mask = if up { 0 } else { mask };
        let all = (1_u64 << width) - 1;
        match self {
            Self::Told => format!(
                "setdefault ingress.port_status ingress.set_port_status(up:0x{:x})\n",
                all & !mask
            ),
            Self::Known => {
                let word = if up { "port_up" } else { "port_down" };
                ports
                    .iter()
                    .map(|port| format!("{word} {port}\n"))
                    .collect()
            }
        }
    }
}

/// A case for every switch of a plan, and the folder with its program.
fn cases(
    plan: CheckedPlan,
    failed: &[LinkId],
    status: Status,
    folder: &Path,
) -> (PathBuf, Vec<String>) {
    let features = ProgramFeatures::of(&plan);
    let generated = program::generate(features, &V1MODEL.capabilities).expect("a program");
    for file in generated.includes.iter().chain([&generated.main]) {
        fs::write(folder.join(&file.name), &file.text).expect("a writable folder");
    }
    let main = folder.join(&generated.main.name);
    let set_status = generated.layout.action("ingress.set_port_status");
    let width = set_status.map_or(0, |action| u32::from(action.params[0].bits));
    let mut network = Network::of(plan).expect("a network");
    let topology = network.topology().clone();
    let whole = packets(&mut network);
    let entries = |network: &Network, switch| network.entries(switch).expect("entries");
    let mut texts = BTreeMap::new();
    for switch in topology.switch_ids() {
        let entries = entries(&network, switch);
        let mut text = statements(&entries);
        if !features.routes() {
            text += &Status::Told.change(&[], true, width);
        }
        let sent = &whole[&entries.switch];
        assert!(sent.lines().count() > 20, "{}: few packets", entries.switch);
        texts.insert(switch, text + sent);
    }
    let mut differs = failed.is_empty();
    for link in failed {
        network = network
            .after_failures(&[*link], Reroute::Converged)
            .expect("failover tables stay");
        let sent = packets(&mut network);
        differs |= sent != whole;
        for (switch, text) in &mut texts {
            let ports = down(&topology, *switch, *link);
            *text += &status.change(&ports, false, width);
            let name = &topology.switch(*switch).name;
            *text += sent.get(name).map_or("", String::as_str);
            *text += &status.change(&ports, true, width);
        }
        // The next one fails alone.
        network = Network::of(network.plan().clone()).expect("a network");
    }
    assert!(differs, "no packet takes another way");
    (main, texts.into_values().collect())
}

fn on_every_executor(plans: Vec<(&'static str, CheckedPlan)>, fail: bool) {
    for (name, plan) in plans {
        let folder = tempfile::tempdir().expect("a folder");
        let failed = if fail {
            failures(plan.topology())
        } else {
            Vec::new()
        };
        let (program, cases) = cases(plan, &failed, Status::Known, folder.path());
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

/// What BMv2 does otherwise.
fn bmv2_differs(plans: Vec<(&'static str, CheckedPlan)>, fail: bool) -> String {
    let mut report = String::new();
    if let Some(tool) = missing_tool() {
        println!("skipped: {tool} is not installed");
        return report;
    }
    for (name, plan) in plans {
        let folder = tempfile::tempdir().expect("a folder");
        let failed = if fail {
            failures(plan.topology())
        } else {
            Vec::new()
        };
        let (main, cases) = cases(plan, &failed, Status::Told, folder.path());
        for compiler in Compiler::here() {
            let options = Options::on_disk();
            let program = bmv2::Program::compile(&main, compiler, &options, folder.path());
            for (number, case) in cases.iter().enumerate() {
                let case = stf::parse(case).expect("a case");
                let trouble = match program.as_ref().map(|p| bmv2::play(p, &case)) {
                    Ok(Ok(())) => continue,
                    Ok(Err(trouble)) => trouble.to_string(),
                    Err(trouble) => trouble.to_string(),
                };
                let _ = writeln!(report, "{name}, by {compiler}, switch {number}: {trouble}");
            }
        }
    }
    report
}

#[test]
fn every_executor_does_what_the_embedded_network_does() {
    on_every_executor(routed(), false);
}

#[test]
fn bmv2_does_what_the_embedded_network_does() {
    assert_eq!(bmv2_differs(routed(), false), "");
}

#[test]
fn every_executor_keeps_failover_lossless_as_the_embedded_network_does() {
    on_every_executor(lossless_failover_plans(), true);
}

#[test]
fn bmv2_keeps_failover_lossless_as_the_embedded_network_does() {
    assert_eq!(bmv2_differs(lossless_failover_plans(), true), "");
}

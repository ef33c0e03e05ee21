//! `switchwright bench p4`: packets per second of both executors, in memory on one core.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use files::Scratch;
use indicatif::ProgressBar;
use p4exec::{Executor, ExecutorKind};
use p4front::Options;
use p4front::source::SourceMap;
use p4gen::build::{self, BuildDirectory, BuildOptions};
use p4gen::targets::{Format, Formats, V1MODEL};
use packetgen::{Traffic, TrafficSpec, traffic};
use plan::check;
use schemes::TaggerOptions;
use schemes::failover::{FailoverOptions, FailoverScheme};
use serde::Serialize;
use simulator::embedded::{self, Network};
use stf::bmv2::{self, Compiler};
use topology::LinkId;
use topology::generate::{Cables, FatTree};

use super::none_matches;
use crate::{LargeTable, SwitchLoad};
use measure::{Budget, ForwardingFigure, Machine, forward};
use switchwright::cli::fault::{Context, Fault};
use switchwright::cli::of_build;
use switchwright::cli::terminal::{self, Terminal};

/// Different packets of a case, sent again and again.
const FLOWS: usize = 1024;

/// Different packets of a case whose keys do not come again while what was found for them is
/// remembered.
const COLD_FLOWS: usize = 1_000_000;

/// Runs of a case; the quickest counts, for the machine does other things too.
const RUNS: usize = 5;

/// Packets of one run.
const BUDGET: Budget = Budget {
    packets: u64::MAX,
    seconds: 1.0,
};

/// Ports of the switches of the fat-tree that fails over.
const FAILOVER_K: u16 = 4;

/// Entries of the large tables, and the different masks of the ternary one.
const ENTRIES: usize = 100_000;
const MASKS: usize = 200;

/// Packets given to the peer.
const PEER_PACKETS: usize = 60_000;

#[derive(Serialize)]
struct ProgramsReport {
    machine: Machine,
    /// Different packets of each case.
    flows: usize,
    /// Different packets where they are cold.
    cold_flows: usize,
    p4: Vec<Case>,
}

#[derive(Serialize)]
struct Case {
    name: String,
    interp: ForwardingFigure,
    compile: ForwardingFigure,
    /// Compiled, with so many packets that neither keys nor entries are remembered; of large
    /// tables.
    compile_cold: Option<ForwardingFigure>,
    /// Packets per second, compiled over interpreted.
    ratio: f64,
    /// The same entries in BMv2's simple_switch, on as many cores as it takes.
    simple_switch: Option<bmv2::Pace>,
}

pub(super) fn run(only: Option<&str>, peer: bool, terminal: &Terminal) -> Result<(), Fault> {
    let names = RefCell::new(Vec::new());
    let wanted = |name: &str| {
        names.borrow_mut().push(name.to_owned());
        only.is_none_or(|text| name.contains(text))
    };
    let scratch = Scratch::new().input("temporary directory")?;
    let bar = terminal.progress("programs");
    let mut cases = Vec::new();
    let switches = [("edge", "p1e1"), ("aggregation", "p1a1"), ("core", "core1")];
    let named = |layer: &str| format!("tagger fat-tree k = 8 {layer}");
    if switches.iter().any(|(layer, _)| wanted(&named(layer))) {
        let directory = scratch.path().join("fat-tree");
        build_fat_tree(&directory)?;
        for (layer, switch) in switches {
            let name = named(layer);
            if wanted(&name) {
                bar.set_message(name.clone());
                cases.push(tagger(name, &directory, switch, peer, terminal)?);
            }
        }
    }
    cases.extend(failover(&wanted, &bar)?);
    let ternary = format!("{ENTRIES} ternary entries, {MASKS} masks");
    for (name, table) in [
        (ternary, LargeTable::AccessList { masks: MASKS }),
        (format!("{ENTRIES} exact entries"), LargeTable::Flows),
        (format!("{ENTRIES} prefixes"), LargeTable::Routes),
    ] {
        if wanted(&name) {
            bar.set_message(name.clone());
            cases.push(large_table(name, table)?);
        }
    }
    bar.finish_and_clear();
    if cases.is_empty() {
        let names = names.borrow();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(none_matches(only, &names));
    }
    let report = ProgramsReport {
        machine: Machine::here(),
        flows: FLOWS,
        cold_flows: COLD_FLOWS,
        p4: cases,
    };
    terminal.result(&report, || describe(&report))
}

/// Plans, proves and builds the fat-tree.
fn build_fat_tree(directory: &Path) -> Result<(), Fault> {
    let topology = FatTree {
        k: 8,
        cables: Cables::default(),
    }
    .generate();
    let tables = schemes::tagger(&topology.map_err(Fault::input)?, &TaggerOptions::default());
    let plan = check(tables.map_err(Fault::input)?, &check::Options::default());
    let plan = plan.map_err(Fault::input)?;
    let options = BuildOptions {
        // simple_switch is filled by its own commands.
        formats: Formats::new([Format::Commands]),
        ..BuildOptions::default()
    };
    build::build_with(&plan, &V1MODEL, directory, &options, &|_| ()).map_err(Fault::input)?;
    Ok(())
}

fn tagger(
    name: String,
    directory: &Path,
    switch: &str,
    peer: bool,
    terminal: &Terminal,
) -> Result<Case, Fault> {
    let (subject, entries) = of_build(directory, Some(switch), terminal)?;
    let start = |kind| {
        let mut executor = subject.start(kind)?;
        embedded::install(executor.state_mut(), &entries).input(switch)?;
        Ok(executor)
    };
    let spec = TrafficSpec {
        size: 64,
        count: FLOWS,
        seed: 1,
    };
    let packets = traffic(&subject.program, start(ExecutorKind::Interp)?.state(), spec);
    let mut case = case(name, &packets, start)?;
    if peer && bmv2::missing_tool().is_none() {
        let build = BuildDirectory::open(directory)
            .and_then(BuildDirectory::over_p4runtime)
            .input("build directory")?;
        case.simple_switch = Some(simple_switch(&build, switch, &packets)?);
    }
    Ok(case)
}

/// The same program, entries and packets through `simple_switch`.
fn simple_switch(
    build: &BuildDirectory,
    switch: &str,
    packets: &Traffic,
) -> Result<bmv2::Pace, Fault> {
    let main = build.path(&build.manifest().program.main);
    let scratch = Scratch::new().input("temporary directory")?;
    let program = bmv2::Program::compile(
        &main,
        Compiler::preferred(),
        &Options::on_disk(),
        scratch.path(),
    );
    let program = program.map_err(Fault::input)?;
    let files = build.switch(switch).input(switch)?;
    let commands = build.read_text(&files.commands_txt()).input(switch)?;
    let packets: Vec<(u16, Vec<u8>)> = packets
        .iter()
        .map(|(port, bytes)| (port.get(), bytes.clone()))
        .collect();
    bmv2::pace(&program, &commands, &packets, PEER_PACKETS).map_err(Fault::input)
}

/// A failover program in every layer of a fat-tree, with the packets that reach a switch of it when
/// all hosts send to all others.
fn failover(wanted: &impl Fn(&str) -> bool, bar: &ProgressBar) -> Result<Vec<Case>, Fault> {
    let rows = [
        ("edge", "p1e1", false),
        ("aggregation", "p1a1", false),
        ("core", "core1", false),
        ("aggregation, a link down", "p1a1", true),
    ];
    let named = rows.map(|(row, switch, down)| {
        let name = format!("plinko fat-tree k = {FAILOVER_K} {row}");
        (wanted(&name), name, switch, down)
    });
    let mut cases = Vec::new();
    if !named.iter().any(|(wanted, ..)| *wanted) {
        return Ok(cases);
    }
    let topology = FatTree {
        k: FAILOVER_K,
        cables: Cables::default(),
    };
    let topology = topology.generate().map_err(Fault::input)?;
    let options = FailoverOptions::new(FailoverScheme::Plinko);
    let tables = schemes::failover::failover(&topology, &options).map_err(Fault::input)?;
    let plan = check(tables, &check::Options::default()).map_err(Fault::input)?;
    let network = Network::of(plan).map_err(Fault::input)?;
    for (_, name, switch, down) in named.into_iter().filter(|(wanted, ..)| *wanted) {
        bar.set_message(name.clone());
        let topology = network.topology();
        let switch = topology.switch_named(switch).map_err(Fault::input)?;
        let links = topology.peers(switch).map(|(_, peer)| peer.link);
        let failed: Vec<LinkId> = links.take(usize::from(down)).collect();
        let load = SwitchLoad::new(&network, switch, &failed, FLOWS).map_err(Fault::input)?;
        let start = |kind| load.start(kind).map_err(Fault::input);
        cases.push(case(name, load.packets(), start)?);
    }
    Ok(cases)
}

fn large_table(name: String, table: LargeTable) -> Result<Case, Fault> {
    let (text, defined) = table.program();
    let mut options = Options::default();
    let defined = defined.map(|name| (name.to_owned(), "1".to_owned()));
    options.defines.extend(defined);
    let mut map = SourceMap::new();
    let main = map.add("large_table.p4", text).map_err(Fault::input)?;
    let compiled = p4front::compile(&mut map, main, &options);
    let compiled = compiled.map_err(|found| Fault::input(found.render(&map)))?;
    let program = Arc::new(compiled.ir);
    let fill = |kind: ExecutorKind, flows: usize| {
        let executor = p4exec::executor(kind, Arc::clone(&program));
        let mut executor = executor.map_err(Fault::input)?;
        let packets = table.fill(executor.state_mut(), ENTRIES, flows, 1);
        Ok::<_, Fault>((executor, packets.map_err(Fault::input)?))
    };
    let (_, packets) = fill(ExecutorKind::Interp, FLOWS)?;
    let mut case = case(name, &packets, |kind| {
        fill(kind, FLOWS).map(|(executor, _)| executor)
    })?;
    let (mut executor, packets) = fill(ExecutorKind::Compile, COLD_FLOWS)?;
    case.compile_cold = Some(best(ExecutorKind::Compile, &mut *executor, &packets, RUNS));
    Ok(case)
}

/// The best of several runs.
fn best(
    kind: ExecutorKind,
    executor: &mut dyn Executor,
    packets: &Traffic,
    runs: usize,
) -> ForwardingFigure {
    let mut best = forward(kind.name(), executor, packets, BUDGET);
    for _ in 1..runs {
        let next = forward(kind.name(), executor, packets, BUDGET);
        if next.packets_per_second > best.packets_per_second {
            best = next;
        }
    }
    best
}

/// The best of several runs on each executor.
fn case(
    name: String,
    packets: &Traffic,
    start: impl Fn(ExecutorKind) -> Result<Box<dyn Executor + Send>, Fault>,
) -> Result<Case, Fault> {
    let best = |kind: ExecutorKind, runs: usize| {
        let mut executor = start(kind)?;
        Ok::<_, Fault>(best(kind, executor.as_mut(), packets, runs))
    };
    let (interp, compile) = (
        best(ExecutorKind::Interp, 1)?,
        best(ExecutorKind::Compile, RUNS)?,
    );
    let ratio = compile.packets_per_second / interp.packets_per_second;
    Ok(Case {
        name,
        interp,
        compile,
        compile_cold: None,
        ratio,
        simple_switch: None,
    })
}

fn describe(report: &ProgramsReport) -> String {
    let million = |f: &ForwardingFigure| format!("{:.3}", f.packets_per_second / 1e6);
    let growth = |f: &ForwardingFigure| match (f.memory_before, f.memory_after) {
        (Some(before), Some(after)) => (after.get().saturating_sub(before.get()) >> 10).to_string(),
        _ => "-".to_owned(),
    };
    let cold = |case: &Case| match &case.compile_cold {
        Some(figure) => million(figure),
        None => "-".to_owned(),
    };
    let peer = |case: &Case| match &case.simple_switch {
        Some(pace) => format!("{:.3}", pace.packets_per_second / 1e6),
        None => "-".to_owned(),
    };
    let row = |case: &Case| {
        vec![
            case.name.clone(),
            million(&case.interp),
            million(&case.compile),
            cold(case),
            format!("{:.0} x", case.ratio),
            growth(&case.compile),
            peer(case),
        ]
    };
    let rows: Vec<Vec<String>> = report.p4.iter().map(row).collect();
    let header = [
        "program and entries",
        "interp M/s",
        "compile M/s",
        "cold M/s",
        "ratio",
        "growth KiB",
        "simple_switch M/s",
    ];
    format!(
        "{}, one core, {} different packets of 64 bytes (cold: {})\n{}",
        report.machine.processor,
        report.flows,
        report.cold_flows,
        terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows)
    )
}

//! `switchwright bench p4`: packets per second of both executors, in memory on one core.

use std::path::Path;
use std::sync::Arc;

use bmv2_tests::Engine;
use p4exec::Executor;
use p4front::source::SourceMap;
use serde::Serialize;
use tempfile::TempDir;

use super::super::fault::{Context, Fault};
use super::super::p4::of_build;
use super::super::terminal::{self, Terminal};
use crate::measure::{
    ACCESS_LIST, Budget, ForwardingFigure, Machine, Traffic, TrafficSpec, fill_access_list,
    forward, traffic,
};
use crate::plan::check;
use crate::scheme::{self, TaggerOptions};
use crate::target::{self, TargetKind, embedded};
use crate::topology::generate::{Cables, FatTree};

/// Different packets of a case.
const FLOWS: usize = 1024;

/// Runs of a case; the quickest counts, for the machine does other things too.
const RUNS: usize = 5;

/// Packets of one run.
const BUDGET: Budget = Budget {
    packets: u64::MAX,
    seconds: 1.0,
};

/// Entries of the ternary table, and their different masks.
const ENTRIES: usize = 100_000;
const MASKS: usize = 200;

#[derive(Serialize)]
struct Report {
    machine: Machine,
    /// Different packets of each case.
    flows: usize,
    p4: Vec<Case>,
}

#[derive(Serialize)]
struct Case {
    name: String,
    interp: ForwardingFigure,
    compile: ForwardingFigure,
    /// Packets per second, compiled over interpreted.
    ratio: f64,
}

pub(super) fn run(only: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    let wanted = |name: &str| only.is_none_or(|text| name.contains(text));
    let scratch = TempDir::new().input("temporary directory")?;
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
                cases.push(tagger(name, &directory, switch, terminal)?);
            }
        }
    }
    let name = format!("access list {ENTRIES} ternary, {MASKS} masks");
    if wanted(&name) {
        bar.set_message(name.clone());
        cases.push(access_list(name)?);
    }
    bar.finish_and_clear();
    let report = Report {
        machine: Machine::here(),
        flows: FLOWS,
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
    let tables = scheme::tagger(&topology.map_err(Fault::input)?, &TaggerOptions::default());
    let plan = check(tables.map_err(Fault::input)?, &check::Options::default());
    let plan = plan.map_err(Fault::input)?;
    target::build(&plan, TargetKind::V1model, directory, &|_| ()).map_err(Fault::input)?;
    Ok(())
}

fn tagger(
    name: String,
    directory: &Path,
    switch: &str,
    terminal: &Terminal,
) -> Result<Case, Fault> {
    let (subject, entries) = of_build(directory, Some(switch), terminal)?;
    let start = |engine| {
        let mut executor = subject.start(engine)?;
        embedded::install(executor.state_mut(), &entries).input(switch)?;
        Ok(executor)
    };
    let spec = TrafficSpec {
        size: 64,
        count: FLOWS,
        seed: 1,
    };
    let packets = traffic(&subject.program, start(Engine::Interp)?.state(), spec);
    case(name, &packets, start)
}

fn access_list(name: String) -> Result<Case, Fault> {
    let mut map = SourceMap::new();
    let main = map
        .add("access_list.p4", ACCESS_LIST)
        .map_err(Fault::input)?;
    let compiled = p4front::compile(&mut map, main, &p4front::Options::default());
    let compiled = compiled.map_err(|found| Fault::input(found.render(&map)))?;
    let program = Arc::new(compiled.ir);
    let fill = |engine: Engine| {
        let mut executor = engine.start(&program).map_err(Fault::input)?;
        let packets = fill_access_list(executor.state_mut(), ENTRIES, MASKS, FLOWS, 1);
        Ok::<_, Fault>((executor, packets.map_err(Fault::input)?))
    };
    let (_, packets) = fill(Engine::Interp)?;
    case(name, &packets, |engine| {
        fill(engine).map(|(executor, _)| executor)
    })
}

/// The best of several runs on each executor.
fn case(
    name: String,
    packets: &Traffic,
    start: impl Fn(Engine) -> Result<Box<dyn Executor>, Fault>,
) -> Result<Case, Fault> {
    let best = |engine: Engine, runs: usize| {
        let mut executor = start(engine)?;
        let mut best = forward(engine.name(), executor.as_mut(), packets, BUDGET);
        for _ in 1..runs {
            let next = forward(engine.name(), executor.as_mut(), packets, BUDGET);
            if next.packets_per_second > best.packets_per_second {
                best = next;
            }
        }
        Ok::<_, Fault>(best)
    };
    let (interp, compile) = (best(Engine::Interp, 1)?, best(Engine::Compile, RUNS)?);
    let ratio = compile.packets_per_second / interp.packets_per_second;
    Ok(Case {
        name,
        interp,
        compile,
        ratio,
    })
}

fn describe(report: &Report) -> String {
    let million = |f: &ForwardingFigure| format!("{:.3}", f.packets_per_second / 1e6);
    let growth = |f: &ForwardingFigure| match (f.memory_before, f.memory_after) {
        (Some(before), Some(after)) => (after.get().saturating_sub(before.get()) >> 10).to_string(),
        _ => "-".to_owned(),
    };
    let row = |case: &Case| {
        vec![
            case.name.clone(),
            million(&case.interp),
            million(&case.compile),
            format!("{:.0} x", case.ratio),
            growth(&case.compile),
        ]
    };
    let rows: Vec<Vec<String>> = report.p4.iter().map(row).collect();
    let header = [
        "program and entries",
        "interp M/s",
        "compile M/s",
        "ratio",
        "growth KiB",
    ];
    format!(
        "{}, one core, {} different packets of 64 bytes\n{}",
        report.machine.processor,
        report.flows,
        terminal::table(&header, &[1, 2, 3, 4], &rows)
    )
}

//! `switchwright bench failover`: state, stretch, losses, throughput and trees of the failover schemes.

use serde::Serialize;
use tempfile::TempDir;

use super::super::fault::{Context, Fault};
use super::super::terminal::{self, Terminal};
use crate::measure::failover::{
    FailureFigure, RATIOS, StateFigure, TreesFigure, regular_graph, state, trees, under_failures,
};
use crate::measure::{Machine, TreesPeer, sage_trees};
use crate::plan::failover::Output;
use crate::scheme::failover::FailoverScheme;

/// What is measured.
#[derive(Serialize)]
struct Report {
    machine: Machine,
    state: Vec<StateFigure>,
    failures: Vec<FailureFigure>,
    trees: Option<TreesFigure>,
    trees_peer: Option<TreesPeer>,
}

/// Sets of failures for each number of them.
const SETS: u32 = 20;

/// Runs what matches `only`: cells are called `state egft-b1 1024 t4 hop-by-hop`, `failures plinko t4`, `trees`.
pub(in crate::cli) fn run(
    only: Option<&str>,
    peer: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let wanted = |name: &str| only.is_none_or(|text| name.contains(text));
    let mut report = Report {
        machine: Machine::here(),
        state: Vec::new(),
        failures: Vec::new(),
        trees: None,
        trees_peer: None,
    };
    for cell in RATIOS {
        for (output, word) in [
            (Output::SourceRoutes, "source-routes"),
            (Output::HopByHop, "hop-by-hop"),
        ] {
            let name = format!("state {} {} t{} {word}", cell.0.name(), cell.1, cell.2);
            if wanted(&name) {
                let bar = terminal.progress(&name);
                report
                    .state
                    .push(state(cell, output).map_err(Fault::input)?);
                bar.finish_and_clear();
            }
        }
    }
    for (scheme, t, default_tree) in schemes() {
        let name = format!("failures {} t{t}", scheme.name());
        if wanted(&name) {
            let bar = terminal.progress(&name);
            let figures = under_failures(scheme, t, default_tree, SETS).map_err(Fault::input)?;
            report.failures.extend(figures);
            bar.finish_and_clear();
        }
    }
    if wanted("trees") {
        pack(&mut report, peer)?;
    }
    terminal.result(&report, || describe(&report))
}

fn schemes() -> Vec<(FailoverScheme, u8, bool)> {
    let mut schemes: Vec<_> = [2, 4].map(|t| (FailoverScheme::Plinko, t, false)).to_vec();
    for scheme in [FailoverScheme::Adst, FailoverScheme::Edst] {
        for t in [1, 2, 4] {
            schemes.extend([false, true].map(|default_tree| (scheme, t, default_tree)));
        }
    }
    schemes
}

fn pack(report: &mut Report, python: Option<&str>) -> Result<(), Fault> {
    let graph = regular_graph(500, 16).map_err(Fault::input)?;
    report.trees = Some(trees(&graph, 8).map_err(Fault::input)?);
    if let Some(python) = python {
        let scratch = TempDir::new().input("temporary directory")?;
        let file = scratch.path().join("topology.json");
        terminal::write(&file.to_string_lossy(), &graph.to_json())?;
        report.trees_peer = sage_trees(python, &file, 8);
    }
    Ok(())
}

fn describe(report: &Report) -> String {
    let mut text = String::new();
    if !report.state.is_empty() {
        text += &state_table(&report.state);
    }
    if !report.failures.is_empty() {
        text += &failure_table(&report.failures);
    }
    if let Some(trees) = &report.trees {
        text += &trees_facts(trees, report.trees_peer.as_ref());
    }
    text
}

fn state_table(figures: &[StateFigure]) -> String {
    let row = |f: &StateFigure| {
        vec![
            f.topology.to_owned(),
            f.hosts.to_string(),
            f.t.to_string(),
            f.output.to_owned(),
            f.plain_rules.to_string(),
            f.plain_rules_max.to_string(),
            f.rules_max.to_string(),
            format!("{:.2}", f.ratio),
            format!("{:.2}", f.ratio_of_003),
            format!("{:.2}", f.bits_max as f64 / 1e6),
            format!("{:.2}", f.plan_seconds),
            format!("{:.2}", f.compress_seconds),
            f.peak_memory
                .map_or_else(|| "-".to_owned(), |b| (b.get() >> 20).to_string()),
        ]
    };
    let header = [
        "topology",
        "hosts",
        "t",
        "output",
        "rules",
        "max",
        "compressed",
        "ratio",
        "003",
        "Mbit",
        "plan s",
        "with compression s",
        "peak MiB",
    ];
    let right: Vec<usize> = (4..header.len()).collect();
    terminal::table(
        &header,
        &right,
        &figures.iter().map(row).collect::<Vec<_>>(),
    )
}

fn failure_table(figures: &[FailureFigure]) -> String {
    let optional = |value: Option<f64>, digits: usize| match value {
        Some(value) if digits > 3 => format!("{value:.1e}"),
        Some(value) => format!("{value:.digits$}"),
        None => "-".to_owned(),
    };
    let row = |f: &FailureFigure| {
        vec![
            f.scheme.to_owned(),
            f.t.to_string(),
            if f.default_tree { "yes" } else { "" }.to_owned(),
            f.failures.to_string(),
            if f.correlated {
                "neighbours"
            } else {
                "uniform"
            }
            .to_owned(),
            format!("{:.1e}", f.lost),
            optional(f.lost_by_equation, 4),
            format!("{:.2}", f.stretch_median),
            format!("{:.2}", f.stretch_999),
            optional(f.stretch_999_of_003, 1),
            format!("{:.3}", f.throughput),
        ]
    };
    let header = [
        "scheme",
        "t",
        "default tree",
        "failed",
        "which",
        "lost",
        "by (4.2)",
        "stretch 50 %",
        "99.9 %",
        "003",
        "throughput",
    ];
    let right: Vec<usize> = (5..header.len()).collect();
    terminal::table(
        &header,
        &right,
        &figures.iter().map(row).collect::<Vec<_>>(),
    )
}

fn trees_facts(trees: &TreesFigure, peer: Option<&TreesPeer>) -> String {
    let mean = |depths: &[u32]| {
        let sum: u32 = depths.iter().sum();
        f64::from(sum) / depths.len().max(1) as f64
    };
    let mut rows = vec![
        (
            "graph",
            format!(
                "{} nodes, {} edges, {} trees",
                trees.nodes, trees.edges, trees.trees
            ),
        ),
        (
            "shallow trees",
            format!(
                "{:.3} s, mean depth {:.1}",
                trees.seconds,
                mean(&trees.depths)
            ),
        ),
        (
            "any trees",
            format!(
                "{:.3} s, mean depth {:.1}",
                trees.plain_seconds,
                mean(&trees.plain_depths)
            ),
        ),
    ];
    if let Some(peer) = peer {
        rows.push((
            "passagemath",
            format!(
                "{:.3} s ({:.0} times ours), mean depth {:.1}",
                peer.seconds,
                peer.seconds / trees.seconds,
                mean(&peer.depths)
            ),
        ));
    }
    terminal::facts(&rows)
}

//! `switchwright bench failover`: state, stretch, losses, throughput, proof and trees of the
//! failover schemes, as tables and, with `--out`, plots.

mod tables;

use std::cell::{Cell, RefCell};

use files::Scratch;
use plan::check::Share;
use plan::failover::Output;
use schemes::failover::{FailoverOptions, FailoverScheme, PathPolicy};
use serde::Serialize;

use super::super::shares::{ShareResult, Work};
use super::none_matches;
use crate::failover::{
    Cases, CustomHardware, FailurePlan, LossFigure, ProofFigure, RATIOS, SchemeState, Shape,
    StateFigure, SwitchFailureFigure, TreesFigure, custom_hardware, failure_cases, loss_cases,
    loss_plots, losses, proof, proof_cases, reactive_routing, regular_graph, scheme_state, state,
    state_plots, switch_plots, trees, under_failures, under_switch_failures, variants,
    within_reach,
};
use crate::{TreesPeer, sage_trees};
use measure::failover::{FailureFigure, Sets, failure_plots};
use measure::{Machine, timed};
use switchwright::cli::fault::{Context, Fault};
use switchwright::cli::shard::Sharding;
use switchwright::cli::terminal::{self, Terminal};
use switchwright::cli::{failure_table, write_out};

/// What is measured.
#[derive(Serialize)]
struct FailoverBenchReport {
    machine: Machine,
    /// Plinko's tables before and after compression.
    state: Vec<StateFigure>,
    /// The tables of all schemes.
    schemes: Vec<SchemeState>,
    /// What trees take of hardware made for them.
    custom: Vec<CustomHardware>,
    failures: Vec<FailureFigure>,
    losses: Vec<LossFigure>,
    switch_failures: Vec<SwitchFailureFigure>,
    proofs: Vec<ProofFigure>,
    trees: Option<TreesFigure>,
    trees_peer: Option<TreesPeer>,
}

/// The figures, in the order of their cases.
fn report(cases: Cases) -> FailoverBenchReport {
    FailoverBenchReport {
        machine: Machine::here(),
        state: in_order(cases.state),
        schemes: in_order(cases.schemes),
        custom: in_order(cases.custom),
        failures: in_order(cases.failures),
        losses: in_order(cases.losses),
        switch_failures: in_order(cases.switch_failures),
        proofs: in_order(cases.proofs),
        trees: cases.trees,
        trees_peer: cases.trees_peer,
    }
}

/// Figures in the order of their cases; those of one case stay in their own.
fn in_order<T>(mut figures: Vec<(usize, T)>) -> Vec<T> {
    figures.sort_by_key(|(case, _)| *case);
    figures.into_iter().map(|(_, figure)| figure).collect()
}

/// What to run, and where plots go.
pub(in crate::command) struct Request<'a> {
    /// Only what has this in its name.
    pub(in crate::command) only: Option<&'a str>,
    /// The Python with passagemath-graphs.
    pub(in crate::command) python: Option<&'a str>,
    /// Sets of failures for each number of them.
    pub(in crate::command) sets: u32,
    /// The folder for tables and plots.
    pub(in crate::command) out: Option<&'a str>,
}

/// Hosts of the topology that is put under failures, as in Stephens15.
const HOSTS: u32 = 1024;
/// The topologies whose tables are counted, and those with six hosts per unit of bisection
/// bandwidth.
const GROUNDS: [(Shape, u8); 4] = [
    (Shape::Egft, 1),
    (Shape::Jellyfish, 1),
    (Shape::Egft, 6),
    (Shape::Jellyfish, 6),
];
/// Switches that fail at once: Stephens15 Figure 4.2.
const FAILED_SWITCHES: [u32; 5] = [1, 2, 4, 8, 16];

/// Runs what matches `only`: names are `state egft-b1 1024 t4 hop-by-hop`, `schemes egft-b1 512 t4
/// fcp hop by hop`, `failures plinko t4`, `losses egft-b1 edst t4`, `switches`, `proof fat-tree k4,
/// plinko t2`, `trees`.
pub(in crate::command) fn run(
    request: &Request<'_>,
    sharding: &Sharding,
    terminal: &Terminal,
) -> Result<(), Fault> {
    if sharding.wanted() {
        let work = Work::BenchFailover {
            only: request.only.map(str::to_owned),
            python: request.python.map(str::to_owned),
            sets: request.sets,
        };
        return sharding.run(work, terminal, |share| {
            let (cases, seconds) = timed(|| cases(request, share, terminal));
            Ok((ShareResult::BenchFailover(Box::new(cases?)), seconds))
        });
    }
    let cases = cases(request, Share { index: 0, of: 1 }, terminal)?;
    // As shares hold them: the same numbers, to the last digit.
    let text = serde_json::to_string(&cases).input("figures as JSON")?;
    let cases: Cases = serde_json::from_str(&text).input("figures as JSON")?;
    tell(report(cases), request.out, terminal)
}

/// What shares have given.
///
/// # Errors
/// A folder that cannot be written.
pub(in crate::command) fn merged(
    shares: Vec<Cases>,
    out: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let mut all = Cases::default();
    for share in shares {
        all.add(share);
    }
    tell(report(all), out, terminal)
}

/// Runs the cases of a share.
fn cases(request: &Request<'_>, share: Share, terminal: &Terminal) -> Result<Cases, Fault> {
    let mut cases = Cases::default();
    let run = Run {
        request,
        terminal,
        share,
        names: RefCell::default(),
        ran: Cell::new(0),
    };
    run.state(&mut cases)?;
    run.schemes(&mut cases)?;
    run.failures(&mut cases)?;
    run.losses(&mut cases)?;
    for case in proof_cases() {
        let name = format!("proof {}", case.name);
        cases.proofs.extend(run.one(&name, || proof(&case))?);
    }
    if run.wanted("trees").is_some() {
        pack(&mut cases, request.python)?;
    }
    if run.ran.get() == 0 {
        let names = run.names.take();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(none_matches(request.only, &names));
    }
    Ok(cases)
}

fn tell(report: FailoverBenchReport, out: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    if let Some(folder) = out {
        let mut plots = state_plots(&report.state, &report.schemes);
        plots.extend(failure_plots(&report.failures));
        plots.extend(loss_plots(&report.losses));
        plots.extend(switch_plots(&report.switch_failures));
        let text = format!("{}\n{}", report.machine.describe(), describe(&report));
        write_out(folder, "failover", &report, &text, &plots)?;
    }
    terminal.result(&report, || describe(&report))
}

/// Runs what is wanted, with a sign of life.
struct Run<'a> {
    request: &'a Request<'a>,
    terminal: &'a Terminal,
    /// Whose cases are run, of those that are wanted.
    share: Share,
    /// What could be run, and how much of that is wanted.
    names: RefCell<Vec<String>>,
    ran: Cell<usize>,
}

impl Run<'_> {
    /// The number of a case among those that are wanted, if this share runs it.
    fn wanted(&self, name: &str) -> Option<usize> {
        self.names.borrow_mut().push(name.to_owned());
        if self.request.only.is_some_and(|text| !name.contains(text)) {
            return None;
        }
        let case = self.ran.get();
        self.ran.set(case + 1);
        (case % self.share.of == self.share.index).then_some(case)
    }

    fn one<T>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, crate::MeasureError>,
    ) -> Result<Option<(usize, T)>, Fault> {
        let Some(case) = self.wanted(name) else {
            return Ok(None);
        };
        let bar = self.terminal.progress(name);
        let value = work().map_err(Fault::input);
        bar.finish_and_clear();
        Ok(Some((case, value?)))
    }

    /// A case of several figures.
    fn many<T>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<Vec<T>, crate::MeasureError>,
    ) -> Result<Vec<(usize, T)>, Fault> {
        let found = self.one(name, work)?;
        let each = |(case, figures): (usize, Vec<T>)| figures.into_iter().map(move |f| (case, f));
        Ok(found.into_iter().flat_map(each).collect())
    }

    fn state(&self, report: &mut Cases) -> Result<(), Fault> {
        for cell in RATIOS.iter().filter(|cell| within_reach(cell)) {
            for (output, word) in [
                (Output::SourceRoutes, "source-routes"),
                (Output::HopByHop, "hop-by-hop"),
            ] {
                let name = format!("state {} {} t{} {word}", cell.0.name(), cell.1, cell.2);
                let shared = PathPolicy::Common;
                report
                    .state
                    .extend(self.one(&name, || state(cell, output, shared))?);
                // Just what Stephens15 has, for `--only common-only` and beside it.
                let name = format!("{name} common-only");
                let only = PathPolicy::CommonOnly;
                report
                    .state
                    .extend(self.one(&name, || state(cell, output, only))?);
            }
        }
        Ok(())
    }

    fn schemes(&self, report: &mut Cases) -> Result<(), Fault> {
        for (shape, oversubscription) in GROUNDS {
            let place = shape.name_at(oversubscription);
            for hosts in [512, 1024] {
                let topology = shape.topology_at(hosts, oversubscription);
                let topology = topology.map_err(Fault::input)?;
                for t in [2, 4] {
                    for (variant, options) in variants(t) {
                        let name = format!("schemes {place} {hosts} t{t} {variant}");
                        let figure =
                            self.one(&name, || scheme_state(&place, &topology, variant, &options))?;
                        report.schemes.extend(figure);
                    }
                    for scheme in [FailoverScheme::Edst, FailoverScheme::Adst] {
                        let name = format!("custom {place} {hosts} t{t} {}", scheme.name());
                        let options = FailoverOptions {
                            resilience: t,
                            ..FailoverOptions::new(scheme)
                        };
                        let figure = self.one(&name, || custom_hardware(&topology, &options))?;
                        report.custom.extend(figure);
                    }
                }
            }
        }
        Ok(())
    }

    fn failures(&self, report: &mut Cases) -> Result<(), Fault> {
        let mut sets = Sets {
            count: self.request.sets,
            ..Sets::default()
        };
        // Throughput without failures: what Stephens15's Figures 4.16 and 4.17 begin with.
        sets.sizes.insert(0, 0);
        for oversubscription in [1, 6] {
            let place = if oversubscription == 1 {
                ""
            } else {
                " egft-b6"
            };
            for case in failure_cases() {
                let case = FailurePlan {
                    name: format!("{}{place}", case.name),
                    ..case
                };
                let name = format!("failures {}", case.name);
                let figures = self.many(&name, || {
                    under_failures(&case, HOSTS, oversubscription, &sets)
                })?;
                report.failures.extend(figures);
            }
        }
        let shortest = self.many("failures shortest", || reactive_routing(HOSTS, &sets))?;
        report.failures.extend(shortest);
        let sets = Sets {
            sizes: FAILED_SWITCHES.to_vec(),
            ..sets
        };
        let switches = self.many("switches", || under_switch_failures(HOSTS, &sets))?;
        report.switch_failures.extend(switches);
        Ok(())
    }

    fn losses(&self, report: &mut Cases) -> Result<(), Fault> {
        let sets = Sets {
            count: self.request.sets,
            ..Sets::default()
        };
        for shape in [Shape::Egft, Shape::Jellyfish] {
            for case in loss_cases() {
                let name = format!("losses {} {}", shape.name(), case.name);
                let figures = self.many(&name, || losses(&case, shape, HOSTS, &sets))?;
                report.losses.extend(figures);
            }
        }
        Ok(())
    }
}

fn pack(report: &mut Cases, python: Option<&str>) -> Result<(), Fault> {
    let graph = regular_graph(500, 16).map_err(Fault::input)?;
    report.trees = Some(trees(&graph, 8).map_err(Fault::input)?);
    if let Some(python) = python {
        let scratch = Scratch::new().input("temporary directory")?;
        let file = scratch.path().join("topology.json");
        terminal::write(&file.to_string_lossy(), &graph.to_json())?;
        report.trees_peer = sage_trees(python, &file, 8);
    }
    Ok(())
}

fn describe(report: &FailoverBenchReport) -> String {
    let mut text = String::new();
    if !report.state.is_empty() {
        text += &tables::state_table(&report.state);
    }
    if !report.schemes.is_empty() {
        text += &tables::scheme_table(&report.schemes);
    }
    if !report.custom.is_empty() {
        text += &tables::custom_table(&report.custom);
    }
    if !report.failures.is_empty() {
        text += &failure_table(&report.failures);
    }
    if !report.losses.is_empty() {
        text += &tables::loss_table(&report.losses);
    }
    if !report.switch_failures.is_empty() {
        text += &tables::switch_table(&report.switch_failures);
    }
    if !report.proofs.is_empty() {
        text += &tables::proof_table(&report.proofs);
    }
    if let Some(trees) = &report.trees {
        text += &trees_facts(trees, report.trees_peer.as_ref());
    }
    text
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

//! `switchwright measure`: the failover tables of a plan under failures, as tables and plots.

use clap::Args;
use plan::Tables;
use plan::failover::{Failover, LabelKind, StateCounts};
use serde::Serialize;

use super::check;
use super::fault::Fault;
use super::figure_folder::write_out;
use super::shard::{Sharding, ShareResult, Work};
use super::terminal::{self, Terminal};
use measure::failover::{
    FailureFigure, PartLosses, SetTally, Sets, failure_plots, figures_of_sets, kind_of_sets,
    plan_under_failures, share_under_failures,
};
use measure::timed;

/// Arguments of `switchwright measure`.
#[derive(Debug, Args)]
pub(super) struct Measure {
    /// The plan file; it must have failover tables.
    plan: String,
    /// How many links fail at once, one number or several.
    #[arg(long, value_delimiter = ',', default_values_t = Sets::default().sizes, value_name = "N,...")]
    failures: Vec<u32>,
    /// Sets of failures for each number, half of them uniform, half of neighbouring links.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sets: u32,
    /// Seed of failures and traffic.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder for the figures as JSON, tables and plots.
    #[arg(long, value_name = "DIR", conflicts_with = "shard")]
    out: Option<String>,
    #[command(flatten)]
    sharding: Sharding,
}

/// What is measured.
#[derive(Serialize)]
struct MeasureReport {
    scheme: String,
    state: Vec<SwitchState>,
    failures: Vec<FailureFigure>,
}

/// What the tables of one switch take.
#[derive(Serialize)]
struct SwitchState {
    switch: String,
    #[serde(flatten)]
    counts: StateCounts,
}

impl Measure {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let tables = check::load(&self.plan)?;
        let failover = with_failover(&tables)?;
        let sets = Sets {
            sizes: self.failures.clone(),
            count: self.sets,
            seed: self.seed,
        };
        let watch = terminal.watch("measuring");
        let topology = &tables.topology;
        if self.sharding.wanted() {
            let work = Work::Measure {
                plan: Work::input(&self.plan)?,
                failures: self.failures,
                sets: self.sets,
                seed: self.seed,
            };
            return self.sharding.run(work, terminal, |share| {
                let (tallies, seconds) = timed(|| {
                    share_under_failures(topology, failover, (&sets, share), watch.progress())
                });
                drop(watch);
                Ok((ShareResult::Measure(tallies), seconds))
            });
        }
        let scheme = &tables.provenance.scheme;
        let figures = plan_under_failures(scheme, topology, failover, &sets, watch.progress());
        drop(watch);
        tell(&tables, failover, figures, self.out.as_deref(), terminal)
    }
}

/// What was measured by shares.
///
/// # Errors
/// A plan without failover tables, a folder that cannot be written.
pub(super) fn merged(
    work: &Work,
    tallies: &[SetTally],
    out: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let Work::Measure {
        plan,
        failures,
        sets,
        seed,
    } = work
    else {
        return Err(Fault::input("these are no shares of `measure`"));
    };
    let tables = check::load(&plan.path)?;
    let failover = with_failover(&tables)?;
    let sets = Sets {
        sizes: failures.clone(),
        count: *sets,
        seed: *seed,
    };
    let scheme = &tables.provenance.scheme;
    let figures = figures_of_sets(scheme, &tables.topology, failover, &sets, tallies);
    tell(&tables, failover, figures, out, terminal)
}

fn with_failover(tables: &Tables) -> Result<&Failover, Fault> {
    tables.failover.as_ref().ok_or_else(|| {
        Fault::input("the plan has no failover tables, so there is nothing to put under failures")
            .help("plan with --scheme plinko, fcp, mpls-frr, edst or adst")
    })
}

/// Tells what was measured, and writes it where that is asked for.
fn tell(
    tables: &Tables,
    failover: &Failover,
    failures: Vec<FailureFigure>,
    out: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let switches = tables.topology.switches().iter();
    let state = |(switch, counts): (&topology::Switch, StateCounts)| SwitchState {
        switch: switch.name.clone(),
        counts,
    };
    let report = MeasureReport {
        state: switches.zip(failover.counts()).map(state).collect(),
        failures,
        scheme: tables.provenance.scheme.clone(),
    };
    if let Some(folder) = out {
        let plots = failure_plots(&report.failures);
        write_out(folder, "measure", &report, &describe(&report), &plots)?;
    }
    terminal.result(&report, || describe(&report))
}

fn describe(report: &MeasureReport) -> String {
    let row = |s: &SwitchState| {
        vec![
            s.switch.clone(),
            s.counts.rules.to_string(),
            s.counts.drops.to_string(),
            s.counts.actions.to_string(),
            s.counts.tcam_bits.to_string(),
            s.counts.tofino.bits.to_string(),
            s.counts.tofino.stages.to_string(),
        ]
    };
    let header = [
        "switch",
        "rules",
        "drops",
        "actions",
        "TCAM bits (Stephens15)",
        "bits (Tofino 1)",
        "stages",
    ];
    let rows: Vec<_> = report.state.iter().map(row).collect();
    terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows)
        + &failure_table(&report.failures)
        + &part_table(&report.failures)
}

/// What is lost to each kind of destinations, where they differ in how their packets survive
/// failures.
fn part_table(figures: &[FailureFigure]) -> String {
    let of = |figure: &FailureFigure, part: &PartLosses| {
        let label = part.label.map_or("", LabelKind::describe);
        vec![
            label.to_owned(),
            part.resilience.to_string(),
            part.destinations.to_string(),
            figure.failures.to_string(),
            kind_of_sets(figure.correlated).to_owned(),
            part.flows.to_string(),
            part.sets_with_losses.to_string(),
            format!("{:.2e}", part.lost),
        ]
    };
    let rows: Vec<_> = figures
        .iter()
        .flat_map(|figure| figure.parts.iter().map(move |part| of(figure, part)))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = [
        "header tells",
        "survives",
        "destinations",
        "failed links",
        "which",
        "flows",
        "sets with losses",
        "lost",
    ];
    terminal::table(&header, &[1, 2, 3, 5, 6, 7], &rows)
}

/// Losses, stretch and throughput under failures of links.
#[must_use]
pub fn failure_table(figures: &[FailureFigure]) -> String {
    let optional =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1e}"));
    let row = |f: &FailureFigure| {
        vec![
            f.subject.clone(),
            f.failures.to_string(),
            kind_of_sets(f.correlated).to_owned(),
            format!("{:.1e}", f.lost),
            optional(f.lost_by_4_1),
            optional(f.lost_by_4_2),
            format!("{:.2}", f.stretch_median),
            format!("{:.2}", f.stretch_99),
            format!("{:.2}", f.stretch_999),
            f.stretch_999_of_paper
                .map_or_else(|| "-".to_owned(), |v| format!("{v:.2}")),
            format!("{:.3}", f.throughput),
        ]
    };
    let header = [
        "scheme",
        "failed",
        "which",
        "lost",
        "by (4.1)",
        "by (4.2)",
        "stretch 50 %",
        "99 %",
        "99.9 %",
        "Stephens15",
        "throughput",
    ];
    let rows: Vec<_> = figures.iter().map(row).collect();
    terminal::table(&header, &[1, 3, 4, 5, 6, 7, 8, 9, 10], &rows)
}

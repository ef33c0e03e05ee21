//! `switchwright measure`: the failover tables of a plan under failures, as tables and plots.

use clap::Args;
use plan::failover::StateCounts;
use serde::Serialize;

use super::bench::failover::{failure_table, write_out};
use super::check;
use super::fault::Fault;
use super::terminal::{self, Terminal};
use crate::measure::failover::{FailureFigure, Sets, failure_plots, plan_under_failures};

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
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
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
        let Some(failover) = &tables.failover else {
            return Err(Fault::input(
                "the plan has no failover tables, so there is nothing to put under failures",
            )
            .help("plan with --scheme plinko, fcp, mpls-frr, edst or adst"));
        };
        let topology = &tables.topology;
        let switches = topology.switches().iter();
        let sets = Sets {
            sizes: self.failures,
            count: self.sets,
            seed: self.seed,
        };
        let watch = terminal.watch("measuring");
        let report = MeasureReport {
            state: switches
                .zip(failover.counts())
                .map(|(switch, counts)| SwitchState {
                    switch: switch.name.clone(),
                    counts,
                })
                .collect(),
            failures: plan_under_failures(
                &tables.provenance.scheme,
                topology,
                failover,
                &sets,
                watch.progress(),
            ),
            scheme: tables.provenance.scheme.clone(),
        };
        drop(watch);
        if let Some(folder) = &self.out {
            let plots = failure_plots(&report.failures);
            write_out(folder, "measure", &report, &describe(&report), &plots)?;
        }
        terminal.result(&report, || describe(&report))
    }
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
    terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows) + &failure_table(&report.failures)
}

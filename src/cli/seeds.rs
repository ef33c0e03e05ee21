//! `switchwright simulate --seeds`: a scenario from many seeds, a line for each, and what all of
//! them say together.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
use simulator::embedded::Network;
use simulator::simulate::{SeedRun, simulate_with_progress};
use spec::Scenario;

use super::fault::{Context, Fault};
use super::shard::{Sharding, ShareResult, Work};
use super::terminal::{self, Terminal};
use super::words::counted;
use measure::timed;

/// What `simulate --seeds --json` prints.
#[derive(Serialize)]
struct SeedsReport {
    scenario: String,
    seeds: usize,
    /// Runs in which a deadlock closed.
    deadlocked: usize,
    /// Lossless packets that were dropped, in all runs.
    lossless_drops: u64,
    gbps: Spread,
    runs: Vec<SeedRun>,
    seconds: f64,
}

/// A figure over all runs.
#[derive(Serialize)]
struct Spread {
    mean: f64,
    least: f64,
    most: f64,
}

/// A scenario on its network, from `count` seeds.
pub(super) struct Seeds<'a> {
    pub(super) name: &'a str,
    pub(super) scenario: &'a Scenario,
    pub(super) network: &'a Network,
    /// From the scenario's seed on.
    pub(super) count: u32,
}

impl Seeds<'_> {
    /// Runs all seeds, or the share that is asked for.
    ///
    /// # Errors
    /// A scenario that does not fit its network, a share that cannot be written.
    pub(super) fn run(
        &self,
        work: impl FnOnce() -> Result<Work, Fault>,
        sharding: &Sharding,
        terminal: &Terminal,
    ) -> Result<(), Fault> {
        if sharding.wanted() {
            return sharding.run(work()?, terminal, |share| {
                let (runs, seconds) = timed(|| self.runs(share.index, share.of, terminal));
                Ok((ShareResult::Simulate(runs?), seconds))
            });
        }
        let (runs, seconds) = timed(|| self.runs(0, 1, terminal));
        // As shares hold them: the same numbers, to the last digit.
        let text = serde_json::to_string(&runs?).input("runs as JSON")?;
        let runs = serde_json::from_str(&text).input("runs as JSON")?;
        tell(&self.scenario.name, runs, seconds, terminal)
    }

    /// The runs whose place is `first` and every `step`-th after it.
    fn runs(&self, first: usize, step: usize, terminal: &Terminal) -> Result<Vec<SeedRun>, Fault> {
        let bar = terminal.progress(&format!("simulating {}", counted(self.count, "seed")));
        let places: Vec<usize> = (first..self.count as usize).step_by(step).collect();
        let run = |place: &usize| {
            let seed = self.scenario.seed.wrapping_add(*place as u64);
            let scenario = Scenario {
                seed,
                ..self.scenario.clone()
            };
            let outcome = simulate_with_progress(self.network, &scenario, false, &Arc::default());
            Ok(SeedRun::new(seed, &outcome.input(self.name)?.report))
        };
        let runs = places.par_iter().map(run).collect();
        bar.finish_and_clear();
        runs
    }
}

/// Tells of runs.
///
/// # Errors
/// A value that JSON cannot express.
pub(super) fn tell(
    name: &str,
    runs: Vec<SeedRun>,
    seconds: f64,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let report = SeedsReport {
        scenario: name.to_owned(),
        seeds: runs.len(),
        deadlocked: runs.iter().filter(|run| run.deadlocks > 0).count(),
        lossless_drops: runs.iter().map(|run| run.lossless_drops).sum(),
        gbps: Spread::of(runs.iter().map(|run| run.gbps)),
        runs,
        seconds,
    };
    terminal.result(&report, || describe(&report))
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        Self {
            mean: values.iter().sum::<f64>() / values.len().max(1) as f64,
            least: values.iter().copied().reduce(f64::min).unwrap_or(0.0),
            most: values.iter().copied().reduce(f64::max).unwrap_or(0.0),
        }
    }
}

fn describe(report: &SeedsReport) -> String {
    let row = |run: &SeedRun| {
        vec![
            run.seed.to_string(),
            run.closed_us
                .map_or_else(|| "-".to_owned(), |us| format!("{us:.1}")),
            run.stuck_queues.to_string(),
            run.lossless_drops.to_string(),
            run.lost.to_string(),
            format!("{:.3}", run.gbps),
            run.packet_hops.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = report.runs.iter().map(row).collect();
    let header = [
        "seed",
        "deadlock us",
        "stuck queues",
        "lossless drops",
        "lost",
        "Gb/s",
        "packet-hops",
    ];
    let table = terminal::table(&header, &[0, 1, 2, 3, 4, 5, 6], &rows);
    table
        + &terminal::facts(&[
            (
                "deadlocks",
                format!(
                    "in {} of {}",
                    report.deadlocked,
                    counted(report.seeds, "run")
                ),
            ),
            (
                "throughput",
                format!(
                    "{:.3} Gb/s on average, {:.3} to {:.3}",
                    report.gbps.mean, report.gbps.least, report.gbps.most
                ),
            ),
            ("computed in", format!("{:.3} s", report.seconds)),
        ])
}

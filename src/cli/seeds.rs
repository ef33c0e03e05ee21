//! `switchwright simulate --seeds`: a scenario from many seeds, a line for each, and what all of them say together.

use std::sync::Arc;

use netsim::embedded::Network;
use netsim::simulate::{Scenario, SimulationReport, simulate_telling};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::fault::{Context, Fault};
use super::shard::{Found, Sharding, Work};
use super::terminal::{self, Terminal};
use super::words::counted;
use crate::measure::timed;

/// What a run from one seed came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeedRun {
    seed: u64,
    deadlocks: usize,
    /// When the first deadlock closed, in microseconds.
    closed_us: Option<f64>,
    stuck_queues: usize,
    lossless_drops: u64,
    /// All packets that were lost, whatever the cause.
    lost: u64,
    gbps: f64,
    simulated_us: f64,
    packets: u64,
    packet_hops: u64,
    events: u64,
    workloads: Vec<SeedWorkload>,
}

/// What the jobs of a workload took, those of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedWorkload {
    name: String,
    bytes: u64,
    jobs: usize,
    unfinished: usize,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
}

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

impl SeedRun {
    fn new(seed: u64, report: &SimulationReport) -> Self {
        let first = |a: f64, b: f64| if a < b { a } else { b };
        let losses = report.losses;
        let workloads = report.workloads.iter().flat_map(|workload| {
            workload.completions.iter().map(|found| SeedWorkload {
                name: workload.name.clone(),
                bytes: found.bytes,
                jobs: found.jobs,
                unfinished: found.unfinished,
                p50_us: found.times_us.p50,
                p99_us: found.times_us.p99,
                p999_us: found.times_us.p999,
            })
        });
        Self {
            seed,
            deadlocks: report.deadlocks,
            closed_us: report.deadlock.iter().map(|d| d.closed_us).reduce(first),
            stuck_queues: report.stuck_queues,
            lossless_drops: report.lossless_drops,
            lost: losses.lossless + losses.lossy + losses.program + losses.link_down,
            gbps: report.gbps,
            simulated_us: report.simulated_us,
            packets: report.packets,
            packet_hops: report.packet_hops,
            events: report.events,
            workloads: workloads.collect(),
        }
    }
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
                Ok((Found::Simulate(runs?), seconds))
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
            let outcome = simulate_telling(self.network, &scenario, false, &Arc::default());
            Ok(SeedRun::new(seed, &outcome.input(self.name)?.report))
        };
        let runs = places.par_iter().map(run).collect();
        bar.finish_and_clear();
        runs
    }
}

/// What shares have found.
///
/// # Errors
/// Shares of something else.
pub(super) fn merged(
    work: &Work,
    runs: Vec<SeedRun>,
    seconds: f64,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let Work::Simulate { scenario, .. } = work else {
        return Err(Fault::input("these are no shares of `simulate`"));
    };
    let name = super::simulate::load(&scenario.path)?.name;
    tell(&name, runs, seconds, terminal)
}

fn tell(name: &str, runs: Vec<SeedRun>, seconds: f64, terminal: &Terminal) -> Result<(), Fault> {
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

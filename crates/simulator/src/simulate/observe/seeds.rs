//! A scenario from many seeds: what each run came to, small enough for thousands of them.

use serde::{Deserialize, Serialize};

use super::report::SimulationReport;

/// What a run from one seed came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedRun {
    /// The seed.
    pub seed: u64,
    /// How many deadlocks closed.
    pub deadlocks: usize,
    /// When the first deadlock closed, in microseconds.
    pub closed_us: Option<f64>,
    /// Queues that can never move again, at the end.
    pub stuck_queues: usize,
    /// Lossless packets that were dropped.
    pub lossless_drops: u64,
    /// All packets that were lost, whatever the cause.
    pub lost: u64,
    /// Throughput of all flows and workloads in gigabits per second.
    pub gbps: f64,
    /// Simulated time in microseconds.
    pub simulated_us: f64,
    /// Data packets that arrived.
    pub packets: u64,
    /// Frames that switches processed.
    pub packet_hops: u64,
    /// Events.
    pub events: u64,
    /// The workloads, job size by job size.
    pub workloads: Vec<SeedWorkload>,
}

/// What the jobs of a workload took, those of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedWorkload {
    /// The workload.
    pub name: String,
    /// Bytes of a job.
    pub bytes: u64,
    /// Jobs that began.
    pub jobs: usize,
    /// Those that were not done at the end.
    pub unfinished: usize,
    /// The median of what they took, in microseconds.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The 99.9th percentile.
    pub p999_us: f64,
}

impl SeedRun {
    /// What a report of the run from this seed says.
    #[must_use]
    pub fn new(seed: u64, report: &SimulationReport) -> Self {
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

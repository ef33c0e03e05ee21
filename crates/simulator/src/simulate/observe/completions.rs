//! How long the jobs of workloads took.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::simulate::host::workload::{Job, Workload};

/// What a workload did.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadReport {
    /// Its name.
    pub name: String,
    /// Jobs that began.
    pub jobs: usize,
    /// Bytes of frames that arrived of flows and answers, each once.
    pub bytes: u64,
    /// Throughput from its start to the end of the simulation, in gigabits per second.
    pub gbps: f64,
    /// Completion times by size, in rising order.
    pub completions: Vec<Completions>,
}

/// Completion times of a workload's jobs of one size: of flows from their first byte's start to
/// their last byte's arrival, of incasts from the request to the arrival of the last answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Completions {
    /// Bytes of the flow, or of each answer.
    pub bytes: u64,
    /// Jobs of this size that began.
    pub jobs: usize,
    /// Those that were not done at the end. They count with their age, so that percentiles that
    /// they reach are bounds from below.
    pub unfinished: usize,
    /// What they would take in an empty network, on average, in microseconds.
    pub optimum_us: f64,
    /// What they took, in microseconds.
    pub times_us: Percentiles,
    /// What they took, in units of the optimum of each.
    pub normalized: Percentiles,
}

/// The distribution of some values; percentiles by nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The average.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The largest.
    pub most: f64,
}

impl Percentiles {
    /// Those of some values; zeros for none.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let at = |share: f64| {
            let rank = (share * count as f64).ceil() as usize;
            values
                .get(rank.clamp(1, count.max(1)) - 1)
                .copied()
                .unwrap_or(0.0)
        };
        Self {
            mean: values.iter().sum::<f64>() / count.max(1) as f64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            most: at(1.0),
        }
    }
}

/// What every workload did up to `now`: its jobs, in any order, and by workload the bytes that have
/// arrived.
pub(crate) fn reports(
    workloads: &[Workload],
    jobs: &[Job],
    bytes: &[u64],
    now: u64,
) -> Vec<WorkloadReport> {
    let mut by_size: Vec<BTreeMap<u64, Vec<Job>>> = vec![BTreeMap::new(); workloads.len()];
    for job in jobs {
        let sizes = &mut by_size[job.workload as usize];
        sizes.entry(job.size).or_default().push(*job);
    }
    let all = workloads.iter().zip(bytes).zip(by_size);
    all.map(|((workload, &bytes), sizes)| WorkloadReport {
        name: workload.name.clone(),
        jobs: sizes.values().map(Vec::len).sum(),
        bytes,
        gbps: bytes as f64 * 8.0 / now.saturating_sub(workload.start).max(1) as f64,
        completions: sizes
            .into_iter()
            .map(|(size, jobs)| completions(size, &jobs, now))
            .collect(),
    })
    .collect()
}

fn completions(bytes: u64, jobs: &[Job], now: u64) -> Completions {
    let time = |job: &Job| job.done.unwrap_or(now).saturating_sub(job.start) as f64;
    let optimum = |job: &Job| job.optimum.max(1) as f64;
    Completions {
        bytes,
        jobs: jobs.len(),
        unfinished: jobs.iter().filter(|job| job.done.is_none()).count(),
        // Whole numbers, whose sum does not depend on their order.
        optimum_us: jobs.iter().map(optimum).sum::<f64>() / jobs.len().max(1) as f64 / 1e3,
        times_us: Percentiles::of(jobs.iter().map(|job| time(job) / 1e3).collect()),
        normalized: Percentiles::of(jobs.iter().map(|job| time(job) / optimum(job)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_that_rank() {
        let found = Percentiles::of((1..=1_000).rev().map(f64::from).collect());
        let ranks = [found.p50, found.p90, found.p99, found.p999, found.most];
        assert_eq!(ranks, [500.0, 900.0, 990.0, 999.0, 1_000.0]);
        assert_eq!(found.mean, 500.5);
        assert_eq!(Percentiles::of(vec![7.0]).p999, 7.0);
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
    }
}

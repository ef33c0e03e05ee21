//! Figures 3.7 to 3.9: incasts and background flows on a fat-tree of 54 hosts (Stephens15 section
//! 3.2.2).
//!
//! The paper says that background flows have 64 KB to 32 MB, not how often each size comes: here
//! all powers of two are equally likely. All transports have the same jobs, as far as they get to
//! them.

use quantities::Progress;
use rayon::prelude::*;
use serde::Serialize;
use simulator::simulate::{Completions, SimulationReport};

use super::super::machine::timed;
use super::variant::{ROUND_TRIP, Variant};
use super::{BoltError, BoltOptions, averaged, play};

/// One transport with one seed.
#[derive(Clone, Debug, Serialize)]
pub struct MixRun {
    /// The transport.
    pub variant: Variant,
    /// The seed.
    pub seed: u64,
    /// Background flows, by size.
    pub background: Vec<Completions>,
    /// Incasts, by the size of an answer.
    pub incasts: Vec<Completions>,
    /// Throughput of both, in gigabits per second.
    pub gbps: f64,
    /// Packets that were lost.
    pub losses: u64,
    /// Lossless packets among them: none, or switches break their promise.
    pub lossless_drops: u64,
    /// PFC frames that said stop, renewals not counted.
    pub pauses: u64,
    /// Deadlocks.
    pub deadlocks: usize,
    /// Simulated milliseconds.
    pub simulated_ms: f64,
    /// Frames that switches processed.
    pub packet_hops: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// All transports and seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Mix {
    /// By transport, then by seed.
    pub runs: Vec<MixRun>,
}

/// Figure 3.7: background flows of one size by one transport, averages over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackgroundRow {
    /// The transport.
    pub variant: Variant,
    /// Bytes of the flow.
    pub bytes: u64,
    /// Flows of all seeds.
    pub flows: usize,
    /// Of these, those that were not done when the simulation ended; percentiles that they reach
    /// are bounds from below.
    pub unfinished: usize,
    /// The median of completion times, in units of the optimum.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// Half the width of its 95 % confidence interval over the seeds, if there are several.
    pub p99_interval: Option<f64>,
}

/// Figures 3.8 and 3.9: incasts of one size by one transport, averages over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncastRow {
    /// The transport.
    pub variant: Variant,
    /// Bytes of each answer.
    pub bytes: u64,
    /// Incasts of all seeds.
    pub incasts: usize,
    /// Of these, those that were not done when the simulation ended.
    pub unfinished: usize,
    /// The median of completion times, in units of the optimum.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// Half the width of its 95 % confidence interval over the seeds, if there are several.
    pub p999_interval: Option<f64>,
}

/// A figure that the paper's text gives, beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoltClaim {
    /// The paper's figure that it is of: 3.7 to 3.9.
    pub figure: &'static str,
    /// What is compared.
    pub what: &'static str,
    /// What the paper says, in words.
    pub paper: &'static str,
    /// Ours: the geometric mean over sizes.
    pub ours: f64,
    /// Whether ours is within the range that the paper's words allow.
    pub agrees: bool,
}

/// Sizes and times of a run.
struct Length {
    /// Milliseconds in which jobs begin, and until the end.
    begin: u64,
    all: u64,
    largest: u64,
}

const KB: u64 = 1_000;

impl Length {
    const fn of(options: &BoltOptions) -> Self {
        match options.quick {
            true => Self {
                begin: 30,
                all: 60,
                largest: 4_096 * KB,
            },
            false => Self {
                begin: 500,
                all: 900,
                largest: 32_768 * KB,
            },
        }
    }

    /// 64 KB and its doubles.
    fn sizes(&self) -> Vec<u64> {
        std::iter::successors(Some(64 * KB), |size| Some(size * 2))
            .take_while(|size| *size <= self.largest)
            .collect()
    }
}

fn scenario(variant: Variant, seed: u64, options: &BoltOptions) -> String {
    let length = Length::of(options);
    let sizes: Vec<String> = length
        .sizes()
        .iter()
        .map(|size| format!("{size}B"))
        .collect();
    let sender = variant.sender(false);
    format!(
        "name: mix, {}\nseed: {seed}\nround_trip: {ROUND_TRIP}\nduration: {}ms\nswitches: {}\n\
         network:\n  topology: {{ fat-tree: {{ k: 6 }} }}\n  cables: {{ host_rate: 10Gbps, fabric_rate: 10Gbps }}\n  plan: {{ bounces: 0 }}\n\
         workloads:\n  \
         - {{ name: incasts, arrivals: {{ poisson: 200 }}, servers: 10, sizes: [2KB, 4KB, 8KB], stop: {}ms, {sender} }}\n  \
         - {{ name: background, arrivals: {{ closed: 1ms }}, sizes: [{}], stop: {}ms, {sender} }}\n",
        variant.name(),
        length.all,
        variant.switches(6),
        length.begin,
        sizes.join(", "),
        length.begin
    )
}

/// Plays the mix with these transports, on all cores.
///
/// # Errors
/// [`BoltError`].
pub fn mix(
    options: &BoltOptions,
    variants: &[Variant],
    progress: &Progress,
) -> Result<Mix, BoltError> {
    let seeds: Vec<u64> = options.all_seeds().collect();
    let all: Vec<(Variant, u64)> = variants
        .iter()
        .flat_map(|&variant| seeds.iter().map(move |&seed| (variant, seed)))
        .collect();
    progress.begin(all.len() as u64);
    let run = |&(variant, seed): &(Variant, u64)| {
        let (outcome, seconds) = timed(|| play(&scenario(variant, seed, options), false));
        progress.advance(1);
        Ok(MixRun::new(variant, seed, outcome?.report, seconds))
    };
    let runs = all.par_iter().map(run).collect::<Result<_, BoltError>>()?;
    Ok(Mix { runs })
}

/// Figure 3.7, all transports: completion times of background flows.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_7(
    options: &BoltOptions,
    progress: &Progress,
) -> Result<Vec<BackgroundRow>, BoltError> {
    Ok(mix(options, &Variant::ALL, progress)?.background())
}

/// Figure 3.8, all transports: completion times of incasts.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_8(options: &BoltOptions, progress: &Progress) -> Result<Vec<IncastRow>, BoltError> {
    Ok(mix(options, &Variant::ALL, progress)?.incasts())
}

/// Figure 3.9: the same of TCP-Bolt, with and without DCB and spraying.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_9(options: &BoltOptions, progress: &Progress) -> Result<Vec<IncastRow>, BoltError> {
    let variants = [
        Variant::Dctcp,
        Variant::DctcpNoSs,
        Variant::TcpBolt,
        Variant::PsTcpBolt,
        Variant::PsDctcpNoSs,
    ];
    Ok(mix(options, &variants, progress)?.incasts())
}

impl MixRun {
    fn new(variant: Variant, seed: u64, report: SimulationReport, seconds: f64) -> Self {
        let losses = report.losses;
        let pauses = report
            .switches
            .iter()
            .map(|switch| switch.pauses_sent)
            .sum();
        let mut completions = report.workloads.into_iter().map(|found| found.completions);
        Self {
            variant,
            seed,
            incasts: completions.next().unwrap_or_default(),
            background: completions.next().unwrap_or_default(),
            gbps: report.gbps,
            losses: losses.lossless + losses.lossy + losses.program + losses.link_down,
            lossless_drops: report.lossless_drops,
            pauses,
            deadlocks: report.deadlocks,
            simulated_ms: report.simulated_us / 1e3,
            packet_hops: report.packet_hops,
            seconds,
        }
    }
}

impl Mix {
    /// The transports, in order.
    fn variants(&self) -> Vec<Variant> {
        let mut variants: Vec<Variant> = self.runs.iter().map(|run| run.variant).collect();
        variants.dedup();
        variants
    }

    /// By transport and size: what all seeds found.
    fn rows<Row>(
        &self,
        of: fn(&MixRun) -> &Vec<Completions>,
        row: impl Fn(Variant, u64, &[&Completions]) -> Row,
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        for variant in self.variants() {
            let own = || self.runs.iter().filter(|run| run.variant == variant);
            let mut sizes: Vec<u64> = own()
                .flat_map(|run| of(run).iter().map(|c| c.bytes))
                .collect();
            sizes.sort_unstable();
            sizes.dedup();
            for size in sizes {
                let found = own().filter_map(|run| of(run).iter().find(|c| c.bytes == size));
                rows.push(row(variant, size, &found.collect::<Vec<_>>()));
            }
        }
        rows
    }

    /// Figure 3.7.
    #[must_use]
    pub fn background(&self) -> Vec<BackgroundRow> {
        self.rows(
            |run| &run.background,
            |variant, bytes, found| {
                let of = |value: fn(&Completions) -> f64| {
                    averaged(&found.iter().map(|c| value(c)).collect::<Vec<_>>())
                };
                let (p99, p99_interval) = of(|c| c.normalized.p99);
                BackgroundRow {
                    variant,
                    bytes,
                    flows: found.iter().map(|c| c.jobs).sum(),
                    unfinished: found.iter().map(|c| c.unfinished).sum(),
                    p50: of(|c| c.normalized.p50).0,
                    p99,
                    p99_interval,
                }
            },
        )
    }

    /// Figures 3.8 and 3.9.
    #[must_use]
    pub fn incasts(&self) -> Vec<IncastRow> {
        self.rows(
            |run| &run.incasts,
            |variant, bytes, found| {
                let of = |value: fn(&Completions) -> f64| {
                    averaged(&found.iter().map(|c| value(c)).collect::<Vec<_>>())
                };
                let (p999, p999_interval) = of(|c| c.normalized.p999);
                IncastRow {
                    variant,
                    bytes,
                    incasts: found.iter().map(|c| c.jobs).sum(),
                    unfinished: found.iter().map(|c| c.unfinished).sum(),
                    p50: of(|c| c.normalized.p50).0,
                    p99: of(|c| c.normalized.p99).0,
                    p999,
                    p999_interval,
                }
            },
        )
    }

    /// What the paper's text says of Figures 3.7 to 3.9, for those whose transports were played.
    #[must_use]
    pub fn claims(&self) -> Vec<BoltClaim> {
        let background = self.background();
        let incasts = self.incasts();
        let background_of = |variant: Variant| -> Vec<f64> {
            let own = background.iter().filter(|row| row.variant == variant);
            own.map(|row| row.p99).collect()
        };
        let incasts_of = |variant: Variant| -> Vec<f64> {
            let own = incasts.iter().filter(|row| row.variant == variant);
            own.map(|row| row.p999).collect()
        };
        let sprayed_background = background_of(Variant::PsDctcpNoSs);
        let ones = |values: &[f64]| vec![1.0; values.len()];
        let (bolt, bolt_incasts) = (
            background_of(Variant::TcpBolt),
            incasts_of(Variant::TcpBolt),
        );
        let (dctcp, sprayed) = (incasts_of(Variant::Dctcp), incasts_of(Variant::PsTcpBolt));
        let dcb = incasts_of(Variant::TcpDcb);
        let of_any_size = sprayed_background
            .iter()
            .zip(&bolt)
            .map(|(this, that)| this / that)
            .reduce(f64::max);
        let all = [
            (
                "3.7",
                "background, p99: DCTCP-DCB over DCTCP",
                "the same",
                ratio(
                    &background_of(Variant::DctcpDcb),
                    &background_of(Variant::Dctcp),
                ),
                0.8,
                1.25,
            ),
            (
                "3.8",
                "incasts, p99.9: TCP-DCB over DCTCP",
                "20",
                ratio(&dcb, &dctcp),
                15.0,
                25.0,
            ),
            (
                "3.8",
                "incasts, p99.9: TCP-NoSS over TCP",
                "the same",
                ratio(&incasts_of(Variant::TcpNoSs), &incasts_of(Variant::Tcp)),
                0.8,
                1.25,
            ),
            (
                "3.8",
                "incasts, p99.9: DCTCP-NoSS over DCTCP",
                "about 2",
                ratio(&incasts_of(Variant::DctcpNoSs), &dctcp),
                1.5,
                2.5,
            ),
            (
                "3.9",
                "background, p99: PS-DCTCP-NoSS over TCP-Bolt, the size with most",
                "more than 5",
                of_any_size,
                5.0,
                f64::INFINITY,
            ),
            (
                "3.7",
                "background, p99: DCTCP over TCP-Bolt",
                "more than 10",
                ratio(&background_of(Variant::Dctcp), &bolt),
                10.0,
                f64::INFINITY,
            ),
            (
                "3.7",
                "background, p99: TCP-DCB over TCP-Bolt",
                "more than 2",
                ratio(&background_of(Variant::TcpDcb), &bolt),
                2.0,
                f64::INFINITY,
            ),
            (
                "3.7",
                "background, p99: TCP over TCP-Bolt",
                "less than 1",
                ratio(&background_of(Variant::Tcp), &bolt),
                0.0,
                1.0,
            ),
            (
                "3.8",
                "incasts, p99.9: TCP-DCB over the optimum",
                "more than 40",
                ratio(&dcb, &ones(&dcb)),
                40.0,
                f64::INFINITY,
            ),
            (
                "3.8",
                "incasts, p99.9: TCP-Bolt over DCTCP",
                "about 2",
                ratio(&bolt_incasts, &dctcp),
                1.5,
                2.5,
            ),
            (
                "3.8",
                "incasts, p99.9: TCP over DCTCP",
                "the worst shown",
                ratio(&incasts_of(Variant::Tcp), &dctcp),
                1.0,
                f64::INFINITY,
            ),
            (
                "3.8",
                "incasts, p99.9: pFabric over TCP",
                "similar",
                ratio(&incasts_of(Variant::PFabric), &incasts_of(Variant::Tcp)),
                0.67,
                1.5,
            ),
            (
                "3.8",
                "incasts, p99.9: PS-TCP-Bolt over DCTCP",
                "the same",
                ratio(&sprayed, &dctcp),
                0.8,
                1.25,
            ),
            (
                "3.9",
                "incasts, p99.9: PS-TCP-Bolt over PS-DCTCP-NoSS",
                "0.8",
                ratio(&sprayed, &incasts_of(Variant::PsDctcpNoSs)),
                0.72,
                0.88,
            ),
        ];
        all.into_iter()
            .filter_map(|(figure, what, paper, ours, least, most)| {
                let ours = ours?;
                Some(BoltClaim {
                    figure,
                    what,
                    paper,
                    ours,
                    agrees: (least..=most).contains(&ours),
                })
            })
            .collect()
    }
}

/// The geometric mean of the ratios of values that belong together.
fn ratio(these: &[f64], those: &[f64]) -> Option<f64> {
    let ratios: Vec<f64> = these
        .iter()
        .zip(those)
        .map(|(this, that)| (this / that).ln())
        .collect();
    (!ratios.is_empty()).then(|| (ratios.iter().sum::<f64>() / ratios.len() as f64).exp())
}

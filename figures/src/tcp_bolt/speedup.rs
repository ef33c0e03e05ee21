//! Figure 3.1: how much faster than TCP one flow is on an idle network of two hops, by its size.

use quantities::Progress;
use rayon::prelude::*;
use serde::Serialize;

use super::variant::{ROUND_TRIP, Variant};
use super::{BoltError, BoltOptions, play};

/// A flow of one size by one transport.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedupRow {
    /// The transport. TCP-DCB begins with 200 packets here, as the paper's does in this figure.
    pub variant: Variant,
    /// Bytes of the flow.
    pub bytes: u64,
    /// What it took, in microseconds.
    pub us: f64,
    /// What TCP took, over what it took.
    pub speedup: f64,
    /// What the paper says of TCP-DCB at this size: at least and at most. Its plotted points are
    /// not in our copy.
    pub paper: Option<[f64; 2]>,
}

/// Bytes of the flows.
const SIZES: [u64; 11] = [
    1_000,
    3_000,
    10_000,
    30_000,
    100_000,
    300_000,
    1_000_000,
    3_000_000,
    10_000_000,
    30_000_000,
    100_000_000,
];

/// Where the paper says that TCP-DCB is 1.5 to 3 times as fast.
const PAPER_SIZES: std::ops::RangeInclusive<u64> = 100_000..=10_000_000;

/// Figure 3.1, all transports.
///
/// # Errors
/// [`BoltError`].
pub fn figure_3_1(
    options: &BoltOptions,
    progress: &Progress,
) -> Result<Vec<SpeedupRow>, BoltError> {
    // The two largest take most of the time and tell nothing that the one before does not.
    let sizes = &SIZES[..if options.quick {
        SIZES.len() - 2
    } else {
        SIZES.len()
    }];
    progress.begin(Variant::ALL.len() as u64);
    let times = |variant: Variant| {
        let times = times(variant, sizes, options.seed);
        progress.advance(1);
        times
    };
    let times: Vec<Vec<f64>> = Variant::ALL
        .into_par_iter()
        .map(times)
        .collect::<Result<_, _>>()?;
    let tcp = &times[0];
    let rows = Variant::ALL
        .into_iter()
        .zip(&times)
        .flat_map(|(variant, own)| {
            sizes
                .iter()
                .zip(own)
                .zip(tcp)
                .map(move |((&bytes, &us), tcp)| SpeedupRow {
                    variant,
                    bytes,
                    us,
                    speedup: tcp / us,
                    paper: (variant == Variant::TcpDcb && PAPER_SIZES.contains(&bytes))
                        .then_some([1.5, 3.0]),
                })
        });
    Ok(rows.collect())
}

/// What flows of these sizes take, one after the other, in microseconds.
fn times(variant: Variant, sizes: &[u64], seed: u64) -> Result<Vec<f64>, BoltError> {
    let large = variant == Variant::TcpDcb;
    let (sender, switches) = (variant.sender(large), variant.switches(2));
    let (mut flows, mut start) = (String::new(), 0);
    for bytes in sizes {
        flows += &format!(
            "  - {{ name: f{bytes}, from: A, to: B, bytes: {bytes}B, start: {start}us, {sender} }}\n"
        );
        // Time enough for a flow at half the rate and some round trips.
        start += bytes * 16 / 10_000 + 6_000;
    }
    let text = format!(
        "name: one flow\nseed: {seed}\nround_trip: {ROUND_TRIP}\nduration: {start}us\nswitches: {switches}\n\
         network:\n  topology: {{ drawn: {{ switches: {{ middle: [A, B] }}, links: [] }} }}\n  cables: {{ host_rate: 10Gbps }}\n\
         flows:\n{flows}"
    );
    let report = play(&text, false)?.report;
    let time = |flow: &simulator::simulate::FlowReport| flow.completed_us.unwrap_or(f64::INFINITY);
    Ok(report.flows.iter().map(time).collect())
}

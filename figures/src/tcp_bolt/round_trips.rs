//! Section 3.3.1: how long round trips become under TCP-DCB, on the topology of Figure 2.1.

use quantities::Progress;
use rayon::prelude::*;
use serde::Serialize;

use super::shares::five_flows_scenario;
use super::variant::Variant;
use super::{BoltError, BoltOptions, play};

/// Round-trip times of the five flows of Figure 2.1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundTripRow {
    /// The transport.
    pub variant: Variant,
    /// The shortest, in microseconds: that of an empty network.
    pub least_us: f64,
    /// The average of B's flow, behind one switch.
    pub near_us: f64,
    /// The average of the flows behind two switches.
    pub far_us: f64,
    /// The longest.
    pub most_us: f64,
    /// What the paper measures over TCP-DCB, without load and with it. Of which flow, it does not
    /// say.
    pub paper: Option<[f64; 2]>,
}

/// Round-trip times of all transports.
///
/// # Errors
/// [`BoltError`].
pub fn round_trips(
    options: &BoltOptions,
    progress: &Progress,
) -> Result<Vec<RoundTripRow>, BoltError> {
    progress.begin(Variant::ALL.len() as u64);
    let row = |variant: Variant| {
        let step = if options.quick { 10 } else { 50 };
        let report = play(&five_flows_scenario(variant, step, options.seed), false)?.report;
        let times = report.flows.iter().filter_map(|flow| flow.round_trip_us);
        let times: Vec<_> = times.collect();
        let mean = |of: &[simulator::simulate::RoundTripReport]| {
            let count: u64 = of.iter().map(|found| found.count).sum();
            let sum: f64 = of.iter().map(|found| found.mean * found.count as f64).sum();
            sum / count.max(1) as f64
        };
        progress.advance(1);
        Ok(RoundTripRow {
            variant,
            least_us: times
                .iter()
                .map(|found| found.least)
                .fold(f64::INFINITY, f64::min),
            near_us: mean(&times[..1.min(times.len())]),
            far_us: mean(&times[1.min(times.len())..]),
            most_us: times.iter().map(|found| found.most).fold(0.0, f64::max),
            paper: (variant == Variant::TcpDcb).then_some([240.0, 1240.0]),
        })
    };
    Variant::ALL.into_par_iter().map(row).collect()
}

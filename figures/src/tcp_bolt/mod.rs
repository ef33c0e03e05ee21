//! TCP-Bolt's evaluation (Stephens15 chapter 3) in the simulator: Figures 3.1 to 3.9 with ten
//! transports, and the round-trip times of section 3.3.1. What the paper prints stands beside our
//! figures and is used nowhere else.
//!
//! Every figure is a function of [`BoltOptions`]: [`figure_3_1`] (one flow, by its size),
//! [`fairness`] (Figures 3.2, 3.3, 3.5), [`head_of_line`] (3.4, 3.6), [`mix`] (3.7 to 3.9),
//! [`round_trips`] (section 3.3.1).

mod mix;
mod plots;
mod round_trips;
mod shares;
mod speedup;
mod variant;

use plan::CheckFailure;
use plan::check::{Options, check};
use simulator::embedded::{Network, NetworkError};
use simulator::simulate::{Outcome, SimulateError, simulate};
use spec::{Scenario, ScenarioError};
use thiserror::Error;

pub use mix::{
    BackgroundRow, BoltClaim, IncastRow, Mix, MixRun, figure_3_7, figure_3_8, figure_3_9, mix,
};
pub use plots::{
    plot_head_of_line, plot_mix_background, plot_mix_incasts, plot_shares, plot_speedup,
};
pub use round_trips::{RoundTripRow, round_trips};
pub use shares::{
    HeadOfLineRow, ShareRow, SharesRun, fairness, figure_3_2, figure_3_3, figure_3_4, figure_3_5,
    figure_3_6, head_of_line,
};
pub use speedup::{SpeedupRow, figure_3_1};
pub use variant::Variant;

/// How much of the evaluation to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoltOptions {
    /// Shorter, so that a figure takes seconds.
    pub quick: bool,
    /// How many seeds to average over; at least 1.
    pub seeds: u32,
    /// The first of them.
    pub seed: u64,
}

impl Default for BoltOptions {
    fn default() -> Self {
        Self {
            quick: false,
            seeds: 1,
            seed: 1,
        }
    }
}

impl BoltOptions {
    /// The seeds.
    pub(super) fn all_seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..u64::from(self.seeds.max(1))).map(move |n| first.wrapping_add(n))
    }
}

/// Why a figure was not made.
#[derive(Debug, Error)]
pub enum BoltError {
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Its plan was refused.
    #[error(transparent)]
    Check(#[from] Box<CheckFailure>),
    /// Its switches do not run.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It was not simulated.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

/// Plays a scenario on the network that it names.
fn play(text: &str, plots: bool) -> Result<Outcome, BoltError> {
    let scenario = Scenario::from_yaml(text)?;
    let plan = check(scenario.tables()?, &Options::default())?;
    Ok(simulate(&Network::of(plan)?, &scenario, plots)?)
}

/// The average of some values, and half the width of its 95 % confidence interval by the normal
/// approximation: nothing for a single one.
fn averaged(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, None);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    (mean, Some(1.96 * deviation / count.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_have_their_interval() {
        assert_eq!(averaged(&[3.0]), (3.0, None));
        let (mean, half) = averaged(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(mean, 2.5);
        // The deviation is 1.291, over the root of 4.
        assert!((half.unwrap() - 1.96 * 1.290_994 / 2.0).abs() < 1e-3);
    }
}

//! The network in virtual time: every switch runs the generated program on its entries, by the
//! compiled executor, behind a lossless shared-buffer switch (`device`); cables have rates and
//! lengths; hosts send flows, obey PFC and react to congestion.
//!
//! A [`Scenario`] says who sends what and what happens when; [`simulate`] plays it and returns a
//! [`SimulationReport`] and, where asked for, [`Plots`]. Nothing reads a clock: the same network,
//! scenario and seed give the same events, figures and pictures, by any number of threads.
//!
//! Packets are real headers with a payload of zeros that is not carried about: the program sees the
//! first 60 bytes, buffers and cables see the whole length.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod animation;
mod engine;
mod host;
mod observe;
pub mod player;
mod session;
mod setup;
mod start;

use std::sync::Arc;

use p4exec::BuildError;
use quantities::Progress;
use spec::{Scenario, ScenarioError};
use thiserror::Error;

use crate::embedded::{LoadError, Network, NetworkError};

pub use animation::{AnimatedRun, Recording, animate};
pub use engine::parallel::meet;
pub use engine::shard::Losses;
pub use engine::watchdog::WatchdogReport;
pub use engine::windows::Windows;
pub use observe::completions::{Completions, Percentiles, WorkloadReport};
pub use observe::diagrams::{Plots, compare_goodput};
pub use observe::report::{
    ClassReport, DeadlockReport, FlowReport, RoundTripReport, SimulationReport, SwitchReport,
    TimelineEntry,
};
pub use observe::seeds::{SeedRun, SeedWorkload};
pub use session::{FlowState, PauseChange, QueueState, Session, State};
pub use setup::buffers::{LosslessFile, LosslessPort, allow_lateness, lossless_of_plan};
pub use setup::routing::RerouteError;
pub use setup::settings::{PortBuffer, SwitchBuffer};

/// Why a simulation does not run.
#[derive(Debug, Error)]
pub enum SimulateError {
    /// The scenario does not fit the network.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The build directory.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The executor refuses the program.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A switch refuses its entries.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Tables cannot be changed as the scenario says.
    #[error(transparent)]
    Reroute(#[from] RerouteError),
    /// Our own frames.
    #[error("the first bytes of a frame have an unexpected length; this is a bug of Switchwright")]
    Head,
}

/// What a simulation gives.
#[derive(Debug)]
pub struct Outcome {
    /// The figures.
    pub report: SimulationReport,
    /// The pictures, if they were asked for.
    pub plots: Option<Plots>,
}

/// Plays a scenario on a network, to its end.
///
/// # Errors
/// [`SimulateError`] if the scenario names what is not there, or a switch cannot be set up.
pub fn simulate(
    network: &Network,
    scenario: &Scenario,
    plots: bool,
) -> Result<Outcome, SimulateError> {
    simulate_with_progress(network, scenario, plots, &Arc::default())
}

/// The same, telling how much of the simulated time has passed.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with_progress(
    network: &Network,
    scenario: &Scenario,
    plots: bool,
    progress: &Arc<Progress>,
) -> Result<Outcome, SimulateError> {
    let (outcome, _) = simulate_shared(network, scenario, plots, Threads::default(), progress)?;
    Ok(outcome)
}

/// Who simulates: the same comes out whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Threads that work beside each other.
    pub threads: usize,
    /// Into how many parts they share the network, at most; never fewer than threads.
    pub parts: usize,
}

impl Threads {
    /// The most threads and parts.
    pub const MAX: usize = engine::partition::MAX_PARTS as usize;

    /// So many threads with a part each.
    #[must_use]
    pub const fn new(threads: usize) -> Self {
        Self {
            threads,
            parts: threads,
        }
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self::new(1)
    }
}

/// The same by several threads, and how they shared the work.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_shared(
    network: &Network,
    scenario: &Scenario,
    plots: bool,
    threads: Threads,
    progress: &Arc<Progress>,
) -> Result<(Outcome, Windows), SimulateError> {
    let mut session = Session::shared(network, scenario, plots, threads)?;
    session.set_progress(progress);
    session.run(u64::MAX, u64::MAX)?;
    let windows = session.windows();
    Ok((session.finish(plots), windows))
}

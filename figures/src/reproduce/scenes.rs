//! Scenarios that come along, played for an entry.

use plan::check::{Options, check};
use simulator::embedded::Network;
use simulator::simulate::{SimulationReport, simulate};
use spec::{Scenario, TransportSpec, bundled};

use super::item::{EntryError, ItemError};

/// How a scenario is played.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Play {
    /// Without tags.
    pub(super) without_tags: bool,
    /// All flows with this transport instead of their own.
    pub(super) transport: Option<TransportSpec>,
}

/// Plays a bundled scenario on the network that it asks for.
///
/// # Errors
/// A scenario that is not there, or a network that cannot be.
pub(super) fn play(name: &str, how: Play) -> Result<SimulationReport, ItemError> {
    play_changed(name, how, |_| ())
}

/// Plays a bundled scenario with something changed in it.
///
/// # Errors
/// As [`play`].
pub(super) fn play_changed(
    name: &str,
    how: Play,
    change: impl FnOnce(&mut Scenario),
) -> Result<SimulationReport, ItemError> {
    let text = bundled(name).ok_or_else(|| ItemError::new(format!("no scenario `{name}`")))?;
    let mut scenario = Scenario::from_yaml(text).told()?;
    scenario.tags &= !how.without_tags;
    if let Some(transport) = how.transport {
        let flows = scenario.flows.iter_mut();
        flows.for_each(|flow| flow.transport = transport);
    }
    change(&mut scenario);
    let plan = check(scenario.tables().told()?, &Options::default()).told()?;
    let network = Network::of(plan).told()?;
    Ok(simulate(&network, &scenario, false).told()?.report)
}

/// What a flow carries at the end, in gigabits per second.
pub(super) fn at_end(report: &SimulationReport, flow: &str) -> f64 {
    let mut flows = report.flows.iter();
    flows
        .find(|found| found.name == flow)
        .map_or(f64::NAN, |flow| flow.gbps_at_end)
}

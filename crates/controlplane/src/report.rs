//! What a push reports: how it ended, for the network and for every switch.

use std::collections::BTreeMap;

use serde::Serialize;

use super::apply::Applied;
use super::desired::Desired;
use super::devices::Device;
use super::diff::{ChangeKind, SwitchDiff};
use super::error::RemoteError;

/// How a push ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every switch held it already; nothing was written.
    Unchanged,
    /// Every switch that was reached holds it.
    Pushed,
    /// A switch refused, and every switch is as it was.
    RolledBack,
    /// A switch refused, and not every switch could be brought back.
    Mixed,
}

/// How a push ended for one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchOutcome {
    /// It held everything.
    Unchanged,
    /// It was written to and read back.
    Pushed,
    /// It could not be reached and was left out.
    Unreachable,
    /// It is as it was before.
    Restored,
    /// It refused, and could not be brought back.
    Lost,
}

/// What happened to one switch.
#[derive(Clone, Debug, Serialize)]
pub struct SwitchReport {
    /// Its name.
    pub switch: String,
    /// Where it is.
    pub address: String,
    /// How it ended.
    pub outcome: SwitchOutcome,
    /// `same`, `load` or `replace`; absent where the switch was not asked.
    pub pipeline: Option<&'static str>,
    /// Entities made.
    pub inserted: usize,
    /// Entities changed.
    pub modified: usize,
    /// Entities removed.
    pub deleted: usize,
    /// Writes that it took.
    pub batches: usize,
    /// `dataplane-atomic`, `rollback-on-error` or `none`; absent where nothing was written.
    pub atomicity: Option<&'static str>,
    /// Where the switch is otherwise than its target is known for (`switchwright targets`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// What went wrong.
    pub error: Option<String>,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
pub struct PushReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Updates written to switches that hold them now.
    pub written: usize,
    /// Every switch, in the plan's order.
    pub switches: Vec<SwitchReport>,
}

impl SwitchReport {
    /// A switch to which nothing was done.
    pub(super) fn of(device: &Device, outcome: SwitchOutcome) -> Self {
        Self {
            switch: device.name.clone(),
            address: device.endpoint.address.clone(),
            outcome,
            pipeline: None,
            inserted: 0,
            modified: 0,
            deleted: 0,
            batches: 0,
            atomicity: None,
            differs: Vec::new(),
            error: None,
        }
    }

    /// The same, with what was done.
    pub(super) fn with(self, applied: &Applied) -> Self {
        Self {
            inserted: applied.inserted,
            modified: applied.modified,
            deleted: applied.deleted,
            batches: applied.batches,
            ..self
        }
    }
}

impl PushReport {
    /// The switches in the plan's order.
    pub(super) fn new(
        desired: &Desired,
        mut switches: Vec<SwitchReport>,
        outcome: Outcome,
        written: usize,
    ) -> Self {
        let places: BTreeMap<&str, usize> = desired
            .switches
            .iter()
            .enumerate()
            .map(|(place, switch)| (switch.name.as_str(), place))
            .collect();
        switches.sort_by_key(|report| places.get(report.switch.as_str()).copied());
        Self {
            outcome,
            written,
            switches,
        }
    }
}

/// What a switch holds beside what it is to hold.
#[derive(Debug)]
pub struct Survey {
    /// The switch.
    pub device: Device,
    /// The difference, or why it is not known.
    pub found: Result<SwitchDiff, RemoteError>,
}

impl Survey {
    /// What a push would do here, as a report.
    #[must_use]
    pub fn report(&self) -> SwitchReport {
        match &self.found {
            Ok(diff) => SwitchReport {
                pipeline: Some(diff.pipeline.name()),
                inserted: diff.count(ChangeKind::Insert),
                modified: diff.count(ChangeKind::Modify),
                deleted: diff.count(ChangeKind::Delete),
                ..SwitchReport::of(
                    &self.device,
                    if diff.is_empty() {
                        SwitchOutcome::Unchanged
                    } else {
                        SwitchOutcome::Pushed
                    },
                )
            },
            Err(error) => SwitchReport {
                error: Some(error.to_string()),
                ..SwitchReport::of(&self.device, SwitchOutcome::Unreachable)
            },
        }
    }
}

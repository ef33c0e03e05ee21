//! Drift: where switches no longer hold what the build directory says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::desired::{Desired, DesiredPipeline};
use super::devices::{Device, Devices};
use super::diff::{ChangeKind, PipelineChange};
use super::error::RemoteError;
use super::push::{self, StepObserver, SwitchSurvey};

/// How a switch differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriftKind {
    /// It cannot be asked.
    Unreachable,
    /// It runs no program, or another.
    Program,
    /// Something that the build directory has.
    Missing,
    /// Something that it has not.
    Extra,
    /// Something with another value.
    Changed,
}

impl DriftKind {
    /// The word in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Program => "program",
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Changed => "changed",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Drift {
    /// Which switch.
    pub switch: String,
    /// How.
    pub kind: DriftKind,
    /// What, in the program's names.
    pub what: String,
}

/// The differences of all switches; of each no more is kept than these.
pub async fn drifts(
    desired: &Desired,
    devices: &Devices,
    jobs: usize,
    observer: &StepObserver,
) -> BTreeSet<Drift> {
    let pipeline = Arc::clone(&desired.pipeline);
    let told = move |device: &Device, found| of_switch(&device.name, found, &pipeline);
    let asked = push::ask(desired, devices, jobs, observer, told).await;
    asked.into_iter().flatten().collect()
}

fn of_switch(switch: &str, found: SwitchSurvey, pipeline: &DesiredPipeline) -> Vec<Drift> {
    let drift = |kind, what| Drift {
        switch: switch.to_owned(),
        kind,
        what,
    };
    let (_, diff) = match found {
        Ok(found) => found,
        Err(error @ RemoteError::OtherProgram { .. }) => {
            return vec![drift(DriftKind::Program, error.to_string())];
        }
        Err(error) => return vec![drift(DriftKind::Unreachable, error.to_string())],
    };
    let wanted = &pipeline.name;
    match diff.pipeline {
        PipelineChange::Load => {
            vec![drift(
                DriftKind::Program,
                format!("no program is loaded; {wanted} is wanted"),
            )]
        }
        PipelineChange::Replace => {
            vec![drift(
                DriftKind::Program,
                format!("another program than {wanted} is loaded"),
            )]
        }
        PipelineChange::Same => diff
            .lines(&pipeline.info)
            .into_iter()
            .map(|(change, what)| {
                let kind = match change {
                    ChangeKind::Insert => DriftKind::Missing,
                    ChangeKind::Modify => DriftKind::Changed,
                    ChangeKind::Delete => DriftKind::Extra,
                };
                // A diff tells what a push would write; drift tells what is there.
                drift(kind, what)
            })
            .collect(),
    }
}

/// A change of the differences since the last look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Whether the difference is new, or gone.
    pub appeared: bool,
    /// The difference.
    #[serde(flatten)]
    pub drift: Drift,
}

/// Looks again and again, and tells what changed, until the listener says enough (`false`) or the
/// future is dropped.
pub async fn watch(
    desired: &Desired,
    devices: &Devices,
    jobs: usize,
    interval: Duration,
    mut listen: impl FnMut(Vec<Event>) -> bool,
) {
    let silent: StepObserver = Arc::new(|_, _| {});
    let mut known = BTreeSet::new();
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let now = drifts(desired, devices, jobs, &silent).await;
        if !listen(events(&known, &now)) {
            return;
        }
        known = now;
    }
}

/// What appeared and what is gone, by switch.
fn events(known: &BTreeSet<Drift>, now: &BTreeSet<Drift>) -> Vec<Event> {
    let mut by_switch: BTreeMap<&str, Vec<Event>> = BTreeMap::new();
    let appeared = now.difference(known).map(|drift| (true, drift));
    let gone = known.difference(now).map(|drift| (false, drift));
    for (appeared, drift) in gone.chain(appeared) {
        by_switch.entry(&drift.switch).or_default().push(Event {
            appeared,
            drift: drift.clone(),
        });
    }
    by_switch.into_values().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_what_changed() {
        let drift = |switch: &str, what: &str| Drift {
            switch: switch.to_owned(),
            kind: DriftKind::Extra,
            what: what.to_owned(),
        };
        let known = BTreeSet::from([drift("a", "1"), drift("b", "2")]);
        let now = BTreeSet::from([drift("b", "2"), drift("a", "3")]);
        let observer: Vec<(bool, String)> = events(&known, &now)
            .into_iter()
            .map(|event| (event.appeared, event.drift.what))
            .collect();
        assert_eq!(observer, [(false, "1".to_owned()), (true, "3".to_owned())]);
        assert!(events(&now, &now).is_empty());
    }
}

//! What `check` reports, as data.

use serde::Serialize;

use super::error::{Fault, PlanError};
use super::resilience::FailureReport;

/// Resilience to failures, as far as a scheme claims any.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Resilience {
    /// Failures that the scheme claims to survive.
    pub claimed: u32,
    /// The largest number of simultaneous failures that was tried.
    pub checked_failures: u32,
    /// How many sets of failures were tried.
    pub sets_checked: u64,
    /// Whether that was all of them.
    pub exhaustive: bool,
    /// The most failures of which all sets were tried.
    pub exhaustive_failures: u32,
    /// How many (set, source, destination) lost a packet that a route remained for. Where all sets are explored, sets
    /// that only add failures which the walk does not touch are not counted again.
    pub lost: u64,
    /// How many (set, source, destination) had a packet go in circles.
    pub loops: u64,
    /// How many packets were walked: sets that touch nothing on a walk are not walked again.
    pub walks: u64,
    /// The greatest hops of a walk over the fewest possible, both counted from host to host; `null` where
    /// nothing was walked.
    pub stretch_max: Option<f64>,
}

impl From<FailureReport> for Resilience {
    fn from(found: FailureReport) -> Self {
        Self {
            claimed: found.claimed,
            checked_failures: found.checked_failures,
            sets_checked: found.sets_checked,
            exhaustive: found.exhaustive,
            exhaustive_failures: found.exhaustive_failures,
            lost: found.lost,
            loops: found.loops,
            walks: found.walks,
            stretch_max: Some(found.stretch_max),
        }
    }
}

/// The outcome of a check. `check --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// Whether everything was shown.
    pub proven: bool,
    /// Whether there is no cyclic buffer dependency, whatever the routing; `null` if the tables are too
    /// broken to tell.
    pub cbd_free: Option<bool>,
    /// Whether the plan's own forwarding has no loop; `null` if the tables are too broken to tell.
    pub loop_free: Option<bool>,
    /// Resilience to failures.
    pub resilience: Resilience,
    /// The first error, in words.
    pub counterexample: Option<String>,
    /// How long the check took; the caller, who has a clock, fills it in.
    pub seconds: f64,
}

impl CheckReport {
    /// The report of a proven plan.
    pub(crate) fn proven(failures: Option<FailureReport>) -> Self {
        let nothing_failed = || Resilience {
            exhaustive: true,
            sets_checked: 1,
            ..Resilience::default()
        };
        Self {
            proven: true,
            cbd_free: Some(true),
            loop_free: Some(true),
            resilience: failures.map_or_else(nothing_failed, Resilience::from),
            counterexample: None,
            seconds: 0.0,
        }
    }

    /// The report of a refused plan.
    pub(super) fn refused(errors: &[PlanError], failures: Option<FailureReport>) -> Self {
        let worst = errors.iter().min_by_key(|error| error.fault());
        let unreadable = errors.iter().any(|e| e.fault() == Fault::Input)
            || errors
                .iter()
                .any(|e| matches!(e, PlanError::Conflict { .. }));
        let cyclic = errors.iter().any(|e| matches!(e, PlanError::Cycle(_)));
        let circulates = errors.iter().any(|e| matches!(e, PlanError::Loop { .. }))
            || failures.as_ref().is_some_and(|found| found.loops > 0);
        let lost = errors
            .iter()
            .filter(|e| matches!(e, PlanError::BlackHole { .. }))
            .count() as u64;
        Self {
            proven: false,
            cbd_free: (!unreadable).then_some(!cyclic),
            loop_free: (!unreadable).then_some(!circulates),
            resilience: match failures {
                Some(found) => Resilience::from(found),
                None => Resilience {
                    lost,
                    ..Resilience::default()
                },
            },
            counterexample: worst.map(ToString::to_string),
            seconds: 0.0,
        }
    }

    /// The same report with the time that the check took.
    #[must_use]
    pub fn timed(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self
    }
}

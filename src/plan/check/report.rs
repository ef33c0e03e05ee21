//! What `check` reports, as data.

use serde::Serialize;

use super::error::{Fault, PlanError};

/// Resilience to failures, as far as a scheme claims any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resilience {
    /// Failures that the scheme claims to survive.
    pub claimed: u32,
    /// The largest number of simultaneous failures that was tried.
    pub checked_failures: u32,
    /// How many sets of failures were tried.
    pub sets_checked: u64,
    /// Whether that was all of them.
    pub exhaustive: bool,
    /// How many (set, source, destination) lost a packet that a route remained for.
    pub lost: u64,
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
    pub(crate) fn proven() -> Self {
        Self {
            proven: true,
            cbd_free: Some(true),
            loop_free: Some(true),
            resilience: Resilience {
                exhaustive: true,
                sets_checked: 1,
                ..Resilience::default()
            },
            counterexample: None,
            seconds: 0.0,
        }
    }

    /// The report of a refused plan.
    pub(super) fn refused(errors: &[PlanError]) -> Self {
        let worst = errors.iter().min_by_key(|error| error.fault());
        let unreadable = errors.iter().any(|e| e.fault() == Fault::Input)
            || errors
                .iter()
                .any(|e| matches!(e, PlanError::Conflict { .. }));
        let cyclic = errors.iter().any(|e| matches!(e, PlanError::Cycle(_)));
        let circulates = errors.iter().any(|e| matches!(e, PlanError::Loop { .. }));
        let lost = errors
            .iter()
            .filter(|e| matches!(e, PlanError::BlackHole { .. }))
            .count() as u64;
        Self {
            proven: false,
            cbd_free: (!unreadable).then_some(!cyclic),
            loop_free: (!unreadable).then_some(!circulates),
            resilience: Resilience {
                lost,
                ..Resilience::default()
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

//! The change file: versioned JSON that any tool may write, and that `check` reads.
//!
//! `docs/changes.md` describes it. The plans are inside, whole, so a change file needs nothing
//! beside it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;
use topology::{HeaderError, read_with_header};

use super::model::{Change, PlanIndex, Step};
use crate::file::PlanFileError;
use crate::model::Tables;

/// The `version` that this program reads and writes.
const VERSION: u32 = 1;

/// The most plans that a change file may have.
const MAX_PLANS: usize = 16;
/// The most steps that a change file may have.
const MAX_STEPS: usize = 1000;

/// A change file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeFile<'a> {
    /// Always `switchwright-change`.
    format: String,
    /// The version of this format: 1.
    version: u32,
    /// The plan files: the old plan first, the new one last.
    #[serde(borrow)]
    plans: Vec<&'a RawValue>,
    /// The steps.
    steps: Vec<StepEntry>,
}

/// A step. Plans are counted from 1.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepEntry {
    /// The switches whose rules change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rules: Vec<Held>,
    /// The plan with whose initial tags hosts send after the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hosts: Option<usize>,
    /// The plan that forwards after the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forwarding: Option<usize>,
    /// Whether lossless classes may be lossy from this step to the next.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
    /// Whether the step ends with a drain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drain: bool,
}

/// Switches that have the rules of the same plans after a step.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Held {
    /// The switches, by name.
    switches: Vec<String>,
    /// The plans.
    plans: Vec<usize>,
}

/// Why a change file is refused.
#[derive(Debug, Error)]
pub enum ChangeFileError {
    /// Not JSON, or not of this structure.
    #[error("this is no change file: {0}")]
    Json(#[from] serde_json::Error),
    /// Another format.
    #[error(
        "the format is {0}, not \"{format}\"; give a file that `switchwright change` wrote",
        format = Change::FORMAT
    )]
    Format(String),
    /// Another version.
    #[error("the version is {0}; this program reads version {VERSION}")]
    Version(u32),
    /// A plan of the file.
    #[error("plan {number}: {error}")]
    Plan {
        /// The plan, counted from 1.
        number: usize,
        /// What is wrong with it.
        error: Box<PlanFileError>,
    },
    /// A list that is too long.
    #[error("the file has {given} {what}; at most {most} are read")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        given: usize,
        /// The limit.
        most: usize,
    },
    /// Plans count from 1.
    #[error("step {step} names plan 0; plans are counted from 1")]
    PlanZero {
        /// The step, counted from 1.
        step: usize,
    },
    /// A step says two things of one switch.
    #[error("step {step} names switch `{switch}` twice; name it once")]
    Twice {
        /// The step, counted from 1.
        step: usize,
        /// The switch.
        switch: String,
    },
}

impl From<HeaderError> for ChangeFileError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Json(error) => Self::Json(error),
            HeaderError::Format(found) => Self::Format(found),
            HeaderError::Version(version) => Self::Version(version),
        }
    }
}

impl Change {
    /// The `format` of a change file.
    pub const FORMAT: &str = "switchwright-change";

    /// Reads a change file.
    ///
    /// # Errors
    /// [`ChangeFileError`] if it is none, or says what cannot be.
    pub fn from_json(text: &str) -> Result<Self, ChangeFileError> {
        let file = read_with_header(text, (Self::FORMAT, VERSION), |file: &ChangeFile<'_>| {
            (&file.format, file.version)
        })?;
        at_most("plans", file.plans.len(), MAX_PLANS)?;
        at_most("steps", file.steps.len(), MAX_STEPS)?;
        let plans = (1..).zip(&file.plans).map(|(number, plan)| {
            let read = Tables::from_json(plan.get());
            read.map_err(|error| ChangeFileError::Plan {
                number,
                error: Box::new(error),
            })
        });
        let plans = plans.collect::<Result<_, _>>()?;
        let steps = (1..)
            .zip(file.steps)
            .map(|(number, step)| step.read(number));
        Ok(Self {
            plans,
            steps: steps.collect::<Result<_, _>>()?,
        })
    }

    /// The change file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = format!(
            "{{\n\"format\": \"{}\",\n\"version\": {VERSION},\n\"plans\": [\n",
            Self::FORMAT
        );
        for (at, plan) in self.plans.iter().enumerate() {
            text.push_str(if at > 0 { ",\n" } else { "" });
            text.push_str(plan.to_json().trim_end());
        }
        text.push_str("\n],\n\"steps\": [\n");
        for (at, step) in self.steps.iter().enumerate() {
            text.push_str(if at > 0 { ",\n" } else { "" });
            let line = serde_json::to_string(&StepEntry::of(step));
            text.push_str(&line.unwrap_or_default());
        }
        text.push_str("\n]\n}\n");
        text
    }
}

fn at_most(what: &'static str, given: usize, most: usize) -> Result<(), ChangeFileError> {
    match given > most {
        true => Err(ChangeFileError::TooMany { what, given, most }),
        false => Ok(()),
    }
}

impl StepEntry {
    fn read(self, step: usize) -> Result<Step, ChangeFileError> {
        let index = |plan: usize| {
            let index: Option<PlanIndex> = plan.checked_sub(1);
            index.ok_or(ChangeFileError::PlanZero { step })
        };
        let mut rules = BTreeMap::new();
        for Held { switches, plans } in self.rules {
            let plans: BTreeSet<PlanIndex> =
                plans.into_iter().map(index).collect::<Result<_, _>>()?;
            for switch in switches {
                if rules.contains_key(&switch) {
                    return Err(ChangeFileError::Twice { step, switch });
                }
                rules.insert(switch, plans.clone());
            }
        }
        Ok(Step {
            rules,
            hosts: self.hosts.map(index).transpose()?,
            forwarding: self.forwarding.map(index).transpose()?,
            lossy: self.lossy,
            drain: self.drain,
        })
    }

    fn of(step: &Step) -> Self {
        let mut groups: BTreeMap<&BTreeSet<PlanIndex>, Vec<String>> = BTreeMap::new();
        for (switch, plans) in &step.rules {
            groups.entry(plans).or_default().push(switch.clone());
        }
        let held = |(plans, switches): (&BTreeSet<PlanIndex>, Vec<String>)| Held {
            switches,
            plans: plans.iter().map(|plan| plan + 1).collect(),
        };
        Self {
            rules: groups.into_iter().map(held).collect(),
            hosts: step.hosts.map(|plan| plan + 1),
            forwarding: step.forwarding.map(|plan| plan + 1),
            lossy: step.lossy,
            drain: step.drain,
        }
    }
}

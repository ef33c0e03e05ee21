//! Why a plan cannot be made as it is asked for.

use thiserror::Error;

/// Why a plan cannot be made as it is asked for: the problem, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}{}", self.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default())]
pub struct PlanError {
    problem: String,
    help: Option<String>,
}

impl PlanError {
    pub(super) fn new(problem: impl std::fmt::Display) -> Self {
        Self {
            problem: problem.to_string(),
            help: None,
        }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// The problem and how to mend it, apart.
    #[must_use]
    pub fn parts(&self) -> (&str, Option<&str>) {
        (&self.problem, self.help.as_deref())
    }
}

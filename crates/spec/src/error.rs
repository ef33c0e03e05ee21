//! Why a request or a scenario is refused.

use thiserror::Error;

/// Why a request or a scenario is refused.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// Not YAML, or not this format.
    #[error("the scenario is not as it should be: {0}")]
    Syntax(String),
    /// Something in it contradicts the network or itself.
    #[error("{place}: {problem}")]
    Wrong {
        /// Which flow, event or part.
        place: String,
        /// What is wrong, and how to mend it.
        problem: String,
    },
}

impl ScenarioError {
    /// Something wrong in a place.
    #[must_use]
    pub fn wrong(place: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        Self::Wrong {
            place: place.into(),
            problem: problem.to_string(),
        }
    }
}

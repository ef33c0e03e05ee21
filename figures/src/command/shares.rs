//! What machines share out of `bench failover` and `reproduce`, and what their shares find.

use serde::{Deserialize, Serialize};

use crate::failover::Cases;

/// What is shared out: the command with all that its outcome depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Work {
    /// `reproduce`.
    Reproduce {
        paper: String,
        item: Option<String>,
        full: bool,
    },
    /// `bench failover`.
    BenchFailover {
        only: Option<String>,
        python: Option<String>,
        sets: u32,
    },
}

/// What a share has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ShareResult {
    /// `reproduce`: what its files hold, to the last digit.
    Reproduce(Vec<String>),
    /// `bench failover`.
    BenchFailover(Box<Cases>),
}

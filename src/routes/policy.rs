//! Which routes a plan promises to carry: a few words, written into plan files.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of routes, described rather than listed. All policies skip links and switches that are down
/// and visit no switch twice. See [`RouteSet`](super::RouteSet) for the routes themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum RoutePolicy {
    /// In a layered topology: up, then down; and up again after a descent at most `bounces` times.
    UpDown {
        /// The most bounces of a route (000: the k of k-bounce routes).
        bounces: u8,
    },
    /// All shortest paths (ECMP).
    Shortest,
    /// All simple paths of at most so many switches.
    AllSimple {
        /// The most switches of a route.
        max_switches: u16,
    },
}

impl fmt::Display for RoutePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpDown { bounces: 0 } => write!(f, "up-down paths"),
            Self::UpDown { bounces } => write!(f, "up-down paths with at most {bounces} bounces"),
            Self::Shortest => write!(f, "all shortest paths"),
            Self::AllSimple { max_switches } => {
                write!(f, "all simple paths of at most {max_switches} switches")
            }
        }
    }
}

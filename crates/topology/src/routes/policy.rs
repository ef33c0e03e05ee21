//! Which routes a plan promises to carry: a few words, written into plan files.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of routes, described rather than listed. All policies skip links and switches that are
/// down and visit no switch twice. See [`RouteSet`](super::RouteSet) for the routes themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RoutePolicy {
    /// In a layered topology: up, then down; and up again after a descent at most `bounces` times.
    UpDown {
        /// The most bounces of a route (Tagger17: the k of k-bounce routes).
        bounces: u8,
    },
    /// In a Flattened Clos: up, then down through the virtual layers of links (FC23 section 3.1);
    /// any other turn is a bounce, of which a route makes at most `bounces`.
    VirtualUpDown {
        /// The most bounces of a route.
        bounces: u8,
    },
    /// All shortest paths (ECMP).
    Shortest,
    /// The k shortest simple paths of each pair of switches (Yen); of equal ones, those by lower
    /// ports.
    Ksp {
        /// Paths per pair of switches.
        k: u32,
    },
    /// All simple paths of at most so many switches.
    AllSimple {
        /// The most switches of a route.
        max_switches: u16,
    },
    /// In a BCube: one path per pair of servers, which corrects the digits from the highest down.
    BcubeDigit,
    /// In a BCube: one path for each rotation of that order of digits.
    BcubeRotations,
    /// The listed routes, each as a line of a route file (see
    /// [`parse_routes`](super::parse_routes)).
    Explicit {
        /// Routes such as `h1 s1 s2 h2`.
        routes: Vec<String>,
    },
}

impl fmt::Display for RoutePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpDown { bounces: 0 } => write!(f, "up-down paths"),
            Self::UpDown { bounces: 1 } => write!(f, "up-down paths with at most 1 bounce"),
            Self::UpDown { bounces } => write!(f, "up-down paths with at most {bounces} bounces"),
            Self::VirtualUpDown { bounces } => {
                write!(f, "paths up and down through virtual layers")?;
                match bounces {
                    0 => Ok(()),
                    1 => write!(f, " with at most 1 bounce"),
                    _ => write!(f, " with at most {bounces} bounces"),
                }
            }
            Self::Shortest => write!(f, "all shortest paths"),
            Self::Ksp { k } => write!(f, "the {k} shortest paths of each pair of switches"),
            Self::AllSimple { max_switches } => {
                write!(f, "all simple paths of at most {max_switches} switches")
            }
            Self::BcubeDigit => write!(f, "BCube paths in one order of digits"),
            Self::BcubeRotations => write!(f, "BCube paths in all rotated orders of digits"),
            Self::Explicit { routes } => write!(f, "{} listed routes", routes.len()),
        }
    }
}

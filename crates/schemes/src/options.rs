//! What can be asked of the tagging schemes.

use plan::{Budget, CarrierKind, RuleForm, TagNumbers};
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use topology::Topology;
use topology::routes::RoutePolicy;

use super::single::Search;

/// How Tagger computes its tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum Algorithm {
    /// Tagger17, Algorithm 1: one more tag per hop.
    #[strum(
        message = "Algorithm 1: a tag per hop of each route; where routes are up-down, also of walks that visit a switch twice"
    )]
    BruteForce,
    /// Tagger17, Algorithm 2: the tags of Algorithm 1 merged greedily. Refused where the merged
    /// rules are multi-valued.
    #[strum(
        message = "Algorithm 2: merges brute-force tags greedily; refused where its rules conflict"
    )]
    Greedy,
    /// Single-valued by construction: works for any routes.
    #[strum(message = "The sound rule: one new tag per (tag, in port, out port) by construction")]
    SingleValued,
    /// Single-valued, with a search for fewer tags and a bound below which there are none.
    #[strum(
        message = "Single-valued, after a search for fewer tags, with a bound below which there are none"
    )]
    Optimal,
    /// Tagger17: one more tag per bounce. Optimal for layered topologies and up-down routes.
    #[strum(message = "One more tag per bounce: optimal in layered topologies")]
    Clos,
}

impl Algorithm {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A lossless class to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSpec {
    /// Unique name.
    pub name: String,
    /// How many times its packets may rise (bounce) before they turn lossy; the scheme's own number
    /// if absent. Enforced per class only where class bits are carried.
    pub bounces: Option<u8>,
}

/// Options of the tagging schemes.
#[derive(Clone, Debug)]
pub struct TaggerOptions {
    /// The algorithm; by default `clos` for layered topologies, else `single-valued`.
    pub algorithm: Option<Algorithm>,
    /// The routes that are to be lossless; by default up-down in layered topologies, else shortest.
    pub routes: Option<RoutePolicy>,
    /// How many bounces stay lossless (up-down routes).
    pub bounces: u8,
    /// The lossless classes, at least one.
    pub classes: Vec<ClassSpec>,
    /// Whether packets carry their class beside the tag.
    pub class_bits: bool,
    /// Where tags travel.
    pub carrier: CarrierKind,
    /// Codes and priorities that are chosen for tags; the others follow the convention.
    pub numbers: TagNumbers,
    /// How rules match ports.
    pub form: RuleForm,
    /// What a switch has.
    pub budget: Budget,
    /// Recorded in the plan; only the search for fewer tags draws lots.
    pub seed: u64,
    /// How long to search for fewer tags ([`Algorithm::Optimal`]).
    pub search: Search,
}

impl Default for TaggerOptions {
    fn default() -> Self {
        Self {
            algorithm: None,
            routes: None,
            bounces: 1,
            classes: vec![ClassSpec {
                name: "lossless".to_owned(),
                bounces: None,
            }],
            class_bits: false,
            carrier: CarrierKind::default(),
            numbers: TagNumbers::default(),
            form: RuleForm::PortSets,
            budget: Budget::default(),
            seed: 1,
            search: Search::default(),
        }
    }
}

impl TaggerOptions {
    /// Options for this many classes called `class0`, `class1`, ...
    #[must_use]
    pub fn with_classes(mut self, count: u8) -> Self {
        let class = |number| ClassSpec {
            name: format!("class{number}"),
            bounces: None,
        };
        self.classes = (0..count).map(class).collect();
        self
    }

    /// The algorithm that was asked for, or the one that suits the topology and the routes.
    #[must_use]
    pub fn algorithm_for(&self, topology: &Topology) -> Algorithm {
        let up_down = matches!(self.routes, None | Some(RoutePolicy::UpDown { .. }));
        let clos = up_down && topology.unlayered_switch().is_none();
        let suits = if clos {
            Algorithm::Clos
        } else {
            Algorithm::SingleValued
        };
        self.algorithm.unwrap_or(suits)
    }

    /// The routes that were asked for, or those that suit the topology.
    #[must_use]
    pub fn routes_for(&self, topology: &Topology, algorithm: Algorithm) -> RoutePolicy {
        if let Some(routes) = &self.routes {
            return routes.clone();
        }
        let layered = topology.unlayered_switch().is_none();
        if algorithm == Algorithm::Clos || layered {
            return RoutePolicy::UpDown {
                bounces: self.bounces,
            };
        }
        RoutePolicy::Shortest
    }
}

//! What can be asked of the tagging schemes.

use crate::plan::{Budget, CarrierKind, Routes, RuleForm};
use crate::routes::RoutePolicy;
use crate::topology::Topology;

/// How Tagger computes its tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// 000: one more tag per bounce. Optimal for layered topologies and up-down routes.
    Clos,
}

impl Algorithm {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clos => "clos",
        }
    }
}

/// A lossless class to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSpec {
    /// Unique name.
    pub name: String,
    /// How many times its packets may rise (bounce) before they turn lossy; the scheme's own number if
    /// absent. Enforced per class only where class bits are carried.
    pub bounces: Option<u8>,
}

/// Options of the tagging schemes.
#[derive(Clone, Debug)]
pub struct TaggerOptions {
    /// The algorithm; by default `clos` for layered topologies, else `single-valued`.
    pub algorithm: Option<Algorithm>,
    /// The routes that are to be lossless; by default up-down in layered topologies, else shortest.
    pub routes: Option<Routes>,
    /// How many bounces stay lossless (up-down routes).
    pub bounces: u8,
    /// The lossless classes, at least one.
    pub classes: Vec<ClassSpec>,
    /// Whether packets carry their class beside the tag.
    pub class_bits: bool,
    /// Where tags travel.
    pub carrier: CarrierKind,
    /// How rules match ports.
    pub form: RuleForm,
    /// What a switch has.
    pub budget: Budget,
    /// Recorded in the plan; nothing here draws lots.
    pub seed: u64,
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
            form: RuleForm::PortSets,
            budget: Budget::default(),
            seed: 1,
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

    /// The algorithm that was asked for, or the one that suits the topology.
    #[must_use]
    pub fn algorithm_for(&self, _topology: &Topology) -> Algorithm {
        self.algorithm.unwrap_or(Algorithm::Clos)
    }

    /// The routes that were asked for, or those that suit the topology.
    #[must_use]
    pub fn routes_for(&self, topology: &Topology, algorithm: Algorithm) -> Routes {
        if let Some(routes) = &self.routes {
            return routes.clone();
        }
        let layered = topology.unlayered_switch().is_none();
        if algorithm == Algorithm::Clos || layered {
            return Routes::Policy(RoutePolicy::UpDown {
                bounces: self.bounces,
            });
        }
        Routes::Policy(RoutePolicy::Shortest)
    }
}

//! The names of what a plan can choose from.

use plan::failover::Element;
use plan::{CarrierKind, RuleForm};
use schemes::Algorithm;
use schemes::failover::{
    FailoverScheme, LaneRouting, PathPolicy, TransitionKind, TreeGrowth, TreeOrder,
};

use crate::choice::Choice;

impl Choice for Algorithm {
    const ALL: &'static [Self] = &[
        Self::BruteForce,
        Self::Greedy,
        Self::SingleValued,
        Self::Optimal,
        Self::Clos,
    ];

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn about(self) -> &'static str {
        match self {
            Self::BruteForce => {
                "Algorithm 1: a tag per hop of each route; where routes are up-down, also of walks that visit a switch twice"
            }
            Self::Greedy => {
                "Algorithm 2: merges brute-force tags greedily; refused where its rules conflict"
            }
            Self::SingleValued => {
                "The sound rule: one new tag per (tag, in port, out port) by construction"
            }
            Self::Optimal => {
                "Single-valued, after a search for fewer tags, with a bound below which there are none"
            }
            Self::Clos => "One more tag per bounce: optimal in layered topologies",
        }
    }
}

impl Choice for CarrierKind {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn about(self) -> &'static str {
        match self {
            Self::Dscp => "IPv4 and IPv6 DSCP",
            Self::VlanPcp => "802.1Q priority code point",
            Self::VlanVid => "802.1Q VLAN identifier",
            Self::Shim => "Our own header after Ethernet, between switches only",
        }
    }
}

impl Choice for RuleForm {
    const ALL: &'static [Self] = &[Self::Exact, Self::PortSets];

    fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::PortSets => "port-sets",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Exact => "One ingress and one egress port per rule",
            Self::PortSets => "Sets of ports as one-hot bitmaps, matched ternary",
        }
    }
}

impl Choice for Element {
    const ALL: &'static [Self] = &[Self::Link, Self::Switch];

    fn name(self) -> &'static str {
        match self {
            Self::Link => "links",
            Self::Switch => "switches",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Link => "Links between switches",
            Self::Switch => "Switches",
        }
    }
}

impl Choice for PathPolicy {
    const ALL: &'static [Self] = &[
        Self::RandomShortest,
        Self::FirstShortest,
        Self::Common,
        Self::CommonOnly,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::RandomShortest => "random-shortest",
            Self::FirstShortest => "first-shortest",
            Self::Common => "common",
            Self::CommonOnly => "common-only",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::RandomShortest => "A random shortest path for every route",
            Self::FirstShortest => "The shortest path by the lowest ports",
            Self::Common => {
                "The most common way that avoids the failures, else one that the hosts of a switch share: for compression (Stephens15 section 4.5.3)"
            }
            Self::CommonOnly => {
                "The most common way that avoids the failures, else a random shortest path: as in Stephens15 section 4.5.3"
            }
        }
    }
}

impl Choice for TreeGrowth {
    const ALL: &'static [Self] = &[Self::Shallow, Self::Random];

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn about(self) -> &'static str {
        match self {
            Self::Shallow => "Around their destination, breadth first: few links deep",
            Self::Random => {
                "By links in random order, whatever the depth, as in Stephens15's evaluation"
            }
        }
    }
}

impl Choice for TransitionKind {
    const ALL: &'static [Self] = &[
        Self::NoRes,
        Self::NoDfr,
        Self::Line,
        Self::T,
        Self::ALayer,
        Self::MLayer,
        Self::Rand,
        Self::Max,
    ];

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn about(self) -> &'static str {
        match self {
            Self::NoRes => "Packets stay on the tree that they begin on: no failure is survived",
            Self::NoDfr => {
                "From any tree to any other: refused, for it is cyclic (see the scheme edst)"
            }
            Self::Line => {
                "From each tree to the next, beginning on the first: survives one failure less than there are trees"
            }
            Self::T => {
                "From all initial trees to the head of a line of the others: survives as many failures as those are"
            }
            Self::ALayer => "Layers, each two trees narrower than the one before",
            Self::MLayer => "Layers, each half as wide as the one before",
            Self::Rand => "As t; among initial trees a random acyclic graph",
            Self::Max => "As t; from every initial tree to all later ones",
        }
    }
}

impl Choice for TreeOrder {
    const ALL: &'static [Self] = &[Self::Resilience, Self::Performance];

    fn name(self) -> &'static str {
        match self {
            Self::Resilience => "res",
            Self::Performance => "perf",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Resilience => "Those first from which most others can be reached",
            Self::Performance => "The shortest from the switch first",
        }
    }
}

/// How packets of failover schemes are kept lossless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lossless {
    /// The tag rises where keeping it could close a cycle of buffers (Tagger17).
    Rising,
}

impl Choice for Lossless {
    const ALL: &'static [Self] = &[Self::Rising];

    fn name(self) -> &'static str {
        match self {
            Self::Rising => "rising",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Rising => {
                "The tag rises where keeping it could close a cycle of buffers (Tagger17), over all ways under all failures"
            }
        }
    }
}

/// A failover scheme that can stand beside another, for important destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportantScheme(pub FailoverScheme);

impl Choice for ImportantScheme {
    /// All but those whose channels are planned for all destinations together.
    const ALL: &'static [Self] = &[
        Self(FailoverScheme::Plinko),
        Self(FailoverScheme::Fcp),
        Self(FailoverScheme::MplsFrr),
        Self(FailoverScheme::Edst),
        Self(FailoverScheme::Adst),
    ];

    fn name(self) -> &'static str {
        self.0.name()
    }

    fn about(self) -> &'static str {
        super::SchemeKind::Failover(self.0).about()
    }
}

/// Routes that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteName {
    /// All shortest paths.
    Shortest,
    /// The k shortest paths of each pair of switches.
    Ksp,
    /// Up, then down; a limit of bounces stands beside it.
    UpDown,
    /// All simple paths; the most switches of a path stand beside it.
    All,
    /// BCube's path that corrects digits from the highest down.
    Bcube,
    /// One BCube path for each rotation of that order.
    BcubeRotations,
    /// One way for every pair, in virtual lanes.
    Lanes(LaneRouting),
}

impl Choice for RouteName {
    const ALL: &'static [Self] = &[
        Self::Shortest,
        Self::Ksp,
        Self::UpDown,
        Self::All,
        Self::Bcube,
        Self::BcubeRotations,
        Self::Lanes(LaneRouting::UpDownAny),
        Self::Lanes(LaneRouting::Lash),
        Self::Lanes(LaneRouting::Dfsssp),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Shortest => "shortest",
            Self::Ksp => "ksp",
            Self::UpDown => "up-down",
            Self::All => "all",
            Self::Bcube => "bcube",
            Self::BcubeRotations => "bcube-rotations",
            Self::Lanes(routing) => routing.name(),
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Shortest => "All shortest paths",
            Self::Ksp => "The k shortest paths of each pair of switches",
            Self::UpDown => "Up, then down, through the layers of the topology",
            Self::All => "All simple paths with at most --max-switches switches",
            Self::Bcube => "One path per pair of servers of a BCube",
            Self::BcubeRotations => "One path per rotation of the digits of a BCube",
            Self::Lanes(_) => "One way for every pair of switches in virtual lanes",
        }
    }
}

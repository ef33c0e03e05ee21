//! The names of what a plan can choose from.

use plan::failover::Element;
use plan::{CarrierKind, RuleForm};
use schemes::Algorithm;
use schemes::failover::{
    FailoverScheme, LaneRouting, PathPolicy, TransitionKind, TreeGrowth, TreeOrder,
};
use strum::{EnumMessage, IntoStaticStr, VariantArray};

use crate::choice::{Choice, listed};

listed!(Algorithm, CarrierKind, RuleForm, Element, PathPolicy);
listed!(TreeGrowth, TransitionKind, TreeOrder, Lossless);

/// How packets of failover schemes are kept lossless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum Lossless {
    /// The tag rises where keeping it could close a cycle of buffers (Tagger17).
    #[strum(
        message = "The tag rises where keeping it could close a cycle of buffers (Tagger17), over all ways under all failures"
    )]
    Rising,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
pub enum RouteName {
    /// All shortest paths.
    #[strum(message = "All shortest paths")]
    Shortest,
    /// The k shortest paths of each pair of switches.
    #[strum(message = "The k shortest paths of each pair of switches")]
    Ksp,
    /// Up, then down; a limit of bounces stands beside it.
    #[strum(message = "Up, then down, through the layers of the topology")]
    UpDown,
    /// All simple paths; the most switches of a path stand beside it.
    #[strum(message = "All simple paths with at most --max-switches switches")]
    All,
    /// BCube's path that corrects digits from the highest down.
    #[strum(message = "One path per pair of servers of a BCube")]
    Bcube,
    /// One BCube path for each rotation of that order.
    #[strum(message = "One path per rotation of the digits of a BCube")]
    BcubeRotations,
    /// One way for every pair, in virtual lanes.
    #[strum(message = "One way for every pair of switches in virtual lanes")]
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
            Self::Lanes(routing) => routing.name(),
            named => named.into(),
        }
    }

    fn about(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}

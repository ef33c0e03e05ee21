//! The `failover` family: local fast failover (Stephens15 section 4.6).

mod entries;
mod names;
mod program;
mod steps;
mod summary;
mod tables;

use plan::failover::{Failover, LabelKind, MAX_HOPS, Output, SwitchTable, Target};
use plan::{CheckedPlan, RuleForm};
use serde::Serialize;
use topology::SwitchId;

use super::tagger::entries::channel;
use super::{EntrySource, Family, Summary, TaggerFeatures, summary as summaries};
use crate::capabilities::{Architecture, Capabilities, Demand, Ingress, Pipeline, Resource};
use crate::entries::{EntriesError, SwitchEntries};
use crate::layout::{Layout, SHIM_BYTES, STATUS_WORD_BITS, table};

pub use summary::FailoverReport;

/// Switches that a packet may cross in a failover fabric.
pub const MOST_SWITCHES: u8 = 255;
/// The number of hops of a reverse route that says that the packet keeps none, in programs where
/// some packets do and others do not.
pub const NO_REVERSE: u8 = 255;
/// The input port that stands for "from a host".
pub const NO_PORT: u16 = 511;
/// Width of a destination's code in the header, in bits.
const DESTINATION_BITS: u16 = 16;
/// Rules per switch that every program has room for.
const FEWEST_RULES: u32 = 16_384;
/// How to need fewer failover rules.
const RULES_MEND: &str =
    "plan with --compress, --multipath or less resilience, which takes fewer rules";

/// What the header says of failures, as far as programs differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderState {
    /// The way that the packet has come: Plinko.
    ReverseRoute,
    /// A number: FCP and MPLS-FRR.
    Tag,
    /// Failed trees, one bit each, and the tree that the packet is on: EDST and ADST.
    Trees,
    /// By destination either the way that the packet has come, or a number and a tree: Plinko
    /// beside one of the others.
    WayOrTrees,
}

impl HeaderState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ReverseRoute, Self::Tag, Self::Trees, Self::WayOrTrees];

    /// What holds what either says.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::Tag | Self::Trees, Self::Tag | Self::Trees) => Self::Trees,
            _ => Self::WayOrTrees,
        }
    }

    /// Whether the header keeps the way that packets, or some of them, have come.
    #[must_use]
    pub const fn keeps_reverse(self) -> bool {
        matches!(self, Self::ReverseRoute | Self::WayOrTrees)
    }

    /// Whether rules ask for a number in the header, and change it.
    #[must_use]
    pub const fn has_number(self) -> bool {
        !matches!(self, Self::ReverseRoute)
    }

    /// Whether rules ask for the tree that a packet is on, and change it.
    #[must_use]
    pub const fn has_tree(self) -> bool {
        matches!(self, Self::Trees | Self::WayOrTrees)
    }

    /// Whether each packet says whether it keeps the way that it has come.
    #[must_use]
    pub const fn is_mixed(self) -> bool {
        matches!(self, Self::WayOrTrees)
    }
}

impl From<LabelKind> for HeaderState {
    fn from(label: LabelKind) -> Self {
        match label {
            LabelKind::ReverseRoute => Self::ReverseRoute,
            LabelKind::FailureSet | LabelKind::RouteId => Self::Tag,
            LabelKind::FailedTrees => Self::Trees,
        }
    }
}

/// What a `failover` program depends on. Two plans with equal features have the same program, and
/// one can follow the other on running switches without a packet lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FailoverFeatures {
    /// What the header says of failures.
    pub state: HeaderState,
    /// Whether rules put out whole routes.
    pub source_routes: bool,
    /// The most hops of a route in the header, 1 to 32.
    pub stack: u8,
    /// Width of the port status: bit `p` stands for port `p`.
    pub port_bits: u16,
    /// Whether flows choose among several routings to a switch.
    pub multipath: bool,
    /// How packets are tagged, if they are lossless. The tag is in the header, which is their
    /// carrier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<TaggerFeatures>,
    /// Whether rules for packets from hosts give them a lossless tag that they keep: a channel.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub channels: bool,
    /// Room for rules: twice as many as the fullest switch has, for two versions, rounded up to a
    /// power of two.
    pub rules: u32,
}

impl FailoverFeatures {
    /// The features that a plan uses; `None` if it has no failover tables.
    #[must_use]
    pub fn of(plan: &CheckedPlan) -> Option<Self> {
        let failover = plan.tables().failover.as_ref()?;
        let most = failover.tables.iter().map(SwitchTable::len).max();
        let room = u32::try_from(most.unwrap_or(0)).unwrap_or(u32::MAX / 4);
        let widest = u16::try_from(u128::BITS).unwrap_or(u16::MAX);
        let states = failover.labels().into_iter().map(HeaderState::from);
        Some(Self {
            state: states
                .reduce(HeaderState::or)
                .unwrap_or_else(|| failover.label.into()),
            source_routes: failover.output == Output::SourceRoutes,
            stack: failover.stack.clamp(1, MAX_HOPS as u8),
            port_bits: plan.tables().port_bitmap_bits().min(widest),
            multipath: has_ways(failover),
            tags: plan.tables().has_tags().then(|| TaggerFeatures::of(plan)),
            channels: gives_channels(failover),
            rules: room.saturating_mul(2).next_power_of_two().max(FEWEST_RULES),
        })
    }

    /// Whether the header keeps the way that packets have come.
    #[must_use]
    pub fn keeps_reverse(&self) -> bool {
        self.state.keeps_reverse()
    }

    /// Whether the header has routes at all.
    #[must_use]
    pub fn has_routes(&self) -> bool {
        self.source_routes || self.keeps_reverse()
    }

    /// The most hops that a rule leaves for the switches after its own.
    #[must_use]
    pub const fn most_rest(&self) -> u8 {
        if self.source_routes { self.stack } else { 0 }
    }

    /// Width of a channel's code, if packets have channels.
    fn channel_bits(&self) -> Option<u16> {
        let tags = self.tags.as_ref().filter(|_| self.channels)?;
        Some(tags.code_bits())
    }

    /// Registers that the port status takes on Tofino.
    #[must_use]
    pub fn status_words(&self) -> usize {
        self.port_bits.div_ceil(STATUS_WORD_BITS).clamp(1, 2).into()
    }
}

/// What of a program's name says how packets are tagged.
fn tags_name(tags: &TaggerFeatures) -> String {
    let form = match tags.form {
        RuleForm::Exact => "exact",
        RuleForm::PortSets => "sets",
    };
    match tags.class_bits() {
        0 => format!("-lossless-{form}"),
        bits => format!("-lossless-{form}-class{bits}"),
    }
}

/// Whether rules give packets from hosts a channel.
fn gives_channels(failover: &Failover) -> bool {
    let mut actions = failover.tables.iter().flat_map(SwitchTable::actions);
    actions.any(|action| channel(action).is_some())
}

/// Whether a switch is the destination of several routings.
fn has_ways(failover: &Failover) -> bool {
    failover
        .destinations
        .iter()
        .any(|destination| matches!(destination.target, Target::Switch { path, .. } if path > 0))
}

impl Family for FailoverFeatures {
    fn name(&self) -> &'static str {
        "failover"
    }

    // Such as `failover-plinko-routes16-ports9`.
    fn program_name(&self) -> String {
        let state = match self.state {
            HeaderState::ReverseRoute => "plinko",
            HeaderState::Tag => "tag",
            HeaderState::Trees => "trees",
            HeaderState::WayOrTrees => "mixed",
        };
        let output = if self.source_routes { "routes" } else { "hops" };
        let stack = if self.has_routes() {
            self.stack.to_string()
        } else {
            String::new()
        };
        let multipath = if self.multipath { "-multipath" } else { "" };
        let rules = match self.rules {
            FEWEST_RULES => String::new(),
            rules => format!("-rules{rules}"),
        };
        let tags = self.tags.as_ref().map_or_else(String::new, tags_name);
        let channels = if self.channels { "-channels" } else { "" };
        format!(
            "failover-{state}-{output}{stack}-ports{}{multipath}{tags}{channels}{rules}",
            self.port_bits
        )
    }

    fn carrier_bytes(&self) -> u16 {
        let stacks = u16::from(self.source_routes) + u16::from(self.keeps_reverse());
        SHIM_BYTES + stacks * u16::from(self.stack)
    }

    fn routes(&self) -> bool {
        false
    }

    fn demands(&self, plan: &CheckedPlan) -> Vec<Demand> {
        let mut demands = vec![Demand {
            resource: Resource::StatusBits,
            need: plan.tables().port_bitmap_bits().into(),
            mend: "number the ports of every switch from 1, or split the switch",
        }];
        if self.has_routes() {
            demands.push(Demand {
                resource: Resource::RouteHops,
                need: self.stack.into(),
                mend: "plan with a smaller --stack",
            });
        }
        demands
    }

    fn layout(&self, architecture: Architecture) -> Layout {
        tables::layout(self, architecture)
    }

    fn render(&self, target: &Capabilities, layout: &Layout) -> Result<String, askama::Error> {
        program::render(self, target, layout)
    }

    fn entries(
        &self,
        source: &EntrySource<'_>,
        switch: SwitchId,
    ) -> Result<SwitchEntries, EntriesError> {
        entries::generate(self, source, switch)
    }

    fn mend(&self, table: &str) -> &'static str {
        match table {
            table::RES_FORWARD => RULES_MEND,
            _ => super::SPLIT_MEND,
        }
    }

    fn ingress(&self, layout: &Layout, pipeline: &Pipeline) -> Ingress {
        steps::ingress(self, layout, pipeline)
    }

    fn summary(&self, source: &summaries::Source<'_>) -> Summary {
        summary::summary(source)
    }
}

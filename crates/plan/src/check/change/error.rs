//! Why a change is refused.

use std::fmt;

use quantities::{Bytes, PortId, Priority};
use thiserror::Error;

use super::model::PlanIndex;
use crate::carrier::TagCode;
use crate::check::error::{Fault, LostRoute, PlanError, PortName};

/// An ingress buffer of a change: packets that came in by a port, counted under a priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingBuffer {
    /// The ingress port.
    pub port: PortName,
    /// The priority.
    pub priority: Priority,
}

impl fmt::Display for WaitingBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} prio {}", self.port, self.priority)
    }
}

/// A buffer of a cycle, and the plan by whose rules its packets wait for the next buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The buffer.
    pub from: WaitingBuffer,
    /// The plan.
    pub plan: PlanIndex,
}

/// A cycle of buffers that wait for each other by rules of several plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixedCycle {
    /// The buffers in order, the last of which waits for the first.
    pub edges: Vec<Dependency>,
}

impl fmt::Display for MixedCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for edge in &self.edges {
            write!(f, "{} -(plan {})-> ", edge.from, edge.plan + 1)?;
        }
        match self.edges.first() {
            Some(first) => write!(f, "{}", first.from.port),
            None => Ok(()),
        }
    }
}

/// What is wrong with a change. Plans are counted from 1 in messages.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// There is no plan.
    #[error("the change has no plan; give the old one and the new one in `plans`")]
    NoPlans,
    /// A plan is not sound by itself.
    #[error("plan {}: {error}", .plan + 1)]
    Plan {
        /// The plan.
        plan: PlanIndex,
        /// What is wrong with it.
        error: PlanError,
    },
    /// Two plans, one after the other, of networks without a common switch.
    #[error(
        "plan {} is for the network `{before}` and plan {} for `{after}`, and no switch has the same name in both; give plans of the same network before and after it changes",
        .plan, .plan + 1
    )]
    NothingInCommon {
        /// The later plan.
        plan: PlanIndex,
        /// The network of the earlier plan.
        before: String,
        /// The network of the later plan.
        after: String,
    },
    /// A node is a switch in one plan and a host in another.
    #[error("`{node}` is a switch in one plan and a host in another; rename one of them")]
    OtherKind {
        /// The node.
        node: String,
    },
    /// A port number stands for another port of the switch.
    #[error(
        "port {port} of switch `{switch}` is `{before}` in one plan and `{after}` in the next; give ports the same numbers in both topologies"
    )]
    Renumbered {
        /// The switch.
        switch: String,
        /// The number.
        port: PortId,
        /// The name of the port in the earlier plan.
        before: String,
        /// The name of the port in the later plan.
        after: String,
    },
    /// One plan has failover tables and the other has none.
    #[error(
        "plan {} and the one before it need different programs, because only one of them has failover tables; a switch runs one program at a time, so drain it and push the new build",
        .plan + 1
    )]
    Program {
        /// The later plan.
        plan: PlanIndex,
    },
    /// Tags travel in another header field.
    #[error(
        "plan 1 carries tags in `{before}` and plan {} in `{after}`; a switch reads one field: make the new plan with `--carrier {before}`",
        .plan + 1
    )]
    Carrier {
        /// The later plan.
        plan: PlanIndex,
        /// The field of the first plan.
        before: &'static str,
        /// The field of the later plan.
        after: &'static str,
    },
    /// A code means lossy in one plan and a lossless tag in another.
    #[error(
        "lossy packets leave with code {} by plan {}, but plan {} reads it as a lossless tag; give the tag another code",
        .code.get(), .lossy + 1, .reader + 1
    )]
    LossyCode {
        /// The plan whose lossy code it is.
        lossy: PlanIndex,
        /// The code.
        code: TagCode,
        /// The plan that reads a tag.
        reader: PlanIndex,
    },
    /// More codes than the proof can tell apart.
    #[error(
        "the plans have more than {most} codes together, which is the limit of the proof; use fewer tags or classes"
    )]
    TooManyCodes {
        /// The limit.
        most: usize,
    },
    /// A priority that the proof cannot tell apart.
    #[error(
        "plan {} has priority {priority}; the proof of a change reads priorities up to {most}",
        .plan + 1
    )]
    PriorityRange {
        /// The plan.
        plan: PlanIndex,
        /// The priority.
        priority: Priority,
        /// The limit.
        most: u8,
    },
    /// The carrier has too few codes that no other plan reads.
    #[error(
        "the carrier `{carrier}` has too few free codes for {needed} tags beside those of the other plan; use fewer tags, or a carrier with more codes"
    )]
    TooFewCodes {
        /// The carrier.
        carrier: &'static str,
        /// How many tags need a code.
        needed: usize,
    },
    /// A step names a switch that no plan has.
    #[error("step {step} names switch `{switch}`, which no plan has; correct the name")]
    UnknownSwitch {
        /// The step, counted from 1.
        step: usize,
        /// The name.
        switch: String,
    },
    /// A step names a plan that does not exist.
    #[error("step {step} names plan {}, but there are only {plans}; plans are counted from 1", .plan + 1)]
    UnknownPlan {
        /// The step, counted from 1.
        step: usize,
        /// The plan.
        plan: PlanIndex,
        /// How many there are.
        plans: usize,
    },
    /// A switch is to have rules of two plans that read the same code.
    #[error(
        "after step {step} switch `{switch}` has the rules of plans {} and {}, which both read code {}; only plans with different codes can stand side by side",
        .first + 1, .second + 1, .code.get()
    )]
    SharedCode {
        /// The step, counted from 1.
        step: usize,
        /// The switch.
        switch: String,
        /// One plan.
        first: PlanIndex,
        /// The other.
        second: PlanIndex,
        /// The code.
        code: TagCode,
    },
    /// The change does not end with its last plan.
    #[error("after the last step {what}; add a step that leads to plan {}", .last + 1)]
    Unfinished {
        /// What is not as in the last plan.
        what: String,
        /// The last plan.
        last: PlanIndex,
    },
    /// Buffers may wait for each other in a cycle while switches change.
    #[error("in step {step} switches with rules of different plans can deadlock: {cycle}")]
    Cycle {
        /// The first step in which it can, counted from 1.
        step: usize,
        /// The cycle.
        cycle: MixedCycle,
    },
    /// Packets are counted under another priority than that in which they were sent.
    #[error(
        "packets with code {} come to {port} in priority {sent}, but plan {} counts them under priority {counted}, whose pause does not stop them; give a code the same priority in all plans",
        .code.get(), .plan + 1
    )]
    OtherPriority {
        /// Their code.
        code: TagCode,
        /// Where they come in.
        port: PortName,
        /// The priority in which they were sent.
        sent: Priority,
        /// The priority under which they are counted.
        counted: Priority,
        /// The plan that counts them so.
        plan: PlanIndex,
    },
    /// A promised route turns lossy.
    #[error(
        "in step {step} packets with the initial tag of plan {}, on routes of plan {}, are not lossless: {lost}",
        .sent + 1, .routes + 1
    )]
    Lost {
        /// The step, counted from 1.
        step: usize,
        /// The plan with whose initial tag they are sent.
        sent: PlanIndex,
        /// The plan that promises the route.
        routes: PlanIndex,
        /// The route.
        lost: LostRoute,
    },
    /// Packets of a failover plan come to a switch that may not have its tables.
    #[error(
        "in step {step} packets of plan {} can come to switch `{switch}`, which may not have its failover tables then; install them before, and remove them after a drain",
        .plan + 1
    )]
    Missing {
        /// The step, counted from 1.
        step: usize,
        /// The plan of the packets.
        plan: PlanIndex,
        /// The switch.
        switch: String,
    },
    /// More lossless priorities at once than a switch has.
    #[error(
        "in step {step} switch `{switch}` needs {needed} lossless priorities at once, but has {available}"
    )]
    Priorities {
        /// The step, counted from 1.
        step: usize,
        /// The switch.
        switch: String,
        /// How many it needs.
        needed: usize,
        /// How many it has.
        available: u8,
    },
    /// The headroom of all priorities that are in use at once does not fit the buffer.
    #[error(
        "in step {step} switch `{switch}` needs {needed} of headroom for {priorities} lossless priorities at once, but its buffer has {available}"
    )]
    Buffer {
        /// The step, counted from 1.
        step: usize,
        /// The switch.
        switch: String,
        /// How many priorities are in use.
        priorities: usize,
        /// The headroom of all of them.
        needed: Bytes,
        /// The buffer.
        available: Bytes,
    },
    /// The rules that a switch has at once do not fit its TCAM.
    #[error(
        "in step {step} switch `{switch}` has {rules} rules at once, which take {needed} bits of TCAM, but it has {available}"
    )]
    Tcam {
        /// The step, counted from 1.
        step: usize,
        /// The switch.
        switch: String,
        /// The rules.
        rules: u64,
        /// The bits that they take.
        needed: u64,
        /// The bits that it has.
        available: u64,
    },
}

impl ChangeError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Plan { error, .. } => error.fault(),
            Self::NoPlans
            | Self::NothingInCommon { .. }
            | Self::OtherKind { .. }
            | Self::Renumbered { .. }
            | Self::Carrier { .. }
            | Self::LossyCode { .. }
            | Self::TooManyCodes { .. }
            | Self::PriorityRange { .. }
            | Self::UnknownSwitch { .. }
            | Self::UnknownPlan { .. }
            | Self::SharedCode { .. }
            | Self::Unfinished { .. } => Fault::Input,
            Self::Cycle { .. }
            | Self::OtherPriority { .. }
            | Self::Lost { .. }
            | Self::Missing { .. } => Fault::Proof,
            Self::Program { .. }
            | Self::TooFewCodes { .. }
            | Self::Priorities { .. }
            | Self::Buffer { .. }
            | Self::Tcam { .. } => Fault::Target,
        }
    }
}

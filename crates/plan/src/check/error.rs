//! Why a plan is refused: every error names what is wrong, where, and how to mend it.

use std::fmt;

use quantities::{Bytes, PortId, Priority};
use thiserror::Error;
use topology::port_text;
use topology::routes::RouteError;

use super::failures::{FailureReport, LostPacket};
use crate::tag::{NewTag, Tag};

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The plan is malformed: it contradicts itself or its topology (exit status 2).
    Input,
    /// The plan is well-formed, but what it claims is not so (exit status 1).
    Proof,
    /// The plan needs more than the switches have (exit status 3).
    Target,
}

/// A port of a switch, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortName {
    /// The switch.
    pub switch: String,
    /// The port.
    pub port: PortId,
    /// The name that the switch gives the port, where the topology has it.
    pub interface: Option<String>,
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = port_text(self.interface.as_deref(), self.port);
        write!(f, "{}:{port}", self.switch)
    }
}

/// A lossless ingress buffer: packets that came in by a port with a tag, accounted to its priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The ingress port.
    pub port: PortName,
    /// The tag.
    pub tag: Tag,
    /// The priority.
    pub priority: Priority,
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tag {} prio {}", self.port, self.tag, self.priority)
    }
}

/// A cyclic buffer dependency: each buffer can drain only if the next one does, and the last only
/// if the first does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The buffers, each waiting for the next.
    pub buffers: Vec<Buffer>,
    /// With failover tables, which packet under which failures makes each buffer wait for the next;
    /// else empty.
    pub causes: Vec<String>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for buffer in &self.buffers {
            write!(f, "{buffer} -> ")?;
        }
        if let Some(first) = self.buffers.first() {
            write!(f, "{}", first.port)?;
        }
        let after = self.buffers.iter().cycle().skip(1);
        for ((from, to), cause) in self.buffers.iter().zip(after).zip(&self.causes) {
            write!(f, "; {} waits for {} by {cause}", from.port, to.port)?;
        }
        Ok(())
    }
}

/// A promised route that turns lossy, with the tags along the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRoute {
    /// The class.
    pub class: String,
    /// The names of the nodes, from the source host on, as far as the route was followed or is
    /// known.
    pub nodes: Vec<String>,
    /// The tag with which each switch is entered, up to the one where the route turns lossy.
    pub tags: Vec<Tag>,
    /// The switch where it turns lossy.
    pub switch: String,
    /// The port by which it comes in there.
    pub in_port: PortId,
    /// The port by which it leaves.
    pub out_port: PortId,
}

impl fmt::Display for LostRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tag = self.tags.last().copied().unwrap_or(Tag::new(0));
        write!(
            f,
            "route {} of class `{}` turns lossy at `{}`: no rule keeps tag {tag} from port {} to port {}",
            self.nodes.join(" > "),
            self.class,
            self.switch,
            self.in_port,
            self.out_port
        )?;
        let tags: Vec<String> = self.tags.iter().map(Tag::to_string).collect();
        write!(f, " (tags on the way: {})", tags.join(", "))
    }
}

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Rules are given for another number of switches.
    #[error(
        "rules are given for {given} switches, but the topology has {switches}; give one list per switch"
    )]
    RuleLists {
        /// Lists of rules.
        given: usize,
        /// Switches.
        switches: usize,
    },
    /// There is no class.
    #[error("the plan has no lossless class; name at least one with its initial tag")]
    NoClass,
    /// Two classes share a name.
    #[error("two classes are called `{0}`; rename one")]
    DuplicateClass(String),
    /// A tag that has no priority.
    #[error("{place} uses tag {tag}, which has no priority; add it to `tags`")]
    UnknownTag {
        /// Where.
        place: String,
        /// The tag.
        tag: Tag,
    },
    /// A class that does not exist.
    #[error("{place} names class {class}, but there are only {classes} classes, counted from 0")]
    UnknownClass {
        /// Where.
        place: String,
        /// The class.
        class: u8,
        /// How many there are.
        classes: usize,
    },
    /// A class is told apart, but packets do not carry it.
    #[error("{place} tells classes apart, but packets carry no class bits; set `class_bits`")]
    NoClassBits {
        /// Where.
        place: String,
    },
    /// A rule without ports never matches.
    #[error("{place} has an empty set of ports; remove the rule")]
    EmptyPorts {
        /// Where.
        place: String,
    },
    /// A rule names a port that the switch does not have.
    #[error("{place} names port {port}, but `{switch}` has ports 1 to {ports}")]
    NoSuchPort {
        /// Where.
        place: String,
        /// The switch.
        switch: String,
        /// The port.
        port: PortId,
        /// The highest port.
        ports: u16,
    },
    /// A rule of an exact-port plan names more than one port.
    #[error(
        "{place} matches a set of ports, but the plan says that its rules are exact; set `form` to `port-sets`"
    )]
    NotExact {
        /// Where.
        place: String,
    },
    /// A tag has no code in the carrier.
    #[error("tag {tag} has no code in the carrier; add it to `codes`")]
    NoCode {
        /// The tag.
        tag: Tag,
    },
    /// A code does not fit the header field.
    #[error(
        "{what} has code {code}, but {carrier} carries at most {most}; choose smaller codes or another carrier"
    )]
    CodeRange {
        /// The tag or class.
        what: String,
        /// The code.
        code: u32,
        /// The carrier.
        carrier: &'static str,
        /// The greatest code.
        most: u16,
    },
    /// Two meanings share a code.
    #[error("{first} and {second} share code {code} in the carrier; give one of them another code")]
    SharedCode {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// The code.
        code: u16,
    },
    /// The policy does not suit the topology.
    #[error("the routes of this plan: {0}")]
    Routes(#[from] RouteError),

    /// Two rules match the same packet and disagree.
    #[error(
        "switch `{switch}`: tag {tag} from port {in_port} to port {out_port} becomes {first} by one rule and {second} by \
         another of the same precedence {precedence}; a table holds one answer: change a rule or its precedence"
    )]
    Conflict {
        /// The switch.
        switch: String,
        /// The tag of the key.
        tag: Tag,
        /// The ingress port of the key.
        in_port: PortId,
        /// The egress port of the key.
        out_port: PortId,
        /// One answer.
        first: NewTag,
        /// The other.
        second: NewTag,
        /// The precedence of both rules.
        precedence: u8,
    },
    /// A tag has the lossy priority.
    #[error("tag {tag} has priority 0, which is the lossy one; give it a priority from 1 to 7")]
    LossyPriority {
        /// The tag.
        tag: Tag,
    },
    /// Two tags share a priority.
    #[error(
        "tags {first} and {second} share priority {priority}, so what is shown for each tag says nothing about the \
         queues; give every tag a priority of its own"
    )]
    SharedPriority {
        /// One tag.
        first: Tag,
        /// The other.
        second: Tag,
        /// The priority.
        priority: Priority,
    },
    /// A tag falls.
    #[error(
        "switch `{switch}`: tag {tag} from port {in_port} to port {out_port} falls to {new_tag}; tags must never fall"
    )]
    TagFalls {
        /// The switch.
        switch: String,
        /// The tag before.
        tag: Tag,
        /// The ingress port.
        in_port: PortId,
        /// The egress port.
        out_port: PortId,
        /// The tag after.
        new_tag: Tag,
    },
    /// A cyclic buffer dependency.
    #[error("cyclic buffer dependency: {0}")]
    Cycle(Cycle),
    /// A packet of a class can get past the class's limit.
    #[error(
        "class `{class}` is limited to tag {limit}, but `{switch}` sends its packets on with tag {tag} from port \
         {in_port} to port {out_port}"
    )]
    LimitPassed {
        /// The class.
        class: String,
        /// Its limit.
        limit: Tag,
        /// The switch.
        switch: String,
        /// The tag that passes it.
        tag: Tag,
        /// The ingress port.
        in_port: PortId,
        /// The egress port.
        out_port: PortId,
    },
    /// A promised route turns lossy.
    #[error("{0}")]
    RouteLost(LostRoute),

    /// Packets circulate.
    #[error("packets to `{host}` circulate: {}", .switches.join(" > "))]
    Loop {
        /// The destination.
        host: String,
        /// The switches of the loop.
        switches: Vec<String>,
    },
    /// Packets are dropped although there is a way.
    #[error("packets to `{host}` are dropped at `{switch}`, although there is a way")]
    BlackHole {
        /// The destination.
        host: String,
        /// Where.
        switch: String,
    },

    /// The failover tables contradict themselves or the topology.
    #[error("{place}: {reason}")]
    Failover {
        /// Where.
        place: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// A packet is lost under failures although there is a way, or circulates.
    #[error("{0}")]
    PacketLost(Box<LostPacket>),

    /// A packet arrives under failures, but turns lossy.
    #[error("{0}")]
    PacketLossy(Box<LostPacket>),

    /// More tags than priorities.
    #[error(
        "the plan needs {needed} lossless priorities, but the switches have {available}; promise fewer routes, \
         bounces or failures, merge classes, or choose an algorithm that needs fewer tags"
    )]
    TooManyPriorities {
        /// Lossless priorities that the plan needs.
        needed: usize,
        /// Lossless priorities that there are.
        available: u8,
    },
    /// A priority that PFC does not have.
    #[error("tag {tag} has priority {priority}, but priorities end at 7")]
    NoSuchPriority {
        /// The tag.
        tag: Tag,
        /// The priority.
        priority: Priority,
    },
    /// A switch has more ports than the target.
    #[error("switch `{switch}` has {ports} ports, but the target has {available}")]
    TooManyPorts {
        /// The switch.
        switch: String,
        /// Its ports.
        ports: u16,
        /// The target's.
        available: u16,
    },
    /// The rules do not fit the TCAM.
    #[error(
        "switch `{switch}` needs {needed} bits of TCAM for {rules} tag rules, but has {available}; use port sets or \
         promise fewer routes"
    )]
    TcamFull {
        /// The switch.
        switch: String,
        /// Rules.
        rules: u64,
        /// Bits that they take.
        needed: u64,
        /// Bits that there are.
        available: u64,
    },
    /// The buffer is too small for the headroom.
    #[error(
        "switch `{switch}` needs {needed} bytes of PFC headroom for {priorities} lossless priorities, but its buffer has \
         {available}, enough for {affordable}; use fewer tags, shorter cables or slower links"
    )]
    BufferFull {
        /// The switch.
        switch: String,
        /// Lossless priorities of the plan.
        priorities: u64,
        /// Headroom for all of them.
        needed: Bytes,
        /// The buffer.
        available: Bytes,
        /// For how many priorities it has room.
        affordable: u64,
    },
}

impl PlanError {
    /// The first packet that the proof of failover tables found lost, and the first that turned
    /// lossy.
    pub(super) fn of_failures(found: &FailureReport) -> impl Iterator<Item = Self> + use<> {
        let lost = found.first_lost.clone().map(Box::new);
        let lossy = found.first_lossy.clone().map(Box::new);
        let lossy = lossy.map(Self::PacketLossy);
        lost.map(Self::PacketLost).into_iter().chain(lossy)
    }

    /// Whose fault it is.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Conflict { .. }
            | Self::LossyPriority { .. }
            | Self::SharedPriority { .. }
            | Self::TagFalls { .. }
            | Self::Cycle(_)
            | Self::LimitPassed { .. }
            | Self::RouteLost(_)
            | Self::Loop { .. }
            | Self::BlackHole { .. }
            | Self::PacketLost(_)
            | Self::PacketLossy(_) => Fault::Proof,
            Self::TooManyPriorities { .. }
            | Self::NoSuchPriority { .. }
            | Self::TooManyPorts { .. }
            | Self::TcamFull { .. }
            | Self::BufferFull { .. } => Fault::Target,
            _ => Fault::Input,
        }
    }
}

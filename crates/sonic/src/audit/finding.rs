//! What an audit finds.

use std::fmt;

use serde::Serialize;

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Buffers wait for each other in a circle: PAUSE can deadlock the fabric.
    CyclicBuffers,
    /// PFC is on at one end of a cable only.
    PfcOneEnd,
    /// PFC is on for other priorities at one end than at the other.
    PfcPriorities,
    /// A lossless priority group has no headroom, or too little.
    Headroom,
    /// A queue that PFC stops has no buffer, or that of lossy queues.
    QueueBuffer,
    /// A buffer pool is of the wrong side, or too small for the headroom that it has to give.
    BufferPool,
    /// Packets are lossless on one side of a cable and lossy on the other.
    ClassChanges,
    /// Lossy packets of one DSCP wait in another queue at the next switch.
    QueueChanges,
    /// A PAUSE stops another queue than the one in which the packets wait that it is for.
    PauseMisses,
    /// A port that leads somewhere has no maps.
    NoMaps,
}

impl FindingKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::CyclicBuffers,
        Self::PfcOneEnd,
        Self::PfcPriorities,
        Self::Headroom,
        Self::QueueBuffer,
        Self::BufferPool,
        Self::ClassChanges,
        Self::QueueChanges,
        Self::PauseMisses,
        Self::NoMaps,
    ];

    /// What it is, for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::CyclicBuffers => "cyclic buffer dependency",
            Self::PfcOneEnd => "PFC at one end only",
            Self::PfcPriorities => "PFC for other priorities at the other end",
            Self::Headroom => "missing headroom",
            Self::QueueBuffer => "no lossless buffer for a queue",
            Self::BufferPool => "buffer pool",
            Self::ClassChanges => "class changes on the way",
            Self::QueueChanges => "queue changes on the way",
            Self::PauseMisses => "PAUSE stops another queue",
            Self::NoMaps => "no maps",
        }
    }

    /// How to mend it.
    #[must_use]
    pub const fn mend(self) -> &'static str {
        match self {
            Self::CyclicBuffers => {
                "let the class change where packets turn: `switchwright plan` and `build --target sonic` compute such maps"
            }
            Self::PfcOneEnd | Self::PfcPriorities => {
                "give both ends the same `pfc_enable` in PORT_QOS_MAP"
            }
            Self::Headroom => {
                "give the priority group a lossless profile in BUFFER_PG whose `xoff` is large enough"
            }
            Self::QueueBuffer => {
                "give the queue a profile in BUFFER_QUEUE that lossy queues do not have, as `egress_lossless_profile`"
            }
            Self::BufferPool => {
                "let profiles of BUFFER_PG use pools of type ingress and those of BUFFER_QUEUE egress, and let pools hold what is set aside in them"
            }
            Self::ClassChanges => {
                "map the DSCP to a lossless traffic class on both switches, or on none"
            }
            Self::QueueChanges => {
                "let DSCP_TO_TC_MAP and TC_TO_QUEUE_MAP give the DSCP the same queue on both switches"
            }
            Self::PauseMisses => {
                "let TC_TO_QUEUE_MAP, MAP_PFC_PRIORITY_TO_QUEUE and the far TC_TO_PRIORITY_GROUP_MAP agree"
            }
            Self::NoMaps => "bind the port to maps in PORT_QOS_MAP",
        }
    }
}

/// A fault of a fabric's configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// Of which kind.
    pub kind: FindingKind,
    /// Where: switch and interface.
    pub place: String,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.kind.title(), self.place, self.problem)
    }
}

//! The tables of a switch's configuration database that decide about priorities, PFC and buffers,
//! as typed rows; and those that say what its ports lead to.
//!
//! Field and table names are SONiC's own (SonicYang).

use std::collections::{BTreeMap, BTreeSet};

use crate::platform::{HIGHEST_DSCP, HIGHEST_PG, HIGHEST_QUEUE, HIGHEST_TC};

/// A map between small numbers: DSCP, traffic class, priority group, queue, PFC priority.
pub type NumberMap = BTreeMap<u8, u8>;

/// The kinds of map that a port is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MapKind {
    /// Of the ingress port: the DSCP gives the traffic class.
    DscpToTc,
    /// Of the ingress port: the traffic class gives the priority group.
    TcToPriorityGroup,
    /// Of the egress port: the traffic class gives the queue.
    TcToQueue,
    /// Of the egress port: the traffic class gives the DSCP with which the packet leaves.
    TcToDscp,
    /// Of the egress port: which queue a received PFC frame pauses.
    PfcToQueue,
    /// Of the ingress port, on some platforms: which priority group asks for a pause of which PFC
    /// priority.
    PfcToPriorityGroup,
}

impl MapKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::DscpToTc,
        Self::TcToPriorityGroup,
        Self::TcToQueue,
        Self::TcToDscp,
        Self::PfcToQueue,
        Self::PfcToPriorityGroup,
    ];

    /// The table that holds maps of the kind.
    #[must_use]
    pub const fn table(self) -> &'static str {
        match self {
            Self::DscpToTc => "DSCP_TO_TC_MAP",
            Self::TcToPriorityGroup => "TC_TO_PRIORITY_GROUP_MAP",
            Self::TcToQueue => "TC_TO_QUEUE_MAP",
            Self::TcToDscp => "TC_TO_DSCP_MAP",
            Self::PfcToQueue => "MAP_PFC_PRIORITY_TO_QUEUE",
            Self::PfcToPriorityGroup => "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
        }
    }

    /// The field of `PORT_QOS_MAP` that binds a port to one.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::DscpToTc => "dscp_to_tc_map",
            Self::TcToPriorityGroup => "tc_to_pg_map",
            Self::TcToQueue => "tc_to_queue_map",
            Self::TcToDscp => "tc_to_dscp_map",
            Self::PfcToQueue => "pfc_to_queue_map",
            Self::PfcToPriorityGroup => "pfc_to_pg_map",
        }
    }

    /// What is mapped, with its highest number.
    #[must_use]
    pub const fn from(self) -> (&'static str, u8) {
        match self {
            Self::DscpToTc => ("DSCP", HIGHEST_DSCP),
            Self::TcToPriorityGroup | Self::TcToQueue | Self::TcToDscp => {
                ("traffic class", HIGHEST_TC)
            }
            Self::PfcToQueue | Self::PfcToPriorityGroup => ("PFC priority", HIGHEST_PG),
        }
    }

    /// What it is mapped to, with its highest number.
    #[must_use]
    pub const fn to(self) -> (&'static str, u8) {
        match self {
            Self::DscpToTc => ("traffic class", HIGHEST_TC),
            Self::TcToPriorityGroup | Self::PfcToPriorityGroup => ("priority group", HIGHEST_PG),
            Self::TcToQueue | Self::PfcToQueue => ("queue", HIGHEST_QUEUE),
            Self::TcToDscp => ("DSCP", HIGHEST_DSCP),
        }
    }
}

/// A row of `PORT`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortRow {
    /// Megabits per second.
    pub speed: Option<u64>,
    /// Hardware lanes.
    pub lanes: Option<String>,
    /// The name on the front panel.
    pub alias: Option<String>,
}

/// A row of `DEVICE_NEIGHBOR`: what a port leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighborRow {
    /// The device.
    pub name: String,
    /// Its port.
    pub port: Option<String>,
}

/// A row of `PORT_QOS_MAP`: what a port is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortQosRow {
    /// The maps by kind.
    pub maps: BTreeMap<MapKind, String>,
    /// The priorities with PFC, both ways.
    pub pfc_enable: BTreeSet<u8>,
    /// The priorities that the PFC watchdog looks at.
    pub watchdog: BTreeSet<u8>,
}

/// What is accounted in a buffer pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolSide {
    /// Priority groups of ingress ports.
    Ingress,
    /// Queues of egress ports.
    Egress,
    /// Both.
    Both,
}

impl PoolSide {
    /// Its name in `BUFFER_POOL`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
            Self::Both => "both",
        }
    }
}

/// A row of `BUFFER_POOL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRow {
    /// What is accounted in it.
    pub side: PoolSide,
    /// Whether thresholds in it follow what is free.
    pub dynamic: bool,
    /// Bytes.
    pub size: Option<u64>,
    /// Bytes of shared headroom.
    pub xoff: u64,
}

/// A row of `BUFFER_PROFILE`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileRow {
    /// The pool.
    pub pool: String,
    /// Bytes that are set aside: of a lossless profile `xon + xoff`.
    pub size: u64,
    /// Bytes under which the sender may go on.
    pub xon: Option<u64>,
    /// How far below the threshold the sender may go on, in bytes.
    pub xon_offset: Option<u64>,
    /// Bytes of headroom: a profile that has them is lossless.
    pub xoff: Option<u64>,
    /// The threshold as a power of two of what is free.
    pub dynamic_th: Option<i32>,
    /// The threshold in bytes.
    pub static_th: Option<u64>,
}

/// A row of `PFC_WD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogRow {
    /// `drop`, `forward` or `alert`.
    pub action: String,
    /// Milliseconds without progress that count as a storm.
    pub detection_ms: Option<u32>,
    /// Milliseconds without PFC after which the queue is restored.
    pub restoration_ms: Option<u32>,
}

/// A rule of `ACL_RULE` that sets the traffic class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclRule {
    /// Its name.
    pub name: String,
    /// Of rules that match, the highest counts.
    pub priority: u32,
    /// Ingress ports.
    pub in_ports: BTreeSet<String>,
    /// Egress ports.
    pub out_ports: BTreeSet<String>,
    /// The DSCP.
    pub dscp: u8,
    /// The traffic class that it sets.
    pub tc: u8,
}

/// The configuration of one switch, as far as it decides about lossless traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigDb {
    /// Its name.
    pub hostname: Option<String>,
    /// `PORT`.
    pub ports: BTreeMap<String, PortRow>,
    /// `DEVICE_NEIGHBOR`, by port.
    pub neighbors: BTreeMap<String, NeighborRow>,
    /// `CABLE_LENGTH`: metres by port.
    pub cable_length: BTreeMap<String, u32>,
    /// The maps by kind and name.
    pub maps: BTreeMap<MapKind, BTreeMap<String, NumberMap>>,
    /// `PORT_QOS_MAP` by port.
    pub port_qos: BTreeMap<String, PortQosRow>,
    /// The `DSCP_TO_TC_MAP` of ports that have none (row `global` of `PORT_QOS_MAP`).
    pub global_dscp_to_tc: Option<String>,
    /// `BUFFER_POOL`.
    pub pools: BTreeMap<String, PoolRow>,
    /// `BUFFER_PROFILE`.
    pub profiles: BTreeMap<String, ProfileRow>,
    /// `BUFFER_PG`: the profile by port and priority group; none where SONiC computes one (`NULL`).
    pub priority_groups: BTreeMap<(String, u8), Option<String>>,
    /// `BUFFER_QUEUE`: the profile by port and queue.
    pub queues: BTreeMap<(String, u8), String>,
    /// `PFC_WD` by port.
    pub watchdog: BTreeMap<String, WatchdogRow>,
    /// How often the watchdog looks, in milliseconds.
    pub watchdog_poll_ms: Option<u32>,
    /// The ACL rules that set traffic classes.
    pub acl: Vec<AclRule>,
    /// Whether SONiC computes buffers by its dynamic model (`buffer_model` of `DEVICE_METADATA`).
    pub dynamic_buffers: bool,
    /// What else decides about classes and is not followed, a phrase each: 802.1p priorities, maps
    /// of tunnels.
    pub unfollowed: Vec<String>,
}

impl ConfigDb {
    /// A map by kind and name.
    #[must_use]
    pub fn map(&self, kind: MapKind, name: &str) -> Option<&NumberMap> {
        self.maps.get(&kind)?.get(name)
    }

    /// The map of a kind that a port is bound to.
    #[must_use]
    pub fn map_of(&self, kind: MapKind, port: &str) -> Option<&NumberMap> {
        let bound = self
            .port_qos
            .get(port)
            .and_then(|row| row.maps.get(&kind))
            .or(match kind {
                MapKind::DscpToTc => self.global_dscp_to_tc.as_ref(),
                _ => None,
            })?;
        self.map(kind, bound)
    }

    /// Whether SONiC itself gives the priority groups of a port's PFC priorities a profile, though
    /// no row of `BUFFER_PG` says so: in its traditional model it does for ports with a speed and a
    /// cable (SonicBuffers).
    #[must_use]
    pub fn computes_headroom(&self, port: &str) -> bool {
        let speed = self.ports.get(port).and_then(|row| row.speed);
        let length = self.cable_length.get(port).copied().unwrap_or(0);
        !self.dynamic_buffers && speed.is_some() && length > 0
    }

    /// The profile of a priority group, if it is lossless and not computed by the switch.
    #[must_use]
    pub fn lossless_profile(&self, port: &str, group: u8) -> Option<&ProfileRow> {
        let name = self.priority_groups.get(&(port.to_owned(), group))?;
        let profile = self.profiles.get(name.as_ref()?)?;
        profile.xoff.is_some().then_some(profile)
    }
}

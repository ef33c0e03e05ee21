//! The layout of the generated programs' tables: the one definition of names, ids, key fields and widths
//! that the program text and the table entries share.
//!
//! `program` and `entries` do not see each other; they meet here. [`Features`] says which program a plan
//! needs, [`Layout`] what its tables look like. `p4src/layout.p4` carries the same ids and sizes for the
//! P4 side, and tests hold this file against it and against the P4Info of the rendered programs.

mod failover;
pub mod tofino;
mod tofino_failover;

use serde::Serialize;

pub use failover::{FailoverFeatures, HeaderState, MOST_SWITCHES, NO_PORT};
pub use tofino::{Architecture, Room};
pub use tofino_failover::FailoverRoom;

use plan::{CarrierKind, CheckedPlan, ClassId, RuleForm, TagCode};

/// Width of a port number, in bits (v1model and TNA).
pub const PORT_BITS: u16 = 9;
/// Width of a priority, in bits (IEEE 802.1Qbb: eight classes).
pub const PRIORITY_BITS: u16 = 3;
/// Width of an ECMP group number, in bits. Group 0 means "no group".
pub const ECMP_GROUP_BITS: u16 = 16;
/// The greatest `hash_shift` of the `ecmp` action: the flow hash has 32 bits, of which 16 are used.
pub const HASH_SHIFT_MAX: u8 = 16;
/// The most ports that a one-hot bitmap may stand for (port numbers 0 to 253). The shift that makes the
/// bitmap takes 8 bits on BMv2, and the numbers that are no port (510: CPU, 511: drop) must fall outside.
pub const BITMAP_BITS_MAX: u16 = 254;

/// Bytes of the fabric's own header, without the hops of routes.
pub const SHIM_BYTES: u16 = 14;

/// The DSCP with which a host picks a lossless class where the carrier is not the DSCP itself: class 0
/// is 1, class 1 is 2, and so on. (Where it is, hosts send the code of the class's initial tag.)
#[must_use]
pub const fn edge_dscp(class: ClassId) -> u8 {
    class.get().saturating_add(1)
}

/// Full names of the tables.
pub mod table {
    /// In port -> does it face a host, and with which address.
    pub const HOST_PORT: &str = "ingress.host_port";
    /// DSCP of a packet that a host sent without carrier -> first code. Not in `dscp` programs.
    pub const EDGE_CLASS: &str = "ingress.edge_class";
    /// IPv4 destination prefix -> next hop, ECMP group, or discard.
    pub const IPV4_ROUTE: &str = "ingress.ipv4_route";
    /// IPv6 destination prefix -> next hop, ECMP group, or discard.
    pub const IPV6_ROUTE: &str = "ingress.ipv6_route";
    /// ECMP group -> action profile group of next hops.
    pub const ECMP_GROUP: &str = "ingress.ecmp_group";
    /// Arriving tag, in port, out port -> ING_PRIO, EG_PRIO.
    pub const CLASSIFY: &str = "ingress.classify";
    /// Arriving tag, in port, out port -> new tag.
    pub const REWRITE: &str = "egress.rewrite";
    /// Out port -> is the carrier taken off. Not in `dscp` programs.
    pub const HOST_PORT_OUT: &str = "egress.host_port_out";

    /// `failover`: without key; its default action carries the port status where the switch does not.
    pub const PORT_STATUS: &str = "ingress.port_status";
    /// `failover`: in port -> from a host, with the version that it stamps, or from a switch.
    pub const ISLAND_IN: &str = "ingress.island_in";
    /// `failover`: what hosts may not send.
    pub const SECURITY: &str = "ingress.security";
    /// `failover`: IPv4 address that a host asks for -> MAC address.
    pub const NEIGHBOR: &str = "ingress.neighbor";
    /// `failover`: version, destination MAC address -> virtual destination.
    pub const ENCAP: &str = "ingress.encap";
    /// `failover` with source routes: version, next hop, port status -> follow or abandon the route.
    pub const SRC_FORWARD: &str = "ingress.src_forward";
    /// `failover`: version, virtual destination, MAC address, port status -> the host's port.
    pub const LOCAL_HOST: &str = "ingress.local_host";
    /// `failover`: the plan's rules.
    pub const RES_FORWARD: &str = "ingress.res_forward";
    /// `failover` with routes in the header: pops and pushes; its entries are part of the program.
    pub const SRC_UPDATE: &str = "ingress.src_update";
    /// `failover`: out port -> is the header taken off.
    pub const ISLAND_OUT: &str = "egress.island_out";
}

/// Full names of the actions.
pub mod action {
    /// `gateway_mac`: this port faces a host.
    pub const FACE_HOST: &str = "ingress.face_host";
    /// `code`: the class's first code (class bits and tag).
    pub const SET_INITIAL_CODE: &str = "ingress.set_initial_code";
    /// Default of `edge_class`.
    pub const SET_EDGE_LOSSY: &str = "ingress.set_edge_lossy";
    /// `port`, `src_mac`, `dst_mac`: send.
    pub const NEXT_HOP: &str = "ingress.next_hop";
    /// `group`, `hash_shift`: let the group choose.
    pub const ECMP: &str = "ingress.ecmp";
    /// Drop.
    pub const DISCARD: &str = "ingress.discard";
    /// `ing_prio`, `eg_prio`.
    pub const SET_PRIORITIES: &str = "ingress.set_priorities";
    /// Default of `classify`, and what an explicit lossy rule does.
    pub const LOSSY: &str = "ingress.lossy";
    /// `tag`: the code of the new tag, without class bits (they stay).
    pub const SET_TAG: &str = "egress.set_tag";
    /// Default of `rewrite`, and what an explicit lossy rule does.
    pub const SET_LOSSY_CODE: &str = "egress.set_lossy_code";
    /// Take the carrier off.
    pub const STRIP_CARRIER: &str = "egress.strip_carrier";
    /// Default of the tables that may miss.
    pub const NO_ACTION: &str = "NoAction";

    /// `up`: the ports that are up.
    pub const SET_PORT_STATUS: &str = "ingress.set_port_status";
    /// `version`: this port faces a host; packets get this version.
    pub const FROM_HOST: &str = "ingress.from_host";
    /// This port leads to a switch.
    pub const FROM_FABRIC: &str = "ingress.from_fabric";
    /// Drop what a host sends.
    pub const DENY: &str = "ingress.deny";
    /// `mac`: answer the ARP request.
    pub const ANSWER: &str = "ingress.answer";
    /// `destination`: put the header on.
    pub const ENCAPSULATE: &str = "ingress.encapsulate";
    /// `destination`, `ways`: put the header on; the flow chooses one of so many destinations that follow.
    pub const ENCAPSULATE_FLOW: &str = "ingress.encapsulate_flow";
    /// `port`: follow the forward route.
    pub const FOLLOW: &str = "ingress.follow";
    /// Discard the forward route.
    pub const ABANDON: &str = "ingress.abandon";
    /// `port`: hand the packet to the host.
    pub const DELIVER: &str = "ingress.deliver";
    /// Drop: the host is not here.
    pub const NO_HOST: &str = "ingress.no_host";
    /// Drop: no way is left.
    pub const NO_WAY: &str = "ingress.no_way";
    /// Take the header off.
    pub const DECAPSULATE: &str = "egress.decapsulate";
}

/// Full name of the action selector of [`table::ECMP_GROUP`].
pub const ECMP_SELECTOR: &str = "ingress.ecmp_selector";
/// Full name of the counter of packets accepted, indexed by ingress port ++ ING_PRIO.
pub const INGRESS_CLASS_COUNTER: &str = "ingress.ingress_class";
/// Full name of the counter of packets sent, indexed by egress port ++ EG_PRIO.
pub const EGRESS_CLASS_COUNTER: &str = "egress.egress_class";
/// Full name of the counter of packets dropped by ingress, indexed by [`DropReason`].
pub const DROP_COUNTER: &str = "ingress.dropped";

/// Why the program dropped a packet: the index into [`DROP_COUNTER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// A header too short or unusable.
    Malformed = 0,
    /// IPv4 header checksum.
    Checksum = 1,
    /// A PAUSE or PFC frame.
    MacControl = 2,
    /// Broadcast or multicast.
    Group = 3,
    /// Neither IPv4 nor IPv6.
    NotRoutable = 4,
    /// TTL or hop limit used up.
    Ttl = 5,
    /// No route.
    NoRoute = 6,
    /// A route that says discard.
    ByRoute = 7,
    /// A host sent the shim.
    ForeignShim = 8,
    /// A switch sent a packet without the shim.
    NoShim = 9,
    /// It came in by a port that the plan does not know.
    UnknownPort = 10,
    /// The security table says so.
    Denied = 11,
    /// It has arrived, but the host is not here or its port is down.
    NoHost = 12,
    /// A source route names a port that leads to no switch.
    NoSuchPort = 13,
    /// A rule sends it out of a port that is down.
    DeadPort = 14,
    /// Its reverse route no longer fits the header.
    TooLong = 15,
}

impl DropReason {
    /// All reasons, in the order of their index.
    pub const ALL: [Self; 16] = [
        Self::Malformed,
        Self::Checksum,
        Self::MacControl,
        Self::Group,
        Self::NotRoutable,
        Self::Ttl,
        Self::NoRoute,
        Self::ByRoute,
        Self::ForeignShim,
        Self::NoShim,
        Self::UnknownPort,
        Self::Denied,
        Self::NoHost,
        Self::NoSuchPort,
        Self::DeadPort,
        Self::TooLong,
    ];

    /// The constant of `layout.p4`.
    #[must_use]
    pub const fn p4_name(self) -> &'static str {
        match self {
            Self::Malformed => "DROP_MALFORMED",
            Self::Checksum => "DROP_CHECKSUM",
            Self::MacControl => "DROP_MAC_CONTROL",
            Self::Group => "DROP_GROUP",
            Self::NotRoutable => "DROP_NOT_ROUTABLE",
            Self::Ttl => "DROP_TTL",
            Self::NoRoute => "DROP_NO_ROUTE",
            Self::ByRoute => "DROP_BY_ROUTE",
            Self::ForeignShim => "DROP_FOREIGN_SHIM",
            Self::NoShim => "DROP_NO_SHIM",
            Self::UnknownPort => "DROP_UNKNOWN_PORT",
            Self::Denied => "DROP_DENIED",
            Self::NoHost => "DROP_NO_HOST",
            Self::NoSuchPort => "DROP_NO_SUCH_PORT",
            Self::DeadPort => "DROP_DEAD_PORT",
            Self::TooLong => "DROP_TOO_LONG",
        }
    }
}

/// What a program depends on, by its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramFeatures {
    /// Lossless tags over any routing.
    Tagger(Features),
    /// Local fast failover.
    Failover(FailoverFeatures),
}

impl ProgramFeatures {
    /// The features that a plan uses: failover tables forward instead of routes.
    #[must_use]
    pub fn of(plan: &CheckedPlan) -> Self {
        FailoverFeatures::of(plan).map_or_else(|| Self::Tagger(Features::of(plan)), Self::Failover)
    }

    /// A name that tells all programs apart.
    #[must_use]
    pub fn program_name(&self) -> String {
        match self {
            Self::Tagger(features) => features.program_name(),
            Self::Failover(features) => features.program_name(),
        }
    }

    /// The most bytes that packets grow by inside the fabric.
    #[must_use]
    pub fn carrier_bytes(&self) -> u16 {
        match self {
            Self::Tagger(features) => features.carrier_bytes(),
            Self::Failover(features) => features.carrier_bytes(),
        }
    }
}

impl From<Features> for ProgramFeatures {
    fn from(features: Features) -> Self {
        Self::Tagger(features)
    }
}

impl From<FailoverFeatures> for ProgramFeatures {
    fn from(features: FailoverFeatures) -> Self {
        Self::Failover(features)
    }
}

/// What a `tagger` program depends on. Two plans with equal features have the same program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Features {
    /// Where tags travel.
    pub carrier: CarrierKind,
    /// How many bits the tag has below the class bits, where class bits are carried.
    pub class_shift: Option<u8>,
    /// The code of lossy packets.
    pub lossy: TagCode,
    /// How rules match ports.
    pub form: RuleForm,
    /// Width of the one-hot bitmap of ports: bit `p` stands for port `p`. Without meaning in exact form.
    pub port_bits: u16,
}

impl Features {
    /// The features that a plan uses.
    #[must_use]
    pub fn of(plan: &CheckedPlan) -> Self {
        let carrier = plan.carrier();
        let form = plan.tagging().form;
        Self {
            carrier: carrier.kind,
            class_shift: carrier.class_shift,
            lossy: carrier.lossy,
            form,
            port_bits: match form {
                RuleForm::Exact => PORT_BITS,
                RuleForm::PortSets => plan.tables().port_bitmap_bits(),
            },
        }
    }

    /// Width of the carrier's field, in bits.
    #[must_use]
    pub const fn code_bits(&self) -> u16 {
        self.carrier.bits() as u16
    }

    /// Width of the tag within the code, in bits.
    #[must_use]
    pub fn tag_bits(&self) -> u16 {
        self.class_shift.map_or(self.code_bits(), |shift| {
            u16::from(shift).min(self.code_bits())
        })
    }

    /// Width of the class bits above the tag; 0 where none are carried.
    #[must_use]
    pub fn class_bits(&self) -> u16 {
        self.code_bits() - self.tag_bits()
    }

    /// Whether the program puts a carrier on at the edge (and takes it off).
    #[must_use]
    pub const fn has_edge(&self) -> bool {
        !matches!(self.carrier, CarrierKind::Dscp)
    }

    /// Bytes that the carrier adds to a packet inside the fabric.
    #[must_use]
    pub const fn carrier_bytes(&self) -> u16 {
        match self.carrier {
            CarrierKind::Dscp => 0,
            CarrierKind::VlanPcp | CarrierKind::VlanVid => 4,
            CarrierKind::Shim => SHIM_BYTES,
        }
    }

    /// A name that tells all programs apart: `tagger-dscp-sets33`, `tagger-shim-exact-class2`.
    #[must_use]
    pub fn program_name(&self) -> String {
        let ports = match self.form {
            RuleForm::Exact => "exact".to_owned(),
            RuleForm::PortSets => format!("sets{}", self.port_bits),
        };
        let class = match self.class_bits() {
            0 => String::new(),
            bits => format!("-class{bits}"),
        };
        format!("tagger-{}-{ports}{class}", self.carrier.name())
    }
}

/// How a key field is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchKind {
    /// The value.
    Exact,
    /// A prefix.
    Lpm,
    /// Value and mask.
    Ternary,
}

/// A field of a table's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeyField {
    /// Name in P4Info.
    pub name: &'static str,
    /// Id within the table.
    pub id: u32,
    /// How it is matched.
    pub kind: MatchKind,
    /// Width, in bits.
    pub bits: u16,
}

/// A parameter of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Param {
    /// Name in P4Info.
    pub name: &'static str,
    /// Id within the action.
    pub id: u32,
    /// Width, in bits.
    pub bits: u16,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    /// Full name.
    pub name: &'static str,
    /// P4Runtime id.
    pub id: u32,
    /// Parameters, in order.
    pub params: Vec<Param>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Full name.
    pub name: &'static str,
    /// P4Runtime id.
    pub id: u32,
    /// Key fields in the order of the program text; the selector's hash input is not among them.
    pub key: Vec<KeyField>,
    /// Actions that entries may have. The default action (`const`) is among them only where entries use it
    /// too.
    pub actions: Vec<&'static str>,
    /// Most entries.
    pub size: u32,
    /// The action selector, if the actions are its members.
    pub selector: Option<&'static str>,
}

impl Table {
    /// Whether entries have a priority (P4Runtime: any ternary, range or optional key field).
    #[must_use]
    pub fn has_priority(&self) -> bool {
        self.key.iter().any(|f| f.kind == MatchKind::Ternary)
    }

    /// A key field by name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&KeyField> {
        self.key.iter().find(|f| f.name == name)
    }
}

/// The tables and actions of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// What the program depends on.
    pub features: ProgramFeatures,
    /// The tables, in id order.
    pub tables: Vec<Table>,
    /// The actions, in id order.
    pub actions: Vec<Action>,
    /// Id of [`ECMP_SELECTOR`]; 0 in a program that has none.
    pub selector_id: u32,
    /// Most members of the selector, over all groups.
    pub selector_size: u32,
    /// Most members of one group.
    pub group_members: u32,
}

impl Layout {
    /// The layout of the program with these features.
    #[must_use]
    pub fn of(features: &ProgramFeatures) -> Self {
        match features {
            ProgramFeatures::Tagger(features) => Self::tagger(*features),
            ProgramFeatures::Failover(features) => Self::failover(*features),
        }
    }

    /// The layout of the `tagger` program with these features.
    #[must_use]
    pub fn tagger(features: Features) -> Self {
        let mut tables = routing_tables();
        tables.extend(tag_tables(&features));
        let mut actions = routing_actions();
        actions.extend(tag_actions(&features));
        if features.has_edge() {
            let (edge_tables, edge_actions) = edge(&features);
            tables.extend(edge_tables);
            actions.extend(edge_actions);
        }
        tables.sort_by_key(|t| t.id);
        actions.sort_by_key(|a| a.id);
        Self {
            features: ProgramFeatures::Tagger(features),
            tables,
            actions,
            selector_id: 0x1100_0001,
            selector_size: 32_768,
            group_members: 512,
        }
    }

    /// A table by its full name (constants in [`table`]).
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name == name)
    }

    /// An action by its full name (constants in [`action`]).
    #[must_use]
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|a| a.name == name)
    }
}

const fn field(id: u32, name: &'static str, kind: MatchKind, bits: u16) -> KeyField {
    KeyField {
        name,
        id,
        kind,
        bits,
    }
}

const fn param(id: u32, name: &'static str, bits: u16) -> Param {
    Param { name, id, bits }
}

fn routing_tables() -> Vec<Table> {
    let route = |name, id, bits| Table {
        name,
        id,
        key: vec![field(1, "dst_addr", MatchKind::Lpm, bits)],
        actions: vec![action::NEXT_HOP, action::ECMP, action::DISCARD],
        size: 65_536,
        selector: None,
    };
    vec![
        Table {
            name: table::HOST_PORT,
            id: 0x0200_0001,
            key: vec![field(1, "port", MatchKind::Exact, PORT_BITS)],
            actions: vec![action::FACE_HOST],
            size: 512,
            selector: None,
        },
        route(table::IPV4_ROUTE, 0x0200_0003, 32),
        route(table::IPV6_ROUTE, 0x0200_0004, 128),
        Table {
            name: table::ECMP_GROUP,
            id: 0x0200_0005,
            key: vec![field(1, "group", MatchKind::Exact, ECMP_GROUP_BITS)],
            actions: vec![action::NEXT_HOP],
            size: 4096,
            selector: Some(ECMP_SELECTOR),
        },
    ]
}

fn tag_tables(features: &Features) -> Vec<Table> {
    let (port_kind, port_bits) = match features.form {
        RuleForm::Exact => (MatchKind::Exact, PORT_BITS),
        RuleForm::PortSets => (MatchKind::Ternary, features.port_bits),
    };
    let mut key = vec![
        field(1, "tag", MatchKind::Exact, features.tag_bits()),
        field(2, "in_port", port_kind, port_bits),
        field(3, "out_port", port_kind, port_bits),
    ];
    if features.class_bits() > 0 {
        key.push(field(4, "class", MatchKind::Ternary, features.class_bits()));
    }
    let tag_table = |name, id, actions| Table {
        name,
        id,
        key: key.clone(),
        actions,
        size: 65_536,
        selector: None,
    };
    vec![
        tag_table(
            table::CLASSIFY,
            0x0200_0006,
            vec![action::SET_PRIORITIES, action::LOSSY],
        ),
        tag_table(
            table::REWRITE,
            0x0200_0007,
            vec![action::SET_TAG, action::SET_LOSSY_CODE],
        ),
    ]
}

fn routing_actions() -> Vec<Action> {
    vec![
        Action {
            name: action::FACE_HOST,
            id: 0x0100_0001,
            params: vec![param(1, "gateway_mac", 48)],
        },
        Action {
            name: action::NEXT_HOP,
            id: 0x0100_0003,
            params: vec![
                param(1, "port", PORT_BITS),
                param(2, "src_mac", 48),
                param(3, "dst_mac", 48),
            ],
        },
        Action {
            name: action::ECMP,
            id: 0x0100_0004,
            params: vec![
                param(1, "group", ECMP_GROUP_BITS),
                param(2, "hash_shift", 8),
            ],
        },
        Action {
            name: action::DISCARD,
            id: 0x0100_0005,
            params: vec![],
        },
    ]
}

fn tag_actions(features: &Features) -> Vec<Action> {
    vec![
        Action {
            name: action::SET_PRIORITIES,
            id: 0x0100_0006,
            params: vec![
                param(1, "ing_prio", PRIORITY_BITS),
                param(2, "eg_prio", PRIORITY_BITS),
            ],
        },
        Action {
            name: action::LOSSY,
            id: 0x0100_0007,
            params: vec![],
        },
        Action {
            name: action::SET_TAG,
            id: 0x0100_0008,
            params: vec![param(1, "tag", features.tag_bits())],
        },
        Action {
            name: action::SET_LOSSY_CODE,
            id: 0x0100_0009,
            params: vec![],
        },
    ]
}

fn edge(features: &Features) -> (Vec<Table>, Vec<Action>) {
    let tables = vec![
        Table {
            name: table::EDGE_CLASS,
            id: 0x0200_0002,
            key: vec![field(1, "dscp", MatchKind::Exact, 6)],
            actions: vec![action::SET_INITIAL_CODE],
            size: 64,
            selector: None,
        },
        Table {
            name: table::HOST_PORT_OUT,
            id: 0x0200_0008,
            key: vec![field(1, "port", MatchKind::Exact, PORT_BITS)],
            actions: vec![action::STRIP_CARRIER],
            size: 512,
            selector: None,
        },
    ];
    let actions = vec![
        Action {
            name: action::SET_INITIAL_CODE,
            id: 0x0100_0002,
            params: vec![param(1, "code", features.code_bits())],
        },
        Action {
            name: action::STRIP_CARRIER,
            id: 0x0100_000A,
            params: vec![],
        },
        Action {
            name: action::SET_EDGE_LOSSY,
            id: 0x0100_000B,
            params: vec![],
        },
    ];
    (tables, actions)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The `#define`s and constants of `layout.p4`, as numbers.
    fn p4_constants() -> BTreeMap<String, u32> {
        let number = |text: &str| {
            let text = text.trim().trim_end_matches(';');
            match text.strip_prefix("0x") {
                Some(hex) => u32::from_str_radix(hex, 16).ok(),
                None => text.parse().ok(),
            }
        };
        include_str!("../../../../p4src/layout.p4")
            .lines()
            .filter_map(|line| {
                let line = line.split("//").next().unwrap_or_default().trim();
                let (name, value) = if let Some(define) = line.strip_prefix("#define ") {
                    define.split_once(char::is_whitespace)?
                } else {
                    let (left, value) = line.strip_prefix("const ")?.split_once('=')?;
                    (left.split_whitespace().last()?, value)
                };
                Some((name.to_owned(), number(value)?))
            })
            .collect()
    }

    fn failover_layouts() -> impl Iterator<Item = Layout> {
        let states = [
            HeaderState::ReverseRoute,
            HeaderState::Tag,
            HeaderState::Trees,
        ];
        states.into_iter().map(|state| {
            Layout::failover(FailoverFeatures {
                state,
                source_routes: state != HeaderState::Trees,
                stack: 4,
                port_bits: 33,
                multipath: true,
                rules: 16_384,
            })
        })
    }

    fn all_layouts() -> impl Iterator<Item = Layout> {
        CarrierKind::ALL.into_iter().flat_map(|carrier| {
            [RuleForm::Exact, RuleForm::PortSets].map(|form| {
                Layout::tagger(Features {
                    carrier,
                    class_shift: (carrier == CarrierKind::Shim).then_some(4),
                    lossy: TagCode::new(0),
                    form,
                    port_bits: 33,
                })
            })
        })
    }

    /// `ingress.host_port` is `HOST_PORT` there.
    fn constant(prefix: &str, name: &str) -> String {
        let short = name.rsplit('.').next().unwrap_or(name);
        format!("{prefix}{}", short.to_uppercase())
    }

    #[test]
    fn ids_and_sizes_are_those_of_the_p4_file() {
        let p4 = p4_constants();
        let size = |name: &str| match name {
            table::IPV4_ROUTE | table::IPV6_ROUTE => "ROUTE_SIZE".to_owned(),
            table::CLASSIFY | table::REWRITE => "TAG_RULE_SIZE".to_owned(),
            table::HOST_PORT_OUT => "HOST_PORT_SIZE".to_owned(),
            other => constant("", other) + "_SIZE",
        };
        let ids_of_tables = |layout: &Layout| {
            for t in &layout.tables {
                let id = p4.get(&constant("ID_TABLE_", t.name));
                assert_eq!(id, Some(&t.id), "{}", t.name);
            }
        };
        let ids_of_actions = |layout: &Layout| {
            for a in &layout.actions {
                let id = p4.get(&constant("ID_ACTION_", a.name));
                assert_eq!(id, Some(&a.id), "{}", a.name);
            }
        };
        for layout in all_layouts() {
            ids_of_tables(&layout);
            for t in &layout.tables {
                assert_eq!(p4.get(&size(t.name)), Some(&t.size), "{}", t.name);
            }
            ids_of_actions(&layout);
            assert_eq!(p4.get("ID_SELECTOR_ECMP"), Some(&layout.selector_id));
            assert_eq!(p4.get("ECMP_SELECTOR_SIZE"), Some(&layout.selector_size));
            assert_eq!(p4.get("ECMP_GROUP_MEMBERS"), Some(&layout.group_members));
        }
        for layout in all_layouts() {
            let ProgramFeatures::Tagger(features) = layout.features else {
                continue;
            };
            let layout = Layout::tofino_tagger(features, &Room::default());
            ids_of_tables(&layout);
            ids_of_actions(&layout);
        }
        for layout in failover_layouts() {
            for t in &layout.tables {
                let id = p4.get(&constant("ID_TABLE_", t.name));
                assert_eq!(id, Some(&t.id), "{}", t.name);
                // The status has no entries, and the room for rules is the plan's.
                if ![table::PORT_STATUS, table::RES_FORWARD].contains(&t.name) {
                    assert_eq!(p4.get(&size(t.name)), Some(&t.size), "{}", t.name);
                }
            }
            for a in layout.actions.iter().filter(|a| !a.name.contains("send_")) {
                let id = p4.get(&constant("ID_ACTION_", a.name));
                assert_eq!(id, Some(&a.id), "{}", a.name);
            }
        }
        for layout in failover_layouts() {
            let ProgramFeatures::Failover(features) = layout.features else {
                continue;
            };
            let layout = Layout::tofino_failover(features, &FailoverRoom::default());
            ids_of_tables(&layout);
            for a in layout
                .actions
                .iter()
                .filter(|a| !a.name.contains("send_") && a.name != action::NO_ACTION)
            {
                let id = p4.get(&constant("ID_ACTION_", a.name));
                assert_eq!(id, Some(&a.id), "{}", a.name);
            }
        }
        assert_eq!(p4.get("NO_PORT"), Some(&u32::from(NO_PORT)));
        assert_eq!(p4.get("MOST_SWITCHES"), Some(&u32::from(MOST_SWITCHES)));
        assert_eq!(
            p4.get("LOSSY_PRIORITY"),
            Some(&u32::from(plan::LOSSY_PRIORITY.get()))
        );
        for reason in DropReason::ALL {
            assert_eq!(
                p4.get(reason.p4_name()),
                Some(&(reason as u32)),
                "{reason:?}"
            );
        }
    }

    #[test]
    fn every_action_of_a_table_exists() {
        for layout in all_layouts().chain(failover_layouts()) {
            for t in &layout.tables {
                for a in t.actions.iter().filter(|a| **a != action::NO_ACTION) {
                    assert!(layout.action(a).is_some(), "{} of {}", a, t.name);
                }
            }
        }
    }

    #[test]
    fn class_bits_split_the_code() {
        let layouts: Vec<Layout> = all_layouts().collect();
        let with_class = layouts
            .iter()
            .filter(|l| {
                l.table(table::CLASSIFY)
                    .is_some_and(|t| t.field("class").is_some())
            })
            .collect::<Vec<_>>();
        assert_eq!(with_class.len(), 2);
        for layout in with_class {
            let classify = layout.table(table::CLASSIFY).expect("every layout has it");
            assert_eq!(classify.field("tag").map(|f| f.bits), Some(4));
            assert_eq!(classify.field("class").map(|f| f.bits), Some(4));
            assert!(classify.has_priority());
        }
    }
}

//! The layout of the `failover` programs (Stephens15 section 4.6): the tables of a resilient pipeline.

use plan::CheckedPlan;
use plan::failover::{Failover, LabelKind, MOST_HOPS, Output, SwitchTable, Target};
use serde::Serialize;

use super::{
    Action, KeyField, Layout, MatchKind, PORT_BITS, Param, ProgramFeatures, Table, action, table,
};
use super::{field, param};

/// Switches that a packet may cross in a failover fabric.
pub const MOST_SWITCHES: u8 = 255;
/// Width of a destination's code in the header, in bits.
const DESTINATION_BITS: u16 = 16;
/// Width of the number in the header: failure set, route, or failed trees.
const TAG_BITS: u16 = 24;
/// Width of a version, a tree's number, a count of hops, a hop.
const BYTE_BITS: u16 = 8;
/// The input port that stands for "from a host".
pub const NO_PORT: u16 = 511;
/// Rules per switch that every program has room for.
const FEWEST_RULES: u32 = 16_384;

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

/// What a `failover` program depends on. Two plans with equal features have the same program, and one can follow
/// the other on running switches without a packet lost.
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
    /// Room for rules: twice as many as the fullest switch has, for two versions, rounded up to a power of two.
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
        Some(Self {
            state: failover.label.into(),
            source_routes: failover.output == Output::SourceRoutes,
            stack: failover.stack.clamp(1, MOST_HOPS as u8),
            port_bits: plan.tables().port_bitmap_bits().min(widest),
            multipath: has_ways(failover),
            rules: room.saturating_mul(2).next_power_of_two().max(FEWEST_RULES),
        })
    }

    /// Whether the header keeps the way that packets have come.
    #[must_use]
    pub fn keeps_reverse(&self) -> bool {
        self.state == HeaderState::ReverseRoute
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

    /// The most bytes that the header adds to a packet.
    #[must_use]
    pub fn carrier_bytes(&self) -> u16 {
        let stacks = u16::from(self.source_routes) + u16::from(self.keeps_reverse());
        super::SHIM_BYTES + stacks * u16::from(self.stack)
    }

    /// A name that tells all programs apart: `failover-plinko-routes16-ports9`.
    #[must_use]
    pub fn program_name(&self) -> String {
        let state = match self.state {
            HeaderState::ReverseRoute => "plinko",
            HeaderState::Tag => "tag",
            HeaderState::Trees => "trees",
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
        format!(
            "failover-{state}-{output}{stack}-ports{}{multipath}{rules}",
            self.port_bits
        )
    }

    /// The id of the action that leaves so many hops.
    #[must_use]
    pub const fn send_id(rest: u8) -> u32 {
        0x0100_0040 + rest as u32
    }

    /// The name of the action that leaves so many hops for the switches after; `None` beyond what a header holds.
    #[must_use]
    pub fn send_name(rest: usize) -> Option<&'static str> {
        SEND.get(rest).copied()
    }

    /// The name of the key of a place of the reverse route; `None` beyond what a header holds.
    #[must_use]
    pub fn reverse_name(hop: usize) -> Option<&'static str> {
        REVERSE.get(hop).copied()
    }
}

/// Whether a switch is the destination of several routings.
fn has_ways(failover: &Failover) -> bool {
    failover
        .destinations
        .iter()
        .any(|destination| matches!(destination.target, Target::Switch { path, .. } if path > 0))
}

/// Names of the keys of the reverse route.
const REVERSE: [&str; MOST_HOPS] = [
    "rev_0", "rev_1", "rev_2", "rev_3", "rev_4", "rev_5", "rev_6", "rev_7", "rev_8", "rev_9",
    "rev_10", "rev_11", "rev_12", "rev_13", "rev_14", "rev_15", "rev_16", "rev_17", "rev_18",
    "rev_19", "rev_20", "rev_21", "rev_22", "rev_23", "rev_24", "rev_25", "rev_26", "rev_27",
    "rev_28", "rev_29", "rev_30", "rev_31",
];

/// Names of the actions that send, by the hops that they leave.
const SEND: [&str; MOST_HOPS + 1] = [
    "ingress.send",
    "ingress.send_1",
    "ingress.send_2",
    "ingress.send_3",
    "ingress.send_4",
    "ingress.send_5",
    "ingress.send_6",
    "ingress.send_7",
    "ingress.send_8",
    "ingress.send_9",
    "ingress.send_10",
    "ingress.send_11",
    "ingress.send_12",
    "ingress.send_13",
    "ingress.send_14",
    "ingress.send_15",
    "ingress.send_16",
    "ingress.send_17",
    "ingress.send_18",
    "ingress.send_19",
    "ingress.send_20",
    "ingress.send_21",
    "ingress.send_22",
    "ingress.send_23",
    "ingress.send_24",
    "ingress.send_25",
    "ingress.send_26",
    "ingress.send_27",
    "ingress.send_28",
    "ingress.send_29",
    "ingress.send_30",
    "ingress.send_31",
    "ingress.send_32",
];

/// Names of the hops that such an action leaves.
const HOP: [&str; MOST_HOPS] = [
    "hop_1", "hop_2", "hop_3", "hop_4", "hop_5", "hop_6", "hop_7", "hop_8", "hop_9", "hop_10",
    "hop_11", "hop_12", "hop_13", "hop_14", "hop_15", "hop_16", "hop_17", "hop_18", "hop_19",
    "hop_20", "hop_21", "hop_22", "hop_23", "hop_24", "hop_25", "hop_26", "hop_27", "hop_28",
    "hop_29", "hop_30", "hop_31", "hop_32",
];

impl Layout {
    /// The layout of the `failover` program with these features.
    #[must_use]
    pub fn failover(features: FailoverFeatures) -> Self {
        let mut tables = edge_tables(&features);
        tables.extend(forwarding_tables(&features));
        let mut actions = edge_actions(&features);
        actions.extend((0..=features.most_rest()).filter_map(|rest| send(&features, rest)));
        tables.sort_by_key(|t| t.id);
        actions.sort_by_key(|a| a.id);
        Self {
            features: ProgramFeatures::Failover(features),
            tables,
            actions,
            selector_id: 0,
            selector_size: 0,
            group_members: 0,
        }
    }
}

const VERSION: KeyField = field(1, "version", MatchKind::Exact, BYTE_BITS);

fn edge_tables(features: &FailoverFeatures) -> Vec<Table> {
    let port = |kind| field(1, "port", kind, PORT_BITS);
    let table = |name, id, key, actions, size| Table {
        name,
        id,
        key,
        actions,
        size,
        selector: None,
    };
    let mut encapsulations = vec![action::ENCAPSULATE];
    if features.multipath {
        encapsulations.push(action::ENCAPSULATE_FLOW);
    }
    vec![
        table(
            table::PORT_STATUS,
            0x0200_0009,
            vec![],
            vec![action::SET_PORT_STATUS],
            1024,
        ),
        table(
            table::ISLAND_IN,
            0x0200_000A,
            vec![port(MatchKind::Exact)],
            vec![action::FROM_HOST, action::FROM_FABRIC],
            512,
        ),
        table(
            table::SECURITY,
            0x0200_000B,
            vec![
                port(MatchKind::Ternary),
                field(2, "src_addr", MatchKind::Ternary, 48),
                field(3, "dst_addr", MatchKind::Ternary, 48),
                field(4, "ether_type", MatchKind::Ternary, 16),
            ],
            vec![action::DENY, action::NO_ACTION],
            4096,
        ),
        table(
            table::NEIGHBOR,
            0x0200_000C,
            vec![field(1, "target_ip", MatchKind::Exact, 32)],
            vec![action::ANSWER],
            65_536,
        ),
        table(
            table::ENCAP,
            0x0200_000D,
            vec![VERSION, field(2, "dst_addr", MatchKind::Exact, 48)],
            encapsulations,
            131_072,
        ),
        table(
            table::ISLAND_OUT,
            0x0200_0012,
            vec![port(MatchKind::Exact)],
            vec![action::DECAPSULATE],
            512,
        ),
    ]
}

fn forwarding_tables(features: &FailoverFeatures) -> Vec<Table> {
    let status = |id| field(id, "port_status", MatchKind::Ternary, features.port_bits);
    let sends =
        (0..=features.most_rest()).filter_map(|rest| FailoverFeatures::send_name(rest.into()));
    let mut tables = vec![
        Table {
            name: table::LOCAL_HOST,
            id: 0x0200_000F,
            key: vec![
                VERSION,
                field(2, "destination", MatchKind::Exact, DESTINATION_BITS),
                field(3, "dst_addr", MatchKind::Ternary, 48),
                status(4),
            ],
            actions: vec![action::DELIVER, action::NO_HOST],
            size: 16_384,
            selector: None,
        },
        Table {
            name: table::RES_FORWARD,
            id: 0x0200_0010,
            key: rule_key(features),
            actions: sends.chain([action::NO_WAY]).collect(),
            size: features.rules,
            selector: None,
        },
    ];
    if features.source_routes {
        tables.push(Table {
            name: table::SRC_FORWARD,
            id: 0x0200_000E,
            key: vec![
                VERSION,
                field(2, "next_hop", MatchKind::Exact, BYTE_BITS),
                status(3),
            ],
            actions: vec![action::FOLLOW, action::ABANDON],
            size: 1024,
            selector: None,
        });
    }
    tables
}

fn rule_key(features: &FailoverFeatures) -> Vec<KeyField> {
    let ternary = |id, name, bits| field(id, name, MatchKind::Ternary, bits);
    let mut key = vec![
        VERSION,
        ternary(2, "destination", DESTINATION_BITS),
        ternary(3, "came_from", PORT_BITS),
        ternary(4, "port_status", features.port_bits),
    ];
    match features.state {
        HeaderState::ReverseRoute => {
            key.push(ternary(5, "hops", BYTE_BITS));
            let names = REVERSE.iter().take(features.stack.into());
            key.extend(
                (6..)
                    .zip(names)
                    .map(|(id, name)| ternary(id, name, BYTE_BITS)),
            );
        }
        HeaderState::Tag => key.push(ternary(5, "tag", TAG_BITS)),
        HeaderState::Trees => {
            key.push(ternary(5, "tag", TAG_BITS));
            key.push(ternary(6, "tree", BYTE_BITS));
        }
    }
    key
}

fn edge_actions(features: &FailoverFeatures) -> Vec<Action> {
    let port = || vec![param(1, "port", PORT_BITS)];
    let destination = || vec![param(1, "destination", DESTINATION_BITS)];
    let mut actions = vec![
        (
            action::SET_PORT_STATUS,
            0x0100_000C,
            vec![param(1, "up", features.port_bits)],
        ),
        (
            action::FROM_HOST,
            0x0100_000D,
            vec![param(1, "version", BYTE_BITS)],
        ),
        (action::FROM_FABRIC, 0x0100_000E, vec![]),
        (action::DENY, 0x0100_0010, vec![]),
        (action::ANSWER, 0x0100_0011, vec![param(1, "mac", 48)]),
        (action::ENCAPSULATE, 0x0100_0012, destination()),
        (action::DELIVER, 0x0100_0018, port()),
        (action::NO_HOST, 0x0100_0019, vec![]),
        (action::NO_WAY, 0x0100_001A, vec![]),
        (action::DECAPSULATE, 0x0100_001F, vec![]),
    ];
    if features.multipath {
        let mut params = destination();
        params.push(param(2, "ways", DESTINATION_BITS));
        actions.push((action::ENCAPSULATE_FLOW, 0x0100_0013, params));
    }
    if features.source_routes {
        actions.push((action::FOLLOW, 0x0100_0015, port()));
        actions.push((action::ABANDON, 0x0100_0016, vec![]));
    }
    let action = |(name, id, params)| Action { name, id, params };
    actions.into_iter().map(action).collect()
}

fn send(features: &FailoverFeatures, rest: u8) -> Option<Action> {
    let mut params: Vec<(&'static str, u16)> = vec![("port", PORT_BITS)];
    if features.state != HeaderState::ReverseRoute {
        params.extend([("keep", TAG_BITS), ("set", TAG_BITS)]);
    }
    if features.state == HeaderState::Trees {
        params.extend([("keep_tree", BYTE_BITS), ("set_tree", BYTE_BITS)]);
    }
    params.extend(HOP.iter().take(rest.into()).map(|hop| (*hop, BYTE_BITS)));
    let numbered = (1..).zip(params);
    Some(Action {
        name: FailoverFeatures::send_name(rest.into())?,
        id: FailoverFeatures::send_id(rest),
        params: numbered
            .map(|(id, (name, bits)): (u32, _)| param(id, name, bits))
            .collect::<Vec<Param>>(),
    })
}

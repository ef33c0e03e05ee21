//! The tables of the `failover` programs (Stephens15 section 4.6): a resilient pipeline.

use super::{DESTINATION_BITS, FailoverFeatures, HeaderState, names};
use crate::capabilities::Architecture;
use crate::family::tagger::TaggerFeatures;
use crate::family::tagger::tables::{self as tagger, RewriteNames};
use crate::layout::{
    Action, CHANNEL_KEY, KeyField, Layout, MatchKind, PORT_BITS, STATUS_WORD_BITS, Table,
    VERSION_KEY, action, exact, field, table, ternary,
};

/// Width of the number in the header: failure set, route, or failed trees.
pub(super) const TAG_BITS: u16 = 24;
/// Width of a version, a tree's number, a count of hops, a hop.
const BYTE_BITS: u16 = 8;
/// Bits of the flow hash that choose a routing.
pub(super) const FLOW_HASH_BITS: u16 = 16;
/// The key field of the port status; on Tofino that of the first 32 ports.
pub(super) const STATUS: &str = "port_status";
/// That of the ports above.
pub(super) const STATUS_HIGH: &str = "port_status_high";
/// The parameter that says whether packets to a destination keep the way that they come: no hop at
/// first, or no route at all.
const REVERSE_HOPS: &str = "reverse_hops";
/// Id of the key field of the ports above the first 32.
pub(super) const STATUS_HIGH_ID: u32 = 40;

/// Ids of the key fields of the number and, one more, the tree, where those of the reverse route
/// stand in their usual place.
const TAG_BESIDE_ID: u32 = 41;

/// Id of the key field of the number; that of the tree is one more.
pub(super) const fn tag_id(state: HeaderState) -> u32 {
    if state.is_mixed() { TAG_BESIDE_ID } else { 5 }
}

const VERSION: KeyField = exact(1, VERSION_KEY, BYTE_BITS);

/// Names that differ with where the header is taken off: Tofino does everything in ingress.
pub(super) struct OutNames {
    pub(super) island_out: &'static str,
    pub(super) decapsulate: &'static str,
}

impl OutNames {
    pub(super) const fn of(architecture: Architecture) -> Self {
        match architecture {
            Architecture::V1model => Self {
                island_out: table::ISLAND_OUT,
                decapsulate: action::DECAPSULATE,
            },
            Architecture::Tofino => Self {
                island_out: table::INGRESS_ISLAND_OUT,
                decapsulate: action::INGRESS_DECAPSULATE,
            },
        }
    }
}

/// How many entries tables hold. In software that is for any plan but the rules; on Tofino it is
/// for most, so that they share a program, and tables of larger plans grow.
struct Sizes {
    security: u32,
    neighbor: u32,
    encap: u32,
    src_forward: u32,
    local_host: u32,
    res_forward: u32,
    tag_rules: u32,
}

impl Sizes {
    const fn of(features: &FailoverFeatures, architecture: Architecture) -> Self {
        match architecture {
            Architecture::V1model => Self {
                security: 4096,
                neighbor: 65_536,
                encap: 131_072,
                src_forward: 1024,
                local_host: 16_384,
                res_forward: features.rules,
                tag_rules: 65_536,
            },
            Architecture::Tofino => Self {
                security: 512,
                neighbor: 2048,
                encap: 4096,
                src_forward: 512,
                local_host: 512,
                res_forward: 2048,
                tag_rules: 2048,
            },
        }
    }
}

/// The layout of the program with these features.
pub(super) fn layout(features: &FailoverFeatures, architecture: Architecture) -> Layout {
    let sizes = Sizes::of(features, architecture);
    let out = OutNames::of(architecture);
    let mut tables = edge_tables(features, &out, &sizes);
    tables.extend(forwarding_tables(features, architecture, &sizes));
    let mut actions = edge_actions(features, architecture, &out);
    if let Some(tags) = &features.tags {
        let channel_bits = features.channel_bits();
        tables.extend(tag_tables(
            tags,
            channel_bits,
            architecture,
            sizes.tag_rules,
        ));
        actions.extend(tag_actions(tags, architecture));
        if architecture == Architecture::Tofino {
            let (bit_tables, bit_actions) = tagger::port_bit_tables(tags);
            tables.extend(bit_tables);
            actions.extend(bit_actions);
        }
    }
    let sends = (0..=features.most_rest()).filter_map(|rest| send(features, rest));
    actions.extend(sends);
    match architecture {
        Architecture::V1model => {
            let set = [action::SET_PORT_STATUS];
            tables.push(Table::new(table::PORT_STATUS, vec![], set, 1024));
            let up = [("up", features.port_bits)];
            actions.push(Action::new(action::SET_PORT_STATUS, up));
        }
        Architecture::Tofino => {
            tables.extend(tofino_tables(features));
            actions.extend(tofino_actions(features));
        }
    }
    Layout::new(tables, actions)
}

/// The tables of the tags: their keys have a version, as those of all rules, and the channel that a
/// packet was just given.
fn tag_tables(
    tags: &TaggerFeatures,
    channel_bits: Option<u16>,
    architecture: Architecture,
    size: u32,
) -> Vec<Table> {
    let rewrite = RewriteNames::of(architecture);
    let rules = tagger::tag_tables(tags, &rewrite, size);
    let versioned = |mut table: Table, id| {
        table.key.push(exact(id, VERSION_KEY, BYTE_BITS));
        table
    };
    let mut tables = vec![versioned(tagger::edge_class(), 2)];
    tables.extend(rules.map(|table| {
        let mut table = versioned(table, 5);
        let channel = channel_bits.map(|bits| exact(6, CHANNEL_KEY, bits));
        table.key.extend(channel);
        table
    }));
    tables
}

fn tag_actions(tags: &TaggerFeatures, architecture: Architecture) -> Vec<Action> {
    let rewrite = RewriteNames::of(architecture);
    let mut actions = tagger::edge_actions(tags).to_vec();
    actions.extend(tagger::tag_actions(tags, &rewrite));
    actions
}

fn edge_tables(features: &FailoverFeatures, out: &OutNames, sizes: &Sizes) -> Vec<Table> {
    let port = || vec![exact(1, "port", PORT_BITS)];
    let security = vec![
        ternary(1, "port", PORT_BITS),
        ternary(2, "src_addr", 48),
        ternary(3, "dst_addr", 48),
        ternary(4, "ether_type", 16),
    ];
    let mut encapsulations = vec![action::ENCAPSULATE];
    if features.multipath {
        encapsulations.push(action::ENCAPSULATE_FLOW);
    }
    let from = [action::FROM_HOST, action::FROM_FABRIC];
    let deny = [action::DENY, action::NO_ACTION];
    let asked = vec![exact(1, "target_ip", 32)];
    let host = vec![VERSION, exact(2, "dst_addr", 48)];
    vec![
        Table::new(table::ISLAND_IN, port(), from, 512),
        Table::new(table::SECURITY, security, deny, sizes.security),
        Table::new(table::NEIGHBOR, asked, [action::ANSWER], sizes.neighbor),
        Table::new(table::ENCAP, host, encapsulations, sizes.encap),
        Table::new(out.island_out, port(), [out.decapsulate], 512),
    ]
}

fn forwarding_tables(
    features: &FailoverFeatures,
    architecture: Architecture,
    sizes: &Sizes,
) -> Vec<Table> {
    let mut here = vec![
        VERSION,
        exact(2, "destination", DESTINATION_BITS),
        ternary(3, "dst_addr", 48),
    ];
    here.extend(status(4, features, architecture));
    let deliver = [action::DELIVER, action::NO_HOST];
    let rests = 0..=usize::from(features.most_rest());
    let sends = rests.filter_map(names::send).chain([action::NO_WAY]);
    let rule = rule_key(features, architecture);
    let mut tables = vec![
        Table::new(table::LOCAL_HOST, here, deliver, sizes.local_host),
        Table::new(table::RES_FORWARD, rule, sends, sizes.res_forward),
    ];
    if features.source_routes {
        let mut key = vec![VERSION, exact(2, "next_hop", BYTE_BITS)];
        key.extend(status(3, features, architecture));
        let actions = [action::FOLLOW, action::ABANDON];
        tables.push(Table::new(
            table::SRC_FORWARD,
            key,
            actions,
            sizes.src_forward,
        ));
    }
    tables
}

/// The key fields of the port status: one, as wide as the ports need; on Tofino as the registers
/// have it.
fn status(id: u32, features: &FailoverFeatures, architecture: Architecture) -> Vec<KeyField> {
    match architecture {
        Architecture::V1model => vec![ternary(id, STATUS, features.port_bits)],
        Architecture::Tofino => [(id, STATUS), (STATUS_HIGH_ID, STATUS_HIGH)]
            .into_iter()
            .take(features.status_words())
            .map(|(id, name)| ternary(id, name, STATUS_WORD_BITS))
            .collect(),
    }
}

fn rule_key(features: &FailoverFeatures, architecture: Architecture) -> Vec<KeyField> {
    let mut key = vec![
        VERSION,
        ternary(2, "destination", DESTINATION_BITS),
        ternary(3, "came_from", PORT_BITS),
    ];
    key.extend(status(4, features, architecture));
    let state = features.state;
    if state.keeps_reverse() {
        key.push(ternary(5, "hops", BYTE_BITS));
        let places = (6..).zip(names::reverse_keys(features.stack));
        key.extend(places.map(|(id, name)| ternary(id, name, BYTE_BITS)));
    }
    if state.has_number() {
        key.push(ternary(tag_id(state), "tag", TAG_BITS));
    }
    if state.has_tree() {
        key.push(ternary(tag_id(state) + 1, "tree", BYTE_BITS));
    }
    key
}

fn edge_actions(
    features: &FailoverFeatures,
    architecture: Architecture,
    out: &OutNames,
) -> Vec<Action> {
    let port = ("port", PORT_BITS);
    let destination = ("destination", DESTINATION_BITS);
    let state = features.state;
    let keeps = state.is_mixed().then_some((REVERSE_HOPS, BYTE_BITS));
    let encapsulate = [destination].into_iter().chain(keeps);
    // On Tofino ports have the device's numbers outside and the plan's inside.
    let inside = (architecture == Architecture::Tofino).then_some(port);
    let mut actions = vec![
        Action::new(action::FROM_HOST, [(VERSION_KEY, BYTE_BITS)]),
        Action::new(action::FROM_FABRIC, inside),
        Action::new(action::DENY, []),
        Action::new(action::ANSWER, [("mac", 48)]),
        Action::new(action::ENCAPSULATE, encapsulate),
        Action::new(action::DELIVER, [port]),
        Action::new(action::NO_HOST, []),
        Action::new(action::NO_WAY, []),
        Action::new(out.decapsulate, []),
    ];
    if features.multipath {
        let params = [destination, ("ways", DESTINATION_BITS)];
        let params = params.into_iter().chain(keeps);
        actions.push(Action::new(action::ENCAPSULATE_FLOW, params));
    }
    if features.source_routes {
        actions.push(Action::new(action::FOLLOW, [port]));
        actions.push(Action::new(action::ABANDON, []));
    }
    actions
}

/// The action that leaves so many hops for the switches after.
fn send(features: &FailoverFeatures, rest: u8) -> Option<Action> {
    let params = send_params(features, rest);
    Some(Action::new(names::send(rest.into())?, params))
}

/// Names and widths of that action's parameters.
pub(super) fn send_params(features: &FailoverFeatures, rest: u8) -> Vec<(&'static str, u16)> {
    let mut params = vec![("port", PORT_BITS)];
    if features.state.has_number() {
        params.extend([("keep", TAG_BITS), ("set", TAG_BITS)]);
    }
    if features.state.has_tree() {
        params.extend([("keep_tree", BYTE_BITS), ("set_tree", BYTE_BITS)]);
    }
    let channel = features.channel_bits().map(|bits| (CHANNEL_KEY, bits));
    params.extend(channel);
    params.extend(names::hops(rest).map(|hop| (hop, BYTE_BITS)));
    params
}

/// On Tofino the port status comes from a register; a table says which port is up, where an ALU
/// cannot shift, and another divides.
fn tofino_tables(features: &FailoverFeatures) -> Vec<Table> {
    let port = exact(1, "port", PORT_BITS);
    let mut alive = vec![port];
    alive.extend(status(4, features, Architecture::Tofino));
    let mut tables = vec![
        Table::new(table::PORT_DOWN, vec![port], [action::TAKE_DOWN], 512),
        Table::new(table::PORT_ALIVE, alive, [action::ALIVE], 512),
    ];
    if features.multipath {
        let key = vec![
            field(1, "ways", MatchKind::Exact, 16),
            ternary(2, "flow_hash", FLOW_HASH_BITS),
        ];
        tables.push(Table::new(table::WAY, key, [action::TAKE_WAY], 512));
    }
    tables
}

fn tofino_actions(features: &FailoverFeatures) -> Vec<Action> {
    let words = ["others", "others_high"].into_iter();
    let others = words.take(features.status_words());
    let mut actions = vec![
        Action::new(
            action::TAKE_DOWN,
            others.map(|name| (name, STATUS_WORD_BITS)),
        ),
        Action::new(action::ALIVE, []),
        Action::new(action::NO_ACTION, []),
    ];
    if features.multipath {
        actions.push(Action::new(action::TAKE_WAY, [("path", 16)]));
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::TableSizes;

    fn features(state: HeaderState, port_bits: u16) -> FailoverFeatures {
        FailoverFeatures {
            state,
            source_routes: true,
            stack: 4,
            port_bits,
            multipath: true,
            tags: None,
            channels: false,
            rules: 16_384,
        }
    }

    #[test]
    fn every_table_and_action_has_an_id_and_every_action_of_a_table_exists() {
        for state in HeaderState::ALL {
            for architecture in Architecture::ALL {
                let layout = layout(&features(state, 33), architecture);
                assert!(layout.actions.iter().all(|a| a.id != 0), "{layout:?}");
                for t in &layout.tables {
                    assert_ne!(t.id, 0, "{}", t.name);
                    for a in t.actions.iter().filter(|a| **a != action::NO_ACTION) {
                        assert!(layout.action(a).is_some(), "{} of {}", a, t.name);
                    }
                }
            }
        }
    }

    #[test]
    fn the_status_is_as_wide_as_the_registers() {
        for (port_bits, words) in [(5, 1), (32, 1), (33, 2), (64, 2)] {
            let layout = layout(&features(HeaderState::Tag, port_bits), Architecture::Tofino);
            for name in [
                table::SRC_FORWARD,
                table::LOCAL_HOST,
                table::RES_FORWARD,
                table::PORT_ALIVE,
            ] {
                let table = layout.table(name).expect("it is there");
                let fields = table.key.iter().filter(|f| f.name.starts_with(STATUS));
                let bits: Vec<u16> = fields.map(|f| f.bits).collect();
                assert_eq!(bits, vec![32; words], "{name}");
            }
            assert!(layout.table(table::PORT_STATUS).is_none());
        }
    }

    #[test]
    fn tables_with_versions_hold_two_plans() {
        let layout = layout(&features(HeaderState::Tag, 5), Architecture::Tofino);
        let need = TableSizes::from([(table::RES_FORWARD, 1100), (table::NEIGHBOR, 2048)]);
        let grown = layout.holding(&need);
        assert_eq!(grown.size(table::RES_FORWARD), 4096);
        assert_eq!(grown.size(table::NEIGHBOR), 2048);
        assert_eq!(grown.size(table::ENCAP), 4096);
    }
}

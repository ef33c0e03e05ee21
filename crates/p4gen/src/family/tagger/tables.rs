//! The tables of the `tagger` programs.

use plan::RuleForm;

use super::TaggerFeatures;
use crate::capabilities::Architecture;
use crate::layout::{
    Action, ECMP_GROUP_BITS, ECMP_SELECTOR, Layout, MatchKind, PORT_BITS, PRIORITY_BITS, Table,
    action, exact, field, ids, table, ternary,
};

/// Bits of a DSCP.
const DSCP_BITS: u16 = 6;
/// Bits of a traffic class: SONiC's models have 16.
const TC_BITS: u16 = 4;

/// Names that differ with where new tags are looked up: Tofino does it in ingress, beside
/// `classify`.
pub(in crate::family) struct RewriteNames {
    pub(in crate::family) table: &'static str,
    pub(in crate::family) set_tag: &'static str,
    pub(in crate::family) set_lossy_code: &'static str,
}

impl RewriteNames {
    pub(in crate::family) const fn of(architecture: Architecture) -> Self {
        match architecture {
            Architecture::V1model => Self {
                table: table::REWRITE,
                set_tag: action::SET_TAG,
                set_lossy_code: action::SET_LOSSY_CODE,
            },
            Architecture::Tofino => Self {
                table: table::INGRESS_REWRITE,
                set_tag: action::INGRESS_SET_TAG,
                set_lossy_code: action::INGRESS_SET_LOSSY_CODE,
            },
        }
    }
}

/// How many entries tables hold. In software that is for any plan; on Tofino it is for most, so
/// that they share a program, and tables of larger plans grow.
struct Sizes {
    ipv4_route: u32,
    ipv6_route: u32,
    ecmp_group: u32,
    ecmp_return: u32,
    members: u32,
    group_members: u32,
    tag_rules: u32,
}

impl Sizes {
    const fn of(architecture: Architecture) -> Self {
        match architecture {
            Architecture::V1model => Self {
                ipv4_route: 65_536,
                ipv6_route: 65_536,
                ecmp_group: 4096,
                ecmp_return: 65_536,
                members: 32_768,
                group_members: 512,
                tag_rules: 65_536,
            },
            Architecture::Tofino => Self {
                ipv4_route: 4096,
                ipv6_route: 1024,
                ecmp_group: 256,
                ecmp_return: 1024,
                members: 4096,
                group_members: 64,
                tag_rules: 2048,
            },
        }
    }
}

/// The layout of the program with these features.
pub(super) fn layout(features: &TaggerFeatures, architecture: Architecture) -> Layout {
    let sizes = Sizes::of(architecture);
    let rewrite = RewriteNames::of(architecture);
    let mut tables = routing_tables(&sizes);
    if features.maps {
        tables.extend(map_tables(sizes.tag_rules));
    } else {
        tables.extend(tag_tables(features, &rewrite, sizes.tag_rules));
    }
    let mut actions = actions(features, &rewrite);
    if features.has_edge() {
        tables.extend(edge_tables());
        actions.extend(edge_actions(features));
        actions.push(Action::new(action::STRIP_CARRIER, []));
    }
    if architecture == Architecture::Tofino {
        let (bit_tables, bit_actions) = port_bit_tables(features);
        tables.extend(bit_tables);
        actions.extend(bit_actions);
    }
    Layout {
        selector_id: ids::ECMP_SELECTOR,
        selector_size: sizes.members,
        group_members: sizes.group_members,
        ..Layout::new(tables, actions)
    }
}

fn routing_tables(sizes: &Sizes) -> Vec<Table> {
    let route = |name, bits, size| {
        let key = vec![field(1, "dst_addr", MatchKind::Lpm, bits)];
        let actions = [action::NEXT_HOP, action::ECMP, action::DISCARD];
        Table::new(name, key, actions, size)
    };
    let group = vec![exact(1, "group", ECMP_GROUP_BITS)];
    let back = vec![
        exact(1, "group", ECMP_GROUP_BITS),
        exact(2, "in_port", PORT_BITS),
    ];
    let port = vec![exact(1, "port", PORT_BITS)];
    vec![
        Table::new(table::HOST_PORT, port, [action::FACE_HOST], 512),
        route(table::IPV4_ROUTE, 32, sizes.ipv4_route),
        route(table::IPV6_ROUTE, 128, sizes.ipv6_route),
        Table {
            selector: Some(ECMP_SELECTOR),
            ..Table::new(
                table::ECMP_GROUP,
                group,
                [action::NEXT_HOP],
                sizes.ecmp_group,
            )
        },
        Table::new(
            table::ECMP_RETURN,
            back,
            [action::NEXT_HOP],
            sizes.ecmp_return,
        ),
    ]
}

/// The tables of the tag rules.
pub(in crate::family) fn tag_tables(
    features: &TaggerFeatures,
    rewrite: &RewriteNames,
    size: u32,
) -> [Table; 2] {
    let (port_kind, port_bits) = match features.form {
        RuleForm::Exact => (MatchKind::Exact, PORT_BITS),
        RuleForm::PortSets => (MatchKind::Ternary, features.port_bits),
    };
    let mut key = vec![
        exact(1, "tag", features.tag_bits()),
        field(2, "in_port", port_kind, port_bits),
        field(3, "out_port", port_kind, port_bits),
    ];
    if features.class_bits() > 0 {
        key.push(ternary(4, "class", features.class_bits()));
    }
    let classify = [action::SET_PRIORITIES, action::LOSSY];
    let rewrites = [rewrite.set_tag, rewrite.set_lossy_code];
    [
        Table::new(table::CLASSIFY, key.clone(), classify, size),
        Table::new(rewrite.table, key, rewrites, size),
    ]
}

/// The tables that make one-hot bits of ports where rules match sets of them, with their actions:
/// on Tofino an ALU does not shift by a variable.
pub(in crate::family) fn port_bit_tables(features: &TaggerFeatures) -> (Vec<Table>, Vec<Action>) {
    let both = [
        (table::IN_PORT_BIT, action::SET_IN_PORT),
        (table::OUT_PORT_BIT, action::SET_OUT_PORT),
    ];
    let sets = features.form == RuleForm::PortSets;
    let made = both.into_iter().filter(|_| sets).map(|(name, action)| {
        let key = vec![exact(1, "port", PORT_BITS)];
        let bits = [("bits", features.port_bits)];
        (
            Table::new(name, key, [action], 512),
            Action::new(action, bits),
        )
    });
    made.unzip()
}

/// The table of the classes of what hosts send.
pub(in crate::family) fn edge_class() -> Table {
    let dscp = vec![exact(1, "dscp", 6)];
    Table::new(table::EDGE_CLASS, dscp, [action::SET_INITIAL_CODE], 64)
}

fn edge_tables() -> [Table; 2] {
    let port = vec![exact(1, "port", PORT_BITS)];
    [
        edge_class(),
        Table::new(table::HOST_PORT_OUT, port, [action::STRIP_CARRIER], 512),
    ]
}

fn actions(features: &TaggerFeatures, rewrite: &RewriteNames) -> Vec<Action> {
    let mut actions = vec![
        Action::new(action::FACE_HOST, [("gateway_mac", 48)]),
        Action::new(
            action::NEXT_HOP,
            [("port", PORT_BITS), ("src_mac", 48), ("dst_mac", 48)],
        ),
        Action::new(
            action::ECMP,
            [("group", ECMP_GROUP_BITS), ("hash_shift", 8)],
        ),
        Action::new(action::DISCARD, []),
    ];
    if features.maps {
        actions.extend(map_actions());
    } else {
        actions.extend(tag_actions(features, rewrite));
    }
    actions
}

/// The tables of maps between DSCP, traffic class, priority group and queue.
fn map_tables(size: u32) -> [Table; 5] {
    let port = |id, name| exact(id, name, PORT_BITS);
    let (dscp, tc) = (exact(2, "dscp", DSCP_BITS), exact(2, "tc", TC_BITS));
    let table = |name, key, action| Table::new(name, key, [action], size);
    let both = vec![port(1, "in_port"), dscp, port(3, "out_port")];
    [
        table(
            table::DSCP_TO_TC,
            vec![port(1, "in_port"), dscp],
            action::SET_TC,
        ),
        table(table::ACL_TC, both, action::SET_TC),
        table(
            table::TC_TO_PRIORITY_GROUP,
            vec![port(1, "in_port"), tc],
            action::SET_PRIORITY_GROUP,
        ),
        table(
            table::TC_TO_QUEUE,
            vec![port(1, "out_port"), tc],
            action::SET_QUEUE,
        ),
        table(
            table::TC_TO_DSCP,
            vec![port(1, "out_port"), tc],
            action::SET_DSCP,
        ),
    ]
}

fn map_actions() -> [Action; 4] {
    [
        Action::new(action::SET_TC, [("tc", TC_BITS)]),
        Action::new(action::SET_PRIORITY_GROUP, [("ing_prio", PRIORITY_BITS)]),
        Action::new(action::SET_QUEUE, [("eg_prio", PRIORITY_BITS)]),
        Action::new(action::SET_DSCP, [("dscp", DSCP_BITS)]),
    ]
}

/// The actions of the tag rules.
pub(in crate::family) fn tag_actions(
    features: &TaggerFeatures,
    rewrite: &RewriteNames,
) -> [Action; 4] {
    let priorities = [("ing_prio", PRIORITY_BITS), ("eg_prio", PRIORITY_BITS)];
    [
        Action::new(action::SET_PRIORITIES, priorities),
        Action::new(action::LOSSY, []),
        Action::new(rewrite.set_tag, [("tag", features.tag_bits())]),
        Action::new(rewrite.set_lossy_code, []),
    ]
}

/// The actions of the table of classes.
pub(in crate::family) fn edge_actions(features: &TaggerFeatures) -> [Action; 2] {
    let code = [("code", features.code_bits())];
    [
        Action::new(action::SET_INITIAL_CODE, code),
        Action::new(action::SET_EDGE_LOSSY, []),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::TableSizes;
    use plan::{CarrierKind, TagCode};

    fn all_layouts() -> impl Iterator<Item = Layout> {
        let forms = [RuleForm::Exact, RuleForm::PortSets];
        let features = CarrierKind::ALL.iter().flat_map(move |&carrier| {
            forms.map(|form| TaggerFeatures {
                carrier,
                class_shift: (carrier == CarrierKind::Shim).then_some(4),
                lossy: TagCode::new(0),
                form,
                port_bits: 33,
                maps: false,
            })
        });
        features.flat_map(|f| Architecture::ALL.map(|architecture| layout(&f, architecture)))
    }

    #[test]
    fn every_table_and_action_has_an_id_and_every_action_of_a_table_exists() {
        for layout in all_layouts() {
            assert!(layout.actions.iter().all(|a| a.id != 0), "{layout:?}");
            for t in &layout.tables {
                assert_ne!(t.id, 0, "{}", t.name);
                for a in &t.actions {
                    assert!(layout.action(a).is_some(), "{} of {}", a, t.name);
                }
            }
        }
    }

    #[test]
    fn class_bits_split_the_code() {
        let mut with_class = 0;
        for layout in all_layouts() {
            let classify = layout.table(table::CLASSIFY).expect("every layout has it");
            if classify.field("class").is_some() {
                with_class += 1;
                assert_eq!(classify.field("tag").map(|f| f.bits), Some(4));
                assert_eq!(classify.field("class").map(|f| f.bits), Some(4));
                assert!(classify.has_priority());
            }
        }
        assert_eq!(with_class, 4);
    }

    #[test]
    fn tables_grow_by_doubling_and_have_a_floor() {
        let features = TaggerFeatures {
            carrier: CarrierKind::Dscp,
            class_shift: None,
            lossy: TagCode::new(0),
            form: RuleForm::Exact,
            port_bits: 9,
            maps: false,
        };
        let need = TableSizes::from([(table::IPV4_ROUTE, 5000), (table::CLASSIFY, 1)]);
        let grown = layout(&features, Architecture::Tofino).holding(&need);
        assert_eq!(grown.size(table::IPV4_ROUTE), 8192);
        assert_eq!(grown.size(table::CLASSIFY), 2048);
        assert_eq!(need.clone().max(TableSizes::default()), need);
    }
}

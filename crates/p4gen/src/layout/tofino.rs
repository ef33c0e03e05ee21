//! What the tables of the programs for Tofino have that v1model's have not.
//!
//! Both tag tables are looked up in ingress, side by side; ports become one-hot bits by two tables of their own, for an
//! ALU does not shift by a variable; and every table has the room that the plan needs, for room is stages.

use serde::Serialize;

pub use super::tofino_failover::{
    ALIVE, FLOW_HASH_BITS, PORT_ALIVE, PORT_DOWN, PORT_DOWN_GROUP, PORTS_UP, STATUS,
    STATUS_BITS_MAX, STATUS_HIGH, STATUS_HIGH_ID, STATUS_WORD_BITS, TAKE_DOWN, TAKE_WAY, WAY,
    generator_port,
};
use plan::RuleForm;

use super::{Action, Features, Layout, MatchKind, PORT_BITS, Table, action, field, param, table};

/// Arriving tag, in port, out port -> new tag: `rewrite`, which Tofino looks up in ingress.
pub const REWRITE: &str = "ingress.rewrite";
/// The action [`action::SET_TAG`] there.
pub const SET_TAG: &str = "ingress.set_tag";
/// The action [`action::SET_LOSSY_CODE`] there.
pub const SET_LOSSY_CODE: &str = "ingress.set_lossy_code";
/// In port -> its bit. Only in programs with port sets.
pub const IN_PORT_BIT: &str = "ingress.in_port_bit";
/// Out port -> its bit. Only in programs with port sets.
pub const OUT_PORT_BIT: &str = "ingress.out_port_bit";
/// `bits`: the in port, one-hot.
pub const SET_IN_PORT: &str = "ingress.set_in_port";
/// `bits`: the out port, one-hot.
pub const SET_OUT_PORT: &str = "ingress.set_out_port";
/// `failover`: out port -> is the header taken off, which Tofino looks up in ingress.
pub const ISLAND_OUT: &str = "ingress.island_out";
/// The action [`action::DECAPSULATE`] there.
pub const DECAPSULATE: &str = "ingress.decapsulate";
/// Full name of the action profile that holds the members of [`ECMP_SELECTOR`](super::ECMP_SELECTOR); to BF Runtime they are two tables.
pub const ECMP_PROFILE: &str = "ingress.ecmp_profile";

/// The P4 architecture that a program is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// BMv2's, and the embedded switch's.
    V1model,
    /// Tofino 1.
    Tna,
    /// Tofino 2.
    T2na,
}

impl Architecture {
    /// The name of the file that declares it, without `.p4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1model => "v1model",
            Self::Tna => "tna",
            Self::T2na => "t2na",
        }
    }
}

/// How many entries the tables of a program for Tofino hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Entries of `ipv4_route`.
    pub ipv4_routes: u32,
    /// Entries of `ipv6_route`.
    pub ipv6_routes: u32,
    /// ECMP groups.
    pub ecmp_groups: u32,
    /// Members over all groups.
    pub ecmp_members: u32,
    /// Members of one group.
    pub group_members: u32,
    /// Entries of `classify`, and of `rewrite`.
    pub tag_rules: u32,
}

/// What every program has room for, so that most plans share one.
impl Default for Room {
    fn default() -> Self {
        Self {
            ipv4_routes: 4096,
            ipv6_routes: 1024,
            ecmp_groups: 256,
            ecmp_members: 4096,
            group_members: 64,
            tag_rules: 2048,
        }
    }
}

impl Room {
    /// Room for so much: powers of two, none below [`Room::default`].
    #[must_use]
    pub fn holding(need: &Self) -> Self {
        let floor = Self::default();
        let up =
            |need: u32, floor: u32| need.checked_next_power_of_two().unwrap_or(need).max(floor);
        Self {
            ipv4_routes: up(need.ipv4_routes, floor.ipv4_routes),
            ipv6_routes: up(need.ipv6_routes, floor.ipv6_routes),
            ecmp_groups: up(need.ecmp_groups, floor.ecmp_groups),
            ecmp_members: up(need.ecmp_members, floor.ecmp_members),
            group_members: up(need.group_members, floor.group_members),
            tag_rules: up(need.tag_rules, floor.tag_rules),
        }
    }

    /// The larger of both, thing by thing.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        Self {
            ipv4_routes: self.ipv4_routes.max(other.ipv4_routes),
            ipv6_routes: self.ipv6_routes.max(other.ipv6_routes),
            ecmp_groups: self.ecmp_groups.max(other.ecmp_groups),
            ecmp_members: self.ecmp_members.max(other.ecmp_members),
            group_members: self.group_members.max(other.group_members),
            tag_rules: self.tag_rules.max(other.tag_rules),
        }
    }
}

/// The name in a program for Tofino of what v1model's program calls so.
#[must_use]
pub fn renamed(name: &str) -> Option<&'static str> {
    match name {
        table::REWRITE => Some(REWRITE),
        action::SET_TAG => Some(SET_TAG),
        action::SET_LOSSY_CODE => Some(SET_LOSSY_CODE),
        table::ISLAND_OUT => Some(ISLAND_OUT),
        action::DECAPSULATE => Some(DECAPSULATE),
        _ => None,
    }
}

/// The action profile that holds the members of a selector, by the names that our programs give them. P4Info has one name
/// for both: a layout's has the selector's, a compiler's the profile's.
#[must_use]
pub fn profile_of(name: &str) -> String {
    format!("{}_profile", stem(name))
}

/// The selector that draws from an action profile; see [`profile_of`].
#[must_use]
pub fn selector_of(name: &str) -> String {
    match name.strip_suffix("_profile") {
        Some(stem) => format!("{stem}_selector"),
        None => name.to_owned(),
    }
}

fn stem(name: &str) -> &str {
    let stem = name.strip_suffix("_selector");
    stem.or_else(|| name.strip_suffix("_profile"))
        .unwrap_or(name)
}

impl Layout {
    /// The layout of the `tagger` program for Tofino with these features.
    #[must_use]
    pub fn tofino_tagger(features: Features, room: &Room) -> Self {
        let mut layout = Self::tagger(features);
        for table in &mut layout.tables {
            table.name = renamed(table.name).unwrap_or(table.name);
            for action in &mut table.actions {
                *action = renamed(action).unwrap_or(action);
            }
            table.size = match table.name {
                table::IPV4_ROUTE => room.ipv4_routes,
                table::IPV6_ROUTE => room.ipv6_routes,
                table::ECMP_GROUP => room.ecmp_groups,
                table::CLASSIFY | REWRITE => room.tag_rules,
                _ => table.size,
            };
        }
        for action in &mut layout.actions {
            action.name = renamed(action.name).unwrap_or(action.name);
        }
        layout.selector_size = room.ecmp_members;
        layout.group_members = room.group_members;
        if features.form == RuleForm::PortSets {
            layout.tables.extend(port_bit_tables());
            layout.actions.extend(port_bit_actions(features.port_bits));
            layout.actions.sort_by_key(|a| a.id);
        }
        layout
    }
}

fn port_bit_tables() -> [Table; 2] {
    let table = |name, id, action| Table {
        name,
        id,
        key: vec![field(1, "port", MatchKind::Exact, PORT_BITS)],
        actions: vec![action],
        size: 512,
        selector: None,
    };
    [
        table(IN_PORT_BIT, 0x0200_0013, SET_IN_PORT),
        table(OUT_PORT_BIT, 0x0200_0014, SET_OUT_PORT),
    ]
}

fn port_bit_actions(port_bits: u16) -> [Action; 2] {
    let action = |name, id| Action {
        name,
        id,
        params: vec![param(1, "bits", port_bits)],
    };
    [
        action(SET_IN_PORT, 0x0100_0020),
        action(SET_OUT_PORT, 0x0100_0021),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ECMP_SELECTOR;
    use plan::{CarrierKind, TagCode};

    #[test]
    fn names_are_those_of_the_program_and_every_action_exists() {
        for form in [RuleForm::Exact, RuleForm::PortSets] {
            let features = Features {
                carrier: CarrierKind::Shim,
                class_shift: None,
                lossy: TagCode::new(0),
                form,
                port_bits: 33,
            };
            let layout = Layout::tofino_tagger(features, &Room::default());
            assert!(layout.table(table::REWRITE).is_none());
            assert_eq!(layout.table(REWRITE).map(|t| t.size), Some(2048));
            assert_eq!(
                layout.table(IN_PORT_BIT).is_some(),
                form == RuleForm::PortSets
            );
            for table in &layout.tables {
                for action in &table.actions {
                    assert!(
                        layout.action(action).is_some(),
                        "{action} of {}",
                        table.name
                    );
                }
            }
        }
        assert_eq!(profile_of(ECMP_SELECTOR), ECMP_PROFILE);
        assert_eq!(profile_of(ECMP_PROFILE), ECMP_PROFILE);
        assert_eq!(selector_of(ECMP_PROFILE), ECMP_SELECTOR);
        assert_eq!(selector_of(ECMP_SELECTOR), ECMP_SELECTOR);
    }

    #[test]
    fn room_grows_by_doubling_and_has_a_floor() {
        let need = Room {
            ipv4_routes: 5000,
            ..Room::default()
        };
        assert_eq!(Room::holding(&need).ipv4_routes, 8192);
        let little = Room {
            tag_rules: 1,
            ..need
        };
        assert_eq!(Room::holding(&little).tag_rules, 2048);
        assert_eq!(need.max(&little), need);
    }
}

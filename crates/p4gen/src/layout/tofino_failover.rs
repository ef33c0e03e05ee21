//! What the tables of the `failover` programs for Tofino have that v1model's have not: the port status comes from a
//! register, ports have the device's numbers outside and the plan's inside, a table says which port is up where an ALU
//! cannot shift, another divides, and every table has the room that the plan needs.

use serde::Serialize;

use super::tofino::{Architecture, DECAPSULATE, ISLAND_OUT, renamed};
use super::{
    Action, FailoverFeatures, KeyField, Layout, MatchKind, PORT_BITS, Table, action, field, param,
    table,
};

/// The port that has gone down -> the bits of all the others.
pub const PORT_DOWN: &str = "ingress.port_down";
/// Out port, port status -> is the port up.
pub const PORT_ALIVE: &str = "ingress.port_alive";
/// Number of routings, flow hash -> which of them.
pub const WAY: &str = "ingress.way";
/// `others` (and `others_high`): ports that stay up.
pub const TAKE_DOWN: &str = "ingress.take_down";
/// The port is up.
pub const ALIVE: &str = "ingress.alive";
/// `path`: the routing.
pub const TAKE_WAY: &str = "ingress.take_way";
/// Full name of the register of the port status, 32 ports a cell; that of ports 32 to 63 ends in `_high`.
pub const PORTS_UP: &str = "ingress.ports_up";

/// Bits of a register's cell.
pub const STATUS_WORD_BITS: u16 = 32;
/// The most ports that the status stands for: two registers.
pub const STATUS_BITS_MAX: u16 = 2 * STATUS_WORD_BITS;
/// Id of the key field of the ports above the first 32.
pub const STATUS_HIGH_ID: u32 = 40;
/// The key field of the first 32 ports' status.
pub const STATUS: &str = "port_status";
/// That of the ports above.
pub const STATUS_HIGH: &str = "port_status_high";
/// The multicast group that takes port-down packets of the first pipe to the others; those of the others follow.
pub const PORT_DOWN_GROUP: u16 = 1;
/// Bits of the flow hash that choose a routing.
pub const FLOW_HASH_BITS: u16 = 16;
/// The id that p4c gives `NoAction`.
const NO_ACTION_ID: u32 = 21_257_015;

/// The port of every pipe from which its packet generator sends.
#[must_use]
pub const fn generator_port(architecture: Architecture) -> u16 {
    match architecture {
        Architecture::T2na => 6,
        Architecture::Tna | Architecture::V1model => 68,
    }
}

impl FailoverFeatures {
    /// Registers that the port status takes.
    #[must_use]
    pub fn status_words(&self) -> usize {
        self.port_bits.div_ceil(STATUS_WORD_BITS).clamp(1, 2).into()
    }
}

/// How many entries the tables of a `failover` program for Tofino hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FailoverRoom {
    /// Entries of `res_forward`.
    pub rules: u32,
    /// Entries of `encap`.
    pub destinations: u32,
    /// Entries of `neighbor`.
    pub neighbors: u32,
    /// Entries of `local_host`.
    pub local_hosts: u32,
    /// Entries of `src_forward`.
    pub next_hops: u32,
    /// Entries of `way`.
    pub ways: u32,
    /// Entries of `security`.
    pub security: u32,
}

/// What every program has room for, so that most plans share one.
impl Default for FailoverRoom {
    fn default() -> Self {
        Self {
            rules: 2048,
            destinations: 4096,
            neighbors: 2048,
            local_hosts: 512,
            next_hops: 512,
            ways: 512,
            security: 512,
        }
    }
}

impl FailoverRoom {
    /// Room for so much, and for a second version beside it: powers of two, none below [`FailoverRoom::default`].
    #[must_use]
    pub fn holding(need: &Self) -> Self {
        let up =
            |need: u32, floor: u32| need.checked_next_power_of_two().unwrap_or(need).max(floor);
        let two = |need: u32, floor: u32| up(need.saturating_mul(2), floor);
        let floor = Self::default();
        Self {
            rules: two(need.rules, floor.rules),
            destinations: two(need.destinations, floor.destinations),
            neighbors: up(need.neighbors, floor.neighbors),
            local_hosts: two(need.local_hosts, floor.local_hosts),
            next_hops: two(need.next_hops, floor.next_hops),
            ways: up(need.ways, floor.ways),
            security: up(need.security, floor.security),
        }
    }

    /// The larger of both, thing by thing.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        Self {
            rules: self.rules.max(other.rules),
            destinations: self.destinations.max(other.destinations),
            neighbors: self.neighbors.max(other.neighbors),
            local_hosts: self.local_hosts.max(other.local_hosts),
            next_hops: self.next_hops.max(other.next_hops),
            ways: self.ways.max(other.ways),
            security: self.security.max(other.security),
        }
    }
}

impl Layout {
    /// The layout of the `failover` program for Tofino with these features.
    #[must_use]
    pub fn tofino_failover(features: FailoverFeatures, room: &FailoverRoom) -> Self {
        let mut layout = Self::failover(features);
        layout.tables.retain(|t| t.name != table::PORT_STATUS);
        layout.actions.retain(|a| a.name != action::SET_PORT_STATUS);
        for table in &mut layout.tables {
            table.name = renamed(table.name).unwrap_or(table.name);
            for action in &mut table.actions {
                *action = renamed(action).unwrap_or(action);
            }
            split_status(&mut table.key, &features);
            table.size = match table.name {
                table::SECURITY => room.security,
                table::NEIGHBOR => room.neighbors,
                table::ENCAP => room.destinations,
                table::SRC_FORWARD => room.next_hops,
                table::LOCAL_HOST => room.local_hosts,
                table::RES_FORWARD => room.rules,
                _ => table.size,
            };
        }
        for action in &mut layout.actions {
            action.name = renamed(action.name).unwrap_or(action.name);
            if action.name == action::FROM_FABRIC {
                action.params.push(param(1, "port", PORT_BITS));
            }
        }
        layout.tables.extend(tables(&features, room));
        layout.actions.extend(actions(&features));
        layout.actions.sort_by_key(|a| a.id);
        debug_assert!(layout.table(ISLAND_OUT).is_some() && layout.action(DECAPSULATE).is_some());
        layout
    }
}

/// The key's port status as the registers have it.
fn split_status(key: &mut Vec<KeyField>, features: &FailoverFeatures) {
    let Some(at) = key.iter().position(|field| field.name == STATUS) else {
        return;
    };
    key[at].bits = STATUS_WORD_BITS;
    if features.status_words() > 1 {
        key.insert(at + 1, high());
    }
}

const fn high() -> KeyField {
    field(
        STATUS_HIGH_ID,
        STATUS_HIGH,
        MatchKind::Ternary,
        STATUS_WORD_BITS,
    )
}

fn tables(features: &FailoverFeatures, room: &FailoverRoom) -> Vec<Table> {
    let port = field(1, "port", MatchKind::Exact, PORT_BITS);
    let table = |name, id, key, action, size| Table {
        name,
        id,
        key,
        actions: vec![action],
        size,
        selector: None,
    };
    let mut alive = vec![
        port,
        field(4, STATUS, MatchKind::Ternary, features.port_bits),
    ];
    split_status(&mut alive, features);
    let mut tables = vec![
        table(PORT_DOWN, 0x0200_0015, vec![port], TAKE_DOWN, 512),
        table(PORT_ALIVE, 0x0200_0016, alive, ALIVE, 512),
    ];
    if features.multipath {
        let key = vec![
            field(1, "ways", MatchKind::Exact, 16),
            field(2, "flow_hash", MatchKind::Ternary, FLOW_HASH_BITS),
        ];
        tables.push(table(WAY, 0x0200_0017, key, TAKE_WAY, room.ways));
    }
    tables
}

fn actions(features: &FailoverFeatures) -> Vec<Action> {
    let others = ["others", "others_high"];
    let words = (1..).zip(others).take(features.status_words());
    let take_down: Vec<_> = words
        .map(|(id, name)| param(id, name, STATUS_WORD_BITS))
        .collect();
    let mut actions = vec![
        (TAKE_DOWN, 0x0100_0022, take_down),
        (ALIVE, 0x0100_0023, vec![]),
        (action::NO_ACTION, NO_ACTION_ID, vec![]),
    ];
    if features.multipath {
        actions.push((TAKE_WAY, 0x0100_0024, vec![param(1, "path", 16)]));
    }
    let action = |(name, id, params)| Action { name, id, params };
    actions.into_iter().map(action).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::HeaderState;

    fn layout(port_bits: u16, multipath: bool) -> Layout {
        let features = FailoverFeatures {
            state: HeaderState::Tag,
            source_routes: true,
            stack: 4,
            port_bits,
            multipath,
            rules: 16_384,
        };
        Layout::tofino_failover(features, &FailoverRoom::default())
    }

    #[test]
    fn every_action_exists_and_the_status_is_as_wide_as_the_registers() {
        for (port_bits, words) in [(5, 1), (32, 1), (33, 2), (64, 2)] {
            let layout = layout(port_bits, true);
            for table in &layout.tables {
                for action in &table.actions {
                    assert!(
                        layout.action(action).is_some(),
                        "{action} of {}",
                        table.name
                    );
                }
            }
            for name in [
                table::SRC_FORWARD,
                table::LOCAL_HOST,
                table::RES_FORWARD,
                PORT_ALIVE,
            ] {
                let table = layout.table(name).expect("it is there");
                let fields = table.key.iter().filter(|f| f.name.starts_with(STATUS));
                let bits: Vec<u16> = fields.map(|f| f.bits).collect();
                assert_eq!(bits, vec![32; words], "{name}");
            }
        }
        assert!(layout(5, false).table(WAY).is_none());
        assert!(layout(5, true).table(table::PORT_STATUS).is_none());
    }

    #[test]
    fn room_is_for_two_versions() {
        let need = FailoverRoom {
            rules: 1100,
            neighbors: 2048,
            ..FailoverRoom::default()
        };
        let room = FailoverRoom::holding(&need);
        assert_eq!((room.rules, room.neighbors), (4096, 2048));
        assert_eq!(need.max(&FailoverRoom::default()).rules, 2048);
    }
}

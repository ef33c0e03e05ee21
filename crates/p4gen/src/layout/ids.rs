//! The ids by which controllers know tables and actions (P4Runtime: the first byte says what kind
//! of object it is).
//!
//! Ids are stable: one that was published is never given to anything else, so that a controller may
//! keep entries across two builds. New names go to the end of their list. `layout.p4` is rendered
//! from these lists.

/// Tables, by the last part of their names: the first has id 0x02000001.
pub(crate) const TABLES: [&str; 29] = [
    "host_port",
    "edge_class",
    "ipv4_route",
    "ipv6_route",
    "ecmp_group",
    "classify",
    "rewrite",
    "host_port_out",
    "port_status",
    "island_in",
    "security",
    "neighbor",
    "encap",
    "src_forward",
    "local_host",
    "res_forward",
    "src_update",
    "island_out",
    "in_port_bit",
    "out_port_bit",
    "port_down",
    "port_alive",
    "way",
    "dscp_to_tc",
    "acl_tc",
    "tc_to_pg",
    "tc_to_queue",
    "tc_to_dscp",
    "ecmp_return",
];

/// Actions, by the last part of their names: the first has id 0x01000001.
pub(crate) const ACTIONS: [&str; 40] = [
    "face_host",
    "set_initial_code",
    "next_hop",
    "ecmp",
    "discard",
    "set_priorities",
    "lossy",
    "set_tag",
    "set_lossy_code",
    "strip_carrier",
    "set_edge_lossy",
    "set_port_status",
    "from_host",
    "from_fabric",
    "unknown_port",
    "deny",
    "answer",
    "encapsulate",
    "encapsulate_flow",
    "unknown_destination",
    "follow",
    "abandon",
    "no_such_port",
    "deliver",
    "no_host",
    "no_way",
    "no_rule",
    "pop",
    "push",
    "pop_and_push",
    "decapsulate",
    "set_in_port",
    "set_out_port",
    "take_down",
    "alive",
    "take_way",
    "set_tc",
    "set_pg",
    "set_queue",
    "set_dscp",
];

/// Counters, by the last part of their names: the first has id 0x12000001.
const COUNTERS: [&str; 3] = ["dropped", "ingress_class", "egress_class"];

/// Kind of tables in an id.
const TABLE: u32 = 0x0200_0000;
/// Kind of actions in an id.
const ACTION: u32 = 0x0100_0000;
/// Kind of counters in an id.
const COUNTER: u32 = 0x1200_0000;
/// The id of `send`; `send_1`, `send_2` and so on follow.
pub(crate) const SEND: u32 = ACTION + 0x40;
/// The id that p4c gives `NoAction`.
const NO_ACTION: u32 = 21_257_015;
/// The id of the action selector of ECMP groups.
pub(crate) const ECMP_SELECTOR: u32 = 0x1100_0001;

/// The id of a table; 0 for one that is not listed.
pub(super) fn of_table(name: &str) -> u32 {
    listed(&TABLES, name).map_or(0, |number| TABLE + number)
}

/// The id of an action; 0 for one that is not listed.
pub(super) fn of_action(name: &str) -> u32 {
    let short = name.rsplit('.').next().unwrap_or(name);
    match short.strip_prefix("send") {
        Some("") => SEND,
        Some(rest) => rest
            .strip_prefix('_')
            .and_then(|hops| hops.parse::<u32>().ok())
            .map_or(0, |hops| SEND + hops),
        None if short == super::action::NO_ACTION => NO_ACTION,
        None => listed(&ACTIONS, short).map_or(0, |number| ACTION + number),
    }
}

/// The place of a name in its list, from 1.
fn listed(names: &[&str], name: &str) -> Option<u32> {
    let short = name.rsplit('.').next().unwrap_or(name);
    (1..)
        .zip(names)
        .find(|(_, n)| **n == short)
        .map(|(at, _)| at)
}

/// An id under the name that P4 text has for it.
pub(crate) struct Define {
    /// `ID_TABLE_HOST_PORT`.
    pub(crate) name: String,
    /// The id.
    pub(crate) id: u32,
}

/// The ids of all tables.
pub(crate) fn tables() -> Vec<Define> {
    defines("TABLE", TABLE, &TABLES)
}

/// The ids of all actions but `send` and those after it.
pub(crate) fn actions() -> Vec<Define> {
    defines("ACTION", ACTION, &ACTIONS)
}

/// The ids of all counters.
pub(crate) fn counters() -> Vec<Define> {
    defines("COUNTER", COUNTER, &COUNTERS)
}

fn defines(kind: &str, first: u32, names: &[&str]) -> Vec<Define> {
    let define = |(id, name): (u32, &&str)| Define {
        name: format!("ID_{kind}_{}", name.to_uppercase()),
        id,
    };
    (first + 1..).zip(names).map(define).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_ids_that_p4_text_defines() {
        assert_eq!(of_table("ingress.host_port"), 0x0200_0001);
        assert_eq!(of_table("egress.rewrite"), 0x0200_0007);
        assert_eq!(of_action("ingress.send"), SEND);
        assert_eq!(of_action("ingress.send_3"), SEND + 3);
        assert_eq!(of_action("NoAction"), NO_ACTION);
        assert_eq!((of_table("x"), of_action("x")), (0, 0));
        for define in tables() {
            let name = define.name.trim_start_matches("ID_TABLE_").to_lowercase();
            assert_eq!(of_table(&name), define.id, "{name}");
        }
        for define in actions() {
            let name = define.name.trim_start_matches("ID_ACTION_").to_lowercase();
            assert_eq!(of_action(&name), define.id, "{name}");
            assert!(define.id < SEND, "{name}");
        }
    }
}

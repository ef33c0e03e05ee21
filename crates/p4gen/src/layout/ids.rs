//! The ids by which controllers know tables and actions (P4Runtime: the first byte says what kind of object it is).
//!
//! Ids are stable: one that was published is never given to anything else, so that a controller may keep entries across two
//! builds. New names go to the end of their list. A test holds `p4src/layout.p4` against these lists.

/// Tables, by the last part of their names: the first has id 0x02000001.
pub(crate) const TABLES: [&str; 23] = [
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
];

/// Actions, by the last part of their names: the first has id 0x01000001.
pub(crate) const ACTIONS: [&str; 36] = [
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
];

/// Kind of tables in an id.
const TABLE: u32 = 0x0200_0000;
/// Kind of actions in an id.
const ACTION: u32 = 0x0100_0000;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::family::failover::{MOST_SWITCHES, NO_PORT};
    use crate::layout::DropReason;

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

    #[test]
    fn the_p4_file_has_these_ids_and_no_others() {
        let p4 = p4_constants();
        let upper = |prefix: &str, name: &&str| format!("{prefix}{}", name.to_uppercase());
        let tables = TABLES.iter().map(|t| (upper("ID_TABLE_", t), of_table(t)));
        let actions = ACTIONS.iter().chain(&["send"]);
        let actions = actions.map(|a| (upper("ID_ACTION_", a), of_action(a)));
        let ours: BTreeMap<String, u32> = tables.chain(actions).collect();
        let is_id = |name: &str| name.starts_with("ID_TABLE_") || name.starts_with("ID_ACTION_");
        let theirs: BTreeMap<String, u32> =
            p4.clone().into_iter().filter(|(n, _)| is_id(n)).collect();
        assert_eq!(ours, theirs);
        assert_eq!(p4.get("ID_SELECTOR_ECMP"), Some(&ECMP_SELECTOR));
        assert_eq!(of_action("ingress.send_3"), SEND + 3);
    }

    #[test]
    fn the_p4_file_has_these_numbers() {
        let p4 = p4_constants();
        for reason in DropReason::ALL {
            let number = reason as u32;
            assert_eq!(p4.get(reason.p4_name()), Some(&number), "{reason:?}");
        }
        for (name, number) in [
            ("NO_PORT", u32::from(NO_PORT)),
            ("MOST_SWITCHES", u32::from(MOST_SWITCHES)),
            ("LOSSY_PRIORITY", u32::from(plan::LOSSY_PRIORITY.get())),
        ] {
            assert_eq!(p4.get(name), Some(&number), "{name}");
        }
    }
}

//! What commands there are.

/// Commands with their arguments, and what they do.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("show_tables", "", "tables and their keys"),
    ("show_actions", "", "actions and their parameters"),
    ("show_ports", "", "ports, links, counters (admin socket)"),
    ("switch_info", "", "what the program has"),
    ("table_info", "TABLE", "keys and implementation"),
    ("table_show_actions", "TABLE", "actions of a table"),
    ("table_num_entries", "TABLE", "number of entries"),
    ("table_dump", "TABLE", "entries and the default"),
    ("table_dump_entry", "TABLE HANDLE", "one entry"),
    (
        "table_dump_entry_from_key",
        "TABLE KEYS [PRIORITY]",
        "the entry with this key",
    ),
    (
        "table_add",
        "TABLE ACTION KEYS => ARGUMENTS [PRIORITY]",
        "add an entry; the smallest priority wins",
    ),
    (
        "table_indirect_add",
        "TABLE KEYS => MEMBER [PRIORITY]",
        "add an entry of an action profile",
    ),
    (
        "table_indirect_add_with_group",
        "TABLE KEYS => GROUP [PRIORITY]",
        "add an entry of a selector",
    ),
    (
        "table_modify",
        "TABLE ACTION HANDLE [=>] ARGUMENTS",
        "change an entry's action",
    ),
    (
        "table_indirect_modify",
        "TABLE HANDLE MEMBER",
        "change an entry's member",
    ),
    (
        "table_indirect_modify_with_group",
        "TABLE HANDLE GROUP",
        "change an entry's group",
    ),
    ("table_delete", "TABLE HANDLE", "delete an entry"),
    ("table_indirect_delete", "TABLE HANDLE", "delete an entry"),
    ("table_clear", "TABLE", "delete all entries"),
    (
        "table_set_default",
        "TABLE ACTION ARGUMENTS",
        "set the default action",
    ),
    (
        "table_reset_default",
        "TABLE",
        "the program's default action again",
    ),
    (
        "table_set_timeout",
        "TABLE HANDLE MILLISECONDS",
        "set an entry's idle timeout",
    ),
    (
        "act_prof_create_member",
        "PROFILE ACTION ARGUMENTS",
        "make a member",
    ),
    (
        "act_prof_modify_member",
        "PROFILE ACTION MEMBER ARGUMENTS",
        "change a member",
    ),
    (
        "act_prof_delete_member",
        "PROFILE MEMBER",
        "delete a member",
    ),
    ("act_prof_create_group", "PROFILE", "make a group"),
    ("act_prof_delete_group", "PROFILE GROUP", "delete a group"),
    (
        "act_prof_add_member_to_group",
        "PROFILE MEMBER GROUP",
        "put a member into a group",
    ),
    (
        "act_prof_remove_member_from_group",
        "PROFILE MEMBER GROUP",
        "take it out",
    ),
    ("act_prof_dump", "PROFILE", "members and groups"),
    ("act_prof_dump_member", "PROFILE MEMBER", "one member"),
    ("act_prof_dump_group", "PROFILE GROUP", "one group"),
    ("mc_mgrp_create", "GROUP", "make a multicast group"),
    ("mc_mgrp_destroy", "GROUP", "delete it"),
    ("mc_node_create", "INSTANCE PORTS", "make a node"),
    ("mc_node_update", "NODE PORTS", "change a node's ports"),
    (
        "mc_node_destroy",
        "NODE",
        "take it out of its groups, and forget it",
    ),
    ("mc_node_associate", "GROUP NODE", "put a node into a group"),
    ("mc_node_dissociate", "GROUP NODE", "take it out"),
    ("mc_dump", "", "groups and nodes"),
    (
        "mirroring_add",
        "SESSION PORT",
        "clones of a session go to a port",
    ),
    (
        "mirroring_add_mc",
        "SESSION GROUP",
        "they go where a group's copies go now",
    ),
    ("mirroring_delete", "SESSION", "delete a session"),
    ("mirroring_get", "SESSION", "where clones go"),
    (
        "counter_read",
        "COUNTER INDEX",
        "read a cell (of a direct counter: by handle)",
    ),
    (
        "counter_write",
        "COUNTER INDEX PACKETS BYTES",
        "write a cell",
    ),
    ("counter_reset", "COUNTER", "all cells to zero"),
    ("register_read", "REGISTER [INDEX]", "read one cell or all"),
    ("register_write", "REGISTER INDEX VALUE", "write a cell"),
    ("register_reset", "REGISTER", "all cells to zero"),
    (
        "meter_set_rates",
        "METER INDEX RATE:BURST RATE:BURST",
        "set a cell's rates, per microsecond",
    ),
    (
        "meter_array_set_rates",
        "METER RATE:BURST RATE:BURST",
        "set all cells' rates",
    ),
    ("meter_get_rates", "METER INDEX", "a cell's rates"),
    (
        "port_add",
        "INTERFACE PORT, or PORT@INTERFACE",
        "add a port (admin socket)",
    ),
    ("port_remove", "PORT", "remove a port (admin socket)"),
    (
        "set_queue_depth",
        "PACKETS [PORT [QUEUE]]",
        "how many packets may wait (admin socket)",
    ),
    (
        "set_queue_rate",
        "PACKETS_PER_SECOND [PORT [QUEUE]]",
        "how many leave; 0: no limit (admin socket)",
    ),
    ("show_pvs", "", "parser value sets"),
    ("pvs_add", "VALUE_SET VALUE", "put a value in"),
    ("pvs_remove", "VALUE_SET VALUE", "take a value out"),
    ("pvs_get", "VALUE_SET", "the values"),
    ("pvs_clear", "VALUE_SET", "take all values out"),
    ("reset_state", "", "the same pipeline without entries"),
    (
        "write_config_to_file",
        "FILE",
        "the device config that the switch was given",
    ),
    (
        "get_time_elapsed",
        "",
        "microseconds since the start (admin socket)",
    ),
    (
        "get_time_since_epoch",
        "",
        "the same: the clock starts with the switch",
    ),
    ("help", "[COMMAND]", "this"),
];

/// The names of all commands.
pub(super) fn commands() -> Vec<String> {
    let names = COMMANDS.iter().map(|(name, _, _)| (*name).to_owned());
    names.chain(["help", "exit"].map(str::to_owned)).collect()
}

/// Commands of simple_switch_CLI that have no counterpart, and what to do instead.
const ABSENT: &[(&str, &str)] = &[
    ("load_new_config_file", "push a pipeline over P4Runtime"),
    (
        "swap_configs",
        "push a pipeline over P4Runtime; it swaps at once",
    ),
    (
        "serialize_state",
        "the switch keeps its state itself: start it with --state-dir DIR",
    ),
    (
        "table_indirect_set_default",
        "P4Runtime has no default members; set a default action with table_set_default",
    ),
    (
        "table_indirect_set_default_with_group",
        "P4Runtime has no default groups; set a default action with table_set_default",
    ),
    (
        "mc_set_lag_membership",
        "there are no LAGs; use an action selector over the ports, or name the ports in the node",
    ),
    (
        "set_crc16_parameters",
        "the parameters of a program's custom CRCs are those it was loaded with",
    ),
    (
        "set_crc32_parameters",
        "the parameters of a program's custom CRCs are those it was loaded with",
    ),
    (
        "set_toeplitz_hash_key",
        "the key of a program's Toeplitz hash is the one it was loaded with",
    ),
    ("shell", "use a shell"),
];

/// Whether it is a command of simple_switch_CLI that has no counterpart.
pub(super) fn is_absent(command: &str) -> bool {
    ABSENT.iter().any(|(name, _)| *name == command)
}

/// The help of a command, or of all.
pub(super) fn text(command: Option<&str>) -> String {
    let line = |(name, arguments, what): &(&str, &str, &str)| {
        let usage = format!("{name} {arguments}");
        format!("{usage:<58} {what}\n")
    };
    match command {
        None => COMMANDS.iter().map(line).collect(),
        Some(wanted) => match COMMANDS.iter().find(|(name, ..)| *name == wanted) {
            Some(found) => line(found),
            None => unknown(wanted),
        },
    }
}

/// The usage of a command that was given wrong arguments, or that it is unknown.
pub(super) fn unknown_or_usage(command: &str) -> String {
    match COMMANDS.iter().find(|(name, ..)| *name == command) {
        Some((name, arguments, _)) => format!("usage: {name} {arguments}"),
        None => unknown(command),
    }
}

/// That a command is unknown.
pub(super) fn unknown(command: &str) -> String {
    match ABSENT.iter().find(|(name, _)| *name == command) {
        Some((_, instead)) => format!("'{command}' is not supported here: {instead}"),
        None => format!("unknown command '{command}'; `help` lists what there is"),
    }
}

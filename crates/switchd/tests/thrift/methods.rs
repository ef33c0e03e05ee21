//! Every method: what it does, and what it is refused for.

use std::collections::BTreeSet;

use switchd::thrift::method_names;
use switchd::thrift::value::{Fields, Value};
use thrift::protocol::TType;

use crate::support::{
    Client, Failure, Rig, bytes, counts, data, exact, fields, int, json, key, lpm, number, options,
    range, rates, ternary, text,
};

fn code(code: i32) -> Result<Option<Value>, Failure> {
    Err(Failure::Code(code))
}

fn done() -> Result<Option<Value>, Failure> {
    Ok(None)
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::List(_, elements)) => elements,
        other => panic!("a list is expected, not {other:?}"),
    }
}

fn entries(client: &mut Client, table: &str) -> Vec<Fields> {
    let found = list(client.standard("bm_mt_get_entries", [text(table)]).unwrap());
    found.into_iter().map(|e| fields(Some(e))).collect()
}

fn direct_entries(c: &mut Client) {
    let route = || {
        [
            text("I.routes"),
            key([lpm(&[10, 1, 2, 3], 16)]),
            text("I.send"),
            data(&[&[0, 2]]),
            options(None),
        ]
    };
    let handle = int(c.standard("bm_mt_add_entry", route()).unwrap());
    assert_eq!(handle, 0);
    assert_eq!(c.standard("bm_mt_add_entry", route()), code(17));
    let count = c.standard("bm_mt_get_num_entries", [text("I.routes")]);
    assert_eq!(count, Ok(Some(Value::I64(1))));
    let of = |at: i32| [text("I.routes"), number(at)];
    let entry = fields(c.standard("bm_mt_get_entry", of(handle)).unwrap());
    let prefix = entry.structs(1).unwrap()[0].fields(3).unwrap();
    // What the prefix leaves out is gone.
    assert_eq!(prefix.bytes(1).unwrap(), [10, 1, 0, 0]);
    assert_eq!(prefix.i32(2).unwrap(), 16);
    let action = entry.fields(4).unwrap();
    assert_eq!(action.text(2).unwrap(), "I.send");
    assert_eq!(action.byte_strings(3).unwrap(), [&[2]]);
    let modify = |at: i32, action: &str, values: &[&[u8]]| {
        [text("I.routes"), number(at), text(action), data(values)]
    };
    assert_eq!(
        c.standard("bm_mt_modify_entry", modify(handle, "I.drop", &[])),
        done()
    );
    assert_eq!(
        c.standard("bm_mt_modify_entry", modify(handle, "I.wide", &[])),
        code(8)
    );
    assert_eq!(
        c.standard("bm_mt_modify_entry", modify(handle, "I.send", &[])),
        code(26)
    );
    assert_eq!(
        c.standard("bm_mt_modify_entry", modify(5, "I.drop", &[])),
        code(2)
    );
    let same = [
        text("I.routes"),
        key([lpm(&[10, 1, 0, 0], 16)]),
        options(None),
    ];
    let found = fields(c.standard("bm_mt_get_entry_from_key", same).unwrap());
    assert_eq!(found.fields(4).unwrap().text(2).unwrap(), "I.drop");
    let other = [
        text("I.routes"),
        key([lpm(&[11, 0, 0, 0], 8)]),
        options(None),
    ];
    assert_eq!(c.standard("bm_mt_get_entry_from_key", other), code(18));
    assert_eq!(c.standard("bm_mt_delete_entry", of(handle)), done());
    assert_eq!(c.standard("bm_mt_delete_entry", of(handle)), code(3));
    // The place is used again, under another handle.
    assert_eq!(
        c.standard("bm_mt_add_entry", route()),
        Ok(Some(number(1 << 24)))
    );
    assert_eq!(
        c.standard("bm_mt_clear_entries", [text("I.routes"), Value::Bool(true)]),
        done()
    );
    assert!(entries(c, "I.routes").is_empty());
    for (args, why) in [
        (
            [
                text("I.nowhere"),
                key([]),
                text("I.send"),
                data(&[]),
                options(None),
            ],
            7,
        ),
        (
            [
                text("I.routes"),
                key([]),
                text("I.send"),
                data(&[&[1]]),
                options(None),
            ],
            18,
        ),
        (
            [
                text("I.routes"),
                key([exact(&[1])]),
                text("I.send"),
                data(&[&[1]]),
                options(None),
            ],
            18,
        ),
        (
            [
                text("I.keyless"),
                key([]),
                text("I.send"),
                data(&[&[1]]),
                options(None),
            ],
            27,
        ),
        (
            [
                text("I.ecmp"),
                key([exact(&[1])]),
                text("I.send"),
                data(&[&[1]]),
                options(None),
            ],
            9,
        ),
        (
            [
                text("I.fixed"),
                key([]),
                text("I.send"),
                data(&[&[1]]),
                options(None),
            ],
            25,
        ),
    ] {
        assert_eq!(c.standard("bm_mt_add_entry", args), code(why));
    }
    assert_eq!(
        c.standard("bm_mt_clear_entries", [text("I.fixed")]),
        code(25)
    );
}

fn priorities_and_direct_data(c: &mut Client) {
    let rule = |priority: i32| {
        let fields = [
            ternary(&[10, 0, 0, 9], &[255, 0, 0, 0]),
            range(&[0, 1], &[0, 9]),
            ternary(&[7], &[255]),
        ];
        [
            text("I.acl"),
            key(fields),
            text("I.counted"),
            data(&[]),
            options(Some(priority)),
        ]
    };
    let first = int(c.standard("bm_mt_add_entry", rule(3)).unwrap());
    let second = int(c.standard("bm_mt_add_entry", rule(4)).unwrap());
    let found = entries(c, "I.acl");
    let priority = |entry: &Fields| entry.fields(2).unwrap().i32(1).unwrap();
    let numbers: BTreeSet<i32> = found.iter().map(priority).collect();
    assert_eq!(numbers, BTreeSet::from([3, 4]));
    let at = |handle: i32| [text("I.acl"), number(handle)];
    let write = [text("I.acl"), number(first), counts(700, 5)];
    assert_eq!(c.standard("bm_mt_write_counter", write), done());
    assert_eq!(
        c.standard("bm_mt_read_counter", at(first)),
        Ok(Some(counts(700, 5)))
    );
    assert_eq!(
        c.standard("bm_mt_read_counter", at(second)),
        Ok(Some(counts(0, 0)))
    );
    assert_eq!(c.standard("bm_mt_reset_counters", [text("I.acl")]), done());
    assert_eq!(
        c.standard("bm_mt_read_counter", at(first)),
        Ok(Some(counts(0, 0)))
    );
    assert_eq!(
        c.standard("bm_mt_reset_counters", [text("I.routes")]),
        code(4)
    );
    let metered = [
        text("I.policed"),
        key([exact(&[0, 5])]),
        text("I.metered"),
        data(&[]),
        options(None),
    ];
    let handle = int(c.standard("bm_mt_add_entry", metered).unwrap());
    let both = [(0.5, 10), (2.0, 20)];
    let set = |given: &[(f64, i32)]| [text("I.policed"), number(handle), rates(given)];
    assert_eq!(c.standard("bm_mt_set_meter_rates", set(&both)), done());
    assert_eq!(
        c.standard("bm_mt_set_meter_rates", set(&both[..1])),
        code(19)
    );
    let get = [text("I.policed"), number(handle)];
    assert_eq!(
        c.standard("bm_mt_get_meter_rates", get),
        Ok(Some(rates(&both)))
    );
    // A modification keeps them.
    let modify = [
        text("I.policed"),
        number(handle),
        text("NoAction"),
        data(&[]),
    ];
    assert_eq!(c.standard("bm_mt_modify_entry", modify), done());
    let get = [text("I.policed"), number(handle)];
    assert_eq!(
        c.standard("bm_mt_get_meter_rates", get),
        Ok(Some(rates(&both)))
    );
    assert_eq!(c.standard("bm_mt_get_meter_rates", at(first)), code(5));
}

fn defaults_and_ages(c: &mut Client) {
    let set =
        |table: &str, action: &str, values: &[&[u8]]| [text(table), text(action), data(values)];
    let default = |c: &mut Client, table: &str| {
        fields(
            c.standard("bm_mt_get_default_entry", [text(table)])
                .unwrap(),
        )
        .text(2)
        .unwrap()
    };
    assert_eq!(
        c.standard(
            "bm_mt_set_default_action",
            set("I.exact_one", "I.send", &[&[3]])
        ),
        done()
    );
    assert_eq!(default(c, "I.exact_one"), "I.send");
    assert_eq!(
        c.standard("bm_mt_reset_default_entry", [text("I.exact_one")]),
        done()
    );
    assert_eq!(default(c, "I.exact_one"), "I.drop");
    assert_eq!(
        c.standard(
            "bm_mt_set_default_action",
            set("I.policed", "I.metered", &[])
        ),
        code(20)
    );
    assert_eq!(
        c.standard("bm_mt_set_default_action", set("I.ecmp", "I.drop", &[])),
        code(9)
    );
    let none = [text("I.exact_one"), key([]), options(None)];
    let found = fields(c.standard("bm_mt_get_entry_from_key", none).unwrap());
    assert_eq!(found.fields(4).unwrap().text(2).unwrap(), "I.drop");
    let add = [
        text("I.exact_one"),
        key([exact(&[1, 2, 3, 4])]),
        text("I.drop"),
        data(&[]),
        options(None),
    ];
    let handle = int(c.standard("bm_mt_add_entry", add).unwrap());
    let age = |table: &str, at: i32| [text(table), number(at), number(60_000)];
    assert_eq!(
        c.standard("bm_mt_set_entry_ttl", age("I.exact_one", handle)),
        done()
    );
    let entry = &entries(c, "I.exact_one")[0];
    assert_eq!(entry.fields(5).unwrap().i32(1).unwrap(), 60_000);
    // The JSON does not say which entries are `const`; BMv2 takes all initial entries for it.
    for handle in [0, 1] {
        assert_eq!(
            c.standard("bm_mt_set_entry_ttl", age("I.begun", handle)),
            code(25)
        );
    }
}

fn members_and_groups(c: &mut Client) {
    let profile = || text("I.spread");
    let add = |port: u8| [profile(), text("I.send"), data(&[&[port]])];
    assert_eq!(
        c.standard("bm_mt_act_prof_add_member", add(1)),
        Ok(Some(number(0)))
    );
    assert_eq!(
        c.standard("bm_mt_act_prof_add_member", add(2)),
        Ok(Some(number(1)))
    );
    let bad = [text("I.none"), text("I.send"), data(&[&[1]])];
    assert_eq!(c.standard("bm_mt_act_prof_add_member", bad), code(23));
    let modify = |at: i32| [profile(), number(at), text("I.send"), data(&[&[7]])];
    assert_eq!(
        c.standard("bm_mt_act_prof_modify_member", modify(1)),
        done()
    );
    assert_eq!(
        c.standard("bm_mt_act_prof_modify_member", modify(9)),
        code(10)
    );
    let member = fields(
        c.standard("bm_mt_act_prof_get_member", [profile(), number(1)])
            .unwrap(),
    );
    assert_eq!(member.byte_strings(3).unwrap(), [&[7]]);
    let group = int(c
        .standard("bm_mt_act_prof_create_group", [profile()])
        .unwrap());
    assert_eq!(
        c.standard("bm_mt_act_prof_create_group", [text("I.shared")]),
        code(24)
    );
    let entry = |to: i32| {
        [
            text("I.ecmp"),
            key([exact(&[6])]),
            number(to),
            options(None),
        ]
    };
    assert_eq!(
        c.standard("bm_mt_indirect_ws_add_entry", entry(group)),
        code(16)
    );
    let pair = |member: i32| [profile(), number(member), number(group)];
    assert_eq!(
        c.standard("bm_mt_act_prof_add_member_to_group", pair(1)),
        done()
    );
    assert_eq!(
        c.standard("bm_mt_act_prof_add_member_to_group", pair(1)),
        code(12)
    );
    assert_eq!(
        c.standard("bm_mt_act_prof_remove_member_from_group", pair(0)),
        code(13)
    );
    let of = |at: i32| [profile(), number(at)];
    let found = fields(c.standard("bm_mt_act_prof_get_group", of(group)).unwrap());
    assert_eq!(found.i32(1).unwrap(), group);
    assert_eq!(
        list(
            c.standard("bm_mt_act_prof_get_members", [profile()])
                .unwrap()
        )
        .len(),
        2
    );
    assert_eq!(
        list(
            c.standard("bm_mt_act_prof_get_groups", [profile()])
                .unwrap()
        )
        .len(),
        1
    );
    let handle = int(c
        .standard("bm_mt_indirect_ws_add_entry", entry(group))
        .unwrap());
    assert_eq!(
        c.standard("bm_mt_act_prof_delete_group", of(group)),
        code(15)
    );
    assert_eq!(c.standard("bm_mt_act_prof_delete_member", of(1)), code(11));
    let to = |at: i32| [text("I.ecmp"), number(handle), number(at)];
    assert_eq!(c.standard("bm_mt_indirect_modify_entry", to(0)), done());
    assert_eq!(c.standard("bm_mt_indirect_modify_entry", to(8)), code(10));
    assert_eq!(
        c.standard("bm_mt_indirect_ws_modify_entry", to(group)),
        done()
    );
    assert_eq!(
        c.standard("bm_mt_indirect_ws_modify_entry", to(8)),
        code(14)
    );
    assert_eq!(c.standard("bm_mt_indirect_set_entry_ttl", to(5)), code(6));
    let default = |at: i32| [text("I.ecmp"), number(at)];
    assert_eq!(
        c.standard("bm_mt_indirect_set_default_member", default(0)),
        code(100)
    );
    assert_eq!(
        c.standard("bm_mt_indirect_set_default_member", default(8)),
        code(10)
    );
    assert_eq!(
        c.standard("bm_mt_indirect_ws_set_default_group", default(group)),
        code(100)
    );
    assert_eq!(
        c.standard("bm_mt_indirect_reset_default_entry", [text("I.ecmp")]),
        done()
    );
    assert_eq!(
        c.standard("bm_mt_delete_entry", [text("I.ecmp"), number(handle)]),
        code(9)
    );
    assert_eq!(
        c.standard(
            "bm_mt_indirect_delete_entry",
            [text("I.ecmp"), number(handle)]
        ),
        done()
    );
    assert_eq!(
        c.standard("bm_mt_act_prof_remove_member_from_group", pair(1)),
        done()
    );
    assert_eq!(c.standard("bm_mt_act_prof_delete_group", of(group)), done());
    assert_eq!(
        c.standard("bm_mt_act_prof_delete_group", of(group)),
        code(14)
    );
    assert_eq!(c.standard("bm_mt_act_prof_delete_member", of(1)), done());
    let shared = [text("I.shared"), text("I.drop"), data(&[])];
    let member = int(c.standard("bm_mt_act_prof_add_member", shared).unwrap());
    let entry = [
        text("I.indirect"),
        key([exact(&[6])]),
        number(member),
        options(None),
    ];
    assert!(c.standard("bm_mt_indirect_add_entry", entry).is_ok());
    let found = entries(c, "I.indirect");
    assert_eq!(found[0].fields(4).unwrap().i32(4).unwrap(), member);
}

fn arrays(c: &mut Client) {
    let seen = |at: i32| [text("I.seen"), number(at)];
    let write = [text("I.seen"), number(3), counts(9, 8)];
    assert_eq!(c.standard("bm_counter_write", write), done());
    assert_eq!(
        c.standard("bm_counter_read", seen(3)),
        Ok(Some(counts(9, 8)))
    );
    assert_eq!(c.standard("bm_counter_read", seen(16)), code(2));
    assert_eq!(c.standard("bm_counter_read", seen(-1)), code(2));
    assert_eq!(c.standard("bm_counter_reset_all", [text("I.seen")]), done());
    assert_eq!(
        c.standard("bm_counter_read", seen(3)),
        Ok(Some(counts(0, 0)))
    );
    assert_eq!(
        c.standard("bm_counter_reset_all", [text("I.sums")]),
        code(1)
    );
    let both = [(0.001, 500), (0.002, 900)];
    let get = |at: i32| [text("I.flow"), number(at)];
    assert_eq!(
        c.standard("bm_meter_get_rates", get(1)),
        Ok(Some(rates(&[])))
    );
    let set = |at: i32, given: &[(f64, i32)]| [text("I.flow"), number(at), rates(given)];
    assert_eq!(c.standard("bm_meter_set_rates", set(1, &both)), done());
    assert_eq!(
        c.standard("bm_meter_get_rates", get(1)),
        Ok(Some(rates(&both)))
    );
    assert_eq!(
        c.standard("bm_meter_get_rates", get(2)),
        Ok(Some(rates(&[])))
    );
    assert_eq!(
        c.standard("bm_meter_array_set_rates", [text("I.flow"), rates(&both)]),
        done()
    );
    assert_eq!(
        c.standard("bm_meter_get_rates", get(2)),
        Ok(Some(rates(&both)))
    );
    assert_eq!(
        c.standard("bm_meter_set_rates", set(1, &both[..1])),
        code(3)
    );
    assert_eq!(
        c.standard("bm_meter_set_rates", set(1, &[both[1], both[0]])),
        code(4)
    );
    assert_eq!(
        c.standard("bm_meter_set_rates", set(1, &[(1.0, -1), (2.0, 1)])),
        code(5)
    );
    assert_eq!(c.standard("bm_meter_set_rates", set(8, &both)), code(2));
    let at = |at: i32| [text("I.sums"), number(at)];
    let write = [text("I.sums"), number(5), Value::I64(0x1_2345)];
    assert_eq!(c.standard("bm_register_write", write), done());
    // A cell has 16 bits.
    assert_eq!(
        c.standard("bm_register_read", at(5)),
        Ok(Some(Value::I64(0x2345)))
    );
    let range = |from: i32, to: i32| [text("I.sums"), number(from), number(to), Value::I64(7)];
    assert_eq!(c.standard("bm_register_write_range", range(1, 3)), done());
    assert_eq!(c.standard("bm_register_write_range", range(3, 40)), code(2));
    let all = list(
        c.standard("bm_register_read_all", [text("I.sums")])
            .unwrap(),
    );
    assert_eq!(all.len(), 32);
    assert_eq!(all[..4], [0, 7, 7, 0].map(Value::I64));
    assert_eq!(c.standard("bm_register_reset", [text("I.sums")]), done());
    assert_eq!(
        c.standard("bm_register_read", at(5)),
        Ok(Some(Value::I64(0)))
    );
    assert_eq!(c.standard("bm_register_read", at(32)), code(2));
    let member = |value: u8| [text("P.special"), bytes(&[value])];
    let get = |c: &mut Client| c.standard("bm_parse_vset_get", [text("P.special")]);
    assert_eq!(c.standard("bm_parse_vset_add", member(9)), done());
    assert_eq!(c.standard("bm_parse_vset_add", member(9)), done());
    assert_eq!(get(c), Ok(Some(data(&[&[9]]))));
    assert_eq!(c.standard("bm_parse_vset_remove", member(9)), done());
    assert_eq!(get(c), Ok(Some(data(&[]))));
    assert_eq!(c.standard("bm_parse_vset_add", member(8)), done());
    assert_eq!(
        c.standard("bm_parse_vset_clear", [text("P.special")]),
        done()
    );
    assert_eq!(get(c), Ok(Some(data(&[]))));
    assert_eq!(c.standard("bm_parse_vset_clear", [text("P.none")]), code(1));
}

fn replication(c: &mut Client) {
    assert_eq!(
        c.multicast("bm_mc_mgrp_create", [number(5)]),
        Ok(Some(number(5)))
    );
    assert_eq!(c.multicast("bm_mc_mgrp_create", [number(0)]), code(2));
    let node = |rid: i32, ports: &str, lags: &str| [number(rid), text(ports), text(lags)];
    assert_eq!(
        c.multicast("bm_mc_node_create", node(1, "110", "10")),
        Ok(Some(number(0)))
    );
    assert_eq!(
        c.multicast("bm_mc_node_create", node(1, "1x0", "")),
        code(5)
    );
    let pair = [number(5), number(0)];
    assert_eq!(c.multicast("bm_mc_node_associate", pair.clone()), done());
    assert_eq!(c.multicast("bm_mc_node_associate", pair.clone()), code(5));
    assert_eq!(
        c.multicast("bm_mc_node_associate", [number(6), number(0)]),
        code(3)
    );
    assert_eq!(
        c.multicast("bm_mc_node_associate", [number(5), number(9)]),
        code(4)
    );
    let lag = [Value::I16(1), text("1100000")];
    assert_eq!(c.multicast("bm_mc_set_lag_membership", lag), done());
    assert_eq!(
        c.multicast("bm_mc_node_update", [number(0), text("1000"), text("10")]),
        done()
    );
    let Ok(Some(Value::Bytes(dump))) = c.multicast("bm_mc_get_entries", []) else {
        panic!("a dump is expected");
    };
    let dump: serde_json::Value = serde_json::from_slice(&dump).unwrap();
    assert_eq!(dump["mgrps"][0]["l1_handles"], serde_json::json!([0]));
    assert_eq!(dump["l2_handles"][0]["ports"], serde_json::json!([3]));
    assert_eq!(dump["lags"][0]["ports"], serde_json::json!([5, 6]));
    assert_eq!(c.multicast("bm_mc_node_dissociate", pair.clone()), done());
    assert_eq!(c.multicast("bm_mc_node_dissociate", pair), code(5));
    assert_eq!(c.multicast("bm_mc_node_destroy", [number(0)]), done());
    assert_eq!(c.multicast("bm_mc_node_destroy", [number(0)]), code(4));
    assert_eq!(c.multicast("bm_mc_mgrp_destroy", [number(5)]), done());
    let pre = |c: &mut Client, name: &str, args: &[Value]| {
        c.call(
            "simple_pre",
            name,
            [number(0)].into_iter().chain(args.iter().cloned()),
        )
    };
    assert!(pre(c, "bm_mc_mgrp_create", &[number(2)]).is_ok());
    assert_eq!(
        pre(c, "bm_mc_node_create", &[number(1), text("10")]),
        Ok(Some(number(0)))
    );
    assert_eq!(
        pre(c, "bm_mc_node_associate", &[number(2), number(0)]),
        done()
    );
    assert_eq!(
        pre(c, "bm_mc_node_update", &[number(0), text("100")]),
        done()
    );
    assert!(pre(c, "bm_mc_get_entries", &[]).is_ok());
    assert_eq!(
        pre(c, "bm_mc_node_dissociate", &[number(2), number(0)]),
        done()
    );
    assert_eq!(pre(c, "bm_mc_node_destroy", &[number(0)]), done());
    assert_eq!(pre(c, "bm_mc_mgrp_destroy", &[number(2)]), done());
}

fn switch(c: &mut Client) {
    let mut call = |name: &str, args: &[Value]| c.call("simple_switch", name, args.to_vec());
    let session = |port: Option<i32>, group: Option<i32>| {
        let port = port.map(|p| (1, number(p)));
        Value::structure(port.into_iter().chain(group.map(|g| (2, number(g)))))
    };
    for config in [
        session(Some(4), None),
        session(None, Some(7)),
        session(Some(4), Some(7)),
    ] {
        for at in [0, 250] {
            let add = call("mirroring_session_add", &[number(at), config.clone()]);
            assert_eq!(add, done());
            assert_eq!(
                call("mirroring_session_get", &[number(at)]),
                Ok(Some(config.clone()))
            );
        }
    }
    assert_eq!(call("mirroring_session_delete", &[number(0)]), done());
    assert_eq!(call("mirroring_session_delete", &[number(250)]), done());
    assert_eq!(call("mirroring_session_delete", &[number(250)]), code(1));
    assert_eq!(call("mirroring_session_get", &[number(250)]), code(1));
    assert_eq!(call("mirroring_session_get", &[number(-1)]), code(1));
    assert_eq!(
        call("mirroring_mapping_add", &[number(3), number(2)]),
        Ok(Some(number(1)))
    );
    assert_eq!(
        call("mirroring_mapping_get_egress_port", &[number(3)]),
        Ok(Some(number(2)))
    );
    assert_eq!(
        call("mirroring_mapping_delete", &[number(3)]),
        Ok(Some(number(1)))
    );
    assert_eq!(
        call("mirroring_mapping_get_egress_port", &[number(3)]),
        Ok(Some(number(-1)))
    );
    let (port, none, depth, rate) = (number(1), number(0), number(64), Value::I64(1000));
    let fine = Ok(Some(number(0)));
    assert_eq!(
        call("set_all_egress_queue_depths", std::slice::from_ref(&depth)),
        fine
    );
    assert_eq!(
        call("set_egress_queue_depth", &[port.clone(), depth.clone()]),
        fine
    );
    let one = [port.clone(), none.clone(), depth];
    assert_eq!(call("set_egress_priority_queue_depth", &one), fine);
    assert_eq!(
        call("set_all_egress_queue_rates", std::slice::from_ref(&rate)),
        fine
    );
    assert_eq!(
        call("set_egress_queue_rate", &[port.clone(), rate.clone()]),
        fine
    );
    assert_eq!(
        call("set_egress_priority_queue_rate", &[port, none, rate]),
        fine
    );
    for clock in ["get_time_elapsed_us", "get_time_since_epoch_us"] {
        assert!(matches!(call(clock, &[]), Ok(Some(Value::I64(1..)))));
    }
}

fn hashes_and_learning(c: &mut Client) {
    let json: serde_json::Value = serde_json::from_str(&json()).unwrap();
    let calculations = json["calculations"].as_array().unwrap();
    let custom = calculations
        .iter()
        .find(|c| c["algo"] == "crc16_custom")
        .unwrap();
    let name = custom["name"].as_str().unwrap();
    let crc16 = Value::structure([
        (1, Value::I16(0x1021)),
        (2, Value::I16(-1)),
        (3, Value::I16(0)),
        (4, Value::Bool(false)),
        (5, Value::Bool(false)),
    ]);
    let set = "bm_set_crc16_custom_parameters";
    assert_eq!(c.standard(set, [text(name), crc16.clone()]), done());
    assert_eq!(c.standard(set, [text("calc_none"), crc16]), code(1));
    let crc32 = Value::structure([(1, number(0x04c1_1db7))]);
    assert_eq!(
        c.standard("bm_set_crc32_custom_parameters", [text(name), crc32]),
        code(2)
    );
    assert_eq!(
        c.standard("bm_set_toeplitz_hash_key", [text(name), bytes(&[1; 16])]),
        code(2)
    );
    let learned = i32::try_from(json["learn_lists"][0]["id"].as_i64().unwrap()).unwrap();
    let samples = Value::List(TType::I32, Vec::new());
    for (list, why) in [(learned, 3), (learned + 77, 1)] {
        let ack = [number(list), Value::I64(1), samples.clone()];
        assert_eq!(c.standard("bm_learning_ack", ack), code(why));
        let ack = [number(list), Value::I64(1)];
        assert_eq!(c.standard("bm_learning_ack_buffer", ack), code(why));
        assert_eq!(
            c.standard("bm_learning_set_timeout", [number(list), number(9)]),
            code(why)
        );
        assert_eq!(
            c.standard("bm_learning_set_buffer_size", [number(list), number(9)]),
            code(why)
        );
    }
}

fn program(c: &mut Client, port: u16) {
    let mut call = |name: &str, args: &[Value]| c.call("standard", name, args.to_vec());
    assert_eq!(call("bm_get_config", &[]), Ok(Some(text(&json()))));
    assert!(
        matches!(call("bm_get_config_md5", &[]), Ok(Some(Value::Bytes(sum))) if sum.len() == 16)
    );
    let info = fields(call("bm_mgmt_get_info", &[]).unwrap());
    assert_eq!(info.i32(2).unwrap(), i32::from(port));
    let look = |kind: i32, name: &str| [number(0), number(kind), text(name)];
    for (kind, name) in [
        (0, "I.routes"),
        (1, "I.spread"),
        (2, "I.seen"),
        (3, "I.flow"),
        (4, "I.sums"),
    ] {
        assert!(call("bm_get_id_from_name", &look(kind, name)).is_ok());
    }
    assert_eq!(call("bm_get_id_from_name", &look(0, "I.sums")), code(1));
    assert_eq!(call("bm_get_id_from_name", &look(9, "I.sums")), code(0));
    assert!(matches!(
        call("bm_serialize_state", &[]),
        Err(Failure::Application(_))
    ));
    let absent = [text("no-such-interface"), number(9), text("")];
    assert_eq!(call("bm_dev_mgr_add_port", &absent), code(1));
    let file = [text("pcap:/dev/null,/dev/null"), number(9), text("")];
    assert_eq!(call("bm_dev_mgr_add_port", &file), code(1));
    assert_eq!(call("bm_dev_mgr_remove_port", &[number(9)]), code(1));
    assert_eq!(
        call("bm_dev_mgr_show_ports", &[]),
        Ok(Some(Value::structures([])))
    );
    assert_eq!(call("bm_reset_state", &[]), done());
    assert_eq!(call("bm_swap_configs", &[]), code(3));
    assert!(matches!(
        call("bm_load_new_config", &[text("{")]),
        Err(Failure::Application(_))
    ));
    assert_eq!(call("bm_load_new_config", &[text(&json())]), done());
    assert_eq!(call("bm_load_new_config", &[text(&json())]), code(2));
    assert_eq!(call("bm_swap_configs", &[]), done());
}

/// In BMv2 `reset_state` takes away multicast groups and nodes, and leaves clone sessions and the
/// parameters of hashes.
#[test]
fn a_reset_leaves_clone_sessions_and_takes_nodes() {
    let rig = Rig::ready();
    let mut client = rig.client();
    let c = &mut client;
    let session = |field, value| Value::structure([(field, number(value))]);
    let sessions = [(0, session(1, 4)), (7, session(1, 5)), (9, session(2, 3))];
    for (at, config) in &sessions {
        let add = [number(*at), config.clone()];
        assert_eq!(
            c.call("simple_switch", "mirroring_session_add", add),
            done()
        );
    }
    for _ in 0..2 {
        assert!(c.multicast("bm_mc_mgrp_create", [number(5)]).is_ok());
        let node = [number(1), text("110"), text("")];
        assert_eq!(
            c.multicast("bm_mc_node_create", node),
            Ok(Some(number(0))),
            "handles begin anew"
        );
        let pair = [number(5), number(0)];
        assert_eq!(c.multicast("bm_mc_node_associate", pair), done());
        assert_eq!(c.call("standard", "bm_reset_state", []), done());
        for (at, config) in &sessions {
            assert_eq!(
                c.call("simple_switch", "mirroring_session_get", [number(*at)]),
                Ok(Some(config.clone()))
            );
        }
    }
}

#[test]
fn every_method_of_the_interface_is_played() {
    let rig = Rig::ready();
    let mut client = rig.client();
    let c = &mut client;
    direct_entries(c);
    priorities_and_direct_data(c);
    defaults_and_ages(c);
    members_and_groups(c);
    arrays(c);
    replication(c);
    switch(c);
    hashes_and_learning(c);
    program(c, rig.address().port());
    assert!(entries(c, "I.acl").is_empty(), "the state was reset");
    let known = method_names().map(|(service, name)| (service.to_owned(), name.to_owned()));
    assert_eq!(client.played, known.collect());
}

#[test]
fn without_a_program_and_without_swaps_calls_are_refused() {
    let rig = Rig::start(switchd::thrift::Limits::default(), false);
    let mut c = rig.client();
    assert_eq!(
        c.standard("bm_mt_get_num_entries", [text("I.routes")]),
        code(7)
    );
    assert_eq!(
        c.standard("bm_register_read_all", [text("I.sums")]),
        code(1)
    );
    assert_eq!(
        c.call("standard", "bm_get_config", []),
        Ok(Some(text("{}")))
    );
    assert_eq!(c.call("standard", "bm_reset_state", []), done());
    assert_eq!(
        c.call("standard", "bm_load_new_config", [text(&json())]),
        code(1)
    );
    assert_eq!(c.call("standard", "bm_swap_configs", []), code(1));
}

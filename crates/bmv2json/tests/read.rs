//! Reading BMv2 JSON: what becomes of a small program, and of files that are wrong.

#![allow(clippy::unwrap_used)] // helpers of tests

use bmv2json::read;
use proptest::prelude::*;
use serde_json::{Value, json};

fn field(h: &str, f: &str) -> Value {
    json!({ "type": "field", "value": [h, f] })
}

fn hex(v: &str) -> Value {
    json!({ "type": "hexstr", "value": v })
}

fn op(op: &str, left: Value, right: Value) -> Value {
    json!({ "type": "expression", "value": { "op": op, "left": left, "right": right } })
}

fn primitive(op: &str, parameters: &[Value]) -> Value {
    json!({ "op": op, "parameters": parameters })
}

fn table(name: &str, key: Value, actions: &[(i64, &str)], next: Value, default: i64) -> Value {
    let ids: Vec<i64> = actions.iter().map(|a| a.0).collect();
    let names: Vec<&str> = actions.iter().map(|a| a.1).collect();
    let keyless = key.as_array().unwrap().is_empty();
    json!({
        "name": name, "id": 0, "key": key, "match_type": "exact", "type": "simple", "max_size": 16,
        "with_counters": false, "support_timeout": false, "direct_meters": null,
        "action_ids": ids, "actions": names, "base_default_next": null, "next_tables": next,
        "default_entry": { "action_id": default, "action_const": keyless, "action_data": [],
                           "action_entry_const": keyless }
    })
}

/// A router of one table, a loop in an action, and a header stack.
fn program() -> Value {
    let ttl = field("ip", "ttl");
    let minus_one = op("&", op("+", ttl.clone(), hex("0xff")), hex("0xff"));
    let loops = [
        primitive("assign", &[field("scalars", "i"), hex("0x00")]),
        primitive(
            "_jump_if_zero",
            &[
                op(
                    "b2d",
                    Value::Null,
                    op("<", field("scalars", "i"), ttl.clone()),
                ),
                hex("0x4"),
            ],
        ),
        primitive(
            "assign",
            &[
                field("scalars", "i"),
                op(
                    "&",
                    op("+", field("scalars", "i"), hex("0x01")),
                    hex("0xff"),
                ),
            ],
        ),
        primitive("_jump", &[hex("0x1")]),
    ];
    let branches = [
        primitive(
            "_jump_if_zero",
            &[
                op("b2d", Value::Null, op("==", ttl.clone(), hex("0x01"))),
                hex("0x3"),
            ],
        ),
        primitive(
            "mark_to_drop",
            &[json!({ "type": "header", "value": "standard_metadata" })],
        ),
        primitive("_jump", &[hex("0x4")]),
        primitive(
            "assign",
            &[
                ttl.clone(),
                op("usat_cast", op("-", ttl.clone(), hex("0x02")), hex("0x8")),
            ],
        ),
    ];
    json!({
        "header_types": [
            { "name": "scalars_0", "id": 0, "fields": [["i", 8, false], ["s", 8, true], ["_padding", 0, false]] },
            { "name": "standard_metadata", "id": 1, "fields": [["egress_spec", 9, false], ["egress_port", 9, false], ["_padding", 6, false]] },
            { "name": "ip_t", "id": 2, "fields": [["ttl", 8, false], ["dst", 32, false]] }
        ],
        "headers": [
            { "name": "scalars", "id": 0, "header_type": "scalars_0", "metadata": true },
            { "name": "standard_metadata", "id": 1, "header_type": "standard_metadata", "metadata": true },
            { "name": "ip", "id": 2, "header_type": "ip_t", "metadata": false },
            { "name": "st[0]", "id": 3, "header_type": "ip_t", "metadata": false },
            { "name": "st[1]", "id": 4, "header_type": "ip_t", "metadata": false }
        ],
        "header_stacks": [{ "name": "st", "id": 0, "header_type": "ip_t", "size": 2, "header_ids": [3, 4] }],
        "errors": [["NoError", 0], ["PacketTooShort", 1]],
        "parsers": [{ "name": "parser", "id": 0, "init_state": "start", "parse_states": [
            { "name": "start", "id": 0,
              "parser_ops": [primitive("extract", &[json!({ "type": "regular", "value": "ip" })])],
              "transition_key": [ttl, { "type": "lookahead", "value": [4, 12] }],
              "transitions": [
                  { "type": "hexstr", "value": "0x010abc", "mask": null, "next_state": "more" },
                  { "type": "hexstr", "value": "0x020000", "mask": "0x0f0000", "next_state": null },
                  { "type": "default", "value": null, "mask": null, "next_state": null }] },
            { "name": "more", "id": 1,
              "parser_ops": [primitive("extract", &[json!({ "type": "stack", "value": "st" })])],
              "transition_key": [{ "type": "stack_field", "value": ["st", "ttl"] }],
              "transitions": [
                  { "type": "hexstr", "value": "0x00", "mask": null, "next_state": "more" },
                  { "type": "default", "value": null, "mask": null, "next_state": null }] }
        ] }],
        "deparsers": [{ "name": "deparser", "id": 0, "order": ["ip", "st[0]", "st[1]"] }],
        "actions": [
            { "name": "send", "id": 0, "runtime_data": [{ "name": "port", "bitwidth": 9 }], "primitives": [
                primitive("assign", &[field("standard_metadata", "egress_spec"), json!({ "type": "runtime_data", "value": 0 })]),
                primitive("assign", &[field("ip", "ttl"), minus_one])] },
            { "name": "NoAction", "id": 1, "runtime_data": [], "primitives": [] },
            { "name": "loops", "id": 2, "runtime_data": [], "primitives": loops },
            { "name": "branches", "id": 3, "runtime_data": [], "primitives": branches }
        ],
        "pipelines": [
            { "name": "ingress", "id": 0, "init_table": "valid", "tables": [
                table("route", json!([{ "match_type": "lpm", "name": "ip.dst", "target": ["ip", "dst"], "mask": null }]),
                      &[(0, "send"), (1, "NoAction")], json!({ "send": null, "NoAction": "tbl" }), 1),
                table("tbl", json!([]), &[(2, "loops")], json!({ "loops": "tbl2" }), 2),
                table("tbl2", json!([]), &[(3, "branches")], json!({ "branches": null }), 3)],
              "conditionals": [{ "name": "valid", "id": 0,
                "expression": op("d2b", Value::Null, field("ip", "$valid$")),
                "true_next": "route", "false_next": "tbl2" }] },
            { "name": "egress", "id": 1, "init_table": null, "tables": [] }
        ]
    })
}

#[test]
fn a_small_program() {
    let program = read(&program().to_string()).unwrap();
    insta::assert_snapshot!(program.to_string());
}

/// The message about the program with `new` at `path` (a JSON pointer).
fn refusal(path: &str, new: Value) -> String {
    let mut p = program();
    *p.pointer_mut(path).unwrap() = new;
    let text = read(&p.to_string()).unwrap_err().to_string();
    // The whole file is one line here.
    text.strip_prefix("line 1: ")
        .map_or(text.clone(), str::to_owned)
}

#[test]
fn wrong_files_are_refused() {
    assert!(
        read("{")
            .unwrap_err()
            .to_string()
            .starts_with("not BMv2 JSON: at `")
    );
    assert_eq!(
        read("{}").unwrap_err().to_string(),
        "headers: there is no header `standard_metadata`"
    );
    assert_eq!(
        refusal("/actions/0/primitives/0/op", json!("fly")),
        "action `send`: primitive `fly` is not supported"
    );
    assert_eq!(
        refusal("/actions/0/primitives/1/parameters/0/value/1", json!("tll")),
        "action `send`: there is no field `tll`"
    );
    assert_eq!(
        refusal("/pipelines/0/tables/0/next_tables/NoAction", json!("route")),
        "pipeline `ingress`: the control flow has a cycle"
    );
    assert_eq!(
        refusal("/pipelines/0/conditionals/0/true_next", json!("nowhere")),
        "pipeline `ingress`: there is no table or condition `nowhere`"
    );
    assert_eq!(
        refusal("/actions/2/primitives/3/parameters/0/value", json!("0x99")),
        "action `loops`: a jump out of the action"
    );
    assert_eq!(
        refusal(
            "/parsers/0/parse_states/0/transitions/0/next_state",
            json!("no")
        ),
        "parser state `start`: there is no state `no`"
    );
    assert_eq!(
        refusal("/pipelines/0/tables/0/default_entry/action_id", json!(2)),
        "table `route`: there is no action of the table `2`"
    );
    assert_eq!(
        refusal("/header_types/2/fields/0/1", json!("wide")),
        "header type `ip_t`: field `ttl` has no width"
    );
    assert_eq!(
        refusal(
            "/actions/3/primitives/3/parameters/1/value/right/value",
            json!("0xffffff")
        ),
        "action `branches`: a width out of range"
    );
}

/// All pointers into a JSON value.
fn pointers(v: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_string());
    match v {
        Value::Array(a) => {
            a.iter()
                .enumerate()
                .for_each(|(i, v)| pointers(v, &format!("{at}/{i}"), out));
        }
        Value::Object(o) => o
            .iter()
            .for_each(|(k, v)| pointers(v, &format!("{at}/{k}"), out)),
        _ => {}
    }
}

fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..40).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "0x[0-9a-f]{0,20}".prop_map(Value::from),
        prop::sample::select(vec![
            "ip",
            "st",
            "st[0]",
            "scalars",
            "ttl",
            "dst",
            "s",
            "*",
            "$valid$",
            "route",
            "tbl",
            "start",
            "more",
            "field",
            "expression",
            "header",
            "stack",
            "+",
            "-",
            "<<",
            ">>",
            "*",
            "?",
            "~",
            "two_comp_mod",
            "sat_cast",
            "access_field",
            "dereference_header_stack",
            "exit",
            "push",
            "lpm"
        ])
        .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(field("ip", "ttl")),
        Just(field("scalars", "s")),
        Just(op("<<", field("ip", "dst"), field("ip", "dst"))),
        Just(op("-", field("scalars", "s"), field("ip", "dst"))),
        Just(op("*", hex("0xffffffffffffffffffff"), field("ip", "dst"))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("P4FRONT_SOUP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
    ))]

    /// Whatever is changed in a file: it is read, or refused with a message; never a panic, and
    /// never a program that is not consistent.
    #[test]
    fn changed_files(changes in prop::collection::vec((any::<prop::sample::Index>(), anything()), 1..4)) {
        let mut p = program();
        for (at, new) in changes {
            let mut all = Vec::new();
            pointers(&p, "", &mut all);
            if let Some(v) = p.pointer_mut(at.get(&all[..]).as_str()) {
                *v = new;
            }
        }
        if let Err(e) = read(&p.to_string()) {
            prop_assert!(!matches!(e, bmv2json::Bmv2Error::Invalid(_)), "{e}\n{p}");
        }
    }
}

/// Members of stacks and unions, and what the parser extracts, are headers of the types they say.
#[test]
fn headers_in_stacks_and_unions_are_checked() {
    let types = json!([
        { "name": "scalars_t", "id": 0, "fields": [] },
        { "name": "sm", "id": 1, "fields": [["ingress_port", 9, false]] },
        { "name": "H", "id": 2, "fields": [["a", 8, false]] },
        { "name": "G", "id": 3, "fields": [["b", 8, false]] },
    ]);
    let headers = json!([
        { "name": "standard_metadata", "id": 0, "header_type": "sm", "metadata": true },
        { "name": "h[0]", "id": 1, "header_type": "H", "metadata": false },
        { "name": "g", "id": 2, "header_type": "G", "metadata": false },
    ]);
    let file = |changes: &[(&str, Value)]| {
        let mut file = program();
        file["header_types"] = types.clone();
        file["headers"] = headers.clone();
        file["header_stacks"] = json!([]);
        for (key, value) in changes {
            file[*key] = value.clone();
        }
        read(&file.to_string()).unwrap_err().to_string()
    };
    let stack = |ids: Value| json!([{ "name": "h", "id": 0, "header_type": "H", "size": 1, "header_ids": ids }]);
    for id in [0, 2] {
        let found = file(&[("header_stacks", stack(json!([id])))]);
        assert!(found.contains("is not a header of type `H`"), "{found}");
    }
    let union_type = |members: Value| json!([{ "name": "U", "id": 0, "headers": members }]);
    let union =
        |ids: Value| json!([{ "name": "u", "id": 0, "union_type": "U", "header_ids": ids }]);
    let found = file(&[(
        "header_union_types",
        union_type(json!([["x", "H"], ["x", "G"]])),
    )]);
    assert!(
        found.contains("two members of `U` are called `x`"),
        "{found}"
    );
    let members = union_type(json!([["x", "H"]]));
    let found = file(&[
        ("header_union_types", members.clone()),
        ("header_unions", union(json!([2]))),
    ]);
    assert!(found.contains("is not a header of type `H`"), "{found}");
    let found = file(&[
        ("header_union_types", members),
        ("header_unions", union(json!([1, 2]))),
    ]);
    assert!(found.contains("more headers than its type"), "{found}");
}

/// What a compiler of another age writes for the same program is the same program.
#[test]
fn older_files_say_the_same() {
    let today = program();
    let plain = read(&today.to_string()).unwrap().to_string();
    let mut older = today;
    for pipeline in older["pipelines"].as_array_mut().unwrap() {
        for table in pipeline["tables"].as_array_mut().unwrap() {
            table.as_object_mut().unwrap().remove("action_ids");
        }
    }
    for (at, op) in [(0, "modify_field"), (1, "modify_field")] {
        older["actions"][0]["primitives"][at]["op"] = op.into();
    }
    let marked = format!("\u{feff}{older}");
    assert!(bmv2json::is_json(&marked));
    assert_eq!(read(&marked).unwrap().to_string(), plain);
    older["pipelines"][0]["tables"][0]["actions"][0] = "sent".into();
    let found = read(&older.to_string()).unwrap_err().to_string();
    assert!(
        found.contains("table `route`: there is no action `sent`"),
        "{found}"
    );
}

#[test]
fn primitives_of_p4_14() {
    let mut older = program();
    let (ttl, one) = (field("ip", "ttl"), hex("0x01"));
    let before = op("-", ttl.clone(), one.clone());
    let mut body = |primitives: &[Value]| {
        older["actions"][0]["primitives"] = primitives.into();
        read(&older.to_string()).unwrap().to_string()
    };
    let same = body(&[primitive("assign", &[ttl.clone(), before])]);
    assert_eq!(
        body(&[primitive(
            "subtract_from_field",
            &[ttl.clone(), one.clone()]
        )]),
        same
    );
    assert_eq!(
        body(&[primitive(
            "subtract",
            &[ttl.clone(), ttl.clone(), one.clone()]
        )]),
        same
    );
    let shifted = op("<<", ttl.clone(), one.clone());
    let same = body(&[primitive("assign", &[ttl.clone(), shifted])]);
    assert_eq!(
        body(&[primitive("shift_left", &[ttl.clone(), ttl, one])]),
        same
    );
}

#[test]
fn a_selector_in_its_table_is_a_profile() {
    let mut older = program();
    let table = &mut older["pipelines"][0]["tables"][0];
    table["type"] = "indirect_ws".into();
    table["act_prof_name"] = "ways".into();
    table["selector"] = json!({ "algo": "crc16", "input": [field("ip", "dst")] });
    let read = read(&older.to_string()).unwrap();
    let id = read.extern_by_name("ways").expect("an object");
    assert_eq!(read.externs[id].ty, p4ir::ExternType::ActionSelector);
    let table = &read.tables[read.table_by_name("route").unwrap()];
    assert_eq!(table.implementation, Some(id));
    assert_eq!(
        table.keys.len(),
        2,
        "the address, and again for the selector"
    );
}

#[test]
fn metadata_of_simple_switch_is_one_whatever_it_is_called() {
    let mut older = program();
    let types = older["header_types"].as_array_mut().unwrap();
    types.push(json!({ "name": "intrinsic_t", "id": 7, "fields": [["mcast_grp", 16], ["egress_port", 9]] }));
    let headers = older["headers"].as_array_mut().unwrap();
    headers.push(json!({ "name": "intrinsic_metadata", "id": 9, "header_type": "intrinsic_t", "metadata": true }));
    let group = field("intrinsic_metadata", "mcast_grp");
    older["actions"][0]["primitives"] = json!([primitive("modify_field", &[group, hex("0x7")])]);
    let read = read(&older.to_string()).unwrap();
    let text = read.to_string();
    assert!(text.contains("standard_metadata.mcast_grp = "), "{text}");
}

/// Compilers have numbered errors from 0 and from 1, and left them out.
#[test]
fn errors_have_any_numbers() {
    let mut file = program();
    file["header_types"][1]["fields"]
        .as_array_mut()
        .unwrap()
        .push(json!(["parser_error", 32, false]));
    let verify = primitive(
        "verify",
        &[json!({ "type": "bool", "value": false }), hex("0x7")],
    );
    file["parsers"][0]["parse_states"][1]["parser_ops"] = json!([verify]);
    let mut with = |errors: Value| {
        file["errors"] = errors;
        read(&file.to_string()).map(|p| (p.errors.clone(), p.to_string()))
    };
    let from = |first: usize| {
        p4ir::CORE_ERRORS[..6]
            .iter()
            .enumerate()
            .map(|(i, e)| json!([e, i + first]))
            .collect::<Vec<_>>()
    };
    let mut today = from(0);
    today.extend([json!(["ParserInvalidArgument", 6]), json!(["Mine", 7])]);
    let (names, plain) = with(today.into()).unwrap();
    let mut old = from(1);
    old.push(json!(["Mine", 7]));
    let (old_names, renumbered) = with(old.clone().into()).unwrap();
    assert_eq!(old_names, names);
    assert!(!plain.contains("parser_error = "), "{plain}");
    // What is missing gets the next number.
    for line in [
        "parser_error = 32w0x1",
        "parser_error = 32w0x6",
        "parser_error = 32w0x8",
    ] {
        assert!(renumbered.contains(line), "{line} in {renumbered}");
    }
    assert!(
        !renumbered.contains("parser_error = 32w0x7"),
        "{renumbered}"
    );
    old.push(json!(["Other", 7]));
    let found = with(old.into()).unwrap_err().to_string();
    assert!(found.contains("error `Other`, number 7"), "{found}");
    let found = with(json!([])).unwrap_err().to_string();
    assert!(found.contains("there is no error `7`"), "{found}");
}

#[test]
fn a_value_set_has_the_same_fields_wherever_it_is_used() {
    let mut file = program();
    file["parse_vsets"] = json!([{ "name": "pvs", "id": 0, "compressed_bitwidth": 40 }]);
    let case = json!({ "type": "parse_vset", "value": "pvs", "mask": null, "next_state": null });
    let two = json!([field("ip", "ttl"), field("ip", "dst")]);
    for (at, keys) in [(0, two.clone()), (1, two)] {
        let state = &mut file["parsers"][0]["parse_states"][at];
        state["transition_key"] = keys;
        state["transitions"] = json!([case]);
    }
    let set = &read(&file.to_string()).unwrap().value_sets;
    assert_eq!(set.iter().next().map(|(_, set)| set.fields.len()), Some(2));
    let one = json!([{ "type": "lookahead", "value": [0, 40] }]);
    file["parsers"][0]["parse_states"][0]["transition_key"] = one;
    let found = read(&file.to_string()).unwrap_err().to_string();
    assert!(
        found.contains("keys that do not fit the value set"),
        "{found}"
    );
}

#[test]
fn metadata_is_not_extracted() {
    let mut file = program();
    let states = file["parsers"][0]["parse_states"].as_array_mut().unwrap();
    let operand = json!({ "type": "regular", "value": "standard_metadata" });
    states[0]["parser_ops"] = json!([{ "op": "extract", "parameters": [operand] }]);
    let found = read(&file.to_string()).unwrap_err().to_string();
    assert!(found.contains("is metadata, not a header"), "{found}");
}

#[test]
fn more_than_there_is_room_for() {
    let limit = |program: &Value| match read(&program.to_string()) {
        Err(bmv2json::Bmv2Error::TooLarge(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let mut wide = program();
    let fields: Vec<Value> = (0..40_000)
        .map(|i| json!([format!("f{i}"), 8, false]))
        .collect();
    wide["header_types"][2]["fields"]
        .as_array_mut()
        .unwrap()
        .extend(fields);
    let text = limit(&wide);
    assert!(
        text.contains("words of storage for a value of one type; the limit is 32768"),
        "{text}"
    );
    // Operators inside each other are bounded by the reader of JSON.
    let mut deep = program();
    let sum = (0..500).fold(field("ip", "ttl"), |sum, _| op("+", sum, hex("0x01")));
    deep["actions"][0]["primitives"] = json!([primitive("assign", &[field("ip", "ttl"), sum])]);
    assert!(read(&deep.to_string()).is_err());
}

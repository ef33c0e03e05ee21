//! What p4c compiled runs: BMv2 JSON files, read and executed against the cases of their programs.
//!
//! Set `BMV2_JSON` to a folder with JSON files and `P4C_TESTDATA` to p4c's `testdata`; every
//! `NAME.json` is run against `p4_16_samples/NAME.stf`. Without them this says so and passes.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test with helpers

use std::path::{Path, PathBuf};
use std::sync::Arc;

use p4exec::Outputs;
use p4test::build;
use quantities::{Nanos, PortId};

/// The programs that cannot run, and why.
const EXCEPTED: [&str; 1] = [
    // Calls an extern function of its own, which simple_switch loads from a shared library.
    "extern-funcs-bmv2",
];

fn play(json: &Path, case: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(json).unwrap();
    let program = bmv2json::read(&text).map_err(|e| format!("read: {e}"))?;
    let case = stf::parse(&std::fs::read_to_string(case).unwrap());
    let case = case.map_err(|e| format!("case: {e:?}"))?;
    let program = Arc::new(program);
    for (name, mut executor) in build(&program).map_err(|e| format!("build: {e}"))? {
        stf::run(&case, executor.as_mut()).map_err(|failures| {
            let list: Vec<String> = failures.iter().map(ToString::to_string).collect();
            format!("{name}: {}", list.join("\n    "))
        })?;
    }
    Ok(())
}

#[test]
fn compiled_programs_pass_their_cases() {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(json), Some(testdata)) = (folder("BMV2_JSON"), folder("P4C_TESTDATA")) else {
        println!("skipped: BMV2_JSON and P4C_TESTDATA do not name folders");
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(json)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    let (mut passed, mut failed) = (0, Vec::new());
    for file in files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "json"))
    {
        let name = file.file_stem().unwrap().to_string_lossy();
        let case = testdata.join("p4_16_samples").join(format!("{name}.stf"));
        match play(file, &case) {
            Ok(()) => passed += 1,
            Err(why) => failed.push(format!("{name}: {why}")),
        }
    }
    println!("{passed} of {} pass", passed + failed.len());
    for f in &failed {
        println!("{f}");
    }
    let unexpected: Vec<_> = failed
        .iter()
        .filter(|f| !EXCEPTED.iter().any(|name| f.starts_with(name)))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

/// A program that tells `parser_error` in the second byte of what it sends; its errors are numbered
/// from 1.
const NUMBERED: &str = r#"{
  "header_types": [
    { "name": "standard_metadata", "id": 0, "fields": [["ingress_port", 9, false], ["egress_spec", 9, false],
      ["egress_port", 9, false], ["parser_error", 32, false], ["_padding", 5, false]] },
    { "name": "h_t", "id": 1, "fields": [["kind", 8, false], ["error", 8, false]] }
  ],
  "headers": [
    { "name": "standard_metadata", "id": 0, "header_type": "standard_metadata", "metadata": true },
    { "name": "h", "id": 1, "header_type": "h_t", "metadata": false },
    { "name": "more", "id": 2, "header_type": "h_t", "metadata": false }
  ],
  "errors": [["NoError", 1], ["PacketTooShort", 2], ["NoMatch", 3], ["StackOutOfBounds", 4], ["Mine", 9]],
  "parsers": [{ "name": "parser", "id": 0, "init_state": "start", "parse_states": [
    { "name": "start", "id": 0,
      "parser_ops": [{ "op": "extract", "parameters": [{ "type": "regular", "value": "h" }] }],
      "transition_key": [{ "type": "field", "value": ["h", "kind"] }],
      "transitions": [
        { "type": "hexstr", "value": "0x01", "mask": null, "next_state": "longer" },
        { "type": "hexstr", "value": "0x02", "mask": null, "next_state": "mine" },
        { "type": "hexstr", "value": "0x03", "mask": null, "next_state": null }] },
    { "name": "longer", "id": 1,
      "parser_ops": [{ "op": "extract", "parameters": [{ "type": "regular", "value": "more" }] }],
      "transition_key": [], "transitions": [{ "type": "default", "value": null, "mask": null, "next_state": null }] },
    { "name": "mine", "id": 2,
      "parser_ops": [{ "op": "verify", "parameters": [{ "type": "bool", "value": false },
                                                      { "type": "hexstr", "value": "0x9" }] }],
      "transition_key": [], "transitions": [{ "type": "default", "value": null, "mask": null, "next_state": null }] }
  ] }],
  "deparsers": [{ "name": "deparser", "id": 0, "order": ["h", "more"] }],
  "actions": [{ "name": "tell", "id": 0, "runtime_data": [], "primitives": [
    { "op": "modify_field", "parameters": [{ "type": "field", "value": ["h", "error"] },
                                           { "type": "field", "value": ["standard_metadata", "parser_error"] }] },
    { "op": "modify_field", "parameters": [{ "type": "field", "value": ["standard_metadata", "egress_spec"] },
                                           { "type": "hexstr", "value": "0x1" }] }] }],
  "pipelines": [
    { "name": "ingress", "id": 0, "init_table": "t", "tables": [
      { "name": "t", "id": 0, "key": [], "match_type": "exact", "type": "simple", "max_size": 1, "actions": ["tell"],
        "base_default_next": null, "next_tables": { "tell": null },
        "default_entry": { "action_id": 0, "action_data": [] } }] },
    { "name": "egress", "id": 1, "init_table": null, "tables": [] }
  ]
}"#;

#[test]
fn errors_have_the_numbers_of_the_file() {
    let program = Arc::new(bmv2json::read(NUMBERED).unwrap());
    for (name, mut executor) in build(&program).unwrap() {
        let mut error_of = |kind: u8| {
            let mut out = Outputs::default();
            executor.process(Nanos::new(1), &[kind, 0], PortId::new(0), &mut out);
            out.sent
                .iter()
                .map(|sent| sent.bytes[1])
                .collect::<Vec<_>>()
        };
        // Too short; its own; none; and none where nothing matches, as BMv2 has it.
        let found = [1, 2, 3, 4].map(&mut error_of);
        assert_eq!(found, [vec![2], vec![9], vec![1], vec![1]], "{name}");
    }
}

#[test]
fn what_json_cannot_say_is_refused() {
    let path = p4test::root().join("bmv2-tests/cases/flow.p4");
    let program = p4test::compile(&path, &p4front::Options::on_disk()).unwrap();
    let refusal = bmv2json::write(&program, "flow").unwrap_err().to_string();
    assert!(refusal.contains("flow.p4:"), "{refusal}");
    assert!(refusal.ends_with("table `Ing.t` applied at two places that go on differently"));
}

/// A program whose packets are two headers of these fields.
fn of_headers(first: &str, second: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header first_t {{ {first} }}
header second_t {{ {second} }}
struct H {{ first_t a; second_t b; }}
struct M {{ }}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
    state start {{
        p.extract(h.a);
        transition accept;
    }}
}}
control C(inout H h, inout M m) {{ apply {{ }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ h.b.setValid(); }} }}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
    )
}

#[test]
fn headers_that_bmv2_has_not_are_refused() {
    let cases = [
        // Where it is extracted.
        (
            "bit<12> v;",
            "bit<8> v;",
            "headers.p4:9:",
            "header `first_t` has 12 bits",
        ),
        // Where it becomes valid.
        (
            "bit<8> v;",
            "bit<8> v; bool w;",
            "headers.p4:14:",
            "header `second_t` has 9 bits",
        ),
        (
            "bit<8> v;",
            "varbit<16> v; bit<8> w; varbit<8> x;",
            "headers.p4:14:",
            "header `second_t` has 2 varbit fields",
        ),
        (
            "bit<8> v;",
            "bit<8> v; varbit<12> w;",
            "headers.p4:14:",
            "make it `varbit<16>`",
        ),
    ];
    for (first, second, place, what) in cases {
        let text = of_headers(first, second);
        let program = p4test::compile_text("headers.p4", &text, &p4front::Options::default());
        let refusal = bmv2json::write(&program.unwrap(), "headers");
        let refusal = refusal.unwrap_err().to_string();
        assert!(refusal.starts_with(place), "{refusal}");
        assert!(refusal.contains(what), "{refusal}");
    }
}

/// The format has no index known at run time: each alternative repeats the index expressions, so
/// indices inside each other multiply.
#[test]
fn indices_inside_each_other_have_a_limit() {
    let of_depth = |depth: usize| {
        let index = (0..depth).fold("2w1".to_owned(), |inner, _| format!("h.s[{inner}].v[1:0]"));
        let text = format!(
            "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> v; }}
struct H {{ h_t[4] s; }}
struct M {{ }}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
    state start {{
        p.extract(h.s.next);
        transition accept;
    }}
}}
control C(inout H h, inout M m) {{ apply {{ }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{
    apply {{ h.s[0].v = (bit<8>) {index}; }}
}}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
        );
        let program = p4test::compile_text("nested.p4", &text, &p4front::Options::default());
        bmv2json::write(&program.unwrap(), "nested")
    };
    assert!(of_depth(5).is_ok());
    let refusal = of_depth(40).unwrap_err().to_string();
    assert!(refusal.starts_with("nested.p4:14:"), "{refusal}");
    assert!(
        refusal.contains("assign the inner index to a variable"),
        "{refusal}"
    );
}

/// BMv2 reads the fields of a digest at the end of ingress: they hold what the values were when the
/// digest was made.
#[test]
fn digests_have_fields_of_their_own() {
    let lists = &written("talk.p4")["learn_lists"];
    let lists = lists.as_array().unwrap();
    assert!(!lists.is_empty());
    for element in lists.iter().flat_map(|l| l["elements"].as_array().unwrap()) {
        assert_eq!(element["value"][0], "scalars", "{element}");
    }
}

const PLACES: &str = r"#include <core.p4>
#include <v1model.p4>
header E { bit<48> to; bit<48> from; bit<16> ty; }
struct H { E e; }
struct M { bit<16> sum; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.e); transition accept; } }
control In(inout H h, inout M m, inout standard_metadata_t s) {
    counter(4, CounterType.packets) seen;
    direct_counter(CounterType.bytes) hits;
    meter(4, MeterType.packets) rate;
    register<bit<8>>(4) last;
    action_selector(HashAlgorithm.crc16, 8, 4) members;
    // Two statements on one line, and one that is longer than its line.
    action port(bit<9> port) {   s.egress_spec = port; seen.count(0); hash(m.sum, HashAlgorithm.crc16, 16w0, {h.e.to,
        h.e.from}, 16w9); }
    action none() { mark_to_drop(s); }
    table always { actions = { port; none; } default_action = none; }
    table exact_one {
        key = { h.e.to: exact; }
        actions = { port; none; @defaultonly NoAction; }
        default_action = NoAction;
        const entries = {    1: port(2); }
        counters = hits;
    }
    table spread {
        key = { h.e.from: exact; m.sum: selector; }
        actions = { port; }
        implementation = members;
    }
    apply {
        always.apply();
        if (h.e.isValid() &&
            h.e.ty > 3) { exact_one.apply(); } else { port(1); }
        spread.apply();
    }
}
control V(inout H h, inout M m) { apply {} }
control Out(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control C(inout H h, inout M m) { apply { update_checksum(true, { h.e.to }, h.e.ty, HashAlgorithm.csum16); } }
control D(packet_out p, in H h) { apply { p.emit(h.e); } }
V1Switch(P(), V(), In(), Out(), C(), D()) main;
";

/// Debuggers and control planes find in `source_info` what p4c writes there: names of controls,
/// tables and arrays, the text of conditions and statements, the first line where there are
/// several.
#[test]
fn the_source_of_what_is_written_is_said() {
    let program = p4test::compile_text("p.p4", PLACES, &p4front::Options::default()).unwrap();
    let text = bmv2json::write(&program, "source").unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    places(&json, "", &mut found);
    found.sort();
    found.dedup();
    let expected = [
        "/actions/primitives assign 14:33 s.egress_spec = port",
        "/actions/primitives assign 33:54 port(1)",
        "/actions/primitives count 14:55 seen.count(0)",
        "/actions/primitives mark_to_drop 16:20 mark_to_drop(s)",
        "/actions/primitives modify_field_with_hash_based_offset 14:70 hash(m.sum, HashAlgorithm.crc16, 16w0, {h.e.to, ...",
        "/calculations  14:70 hash(m.sum, HashAlgorithm.crc16, 16w0, {h.e.to, ...",
        "/calculations  39:42 update_checksum(true, { h.e.to }, h.e.ty, HashAlgorithm.csum16)",
        "/checksums  39:42 update_checksum(true, { h.e.to }, h.e.ty, HashAlgorithm.csum16)",
        "/counter_arrays  8:36 seen",
        "/counter_arrays  9:38 hits",
        "/deparsers  40:8 D",
        "/meter_arrays  10:32 rate",
        "/pipelines  38:8 Out",
        "/pipelines  7:8 In",
        "/pipelines/action_profiles  12:47 members",
        "/pipelines/conditionals  32:12 h.e.isValid() && ...",
        "/pipelines/tables  17:10 always",
        "/pipelines/tables  18:10 exact_one",
        "/pipelines/tables  25:10 spread",
        "/pipelines/tables  33:54 port(1)",
        "/pipelines/tables/entries  22:29 1: port(2)",
        "/register_arrays  11:24 last",
    ];
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
    // What was read is written again.
    let again = bmv2json::write(&bmv2json::read(&text).unwrap(), "source").unwrap();
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(
        again["pipelines"][0]["source_info"],
        json["pipelines"][0]["source_info"]
    );
}

/// Each place in the source that a part of the file names.
fn places(json: &serde_json::Value, path: &str, found: &mut Vec<String>) {
    if let Some(list) = json.as_array() {
        list.iter().for_each(|v| places(v, path, found));
    }
    let Some(object) = json.as_object() else {
        return;
    };
    if let Some(source) = object.get("source_info") {
        let (line, column) = (&source["line"], &source["column"]);
        let text = source["source_fragment"].as_str().unwrap();
        let name = object.get("op").map_or("", |op| op.as_str().unwrap());
        found.push(format!("{path} {name} {line}:{column} {text}"));
    }
    for (key, value) in object.iter().filter(|(key, _)| *key != "source_info") {
        places(value, &format!("{path}/{key}"), found);
    }
}

#[test]
fn writing_is_reproducible() {
    let path = p4test::root().join("bmv2-tests/cases/parsing.p4");
    let program = p4test::compile(&path, &p4front::Options::on_disk()).unwrap();
    let text = bmv2json::write(&program, "parsing").unwrap();
    assert_eq!(text, bmv2json::write(&program, "parsing").unwrap());
    // What was read back can be written again.
    let read = bmv2json::read(&text).unwrap();
    bmv2json::write(&read, "parsing").unwrap();
}

/// The JSON of a case's program.
fn written(name: &str) -> serde_json::Value {
    let path = p4test::root().join("bmv2-tests/cases").join(name);
    let program = p4test::compile(&path, &p4front::Options::on_disk()).unwrap();
    let text = bmv2json::write(&program, name).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Every primitive with the one behind it.
fn primitives(program: &serde_json::Value) -> Vec<(serde_json::Value, serde_json::Value)> {
    let actions = program["actions"].as_array().unwrap();
    let lists = actions.iter().map(|a| a["primitives"].as_array().unwrap());
    let pairs = |list: &Vec<serde_json::Value>| {
        let next = |i: usize| list.get(i + 1).cloned().unwrap_or_default();
        let all = list.iter().enumerate();
        all.map(|(i, p)| (p.clone(), next(i))).collect::<Vec<_>>()
    };
    lists.flat_map(pairs).collect()
}

/// What ends `simple_switch`, or is done otherwise there, and what a reader of ours would not
/// notice.
#[test]
fn simple_switch_gets_what_it_takes() {
    let matches = written("matches.p4").to_string();
    let optional = r#""match_type":"optional""#;
    assert!(!matches.contains(optional), "it knows no optional keys");
    let stateful = written("stateful.p4");
    let meters = stateful["meter_arrays"].as_array().unwrap();
    let direct = meters.iter().find(|m| m["is_direct"] == true).unwrap();
    let tables = stateful["pipelines"][0]["tables"].as_array().unwrap();
    let table = tables.iter().find(|t| t["name"] == direct["binding"]);
    assert_eq!(direct["size"], table.unwrap()["max_size"]);
    let (mut conditions, mut exits) = (0, 0);
    for (primitive, next) in ["aliases.p4", "calls.p4"]
        .iter()
        .flat_map(|p| primitives(&written(p)))
    {
        let condition = &primitive["parameters"][0];
        if primitive["op"] == "_jump_if_zero" && condition["type"] == "expression" {
            assert_eq!(condition["value"]["value"]["op"], "b2d", "{primitive}");
            conditions += 1;
        }
        if primitive["op"] == "exit" {
            assert!(next.is_null() || next["op"] == "_jump", "{next}");
            exits += 1;
        }
    }
    assert!(conditions > 0 && exits > 0, "{conditions} {exits}");
}

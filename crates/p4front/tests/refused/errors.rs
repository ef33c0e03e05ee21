//! What a user sees of wrong programs: golden texts, one for each common mistake.

#![allow(clippy::panic)] // helpers of tests

use p4front::source::SourceMap;
use p4front::{Options, compile};

/// A whole v1model program with `decls`, ingress locals and ingress body in it.
fn v1model(decls: &str, locals: &str, body: &str) -> String {
    format!(
        "#include <v1model.p4>
header eth_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
struct headers {{ eth_t eth; eth_t[2] more; }}
struct metadata {{ bit<16> x; bit<8> y; }}
{decls}
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {{
  state start {{ p.extract(h.eth); transition accept; }}
}}
control V(inout headers h, inout metadata m) {{ apply {{ }} }}
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {{
{locals}
apply {{
{body}
}}
}}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    )
}

fn findings(text: &str) -> String {
    let mut map = SourceMap::new();
    let main = map.add("t.p4", text).expect("small");
    match compile(&mut map, main, &Options::on_disk()) {
        Ok(compiled) if !compiled.warnings.is_empty() => {
            compiled.warnings.iter().map(|w| w.render(&map)).collect()
        }
        Ok(_) => panic!("accepted:\n{text}"),
        Err(d) => d.render(&map),
    }
}

fn all(programs: &[String]) -> String {
    let shown: Vec<_> = programs.iter().map(|p| findings(p)).collect();
    shown.join("----\n")
}

/// Objects that are made in tables' properties are called as the properties are.
#[test]
fn two_objects_of_one_name() {
    let tables = |first: &str, second: &str| {
        let table = |name: &str, property: &str| {
            format!(
                "table {name} {{ key = {{ m.y: exact; }} actions = {{ NoAction; }} {property} }}"
            )
        };
        let tables = table("t", first) + "\n" + &table("u", second);
        v1model("", &tables, "t.apply(); u.apply();")
    };
    let kinds = [
        (
            "implementation = action_profile(4);",
            "action profile",
            "implementation",
        ),
        (
            "counters = direct_counter(CounterType.packets);",
            "direct counter",
            "counters",
        ),
    ];
    for (property, kind, name) in kinds {
        let found = findings(&tables(property, property));
        let text = format!("two objects of kind `{kind}` have the control-plane name `I.{name}`");
        assert!(found.contains(&text), "{found}");
        assert!(found.contains("t.p4:12:"), "{found}");
        assert!(found.contains("@name"), "{found}");
        // The mend.
        let named = format!("@name(\"other\") {property}");
        let text = tables(property, &named);
        let mut map = SourceMap::new();
        let main = map.add("t.p4", &text).expect("small");
        let compiled = compile(&mut map, main, &Options::on_disk());
        compiled.unwrap_or_else(|d| panic!("{}", d.render(&map)));
    }
}

/// `size` is a recommendation.
#[test]
fn more_entries_than_the_size() {
    let table = "action to(bit<9> port) { s.egress_spec = port; }
table t {
  key = { m.y: ternary; } actions = { to; NoAction; } default_action = NoAction();
  size = 2;
  const entries = { 1: to(1); 2: to(2); 3: to(3); }
}";
    let text = v1model("", table, "t.apply();");
    let found = findings(&text);
    assert!(found.contains("its size is 3, not 2"), "{found}");
    let mut map = SourceMap::new();
    let main = map.add("t.p4", &text).expect("small");
    let compiled = compile(&mut map, main, &Options::on_disk()).expect("it is accepted");
    assert_eq!(compiled.p4info.tables[0].size, 3);
}

#[test]
fn names() {
    insta::assert_snapshot!(all(&[
        v1model("", "", "m.z = h.eth.typ; metdata k; mark_to_dorp(s);"),
        v1model("", "bit<8> a; bit<16> a;", "bit<8> m = 1;"),
        v1model("struct headers { bit<8> a; bit<8> a; }", "", ""),
        v1model(
            "control C(inout bit<8> v) { apply { bit<8> v = v; } }",
            "",
            ""
        ),
        "control c(packet_in p) { table t { actions = { } } apply { } }".into(),
        "#include <core.p4>\n#include \"missing.p4\"\n".into(),
    ]));
}

#[test]
fn types() {
    insta::assert_snapshot!(all(&[
        v1model(
            "",
            "",
            "m.x = h.eth.dst; m.y = true; if (m.x) { } m.y = m.x[7:0] + 1w1;"
        ),
        v1model(
            "",
            "",
            "m.x = (bit<16>) (int<8>) 1; int<4> i = (int<4>) m.y; m.y = m.y / 3; m.y = m.y / m.y;"
        ),
        v1model(
            "type bit<9> port;",
            "port p;",
            "p = (port) m.x; p = 3; m.y = (bit<8>) p;"
        ),
        v1model(
            "",
            "",
            "h.eth = { 1, 2 }; h.eth = { dst = 1, src = 2 }; h.eth = { dst = 1, from = 2, ... };"
        ),
        v1model(
            "",
            "register<bit<8>>(4) r;",
            "r.read(m.x, 0); r.write(0, 1, 2); hash(m.x, HashAlgorithm.crc16, 0, { m.y }, 4);"
        ),
        v1model(
            "bit<8> f(in bit<8> x, out bit<8> y) { y = x; }",
            "",
            "m.y = f(1, 2); f(m.y);"
        ),
        v1model("header bad { bit<8>[2] a; headers h; string s; }", "", ""),
        v1model(
            "const bit<8> w = 0; struct n { bit<(w - 1)> a; varbit<70000> b; eth_t[-1] c; }",
            "",
            ""
        ),
    ]));
}

#[test]
fn tables() {
    let table = |key: &str, rest: &str| {
        let actions =
            "action a(bit<8> v) { m.y = v; } action b(inout bit<8> v, bit<8> w) { v = w; }";
        v1model(
            "",
            &format!("{actions}\ntable t {{ key = {{ {key} }}\n{rest} }}"),
            "t.apply();",
        )
    };
    insta::assert_snapshot!(all(&[
        table("m.x: exactly; m.x + 1: exact;", "actions = { a; c; a; }"),
        table(
            "m.x: exact;",
            "actions = { a; } default_action = b(m.y, 1);"
        ),
        table(
            "m.x: exact;",
            "actions = { b(m.y); } const default_action = b(h.eth.type[7:0], 1);"
        ),
        table("m.x: exact;", "default_action = a(1); actions = { a; }"),
        table(
            "m.x: exact; m.y: lpm;",
            "actions = { a; NoAction; } const entries = { (1 &&& 3, _): a(1); (2, 3 &&& 5): a(2); (1, 1 .. 2): a(3); }"
        ),
        table(
            "m.x: exact;",
            "actions = { a; NoAction; } const entries = { 1: a(1); 1: a(2); (1, 2): a(3); 70000: a(4); }"
        ),
        table(
            "m.x: ternary;",
            "actions = { a; NoAction; } entries = { priority = 1: 1: a(1); 2: a(2); 3: a(3); }"
        ),
        table(
            "m.x: exact;",
            "actions = { a; NoAction; } size = -1; size = 4; counters = 3;"
        ),
        v1model(
            "",
            "action a() { } table t { actions = { a; } }",
            "switch (t.apply().action_run) { b: { } a: { } a: { } default: { } } t.apply(1); m.y = t.apply().hits;"
        ),
    ]));
}

#[test]
fn parsers() {
    let parser = |body: &str| {
        format!(
            "#include <core.p4>\nheader h_t {{ bit<8> a; varbit<8> v; }}\nparser p(packet_in k, out h_t h) {{\n{body}\n}}\n"
        )
    };
    insta::assert_snapshot!(all(&[
        parser("state start { transition next; } state next { transition start; }"),
        parser("state begin { transition accept; }"),
        parser("state start { transition missing; } state accept { } state start { }"),
        parser("state start { transition parse_ipv4; } state prase_ipv4 { transition acept; }"),
        parser(
            "state start { k.extract(h); k.extract(h.a); return; transition select(h.a) { 1 .. true: accept; (1, 2): accept; } }"
        ),
        parser(
            "state start { k.extarct(h); k.advance(true); h.a = k.lookahead(); transition accept; }"
        ),
    ]));
}

#[test]
fn recursion() {
    insta::assert_snapshot!(all(&[
        "bit<8> f(in bit<8> x) { return g(x); } bit<8> g(in bit<8> x) { return f(x); }".into(),
        "control C() { C() c; apply { c.apply(); } }".into(),
        "struct s { s x; } header h { t y; } typedef h t;".into(),
        "const bit<8> a = b; const bit<8> b = a;".into(),
        "parser P() { P() p; state start { p.apply(); transition accept; } }".into(),
        "#include \"t.p4\"\n#include <t.p4>\n".into(),
    ]));
}

#[test]
fn blocks_and_packages() {
    insta::assert_snapshot!(all(&[
        "#include <v1model.p4>\nV1Switch() main;".into(),
        "control c(); package p(c x); parser q() { state start { transition accept; } } p(q()) main;".into(),
        "control c(in bit<8> v); package p(c x); control q(inout bit<8> v) { apply { } } p(q()) main;".into(),
        "control c(); package p(c x); p(c()) main; extern e { e(bit<8> a); void f(); } e() x; const e y = e(1);".into(),
        v1model("action top(inout bit<8> v) { return v; }", "bit<8> f() { }", "exit; break; return 1; I.apply(h);"),
    ]));
}

#[test]
fn unknown_names() {
    let table = |text: &str| v1model("", &format!("action a() {{ }} table t {{ {text} }}"), "");
    insta::assert_snapshot!(all(&[
        v1model("", "", "if (h.eth.valid()) { } h.eth.isvalid(); h.eth.exists();"),
        v1model("", "", "if (h.eth.isValid) { } if (h.eth.valid) { } m.q = 1; h.more.nxt.dst = 1;"),
        v1model("", "action a() { } table t { actions = { a; } }", "t.aply(); if (t.apply().hitt) { }"),
        table("key = { m.x: exat; } actions = { a; }"),
        table("key = { m.x: prefix; } actions = { a; }"),
        table("actions = { aa; b; } szie = 4; defualt_action = a;"),
        table("actions = { NoAction; } default_action = a;"),
        v1model("enum e { red, green }", "", "if (e.rde == e.blue) { } verify_checksum(true);"),
        v1model(
            "bit<8> f(in bit<8> value) { return value; }",
            "",
            "m.y = f(vlaue = 1); h.eth = { dts = 1, src = 2, type = 3 };"
        ),
        v1model("@tabelonly action g() { } @unheardof action k() { }", "", ""),
        "#inlcude <v1model.p4>\nheader h { bit<8> a; }\n".into(),
        "control c(packet_in p) { apply { } }\n".into(),
        "header h { bit<8> a; }\ncontrol c(in h x, in H y, in standard_metadata_t s) { apply { } }\n".into(),
        "control c() { action a() { } table t { key = { 1w1: exact @name(\"k\"); } actions = { a; NoAction; } } apply { mark_to_drop(); } }\n".into(),
    ]));
}

#[test]
fn programs_without_declarations() {
    insta::assert_snapshot!(all(&["".into(), "// nothing yet\n#define X 1\n".into()]));
}

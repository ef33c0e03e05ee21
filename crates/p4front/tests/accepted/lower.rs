//! From source to validated IR: what ordinary and unusual programs become, and what is said about
//! wrong ones.

// The helpers panic as the tests do.
#![allow(clippy::panic)]

use p4front::source::SourceMap;
use p4front::{Compiled, Options, compile};

/// Wraps declarations, header and metadata fields, and an ingress control into a whole v1model
/// program.
pub(crate) fn program(decls: &str, ingress_locals: &str, ingress_body: &str) -> String {
    format!(
        "#include <v1model.p4>\n\
         header eth_t {{ bit<48> dst; bit<48> src; bit<16> type; }}\n\
         header tag_t {{ bit<4> a; bit<4> b; bit<8> next; }}\n\
         {decls}\n\
         struct headers {{ eth_t eth; tag_t[3] tags; }}\n\
         struct metadata {{ bit<16> x; bit<16> y; bool flag; }}\n\
         parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t s) {{\n\
           state start {{ p.extract(hdr.eth); transition select(hdr.eth.type) {{\n\
             0x88b5 &&& 0xfff0: tags; 0x800 .. 0x8ff: accept; default: reject; }} }}\n\
           state tags {{ p.extract(hdr.tags.next); transition select(hdr.tags.last.next) {{\n\
             1: tags; _: accept; }} }}\n\
         }}\n\
         control V(inout headers hdr, inout metadata m) {{ apply {{ }} }}\n\
         control I(inout headers hdr, inout metadata m, inout standard_metadata_t s) {{\n\
         {ingress_locals}\n apply {{ {ingress_body} }} }}\n\
         control E(inout headers hdr, inout metadata m, inout standard_metadata_t s) {{ apply {{ }} }}\n\
         control C(inout headers hdr, inout metadata m) {{ apply {{ }} }}\n\
         control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
    )
}

pub(crate) fn build(text: &str) -> Result<Compiled, String> {
    let mut map = SourceMap::new();
    let main = map.add("t.p4", text).expect("small");
    compile(&mut map, main, &Options::default()).map_err(|d| d.render(&map))
}

pub(crate) fn good(text: &str) -> Compiled {
    match build(text) {
        Ok(compiled) => compiled,
        Err(findings) => panic!("refused:\n{findings}"),
    }
}

/// The part of the text form from the ingress control on, up to the end of its `apply`.
pub(crate) fn ingress(compiled: &Compiled) -> String {
    let text = compiled.ir.to_string();
    let start = text.find(" I : I(").expect("ingress is there");
    let rest = &text[start..];
    rest[..rest.find("\n}").expect("it ends")].to_owned()
}

pub(crate) fn refused(decls: &str, locals: &str, body: &str) -> String {
    match build(&program(decls, locals, body)) {
        Ok(_) => panic!("accepted: {locals} {body}"),
        Err(findings) => findings,
    }
}

#[test]
fn whole_program_in_text_form() {
    let locals = "counter(16, CounterType.packets) c;\n\
                  action fwd(bit<9> port) { s.egress_spec = port; c.count(1); }\n\
                  action drop() { mark_to_drop(s); }\n\
                  table t { key = { hdr.eth.dst: lpm; hdr.eth.isValid(): exact; }\n\
                    actions = { fwd; drop; @defaultonly NoAction; }\n\
                    default_action = drop(); size = 64;\n\
                    const entries = { (0x010000000000 &&& 0xff0000000000, true): fwd(3); (_, false): drop(); } }";
    let compiled = good(&program("", locals, "if (t.apply().hit) { m.x = 1; }"));
    insta::assert_snapshot!(compiled.ir.to_string());
}

#[test]
fn v1model_blocks_share_their_storage() {
    let compiled = good(&program("", "", ""));
    assert!(matches!(
        compiled.ir.pipeline(),
        Some(p4ir::Pipeline::V1Model(_))
    ));
}

#[test]
fn effects_keep_their_order() {
    // The left operand is read before the call changes it; the right side of && runs only if
    // reached.
    let decls = "bit<16> bump(inout bit<16> v) { v = v + 1; return v; }";
    let body = "m.y = m.x + bump(m.x); m.flag = m.flag && bump(m.y) == 3;";
    insta::assert_snapshot!(ingress(&good(&program(decls, "", body))));
}

#[test]
fn subcontrols_work_on_the_callers_storage() {
    let decls = "control Sub(inout bit<16> v, in bit<16> w) { apply { v = v + w; } }";
    let body = "a.apply(m.x, m.y); a.apply(m.y, m.x); b.apply(m.x, m.x);";
    insta::assert_snapshot!(ingress(&good(&program(decls, "Sub() a; Sub() b;", body))));
}

#[test]
fn aggregates_slices_loops_and_switches() {
    let decls = "enum bit<8> Kind { A = 1, B = 2 }";
    let body = "hdr.eth = { hdr.eth.src, hdr.eth.dst, 7 };\n\
                m.x[11:4] = (bit<8>) Kind.B;\n\
                if (hdr.tags[0] == hdr.tags[1]) { hdr.tags.pop_front(1); }\n\
                for (bit<16> i in 1 .. m.y) { if (i == 5) { break; } m.x = m.x ^ i; }\n\
                switch (hdr.tags[1].next) { 1: 2: { m.x = 0; } default: { exit; } }\n\
                m.x = m.flag ? 16w3 : (bit<16>) hdr.tags[m.y].next;";
    insta::assert_snapshot!(ingress(&good(&program(decls, "", body))));
}

#[test]
fn generics_are_inferred() {
    let decls = "T pick<T>(in bool c, in T a, in T b) { return c ? a : b; }\n\
                 struct pair<T> { T left; T right; }\n\
                 const pair<bit<16>> P2 = { left = 2, right = 3 };";
    let body = "m.x = pick(m.flag, m.x, 9); m.y = P2.left * P2.right;";
    insta::assert_snapshot!(ingress(&good(&program(decls, "", body))));
}

#[test]
fn p4info_of_selectors_meters_and_translated_types() {
    let decls = "@p4runtime_translation(\"acme/port\", string) type bit<9> port_t;\n\
                 @controller_header(\"packet_in\") header in_t { bit<9> port; bit<7> pad; }";
    let locals = "@max_group_size(8) action_selector(HashAlgorithm.crc16, 128, 14) sel;\n\
                  direct_meter<bit<2>>(MeterType.bytes) dm; bit<2> color;\n\
                  action go(@id(7) port_t port) { s.egress_spec = (bit<9>) port; dm.read(color); }\n\
                  table t { key = { hdr.eth.dst: ternary @name(\"mac\"); hdr.eth.src: selector; }\n\
                    actions = { go; } implementation = sel; meters = dm; support_timeout = true; }";
    let compiled = good(&program(decls, locals, "t.apply();"));
    insta::assert_snapshot!(p4runtime::to_text(&compiled.p4info).unwrap());
}

#[test]
fn p4info_has_the_tokens_of_annotations_with_blanks_between() {
    let decls = "@p4runtime_translation(\"\", string)\n\
                 @p4runtime_translation_mappings({ {\"\", 0}, }) type bit<9> port_t;";
    let locals = "action go(port_t port) { s.egress_spec = (bit<9>) port; }\n\
                  table t { key = { hdr.eth.dst: exact; } actions = { go; } default_action = go(0); }";
    let compiled = good(&program(decls, locals, "t.apply();"));
    let text = p4runtime::to_text(&compiled.p4info).unwrap();
    let written = r#""@p4runtime_translation_mappings({ { \"\" , 0 } , })""#;
    assert!(text.contains(written), "{text}");
}

/// P4Info holds values, not texts: of keys that are numbers, and of structured annotations.
#[test]
fn p4info_has_the_values_of_constant_expressions() {
    let locals = "action go() { }\n\
                  @mine[1 == 2, 5 + 6, !(true && false), 8w255 + 8w2, -(3 - 1) * 4, \"a\" ++ \"b\"]\n\
                  @also[k = 2 * 3, l = 1 << 3 | 1]\n\
                  table t { key = { 8w0x3648: exact; } actions = { go; } default_action = go(); }";
    let compiled = good(&program("", locals, "t.apply();"));
    let t = &compiled.p4info.tables[0];
    assert_eq!(t.match_fields[0].name, "0x48");
    let notes = &t.preamble.as_ref().unwrap().structured_annotations;
    let text = format!("{notes:?}");
    let at = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| unreachable!("{part}: {text}"))
    };
    let values = [
        "BoolValue(false)",
        "Int64Value(11)",
        "BoolValue(true)",
        "Int64Value(1)",
        "Int64Value(-8)",
        "StringValue(\"ab\")",
        "Int64Value(6)",
        "Int64Value(9)",
    ];
    assert!(values.map(at).is_sorted(), "{text}");
}

#[test]
fn errors_tell_what_where_and_how() {
    let cases = [
        ("", "", "m.x = hdr.eth.typ;"),
        ("", "", "m.x = hdr.eth.type + m.flag;"),
        ("", "", "m.x = hdr.eth.dst;"),
        (
            "",
            "action a(bit<9> p) { } table t { key = { hdr.eth.dst: exact; } actions = { a; } default_action = a(); }",
            "t.apply();",
        ),
        ("", "", "P.apply(hdr, m);"),
        (
            "bit<8> f(in bit<8> x) { return f(x); }",
            "",
            "m.x = (bit<16>) f(1);",
        ),
        (
            "bit<8> f(in bit<8> x) { if (x == 1) { return 2; } }",
            "",
            "m.x = (bit<16>) f(1);",
        ),
        (
            "",
            "",
            "hdr.eth.setValid(1); s.nonsense(); undefined = 3; m.x = 1w1 ++ 2;",
        ),
        (
            "",
            "table t { key = { hdr.eth.dst & m.z: exact; } actions = { nothing; } }",
            "switch (t.apply().action_run) { x: {} }",
        ),
    ];
    let all: Vec<_> = cases.iter().map(|(d, l, b)| refused(d, l, b)).collect();
    insta::assert_snapshot!(all.join("----\n"));
}

#[test]
fn errors_are_found_in_what_main_does_not_reach() {
    let text = program(
        "control Unused(inout bit<8> v) { apply { v = true; } }",
        "",
        "",
    );
    assert!(
        build(&text)
            .expect_err("wrong")
            .contains("expected `bit<8>`, found `bool`")
    );
}

/// Extern objects are passed without a direction (P4_16, 6.8); of the architecture's own only the
/// declaration is known.
#[test]
fn methods_of_extern_parameters() {
    let program = |local: &str, body: &str| {
        format!(
            "#include <core.p4>
             extern Queue<T> {{ Queue(); void drop(); bit<8> depth(in bit<3> q); T last<U>(in U of); }}
             header b {{ bit<8> v; }} struct H {{ b a; }}
             parser Pt<H>(packet_in p, out H h); control Ct<H>(inout H h, Queue<bit<8>> q);
             package Chip<H>(Pt<H> p, Ct<H> c);
             parser P(packet_in p, out H h) {{ state start {{ p.extract(h.a); transition accept; }} }}
             control Inner(inout H h, Queue<bit<8>> q)(Queue<_> other) {{
               apply {{ q.drop(); h.a.v = h.a.v + q.last(16w1); other.drop(); }} }}
             control C(inout H h, Queue<bit<8>> q) {{ Queue<bit<4>>() mine; Inner(mine) inner; {local}
               apply {{ h.a.v = q.depth(1); inner.apply(h, q); {body} }} }}
             Chip(P(), C()) main;"
        )
    };
    let ir = good(&program("", "")).ir.to_string();
    for call in ["ext0.depth", "ext0.drop", "ext0.last<bit<16>>", "ext1.drop"] {
        assert!(ir.contains(call), "{call}: {ir}");
    }
    let decls = "bit<8> half(Queue<bit<8>> of, in bit<3> q) { of.drop(); return of.depth(q) >> 1; }
        bit<8> unused(Queue<bit<8>> of) { return of.depth(8w1); }";
    let wanted = "bit<8> half";
    let calls = program(
        "Queue<bit<8>>() own;",
        "h.a.v = half(q, 2) + half(own, 3) + half(q, 4);",
    );
    let whole = calls.replace("header b", &format!("{decls} header b"));
    let said = build(&whole).unwrap_err();
    assert!(
        said.contains("`bit<3>`") && !said.contains(wanted),
        "{said}"
    );
    let ir = good(&whole.replace("depth(8w1)", "depth(1)"));
    assert_eq!(ir.ir.functions.len(), 2, "one for each object: {}", *ir.ir);
    let refused = build(&program("", "q.drip(); q.depth(8w1);")).unwrap_err();
    assert!(
        refused.contains("no method `drip`") && refused.contains("`bit<3>`"),
        "{refused}"
    );
}

/// A program for an architecture of its own, with one control.
fn control_alone(decls: &str, params: &str, body: &str) -> String {
    format!(
        "#include <core.p4>\n{decls}\ncontrol C({params}) {{ {body} }}\n\
         control proto({params}); package top(proto p); top(C()) main;\n"
    )
}

#[test]
fn action_data_of_any_type_comes_in_scalars() {
    let decls = "struct S { bit<8> f; bool[2] g; } header h_t { bit<4> x; }\n\
                 header_union u_t { h_t one; h_t two; }";
    let body = "action a(S[2] s, h_t h, u_t u, bit<8> last) { x = s[1].f + last; }\n\
                table t { actions = { a; }\n\
                  default_action = a({ { 1, { true, false } }, ... }, { 5 }, (u_t) {#}, 9); }\n\
                apply { t.apply(); }";
    let compiled = good(&control_alone(decls, "out bit<8> x", body));
    let (_, table) = compiled.ir.tables.iter().next().expect("a table");
    let action = &compiled.ir.actions[table.actions[0].action];
    let names: Vec<&str> = action.params.iter().map(|p| &*p.name).collect();
    insta::assert_snapshot!(names.join(" "), @"s[0].f s[0].g[0] s[0].g[1] s[1].f s[1].g[0] s[1].g[1] h.$valid$ h.x u.one.$valid$ u.one.x u.two.$valid$ u.two.x last");
    assert_eq!(table.default_action.args.len(), names.len());
}

#[test]
fn a_size_asks_for_a_type_only() {
    let body = "apply { H[0] none; x = none[0].minSizeInBits() + none[7].maxSizeInBytes(); }";
    good(&control_alone(
        "header H { bit<16> f; }",
        "out bit<32> x",
        body,
    ));
    let body = "apply { H[0] none; x = none[0].f; }";
    let text = control_alone("header H { bit<32> f; }", "out bit<32> x", body);
    assert!(build(&text).is_err_and(|why| why.contains("index 0 is out of bounds")));
}

/// A parser whose `select` has these cases.
fn selecting(locals: &str, cases: &str) -> String {
    format!(
        "#include <core.p4>\nbit<8> called(in bit<8> x) {{ return x + 1; }}\n\
         struct pair_t {{ bit<8> a; bit<8> b; }}\n\
         parser P(in pair_t p, out bit<8> x) {{ {locals}\n\
           state start {{ x = 0; transition select(p.a, p.b) {{ {cases} }} }}\n\
           state other {{ x = 1; transition accept; }} }}\n\
         parser proto(in pair_t p, out bit<8> x); package top(proto p); top(P()) main;\n"
    )
}

#[test]
fn sets_of_a_select_may_be_known_at_run_time() {
    let cases = "(p.b, 1): other; (_, p.a &&& 0xf0): other; (1 .. p.b, 2 .. 3): other; (4, 5): accept;\n\
                 default: reject;";
    let compiled = good(&selecting("", cases));
    let states = compiled.ir.states.values();
    let sets: Vec<String> = states
        .filter_map(|state| match &state.transition {
            p4ir::Transition::Select { keys, cases } => {
                let own = keys.len();
                Some(format!("{own} keys, {} cases", cases.len()))
            }
            p4ir::Transition::Goto(_) => None,
        })
        .collect();
    assert_eq!(sets, ["5 keys, 5 cases"], "a key for each computed case");
    let refused = build(&selecting("", "(called(p.a), _): accept;")).unwrap_err();
    assert!(
        refused.contains("a set of a `select` cannot call anything"),
        "{refused}"
    );
    let set = "value_set<pair_t>(4) known;";
    let refused = build(&selecting(set, "known: accept; (p.b, _): other;")).unwrap_err();
    assert!(
        refused.contains("a value set cannot stand beside sets"),
        "{refused}"
    );
}

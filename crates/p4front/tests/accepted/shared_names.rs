//! Actions that share a control-plane name, as programs translated from P4_14 have them.

use crate::lower::{build, good};

/// A program with a table in the ingress and one in the egress control, each with an action of its
/// own.
fn program(ingress: &str, egress: &str, listed: &str) -> String {
    format!(
        "#include <v1model.p4>
         header b_t {{ bit<8> v; bit<8> w; }} struct headers {{ b_t a; }} struct metadata {{ }}
         parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {{
           state start {{ p.extract(h.a); transition accept; }} }}
         control V(inout headers h, inout metadata m) {{ apply {{ }} }}
         control I(inout headers h, inout metadata m, inout standard_metadata_t s) {{
           {ingress} table t {{ key = {{ h.a.v: exact; }} actions = {{ set; {listed} }} }} apply {{ t.apply(); }} }}
         control E(inout headers h, inout metadata m, inout standard_metadata_t s) {{
           {egress} table u {{ key = {{ h.a.v: exact; }} actions = {{ put; }} }} apply {{ u.apply(); }} }}
         control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}
         V1Switch(P(), V(), I(), E(), V(), D()) main;"
    )
}

const SET: &str = "@name(\".set\") action set(bit<8> x) { h.a.w = x; }";
const PUT: &str = "@name(\".set\") action put(bit<8> x) { h.a.w = x; }";

#[test]
fn equal_actions_are_one_object() {
    let compiled = good(&program(SET, PUT, ""));
    let named = |name: &str| {
        let actions = compiled.p4info.actions.iter();
        let ids = actions
            .filter_map(|a| a.preamble.as_ref())
            .filter(|p| p.name == name);
        ids.map(|p| p.id).collect::<Vec<u32>>()
    };
    let ids = named("set");
    assert_eq!(ids.len(), 1, "{:?}", compiled.p4info.actions);
    for table in &compiled.p4info.tables {
        assert!(
            table.action_refs.iter().any(|a| a.id == ids[0]),
            "{table:?}"
        );
    }
    let in_program = compiled.ir.actions.values().filter(|a| a.name == "set");
    assert_eq!(
        in_program.count(),
        2,
        "each works on its own control's packet"
    );
}

#[test]
fn an_action_that_a_table_lists_has_its_parameters() {
    // The first of them is only called.
    let called = format!("{SET} action go() {{ set(1); }}").replace("set; ", "go; ");
    let text = program(&called, PUT, "").replace("actions = { set;", "actions = { go;");
    let text = text.replace("apply { t.apply(); }", "apply { t.apply(); set(2); }");
    let compiled = good(&text);
    let actions = compiled.p4info.actions.iter();
    let set = actions.filter(|a| a.preamble.as_ref().is_some_and(|p| p.name == "set"));
    let params: Vec<usize> = set.map(|a| a.params.len()).collect();
    assert_eq!(params, [1]);
}

#[test]
fn direct_counters_and_meters_are_their_tables() {
    let objects =
        "direct_counter(CounterType.packets) seen; direct_meter<bit<2>>(MeterType.bytes) rate;";
    let counted = format!("{objects} bit<2> c; {SET}");
    let counted = counted.replace("{ h.a.w", "{ seen.count(); rate.read(c); h.a.w");
    let text = program(&counted, PUT, "");
    let text = text.replacen("key = {", "counters = seen; meters = rate; key = {", 1);
    let names = good(&text).p4info.actions.into_iter();
    let names = names.filter_map(|a| a.preamble).filter(|p| p.name == "set");
    assert_eq!(names.count(), 1);
}

#[test]
fn different_actions_need_different_names() {
    let refused = |ingress: &str, egress: &str, listed: &str| {
        build(&program(ingress, egress, listed)).expect_err("refused")
    };
    let wrong = "two actions have the control-plane name `set`";
    let help = "or both the same parameters and the same body";
    for put in [
        PUT.replace("= x", "= x + 1"),
        PUT.replace("bit<8> x", "bit<8> y").replace("= x", "= y"),
        PUT.replace("bit<8> x", "bit<4> x")
            .replace("= x", "= (bit<8>) x"),
    ] {
        let said = refused(SET, &put, "");
        assert!(said.contains(wrong) && said.contains(help), "{said}");
    }
    // One table could not say which of two it means.
    let both = format!("{SET} @name(\".set\") action again(bit<8> x) {{ h.a.w = x; }}");
    let said = refused(&both, PUT, "again;");
    let wrong = "the table lists two actions of the control-plane name `set`";
    assert!(
        said.contains(wrong) && said.contains("another `@name`"),
        "{said}"
    );
}

//! What nothing uses is looked at where it is declared.

use crate::lower::{build, good, program};

/// What is said about declarations in front of a whole program, and about locals of its ingress
/// control.
fn said(decls: &str, locals: &str) -> String {
    match build(&program(decls, locals, "")) {
        Ok(_) => String::new(),
        Err(findings) => findings,
    }
}

#[test]
fn default_values_are_checked_where_they_are_declared() {
    let unknown = "`nope` is not declared";
    for decls in [
        "bit<8> f(in bit<8> a = nope) { return a; }",
        "T f<T>(in T a, in bit<8> b = nope) { return a; }",
        "extern void f(in bit<8> a = nope);",
        "extern X { X(bit<8> a = nope); }",
        "extern X { X(); void f(in bit<8> a = nope); }",
        "extern X<T> { X(); void f<U>(in U u, in bit<8> a = nope); }",
        "action f(bit<8> a = nope) { }",
        "control Q()(bit<8> a = nope) { apply { } }",
        "control Q(in bit<8> a = nope) { apply { } }",
        "control Q<T>(inout T t, in bit<8> a = nope) { apply { } }",
        "parser Q(packet_in p)(bit<8> a = nope) { state start { transition accept; } }",
        "control Q(in bit<8> a = nope);",
        "package Q(bit<8> a = nope);",
        "control Q() { action f(bit<8> a = nope) { } apply { } }",
    ] {
        assert!(
            said(decls, "").contains(unknown),
            "{decls}: {}",
            said(decls, "")
        );
        for (value, wrong) in [
            ("true", "found `bool`"),
            ("16w1", "found `bit<16>`"),
            ("{ 1 }", "found `{"),
        ] {
            let decls = decls.replace("nope", value);
            assert!(
                said(&decls, "").contains(wrong),
                "{decls}: {}",
                said(&decls, "")
            );
        }
        let decls = decls.replace("nope", "3");
        assert_eq!(said(&decls, ""), "", "{decls}");
    }
    assert!(said("", "action f(bit<8> a = nope) { }").contains(unknown));
    assert!(said("", "action f(in bit<8> a = true) { }").contains("found `bool`"));
}

#[test]
fn a_default_value_means_what_its_declaration_sees() {
    let locals = "const bit<8> K = 7; action f(in bit<8> a = K) { m.x = (bit<16>) a; }
        table t { key = { m.x: exact; } actions = { f(1); g; } default_action = g(); }";
    let locals = locals.replace(
        "table t",
        "action g(bit<8> b = K + 1) { m.y = (bit<16>) b; } table t",
    );
    let ir = good(&program("", &locals, "f(); t.apply();"))
        .ir
        .to_string();
    assert!(
        ir.contains("a = 8w0x7") && ir.contains("default I.g(8w0x8)"),
        "{ir}"
    );
}

#[test]
fn nothing_hides_in_what_is_not_used() {
    let unknown = "`nope` is not declared";
    for decls in [
        "const bit<8> k = nope;",
        "bit<8> f() { return nope; }",
        "T f<T>(in T t) { bit<8> x = nope; return t; }",
        "action f() { bit<8> x = nope; }",
        "control Q() { action f() { bit<8> x = nope; } apply { } }",
        "control Q<T>(inout T t) { apply { bit<8> x = nope; } }",
        "control Q() { const bit<8> k = nope; apply { } }",
        "control Q()(bit<8> n) { table t { key = { n + nope: exact @name(\"n\"); } actions = { NoAction; } } apply { } }",
        "control Q()(bit<8> n) { table t { actions = { NoAction; } size = nope; } apply { } }",
        "control Q(in bit<8> n) { table t { key = { n: exact; } actions = { NoAction; } const entries = { nope: NoAction(); } } apply { } }",
        "parser Q(packet_in p) { state start { transition accept; } state other { p.advance(nope); transition accept; } }",
        "parser Q(packet_in p) { state start { transition accept; } state other { transition select(8w1) { nope: accept; } } }",
        "parser Q<T>(packet_in p, inout T t) { value_set<bit<8>>(nope) v; state start { transition accept; } }",
        "struct st<T> { T t; bit<nope> b; }",
        "typedef bit<nope> t;",
        "type bit<nope> t;",
        "enum bit<8> e { a = nope }",
        "@k[v = nope] control Q() { apply { } }",
        "@k[nope] struct st { bit<8> b; }",
        "struct st { @k[v = nope] bit<8> b; }",
        "header st { @k[nope] bit<8> b; }",
        "action f(@k[nope] bit<8> b) { }",
        "control Q() { @k[v = nope] action f() { } apply { } }",
        "control Q() { @k[v = nope] table t { actions = { NoAction; } } apply { } }",
        "control Q(in bit<8> n) { table t { key = { n: exact @k[nope]; } actions = { NoAction; } } apply { } }",
        "control Q(in bit<8> n) { table t { key = { n: exact; } actions = { @k[nope] NoAction; } } apply { } }",
        "parser Q(packet_in p) { @k[nope] state start { transition accept; } }",
        "extern X { X(); @k[nope] void f(); }",
        "extern void f(@k[nope] in bit<8> b);",
        "control Q(@k[nope] in bit<8> b) { apply { } }",
        "package Q(@k[nope] bit<8> b);",
    ] {
        let said = said(decls, "");
        assert!(
            said.contains(unknown) || said.contains("cannot find"),
            "{decls}: {said}"
        );
    }
}

//! What a user sees of syntax errors: golden texts; several errors of one program at once.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // helpers of tests

use p4front::Options;
use p4front::source::SourceMap;

fn findings(text: &str) -> String {
    let mut map = SourceMap::new();
    let file = map.add("bad.p4", text).unwrap();
    let (_, diags) = p4front::parse(&mut map, file, &Options::default());
    diags.render(&map)
}

#[test]
fn several_errors_of_one_program() {
    insta::assert_snapshot!(findings(
        "#include <core.p4>
typedef bit<48> mac_t;
header eth_t {
    mac_t dst
    Mac_t src;
    bit<16> type;
    bit<> x;
}
struct S { eth_t eth; }
#define BROKEN h.eth.dst = ;
control c(inout S h) {
    bit<8> a = 1 +;
    action set(bit<8> v) { a = v }
    table t {
        key = { h.eth.dst exact; h.eth.type : ternary; }
        actions = { set; NoAction; }
        size 4;
        default_action = NoAction();
    }
    apply {
        if (a == 1 { t.apply(); }
        BROKEN
        t.apply();
        a + 1;
        return
    }
}
bit<8> global;
table t2 { }
control d() { action x() {} }
parser p(packet_in b) { state start { for (bit<8> i in 0..3) { } transition select(a) { 1: accept } } }
"
    ));
}

#[test]
fn single_errors() {
    let programs = [
        "const bit<8> x = 8w256x;",
        "const bit<8> x = 1",
        "const string s = \"abc;",
        "header h { bit<8> 1x; }",
        "extern e { f(); e(); }",
        "enum E { }",
        "error { A, }",
        "parser p() { bit<8> x; }",
        "control c() { apply { switch (1) { {1}: {} } } }",
        "control c() { apply { if (true) bit<8> x; } }",
        "control c() { apply { $ } }",
        "@name(\"a\" const bit<8> x = 1;",
        "@id(1) error { A }",
        "bit<8> f() { return 1; } }",
        "foo() main;",
        "struct S { bit<8> f; } const S s = { f = 1 g = 2 };",
        "const bool b = (bit<8>) ;",
        "control c() { table table { actions = { } } apply { } }",
    ];
    let shown: String = programs.iter().map(|p| findings(p) + "----\n").collect();
    insta::assert_snapshot!(shown);
}

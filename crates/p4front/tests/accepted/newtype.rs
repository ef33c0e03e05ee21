//! Values of a type that `type` makes: an integer literal becomes one by itself, wherever p4c puts
//! a cast.

use crate::lower::{good, ingress, program, refused};

const DECLS: &str = "type bit<10> vrf_t; type int<8> level_t; type vrf_t wrapped_t;
    const vrf_t HIGH = 1023; const vrf_t SUM = 3 + 4 * 2; const wrapped_t W = 7; const level_t LOW = -128;
    enum bit<8> kind_t { a = 1 }
    struct pair_t { vrf_t left; wrapped_t right; }
    const pair_t PAIR = { left = 1, right = 2 };
    struct one_t { vrf_t v; }
    vrf_t three() { return 3; }
    bool is_three(in vrf_t v, in wrapped_t w = 5) { return v == 3; }
    T same<T>(in T a, in T b) { return b; }";

#[test]
fn a_number_becomes_a_value_of_a_type() {
    let locals = "vrf_t v = 4; pair_t pair = { 5, 6 }; tuple<vrf_t, level_t> both = { 7, -8 };
        register<vrf_t>(16) seen;
        action set(vrf_t a, wrapped_t b) { v = a; pair.right = b; }
        action into(inout vrf_t x, vrf_t a) { x = a; }
        table t { key = { v: exact @name(\"v\"); pair.right: ternary @name(\"w\"); }
          actions = { set; into(v); } default_action = set(3, 4);
          const entries = { (1, 2 &&& 3): set(5, 6); (HIGH, _): into(v, 8); } }";
    let body = "v = 9; v = m.flag ? 10 : v; v = m.flag ? (vrf_t)1 : 11; v = m.flag ? 12 : 13;
        pair = { left = 14, right = 15 }; pair.left = three(); pair = { 16, ... };
        if (is_three(17) || is_three(v = 18, w = 19)) { v = same(v, 20); v = same(21, v); }
        if (v == 22 || 23 != v || pair == { 24, 25 }) { both = { 26, 27 }; }
        if ({ v, pair.right } == { 28, 29 }) { set(30, 31); }
        switch (v) { 32: { v = 33; } default: { } }
        seen.write(1, 34); t.apply();";
    insta::assert_snapshot!(ingress(&good(&program(DECLS, locals, body))));
}

#[test]
fn only_numbers_without_a_width_do() {
    let text = |locals: &str, body: &str| refused(DECLS, locals, body);
    let wants = "expected `vrf_t`, found `bit<10>`";
    assert!(text("vrf_t v = 10w1;", "").contains(wants));
    assert!(text("vrf_t v; bit<10> b = 1;", "v = b;").contains(wants));
    assert!(text("vrf_t v; bit<10> b = 1;", "v = b + 1;").contains(wants));
    assert!(text("vrf_t v; bit<10> b = v;", "").contains("expected `bit<10>`, found `vrf_t`"));
    assert!(
        text("vrf_t v = 1;", "v = v + 1;").contains("`+` cannot be applied to `vrf_t` and `int`")
    );
    assert!(text("vrf_t v = 1;", "if (v < 2) { v = 3; }").contains("`<` cannot be applied"));
    assert!(text("wrapped_t w = (vrf_t)1;", "").contains("expected `wrapped_t`, found `vrf_t`"));
    assert!(text("bool b = 1;", "").contains("expected `bool`, found `int`"));
    assert!(text("kind_t k = 1;", "").contains("expected `kind_t`, found `int`"));
}

#[test]
fn a_number_that_does_not_fit_is_warned_of() {
    let compiled = good(&program(
        "type bit<10> vrf_t; const vrf_t K = 1024;",
        "",
        "",
    ));
    assert!(
        compiled
            .warnings
            .iter()
            .any(|d| d.message == "1024 does not fit `vrf_t`; it becomes 0"),
        "{:?}",
        compiled.warnings
    );
}

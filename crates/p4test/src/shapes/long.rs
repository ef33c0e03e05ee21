//! Shapes that are long, or just within the bounds.

use super::hostile::{
    THOUSAND, deep_actions, deep_brackets, deep_ifs, large_comparisons, long_sums,
};
use super::{ProgramBlocks, each, parts};

pub(super) fn many_members(n: usize) -> ProgramBlocks {
    let members: Vec<String> = (0..n).map(|i| format!("m{i}")).collect();
    let decls = format!("enum e {{ {} }}", members.join(", "));
    let body = each((0..n).step_by(100), |i| {
        format!("if (x == e.m{i}) meta.a = {i};")
    });
    parts(&decls, "", "e x;", &body)
}

pub(super) fn many_values(n: usize) -> ProgramBlocks {
    let members: Vec<String> = (0..n).map(|i| format!("m{i} = {i}")).collect();
    let decls = format!("enum bit<32> e {{ {} }}", members.join(", "));
    let body = each((0..n).step_by(100), |i| {
        format!("if (meta.b == e.m{i}) meta.a = {i};")
    });
    parts(&decls, "", "", &body)
}

pub(super) fn many_tables(n: usize) -> ProgramBlocks {
    let tables = each(0..n, |i| {
        format!(
            "table t{i} {{ key = {{ meta.a: exact; }} actions = {{ set; NoAction; }} size = 16; }}"
        )
    });
    let locals = format!("action set(bit<32> x) {{ meta.a = x; }}\n{tables}");
    parts("", "", &locals, &each(0..n, |i| format!("t{i}.apply();")))
}

pub(super) fn many_cases(n: usize) -> ProgramBlocks {
    let cases = each(0..n, |i| format!("{i}: {{ meta.b = {}; }}", i + 1));
    parts(
        "",
        "",
        "",
        &format!("switch (meta.a) {{ {cases} default: {{ meta.b = 7; }} }}"),
    )
}

pub(super) fn many_wide_cases(n: usize) -> ProgramBlocks {
    let cases = each(0..n, |i| format!("{i}: {{ meta.b = {}; }}", i + 1));
    let body =
        format!("bit<128> w = meta.a ++ 96w5; switch (w) {{ {cases} default: {{ meta.b = 7; }} }}");
    parts("", "", "", &body)
}

/// Cases that return, exit, break and go on, inside a loop.
pub(super) fn many_case_calls(n: usize) -> ProgramBlocks {
    let cases = each(0..n, |i| {
        let way = ["a();", "return;", "exit;", "break;", "continue;"][i % 5];
        format!("{i}: {{ meta.b = {}; {way} }}", i + 1)
    });
    let body = format!(
        "for (bit<32> i in 0 .. 3) {{ switch (meta.a + i) {{ {cases} default: {{ meta.b = 7; }} }} meta.a = meta.a + 5; }}"
    );
    parts("", "", "action a() { meta.a = meta.a + 1; }", &body)
}

pub(super) fn many_entries(n: usize) -> ProgramBlocks {
    table_of_entries("exact", n, |i| i.to_string())
}

/// A table with so many entries of its own, each with its key.
fn table_of_entries(kind: &str, n: usize, key: fn(usize) -> String) -> ProgramBlocks {
    let entries = each(0..n, |i| format!("{}: set({i});", key(i)));
    let locals = format!(
        "action set(bit<32> x) {{ meta.a = x; }}
table t {{ key = {{ meta.a: {kind}; }} actions = {{ set; }} const entries = {{ {entries} }} size = {n}; }}"
    );
    parts("", "", &locals, "t.apply();")
}

pub(super) fn many_actions(n: usize) -> ProgramBlocks {
    let actions = each(0..n, |i| {
        format!("action a{i}(bit<32> x) {{ meta.a = x + {i}; meta.b = x; }}")
    });
    let list = each(0..n, |i| format!("a{i};"));
    let locals =
        format!("{actions}\ntable t {{ key = {{ meta.a: exact; }} actions = {{ {list} }} }}");
    let cases = each(0..n, |i| format!("a{i}: {{ meta.b = {i}; }}"));
    parts(
        "",
        "",
        &locals,
        &format!("switch (t.apply().action_run) {{ {cases} }}"),
    )
}

pub(super) fn many_keys(n: usize) -> ProgramBlocks {
    let keys = each(0..n, |i| format!("(meta.a + {i}): exact @name(\"k{i}\");"));
    let locals = format!("table t {{ key = {{ {keys} }} actions = {{ NoAction; }} }}");
    parts("", "", &locals, "t.apply();")
}

pub(super) fn many_states(n: usize) -> ProgramBlocks {
    let states = each(0..n, |i| {
        format!(
            "state s{i} {{ meta.a = meta.a + 1; transition select(meta.a) {{ 0: accept; _: s{}; }} }}",
            i + 1
        )
    });
    let states =
        format!("state start {{ transition s0; }}\n{states}\nstate s{n} {{ transition accept; }}");
    parts("", &states, "", "")
}

pub(super) fn many_select_cases(n: usize) -> ProgramBlocks {
    let cases = each(0..n, |i| format!("{i}: s{};", i % 3));
    let states = format!(
        "state start {{ pkt.extract(hdr.h); transition select(hdr.h.v ++ 24w1) {{ {cases} _: accept; }} }}
state s0 {{ meta.a = 1; transition accept; }}
state s1 {{ meta.a = 2; transition accept; }}
state s2 {{ meta.a = 3; transition accept; }}"
    );
    parts("", &states, "", "")
}

pub(super) fn many_locals(n: usize) -> ProgramBlocks {
    let body = each(0..n, |i| {
        format!("bit<32> x{i} = meta.a + {i}; meta.a = x{i};")
    });
    parts("", "", "", &body)
}

pub(super) fn many_fields(n: usize) -> ProgramBlocks {
    let fields = each(0..n, |i| format!("bit<8> f{i};"));
    let body = each((0..n).step_by(50), |i| format!("x.f{i} = y.f{i} + 1;"));
    parts(
        &format!("struct large {{ {fields} }}"),
        "",
        "large x; large y;",
        &format!("{body} x = y;"),
    )
}

/// A comparison of two structs, field by field.
pub(super) fn compared_structs(n: usize) -> ProgramBlocks {
    let fields = each(0..n, |i| format!("bit<32> f{i};"));
    parts(
        &format!("struct wide {{ {fields} }}"),
        "",
        "wide one; wide two;",
        "one = two; if (one == two) { meta.a = 1; }",
    )
}

/// Cases of a select with masks.
pub(super) fn many_masked_cases(n: usize) -> ProgramBlocks {
    let cases = each(0..n, |i| format!("{i} &&& 0xffffff: accept;"));
    let states = format!("state start {{ transition select(meta.a) {{ {cases} _: reject; }} }}");
    parts("", &states, "", "")
}

pub(super) fn many_ternary_entries(n: usize) -> ProgramBlocks {
    table_of_entries("ternary", n, |i| format!("{i} &&& 0xffffff"))
}

pub(super) fn moved_stack(n: usize) -> ProgramBlocks {
    let body = "x.push_front(1); meta.a = (bit<32>) x[meta.b & 1].v;";
    parts("", "", &format!("byte_h[{n}] x;"), body)
}

pub(super) fn many_constants(n: usize) -> ProgramBlocks {
    let constants = each(0..n, |i| match i {
        0 => "const bit<32> c0 = 0;".to_owned(),
        _ => format!("const bit<32> c{i} = 32w{i} + 1;"),
    });
    let body = each(0..n, |i| format!("meta.a = meta.a + c{i};"));
    parts(&constants, "", "", &body)
}

pub(super) fn many_counters(n: usize) -> ProgramBlocks {
    let locals = each(0..n, |i| {
        format!("counter(32w16, CounterType.packets) c{i};")
    });
    parts("", "", &locals, &each(0..n, |i| format!("c{i}.count(0);")))
}

pub(super) fn many_functions(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        format!("bit<32> f{i}(in bit<32> x) {{ return x + {i}; }}")
    });
    let body = each(0..n, |i| format!("meta.a = f{i}(meta.a);"));
    parts(&decls, "", "", &body)
}

pub(super) fn one_long_line(n: usize) -> ProgramBlocks {
    let body: String = (0..n).map(|i| format!("meta.a = meta.a + {i}; ")).collect();
    parts("", "", "", &body)
}

pub(super) fn huge_table(n: usize) -> ProgramBlocks {
    let locals = format!(
        "action set(bit<32> x) {{ meta.a = x; }}
action_selector(HashAlgorithm.crc16, 32w{n}, 32w16) s;
table t {{ key = {{ meta.a: exact; meta.b: selector; }} actions = {{ set; }} size = {n}; implementation = s; }}"
    );
    parts("", "", &locals, "t.apply();")
}

/// Loops inside each other that would run for ever.
pub(super) fn nested_loops(n: usize) -> ProgramBlocks {
    let heads: String = (0..n)
        .map(|i| format!("for (bit<32> i{i} in 0 .. 0xfffffffe) {{ "))
        .collect();
    let body = format!("{heads} meta.a = meta.a + 1; {}", "}".repeat(n));
    parts("", "", "", &body)
}

pub(super) fn action_chain(n: usize) -> ProgramBlocks {
    deep_actions(n)
}

pub(super) fn nested_ifs(n: usize) -> ProgramBlocks {
    deep_ifs(n)
}

pub(super) fn nested_brackets(n: usize) -> ProgramBlocks {
    deep_brackets(n)
}

pub(super) fn nested_sums(n: usize) -> ProgramBlocks {
    long_sums(n)
}

pub(super) fn large_comparison(n: usize) -> ProgramBlocks {
    large_comparisons(n)
}

/// Hashes over a large struct.
pub(super) fn large_hashes(n: usize) -> ProgramBlocks {
    let body = "hash(meta.a, HashAlgorithm.crc32, 32w0, { x }, 32w100);\n".repeat(n);
    parts(THOUSAND, "", "thousand x;", &body)
}

/// Products of wide numbers, which helpers compute.
pub(super) fn wide_products(n: usize) -> ProgramBlocks {
    let body = "w = w * v + w;\n".repeat(n);
    parts(
        "",
        "",
        "bit<4096> w = 3; bit<4096> v = 5;",
        &format!("{body} meta.a = w[31:0];"),
    )
}

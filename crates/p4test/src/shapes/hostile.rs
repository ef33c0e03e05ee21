//! Shapes that ask for too much.

use super::{ProgramBlocks, each, parts};

pub(super) fn doubling_tuples(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("typedef tuple<t{i}, t{i}> t{};", i + 1));
    let local = format!("t{n} x;");
    parts(&format!("typedef bit<8> t0;\n{decls}"), "", &local, "")
}

pub(super) fn doubling_structs(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("struct s{} {{ s{i} a; s{i} b; }}", i + 1));
    let local = format!("s{n} x;");
    parts(
        &format!("struct s0 {{ bit<8> v; }}\n{decls}"),
        "",
        &local,
        "",
    )
}

pub(super) fn doubling_empty_structs(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("struct s{} {{ s{i} a; s{i} b; }}", i + 1));
    let local = format!("s{n} x;");
    parts(&format!("struct s0 {{ }}\n{decls}"), "", &local, "")
}

pub(super) fn doubling_generics(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        let pair = format!("struct pair{i}<A, B> {{ A a; B b; }}");
        format!("{pair} typedef pair{i}<g{i}, g{i}> g{};", i + 1)
    });
    let decls = format!("typedef bit<8> g0;\n{decls}");
    parts(&decls, "", &format!("g{n} x;"), "")
}

/// Structs that are generic themselves.
pub(super) fn doubling_generic_structs(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        format!("struct s{}<T> {{ s{i}<T> a; s{i}<T> b; }}", i + 1)
    });
    let decls = format!("struct s0<T> {{ T v; }}\n{decls}");
    parts(&decls, "", &format!("s{n}<bit<8>> x;"), "")
}

pub(super) fn doubling_concatenations(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        let width = 2_u128.checked_shl(i as u32).unwrap_or(0);
        format!("const bit<{width}> k{} = k{i} ++ k{i};", i + 1)
    });
    let decls = format!("const bit<1> k0 = 1;\n{decls}");
    parts(&decls, "", "", &format!("meta.a = (bit<32>) k{n};"))
}

pub(super) fn doubling_macros(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("#define M{} M{i} M{i}", i + 1));
    let decls = format!("#define M0 meta.a = meta.a + 1;\n{decls}");
    parts(&decls, "", "", &format!("M{n}"))
}

pub(super) fn doubling_arguments(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        let named = format!("struct named{i}<A, B> {{ bit<8> v; }}");
        format!("{named} typedef named{i}<g{i}, g{i}> g{};", i + 1)
    });
    let decls = format!("typedef bit<8> g0;\n{decls}");
    parts(&decls, "", &format!("g{n} x;"), "")
}

pub(super) fn doubling_extern_arguments(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        let both = format!("extern both{i}<A, B> {{ both{i}(); }}");
        format!("{both} typedef both{i}<g{i}, g{i}> g{};", i + 1)
    });
    let decls = format!("typedef bit<8> g0;\n{decls}");
    parts(&decls, "", &format!("g{n}() x;"), "")
}

pub(super) fn doubling_stacks(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("typedef a{i}[2] a{};", i + 1));
    parts(
        &format!("typedef byte_h a0;\n{decls}"),
        "",
        &format!("a{n} x;"),
        "",
    )
}

pub(super) fn doubling_headers(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("struct s{} {{ s{i} a; s{i} b; }}", i + 1));
    let decls = format!("struct s0 {{ bit<8> v; }}\n{decls}\nheader large_h {{ s{n} all; }}");
    parts(&decls, "", "large_h x;", "")
}

/// Each function calls the one before with a pair of its own argument: the type of the last
/// argument doubles.
pub(super) fn doubling_inferred_tuples(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        format!("void f{}<T>(in T x) {{ f{i}({{ x, x }}); }}", i + 1)
    });
    let decls = format!("void f0<T>(in T x) {{ }}\n{decls}");
    parts(&decls, "", "", &format!("f{n}(meta.a);"))
}

pub(super) fn wide_tuples(n: usize) -> ProgramBlocks {
    let hundred = vec!["bit<8>"; 100].join(", ");
    let all = vec!["t"; n].join(", ");
    let decls = format!("typedef tuple<{hundred}> t;\ntypedef tuple<{all}> u;");
    parts(&decls, "", "u x;", "")
}

pub(super) fn wide_fields(n: usize) -> ProgramBlocks {
    let fields = each(0..n, |i| format!("bit<65536> f{i};"));
    parts(&format!("struct wide {{ {fields} }}"), "", "wide x;", "")
}

pub(super) fn deep_structs(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("struct s{} {{ s{i} a; }}", i + 1));
    parts(
        &format!("struct s0 {{ bit<8> v; }}\n{decls}"),
        "",
        &each(0..=n, |i| format!("s{i} x{i};")),
        "",
    )
}

pub(super) fn deep_new_types(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("type t{i} t{};", i + 1));
    parts(
        &format!("type bit<8> t0;\n{decls}"),
        "",
        &each(0..=n, |i| format!("t{i} x{i};")),
        "",
    )
}

pub(super) fn deep_stacks(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| format!("typedef a{i}[1] a{};", i + 1));
    parts(
        &format!("typedef byte_h a0;\n{decls}"),
        "",
        &each(0..=n, |i| format!("a{i} x{i};")),
        "",
    )
}

pub(super) fn huge_stack(n: usize) -> ProgramBlocks {
    parts("", "", &format!("byte_h[{n}] x;"), "")
}

/// A struct of 1,000 fields.
pub(super) const THOUSAND: &str = "struct thousand_inner { bit<8> a0; bit<8> a1; bit<8> a2; bit<8> a3; bit<8> a4; bit<8> a5; bit<8> a6; bit<8> a7; bit<8> a8; bit<8> a9; }
struct thousand_middle { thousand_inner a0; thousand_inner a1; thousand_inner a2; thousand_inner a3; thousand_inner a4; thousand_inner a5; thousand_inner a6; thousand_inner a7; thousand_inner a8; thousand_inner a9; }
struct thousand { thousand_middle a0; thousand_middle a1; thousand_middle a2; thousand_middle a3; thousand_middle a4; thousand_middle a5; thousand_middle a6; thousand_middle a7; thousand_middle a8; thousand_middle a9; }";

pub(super) fn large_locals(n: usize) -> ProgramBlocks {
    parts(THOUSAND, "", &each(0..n, |i| format!("thousand x{i};")), "")
}

pub(super) fn large_parameters(n: usize) -> ProgramBlocks {
    let params: Vec<String> = (0..n).map(|i| format!("in thousand x{i}")).collect();
    let decls = format!("{THOUSAND}\nvoid f({}) {{ }}", params.join(", "));
    parts(&decls, "", "", "")
}

pub(super) fn large_constants(n: usize) -> ProgramBlocks {
    let constants = each(0..n, |i| format!("const thousand c{i} = {{ ... }};"));
    parts(&format!("{THOUSAND}\n{constants}"), "", "", "")
}

pub(super) fn large_comparisons(n: usize) -> ProgramBlocks {
    let body = each(0..n, |i| format!("if (x == y) meta.a = {i};"));
    parts(THOUSAND, "", "thousand x; thousand y;", &body)
}

pub(super) fn doubling_controls(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        format!(
            "control c{}(inout bit<32> x) {{ c{i}() a; c{i}() b; apply {{ a.apply(x); b.apply(x); }} }}",
            i + 1
        )
    });
    let decls = format!("control c0(inout bit<32> x) {{ apply {{ x = x + 1; }} }}\n{decls}");
    parts(&decls, "", &format!("c{n}() c;"), "c.apply(meta.a);")
}

pub(super) fn doubling_parsers(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        format!(
            "parser p{}(inout bit<32> x) {{ p{i}() a; p{i}() b; state start {{ a.apply(x); b.apply(x); transition accept; }} }}",
            i + 1
        )
    });
    let decls = format!(
        "parser p0(inout bit<32> x) {{ state start {{ x = x + 1; transition accept; }} }}\n{decls}"
    );
    let states = format!("p{n}() p; state start {{ p.apply(meta.a); transition accept; }}");
    parts(&decls, &states, "", "")
}

/// Each function calls the one before for two types, made of its own.
pub(super) fn doubling_functions(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        let types = format!("struct left{i}<T> {{ bit<8> v; }} struct right{i}<T> {{ bit<8> v; }}");
        format!(
            "{types} void f{}<T>(in T x) {{ left{i}<T> y; right{i}<T> z; y.v = 0; z.v = 0; f{i}(y); f{i}(z); }}",
            i + 1
        )
    });
    let decls = format!("void f0<T>(in T x) {{ }}\n{decls}");
    parts(&decls, "", "", &format!("f{n}(meta.a);"))
}

/// A control of 10,000 statements, some times.
pub(super) fn repeated_controls(n: usize) -> ProgramBlocks {
    let body = "x = x + 1;\n".repeat(10_000);
    let decls = format!("control c(inout bit<32> x) {{ apply {{\n{body} }} }}");
    let instances = each(0..n, |i| format!("c() c{i};"));
    let calls = each(0..n, |i| format!("c{i}.apply(meta.a);"));
    parts(&decls, "", &instances, &calls)
}

/// Controls inside each other, of long names.
pub(super) fn long_names(n: usize) -> ProgramBlocks {
    let name = "n".repeat(100);
    let decls = each(0..n, |i| {
        format!(
            "control c{}(inout bit<32> x) {{ c{i}() {name}; apply {{ {name}.apply(x); }} }}",
            i + 1
        )
    });
    let decls = format!("control c0(inout bit<32> x) {{ apply {{ x = x + 1; }} }}\n{decls}");
    parts(&decls, "", &format!("c{n}() c;"), "c.apply(meta.a);")
}

pub(super) fn deep_actions(n: usize) -> ProgramBlocks {
    let actions = each(0..n, |i| format!("action a{}() {{ a{i}(); }}", i + 1));
    let actions = format!("action a0() {{ meta.a = meta.a + 1; }}\n{actions}");
    parts("", "", &actions, &format!("a{n}();"))
}

/// Functions that call the one before, each called first from the top so that none is met inside
/// another.
pub(super) fn deep_functions(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        format!("bit<32> f{}(in bit<32> x) {{ return f{i}(x); }}", i + 1)
    });
    let decls = format!("bit<32> f0(in bit<32> x) {{ return x + 1; }}\n{decls}");
    parts(
        &decls,
        "",
        "",
        &each(0..=n, |i| format!("meta.a = f{i}(meta.a);")),
    )
}

pub(super) fn doubling_action_calls(n: usize) -> ProgramBlocks {
    let actions = each(0..n, |i| {
        format!("action a{}() {{ a{i}(); a{i}(); }}", i + 1)
    });
    let actions = format!("action a0() {{ meta.a = meta.a + 1; }}\n{actions}");
    parts("", "", &actions, &format!("a{n}();"))
}

pub(super) fn doubling_function_calls(n: usize) -> ProgramBlocks {
    let decls = each(0..n, |i| {
        format!(
            "bit<32> f{}(in bit<32> x) {{ return f{i}(x) + f{i}(x); }}",
            i + 1
        )
    });
    let decls = format!("bit<32> f0(in bit<32> x) {{ return x + 1; }}\n{decls}");
    parts(&decls, "", "", &format!("meta.a = f{n}(meta.a);"))
}

/// The same, run by a table.
pub(super) fn doubling_table_actions(n: usize) -> ProgramBlocks {
    let actions = each(0..n, |i| {
        format!("action a{}() {{ a{i}(); a{i}(); }}", i + 1)
    });
    let actions = format!("action a0() {{ meta.a = meta.a + 1; }}\n{actions}");
    let table = format!(
        "table t {{ key = {{ meta.a: exact; }} actions = {{ a{n}; }} default_action = a{n}(); }}"
    );
    parts("", "", &format!("{actions}\n{table}"), "t.apply();")
}

/// Copies of a large struct, doubled by a few calls.
pub(super) fn repeated_copies(n: usize) -> ProgramBlocks {
    let copies = "x = y; y = x;\n".repeat(n);
    let action = format!("action a() {{\n{copies} }}");
    let locals = format!("thousand x; thousand y;\n{action}");
    parts(THOUSAND, "", &locals, "a(); a();")
}

pub(super) fn large_registers(n: usize) -> ProgramBlocks {
    let locals = each(0..n, |i| format!("register<bit<64>>(32w16777216) r{i};"));
    parts("", "", &locals, "")
}

pub(super) fn large_meters(n: usize) -> ProgramBlocks {
    let locals = each(0..n, |i| {
        format!("meter(32w16777216, MeterType.bytes) m{i};")
    });
    parts("", "", &locals, "")
}

pub(super) fn large_counters(n: usize) -> ProgramBlocks {
    let locals = each(0..n, |i| {
        format!("counter(32w16777216, CounterType.bytes) c{i};")
    });
    parts("", "", &locals, "")
}

/// Actions that call the one before from two branches, each with much on the stack.
pub(super) fn dear_calls(n: usize) -> ProgramBlocks {
    let products = "w = w * v;\n".repeat(45);
    let actions = each(0..n, |i| {
        format!(
            "action a{}() {{ {products} if (meta.a == {i}) {{ a{i}(); }} else {{ a{i}(); }} }}",
            i + 1
        )
    });
    let locals = format!("bit<1024> w = 3; bit<1024> v = 5; action a0() {{ }}\n{actions}");
    parts("", "", &locals, &format!("a{n}();"))
}

/// Tables of many actions, each applied a thousand times.
pub(super) fn many_applications(n: usize) -> ProgramBlocks {
    let actions = each(0..20, |i| {
        format!("action a{i}(bit<32> x) {{ meta.a = x + {i}; meta.b = x; }}")
    });
    let list = each(0..20, |i| format!("a{i};"));
    let tables = each(0..n, |i| {
        format!("table t{i} {{ key = {{ meta.a: exact; }} actions = {{ {list} }} }}")
    });
    let body = each(0..n, |i| format!("t{i}.apply();\n").repeat(1_000));
    parts("", "", &format!("{actions}\n{tables}"), &body)
}

pub(super) fn deep_ifs(n: usize) -> ProgramBlocks {
    let body = format!(
        "{}meta.a = 1;{}",
        "if (meta.a == 0) {".repeat(n),
        "}".repeat(n)
    );
    parts("", "", "", &body)
}

pub(super) fn deep_blocks(n: usize) -> ProgramBlocks {
    let body = format!("{}meta.a = 1;{}", "{".repeat(n), "}".repeat(n));
    parts("", "", "", &body)
}

pub(super) fn deep_brackets(n: usize) -> ProgramBlocks {
    let body = format!("meta.a = {}meta.b{};", "(".repeat(n), ")".repeat(n));
    parts("", "", "", &body)
}

pub(super) fn long_sums(n: usize) -> ProgramBlocks {
    parts("", "", "", &format!("meta.a = {}1;", "meta.b + ".repeat(n)))
}

/// Without brackets, each choice is the condition of the next.
pub(super) fn long_choices(n: usize) -> ProgramBlocks {
    let choices = "meta.b == 1 ? false : ".repeat(n);
    parts(
        "",
        "",
        "",
        &format!("if ({choices} true) {{ meta.a = 1; }}"),
    )
}

pub(super) fn long_concatenations(n: usize) -> ProgramBlocks {
    let body = format!("meta.a = (bit<32>) ({}1w1);", "meta.b[0:0] ++ ".repeat(n));
    parts("", "", "", &body)
}

pub(super) fn long_else_ifs(n: usize) -> ProgramBlocks {
    let body = each(0..n, |i| format!("if (meta.a == {i}) meta.b = {i}; else"));
    parts("", "", "", &format!("{body} meta.b = 1;"))
}

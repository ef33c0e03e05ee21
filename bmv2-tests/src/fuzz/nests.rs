//! Programs that are small to write and large to build, from a line: `nest KIND N`. Several lines make one program.
//!
//! A mutated number is another size; what a size leads to must be a program or a refusal, soon and in little memory.

use std::fmt::Write as _;

/// The word that begins a line.
const WORD: &str = "nest ";
/// Largest size.
const MAX_SIZE: usize = 20_000;
/// Bytes after which a text is not made longer.
const MAX_BYTES: usize = 4 << 20;

/// A program as it grows.
#[derive(Default)]
struct Nest {
    /// Before the parser.
    declarations: String,
    /// Of the parser, before its states.
    objects: String,
    /// Of the parser, behind `start`.
    states: String,
    /// Where `start` leads.
    first_state: Option<&'static str>,
    /// Of ingress.
    locals: String,
    /// In its `apply`.
    statements: String,
}

type Shape = fn(&mut Nest, usize);

/// Every kind of nest.
const SHAPES: &[(&str, Shape)] = &[
    ("tuples", tuples),
    ("structs", structs),
    ("empty-structs", empty_structs),
    ("generics", generics),
    ("controls", controls),
    ("subparsers", subparsers),
    ("actions", actions),
    ("calls", calls),
    ("functions", functions),
    ("registers", registers),
    ("stack", stack),
    ("enum", enumeration),
    ("tables", tables),
    ("actions-of-table", actions_of_table),
    ("keys", keys),
    ("entries", entries),
    ("switch", switch),
    ("parentheses", parentheses),
    ("sum", sum),
    ("concatenation", concatenation),
    ("blocks", blocks),
    ("ifs", ifs),
    ("else-ifs", else_ifs),
    ("loops", loops),
    ("states", states),
    ("select", select),
    ("fields", fields),
    ("macros", macros),
    ("locals", locals),
];

/// Whether an input is made of nests.
pub(super) fn is_nest(input: &[u8]) -> bool {
    input.starts_with(WORD.as_bytes())
}

/// The program that the lines of an input ask for; lines that ask for nothing known are left out.
pub(super) fn program(input: &[u8]) -> String {
    let mut nest = Nest::default();
    for line in String::from_utf8_lossy(input).lines() {
        let mut words = line.strip_prefix(WORD).unwrap_or("").split_whitespace();
        let kind = words.next().unwrap_or("");
        let size = words.next().and_then(|n| n.parse::<usize>().ok());
        let shape = SHAPES.iter().find(|(name, _)| *name == kind);
        if let (Some((_, shape)), Some(size)) = (shape, size) {
            shape(&mut nest, size.min(MAX_SIZE));
        }
    }
    nest.text()
}

/// Adds a piece for each number up to `count`.
fn repeat(text: &mut String, count: usize, piece: impl Fn(usize) -> String) {
    for i in 1..=count {
        if text.len() > MAX_BYTES {
            return;
        }
        text.push_str(&piece(i));
    }
}

impl Nest {
    fn text(&self) -> String {
        let first = self.first_state.unwrap_or("accept");
        format!(
            "#include <core.p4>\n#include <v1model.p4>\n\
             header h_t {{ bit<8> a; bit<32> b; }}\n\
             struct headers {{ h_t h; h_t[4] s; }}\n\
             struct meta_t {{ bit<32> n; bit<8> m; }}\n\
             {}\n\
             parser P(packet_in p, out headers h, inout meta_t m, inout standard_metadata_t s) {{\n{}\
             state start {{ p.extract(h.h); transition {first}; }}\n{}}}\n\
             control V(inout headers h, inout meta_t m) {{ apply {{ }} }}\n\
             control I(inout headers h, inout meta_t m, inout standard_metadata_t s) {{\n{}\napply {{\n{}\n}} }}\n\
             control E(inout headers h, inout meta_t m, inout standard_metadata_t s) {{ apply {{ }} }}\n\
             control D(packet_out p, in headers h) {{ apply {{ p.emit(h.h); }} }}\n\
             V1Switch(P(), V(), I(), E(), V(), D()) main;\n",
            self.declarations, self.objects, self.states, self.locals, self.statements
        )
    }

    fn say(&mut self, statement: &str) {
        self.statements.push_str(statement);
        self.statements.push('\n');
    }
}

fn tuples(nest: &mut Nest, n: usize) {
    nest.declarations
        .push_str("typedef tuple<bit<8>, bit<8>> t0;\n");
    repeat(&mut nest.declarations, n, |i| {
        let below = i - 1;
        format!("typedef tuple<t{below}, t{below}> t{i};\n")
    });
    let _ = writeln!(nest.locals, "t{n} a_tuple;");
}

fn structs(nest: &mut Nest, n: usize) {
    nest.declarations.push_str("struct s0 { bit<8> f; }\n");
    repeat(&mut nest.declarations, n, |i| {
        let below = i - 1;
        format!("struct s{i} {{ s{below} a; s{below} b; }}\n")
    });
    let _ = writeln!(nest.locals, "s{n} a_struct;");
}

fn empty_structs(nest: &mut Nest, n: usize) {
    nest.declarations.push_str("struct e0 { }\n");
    repeat(&mut nest.declarations, n, |i| {
        let below = i - 1;
        format!("struct e{i} {{ e{below} a; e{below} b; }}\n")
    });
    let _ = writeln!(nest.locals, "e{n} an_empty_struct;");
}

fn generics(nest: &mut Nest, n: usize) {
    nest.declarations.push_str("struct g0<T> { T f; }\n");
    repeat(&mut nest.declarations, n, |i| {
        let below = i - 1;
        format!("struct g{i}<T> {{ g{below}<T> a; g{below}<T> b; }}\n")
    });
    let _ = writeln!(nest.locals, "g{n}<bit<8>> a_generic;");
}

fn controls(nest: &mut Nest, n: usize) {
    nest.declarations
        .push_str("control c0(inout bit<32> x) { apply { x = x + 1; } }\n");
    repeat(&mut nest.declarations, n, |i| {
        let below = i - 1;
        format!(
            "control c{i}(inout bit<32> x) {{ c{below}() a; c{below}() b; apply {{ a.apply(x); b.apply(x); }} }}\n"
        )
    });
    let _ = writeln!(nest.locals, "c{n}() a_control;");
    nest.say("a_control.apply(m.n);");
}

fn subparsers(nest: &mut Nest, n: usize) {
    nest.declarations.push_str(
        "parser q0(packet_in p, inout h_t x) { state start { p.extract(x); transition accept; } }\n",
    );
    repeat(&mut nest.declarations, n, |i| {
        let below = i - 1;
        format!(
            "parser q{i}(packet_in p, inout h_t x) {{ q{below}() a; q{below}() b; \
             state start {{ a.apply(p, x); b.apply(p, x); transition accept; }} }}\n"
        )
    });
    let _ = writeln!(nest.objects, "q{n}() a_parser;");
    nest.states
        .push_str("state sub { a_parser.apply(p, h.h); transition accept; }\n");
    nest.first_state = Some("sub");
}

fn actions(nest: &mut Nest, n: usize) {
    nest.locals.push_str("action a0() { m.n = m.n + 1; }\n");
    repeat(&mut nest.locals, n, |i| {
        format!("action a{i}() {{ a{}(); }}\n", i - 1)
    });
    nest.say(&format!("a{n}();"));
}

fn calls(nest: &mut Nest, n: usize) {
    nest.locals.push_str("action d0() { m.n = m.n + 1; }\n");
    repeat(&mut nest.locals, n, |i| {
        let below = i - 1;
        format!("action d{i}() {{ d{below}(); d{below}(); }}\n")
    });
    nest.say(&format!("d{n}();"));
}

fn functions(nest: &mut Nest, n: usize) {
    nest.declarations
        .push_str("bit<32> f0(in bit<32> x) { return x + 1; }\n");
    repeat(&mut nest.declarations, n, |i| {
        let below = i - 1;
        format!("bit<32> f{i}(in bit<32> x) {{ return f{below}(x) + f{below}(x); }}\n")
    });
    nest.say(&format!("m.n = f{n}(m.n);"));
}

fn registers(nest: &mut Nest, n: usize) {
    repeat(&mut nest.locals, n, |i| {
        format!("register<bit<64>>(16777216) r{i};\n")
    });
    repeat(&mut nest.statements, n, |i| {
        format!("r{i}.write(m.n, (bit<64>) m.n);\n")
    });
}

fn stack(nest: &mut Nest, n: usize) {
    let _ = writeln!(nest.locals, "h_t[{n}] a_stack;");
    nest.say("a_stack.push_front(1); m.n = a_stack[m.n & 1].b;");
}

fn enumeration(nest: &mut Nest, n: usize) {
    nest.declarations.push_str("enum en { m0");
    repeat(&mut nest.declarations, n, |i| format!(", m{i}"));
    nest.declarations.push_str(" }\n");
    nest.locals.push_str("en an_enum = en.m0;\n");
    nest.say(&format!("if (an_enum == en.m{n}) {{ m.n = 1; }}"));
}

fn tables(nest: &mut Nest, n: usize) {
    nest.locals
        .push_str("action ta(bit<32> v) { m.n = v; }\naction tb() { m.m = 1; }\n");
    repeat(&mut nest.locals, n, |i| {
        format!(
            "table tab{i} {{ key = {{ m.n: exact; }} actions = {{ ta; tb; }} default_action = tb(); }}\n"
        )
    });
    repeat(&mut nest.statements, n, |i| format!("tab{i}.apply();\n"));
}

fn actions_of_table(nest: &mut Nest, n: usize) {
    repeat(&mut nest.locals, n, |i| {
        format!("action o{i}(bit<32> v) {{ m.n = v + {i}; }}\n")
    });
    nest.locals
        .push_str("table many_actions { key = { m.n: exact; } actions = {");
    repeat(&mut nest.locals, n, |i| format!(" o{i};"));
    nest.locals.push_str(" } }\n");
    nest.say("switch (many_actions.apply().action_run) {");
    repeat(&mut nest.statements, n, |i| {
        format!("o{i}: {{ m.n = m.n + {i}; }}\n")
    });
    nest.say("}");
}

fn keys(nest: &mut Nest, n: usize) {
    nest.locals.push_str("table many_keys { key = {");
    repeat(&mut nest.locals, n, |i| {
        format!(" m.n + {i}: ternary @name(\"k{i}\");")
    });
    nest.locals.push_str(" } actions = { NoAction; } }\n");
    nest.say("many_keys.apply();");
}

fn entries(nest: &mut Nest, n: usize) {
    nest.locals.push_str(
        "action ea(bit<32> v) { m.n = v; }\n\
         table many_entries { key = { m.n: ternary; } actions = { ea; } const entries = {\n",
    );
    repeat(&mut nest.locals, n, |i| {
        format!("{i} &&& 0xffffff: ea({i});\n")
    });
    nest.locals.push_str("} }\n");
    nest.say("many_entries.apply();");
}

fn switch(nest: &mut Nest, n: usize) {
    nest.say("switch (m.n) {");
    repeat(&mut nest.statements, n, |i| {
        format!("{i}: {{ m.n = {i} + m.n; m.m = m.m + 1; }}\n")
    });
    nest.say("default: { } }");
}

fn parentheses(nest: &mut Nest, n: usize) {
    let (open, close) = ("(".repeat(n), ")".repeat(n));
    nest.say(&format!("m.n = {open}m.n{close};"));
}

fn sum(nest: &mut Nest, n: usize) {
    nest.statements.push_str("m.n = m.n");
    repeat(&mut nest.statements, n, |_| " + m.n".to_owned());
    nest.say(";");
}

fn concatenation(nest: &mut Nest, n: usize) {
    nest.declarations.push_str("const bit<1> k0 = 1;\n");
    repeat(&mut nest.declarations, n, |i| {
        let (below, width) = (i - 1, 1_u128.checked_shl(i as u32).unwrap_or(0));
        format!("const bit<{width}> k{i} = k{below} ++ k{below};\n")
    });
    nest.say(&format!("m.n = (bit<32>) k{n};"));
}

fn blocks(nest: &mut Nest, n: usize) {
    let (open, close) = ("{".repeat(n), "}".repeat(n));
    nest.say(&format!("{open} m.n = 1; {close}"));
}

fn ifs(nest: &mut Nest, n: usize) {
    repeat(&mut nest.statements, n, |i| format!("if (m.n != {i}) {{\n"));
    nest.say(&"}".repeat(n));
}

fn else_ifs(nest: &mut Nest, n: usize) {
    nest.statements.push_str("if (m.m == 0) { }\n");
    repeat(&mut nest.statements, n, |i| {
        format!("else if (m.n == {i}) {{ m.m = 1; }}\n")
    });
}

fn loops(nest: &mut Nest, n: usize) {
    repeat(&mut nest.statements, n, |i| {
        format!("for (bit<32> i{i} in 0 .. 1000) {{\n")
    });
    nest.say("m.n = m.n + 1;");
    nest.say(&"}".repeat(n));
}

fn states(nest: &mut Nest, n: usize) {
    repeat(&mut nest.states, n, |i| {
        let next = i + 1;
        format!(
            "state st{i} {{ m.n = m.n + 1; transition select(m.n) {{ {i}: accept; _: st{next}; }} }}\n"
        )
    });
    let _ = writeln!(nest.states, "state st{} {{ transition accept; }}", n + 1);
    nest.first_state = Some("st1");
}

fn select(nest: &mut Nest, n: usize) {
    nest.states
        .push_str("state choose { transition select(m.n) {\n");
    repeat(&mut nest.states, n, |i| {
        format!("{i} &&& 0xffffff: accept;\n")
    });
    nest.states.push_str("_: reject; } }\n");
    nest.first_state = Some("choose");
}

fn fields(nest: &mut Nest, n: usize) {
    nest.declarations.push_str("struct wide {");
    repeat(&mut nest.declarations, n, |i| format!(" bit<32> f{i};"));
    nest.declarations.push_str(" }\n");
    nest.locals.push_str("wide one;\nwide two;\n");
    nest.say("one = two; if (one == two) { m.n = 1; }");
}

fn macros(nest: &mut Nest, n: usize) {
    nest.declarations.push_str("#define M0 m.n = m.n + 1;\n");
    repeat(&mut nest.declarations, n, |i| {
        let below = i - 1;
        format!("#define M{i} M{below} M{below}\n")
    });
    nest.say(&format!("M{n}"));
}

fn locals(nest: &mut Nest, n: usize) {
    repeat(&mut nest.statements, n, |i| {
        format!("bit<32> l{i} = m.n + {i}; m.n = l{i};\n")
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_nests_are_programs() {
        for (kind, _) in SHAPES {
            let input = format!("nest {kind} 2\n");
            assert!(is_nest(input.as_bytes()));
            let text = program(input.as_bytes());
            let mut map = p4front::source::SourceMap::new();
            let main = map.add("nest.p4", &text).expect("small");
            let compiled = p4front::compile(&mut map, main, &p4front::Options::default());
            let found = compiled.err().map(|found| found.render(&map));
            assert_eq!(found, None, "{kind}\n{text}");
        }
    }
}

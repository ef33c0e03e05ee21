//! Which tree a text becomes: precedence, ambiguities of `<` and `(`, scopes, printing.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // helpers of tests

use p4front::Options;
use p4front::ast::{DeclKind, Expr, ExprKind, Program, StmtKind, TypeKind};
use p4front::source::SourceMap;

fn parse(text: &str) -> Program {
    let mut map = SourceMap::new();
    let file = map.add("t.p4", text).unwrap();
    let (program, diags) = p4front::parse(&mut map, file, &Options::default());
    assert!(!diags.has_errors(), "{text}\n{}", diags.render(&map));
    let printed = program.to_string();
    let mut again = SourceMap::new();
    let file = again.add("printed.p4", &printed).unwrap();
    let (second, diags) = p4front::parse(&mut again, file, &Options::default());
    assert!(!diags.has_errors(), "{printed}\n{}", diags.render(&again));
    assert_eq!(second, program, "{printed}");
    program
}

const TYPES: &str =
    "struct T { bit<8> f; } enum E { A, B } extern X<P> { X(); } struct G<P> { P f; }\n";

/// The initialiser of a constant, the types above being known.
fn expr(text: &str) -> Expr {
    let p = parse(&format!("{TYPES}const bit<8> x = {text};"));
    match p.decls.into_iter().last().map(|d| d.kind) {
        Some(DeclKind::Constant(c)) => c.value,
        other => panic!("{other:?}"),
    }
}

/// With every operation in parentheses.
fn explicit(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Binary { op, left, right } => {
            format!("({} {} {})", explicit(left), op.symbol(), explicit(right))
        }
        ExprKind::Ternary {
            condition,
            then,
            otherwise,
        } => {
            format!(
                "({} ? {} : {})",
                explicit(condition),
                explicit(then),
                explicit(otherwise)
            )
        }
        ExprKind::Unary { op, operand } => format!("({}{})", op.symbol(), explicit(operand)),
        ExprKind::Cast { ty, operand } => format!("(({ty}){})", explicit(operand)),
        _ => e.to_string(),
    }
}

#[test]
fn precedence_and_grouping() {
    let cases = [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("a ++ b |+| c |-| d", "(((a ++ b) |+| c) |-| d)"),
        ("a & b == c", "((a & b) == c)"),
        ("a | b ^ c & d", "(a | (b ^ (c & d)))"),
        ("a << 1 + b >> 2", "((a << (1 + b)) >> 2)"),
        ("a < b == c > d", "((a < b) == (c > d))"),
        ("a && b || c && d", "((a && b) || (c && d))"),
        ("a ? b : c ? d : e", "((a ? b : c) ? d : e)"),
        ("a ? b ? c : d : e", "(a ? (b ? c : d) : e)"),
        ("-a[3:0] + ~b.c", "((-a[3:0]) + (~b.c))"),
        ("(bit<8>) a + b", "(((bit<8>)a) + b)"),
        ("(bit<8>) (a + b)", "((bit<8>)(a + b))"),
        ("+ +a", "(+(+a))"),
        ("!!a", "(!(!a))"),
        ("(a) - b", "(a - b)"),
        ("a > > b", "?"),
    ];
    for (text, want) in cases {
        if want != "?" {
            assert_eq!(explicit(&expr(text)), want, "{text}");
        }
    }
}

#[test]
fn angle_brackets() {
    let call = |text: &str| match expr(text).kind {
        ExprKind::Call { type_args, .. } => type_args.len(),
        _ => 0,
    };
    assert_eq!(call("f<bit<8>>(a)"), 1);
    assert_eq!(call("f<T, _>(a)"), 2);
    assert_eq!(call("p.lookahead<G<T>>()"), 1);
    assert_eq!(call("f<T[2]>(a)"), 1);
    assert_eq!(call("f<bit<(a > b ? 1 : 2)>>(a)"), 1);
    assert_eq!(explicit(&expr("a + b < E.A")), "((a + b) < E.A)");
    assert_eq!(explicit(&expr("a < b && c > d")), "((a < b) && (c > d))");
    assert_eq!(explicit(&expr("a >> b < c")), "((a >> b) < c)");
    assert!(matches!(
        expr("X<bit<8>>()").kind,
        ExprKind::Construct { .. }
    ));
    assert!(matches!(expr("(T) a").kind, ExprKind::Cast { .. }));
    assert!(matches!(
        expr("(G<T>) { f = a }").kind,
        ExprKind::Cast { .. }
    ));
    assert!(matches!(expr("(E.A)").kind, ExprKind::Member { .. }));
    assert!(matches!(
        expr("error.NoError").kind,
        ExprKind::Member { .. }
    ));
    assert!(matches!(
        expr("(error.NoError)").kind,
        ExprKind::Member { .. }
    ));
}

#[test]
fn literals_and_initialisers() {
    assert_eq!(expr("8w0xFF").to_string(), "8w0xff");
    assert_eq!(expr("\"a\\\"b\\\\n\"").to_string(), "\"a\\\"b\\\\n\"");
    for text in [
        "{}",
        "{1, 2}",
        "{f = 1, ...}",
        "{1, ...}",
        "{#}",
        "...",
        "this",
        "f(_, a = _)",
        "x[7+:2]",
    ] {
        expr(text);
    }
    assert_eq!(expr("{1, 2,}"), expr("{1, 2}"));
    assert_eq!(expr("{f = 1, g = 2,}"), expr("{f = 1, g = 2}"));
}

#[test]
fn scopes_tell_types_from_names() {
    let p = parse(&format!(
        "{TYPES}control c(inout bit<8> T) {{
            action E() {{ T = T < 3 ? T : 1; }}
            table t {{ actions = {{ E; }} }}
            apply {{ T = T + 1; {{ bit<8> X; X = 1; }} E(); X<bit<8>>() y; }}
        }}
        T f<T>(in T x) {{ T y = x; return y; }}"
    ));
    let Some(DeclKind::Control(c)) = p.decls.get(4).map(|d| &d.kind) else {
        panic!("{p}")
    };
    assert!(matches!(c.body.stmts[0].kind, StmtKind::Assign { .. }));
    assert!(matches!(c.body.stmts[2].kind, StmtKind::Call(_)));
    assert!(matches!(c.body.stmts[3].kind, StmtKind::Decl(_)));
}

#[test]
fn array_brackets_fold_into_the_type() {
    assert_eq!(
        parse("struct S { bit<8> a[2][3]; }"),
        parse("struct S { bit<8>[2][3] a; }")
    );
    let p = parse("struct S { bit a; }");
    let Some(DeclKind::Composite(s)) = p.decls.first().map(|d| &d.kind) else {
        panic!("{p}")
    };
    assert_eq!(s.fields[0].ty.kind, TypeKind::Bit(None));
}

#[test]
fn everything_else_prints_and_parses() {
    parse(
        "#include <v1model.p4>
         @pragma foo a b(c)
         const int big = 0x1_0000;
         type bit<9> port_t; typedef struct In { bit<8> a; } Alias;
         enum bit<4> SE { a = 1, b = 4w2, } match_kind { mine, }
         extern Obj { Obj(int x); abstract void m(inout bit<8> a); T g<T>(); } extern Later;
         Obj(1) obj = { void m(inout bit<8> a) { a |+|= 1; a >>= 2; a[3:0] <<= 1; } };
         parser p<H>(packet_in b, out H h)(bit<8> n = 3) {
             value_set<tuple<bit<8>, bit<8>>>(4) vs; bit<8> x = 0;
             @name(\"s\") state start { { x = 1; } if (x == 1) x = 2; else { x = 3; }
               transition select(x, b.length()) { (1 &&& 3, 2 .. 4): accept; (_, _): next; vs: reject;
                 ((bit<8>) 1, default): accept; } }
             state next { transition select(x) { (1): accept; (2) + 1: accept; (3 &&& 1): reject; default: accept; } }
             state end { }
         }
         control q(inout bit<8> a, @optional in bit<8> b) {
             table t { key = { a : exact @name(\"k\"); b ++ a : ternary; }
               actions = { @defaultonly NoAction; .NoAction(); }
               const entries = { const priority = 3: (1, _) : NoAction(); priority = (1 + 2) : (2, 3 &&& 4) : NoAction @x; }
               largest_priority_wins = false; const default_action = NoAction(); @y state = 1; }
             apply {
               switch (t.apply().action_run) { NoAction: { } default: { exit; } }
               switch (a) { 1: 2: { } (a): { } default: { return; } }
               @unroll for (bit<8> i = 0, bit<8> j = 1; i < 3 && j > 1; i += 1, j -= 1) { continue; }
               for (@x bit<8> i in 1 .. 3) break;
               for (; true; ) { }
               if (a == 1) { } else if (a == 2) ; else if (a == 3) { if (b == 1) a = 1; else a = 2; }
               (a) = 1; .g.h(1); @atomic { } ;
             }
         }",
    );
}

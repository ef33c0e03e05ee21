//! Input nobody would write: nothing panics, overflows the stack or takes forever.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // helpers of tests

use p4front::Options;
use p4front::source::SourceMap;
use proptest::prelude::*;

/// Reads `text`; what could be read is printed and read again (the tree is walked and dropped).
fn read(text: &str) -> usize {
    let mut map = SourceMap::new();
    let file = map.add("x.p4", text).unwrap();
    let (program, diags) = p4front::parse(&mut map, file, &Options::default());
    let _ = (program.to_string(), diags.render(&map));
    if !diags.has_errors() {
        let mut again = SourceMap::new();
        let file = again.add("y.p4", &program.to_string()).unwrap();
        let (second, diags) = p4front::parse(&mut again, file, &Options::default());
        assert!(
            !diags.has_errors(),
            "{text}\n-->\n{program}\n{}",
            diags.render(&again)
        );
        assert_eq!(program, second, "{text}\n-->\n{program}");
    }
    diags.error_count()
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let n = 20_000;
    for (open, close) in [
        ("(", ")"),
        ("{", "}"),
        ("-", ""),
        ("!", ""),
        ("a[", "]"),
        ("f(", ")"),
        ("(bit<8>)", ""),
        ("(bit<(", ")>) a"),
        ("T<", ">"),
        ("a ? ", " : b"),
        ("{a = ", "}"),
        ("f<tuple<", ">>()"),
    ] {
        let text = format!("const bit<8> x = {}1{};", open.repeat(n), close.repeat(n));
        assert!(read(&text) > 0, "{open}");
        assert!(
            read(&format!("const bit<8> x = {}", open.repeat(n))) > 0,
            "{open}"
        );
    }
    for item in [
        "{",
        "if (a) ",
        "if (a) { } else ",
        "for (;a;) ",
        "switch (a) { 1: {",
    ] {
        let text = format!("control c() {{ apply {{ {}", item.repeat(n));
        assert!(read(&text) > 0, "{item}");
    }
    for item in ["tuple<", "list<", "bit<8>[", "G<"] {
        assert!(
            read(&format!("const {} x = 1;", item.repeat(n))) > 0,
            "{item}"
        );
    }
    assert!(read(&format!("const bit<8> x = 1{};", " + 1".repeat(n))) > 0);
    assert!(read(&format!("const bit<8> x = a{};", ".b".repeat(n))) > 0);
    assert!(read(&format!("const bit<8>{} x = 1;", "[1]".repeat(n))) > 0);
    assert_eq!(
        read(&format!("const bit<8> x = 1{};", " + 1".repeat(400))),
        0
    );
    let chain = format!(
        "control c() {{ apply {{ {} {{ }} }} }}",
        "if (true) { } else ".repeat(400)
    );
    assert_eq!(read(&chain), 0);
}

#[test]
fn floods_of_errors_end() {
    for text in [
        "} ",
        "; $ ",
        "control ",
        "struct S { ",
        "@a ",
        "error { ",
        "x y ",
        "table t {",
        "\" ",
    ] {
        read(&text.repeat(30_000));
    }
}

const WORDS: &str = "abstract action actions apply bool bit break const continue control default else entries \
    enum error exit extern false for header header_union if in inout int key list match_kind out parser package \
    priority return select state string struct switch table this transition true tuple type typedef varbit \
    value_set void _ &&& ... .. << && || == != >= <= ++ += -= {#} + |+| - * / % | & ^ ~ ( ) [ ] { } < > ! : +: , ? \
    . = ; @ @pragma 1 8w1 4s3 0x1F a b T E f h \"s\" $ \n #define #if #endif #else #include # ## >> ( ) { } ; , < >";

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        WORDS
            .split(' ')
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>(),
    )
}

/// Pieces of programs, so that soup gets past the first token.
const PIECES: [&str; 24] = [
    "header T { bit<8> f; }",
    "control c(inout T h) {",
    "apply {",
    "}",
    "table t { key = {",
    ": exact; }",
    "actions = { a; } }",
    "parser p(packet_in b) {",
    "state start {",
    "transition select(a) {",
    "(1, 2 &&& 3): accept;",
    "if (a == 1) {",
    "} else {",
    "const bit<8> x = ",
    "a = b + ",
    "f<T>(1);",
    "switch (t.apply().action_run) {",
    "extern E<T> { E(); void m<U>(in U u); }",
    "enum bit<8> S { A = 1 }",
    "for (bit<8> i in 0..3) {",
    "return;",
    "action a(bit<8> v) {",
    "typedef bit<8> U;",
    "@name(\"x\")",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("P4FRONT_SOUP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
    ))]

    #[test]
    fn token_soup(words in prop::collection::vec(word(), 0..200)) {
        read(&words.join(" "));
    }

    #[test]
    fn program_soup(pieces in prop::collection::vec(
        prop_oneof![3 => prop::sample::select(PIECES.to_vec()), 1 => word()], 0..60)) {
        read(&pieces.join("\n"));
    }

    #[test]
    fn any_text(text in "\\PC{0,200}|[ -~\\n]{0,200}") {
        read(&text);
    }

    #[test]
    fn macro_soup(lines in prop::collection::vec(
        "#(define|undef|if|ifdef|elif|else|endif|include|line) ?[ab<>()\"#0-9, +]{0,12}|[abf()#, ]{0,20}", 0..30)) {
        read(&lines.join("\n"));
    }
}

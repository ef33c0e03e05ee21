//! What the preprocessor does to tokens, and what it refuses.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // helpers of tests

use std::collections::BTreeMap;
use std::path::PathBuf;

use p4front::diag::Diagnostics;
use p4front::lex::TokenKind;
use p4front::pp::{MAX_INCLUDE_DEPTH, preprocess};
use p4front::source::SourceMap;
use p4front::{Builtins, Files, Options};

fn run(text: &str, options: &Options) -> (String, String) {
    let mut map = SourceMap::new();
    let file = map.add("dir/main.p4", text).unwrap();
    let mut diags = Diagnostics::new();
    let out = preprocess(&mut map, file, options, &mut diags);
    let mut shown = Vec::new();
    for t in &out.tokens {
        match t.kind {
            TokenKind::End => {}
            TokenKind::String => shown.push(format!("\"{}\"", t.text)),
            _ => shown.push(t.text.to_string()),
        }
    }
    (shown.join(" "), diags.render(&map))
}

/// The tokens of `text`, which must be without error.
fn pp(text: &str) -> String {
    let (out, errors) = run(text, &Options::default());
    assert_eq!(errors, "", "in {text}");
    out
}

/// The messages about `text`.
fn refused(text: &str) -> String {
    let (_, errors) = run(text, &Options::default());
    let lines = errors
        .lines()
        .filter(|l| l.starts_with("error") || l.starts_with("warning"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn object_macros_expand_again_but_not_in_themselves() {
    assert_eq!(pp("#define A B + 1\n#define B 2\nA"), "2 + 1");
    assert_eq!(pp("#define A A + B\n#define B A\nA B"), "A + A A + B");
    assert_eq!(pp("#define f(x) x + f\nf(1)(2)"), "1 + f ( 2 )");
    assert_eq!(pp("#define EMPTY\n-EMPTY-"), "- -");
    assert_eq!(pp("#define X 1\n#undef X\nX"), "X");
    assert_eq!(pp("#define SPLIT 1 \\\n  + 2\nSPLIT"), "1 + 2");
}

/// The examples of the C standard (C11, 6.10.3.5) that the language shares.
#[test]
fn examples_of_the_c_standard() {
    let head = "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n\
                #define z z[0]\n#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n\
                #define p() int\n#define q(x) x\n#define r(x,y) x ## y\n#define str(x) # x\n";
    let all = |text: &str| pp(&format!("{head}{text}")).replace(' ', "");
    assert_eq!(
        all("f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);"),
        "f(2*(y+1))+f(2*(f(2*(z[0]))))%f(2*(0))+t(1);"
    );
    assert_eq!(
        all("g(x+(3,4)-w) | h 5) & m\n(f)^m(m);"),
        "f(2*(2+(3,4)-0,1))|f(2*(~5))&f(2*(0,1))^m(0,1);"
    );
    assert_eq!(
        all("p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };"),
        "inti[]={1,23,4,5,};"
    );
    assert_eq!(
        all("str() str( a  b ) str(\"s\\\\\")"),
        r#""""ab""\"s\\\\\"""#
    );
    assert_eq!(
        pp("#define t(x,y,z) x ## y ## z\nt(1,2,3) t(,4,5) t(6,,7) t(8,9,) t(,,)"),
        "123 45 67 89"
    );
    assert_eq!(
        pp("#define hash_hash # ## #\n#define cat(a,b) a ## b\ncat(he, llo)"),
        "hello"
    );
}

#[test]
fn arguments_and_variadic_macros() {
    assert_eq!(pp("#define P(a, b) b a\nP((1, 2), 3)"), "3 ( 1 , 2 )");
    assert_eq!(
        pp("#define V(f, ...) f(__VA_ARGS__)\nV(g, 1, 2) V(g)"),
        "g ( 1 , 2 ) g ( )"
    );
    assert_eq!(
        pp("#define L(f, a...) f(0, ## a)\nL(g) L(g, 1, 2)"),
        "g ( 0 ) g ( 0 , 1 , 2 )"
    );
    assert_eq!(pp("#define F(x) [x]\nF\n(1) F"), "[ 1 ] F");
    assert_eq!(
        pp("#define W 8\n#define LIT(v) W ## w ## v\n8wW LIT(3)"),
        "8wW Ww3"
    );
    assert_eq!(pp("#define T(n) bit<n>\n#define N 4\nT(N)"), "bit < 4 >");
}

#[test]
fn conditions() {
    let yes = |c: &str| pp(&format!("#if {c}\nyes\n#else\nno\n#endif"));
    for c in [
        "1",
        "defined X || !defined(X)",
        "(2 + 3 * 4 - 4 / 2 % 2) == 14",
        "1 << 4 == 16 && 256 >> 4 == 16",
        "-1 < 0",
        "~0 == -1",
        "0x10 == 16 && 010 == 8 && 0b11 == 3",
        "1 ? 1 : 1 / 0",
        "0 || 1 || 1 / 0",
        "!(0 && 1 / 0)",
        "5 > 3 >= 1",
        "6 & 3 | 8 ^ 8",
        "undefined == 0",
        "20200408L >= 20180101u",
    ] {
        assert_eq!(yes(c), "yes", "{c}");
    }
    assert_eq!(yes("__TARGET_BMV2__"), "yes");
    assert_eq!(
        pp("#define V(x) x > 3\n#if V(4) && defined V\na\n#endif"),
        "a"
    );
    let ladder = |n: u32| {
        pp(&format!(
            "#define N {n}\n#if N == 0\na\n#elif N == 1\nb\n#elif N == 2\nc\n#else\nd\n#endif\ne"
        ))
    };
    assert_eq!(
        [ladder(0), ladder(1), ladder(2), ladder(3)],
        ["a e", "b e", "c e", "d e"]
    );
    assert_eq!(
        pp("#ifdef A\n#if garbage (\n#else\n#endif\n\" ' #endif\n#elif 0\n#endif\nx"),
        "x"
    );
    assert_eq!(
        pp("#ifndef A\n#define A\n1\n#endif\n#ifndef A\n2\n#endif"),
        "1"
    );
}

#[test]
fn includes() {
    let mut o = Options {
        include_paths: vec![PathBuf::from("inc")],
        ..Options::default()
    };
    let file = |o: &mut Options, name: &str, text: &str| {
        let mut files = match std::mem::take(&mut o.files) {
            Files::Memory(files) => files,
            _ => BTreeMap::new(),
        };
        files.insert(name.into(), text.into());
        o.files = Files::Memory(files);
    };
    file(&mut o, "dir/a.p4", "beside #\n");
    file(&mut o, "inc/a.p4", "#include \"b.p4\"\non_path");
    file(&mut o, "inc/b.p4", "#pragma once\nb");
    file(&mut o, "inc/v1model.p4", "mine");
    assert_eq!(run("#include \"a.p4\"", &o).0, "beside #");
    assert_eq!(run("#include <a.p4>\n#include <b.p4>", &o).0, "b on_path");
    assert_eq!(run("#define NAME <b.p4>\n#include NAME", &o).0, "b");
    assert_eq!(run("#include <v1model.p4>", &o).0, "mine");
    o.builtins = Builtins::BeforePath;
    assert!(run("#include <v1model.p4>", &o).0.contains("V1Switch"));
    let missing = run("#include <c.p4>", &o).1;
    assert!(missing.contains("cannot find `c.p4`") && missing.contains("searched in: inc"));
    file(
        &mut o,
        "dir/self.p4",
        "#include \"self.p4\"\n#include \"self.p4\"",
    );
    let endless = run("#include \"self.p4\"", &o).1;
    assert!(
        endless.contains(&format!("nested more than {MAX_INCLUDE_DEPTH} deep")),
        "{endless}"
    );
    assert!(endless.ends_with("\n1 error\n"));
}

#[test]
fn files_in_memory_are_found_by_what_their_names_mean() {
    let files = [
        ("a/b/deep.p4", "#include \"../../top.p4\"\ndeep"),
        ("top.p4", "top"),
    ];
    let files = files.map(|(name, text)| (PathBuf::from(name), text.to_owned()));
    let options = Options {
        include_paths: vec![PathBuf::from("a/c")],
        files: Files::Memory(files.into()),
        ..Options::default()
    };
    let out = |text: &str| run(text, &options).0;
    assert_eq!(out("#include \"../a/./b/deep.p4\""), "top deep");
    assert_eq!(out("#include <../b/deep.p4>"), "top deep");
    let above = run("#include \"../../../top.p4\"", &options).1;
    assert!(above.contains("cannot find `../../../top.p4`"), "{above}");
}

/// A file on disk beside the main file, on the include path, and above both.
#[test]
fn files_on_disk_are_read_if_options_say_so() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    let main = write(
        "p/main.p4",
        b"#include \"x.p4\"\n#include <y.p4>\n#include \"../z.p4\"\n",
    );
    write("p/x.p4", "\u{feff}x".as_bytes());
    write("inc/y.p4", b"y");
    write("z.p4", b"z");
    let mut options = Options {
        include_paths: vec![root.path().join("inc")],
        ..Options::on_disk()
    };
    let preprocessed = |options: &Options| {
        let mut map = SourceMap::new();
        let file = map.load(&main).unwrap();
        let mut diags = Diagnostics::new();
        let out = preprocess(&mut map, file, options, &mut diags);
        let words: Vec<String> = out.tokens.iter().map(|t| t.text.to_string()).collect();
        (words.concat(), diags.render(&map), out.complete)
    };
    assert_eq!(preprocessed(&options), ("xyz".into(), String::new(), true));
    write("p/x.p4", b"x\0");
    let (_, told, complete) = preprocessed(&options);
    assert!(told.contains("is not a text file") && !complete, "{told}");
    options.files = Files::Builtin;
    let (words, told, complete) = preprocessed(&options);
    assert_eq!((words.as_str(), complete), ("", false));
    assert_eq!(told.matches("cannot find").count(), 3, "{told}");
    let shown = root.path().to_string_lossy().into_owned();
    let quoted = told.lines().filter(|l| !l.contains("-->"));
    assert!(!quoted.collect::<String>().contains(&shown), "{told}");
}

#[test]
fn lines_are_joined_before_directives_are_looked_for() {
    assert_eq!(
        pp("#def\\\nine A\\\nB 1 \\\n + 2\nAB A\\ \t\r\nB"),
        "1 + 2 1 + 2"
    );
    assert_eq!(pp("#\\\nif 0\nno\n#el\\\nse\nyes\n#end\\\nif"), "yes");
    assert_eq!(pp("x // y \\\n#error no\nz"), "x z");
    assert_eq!(pp("x \\\n#y"), "x # y");
    let message = refused("#inc\\\nlude <nowhere.p4>");
    assert_eq!(message, "error[include]: cannot find `nowhere.p4`");
    for other in ["#include_next \"a.p4\"", "#imp\\\nort <a.p4>"] {
        assert!(refused(other).contains("is not carried out"), "{other}");
    }
}

#[test]
fn places_count_lines_as_they_are_written() {
    assert_eq!(pp("\\\n\\\n__LINE__\n__LINE__"), "3 4");
    assert_eq!(
        pp("#line \\\n 70\n__LINE__\n__LI\\\nNE__ __LINE__"),
        "70 71 72"
    );
    let (_, told) = run("a\\\nb\n  #if\\\n 1 / \\\n 0\n#endif", &Options::default());
    assert!(told.contains(" --> dir/main.p4:3:4"), "{told}");
    let (_, told) = run("x \\\n y \"\\\nz", &Options::default());
    assert!(told.contains(" --> dir/main.p4:2:4"), "{told}");
    let (_, told) = run("\u{feff}#endif", &Options::default());
    assert!(told.contains(" --> dir/main.p4:1:2"), "{told}");
}

#[test]
fn versions_of_v1model() {
    let old = pp("#include <v1model.p4>");
    assert!(old.contains("bit < 9 > ingress_port") && old.contains("extern register < T > {"));
    let new = pp("#define V1MODEL_VERSION 20200408\n#include <v1model.p4>");
    assert!(new.contains("PortId_t ingress_port") && new.contains("extern register < T , I > {"));
}

#[test]
fn places() {
    assert_eq!(
        pp("__LINE__\n#line 77 \"other.p4\"\n__LINE__ __FILE__\n# 5\n__LINE__"),
        "1 77 \"other.p4\" 5"
    );
    let (_, errors) = run(
        "#define BAD 1 \"\n#line 9 \"x.p4\"\n  BAD",
        &Options::default(),
    );
    assert!(errors.contains(" --> x.p4:9:3"), "{errors}");
    assert!(
        errors.contains("note: in the expansion of `BAD`"),
        "{errors}"
    );
    assert!(errors.contains("::: dir/main.p4:1:9"), "{errors}");
}

#[test]
fn what_is_refused() {
    assert_eq!(
        refused("#error no\n#warning hm"),
        "error[preprocessor]: no\nwarning[preprocessor]: hm"
    );
    assert_eq!(
        refused("#endif"),
        "error[preprocessor]: `#endif` without `#if`"
    );
    assert_eq!(
        refused("#else"),
        "error[preprocessor]: `#else` without `#if`"
    );
    assert_eq!(
        refused("#if 1"),
        "error[preprocessor]: this condition is never closed"
    );
    assert_eq!(
        refused("#if 0\n#else\n#else\n#endif"),
        "error[preprocessor]: `#else` after `#else`"
    );
    assert_eq!(
        refused("#if\n#endif"),
        "error[preprocessor]: this directive needs a condition"
    );
    assert_eq!(
        refused("#if 1 / 0\n#endif"),
        "error[preprocessor]: division by zero in a condition"
    );
    assert_eq!(
        refused("#if (1\n#endif"),
        "error[preprocessor]: expected `)`"
    );
    assert_eq!(
        refused("#define 1"),
        "error[preprocessor]: expected the name of a macro"
    );
    assert_eq!(
        refused("#define f(a, a) b"),
        "error[preprocessor]: expected a new parameter name"
    );
    assert_eq!(
        refused("#define a ## b"),
        "error[preprocessor]: `##` needs a token on both sides"
    );
    assert_eq!(
        refused("#include"),
        "error[preprocessor]: `#include` needs a file name"
    );
    assert_eq!(
        refused("#define f(a) a\nf(1, 2)"),
        "error[preprocessor]: macro `f` takes 1 argument, not 2"
    );
    assert_eq!(
        refused("#define f(a) a\nf(1"),
        "error[preprocessor]: the arguments of macro `f` are never closed"
    );
    assert_eq!(
        refused("\"abc\nd"),
        "error[lexical]: this string is never closed"
    );
    assert_eq!(
        refused("/* abc"),
        "error[lexical]: this comment is never closed"
    );
    assert_eq!(
        refused("#define A 1\n#define A 2\n#define A 2"),
        "warning[preprocessor]: macro `A` is defined again, differently"
    );
    assert_eq!(
        refused("#foo"),
        "warning[preprocessor]: unknown directive `#foo` is ignored"
    );
}

#[test]
fn bombs_are_defused() {
    let doubling: String = (0..40)
        .map(|i| format!("#define A{i} A{} A{}\n", i + 1, i + 1))
        .collect();
    assert!(refused(&format!("{doubling}A0")).contains("macros expand to more than"));
    let chain: String = (0..5000)
        .map(|i| format!("#define B{i} B{}\n", i + 1))
        .collect();
    assert!(refused(&format!("{chain}B0")).contains("macros are nested more than"));
    let calls = format!("#define f(x) x\n{}1{}", "f(".repeat(3000), ")".repeat(3000));
    assert!(refused(&calls).contains("macro calls are nested more than"));
}

#[test]
fn directives_in_a_string_are_carried_out() {
    let text = |defines: &str| {
        pp(&format!(
            "{defines}@x(\"\n#ifdef TOR\n  port == 1;\n#elif LEAF == 2\n  leaf;\n  # else\n  v != 0;\n#endif\n \")"
        ))
    };
    assert_eq!(text(""), "@ x ( \"\n\n\n\n\n\n  v != 0;\n\n \" )");
    assert_eq!(
        text("#define TOR\n"),
        "@ x ( \"\n\n  port == 1;\n\n\n\n\n\n \" )"
    );
    assert_eq!(
        text("#define LEAF 2\n"),
        "@ x ( \"\n\n\n\n  leaf;\n\n\n\n \" )"
    );
}

#[test]
fn what_is_no_directive_stays_in_a_string() {
    assert_eq!(
        pp("#define M 1\n\"a\n# M is no directive\n a # b\n // M\n /* M */ #if\n#12\n\" M"),
        "\"a\n# M is no directive\n a # b\n // M\n /* M */ #if\n#12\n\" 1"
    );
    // Quotes in text that is left out neither end nor begin a string.
    assert_eq!(
        pp("\"a\n#if 0\n \" M\n#endif\nb\\\"c\\\n#if\n\" 2"),
        "\"a\n\n\n\nb\\\"c#if\n\" 2"
    );
    // A condition may begin outside of the string and end in it, and one in it may hold another
    // string's end.
    assert_eq!(pp("#if 1\n\"a\n#endif\n\" 3"), "\"a\n\n\" 3");
    assert_eq!(
        pp("\"a\n#if 1\n b\" 4\n#else\n c\" 5\n#endif\n6"),
        "\"a\n\n b\" 4 6"
    );
    // What other directives do holds behind the string; those that a preprocessor leaves go.
    assert_eq!(
        pp("\"a\n#define N 7\n#\n# 9 \"x.p4\" 2\n\" N"),
        "\"a\n\n\n\n\" 7"
    );
    assert_eq!(pp("#define id(x) x\nid(\"a\n#undef id\n\")"), "\"a\n\n\"");
}

#[test]
fn errors_in_a_string_are_found() {
    assert_eq!(
        refused("\"a\n#if 1\n\n"),
        "error[lexical]: this string is never closed\nerror[preprocessor]: this condition is never closed"
    );
    assert_eq!(
        refused("\"a\n#if 0\n\"\n"),
        "error[lexical]: this string is never closed\nerror[preprocessor]: this condition is never closed"
    );
    assert_eq!(
        refused("\"a\n#endif\n#error no\n\""),
        "error[preprocessor]: `#endif` without `#if`\nerror[preprocessor]: no"
    );
}

#[test]
fn a_file_may_be_included_in_a_string() {
    let options = Options {
        files: Files::Memory(BTreeMap::from([
            ("dir/part".into(), "#if 1\nb \\\" c\n#endif\n".to_owned()),
            ("dir/end".into(), "d\" 1".to_owned()),
        ])),
        ..Options::default()
    };
    let (out, errors) = run(
        "\"a\n#include \"part\"\n\" 2 \"\n#include \"end\"\n3",
        &options,
    );
    assert_eq!(errors, "");
    assert_eq!(out, "\"a\n\nb \\\" c\n\n\n\" 2 \"\nd\" 1 3");
}

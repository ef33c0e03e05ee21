//! The formatter: tokens stay, comments stay, and formatting twice changes nothing, over every
//! program of the repository and of p4c's samples.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use p4front::format::{FormatError, format};
use proptest::prelude::*;

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|e| e.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            programs(&path, found);
        } else if path.extension().is_some_and(|e| e == "p4") && path.is_file() {
            found.push(path);
        }
    }
}

#[test]
fn formatting_keeps_tokens_and_comments_and_is_done_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    programs(&root, &mut found);
    assert!(found.len() > 50, "{} programs", found.len());
    match std::env::var_os("P4C_TESTDATA") {
        Some(testdata) => {
            programs(&Path::new(&testdata).join("p4_16_samples"), &mut found);
            programs(&Path::new(&testdata).join("p4_16_errors"), &mut found);
        }
        None => println!("skipped: P4C_TESTDATA does not name p4c's testdata"),
    }
    let mut wrong = Vec::new();
    for path in &found {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let name = path.display().to_string();
        match format(&name, &text) {
            Ok(once) => {
                if format(&name, &once).unwrap() != once {
                    wrong.push(format!("{name}: not the same when formatted again"));
                }
                if once.lines().any(|line| line.ends_with(' ')) {
                    wrong.push(format!("{name}: blanks at the end of a line"));
                }
            }
            Err(error @ FormatError::Changed { .. }) => wrong.push(error.to_string()),
            // Programs with text that is no P4.
            Err(_) => {}
        }
    }
    println!("{} programs", found.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn twice(text: &str) -> String {
    let once = format("x.p4", text).unwrap();
    assert_eq!(format("x.p4", &once).unwrap(), once, "{text:?}");
    once
}

#[test]
fn joined_lines_end_where_they_ended() {
    // The line that ends a macro is empty, or has blanks only.
    assert_eq!(
        twice("#define TWO 2 \\\n\nconst  bit<8> K = TWO;\n"),
        "#define TWO 2\n\nconst bit<8> K = TWO;\n"
    );
    assert_eq!(
        twice("#define F(x) x + 1\\\n \nconst bit<8> K = F(1);\n"),
        "#define F(x) x + 1\n\nconst bit<8> K = F(1);\n"
    );
    assert_eq!(
        twice("#define A \\\n  1 \\\n\\\n\na"),
        "#define A \\\n  1\n\na\n"
    );
    // A comment goes on; one that ends with a joined empty line does not reach the next.
    assert_eq!(
        twice("const bit<8> K = 1;// to do \\\n later: K = 2\nx"),
        "const bit<8> K = 1; // to do \\\n later: K = 2\nx\n"
    );
    assert_eq!(twice("a; // b \\\n\t\nc"), "a; // b\nc\n");
    // Outside of both they stay, because `@pragma` ends with its line.
    assert_eq!(
        twice("@pragma a \\\n   b\nc;  \\\n\n d \\"),
        "@pragma a \\\n    b\nc;\n\nd \\"
    );
    assert_eq!(twice("wo\\\nrd >\\\n> a\\\n\\\n;"), "word >> a;\n");
    assert_eq!(twice("@x(\"a\\\n  b\")"), "@x(\"a\\\n  b\")\n");
}

#[test]
fn a_comment_begins_where_the_preprocessor_says() {
    let text = "/*// see RFC 791*/\n/*// and 8200*/\nconst bit<8> A = 1;\n";
    assert_eq!(twice(text), text);
    assert_eq!(twice("/*// a*/\nb; //* c\nd"), "/*// a*/\nb; //* c\nd\n");
    let split = "/\\\n* a\n     * b *\\\n/ c /\\\n/ d\n";
    assert_eq!(twice(split), split);
    assert_eq!(
        twice("#if X // a /*\n#endif /* b\n  c */ // d\n"),
        "#if X // a /*\n#endif /* b\n  c */ // d\n"
    );
}

#[test]
fn tokens_that_would_merge_stay_apart() {
    assert_eq!(twice("a . . b > > c & & & d"), "a. .b > > c & & & d\n");
    assert_eq!(twice("\u{feff}a ;"), "a;\n");
}

#[test]
fn what_a_macro_makes_a_string_of_is_named_and_refused() {
    let error = format("x.p4", "#define S(x) #x\n\nf(S(a==b));\n").unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("x.p4:3: formatting would change"),
        "{error}"
    );
}

/// Text of what is hard to read: joined lines, comments, strings, directives.
const PARTS: &[&str] = &[
    "a",
    "b1",
    "0x1",
    " ",
    " ",
    "\n",
    "\n\n",
    "\\\n",
    "\\ \t\n",
    "\\\r\n",
    "\r\n",
    "\t",
    "\x0c",
    "\u{a0}",
    "\u{85}",
    "é",
    "/",
    "*",
    "//",
    "/*",
    "*/",
    "/**/",
    "// c",
    "/* c\n * d */",
    "\"s\"",
    "\"s\\\nt\"",
    "\\",
    "'",
    "#",
    "\n#",
    "\n#define M ",
    "\n#define F(x) x",
    "\n#if 0\n",
    "\n#ifdef M\n",
    "\n#else\n",
    "\n#endif\n",
    "\n#include <core.p4>\n",
    "M",
    "F(",
    "@",
    "@pragma ",
    "@name(\"n\")",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ">>",
    ";",
    ",",
    ".",
    "..",
    ":",
    "=",
    "==",
    "&",
    "&&",
    "|",
    "+",
    "-",
    "<<",
    "!",
    "if",
    "return",
    "table",
    "bit<8> x = 1;\n",
    "control C() {\n",
];

/// Up to 40 of `parts`.
fn text(parts: Vec<&'static str>) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(parts), 0..40).prop_map(|v| v.concat())
}

/// A comment that ends with `\` is followed by an empty line that is joined to it.
#[test]
fn a_comment_that_ends_with_a_backslash_is_written_the_same_again() {
    for text in ["//\\\\\n\t\n#", "//\\\\\n\n\n\nbit<8> x;\n", "//\\\\\n"] {
        let once = format("x.p4", text).unwrap();
        assert_eq!(format("x.p4", &once).unwrap(), once, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn any_text_keeps_its_meaning(text in text(PARTS.to_vec())) {
        match format("x.p4", &text) {
            Ok(once) => {
                let again = format("x.p4", &once);
                prop_assert!(again.is_ok(), "{again:?} of {once:?}");
                prop_assert_eq!(again.unwrap(), once);
            }
            // A comment that is not closed.
            Err(FormatError::Tokens(_)) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    /// A quote that opens a string of several lines, or that a condition excludes, can be read in
    /// two ways.
    #[test]
    fn text_with_open_strings_keeps_its_meaning_or_is_refused(
        text in text([PARTS, &["\"", "\""]].concat())
    ) {
        if let Ok(once) = format("x.p4", &text) {
            let again = format("x.p4", &once);
            prop_assert!(again.is_ok(), "{again:?} of {once:?}");
            prop_assert_eq!(again.unwrap(), once);
        }
    }
}

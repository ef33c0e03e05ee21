//! Targets of the front end: `lexer` (preprocessing too), `parser`, `compile` (typing, lowering,
//! P4Info) and `json` (BMv2 JSON). Whatever the text, there are findings or a program, soon and in
//! little memory.

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use p4front::diag::Diagnostics;
use p4front::source::{FileId, SourceMap};
use p4front::{Builtins, Options};

use super::{Behaviour, Target};

pub(super) const P4_WORDS: &[&[u8]] = &[
    b"#include <v1model.p4>\n",
    b"#define X(a, b) a ## b\n",
    b"#if 1 + X\n",
    b"#endif\n",
    b"bit<8> ",
    b"int<W> ",
    b"varbit<64> ",
    b"tuple<bit<8>, bool> ",
    b"list<bit<4>> ",
    b"header h { bit<8> f; }\n",
    b"header_union u { h a; }\n",
    b"enum bit<4> e { a = 1 }\n",
    b"extern E<T> { E(T t); abstract void f(in T t); }\n",
    b"transition select(x) { _: accept; }",
    b"switch (t.apply().action_run) { default: {} }",
    b"@name(\"x\") ",
    b"(bit<9>) ",
    b"&&&",
    b"..",
    b"...",
    b"{#}",
    b"|+|",
    b"[3:0]",
    b"16w0xffff",
    b"99999999999999999999",
    b"package p(c x); p(c()) main;",
];

const JSON_WORDS: &[&[u8]] = &[
    b"{\"type\": \"field\", \"value\": [\"scalars\", \"x\"]}",
    b"{\"type\": \"hexstr\", \"value\": \"0xff\"}",
    b"{\"type\": \"expression\", \"value\": {\"op\": \"+\", \"left\": null, \"right\": null}}",
    b"null",
    b"true",
    b"-1",
    b"4294967295",
    b"18446744073709551615",
    b"[]",
    b"{}",
    b"\"standard_metadata\"",
    b"\"*\"",
];

const fn target(
    name: &'static str,
    about: &'static str,
    run: fn(&[u8]) -> Behaviour,
    words: &'static [&'static [u8]],
) -> Target {
    Target {
        name,
        about,
        run,
        words,
        parts: Some(parts),
        max_len: 1 << 16,
        limits: None,
        seeds: None,
    }
}

pub(super) const LEXER: Target = target("lexer", "P4 text, preprocessed", lexer, P4_WORDS);
pub(super) const PARSER: Target = target("parser", "P4 text, parsed", parser, P4_WORDS);
pub(super) const COMPILE: Target = target("compile", "P4 text, compiled", compile, P4_WORDS);
pub(super) const JSON: Target = target("json", "BMv2 JSON, read", json, JSON_WORDS);

/// Words and bracketed pieces of a text: what a grammar-aware mutation takes and exchanges.
pub(super) fn parts(text: &[u8]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut open = Vec::new();
    // Where the statement, field or argument began, one for each open bracket.
    let mut starts = vec![0];
    let mut at = 0;
    while at < text.len() {
        let from = at;
        let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'"';
        let count = text[at..].iter().take_while(|b| word(b)).count();
        at += count.max(1);
        if count > 0 {
            out.push(from..at);
            continue;
        }
        match text[from] {
            b'{' | b'(' | b'[' => {
                open.push(from);
                starts.push(at);
            }
            b'}' | b')' | b']' => {
                starts.truncate(starts.len().saturating_sub(1).max(1));
                if let Some(began) = open.pop() {
                    out.push(began..at);
                    out.push(starts.last().copied().unwrap_or(0)..at);
                }
            }
            b';' | b',' => {
                if let Some(start) = starts.last_mut() {
                    out.push(*start..at);
                    *start = at;
                }
            }
            _ => {}
        }
    }
    out
}

fn source(input: &[u8]) -> (SourceMap, Option<FileId>, Options) {
    let mut map = SourceMap::new();
    let file = map.add("input.p4", &String::from_utf8_lossy(input)).ok();
    let options = Options {
        builtins: Builtins::BeforePath,
        ..Options::default()
    };
    (map, file, options)
}

/// The sorts of findings: messages without what they quote.
fn sorts(diags: &Diagnostics, map: &SourceMap) -> BTreeSet<String> {
    // A finding must be printable, wherever it points.
    assert!(
        diags.error_count() == 0 || diags.render(map).contains("error"),
        "errors are shown"
    );
    let shape = |text: &str| {
        let parts: Vec<&str> = text.split('`').step_by(2).collect();
        let letters = |c: &char| !c.is_ascii_digit();
        parts.concat().chars().filter(letters).collect::<String>()
    };
    diags.iter().map(|d| shape(&d.message)).collect()
}

fn lexer(input: &[u8]) -> Behaviour {
    let (mut map, Some(file), options) = source(input) else {
        return Behaviour::default();
    };
    let mut diags = Diagnostics::new();
    let pre = p4front::pp::preprocess(&mut map, file, &options, &mut diags);
    let kinds: BTreeSet<String> = pre.tokens.iter().map(|t| format!("{:?}", t.kind)).collect();
    let size = pre.tokens.len().checked_ilog2();
    Behaviour::of((sorts(&diags, &map), kinds.len(), size, map.files().count()))
}

fn parser(input: &[u8]) -> Behaviour {
    let (mut map, Some(file), options) = source(input) else {
        return Behaviour::default();
    };
    let (program, diags) = p4front::parse(&mut map, file, &options);
    if !diags.has_errors() {
        // What is printed is the same program.
        let text = program.to_string();
        let mut again = SourceMap::new();
        if let Ok(file) = again.add("printed.p4", &text) {
            let (second, diags) = p4front::parse(&mut again, file, &Options::default());
            assert!(!diags.has_errors(), "{}\n{text}", diags.render(&again));
            assert!(second == program, "printing changes the program:\n{text}");
        }
    }
    let kinds: HashSet<_> = program
        .decls
        .iter()
        .map(|d| std::mem::discriminant(&d.kind))
        .collect();
    Behaviour::of((
        sorts(&diags, &map),
        kinds.len(),
        program.node_count.checked_ilog2(),
    ))
}

fn compile(input: &[u8]) -> Behaviour {
    let (mut map, Some(file), options) = source(input) else {
        return Behaviour::default();
    };
    match p4front::compile(&mut map, file, &options) {
        Ok(compiled) => {
            let warnings: BTreeSet<_> = compiled.warnings.iter().map(|w| w.code).collect();
            let sizes = (
                compiled.ir.exprs.len().checked_ilog2(),
                compiled.ir.tables.len(),
            );
            Behaviour::of((warnings, sizes))
        }
        Err(diags) => {
            let broken = diags.iter().find(|d| d.code == "internal");
            assert!(broken.is_none(), "{}", diags.render(&map));
            Behaviour::of(sorts(&diags, &map))
        }
    }
}

fn json(input: &[u8]) -> Behaviour {
    use bmv2json::{Bmv2Error, read};
    match read(&String::from_utf8_lossy(input)) {
        Ok(program) => Behaviour::of((
            program.exprs.len(),
            program.states.len(),
            program.vars.len(),
        )),
        Err(e) => {
            assert!(!matches!(e, Bmv2Error::Invalid(_)), "{e}");
            let text = e.to_string();
            let parts: Vec<&str> = text.split('`').step_by(2).collect();
            let letters = |c: &char| !c.is_ascii_digit();
            Behaviour::of(parts.concat().chars().filter(letters).collect::<String>())
        }
    }
}

//! P4_16 front end: preprocess, lex, parse, resolve, type, lower to p4ir; P4Info.
//!
//! # Who uses it
//!
//! Use it to compile P4_16 programs for v1model, TNA and T2NA in a Rust program: [`compile`] gives
//! the validated intermediate representation, whose semantics the crate [`p4ir`] states, and the
//! control plane's view. Use [`parse()`] for tools that need the syntax tree, and [`mod@format`]
//! and [`index`] for editors. To run a program, hand the result to an executor of the crate
//! `p4exec`.
//!
//! # Example
//!
//! ```
//! use p4front::{Options, source::SourceMap};
//!
//! let mut map = SourceMap::new();
//! let main = map.add("bridge.p4", include_str!("../examples/bridge.p4"))?;
//! let compiled = p4front::compile(&mut map, main, &Options::default()).expect("no errors");
//! assert_eq!(compiled.p4info.tables.len(), 1);
//! assert_eq!(compiled.ir.tables.values().next().expect("a table").name, "Forward.mac");
//!
//! let main = map.add("wrong.p4", "control C() { apply { x = 1; } }")?;
//! let errors = p4front::compile(&mut map, main, &Options::default()).expect_err("no `x`");
//! assert!(errors.render(&map).contains("wrong.p4:1:23"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `tables` of this crate prints the tables of a program, and an error with its place.
//!
//! # Stages
//!
//! ```text
//! text -> preprocess -> tokens -> parse -> ast -> types -> lower -> p4ir
//!           #include    lexer      scopes decide
//!           #define                what is a type
//! ```
//!
//! Every stage reports all errors it can find into one [`diag::Diagnostics`], with file, line,
//! column and a caret, and goes on with what it has. None panics, whatever the input; depths
//! (nesting, includes, macro expansion) are bounded and exceeding them is an error like any other.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

pub mod ast;
pub mod diag;
mod disk;
pub mod format;
pub mod index;
pub mod lex;
mod lower;
mod names;
mod options;
mod p4info;
pub mod parse;
pub mod pp;
pub mod source;
mod tofino;
mod types;

use diag::{Diagnostic, Diagnostics};
use source::{FileId, SourceMap};

pub use options::{Builtins, Files, Options};
pub use p4info::{initial_entries, match_type, p4info_of};
pub use p4runtime::p4::config::v1::P4Info;
pub use parse::annotation::body as annotations;

/// Preprocesses and parses the program whose main file is `main`, a file of `map`; included files
/// are added to `map`.
///
/// The program is what could be read; it is whole if the diagnostics have no errors. If text is
/// missing (an include was not found) nothing is parsed: what is said about the rest would mislead.
pub fn parse(map: &mut SourceMap, main: FileId, options: &Options) -> (ast::Program, Diagnostics) {
    let mut diags = Diagnostics::new();
    let pre = pp::preprocess(map, main, options, &mut diags);
    if !pre.complete {
        return (ast::Program::default(), diags);
    }
    let program = parse::parse_tokens(pre.tokens, &mut diags);
    (program, diags)
}

/// A compiled program.
#[derive(Debug)]
pub struct Compiled {
    /// The program, validated.
    pub ir: p4ir::ValidProgram,
    /// The control plane's view.
    pub p4info: P4Info,
    /// Warnings and notes.
    pub warnings: Vec<Diagnostic>,
}

/// Compiles the program whose main file is `main`, a file of `map`.
///
/// # Errors
/// All findings, warnings included, if there is an error among them.
pub fn compile(
    map: &mut SourceMap,
    main: FileId,
    options: &Options,
) -> Result<Compiled, Diagnostics> {
    let (program, diags) = parse(map, main, options);
    if diags.has_errors() {
        return Err(diags);
    }
    check(map, main, &program, diags, lower::Notes::default()).0
}

/// Checks and lowers a program; and what was noted about its names, also if there are errors in it.
fn check(
    map: &SourceMap,
    main: FileId,
    program: &ast::Program,
    mut diags: Diagnostics,
    notes: lower::Notes,
) -> (Result<Compiled, Diagnostics>, lower::Notes) {
    if program.decls.is_empty() {
        diags.push(empty(map, main));
    }
    let lowered = lower::lower(program, map, notes);
    diags.extend(lowered.diags);
    let made = match diags.has_errors() {
        true => Err(diags),
        false => {
            let facts = (&lowered.facts, &lowered.decls, &lowered.records);
            finish(map, program, lowered.ir, facts, diags)
        }
    };
    (made, lowered.notes)
}

/// Validates a lowered program and makes the control plane's view of it.
fn finish<'a>(
    map: &SourceMap,
    program: &'a ast::Program,
    ir: p4ir::Program,
    (facts, decls, records): (&p4info::Facts<'a>, &p4info::Decls<'a>, &p4info::Records),
    mut diags: Diagnostics,
) -> Result<Compiled, Diagnostics> {
    let files = ir.files.clone();
    match p4ir::validate(ir) {
        Ok(ir) => {
            let p4info = p4info::build(&ir, facts, program, decls, records, &mut diags);
            if let (Err(broken), false) = (p4runtime::check(&p4info), diags.has_errors()) {
                let text = broken.to_string();
                let help = "give one of them another `@name` or `@id`";
                diags.push(Diagnostic::error("annotation", None, text).with_help(help));
            }
            if diags.has_errors() {
                return Err(diags);
            }
            Ok(Compiled {
                ir,
                p4info,
                warnings: diags.into_vec(),
            })
        }
        Err(broken) => {
            for error in broken {
                diags.push(invalid(map, &files, &error));
            }
            Err(diags)
        }
    }
}

/// That a program declares nothing.
fn empty(map: &SourceMap, main: FileId) -> Diagnostic {
    let name = map.file(main).map_or("<unknown>", |file| &*file.name);
    let text =
        format!("`{name}` declares nothing: it is empty, or has comments and directives only");
    Diagnostic::warning("empty", None, text)
        .with_help("a program for v1model begins with `#include <v1model.p4>`")
}

/// What the validator found: a bound that the program exceeds, or a fault of ours.
fn invalid(map: &SourceMap, files: &[String], error: &p4ir::ValidationError) -> Diagnostic {
    let at = error.span;
    let file = files.get(at.file as usize);
    let span = file.and_then(|file| map.place(file, at.line, at.column));
    match error.exceeded {
        Some(exceeded) => {
            Diagnostic::error("limit", span, format!("`{}`: {exceeded}", error.entity))
        }
        None => Diagnostic::error("internal", span, error.to_string()),
    }
}

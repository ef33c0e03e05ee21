//! P4_16 front end: preprocess, lex, parse, resolve, type, lower to p4ir; P4Info.
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

pub mod annotations;
pub mod ast;
pub mod diag;
pub mod lex;
mod options;
pub mod parse;
pub mod pp;
pub mod source;

use diag::Diagnostics;
use source::{FileId, SourceMap};

pub use options::{Builtins, Options};

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

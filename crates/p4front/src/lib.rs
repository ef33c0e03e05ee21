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

pub mod ast;
pub mod diag;
pub mod source;

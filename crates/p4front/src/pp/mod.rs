//! The preprocessor: `#include`, `#define`, `#if` and what belongs to them, as `cpp` does for p4c
//! (`cpp -undef -nostdinc -x assembler-with-cpp`).
//!
//! It works on tokens, not on text, so that every token knows where its author wrote it. Where that
//! differs from text substitution: a macro cannot make half a token, and `__DATE__` and `__TIME__`
//! do not exist (the same program gives the same result tomorrow). Unknown directives are ignored
//! with a warning, as p4c's lexer ignores what `cpp` leaves of them. Inside a string nothing but
//! directives is looked for (see [`string`]).
//!
//! Everything is bounded: include depth, number and bytes of included files, nesting of macro
//! expansions and tokens made by them. Exceeding a bound is an error that ends the program there.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::ast::Symbol;
use crate::diag::{Diagnostic, Diagnostics};
use crate::lex::{Interner, Punct, RawKind, RawToken, Scanner, Token};
use crate::options::Options;
use crate::source::{FileId, SourceMap, Span};

mod builtin;
mod condition;
mod directive;
mod expand;
mod include;
mod macros;
mod string;
mod text;
mod whole;

pub use include::normal;
pub use text::{Places, text};
pub use whole::one_text;

pub(crate) use builtin::declared_by;
use include::Origin;
use macros::Macro;
pub(crate) use whole::Followed;

/// Deepest nesting of `#include`; `cpp`'s own limit.
pub const MAX_INCLUDE_DEPTH: usize = 200;
/// Most files included by one program.
pub const MAX_INCLUDES: usize = 5_000;
/// Most bytes included by one program.
pub const MAX_INCLUDED_BYTES: usize = 128 << 20;
/// Deepest nesting of macro expansions.
pub const MAX_EXPANSION_DEPTH: usize = 200;
/// Most tokens of a program, and most tokens handled in macro expansions.
pub const MAX_TOKENS: usize = 2_000_000;

/// What came out of preprocessing.
#[derive(Debug)]
pub struct Preprocessed {
    /// All tokens, the last one [`crate::lex::TokenKind::End`].
    pub tokens: Vec<Token>,
    /// False if text is missing (an include was not found, a bound was exceeded), so that errors
    /// about what is not declared would mislead.
    pub complete: bool,
    /// The `#include`s that were carried out, but for those of what is built in.
    pub(crate) followed: Vec<Followed>,
}

impl Preprocessed {
    /// The files that were included, each once, in the order in which they were met first; not
    /// those that are built in.
    #[must_use]
    pub fn included(&self) -> Vec<FileId> {
        let mut files: Vec<FileId> = Vec::new();
        for file in self.followed.iter().filter_map(|followed| followed.text) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }
}

/// Preprocesses the program whose main file is `main`.
pub fn preprocess(
    map: &mut SourceMap,
    main: FileId,
    options: &Options,
    diags: &mut Diagnostics,
) -> Preprocessed {
    let mut pp = Preprocessor {
        map,
        options,
        diags,
        names: Interner::default(),
        macros: BTreeMap::new(),
        frames: Vec::new(),
        contexts: Vec::new(),
        isolation: 0,
        outer_macros: Vec::new(),
        expanded_tokens: 0,
        included: include::Budget::of(main),
        once: BTreeSet::new(),
        complete: true,
    };
    pp.define_options();
    pp.enter(main, Origin::main(pp.map, main));
    let mut tokens = Vec::new();
    loop {
        let raw = pp.next_expanded();
        if raw.kind == RawKind::OpenString {
            pp.open_string(raw.span);
            continue;
        }
        let end = raw.kind == RawKind::End;
        tokens.push(Token::from_raw(raw));
        if end {
            return Preprocessed {
                tokens,
                complete: pp.complete,
                followed: pp.included.followed,
            };
        }
        if tokens.len() == MAX_TOKENS {
            let at = tokens.last().map(|t| t.span);
            pp.stop(at, format!("the program has more than {MAX_TOKENS} tokens"));
        }
    }
}

/// A file being read.
struct Frame {
    scanner: Scanner,
    origin: Origin,
    /// Open `#if`s of this file, innermost last.
    conditions: Vec<Condition>,
}

/// An open `#if`.
struct Condition {
    /// Where it stands.
    span: Span,
    /// One of its branches has been taken.
    taken: bool,
    /// `#else` has been seen.
    seen_else: bool,
}

/// Tokens to be read before the file goes on.
struct Context {
    tokens: std::vec::IntoIter<RawToken>,
    /// The macro they are the expansion of; it is not expanded again inside.
    of: Option<Symbol>,
}

struct Preprocessor<'a> {
    map: &'a mut SourceMap,
    options: &'a Options,
    diags: &'a mut Diagnostics,
    names: Interner,
    macros: BTreeMap<Symbol, Rc<Macro>>,
    frames: Vec<Frame>,
    contexts: Vec<Context>,
    /// Above 0: a token list is expanded by itself (an argument, a condition); its end is the end.
    isolation: usize,
    /// Macros whose expansion is going on outside of the isolated list.
    outer_macros: Vec<Symbol>,
    expanded_tokens: usize,
    included: include::Budget,
    once: BTreeSet<std::path::PathBuf>,
    complete: bool,
}

impl Preprocessor<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diags
            .push(Diagnostic::error("preprocessor", span, message));
    }

    /// Reports an exceeded bound and ends the program here.
    fn stop(&mut self, span: impl Into<Option<Span>>, message: impl Into<String>) {
        self.diags.push(Diagnostic::error("limit", span, message));
        self.complete = false;
        self.frames.clear();
        self.contexts.clear();
    }

    fn open_string(&mut self, span: Span) {
        self.diags.push(
            Diagnostic::error("lexical", span, "this string is never closed")
                .with_help("write `\"` where it ends"),
        );
    }

    fn enter(&mut self, file: FileId, origin: Origin) {
        let Some(text) = self.map.file(file).map(|f| f.text.clone()) else {
            return;
        };
        self.frames.push(Frame {
            scanner: Scanner::new(file, text).with_directives_in_strings(directive::is_carried_out),
            origin,
            conditions: Vec::new(),
        });
    }

    /// The next token without expanding it; directives are carried out on the way.
    fn next_raw(&mut self) -> RawToken {
        loop {
            while let Some(context) = self.contexts.last_mut() {
                if let Some(t) = context.tokens.next() {
                    return t;
                }
                self.contexts.pop();
            }
            if self.isolation > 0 {
                return self.end_token(Span::default());
            }
            let Some(frame) = self.frames.last_mut() else {
                return self.end_token(self.end_of_main());
            };
            let t = frame.scanner.next(&mut self.names, self.diags);
            if t.kind == RawKind::End {
                self.leave_file();
            } else if t.bol && t.is(Punct::Hash) {
                self.directive(t.span);
            } else if t.kind == RawKind::StringHead {
                return self.rest_of_string(t);
            } else {
                return t;
            }
        }
    }

    /// The position behind the last character of the main file: errors at the end of the program
    /// are shown there.
    fn end_of_main(&self) -> Span {
        let file = self.included.main;
        let text = self.map.file(file).map_or("", |f| f.text.trim_end());
        let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Span::new(file, end, end)
    }

    fn end_token(&mut self, span: Span) -> RawToken {
        RawToken {
            kind: RawKind::End,
            text: self.names.get(""),
            span,
            bol: true,
            space: true,
            joint: false,
            painted: false,
        }
    }

    fn leave_file(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        for c in frame.conditions {
            self.diags.push(
                Diagnostic::error("preprocessor", c.span, "this condition is never closed")
                    .with_help("write `#endif` where it ends"),
            );
        }
    }
}

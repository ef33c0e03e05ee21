//! Questions about a program's text, answered from the checker's own tables: for editors.
//!
//! A [`Reading`] is a program that was read as far as it could be. Its [`Index`] says what every
//! name means, of what type what is declared is, and where it is used: the checker notes it while
//! it resolves names. [`Reading::offers`] says what may be written at a place of an unfinished
//! text, [`Reading::call_at`] which parameters a call takes: the checker answers with the scopes
//! that it has when it comes to the place.

mod anchor;
mod context;
mod offers;
mod symbols;

use std::collections::{BTreeMap, HashMap};

use crate::ast::Program;
use crate::diag::{Diagnostic, Diagnostics};
use crate::lex::{Punct, Token, TokenKind};
use crate::lower::{Meaning, Notes, built_in};
use crate::options::Options;
use crate::pp::{Followed, preprocess};
use crate::source::{FileId, SourceMap, Span};

pub use offers::{Call, Offer, OfferKind, Signature};
pub use symbols::{Kind, Symbol};

/// A program, read as far as it could be.
#[derive(Debug)]
pub struct Reading {
    /// Its files.
    pub map: SourceMap,
    /// Its main file.
    pub main: FileId,
    tokens: Vec<Token>,
    program: Program,
    found: Diagnostics,
    /// No text is missing.
    complete: bool,
    included: Vec<Followed>,
    symbols: Vec<Symbol>,
    by_name: HashMap<Span, usize>,
}

/// What a place of the text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meant<'i> {
    /// A declared name.
    Symbol(&'i Symbol),
    /// A member that the language defines: its declaration, and what it does.
    BuiltIn(&'static str, &'static str),
    /// A macro, and where it is defined if a file defines it.
    Macro(String, Option<Span>),
    /// An included file.
    File(FileId),
}

impl Reading {
    /// Reads the program whose main file is `main`, a file of `map`.
    pub fn new(mut map: SourceMap, main: FileId, options: &Options) -> Self {
        let mut found = Diagnostics::new();
        let pre = preprocess(&mut map, main, options, &mut found);
        // What is wrong where text is missing would mislead.
        let mut hidden = Diagnostics::new();
        let diags = match pre.complete {
            true => &mut found,
            false => &mut hidden,
        };
        let (program, tokens) = crate::parse::parse_and_keep(pre.tokens, diags);
        let symbols = symbols::of(&map, &program);
        let by_name = symbols.iter().enumerate().rev();
        Self {
            by_name: by_name.map(|(i, s)| (s.span, i)).collect(),
            main,
            tokens,
            program,
            found,
            complete: pre.complete,
            included: pre.followed,
            symbols,
            map,
        }
    }

    /// Checks the program: its findings, and what its names mean.
    pub fn index(&self) -> (Index, Vec<Diagnostic>) {
        let whole = self.complete && !self.found.has_errors();
        let notes = Notes::taken(&self.program);
        let early = match whole {
            true => self.found.clone(),
            false => Diagnostics::new(),
        };
        let (made, notes) = crate::check(&self.map, self.main, &self.program, early, notes);
        let found = match made {
            _ if !whole => self.found.clone().into_vec(),
            Ok(compiled) => compiled.warnings,
            Err(found) => found.into_vec(),
        };
        (Index::new(self, notes), found)
    }

    /// Declarations in the order of the text.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Whether the program has an instance called `main`.
    pub fn has_main(&self) -> bool {
        let main =
            |s: &Symbol| s.kind == Kind::Instance && s.parent.is_none() && &*s.name == "main";
        self.symbols.iter().any(main)
    }

    /// Pairs of braces of a file: from the opening to the closing one.
    pub fn braces(&self, file: FileId) -> Vec<Span> {
        let mut open = Vec::new();
        let mut pairs = Vec::new();
        for token in self.tokens.iter().filter(|t| t.span.file == file) {
            match token.kind {
                TokenKind::Punct(Punct::LBrace) => open.push(token.span),
                TokenKind::Punct(Punct::RBrace) => {
                    pairs.extend(open.pop().map(|start| start.to(token.span)));
                }
                _ => {}
            }
        }
        pairs
    }

    /// The file whose `#include` stands at a place.
    fn include_at(&self, file: FileId, offset: u32) -> Option<FileId> {
        let here = |f: &&Followed| within(f.directive, file, offset);
        self.included.iter().find(here)?.text
    }

    fn symbol_named_at(&self, span: Span) -> Option<&Symbol> {
        self.symbols.get(*self.by_name.get(&span)?)
    }
}

/// What the names of a program mean.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Meanings by the place of the use, declarations included.
    uses: BTreeMap<Span, Meaning>,
    types: HashMap<Span, String>,
    in_macros: std::collections::HashSet<Span>,
}

impl Index {
    fn new(reading: &Reading, notes: Notes) -> Self {
        let mut uses = notes.uses;
        for symbol in &reading.symbols {
            if reading.map.expansion_at(symbol.span).is_none() {
                uses.insert(symbol.span, Meaning::Declared(symbol.span));
            }
        }
        Self {
            uses,
            types: notes.types,
            in_macros: notes.in_macros,
        }
    }

    /// What the name at a place means, and where the name stands.
    pub fn at<'r>(
        &self,
        reading: &'r Reading,
        file: FileId,
        offset: u32,
    ) -> Option<(Span, Meant<'r>)> {
        if let Some((span, meaning)) = self.use_at(file, offset) {
            let meant = match meaning {
                Meaning::Declared(at) => Meant::Symbol(reading.symbol_named_at(at)?),
                Meaning::BuiltIn(name) => {
                    let built_in = built_in(name)?;
                    Meant::BuiltIn(built_in.signature, built_in.meaning)
                }
            };
            return Some((span, meant));
        }
        if let Some(file) = reading.include_at(file, offset) {
            return Some((Span::default(), Meant::File(file)));
        }
        let mut expansions = reading.map.expansions();
        let (span, expansion) = expansions.find(|(span, _)| within(*span, file, offset))?;
        let meant = Meant::Macro(expansion.name.to_string(), expansion.defined_at);
        Some((span, meant))
    }

    /// The use whose name touches a place.
    fn use_at(&self, file: FileId, offset: u32) -> Option<(Span, Meaning)> {
        let until = Span::new(file, offset.saturating_add(1), 0);
        let (span, meaning) = self.uses.range(..until).next_back()?;
        within(*span, file, offset).then_some((*span, *meaning))
    }

    /// The type of what is declared at `declared`, if it has one.
    pub fn type_of(&self, declared: Span) -> Option<&str> {
        self.types.get(&declared).map(String::as_str)
    }

    /// All places of the name that is declared at `declared`, in order, its declaration included.
    pub fn uses_of(&self, declared: Span) -> Vec<Span> {
        let means = |meaning: &Meaning| *meaning == Meaning::Declared(declared);
        let all = self.uses.iter().filter(|(_, m)| means(m));
        all.map(|(span, _)| *span).collect()
    }

    /// How many names mean something.
    pub fn size(&self) -> usize {
        self.uses.len()
    }

    /// Where the name that begins at a place is declared, if a program declares it.
    pub fn declared_at(&self, file: FileId, start: u32) -> Option<Span> {
        match self.use_at(file, start)? {
            (span, Meaning::Declared(at)) if span.start == start => Some(at),
            _ => None,
        }
    }

    /// Whether a macro wrote the name of what is declared at `declared`, somewhere.
    pub fn is_used_by_macro(&self, declared: Span) -> bool {
        self.in_macros.contains(&declared)
    }

    /// Names in a file with the declarations they mean, in order; members that the language defines
    /// have none.
    pub fn names_in<'s>(
        &'s self,
        reading: &'s Reading,
        file: FileId,
    ) -> impl Iterator<Item = (Span, Option<&'s Symbol>)> {
        let range = Span::new(file, 0, 0)..Span::new(FileId(file.0.saturating_add(1)), 0, 0);
        self.uses.range(range).map(|(span, meaning)| {
            let symbol = match meaning {
                Meaning::Declared(at) => reading.symbol_named_at(*at),
                Meaning::BuiltIn(_) => None,
            };
            (*span, symbol)
        })
    }
}

/// Whether a place is in a span or touches it.
fn within(span: Span, file: FileId, offset: u32) -> bool {
    span.file == file && span.start <= offset && offset <= span.end
}

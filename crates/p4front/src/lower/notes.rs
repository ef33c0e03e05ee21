//! What the walk finds out about names: which declaration each use of a name means, and the types
//! of what is declared.
//!
//! Tools that answer questions about a program's text read them. Nothing is noted unless that is
//! asked for.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::ast::{self, DeclKind, Symbol};
use crate::source::{SourceMap, Span};

/// What a use of a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The declaration whose name stands here.
    Declared(Span),
    /// A member that the language gives to values of a type: `isValid`, `apply`, ...
    BuiltIn(&'static str),
}

/// Notes about names. A name that a macro wrote has no place of its own and is left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    on: bool,
    /// Meanings of names, by the place of the use.
    pub(crate) uses: BTreeMap<Span, Meaning>,
    /// Types of declared names, by the place of the declaration, as they are written.
    pub(crate) types: HashMap<Span, String>,
    /// Declarations that are used where a macro wrote the name.
    pub(crate) in_macros: HashSet<Span>,
    /// Members of `error` and match kinds, where they are declared first.
    errors: HashMap<Symbol, Span>,
    match_kinds: HashMap<Symbol, Span>,
    /// States of the parser that is being read.
    pub(super) states: HashMap<Symbol, Span>,
}

impl Notes {
    /// Notes that are taken.
    pub(crate) fn taken(program: &ast::Program) -> Self {
        let mut notes = Self {
            on: true,
            ..Self::default()
        };
        for decl in &program.decls {
            let (names, into) = match &decl.kind {
                DeclKind::Error(names) => (names, &mut notes.errors),
                DeclKind::MatchKind(names) => (names, &mut notes.match_kinds),
                _ => continue,
            };
            for name in names {
                into.entry(name.name.clone()).or_insert(name.span);
            }
        }
        notes
    }

    pub(super) fn are_taken(&self) -> bool {
        self.on
    }

    /// The name at `at` means what is declared at `declared`.
    pub(super) fn used(&mut self, map: &SourceMap, at: Span, declared: Span) {
        if !self.on {
            return;
        }
        if map.expansion_at(at).is_some() {
            self.in_macros.insert(declared);
        } else {
            self.uses.insert(at, Meaning::Declared(declared));
        }
    }

    /// The name at `at` means a member that the language defines.
    pub(super) fn built_in(&mut self, map: &SourceMap, at: Span, name: &'static str) {
        if self.on && map.expansion_at(at).is_none() {
            self.uses.insert(at, Meaning::BuiltIn(name));
        }
    }

    /// The type of what is declared at `at`; the first one counts.
    pub(super) fn typed(&mut self, at: Span, ty: impl std::fmt::Display) {
        if self.on {
            self.types.entry(at).or_insert_with(|| ty.to_string());
        }
    }

    pub(super) fn error_at(&self, name: &str) -> Option<Span> {
        self.errors.get(name).copied()
    }

    pub(super) fn match_kind_at(&self, name: &str) -> Option<Span> {
        self.match_kinds.get(name).copied()
    }
}

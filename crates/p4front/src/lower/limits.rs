//! Bounds on what a program may ask for, looked at before it is made.
//!
//! A bound on one thing (a type, a name) is an error at that thing, which is then left out. A bound
//! on the program as a whole is told once; afterwards nothing more is elaborated.

use p4ir::limits::{Exceeded, Limit};

use super::Lowerer;
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::{Extent, Ty};

/// What the program has asked for so far.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// Statements, components of constants, and the like.
    nodes: u64,
    storage_words: u64,
    /// Something was too much: nothing more is made.
    over: bool,
}

impl Spent {
    /// Counts parts of the program that are no expressions.
    pub(super) fn add(&mut self, nodes: u64) {
        self.nodes = self.nodes.saturating_add(nodes);
    }
}

/// What the components of a type take while it is made.
#[derive(Debug, Default)]
pub(super) struct TypeSize {
    words: u64,
    reported: bool,
}

impl Lowerer<'_> {
    fn exceed(&mut self, exceeded: Exceeded, span: Span) {
        self.report(Diagnostic::error("limit", span, exceeded.to_string()));
    }

    /// Tells that the program as a whole is too large.
    fn stop(&mut self, exceeded: Exceeded, span: Span) {
        if !self.emitter.spent.over {
            self.emitter.spent.over = true;
            self.exceed(exceeded, span);
        }
    }

    /// Whether there is room for more of the program; if not, that was told.
    pub(super) fn has_room(&mut self, span: Span) -> bool {
        let nodes = self.emitter.spent.nodes + self.emitter.ir.exprs.len() as u64;
        if let Err(exceeded) = Limit::Nodes.check(nodes) {
            self.stop(exceeded, span);
        }
        !self.emitter.spent.over
    }

    /// Counts parts of the program that are no expressions.
    pub(super) fn spend(&mut self, nodes: u64) {
        self.emitter.spent.add(nodes);
    }

    /// Counts the storage of a variable.
    pub(super) fn store_words(&mut self, ty: &Ty, span: Span) {
        let words = self.checker.infer.resolve(ty).extent().words;
        self.emitter.spent.storage_words = self.emitter.spent.storage_words.saturating_add(words);
        if let Err(exceeded) = Limit::StorageWords.check(self.emitter.spent.storage_words) {
            self.stop(exceeded, span);
        }
    }

    /// Whether one more instance of a parser, control or function may be made; if not, that was
    /// told.
    pub(super) fn one_more_instance(&mut self, span: Span) -> bool {
        let made = self.blocks.len() + self.functions.len() + 1;
        if let Err(exceeded) = Limit::Instances.check(made as u64) {
            self.stop(exceeded, span);
        }
        !self.emitter.spent.over
    }

    /// The type, or (reported) none if it is too large.
    pub(super) fn bounded(&mut self, ty: Ty, span: Span) -> Ty {
        match ty.extent().check() {
            Ok(()) => ty,
            Err(exceeded) => {
                self.exceed(exceeded, span);
                Ty::Poison
            }
        }
    }

    /// Whether type arguments are not too large together; if they are, that was told.
    pub(super) fn all_fit(&mut self, targs: &[Ty], span: Span) -> bool {
        let mut room = TypeSize::default();
        targs.iter().all(|ty| self.takes(&mut room, ty, span))
    }

    /// Whether the value of a type fits beside the other items of a list, which may become a list
    /// of any length: only the program as a whole bounds it.
    pub(super) fn takes_in_list(&mut self, room: &mut TypeSize, ty: &Ty, span: Span) -> bool {
        let Extent { words, depth } = ty.extent();
        room.words = room.words.saturating_add(words);
        let nodes = self.emitter.spent.nodes.saturating_add(room.words);
        if let Err(exceeded) = Limit::Nodes.check(nodes) {
            self.stop(exceeded, span);
        }
        if let Err(exceeded) = Limit::TypeDepth.check(depth + 1) {
            self.exceed(exceeded, span);
            return false;
        }
        !self.emitter.spent.over
    }

    /// Whether a type fits beside the other components of the type that is being made; if not, that
    /// was told.
    pub(super) fn takes(&mut self, room: &mut TypeSize, ty: &Ty, span: Span) -> bool {
        let Extent { words, depth } = ty.extent();
        room.words = room.words.saturating_add(words);
        let all = Extent {
            words: room.words,
            depth: depth + 1,
        };
        match all.check() {
            Ok(()) => true,
            Err(exceeded) => {
                if !room.reported {
                    room.reported = true;
                    self.exceed(exceeded, span);
                }
                false
            }
        }
    }

    /// A control-plane name, cut (and reported) if it is too long.
    pub(super) fn bounded_name(&mut self, mut name: String, span: Span) -> String {
        if let Err(exceeded) = Limit::NameBytes.check(name.len() as u64) {
            self.exceed(exceeded, span);
            name.truncate(0);
        }
        name
    }
}

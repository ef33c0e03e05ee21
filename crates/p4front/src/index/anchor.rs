//! Where a place of the text is in the tree.

use crate::ast::{Block, Decl, DeclKind, NodeId, Program, Stmt, StmtKind};
use crate::lower::Anchor;
use crate::source::{FileId, SourceMap, Span};

/// A place of the text.
#[derive(Clone, Copy)]
pub(super) struct Place<'m> {
    pub(super) map: &'m SourceMap,
    pub(super) file: FileId,
    pub(super) offset: u32,
}

impl Place<'_> {
    /// Whether the place is inside of something that ends with a brace; what is not closed yet has
    /// no end.
    fn is_in(self, span: Span) -> bool {
        if span.file != self.file || span.start >= self.offset {
            return false;
        }
        self.offset < span.end || !self.map.text(span).ends_with(['}', ';'])
    }

    fn is_before(self, span: Span) -> bool {
        span.file == self.file && span.start >= self.offset
    }

    /// The first of some items that stands behind the place.
    fn first_behind<'t>(self, items: impl Iterator<Item = Span> + 't) -> usize {
        let mut count = 0;
        for span in items {
            if self.is_before(span) {
                break;
            }
            count += 1;
        }
        count
    }

    /// The declaration of the top level around the place, how many stand before it, and the place
    /// in it.
    pub(super) fn anchor(self, program: &Program) -> (Option<usize>, usize, Anchor) {
        let behind = self.first_behind(program.decls.iter().map(|d| d.at.span));
        let here = program.decls.iter().take(behind);
        let inside = here.rev().position(|d| d.at.span.file == self.file);
        let inside = inside.map(|back| behind - 1 - back);
        let inside = inside.filter(|i| self.is_in(program.decls[*i].at.span));
        let Some(i) = inside else {
            return (None, behind, Anchor::Top);
        };
        (Some(i), i, self.in_decl(&program.decls[i]))
    }

    fn in_decl(self, decl: &Decl) -> Anchor {
        match &decl.kind {
            DeclKind::Control(c) => {
                if let Some(anchor) = self.in_block(&c.body) {
                    return anchor;
                }
                let inner = c.locals.iter().find_map(|d| self.in_local(d));
                inner.unwrap_or_else(|| {
                    let at = self.first_behind(c.locals.iter().map(|d| d.at.span));
                    Anchor::Local(c.body.at.id, self.inner(&c.locals, at))
                })
            }
            DeclKind::Parser(p) => {
                for state in &p.states {
                    if self.is_in(state.at.span) {
                        return self.in_stmts(state.at.id, &state.body);
                    }
                }
                let Some(first) = p.states.first() else {
                    return Anchor::Top;
                };
                let inner = p.locals.iter().find_map(|d| self.in_local(d));
                inner.unwrap_or_else(|| {
                    let at = self.first_behind(p.locals.iter().map(|d| d.at.span));
                    Anchor::Local(first.at.id, self.inner(&p.locals, at))
                })
            }
            _ => self.in_local(decl).unwrap_or(Anchor::Top),
        }
    }

    /// The declaration that the place is in, rather than the one behind it.
    fn inner(self, locals: &[Decl], behind: usize) -> usize {
        match behind.checked_sub(1).and_then(|i| locals.get(i)) {
            Some(last) if self.is_in(last.at.span) => behind - 1,
            _ => behind,
        }
    }

    /// Where the place is in a body that a declaration has.
    fn in_local(self, decl: &Decl) -> Option<Anchor> {
        match &decl.kind {
            DeclKind::Action(a) => self.in_block(&a.body),
            DeclKind::Function(f) => self.in_block(&f.body),
            DeclKind::Instance(i) => i.init.iter().flatten().find_map(|d| self.in_local(d)),
            _ => None,
        }
    }

    fn in_block(self, block: &Block) -> Option<Anchor> {
        self.is_in(block.at.span)
            .then(|| self.in_stmts(block.at.id, &block.stmts))
    }

    fn in_stmts(self, id: NodeId, stmts: &[Stmt]) -> Anchor {
        let behind = self.first_behind(stmts.iter().map(|s| s.at.span));
        let inner = behind.checked_sub(1).and_then(|i| stmts.get(i));
        let inner = inner.and_then(|s| self.in_stmt(s));
        inner.unwrap_or(Anchor::Statement(id, behind))
    }

    fn in_stmt(self, stmt: &Stmt) -> Option<Anchor> {
        match &stmt.kind {
            StmtKind::Block(block) => self.in_block(block),
            StmtKind::If {
                then, otherwise, ..
            } => {
                let other = otherwise.as_deref().and_then(|s| self.in_stmt(s));
                other.or_else(|| self.in_stmt(then))
            }
            StmtKind::Switch { cases, .. } => {
                let bodies = cases.iter().filter_map(|c| c.body.as_ref());
                bodies.rev().find_map(|b| self.in_block(b))
            }
            StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => self.in_stmt(body),
            _ => None,
        }
    }
}

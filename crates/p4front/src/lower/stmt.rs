//! Statements.

use std::collections::HashSet;

use p4ir::{Place, StmtKind as Ir, VarKind};

use super::value::{Elab, Val};
use super::{BodyKind, Entity, Lowerer};
use crate::ast::{self, DeclKind, ExprKind, StmtKind};
use crate::source::Span;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    /// A block in a scope of its own.
    pub(super) fn block(&mut self, block: &'a ast::Block) {
        self.scoped(|s| s.stmts_of(block.at.id, &block.stmts));
    }

    pub(super) fn stmts(&mut self, stmts: &'a [ast::Stmt]) {
        for stmt in stmts {
            let declares = matches!(stmt.kind, StmtKind::Decl(_));
            if !declares && self.is_beside(stmt.at.span) {
                continue;
            }
            self.deeper(stmt.at.span, |s| s.stmt(stmt));
        }
    }

    fn stmt(&mut self, stmt: &'a ast::Stmt) {
        let span = stmt.at.span;
        match &stmt.kind {
            StmtKind::Empty => {}
            StmtKind::Block(b) => self.block(b),
            StmtKind::Decl(decl) => self.local(decl),
            StmtKind::Assign { target, op, value } => self.assignment(target, *op, value, span),
            StmtKind::Call(e) => {
                self.expr(e, None);
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => self.if_stmt(condition, then, otherwise.as_deref(), span),
            StmtKind::Switch { subject, cases } => self.switch(subject, cases, span),
            StmtKind::For {
                init,
                condition,
                update,
                body,
                ..
            } => self.for_loop(init, condition, update, body, span),
            StmtKind::ForIn {
                variable,
                collection,
                body,
                ..
            } => self.for_in(variable, collection, body, span),
            StmtKind::Return(value) => self.return_stmt(value.as_ref(), span),
            StmtKind::Exit => {
                if matches!(self.body.kind, BodyKind::Parser | BodyKind::Function) {
                    self.error(
                        "flow",
                        span,
                        "`exit` can only stand in actions and controls",
                    );
                } else {
                    self.emit(Ir::Exit, span);
                }
            }
            StmtKind::Break | StmtKind::Continue => {
                if self.body.loops == 0 {
                    self.error("flow", span, "this is not inside a loop");
                    return;
                }
                let kind = if matches!(stmt.kind, StmtKind::Break) {
                    Ir::Break
                } else {
                    Ir::Continue
                };
                self.emit(kind, span);
            }
        }
    }

    /// A declaration inside a block.
    fn local(&mut self, decl: &'a ast::Decl) {
        if let Some(name) = decl.name() {
            self.checker.check_shadowing(name);
        }
        match &decl.kind {
            DeclKind::Variable(v) => self.variable(v),
            DeclKind::Constant(c) => {
                let value = self.constant(c);
                self.declare(&c.name, Entity::Value(value));
            }
            DeclKind::Instance(i) => {
                self.error("flow", decl.at.span, format!("`{}` cannot be instantiated inside a block; do it in front of `apply` or the states", i.name));
                self.declare(&i.name, Entity::Poison);
            }
            _ => self.error("syntax", decl.at.span, "this cannot be declared here"),
        }
    }

    /// `T name;` or `T name = value;`: storage, and its first value.
    pub(super) fn variable(&mut self, v: &'a ast::Variable) {
        let span = v.name.span;
        let ty = self.ty(&v.ty);
        if !ty.is_data() || matches!(ty, Ty::Int | Ty::String) {
            self.error(
                "type",
                v.ty.at.span,
                format!("a variable cannot have type `{ty}`"),
            );
            self.declare(&v.name, Entity::Poison);
            return;
        }
        let init = v.init.as_ref().map(|e| {
            let value = self.expr(e, Some(&ty));
            self.coerce(value, &ty, e.at.span)
        });
        let place = Place::var(self.new_var(&v.name.name, &ty, VarKind::Local, span));
        match init {
            Some(value) => self.store(&place, &ty, value, span),
            None => self.reset(place.clone(), &ty, span),
        }
        self.declare(&v.name, Entity::Value(Elab::place(ty, place, true)));
    }

    fn if_stmt(
        &mut self,
        cond: &'a ast::Expr,
        then: &'a ast::Stmt,
        other: Option<&'a ast::Stmt>,
        span: Span,
    ) {
        let cond_span = cond.at.span;
        let cond = self.bool_expr(cond);
        let (then, ()) = self.nested(|s| s.scoped(|s| s.stmts(std::slice::from_ref(then))));
        let (other, ()) = self.nested(|s| {
            if let Some(other) = other {
                s.scoped(|s| s.stmts(std::slice::from_ref(other)));
            }
        });
        match cond.val {
            Val::Bool(true) => self.emitter.out.extend(then),
            Val::Bool(false) => self.emitter.out.extend(other),
            _ => {
                let cond = self.scalar(&cond, span);
                if !(then.is_empty() && other.is_empty()) {
                    self.emit(Ir::If { cond, then, other }, cond_span);
                }
            }
        }
    }

    fn switch(&mut self, subject: &'a ast::Expr, cases: &'a [ast::SwitchCase], span: Span) {
        if let ExprKind::Member { base, member } = &subject.kind
            && &*member.name == "action_run"
            && let Some(table) = self.applied_table(base)
        {
            self.switch_on_action(table, cases, span);
            return;
        }
        let value = self.expr(subject, None);
        let ty = value.ty.clone();
        if !(Self::is_scalar(&ty) && ty.is_data()) || matches!(ty, Ty::Int | Ty::String) {
            self.error(
                "type",
                subject.at.span,
                format!("`switch` needs a scalar, not `{ty}`"),
            );
        }
        let label = |s: &mut Self, e: &'a ast::Expr| {
            let v = s.const_expr(e, Some(&ty));
            let v = s.coerce(v, &ty, e.at.span);
            s.constant_of(&v)
        };
        let (arms, default) = self.switch_arms(cases, label);
        let value = self.scalar(&value, span);
        self.emit(
            Ir::Switch {
                value,
                cases: arms,
                default,
            },
            span,
        );
    }

    /// Elaborates the arms of a switch; labels without a body join the next one.
    pub(super) fn switch_arms(
        &mut self,
        cases: &'a [ast::SwitchCase],
        mut label: impl FnMut(&mut Self, &'a ast::Expr) -> Option<p4ir::Const>,
    ) -> (Vec<p4ir::SwitchCase>, p4ir::Block) {
        let mut arms: Vec<p4ir::SwitchCase> = Vec::new();
        let mut default = Vec::new();
        let mut waiting = Vec::new();
        let mut waiting_default = false;
        let mut seen = HashSet::new();
        for (i, case) in cases.iter().enumerate() {
            match &case.label {
                None => {
                    if i + 1 != cases.len() {
                        self.error("flow", case.at.span, "`default` must be the last case");
                    }
                    waiting_default = true;
                }
                Some(e) if matches!(e.kind, ExprKind::DontCare) => waiting_default = true,
                Some(e) => {
                    if let Some(value) = label(self, e) {
                        if seen.insert(value.clone()) {
                            waiting.push(value);
                        } else {
                            self.error("flow", e.at.span, "this label occurs twice");
                        }
                    }
                }
            }
            let Some(body) = &case.body else {
                continue;
            };
            let (body, ()) = self.nested(|s| s.block(body));
            if waiting_default {
                default.clone_from(&body);
            }
            let labels = std::mem::take(&mut waiting);
            if !labels.is_empty() && !waiting_default {
                arms.push(p4ir::SwitchCase { labels, body });
            }
            waiting_default = false;
        }
        if !waiting.is_empty() {
            // Trailing labels without a body do nothing, which is not what `default` does.
            arms.push(p4ir::SwitchCase {
                labels: waiting,
                body: Vec::new(),
            });
        }
        (arms, default)
    }

    fn return_stmt(&mut self, value: Option<&'a ast::Expr>, span: Span) {
        if self.body.kind == BodyKind::Parser {
            self.error("flow", span, "`return` cannot stand in a parser");
            return;
        }
        match (value, self.body.result.clone()) {
            (None, None) => {}
            (Some(e), Some((var, ty))) => {
                let value = self.expr(e, Some(&ty));
                let value = self.coerce(value, &ty, e.at.span);
                self.store(&Place::var(var), &ty, value, span);
            }
            (Some(e), None) => {
                self.expr(e, None);
                self.error("type", e.at.span, "nothing is returned here");
            }
            (None, Some((_, ty))) => {
                self.error(
                    "type",
                    span,
                    format!("a value of type `{ty}` must be returned"),
                );
            }
        }
        self.emit(Ir::Return, span);
    }
}

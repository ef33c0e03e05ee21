//! Prints statements and parser states.

use super::Printer;
use crate::ast::{
    Block, Decl, DeclKind, Expr, SelectCase, State, Stmt, StmtKind, SwitchCase, TransitionKind,
};

impl Printer {
    pub(super) fn block(&mut self, b: &Block) {
        self.annotations(&b.annotations);
        self.braces(&b.stmts, Self::stmt);
    }

    /// A statement with its `;`, without a line end.
    pub(super) fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Empty => self.put(';'),
            StmtKind::Block(b) => self.block(b),
            StmtKind::Decl(d) => self.decl(d),
            StmtKind::Assign { .. } | StmtKind::Call(_) => {
                self.simple(s);
                self.put(';');
            }
            StmtKind::If { .. } => self.if_chain(s),
            StmtKind::Switch { subject, cases } => {
                self.put("switch (");
                self.expr(subject);
                self.put(") ");
                self.braces(cases, Self::switch_case);
            }
            StmtKind::For {
                annotations,
                init,
                condition,
                update,
                body,
            } => {
                self.annotations(annotations);
                self.put("for (");
                self.commas(init, Self::simple);
                self.put("; ");
                self.expr(condition);
                self.put("; ");
                self.commas(update, Self::simple);
                self.put(") ");
                self.stmt(body);
            }
            StmtKind::ForIn {
                annotations,
                variable,
                collection,
                body,
            } => {
                self.annotations(annotations);
                self.put("for (");
                self.for_variable(variable);
                self.put(" in ");
                self.expr(collection);
                self.put(") ");
                self.stmt(body);
            }
            StmtKind::Return(None) => self.put("return;"),
            StmtKind::Return(Some(e)) => {
                self.put("return ");
                self.expr(e);
                self.put(';');
            }
            StmtKind::Exit => self.put("exit;"),
            StmtKind::Break => self.put("break;"),
            StmtKind::Continue => self.put("continue;"),
        }
    }

    /// An assignment, call or variable without `;`.
    fn simple(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Assign { target, op, value } => {
                self.target(target);
                self.put(format_args!(" {}= ", op.map_or("", |op| op.symbol())));
                self.expr(value);
            }
            StmtKind::Call(e) => self.target(e),
            StmtKind::Decl(d) => self.for_variable(d),
            _ => self.stmt(s),
        }
    }

    fn target(&mut self, e: &Expr) {
        self.expr(e);
    }

    fn for_variable(&mut self, d: &Decl) {
        self.annotations(&d.annotations);
        if let DeclKind::Variable(v) = &d.kind {
            self.variable(v);
        }
    }

    fn if_chain(&mut self, s: &Stmt) {
        let mut rest = s;
        while let StmtKind::If {
            condition,
            then,
            otherwise,
        } = &rest.kind
        {
            self.put("if (");
            self.expr(condition);
            self.put(") ");
            let Some(next) = otherwise else {
                return self.stmt(then);
            };
            self.before_else(then);
            self.put(" else ");
            rest = next;
        }
        self.stmt(rest);
    }

    /// A branch that an `else` follows: one that ends with an `if` without `else` would take it.
    fn before_else(&mut self, s: &Stmt) {
        self.stmt(s);
    }

    fn switch_case(&mut self, c: &SwitchCase) {
        match &c.label {
            None => self.put("default"),
            Some(e) => self.expr(e),
        }
        self.put(':');
        if let Some(b) = &c.body {
            self.put(' ');
            self.block(b);
        }
    }

    pub(super) fn state(&mut self, s: &State) {
        self.annotations(&s.annotations);
        self.put(format_args!("state {} {{\n", s.name));
        self.indent += 1;
        for stmt in &s.body {
            self.line();
            self.stmt(stmt);
            self.put('\n');
        }
        if let Some(t) = &s.transition {
            self.line();
            match &t.kind {
                TransitionKind::Direct(name) => self.put(format_args!("transition {name};")),
                TransitionKind::Select { keys, cases } => {
                    self.put("transition select(");
                    self.commas(keys, Self::expr);
                    self.put(") ");
                    self.braces(cases, Self::select_case);
                }
            }
            self.put('\n');
        }
        self.indent -= 1;
        self.line();
        self.put('}');
    }

    fn select_case(&mut self, c: &SelectCase) {
        self.keyset(&c.keyset);
        self.put(format_args!(": {};", c.next));
    }
}

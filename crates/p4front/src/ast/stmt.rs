//! Statements and parser states.

use super::{Annotation, At, BinaryOp, Decl, Expr, Ident, Keyset};

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stmt {
    /// Identity and place.
    pub at: At,
    /// What it is.
    pub kind: StmtKind,
}

/// The forms of [`Stmt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StmtKind {
    /// `;`
    Empty,
    /// `{ ... }`
    Block(Block),
    /// A variable or constant; or an instantiation, which the grammar admits here so that the
    /// error can be explained.
    Decl(Box<Decl>),
    /// `target = value` or, with an operator, `target op= value`.
    Assign {
        /// What is assigned to.
        target: Expr,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// The value.
        value: Expr,
    },
    /// A call; the expression is [`super::ExprKind::Call`] or, for `T.apply(...)` on a type,
    /// a call whose callee is a member of a type name.
    Call(Expr),
    /// `if`
    If {
        /// The condition.
        condition: Expr,
        /// Taken if true.
        then: Box<Stmt>,
        /// Taken if false.
        otherwise: Option<Box<Stmt>>,
    },
    /// `switch (subject) { ... }`, on an expression or on `t.apply().action_run`.
    Switch {
        /// What is switched on.
        subject: Expr,
        /// Cases in order.
        cases: Vec<SwitchCase>,
    },
    /// `for (init; condition; update) body`
    For {
        /// Annotations before `for`.
        annotations: Vec<Annotation>,
        /// Declarations, assignments and calls; done once.
        init: Vec<Stmt>,
        /// Loop while true.
        condition: Expr,
        /// Assignments and calls; done after each round.
        update: Vec<Stmt>,
        /// The body.
        body: Box<Stmt>,
    },
    /// `for (T name in collection) body`
    ForIn {
        /// Annotations before `for`.
        annotations: Vec<Annotation>,
        /// The loop variable, without initialiser.
        variable: Box<Decl>,
        /// A list, a stack, or a [`super::ExprKind::Range`].
        collection: Expr,
        /// The body.
        body: Box<Stmt>,
    },
    /// `return`
    Return(Option<Expr>),
    /// `exit`
    Exit,
    /// `break`
    Break,
    /// `continue`
    Continue,
}

/// `{ ... }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Identity and place (from the annotations to the closing brace).
    pub at: At,
    /// Annotations before `{`, such as `@atomic`.
    pub annotations: Vec<Annotation>,
    /// Its statements.
    pub stmts: Vec<Stmt>,
}

/// A case of a `switch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchCase {
    /// Identity and place.
    pub at: At,
    /// The label; none for `default`.
    pub label: Option<Expr>,
    /// The block; none: falls through to the next case.
    pub body: Option<Block>,
}

/// A state of a parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Identity and place.
    pub at: At,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its name.
    pub name: Ident,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Where it goes; none means `reject`.
    pub transition: Option<Transition>,
}

/// The end of a parser state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// Identity and place.
    pub at: At,
    /// Where it goes.
    pub kind: TransitionKind,
}

/// The forms of [`Transition`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransitionKind {
    /// `transition name;`
    Direct(Ident),
    /// `transition select(keys) { ... }`
    Select {
        /// What is matched on.
        keys: Vec<Expr>,
        /// Cases in order; the first that matches is taken.
        cases: Vec<SelectCase>,
    },
}

/// A case of a `select`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectCase {
    /// Identity and place.
    pub at: At,
    /// What it matches.
    pub keyset: Keyset,
    /// The next state.
    pub next: Ident,
}

//! Statements and blocks.

use super::{MAX_HEIGHT, Parse, Parser};
use crate::ast::{
    Annotation, BinaryOp, Block, Decl, DeclKind, Expr, ExprKind, Stmt, StmtKind, SwitchCase, Type,
    Variable,
};
use crate::diag::Diagnostic;
use crate::lex::{Keyword, Punct, TokenKind};
use crate::source::Span;

impl Parser<'_> {
    /// `{ statements }`, annotations allowed before it.
    pub(super) fn block(&mut self) -> Parse<Block> {
        let start = self.span();
        let annotations = self.annotations()?;
        self.block_after(start, annotations, Self::stmt)
    }

    /// `{ items }` behind annotations.
    pub(super) fn block_after(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
        item: fn(&mut Self) -> Parse<Stmt>,
    ) -> Parse<Block> {
        let depth = self.scopes.depth();
        self.scopes.push();
        let stmts = self.braced(item);
        let stmts = self.close_scopes(depth, stmts)?;
        Ok(Block {
            at: self.node(start),
            annotations,
            stmts,
        })
    }

    /// A statement or declaration.
    pub(super) fn stmt(&mut self) -> Parse<Stmt> {
        use Keyword as K;
        let start = self.span();
        let annotations = self.annotations()?;
        let kind = match self.kind() {
            TokenKind::Punct(Punct::LBrace) => {
                StmtKind::Block(self.nested(|p| p.block_after(start, annotations, Self::stmt))?)
            }
            TokenKind::Keyword(K::For) => self.for_stmt(annotations)?,
            TokenKind::Keyword(K::Const) => {
                StmtKind::Decl(Box::new(self.constant(start, annotations)?))
            }
            _ if self.at_local_decl() => self.decl_or_lvalue(start, annotations)?,
            _ => {
                self.no_annotations(&annotations, "this statement");
                self.plain_stmt()?
            }
        };
        Ok(Stmt {
            at: self.node(start),
            kind,
        })
    }

    /// A statement that takes no annotations.
    fn plain_stmt(&mut self) -> Parse<StmtKind> {
        use Keyword as K;
        let TokenKind::Keyword(k) = self.kind() else {
            if self.eat(Punct::Semicolon) {
                return Ok(StmtKind::Empty);
            }
            return self.assignment_or_call(None, true);
        };
        let simple = match k {
            K::If => return self.if_stmt(),
            K::Switch => return self.switch(),
            K::Return => {
                self.bump();
                let value = if self.at(Punct::Semicolon) {
                    None
                } else {
                    Some(self.expr()?)
                };
                StmtKind::Return(value)
            }
            K::Exit => self.word(StmtKind::Exit),
            K::Break => self.word(StmtKind::Break),
            K::Continue => self.word(StmtKind::Continue),
            K::This => return self.assignment_or_call(None, true),
            _ if self.is_name(0) => return self.assignment_or_call(None, true),
            _ => return self.unexpected("a statement"),
        };
        self.semicolon()?;
        Ok(simple)
    }

    fn word(&mut self, kind: StmtKind) -> StmtKind {
        self.bump();
        kind
    }

    /// True if a type begins here, or two names in a row, the first of which was meant for a type.
    pub(super) fn at_local_decl(&self) -> bool {
        self.at_type() || (self.kind() == TokenKind::Ident && self.nth(1).kind == TokenKind::Ident)
    }

    /// A statement that begins with a type: a variable, an instantiation, or `T.apply(...)`.
    fn decl_or_lvalue(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<StmtKind> {
        let ty = self.type_ref()?;
        if self.at(Punct::Dot) {
            self.no_annotations(&annotations, "this statement");
            let first = self.after_type(ty)?;
            return self.assignment_or_call(Some(first), true);
        }
        let decl = if self.at(Punct::LParen) {
            self.instance(start, annotations, ty)?
        } else {
            let d = self.variable(start, annotations, ty)?;
            self.semicolon()?;
            d
        };
        Ok(StmtKind::Decl(Box::new(decl)))
    }

    /// `name` or `name = value` behind a type, without `;`.
    pub(super) fn variable(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
        ty: Type,
    ) -> Parse<Decl> {
        let (name, ty) = self.declarator(ty)?;
        let init = if self.eat(Punct::Assign) {
            Some(self.expr()?)
        } else {
            None
        };
        self.scopes.declare_object(&name.name);
        let kind = DeclKind::Variable(Variable { ty, name, init });
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    /// An assignment or a call; `first` is its beginning if that has been read.
    pub(super) fn assignment_or_call(
        &mut self,
        first: Option<Expr>,
        semicolon: bool,
    ) -> Parse<StmtKind> {
        let target = self.lvalue(first)?;
        let kind = match self.kind() {
            TokenKind::Punct(Punct::LParen) => StmtKind::Call(self.call(target, Vec::new())?),
            TokenKind::Punct(Punct::Lt) => {
                let type_args = self.type_args()?;
                StmtKind::Call(self.call(target, type_args)?)
            }
            _ => {
                let Some(op) = self.assignment_op() else {
                    return self.unexpected("an assignment or a call");
                };
                self.bump();
                StmtKind::Assign {
                    target,
                    op,
                    value: self.expr()?,
                }
            }
        };
        if semicolon {
            self.semicolon()?;
        }
        Ok(kind)
    }

    /// The operator of the assignment here: none if there is no assignment, none inside if it is
    /// a plain one.
    fn assignment_op(&self) -> Option<Option<BinaryOp>> {
        use BinaryOp as B;
        let TokenKind::Punct(p) = self.kind() else {
            return None;
        };
        Some(match p {
            Punct::Assign => None,
            Punct::PlusEq => Some(B::Add),
            Punct::MinusEq => Some(B::Sub),
            Punct::StarEq => Some(B::Mul),
            Punct::SlashEq => Some(B::Div),
            Punct::PercentEq => Some(B::Mod),
            Punct::PlusSatEq => Some(B::AddSat),
            Punct::MinusSatEq => Some(B::SubSat),
            Punct::ShlEq => Some(B::Shl),
            Punct::ShrEq => Some(B::Shr),
            Punct::AndEq => Some(B::BitAnd),
            Punct::OrEq => Some(B::BitOr),
            Punct::CaretEq => Some(B::BitXor),
            _ => return None,
        })
    }

    /// What can be assigned to or called: a name with members, indices and slices.
    fn lvalue(&mut self, first: Option<Expr>) -> Parse<Expr> {
        let start = self.span();
        let mut base = match first {
            Some(e) => e,
            None if self.at_kw(Keyword::This) => {
                self.bump();
                self.expr_node(start, ExprKind::This, 0)?
            }
            None if self.eat(Punct::LParen) => {
                let inner = self.nested(|p| p.lvalue(None))?;
                self.expect(Punct::RParen)?;
                inner
            }
            None if self.at_type() => {
                let ty = self.type_ref()?;
                self.after_type(ty)?
            }
            None if self.is_name(0) || self.at(Punct::Dot) => self.path_expr()?,
            None => return self.unexpected("a statement"),
        };
        let start = base.at.span;
        loop {
            base = match self.kind() {
                TokenKind::Punct(Punct::Dot) => {
                    self.bump();
                    let member = self.name()?;
                    let below = self.height(base.at);
                    self.expr_node(
                        start,
                        ExprKind::Member {
                            base: Box::new(base),
                            member,
                        },
                        below,
                    )?
                }
                TokenKind::Punct(Punct::LBracket) => self.index(base)?,
                _ => return Ok(base),
            };
        }
    }

    /// `if`, with its chain of `else if` read in a loop: generated programs have long ones.
    fn if_stmt(&mut self) -> Parse<StmtKind> {
        let mut arms = Vec::new();
        let mut last = None;
        loop {
            let start = self.expect_kw(Keyword::If)?;
            self.expect(Punct::LParen)?;
            let condition = self.with_gt(true, Self::expr)?;
            self.expect(Punct::RParen)?;
            let then = self.nested(Self::stmt_no_decl)?;
            arms.push((start, condition, then));
            if arms.len() as u64 > u64::from(MAX_HEIGHT) {
                let message = format!("more than {MAX_HEIGHT} times `else if`");
                self.diags.push(Diagnostic::error("limit", start, message));
                return Err(super::Failed);
            }
            if !self.eat_kw(Keyword::Else) {
                break;
            }
            if !self.at_kw(Keyword::If) {
                last = Some(self.nested(Self::stmt_no_decl)?);
                break;
            }
        }
        let mut rest = last.map(Box::new);
        while let Some((start, condition, then)) = arms.pop() {
            let kind = StmtKind::If {
                condition,
                then: Box::new(then),
                otherwise: rest,
            };
            if arms.is_empty() {
                return Ok(kind);
            }
            rest = Some(Box::new(Stmt {
                at: self.node(start),
                kind,
            }));
        }
        Err(super::Failed)
    }

    /// A statement where no declaration may stand: the branch of an `if`, the body of a loop.
    fn stmt_no_decl(&mut self) -> Parse<Stmt> {
        let s = self.stmt()?;
        if let StmtKind::Decl(_) = s.kind {
            self.diags.push(
                Diagnostic::error("syntax", s.at.span, "a declaration cannot stand alone here")
                    .with_help("put it in a block: `{ ... }`"),
            );
        }
        Ok(s)
    }

    fn switch(&mut self) -> Parse<StmtKind> {
        self.expect_kw(Keyword::Switch)?;
        self.expect(Punct::LParen)?;
        let subject = self.with_gt(true, Self::expr)?;
        self.expect(Punct::RParen)?;
        let cases = self.braced(Self::switch_case)?;
        Ok(StmtKind::Switch { subject, cases })
    }

    fn switch_case(&mut self) -> Parse<SwitchCase> {
        let start = self.span();
        let label = if self.eat_kw(Keyword::Default) {
            None
        } else if self.at(Punct::LBrace) {
            return self.unexpected("a label or `default`");
        } else {
            Some(self.expr()?)
        };
        self.expect(Punct::Colon)?;
        let body = match self.kind() {
            TokenKind::Punct(Punct::LBrace | Punct::At) => Some(self.block()?),
            _ => None,
        };
        Ok(SwitchCase {
            at: self.node(start),
            label,
            body,
        })
    }

    fn for_stmt(&mut self, annotations: Vec<Annotation>) -> Parse<StmtKind> {
        let depth = self.scopes.depth();
        self.scopes.push();
        let r = self.for_rest(annotations);
        self.close_scopes(depth, r)
    }

    fn for_rest(&mut self, annotations: Vec<Annotation>) -> Parse<StmtKind> {
        self.expect_kw(Keyword::For)?;
        self.expect(Punct::LParen)?;
        let mut init = Vec::new();
        if !self.at(Punct::Semicolon) {
            init.push(self.for_init()?);
            if let Some(variable) = self.for_in_variable(&mut init)? {
                let first = self.with_gt(true, Self::expr)?;
                let collection = if self.at(Punct::Range) {
                    self.keyset_from(first)?
                } else {
                    first
                };
                self.expect(Punct::RParen)?;
                let body = Box::new(self.nested(Self::stmt_no_decl)?);
                return Ok(StmtKind::ForIn {
                    annotations,
                    variable,
                    collection,
                    body,
                });
            }
            while self.eat(Punct::Comma) {
                init.push(self.for_init()?);
            }
        }
        self.expect(Punct::Semicolon)?;
        let condition = self.with_gt(true, Self::expr)?;
        self.expect(Punct::Semicolon)?;
        let mut update = Vec::new();
        if !self.at(Punct::RParen) {
            update.push(self.for_update()?);
            while self.eat(Punct::Comma) {
                update.push(self.for_update()?);
            }
        }
        self.expect(Punct::RParen)?;
        let body = Box::new(self.nested(Self::stmt_no_decl)?);
        Ok(StmtKind::For {
            annotations,
            init,
            condition,
            update,
            body,
        })
    }

    /// If `in` follows a single declaration without initialiser: that declaration.
    fn for_in_variable(&mut self, init: &mut Vec<Stmt>) -> Parse<Option<Box<Decl>>> {
        if !self.at_kw(Keyword::In) {
            return Ok(None);
        }
        match init.pop().map(|s| s.kind) {
            Some(StmtKind::Decl(d)) if matches!(&d.kind, DeclKind::Variable(v) if v.init.is_none()) =>
            {
                self.bump();
                Ok(Some(d))
            }
            _ => self.unexpected("`;` or `,`"),
        }
    }

    fn for_init(&mut self) -> Parse<Stmt> {
        let start = self.span();
        let annotations = self.annotations()?;
        let kind = if self.at_local_decl() {
            let ty = self.type_ref()?;
            if self.at(Punct::Dot) {
                let first = self.after_type(ty)?;
                self.assignment_or_call(Some(first), false)?
            } else {
                StmtKind::Decl(Box::new(self.variable(start, annotations, ty)?))
            }
        } else {
            self.no_annotations(&annotations, "this statement");
            self.assignment_or_call(None, false)?
        };
        Ok(Stmt {
            at: self.node(start),
            kind,
        })
    }

    fn for_update(&mut self) -> Parse<Stmt> {
        let start = self.span();
        let kind = self.assignment_or_call(None, false)?;
        Ok(Stmt {
            at: self.node(start),
            kind,
        })
    }
}

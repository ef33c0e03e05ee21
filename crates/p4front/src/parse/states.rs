//! Parsers: local declarations, states, transitions.

use super::{Failed, Parse, Parser};
use crate::ast::{
    Annotation, Callable, Decl, DeclKind, Ident, Parser as ParserDecl, SelectCase, State, Stmt,
    StmtKind, Transition, TransitionKind, ValueSet,
};
use crate::diag::Diagnostic;
use crate::lex::{Keyword, Punct, TokenKind};
use crate::source::Span;

impl Parser<'_> {
    /// What follows the parameters of a parser that is more than a type.
    pub(super) fn parser_body(&mut self, signature: Callable) -> Parse<DeclKind> {
        let constructor_params = self.constructor_params()?;
        let open = self.expect(Punct::LBrace)?;
        let (mut locals, mut states) = (Vec::new(), Vec::new());
        while !self.at(Punct::RBrace) {
            if self.at_end() || self.at_top_level_word() {
                let _ = self.unclosed::<()>(open);
                break;
            }
            if self.at_state() {
                self.local(&mut states, Self::state)?;
            } else if states.is_empty() {
                self.local(&mut locals, Self::parser_local)?;
            } else {
                let mut late: Vec<Decl> = Vec::new();
                let at = self.span();
                self.local(&mut late, Self::parser_local)?;
                if !late.is_empty() {
                    self.error(at, "declarations of a parser stand before its first state");
                    locals.append(&mut late);
                }
            }
        }
        if states.is_empty() && self.failed_at.is_none() {
            let text = format!("parser `{}` has no state", signature.name);
            let at = self.span();
            self.diags.push(
                Diagnostic::error("syntax", at, text)
                    .with_help("write at least `state start { ... }`"),
            );
        }
        self.eat(Punct::RBrace);
        Ok(DeclKind::Parser(ParserDecl {
            signature,
            constructor_params,
            locals,
            states,
        }))
    }

    /// True if `state`, possibly annotated, stands here.
    fn at_state(&self) -> bool {
        let mut n = 0;
        while self.nth_is(n, Punct::At) {
            n += 2;
            if !self.nth_is(n, Punct::LParen) && !self.nth_is(n, Punct::LBracket) {
                continue;
            }
            let mut open = 0usize;
            loop {
                match self.nth(n).kind {
                    TokenKind::Punct(Punct::LParen | Punct::LBracket) => open += 1,
                    TokenKind::Punct(Punct::RParen | Punct::RBracket) => open -= 1,
                    TokenKind::End => return false,
                    _ => {}
                }
                n += 1;
                if open == 0 {
                    break;
                }
            }
        }
        self.nth(n).kind == TokenKind::Keyword(Keyword::State)
    }

    fn parser_local(&mut self) -> Parse<Decl> {
        let start = self.span();
        let annotations = self.annotations()?;
        match self.kind() {
            TokenKind::Keyword(Keyword::Const) => self.constant(start, annotations),
            TokenKind::Keyword(Keyword::ValueSet) => self.value_set(start, annotations),
            _ if self.at_local_decl() => self.local_object(start, annotations),
            _ => self.undeclared_or("a declaration or `state`"),
        }
    }

    fn value_set(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        self.expect_kw(Keyword::ValueSet)?;
        self.expect(Punct::Lt)?;
        let element = self.type_ref()?;
        self.expect(Punct::Gt)?;
        self.expect(Punct::LParen)?;
        let size = self.expr()?;
        self.expect(Punct::RParen)?;
        let name = self.name()?;
        self.semicolon()?;
        self.scopes.declare_object(&name.name);
        let kind = DeclKind::ValueSet(ValueSet {
            element,
            size,
            name,
        });
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    fn state(&mut self) -> Parse<State> {
        let start = self.span();
        let annotations = self.annotations()?;
        self.expect_kw(Keyword::State)?;
        let name = self.name()?;
        let depth = self.scopes.depth();
        self.scopes.push();
        let r = self.state_body();
        let (body, transition) = self.close_scopes(depth, r)?;
        Ok(State {
            at: self.node(start),
            annotations,
            name,
            body,
            transition,
        })
    }

    fn state_body(&mut self) -> Parse<(Vec<Stmt>, Option<Transition>)> {
        let open = self.expect(Punct::LBrace)?;
        let mut body = Vec::new();
        let mut transition = None;
        while !self.at(Punct::RBrace) {
            if self.at_end() || self.at_state() || self.at_top_level_word() {
                let _ = self.unclosed::<()>(open);
                return Ok((body, transition));
            }
            if self.at_kw(Keyword::Transition) {
                let mut found = Vec::new();
                self.local(&mut found, Self::transition)?;
                transition = found.pop();
                if !self.at(Punct::RBrace) {
                    let _ = self.unexpected::<()>("`}` behind the transition");
                }
                while !(self.at(Punct::RBrace) || self.at_end() || self.at_state()) {
                    self.recover(self.pos);
                }
                self.eat(Punct::RBrace);
                return Ok((body, transition));
            }
            self.local(&mut body, Self::parser_stmt)?;
        }
        self.bump();
        Ok((body, transition))
    }

    /// A statement directly in a parser state; some kinds cannot stand there.
    fn parser_stmt(&mut self) -> Parse<Stmt> {
        let start = self.span();
        if self.at(Punct::LBrace) || self.at(Punct::At) {
            let annotations = self.annotations()?;
            if self.at(Punct::LBrace) {
                let block = self.block_after(start, annotations, Self::parser_stmt)?;
                return Ok(Stmt {
                    at: self.node(start),
                    kind: StmtKind::Block(block),
                });
            }
            let kind = match self.kind() {
                TokenKind::Keyword(Keyword::Const) => self.constant(start, annotations)?,
                _ if self.at_local_decl() => self.local_object(start, annotations)?,
                _ => return self.unexpected("a declaration or a block"),
            };
            return Ok(Stmt {
                at: self.node(start),
                kind: StmtKind::Decl(Box::new(kind)),
            });
        }
        let s = self.stmt()?;
        let what = match &s.kind {
            StmtKind::Switch { .. } => "`switch`",
            StmtKind::For { .. } | StmtKind::ForIn { .. } => "`for`",
            StmtKind::Return(_) => "`return`",
            StmtKind::Exit => "`exit`",
            StmtKind::Break => "`break`",
            StmtKind::Continue => "`continue`",
            StmtKind::Decl(d) if matches!(d.kind, DeclKind::Instance(_)) => "an instantiation",
            _ => return Ok(s),
        };
        self.error(s.at.span, format!("{what} cannot stand in a parser state"));
        Ok(s)
    }

    fn transition(&mut self) -> Parse<Transition> {
        let start = self.expect_kw(Keyword::Transition)?;
        if !self.eat_kw(Keyword::Select) {
            let name = self.name()?;
            if matches!(self.kind(), TokenKind::Punct(Punct::LParen)) {
                return self.misspelt_select(&name);
            }
            self.semicolon()?;
            return Ok(Transition {
                at: self.node(start),
                kind: TransitionKind::Direct(name),
            });
        }
        self.expect(Punct::LParen)?;
        let keys = self.with_gt(true, |p| p.strict_expressions(Punct::RParen))?;
        let cases = self.braced(Self::select_case)?;
        Ok(Transition {
            at: self.node(start),
            kind: TransitionKind::Select { keys, cases },
        })
    }

    /// `transition selct(...)`.
    fn misspelt_select<T>(&mut self, name: &Ident) -> Parse<T> {
        let text = format!("`{name}(` begins no transition");
        self.failed_at = Some(self.pos);
        self.diags.push(
            Diagnostic::error("syntax", name.span, text)
                .with_help("write `transition NAME;` or `transition select(...) { ... }`"),
        );
        Err(Failed)
    }

    fn select_case(&mut self) -> Parse<SelectCase> {
        let start = self.span();
        let keyset = self.keyset()?;
        self.expect(Punct::Colon)?;
        let next = self.name()?;
        self.semicolon()?;
        Ok(SelectCase {
            at: self.node(start),
            keyset,
            next,
        })
    }

    /// Expressions up to and including `close`, no comma before it.
    fn strict_expressions(&mut self, close: Punct) -> Parse<Vec<crate::ast::Expr>> {
        let mut out = Vec::new();
        if self.eat(close) {
            return Ok(out);
        }
        loop {
            out.push(self.expr()?);
            if self.eat(close) {
                return Ok(out);
            }
            if !self.eat(Punct::Comma) {
                return self.unexpected(&format!("`,` or `{}`", close.text()));
            }
        }
    }
}

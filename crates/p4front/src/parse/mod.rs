//! The parser: tokens to syntax tree, by recursive descent.
//!
//! The grammar is p4c's (P4_16 1.2.5). It depends on which names are types, so the parser keeps
//! [`scope::Scopes`] while it reads. Where the language leaves a choice open:
//!
//! * chained conditional expressions group to the left, `(a ? b : c) ? d : e`, as the grammar's
//!   precedences say;
//! * `<` behind an expression opens type arguments if a type follows that is itself followed by
//!   `>` or `,`; otherwise it compares;
//! * actions and tables hide types of the same name (p4c's parser forgets to).
//!
//! An error is reported where it is found, the parser goes to the end of the declaration,
//! statement, field, property or case it is in, and reads on. Nesting is bounded by
//! [`MAX_NESTING`], the height of expressions by [`MAX_HEIGHT`]; so is the recursion of whatever
//! walks the tree.

use crate::ast::{At, Expr, ExprKind, Ident, NamedExpr, NodeId, Program, Symbol, Type, TypeKind};
use crate::diag::{Diagnostic, Diagnostics};
use crate::lex::{Keyword, Punct, Token, TokenKind};
use crate::source::Span;

pub(crate) mod annotation;
mod decl;
mod expr;
mod func;
mod keyset;
mod scope;
mod states;
mod stmt;
mod table;
mod types;

use scope::Scopes;

/// Deepest nesting of brackets, blocks and declarations.
pub const MAX_NESTING: usize = 200;
/// Bytes of the longest name.
pub const MAX_NAME: usize = 1024;
/// Greatest height of an expression or type, and longest chain of `else if`.
pub const MAX_HEIGHT: u32 = 500;

/// A construct could not be read; why has been reported.
#[derive(Debug)]
struct Failed;

type Parse<T> = Result<T, Failed>;

/// Reads a whole program.
pub fn parse_tokens(tokens: Vec<Token>, diags: &mut Diagnostics) -> Program {
    parse_and_keep(tokens, diags).0
}

/// Reads a whole program, and gives its tokens back.
pub(crate) fn parse_and_keep(tokens: Vec<Token>, diags: &mut Diagnostics) -> (Program, Vec<Token>) {
    let mut p = Parser::new(tokens, diags);
    let decls = p.top_level();
    let program = Program {
        decls,
        node_count: u32::try_from(p.heights.len()).unwrap_or(u32::MAX),
    };
    (program, p.tokens)
}

/// Reads `expression . name` and nothing else, where `types` are the names of types: the
/// expression, which may be the name of a type.
pub(crate) fn parse_base<'n>(
    tokens: Vec<Token>,
    types: impl Iterator<Item = &'n Symbol>,
) -> Option<Expr> {
    let mut diags = Diagnostics::new();
    let mut p = Parser::new(tokens, &mut diags);
    for name in types {
        p.scopes.declare_type(name);
    }
    let whole = p.expr().ok()?;
    match whole.kind {
        ExprKind::Member { base, .. } if p.at_end() => Some(*base),
        _ => None,
    }
}

/// Reads a list of expressions, `a, b, c`, and nothing else: the body of an annotation. Names are
/// taken for values, whatever they are.
pub(crate) fn parse_expression_list(
    tokens: Vec<Token>,
    diags: &mut Diagnostics,
) -> Option<Vec<Expr>> {
    let mut p = Parser::new(tokens, diags);
    let list = p.expressions_up_to(|p| p.at_end()).ok()?;
    if p.at_end() {
        return Some(list);
    }
    let _ = p.unexpected::<()>("`,`");
    None
}

/// Reads `name = value, ...`, at least one, and nothing else: the body of an annotation.
pub(crate) fn parse_key_values(
    tokens: Vec<Token>,
    diags: &mut Diagnostics,
) -> Option<Vec<NamedExpr>> {
    let mut p = Parser::new(tokens, diags);
    let mut pairs = vec![p.named_expr().ok()?];
    while p.eat(Punct::Comma) {
        pairs.push(p.named_expr().ok()?);
    }
    if p.at_end() {
        return Some(pairs);
    }
    let _ = p.unexpected::<()>("`,`");
    None
}

struct Parser<'a> {
    /// Ends with an [`TokenKind::End`], which is never passed.
    tokens: Vec<Token>,
    pos: usize,
    diags: &'a mut Diagnostics,
    scopes: Scopes,
    /// Height of each node that has one, by [`NodeId`].
    heights: Vec<u32>,
    depth: usize,
    /// `>` closes type arguments here and does not compare.
    no_gt: bool,
    /// Position of the last syntax error, to report each place once.
    failed_at: Option<usize>,
}

impl<'a> Parser<'a> {
    fn new(mut tokens: Vec<Token>, diags: &'a mut Diagnostics) -> Self {
        if tokens.last().is_none_or(|t| t.kind != TokenKind::End) {
            let span = tokens.last().map_or(Span::default(), |t| t.span.after());
            let (kind, text) = (TokenKind::End, "".into());
            tokens.push(Token {
                kind,
                text,
                span,
                bol: true,
                joint: false,
            });
        }
        Self {
            tokens,
            pos: 0,
            diags,
            scopes: Scopes::new(),
            heights: Vec::new(),
            depth: 0,
            no_gt: false,
            failed_at: None,
        }
    }

    // ---- tokens ----

    /// The token `n` places ahead; the end token beyond the end.
    fn nth(&self, n: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.pos + n).min(last)]
    }

    fn kind(&self) -> TokenKind {
        self.nth(0).kind
    }

    fn span(&self) -> Span {
        self.nth(0).span
    }

    /// Place of the token before the current one.
    fn previous(&self) -> Span {
        let i = self.pos.saturating_sub(1);
        self.tokens.get(i).map_or(Span::default(), |t| t.span)
    }

    fn bump(&mut self) -> Token {
        let t = self.nth(0).clone();
        if t.kind != TokenKind::End {
            self.pos += 1;
        }
        t
    }

    fn at_end(&self) -> bool {
        self.kind() == TokenKind::End
    }

    fn at(&self, p: Punct) -> bool {
        self.nth_is(0, p)
    }

    fn nth_is(&self, n: usize, p: Punct) -> bool {
        self.nth(n).kind == TokenKind::Punct(p)
    }

    fn at_kw(&self, k: Keyword) -> bool {
        self.kind() == TokenKind::Keyword(k)
    }

    fn eat(&mut self, p: Punct) -> bool {
        let hit = self.at(p);
        if hit {
            self.bump();
        }
        hit
    }

    fn eat_kw(&mut self, k: Keyword) -> bool {
        let hit = self.at_kw(k);
        if hit {
            self.bump();
        }
        hit
    }

    // ---- errors ----

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diags.push(Diagnostic::error("syntax", span, message));
    }

    /// Reports that `wanted` does not stand here.
    fn unexpected<T>(&mut self, wanted: &str) -> Parse<T> {
        if self.failed_at != Some(self.pos) {
            self.failed_at = Some(self.pos);
            let t = self.nth(0);
            let message = format!("expected {wanted}, found {t}");
            let mut d = Diagnostic::error("syntax", t.span, message);
            if let TokenKind::Keyword(k) = t.kind
                && wanted.contains("name")
            {
                d = d.with_help(format!(
                    "`{}` is a reserved word; choose another name",
                    k.text()
                ));
            }
            self.diags.push(d);
        }
        Err(Failed)
    }

    /// As [`Self::unexpected`]; a name before a name is most likely meant as a type.
    fn undeclared_or<T>(&mut self, wanted: &str) -> Parse<T> {
        let named = |n| self.nth(n).kind == TokenKind::Ident;
        if !(named(0) && named(1)) || self.failed_at == Some(self.pos) {
            return self.unexpected(wanted);
        }
        self.failed_at = Some(self.pos);
        let t = self.nth(0);
        let message = format!("`{}` is not a type declared above", t.text);
        let d = Diagnostic::error("syntax", t.span, message);
        self.diags
            .push(d.with_help("types, controls and parsers are declared before they are used"));
        Err(Failed)
    }

    /// Reports that the bracket at `open` is never closed.
    fn unclosed<T>(&mut self, open: Span) -> Parse<T> {
        if self.failed_at != Some(self.pos) {
            self.failed_at = Some(self.pos);
            self.diags.push(Diagnostic::error(
                "syntax",
                open,
                "this bracket is never closed",
            ));
        }
        Err(Failed)
    }

    fn expect(&mut self, p: Punct) -> Parse<Span> {
        if self.at(p) {
            return Ok(self.bump().span);
        }
        self.unexpected(&format!("`{}`", p.text()))
    }

    fn expect_kw(&mut self, k: Keyword) -> Parse<Span> {
        if self.at_kw(k) {
            return Ok(self.bump().span);
        }
        self.unexpected(&format!("`{}`", k.text()))
    }

    /// `;`. If it is forgotten at the end of a line, says so and goes on.
    fn semicolon(&mut self) -> Parse<()> {
        if self.eat(Punct::Semicolon) {
            return Ok(());
        }
        if (self.nth(0).bol || self.at(Punct::RBrace)) && self.failed_at != Some(self.pos) {
            self.failed_at = Some(self.pos);
            let at = self.previous().after();
            self.diags.push(
                Diagnostic::error("syntax", at, "expected `;`")
                    .with_help("write `;` at the end of this line"),
            );
            return Ok(());
        }
        self.unexpected("`;`")
    }

    /// Goes on after a failed item that began at token `from`: behind its `;` or its closing
    /// brace, or before the brace that closes what it is in.
    fn recover(&mut self, from: usize) {
        let passed = self.tokens.get(from..self.pos).unwrap_or(&[]);
        let mut open = 0usize;
        for t in passed {
            match t.kind {
                TokenKind::Punct(Punct::LBrace) => open += 1,
                TokenKind::Punct(Punct::RBrace) => open = open.saturating_sub(1),
                _ => {}
            }
        }
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Punct(Punct::Semicolon) if open == 0 => {
                    self.bump();
                    return;
                }
                TokenKind::Punct(Punct::LBrace) => open += 1,
                TokenKind::Punct(Punct::RBrace) if open == 0 => {
                    if self.pos == from && self.depth == 0 {
                        self.bump();
                    }
                    return;
                }
                TokenKind::Punct(Punct::RBrace) => {
                    open -= 1;
                    if open == 0 {
                        self.bump();
                        self.eat(Punct::Semicolon);
                        return;
                    }
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Reads items up to a closing brace, which is passed; a failed item is reported and left out.
    fn braced<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let open = self.expect(Punct::LBrace)?;
        let mut out = Vec::new();
        while !self.at(Punct::RBrace) {
            if self.at_end() || self.at_top_level_word() {
                // What was read is kept: whoever edits the program still has its names.
                let _ = self.unclosed::<()>(open);
                return Ok(out);
            }
            if self.diags.is_full() {
                return Err(Failed);
            }
            let from = self.pos;
            match self.nested(&mut item) {
                Ok(x) => out.push(x),
                Err(Failed) => self.recover(from),
            }
        }
        self.bump();
        Ok(out)
    }

    /// Whether a line begins with a word that only begins declarations of the top level: a bracket
    /// before it was never closed.
    fn at_top_level_word(&self) -> bool {
        use Keyword as K;
        let begins = matches!(
            self.kind(),
            TokenKind::Keyword(
                K::Control
                    | K::Parser
                    | K::Header
                    | K::HeaderUnion
                    | K::Struct
                    | K::Typedef
                    | K::Package
                    | K::Extern
            )
        );
        begins && self.nth(0).bol && self.nth(1).kind == TokenKind::Ident
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_NESTING {
            if self.failed_at != Some(self.pos) {
                self.failed_at = Some(self.pos);
                let message = format!("this is nested more than {MAX_NESTING} levels deep");
                self.diags
                    .push(Diagnostic::error("limit", self.span(), message));
            }
            return Err(Failed);
        }
        self.depth += 1;
        let r = f(self);
        self.depth -= 1;
        r
    }

    /// Runs `f` where `>` compares (`false`: where it closes type arguments).
    fn with_gt<T>(&mut self, gt: bool, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let before = std::mem::replace(&mut self.no_gt, !gt);
        let r = f(self);
        self.no_gt = before;
        r
    }

    // ---- nodes ----

    /// A new node that ends with the last token read.
    fn node(&mut self, start: Span) -> At {
        self.tall_node(start, 0)
    }

    fn tall_node(&mut self, start: Span, height: u32) -> At {
        let id = NodeId(u32::try_from(self.heights.len()).unwrap_or(u32::MAX));
        self.heights.push(height);
        let end = self.previous();
        // Nothing read since `start` was the current token: the place is empty.
        let span = if end < start {
            Span::new(start.file, start.start, start.start)
        } else {
            start.to(end)
        };
        At { id, span }
    }

    fn height(&self, at: At) -> u32 {
        self.heights.get(at.id.0 as usize).copied().unwrap_or(0)
    }

    /// A new expression; `below` is the greatest height among its parts.
    fn expr_node(&mut self, start: Span, kind: ExprKind, below: u32) -> Parse<Expr> {
        self.check_height(start, below)?;
        Ok(Expr {
            at: self.tall_node(start, below + 1),
            kind,
        })
    }

    /// A new type; `below` is the greatest height among its parts.
    fn type_node(&mut self, start: Span, kind: TypeKind, below: u32) -> Parse<Type> {
        self.check_height(start, below)?;
        Ok(Type {
            at: self.tall_node(start, below + 1),
            kind,
        })
    }

    fn check_height(&mut self, start: Span, below: u32) -> Parse<()> {
        if below < MAX_HEIGHT {
            return Ok(());
        }
        if self.failed_at != Some(self.pos) {
            self.failed_at = Some(self.pos);
            let message =
                format!("this has more than {MAX_HEIGHT} parts that depend on each other");
            self.diags.push(
                Diagnostic::error("limit", start, message).with_help("split it with a variable"),
            );
        }
        Err(Failed)
    }

    // ---- names ----

    /// True if token `n` ahead may be a declared name: an identifier or one of the words that are
    /// reserved only where the grammar uses them.
    fn is_name(&self, n: usize) -> bool {
        use Keyword as K;
        match self.nth(n).kind {
            TokenKind::Ident => true,
            TokenKind::Keyword(k) => matches!(
                k,
                K::Actions
                    | K::Apply
                    | K::Entries
                    | K::Key
                    | K::List
                    | K::Priority
                    | K::State
                    | K::Type
            ),
            _ => false,
        }
    }

    fn name(&mut self) -> Parse<Ident> {
        if !self.is_name(0) {
            return self.unexpected("a name");
        }
        let t = self.bump();
        if t.text.len() > MAX_NAME {
            let message = format!("a name may have at most {MAX_NAME} bytes");
            self.diags.push(Diagnostic::error("limit", t.span, message));
            return Err(Failed);
        }
        Ok(Ident {
            name: t.text,
            span: t.span,
        })
    }
}

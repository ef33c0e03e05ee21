//! Expressions and arguments.

use super::{Parse, Parser};
use crate::ast::{
    Arg, BinaryOp, Expr, ExprKind, IntLiteral, NamedExpr, Path, Type, TypeKind, UnaryOp,
};
use crate::diag::Diagnostic;
use crate::lex::{Keyword, Punct, TokenKind, number, unescape};
use crate::source::Span;

/// How far ahead is looked for the end of type arguments.
const MAX_LOOKAHEAD: usize = 256;

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(|p| {
            let first = p.unary()?;
            p.expr_from(first)
        })
    }

    /// The rest of an expression that begins with the operand `first`.
    pub(super) fn expr_from(&mut self, first: Expr) -> Parse<Expr> {
        let start = first.at.span;
        let mut left = self.binary_from(first, 1)?;
        while self.eat(Punct::Question) {
            let then = self.with_gt(true, Self::expr)?;
            self.expect(Punct::Colon)?;
            let otherwise = self.binary(1)?;
            let below = self.tallest(&[&left, &then, &otherwise]);
            let kind = ExprKind::Ternary {
                condition: Box::new(left),
                then: Box::new(then),
                otherwise: Box::new(otherwise),
            };
            left = self.expr_node(start, kind, below)?;
        }
        Ok(left)
    }

    fn tallest(&self, parts: &[&Expr]) -> u32 {
        parts.iter().map(|e| self.height(e.at)).max().unwrap_or(0)
    }

    fn binary(&mut self, min: u8) -> Parse<Expr> {
        let first = self.unary()?;
        self.binary_from(first, min)
    }

    /// Binary operators of at least precedence `min` behind `left`.
    fn binary_from(&mut self, mut left: Expr, min: u8) -> Parse<Expr> {
        let start = left.at.span;
        while let Some((op, width)) = self.binary_op().filter(|(op, _)| op.precedence() >= min) {
            self.pos += width;
            let right = self.binary(op.precedence() + 1)?;
            let below = self.tallest(&[&left, &right]);
            let kind = ExprKind::Binary {
                op,
                left: Box::new(left),
                right: Box::new(right),
            };
            left = self.expr_node(start, kind, below)?;
        }
        Ok(left)
    }

    /// The binary operator here and the number of its tokens.
    fn binary_op(&self) -> Option<(BinaryOp, usize)> {
        use BinaryOp as B;
        let TokenKind::Punct(p) = self.kind() else {
            return None;
        };
        let op = match p {
            Punct::Gt if self.no_gt => return None,
            Punct::Gt if self.nth(0).joint && self.nth_is(1, Punct::Gt) => {
                return Some((B::Shr, 2));
            }
            Punct::Star => B::Mul,
            Punct::Slash => B::Div,
            Punct::Percent => B::Mod,
            Punct::Plus => B::Add,
            Punct::Minus => B::Sub,
            Punct::PlusSat => B::AddSat,
            Punct::MinusSat => B::SubSat,
            Punct::PlusPlus => B::Concat,
            Punct::Shl => B::Shl,
            Punct::And => B::BitAnd,
            Punct::Caret => B::BitXor,
            Punct::Or => B::BitOr,
            Punct::Lt => B::Lt,
            Punct::Le => B::Le,
            Punct::Gt => B::Gt,
            Punct::Ge => B::Ge,
            Punct::EqEq => B::Eq,
            Punct::Ne => B::Ne,
            Punct::AndAnd => B::And,
            Punct::OrOr => B::Or,
            _ => return None,
        };
        Some((op, 1))
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        let op = match self.kind() {
            TokenKind::Punct(Punct::Not) => UnaryOp::Not,
            TokenKind::Punct(Punct::Tilde) => UnaryOp::Complement,
            TokenKind::Punct(Punct::Minus) => UnaryOp::Negate,
            TokenKind::Punct(Punct::Plus) => UnaryOp::Plus,
            TokenKind::Punct(Punct::LParen) => return self.parenthesized(),
            _ => {
                let first = self.primary()?;
                return self.postfix(first);
            }
        };
        self.bump();
        let operand = self.nested(Self::unary)?;
        let below = self.height(operand.at);
        self.expr_node(
            start,
            ExprKind::Unary {
                op,
                operand: Box::new(operand),
            },
            below,
        )
    }

    /// `(T) operand`, or `(expression)` with what follows it.
    fn parenthesized(&mut self) -> Parse<Expr> {
        let start = self.expect(Punct::LParen)?;
        if let Some(ty) = self.cast_or_type()? {
            match ty {
                CastOrOperand::Type(ty) if self.eat(Punct::RParen) => return self.cast(start, ty),
                CastOrOperand::Type(_) => return self.unexpected("`)`"),
                CastOrOperand::Operand(first) => {
                    let inner = self.with_gt(true, |p| p.nested(|p| p.expr_from(first)))?;
                    return self.close_paren(inner);
                }
            }
        }
        let inner = self.with_gt(true, Self::expr)?;
        self.close_paren(inner)
    }

    /// `)` behind `inner`, and what follows it.
    pub(super) fn close_paren(&mut self, inner: Expr) -> Parse<Expr> {
        self.expect(Punct::RParen)?;
        self.postfix(inner)
    }

    /// `operand` of a cast whose `(T)` has been read.
    pub(super) fn cast(&mut self, start: Span, ty: Type) -> Parse<Expr> {
        let operand = self.nested(Self::unary)?;
        let below = self.height(operand.at).max(self.height(ty.at));
        self.expr_node(
            start,
            ExprKind::Cast {
                ty,
                operand: Box::new(operand),
            },
            below,
        )
    }

    /// Behind `(`: a type before `)`, or an operand that begins with a type; none if no type
    /// begins here.
    pub(super) fn cast_or_type(&mut self) -> Parse<Option<CastOrOperand>> {
        if !self.at_type() || (self.at_kw(Keyword::Error) && self.nth_is(1, Punct::Dot)) {
            return Ok(None);
        }
        let ty = self.with_gt(true, Self::type_ref)?;
        if !self.at(Punct::Dot) && !self.at(Punct::LParen) {
            return Ok(Some(CastOrOperand::Type(ty)));
        }
        let first = self.after_type(ty)?;
        Ok(Some(CastOrOperand::Operand(
            self.with_gt(true, |p| p.postfix(first))?,
        )))
    }

    /// `T.member` or `T(args)`, `T` having been read.
    pub(super) fn after_type(&mut self, ty: Type) -> Parse<Expr> {
        let start = ty.at.span;
        let below = self.height(ty.at);
        if !matches!(
            ty.kind,
            TypeKind::Name(_) | TypeKind::Specialized { .. } | TypeKind::Error
        ) {
            return self.unexpected("a name");
        }
        if self.at(Punct::LParen) && ty.kind != TypeKind::Error {
            let args = self.args()?;
            let below = below.max(self.args_height(&args));
            return self.expr_node(start, ExprKind::Construct { ty, args }, below);
        }
        if !self.eat(Punct::Dot) {
            return self.unexpected("`.` or `(` behind the name of a type");
        }
        let base = self.expr_node(start, ExprKind::TypeName(Box::new(ty)), below)?;
        let member = self.name()?;
        self.expr_node(
            start,
            ExprKind::Member {
                base: Box::new(base),
                member,
            },
            below + 1,
        )
    }

    fn primary(&mut self) -> Parse<Expr> {
        use Keyword as K;
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Int => ExprKind::Int(self.integer()),
            TokenKind::String => ExprKind::String(unescape(&self.bump().text).into()),
            TokenKind::Keyword(K::True | K::False) => ExprKind::Bool(self.bump().text.len() == 4),
            TokenKind::Keyword(K::This) => self.skip(ExprKind::This),
            TokenKind::Punct(Punct::Dots) => self.skip(ExprKind::Dots),
            TokenKind::Punct(Punct::Invalid) => self.skip(ExprKind::Invalid),
            TokenKind::Punct(Punct::LBrace) => return self.with_gt(true, Self::braces),
            _ if self.at_type() => {
                let ty = self.type_ref()?;
                return self.after_type(ty);
            }
            _ => return self.path_expr(),
        };
        self.expr_node(start, kind, 0)
    }

    fn skip(&mut self, kind: ExprKind) -> ExprKind {
        self.bump();
        kind
    }

    /// A name of no type.
    pub(super) fn path_expr(&mut self) -> Parse<Expr> {
        let start = self.span();
        let absolute = self.at(Punct::Dot);
        let n = usize::from(absolute);
        // `list` can be declared, but not be referred to.
        if !self.is_name(n) || self.nth(n).kind == TokenKind::Keyword(Keyword::List) {
            return self.unexpected("an expression");
        }
        if absolute {
            self.bump();
        }
        let name = self.name()?;
        self.expr_node(start, ExprKind::Path(Path { absolute, name }), 0)
    }

    /// An integer literal; a malformed one is reported and counts as 0.
    pub(super) fn integer(&mut self) -> IntLiteral {
        let t = self.bump();
        number::parse(&t.text).unwrap_or_else(|e| {
            self.diags
                .push(Diagnostic::error("lexical", t.span, e.to_string()));
            IntLiteral {
                value: 0.into(),
                width: None,
                base: 10,
            }
        })
    }

    /// `{a, b}` or `{f = a, ...}`.
    fn braces(&mut self) -> Parse<Expr> {
        let start = self.expect(Punct::LBrace)?;
        if !self.is_name(0) || !self.nth_is(1, Punct::Assign) {
            let items = self.expressions_up_to(|p| p.at(Punct::RBrace))?;
            self.expect(Punct::RBrace)?;
            let below = items.iter().map(|e| self.height(e.at)).max().unwrap_or(0);
            return self.expr_node(start, ExprKind::List(items), below);
        }
        let (mut fields, mut dots) = (Vec::new(), false);
        while !self.at(Punct::RBrace) {
            if !fields.is_empty() && self.eat(Punct::Dots) {
                dots = true;
                self.eat(Punct::Comma);
                break;
            }
            fields.push(self.named_expr()?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        if !self.at(Punct::RBrace) {
            return self.unexpected("`,` or `}`");
        }
        self.bump();
        let below = fields
            .iter()
            .map(|f| self.height(f.value.at))
            .max()
            .unwrap_or(0);
        self.expr_node(start, ExprKind::Struct { fields, dots }, below)
    }

    /// `name = expression`.
    pub(super) fn named_expr(&mut self) -> Parse<NamedExpr> {
        let start = self.span();
        let name = self.name()?;
        self.expect(Punct::Assign)?;
        let value = self.expr()?;
        Ok(NamedExpr {
            at: self.node(start),
            name,
            value,
        })
    }

    /// Expressions separated by commas, a trailing one allowed, up to where `end` holds.
    pub(super) fn expressions_up_to(&mut self, end: impl Fn(&Self) -> bool) -> Parse<Vec<Expr>> {
        let mut out = Vec::new();
        while !end(self) {
            if out.is_empty() && self.eat(Punct::Comma) {
                break; // the grammar allows a lone comma
            }
            out.push(self.expr()?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        Ok(out)
    }

    /// `.member`, `[index]`, `[high:low]`, `(args)`, `<T>(args)` behind `base`.
    pub(super) fn postfix(&mut self, mut base: Expr) -> Parse<Expr> {
        let start = base.at.span;
        loop {
            let below = self.height(base.at);
            base = match self.kind() {
                TokenKind::Punct(Punct::Dot) => {
                    self.bump();
                    let member = self.name()?;
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
                TokenKind::Punct(Punct::LParen) => self.call(base, Vec::new())?,
                TokenKind::Punct(Punct::Lt) if self.at_type_args() => {
                    let type_args = self.type_args()?;
                    self.call(base, type_args)?
                }
                _ => return Ok(base),
            };
        }
    }

    /// `(args)` behind a callee.
    pub(super) fn call(&mut self, callee: Expr, type_args: Vec<Type>) -> Parse<Expr> {
        let start = callee.at.span;
        let args = self.args()?;
        let types = type_args
            .iter()
            .map(|t| self.height(t.at))
            .max()
            .unwrap_or(0);
        let below = self
            .height(callee.at)
            .max(self.args_height(&args))
            .max(types);
        let kind = ExprKind::Call {
            callee: Box::new(callee),
            type_args,
            args,
        };
        self.expr_node(start, kind, below)
    }

    /// `[index]`, `[high:low]` or `[low+:width]` behind `base`.
    pub(super) fn index(&mut self, base: Expr) -> Parse<Expr> {
        let start = base.at.span;
        self.expect(Punct::LBracket)?;
        let first = self.with_gt(true, Self::expr)?;
        let (colon, plus) = (self.at(Punct::Colon), self.at(Punct::PlusColon));
        let below = self.tallest(&[&base, &first]);
        let (base, first) = (Box::new(base), Box::new(first));
        let (kind, below) = if colon || plus {
            self.bump();
            let second = Box::new(self.with_gt(true, Self::expr)?);
            let below = below.max(self.height(second.at));
            let kind = if colon {
                ExprKind::Slice {
                    base,
                    high: first,
                    low: second,
                }
            } else {
                ExprKind::PlusSlice {
                    base,
                    low: first,
                    width: second,
                }
            };
            (kind, below)
        } else {
            (ExprKind::Index { base, index: first }, below)
        };
        if !self.eat(Punct::RBracket) {
            return self.unexpected(if colon || plus {
                "`]`"
            } else {
                "`]`, `:` or `+:`"
            });
        }
        self.expr_node(start, kind, below)
    }

    /// True if the `<` here opens type arguments: a type follows that ends before `>` or `,`.
    fn at_type_args(&self) -> bool {
        use Keyword as K;
        match self.nth(1).kind {
            TokenKind::Keyword(K::Void | K::Underscore) => true,
            TokenKind::Keyword(K::Error) => !self.nth_is(2, Punct::Dot),
            TokenKind::Keyword(_) => self.type_at(1),
            TokenKind::Ident => self.type_at(1) && self.named_type_arg(2),
            TokenKind::Punct(Punct::Dot) => self.type_at(1) && self.named_type_arg(3),
            _ => false,
        }
    }

    /// True if what follows the name of a type, `n` tokens ahead, makes it a type argument.
    fn named_type_arg(&self, n: usize) -> bool {
        let TokenKind::Punct(p) = self.nth(n).kind else {
            return false;
        };
        match p {
            Punct::Gt | Punct::Comma | Punct::LBracket => true,
            Punct::Lt => {
                let mut open = 0usize;
                for i in n..n + MAX_LOOKAHEAD {
                    match self.nth(i).kind {
                        TokenKind::Punct(Punct::Lt) => open += 1,
                        TokenKind::Punct(Punct::Gt) if open == 1 => {
                            return self.named_type_arg(i + 1);
                        }
                        TokenKind::Punct(Punct::Gt) => open -= 1,
                        TokenKind::Punct(Punct::Semicolon | Punct::LBrace | Punct::RBrace)
                        | TokenKind::End => return false,
                        _ => {}
                    }
                }
                false
            }
            _ => false,
        }
    }

    /// `(arguments)`.
    pub(super) fn args(&mut self) -> Parse<Vec<Arg>> {
        self.expect(Punct::LParen)?;
        let mut args = Vec::new();
        if self.eat(Punct::RParen) {
            return Ok(args);
        }
        loop {
            args.push(self.with_gt(true, Self::arg)?);
            if self.eat(Punct::RParen) {
                return Ok(args);
            }
            if !self.eat(Punct::Comma) {
                return self.unexpected("`,` or `)`");
            }
        }
    }

    pub(super) fn args_height(&self, args: &[Arg]) -> u32 {
        args.iter()
            .map(|a| self.height(a.value.at))
            .max()
            .unwrap_or(0)
    }

    fn arg(&mut self) -> Parse<Arg> {
        let start = self.span();
        let mut name = None;
        if self.is_name(0) && self.nth_is(1, Punct::Assign) {
            name = Some(self.name()?);
            self.bump();
        }
        let at = self.span();
        let value = if self.eat_kw(Keyword::Underscore) {
            self.expr_node(at, ExprKind::DontCare, 0)?
        } else {
            self.expr()?
        };
        Ok(Arg {
            at: self.node(start),
            name,
            value,
        })
    }
}

/// What stands behind an opening parenthesis, if it begins with a type.
pub(super) enum CastOrOperand {
    /// Only the type.
    Type(Type),
    /// An operand such as `E.a` or `T(1)`.
    Operand(Expr),
}

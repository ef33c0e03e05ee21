//! Key sets of `select` cases and table entries.

use super::expr::CastOrOperand;
use super::{Parse, Parser};
use crate::ast::{Expr, ExprKind, Keyset};
use crate::lex::{Keyword, Punct};

impl Parser<'_> {
    /// A key set. `(a, b)`, `(a &&& b)`, `(_)` are tuples; `(a)` may be the beginning of an
    /// expression, `(a) + 1`, or a cast.
    pub(super) fn keyset(&mut self) -> Parse<Keyset> {
        let start = self.span();
        if !self.at(Punct::LParen) {
            let e = self.simple_keyset()?;
            return Ok(Keyset {
                at: self.node(start),
                elements: vec![e],
                tuple: false,
            });
        }
        self.bump();
        let first = match self.cast_or_type()? {
            Some(CastOrOperand::Type(ty)) if self.eat(Punct::RParen) => {
                let first = self.cast(start, ty)?;
                return self.lone_element(start, first);
            }
            Some(CastOrOperand::Type(_)) => return self.unexpected("`)`"),
            Some(CastOrOperand::Operand(first)) => {
                let first = self.expr_from(first)?;
                self.keyset_from(first)?
            }
            None => self.simple_keyset()?,
        };
        let plain = !matches!(
            first.kind,
            ExprKind::Mask { .. } | ExprKind::Range { .. } | ExprKind::DontCare
        );
        if plain && self.at(Punct::RParen) {
            let first = self.close_paren(first)?;
            return self.lone_element(start, first);
        }
        let mut elements = vec![first];
        while self.eat(Punct::Comma) {
            elements.push(self.simple_keyset()?);
        }
        if !self.eat(Punct::RParen) {
            return self.unexpected("`,` or `)`");
        }
        Ok(Keyset {
            at: self.node(start),
            elements,
            tuple: true,
        })
    }

    /// The rest of a key set that begins with the operand `first` and is no tuple.
    fn lone_element(&mut self, start: crate::source::Span, first: Expr) -> Parse<Keyset> {
        let e = self.expr_from(first)?;
        let e = self.keyset_from(e)?;
        Ok(Keyset {
            at: self.node(start),
            elements: vec![e],
            tuple: false,
        })
    }

    /// `expression`, `a &&& b`, `a .. b`, `default` or `_`.
    fn simple_keyset(&mut self) -> Parse<Expr> {
        let start = self.span();
        if self.eat_kw(Keyword::Default) || self.eat_kw(Keyword::Underscore) {
            return self.expr_node(start, ExprKind::DontCare, 0);
        }
        let e = self.expr()?;
        self.keyset_from(e)
    }

    /// `&&& mask` or `.. high` behind `first`, if there.
    pub(super) fn keyset_from(&mut self, first: Expr) -> Parse<Expr> {
        let mask = self.at(Punct::Mask);
        if !mask && !self.at(Punct::Range) {
            return Ok(first);
        }
        self.bump();
        let start = first.at.span;
        let second = self.expr()?;
        let below = self.height(first.at).max(self.height(second.at));
        let (first, second) = (Box::new(first), Box::new(second));
        let kind = if mask {
            ExprKind::Mask {
                value: first,
                mask: second,
            }
        } else {
            ExprKind::Range {
                low: first,
                high: second,
            }
        };
        self.expr_node(start, kind, below)
    }
}

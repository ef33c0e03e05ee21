//! Conditions of `#if` and `#elif`: integer expressions over literals, `defined` and macros.
//!
//! Arithmetic is on 128-bit integers and wraps; names that are no macros are 0.

use super::Preprocessor;
use crate::lex::{Punct, RawKind, RawToken};
use crate::source::Span;

/// Deepest nesting of a condition.
const MAX_DEPTH: usize = 100;

impl Preprocessor<'_> {
    /// Reads the rest of the line as a condition; none if it has none (reported).
    pub(super) fn condition(&mut self, directive: Span) -> Option<bool> {
        let tokens = self.rest_of_line();
        let tokens = self.resolve_defined(tokens)?;
        let tokens = self.expand_list(tokens, directive);
        let mut eval = Eval {
            tokens: &tokens,
            pos: 0,
            directive,
            depth: 0,
        };
        match eval.whole() {
            Ok(v) => Some(v != 0),
            Err((at, message)) => {
                self.error(at, message);
                None
            }
        }
    }

    /// Replaces `defined X` and `defined(X)`, which must not be expanded, by 0 or 1.
    fn resolve_defined(&mut self, tokens: Vec<RawToken>) -> Option<Vec<RawToken>> {
        let mut out = Vec::with_capacity(tokens.len());
        let mut i = 0;
        while let Some(t) = tokens.get(i) {
            i += 1;
            if &*t.text != "defined" {
                out.push(t.clone());
                continue;
            }
            let paren = tokens.get(i).is_some_and(|t| t.is(Punct::LParen));
            i += usize::from(paren);
            let name = tokens.get(i).filter(|t| t.kind == RawKind::Word);
            let closed = !paren || tokens.get(i + 1).is_some_and(|t| t.is(Punct::RParen));
            let (Some(name), true) = (name, closed) else {
                self.error(t.span, "expected `defined NAME` or `defined(NAME)`");
                return None;
            };
            i += 1 + usize::from(paren);
            let value = if self.is_defined(&name.text) {
                "1"
            } else {
                "0"
            };
            out.push(RawToken {
                kind: RawKind::Number,
                text: self.names.get(value),
                painted: false,
                ..t.clone()
            });
        }
        Some(out)
    }
}

type Failure = (Span, String);

/// Evaluates by precedence climbing. Both sides of `&&`, `||` and `?:` are evaluated; an error in
/// the one that does not count is no error.
struct Eval<'a> {
    tokens: &'a [RawToken],
    pos: usize,
    directive: Span,
    depth: usize,
}

impl Eval<'_> {
    fn whole(&mut self) -> Result<i128, Failure> {
        if self.tokens.is_empty() {
            return Err((self.directive, "this directive needs a condition".into()));
        }
        let v = self.ternary()?;
        match self.tokens.get(self.pos) {
            None => v.ok_or_else(|| (self.directive, "division by zero in a condition".into())),
            Some(t) => Err((t.span, format!("`{}` is not expected here", t.text))),
        }
    }

    fn peek(&self) -> Option<Punct> {
        match self.tokens.get(self.pos)?.kind {
            RawKind::Punct(p) => Some(p),
            _ => None,
        }
    }

    fn eat(&mut self, p: Punct) -> bool {
        let hit = self.peek() == Some(p);
        self.pos += usize::from(hit);
        hit
    }

    fn here(&self) -> Span {
        let last = self
            .tokens
            .last()
            .map_or(self.directive, |t| t.span.after());
        self.tokens.get(self.pos).map_or(last, |t| t.span)
    }

    /// A value; none if it is undefined because of a division by zero.
    fn ternary(&mut self) -> Result<Option<i128>, Failure> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err((self.here(), "this condition is nested too deeply".into()));
        }
        let mut v = self.binary(0)?;
        if self.eat(Punct::Question) {
            let a = self.ternary()?;
            if !self.eat(Punct::Colon) {
                return Err((self.here(), "expected `:`".into()));
            }
            let b = self.ternary()?;
            v = v.and_then(|c| if c != 0 { a } else { b });
        }
        self.depth -= 1;
        Ok(v)
    }

    /// The operator at the current position with its precedence and number of tokens.
    fn operator(&self) -> Option<(Op, u8, usize)> {
        let p = self.peek()?;
        let joint = self.tokens.get(self.pos)?.joint;
        if p == Punct::Gt && joint {
            return Some((Op::Shr, 8, 2));
        }
        Some(match p {
            Punct::OrOr => (Op::Or, 1, 1),
            Punct::AndAnd => (Op::And, 2, 1),
            Punct::Or => (Op::BitOr, 3, 1),
            Punct::Caret => (Op::BitXor, 4, 1),
            Punct::And => (Op::BitAnd, 5, 1),
            Punct::EqEq => (Op::Eq, 6, 1),
            Punct::Ne => (Op::Ne, 6, 1),
            Punct::Lt => (Op::Lt, 7, 1),
            Punct::Le => (Op::Le, 7, 1),
            Punct::Gt => (Op::Gt, 7, 1),
            Punct::Ge => (Op::Ge, 7, 1),
            Punct::Shl => (Op::Shl, 8, 1),
            Punct::Plus => (Op::Add, 9, 1),
            Punct::Minus => (Op::Sub, 9, 1),
            Punct::Star => (Op::Mul, 10, 1),
            Punct::Slash => (Op::Div, 10, 1),
            Punct::Percent => (Op::Rem, 10, 1),
            _ => return None,
        })
    }

    fn binary(&mut self, min: u8) -> Result<Option<i128>, Failure> {
        let mut left = self.unary()?;
        while let Some((op, precedence, width)) = self.operator() {
            if precedence <= min {
                break;
            }
            self.pos += width;
            let right = self.binary(precedence)?;
            left = op.apply(left, right);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Option<i128>, Failure> {
        let mut signs = Vec::new();
        while let Some(p @ (Punct::Not | Punct::Tilde | Punct::Minus | Punct::Plus)) = self.peek() {
            signs.push(p);
            self.pos += 1;
        }
        let mut v = self.primary()?;
        while let Some(p) = signs.pop() {
            v = v.map(|v| match p {
                Punct::Not => i128::from(v == 0),
                Punct::Tilde => !v,
                Punct::Minus => v.wrapping_neg(),
                _ => v,
            });
        }
        Ok(v)
    }

    fn primary(&mut self) -> Result<Option<i128>, Failure> {
        if self.eat(Punct::LParen) {
            let v = self.ternary()?;
            if !self.eat(Punct::RParen) {
                return Err((self.here(), "expected `)`".into()));
            }
            return Ok(v);
        }
        let Some(t) = self.tokens.get(self.pos) else {
            return Err((self.here(), "expected a value".into()));
        };
        self.pos += 1;
        match t.kind {
            RawKind::Word => Ok(Some(0)),
            RawKind::Number => match number(&t.text) {
                Some(v) => Ok(Some(v)),
                None => Err((t.span, format!("`{}` is no integer", t.text))),
            },
            _ => Err((t.span, format!("expected a value, not `{}`", t.text))),
        }
    }
}

/// An integer as in C, suffixes allowed.
fn number(text: &str) -> Option<i128> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let (base, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, digits.get(2..)?),
        Some("0b" | "0B") => (2, digits.get(2..)?),
        Some(d) if d.starts_with('0') => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    i128::from_str_radix(digits, base).ok()
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl Op {
    fn apply(self, left: Option<i128>, right: Option<i128>) -> Option<i128> {
        match (self, left) {
            (Op::Or, Some(l)) if l != 0 => return Some(1),
            (Op::And, Some(0)) => return Some(0),
            _ => {}
        }
        let (l, r) = (left?, right?);
        let shift = u32::try_from(r.clamp(0, 127)).unwrap_or(0);
        Some(match self {
            Op::Or | Op::And => i128::from(r != 0),
            Op::BitOr => l | r,
            Op::BitXor => l ^ r,
            Op::BitAnd => l & r,
            Op::Eq => i128::from(l == r),
            Op::Ne => i128::from(l != r),
            Op::Lt => i128::from(l < r),
            Op::Le => i128::from(l <= r),
            Op::Gt => i128::from(l > r),
            Op::Ge => i128::from(l >= r),
            Op::Shl => l.wrapping_shl(shift),
            Op::Shr => l.wrapping_shr(shift),
            Op::Add => l.wrapping_add(r),
            Op::Sub => l.wrapping_sub(r),
            Op::Mul => l.wrapping_mul(r),
            Op::Div => l.checked_div(r)?,
            Op::Rem => l.checked_rem(r)?,
        })
    }
}

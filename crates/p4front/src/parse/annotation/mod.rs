//! Annotations: `@name`, `@name(tokens)`, `@name[structure]`, `@pragma name tokens`.

pub mod body;

use super::{Parse, Parser};
use crate::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind, Ident};
use crate::lex::{Punct, Token, TokenKind};

impl Parser<'_> {
    /// All annotations that stand here.
    pub(super) fn annotations(&mut self) -> Parse<Vec<Annotation>> {
        let mut out = Vec::new();
        while self.at(Punct::At) {
            out.push(self.annotation()?);
        }
        body::check_list(&out, self.diags);
        Ok(out)
    }

    fn annotation(&mut self) -> Parse<Annotation> {
        let start = self.span();
        let at_end = self.bump().span.end;
        let pragma = &*self.nth(0).text == "pragma" && self.span().start == at_end;
        if pragma {
            self.bump();
        }
        if !matches!(self.kind(), TokenKind::Ident | TokenKind::Keyword(_))
            || (pragma && self.nth(0).bol)
        {
            return self.unexpected("the name of an annotation");
        }
        let t = self.bump();
        let name = Ident {
            name: t.text,
            span: t.span,
        };
        let body = match self.kind() {
            _ if pragma => self.pragma_body()?,
            TokenKind::Punct(Punct::LParen) => self.token_body()?,
            TokenKind::Punct(Punct::LBracket) => self.structured_body()?,
            _ => AnnotationBody::Empty,
        };
        let a = Annotation {
            at: self.node(start),
            name,
            pragma,
            body,
        };
        body::check(&a, self.diags);
        Ok(a)
    }

    /// The rest of the line; parentheses must balance in it.
    fn pragma_body(&mut self) -> Parse<AnnotationBody> {
        let mut tokens = Vec::new();
        let mut open = 0usize;
        while !self.nth(0).bol && !self.at_end() {
            match self.kind() {
                TokenKind::Punct(Punct::LParen) => open += 1,
                TokenKind::Punct(Punct::RParen) if open == 0 => {
                    return self.unexpected("the end of the line");
                }
                TokenKind::Punct(Punct::RParen) => open -= 1,
                _ => {}
            }
            tokens.push(annotation_token(self.bump()));
        }
        if open > 0 {
            return self.unexpected("`)`");
        }
        Ok(AnnotationBody::Unstructured(tokens))
    }

    /// `(tokens)` with balanced parentheses.
    fn token_body(&mut self) -> Parse<AnnotationBody> {
        let bracket = self.expect(Punct::LParen)?;
        let mut tokens = Vec::new();
        let mut open = 1usize;
        loop {
            match self.kind() {
                TokenKind::End => return self.unclosed(bracket),
                TokenKind::Punct(Punct::LParen) => open += 1,
                TokenKind::Punct(Punct::RParen) => open -= 1,
                _ => {}
            }
            let t = self.bump();
            if open == 0 {
                return Ok(AnnotationBody::Unstructured(tokens));
            }
            tokens.push(annotation_token(t));
        }
    }

    /// `[a, b]` or `[k = v]`.
    fn structured_body(&mut self) -> Parse<AnnotationBody> {
        self.expect(Punct::LBracket)?;
        let body = if self.is_name(0) && self.nth_is(1, Punct::Assign) {
            let mut pairs = vec![self.named_expr()?];
            while self.eat(Punct::Comma) && !self.at(Punct::RBracket) {
                pairs.push(self.named_expr()?);
            }
            AnnotationBody::KeyValues(pairs)
        } else {
            AnnotationBody::Expressions(self.expressions_up_to(|p| p.at(Punct::RBracket))?)
        };
        if !self.eat(Punct::RBracket) {
            return self.unexpected("`,` or `]`");
        }
        Ok(body)
    }

    /// Reports annotations where the grammar has none.
    pub(super) fn no_annotations(&mut self, annotations: &[Annotation], before: &str) {
        if let Some(a) = annotations.first() {
            self.error(
                a.at.span,
                format!("annotations cannot stand before {before}"),
            );
        }
    }
}

fn annotation_token(t: Token) -> AnnotationToken {
    let kind = match t.kind {
        TokenKind::Ident | TokenKind::Keyword(_) => AnnotationTokenKind::Word,
        TokenKind::Int => AnnotationTokenKind::Integer,
        TokenKind::String => AnnotationTokenKind::String,
        TokenKind::Punct(_) => AnnotationTokenKind::Punctuation,
        TokenKind::Other | TokenKind::End => AnnotationTokenKind::Other,
    };
    AnnotationToken {
        kind,
        text: t.text,
        span: t.span,
    }
}

//! Tables: keys, actions, entries and other properties.

use super::{Parse, Parser};
use crate::ast::{
    ActionRef, Annotation, Decl, DeclKind, Entry, Expr, ExprKind, Ident, KeyElement, Path,
    PropertyValue, Table, TableProperty,
};
use crate::diag::Diagnostic;
use crate::lex::{Keyword, Punct, TokenKind};
use crate::source::Span;

impl Parser<'_> {
    /// `table name { properties }` behind annotations.
    pub(super) fn table(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        self.expect_kw(Keyword::Table)?;
        let name = self.name()?;
        let properties = self.braced(Self::table_property)?;
        if properties.is_empty() {
            self.diags.push(
                Diagnostic::error(
                    "syntax",
                    name.span,
                    format!("table `{name}` has no properties"),
                )
                .with_help("a table has at least `actions = { ... }`"),
            );
        }
        self.scopes.declare_object(&name.name);
        let kind = DeclKind::Table(Table { name, properties });
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    fn table_property(&mut self) -> Parse<TableProperty> {
        let start = self.span();
        let annotations = self.annotations()?;
        let is_const = self.eat_kw(Keyword::Const);
        if self.kind() != TokenKind::Ident && (!self.is_name(0) || self.at_kw(Keyword::List)) {
            return self.unexpected("the name of a table property");
        }
        let bare = matches!(
            self.kind(),
            TokenKind::Keyword(Keyword::Key | Keyword::Actions)
        );
        let which = self.kind();
        let name = self.name()?;
        if bare {
            self.no_annotations(&annotations, &format!("`{name}`"));
            if is_const {
                self.error(
                    name.span,
                    format!("`{name}` cannot be `const`; it always is"),
                );
            }
        }
        self.expect(Punct::Assign)?;
        let value = match which {
            TokenKind::Keyword(Keyword::Key) => PropertyValue::Key(self.braced(Self::key_element)?),
            TokenKind::Keyword(Keyword::Actions) => {
                PropertyValue::Actions(self.braced(Self::listed_action)?)
            }
            TokenKind::Keyword(Keyword::Entries) => {
                PropertyValue::Entries(self.braced(Self::entry)?)
            }
            _ => {
                let e = self.expr()?;
                self.semicolon()?;
                PropertyValue::Expr(e)
            }
        };
        Ok(TableProperty {
            at: self.node(start),
            annotations,
            is_const,
            name,
            value,
        })
    }

    fn key_element(&mut self) -> Parse<KeyElement> {
        let start = self.span();
        let expr = self.expr()?;
        self.expect(Punct::Colon)?;
        let match_kind = self.name()?;
        let annotations = self.annotations()?;
        self.semicolon()?;
        Ok(KeyElement {
            at: self.node(start),
            expr,
            match_kind,
            annotations,
        })
    }

    fn listed_action(&mut self) -> Parse<ActionRef> {
        let start = self.span();
        let annotations = self.annotations()?;
        let action = self.action_ref(start, annotations)?;
        self.semicolon()?;
        Ok(action)
    }

    /// `name` or `name(args)`, possibly with a leading dot.
    fn action_ref(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<ActionRef> {
        let absolute = self.eat(Punct::Dot);
        let name: Ident = self.name()?;
        let args = if self.at(Punct::LParen) {
            Some(self.args()?)
        } else {
            None
        };
        let path = Path { absolute, name };
        Ok(ActionRef {
            at: self.node(start),
            annotations,
            path,
            args,
        })
    }

    fn entry(&mut self) -> Parse<Entry> {
        let start = self.span();
        let is_const = self.eat_kw(Keyword::Const);
        let priority = if self.at_kw(Keyword::Priority) && self.nth_is(1, Punct::Assign) {
            self.bump();
            self.bump();
            let p = self.priority()?;
            self.expect(Punct::Colon)?;
            Some(p)
        } else {
            None
        };
        let keyset = self.keyset()?;
        self.expect(Punct::Colon)?;
        let at = self.span();
        let action = self.action_ref(at, Vec::new())?;
        let annotations = self.annotations()?;
        self.semicolon()?;
        Ok(Entry {
            at: self.node(start),
            is_const,
            priority,
            keyset,
            action,
            annotations,
        })
    }

    /// A number, or an expression in parentheses.
    fn priority(&mut self) -> Parse<Expr> {
        let start = self.span();
        if self.kind() == TokenKind::Int {
            let kind = ExprKind::Int(self.integer());
            return self.expr_node(start, kind, 0);
        }
        if !self.eat(Punct::LParen) {
            return self.unexpected("a number or `(expression)`");
        }
        let e = self.expr()?;
        self.expect(Punct::RParen)?;
        Ok(e)
    }
}

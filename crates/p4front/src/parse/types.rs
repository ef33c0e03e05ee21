//! Types, type parameters and type arguments.

use super::{Failed, Parse, Parser};
use crate::ast::{Expr, Ident, Path, Type, TypeKind, TypeParam};
use crate::diag::Diagnostic;
use crate::lex::{Keyword, Punct, TokenKind};
use crate::pp::declared_by;

impl Parser<'_> {
    /// True if a type begins here. (`error.X` is an expression that begins like one: the callers
    /// that can meet it look at the dot.)
    pub(super) fn at_type(&self) -> bool {
        self.type_at(0)
    }

    pub(super) fn type_at(&self, n: usize) -> bool {
        use Keyword as K;
        match self.nth(n).kind {
            TokenKind::Keyword(
                K::Bit
                | K::Bool
                | K::Error
                | K::Int
                | K::MatchKind
                | K::String
                | K::Varbit
                | K::Tuple,
            ) => true,
            TokenKind::Keyword(K::List) => self.nth_is(n + 1, Punct::Lt),
            TokenKind::Ident => self.scopes.is_type(&self.nth(n).text),
            TokenKind::Punct(Punct::Dot) => {
                let t = self.nth(n + 1);
                t.kind == TokenKind::Ident && self.scopes.is_top_level_type(&t.text)
            }
            _ => false,
        }
    }

    /// A type. A name that is no type in scope is reported and taken for one.
    pub(super) fn type_ref(&mut self) -> Parse<Type> {
        if self.kind() == TokenKind::Ident && !self.at_type() {
            self.unknown_type();
        }
        self.any_type()
    }

    fn unknown_type(&mut self) {
        let t = self.nth(0).clone();
        let message = format!("cannot find type `{}` in this scope", t.text);
        let d = Diagnostic::error("unknown-type", t.span, message);
        self.diags.push(match declared_by(&t.text) {
            Some(file) => d.with_help(format!("`#include <{file}>` declares it")),
            None => d.with_nearest(&t.text, self.scopes.types()),
        });
    }

    /// A type, or a name that may be declared as one later: the result of a function or a type
    /// argument of it, `T f<T>()`.
    pub(super) fn any_type(&mut self) -> Parse<Type> {
        self.nested(Self::type_with_arrays)
    }

    fn type_with_arrays(&mut self) -> Parse<Type> {
        let mut ty = self.simple_type()?;
        while self.at(Punct::LBracket) {
            ty = self.array_suffix(ty)?;
        }
        Ok(ty)
    }

    /// `[size]` behind a type or a declared name.
    pub(super) fn array_suffix(&mut self, element: Type) -> Parse<Type> {
        self.expect(Punct::LBracket)?;
        let size = self.with_gt(true, Self::expr)?;
        self.expect(Punct::RBracket)?;
        let below = self.height(element.at).max(self.height(size.at));
        let start = element.at.span;
        let kind = TypeKind::Array {
            element: Box::new(element),
            size: Box::new(size),
        };
        self.type_node(start, kind, below)
    }

    fn simple_type(&mut self) -> Parse<Type> {
        use Keyword as K;
        let start = self.span();
        let TokenKind::Keyword(k) = self.kind() else {
            return self.named_type();
        };
        let plain = match k {
            K::Bool => TypeKind::Bool,
            K::Error => TypeKind::Error,
            K::MatchKind => TypeKind::MatchKind,
            K::String => TypeKind::String,
            K::Void => TypeKind::Void,
            K::Bit | K::Int | K::Varbit => return self.sized_type(k),
            K::Tuple => {
                self.bump();
                let args = self.type_args()?;
                let below = self.types_height(&args);
                return self.type_node(start, TypeKind::Tuple(args), below);
            }
            K::List => {
                self.bump();
                self.expect(Punct::Lt)?;
                let element = self.type_arg()?;
                self.expect(Punct::Gt)?;
                let below = self.height(element.at);
                return self.type_node(start, TypeKind::List(Box::new(element)), below);
            }
            _ => return self.unexpected("a type"),
        };
        self.bump();
        self.type_node(start, plain, 0)
    }

    /// `bit`, `bit<W>`, `int`, `int<W>`, `varbit<W>`.
    fn sized_type(&mut self, k: Keyword) -> Parse<Type> {
        let start = self.bump().span;
        let mut width: Option<Expr> = None;
        if k == Keyword::Varbit || self.at(Punct::Lt) {
            self.expect(Punct::Lt)?;
            width = Some(self.with_gt(false, Self::expr)?);
            self.expect(Punct::Gt)?;
        }
        let below = width.as_ref().map_or(0, |w| self.height(w.at));
        let kind = match (k, width.map(Box::new)) {
            (Keyword::Bit, w) => TypeKind::Bit(w),
            (Keyword::Varbit, Some(w)) => TypeKind::Varbit(w),
            (_, Some(w)) => TypeKind::Int(w),
            (_, None) => TypeKind::Integer,
        };
        self.type_node(start, kind, below)
    }

    fn named_type(&mut self) -> Parse<Type> {
        let start = self.span();
        let absolute = self.at(Punct::Dot);
        if self.nth(usize::from(absolute)).kind != TokenKind::Ident {
            return self.unexpected("a type");
        }
        if absolute {
            self.bump();
        }
        let name = self.name()?;
        let base = Path { absolute, name };
        if !self.at(Punct::Lt) {
            return self.type_node(start, TypeKind::Name(base), 0);
        }
        let args = self.type_args()?;
        let below = self.types_height(&args);
        self.type_node(start, TypeKind::Specialized { base, args }, below)
    }

    fn types_height(&self, types: &[Type]) -> u32 {
        types.iter().map(|t| self.height(t.at)).max().unwrap_or(0)
    }

    /// `<A, B>`, possibly empty.
    pub(super) fn type_args(&mut self) -> Parse<Vec<Type>> {
        self.expect(Punct::Lt)?;
        let mut args = Vec::new();
        if !self.at(Punct::Gt) {
            args.push(self.type_arg()?);
            while self.eat(Punct::Comma) {
                args.push(self.type_arg()?);
            }
        }
        if self.eat(Punct::Gt) {
            return Ok(args);
        }
        self.unexpected("`,` or `>`")
    }

    fn type_arg(&mut self) -> Parse<Type> {
        let start = self.span();
        if self.eat_kw(Keyword::Underscore) {
            return self.type_node(start, TypeKind::DontCare, 0);
        }
        if self.is_name(0) && !self.at_type() && self.kind() != TokenKind::Ident {
            let name = self.name()?;
            return self.type_node(
                start,
                TypeKind::Name(Path {
                    absolute: false,
                    name,
                }),
                0,
            );
        }
        self.any_type()
    }

    /// `<T, U>` if there is one; the names become types in the current scope.
    pub(super) fn type_params(&mut self) -> Parse<Vec<TypeParam>> {
        let mut params = Vec::new();
        if !self.eat(Punct::Lt) {
            return Ok(params);
        }
        loop {
            let start = self.span();
            let name: Ident = self.name()?;
            self.scopes.declare_type(&name.name);
            params.push(TypeParam {
                at: self.node(start),
                name,
            });
            if self.eat(Punct::Gt) {
                return Ok(params);
            }
            if !self.eat(Punct::Comma) {
                return self.unexpected("`,` or `>`");
            }
        }
    }

    /// `name` or `name[n]...`: the declared name and its full type.
    pub(super) fn declarator(&mut self, mut ty: Type) -> Parse<(Ident, Type)> {
        let name = self.name()?;
        while self.at(Punct::LBracket) {
            ty = self.array_suffix(ty)?;
        }
        Ok((name, ty))
    }

    /// Turns a failure into the end of the scopes opened since `depth`.
    pub(super) fn close_scopes<T>(&mut self, depth: usize, r: Parse<T>) -> Parse<T> {
        self.scopes.truncate(depth);
        r.map_err(|Failed| Failed)
    }
}

//! Declarations at the top level, of types, constants and instances.

use super::{Parse, Parser};
use crate::ast::{
    Annotation, Composite, CompositeKind, Constant, Decl, DeclKind, Enum, Field, Ident, Instance,
    NewType, SerializableEnum, Type, Typedef, TypedefTarget,
};
use crate::diag::Diagnostic;
use crate::lex::{Keyword, Punct, TokenKind};
use crate::source::Span;

impl Parser<'_> {
    /// All declarations of the program.
    pub(super) fn top_level(&mut self) -> Vec<Decl> {
        let mut decls = Vec::new();
        while !self.at_end() && !self.diags.is_full() {
            if self.eat(Punct::Semicolon) {
                continue;
            }
            let from = self.pos;
            match self.decl() {
                Ok(d) => decls.push(d),
                Err(super::Failed) => {
                    self.scopes.truncate(1);
                    self.recover(from);
                }
            }
        }
        decls
    }

    fn decl(&mut self) -> Parse<Decl> {
        use Keyword as K;
        let start = self.span();
        let annotations = self.annotations()?;
        let TokenKind::Keyword(k) = self.kind() else {
            return self.function_or_instance(start, annotations);
        };
        match k {
            K::Const => self.constant(start, annotations),
            K::Extern => self.extern_decl(start, annotations),
            K::Action => self.action(start, annotations),
            K::Parser | K::Control | K::Package => self.callable(start, annotations),
            K::Header | K::HeaderUnion | K::Struct | K::Enum => {
                self.derived_type(start, annotations)
            }
            K::Typedef => self.typedef(start, annotations),
            K::Type => self.new_type(start, annotations),
            K::Error | K::MatchKind if self.nth_is(1, Punct::LBrace) => {
                self.no_annotations(&annotations, &format!("`{}`", k.text()));
                self.bump();
                let members = self.identifiers(k == K::MatchKind)?;
                let kind = if k == K::Error {
                    DeclKind::Error(members)
                } else {
                    DeclKind::MatchKind(members)
                };
                Ok(Decl {
                    at: self.node(start),
                    annotations,
                    kind,
                })
            }
            K::Table => {
                let at = self.span();
                self.error(at, "a table is declared in a control");
                self.failed_at = Some(self.pos);
                Err(super::Failed)
            }
            _ => self.function_or_instance(start, annotations),
        }
    }

    /// What begins with a type: `T name(params) { ... }` or `T(args) name;`.
    fn function_or_instance(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        if !self.at_type() && !self.at_kw(Keyword::Void) && self.kind() != TokenKind::Ident {
            return self.unexpected("a declaration");
        }
        if self.kind() == TokenKind::Ident && !self.at_type() && self.nth_is(1, Punct::LParen) {
            let ty = self.type_ref()?; // reports the unknown type
            return self.instance(start, annotations, ty);
        }
        let ty = self.result_type()?;
        if self.at(Punct::LParen) {
            return self.instance(start, annotations, ty);
        }
        if self.is_name(0)
            && matches!(
                self.nth(1).kind,
                TokenKind::Punct(Punct::Semicolon | Punct::Assign | Punct::LBracket)
            )
        {
            let at = self.span();
            self.diags.push(
                Diagnostic::error(
                    "syntax",
                    at,
                    "a variable cannot be declared at the top level",
                )
                .with_help("write `const` before its type, or move it into a control or parser"),
            );
            self.failed_at = Some(self.pos);
            return Err(super::Failed);
        }
        self.function(start, annotations, ty)
    }

    /// `const T name = value;` behind annotations.
    pub(super) fn constant(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        self.expect_kw(Keyword::Const)?;
        let ty = self.type_ref()?;
        let (name, ty) = self.declarator(ty)?;
        self.expect(Punct::Assign)?;
        let value = self.expr()?;
        self.semicolon()?;
        self.scopes.declare_object(&name.name);
        let kind = DeclKind::Constant(Constant { ty, name, value });
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    /// `(args) name;` behind annotations and a type.
    pub(super) fn instance(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
        ty: Type,
    ) -> Parse<Decl> {
        let args = self.args()?;
        let (name, ty) = self.declarator(ty)?;
        let init = if self.eat(Punct::Assign) {
            let depth = self.scopes.depth();
            self.scopes.push();
            let items = self.nested(|p| p.braced(Self::object_decl));
            Some(self.close_scopes(depth, items)?)
        } else {
            None
        };
        self.semicolon()?;
        self.scopes.declare_object(&name.name);
        let kind = DeclKind::Instance(Instance {
            ty,
            args,
            name,
            init,
        });
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    /// A function or instantiation in the initialiser block of an instantiation.
    fn object_decl(&mut self) -> Parse<Decl> {
        let start = self.span();
        let annotations = self.annotations()?;
        let ty = self.result_type()?;
        if self.at(Punct::LParen) {
            self.instance(start, annotations, ty)
        } else {
            self.function(start, annotations, ty)
        }
    }

    /// `header`, `header_union`, `struct` or `enum` behind annotations.
    fn derived_type(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        let kind = match self.bump().kind {
            TokenKind::Keyword(Keyword::Header) => self.composite(CompositeKind::Header)?,
            TokenKind::Keyword(Keyword::HeaderUnion) => {
                self.composite(CompositeKind::HeaderUnion)?
            }
            TokenKind::Keyword(Keyword::Struct) => self.composite(CompositeKind::Struct)?,
            _ => self.enumeration()?,
        };
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    fn composite(&mut self, kind: CompositeKind) -> Parse<DeclKind> {
        let name = self.name()?;
        self.scopes.declare_type(&name.name);
        let depth = self.scopes.depth();
        self.scopes.push();
        let r = self
            .type_params()
            .and_then(|t| Ok((t, self.braced(Self::field)?)));
        let (type_params, fields) = self.close_scopes(depth, r)?;
        Ok(DeclKind::Composite(Composite {
            kind,
            name,
            type_params,
            fields,
        }))
    }

    fn field(&mut self) -> Parse<Field> {
        let start = self.span();
        let annotations = self.annotations()?;
        let ty = self.type_ref()?;
        let (name, ty) = self.declarator(ty)?;
        self.semicolon()?;
        Ok(Field {
            at: self.node(start),
            annotations,
            ty,
            name,
        })
    }

    fn enumeration(&mut self) -> Parse<DeclKind> {
        if self.is_name(0) && self.nth_is(1, Punct::LBrace) {
            let name = self.name()?;
            self.scopes.declare_type(&name.name);
            let members = self.identifiers(true)?;
            return Ok(DeclKind::Enum(Enum { name, members }));
        }
        let underlying = self.type_ref()?;
        let name = self.name()?;
        self.scopes.declare_type(&name.name);
        self.expect(Punct::LBrace)?;
        let mut members = vec![self.named_expr()?];
        while self.eat(Punct::Comma) && !self.at(Punct::RBrace) {
            members.push(self.named_expr()?);
        }
        if !self.eat(Punct::RBrace) {
            return self.unexpected("`,` or `}`");
        }
        Ok(DeclKind::SerializableEnum(SerializableEnum {
            underlying,
            name,
            members,
        }))
    }

    /// `{a, b}`, at least one name.
    fn identifiers(&mut self, trailing_comma: bool) -> Parse<Vec<Ident>> {
        self.expect(Punct::LBrace)?;
        let mut out = vec![self.name()?];
        while self.eat(Punct::Comma) {
            if trailing_comma && self.at(Punct::RBrace) {
                break;
            }
            out.push(self.name()?);
        }
        if !self.eat(Punct::RBrace) {
            return self.unexpected("`,` or `}`");
        }
        Ok(out)
    }

    fn typedef(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        use Keyword as K;
        self.expect_kw(K::Typedef)?;
        let at = self.span();
        let inner = self.annotations()?;
        let derived = matches!(
            self.kind(),
            TokenKind::Keyword(K::Header | K::HeaderUnion | K::Struct | K::Enum)
        );
        let (name, target) = if derived {
            let decl = Box::new(self.derived_type(at, inner)?);
            let name = self.name()?;
            let mut dimensions = Vec::new();
            while self.eat(Punct::LBracket) {
                dimensions.push(self.expr()?);
                self.expect(Punct::RBracket)?;
            }
            (name, TypedefTarget::Declared { decl, dimensions })
        } else {
            self.no_annotations(&inner, "this type");
            let ty = self.type_ref()?;
            let (name, ty) = self.declarator(ty)?;
            (name, TypedefTarget::Type(ty))
        };
        self.scopes.declare_type(&name.name);
        self.semicolon()?;
        let kind = DeclKind::Typedef(Typedef { target, name });
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    fn new_type(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        self.expect_kw(Keyword::Type)?;
        let ty = self.type_ref()?;
        let (name, underlying) = self.declarator(ty)?;
        self.scopes.declare_type(&name.name);
        self.semicolon()?;
        let kind = DeclKind::NewType(NewType { underlying, name });
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }
}

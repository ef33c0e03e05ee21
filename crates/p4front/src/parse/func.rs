//! Things with parameters: functions, externs, actions, parsers, controls, packages.

use super::{Parse, Parser};
use crate::ast::{
    Action, Annotation, Block, Callable, Control, Decl, DeclKind, Direction, ExternObject,
    Function, Ident, Method, MethodKind, Param, Prototype, Type, TypeKind,
};
use crate::diag::Diagnostic;
use crate::lex::{Keyword, Punct, TokenKind};
use crate::source::Span;

impl Parser<'_> {
    /// `(parameters)`; the names become objects in the current scope.
    fn params(&mut self) -> Parse<Vec<Param>> {
        self.expect(Punct::LParen)?;
        let mut params = Vec::new();
        if self.eat(Punct::RParen) {
            return Ok(params);
        }
        loop {
            params.push(self.param()?);
            if self.eat(Punct::RParen) {
                break;
            }
            if !self.eat(Punct::Comma) {
                return self.unexpected("`,` or `)`");
            }
        }
        for p in &params {
            self.scopes.declare_object(&p.name.name);
        }
        Ok(params)
    }

    fn param(&mut self) -> Parse<Param> {
        let start = self.span();
        let annotations = self.annotations()?;
        let direction = match self.kind() {
            TokenKind::Keyword(Keyword::In) => Direction::In,
            TokenKind::Keyword(Keyword::Out) => Direction::Out,
            TokenKind::Keyword(Keyword::InOut) => Direction::InOut,
            _ => Direction::None,
        };
        if direction != Direction::None {
            self.bump();
        }
        let ty = self.type_ref()?;
        let (name, ty) = self.declarator(ty)?;
        let default = if self.eat(Punct::Assign) {
            Some(self.with_gt(true, Self::expr)?)
        } else {
            None
        };
        Ok(Param {
            at: self.node(start),
            annotations,
            direction,
            ty,
            name,
            default,
        })
    }

    /// The result type of a function: a type, `void`, or a name that its type parameters declare.
    pub(super) fn result_type(&mut self) -> Parse<Type> {
        let start = self.span();
        if self.eat_kw(Keyword::Void) {
            return self.type_node(start, TypeKind::Void, 0);
        }
        self.any_type()
    }

    /// `name<T>(params)` behind a result type. Opens a scope with the parameters, which the caller
    /// closes.
    pub(super) fn prototype(&mut self, result: Type) -> Parse<Prototype> {
        let name = self.name()?;
        self.scopes.declare_object(&name.name);
        self.scopes.push();
        let type_params = self.type_params()?;
        let params = self.params()?;
        Ok(Prototype {
            result,
            name,
            type_params,
            params,
        })
    }

    /// `name(params) { ... }` behind a result type.
    pub(super) fn function(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
        result: Type,
    ) -> Parse<Decl> {
        let depth = self.scopes.depth();
        let r = self.prototype(result).and_then(|prototype| {
            let body = self.block()?;
            Ok(DeclKind::Function(Function { prototype, body }))
        });
        let kind = self.close_scopes(depth, r)?;
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    /// `extern` behind annotations: an object, a function, or an announcement.
    pub(super) fn extern_decl(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        self.expect_kw(Keyword::Extern)?;
        let depth = self.scopes.depth();
        let r = if self.at_extern_object() {
            self.extern_object()
        } else {
            self.result_type().and_then(|result| {
                let p = self.prototype(result)?;
                self.semicolon()?;
                Ok(DeclKind::ExternFunction(p))
            })
        };
        let kind = self.close_scopes(depth, r)?;
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    /// `name {`, `name;`, or `name <` where the name is no generic type in scope.
    fn at_extern_object(&self) -> bool {
        self.is_name(0)
            && match self.nth(1).kind {
                TokenKind::Punct(Punct::LBrace | Punct::Semicolon) => true,
                TokenKind::Punct(Punct::Lt) => !self.at_type(),
                _ => false,
            }
    }

    fn extern_object(&mut self) -> Parse<DeclKind> {
        let name = self.name()?;
        self.scopes.declare_type(&name.name);
        if self.eat(Punct::Semicolon) {
            return Ok(DeclKind::ExternForward(name));
        }
        self.scopes.push();
        let type_params = self.type_params()?;
        let methods = self.braced(|p| p.method(&name))?;
        Ok(DeclKind::ExternObject(ExternObject {
            name,
            type_params,
            methods,
        }))
    }

    fn method(&mut self, object: &Ident) -> Parse<Method> {
        let start = self.span();
        let annotations = self.annotations()?;
        let depth = self.scopes.depth();
        let r = self.method_prototype(object);
        let (kind, prototype) = self.close_scopes(depth, r)?;
        self.semicolon()?;
        Ok(Method {
            at: self.node(start),
            annotations,
            kind,
            prototype,
        })
    }

    fn method_prototype(&mut self, object: &Ident) -> Parse<(MethodKind, Prototype)> {
        if self.kind() == TokenKind::Ident && self.nth_is(1, Punct::LParen) {
            let at = self.span();
            let name = self.name()?;
            if name != *object {
                let text = format!("method `{name}` has no result type");
                self.diags
                    .push(Diagnostic::error("syntax", at, text).with_help(format!(
                        "write `void` or another type before it; only the constructor, `{object}`, \
                     has none"
                    )));
            }
            self.scopes.push();
            let params = self.params()?;
            let result = self.type_node(at, TypeKind::Void, 0)?;
            let prototype = Prototype {
                result,
                name,
                type_params: Vec::new(),
                params,
            };
            return Ok((MethodKind::Constructor, prototype));
        }
        let kind = if self.eat_kw(Keyword::Abstract) {
            MethodKind::Abstract
        } else {
            MethodKind::Method
        };
        let result = self.result_type()?;
        Ok((kind, self.prototype(result)?))
    }

    /// `action name(params) { ... }` behind annotations.
    pub(super) fn action(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        self.expect_kw(Keyword::Action)?;
        let name = self.name()?;
        let depth = self.scopes.depth();
        self.scopes.push();
        let r = self.params().and_then(|params| Ok((params, self.block()?)));
        let (params, body) = self.close_scopes(depth, r)?;
        self.scopes.declare_object(&name.name);
        let kind = DeclKind::Action(Action { name, params, body });
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    /// `parser`, `control` or `package` behind annotations: a type, or a declaration with a body.
    pub(super) fn callable(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<Decl> {
        let depth = self.scopes.depth();
        let r = self.callable_rest();
        let kind = self.close_scopes(depth, r)?;
        Ok(Decl {
            at: self.node(start),
            annotations,
            kind,
        })
    }

    fn callable_rest(&mut self) -> Parse<DeclKind> {
        let which = self.bump().kind;
        let name: Ident = self.name()?;
        self.scopes.declare_type(&name.name);
        self.scopes.push();
        let type_params = self.type_params()?;
        let params = self.params()?;
        let signature = Callable {
            name,
            type_params,
            params,
        };
        let is_type = !self.at(Punct::LParen) && !self.at(Punct::LBrace);
        match which {
            TokenKind::Keyword(Keyword::Package) => {
                self.semicolon()?;
                Ok(DeclKind::Package(signature))
            }
            TokenKind::Keyword(Keyword::Parser) if is_type => {
                self.semicolon()?;
                Ok(DeclKind::ParserType(signature))
            }
            TokenKind::Keyword(Keyword::Parser) => self.parser_body(signature),
            _ if is_type => {
                self.semicolon()?;
                Ok(DeclKind::ControlType(signature))
            }
            _ => self.control_body(signature),
        }
    }

    pub(super) fn constructor_params(&mut self) -> Parse<Vec<Param>> {
        if self.at(Punct::LParen) {
            self.params()
        } else {
            Ok(Vec::new())
        }
    }

    fn control_body(&mut self, signature: Callable) -> Parse<DeclKind> {
        let constructor_params = self.constructor_params()?;
        let open = self.expect(Punct::LBrace)?;
        let mut locals = Vec::new();
        while !self.at_kw(Keyword::Apply) {
            if self.at(Punct::RBrace) || self.at_end() || self.at_top_level_word() {
                // What was read is kept: whoever edits the program still has its names.
                self.no_apply(open, &signature.name);
                self.eat(Punct::RBrace);
                let body = Block {
                    at: self.node(self.previous().after()),
                    annotations: Vec::new(),
                    stmts: Vec::new(),
                };
                return Ok(DeclKind::Control(Control {
                    signature,
                    constructor_params,
                    locals,
                    body,
                }));
            }
            self.local(&mut locals, Self::control_local)?;
        }
        self.bump();
        let body = self.nested(Self::block)?;
        let _ = self.expect(Punct::RBrace);
        Ok(DeclKind::Control(Control {
            signature,
            constructor_params,
            locals,
            body,
        }))
    }

    fn no_apply(&mut self, open: Span, control: &Ident) {
        if self.failed_at != Some(self.pos) {
            self.failed_at = Some(self.pos);
            let text = format!("control `{control}` ends without an `apply` block");
            let at = self.span();
            self.diags.push(
                Diagnostic::error("syntax", at, text)
                    .with_related(open, "it begins here")
                    .with_help("write `apply { ... }` before the closing brace"),
            );
        }
    }

    /// Reads a local declaration into `into`, or reports and skips it.
    pub(super) fn local<T>(
        &mut self,
        into: &mut Vec<T>,
        item: fn(&mut Self) -> Parse<T>,
    ) -> Parse<()> {
        if self.diags.is_full() {
            return Err(super::Failed);
        }
        let from = self.pos;
        match self.nested(item) {
            Ok(d) => into.push(d),
            Err(super::Failed) => self.recover(from),
        }
        Ok(())
    }

    fn control_local(&mut self) -> Parse<Decl> {
        let start = self.span();
        let annotations = self.annotations()?;
        match self.kind() {
            TokenKind::Keyword(Keyword::Const) => self.constant(start, annotations),
            TokenKind::Keyword(Keyword::Action) => self.action(start, annotations),
            TokenKind::Keyword(Keyword::Table) => self.table(start, annotations),
            _ if self.at_local_decl() => self.local_object(start, annotations),
            _ => self.undeclared_or("a declaration or `apply`"),
        }
    }

    /// A variable or an instantiation.
    pub(super) fn local_object(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
    ) -> Parse<Decl> {
        let ty = self.type_ref()?;
        if self.at(Punct::LParen) {
            return self.instance(start, annotations, ty);
        }
        let d = self.variable(start, annotations, ty)?;
        self.semicolon()?;
        Ok(d)
    }
}

//! Looking for errors where `main` does not lead: declarations nothing instantiates, and
//! signatures.

use p4ir::{Place, VarKind};

use super::args::Passing;
use super::call::is_optional;
use super::instance::{BlockInstance, Bound};
use super::value::{Elab, Object, Val};
use super::{Body, Lowerer};
use crate::ast::{self, AnnotationBody, DeclKind, Direction, MethodKind};
use crate::diag::Diagnostic;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    /// Elaborates a declaration that nothing instantiated, for its errors.
    pub(super) fn check_unused(&mut self, decl: &'a ast::Decl) {
        let targs: Vec<Ty> = Self::type_params(decl)
            .iter()
            .map(|p| Ty::Param(p.at.id, p.name.name.clone()))
            .collect();
        self.check_signatures(decl, &targs);
        match &decl.kind {
            DeclKind::Composite(_) => {
                self.record(decl, targs, decl.at.span);
            }
            DeclKind::Parser(_) | DeclKind::Control(_)
                if !self.elaborated.contains(&decl.at.id) =>
            {
                self.check_block(decl, targs);
            }
            DeclKind::Function(f) => {
                // A generic function must make sense for every type, whatever it was used with.
                let used = self.functions.keys().any(|(id, ..)| *id == decl.at.id);
                if !used || !targs.is_empty() {
                    self.function(decl, f, &targs, Vec::new(), decl.at.span);
                }
            }
            DeclKind::ExternFunction(p) => {
                self.signature(p, &[], &[], &[], decl.at.span);
            }
            DeclKind::ExternObject(object) => {
                for method in &object.methods {
                    self.signature(
                        &method.prototype,
                        &[],
                        &object.type_params,
                        &targs,
                        method.at.span,
                    );
                }
            }
            DeclKind::ParserType(_) | DeclKind::ControlType(_) => {
                self.block_types(decl, &targs, Self::apply_params(decl));
            }
            DeclKind::Error(_) | DeclKind::MatchKind(_) => {}
            _ => {
                self.resolve(decl);
            }
        }
    }

    /// Names and types of the parameters of a declaration.
    fn check_signatures(&mut self, decl: &'a ast::Decl, targs: &[Ty]) {
        let type_params: Vec<_> = Self::type_params(decl)
            .iter()
            .map(|p| p.name.clone())
            .collect();
        self.distinct(&type_params);
        match &decl.kind {
            DeclKind::Parser(p) => {
                self.check_params(decl, targs, &p.signature.params);
                self.check_params(decl, targs, &p.constructor_params);
            }
            DeclKind::Control(c) => {
                self.check_params(decl, targs, &c.signature.params);
                self.check_params(decl, targs, &c.constructor_params);
            }
            DeclKind::ParserType(c) | DeclKind::ControlType(c) | DeclKind::Package(c) => {
                self.check_params(decl, targs, &c.params);
            }
            DeclKind::Action(a) => self.check_params(decl, targs, &a.params),
            DeclKind::Function(f) => self.check_params(decl, targs, &f.prototype.params),
            DeclKind::ExternFunction(p) => self.check_params(decl, targs, &p.params),
            DeclKind::ExternObject(object) => {
                self.check_methods(decl, object, targs);
            }
            _ => {}
        }
        if let Some(name) = decl.name()
            && &*name.name == "main"
            && !matches!(decl.kind, DeclKind::Function(_) | DeclKind::Instance(_))
        {
            self.error("arch", name.span, "`main` must be an instance of a package");
        }
        self.bound_annotations(decl, targs);
    }

    /// Values of structured annotations at the top level are known at compile time.
    fn bound_annotations(&mut self, decl: &'a ast::Decl, targs: &[Ty]) {
        self.detached(Body::constant(), |s| {
            s.bind_type_params(Self::type_params(decl), targs);
            s.annotation_values(&decl.annotations);
            if let DeclKind::ExternObject(object) = &decl.kind {
                for method in &object.methods {
                    s.annotation_values(&method.annotations);
                }
            }
        });
    }

    /// Looks for errors in the values of structured annotations, which are known at compile time.
    pub(super) fn annotation_values(&mut self, annotations: &'a [ast::Annotation]) {
        for annotation in annotations {
            match &annotation.body {
                AnnotationBody::Expressions(all) => {
                    for value in all {
                        self.const_expr(value, None);
                    }
                }
                AnnotationBody::KeyValues(all) => {
                    for named in all {
                        self.const_expr(&named.value, None);
                    }
                }
                AnnotationBody::Empty | AnnotationBody::Unstructured(_) => {}
            }
        }
    }

    /// Constructors and methods of an extern object.
    fn check_methods(&mut self, decl: &'a ast::Decl, object: &'a ast::ExternObject, targs: &[Ty]) {
        let names = |m: &ast::Method| -> Vec<ast::Symbol> {
            let params = m.prototype.params.iter();
            params.map(|p| p.name.name.clone()).collect()
        };
        for (i, method) in object.methods.iter().enumerate() {
            let name = &method.prototype.name;
            if method.kind != MethodKind::Constructor && *name == object.name {
                self.error("type", name.span, "a constructor has no result type");
            }
            let mut before = object.methods[..i].iter();
            let same = before.find(|m| m.prototype.name == *name && names(m) == names(method));
            if let Some(same) = same {
                let text = format!("`{name}` with these parameters is declared twice");
                self.report(
                    Diagnostic::error("name", name.span, text)
                        .with_related(same.prototype.name.span, "first declared here"),
                );
            }
            let inner: Vec<_> = method
                .prototype
                .type_params
                .iter()
                .map(|p| p.name.clone())
                .collect();
            self.distinct(&inner);
            let tys = self.method_types(object, method, targs);
            self.check_typed_params(decl, &method.prototype.params, &tys);
            for (param, ty) in method.prototype.params.iter().zip(&tys) {
                self.check_extern_param(decl, object, param, ty);
            }
        }
    }

    fn check_extern_param(
        &mut self,
        decl: &'a ast::Decl,
        object: &'a ast::ExternObject,
        param: &'a ast::Param,
        ty: &Ty,
    ) {
        if matches!(ty, Ty::Extern(id, ..) if *id == decl.at.id) {
            let text = format!(
                "a method of `{}` cannot take a `{}`",
                object.name, object.name
            );
            self.error("type", param.at.span, text);
        }
        if matches!(ty, Ty::Block(..)) {
            let text = format!("a method of an extern cannot take a `{ty}`");
            self.error("type", param.at.span, text);
        }
        self.detached(Body::constant(), |s| s.default_of(param, ty));
    }

    /// The default value of a parameter, known when the program is compiled and of the parameter's
    /// type.
    pub(super) fn default_of(&mut self, param: &'a ast::Param, ty: &Ty) -> Option<Elab<'a>> {
        let default = param.default.as_ref()?;
        let value = self.const_expr(default, Some(ty));
        // A parser or control is held against the type where it is given, with all type arguments
        // known.
        if !ty.is_data() || matches!(ty, Ty::Param(..)) {
            return Some(value);
        }
        Some(self.coerce(value, ty, default.at.span))
    }

    /// Types of a method's parameters, its own type parameters standing for themselves.
    pub(super) fn method_types(
        &mut self,
        object: &'a ast::ExternObject,
        method: &'a ast::Method,
        targs: &[Ty],
    ) -> Vec<Ty> {
        let inner: Vec<Ty> = method
            .prototype
            .type_params
            .iter()
            .map(|p| Ty::Param(p.at.id, p.name.name.clone()))
            .collect();
        self.detached(Body::constant(), |s| {
            s.bind_type_params(&object.type_params, targs);
            s.scoped(|s| {
                s.bind_type_params(&method.prototype.type_params, &inner);
                s.ty(&method.prototype.result);
                let params = method.prototype.params.iter();
                params.map(|p| s.ty(&p.ty)).collect()
            })
        })
    }

    fn check_params(&mut self, decl: &'a ast::Decl, targs: &[Ty], params: &'a [ast::Param]) {
        let tys = self.block_types(decl, targs, params);
        self.check_typed_params(decl, params, &tys);
        // Those of an action are looked at where the action is.
        if !matches!(decl.kind, DeclKind::Action(_)) {
            let body = Body::constant();
            self.detached(body, |s| {
                s.bind_type_params(Self::type_params(decl), targs);
                for (param, ty) in params.iter().zip(&tys) {
                    s.annotation_values(&param.annotations);
                    s.default_of(param, ty);
                }
            });
        }
        let applied = matches!(decl.kind, DeclKind::Parser(_) | DeclKind::Control(_));
        for (param, ty) in params.iter().zip(&tys) {
            let constructor = std::ptr::eq(params, Self::apply_params(decl));
            if applied && constructor && matches!(ty, Ty::Block(..) | Ty::Package(..)) {
                self.error(
                    "type",
                    param.at.span,
                    format!("a parameter of `apply` cannot have type `{ty}`"),
                );
            }
            if applied && !constructor && is_optional(param) {
                self.error(
                    "type",
                    param.at.span,
                    "`@optional` is only possible for externs, packages and their types",
                );
            }
        }
    }

    /// What holds for parameters everywhere.
    fn check_typed_params(&mut self, decl: &'a ast::Decl, params: &'a [ast::Param], tys: &[Ty]) {
        let names: Vec<_> = params.iter().map(|p| p.name.clone()).collect();
        self.distinct(&names);
        for (param, ty) in params.iter().zip(tys) {
            if param.direction != Direction::None && !ty.can_be_directed() {
                self.error(
                    "type",
                    param.at.span,
                    format!("a parameter of type `{ty}` cannot have a direction"),
                );
            }
            if *ty == Ty::Void {
                self.error("type", param.at.span, "a parameter cannot be `void`");
            }
            // A block with a body is no type for values; only bodiless types are.
            if let Ty::Block(id, name, _) = ty
                && let Some(block) = self.checker.decls.get(id)
                && matches!(block.kind, DeclKind::Parser(_) | DeclKind::Control(_))
            {
                let text = format!("a parameter cannot have type `{name}`, which has a body");
                self.error("type", param.at.span, text);
            }
            let bare = matches!(&param.ty.kind, ast::TypeKind::Name(_));
            let generic = match ty {
                Ty::Extern(id, _, args) if bare && *id != decl.at.id => {
                    args.iter().any(|a| matches!(a, Ty::Var(_)))
                }
                _ => false,
            };
            if generic {
                let text = format!("`{ty}` needs its type arguments here");
                self.error("type", param.ty.at.span, text);
            }
            self.check_default(param);
        }
    }

    fn check_block(&mut self, decl: &'a ast::Decl, targs: Vec<Ty>) {
        let params = match &decl.kind {
            DeclKind::Parser(p) => &p.constructor_params,
            DeclKind::Control(c) => &c.constructor_params,
            _ => return,
        };
        let ctor_types = self.block_types(decl, &targs, params);
        let ctor = ctor_types
            .into_iter()
            .map(|t| Elab::new(t, Val::Poison))
            .collect();
        let name = decl.name().map_or(String::new(), |n| n.to_string());
        let instance = BlockInstance {
            decl,
            type_args: targs.clone(),
            ctor,
            name,
            applied: None,
        };
        self.blocks.push(instance);
        let index = self.blocks.len() - 1;
        let apply = Self::apply_params(decl);
        let tys = self.block_types(decl, &targs, apply);
        let mut bindings = Vec::new();
        for (param, ty) in apply.iter().zip(tys) {
            if ty.is_data() {
                let var = self.new_var(&param.name.name, &ty, VarKind::Param, param.name.span);
                let passing = Passing {
                    place: Place::var(var),
                    ty,
                    direction: param.direction,
                };
                bindings.push(Bound::Own(passing));
            } else {
                let val = if ty.is_packet() {
                    Val::Object(Object::Packet)
                } else {
                    Val::Poison
                };
                bindings.push(Bound::Object(Elab::new(ty, val)));
            }
        }
        self.elaborate_block(index, bindings, decl.at.span);
    }
}

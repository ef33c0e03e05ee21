//! Abstract methods of extern objects, and what holds for methods once the object's types are
//! known.
//!
//! A method that the program defines where it instantiates the object is checked like a function.
//! `p4ir` has no place for it: only the `apply` of Tofino's register actions is ever called, and
//! that becomes a function.

use super::call::is_optional;
use super::value::Elab;
use super::{Body, BodyKind, FunctionInstance, Lowerer};
use crate::ast::{self, DeclKind, MethodKind};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    fn extern_object(&self, ty: &Ty) -> Option<&'a ast::ExternObject> {
        let Ty::Extern(id, ..) = ty else {
            return None;
        };
        match &self.checker.decls.get(id)?.kind {
            DeclKind::ExternObject(object) => Some(object),
            _ => None,
        }
    }

    /// Parameters with a direction hold data, with the object's type arguments in place.
    pub(super) fn check_specialized(&mut self, object: &'a ast::ExternObject, ty: &Ty, span: Span) {
        let Ty::Extern(_, _, targs) = ty else { return };
        if targs.is_empty() {
            return;
        }
        for method in &object.methods {
            let tys = self.method_types(object, method, targs);
            self.check_settled(&method.prototype.params, &tys, span);
            for (param, ty) in method.prototype.params.iter().zip(&tys) {
                if matches!(self.checker.infer.resolve(ty), Ty::Block(..)) {
                    let text = format!("`{}` of an extern cannot be a `{ty}`", param.name);
                    self.report(
                        Diagnostic::error("type", span, text)
                            .with_related(param.at.span, "the parameter is declared here"),
                    );
                }
            }
        }
    }

    /// An object made in an expression has no place to define abstract methods.
    pub(super) fn no_abstract_methods(&mut self, value: &Elab<'a>, span: Span) {
        let Some(object) = self.extern_object(&value.ty) else {
            return;
        };
        let mut methods = object.methods.iter();
        if let Some(method) = methods.find(|m| must_be_defined(m)) {
            let text = format!("`{}` has abstract methods", object.name);
            self.report(
                Diagnostic::error("type", span, text)
                    .with_related(method.prototype.name.span, "this must be defined")
                    .with_help(format!(
                        "declare an instance: `{}(...) name = {{ ... }};`",
                        object.name
                    )),
            );
        }
    }

    /// The definitions `{ ... }` behind an instance.
    pub(super) fn abstract_methods(&mut self, value: &Elab<'a>, i: &'a ast::Instance) {
        let given = i.init.as_deref().unwrap_or(&[]);
        if value.ty.is_poison() {
            return;
        }
        let Some(object) = self.extern_object(&value.ty) else {
            if let Some(first) = given.first() {
                let text = format!("`{}` has no abstract methods", value.ty);
                self.error("type", first.at.span, text);
            }
            return;
        };
        for method in object.methods.iter().filter(|m| must_be_defined(m)) {
            let name = &method.prototype.name;
            if !given.iter().any(|d| d.name() == Some(name)) {
                let text = format!("`{}` does not define the abstract method `{name}`", i.name);
                self.report(
                    Diagnostic::error("type", i.name.span, text)
                        .with_related(name.span, "declared here"),
                );
            }
        }
        let outer = self.this.replace(value.clone());
        self.scoped(|s| {
            for decl in given {
                match &decl.kind {
                    DeclKind::Function(f) => s.abstract_method(object, &value.ty, f),
                    DeclKind::Instance(i) => s.local_instance(decl, i),
                    _ => s.error(
                        "syntax",
                        decl.at.span,
                        "only methods and instances are defined here",
                    ),
                }
            }
        });
        self.this = outer;
    }

    fn abstract_method(&mut self, object: &'a ast::ExternObject, ty: &Ty, f: &'a ast::Function) {
        let (name, params) = (&f.prototype.name, &f.prototype.params);
        let mut declared = object.methods.iter();
        let declared = declared.find(|m| {
            m.kind == MethodKind::Abstract
                && m.prototype.name == *name
                && meant(m, params).is_some()
        });
        let Some(method) = declared else {
            let text = format!(
                "`{}` has no abstract method `{name}` with these parameters",
                object.name
            );
            let defined = object.methods.iter();
            let known = defined.filter(|m| m.kind == MethodKind::Abstract);
            let known = known.map(|m| &*m.prototype.name.name);
            let d = Diagnostic::error("name", name.span, text);
            self.report(d.with_nearest(&name.name, known));
            return;
        };
        let targs = match ty {
            Ty::Extern(_, _, targs) => targs.to_vec(),
            _ => Vec::new(),
        };
        let wanted = self.method_types(object, method, &targs);
        let wanted_result = self.method_result(object, method, &targs);
        let body = Body {
            kind: BodyKind::Function,
            result: None,
            loops: 0,
        };
        let outer = std::mem::replace(&mut self.body, body);
        let (body, (params, listed)) = self.nested(|s| {
            s.scoped(|s| {
                let result = s.ty(&f.prototype.result);
                s.meets(name.span, "result", &wanted_result, &result);
                if result != Ty::Void {
                    let var = s.new_var("result", &result, p4ir::VarKind::Result, name.span);
                    s.body.result = Some((var, result));
                }
                for param in params {
                    let ty = s.ty(&param.ty);
                    s.default_of(param, &ty);
                }
                let (passed, listed) = s.value_params(params, None);
                let meant = meant(method, params).unwrap_or_default();
                let pairs = params.iter().zip(&passed).zip(meant);
                for ((given, (_, ty, _)), at) in pairs {
                    let (declared, want) = (&method.prototype.params[at], &wanted[at]);
                    if given.direction != declared.direction {
                        let text = format!(
                            "parameter `{}` has another direction than declared",
                            given.name
                        );
                        s.report(
                            Diagnostic::error("type", given.at.span, text)
                                .with_related(declared.at.span, "declared here"),
                        );
                    }
                    s.meets(given.at.span, "parameter", want, ty);
                }
                s.scoped(|s| s.block(&f.body));
                (passed, listed)
            })
        });
        self.body = outer;
        // Only Tofino's register actions are ever called.
        if self.tna() && &*name.name == "apply" {
            let span = self.span(name.span);
            let id = self.emitter.ir.functions.push(p4ir::Function {
                name: name.to_string(),
                params: listed,
                result: None,
                body,
                span,
            });
            let result = None;
            self.tna_apply(FunctionInstance { id, params, result });
        }
    }

    fn method_result(
        &mut self,
        object: &'a ast::ExternObject,
        method: &'a ast::Method,
        targs: &[Ty],
    ) -> Ty {
        self.detached(Body::constant(), |s| {
            s.bind_type_params(&object.type_params, targs);
            s.ty(&method.prototype.result)
        })
    }

    fn meets(&mut self, span: Span, what: &str, wanted: &Ty, given: &Ty) {
        let (wanted, given) = (
            self.checker.infer.resolve(wanted),
            self.checker.infer.resolve(given),
        );
        // What `_` left open is what the definition has.
        if wanted.is_open() && self.checker.infer.unify(&wanted, &given) {
            return;
        }
        if wanted != given && !wanted.is_poison() && !given.is_poison() {
            let text =
                format!("the {what} is `{wanted}` where the method is declared, here `{given}`");
            self.error("type", span, text);
        }
    }

    /// Parameters of type `int` of an extern take numbers of any width, also at run time.
    /// Returns which these are.
    pub(super) fn open_ints(&mut self, tys: &mut [Ty]) -> Vec<bool> {
        let ints: Vec<bool> = tys.iter().map(|t| *t == Ty::Int).collect();
        for ty in tys.iter_mut().filter(|t| **t == Ty::Int) {
            *ty = self.checker.infer.fresh();
        }
        ints
    }

    /// After [`Self::open_ints`]: whether numbers were given.
    pub(super) fn check_ints(
        &mut self,
        ints: &[bool],
        tys: &[Ty],
        bound: &[Option<&'a ast::Arg>],
        span: Span,
    ) {
        for ((ty, arg), _) in tys.iter().zip(bound).zip(ints).filter(|(_, int)| **int) {
            let given = self.checker.infer.resolve(ty);
            if !matches!(given, Ty::Int | Ty::Bits { .. } | Ty::Var(_) | Ty::Poison) {
                let at = arg.map_or(span, |a| a.at.span);
                self.error("type", at, format!("expected `int`, found `{given}`"));
            }
        }
    }
}

/// The positions of the declared parameters that a definition has: optional ones may be left out,
/// by name or from the end. `None` if it does not fit.
fn meant(method: &ast::Method, given: &[ast::Param]) -> Option<Vec<usize>> {
    let declared = &method.prototype.params;
    let wanted = |p: &ast::Param| !is_optional(p) || given.iter().any(|g| g.name == p.name);
    let by_name = declared.iter().enumerate().filter(|(_, p)| wanted(p));
    let by_name: Vec<usize> = by_name.map(|(at, _)| at).collect();
    if by_name.len() == given.len() {
        return Some(by_name);
    }
    let rest = declared.get(given.len()..)?;
    rest.iter()
        .all(is_optional)
        .then(|| (0..given.len()).collect())
}

fn must_be_defined(method: &ast::Method) -> bool {
    let optional = |a: &ast::Annotation| &*a.name.name == "optional";
    method.kind == MethodKind::Abstract && !method.annotations.iter().any(optional)
}

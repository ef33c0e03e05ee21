//! Looking for errors where `main` does not lead: declarations nothing instantiates, and signatures.

use p4ir::{Place, VarKind};

use super::Lowerer;
use super::call::Passing;
use super::instance::{BlockInstance, Bound};
use super::value::{Elab, Object, Val};
use crate::ast::{self, DeclKind, Direction};
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
                let used = self.functions.keys().any(|(id, _)| *id == decl.at.id);
                if !used || !targs.is_empty() {
                    self.function(decl, f, &targs, decl.at.span);
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
                for method in &object.methods {
                    let names: Vec<_> = method
                        .prototype
                        .params
                        .iter()
                        .map(|p| p.name.clone())
                        .collect();
                    self.distinct(&names);
                    let inner: Vec<_> = method
                        .prototype
                        .type_params
                        .iter()
                        .map(|p| p.name.clone())
                        .collect();
                    self.distinct(&inner);
                }
            }
            _ => {}
        }
        let is_main = decl.name().is_some_and(|n| &*n.name == "main");
        if is_main && matches!(decl.kind, DeclKind::Function(_)) {
            self.error(
                "arch",
                decl.at.span,
                "`main` must be an instance of a package",
            );
        }
    }

    fn check_params(&mut self, decl: &'a ast::Decl, targs: &[Ty], params: &'a [ast::Param]) {
        let names: Vec<_> = params.iter().map(|p| p.name.clone()).collect();
        self.distinct(&names);
        let tys = self.block_types(decl, targs, params);
        let applied = matches!(decl.kind, DeclKind::Parser(_) | DeclKind::Control(_));
        for (param, ty) in params.iter().zip(&tys) {
            let directed = param.direction != Direction::None;
            let object = matches!(
                ty,
                Ty::Extern(..) | Ty::String | Ty::Int | Ty::Package(..) | Ty::Block(..)
            );
            if directed && object {
                self.error(
                    "type",
                    param.at.span,
                    format!("a parameter of type `{ty}` cannot have a direction"),
                );
            }
            if *ty == Ty::Void {
                self.error("type", param.at.span, "a parameter cannot be `void`");
            }
            let constructor = std::ptr::eq(params, Self::apply_params(decl));
            if applied && constructor && matches!(ty, Ty::Block(..) | Ty::Package(..)) {
                self.error(
                    "type",
                    param.at.span,
                    format!("a parameter of `apply` cannot have type `{ty}`"),
                );
            }
            if param.default.is_some()
                && matches!(param.direction, Direction::Out | Direction::InOut)
            {
                self.error(
                    "type",
                    param.at.span,
                    "`out` and `inout` parameters have no default values",
                );
            }
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
                let packet = matches!(&ty, Ty::Extern(_, n, _) if matches!(&**n, "packet_in" | "packet_out"));
                let val = if packet {
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

//! Packages: `main`, and binding the architecture's blocks to shared storage.

use std::collections::HashMap;

use p4ir::{
    ArgValue, Callee, ExternInstance, ExternType, Package, PackageArg, Place, VarId, VarKind,
};

use super::args::Passing;
use super::call::is_optional;
use super::instance::Bound;
use super::value::{Elab, Object, Val};
use super::{Entity, Lowerer};
use crate::ast::{self, DeclKind, NodeId};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    /// Elaborates everything `main` reaches.
    pub(super) fn main(&mut self) {
        match self.global("main") {
            Some(Entity::Value(Elab {
                val: Val::Object(Object::Package(package)),
                ..
            })) => {
                self.emitter.ir.main = *package;
            }
            Some(Entity::Value(_) | Entity::Poison) => {}
            _ => self.report(
                Diagnostic::warning("arch", None, "the program instantiates no `main` package")
                    .with_help("for v1model: `V1Switch(MyParser(), ...) main;`"),
            ),
        }
    }

    pub(super) fn make_package(
        &mut self,
        id: NodeId,
        ty: &Ty,
        args: &'a [ast::Arg],
        own_name: &str,
        span: Span,
    ) -> Elab<'a> {
        let Ty::Package(_, name, targs) = ty else {
            return Elab::poison();
        };
        let Some(decl) = self.checker.decls.get(&id).copied() else {
            return Elab::poison();
        };
        let DeclKind::Package(callable) = &decl.kind else {
            return Elab::poison();
        };
        let tys = self.block_types(decl, targs, &callable.params);
        let what = format!("`{name}`");
        let Some(bound) = self.bind(&what, &callable.params, args, span) else {
            return Elab::poison();
        };
        let scope = (callable.type_params.as_slice(), targs.to_vec());
        let outer = self.checker.default_scope.replace(scope);
        let values = self.constructor_args(&what, &callable.params, &tys, args, span);
        self.checker.default_scope = outer;
        let Some(values) = values else {
            return Elab::poison();
        };
        let mut used = callable.params.iter().zip(&tys).zip(&bound.slots);
        let open = used.find(|((p, ty), arg)| {
            arg.is_none() && p.default.is_some() && !self.checker.infer.known(ty)
        });
        if let Some(((param, _), _)) = open {
            let text = format!("the type arguments of `{name}` cannot be inferred");
            self.report(
                Diagnostic::error("type", span, text)
                    .with_related(param.at.span, "the type of this is not known"),
            );
            return Elab::poison();
        }
        let mut shared = HashMap::new();
        let share = matches!(&**name, "V1Switch" | "Pipeline");
        let tna = self.tna();
        let pipe = match tna && self.checker.several_pipes() {
            true => format!("{own_name}."),
            false => String::new(),
        };
        let mut out = Vec::new();
        let all = callable.params.iter().zip(&tys).zip(&values);
        for (((param, ty), value), arg) in all.zip(bound.slots) {
            if arg.is_none() && param.default.is_none() {
                continue;
            }
            let value = match &value.val {
                Val::Object(Object::Block(index)) => {
                    // Ingress and egress of Tofino share nothing.
                    if !share || (tna && &*param.name.name == "egress_parser") {
                        shared.clear();
                    }
                    match self.start_block(*index, ty, &pipe, &mut shared, span) {
                        Some(Callee::Parser(id)) => ArgValue::Parser(id),
                        Some(Callee::Control(id)) => ArgValue::Control(id),
                        _ => return Elab::poison(),
                    }
                }
                Val::Object(Object::Extern(id)) => ArgValue::Extern(*id),
                Val::Object(Object::Package(inner)) => ArgValue::Package(inner.clone()),
                _ if value.is_poison() => return Elab::poison(),
                _ => ArgValue::Value(self.scalar(value, span)),
            };
            out.push(PackageArg {
                name: param.name.to_string(),
                value,
            });
        }
        let package = Package {
            type_name: name.to_string(),
            args: out,
        };
        Elab::new(
            self.checker.infer.resolve(ty),
            Val::Object(Object::Package(Box::new(package))),
        )
    }

    /// The object that the architecture passes for a parameter: a packet, or one of its own, of
    /// which nothing is known but its type.
    fn architecture_object(&mut self, param: &'a ast::Param, ty: &Ty) -> Object {
        let Ty::Extern(_, name, targs) = ty else {
            return Object::Packet;
        };
        if ty.is_packet() {
            return Object::Packet;
        }
        let span = self.span(param.name.span);
        let instance = ExternInstance {
            name: param.name.to_string(),
            ty: ExternType::Other(name.to_string()),
            type_args: targs.iter().map(|t| self.ir_ty(t)).collect(),
            args: Vec::new(),
            annotations: Vec::new(),
            span,
        };
        Object::Extern(self.emitter.ir.externs.push(instance))
    }

    /// Elaborates a block the architecture applies. Parameters that the architecture declares with
    /// the same type variable share storage through `shared`. `pipe` stands before the names of
    /// what is inside.
    fn start_block(
        &mut self,
        index: usize,
        declared: &Ty,
        pipe: &str,
        shared: &mut HashMap<Ty, VarId>,
        span: Span,
    ) -> Option<Callee> {
        if let Some((callee, _)) = &self.blocks[index].applied {
            return Some(*callee);
        }
        let decl = self.blocks[index].decl;
        // The architecture applies a block under the name of its declaration.
        let own = decl.name().map_or("", |n| &n.name);
        self.blocks[index].name = format!("{pipe}{own}");
        let keys = match declared {
            Ty::Block(id, _, targs) => match self.checker.decls.get(id).copied() {
                Some(ty) => self.block_types(ty, targs, Self::apply_params(ty)),
                None => Vec::new(),
            },
            _ => Vec::new(),
        };
        let params = Self::apply_params(decl);
        let targs = self.blocks[index].type_args.clone();
        let tys = self.block_types(decl, &targs, params);
        let mut bindings = Vec::new();
        for (i, (param, ty)) in params.iter().zip(&tys).enumerate() {
            let ty = self.checker.infer.resolve(ty);
            if !ty.is_data() {
                let object = self.architecture_object(param, &ty);
                bindings.push(Bound::Object(Elab::new(ty, Val::Object(object))));
                continue;
            }
            let known = keys.get(i).and_then(|k| shared.get(k).copied());
            let var = match known {
                Some(var) => var,
                None => {
                    let var = self.new_var(&param.name.name, &ty, VarKind::Param, param.name.span);
                    if let Some(key) = keys.get(i) {
                        shared.insert(key.clone(), var);
                    }
                    var
                }
            };
            let passing = Passing {
                place: Place::var(var),
                ty,
                direction: param.direction,
            };
            bindings.push(Bound::Own(passing));
        }
        self.elaborate_block(index, bindings, span);
        self.blocks[index]
            .applied
            .as_ref()
            .map(|(callee, _)| *callee)
    }

    /// Whether a block fits a parser or control type: same number of parameters, same directions,
    /// types that meet. Binds type variables on both sides.
    pub(super) fn block_fits(&mut self, wanted: &Ty, given: &Ty, span: Span) -> bool {
        let (Ty::Block(wid, wname, wargs), Ty::Block(gid, gname, gargs)) = (wanted, given) else {
            if !given.is_poison() {
                self.error(
                    "type",
                    span,
                    format!("expected `{wanted}`, found `{given}`"),
                );
            }
            return false;
        };
        if wid == gid {
            return self.checker.infer.unify(wanted, given);
        }
        let (Some(w), Some(g)) = (
            self.checker.decls.get(wid).copied(),
            self.checker.decls.get(gid).copied(),
        ) else {
            return false;
        };
        let (wp, gp) = (Self::apply_params(w), Self::apply_params(g));
        let same_kind = is_parser(w) == is_parser(g);
        // The architecture does not pass what a block leaves out, if that has a default value or is
        // optional.
        let may_lack = |p: &ast::Param| p.default.is_some() || is_optional(p);
        let fewer = wp.get(gp.len()..).map(|rest| rest.iter().all(may_lack));
        if !same_kind || !fewer.unwrap_or(false) {
            let what = if same_kind {
                format!("it has {} parameters, not {}", gp.len(), wp.len())
            } else if is_parser(w) {
                "it is a control, not a parser".into()
            } else {
                "it is a parser, not a control".into()
            };
            self.report(
                Diagnostic::error(
                    "type",
                    span,
                    format!("`{gname}` does not fit `{wname}`: {what}"),
                )
                .with_related(g.name().map_or(g.at.span, |n| n.span), "declared here")
                .with_related(
                    w.name().map_or(w.at.span, |n| n.span),
                    "must have these parameters",
                ),
            );
            return false;
        }
        let wtys = self.block_types(w, wargs, wp);
        let gtys = self.block_types(g, gargs, gp);
        let mut ok = true;
        for ((x, y), (tx, ty)) in wp.iter().zip(gp).zip(wtys.iter().zip(&gtys)) {
            if x.direction != y.direction {
                self.report(
                    Diagnostic::error(
                        "type",
                        span,
                        format!("`{gname}` does not fit `{wname}`: parameter `{}` has another direction", y.name),
                    )
                    .with_related(y.at.span, "declared here"),
                );
                ok = false;
            } else if !self.checker.infer.unify(tx, ty) {
                let (tx, ty) = (
                    self.checker.infer.resolve(tx),
                    self.checker.infer.resolve(ty),
                );
                self.report(
                    Diagnostic::error(
                        "type",
                        span,
                        format!("`{gname}` does not fit `{wname}`: parameter `{}` has type `{ty}`, not `{tx}`", y.name),
                    )
                    .with_related(y.at.span, "declared here"),
                );
                ok = false;
            }
        }
        ok
    }
}

fn is_parser(decl: &ast::Decl) -> bool {
    matches!(decl.kind, DeclKind::Parser(_) | DeclKind::ParserType(_))
}

//! Generic signatures: opening them with inference variables and settling these after the
//! arguments.

use super::{Body, Entity, Lowerer};
use crate::ast;
use crate::diag::{Diagnostic, counted};
use crate::source::Span;
use crate::types::Ty;

/// Type arguments, parameter types and result type of an opened signature.
pub(super) type Signature = (Vec<Ty>, Vec<Ty>, Ty);

impl<'a> Lowerer<'a> {
    /// Types of a prototype with its type parameters replaced by the given arguments or by
    /// variables. `outer` are the type parameters of the enclosing extern, bound to `outer_args`.
    pub(super) fn signature(
        &mut self,
        proto: &'a ast::Prototype,
        type_args: &'a [ast::Type],
        outer: &'a [ast::TypeParam],
        outer_args: &[Ty],
        span: Span,
    ) -> Option<Signature> {
        if !type_args.is_empty() && type_args.len() != proto.type_params.len() {
            let text = format!(
                "`{}` takes {}, {} given",
                proto.name,
                counted(proto.type_params.len(), "type argument"),
                type_args.len()
            );
            self.error("type", span, text);
            return None;
        }
        let targs: Vec<Ty> = if type_args.is_empty() {
            proto
                .type_params
                .iter()
                .map(|_| self.checker.infer.fresh())
                .collect()
        } else {
            type_args.iter().map(|t| self.ty(t)).collect()
        };
        let (tys, result) = self.detached(Body::constant(), |s| {
            s.bind_type_params(outer, outer_args);
            s.checker.scopes.push(super::Scope::new());
            for (param, arg) in proto.type_params.iter().zip(&targs) {
                s.declare(&param.name, Entity::Type(arg.clone()));
            }
            let tys: Vec<_> = proto.params.iter().map(|p| s.ty(&p.ty)).collect();
            (tys, s.ty(&proto.result))
        });
        Some((targs, tys, result))
    }

    /// The type arguments after inference. What only numbers without width determined becomes
    /// `bit<32>`; what nothing determined is an error.
    pub(super) fn settle(
        &mut self,
        targs: &[Ty],
        proto: &ast::Prototype,
        bound: &[Option<&'a ast::Arg>],
        span: Span,
    ) -> Option<Vec<Ty>> {
        let mut settled = Vec::new();
        for (arg, param) in targs.iter().zip(&proto.type_params) {
            let ty = self.checker.infer.resolve(arg);
            let of_param = |p: &ast::Param| matches!(&p.ty.kind, ast::TypeKind::Name(n) if n.name == param.name);
            if ty == Ty::Int {
                let mut used = proto.params.iter().zip(bound);
                let run_time = used.find(|(p, a)| {
                    p.direction != ast::Direction::None && of_param(p) && a.is_some()
                });
                if let Some((_, Some(a))) = run_time {
                    self.report(
                        Diagnostic::error(
                            "type",
                            a.at.span,
                            "the width of this number is not known",
                        )
                        .with_help("give it one, for example `16w5` or `(bit<16>) 5`"),
                    );
                    return None;
                }
            }
            let omitted = proto
                .params
                .iter()
                .zip(bound)
                .any(|(p, a)| of_param(p) && a.is_none());
            if !self.checker.infer.known(&ty) && omitted {
                // Only an optional parameter without argument has this type.
                settled.push(Ty::bit(1));
                continue;
            }
            if !self.checker.infer.known(&ty) {
                let text = format!(
                    "type argument `{}` of `{}` cannot be inferred",
                    param.name, proto.name
                );
                self.error("type", span, text);
                return None;
            }
            settled.push(ty);
        }
        Some(settled)
    }
}

//! `base.member` where it is not called.

use p4ir::{BinaryOp as Ir, Const, ExprKind as IrExpr, Place, Projection, StmtKind};

use super::builtin::methods_of;
use super::value::{Elab, Val};
use super::{BodyKind, Lowerer};
use crate::ast::{self, ExprKind, TypeKind};
use crate::diag::Diagnostic;
use crate::names::{closest, overlapping};
use crate::source::Span;
use crate::types::{EnumTy, Ty};

impl<'a> Lowerer<'a> {
    pub(super) fn member(
        &mut self,
        base: &'a ast::Expr,
        member: &'a ast::Ident,
        span: Span,
    ) -> Elab<'a> {
        if let ExprKind::TypeName(ty) = &base.kind {
            return self.type_member(ty, member);
        }
        if matches!(&*member.name, "hit" | "miss" | "action_run")
            && let Some(table) = self.applied_table(base)
        {
            self.note_method(&Ty::ApplyResult, member);
            return self.apply_result(table, &member.name, span);
        }
        let value = self.expr(base, None);
        self.member_of(value, member, span)
    }

    /// A member of an elaborated value.
    pub(super) fn member_of(
        &mut self,
        value: Elab<'a>,
        member: &ast::Ident,
        span: Span,
    ) -> Elab<'a> {
        let ty = self.checker.infer.resolve(&value.ty);
        self.note_member(&ty, member);
        match &ty {
            Ty::Poison => Elab::poison(),
            Ty::Record(r) => match r.field(&member.name) {
                Some((i, field)) if matches!(value.val, Val::Poison) => {
                    let _ = i;
                    Elab::new(field.ty.clone(), Val::Poison)
                }
                Some((i, _)) => {
                    let value = Elab {
                        ty: ty.clone(),
                        val: value.val,
                    };
                    self.component(&value, i, span)
                }
                None => self.no_member(&ty, member, r.fields.iter().map(|f| &*f.name)),
            },
            Ty::StructExpr(fields) => match fields.iter().position(|(n, _)| *n == member.name) {
                Some(i) => self.component(&value, i as u32, span),
                None => self.no_member(&ty, member, fields.iter().map(|(n, _)| &**n)),
            },
            Ty::Stack(element, size) => {
                let (element, size) = ((**element).clone(), *size);
                self.stack_member(&value, &element, size, member, span)
            }
            Ty::ApplyResult => {
                self.no_member(&ty, member, ["hit", "miss", "action_run"].into_iter())
            }
            _ => self.no_member(&ty, member, std::iter::empty()),
        }
    }

    /// Notes what a member of a value is.
    fn note_member(&mut self, ty: &Ty, member: &ast::Ident) {
        match ty {
            Ty::Record(r) => {
                if let Some((_, field)) = r.field(&member.name) {
                    self.checker.used_field(member.span, r.decl, field.index);
                }
            }
            _ => self.note_method(ty, member),
        }
    }

    fn no_member<'n>(
        &mut self,
        ty: &Ty,
        member: &ast::Ident,
        known: impl Iterator<Item = &'n str>,
    ) -> Elab<'a> {
        let text = format!("`{ty}` has no member `{member}`");
        let d = Diagnostic::error("name", member.span, text);
        let methods = methods_of(ty);
        let known: Vec<&str> = known.collect();
        let like = |names: &[&'n str]| {
            let near = closest(&member.name, names.iter().copied());
            near.or_else(|| overlapping(&member.name, names))
        };
        let (field, method) = (like(&known), like(methods));
        let d = match method {
            _ if methods.contains(&&*member.name) => {
                d.with_help(format!("`{member}` is a method: write `{member}(...)`"))
            }
            Some(method) if field.is_none() => {
                d.with_help(format!("did you mean the method `{method}`?"))
            }
            _ => d.with_known("members", &member.name, known),
        };
        self.report(d);
        Elab::poison()
    }

    fn type_member(&mut self, ty: &'a ast::Type, member: &'a ast::Ident) -> Elab<'a> {
        if matches!(ty.kind, TypeKind::Error) {
            if let Some(at) = self.checker.notes.error_at(&member.name) {
                self.checker.used(member.span, at);
            }
            return match self.checker.errors.get(&member.name) {
                Some(i) => Elab::new(Ty::Error, Val::Error(*i)),
                None => {
                    let known: Vec<_> = self.checker.errors.keys().cloned().collect();
                    let mut known: Vec<&str> = known.iter().map(|s| &**s).collect();
                    known.sort_unstable();
                    self.no_member(&Ty::Error, member, known.into_iter())
                }
            };
        }
        let resolved = self.ty(ty);
        match &resolved {
            Ty::Enum(e) => match self.enum_member(e, &member.name) {
                Some(val) => {
                    self.checker.used_member(member.span, e.decl, &member.name);
                    Elab::new(resolved.clone(), val)
                }
                None => {
                    let e = e.clone();
                    self.no_member(&resolved, member, e.members.iter().map(|m| &**m))
                }
            },
            Ty::Poison => Elab::poison(),
            other => self.no_member(&other.clone(), member, std::iter::empty()),
        }
    }

    /// The value of an enum's member. While the enum is made it has only the members before.
    fn enum_member(&self, e: &EnumTy, member: &str) -> Option<Val<'a>> {
        let i = e.members.get_index_of(member)?;
        let Some((_, values)) = &e.repr else {
            return Some(Val::Enum(i as u32));
        };
        let values = self.checker.open_enums.get(&e.decl).unwrap_or(values);
        values.get(i).cloned().map(Val::Int)
    }

    fn stack_member(
        &mut self,
        value: &Elab<'a>,
        element: &Ty,
        size: u32,
        member: &ast::Ident,
        span: Span,
    ) -> Elab<'a> {
        if matches!(value.val, Val::Poison) {
            let ty = match &*member.name {
                "next" | "last" => element.clone(),
                "size" | "lastIndex" | "nextIndex" => Ty::bit(32),
                _ => return self.no_member(&value.ty, member, STACK_MEMBERS.into_iter()),
            };
            return Elab::new(ty, Val::Poison);
        }
        if &*member.name == "size" {
            return Elab::new(Ty::bit(32), Val::Int(size.into()));
        }
        let Val::Place { place, writable } = &value.val else {
            return self.no_member(&value.ty, member, ["size"].into_iter());
        };
        let (place, writable) = (place.clone(), *writable);
        match &*member.name {
            "next" | "last" | "lastIndex" if self.body.kind != BodyKind::Parser => {
                self.error(
                    "type",
                    span,
                    format!("`{member}` of a stack can only be used in parsers"),
                );
                Elab::new(
                    if &*member.name == "lastIndex" {
                        Ty::bit(32)
                    } else {
                        element.clone()
                    },
                    Val::Poison,
                )
            }
            "next" => {
                let next = self.next_index(&place);
                let size = self.bits_const(size.into(), 32);
                let ty = self.emitter.common.boolean;
                let cond = self
                    .emitter
                    .ir
                    .add_expr(IrExpr::Binary(Ir::Lt, next, size), ty);
                self.check_bounds(cond, span);
                Elab::place(
                    element.clone(),
                    place.project(Projection::DynIndex(next)),
                    writable,
                )
            }
            "last" => {
                let next = self.next_index(&place);
                let zero = self.bits_const(0, 32);
                let ty = self.emitter.common.boolean;
                let cond = self
                    .emitter
                    .ir
                    .add_expr(IrExpr::Binary(Ir::Ne, next, zero), ty);
                self.check_bounds(cond, span);
                let last = self.last_index(&place);
                Elab::place(
                    element.clone(),
                    place.project(Projection::DynIndex(last)),
                    writable,
                )
            }
            "lastIndex" => Elab::new(Ty::bit(32), Val::Expr(self.last_index(&place))),
            "nextIndex" => Elab::new(Ty::bit(32), Val::Expr(self.next_index(&place))),
            _ => self.no_member(&value.ty, member, STACK_MEMBERS.into_iter()),
        }
    }

    fn last_index(&mut self, stack: &Place) -> p4ir::ExprId {
        let next = self.next_index(stack);
        let one = self.bits_const(1, 32);
        let ty = self.emitter.common.bit32;
        self.emitter
            .ir
            .add_expr(IrExpr::Binary(Ir::Sub, next, one), ty)
    }

    /// Parser: `StackOutOfBounds` unless `cond`.
    fn check_bounds(&mut self, cond: p4ir::ExprId, span: Span) {
        let index = self
            .checker
            .errors
            .get("StackOutOfBounds")
            .copied()
            .unwrap_or(0);
        let ty = self.emitter.common.error;
        let error = self
            .emitter
            .ir
            .add_expr(IrExpr::Const(Const::Error(index)), ty);
        self.emit(StmtKind::Verify { cond, error }, span);
    }
}

const STACK_MEMBERS: [&str; 5] = ["size", "next", "last", "lastIndex", "nextIndex"];

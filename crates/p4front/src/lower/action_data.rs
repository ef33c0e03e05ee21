//! Data of a table's actions: arguments that are known when the program is compiled, and what is
//! no scalar taken apart.

use std::rc::Rc;

use p4ir::{Assign, Block, Const, Place, Projection, Stmt, StmtKind};

use super::value::{Elab, Val};
use super::{ActionInfo, Lowerer};
use crate::ast::{self, Direction};
use crate::diag::{Diagnostic, counted};
use crate::source::Span;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    /// An action of the same name that first computes the arguments bound in a table's list, then
    /// calls the action: they are evaluated when it runs, and what they call may have effects. Data
    /// that is no scalar it takes in parts, and puts them together.
    pub(super) fn wrap_action(
        &mut self,
        info: &Rc<ActionInfo<'a>>,
        mut body: p4ir::Block,
        mut copy_in: Vec<Assign>,
        copy_out: Block,
        span: Span,
    ) -> p4ir::ActionId {
        let mut params = Vec::new();
        for param in info.params.iter().filter(|p| p.is_data()) {
            let name = &param.decl.name;
            let mut parts = Vec::new();
            for (part, ty) in param.ty.scalar_parts() {
                self.spend(1);
                let name = format!("{name}{part}");
                let span = param.decl.name.span;
                let var = self.new_var(&name, &ty, p4ir::VarKind::Param, span);
                parts.push(var);
                params.push(p4ir::Param {
                    name,
                    direction: p4ir::Direction::None,
                    var,
                });
            }
            match (Self::is_scalar(&param.ty), parts.as_slice()) {
                (true, [var]) => {
                    let value = self.read(Place::var(*var), &param.ty);
                    copy_in.push(Assign {
                        dst: Place::var(param.var),
                        value,
                    });
                }
                _ => {
                    let mut parts = parts.into_iter();
                    let (stores, ()) = self.nested(|s| {
                        s.put_together(&Place::var(param.var), &param.ty, &mut parts, span);
                    });
                    body.extend(stores);
                }
            }
        }
        let kind = StmtKind::Call {
            callee: p4ir::Callee::Action(info.id),
            copy_in,
            copy_out,
        };
        let span = self.span(span);
        body.push(Stmt { kind, span });
        let action = p4ir::Action {
            params,
            body,
            ..self.emitter.ir.actions[info.id].clone()
        };
        let id = self.emitter.ir.actions.push(action);
        self.emitter.wrapped.insert(id, info.id);
        self.facts.same_action(id, info.id);
        id
    }

    /// Stores scalars in a place of any type, in the order of [`Ty::scalar_parts`].
    fn put_together(
        &mut self,
        dst: &Place,
        ty: &Ty,
        parts: &mut impl Iterator<Item = p4ir::VarId>,
        span: Span,
    ) {
        if Self::is_scalar(ty) {
            if let Some(var) = parts.next() {
                let value = Elab::place(ty.clone(), Place::var(var), false);
                self.store(dst, ty, value, span);
            }
            return;
        }
        if ty.is_header()
            && let Some(var) = parts.next()
        {
            let cond = self.read(Place::var(var), &Ty::Bool);
            let (then, ()) = self.nested(|s| s.emit(StmtKind::SetValid(dst.clone()), span));
            let (other, ()) = self.nested(|s| s.emit(StmtKind::SetInvalid(dst.clone()), span));
            self.emit(StmtKind::If { cond, then, other }, span);
        }
        for (i, part) in (0..).zip(ty.components()) {
            let step = match ty {
                Ty::Stack(..) => Projection::Index(i),
                _ => Projection::Field(i),
            };
            self.put_together(&dst.project(step), &part, parts, span);
        }
    }

    /// Compile-time action data. Arguments bound in the action list may be repeated in front.
    pub(super) fn action_data(
        &mut self,
        info: &Rc<ActionInfo<'a>>,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<Vec<Const>> {
        let all: Vec<_> = info.params.iter().collect();
        let data: Vec<_> = all.iter().copied().filter(|p| p.is_data()).collect();
        let params = if args.len() == all.len() || args.iter().any(|a| a.name.is_some()) {
            &all
        } else {
            &data
        };
        let mut slots: Vec<Option<Vec<Const>>> = vec![None; data.len()];
        if args.len() > params.len() {
            let text = format!(
                "action `{}` takes {}, {} given",
                info.decl.name,
                counted(data.len(), "argument"),
                args.len()
            );
            self.error("call", span, text);
            return None;
        }
        for (i, arg) in args.iter().enumerate() {
            let position = match &arg.name {
                None => Some(i),
                Some(name) => params.iter().position(|p| p.decl.name == *name),
            };
            let Some(param) = position.and_then(|i| params.get(i)) else {
                let name = arg.name.as_ref().map_or("", |name| &name.name);
                let text = format!("action `{}` has no parameter `{name}`", info.decl.name);
                let known = params.iter().map(|p| &*p.decl.name.name);
                self.report(Diagnostic::error("call", arg.at.span, text).with_known(
                    "parameters",
                    name,
                    known,
                ));
                return None;
            };
            if param.decl.direction != Direction::None {
                continue;
            }
            let value = self.const_expr(&arg.value, Some(&param.ty));
            let value = self.coerce(value, &param.ty, arg.at.span);
            if value.is_poison() {
                return None;
            }
            let slot = data.iter().position(|p| p.var == param.var)?;
            slots[slot] = self.data_constants(&value, arg.at.span);
            if slots[slot].is_none() {
                let text = format!("action data of type `{}` is not supported", value.ty);
                self.error("unsupported", arg.at.span, text);
                return None;
            }
        }
        for (slot, param) in slots.iter_mut().zip(&data) {
            if let (None, Some(value)) = (&slot, self.defaults.get(&param.decl.at.id).cloned()) {
                *slot = self.data_constants(&value, span);
            }
        }
        if let Some(missing) = slots.iter().position(Option::is_none) {
            let text = format!(
                "the argument for `{}` of action `{}` is missing",
                data[missing].decl.name, info.decl.name
            );
            self.error("call", span, text);
            return None;
        }
        let slots: Option<Vec<Vec<Const>>> = slots.into_iter().collect();
        slots.map(|slots| slots.into_iter().flatten().collect())
    }

    /// The scalars of a value that is known when the program is compiled, in the order of
    /// [`Ty::scalar_parts`].
    fn data_constants(&mut self, value: &Elab<'a>, span: Span) -> Option<Vec<Const>> {
        if Self::is_scalar(&value.ty) {
            return self.constant_of(value).map(|constant| vec![constant]);
        }
        self.spend(1);
        let mut all = Vec::new();
        if value.ty.is_header() {
            all.push(Const::Bool(!matches!(value.val, Val::Invalid)));
        }
        for i in 0..value.ty.components().len() {
            let part = self.component(value, i as u32, span);
            all.extend(self.data_constants(&part, span)?);
        }
        Some(all)
    }
}

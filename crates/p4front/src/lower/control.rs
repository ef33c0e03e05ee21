//! Controls and actions.

use std::rc::Rc;

use p4ir::{ActionId, Control, ControlId};

use super::value::{Elab, Object, Val};
use super::{ActionInfo, ActionParam, Body, BodyKind, Entity, Lowerer};
use crate::ast::{self, DeclKind, Direction};
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    /// The body of a control whose parameters are declared (and reset in the current block).
    pub(super) fn control_body(
        &mut self,
        c: &'a ast::Control,
        params: Vec<p4ir::Param>,
    ) -> ControlId {
        let first = (
            self.emitter.ir.tables.len(),
            self.emitter.ir.actions.len(),
            self.emitter.ir.controls.len(),
        );
        for (i, local) in c.locals.iter().enumerate() {
            self.at_local(c.body.at.id, i, c.locals.len());
            self.control_local(local);
        }
        self.at_local(c.body.at.id, c.locals.len(), c.locals.len());
        let init = std::mem::take(&mut self.emitter.out);
        self.block(&c.body);
        let body = std::mem::take(&mut self.emitter.out);
        let control = Control {
            name: self.prefix.clone(),
            type_name: c.signature.name.to_string(),
            params,
            init,
            body,
            tables: self.emitter.ir.tables.keys().skip(first.0).collect(),
            actions: self.emitter.ir.actions.keys().skip(first.1).collect(),
            subcontrols: self.emitter.ir.controls.keys().skip(first.2).collect(),
            span: self.span(c.signature.name.span),
        };
        self.emitter.ir.controls.push(control)
    }

    fn control_local(&mut self, decl: &'a ast::Decl) {
        self.annotation_values(&decl.annotations);
        match &decl.kind {
            DeclKind::Variable(v) => self.variable(v),
            DeclKind::Constant(c) => {
                let value = self.constant(c);
                self.declare(&c.name, Entity::Value(value));
            }
            DeclKind::Instance(i) => self.local_instance(decl, i),
            DeclKind::Action(a) => {
                let info = self.action(decl, a);
                self.declare(
                    &a.name,
                    Entity::Value(Elab::new(Ty::Action, Val::Action(info))),
                );
            }
            DeclKind::Table(t) => {
                let id = self.table(decl, t);
                self.declare(&t.name, Entity::Value(Elab::new(Ty::Table, Val::Table(id))));
            }
            _ => self.error(
                "syntax",
                decl.at.span,
                "this cannot be declared in a control",
            ),
        }
    }

    /// An instance inside a parser or control.
    pub(super) fn local_instance(&mut self, decl: &'a ast::Decl, i: &'a ast::Instance) {
        let value = self.instance(decl, i);
        if matches!(value.val, Val::Object(Object::Package(_))) {
            self.error(
                "arch",
                i.name.span,
                "packages can only be instantiated at the top level",
            );
        }
        let is_parser = matches!(&value.ty, Ty::Block(id, ..) if matches!(self.checker.decls.get(id).map(|d| &d.kind), Some(DeclKind::Parser(_))));
        if let Ty::Block(_, name, _) = &value.ty
            && is_parser != (self.body.kind == BodyKind::Parser)
        {
            let text = format!(
                "`{name}` cannot be instantiated here: parsers belong into parsers, controls into controls"
            );
            self.error("arch", i.name.span, text);
        }
        self.declare(&i.name, Entity::Value(value));
    }

    /// An action, in the scope where it is declared.
    pub(super) fn action(&mut self, decl: &'a ast::Decl, a: &'a ast::Action) -> Rc<ActionInfo<'a>> {
        let body = Body {
            kind: BodyKind::Action,
            result: None,
            loops: 0,
        };
        let outer = std::mem::replace(&mut self.body, body);
        let (block, (ir_params, infos)) = self.nested(|s| {
            s.scoped(|s| {
                s.keep_defaults(&a.params);
                let (passed, listed) = s.value_params(&a.params, None);
                s.scoped(|s| s.stmts_of(a.body.at.id, &a.body.stmts));
                let infos: Rc<[_]> = a
                    .params
                    .iter()
                    .zip(passed)
                    .map(|(decl, (var, ty, _))| ActionParam { decl, ty, var })
                    .collect();
                (listed, infos)
            })
        });
        self.body = outer;
        self.check_param_order(&a.params);
        for param in infos
            .iter()
            .filter(|p| matches!(p.ty, Ty::Int | Ty::String))
        {
            let text = format!("an action cannot have a parameter of type `{}`", param.ty);
            self.error("type", param.decl.ty.at.span, text);
        }
        let name = self.control_plane_name(&a.name.name, &decl.annotations, a.name.span);
        let action = p4ir::Action {
            name,
            params: ir_params,
            body: block,
            annotations: self.annotations(&decl.annotations),
            span: self.span(a.name.span),
        };
        let id: ActionId = self.emitter.ir.actions.push(action);
        self.facts.action(
            id,
            decl,
            infos.iter().map(|p| (p.decl, p.ty.clone())).collect(),
        );
        Rc::new(ActionInfo {
            id,
            decl: a,
            params: infos,
        })
    }

    /// Default values of an action's parameters, in the scope of its declaration.
    fn keep_defaults(&mut self, params: &'a [ast::Param]) {
        for param in params.iter().filter(|p| p.default.is_some()) {
            let ty = self.ty(&param.ty);
            if let Some(value) = self.default_of(param, &ty) {
                self.defaults.insert(param.at.id, value);
            }
        }
    }

    /// Parameters that the control plane fills come last.
    fn check_param_order(&mut self, params: &'a [ast::Param]) {
        let mut data = false;
        for param in params {
            if param.direction == Direction::None {
                data = true;
            } else if data {
                let text = format!(
                    "`{}` has a direction but follows a parameter without one",
                    param.name
                );
                self.error("type", param.at.span, text);
            }
        }
    }
}

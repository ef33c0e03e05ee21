//! Applying tables.

use std::collections::HashMap;

use p4ir::{ActionId, Const, Place, StmtKind, TableId, VarKind};

use super::value::{Elab, Val};
use super::{BodyKind, Entity, Lowerer};
use crate::ast::{self, ExprKind};
use crate::source::Span;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    /// The table a path names.
    pub(super) fn table_named(&mut self, e: &'a ast::Expr) -> Option<TableId> {
        let ExprKind::Path(path) = &e.kind else {
            return None;
        };
        match self.find(path)? {
            Entity::Value(Elab {
                val: Val::Table(id),
                ..
            }) => Some(id),
            _ => None,
        }
    }

    /// The table applied by an expression `t.apply()`.
    pub(super) fn applied_table(&mut self, e: &'a ast::Expr) -> Option<TableId> {
        let ExprKind::Call { callee, args, .. } = &e.kind else {
            return None;
        };
        match &callee.kind {
            ExprKind::Member { base, member } if &*member.name == "apply" && args.is_empty() => {
                let table = self.table_named(base)?;
                self.checker.used_built_in(member.span, "apply");
                Some(table)
            }
            _ => None,
        }
    }

    /// Emits the application; `hit`/`run` say which results are wanted.
    fn emit_apply(
        &mut self,
        table: TableId,
        hit: bool,
        run: bool,
        span: Span,
    ) -> (Option<Place>, Option<Place>) {
        if self.body.kind != BodyKind::Control {
            self.error(
                "call",
                span,
                "tables can only be applied in the `apply` of controls",
            );
            return (None, None);
        }
        let mut result =
            |wanted: bool, ty: Ty| wanted.then(|| self.new_var("tmp", &ty, VarKind::Temp, span));
        let hit = result(hit, Ty::Bool);
        let action_run = result(run, Ty::bit(32));
        self.emit(
            StmtKind::ApplyTable {
                table,
                hit,
                action_run,
            },
            span,
        );
        (hit.map(Place::var), action_run.map(Place::var))
    }

    /// `t.apply()` for its effect.
    pub(super) fn apply_bare(
        &mut self,
        table: TableId,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        if !args.is_empty() {
            self.error("call", span, "`apply` of a table takes no arguments");
        }
        self.emit_apply(table, false, false, span);
        Elab::new(Ty::ApplyResult, Val::Void)
    }

    /// `t.apply().hit`, `.miss`, or `.action_run` outside a switch.
    pub(super) fn apply_result(&mut self, table: TableId, member: &str, span: Span) -> Elab<'a> {
        if member == "action_run" {
            self.error("flow", span, "`action_run` can only be used in `switch`");
            return Elab::poison();
        }
        let (Some(hit), _) = self.emit_apply(table, true, false, span) else {
            return Elab::new(Ty::Bool, Val::Poison);
        };
        let hit = Elab::place(Ty::Bool, hit, false);
        if member == "hit" {
            hit
        } else {
            self.not(hit, span)
        }
    }

    pub(super) fn switch_on_action(
        &mut self,
        table: TableId,
        cases: &'a [ast::SwitchCase],
        span: Span,
    ) {
        let (_, run) = self.emit_apply(table, false, true, span);
        let meant = |id| *self.emitter.wrapped.get(&id).unwrap_or(&id);
        let mut places: HashMap<ActionId, u32> = HashMap::new();
        for (place, action) in (0..).zip(&self.emitter.ir.tables[table].actions) {
            places.entry(meant(action.action)).or_insert(place);
        }
        let label = |s: &mut Self, e: &'a ast::Expr| {
            let ExprKind::Path(path) = &e.kind else {
                s.error("flow", e.at.span, "a case must name an action of the table");
                return None;
            };
            let info = s.action_named(path)?;
            match places.get(&info.id) {
                Some(place) => Some(Const::Bits((*place).into())),
                None => {
                    s.error(
                        "flow",
                        e.at.span,
                        format!("`{}` is not an action of the table", path.name),
                    );
                    None
                }
            }
        };
        let (arms, default) = self.switch_arms(cases, label);
        if let Some(run) = run {
            let value = self.read(run, &Ty::bit(32));
            self.emit(
                StmtKind::Switch {
                    value,
                    cases: arms,
                    default,
                },
                span,
            );
        }
    }
}

//! `for` loops.

use p4ir::{Assign, BinaryOp as Ir, ExprKind as IrExpr, Place, StmtKind, VarKind};

use super::value::{Elab, Val};
use super::{Entity, Lowerer};
use crate::ast::{self, DeclKind, ExprKind};
use crate::source::Span;
use crate::types::Ty;

impl<'a> Lowerer<'a> {
    pub(super) fn for_loop(
        &mut self,
        init: &'a [ast::Stmt],
        condition: &'a ast::Expr,
        update: &'a [ast::Stmt],
        body: &'a ast::Stmt,
        span: Span,
    ) {
        self.scoped(|s| {
            s.stmts(init);
            let (head, cond) = s.nested(|s| s.bool_expr(condition));
            let cond = s.scalar(&cond, span);
            let (body, ()) = s.loop_body(body);
            let (step, ()) = s.nested(|s| s.stmts(update));
            s.emit(
                StmtKind::Loop {
                    head,
                    cond,
                    body,
                    step,
                    rounds: 1,
                },
                span,
            );
        });
    }

    fn loop_body(&mut self, body: &'a ast::Stmt) -> (p4ir::Block, ()) {
        self.body.loops += 1;
        let block = self.nested(|s| s.scoped(|s| s.stmts(std::slice::from_ref(body))));
        self.body.loops -= 1;
        block
    }

    pub(super) fn for_in(
        &mut self,
        variable: &'a ast::Decl,
        collection: &'a ast::Expr,
        body: &'a ast::Stmt,
        span: Span,
    ) {
        let DeclKind::Variable(v) = &variable.kind else {
            return;
        };
        let ty = self.ty(&v.ty);
        if let ExprKind::Range { low, high } = &collection.kind {
            self.for_range(v, &ty, low, high, body, span);
            return;
        }
        let items = self.expr(collection, Some(&Ty::List(ty.clone().into())));
        let count = match (&items.ty, &items.val) {
            (_, Val::Agg(all)) => all.len(),
            (Ty::Stack(_, n), _) => *n as usize,
            (Ty::Poison, _) => 0,
            (other, _) => {
                let text = format!("`for ... in` needs a list, a stack or a range, not `{other}`");
                self.error("type", collection.at.span, text);
                0
            }
        };
        self.for_each(v, &ty, &items, count, body, span);
    }

    /// Declares the loop variable and elaborates the body with it.
    fn with_variable(
        &mut self,
        v: &'a ast::Variable,
        ty: &Ty,
        body: &'a ast::Stmt,
    ) -> (Place, p4ir::Block) {
        let place = Place::var(self.new_var(&v.name.name, ty, VarKind::Local, v.name.span));
        let inner = place.clone();
        let (block, ()) = self.scoped(|s| {
            s.declare(&v.name, Entity::Value(Elab::place(ty.clone(), inner, true)));
            s.loop_body(body)
        });
        (place, block)
    }

    /// `more = lo <= hi; it = lo; while (more) { v = it; body } step { more = it != hi; it = it + 1
    /// }`: also right when `hi` is the greatest number.
    fn for_range(
        &mut self,
        v: &'a ast::Variable,
        ty: &Ty,
        low: &'a ast::Expr,
        high: &'a ast::Expr,
        body: &'a ast::Stmt,
        span: Span,
    ) {
        if !matches!(ty, Ty::Bits { .. } | Ty::Poison) {
            self.error(
                "type",
                v.ty.at.span,
                format!("a range cannot be walked with a variable of type `{ty}`"),
            );
            return;
        }
        let mut lo = self.expr(low, Some(ty));
        let hi = self.then(&mut lo, span, |s| s.expr(high, Some(ty)));
        let (lo, hi) = (
            self.coerce(lo, ty, low.at.span),
            self.coerce(hi, ty, high.at.span),
        );
        let (it, end, more) = (
            self.temp(ty, span),
            self.temp(ty, span),
            self.temp(&Ty::Bool, span),
        );
        self.store(&it, ty, lo, span);
        self.store(&end, ty, hi, span);
        let read = |p: &Place| Elab::place(ty.clone(), p.clone(), false);
        let first = self.binary_expr(Ir::Le, &read(&it), &read(&end), &Ty::Bool, span);
        self.store(&more, &Ty::Bool, first, span);
        let (place, mut block) = self.with_variable(v, ty, body);
        let value = self.read(it.clone(), ty);
        let ir_span = self.span(span);
        block.insert(
            0,
            p4ir::Stmt {
                kind: StmtKind::Assign(Assign { dst: place, value }),
                span: ir_span,
            },
        );
        let (step, ()) = self.nested(|s| {
            let again = s.binary_expr(Ir::Ne, &read(&it), &read(&end), &Ty::Bool, span);
            s.store(&more, &Ty::Bool, again, span);
            let one = s.coerce(Elab::int(1), ty, span);
            let next = s.binary_expr(Ir::Add, &read(&it), &one, ty, span);
            s.store(&it, ty, next, span);
        });
        let cond = self.read(more, &Ty::Bool);
        self.emit(
            StmtKind::Loop {
                head: Vec::new(),
                cond,
                body: block,
                step,
                rounds: 1,
            },
            span,
        );
    }

    /// A loop over the elements of a stack or list: a counter, and a switch that loads the element.
    fn for_each(
        &mut self,
        v: &'a ast::Variable,
        ty: &Ty,
        items: &Elab<'a>,
        count: usize,
        body: &'a ast::Stmt,
        span: Span,
    ) {
        let counter_ty = Ty::bit(32);
        let counter = self.temp(&counter_ty, span);
        let zero = self.sized(&0.into(), &counter_ty, span);
        self.store(&counter, &counter_ty, zero, span);
        let (place, rest) = self.with_variable(v, ty, body);
        let mut cases = Vec::new();
        for i in 0..count {
            let item = self.component(items, i as u32, span);
            let item = self.coerce(item, ty, span);
            let (load, ()) = self.nested(|s| s.store(&place, ty, item, span));
            let label = p4ir::Const::Bits((i as u32).into());
            cases.push(p4ir::SwitchCase {
                labels: vec![label],
                body: load,
            });
        }
        let index = self.read(counter.clone(), &counter_ty);
        let (mut block, ()) = self.nested(|s| {
            s.emit(
                StmtKind::Switch {
                    value: index,
                    cases,
                    default: Vec::new(),
                },
                span,
            );
        });
        block.extend(rest);
        let (step, ()) = self.nested(|s| {
            let one = s.sized(&1.into(), &counter_ty, span);
            let now = Elab::place(counter_ty.clone(), counter.clone(), false);
            let next = s.binary_expr(Ir::Add, &now, &one, &counter_ty, span);
            s.store(&counter, &counter_ty, next, span);
        });
        let limit = self.bits_const(count as u64, 32);
        let now = self.read(counter, &counter_ty);
        let boolean = self.emitter.common.boolean;
        let cond = self
            .emitter
            .ir
            .add_expr(IrExpr::Binary(Ir::Lt, now, limit), boolean);
        self.emit(
            StmtKind::Loop {
                head: Vec::new(),
                cond,
                body: block,
                step,
                rounds: 1,
            },
            span,
        );
    }
}

//! Operators.

use num_bigint::BigInt;
use p4ir::{BinaryOp as Ir, ExprId, ExprKind, StmtKind, UnaryOp as IrUnary};

use super::Lowerer;
use super::value::{Elab, Val};
use crate::ast::{self, BinaryOp, UnaryOp};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::fold::{self, arithmetic, wrap};
use crate::types::{RecordKind, Ty};

/// Conditions that are joined one after the other; more are joined in halves.
const JOINED_IN_A_ROW: usize = 16;

impl<'a> Lowerer<'a> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &'a ast::Expr, span: Span) -> Elab<'a> {
        let e = self.expr(operand, None);
        let e = if op == UnaryOp::Not {
            e
        } else {
            self.strip_enum(e)
        };
        if e.is_poison() {
            return e;
        }
        match (op, &e.ty, &e.val) {
            (UnaryOp::Not, Ty::Bool, Val::Bool(b)) => Elab::boolean(!b),
            (UnaryOp::Not, Ty::Bool, _) => self.unary_expr(IrUnary::Not, &e, span),
            (UnaryOp::Plus, Ty::Bits { .. } | Ty::Int, _) => e,
            (UnaryOp::Negate, Ty::Int, Val::Int(v)) => Elab::int(-v),
            (UnaryOp::Negate, Ty::Bits { width, signed }, Val::Int(v)) => {
                Elab::new(e.ty.clone(), Val::Int(wrap(&-v, *width, *signed)))
            }
            (UnaryOp::Complement, Ty::Bits { width, signed }, Val::Int(v)) => {
                Elab::new(e.ty.clone(), Val::Int(wrap(&!v, *width, *signed)))
            }
            (UnaryOp::Negate, Ty::Bits { .. }, _) => self.unary_expr(IrUnary::Neg, &e, span),
            (UnaryOp::Complement, Ty::Bits { .. }, _) => self.unary_expr(IrUnary::BitNot, &e, span),
            (UnaryOp::Complement, Ty::Int, _) => {
                self.error("type", span, "`~` needs a number of known width");
                Elab::poison()
            }
            _ => {
                self.error(
                    "type",
                    span,
                    format!("`{}` cannot be applied to `{}`", op.symbol(), e.ty),
                );
                Elab::poison()
            }
        }
    }

    fn unary_expr(&mut self, op: IrUnary, e: &Elab<'a>, span: Span) -> Elab<'a> {
        let id = self.scalar(e, span);
        let ty = self.ir_ty(&e.ty);
        Elab::new(
            e.ty.clone(),
            Val::Expr(self.emitter.ir.add_expr(ExprKind::Unary(op, id), ty)),
        )
    }

    /// Elaborates `right` after `left`; if that had effects, `left` is saved before them.
    pub(super) fn then<T>(
        &mut self,
        left: &mut Elab<'a>,
        span: Span,
        right: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let mark = self.emitter.out.len();
        let result = right(self);
        if self.emitter.out.len() > mark {
            self.spill(left, mark, span);
        }
        result
    }

    /// Saves what a value reads into temporaries, in front of statement `mark`.
    pub(super) fn spill(&mut self, e: &mut Elab<'a>, mark: usize, span: Span) {
        match &mut e.val {
            Val::Expr(_) | Val::Place { .. } if e.ty.is_data() => {
                let temp = self.temp(&e.ty.clone(), span);
                let value = match &e.val {
                    Val::Place { place, .. } => self.read(place.clone(), &e.ty.clone()),
                    _ => self.scalar(e, span),
                };
                let kind = StmtKind::Assign(p4ir::Assign {
                    dst: temp.clone(),
                    value,
                });
                let stmt = p4ir::Stmt {
                    kind,
                    span: self.span(span),
                };
                self.emitter.out.insert(mark, stmt);
                e.val = Val::Place {
                    place: temp,
                    writable: false,
                };
            }
            Val::Agg(all) => {
                let mut mark = mark;
                for part in all {
                    let before = self.emitter.out.len();
                    self.spill(part, mark, span);
                    mark += self.emitter.out.len() - before;
                }
            }
            _ => {}
        }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: &'a ast::Expr,
        right: &'a ast::Expr,
        span: Span,
    ) -> Elab<'a> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            return self.logical(op, left, right, span);
        }
        let mut a = self.expr(left, None);
        let b = self.then(&mut a, left.at.span, |s| s.expr(right, None));
        self.apply_binary(op, a, b, span)
    }

    /// `a op b` on elaborated operands.
    pub(super) fn apply_binary(
        &mut self,
        op: BinaryOp,
        a: Elab<'a>,
        b: Elab<'a>,
        span: Span,
    ) -> Elab<'a> {
        use BinaryOp as B;
        if a.ty.is_poison() || b.ty.is_poison() {
            return Elab::poison();
        }
        match op {
            B::Shl | B::Shr => self.shift(op, a, b, span),
            B::Concat => self.concat(a, b, span),
            B::Eq | B::Ne => self.equality(op, a, b, span),
            B::Lt | B::Le | B::Gt | B::Ge => self.order(op, a, b, span),
            _ => {
                // What is computed of an unknown constructor parameter is unknown, but known at
                // compile time.
                let unknown = matches!(a.val, Val::Poison) || matches!(b.val, Val::Poison);
                let made = self.arith(op, a, b, span);
                if unknown {
                    return Elab::new(made.ty, Val::Poison);
                }
                made
            }
        }
    }

    fn no_operator(&mut self, op: BinaryOp, a: &Ty, b: &Ty, span: Span) -> Elab<'a> {
        let mut d = Diagnostic::error(
            "type",
            span,
            format!("`{}` cannot be applied to `{a}` and `{b}`", op.symbol()),
        );
        if a.bits().is_some() && b.bits().is_some() {
            d = d.with_help("both sides must have the same width and sign; convert one of them");
        }
        self.report(d);
        Elab::poison()
    }

    /// Brings two operands to one sized type (or both to `int`).
    fn same_bits(
        &mut self,
        op: BinaryOp,
        a: Elab<'a>,
        b: Elab<'a>,
        span: Span,
    ) -> Option<(Elab<'a>, Elab<'a>)> {
        let (a, b) = (self.strip_enum(a), self.strip_enum(b));
        let (ta, tb) = (
            self.checker.infer.resolve(&a.ty),
            self.checker.infer.resolve(&b.ty),
        );
        if matches!(ta, Ty::Param(..)) || matches!(tb, Ty::Param(..)) {
            return None;
        }
        match (&ta, &tb) {
            (Ty::Int, Ty::Int) => Some((a, b)),
            (Ty::Bits { .. }, Ty::Int) => Some((a, self.coerce(b, &ta, span))),
            (Ty::Int, Ty::Bits { .. }) => Some((self.coerce(a, &tb, span), b)),
            (Ty::Bits { .. }, Ty::Bits { .. }) if ta == tb => Some((a, b)),
            _ => {
                self.no_operator(op, &ta, &tb, span);
                None
            }
        }
    }

    fn arith(&mut self, op: BinaryOp, a: Elab<'a>, b: Elab<'a>, span: Span) -> Elab<'a> {
        let divides = matches!(op, BinaryOp::Div | BinaryOp::Mod);
        let negative = |e: &Elab<'a>| e.as_int().is_some_and(|v| *v < BigInt::ZERO);
        if divides && (negative(&a) || negative(&b)) {
            self.error("type", span, "division is not defined for negative numbers");
            return Elab::poison();
        }
        let Some((a, b)) = self.same_bits(op, a, b, span) else {
            return Elab::poison();
        };
        let signed = a.ty.bits().is_some_and(|(_, s)| s);
        if divides && signed {
            self.error("type", span, "division is not defined for signed numbers");
            return Elab::poison();
        }
        let sized_only = matches!(op, BinaryOp::AddSat | BinaryOp::SubSat);
        if a.ty == Ty::Int && sized_only {
            self.error(
                "type",
                span,
                format!("`{}` needs numbers of known width", op.symbol()),
            );
            return Elab::poison();
        }
        if let (Val::Int(x), Val::Int(y)) = (&a.val, &b.val) {
            return match arithmetic(op, x, y, a.ty.bits()) {
                Ok(v) => Elab::new(a.ty.clone(), Val::Int(v)),
                Err(e) => {
                    self.error("const", span, e.message());
                    Elab::poison()
                }
            };
        }
        let ty = a.ty.clone();
        if divides {
            return self.divide(op, a, b, span);
        }
        self.binary_expr(ir_op(op), &a, &b, &ty, span)
    }

    /// Division at run time: by a power of two only, which is a shift or a mask.
    fn divide(&mut self, op: BinaryOp, a: Elab<'a>, b: Elab<'a>, span: Span) -> Elab<'a> {
        let ty = a.ty.clone();
        if a.as_int().is_some_and(|v| *v == BigInt::ZERO) {
            return a;
        }
        let Some(by) = b.as_int().cloned() else {
            // p4c drops what nothing uses before it looks at this.
            if self.reached && !(a.is_poison() || b.is_poison()) {
                self.report(
                    Diagnostic::error(
                        "const",
                        span,
                        "only compile-time numbers can be divided by a run-time value",
                    )
                    .with_help("divide by a power of two known at compile time, or shift"),
                );
            }
            return Elab::new(ty, Val::Poison);
        };
        if by == BigInt::ZERO {
            self.error("const", span, "division by zero");
            return Elab::poison();
        }
        let exponent = by.trailing_zeros().unwrap_or(0);
        if by != BigInt::from(1) << exponent {
            if !self.reached {
                return Elab::new(ty, Val::Poison);
            }
            let text = format!("a run-time value cannot be divided by {by}");
            self.report(
                Diagnostic::error("const", span, text)
                    .with_help("at run time only powers of two can divide"),
            );
            return Elab::new(ty, Val::Poison);
        }
        let (op, by) = match op {
            BinaryOp::Div => (Ir::Shr, BigInt::from(exponent)),
            _ => (Ir::BitAnd, by - 1),
        };
        let by = Elab::new(ty.clone(), Val::Int(by));
        self.binary_expr(op, &a, &by, &ty, span)
    }

    pub(super) fn binary_expr(
        &mut self,
        op: Ir,
        a: &Elab<'a>,
        b: &Elab<'a>,
        ty: &Ty,
        span: Span,
    ) -> Elab<'a> {
        let (x, y) = (self.scalar(a, span), self.scalar(b, span));
        let ir = self.ir_ty(ty);
        Elab::new(
            ty.clone(),
            Val::Expr(self.emitter.ir.add_expr(ExprKind::Binary(op, x, y), ir)),
        )
    }

    fn shift(&mut self, op: BinaryOp, a: Elab<'a>, b: Elab<'a>, span: Span) -> Elab<'a> {
        let (a, b) = (self.strip_enum(a), self.strip_enum(b));
        let negative = b.as_int().is_some_and(|v| *v < BigInt::ZERO);
        if negative {
            self.error("const", span, "shift by a negative distance");
            return Elab::poison();
        }
        match (&a.ty, &b.ty) {
            (Ty::Int, Ty::Int | Ty::Bits { .. }) | (Ty::Bits { .. }, Ty::Int | Ty::Bits { .. }) => {
            }
            (x, y) => return self.no_operator(op, &x.clone(), &y.clone(), span),
        }
        if b.ty.bits().is_some_and(|(_, signed)| signed) && b.as_int().is_none() {
            self.error("type", span, "the distance of a shift must be unsigned");
            return Elab::poison();
        }
        if let (Val::Int(x), Val::Int(y)) = (&a.val, &b.val) {
            return match arithmetic(op, x, y, a.ty.bits()) {
                Ok(v) => Elab::new(a.ty.clone(), Val::Int(v)),
                Err(e) => {
                    self.error("const", span, e.message());
                    Elab::poison()
                }
            };
        }
        if a.ty == Ty::Int {
            self.error(
                "type",
                span,
                "a number of unknown width is shifted by a run-time distance",
            );
            return Elab::poison();
        }
        let b = match (&b.ty, b.as_int()) {
            (Ty::Int | Ty::Bits { signed: true, .. }, Some(v)) => {
                let width = (v.bits() as u32).max(1);
                Elab::new(Ty::bit(width), b.val)
            }
            _ => b,
        };
        let ty = a.ty.clone();
        self.binary_expr(ir_op(op), &a, &b, &ty, span)
    }

    fn concat(&mut self, a: Elab<'a>, b: Elab<'a>, span: Span) -> Elab<'a> {
        let (a, b) = (self.strip_enum(a), self.strip_enum(b));
        let (Some((wa, signed)), Some((wb, _))) = (a.ty.bits(), b.ty.bits()) else {
            return match (&a.val, &b.val) {
                (Val::Str(x), Val::Str(y)) => {
                    Elab::new(Ty::String, Val::Str(format!("{x}{y}").into()))
                }
                _ => self.no_operator(BinaryOp::Concat, &a.ty, &b.ty, span),
            };
        };
        let ty = Ty::Bits {
            width: wa.saturating_add(wb).min(p4ir::limits::MAX_BITS),
            signed,
        };
        if let (Val::Int(x), Val::Int(y)) = (&a.val, &b.val) {
            let joined = (x << wb) + wrap(y, wb, false);
            return Elab::new(ty, Val::Int(wrap(&joined, wa + wb, signed)));
        }
        self.binary_expr(Ir::Concat, &a, &b, &ty, span)
    }

    fn order(&mut self, op: BinaryOp, a: Elab<'a>, b: Elab<'a>, span: Span) -> Elab<'a> {
        let Some((a, b)) = self.same_bits(op, a, b, span) else {
            return Elab::new(Ty::Bool, Val::Poison);
        };
        if let (Val::Int(x), Val::Int(y)) = (&a.val, &b.val) {
            return Elab::boolean(match op {
                BinaryOp::Lt => x < y,
                BinaryOp::Le => x <= y,
                BinaryOp::Gt => x > y,
                _ => x >= y,
            });
        }
        self.binary_expr(ir_op(op), &a, &b, &Ty::Bool, span)
    }

    fn equality(&mut self, op: BinaryOp, a: Elab<'a>, b: Elab<'a>, span: Span) -> Elab<'a> {
        let Some((a, b)) = self.comparable(op, a, b, span) else {
            return Elab::new(Ty::Bool, Val::Poison);
        };
        let equal = self.equal(&a, &b, span);
        if op == BinaryOp::Eq {
            return equal;
        }
        match equal.val {
            Val::Bool(x) => Elab::boolean(!x),
            Val::Poison => equal,
            // One operation where one is enough.
            Val::Expr(id) => match self.emitter.ir.exprs[id].kind.clone() {
                ExprKind::Binary(Ir::Eq, x, y) => {
                    let ty = self.emitter.common.boolean;
                    let id = self.emitter.ir.add_expr(ExprKind::Binary(Ir::Ne, x, y), ty);
                    Elab::new(Ty::Bool, Val::Expr(id))
                }
                _ => self.unary_expr(IrUnary::Not, &equal, span),
            },
            _ => self.unary_expr(IrUnary::Not, &equal, span),
        }
    }

    fn comparable(
        &mut self,
        op: BinaryOp,
        a: Elab<'a>,
        b: Elab<'a>,
        span: Span,
    ) -> Option<(Elab<'a>, Elab<'a>)> {
        let (ta, tb) = (
            self.checker.infer.resolve(&a.ty),
            self.checker.infer.resolve(&b.ty),
        );
        if matches!(ta, Ty::Param(..)) && ta == tb {
            self.error(
                "type",
                span,
                format!("values of the type variable `{ta}` cannot be compared"),
            );
            return None;
        }
        if ta == tb && ta.is_data() && !matches!(ta, Ty::StructExpr(_) | Ty::ListExpr(_)) {
            return Some((a, b));
        }
        let list = |t: &Ty| matches!(t, Ty::ListExpr(_) | Ty::StructExpr(_) | Ty::InvalidHeader);
        match (&ta, &tb) {
            (x, _) if list(x) && !list(&tb) => Some((self.coerce(a, &tb, span), b)),
            (_, y) if list(y) && !list(&ta) => Some((a, self.coerce(b, &ta, span))),
            (Ty::ListExpr(x), Ty::ListExpr(y)) if x.len() == y.len() => Some((a, b)),
            (Ty::Int | Ty::Bits { .. } | Ty::Enum(_), Ty::Int | Ty::Bits { .. } | Ty::Enum(_)) => {
                self.same_bits(op, a, b, span)
            }
            (Ty::New(_), Ty::Int) if ta.number().is_some() => Some((a, self.coerce(b, &ta, span))),
            (Ty::Int, Ty::New(_)) if tb.number().is_some() => Some((self.coerce(a, &tb, span), b)),
            _ => {
                self.no_operator(op, &ta, &tb, span);
                None
            }
        }
    }

    /// Equality of two values of one type, as a bool.
    pub(super) fn equal(&mut self, a: &Elab<'a>, b: &Elab<'a>, span: Span) -> Elab<'a> {
        match (&a.val, &b.val) {
            (Val::Poison, _) | (_, Val::Poison) => return Elab::new(Ty::Bool, Val::Poison),
            (Val::Int(x), Val::Int(y)) => return Elab::boolean(x == y),
            (Val::Bool(x), Val::Bool(y)) => return Elab::boolean(x == y),
            (Val::Str(x), Val::Str(y)) => return Elab::boolean(x == y),
            (Val::Error(x), Val::Error(y)) | (Val::Enum(x), Val::Enum(y)) => {
                return Elab::boolean(x == y);
            }
            _ => {}
        }
        if Self::is_scalar(&a.ty) {
            return self.binary_expr(Ir::Eq, a, b, &Ty::Bool, span);
        }
        let count = a.ty.components().len();
        let mut parts = Vec::new();
        for i in 0..count as u32 {
            let (x, y) = (self.component(a, i, span), self.component(b, i, span));
            let (x, y) = match self.comparable(BinaryOp::Eq, x, y, span) {
                Some(pair) => pair,
                None => return Elab::new(Ty::Bool, Val::Poison),
            };
            parts.push(self.equal(&x, &y, span));
        }
        let all = self.all_of(&parts, span);
        if !a.ty.is_header() {
            return all;
        }
        // Both invalid, or both valid with equal fields.
        let (va, vb) = (self.validity(a), self.validity(b));
        let same = self.equal(&va, &vb, span);
        let invalid = self.not(va, span);
        let fields = self.or(invalid, all, span);
        self.and(same, fields, span)
    }

    /// Whether all of some conditions hold. Many are joined in halves, so that the expression does
    /// not get high.
    fn all_of(&mut self, parts: &[Elab<'a>], span: Span) -> Elab<'a> {
        if parts.len() > JOINED_IN_A_ROW {
            let (left, right) = parts.split_at(parts.len() / 2);
            let (left, right) = (self.all_of(left, span), self.all_of(right, span));
            return self.and(left, right, span);
        }
        let yes = Elab::boolean(true);
        let parts = parts.iter().cloned();
        parts.fold(yes, |all, part| self.and(all, part, span))
    }

    /// Whether a header value is valid.
    pub(super) fn validity(&mut self, e: &Elab<'a>) -> Elab<'a> {
        match &e.val {
            Val::Place { place, .. } => {
                let ty = self.emitter.common.boolean;
                let id = self
                    .emitter
                    .ir
                    .add_expr(ExprKind::IsValid(place.clone()), ty);
                Elab::new(Ty::Bool, Val::Expr(id))
            }
            Val::Invalid => Elab::boolean(false),
            _ => Elab::boolean(true),
        }
    }

    pub(super) fn not(&mut self, e: Elab<'a>, span: Span) -> Elab<'a> {
        match e.val {
            Val::Bool(b) => Elab::boolean(!b),
            _ => self.unary_expr(IrUnary::Not, &e, span),
        }
    }

    pub(super) fn and(&mut self, a: Elab<'a>, b: Elab<'a>, span: Span) -> Elab<'a> {
        match (&a.val, &b.val) {
            (Val::Bool(true), _) => b,
            (_, Val::Bool(true)) => a,
            (Val::Bool(false), _) | (_, Val::Bool(false)) => Elab::boolean(false),
            _ => self.binary_expr(Ir::And, &a, &b, &Ty::Bool, span),
        }
    }

    pub(super) fn or(&mut self, a: Elab<'a>, b: Elab<'a>, span: Span) -> Elab<'a> {
        match (&a.val, &b.val) {
            (Val::Bool(false), _) => b,
            (_, Val::Bool(false)) => a,
            (Val::Bool(true), _) | (_, Val::Bool(true)) => Elab::boolean(true),
            _ => self.binary_expr(Ir::Or, &a, &b, &Ty::Bool, span),
        }
    }

    fn logical(
        &mut self,
        op: BinaryOp,
        left: &'a ast::Expr,
        right: &'a ast::Expr,
        span: Span,
    ) -> Elab<'a> {
        let a = self.bool_expr(left);
        let (block, b) = self.nested(|s| s.bool_expr(right));
        let is_and = op == BinaryOp::And;
        if let Val::Bool(x) = a.val
            && x != is_and
        {
            return a;
        }
        if block.is_empty() {
            return if is_and {
                self.and(a, b, span)
            } else {
                self.or(a, b, span)
            };
        }
        let temp = self.temp(&Ty::Bool, span);
        let first = self.scalar(&a, span);
        self.emit(
            StmtKind::Assign(p4ir::Assign {
                dst: temp.clone(),
                value: first,
            }),
            span,
        );
        let mut block = block;
        let second = self.scalar(&b, span);
        let ir_span = self.span(span);
        block.push(p4ir::Stmt {
            kind: StmtKind::Assign(p4ir::Assign {
                dst: temp.clone(),
                value: second,
            }),
            span: ir_span,
        });
        let cond = self.read(temp.clone(), &Ty::Bool);
        let (then, other) = if is_and {
            (block, Vec::new())
        } else {
            (Vec::new(), block)
        };
        self.emit(StmtKind::If { cond, then, other }, span);
        Elab::place(Ty::Bool, temp, false)
    }

    /// An expression that must be a bool.
    pub(super) fn bool_expr(&mut self, e: &'a ast::Expr) -> Elab<'a> {
        if matches!(e.kind, ast::ExprKind::Dots) {
            self.error("type", e.at.span, "`...` is no condition");
            return Elab::new(Ty::Bool, Val::Poison);
        }
        let value = self.expr(e, Some(&Ty::Bool));
        if value.ty.is_poison() {
            return Elab::new(Ty::Bool, Val::Poison);
        }
        let value = self.coerce(value, &Ty::Bool, e.at.span);
        Elab::new(Ty::Bool, value.val)
    }

    /// `cond ? then : other`.
    pub(super) fn ternary(
        &mut self,
        cond: &'a ast::Expr,
        then: &'a ast::Expr,
        other: &'a ast::Expr,
        want: Option<&Ty>,
        span: Span,
    ) -> Elab<'a> {
        let c = self.bool_expr(cond);
        let (then_block, a) = self.nested(|s| s.expr(then, want));
        let (other_block, b) = self.nested(|s| s.expr(other, want));
        let Some((a, b)) = self.ternary_types(a, b, want, span) else {
            return Elab::poison();
        };
        if let Val::Bool(x) = c.val {
            let (block, value) = if x { (then_block, a) } else { (other_block, b) };
            self.emitter.out.extend(block);
            return value;
        }
        let ty = a.ty.clone();
        if then_block.is_empty() && other_block.is_empty() && Self::is_scalar(&ty) {
            let cond = self.scalar(&c, span);
            let (then, other) = (self.scalar(&a, span), self.scalar(&b, span));
            let ir = self.ir_ty(&ty);
            let id = self
                .emitter
                .ir
                .add_expr(ExprKind::Mux { cond, then, other }, ir);
            return Elab::new(ty, Val::Expr(id));
        }
        let temp = self.temp(&ty, span);
        let cond = self.scalar(&c, span);
        let finish = |s: &mut Self, block: p4ir::Block, value: Elab<'a>| {
            let outer = std::mem::replace(&mut s.emitter.out, block);
            s.store(&temp, &ty, value, span);
            std::mem::replace(&mut s.emitter.out, outer)
        };
        let then = finish(self, then_block, a);
        let other = finish(self, other_block, b);
        self.emit(StmtKind::If { cond, then, other }, span);
        Elab::place(ty, temp, false)
    }

    fn ternary_types(
        &mut self,
        a: Elab<'a>,
        b: Elab<'a>,
        want: Option<&Ty>,
        span: Span,
    ) -> Option<(Elab<'a>, Elab<'a>)> {
        if a.ty.is_poison() || b.ty.is_poison() {
            return None;
        }
        let open = |t: &Ty| {
            matches!(
                t,
                Ty::Int | Ty::ListExpr(_) | Ty::StructExpr(_) | Ty::InvalidHeader
            )
        };
        if open(&a.ty) && open(&b.ty) {
            return match want {
                Some(ty) if !matches!(ty, Ty::Var(_)) => {
                    Some((self.coerce(a, ty, span), self.coerce(b, ty, span)))
                }
                _ if a.ty == b.ty => Some((a, b)),
                _ => {
                    self.error("type", span, "the type of this `?:` is not known");
                    None
                }
            };
        }
        if open(&a.ty) {
            let a = self.coerce(a, &b.ty, span);
            return (!a.is_poison()).then_some((a, b));
        }
        let ty = a.ty.clone();
        let b = self.coerce(b, &ty, span);
        (!b.ty.is_poison()).then_some((a, b))
    }

    /// `base[hi:lo]` of a value.
    pub(super) fn slice_value(&mut self, e: Elab<'a>, hi: u32, lo: u32, span: Span) -> Elab<'a> {
        let Some((width, _)) = e.ty.bits() else {
            return Elab::poison();
        };
        let ty = Ty::bit(hi - lo + 1);
        if let Val::Int(v) = &e.val {
            return Elab::new(ty, Val::Int(fold::slice(v, width, hi, lo)));
        }
        let value: ExprId = self.scalar(&e, span);
        let ir = self.ir_ty(&ty);
        Elab::new(
            ty,
            Val::Expr(
                self.emitter
                    .ir
                    .add_expr(ExprKind::Slice { value, hi, lo }, ir),
            ),
        )
    }

    /// Whether a union value has a valid member.
    pub(super) fn union_validity(&mut self, e: &Elab<'a>, span: Span) -> Elab<'a> {
        let mut any = Elab::boolean(false);
        if e.ty.record().is_some_and(|r| r.kind == RecordKind::Union) {
            for i in 0..e.ty.components().len() {
                let member = self.component(e, i as u32, span);
                let valid = self.validity(&member);
                any = self.or(any, valid, span);
            }
        }
        any
    }
}

fn ir_op(op: BinaryOp) -> Ir {
    use BinaryOp as B;
    match op {
        B::Mul => Ir::Mul,
        B::Div => Ir::Div,
        B::Mod => Ir::Mod,
        B::Add => Ir::Add,
        B::Sub => Ir::Sub,
        B::AddSat => Ir::AddSat,
        B::SubSat => Ir::SubSat,
        B::Concat => Ir::Concat,
        B::Shl => Ir::Shl,
        B::Shr => Ir::Shr,
        B::BitAnd => Ir::BitAnd,
        B::BitXor => Ir::BitXor,
        B::BitOr => Ir::BitOr,
        B::Lt => Ir::Lt,
        B::Le => Ir::Le,
        B::Gt => Ir::Gt,
        B::Ge => Ir::Ge,
        B::Eq => Ir::Eq,
        B::Ne => Ir::Ne,
        B::And => Ir::And,
        B::Or => Ir::Or,
    }
}

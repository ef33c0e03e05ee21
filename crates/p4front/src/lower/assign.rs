//! Storing values into places: assignment in all its forms.

use p4ir::{Assign, BinaryOp as Ir, ExprKind, Place, Projection, StmtKind};

use super::Lowerer;
use super::value::{Elab, Val};
use crate::ast::{self, BinaryOp, ExprKind as AstKind};
use crate::source::Span;
use crate::types::{RecordKind, Ty};

/// What can be assigned to.
#[derive(Clone, Debug)]
pub(super) struct LValue<'a> {
    pub(super) place: Place,
    /// Type of `place`.
    pub(super) whole: Ty,
    pub(super) part: Selection<'a>,
}

/// Which bits of the place.
#[derive(Clone, Debug)]
pub(super) enum Selection<'a> {
    All,
    Bits {
        hi: u32,
        lo: u32,
    },
    /// `[low +: width]` with a distance known at run time.
    Moving {
        low: Elab<'a>,
        width: u32,
    },
}

impl LValue<'_> {
    /// Type of what is assigned.
    pub(super) fn ty(&self) -> Ty {
        match &self.part {
            Selection::All => self.whole.clone(),
            Selection::Bits { hi, lo } => Ty::bit(hi - lo + 1),
            Selection::Moving { width, .. } => Ty::bit(*width),
        }
    }
}

impl<'a> Lowerer<'a> {
    /// Elaborates the target of an assignment or an `out` argument.
    pub(super) fn lvalue(&mut self, e: &'a ast::Expr) -> Option<LValue<'a>> {
        match &e.kind {
            AstKind::Slice { base, high, low } => {
                let inner = self.lvalue(base)?;
                let width = self.sliced_width(&inner.ty(), base.at.span)?;
                let (hi, lo) = self.slice_bounds(high, low, width, e.at.span)?;
                self.narrow(inner, hi, lo, e.at.span)
            }
            AstKind::PlusSlice { base, low, width } => {
                let mut inner = self.lvalue(base)?;
                let whole = self.sliced_width(&inner.ty(), base.at.span)?;
                let width = self.slice_width(width, whole)?;
                let mark = self.emitter.out.len();
                let low_value = self.expr(low, None);
                if self.emitter.out.len() > mark {
                    self.fix(&mut inner, mark, e.at.span);
                }
                let low_value = self.strip_enum(low_value);
                if let Val::Int(v) = &low_value.val {
                    let lo = self.bit_index(v, whole, low.at.span)?;
                    return self.narrow(inner, lo + width - 1, lo, e.at.span);
                }
                if !matches!(inner.part, Selection::All) {
                    self.error(
                        "unsupported",
                        e.at.span,
                        "a moving slice of a slice cannot be assigned",
                    );
                    return None;
                }
                Some(LValue {
                    part: Selection::Moving {
                        low: low_value,
                        width,
                    },
                    ..inner
                })
            }
            _ => {
                let value = self.expr(e, None);
                match value.val {
                    Val::Place {
                        place,
                        writable: true,
                    } => Some(LValue {
                        place,
                        whole: value.ty,
                        part: Selection::All,
                    }),
                    Val::Poison => None,
                    Val::Place { .. } => {
                        self.error(
                            "type",
                            e.at.span,
                            "this is read-only and cannot be assigned",
                        );
                        None
                    }
                    _ => {
                        self.error("type", e.at.span, "this cannot be assigned");
                        None
                    }
                }
            }
        }
    }

    fn narrow(&mut self, inner: LValue<'a>, hi: u32, lo: u32, span: Span) -> Option<LValue<'a>> {
        let base = match inner.part {
            Selection::All => 0,
            Selection::Bits { lo, .. } => lo,
            Selection::Moving { .. } => {
                self.error(
                    "unsupported",
                    span,
                    "a slice of a moving slice cannot be assigned",
                );
                return None;
            }
        };
        Some(LValue {
            part: Selection::Bits {
                hi: hi + base,
                lo: lo + base,
            },
            ..inner
        })
    }

    /// Saves where an lvalue is, in front of statement `mark`: what follows may change what it is
    /// computed from.
    pub(super) fn fix(&mut self, l: &mut LValue<'a>, mark: usize, span: Span) {
        self.freeze(&mut l.place, mark, span);
        if let Selection::Moving { low, .. } = &mut l.part {
            self.spill(low, mark, span);
        }
    }

    /// Evaluates run-time indices of a place now, in front of statement `mark`.
    pub(super) fn freeze(&mut self, place: &mut Place, mark: usize, span: Span) {
        let mut at = mark;
        for step in &mut place.path {
            let Projection::DynIndex(index) = *step else {
                continue;
            };
            if self.is_saved(index) {
                continue;
            }
            let ty = self.emitter.ir.expr_type(index);
            let at_span = self.span(span);
            let var = self.emitter.ir.vars.push(p4ir::Var {
                name: "index".into(),
                ty,
                kind: p4ir::VarKind::Temp,
                span: at_span,
            });
            let kind = StmtKind::Assign(Assign {
                dst: Place::var(var),
                value: index,
            });
            self.emitter.out.insert(
                at,
                p4ir::Stmt {
                    kind,
                    span: at_span,
                },
            );
            at += 1;
            *step = Projection::DynIndex(
                self.emitter
                    .ir
                    .add_expr(ExprKind::Read(Place::var(var)), ty),
            );
        }
    }

    /// Whether an expression is no more than the read of a temporary, which is written once for all
    /// its reads.
    fn is_saved(&self, id: p4ir::ExprId) -> bool {
        match &self.emitter.ir.exprs[id].kind {
            ExprKind::Read(place) => {
                place.path.is_empty() && self.emitter.ir.vars[place.var].kind == p4ir::VarKind::Temp
            }
            _ => false,
        }
    }

    /// `target = value` or `target op= value`.
    pub(super) fn assignment(
        &mut self,
        target: &'a ast::Expr,
        op: Option<BinaryOp>,
        value: &'a ast::Expr,
        span: Span,
    ) {
        let Some(mut lvalue) = self.lvalue(target) else {
            // Still look for errors on the right.
            self.expr(value, None);
            return;
        };
        let ty = lvalue.ty();
        let mut left = op.map(|op| (op, self.load(&lvalue, span)));
        let mark = self.emitter.out.len();
        let mut right = self.expr(value, Some(&ty));
        if self.emitter.out.len() > mark {
            if let Some((_, left)) = &mut left {
                self.spill(left, mark, span);
            }
            self.fix(&mut lvalue, mark, span);
        }
        if let Some((op, left)) = left {
            right = self.apply_binary(op, left, right, span);
        }
        let right = self.coerce(right, &ty, value.at.span);
        self.store_lvalue(lvalue, right, span);
    }

    /// The present value of an lvalue.
    pub(super) fn load(&mut self, l: &LValue<'a>, span: Span) -> Elab<'a> {
        let whole = Elab::place(l.whole.clone(), l.place.clone(), false);
        match &l.part {
            Selection::All => whole,
            Selection::Bits { hi, lo } => self.slice_value(whole, *hi, *lo, span),
            Selection::Moving { low, width } => self.moving_slice(whole, low.clone(), *width, span),
        }
    }

    /// `base[low +: width]` as a value.
    pub(super) fn moving_slice(
        &mut self,
        whole: Elab<'a>,
        low: Elab<'a>,
        width: u32,
        span: Span,
    ) -> Elab<'a> {
        let ty = whole.ty.clone();
        let shifted = self.binary_expr(Ir::Shr, &whole, &low, &ty, span);
        self.slice_value(shifted, width - 1, 0, span)
    }

    pub(super) fn store_lvalue(&mut self, mut l: LValue<'a>, value: Elab<'a>, span: Span) {
        if value.is_poison() {
            return;
        }
        // What takes several statements goes to one place.
        let in_parts = matches!(value.val, Val::Agg(_) | Val::Invalid);
        if in_parts || self.enclosing_union(&l.place).is_some() {
            let mark = self.emitter.out.len();
            self.freeze(&mut l.place, mark, span);
        }
        match l.part {
            Selection::All => {
                self.store(&l.place, &l.whole, value, span);
                self.exclude_siblings(&l.place, span);
            }
            Selection::Bits { hi, lo } => {
                let value = self.scalar(&value, span);
                self.emit(
                    StmtKind::AssignSlice {
                        dst: l.place,
                        hi,
                        lo,
                        value,
                    },
                    span,
                );
            }
            Selection::Moving { low, width } => {
                self.store_moving(&l.place, &l.whole, low, width, value, span)
            }
        }
    }

    /// `whole = (whole & ~(mask << low)) | (value << low)`.
    fn store_moving(
        &mut self,
        place: &Place,
        whole: &Ty,
        low: Elab<'a>,
        width: u32,
        value: Elab<'a>,
        span: Span,
    ) {
        let ones = (num_bigint::BigInt::from(1) << width) - 1;
        let mask = self.cast(Elab::int(ones), whole, span);
        let mask = self.binary_expr(Ir::Shl, &mask, &low, whole, span);
        let id = self.scalar(&mask, span);
        let ir = self.ir_ty(whole);
        let hole = self
            .emitter
            .ir
            .add_expr(ExprKind::Unary(p4ir::UnaryOp::BitNot, id), ir);
        let hole = Elab::new(whole.clone(), Val::Expr(hole));
        let old = Elab::place(whole.clone(), place.clone(), false);
        let kept = self.binary_expr(Ir::BitAnd, &old, &hole, whole, span);
        let wide = self.cast(value, whole, span);
        let moved = self.binary_expr(Ir::Shl, &wide, &low, whole, span);
        let joined = self.binary_expr(Ir::BitOr, &kept, &moved, whole, span);
        self.store(place, whole, joined, span);
    }

    /// Stores a value of exactly type `ty`.
    pub(super) fn store(&mut self, dst: &Place, ty: &Ty, value: Elab<'a>, span: Span) {
        if value.is_poison() || ty.is_poison() {
            return;
        }
        match &value.val {
            Val::Place { place, .. } => {
                if place != dst {
                    let value = self.read(place.clone(), ty);
                    self.emit(
                        StmtKind::Assign(Assign {
                            dst: dst.clone(),
                            value,
                        }),
                        span,
                    );
                }
            }
            Val::Agg(parts) => {
                let own = parts.iter().any(|p| self.reads_var(p, dst));
                if own {
                    let temp = self.temp(ty, span);
                    self.store_parts(&temp, ty, parts.clone(), span);
                    let value = self.read(temp, ty);
                    self.emit(
                        StmtKind::Assign(Assign {
                            dst: dst.clone(),
                            value,
                        }),
                        span,
                    );
                } else {
                    self.store_parts(dst, ty, parts.clone(), span);
                }
            }
            Val::Invalid => self.invalidate(dst, ty, span),
            _ => {
                let value = self.scalar(&value, span);
                self.emit(
                    StmtKind::Assign(Assign {
                        dst: dst.clone(),
                        value,
                    }),
                    span,
                );
            }
        }
    }

    fn store_parts(&mut self, dst: &Place, ty: &Ty, parts: Vec<Elab<'a>>, span: Span) {
        if ty.is_header() {
            self.emit(StmtKind::SetValid(dst.clone()), span);
        }
        let types = ty.components();
        for (i, (part, part_ty)) in parts.into_iter().zip(types).enumerate() {
            let step = match ty {
                Ty::Stack(..) => Projection::Index(i as u32),
                _ => Projection::Field(i as u32),
            };
            self.store(&dst.project(step), &part_ty, part, span);
        }
    }

    /// Makes a header, or every member of a union, invalid.
    pub(super) fn invalidate(&mut self, dst: &Place, ty: &Ty, span: Span) {
        if ty.is_header() {
            self.emit(StmtKind::SetInvalid(dst.clone()), span);
            return;
        }
        for i in 0..ty.components().len() {
            self.emit(StmtKind::SetInvalid(dst.field(i as u32)), span);
        }
    }

    /// Whether evaluating a value reads the variable of `dst`.
    fn reads_var(&self, e: &Elab<'a>, dst: &Place) -> bool {
        match &e.val {
            Val::Expr(id) => self.expr_reads(*id, dst),
            Val::Place { place, .. } => self.place_reads(place, dst),
            Val::Agg(all) => all.iter().any(|p| self.reads_var(p, dst)),
            _ => false,
        }
    }

    /// The place itself, or what its indices are computed from.
    fn place_reads(&self, place: &Place, dst: &Place) -> bool {
        let by_index = |step: &Projection| match step {
            Projection::DynIndex(index) => self.expr_reads(*index, dst),
            _ => false,
        };
        place.var == dst.var || place.path.iter().any(by_index)
    }

    fn expr_reads(&self, id: p4ir::ExprId, dst: &Place) -> bool {
        match &self.emitter.ir.exprs[id].kind {
            ExprKind::Const(_) | ExprKind::PacketLength => false,
            ExprKind::Read(p) | ExprKind::IsValid(p) | ExprKind::NextIndex(p) => {
                self.place_reads(p, dst)
            }
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Slice { value: a, .. } => {
                self.expr_reads(*a, dst)
            }
            ExprKind::Binary(_, a, b) => self.expr_reads(*a, dst) || self.expr_reads(*b, dst),
            ExprKind::Mux { cond, then, other } => [cond, then, other]
                .into_iter()
                .any(|e| self.expr_reads(*e, dst)),
        }
    }

    /// The union a place is a direct member of, with the member's number.
    pub(super) fn enclosing_union(&self, place: &Place) -> Option<(Place, u32, usize)> {
        let (last, rest) = place.path.split_last()?;
        let Projection::Field(member) = *last else {
            return None;
        };
        let outer = Place {
            var: place.var,
            path: rest.to_vec(),
        };
        let ty = self.emitter.ir.place_type(&outer)?;
        match self.emitter.ir.types.get(ty)? {
            p4ir::Type::Record {
                kind: p4ir::RecordKind::Union,
                fields,
                ..
            } => Some((outer, member, fields.len())),
            _ => None,
        }
    }

    /// After a member of a union may have become valid: its siblings become invalid if it is.
    pub(super) fn exclude_siblings(&mut self, place: &Place, span: Span) {
        if self.enclosing_union(place).is_none() {
            return;
        }
        let ty = self.emitter.common.boolean;
        let cond = self
            .emitter
            .ir
            .add_expr(ExprKind::IsValid(place.clone()), ty);
        let (then, ()) = self.nested(|s| s.invalidate_siblings(place, span));
        self.emit(
            StmtKind::If {
                cond,
                then,
                other: Vec::new(),
            },
            span,
        );
    }

    /// Makes the siblings of a member of a union invalid.
    pub(super) fn invalidate_siblings(&mut self, place: &Place, span: Span) {
        if let Some((outer, member, count)) = self.enclosing_union(place) {
            for i in (0..count as u32).filter(|i| *i != member) {
                self.emit(StmtKind::SetInvalid(outer.field(i)), span);
            }
        }
    }

    /// Gives a fresh variable its first value: none.
    pub(super) fn reset(&mut self, place: Place, ty: &Ty, span: Span) {
        if ty.is_data()
            && !ty.is_poison()
            && !matches!(ty, Ty::Record(r) if r.kind == RecordKind::Struct && r.fields.is_empty())
        {
            self.emit(StmtKind::Reset(place), span);
        }
    }
}

//! Conversions, and turning elaborated values into p4ir expressions.

use num_bigint::BigInt;
use num_traits::{One, Zero};
use p4ir::{Const, ExprId, ExprKind, Place};

use super::Lowerer;
use super::value::{Elab, Val};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::fold::{to_bits, wrap};
use crate::types::{Record, RecordKind, Ty};

impl<'a> Lowerer<'a> {
    /// A serialisable enum's value as its underlying number.
    pub(super) fn strip_enum(&mut self, e: Elab<'a>) -> Elab<'a> {
        match e.ty.enum_repr() {
            Some(repr) => Elab::new(repr.clone(), e.val),
            None => e,
        }
    }

    fn mismatch(&mut self, from: &Ty, to: &Ty, span: Span) -> Elab<'a> {
        let mut d = Diagnostic::error("type", span, format!("expected `{to}`, found `{from}`"));
        let bits = |t: &Ty| matches!(t, Ty::Bits { .. } | Ty::Int) || t.enum_repr().is_some();
        let bits_like = bits(from) || matches!(from, Ty::New(_));
        if bits_like && (bits(to) || matches!(to, Ty::New(_))) {
            d = d.with_help(format!("convert explicitly: `({to}) ...`"));
        } else if matches!((from, to), (Ty::Bits { width: 1, .. }, Ty::Bool)) {
            d = d.with_help("compare with 1: `... == 1`");
        }
        self.report(d);
        Elab::poison()
    }

    /// Implicit conversion to `ty`.
    pub(super) fn coerce(&mut self, e: Elab<'a>, ty: &Ty, span: Span) -> Elab<'a> {
        let ty = &self.checker.infer.resolve(ty);
        let e = Elab {
            ty: self.checker.infer.resolve(&e.ty),
            val: e.val,
        };
        if e.ty.is_poison() || ty.is_poison() {
            return Elab::poison();
        }
        if e.ty == *ty {
            return e;
        }
        match (&e.ty, ty) {
            (_, Ty::Var(_)) => {
                self.checker.infer.unify(ty, &e.ty);
                e
            }
            (Ty::Int, sized) if sized.number().is_some() => match &e.val {
                Val::Int(v) => {
                    let v = v.clone();
                    self.sized(&v, ty, span)
                }
                _ => Elab::new(ty.clone(), Val::Poison),
            },
            // A compile-time number of known width is a number.
            (Ty::Bits { .. }, Ty::Int) if matches!(e.val, Val::Int(_)) => Elab::new(Ty::Int, e.val),
            (Ty::Enum(_), Ty::Bits { .. }) if e.ty.enum_repr() == Some(ty) => {
                Elab::new(ty.clone(), e.val)
            }
            (Ty::ListExpr(_), _) => self.coerce_list(e, ty, span),
            (Ty::StructExpr(_), Ty::Record(r)) if r.kind != RecordKind::Union => {
                let r = r.clone();
                self.coerce_fields(e, &r, ty, span)
            }
            (Ty::InvalidHeader, Ty::Record(r)) if r.kind != RecordKind::Struct => {
                Elab::new(ty.clone(), Val::Invalid)
            }
            (Ty::Tuple(a), Ty::Tuple(b)) if a.len() == b.len() && e.is_const() => {
                let list = Elab::new(Ty::ListExpr(a.to_vec()), e.val);
                self.coerce_list(list, ty, span)
            }
            (Ty::List(a), Ty::List(b)) if matches!(e.val, Val::Agg(_)) && self.meet(b, a) => {
                let Val::Agg(all) = e.val else {
                    return Elab::poison();
                };
                let list = Elab::new(
                    Ty::ListExpr(all.iter().map(|x| x.ty.clone()).collect()),
                    Val::Agg(all),
                );
                self.coerce_list(list, ty, span)
            }
            (from, to) => {
                let mut trial = std::mem::take(&mut self.checker.infer);
                let object = matches!(to, Ty::Extern(..));
                let same =
                    trial.unify(to, from) && (object || trial.resolve(to) == trial.resolve(from));
                self.checker.infer = trial;
                if same {
                    e
                } else {
                    self.mismatch(&e.ty, ty, span)
                }
            }
        }
    }

    /// Whether two types can be one, without binding anything.
    fn meet(&mut self, a: &Ty, b: &Ty) -> bool {
        self.checker.infer.clone().unify(a, b)
    }

    fn coerce_list(&mut self, e: Elab<'a>, ty: &Ty, span: Span) -> Elab<'a> {
        let Val::Agg(items) = e.val else {
            return Elab::poison();
        };
        let wanted: Vec<Ty> = match ty {
            Ty::Tuple(all) => all.to_vec(),
            Ty::Record(r) if r.kind != RecordKind::Union => {
                r.fields.iter().map(|f| f.ty.clone()).collect()
            }
            Ty::List(t) => vec![(**t).clone(); items.len()],
            Ty::Stack(t, n) => vec![(**t).clone(); *n as usize],
            _ => return self.mismatch(&e.ty, ty, span),
        };
        if wanted.len() != items.len() {
            let text = format!(
                "`{ty}` has {} components, {} given",
                wanted.len(),
                items.len()
            );
            self.error("type", span, text);
            return Elab::poison();
        }
        let all: Vec<_> = items
            .into_iter()
            .zip(&wanted)
            .map(|(x, t)| self.coerce(x, t, span))
            .collect();
        Elab::new(ty.clone(), Val::Agg(all))
    }

    fn coerce_fields(&mut self, e: Elab<'a>, r: &Record, ty: &Ty, span: Span) -> Elab<'a> {
        let (Ty::StructExpr(names), Val::Agg(items)) = (&e.ty, e.val) else {
            return Elab::poison();
        };
        let mut slots: Vec<Option<Elab<'a>>> = vec![None; r.fields.len()];
        for ((name, _), item) in names.iter().zip(items) {
            match r.field(name) {
                None => {
                    let text = format!("`{ty}` has no field `{name}`");
                    let known = r.fields.iter().map(|f| &*f.name);
                    let d = Diagnostic::error("type", span, text);
                    self.report(d.with_known("fields", name, known));
                }
                Some((i, field)) => slots[i as usize] = Some(self.coerce(item, &field.ty, span)),
            }
        }
        let missing: Vec<_> = r
            .fields
            .iter()
            .zip(&slots)
            .filter(|(_, s)| s.is_none())
            .collect();
        if !missing.is_empty() {
            let list: Vec<_> = missing
                .iter()
                .map(|(f, _)| format!("`{}`", f.name))
                .collect();
            let text = format!("fields of `{ty}` are missing: {}", list.join(", "));
            self.report(
                Diagnostic::error("type", span, text)
                    .with_help("`...` at the end gives them their default"),
            );
            return Elab::poison();
        }
        Elab::new(ty.clone(), Val::Agg(slots.into_iter().flatten().collect()))
    }

    /// Whether a cast can be written in one step: it changes the width or the sign, not both, and a
    /// `type` or an enum is only converted from and to what represents it.
    pub(super) fn can_cast(&mut self, e: &Elab<'a>, to: &Ty) -> bool {
        let from = self.checker.infer.resolve(&e.ty);
        if from == *to {
            return true;
        }
        match (&from, to) {
            (
                Ty::Bits {
                    width: a,
                    signed: x,
                },
                Ty::Bits {
                    width: b,
                    signed: y,
                },
            ) => a == b || x == y,
            (Ty::Bits { .. } | Ty::New(_) | Ty::Bool | Ty::Enum(_), Ty::New(n)) => {
                n.underlying == from
            }
            (Ty::New(n), Ty::Bits { .. } | Ty::Bool | Ty::Enum(_)) => n.underlying == *to,
            (Ty::Enum(_), Ty::Bits { .. }) => from.enum_repr() == Some(to),
            (Ty::Bits { .. }, Ty::Enum(_)) => to.enum_repr() == Some(&from),
            _ => true,
        }
    }

    pub(super) fn no_cast(&mut self, from: &Ty, to: &Ty, span: Span) -> Elab<'a> {
        let text = format!("there is no direct conversion from `{from}` to `{to}`");
        let mut d = Diagnostic::error("type", span, text);
        let step = match (from, to) {
            (Ty::Bits { width, .. }, Ty::Bits { signed, .. }) => Some(Ty::Bits {
                width: *width,
                signed: *signed,
            }),
            (Ty::New(n), _) => Some(n.underlying.clone()),
            (_, Ty::New(n)) => Some(n.underlying.clone()),
            (Ty::Enum(_), _) => from.enum_repr().cloned(),
            (_, Ty::Enum(_)) => to.enum_repr().cloned(),
            _ => None,
        };
        if let Some(step) = step {
            d = d.with_help(format!("convert in two steps: `({to}) ({step}) ...`"));
        }
        self.report(d);
        Elab::poison()
    }

    /// `(ty) e`.
    pub(super) fn cast(&mut self, e: Elab<'a>, ty: &Ty, span: Span) -> Elab<'a> {
        let e = Elab {
            ty: self.checker.infer.resolve(&e.ty),
            val: e.val,
        };
        if e.ty.is_poison() || ty.is_poison() {
            return Elab::poison();
        }
        if e.ty == *ty {
            return e;
        }
        if matches!(e.ty, Ty::Param(..)) || matches!(ty, Ty::Param(..)) {
            return Elab::new(ty.clone(), Val::Poison);
        }
        match (&e.ty, ty) {
            (_, Ty::New(n)) => {
                let inner = self.cast(e, &n.underlying.clone(), span);
                Elab::new(ty.clone(), inner.val)
            }
            (Ty::New(n), _) => {
                let inner = Elab::new(n.underlying.clone(), e.val);
                self.cast(inner, ty, span)
            }
            (_, Ty::Enum(_)) if ty.enum_repr().is_some() => {
                let repr = ty.enum_repr().cloned().unwrap_or(Ty::Poison);
                let inner = self.strip_enum(e);
                let inner = self.cast(inner, &repr, span);
                Elab::new(ty.clone(), inner.val)
            }
            (Ty::Enum(_), _) if e.ty.enum_repr().is_some() => {
                let inner = self.strip_enum(e);
                self.cast(inner, ty, span)
            }
            (Ty::Bits { .. } | Ty::Int, Ty::Int) => match e.val {
                Val::Int(_) => Elab::new(Ty::Int, e.val),
                Val::Poison => Elab::poison(),
                _ => {
                    self.error("type", span, "a run-time value cannot become `int`");
                    Elab::poison()
                }
            },
            (Ty::Bits { .. } | Ty::Int, Ty::Bits { width, signed }) => match &e.val {
                Val::Int(v) => Elab::new(ty.clone(), Val::Int(wrap(v, *width, *signed))),
                Val::Poison => Elab::new(ty.clone(), Val::Poison),
                _ => self.runtime_cast(e, ty, span),
            },
            (
                Ty::Bool,
                Ty::Bits {
                    width: 1,
                    signed: false,
                },
            )
            | (
                Ty::Bits {
                    width: 1,
                    signed: false,
                },
                Ty::Bool,
            ) => match &e.val {
                Val::Bool(b) => Elab::new(ty.clone(), Val::Int(BigInt::from(u8::from(*b)))),
                Val::Int(v) => Elab::boolean(!v.is_zero()),
                Val::Poison => Elab::new(ty.clone(), Val::Poison),
                _ => self.runtime_cast(e, ty, span),
            },
            (Ty::Int, Ty::Bool) => match &e.val {
                Val::Int(v) if v.is_zero() || v.is_one() => Elab::boolean(v.is_one()),
                _ => self.mismatch(&e.ty.clone(), ty, span),
            },
            (Ty::ListExpr(_) | Ty::StructExpr(_) | Ty::InvalidHeader, _) => {
                self.coerce(e, ty, span)
            }
            (Ty::Tuple(_), Ty::Record(r))
                if r.kind == RecordKind::Struct && matches!(e.val, Val::Agg(_)) =>
            {
                let Val::Agg(all) = e.val else {
                    return Elab::poison();
                };
                let list = Elab::new(
                    Ty::ListExpr(all.iter().map(|x| x.ty.clone()).collect()),
                    Val::Agg(all),
                );
                self.coerce(list, ty, span)
            }
            (from, to) => {
                let text = format!("there is no conversion from `{from}` to `{to}`");
                self.error("type", span, text);
                Elab::poison()
            }
        }
    }

    fn runtime_cast(&mut self, e: Elab<'a>, ty: &Ty, span: Span) -> Elab<'a> {
        let inner = self.scalar(&e, span);
        let ir = self.ir_ty(ty);
        Elab::new(
            ty.clone(),
            Val::Expr(self.emitter.ir.add_expr(ExprKind::Cast(inner), ir)),
        )
    }

    /// A constant scalar; `None` for what is not one.
    pub(super) fn constant_of(&mut self, e: &Elab<'a>) -> Option<Const> {
        Some(match &e.val {
            Val::Int(v) => {
                let mut ty = e.ty.clone();
                while let Ty::New(n) = &ty {
                    ty = n.underlying.clone();
                }
                let ty = ty.enum_repr().cloned().unwrap_or(ty);
                Const::Bits(to_bits(v, ty.bits()?.0))
            }
            Val::Bool(b) => Const::Bool(*b),
            Val::Str(s) => Const::Str(s.to_string()),
            Val::Error(i) => Const::Error(*i),
            Val::Enum(i) => Const::Enum(*i),
            _ => return None,
        })
    }

    /// A scalar value as an expression. After an error, any expression of the type.
    pub(super) fn scalar(&mut self, e: &Elab<'a>, span: Span) -> ExprId {
        match &e.val {
            Val::Expr(id) => *id,
            Val::Place { place, .. } => self.read(place.clone(), &e.ty),
            Val::Int(_) if matches!(self.checker.infer.resolve(&e.ty), Ty::Int) => {
                self.report(
                    Diagnostic::error("type", span, "the width of this number is not known")
                        .with_help("give it one, for example `16w5` or `(bit<16>) 5`"),
                );
                self.zero(&Ty::bit(32))
            }
            _ => match self.constant_of(e) {
                Some(value) => self.emitter.constant(&self.checker, value, &e.ty),
                None => {
                    if !e.is_poison() {
                        self.error("type", span, format!("`{}` is no scalar value", e.ty));
                    }
                    self.zero(&e.ty.clone())
                }
            },
        }
    }

    /// Reads a place.
    pub(super) fn read(&mut self, place: Place, ty: &Ty) -> ExprId {
        self.emitter.read(&self.checker, place, ty)
    }

    fn zero(&mut self, ty: &Ty) -> ExprId {
        self.emitter.zero(&self.checker, ty)
    }

    /// A bit constant.
    pub(super) fn bits_const(&mut self, value: u64, width: u32) -> ExprId {
        self.emitter.bits(value, width)
    }

    /// The type of component `i`.
    fn component_type(ty: &Ty, i: usize) -> Option<Ty> {
        match ty {
            Ty::Record(r) => r.fields.get(i).map(|f| f.ty.clone()),
            Ty::Tuple(all) => all.get(i).cloned(),
            Ty::ListExpr(all) => all.get(i).cloned(),
            Ty::StructExpr(all) => all.get(i).map(|(_, t)| t.clone()),
            Ty::Stack(t, n) => (i < *n as usize).then(|| (**t).clone()),
            _ => None,
        }
    }

    /// Component `i` of an aggregate value.
    pub(super) fn component(&mut self, e: &Elab<'a>, i: u32, span: Span) -> Elab<'a> {
        let ty = Self::component_type(&e.ty, i as usize).unwrap_or(Ty::Poison);
        match &e.val {
            Val::Place { place, writable } => {
                let step = match e.ty {
                    Ty::Stack(..) => p4ir::Projection::Index(i),
                    _ => p4ir::Projection::Field(i),
                };
                Elab::place(ty, place.project(step), *writable)
            }
            Val::Agg(all) => all.get(i as usize).cloned().unwrap_or_else(Elab::poison),
            Val::Invalid => self.default_value(&ty, span),
            _ => Elab::new(ty, Val::Poison),
        }
    }

    /// The scalar leaves of a value, validity left out.
    pub(super) fn leaves(&mut self, e: &Elab<'a>, span: Span, out: &mut Vec<ExprId>) {
        let count = match (&e.ty, &e.val) {
            (_, Val::Agg(all)) => all.len(),
            (Ty::Record(_) | Ty::Tuple(_) | Ty::Stack(..), _) => e.ty.components().len(),
            _ => {
                let id = self.scalar(e, span);
                out.push(id);
                return;
            }
        };
        for i in 0..count {
            let part = self.component(e, i as u32, span);
            self.leaves(&part, span, out);
        }
    }

    /// Whether values of the type are one leaf.
    pub(super) fn is_scalar(ty: &Ty) -> bool {
        !matches!(
            ty,
            Ty::Record(_)
                | Ty::Tuple(_)
                | Ty::Stack(..)
                | Ty::ListExpr(_)
                | Ty::StructExpr(_)
                | Ty::InvalidHeader
                | Ty::List(_)
        )
    }
}

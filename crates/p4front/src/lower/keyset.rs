//! Key sets of `select` cases and table entries.

use p4ir::{BinaryOp as Ir, KeySet};

use super::Lowerer;
use super::value::{Elab, Val};
use crate::ast::{self, ExprKind};
use crate::source::Span;
use crate::types::Ty;
use crate::types::fold::to_bits;

/// The set of one scalar, its values of the key's type; those of masks and ranges of the bits that
/// represent it.
pub(super) enum ScalarSet<'a> {
    Any,
    Value(Elab<'a>),
    Mask { value: Elab<'a>, mask: Elab<'a> },
    Range { low: Elab<'a>, high: Elab<'a> },
}

/// When the values in sets must be known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// When the program is compiled: entries of tables.
    Before,
    /// When the parser gets there: `select`.
    AtRunTime,
}

impl<'a> Lowerer<'a> {
    /// The sets of a table's entry, one per key: all values are known when the program is compiled.
    pub(super) fn key_sets(&mut self, keyset: &'a ast::Keyset, tys: &[Ty]) -> Option<Vec<KeySet>> {
        let sets = self.scalar_sets(keyset, tys, Known::Before)?;
        sets.iter().map(|set| self.known_set(set)).collect()
    }

    /// The set, if all values in it are known when the program is compiled.
    pub(super) fn known_set(&mut self, set: &ScalarSet<'a>) -> Option<KeySet> {
        let number = |e: &Elab<'a>| match (&e.val, e.ty.bits()) {
            (Val::Int(v), Some((width, _))) => Some(to_bits(v, width)),
            _ => None,
        };
        Some(match set {
            ScalarSet::Any => KeySet::Any,
            ScalarSet::Value(value) => KeySet::Value(self.constant_of(value)?),
            ScalarSet::Mask { value, mask } => KeySet::Mask {
                value: number(value)?,
                mask: number(mask)?,
            },
            ScalarSet::Range { low, high } => KeySet::Range {
                lo: number(low)?,
                hi: number(high)?,
            },
        })
    }

    /// Whether a set holds a key, as a bool.
    pub(super) fn holds(&mut self, set: &ScalarSet<'a>, key: &Elab<'a>, span: Span) -> Elab<'a> {
        match set {
            ScalarSet::Any => Elab::boolean(true),
            ScalarSet::Value(value) => self.equal(key, value, span),
            ScalarSet::Mask { value, mask } => {
                let key = self.as_bits(key.clone(), &mask.ty, span);
                let key = self.binary_expr(Ir::BitAnd, &key, mask, &mask.ty, span);
                let value = self.binary_expr(Ir::BitAnd, value, mask, &mask.ty, span);
                self.equal(&key, &value, span)
            }
            ScalarSet::Range { low, high } => {
                let key = self.as_bits(key.clone(), &low.ty, span);
                let above = self.binary_expr(Ir::Ge, &key, low, &Ty::Bool, span);
                let below = self.binary_expr(Ir::Le, &key, high, &Ty::Bool, span);
                self.and(above, below, span)
            }
        }
    }

    /// One set per scalar of the keys.
    ///
    /// Keys may be structs and tuples: they are matched field by field, and a set for the whole is
    /// a list of sets.
    pub(super) fn scalar_sets(
        &mut self,
        keyset: &'a ast::Keyset,
        tys: &[Ty],
        known: Known,
    ) -> Option<Vec<ScalarSet<'a>>> {
        let mut leaves = Vec::new();
        tys.iter().for_each(|t| leaf_types(t, &mut leaves));
        self.spend(leaves.len() as u64);
        if !self.has_room(keyset.at.span) {
            return None;
        }
        let mut elements: Vec<&'a ast::Expr> = keyset.elements.iter().collect();
        if let [only] = elements.as_slice() {
            if matches!(only.kind, ExprKind::DontCare) {
                return Some(leaves.iter().map(|_| ScalarSet::Any).collect());
            }
            if let ExprKind::List(items) = &only.kind
                && (tys.len() != 1 || tys.iter().all(Self::is_scalar))
            {
                elements = items.iter().collect();
            }
        }
        let tys = match tys {
            tys if tys.len() == elements.len() => tys,
            _ if leaves.len() == elements.len() => &leaves,
            _ => {
                let keys = |n: usize| if n == 1 { "1 key is" } else { "keys are" };
                let text = match tys.len() {
                    1 => format!("{} matched, {} sets given", keys(1), elements.len()),
                    n => format!("{n} {} matched, {} given", keys(n), elements.len()),
                };
                self.error("type", keyset.at.span, text);
                return None;
            }
        };
        let mut sets = Vec::new();
        let mut ok = true;
        for (e, ty) in elements.into_iter().zip(tys) {
            ok &= self.key_tree(e, ty, known, &mut sets).is_some();
        }
        ok.then_some(sets)
    }

    /// The sets of the leaves of one key.
    fn key_tree(
        &mut self,
        e: &'a ast::Expr,
        ty: &Ty,
        known: Known,
        out: &mut Vec<ScalarSet<'a>>,
    ) -> Option<()> {
        if Self::is_scalar(ty) {
            out.push(self.key_set(e, ty, known)?);
            return Some(());
        }
        let parts = ty.components();
        match &e.kind {
            ExprKind::DontCare => {
                let mut leaves = Vec::new();
                leaf_types(ty, &mut leaves);
                out.extend(leaves.iter().map(|_| ScalarSet::Any));
                Some(())
            }
            ExprKind::List(items) if items.len() == parts.len() => {
                for (item, part) in items.iter().zip(&parts) {
                    self.key_tree(item, part, known, out)?;
                }
                Some(())
            }
            _ => {
                let value = self.set_value(e, ty, known);
                let value = self.coerce(value, ty, e.at.span);
                self.value_leaves(&value, e, out)
            }
        }
    }

    /// A value in a set.
    fn set_value(&mut self, e: &'a ast::Expr, want: &Ty, known: Known) -> Elab<'a> {
        match known {
            Known::Before => self.const_expr(e, Some(want)),
            Known::AtRunTime => self.expr(e, Some(want)),
        }
    }

    fn value_leaves(
        &mut self,
        value: &Elab<'a>,
        e: &'a ast::Expr,
        out: &mut Vec<ScalarSet<'a>>,
    ) -> Option<()> {
        let count = match &value.val {
            Val::Poison => return None,
            Val::Agg(all) => all.len(),
            _ => value.ty.components().len(),
        };
        if Self::is_scalar(&value.ty) {
            out.push(self.one_value(value.clone(), e)?);
            return Some(());
        }
        for i in 0..count {
            let part = self.component(value, i as u32, e.at.span);
            self.value_leaves(&part, e, out)?;
        }
        Some(())
    }

    /// The set of one value, which must be one that can be compared.
    fn one_value(&mut self, value: Elab<'a>, e: &'a ast::Expr) -> Option<ScalarSet<'a>> {
        let stored = matches!(value.val, Val::Expr(_) | Val::Place { .. })
            && value.ty.is_data()
            && !matches!(value.ty, Ty::Int | Ty::String | Ty::Varbit(_));
        if !stored && self.constant_of(&value).is_none() {
            let text = format!("`{}` cannot be matched", value.ty);
            self.error("type", e.at.span, text);
            return None;
        }
        Some(ScalarSet::Value(value))
    }

    fn key_set(&mut self, e: &'a ast::Expr, ty: &Ty, known: Known) -> Option<ScalarSet<'a>> {
        match &e.kind {
            ExprKind::DontCare => Some(ScalarSet::Any),
            ExprKind::Mask { value, mask } => {
                let value = self.key_number(value, ty, known)?;
                let mask = self.key_number(mask, ty, known)?;
                Some(ScalarSet::Mask { value, mask })
            }
            ExprKind::Range { low, high } => {
                let low = self.key_number(low, ty, known)?;
                let high = self.key_number(high, ty, known)?;
                if let (Some(lo), Some(hi)) = (low.as_int(), high.as_int())
                    && lo > hi
                {
                    self.warn("table", e.at.span, format!("no value lies in {lo} .. {hi}"));
                }
                Some(ScalarSet::Range { low, high })
            }
            _ => self.key_value(e, ty, known),
        }
    }

    /// A value of a key's type.
    fn key_value(&mut self, e: &'a ast::Expr, ty: &Ty, known: Known) -> Option<ScalarSet<'a>> {
        let value = self.set_value(e, ty, known);
        let value = match (&value.ty, ty) {
            // A number of known width stands for a value of a `type`, too.
            (Ty::Bits { .. }, Ty::New(_)) => self.cast(value, ty, e.at.span),
            (Ty::Enum(_), Ty::Bits { .. }) => self.strip_enum(value),
            _ => value,
        };
        let value = self.coerce(value, ty, e.at.span);
        if value.is_poison() {
            return None;
        }
        self.one_value(value, e)
    }

    /// A number in a mask or range, as the bits that represent a key of a type.
    fn key_number(&mut self, e: &'a ast::Expr, ty: &Ty, known: Known) -> Option<Elab<'a>> {
        let mut bits = ty.clone();
        while let Ty::New(n) = &bits {
            bits = n.underlying.clone();
        }
        if let Some(repr) = bits.enum_repr() {
            bits = repr.clone();
        }
        if bits.bits().is_none() {
            if !bits.is_poison() {
                self.error(
                    "type",
                    e.at.span,
                    format!("masks and ranges need a key of bits, not `{ty}`"),
                );
            }
            return None;
        }
        let value = self.set_value(e, &bits, known);
        let value = self.as_bits(value, &bits, e.at.span);
        let value = self.coerce(value, &bits, e.at.span);
        (!value.is_poison()).then_some(value)
    }

    /// A value of a `type` or an enum as the bits that represent it.
    fn as_bits(&mut self, value: Elab<'a>, bits: &Ty, span: Span) -> Elab<'a> {
        match value.ty {
            Ty::New(_) => self.cast(value, bits, span),
            _ => self.strip_enum(value),
        }
    }
}

/// Types of the scalar leaves of a type.
fn leaf_types(ty: &Ty, out: &mut Vec<Ty>) {
    let parts = ty.components();
    if Lowerer::is_scalar(ty) {
        out.push(ty.clone());
    }
    for part in &parts {
        leaf_types(part, out);
    }
}

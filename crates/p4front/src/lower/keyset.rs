//! Key sets of `select` cases and table entries.

use num_bigint::BigUint;
use p4ir::{Const, KeySet};

use super::Lowerer;
use super::value::Val;
use crate::ast::{self, ExprKind};
use crate::types::Ty;
use crate::types::fold::to_bits;

impl<'a> Lowerer<'a> {
    /// One set per key.
    pub(super) fn key_sets(&mut self, keyset: &'a ast::Keyset, tys: &[Ty]) -> Option<Vec<KeySet>> {
        let mut elements: Vec<&'a ast::Expr> = keyset.elements.iter().collect();
        if let [only] = elements.as_slice() {
            if matches!(only.kind, ExprKind::DontCare) {
                return Some(vec![KeySet::Any; tys.len()]);
            }
            if let ExprKind::List(items) = &only.kind {
                elements = items.iter().collect();
            }
        }
        if elements.len() != tys.len() {
            let text = format!(
                "{} keys are matched, {} sets given",
                tys.len(),
                elements.len()
            );
            self.error("type", keyset.at.span, text);
            return None;
        }
        let sets: Vec<_> = elements
            .into_iter()
            .zip(tys)
            .map(|(e, t)| self.key_set(e, t))
            .collect();
        sets.into_iter().collect()
    }

    fn key_set(&mut self, e: &'a ast::Expr, ty: &Ty) -> Option<KeySet> {
        match &e.kind {
            ExprKind::DontCare => Some(KeySet::Any),
            ExprKind::Mask { value, mask } => {
                let (value, mask) = (self.key_number(value, ty)?, self.key_number(mask, ty)?);
                Some(KeySet::Mask { value, mask })
            }
            ExprKind::Range { low, high } => {
                let (lo, hi) = (self.key_number(low, ty)?, self.key_number(high, ty)?);
                Some(KeySet::Range { lo, hi })
            }
            _ => self.key_value(e, ty).map(KeySet::Value),
        }
    }

    /// A compile-time value of a key's type.
    pub(super) fn key_value(&mut self, e: &'a ast::Expr, ty: &Ty) -> Option<Const> {
        let value = self.const_expr(e, Some(ty));
        let value = match (&value.ty, ty) {
            // A plain number stands for a value of a `type` or of an enum's representation.
            (Ty::Int | Ty::Bits { .. }, Ty::New(_)) => self.cast(value, ty, e.at.span),
            (Ty::Enum(_), Ty::Bits { .. }) => self.strip_enum(value),
            _ => value,
        };
        let value = self.coerce(value, ty, e.at.span);
        if value.is_poison() {
            return None;
        }
        match self.constant_of(&value) {
            Some(c) => Some(c),
            None => {
                self.error(
                    "type",
                    e.at.span,
                    format!("`{}` cannot be matched", value.ty),
                );
                None
            }
        }
    }

    /// The bits of a compile-time number of a key's type.
    fn key_number(&mut self, e: &'a ast::Expr, ty: &Ty) -> Option<BigUint> {
        let mut bits = ty.clone();
        while let Ty::New(n) = &bits {
            bits = n.underlying.clone();
        }
        if let Some(repr) = bits.enum_repr() {
            bits = repr.clone();
        }
        let Some((width, _)) = bits.bits() else {
            if !bits.is_poison() {
                self.error(
                    "type",
                    e.at.span,
                    format!("masks and ranges need a key of bits, not `{ty}`"),
                );
            }
            return None;
        };
        let value = self.const_expr(e, Some(&bits));
        let value = match value.ty {
            Ty::New(_) => self.cast(value, &bits, e.at.span),
            _ => self.strip_enum(value),
        };
        let value = self.coerce(value, &bits, e.at.span);
        match &value.val {
            Val::Int(v) => Some(to_bits(v, width)),
            _ => None,
        }
    }
}

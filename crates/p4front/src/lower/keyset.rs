//! Key sets of `select` cases and table entries.

use num_bigint::BigUint;
use p4ir::{Const, KeySet};

use super::Lowerer;
use super::value::{Elab, Val};
use crate::ast::{self, ExprKind};
use crate::types::Ty;
use crate::types::fold::to_bits;

impl<'a> Lowerer<'a> {
    /// One set per key.
    ///
    /// Keys may be structs and tuples: they are matched field by field, and a set for the whole is
    /// a list of sets.
    pub(super) fn key_sets(&mut self, keyset: &'a ast::Keyset, tys: &[Ty]) -> Option<Vec<KeySet>> {
        let mut leaves = Vec::new();
        tys.iter().for_each(|t| leaf_types(t, &mut leaves));
        self.spend(leaves.len() as u64);
        if !self.has_room(keyset.at.span) {
            return None;
        }
        let mut elements: Vec<&'a ast::Expr> = keyset.elements.iter().collect();
        if let [only] = elements.as_slice() {
            if matches!(only.kind, ExprKind::DontCare) {
                return Some(vec![KeySet::Any; leaves.len()]);
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
            ok &= self.key_tree(e, ty, &mut sets).is_some();
        }
        ok.then_some(sets)
    }

    /// The sets of the leaves of one key.
    fn key_tree(&mut self, e: &'a ast::Expr, ty: &Ty, out: &mut Vec<KeySet>) -> Option<()> {
        if Self::is_scalar(ty) {
            out.push(self.key_set(e, ty)?);
            return Some(());
        }
        let parts = ty.components();
        match &e.kind {
            ExprKind::DontCare => {
                let mut leaves = Vec::new();
                leaf_types(ty, &mut leaves);
                out.extend(leaves.iter().map(|_| KeySet::Any));
                Some(())
            }
            ExprKind::List(items) if items.len() == parts.len() => {
                for (item, part) in items.iter().zip(&parts) {
                    self.key_tree(item, part, out)?;
                }
                Some(())
            }
            _ => {
                let value = self.const_expr(e, Some(ty));
                let value = self.coerce(value, ty, e.at.span);
                self.value_leaves(&value, e, out)
            }
        }
    }

    fn value_leaves(
        &mut self,
        value: &Elab<'a>,
        e: &'a ast::Expr,
        out: &mut Vec<KeySet>,
    ) -> Option<()> {
        match &value.val {
            Val::Poison => None,
            Val::Agg(all) => {
                for part in all {
                    self.value_leaves(part, e, out)?;
                }
                Some(())
            }
            _ => {
                let Some(value) = self.constant_of(value) else {
                    let text = format!("`{}` cannot be matched", value.ty);
                    self.error("type", e.at.span, text);
                    return None;
                };
                out.push(KeySet::Value(value));
                Some(())
            }
        }
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
                if lo > hi && !Self::is_signed(ty) {
                    self.warn("table", e.at.span, format!("no value lies in {lo} .. {hi}"));
                }
                Some(KeySet::Range { lo, hi })
            }
            _ => self.key_value(e, ty).map(KeySet::Value),
        }
    }

    /// A compile-time value of a key's type.
    pub(super) fn key_value(&mut self, e: &'a ast::Expr, ty: &Ty) -> Option<Const> {
        let value = self.const_expr(e, Some(ty));
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

impl Lowerer<'_> {
    fn is_signed(ty: &Ty) -> bool {
        match ty {
            Ty::New(n) => Self::is_signed(&n.underlying),
            Ty::Enum(_) => ty.enum_repr().is_some_and(Self::is_signed),
            other => other.bits().is_some_and(|(_, signed)| signed),
        }
    }
}

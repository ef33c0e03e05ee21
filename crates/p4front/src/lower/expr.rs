//! Expressions.

use indexmap::IndexSet;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use p4ir::{ExprKind as IrExpr, Projection};

use super::limits::TypeSize;
use super::value::{Elab, Val};
use super::{Entity, Lowerer};
use crate::ast::{self, ExprKind};
use crate::source::Span;
use crate::types::Ty;
use crate::types::fold::{fits, wrap};

impl<'a> Lowerer<'a> {
    /// Elaborates an expression. `want` is the type the context would like; it guides initialisers,
    /// and the caller still converts to it.
    pub(super) fn expr(&mut self, e: &'a ast::Expr, want: Option<&Ty>) -> Elab<'a> {
        self.deeper(e.at.span, |s| s.expr_inner(e, want))
            .unwrap_or_else(Elab::poison)
    }

    fn expr_inner(&mut self, e: &'a ast::Expr, want: Option<&Ty>) -> Elab<'a> {
        let span = e.at.span;
        match &e.kind {
            ExprKind::Int(literal) => self.literal(literal, span),
            ExprKind::Bool(b) => Elab::boolean(*b),
            ExprKind::String(s) => Elab::new(Ty::String, Val::Str(s.clone())),
            ExprKind::Invalid => Elab::new(Ty::InvalidHeader, Val::Invalid),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Member { base, member } => self.member(base, member, span),
            ExprKind::Index { base, index } => self.index(base, index, span),
            ExprKind::Slice { base, high, low } => self.slice(base, high, low, span),
            ExprKind::PlusSlice { base, low, width } => self.plus_slice(base, low, width, span),
            ExprKind::List(items) => self.list(items, want, span),
            ExprKind::Struct { fields, dots } => self.struct_expr(fields, *dots, want, span),
            ExprKind::Unary { op, operand } => self.unary(*op, operand, span),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right, span),
            ExprKind::Ternary {
                condition,
                then,
                otherwise,
            } => self.ternary(condition, then, otherwise, want, span),
            ExprKind::Call {
                callee,
                type_args,
                args,
            } => self.call(callee, type_args, args, span),
            ExprKind::Construct { ty, args } => self.construct(ty, args, span),
            ExprKind::Cast { ty, operand } => {
                let target = self.ty(ty);
                let value = self.expr(operand, Some(&target));
                if !self.can_cast(&value, &target) {
                    return self.no_cast(&value.ty, &target, span);
                }
                self.cast(value, &target, span)
            }
            ExprKind::TypeName(_) => self.misplaced(span, "a type is no value"),
            ExprKind::This => match self.this.clone() {
                Some(object) => object,
                None => self.misplaced(span, "`this` is only known inside abstract methods"),
            },
            ExprKind::Dots => match want.map(|t| self.checker.infer.resolve(t)) {
                Some(ty) if !matches!(ty, Ty::Var(_)) => self.default_value(&ty, span),
                _ => self.misplaced(span, "the type that `...` stands for is not known here"),
            },
            ExprKind::DontCare => self.misplaced(span, "`_` has no value"),
            ExprKind::Mask { .. } => self.misplaced(span, "`&&&` is only possible in key sets"),
            ExprKind::Range { .. } => {
                self.misplaced(span, "`..` is only possible in key sets and `for`")
            }
        }
    }

    fn misplaced(&mut self, span: Span, text: &str) -> Elab<'a> {
        self.error("type", span, text);
        Elab::poison()
    }

    fn literal(&mut self, literal: &ast::IntLiteral, span: Span) -> Elab<'a> {
        let Some(width) = literal.width else {
            return Elab::new(Ty::Int, Val::Int(literal.value.clone()));
        };
        if width.bits > p4ir::limits::MAX_BITS || (width.signed && width.bits == 0) {
            return self.misplaced(span, "this width is not legal");
        }
        let ty = Ty::Bits {
            width: width.bits,
            signed: width.signed,
        };
        if !fits(&literal.value, width.bits, false) {
            let wrapped = wrap(&literal.value, width.bits, width.signed);
            let text = format!(
                "{} does not fit `{ty}`; it becomes {wrapped}",
                literal.value
            );
            self.warn("overflow", span, text);
        }
        Elab::new(ty, Val::Int(wrap(&literal.value, width.bits, width.signed)))
    }

    fn path(&mut self, path: &ast::Path) -> Elab<'a> {
        match self.lookup(path) {
            Entity::Value(value) => value,
            Entity::Poison => Elab::poison(),
            Entity::Type(_) | Entity::TypeDecl(_) => self.misplaced(
                path.name.span,
                &format!("`{}` is a type, not a value", path.name),
            ),
            Entity::Functions(_) => {
                let text = format!("function `{}` can only be called", path.name);
                self.misplaced(path.name.span, &text)
            }
        }
    }

    /// The type `want` asks of component `i` of an initialiser, or of the component called `name`.
    fn want_component(want: Option<&Ty>, i: usize, name: Option<&str>) -> Option<Ty> {
        match want? {
            Ty::Record(r) => match name {
                Some(name) => r.field(name).map(|(_, f)| f.ty.clone()),
                None => r.fields.get(i).map(|f| f.ty.clone()),
            },
            Ty::Tuple(all) => all.get(i).cloned(),
            Ty::List(t) | Ty::Stack(t, _) => Some((**t).clone()),
            _ => None,
        }
    }

    fn list(&mut self, items: &'a [ast::Expr], want: Option<&Ty>, span: Span) -> Elab<'a> {
        let dots = items
            .last()
            .is_some_and(|e| matches!(e.kind, ExprKind::Dots));
        let given = if dots {
            &items[..items.len() - 1]
        } else {
            items
        };
        let want = want.map(|t| self.checker.infer.resolve(t));
        let mut values: Vec<Elab<'a>> = Vec::with_capacity(items.len());
        let mut room = TypeSize::default();
        for (i, item) in given.iter().enumerate() {
            let hint = Self::want_component(want.as_ref(), i, None);
            self.push_component(&mut values, item, hint);
            if !self.takes_last(&mut room, &values, span) {
                return Elab::poison();
            }
        }
        if dots {
            let wanted = want.as_ref().map(Ty::components).unwrap_or_default();
            if wanted.is_empty()
                && !matches!(want, Some(Ty::Record(_) | Ty::Tuple(_) | Ty::Stack(..)))
            {
                return self.misplaced(span, "the type that `...` fills is not known here");
            }
            for ty in wanted.iter().skip(given.len()) {
                let value = self.default_value(ty, span);
                values.push(value);
            }
        }
        let tys = values.iter().map(|v| v.ty.clone()).collect();
        Elab::new(Ty::ListExpr(tys), Val::Agg(values))
    }

    /// Elaborates one more component; if that has effects the earlier ones are saved.
    pub(super) fn push_component(
        &mut self,
        values: &mut Vec<Elab<'a>>,
        item: &'a ast::Expr,
        hint: Option<Ty>,
    ) {
        let mark = self.emitter.out.len();
        let value = self.expr(item, hint.as_ref());
        if self.emitter.out.len() > mark {
            for earlier in values.iter_mut() {
                self.spill(earlier, mark, item.at.span);
            }
        }
        values.push(value);
    }

    /// Whether the last of some components has room beside the others.
    fn takes_last(&mut self, room: &mut TypeSize, values: &[Elab<'a>], span: Span) -> bool {
        match values.last() {
            Some(last) => self.takes_in_list(room, &last.ty, span),
            None => true,
        }
    }

    fn struct_expr(
        &mut self,
        fields: &'a [ast::NamedExpr],
        dots: bool,
        want: Option<&Ty>,
        span: Span,
    ) -> Elab<'a> {
        let want = want.map(|t| self.checker.infer.resolve(t));
        let mut values = Vec::with_capacity(fields.len());
        let mut names: IndexSet<ast::Symbol> = IndexSet::with_capacity(fields.len());
        let mut room = TypeSize::default();
        for field in fields {
            if names.contains(&field.name.name) {
                self.error(
                    "name",
                    field.name.span,
                    format!("field `{}` is given twice", field.name),
                );
                continue;
            }
            let hint = Self::want_component(want.as_ref(), 0, Some(&field.name.name));
            if let Some(Ty::Record(r)) = &want
                && let Some((_, meant)) = r.field(&field.name.name)
            {
                let (decl, index) = (r.decl, meant.index);
                self.checker.used_field(field.name.span, decl, index);
            }
            self.push_component(&mut values, &field.value, hint);
            names.insert(field.name.name.clone());
            if !self.takes_last(&mut room, &values, span) {
                return Elab::poison();
            }
        }
        if dots {
            let Some(Ty::Record(r)) = &want else {
                return self.misplaced(span, "the type that `...` fills is not known here");
            };
            for field in &r.fields {
                if !names.contains(&field.name) {
                    let value = self.default_value(&field.ty, span);
                    names.insert(field.name.clone());
                    values.push(value);
                }
            }
        }
        let tys = names
            .into_iter()
            .zip(values.iter().map(|v| v.ty.clone()))
            .collect();
        Elab::new(Ty::StructExpr(tys), Val::Agg(values))
    }

    fn index(&mut self, base: &'a ast::Expr, index: &'a ast::Expr, span: Span) -> Elab<'a> {
        let mut whole = self.expr(base, None);
        let mark = self.emitter.out.len();
        let at = self.expr(index, None);
        if self.emitter.out.len() > mark {
            match &mut whole.val {
                // A place stays a place: only where it is was decided before the index.
                Val::Place { place, .. } => {
                    let mut fixed = place.clone();
                    self.freeze(&mut fixed, mark, span);
                    *place = fixed;
                }
                _ => self.spill(&mut whole, mark, span),
            }
        }
        let at = self.strip_enum(at);
        if whole.is_poison() || at.is_poison() {
            return match &whole.ty {
                Ty::Stack(t, _) => Elab::new((**t).clone(), Val::Poison),
                _ => Elab::poison(),
            };
        }
        if !matches!(at.ty, Ty::Int | Ty::Bits { .. }) {
            return self.misplaced(
                index.at.span,
                &format!("an index is a number, not `{}`", at.ty),
            );
        }
        let count = match (&whole.ty, &whole.val) {
            (Ty::Stack(_, n), _) => *n as usize,
            (_, Val::Agg(all)) => all.len(),
            (Ty::Tuple(all), _) => all.len(),
            (ty, _) => {
                let text = format!("`{ty}` cannot be indexed");
                return self.misplaced(span, &text);
            }
        };
        if let Val::Int(v) = &at.val {
            return match v.to_usize().filter(|i| *i < count) {
                Some(i) => self.component(&whole, i as u32, span),
                None => {
                    let text = format!("index {v} is out of bounds: there are {count} elements");
                    self.misplaced(index.at.span, &text)
                }
            };
        }
        let Ty::Stack(element, _) = whole.ty.clone() else {
            return self.misplaced(index.at.span, "this index must be known at compile time");
        };
        let (place, writable) = match &whole.val {
            Val::Place { place, writable } => (place.clone(), *writable),
            _ => {
                let temp = self.temp(&whole.ty.clone(), span);
                self.store(&temp, &whole.ty.clone(), whole.clone(), span);
                (temp, false)
            }
        };
        let at = match at.ty.bits() {
            Some((width, true)) => self.cast(at, &Ty::bit(width), span),
            _ => at,
        };
        let step = Projection::DynIndex(self.scalar(&at, span));
        Elab::place((*element).clone(), place.project(step), writable)
    }

    /// Width of something sliced.
    pub(super) fn sliced_width(&mut self, ty: &Ty, span: Span) -> Option<u32> {
        let ty = match ty.enum_repr() {
            Some(repr) => repr.clone(),
            None => ty.clone(),
        };
        match ty {
            Ty::Bits { width, .. } => Some(width),
            Ty::Poison | Ty::Param(..) => None,
            other => {
                self.error("type", span, format!("`{other}` has no bits to slice"));
                None
            }
        }
    }

    pub(super) fn bit_index(&mut self, v: &BigInt, width: u32, span: Span) -> Option<u32> {
        match v.to_u32().filter(|i| *i < width) {
            Some(i) => Some(i),
            None => {
                self.error("type", span, format!("there is no bit {v} in {width} bits"));
                None
            }
        }
    }

    pub(super) fn slice_bounds(
        &mut self,
        high: &'a ast::Expr,
        low: &'a ast::Expr,
        width: u32,
        span: Span,
    ) -> Option<(u32, u32)> {
        let (hi, lo) = (self.const_int(high), self.const_int(low));
        let hi = self.bit_index(&hi?, width, high.at.span)?;
        let lo = self.bit_index(&lo?, width, low.at.span)?;
        if hi < lo {
            self.error(
                "type",
                span,
                format!("the slice [{hi}:{lo}] is upside down"),
            );
            return None;
        }
        Some((hi, lo))
    }

    pub(super) fn slice_width(&mut self, width: &'a ast::Expr, whole: u32) -> Option<u32> {
        let v = self.const_int(width)?;
        match v.to_u32().filter(|w| (1..=whole).contains(w)) {
            Some(w) => Some(w),
            None => {
                self.error(
                    "type",
                    width.at.span,
                    format!("cannot take {v} bits out of {whole}"),
                );
                None
            }
        }
    }

    fn slice(
        &mut self,
        base: &'a ast::Expr,
        high: &'a ast::Expr,
        low: &'a ast::Expr,
        span: Span,
    ) -> Elab<'a> {
        let whole = self.expr(base, None);
        let whole = self.strip_enum(whole);
        if whole.ty == Ty::Int {
            return self.misplaced(base.at.span, "a number of unknown width cannot be sliced");
        }
        let Some(width) = self.sliced_width(&whole.ty, base.at.span) else {
            return Elab::poison();
        };
        let Some((hi, lo)) = self.slice_bounds(high, low, width, span) else {
            return Elab::poison();
        };
        if whole.is_poison() {
            return Elab::new(Ty::bit(hi - lo + 1), Val::Poison);
        }
        self.slice_value(whole, hi, lo, span)
    }

    fn plus_slice(
        &mut self,
        base: &'a ast::Expr,
        low: &'a ast::Expr,
        width: &'a ast::Expr,
        span: Span,
    ) -> Elab<'a> {
        let mut whole = self.expr(base, None);
        let at = self.then(&mut whole, span, |s| s.expr(low, None));
        let (whole, at) = (self.strip_enum(whole), self.strip_enum(at));
        let Some(total) = self.sliced_width(&whole.ty, base.at.span) else {
            return Elab::poison();
        };
        let Some(width) = self.slice_width(width, total) else {
            return Elab::poison();
        };
        if whole.is_poison() || at.is_poison() {
            return Elab::new(Ty::bit(width), Val::Poison);
        }
        if let Val::Int(v) = &at.val {
            let Some(lo) = self.bit_index(&v.clone(), total, low.at.span) else {
                return Elab::poison();
            };
            if lo + width > total {
                return self.misplaced(span, &format!("the slice reaches beyond {total} bits"));
            }
            return self.slice_value(whole, lo + width - 1, lo, span);
        }
        if at.ty.bits().is_none_or(|(_, signed)| signed) {
            return self.misplaced(low.at.span, "the position of a slice is an unsigned number");
        }
        self.moving_slice(whole, at, width, span)
    }

    /// `nextIndex` of a stack.
    pub(super) fn next_index(&mut self, stack: &p4ir::Place) -> p4ir::ExprId {
        let ty = self.emitter.common.bit32;
        self.emitter
            .ir
            .add_expr(IrExpr::NextIndex(stack.clone()), ty)
    }
}

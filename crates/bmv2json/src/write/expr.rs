//! Expressions, as numbers that BMv2 does not bound and as conditions.

use p4ir::{BinaryOp, Const, ExprId, ExprKind, Place, Projection, Type, TypeId, UnaryOp};
use serde_json::{Value, json};

use super::json::{choice, field, named, number, ones, op, operand, unary};
use super::storage::{Alternative, Spot, signed_text};
use super::{Write, Writer};

impl Writer<'_> {
    /// A number cut to what `bit<width>` or `int<width>` holds.
    fn cut(value: Value, width: u32, signed: bool) -> Value {
        match signed {
            true => op("two_comp_mod", value, number(width)),
            false => op("&", value, number(ones(width))),
        }
    }

    fn bits_of(&self, ty: TypeId) -> Write<(u32, bool)> {
        let bits = self.p.types[ty].bits();
        bits.ok_or_else(|| self.error("a number is expected"))
    }

    /// The value of an expression as a number; a bool is 0 or 1.
    pub(super) fn num(&mut self, id: ExprId) -> Write<Value> {
        self.spend(1)?;
        let expr = &self.p.exprs[id];
        let ty = expr.ty;
        if self.p.types[ty] == Type::Bool && !matches!(expr.kind, ExprKind::Read(_)) {
            return Ok(unary("b2d", self.cond(id)?));
        }
        if self.p.types[ty].bits().is_some_and(|(width, _)| width == 0) {
            return Ok(number(0u32));
        }
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, ty),
            ExprKind::Read(place) => self.read(place, ty),
            ExprKind::Unary(unary_op, a) => {
                let (width, signed) = self.bits_of(ty)?;
                let name = match unary_op {
                    UnaryOp::BitNot => "~",
                    _ => "-",
                };
                Ok(Self::cut(unary(name, self.num(*a)?), width, signed))
            }
            ExprKind::Binary(binary, a, b) => self.binary(*binary, *a, *b, ty),
            ExprKind::Cast(a) => self.cast(*a, ty),
            ExprKind::Slice { value, hi, lo } => {
                let mut whole = self.num(*value)?;
                if *lo > 0 {
                    whole = op(">>", whole, number(*lo));
                }
                Ok(op("&", whole, number(ones(hi - lo + 1))))
            }
            ExprKind::Mux { cond, then, other } => {
                let cond = self.cond(*cond)?;
                Ok(choice(cond, self.num(*then)?, self.num(*other)?))
            }
            ExprKind::NextIndex(place) => self.next_index(place),
            ExprKind::PacketLength if self.in_parser => {
                Ok(field("standard_metadata", "packet_length"))
            }
            ExprKind::PacketLength => Ok(number(0u32)),
            ExprKind::IsValid(_) => Ok(unary("b2d", self.cond(id)?)),
        }
    }

    pub(super) fn constant(&mut self, value: &Const, ty: TypeId) -> Write<Value> {
        let text = match value {
            Const::Bits(bits) => {
                let (width, signed) = self.p.types[ty].bits().unwrap_or((0, false));
                signed_text(bits, width, signed)
            }
            Const::Bool(b) => format!("{:#x}", u32::from(*b)),
            Const::Error(i) | Const::Enum(i) => format!("{i:#x}"),
            Const::Str(_) => return Err(self.error("a string where BMv2 wants a number")),
        };
        Ok(json!({ "type": "hexstr", "value": text }))
    }

    fn binary(&mut self, binary: BinaryOp, a: ExprId, b: ExprId, ty: TypeId) -> Write<Value> {
        let (width, signed) = self.bits_of(ty)?;
        let (l, r) = (self.num(a)?, self.num(b)?);
        let cut = |name: &str, l, r| Ok(Self::cut(op(name, l, r), width, signed));
        let saturated = |name: &str, l, r| {
            let cast = if signed { "sat_cast" } else { "usat_cast" };
            Ok(op(cast, op(name, l, r), number(width)))
        };
        match binary {
            BinaryOp::Add => cut("+", l, r),
            BinaryOp::Sub => cut("-", l, r),
            BinaryOp::Mul => cut("*", l, r),
            BinaryOp::Shl => cut("<<", l, r),
            BinaryOp::AddSat => saturated("+", l, r),
            BinaryOp::SubSat => saturated("-", l, r),
            BinaryOp::Div => Ok(op("/", l, r)),
            BinaryOp::Mod => Ok(op("%", l, r)),
            BinaryOp::BitAnd => Ok(op("&", l, r)),
            BinaryOp::BitOr => Ok(op("|", l, r)),
            BinaryOp::BitXor => Ok(op("^", l, r)),
            BinaryOp::Shr => Ok(op(">>", l, r)),
            BinaryOp::Concat => {
                let (wa, _) = self.bits_of(self.p.expr_type(a))?;
                let (wb, _) = self.bits_of(self.p.expr_type(b))?;
                let high = op("<<", op("&", l, number(ones(wa))), number(wb));
                let whole = op("|", high, op("&", r, number(ones(wb))));
                Ok(match signed {
                    true => Self::cut(whole, width, true),
                    false => whole,
                })
            }
            _ => Err(self.error("a condition where a number is expected")),
        }
    }

    fn cast(&mut self, a: ExprId, ty: TypeId) -> Write<Value> {
        let (width, signed) = self.bits_of(ty)?;
        let from = self.p.expr_type(a);
        let value = self.num(a)?;
        let Some((had, was_signed)) = self.p.types[from].bits() else {
            return Ok(value);
        };
        let fits = match (was_signed, signed) {
            (false, false) | (true, true) => had <= width,
            (false, true) => had < width,
            (true, false) => false,
        };
        Ok(if fits {
            value
        } else {
            Self::cut(value, width, signed)
        })
    }

    fn next_index(&mut self, stack: &Place) -> Write<Value> {
        let (name, kind) = match self.spot(stack)? {
            Spot::Stack(name, _) => (name, "header_stack"),
            Spot::UnionStack(name, _) => (name, "header_union_stack"),
            _ => return Err(self.error("`nextIndex` of an array")),
        };
        let last = unary("last_stack_index", named(kind, &name));
        Ok(Self::cut(op("+", last, number(1u32)), 32, false))
    }

    /// All of these indices have the values given.
    pub(super) fn all_equal(&mut self, conditions: &[(ExprId, u32)]) -> Write<Value> {
        let mut all = None;
        for (index, value) in conditions {
            let this = op("==", self.num(*index)?, number(*value));
            all = Some(match all {
                None => this,
                Some(before) => op("and", before, this),
            });
        }
        Ok(all.unwrap_or_else(|| json!({ "type": "bool", "value": true })))
    }

    /// What is read of whichever alternative is meant; `none` beyond the last.
    fn choose(
        &mut self,
        all: Vec<Alternative>,
        none: Value,
        read: &mut dyn FnMut(&mut Self, &Place) -> Write<Value>,
    ) -> Write<Value> {
        let mut value = none;
        for (conditions, place) in all.iter().rev() {
            let this = read(self, place)?;
            if conditions.is_empty() {
                return Ok(this);
            }
            value = choice(self.all_equal(conditions)?, this, value);
        }
        Ok(value)
    }

    fn read(&mut self, place: &Place, ty: TypeId) -> Write<Value> {
        if let Some(position) = self.data.get(&place.var) {
            let value = json!({ "type": "local", "value": position });
            return Ok(match self.p.types[ty].bits() {
                Some((width, true)) => Self::cut(value, width, true),
                _ => value,
            });
        }
        if let Some(last) = self.last_field(place)? {
            return Ok(last);
        }
        let all = self.alternatives(place)?;
        self.choose(all, number(0u32), &mut |w, place| w.scalar(place))
    }

    /// `stack.last.field` in a parser, which BMv2 knows by itself.
    fn last_field(&mut self, place: &Place) -> Write<Option<Value>> {
        let Some(at) = place
            .path
            .iter()
            .position(|s| matches!(s, Projection::DynIndex(_)))
        else {
            return Ok(None);
        };
        let mut stack = place.clone();
        stack.path.truncate(at);
        let (Projection::DynIndex(index), true) = (place.path[at], self.in_parser) else {
            return Ok(None);
        };
        let ExprKind::Binary(BinaryOp::Sub, next, _) = &self.p.exprs[index].kind else {
            return Ok(None);
        };
        if self.p.exprs[*next].kind != ExprKind::NextIndex(stack.clone()) {
            return Ok(None);
        }
        let Spot::Stack(name, _) = self.spot(&stack)? else {
            return Ok(None);
        };
        let mut first = place.clone();
        first.path[at] = Projection::Index(0);
        if !first.is_static() {
            return Ok(None);
        }
        Ok(match self.spot(&first)? {
            Spot::Scalar(_, part) => Some(json!({ "type": "stack_field", "value": [name, part] })),
            _ => None,
        })
    }

    /// The field that a place without run-time indices is.
    pub(super) fn scalar(&mut self, place: &Place) -> Write<Value> {
        match self.spot(place)? {
            Spot::Scalar(header, name) => Ok(field(&header, &name)),
            _ => Err(self.error("a scalar is expected")),
        }
    }

    /// The header that a place without run-time indices is.
    pub(super) fn header(&mut self, place: &Place) -> Write<String> {
        match self.spot(place)? {
            Spot::Header(name) => Ok(name),
            _ => Err(self.error("a header is expected")),
        }
    }

    /// An expression as a condition.
    pub(super) fn cond(&mut self, id: ExprId) -> Write<Value> {
        let expr = &self.p.exprs[id];
        match &expr.kind {
            ExprKind::Const(Const::Bool(b)) => Ok(json!({ "type": "bool", "value": b })),
            ExprKind::Read(_) => Ok(unary("d2b", self.num(id)?)),
            ExprKind::Unary(UnaryOp::Not, a) => Ok(unary("not", self.cond(*a)?)),
            ExprKind::Binary(binary, a, b) => self.comparison(*binary, *a, *b),
            ExprKind::Cast(a) => Ok(unary("d2b", self.num(*a)?)),
            ExprKind::Mux { cond, then, other } => {
                let cond = self.cond(*cond)?;
                Ok(choice(cond, self.cond(*then)?, self.cond(*other)?))
            }
            ExprKind::IsValid(place) => {
                let all = self.alternatives(place)?;
                let no = json!({ "type": "bool", "value": false });
                self.choose(all, no, &mut |w, place| {
                    let header = w.header(place)?;
                    Ok(unary("d2b", field(&header, "$valid$")))
                })
            }
            _ => Err(self.error("a condition is expected")),
        }
    }

    fn comparison(&mut self, binary: BinaryOp, a: ExprId, b: ExprId) -> Write<Value> {
        let name = match binary {
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            _ => return Err(self.error("a condition is expected")),
        };
        let (l, r) = match self.p.types[self.p.expr_type(a)] {
            Type::Bool => (self.cond(a)?, self.cond(b)?),
            _ => (self.num(a)?, self.num(b)?),
        };
        Ok(op(name, l, r))
    }

    /// The expression as an operand of a primitive.
    pub(super) fn argument(&mut self, id: ExprId) -> Write<Value> {
        Ok(operand(self.num(id)?))
    }

    /// The field that an expression reads, if it does nothing else.
    pub(super) fn plain_field(&mut self, id: ExprId) -> Write<Option<Value>> {
        match &self.p.exprs[id].kind {
            ExprKind::Read(place) if place.is_static() && !self.data.contains_key(&place.var) => {
                let is_empty = self.p.types[self.p.expr_type(id)].bits() == Some((0, false));
                if is_empty {
                    Ok(None)
                } else {
                    self.scalar(place).map(Some)
                }
            }
            _ => Ok(None),
        }
    }
}

//! Expressions: BMv2's unbounded integers in fixed widths.
//!
//! An expression is read in one of two ways. [`Reader::exact`] gives it a width that holds its
//! value, whatever the operands: a sum is one bit wider than its summands. [`Reader::modulo`] gives
//! its value modulo 2^W, which sums, products, left shifts and bit operations may compute in W bits
//! throughout; it is what a store into a field of W bits or a mask of W ones asks for.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive as _, Zero};
use p4ir::{BinaryOp, Const, ExprId, ExprKind, Place, Projection, StmtKind, Type, TypeId, UnaryOp};

use crate::data::{HeaderRef, Reader};
use crate::error::Read;
use crate::model::Arg;

/// Widest intermediate result, in bits.
const MAX_WIDTH: u32 = 1 << 16;

/// A number: the bits `expr` of type `bit<width>`, or `int<width>` if signed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Num {
    pub(crate) expr: ExprId,
    pub(crate) width: u32,
    pub(crate) signed: bool,
}

/// The operands of an operation.
type Sides<'a> = (Option<&'a Arg>, Option<&'a Arg>, Option<&'a Arg>);

impl Reader<'_> {
    // ---- building ----

    pub(crate) fn bits(&mut self, width: u32, signed: bool) -> TypeId {
        self.program.types.intern(Type::Bits { width, signed })
    }

    pub(crate) fn read(&mut self, place: Place, ty: TypeId) -> ExprId {
        self.program.add_expr(ExprKind::Read(place), ty)
    }

    /// `value` modulo 2^width, as a constant.
    pub(crate) fn constant(&mut self, value: &BigInt, width: u32, signed: bool) -> ExprId {
        let bits = Const::Bits(wrap(value, width));
        let ty = self.bits(width, signed);
        self.program.add_expr(ExprKind::Const(bits), ty)
    }

    pub(crate) fn boolean(&mut self, value: bool) -> ExprId {
        let ty = self.program.types.boolean();
        self.program
            .add_expr(ExprKind::Const(Const::Bool(value)), ty)
    }

    fn number(&mut self, value: &BigInt) -> Num {
        let signed = value.sign() == Sign::Minus;
        let width = u32::try_from(value.bits()).unwrap_or(MAX_WIDTH).max(1) + u32::from(signed);
        Num {
            expr: self.constant(value, width, signed),
            width,
            signed,
        }
    }

    /// `n` in another type. Exact if the type holds its value, else modulo.
    pub(crate) fn cast(&mut self, n: Num, width: u32, signed: bool) -> ExprId {
        if (n.width, n.signed) == (width, signed) {
            return n.expr;
        }
        if let ExprKind::Const(Const::Bits(bits)) = &self.program.exprs[n.expr].kind {
            let value = value_of(bits, n.width, n.signed);
            return self.constant(&value, width, signed);
        }
        let ty = self.bits(width, signed);
        self.program.add_expr(ExprKind::Cast(n.expr), ty)
    }

    fn binary_node(&mut self, op: BinaryOp, a: ExprId, b: ExprId, ty: TypeId) -> ExprId {
        self.program.add_expr(ExprKind::Binary(op, a, b), ty)
    }

    fn bool_node(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let ty = self.program.types.boolean();
        self.binary_node(op, a, b, ty)
    }

    pub(crate) fn is_valid(&mut self, place: Place) -> ExprId {
        let ty = self.program.types.boolean();
        self.program.add_expr(ExprKind::IsValid(place), ty)
    }

    fn not(&mut self, e: ExprId) -> ExprId {
        let ty = self.program.types.boolean();
        self.program.add_expr(ExprKind::Unary(UnaryOp::Not, e), ty)
    }

    pub(crate) fn next_index(&mut self, stack: &Place) -> ExprId {
        let ty = self.bits(32, false);
        self.program
            .add_expr(ExprKind::NextIndex(stack.clone()), ty)
    }

    /// Both in the smallest type that holds either.
    fn common(&mut self, a: Num, b: Num) -> (ExprId, ExprId, u32, bool) {
        let signed = a.signed || b.signed;
        let need = |n: Num| n.width + u32::from(signed && !n.signed);
        let width = need(a).max(need(b));
        (
            self.cast(a, width, signed),
            self.cast(b, width, signed),
            width,
            signed,
        )
    }

    // ---- places ----

    /// The header that `arg` names or computes.
    pub(crate) fn header_arg(&mut self, arg: &Arg) -> Read<HeaderRef> {
        match arg {
            Arg::Named(kind, name) if kind == "header" || kind == "regular" => {
                let found = self.header(name)?;
                match found.metadata {
                    true => Err(self.malformed(format!("`{name}` is metadata, not a header"))),
                    false => Ok(found),
                }
            }
            Arg::StackField(stack, last) if last == "last" => {
                let (place, ty) = self.last(stack)?;
                let others = self.union_siblings(&place);
                Ok(HeaderRef {
                    place,
                    ty,
                    metadata: false,
                    others,
                })
            }
            Arg::Op {
                op,
                left: Some(left),
                right: Some(right),
                ..
            } => {
                let place = match op.as_str() {
                    "dereference_header_stack" => self.element(left, right)?,
                    "access_union_header" => self.union_member(left, right)?,
                    _ => return Err(self.unsupported(format!("operator `{op}` for a header"))),
                };
                let ty = self.program.place_type(&place);
                let ty = ty.ok_or_else(|| self.malformed("no such header"))?;
                let others = self.union_siblings(&place);
                Ok(HeaderRef {
                    place,
                    ty,
                    metadata: false,
                    others,
                })
            }
            _ => Err(self.malformed("a header is expected")),
        }
    }

    /// `stack[index]`.
    fn element(&mut self, stack: &Arg, index: &Arg) -> Read<Place> {
        let Arg::Named(_, name) = stack else {
            return Err(self.malformed("a header stack is expected"));
        };
        let stack = self.stack(name)?;
        if let Arg::Number(n) = index {
            let i = n.to_u32().filter(|i| *i < stack.size);
            let i = i.ok_or_else(|| self.malformed(format!("`{name}` has no element {n}")))?;
            return Ok(stack.place.project(Projection::Index(i)));
        }
        let index = self.modulo(index, 32)?;
        Ok(stack.place.project(Projection::DynIndex(index)))
    }

    /// Member number `position` of a union.
    fn union_member(&mut self, union: &Arg, position: &Arg) -> Read<Place> {
        let place = self.union_arg(union)?;
        let Arg::Position(i) = position else {
            return Err(self.malformed("a position is expected"));
        };
        Ok(place.field(*i))
    }

    /// The union that `arg` names or computes.
    pub(crate) fn union_arg(&mut self, arg: &Arg) -> Read<Place> {
        match arg {
            Arg::Named(_, name) => {
                let u = self.unions.get(name).cloned();
                u.ok_or_else(|| self.unknown("header union", name.as_str()))
            }
            Arg::Op {
                op,
                left: Some(left),
                right: Some(right),
                ..
            } if op == "dereference_union_stack" => self.element(left, right),
            _ => Err(self.malformed("a header union is expected")),
        }
    }

    /// The last element of a stack that something was extracted into.
    fn last(&mut self, stack: &str) -> Read<(Place, TypeId)> {
        let s = self.stack(stack)?;
        let next = self.next_index(&s.place);
        let ty = self.bits(32, false);
        let (zero, one) = (BigInt::zero(), BigInt::one());
        if self.in_parser {
            let zero = self.constant(&zero, 32, false);
            let cond = self.bool_node(BinaryOp::Ne, next, zero);
            self.verify_bounds(cond);
        }
        let one = self.constant(&one, 32, false);
        let index = self.binary_node(BinaryOp::Sub, next, one, ty);
        Ok((s.place.project(Projection::DynIndex(index)), s.element))
    }

    /// Raises `StackOutOfBounds` unless `cond` holds.
    pub(crate) fn verify_bounds(&mut self, cond: ExprId) {
        let error = self.error_const(3);
        self.emit(StmtKind::Verify { cond, error });
    }

    pub(crate) fn error_const(&mut self, index: u32) -> ExprId {
        let ty = self.program.types.intern(Type::Error);
        self.program
            .add_expr(ExprKind::Const(Const::Error(index)), ty)
    }

    /// The field that `arg` names or computes, with its type.
    pub(crate) fn field_arg(&mut self, arg: &Arg) -> Read<(Place, TypeId)> {
        match arg {
            Arg::Field(header, field) => {
                let h = self.header(header)?;
                self.field_of(&h.place, h.ty, field)
            }
            Arg::StackField(stack, field) => {
                let (place, ty) = self.last(stack)?;
                self.field_of(&place, ty, field)
            }
            Arg::UnionStackField(stack, member, field) => {
                let (place, ty) = self.last(stack)?;
                let (place, ty) = self.field_of(&place, ty, member)?;
                self.field_of(&place, ty, field)
            }
            Arg::Op {
                op,
                left: Some(left),
                right: Some(right),
                ..
            } if op == "access_field" => {
                let h = self.header_arg(left)?;
                let Arg::Position(i) = **right else {
                    return Err(self.malformed("a position is expected"));
                };
                let place = h.place.field(i);
                let ty = self.program.place_type(&place);
                ty.map(|ty| (place, ty))
                    .ok_or_else(|| self.malformed("no such field"))
            }
            _ => Err(self.malformed("a field is expected")),
        }
    }

    // ---- numbers ----

    /// The value of `arg`, in a type that holds it.
    pub(crate) fn exact(&mut self, arg: &Arg) -> Read<Num> {
        let n = match arg {
            Arg::Number(v) => self.number(v),
            Arg::Sized(v, width) => Num {
                expr: self.constant(v, *width, false),
                width: *width,
                signed: false,
            },
            Arg::Data(i) => {
                let data = self.action_data.get(*i).copied();
                let (var, width) =
                    data.ok_or_else(|| self.unknown("action data", i.to_string()))?;
                let ty = self.bits(width, false);
                Num {
                    expr: self.read(Place::var(var), ty),
                    width,
                    signed: false,
                }
            }
            Arg::Field(header, field) if field == "$valid$" => {
                let h = self.header(header)?;
                let valid = self.is_valid(h.place);
                self.bool_to_number(valid)
            }
            Arg::Valid(header) => {
                let h = self.header_arg(header)?;
                let valid = self.is_valid(h.place);
                self.bool_to_number(valid)
            }
            Arg::Field(..) | Arg::StackField(..) | Arg::UnionStackField(..) => {
                self.field_number(arg)?
            }
            Arg::Lookahead(offset, width) => self.lookahead(*offset, *width)?,
            Arg::Op {
                op,
                left,
                right,
                cond,
            } => {
                let sides = (left.as_deref(), right.as_deref(), cond.as_deref());
                if is_condition(arg) {
                    let cond = self.condition(arg)?;
                    self.bool_to_number(cond)
                } else {
                    self.exact_op(arg, op, sides)?
                }
            }
            Arg::Bool(b) => {
                let b = self.boolean(*b);
                self.bool_to_number(b)
            }
            _ => return Err(self.malformed("a number is expected")),
        };
        if n.width > MAX_WIDTH {
            return Err(self.unsupported(format!("a number of {} bits", n.width)));
        }
        Ok(n)
    }

    fn bool_to_number(&mut self, b: ExprId) -> Num {
        let ty = self.bits(1, false);
        let expr = self.program.add_expr(ExprKind::Cast(b), ty);
        Num {
            expr,
            width: 1,
            signed: false,
        }
    }

    fn field_number(&mut self, arg: &Arg) -> Read<Num> {
        let (place, ty) = self.field_arg(arg)?;
        let (width, signed) = self
            .program
            .types
            .get(ty)
            .and_then(Type::bits)
            .ok_or_else(|| self.malformed("a field of fixed width is expected"))?;
        Ok(Num {
            expr: self.read(place, ty),
            width,
            signed,
        })
    }

    fn two(&self, sides: Sides<'_>) -> Read<(Arg, Arg)> {
        match sides {
            (Some(l), Some(r), _) => Ok((l.clone(), r.clone())),
            _ => Err(self.malformed("an operand is missing")),
        }
    }

    fn right<'a>(&self, sides: Sides<'a>) -> Read<&'a Arg> {
        sides
            .1
            .ok_or_else(|| self.malformed("an operand is missing"))
    }

    fn exact_op(&mut self, arg: &Arg, op: &str, sides: Sides<'_>) -> Read<Num> {
        match op {
            "access_field" => self.field_number(arg),
            "b2d" => {
                let b = self.condition(self.right(sides)?)?;
                Ok(self.bool_to_number(b))
            }
            "+" | "-" if sides.0.is_none() => self.negated(op, self.right(sides)?),
            "+" | "-" | "*" => self.exact_arithmetic(op, sides),
            "/" | "%" => self.exact_division(op, sides),
            "&" | "|" | "^" => self.exact_bitwise(op, sides),
            "~" => {
                let n = self.exact(self.right(sides)?)?;
                let width = n.width + u32::from(!n.signed);
                let wide = self.cast(n, width, true);
                let ty = self.bits(width, true);
                let expr = self
                    .program
                    .add_expr(ExprKind::Unary(UnaryOp::BitNot, wide), ty);
                Ok(Num {
                    expr,
                    width,
                    signed: true,
                })
            }
            "<<" | ">>" => self.exact_shift(op, sides),
            "?" => {
                let (l, r) = self.two(sides)?;
                let cond = sides
                    .2
                    .ok_or_else(|| self.malformed("`?` without a condition"))?;
                let cond = self.condition(cond)?;
                let (l, r) = (self.exact(&l)?, self.exact(&r)?);
                let (then, other, width, signed) = self.common(l, r);
                Ok(self.mux(cond, then, other, width, signed))
            }
            "two_comp_mod" | "sat_cast" | "usat_cast" => {
                let (value, width) = self.two(sides)?;
                let Arg::Number(width) = &width else {
                    return Err(self.unsupported(format!("`{op}` to a computed width")));
                };
                let width = width.to_u32().filter(|w| (1..=MAX_WIDTH).contains(w));
                let width = width.ok_or_else(|| self.malformed("a width out of range"))?;
                if op == "two_comp_mod" {
                    let low = self.modulo(&value, width)?;
                    let low = Num {
                        expr: low,
                        width,
                        signed: false,
                    };
                    return Ok(Num {
                        expr: self.cast(low, width, true),
                        width,
                        signed: true,
                    });
                }
                self.saturate(&value, width, op == "sat_cast")
            }
            "last_stack_index" | "size_stack" => self.stack_number(op, self.right(sides)?),
            _ => Err(self.unsupported(format!("operator `{op}`"))),
        }
    }

    fn mux(&mut self, cond: ExprId, then: ExprId, other: ExprId, width: u32, signed: bool) -> Num {
        let ty = self.bits(width, signed);
        let expr = self
            .program
            .add_expr(ExprKind::Mux { cond, then, other }, ty);
        Num {
            expr,
            width,
            signed,
        }
    }

    fn negated(&mut self, op: &str, operand: &Arg) -> Read<Num> {
        let n = self.exact(operand)?;
        if op == "+" {
            return Ok(n);
        }
        let width = n.width + 1;
        let wide = self.cast(n, width, true);
        let ty = self.bits(width, true);
        let expr = self
            .program
            .add_expr(ExprKind::Unary(UnaryOp::Neg, wide), ty);
        Ok(Num {
            expr,
            width,
            signed: true,
        })
    }

    fn exact_arithmetic(&mut self, op: &str, sides: Sides<'_>) -> Read<Num> {
        let (l, r) = self.two(sides)?;
        let (l, r) = (self.exact(&l)?, self.exact(&r)?);
        let signed = l.signed || r.signed || op == "-";
        let need = |n: Num| n.width + u32::from(signed && !n.signed);
        let (op, width) = match op {
            "+" => (BinaryOp::Add, need(l).max(need(r)) + 1),
            "-" => (BinaryOp::Sub, need(l).max(need(r)) + 1),
            _ => (BinaryOp::Mul, need(l) + need(r)),
        };
        let (a, b) = (self.cast(l, width, signed), self.cast(r, width, signed));
        let ty = self.bits(width, signed);
        Ok(Num {
            expr: self.binary_node(op, a, b, ty),
            width,
            signed,
        })
    }

    fn exact_division(&mut self, op: &str, sides: Sides<'_>) -> Read<Num> {
        let (l, r) = self.two(sides)?;
        let (l, r) = (self.exact(&l)?, self.exact(&r)?);
        if l.signed || r.signed {
            return Err(self.unsupported(format!("`{op}` of signed numbers")));
        }
        let (a, b, width, signed) = self.common(l, r);
        let op = if op == "/" {
            BinaryOp::Div
        } else {
            BinaryOp::Mod
        };
        let ty = self.bits(width, signed);
        Ok(Num {
            expr: self.binary_node(op, a, b, ty),
            width,
            signed,
        })
    }

    fn exact_bitwise(&mut self, op: &str, sides: Sides<'_>) -> Read<Num> {
        let (l, r) = self.two(sides)?;
        for (mask, value) in [(&r, &l), (&l, &r)] {
            if let (Arg::Number(m), "&") = (mask, op)
                && m.sign() != Sign::Minus
            {
                return self.masked(value, m);
            }
        }
        let (l, r) = (self.exact(&l)?, self.exact(&r)?);
        let (a, b, width, signed) = self.common(l, r);
        let ty = self.bits(width, signed);
        Ok(Num {
            expr: self.binary_node(bit_op(op), a, b, ty),
            width,
            signed,
        })
    }

    /// `value & mask`, computed in as many bits as the mask has.
    fn masked(&mut self, value: &Arg, mask: &BigInt) -> Read<Num> {
        let width = u32::try_from(mask.bits()).unwrap_or(MAX_WIDTH).max(1);
        let mut expr = self.modulo(value, width)?;
        let ones = (BigInt::one() << width) - 1;
        if *mask != ones {
            let mask = self.constant(mask, width, false);
            let ty = self.bits(width, false);
            expr = self.binary_node(BinaryOp::BitAnd, expr, mask, ty);
        }
        Ok(Num {
            expr,
            width,
            signed: false,
        })
    }

    /// The distance of a shift: any unsigned number.
    fn distance(&mut self, arg: &Arg) -> Read<Num> {
        let n = self.exact(arg)?;
        if !n.signed {
            return Ok(n);
        }
        Ok(Num {
            expr: self.cast(n, n.width, false),
            width: n.width,
            signed: false,
        })
    }

    fn exact_shift(&mut self, op: &str, sides: Sides<'_>) -> Read<Num> {
        let (l, r) = self.two(sides)?;
        let (value, by) = (self.exact(&l)?, self.distance(&r)?);
        let (op, width) = if op == ">>" {
            (BinaryOp::Shr, value.width)
        } else {
            let most = match &r {
                Arg::Number(n) => n.to_u32().unwrap_or(MAX_WIDTH),
                _ => 1u32.checked_shl(by.width).map_or(2048, |n| n - 1).min(2048),
            };
            (BinaryOp::Shl, value.width.saturating_add(most))
        };
        if width > MAX_WIDTH {
            return Err(self.unsupported(format!("a number of {width} bits")));
        }
        let a = self.cast(value, width, value.signed);
        let ty = self.bits(width, value.signed);
        let expr = self.binary_node(op, a, by.expr, ty);
        Ok(Num {
            expr,
            width,
            signed: value.signed,
        })
    }

    /// The value cut to what `bit<width>` or `int<width>` can hold.
    fn saturate(&mut self, value: &Arg, width: u32, signed: bool) -> Read<Num> {
        let mut n = self.exact(value)?;
        let (low, high) = if signed {
            let half = BigInt::one() << (width - 1);
            (-half.clone(), half - 1)
        } else {
            (BigInt::zero(), (BigInt::one() << width) - 1)
        };
        for (bound, op) in [(high, BinaryOp::Gt), (low, BinaryOp::Lt)] {
            let bound = self.number(&bound);
            let (a, b, w, s) = self.common(n, bound);
            let beyond = self.bool_node(op, a, b);
            n = self.mux(beyond, b, a, w, s);
        }
        Ok(Num {
            expr: self.cast(n, width, signed),
            width,
            signed,
        })
    }

    fn stack_number(&mut self, op: &str, stack: &Arg) -> Read<Num> {
        let Arg::Named(_, name) = stack else {
            return Err(self.malformed("a header stack is expected"));
        };
        let place = self.stack(name)?.place;
        let mut expr = self.next_index(&place);
        if op == "last_stack_index" {
            let one = self.constant(&BigInt::one(), 32, false);
            let ty = self.bits(32, false);
            expr = self.binary_node(BinaryOp::Sub, expr, one, ty);
        }
        Ok(Num {
            expr,
            width: 32,
            signed: false,
        })
    }

    /// The value of `arg` modulo 2^width, as `bit<width>`.
    pub(crate) fn modulo(&mut self, arg: &Arg, width: u32) -> Read<ExprId> {
        if width == 0 || width > MAX_WIDTH {
            return Err(self.unsupported(format!("a number of {width} bits")));
        }
        let Arg::Op {
            op,
            left,
            right: Some(right),
            cond,
        } = arg
        else {
            let n = self.exact(arg)?;
            return Ok(self.cast(n, width, false));
        };
        let ty = self.bits(width, false);
        let op = op.as_str();
        match (op, left.as_deref()) {
            ("+" | "-" | "*" | "&" | "|" | "^", Some(left)) => {
                let a = self.modulo(left, width)?;
                let b = self.modulo(right, width)?;
                let op = match op {
                    "+" => BinaryOp::Add,
                    "-" => BinaryOp::Sub,
                    "*" => BinaryOp::Mul,
                    _ => return Ok(self.masked_node(op, a, b, right, width)),
                };
                Ok(self.binary_node(op, a, b, ty))
            }
            ("<<", Some(left)) => {
                let a = self.modulo(left, width)?;
                let by = self.distance(right)?;
                Ok(self.binary_node(BinaryOp::Shl, a, by.expr, ty))
            }
            ("~" | "-", None) => {
                let a = self.modulo(right, width)?;
                let op = if op == "~" {
                    UnaryOp::BitNot
                } else {
                    UnaryOp::Neg
                };
                Ok(self.program.add_expr(ExprKind::Unary(op, a), ty))
            }
            ("?", Some(left)) if !is_condition(arg) => {
                let cond = cond
                    .as_deref()
                    .ok_or_else(|| self.malformed("`?` without condition"))?;
                let cond = self.condition(cond)?;
                let (then, other) = (self.modulo(left, width)?, self.modulo(right, width)?);
                Ok(self.mux(cond, then, other, width, false).expr)
            }
            _ => {
                let n = self.exact(arg)?;
                Ok(self.cast(n, width, false))
            }
        }
    }

    /// A bit operation; a mask of ones does nothing.
    fn masked_node(&mut self, op: &str, a: ExprId, b: ExprId, right: &Arg, width: u32) -> ExprId {
        if let (Arg::Number(m), "&") = (right, op) {
            let ones = (BigUint::one() << width) - 1u32;
            if wrap(m, width) == ones {
                return a;
            }
        }
        let ty = self.bits(width, false);
        self.binary_node(bit_op(op), a, b, ty)
    }

    // ---- conditions ----

    /// `arg` as a condition.
    pub(crate) fn condition(&mut self, arg: &Arg) -> Read<ExprId> {
        let Arg::Op {
            op,
            left,
            right,
            cond,
        } = arg
        else {
            return match arg {
                Arg::Bool(b) => Ok(self.boolean(*b)),
                Arg::Field(h, f) if f == "$valid$" => {
                    let h = self.header(h)?;
                    Ok(self.is_valid(h.place))
                }
                Arg::Valid(header) => {
                    let h = self.header_arg(header)?;
                    Ok(self.is_valid(h.place))
                }
                _ => self.not_zero(arg),
            };
        };
        let sides = (left.as_deref(), right.as_deref(), cond.as_deref());
        match op.as_str() {
            "d2b" => self.condition(self.right(sides)?),
            "b2d" if self.right(sides).is_ok_and(is_condition) => {
                self.condition(self.right(sides)?)
            }
            "not" => {
                let e = self.condition(self.right(sides)?)?;
                Ok(self.not(e))
            }
            "and" | "or" => {
                let (l, r) = self.two(sides)?;
                let (l, r) = (self.condition(&l)?, self.condition(&r)?);
                let op = if op == "and" {
                    BinaryOp::And
                } else {
                    BinaryOp::Or
                };
                Ok(self.bool_node(op, l, r))
            }
            "valid" => {
                let h = self.header_arg(self.right(sides)?)?;
                Ok(self.is_valid(h.place))
            }
            "valid_union" => self.valid_union(self.right(sides)?),
            "==" | "!=" | "<" | "<=" | ">" | ">=" => self.comparison(op, sides),
            "?" if is_condition(arg) => {
                let (l, r) = self.two(sides)?;
                let c = sides
                    .2
                    .ok_or_else(|| self.malformed("`?` without a condition"))?;
                let c = self.condition(c)?;
                let (then, other) = (self.condition(&l)?, self.condition(&r)?);
                let ty = self.program.types.boolean();
                Ok(self.program.add_expr(
                    ExprKind::Mux {
                        cond: c,
                        then,
                        other,
                    },
                    ty,
                ))
            }
            _ => self.not_zero(arg),
        }
    }

    fn not_zero(&mut self, arg: &Arg) -> Read<ExprId> {
        let n = self.exact(arg)?;
        let zero = self.constant(&BigInt::zero(), n.width, n.signed);
        Ok(self.bool_node(BinaryOp::Ne, n.expr, zero))
    }

    fn valid_union(&mut self, union: &Arg) -> Read<ExprId> {
        let place = self.union_arg(union)?;
        let ty = self
            .program
            .place_type(&place)
            .and_then(|t| self.program.types.get(t));
        let count = ty.and_then(Type::fields).map_or(0, <[_]>::len);
        let mut any = self.boolean(false);
        for i in 0..u32::try_from(count).unwrap_or(0) {
            let valid = self.is_valid(place.field(i));
            any = self.bool_node(BinaryOp::Or, any, valid);
        }
        Ok(any)
    }

    fn comparison(&mut self, op: &str, sides: Sides<'_>) -> Read<ExprId> {
        let (l, r) = self.two(sides)?;
        let op = match op {
            "==" => BinaryOp::Eq,
            "!=" => BinaryOp::Ne,
            "<" => BinaryOp::Lt,
            "<=" => BinaryOp::Le,
            ">" => BinaryOp::Gt,
            _ => BinaryOp::Ge,
        };
        if is_condition(&l) || is_condition(&r) {
            let (l, r) = (self.condition(&l)?, self.condition(&r)?);
            return Ok(self.bool_node(op, l, r));
        }
        if self.is_varbit(&l)? {
            let ((a, ty), (b, _)) = (self.field_arg(&l)?, self.field_arg(&r)?);
            let (a, b) = (self.read(a, ty), self.read(b, ty));
            return Ok(self.bool_node(op, a, b));
        }
        if matches!(&l, Arg::Named(kind, _) if kind == "header") {
            let (l, r) = (self.header_arg(&l)?, self.header_arg(&r)?);
            let equal = self.headers_equal(&l, &r)?;
            return Ok(if op == BinaryOp::Ne {
                self.not(equal)
            } else {
                equal
            });
        }
        let (l, r) = (self.exact(&l)?, self.exact(&r)?);
        let (a, b, _, _) = self.common(l, r);
        Ok(self.bool_node(op, a, b))
    }

    /// Equal if both are invalid, or both valid with equal fields.
    fn headers_equal(&mut self, l: &HeaderRef, r: &HeaderRef) -> Read<ExprId> {
        if l.ty != r.ty {
            return Err(self.malformed("comparison of headers of different types"));
        }
        let fields = self
            .program
            .types
            .get(l.ty)
            .and_then(Type::fields)
            .unwrap_or(&[])
            .to_vec();
        let mut same = self.boolean(true);
        for (i, f) in (0u32..).zip(&fields) {
            let a = self.read(l.place.field(i), f.ty);
            let b = self.read(r.place.field(i), f.ty);
            let eq = self.bool_node(BinaryOp::Eq, a, b);
            same = self.bool_node(BinaryOp::And, same, eq);
        }
        let (a, b) = (
            self.is_valid(l.place.clone()),
            self.is_valid(r.place.clone()),
        );
        let both = self.bool_node(BinaryOp::And, a, b);
        let both = self.bool_node(BinaryOp::And, both, same);
        let any = self.bool_node(BinaryOp::Or, a, b);
        let neither = self.not(any);
        Ok(self.bool_node(BinaryOp::Or, neither, both))
    }
}

/// True if BMv2 gives a boolean for `arg`, not a number.
fn is_condition(arg: &Arg) -> bool {
    match arg {
        Arg::Bool(_) => true,
        Arg::Op { op, left, .. } => match op.as_str() {
            "d2b" | "not" | "and" | "or" | "valid" | "valid_union" | "==" | "!=" | "<" | "<="
            | ">" | ">=" => true,
            "?" => left.as_deref().is_some_and(is_condition),
            _ => false,
        },
        _ => false,
    }
}

fn bit_op(op: &str) -> BinaryOp {
    match op {
        "&" => BinaryOp::BitAnd,
        "|" => BinaryOp::BitOr,
        _ => BinaryOp::BitXor,
    }
}

/// `value` modulo 2^width.
pub(crate) fn wrap(value: &BigInt, width: u32) -> BigUint {
    let modulus = BigInt::one() << width;
    let r = ((value % &modulus) + &modulus) % &modulus;
    r.magnitude().clone()
}

/// The number that bits stand for.
fn value_of(bits: &BigUint, width: u32, signed: bool) -> BigInt {
    let value = BigInt::from(bits.clone());
    if signed && width > 0 && bits.bit(u64::from(width) - 1) {
        value - (BigInt::one() << width)
    } else {
        value
    }
}

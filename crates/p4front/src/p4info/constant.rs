//! Values of the expressions in structured annotations (P4_16, "Structured annotations"): these are
//! compile-time values of literals, which P4Info holds.

use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};
use p4runtime::p4::config::v1::expression::Value;

use crate::annotations;
use crate::ast::{self, BinaryOp, LiteralWidth, UnaryOp};

/// A value that is known.
enum Known {
    Int(BigInt, Option<LiteralWidth>),
    Bool(bool),
    Text(String),
}

/// What P4Info says of an expression; an empty text if it is none of literals.
pub(super) fn value(e: &ast::Expr) -> Value {
    match known(e) {
        Some(Known::Int(value, _)) => Value::Int64Value(value.to_i64().unwrap_or(0)),
        Some(Known::Bool(value)) => Value::BoolValue(value),
        Some(Known::Text(value)) => Value::StringValue(value),
        None => Value::StringValue(String::new()),
    }
}

fn known(e: &ast::Expr) -> Option<Known> {
    match &e.kind {
        ast::ExprKind::Int(i) => Some(int(i.value.clone(), i.width)),
        ast::ExprKind::Bool(b) => Some(Known::Bool(*b)),
        ast::ExprKind::Unary { op, operand } => match (op, known(operand)?) {
            (UnaryOp::Negate, Known::Int(i, width)) => Some(int(-i, width)),
            (UnaryOp::Complement, Known::Int(i, width)) => Some(int(!i, width)),
            (UnaryOp::Plus, Known::Int(i, width)) => Some(Known::Int(i, width)),
            (UnaryOp::Not, Known::Bool(b)) => Some(Known::Bool(!b)),
            _ => None,
        },
        ast::ExprKind::Binary { op, left, right } => match (known(left)?, known(right)?) {
            (Known::Int(a, of_a), Known::Int(b, of_b)) => of_ints(*op, (a, of_a), (b, of_b)),
            (Known::Bool(a), Known::Bool(b)) => of_bools(*op, a, b),
            _ => annotations::fold_string(e).map(Known::Text),
        },
        _ => annotations::fold_string(e).map(Known::Text),
    }
}

/// A number as its width holds it.
fn int(value: BigInt, width: Option<LiteralWidth>) -> Known {
    let Some(LiteralWidth { bits, signed }) = width else {
        return Known::Int(value, None);
    };
    let all = BigInt::one() << bits;
    let mut cut = ((value % &all) + &all) % &all;
    if signed && bits > 0 && cut >= BigInt::one() << (bits - 1) {
        cut -= all;
    }
    Known::Int(cut, width)
}

fn of_ints(
    op: BinaryOp,
    (a, of_a): (BigInt, Option<LiteralWidth>),
    (b, of_b): (BigInt, Option<LiteralWidth>),
) -> Option<Known> {
    use BinaryOp as B;
    let width = of_a.or(of_b);
    // What is larger than P4Info has room for is no value of an annotation.
    let distance = || b.to_u32().filter(|distance| *distance < 64);
    let result = match op {
        B::Mul => a * b,
        B::Div if !b.is_zero() => a / b,
        B::Mod if !b.is_zero() => a % b,
        B::Add => a + b,
        B::Sub => a - b,
        B::Shl => a << distance()?,
        B::Shr => a >> distance()?,
        B::BitAnd => a & b,
        B::BitXor => a ^ b,
        B::BitOr => a | b,
        B::Lt => return Some(Known::Bool(a < b)),
        B::Le => return Some(Known::Bool(a <= b)),
        B::Gt => return Some(Known::Bool(a > b)),
        B::Ge => return Some(Known::Bool(a >= b)),
        B::Eq => return Some(Known::Bool(a == b)),
        B::Ne => return Some(Known::Bool(a != b)),
        _ => return None,
    };
    Some(int(result, width))
}

fn of_bools(op: BinaryOp, a: bool, b: bool) -> Option<Known> {
    let value = match op {
        BinaryOp::And => a && b,
        BinaryOp::Or => a || b,
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        _ => return None,
    };
    Some(Known::Bool(value))
}

//! Small pieces of the format.

use p4ir::BigUint;
use serde_json::{Value, json};

/// An object that takes its values as they are; `json!` would copy them, and so a nested one at
/// each level.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.into_iter();
    Value::Object(fields.map(|(name, v)| (name.to_owned(), v)).collect())
}

fn expression(value: Value) -> Value {
    object([("type", json!("expression")), ("value", value)])
}

/// `left op right`.
pub(super) fn op(name: &str, left: Value, right: Value) -> Value {
    expression(object([
        ("op", json!(name)),
        ("left", left),
        ("right", right),
    ]))
}

/// `op right`.
pub(super) fn unary(name: &str, right: Value) -> Value {
    op(name, Value::Null, right)
}

/// `cond ? then : other`.
pub(super) fn choice(cond: Value, then: Value, other: Value) -> Value {
    expression(object([
        ("op", json!("?")),
        ("left", then),
        ("right", other),
        ("cond", cond),
    ]))
}

pub(super) fn number(value: impl Into<BigUint>) -> Value {
    json!({ "type": "hexstr", "value": format!("{:#x}", value.into()) })
}

/// 2^width - 1.
pub(super) fn ones(width: u32) -> BigUint {
    (BigUint::from(1u32) << width) - 1u32
}

pub(super) fn field(header: &str, name: &str) -> Value {
    json!({ "type": "field", "value": [header, name] })
}

pub(super) fn named(kind: &str, name: &str) -> Value {
    json!({ "type": kind, "value": name })
}

/// An operand of a primitive: operations and constants of type bool stand in one more pair of
/// brackets there, and action data has another name.
pub(super) fn operand(value: Value) -> Value {
    match value.get("type").and_then(Value::as_str) {
        Some("expression" | "bool") => expression(value),
        Some("local") => json!({ "type": "runtime_data", "value": value["value"] }),
        _ => value,
    }
}

/// Digits for a number of so many bits, as many as its bytes need.
pub(super) fn padded(value: &BigUint, bits: u32) -> String {
    let digits = (bits.div_ceil(8) * 2).max(2) as usize;
    format!("0x{:0>digits$}", format!("{value:x}"))
}

//! Statements that hold or do not.

use super::super::item::{Row, Value};

/// Rows of statements.
pub(super) fn rows(names: &[&str]) -> Vec<Row> {
    names.iter().map(|name| Row::holds(*name)).collect()
}

/// Their values, in the same order.
pub(super) fn values(names: &[&str], hold: &[bool]) -> Vec<Value> {
    let both = names.iter().zip(hold);
    both.map(|(name, holds)| Value::holds(*name, *holds))
        .collect()
}

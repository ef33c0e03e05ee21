//! Words for numbers.

use std::fmt::Display;

/// `1 switch`, `2 switches`, `3 priorities`.
#[must_use]
pub fn counted(number: impl Display, what: &str) -> String {
    let number = number.to_string();
    if number == "1" {
        return format!("1 {what}");
    }
    match what.strip_suffix('y') {
        Some(stem) => format!("{number} {stem}ies"),
        None if what.ends_with("ch") => format!("{number} {what}es"),
        None => format!("{number} {what}s"),
    }
}

//! Packets that came out against packets that were expected.

use std::fmt::{self, Write as _};

use crate::case::Pattern;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// A case that did not go as it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the case; 0 for what no line asks for.
    pub line: usize,
    /// What happened instead.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

pub(crate) fn compare_port(
    port: u16,
    wanted: &[(usize, Option<&Pattern>)],
    got: &[Vec<u8>],
    failures: &mut Vec<Failure>,
) {
    for (index, (line, pattern)) in wanted.iter().enumerate() {
        let message = match (got.get(index), pattern) {
            (None, _) => Some(format!("no packet came out of port {port}")),
            (Some(_), None) => None,
            (Some(bytes), Some(pattern)) => compare_packet(pattern, bytes).map(|why| {
                format!(
                    "port {port}: {why}\n  expected {}\n  got      {}",
                    pattern.digits,
                    hex(bytes)
                )
            }),
        };
        failures.extend(message.map(|message| Failure {
            line: *line,
            message,
        }));
    }
    for bytes in got.iter().skip(wanted.len()) {
        let message = format!("port {port}: a packet nobody expected: {}", hex(bytes));
        failures.push(Failure { line: 0, message });
    }
}

impl Pattern {
    /// Whether a packet is the expected one.
    #[must_use]
    pub fn matches(&self, bytes: &[u8]) -> bool {
        compare_packet(self, bytes).is_none()
    }
}

/// Why a packet is not the expected one.
fn compare_packet(pattern: &Pattern, bytes: &[u8]) -> Option<String> {
    let got = hex(bytes);
    if got.len() < pattern.digits.len() {
        return Some(format!("{} digits are too few", got.len()));
    }
    if pattern.exact_length && got.len() > pattern.digits.len() {
        return Some(format!("{} digits are too many", got.len()));
    }
    let differs = |(a, b): (char, char)| a != '*' && a != b;
    let at = pattern.digits.chars().zip(got.chars()).position(differs)?;
    Some(format!("differs at digit {at}"))
}

//! What is assumed about a network: its lines, the condition of a verdict, and `--strict`.

use topology::Assumptions;

use super::fault::{Fault, Status};

/// A row for each assumption, for a list of facts.
pub(super) fn facts(assumptions: &Assumptions) -> impl Iterator<Item = (&'static str, String)> {
    let rows = assumptions.iter();
    rows.map(|assumption| ("assumed", assumption.to_string()))
}

/// What follows the word `proven`: `, with 64 assumed rates`; empty if nothing is assumed.
pub(super) fn condition(assumptions: &Assumptions) -> String {
    match assumptions.is_empty() {
        true => String::new(),
        false => format!(", with {}", assumptions.condition()),
    }
}

/// Refuses a network of which something is assumed, if `strict`.
///
/// # Errors
/// All assumptions, with the options that supply the facts.
pub(super) fn refuse(strict: bool, assumptions: &Assumptions, status: Status) -> Result<(), Fault> {
    if !strict || assumptions.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = assumptions.iter().map(ToString::to_string).collect();
    let fault = Fault::with(status, format!("`--strict`: {}", lines.join("; ")));
    Err(fault.help("supply these facts in the file or by these options, or leave `--strict` out"))
}

//! Random programs of random statements, and an oracle for them.
//!
//! A program is made as a small typed tree ([`ast`]), printed as P4_16, and run by everybody there
//! is: the interpreter and the compiled code on what our front end makes of the text, and the
//! interpreter and `simple_switch` on the JSON that we and p4c make of it. The [`eval`] of the tree
//! itself says what has to come out, by the rules of the language and by nothing else: it is
//! written for these trees, knows no optimisation, and shares no code with the front end or the
//! executors.
//!
//! Programs are about what calls do to places: arguments that alias, stack indices that a call
//! changes, slices, headers and stacks behind indices, functions with effects inside expressions,
//! actions called and run by tables, controls and sub-parsers applied at several places with other
//! arguments, `exit` and `return` on the way.

pub mod ast;
mod check;
mod eval;
mod make;
mod print;
mod shrink;
mod value;
mod walk;

pub use check::{Difference, Judged, Judges, Party, Tally, check, smallest};
pub use eval::{Fault, Outcome, Run, run};
pub use make::{packet, program};

use packetgen::Choices;

/// Packets through each program.
const PACKETS: usize = 6;

/// The program and the packets of a seed.
#[must_use]
pub fn seeded(seed: u64) -> (ast::Program, Vec<Vec<u8>>) {
    let mut choices = Choices::seeded(seed.wrapping_mul(0x1000_0001));
    let program = make::program(&mut choices);
    let packets = (0..PACKETS).map(|_| make::packet(&mut choices)).collect();
    (program, packets)
}

/// Checks the program of a seed; a difference is made small.
///
/// # Errors
/// The difference.
pub fn one(seed: u64, judges: Judges) -> Result<Tally, Box<Difference>> {
    let (program, packets) = seeded(seed);
    check(&program, &packets, judges).map_err(|found| Box::new(smallest(*found, &packets, judges)))
}

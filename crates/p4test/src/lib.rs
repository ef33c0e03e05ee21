//! What tests of programs are made with: random scenarios and programs, the comparison of
//! executors, the targets of fuzzing, programs that are small to write and large to build.
//!
//! Only tests and tools for developers use this crate. Case files and their runners, which the
//! command line offers too, are in [`stf`].

pub mod beside;
pub mod differ;
pub mod fuzz;
mod generated;
pub mod many;
mod program;
pub mod random;
pub mod shapes;
pub mod statements;

pub use generated::{generated, generated_text};
pub use program::{Built, ProgramError, build, compile, compile_text, root};

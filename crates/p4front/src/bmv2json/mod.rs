//! Reads BMv2 JSON, what p4c makes for `simple_switch` (format version 2, behavioral-model
//! `docs/JSON_format.md`), into the same IR that P4 text is lowered to: what p4c compiled runs too.
//!
//! What differs between the two worlds, and how it is bridged:
//!
//! * BMv2 computes with unbounded integers and cuts them when they are stored. [`expr`] gives each
//!   expression the width that holds its exact value, or, below a mask, computes modulo that mask.
//! * BMv2's control flow is a graph of tables and conditions with edges. [`flow`] finds the
//!   `if`/`switch` statements it came from by immediate postdominators.
//! * Actions jump by index. [`jumps`] turns forward jumps into `if`s and everything else (loops)
//!   into a loop over a program counter.
//! * All metadata but `standard_metadata` becomes user metadata, one struct field per instance;
//!   the locals of all blocks are in there, as p4c puts them.
//! * `transition reject` is the end of the parser in the JSON: the packet goes on to ingress.
//!
//! Not read: externs other than v1model's, P4_14's `register` operands and `calculated fields` of
//! other types than `generic`; such input is an error that names the construct.

use p4ir::{ValidProgram, ValidationError};

mod action;
mod checks;
mod data;
mod expr;
mod flow;
mod jumps;
mod model;
mod objects;
mod parser;
mod table;

/// Why a BMv2 JSON file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Bmv2Error {
    /// It is no JSON, or not of the shape of BMv2 JSON.
    #[error("not BMv2 JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A name or number refers to nothing.
    #[error("{place}: there is no {kind} `{name}`")]
    Unknown {
        /// Where the reference stands.
        place: String,
        /// What should be there.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Something that this reader does not know.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// Where it stands.
        place: String,
        /// What it is.
        what: String,
    },
    /// The file contradicts the format.
    #[error("{place}: {why}")]
    Malformed {
        /// Where.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// The program read is not consistent; with a file made by p4c, a bug of this reader.
    #[error("the program read is not consistent: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<ValidationError>),
}

type Read<T> = Result<T, Bmv2Error>;

/// Reads a program from the text of a BMv2 JSON file.
///
/// # Errors
/// [`Bmv2Error`] says what, where.
pub fn read(text: &str) -> Result<ValidProgram, Bmv2Error> {
    let json: model::Json = serde_json::from_str(text)?;
    let mut r = data::Reader::new(&json)?;
    r.objects()?;
    r.parser()?;
    r.controls()?;
    p4ir::validate(r.program).map_err(Bmv2Error::Invalid)
}

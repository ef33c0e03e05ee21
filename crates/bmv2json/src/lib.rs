//! Reads BMv2 JSON, what p4c makes for `simple_switch` (format version 2,
//! `p4lang/behavioral-model/docs/JSON_format.md`), into the same IR that P4 text is lowered to, so
//! programs that p4c compiled run too.
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
//! Errors may have any numbers: the parser counts as `core.p4` does, and what it leaves in
//! `parser_error` is renumbered before the program looks at it. What older compilers wrote (p4c-bm,
//! for P4_14) is read too, see [`older`].
//!
//! Extern objects of other architectures are read too; whether one can run is the executor's
//! matter.
//!
//! Not read: extern functions, P4_14's `register` operands and `calculated fields` of
//! other types than `generic`; such input is an error that names the construct.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

use p4ir::ValidProgram;

mod action;
mod checks;
mod data;
mod error;
mod expr;
mod flow;
mod jumps;
mod model;
mod objects;
mod older;
mod parser;
mod table;
mod write;

pub use error::Bmv2Error;
pub use write::{Note, WriteError, write, write_with_notes};

/// Whether a program is BMv2 JSON rather than P4: whether an object begins it.
#[must_use]
pub fn is_json(text: &str) -> bool {
    without_mark(text).trim_start().starts_with('{')
}

/// Reads a program from the text of a BMv2 JSON file. A byte order mark at its start is left out.
///
/// # Errors
/// [`Bmv2Error`] says what, where.
pub fn read(text: &str) -> Result<ValidProgram, Bmv2Error> {
    let text = without_mark(text);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut json: model::Json =
        serde_path_to_error::deserialize(&mut deserializer).map_err(|e| {
            let path = e.path().to_string();
            let error = e.into_inner();
            Bmv2Error::Json { path, error }
        })?;
    deserializer.end().map_err(|error| Bmv2Error::Json {
        path: ".".into(),
        error,
    })?;
    let program = json.renew().and_then(|()| convert(&json));
    program.map_err(|e| e.located(text))
}

fn convert(json: &model::Json) -> Result<ValidProgram, Bmv2Error> {
    let mut r = data::Reader::new(json)?;
    r.objects()?;
    r.parser()?;
    r.controls()?;
    p4ir::validate(r.program).map_err(|errors| {
        let limit = errors.iter().find(|e| e.exceeded.is_some());
        limit
            .cloned()
            .map_or_else(|| Bmv2Error::Invalid(errors), Bmv2Error::TooLarge)
    })
}

/// The text without the byte order mark that some editors put before it.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

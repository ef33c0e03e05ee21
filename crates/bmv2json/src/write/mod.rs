//! The opposite direction: from the IR to the JSON format of BMv2, as `simple_switch` loads it.
//!
//! * Calls of actions, functions, controls and subparsers are written out where they stand; storage
//!   that is neither header nor standard metadata becomes fields of one metadata instance,
//!   `scalars`, as p4c has it.
//! * Blocks become [`steps`] first: a structured form in which places known at run time only are
//!   chains of conditions. From these [`action`] makes primitives with jumps, [`control`] a graph
//!   of tables and conditions, [`parser`] states.
//! * BMv2 computes with unbounded integers: [`expr`] cuts results to their widths as the IR does.
//!
//! What the format has no way to say is an error that names it: a table applied at places that go
//! on differently, a table in a loop, conditions in the deparser.

mod action;
mod borrowed;
mod checks;
mod control;
mod expr;
mod externs;
mod graph;
mod json;
mod notes;
mod objects;
mod parser;
mod steps;
mod storage;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use p4ir::{ExternId, Pipeline, Program, Span, TableId, V1Model, ValidProgram, VarId};
use serde_json::{Value, json};

pub use self::notes::Note;
use self::steps::Step;

/// Why a program cannot be written as BMv2 JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{what}")]
pub struct WriteError {
    /// File, line and column in the P4 source, with a colon behind; empty where they are not known.
    pub place: String,
    /// What cannot be written.
    pub what: String,
}

/// What writing a part gives.
type Write<T> = Result<T, WriteError>;

/// The text of a BMv2 JSON file for a v1model program. `name` stands in the file as the program's.
///
/// # Errors
/// The program is for another architecture, or has what the format cannot say.
pub fn write(program: &ValidProgram, name: &str) -> Result<String, WriteError> {
    write_with_notes(program, name).map(|(text, _)| text)
}

/// The same, and what BMv2 does otherwise than the program says.
///
/// # Errors
/// As [`write()`].
pub fn write_with_notes(
    program: &ValidProgram,
    name: &str,
) -> Result<(String, Vec<Note>), WriteError> {
    let Some(Pipeline::V1Model(blocks)) = program.pipeline() else {
        return Err(WriteError {
            place: String::new(),
            what: "only programs for v1model run on BMv2's simple_switch".into(),
        });
    };
    let mut w = Writer::new(program, blocks);
    let value = w.whole(name)?;
    serde_json::to_string_pretty(&value)
        .map(|text| {
            let mut all = std::mem::take(&mut w.notes);
            all.extend(notes::notes(program));
            (text + "\n", all)
        })
        .map_err(|e| w.error(e.to_string()))
}

/// An object with its `source_info`; without, if that is null.
fn with_source(mut object: Value, source: Value) -> Value {
    if let (Some(map), false) = (object.as_object_mut(), source.is_null()) {
        map.insert("source_info".into(), source);
    }
    object
}

/// A place in the source as text, with a colon behind; empty where it is not known.
fn place_of(p: &Program, span: Span) -> String {
    match p.files.get(span.file as usize) {
        Some(file) if span.line > 0 => format!("{file}:{}:{}: ", span.line, span.column),
        _ => String::new(),
    }
}

/// Turns a program into JSON, part by part.
struct Writer<'p> {
    p: &'p Program,
    blocks: V1Model,
    /// Name of each variable in the file.
    names: Vec<String>,
    /// Variables that something refers to.
    used: BTreeSet<VarId>,
    /// Fields of `scalars` that were made for temporaries: name, width, signedness.
    temps: Vec<(String, u32, bool)>,
    /// Data of the action that is being written, by position.
    data: BTreeMap<VarId, usize>,
    /// Copies that enclosing calls make at their end.
    frames: Vec<Vec<Step>>,
    /// What BMv2 does otherwise, as far as writing has shown it.
    notes: Vec<Note>,
    /// What places of the parser that is being written are.
    renames: steps::Renames,
    in_parser: bool,
    /// Place in the source of what is being written.
    span: Span,
    actions: Vec<Value>,
    calculations: Vec<Value>,
    field_lists: Vec<Value>,
    learn_lists: Vec<Value>,
    checksums: Vec<Value>,
    /// Where the colour of each direct meter goes.
    meter_targets: BTreeMap<ExternId, Value>,
    /// Tables written so far, with where they lead.
    placed: BTreeMap<TableId, Value>,
    /// Numbers for names.
    fresh: usize,
    /// Statements and expressions written so far.
    spent: usize,
}

/// Most statements and expressions of a file. Calls and indices are written out, so that a short
/// program may have far more than its text.
const MAX_NODES: usize = 300_000;

impl<'p> Writer<'p> {
    fn new(p: &'p Program, blocks: V1Model) -> Self {
        Self {
            p,
            blocks,
            names: storage::names(p, &blocks),
            used: BTreeSet::from([blocks.headers, blocks.metadata, blocks.standard_metadata]),
            temps: Vec::new(),
            data: BTreeMap::new(),
            frames: Vec::new(),
            notes: Vec::new(),
            renames: Vec::new(),
            in_parser: false,
            span: Span::default(),
            actions: Vec::new(),
            calculations: Vec::new(),
            field_lists: Vec::new(),
            learn_lists: Vec::new(),
            checksums: Vec::new(),
            meter_targets: BTreeMap::new(),
            placed: BTreeMap::new(),
            fresh: 0,
            spent: 0,
        }
    }

    fn error(&self, what: impl Into<String>) -> WriteError {
        WriteError {
            place: place_of(self.p, self.span),
            what: what.into(),
        }
    }

    /// Counts what is about to be written.
    fn spend(&mut self, nodes: usize) -> Write<()> {
        self.spent = self.spent.saturating_add(nodes);
        match self.spent > MAX_NODES {
            true => Err(self.error(format!(
                "a program that has more than {MAX_NODES} statements and expressions once its calls and indices are written \
                 out: call less, or with constant indices"
            ))),
            false => Ok(()),
        }
    }

    /// A number that no other name has.
    fn number(&mut self) -> usize {
        self.fresh += 1;
        self.fresh
    }

    /// Where what is being written stands in the source, for `source_info`; null if nobody knows.
    fn source(&self) -> Value {
        self.source_of(self.span)
    }

    /// A place in the source, for `source_info`; null if it is not known. Columns count from 0
    /// there.
    fn source_of(&self, span: Span) -> Value {
        match self.p.files.get(span.file as usize) {
            Some(file) if span.line > 0 => json!({
                "filename": file, "line": span.line, "column": span.column.saturating_sub(1),
                "source_fragment": self.p.excerpts.get(&span).map_or("", String::as_str),
            }),
            _ => Value::Null,
        }
    }

    /// An object with the place in the source of what is being written, if that is known.
    fn placed(&self, object: Value) -> Value {
        with_source(object, self.source())
    }

    fn whole(&mut self, name: &str) -> Write<Value> {
        let parser = self.parser()?;
        self.checksums()?;
        let ingress = self.pipeline("ingress", 0, self.blocks.ingress)?;
        let egress = self.pipeline("egress", 1, self.blocks.egress)?;
        let deparser = self.deparser()?;
        let [counters, meters, registers] = self.arrays()?;
        let value_sets = self.value_sets()?;
        let storage = self.storage()?;
        let errors = self.p.errors.iter().enumerate();
        let errors: Vec<Value> = errors.map(|(i, e)| json!([e, i])).collect();
        let mut whole = json!({
            "program": name,
            "__meta__": { "version": [2, 23], "compiler": "switchwright" },
            "errors": errors,
            "enums": [],
            "parsers": [parser],
            "parse_vsets": value_sets,
            "deparsers": [deparser],
            "meter_arrays": meters,
            "counter_arrays": counters,
            "register_arrays": registers,
            "calculations": self.calculations,
            "learn_lists": self.learn_lists,
            "field_lists": self.field_lists,
            "actions": self.actions,
            "pipelines": [ingress, egress],
            "checksums": self.checksums,
            "force_arith": [],
            "extern_instances": [],
            "field_aliases": self.aliases(),
        });
        if let (Some(whole), Value::Object(storage)) = (whole.as_object_mut(), storage) {
            whole.extend(storage);
        }
        Ok(whole)
    }
}

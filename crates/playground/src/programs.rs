//! P4 programs by themselves: what the front end says, and whether they pass a case.

use std::path::PathBuf;
use std::sync::Arc;

use p4exec::Executor;
use p4front::diag::Record;
use p4front::source::{FileId, SourceMap};
use p4front::{Files, Options};
use serde_json::{Value, json};

use crate::request::{CompileRequest, StfRequest};
use crate::{Refusal, value};

/// What the main file is called in places.
const MAIN: &str = "main.p4";

fn source<'a>(
    text: &str,
    files: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<(SourceMap, FileId, Options), Refusal> {
    let files = files.into_iter();
    let files = files.map(|(name, text)| (PathBuf::from(name), text.clone()));
    let options = Options {
        files: Files::Memory(files.collect()),
        ..Options::default()
    };
    let mut map = SourceMap::new();
    let main = map.add(MAIN, text).map_err(Refusal::wrong)?;
    Ok((map, main, options))
}

/// Answers `compile`.
pub(crate) fn compile(asked: &CompileRequest) -> Result<Value, Refusal> {
    let (mut map, main, options) = source(&asked.text, &asked.files)?;
    match p4front::compile(&mut map, main, &options) {
        Ok(compiled) => {
            let found = compiled.warnings.iter();
            let found: Vec<Record> = found.map(|d| d.record(&map)).collect();
            let info = &compiled.p4info;
            let tables = info.tables.iter().filter_map(|t| t.preamble.as_ref());
            let actions = info.actions.iter().filter_map(|a| a.preamble.as_ref());
            Ok(json!({
                "compiled": true,
                "findings": found,
                "tables": tables.map(|p| p.name.as_str()).collect::<Vec<_>>(),
                "actions": actions.map(|p| p.name.as_str()).collect::<Vec<_>>(),
            }))
        }
        Err(found) => {
            let found: Vec<Record> = found.iter().map(|d| d.record(&map)).collect();
            Ok(json!({ "compiled": false, "findings": found, "tables": [], "actions": [] }))
        }
    }
}

/// Answers `stf`.
pub(crate) fn stf(asked: &StfRequest) -> Result<Value, Refusal> {
    let case = stf::parse(&asked.case).map_err(Refusal::wrong)?;
    let (mut map, main, options) = source(&asked.text, &asked.files)?;
    let compiled = match p4front::compile(&mut map, main, &options) {
        Ok(compiled) => compiled,
        Err(found) => {
            return Err(Refusal::Wrong(format!(
                "the program does not compile:\n{}",
                found.render(&map)
            )));
        }
    };
    let executor = p4exec::FastestExecutor::new(Arc::new(compiled.ir));
    let mut executor = executor.map_err(Refusal::wrong)?;
    let failures = match stf::run(&case, &mut executor as &mut dyn Executor) {
        Ok(()) => Vec::new(),
        Err(failures) => failures,
    };
    let told = failures.iter();
    let told = told.map(|failure| json!({ "line": failure.line, "message": failure.message }));
    Ok(json!({
        "passed": failures.is_empty(),
        "statements": case.statements.len(),
        "failures": value(told.collect::<Vec<_>>())?,
    }))
}

//! P4 programs by themselves: what the front end says, whether they pass a case, and what becomes
//! of packets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use p4exec::trace::TraceEvent;
use p4exec::{Executor, FastestExecutor, Outputs};
use p4front::diag::{Diagnostics, Record};
use p4front::source::{FileId, SourceMap};
use p4front::{Compiled, Files, Options, P4Info};
use p4gen::entries::read_named;
use p4ir::ValidProgram;
use p4runtime::P4InfoIndex;
use quantities::{Nanos, PortId};
use serde::Serialize;
use serde_json::{Value, json};
use simulator::embedded;

use crate::limits::{MAX_PACKETS, Trust};
use crate::packets::read_hex;
use crate::request::{EntriesFile, PacketsRequest, Source, StfRequest};
use crate::{Refusal, value};

/// What the main file is called in places, where it has no file.
const MAIN: &str = "main.p4";

/// The front end's view of a program.
struct Read {
    map: SourceMap,
    main: FileId,
    options: Options,
}

impl Read {
    fn compile(&mut self) -> Result<Compiled, Diagnostics> {
        p4front::compile(&mut self.map, self.main, &self.options)
    }

    /// A program that has to compile.
    fn compiled(mut self) -> Result<Subject, Refusal> {
        let compiled = self.compile().map_err(|found| {
            let found = found.render(&self.map);
            Refusal::Wrong(format!("the program does not compile:\n{found}"))
        })?;
        Ok(Subject {
            program: Arc::new(compiled.ir),
            info: Some(compiled.p4info),
        })
    }
}

/// A program that runs, whatever it came from.
struct Subject {
    program: Arc<ValidProgram>,
    /// Not known where the program is BMv2's JSON and came alone.
    info: Option<P4Info>,
}

impl Subject {
    /// The names of tables and of actions, as the control plane knows them.
    fn names(&self) -> [Vec<String>; 2] {
        if let Some(info) = &self.info {
            return names(info);
        }
        let actions = self.program.actions.iter();
        // An action that several tables have is there once for each of them.
        let actions: BTreeSet<String> = actions.map(|(_, a)| a.name.clone()).collect();
        let tables = self.program.tables.iter();
        let tables = tables.map(|(_, table)| table.name.clone());
        [tables.collect(), actions.into_iter().collect()]
    }
}

/// The names of tables and of actions.
fn names(info: &P4Info) -> [Vec<String>; 2] {
    let tables = info.tables.iter().filter_map(|t| t.preamble.as_ref());
    let actions = info.actions.iter().filter_map(|a| a.preamble.as_ref());
    [
        tables.map(|p| p.name.clone()).collect(),
        actions.map(|p| p.name.clone()).collect(),
    ]
}

/// A file of the disk, with the bounds of files of source.
fn read_file(path: &Path) -> Result<Arc<str>, Refusal> {
    let mut map = SourceMap::new();
    let file = map.load(path).map_err(Refusal::wrong)?;
    let file = map.file(file).map(|file| Arc::clone(&file.text));
    Ok(file.unwrap_or_default())
}

impl Source {
    /// The file, if it is BMv2's JSON, by its name.
    fn json(&self, trust: Trust) -> Option<&Path> {
        let path = self.path.as_deref().filter(|_| trust == Trust::Owner)?;
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        (is_json && self.text.is_none()).then_some(path)
    }

    /// A program that has to be one, from whichever form.
    fn subject(&self, trust: Trust) -> Result<Subject, Refusal> {
        match self.json(trust) {
            Some(path) => self.of_json(path),
            None => self.read(trust)?.compiled(),
        }
    }

    fn of_json(&self, path: &Path) -> Result<Subject, Refusal> {
        if !(self.include.is_empty() && self.define.is_empty() && self.files.is_empty()) {
            let problem = "`include`, `define` and `files` mean nothing for BMv2's JSON: it is compiled already";
            return Err(Refusal::wrong(problem));
        }
        let of = |path: &Path, e: &dyn std::fmt::Display| {
            Refusal::Wrong(format!("{}: {e}", path.display()))
        };
        let program = bmv2json::read(&read_file(path)?).map_err(|e| of(path, &e))?;
        let info = match &self.p4info {
            Some(info) => {
                let text = read_file(info)?;
                Some(p4runtime::from_text(&text).map_err(|e| of(info, &e))?)
            }
            None => None,
        };
        Ok(Subject {
            program: Arc::new(program),
            info,
        })
    }

    fn read(&self, trust: Trust) -> Result<Read, Refusal> {
        if self.p4info.is_some() {
            let problem =
                "`p4info` is for BMv2's JSON (a `path` that ends in .json); P4 source has its own";
            return Err(Refusal::wrong(problem));
        }
        let mut map = SourceMap::new();
        let mut options = Options::default();
        let main = match (&self.text, &self.path) {
            (Some(text), None) => {
                if !self.include.is_empty() {
                    let problem = "`include` names folders of the disk, where only a program with a `path` is; give `files`";
                    return Err(Refusal::wrong(problem));
                }
                let files = self.files.iter();
                let files = files.map(|(name, text)| (PathBuf::from(name), text.clone()));
                options.files = Files::Memory(files.collect());
                map.add(MAIN, text).map_err(Refusal::wrong)?
            }
            (None, Some(path)) if trust == Trust::Owner => {
                options = Options::on_disk();
                options.include_paths.clone_from(&self.include);
                map.load(path).map_err(Refusal::wrong)?
            }
            (None, Some(_)) => {
                return Err(Refusal::wrong(
                    "this engine reads no files: give the program's `text`",
                ));
            }
            _ => {
                let problem = "a program is either a `text` with its `files`, or a `path`";
                return Err(Refusal::wrong(problem));
            }
        };
        let macros = self.define.iter();
        let macros = macros.map(|(name, value)| (name.clone(), value.clone()));
        options.defines.extend(macros);
        Ok(Read { map, main, options })
    }
}

/// Answers `compile`.
pub(crate) fn compile(asked: &Source, trust: Trust) -> Result<Value, Refusal> {
    if asked.json(trust).is_some() {
        let [tables, actions] = asked.subject(trust)?.names();
        return Ok(json!({
            "compiled": true, "findings": [], "tables": tables, "actions": actions,
        }));
    }
    let mut read = asked.read(trust)?;
    match read.compile() {
        Ok(compiled) => {
            let found = compiled.warnings.iter();
            let found: Vec<Record> = found.map(|d| d.record(&read.map)).collect();
            let [tables, actions] = names(&compiled.p4info);
            Ok(json!({
                "compiled": true, "findings": found, "tables": tables, "actions": actions,
            }))
        }
        Err(found) => {
            let text = found.render(&read.map);
            let found: Vec<Record> = found.iter().map(|d| d.record(&read.map)).collect();
            Ok(json!({
                "compiled": false, "findings": found, "text": text, "tables": [], "actions": [],
            }))
        }
    }
}

/// Answers `stf`.
pub(crate) fn stf(asked: &StfRequest, trust: Trust) -> Result<Value, Refusal> {
    let case = stf::parse(&asked.case).map_err(Refusal::wrong)?;
    let subject = asked.program.subject(trust)?;
    let executor = FastestExecutor::new(subject.program);
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

/// A packet and what became of it.
#[derive(Serialize)]
struct Played {
    port: u16,
    sent: Vec<Sent>,
    dropped: Vec<String>,
    trace: Vec<String>,
}

/// A packet that left.
#[derive(Serialize)]
struct Sent {
    port: u16,
    queue: u32,
    bytes: String,
}

/// Answers `packets`.
pub(crate) fn packets(asked: &PacketsRequest, trust: Trust) -> Result<Value, Refusal> {
    trust.at_most("the number of packets", MAX_PACKETS, asked.packets.len())?;
    let subject = asked.program.subject(trust)?;
    let executor = FastestExecutor::new(subject.program);
    let mut executor = executor.map_err(Refusal::wrong)?;
    install(&asked.entries, subject.info, &mut executor)?;
    let mut played = Vec::with_capacity(asked.packets.len());
    let mut out = Outputs::default();
    for (number, packet) in asked.packets.iter().enumerate() {
        let bytes = read_hex(&packet.bytes, trust)?;
        // A microsecond apart.
        let now = Nanos::new(1000 * (number as u64 + 1));
        let port = PortId::new(packet.port);
        let mut events: Vec<TraceEvent> = Vec::new();
        out.clear();
        match asked.trace {
            true => executor.process_traced(now, &bytes, port, &mut out, &mut events),
            false => executor.process(now, &bytes, port, &mut out),
        }
        let sent = out.sent.iter().map(|output| Sent {
            port: output.port.get(),
            queue: output.metadata.queue.into(),
            bytes: hex(&output.bytes),
        });
        played.push(Played {
            port: packet.port,
            sent: sent.collect(),
            dropped: out.dropped.iter().map(ToString::to_string).collect(),
            trace: events.iter().filter_map(TraceEvent::line).collect(),
        });
    }
    let mut ports: BTreeMap<u16, u64> = BTreeMap::new();
    for sent in played.iter().flat_map(|packet| &packet.sent) {
        *ports.entry(sent.port).or_default() += 1;
    }
    Ok(json!({ "packets": value(played)?, "ports": value(ports)? }))
}

/// Puts entries into a program.
fn install(
    files: &[EntriesFile],
    info: Option<P4Info>,
    executor: &mut FastestExecutor,
) -> Result<(), Refusal> {
    let info = info.map(P4InfoIndex::new).transpose();
    let info = info.map_err(Refusal::wrong)?;
    for EntriesFile { name, text } in files {
        let wrong = |why: String| Refusal::Wrong(format!("{name}: {why}"));
        if name.ends_with(".stf") {
            let case = stf::parse(text).map_err(|e| wrong(e.to_string()))?;
            stf::run(&case, executor as &mut dyn Executor).map_err(|found| {
                let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
                wrong(lines.join("; "))
            })?;
            continue;
        }
        let Some(info) = &info else {
            let problem =
                "these entries need the program's P4Info: give it as `p4info`, or give STF";
            return Err(wrong(problem.to_owned()));
        };
        let entries = read_named(name, text, info).map_err(|e| wrong(e.to_string()))?;
        let state = executor.state_mut();
        embedded::install(state, &entries).map_err(|e| wrong(e.to_string()))?;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! P4 programs against case files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use p4exec::trace::{TraceEvent, Tracer};
use p4exec::{Executor, Interpreter, Outputs, RuntimeState};
use p4front::Options;
use p4front::source::SourceMap;
use p4ir::ValidProgram;
use quantities::{Nanos, PortId};
use stf::case::Statement;
use stf::{Case, Failure};

use crate::grade::CaseResult;
use crate::lab::{Lab, LabError, read, stem};

/// Failures of one case that are told.
pub(crate) const MAX_TOLD: usize = 3;

/// A packet that went in, and what became of it.
struct Seen {
    port: u16,
    bytes: Vec<u8>,
    way: Vec<String>,
    sent: Vec<(u16, Vec<u8>)>,
}

/// An executor that remembers what it did.
struct Watched {
    inner: Interpreter,
    seen: Vec<Seen>,
}

impl Executor for Watched {
    fn process(&mut self, now: Nanos, packet: &[u8], port: PortId, out: &mut Outputs) {
        self.process_traced(now, packet, port, out, &mut Vec::new());
    }

    fn process_traced(
        &mut self,
        now: Nanos,
        packet: &[u8],
        port: PortId,
        out: &mut Outputs,
        tracer: &mut dyn Tracer,
    ) {
        let mut events: Vec<TraceEvent> = Vec::new();
        let before = out.sent.len();
        self.inner
            .process_traced(now, packet, port, out, &mut events);
        let sent = out.sent[before..].iter();
        self.seen.push(Seen {
            port: port.get(),
            bytes: packet.to_vec(),
            way: events.iter().filter_map(TraceEvent::line).collect(),
            sent: sent.map(|o| (o.port.get(), o.bytes.clone())).collect(),
        });
        events.into_iter().for_each(|event| tracer.event(event));
    }

    fn state(&self) -> &RuntimeState {
        self.inner.state()
    }

    fn state_mut(&mut self) -> &mut RuntimeState {
        self.inner.state_mut()
    }
}

/// Compiles a program; or what is wrong with it.
pub(crate) fn compile(
    file: &Path,
    include: Vec<PathBuf>,
    substitute: &BTreeMap<String, String>,
) -> Result<Result<Arc<ValidProgram>, String>, LabError> {
    let mut text = read(file)?;
    for (old, new) in substitute {
        text = text.replace(old, new);
    }
    let mut map = SourceMap::new();
    let main = match map.add(&file.to_string_lossy(), &text) {
        Ok(main) => main,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let options = Options {
        include_paths: include,
        ..Options::on_disk()
    };
    Ok(match p4front::compile(&mut map, main, &options) {
        Ok(compiled) => Ok(Arc::new(compiled.ir)),
        Err(found) => Err(found.render(&map)),
    })
}

/// A case and what its first lines say of it.
pub(crate) fn case(path: &Path, text: &str) -> Result<(String, Case), LabError> {
    let case = stf::parse(text).map_err(|e| LabError::Broken {
        path: path.display().to_string(),
        why: e.to_string(),
    })?;
    let lines = text.lines().map_while(|line| line.strip_prefix('#'));
    let about: Vec<&str> = lines.map(str::trim).collect();
    Ok((about.join(" "), case))
}

pub(crate) fn judge(
    lab: &Lab,
    file: &Path,
    substitute: &BTreeMap<String, String>,
) -> Result<Vec<CaseResult>, LabError> {
    let program = compile(file, lab.include(), substitute)?;
    let mut results = Vec::new();
    for path in lab.files("cases", ".stf")? {
        let (about, case) = case(&path, &read(&path)?)?;
        let why = match &program {
            Ok(program) => play(program, &case),
            Err(found) => vec![format!(
                "the program does not compile:\n{}",
                found.trim_end()
            )],
        };
        results.push(CaseResult::new(stem(&path), about, why));
    }
    Ok(results)
}

/// Plays a case; what went otherwise, packet by packet.
pub(crate) fn play(program: &Arc<ValidProgram>, case: &Case) -> Vec<String> {
    let inner = match Interpreter::new(Arc::clone(program)) {
        Ok(inner) => inner,
        Err(error) => return vec![error.to_string()],
    };
    let mut watched = Watched {
        inner,
        seen: Vec::new(),
    };
    let failures = match stf::run(case, &mut watched) {
        Ok(()) => return Vec::new(),
        Err(failures) => failures,
    };
    let mut told: Vec<String> = failures
        .iter()
        .take(MAX_TOLD)
        .map(|failure| tell(failure, case, &watched.seen))
        .collect();
    if failures.len() > MAX_TOLD {
        told.push(format!("and {} more", failures.len() - MAX_TOLD));
    }
    told
}

/// The packet that a failure is about: the last that went in before its line, or the one that sent
/// what nobody expected.
fn packet_of<'s>(failure: &Failure, case: &Case, seen: &'s [Seen]) -> Option<(usize, &'s Seen)> {
    if failure.line == 0 {
        let mut sent = seen.iter().enumerate();
        return sent.find(|(_, s)| {
            let unexpected = |(port, bytes): &(u16, Vec<u8>)| {
                let start = format!("port {port}:");
                failure.message.starts_with(&start) && failure.message.ends_with(&hex(bytes))
            };
            s.sent.iter().any(unexpected)
        });
    }
    let packets = case.statements.iter().filter(|(line, statement)| {
        *line < failure.line && matches!(statement, Statement::Packet { .. })
    });
    let index = packets.count().checked_sub(1)?;
    seen.get(index).map(|s| (index, s))
}

fn tell(failure: &Failure, case: &Case, seen: &[Seen]) -> String {
    let mut text = failure.to_string();
    let Some((index, packet)) = packet_of(failure, case, seen) else {
        return text;
    };
    let _ = write!(
        text,
        "\npacket {}: in at port {}: {}",
        index + 1,
        packet.port,
        hex(&packet.bytes)
    );
    for line in &packet.way {
        let _ = write!(text, "\n  {line}");
    }
    for (port, bytes) in &packet.sent {
        let _ = write!(text, "\n  out      port {port}: {}", hex(bytes));
    }
    if packet.sent.is_empty() {
        text.push_str("\n  out      nothing");
    }
    text
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02X}"))
}

//! The third executor: BMv2's `simple_switch`, where it is installed, on what a [`Compiler`] makes
//! of a program.
//!
//! [`play`] starts a `simple_switch` on a compiled program, turns the statements of a case into
//! commands of `simple_switch_CLI` and packets in pcap files, and compares what comes out. What
//! BMv2's command line cannot say (weights, watched ports) is [`Trouble::Inexpressible`], not a
//! failure.

mod commands;
mod switch;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use p4exec::RuntimeState;
use p4front::Options;
use p4front::source::SourceMap;
use p4ir::ValidProgram;
use thiserror::Error;

use crate::case::{Case, Statement};
use crate::compare::Failure;
use crate::compare::compare_port;
use commands::Commands;
use switch::Switch;

/// What has to be on PATH.
const TOOLS: [&str; 2] = ["simple_switch", "simple_switch_CLI"];
/// p4c's compiler for `simple_switch`.
const P4C: &str = "p4c-bm2-ss";

/// Why BMv2 did not agree with a case, or was not asked.
#[derive(Debug, Error)]
pub enum Trouble {
    /// Packets or values differ.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Failures(Vec<Failure>),
    /// BMv2 or its command line has no way to do what the case asks.
    #[error("line {line}: BMv2 cannot {what}")]
    Inexpressible {
        /// Line of the case.
        line: usize,
        /// What it asks.
        what: String,
    },
    /// The compiler refuses the program.
    #[error("{0}: {1}")]
    Compile(Compiler, String),
    /// `simple_switch` does not take what the compiler made of the program.
    #[error("simple_switch does not start: {0}")]
    NotStarted(String),
    /// A tool is not installed, or did not start or answer.
    #[error("{0}")]
    Tool(String),
}

/// Ports of a switch that is measured, if none of its packets comes in at a higher one.
const PACE_PORTS: u16 = 63;

/// The first tool that is not installed.
#[must_use]
pub fn missing_tool() -> Option<&'static str> {
    TOOLS.into_iter().find(|tool| !is_installed(tool))
}

/// Whether a tool is on PATH.
#[must_use]
pub fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// Who writes the JSON that `simple_switch` loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compiler {
    /// `p4c-bm2-ss`, from PATH.
    P4c,
    /// Our front end and `bmv2json::write`.
    Ours,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P4c => P4C,
            Self::Ours => "our compiler",
        })
    }
}

impl Compiler {
    /// Those that can be asked here: ours, and p4c where it is installed.
    #[must_use]
    pub fn here() -> Vec<Self> {
        let mut all = vec![Self::Ours];
        all.extend(is_installed(P4C).then_some(Self::P4c));
        all
    }

    /// p4c where it is installed, ours elsewhere.
    #[must_use]
    pub fn preferred() -> Self {
        if is_installed(P4C) {
            Self::P4c
        } else {
            Self::Ours
        }
    }
}

/// A program as BMv2 loads it.
#[derive(Clone, Debug)]
pub struct Program {
    json: PathBuf,
    /// The same program, for its names and widths.
    state: Arc<RuntimeState>,
}

impl Program {
    /// Compiles a program into `folder`; a `.json` file is taken as it is.
    ///
    /// # Errors
    /// [`Trouble::Compile`], [`Trouble::Tool`].
    pub fn compile(
        path: &Path,
        compiler: Compiler,
        options: &Options,
        folder: &Path,
    ) -> Result<Self, Trouble> {
        let tool = |e: &dyn fmt::Display| Trouble::Tool(format!("{}: {e}", path.display()));
        let made = folder.join("program.json");
        let json = if path.extension().is_some_and(|e| e == "json") {
            fs::canonicalize(path).map_err(|e| tool(&e))?
        } else if compiler == Compiler::P4c {
            by_p4c(path, options, &made)?;
            made
        } else {
            let text = by_us(path, options).map_err(|why| Trouble::Compile(compiler, why))?;
            fs::write(&made, text).map_err(|e| tool(&e))?;
            made
        };
        let text = fs::read_to_string(&json).map_err(|e| tool(&e))?;
        let program = bmv2json::read(&text)
            .map_err(|e| Trouble::Compile(compiler, format!("its JSON is not understood: {e}")))?;
        let state = RuntimeState::new(Arc::new(program)).map_err(|e| tool(&e))?;
        Ok(Self {
            json,
            state: Arc::new(state),
        })
    }

    /// The file that BMv2 loads.
    #[must_use]
    pub fn json(&self) -> &Path {
        &self.json
    }

    /// What our reader makes of the JSON.
    #[must_use]
    pub fn ir(&self) -> &Arc<ValidProgram> {
        self.state.program()
    }
}

/// The JSON that our own front end and writer make of a program.
fn by_us(path: &Path, options: &Options) -> Result<String, String> {
    let mut map = SourceMap::new();
    let main = map.load(path).map_err(|e| e.to_string())?;
    let compiled = p4front::compile(&mut map, main, options);
    let compiled = compiled.map_err(|found| found.render(&map))?;
    bmv2json::write(&compiled.ir, &path.to_string_lossy()).map_err(|e| e.to_string())
}

fn by_p4c(path: &Path, options: &Options, json: &Path) -> Result<(), Trouble> {
    let mut p4c = Command::new(P4C);
    for include in &options.include_paths {
        p4c.arg("-I").arg(include);
    }
    for (name, value) in &options.defines {
        p4c.arg(format!("-D{name}={value}"));
    }
    let output = p4c
        .arg("-o")
        .arg(json)
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Trouble::Tool(format!("{P4C}: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = words.lines().filter(|l| l.contains("error")).collect();
    Err(Trouble::Compile(Compiler::P4c, errors.join("\n")))
}

/// Starts a switch on a program, and waits until it listens. `packets` are all that will come in.
fn start(
    program: &Program,
    folder: &Path,
    ports: &[u16],
    packets: &[(u16, Vec<u8>)],
) -> Result<Switch, Trouble> {
    let mut switch = Switch::start(&program.json, folder, ports, packets).map_err(trouble)?;
    switch.listens().map_err(trouble)?;
    Ok(switch)
}

fn trouble(error: std::io::Error) -> Trouble {
    match error.kind() {
        std::io::ErrorKind::InvalidData => Trouble::NotStarted(error.to_string()),
        _ => Trouble::Tool(error.to_string()),
    }
}

/// Plays a case on a switch of its own.
///
/// # Errors
/// [`Trouble`].
pub fn play(program: &Program, case: &Case) -> Result<(), Trouble> {
    let folder = tempfile::tempdir().map_err(|e| Trouble::Tool(e.to_string()))?;
    let tool = |e: std::io::Error| Trouble::Tool(e.to_string());
    let mut commands = Commands::new(&program.state);
    for (line, statement) in &case.statements {
        if let Some(what) = commands.inexpressible(statement) {
            return Err(Trouble::Inexpressible { line: *line, what });
        }
    }
    let mut ports = BTreeSet::new();
    let mut packets = Vec::new();
    for (_, statement) in &case.statements {
        match statement {
            Statement::Packet { port, bytes } => {
                ports.insert(*port);
                packets.push((*port, bytes.clone()));
            }
            Statement::Expect { port, .. } => {
                ports.insert(*port);
            }
            _ => {}
        }
    }
    let ports: Vec<u16> = ports.into_iter().collect();
    let mut switch = start(program, folder.path(), &ports, &packets)?;
    let mut failures = Vec::new();
    let mut expected: BTreeMap<u16, Vec<_>> = BTreeMap::new();
    for (line, statement) in &case.statements {
        let done = match statement {
            Statement::Expect { port, pattern } => {
                let wanted = expected.entry(*port).or_default();
                wanted.push((*line, pattern.as_ref()));
                Ok(())
            }
            Statement::Packet { port, .. } => switch.send(*port).map_err(|e| e.to_string()),
            Statement::NoPacket => {
                let sent = switch.sent().map_err(tool)?;
                match sent.values().map(Vec::len).sum() {
                    0 => Ok(()),
                    n => Err(format!("{n} packets came out")),
                }
            }
            Statement::Wait { milliseconds } => {
                switch.settle(Duration::from_millis((*milliseconds).max(1)));
                Ok(())
            }
            other => commands.run(other, &mut switch),
        };
        if let Err(message) = done {
            failures.push(Failure {
                line: *line,
                message,
            });
        }
    }
    let sent = patient(&switch, &expected).map_err(tool)?;
    for port in ports {
        let wanted = expected.remove(&port).unwrap_or_default();
        let got = sent.get(&port).cloned().unwrap_or_default();
        compare_port(port, &wanted, &got, &mut failures);
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Trouble::Failures(failures))
    }
}

/// What comes out of a switch of its own, by port: `commands` are lines of `simple_switch_CLI`,
/// carried out before the first packet; `ports` are all that may send.
///
/// # Errors
/// [`Trouble::Tool`]; [`Trouble::Failures`] with the commands that the switch refuses.
pub fn observe(
    program: &Program,
    commands: &str,
    packets: &[(u16, Vec<u8>)],
    ports: &BTreeSet<u16>,
) -> Result<BTreeMap<u16, Vec<Vec<u8>>>, Trouble> {
    let tool = |e: std::io::Error| Trouble::Tool(e.to_string());
    let folder = tempfile::tempdir().map_err(tool)?;
    let ports: Vec<u16> = ports.iter().copied().collect();
    let mut switch = start(program, folder.path(), &ports, packets)?;
    carry_out(&mut switch, commands)?;
    for (port, _) in packets {
        switch.send(*port).map_err(tool)?;
    }
    switch.settle(Duration::from_millis(300));
    switch.sent().map_err(tool)
}

/// What comes out at `to` of a switch of its own that gets packets at `from`, as fast as it takes
/// them: it is waited for until as many came out.
///
/// # Errors
/// [`Trouble::NotStarted`], [`Trouble::Tool`].
pub fn forward(
    program: &Program,
    packets: &[Vec<u8>],
    (from, to): (u16, u16),
) -> Result<Vec<Vec<u8>>, Trouble> {
    let tool = |e: std::io::Error| Trouble::Tool(e.to_string());
    let folder = tempfile::tempdir().map_err(tool)?;
    let given: Vec<(u16, Vec<u8>)> = packets.iter().map(|p| (from, p.clone())).collect();
    let switch = Switch::start(&program.json, folder.path(), &[from, to], &given);
    switch
        .and_then(|mut s| s.forward(from, to))
        .map_err(trouble)
}

/// How fast a switch of its own forwards.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Pace {
    /// Packets given, all at one port.
    pub given: usize,
    /// Packets that came out.
    pub sent: usize,
    /// From the first packet given until the last came out.
    pub seconds: f64,
    /// Packets that came out per second.
    pub packets_per_second: f64,
}

/// Gives a switch of its own `count` packets as fast as it takes them: those of the port that has
/// the most, over and over. `commands` are lines of `simple_switch_CLI`, carried out before.
///
/// # Errors
/// [`Trouble::Tool`]; [`Trouble::Failures`] with the commands that the switch refuses.
pub fn pace(
    program: &Program,
    commands: &str,
    packets: &[(u16, Vec<u8>)],
    count: usize,
) -> Result<Pace, Trouble> {
    let tool = |e: std::io::Error| Trouble::Tool(e.to_string());
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    for (port, _) in packets {
        *counts.entry(*port).or_default() += 1;
    }
    let busiest = counts.iter().max_by_key(|(_, count)| **count);
    let busiest = busiest.map_or(0, |(port, _)| *port);
    let own: Vec<(u16, Vec<u8>)> = packets
        .iter()
        .filter(|(port, _)| *port == busiest)
        .cycle()
        .take(count)
        .cloned()
        .collect();
    let folder = tempfile::tempdir().map_err(tool)?;
    let ports: Vec<u16> = (0..=busiest.max(PACE_PORTS)).collect();
    let mut switch = start(program, folder.path(), &ports, &own)?;
    carry_out(&mut switch, commands)?;
    // No queue may overflow: what is dropped is not forwarded.
    carry_out(&mut switch, &format!("set_queue_depth {count}"))?;
    let (sent, time) = switch.flood(busiest).map_err(tool)?;
    let seconds = time.as_secs_f64();
    Ok(Pace {
        given: own.len(),
        sent,
        seconds,
        packets_per_second: sent as f64 / seconds.max(f64::MIN_POSITIVE),
    })
}

/// Carries out lines of `simple_switch_CLI`.
fn carry_out(switch: &mut Switch, commands: &str) -> Result<(), Trouble> {
    switch
        .open_command_line()
        .map_err(|e| Trouble::Tool(e.to_string()))?;
    let mut failures = Vec::new();
    for (index, line) in commands.lines().enumerate() {
        let words = line.split('#').next().unwrap_or_default().trim();
        if !words.is_empty()
            && let Err(message) = commands::ask(switch, words)
        {
            let line = index + 1;
            failures.push(Failure { line, message });
        }
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Trouble::Failures(failures))
    }
}

/// What came out; a busy machine gets some time to deliver as many packets as are expected.
fn patient<T>(
    switch: &Switch,
    expected: &BTreeMap<u16, Vec<T>>,
) -> std::io::Result<BTreeMap<u16, Vec<Vec<u8>>>> {
    for _ in 0..6 {
        let sent = switch.sent()?;
        let have = |port: &u16| sent.get(port).map_or(0, Vec::len);
        if expected
            .iter()
            .all(|(port, wanted)| have(port) >= wanted.len())
        {
            break;
        }
        switch.settle(Duration::from_millis(300));
    }
    switch.sent()
}

//! P4Runtime at full load: a million entries written and read back over loopback gRPC, by our
//! switch as a process of its own and by BMv2's simple_switch_grpc where it is installed, in turns
//! and from the same client.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use conformance::rates::{Kind, Load, PROGRAM, RateError, Rates, run};
use linuxnet::{FreePorts, Process};
use quantities::Bytes;
use serde::Serialize;
use thiserror::Error;

use super::machine::resident_memory_of;

/// How often each server runs, every time as a new process; the best rates count, and the last
/// run's memory.
const ROUNDS: usize = 3;
/// Updates in one batch.
const BATCH: usize = 1000;
/// Batches under way at a time.
const IN_FLIGHT: usize = 4;
/// The device id of both.
const DEVICE: u64 = 0;

/// What one server reached with one kind of table.
#[derive(Clone, Debug, Serialize)]
pub struct RuntimeFigure {
    /// Who.
    pub server: &'static str,
    /// `lpm` or `exact`.
    pub table: &'static str,
    /// Entries written and read.
    pub entries: usize,
    /// Entries written per second, in batches of a thousand, until the table holds all.
    pub writes: f64,
    /// Entries read back per second, all by one call.
    pub reads: f64,
    /// By how much the process grew per entry.
    pub memory_per_entry: Option<Bytes>,
    /// Our writes over the peer's, where there is one.
    pub write_ratio: Option<f64>,
    /// Our reads over the peer's.
    pub read_ratio: Option<f64>,
}

/// Why the benchmark did not run.
#[derive(Debug, Error)]
pub enum RuntimeError {
    /// A server refused or lost something.
    #[error("{0}: {1}")]
    Rate(&'static str, RateError),
    /// The switch did not say that it is ready.
    #[error("the switch did not start: {0}")]
    Start(String),
    /// A file or process.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    Ours,
    Bmv2,
}

impl Contender {
    const fn name(self) -> &'static str {
        match self {
            Self::Ours => "switchwright switch",
            Self::Bmv2 => "simple_switch_grpc",
        }
    }
}

/// A server that ends with the value.
struct Running {
    child: Process,
    address: String,
}

impl Running {
    fn ours(command: &Path, scratch: &Path) -> Result<Self, RuntimeError> {
        let mut switch = Command::new(command);
        switch
            .args(["--json", "switch", "--no-p4", "--device-id"])
            .arg(DEVICE.to_string())
            .arg("--admin")
            .arg(scratch.join("admin.sock"))
            .args(["--grpc-server-addr", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = Process::start(switch)?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let mut running = Self {
            child,
            address: String::new(),
        };
        let ready: serde_json::Value = serde_json::from_str(&line)
            .map_err(|error| RuntimeError::Start(format!("{error}: {line}")))?;
        running.address = ready["address"].as_str().unwrap_or_default().to_owned();
        Ok(running)
    }

    fn bmv2() -> Result<Self, RuntimeError> {
        let mut free = FreePorts::default();
        let address = format!("127.0.0.1:{}", free.tcp()?);
        let mut switch = Command::new("simple_switch_grpc");
        switch
            .args(["--no-p4", "--log-level", "off", "--device-id"])
            .arg(DEVICE.to_string())
            .args(["--thrift-port", &free.tcp()?.to_string()])
            .args(["--", "--grpc-server-addr", &address])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = Process::start(switch)?;
        Ok(Self { child, address })
    }
}

fn once(
    contender: Contender,
    command: &Path,
    scratch: &Path,
    json: Option<&[u8]>,
    load: &Load,
) -> Result<(Rates, Option<Bytes>), RuntimeError> {
    let (running, config) = match (contender, json) {
        (Contender::Bmv2, Some(json)) => (Running::bmv2()?, json.to_vec()),
        _ => (Running::ours(command, scratch)?, PROGRAM.into()),
    };
    let process = running.child.id();
    // The program's own share of memory is there before the entries come.
    let mut before = None;
    let loaded = || before = resident_memory_of(process);
    let rates = run(&running.address, DEVICE, config, load, loaded)
        .map_err(|error| RuntimeError::Rate(contender.name(), error))?;
    let after = resident_memory_of(process);
    let grown = before.zip(after).map(|(before, after)| {
        let grown = after.get().saturating_sub(before.get());
        Bytes::new(grown / (load.entries.max(1) as u64))
    });
    Ok((rates, grown))
}

/// Writes and reads `entries` entries by longest prefix and by exact match, and tells of each step.
/// `command` is our own program; `json` is [`PROGRAM`] compiled for BMv2, where it is to be run
/// beside.
///
/// # Errors
/// [`RuntimeError`] if a server does not start or refuses.
pub fn measure_p4runtime(
    command: &Path,
    scratch: &Path,
    json: Option<&[u8]>,
    entries: usize,
    step: &(dyn Fn(&str) + Sync),
) -> Result<Vec<RuntimeFigure>, RuntimeError> {
    let mut contenders = vec![Contender::Ours];
    if json.is_some() {
        contenders.push(Contender::Bmv2);
    }
    let mut figures = Vec::new();
    for kind in Kind::ALL {
        let load = Load {
            kind,
            entries,
            batch: BATCH,
            in_flight: IN_FLIGHT,
        };
        let mut best = vec![(Rates::default(), None); contenders.len()];
        for _ in 0..ROUNDS {
            for (contender, best) in contenders.iter().zip(&mut best) {
                step(&format!("{}: {} entries", contender.name(), kind.name()));
                let (rates, grown) = once(*contender, command, scratch, json, &load)?;
                best.0.entries = rates.entries;
                best.0.writes = rates.writes.max(best.0.writes);
                best.0.reads = rates.reads.max(best.0.reads);
                best.1 = grown;
            }
        }
        let peer = best.get(1).map(|(rates, _)| *rates);
        for (contender, (rates, memory_per_entry)) in contenders.iter().zip(&best) {
            let beside = peer.filter(|_| *contender == Contender::Ours);
            figures.push(RuntimeFigure {
                server: contender.name(),
                table: kind.name(),
                entries: rates.entries,
                writes: rates.writes,
                reads: rates.reads,
                memory_per_entry: *memory_per_entry,
                write_ratio: beside.map(|peer| rates.writes / peer.writes),
                read_ratio: beside.map(|peer| rates.reads / peer.reads),
            });
        }
    }
    Ok(figures)
}

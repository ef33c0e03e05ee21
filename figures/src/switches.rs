//! What a switch costs as a process: how long until it is ready, the memory of its own and that
//! which it shares with the others of the same program. In one network namespace, as many at a time
//! as `processes`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use conformance::rates::PROGRAM;
use linuxnet::veth::End;
use linuxnet::{Namespace, NetError, Process, Veth};
use quantities::Bytes;
use serde::Serialize;
use thiserror::Error;

use super::machine::{memory_parts, thread_time, timed};

/// Ports of the switches.
const PORTS: [usize; 2] = [4, 32];
/// How frames come from interfaces.
const DRIVERS: [&str; 2] = ["packet", "ring"];

/// What switches of one kind cost.
#[derive(Clone, Debug, Serialize)]
pub struct SwitchFigure {
    /// `packet` or `ring`: how frames come from interfaces.
    pub driver: &'static str,
    /// Interfaces.
    pub ports: usize,
    /// Whether it starts with a program, or waits for one.
    pub program: bool,
    /// How many ran at a time.
    pub processes: usize,
    /// From the start of the process until it says that it is ready, in milliseconds: the median.
    pub ready_ms: f64,
    /// The processor time that took, in milliseconds: the median.
    pub processor_ms: Option<f64>,
    /// What it has in memory, shared or not: the most.
    pub resident: Option<Bytes>,
    /// Its share of it: what it shares with others counts in equal parts; the average.
    pub proportional: Option<Bytes>,
    /// What no other has: the most.
    pub own: Option<Bytes>,
}

/// Why the benchmark did not run.
#[derive(Debug, Error)]
pub enum SwitchesError {
    /// The machine does not let us.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A switch did not say that it is ready.
    #[error("a switch did not start: {0}")]
    Start(String),
    /// A file or process.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A kind of switch.
#[derive(Clone, Copy)]
struct Case {
    driver: &'static str,
    ports: usize,
    program: bool,
}

impl Case {
    fn name(self) -> String {
        let Self { driver, ports, .. } = self;
        let program = if self.program { ", with a program" } else { "" };
        format!("{ports} ports, {driver}{program}")
    }
}

/// Starts switches of every kind by `command`, which is our own program, and tells of each kind.
///
/// # Errors
/// [`SwitchesError`]: no right to make namespaces, a switch that does not start.
pub fn measure_switches(
    command: &Path,
    scratch: &Path,
    processes: usize,
    step: &(dyn Fn(&str) + Sync),
) -> Result<Vec<SwitchFigure>, SwitchesError> {
    let program = scratch.join("program.p4");
    std::fs::write(&program, PROGRAM)?;
    let mut figures = Vec::new();
    for program in [false, true] {
        for driver in DRIVERS {
            for ports in PORTS {
                let case = Case {
                    driver,
                    ports,
                    program,
                };
                step(&case.name());
                figures.push(measure(command, scratch, case, processes)?);
            }
        }
    }
    Ok(figures)
}

fn measure(
    command: &Path,
    scratch: &Path,
    case: Case,
    processes: usize,
) -> Result<SwitchFigure, SwitchesError> {
    let namespace = Namespace::new()?;
    let mut cables = Vec::new();
    for number in 0..processes * case.ports {
        let (a, b) = (format!("p{number}"), format!("q{number}"));
        cables.push(Veth::new(
            End::inside(&a, &namespace),
            End::inside(&b, &namespace),
        )?);
    }
    // Processes end with the thread that starts them.
    let figure = namespace.run(|| {
        let mut running = Vec::new();
        let (mut ready, mut processor) = (Vec::new(), Vec::new());
        for number in 0..processes {
            let (started, seconds) = timed(|| start(command, scratch, case, number));
            let process = started?;
            ready.push(seconds * 1e3);
            processor.extend(thread_time(process.id(), None).map(|time| time.as_secs_f64() * 1e3));
            running.push(process);
        }
        let parts: Vec<_> = running
            .iter()
            .filter_map(|process| memory_parts(process.id()))
            .collect();
        let most = |part: fn(&[Bytes; 3]) -> Bytes| parts.iter().map(part).max();
        let sum: u64 = parts.iter().map(|[_, share, _]| share.get()).sum();
        Ok(SwitchFigure {
            driver: case.driver,
            ports: case.ports,
            program: case.program,
            processes,
            ready_ms: median(ready).unwrap_or_default(),
            processor_ms: median(processor),
            resident: most(|[resident, ..]| *resident),
            proportional: sum.checked_div(parts.len() as u64).map(Bytes::new),
            own: most(|[.., own]| *own),
        })
    })?;
    drop(cables);
    figure
}

fn start(
    command: &Path,
    scratch: &Path,
    case: Case,
    number: usize,
) -> Result<Process, SwitchesError> {
    let mut switch = Command::new(command);
    switch
        .args(["--json", "switch", "--driver", case.driver])
        .args(["--grpc-server-addr", "127.0.0.1:0", "--admin"])
        .arg(scratch.join(format!("{number}.sock")));
    match case.program {
        true => switch.arg(scratch.join("program.p4")),
        false => switch.arg("--no-p4"),
    };
    for port in 1..=case.ports {
        let interface = number * case.ports + port - 1;
        switch.args(["-i", &format!("{port}@p{interface}")]);
    }
    switch
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = Process::start(switch)?;
    let mut line = String::new();
    if let Some(output) = process.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    match line.contains("\"ready\"") {
        true => Ok(process),
        false => Err(SwitchesError::Start(line)),
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

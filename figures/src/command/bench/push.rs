//! `switchwright bench push`: many switches filled by one push, as processes of their own and as
//! servers of one process.

use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use files::Scratch;
use linuxnet::Process;
use p4gen::build::{self, BuildOptions};
use p4gen::targets::{Format, Formats, V1MODEL};
use plan::check;
use schemes::TaggerOptions;
use serde::Serialize;
use serde_json::{Value, json};
use switchd::engine::io::{MemoryIo, MemoryWires};
use switchd::engine::{Engine, EngineConfig};
use switchd::server::{Server, ServerConfig};
use topology::generate::{Cables, Jellyfish, JellyfishSize};

use super::none_matches;
use crate::{ProcessFigure, watched};
use measure::Machine;
use switchwright::cli::fault::{Context, Fault, Status};
use switchwright::cli::own;
use switchwright::cli::terminal::{self, Terminal};

/// Ports of a switch, of which half lead to hosts.
const PORTS: u16 = 16;

/// Where the switches are.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Each is a process.
    Processes,
    /// All are servers of this process.
    Here,
}

struct Case {
    name: &'static str,
    switches: u32,
    place: Place,
}

const CASES: [Case; 2] = [
    Case {
        name: "100 processes",
        switches: 100,
        place: Place::Processes,
    },
    Case {
        name: "1000 servers of one process",
        switches: 1000,
        place: Place::Here,
    },
];

#[derive(Serialize)]
struct PushBenchReport {
    machine: Machine,
    push: Vec<PushFigure>,
}

/// What a case took.
#[derive(Serialize)]
struct PushFigure {
    name: &'static str,
    switches: u32,
    /// Entries of all switches.
    entries: u64,
    /// The push that loads programs and writes everything.
    first: ProcessFigure,
    /// The same once more, which finds nothing to write.
    again: ProcessFigure,
}

/// Runs what has `only` in its name.
pub(super) fn run(only: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    let wanted = |case: &&Case| only.is_none_or(|text| case.name.contains(text));
    if !CASES.iter().any(|case| wanted(&case)) {
        return Err(none_matches(only, &CASES.map(|case| case.name)));
    }
    let mut report = PushBenchReport {
        machine: Machine::here(),
        push: Vec::new(),
    };
    for case in CASES.iter().filter(wanted) {
        let bar = terminal.progress(case.name);
        let figure = measure(case);
        bar.finish_and_clear();
        report.push.push(figure?);
    }
    terminal.result(&report, || describe(&report))
}

fn measure(case: &Case) -> Result<PushFigure, Fault> {
    let scratch = Scratch::new().input("temporary directory")?;
    let at = scratch.path();
    let network = Jellyfish {
        size: JellyfishSize::Switches {
            switches: case.switches,
            fabric_ports: PORTS / 2,
        },
        ports: PORTS,
        seed: 1,
        cables: Cables::default(),
    };
    let topology = network.generate().map_err(Fault::input)?;
    let names: Vec<String> = topology.switches().iter().map(|s| s.name.clone()).collect();
    let tables = schemes::tagger(&topology, &TaggerOptions::default()).map_err(Fault::input)?;
    let plan = check(tables, &check::Options::default()).map_err(Fault::input)?;
    let options = BuildOptions {
        formats: Formats::new([Format::Binpb]),
        ..BuildOptions::default()
    };
    let built = build::build_with(&plan, &V1MODEL, &at.join("build"), &options, &|_| ());
    let entries = built.map_err(Fault::input)?.entries_total;
    let push = |addresses: &[String]| {
        let switches: serde_json::Map<String, Value> = names
            .iter()
            .zip(addresses)
            .map(|(name, address)| (name.clone(), json!({ "address": address })))
            .collect();
        let devices = json!({
            "format": "switchwright-devices",
            "version": 1,
            "switches": switches,
        });
        std::fs::write(at.join("devices.json"), devices.to_string()).input("devices.json")?;
        Ok::<_, Fault>([pushed(at)?, pushed(at)?])
    };
    let [first, again] = match case.place {
        Place::Processes => {
            let running = processes(case.switches, at)?;
            let addresses: Vec<String> = running.iter().map(|(_, at)| at.clone()).collect();
            push(&addresses)?
        }
        Place::Here => {
            let runtime = switchwright::cli::runtime()?;
            let running = runtime.block_on(servers(case.switches))?;
            let addresses: Vec<String> = running.iter().map(|s| s.address.clone()).collect();
            push(&addresses)?
        }
    };
    Ok(PushFigure {
        name: case.name,
        switches: case.switches,
        entries,
        first,
        again,
    })
}

/// Pushes the build of a folder by the command `switchwright`, in a process of its own.
fn pushed(at: &Path) -> Result<ProcessFigure, Fault> {
    let mut command = Command::new(own::file()?);
    command.args(["push", "build", "--devices", "devices.json", "--json"]);
    command.current_dir(at);
    let said = at.join("push.out");
    let figure = watched(command, &said).input("push")?;
    figure.ok_or_else(|| {
        let words = std::fs::read_to_string(&said).unwrap_or_default();
        Fault::with(Status::Target, format!("the push failed: {words}"))
    })
}

/// Starts switches, each with its address; they end with the values.
fn processes(switches: u32, at: &Path) -> Result<Vec<(Process, String)>, Fault> {
    let own = own::file()?;
    let start = |id: u32| {
        let mut command = Command::new(&own);
        command
            .args([
                "--json",
                "switch",
                "--no-p4",
                "--device-id",
                &id.to_string(),
            ])
            .arg("--admin")
            .arg(at.join(format!("{id}.sock")))
            .args(["--grpc-server-addr", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut process = Process::start(command)?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let ready: Value = serde_json::from_str(&line)?;
        let address = ready["address"].as_str().unwrap_or_default().to_owned();
        Ok::<_, std::io::Error>((process, address))
    };
    let running: Result<Vec<_>, _> = (0..switches).map(start).collect();
    running.input("a switch does not start")
}

/// A server of this process; it ends with the value.
struct Running {
    address: String,
    _server: Server,
    _engine: Engine,
    _wires: MemoryWires,
}

async fn servers(switches: u32) -> Result<Vec<Running>, Fault> {
    let mut running = Vec::new();
    for id in 0..switches {
        let (io, wires) = MemoryIo::new();
        let started = Engine::start(&EngineConfig::default(), io);
        let (engine, notifications) = started.input("a switch does not start")?;
        let config = ServerConfig {
            device_id: id.into(),
            ..ServerConfig::new((Ipv4Addr::LOCALHOST, 0).into())
        };
        let server = Server::start(config, engine.handle().clone(), notifications).await;
        let server = server.input("a switch does not start")?;
        running.push(Running {
            address: server.address().to_string(),
            _server: server,
            _engine: engine,
            _wires: wires,
        });
    }
    Ok(running)
}

fn describe(report: &PushBenchReport) -> String {
    let dash = || "-".to_owned();
    let row = |name: String, figure: &PushFigure, took: &ProcessFigure| {
        let memory = took.peak_memory.map(|b| (b.get() >> 20).to_string());
        let processor = took.processor_seconds.map(|s| format!("{s:.1}"));
        vec![
            name,
            figure.switches.to_string(),
            figure.entries.to_string(),
            format!("{:.1}", took.seconds),
            processor.unwrap_or_else(dash),
            memory.unwrap_or_else(dash),
            took.open_files.map_or_else(dash, |open| open.to_string()),
        ]
    };
    let rows = report.push.iter().flat_map(|figure| {
        [
            row(figure.name.to_owned(), figure, &figure.first),
            row("  once more".to_owned(), figure, &figure.again),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "switches",
        "switches",
        "entries",
        "clock s",
        "processor s",
        "peak MiB",
        "open files",
    ];
    format!(
        "{}\n{}of the process that pushes; the switches take processors beside it\n",
        report.machine.describe(),
        terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows)
    )
}

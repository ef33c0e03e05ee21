//! `switchwright p4 bench`: packets per second of a program with its entries, in memory, one core.

use clap::{Args, ValueEnum};
use packetgen::TrafficSpec;
use serde::Serialize;

use super::capture::PortFile;
use super::subject::{Control, Source, Which};
use super::workload::Workload;
use crate::cli::fault::Fault;
use crate::cli::terminal::{self, Terminal};
use measure::{Budget, ForwardingFigure, Machine, forward};

/// Arguments of `switchwright p4 bench`.
#[derive(Debug, Args)]
pub(super) struct Bench {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    control: Control,
    /// Where the program is a build directory: the switch whose entries are used (else the first).
    #[arg(long, value_name = "NAME")]
    switch: Option<String>,
    /// The executor.
    #[arg(long, value_enum, default_value_t = Runner::Both)]
    executor: Runner,
    /// Stop after this number of packets.
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Stop after this number of seconds.
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    seconds: f64,
    /// Bytes of a generated packet.
    #[arg(long, default_value_t = 64, conflicts_with = "pcap_in")]
    size: usize,
    /// Different packets generated.
    #[arg(long, default_value_t = 1024, conflicts_with = "pcap_in")]
    flows: usize,
    /// Take the packets of a pcap or pcapng file instead, at a port.
    #[arg(long, value_name = "PORT=FILE")]
    pcap_in: Vec<PortFile>,
    /// Where chance begins.
    #[arg(long, default_value_t = 1, conflicts_with = "pcap_in")]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Runner {
    /// The reference interpreter.
    Interp,
    /// Compiled to machine code.
    Compile,
    /// All that there are.
    Both,
}

/// What `p4 bench --json` prints: the last executor's figures, and all of them.
#[derive(Serialize)]
struct P4BenchReport {
    #[serde(flatten)]
    figure: ForwardingFigure,
    /// Different packets.
    flows: usize,
    machine: Machine,
    executors: Vec<ForwardingFigure>,
}

impl Bench {
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        let switch = self.switch.as_deref();
        let workload = Workload::new(&self.source, &self.control, switch, terminal)?;
        let bar = terminal.progress("packets");
        let spec = TrafficSpec {
            size: self.size,
            count: self.flows,
            seed: self.seed,
        };
        let traffic = workload.traffic(&self.pcap_in, spec)?;
        let mut figures = Vec::new();
        for which in self.executors() {
            let kind = which.kind();
            let mut executor = workload.subject.start(kind)?;
            workload.install(executor.as_mut())?;
            bar.set_message(kind.to_string());
            let budget = Budget {
                packets: self.packets.unwrap_or(u64::MAX),
                seconds: self.seconds,
            };
            figures.push(forward(kind.name(), executor.as_mut(), &traffic, budget));
        }
        bar.finish_and_clear();
        let Some(figure) = figures.last().cloned() else {
            return Err(Fault::input("no executor runs this program"));
        };
        let report = P4BenchReport {
            figure,
            flows: traffic.len(),
            machine: Machine::here(),
            executors: figures,
        };
        terminal.result(&report, || describe(&report))
    }

    fn executors(&self) -> Vec<Which> {
        match self.executor {
            Runner::Interp => vec![Which::Interp],
            Runner::Compile => vec![Which::Compile],
            Runner::Both => vec![Which::Interp, Which::Compile],
        }
    }
}

fn describe(report: &P4BenchReport) -> String {
    let mib = |bytes: Option<quantities::Bytes>| {
        bytes.map_or_else(
            || "-".to_owned(),
            |b| format!("{:.1}", b.get() as f64 / f64::from(1 << 20)),
        )
    };
    let row = |f: &ForwardingFigure| {
        vec![
            f.executor.clone(),
            f.packets.to_string(),
            format!("{:.2}", f.seconds),
            format!("{:.3}", f.packets_per_second / 1e6),
            f.sent.to_string(),
            f.dropped.to_string(),
            mib(f.memory_before),
            mib(f.memory_after),
        ]
    };
    let rows: Vec<Vec<String>> = report.executors.iter().map(row).collect();
    let header = [
        "executor",
        "packets",
        "seconds",
        "million/s",
        "sent",
        "dropped",
        "MiB before",
        "MiB after",
    ];
    let machine = &report.machine;
    format!(
        "{}, one core, {} different packets\n{}",
        machine.processor,
        report.flows,
        terminal::table(&header, &[1, 2, 3, 4, 5, 6, 7], &rows)
    )
}

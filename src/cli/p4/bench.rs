//! `switchwright p4 bench`: packets per second of a program with its entries, in memory, one core.

use clap::{Args, ValueEnum};
use netsim::embedded;
use p4exec::Executor;
use p4gen::entries::SwitchEntries;
use packetgen::{Traffic, TrafficSpec, traffic};
use serde::Serialize;

use super::capture::{Inputs, PortFile};
use super::subject::{Control, Source, Subject, Which, of_build};
use crate::cli::fault::{Context, Fault};
use crate::cli::terminal::{self, Terminal};
use measure::{Budget, ForwardingFigure, Machine, forward};

/// Packets of a capture file that are used.
const MAX_CAPTURED: usize = 65_536;

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
    /// Stop after so many packets.
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Stop after so many seconds.
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
    /// Refuses what is for builds alone, or for programs alone.
    fn refuse_idle(&self, build: bool) -> Result<(), Fault> {
        let (idle, option, why) = match build {
            true => (
                self.control.p4info.is_some(),
                "p4info",
                "a build has its own",
            ),
            false => (
                self.switch.is_some(),
                "switch",
                "it is for build directories",
            ),
        };
        match idle {
            true => Err(
                Fault::input(format!("`--{option}` means nothing here: {why}"))
                    .help(format!("leave `--{option}` out")),
            ),
            false => Ok(()),
        }
    }

    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        self.refuse_idle(self.source.program.is_dir())?;
        let (subject, entries) = if self.source.program.is_dir() {
            let (subject, entries) =
                of_build(&self.source.program, self.switch.as_deref(), terminal)?;
            (subject, Some(entries))
        } else {
            let subject = self
                .source
                .subject(self.control.p4info.as_deref(), terminal)?;
            (subject, None)
        };
        let bar = terminal.progress("packets");
        let traffic = self.traffic(&subject, entries.as_ref())?;
        let mut figures = Vec::new();
        for which in self.executors() {
            let kind = which.kind();
            let mut executor = subject.start(kind)?;
            self.install(&subject, entries.as_ref(), executor.as_mut())?;
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

    fn install(
        &self,
        subject: &Subject,
        entries: Option<&SwitchEntries>,
        executor: &mut dyn Executor,
    ) -> Result<(), Fault> {
        if let Some(entries) = entries {
            embedded::install(executor.state_mut(), entries).input(&entries.switch)?;
        }
        subject.install(&self.control, executor)
    }

    /// The packets of the capture files, or packets that the entries forward.
    fn traffic(
        &self,
        subject: &Subject,
        entries: Option<&SwitchEntries>,
    ) -> Result<Traffic, Fault> {
        let mut packets = Traffic::new();
        let mut inputs = Inputs::open(&self.pcap_in)?;
        while let Some((_, port, bytes)) = inputs.next()? {
            packets.push((port, bytes));
            if packets.len() == MAX_CAPTURED {
                break;
            }
        }
        if self.pcap_in.is_empty() {
            let mut executor = subject.start(Which::Interp.kind())?;
            self.install(subject, entries, executor.as_mut())?;
            let spec = TrafficSpec {
                size: self.size,
                count: self.flows,
                seed: self.seed,
            };
            packets = traffic(&subject.program, executor.state(), spec);
        }
        if packets.is_empty() {
            let fault = Fault::input("no packet was found that the program forwards");
            return Err(fault
                .help("give entries with --entries, a larger --size, or packets with --pcap-in"));
        }
        Ok(packets)
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

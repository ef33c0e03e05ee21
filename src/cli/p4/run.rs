//! `switchwright p4 run`: packets in, and what becomes of them.

use std::fmt::Write as _;

use clap::Args;
use p4exec::trace::TraceEvent;
use p4exec::{Executor, Outputs};
use quantities::{Nanos, PortId};
use serde::Serialize;

use super::capture;
use super::subject::{Control, Source, Which};
use crate::cli::fault::Fault;
use crate::cli::terminal::{self, Terminal};
use crate::cli::words::counted;

/// Arguments of `switchwright p4 run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    source: Source,
    /// Packets, as hexadecimal digits; `-` reads lines `[PORT] HEX` from standard input.
    packets: Vec<String>,
    #[command(flatten)]
    control: Control,
    /// The port that packets of the command line come in at.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Packets of a pcap or pcapng file come in at a port, at the times of the file.
    #[arg(long, value_name = "PORT=FILE")]
    pcap_in: Vec<capture::PortFile>,
    /// Packets that leave go into pcap files: one per port in a folder, or one for a port.
    #[arg(long, value_name = "DIR|PORT=FILE")]
    pcap_out: Vec<String>,
    /// The executor.
    #[arg(long, value_enum, default_value_t = Which::Compile)]
    executor: Which,
    /// Tell what happens on the way: parser states, tables, entries, actions.
    #[arg(long)]
    trace: bool,
    /// Show the first N packets; all are counted.
    #[arg(long, value_name = "N", default_value_t = 100)]
    show: usize,
}

#[derive(Default, Serialize)]
struct RunReport {
    executor: String,
    packets: u64,
    sent: u64,
    dropped: u64,
    /// Packets sent by port.
    ports: std::collections::BTreeMap<u16, u64>,
    /// Drops by reason.
    reasons: std::collections::BTreeMap<String, u64>,
    files: Vec<String>,
    /// The first packets in full.
    shown: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    port: u16,
    nanoseconds: u64,
    bytes: String,
    sent: Vec<Sent>,
    dropped: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<String>,
}

#[derive(Serialize)]
struct Sent {
    port: u16,
    queue: u8,
    bytes: String,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Bytes of hexadecimal digits, with blanks, colons and `0x` as people write them. `place` is where
/// they stand.
fn bytes_of(text: &str, place: &str) -> Result<Vec<u8>, Fault> {
    let wrong = || {
        Fault::input(format!(
            "{place}`{text}` is not a packet: two hexadecimal digits a byte"
        ))
    };
    let text = text.trim();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let digits: Vec<char> = digits.chars().filter(|c| !" \t:_".contains(*c)).collect();
    if !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let byte = |pair: &[char]| {
        let high = pair[0].to_digit(16)?;
        Some((high * 16 + pair[1].to_digit(16)?) as u8)
    };
    digits
        .chunks(2)
        .map(|pair| byte(pair).ok_or_else(wrong))
        .collect()
}

impl Run {
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        if self.packets.is_empty() && self.pcap_in.is_empty() {
            return Err(Fault::input("no packets").help(
                "give them as hexadecimal digits, as lines on standard input with `-`, or with --pcap-in PORT=FILE",
            ));
        }
        let subject = self
            .source
            .subject(self.control.p4info.as_deref(), terminal)?;
        let kind = self.executor.kind();
        let mut executor = subject.start(kind)?;
        subject.install(&self.control, executor.as_mut())?;
        let mut player = Player {
            executor: executor.as_mut(),
            files: capture::Outputs::new(&self.pcap_out)?,
            report: RunReport {
                executor: kind.to_string(),
                ..RunReport::default()
            },
            trace: self.trace,
            show: self.show,
        };
        for (index, (port, bytes)) in self.typed()?.into_iter().enumerate() {
            // A microsecond apart.
            player.packet(Nanos::new(1000 * (index as u64 + 1)), port, &bytes)?;
        }
        let mut inputs = capture::Inputs::open(&self.pcap_in)?;
        let bar = terminal.progress("packets");
        while let Some((now, port, bytes)) = inputs.next()? {
            player.packet(now, port, &bytes)?;
            if player.report.packets.is_multiple_of(4096) {
                bar.set_message(format!("{} packets", player.report.packets));
            }
        }
        bar.finish_and_clear();
        let Player {
            mut report, files, ..
        } = player;
        report.files = files.files();
        files.finish()?;
        terminal.result(&report, || describe(&report))
    }

    /// Packets of the command line and of standard input.
    fn typed(&self) -> Result<Vec<(PortId, Vec<u8>)>, Fault> {
        let mut packets = Vec::new();
        let at = PortId::new(self.port);
        for text in &self.packets {
            if text != "-" {
                packets.push((at, bytes_of(text, "")?));
                continue;
            }
            if self.source.is_stdin() {
                let message = "the program and the packets cannot both be on standard input";
                return Err(Fault::input(message));
            }
            for (index, line) in terminal::read("-")?.lines().enumerate() {
                let place = format!("standard input, line {}: ", index + 1);
                let line = line.split('#').next().unwrap_or_default().trim();
                if line.is_empty() {
                    continue;
                }
                // As STF writes it, `packet PORT HEX`, or without the word, or without the port.
                let line = line.strip_prefix("packet ").unwrap_or(line).trim();
                let split = line.split_once(char::is_whitespace);
                let port = split.and_then(|(port, rest)| Some((port.parse().ok()?, rest)));
                packets.push(match port {
                    Some((port, rest)) => (PortId::new(port), bytes_of(rest, &place)?),
                    None => (at, bytes_of(line, &place)?),
                });
            }
        }
        Ok(packets)
    }
}

/// Gives packets to an executor and keeps account.
struct Player<'e> {
    executor: &'e mut dyn Executor,
    files: capture::Outputs,
    report: RunReport,
    trace: bool,
    show: usize,
}

impl Player<'_> {
    fn packet(&mut self, now: Nanos, port: PortId, bytes: &[u8]) -> Result<(), Fault> {
        let mut out = Outputs::default();
        let mut events: Vec<TraceEvent> = Vec::new();
        let shown = self.report.shown.len() < self.show;
        if self.trace && shown {
            let tracer = &mut events;
            self.executor
                .process_traced(now, bytes, port, &mut out, tracer);
        } else {
            self.executor.process(now, bytes, port, &mut out);
        }
        let report = &mut self.report;
        report.packets += 1;
        report.sent += out.sent.len() as u64;
        report.dropped += out.dropped.len() as u64;
        for output in &out.sent {
            *report.ports.entry(output.port.get()).or_default() += 1;
            self.files.write(now, output.port, &output.bytes)?;
        }
        for reason in &out.dropped {
            *report.reasons.entry(reason.to_string()).or_default() += 1;
        }
        if shown {
            let sent = out.sent.iter().map(|output| Sent {
                port: output.port.get(),
                queue: output.metadata.queue,
                bytes: hex(&output.bytes),
            });
            report.shown.push(Shown {
                port: port.get(),
                nanoseconds: now.get(),
                bytes: hex(bytes),
                sent: sent.collect(),
                dropped: out.dropped.iter().map(ToString::to_string).collect(),
                trace: events.iter().filter_map(TraceEvent::line).collect(),
            });
        }
        Ok(())
    }
}

fn describe(report: &RunReport) -> String {
    let mut text = String::new();
    for (number, packet) in report.shown.iter().enumerate() {
        let length = packet.bytes.len() / 2;
        let _ = writeln!(
            text,
            "{}: port {} in, {length} bytes",
            number + 1,
            packet.port
        );
        for line in &packet.trace {
            let _ = writeln!(text, "   {line}");
        }
        for sent in &packet.sent {
            let queue = match sent.queue {
                0 => String::new(),
                queue => format!(" queue {queue}"),
            };
            let _ = writeln!(text, "   port {} out{queue}: {}", sent.port, sent.bytes);
        }
        for reason in &packet.dropped {
            let _ = writeln!(text, "   {reason}");
        }
        if packet.sent.is_empty() && packet.dropped.is_empty() {
            text.push_str("   nothing came of it\n");
        }
    }
    let ports: Vec<String> = report
        .ports
        .iter()
        .map(|(p, n)| format!("port {p}: {n}"))
        .collect();
    let ports = if ports.is_empty() {
        String::new()
    } else {
        format!(" ({})", ports.join(", "))
    };
    let _ = writeln!(
        text,
        "{} in, {} out{ports}, {} dropped",
        counted(report.packets, "packet"),
        report.sent,
        report.dropped
    );
    for (reason, count) in &report.reasons {
        let _ = writeln!(text, "  {count} {reason}");
    }
    for file in &report.files {
        let _ = writeln!(text, "  wrote {file}");
    }
    text
}

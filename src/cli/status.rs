//! `switchwright status`: what a running switch tells of itself: ports, and the buffer of a
//! lossless one.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use switchd::admin::{self, Answer, PortStatus, Request};
use switchd::engine::lossless::LosslessStatus;

use super::console;
use super::fault::{Fault, Status as Exit};
use super::terminal::{self, Terminal};

/// Arguments of `switchwright status`.
#[derive(Debug, Args)]
pub(super) struct Status {
    /// Where the switch serves P4Runtime, on this machine.
    #[arg(value_name = "HOST:PORT", default_value = "127.0.0.1:9559")]
    address: String,
    /// The switch's admin socket [default: in the run directory, named after the port]
    #[arg(long, value_name = "PATH", conflicts_with = "address")]
    admin: Option<PathBuf>,
}

/// What a switch tells.
#[derive(Serialize)]
struct StatusReport {
    ports: Vec<PortStatus>,
    /// Nothing for a switch that is not lossless, or has no program yet.
    lossless: Option<Box<LosslessStatus>>,
}

impl Status {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let path = match self.admin {
            Some(path) => path,
            None => admin::default_path(port_here(&self.address)?),
        };
        let ask = |request| {
            admin::ask(&path, &request).map_err(|error| {
                Fault::with(
                    Exit::Target,
                    format!("the switch's admin socket {}: {error}", path.display()),
                )
                .help("start a switch with `switchwright switch`, or name its socket with --admin")
            })
        };
        let Answer::Ports { ports } = ask(Request::Ports)? else {
            let problem = format!("{}: not a switch's socket", path.display());
            return Err(Fault::with(Exit::Target, problem));
        };
        let lossless = match ask(Request::Lossless)? {
            Answer::Lossless { status } => Some(status),
            _ => None,
        };
        let told = StatusReport { ports, lossless };
        terminal.result(&told, || describe(&told))
    }
}

/// The port of a server on this machine: its admin socket is found by it.
fn port_here(address: &str) -> Result<u16, Fault> {
    let wrong = || Fault::input(format!("{address}: that is not HOST:PORT"));
    let (_, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    let found: Vec<SocketAddr> = address
        .to_socket_addrs()
        .map(Iterator::collect)
        .map_err(|error| Fault::with(Exit::Target, format!("{address}: {error}")))?;
    // An address can be taken here if it is one of this machine's.
    let here = |at: &SocketAddr| UdpSocket::bind((at.ip(), 0)).is_ok();
    if found.iter().any(here) {
        return Ok(port);
    }
    Err(Fault::with(
        Exit::Target,
        format!("{address} is not on this machine: `status` asks a switch by its admin socket, which is a file"),
    )
    .help("run it where the switch runs; `switchwright cli` reaches switches elsewhere"))
}

fn describe(told: &StatusReport) -> String {
    let ports = console::describe_ports(&told.ports);
    match &told.lossless {
        None => ports,
        Some(status) => ports + &describe_lossless(status),
    }
}

/// The buffer for people.
fn describe_lossless(status: &LosslessStatus) -> String {
    let mut rows = Vec::new();
    for port in &status.ports {
        for class in &port.classes {
            let counted = &class.counters;
            rows.push(vec![
                port.port.to_string(),
                class.class.to_string(),
                class.used.to_string(),
                counted.ingress_peak.to_string(),
                format!("{}/{}", counted.headroom_peak, port.headroom),
                format!(
                    "{}+{}",
                    counted.pauses_sent - counted.pauses_renewed,
                    counted.pauses_renewed
                ),
                class.queued.to_string(),
                counted.queue_peak.to_string(),
                counted.pauses_received.to_string(),
                if class.paused { "paused" } else { "" }.to_owned(),
                counted.sent.to_string(),
                (counted.refused_lossless + counted.refused_lossy + counted.flushed).to_string(),
            ]);
        }
    }
    let header = [
        "port",
        "class",
        "used",
        "most",
        "headroom",
        "pauses sent",
        "queued",
        "most",
        "heard",
        "",
        "sent",
        "lost",
    ];
    let table = terminal::table(&header, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11], &rows);
    let mut facts = vec![
        (
            "buffer",
            format!(
                "{} of {} bytes used, {} shared, {} at most",
                status.used, status.capacity, status.shared, status.buffer.peak
            ),
        ),
        (
            "lost",
            format!(
                "{} lossless, {} lossy, {} by the program, {} with links",
                status.totals.lossless,
                status.totals.lossy,
                status.totals.program,
                status.totals.link_down + status.buffer.flushed
            ),
        ),
    ];
    for wait in &status.waits {
        let held = wait
            .held
            .iter()
            .map(|h| format!("{}:{} {} bytes", h.port, h.class, h.bytes));
        let held: Vec<String> = held.collect();
        facts.push((
            "waits",
            format!(
                "port {} class {}, {} packets, which came by {}",
                wait.port,
                wait.class,
                wait.packets,
                held.join(", ")
            ),
        ));
    }
    for stalled in &status.stalled {
        let seconds = stalled.lasts.get() as f64 / 1e9;
        facts.push((
            "stalled",
            format!(
                "port {} class {} has not moved for {seconds:.1} s, longer than any pause lasts",
                stalled.port, stalled.class
            ),
        ));
    }
    table + &terminal::facts(&facts)
}

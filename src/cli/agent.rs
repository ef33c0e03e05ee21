//! `switchwright agent`: watches a switch's links and tells the switch, where it cannot see them
//! itself.

use std::time::Duration;

use clap::Args;
use controlplane::agent::{AgentError, AgentEvent, AgentOptions, Watched, run};
use controlplane::{ElectionId, Endpoint};
use serde::Serialize;
use switchd::ports::{PortBinding, PortSpec};

use super::fault::{Fault, Status};
use super::push::runtime;
use super::terminal::{self, Terminal};

/// How long one call to the switch may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Arguments of `switchwright agent`.
#[derive(Debug, Args)]
pub(super) struct Agent {
    /// Where the switch's P4Runtime server listens.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9559")]
    address: String,
    /// The P4Runtime device id.
    #[arg(long, value_name = "ID", default_value_t = 0)]
    device_id: u64,
    /// A port and its interface, as the switch was started with: 1@veth0. Repeatable.
    #[arg(
        short = 'i',
        long = "interface",
        value_name = "N@NAME",
        required = true
    )]
    ports: Vec<PortBinding>,
    /// Look at the interfaces' carrier from time to time instead of listening to the kernel.
    #[arg(long)]
    carrier: bool,
    /// Milliseconds between two polls of the carrier.
    #[arg(long, value_name = "MS", default_value_t = 10, requires = "carrier", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    interval: u64,
    /// Write the status once and end.
    #[arg(long)]
    once: bool,
    /// The election id to begin with; the highest that the switch has seen is outbid for every
    /// write.
    #[arg(long, value_name = "ID", default_value_t = 100)]
    election_id: u64,
}

/// What `agent --json` prints, a line per event.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
enum Line {
    Written { up: Vec<u16>, seconds: f64 },
    Waiting { reason: String },
}

impl Agent {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let mut endpoint = Endpoint::plain(self.address, self.device_id);
        endpoint.timeout = TIMEOUT;
        endpoint.election_id = ElectionId(self.election_id.into());
        let watched = |binding: PortBinding| match binding.spec {
            PortSpec::Interface(interface) => Ok(Watched {
                port: binding.port,
                interface,
            }),
            other => Err(Fault::input(format!(
                "-i {}@{other}: only interfaces have a link to watch",
                binding.port
            ))),
        };
        let ports = self
            .ports
            .into_iter()
            .map(watched)
            .collect::<Result<_, _>>()?;
        let options = AgentOptions {
            endpoint,
            ports,
            carrier: self.carrier.then(|| Duration::from_millis(self.interval)),
            once: self.once,
        };
        let tell = |event: AgentEvent| tell(terminal, event);
        let done = runtime()?.block_on(run(&options, tell));
        done.map_err(|error| match error {
            AgentError::Remote(_) | AgentError::Blind => Fault::with(Status::Target, error),
            _ => Fault::input(error),
        })
    }
}

fn tell(terminal: &Terminal, event: AgentEvent) {
    let line = match event {
        AgentEvent::Written { up, seconds } => Line::Written {
            up: up.iter().map(|port| port.get()).collect(),
            seconds,
        },
        AgentEvent::Waiting { reason } => Line::Waiting { reason },
    };
    if terminal.json {
        if let Ok(json) = serde_json::to_string(&line) {
            terminal::emit(&format!("{json}\n"));
        }
        return;
    }
    match line {
        Line::Written { up, seconds } => {
            let up: Vec<String> = up.iter().map(ToString::to_string).collect();
            terminal.say(format!("up: {} ({:.1} ms)", up.join(" "), seconds * 1e3));
        }
        Line::Waiting { reason } => terminal.note(format!("waiting: {reason}")),
    }
}

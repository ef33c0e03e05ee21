//! `switchwright buffers`: thresholds and headroom that a plan's lossless priorities want of every
//! switch, as a file.

use std::path::Path;

use clap::{Args, ValueEnum};
use p4gen::build::BuildDirectory;
use quantities::{BitRate, Bytes, PortId};
use serde::Serialize;
use simulator::simulate::{LosslessFile, PortBuffer, SwitchBuffer};
use topology::{NodeId, SwitchId, Topology};

use super::check;
use super::fault::{Context, Fault};
use super::given::Given;
use super::terminal::{self, Terminal};

/// Arguments of `switchwright buffers`.
#[derive(Debug, Args)]
pub(super) struct Buffers {
    /// The build directory.
    directory: String,
    /// Of this switch only; may be repeated.
    #[arg(long, value_name = "NAME")]
    switch: Vec<String>,
    /// How they are written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The file to write [default: standard output]
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "-",
        hide_default_value = true
    )]
    output: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people.
    Text,
    /// Comma-separated values, a port a line.
    Csv,
    /// One switch as the file that `switchwright switch --lossless` reads.
    Lossless,
}

/// What `buffers --json` prints.
#[derive(Serialize)]
struct Figures {
    switches: Vec<SwitchBuffer>,
}

/// The columns of the table.
const COLUMNS: [&str; 10] = [
    "switch",
    "buffer",
    "shared",
    "lossless",
    "alpha",
    "XON below XOFF",
    "port",
    "to",
    "rate",
    "headroom",
];

/// The columns of the CSV file: numbers for programs, whose unit the title says.
const CSV_COLUMNS: [&str; 11] = [
    "switch",
    "buffer_bytes",
    "shared_bytes",
    "lossless_priorities",
    "alpha",
    "xon_below_xoff_bytes",
    "port",
    "interface",
    "to",
    "rate_bps",
    "headroom_bytes",
];

impl Buffers {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        if terminal.json {
            given.refuse_all(&["format", "output"], "with `--json`")?;
        }
        let directory = BuildDirectory::open(Path::new(&self.directory)).map_err(Fault::input)?;
        let plan = check::prove(check::load_built(&directory)?, terminal)?;
        if plan.tagging().priorities.values().all(|p| p.get() == 0) {
            return Err(Fault::input(format!(
                "{}: no priority of this plan is lossless, so no buffer has to be set",
                self.directory
            )));
        }
        let topology = plan.topology();
        let switches: Vec<SwitchId> = match &self.switch[..] {
            [] => topology.switch_ids().collect(),
            names => names
                .iter()
                .map(|name| topology.switch_named(name).map_err(Fault::input))
                .collect::<Result<_, _>>()?,
        };
        if self.format == Format::Lossless && !terminal.json {
            let [switch] = switches[..] else {
                return Err(Fault::input("`--format lossless` writes one switch")
                    .help("name it with `--switch`"));
            };
            let file = LosslessFile::of_plan(&plan, switch).input(&self.directory)?;
            return terminal::write(&self.output, &file.to_yaml());
        }
        let switches = switches
            .iter()
            .map(|switch| SwitchBuffer::of_plan(&plan, *switch))
            .collect::<Result<Vec<_>, _>>()
            .input(&self.directory)?;
        if terminal.json {
            return terminal.result(&Figures { switches }, String::new);
        }
        let text = match self.format {
            Format::Csv => as_csv(&switches, topology).input("buffers as CSV")?,
            Format::Text | Format::Lossless => {
                let of = |switch: &SwitchBuffer| cells(switch, topology);
                let rows: Vec<Vec<String>> = switches.iter().flat_map(of).collect();
                let width = terminal::width_at(&self.output);
                terminal::table_within(width, &COLUMNS, &[1, 2, 4, 5, 6, 8, 9], &rows)
            }
        };
        terminal::write(&self.output, &text)
    }
}

fn lossless(switch: &SwitchBuffer) -> String {
    let priorities = switch.lossless_priorities.iter().map(u8::to_string);
    priorities.collect::<Vec<_>>().join(" ")
}

/// The rows of a switch for people, one for every port.
fn cells(switch: &SwitchBuffer, topology: &Topology) -> Vec<Vec<String>> {
    let size = |bytes: u64| Bytes::new(bytes).rounded();
    let line = |port: &PortBuffer| {
        let number = PortId::new(port.port);
        let (label, to) = match topology.switch_named(&switch.switch) {
            Ok(id) => (
                topology.port_label(id, number),
                far_end(topology, id, number),
            ),
            Err(_) => (number.to_string(), None),
        };
        vec![
            switch.switch.clone(),
            size(switch.buffer_bytes),
            size(switch.shared_bytes),
            lossless(switch),
            switch.alpha.to_string(),
            size(switch.xon_offset_bytes),
            label,
            to.unwrap_or_else(|| port.peer.clone()),
            BitRate::new(port.rate_bps).rounded(),
            size(port.headroom_bytes),
        ]
    };
    switch.ports.iter().map(line).collect()
}

/// What a port is linked to: a host, or a switch and its port.
fn far_end(topology: &Topology, switch: SwitchId, port: PortId) -> Option<String> {
    let end = topology.peer(switch, port)?.end;
    let name = topology.node_name(end.node);
    Some(match end.node {
        NodeId::Switch(far) => format!("{name} {}", topology.port_label(far, end.port)),
        NodeId::Host(_) => name.to_owned(),
    })
}

/// The lines of a switch for programs, one for every port.
fn values(switch: &SwitchBuffer, topology: &Topology) -> Vec<Vec<String>> {
    let line = |port: &PortBuffer| {
        let named = topology.switch_named(&switch.switch).ok();
        let named = named.and_then(|id| topology.interface(id, PortId::new(port.port)));
        let name = named.unwrap_or_default();
        vec![
            switch.switch.clone(),
            switch.buffer_bytes.to_string(),
            switch.shared_bytes.to_string(),
            lossless(switch),
            switch.alpha.to_string(),
            switch.xon_offset_bytes.to_string(),
            port.port.to_string(),
            name.to_owned(),
            port.peer.clone(),
            port.rate_bps.to_string(),
            port.headroom_bytes.to_string(),
        ]
    };
    switch.ports.iter().map(line).collect()
}

fn as_csv(switches: &[SwitchBuffer], topology: &Topology) -> Result<String, csv::Error> {
    let columns = CSV_COLUMNS.map(str::to_owned).to_vec();
    let rows = switches.iter().flat_map(|switch| values(switch, topology));
    topology::spreadsheet::text(std::iter::once(columns).chain(rows))
}

//! `switchwright buffers`: thresholds and headroom that a plan's lossless priorities want of every
//! switch, as a file.

use std::path::Path;

use clap::{Args, ValueEnum};
use p4gen::build::BuildDirectory;
use serde::Serialize;
use simulator::simulate::{LosslessFile, SwitchBuffer};
use topology::SwitchId;

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
        let rows: Vec<Vec<String>> = switches.iter().flat_map(cells).collect();
        let text = match self.format {
            Format::Csv => as_csv(&rows).input("buffers as CSV")?,
            Format::Text | Format::Lossless => {
                terminal::table(&COLUMNS, &[1, 2, 4, 5, 6, 8, 9], &rows)
            }
        };
        terminal::write(&self.output, &text)
    }
}

/// A line for every port.
fn cells(switch: &SwitchBuffer) -> Vec<Vec<String>> {
    let classes: Vec<String> = switch
        .lossless_priorities
        .iter()
        .map(u8::to_string)
        .collect();
    let line = |port: &simulator::simulate::PortBuffer| {
        vec![
            switch.switch.clone(),
            switch.buffer_bytes.to_string(),
            switch.shared_bytes.to_string(),
            classes.join(" "),
            switch.alpha.to_string(),
            switch.xon_offset_bytes.to_string(),
            port.port.to_string(),
            port.peer.clone(),
            port.rate_bps.to_string(),
            port.headroom_bytes.to_string(),
        ]
    };
    switch.ports.iter().map(line).collect()
}

fn as_csv(rows: &[Vec<String>]) -> Result<String, csv::Error> {
    let columns = COLUMNS.map(|name| name.replace(' ', "_").to_lowercase());
    topology::spreadsheet::text(std::iter::once(columns.to_vec()).chain(rows.iter().cloned()))
}

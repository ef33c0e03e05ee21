//! `switchwright export`: a build directory's network as files for engines that run many
//! containers.

use std::net::IpAddr;
use std::path::Path;

use clap::{Args, Subcommand};
use emulator::export::{self, ExportOptions, Exported, Source};
use p4gen::build::BuildDirectory;
use serde::Serialize;
use spec::Speed;

use super::check;
use super::fault::{Context, Fault};
use super::terminal::{self, Terminal};
use super::words::counted;

/// What `-o` makes.
const FOLDER: &str = "folder of an exported network";

/// Arguments of `switchwright export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(subcommand)]
    engine: Engine,
}

#[derive(Debug, Subcommand)]
enum Engine {
    /// A topology definition of containerlab, and the devices file for `push`.
    Containerlab(Containerlab),
    /// A topology of KNE, which runs networks on Kubernetes, and the devices file for `push` there.
    Kne(Kne),
}

/// What every engine is told.
#[derive(Debug, Args)]
struct Common {
    /// The build directory; its switches run in containers.
    build: String,
    /// The folder of the files.
    #[arg(short, long, value_name = "DIR")]
    output: String,
    /// The image of all containers: Switchwright, a shell and iproute2 (see `Dockerfile`).
    #[arg(long, default_value = concat!("switchwright:", env!("CARGO_PKG_VERSION")))]
    image: String,
}

#[derive(Debug, Args)]
struct Containerlab {
    #[command(flatten)]
    common: Common,
    /// Lossless switches (PFC) whose ports have this rate: 50Mbps.
    #[arg(long, value_name = "RATE")]
    port_rate: Option<Speed>,
    /// Part the network among several machines, by the addresses at which they reach each other: a
    /// file for each, with tunnels (VXLAN) for links between them.
    #[arg(long, value_name = "ADDRESS,...", value_delimiter = ',', num_args = 1..)]
    machines: Vec<IpAddr>,
}

#[derive(Debug, Args)]
struct Kne {
    #[command(flatten)]
    common: Common,
}

/// What was written.
#[derive(Serialize)]
struct ExportReport {
    switches: usize,
    hosts: usize,
    links: usize,
    /// Links between machines.
    crossing: usize,
    files: Vec<String>,
}

impl Export {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        match self.engine {
            Engine::Containerlab(lab) => {
                if lab.port_rate.is_some_and(|Speed(rate)| rate.get() == 0) {
                    return Err(Fault::input(
                        "--port-rate: a port with rate 0 could never send",
                    ));
                }
                if let Some(twice) = repeated(&lab.machines) {
                    return Err(Fault::input(format!("--machines: {twice} is named twice"))
                        .help("every machine has an address of its own"));
                }
                let port_rate = lab.port_rate.map(|Speed(rate)| rate);
                lab.common
                    .write(port_rate, lab.machines, export::containerlab, terminal)
            }
            Engine::Kne(kne) => kne.common.write(None, Vec::new(), export::kne, terminal),
        }
    }
}

fn repeated(machines: &[IpAddr]) -> Option<IpAddr> {
    let later = |(at, one): (usize, &IpAddr)| machines[at + 1..].contains(one).then_some(*one);
    machines.iter().enumerate().find_map(later)
}

impl Common {
    fn write(
        &self,
        port_rate: Option<quantities::BitRate>,
        machines: Vec<IpAddr>,
        write: impl Fn(&Source<'_>, &ExportOptions) -> Result<Exported, export::ExportError>,
        terminal: &Terminal,
    ) -> Result<(), Fault> {
        let place = &self.build;
        let directory = BuildDirectory::open(Path::new(place))
            .and_then(BuildDirectory::over_p4runtime)
            .input(place)?;
        let plan = check::prove(check::load_built(&directory)?, terminal)?;
        let whole = std::fs::canonicalize(place).input(place)?;
        let source = Source {
            plan: &plan,
            manifest: directory.manifest(),
        };
        let options = ExportOptions {
            image: self.image.clone(),
            build: whole.to_string_lossy().into_owned(),
            port_rate,
            machines,
        };
        let made = write(&source, &options).map_err(Fault::input)?;
        terminal::claim(&self.output, FOLDER)?;
        let mut files = Vec::new();
        for file in &made.files {
            let path = Path::new(&self.output).join(&file.name);
            let path = path.to_string_lossy().into_owned();
            terminal::write(&path, &file.text)?;
            files.push(path);
        }
        let topology = plan.topology();
        let told = ExportReport {
            switches: topology.switches().len(),
            hosts: topology.hosts().len(),
            links: topology.links().len(),
            crossing: made.crossing,
            files,
        };
        terminal.summary(&told, || describe(&told))
    }
}

fn describe(told: &ExportReport) -> String {
    let crossing = match told.crossing {
        0 => String::new(),
        links => format!(", {links} of them between machines"),
    };
    format!(
        "{}, {}, {}{crossing}: {}\n",
        counted(told.switches, "switch"),
        counted(told.hosts, "host"),
        counted(told.links, "link"),
        told.files.join(", ")
    )
}

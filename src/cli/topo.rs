//! `switchwright topo`: make, import, show and draw topologies.

mod cable;
mod expanders;

use std::path::Path;

use cable::CableArgs;
use clap::{Args, Subcommand};
use expanders::{FlattenedClosArgs, XpanderArgs};
use quantities::{BitRate, Metres};
use topology::Topology;
use topology::TopologyError;
use topology::generate::{
    Bcube, Cables, Clos, Egft, EgftSize, FatTree, GenerateError, Jellyfish, JellyfishSize, Line,
    Ring, ThreeLayerClos, ThreeNode,
};
use topology::import::{self, ImportError, ImportOptions, Imported};

use super::fault::{Context, Fault, chain};
use super::folder;
use super::given::Given;
use super::terminal::{self, Terminal};

/// Arguments of `switchwright topo`.
#[derive(Debug, Args)]
pub(super) struct Topo {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// The papers' triangle of three switches with a host each.
    ThreeNode(LinkOptions),
    /// Switches in a row.
    Line(Row),
    /// Switches in a circle.
    Ring(Row),
    /// Leaf-spine (two layers), or with --pods a Clos of three layers.
    Clos(ClosArgs),
    /// The k-ary fat-tree: k pods of k/2 + k/2 switches, (k/2)^2 cores, k^3/4 hosts.
    FatTree(FatTreeArgs),
    /// Extended generalized fat tree, sized for the fewest switches (Stephens15 section 4.7).
    Egft(EgftArgs),
    /// BCube(n, k): n^(k+1) servers that forward, of k+1 ports.
    #[command(name = "bcube")]
    BCube(BCubeArgs),
    /// Random regular graph, by numbers or sized as in Stephens15 section 4.7.
    Jellyfish(JellyfishArgs),
    /// Flattened Clos: an expander whose ports stand in virtual layers, so that routes up, then
    /// down, cannot deadlock (FC23 section 3).
    FlattenedClos(FlattenedClosArgs),
    /// Random lift of a complete graph (Xpander16).
    Xpander(XpanderArgs),
    /// Read p4-utils p4app.json, p4lang/tutorials topology.json, GraphML, containerlab YAML, a CSV
    /// of links, or a folder of SONiC's config_db.json files and of LLDP tables.
    Import(ImportArgs),
    /// Counts, degrees, diameter; --svg draws it.
    Show(ShowArgs),
    /// Cables and circuits to lay and set, with lengths and cost.
    Cable(CableArgs),
}

const LINKS: &str = "Links";

impl Kind {
    /// Hosts per switch, where they are counted so.
    fn hosts(&self) -> Option<u16> {
        match self {
            Self::Line(row) | Self::Ring(row) => Some(row.hosts),
            Self::Clos(clos) => Some(clos.hosts),
            _ => None,
        }
    }
}

/// What every generator takes.
#[derive(Debug, Args)]
struct LinkOptions {
    /// Rate of links between switches, in Gb/s (`100` or `100Gbps`).
    #[arg(long, default_value = "100", value_name = "GBPS", value_parser = gigabits, help_heading = LINKS)]
    fabric_rate: BitRate,
    /// Rate of links to hosts, in Gb/s.
    #[arg(long, default_value = "100", value_name = "GBPS", value_parser = gigabits, help_heading = LINKS)]
    host_rate: BitRate,
    /// Length of links between switches, in metres (`3000` or `3km`).
    #[arg(long, default_value = "100", value_name = "METRES", help_heading = LINKS)]
    fabric_length: Metres,
    /// Length of links to hosts, in metres.
    #[arg(long, default_value = "10", value_name = "METRES", help_heading = LINKS)]
    host_length: Metres,
    /// The topology file to write.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: String,
}

/// Reads a rate above zero, in Gb/s unless it names a unit: `100`, `2.5`, `400Gbps`.
fn gigabits(text: &str) -> Result<BitRate, String> {
    let rate = match text.trim().ends_with(|c: char| c.is_ascii_digit()) {
        true => format!("{text}Gbps").parse(),
        false => text.parse::<BitRate>(),
    };
    let rate = rate.map_err(|error| error.to_string())?;
    match rate {
        BitRate::ZERO => Err("a link with rate 0 carries nothing".to_owned()),
        _ => Ok(rate),
    }
}

impl LinkOptions {
    fn cables(&self) -> Cables {
        Cables {
            host_rate: self.host_rate,
            fabric_rate: self.fabric_rate,
            host_length: self.host_length,
            fabric_length: self.fabric_length,
        }
    }

    fn write(
        &self,
        made: Result<Topology, GenerateError>,
        terminal: &Terminal,
    ) -> Result<(), Fault> {
        write(&self.output, &made.map_err(Fault::input)?, terminal)
    }
}

#[derive(Debug, Args)]
struct Row {
    /// Number of switches.
    #[arg(value_name = "N")]
    switches: u32,
    /// Hosts per switch.
    #[arg(long, default_value_t = 1)]
    hosts: u16,
    #[command(flatten)]
    made: LinkOptions,
}

#[derive(Debug, Args)]
struct ClosArgs {
    /// Leaves (per pod, with --pods).
    #[arg(long)]
    leaves: u32,
    /// Spines in all.
    #[arg(long)]
    spines: u32,
    /// Hosts per leaf.
    #[arg(long, default_value_t = 1)]
    hosts: u16,
    /// Three layers: this many pods.
    #[arg(long, requires = "aggregations")]
    pods: Option<u32>,
    /// Three layers: aggregation switches per pod.
    #[arg(long, requires = "pods")]
    aggregations: Option<u32>,
    /// Three layers: each aggregation switch of a pod joins the spines of its own plane only.
    #[arg(long, requires = "pods")]
    planes: bool,
    /// Links between each leaf and each spine; with --pods between each aggregation switch and each
    /// of its spines.
    #[arg(long, default_value_t = 1)]
    parallel: u16,
    #[command(flatten)]
    made: LinkOptions,
}

#[derive(Debug, Args)]
struct FatTreeArgs {
    /// Ports of every switch; even.
    #[arg(short, long)]
    k: u16,
    #[command(flatten)]
    made: LinkOptions,
}

#[derive(Debug, Args)]
struct EgftArgs {
    /// Number of hosts.
    #[arg(long)]
    hosts: u32,
    /// Ports of every switch.
    #[arg(long)]
    ports: u16,
    /// Host bandwidth to bisection bandwidth: 1 for full bisection.
    #[arg(long, default_value_t = 1.0)]
    oversubscription: f64,
    #[command(flatten)]
    made: LinkOptions,
}

#[derive(Debug, Args)]
struct BCubeArgs {
    /// Ports of every switch.
    #[arg(short, long)]
    n: u16,
    /// The k of BCube(n, k): servers have k + 1 ports.
    #[arg(long, alias = "k", value_name = "K")]
    levels: u16,
    #[command(flatten)]
    made: LinkOptions,
}

#[derive(Debug, Args)]
struct JellyfishArgs {
    /// Number of switches.
    #[arg(long, requires = "fabric_ports", required_unless_present = "hosts")]
    switches: Option<u32>,
    /// Ports of every switch.
    #[arg(long)]
    ports: u16,
    /// Ports of every switch that lead to other switches; the rest lead to hosts.
    #[arg(long, requires = "switches")]
    fabric_ports: Option<u16>,
    /// Instead of --switches: size for this many hosts (Stephens15 section 4.7).
    #[arg(long, conflicts_with = "switches")]
    hosts: Option<u32>,
    /// With --hosts: host bandwidth to bisection bandwidth.
    #[arg(long, default_value_t = 1.0, requires = "hosts")]
    oversubscription: f64,
    /// Seed of the random graph.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    made: LinkOptions,
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// The file or the folder; its format is recognised.
    file: String,
    /// Hosts per switch where the file has no hosts (GraphML, CSV of switches alone).
    #[arg(long, default_value_t = 1)]
    hosts: u16,
    /// Keep the largest connected part of a network that is not connected, and say what is left
    /// out.
    #[arg(long)]
    largest_part: bool,
    /// The topology file to write.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: String,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The topology file.
    topology: String,
    /// Draw it.
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
}

impl Topo {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        if self.kind.hosts() == Some(0) {
            let idle = ["host_rate", "host_length"];
            given.refuse_all(&idle, "with `--hosts 0`: no link leads to a host")?;
        }
        match self.kind {
            Kind::ThreeNode(made) => made.write(
                ThreeNode {
                    cables: made.cables(),
                }
                .generate(),
                terminal,
            ),
            Kind::Line(row) => {
                let cables = row.made.cables();
                row.made.write(
                    Line {
                        switches: row.switches,
                        hosts: row.hosts,
                        cables,
                    }
                    .generate(),
                    terminal,
                )
            }
            Kind::Ring(row) => {
                let cables = row.made.cables();
                row.made.write(
                    Ring {
                        switches: row.switches,
                        hosts: row.hosts,
                        cables,
                    }
                    .generate(),
                    terminal,
                )
            }
            Kind::Clos(clos) => clos.made.write(clos.generate(), terminal),
            Kind::FatTree(tree) => tree.made.write(
                FatTree {
                    k: tree.k,
                    cables: tree.made.cables(),
                }
                .generate(),
                terminal,
            ),
            Kind::Egft(egft) => egft.made.write(egft.generate(), terminal),
            Kind::BCube(cube) => {
                let cables = cube.made.cables();
                cube.made.write(
                    Bcube {
                        n: cube.n,
                        k: cube.levels,
                        cables,
                    }
                    .generate(),
                    terminal,
                )
            }
            Kind::Jellyfish(fish) => fish.made.write(fish.generate(), terminal),
            Kind::FlattenedClos(clos) => clos.made.write(clos.generate(), terminal),
            Kind::Xpander(xpander) => xpander.made.write(xpander.generate(), terminal),
            Kind::Import(import) => import.run(given, terminal),
            Kind::Show(show) => show.run(terminal),
            Kind::Cable(cable) => cable.run(terminal),
        }
    }
}

impl ClosArgs {
    fn generate(&self) -> Result<Topology, GenerateError> {
        let cables = self.made.cables();
        let (leaves, spines, hosts) = (self.leaves, self.spines, self.hosts);
        match (self.pods, self.aggregations) {
            (Some(pods), Some(aggregations)) => ThreeLayerClos {
                pods,
                leaves,
                aggregations,
                spines,
                planes: self.planes,
                parallel: self.parallel,
                hosts,
                cables,
            }
            .generate(),
            _ => Clos {
                leaves,
                spines,
                hosts,
                parallel: self.parallel,
                cables,
            }
            .generate(),
        }
    }
}

impl EgftArgs {
    fn generate(&self) -> Result<Topology, GenerateError> {
        let size = EgftSize::Hosts {
            hosts: self.hosts,
            ports: self.ports,
            oversubscription: self.oversubscription,
        };
        Egft {
            size,
            cables: self.made.cables(),
        }
        .generate()
    }
}

impl JellyfishArgs {
    fn generate(&self) -> Result<Topology, GenerateError> {
        let size = match (self.switches, self.fabric_ports, self.hosts) {
            (Some(switches), Some(fabric_ports), _) => JellyfishSize::Switches {
                switches,
                fabric_ports,
            },
            (_, _, hosts) => JellyfishSize::Hosts {
                hosts: hosts.unwrap_or_default(),
                oversubscription: self.oversubscription,
            },
        };
        Jellyfish {
            size,
            ports: self.ports,
            seed: self.seed,
            cables: self.made.cables(),
        }
        .generate()
    }
}

impl ImportArgs {
    fn run(&self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        if Path::new(&self.file).is_dir() {
            return self.fabric(given, terminal);
        }
        let text = terminal::read(&self.file)?;
        let stem = Path::new(&self.file)
            .file_stem()
            .map_or_else(|| "imported".into(), |s| s.to_string_lossy());
        let options = ImportOptions {
            name: stem.into_owned(),
            hosts_per_node: self.hosts,
            largest_part: self.largest_part,
            ..ImportOptions::default()
        };
        let imported = import::import(&text, &options).map_err(|e| self.refuse(e))?;
        // With hosts of its own, a file gives the same network whatever their number was to be.
        let other = ImportOptions {
            hosts_per_node: u16::from(options.hosts_per_node == 0),
            ..options
        };
        let same = |other: Imported| other.topology == imported.topology;
        if given.has("hosts") && import::import(&text, &other).is_ok_and(same) {
            let reason = format!(
                "for a {}: it is for GraphML, which knows no hosts, and CSV without any",
                imported.format
            );
            given.refuse_all(&["hosts"], &reason)?;
        }
        terminal.note(format!("read as {}", imported.format));
        for note in &imported.notes {
            terminal.note(note);
        }
        write(&self.output, &imported.topology, terminal)
    }

    /// A refusal; where parts of the network are not connected, with what keeps one of them.
    fn refuse(&self, error: ImportError) -> Fault {
        let apart = matches!(
            error,
            ImportError::Topology {
                source: TopologyError::Disconnected(_),
                ..
            }
        );
        let fault = Fault::input(format!("{}: {}", self.file, chain(&error)));
        if apart {
            return fault.help("`--largest-part` keeps the largest part that is connected");
        }
        fault
    }

    /// A folder of what a fabric's switches wrote.
    fn fabric(&self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        let reason = "for a folder: devices without a file are its hosts";
        given.refuse_all(&["hosts"], reason)?;
        let files = folder::json_files(&self.file)?;
        let name = Path::new(&self.file)
            .file_name()
            .map_or_else(|| "imported".into(), |name| name.to_string_lossy());
        let options = ImportOptions {
            name: name.into_owned(),
            largest_part: self.largest_part,
            ..ImportOptions::default()
        };
        let imported = import::import_fabric(&files, &options).map_err(|e| self.refuse(e))?;
        terminal.note(format!("read as {}", imported.format));
        for note in &imported.notes {
            terminal.note(note);
        }
        write(&self.output, &imported.topology, terminal)
    }
}

impl ShowArgs {
    fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        let topology = load(&self.topology)?;
        if let Some(svg) = &self.svg {
            terminal::write(svg, &topology.to_svg())?;
        }
        let summary = topology.summary();
        terminal.result(&summary, || summary.to_string())
    }
}

/// Writes a topology file; with `--json` beside a file, its figures.
fn write(output: &str, topology: &Topology, terminal: &Terminal) -> Result<(), Fault> {
    terminal::write(output, &topology.to_json())?;
    if terminal.json && output != "-" {
        return terminal.result(&topology.summary(), String::new);
    }
    Ok(())
}

/// Reads a topology file.
///
/// # Errors
/// A file that cannot be read or is no topology.
pub(super) fn load(path: &str) -> Result<Topology, Fault> {
    Topology::from_json(&terminal::read(path)?).input(path)
}

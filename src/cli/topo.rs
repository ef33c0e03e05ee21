//! `switchwright topo`: make, import, show and draw topologies.

mod cable;
mod diff;
mod read;

use std::path::Path;

use cable::CableArgs;
use clap::{Args, Subcommand};
use diff::DiffArgs;
use read::Source;
pub(super) use read::network;
use spec::{
    BcubeSpec, CablesSpec, ClosSpec, EgftSpec, FatTreeSpec, FlattenedClosSpec, JellyfishSpec,
    Length, RowSpec, ScenarioError, Speed, TopologySpec, XpanderSpec,
};
use topology::import::{ImportError, ImportOptions, Imported};
use topology::{AssumedOfLink, Fact, Supplied, Topology, TopologyError};

use super::assumed;
use super::fault::{Context, Fault, Status, chain};
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
    ThreeNode(Generated<()>),
    /// Switches in a row.
    Line(Generated<RowSpec>),
    /// Switches in a circle.
    Ring(Generated<RowSpec>),
    /// Leaf-spine (two layers), or with --pods a Clos of three layers.
    Clos(Generated<ClosSpec>),
    /// The k-ary fat-tree: k pods of k/2 + k/2 switches, (k/2)^2 cores, k^3/4 hosts.
    FatTree(Generated<FatTreeSpec>),
    /// Extended generalized fat tree, sized for the fewest switches (Stephens15 section 4.7).
    Egft(Generated<EgftSpec>),
    /// BCube(n, k): n^(k+1) servers that forward, of k+1 ports.
    #[command(name = "bcube")]
    BCube(Generated<BcubeSpec>),
    /// Random regular graph, by numbers or sized as in Stephens15 section 4.7.
    Jellyfish(Generated<JellyfishSpec>),
    /// Flattened Clos: an expander whose ports have virtual layers, so that routes that go up,
    /// then down, cannot deadlock (FC23 section 3).
    FlattenedClos(Generated<FlattenedClosSpec>),
    /// Random lift of a complete graph (Xpander16).
    Xpander(Generated<XpanderSpec>),
    /// Read p4-utils p4app.json, p4lang/tutorials topology.json, GraphML, containerlab YAML, a CSV
    /// of links, or a folder of SONiC's config_db.json files and of LLDP tables.
    Import(ImportArgs),
    /// Counts, degrees, diameter; --svg draws it.
    Show(ShowArgs),
    /// List what differs between two networks: cables, switches, rates, lengths, states.
    Diff(DiffArgs),
    /// Cables and circuits to lay and set, with lengths and cost.
    Cable(CableArgs),
}

impl Kind {
    /// Hosts per switch, where they are counted so.
    fn hosts(&self) -> Option<u16> {
        match self {
            Self::Line(row) | Self::Ring(row) => Some(row.size.hosts),
            Self::Clos(clos) => Some(clos.size.hosts),
            _ => None,
        }
    }
}

/// A topology to generate: its size, its links, and the file to write.
#[derive(Debug, Args)]
struct Generated<Size: Args> {
    #[command(flatten)]
    size: Size,
    #[command(flatten)]
    cables: CablesSpec,
    /// The topology file to write.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: String,
}

impl<Size: Args> Generated<Size> {
    fn write(
        self,
        spec: impl FnOnce(Size) -> TopologySpec,
        terminal: &Terminal,
    ) -> Result<(), Fault> {
        let made = spec(self.size).generate(&self.cables);
        let topology = made.map_err(|error| match error {
            ScenarioError::Wrong { problem, .. } => Fault::input(problem),
            error => Fault::input(error),
        })?;
        write(&self.output, &topology, terminal)
    }
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// The file or the folder; its format is recognised.
    file: String,
    /// Hosts per switch where the file has no hosts (GraphML, CSV of switches alone).
    #[arg(long, default_value_t = 1)]
    hosts: u16,
    #[command(flatten)]
    links: LinksSpec,
    /// Leave out a device (`oob-*`), or an interface of one (`leaf1:Ethernet1/9`); `*` and `?` are
    /// any characters and any one. Repeatable.
    #[arg(long, value_name = "PATTERN")]
    ignore: Vec<String>,
    /// Keep links at interfaces whose names are those of management (`eth0`, `mgmt*`,
    /// `Management*`, `fxp0`, `ma1`, `em0`); the pattern is as of `--ignore`. Repeatable.
    #[arg(long, value_name = "PATTERN")]
    keep: Vec<String>,
    /// Refuse a file that leaves rates or lengths of links out, unless options give them.
    #[arg(long)]
    strict: bool,
    /// Keep the largest connected part of a network that is not connected, and say what is left
    /// out.
    #[arg(long)]
    largest_part: bool,
    /// The topology file to write.
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: String,
}

/// Facts of links that a file does not give.
#[derive(Debug, Args)]
struct LinksSpec {
    /// Rate of links for which the file has none, in Gb/s (`100` or `100Gbps`).
    #[arg(long, value_name = "GBPS", value_parser = Speed::gigabits, help_heading = "Links")]
    rate: Option<Speed>,
    /// Length of links for which the file has none, in metres (`3000` or `3km`).
    #[arg(long, value_name = "METRES", help_heading = "Links")]
    length: Option<Length>,
    #[command(flatten)]
    places: CablesSpec,
}

impl LinksSpec {
    /// The facts by the place of a link; that of its place comes before that of all.
    fn supplied(&self) -> Supplied {
        let own = self.places.supplied();
        let (rate, length) = (
            self.rate.map(|rate| rate.0),
            self.length.map(|length| length.0),
        );
        Supplied {
            host_rate: own.host_rate.or(rate),
            fabric_rate: own.fabric_rate.or(rate),
            host_length: own.host_length.or(length),
            fabric_length: own.fabric_length.or(length),
        }
    }

    /// Refuses options that change nothing: those beside more special ones, and those of facts that
    /// the file gives.
    fn refuse_idle(
        &self,
        given: &Given,
        read: &dyn Fn(Supplied) -> Option<Topology>,
    ) -> Result<(), Fault> {
        let place = &self.places;
        if place.host_rate.is_some() && place.fabric_rate.is_some() {
            given.refuse_all(&["rate"], "beside `--host-rate` and `--fabric-rate`")?;
        }
        if place.host_length.is_some() && place.fabric_length.is_some() {
            given.refuse_all(&["length"], "beside `--host-length` and `--fabric-length`")?;
        }
        let names = [
            "rate",
            "length",
            "host_rate",
            "fabric_rate",
            "host_length",
            "fabric_length",
        ];
        if !names.iter().any(|name| given.has(name)) {
            return Ok(());
        }
        // A file that assumes nothing of a place gives all of its facts.
        let Some(plain) = read(Supplied::default()) else {
            return Ok(());
        };
        let places = |fact: fn(&AssumedOfLink) -> bool| {
            let links = plain.links().iter().filter(|link| fact(&link.assumed));
            links.fold((false, false), |(hosts, fabric), link| {
                let host = link.is_to_host();
                (hosts || host, fabric || !host)
            })
        };
        let ((host_rate, fabric_rate), (host_length, fabric_length)) =
            (places(|link| link.rate), places(|link| link.length));
        given.refuse(|name| {
            let used = match name {
                "rate" => host_rate || fabric_rate,
                "host_rate" => host_rate,
                "fabric_rate" => fabric_rate,
                "length" => host_length || fabric_length,
                "host_length" => host_length,
                "fabric_length" => fabric_length,
                _ => true,
            };
            (!used).then(|| "here: the file gives this of every such link".to_owned())
        })
    }
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
            Kind::ThreeNode(made) => made.write(|()| TopologySpec::ThreeNode, terminal),
            Kind::Line(made) => made.write(TopologySpec::Line, terminal),
            Kind::Ring(made) => made.write(TopologySpec::Ring, terminal),
            Kind::Clos(made) => made.write(TopologySpec::Clos, terminal),
            Kind::FatTree(made) => made.write(TopologySpec::FatTree, terminal),
            Kind::Egft(made) => made.write(TopologySpec::Egft, terminal),
            Kind::BCube(made) => made.write(TopologySpec::Bcube, terminal),
            Kind::Jellyfish(made) => made.write(TopologySpec::Jellyfish, terminal),
            Kind::FlattenedClos(made) => made.write(TopologySpec::FlattenedClos, terminal),
            Kind::Xpander(made) => made.write(TopologySpec::Xpander, terminal),
            Kind::Import(import) => import.run(given, terminal),
            Kind::Show(show) => show.run(terminal),
            Kind::Diff(diff) => diff.run(terminal),
            Kind::Cable(cable) => cable.run(terminal),
        }
    }
}

impl ImportArgs {
    fn run(&self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        if Path::new(&self.file).is_dir() {
            let reason = "for a folder: devices without a file are its hosts";
            given.refuse_all(&["hosts"], reason)?;
        }
        let source = Source::read(&self.file)?;
        let options = ImportOptions {
            name: source.name(&self.file),
            hosts_per_node: self.hosts,
            supplied: self.links.supplied(),
            ignore: self.ignore.clone(),
            keep: self.keep.clone(),
            largest_part: self.largest_part,
        };
        let imported = source.import(&options).map_err(|e| self.refuse(e))?;
        self.refuse_idle(&imported, &options, &source, given)?;
        terminal.note(format!("read as {}", imported.format));
        for note in &imported.notes {
            terminal.note(note);
        }
        let assumed = imported.topology.assumptions();
        let assumed = assumed.without(&[Fact::Buffer, Fact::Mtu]);
        assumed::refuse(self.strict, &assumed, Status::Input)?;
        for assumption in assumed.iter() {
            terminal.note(assumption);
        }
        write(&self.output, &imported.topology, terminal)
    }

    /// Refuses options that would change nothing.
    fn refuse_idle(
        &self,
        imported: &Imported,
        options: &ImportOptions,
        source: &Source,
        given: &Given,
    ) -> Result<(), Fault> {
        // With hosts of its own, a file gives the same network whatever their number was to be.
        let other = ImportOptions {
            hosts_per_node: u16::from(options.hosts_per_node == 0),
            ..options.clone()
        };
        let same = |other: Imported| other.topology == imported.topology;
        if given.has("hosts") && source.import(&other).is_ok_and(same) {
            let reason = format!(
                "for a {}: it is for GraphML, which knows no hosts, and CSV without any",
                imported.format
            );
            given.refuse_all(&["hosts"], &reason)?;
        }
        self.links.refuse_idle(given, &|supplied| {
            let plain = ImportOptions {
                supplied,
                ..options.clone()
            };
            Some(source.import(&plain).ok()?.topology)
        })
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

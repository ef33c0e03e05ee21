//! `switchwright bench`: the project's own benchmarks, side by side with peers found here.

mod all;
mod bolt;
mod cores;
mod df;
pub(super) mod failover;
mod flattened;
mod lanes;
mod p4runtime;
mod ports;
mod programs;
mod push;
mod scale;
mod simulate;
mod switches;
mod tagging;
mod threads;
mod watchdog;

use clap::{Args, ValueEnum};
use files::Scratch;
use p4gen::targets::Format;
use serde::Serialize;

use crate::tcp_bolt::BoltOptions;
use crate::{PeerFigure, PlanningCase, PlanningFigure};
use measure::Machine;
use switchwright::cli::fault::{Context, Fault};
use switchwright::cli::given::Given;
use switchwright::cli::shard::LongSharding;
use switchwright::cli::terminal::{self, Terminal};

/// Arguments of `switchwright bench`.
#[derive(Debug, Args)]
pub(super) struct Bench {
    /// What to measure.
    #[arg(value_enum, default_value_t = Area::Plan)]
    area: Area,
    /// Leave out the peers.
    #[arg(long)]
    no_peer: bool,
    /// Only the cases whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Scale: the format of the entries.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Written::Txtpb)]
    formats: Written,
    /// Entries of each table (p4runtime).
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    entries: u32,
    /// Packets of the run that must lose nothing (simulate); 0 leaves it out.
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    packets: u64,
    /// Switches that run at a time (switches).
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    processes: u32,
    /// Instead of both: so many threads beside one in a fat-tree of 1024 hosts, and from the work
    /// between their meetings what more cores would give (simulate).
    #[arg(long, value_name = "N", conflicts_with_all = ["packets", "no_peer"], value_parser = clap::value_parser!(u16).range(2..=255))]
    threads: Option<u16>,
    /// The Python that has passagemath-graphs, the peer for trees.
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: String,
    /// Failover: sets of failures for each number of them.
    #[arg(long, default_value_t = 20, value_name = "N")]
    sets: u32,
    /// Failover: the folder for the figures as JSON, tables and plots.
    #[arg(long, value_name = "DIR", conflicts_with = "shard")]
    out: Option<String>,
    #[command(flatten)]
    sharding: LongSharding,
    /// Flattened Clos: which table of FC23.
    #[arg(
        long,
        default_value_t = 2,
        value_name = "1|2|3|4|6|7",
        conflicts_with = "figure"
    )]
    table: u8,
    /// Flattened Clos: which figure of FC23: 3, how many random graphs have a cycle of buffers
    /// under shortest paths with one tag. TCP-Bolt: which figure of Stephens15 chapter 3; without
    /// one, round-trip times under load (section 3.3.1).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9))]
    figure: Option<u8>,
    /// TCP-Bolt: shorter runs.
    #[arg(long)]
    quick: bool,
    /// TCP-Bolt: average figures 7 to 9 over so many seeds.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    seeds: u32,
    /// Flattened Clos: reroute around one failed link at a time, in the networks of the table, with
    /// two lossless priorities.
    #[arg(long, conflicts_with = "figure")]
    rerouting: bool,
    /// Flattened Clos: flow completion times in the simulator, with DCQCN and PFC: over disjoint
    /// paths, over spanning trees, and in a Clos of as many hosts (the other columns of Table 3).
    #[arg(long, conflicts_with_all = ["figure", "rerouting", "table"])]
    fct: bool,
    /// Flattened Clos: with --fct, what hosts send while flows begin, as a share of their rate.
    #[arg(long, default_value_t = 0.3, value_name = "SHARE", requires = "fct", value_parser = load)]
    load: f64,
    /// Flattened Clos: with --table 3, how far the bounds of throughput may be apart, in percent.
    #[arg(long, default_value_t = 3.0, value_name = "PERCENT", value_parser = gap)]
    gap: f64,
    /// Flattened Clos: how many links fail, drawn at random if there are more.
    #[arg(long, default_value_t = 450, value_name = "N", requires = "rerouting")]
    failures: u32,
    /// Flattened Clos: random graphs of each size.
    #[arg(long, default_value_t = 100, value_name = "N", requires = "figure", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    graphs: u32,
    /// Flattened Clos, TCP-Bolt: draw the figure as SVG.
    #[arg(long, value_name = "FILE", requires = "figure")]
    plot: Option<String>,
    /// Flattened Clos: seed of the networks. TCP-Bolt: the first seed of the traffic.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Area {
    /// The benches of speed (plan, p4, cores, ports, p4runtime, simulate, lanes), each briefly, and
    /// one table of ratios to the peers found.
    All,
    /// Planning, proving, building; the peer is a plain Python script's greedy Tagger.
    Plan,
    /// Packets per second of the executors, in memory on one core: the generated program, and large
    /// tables; the peer is BMv2's simple_switch.
    P4,
    /// Packets per second of a switch with several data-plane threads, over ports in memory, beside
    /// one with one.
    Cores,
    /// Packets through the switch between two veth pairs (needs root); the peers are a bare
    /// forwarder and BMv2.
    Ports,
    /// Entries per second over P4Runtime, written and read back; the peer is BMv2's
    /// simple_switch_grpc.
    P4runtime,
    /// What a switch costs as a process: time until it is ready, memory of its own and shared
    /// (needs root).
    Switches,
    /// Processor time, memory, entries and bytes of plan, proof and build, for fat-trees of k = 8
    /// to 64 and Jellyfish of 500 to 5,000 switches.
    Scale,
    /// A push to 100 switches that are processes, and to 1,000 that are servers of one process:
    /// time, memory, connections.
    Push,
    /// Packet-hops per second of the simulator on one core, and a long run that must not lose a
    /// lossless packet; the peer is csg-htsim's htsim_roce.
    Simulate,
    /// State, compression, stretch, losses and trees of the failover schemes, with Stephens15's
    /// figures beside.
    Failover,
    /// Lossless priorities that failover needs by channels (df-fi) and by rising tags, beside
    /// Stephens15's Tables 5.1 to 5.3.
    Df,
    /// Routings in virtual lanes: DFSSSP, LASH, Up*/Down*; the peer is OpenSM's DFSSSP on a network
    /// that ibsim simulates.
    Lanes,
    /// Lossless priorities and rules of fat-trees, BCubes and Jellyfish by size (TaggerDraft
    /// section 7.3.1), and tags of Tagger17's greedy algorithm with whether a table can hold them.
    Tags,
    /// Disjoint paths of Flattened Clos networks, all pairs, beside FC23's Tables 1, 2, 6 and 7,
    /// and throughput beside its Table 3; with --figure 3 cycles of buffers in Jellyfish and
    /// Xpander; with --rerouting what becomes of packets where a link has failed (FC23 section
    /// 7.1); with --fct flow completion times.
    FlattenedClos,
    /// The bundled deadlocks with SONiC's PFC watchdog, with tags, and with neither: goodput and
    /// lossless packets dropped.
    Watchdog,
    /// TCP-Bolt beside nine other transports: Stephens15's Figures 3.1 to 3.9, and round-trip times
    /// under load.
    TcpBolt,
}

/// Formats of entries that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Written {
    /// Text, an entry a line.
    Txtpb,
    /// Protobuf's binary format.
    Binpb,
}

impl Written {
    const fn format(self) -> Format {
        match self {
            Self::Txtpb => Format::Txtpb,
            Self::Binpb => Format::Binpb,
        }
    }
}

impl Area {
    /// Why an option means nothing for this area.
    fn idle(self, option: &str) -> Option<String> {
        use Area::{
            All, Cores, Df, Failover, FlattenedClos, Lanes, P4, P4runtime, Plan, Ports, Push,
            Scale, Simulate, Switches, Tags, TcpBolt, Watchdog,
        };
        let areas: &[Self] = match option {
            "no_peer" => &[All, Plan, P4, Ports, P4runtime, Simulate, Failover, Lanes],
            "only" => &[
                All,
                Plan,
                P4,
                Cores,
                Failover,
                Df,
                Tags,
                Lanes,
                FlattenedClos,
                Watchdog,
                TcpBolt,
                Scale,
                Push,
            ],
            "formats" => &[Scale],
            "table" | "rerouting" | "failures" | "fct" | "load" | "gap" | "graphs" => {
                &[FlattenedClos]
            }
            "figure" | "plot" | "seed" => &[FlattenedClos, TcpBolt],
            "quick" | "seeds" => &[TcpBolt],
            "entries" => &[P4runtime],
            "processes" => &[Switches],
            "python" | "sets" | "out" | "shard" | "shards" => &[Failover],
            "packets" | "threads" => &[Simulate],
            _ => return None,
        };
        let name = |area: &Self| {
            area.to_possible_value()
                .map_or_else(String::new, |value| value.get_name().to_owned())
        };
        let names: Vec<String> = areas.iter().map(name).collect();
        let other = !areas.contains(&self);
        other.then(|| {
            format!(
                "for `bench {}`: it is for {}",
                name(&self),
                names.join(", ")
            )
        })
    }
}

#[derive(Serialize)]
struct BenchReport {
    machine: Machine,
    plan: Vec<Case>,
}

#[derive(Serialize)]
struct Case {
    #[serde(flatten)]
    figure: PlanningFigure,
    /// What the peer needed for the same topology.
    peer: Option<PeerFigure>,
    /// The peer's time over ours (tables only).
    ratio: Option<f64>,
}

impl Bench {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        given.refuse(|option| self.area.idle(option))?;
        match self.area {
            Area::All => all::run(self.only.as_deref(), !self.no_peer, terminal),
            Area::Plan => self.plan(terminal),
            Area::P4 => programs::run(self.only.as_deref(), !self.no_peer, terminal),
            Area::Cores => cores::run(self.only.as_deref(), terminal),
            Area::Ports => ports::run(terminal, !self.no_peer),
            Area::P4runtime => p4runtime::run(terminal, !self.no_peer, self.entries as usize),
            Area::Switches => switches::run(terminal, self.processes),
            Area::Scale => scale::run(self.only.as_deref(), self.formats.format(), terminal),
            Area::Push => push::run(self.only.as_deref(), terminal),
            Area::Simulate => match self.threads {
                Some(count) => threads::run(terminal, count),
                None => simulate::run(terminal, self.packets, !self.no_peer),
            },
            Area::Df => df::run(self.only.as_deref(), terminal),
            Area::Lanes => lanes::run(self.only.as_deref(), !self.no_peer, terminal),
            Area::Tags => tagging::run(self.only.as_deref(), terminal),
            Area::Watchdog => watchdog::run(self.only.as_deref(), terminal),
            Area::TcpBolt => {
                let request = bolt::Request {
                    figure: self.figure,
                    options: BoltOptions {
                        quick: self.quick,
                        seeds: self.seeds,
                        seed: self.seed,
                    },
                    only: self.only.as_deref(),
                    plot: self.plot.as_deref(),
                };
                bolt::run(&request, terminal)
            }
            Area::FlattenedClos if self.figure.is_some_and(|figure| figure != 3) => {
                Err(Fault::input(
                    "of FC23 there is figure 3; `bench tcp-bolt` has Stephens15's 3.1 to 3.9",
                ))
            }
            Area::FlattenedClos if self.figure.is_some() => {
                if let Some(only) = self.only {
                    return Err(Fault::input(format!("`--only {only}` is for the tables")));
                }
                flattened::figure(self.graphs, self.seed, self.plot.as_deref(), terminal)
            }
            Area::FlattenedClos if self.fct => {
                given.refuse_all(&["gap"], "here: it is for `--table 3`")?;
                flattened::completion(self.load, self.seed, self.only.as_deref(), terminal)
            }
            Area::FlattenedClos if self.table == 3 && !self.rerouting => {
                flattened::throughput(self.gap, self.seed, self.only.as_deref(), terminal)
            }
            Area::FlattenedClos if self.table == 4 && !self.rerouting => {
                given.refuse_all(&["gap"], "here: it is for `--table 3`")?;
                flattened::cabling(self.seed, self.only.as_deref(), terminal)
            }
            Area::FlattenedClos => {
                given.refuse_all(&["gap"], "here: it is for `--table 3`")?;
                let only = self.only.as_deref();
                let failures = self.rerouting.then_some(self.failures as usize);
                flattened::run(self.table, self.seed, only, failures, terminal)
            }
            Area::Failover => {
                let request = failover::Request {
                    only: self.only.as_deref(),
                    python: (!self.no_peer).then_some(self.python.as_str()),
                    sets: self.sets,
                    out: self.out.as_deref(),
                };
                failover::run(&request, &self.sharding.into(), terminal)
            }
        }
    }

    fn plan(self, terminal: &Terminal) -> Result<(), Fault> {
        let scratch = Scratch::new().input("temporary directory")?;
        let wanted = |case: &PlanningCase| {
            self.only
                .as_ref()
                .is_none_or(|text| case.name.contains(text.as_str()))
        };
        let cases = crate::cases();
        if !cases.iter().any(wanted) {
            let names: Vec<&str> = cases.iter().map(|case| case.name).collect();
            return Err(none_matches(self.only.as_deref(), &names));
        }
        let mut plan = Vec::new();
        for case in cases.into_iter().filter(wanted) {
            let bar = terminal.progress(case.name);
            let figure = crate::measure(&case, scratch.path()).map_err(Fault::input)?;
            let peer = if self.no_peer || !case.has_peer {
                None
            } else {
                peer(&case, &scratch)?
            };
            bar.finish_and_clear();
            let ratio = peer.as_ref().map(|p| p.seconds / figure.plan_seconds);
            plan.push(Case {
                figure,
                peer,
                ratio,
            });
        }
        let report = BenchReport {
            machine: Machine::here(),
            plan,
        };
        terminal.result(&report, || describe(&report))
    }
}

/// Reads a share of hosts' rate.
fn load(text: &str) -> Result<f64, String> {
    let load: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    match (0.001..=1.0).contains(&load) {
        true => Ok(load),
        false => Err(format!("{load} is not in 0.001 to 1")),
    }
}

/// Reads a gap in percent.
fn gap(text: &str) -> Result<f64, String> {
    let gap: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if (1.0..=100.0).contains(&gap) {
        Ok(gap)
    } else {
        Err(format!("{gap} is not in 1 to 100"))
    }
}

/// Nothing has the name that was asked for.
pub(super) fn none_matches(only: Option<&str>, names: &[&str]) -> Fault {
    let only = only.unwrap_or_default();
    Fault::input(format!("--only {only}: no case has this in its name"))
        .help(format!("the cases are: {}", names.join("; ")))
}

/// Runs the peer on a case's topology.
fn peer(case: &PlanningCase, scratch: &Scratch) -> Result<Option<PeerFigure>, Fault> {
    let topology = case.topology().map_err(Fault::input)?;
    let file = scratch.path().join("topology.json");
    terminal::write(&file.to_string_lossy(), &topology.to_json())?;
    Ok(crate::python_greedy(&file))
}

fn describe(report: &BenchReport) -> String {
    let seconds = |s: f64| format!("{s:.3}");
    let rows: Vec<Vec<String>> = report
        .plan
        .iter()
        .map(|case| {
            let figure = &case.figure;
            vec![
                figure.name.to_owned(),
                figure.switches.to_string(),
                figure.hosts.to_string(),
                figure.tags.to_string(),
                figure.rules.to_string(),
                seconds(figure.generate_seconds),
                seconds(figure.plan_seconds),
                seconds(figure.check_seconds),
                figure.build_seconds.map_or_else(|| "-".to_owned(), seconds),
                figure
                    .peak_memory
                    .map_or_else(|| "-".to_owned(), |b| (b.get() >> 20).to_string()),
                case.peer
                    .as_ref()
                    .map_or_else(|| "-".to_owned(), |p| seconds(p.seconds)),
                case.ratio
                    .map_or_else(|| "-".to_owned(), |r| format!("{r:.0} x")),
            ]
        })
        .collect();
    let header = [
        "case",
        "switches",
        "hosts",
        "tags",
        "rules",
        "generate s",
        "plan s",
        "check s",
        "build s",
        "peak MiB",
        "python s",
        "ratio",
    ];
    let right: Vec<usize> = (1..header.len()).collect();
    format!(
        "{}\n{}",
        report.machine.describe(),
        terminal::table(&header, &right, &rows)
    )
}

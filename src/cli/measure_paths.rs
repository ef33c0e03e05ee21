//! `switchwright measure-paths`: whether packets are rerouted, told by the TTL of replies from the
//! highest switches.

use std::path::Path;

use clap::Args;
use emulator::emulate::Options;
use p4gen::build::BuildDirectory;
use serde::Serialize;
use simulator::embedded::{Network, Reroute};

use super::check;
use super::emulate::refuse as live_fault;
use super::fault::{Context, Fault, Status};
use super::terminal::{self, Terminal};
use super::trace::refuse;
use measure::{EmbeddedProber, LiveProber, PathsFigure, measure_paths};

/// Arguments of `switchwright measure-paths`.
#[derive(Debug, Args)]
pub(super) struct MeasurePaths {
    /// The build directory; its topology has layers, and its plan no failover tables.
    directory: String,
    /// A link that fails after half of every measurement's probes, as `s1-s2`; routing has found
    /// other ways by then. Repeatable.
    #[arg(long, value_name = "LINK")]
    fail: Vec<String>,
    /// Probes of a measurement, each a separate flow; one measurement for every host and switch
    /// of the highest layer.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=1000))]
    probes: u16,
    /// Over the network in real time, in namespaces (root on Linux): probes are packets within
    /// packets, which the highest switches unwrap.
    #[arg(long)]
    emulate: bool,
}

#[derive(Serialize)]
struct PathsReport<'a> {
    failed: &'a [String],
    probes: u16,
    #[serde(flatten)]
    figure: PathsFigure,
}

impl MeasurePaths {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let mut before = self.network(terminal)?;
        let topology = before.topology().clone();
        if topology.unlayered_switch().is_some() {
            return Err(
                Fault::input("the topology has no layers, so no switch is the highest")
                    .help("probes need a Clos: `topo clos`, `topo fat-tree`, `topo egft`"),
            );
        }
        let link = |name: &String| topology.link_named(name).input(format!("--fail {name}"));
        let failed = self.fail.iter().map(link).collect::<Result<Vec<_>, _>>()?;
        if self.emulate {
            return self.run_live(&before, terminal);
        }
        let mut after = self.network(terminal)?;
        if !failed.is_empty() {
            after = after
                .after_failures(&failed, Reroute::Converged)
                .map_err(refuse)?;
        }
        let bar = terminal.progress("sending probes");
        let mut prober = EmbeddedProber::new(&mut before, &mut after);
        let figure = measure_paths(&topology, &mut prober, self.probes).map_err(refuse);
        bar.finish_and_clear();
        self.report(figure?, terminal)
    }

    /// Over the emulator's switches.
    fn run_live(&self, network: &Network, terminal: &Terminal) -> Result<(), Fault> {
        linuxnet::permitted().map_err(|error| Fault::with(Status::Target, error))?;
        let bar = terminal.progress("sending probes");
        let options = Options::default();
        let figure = LiveProber::new(network, &self.fail, &options)
            .and_then(|mut prober| measure_paths(network.topology(), &mut prober, self.probes));
        bar.finish_and_clear();
        self.report(
            figure.map_err(|error| live_fault(&error, &self.directory))?,
            terminal,
        )
    }

    fn report(&self, figure: PathsFigure, terminal: &Terminal) -> Result<(), Fault> {
        let report = PathsReport {
            failed: &self.fail,
            probes: self.probes,
            figure,
        };
        terminal.result(&report, || describe(&report))
    }

    fn network(&self, terminal: &Terminal) -> Result<Network, Fault> {
        let directory = BuildDirectory::open(Path::new(&self.directory))
            .and_then(BuildDirectory::over_p4runtime)
            .input(&self.directory)?;
        let plan = check::prove(check::load_built(&directory)?, terminal)?;
        if plan.tables().failover.is_some() {
            return Err(Fault::input(
                "the plan has failover tables, whose packets carry no TTL that counts switches",
            )
            .help("measure a plan of `--scheme tagger`"));
        }
        Network::open(directory, plan).map_err(refuse)
    }
}

fn describe(report: &PathsReport<'_>) -> String {
    let figure = &report.figure;
    let ttls = |replies: &std::collections::BTreeMap<u8, u64>| {
        let all = replies
            .iter()
            .map(|(ttl, count)| format!("{count} with TTL {ttl}"));
        all.collect::<Vec<_>>().join(", ")
    };
    let mut text = terminal::facts(&[
        (
            "measurements",
            format!("{} of {} probes each", figure.measurements, report.probes),
        ),
        (
            "rerouted",
            format!("{} ({:.1e} of them)", figure.rerouted, figure.probability),
        ),
        ("replies", ttls(&figure.replies)),
        ("lost", figure.lost.to_string()),
    ]);
    for pair in &figure.found {
        text += &format!(
            "  {} <- {}: {}\n",
            pair.host,
            pair.switch,
            ttls(&pair.replies)
        );
    }
    text
}

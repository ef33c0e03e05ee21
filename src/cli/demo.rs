//! `switchwright demo`: the tour, from a Clos to a deadlock that forms without tags and not with
//! them.

mod ending;

use std::path::Path;

use ::plan::{ClassId, PlanError, Tables};
use clap::Args;
use p4gen::build::BuildDirectory;
use p4gen::targets::{Formats, V1MODEL};
use schemes::TaggerOptions;
use serde::Serialize;
use simulator::embedded::{Network, Probe, Reroute, Walk, WalkEnd};
use topology::generate::{Cables, Clos};
use topology::{LinkId, Topology};

use super::fault::{Context, Fault, Status};
use super::terminal::{self, Terminal};
use super::{build, check, plan, trace};
use measure::timed;

/// Arguments of `switchwright demo`.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Where to keep what the tour makes.
    #[arg(short, long, value_name = "DIR", default_value = "out/demo")]
    output: String,
}

/// What `demo --json` prints.
#[derive(Serialize)]
struct Figures {
    directory: String,
    tags: usize,
    rules_total: u64,
    entries_total: u64,
    counterexample: String,
    straight: Walk,
    bounced: Walk,
    ending: ending::Ending,
    failover: ending::Ending,
    seconds: f64,
}

impl Demo {
    pub(super) fn run(self, terminal: &Terminal) -> Result<(), Fault> {
        let (figures, seconds) = timed(|| self.tour(terminal));
        let figures = Figures {
            seconds,
            ..figures?
        };
        terminal.summary(&figures, || {
            format!(
                "\nThe tour took {seconds:.1} s. Open {0}/deadlock.html, {0}/failover.html, and {0}/build/report.html for the proof.\n",
                self.output
            )
        })
    }

    fn tour(&self, terminal: &Terminal) -> Result<Figures, Fault> {
        terminal::claim(&self.output, "tour")?;
        let topology = self.topology(terminal)?;
        let tables = schemes::tagger(&topology, &TaggerOptions::default()).map_err(Fault::input)?;
        let counterexample = without_tags(&tables, terminal)?;
        let (proven, directory) = self.build(tables, terminal)?;
        let (straight, bounced) = walks(&proven, &directory, terminal)?;
        let network = Network::open(directory, proven.plan.clone()).map_err(trace::refuse)?;
        let ending = ending::play(&ending::ROUTED, &network, &self.output, terminal)?;
        let failover = ending::play_failover(&self.output, terminal)?;
        Ok(Figures {
            directory: self.output.clone(),
            tags: proven.plan.tagging().priorities.len(),
            rules_total: proven.rules_total,
            entries_total: proven.entries_total,
            counterexample,
            straight,
            bounced,
            ending,
            failover,
            seconds: 0.0,
        })
    }

    fn topology(&self, terminal: &Terminal) -> Result<Topology, Fault> {
        let clos = Clos {
            leaves: 4,
            spines: 2,
            hosts: 2,
            parallel: 1,
            cables: Cables::default(),
        };
        let topology = clos.generate().map_err(Fault::input)?;
        terminal.say("1. A Clos: 4 leaves, 2 spines, 8 hosts, lossless traffic.");
        terminal::write(
            &format!("{}/topology.json", self.output),
            &topology.to_json(),
        )?;
        terminal::write(&format!("{}/topology.svg", self.output), &topology.to_svg())?;
        terminal.say(format!(
            "   {0}/topology.json, drawn in {0}/topology.svg",
            self.output
        ));
        Ok(topology)
    }

    fn build(
        &self,
        tables: Tables,
        terminal: &Terminal,
    ) -> Result<(Proven, BuildDirectory), Fault> {
        terminal
            .say("\n3. With Tagger: a packet that bounces gets the next tag, and its own queue.");
        let (proven, seconds) = timed(|| check::prove(tables, terminal));
        let proven = proven?;
        let summary = proven.summary(seconds);
        terminal.say(plan::describe(&proven, &summary).trim_end());
        terminal::write(
            &format!("{}/plan.json", self.output),
            &proven.tables().to_json(),
        )?;

        terminal.say("\n4. The P4 program that every switch runs, and each switch's entries.");
        let place = format!("{}/build", self.output);
        let (report, seconds) = timed(|| build::make(&proven, &V1MODEL, &place, terminal));
        let report = report?;
        terminal.say(build::describe(&report, &Formats::default(), &place, seconds).trim_end());
        let directory = BuildDirectory::open(Path::new(&place)).input(&place)?;
        let proven = Proven {
            plan: proven,
            rules_total: summary.rules_total,
            entries_total: report.entries_total,
        };
        Ok((proven, directory))
    }
}

/// A proven plan with the figures of its build.
struct Proven {
    plan: ::plan::CheckedPlan,
    rules_total: u64,
    entries_total: u64,
}

/// The same network with one lossless tag that never changes: what PFC alone would do.
fn without_tags(tables: &Tables, terminal: &Terminal) -> Result<String, Fault> {
    terminal.say(
        "\n2. Without tags: every packet keeps its one lossless queue, whatever way it takes.",
    );
    let Some(plain) = tables.without_tags() else {
        return Err(Fault::input("the plan has no class"));
    };
    match ::plan::check(plain, &::plan::check::Options::default()) {
        Ok(_) => Err(Fault::with(
            Status::Failed,
            "the untagged Clos was proven, which cannot be: this is a bug",
        )),
        Err(failure) => {
            let cycle = failure
                .errors
                .iter()
                .find(|e| matches!(e, PlanError::Cycle(_)));
            let text = cycle.map_or_else(|| failure.to_string(), ToString::to_string);
            terminal.say(format!("   refused: {text}"));
            Ok(text)
        }
    }
}

/// One packet on the healthy network, and one after two links failed.
fn walks(
    proven: &Proven,
    directory: &BuildDirectory,
    terminal: &Terminal,
) -> Result<(Walk, Walk), Fault> {
    terminal.say("\n5. A packet through the embedded switches, which execute that very program:");
    let mut network =
        Network::open(directory.clone(), proven.plan.clone()).map_err(trace::refuse)?;
    let straight = walk(&mut network)?;
    trace::brief(terminal, &straight, network.topology());

    let failed = ["leaf1-spine1", "leaf4-spine2"];
    terminal.say(format!(
        "\n6. {} and {} fail. The only ways left bounce, and the tag rises:",
        failed[0], failed[1]
    ));
    let links: Vec<LinkId> = failed
        .iter()
        .map(|name| network.topology().link_named(name).input(name))
        .collect::<Result<_, _>>()?;
    let mut network = network
        .after_failures(&links, Reroute::Converged)
        .map_err(trace::refuse)?;
    let bounced = walk(&mut network)?;
    trace::brief(terminal, &bounced, network.topology());
    Ok((straight, bounced))
}

/// A packet from the first host to the last one; it must arrive.
fn walk(network: &mut Network) -> Result<Walk, Fault> {
    let hosts: Vec<_> = network.topology().host_ids().collect();
    let (Some(&from), Some(&to)) = (hosts.first(), hosts.last()) else {
        return Err(Fault::input("the topology has no hosts"));
    };
    let name = network.topology().host(from).name.clone();
    let probe = Probe {
        from,
        to,
        class: Some(ClassId::new(0)),
        flow: 49152,
        ipv6: false,
    };
    let (packet, switch, port) = network.packet(&probe).map_err(trace::refuse)?;
    let walk = network
        .walk(&name, packet, switch, port)
        .map_err(trace::refuse)?;
    match walk.end {
        WalkEnd::Delivered { .. } => Ok(walk),
        _ => Err(Fault::with(
            Status::Failed,
            format!("a packet was lost: {}", trace::one_line(&walk)),
        )),
    }
}

//! How the tour ends: the same network, failures and flows in virtual time, once without tags and
//! once with them, side by side on one page.

use askama::Template;
use serde::Serialize;
use simulator::embedded::Network;
use simulator::simulate::{
    AnimatedRun, Outcome, Plots, Recording, Session, SimulateError, SimulationReport, animate,
    compare_goodput,
};
use spec::Scenario;
use topology::{LinkId, Topology};

use crate::cli::fault::{Context, Fault, Status};
use crate::cli::simulate::{self, load};
use crate::cli::terminal::{self, Terminal};

/// A bundled scenario that is played.
pub(super) struct Stage {
    scenario: &'static str,
    /// What is said before.
    opening: &'static str,
    /// The file with the page.
    page: &'static str,
    /// The file with both runs as a moving picture, if there is one.
    animation: Option<&'static str>,
}

/// Routing reacts to failures, on the tour's own network.
pub(super) const ROUTED: Stage = Stage {
    scenario: "link-failures",
    opening: "7. The same failures under load, in virtual time: every host sends to one of another leaf at line rate.",
    page: "deadlock.html",
    animation: Some("deadlock.svg"),
};

/// Switches react by themselves, on the scenario's network.
pub(super) const FAILOVER: Stage = Stage {
    scenario: "lossless-failover-plinko",
    opening: "8. Local failover (Plinko) instead of routing, on a fat-tree of 16 hosts: two links fail, and their switches know other ways at once.",
    page: "failover.html",
    animation: None,
};

/// What the runs of the moving picture are called.
const UNTAGGED: &str = "Plain PFC";
const TAGGED: &str = "PFC with Switchwright's tags";
/// The moving picture in words.
const ANIMATION: &str = "Two runs of one network in which two links fail. With plain PFC, queues fill, pause each other \
    in a cycle, and nothing moves again. With tags, traffic goes on.";

/// What `demo --json` prints of it.
#[derive(Serialize)]
pub(super) struct Ending {
    without_tags: SimulationReport,
    with_tags: SimulationReport,
    page: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    animation: Option<String>,
}

#[derive(Template)]
#[template(path = "demo.html")]
struct Page<'a> {
    story: String,
    goodput: String,
    network: String,
    sides: [RunSummary<'a>; 2],
    scenario: &'static str,
    version: &'static str,
    style: &'static str,
}

/// One of the two runs.
struct RunSummary<'a> {
    class: &'static str,
    name: &'static str,
    verdict: String,
    facts: Vec<(&'static str, String)>,
    pictures: Vec<(&'static str, &'a str)>,
}

/// Plays both runs of the failover plan that the scenario asks for.
///
/// # Errors
/// As [`play`].
pub(super) fn play_failover(output: &str, terminal: &Terminal) -> Result<Ending, Fault> {
    let name = FAILOVER.scenario;
    let network = simulate::network(&load(name)?, None, name, terminal)?;
    play(&FAILOVER, &network, output, terminal)
}

/// Plays both runs on a network, says how they went, and writes the page.
///
/// # Errors
/// A run that did not go as it must, or a place that cannot be written.
pub(super) fn play(
    stage: &Stage,
    network: &Network,
    output: &str,
    terminal: &Terminal,
) -> Result<Ending, Fault> {
    let mut scenario = load(stage.scenario)?;
    terminal.say(format!("\n{}", stage.opening));
    let mut run = |tags| {
        scenario.tags = tags;
        record(network, &scenario).input(stage.scenario)
    };
    let ((without, red), (with, green)) = (run(false)?, run(true)?);
    for outcome in [&without, &with] {
        terminal.say(format!("   {}", sentence(&outcome.report)));
    }
    if without.report.deadlocks == 0 || with.report.deadlocks > 0 || with.report.lossless_drops > 0
    {
        let problem = "the network did not deadlock without tags, or did with them: this is a bug";
        return Err(Fault::with(Status::Failed, problem));
    }
    let place = format!("{output}/{}", stage.page);
    let page = page(stage, &scenario, network.topology(), (&without, &with))?;
    terminal::write(&place, &page)?;
    terminal.say(format!("   both side by side: {place}"));
    let animation = stage.animation.map(|file| format!("{output}/{file}"));
    if let Some(place) = &animation {
        let runs = [
            (UNTAGGED, &red, &without.report),
            (TAGGED, &green, &with.report),
        ];
        let runs = runs.map(|(name, recording, report)| AnimatedRun {
            name,
            recording,
            report,
        });
        terminal::write(place, &animate(network.topology(), ANIMATION, runs))?;
        terminal.say(format!("   as a moving picture: {place}"));
    }
    Ok(Ending {
        without_tags: without.report,
        with_tags: with.report,
        page: place,
        animation,
    })
}

/// Plays a scenario to its end, watched at regular moments.
fn record(network: &Network, scenario: &Scenario) -> Result<(Outcome, Recording), SimulateError> {
    let mut session = Session::new(network, scenario, true)?;
    let recording = Recording::record(&mut session)?;
    Ok((session.finish(true), recording))
}

fn milliseconds(micros: f64) -> String {
    format!("{:.2} ms", micros / 1e3)
}

/// The queues of a cycle as switches, and the priorities they have.
fn cycle(report: &SimulationReport) -> String {
    let Some(deadlock) = report.deadlock.first() else {
        return "none".to_owned();
    };
    let priority = |queue: &String| queue.rsplit_once(' ').map(|(_, class)| class.to_owned());
    let mut classes: Vec<String> = deadlock.cycle.iter().filter_map(priority).collect();
    classes.sort_unstable();
    classes.dedup();
    let first = deadlock.switches.first().map_or("", String::as_str);
    format!(
        "{} -> {first}, priority {}",
        deadlock.switches.join(" -> "),
        classes.join(" and ")
    )
}

fn sentence(report: &SimulationReport) -> String {
    let tags = if report.tags {
        "with tags"
    } else {
        "without tags"
    };
    match report.deadlock.first() {
        Some(deadlock) => format!(
            "{tags}: DEADLOCK at {}: {}; goodput at the end {:.1} Gb/s, though the links work again",
            milliseconds(deadlock.closed_us),
            cycle(report),
            report.gbps_at_end()
        ),
        None => format!(
            "{tags}: no deadlock, {} lossless drops; goodput at the end {:.1} Gb/s",
            report.lossless_drops,
            report.gbps_at_end()
        ),
    }
}

fn page(
    stage: &Stage,
    scenario: &Scenario,
    topology: &Topology,
    (without, with): (&Outcome, &Outcome),
) -> Result<String, Fault> {
    let missing = || Fault::input("the simulator drew no pictures: this is a bug");
    let (red, green) = (
        without.plots.as_ref().ok_or_else(missing)?,
        with.plots.as_ref().ok_or_else(missing)?,
    );
    let failed = scenario
        .events
        .iter()
        .filter_map(|event| event.fail.as_ref());
    let failed: Vec<LinkId> = failed
        .map(|name| topology.link_named(name).input(name))
        .collect::<Result<_, _>>()?;
    let page = Page {
        story: scenario
            .about
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        goodput: compare_goodput(
            "goodput of all flows together",
            &[("with tags", green), ("without tags", red)],
        ),
        network: topology.with_failed_links(&failed).to_svg(),
        sides: [untagged(&without.report, red), tagged(&with.report, green)],
        scenario: stage.scenario,
        version: env!("CARGO_PKG_VERSION"),
        style: report::STYLE,
    };
    page.render().map_err(Fault::input)
}

fn untagged<'a>(report: &SimulationReport, plots: &'a Plots) -> RunSummary<'a> {
    let closed = report.deadlock.first().map_or(0.0, |d| d.closed_us);
    let mut pictures = vec![("Paused queues over time", plots.pauses.as_str())];
    if let Some(graph) = &plots.deadlock {
        pictures.insert(0, ("Who waits for whom at the deadlock", graph));
    }
    RunSummary {
        class: "without",
        name: "Without tags",
        verdict: format!("Deadlock at {}", milliseconds(closed)),
        facts: vec![
            ("circle", cycle(report)),
            (
                "goodput at the end",
                format!("{:.1} Gb/s", report.gbps_at_end()),
            ),
            (
                "stuck for ever",
                format!(
                    "{} queues, though the links work again",
                    report.stuck_queues
                ),
            ),
            ("lossless drops", report.lossless_drops.to_string()),
        ],
        pictures,
    }
}

fn tagged<'a>(report: &SimulationReport, plots: &'a Plots) -> RunSummary<'a> {
    RunSummary {
        class: "with",
        name: "With tags",
        verdict: "No deadlock".to_owned(),
        facts: vec![
            ("circle", cycle(report)),
            (
                "goodput at the end",
                format!("{:.1} Gb/s", report.gbps_at_end()),
            ),
            ("stuck for ever", "nothing".to_owned()),
            ("lossless drops", report.lossless_drops.to_string()),
        ],
        pictures: vec![
            ("Throughput", plots.throughput.as_str()),
            ("Paused queues over time", plots.pauses.as_str()),
        ],
    }
}

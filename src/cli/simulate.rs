//! `switchwright simulate`: a network in virtual time, under a scenario.

use std::path::Path;

use clap::{Args, ValueEnum};
use p4gen::build::BuildDirectory;
use serde::Serialize;
use simulator::embedded::Network;
use simulator::simulate::{
    Completions, Plots, SeedRun, SimulationReport, Threads, Windows, simulate_shared,
};
use spec::{BUNDLED, Scenario, TransportSpec, WatchdogAction, WatchdogSpec, bundled};

use super::check;
use super::fault::{Context, Fault};
use super::given::Given;
use super::seeds::{self, Seeds};
use super::shard::{LongSharding, Work};
use super::terminal::{self, Terminal};
use super::words::counted;
use measure::timed;

/// What `-o` makes.
const REPORT: &str = "simulation report";

/// Arguments of `switchwright simulate`.
#[derive(Debug, Args)]
pub(super) struct Simulate {
    /// A build directory, instead of the network that the scenario is for.
    directory: Option<String>,
    /// A scenario file (see `docs/simulate.md`), or the name of a scenario that comes with
    /// Switchwright.
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    scenario: Option<String>,
    /// Name the scenarios that come with Switchwright.
    #[arg(long, conflicts_with_all = ["scenario", "directory", "seed", "without_tags", "transport", "watchdog", "output", "show", "threads"])]
    list: bool,
    /// Where chance begins, instead of the scenario's seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Run with this number of consecutive seeds, beginning with the first, and print a line for
    /// each seed instead of the flows.
    #[arg(long, value_name = "N", conflicts_with_all = ["list", "output", "show"], value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: Option<u32>,
    /// Never change a packet's tag, whatever the scenario says: plain PFC.
    #[arg(long)]
    without_tags: bool,
    /// How all flows' senders behave, instead of what the scenario says.
    #[arg(long, value_enum, value_name = "HOW")]
    transport: Option<TransportSpec>,
    /// SONiC's PFC watchdog in every switch, with its default times, instead of what the scenario
    /// says: what becomes of a queue that PFC has stopped for 200 ms.
    #[arg(long, value_enum, value_name = "ACTION")]
    watchdog: Option<WatchdogAction>,
    /// So many threads, each with a part of the network; what comes out is the same whatever their
    /// number. Cables between switches that have no length are not cut, and there are no more parts
    /// than switches.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=Threads::MAX as i64))]
    threads: u16,
    /// Write the pictures here, and report.html that has them all: throughput.svg, queues.svg,
    /// buffers.svg, pauses.svg, and deadlock.svg if there is one, completions.svg if there are
    /// workloads.
    #[arg(short, long, value_name = "DIR")]
    output: Option<String>,
    /// Flows that the table lists; the JSON has all.
    #[arg(long, default_value_t = 24, value_name = "N")]
    show: usize,
    #[command(flatten)]
    sharding: LongSharding,
}

impl Simulate {
    pub(super) fn run(self, given: &Given, terminal: &Terminal) -> Result<(), Fault> {
        if self.seeds.is_none() {
            let reason = "without `--seeds`: runs of several seeds are shared out";
            given.refuse_all(&["shard", "shards"], reason)?;
        }
        if terminal.json {
            given.refuse_all(&["show"], "with `--json`, which has all flows")?;
        }
        let Some(name) = &self.scenario else {
            return list(terminal);
        };
        let mut scenario = load(name)?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.tags &= !self.without_tags;
        if let Some(transport) = self.transport {
            scenario.set_transport(transport).input(name)?;
        }
        if let Some(action) = self.watchdog {
            scenario.watchdog = Some(WatchdogSpec {
                action,
                ..WatchdogSpec::default()
            });
        }
        let network = network(&scenario, self.directory.as_deref(), name, terminal)?;
        if let Some(count) = self.seeds {
            let seeds = Seeds {
                name,
                scenario: &scenario,
                network: &network,
                count,
            };
            let work = || self.work(name, count);
            return seeds.run(work, &self.sharding.clone().into(), terminal);
        }
        if let Some(folder) = &self.output {
            terminal::claim(folder, REPORT)?;
        }
        let watch = terminal.watch("simulating");
        let plots = self.output.is_some();
        let threads = Threads::new(self.threads.into());
        let (shared, seconds) =
            timed(|| simulate_shared(&network, &scenario, plots, threads, watch.progress()));
        drop(watch);
        let (outcome, windows) = shared.input(name)?;
        let mut report = outcome.report;
        report.seconds = seconds;
        if let (Some(folder), Some(plots)) = (&self.output, &outcome.plots) {
            let page = plots.page(&report, &scenario.about).map_err(Fault::input)?;
            write(folder, plots, &page)?;
        }
        terminal.result(&report, || {
            describe(&report, self.show) + &sharing(self.threads.into(), &windows)
        })
    }
}

impl Simulate {
    /// All that the runs of several seeds depend on.
    fn work(&self, scenario: &str, seeds: u32) -> Result<Work, Fault> {
        if scenario == "-" {
            return Err(Fault::input(
                "`--shard` with a scenario from standard input: the shares and `merge` must read the same file",
            )
            .help("write the scenario to a file"));
        }
        let manifest = |folder: &String| format!("{}/manifest.json", folder.trim_end_matches('/'));
        let directory = self.directory.as_ref().map(manifest);
        Ok(Work::Simulate {
            scenario: Work::text(scenario, &text(scenario)?),
            directory: directory.as_deref().map(Work::input).transpose()?,
            seed: self.seed,
            seeds,
            without_tags: self.without_tags,
            transport: self.transport.and_then(name_of),
            watchdog: self.watchdog.and_then(name_of),
        })
    }
}

/// What shares of runs from several seeds have found.
///
/// # Errors
/// Shares of something else, a scenario that is another one by now.
pub(super) fn merged(
    work: &Work,
    runs: Vec<SeedRun>,
    seconds: f64,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let Work::Simulate { scenario, .. } = work else {
        return Err(Fault::input("these are no shares of `simulate`"));
    };
    scenario.hold_text(&text(&scenario.path)?)?;
    seeds::tell(&load(&scenario.path)?.name, runs, seconds, terminal)
}

/// The name of a value on the command line.
fn name_of(value: impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_owned())
}

/// How threads shared the work; nothing for one that was asked for.
fn sharing(wanted: usize, windows: &Windows) -> String {
    if wanted == 1 {
        return String::new();
    }
    let by = match windows.threads {
        1 => format!("1 of {wanted}: no cable that takes time parts the network"),
        threads if threads < wanted => format!("{threads} of {wanted}, one for each part"),
        threads => threads.to_string(),
    };
    let share = |events: u64| 100.0 * events as f64 / windows.events.max(1) as f64;
    terminal::facts(&[
        ("threads", by),
        (
            "windows",
            format!(
                "{} of {} ns at most, {:.0} events in each, {:.1} % of them at the thread with the most; {} looks at all",
                windows.windows,
                windows.lookahead_ns,
                windows.events_per_window(),
                share(windows.longest_thread_events),
                windows.looks
            ),
        ),
        (
            "between parts",
            format!("{} frames and words", windows.messages),
        ),
    ])
}

/// A bundled scenario, for people and for `--json`.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: String,
}

/// What `simulate --list --json` prints.
#[derive(Serialize)]
struct List {
    scenarios: Vec<Listed>,
}

fn list(terminal: &Terminal) -> Result<(), Fault> {
    let mut all = Vec::new();
    for &(name, text) in BUNDLED {
        let about = Scenario::from_yaml(text).input(name)?.about;
        all.push(Listed { name, about });
    }
    let list = List { scenarios: all };
    terminal.result(&list, || {
        let rows: Vec<(&str, String)> = list
            .scenarios
            .iter()
            .map(|listed| (listed.name, first_sentence(&listed.about)))
            .collect();
        terminal::facts(&rows)
    })
}

fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text,
    }
}

/// Reads a scenario: a file, or one that comes with Switchwright where there is no such file.
///
/// # Errors
/// A name that is neither, or a file that is no scenario.
pub(super) fn load(name: &str) -> Result<Scenario, Fault> {
    Scenario::from_yaml(&text(name)?).input(name)
}

/// The text of a scenario.
///
/// # Errors
/// A name that is neither a file nor a scenario that comes along.
pub(super) fn text(name: &str) -> Result<String, Fault> {
    match bundled(name) {
        Some(text) if !Path::new(name).exists() => Ok(text.to_owned()),
        _ => terminal::read(name)
            .map_err(|fault| fault.help("`simulate --list` names the scenarios that come along")),
    }
}

/// The network that a scenario is played on: a build directory if there is one, else what it asks
/// for itself.
///
/// # Errors
/// A directory that is no build, a network that cannot be or whose plan is not proven.
pub(super) fn network(
    scenario: &Scenario,
    directory: Option<&str>,
    name: &str,
    terminal: &Terminal,
) -> Result<Network, Fault> {
    let Some(place) = directory else {
        let plan = check::prove(scenario.tables().input(name)?, terminal)?;
        return Network::of(plan).input(name);
    };
    let directory = BuildDirectory::open(Path::new(place))
        .and_then(BuildDirectory::over_p4runtime)
        .input(place)?;
    let plan = check::prove(check::load_built(&directory)?, terminal)?;
    Network::open(directory, plan).input(place)
}

fn write(folder: &str, plots: &Plots, page: &str) -> Result<(), Fault> {
    let place = |name: &str| Path::new(folder).join(name).to_string_lossy().into_owned();
    for (name, text) in [
        ("report.html", Some(page)),
        ("throughput.svg", Some(plots.throughput.as_str())),
        ("queues.svg", Some(plots.queues.as_str())),
        ("buffers.svg", Some(plots.buffers.as_str())),
        ("pauses.svg", Some(plots.pauses.as_str())),
        ("deadlock.svg", plots.deadlock.as_deref()),
        ("completions.svg", plots.completions.as_deref()),
    ] {
        let place = place(name);
        match text {
            Some(text) => terminal::write(&place, text)?,
            // What an earlier run left there would be a lie.
            None => match std::fs::remove_file(&place) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).input(&place);
                }
                _ => {}
            },
        }
    }
    Ok(())
}

/// The figures for people.
pub(super) fn describe(report: &SimulationReport, show: usize) -> String {
    let mut text = deadlocks(report);
    let rows: Vec<Vec<String>> = report
        .flows
        .iter()
        .take(show)
        .map(|flow| {
            vec![
                flow.name.clone(),
                flow.priority.to_string(),
                format!("{:.3}", flow.gbps),
                format!("{:.3}", flow.gbps_at_end),
                flow.bytes.to_string(),
                flow.marked.to_string(),
                flow.completed_us
                    .map_or_else(|| "-".to_owned(), |us| format!("{us:.1}")),
            ]
        })
        .collect();
    let header = [
        "flow",
        "priority",
        "Gb/s",
        "at the end",
        "bytes",
        "marked",
        "done after us",
    ];
    text.push_str(&terminal::table(&header, &[1, 2, 3, 4, 5, 6], &rows));
    if report.flows.len() > show {
        text.push_str(&format!(
            "  and {} more\n",
            counted(report.flows.len() - show, "flow")
        ));
    }
    text.push_str(&workloads(report));
    let rows: Vec<Vec<String>> = report
        .switches
        .iter()
        .filter(|s| s.pauses_sent > 0 || s.paused_us > 0.0 || s.marked > 0)
        .take(show)
        .map(|switch| {
            vec![
                switch.name.clone(),
                switch.peak_bytes.to_string(),
                switch.headroom_peak_bytes.to_string(),
                switch.pauses_sent.to_string(),
                format!("{:.1}", switch.paused_us),
                switch.marked.to_string(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let header = [
            "switch",
            "most bytes",
            "in headroom",
            "pauses sent",
            "paused us",
            "marked",
        ];
        text.push_str(&terminal::table(&header, &[1, 2, 3, 4, 5], &rows));
    }
    let losses = report.losses;
    if let Some(watchdog) = report.watchdog {
        text.push_str(&terminal::facts(&[(
            "watchdog",
            format!(
                "{} storms, {} restored, {} lossless packets thrown away",
                watchdog.storms, watchdog.restored, watchdog.dropped
            ),
        )]));
    }
    let speed = report.packet_hops as f64 / report.seconds.max(1e-9) / 1e6;
    text + &terminal::facts(&[
        ("throughput", format!("{:.3} Gb/s", report.gbps)),
        (
            "lost",
            format!(
                "{} lossless, {} lossy, {} by the program, {} with links",
                losses.lossless, losses.lossy, losses.program, losses.link_down
            ),
        ),
        ("simulated", format!("{:.1} us", report.simulated_us)),
        (
            "computed in",
            format!(
                "{:.2} s: {} packet-hops, {} events, {speed:.2} million hops/s",
                report.seconds, report.packet_hops, report.events
            ),
        ),
    ])
}

/// What jobs took; nothing where there are none.
fn workloads(report: &SimulationReport) -> String {
    let row = |name: &str, found: &Completions| {
        let (times, normalized) = (&found.times_us, &found.normalized);
        vec![
            name.to_owned(),
            found.bytes.to_string(),
            found.jobs.to_string(),
            found.unfinished.to_string(),
            format!("{:.1}", found.optimum_us),
            format!("{:.1}", times.p50),
            format!("{:.1}", times.p99),
            format!("{:.1}", times.p999),
            format!("{:.2}", normalized.p50),
            format!("{:.2}", normalized.p99),
            format!("{:.2}", normalized.p999),
        ]
    };
    let rows = report.workloads.iter().flat_map(|workload| {
        let completions = workload.completions.iter();
        completions.map(move |found| row(&workload.name, found))
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = [
        "workload",
        "bytes",
        "jobs",
        "not done",
        "optimum us",
        "p50",
        "p99",
        "p99.9",
        "p50/optimum",
        "p99",
        "p99.9",
    ];
    terminal::table(&header, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &rows)
}

fn deadlocks(report: &SimulationReport) -> String {
    let tags = if report.tags {
        "with tags"
    } else {
        "without tags"
    };
    if report.deadlock.is_empty() {
        return format!("{} {tags}: no deadlock\n", report.scenario);
    }
    let mut text = String::new();
    for deadlock in &report.deadlock {
        text.push_str(&format!(
            "{} {tags}: DEADLOCK at {:.1} us, certain at {:.1} us; {} queues can never move again\n",
            report.scenario, deadlock.closed_us, deadlock.confirmed_us, deadlock.stuck
        ));
        for queue in &deadlock.cycle {
            text.push_str(&format!("  {queue} waits for\n"));
        }
        if let Some(first) = deadlock.cycle.first() {
            text.push_str(&format!("  {first}\n"));
        }
    }
    text
}

//! `switchwright bench watchdog`: what SONiC's PFC watchdog is worth in the deadlocks that come
//! along, beside doing nothing and beside tags.

use quantities::Nanos;
use serde::Serialize;
use simulator::embedded::Network;
use simulator::simulate::{SimulationReport, simulate};
use spec::{BUNDLED, Scenario, Time, WatchdogAction, WatchdogSpec};

use super::none_matches;
use switchwright::cli::fault::{Context, Fault};
use switchwright::cli::prove;
use switchwright::cli::terminal::{self, Terminal};

/// The scenarios: those with a deadlock that stays after what caused it is mended.
const CASES: [&str; 3] = ["bounce", "bounce-leaf-spine", "routing-loop"];
/// How long each lasts: SONiC's watchdog looks every 200 ms.
const DURATION: Nanos = Nanos::new(700_000_000);

/// A run.
#[derive(Serialize)]
struct Figure {
    scenario: &'static str,
    against: &'static str,
    deadlocks: usize,
    /// Throughput over the whole run, all flows together.
    gbps: f64,
    /// Throughput in the last tenth of it.
    gbps_at_end: f64,
    /// Queues that the watchdog found in a storm.
    storms: u64,
    /// Lossless packets that the watchdog threw away. No host misbehaves: all are innocent.
    dropped: u64,
    /// Lossless packets that switches dropped for want of headroom, as where `forward` sends in
    /// spite of a PAUSE: innocent too.
    lossless_drops: u64,
    /// Queues that can never move again, at the end.
    stuck_queues: usize,
}

#[derive(Serialize)]
struct WatchdogBench {
    duration_ms: u64,
    runs: Vec<Figure>,
}

pub(super) fn run(only: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    let wanted = |name: &&&str| only.is_none_or(|text| name.contains(text));
    let cases: Vec<&'static str> = CASES.iter().filter(wanted).copied().collect();
    if cases.is_empty() {
        return Err(none_matches(only, &CASES));
    }
    let mut runs = Vec::new();
    for name in cases {
        let text = BUNDLED.iter().find(|(known, _)| *known == name);
        let (_, text) = text.ok_or_else(|| Fault::input(format!("there is no scenario {name}")))?;
        let scenario = Scenario::from_yaml(text).input(name)?;
        let plan = prove(scenario.tables().input(name)?, terminal)?;
        let network = Network::of(plan).input(name)?;
        for (against, tags, action) in [
            ("nothing", false, None),
            ("watchdog, drop", false, Some(WatchdogAction::Drop)),
            ("watchdog, forward", false, Some(WatchdogAction::Forward)),
            ("tags", true, None),
        ] {
            let bar = terminal.progress(&format!("{name}: {against}"));
            let played = Scenario {
                duration: Time(DURATION),
                tags,
                watchdog: action.map(|action| WatchdogSpec {
                    action,
                    ..WatchdogSpec::default()
                }),
                ..scenario.clone()
            };
            let outcome = simulate(&network, &played, false).input(name)?;
            bar.finish_and_clear();
            runs.push(Figure::of(name, against, &outcome.report));
        }
    }
    let report = WatchdogBench {
        duration_ms: DURATION.get() / 1_000_000,
        runs,
    };
    terminal.result(&report, || describe(&report))
}

impl Figure {
    fn of(scenario: &'static str, against: &'static str, report: &SimulationReport) -> Self {
        let watchdog = report.watchdog.unwrap_or_default();
        Self {
            scenario,
            against,
            deadlocks: report.deadlocks,
            gbps: report.gbps,
            gbps_at_end: report.flows.iter().map(|flow| flow.gbps_at_end).sum(),
            storms: watchdog.storms,
            dropped: watchdog.dropped,
            lossless_drops: report.lossless_drops,
            stuck_queues: report.stuck_queues,
        }
    }
}

fn describe(report: &WatchdogBench) -> String {
    let row = |figure: &Figure| {
        vec![
            figure.scenario.to_owned(),
            figure.against.to_owned(),
            figure.deadlocks.to_string(),
            format!("{:.1}", figure.gbps),
            format!("{:.1}", figure.gbps_at_end),
            figure.storms.to_string(),
            (figure.dropped + figure.lossless_drops).to_string(),
            figure.stuck_queues.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = report.runs.iter().map(row).collect();
    let header = [
        "scenario",
        "against deadlock",
        "deadlocks",
        "Gb/s",
        "at the end",
        "storms",
        "innocent drops",
        "stuck queues",
    ];
    let text = format!(
        "each over {} ms, watchdog with SONiC's defaults",
        report.duration_ms
    );
    format!(
        "{text}\n{}",
        terminal::table(&header, &[2, 3, 4, 5, 6, 7], &rows)
    )
}

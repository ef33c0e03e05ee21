//! The experiments of TaggerDraft section 7, in virtual time.

use quantities::Bytes;
use spec::{Scenario, Size};

use super::super::item::{EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::super::scenes::{Play, at_end, play, play_changed};
use super::statements;
use crate::tagging_cases;

const WITHOUT: Play = Play {
    without_tags: true,
    transport: None,
};

const TRANSITION: &[&str] = &[
    "scenario 1: flow 2 is paused",
    "scenario 1: flow 1 goes on",
    "scenario 1: nothing is lost",
    "scenario 2: flow 2 is paused",
    "scenario 2: flow 1 goes on",
    "scenario 2: nothing is lost",
    "scenario 3: flows 1 and 2 are paused",
    "scenario 3: nothing is lost",
];

/// Section 7.1.
pub(super) fn transition_rows() -> Vec<Row> {
    statements::rows(TRANSITION)
}

/// The three scenarios.
pub(super) fn transition(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut hold = Vec::new();
    for scenario in 1..=3 {
        let name = format!("lossless-transition-{scenario}");
        let report = play(&name, Play::default())?;
        let (first, second) = (at_end(&report, "flow1"), at_end(&report, "flow2"));
        if scenario < 3 {
            hold.extend([second == 0.0, first > 1.0]);
        } else {
            hold.push(first == 0.0 && second == 0.0);
        }
        hold.push(report.lossless_drops == 0);
    }
    Ok(statements::values(TRANSITION, &hold))
}

const VALIDATION: &[&str] = &[
    "loop, without tags: a deadlock",
    "loop, without tags: flow 2 stands still",
    "loop, with tags: no deadlock",
    "loop, with tags: flow 2 is not affected",
    "three flows, without tags: a deadlock",
    "three flows, without tags: all stand still",
    "three flows, with tags: no deadlock",
    "three flows, with tags: all have good throughput",
];

/// Section 7.2.
pub(super) fn validation_rows() -> Vec<Row> {
    statements::rows(VALIDATION)
}

/// Both scenarios, twice.
pub(super) fn validation(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let [looped, looped_tagged] = both("routing-loop")?;
    let [three, three_tagged] = both("three-flows")?;
    let rates = |report: &simulator::simulate::SimulationReport| -> Vec<f64> {
        report.flows.iter().map(|flow| flow.gbps_at_end).collect()
    };
    let hold = [
        looped.deadlocks > 0,
        at_end(&looped, "flow2") == 0.0,
        looped_tagged.deadlocks == 0,
        at_end(&looped_tagged, "flow2") > 9.5,
        three.deadlocks > 0,
        rates(&three).iter().all(|&rate| rate == 0.0),
        three_tagged.deadlocks == 0,
        rates(&three_tagged).iter().all(|&rate| rate > 15.0),
    ];
    Ok(statements::values(VALIDATION, &hold))
}

/// A scenario without tags and with them.
fn both(name: &str) -> Result<[simulator::simulate::SimulationReport; 2], ItemError> {
    Ok([play(name, WITHOUT)?, play(name, Play::default())?])
}

const CARRIED: &str = "throughput over six tagged hops, over that without tags";
const TOOK: &str = "time of a message over six tagged hops, over that without tags";

/// Section 7.3.2, which expects a small overhead.
pub(super) fn overhead_rows() -> Vec<Row> {
    [CARRIED, TOOK]
        .map(|name| Row::new("part", name, Said::Number(1.0)).within(Tolerance::Part(0.01)))
        .to_vec()
}

/// The scenario, twice.
pub(super) fn overhead(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let [plain, tagged] = both("tag-at-every-hop")?;
    let message = |report: &simulator::simulate::SimulationReport| {
        let mut flows = report.flows.iter();
        flows
            .find(|flow| flow.name == "message")
            .and_then(|flow| flow.completed_us)
    };
    let mut values = vec![Value::of(
        CARRIED,
        at_end(&tagged, "large") / at_end(&plain, "large"),
    )];
    if let (Some(plain), Some(tagged)) = (message(&plain), message(&tagged)) {
        values.push(Value::of(TOOK, tagged / plain));
    }
    Ok(values)
}

const PRIORITIES: &str = "at most 7 lossless priorities in all of them";
const BOTTLENECK: &str = "at most 100 rules of port sets on a switch";

/// Section 7.3.1, which expects few priorities and rules, and prints none.
pub(super) fn resources_rows() -> Vec<Row> {
    statements::rows(&[PRIORITIES, BOTTLENECK])
}

/// Fat-trees, BCubes and Jellyfish by size.
pub(super) fn resources(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    let (mut priorities, mut rules) = (0, 0);
    for case in tagging_cases() {
        let figure = case.measure().told()?;
        let kind = case
            .name
            .split([' ', '('])
            .next()
            .unwrap_or_default()
            .to_owned();
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let (switches, most) = (figure.switches as f64, figure.rules_max as f64);
        values.push(Value::of(format!("{}: rules", case.name), most).on(&kind, switches));
        priorities = priorities.max(figure.priorities);
        rules = rules.max(figure.rules_max);
    }
    values.push(Value::holds(PRIORITIES, priorities <= 7));
    values.push(Value::holds(BOTTLENECK, rules <= 100));
    Ok(values)
}

const REUSE: &[&str] = &[
    "the shared link stays full",
    "the flow of the other user gets less than half",
    "no deadlock, nothing is lost",
];

/// Section 7.4.
pub(super) fn reuse_rows() -> Vec<Row> {
    statements::rows(REUSE)
}

/// The scenario.
pub(super) fn reuse(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let report = play("priority-reuse", Play::default())?;
    let sum: f64 = report.flows.iter().map(|flow| flow.gbps_at_end).sum();
    // Frames of 1500 bytes and 24 of overhead at 40 Gb/s.
    const FULL: f64 = 40.0 * 1500.0 / 1524.0;
    let hold = [
        sum > 0.98 * FULL,
        at_end(&report, "flow3") < 0.5 * FULL,
        report.deadlocks == 0 && report.lossless_drops == 0,
    ];
    Ok(statements::values(REUSE, &hold))
}

const ALL_ARRIVE: &str = "bounced packets lossless: all messages arrive";
const FASTER: &str = "lossless is faster than lossy at the slowest message";
const FASTER_FULL: &str =
    "lossless is faster than lossy at the slowest message, lossy queues of 60 KB";
const NEVER: &str = "shortest paths only: messages between the cut leaves never arrive";

/// Section 7.5.
pub(super) fn spaces_rows() -> Vec<Row> {
    // The draft plans this experiment: it names neither buffers nor a result.
    const MARKED: &str = "flows are marked from 60 KB on and a lossy queue has 100 KB: the few packets that it loses are sent again within a round trip; where it has 60 KB, messages wait for timeouts (next row)";
    vec![
        Row::holds(ALL_ARRIVE),
        Row::holds(FASTER).because(MARKED),
        Row::holds(FASTER_FULL),
        Row::holds(NEVER),
    ]
}

/// The three schemes, and the second with lossy queues that overflow before flows are marked.
pub(super) fn spaces(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let lossless = messages(1, |_| ())?;
    let lossy = messages(2, |_| ())?;
    let short = messages(2, |scenario| {
        scenario.switches.lossy_limit = Some(Size(Bytes::new(60_000)));
    })?;
    let none = messages(3, |_| ())?;
    Ok(vec![
        Value::holds(ALL_ARRIVE, lossless.iter().all(Option::is_some)),
        Value::holds(FASTER, slowest(&lossless) < slowest(&lossy)),
        Value::holds(FASTER_FULL, slowest(&lossless) < slowest(&short)),
        Value::holds(NEVER, none.iter().any(Option::is_none)),
    ])
}

/// What every message of a scheme took, in microseconds; nothing for one that had not ended with
/// the scenario.
fn messages(scheme: u8, change: impl FnOnce(&mut Scenario)) -> Result<Vec<Option<f64>>, ItemError> {
    let name = format!("hierarchical-space-{scheme}");
    let report = play_changed(&name, Play::default(), change)?;
    let flows = report.flows.iter();
    let own = flows.filter(|flow| flow.name.starts_with("message"));
    Ok(own.map(|flow| flow.completed_us).collect())
}

/// The slowest of messages, in microseconds: infinite if one did not end.
fn slowest(times: &[Option<f64>]) -> f64 {
    let times = times.iter().map(|time| time.unwrap_or(f64::INFINITY));
    times.fold(0.0, f64::max)
}

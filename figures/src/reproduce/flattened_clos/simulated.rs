//! Section 6 and Figures 8, 9 and 14: four switches, and the large network under load.

use spec::TransportSpec;

use super::super::item::{EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::super::scenes::{Play, play};
use crate::{PacketBench, PacketCase};

const RATIO: &str = "up and down over trees: throughput";
const UP_DOWN: &str = "up and down: no deadlock";
const TREES: &str = "trees: no deadlock";
const ECMP: &str = "shortest paths without tags: a deadlock";

/// Section 6.1 and Figure 8: about half as much again as trees.
pub(super) fn testbed_rows() -> Vec<Row> {
    const REASON: &str = "the paths of the paper's switches are not said: here they are those of its simulation that are not balanced, 24 flows on the fullest \
                          link; balanced ones carry twice what trees do";
    let mut rows = vec![
        Row::new("times", RATIO, Said::Number(1.5))
            .within(Tolerance::Part(0.05))
            .higher()
            .because(REASON),
    ];
    rows.extend([UP_DOWN, TREES, ECMP].map(Row::holds));
    rows
}

/// Ours.
pub(super) fn testbed(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let without = Play {
        without_tags: true,
        transport: None,
    };
    let up_down = play("four-switches-virtual-up-down", Play::default())?;
    let trees = play("four-switches-edst", Play::default())?;
    let ecmp = play("four-switches-ecmp", without)?;
    Ok(vec![
        Value::of(RATIO, up_down.gbps / trees.gbps),
        Value::holds(UP_DOWN, up_down.deadlocks == 0),
        Value::holds(TREES, trees.deadlocks == 0),
        Value::holds(ECMP, ecmp.deadlocks > 0),
    ])
}

const CLOSES: &str = "us until the circle closes";
const DCQCN: &str = "with DCQCN too shortest paths deadlock";
const DONE: &str = "up and down never does";

/// Section 6.2: the last of four pauses at 552 us.
pub(super) fn deadlock_rows() -> Vec<Row> {
    const REASON: &str = "here every host sends at line rate from the first moment, and the queues of the 24 flows that share a link are at 50 KB before DCQCN has \
                          slowed anyone; how the paper's senders begin is not said";
    let mut rows = vec![
        Row::new("us", CLOSES, Said::Number(552.0))
            .within(Tolerance::Part(0.1))
            .because(REASON),
    ];
    rows.extend([DCQCN, DONE].map(Row::holds));
    rows
}

/// Ours.
pub(super) fn deadlock(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let ecmp = play(
        "four-switches-ecmp",
        Play {
            without_tags: true,
            transport: Some(TransportSpec::Dcqcn),
        },
    )?;
    let up_down = play(
        "four-switches-virtual-up-down",
        Play {
            without_tags: false,
            transport: Some(TransportSpec::Dcqcn),
        },
    )?;
    let mut values = vec![
        Value::holds(DCQCN, ecmp.deadlocks > 0),
        Value::holds(DONE, up_down.deadlocks == 0),
    ];
    values.extend(
        ecmp.deadlock
            .first()
            .map(|first| Value::of(CLOSES, first.closed_us)),
    );
    Ok(values)
}

const LOADED: &str = "no deadlock at a load of 0.7, near-worst traffic, up and down";
const PAUSES: &str = "a large amount of PFC pauses";

/// Figure 14 (d).
pub(super) fn load_rows() -> Vec<Row> {
    const BUFFER: &str = "FC23 does not say how much its switches buffer: ours have 32 MB, of which no input takes 11 % under DCQCN (marks from 100 KB on, as HPCC19 has them)";
    [LOADED, PAUSES]
        .map(|name| Row::holds(name).because(BUFFER))
        .to_vec()
}

/// Ours.
pub(super) fn load(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let bench = PacketBench::new(0.7, 1).told()?;
    let case = PacketCase::all().find(|case| case.name() == "near-worst, up and down");
    let case = case.ok_or_else(|| ItemError::new("no such case"))?;
    let figure = bench.measure(&case, run.progress).told()?;
    Ok(vec![
        Value::holds(LOADED, figure.deadlocks == 0),
        Value::holds(PAUSES, figure.pauses > 1000),
    ])
}

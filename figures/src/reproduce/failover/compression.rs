//! Tables 4.11 and 4.12: rules before over after compression.
//!
//! Every number stands twice: with ways as Stephens15 has them, and where the hosts of a switch
//! share backup ways, which is ours.

use plan::failover::Output;
use schemes::failover::PathPolicy;

use super::super::item::{Effort, EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use crate::failover::{RATIOS, RatioCell, Shape, state, within_reach};

const OUTPUTS: [(Output, &str); 2] = [
    (Output::SourceRoutes, "source routes"),
    (Output::HopByHop, "hop by hop"),
];
const PATHS: [(PathPolicy, &str); 2] = [
    (PathPolicy::CommonOnly, ""),
    (PathPolicy::Common, ", shared backup ways"),
];

const REASON: &str = "ratios depend on which of the equally short ways are drawn and in which order rules are merged, which the thesis leaves open";

const OUT_OF_REACH: &str = "more than two cores with a few gigabytes compute in hours";

fn series(t: u8, output: &str, ways: &str) -> String {
    format!("t = {t}, {output}{ways}")
}

fn name(cell: &RatioCell, output: &str, ways: &str) -> String {
    format!("{} hosts, {}", cell.1, series(cell.2, output, ways))
}

/// What is computed quickly.
fn quick(cell: &RatioCell) -> bool {
    cell.2 <= 2 && (cell.1 == 512 || cell.1 == 1024 && cell.2 <= 1)
}

fn cells(shape: Shape) -> impl Iterator<Item = &'static RatioCell> {
    RATIOS.iter().filter(move |cell| cell.0 == shape)
}

pub(super) fn rows(shape: Shape) -> Vec<Row> {
    let mut rows = Vec::new();
    for cell in cells(shape) {
        for (output, words) in OUTPUTS {
            let paper = match output {
                Output::SourceRoutes => Some(cell.3),
                Output::HopByHop => cell.4,
            };
            let said = paper.map_or(Said::NotLegible, Said::Number);
            for (_, ways) in PATHS {
                let row = Row::new(&series(cell.2, words, ways), name(cell, words, ways), said)
                    .at(f64::from(cell.1))
                    .within(Tolerance::Part(0.1))
                    .higher()
                    .because(REASON)
                    .full_if(!quick(cell))
                    .out_of_reach((!within_reach(cell)).then_some(OUT_OF_REACH));
                rows.push(row);
            }
        }
    }
    rows
}

pub(super) fn measure(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    // What is out of reach stays without a verdict.
    let wanted =
        |cell: &&RatioCell| quick(cell) || run.effort == Effort::Full && within_reach(cell);
    for cell in cells(shape).filter(wanted) {
        for (output, words) in OUTPUTS {
            if output == Output::HopByHop && cell.4.is_none() {
                continue;
            }
            for (paths, ways) in PATHS {
                let figure = state(cell, output, paths).told()?;
                values.push(Value::of(name(cell, words, ways), figure.ratio));
            }
        }
    }
    Ok(values)
}

//! Tables 4.13 to 4.15: the 99.9th percentile of stretch.

use schemes::failover::{FailoverOptions, FailoverScheme};

use super::super::item::{Effort, ItemError, Row, Run, Said, Told, Tolerance, Value};
use super::ground::{plinko, sets, trees, under};
use crate::failover::{STRETCH, Shape, StretchCell};

const SIZES: [u32; 5] = [1, 4, 16, 64, 256];
const HOSTS: u32 = 1024;

const REASON: &str = "our trees are other trees: the 99.9th percentile is that of the deepest few";

fn series(cell: &StretchCell, correlated: bool) -> String {
    let default_tree = if cell.2 { ", default tree" } else { "" };
    let kind = if correlated { "neighbours" } else { "uniform" };
    format!("t = {}{default_tree}, {kind}", cell.1)
}

fn name(cell: &StretchCell, correlated: bool) -> String {
    format!("{}, {} failed", series(cell, correlated), cell.3)
}

/// The resilience that is computed quickly.
fn quick(scheme: &str) -> u8 {
    if scheme == "fi" { 2 } else { 1 }
}

fn rows(scheme: &str) -> Vec<Row> {
    let cells = STRETCH.iter().filter(|cell| cell.0 == scheme);
    let of_cell = |cell: &StretchCell| {
        [(cell.4, false), (cell.5, true)].map(|(paper, correlated)| {
            let said = paper.map_or(Said::NotLegible, Said::Number);
            Row::new(&series(cell, correlated), name(cell, correlated), said)
                .at(f64::from(cell.3))
                .within(Tolerance::By(0.25))
                .lower()
                .because(REASON)
                .full_if(cell.1 != quick(scheme))
        })
    };
    cells.flat_map(of_cell).collect()
}

fn measure(
    scheme: &str,
    run: &Run<'_>,
    options: impl Fn(u8, bool) -> FailoverOptions,
) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(HOSTS).told()?;
    let cells = || STRETCH.iter().filter(|cell| cell.0 == scheme);
    let mut plans: Vec<(u8, bool)> = cells().map(|cell| (cell.1, cell.2)).collect();
    plans.dedup();
    plans.retain(|plan| run.effort == Effort::Full || plan.0 == quick(scheme));
    let mut values = Vec::new();
    for (t, default_tree) in plans {
        let figures = under(
            &topology,
            &options(t, default_tree),
            &sets(run, &SIZES),
            run,
        )?;
        for figure in figures {
            let of = |cell: &&StretchCell| {
                (cell.1, cell.2, cell.3) == (t, default_tree, figure.failures)
            };
            let cell = cells().find(of);
            let name = cell.map(|cell| name(cell, figure.correlated));
            values.extend(name.map(|name| Value::of(name, figure.stretch_999)));
        }
    }
    Ok(values)
}

/// Table 4.13.
pub(super) fn identifying_rows() -> Vec<Row> {
    rows("fi")
}

/// Ours.
pub(super) fn identifying(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    measure("fi", run, |t, _| plinko(t))
}

/// Table 4.14.
pub(super) fn adst_rows() -> Vec<Row> {
    rows("adst")
}

/// Ours.
pub(super) fn adst(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    measure("adst", run, |t, tree| trees(FailoverScheme::Adst, t, tree))
}

/// Table 4.15.
pub(super) fn edst_rows() -> Vec<Row> {
    rows("edst")
}

/// Ours.
pub(super) fn edst(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    measure("edst", run, |t, tree| trees(FailoverScheme::Edst, t, tree))
}

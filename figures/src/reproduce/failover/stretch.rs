//! Tables 4.13 to 4.15: the 99.9th percentile of stretch.

use schemes::failover::{FailoverOptions, FailoverScheme, TreeGrowth};

use super::super::item::{Effort, EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::ground::{GROWTHS, plinko, sets, trees, under};
use crate::failover::{STRETCH, Shape, StretchCell};
use measure::failover::kind_of_sets;

const SIZES: [u32; 5] = [1, 4, 16, 64, 256];
const HOSTS: u32 = 1024;

const REASON: &str =
    "our random trees are other trees: the 99.9th percentile is that of the deepest few";

/// How the trees of a table grow; failure-identifying schemes have none.
fn growths(scheme: &str) -> &'static [(TreeGrowth, &'static str)] {
    if scheme == "fi" {
        &GROWTHS[..1]
    } else {
        &GROWTHS
    }
}

fn series(cell: &StretchCell, correlated: bool, trees: &str) -> String {
    let default_tree = if cell.2 { ", default tree" } else { "" };
    let kind = kind_of_sets(correlated);
    format!("t = {}{default_tree}{trees}, {kind}", cell.1)
}

fn name(cell: &StretchCell, correlated: bool, trees: &str) -> String {
    format!("{}, {} failed", series(cell, correlated, trees), cell.3)
}

/// The resilience that is computed quickly.
fn quick(scheme: &str) -> u8 {
    if scheme == "fi" { 2 } else { 1 }
}

fn cells(scheme: &str) -> impl Iterator<Item = &'static StretchCell> {
    STRETCH.iter().filter(move |cell| cell.0 == scheme)
}

fn rows(scheme: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for cell in cells(scheme) {
        for (_, trees) in growths(scheme) {
            for (paper, correlated) in [(cell.4, false), (cell.5, true)] {
                let said = paper.map_or(Said::NotLegible, Said::Number);
                let row = Row::new(
                    &series(cell, correlated, trees),
                    name(cell, correlated, trees),
                    said,
                );
                rows.push(
                    row.at(f64::from(cell.3))
                        .within(Tolerance::By(0.5))
                        .lower()
                        .because(REASON)
                        .full_if(cell.1 != quick(scheme)),
                );
            }
        }
    }
    rows
}

fn measure(
    scheme: &str,
    run: &Run<'_>,
    options: impl Fn(u8, bool, TreeGrowth) -> FailoverOptions,
) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(HOSTS).told()?;
    let mut plans: Vec<(u8, bool)> = cells(scheme).map(|cell| (cell.1, cell.2)).collect();
    plans.dedup();
    plans.retain(|plan| run.effort == Effort::Full || plan.0 == quick(scheme));
    let mut values = Vec::new();
    for (t, default_tree) in plans {
        for (growth, trees) in growths(scheme) {
            let figures = under(
                &topology,
                &options(t, default_tree, *growth),
                &sets(run, &SIZES),
                run,
            )?;
            for figure in figures {
                let of = |cell: &&StretchCell| {
                    (cell.1, cell.2, cell.3) == (t, default_tree, figure.failures)
                };
                let name = cells(scheme)
                    .find(of)
                    .map(|cell| name(cell, figure.correlated, trees));
                values.extend(name.map(|name| Value::of(name, figure.stretch_999)));
            }
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
    measure("fi", run, |t, _, _| plinko(t))
}

/// Table 4.14.
pub(super) fn adst_rows() -> Vec<Row> {
    rows("adst")
}

/// Ours.
pub(super) fn adst(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    measure("adst", run, |t, tree, growth| {
        trees(FailoverScheme::Adst, t, tree, growth)
    })
}

/// Table 4.15.
pub(super) fn edst_rows() -> Vec<Row> {
    rows("edst")
}

/// Ours.
pub(super) fn edst(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    measure("edst", run, |t, tree, growth| {
        trees(FailoverScheme::Edst, t, tree, growth)
    })
}

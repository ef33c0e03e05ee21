//! What the entries of the chapter share: plans of a scheme, put under failures.

use schemes::failover::{FailoverOptions, FailoverScheme, TreeGrowth, failover};
use topology::Topology;

use super::super::item::{EntryError, ItemError, Run};
use measure::failover::{FailureFigure, Sets, plan_under_failures};

/// Failure-identifying ways for so many failures.
pub(super) fn plinko(t: u8) -> FailoverOptions {
    FailoverOptions {
        resilience: t,
        stack: Some(32),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    }
}

/// How disjoint trees grow, and what the rows of each are called: as Stephens15's, and ours.
pub(super) const GROWTHS: [(TreeGrowth, &str); 2] = [
    (TreeGrowth::Random, ""),
    (TreeGrowth::Shallow, ", shallow trees"),
];

/// Disjoint trees for so many failures.
pub(super) fn trees(
    scheme: FailoverScheme,
    t: u8,
    default_tree: bool,
    growth: TreeGrowth,
) -> FailoverOptions {
    FailoverOptions {
        resilience: t,
        default_tree,
        growth,
        stack: Some(32),
        ..FailoverOptions::new(scheme)
    }
}

/// Sets of failures of these sizes, as many as the effort says.
pub(super) fn sets(run: &Run<'_>, sizes: &[u32]) -> Sets {
    Sets {
        sizes: sizes.to_vec(),
        count: run.effort.pick(2, 10) * 2,
        seed: 1,
    }
}

/// A plan under failures.
///
/// # Errors
/// A plan that cannot be.
pub(super) fn under(
    topology: &Topology,
    options: &FailoverOptions,
    sets: &Sets,
    run: &Run<'_>,
) -> Result<Vec<FailureFigure>, ItemError> {
    let tables = failover(topology, options).told()?;
    let tables = tables
        .failover
        .ok_or_else(|| ItemError::new("no failover tables"))?;
    let name = options.scheme.name();
    Ok(plan_under_failures(
        name,
        topology,
        &tables,
        sets,
        run.progress,
    ))
}

/// The figure of so many failures.
///
/// # Errors
/// None of that size, for the network has fewer links.
pub(super) fn at(
    figures: &[FailureFigure],
    failures: u32,
    correlated: bool,
) -> Result<&FailureFigure, ItemError> {
    let mut figures = figures.iter();
    figures
        .find(|figure| figure.failures == failures && figure.correlated == correlated)
        .ok_or_else(|| ItemError::new(format!("no sets of {failures} failed links")))
}

/// What was lost, for a row that asks whether it is at most `most`; nothing if it was none of too
/// few flows to tell (by the rule of three, with 95 % certainty).
pub(super) fn lost_below(figure: &FailureFigure, most: f64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let enough = figure.flows as f64 * most >= 3.0;
    (figure.lost > 0.0 || enough).then_some(figure.lost)
}

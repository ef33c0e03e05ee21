//! What part of all flows is lost under failures of links although there is a way (Stephens15
//! Figures 4.1 and 4.18): every host's flow to every other, under many sets of failures, so that
//! rare losses are counted too.

use measure::failover::{Sets, edge_failure};
use plan::check::resilience::Survey;
use plan::failover::{Element, LabelKind};
use schemes::failover::{FailoverOptions, FailoverScheme};
use serde::{Deserialize, Serialize};
use topology::Fabric;

use super::super::planning::MeasureError;
use super::failures::FailurePlan;
use super::{Shape, tables};

/// What part of all flows is lost.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LossFigure {
    /// The shape of the topology.
    pub topology: String,
    /// The scheme and what matters of its options.
    pub subject: String,
    /// Links that fail at once, drawn uniformly.
    pub failures: u32,
    /// Sets of so many that were drawn.
    pub sets: u32,
    /// Sets under which a flow was lost although there was a way.
    pub sets_with_losses: u32,
    /// Flows under each set: every host to every host of another switch.
    pub flows: u64,
    /// Flows that were lost although there was a way, over all flows.
    pub lost: f64,
    /// Half of the 95 % interval of `lost`, from how it differs between sets; `None` where no set
    /// had a loss.
    pub lost_error: Option<f64>,
    /// Stephens15's approximation of `lost`, equation 4.2 (failure-identifying schemes).
    pub lost_by_4_2: Option<f64>,
}

/// The schemes of Stephens15's Figures 4.1 and 4.18, and trees beyond what the resilience needs.
#[must_use]
pub fn loss_cases() -> Vec<FailurePlan> {
    let with_trees = |scheme: FailoverScheme, resilience, default_tree, trees: Option<u8>| {
        let tree = if default_tree { " default tree" } else { "" };
        let more = trees.map_or_else(String::new, |trees| format!(" {trees} trees"));
        FailurePlan {
            name: format!("{} t{resilience}{more}{tree}", scheme.name()),
            options: FailoverOptions {
                resilience,
                default_tree,
                trees,
                stack: Some(32),
                ..FailoverOptions::new(scheme)
            },
        }
    };
    let case = |scheme, resilience, tree| with_trees(scheme, resilience, tree, None);
    let mut cases = [0, 1, 2, 4]
        .map(|t| case(FailoverScheme::Plinko, t, false))
        .to_vec();
    for scheme in [FailoverScheme::Adst, FailoverScheme::Edst] {
        for t in [0, 1, 2, 4] {
            cases.extend([false, true].map(|tree| case(scheme, t, tree)));
        }
        cases.extend([8, 12].map(|trees| with_trees(scheme, 4, false, Some(trees))));
    }
    cases
}

/// Measures what a scheme loses on a topology of Stephens15's evaluation with so many hosts.
///
/// # Errors
/// [`MeasureError`].
pub fn losses(
    case: &FailurePlan,
    shape: Shape,
    hosts: u32,
    sets: &Sets,
) -> Result<Vec<LossFigure>, MeasureError> {
    let topology = shape.topology(hosts)?;
    let failover = tables(&topology, &case.options)?;
    let survey = Survey::of(&topology, &failover, Element::Link);
    let (flows, hops) = (survey.flows(), survey.mean_hops());
    let links = Fabric::new(&topology).arcs().len() / 2;
    let sizes = sets.sizes.iter().filter(|&&size| size as usize <= links);
    let figure = |&failures: &u32| {
        // Every second set is one of neighbours.
        let drawn = survey.draw(failures, 2 * sets.count, sets.seed);
        let uniform: Vec<Vec<u32>> = drawn.into_iter().step_by(2).collect();
        let lost: Vec<f64> = survey
            .losses(&uniform)
            .iter()
            .map(|losses| losses.avoidable as f64 / flows.max(1) as f64)
            .collect();
        let parts = failover.parts();
        let identifying = parts.len() == 1 && failover.label != LabelKind::FailedTrees;
        let t = u8::try_from(failover.claim.failures).unwrap_or(u8::MAX);
        LossFigure {
            topology: shape.name().to_owned(),
            subject: case.name.clone(),
            failures,
            sets: u32::try_from(lost.len()).unwrap_or(u32::MAX),
            sets_with_losses: u32::try_from(lost.iter().filter(|&&lost| lost > 0.0).count())
                .unwrap_or(u32::MAX),
            flows,
            lost: mean(&lost),
            lost_error: interval(&lost),
            lost_by_4_2: identifying
                .then(|| edge_failure(links as f64, f64::from(failures), hops, t)),
        }
    };
    Ok(sizes.map(figure).collect())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Half of the 95 % interval of the mean, by the normal distribution.
fn interval(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    if mean == 0.0 || values.len() < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let count = values.len() as f64;
    Some(1.96 * (squares / (count - 1.0) / count).sqrt())
}

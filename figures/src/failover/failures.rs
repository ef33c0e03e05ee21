//! Traffic under failures on the topologies of Stephens15: links and switches that fail, its own
//! numbers beside (sections 4.1.1, 4.7, 4.8.2, 4.8.3).

use measure::failover::{
    FailureFigure, Ground, SetTally, Sets, Tally, ends_failure, figures_by, plan_under_failures,
    vertex_failure,
};
use plan::check::Share;
use plan::check::resilience::Survey;
use plan::failover::{Element, Failover};
use quantities::Progress;
use schemes::failover::{FailoverOptions, FailoverScheme, PathPolicy};
use serde::{Deserialize, Serialize};
use topology::{LinkId, SwitchId, Topology};

use super::super::planning::MeasureError;
use super::paper::STRETCH;
use super::traffic::reactive;
use super::{Shape, tables};

/// What becomes of traffic under failures of switches.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SwitchFailureFigure {
    /// The scheme and what matters of its options.
    pub subject: String,
    /// Switches that fail at once.
    pub failures: u32,
    /// Flows that were lost, those whose source or destination failed included, over all flows.
    pub lost: f64,
    /// Stephens15's approximation of that: equation 4.4, or 4.3 for reactive routing. (4.4 takes no
    /// flow for lost up to the resilience, not even those whose ends failed.)
    pub lost_by_equation: Option<f64>,
    /// Flows that were lost although there was a way, over all flows.
    pub avoidable: f64,
}

/// A scheme to put under failures.
#[derive(Clone, Debug)]
pub struct FailurePlan {
    /// Its name in tables and plots.
    pub name: String,
    /// Its options.
    pub options: FailoverOptions,
}

/// The schemes of Stephens15's Tables 4.13 to 4.15 and Figures 4.1, 4.16 to 4.18.
#[must_use]
pub fn failure_cases() -> Vec<FailurePlan> {
    let case = |name: String, options| FailurePlan { name, options };
    let plinko = |t, paths, multipath| FailoverOptions {
        resilience: t,
        paths,
        multipath,
        stack: Some(32),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let random = PathPolicy::RandomShortest;
    let mut cases: Vec<FailurePlan> = [0, 1, 2, 4, 6]
        .map(|t| case(format!("plinko t{t}"), plinko(t, random, None)))
        .to_vec();
    let aware = plinko(4, PathPolicy::Common, None);
    cases.push(case("plinko t4 compression-aware".to_owned(), aware));
    for ways in [1, 2, 4, 8] {
        let options = plinko(4, random, Some(ways));
        cases.push(case(format!("plinko t4 {ways} paths"), options));
    }
    for scheme in [FailoverScheme::Adst, FailoverScheme::Edst] {
        for t in [1, 2, 4] {
            for default_tree in [false, true] {
                let tree = if default_tree { " default tree" } else { "" };
                let options = FailoverOptions {
                    resilience: t,
                    default_tree,
                    stack: Some(32),
                    ..FailoverOptions::new(scheme)
                };
                cases.push(case(format!("{} t{t}{tree}", scheme.name()), options));
            }
        }
    }
    cases
}

/// Measures a scheme under failures of links on Stephens15's fat-tree with so many hosts, and so
/// many of them per unit of bisection bandwidth.
///
/// # Errors
/// [`MeasureError`].
pub fn under_failures(
    case: &FailurePlan,
    hosts: u32,
    oversubscription: u8,
    sets: &Sets,
) -> Result<Vec<FailureFigure>, MeasureError> {
    let topology = Shape::Egft.topology_at(hosts, oversubscription)?;
    let failover = tables(&topology, &case.options)?;
    let mut figures =
        plan_under_failures(&case.name, &topology, &failover, sets, &Progress::default());
    if hosts == 1024 && oversubscription == 1 {
        let options = &case.options;
        let name = if options.scheme.by_trees() {
            options.scheme.name()
        } else {
            "fi"
        };
        for figure in &mut figures {
            let key = (
                name,
                options.resilience,
                options.default_tree,
                figure.failures,
            );
            let beside = STRETCH.iter().find(|c| (c.0, c.1, c.2, c.3) == key);
            let pick = |cell: &super::StretchCell| if figure.correlated { cell.5 } else { cell.4 };
            figure.stretch_999_of_paper = beside.and_then(pick);
        }
    }
    Ok(figures)
}

/// The same figures for routing that knows of every failure at once and takes random shortest
/// paths: what no local failover can beat.
///
/// # Errors
/// [`MeasureError`].
pub fn reactive_routing(hosts: u32, sets: &Sets) -> Result<Vec<FailureFigure>, MeasureError> {
    reactive_on(&Shape::Egft.topology(hosts)?, sets)
}

/// As [`reactive_routing`], on any topology.
///
/// # Errors
/// [`MeasureError`].
pub fn reactive_on(topology: &Topology, sets: &Sets) -> Result<Vec<FailureFigure>, MeasureError> {
    let options = FailoverOptions {
        resilience: 0,
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let failover = tables(topology, &options)?;
    let survey = Survey::of(topology, &failover, Element::Link);
    let ground = Ground::new(topology, &failover, sets);
    let all = Share::ALL;
    let tallies = ground.tallies(&survey, (sets, all), &Progress::default(), |set, bundle| {
        let links: Vec<LinkId> = set.iter().map(|&link| LinkId::new(link)).collect();
        reactive(
            topology,
            &ground.fabric,
            &failover,
            &bundle.flows,
            &links,
            &[],
        )
    });
    let links = ground.fabric.arcs().len() / 2;
    let none = |_: &FailureFigure, _| (None, None);
    Ok(figures_by("shortest paths", (sets, links), &tallies, none))
}

/// Measures a failure-identifying scheme under failures of switches on Stephens15's fat-tree with
/// so many hosts: `sizes` switches at once, drawn uniformly.
///
/// # Errors
/// [`MeasureError`].
pub fn under_switch_failures(
    hosts: u32,
    sets: &Sets,
) -> Result<Vec<SwitchFailureFigure>, MeasureError> {
    let topology = Shape::Egft.topology(hosts)?;
    let mut figures = Vec::new();
    for protect in [Element::Switch, Element::Link] {
        for t in [0, 1, 2, 4] {
            let options = FailoverOptions {
                resilience: t,
                protect,
                stack: Some(32),
                ..FailoverOptions::new(FailoverScheme::Plinko)
            };
            let failover = tables(&topology, &options)?;
            let what = match protect {
                Element::Link => "links",
                Element::Switch => "switches",
            };
            let subject = format!("plinko t{t} of {what}");
            figures.extend(switch_figures(&subject, &topology, &failover, sets, false));
            if (protect, t) == (Element::Switch, 0) {
                let subject = "shortest paths";
                figures.extend(switch_figures(subject, &topology, &failover, sets, true));
            }
        }
    }
    Ok(figures)
}

fn switch_figures(
    subject: &str,
    topology: &Topology,
    failover: &Failover,
    sets: &Sets,
    shortest: bool,
) -> Vec<SwitchFailureFigure> {
    let survey = Survey::of(topology, failover, Element::Switch);
    let ground = Ground::new(topology, failover, sets);
    let switches = topology.switches().len();
    let t = u8::try_from(failover.claim.failures).unwrap_or(u8::MAX);
    let sizes = sets
        .sizes
        .iter()
        .filter(|&&size| (size as usize) < switches);
    sizes
        .map(|&failures| {
            let drawn = survey.draw(failures, sets.count.max(2), sets.seed);
            let mut tallies = Vec::new();
            for set in drawn.iter().step_by(2) {
                let flows = &ground.flows.flows;
                let outcomes = if shortest {
                    let dead: Vec<SwitchId> = set.iter().map(|&s| SwitchId::new(s)).collect();
                    reactive(topology, &ground.fabric, failover, flows, &[], &dead)
                } else {
                    survey.outcomes(set, flows)
                };
                let mut tally = SetTally::default();
                tally.count(&outcomes);
                tallies.push(tally);
            }
            let tally = Tally::of(tallies.iter());
            let (all, failed) = (switches as f64, f64::from(failures));
            let equation = match (shortest, failover.claim.element) {
                (true, _) => Some(ends_failure(all, failed)),
                (false, Element::Switch) => {
                    Some(vertex_failure(all, failed, tally.average_path(), t))
                }
                (false, Element::Link) => None,
            };
            let flows = tally.flows.max(1) as f64;
            SwitchFailureFigure {
                subject: subject.to_owned(),
                failures,
                lost: (tally.lost + tally.cut_off) as f64 / flows,
                lost_by_equation: equation,
                avoidable: tally.lost as f64 / flows,
            }
        })
        .collect()
}

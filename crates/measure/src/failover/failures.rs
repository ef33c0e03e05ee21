//! Traffic under failures: what is lost although there is a way, how much longer the ways get, what
//! throughput is left (Stephens15 sections 4.1.1, 4.7, 4.8.2, 4.8.3).

use std::collections::BTreeMap;

use plan::check::Share;
use plan::check::resilience::{FlowOutcome, Survey};
use plan::failover::{Element, Failover, LabelKind, Part};
use quantities::Progress;
use serde::{Deserialize, Serialize};
use topology::{Fabric, Topology};

use super::equations::{edge_failure, edge_failure_simple};
use super::throughput::max_min;
use super::traffic::Bundle;

/// Which failures are drawn.
#[derive(Clone, Debug)]
pub struct Sets {
    /// Numbers of links (or switches) that fail at once.
    pub sizes: Vec<u32>,
    /// Sets for each number, half of them uniform, half of neighbours.
    pub count: u32,
    /// Seed of the drawing and of the traffic.
    pub seed: u64,
}

impl Default for Sets {
    /// Links that fail at once in Stephens15's tables.
    fn default() -> Self {
        Self {
            sizes: vec![1, 4, 16, 64, 256],
            count: 20,
            seed: 1,
        }
    }
}

/// How sets of failures are drawn, in a word.
#[must_use]
pub const fn kind_of_sets(correlated: bool) -> &'static str {
    if correlated { "neighbours" } else { "uniform" }
}

/// What becomes of traffic under failures of links.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FailureFigure {
    /// The scheme and what matters of its options.
    pub subject: String,
    /// Links that fail at once.
    pub failures: u32,
    /// Whether they are neighbours.
    pub correlated: bool,
    /// Flows.
    pub flows: u64,
    /// Flows that were lost although there was a way, over all flows.
    pub lost: f64,
    /// Stephens15's approximation of that, equation 4.1 (failure-identifying schemes, uniform
    /// failures).
    pub lost_by_4_1: Option<f64>,
    /// The same by equation 4.2.
    pub lost_by_4_2: Option<f64>,
    /// Median stretch of the flows that met a failure and arrived.
    pub stretch_median: f64,
    /// Their 99th percentile.
    pub stretch_99: f64,
    /// Their 99.9th percentile.
    pub stretch_999: f64,
    /// Stephens15's 99.9th percentile on its 1024-host fat-tree.
    pub stretch_999_of_paper: Option<f64>,
    /// Aggregate max-min fair throughput of four flows a host, over hosts times line rate, averaged
    /// over sets.
    pub throughput: f64,
    /// What every set of failures lost, as a part of its flows (Stephens15 Figure 4.3 has their
    /// distribution).
    pub lost_of_sets: Vec<f64>,
    /// Where destinations differ in how their packets survive failures: what is lost to each kind
    /// of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartLosses>,
}

/// What is lost to destinations whose packets survive failures in one way: of the flows of every
/// host to each of them, not of a sample.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct PartLosses {
    /// What the header of packets to them says.
    pub label: Option<LabelKind>,
    /// Failures that packets to them survive, as the plan claims.
    pub resilience: u32,
    /// How many destinations there are.
    pub destinations: u64,
    /// Flows under each set: every host to every one of them at another switch.
    pub flows: u64,
    /// Sets under which a flow was lost although there was a way.
    pub sets_with_losses: u64,
    /// Flows that were lost although there was a way, over all flows of all sets.
    pub lost: f64,
}

/// Random destinations of a host where losses and stretch are counted, and where throughput is
/// (Stephens15 section 4.7).
const DEGREE: usize = 36;
const BULK: usize = 4;

/// Measures the failover tables of any plan under failures of links.
#[must_use]
pub fn plan_under_failures(
    name: &str,
    topology: &Topology,
    failover: &Failover,
    sets: &Sets,
    progress: &Progress,
) -> Vec<FailureFigure> {
    let all = Share::ALL;
    let tallies = share_under_failures(topology, failover, (sets, all), progress);
    figures_of_sets(name, topology, failover, sets, &tallies)
}

/// Measures some of the sets of failures that [`plan_under_failures`] measures: those whose number,
/// over all sizes, is in the share. What all shares found, in the order of the sets, is what
/// [`figures_of_sets`] takes.
#[must_use]
pub fn share_under_failures(
    topology: &Topology,
    failover: &Failover,
    (sets, share): (&Sets, Share),
    progress: &Progress,
) -> Vec<SetTally> {
    let survey = Survey::of(topology, failover, Element::Link);
    let ground = Ground::new(topology, failover, sets);
    let mut tallies = ground.tallies(&survey, (sets, share), progress, |set, bundle| {
        survey.outcomes(set, &bundle.flows)
    });
    let places = places_of_parts(failover);
    let drawn = ground.sets_of(&survey, (sets, share));
    for own in places.iter().filter(|_| places.len() > 1) {
        let flows = survey.flows_to(own);
        let losses = survey.losses_to(own, &drawn);
        for (tally, losses) in tallies.iter_mut().zip(losses) {
            tally.parts.push((flows, losses.avoidable));
        }
    }
    tallies
}

/// The places of the destinations of each part of failover tables.
fn places_of_parts(failover: &Failover) -> Vec<Vec<usize>> {
    let parts = failover.parts();
    let of = |part: &Part| {
        let all = failover.destinations.iter().enumerate();
        let own = all.filter(|(_, own)| failover.protection(own) == part.protection);
        own.map(|(place, _)| place).collect()
    };
    parts.iter().map(of).collect()
}

/// The figures of all sets.
#[must_use]
pub fn figures_of_sets(
    name: &str,
    topology: &Topology,
    failover: &Failover,
    sets: &Sets,
    tallies: &[SetTally],
) -> Vec<FailureFigure> {
    let links = Fabric::new(topology).arcs().len() / 2;
    let parts = failover.parts();
    let identifying = parts.len() == 1 && failover.label != LabelKind::FailedTrees;
    let t = u8::try_from(failover.claim.failures).unwrap_or(u8::MAX);
    let equation = |figure: &FailureFigure, hops| {
        let asked = identifying && !figure.correlated;
        let by = |equation: fn(f64, f64, f64, u8) -> f64| {
            asked.then(|| equation(links as f64, f64::from(figure.failures), hops, t))
        };
        (by(edge_failure_simple), by(edge_failure))
    };
    let mut figures = figures_by(name, (sets, links), tallies, equation);
    for figure in &mut figures {
        for (of_part, part) in figure.parts.iter_mut().zip(&parts) {
            of_part.label = Some(part.protection.label);
            of_part.resilience = part.protection.failures;
            of_part.destinations = part.destinations as u64;
        }
    }
    figures
}

/// A network with the traffic that is put under failures.
pub struct Ground {
    /// The network.
    pub fabric: Fabric,
    /// Many flows, for losses and stretch.
    pub flows: Bundle,
    /// Few flows, for throughput.
    bulk: Bundle,
}

impl Ground {
    /// The network with flows drawn at random from the seed of the sets.
    #[must_use]
    pub fn new(topology: &Topology, failover: &Failover, sets: &Sets) -> Self {
        let fabric = Fabric::new(topology);
        let uniform = |degree, seed| Bundle::uniform(topology, &fabric, failover, degree, seed);
        Self {
            flows: uniform(DEGREE, sets.seed),
            bulk: uniform(BULK, sets.seed.wrapping_add(1)),
            fabric,
        }
    }

    /// What the sets of a share show; `outcomes` computes what becomes of flows under a set.
    #[must_use]
    pub fn tallies(
        &self,
        survey: &Survey<'_>,
        (sets, share): (&Sets, Share),
        progress: &Progress,
        outcomes: impl Fn(&[u32], &Bundle) -> Vec<FlowOutcome>,
    ) -> Vec<SetTally> {
        let own = self.sets_of(survey, (sets, share));
        progress.begin(own.len() as u64);
        let mut tallies = Vec::new();
        for set in &own {
            let mut tally = SetTally::default();
            tally.count(&outcomes(set, &self.flows));
            tally.throughput = max_min(&outcomes(set, &self.bulk), &self.bulk);
            tallies.push(tally);
            progress.advance(1);
        }
        tallies
    }

    /// The sets of a share.
    fn sets_of(&self, survey: &Survey<'_>, (sets, share): (&Sets, Share)) -> Vec<Vec<u32>> {
        let all = sets.numbered(self.fabric.arcs().len() / 2);
        let own = |number: usize| number % share.of.max(1) == share.index;
        let mut drawn = (0, Vec::new());
        let mut of_share = Vec::new();
        for (number, (failures, place)) in all.into_iter().enumerate() {
            if !own(number) {
                continue;
            }
            if drawn.0 != failures || drawn.1.is_empty() {
                drawn = (failures, survey.draw(failures, sets.each(), sets.seed));
            }
            of_share.push(drawn.1[place].clone());
        }
        of_share
    }
}

impl Sets {
    /// Sets for each number: at least one of each kind.
    fn each(&self) -> u32 {
        self.count.max(2)
    }

    /// The sets in order, each by how many of so many links fail in it, and by its place among
    /// those of its size.
    fn numbered(&self, links: usize) -> Vec<(u32, usize)> {
        let sizes = self.sizes.iter().filter(|&&size| size as usize <= links);
        sizes
            .flat_map(|&size| (0..self.each() as usize).map(move |place| (size, place)))
            .collect()
    }
}

/// The figures of all sets on a topology of so many links: a figure for each number of failures and
/// kind of set. `equations` gives what equations 4.1 and 4.2 approximate for a figure whose average
/// path has so many hops.
#[must_use]
pub fn figures_by(
    name: &str,
    (sets, links): (&Sets, usize),
    tallies: &[SetTally],
    equations: impl Fn(&FailureFigure, f64) -> (Option<f64>, Option<f64>),
) -> Vec<FailureFigure> {
    let numbered = sets.numbered(links);
    let of_size = numbered
        .chunks(sets.each() as usize)
        .zip(tallies.chunks(sets.each() as usize));
    let mut figures = Vec::new();
    for (numbered, tallies) in of_size {
        for correlated in [false, true] {
            let own = tallies.iter().skip(usize::from(correlated)).step_by(2);
            let tally = Tally::of(own);
            let mut figure = tally.figure(name, numbered[0].0, correlated);
            (figure.lost_by_4_1, figure.lost_by_4_2) = equations(&figure, tally.average_path());
            figures.push(figure);
        }
    }
    figures
}

/// What one set of failures has shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SetTally {
    flows: u64,
    /// Lost although there was a way.
    lost: u64,
    /// Lost because there was none.
    cut_off: u64,
    /// Of the flows that arrived.
    hops: u64,
    arrived: u64,
    /// Of the flows that met a failure and arrived: hops, the fewest possible, and how many.
    stretched: Vec<(u64, u16, u64)>,
    throughput: f64,
    /// Where destinations differ in how their packets survive failures, for each kind of them: all
    /// flows, and how many were lost although there was a way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<(u64, u64)>,
}

impl SetTally {
    /// Counts what became of flows under the set.
    pub fn count(&mut self, outcomes: &[FlowOutcome]) {
        let mut stretched: BTreeMap<(u64, u16), u64> = BTreeMap::new();
        self.flows += outcomes.len() as u64;
        for outcome in outcomes {
            match (&outcome.way, outcome.fewest) {
                (None, Some(_)) => self.lost += 1,
                (None, None) => self.cut_off += 1,
                (Some(way), fewest) => {
                    let hops = way.len() as u64;
                    self.hops += hops;
                    self.arrived += 1;
                    if let Some(fewest) = fewest.filter(|_| outcome.met_failure) {
                        *stretched.entry((hops, fewest)).or_default() += 1;
                    }
                }
            }
        }
        let counted = stretched
            .into_iter()
            .map(|((hops, fewest), n)| (hops, fewest, n));
        self.stretched.extend(counted);
    }
}

/// What several sets have shown.
#[derive(Default)]
pub struct Tally {
    /// Flows.
    pub flows: u64,
    /// Flows that were lost although there was a way.
    pub lost: u64,
    /// Flows that were lost because there was none.
    pub cut_off: u64,
    hops: u64,
    arrived: u64,
    /// Stretches in rising order, each with how many flows have it.
    stretch: Vec<(f64, u64)>,
    throughput: Vec<f64>,
    lost_of_sets: Vec<f64>,
    parts: Vec<PartTally>,
}

/// What several sets have shown of destinations of one kind.
#[derive(Clone, Default)]
struct PartTally {
    flows: u64,
    lost: u64,
    sets: u64,
    sets_with_losses: u64,
}

impl PartTally {
    fn losses(&self) -> PartLosses {
        PartLosses {
            flows: self.flows / self.sets.max(1),
            sets_with_losses: self.sets_with_losses,
            lost: self.lost as f64 / self.flows.max(1) as f64,
            ..PartLosses::default()
        }
    }
}

impl Tally {
    /// Adds up sets.
    #[must_use]
    pub fn of<'t>(sets: impl Iterator<Item = &'t SetTally>) -> Self {
        let mut tally = Self::default();
        for set in sets {
            tally.flows += set.flows;
            tally.lost += set.lost;
            tally.cut_off += set.cut_off;
            tally.hops += set.hops;
            tally.arrived += set.arrived;
            tally.throughput.push(set.throughput);
            let lost = set.lost as f64 / set.flows.max(1) as f64;
            tally.lost_of_sets.push(lost);
            let stretched = set.stretched.iter().map(|&(hops, fewest, count)| {
                // Both from host to host.
                ((hops as f64 + 2.0) / (f64::from(fewest) + 2.0), count)
            });
            tally.stretch.extend(stretched);
            tally.parts.resize(set.parts.len(), PartTally::default());
            for (all, &(flows, lost)) in tally.parts.iter_mut().zip(&set.parts) {
                all.flows += flows;
                all.lost += lost;
                all.sets += 1;
                all.sets_with_losses += u64::from(lost > 0);
            }
        }
        tally.stretch.sort_by(|a, b| a.0.total_cmp(&b.0));
        tally
    }

    /// Hops of the flows that arrived, on average.
    #[must_use]
    pub fn average_path(&self) -> f64 {
        self.hops as f64 / self.arrived.max(1) as f64
    }

    fn figure(&self, name: &str, failures: u32, correlated: bool) -> FailureFigure {
        FailureFigure {
            subject: name.to_owned(),
            failures,
            correlated,
            flows: self.flows,
            lost: self.lost as f64 / self.flows.max(1) as f64,
            lost_by_4_1: None,
            lost_by_4_2: None,
            stretch_median: self.percentile(0.5),
            stretch_99: self.percentile(0.99),
            stretch_999: self.percentile(0.999),
            stretch_999_of_paper: None,
            throughput: self.throughput.iter().sum::<f64>() / self.throughput.len().max(1) as f64,
            lost_of_sets: self.lost_of_sets.clone(),
            parts: self.parts.iter().map(PartTally::losses).collect(),
        }
    }

    /// Of the sorted stretches the one that so large a part does not exceed; 1 if there are none.
    fn percentile(&self, part: f64) -> f64 {
        let all: u64 = self.stretch.iter().map(|(_, count)| count).sum();
        let place = (all.saturating_sub(1) as f64 * part).ceil() as u64;
        let mut passed = 0;
        let reached = self.stretch.iter().find(|(_, count)| {
            passed += count;
            passed > place
        });
        reached.map_or(1.0, |&(stretch, _)| stretch)
    }
}

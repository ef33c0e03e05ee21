//! The failover schemes in figures: time, state and compression; stretch, losses and throughput under failures;
//! trees. 003's figures stand beside ours where it has them.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use units::Bytes;

use super::machine::{peak_memory, reset_peak_memory, timed};
use super::planning::MeasureError;
use crate::plan::check::resilience::{Fate, Flow, Survey};
use crate::plan::failover::{Failover, Output, StateCounts};
use crate::scheme::failover::{FailoverOptions, FailoverScheme, PathPolicy, failover};
use crate::topology::generate::{Cables, Egft, EgftSize, Jellyfish, JellyfishSize};
use crate::topology::{Fabric, SwitchId, Topology};

/// Ports of 003's switches.
const PORTS: u16 = 64;

/// The topologies of 003's evaluation, at full bisection bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An extended generalized fat-tree.
    Egft,
    /// A random regular graph.
    Jellyfish,
}

impl Shape {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Egft => "egft-b1",
            Self::Jellyfish => "jellyfish-b1",
        }
    }

    /// The topology with so many hosts.
    ///
    /// # Errors
    /// [`MeasureError::Generate`].
    pub fn topology(self, hosts: u32) -> Result<Topology, MeasureError> {
        let cables = Cables::default();
        Ok(match self {
            Self::Egft => {
                let size = EgftSize::Hosts {
                    hosts,
                    ports: PORTS,
                    oversubscription: 1.0,
                };
                Egft { size, cables }.generate()
            }
            Self::Jellyfish => {
                let size = JellyfishSize::Hosts {
                    hosts,
                    oversubscription: 1.0,
                };
                Jellyfish {
                    size,
                    ports: PORTS,
                    seed: 1,
                    cables,
                }
                .generate()
            }
        }?)
    }
}

/// One cell of 003's Tables 4.11 and 4.12: shape, hosts, t, and the compression ratios with source routes and hop
/// by hop.
pub type RatioCell = (Shape, u32, u8, f64, f64);

/// 003's Tables 4.11 and 4.12, as far as two cores reach.
pub const RATIOS: &[RatioCell] = &[
    (Shape::Egft, 512, 0, 1.00, 1.23),
    (Shape::Egft, 512, 1, 1.23, 1.89),
    (Shape::Egft, 512, 2, 2.40, 2.55),
    (Shape::Egft, 512, 4, 3.28, 4.26),
    (Shape::Egft, 1024, 0, 1.00, 1.43),
    (Shape::Egft, 1024, 1, 1.21, 3.29),
    (Shape::Egft, 1024, 2, 2.28, 4.05),
    (Shape::Egft, 1024, 4, 5.36, 10.93),
    (Shape::Egft, 2048, 0, 1.00, 2.37),
    (Shape::Egft, 2048, 1, 1.21, 3.60),
    (Shape::Egft, 2048, 2, 2.87, 7.01),
    (Shape::Egft, 2048, 4, 12.82, 26.86),
    (Shape::Jellyfish, 512, 0, 1.02, 1.02),
    (Shape::Jellyfish, 512, 1, 1.02, 1.45),
    (Shape::Jellyfish, 512, 2, 1.32, 1.95),
    (Shape::Jellyfish, 512, 4, 2.47, 4.01),
    (Shape::Jellyfish, 1024, 0, 1.00, 1.34),
    (Shape::Jellyfish, 1024, 1, 1.18, 2.03),
    (Shape::Jellyfish, 1024, 2, 1.63, 3.01),
    (Shape::Jellyfish, 1024, 4, 4.02, 8.96),
    (Shape::Jellyfish, 2048, 0, 1.00, 1.84),
    (Shape::Jellyfish, 2048, 1, 1.43, 2.70),
    (Shape::Jellyfish, 2048, 2, 2.05, 4.28),
    (Shape::Jellyfish, 2048, 4, 5.51, 11.20),
];

/// What one table of Plinko takes, before and after compression.
#[derive(Clone, Debug, Serialize)]
pub struct StateFigure {
    /// `egft-b1` or `jellyfish-b1`.
    pub topology: &'static str,
    /// Hosts.
    pub hosts: u32,
    /// Resilience.
    pub t: u8,
    /// `source-routes` or `hop-by-hop`.
    pub output: &'static str,
    /// Switches.
    pub switches: usize,
    /// Rules over all switches before compression, random shortest paths.
    pub plain_rules: u64,
    /// Rules of the switch with most, before compression.
    pub plain_rules_max: u64,
    /// TCAM bits of the switch with most, before compression.
    pub plain_bits_max: u64,
    /// The same rules compressed, over all switches.
    pub rules: u64,
    /// Rules of the switch with most.
    pub rules_max: u64,
    /// TCAM bits of the switch with most.
    pub bits_max: u64,
    /// Rules of the switch with most before over after.
    pub ratio: f64,
    /// 003's ratio.
    pub ratio_of_003: f64,
    /// Seconds to plan without compression.
    pub plan_seconds: f64,
    /// Seconds to plan with compression and its proof of equivalence.
    pub compress_seconds: f64,
    /// The most memory held.
    pub peak_memory: Option<Bytes>,
}

fn plinko(t: u8, output: Output) -> FailoverOptions {
    FailoverOptions {
        resilience: t,
        output,
        paths: PathPolicy::Common,
        stack: 32,
        ..FailoverOptions::new(FailoverScheme::Plinko)
    }
}

fn tables(topology: &Topology, options: &FailoverOptions) -> Result<Failover, MeasureError> {
    let tables = failover(topology, options)?;
    tables.failover.ok_or(MeasureError::NoTables)
}

fn most(counts: &[StateCounts], figure: fn(&StateCounts) -> u64) -> u64 {
    counts.iter().map(figure).max().unwrap_or(0)
}

/// Plans one cell with and without compression.
///
/// # Errors
/// [`MeasureError`].
pub fn state(cell: &RatioCell, output: Output) -> Result<StateFigure, MeasureError> {
    let &(shape, hosts, t, source, hop) = cell;
    let topology = shape.topology(hosts)?;
    reset_peak_memory();
    let options = plinko(t, output);
    let (plain, plan_seconds) = timed(|| tables(&topology, &options));
    let before = plain?.counts();
    let options = FailoverOptions {
        compress: true,
        ..options
    };
    let (compressed, compress_seconds) = timed(|| tables(&topology, &options));
    let after = compressed?.counts();
    let rules_max = most(&after, |c| c.rules);
    let plain_rules_max = most(&before, |c| c.rules);
    Ok(StateFigure {
        topology: shape.name(),
        hosts,
        t,
        output: match output {
            Output::SourceRoutes => "source-routes",
            Output::HopByHop => "hop-by-hop",
        },
        switches: topology.switches().len(),
        plain_rules: before.iter().map(|c| c.rules).sum(),
        plain_rules_max,
        plain_bits_max: most(&before, |c| c.tcam_bits),
        rules: after.iter().map(|c| c.rules).sum(),
        rules_max,
        bits_max: most(&after, |c| c.tcam_bits),
        ratio: plain_rules_max as f64 / rules_max.max(1) as f64,
        ratio_of_003: match output {
            Output::SourceRoutes => source,
            Output::HopByHop => hop,
        },
        plan_seconds,
        compress_seconds,
        peak_memory: peak_memory(),
    })
}

/// What becomes of traffic under failures.
#[derive(Clone, Debug, Serialize)]
pub struct FailureFigure {
    /// The scheme.
    pub scheme: &'static str,
    /// Resilience.
    pub t: u8,
    /// Whether packets start on a shortest-path tree.
    pub default_tree: bool,
    /// Links that fail at once.
    pub failures: u32,
    /// Whether they are neighbours.
    pub correlated: bool,
    /// Flows that were lost although there was a way, over all flows.
    pub lost: f64,
    /// 003's approximation of that, equation 4.2 (failure-identifying schemes, uniform failures).
    pub lost_by_equation: Option<f64>,
    /// Median stretch of the flows that met a failure and arrived.
    pub stretch_median: f64,
    /// Their 99.9th percentile.
    pub stretch_999: f64,
    /// 003's 99.9th percentile.
    pub stretch_999_of_003: Option<f64>,
    /// Aggregate max-min fair throughput of four flows a host, over hosts times line rate, averaged over sets.
    pub throughput: f64,
}

/// One row of 003's Tables 4.13 to 4.15: scheme, t, default tree, failures, and the 99.9th percentile with uniform and
/// with correlated failures, where legible.
pub type StretchCell = (&'static str, u8, bool, u32, Option<f64>, Option<f64>);

/// 003's Tables 4.13 to 4.15.
pub const STRETCH: &[StretchCell] = &[
    ("fi", 2, false, 1, Some(1.0), Some(1.0)),
    ("fi", 2, false, 4, Some(1.0), Some(1.5)),
    ("fi", 2, false, 16, Some(1.5), Some(1.5)),
    ("fi", 2, false, 64, Some(1.5), Some(1.5)),
    ("fi", 2, false, 256, Some(1.5), Some(1.5)),
    ("fi", 4, false, 1, Some(1.0), Some(1.0)),
    ("fi", 4, false, 4, Some(1.5), Some(1.5)),
    ("fi", 4, false, 16, Some(1.5), Some(2.0)),
    ("fi", 4, false, 64, Some(2.0), Some(2.0)),
    ("fi", 4, false, 256, Some(2.0), Some(2.0)),
    ("fi", 6, false, 1, Some(1.0), Some(1.0)),
    ("fi", 6, false, 4, Some(1.5), Some(1.5)),
    ("fi", 6, false, 16, Some(1.5), Some(2.0)),
    ("fi", 6, false, 64, Some(2.0), Some(2.0)),
    ("fi", 6, false, 256, Some(2.5), Some(2.5)),
    ("adst", 1, false, 1, Some(2.5), None),
    ("adst", 1, false, 4, Some(3.0), Some(3.0)),
    ("adst", 1, false, 16, Some(3.0), Some(3.0)),
    ("adst", 1, false, 64, Some(3.0), Some(3.0)),
    ("adst", 1, true, 1, Some(2.5), Some(3.0)),
    ("adst", 2, false, 16, Some(2.5), Some(3.5)),
    ("adst", 4, false, 16, Some(2.5), Some(3.0)),
    ("adst", 4, false, 64, Some(3.5), Some(3.5)),
    ("adst", 4, true, 64, Some(3.0), Some(3.5)),
    ("adst", 4, true, 256, Some(4.0), Some(4.0)),
    ("edst", 1, false, 1, Some(5.0), Some(4.5)),
    ("edst", 1, true, 16, Some(6.5), Some(6.5)),
    ("edst", 2, false, 16, Some(6.5), Some(6.5)),
    ("edst", 4, false, 1, Some(3.0), Some(3.5)),
    ("edst", 4, false, 16, Some(4.5), Some(4.5)),
    ("edst", 4, true, 64, Some(6.0), Some(6.0)),
    ("edst", 4, true, 256, Some(6.0), Some(6.0)),
];

/// Links that fail at once in 003's tables.
pub const FAILURES: [u32; 5] = [1, 4, 16, 64, 256];

/// Random destinations of a host where losses and stretch are counted, and where throughput is (003 section 4.7).
const DEGREE: usize = 36;
const BULK: usize = 4;

/// Measures a scheme under failures on 003's 1024-host fat-tree. `sets` sets of failures are drawn for each number
/// of them, half of them uniform, half of neighbours.
///
/// # Errors
/// [`MeasureError`].
pub fn under_failures(
    scheme: FailoverScheme,
    t: u8,
    default_tree: bool,
    sets: u32,
) -> Result<Vec<FailureFigure>, MeasureError> {
    let topology = Shape::Egft.topology(1024)?;
    let options = FailoverOptions {
        resilience: t,
        default_tree,
        stack: 32,
        ..FailoverOptions::new(scheme)
    };
    let failover = tables(&topology, &options)?;
    let survey = Survey::new(&topology, &failover);
    let fabric = Fabric::new(&topology);
    let flows = uniform_flows(&fabric, &failover, DEGREE, 1);
    let bulk = uniform_flows(&fabric, &failover, BULK, 2);
    let mut figures = Vec::new();
    for failures in FAILURES {
        let drawn = survey.draw(failures, sets.max(2), 1);
        for correlated in [false, true] {
            let own = drawn.iter().skip(usize::from(correlated)).step_by(2);
            let mut tally = Tally::default();
            for set in own {
                tally.count(&survey.fates(set, &flows));
                let fates = survey.fates(set, &bulk);
                tally
                    .throughput
                    .push(max_min(&fates, &bulk, failover.destinations.len(), BULK));
            }
            let name = if scheme.by_trees() {
                scheme.name()
            } else {
                "fi"
            };
            let beside = STRETCH
                .iter()
                .find(|&&(n, r, d, f, _, _)| (n, r, d, f) == (name, t, default_tree, failures));
            figures.push(FailureFigure {
                scheme: scheme.name(),
                t,
                default_tree,
                failures,
                correlated,
                lost: tally.lost as f64 / tally.flows.max(1) as f64,
                lost_by_equation: (!scheme.by_trees() && !correlated).then(|| {
                    let links = fabric.arcs().len() / 2;
                    routing_failure(links as f64, f64::from(failures), tally.average_path(), t)
                }),
                stretch_median: tally.percentile(0.5),
                stretch_999: tally.percentile(0.999),
                stretch_999_of_003: beside
                    .and_then(|cell| if correlated { cell.5 } else { cell.4 }),
                throughput: tally.throughput.iter().sum::<f64>()
                    / tally.throughput.len().max(1) as f64,
            });
        }
    }
    Ok(figures)
}

/// What has been counted over several sets.
#[derive(Default)]
struct Tally {
    flows: usize,
    lost: usize,
    hops: usize,
    arrived: usize,
    stretch: Vec<f64>,
    throughput: Vec<f64>,
}

impl Tally {
    fn count(&mut self, fates: &[Fate]) {
        self.flows += fates.len();
        for fate in fates {
            match (&fate.way, fate.fewest) {
                (None, Some(_)) => self.lost += 1,
                (None, None) => {}
                (Some(way), _) => {
                    self.hops += way.len();
                    self.arrived += 1;
                    if fate.met_failure {
                        self.stretch.extend(fate.stretch());
                    }
                }
            }
        }
    }

    fn average_path(&self) -> f64 {
        self.hops as f64 / self.arrived.max(1) as f64
    }

    fn percentile(&mut self, part: f64) -> f64 {
        self.stretch.sort_by(f64::total_cmp);
        let last = self.stretch.len().saturating_sub(1);
        let at = (last as f64 * part).ceil() as usize;
        self.stretch.get(at).copied().unwrap_or(1.0)
    }
}

/// Every host to so many random destinations at other switches.
fn uniform_flows(fabric: &Fabric, failover: &Failover, degree: usize, seed: u64) -> Vec<Flow> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let destinations: Vec<usize> = (0..failover.destinations.len()).collect();
    let sources: Vec<SwitchId> = fabric.edge_switches().collect();
    let mut flows = Vec::new();
    for &source in &sources {
        for _ in fabric.attachments(source) {
            for &destination in destinations.sample(&mut rng, degree) {
                flows.push(Flow {
                    source,
                    destination,
                });
            }
        }
    }
    flows
}

/// 003 equation 4.2: the probability that a route fails although it is `t`-resilient, for so many links, failed
/// links and hops of an average path.
#[must_use]
pub fn routing_failure(links: f64, failed: f64, hops: f64, t: u8) -> f64 {
    if failed <= f64::from(t) {
        return 0.0;
    }
    if links - failed < hops {
        return 1.0;
    }
    let survives = |all: f64| choose_ratio(links - failed, all, hops);
    (0..=u32::from(t))
        .map(|less| 1.0 - survives(links - f64::from(less)))
        .product()
}

/// C(a, n) / C(b, n) for a real n, by interpolation between whole numbers.
fn choose_ratio(a: f64, b: f64, n: f64) -> f64 {
    let whole = |n: u32| {
        (0..n)
            .map(|i| ((a - f64::from(i)) / (b - f64::from(i))).clamp(0.0, 1.0))
            .product::<f64>()
    };
    let low = n.floor();
    let (at, next) = (whole(low as u32), whole(low as u32 + 1));
    at + (next - at) * (n - low)
}

/// Max-min fair rates by progressive filling over links of rate 1, those of the hosts included; the sum over hosts
/// (003 section 4.7; DevoFlow's algorithm 2). A lost flow gets nothing.
fn max_min(fates: &[Fate], flows: &[Flow], destinations: usize, degree: usize) -> f64 {
    // Links: two directions of every fabric link, then hosts sending, then hosts receiving.
    let most = fates.iter().flat_map(|fate| fate.way.iter().flatten());
    let fabric = 2 * (most.map(|(link, _)| link.index()).max().unwrap_or(0) + 1);
    let hosts = flows.len().div_ceil(degree);
    let mut capacity = vec![1.0f64; fabric + hosts + destinations];
    let mut users = vec![Vec::new(); capacity.len()];
    let mut paths = vec![Vec::new(); flows.len()];
    for (at, (fate, flow)) in fates.iter().zip(flows).enumerate() {
        let Some(way) = &fate.way else { continue };
        let crossed = way
            .iter()
            .map(|&(link, first)| 2 * link.index() + usize::from(first));
        let ends = [fabric + at / degree, fabric + hosts + flow.destination];
        paths[at] = crossed.chain(ends).collect();
        for &link in &paths[at] {
            users[link].push(at);
        }
    }
    let mut active: Vec<usize> = users.iter().map(Vec::len).collect();
    let mut rate = vec![None; flows.len()];
    let mut heap: std::collections::BTreeSet<(u64, usize)> = std::collections::BTreeSet::new();
    let share = |capacity: f64, active: usize| (capacity.max(0.0) / active as f64 * 1e12) as u64;
    for (link, &count) in active.iter().enumerate().filter(|(_, count)| **count > 0) {
        heap.insert((share(capacity[link], count), link));
    }
    while let Some((_, link)) = heap.pop_first() {
        let fair = capacity[link].max(0.0) / active[link] as f64;
        let waiting: Vec<usize> = users[link]
            .iter()
            .copied()
            .filter(|&f| rate[f].is_none())
            .collect();
        for flow in waiting {
            rate[flow] = Some(fair);
            for &other in &paths[flow] {
                heap.remove(&(share(capacity[other], active[other].max(1)), other));
                capacity[other] -= fair;
                active[other] -= 1;
                if active[other] > 0 && other != link {
                    heap.insert((share(capacity[other], active[other]), other));
                }
            }
        }
    }
    rate.iter().flatten().sum::<f64>() / hosts.max(1) as f64
}

/// Edge-disjoint trees in figures.
#[derive(Clone, Debug, Serialize)]
pub struct TreesFigure {
    /// Nodes.
    pub nodes: usize,
    /// Edges.
    pub edges: usize,
    /// Trees.
    pub trees: u8,
    /// Seconds for shallow trees: the best of three runs.
    pub seconds: f64,
    /// Seconds for trees of any depth.
    pub plain_seconds: f64,
    /// Depth of every tree hung on its centre.
    pub depths: Vec<u32>,
    /// Depth of every tree of the plain packing.
    pub plain_depths: Vec<u32>,
}

/// Packs edge-disjoint spanning trees of the switches of a topology.
///
/// # Errors
/// [`MeasureError::NoTables`] if there are not as many.
pub fn trees(topology: &Topology, count: u8) -> Result<TreesFigure, MeasureError> {
    let fabric = Fabric::new(topology);
    let number = |s: SwitchId| u32::try_from(s.index()).unwrap_or(u32::MAX);
    let both = fabric.arcs().iter().filter(|arc| arc.from < arc.to);
    let edges: Vec<(u32, u32)> = both.map(|arc| (number(arc.from), number(arc.to))).collect();
    let nodes = fabric.switch_count();
    let mut seconds = f64::INFINITY;
    let mut found = None;
    for _ in 0..3 {
        let (trees, taken) =
            timed(|| crate::scheme::failover::shallow_pack(nodes, &edges, count, 1));
        seconds = seconds.min(taken);
        found = trees;
    }
    let found = found.ok_or(MeasureError::NoTables)?;
    let (plain, plain_seconds) = timed(|| crate::scheme::failover::pack(nodes, &edges, count));
    let of_edges = |tree: Vec<usize>| radius(nodes, tree.into_iter().map(|edge| edges[edge]));
    let of_above = |tree: &crate::scheme::failover::Forest| {
        let up = (0u32..).zip(tree.above.iter().copied());
        radius(nodes, up.filter(|(node, above)| node != above))
    };
    Ok(TreesFigure {
        nodes,
        edges: edges.len(),
        trees: count,
        seconds,
        plain_seconds,
        depths: found.iter().map(of_above).collect(),
        plain_depths: plain.forests().into_iter().map(of_edges).collect(),
    })
}

/// The depth of a tree hung on its centre: half the longest way in it, rounded up.
fn radius(nodes: usize, edges: impl Iterator<Item = (u32, u32)>) -> u32 {
    let mut around = vec![Vec::new(); nodes];
    for (a, b) in edges {
        around[a as usize].push(b);
        around[b as usize].push(a);
    }
    let farthest = |start: u32| {
        let mut depth = vec![u32::MAX; nodes];
        depth[start as usize] = 0;
        let mut order = vec![start];
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            at += 1;
            for &next in &around[node as usize] {
                if depth[next as usize] == u32::MAX {
                    depth[next as usize] = depth[node as usize] + 1;
                    order.push(next);
                }
            }
        }
        let last = order[order.len() - 1];
        (last, depth[last as usize])
    };
    let (end, _) = farthest(0);
    farthest(end).1.div_ceil(2)
}

/// A random graph of the degree, for [`trees`].
///
/// # Errors
/// [`MeasureError::Generate`].
pub fn regular_graph(switches: u32, degree: u16) -> Result<Topology, MeasureError> {
    let size = JellyfishSize::Switches {
        switches,
        fabric_ports: degree,
    };
    let jellyfish = Jellyfish {
        size,
        ports: degree + 1,
        seed: 1,
        cables: Cables::default(),
    };
    Ok(jellyfish.generate()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equation_of_003() {
        // 64 of 1024 links, paths of two hops: 1 - C(960, 2) / C(1024, 2).
        let once = 1.0 - (960.0 * 959.0) / (1024.0 * 1023.0);
        assert!((routing_failure(1024.0, 64.0, 2.0, 0) - once).abs() < 1e-12);
        assert_eq!(routing_failure(1024.0, 4.0, 2.0, 4), 0.0);
        assert!(routing_failure(1024.0, 64.0, 2.0, 4) < 1e-4);
    }

    #[test]
    fn flows_share_what_is_scarce() {
        let flow = |destination| Flow {
            source: SwitchId::new(0),
            destination,
        };
        let fate = |way: &[u32]| Fate {
            met_failure: false,
            way: Some(
                way.iter()
                    .map(|&l| (crate::topology::LinkId::new(l), true))
                    .collect(),
            ),
            fewest: Some(1),
        };
        // Two hosts with two flows each: three flows share link 0, the fourth has its host's other half.
        let flows = [flow(0), flow(1), flow(2), flow(3)];
        let fates = [fate(&[0]), fate(&[0]), fate(&[0]), fate(&[1])];
        let sum = max_min(&fates, &flows, 4, 2);
        assert!((sum - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-9, "{sum}");
    }
}

//! How much traffic Flattened Clos carries beside edge-disjoint spanning trees on the same graph,
//! as FC23's Table 3 tells.
//!
//! Links between switches carry 1 in each direction, links of hosts are no limit, and a switch
//! sends as much as its hosts can: the throughput is the largest factor by which all demands can be
//! multiplied at once.

mod clos;
mod flow;

use quantities::Progress;
use serde::Serialize;
use topology::flattened::{FlattenedLinks, Router, VirtualPath};
use topology::{Fabric, NodeId, SwitchId, Topology};

use super::flattened::{FlattenedBenchError, FlattenedNetwork};
use super::machine::timed;
use super::traffic::Pattern;
use super::trees::spanning_trees;
pub use clos::ClosSize;
pub use flow::Throughput;
use flow::{Commodity, Listed, UpDown};

/// What FC23's Table 3 prints for a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperThroughput {
    /// Flattened Clos.
    pub flattened: f64,
    /// Edge-disjoint spanning trees.
    pub trees: f64,
    /// Clos.
    pub clos: f64,
}

/// Throughput of one pattern of traffic.
#[derive(Clone, Debug, Serialize)]
pub struct ThroughputFigure {
    /// Switches, ports, links of a switch from each layer to the next.
    pub case: String,
    /// The pattern.
    pub traffic: &'static str,
    /// Over disjoint paths up and down.
    pub flattened: Throughput,
    /// Over all paths up and down.
    pub all_up_down: Throughput,
    /// Over edge-disjoint spanning trees, half as many as a switch has links.
    pub trees: Throughput,
    /// The Clos for as many hosts that carries most with no more switches (FC23 appendix A.3);
    /// absent if all have more.
    pub clos: Option<ClosSize>,
    /// What FC23 prints, if its Table 3 has the network.
    pub paper: Option<PaperThroughput>,
    /// Whether at least 1.42 (all-to-all), 1.22 (uniform) or 0.51 (near-worst) is carried over
    /// paths up and down, and 2 to 10 times as much as over trees; absent where FC23 prints no
    /// figure.
    pub agrees: Option<bool>,
    /// Seconds for all three.
    pub seconds: f64,
}

/// A pattern of Table 3, what is asked of it, and FC23's figures.
type Asked = (Pattern, f64, PaperThroughput);

const TABLE_3: [Asked; 3] = [
    (Pattern::AllToAll, 1.42, paper(1.49, 0.48)),
    (Pattern::Uniform, 1.22, paper(1.25, 0.39)),
    (Pattern::NearWorst, 0.51, paper(0.55, 0.16)),
];

const fn paper(flattened: f64, trees: f64) -> PaperThroughput {
    PaperThroughput {
        flattened,
        trees,
        clos: 0.78,
    }
}

/// A network of which throughput is measured.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputCase {
    /// The network.
    pub network: FlattenedNetwork,
    in_table_3: bool,
}

/// That of Table 3, of one virtual layer more than are needed, and the smallest and the largest of
/// which FC23's section 4.1 speaks.
pub const THROUGHPUT_CASES: [ThroughputCase; 3] = [
    case(50, 18, &[3, 3, 3], false),
    case(144, 24, &[4, 4, 4], true),
    case(500, 18, &[2, 2, 2, 3], false),
];

const fn case(
    switches: u32,
    fabric_ports: u16,
    split: &'static [u16],
    in_table_3: bool,
) -> ThroughputCase {
    let network = FlattenedNetwork {
        switches,
        ports: 32,
        fabric_ports,
        split,
    };
    ThroughputCase {
        network,
        in_table_3,
    }
}

/// A network of 64-port switches, as those of FC23's Figure 13: so many of them, in four virtual
/// layers.
#[must_use]
pub const fn large_throughput_case(switches: u32) -> ThroughputCase {
    ThroughputCase {
        network: FlattenedNetwork {
            switches,
            ports: 64,
            fabric_ports: 40,
            split: &[7, 6, 7],
        },
        in_table_3: false,
    }
}

/// The network of Table 3.
pub(super) const TABLE_3_NETWORK: FlattenedNetwork = THROUGHPUT_CASES[1].network;

impl ThroughputCase {
    /// The throughput of every pattern, to within `gap` of the best there can be.
    ///
    /// # Errors
    /// [`FlattenedBenchError`].
    pub fn measure(
        &self,
        gap: f64,
        seed: u64,
        progress: &Progress,
    ) -> Result<Vec<ThroughputFigure>, FlattenedBenchError> {
        let network = &self.network;
        let topology = network.generate(seed)?;
        let fabric = Fabric::new(&topology);
        let up_down = disjoint_paths(&topology, &fabric)?;
        let trees = tree_paths(&fabric);
        let graph = FlattenedLinks::new(&topology)?;
        progress.begin(TABLE_3.len() as u64 * 3);
        let hosts = network.hosts_per_switch();
        let all_hosts = u64::from(network.switches) * hosts as u64;
        let clos = ClosSize::best(all_hosts, network.ports, u64::from(network.switches));
        #[expect(clippy::cast_precision_loss, reason = "at most 65535 ports")]
        let each = hosts as f64;
        let mut figures = Vec::new();
        for (pattern, least, paper) in TABLE_3 {
            let demands = pattern.demands(&fabric, each, seed);
            let done = |found: Throughput| {
                progress.advance(1);
                found
            };
            let over = |paths: &Paths| {
                let arcs = fabric.arcs().len();
                let commodities = commodities(&demands, paths);
                done(flow::throughput(&Listed { arcs, commodities }, gap))
            };
            let all = || done(flow::throughput(&all_up_down(&graph, &demands), gap));
            let ((flattened, (trees, all_up_down)), seconds) =
                timed(|| rayon::join(|| over(&up_down), || rayon::join(|| over(&trees), all)));
            let ratio = flattened.at_least / trees.at_most;
            let agrees = flattened.at_least >= least && (2.0..=10.0).contains(&ratio);
            figures.push(ThroughputFigure {
                case: network.name(),
                traffic: pattern.name(),
                flattened,
                all_up_down,
                trees,
                clos,
                paper: self.in_table_3.then_some(paper),
                agrees: self.in_table_3.then_some(agrees),
                seconds,
            });
        }
        Ok(figures)
    }
}

/// The paths of every pair, as arcs: `paths[from][to]`.
pub(super) type Paths = Vec<Vec<Vec<Vec<u32>>>>;

fn commodities<'a>(demands: &[Vec<f64>], paths: &'a Paths) -> Vec<Commodity<'a>> {
    let mut all = Vec::new();
    for (row, paths) in demands.iter().zip(paths) {
        for (&demand, paths) in row.iter().zip(paths) {
            if demand > 0.0 {
                all.push(Commodity { demand, paths });
            }
        }
    }
    all
}

/// The demands over all paths up and down, target by target.
fn all_up_down<'a>(graph: &'a FlattenedLinks, demands: &[Vec<f64>]) -> UpDown<'a> {
    let numbers = 0..u32::try_from(demands.len()).unwrap_or(u32::MAX);
    let switches = || numbers.clone().map(SwitchId::new);
    let to = |target: SwitchId| {
        let sent = switches()
            .zip(demands)
            .map(|(s, row)| (s, row[target.index()]));
        (target, sent.filter(|&(_, demand)| demand > 0.0).collect())
    };
    UpDown {
        graph,
        demands: switches().map(to).collect(),
    }
}

/// The disjoint paths up and down; those of the opposite pair are the same, reversed (FC23 section
/// 3.2).
pub(super) fn disjoint_paths(
    topology: &Topology,
    fabric: &Fabric,
) -> Result<Paths, FlattenedBenchError> {
    let graph = FlattenedLinks::new(topology)?;
    let mut router = Router::new(&graph);
    let switches = fabric.switch_count();
    let mut all: Paths = vec![vec![Vec::new(); switches]; switches];
    for to in fabric.switch_ids() {
        for from in fabric.switch_ids().filter(|&from| from < to) {
            for path in router.paths(from, to) {
                let forth = arcs(topology, fabric, from, &path);
                let reversed = forth.iter().rev();
                let back = reversed.map(|&arc| raw(fabric.reverse(topology::ArcId::new(arc))));
                all[to.index()][from.index()].push(back.collect());
                all[from.index()][to.index()].push(forth);
            }
        }
    }
    Ok(all)
}

/// The arcs of a path.
fn arcs(topology: &Topology, fabric: &Fabric, from: SwitchId, path: &VirtualPath) -> Vec<u32> {
    let mut at = from;
    let mut arcs = Vec::new();
    for crossing in path {
        let link = topology.link(crossing.link);
        let end = [link.a, link.b].into_iter();
        let port = end
            .filter(|end| end.node == NodeId::Switch(at))
            .map(|end| end.port);
        arcs.extend(port.filter_map(|port| fabric.arc_at(at, port)).map(raw));
        at = crossing.to;
    }
    arcs
}

fn raw(arc: topology::ArcId) -> u32 {
    u32::try_from(arc.index()).unwrap_or(u32::MAX)
}

/// The paths over edge-disjoint spanning trees, one on each tree.
pub(super) fn tree_paths(fabric: &Fabric) -> Paths {
    let switches = fabric.switch_count();
    let mut all: Paths = vec![vec![Vec::new(); switches]; switches];
    for out in spanning_trees(fabric) {
        for (from, rows) in all.iter_mut().enumerate() {
            let mut ahead = vec![(from, usize::MAX, Vec::new())];
            while let Some((at, before, path)) = ahead.pop() {
                for &id in &out[at] {
                    let to = fabric.arc(id).to.index();
                    if to != before {
                        let mut path: Vec<u32> = path.clone();
                        path.push(raw(id));
                        ahead.push((to, at, path));
                    }
                }
                if at != from {
                    rows[at].push(path);
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FC23's Table 3: at least what the trial code found, and several times what trees carry.
    #[test]
    fn flattened_clos_carries_several_times_what_trees_do() {
        let progress = Progress::default();
        let figures = THROUGHPUT_CASES[1].measure(0.2, 1, &progress).unwrap();
        for figure in &figures {
            let (ours, trees) = (&figure.flattened, &figure.trees);
            assert!(
                ours.at_least <= ours.at_most && ours.at_most <= 1.25 * ours.at_least,
                "{figure:?}"
            );
            assert!(ours.at_least > 1.8 * trees.at_most, "{figure:?}");
            // Disjoint paths are some of all.
            assert!(figure.all_up_down.at_most >= ours.at_least, "{figure:?}");
        }
        let least: Vec<f64> = figures
            .iter()
            .map(|figure| figure.flattened.at_least)
            .collect();
        assert!(least[0] > least[2] && least[1] > least[2], "{least:?}");
    }
}

//! Flows through a Flattened Clos, over its disjoint paths and over edge-disjoint spanning trees,
//! and through a Clos of as many hosts, in the simulator: how long they take, with DCQCN and PFC
//! (FC23 section 5).
//!
//! FC23 says neither how long its flows are nor when they begin: here all flows of a pattern are
//! equally long, begin at random within a window, and are the same in all three networks.

use std::sync;

use plan::CheckedPlan;
use plan::check::{Options, check};
use quantities::{BitRate, Bytes, Nanos, Progress};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schemes::{TaggerOptions, flattened_clos, tagger};
use serde::Serialize;
use simulator::embedded::{Network, NetworkError};
use simulator::simulate::{SimulateError, SimulationReport, simulate_with_progress};
use spec::{
    EcnSpec, FlowSpec, Scenario, Size, Speed, SwitchSpec, ThresholdSpec, Time, TransportSpec,
};
use thiserror::Error;
use topology::generate::{Cables, ThreeLayerClos};
use topology::{Arc, ArcId, Fabric, SwitchId, Topology};

use super::flattened::FlattenedBenchError;
use super::machine::timed;
use super::throughput::{TABLE_3_NETWORK, disjoint_paths, tree_paths};
use super::traffic::Pattern;

/// Within so long flows begin.
const WINDOW: Nanos = Nanos::new(2_000_000);
/// So long is simulated at most.
const DURATION: Nanos = Nanos::new(200_000_000);
/// Bytes of a frame.
const PACKET: u16 = 1500;
/// The rate of all links.
const RATE: BitRate = BitRate::gbps(25);

/// A network of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedNetwork {
    /// A Flattened Clos of 144 switches, over disjoint paths up and down.
    Flattened,
    /// The same switches and links, over edge-disjoint spanning trees.
    Trees,
    /// A Clos of 148 switches, over all shortest paths.
    Clos,
}

/// FC23's Table 3: how long the middle flow and the slowest hundredth took; its unit is not said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperTimes {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// What flows took.
#[derive(Clone, Debug, Serialize)]
pub struct PacketFigure {
    /// The pattern of traffic.
    pub traffic: &'static str,
    /// The network.
    pub network: ComparedNetwork,
    /// What switches with hosts send, as a share of their hosts' rate, while flows begin.
    pub load: f64,
    /// Flows.
    pub flows: usize,
    /// Flows that arrived whole.
    pub completed: usize,
    /// Bytes of each.
    pub flow_bytes: u64,
    /// The median of completion times in milliseconds; absent while half of the flows have not
    /// arrived.
    pub p50_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
    /// What FC23 prints, at load 0.3.
    pub paper: Option<PaperTimes>,
    /// Deadlocks.
    pub deadlocks: usize,
    /// Packets that were lost.
    pub losses: u64,
    /// PFC frames that said stop, renewals not counted.
    pub pauses: u64,
    /// Frames that switches processed.
    pub packet_hops: u64,
    /// Simulated time, at most.
    pub simulated_ms: f64,
    /// Seconds for planning and simulating.
    pub seconds: f64,
}

/// Why a network was not simulated.
#[derive(Debug, Error)]
pub enum PacketBenchError {
    /// It was not made or planned.
    #[error(transparent)]
    Network(#[from] FlattenedBenchError),
    /// Its switches do not run.
    #[error(transparent)]
    Switches(#[from] NetworkError),
    /// It was not simulated.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

/// The patterns, with FC23's figures for a Flattened Clos, the trees in it, and a Clos.
const PATTERNS: [(Pattern, [PaperTimes; 3]); 3] = [
    (
        Pattern::AllToAll,
        [times(6.11, 32.03), times(12.42, 99.88), times(11.65, 44.68)],
    ),
    (
        Pattern::Uniform,
        [
            times(4.30, 18.62),
            times(196.46, 509.73),
            times(6.95, 39.55),
        ],
    ),
    (
        Pattern::NearWorst,
        [
            times(35.48, 121.55),
            times(7081.40, 9889.53),
            times(42.67, 118.74),
        ],
    ),
];

const fn times(p50: f64, p99: f64) -> PaperTimes {
    PaperTimes { p50, p99 }
}

/// The load at which FC23's Table 3 was taken.
const PAPER_LOAD: f64 = 0.3;

/// A pattern in a network.
#[derive(Clone, Copy, Debug)]
pub struct PacketCase {
    pattern: Pattern,
    network: ComparedNetwork,
    paper: PaperTimes,
}

impl PacketCase {
    /// All of them, the three networks of a pattern one after the other.
    pub fn all() -> impl Iterator<Item = Self> {
        use ComparedNetwork::{Clos, Flattened, Trees};
        PATTERNS.into_iter().flat_map(|(pattern, papers)| {
            let networks = [Flattened, Trees, Clos].into_iter().zip(papers);
            networks.map(move |(network, paper)| Self {
                pattern,
                network,
                paper,
            })
        })
    }

    /// Pattern and network: `near-worst, trees`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}, {}", self.pattern.name(), self.network.name())
    }
}

impl ComparedNetwork {
    /// What tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flattened => "up and down",
            Self::Trees => "trees",
            Self::Clos => "Clos",
        }
    }
}

/// The comparison of one Flattened Clos.
#[derive(Debug)]
pub struct PacketBench {
    topology: Topology,
    load: f64,
    seed: u64,
}

/// A flow between two hosts.
struct Demand {
    /// The switches in the Flattened Clos.
    switches: (usize, usize),
    /// The hosts, which have the same numbers in all networks.
    hosts: (usize, usize),
    /// When it begins.
    start: Nanos,
}

impl PacketBench {
    /// The Flattened Clos of FC23's Table 3, with flows that make up `load` of its hosts' rates.
    ///
    /// # Errors
    /// [`FlattenedBenchError`].
    pub fn new(load: f64, seed: u64) -> Result<Self, FlattenedBenchError> {
        let topology = TABLE_3_NETWORK.generate(seed)?;
        Ok(Self {
            topology,
            load,
            seed,
        })
    }

    /// Simulates a case.
    ///
    /// # Errors
    /// [`PacketBenchError`].
    pub fn measure(
        &self,
        case: &PacketCase,
        progress: &sync::Arc<Progress>,
    ) -> Result<PacketFigure, PacketBenchError> {
        let (report, seconds) = timed(|| self.simulate(case, progress));
        let (report, bytes) = report?;
        let mut times: Vec<f64> = report
            .flows
            .iter()
            .filter_map(|flow| flow.completed_us)
            .map(|micros| micros / 1000.0)
            .collect();
        times.sort_by(f64::total_cmp);
        let flows = report.flows.len();
        let percentile = |percent: usize| {
            times
                .get((flows * percent).div_ceil(100).max(1) - 1)
                .copied()
        };
        Ok(PacketFigure {
            traffic: case.pattern.name(),
            network: case.network,
            load: self.load,
            flows,
            completed: times.len(),
            flow_bytes: bytes,
            p50_ms: percentile(50),
            p99_ms: percentile(99),
            paper: ((self.load - PAPER_LOAD).abs() < 1e-9).then_some(case.paper),
            deadlocks: report.deadlocks,
            losses: report.losses.lossless
                + report.losses.lossy
                + report.losses.program
                + report.losses.link_down,
            pauses: report
                .switches
                .iter()
                .map(|switch| switch.pauses_sent)
                .sum(),
            packet_hops: report.packet_hops,
            simulated_ms: report.simulated_us / 1000.0,
            seconds,
        })
    }

    fn simulate(
        &self,
        case: &PacketCase,
        progress: &sync::Arc<Progress>,
    ) -> Result<(SimulationReport, u64), PacketBenchError> {
        let fabric = Fabric::new(&self.topology);
        let (flows, bytes) = self.demands(case.pattern, &fabric);
        let network = match case.network {
            ComparedNetwork::Clos => Network::of(clos_plan()?)?,
            _ => Network::of(flattened_plan(&self.topology)?)?,
        };
        let paths = match case.network {
            ComparedNetwork::Flattened => Some(disjoint_paths(&self.topology, &fabric)?),
            ComparedNetwork::Trees => Some(tree_paths(&fabric)),
            ComparedNetwork::Clos => None,
        };
        let hosts = network.plan().topology().hosts();
        let flow = |(number, demand): (usize, &Demand)| {
            let of_pair = paths
                .as_ref()
                .map(|paths| &paths[demand.switches.0][demand.switches.1]);
            let path = of_pair.and_then(|paths| paths.get(number % paths.len().max(1)));
            FlowSpec {
                from: Some(hosts[demand.hosts.0].name.clone()),
                to: Some(hosts[demand.hosts.1].name.clone()),
                bytes: Some(Size(Bytes::new(bytes))),
                start: Some(Time(demand.start)),
                transport: TransportSpec::Dcqcn,
                path: path.map(|path| steps(&self.topology, &fabric, path)),
                ..FlowSpec::default()
            }
        };
        let scenario = Scenario {
            name: case.name(),
            about: String::new(),
            network: None,
            duration: Time(DURATION),
            seed: self.seed,
            // Trees need no tags: none has a circle of links, and they share no link.
            tags: case.network != ComparedNetwork::Trees,
            packet: PACKET,
            rate: Some(Speed(RATE)),
            measure_from: None,
            sample: None,
            switches: switches(),
            watchdog: None,
            round_trip: None,
            jitter: None,
            flows: flows.iter().enumerate().map(flow).collect(),
            workloads: Vec::new(),
            events: Vec::new(),
        };
        let outcome = simulate_with_progress(&network, &scenario, false, progress)?;
        Ok((outcome.report, bytes))
    }

    /// The flows of a pattern, and the bytes of each. Where a switch sends to few others it has as
    /// many flows as hosts.
    fn demands(&self, pattern: Pattern, fabric: &Fabric) -> (Vec<Demand>, u64) {
        let hosts = TABLE_3_NETWORK.hosts_per_switch();
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut flows = Vec::new();
        let mut of_switch = 0;
        for (from, row) in pattern.demands(fabric, 1.0, self.seed).iter().enumerate() {
            let peers: Vec<usize> = (0..row.len()).filter(|&to| row[to] > 0.0).collect();
            let count = if peers.is_empty() {
                0
            } else {
                peers.len().max(hosts)
            };
            of_switch = of_switch.max(count);
            for number in 0..count {
                let to = peers[number % peers.len()];
                let start = random.random_range(0..WINDOW.get());
                flows.push(Demand {
                    switches: (from, to),
                    hosts: (
                        from * hosts + number % hosts,
                        to * hosts + (from + number) % hosts,
                    ),
                    start: Nanos::new(start),
                });
            }
        }
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "megabytes"
        )]
        let bytes = {
            let sent =
                self.load * hosts as f64 * RATE.get() as f64 / 8.0 * WINDOW.get() as f64 / 1e9;
            (sent / of_switch as f64) as u64
        };
        (flows, bytes)
    }
}

/// The steps of a path, each switch with the port by which it is left.
fn steps(topology: &Topology, fabric: &Fabric, path: &[u32]) -> Vec<String> {
    let name = |switch: SwitchId| &topology.switch(switch).name;
    let arcs: Vec<Arc> = path
        .iter()
        .map(|&arc| *fabric.arc(ArcId::new(arc)))
        .collect();
    let leaves = arcs
        .iter()
        .map(|arc| format!("{}:{}", name(arc.from), arc.out_port));
    let mut steps: Vec<String> = leaves.collect();
    steps.extend(arcs.last().map(|arc| name(arc.to).clone()));
    steps
}

fn flattened_plan(topology: &Topology) -> Result<CheckedPlan, FlattenedBenchError> {
    let tables = flattened_clos(topology, 0, &TaggerOptions::default())?;
    Ok(check(tables, &Options::default())?)
}

/// The Clos of 148 switches: four pods of 16 leaves of 18 hosts and 14 aggregation switches, each
/// of those with 8 links to both spines of its plane.
fn clos_plan() -> Result<CheckedPlan, FlattenedBenchError> {
    let clos = ThreeLayerClos {
        pods: 4,
        leaves: 16,
        aggregations: 14,
        spines: 28,
        hosts: 18,
        planes: true,
        parallel: 8,
        cables: Cables::default(),
    };
    let options = TaggerOptions {
        bounces: 0,
        ..TaggerOptions::default()
    };
    let tables = tagger(&clos.generate()?, &options)?;
    Ok(check(tables, &Options::default())?)
}

/// PFC at 11 % of the free buffer, as FC23 has it; buffer and marks as in HPCC19's networks of 25
/// Gb/s, on which it draws.
fn switches() -> SwitchSpec {
    let kilobytes = |count: u64| Size(Bytes::new(count * 1000));
    SwitchSpec {
        buffer: Some(kilobytes(32_000)),
        threshold: Some(ThresholdSpec::Dynamic {
            alpha: 0.11,
            offset: None,
        }),
        ecn: Some(EcnSpec {
            kmin: kilobytes(100),
            kmax: kilobytes(400),
            pmax: Some(0.2),
        }),
        ..SwitchSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_slowest_and_nothing_is_lost() {
        let bench = PacketBench::new(0.02, 1).unwrap();
        let near_worst = PacketCase::all().filter(|case| case.pattern == Pattern::NearWorst);
        let figures: Vec<PacketFigure> = near_worst
            .map(|case| bench.measure(&case, &sync::Arc::default()).unwrap())
            .collect();
        for figure in &figures {
            assert_eq!((figure.flows, figure.completed), (1152, 1152), "{figure:?}");
            assert_eq!((figure.deadlocks, figure.losses), (0, 0), "{figure:?}");
            assert!(figure.p50_ms <= figure.p99_ms && figure.p50_ms.is_some());
        }
        let [flattened, trees, clos] = &figures[..] else {
            panic!("three networks");
        };
        assert!(trees.p50_ms > flattened.p50_ms && trees.p50_ms > clos.p50_ms);
        // Longer paths are more hops.
        assert!(trees.packet_hops > 2 * flattened.packet_hops);
    }
}

//! How fast the simulator is, and how long it loses nothing: a fat-tree of 128 hosts, every host
//! sending to one other at full rate, PFC on, the generated program in every switch.

use plan::check;
use quantities::{BitRate, Bytes};
use schemes::TaggerOptions;
use serde::Serialize;
use simulator::embedded::Network;
use simulator::simulate::{Outcome, SimulateError, simulate};
use spec::Scenario;
use topology::Topology;
use topology::generate::{Cables, FatTree};

use super::machine::timed;
use super::machine::{peak_memory, reset_peak_memory, thread_time};

/// What other simulators reach, in events per second on one core, as the literature has it; not
/// measured here. None of them runs a P4 program.
pub const PUBLISHED: [(&str, f64); 2] = [("ns-3", 0.3e6), ("csg-htsim", 8e6)];

/// What a run of the simulator came to.
#[derive(Clone, Debug, Serialize)]
pub struct SimulationFigure {
    /// What was simulated.
    pub case: String,
    /// Switches, each with the compiled program and its entries.
    pub switches: usize,
    /// Hosts.
    pub hosts: usize,
    /// Packets that hosts sent and received.
    pub packets: u64,
    /// Frames that switches processed, PFC frames too.
    pub packet_hops: u64,
    /// Events.
    pub events: u64,
    /// Simulated time in microseconds.
    pub simulated_us: f64,
    /// Lossless packets dropped.
    pub lossless_drops: u64,
    /// Deadlocks.
    pub deadlocks: usize,
    /// PFC frames that said stop, renewals not counted.
    pub pauses: u64,
    /// The most that a port and class used of its headroom, in parts of what the calculator gave
    /// it.
    pub headroom_used: f64,
    /// Wall-clock time, without setting up.
    pub seconds: f64,
    /// Processor time that this process took meanwhile: less, where others share the core.
    pub core_seconds: Option<f64>,
    /// Packet-hops per second of processor time, of wall-clock time where the former is not known.
    pub hops_per_second: f64,
    /// Events, likewise.
    pub events_per_second: f64,
    /// The most memory the process held, network and plan included.
    pub peak_memory: Option<Bytes>,
}

/// The network of the bench: a fat-tree of 40 Gb/s links with a Tagger plan.
pub struct SimulationBench {
    network: Network,
    ports: u16,
}

impl SimulationBench {
    /// Plans and proves the fat-tree of switches with so many ports: 8 give 80 switches and 128
    /// hosts.
    ///
    /// # Errors
    /// What planning says against it.
    pub fn new(k: u16) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let rate = BitRate::gbps(40);
        let cables = Cables {
            host_rate: rate,
            fabric_rate: rate,
            ..Cables::default()
        };
        let topology = FatTree { k, cables }.generate()?;
        let tables = schemes::tagger(&topology, &TaggerOptions::default())?;
        let plan = check(tables, &check::Options::default())?;
        Ok(Self {
            network: Network::of(plan)?,
            ports: k,
        })
    }

    /// Simulates until about so many packets have arrived.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn run(&self, packets: u64) -> Result<SimulationFigure, SimulateError> {
        // So many arrive in a microsecond, as a short run shows; a little more is played, for it
        // may show too much.
        const TRIAL: f64 = 200.0;
        let (trial, _) = timed(|| self.play(TRIAL));
        let pace = trial?.report.packets.max(1) as f64 / TRIAL;
        reset_peak_memory();
        let before = thread_time(std::process::id(), None);
        let (outcome, seconds) =
            timed(|| self.play((1.03 * packets as f64 / pace).ceil().max(TRIAL)));
        let after = thread_time(std::process::id(), None);
        let report = outcome?.report;
        let core = before.zip(after).map(|(b, a)| (a - b).as_secs_f64());
        let rate = |count: u64| count as f64 / core.unwrap_or(seconds).max(1e-9);
        let topology = self.network.plan().topology();
        let used = report.switches.iter().flat_map(|s| &s.classes);
        Ok(SimulationFigure {
            case: report.scenario.clone(),
            switches: topology.switches().len(),
            hosts: topology.hosts().len(),
            packets: report.packets,
            packet_hops: report.packet_hops,
            events: report.events,
            simulated_us: report.simulated_us,
            lossless_drops: report.lossless_drops,
            deadlocks: report.deadlocks,
            pauses: report.switches.iter().map(|s| s.pauses_sent).sum(),
            headroom_used: used
                .map(|c| c.headroom_peak_bytes as f64 / (c.headroom_bytes.max(1)) as f64)
                .fold(0.0, f64::max),
            seconds,
            core_seconds: core,
            hops_per_second: rate(report.packet_hops),
            events_per_second: rate(report.events),
            peak_memory: peak_memory(),
        })
    }

    /// Ports of a switch.
    pub(super) const fn ports(&self) -> u16 {
        self.ports
    }

    /// The network.
    pub(super) const fn network(&self) -> &Network {
        &self.network
    }

    /// Its topology.
    pub(super) fn topology(&self) -> &Topology {
        self.network.plan().topology()
    }

    /// Every host sends to another one for so long.
    pub(super) fn scenario(micros: f64) -> Result<Scenario, SimulateError> {
        let text = format!(
            "name: fat-tree permutation\nduration: {micros:.0}us\nflows:\n  - {{ pattern: permutation }}\n"
        );
        Ok(Scenario::from_yaml(&text)?)
    }

    fn play(&self, micros: f64) -> Result<Outcome, SimulateError> {
        simulate(&self.network, &Self::scenario(micros)?, false)
    }
}

//! Many packets through all switches of a network at once: one compiled program that all share, and
//! rounds in which every switch takes the packets that have reached it as one batch.
//!
//! It is how the executed program is held against the plan's tables by the hundred thousand. A link
//! that has failed is down at both its ends from the next packet on, and nothing else is told to
//! anybody.

use std::collections::BTreeMap;
use std::sync::Arc;

use p4exec::value::Bits;
use p4exec::{Batch, Executor, FastestExecutor, Update};
use p4gen::build::{BuildOptions, ProgramWithEntries};
use p4gen::entries::SwitchEntries;
use p4gen::layout::{PORTS_UP, STATUS_WORD_BITS};
use p4gen::targets::Target;
use p4ir::ValidProgram;
use plan::{CheckedPlan, LOSSY_PRIORITY};
use quantities::{Nanos, PortId, Priority};
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};

use super::load;
use super::network::{self, Network, NetworkError};

/// A packet that crossed more switches than this is said to circle.
const MAX_SWITCHES: usize = 300;

/// A packet to be sent into the network.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The switch that it comes to.
    pub switch: SwitchId,
    /// By this port.
    pub port: PortId,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// How a packet ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrailEnd {
    /// A host got these bytes.
    Host(HostId, Vec<u8>),
    /// A switch dropped it.
    Dropped,
    /// It was sent out of a port that is down or leads nowhere.
    Lost,
    /// It crossed too many switches.
    Circling,
}

/// A packet's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trail {
    /// The switches that it crossed, each with the port that it left by.
    pub hops: Vec<(SwitchId, PortId)>,
    /// ING_PRIO and EG_PRIO at each of them; the lossy priority where the program says none.
    pub priorities: Vec<(Priority, Priority)>,
    /// The switch at which it ended.
    pub last: SwitchId,
    /// How.
    pub end: TrailEnd,
}

/// A network of switches that run one compiled program.
pub struct Fleet {
    topology: Topology,
    /// They share the machine code.
    switches: Vec<FastestExecutor>,
    /// For Tofino: the port from which the packet generator says that one is down.
    generator: Option<PortId>,
}

impl Fleet {
    /// The network of a plan: the program and the entries that `build` would write.
    ///
    /// # Errors
    /// [`NetworkError`] if there is no program for the plan, or entries do not fit.
    pub fn of(plan: CheckedPlan) -> Result<Self, NetworkError> {
        Self::on(&Network::of(plan)?)
    }

    /// The same of a network that was loaded already.
    ///
    /// # Errors
    /// As [`Fleet::of`].
    pub fn on(network: &Network) -> Result<Self, NetworkError> {
        let topology = network.topology().clone();
        let entries = |switch| network.entries(switch);
        Self::start(topology, network.program(), entries, None)
    }

    /// The network of a plan with failover tables that runs the program for Tofino: what says that
    /// ports are down are packets from the generator.
    ///
    /// # Errors
    /// As [`Fleet::of`]; what the target refuses.
    pub fn of_tofino(
        plan: &CheckedPlan,
        target: &'static dyn Target,
    ) -> Result<Self, NetworkError> {
        let options = BuildOptions::default();
        let made = ProgramWithEntries::new(plan, target, &options, &|_| ()).map_err(Box::new)?;
        let program = network::compile_generated(&made.program)?;
        let entries = |switch: SwitchId| Ok(made.entries(switch).map_err(Box::new)?);
        let pipeline = target.capabilities().pipeline;
        let generator = pipeline.map(|pipeline| PortId::new(pipeline.generator_port));
        Self::start(plan.topology().clone(), &program, entries, generator)
    }

    /// The network of a plan, with its program and these entries.
    ///
    /// # Errors
    /// As [`Fleet::of`].
    pub fn with(
        plan: CheckedPlan,
        entries: impl Fn(SwitchId) -> Result<SwitchEntries, NetworkError>,
    ) -> Result<Self, NetworkError> {
        let network = Network::of(plan)?;
        Self::start(network.topology().clone(), network.program(), entries, None)
    }

    fn start(
        topology: Topology,
        program: &Arc<ValidProgram>,
        entries: impl Fn(SwitchId) -> Result<SwitchEntries, NetworkError>,
        generator: Option<PortId>,
    ) -> Result<Self, NetworkError> {
        let program = FastestExecutor::new(Arc::clone(program))?;
        let mut switches = Vec::with_capacity(topology.switches().len());
        for switch in topology.switch_ids() {
            let mut executor = program.sibling()?;
            let entries = entries(switch)?;
            load::install_switch(executor.state_mut(), &topology, switch, &entries)?;
            switches.push(executor);
        }
        let mut fleet = Self {
            topology,
            switches,
            generator,
        };
        fleet.set_failed(&[]);
        Ok(fleet)
    }

    /// The network.
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Says which links have failed: these, and no others but those that the topology has down.
    pub fn set_failed(&mut self, failed: &[LinkId]) {
        for (switch, executor) in self.topology.switch_ids().zip(&mut self.switches) {
            load::set_failed(executor.state_mut(), &self.topology, switch, failed);
            if let Some(generator) = self.generator {
                let ports = self.topology.peers(switch).map(|(port, _)| port);
                say_down(executor, generator, ports.collect());
            }
        }
    }

    /// The packet that a host sends to another, as [`network::probe_bytes`] has it, with this
    /// content.
    ///
    /// # Errors
    /// [`NetworkError::Unplugged`].
    pub fn probe(&self, from: HostId, to: HostId, content: &[u8]) -> Result<Arrival, NetworkError> {
        let (bytes, switch, port) = network::probe_bytes(&self.topology, from, to, content)?;
        Ok(Arrival {
            switch,
            port,
            bytes,
        })
    }

    /// Follows packets until all have ended; the trails are in the order of the packets.
    pub fn send(&mut self, packets: &[Arrival]) -> Vec<Trail> {
        self.send_past(packets, |_, _, _| ())
    }

    /// The same; `seen` gets to see every packet that comes to a switch, with the port that it
    /// comes by.
    pub fn send_past(
        &mut self,
        packets: &[Arrival],
        mut seen: impl FnMut(SwitchId, PortId, &[u8]),
    ) -> Vec<Trail> {
        let mut trails: Vec<Trail> = packets
            .iter()
            .map(|packet| Trail {
                hops: Vec::new(),
                priorities: Vec::new(),
                last: packet.switch,
                end: TrailEnd::Circling,
            })
            .collect();
        // Packets under way, by the switch that they have come to: number, port, bytes.
        let mut waiting: BTreeMap<SwitchId, Vec<(usize, PortId, Vec<u8>)>> = BTreeMap::new();
        for (number, packet) in packets.iter().enumerate() {
            let at = waiting.entry(packet.switch).or_default();
            at.push((number, packet.port, packet.bytes.clone()));
        }
        let mut batch = Batch::default();
        for _ in 0..MAX_SWITCHES {
            for (switch, queue) in std::mem::take(&mut waiting) {
                self.process(switch, &queue, &mut batch);
                for (number, port, bytes) in &queue {
                    seen(switch, *port, bytes);
                    trails[*number].last = switch;
                    trails[*number].end = TrailEnd::Dropped;
                }
                for departure in &batch.sent {
                    let number = queue[departure.arrival as usize].0;
                    let trail = &mut trails[number];
                    trail.hops.push((switch, departure.port));
                    let said = &departure.metadata;
                    let or_lossy = |priority: Option<Priority>| priority.unwrap_or(LOSSY_PRIORITY);
                    let both = (or_lossy(said.ing_prio), or_lossy(said.eg_prio));
                    trail.priorities.push(both);
                    trail.end = TrailEnd::Lost;
                    let bytes = batch.packet(departure).to_vec();
                    let Some((node, port)) = self.beyond(switch, departure.port) else {
                        continue;
                    };
                    match node {
                        NodeId::Host(host) => trail.end = TrailEnd::Host(host, bytes),
                        NodeId::Switch(next) => {
                            trail.end = TrailEnd::Circling;
                            waiting.entry(next).or_default().push((number, port, bytes));
                        }
                    }
                }
            }
            if waiting.is_empty() {
                break;
            }
        }
        trails
    }

    /// Puts the packets that wait at a switch through it.
    fn process(&mut self, switch: SwitchId, queue: &[(usize, PortId, Vec<u8>)], batch: &mut Batch) {
        batch.clear();
        let Some(own) = self.switches.get_mut(switch.index()) else {
            return;
        };
        let arrivals: Vec<(PortId, &[u8])> = queue
            .iter()
            .map(|(_, port, bytes)| (*port, bytes.as_slice()))
            .collect();
        own.process_batch(Nanos::new(0), &arrivals, batch);
    }

    /// What a port that is up leads to.
    fn beyond(&self, switch: SwitchId, port: PortId) -> Option<(NodeId, PortId)> {
        let up = self.switches.get(switch.index())?;
        if !up.state().data.is_port_up(port) {
            return None;
        }
        let peer = self.topology.peer(switch, port)?;
        Some((peer.end.node, peer.end.port))
    }
}

/// What Tofino's program is told: the control plane that all ports are up, the generator which of
/// them are down.
fn say_down(executor: &mut FastestExecutor, generator: PortId, ports: Vec<PortId>) {
    let state = executor.state_mut();
    for name in [PORTS_UP.to_owned(), format!("{PORTS_UP}_high")] {
        if let Some(register) = state.extern_named(&name) {
            let update = Update::SetRegister {
                register,
                index: 0,
                value: Bits::ones(STATUS_WORD_BITS.into()),
            };
            let written = state.apply_batch(vec![update], Nanos::new(0));
            debug_assert!(written.is_ok(), "the register has one cell of that width");
        }
    }
    let is_down = |port: &PortId| !executor.state().data.is_port_up(*port);
    let down: Vec<Vec<u8>> = ports.into_iter().filter(is_down).map(port_down).collect();
    let arrivals: Vec<(PortId, &[u8])> = down.iter().map(|p| (generator, p.as_slice())).collect();
    executor.process_batch(Nanos::new(0), &arrivals, &mut Batch::default());
}

/// What the packet generator of the first pipe sends when a port goes down, on either chip.
fn port_down(port: PortId) -> Vec<u8> {
    let [high, low] = port.get().to_be_bytes();
    vec![0, 0, high, low, 0, 0]
}

//! A simulation under way: run a slice of virtual time at a time, looked at in between, and changed
//! by hand.

use std::sync::Arc;

use device::buffer::Buffer;
use plan::CheckedPlan;
use quantities::{Nanos, PortId, Priority, Progress};
use serde::Serialize;
use topology::LinkId;
use topology::routes::forwarding::Reroute;

use super::engine::parallel;
use super::engine::shard::Losses;
use super::engine::simulation::{Simulation, Stop};
use super::engine::windows::Windows;
use super::host::flow::Flow;
use super::observe::report::{DeadlockReport, SimulationReport};
use super::player::{FlowProgress, NetworkEvent, ScenarioPlayer};
use super::setup::resolve::ScriptAction;
use super::{Outcome, Plots, SimulateError, Threads, start};
use crate::embedded::Network;
use spec::Scenario;

/// See the module documentation. Slices change nothing: a simulation that is run in many gives the
/// same figures as one that is run to its end at once.
pub struct Session {
    plan: Arc<CheckedPlan>,
    scenario: Scenario,
    player: ScenarioPlayer,
    simulation: Simulation,
    observed: bool,
    /// Changes of pauses that were told already.
    told: usize,
}

/// A queue that is not empty, or is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct QueueState {
    /// The switch's number.
    pub switch: u32,
    /// The output port.
    pub port: PortId,
    /// EG_PRIO.
    pub priority: Priority,
    /// Bytes that wait.
    pub bytes: u64,
    /// Whether the far end has paused it.
    pub paused: bool,
}

/// A queue stopped because of a PFC frame, or went on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PauseChange {
    /// When, in microseconds.
    pub at_us: f64,
    /// The switch's number.
    pub switch: u32,
    /// The output port.
    pub port: PortId,
    /// EG_PRIO.
    pub priority: Priority,
    /// Stopped, or going on.
    pub paused: bool,
}

/// What a flow has got through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowState {
    /// Bytes of frames that arrived, each once.
    pub bytes: u64,
    /// Whether it has begun and not ended.
    pub runs: bool,
}

/// A simulation at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// Simulated time in microseconds.
    pub now_us: f64,
    /// When it ends.
    pub end_us: f64,
    /// Whether that is now.
    pub ended: bool,
    /// Queues that hold something or are paused, in order of switch, port and priority.
    pub queues: Vec<QueueState>,
    /// By switch, bytes in its buffer.
    pub buffers: Vec<u64>,
    /// By host, whether its switch has paused a priority of it.
    pub paused_hosts: Vec<bool>,
    /// Where PFC took effect since the state before.
    pub pauses: Vec<PauseChange>,
    /// By flow that the scenario names.
    pub flows: Vec<FlowState>,
    /// Bytes that ports of switches have sent so far: switch by number, port, bytes; ports that
    /// sent nothing are left out.
    pub sent: Vec<(u32, PortId, u64)>,
    /// Links that are down, by number.
    pub failed: Vec<u32>,
    /// Deadlocks so far.
    pub deadlocks: Vec<DeadlockReport>,
    /// What was lost so far.
    pub losses: Losses,
    /// Events so far.
    pub events: u64,
}

impl Session {
    /// A simulation in which nothing has happened yet. With `observe`, samples are kept of which
    /// plots are drawn.
    ///
    /// # Errors
    /// As [`super::simulate`].
    pub fn new(
        network: &Network,
        scenario: &Scenario,
        observe: bool,
    ) -> Result<Self, SimulateError> {
        Self::shared(network, scenario, observe, Threads::default())
    }

    /// The same, shared among threads.
    ///
    /// # Errors
    /// As [`super::simulate`].
    pub fn shared(
        network: &Network,
        scenario: &Scenario,
        observe: bool,
        threads: Threads,
    ) -> Result<Self, SimulateError> {
        let (mut player, hosts) = ScenarioPlayer::new(network, scenario)?;
        let uplinks = std::mem::take(&mut player.uplinks);
        let mut simulation = start::simulation(
            network,
            scenario,
            &player,
            (hosts, uplinks),
            observe,
            threads,
        )?;
        for (at, number) in std::mem::take(&mut player.order) {
            simulation.script(at, number as u32);
        }
        Ok(Self {
            plan: Arc::clone(network.shared_plan()),
            scenario: scenario.clone(),
            player,
            simulation,
            observed: observe,
            told: 0,
        })
    }

    /// From now on, tells how much time has passed.
    pub fn set_progress(&mut self, progress: &Arc<Progress>) {
        self.simulation.set_progress(progress);
    }

    /// Names of the flows that the scenario names, in the order of [`State::flows`].
    pub fn flows(&self) -> impl Iterator<Item = &str> {
        self.simulation.flows().map(|(flow, _)| flow.name.as_str())
    }

    /// How threads shared the work so far.
    #[must_use]
    pub const fn windows(&self) -> Windows {
        self.simulation.coordinator.windows
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.simulation.events()
    }

    /// Runs until a time in nanoseconds, or for so many events and those that are simulated
    /// together with the last of them (of the whole network, some hundreds of nanoseconds); whether
    /// the time was reached.
    ///
    /// # Errors
    /// [`SimulateError`] if tables cannot be changed as the scenario says.
    pub fn run(&mut self, until: u64, events: u64) -> Result<bool, SimulateError> {
        let most = self.simulation.events().saturating_add(events);
        loop {
            match parallel::run(&mut self.simulation, until, most) {
                Stop::Script(number) => {
                    let done = self
                        .player
                        .act(self.simulation.coordinator.now, number as usize)?;
                    self.apply(done);
                }
                Stop::Time => return Ok(true),
                Stop::Events => return Ok(false),
            }
        }
    }

    /// A link fails or works again, now and by hand.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn set_link(&mut self, link: LinkId, up: bool) -> Result<(), SimulateError> {
        let action = match up {
            true => ScriptAction::Restore(link),
            false => ScriptAction::Fail(link),
        };
        self.perform(action)
    }

    /// Routing reacts to what is down, now and by hand.
    ///
    /// # Errors
    /// As [`Session::run`]; [`SimulateError::Scenario`] where failover tables forward.
    pub fn reroute(&mut self, reroute: Reroute) -> Result<(), SimulateError> {
        self.player.routing.by_routes("reroute")?;
        self.perform(ScriptAction::Reroute(reroute))
    }

    fn perform(&mut self, action: ScriptAction) -> Result<(), SimulateError> {
        let done = self
            .player
            .perform(self.simulation.coordinator.now, action)?;
        self.apply(done);
        Ok(())
    }

    fn apply(
        &mut self,
        (happening, changed): (
            NetworkEvent,
            Vec<(topology::SwitchId, p4exec::FastestExecutor)>,
        ),
    ) {
        let topology = self.plan.topology();
        match happening {
            NetworkEvent::Fail(link) => self.simulation.set_link(topology.link(link), false),
            NetworkEvent::Restore(link) => self.simulation.set_link(topology.link(link), true),
            NetworkEvent::Pause { host, class, until } => self.simulation.pause(host, class, until),
            NetworkEvent::Tables => {}
        }
        for (switch, executor) in changed {
            self.simulation.replace(switch.index(), executor);
        }
    }

    /// How things are now. Changes of pauses are told once, and only if the session observes.
    pub fn state(&mut self) -> State {
        let topology = self.plan.topology();
        let simulation = &mut self.simulation;
        let mut queues = Vec::new();
        let mut sent = Vec::new();
        let mut buffers = Vec::with_capacity(topology.switches().len());
        for switch in topology.switch_ids() {
            let now = Nanos::new(simulation.coordinator.now);
            let device = simulation.device_mut(switch.index());
            let edges = device.change_buffer(now, Buffer::take_pauses);
            let Some(buffer) = device.buffer() else {
                buffers.push(0);
                continue;
            };
            buffers.push(buffer.used().get());
            let number = switch.index() as u32;
            for (port, _) in topology.peers(switch) {
                let mut bytes_sent = 0;
                for priority in (0..device::buffer::CLASSES as u8).map(Priority::new) {
                    let counters = buffer.class_counters(port, priority);
                    bytes_sent += counters.map_or(0, |counters| counters.sent_bytes);
                    let bytes = buffer.queue(port, priority).0.get();
                    let paused = buffer.is_paused(port, priority);
                    if bytes > 0 || paused {
                        queues.push(QueueState {
                            switch: number,
                            port,
                            priority,
                            bytes,
                            paused,
                        });
                    }
                }
                if bytes_sent > 0 {
                    sent.push((number, port, bytes_sent));
                }
            }
            let edges = edges.into_iter().flatten();
            let edges = edges.map(|edge| (number, edge));
            simulation.coordinator.trace.pauses.extend(edges);
        }
        queues.sort_by_key(|queue| (queue.switch, queue.port, queue.priority));
        let coordinator = &simulation.coordinator;
        let pauses = coordinator.trace.pauses[self.told..].iter();
        let mut pauses: Vec<PauseChange> = pauses
            .map(|(switch, edge)| PauseChange {
                at_us: micros(edge.at.get()),
                switch: *switch,
                port: edge.port,
                priority: edge.class,
                paused: edge.paused,
            })
            .collect();
        pauses.sort_by(|a, b| a.at_us.total_cmp(&b.at_us));
        self.told = coordinator.trace.pauses.len();
        let flow = |(_, flow): (&Flow, &Flow)| {
            let FlowProgress { bytes, runs } = FlowProgress::new(flow, coordinator.now);
            FlowState { bytes, runs }
        };
        State {
            now_us: micros(coordinator.now),
            end_us: micros(coordinator.end),
            ended: coordinator.now >= coordinator.end,
            queues,
            buffers,
            paused_hosts: simulation.paused_hosts(),
            pauses,
            flows: simulation.flows().map(flow).collect(),
            sent,
            failed: self
                .player
                .failed()
                .map(|link| link.index() as u32)
                .collect(),
            deadlocks: coordinator
                .deadlocks
                .iter()
                .map(|found| DeadlockReport::new(topology, found))
                .collect(),
            losses: simulation.losses(),
            events: simulation.events(),
        }
    }

    /// The figures as of now.
    #[must_use]
    pub fn report(&mut self) -> SimulationReport {
        self.simulation.scan();
        SimulationReport::new(self.plan.topology(), &self.scenario, &self.simulation)
    }

    /// The figures, and the pictures if they were asked for and the session observed.
    #[must_use]
    pub fn finish(mut self, plots: bool) -> Outcome {
        let report = self.report();
        let drawn = plots && self.observed;
        let plots = drawn.then(|| Plots::draw(self.plan.topology(), &report, &self.simulation));
        Outcome { report, plots }
    }
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

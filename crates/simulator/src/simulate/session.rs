//! A simulation under way: run a slice of virtual time at a time, looked at in between, and changed
//! by hand.

use std::sync::Arc;

use device::buffer::Buffer;
use plan::CheckedPlan;
use quantities::{Nanos, PortId, Priority, Progress};
use serde::Serialize;
use topology::LinkId;
use topology::routes::forwarding::Reroute;

use super::flow::Flow;
use super::live::{Got, Happening, Live};
use super::parallel;
use super::part::Losses;
use super::report::{DeadlockReport, SimulationReport};
use super::setup::ScriptAction;
use super::windows::Windows;
use super::world::{Stop, World};
use super::{Outcome, Plots, SimulateError, Threads, start};
use crate::embedded::Network;
use spec::Scenario;

/// See the module documentation. Slices change nothing: a simulation that is run in many gives the
/// same figures as one that is run to its end at once.
pub struct Session {
    plan: Arc<CheckedPlan>,
    scenario: Scenario,
    live: Live,
    world: World,
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
        let (mut live, hosts) = Live::new(network, scenario)?;
        let uplinks = std::mem::take(&mut live.uplinks);
        let mut world = start::world(network, scenario, &live, (hosts, uplinks), observe, threads)?;
        for (at, number) in std::mem::take(&mut live.order) {
            world.script(at, number as u32);
        }
        Ok(Self {
            plan: Arc::clone(network.shared_plan()),
            scenario: scenario.clone(),
            live,
            world,
            observed: observe,
            told: 0,
        })
    }

    /// From now on, tells how much time has passed.
    pub fn tell(&mut self, progress: &Arc<Progress>) {
        self.world.tell(progress);
    }

    /// Names of the flows that the scenario names, in the order of [`State::flows`].
    pub fn flows(&self) -> impl Iterator<Item = &str> {
        self.world.flows().map(|(flow, _)| flow.name.as_str())
    }

    /// How threads shared the work so far.
    #[must_use]
    pub const fn windows(&self) -> Windows {
        self.world.whole.windows
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.world.events()
    }

    /// Runs until a time in nanoseconds, or for so many events and those that are simulated
    /// together with the last of them (of the whole network, some hundreds of nanoseconds); whether
    /// the time was reached.
    ///
    /// # Errors
    /// [`SimulateError`] if tables cannot be changed as the scenario says.
    pub fn run(&mut self, until: u64, events: u64) -> Result<bool, SimulateError> {
        let most = self.world.events().saturating_add(events);
        loop {
            match parallel::run(&mut self.world, until, most) {
                Stop::Script(number) => {
                    let done = self.live.act(self.world.whole.now, number as usize)?;
                    self.take_over(done);
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
        self.live.routing.by_routes("reroute")?;
        self.perform(ScriptAction::Reroute(reroute))
    }

    fn perform(&mut self, action: ScriptAction) -> Result<(), SimulateError> {
        let done = self.live.perform(self.world.whole.now, action)?;
        self.take_over(done);
        Ok(())
    }

    fn take_over(
        &mut self,
        (happening, changed): (
            Happening,
            Vec<(topology::SwitchId, p4exec::FastestExecutor)>,
        ),
    ) {
        let topology = self.plan.topology();
        match happening {
            Happening::Fail(link) => self.world.set_link(topology.link(link), false),
            Happening::Restore(link) => self.world.set_link(topology.link(link), true),
            Happening::Pause { host, class, until } => self.world.pause(host, class, until),
            Happening::Tables => {}
        }
        for (switch, executor) in changed {
            self.world.replace(switch.index(), executor);
        }
    }

    /// How things are now. Changes of pauses are told once, and only if the session observes.
    pub fn state(&mut self) -> State {
        let topology = self.plan.topology();
        let world = &mut self.world;
        let mut queues = Vec::new();
        let mut sent = Vec::new();
        let mut buffers = Vec::with_capacity(topology.switches().len());
        for switch in topology.switch_ids() {
            let now = Nanos::new(world.whole.now);
            let device = world.device_mut(switch.index());
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
            world.whole.trace.pauses.extend(edges);
        }
        queues.sort_by_key(|queue| (queue.switch, queue.port, queue.priority));
        let whole = &world.whole;
        let pauses = whole.trace.pauses[self.told..].iter();
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
        self.told = whole.trace.pauses.len();
        let flow = |(_, flow): (&Flow, &Flow)| {
            let Got { bytes, runs } = Got::new(flow, whole.now);
            FlowState { bytes, runs }
        };
        State {
            now_us: micros(whole.now),
            end_us: micros(whole.end),
            ended: whole.now >= whole.end,
            queues,
            buffers,
            paused_hosts: world.paused_hosts(),
            pauses,
            flows: world.flows().map(flow).collect(),
            sent,
            failed: self.live.failed().map(|link| link.index() as u32).collect(),
            deadlocks: whole
                .deadlocks
                .iter()
                .map(|found| DeadlockReport::new(topology, found))
                .collect(),
            losses: world.losses(),
            events: world.events(),
        }
    }

    /// The figures as of now.
    #[must_use]
    pub fn report(&mut self) -> SimulationReport {
        self.world.look();
        SimulationReport::new(self.plan.topology(), &self.scenario, &self.world)
    }

    /// The figures, and the pictures if they were asked for and the session observed.
    #[must_use]
    pub fn finish(mut self, plots: bool) -> Outcome {
        let report = self.report();
        let drawn = plots && self.observed;
        let plots = drawn.then(|| Plots::draw(self.plan.topology(), &report, &self.world));
        Outcome { report, plots }
    }
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

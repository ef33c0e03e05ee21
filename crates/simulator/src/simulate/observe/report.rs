//! The figures of a simulation.

use device::buffer::{Buffer, CLASSES, ClassCounters};
use device::deadlock::{Deadlock, QueueId};
use quantities::{Nanos, PortId, Priority};
use serde::Serialize;
use topology::{SwitchId, Topology};

use super::completions::{self, WorkloadReport};
use crate::simulate::engine::shard::Losses;
use crate::simulate::engine::simulation::Simulation;
use crate::simulate::engine::watchdog::WatchdogReport;
use crate::simulate::host::flow::{Flow, Sender};
use spec::{EventSpec, RerouteSpec, Scenario};

/// What `simulate --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct SimulationReport {
    /// The scenario's name.
    pub scenario: String,
    /// Whether tags changed as planned, or never.
    pub tags: bool,
    /// How many deadlocks there were.
    pub deadlocks: usize,
    /// Each of them.
    pub deadlock: Vec<DeadlockReport>,
    /// What the scenario did, in order of time.
    pub timeline: Vec<TimelineEntry>,
    /// Queues that can never move again, at the end.
    pub stuck_queues: usize,
    /// Lossless packets that were dropped: violations.
    pub lossless_drops: u64,
    /// Everything that was lost, by cause.
    pub losses: Losses,
    /// What the PFC watchdog did, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<WatchdogReport>,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowReport>,
    /// The workloads, in the scenario's order.
    pub workloads: Vec<WorkloadReport>,
    /// Sum of all flows' and workloads' throughput in gigabits per second.
    pub gbps: f64,
    /// The switches, in the topology's order.
    pub switches: Vec<SwitchReport>,
    /// Simulated time in microseconds.
    pub simulated_us: f64,
    /// Data packets that arrived.
    pub packets: u64,
    /// Frames that switches processed.
    pub packet_hops: u64,
    /// Events.
    pub events: u64,
    /// How long it took to compute.
    pub seconds: f64,
}

/// Something that the scenario did.
#[derive(Clone, Debug, Serialize)]
pub struct TimelineEntry {
    /// When, in microseconds.
    pub at_us: f64,
    /// In words.
    pub what: String,
}

impl TimelineEntry {
    fn new(event: &EventSpec) -> Self {
        let what = if let Some(link) = &event.fail {
            format!("{link} fails")
        } else if let Some(link) = &event.restore {
            format!("{link} is back")
        } else if let Some(route) = &event.route {
            format!("{} sends {} via {}", route.switch, route.to, route.via)
        } else if let Some(pause) = &event.pause {
            format!("{} pauses priority {}", pause.host, pause.priority)
        } else {
            match event.reroute {
                Some(RerouteSpec::Converged) => "routes converge".to_owned(),
                Some(RerouteSpec::Local) => "neighbours reroute".to_owned(),
                None => "routes are mended".to_owned(),
            }
        };
        Self {
            at_us: micros(event.at.0.get()),
            what,
        }
    }
}

/// A deadlock.
#[derive(Clone, Debug, Serialize)]
pub struct DeadlockReport {
    /// The shortest cycle of queues, each waiting for the next: `s1:3->s2 priority 1`.
    pub cycle: Vec<String>,
    /// The switches of that cycle.
    pub switches: Vec<String>,
    /// All queues that wait for each other in a circle.
    pub circle: Vec<String>,
    /// How many queues can never move again because of it.
    pub stuck: usize,
    /// When it closed, in microseconds.
    pub closed_us: f64,
    /// When that was certain.
    pub confirmed_us: f64,
}

/// A flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// Its name.
    pub name: String,
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// The priority that its packets begin with.
    pub priority: Priority,
    /// Bytes of frames that arrived.
    pub bytes: u64,
    /// Throughput while it was measured, in gigabits per second: until its last byte arrived, or
    /// its sender stopped.
    pub gbps: f64,
    /// Throughput in the last tenth of the simulation.
    pub gbps_at_end: f64,
    /// Frames sent, repeated ones too.
    pub sent: u64,
    /// Frames that arrived, each once.
    pub arrived: u64,
    /// Frames that arrived marked.
    pub marked: u64,
    /// When the last byte of a finite flow arrived, in microseconds after its start.
    pub completed_us: Option<f64>,
    /// Round-trip times that the sender measured, if it measures any.
    pub round_trip_us: Option<RoundTripReport>,
}

/// Round-trip times in microseconds: of one packet at a time that was sent once (RFC 6298 section
/// 3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundTripReport {
    /// How many were measured.
    pub count: u64,
    /// The average.
    pub mean: f64,
    /// The shortest.
    pub least: f64,
    /// The longest.
    pub most: f64,
}

impl RoundTripReport {
    fn new(flow: &Flow) -> Option<Self> {
        let Sender::Window(window) = &flow.sender else {
            return None;
        };
        let found = window.timeout.measured;
        (found.count > 0).then(|| Self {
            count: found.count,
            mean: micros(found.sum) / found.count as f64,
            least: micros(found.least),
            most: micros(found.most),
        })
    }
}

/// A switch.
#[derive(Clone, Debug, Serialize)]
pub struct SwitchReport {
    /// Its name.
    pub name: String,
    /// The most bytes in its buffer.
    pub peak_bytes: u64,
    /// The most bytes in one port's and class's headroom.
    pub headroom_peak_bytes: u64,
    /// PFC frames sent that said stop, renewals not counted.
    pub pauses_sent: u64,
    /// Time that its queues were paused, summed up, in microseconds.
    pub paused_us: f64,
    /// Packets marked.
    pub marked: u64,
    /// Lossless packets dropped.
    pub lossless_drops: u64,
    /// The ports' classes that saw a packet or a PFC frame, in order of port and priority.
    pub classes: Vec<ClassReport>,
}

/// What a class of a port counted, in both directions.
#[derive(Clone, Debug, Serialize)]
pub struct ClassReport {
    /// The port.
    pub port: PortId,
    /// Who is at the far end of its link.
    pub peer: String,
    /// The priority: ING_PRIO of what comes in, EG_PRIO of what goes out.
    pub priority: Priority,
    /// Packets taken in.
    pub accepted: u64,
    /// Their bytes.
    pub accepted_bytes: u64,
    /// The most bytes charged to the class at one time.
    pub ingress_peak_bytes: u64,
    /// Its headroom.
    pub headroom_bytes: u64,
    /// The most of it that was used.
    pub headroom_peak_bytes: u64,
    /// Lossless packets that found no room: violations.
    pub lossless_drops: u64,
    /// Lossy packets that found no room.
    pub lossy_drops: u64,
    /// PFC frames sent that said stop.
    pub pauses_sent: u64,
    /// Of these, those that renewed a pause.
    pub pauses_renewed: u64,
    /// PFC frames sent that said go on.
    pub resumes_sent: u64,
    /// Packets sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// The longest that the queue was, in bytes.
    pub queue_peak_bytes: u64,
    /// Packets marked as they joined the queue.
    pub marked: u64,
    /// Packets thrown away when the link went down.
    pub flushed: u64,
    /// Packets that gave their place in a ranked queue to a more urgent one.
    pub evicted: u64,
    /// PFC frames received that said stop.
    pub pauses_received: u64,
    /// PFC frames received that said go on.
    pub resumes_received: u64,
    /// Time that the queue was paused, in microseconds.
    pub paused_us: f64,
}

impl ClassReport {
    /// Nothing for a class that saw nothing.
    fn new(topology: &Topology, buffer: &Buffer, at: QueueId, now: Nanos) -> Option<Self> {
        let counters = buffer.class_counters(at.port, at.class)?;
        if counters == ClassCounters::default() {
            return None;
        }
        let ports = &buffer.config().ports;
        let headroom = ports.iter().find(|p| p.port == at.port)?.headroom;
        let peer = topology.peer(SwitchId::new(at.switch as u32), at.port);
        let lossless = buffer.config().lossless.contains(at.class);
        Some(Self {
            port: at.port,
            peer: peer.map_or_else(String::new, |p| topology.node_name(p.end.node).to_owned()),
            priority: at.class,
            accepted: counters.accepted,
            accepted_bytes: counters.accepted_bytes,
            ingress_peak_bytes: counters.ingress_peak.get(),
            headroom_bytes: if lossless { headroom.get() } else { 0 },
            headroom_peak_bytes: counters.headroom_peak.get(),
            lossless_drops: counters.refused_lossless,
            lossy_drops: counters.refused_lossy,
            pauses_sent: counters.pauses_sent,
            pauses_renewed: counters.pauses_renewed,
            resumes_sent: counters.resumes_sent,
            sent: counters.sent,
            sent_bytes: counters.sent_bytes,
            queue_peak_bytes: counters.queue_peak.get(),
            marked: counters.marked,
            flushed: counters.flushed,
            evicted: counters.evicted,
            pauses_received: counters.pauses_received,
            resumes_received: counters.resumes_received,
            paused_us: micros(buffer.paused(now, at.port, at.class).get()),
        })
    }
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// A queue as people read it.
pub(crate) fn queue_name(topology: &Topology, queue: QueueId) -> String {
    port_name(topology, queue.switch, queue.port, queue.class)
}

/// A queue by its switch, port and class.
pub(crate) fn port_name(
    topology: &Topology,
    switch: usize,
    port: PortId,
    class: Priority,
) -> String {
    let id = SwitchId::new(switch as u32);
    let peer = topology
        .peer(id, port)
        .map(|p| topology.node_name(p.end.node));
    let name = &topology.switch(id).name;
    format!("{name}:{port}->{} priority {class}", peer.unwrap_or("?"))
}

impl SimulationReport {
    pub(crate) fn new(topology: &Topology, scenario: &Scenario, simulation: &Simulation) -> Self {
        let (coordinator, measure_from) = (&simulation.coordinator, simulation.measure_from());
        let flows: Vec<FlowReport> = simulation
            .flows()
            .map(|flow| FlowReport::new(topology, flow, measure_from, coordinator.now))
            .collect();
        let (all, jobs, bytes) = simulation.workloads();
        let workloads = completions::reports(all, &jobs, &bytes, coordinator.now);
        let sent = workloads.iter().map(|workload| workload.gbps);
        Self {
            scenario: scenario.name.clone(),
            tags: scenario.tags,
            deadlocks: coordinator.deadlocks.len(),
            deadlock: coordinator
                .deadlocks
                .iter()
                .map(|d| DeadlockReport::new(topology, d))
                .collect(),
            timeline: timeline(scenario),
            stuck_queues: simulation.stuck(),
            lossless_drops: simulation.losses().lossless,
            losses: simulation.losses(),
            watchdog: simulation.watchdog(),
            gbps: flows.iter().map(|f| f.gbps).chain(sent).sum(),
            flows,
            workloads,
            switches: switches(topology, simulation),
            simulated_us: micros(coordinator.now),
            packets: simulation.delivered(),
            packet_hops: simulation.hops(),
            events: simulation.events(),
            seconds: 0.0,
        }
    }

    /// Sum of all flows' throughput in the last tenth of the simulation, in gigabits per second.
    #[must_use]
    pub fn gbps_at_end(&self) -> f64 {
        self.flows.iter().map(|flow| flow.gbps_at_end).sum()
    }

    /// The flow of a name.
    #[must_use]
    pub fn flow(&self, name: &str) -> Option<&FlowReport> {
        self.flows.iter().find(|flow| flow.name == name)
    }
}

pub(crate) fn timeline(scenario: &Scenario) -> Vec<TimelineEntry> {
    let mut events: Vec<&EventSpec> = scenario.events.iter().collect();
    events.sort_by_key(|event| event.at);
    events.into_iter().map(TimelineEntry::new).collect()
}

impl DeadlockReport {
    pub(crate) fn new(topology: &Topology, deadlock: &Deadlock) -> Self {
        let name = |q: &QueueId| queue_name(topology, *q);
        let switch = |q: &QueueId| topology.switch(SwitchId::new(q.switch as u32)).name.clone();
        Self {
            cycle: deadlock.cycle.iter().map(name).collect(),
            switches: deadlock.cycle.iter().map(switch).collect(),
            circle: deadlock.circle.iter().map(name).collect(),
            stuck: deadlock.stuck.len(),
            closed_us: micros(deadlock.closed.get()),
            confirmed_us: micros(deadlock.confirmed.get()),
        }
    }
}

impl FlowReport {
    /// Of a flow as its sender has it and as its receiver does.
    pub(crate) fn new(
        topology: &Topology,
        (flow, receiver): (&Flow, &Flow),
        measure_from: u64,
        now: u64,
    ) -> Self {
        let arrivals = &receiver.arrivals;
        let from = flow.start.max(measure_from);
        // What arrives after the sender has stopped would not be of the time that it is divided by.
        let (measured, until) = match arrivals.complete {
            Some(complete) => (arrivals.measured, complete),
            None => (arrivals.measured_to_stop, flow.stop.min(now)),
        };
        let rate = |bytes: u64, nanos: u64| match nanos {
            0 => 0.0,
            nanos => bytes as f64 * 8.0 / nanos as f64,
        };
        let window = now / 10;
        let end_bytes = arrivals.at_end;
        Self {
            name: flow.name.clone(),
            from: topology.host(flow.from).name.clone(),
            to: topology.host(flow.to).name.clone(),
            priority: Priority::new(flow.class),
            bytes: arrivals.bytes,
            gbps: rate(measured, until.saturating_sub(from)),
            gbps_at_end: rate(end_bytes, window),
            sent: flow.sent,
            arrived: arrivals.count(),
            marked: arrivals.marked,
            completed_us: arrivals.complete.map(|at| micros(at - flow.start)),
            round_trip_us: RoundTripReport::new(flow),
        }
    }
}

fn switches(topology: &Topology, simulation: &Simulation) -> Vec<SwitchReport> {
    let devices = topology.switch_ids().zip(simulation.devices());
    let now = Nanos::new(simulation.coordinator.now);
    let reports = devices
        .filter_map(|(id, device)| Some(SwitchReport::new(topology, id, device.buffer()?, now)));
    reports.collect()
}

impl SwitchReport {
    /// What a switch counted up to `now`.
    pub(crate) fn new(topology: &Topology, id: SwitchId, buffer: &Buffer, now: Nanos) -> Self {
        let queues = topology.peers(id).flat_map(|(port, _)| {
            (0..CLASSES as u8).map(move |class| QueueId {
                switch: id.index(),
                port,
                class: Priority::new(class),
            })
        });
        let mut classes: Vec<ClassReport> = queues
            .filter_map(|at| ClassReport::new(topology, buffer, at, now))
            .collect();
        classes.sort_by_key(|class| (class.port, class.priority));
        let sum = |count: fn(&ClassReport) -> u64| classes.iter().map(count).sum();
        let headroom = classes.iter().map(|c| c.headroom_peak_bytes);
        Self {
            name: topology.switch(id).name.clone(),
            peak_bytes: buffer.counters().peak.get(),
            headroom_peak_bytes: headroom.max().unwrap_or(0),
            pauses_sent: sum(|c| c.pauses_sent - c.pauses_renewed),
            paused_us: classes.iter().map(|c| c.paused_us).sum(),
            marked: sum(|c| c.marked),
            lossless_drops: buffer.counters().refused_lossless,
            classes,
        }
    }
}

//! The network in real time: the simulator's scenarios on switches that run in threads of this
//! process, veth pairs and hosts in network namespaces.
//!
//! Every switch is a `switchd` engine with the lossless buffer of `device`: the state machine that
//! the simulator drives with its calendar is driven here by the clock. Hosts are the simulator's
//! cards and flows; what they send is real UDP, what pauses them are real PFC frames. So that two
//! cores can carry it, links are slower than the scenario's by one factor, and time is slower by
//! the same: sizes (buffers, thresholds, frames) stay as they are, and so does everything that
//! follows from sizes and rates alone. Reports are in the scenario's time; [`Real`] says what it
//! was by the clock.
//!
//! What is not as in the simulator: cables have no length (but headroom is as if they had), and
//! threads may be late. Ports keep their rate on average all the same; what arrives while a thread
//! sleeps gets headroom ([`Options::lateness`]).

mod clock;
mod host_nics;
mod lab;
pub mod mininet;
mod probes;
mod tunnel;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use device::buffer::{Buffer, BufferConfig, BufferError};
use linuxnet::NetError;
use quantities::{BitRate, Nanos};
use serde::Serialize;
use switchd::engine::EngineError;
use switchd::engine::lossless::Totals;
use switchd::ports::PortError;
use thiserror::Error;

use clock::Clock;
use controlplane::push::Stop;
use host_nics::HostNics;
use lab::Lab;
pub use probes::Probes;
use simulator::embedded::Network;
use simulator::simulate::player::{self, NetworkEvent, ScenarioPlayer};
use simulator::simulate::{Losses, SimulateError, SimulationReport, allow_lateness};
use spec::Scenario;
use topology::{NodeId, Topology};
use watch::Watch;

/// How often deadlocks are looked for and the watcher is told.
const TICK: Duration = Duration::from_millis(200);
/// Rates that can be held: below the slowest a scenario would not end, above the fastest threads
/// are too late.
const SLOWEST: BitRate = BitRate::new(1_000_000);
const FASTEST: BitRate = BitRate::gbps(1);
/// A port with less, in bits per second, would never get anything done.
const SLOWEST_PORT: f64 = 1_000.0;

/// How to emulate.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rate of the fastest link; all others, and time, are slower by the same factor.
    pub rate: BitRate,
    /// How late a thread may be before a lossless packet can be lost.
    pub lateness: Duration,
    /// Give namespaces names, for `ip netns exec`.
    pub named: bool,
    /// Capture what passes all switches' ports into this folder.
    pub capture: Option<PathBuf>,
    /// Open every switch's admin socket in this folder, as `NAME.sock`.
    pub admin: Option<PathBuf>,
    /// Ends it early.
    pub stop: Stop,
}

impl Default for Options {
    /// 20 Mb/s, and a tenth of a second.
    fn default() -> Self {
        Self {
            rate: BitRate::new(20_000_000),
            lateness: Duration::from_millis(100),
            named: false,
            capture: None,
            admin: None,
            stop: Stop::default(),
        }
    }
}

/// Why an emulation does not run.
#[derive(Debug, Error)]
pub enum EmulateError {
    /// The scenario or the network.
    #[error(transparent)]
    Scenario(#[from] SimulateError),
    /// Links that fast or slow.
    #[error(
        "the fastest link cannot have {0} bits a second here; from 1 Mb/s to 1 Gb/s can be held"
    )]
    Rate(BitRate),
    /// A link of the network has no rate.
    #[error("link {0} has rate 0 and could never send")]
    NoRate(String),
    /// A link is so much slower than the fastest that nothing is left of it.
    #[error("a port of `{0}` is left with less than 1 kb/s; emulate at a higher rate")]
    TooSlow(String),
    /// A buffer that cannot be.
    #[error("switch `{switch}`: {source}")]
    Buffer {
        /// The switch.
        switch: String,
        /// What is wrong.
        source: BufferError,
    },
    /// The admin sockets.
    #[error("admin sockets in {}: {source}", folder.display())]
    Admin {
        /// Their folder.
        folder: PathBuf,
        /// Why they cannot be there.
        source: std::io::Error,
    },
    /// Tags in a header of their own, which no probe is unwrapped behind.
    #[error(
        "tags travel in a header before IP (the shim), and packets within packets are not unwrapped behind it; plan with another `--carrier`"
    )]
    Carrier,
    /// A probe that cannot be.
    #[error(transparent)]
    Packet(#[from] wire::PacketError),
    /// The kernel's network.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A switch's data plane.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl EmulateError {
    /// Whether the input is wrong, not the machine.
    #[must_use]
    pub const fn is_input(&self) -> bool {
        !matches!(self, Self::Net(_) | Self::Port(_) | Self::Engine(_))
    }
}

/// What an emulation gives: the simulator's figures in the scenario's time, and what it was by the
/// clock.
#[derive(Clone, Debug, Serialize)]
pub struct EmulateReport {
    /// The figures.
    #[serde(flatten)]
    pub figures: SimulationReport,
    /// Who waits for whom when the first deadlock was certain.
    pub wait_for: Vec<[String; 2]>,
    /// By the clock.
    pub real: Real,
}

/// What an emulation was by the clock.
#[derive(Clone, Debug, Serialize)]
pub struct Real {
    /// By how much rates were lower and times longer than the scenario's.
    pub scale: f64,
    /// Rate of the fastest link in megabits per second.
    pub link_mbps: f64,
    /// Sum of all flows' throughput in megabits per second.
    pub mbps: f64,
    /// How long it ran.
    pub seconds: f64,
    /// Whether it was ended before the scenario's end.
    pub stopped_early: bool,
    /// Frames that came faster than they were taken and were lost by the system: none, on a machine
    /// that keeps up.
    pub overrun: u64,
    /// The longest that a host's frame waited for its thread, in milliseconds.
    pub latest_ms: f64,
}

/// What a watcher is told.
#[derive(Debug)]
pub struct Moment<'a> {
    /// Scenario time.
    pub now: Nanos,
    /// When the scenario ends.
    pub end: Nanos,
    /// Real time since it began.
    pub elapsed: Duration,
    /// Flows with bytes that arrived since the moment before, and whether they run.
    pub flows: Vec<(&'a str, u64, bool)>,
    /// Time since the moment before.
    pub since: Duration,
    /// Queues that are paused.
    pub paused: usize,
    /// Deadlocks so far.
    pub deadlocks: Vec<String>,
    /// What has happened last.
    pub event: Option<String>,
}

/// How things are reached while it runs.
#[derive(Clone, Debug, Serialize)]
pub struct Entrances {
    /// The command that runs another one in a namespace, by host; `fabric` is that of all switches.
    pub namespaces: BTreeMap<String, String>,
    /// Interfaces in the fabric, by switch and port: `leaf1:3`.
    pub interfaces: BTreeMap<String, String>,
}

/// Whoever looks on.
pub trait Watcher {
    /// The network stands.
    fn ready(&mut self, entrances: &Entrances);
    /// Some time has passed.
    fn tick(&mut self, moment: &Moment<'_>);
}

/// Plays a scenario, in real time, to its end or until it is stopped. Nothing stays behind.
///
/// # Errors
/// [`EmulateError`]; whatever it is, nothing stays behind.
pub fn emulate(
    network: &Network,
    scenario: &Scenario,
    options: &Options,
    watcher: &mut dyn Watcher,
) -> Result<EmulateReport, EmulateError> {
    player::refuse_simulated(scenario)?;
    let topology = network.plan().topology();
    if options.rate < SLOWEST || options.rate > FASTEST {
        return Err(EmulateError::Rate(options.rate));
    }
    if let Some(link) = topology
        .link_ids()
        .find(|id| topology.link(*id).rate.get() == 0)
    {
        return Err(EmulateError::NoRate(topology.link_name(link)));
    }
    let (live, hosts) = ScenarioPlayer::new(network, scenario)?;
    let ports = live.buffers.iter().flat_map(|buffer| &buffer.ports);
    let fastest = ports.map(|port| port.rate.get()).max().unwrap_or(1).max(1);
    let scale = fastest as f64 / options.rate.get() as f64;
    let mut buffers = Vec::with_capacity(live.buffers.len());
    for (id, buffer) in topology.switch_ids().zip(&live.buffers) {
        let name = &topology.switch(id).name;
        let slow = slower(buffer, scale, options.lateness, name)?;
        Buffer::new(slow.clone()).map_err(|source| EmulateError::Buffer {
            switch: name.clone(),
            source,
        })?;
        buffers.push(slow);
    }
    let origin = Instant::now();
    let longest = u32::try_from(live.longest_frame()).unwrap_or(u32::MAX);
    let mut lab = Lab::build(topology, longest, options)?;
    for (id, buffer) in topology.switch_ids().zip(buffers) {
        lab.start_switch(topology, id, live.executor(id)?, buffer, origin, options)?;
    }
    if let Some(folder) = &options.admin {
        let opened = lab.open_admins(topology, folder);
        opened.map_err(|source| EmulateError::Admin {
            folder: folder.clone(),
            source,
        })?;
    }
    let sockets = lab.sockets(topology)?;
    watcher.ready(&entrances(&lab, topology));
    let clock = Clock::new(origin, scale);
    let cards = HostNics::start(hosts, sockets, clock)?;
    let play = Play {
        topology,
        scenario,
        options,
        live,
        lab,
        cards,
        clock,
        watch: Watch::new(topology),
        last_event: None,
    };
    play.run(watcher)
}

/// By how much links are slower than the scenario's if the fastest has this rate.
fn scale(network: &Network, scenario: &Scenario, rate: BitRate) -> Result<f64, EmulateError> {
    if rate < SLOWEST || rate > FASTEST {
        return Err(EmulateError::Rate(rate));
    }
    let topology = network.plan().topology();
    let own = |id| topology.link(id).rate;
    if let Some(link) = topology.link_ids().find(|id| own(*id).get() == 0) {
        return Err(EmulateError::NoRate(topology.link_name(link)));
    }
    let fastest = topology.link_ids().map(own).max();
    let fastest = scenario.rate.map(|speed| speed.0).or(fastest);
    Ok(fastest.unwrap_or(rate).get() as f64 / rate.get() as f64)
}

/// The same switch with slower ports, and headroom for late threads.
fn slower(
    buffer: &BufferConfig,
    scale: f64,
    lateness: Duration,
    name: &str,
) -> Result<BufferConfig, EmulateError> {
    let mut slow = buffer.clone();
    for port in &mut slow.ports {
        let rate = port.rate.get() as f64 / scale;
        if rate < SLOWEST_PORT {
            return Err(EmulateError::TooSlow(name.to_owned()));
        }
        port.rate = BitRate::new(rate as u64);
    }
    let lateness = Nanos::new(u64::try_from(lateness.as_nanos()).unwrap_or(u64::MAX));
    allow_lateness(&mut slow, lateness);
    Ok(slow)
}

fn entrances(lab: &Lab, topology: &Topology) -> Entrances {
    let mut interfaces = BTreeMap::new();
    for id in topology.switch_ids() {
        for (port, _) in topology.peers(id) {
            if let Some(name) = lab.interface(topology, id, port) {
                let place = format!("{}:{port}", topology.switch(id).name);
                interfaces.insert(place, name.to_owned());
            }
        }
    }
    Entrances {
        namespaces: lab.doors(topology),
        interfaces,
    }
}

/// An emulation under way. The hosts stop before switches.
struct Play<'a> {
    topology: &'a Topology,
    scenario: &'a Scenario,
    options: &'a Options,
    live: ScenarioPlayer,
    cards: HostNics,
    lab: Lab,
    clock: Clock,
    watch: Watch<'a>,
    last_event: Option<String>,
}

impl Play<'_> {
    fn run(mut self, watcher: &mut dyn Watcher) -> Result<EmulateReport, EmulateError> {
        let end = self.scenario.duration.0.get();
        let order = std::mem::take(&mut self.live.order);
        let mut events = order.into_iter().peekable();
        let mut last = (Instant::now(), Vec::new());
        let mut next_tick = Instant::now() + TICK;
        while self.clock.now() < end && !self.options.stop.asked() {
            while let Some((_, number)) = events.next_if(|(at, _)| *at <= self.clock.now()) {
                self.act(number)?;
            }
            let next_event = events.peek().map_or(end, |(at, _)| (*at).min(end));
            let tick = next_tick.saturating_duration_since(Instant::now());
            std::thread::sleep(self.clock.until(next_event).min(tick));
            if Instant::now() >= next_tick {
                next_tick = Instant::now() + TICK;
                self.watch.look(&self.lab, &self.clock)?;
                self.tell(watcher, &mut last);
            }
        }
        let now = self.clock.now().min(end);
        let seconds = self.clock.elapsed().as_secs_f64();
        let stopped_early = self.options.stop.asked() && now < end;
        let served = self.cards.stop();
        self.watch.look(&self.lab, &self.clock)?;
        let figures = self.figures(now, seconds)?;
        Ok(EmulateReport {
            real: Real {
                scale: self.clock.scale(),
                link_mbps: self.options.rate.get() as f64 / 1e6,
                mbps: figures.gbps * 1e3 / self.clock.scale(),
                seconds,
                stopped_early,
                overrun: served.overrun + self.lab.overrun(),
                latest_ms: served.latest as f64 * self.clock.scale() / 1e6,
            },
            wait_for: self.watch.graph(),
            figures,
        })
    }

    fn act(&mut self, number: usize) -> Result<(), EmulateError> {
        let now = self.clock.now();
        let (happening, changed) = self.live.act(now, number)?;
        match happening {
            NetworkEvent::Fail(link) | NetworkEvent::Restore(link) => {
                let up = matches!(happening, NetworkEvent::Restore(_));
                self.watch.set_link(link, up);
                self.lab.set_link(self.topology, link, up)?;
                let ends = self.topology.link(link);
                for end in [ends.a.node, ends.b.node] {
                    if let NodeId::Host(host) = end {
                        self.cards.change(|hosts| hosts.set_up(host.index(), up));
                    }
                }
                let name = self.topology.link_name(link);
                self.last_event = Some(format!("{name} {}", if up { "works" } else { "failed" }));
            }
            NetworkEvent::Pause { host, class, until } => {
                self.cards
                    .change(|hosts| hosts.pause(host, class, now, until));
            }
            NetworkEvent::Tables => {
                let names = changed
                    .iter()
                    .map(|(id, _)| self.topology.switch(*id).name.as_str());
                let names: Vec<&str> = names.collect();
                self.last_event = Some(format!("new routes at {}", names.join(", ")));
            }
        }
        for (id, executor) in changed {
            self.lab.switch(id).replace(Box::new(executor))?;
        }
        Ok(())
    }

    fn tell(&self, watcher: &mut dyn Watcher, last: &mut (Instant, Vec<u64>)) {
        let hosts = self.cards.hosts();
        let now = self.clock.now();
        let got = hosts.progress(now);
        let before = std::mem::replace(&mut last.1, got.iter().map(|(_, got)| got.bytes).collect());
        let since = last.0.elapsed();
        last.0 = Instant::now();
        let flows = got.iter().enumerate().map(|(at, (name, got))| {
            let before = before.get(at).copied().unwrap_or(0);
            (*name, got.bytes - before, got.runs)
        });
        watcher.tick(&Moment {
            now: Nanos::new(now),
            end: self.scenario.duration.0,
            elapsed: self.clock.elapsed(),
            flows: flows.collect(),
            since,
            paused: self.watch.paused(),
            deadlocks: self.watch.names(),
            event: self.last_event.clone(),
        });
    }

    /// The figures in the scenario's time.
    fn figures(&self, now: u64, seconds: f64) -> Result<SimulationReport, EmulateError> {
        let hosts = self.cards.hosts();
        let mut flows = hosts.reports(self.topology, now);
        let (mut losses, mut hops) = (Losses::default(), 0);
        let mut switches = Vec::new();
        for id in self.topology.switch_ids() {
            let look = |buffer: &Buffer, totals: Totals, now| (buffer.clone(), totals, now);
            let Some((buffer, totals, at)) = self.lab.switch(id).inspect(look)? else {
                continue;
            };
            losses.lossless += totals.lossless;
            losses.lossy += totals.lossy;
            losses.program += totals.program;
            losses.link_down += totals.link_down + buffer.counters().flushed;
            losses.lossy += buffer.counters().evicted;
            hops += totals.processed;
            let mut report = player::switch(self.topology, id, &buffer, at);
            report.paused_us /= self.clock.scale();
            for class in &mut report.classes {
                class.paused_us /= self.clock.scale();
            }
            switches.push(report);
        }
        losses.program += hosts.strange;
        for flow in &mut flows {
            // Whoever was stopped early has no last tenth.
            if self.options.stop.asked() {
                flow.gbps_at_end = 0.0;
            }
        }
        let deadlock = self.watch.reports(&self.clock);
        Ok(SimulationReport {
            scenario: self.scenario.name.clone(),
            tags: self.scenario.tags,
            deadlocks: deadlock.len(),
            deadlock,
            timeline: player::timeline(self.scenario),
            stuck_queues: self.watch.stuck(&self.lab)?,
            lossless_drops: losses.lossless,
            losses,
            watchdog: None,
            gbps: flows.iter().map(|flow| flow.gbps).sum(),
            flows,
            workloads: Vec::new(),
            switches,
            simulated_us: now as f64 / 1e3,
            packets: hosts.delivered,
            packet_hops: hops,
            events: hops,
            seconds,
        })
    }
}

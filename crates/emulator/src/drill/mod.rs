//! Drills: running switches, a stream of packets between two hosts, and something that happens
//! meanwhile: a link goes down, or a new version of the plan takes over. What is lost, and for how
//! long nothing arrives, is measured.
//!
//! Everything lives in a network namespace of its own, with a veth pair for every link and a
//! process for every switch: `switchwright switch`, or BMv2's `simple_switch_grpc` with
//! `switchwright agent` beside it. No controller takes part: a failing link is only switched off.
//! Or the switches run already, and only the stream and the failure are the drill's, at interfaces
//! of this network namespace.

mod lab;
mod stream;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use controlplane::desired::DesiredError;
use controlplane::versioned::{self, VersionedError};
use controlplane::{Desired, Devices, DevicesError, PushError, PushOptions, Stop};
use lab::Lab;
pub use lab::SwitchKind;
use linuxnet::{Namespace, NetError};
use plan::CheckedPlan;
use serde::Serialize;
use simulator::embedded::{Fleet, NetworkError, TrailEnd};
use stream::{Log, Stream};
use thiserror::Error;
use topology::{HostId, LinkId, NodeId, Topology};

/// How long a part of the drill may take before it is given up.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What is drilled.
#[derive(Clone, Debug)]
pub struct DrillOptions {
    /// The switches.
    pub fabric: Fabric,
    /// The build directory.
    pub build: PathBuf,
    /// The sending host.
    pub from: HostId,
    /// The receiving host.
    pub to: HostId,
    /// What happens after a third of the time.
    pub event: DrillEvent,
    /// Packets a second.
    pub rate: u32,
    /// How long packets are sent.
    pub time: Duration,
}

/// The switches of a drill.
#[derive(Clone, Debug)]
pub enum Fabric {
    /// They are started for it.
    Own {
        /// What they are.
        kind: SwitchKind,
        /// This program, to start switches and agents.
        executable: PathBuf,
    },
    /// They run already and hold the build's entries.
    Running(Running),
}

/// Where a running network is taken hold of.
#[derive(Clone, Debug)]
pub struct Running {
    /// The sending and the receiving host's interfaces.
    pub interfaces: [String; 2],
    /// Interfaces that are switched off for the failing link.
    pub cut: Vec<String>,
    /// Where the switches are, for an update.
    pub devices: Option<Devices>,
}

/// What happens during a drill.
#[derive(Clone, Debug)]
pub enum DrillEvent {
    /// A link goes down, the first on the packets' way if none is named; after another third it
    /// comes back.
    Fail(Option<LinkId>),
    /// Another build takes over, version beside version.
    Update(PathBuf),
}

/// Why there is no drill.
#[derive(Debug, Error)]
pub enum DrillError {
    /// Namespaces, links, sockets.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A program cannot be started.
    #[error("`{program}` cannot be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// Something took too long.
    #[error("{0}, although a minute has passed")]
    Late(String),
    /// The plan in process.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The packets' way crosses no link between switches.
    #[error(
        "packets from `{from}` to `{to}` cross no link between switches; choose hosts at two switches"
    )]
    NoLink {
        /// The sending host.
        from: String,
        /// The receiving host.
        to: String,
    },
    /// The build directory.
    #[error(transparent)]
    Build(#[from] DesiredError),
    /// Our own devices file.
    #[error(transparent)]
    Devices(#[from] DevicesError),
    /// The entries.
    #[error(transparent)]
    Push(#[from] PushError),
    /// The other version's entries.
    #[error(transparent)]
    Versioned(Box<VersionedError>),
    /// A switch refused.
    #[error("the switches did not take the entries: {0}")]
    Refused(String),
    /// An update of running switches that nobody says the place of.
    #[error("an update of running switches needs the devices file: --devices FILE")]
    NoDevices,
    /// A switch that was started has ended.
    #[error("switch `{name}` ended before it listened ({status}); it said:\n{words}")]
    Ended {
        /// Its name.
        name: String,
        /// How.
        status: std::process::ExitStatus,
        /// The end of what it said.
        words: String,
    },
    /// A thread or a file of the drill itself.
    #[error("the drill itself failed: {0}")]
    System(#[from] std::io::Error),
}

impl From<VersionedError> for DrillError {
    fn from(error: VersionedError) -> Self {
        Self::Versioned(Box::new(error))
    }
}

/// What a drill found.
#[derive(Clone, Debug, Serialize)]
pub struct DrillReport {
    /// `ours`, `bmv2` or `running`.
    pub switches: &'static str,
    /// What happened.
    pub event: String,
    /// Packets a second that were aimed at.
    pub rate: u32,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived, each counted once.
    pub received: u64,
    /// Packets that did not.
    pub lost: u64,
    /// Packets that arrived again.
    pub duplicated: u64,
    /// Packets that arrived after a later one.
    pub reordered: u64,
    /// Longest time without an arrival before anything happened, in milliseconds: what the machine
    /// does by itself.
    pub quiet_gap_ms: f64,
    /// Longest time without an arrival from the event on, in milliseconds.
    pub longest_gap_ms: f64,
    /// From the first lost packet's sending to the last one's, in milliseconds; 0 if none was lost.
    pub outage_ms: f64,
    /// How long the control plane worked on the event, in milliseconds; `null` where it had no
    /// part.
    pub control_ms: Option<f64>,
}

/// What happens, decided.
enum Event<'a> {
    Fail { what: String, link: Cut<'a> },
    Update(&'a Path),
}

/// How a link fails.
enum Cut<'a> {
    /// A link of the drill's own network.
    Link(LinkId),
    /// These interfaces are switched off.
    Interfaces(&'a [String]),
}

/// Runs a drill.
///
/// # Errors
/// [`DrillError`]. Whatever was started is ended.
pub fn drill(plan: &CheckedPlan, options: &DrillOptions) -> Result<DrillReport, DrillError> {
    let topology = plan.topology();
    match &options.fabric {
        Fabric::Own { kind, executable } => {
            let event = match &options.event {
                DrillEvent::Update(build) => Event::Update(build),
                DrillEvent::Fail(named) => {
                    let link = named.map_or_else(|| first_link(plan, options), Ok)?;
                    Event::Fail {
                        what: format!("link {}", topology.link_name(link)),
                        link: Cut::Link(link),
                    }
                }
            };
            let namespace = Namespace::new()?;
            namespace.set("ipv6/conf/default/disable_ipv6", "1")?;
            namespace.run(|| {
                Drill {
                    topology,
                    options,
                    event,
                }
                .on_own_switches(*kind, executable)
            })?
        }
        Fabric::Running(running) => {
            let event = match &options.event {
                DrillEvent::Update(build) => Event::Update(build),
                DrillEvent::Fail(_) => Event::Fail {
                    what: running.cut.join(", "),
                    link: Cut::Interfaces(&running.cut),
                },
            };
            Drill {
                topology,
                options,
                event,
            }
            .on_running_switches(running)
        }
    }
}

/// The first link between switches that the stream crosses.
fn first_link(plan: &CheckedPlan, options: &DrillOptions) -> Result<LinkId, DrillError> {
    let mut fleet = Fleet::of(plan.clone())?;
    let frame = fleet.probe(options.from, options.to, &stream::content(0))?;
    let topology = plan.topology();
    let trail = fleet.send(&[frame]).into_iter().next();
    let crossed = trail.filter(|trail| matches!(trail.end, TrailEnd::Host(..)));
    let mut links = crossed
        .into_iter()
        .flat_map(|trail| trail.hops)
        .filter_map(|hop| {
            let peer = topology.peer(hop.0, hop.1)?;
            matches!(peer.end.node, NodeId::Switch(_)).then_some(peer.link)
        });
    links.next().ok_or_else(|| DrillError::NoLink {
        from: topology.host(options.from).name.clone(),
        to: topology.host(options.to).name.clone(),
    })
}

/// A drill, on a thread of the network's namespace.
struct Drill<'a> {
    topology: &'a Topology,
    options: &'a DrillOptions,
    event: Event<'a>,
}

/// What the control plane needs for an update.
struct Control {
    runtime: tokio::runtime::Runtime,
    devices: Option<Devices>,
    push: PushOptions,
}

impl Control {
    /// Its threads are of the caller's network namespace, and close sessions that are done with.
    fn new(devices: Option<Devices>, folder: &Path) -> Result<Self, DrillError> {
        Ok(Self {
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?,
            devices,
            push: PushOptions {
                jobs: 16,
                sessions: PushOptions::SESSIONS,
                continue_on_unreachable: false,
                take_over: true,
                journal: folder.join("journal"),
                replace_program: false,
                stop: Stop::default(),
            },
        })
    }

    fn devices(&self) -> Result<&Devices, DrillError> {
        self.devices.as_ref().ok_or(DrillError::NoDevices)
    }

    /// The build's entries, from nothing.
    fn push(&self, desired: &Desired) -> Result<(), DrillError> {
        let told = quiet();
        let done = controlplane::push::push(desired, self.devices()?, &self.push, &told);
        refused(&self.runtime.block_on(done)?)
    }

    /// Another version takes over.
    fn update(&self, build: &Path) -> Result<(), DrillError> {
        let next = Desired::open(build)?;
        let told = quiet();
        let done = versioned::push(&next, self.devices()?, &self.push, &told);
        refused(&self.runtime.block_on(done)?)
    }
}

/// Nobody is told how a push gets on.
fn quiet() -> controlplane::push::StepObserver {
    Arc::new(|_, _| {})
}

impl Drill<'_> {
    /// Starts switches and gives them their entries first.
    fn on_own_switches(
        &self,
        kind: SwitchKind,
        executable: &Path,
    ) -> Result<DrillReport, DrillError> {
        let folder = files::Scratch::new()?;
        let mut lab = Lab::start(self.topology, kind, executable, folder.path())?;
        let desired = Desired::open(&self.options.build)?;
        let devices = Devices::parse(&lab.devices(), folder.path(), &desired.wanted())?;
        let control = Control::new(Some(devices), folder.path())?;
        control.push(&desired)?;
        if kind == SwitchKind::Bmv2 {
            lab.start_agents(executable)?;
        }
        let end = |host| {
            let interface = Lab::host_end(self.topology, host);
            let name = || self.topology.host(host).name.clone();
            interface.ok_or_else(|| NetworkError::Unplugged(name()))
        };
        let ends = [end(self.options.from)?, end(self.options.to)?];
        self.stream(&ends, &control, |cut, up| match cut {
            Cut::Link(link) => lab.set_link(self.topology, *link, kind, up),
            Cut::Interfaces(_) => Ok(()),
        })
    }

    /// Takes switches as they are.
    fn on_running_switches(&self, running: &Running) -> Result<DrillReport, DrillError> {
        let folder = files::Scratch::new()?;
        let control = Control::new(running.devices.clone(), folder.path())?;
        self.stream(&running.interfaces, &control, |cut, up| match cut {
            Cut::Interfaces(names) => lab::set_interfaces(names, up),
            Cut::Link(_) => Ok(()),
        })
    }

    /// The stream, and what happens meanwhile.
    fn stream(
        &self,
        ends: &[String; 2],
        control: &Control,
        set: impl Fn(&Cut<'_>, bool) -> Result<(), DrillError>,
    ) -> Result<DrillReport, DrillError> {
        let options = self.options;
        let frame = |number| frame(self.topology, options, number);
        let [sending, arriving] = [Lab::socket(&ends[0])?, Lab::socket(&ends[1])?];
        let stream = Stream::start(sending, arriving, frame, options.rate, TIMEOUT)?;
        let stream = stream.ok_or_else(|| {
            DrillError::Late("no packet arrived before anything happened".to_owned())
        })?;
        let third = options.time / 3;
        std::thread::sleep(third);
        let begin = Instant::now();
        let mut control_ms = None;
        let what = match &self.event {
            Event::Update(build) => {
                control.update(build)?;
                control_ms = Some(begin.elapsed().as_secs_f64() * 1e3);
                std::thread::sleep(third);
                format!("update to {}", build.display())
            }
            Event::Fail { what, link } => {
                set(link, false)?;
                std::thread::sleep(third);
                set(link, true)?;
                format!("{what} down and up")
            }
        };
        std::thread::sleep(third);
        Ok(report(&stream.stop(), options, what, begin, control_ms))
    }
}

fn refused(report: &controlplane::PushReport) -> Result<(), DrillError> {
    let errors: Vec<&str> = report
        .switches
        .iter()
        .filter_map(|s| s.error.as_deref())
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(DrillError::Refused(errors.join("; ")))
}

fn frame(topology: &Topology, options: &DrillOptions, number: u64) -> Vec<u8> {
    let content = stream::content(number);
    let built = simulator::embedded::frame(topology, options.from, options.to, &content);
    // Addresses and content are the topology's and ours: they make a packet.
    built.unwrap_or_default()
}

fn report(
    log: &Log,
    options: &DrillOptions,
    event: String,
    at: Instant,
    control_ms: Option<f64>,
) -> DrillReport {
    let counted = log.count();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    DrillReport {
        switches: match &options.fabric {
            Fabric::Own { kind, .. } => kind.name(),
            Fabric::Running(_) => "running",
        },
        event,
        rate: options.rate,
        sent: log.sent.len() as u64,
        received: counted.received,
        lost: log.sent.len() as u64 - counted.received,
        duplicated: counted.duplicated,
        reordered: counted.reordered,
        quiet_gap_ms: ms(log.longest_gap(None, Some(at))),
        longest_gap_ms: ms(log.longest_gap(Some(at), None)),
        outage_ms: ms(counted.outage),
        control_ms,
    }
}

/// Whether drills can run here: the right to make namespaces, and the programs that switches of
/// this kind need.
///
/// # Errors
/// What is missing, in words.
pub fn possible(kind: SwitchKind) -> Result<(), String> {
    linuxnet::permitted().map_err(|error| error.to_string())?;
    let needed: &[&str] = match kind {
        SwitchKind::Ours => &[],
        SwitchKind::Bmv2 => &["simple_switch_grpc", "ip"],
    };
    let found = |program: &&&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
    };
    match needed.iter().find(|program| !found(program)) {
        Some(missing) => Err(format!("`{missing}` is not on PATH")),
        None => Ok(()),
    }
}

//! The scenario file: what the network is like, who sends what, and what happens when. YAML; the
//! format is described in `docs/simulate.md`.

mod bundled;
mod transport;
mod watchdog;
mod workload;

use plan::Tables;
use serde::Deserialize;
use topology::routes::forwarding::Reroute;

pub use bundled::{BUNDLED, bundled};
pub use transport::{MAX_PACKET, MIN_PACKET, SenderSpec, TransportSpec};
pub use watchdog::{WatchdogAction, WatchdogSpec};
pub use workload::{ArrivalsSpec, WorkloadSpec};

use super::error::ScenarioError;
use super::quantity::{Size, Speed, Time};
use super::request::Request;

/// A scenario as its file has it: names, not yet looked up.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// What it shows, for people.
    #[serde(default)]
    pub about: String,
    /// The network that it is for, where none is given.
    pub network: Option<Request>,
    /// How long it lasts.
    pub duration: Time,
    /// Where chance begins: source ports of flows, marks.
    #[serde(default = "one")]
    pub seed: u64,
    /// `false`: the same program, but the tag of a packet never changes (plain PFC).
    #[serde(default = "yes")]
    pub tags: bool,
    /// Length of data frames where a flow does not say, in bytes.
    #[serde(default = "mtu")]
    pub packet: u16,
    /// Rate of all links, instead of the topology's.
    pub rate: Option<Speed>,
    /// From when on throughput is measured; a flow's whole life if absent.
    pub measure_from: Option<Time>,
    /// How far apart the points of plots are; a 400th of the duration if absent.
    pub sample: Option<Time>,
    /// The switches.
    #[serde(default)]
    pub switches: SwitchSpec,
    /// SONiC's PFC watchdog; none if absent.
    pub watchdog: Option<WatchdogSpec>,
    /// The round-trip time of a data frame and its answer between any two hosts in an empty
    /// network: hosts take as long to act on what has arrived as is missing. If absent, they act at
    /// once.
    pub round_trip: Option<Time>,
    /// How much longer than that a host takes to act on a frame, at most: drawn for every frame,
    /// frames of a flow stay in order. If absent, all take the same time.
    pub jitter: Option<Time>,
    /// Who sends what.
    #[serde(default)]
    pub flows: Vec<FlowSpec>,
    /// What every host sends by chance.
    #[serde(default)]
    pub workloads: Vec<WorkloadSpec>,
    /// What happens when.
    #[serde(default)]
    pub events: Vec<EventSpec>,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

fn mtu() -> u16 {
    1500
}

/// How the switches are configured.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchSpec {
    /// Packet buffer, instead of the topology's or the plan's.
    pub buffer: Option<Size>,
    /// When a lossless class is paused; dynamic with alpha 1/2 if absent.
    pub threshold: Option<ThresholdSpec>,
    /// Headroom of every port and lossless class, instead of the calculated one.
    pub headroom: Option<Size>,
    /// How long a lossy queue may grow; as much as is free if absent.
    pub lossy_limit: Option<Size>,
    /// Lossy queues hold so much and go by rank: whoever has the fewest bytes left to send is sent
    /// first, whoever has the most is dropped first (pFabric13). If absent they send in the order
    /// of arrival and drop what comes last.
    pub ranked: Option<Size>,
    /// Marking.
    pub ecn: Option<EcnSpec>,
    /// Who sends next; DWRR with equal weights if absent.
    pub scheduler: Option<SchedulerSpec>,
    /// Queue by ING_PRIO instead of EG_PRIO.
    pub tied_priorities: bool,
    /// The pause that PFC frames ask for, in quanta; 65535 if absent.
    pub pause_quanta: Option<u16>,
    /// What it takes to act on a PFC frame, in quanta; 60 if absent.
    pub reaction_quanta: Option<u16>,
    /// What frames take on the wire beyond their bytes; 24 bytes if absent.
    pub wire_overhead: Option<Size>,
}

/// When a lossless class is paused.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum ThresholdSpec {
    /// At so many bytes.
    Fixed {
        /// Use at which the sender is paused.
        xoff: Size,
        /// Use at which it may go on.
        xon: Size,
    },
    /// At a share of what is free.
    Dynamic {
        /// The share.
        alpha: f64,
        /// How far below the threshold it may go on; 3000 bytes if absent.
        offset: Option<Size>,
    },
}

/// Marking.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcnSpec {
    /// No marks below.
    pub kmin: Size,
    /// All marked above.
    pub kmax: Size,
    /// Probability just below `kmax`; 1 if absent.
    pub pmax: Option<f64>,
}

/// Who sends next; weights by priority, 0 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerSpec {
    /// The highest priority.
    Strict,
    /// Packets in these proportions.
    Wrr([u16; 8]),
    /// Bytes in these proportions.
    Dwrr([u16; 8]),
}

/// A flow, or many alike.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// What it is called; made from its ends if absent.
    pub name: Option<String>,
    /// The sending host; not with `pattern`.
    pub from: Option<String>,
    /// The receiving host; not with `pattern`.
    pub to: Option<String>,
    /// Many flows: `permutation` (every host sends to one other), `all-to-all`.
    pub pattern: Option<PatternSpec>,
    /// The lossless class, counted from 0; 0 if absent.
    #[serde(default)]
    pub class: u8,
    /// Send it lossy.
    #[serde(default)]
    pub lossy: bool,
    /// How its sender behaves.
    #[serde(default)]
    pub transport: TransportSpec,
    /// The fastest that it sends; the link's rate if absent.
    pub rate: Option<Speed>,
    /// How much it sends; without end if absent.
    pub bytes: Option<Size>,
    /// When it begins.
    pub start: Option<Time>,
    /// Another one like it after so long, ...
    pub every: Option<Time>,
    /// ... until there are so many.
    pub times: Option<u32>,
    /// When it ends, if not before.
    pub stop: Option<Time>,
    /// Send for so long, ...
    pub on: Option<Time>,
    /// ... then rest for so long, in turn.
    pub off: Option<Time>,
    /// Length of its frames.
    pub packet: Option<u16>,
    /// UDP source port, which ECMP looks at; drawn if absent.
    pub port: Option<u16>,
    /// Another source port for every packet, so that ECMP spreads them (packet spraying).
    #[serde(default)]
    pub spray: bool,
    /// The first window in packets, for transports with one: 10 for tcp and dctcp (RFC 6928), a
    /// bandwidth-delay product for bolt and pfabric if absent.
    pub first_window: Option<u32>,
    /// Whether the window doubles in every round trip at first (RFC 5681 section 3.1): yes for tcp
    /// and dctcp, no for bolt and pfabric if absent.
    pub slow_start: Option<bool>,
    /// Whether repeated acknowledgements tell of a loss (RFC 5681 section 3.2): not with `spray` if
    /// absent, for then packets overtake each other.
    pub fast_retransmit: Option<bool>,
    /// The shortest retransmission timeout (RFC 6298 section 2.4), which is also the first one: 5
    /// ms, for pfabric three round trips if absent.
    pub min_rto: Option<Time>,
    /// The switches it passes, by routes of its own, each with the port by which it is left where
    /// links are parallel (`s1:3`).
    pub path: Option<Vec<String>>,
    /// With `pattern`: the paths, of which each pair of hosts takes one that begins and ends at
    /// their switches, in turn where there are several.
    #[serde(default)]
    pub paths: Vec<Vec<String>>,
}

/// Many flows alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatternSpec {
    /// Host i sends to host i + n/2.
    Permutation,
    /// Every host sends to every host of another switch.
    AllToAll,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSpec {
    /// When.
    pub at: Time,
    /// A link fails: `s1-s2`.
    pub fail: Option<String>,
    /// A link works again.
    pub restore: Option<String>,
    /// Routing reacts to what has failed.
    pub reroute: Option<RerouteSpec>,
    /// One switch sends what is for a host to a neighbour, whatever its tables say.
    pub route: Option<RouteSpec>,
    /// All routes of `route` events are taken back.
    #[serde(default)]
    pub mend_routes: bool,
    /// A host sends PFC frames.
    pub pause: Option<PauseSpec>,
}

/// Who reacts to failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RerouteSpec {
    /// All switches: best routes over what is up.
    Converged,
    /// Only the switches at failed links.
    Local,
}

impl From<RerouteSpec> for Reroute {
    fn from(spec: RerouteSpec) -> Self {
        match spec {
            RerouteSpec::Converged => Self::Converged,
            RerouteSpec::Local => Self::Local,
        }
    }
}

/// A route by hand.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// The switch.
    pub switch: String,
    /// The destination: a host, or a flow that has a path.
    pub to: String,
    /// The neighbour it is sent to.
    pub via: String,
}

/// A host that pauses its switch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseSpec {
    /// The host.
    pub host: String,
    /// The priority.
    pub priority: u8,
    /// For how long.
    pub lasts: Time,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// [`ScenarioError::Syntax`], with line and column; [`ScenarioError::Wrong`] for what no
    /// network could do.
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_saphyr::from_str(text)
            .map_err(|e| ScenarioError::Syntax(topology::yaml_problem(text, &e)))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Has all flows and workloads sent in this way, instead of how they say.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if they say what means nothing for it.
    pub fn set_transport(&mut self, transport: TransportSpec) -> Result<(), ScenarioError> {
        self.flows
            .iter_mut()
            .for_each(|flow| flow.transport = transport);
        self.workloads
            .iter_mut()
            .for_each(|workload| workload.transport = transport);
        self.check()
    }

    /// The tables of the network that it is for, yet to be proven.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if it names no network, or one that cannot be.
    pub fn tables(&self) -> Result<Tables, ScenarioError> {
        let Some(network) = &self.network else {
            let problem = "it names none: give a build directory, or say in it which topology and plan it is for";
            return Err(ScenarioError::wrong("network", problem));
        };
        network.tables()
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let wrong = |place: &str, problem: &str| ScenarioError::wrong(place, problem);
        if self.duration.0.get() == 0 {
            return Err(wrong("duration", "is 0; nothing would happen"));
        }
        if self.rate.is_some_and(|rate| rate.0.get() == 0) {
            return Err(wrong("rate", "is 0; nothing could ever be sent"));
        }
        if self.flows.is_empty() && self.workloads.is_empty() {
            return Err(wrong(
                "flows",
                "there are none, and no `workloads`; nothing would happen",
            ));
        }
        for (number, workload) in self.workloads.iter().enumerate() {
            let place = format!("workload `{}`", workload.name);
            workload
                .check()
                .map_err(|problem| wrong(&place, &problem))?;
            if self.workloads[..number]
                .iter()
                .any(|w| w.name == workload.name)
            {
                return Err(wrong(
                    &format!("workloads[{number}]"),
                    &format!("another one is called `{}` already", workload.name),
                ));
            }
        }
        if let Some(problem) = self.watchdog.as_ref().and_then(WatchdogSpec::wrong) {
            return Err(wrong("watchdog", problem));
        }
        for (number, flow) in self.flows.iter().enumerate() {
            flow.check()
                .map_err(|problem| wrong(&flow.place(number), &problem))?;
        }
        for (number, event) in self.events.iter().enumerate() {
            if event.count() != 1 {
                return Err(wrong(
                    &event.place(number),
                    "needs exactly one of fail, restore, reroute, route, mend_routes, pause",
                ));
            }
        }
        Ok(())
    }
}

impl FlowSpec {
    /// Where it stands, for errors: by its name, or by its number in the list.
    #[must_use]
    pub fn place(&self, number: usize) -> String {
        match &self.name {
            Some(name) => format!("flow `{name}`"),
            None => format!("flows[{number}]"),
        }
    }

    /// How packets are sent.
    #[must_use]
    pub const fn sender(&self) -> SenderSpec {
        SenderSpec {
            transport: self.transport,
            spray: self.spray,
            first_window: self.first_window,
            slow_start: self.slow_start,
            fast_retransmit: self.fast_retransmit,
            min_rto: self.min_rto,
        }
    }

    fn check(&self) -> Result<(), String> {
        self.sender().check()?;
        match (&self.pattern, &self.from, &self.to) {
            (None, Some(_), Some(_)) | (Some(_), None, None) => {}
            _ => return Err("needs `from` and `to`, or a `pattern` and neither".to_owned()),
        }
        if self.pattern.is_some() && self.path.is_some() {
            return Err("a pattern has no path; it may have `paths`".to_owned());
        }
        if self.pattern.is_none() && !self.paths.is_empty() {
            return Err("has `paths`, which go with a `pattern`; say `path`".to_owned());
        }
        if let Some(empty) = self.paths.iter().position(Vec::is_empty) {
            return Err(format!("paths[{empty}] is empty"));
        }
        if self.rate.is_some_and(|rate| rate.0.get() == 0) {
            return Err("has rate 0 and would never send".to_owned());
        }
        if self.bytes.is_some_and(|bytes| bytes.0.get() == 0) {
            return Err("has 0 bytes to send".to_owned());
        }
        if let Some(packet) = self.packet
            && !(MIN_PACKET..=MAX_PACKET).contains(&packet)
        {
            return Err(format!(
                "has frames of {packet} bytes; they may have {MIN_PACKET} to {MAX_PACKET}"
            ));
        }
        let repeated = self.every.is_some_and(|every| every.0.get() > 0)
            && self.times.is_some_and(|times| times > 0);
        if !repeated && (self.every.is_some() || self.times.is_some()) {
            return Err("needs both `every` and `times`, and both above 0".to_owned());
        }
        if self.on.is_some() != self.off.is_some() || self.on.is_some_and(|on| on.0.get() == 0) {
            return Err("needs both `on` and `off`, and `on` above 0".to_owned());
        }
        Ok(())
    }
}

impl EventSpec {
    /// Where it stands, for errors: its number in the list, and what it is about.
    #[must_use]
    pub fn place(&self, number: usize) -> String {
        let about = match self {
            Self {
                fail: Some(link), ..
            } => format!(" (fail {link})"),
            Self {
                restore: Some(link),
                ..
            } => format!(" (restore {link})"),
            Self {
                route: Some(route), ..
            } => format!(" (route at {})", route.switch),
            Self {
                pause: Some(pause), ..
            } => format!(" (pause by {})", pause.host),
            _ => String::new(),
        };
        format!("events[{number}]{about}")
    }

    fn count(&self) -> usize {
        usize::from(self.fail.is_some())
            + usize::from(self.restore.is_some())
            + usize::from(self.reroute.is_some())
            + usize::from(self.route.is_some())
            + usize::from(self.mend_routes)
            + usize::from(self.pause.is_some())
    }
}

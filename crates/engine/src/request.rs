//! What can be asked. Topologies, cables and plans are spelled as scenario files spell them
//! (`docs/simulate.md`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spec::{CablesSpec, PlanSpec, RerouteSpec, TopologySpec};

/// A request, by its name under `call`.
#[derive(Debug, Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case")]
pub(crate) enum Request {
    /// The version, the executor and the limits.
    About,
    /// The scenarios that come along.
    Scenarios,
    /// A topology and where its nodes stand.
    Topology(TopologyRequest),
    /// A topology in figures.
    Summary(TopologyRequest),
    /// A topology as a picture.
    Draw(TopologyRequest),
    /// A plan and its proof.
    Plan(NetworkRequest),
    /// How full links are.
    Load(LoadRequest),
    /// What switches hold.
    Entries(EntriesRequest),
    /// The program of a plan for a target, with figures.
    Build(BuildRequest),
    /// A packet's way.
    Trace(TraceRequest),
    /// What the front end says of a program.
    Compile(Source),
    /// Whether a program passes a case.
    Stf(StfRequest),
    /// What becomes of packets that a program by itself is given.
    Packets(PacketsRequest),
    /// A simulation in which nothing has happened yet.
    Simulate(SimulateRequest),
    /// A slice of a simulation.
    Run(RunRequest),
    /// Something by hand in a simulation.
    Change(ChangeRequest),
    /// A simulation's figures so far.
    Report(SessionRequest),
    /// A simulation's pictures; it ends.
    Plots(SessionRequest),
    /// A simulation is not wanted any more.
    End(SessionRequest),
}

/// A topology: made, or read from the text of a file of any kind that `switchwright topo import`
/// knows.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Given {
    /// By a generator.
    Make {
        /// Which.
        topology: TopologySpec,
        /// Rates and lengths.
        #[serde(default)]
        cables: CablesSpec,
    },
    /// From a file.
    Text {
        /// The file.
        text: String,
        /// For files that have no hosts: so many at every node.
        #[serde(default)]
        hosts_per_node: u16,
        /// The topology's name, where the file has none.
        name: Option<String>,
        /// Links and switches that are up, though the file has them as down.
        #[serde(default)]
        mend: Vec<String>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopologyRequest {
    pub(crate) topology: Given,
}

/// A network: what stands in front of every request about one.
#[derive(Debug, Deserialize)]
pub(crate) struct NetworkRequest {
    /// The topology.
    pub(crate) topology: Option<Given>,
    /// What is planned for it; Tagger if absent.
    pub(crate) plan: Option<PlanSpec>,
    /// Instead of both: a plan file, whoever computed it.
    pub(crate) file: Option<String>,
    /// Every switch lets packets keep their tag, whatever the plan.
    #[serde(default)]
    pub(crate) without_tags: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct LoadRequest {
    #[serde(flatten)]
    pub(crate) network: NetworkRequest,
    /// Links that have failed.
    #[serde(default)]
    pub(crate) fail: Vec<String>,
    /// Who has reacted.
    #[serde(default)]
    pub(crate) routing: Routing,
}

#[derive(Debug, Deserialize)]
pub(crate) struct EntriesRequest {
    #[serde(flatten)]
    pub(crate) network: NetworkRequest,
    /// Of these switches; of all if empty.
    #[serde(default)]
    pub(crate) switches: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BuildRequest {
    #[serde(flatten)]
    pub(crate) network: NetworkRequest,
    /// `v1model`, `tna`, `tna2`.
    pub(crate) target: String,
    /// All files of the build directory, too.
    #[serde(default)]
    pub(crate) directory: bool,
}

/// Who reacts to failures.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Routing {
    #[default]
    Converged,
    Local,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TraceRequest {
    #[serde(flatten)]
    pub(crate) network: NetworkRequest,
    /// Links that have failed.
    #[serde(default)]
    pub(crate) fail: Vec<String>,
    /// Who has reacted.
    #[serde(default)]
    pub(crate) routing: Routing,
    /// What is sent.
    pub(crate) packet: PacketSpec,
    /// The main file of the program, instead of the one that `build` writes.
    pub(crate) program: Option<String>,
}

/// A packet to send.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum PacketSpec {
    /// From a host to another.
    Hosts {
        from: String,
        to: String,
        /// The lossless class, counted from 0.
        #[serde(default)]
        class: u8,
        #[serde(default)]
        lossy: bool,
        /// UDP source port.
        flow: Option<u16>,
        #[serde(default)]
        ipv6: bool,
    },
    /// Any bytes, into a port of a switch.
    Bytes {
        switch: String,
        port: u16,
        /// In hexadecimal; spaces do not count.
        bytes: String,
    },
}

/// A program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// The main file.
    pub(crate) text: Option<String>,
    /// What it may include, by name.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Instead of both: the main file on this machine's disk, for engines of whoever runs them.
    pub(crate) path: Option<PathBuf>,
    /// With `path`: folders searched for included files.
    #[serde(default)]
    pub(crate) include: Vec<PathBuf>,
    /// Macros.
    #[serde(default)]
    pub(crate) define: BTreeMap<String, String>,
    /// Where the file at `path` is BMv2's JSON (`.json`), its P4Info on the disk: for entries that
    /// are not STF.
    pub(crate) p4info: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StfRequest {
    pub(crate) program: Source,
    /// The case.
    pub(crate) case: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PacketsRequest {
    pub(crate) program: Source,
    /// What the control plane puts into it first, in this order.
    #[serde(default)]
    pub(crate) entries: Vec<EntriesFile>,
    /// In this order, a microsecond apart.
    pub(crate) packets: Vec<PacketIn>,
    /// Tell what happens on the way.
    #[serde(default)]
    pub(crate) trace: bool,
}

/// Entries: runtime.json, commands.txt, entries.txtpb or an STF file; the name tells which.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntriesFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A packet that comes in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PacketIn {
    pub(crate) port: u16,
    /// In hexadecimal; spaces do not count.
    pub(crate) bytes: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimulateRequest {
    /// The scenario's YAML, or the name of one that comes along.
    pub(crate) scenario: String,
    /// The network to play it on; the scenario's own if absent.
    pub(crate) network: Option<NetworkRequest>,
    /// Whether tags change as planned; as the scenario says if absent.
    pub(crate) tags: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionRequest {
    pub(crate) simulation: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunRequest {
    pub(crate) simulation: u64,
    /// Until then, in microseconds of simulated time.
    pub(crate) until_us: f64,
    /// At most so many events, but for those that belong to the last ones' time; as many as a slice
    /// may have if absent.
    pub(crate) events: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeRequest {
    pub(crate) simulation: u64,
    /// A link fails.
    pub(crate) fail: Option<String>,
    /// A link works again.
    pub(crate) restore: Option<String>,
    /// Routing reacts.
    pub(crate) reroute: Option<RerouteSpec>,
}

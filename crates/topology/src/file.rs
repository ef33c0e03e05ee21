//! The topology file: versioned JSON, one line per switch, host and link.
//!
//! ```json
//! {
//!   "format": "switchwright-topology",
//!   "version": 1,
//!   "name": "pair",
//!   "switches": [
//!     {"name": "s1", "ports": 2},
//!     {"name": "s2", "ports": 2}
//!   ],
//!   "hosts": [
//!     {"name": "h1", "mac": "02:00:0a:00:00:01", "ipv4": "10.0.0.1", "ipv6": "fd00::a00:1"}
//!   ],
//!   "links": [
//!     {"a": "s1:1", "b": "h1:0", "rate_gbps": 100, "length_m": 10},
//!     {"a": "s1:2", "b": "s2:1", "rate_gbps": 100, "length_m": 100}
//!   ]
//! }
//! ```
//!
//! What is left out is derived: addresses of hosts, `up` (true); or assumed: the rate (100) and the
//! length (100, or 10 to a host). `assumed` of a link that is written says so. Writing a topology
//! and reading it back gives the same topology.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

use foldhash::fast::RandomState;
use quantities::{BitRate, Bytes, Metres, PortId};
use rayon::prelude::*;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use super::assumed::{AssumedOfLink, AssumedOfNetwork};
use super::assumptions::complete;
use super::build::{Builder, HostDraft};
use super::error::TopologyError;
use super::header::{HeaderError, check_header, read_with_header};
use super::ids::NodeId;
use super::model::{Endpoint, Host, Link, Role, Switch, Topology, VirtualLayers};
use super::prefix::{Ipv4Prefix, Ipv6Prefix, Subnet};

/// The `format` of a topology file.
pub const FORMAT: &str = "switchwright-topology";
/// The `version` that this program reads and writes.
pub const VERSION: u32 = 1;

/// A topology file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TopologyFile<'a> {
    /// Always `switchwright-topology`.
    #[serde(borrow)]
    format: Cow<'a, str>,
    /// The version of this format: 1.
    version: u32,
    /// What to call it.
    #[serde(default)]
    name: String,
    /// What of the network nobody gave: who plans for it assumes a value.
    #[serde(default)]
    assumed: Vec<NetworkFact>,
    /// The switches.
    #[serde(borrow)]
    switches: Vec<SwitchEntry<'a>>,
    /// The hosts.
    #[serde(default, borrow)]
    hosts: Vec<HostEntry<'a>>,
    /// The links.
    #[serde(default, borrow)]
    links: Vec<LinkEntry<'a>>,
}

/// A switch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SwitchEntry<'a> {
    /// Unique among switches and hosts.
    #[serde(borrow)]
    name: Cow<'a, str>,
    /// Number of ports; links use ports 1 to this.
    ports: u16,
    /// `server` where it stands for a server that forwards (BCube).
    #[serde(default, skip_serializing_if = "is_switch")]
    role: Role,
    /// Layer counted from the hosts, 0 for leaves, where the topology has layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layer: Option<u8>,
    /// Pod or other grouping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    /// The addresses behind it, where they are a block of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subnet: Option<SubnetEntry>,
    /// Packet buffer in bytes, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    buffer_bytes: Option<Bytes>,
    /// What the switch itself calls its ports, by number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    interfaces: BTreeMap<PortId, String>,
    /// Whether it works.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    up: bool,
}

/// The addresses behind a switch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubnetEntry {
    /// IPv4, as in `10.0.1.0/24`.
    #[schemars(with = "String")]
    ipv4: Ipv4Prefix,
    /// IPv6, as in `fd00::a00:100/120`.
    #[schemars(with = "String")]
    ipv6: Ipv6Prefix,
}

/// A host. Addresses that are left out are derived.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HostEntry<'a> {
    /// Unique among switches and hosts.
    #[serde(borrow)]
    name: Cow<'a, str>,
    /// Ethernet address, as in `02:00:0a:00:00:01`.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    mac: Option<Text<'a>>,
    /// IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ipv4: Option<Ipv4Addr>,
    /// IPv6 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ipv6: Option<Ipv6Addr>,
    /// What the host itself calls its ports, by number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    interfaces: BTreeMap<PortId, String>,
}

/// A text that is read where it stands, unless something in it is escaped. (In an option serde
/// copies a `Cow`.)
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A full-duplex link.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinkEntry<'a> {
    /// One end, as `NODE:PORT`.
    #[serde(borrow)]
    a: Cow<'a, str>,
    /// The other end, as `NODE:PORT`.
    #[serde(borrow)]
    b: Cow<'a, str>,
    /// Gigabits per second in each direction.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "gigabits"
    )]
    rate_gbps: Option<f64>,
    /// Cable length in metres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length_m: Option<Metres>,
    /// In a Flattened Clos the virtual layer of end `a`, counted from 1; given with `b_layer` or
    /// not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    a_layer: Option<u8>,
    /// The virtual layer of end `b`, which is next to that of `a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b_layer: Option<u8>,
    /// Number of the optical circuit switch or patch panel through which it runs, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ocs: Option<NonZeroU32>,
    /// Whether it works.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    up: bool,
    /// What of this nobody gave: its value is a default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    assumed: Vec<LinkFact>,
}

/// A fact of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum LinkFact {
    /// Its rate.
    Rate,
    /// Its length.
    Length,
}

/// A fact of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum NetworkFact {
    /// The packet buffers of switches without `buffer_bytes`.
    Buffer,
    /// The largest frame.
    Mtu,
}

fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_yes(flag: &bool) -> bool {
    *flag
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_switch(role: &Role) -> bool {
    *role == Role::Switch
}

/// Writes whole numbers without a decimal point.
#[expect(clippy::ref_option, reason = "the signature serde asks for")]
fn gigabits<S: Serializer>(rate: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match rate {
        Some(rate) if rate.fract() == 0.0 && (0.0..1e15).contains(rate) =>
        {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number in range"
            )]
            serializer.serialize_u64(*rate as u64)
        }
        rate => rate.serialize(serializer),
    }
}

/// Why a topology file is refused.
#[derive(Debug, Error)]
pub enum FileError {
    /// Not JSON, or not of this structure.
    #[error("the topology file is not what it should be: {0}")]
    Json(#[from] serde_json::Error),
    /// Another kind of file.
    #[error("this is no topology file: its `format` is {found}, and must be \"{FORMAT}\"")]
    Format {
        /// What it says.
        found: String,
    },
    /// A version of the future.
    #[error(
        "the topology file's version is {0}, but this program reads version {VERSION}; use a newer program"
    )]
    Version(u32),
    /// A value that does not mean anything.
    #[error("{place}: `{value}` is not {expected}")]
    Value {
        /// Where, as a JSON path.
        place: String,
        /// What stands there.
        value: String,
        /// What should, with an example.
        expected: &'static str,
    },
    /// A link of which one end alone has a virtual layer.
    #[error("{place}: `a_layer` and `b_layer` go together; give both or neither")]
    OneVirtualLayer {
        /// Where, as a JSON path.
        place: String,
    },
    /// A link that ends nowhere.
    #[error(
        "{place}: `{value}` ends at `{node}`, but there is no switch or host of that name; add it or correct the link"
    )]
    NoSuchNode {
        /// Where, as a JSON path.
        place: String,
        /// What stands there.
        value: String,
        /// The node that does not exist.
        node: String,
    },
    /// The parts are fine, the whole is not.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl From<HeaderError> for FileError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Json(error) => Self::Json(error),
            HeaderError::Format(found) => Self::Format { found },
            HeaderError::Version(version) => Self::Version(version),
        }
    }
}

impl Topology {
    /// Reads a topology file.
    ///
    /// # Errors
    /// [`FileError`], which names the place and says how to mend it.
    pub fn from_json(text: &str) -> Result<Self, FileError> {
        let file = read_with_header(text, (FORMAT, VERSION), TopologyFile::header)?;
        file.put_together()
    }

    /// Writes the topology file. The same topology gives the same text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let switches = self.switches().iter().map(SwitchEntry::from);
        let hosts = self.hosts().iter().map(HostEntry::from);
        let links = self.links().iter().map(|link| LinkEntry::new(self, link));
        let name = serde_json::Value::from(self.name());
        let mut text = format!(
            "{{\n  \"format\": \"{FORMAT}\",\n  \"version\": {VERSION},\n  \"name\": {name},\n"
        );
        let assumed = network_facts(self.assumed());
        if !assumed.is_empty() {
            let facts = serde_json::to_string(&assumed).unwrap_or_default();
            text.push_str(&format!("  \"assumed\": {facts},\n"));
        }
        section(&mut text, "switches", switches, ",");
        section(&mut text, "hosts", hosts, ",");
        section(&mut text, "links", links, "");
        text.push_str("}\n");
        text
    }

    /// The JSON Schema of the topology file.
    #[must_use]
    pub fn json_schema() -> Schema {
        schemars::schema_for!(TopologyFile)
    }
}

/// A topology as a part of another file.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct TopologyPart<'a>(#[serde(borrow)] TopologyFile<'a>);

impl TopologyPart<'_> {
    /// What it says.
    ///
    /// # Errors
    /// [`FileError`], as of a file of its own.
    pub fn topology(self) -> Result<Topology, FileError> {
        let (format, version) = self.0.header();
        check_header((Some(format), Some(version)), (FORMAT, VERSION))?;
        self.0.put_together()
    }
}

impl TopologyFile<'_> {
    /// What it says of itself: its format and version.
    fn header(&self) -> (&str, u32) {
        (&self.format, self.version)
    }

    fn put_together(self) -> Result<Topology, FileError> {
        let mut builder = Builder::new(self.name);
        builder.set_assumed(AssumedOfNetwork {
            buffer: self.assumed.contains(&NetworkFact::Buffer),
            mtu: self.assumed.contains(&NetworkFact::Mtu),
        });
        let count = self.switches.len() + self.hosts.len();
        let mut nodes = HashMap::with_capacity_and_hasher(count, RandomState::default());
        for entry in self.switches {
            let name = entry.name.clone();
            let node = NodeId::Switch(builder.switch(entry.into()));
            register(&mut nodes, name, node)?;
        }
        for (at, entry) in self.hosts.into_iter().enumerate() {
            let name = entry.name.clone();
            let node = NodeId::Host(builder.host(entry.draft(at)?));
            register(&mut nodes, name, node)?;
        }
        let nodes = |name: &str| nodes.get(name).copied();
        let link = |(at, entry): (usize, &LinkEntry<'_>)| entry.link(at, &nodes);
        let links: Vec<_> = self.links.par_iter().enumerate().map(link).collect();
        // The first that is wrong is told.
        links
            .into_iter()
            .try_for_each(|link| link.map(|link| builder.push(link)))?;
        Ok(builder.finish()?)
    }
}

/// What of a network is assumed, as the file has it.
fn network_facts(assumed: AssumedOfNetwork) -> Vec<NetworkFact> {
    let facts = [
        (assumed.buffer, NetworkFact::Buffer),
        (assumed.mtu, NetworkFact::Mtu),
    ];
    let facts = facts.into_iter();
    facts.filter_map(|(is, fact)| is.then_some(fact)).collect()
}

/// Notes what a name stands for.
fn register<'a>(
    nodes: &mut HashMap<Cow<'a, str>, NodeId, RandomState>,
    name: Cow<'a, str>,
    node: NodeId,
) -> Result<(), TopologyError> {
    match nodes.entry(name) {
        Entry::Vacant(entry) => {
            entry.insert(node);
            Ok(())
        }
        Entry::Occupied(entry) => Err(TopologyError::DuplicateName(entry.key().to_string())),
    }
}

/// Writes one list, an entry a line.
fn section<T: Serialize>(
    text: &mut String,
    key: &str,
    entries: impl Iterator<Item = T>,
    end: &str,
) {
    text.push_str(&format!("  \"{key}\": ["));
    for (at, entry) in entries.enumerate() {
        text.push_str(if at == 0 { "\n    " } else { ",\n    " });
        // Entries are plain structs of strings and numbers, which always have a JSON form.
        text.push_str(&serde_json::to_string(&entry).unwrap_or_default());
    }
    let last = if text.ends_with('[') { "]" } else { "\n  ]" };
    text.push_str(&format!("{last}{end}\n"));
}

impl From<SwitchEntry<'_>> for Switch {
    fn from(entry: SwitchEntry<'_>) -> Self {
        Self {
            name: entry.name.into_owned(),
            ports: entry.ports,
            role: entry.role,
            layer: entry.layer,
            group: entry.group,
            subnet: entry
                .subnet
                .map(|SubnetEntry { ipv4, ipv6 }| Subnet { ipv4, ipv6 }),
            buffer: entry.buffer_bytes,
            interfaces: entry.interfaces,
            up: entry.up,
        }
    }
}

impl<'a> From<&'a Switch> for SwitchEntry<'a> {
    fn from(switch: &'a Switch) -> Self {
        Self {
            name: (&switch.name).into(),
            ports: switch.ports,
            role: switch.role,
            layer: switch.layer,
            group: switch.group,
            subnet: switch
                .subnet
                .map(|Subnet { ipv4, ipv6 }| SubnetEntry { ipv4, ipv6 }),
            buffer_bytes: switch.buffer,
            interfaces: switch.interfaces.clone(),
            up: switch.up,
        }
    }
}

impl<'a> From<&'a Host> for HostEntry<'a> {
    fn from(host: &'a Host) -> Self {
        Self {
            name: (&host.name).into(),
            mac: Some(Text(format_mac(host.mac).into())),
            ipv4: Some(host.ipv4),
            ipv6: Some(host.ipv6),
            interfaces: host.interfaces.clone(),
        }
    }
}

impl HostEntry<'_> {
    fn draft(self, at: usize) -> Result<HostDraft, FileError> {
        let mac = match &self.mac {
            None => None,
            Some(Text(text)) => Some(parse_mac(text).ok_or_else(|| FileError::Value {
                place: format!("hosts[{at}].mac ({})", self.name),
                value: text.to_string(),
                expected: "an Ethernet address; write six bytes in hexadecimal, as in 02:00:0a:00:00:01",
            })?),
        };
        Ok(HostDraft {
            name: self.name.into_owned(),
            mac,
            ipv4: self.ipv4,
            ipv6: self.ipv6,
            interfaces: self.interfaces,
        })
    }
}

impl LinkEntry<'_> {
    fn new(topology: &Topology, link: &Link) -> Self {
        #[expect(
            clippy::cast_precision_loss,
            reason = "exact up to 2 Pb/s, far beyond any link"
        )]
        let rate = link.rate.get() as f64 / GIGA;
        Self {
            a: topology.endpoint_name(link.a).into(),
            b: topology.endpoint_name(link.b).into(),
            rate_gbps: Some(rate),
            length_m: Some(link.length),
            a_layer: link.virtual_layers.map(|layers| layers.a),
            b_layer: link.virtual_layers.map(|layers| layers.b),
            ocs: link.ocs.and_then(NonZeroU32::new),
            up: link.up,
            assumed: [
                (link.assumed.rate, LinkFact::Rate),
                (link.assumed.length, LinkFact::Length),
            ]
            .into_iter()
            .filter_map(|(is, fact)| is.then_some(fact))
            .collect(),
        }
    }

    fn link(&self, at: usize, node: &dyn Fn(&str) -> Option<NodeId>) -> Result<Link, FileError> {
        let a = endpoint(&self.a, &|| self.place(at, ".a"), node)?;
        let b = endpoint(&self.b, &|| self.place(at, ".b"), node)?;
        let rate = match self.rate_gbps {
            None => None,
            Some(gigabits) => Some(parse_rate(gigabits).ok_or_else(|| FileError::Value {
                place: self.place(at, ".rate_gbps"),
                value: gigabits.to_string(),
                expected: "a rate; write gigabits per second above 0, as in 100 or 0.1",
            })?),
        };
        let (rate, length, missing) = complete([a.node, b.node], rate, self.length_m);
        let virtual_layers = match (self.a_layer, self.b_layer) {
            (None, None) => None,
            (Some(a), Some(b)) => Some(VirtualLayers { a, b }),
            _ => {
                let place = self.place(at, "");
                return Err(FileError::OneVirtualLayer { place });
            }
        };
        Ok(Link {
            a,
            b,
            rate,
            length,
            up: self.up,
            virtual_layers,
            ocs: self.ocs.map(NonZeroU32::get),
            assumed: AssumedOfLink {
                rate: missing.rate || self.assumed.contains(&LinkFact::Rate),
                length: missing.length || self.assumed.contains(&LinkFact::Length),
            },
        })
    }

    /// A field of the entry as messages name it: the position in the list, and the ends.
    fn place(&self, at: usize, field: &str) -> String {
        format!("links[{at}]{field} ({} - {})", self.a, self.b)
    }
}

/// Bits per second in a gigabit per second.
const GIGA: f64 = 1e9;

/// A rate given in gigabits per second, if it is one.
pub(super) fn parse_rate(gigabits: f64) -> Option<BitRate> {
    let bits = (gigabits * GIGA).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be in range"
    )]
    (1.0..1e18)
        .contains(&bits)
        .then(|| BitRate::new(bits as u64))
}

fn endpoint(
    text: &str,
    place: &dyn Fn() -> String,
    node: &dyn Fn(&str) -> Option<NodeId>,
) -> Result<Endpoint, FileError> {
    let split = text.rsplit_once(':');
    let parsed = split.and_then(|(name, port)| Some((name, port.parse().ok()?)));
    let (name, port) = parsed.ok_or_else(|| FileError::Value {
        place: place(),
        value: text.to_owned(),
        expected: "an endpoint; write a node and its port, as in s1:3",
    })?;
    let node = node(name).ok_or_else(|| FileError::NoSuchNode {
        place: place(),
        value: text.to_owned(),
        node: name.to_owned(),
    })?;
    let port = PortId::new(port);
    Ok(Endpoint { node, port })
}

/// `02:00:0a:00:00:01`.
pub(super) fn format_mac(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Six hexadecimal bytes between colons or dashes.
pub(super) fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut bytes = text.split([':', '-']);
    for byte in &mut mac {
        let digits = bytes.next().filter(|d| (1..=2).contains(&d.len()))?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    bytes.next().is_none().then_some(mac)
}

//! containerlab topology definitions.
//!
//! Nodes of kind `linux` are hosts if they are linked to nodes of other kinds only; where all nodes
//! are `linux`, those with a single link are hosts. All others are switches. Interfaces keep their
//! names (`e1-49`, `ethernet-1/3`). Nodes without a link (collectors and the like) are left
//! out. Addresses of hosts are taken from `ip address add` in their `exec` lists. Links to the
//! outside (`host`, `mgmt-net`, `macvlan`, ...) are left out.
//!
//! A lab that Switchwright exported says in `config.vars` of its nodes and `vars` of its links what
//! a topology file says of them, so that it gives the same topology again.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::file::{FORMAT, VERSION};
use super::super::header::yaml_problem;
use super::super::model::Topology;
use super::super::ports::GivenPort;
use super::{
    Draft, DraftEnd, DraftHost, DraftLink, ImportError, ImportFormat, ImportOptions, parse_cidr,
};

#[derive(Debug, Deserialize)]
struct Lab {
    name: Option<String>,
    topology: LabTopology,
}

#[derive(Debug, Deserialize)]
struct LabTopology {
    #[serde(default)]
    defaults: Option<NodeSpec>,
    #[serde(default)]
    groups: IndexMap<String, Option<NodeSpec>>,
    #[serde(default)]
    nodes: IndexMap<String, Option<NodeSpec>>,
    #[serde(default)]
    links: Vec<LinkSpec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct NodeSpec {
    kind: Option<String>,
    group: Option<String>,
    #[serde(default)]
    exec: Vec<String>,
    config: Option<ConfigSpec>,
}

/// What a lab keeps for those who configure nodes.
#[derive(Clone, Debug, Default, Deserialize)]
struct ConfigSpec {
    #[serde(default)]
    vars: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct LinkSpec {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    endpoints: Vec<EndSpec>,
    #[serde(default)]
    vars: Map<String, Value>,
}

/// `"node:interface"`, or the same in two fields.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum EndSpec {
    Brief(String),
    Full { node: String, interface: String },
}

/// Names that brief endpoints use for what is not a node.
const OUTSIDE: [&str; 4] = ["host", "mgmt-net", "macvlan", "dummy"];

/// What a lab gives.
pub(super) enum LabFile {
    /// One that we exported: the topology, whole.
    Topology(Topology),
    /// Another.
    Draft(Draft),
}

pub(super) fn read(text: &str, options: &ImportOptions) -> Result<LabFile, ImportError> {
    let format = ImportFormat::Containerlab;
    let lab: Lab = serde_saphyr::from_str(text).map_err(|error| ImportError::Syntax {
        format,
        reason: yaml_problem(text, &error),
    })?;
    if let Some(file) = exported(&lab) {
        return Ok(LabFile::Topology(Topology::from_json(&file.to_string())?));
    }
    draft(&lab, options).map(LabFile::Draft)
}

/// The topology file of a lab that we exported whole: every node says which it is, every link joins
/// two of them.
fn exported(lab: &Lab) -> Option<Value> {
    let named = |name: &str, rest: &Map<String, Value>| {
        let mut entry = rest.clone();
        entry.insert("name".to_owned(), json!(name));
        Value::Object(entry)
    };
    let (mut switches, mut hosts) = (Vec::new(), Vec::new());
    let mut is_host = BTreeMap::new();
    for (name, spec) in &lab.topology.nodes {
        let vars = &spec.as_ref()?.config.as_ref()?.vars;
        match (vars.get("switch"), vars.get("host")) {
            (Some(Value::Object(rest)), None) => switches.push(named(name, rest)),
            (None, Some(Value::Object(rest))) => hosts.push(named(name, rest)),
            _ => return None,
        }
        is_host.insert(name.as_str(), vars.contains_key("host"));
    }
    let mut links = Vec::new();
    for link in &lab.topology.links {
        let [a, b] = &link.endpoints[..] else {
            return None;
        };
        let end = |end: &EndSpec| {
            let (node, interface) = match end {
                EndSpec::Full { node, interface } => (node.as_str(), interface.as_str()),
                EndSpec::Brief(text) => text.split_once(':')?,
            };
            let number = interface.strip_prefix("eth")?.parse::<u16>().ok()?;
            // `eth0` is the container's own, and hosts count their ports from 0.
            let port = number.checked_sub(u16::from(*is_host.get(node)?))?;
            Some(format!("{node}:{port}"))
        };
        let mut entry = link.vars.clone();
        entry.insert("a".to_owned(), json!(end(a)?));
        entry.insert("b".to_owned(), json!(end(b)?));
        links.push(Value::Object(entry));
    }
    let group = lab.topology.groups.get("switches").and_then(Option::as_ref);
    let vars = group.and_then(|group| group.config.as_ref());
    let assumed = vars.and_then(|config| config.vars.get("assumed"));
    Some(json!({
        "format": FORMAT,
        "version": VERSION,
        "name": lab.name,
        "assumed": assumed.cloned().unwrap_or_else(|| json!([])),
        "switches": switches,
        "hosts": hosts,
        "links": links,
    }))
}

fn draft(lab: &Lab, options: &ImportOptions) -> Result<Draft, ImportError> {
    let format = ImportFormat::Containerlab;
    let mut draft = Draft::new(format, options);
    if let Some(name) = &lab.name {
        draft.name.clone_from(name);
    }
    let links = links(&mut draft, lab)?;
    let hosts = hosts(lab, &links);
    let linked: BTreeSet<&String> = links
        .iter()
        .flat_map(|(_, ends)| ends)
        .map(|(n, _)| n)
        .collect();
    let mut idle = Vec::new();
    for (name, spec) in &lab.topology.nodes {
        if !linked.contains(name) && !links.is_empty() {
            idle.push(name.clone());
            continue;
        }
        if !hosts.contains(name) {
            draft.switches.push(name.clone());
            continue;
        }
        let exec = spec.iter().flat_map(|spec| &spec.exec);
        draft.hosts.push(DraftHost {
            name: name.clone(),
            ipv4: exec.filter_map(|command| address(command)).next(),
            ..DraftHost::default()
        });
    }
    if !idle.is_empty() {
        draft.notes.push(format!(
            "nodes without a link were left out: {}",
            idle.join(", ")
        ));
    }
    for (at, ends) in links {
        let [a, b] = &ends;
        let place = format!("topology.links[{at}] ({}:{} - {}:{})", a.0, a.1, b.0, b.1);
        let mut made = Vec::with_capacity(2);
        for (node, interface) in ends {
            let port = GivenPort::read(&interface);
            let port = port
                .ok_or_else(|| draft.value(&place, format!("`{interface}` is not an interface")))?;
            made.push(DraftEnd::new(node, port));
        }
        if let Ok(ends) = <[DraftEnd; 2]>::try_from(made) {
            draft.links.push(DraftLink::new(place, ends));
        }
    }
    Ok(draft)
}

/// A link: its place in the list, and node and interface of both ends.
type NamedLink = (usize, [(String, String); 2]);

/// The links between nodes.
fn links(draft: &mut Draft, lab: &Lab) -> Result<Vec<NamedLink>, ImportError> {
    let mut links = Vec::new();
    let mut outside = 0;
    for (at, link) in lab.topology.links.iter().enumerate() {
        let place = format!("topology.links[{at}]");
        if link.kind.as_deref().is_some_and(|kind| kind != "veth") {
            outside += 1;
            continue;
        }
        let [a, b] = &link.endpoints[..] else {
            let count = link.endpoints.len();
            return Err(draft.value(&place, format!("it has {count} endpoints; a link has 2")));
        };
        let split = |end: &EndSpec| match end {
            EndSpec::Full { node, interface } => Ok((node.clone(), interface.clone())),
            EndSpec::Brief(text) => match text.split_once(':') {
                Some((node, interface)) => Ok((node.to_owned(), interface.to_owned())),
                None => {
                    let reason = format!("`{text}` is not an endpoint; write `node:interface`");
                    Err(draft.value(&place, reason))
                }
            },
        };
        let ends = [split(a)?, split(b)?];
        let node = |name: &String| lab.topology.nodes.contains_key(name);
        let foreign =
            |(name, _): &(String, String)| !node(name) && OUTSIDE.contains(&name.as_str());
        if ends.iter().any(foreign) {
            outside += 1;
        } else {
            links.push((at, ends));
        }
    }
    if outside > 0 {
        draft.notes.push(format!(
            "{outside} links to the outside of the lab were left out"
        ));
    }
    Ok(links)
}

/// The nodes that are hosts.
fn hosts(lab: &Lab, links: &[NamedLink]) -> BTreeSet<String> {
    let topology = &lab.topology;
    let kind = |spec: &Option<NodeSpec>| {
        let group = spec.as_ref().and_then(|s| s.group.as_ref());
        let group = group.and_then(|group| topology.groups.get(group)?.clone());
        let sources = [spec.clone(), group, topology.defaults.clone()];
        sources.into_iter().flatten().find_map(|spec| spec.kind)
    };
    let linux = |(name, spec): (&String, &Option<NodeSpec>)| {
        (kind(spec).as_deref() == Some("linux")).then(|| name.clone())
    };
    let linux: BTreeSet<String> = topology.nodes.iter().filter_map(linux).collect();
    let mut neighbours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (_, [(a, _), (b, _)]) in links {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    let all_linux = linux.len() == topology.nodes.len();
    let is_host = |name: &String| {
        let around = neighbours.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        match all_linux {
            true => around.len() == 1,
            false => around.iter().all(|other| !linux.contains(*other)),
        }
    };
    linux.iter().filter(|name| is_host(name)).cloned().collect()
}

/// The address in `ip address add 10.0.0.1/24 dev eth1`, however it is abbreviated.
fn address(command: &str) -> Option<(std::net::Ipv4Addr, u8)> {
    let words: Vec<_> = command.split_whitespace().collect();
    let at = words.windows(3).position(|w| {
        w[0] == "ip" && !w[1].is_empty() && "address".starts_with(w[1]) && w[2] == "add"
    });
    at.and_then(|at| words[at + 3..].first().copied())
        .and_then(parse_cidr)
}

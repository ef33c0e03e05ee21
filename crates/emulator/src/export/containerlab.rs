//! A topology definition of containerlab, one for every machine. What a topology file says of nodes
//! and links beyond names and ends goes along in `config.vars` and `vars`, so that the file imports
//! again to the same topology.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};
use topology::{Endpoint, NodeId, Topology};

use super::{
    BUILD, ExportError, ExportOptions, Exported, ExportedFile, GRPC_PORT, Source, cut_links,
    devices, hold, interface, machines,
};

const ENGINE: &str = "containerlab";
/// The UDP port of links between machines; containerlab leaves 4789 to others.
const VXLAN_PORT: u16 = 14_789;

#[derive(Serialize)]
struct Lab {
    name: String,
    topology: LabTopology,
}

#[derive(Serialize)]
struct LabTopology {
    groups: IndexMap<&'static str, Value>,
    nodes: IndexMap<String, Node>,
    links: Vec<Value>,
}

#[derive(Serialize)]
struct Node {
    kind: &'static str,
    group: &'static str,
    cmd: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exec: Vec<String>,
    config: Value,
}

/// Names of nodes that containerlab takes.
fn fits(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(inside)
}

/// The name of the lab: the topology's, in characters that containerlab takes.
fn lab_name(topology: &Topology) -> String {
    let plain = |c: char| match fits(&format!("a{c}")) {
        true => c,
        false => '-',
    };
    let name: String = topology.name().chars().map(plain).collect();
    match name.trim_start_matches(['-', '.', '_']) {
        "" => "switchwright".to_owned(),
        name => name.to_owned(),
    }
}

/// What the topology file says of nodes and links, and of the network.
struct Rest {
    assumed: Option<Value>,
    switches: Vec<Value>,
    hosts: Vec<Value>,
    links: Vec<Value>,
}

impl Rest {
    fn of(topology: &Topology) -> Self {
        // What we write is JSON; were it not, nothing would go along.
        let mut file: Value = serde_json::from_str(&topology.to_json()).unwrap_or_default();
        let mut entries = |list: &str, known: &[&str]| {
            let mut entries: Vec<Value> = match file[list].take() {
                Value::Array(entries) => entries,
                _ => Vec::new(),
            };
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                entry.retain(|key, _| !known.contains(&key.as_str()));
            }
            entries
        };
        Self {
            switches: entries("switches", &["name"]),
            hosts: entries("hosts", &["name"]),
            links: entries("links", &["a", "b"]),
            assumed: file.get_mut("assumed").map(Value::take),
        }
    }
}

/// Writes the network: `lab.clab.yml`, or `lab-1.clab.yml` and so on for several machines, and the
/// devices file.
///
/// # Errors
/// [`ExportError`]: names or paths that containerlab does not take, more machines than switches.
pub fn containerlab(source: &Source<'_>, options: &ExportOptions) -> Result<Exported, ExportError> {
    let topology = source.topology();
    hold(
        topology,
        ENGINE,
        "letters, digits, `-`, `.` and `_`, a letter or digit first",
        fits,
    )?;
    hold_path(&options.build)?;
    let switches = topology.switches().len();
    let count = options.machines.len().max(1);
    if count > switches {
        return Err(ExportError::Machines {
            machines: count,
            switches,
        });
    }
    let machine_of = machines::part(topology, count);
    let rest = Rest::of(topology);
    let writer = Writer {
        source,
        options,
        machine_of: &machine_of,
        rest: &rest,
    };
    let name = lab_name(topology);
    let mut files = Vec::new();
    for machine in 0..count {
        let lab = Lab {
            name: name.clone(),
            topology: writer.topology(machine),
        };
        let text = serde_saphyr::to_string(&lab).map_err(|e| ExportError::Yaml(e.to_string()))?;
        let file = match options.machines.get(machine) {
            Some(_) => format!("lab-{}.clab.yml", machine + 1),
            None => "lab.clab.yml".to_owned(),
        };
        files.push(ExportedFile { name: file, text });
    }
    files.push(devices(topology, |node| {
        format!("clab-{name}-{node}:{GRPC_PORT}")
    }));
    let crossing = topology.links().iter();
    let crossing =
        crossing.filter(|link| writer.machine(link.a.node) != writer.machine(link.b.node));
    Ok(Exported {
        files,
        crossing: crossing.count(),
    })
}

/// Binds are `HOST:CONTAINER:MODE`, and `$` begins a variable.
fn hold_path(path: &str) -> Result<(), ExportError> {
    let what = match path {
        path if path.contains(':') => "a colon",
        path if path.contains('$') => "a `$`",
        _ => return Ok(()),
    };
    Err(ExportError::Path {
        path: path.to_owned(),
        what,
    })
}

struct Writer<'a> {
    source: &'a Source<'a>,
    options: &'a ExportOptions,
    machine_of: &'a [usize],
    rest: &'a Rest,
}

impl Writer<'_> {
    /// The machine of a node: hosts are where their switch is.
    fn machine(&self, node: NodeId) -> usize {
        let switch = match node {
            NodeId::Switch(id) => Some(id),
            NodeId::Host(id) => {
                let uplinks = self.source.topology().uplinks(id);
                uplinks.first().and_then(|(_, peer)| match peer.end.node {
                    NodeId::Switch(id) => Some(id),
                    NodeId::Host(_) => None,
                })
            }
        };
        switch.map_or(0, |id| self.machine_of[id.index()])
    }

    fn topology(&self, machine: usize) -> LabTopology {
        let image = &self.options.image;
        let binds = [format!("{}:{BUILD}:ro", self.options.build)];
        // IPv6 would have every interface speak for itself.
        let quiet = json!({ "net.ipv6.conf.default.disable_ipv6": 1 });
        let mut switches = json!({ "image": image, "binds": binds, "sysctls": quiet });
        if let Some(assumed) = &self.rest.assumed {
            switches["config"] = json!({ "vars": { "assumed": assumed } });
        }
        LabTopology {
            groups: IndexMap::from([("switches", switches), ("hosts", json!({ "image": image }))]),
            nodes: self.nodes(machine),
            links: self.links(machine),
        }
    }

    fn nodes(&self, machine: usize) -> IndexMap<String, Node> {
        let topology = self.source.topology();
        let mut nodes = IndexMap::new();
        for (id, rest) in topology.switch_ids().zip(&self.rest.switches) {
            if self.machine(NodeId::Switch(id)) != machine {
                continue;
            }
            let line = self.source.switch_line(id, self.options);
            let node = Node {
                kind: "linux",
                group: "switches",
                cmd: format!("sh -c '{line}'"),
                exec: cut_links(topology, id).collect(),
                config: json!({ "vars": { "switch": rest } }),
            };
            nodes.insert(topology.switch(id).name.clone(), node);
        }
        for (id, rest) in topology.host_ids().zip(&self.rest.hosts) {
            if self.machine(NodeId::Host(id)) != machine {
                continue;
            }
            let node = Node {
                kind: "linux",
                group: "hosts",
                cmd: "sleep infinity".to_owned(),
                exec: self.source.host_commands(id),
                config: json!({ "vars": { "host": rest } }),
            };
            nodes.insert(topology.host(id).name.clone(), node);
        }
        nodes
    }

    /// The links of a machine; one to another machine is a tunnel, whose number is the link's.
    fn links(&self, machine: usize) -> Vec<Value> {
        let topology = self.source.topology();
        let name = |end: Endpoint| topology.node_name(end.node);
        let brief = |end: Endpoint| format!("{}:{}", name(end), interface(end));
        let links = topology.links().iter().zip(&self.rest.links);
        let mut written = Vec::new();
        for (number, (link, rest)) in (1_u32..).zip(links) {
            let homes = [link.a, link.b].map(|end| self.machine(end.node));
            let mut line = Map::new();
            match homes {
                [a, b] if a == machine && b == machine => {
                    line.insert(
                        "endpoints".to_owned(),
                        json!([brief(link.a), brief(link.b)]),
                    );
                }
                [a, b] if a == machine || b == machine => {
                    let (own, other) = if a == machine {
                        (link.a, b)
                    } else {
                        (link.b, a)
                    };
                    let endpoint = json!({ "node": name(own), "interface": interface(own) });
                    line.insert("type".to_owned(), json!("vxlan"));
                    line.insert("endpoint".to_owned(), endpoint);
                    line.insert("remote".to_owned(), json!(self.options.machines[other]));
                    line.insert("vni".to_owned(), json!(number));
                    line.insert("dst-port".to_owned(), json!(VXLAN_PORT));
                }
                _ => continue,
            }
            line.insert("vars".to_owned(), rest.clone());
            written.push(Value::Object(line));
        }
        written
    }
}

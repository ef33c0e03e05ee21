//! What starts the network in Mininet: `topology.json` with a `Makefile` for the exercise runner of
//! p4lang/tutorials, and `p4app.json` for p4-utils.
//!
//! Hosts get an address, a default route and the static neighbours that go with it; the switches
//! answer ARP at host ports, so the static entries only save the first exchange. Paths are relative
//! to the build directory: start there.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};
use topology::{Endpoint, HostId, NodeId, SwitchId, Topology};

use crate::hosts::{HostSetUp, Reach, format_mac as mac, prefix_length};
use crate::targets::BuiltSwitch;

/// The highest rate that Mininet's traffic control takes, in bits per second.
const MININET_RATE_MAX: u64 = 1_000_000_000;
/// Metres per microsecond in copper (TaggerDraft section 3.3: 500 ns per 100 m).
const METRES_PER_MICROSECOND: u32 = 200;

#[derive(Serialize)]
struct Network {
    hosts: IndexMap<String, Host>,
    switches: IndexMap<String, Switch>,
    links: Vec<Value>,
}

/// The names of nodes in the file. The runner wants hosts that begin with `h`, switches that begin
/// with `s`, and no `-` in either; where a name of the topology is not like that, nodes are
/// numbered.
struct Names<'a> {
    topology: &'a Topology,
    hosts_as_they_are: bool,
    switches_as_they_are: bool,
}

impl<'a> Names<'a> {
    fn new(topology: &'a Topology) -> Self {
        let fits = |name: &str, first: char| name.starts_with(first) && !name.contains('-');
        let mut hosts = topology.hosts().iter();
        let mut switches = topology.switches().iter();
        Self {
            topology,
            hosts_as_they_are: hosts.all(|h| fits(&h.name, 'h')),
            switches_as_they_are: switches.all(|s| fits(&s.name, 's')),
        }
    }

    fn host(&self, id: HostId) -> String {
        if self.hosts_as_they_are {
            self.topology.host(id).name.clone()
        } else {
            format!("h{}", id.index() + 1)
        }
    }

    fn switch(&self, id: SwitchId) -> String {
        if self.switches_as_they_are {
            self.topology.switch(id).name.clone()
        } else {
            format!("s{}", id.index() + 1)
        }
    }

    /// `h1`, or `s1-p3`.
    fn end(&self, end: Endpoint) -> String {
        match end.node {
            NodeId::Host(id) => self.host(id),
            NodeId::Switch(id) => format!("{}-p{}", self.switch(id), end.port),
        }
    }

    /// A link as p4-utils has it: two names and options for both ends.
    fn p4utils_link(&self, ends: [Endpoint; 2], rate: u64) -> Value {
        let name = |end: Endpoint| match end.node {
            NodeId::Host(id) => self.host(id),
            NodeId::Switch(id) => self.switch(id),
        };
        let mut options = serde_json::Map::new();
        for (end, side) in ends.into_iter().zip(["1", "2"]) {
            let address = match end.node {
                NodeId::Host(id) => {
                    let host = self.topology.host(id);
                    let ip = format!("{}/{}", host.ipv4, prefix_length(self.topology, id));
                    options.insert(format!("params{side}"), json!({"ip": ip}));
                    options.insert(format!("port{side}"), json!(0));
                    host.mac
                }
                NodeId::Switch(id) => {
                    options.insert(format!("port{side}"), json!(end.port.get()));
                    self.topology.port_mac(id, end.port)
                }
            };
            options.insert(format!("addr{side}"), json!(mac(address)));
        }
        if rate <= MININET_RATE_MAX {
            options.insert("bw".to_owned(), json!(rate / 1_000_000));
        }
        json!([name(ends[0]), name(ends[1]), options])
    }

    /// The topology's own name, where the file's is another.
    fn own(own: &str, shown: &str) -> Option<String> {
        (own != shown).then(|| own.to_owned())
    }
}

#[derive(Serialize)]
struct Host {
    #[serde(skip_serializing_if = "Option::is_none")]
    own_name: Option<String>,
    ip: String,
    mac: String,
    commands: Vec<String>,
}

#[derive(Serialize)]
struct Switch {
    #[serde(skip_serializing_if = "Option::is_none")]
    own_name: Option<String>,
    #[serde(flatten)]
    entries: Entries,
    priority_queues: u16,
}

/// What the exercise runner of the tutorials loads into a switch. Its P4Runtime controller knows no
/// ECMP groups, BMv2's command line does.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Entries {
    RuntimeJson(String),
    CliInput(String),
}

impl Entries {
    fn of(switch: &BuiltSwitch) -> Self {
        if switch.report.groups > 0 {
            Self::CliInput(switch.files.commands_txt())
        } else {
            Self::RuntimeJson(switch.files.runtime_json())
        }
    }
}

/// The `Makefile` that compiles `source` to `json` and starts the exercise runner: what the
/// tutorials' own does for a program that lies in a folder of its own.
pub(super) fn makefile(source: &str, json: &str) -> String {
    format!(
        "# This network in Mininet, by the exercise runner of p4lang/tutorials:
#     make run TUTORIALS=/path/to/tutorials
# `make stop` and `make clean` are the tutorials' own.
TUTORIALS ?= ../..
BMV2_SWITCH_EXE = simple_switch_grpc
DEFAULT_PROG = {source}

include $(TUTORIALS)/utils/Makefile

RUN_SCRIPT = $(TUTORIALS)/utils/run_exercise.py
DEFAULT_JSON = {json}

build: {json}

{json}: {source} $(wildcard p4/*.p4)
\t$(P4C) --std p4-16 -o $@ $<
"
    )
}

/// Where `p4app.json` lies: p4-utils writes a `topology.json` of its own where it is started.
pub(super) const P4UTILS: &str = "p4-utils";

/// The contents of `p4app.json` for p4-utils' `p4run`, which is started beside it. There is no
/// place in it for the hosts' MTU: where the carrier makes packets longer, large ones are lost at
/// full links.
pub(super) fn p4app_json(
    topology: &Topology,
    priority_queues: u16,
    source: &str,
    built: &[BuiltSwitch],
) -> serde_json::Result<Vec<u8>> {
    let names = Names::new(topology);
    let hosts: IndexMap<String, Value> = topology
        .host_ids()
        .map(|id| {
            let name = names.host(id);
            // The switch answers for every address, so hosts need no gateway.
            let host = json!({"defaultRoute": format!("dev {name}-eth0")});
            (name, host)
        })
        .collect();
    let switches: IndexMap<String, Value> = topology
        .switch_ids()
        .zip(built)
        .map(|(id, built)| {
            let commands = built.files.commands_txt();
            let switch = json!({"cli_input": format!("../{commands}"), "priority_queues_num": priority_queues});
            (names.switch(id), switch)
        })
        .collect();
    let links = topology.links().iter().map(|link| {
        let mut ends = [link.a, link.b];
        // p4-utils wants the switch's side second.
        ends.sort_by_key(|end| matches!(end.node, NodeId::Switch(_)));
        names.p4utils_link(ends, link.rate.get())
    });
    let app = json!({
        "p4_src": format!("../{source}"),
        "cli": true,
        "topology": {
            // Hosts find each other by asking their switch.
            "default": {"auto_arp_tables": false, "auto_gw_arp": false},
            "links": links.collect::<Vec<_>>(),
            "hosts": hosts,
            "switches": switches,
        }
    });
    let mut bytes = serde_json::to_vec_pretty(&app)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The contents of `topology.json`.
pub(super) fn topology_json(
    topology: &Topology,
    priority_queues: u16,
    carrier_bytes: u16,
    reach: Reach,
    built: &[BuiltSwitch],
) -> serde_json::Result<Vec<u8>> {
    let names = Names::new(topology);
    let hosts = topology
        .host_ids()
        .map(|id| {
            let name = names.host(id);
            let own_name = Names::own(&topology.host(id).name, &name);
            (name, host(topology, id, own_name, carrier_bytes, reach))
        })
        .collect();
    let switches = topology
        .switch_ids()
        .zip(built)
        .map(|(id, built)| {
            let name = names.switch(id);
            let switch = Switch {
                own_name: Names::own(&topology.switch(id).name, &name),
                entries: Entries::of(built),
                priority_queues,
            };
            (name, switch)
        })
        .collect();
    let links = topology
        .links()
        .iter()
        .map(|link| {
            let ends = [names.end(link.a), names.end(link.b)];
            let latency = link.length.get() / METRES_PER_MICROSECOND;
            if link.rate.get() > MININET_RATE_MAX {
                json!([ends[0], ends[1], format!("{latency}us")])
            } else {
                let megabits = link.rate.get() / 1_000_000;
                json!([ends[0], ends[1], format!("{latency}us"), megabits])
            }
        })
        .collect();
    let mut bytes = serde_json::to_vec_pretty(&Network {
        hosts,
        switches,
        links,
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The interface of Mininet's hosts.
const HOST_INTERFACE: &str = "eth0";

fn host(
    topology: &Topology,
    id: HostId,
    own_name: Option<String>,
    carrier_bytes: u16,
    reach: Reach,
) -> Host {
    let set_up = HostSetUp::new(topology, id, reach, carrier_bytes, HOST_INTERFACE);
    let (address, length) = set_up.ipv4;
    Host {
        own_name,
        ip: format!("{address}/{length}"),
        mac: mac(set_up.mac),
        commands: set_up.commands,
    }
}

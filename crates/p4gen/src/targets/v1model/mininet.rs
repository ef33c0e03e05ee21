//! What starts the network in Mininet: `topology.json` with a `Makefile` for the exercise runner of p4lang/tutorials, and
//! `p4app.json` for p4-utils.
//!
//! Hosts get an address, a default route and the static neighbours that go with it; the switches answer
//! ARP at host ports, so the static entries only save the first exchange. Paths are relative to the build
//! directory: start there.

use std::net::{Ipv4Addr, Ipv6Addr};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};
use topology::{Endpoint, HostId, NodeId, Subnet, SwitchId, Topology};

use crate::targets::BuiltSwitch;

/// A gateway that is reachable on any link, whatever the host's own address: hosts whose switch has no
/// subnet use it.
const LINK_LOCAL_GATEWAY: Ipv4Addr = Ipv4Addr::new(169, 254, 1, 1);
/// The same for IPv6; a link-local next hop needs no subnet there.
const LINK_LOCAL_GATEWAY_6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// The highest rate that Mininet's traffic control takes, in bits per second.
const MININET_RATE_MAX: u64 = 1_000_000_000;
/// The MTU of Mininet's links: what the fabric adds to a packet, hosts must leave free.
const MININET_MTU: u16 = 1500;
/// Metres per microsecond in copper (TaggerDraft section 3.3: 500 ns per 100 m).
const METRES_PER_MICROSECOND: u32 = 200;

#[derive(Serialize)]
struct Network {
    hosts: IndexMap<String, Host>,
    switches: IndexMap<String, Switch>,
    links: Vec<Value>,
}

/// The names of nodes in the file. The runner wants hosts that begin with `h`, switches that begin with
/// `s`, and no `-` in either; where a name of the topology is not like that, nodes are numbered.
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

/// The `Makefile` that compiles `source` to `json` and starts the exercise runner: what the tutorials' own does for a
/// program that lies in a folder of its own.
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

/// The contents of `p4app.json` for p4-utils' `p4run`, which is started beside it. There is no place in it for the hosts' MTU: where the carrier makes
/// packets longer, large ones are lost at full links.
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

/// How hosts reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// By their switch, which routes.
    Gateway,
    /// As on one Ethernet: they ask for each other's address, and the switch answers.
    Direct,
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

fn host(
    topology: &Topology,
    id: HostId,
    own_name: Option<String>,
    carrier_bytes: u16,
    reach: Reach,
) -> Host {
    let host = topology.host(id);
    if reach == Reach::Direct {
        let mtu = MININET_MTU - carrier_bytes;
        return Host {
            own_name,
            ip: format!("{}/32", host.ipv4),
            mac: mac(host.mac),
            commands: vec![
                format!("ip link set dev eth0 mtu {mtu}"),
                "ip route replace default dev eth0 scope link".to_owned(),
            ],
        };
    }
    let uplink = topology.uplinks(id).first().map(|(_, peer)| peer.end);
    let gateway_mac = match uplink.map(|end| (end.node, end.port)) {
        Some((NodeId::Switch(switch), port)) => mac(topology.port_mac(switch, port)),
        _ => mac(host.mac),
    };
    let (length, mut commands) = ipv4_commands(subnet_of(topology, id), &gateway_mac);
    if carrier_bytes > 0 {
        let mtu = MININET_MTU - carrier_bytes;
        commands.insert(0, format!("ip link set dev eth0 mtu {mtu}"));
    }
    commands.push(format!("ip -6 addr add {}/128 dev eth0", host.ipv6));
    commands.push(format!(
        "ip -6 neigh replace {LINK_LOCAL_GATEWAY_6} lladdr {gateway_mac} dev eth0"
    ));
    commands.push(format!(
        "ip -6 route replace default via {LINK_LOCAL_GATEWAY_6} dev eth0"
    ));
    Host {
        own_name,
        ip: format!("{}/{length}", host.ipv4),
        mac: mac(host.mac),
        commands,
    }
}

/// The subnet of the host's switch, if the host's address lies in it.
fn subnet_of(topology: &Topology, id: HostId) -> Option<Subnet> {
    let (_, uplink) = topology.uplinks(id).first()?;
    let NodeId::Switch(switch) = uplink.end.node else {
        return None;
    };
    let subnet = topology.switch(switch).subnet;
    subnet.filter(|s| s.ipv4.contains(topology.host(id).ipv4))
}

/// The prefix length of the host's address, and how it reaches the rest.
fn ipv4_commands(subnet: Option<Subnet>, gateway_mac: &str) -> (u8, Vec<String>) {
    let Some(subnet) = subnet else {
        return (
            32,
            vec![
                format!("ip route replace {LINK_LOCAL_GATEWAY} dev eth0 scope link"),
                format!("ip neigh replace {LINK_LOCAL_GATEWAY} lladdr {gateway_mac} dev eth0"),
                format!("ip route replace default via {LINK_LOCAL_GATEWAY} dev eth0"),
            ],
        );
    };
    let gateway = switch_address(subnet);
    (
        subnet.ipv4.length(),
        vec![
            format!("ip neigh replace {gateway} lladdr {gateway_mac} dev eth0"),
            format!("ip route replace default via {gateway} dev eth0"),
        ],
    )
}

/// The switch's own address: the last of the subnet but one (the last is the broadcast address).
fn switch_address(subnet: Subnet) -> Ipv4Addr {
    let size = 1u64 << (32 - u32::from(subnet.ipv4.length().min(32)));
    let offset = u32::try_from(size.saturating_sub(2)).unwrap_or(0);
    Ipv4Addr::from(u32::from(subnet.ipv4.address()).wrapping_add(offset))
}

/// The prefix length of a host's address.
fn prefix_length(topology: &Topology, id: HostId) -> u8 {
    subnet_of(topology, id).map_or(32, |subnet| subnet.ipv4.length())
}

fn mac(bytes: [u8; 6]) -> String {
    bytes.map(|b| format!("{b:02x}")).join(":")
}

//! Networks as files for engines that run many containers: containerlab, and KNE on Kubernetes.
//! Every switch is a container that runs `switchwright switch`, every host one that does nothing;
//! `push` fills the switches by the devices file that goes with it.

mod containerlab;
mod kne;
mod machines;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use p4gen::build::Manifest;
use p4gen::hosts::{HostSetUp, format_mac};
use plan::CheckedPlan;
use quantities::BitRate;
use thiserror::Error;
use topology::{Endpoint, HostId, NodeId, SwitchId, Topology};

pub use containerlab::containerlab;
pub use kne::kne;

/// Where switches listen for P4Runtime in their containers.
pub const GRPC_PORT: u16 = 9559;
/// Where the build directory is found in containers that have it.
pub const BUILD: &str = "/build";
/// How frames come from interfaces. A mapped ring takes 4 MiB of every port: in a network of
/// hundreds of switches on a machine memory counts, not the rate (`bench switches`).
const DRIVER: &str = "packet";
/// The file of devices, for `push`.
pub const DEVICES: &str = "devices.yaml";

/// Why a network cannot be written so.
#[derive(Debug, Error)]
pub enum ExportError {
    /// A name that the engine does not take.
    #[error("`{name}`: {engine} takes names of {rule}; give it another name in the topology file")]
    Name {
        /// The engine.
        engine: &'static str,
        /// The name of the node.
        name: String,
        /// What its names are like.
        rule: &'static str,
    },
    /// A network that the engine has no use for.
    #[error("a network without links: {0} wants one at least")]
    NoLinks(&'static str),
    /// The interface `eth0` of a container is the engine's own.
    #[error(
        "`{0}` has a link at port 0, whose interface `eth0` is the engine's own: number its ports from 1"
    )]
    PortZero(String),
    /// More machines than switches.
    #[error("{machines} machines for {switches} switches: name fewer")]
    Machines {
        /// How many machines were named.
        machines: usize,
        /// How many switches there are.
        switches: usize,
    },
    /// A path that cannot be named in the file.
    #[error("{path:?}: containerlab cannot bind such a path: it has {what}")]
    Path {
        /// The path.
        path: String,
        /// What in it is in the way.
        what: &'static str,
    },
    /// Our bug.
    #[error("the file cannot be written as YAML: {0}")]
    Yaml(String),
}

/// What is exported.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The plan that was built.
    pub plan: &'a CheckedPlan,
    /// The manifest of the build directory.
    pub manifest: &'a Manifest,
}

/// How it is written.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The image of all containers: Switchwright, a shell and iproute2.
    pub image: String,
    /// The build directory, by its path where the containers are started.
    pub build: String,
    /// Lossless switches (PFC) whose ports have this rate; plain ones otherwise.
    pub port_rate: Option<BitRate>,
    /// The machines among which switches are parted, by the addresses at which they reach each
    /// other; one machine if there is none.
    pub machines: Vec<IpAddr>,
}

/// A file, by its name in the folder of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its name.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// What was made.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The files.
    pub files: Vec<ExportedFile>,
    /// Links between machines.
    pub crossing: usize,
}

impl Source<'_> {
    fn topology(&self) -> &Topology {
        self.plan.topology()
    }

    /// The switch's process in its container.
    fn switch_line(&self, id: SwitchId, options: &ExportOptions) -> String {
        let topology = self.topology();
        let ports: Vec<String> = topology
            .peers(id)
            .map(|(port, _)| format!("-i {port}@eth{port}"))
            .collect();
        let interfaces: Vec<String> = topology
            .peers(id)
            .map(|(port, _)| format!("/sys/class/net/eth{port}"))
            .collect();
        // Cables come after the container's start.
        let wait = match interfaces.is_empty() {
            true => String::new(),
            false => format!(
                "until ls {} >/dev/null 2>&1; do sleep 0.1; done; ",
                interfaces.join(" ")
            ),
        };
        let lossless = match (options.port_rate, self.manifest.switches.get(id.index())) {
            (Some(rate), Some(files)) => format!(
                " --lossless {BUILD}/{} --port-rate {}bps",
                files.directory,
                rate.get()
            ),
            _ => String::new(),
        };
        format!(
            "{wait}exec switchwright switch --no-p4 --driver {DRIVER} --device-id {}{lossless} --grpc-server-addr 0.0.0.0:{GRPC_PORT} {}",
            id.index(),
            ports.join(" ")
        )
    }

    /// The commands that set a host up, once its cable is there.
    fn host_commands(&self, id: HostId) -> Vec<String> {
        let topology = self.topology();
        let Some((port, _)) = topology.uplinks(id).first() else {
            return Vec::new();
        };
        let interface = host_interface(port.get());
        let set_up = HostSetUp::of(self.plan, id, &interface);
        let (address, length) = set_up.ipv4;
        let own = [
            format!(
                "ip link set dev {interface} address {}",
                format_mac(set_up.mac)
            ),
            format!("ip address add {address}/{length} dev {interface}"),
            format!("ip link set dev {interface} up"),
        ];
        own.into_iter().chain(set_up.commands).collect()
    }
}

/// The interface of an end in its container; `eth0` is the engine's own, and hosts count from 0.
fn interface(end: Endpoint) -> String {
    match end.node {
        NodeId::Switch(_) => format!("eth{}", end.port),
        NodeId::Host(_) => host_interface(end.port.get()),
    }
}

fn host_interface(port: u16) -> String {
    format!("eth{}", u32::from(port) + 1)
}

/// Commands of a switch's container for links that are down in the topology.
fn cut_links(topology: &Topology, id: SwitchId) -> impl Iterator<Item = String> {
    let down = topology
        .peers(id)
        .filter(|(_, peer)| !topology.link(peer.link).up);
    down.map(|(port, _)| format!("ip link set dev eth{port} down"))
}

/// Refuses what an engine does not take.
fn hold(
    topology: &Topology,
    engine: &'static str,
    rule: &'static str,
    fits: impl Fn(&str) -> bool,
) -> Result<(), ExportError> {
    let hosts = topology.hosts().iter().map(|host| &host.name);
    let names = topology.switches().iter().map(|switch| &switch.name);
    if let Some(name) = names.chain(hosts).find(|name| !fits(name)) {
        return Err(ExportError::Name {
            engine,
            name: name.clone(),
            rule,
        });
    }
    if topology.links().is_empty() {
        return Err(ExportError::NoLinks(engine));
    }
    let zero = |id: &SwitchId| topology.peers(*id).any(|(port, _)| port.get() == 0);
    match topology.switch_ids().find(zero) {
        Some(id) => Err(ExportError::PortZero(topology.switch(id).name.clone())),
        None => Ok(()),
    }
}

/// The devices file, by where each switch is reached.
fn devices(topology: &Topology, address: impl Fn(&str) -> String) -> ExportedFile {
    let named = topology.switches().iter().map(|switch| {
        let name = switch.name.clone();
        let address = address(&name);
        (name, address)
    });
    ExportedFile {
        name: DEVICES.to_owned(),
        text: controlplane::devices::write(&named.collect::<Vec<_>>()),
    }
}

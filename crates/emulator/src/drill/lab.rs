//! The network of a drill: veth pairs for links, processes for switches. Everything ends with its
//! handle.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use controlplane::devices;
use linuxnet::rtnl::Rtnl;
use linuxnet::veth::End;
use linuxnet::{FreePorts, PacketOptions, PacketSocket, Process, Veth};
use quantities::PortId;
use topology::{Endpoint, HostId, LinkId, NodeId, SwitchId, Topology};

use super::{DrillError, TIMEOUT};
use crate::ready;

/// How much of a log is quoted, in bytes.
const LOG_TAIL_BYTES: usize = 2000;
/// How often a starting switch is knocked at.
const CONNECT_INTERVAL: Duration = Duration::from_millis(20);

/// What the switches of a drill are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchKind {
    /// `switchwright switch`.
    Ours,
    /// `simple_switch_grpc`, with an agent.
    Bmv2,
}

impl SwitchKind {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Bmv2 => "bmv2",
        }
    }
}

impl SwitchKind {
    /// Whether its links are cables of two pairs with a bridge between them, which can be cut in
    /// the middle. BMv2's one receiving thread waits for ever on an interface that is switched off
    /// itself (libpcap does); one that loses its carrier does it no harm.
    const fn needs_cables(self) -> bool {
        matches!(self, Self::Bmv2)
    }
}

fn is_fabric(topology: &Topology, link: LinkId) -> bool {
    let link = topology.link(link);
    [link.a, link.b]
        .iter()
        .all(|end| matches!(end.node, NodeId::Switch(_)))
}

/// The middle of a cable.
fn cable_ends(link: LinkId) -> [String; 2] {
    [format!("m{}a", link.index()), format!("m{}b", link.index())]
}

/// Joins the middle of a cable by a bridge.
fn splice(link: LinkId, ends: [&str; 2]) -> Result<(), DrillError> {
    let bridge = format!("br{}", link.index());
    ip(&["link", "add", &bridge, "type", "bridge"])?;
    for end in ends {
        ip(&["link", "set", end, "master", &bridge])?;
    }
    ip(&["link", "set", &bridge, "up"])
}

/// Runs iproute2's `ip`.
fn ip(arguments: &[&str]) -> Result<(), DrillError> {
    let failed = |source| DrillError::Start {
        program: format!("ip {}", arguments.join(" ")),
        source,
    };
    let status = Command::new("ip")
        .args(arguments)
        .status()
        .map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    Err(failed(std::io::Error::other(status.to_string())))
}

/// A switch process and where it listens.
struct Running {
    name: String,
    /// Empty until a switch that chooses its port itself has said which.
    address: String,
    ports: Vec<(PortId, String)>,
}

impl Running {
    /// Whether it listens, and where, as far as that is known from its log.
    fn listens(&mut self, log: &Path) -> bool {
        if self.address.is_empty() {
            let Some(address) = ready::address(log) else {
                return false;
            };
            self.address = address.to_string();
        }
        TcpStream::connect(&self.address).is_ok()
    }
}

/// A running network.
pub(super) struct Lab {
    switches: Vec<Running>,
    processes: Vec<Process>,
    folder: PathBuf,
    /// For switches that do not say which port the system gave them.
    ports: FreePorts,
    _links: Vec<Veth>,
}

/// The interface of a link's end.
fn interface(end: Endpoint) -> String {
    match end.node {
        NodeId::Switch(switch) => format!("s{}p{}", switch.index(), end.port.get()),
        NodeId::Host(host) => format!("h{}p{}", host.index(), end.port.get()),
    }
}

impl Lab {
    /// Makes links and starts switches, without entries. To be called in the drill's namespace.
    pub(super) fn start(
        topology: &Topology,
        kind: SwitchKind,
        executable: &Path,
        folder: &Path,
    ) -> Result<Self, DrillError> {
        let mut lab = Self {
            switches: Vec::new(),
            processes: Vec::new(),
            folder: folder.to_owned(),
            ports: FreePorts::default(),
            _links: Vec::new(),
        };
        for (id, link) in topology.link_ids().zip(topology.links()) {
            let (a, b) = (interface(link.a), interface(link.b));
            if kind.needs_cables() && is_fabric(topology, id) {
                let [near, far] = cable_ends(id);
                lab._links.push(Veth::new(End::here(&a), End::here(&near))?);
                lab._links.push(Veth::new(End::here(&b), End::here(&far))?);
                splice(id, [&near, &far])?;
            } else {
                lab._links.push(Veth::new(End::here(&a), End::here(&b))?);
            }
            if !link.up {
                lab.set_link(topology, id, kind, false)?;
            }
        }
        for switch in topology.switch_ids() {
            lab.start_switch(topology, switch, kind, executable)?;
        }
        lab.connect()?;
        Ok(lab)
    }

    /// Waits until every switch listens.
    fn connect(&mut self) -> Result<(), DrillError> {
        for (number, switch) in self.switches.iter_mut().enumerate() {
            let deadline = Instant::now() + TIMEOUT;
            let log = self.folder.join(format!("s{number}.log"));
            while !switch.listens(&log) {
                let name = || switch.name.clone();
                // So far the switches are the only processes, in order.
                if let Some(status) = self.processes[number].try_wait()? {
                    let words = fs::read(&log)?;
                    let words = &words[words.len().saturating_sub(LOG_TAIL_BYTES)..];
                    return Err(DrillError::Ended {
                        name: name(),
                        status,
                        words: String::from_utf8_lossy(words).trim().to_owned(),
                    });
                }
                if Instant::now() > deadline {
                    return Err(DrillError::Late(format!(
                        "switch `{}` does not listen",
                        name()
                    )));
                }
                std::thread::sleep(CONNECT_INTERVAL);
            }
        }
        Ok(())
    }

    fn start_switch(
        &mut self,
        topology: &Topology,
        switch: SwitchId,
        kind: SwitchKind,
        executable: &Path,
    ) -> Result<(), DrillError> {
        let peers = topology.peers(switch);
        let ports: Vec<(PortId, String)> = peers
            .map(|(port, _)| {
                let node = NodeId::Switch(switch);
                (port, interface(Endpoint { node, port }))
            })
            .collect();
        let address = match kind {
            SwitchKind::Ours => None,
            SwitchKind::Bmv2 => Some(format!("127.0.0.1:{}", self.ports.tcp()?)),
        };
        let mut command = match kind {
            SwitchKind::Ours => {
                let mut command = Command::new(executable);
                command.arg("switch");
                let socket = self.folder.join(format!("s{}.admin", switch.index()));
                command.arg("--admin").arg(socket);
                command
            }
            SwitchKind::Bmv2 => {
                let mut command = Command::new("simple_switch_grpc");
                command.args(["--thrift-port", &self.ports.tcp()?.to_string()]);
                command
            }
        };
        command.args(["--no-p4", "--device-id", &switch.index().to_string()]);
        for (port, interface) in &ports {
            command.args(["-i", &format!("{}@{interface}", port.get())]);
        }
        let given = address.as_deref().unwrap_or(ready::ANY_ADDRESS);
        command.args(["--", "--grpc-server-addr", given]);
        if kind == SwitchKind::Bmv2 {
            // With its one queue, BMv2 drops every packet whose priority is not 0.
            command.args(["--priority-queues", "8"]);
        }
        let name = topology.switch(switch).name.clone();
        self.spawn(command, &format!("s{}", switch.index()))?;
        self.switches.push(Running {
            name,
            address: address.unwrap_or_default(),
            ports,
        });
        Ok(())
    }

    /// Starts a process whose words go to a file of the drill.
    fn spawn(&mut self, mut command: Command, log: &str) -> Result<(), DrillError> {
        let words = File::create(self.folder.join(format!("{log}.log")))?;
        command
            .stdin(Stdio::null())
            .stdout(words.try_clone()?)
            .stderr(words);
        let program = command.get_program().to_string_lossy().into_owned();
        let started =
            Process::start(command).map_err(|source| DrillError::Start { program, source })?;
        self.processes.push(started);
        Ok(())
    }

    /// An agent for every switch.
    pub(super) fn start_agents(&mut self, executable: &Path) -> Result<(), DrillError> {
        let mut commands = Vec::new();
        for (number, switch) in self.switches.iter().enumerate() {
            let mut command = Command::new(executable);
            command.args(["agent", "--address", &switch.address]);
            command.args(["--device-id", &number.to_string()]);
            for (port, interface) in &switch.ports {
                command.args(["-i", &format!("{}@{interface}", port.get())]);
            }
            commands.push(command);
        }
        for (number, command) in commands.into_iter().enumerate() {
            self.spawn(command, &format!("agent{number}"))?;
        }
        Ok(())
    }

    /// The devices file of these switches.
    pub(super) fn devices(&self) -> String {
        let pairs = self.switches.iter();
        let pairs: Vec<(String, String)> = pairs
            .map(|switch| (switch.name.clone(), switch.address.clone()))
            .collect();
        devices::write(&pairs)
    }

    /// The interface of a host.
    pub(super) fn host_end(topology: &Topology, host: HostId) -> Option<String> {
        let (port, _) = topology.uplinks(host).first()?;
        Some(interface(Endpoint {
            node: NodeId::Host(host),
            port: *port,
        }))
    }

    /// Lets a link fail, or come back: both its ends lose their carrier.
    pub(super) fn set_link(
        &self,
        topology: &Topology,
        link: LinkId,
        kind: SwitchKind,
        up: bool,
    ) -> Result<(), DrillError> {
        let mut rtnl = Rtnl::open()?;
        if kind.needs_cables() && is_fabric(topology, link) {
            for end in cable_ends(link) {
                rtnl.set_up(&end, up)?;
            }
        } else {
            rtnl.set_up(&interface(topology.link(link).a), up)?;
        }
        Ok(())
    }

    /// A host's interface as a stream of frames.
    pub(super) fn socket(interface: &str) -> Result<PacketSocket, DrillError> {
        Ok(PacketSocket::open(interface, &PacketOptions::default())?)
    }
}

/// Switches interfaces of this network namespace on or off.
pub(super) fn set_interfaces(names: &[String], up: bool) -> Result<(), DrillError> {
    let mut rtnl = Rtnl::open()?;
    for name in names {
        rtnl.set_up(name, up)?;
    }
    Ok(())
}

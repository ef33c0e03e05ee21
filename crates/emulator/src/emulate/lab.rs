//! The network of an emulation: a namespace for the fabric and one for every host, veth pairs for
//! cables, and switches that run in threads of this process.
//!
//! Namespaces without a name live as long as this process holds them, and cables as long as their
//! namespaces: whatever becomes of the process, nothing stays. Named ones are written down by
//! `linuxnet` and swept when their maker is dead.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use device::buffer::{BufferConfig, Snapshot};
use linuxnet::rtnl::Rtnl;
use linuxnet::veth::End;
use linuxnet::{Namespace, NetError, PacketOptions, PacketSocket, Veth};
use p4exec::Compiled;
use quantities::{Nanos, PortId};
use switchd::admin::{Admin, Subject};
use switchd::engine::lossless::Totals;
use switchd::engine::{Engine, EngineConfig, EngineHandle};
use switchd::ports::{PortBinding, PortOptions, PortSpec, Ports};
use tokio::runtime::{Builder, Runtime};
use topology::{Endpoint, HostId, Link, LinkId, NodeId, SwitchId, Topology};

use super::{EmulateError, Options};

/// The longest name of an interface.
const LONGEST_NAME: usize = 15;
/// Slots of every receive ring.
const RING: usize = 1024;
/// The payload that interfaces carry unless a scenario has longer frames.
const USUAL_MTU: u32 = 1500;
/// Bytes of an Ethernet header, which an MTU does not count.
const HEADER: u32 = 14;
/// Where flows are sent to: somebody listens there, so that the system does not answer that nobody
/// does.
const FLOW_PORT: u16 = 4791;

/// A running network. Switches stop before their cables go.
pub(super) struct Lab {
    admins: Vec<Admin>,
    /// Serves the admin sockets, if there are any.
    runtime: Option<Runtime>,
    switches: Vec<Running>,
    sinks: Vec<UdpSocket>,
    interfaces: Vec<[String; 2]>,
    _cables: Vec<Veth>,
    hosts: Vec<Namespace>,
    fabric: Namespace,
}

struct Running {
    engine: Engine,
    ports: Arc<Mutex<Ports>>,
}

/// Names of the fabric's interfaces: `leaf1-p3`, or `s4p3` where that would be too long.
fn fabric_name(topology: &Topology, end: Endpoint, short: bool) -> String {
    match end.node {
        NodeId::Switch(switch) if short => format!("s{}p{}", switch.index(), end.port),
        NodeId::Switch(switch) => format!("{}-p{}", topology.switch(switch).name, end.port),
        NodeId::Host(_) => format!("eth{}", end.port),
    }
}

/// The interfaces of all links' ends.
fn interface_names(topology: &Topology) -> Vec<[String; 2]> {
    let fits = |name: &str| {
        let plain = |b: u8| b.is_ascii_graphic() && b != b'/';
        name.len() <= LONGEST_NAME && name.bytes().all(plain)
    };
    let mut ends = topology.links().iter().flat_map(|link| [link.a, link.b]);
    let short = !ends.all(|end| fits(&fabric_name(topology, end, false)));
    let names = |link: &Link| [link.a, link.b].map(|end| fabric_name(topology, end, short));
    topology.links().iter().map(names).collect()
}

fn named(options: &Options, label: &str) -> Result<Namespace, NetError> {
    let namespace = match options.named {
        true => Namespace::labelled(label)?,
        false => Namespace::new()?,
    };
    namespace.set("ipv6/conf/default/disable_ipv6", "1")?;
    Ok(namespace)
}

impl Lab {
    /// Lays cables and sets hosts up; no switch runs yet.
    pub(super) fn build(
        topology: &Topology,
        longest: u32,
        options: &Options,
    ) -> Result<Self, EmulateError> {
        let fabric = named(options, "fabric")?;
        let mut hosts = Vec::new();
        for host in topology.hosts() {
            hosts.push(named(options, &host.name)?);
        }
        let mut lab = Self {
            admins: Vec::new(),
            runtime: None,
            switches: Vec::new(),
            sinks: Vec::new(),
            interfaces: interface_names(topology),
            _cables: Vec::new(),
            hosts,
            fabric,
        };
        lab._cables = lab.lay_cables(topology, longest)?;
        for id in topology.link_ids().filter(|id| !topology.link(*id).up) {
            lab.set_link(topology, id, false)?;
        }
        for host in topology.host_ids() {
            lab.set_host_up(topology, host)?;
        }
        Ok(lab)
    }

    /// A veth pair for every link, wide enough for the longest frame.
    fn lay_cables(&self, topology: &Topology, longest: u32) -> Result<Vec<Veth>, NetError> {
        let mtu = longest.saturating_sub(HEADER).max(USUAL_MTU);
        let mut cables = Vec::new();
        for (link, names) in topology.links().iter().zip(&self.interfaces) {
            let nodes = [link.a.node, link.b.node];
            let end = |at: usize| End::inside(&names[at], self.home(nodes[at]));
            cables.push(Veth::new(end(0), end(1))?);
            if mtu > USUAL_MTU {
                for (name, node) in names.iter().zip(nodes) {
                    self.home(node).run(|| Rtnl::open()?.set_mtu(name, mtu))??;
                }
            }
        }
        Ok(cables)
    }

    fn home(&self, node: NodeId) -> &Namespace {
        match node {
            NodeId::Switch(_) => &self.fabric,
            NodeId::Host(host) => &self.hosts[host.index()],
        }
    }

    /// The interface of a host's first link.
    fn card(&self, topology: &Topology, host: HostId) -> Option<&str> {
        let (port, peer) = topology.uplinks(host).first()?;
        let link = topology.link(peer.link);
        let own = Endpoint {
            node: NodeId::Host(host),
            port: *port,
        };
        let names = self.interfaces.get(peer.link.index())?;
        Some(&names[usize::from(link.b == own)])
    }

    /// Gives a host its addresses, and a way to the others by its switch, so that the system's own
    /// tools work there.
    fn set_host_up(&mut self, topology: &Topology, id: HostId) -> Result<(), EmulateError> {
        let host = topology.host(id);
        let Some(card) = self.card(topology, id) else {
            return Ok(());
        };
        let uplink = topology.uplinks(id).first().map(|(_, peer)| peer.end);
        let gateway = uplink.and_then(|end| match end.node {
            NodeId::Switch(switch) => {
                let subnet = topology.switch(switch).subnet?;
                Some((subnet, topology.port_mac(switch, end.port)))
            }
            NodeId::Host(_) => None,
        });
        let sink = self.hosts[id.index()].run(|| {
            let mut rtnl = Rtnl::open()?;
            rtnl.set_mac(card, host.mac)?;
            if let Some((subnet, mac)) = gateway {
                let length = subnet.ipv4.length();
                let size = 1u64 << (32 - u32::from(length.min(32)));
                let last = u32::try_from(size.saturating_sub(2)).unwrap_or(0);
                let first = u32::from(subnet.ipv4.address());
                let gateway = IpAddr::V4(Ipv4Addr::from(first.wrapping_add(last)));
                rtnl.add_address(card, host.ipv4.into(), length)?;
                rtnl.add_neighbour(card, gateway, mac)?;
                rtnl.add_default_route(card, gateway)?;
            }
            let bound = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, FLOW_PORT));
            bound.map_err(|source| NetError::System {
                what: format!("listening at UDP port {FLOW_PORT}"),
                source,
            })
        })??;
        self.sinks.push(sink);
        Ok(())
    }

    /// Starts a switch.
    pub(super) fn start_switch(
        &mut self,
        topology: &Topology,
        id: SwitchId,
        executor: Compiled,
        buffer: BufferConfig,
        origin: Instant,
        options: &Options,
    ) -> Result<(), EmulateError> {
        let mut bindings: Vec<PortBinding> = Vec::new();
        for (port, peer) in topology.peers(id) {
            let link = topology.link(peer.link);
            let own = Endpoint {
                node: NodeId::Switch(id),
                port,
            };
            let name = &self.interfaces[peer.link.index()][usize::from(link.b == own)];
            bindings.push(PortBinding {
                port,
                spec: PortSpec::Interface(name.clone()),
            });
        }
        let port_options = PortOptions {
            capture: options.capture.clone(),
            packet: PacketOptions {
                ring_frames: RING,
                ..PacketOptions::default()
            },
            ..PortOptions::default()
        };
        let running = self.fabric.run(|| {
            let (mut ports, set) = Ports::open(&bindings, port_options)?;
            let config = EngineConfig {
                ports: ports.numbers(),
                lossless: Some(buffer),
                origin: Some(origin),
                ..EngineConfig::default()
            };
            // What the switch would tell a controller, nobody hears.
            let (engine, _) = Engine::start(&config, set)?;
            engine.handle().replace(Box::new(executor))?;
            ports.attach(engine.handle())?;
            let ports = Arc::new(Mutex::new(ports));
            Ok::<_, EmulateError>(Running { engine, ports })
        })??;
        self.switches.push(running);
        Ok(())
    }

    /// Opens every switch's admin socket in a folder, for `switchwright status`.
    pub(super) fn open_admins(&mut self, topology: &Topology, folder: &Path) -> io::Result<()> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let inside = runtime.enter();
        for (id, running) in topology.switch_ids().zip(&self.switches) {
            let subject = Subject {
                ports: Arc::clone(&running.ports),
                engine: running.engine.handle().clone(),
                // There is no server.
                address: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
                device_id: id.index() as u64,
            };
            let name = topology.switch(id).name.replace('/', "_");
            self.admins
                .push(Admin::open(&folder.join(format!("{name}.sock")), subject)?);
        }
        drop(inside);
        self.runtime = Some(runtime);
        Ok(())
    }

    /// The hosts' cards, in order. A host that has none is an error of the topology, found before.
    pub(super) fn sockets(&self, topology: &Topology) -> Result<Vec<PacketSocket>, NetError> {
        let options = PacketOptions {
            ring_frames: RING,
            ..PacketOptions::default()
        };
        let mut sockets = Vec::new();
        for (id, namespace) in topology.host_ids().zip(&self.hosts) {
            if let Some(card) = self.card(topology, id) {
                sockets.push(namespace.run(|| PacketSocket::open(card, &options))??);
            }
        }
        Ok(sockets)
    }

    /// Lets a link fail, or work again: both its ends lose their carrier, or get it.
    pub(super) fn set_link(
        &self,
        topology: &Topology,
        id: LinkId,
        up: bool,
    ) -> Result<(), NetError> {
        let link = topology.link(id);
        // The fabric's end, if one is a host's.
        let at = usize::from(!matches!(link.a.node, NodeId::Switch(_)));
        let node = [link.a.node, link.b.node][at];
        let name = &self.interfaces[id.index()][at];
        self.home(node).run(|| Rtnl::open()?.set_up(name, up))?
    }

    /// Does something among the switches' interfaces.
    pub(super) fn in_fabric<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, NetError> + Send,
    ) -> Result<T, NetError> {
        self.fabric.run(work)?
    }

    /// A switch's data plane.
    pub(super) fn switch(&self, id: SwitchId) -> &EngineHandle {
        self.switches[id.index()].engine.handle()
    }

    /// What every switch tells of its pauses; nothing if none of them holds anybody back.
    pub(super) fn snapshots(&self) -> Result<Option<Vec<Snapshot>>, EmulateError> {
        let mut holds = false;
        let mut snapshots = Vec::new();
        for running in &self.switches {
            let look = |buffer: &device::buffer::Buffer, _: Totals, _: Nanos| {
                (buffer.holds_back(), buffer.snapshot())
            };
            let Some((held, snapshot)) = running.engine.handle().inspect(look)? else {
                continue;
            };
            holds |= held;
            snapshots.push(snapshot);
        }
        Ok(holds.then_some(snapshots))
    }

    /// Frames that came faster than switches took them.
    pub(super) fn overrun(&self) -> u64 {
        let lock =
            |ports: &Mutex<Ports>| ports.lock().unwrap_or_else(PoisonError::into_inner).list();
        let lists = self.switches.iter().map(|running| lock(&running.ports));
        let overrun = |info: switchd::ports::PortInfo| info.stats.receive_overrun;
        lists.flatten().map(overrun).sum()
    }

    /// How to get into each namespace: by its name, or by this process's descriptor.
    pub(super) fn doors(&self, topology: &Topology) -> BTreeMap<String, String> {
        let door = |namespace: &Namespace| match namespace.name() {
            Some(name) => format!("ip netns exec {name}"),
            None => {
                let number = namespace.as_fd().as_raw_fd();
                format!("nsenter --net=/proc/{}/fd/{number}", std::process::id())
            }
        };
        let hosts = topology.hosts().iter().zip(&self.hosts);
        let hosts = hosts.map(|(host, namespace)| (host.name.clone(), door(namespace)));
        hosts
            .chain([("fabric".to_owned(), door(&self.fabric))])
            .collect()
    }

    /// The interface of a switch's port, in the fabric.
    pub(super) fn interface(
        &self,
        topology: &Topology,
        id: SwitchId,
        port: PortId,
    ) -> Option<&str> {
        let peer = topology.peer(id, port)?;
        let link = topology.link(peer.link);
        let own = Endpoint {
            node: NodeId::Switch(id),
            port,
        };
        Some(&self.interfaces[peer.link.index()][usize::from(link.b == own)])
    }
}

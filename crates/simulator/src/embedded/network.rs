//! A network of embedded switches: one program, a device per switch, links between them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use device::Device;
use p4exec::{BuildError, Interpreter};
use p4front::source::{FileId, SourceError, SourceMap};
use p4front::{Files, Options};
use p4gen::build::{BuildDirectory, HeldError, ManifestError};
use p4gen::capabilities::Capabilities;
use p4gen::entries::{EntriesError, SwitchEntries};
use p4gen::family::{EntrySource, ProgramFeatures};
use p4gen::layout::{Layout, edge_dscp};
use p4gen::program::{self, ProgramError};
use p4gen::targets::V1MODEL;
use p4ir::ValidProgram;
use p4runtime::{NameError, P4InfoIndex};
use plan::{CarrierKind, CheckedPlan, ClassId, NewTag};
use quantities::{Nanos, PortId};
use thiserror::Error;
use topology::routes::RouteError;
use topology::routes::forwarding::{Forwarding, SwitchTables};
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};
use wire::{PacketBuilder, PacketError};

use super::load::{self, LoadError};

pub use topology::routes::forwarding::Reroute;

/// A network of in-process switches that run one program. Switches are started when a packet first
/// reaches them.
pub struct Network {
    plan: Arc<CheckedPlan>,
    /// The plan's topology with the links that have failed since.
    topology: Topology,
    program: Arc<ValidProgram>,
    /// What the program depends on,
    features: ProgramFeatures,
    /// and what it was made for.
    target: &'static Capabilities,
    source: Source,
    devices: BTreeMap<SwitchId, Device<Interpreter>>,
}

/// Where a switch's entries come from.
enum Source {
    /// Its file in a build directory.
    Files {
        directory: Box<BuildDirectory>,
        index: Box<P4InfoIndex>,
    },
    /// The plan, with this forwarding; with its failover tables if there is none.
    Plan {
        layout: Box<Layout>,
        forwarding: Option<Box<Forwarding>>,
    },
}

/// Why a network does not run.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// The program does not compile; rendered with source excerpts.
    #[error("the program does not compile:\n{0}")]
    Program(String),
    /// The program could not be generated.
    #[error(transparent)]
    Generate(#[from] ProgramError),
    /// The build directory is not as it was built.
    #[error(transparent)]
    Directory(#[from] ManifestError),
    /// The P4Info is not one.
    #[error("P4Info: {0}")]
    P4Info(String),
    /// The entries do not fit.
    #[error(transparent)]
    Entries(#[from] EntriesError),
    /// A switch refuses its entries.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The executor refuses the program.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The plan cannot be built for Tofino.
    #[error(transparent)]
    Tofino(#[from] Box<p4gen::build::BuildError>),
    /// No forwarding for these routes.
    #[error("forwarding: {0}")]
    Routes(#[from] RouteError),
    /// A host without a switch.
    #[error("host `{0}` is not plugged into a switch")]
    Unplugged(String),
    /// The probe packet.
    #[error("the packet to send: {0}")]
    Probe(#[from] PacketError),
    /// A class that the plan does not have.
    #[error("there is no lossless class {class}: the plan has {classes}, counted from 0")]
    NoSuchClass {
        /// The class that was asked for.
        class: u8,
        /// How many there are.
        classes: usize,
    },
}

impl From<HeldError> for NetworkError {
    fn from(error: HeldError) -> Self {
        match error {
            HeldError::Manifest(error) => Self::Directory(error),
            HeldError::Entries(error) => Self::Entries(error),
            HeldError::Text(error) => Self::Entries(error.into()),
            HeldError::Names(error) => error.into(),
        }
    }
}

impl From<NameError> for NetworkError {
    fn from(error: NameError) -> Self {
        Self::P4Info(error.to_string())
    }
}

/// A packet to send.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Who sends it.
    pub from: HostId,
    /// Who is to get it.
    pub to: HostId,
    /// Its lossless class; `None` sends it lossy.
    pub class: Option<ClassId>,
    /// UDP source port: other ports take other ways where there are several (ECMP).
    pub flow: u16,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
}

impl Network {
    /// The network of a build directory: its program, its entry files.
    ///
    /// # Errors
    /// [`NetworkError`] if a file is missing, or the program or the P4Info is not right.
    pub fn open(directory: BuildDirectory, plan: CheckedPlan) -> Result<Self, NetworkError> {
        directory.program_unchanged()?;
        let files = &directory.manifest().program;
        let program = compile(&mut SourceMap::new(), &Options::on_disk(), |map| {
            map.load(&directory.path(&files.main))
        })?;
        let text = directory.read_text(&files.p4info)?;
        let info = p4runtime::from_text(&text).map_err(|e| NetworkError::P4Info(e.to_string()))?;
        let index = Box::new(P4InfoIndex::new(info)?);
        let target = directory.target()?;
        Ok(Self::start(
            plan,
            program,
            target,
            Source::Files {
                directory: Box::new(directory),
                index,
            },
        ))
    }

    /// The network of a plan, without files: the program that `build` would write, the entries that
    /// it would write.
    ///
    /// # Errors
    /// [`NetworkError`] if there is no forwarding for the plan's routes.
    pub fn of(plan: CheckedPlan) -> Result<Self, NetworkError> {
        Self::on(plan, &V1MODEL.capabilities)
    }

    /// The network of a plan on a target whose programs are for v1model, without files.
    ///
    /// # Errors
    /// As [`Network::of`].
    pub fn on(plan: CheckedPlan, target: &'static Capabilities) -> Result<Self, NetworkError> {
        let features = ProgramFeatures::on(&plan, target);
        let generated = program::generate(features, target)?;
        Self::with(plan, target, generated)
    }

    /// The network of a plan, with the text of the program that `build` would write, or what
    /// somebody made of it.
    ///
    /// # Errors
    /// As [`Network::of`]; [`NetworkError::Program`] if it does not compile.
    pub fn with_program(
        plan: CheckedPlan,
        generated: program::Program,
    ) -> Result<Self, NetworkError> {
        Self::with(plan, &V1MODEL.capabilities, generated)
    }

    fn with(
        plan: CheckedPlan,
        target: &'static Capabilities,
        generated: program::Program,
    ) -> Result<Self, NetworkError> {
        let features = ProgramFeatures::on(&plan, target);
        let program = compile_generated(&generated)?;
        let layout = Box::new(generated.layout);
        let forwarding = features
            .routes()
            .then(|| forwarding(&plan, plan.topology(), Reroute::Converged).map(Box::new))
            .transpose()?;
        Ok(Self::start(
            plan,
            program,
            target,
            Source::Plan { layout, forwarding },
        ))
    }

    fn start(
        plan: CheckedPlan,
        program: Arc<ValidProgram>,
        target: &'static Capabilities,
        source: Source,
    ) -> Self {
        Self {
            features: ProgramFeatures::on(&plan, target),
            target,
            topology: plan.topology().clone(),
            plan: Arc::new(plan),
            program,
            source,
            devices: BTreeMap::new(),
        }
    }

    /// The same network after these links failed and routing reacted; failover tables stay as they
    /// are. Tags and their rules stay as they are.
    ///
    /// # Errors
    /// [`NetworkError::Routes`].
    pub fn after_failures(self, failed: &[LinkId], reroute: Reroute) -> Result<Self, NetworkError> {
        let topology = self.topology.with_failed_links(failed);
        let source = if self.features.routes() {
            Source::Plan {
                layout: Box::new(self.features.layout(self.target.architecture)),
                forwarding: Some(Box::new(forwarding(&self.plan, &topology, reroute)?)),
            }
        } else {
            self.source
        };
        Ok(Self {
            topology,
            source,
            devices: BTreeMap::new(),
            ..self
        })
    }

    /// The program that all switches run.
    #[must_use]
    pub const fn program(&self) -> &Arc<ValidProgram> {
        &self.program
    }

    /// What the program depends on, and what it was made for.
    #[must_use]
    pub const fn made_for(&self) -> (ProgramFeatures, &'static Capabilities) {
        (self.features, self.target)
    }

    /// The plan that the network runs.
    #[must_use]
    pub fn plan(&self) -> &CheckedPlan {
        &self.plan
    }

    /// The same, for whoever keeps it longer than the network.
    #[must_use]
    pub const fn shared_plan(&self) -> &Arc<CheckedPlan> {
        &self.plan
    }

    /// What the program was made for.
    pub(super) const fn target(&self) -> &'static Capabilities {
        self.target
    }

    /// The topology with what has failed.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The switch, started if need be.
    ///
    /// # Errors
    /// [`NetworkError`] if its entries are missing or do not fit the program.
    pub fn device(&mut self, switch: SwitchId) -> Result<&mut Device<Interpreter>, NetworkError> {
        if !self.devices.contains_key(&switch) {
            let device = self.start_device(switch)?;
            self.devices.insert(switch, device);
        }
        self.devices
            .get_mut(&switch)
            .ok_or_else(|| NetworkError::Unplugged(switch.to_string()))
    }

    fn start_device(&self, switch: SwitchId) -> Result<Device<Interpreter>, NetworkError> {
        let mut executor = Interpreter::new(Arc::clone(&self.program))?;
        load::install(
            p4exec::Executor::state_mut(&mut executor),
            &self.entries(switch)?,
        )?;
        let ports: Vec<PortId> = self.topology.peers(switch).map(|(port, _)| port).collect();
        let mut device = Device::new(executor, ports);
        for (port, peer) in self.topology.peers(switch) {
            if !self.topology.is_live(peer.link) {
                // The port is plugged, so the device has it.
                let _ = device.set_link_up(Nanos::new(0), port, false);
            }
        }
        Ok(device)
    }

    /// The entries of one switch.
    ///
    /// # Errors
    /// [`NetworkError`] if the file is missing or the plan cannot be expressed.
    pub fn entries(&self, switch: SwitchId) -> Result<SwitchEntries, NetworkError> {
        match &self.source {
            Source::Files { directory, index } => {
                let name = &self.topology.switch(switch).name;
                Ok(directory.switch_entries(directory.switch(name)?, index)?)
            }
            Source::Plan { layout, forwarding } => {
                let forwarding = forwarding.as_deref().map(|made| made as &dyn SwitchTables);
                let source = EntrySource::new(&self.plan, self.target, layout, forwarding);
                Ok(self.features.entries(&source, switch)?)
            }
        }
    }

    /// The bytes of a probe, as its host sends them, and the switch port that they arrive at.
    ///
    /// # Errors
    /// [`NetworkError::NoSuchClass`], [`NetworkError::Unplugged`].
    pub fn packet(&self, probe: &Probe) -> Result<(Vec<u8>, SwitchId, PortId), NetworkError> {
        let host = self.topology.host(probe.from);
        let target = self.topology.host(probe.to);
        let live = self
            .topology
            .uplinks(probe.from)
            .iter()
            .find(|(_, peer)| self.topology.is_live(peer.link));
        let unplugged = || NetworkError::Unplugged(host.name.clone());
        let (_, peer) = live.ok_or_else(unplugged)?;
        let NodeId::Switch(switch) = peer.end.node else {
            return Err(unplugged());
        };
        // Failover tables carry Ethernet; other programs route, and hosts address their switch.
        let next = match self.plan.tables().failover {
            Some(_) => target.mac,
            None => self.topology.port_mac(switch, peer.end.port),
        };
        let packet = PacketBuilder::new().mac(host.mac, next);
        let packet = if probe.ipv6 {
            packet.ipv6(host.ipv6, target.ipv6)
        } else {
            packet.ipv4(host.ipv4, target.ipv4)
        };
        let bytes = packet
            .dscp(self.sent_dscp(probe.class)?)
            .ttl(64)
            .udp(probe.flow, 4791)
            .payload([0; 32])
            .build()?;
        Ok((bytes, switch, peer.end.port))
    }

    /// The DSCP with which hosts send a class: the tag itself where the DSCP carries it, else the
    /// class's number.
    fn sent_dscp(&self, class: Option<ClassId>) -> Result<u8, NetworkError> {
        let carrier = self.plan.carrier();
        if !self.plan.tables().has_tags() {
            return Ok(0);
        }
        let Some(class) = class else {
            let lossy = if carrier.kind == CarrierKind::Dscp {
                carrier.lossy.get()
            } else {
                0
            };
            return Ok(u8::try_from(lossy).unwrap_or_default());
        };
        let classes = &self.plan.tagging().classes;
        let missing = NetworkError::NoSuchClass {
            class: class.get(),
            classes: classes.len(),
        };
        let spec = classes.get(class.index()).ok_or(missing)?;
        if carrier.kind != CarrierKind::Dscp {
            return Ok(edge_dscp(class));
        }
        let code = carrier.code(class, NewTag::Lossless(spec.initial));
        Ok(code
            .and_then(|code| u8::try_from(code.get()).ok())
            .unwrap_or_default())
    }
}

/// An Ethernet frame from one host to another, as [`Fleet`](super::Fleet) sends them, and the
/// switch port that it arrives at.
///
/// # Errors
/// [`NetworkError::Unplugged`], [`NetworkError::Probe`].
pub(super) fn probe_bytes(
    topology: &Topology,
    from: HostId,
    to: HostId,
    content: &[u8],
) -> Result<(Vec<u8>, SwitchId, PortId), NetworkError> {
    let (host, target) = (topology.host(from), topology.host(to));
    let mut uplinks = topology.uplinks(from).iter();
    let live = uplinks.find(|(_, peer)| topology.is_live(peer.link));
    let unplugged = || NetworkError::Unplugged(host.name.clone());
    let (_, peer) = live.ok_or_else(unplugged)?;
    let NodeId::Switch(switch) = peer.end.node else {
        return Err(unplugged());
    };
    let bytes = PacketBuilder::new()
        .mac(host.mac, target.mac)
        .ipv4(host.ipv4, target.ipv4)
        .udp(49152, 4791)
        .payload(content)
        .build()?;
    Ok((bytes, switch, peer.end.port))
}

/// The bytes of [`probe_bytes`] alone.
///
/// # Errors
/// As [`probe_bytes`].
pub fn frame(
    topology: &Topology,
    from: HostId,
    to: HostId,
    content: &[u8],
) -> Result<Vec<u8>, NetworkError> {
    probe_bytes(topology, from, to, content).map(|(bytes, _, _)| bytes)
}

fn forwarding(
    plan: &CheckedPlan,
    topology: &Topology,
    reroute: Reroute,
) -> Result<Forwarding, RouteError> {
    Forwarding::new(topology, &plan.tables().forwarding, reroute)
}

/// Compiles a program of ours.
pub(super) fn compile_generated(
    generated: &program::Program,
) -> Result<Arc<ValidProgram>, NetworkError> {
    let includes = generated
        .includes
        .iter()
        .map(|f| (PathBuf::from(&f.name), f.text.clone()));
    let options = Options {
        files: Files::Memory(includes.collect()),
        ..Options::default()
    };
    let main = &generated.main;
    compile(&mut SourceMap::new(), &options, |map| {
        map.add(&main.name, &main.text)
    })
}

/// Compiles the program whose main file `main` adds to the map.
fn compile(
    map: &mut SourceMap,
    options: &Options,
    main: impl FnOnce(&mut SourceMap) -> Result<FileId, SourceError>,
) -> Result<Arc<ValidProgram>, NetworkError> {
    let main = main(map).map_err(|e| NetworkError::Program(e.to_string()))?;
    match p4front::compile(map, main, options) {
        Ok(compiled) => Ok(Arc::new(compiled.ir)),
        Err(found) => Err(NetworkError::Program(found.render(map))),
    }
}

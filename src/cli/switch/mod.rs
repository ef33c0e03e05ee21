//! `switchwright switch`: the switch as a process. Ports, data plane and the server of P4Runtime
//! and gNMI are brought up in this order, a line says when they are ready, and SIGTERM or SIGINT
//! takes them down again in the other order.
//!
//! The process is one thread until its ports and its address are taken. Then it gives up the rights
//! that it needs no more, and only then it starts the threads that hear what clients and packets
//! say: rights are a thread's own, and inherited.

mod args;
mod lossless;
mod program;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use device::buffer::BufferConfig;
use linuxnet::{NetError, PacketOptions};
use p4runtime::p4::v1::ForwardingPipelineConfig;
use quantities::PortId;
use serde::Serialize;
use switchd::admin::{Admin, RunFolder, Subject};
use switchd::engine::{Engine, EngineConfig, ExecutorKind};
use switchd::persist::StoreError;
use switchd::ports::{PortBinding, PortError, PortOptions, PortSet, PortSpec, Ports};
use switchd::server::build::{ChildBuilder, PipelineBuilder};
use switchd::server::{self, Server, ServerConfig, ServerError, Tls};
use switchd::thrift::{self, ThriftServer};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use super::fault::{Context, Fault, Status};
use super::own;
use super::terminal::{self, Terminal};
use args::ExecutorName;
pub(super) use args::Switch;
use program::Start;

/// The hidden command that builds pushed programs.
pub(super) const BUILD: &str = "build-pipeline";

/// Threads of the P4Runtime server; the data plane has its own.
const SERVER_THREADS: usize = 2;

/// Why root is refused.
const OWN_FILES: &str = " (a switch of root has given up its right over the files of others)";

/// What was opened while the process had its rights.
struct Opened {
    bindings: Vec<PortBinding>,
    lossless: Option<BufferConfig>,
    ports: Ports,
    sets: Vec<PortSet>,
    listener: TcpListener,
    thrift: Option<TcpListener>,
    folder: RunFolder,
}

/// What a switch says when it is ready.
#[derive(Serialize)]
struct Ready {
    ready: bool,
    device_id: u64,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thrift: Option<String>,
    threads: u8,
    admin: PathBuf,
    ports: Vec<String>,
    program: Option<String>,
    restored: bool,
}

impl Switch {
    pub(super) fn run(mut self, terminal: &Terminal) -> Result<(), Fault> {
        self.settle()?;
        for remark in self.remarks() {
            terminal.note(format!("note: {remark}"));
        }
        // Wrong arguments come to light before anything is opened.
        let config = self.server_config()?;
        let dangers = [
            self.exposure(config.address),
            self.thrift_exposure(config.address.ip()),
        ];
        for danger in dangers.into_iter().flatten() {
            terminal.finding(format!("warning: {danger}"));
        }
        let read = |path| program::read(path, terminal);
        let start = self.program.as_deref().map(read).transpose()?;
        let opened = self.open(&config, terminal)?;
        linuxnet::give_up_rights(Some(self.driver.into()))
            .map_err(|error| Fault::with(Status::Target, error))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(SERVER_THREADS)
            .enable_all()
            .build()
            .input("the runtime of the server")?;
        self.serve(&runtime, config, start, opened, terminal)
    }

    /// Takes everything that a switch needs rights for.
    fn open(&self, config: &ServerConfig, terminal: &Terminal) -> Result<Opened, Fault> {
        let cpu_port = self.target.cpu_port.map(PortId::new);
        let bindings = self.bindings();
        let numbers: Vec<PortId> = bindings.iter().map(|binding| binding.port).collect();
        let lossless = self.lossless(&numbers, terminal)?;
        let options = PortOptions {
            capture: self.pcap.clone().filter(|_| self.use_files.is_none()),
            files_wait: Duration::from_secs(self.use_files.unwrap_or(0)),
            cpu_port,
            packet: PacketOptions {
                driver: self.driver.into(),
                ..PacketOptions::default()
            },
        };
        let (ports, sets) =
            Ports::open_threads(&bindings, options, self.threads.into()).map_err(port_fault)?;
        Ok(Opened {
            bindings,
            lossless,
            ports,
            sets,
            listener: server::listen(config.address).map_err(server_fault)?,
            thrift: self.listen_for_thrift(config.address, terminal)?,
            folder: RunFolder::here(),
        })
    }

    fn serve(
        self,
        runtime: &Runtime,
        mut config: ServerConfig,
        start: Option<Start>,
        opened: Opened,
        terminal: &Terminal,
    ) -> Result<(), Fault> {
        let mut stop = runtime
            .block_on(async { Signals::new() })
            .input("signals")?;
        let Opened {
            bindings,
            lossless,
            mut ports,
            sets,
            listener,
            thrift,
            folder,
        } = opened;
        let engine_config = EngineConfig {
            ports: ports.numbers(),
            cpu_port: self.target.cpu_port.map(PortId::new),
            executor: match self.executor {
                ExecutorName::Interp => ExecutorKind::Interp,
                ExecutorName::Compile => ExecutorKind::Compile,
            },
            queues: self.target.priority_queues,
            lossless,
            seed: self.seed,
            origin: None,
        };
        let started = Engine::start_threads(&engine_config, sets);
        let (engine, notifications) = started.map_err(Fault::input)?;
        ports.attach(engine.handle()).map_err(port_fault)?;
        let ports = Arc::new(Mutex::new(ports));
        config.ports = Some(Arc::clone(&ports));

        let started = Server::start_on(listener, config, engine.handle().clone(), notifications);
        let server = runtime.block_on(started).map_err(server_fault)?;
        let restored = server.switch().pipelines().running.is_some();
        let program = match start {
            _ if restored => None,
            None => None,
            Some(start) => Some(self.load(start, &engine, &server, terminal)?),
        };
        let thrift = self.serve_thrift(runtime, thrift, &server, &ports, &engine)?;
        let thrift_port = thrift.as_ref().map(|thrift| thrift.address().port());
        let admin = self.open_admin(runtime, &folder, &server, &ports, &engine, thrift_port)?;
        let ready = Ready {
            ready: true,
            device_id: self.device_id,
            address: server.address().to_string(),
            thrift: thrift.as_ref().map(|thrift| thrift.address().to_string()),
            threads: self.threads,
            admin: admin.path().to_owned(),
            ports: bindings.iter().map(ToString::to_string).collect(),
            program,
            restored,
        };
        tell_ready(&ready, terminal)?;
        runtime.block_on(stop.any());
        terminal.note("stopping");
        drop(admin);
        drop(thrift);
        runtime.block_on(server.stop());
        drop(ports);
        engine.stop();
        Ok(())
    }

    /// The ports; with --use-files interfaces become files of their name.
    fn bindings(&self) -> Vec<PortBinding> {
        let file = |binding: &PortBinding| match &binding.spec {
            PortSpec::Interface(name) if self.use_files.is_some() => PortBinding {
                port: binding.port,
                spec: PortSpec::Pcap {
                    input: Some(format!("{name}_in.pcap").into()),
                    output: Some(format!("{name}_out.pcap").into()),
                },
            },
            _ => binding.clone(),
        };
        self.ports.iter().map(file).collect()
    }

    fn server_config(&self) -> Result<ServerConfig, Fault> {
        let mut config = ServerConfig::new(self.address()?);
        config.device_id = self.device_id;
        config.state_dir.clone_from(&self.state_dir);
        let limits = self.build_limits();
        config.builder = PipelineBuilder::Child(ChildBuilder {
            program: own::running()?,
            ..ChildBuilder::this_program(BUILD, limits)
        });
        let target = &self.target;
        let read = |flag: &str, file: &Path| {
            fs::read_to_string(file).input(format!("{flag} {}", file.display()))
        };
        let client_ca = match (
            &target.grpc_server_cacert,
            target.grpc_server_with_client_auth,
        ) {
            (Some(file), true) => Some(read("--grpc-server-cacert", file)?),
            (None, true) => {
                return Err(Fault::input(
                    "--grpc-server-with-client-auth needs --grpc-server-cacert",
                )
                .help("name the certificates that vouch for clients"));
            }
            (_, false) => None,
        };
        config.tls = match (&target.grpc_server_cert, &target.grpc_server_key) {
            (Some(certificate), Some(key)) => Some(Tls {
                certificate: read("--grpc-server-cert", certificate)?,
                key: read("--grpc-server-key", key)?,
                client_ca,
            }),
            (None, None) if !target.grpc_server_ssl && client_ca.is_none() => None,
            _ => {
                return Err(
                    Fault::input("encrypted calls need a certificate and its key")
                        .help("give both --grpc-server-cert and --grpc-server-key"),
                );
            }
        };
        Ok(config)
    }

    /// Takes the address of the Thrift services, if they are to be served. A port that nobody asked
    /// for may be taken already.
    fn listen_for_thrift(
        &self,
        grpc: SocketAddr,
        terminal: &Terminal,
    ) -> Result<Option<TcpListener>, Fault> {
        let Some(address) = self.thrift_address(grpc.ip()) else {
            return Ok(None);
        };
        match server::listen(address) {
            Ok(listener) => Ok(Some(listener)),
            Err(error) if self.thrift_port.is_none() => {
                terminal.note(format!(
                    "note: Thrift is not served: {error}; name another port with --thrift-port"
                ));
                Ok(None)
            }
            Err(error) => Err(Fault::with(Status::Target, error)
                .help("take another port with --thrift-port, or stop what listens there")),
        }
    }

    fn serve_thrift(
        &self,
        runtime: &Runtime,
        listener: Option<TcpListener>,
        server: &Server,
        ports: &Arc<Mutex<Ports>>,
        engine: &Engine,
    ) -> Result<Option<ThriftServer>, Fault> {
        let Some(listener) = listener else {
            return Ok(None);
        };
        let subject = thrift::Subject {
            switch: Arc::clone(server.switch()),
            ports: Arc::clone(ports),
            engine: engine.handle().clone(),
            device_id: self.device_id,
            swap: !self.target.disable_swap,
        };
        let start = async { ThriftServer::start(listener, subject, thrift::Limits::default()) };
        let started = runtime.block_on(start);
        started.input("the Thrift server").map(Some)
    }

    /// Runs the program of the command line. A P4 source brings its own P4Info; that of a BMv2 JSON
    /// is made of its names. Controllers find a pipeline set. What has no control plane that we
    /// know runs all the same, and controllers push before they write.
    fn load(
        &self,
        start: Start,
        engine: &Engine,
        server: &Server,
        terminal: &Terminal,
    ) -> Result<String, Fault> {
        let name = self.program.clone().unwrap_or_default();
        match start {
            Start::Source(config) => {
                let loaded = server.switch().load(*config);
                loaded.map_err(|refusal| Fault::input(format!("{name}: {refusal}")))?;
            }
            Start::Json(text) => {
                let config = ForwardingPipelineConfig {
                    p4_device_config: text.clone().into_bytes(),
                    ..Default::default()
                };
                let Err(refusal) = server.switch().load(config) else {
                    return Ok(name);
                };
                let program = bmv2json::read(&text).input(&name)?;
                terminal.note(format!(
                    "note: {name}: no entries can be written: {refusal}"
                ));
                let executor = engine.handle().build(Arc::new(program)).input(&name)?;
                engine.handle().replace(executor).input(&name)?;
            }
        }
        Ok(name)
    }

    fn open_admin(
        &self,
        runtime: &Runtime,
        folder: &RunFolder,
        server: &Server,
        ports: &Arc<Mutex<Ports>>,
        engine: &Engine,
        thrift_port: Option<u16>,
    ) -> Result<Admin, Fault> {
        folder.sweep();
        let default = || folder.switch(server.address().port());
        let path = self.admin.clone().unwrap_or_else(default);
        let subject = Subject {
            ports: Arc::clone(ports),
            engine: engine.handle().clone(),
            address: server.address(),
            device_id: self.device_id,
        };
        let open = || {
            let mut admin = Admin::open(&path, subject)?;
            if let Some(port) = thrift_port {
                admin.also(folder.thrift(port))?;
            }
            Ok::<_, std::io::Error>(admin)
        };
        runtime.block_on(async { open() }).map_err(|error| {
            Fault::with(
                Status::Target,
                format!("the admin socket {}: {error}", path.display()),
            )
            .help(format!(
                "choose another place with --admin PATH, in a folder of the user that the switch runs as{OWN_FILES}"
            ))
        })
    }
}

fn port_fault(error: PortError) -> Fault {
    let refused = match &error {
        PortError::Net { source, .. } | PortError::Setup(source) => {
            matches!(
                source,
                NetError::NotPermitted { .. }
                    | NetError::System { .. }
                    | NetError::NoXdp
                    | NetError::XdpTaken { .. }
            )
        }
        PortError::Socket { .. } | PortError::Busy { .. } => true,
        _ => false,
    };
    Fault::with(
        if refused {
            Status::Target
        } else {
            Status::Input
        },
        error,
    )
}

fn server_fault(error: ServerError) -> Fault {
    match error {
        ServerError::Bind { .. } => Fault::with(Status::Target, error)
            .help("take another address with --grpc-server-addr, or stop what listens there"),
        ServerError::Store(StoreError::Io { .. }) => Fault::with(Status::Target, error).help(
            format!("--state-dir needs a folder of the user that the switch runs as{OWN_FILES}"),
        ),
        // They say themselves what to do.
        ServerError::Store(StoreError::Locked { .. } | StoreError::Damaged { .. }) => {
            Fault::with(Status::Target, error)
        }
        ServerError::Store(_) | ServerError::Resume(_) => Fault::with(Status::Target, error)
            .help("mend or empty the folder of --state-dir, or name another"),
        _ => Fault::input(error),
    }
}

fn tell_ready(ready: &Ready, terminal: &Terminal) -> Result<(), Fault> {
    if terminal.json {
        let line = serde_json::to_string(ready).input("result as JSON")?;
        terminal::emit(&format!("{line}\n"));
        return Ok(());
    }
    let ports = match ready.ports.as_slice() {
        [] => "no ports".to_owned(),
        ports => format!("ports {}", ports.join(", ")),
    };
    let program = match (&ready.program, ready.restored) {
        (Some(name), _) => format!("running {name}"),
        (None, true) => "running what was saved".to_owned(),
        (None, false) => "waiting for a program".to_owned(),
    };
    terminal.say(format!(
        "ready: device {} at {}, {ports}, {program}; admin {}",
        ready.device_id,
        ready.address,
        ready.admin.display()
    ));
    Ok(())
}

/// What ends a switch.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

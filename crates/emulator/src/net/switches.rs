//! Switches: a process each, with a log.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use linuxnet::Process;
use quantities::PortId;
use switchd::admin::{self, Answer, Request};
use topology::{Endpoint, NodeId, SwitchId, Topology};

use super::entries::Entries;
use super::{NetLabError, NetOptions, Unfit, interface};
use crate::ready;

/// How long switches may take to listen.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often one is knocked at.
const CONNECT_INTERVAL: Duration = Duration::from_millis(20);
/// How much of a log is quoted, in bytes.
const LOG_TAIL_BYTES: usize = 2000;

struct Running {
    name: String,
    /// Where it serves P4Runtime: known once it is ready.
    address: SocketAddr,
    /// What it says.
    log: PathBuf,
    process: Process,
}

/// All switches of a network.
pub(super) struct Switches(Vec<Running>);

impl Switches {
    /// Starts them, with the program and without entries, in the namespace of the calling thread.
    /// They end with that thread.
    pub(super) fn start(topology: &Topology, options: &NetOptions) -> Result<Self, NetLabError> {
        let mut all = Self(Vec::new());
        for switch in topology.switch_ids() {
            let name = topology.switch(switch).name.clone();
            let mut command = Command::new(&options.executable);
            command.arg("switch").arg(&options.program);
            command.args(["--device-id", &(switch.index() + 1).to_string()]);
            for (port, _) in topology.peers(switch) {
                let end = Endpoint {
                    node: NodeId::Switch(switch),
                    port,
                };
                command.args([
                    "-i",
                    &format!("{}@{}", port.get(), interface(topology, end)),
                ]);
            }
            command.args(["--", "--grpc-server-addr", ready::ANY_ADDRESS]);
            let log = options.logs.join(log_name(&name));
            let words = File::create(&log)?;
            command
                .stdin(Stdio::null())
                .stdout(words.try_clone()?)
                .stderr(words);
            let failed = |source| NetLabError::Start {
                program: options.executable.display().to_string(),
                source,
            };
            let process = Process::start(command).map_err(failed)?;
            all.0.push(Running {
                name,
                address: (Ipv4Addr::LOCALHOST, 0).into(),
                log,
                process,
            });
        }
        all.connect()?;
        Ok(all)
    }

    /// Waits until all run the program.
    fn connect(&mut self) -> Result<(), NetLabError> {
        let deadline = Instant::now() + TIMEOUT;
        for switch in &mut self.0 {
            // It says so when its program is in force; it listens before.
            switch.address = loop {
                if let Some(address) = ready::address(&switch.log) {
                    break address;
                }
                if switch.process.try_wait()?.is_some() || Instant::now() > deadline {
                    let log = fs::read(&switch.log)?;
                    let words = &log[log.len().saturating_sub(LOG_TAIL_BYTES)..];
                    return Err(NetLabError::Switch {
                        name: switch.name.clone(),
                        words: String::from_utf8_lossy(words).trim().to_owned(),
                    });
                }
                std::thread::sleep(CONNECT_INTERVAL);
            };
        }
        Ok(())
    }

    /// Waits until a switch knows that a port is up or down.
    pub(super) fn await_port(
        &self,
        switch: SwitchId,
        port: PortId,
        up: bool,
    ) -> Result<(), NetLabError> {
        let running = &self.0[switch.index()];
        let socket = admin::default_path(running.address.port());
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Answer::Ports { ports } = admin::ask(&socket, &Request::Ports)?
                && ports.iter().any(|p| p.port == port && p.up == up)
            {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(NetLabError::Port {
                    name: running.name.clone(),
                    port,
                    state: if up { "up" } else { "down" },
                });
            }
            std::thread::sleep(CONNECT_INTERVAL);
        }
    }

    /// Gives switches their entries; what does not fit is left out, and told.
    pub(super) fn fill(
        &self,
        entries: &Entries,
        options: &NetOptions,
    ) -> Result<Vec<Unfit>, NetLabError> {
        let mut unfit = Vec::new();
        for (number, switch) in self.0.iter().enumerate() {
            let Some((place, lines)) = entries.of(&switch.name) else {
                continue;
            };
            let scratch = files::Scratch::new()?;
            let file = scratch.path().join("commands.txt");
            fs::write(&file, lines)?;
            let mut command = Command::new(&options.executable);
            command
                .args([
                    "cli",
                    &switch.address.to_string(),
                    "--device-id",
                    &(number + 1).to_string(),
                    // Lines after one that does not fit may fit.
                    "--keep-going",
                    "-f",
                ])
                .arg(&file)
                .stdin(Stdio::null());
            let output = command.output()?;
            if !output.status.success() {
                let said = [output.stdout, output.stderr].concat();
                unfit.push(Unfit {
                    place: place.clone(),
                    why: String::from_utf8_lossy(&said).trim().to_owned(),
                });
            }
        }
        Ok(unfit)
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.0.iter().map(|s| (s.name.as_str(), s.address))
    }

    /// Ends them all.
    pub(super) fn stop(&mut self) {
        self.0.clear();
    }
}

/// The file in which a switch's words stand.
fn log_name(name: &str) -> String {
    p4gen::build::file_name(name) + ".log"
}

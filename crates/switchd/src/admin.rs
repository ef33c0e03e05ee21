//! What P4Runtime cannot say, over a Unix socket: ports that come and go, and what passed over
//! them.
//!
//! One JSON object a line in each direction. Who may open the socket may change the switch: it is
//! made for its owner alone.

use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use device::{QueueRange, QueueSetting};
use quantities::{Bytes, PortId};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::engine::EngineHandle;
use crate::engine::lossless::LosslessStatus;
use crate::ports::{PortBinding, Ports};
use crate::sockets::{self, SocketFile};

/// The longest request, in bytes.
const LONGEST: u64 = 1 << 16;
/// After nobody could be let in.
const PAUSE: Duration = Duration::from_millis(100);

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    /// The ports and what passed over them.
    Ports,
    /// A port more, written as on the command line: `3@veth3`.
    PortAdd {
        /// The port.
        port: String,
    },
    /// A port less.
    PortRemove {
        /// Its number.
        port: PortId,
    },
    /// How many packets may wait in egress queues.
    QueueDepth {
        /// Packets.
        depth: usize,
        /// The port; all if none is named.
        port: Option<PortId>,
        /// The queue; all of the port's if none is named.
        queue: Option<u8>,
    },
    /// How many packets leave egress queues per second.
    QueueRate {
        /// Packets per second; 0 for no limit.
        rate: u64,
        /// The port; all if none is named.
        port: Option<PortId>,
        /// The queue; all of the port's if none is named.
        queue: Option<u8>,
    },
    /// The switch's clock.
    Time,
    /// Where its P4Runtime server is, and its device id.
    Server,
    /// The buffer of a lossless switch.
    Lossless,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// The ports, by rising number.
    Ports {
        /// The ports.
        ports: Vec<PortStatus>,
    },
    /// Time since the switch started.
    Time {
        /// Microseconds.
        microseconds: u64,
    },
    /// The P4Runtime server.
    Server {
        /// Its address.
        address: SocketAddr,
        /// The device id.
        device_id: u64,
    },
    /// The buffer of a lossless switch.
    Lossless {
        /// Its figures.
        status: Box<LosslessStatus>,
    },
    /// It is done.
    Done,
    /// It is not.
    Refused {
        /// Why, and how to mend it.
        why: String,
    },
}

/// A port and what passed over it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStatus {
    /// Its number.
    pub port: PortId,
    /// What it is connected to.
    pub line: String,
    /// Whether packets can pass.
    pub up: bool,
    /// Packets processed.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: Bytes,
    /// Packets sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: Bytes,
    /// Packets lost in either direction because the port was down.
    pub lost_down: u64,
    /// Packets to be sent that found no room in an egress queue.
    pub lost_queue: u64,
    /// Packets lost because they came faster than they were processed.
    pub overrun: u64,
    /// Packets that the line did not take.
    pub refused: u64,
}

/// What an administrator may see and change.
#[derive(Clone)]
pub struct Subject {
    /// The ports.
    pub ports: Arc<Mutex<Ports>>,
    /// The data plane.
    pub engine: EngineHandle,
    /// Where the P4Runtime server is.
    pub address: SocketAddr,
    /// Its device id.
    pub device_id: u64,
}

/// The socket, open until it is dropped.
#[derive(Debug)]
pub struct Admin {
    file: SocketFile,
    /// Another name of the socket.
    alias: Option<PathBuf>,
    serving: JoinHandle<()>,
}

impl Admin {
    /// Opens the socket. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// A path that cannot be had; [`io::ErrorKind::AddrInUse`] when another switch answers there.
    pub fn open(path: &Path, subject: Subject) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let connect = |path: &Path| std::os::unix::net::UnixStream::connect(path);
        let (listener, file) = sockets::bind(path, |path| UnixListener::bind(path), connect)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        let serving = tokio::spawn(async move {
            loop {
                let stream = match listener.accept().await {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        // Most likely there are too many open files: that passes.
                        tracing::warn!(%error, "an administrator was not let in");
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                };
                let subject = subject.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, subject).await {
                        tracing::debug!(%error, "an administrator has gone");
                    }
                });
            }
        });
        Ok(Self {
            file,
            alias: None,
            serving,
        })
    }

    /// Gives the socket another name too, in the place of what had it.
    ///
    /// # Errors
    /// A path that cannot be had.
    pub fn also(&mut self, alias: PathBuf) -> io::Result<()> {
        match fs::remove_file(&alias) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        std::os::unix::fs::symlink(std::path::absolute(self.path())?, &alias)?;
        self.alias = Some(alias);
        Ok(())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.serving.abort();
        if let Some(alias) = &self.alias {
            let own = fs::read_link(alias).is_ok_and(|to| to.ends_with(self.path()));
            if own {
                let _ = fs::remove_file(alias);
            }
        }
    }
}

async fn serve(mut stream: UnixStream, subject: Subject) -> io::Result<()> {
    let (input, mut output) = stream.split();
    let mut input = BufReader::new(tokio::io::AsyncReadExt::take(input, LONGEST));
    let mut line = String::new();
    while input.read_line(&mut line).await? > 0 {
        let answer = match serde_json::from_str(&line) {
            Ok(request) => {
                let subject = subject.clone();
                let work = move || answer(request, &subject);
                tokio::task::spawn_blocking(work).await?
            }
            Err(e) => Answer::Refused {
                why: format!("the request is not understood: {e}"),
            },
        };
        let mut text = serde_json::to_string(&answer)?;
        text.push('\n');
        output.write_all(text.as_bytes()).await?;
        line.clear();
        input.get_mut().set_limit(LONGEST);
    }
    Ok(())
}

fn answer(request: Request, subject: &Subject) -> Answer {
    let engine = &subject.engine;
    let mut ports = subject.ports.lock().unwrap_or_else(PoisonError::into_inner);
    let done = match request {
        Request::Ports => {
            return Answer::Ports {
                ports: statuses(&ports, engine),
            };
        }
        Request::Time => {
            return Answer::Time {
                microseconds: engine.now().get() / 1000,
            };
        }
        Request::Server => {
            return Answer::Server {
                address: subject.address,
                device_id: subject.device_id,
            };
        }
        Request::Lossless => match engine.inspect(LosslessStatus::of) {
            Ok(Some(status)) => {
                return Answer::Lossless {
                    status: Box::new(status),
                };
            }
            Ok(None) => Err(NOT_LOSSLESS.to_owned()),
            Err(e) => Err(e.to_string()),
        },
        Request::PortAdd { .. } | Request::PortRemove { .. } if is_lossless(engine) => {
            Err("the ports of a lossless switch share its buffer and stay as they are; start it with others".to_owned())
        }
        Request::PortAdd { port } => match port.parse::<PortBinding>() {
            Ok(binding) => ports.add(binding).map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        },
        Request::PortRemove { port } => ports.remove(port).map_err(|e| e.to_string()),
        Request::QueueDepth { .. } | Request::QueueRate { .. } if is_lossless(engine) => {
            Err("a lossless switch has its queues in its buffer; say their limits with --lossless".to_owned())
        }
        Request::QueueDepth { depth, port, queue } => {
            let range = QueueRange { port, queue };
            set_queues(engine, range, QueueSetting::Depth(depth))
        }
        Request::QueueRate { rate, port, queue } => {
            let range = QueueRange { port, queue };
            set_queues(engine, range, QueueSetting::Rate(rate))
        }
    };
    match done {
        Ok(()) => Answer::Done,
        Err(why) => Answer::Refused { why },
    }
}

const NOT_LOSSLESS: &str =
    "the switch is not lossless, or has no program yet; start it with --lossless";

pub(crate) fn is_lossless(engine: &EngineHandle) -> bool {
    matches!(engine.inspect(|_, _, _| ()), Ok(Some(())))
}

pub(crate) fn set_queues(
    engine: &EngineHandle,
    range: QueueRange,
    setting: QueueSetting,
) -> Result<(), String> {
    match engine.set_queues(range, setting) {
        Ok(true) => Ok(()),
        Ok(false) => Err(
            "ports have no such queue; start the switch with more: --priority-queues N".to_owned(),
        ),
        Err(e) => Err(e.to_string()),
    }
}

pub(crate) fn statuses(ports: &Ports, engine: &EngineHandle) -> Vec<PortStatus> {
    // A data plane that has stopped has no ports up.
    let up = engine.ports().unwrap_or_default();
    let counters = engine.all_port_counters().unwrap_or_default();
    let status = |info: crate::ports::PortInfo| {
        let counters = counters.get(&info.port).copied().unwrap_or_default();
        PortStatus {
            port: info.port,
            line: info.spec.to_string(),
            up: up.contains(&(info.port, true)),
            received: counters.received,
            received_bytes: counters.received_bytes,
            sent: counters.sent,
            sent_bytes: counters.sent_bytes,
            lost_down: counters.lost_down,
            lost_queue: counters.lost_queue,
            overrun: info.stats.receive_overrun,
            refused: info.stats.send_refused,
        }
    };
    ports.list().into_iter().map(status).collect()
}

/// Where sockets are unless told otherwise: the run directory of the user, or the system's for
/// root. To be looked up by a process while it has its rights: it takes those over the first
/// process to tell which network namespace is the system's own.
#[derive(Clone, Debug)]
pub struct RunFolder {
    folder: PathBuf,
    network: String,
}

impl RunFolder {
    /// That of this process, and of its network namespace.
    #[must_use]
    pub fn here() -> Self {
        Self {
            folder: folder(),
            network: network(),
        }
    }

    /// The socket of a switch that listens for P4Runtime at this TCP port.
    #[must_use]
    pub fn switch(&self, tcp_port: u16) -> PathBuf {
        let network = &self.network;
        self.folder.join(format!("switch-{tcp_port}{network}.sock"))
    }

    /// The other name of that socket, after the Thrift port that BMv2 would have served.
    #[must_use]
    pub fn thrift(&self, thrift_port: u16) -> PathBuf {
        let network = &self.network;
        self.folder
            .join(format!("thrift-{thrift_port}{network}.sock"))
    }

    /// Removes the sockets here that killed switches left.
    pub fn sweep(&self) {
        let ours = |name: &str| {
            let kind = name.starts_with("switch-") || name.starts_with("thrift-");
            kind && name.ends_with(".sock")
        };
        sockets::sweep(&self.folder, ours);
    }
}

/// Where a switch that listens for P4Runtime at this TCP port opens its socket unless told
/// otherwise.
#[must_use]
pub fn default_path(tcp_port: u16) -> PathBuf {
    RunFolder::here().switch(tcp_port)
}

/// The other name of that socket, after the Thrift port that BMv2 would have served.
#[must_use]
pub fn thrift_path(thrift_port: u16) -> PathBuf {
    RunFolder::here().thrift(thrift_port)
}

/// Ports are those of a network namespace, files are not: outside of the system's own the name says
/// which.
fn network() -> String {
    // The first process may not let others look (a service manager in a container).
    let systems = |own: &str| {
        namespace("/proc/1/ns/net").map_or_else(is_first_namespace, |first| own == first)
    };
    match namespace("/proc/thread-self/ns/net") {
        Some(own) if !systems(&own) => format!("-{own}"),
        _ => String::new(),
    }
}

/// The number of a network namespace, by a link to it.
fn namespace(link: &str) -> Option<String> {
    let name = fs::read_link(link).ok()?.to_string_lossy().into_owned();
    let number = name.trim_start_matches("net:[").trim_end_matches(']');
    Some(number.to_owned())
}

/// Whether this is the network namespace that the kernel started with: no other has settings of how
/// much a processor does at once.
fn is_first_namespace() -> bool {
    Path::new("/proc/sys/net/core/netdev_budget").exists()
}

fn folder() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR")
        .filter(|_| !is_root())
        .map_or_else(|| PathBuf::from("/run"), PathBuf::from);
    folder.join("switchwright")
}

fn is_root() -> bool {
    // The owner of our own process directory.
    fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

/// Asks the switch behind a socket.
///
/// # Errors
/// Nobody answers there, or not in our words.
pub fn ask(path: &Path, request: &Request) -> io::Result<Answer> {
    use std::io::{BufRead as _, Write as _};
    let stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10)))?;
    let mut text = serde_json::to_string(request)?;
    text.push('\n');
    (&stream).write_all(text.as_bytes())?;
    let mut line = String::new();
    std::io::BufReader::new(&stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

//! What P4Runtime cannot say, over a Unix socket: ports that come and go, and what passed over them.
//!
//! One JSON object a line in each direction. Who may open the socket may change the switch: it is made for its owner
//! alone.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use units::{Bytes, PortId};

use crate::engine::EngineHandle;
use crate::ports::{PortBinding, Ports};

/// The longest request, in bytes.
const LONGEST: u64 = 1 << 16;

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
    /// Packets lost because they came faster than they were processed.
    pub overrun: u64,
    /// Packets that the line did not take.
    pub refused: u64,
}

/// The socket, open until it is dropped.
#[derive(Debug)]
pub struct Admin {
    path: PathBuf,
    serving: JoinHandle<()>,
}

impl Admin {
    /// Opens the socket. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// A path that cannot be had; [`io::ErrorKind::AddrInUse`] when another switch answers there.
    pub fn open(path: &Path, ports: Arc<Mutex<Ports>>, engine: EngineHandle) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let listener = match UnixListener::bind(path) {
            // A switch that was killed left the file: nobody answers.
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && is_deserted(path) => {
                fs::remove_file(path)?;
                UnixListener::bind(path)
            }
            other => other,
        }?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (ports, engine) = (Arc::clone(&ports), engine.clone());
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, ports, engine).await {
                        tracing::debug!(%error, "an administrator has gone");
                    }
                });
            }
        });
        Ok(Self {
            path: path.to_owned(),
            serving,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.serving.abort();
        let _ = fs::remove_file(&self.path);
    }
}

fn is_deserted(path: &Path) -> bool {
    let tried = std::os::unix::net::UnixStream::connect(path);
    tried.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
}

async fn serve(
    mut stream: UnixStream,
    ports: Arc<Mutex<Ports>>,
    engine: EngineHandle,
) -> io::Result<()> {
    let (input, mut output) = stream.split();
    let mut input = BufReader::new(tokio::io::AsyncReadExt::take(input, LONGEST));
    let mut line = String::new();
    while input.read_line(&mut line).await? > 0 {
        let answer = match serde_json::from_str(&line) {
            Ok(request) => {
                let (ports, engine) = (Arc::clone(&ports), engine.clone());
                let work = move || answer(request, &ports, &engine);
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

fn answer(request: Request, ports: &Mutex<Ports>, engine: &EngineHandle) -> Answer {
    let mut ports = ports.lock().unwrap_or_else(PoisonError::into_inner);
    let done = match request {
        Request::Ports => {
            return Answer::Ports {
                ports: statuses(&ports, engine),
            };
        }
        Request::PortAdd { port } => match port.parse::<PortBinding>() {
            Ok(binding) => ports.add(binding).map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        },
        Request::PortRemove { port } => ports.remove(port).map_err(|e| e.to_string()),
    };
    match done {
        Ok(()) => Answer::Done,
        Err(why) => Answer::Refused { why },
    }
}

fn statuses(ports: &Ports, engine: &EngineHandle) -> Vec<PortStatus> {
    // A data plane that has stopped has no ports up.
    let up = engine.ports().unwrap_or_default();
    let status = |info: crate::ports::PortInfo| {
        let counters = engine
            .port_counters(info.port)
            .ok()
            .flatten()
            .unwrap_or_default();
        PortStatus {
            port: info.port,
            line: info.spec.to_string(),
            up: up.contains(&(info.port, true)),
            received: counters.received,
            received_bytes: counters.received_bytes,
            sent: counters.sent,
            sent_bytes: counters.sent_bytes,
            lost_down: counters.lost_down,
            overrun: info.stats.receive_overrun,
            refused: info.stats.send_refused,
        }
    };
    ports.list().into_iter().map(status).collect()
}

/// Where a switch that listens for P4Runtime at this TCP port opens its socket unless told otherwise: the run directory of
/// the user, or the system's for root.
#[must_use]
pub fn default_path(tcp_port: u16) -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR")
        .filter(|_| !is_root())
        .map_or_else(|| PathBuf::from("/run"), PathBuf::from);
    folder
        .join("switchwright")
        .join(format!("switch-{tcp_port}.sock"))
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

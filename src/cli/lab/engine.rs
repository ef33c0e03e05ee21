//! The server's side of the engine: starts the process when it is first asked, waits for its
//! answers, and ends it when one takes too long. The next request finds a new one.

use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, Notify};

use super::child::{ENGINE, MEMORY};

/// How long an answer may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The largest answer that is passed on, in bytes.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// An engine that runs.
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// See the module documentation. Requests wait for each other.
pub(super) struct Process {
    running: Mutex<Option<Running>>,
    stopped: Notify,
    /// How often it was stopped: requests that waited meanwhile are not answered.
    stops: AtomicU64,
}

impl Process {
    pub(super) fn new() -> Self {
        Self {
            running: Mutex::new(None),
            stopped: Notify::new(),
            stops: AtomicU64::new(0),
        }
    }

    /// The answer to a request, or why there is none.
    pub(super) async fn call(&self, request: &str) -> Result<String, String> {
        // Two lines would be two requests.
        let request = request.replace(['\n', '\r'], " ");
        let stops = self.stops.load(Ordering::SeqCst);
        let mut place = self.running.lock().await;
        if self.stops.load(Ordering::SeqCst) != stops {
            return Err("stopped".to_owned());
        }
        let mut running = match place.take() {
            Some(running) => running,
            None => start()?,
        };
        // Until it has answered the engine is not put back: dropped, it ends.
        let answer = tokio::select! {
            answer = tokio::time::timeout(RESPONSE_TIMEOUT, running.exchange(&request)) => answer,
            () = self.stopped.notified() => return Err("stopped".to_owned()),
        };
        match answer {
            Ok(Ok(answer)) => {
                *place = Some(running);
                Ok(answer)
            }
            Ok(Err(why)) => Err(running.ended(&why).await),
            Err(_) => Err(format!(
                "the request took more than {} s, which is all that it is given here; the engine was ended and begins anew",
                RESPONSE_TIMEOUT.as_secs()
            )),
        }
    }

    /// Ends the engine, with what it is doing.
    pub(super) async fn stop(&self) {
        self.stops.fetch_add(1, Ordering::SeqCst);
        self.stopped.notify_waiters();
        *self.running.lock().await = None;
    }
}

fn start() -> Result<Running, String> {
    let no = |why: std::io::Error| format!("the engine does not start: {why}");
    let program = super::super::own::running().map_err(|fault| fault.to_string())?;
    let mut child = Command::new(program)
        .arg(ENGINE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        // What the terminal sends is for the server, which then ends its engine.
        .process_group(0)
        .spawn()
        .map_err(no)?;
    let missing = || "the engine has no pipes".to_owned();
    let input = child.stdin.take().ok_or_else(missing)?;
    let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
    Ok(Running {
        child,
        input,
        output,
    })
}

impl Running {
    async fn exchange(&mut self, request: &str) -> Result<String, String> {
        let line = format!("{request}\n");
        let lost = |e: std::io::Error| e.to_string();
        self.input.write_all(line.as_bytes()).await.map_err(lost)?;
        let mut answer = String::new();
        let mut output = (&mut self.output).take(MAX_ANSWER_BYTES);
        output.read_line(&mut answer).await.map_err(lost)?;
        match answer.ends_with('\n') {
            true => Ok(answer),
            false => Err("it broke off".to_owned()),
        }
    }

    /// Why an engine ended that was not to.
    async fn ended(mut self, why: &str) -> String {
        let mut said = Vec::new();
        if let Some(errors) = self.child.stderr.take() {
            let _ = errors.take(16 << 10).read_to_end(&mut said).await;
        }
        let said = String::from_utf8_lossy(&said);
        // The first is what Rust says of an allocation that failed, the second what the system says
        // of a thread.
        if said.contains("memory allocation of") || said.contains("Cannot allocate memory") {
            let memory = MEMORY >> 30;
            return format!(
                "the request takes more than {memory} GiB of memory, which is all that it is given here; the engine begins anew"
            );
        }
        let first = said.lines().find(|line| !line.trim().is_empty());
        format!(
            "the engine ended ({why}) and begins anew: {}",
            first.unwrap_or("it did not say why")
        )
    }
}

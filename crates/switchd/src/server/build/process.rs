//! The switch's side: starts a child, sends it the configuration, waits for its answer, and says
//! why there is none.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};

use p4runtime::p4::v1;
use prost::Message as _;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::{BuildLimits, ChildBuilder, Order, garbled};
use crate::engine::ExecutorKind;
use crate::translate::refusal::Refusal;

/// The largest answer that is taken, in bytes.
const MAX_ANSWER_BYTES: u64 = 512 << 20;

/// What is kept of what a child says on standard error, in bytes.
const MAX_STDERR_BYTES: u64 = 16 << 10;

/// What a child says, and how it ended.
struct Ended {
    answer: Vec<u8>,
    said: String,
    status: ExitStatus,
}

/// The answer of a child to a configuration. If this is dropped, the child ends.
///
/// # Errors
/// RESOURCE_EXHAUSTED if a limit was reached, naming it; INTERNAL if the child cannot be started,
/// or ended otherwise.
pub(super) async fn run(
    builder: &ChildBuilder,
    executor: ExecutorKind,
    config: &v1::ForwardingPipelineConfig,
    keep: bool,
) -> Result<Vec<u8>, Refusal> {
    let limits = &builder.limits;
    let config = config.encode_to_vec();
    let order = Order {
        memory: limits.memory.get(),
        processor: limits.processor.as_secs().max(1),
        executor,
        keep,
        config: config.len() as u64,
    };
    let order = postcard::to_stdvec(&order).map_err(garbled)?;
    let mut request = (order.len() as u32).to_le_bytes().to_vec();
    request.extend(order);
    let mut child = start(builder)?;
    let exchanged = exchange(&mut child, [request, config]);
    let ended = match tokio::time::timeout(limits.time, exchanged).await {
        Ok(ended) => ended.map_err(|e| {
            Refusal::internal(format!("the building process cannot be talked to: {e}"))
        })?,
        Err(_) => {
            let time = limits.time.as_secs_f64();
            return Err(too_much(&format!("{time} s")));
        }
    };
    if ended.status.success() && ended.answer.len() as u64 <= MAX_ANSWER_BYTES {
        return Ok(ended.answer);
    }
    Err(explain(&ended, limits))
}

fn start(builder: &ChildBuilder) -> Result<Child, Refusal> {
    Command::new(&builder.program)
        .args(&builder.arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| {
            let program = builder.program.display();
            Refusal::internal(format!("the program cannot be built: {program}: {e}"))
        })
}

/// Sends a request and waits for the end of the child.
async fn exchange(child: &mut Child, request: [Vec<u8>; 2]) -> std::io::Result<Ended> {
    let missing = || std::io::Error::other("a pipe is missing");
    let mut input = child.stdin.take().ok_or_else(missing)?;
    let output = child.stdout.take().ok_or_else(missing)?;
    let errors = child.stderr.take().ok_or_else(missing)?;
    let send = async {
        for part in request {
            // A child that has ended takes nothing more; why, it says itself.
            if input.write_all(&part).await.is_err() {
                break;
            }
        }
    };
    let ((), answer, said) = tokio::join!(
        send,
        read(output, MAX_ANSWER_BYTES + 1),
        read(errors, MAX_STDERR_BYTES)
    );
    let status = child.wait().await?;
    // Until now the child's input had to stay open.
    drop(input);
    Ok(Ended {
        answer: answer?,
        said: String::from_utf8_lossy(&said?).into_owned(),
        status,
    })
}

/// Reads to the end, but no more than so much; what is beyond cannot be written by then.
async fn read(from: impl AsyncRead + Unpin, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

fn too_much(limit: &str) -> Refusal {
    Refusal::exhausted(format!(
        "building the program takes more than {limit}, which is all that this switch allows for it"
    ))
}

/// Why a child gave no answer.
fn explain(ended: &Ended, limits: &BuildLimits) -> Refusal {
    let said = |text: &str| ended.said.contains(text);
    if ended.answer.len() as u64 > MAX_ANSWER_BYTES {
        return too_much(&format!("{MAX_ANSWER_BYTES} bytes when it is compiled"));
    }
    if ended.status.signal() == Some(Signal::XCPU.as_raw()) {
        let processor = limits.processor.as_secs().max(1);
        return too_much(&format!("{processor} s of processor time"));
    }
    // The first is what Rust says of an allocation that failed, the second what the system says of
    // a thread.
    if said("memory allocation of") || said("Cannot allocate memory") {
        return too_much(&format!("{} bytes of memory", limits.memory));
    }
    if said("has overflowed its stack") {
        return Refusal::exhausted(
            "building the program takes more stack than there is: it is nested too deeply",
        );
    }
    let how = match ended.status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("status {}", ended.status.code().unwrap_or_default()),
    };
    let first = ended.said.lines().find(|line| !line.trim().is_empty());
    Refusal::internal(format!(
        "the process that built the program ended with {how}: {}",
        first.unwrap_or("it did not say why")
    ))
}

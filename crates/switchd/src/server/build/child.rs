//! The child's side: one order from standard input, one answer to standard output.
//!
//! The child limits itself before it reads what the client pushed. Its input stays open as long as
//! the switch wants the answer: when it closes, because the call was cancelled or the switch is
//! gone (killed, even), the child ends itself at once.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::thread;

use p4runtime::p4::v1;
use prost::Message as _;
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, nice, setrlimit, setsid};

use super::{Order, read_answer, write_answer};
use crate::engine::ReadyProgram;
use crate::server::pipeline::prepare;
use crate::translate::refusal::Refusal;

/// The stack on which programs are read and compiled.
const STACK: usize = 8 << 20;

/// The stack on which the answer is tried: threads of the switch have twice that.
const SMALL_STACK: usize = 1 << 20;

/// The stack of the thread that waits for the end of the input.
const WATCH_STACK: usize = 64 << 10;

/// How far the child stands back behind the threads that move packets.
const NICE: i32 = 10;

/// Files the child may have open.
const FILES: u64 = 16;

/// Exit status if the order cannot be read.
const NO_ORDER: u8 = 2;

/// Does what a switch orders; a program that calls this is what
/// [`ChildBuilder::program`](super::ChildBuilder::program) names.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(run())
}

/// The same, for programs that end with their status themselves.
#[must_use]
pub fn run() -> u8 {
    match serve() {
        Ok(()) => 0,
        Err(error) => {
            // Nobody may be there to read it.
            let _ = writeln!(io::stderr(), "{error}");
            NO_ORDER
        }
    }
}

fn serve() -> io::Result<()> {
    let mut input = io::stdin();
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let mut order = vec![
        0;
        usize::try_from(u32::from_le_bytes(length))
            .unwrap_or(0)
            .min(1024)
    ];
    input.read_exact(&mut order)?;
    let order: Order = postcard::from_bytes(&order).map_err(io::Error::other)?;
    limit(&order)?;
    let mut config = vec![0; usize::try_from(order.config).map_err(io::Error::other)?];
    input.read_exact(&mut config)?;
    thread::Builder::new()
        .stack_size(WATCH_STACK)
        .spawn(watch)?;
    let ready = on_stack(STACK, "build", move || build(&order, &config))?;
    let answer = match ready {
        Ok(ready) => on_stack(SMALL_STACK, "check", move || check(&order, ready))?,
        Err(refusal) => Err(refusal),
    };
    let answer = match answer {
        Ok(answer) if order.keep => answer,
        Ok(_) => write_answer(Ok(None)).map_err(io::Error::other)?,
        Err(refusal) => write_answer(Err(&refusal)).map_err(io::Error::other)?,
    };
    let mut output = io::stdout().lock();
    output.write_all(&answer)?;
    output.flush()
}

/// Runs some work on a stack of so many bytes.
fn on_stack<T: Send + 'static>(
    stack: usize,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let thread = thread::Builder::new().stack_size(stack).name(name.into());
    let done = thread.spawn(work)?.join();
    // It has said on standard error why it panicked.
    done.map_err(|_| io::Error::other("the build failed"))
}

fn limit(order: &Order) -> io::Result<()> {
    let exactly = |limit| Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    setrlimit(Resource::Core, exactly(0))?;
    setrlimit(Resource::Nofile, exactly(FILES))?;
    setrlimit(Resource::Data, exactly(order.memory))?;
    // At the first the system says so (SIGXCPU), at the second it does not ask.
    let processor = Rlimit {
        current: Some(order.processor),
        maximum: Some(order.processor + 1),
    };
    setrlimit(Resource::Cpu, processor)?;
    // It works for whoever pushed the program, and needs no rights for that.
    linuxnet::give_up_rights(None).map_err(io::Error::other)?;
    // If the machine runs out of memory all the same, this process goes first. Not all systems can
    // be told.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    stand_back();
    setrlimit(Resource::Fsize, exactly(0))?;
    Ok(())
}

/// Lets whatever moves packets go first. What the system does not know, or has done already, need
/// not be done.
fn stand_back() {
    // A session of its own: what the terminal sends the switch is not for the child, and where the
    // scheduler shares processors out by sessions, the child's share is not the switch's.
    let _ = setsid();
    let _ = std::fs::write("/proc/self/autogroup", NICE.to_string());
    let _ = nice(NICE);
}

/// Ends the process when its input does.
fn watch() {
    let mut input = io::stdin();
    let mut byte = [0];
    while input.read(&mut byte).is_ok_and(|read| read > 0) {}
    let _ = kill_process(getpid(), Signal::KILL);
}

fn build(order: &Order, config: &[u8]) -> Result<ReadyProgram, Refusal> {
    let config = v1::ForwardingPipelineConfig::decode(config)
        .map_err(|e| Refusal::internal(format!("the config cannot be read: {e}")))?;
    prepare(order.executor, &config)
}

/// The answer, which the switch will be able to take over: that was tried here, with less stack.
fn check(order: &Order, ready: ReadyProgram) -> Result<Vec<u8>, Refusal> {
    let internal = |e: postcard::Error| Refusal::internal(e.to_string());
    let answer = write_answer(Ok(Some(&ready))).map_err(internal)?;
    drop(ready);
    if let Some(ready) = read_answer(&answer)? {
        let linked = order.executor.link(ready);
        linked.map_err(|e| Refusal::internal(e.to_string()))?;
    }
    Ok(answer)
}

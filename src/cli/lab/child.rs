//! The engine as a process of its own: a request per line of standard input, a response per line of
//! standard output.
//!
//! It limits its memory before it reads anything, and ends when its input does, whatever it is
//! doing: so nothing that a page asks for outlives the page's server or takes more than it is
//! given.

use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc;
use std::thread;

use engine::Engine;
use rustix::process::{Resource, Rlimit, setrlimit};

/// The first argument by which the program is this engine; no command, for nobody types it.
pub(in crate::cli) const ENGINE: &str = "answer-page";

/// Memory that the engine may have, in bytes.
pub(super) const MEMORY: u64 = 4 << 30;

/// The stack on which requests are answered.
const STACK: usize = 32 << 20;

/// Answers until the input ends, and tells the exit status.
pub(in crate::cli) fn run() -> u8 {
    match serve() {
        Ok(()) => 0,
        Err(error) => {
            // Nobody may be there to read it.
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    }
}

fn serve() -> io::Result<()> {
    let exactly = |limit| Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    setrlimit(Resource::Core, exactly(0))?;
    setrlimit(Resource::Data, exactly(MEMORY))?;
    let (ask, asked) = mpsc::channel::<String>();
    let answering = thread::Builder::new().stack_size(STACK);
    answering.name("engine".to_owned()).spawn(move || {
        let mut engine = Engine::new();
        for request in asked {
            let answer = engine.call(&request);
            let mut output = io::stdout().lock();
            if output.write_all(answer.as_bytes()).is_err()
                || output.write_all(b"\n").is_err()
                || output.flush().is_err()
            {
                break;
            }
        }
        // Without its engine the process is of no use, and a panic must not look like silence.
        std::process::exit(1);
    })?;
    for line in io::stdin().lock().lines() {
        if ask.send(line?).is_err() {
            break;
        }
    }
    Ok(())
}

//! Runs a bridge with two entries on three frames, by the interpreter and as machine code, and
//! prints where each frame leaves.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use p4exec::{Compiled, Executor, Interpreter, Outputs};
use p4front::{Options, source::SourceMap};
use quantities::{Nanos, PortId};

fn main() -> Result<(), Box<dyn Error>> {
    let mut map = SourceMap::new();
    let main = map.add("bridge.p4", include_str!("bridge.p4"))?;
    let compiled = p4front::compile(&mut map, main, &Options::default());
    let program = Arc::new(compiled.map_err(|_| "the program has errors")?.ir);
    run("interpreter", Interpreter::new(Arc::clone(&program))?);
    run("machine code", Compiled::new(program)?);
    Ok(())
}

/// Sends a frame to each of three stations.
fn run(name: &str, mut executor: impl Executor) {
    for station in [1, 2, 3] {
        let mut frame = [0; 64];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, station]);
        let mut out = Outputs::default();
        executor.process(Nanos::new(0), &frame, PortId::new(9), &mut out);
        let sent = out
            .sent
            .iter()
            .map(|packet| format!("leaves by port {}", packet.port));
        let dropped = out
            .dropped
            .iter()
            .map(|reason| format!("is dropped: {reason}"));
        println!(
            "{name}: to station {station} {}",
            sent.chain(dropped).collect::<String>()
        );
    }
}

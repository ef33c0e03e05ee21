//! What programs that repeat something cost: `growth [SHAPE [SIZE]]` prints, for a shape of
//! `p4test::shapes` (all that run, without one), the time of the front end and of each executor,
//! and how the peak of memory grew.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use p4exec::ExecutorKind;
use p4front::Options;
use p4front::source::SourceMap;
use p4test::shapes::{SHAPES, Shape, ShapeOutcome};

/// The peak of this process's memory in MB, where the system tells it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn measure(shape: &Shape, size: usize) {
    let text = shape.program(size);
    println!("{} {size}: {} KiB of text", shape.name, text.len() / 1024);
    let started = Instant::now();
    let mut map = SourceMap::new();
    let compiled = map
        .add("shape.p4", &text)
        .map_err(|e| e.to_string())
        .and_then(|main| {
            let compiled = p4front::compile(&mut map, main, &Options::default());
            compiled.map_err(|diags| diags.render(&map))
        });
    println!(
        "  front end {:>6} ms, peak {} MB",
        started.elapsed().as_millis(),
        peak()
    );
    let program = match compiled {
        Ok(compiled) => Arc::new(compiled.ir),
        Err(text) => return println!("  {}", text.lines().next().unwrap_or("refused")),
    };
    for kind in ExecutorKind::ALL {
        let started = Instant::now();
        let made = p4exec::executor(kind, Arc::clone(&program));
        println!(
            "  {kind:<9} {:>6} ms, peak {} MB",
            started.elapsed().as_millis(),
            peak()
        );
        if let Err(error) = made {
            println!("  {error}");
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = args.first() else {
        let running = SHAPES
            .iter()
            .filter(|shape| shape.outcome == ShapeOutcome::Runs);
        return running.for_each(|shape| measure(shape, shape.size));
    };
    match Shape::named(name) {
        Some(shape) => {
            let size = args.get(1).and_then(|size| size.parse().ok());
            measure(&shape, size.unwrap_or(shape.size));
        }
        None => println!("there is no shape `{name}`"),
    }
}

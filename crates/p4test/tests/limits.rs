//! Programs that ask for too much are refused with the bound they exceed, and long ones run: each
//! shape in a process of its own, whose address space is limited, so that a fault here cannot take
//! the machine down.

#![allow(clippy::panic)] // helpers of tests

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;

use p4exec::ExecutorKind;
use p4exec::exec::{DropReason, Outputs};
use p4exec::{BuildError, Executor};
use p4front::Options;
use p4front::source::SourceMap;
use p4ir::ValidProgram;
use p4test::ProgramError;
use p4test::shapes::{SHAPES, Shape, ShapeOutcome};
use quantities::{Nanos, PortId};
use rayon::prelude::*;

/// Names the shape that a child tries.
const SHAPE: &str = "LIMITS_SHAPE";

/// KiB of address space of a child: the test binary itself, stacks, and 400 MB.
const ROOM: u64 = 560 << 10;

fn compile(text: &str) -> Result<Arc<ValidProgram>, ProgramError> {
    let mut map = SourceMap::new();
    let main = map.add("shape.p4", text).expect("small");
    match p4front::compile(&mut map, main, &Options::default()) {
        Ok(compiled) => Ok(Arc::new(compiled.ir)),
        Err(diags) => {
            let mut text = String::new();
            for finding in diags.iter().filter(|d| d.is_error()) {
                let place = finding.span.map(|span| map.location(span).to_string());
                let place = place.unwrap_or_else(|| "nowhere".into());
                let _ = writeln!(text, "{} at {place}: {}", finding.code, finding.message);
            }
            Err(ProgramError::Compile(text))
        }
    }
}

/// The message of a program that the front end refuses.
fn refused(shape: &Shape) -> String {
    match compile(&shape.program(shape.size)) {
        Err(ProgramError::Compile(text)) => text,
        Err(other) => panic!("{}: {other}", shape.name),
        Ok(_) => panic!("{} is accepted", shape.name),
    }
}

fn try_shape(shape: &Shape) {
    match shape.outcome {
        ShapeOutcome::Refused(limit) => {
            let text = refused(shape);
            let line = text
                .lines()
                .find(|line| line.contains(limit.what()))
                .unwrap_or_else(|| panic!("{}: {text}", shape.name));
            assert!(line.starts_with("limit at shape.p4:"), "{line}");
            assert!(
                line.contains(&format!("the limit is {}", limit.most())),
                "{line}"
            );
            assert!(text.lines().count() < 20, "{text}");
        }
        ShapeOutcome::TooNested(words) => {
            let text = refused(shape);
            assert!(text.contains(words), "{}: {text}", shape.name);
        }
        ShapeOutcome::TooMuchState => {
            let program = compile(&shape.program(shape.size)).expect("only its state is too much");
            for kind in ExecutorKind::ALL {
                let error = p4exec::executor(kind, Arc::clone(&program))
                    .err()
                    .expect("too much state");
                assert!(matches!(error, BuildError::StateBytes { .. }), "{error}");
            }
        }
        ShapeOutcome::TooMuchCode => {
            let program = compile(&shape.program(shape.size)).expect("only its code is too much");
            assert!(p4exec::executor(ExecutorKind::Interp, Arc::clone(&program)).is_ok());
            let error = p4exec::executor(ExecutorKind::Compile, Arc::clone(&program))
                .err()
                .expect("too much code");
            let size = matches!(
                error,
                BuildError::CodeSize { .. } | BuildError::StackBytes { .. }
            );
            assert!(size, "{error}");
        }
        ShapeOutcome::Runs => runs(shape),
    }
}

/// Both executors take a few packets and agree.
fn runs(shape: &Shape) {
    let program = compile(&shape.program(shape.size)).unwrap_or_else(|e| panic!("{e}"));
    let mut outputs = Vec::new();
    for kind in ExecutorKind::ALL {
        let mut executor = p4exec::executor(kind, Arc::clone(&program))
            .unwrap_or_else(|e| panic!("{} on {kind}: {e}", shape.name));
        outputs.push([0u8, 1, 7, 255].map(|byte| send(&mut *executor, byte)));
    }
    assert_eq!(outputs[0], outputs[1], "{}", shape.name);
    if shape.name == "nested_loops" {
        let bound = DropReason::LoopBound(p4ir::limits::ROUNDS).to_string();
        assert!(outputs[0].iter().all(|text| text.contains(&bound)));
    }
}

fn send(executor: &mut dyn Executor, byte: u8) -> String {
    let mut out = Outputs::default();
    executor.process(Nanos::new(0), &[byte; 60], PortId::new(0), &mut out);
    let sent: Vec<_> = out.sent.iter().map(|o| (o.port, o.bytes.clone())).collect();
    let dropped: Vec<String> = out.dropped.iter().map(ToString::to_string).collect();
    format!("{sent:?} {dropped:?}")
}

#[test]
fn small_ones_are_programs() {
    for shape in SHAPES {
        if let Err(error) = compile(&shape.program(2)) {
            panic!("{}: {error}", shape.name);
        }
    }
}

/// What a child does; without its variable, nothing.
#[test]
fn child() {
    let Ok(name) = std::env::var(SHAPE) else {
        return;
    };
    try_shape(&Shape::named(&name).expect("a shape"));
}

/// Tries a shape in a process with little memory; what is wrong, if something is.
fn in_a_child(shape: &Shape) -> Option<String> {
    let own = std::env::current_exe().expect("a test binary");
    let limited = format!("ulimit -v {ROOM}; exec \"$0\" --exact child --nocapture");
    let child = Command::new("sh")
        .args(["-c", &limited])
        .arg(&own)
        .env(SHAPE, shape.name)
        .output()
        .expect("a shell");
    (!child.status.success()).then(|| {
        let text = String::from_utf8_lossy(&child.stderr);
        let out = String::from_utf8_lossy(&child.stdout);
        let tail: String = text.chars().take(1500).collect();
        let head: String = out.chars().take(300).collect();
        format!("{}: {}\n{tail}\n{head}", shape.name, child.status)
    })
}

#[test]
fn every_shape_in_a_child_with_little_memory() {
    let failed: Vec<String> = SHAPES.par_iter().filter_map(in_a_child).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

//! The kept inputs of every fuzz target, run once.

use std::path::{Path, PathBuf};

use p4test::fuzz::drive::corpus;
use p4test::fuzz::worker::{Outcome, Worker};
use p4test::fuzz::{TARGETS, target};

/// The fuzz program, of which children run targets with limits.
const FUZZ: &str = env!("CARGO_BIN_EXE_fuzz");

fn folder(name: &str) -> PathBuf {
    p4test::root().join("fuzz/corpus").join(name)
}

#[test]
fn every_kept_input_runs() {
    let mut faults = Vec::new();
    for target in TARGETS {
        let inputs = corpus(&folder(target.name)).expect("every target has a corpus");
        assert!(!inputs.is_empty(), "{} has inputs", target.name);
        let limits = target.limits;
        let mut worker = limits.map(|limits| Worker::new(Path::new(FUZZ), target.name, limits));
        for (path, input) in inputs {
            assert!(input.len() <= target.max_len, "{} is long", path.display());
            match &mut worker {
                None => drop((target.run)(&input)),
                Some(worker) => {
                    if let Outcome::Fault(why) = worker.run(&input).expect("children start") {
                        faults.push(format!("{}: {why}", path.display()));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn whatever_ends_a_child_is_found_and_the_next_input_runs() {
    let faulty = target("faulty").expect("a target for this test");
    let limits = faulty.limits.expect("it has limits");
    let mut worker = Worker::new(Path::new(FUZZ), faulty.name, limits);
    let mut run = |input: &[u8]| worker.run(input).expect("children start");
    let good = run(b"good");
    assert_eq!(good, Outcome::Done((faulty.run)(b"good")));
    for (input, says) in [
        (b"panic".as_slice(), "as asked"),
        (b"abort", "the process ended"),
        (b"grow", "memory allocation"),
        (b"deep", "overflow"),
        (b"hang", "more than 1 s of work"),
    ] {
        match run(input) {
            Outcome::Fault(why) => assert!(why.contains(says), "{why}"),
            Outcome::Done(_) => unreachable!("{says}: it went on"),
        }
        assert_eq!(run(b"good"), good);
    }
}

#[test]
fn libfuzzer_has_every_target() {
    let folder = p4test::root().join("fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("fuzz/Cargo.toml");
    for target in TARGETS {
        let file = format!("fuzz_targets/{}.rs", target.name);
        assert!(folder.join(&file).is_file(), "{file}");
        assert!(manifest.contains(&file), "{file} is in fuzz/Cargo.toml");
    }
}

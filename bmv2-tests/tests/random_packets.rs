//! Random packets through every program at hand: ours, those the repository generates, and p4c's
//! where `P4C_TESTDATA` names its `testdata`. Nothing panics or hangs, and a run repeats exactly.

#![allow(clippy::print_stdout, reason = "says how many programs there were")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bmv2_tests::{build, compile};
use p4exec::{Executor, Outputs};
use p4front::{Builtins, Options};
use p4ir::ValidProgram;
use units::{Nanos, PortId};

/// A fixed sequence that looks random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Up to 128 bytes, often small values, which take more branches than large ones.
    fn packet(&mut self) -> Vec<u8> {
        let length = self.next() % 129;
        let small = self.next().is_multiple_of(2);
        (0..length)
            .map(|_| {
                let byte = self.next() as u8;
                if small { byte % 4 } else { byte }
            })
            .collect()
    }
}

fn programs(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut programs: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.to_string_lossy().ends_with(suffix))
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.contains("v1model.p4")
        })
        .collect();
    programs.sort();
    programs
}

/// What became of `count` random packets.
fn outcome(executor: &mut dyn Executor, count: u64) -> Vec<String> {
    let mut random = Random(1);
    let mut seen = Vec::new();
    for n in 0..count {
        let packet = random.packet();
        let mut out = Outputs::default();
        executor.process(
            Nanos::new(n * 1000),
            &packet,
            PortId::new((n % 16) as u16),
            &mut out,
        );
        seen.push(format!("{out:?}"));
    }
    seen
}

/// Runs a program twice from its first state; both runs must agree.
fn soak(program: &Arc<ValidProgram>, path: &Path, count: u64) {
    let (Ok(first), Ok(second)) = (build(program), build(program)) else {
        return;
    };
    for ((name, mut a), (_, mut b)) in first.into_iter().zip(second) {
        let (x, y) = (outcome(a.as_mut(), count), outcome(b.as_mut(), count));
        assert_eq!(x, y, "{name} does not repeat itself on {}", path.display());
    }
}

#[test]
fn our_programs_survive_random_packets() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = programs(&here.join("cases"), ".p4");
    let generated = here.join("../p4src/generated");
    all.extend(programs(&generated, ".p4"));
    assert!(all.len() > 8, "programs are found");
    for path in all {
        let options = Options {
            include_paths: vec![here.join("../p4src")],
            ..Options::default()
        };
        match compile(&path, &options) {
            Ok(program) => soak(&program, &path, 300),
            Err(error) => assert_eq!(error.to_string(), "", "{}", path.display()),
        }
    }
}

#[test]
fn p4cs_programs_survive_random_packets() {
    let Some(testdata) = std::env::var_os("P4C_TESTDATA").map(PathBuf::from) else {
        println!("P4C_TESTDATA is not set: nothing tested");
        return;
    };
    let include = testdata
        .parent()
        .map(|p| p.join("p4include"))
        .unwrap_or_default();
    let samples = testdata.join("p4_16_samples");
    let options = Options {
        include_paths: vec![include.clone(), include.join("bmv2"), samples.clone()],
        builtins: Builtins::BeforePath,
        ..Options::default()
    };
    let all = programs(&samples, ".p4");
    let (mut compiled, mut built) = (0, 0);
    for path in &all {
        let Ok(program) = compile(path, &options) else {
            continue;
        };
        compiled += 1;
        match build(&program) {
            Ok(_) => built += 1,
            Err(error) => println!("{}: {error}", path.display()),
        }
        let start = Instant::now();
        soak(&program, path, 200);
        if start.elapsed().as_secs() >= 2 {
            println!("{}: {:?}", path.display(), start.elapsed());
        }
    }
    println!(
        "of {} v1model programs {compiled} compile and {built} run",
        all.len()
    );
}

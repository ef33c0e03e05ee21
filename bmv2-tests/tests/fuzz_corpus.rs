//! The kept inputs of every fuzz target, run once.

use std::path::{Path, PathBuf};

use bmv2_tests::fuzz::TARGETS;
use bmv2_tests::fuzz::drive::corpus;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/corpus")
        .join(name)
}

#[test]
fn every_kept_input_runs() {
    for target in TARGETS {
        let inputs = corpus(&folder(target.name)).expect("every target has a corpus");
        assert!(!inputs.is_empty(), "{} has inputs", target.name);
        for (path, input) in inputs {
            assert!(input.len() <= target.max_len, "{} is long", path.display());
            (target.run)(&input);
        }
    }
}

#[test]
fn libfuzzer_has_every_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("fuzz/Cargo.toml");
    for target in TARGETS {
        let file = format!("fuzz_targets/{}.rs", target.name);
        assert!(folder.join(&file).is_file(), "{file}");
        assert!(manifest.contains(&file), "{file} is in fuzz/Cargo.toml");
    }
}

//! The fuzzer against our own server: every generated program, and one with everything.
//!
//! A small share runs always. `FUZZ_UPDATES=400000 cargo test -p switchwright-switchd --release
//! --test p4rt fuzz` runs as many updates against each program.

use conformance::fuzz::{FuzzConfig, FuzzReport, fuzz};
use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;

use crate::support::{PROGRAM, Rig, info_of};

fn updates(few: usize) -> usize {
    let asked = std::env::var("FUZZ_UPDATES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(few)
}

async fn run(name: &str, program: &str, updates: usize) -> FuzzReport {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    let info = info_of(program);
    let config = v1::ForwardingPipelineConfig {
        p4info: Some(info.clone()),
        p4_device_config: program.as_bytes().to_vec(),
        cookie: None,
    };
    client
        .set(Set::VerifyAndCommit, Some(config))
        .await
        .unwrap();
    let config = FuzzConfig {
        updates,
        seed: name.len() as u64,
        ..FuzzConfig::default()
    };
    let report = fuzz(&client.connection, &info, &config).await.unwrap();
    assert!(
        report.disagreements.is_empty(),
        "{name}: {:#?}",
        report.disagreements
    );
    assert!(report.accepted * 5 > report.updates, "{name}: {report:?}");
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_with_everything() {
    let report = run("all.p4", PROGRAM, updates(6000)).await;
    let faults = conformance::fuzz::invalid::FAULTS.map(|f| format!("{f:?}"));
    let seen = faults
        .iter()
        .filter(|f| report.kinds.contains_key(f.as_str()))
        .count();
    assert!(
        seen >= 38,
        "{seen} of {} kinds of faults: {:?}",
        faults.len(),
        report.kinds
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_generated_program() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../p4src/generated");
    let mut programs: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "p4"))
        .collect();
    programs.sort();
    assert!(!programs.is_empty());
    for path in programs {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let report = run(&name, &with_includes(&text), updates(800)).await;
        let invalid = report
            .kinds
            .keys()
            .filter(|k| k.chars().next().is_some_and(char::is_uppercase));
        assert!(invalid.count() >= 16, "{name}: {:?}", report.kinds);
    }
}

/// The program with the files it shares with others put in: a pushed program is one text.
fn with_includes(text: &str) -> String {
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../p4src");
    let mut whole = String::new();
    for line in text.lines() {
        let file = line
            .trim()
            .strip_prefix("#include \"")
            .and_then(|rest| rest.strip_suffix('"'));
        match file {
            Some(file) => {
                let name = std::path::Path::new(file).file_name().unwrap();
                let text =
                    std::fs::read_to_string(std::path::Path::new(shared).join(name)).unwrap();
                whole.push_str(&with_includes(&text));
            }
            None => {
                whole.push_str(line);
                whole.push('\n');
            }
        }
    }
    whole
}

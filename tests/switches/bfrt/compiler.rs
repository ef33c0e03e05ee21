//! The schema that the open compiler for Tofino writes: what we derive is in it, and a push with it
//! works.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use controlplane::bfrt::schema::Schema;
use controlplane::desired::mark_in;
use serde_json::Value;

use super::network::{Network, builds, schema};

/// Longest wait for a schema.
const WAIT: Duration = Duration::from_secs(600);

/// The compiler, named as `crates/p4gen/tests/programs/tofino.rs` says; says that the test is
/// skipped if it is not there.
fn compiler() -> Option<OsString> {
    let name = std::env::var_os("P4C_BAREFOOT").unwrap_or_else(|| "p4c-barefoot".into());
    let starts = Command::new(&name).arg("--version").output().is_ok();
    if !starts {
        println!("skipped: p4c-barefoot is neither on PATH nor named by P4C_BAREFOOT");
    }
    starts.then_some(name)
}

/// The compiler's schema of a build for Tofino 1. It is written long before the program, whose
/// compilation is ended.
fn compiled(compiler: &OsString, build: &Path) -> String {
    let at = build.join("p4");
    let schema = at.join("bfrt.json");
    let mut command = Command::new(compiler);
    command.args(["--target", "tofino", "--arch", "tna"]);
    let includes = std::env::var_os("P4C_BAREFOOT_INCLUDE");
    for include in includes.iter().flat_map(std::env::split_paths) {
        command.arg("-I").arg(include);
    }
    let mut child = command
        .args(["--bf-rt-schema", "bfrt.json", "-o", "out", "tagger.p4"])
        .current_dir(&at)
        .stdout(Stdio::null())
        .stderr(fs::File::create(at.join("log")).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let text = loop {
        let text = fs::read_to_string(&schema).unwrap_or_default();
        if serde_json::from_str::<Value>(&text).is_ok() {
            break text;
        }
        let ended = child.try_wait().unwrap();
        let words = || fs::read_to_string(at.join("log")).unwrap_or_default();
        assert!(
            ended.is_none() && start.elapsed() < WAIT,
            "no schema:\n{}",
            words()
        );
        std::thread::sleep(Duration::from_millis(50));
    };
    let _ = child.kill();
    let _ = child.wait();
    // The build is as it was.
    for left in ["bfrt.json", "log"] {
        let _ = fs::remove_file(at.join(left));
    }
    let _ = fs::remove_dir_all(at.join("out"));
    text
}

/// Fields with how they are matched, or what they are, and their bits.
type Fields = BTreeMap<String, (String, Option<u32>)>;

fn described(
    table: &controlplane::bfrt::schema::Table,
) -> (Fields, BTreeMap<String, Fields>, Fields) {
    let key = table
        .key
        .iter()
        .map(|k| (k.name.clone(), (k.match_type.clone(), k.values.bits())))
        .collect();
    let field = |d: &controlplane::bfrt::schema::DataField| {
        (d.name.clone(), (d.values.kind.clone(), d.values.bits()))
    };
    let actions = table
        .action_specs
        .iter()
        .map(|a| (a.name.clone(), a.data.iter().map(field).collect()))
        .collect();
    let data = table
        .data
        .iter()
        .flat_map(|d| d.singleton.iter().chain(&d.oneof));
    (key, actions, data.map(field).collect())
}

/// The names of the tables that one is filled after.
fn uses(table: &controlplane::bfrt::schema::Table, schema: &Schema) -> Vec<String> {
    let name = |id: &u32| {
        schema
            .tables
            .iter()
            .find(|t| t.id == *id)
            .unwrap()
            .name
            .clone()
    };
    table.depends_on.iter().map(name).collect()
}

/// What we derive from a program by our own front end is what the compiler writes: tables, keys,
/// actions, data.
#[test]
fn the_schema_that_we_derive_is_the_compilers() {
    let Some(compiler) = compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    builds(folder.path());
    for build in ["one", "vlan"] {
        let build = folder.path().join(build);
        let info = Command::new(env!("CARGO_BIN_EXE_switchwright"))
            .args(["p4", "info", "p4/tagger.p4"])
            .current_dir(&build)
            .output()
            .unwrap();
        let info = p4runtime::from_text(&String::from_utf8(info.stdout).unwrap()).unwrap();
        let info = p4runtime::P4InfoIndex::new(info).unwrap();
        let our_schema = Schema::of_program(&info);
        let their_schema = Schema::parse(compiled(&compiler, &build).as_bytes()).unwrap();
        let filled = their_schema.tables.iter().filter(|t| {
            t.table_type.starts_with("MatchAction")
                || t.table_type == "Action"
                || t.table_type == "Selector"
        });
        let names = |tables: &[&controlplane::bfrt::schema::Table]| {
            let mut names: Vec<String> = tables.iter().map(|t| t.name.clone()).collect();
            names.sort();
            names
        };
        let filled: Vec<_> = filled.collect();
        assert_eq!(
            names(&filled),
            names(&our_schema.tables.iter().collect::<Vec<_>>())
        );
        for theirs in filled {
            let ours = our_schema
                .tables
                .iter()
                .find(|t| t.name == theirs.name)
                .unwrap();
            let name = &theirs.name;
            let (their_key, their_actions, mut their_data) = described(theirs);
            // Where a group's members begin is for debugging.
            their_data.remove("$ADT_OFFSET");
            assert_eq!(
                described(ours),
                (their_key, their_actions, their_data),
                "{name}"
            );
            assert_eq!(ours.table_type, theirs.table_type, "{name}");
            assert_eq!(
                uses(ours, &our_schema),
                uses(theirs, &their_schema),
                "{name}"
            );
            // The selector's id is not in P4Info, which has the profile's for both.
            if theirs.table_type != "Selector" {
                assert_eq!(ours.id, theirs.id, "{name}");
            }
            assert_eq!(ours.is_const(), theirs.is_const(), "{name}");
            assert_eq!(
                ours.has_const_default_action, theirs.has_const_default_action,
                "{name}"
            );
            if theirs.table_type != "Selector" {
                assert_eq!(ours.size, theirs.size, "{name}");
            }
        }
        let text = fs::read_to_string(build.join("p4/tagger.p4")).unwrap();
        assert_eq!(
            their_schema.mark(),
            mark_in(&text),
            "the compiler passes on what the program is"
        );
    }
}

/// A push to devices that have the compiler's own schema, ids and all.
#[test]
fn a_push_to_devices_with_the_compilers_schema() {
    let Some(compiler) = compiler() else { return };
    let network = Network::start_with(|build| compiled(&compiler, build));
    assert_eq!(network.json(0, &["push", "one"])["outcome"], "pushed");
    for (name, device) in network.devices() {
        assert_eq!(device.counts(), network.wanted("one", name), "{name}");
    }
    assert_eq!(network.json(0, &["push", "one"])["outcome"], "unchanged");
    assert_eq!(network.json(0, &["push", "two"])["outcome"], "pushed");
    assert_eq!(
        network.json(0, &["push", "two", "--rollback"])["outcome"],
        "rolled-back"
    );
    assert_eq!(network.json(0, &["drift", "one"])["drifted"], false);
    // And its own schema is not that of the other program.
    network
        .device("leaf1")
        .run("tagger", &schema(&network.path().join("vlan")));
    network.refused(3, &["push", "one"], &["another version"]);
}

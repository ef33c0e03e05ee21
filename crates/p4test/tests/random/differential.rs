//! Random packets and random updates through every program at hand: ours, those the repository
//! generates, and p4c's where `P4C_TESTDATA` names its `testdata`. Nothing panics or hangs, a run
//! repeats exactly, and all executors do the same.
//!
//! `cargo xtask differ` runs the same with millions of packets.

#![allow(clippy::print_stdout, reason = "says how many programs there were")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use p4exec::ExecutorKind;
use p4front::{Builtins, Options};
use p4ir::Architecture;
use p4ir::ValidProgram;
use p4test::beside::{Beside, NoJson};
use p4test::differ::{Tally, soak, soak_json};
use p4test::{compile, compile_text};

fn programs(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut programs: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "p4"))
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            ["V1Switch", "<tna.p4>", "<t2na.p4>"]
                .iter()
                .any(|word| text.contains(word))
        })
        .collect();
    programs.sort();
    programs
}

/// The interpreter against every executor, itself included.
fn agree(program: &Arc<ValidProgram>, path: &Path, packets: u64) -> Option<Tally> {
    let mut tally = None;
    for kind in ExecutorKind::ALL {
        match soak(program, (ExecutorKind::Interp, kind), packets, 100, 1) {
            Ok(Ok(done)) => tally = Some(done),
            Ok(Err(found)) => {
                let found = found.to_string();
                assert_eq!(found, "", "{}", path.display());
            }
            Err(error) => println!("{}: {kind}: {error}", path.display()),
        }
    }
    tally
}

/// What came of the JSON of many programs.
#[derive(Debug, Default)]
struct ByJson {
    programs: u64,
    /// Programs that the format cannot say, by the kind of refusal.
    refusals: BTreeMap<String, u64>,
    /// Programs whose JSON does something else.
    differ: Vec<String>,
}

impl ByJson {
    /// The JSON that we write of a program does what the program does, or is refused.
    fn agrees(&mut self, program: &Arc<ValidProgram>, path: &Path, packets: u64) {
        if program.architecture != Some(Architecture::V1Model) {
            return;
        }
        let json = match Beside::for_any_packets(program) {
            Ok(json) => json,
            Err(refused @ NoJson::Refused(_)) => {
                let kind = refused.kind().unwrap_or_default();
                *self.refusals.entry(kind).or_default() += 1;
                return;
            }
            Err(unread) => {
                let unread = unread.to_string();
                return assert_eq!(unread, "", "{}", path.display());
            }
        };
        match soak_json(program, json, packets, 100, 1) {
            Ok(Ok(_)) => self.programs += 1,
            Ok(Err(found)) => {
                println!("{}: {found}", path.display());
                self.differ.push(path.display().to_string());
            }
            Err(error) => println!("{}: by way of JSON: {error}", path.display()),
        }
    }
}

#[test]
fn executors_agree_on_our_programs() {
    let root = p4test::root();
    let mut all = programs(&root.join("bmv2-tests/cases"));
    all.extend(programs(&root.join("bmv2-tests/cases/tna")));
    all.extend(programs(&root.join("p4src/generated")));
    assert!(all.len() > 8, "programs are found");
    let options = Options {
        include_paths: vec![root.join("p4src")],
        ..Options::on_disk()
    };
    let count = all.len();
    let mut silent = Vec::new();
    let mut by_json = ByJson::default();
    for path in all {
        match compile(&path, &options) {
            Ok(program) => {
                let tally = agree(&program, &path, 300);
                by_json.agrees(&program, &path, 300);
                let tally = tally.expect("our programs run");
                assert!(
                    tally.updates > 0 || program.tables.is_empty(),
                    "{}: {tally:?}",
                    path.display()
                );
                if tally.sent == 0 {
                    silent.push(path);
                }
            }
            Err(error) => assert_eq!(error.to_string(), "", "{}", path.display()),
        }
    }
    // A failover program sends only what seven tables agree on, which random entries seldom do; its
    // case files and the simulator's `embedded` tests send through it. Most programs must send
    // something here.
    println!("{by_json:?}");
    assert!(by_json.programs > 8, "{by_json:?}");
    assert!(by_json.differ.is_empty(), "{by_json:?}");
    println!(
        "{} of {count} programs sent nothing: {silent:?}",
        silent.len()
    );
    assert!(silent.len() * 3 < count, "{silent:?}");
}

/// A `select` of so many cases that compiled code searches them: values, masks and ranges of three
/// keys, one signed, one wider than a machine word; the packet tells which kind was taken.
fn long_select(cases: usize) -> String {
    let mut lines = String::new();
    for i in 0..cases {
        let low = (i % 100) as i64 - 100;
        let sets = match i % 4 {
            0 => format!("({i}, _, _)"),
            1 => format!("({i} &&& 0x1ff, {low} .. {}, _)", low + 50),
            2 => format!("(_, _, {i} &&& 0xffffffffffffffff0fff)"),
            _ => format!("({i} .. {}, _, {})", i + 3, (i as u128) << 60),
        };
        lines += &format!("{sets}: kind{};\n", i % 4);
    }
    let kinds: String = (0..4)
        .map(|kind| format!("state kind{kind} {{ m.kind = {kind}; transition accept; }}\n"))
        .collect();
    format!(
        "#include <core.p4>
#include <v1model.p4>
header key_h {{ bit<32> a; int<8> b; bit<80> c; bit<8> kind; }}
struct headers {{ key_h key; }}
struct meta {{ bit<8> kind; }}
parser p(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{
        packet.extract(h.key);
        m.kind = 9;
        transition select(h.key.a, h.key.b, h.key.c) {{ {lines} }}
    }}
    {kinds}
}}
control v(inout headers h, inout meta m) {{ apply {{ }} }}
control i(inout headers h, inout meta m, inout standard_metadata_t s) {{
    apply {{ s.egress_spec = 1; h.key.kind = m.kind; }}
}}
control e(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control c(inout headers h, inout meta m) {{ apply {{ }} }}
control d(packet_out packet, in headers h) {{ apply {{ packet.emit(h); }} }}
V1Switch(p(), v(), i(), e(), c(), d()) main;
"
    )
}

#[test]
fn executors_agree_on_long_selects() {
    for cases in [40, 400] {
        let program = compile_text("select.p4", &long_select(cases), &Options::default());
        let program = program.expect("it compiles");
        let tally = agree(&program, Path::new("select.p4"), 3_000).expect("it runs");
        let mut by_json = ByJson::default();
        by_json.agrees(&program, Path::new("select.p4"), 1_000);
        assert_eq!(by_json.programs, 1, "{by_json:?}");
        assert!(tally.sent > 1_000, "{tally:?}");
    }
}

#[test]
fn executors_agree_on_p4cs_programs() {
    let Some(testdata) = std::env::var_os("P4C_TESTDATA").map(PathBuf::from) else {
        println!("skipped: P4C_TESTDATA does not name p4c's testdata");
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
        ..Options::on_disk()
    };
    let all = programs(&samples);
    let (mut compiled, mut run, mut total) = (0, 0, Tally::default());
    let mut by_json = ByJson::default();
    for path in &all {
        let Ok(program) = compile(path, &options) else {
            continue;
        };
        compiled += 1;
        let start = Instant::now();
        if let Some(tally) = agree(&program, path, 100) {
            run += 1;
            total += tally;
            by_json.agrees(&program, path, 100);
        }
        if start.elapsed().as_secs() >= 2 {
            println!("{}: {:?}", path.display(), start.elapsed());
        }
    }
    println!(
        "of {} programs {compiled} compile and {run} run: {total:?}",
        all.len()
    );
    println!("{by_json:?}");
    assert!(by_json.differ.is_empty(), "{by_json:?}");
}

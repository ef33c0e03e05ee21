//! Bad inputs, command by command: the exit status and the words that tell what is wrong. None
//! panics, none leaves a file behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// `STATUS | ARGUMENTS | WORDS | WORDS ...`; lines that begin with `#` are headings.
const TABLE: &str = include_str!("table.txt");

fn run(at: &Path, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(arguments.split_whitespace())
        .current_dir(at)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What the rows speak of: good files, and broken ones made from them.
fn fixtures() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for line in [
        "topo clos --leaves 4 --spines 2 --hosts 2 -o clos.json",
        "topo ring 6 -o ring.json",
        "topo line 3 -o line.json",
        "plan clos.json -o tagger.json",
        "plan ring.json --scheme plinko -o plinko.json",
        "plan clos.json --scheme plinko -o spare.json",
        "build tagger.json -o build",
        "build plinko.json -o failover",
        "build tagger.json --target tna -o tofino",
    ] {
        let output = run(at, line);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {words}");
    }
    let good = |name: &str| fs::read_to_string(at.join(name)).unwrap();
    let write = |name: &str, text: &str| fs::write(at.join(name), text).unwrap();
    write("empty", "");
    write("garbage", "\u{0}\u{1}garbage");
    write("array.json", "[1, 2]");
    write("dscps.json", r#"{"DSCP_TO_TC_MAP": {"M": {"64": "1"}}}"#);
    write(
        "voice.json",
        r#"{"DSCP_TO_TC_MAP": {"M": {"46": "3"}}, "TC_TO_QUEUE_MAP": {"M": {"0": "0", "3": "3"}}}"#,
    );
    write("cut.json", &good("clos.json")[..300]);
    write("other.json", "{\"name\": \"something else\"}");
    let twice = good("clos.json").replace("\"leaf2\"", "\"leaf1\"");
    write("twice.json", &twice);
    let dangling = good("clos.json").replace("\"spine1:1\"", "\"nowhere:1\"");
    write("dangling.json", &dangling);
    write("cut-plan.json", &good("tagger.json")[..500]);
    write("words.csv", "one,two\nc,d\n");
    write("links.csv", "a,b,rate_gbps\nx,y,-1\n");
    write("columns.csv", "a,b,colour\nx,y,red\n");
    write("racks.csv", "node,x,y\nleaf1,0,0\n");
    write("graph.dot", "graph { a -- b }\n");
    write("syntax.p4", "#include <core.p4>\nheader h { bit<8> x }\n");
    write("unknown.p4", "#include <core.p4>\nconst bit<8> x = y;\n");
    write("devices.json", "{\"leaf1\": \"127.0.0.1:1\"}");
    write("scenario.yaml", "name: x\nduration: soon\nflows: []\n");
    write(
        "flows.yaml",
        "name: x\nduration: 1ms\nflows: [{ from: h1, to: nobody }]\n",
    );
    write("odd.yaml", "name: x\nduration: 1ms\nflowz: []\n");
    folder
}

/// Names of all that stands in a folder.
fn names(at: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(at).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().into_owned()
    };
    entries.map(name).collect()
}

#[test]
fn every_bad_input_has_its_status_and_its_words() {
    let folder = fixtures();
    let at = folder.path();
    let before = names(at);
    let rows = TABLE
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows {
        count += 1;
        let mut cells = row.split(" | ").map(str::trim);
        let status: i32 = cells.next().unwrap().parse().unwrap();
        let arguments = cells.next().unwrap();
        let output = run(at, arguments);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let missing: Vec<&str> = cells.filter(|cell| !words.contains(cell)).collect();
        if output.status.code() != Some(status) || !missing.is_empty() || words.contains("panicked")
        {
            let code = output.status.code();
            wrong.push(format!(
                "{row}\n    status {code:?}, without {missing:?}: {words}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count >= 200, "{count} rows");
    assert_eq!(names(at), before, "nothing is left behind");
}

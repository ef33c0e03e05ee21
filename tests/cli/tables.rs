//! Tables: one row a line and no rules in a pipe; as wide as the terminal on a terminal. Ports,
//! addresses, rates and sizes in them are written for people.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Columns of the terminal.
const COLUMNS: usize = 100;

fn command(at: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command
        .args(line.split(' '))
        .current_dir(at)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    command
}

/// What a command prints into a pipe.
fn piped(at: &Path, line: &str) -> String {
    let output = command(at, line).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {words}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command prints on a terminal of so many columns.
fn on_terminal(at: &Path, line: &str, columns: usize) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize {
        ws_row: 50,
        ws_col: u16::try_from(columns).unwrap(),
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let path = name.to_str().unwrap().to_owned();
    let slave = OpenOptions::new().write(true).open(path).unwrap();
    let mut command = command(at, line);
    command.stdout(slave).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // The end in this process would keep the terminal open.
    drop(command);
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        // Linux reports the end of a terminal as an error (EIO), after all bytes.
        let _ = File::from(master).read_to_end(&mut text);
        String::from_utf8(text).unwrap()
    });
    assert!(child.wait().unwrap().success(), "{line}");
    reader.join().unwrap()
}

/// A build of a network whose ports have names, and what is made of it.
fn network() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    piped(
        at,
        "topo clos --leaves 2 --spines 2 --hosts 2 -o plain.json",
    );
    let text = fs::read_to_string(at.join("plain.json")).unwrap();
    let mut topology: Value = serde_json::from_str(&text).unwrap();
    for switch in topology["switches"].as_array_mut().unwrap() {
        let name = switch["name"].as_str().unwrap().to_owned();
        let ports = 1..=switch["ports"].as_u64().unwrap();
        let names = ports.map(|port| (port.to_string(), json!(format!("Ethernet1/{port}/1"))));
        switch["interfaces"] = Value::Object(names.collect());
        assert!(!name.is_empty());
    }
    fs::write(at.join("clos.json"), topology.to_string()).unwrap();
    for line in [
        "plan clos.json -o plan.json",
        "build plan.json -o build",
        "topo ring 4 -o ring.json",
        "plan ring.json --scheme plinko -o failover.json",
        "build failover.json -o ring",
    ] {
        piped(at, line);
    }
    folder
}

/// Commands that print tables.
const TABLES: &[&str] = &[
    "targets",
    "targets v1model sonic-generic-8tc tna2",
    "entries build",
    "entries ring",
    "buffers build",
    "plan clos.json",
    "check plan.json",
    "measure failover.json",
    "topo show clos.json",
    "topo cable clos.json",
    "simulate --scenario bounce",
    "simulate --scenario bounce --seeds 2",
    "simulate --list",
    "p4 explain --list build/p4/tagger.p4",
];

#[test]
fn no_table_in_a_pipe_has_rules() {
    let folder = network();
    for line in TABLES {
        let text = piped(folder.path(), line);
        let rule = |c: &char| ('\u{2500}'..='\u{257f}').contains(c);
        assert_eq!(text.chars().find(rule), None, "{line}: {text}");
    }
    // Each row is one line, so that `grep` finds it whole.
    let entries = piped(folder.path(), "entries build");
    let csv = piped(folder.path(), "entries build --format csv");
    assert_eq!(entries.lines().count(), csv.lines().count(), "{entries}");
}

#[test]
fn tables_fit_the_terminal() {
    let folder = network();
    for line in TABLES {
        let text = on_terminal(folder.path(), line, COLUMNS);
        assert!(!text.is_empty(), "{line}");
        let long = text.lines().find(|line| line.chars().count() > COLUMNS);
        assert_eq!(long, None, "{line}");
    }
    // What goes to a file is no wider or narrower for the terminal.
    on_terminal(folder.path(), "entries build -o table.txt", 40);
    let file = fs::read_to_string(folder.path().join("table.txt")).unwrap();
    assert_eq!(file, piped(folder.path(), "entries build"));
}

#[test]
fn values_are_written_for_people() {
    let folder = network();
    let at = folder.path();
    let buffers = piped(at, "buffers build");
    for words in ["Ethernet1/1/1 (1)", " Gb/s", " KiB"] {
        assert!(buffers.contains(words), "{words}: {buffers}");
    }
    let entries = piped(at, "entries build");
    for words in ["port=Ethernet1/1/1 (1)", "dst_addr=10.0.", "in_port=ports "] {
        assert!(entries.contains(words), "{words}: {entries}");
    }
    assert!(!entries.contains("&&&"), "{entries}");
    let status = piped(at, "entries ring");
    assert!(status.contains("port_status=up "), "{status}");
    let trace = piped(at, "trace build --from h1 --to h4");
    for words in [
        "in Ethernet1/1/1 (1) -> out Ethernet1/",
        "dst_addr=10.0.",
        "port = Ethernet1/",
        "in_port=Ethernet1/",
    ] {
        assert!(trace.contains(words), "{words}: {trace}");
    }
    assert!(!trace.contains("0x"), "{trace}");
}

#[test]
fn a_short_trace_has_a_line_for_each_switch() {
    let folder = network();
    let at = folder.path();
    let trace = "trace build --from h1 --to h4";
    let short = piped(at, &format!("{trace} --short"));
    assert_eq!(short.lines().count(), 5, "{short}");
    assert_eq!(piped(at, &format!("{trace} -q")), short);
    let whole = piped(at, trace);
    assert!(
        short
            .lines()
            .all(|line| whole.lines().any(|one| one == line))
    );
}

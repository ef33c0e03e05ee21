//! Clients that others wrote, unmodified, against the process: PTF with p4runtime-shell plays
//! `tests/cli/ptf/suite` on UDP ports, and on veth pairs where the machine lets us.
//!
//! They need a Python with PyPI's `ptf` and `p4runtime-shell`: `P4RUNTIME_CLIENTS` names it (CI
//! makes one), else `python3`. `tests/cli/conformance` checks the server against the specification,
//! message by message, with PyPI's newest protos: `P4RUNTIME_DESCRIPTORS` is a folder that has them
//! (CI makes it), for p4runtime-shell wants older ones.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use linuxnet::veth::End;
use linuxnet::{Namespace, Veth};
use serde_json::Value;

const COMMAND: &str = env!("CARGO_BIN_EXE_switchwright");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PROTOS: &str = "grpcio and p4runtime 1.6 (P4RUNTIME_DESCRIPTORS)";
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/switch/router.p4");

/// A Python that has both packages; `None`, said aloud, if there is none.
fn python() -> Option<PathBuf> {
    python_with(
        "ptf and p4runtime-shell",
        "import ptf.testutils, p4runtime_sh.shell",
    )
}

/// The folder of protos that come before those of the Python's own packages, if there is one.
fn descriptors() -> Option<(&'static str, OsString)> {
    Some(("PYTHONPATH", std::env::var_os("P4RUNTIME_DESCRIPTORS")?))
}

/// A Python that can do something; `None`, said aloud, if there is none.
pub(super) fn python_with(what: &str, line: &str) -> Option<PathBuf> {
    let named = std::env::var_os("P4RUNTIME_CLIENTS").map(PathBuf::from);
    let python = named.clone().unwrap_or_else(|| "python3".into());
    let tried = Command::new(&python)
        .args(["-c", line])
        .envs(descriptors().filter(|_| what == PROTOS))
        .output();
    let has = tried.is_ok_and(|o| o.status.success());
    assert!(
        has || named.is_none(),
        "P4RUNTIME_CLIENTS is {} and has not {what}",
        python.display()
    );
    if !has {
        println!(
            "skipped: {} has not {what} (P4RUNTIME_CLIENTS names one that has)",
            python.display()
        );
    }
    has.then_some(python)
}

/// A running switch that waits for a program.
struct Switch {
    child: Child,
    _output: BufReader<ChildStdout>,
    address: String,
}

impl Switch {
    fn start(folder: &Path, ports: &[String]) -> Self {
        Self::start_as(folder, ports, 0)
    }

    fn start_as(folder: &Path, ports: &[String], device: u64) -> Self {
        let mut command = Command::new(COMMAND);
        command
            .args(["--json", "switch", "--no-p4", "--cpu-port", "255"])
            .args(["--device-id", &device.to_string()])
            .args(["--grpc-server-addr", "127.0.0.1:0", "--admin"])
            .arg(folder.join("admin.sock"));
        for port in ports {
            command.args(["-i", port]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            _output: output,
            address: ready["address"].as_str().unwrap().to_owned(),
        }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The P4Info of a program, by our own front end, as a file.
fn p4info(program: &str, folder: &Path) -> PathBuf {
    let info = folder.join("program.p4info.txtpb");
    let made = Command::new(COMMAND)
        .args(["p4", "info", program])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
    std::fs::write(&info, &made.stdout).unwrap();
    info
}

/// Plays the suite; `platform` is how PTF reaches the ports.
fn play(python: &Path, switch: &Switch, folder: &Path, platform: &[String]) {
    let info = p4info(PROGRAM, folder);
    let parameters = format!(
        "grpc='{}';p4info='{}';config='{PROGRAM}'",
        switch.address,
        info.display()
    );
    // PTF is a script beside its Python.
    let output = Command::new(python)
        .arg(python.with_file_name("ptf"))
        .args(["--test-dir", &format!("{ROOT}/tests/cli/ptf/suite")])
        .args(["--allow-user", "--log-file"])
        .arg(folder.join("ptf.log"))
        .args(["--default-negative-timeout", "0.3", "-t", &parameters])
        .args(platform)
        .current_dir(folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].map(String::from_utf8_lossy);
    let said = said.concat();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("Ran 6 tests") && said.contains("OK"),
        "{said}"
    );
}

/// Ports that are Unix datagram sockets, as the switch's arguments say them.
fn datagram_ports(folder: &Path, count: u16) -> Vec<String> {
    let at = folder.display();
    let ports = 1..=count;
    ports
        .map(|number| format!("{number}@unix:{at}/port{number}->{at}/end{number}"))
        .collect()
}

#[test]
fn the_specification_by_pypis_protos() {
    let line = "import grpc; from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc; p4runtime_pb2.BackupReplica";
    let Some(python) = python_with(PROTOS, line) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let checks = Path::new(ROOT).join("tests/cli/conformance");
    let program = checks.join("every.p4");
    let info = p4info(program.to_str().unwrap(), folder.path());
    let switch = Switch::start_as(folder.path(), &datagram_ports(folder.path(), 4), 1);
    let output = Command::new(&python)
        .arg(checks.join("run.py"))
        .args([&switch.address])
        .args([&info, &program, &folder.path().to_owned()])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(descriptors())
        .output()
        .unwrap();
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].map(String::from_utf8_lossy);
    let said = said.concat();
    assert!(output.status.success(), "{said}");
    let count = said
        .lines()
        .find_map(|line| line.split_once(" checks, 0 failed"));
    let count: usize = count.and_then(|(count, _)| count.parse().ok()).unwrap();
    assert!(count >= 400, "only {count} checks ran: {said}");
    println!("{count} checks");
}

#[test]
fn ptf_over_datagrams() {
    let Some(python) = python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    let switch = Switch::start(folder.path(), &datagram_ports(folder.path(), 3));
    let ends = (1..=3).map(|number| format!("{number}={at}/end{number}:{at}/port{number}"));
    let platform = [
        "--platform-dir".to_owned(),
        format!("{ROOT}/tests/cli/ptf/platform"),
        "--platform".to_owned(),
        "datagram".to_owned(),
        "--platform-args".to_owned(),
        ends.collect::<Vec<_>>().join(";"),
    ];
    play(&python, &switch, folder.path(), &platform);
}

#[test]
fn ptf_over_veth_pairs() {
    let Some(python) = python() else {
        return;
    };
    if let Err(why) = linuxnet::permitted() {
        println!("skipped: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = Namespace::new().unwrap();
    let _ = lab.set("ipv6/conf/default/disable_ipv6", "1");
    lab.run(|| {
        let _pairs: Vec<Veth> = (1..=3)
            .map(|number| {
                let (near, far) = (format!("p{number}"), format!("t{number}"));
                Veth::new(End::here(&near), End::here(&far)).unwrap()
            })
            .collect();
        let ports = (1..=3).map(|number| format!("{number}@p{number}"));
        let switch = Switch::start(folder.path(), &ports.collect::<Vec<_>>());
        let ends = (1..=3).flat_map(|number| ["-i".to_owned(), format!("{number}@t{number}")]);
        play(&python, &switch, folder.path(), &ends.collect::<Vec<_>>());
    })
    .unwrap();
}

//! Clients that others wrote, unmodified, against the process: PTF with p4runtime-shell plays `tests/ptf/suite` on UDP ports,
//! and on veth pairs where the machine lets us.
//!
//! They need a Python with PyPI's `ptf` and `p4runtime-shell`: `P4RUNTIME_CLIENTS` names it (CI makes one), else `python3`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use netlab::veth::End;
use netlab::{Namespace, Veth};
use serde_json::Value;

const COMMAND: &str = env!("CARGO_BIN_EXE_switchwright");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/switch/router.p4");

/// A Python that has both packages; `None`, said aloud, if there is none.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("P4RUNTIME_CLIENTS").map(PathBuf::from);
    let python = named.clone().unwrap_or_else(|| "python3".into());
    let tried = Command::new(&python)
        .args(["-c", "import ptf.testutils, p4runtime_sh.shell"])
        .output();
    let has = tried.is_ok_and(|o| o.status.success());
    assert!(
        has || named.is_none(),
        "P4RUNTIME_CLIENTS is {} and has not ptf and p4runtime-shell",
        python.display()
    );
    if !has {
        println!(
            "skipped: {} has not ptf and p4runtime-shell (P4RUNTIME_CLIENTS names one that has)",
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
        let mut command = Command::new(COMMAND);
        command
            .args(["--json", "switch", "--no-p4", "--cpu-port", "255"])
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

/// Plays the suite; `platform` is how PTF reaches the ports.
fn play(python: &Path, switch: &Switch, folder: &Path, platform: &[String]) {
    let info = folder.join("router.p4info.txtpb");
    let made = Command::new(COMMAND)
        .args(["p4", "info", PROGRAM])
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    std::fs::write(&info, &made.stdout).unwrap();
    let parameters = format!(
        "grpc='{}';p4info='{}';config='{PROGRAM}'",
        switch.address,
        info.display()
    );
    // PTF is a script beside its Python.
    let output = Command::new(python)
        .arg(python.with_file_name("ptf"))
        .args(["--test-dir", &format!("{ROOT}/tests/ptf/suite")])
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

#[test]
fn ptf_over_datagrams() {
    let Some(python) = python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    let ports = (1..=3).map(|number| format!("{number}@unix:{at}/port{number}->{at}/end{number}"));
    let switch = Switch::start(folder.path(), &ports.collect::<Vec<_>>());
    let ends = (1..=3).map(|number| format!("{number}={at}/end{number}:{at}/port{number}"));
    let platform = [
        "--platform-dir".to_owned(),
        format!("{ROOT}/tests/ptf/platform"),
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
    if let Err(why) = netlab::permitted() {
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

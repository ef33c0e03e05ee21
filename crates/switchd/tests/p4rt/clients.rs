//! p4runtime-shell from PyPI, unmodified. `P4RUNTIME_CLIENTS` names a Python that has it (CI makes
//! one); otherwise it is installed in an environment of the test's own the first time, and where
//! that cannot be done the test says so.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{PROGRAM, Rig, info_of};

/// A Python with p4runtime-shell; `None`, said aloud, if there is none to be had.
fn python() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("P4RUNTIME_CLIENTS") {
        return Some(named.into());
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("p4runtime-clients");
    let python = folder.join("bin/python");
    let works = || {
        let tried = Command::new(&python)
            .args(["-c", "import p4runtime_sh.shell"])
            .output();
        tried.is_ok_and(|o| o.status.success())
    };
    if works() {
        return Some(python);
    }
    let made = Command::new("python3")
        .args(["-m", "venv"])
        .arg(&folder)
        .output();
    let pip = folder.join("bin/pip");
    let installed = Command::new(pip)
        .args(["install", "-q", "p4runtime-shell", "ptf"])
        .output();
    if made.is_ok_and(|o| o.status.success())
        && installed.is_ok_and(|o| o.status.success())
        && works()
    {
        return Some(python);
    }
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn p4runtime_shell_does_its_round() {
    let Some(python) = python() else {
        eprintln!(
            "skipped: p4runtime-shell is not installed and cannot be (no python3, pip or network)"
        );
        return;
    };
    let rig = Rig::start().await;
    let dir = tempfile::tempdir().unwrap();
    let (info, config) = (
        dir.path().join("p4info.txtpb"),
        dir.path().join("program.p4"),
    );
    std::fs::write(&info, p4runtime::to_text(&info_of(PROGRAM)).unwrap()).unwrap();
    std::fs::write(&config, PROGRAM).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/p4rt/clients.py");
    let address = rig.server.address().to_string();
    let run = tokio::task::spawn_blocking(move || {
        Command::new(python)
            .arg(script)
            .arg(address)
            .arg(info)
            .arg(config)
            .output()
            .unwrap()
    });
    let output = run.await.unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.contains("well"),
        "{out}\n{err}"
    );
}

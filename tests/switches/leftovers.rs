//! Whatever ends a drill, its switches, its namespace and its folder go. Run where network
//! namespaces may be made.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use emulator::drill::{SwitchKind, possible};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// How long a busy machine may take; nothing is measured by it.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Between two looks at what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(10);

fn switchwright(at: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchwright"));
    command.args(line.split(' ')).current_dir(at);
    command
}

/// The parent and the name of a process, if there is one.
fn stat(process: i32) -> Option<(i32, String)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (before, after) = text.rsplit_once(')')?;
    let mut words = after.split_whitespace();
    let dead = matches!(words.next()?, "Z" | "X");
    let parent = words.next()?.parse().ok()?;
    let name = before.split_once('(')?.1.to_owned();
    (!dead).then_some((parent, name))
}

/// The switches that a drill has started.
fn switches_of(drill: &Child) -> Vec<i32> {
    let parent = i32::try_from(drill.id()).unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let ours = |process: &i32| {
        stat(*process).is_some_and(|(of, name)| of == parent && name.starts_with("switchwright"))
    };
    processes.filter(ours).collect()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whether a signal is ignored here, and so by children: shells do that to SIGINT of what runs in
/// the background.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status
        .lines()
        .find_map(|l| l.strip_prefix("SigIgn:"))
        .unwrap();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
    mask >> (signal as i32 - 1) & 1 == 1
}

#[test]
fn a_drill_that_is_killed_leaves_nothing() {
    if let Err(missing) = possible(SwitchKind::Ours) {
        println!("skipped: {missing}");
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for line in [
        "topo three-node -o t.json",
        "plan t.json --scheme plinko -o p.json -q",
        "build p.json -o b -q",
    ] {
        assert!(switchwright(at, line).status().unwrap().success(), "{line}");
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        if is_ignored(signal) {
            println!("skipped: {signal} is ignored here");
            continue;
        }
        let temporary = at.join(format!("{signal}"));
        fs::create_dir(&temporary).unwrap();
        let mut drill = switchwright(at, "drill b --seconds 600")
            .env("TMPDIR", &temporary)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut switches = Vec::new();
        until("three switches start", || {
            switches = switches_of(&drill);
            assert!(drill.try_wait().unwrap().is_none(), "the drill goes on");
            switches.len() == 3
        });
        assert_ne!(fs::read_dir(&temporary).unwrap().count(), 0);
        kill(Pid::from_raw(i32::try_from(drill.id()).unwrap()), signal).unwrap();
        until(&format!("{signal}: the drill ends"), || {
            drill.try_wait().unwrap().is_some()
        });
        for switch in switches {
            until(&format!("{signal}: switch {switch} lives on"), || {
                stat(switch).is_none()
            });
        }
        until(&format!("{signal}: the folder stays"), || {
            fs::read_dir(&temporary).unwrap().count() == 0
        });
    }
}

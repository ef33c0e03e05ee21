//! A temporary folder goes with its process, whatever ends that. The test is its own victim: it
//! runs itself again.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use files::Scratch;
use rustix::process::{Pid, Signal, kill_process};

/// Set in the process that is to end.
const END: &str = "SCRATCH_END";

/// Not a test of its own: what the victim does.
#[test]
fn victim() {
    let Ok(end) = std::env::var(END) else {
        return;
    };
    let scratch = Scratch::new().unwrap();
    fs::create_dir(scratch.path().join("deep")).unwrap();
    fs::write(scratch.path().join("deep/file"), "x").unwrap();
    println!("\nfolder={}", scratch.path().display());
    match end.as_str() {
        "panic" => panic!("as asked"),
        "abort" => std::process::abort(),
        "exit" => std::process::exit(0),
        "drop" => drop(scratch),
        _ => loop {
            std::thread::park();
        },
    }
}

/// Starts a victim and reads where its folder is.
fn start(end: &str) -> (Child, PathBuf) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--nocapture"])
        .env(END, end)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let folder = lines.find_map(|line| line.strip_prefix("folder=").map(PathBuf::from));
    (child, folder.unwrap())
}

fn goes(folder: &PathBuf, why: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while folder.exists() {
        assert!(Instant::now() < deadline, "{why}: {folder:?} stays");
        std::thread::yield_now();
    }
}

#[test]
fn it_goes_however_the_process_ends() {
    for end in ["drop", "panic", "abort", "exit"] {
        let (mut child, folder) = start(end);
        child.wait().unwrap();
        goes(&folder, end);
    }
}

/// Whether this process was started with a signal ignored: SIGHUP under `nohup`, SIGINT behind `&`
/// in a script.
fn is_ignored(signal: Signal) -> bool {
    let bit = 1_u64 << (signal.as_raw() - 1);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & bit != 0))
}

#[test]
fn it_goes_when_the_process_is_killed() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        // Victims would live on.
        if is_ignored(signal) {
            continue;
        }
        let (mut child, folder) = start("wait");
        assert!(folder.exists());
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        goes(&folder, &format!("{signal:?}"));
    }
}

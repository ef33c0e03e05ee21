//! Commands in bounded time. What they say goes to files, so that a process that outlives its
//! command keeps nobody waiting for the end of a pipe.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Between two looks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a command, started by a function, with its input. One that takes longer than this is killed
/// with those of its group, and what it had said by then is what the test fails with.
pub(crate) fn output(
    command: &mut Command,
    input: &str,
    longest: Duration,
    start: impl FnOnce(&mut Command) -> io::Result<Child>,
) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let said = |name: &str| std::fs::read(path(name)).unwrap();
    std::fs::write(path("in"), input).unwrap();
    command
        .stdin(File::open(path("in")).unwrap())
        .stdout(File::create(path("out")).unwrap())
        .stderr(File::create(path("err")).unwrap())
        .process_group(0);
    let mut child = start(command).unwrap();
    let deadline = Instant::now() + longest;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            let group = i32::try_from(child.id()).unwrap();
            // It may end just now.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            let _ = child.wait();
            let text = |name: &str| String::from_utf8_lossy(&said(name)).into_owned();
            panic!(
                "killed after {longest:?}: {command:?}\n{}{}",
                text("out"),
                text("err")
            );
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    Output {
        status,
        stdout: said("out"),
        stderr: said("err"),
    }
}

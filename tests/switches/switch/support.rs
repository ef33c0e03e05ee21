//! A running switch, the command line, and ends of its wires.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

pub(crate) const COMMAND: &str = env!("CARGO_BIN_EXE_switchwright");
pub(crate) const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/switch/router.p4");
pub(crate) const WAIT: Duration = Duration::from_secs(20);

/// A running switch; killed if the test ends early.
pub(crate) struct Switch {
    pub(crate) child: Child,
    _output: BufReader<ChildStdout>,
    pub(crate) address: String,
    pub(crate) admin: String,
    pub(crate) ready: Value,
}

/// Arguments, and an admin socket in a folder of the test.
fn with_admin(folder: &Path, arguments: &[&str]) -> Vec<OsString> {
    let admin = [OsString::from("--admin"), folder.join("admin.sock").into()];
    let given = arguments.iter().map(OsString::from);
    admin.into_iter().chain(given).collect()
}

impl Switch {
    /// A switch whose admin socket is in a folder of the test.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_by(
            Command::new(COMMAND),
            &["--json", "switch"],
            &with_admin(folder, arguments),
        )
    }

    /// A switch that is called by the name of another tool.
    pub(crate) fn start_link(link: &Path, folder: &Path, arguments: &[&str]) -> Self {
        Self::start_by(
            Command::new(link),
            &["--json"],
            &with_admin(folder, arguments),
        )
    }

    /// A switch with these arguments and no others.
    pub(crate) fn run(arguments: &[&str]) -> Self {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        Self::start_by(Command::new(COMMAND), &["--json", "switch"], &arguments)
    }

    fn start_by(mut command: Command, before: &[&str], arguments: &[OsString]) -> Self {
        let mut child = command
            .args(before)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            _output: output,
            address: ready["address"].as_str().unwrap().to_owned(),
            admin: ready["admin"].as_str().unwrap().to_owned(),
            ready,
        }
    }

    /// Runs commands of the command line.
    pub(crate) fn cli(&self, lines: &str) -> Output {
        let mut child = Command::new(COMMAND)
            .args(["cli", &self.address, "--admin", &self.admin])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(lines.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap()
    }

    /// The same; they must succeed.
    pub(crate) fn done(&self, lines: &str) -> String {
        let output = self.cli(lines);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{lines}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Asserts that the console refuses a command, and says why.
    pub(crate) fn refuses(&self, line: &str, why: &str) {
        let output = self.cli(&format!("{line}\n"));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && error.contains(why),
            "{line}: {error}"
        );
    }

    /// Asks it to stop and waits for it.
    pub(crate) fn stop(self) -> Option<i32> {
        self.end(Signal::SIGTERM)
    }

    /// The same by a signal of choice.
    pub(crate) fn end(mut self, signal: Signal) -> Option<i32> {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other end of a port's line: a socket in the test's folder, where nobody else looks for room.
pub(crate) struct Wire {
    pub(crate) socket: UnixDatagram,
    port: PathBuf,
}

impl Wire {
    pub(crate) fn send(&self, frame: &[u8]) {
        self.socket.send_to(frame, &self.port).unwrap();
    }

    pub(crate) fn receive(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        let length = self.socket.recv(&mut buffer).unwrap();
        buffer[..length].to_vec()
    }
}

/// A wire and the text that makes a port take its other end.
pub(crate) fn wire(folder: &Path, number: u16) -> (Wire, String) {
    let [port, own] = ["port", "end"].map(|side| folder.join(format!("{side}{number}")));
    let socket = UnixDatagram::bind(&own).unwrap();
    socket.set_read_timeout(Some(WAIT)).unwrap();
    let text = format!("{number}=unix:{}->{}", port.display(), own.display());
    (Wire { socket, port }, text)
}

pub(crate) fn frame(to: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 9, 0x88, 0xb5];
    frame.resize(64, to);
    frame
}

/// Whether the machine lets us make networks; prints what is skipped.
pub(crate) fn may() -> bool {
    linuxnet::permitted()
        .inspect_err(|why| println!("skipped: {why}"))
        .is_ok()
}

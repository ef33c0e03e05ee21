//! `switchwright switch` and `switchwright cli` as processes: ready line, commands, ports, errors, stopping; hosts and
//! Mininet where the machine lets us.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use netlab::veth::End;
use netlab::{Namespace, Veth, rtnl::Rtnl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const COMMAND: &str = env!("CARGO_BIN_EXE_switchwright");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/switch/router.p4");
const WAIT: Duration = Duration::from_secs(20);

/// A running switch; killed if the test ends early.
struct Switch {
    child: Child,
    _output: BufReader<ChildStdout>,
    address: String,
    admin: String,
    ready: Value,
}

impl Switch {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(COMMAND)
            .args(["--json", "switch", "--admin"])
            .arg(folder.join("admin.sock"))
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
    fn cli(&self, lines: &str) -> Output {
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
    fn done(&self, lines: &str) -> String {
        let output = self.cli(lines);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{lines}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Asks it to stop and waits for it.
    fn stop(mut self) -> Option<i32> {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
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

/// A UDP socket and the text that makes a port talk to it.
fn udp_end(number: u16) -> (UdpSocket, String) {
    let end = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    end.connect(port).unwrap();
    end.set_read_timeout(Some(WAIT)).unwrap();
    let text = format!("{number}=udp:{port}->{}", end.local_addr().unwrap());
    (end, text)
}

fn frame(to: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 9, 0x88, 0xb5];
    frame.resize(64, to);
    frame
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = [0; 2048];
    let length = socket.recv(&mut buffer).unwrap();
    buffer[..length].to_vec()
}

#[test]
fn the_command_line_fills_a_switch_that_forwards() {
    let folder = tempfile::tempdir().unwrap();
    let ((one, first), (two, second), (three, third)) = (udp_end(1), udp_end(2), udp_end(3));
    let switch = Switch::start(
        folder.path(),
        &[
            "-i",
            &first,
            "-i",
            &second,
            PROGRAM,
            "--thrift-port",
            "9090",
            "--",
            "--grpc-server-addr",
            "127.0.0.1:0",
            "--cpu-port",
            "255",
        ],
    );
    assert_eq!(switch.ready["program"].as_str(), Some(PROGRAM));
    assert!(switch.done("show_tables\n").contains("Forward.where_to"));
    let added = switch.done("table_add Forward.where_to forward 02:00:00:00:00:02 => 2\n");
    assert!(added.contains("handle 0"), "{added}");
    one.send(&frame(2)).unwrap();
    assert_eq!(receive(&two), frame(2));

    // A port more, a multicast group over it, and an entry of a table with priorities turned round.
    let lines = format!(
        "port_add {third}\nmc_mgrp_create 1\nmc_node_create 1 2 3\nmc_node_associate 1 0\n\
         table_add where_to flood 0x020000000007 => 1\ntable_add routes route 10.0.0.0/8 => 3 02:00:00:00:00:aa\n"
    );
    switch.done(&lines.replace("3=", "3@"));
    one.send(&frame(7)).unwrap();
    assert_eq!(receive(&two), frame(7));
    assert_eq!(receive(&three), frame(7));
    let dump = switch.done("table_dump where_to\ntable_dump routes\nmc_dump\n");
    for part in [
        "020000000002",
        "020000000007",
        "0a000000/8",
        "mgrp(1)",
        "ports=[2, 3]",
        "Forward.route - 0003, 0200000000aa",
    ] {
        assert!(dump.contains(part), "{part} in {dump}");
    }
    assert!(
        switch
            .done("counter_read Forward.forwarded 0\n")
            .contains("(64 bytes, 1 packets)")
    );

    // Changes by handle; a deleted entry forwards no more.
    switch.done("table_modify where_to forward 0 => 3\n");
    one.send(&frame(2)).unwrap();
    assert_eq!(receive(&three), frame(2));
    switch.done("table_delete where_to 0\nport_remove 3\n");
    let left = switch.done("table_num_entries where_to\nshow_ports\n");
    assert!(
        left.starts_with('1') && left.contains("udp:") && left.contains("up"),
        "{left}"
    );

    for (line, why) in [
        (
            "table_add nowhere forward 1 => 2",
            "no table named 'nowhere'",
        ),
        (
            "table_add where_to forward 1 2 => 2",
            "has 1 keys and 2 are given",
        ),
        ("table_add where_to forward 1 => 600", "600"),
        ("table_delete where_to 77", "no entry with handle 77"),
        ("set_queue_rate 5", "tc"),
        ("port_add 1@lo0", "port 1 is there already"),
        ("frobnicate", "help"),
        ("table_delete", "usage: table_delete TABLE HANDLE"),
    ] {
        let output = switch.cli(&format!("{line}\n"));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && error.contains(why),
            "{line}: {error}"
        );
    }
    assert_eq!(switch.stop(), Some(0));
    assert!(!folder.path().join("admin.sock").exists());
}

/// What a switch that cannot start says, and its exit status.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(COMMAND)
        .arg("switch")
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // Long lines are broken for the reader.
    let text = text
        .split_whitespace()
        .filter(|w| *w != "│")
        .collect::<Vec<_>>()
        .join(" ");
    (output.status.code().unwrap(), text)
}

#[test]
fn what_keeps_a_switch_from_starting_is_said() {
    let (status, text) = refused(&["-i", "1@nosuch0", "--no-p4"]);
    assert!(
        status == 2 && text.contains("port 1: there is no network interface 'nosuch0' here"),
        "{text}"
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, text) = refused(&["--no-p4", "--grpc-server-addr", &address]);
    assert!(
        status == 3 && text.contains(&format!("cannot listen at {address}")),
        "{text}"
    );
    let (status, text) = refused(&["--no-p4", "--grpc-server-ssl"]);
    assert!(status == 2 && text.contains("--grpc-server-cert"), "{text}");
    let (status, text) = refused(&["-i", "veth0", "--no-p4"]);
    assert!(status == 2 && text.contains("NUMBER@INTERFACE"), "{text}");
    let (status, text) = refused(&["/nowhere.p4"]);
    assert!(status == 2 && text.contains("/nowhere.p4"), "{text}");
}

#[test]
fn a_killed_switch_comes_back_with_pipeline_and_entries() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let state = state.to_str().unwrap();
    let arguments = ["--state-dir", state, "--grpc-server-addr", "127.0.0.1:0"];
    let mut switch = Switch::start(folder.path(), &[&arguments[..], &[PROGRAM]].concat());
    switch.done("table_add routes route 10.1.0.0/16 => 1 02:00:00:00:00:01\n");
    switch.child.kill().unwrap();
    switch.child.wait().unwrap();
    let switch = Switch::start(folder.path(), &arguments);
    assert_eq!(switch.ready["restored"], Value::Bool(true));
    assert!(switch.done("table_dump routes\n").contains("0a010000/16"));
    assert_eq!(switch.stop(), Some(0));
}

fn may() -> bool {
    netlab::permitted()
        .inspect_err(|why| println!("skipped: {why}"))
        .is_ok()
}

#[test]
fn hosts_ping_through_the_process() {
    if !may() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = Namespace::new().unwrap();
    lab.run(|| {
        let hosts: Vec<(Namespace, Veth)> = (1..=2)
            .map(|number: u8| {
                let host = Namespace::new().unwrap();
                let pair = Veth::new(End::here(&format!("p{number}")), End::inside("eth0", &host)).unwrap();
                host.run(|| {
                    let mut rtnl = Rtnl::open().unwrap();
                    rtnl.set_mac("eth0", [2, 0, 0, 0, 0, number]).unwrap();
                    let address = IpAddr::V4(Ipv4Addr::new(10, 9, 0, number));
                    rtnl.add_address("eth0", address, 24).unwrap();
                })
                .unwrap();
                (host, pair)
            })
            .collect();
        let switch = Switch::start(
            folder.path(),
            &["-i", "1@p1", "-i", "2@p2", PROGRAM, "--grpc-server-addr", "127.0.0.1:0"],
        );
        switch.done(
            "mc_mgrp_create 1\nmc_node_create 1 1 2\nmc_node_associate 1 0\n\
             table_add where_to flood ff:ff:ff:ff:ff:ff => 1\n\
             table_add where_to forward 02:00:00:00:00:01 => 1\ntable_add where_to forward 02:00:00:00:00:02 => 2\n",
        );
        let ping = hosts[0].0.run(|| {
            let mut ping = Command::new("ping");
            ping.args(["-c", "3", "-i", "0.2", "-W", "5", "10.9.0.2"]).stdout(Stdio::null());
            ping.status()
        });
        match ping.unwrap() {
            Ok(status) => assert!(status.success(), "ping"),
            Err(why) => println!("skipped: ping: {why}"),
        }
        assert_eq!(switch.stop(), Some(0));
    })
    .unwrap();
}

#[test]
fn mininet_pings_through_our_switch_class() {
    if !may() {
        return;
    }
    // Debian's Mininet belongs to Debian's Python.
    let python = "/usr/bin/python3";
    let has = Command::new(python)
        .args(["-c", "import mininet"])
        .stderr(Stdio::null())
        .status();
    if !has.is_ok_and(|status| status.success()) {
        println!("skipped: Mininet is not installed (Debian: apt-get install mininet)");
        return;
    }
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/mininet/switchwright.py"
    );
    let output = Command::new(python)
        .arg(script)
        .env("SWITCHWRIGHT", COMMAND)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

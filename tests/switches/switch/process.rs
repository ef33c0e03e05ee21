//! The process: command line, ready line, ports, queues, errors, stopping, coming back.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use linuxnet::veth::End;
use linuxnet::{Namespace, Veth};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::support::{COMMAND, PROGRAM, Switch, WAIT, frame, may, wire};

#[test]
fn the_command_line_fills_a_switch_that_forwards() {
    let folder = tempfile::tempdir().unwrap();
    let [(one, first), (two, second), (three, third)] =
        [1, 2, 3].map(|number| wire(folder.path(), number));
    let switch = Switch::start(
        folder.path(),
        &[
            "-i",
            &first,
            "-i",
            &second,
            PROGRAM,
            "--thrift-port",
            "0",
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
    one.send(&frame(2));
    assert_eq!(two.receive(), frame(2));

    // A port more, a multicast group over it, and an entry of a table with priorities turned round.
    let lines = format!(
        "port_add {third}\nmc_mgrp_create 1\nmc_node_create 1 2 3\nmc_node_associate 1 0\n\
         table_add where_to flood 0x020000000007 => 1\ntable_add routes route 10.0.0.0/8 => 3 02:00:00:00:00:aa\n"
    );
    switch.done(&lines.replace("3=", "3@"));
    one.send(&frame(7));
    assert_eq!(two.receive(), frame(7));
    assert_eq!(three.receive(), frame(7));
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
    one.send(&frame(2));
    assert_eq!(three.receive(), frame(2));
    switch.done("table_delete where_to 0\nport_remove 3\n");
    let left = switch.done("table_num_entries where_to\nshow_ports\n");
    assert!(
        left.starts_with('1') && left.contains("unix:") && left.contains("up"),
        "{left}"
    );

    // 2500 entries go by three requests.
    let many: String = (0..2_500)
        .map(|n| format!("table_add where_to forward {n} => 2\n"))
        .collect();
    let cleared = format!("{many}table_clear where_to\ntable_num_entries where_to\n");
    let cleared = switch.done(&cleared);
    assert!(
        cleared.contains("Deleted 2501 entries") && cleared.trim_end().ends_with('0'),
        "{cleared}"
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
        ("set_queue_rate 5 1 1", "--priority-queues"),
        ("port_add 1@lo0", "port 1 is there already"),
        ("frobnicate", "help"),
        ("table_delete", "usage: table_delete TABLE HANDLE"),
    ] {
        switch.refuses(line, why);
    }
    assert_eq!(switch.stop(), Some(0));
    assert!(!folder.path().join("admin.sock").exists());
}

/// While it has no files left, a switch lets no administrator in; afterwards it does.
#[test]
fn the_admin_socket_survives_a_lack_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let switch = Switch::start(
        folder.path(),
        &["--no-p4", "--grpc-server-addr", "127.0.0.1:0"],
    );
    let pid = switch.child.id().to_string();
    let limit = |files: &str| {
        let files = format!("--nofile={files}:");
        let set = Command::new("prlimit")
            .args(["--pid", &pid, &files])
            .status();
        set.is_ok_and(|status| status.success())
    };
    if !limit("3") {
        println!("skipped: prlimit cannot limit the files of a process");
        return;
    }
    let mut early = UnixStream::connect(&switch.admin).unwrap();
    early
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let waits = early.read(&mut [0]).unwrap_err();
    assert_eq!(waits.kind(), std::io::ErrorKind::WouldBlock);
    assert!(limit("1024"));
    early.write_all(b"{\"ask\":\"time\"}\n").unwrap();
    early.set_read_timeout(Some(WAIT)).unwrap();
    let mut answer = String::new();
    BufReader::new(early).read_line(&mut answer).unwrap();
    assert!(answer.contains("microseconds"), "{answer}");
    assert_eq!(switch.stop(), Some(0));
}

/// What a switch that cannot start says, and its exit status.
pub(crate) fn refused(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(COMMAND)
        .arg("switch")
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
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

/// Parses a value set; what is in it leaves by 2, everything else by the lowest queue of 3.
const VALUES: &str = r"
#include <core.p4>
#include <v1model.p4>
header e_t { bit<48> dst; bit<48> src; bit<16> kind; }
struct H { e_t e; }
struct M { bit<1> known; }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    value_set<bit<16>>(4) kinds;
    state start {
        b.extract(h.e);
        transition select(h.e.kind) { kinds: known; default: accept; }
    }
    state known { m.known = 1; transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = m.known == 1 ? 9w2 : 9w3;
        s.priority = h.e.dst[2:0];
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.e); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

#[test]
fn value_sets_queues_and_the_clock_answer_to_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("values.p4");
    std::fs::write(&program, VALUES).unwrap();
    let [(one, first), (two, second), (three, third)] =
        [1, 2, 3].map(|number| wire(folder.path(), number));
    let program = program.to_str().unwrap();
    let switch = Switch::start(
        folder.path(),
        &[
            "-i",
            &first,
            "-i",
            &second,
            "-i",
            &third,
            program,
            "--",
            "--grpc-server-addr",
            "127.0.0.1:0",
            "--priority-queues",
            "8",
        ],
    );
    assert!(
        switch
            .done("show_pvs\n")
            .contains("[16 bits, 4 values at most]")
    );
    one.send(&frame(0));
    assert_eq!(three.receive(), frame(0));
    let got = switch.done("pvs_add P.kinds 0x88b5\npvs_add P.kinds 0x800\npvs_get P.kinds\n");
    assert!(got.contains("0x88b5\n") && got.contains("0x800\n"), "{got}");
    one.send(&frame(0));
    assert_eq!(two.receive(), frame(0));
    let got = switch.done("pvs_remove P.kinds 0x88b5\npvs_get P.kinds\npvs_clear P.kinds\n");
    assert!(
        got.contains("0x800\n") && !got.contains("0x88b5\n"),
        "{got}"
    );
    one.send(&frame(0));
    assert_eq!(three.receive(), frame(0));

    // One packet a second from queue 1 of port 3, and one may wait; queue 5 has no limit.
    switch.done("set_queue_rate 1 3 1\nset_queue_depth 1 3 1\n");
    for _ in 0..8 {
        one.send(&frame(1));
    }
    one.send(&frame(5));
    let mut arrived: Vec<u8> = (0..3).map(|_| three.receive()[5]).collect();
    arrived.sort_unstable();
    assert_eq!(arrived, [1, 1, 5], "one at once, one waited");
    three
        .socket
        .set_read_timeout(Some(Duration::from_millis(1500)))
        .unwrap();
    let late = (0..6)
        .take_while(|_| three.socket.recv(&mut [0; 128]).is_ok())
        .count();
    assert!(late < 6, "those for whom there was no room are lost");
    // What a queue had no room for was not sent. Before, two frames left by port 3.
    let shown = switch.done("show_ports\n");
    let third = shown
        .lines()
        .find(|line| line.trim_start().starts_with("3 "))
        .unwrap();
    let cells: Vec<&str> = third.split_whitespace().collect();
    let (sent, lost) = ((5 + late).to_string(), (6 - late).to_string());
    assert_eq!([cells[5], cells[7]], [&sent, &lost], "{shown}");
    switch.done("set_queue_rate 0\nget_time_elapsed\n");
    for (line, why) in [
        ("set_queue_rate 5 3 8", "--priority-queues"),
        ("pvs_add P.kinds 0x10000", "16 bits"),
        ("pvs_add nowhere 1", "it has P.kinds"),
        ("serialize_state x", "--state-dir"),
        ("set_crc16_parameters a 1 2 3 4 5", "it was loaded with"),
    ] {
        switch.refuses(line, why);
    }
    assert_eq!(switch.end(Signal::SIGINT), Some(0));
}

#[test]
fn the_tools_of_bmv2_are_found_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("config");
    let link = |name: &str| {
        let path = folder.path().join(name);
        std::os::unix::fs::symlink(COMMAND, &path).unwrap();
        path
    };
    let help = Command::new(link("simple_switch_grpc"))
        .arg("--help")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("--grpc-server-addr"));
    // A switch that was started with a Thrift port is found by it.
    // The port names a file that other tests may make too.
    let thrift = &(20_000 + std::process::id() % 40_000).to_string();
    let switch = Switch::start(
        folder.path(),
        &[
            "--device-id",
            "7",
            "--thrift-port",
            thrift,
            PROGRAM,
            "--",
            "--grpc-server-addr",
            "0.0.0.0:0",
        ],
    );
    let write = format!("write_config_to_file {}", state.display());
    let lines = [
        "table_add routes drop 10.0.0.0/8 =>",
        &write,
        "reset_state",
        "table_num_entries routes",
    ];
    let mut cli = Command::new(link("simple_switch_CLI"));
    cli.args(["--thrift-port", thrift]);
    for line in lines {
        cli.args(["-c", line]);
    }
    let output = cli.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.trim_end().ends_with('0'), "{text}");
    assert!(
        std::fs::read_to_string(state)
            .unwrap()
            .contains("V1Switch(")
    );
    assert_eq!(switch.stop(), Some(0));
}

#[test]
fn interfaces_without_rights_are_refused_and_many_are_served() {
    if !may() {
        return;
    }
    const MANY: u16 = 48;
    let folder = tempfile::tempdir().unwrap();
    let lab = Namespace::new().unwrap();
    let _ = lab.set("ipv6/conf/default/disable_ipv6", "1");
    lab.run(|| {
        let names = |n: u16| (format!("p{n}"), format!("q{n}"));
        let _pairs: Vec<Veth> = (0..MANY)
            .map(|n| {
                let (near, far) = names(n);
                Veth::new(End::here(&near), End::here(&far)).unwrap()
            })
            .collect();
        let mut nobody = Command::new(COMMAND);
        nobody
            .args(["switch", "-i", "1@p1", "--no-p4"])
            .uid(65534)
            .gid(65534);
        match nobody.output() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(
                    output.status.code() == Some(3) && text.contains("not permitted"),
                    "{text}"
                );
            }
            Err(why) => println!("skipped: as nobody: {why}"),
        }
        let ports: Vec<String> = (0..MANY).map(|n| format!("{n}@p{n}")).collect();
        let mut arguments: Vec<&str> = ports.iter().flat_map(|p| ["-i", p]).collect();
        arguments.extend([PROGRAM, "--grpc-server-addr", "127.0.0.1:0"]);
        let switch = Switch::start(folder.path(), &arguments);
        let all: Vec<String> = (0..MANY).map(|n| n.to_string()).collect();
        switch.done(&format!(
            "mc_mgrp_create 1\nmc_node_create 1 {}\nmc_node_associate 1 0\n\
             table_add where_to flood ff:ff:ff:ff:ff:ff => 1\n",
            all.join(" ")
        ));
        let options = linuxnet::PacketOptions {
            ring_frames: 32,
            ..Default::default()
        };
        let open = |n: u16| linuxnet::PacketSocket::open(&names(n).1, &options).unwrap();
        let mut far: Vec<_> = (0..MANY).map(open).collect();
        let mut broadcast = frame(1);
        broadcast[..6].fill(0xff);
        far[0].send_all([broadcast.as_slice()]);
        let start = Instant::now();
        for (number, socket) in far.iter_mut().enumerate().skip(1) {
            let mut arrived = None;
            while arrived.is_none() && start.elapsed() < WAIT {
                socket.receive(1, |frame| arrived = Some(frame.to_vec()));
                std::thread::yield_now();
            }
            assert_eq!(
                arrived.as_deref(),
                Some(broadcast.as_slice()),
                "port {number}"
            );
        }
        assert_eq!(switch.stop(), Some(0));
    })
    .unwrap();
}

//! What a switch may do, and what is its alone: capabilities, interfaces, sockets, the folder of
//! its state.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

use linuxnet::veth::End;
use linuxnet::{Namespace, Veth};

use super::process::refused;
use super::support::{COMMAND, PROGRAM, Switch, may, wire};

/// CAP_NET_ADMIN and CAP_NET_RAW, by their numbers.
const KEPT: u64 = 1 << 12 | 1 << 13;

/// The sets of capabilities of all threads of a process, by their names in `/proc`.
fn capabilities(process: u32, set: &str) -> BTreeSet<u64> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let value = |status: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(set))
            .unwrap();
        u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
    };
    tasks
        // A thread may end meanwhile.
        .filter_map(|task| fs::read_to_string(task.unwrap().path().join("status")).ok())
        .map(|status| value(&status))
        .collect()
}

/// A namespace with pairs `p0`-`q0`, `p1`-`q1` and so on; what runs inside sees them.
fn inside(pairs: u16, run: impl FnOnce() + Send) {
    let lab = Namespace::new().unwrap();
    let _ = lab.set("ipv6/conf/default/disable_ipv6", "1");
    lab.run(|| {
        let _pairs: Vec<Veth> = (0..pairs)
            .map(|n| {
                let (near, far) = (format!("p{n}"), format!("q{n}"));
                Veth::new(End::here(&near), End::here(&far)).unwrap()
            })
            .collect();
        run();
    })
    .unwrap();
}

#[test]
fn once_its_ports_are_open_a_switch_can_only_open_others() {
    if !may() {
        return;
    }
    inside(3, || {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let arguments = [
            "-i",
            "0@p0",
            "--state-dir",
            state.to_str().unwrap(),
            "--grpc-server-addr",
            "127.0.0.1:0",
        ];
        let switch = Switch::start(folder.path(), &[&arguments[..], &[PROGRAM]].concat());
        let process = switch.child.id();
        for set in ["CapEff", "CapPrm", "CapBnd"] {
            assert_eq!(capabilities(process, set), BTreeSet::from([KEPT]), "{set}");
        }
        for set in ["CapInh", "CapAmb"] {
            assert_eq!(capabilities(process, set), BTreeSet::from([0]), "{set}");
        }
        assert_eq!(capabilities(process, "NoNewPrivs"), BTreeSet::from([1]));

        // Ports still come and go, and come back with their interface.
        switch.done("port_add p1 1\n");
        switch.refuses("port_add p1 2", "'p1' is port 1 already");
        switch.done("port_remove 1\nport_add p1 1\nport_add p2 2\nport_remove 2\nport_add p2 2\n");
        switch.done("table_add routes route 10.1.0.0/16 => 1 02:00:00:00:00:01\n");
        assert_eq!(switch.stop(), Some(0));
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "the admin socket is gone: {left:?}");
        let switch = Switch::start(folder.path(), &arguments);
        assert!(switch.done("table_dump routes\n").contains("0a010000/16"));
        assert_eq!(switch.stop(), Some(0));
    });
}

/// Which network namespace is the system's own, only root with all rights sees: the switch must
/// have looked before.
#[test]
fn the_admin_socket_of_a_namespace_is_found_by_its_default_name() {
    if !may() {
        return;
    }
    inside(1, || {
        let switch = Switch::run(&["-i", "0@p0", "--no-p4", "--grpc-server-addr", "127.0.0.1:0"]);
        let (_, port) = switch.address.rsplit_once(':').unwrap();
        let expected = switchd::admin::default_path(port.parse().unwrap());
        assert_eq!(Path::new(&switch.admin), expected);
        let line = ["cli", &switch.address, "-c", "show_ports"];
        let output = Command::new(COMMAND).args(line).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("p0"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(switch.stop(), Some(0));
    });
}

#[test]
fn an_interface_has_one_switch() {
    if !may() {
        return;
    }
    inside(2, || {
        let folder = tempfile::tempdir().unwrap();
        let plain = ["--no-p4", "--grpc-server-addr", "127.0.0.1:0"];
        let (status, text) = refused(&[&["-i", "1@p0", "-i", "2@p0"], &plain[..]].concat());
        assert!(
            status == 2 && text.contains("port 2: 'p0' is port 1 already"),
            "{text}"
        );
        let other_name = ["link", "property", "add", "dev", "p0", "altname", "other0"];
        if Command::new("ip")
            .args(other_name)
            .status()
            .is_ok_and(|status| status.success())
        {
            let (status, text) = refused(&[&["-i", "1@p0", "-i", "2=other0"], &plain[..]].concat());
            assert!(
                status == 2 && text.contains("port 2: 'other0' is port 1 already"),
                "{text}"
            );
        }
        let mut first = Switch::start(folder.path(), &[&["-i", "1@p0"], &plain[..]].concat());
        let mut drivers = vec!["ring", "packet"];
        if linuxnet::xdp_available().is_ok() {
            drivers.push("xdp");
        }
        for driver in drivers {
            let line = ["-i", "7@p0", "--driver", driver];
            let (status, text) = refused(&[&line[..], &plain].concat());
            assert!(
                status == 3 && text.contains("port 7: another switch serves the interface 'p0'"),
                "{driver}: {text}"
            );
        }
        // However the switch ends, the interface is free again; and so it is when the port is
        // removed.
        first.child.kill().unwrap();
        first.child.wait().unwrap();
        let second = Switch::start(folder.path(), &[&["-i", "1@p0"], &plain[..]].concat());
        second.done("port_remove 1\n");
        let other = tempfile::tempdir().unwrap();
        let third = Switch::start(other.path(), &[&["-i", "1@p0"], &plain[..]].concat());
        second.refuses("port_add p0 1", "another switch serves");
        assert_eq!((second.stop(), third.stop()), (Some(0), Some(0)));
    });
}

#[test]
fn a_state_folder_has_one_switch() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let state = state.to_str().unwrap();
    let arguments = ["--state-dir", state, "--grpc-server-addr", "127.0.0.1:0"];
    let mut first = Switch::start(folder.path(), &[&arguments[..], &[PROGRAM]].concat());
    first.done("table_add routes route 10.1.0.0/16 => 1 02:00:00:00:00:01\n");
    let (status, text) = refused(&arguments);
    assert!(
        status == 3 && text.contains("holds the state of another switch") && text.contains(state),
        "{text}"
    );
    assert!(text.contains(&first.child.id().to_string()), "{text}");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let file = Path::new(state).join("state");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );

    // A bit of the snapshot is another: the switch does not start, and says where and what to do.
    let mut image = fs::read(&file).unwrap();
    image[100] ^= 4;
    fs::write(&file, &image).unwrap();
    let (status, text) = refused(&arguments);
    assert!(
        status == 3 && text.contains("is damaged at byte 8 of") && text.contains("move it away"),
        "{text}"
    );
    assert_eq!(fs::read(&file).unwrap(), image);
    image[100] ^= 4;
    fs::write(&file, &image).unwrap();
    let switch = Switch::start(folder.path(), &arguments);
    assert!(switch.done("table_dump routes\n").contains("0a010000/16"));
    assert_eq!(switch.stop(), Some(0));
}

#[test]
fn sockets_of_killed_switches_give_way_and_living_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let (_one, port) = wire(folder.path(), 1);
    let near = folder.path().join("port1");
    drop(UnixDatagram::bind(&near).unwrap());

    let admin = folder.path().join("admin.sock");
    let arguments = ["-i", &port, "--no-p4", "--grpc-server-addr", "127.0.0.1:0"];
    let mut first = Switch::start(folder.path(), &arguments);
    let (status, text) = refused(&arguments);
    assert!(status == 3 && text.contains("Unix socket"), "{text}");
    let admin_line = ["--admin", admin.to_str().unwrap()];
    let (status, text) = refused(&[&admin_line[..], &arguments[2..]].concat());
    assert!(status == 3 && text.contains("the admin socket"), "{text}");
    assert!(admin.exists() && near.exists());
    first.done("show_ports\n");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(admin.exists() && near.exists(), "nobody tidied up");
    let second = Switch::start(folder.path(), &arguments);
    second.done("show_ports\n");
    assert_eq!(second.stop(), Some(0));
    assert!(!admin.exists() && !near.exists());
}

#[test]
fn who_listens_to_everybody_in_plain_text_is_warned() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("simple_switch_grpc");
    std::os::unix::fs::symlink(COMMAND, &link).unwrap();
    // The switch cannot start, for want of its interface; the warning comes first. A name too long
    // for an interface is nowhere.
    let said = |command: &Path, arguments: &[&str]| {
        let mut command = Command::new(command);
        let output = command.args(arguments).args(["-i", "1@no-such-interface"]);
        let text = String::from_utf8_lossy(&output.output().unwrap().stderr).into_owned();
        assert!(text.contains("no-such-interface"), "{text}");
        text.contains("warning: P4Runtime is served at 0.0.0.0:9559 without TLS")
    };
    assert!(said(&link, &["--no-p4"]));
    assert!(!said(COMMAND.as_ref(), &["switch", "--no-p4"]));
    let line = ["switch", "--no-p4", "--grpc-server-addr", "0.0.0.0:9559"];
    assert!(said(COMMAND.as_ref(), &line));
    assert!(!said(
        &link,
        &["--no-p4", "--grpc-server-addr", "127.0.0.1:9559"]
    ));
}

//! A student's own network: hosts that reach each other through a program, links that fail, and a program that is saved.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

const ROUTER: &str = include_str!("../../labs/02-longest-prefix/solution/router.p4");
const COMMON: &str = include_str!("../../labs/common/net.p4");

/// Runs commands on a line of two switches; the exit status, and what was said.
fn net(at: &Path, commands: &str) -> (Option<i32>, String) {
    fs::write(at.join("lines.txt"), commands).unwrap();
    let arguments = "net line.json --p4 router.p4 --entries . --commands lines.txt";
    let output = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(arguments.split(' '))
        .current_dir(at)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// Two switches in a row, a host at each, and routes.
fn prepare(at: &Path) {
    let made = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args("topo line 2 --hosts 1 -o line.json -q".split(' '))
        .current_dir(at)
        .status();
    assert!(made.unwrap().success());
    fs::write(at.join("router.p4"), ROUTER).unwrap();
    fs::write(at.join("net.p4"), COMMON).unwrap();
    let route = |to: &str, mac: &str, port: u8| {
        format!("table_add TheIngress.routes TheIngress.forward {to}/32 => {mac} {port}\n")
    };
    let (first, second) = ("02:00:0a:00:00:01", "02:00:0a:00:01:01");
    let s1 = route("10.0.0.1", first, 1) + &route("10.0.1.1", second, 3);
    let s2 = route("10.0.1.1", second, 1) + &route("10.0.0.1", first, 2);
    fs::write(at.join("s1-commands.txt"), s1).unwrap();
    fs::write(at.join("s2-commands.txt"), s2).unwrap();
}

/// Whether this machine lets us: rights, and a `ping`.
fn possible() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = match netlab::permitted() {
        Err(error) => Some(error.to_string()),
        Ok(()) if !std::env::split_paths(&path).any(|folder| folder.join("ping").is_file()) => {
            Some("`ping` is not on PATH".to_owned())
        }
        Ok(()) => None,
    };
    if let Some(missing) = &missing {
        println!("skipped: {missing}");
    }
    missing.is_none()
}

#[test]
fn hosts_reach_each_other_until_a_link_fails() {
    if !possible() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    prepare(at);
    let lines = "net\npingall\nh1 ping -c 1 -W 1 h2\nlink s1 s2 down\nlink s1 s2 up\npingall\n";
    let (status, said) = net(at, lines);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(said.matches("0 of 2 lost").count(), 2, "{said}");
    assert!(said.contains("s1  P4Runtime at 127.0.0.1:"), "{said}");
    assert!(at.join("logs/s1.log").is_file() && at.join("logs/s2.log").is_file());
    let (status, said) = net(at, "link s1 s2 down\npingall\n");
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("2 of 2 lost") && said.contains("line 2: `pingall`"),
        "{said}"
    );
}

#[test]
fn what_does_not_fit_is_named() {
    if !possible() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    prepare(at);
    fs::write(at.join("s2-commands.txt"), "table_add nothing x 1 =>\n").unwrap();
    let (status, said) = net(at, "net\n");
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("s2-commands.txt") && said.contains("nothing"),
        "{said}"
    );
    prepare(at);
    fs::write(at.join("router.p4"), "parser {").unwrap();
    let (status, said) = net(at, "net\n");
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("router.p4:1"), "{said}");
}

#[test]
fn a_program_that_is_saved_takes_over_and_what_does_not_fit_it_is_told() {
    if !possible() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    prepare(at);
    let other = ROUTER.replace("ttl - 1", "ttl - 2");
    assert_ne!(other, ROUTER, "the lab counts the TTL down elsewhere now");
    fs::write(at.join("other.p4"), &other).unwrap();
    fs::write(
        at.join("broken.p4"),
        ROUTER.replacen("control", "contrl", 1),
    )
    .unwrap();
    // One of the two routes of a switch leads to an action that there is no more.
    fs::write(at.join("fewer.p4"), ROUTER.replace("forward", "pass_on")).unwrap();
    let lines = "pingall\nh1 cp other.p4 router.p4\npingall\nh1 cp broken.p4 router.p4\npingall\n";
    let (status, said) = net(at, lines);
    assert_eq!(status, Some(0), "{said}");
    let taken = "the program was saved: all switches run it anew";
    assert_eq!(said.matches(taken).count(), 1, "{said}");
    assert_eq!(said.matches("is not taken over").count(), 1, "{said}");
    assert!(said.contains("router.p4:"), "{said}");
    assert_eq!(said.matches("0 of 2 lost").count(), 3, "{said}");
    prepare(at);
    let (status, said) = net(at, "h1 cp fewer.p4 router.p4\npingall\n");
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains(taken) && said.contains("not all entries fit"),
        "{said}"
    );
    for file in ["s1-commands.txt", "s2-commands.txt"] {
        assert!(said.contains(file), "{said}");
    }
    // Every line is told, not the first alone.
    assert_eq!(said.matches("error: table_add").count(), 4, "{said}");
    assert!(said.contains("2 of 2 lost"), "{said}");
    prepare(at);
    let (status, said) = net(at, "h1 cp fewer.p4 router.p4\nreload\n");
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("line 2: `reload`: not all entries fit"),
        "{said}"
    );
}

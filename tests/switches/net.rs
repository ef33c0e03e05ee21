//! A student's own network: hosts that reach each other through a program, links that fail, and a
//! program that is saved.

use std::fs;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

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
    let missing = match linuxnet::permitted() {
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
    // Why a line failed is told in a file as at the prompt.
    let (status, said) = net(at, "h1 no-such-program\n");
    assert_eq!(status, Some(3), "{said}");
    assert!(
        said.contains("line 1: `h1 no-such-program`: `no-such-program` cannot be started"),
        "{said}"
    );
}

/// What a terminal is told when a line is asked for: paste in brackets.
const PROMPT: &str = "\x1b[?2004h";

/// `net` on a terminal (that of `script`): what is typed, and what is seen.
struct Typed<'a> {
    at: &'a Path,
    script: Child,
    keys: ChildStdin,
}

impl<'a> Typed<'a> {
    fn start(at: &'a Path) -> Self {
        let net = format!(
            "exec {} net line.json --p4 router.p4 --entries .",
            env!("CARGO_BIN_EXE_switchwright")
        );
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--command", &net, "typescript"])
            .current_dir(at)
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(File::create(at.join("seen")).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keys = script.stdin.take().unwrap();
        Self { at, script, keys }
    }

    /// Types keys and waits until this was seen so often.
    fn types(&mut self, keys: &str, wanted: &str, times: usize) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let seen = self.seen();
            if seen.matches(wanted).count() >= times {
                return;
            }
            let ended = self.script.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "it ended ({ended:?}), `{wanted}` was not seen: {seen}"
            );
            assert!(Instant::now() < deadline, "`{wanted}` was not seen: {seen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.at.join("seen")).unwrap()).into_owned()
    }
}

impl Drop for Typed<'_> {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn keys_are_for_the_command_in_the_foreground_and_the_network_stays() {
    if !possible() {
        return;
    }
    if Command::new("script").arg("--version").output().is_err() {
        return println!("skipped: `script` (bsdutils) is not on PATH");
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    prepare(at);
    let mut typed = Typed::start(at);
    typed.types("", "net> ", 1);
    // Ctrl-C ends `ping`, which goes on for ever otherwise, and not the network.
    typed.types("h1 ping h2\r", "bytes from", 2);
    typed.types("\x03", "packets transmitted", 1);
    // A command that knows no better is ended by it, too.
    typed.types("h1 tail -n 9 -f s1-commands.txt\r", "table_add", 2);
    typed.types("\x03pingall\r", "0 of 2 lost", 1);
    typed.types("", PROMPT, 4);
    // At the prompt it clears the line: what stood there is not run.
    typed.types("h1 touch wrong\x03", PROMPT, 5);
    typed.types("h1 touch right\r", PROMPT, 6);
    assert!(at.join("right").exists() && !at.join("wrong").exists());
    typed.types("net\r", "s1  P4Runtime at", 1);
    // The line before comes back, words are completed.
    typed.types("", PROMPT, 7);
    typed.types("\x1b[A\r", "s1  P4Runtime at", 2);
    typed.types("", PROMPT, 8);
    typed.types("pinga\t\r", "0 of 2 lost", 2);
    typed.types("", PROMPT, 9);
    // Ctrl-D ends it.
    typed.keys.write_all(b"\x04").unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = typed.script.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < deadline, "it goes on: {}", typed.seen());
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}: {}", typed.seen());
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

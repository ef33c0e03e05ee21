//! `conform` against real P4Runtime servers: our own passes everything; BMv2, where it is
//! installed, what we know of it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use linuxnet::FreePorts;
use serde_json::Value;

/// A server that ends with the test.
struct Server {
    process: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Until it listens.
    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(&self.address).is_err() {
            assert!(
                Instant::now() < deadline,
                "{} does not listen",
                self.address
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A port that no other test of this process was given.
fn free_port() -> u16 {
    static GIVEN: Mutex<FreePorts> = Mutex::new(FreePorts::new());
    GIVEN.lock().unwrap().tcp().unwrap()
}

fn missing() -> Option<&'static str> {
    let starts = |tool: &&str| {
        let quiet = Command::new(tool)
            .arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        quiet.is_ok()
    };
    ["simple_switch_grpc"]
        .into_iter()
        .find(|tool| !starts(tool))
}

fn bmv2() -> Server {
    let address = format!("127.0.0.1:{}", free_port());
    let process = Command::new("simple_switch_grpc")
        .args([
            "--no-p4",
            "--device-id",
            "3",
            "--thrift-port",
            &free_port().to_string(),
        ])
        .args(["--", "--grpc-server-addr", &address, "--cpu-port", "510"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server { process, address };
    server.wait();
    server
}

fn conform(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .arg("conform")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn bmv2_is_told_what_it_fails() {
    if let Some(tool) = missing() {
        return println!("skipped: {tool} is not installed");
    }
    let server = bmv2();
    let (status, text, errors) = conform(&[
        &server.address,
        "--device-id",
        "3",
        "--cpu-port",
        "510",
        "--quick",
        "--target",
        "v1model",
        "--json",
    ]);
    assert_eq!(status, Some(1), "{errors}");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["conforms"], false);
    let findings = report["findings"].as_array().unwrap();
    let of_point = |point: u64| {
        let found = findings.iter().filter(|f| f["point"] == point);
        found
            .map(|f| f["verdict"].as_str().unwrap())
            .collect::<Vec<_>>()
    };
    for point in 1..=28 {
        assert!(!of_point(point).is_empty(), "point {point} was not tried");
    }
    let all = |point: u64, verdict: &str| of_point(point).iter().all(|v| *v == verdict);
    for point in [13, 17, 19, 20, 22, 27, 28] {
        assert!(all(point, "pass"), "point {point}: {:?}", of_point(point));
    }
    // A backup becomes primary without a bid; there are no roles, no atomic batches, no
    // verification.
    for point in [1, 8, 25] {
        assert!(of_point(point).contains(&"fail"), "point {point}");
    }
    assert!(of_point(21).contains(&"lacks"));
    assert!(
        report["differs"].is_null(),
        "BMv2 is what the table of targets says: {}",
        report["differs"]
    );
}

#[test]
fn a_server_that_is_not_there_cannot_conform() {
    let (status, _, errors) = conform(&[&format!("127.0.0.1:{}", free_port())]);
    assert_eq!(status, Some(3), "{errors}");
    assert!(errors.contains("cannot be reached"), "{errors}");
    assert_eq!(conform(&[]).0, Some(2));
    assert!(conform(&["--print-program"]).1.contains("V1Switch("));
}

#[test]
fn our_own_switch_conforms() {
    let address = format!("127.0.0.1:{}", free_port());
    let [one, two] =
        [1, 2].map(|port| format!("{port}@udp:127.0.0.1:{}->127.0.0.1:9", free_port()));
    let process = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(["switch", "--no-p4", "--device-id", "7", "--cpu-port", "510"])
        .args(["-i", &one, "-i", &two, "--grpc-server-addr", &address])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server { process, address };
    server.wait();
    let (status, text, errors) = conform(&[
        &server.address,
        "--device-id",
        "7",
        "--cpu-port",
        "510",
        "--all",
        "--fuzz",
        "4000",
        "--target",
        "embedded",
    ]);
    assert_eq!(status, Some(0), "{text}{errors}");
    assert!(text.contains(" 0 failed, 0 lacking, 0 skipped"), "{text}");
    assert!(!text.contains("otherwise than its target"), "{text}");
    assert!(
        text.contains("4000 sent") && text.contains(" 0 disagreements"),
        "{text}"
    );
}

/// What the user trial did: a switch of ours without ports. What cannot be tried there is skipped;
/// nothing fails.
#[test]
fn a_switch_without_ports_fails_nothing() {
    let address = format!("127.0.0.1:{}", free_port());
    let process = Command::new(env!("CARGO_BIN_EXE_switchwright"))
        .args(["switch", "--no-p4", "--device-id", "1"])
        .args(["--grpc-server-addr", &address])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server { process, address };
    server.wait();
    let run = |more: &[&str]| {
        let mut arguments = vec![server.address.as_str(), "--device-id", "1", "--quick"];
        arguments.extend(["--json"]);
        arguments.extend(more);
        let (status, text, errors) = conform(&arguments);
        let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{errors}"));
        (status, report)
    };
    let verdicts = |report: &Value, verdict: &str| -> Vec<String> {
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().filter(|f| f["verdict"] == verdict);
        found
            .map(|f| format!("{}: {}", f["check"], f["seen"]))
            .collect()
    };
    let (status, report) = run(&[]);
    assert_eq!(status, Some(0), "{:#?}", verdicts(&report, "fail"));
    let skipped = verdicts(&report, "skip");
    assert!(
        skipped.iter().any(|s| s.contains("--ports names them")),
        "{skipped:#?}"
    );
    // Who names ports says that they are there.
    let (status, report) = run(&["--ports", "1,2"]);
    assert_eq!(status, Some(1), "{report}");
    let failed = verdicts(&report, "fail");
    assert!(
        failed
            .iter()
            .all(|f| f.contains("watch port") || f.contains("not a port")),
        "{failed:#?}"
    );
}

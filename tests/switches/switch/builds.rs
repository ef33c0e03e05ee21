//! Pushed programs as the command builds them: by a child process that ends with the call and with
//! the switch, within the limits of the command line.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use p4runtime::client::{Connection, Endpoint, Identity, Stream};
use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tonic::{Code, Status};

use super::support::{COMMAND, Switch, WAIT};

const ARGUMENTS: [&str; 3] = ["--no-p4", "--grpc-server-addr", "127.0.0.1:0"];

/// A program without tables, which any P4Info fits, with so many statements.
fn program(statements: usize) -> String {
    let mut text = String::from(
        "#include <core.p4>\n#include <v1model.p4>\n\
         header h_t { bit<32> a; }\nstruct H { h_t h; }\nstruct M { }\n\
         parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {\n\
             state start { b.extract(h.h); transition accept; }\n}\n\
         control V(inout H h, inout M m) { apply { } }\n\
         control I(inout H h, inout M m, inout standard_metadata_t s) { apply {\n",
    );
    for n in 0..statements {
        let _ = writeln!(text, "if (h.h.a == {n}) {{ h.h.a = h.h.a * {n} + 1; }}");
    }
    text + "} }\n\
         control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }\n\
         control C(inout H h, inout M m) { apply { } }\n\
         control D(packet_out b, in H h) { apply { b.emit(h.h); } }\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
}

/// A program that takes seconds to build.
fn large() -> String {
    program(50_000)
}

/// A primary.
struct Client {
    connection: Connection,
    identity: Identity,
    _stream: Stream,
}

impl Client {
    async fn open(address: &str) -> Self {
        let endpoint = Endpoint {
            timeout: WAIT,
            ..Endpoint::plain(address, 0)
        };
        let (connection, identity) = (endpoint.connect().await.unwrap(), endpoint.identity());
        let stream = connection.stream(Some(identity.arbitration())).await;
        let mut stream = stream.unwrap();
        stream.arbitration().await.unwrap();
        Self {
            connection,
            identity,
            _stream: stream,
        }
    }

    fn begin(&self, action: Action, program: String) -> JoinHandle<Result<(), Status>> {
        let config = v1::ForwardingPipelineConfig {
            p4info: Some(Default::default()),
            p4_device_config: program.into(),
            cookie: None,
        };
        let request = self.identity.set_pipeline(action, Some(config));
        let connection = self.connection.clone();
        tokio::spawn(async move { connection.set_pipeline(request).await })
    }

    /// Runs a program and waits for the answer.
    fn commit(&self, runtime: &Runtime, program: String) -> Result<(), Status> {
        runtime.block_on(async {
            let call = self.begin(Action::VerifyAndCommit, program);
            tokio::time::timeout(WAIT, call).await.unwrap().unwrap()
        })
    }
}

/// The process that builds for a switch.
fn builder_of(switch: u32) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut children = pids.filter(|pid| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
        status.is_ok_and(|status| status.contains(&format!("PPid:\t{switch}\n")))
    });
    children.find(|pid| builds(*pid))
}

/// Whether a process is one that builds; one that has ended has no command line, even while nobody
/// has taken notice of its end.
fn builds(pid: u32) -> bool {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
    line.is_ok_and(|line| line.contains("build-pipeline"))
}

fn until<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + WAIT;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_child_that_builds_ends_with_the_call_and_with_the_switch() {
    let runtime = Runtime::new().unwrap();
    for how in ["cancelled", "stopped", "killed"] {
        let folder = tempfile::tempdir().unwrap();
        let switch = Switch::start(folder.path(), &ARGUMENTS);
        let pid = switch.child.id();
        let client = runtime.block_on(Client::open(&switch.address));
        let call = {
            let _inside = runtime.enter();
            client.begin(Action::Verify, large())
        };
        let child = until("the child", || builder_of(pid));
        match how {
            "cancelled" => {
                call.abort();
                until("the child's end", || (!builds(child)).then_some(()));
                // The switch is well.
                let again = client.commit(&runtime, program(1));
                assert!(again.is_ok(), "{again:?}");
                assert_eq!(switch.stop(), Some(0));
            }
            "stopped" => assert_eq!(switch.stop(), Some(0)),
            _ => assert_eq!(switch.end(Signal::SIGKILL), None),
        }
        until("the child's end", || (!builds(child)).then_some(()));
    }
}

#[test]
fn the_command_line_says_what_building_may_take() {
    let runtime = Runtime::new().unwrap();
    for (flag, value, named) in [
        ("--build-memory", "32MB", &["32000000 bytes of memory"][..]),
        // Where the machine has no time for the child, the clock is first.
        ("--build-time", "1s", &["1 s of processor time", "4 s"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = [&ARGUMENTS[..], &[flag, value]].concat();
        let switch = Switch::start(folder.path(), &arguments);
        let client = runtime.block_on(Client::open(&switch.address));
        let refused = client.commit(&runtime, large()).unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
        let says = |named: &&str| refused.message().contains(*named);
        assert!(named.iter().any(says), "{refused}");
        assert_eq!(switch.stop(), Some(0));
    }
}

#[test]
fn a_link_by_the_name_of_the_other_tool_builds_too() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("simple_switch_grpc");
    symlink(Path::new(COMMAND), &link).unwrap();
    let switch = Switch::start_link(&link, folder.path(), &ARGUMENTS);
    let client = runtime.block_on(Client::open(&switch.address));
    client.commit(&runtime, program(1)).unwrap();
    let wrong = client.commit(&runtime, "control".to_owned());
    assert_eq!(wrong.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(switch.stop(), Some(0));
}

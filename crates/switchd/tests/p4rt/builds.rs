//! Pushed programs are built in a child process: within limits, one at a time, and nobody else
//! waits.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use quantities::{Bytes, PortId};
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig, ExecutorKind};
use switchd::server::ServerConfig;
use switchd::server::build::{BuildLimits, ChildBuilder, MAX_WAITING, PipelineBuilder};
use tokio::task::JoinHandle;
use tonic::{Code, Status};

use crate::support::{CPU, Client, PROGRAM, Rig, WAIT, arbitration, config_of, exact, insert};

/// The program that builds for the tests.
const BUILDER: &str = env!("CARGO_BIN_EXE_switchd-build");

fn config(child: ChildBuilder) -> ServerConfig {
    ServerConfig {
        builder: PipelineBuilder::Child(child),
        ..ServerConfig::new(([127, 0, 0, 1], 0).into())
    }
}

fn limited(limits: BuildLimits) -> ServerConfig {
    config(ChildBuilder {
        program: BUILDER.into(),
        arguments: Vec::new(),
        limits,
    })
}

/// A shell in place of the builder: `$0` is the builder itself.
fn shell(script: &str) -> ServerConfig {
    config(ChildBuilder {
        program: "/bin/sh".into(),
        arguments: ["-c", script, BUILDER].map(Into::into).into(),
        limits: BuildLimits::default(),
    })
}

/// A builder that never comes to an end.
fn endless() -> ServerConfig {
    config(ChildBuilder {
        program: "/bin/sleep".into(),
        arguments: vec!["1000".into()],
        limits: BuildLimits::default(),
    })
}

/// A builder that begins when a file is there.
fn gated(gate: &Path) -> ServerConfig {
    let gate = gate.display();
    shell(&format!(
        "while [ ! -e '{gate}' ]; do /bin/sleep 0.01; done; exec \"$0\""
    ))
}

/// Processes that this test process has started and that run still, by what they run. Tests of one
/// process run side by side: each looks for a word of its own.
fn children(word: &str) -> Vec<u32> {
    let own = std::process::id();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let status = String::from_utf8_lossy(&read("status")).into_owned();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        if status.contains(&format!("PPid:\t{own}\n")) && line.contains(word) {
            found.push(pid);
        }
    }
    found
}

/// Waits until something is so.
async fn until(what: &str, so: impl Fn() -> bool) {
    let deadline = Instant::now() + WAIT;
    while !so() {
        assert!(Instant::now() < deadline, "{what}: not in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn begin(
    client: &Client,
    action: Set,
    program: &v1::ForwardingPipelineConfig,
) -> JoinHandle<Result<(), Status>> {
    let connection = client.connection.clone();
    let request = client.identity.set_pipeline(action, Some(program.clone()));
    tokio::spawn(async move { connection.set_pipeline(request).await })
}

async fn ended(call: JoinHandle<Result<(), Status>>) -> Result<(), Status> {
    let ended = tokio::time::timeout(WAIT, call).await;
    ended.expect("the call ends in time").unwrap()
}

/// A program of so many tables, one applied after the other.
fn tables(count: usize) -> String {
    let mut text = String::from(
        "#include <core.p4>\n#include <v1model.p4>\n\
         header h_t { bit<32> a; bit<32> b; }\nstruct H { h_t h; }\nstruct M { }\n\
         parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {\n\
             state start { b.extract(h.h); transition accept; }\n}\n\
         control V(inout H h, inout M m) { apply { } }\n\
         control I(inout H h, inout M m, inout standard_metadata_t s) {\n",
    );
    for n in 0..count {
        let _ = writeln!(
            text,
            "action a{n}(bit<9> p) {{ s.egress_spec = p; h.h.b = h.h.b + {n}; }}\n\
             table t{n} {{ key = {{ h.h.a: exact; h.h.b: ternary; }} actions = {{ a{n}; NoAction; }} }}"
        );
    }
    text += "apply {\n";
    for n in 0..count {
        let _ = writeln!(text, "t{n}.apply();");
    }
    text += "} }\n\
         control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }\n\
         control C(inout H h, inout M m) { apply { } }\n\
         control D(packet_out b, in H h) { apply { b.emit(h.h); } }\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n";
    text
}

/// A configuration that the front end is not asked about here.
fn pushed(program: &str) -> v1::ForwardingPipelineConfig {
    v1::ForwardingPipelineConfig {
        p4info: Some(Default::default()),
        p4_device_config: program.into(),
        cookie: None,
    }
}

async fn rig(config: ServerConfig, executor: ExecutorKind) -> Rig {
    let (io, wires) = MemoryIo::new();
    let engine = EngineConfig {
        ports: (1..=8).map(PortId::new).collect(),
        cpu_port: Some(PortId::new(CPU)),
        executor,
        ..EngineConfig::default()
    };
    let (engine, notifications) = Engine::start(&engine, io).unwrap();
    Rig::serve(config, engine, notifications, wires).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_a_child_built_runs_on_either_executor() {
    for executor in [ExecutorKind::Interp, ExecutorKind::Compile] {
        let rig = rig(limited(BuildLimits::default()), executor).await;
        let mut client = rig.ready().await;
        client
            .set(Set::Verify, Some(config_of(PROGRAM)))
            .await
            .unwrap();
        let saved = client.set(Set::VerifyAndSave, Some(config_of(PROGRAM)));
        saved.await.unwrap();
        client.set(Set::Commit, None).await.unwrap();
        let entry = rig.entry("exact_one", vec![exact(1, &[7])], 0, "send", &[&[4]]);
        client.write(vec![insert(entry.clone())]).await.unwrap();
        let config = Some(config_of(PROGRAM));
        client.set(Set::ReconcileAndCommit, config).await.unwrap();
        let table_id = rig.table("exact_one");
        let filter = v1::TableEntry {
            table_id,
            ..Default::default()
        };
        assert!(client.entries(filter).await.contains(&entry));
        rig.wires.send(PortId::new(2), &[0, 0, 0, 0, 7, 0, 0]);
        assert!(rig.wires.receive(WAIT).is_some(), "{executor:?}");
        let wrong = v1::ForwardingPipelineConfig {
            p4info: Some(rig.info.clone()),
            ..pushed(&PROGRAM.replace("bit<16> extra", "bit<16 extra"))
        };
        let refused = client
            .set(Set::VerifyAndCommit, Some(wrong))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("bit<16 extra"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_a_limit_building_is_refused_and_the_limit_is_named() {
    let limits = BuildLimits::default();
    let memory = BuildLimits {
        memory: Bytes::new(64 << 20),
        ..limits
    };
    let processor = BuildLimits {
        processor: Duration::from_secs(1),
        ..limits
    };
    let time = BuildLimits {
        time: Duration::from_millis(100),
        ..limits
    };
    for (limits, program, named) in [
        (memory, tables(20_000), "67108864 bytes of memory"),
        (processor, tables(20_000), "1 s of processor time"),
        (time, tables(2_000), "0.1 s"),
    ] {
        let rig = rig(limited(limits), ExecutorKind::Compile).await;
        let mut client = rig.client(Some(1), "").await;
        let refused = client
            .set(Set::Verify, Some(pushed(&program)))
            .await
            .unwrap_err();
        assert_eq!(
            refused.code(),
            Code::ResourceExhausted,
            "{named}: {refused}"
        );
        assert!(refused.message().contains(named), "{named}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_fails_otherwise_is_an_internal_error_that_says_how() {
    for (script, said) in [
        ("echo oh no >&2; exit 3", "status 3: oh no"),
        ("kill -9 $$", "signal 9"),
        ("/bin/cat >/dev/null & exit 0", "cannot be read"),
    ] {
        let rig = Rig::start_as(shell(script)).await;
        let mut client = rig.client(Some(1), "").await;
        let failed = client
            .set(Set::Verify, Some(pushed("x")))
            .await
            .unwrap_err();
        assert_eq!(failed.code(), Code::Internal, "{failed}");
        assert!(failed.message().contains(said), "{failed}");
    }
    let missing = ChildBuilder {
        program: "/nowhere/at/all".into(),
        arguments: Vec::new(),
        limits: BuildLimits::default(),
    };
    let rig = Rig::start_as(config(missing)).await;
    let mut client = rig.client(Some(1), "").await;
    let failed = client
        .set(Set::Verify, Some(pushed("x")))
        .await
        .unwrap_err();
    assert_eq!(failed.code(), Code::Internal, "{failed}");
    assert!(failed.message().contains("/nowhere/at/all"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_program_is_built_all_others_go_on() {
    let rig = Rig::start_as(endless()).await;
    rig.server.switch().load(config_of(PROGRAM)).unwrap();
    let mut one = rig.client(Some(1), "").await;
    let call = begin(&one, Set::VerifyAndCommit, &config_of(PROGRAM));
    until("the child", || !children("/bin/sleep 1000").is_empty()).await;
    // Its own client writes and reads, and packets pass.
    let entry = rig.entry("exact_one", vec![exact(1, &[7])], 0, "send", &[&[4]]);
    one.write(vec![insert(entry)]).await.unwrap();
    let table_id = rig.table("exact_one");
    let filter = v1::TableEntry {
        table_id,
        ..Default::default()
    };
    assert!(!one.entries(filter).await.is_empty());
    rig.wires.send(PortId::new(2), &[0, 0, 0, 0, 7, 0, 0]);
    assert!(rig.wires.receive(WAIT).is_some());
    // So do other roles, and a client that takes this one's place: what it was building ends.
    let mut other = rig.client(Some(1), "other").await;
    let entry = rig.entry("exact_one", vec![exact(1, &[8])], 0, "send", &[&[4]]);
    other.write(vec![insert(entry)]).await.unwrap();
    assert!(!call.is_finished());
    let mut two = Client::silent(rig.connection().await, Some(2), "").await;
    two.say(arbitration(0, Some(2), "")).await;
    assert_eq!(two.arbitrated().await, (Code::Ok, Some(2)));
    assert_eq!(
        ended(call).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    until("the child ends", || children("/bin/sleep 1000").is_empty()).await;
    let entry = rig.entry("exact_one", vec![exact(1, &[9])], 0, "send", &[&[4]]);
    two.write(vec![insert(entry)]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_of_a_client_that_went_never_replaces_its_successors() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("go");
    let rig = Rig::start_as(gated(&gate)).await;
    let word = gate.display().to_string();
    let one = rig.client(Some(5), "").await;
    let call = begin(&one, Set::VerifyAndCommit, &config_of(&tables(3)));
    until("the child", || !children(&word).is_empty()).await;
    // The stream goes; the call does not. Another client comes with the same id.
    let mut calls = one.rpc.clone();
    drop(one);
    assert_eq!(
        ended(call).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    until("the child ends", || children(&word).is_empty()).await;
    let mut two = rig.client(Some(5), "").await;
    let call = begin(&two, Set::VerifyAndCommit, &config_of(PROGRAM));
    until("the child", || !children(&word).is_empty()).await;
    std::fs::write(&gate, "").unwrap();
    ended(call).await.unwrap();
    let asked = v1::GetForwardingPipelineConfigRequest::default();
    let answer = calls.get_forwarding_pipeline_config(asked).await.unwrap();
    let runs = answer.into_inner().config.unwrap();
    assert_eq!(runs.p4_device_config, PROGRAM.as_bytes());
    let entry = rig.entry("exact_one", vec![exact(1, &[9])], 0, "send", &[&[4]]);
    two.write(vec![insert(entry)]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_ends_its_child_and_makes_room() {
    let script = "exec /bin/sleep 1001";
    let rig = Rig::start_as(shell(script)).await;
    let client = rig.client(Some(1), "").await;
    let running = || children("/bin/sleep 1001").len();
    let program = config_of(PROGRAM);
    // One is built, the others wait, more than that are refused at once.
    let mut calls = vec![begin(&client, Set::Verify, &program)];
    until("the first child", || running() == 1).await;
    calls.extend((0..MAX_WAITING).map(|_| begin(&client, Set::Verify, &program)));
    let refused = loop {
        // The calls that wait have perhaps not come yet; then this one waits.
        let mut call = begin(&client, Set::Verify, &program);
        match tokio::time::timeout(Duration::from_millis(200), &mut call).await {
            Ok(refused) => break refused.unwrap().unwrap_err(),
            Err(_) => calls.push(call),
        }
    };
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert_eq!(running(), 1);
    for call in calls.iter().rev() {
        call.abort();
    }
    until("all children end", || running() == 0).await;
    // There is room again, and a turn.
    let call = begin(&client, Set::Verify, &program);
    until("another child", || running() == 1).await;
    call.abort();
    until("it ends", || running() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_waits_for_no_build() {
    let rig = Rig::start_as(shell("exec /bin/sleep 1002")).await;
    let client = rig.client(Some(1), "").await;
    let call = begin(&client, Set::Verify, &config_of(PROGRAM));
    let running = || children("/bin/sleep 1002").len();
    until("the child", || running() == 1).await;
    let began = Instant::now();
    rig.server.stop().await;
    assert!(began.elapsed() < WAIT);
    assert!(ended(call).await.is_err());
    until("the child ends", || running() == 0).await;
}

#[test]
fn a_child_whose_switch_is_gone_ends_though_it_is_busy() {
    let recorded = tempfile::tempdir().unwrap();
    let request = recorded.path().join("request");
    record(&request, &tables(20_000));
    let mut child = Command::new(BUILDER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, &std::fs::read(&request).unwrap()).unwrap();
    // A switch that is killed closes its end, whatever it was doing.
    drop(input);
    let status = child.wait().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(signal, Some(9), "{status}");
}

/// What a switch sends its child, caught by a child that writes it to a file.
fn record(file: &PathBuf, program: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let script = format!("exec /bin/cat > '{}'", file.display());
        let rig = Rig::start_as(shell(&script)).await;
        let client = rig.client(Some(1), "").await;
        let pushed = pushed(program);
        let call = begin(&client, Set::Verify, &pushed);
        // The program comes last.
        let whole = || std::fs::read(file).is_ok_and(|sent| sent.ends_with(program.as_bytes()));
        until("the request", whole).await;
        call.abort();
    });
}

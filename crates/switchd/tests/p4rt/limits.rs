//! What clients cannot take: memory, threads, connections and roles beyond the limits; and that
//! slow readers see one moment.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use conformance::rates::{Kind, Load, Session};
use p4runtime::client::Connection;
use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use p4runtime::p4::v1::update::Type;
use prost::Message as _;
use quantities::PortId;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::limits::Limits;
use switchd::server::{Server, ServerConfig};
use tokio::io::AsyncReadExt as _;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use crate::support::{
    Client, PROGRAM, Rig, WAIT, arbitration, config_of, exact, insert, lpm, modify, update,
};

/// A table for many entries, with what packets change beside them.
const LARGE: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<32> to; }
struct H { h_t h; }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets) hits;
    action send(bit<9> port) { s.egress_spec = port; hits.count(); }
    action drop() { mark_to_drop(s); hits.count(); }
    table routes {
        key = { h.h.to: lpm; }
        actions = { send; drop; }
        default_action = drop();
        counters = hits;
        size = 100000;
    }
    apply { routes.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// Entries that are more than a client's window, the server's and the sockets' buffers hold
/// together.
const ENTRIES: u32 = 80_000;

fn limited(change: impl FnOnce(&mut Limits)) -> ServerConfig {
    let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    change(&mut config.limits);
    config
}

/// A switch with many entries, and their table.
async fn large(config: ServerConfig) -> (Rig, Client, u32) {
    let mut rig = Rig::start_as(config).await;
    let mut client = rig.client(Some(1), "").await;
    let program = config_of(LARGE);
    rig.info = program.p4info.clone().unwrap();
    client
        .set(Set::VerifyAndCommit, Some(program))
        .await
        .unwrap();
    let table = rig.table("routes");
    for first in (0..ENTRIES).step_by(4000) {
        let entries = first..first + 4000;
        let entries = entries.map(|to| insert(route(&rig, to, 1)));
        client.write(entries.collect()).await.unwrap();
    }
    (rig, client, table)
}

fn route(rig: &Rig, to: u32, port: u8) -> v1::TableEntry {
    rig.entry(
        "routes",
        vec![lpm(1, &to.to_be_bytes(), 32)],
        0,
        "send",
        &[&[port]],
    )
}

/// A client that lets the server send little unasked.
async fn narrow(rig: &Rig) -> Connection {
    let endpoint = Channel::from_shared(format!("http://{}", rig.server.address())).unwrap();
    let endpoint = endpoint
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(65_535);
    Connection::new(endpoint.connect().await.unwrap(), WAIT)
}

fn all_of(table_id: u32, counters: bool) -> v1::ReadRequest {
    let entry = v1::TableEntry {
        table_id,
        counter_data: counters.then(v1::CounterData::default),
        ..Default::default()
    };
    v1::ReadRequest {
        entities: vec![v1::Entity {
            entity: Some(Entity::TableEntry(entry)),
        }],
        ..Default::default()
    }
}

/// The ports of the entries in a part of an answer.
fn ports_of(answer: v1::ReadResponse) -> Vec<Vec<u8>> {
    let port = |entity: v1::Entity| {
        let Some(Entity::TableEntry(entry)) = entity.entity else {
            panic!("{entity:?}")
        };
        let Some(v1::table_action::Type::Action(action)) = entry.action.unwrap().r#type else {
            panic!("no action")
        };
        action.params[0].value.clone()
    };
    answer.entities.into_iter().map(port).collect()
}

/// The ports of all entries that still come.
async fn drain(answers: &mut Streaming<v1::ReadResponse>) -> Result<Vec<Vec<u8>>, Status> {
    let mut ports = Vec::new();
    while let Some(answer) = tokio::time::timeout(WAIT, answers.message())
        .await
        .unwrap()?
    {
        ports.extend(ports_of(answer));
    }
    Ok(ports)
}

/// Changes all entries while a client has begun to read them, and takes the rest only then.
async fn read_slowly(config: ServerConfig, counters: bool) -> Result<Vec<Vec<u8>>, Status> {
    let (rig, mut client, table) = large(config).await;
    let mut rpc = narrow(&rig).await.rpc();
    let mut answers = rpc
        .read(all_of(table, counters))
        .await
        .unwrap()
        .into_inner();
    // With its first part the answer has its moment.
    let first = answers.message().await?.unwrap();
    for first in (0..ENTRIES).step_by(4000) {
        let changed = (first..first + 4000).map(|to| modify(route(&rig, to, 2)));
        client.write(changed.collect()).await.unwrap();
    }
    let mut ports = ports_of(first);
    ports.extend(drain(&mut answers).await?);
    let again = rpc.read(all_of(table, counters)).await.unwrap();
    let changed = drain(&mut again.into_inner()).await.unwrap();
    assert_eq!(changed, vec![vec![2]; ENTRIES as usize]);
    Ok(ports)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_sees_one_moment_and_writers_do_not_wait_for_it() {
    let ports = read_slowly(limited(|_| {}), false).await.unwrap();
    assert_eq!(ports, vec![vec![1]; ENTRIES as usize]);
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_one_that_reads_counters_too() {
    let ports = read_slowly(limited(|_| {}), true).await.unwrap();
    assert_eq!(ports, vec![vec![1]; ENTRIES as usize]);
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_one_where_no_further_copy_is_kept() {
    let ports = read_slowly(limited(|l| l.copies = 0), false).await.unwrap();
    assert_eq!(ports, vec![vec![1]; ENTRIES as usize]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_for_a_slow_reader_of_counters_has_a_limit() {
    let refused = read_slowly(limited(|l| l.answer = 1 << 20), true).await;
    assert_eq!(refused.unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_take_nothing_keep_no_thread_from_others() {
    let config = limited(|l| {
        l.read_threads = 2;
        l.stalled = Duration::from_millis(100);
    });
    let (rig, _client, table) = large(config).await;
    let mut stalled = Vec::new();
    for _ in 0..6 {
        let mut rpc = narrow(&rig).await.rpc();
        stalled.push(rpc.read(all_of(table, false)).await.unwrap().into_inner());
    }
    let mut rpc = narrow(&rig).await.rpc();
    let mut answers = rpc.read(all_of(table, false)).await.unwrap().into_inner();
    assert_eq!(drain(&mut answers).await.unwrap().len(), ENTRIES as usize);
    // The first was ended long ago; whoever is late is told.
    let ended = drain(&mut stalled[0]).await.unwrap_err();
    assert_eq!(ended.code(), Code::Aborted, "{ended}");
    // A client that has gone frees its place at once.
    drop(stalled);
    let mut answers = rpc.read(all_of(table, false)).await.unwrap().into_inner();
    assert_eq!(drain(&mut answers).await.unwrap().len(), ENTRIES as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_a_client_and_in_all_are_counted() {
    let config = limited(|l| {
        l.reads_of_client = 2;
        l.reads = 3;
    });
    let (rig, _client, table) = large(config).await;
    let mut rpc = narrow(&rig).await.rpc();
    let open = async |rpc: &mut P4RuntimeClient<Channel>| {
        rpc.read(all_of(table, false))
            .await
            .map(tonic::Response::into_inner)
    };
    let (one, _two) = (open(&mut rpc).await.unwrap(), open(&mut rpc).await.unwrap());
    let refused = open(&mut rpc).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    let mut other = narrow(&rig).await.rpc();
    let _three = open(&mut other).await.unwrap();
    assert_eq!(
        open(&mut other).await.unwrap_err().code(),
        Code::ResourceExhausted
    );
    drop(one);
    let end = Instant::now() + WAIT;
    while open(&mut other).await.is_err() {
        assert!(Instant::now() < end, "the place is free again");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_not_even_the_end_of_an_answer_makes_room_for_others() {
    let config = limited(|l| {
        l.reads = 1;
        l.patience = Duration::from_millis(100);
    });
    let (rig, _client, table) = large(config).await;
    let mut rpc = narrow(&rig).await.rpc();
    let mut abandoned = rpc.read(all_of(table, false)).await.unwrap().into_inner();
    let mut other = narrow(&rig).await.rpc();
    let end = Instant::now() + WAIT;
    let mut answers = loop {
        match other.read(all_of(table, false)).await {
            Ok(answers) => break answers.into_inner(),
            Err(refused) => assert_eq!(refused.code(), Code::ResourceExhausted),
        }
        assert!(Instant::now() < end, "there is room again");
        tokio::task::yield_now().await;
    };
    assert_eq!(drain(&mut answers).await.unwrap().len(), ENTRIES as usize);
    drain(&mut abandoned).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_have_limits() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let limits = Limits::DEFAULT;
    let entity = v1::Entity {
        entity: Some(Entity::CounterEntry(v1::CounterEntry {
            index: Some(v1::Index { index: 0 }),
            counter_id: rig.info.counters[0].preamble.as_ref().unwrap().id,
            data: None,
        })),
    };
    let most = vec![entity.clone(); limits.entities];
    assert_eq!(
        client.read_raw(most.clone()).await.unwrap().len(),
        limits.entities
    );
    let more = [most, vec![entity]].concat();
    let refused = client.read_raw(more).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    // A message of half a megabyte, hundreds in memory if it were taken.
    let refused = client
        .write(vec![v1::Update::default(); limits.updates + 1])
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_client_have_a_limit() {
    let rig = Rig::start_as(limited(|l| l.requests_of_client = 1 << 20)).await;
    let mut client = rig.ready().await;
    let mut config = config_of(PROGRAM);
    config.p4_device_config.resize(2 << 20, b' ');
    let refused = client.set(Set::Verify, Some(config.clone())).await;
    assert_eq!(refused.unwrap_err().code(), Code::ResourceExhausted);
    config.p4_device_config.resize(1 << 19, b' ');
    for _ in 0..4 {
        client.set(Set::Verify, Some(config.clone())).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_may_carry_more_than_the_limit_one_message_after_the_other() {
    let rig = Rig::start_as(limited(|l| l.requests_of_client = 1 << 20)).await;
    let mut client = rig.ready().await;
    for round in 0..40u8 {
        let packet = v1::PacketOut {
            payload: vec![round; 60_000],
            metadata: Vec::new(),
        };
        let message = v1::stream_message_request::Update::Packet(packet);
        client.say(message).await;
        assert!(
            matches!(client.hear().await.unwrap(), Answer::Error(_)),
            "{round}"
        );
    }
}

fn in_role(name: &str, config: Option<prost_types::Any>) -> v1::stream_message_request::Update {
    let mut message = arbitration(0, Some(1), name);
    if let v1::stream_message_request::Update::Arbitration(update) = &mut message
        && let Some(role) = &mut update.role
    {
        role.config = config;
    }
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_are_few_and_their_names_and_configs_short() {
    let config = limited(|l| {
        l.roles = 2;
        l.role_name = 20;
        l.role_config = 1000;
    });
    let rig = Rig::start_as(config).await;
    let ends = async |message: v1::stream_message_request::Update| {
        let mut client = Client::silent(rig.connection().await, Some(1), "").await;
        client.say(message).await;
        client.hear().await.unwrap_err().code()
    };
    assert_eq!(
        ends(in_role(&"x".repeat(21), None)).await,
        Code::InvalidArgument
    );
    let mut names = prost_types::Struct::default();
    names
        .fields
        .insert("x".repeat(1000), prost_types::Value::default());
    let long = prost_types::Any {
        type_url: "type.googleapis.com/google.protobuf.Struct".to_owned(),
        value: names.encode_to_vec(),
    };
    assert_eq!(
        ends(in_role("long", Some(long))).await,
        Code::InvalidArgument
    );
    // Roles that never had a primary are forgotten when their clients go.
    for name in ["a", "b", "c", "d"] {
        let mut client = Client::silent(rig.connection().await, None, name).await;
        client.say(arbitration(0, None, name)).await;
        assert_eq!(client.arbitrated().await, (Code::NotFound, None));
        drop(client);
        let end = Instant::now() + WAIT;
        while rig.server.switch().roles().knows(name) {
            assert!(Instant::now() < end, "role `{name}` is forgotten");
            tokio::task::yield_now().await;
        }
    }
    // Those that had one are remembered, without clients too.
    for name in ["e", "f"] {
        drop(rig.client(Some(1), name).await);
    }
    assert_eq!(ends(in_role("g", None)).await, Code::ResourceExhausted);
    let mut again = rig.client(Some(2), "f").await;
    again.say(arbitration(0, Some(3), "f")).await;
    assert_eq!(again.arbitrated().await, (Code::Ok, Some(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_does_not_arbitrate_is_ended() {
    let rig = Rig::start_as(limited(|l| l.arbitration = Duration::from_millis(50))).await;
    let mut silent = Client::silent(rig.connection().await, None, "").await;
    let mut client = rig.ready().await;
    let ended = silent.hear().await.unwrap_err();
    assert_eq!(ended.code(), Code::DeadlineExceeded, "{ended}");
    // Who has arbitrated may be silent.
    client.say(arbitration(0, Some(2), "")).await;
    assert_eq!(client.arbitrated().await, (Code::Ok, Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_a_client_and_in_all_are_counted() {
    let config = limited(|l| {
        l.streams_of_client = 2;
        l.streams = 3;
    });
    let rig = Rig::start_as(config).await;
    let (first, second) = (rig.channel().await, rig.channel().await);
    let open = async |rpc: &P4RuntimeClient<Channel>| {
        let mut rpc = rpc.clone();
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        let requests = tokio_stream::wrappers::ReceiverStream::new(receiver);
        let opened = rpc.stream_channel(requests).await;
        opened
            .map(|answers| (answers, sender))
            .map_err(|e| e.code())
    };
    let one = open(&first).await.unwrap();
    let _two = open(&first).await.unwrap();
    assert_eq!(open(&first).await.unwrap_err(), Code::ResourceExhausted);
    let _three = open(&second).await.unwrap();
    assert_eq!(open(&second).await.unwrap_err(), Code::ResourceExhausted);
    drop(one);
    let end = Instant::now() + WAIT;
    while open(&second).await.is_err() {
        assert!(Instant::now() < end, "the place is free again");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_that_a_primary_does_not_take_are_lost_and_counted() {
    let rig = Rig::start_as(limited(|l| l.outbox = 8 << 10)).await;
    let mut client = Client::open(narrow(&rig).await, Some(1), "").await;
    client
        .set(Set::VerifyAndCommit, Some(config_of(PROGRAM)))
        .await
        .unwrap();
    let to_cpu = rig.entry("exact_one", vec![exact(1, &[1])], 0, "to_cpu", &[]);
    client.write(vec![insert(to_cpu)]).await.unwrap();
    let packet = [&[9, 0, 0, 0, 1, 0, 0][..], &[7; 1000]].concat();
    let lost = || rig.server.switch().roles().lost();
    let end = Instant::now() + WAIT;
    while lost() == 0 {
        assert!(Instant::now() < end, "what is not taken is not kept");
        rig.wires.send(PortId::new(6), &packet);
        tokio::task::yield_now().await;
    }
    // What was there comes, and then new ones.
    assert!(matches!(client.hear().await.unwrap(), Answer::Packet(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_counted_and_silent_ones_closed() {
    let config = limited(|l| {
        l.connections = 2;
        l.hello = Duration::from_millis(50);
    });
    let rig = Rig::start_as(config).await;
    let closed = async |mut socket: tokio::net::TcpStream| {
        loop {
            match tokio::time::timeout(WAIT, socket.read(&mut [0; 64])).await {
                Ok(Ok(0) | Err(_)) => return true,
                // The server's own preface.
                Ok(Ok(_)) => {}
                Err(_) => return false,
            }
        }
    };
    let silent = tokio::net::TcpStream::connect(rig.server.address())
        .await
        .unwrap();
    assert!(closed(silent).await, "a connection that says nothing");
    let _one = rig.client(Some(1), "").await;
    let two = rig.client(Some(2), "").await;
    let third = tokio::net::TcpStream::connect(rig.server.address())
        .await
        .unwrap();
    assert!(closed(third).await, "a connection too many");
    drop(two);
    let end = Instant::now() + WAIT;
    loop {
        let endpoint = Channel::from_shared(format!("http://{}", rig.server.address())).unwrap();
        let mut rpc = match endpoint.connect().await {
            Ok(channel) => P4RuntimeClient::new(channel),
            Err(_) => continue,
        };
        if rpc
            .capabilities(v1::CapabilitiesRequest::default())
            .await
            .is_ok()
        {
            break;
        }
        assert!(Instant::now() < end, "the place is free again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_meter_has_a_peak_rate_not_below_its_committed_rate() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let meter = |cir, pir| {
        let entry = v1::MeterEntry {
            meter_id: rig.info.meters[0].preamble.as_ref().unwrap().id,
            index: Some(v1::Index { index: 1 }),
            config: Some(v1::MeterConfig {
                cir,
                pir,
                cburst: 10,
                pburst: 10,
                eburst: 0,
            }),
            counter_data: None,
        };
        update(Type::Modify, Entity::MeterEntry(entry))
    };
    assert_eq!(client.one(meter(5, 5)).await, Code::Ok);
    let (code, said) = client.refused(meter(6, 5)).await;
    assert_eq!(code, Code::InvalidArgument);
    assert!(said.contains("cir 6") && said.contains("pir 5"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_shot_sets_and_replicas_have_limits() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let set = |key: u8, weights: &[i32]| {
        let actions = weights.iter().map(|weight| v1::ActionProfileAction {
            action: Some(rig.call("drop", &[])),
            weight: *weight,
            watch_kind: None,
        });
        v1::TableEntry {
            table_id: rig.table("ecmp"),
            r#match: vec![exact(1, &[key])],
            action: Some(v1::TableAction {
                r#type: Some(v1::table_action::Type::ActionProfileActionSet(
                    v1::ActionProfileActionSet {
                        action_profile_actions: actions.collect(),
                        ..Default::default()
                    },
                )),
            }),
            ..Default::default()
        }
    };
    // The selector's size is 16.
    assert_eq!(client.one(insert(set(1, &[10]))).await, Code::Ok);
    assert_eq!(
        client.one(insert(set(2, &[4, 3]))).await,
        Code::ResourceExhausted
    );
    assert_eq!(
        client.one(insert(set(2, &[i32::MAX; 4]))).await,
        Code::InvalidArgument
    );
    assert_eq!(client.one(insert(set(2, &[4, 2]))).await, Code::Ok);
    assert_eq!(
        client.one(modify(set(1, &[11]))).await,
        Code::ResourceExhausted
    );
    assert_eq!(client.one(modify(set(1, &[9]))).await, Code::Ok);
    assert_eq!(client.one(insert(set(3, &[1]))).await, Code::Ok);
    let group = |count: u32| {
        let replica = |instance| v1::Replica {
            port_kind: Some(v1::replica::PortKind::Port(vec![1])),
            instance,
            ..Default::default()
        };
        let entry = v1::MulticastGroupEntry {
            multicast_group_id: 1,
            replicas: (0..count).map(replica).collect(),
            ..Default::default()
        };
        let kind = v1::packet_replication_engine_entry::Type::MulticastGroupEntry(entry);
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
            r#type: Some(kind),
        })
    };
    let refused = client.one(update(Type::Insert, group(1025))).await;
    assert_eq!(refused, Code::ResourceExhausted);
    client
        .write(vec![
            update(Type::Insert, group(1024)),
            insert(rig.entry("exact_one", vec![exact(1, &[5])], 0, "group", &[&[1]])),
        ])
        .await
        .unwrap();
    rig.wires.send(PortId::new(2), &[9, 0, 0, 0, 5, 0, 0]);
    for copy in 0..1024 {
        assert!(rig.wires.receive(WAIT).is_some(), "copy {copy} comes out");
    }
}

/// The environment of the process that serves for
/// [`readers_that_take_nothing_do_not_fill_the_memory`].
const CHILD: &str = "P4RT_LIMITS_SERVER";

/// Not a test of its own: the server as a process, until its input ends.
#[tokio::test(flavor = "multi_thread")]
async fn server_in_a_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let (io, _wires) = MemoryIo::new();
    let (engine, notifications) = Engine::start(&EngineConfig::default(), io).unwrap();
    let config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    let server = Server::start(config, engine.handle().clone(), notifications)
        .await
        .unwrap();
    eprintln!("address {}", server.address());
    let read = || std::io::stdin().read_to_end(&mut Vec::new());
    tokio::task::spawn_blocking(read).await.unwrap().unwrap();
    server.stop().await;
    engine.stop();
}

/// The most memory that a process ever had, in MiB.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    kib.unwrap().parse::<u64>().unwrap() / 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_take_nothing_do_not_fill_the_memory() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "limits::server_in_a_child", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = said.map_while(Result::ok);
    let address = address
        .filter_map(|line| line.strip_prefix("address ").map(str::to_owned))
        .next()
        .unwrap();
    let program = conformance::rates::PROGRAM.as_bytes().to_vec();
    let session = Session::open(&address, 0, program).await.unwrap();
    let load = Load {
        kind: Kind::Lpm,
        entries: 50_000,
        batch: 1000,
        in_flight: 2,
    };
    session.fill(&load).await.unwrap();
    let before = peak(child.id());
    let mut reading = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
        let endpoint = endpoint
            .initial_stream_window_size(65_535)
            .initial_connection_window_size(65_535);
        let channel = endpoint.connect().await.unwrap();
        for _ in 0..75 {
            let mut rpc = P4RuntimeClient::new(channel.clone());
            let mut request = session.everything(Kind::Lpm);
            // One request may name a table often.
            request.entities = vec![request.entities[0].clone(); 100];
            reading.spawn(async move {
                let answers = rpc.read(request).await?;
                std::future::pending::<()>().await;
                drop(answers);
                Ok::<(), Status>(())
            });
        }
    }
    // Writers change the state again and again while readers come: each write is another moment.
    let end = Instant::now() + Duration::from_secs(6);
    let mut writes = 0;
    while Instant::now() < end {
        session.rewrite(Kind::Lpm, writes % 1000).await.unwrap();
        writes += 1;
    }
    let after = peak(child.id());
    println!("{before} MiB before, {after} MiB with readers; {writes} writes");
    // What slow readers may hold by the limits; a copy of the state for each reader would be
    // gigabytes.
    let limit = (Limits::DEFAULT.copies + Limits::DEFAULT.answers) as u64 >> 20;
    assert!(
        after < before + limit,
        "{before} MiB before, {after} MiB with readers, {limit} MiB allowed"
    );
    reading.abort_all();
    drop(child.stdin.take());
    drop(session);
    child.wait().unwrap();
}

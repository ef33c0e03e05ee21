//! Ports by name: types translated to strings and to other widths (P4Runtime 1.5, section 18.1).

use p4runtime::p4::v1;
use p4runtime::p4::v1::action_profile_action::WatchKind;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::p4::v1::replica::PortKind;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use p4runtime::p4::v1::stream_message_request::Update as Asked;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use p4runtime::p4::v1::table_action;
use p4runtime::p4::v1::update::Type;
use quantities::PortId;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::{Server, ServerConfig, ServerError};
use tonic::Code;

use crate::state::kept;
use crate::support::{
    CPU, Client, Rig, WAIT, config_of, direct, exact, info_of, insert, optional, update,
};

/// Sends by the port that came in, and by the first byte.
const NAMED: &str = r#"
#include <core.p4>
#include <v1model.p4>
@p4runtime_translation("", string)
type bit<9> port_id_t;
@controller_header("packet_in") header in_t { port_id_t from; bit<7> pad; }
@controller_header("packet_out") header out_t { port_id_t to; bit<7> pad; }
header h_t { bit<8> to; }
struct H { in_t punted; out_t sent; h_t h; }
struct M { port_id_t port; }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start {
        m.port = (port_id_t) s.ingress_port;
        transition select(s.ingress_port) { 255: sent; default: body; }
    }
    state sent { b.extract(h.sent); transition body; }
    state body { b.extract(h.h); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action_selector(HashAlgorithm.crc16, 16, 8) paths;
    action send(port_id_t port) { s.egress_spec = (bit<9>) port; }
    action copy() { s.mcast_grp = 1; }
    action punt() { s.egress_spec = 255; }
    table by_port {
        key = { m.port: exact; h.h.to: exact; }
        actions = { send; copy; punt; }
    }
    table maybe { key = { m.port: optional; } actions = { send; } }
    table spread {
        key = { h.h.to: exact; m.port: selector; }
        actions = { send; }
        implementation = paths;
    }
    table begun {
        key = { m.port: exact; }
        actions = { send; }
        const entries = { (port_id_t) 3: send((port_id_t) 4); }
    }
    apply {
        if (h.sent.isValid()) { s.egress_spec = (bit<9>) h.sent.to; h.sent.setInvalid(); }
        else { begun.apply(); maybe.apply(); spread.apply(); by_port.apply(); }
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) {
    apply { if (s.egress_port == 255) { h.punted.setValid(); h.punted.from = m.port; h.punted.pad = 0; } }
}
control C(inout H h, inout M m) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.punted); b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

/// The ports that are interfaces.
const INTERFACES: [(u16, &str); 3] = [(1, "Ethernet0"), (2, "Ethernet4"), (3, "eth\u{e9}")];

async fn try_start(config: ServerConfig, interfaces: &[(u16, &str)]) -> Result<Rig, ServerError> {
    let (io, wires) = MemoryIo::new();
    let engine = EngineConfig {
        ports: (1..=8).map(PortId::new).collect(),
        cpu_port: Some(PortId::new(CPU)),
        ..EngineConfig::default()
    };
    let (engine, notifications) = Engine::start(&engine, io).unwrap();
    for (port, name) in interfaces {
        let names = engine.handle().port_names();
        names.set(PortId::new(*port), Some(name));
    }
    let server = Server::start(config, engine.handle().clone(), notifications).await?;
    Ok(Rig {
        engine,
        server,
        wires,
        info: info_of(NAMED),
    })
}

async fn start(config: ServerConfig) -> Rig {
    try_start(config, &INTERFACES).await.unwrap()
}

async fn ready(rig: &Rig) -> Client {
    let mut client = rig.client(Some(1), "").await;
    let set = client
        .set(Set::VerifyAndCommit, Some(config_of(NAMED)))
        .await;
    set.unwrap();
    client
}

fn by_port(rig: &Rig, port: &str, to: u8, action: &str, args: &[&[u8]]) -> v1::TableEntry {
    let key = vec![exact(1, port.as_bytes()), exact(2, &[to])];
    rig.entry("by_port", key, 0, action, args)
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_ports_stand_for_their_numbers_and_read_back_equal() {
    let dir = tempfile::tempdir().unwrap();
    let rig = start(kept(dir.path())).await;
    let mut client = ready(&rig).await;
    let name = |text: &'static str| text.as_bytes();
    let written = vec![
        by_port(&rig, "Ethernet0", 9, "send", &[name("Ethernet4")]),
        // A port that is no interface goes by its number.
        by_port(&rig, "Ethernet4", 9, "send", &[name("7")]),
        by_port(&rig, "eth\u{e9}", 9, "punt", &[]),
        by_port(&rig, "49", 9, "copy", &[]),
    ];
    let inserts = written.iter().cloned().map(insert).collect();
    client.write(inserts).await.unwrap();
    for (from, to) in [(1, 2), (2, 7)] {
        rig.wires.send(PortId::new(from), &[9]);
        let sent = rig.wires.receive(WAIT).unwrap();
        assert_eq!((sent.0, sent.1.as_slice()), (PortId::new(to), &[9][..]));
    }
    let filter = v1::TableEntry {
        table_id: rig.table("by_port"),
        ..Default::default()
    };
    let mut read = client.entries(filter.clone()).await;
    let mut expected = written.clone();
    let sort = |all: &mut Vec<v1::TableEntry>| all.sort_by_key(|e| format!("{e:?}"));
    sort(&mut read);
    sort(&mut expected);
    assert_eq!(read, expected);
    // What the program itself says has names too.
    let begun = client
        .entries(v1::TableEntry {
            table_id: rig.table("begun"),
            ..Default::default()
        })
        .await;
    assert_eq!(begun[0].r#match, [exact(1, name("eth\u{e9}"))]);
    assert_eq!(
        begun[0].action,
        Some(direct(rig.call("send", &[name("4")])))
    );

    // After a kill, after a stop, and where an interface has another number.
    drop(client);
    let image = std::fs::read(dir.path().join("state")).unwrap();
    let copy = tempfile::tempdir().unwrap();
    std::fs::write(copy.path().join("state"), image).unwrap();
    let moved = [(5, "Ethernet0"), (2, "Ethernet4"), (3, "eth\u{e9}")];
    for interfaces in [INTERFACES, INTERFACES, moved] {
        let again = try_start(kept(copy.path()), &interfaces).await.unwrap();
        let mut client = again.client(Some(1), "").await;
        let mut read = client.entries(filter.clone()).await;
        sort(&mut read);
        assert_eq!(read, expected);
        again.wires.send(PortId::new(interfaces[0].0), &[9]);
        assert_eq!(again.wires.receive(WAIT).unwrap().0, PortId::new(2));
        let Rig { server, engine, .. } = again;
        server.stop().await;
        engine.stop();
    }
    let lacking = try_start(kept(copy.path()), &INTERFACES[1..]).await;
    let text = lacking.err().unwrap().to_string();
    assert!(text.contains("no port 'Ethernet0'"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_names_no_port_is_refused() {
    let rig = start(ServerConfig::new(([127, 0, 0, 1], 0).into())).await;
    let mut client = ready(&rig).await;
    for (port, why) in [
        ("Ethernet8", "Ethernet0"),
        ("1", "goes by the name 'Ethernet0'"),
        ("", "no port ''"),
        ("07", "no port '07'"),
        ("512", "9 bits"),
    ] {
        let entry = by_port(&rig, port, 1, "copy", &[]);
        let (code, message) = client.refused(insert(entry)).await;
        let expected = if port == "512" {
            Code::OutOfRange
        } else {
            Code::InvalidArgument
        };
        assert!(
            code == expected && message.contains(why),
            "{port}: {message}"
        );
    }
    let maybe = rig.entry("maybe", vec![optional(1, b"Ethernet4")], 3, "send", &[b"5"]);
    client.write(vec![insert(maybe.clone())]).await.unwrap();
    let filter = v1::TableEntry {
        table_id: rig.table("maybe"),
        ..Default::default()
    };
    assert_eq!(client.entries(filter).await, [maybe]);
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_replicas_and_watched_ports_have_names() {
    let rig = start(ServerConfig::new(([127, 0, 0, 1], 0).into())).await;
    let mut client = ready(&rig).await;
    let replica = |port: &str| v1::Replica {
        port_kind: Some(PortKind::Port(port.as_bytes().to_vec())),
        instance: 1,
        ..Default::default()
    };
    let group = |ports: &[&str]| {
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
            r#type: Some(Replication::MulticastGroupEntry(v1::MulticastGroupEntry {
                multicast_group_id: 1,
                replicas: ports.iter().map(|p| replica(p)).collect(),
                ..Default::default()
            })),
        })
    };
    let (code, message) = client.refused(update(Type::Insert, group(&["1"]))).await;
    assert!(
        code == Code::InvalidArgument && message.contains("Ethernet0"),
        "{message}"
    );
    let written = group(&["Ethernet4", "5"]);
    let watched = |port: &[u8], to: &[u8]| v1::ActionProfileAction {
        action: Some(rig.call("send", &[to])),
        weight: 1,
        watch_kind: Some(WatchKind::WatchPort(port.to_vec())),
    };
    let set = v1::ActionProfileActionSet {
        action_profile_actions: vec![watched(b"Ethernet0", b"Ethernet0"), watched(b"6", b"6")],
        ..Default::default()
    };
    let spread = v1::TableEntry {
        table_id: rig.table("spread"),
        r#match: vec![exact(1, &[77])],
        action: Some(v1::TableAction {
            r#type: Some(table_action::Type::ActionProfileActionSet(set)),
        }),
        ..Default::default()
    };
    let punt = by_port(&rig, "Ethernet4", 3, "punt", &[]);
    let updates = vec![
        update(Type::Insert, written.clone()),
        insert(spread.clone()),
        insert(punt),
    ];
    client.write(updates).await.unwrap();
    let all = Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(Replication::MulticastGroupEntry(
            v1::MulticastGroupEntry::default(),
        )),
    });
    assert_eq!(client.read(vec![all]).await.unwrap(), [written]);
    let filter = v1::TableEntry {
        table_id: rig.table("spread"),
        ..Default::default()
    };
    assert_eq!(client.entries(filter).await, [spread]);

    rig.wires.send(PortId::new(2), &[3, 1, 2]);
    let Answer::Packet(packet) = client.hear().await.unwrap() else {
        panic!("no packet")
    };
    assert_eq!(packet.metadata[0].value, b"Ethernet4");
    assert_eq!(packet.payload, [3, 1, 2]);
    let mut metadata = packet.metadata.clone();
    metadata[0].value = b"Ethernet0".to_vec();
    let packet = v1::PacketOut {
        payload: vec![8, 8],
        metadata,
    };
    let packet = Asked::Packet(packet);
    client.say(packet).await;
    let sent = rig.wires.receive(WAIT).unwrap();
    assert_eq!((sent.0, sent.1.as_slice()), (PortId::new(1), &[8, 8][..]));
    assert_eq!(CPU, 255, "as the program says");
}

#[tokio::test(flavor = "multi_thread")]
async fn strings_that_nobody_can_translate_are_refused_with_their_program() {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    for (changed, why) in [
        (NAMED.replace("port_id_t", "vrf_t"), "only ports have names"),
        (
            NAMED.replace("m.port: optional", "m.port: ternary"),
            "matched as `ternary`",
        ),
    ] {
        let refused = client
            .set(Set::VerifyAndCommit, Some(config_of(&changed)))
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::Unimplemented, "{refused}");
        assert!(refused.message().contains(why), "{refused}");
    }
}

/// Numbers stay what they are, but the header on the CPU port has the program's widths.
#[tokio::test(flavor = "multi_thread")]
async fn another_width_is_for_the_control_plane_only() {
    let rig = Rig::start().await;
    let program = NAMED.replace(r#"("", string)"#, r#"("p4.org/psa/v1/PortId_t", 32)"#);
    let mut rig = rig;
    rig.info = info_of(&program);
    let mut client = rig.client(Some(1), "").await;
    let set = client
        .set(Set::VerifyAndCommit, Some(config_of(&program)))
        .await;
    set.unwrap();
    let key = |port: &[u8]| vec![exact(1, port), exact(2, &[3])];
    let entry = rig.entry("by_port", key(&[0, 0, 1, 2]), 0, "punt", &[]);
    client.write(vec![insert(entry)]).await.unwrap();
    let wide = rig.entry("by_port", key(&[0, 0, 2, 0]), 0, "punt", &[]);
    assert_eq!(client.one(insert(wide)).await, Code::OutOfRange);
    let near = rig.entry("by_port", key(&[5]), 0, "punt", &[]);
    client.write(vec![insert(near)]).await.unwrap();
    rig.wires.send(PortId::new(5), &[3, 1]);
    let Answer::Packet(packet) = client.hear().await.unwrap() else {
        panic!("no packet")
    };
    assert_eq!(
        (
            packet.metadata[0].value.as_slice(),
            packet.payload.as_slice()
        ),
        (&[5][..], &[3, 1][..])
    );
}

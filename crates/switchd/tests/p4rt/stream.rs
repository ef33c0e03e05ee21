//! Packets, digests, idle entries (P4Runtime 1.5, sections 9.8, 16.1 and 16.4).

use p4runtime::p4::v1;
use p4runtime::p4::v1::digest_entry::Config;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::p4_data::Data;
use p4runtime::p4::v1::stream_message_request::Update as Asked;
use p4runtime::p4::v1::stream_message_response::Update as Answer;
use p4runtime::p4::v1::update::Type;
use quantities::PortId;
use tonic::Code;

use crate::support::{Client, Rig, WAIT, exact, insert, modify, update};

fn packet_out(payload: &[u8], metadata: &[(u32, &[u8])]) -> Asked {
    let metadata = metadata.iter().map(|(id, value)| v1::PacketMetadata {
        metadata_id: *id,
        value: value.to_vec(),
    });
    Asked::Packet(v1::PacketOut {
        payload: payload.to_vec(),
        metadata: metadata.collect(),
    })
}

async fn error(client: &mut Client) -> (Code, bool) {
    match client.hear().await.unwrap() {
        Answer::Error(error) => {
            let of_packet = matches!(error.details, Some(v1::stream_error::Details::PacketOut(_)));
            (error.canonical_code.into(), of_packet)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p27_packets_out_carry_exactly_the_header_and_the_stream_survives() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let body = [1, 0, 0, 0, 0, 0, 0, 42];
    for wrong in [
        packet_out(&body, &[]),
        packet_out(&body, &[(1, &[2])]),
        packet_out(&body, &[(1, &[2]), (2, &[0]), (3, &[0])]),
        packet_out(&body, &[(1, &[2]), (1, &[2])]),
        packet_out(&body, &[(1, &[4, 0]), (2, &[0])]),
    ] {
        client.say(wrong).await;
        let (code, of_packet) = error(&mut client).await;
        assert!(
            matches!(code, Code::InvalidArgument | Code::OutOfRange) && of_packet,
            "{code}"
        );
    }
    client.say(packet_out(&body, &[(2, &[0]), (1, &[5])])).await;
    let (port, packet) = rig.wires.receive(WAIT).unwrap();
    assert_eq!((port, &packet[..]), (PortId::new(5), &body[..]));
    let mut backup = rig.client(Some(0), "").await;
    backup.say(packet_out(&body, &[(1, &[5]), (2, &[0])])).await;
    assert_eq!(error(&mut backup).await, (Code::PermissionDenied, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn p27_packets_in_go_to_the_primary_with_their_metadata() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    client
        .write(vec![insert(rig.entry(
            "exact_one",
            vec![exact(1, &[1])],
            0,
            "to_cpu",
            &[],
        ))])
        .await
        .unwrap();
    let packet = [9, 0, 0, 0, 1, 0, 0, 77];
    rig.wires.send(PortId::new(6), &packet);
    match client.hear().await.unwrap() {
        Answer::Packet(packet_in) => {
            assert_eq!(packet_in.payload, &packet[..]);
            let values: Vec<_> = packet_in
                .metadata
                .iter()
                .map(|m| (m.metadata_id, m.value.to_vec()))
                .collect();
            assert_eq!(values, [(1, vec![6]), (2, vec![0])]);
        }
        other => panic!("{other:?}"),
    }
    // Another primary takes over, and gets the packets.
    let mut next = rig.client(Some(2), "").await;
    rig.wires.send(PortId::new(6), &packet);
    assert!(matches!(next.hear().await.unwrap(), Answer::Packet(_)));
    assert_eq!(client.arbitrated().await, (Code::AlreadyExists, Some(2)));
}

fn learn_config(rig: &Rig, config: Config) -> Entity {
    Entity::DigestEntry(v1::DigestEntry {
        digest_id: rig.info.digests[0].preamble.as_ref().unwrap().id,
        config: Some(config),
    })
}

async fn digest(client: &mut Client) -> v1::DigestList {
    match client.hear().await.unwrap() {
        Answer::Digest(list) => list,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn digests_come_in_lists_without_repetition_until_acknowledged() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let config = Config {
        max_timeout_ns: 3_600_000_000_000,
        max_list_size: 2,
        ack_timeout_ns: 3_600_000_000_000,
    };
    let entity = learn_config(&rig, config);
    let learn = modify(v1::TableEntry {
        is_default_action: true,
        ..rig.entry("exact_one", vec![], 0, "learn", &[])
    });
    for (verb, wanted) in [
        (Type::Modify, Code::NotFound),
        (Type::Insert, Code::Ok),
        (Type::Insert, Code::AlreadyExists),
        (Type::Modify, Code::Ok),
    ] {
        assert_eq!(client.one(update(verb, entity.clone())).await, wanted);
    }
    assert_eq!(
        client
            .read(vec![Entity::DigestEntry(v1::DigestEntry::default())])
            .await
            .unwrap(),
        [entity.clone()]
    );
    client.write(vec![learn]).await.unwrap();
    let send = |to: u8| rig.wires.send(PortId::new(2), &[0, 0, 0, 0, to, 0, 0]);
    for to in [1, 1, 1, 2] {
        send(to);
    }
    let list = digest(&mut client).await;
    let member = |to: u8, port: u8| {
        let bits = |v: u8| v1::P4Data {
            data: Some(Data::Bitstring(vec![v])),
        };
        let members = vec![bits(to), bits(port)];
        v1::P4Data {
            data: Some(Data::Struct(v1::P4StructLike { members })),
        }
    };
    assert_eq!(
        list.data,
        [member(1, 2), member(2, 2)],
        "distinct, in order"
    );
    // 1 and 2 are not told again until the list is acknowledged.
    for to in [1, 2, 3, 4] {
        send(to);
    }
    assert_eq!(digest(&mut client).await.data, [member(3, 2), member(4, 2)]);
    let ack = v1::DigestListAck {
        digest_id: list.digest_id,
        list_id: list.list_id,
    };
    client.say(Asked::DigestAck(ack)).await;
    // The acknowledgement and the packets travel by different ways: send until it has arrived.
    let again = loop {
        for to in [1, 2] {
            send(to);
        }
        let next =
            tokio::time::timeout(std::time::Duration::from_millis(50), client.stream.next()).await;
        if let Ok(message) = next {
            break message.unwrap().unwrap();
        }
    };
    // It may have arrived between the two.
    let either = [
        vec![member(1, 2), member(2, 2)],
        vec![member(2, 2), member(1, 2)],
    ];
    assert!(matches!(again, Answer::Digest(list) if either.contains(&list.data)));
    let wrong = v1::DigestListAck {
        digest_id: 5,
        list_id: 1,
    };
    client.say(Asked::DigestAck(wrong)).await;
    assert_eq!(error(&mut client).await, (Code::InvalidArgument, false));
    assert_eq!(client.one(update(Type::Delete, entity)).await, Code::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_does_not_wait_longer_than_it_may() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let config = Config {
        max_timeout_ns: 20_000_000,
        max_list_size: 100,
        ack_timeout_ns: 0,
    };
    let learn = modify(v1::TableEntry {
        is_default_action: true,
        ..rig.entry("exact_one", vec![], 0, "learn", &[])
    });
    client
        .write(vec![
            update(Type::Insert, learn_config(&rig, config)),
            learn,
        ])
        .await
        .unwrap();
    for _ in 0..2 {
        rig.wires.send(PortId::new(2), &[0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(
            digest(&mut client).await.data.len(),
            1,
            "without acknowledgement it is told each time"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_idle_entries_are_told_again_and_again_and_hits_count() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let mut entry = rig.entry("exact_one", vec![exact(1, &[1])], 0, "send", &[&[2]]);
    entry.idle_timeout_ns = 60_000_000;
    entry.metadata = b"old".as_slice().into();
    client.write(vec![insert(entry.clone())]).await.unwrap();
    for _ in 0..2 {
        match client.hear().await.unwrap() {
            Answer::IdleTimeoutNotification(told) => {
                assert_eq!(told.table_entry.len(), 1);
                let told = &told.table_entry[0];
                assert_eq!(
                    (told.table_id, &told.r#match),
                    (entry.table_id, &entry.r#match)
                );
                assert_eq!(
                    (told.idle_timeout_ns, &told.metadata),
                    (60_000_000, &entry.metadata)
                );
            }
            other => panic!("{other:?}"),
        }
    }
    let filter = v1::TableEntry {
        table_id: entry.table_id,
        time_since_last_hit: Some(v1::table_entry::IdleTimeout::default()),
        ..Default::default()
    };
    let idle = client.entries(filter.clone()).await[0]
        .time_since_last_hit
        .unwrap()
        .elapsed_ns;
    assert!(idle >= 120_000_000, "two notifications: {idle}");
    rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 1, 0, 0]);
    assert!(rig.wires.receive(WAIT).is_some());
    let hit = client.entries(filter.clone()).await[0]
        .time_since_last_hit
        .unwrap()
        .elapsed_ns;
    assert!(hit < idle, "{hit}");
    let mut timeless = rig.entry("begun", vec![exact(1, &[1])], 0, "send", &[&[2]]);
    timeless.idle_timeout_ns = 5;
    assert_eq!(client.one(insert(timeless)).await, Code::InvalidArgument);
    let not_aging = v1::TableEntry {
        table_id: rig.table("begun"),
        ..filter
    };
    let refused = client
        .read(vec![Entity::TableEntry(not_aging)])
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::Unknown);
}

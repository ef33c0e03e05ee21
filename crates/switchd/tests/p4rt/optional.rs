//! What the standard leaves open and this switch has: meters that count per colour, direct
//! resources of default entries, backup replicas.

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::p4::v1::update::Type;
use quantities::PortId;
use tonic::Code;

use crate::support::{Client, Rig, WAIT, exact, insert, modify, update};

/// So many packets of each colour, of seven bytes.
fn marked(packets: [i64; 3]) -> v1::MeterCounterData {
    let [green, yellow, red] = packets.map(|packet_count| {
        Some(v1::CounterData {
            packet_count,
            byte_count: packet_count * 7,
        })
    });
    v1::MeterCounterData { green, yellow, red }
}

/// Packets that reach the tables, each waited for.
async fn send(rig: &Rig, kind: u8, extra: u8, count: usize) {
    for _ in 0..count {
        rig.wires
            .send(PortId::new(1), &[kind, 0, 0, 0, 1, 0, extra]);
        assert!(rig.wires.receive(WAIT).is_some());
    }
}

async fn one(client: &mut Client, entity: Entity) -> Entity {
    let mut found = client.read(vec![entity]).await.unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn meters_count_what_they_mark_by_colour() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let to_two = rig.entry("exact_one", vec![exact(1, &[1])], 0, "send", &[&[2]]);
    let mut policed = rig.entry("policed", vec![exact(1, &[1])], 0, "metered", &[]);
    // Buckets that are never filled again: one packet is green, one yellow, the rest red.
    policed.meter_config = Some(v1::MeterConfig {
        cir: 0,
        cburst: 1,
        pir: 0,
        pburst: 2,
        eburst: 0,
    });
    client
        .write(vec![insert(to_two), insert(policed.clone())])
        .await
        .unwrap();
    send(&rig, 3, 1, 5).await;
    let key = v1::TableEntry {
        table_id: policed.table_id,
        r#match: policed.r#match.clone(),
        ..Default::default()
    };
    let direct = |counter_data, config| {
        Entity::DirectMeterEntry(v1::DirectMeterEntry {
            table_entry: Some(Box::new(key.clone())),
            config,
            counter_data,
        })
    };
    let asked = Some(v1::MeterCounterData::default());
    assert_eq!(
        one(&mut client, direct(asked, None)).await,
        direct(Some(marked([1, 1, 3])), policed.meter_config)
    );
    assert_eq!(
        one(&mut client, direct(None, None)).await,
        direct(None, policed.meter_config),
        "only if asked"
    );
    let filter = v1::TableEntry {
        meter_counter_data: Some(Box::default()),
        ..key.clone()
    };
    let found = client.entries(filter.clone()).await;
    assert_eq!(
        found[0].meter_counter_data.as_deref(),
        Some(&marked([1, 1, 3]))
    );
    // A modification that does not speak of it leaves it; one that does sets it to zero, and to
    // nothing else.
    client.write(vec![modify(policed.clone())]).await.unwrap();
    let found = client.entries(filter.clone()).await;
    assert_eq!(
        found[0].meter_counter_data.as_deref(),
        Some(&marked([1, 1, 3]))
    );
    let wrong = direct(Some(marked([10, 0, 0])), policed.meter_config);
    let code = client.one(update(Type::Modify, wrong)).await;
    assert_eq!(code, Code::InvalidArgument);
    let set = direct(asked, policed.meter_config);
    client.write(vec![update(Type::Modify, set)]).await.unwrap();
    send(&rig, 3, 1, 1).await;
    let found = client.entries(filter.clone()).await;
    assert_eq!(
        found[0].meter_counter_data.as_deref(),
        Some(&marked([1, 0, 0])),
        "its buckets are full again"
    );
    policed.meter_counter_data = Some(Box::new(marked([0, 2, 0])));
    let code = client.one(modify(policed.clone())).await;
    assert_eq!(code, Code::InvalidArgument);
    policed.meter_counter_data = Some(Box::default());
    client.write(vec![modify(policed.clone())]).await.unwrap();
    let found = client.entries(filter).await;
    assert_eq!(
        found[0].meter_counter_data.as_deref(),
        Some(&marked([0, 0, 0]))
    );
    // Indexed meters do so too: all seven packets were of kind 3, and without a configuration all
    // are green.
    let meter_id = rig.info.meters[0].preamble.as_ref().unwrap().id;
    let cell = |index, counter_data| {
        Entity::MeterEntry(v1::MeterEntry {
            meter_id,
            index: Some(v1::Index { index }),
            config: None,
            counter_data,
        })
    };
    assert_eq!(
        one(&mut client, cell(3, asked)).await,
        cell(3, Some(marked([6, 0, 0])))
    );
    let wrong = cell(4, Some(marked([1, 2, 3])));
    let code = client.one(update(Type::Modify, wrong)).await;
    assert_eq!(code, Code::InvalidArgument);
    let set = cell(3, Some(marked([0, 0, 0])));
    client
        .write(vec![update(Type::Modify, set.clone())])
        .await
        .unwrap();
    assert_eq!(one(&mut client, cell(3, asked)).await, set);
    // Where there is no meter there is nothing to count.
    let mut plain = rig.entry("exact_one", vec![exact(1, &[9])], 0, "drop", &[]);
    plain.meter_counter_data = Some(Box::default());
    assert_eq!(client.one(insert(plain)).await, Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn default_entries_have_direct_resources() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let data = v1::CounterData {
        packet_count: 9,
        byte_count: 90,
    };
    let default = v1::TableEntry {
        table_id: rig.table("acl"),
        is_default_action: true,
        ..Default::default()
    };
    let counted = v1::TableEntry {
        counter_data: Some(data),
        action: Some(crate::support::direct(rig.call("counted", &[]))),
        ..default.clone()
    };
    client.write(vec![modify(counted.clone())]).await.unwrap();
    let asked = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        ..default.clone()
    };
    assert_eq!(client.entries(asked).await, [counted]);
    let counter = |data| {
        Entity::DirectCounterEntry(v1::DirectCounterEntry {
            table_entry: Some(Box::new(default.clone())),
            data,
        })
    };
    let to_two = rig.entry("exact_one", vec![exact(1, &[1])], 0, "send", &[&[2]]);
    client.write(vec![insert(to_two)]).await.unwrap();
    send(&rig, 0, 0, 1).await;
    let grown = v1::CounterData {
        packet_count: 10,
        byte_count: 97,
    };
    assert_eq!(
        one(&mut client, counter(None)).await,
        counter(Some(grown)),
        "the data plane counts on"
    );
}

fn group(backups: &[(u8, u32)]) -> Entity {
    let backup = |&(port, instance): &(u8, u32)| v1::BackupReplica {
        port: vec![port],
        instance,
    };
    Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(Engine::MulticastGroupEntry(v1::MulticastGroupEntry {
            multicast_group_id: 6,
            replicas: vec![v1::Replica {
                instance: 1,
                port_kind: Some(v1::replica::PortKind::Port(vec![3])),
                backup_replicas: backups.iter().map(backup).collect(),
            }],
            metadata: Vec::new(),
        })),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_replicas_take_over_while_ports_are_down() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let flood = rig.entry("exact_one", vec![exact(1, &[1])], 0, "group", &[&[6]]);
    client
        .write(vec![
            update(Type::Insert, group(&[(4, 2), (5, 3)])),
            insert(flood),
        ])
        .await
        .unwrap();
    let read = group(&[]);
    assert_eq!(
        one(&mut client, read.clone()).await,
        group(&[(4, 2), (5, 3)])
    );
    let engine = rig.engine.handle().clone();
    let leaves = |expected: u16| {
        rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(rig.wires.receive(WAIT).unwrap().0, PortId::new(expected));
    };
    let set = |port: u16, up: bool| engine.set_port_up(PortId::new(port), up).unwrap();
    leaves(3);
    set(3, false);
    leaves(4);
    set(4, false);
    leaves(5);
    set(3, true);
    leaves(3);
    // Without them the copy goes to its own port, up or down.
    client
        .write(vec![update(Type::Modify, group(&[]))])
        .await
        .unwrap();
    assert_eq!(one(&mut client, read.clone()).await, group(&[]));
    for faulty in [&[(3, 2)][..], &[(4, 2), (4, 3)], &[(4, 70_000)]] {
        let (code, text) = client.refused(update(Type::Modify, group(faulty))).await;
        assert_eq!(code, Code::InvalidArgument);
        assert!(
            text.contains("replica 0") && text.contains("backup"),
            "{text}"
        );
    }
    client
        .write(vec![update(Type::Modify, group(&[(4, 2)]))])
        .await
        .unwrap();
    client
        .write(vec![
            update(Type::Delete, group(&[])),
            update(Type::Insert, group(&[])),
        ])
        .await
        .unwrap();
    assert_eq!(
        one(&mut client, read).await,
        group(&[]),
        "backups go with their group"
    );
}

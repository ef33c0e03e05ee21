//! Batches, reads, counters, meters, registers, value sets (P4Runtime 1.5, chapters 9, 12 and 13).

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::p4_data::Data;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::write_request::Atomicity;
use quantities::PortId;
use tonic::Code;

use crate::support::{Rig, WAIT, codes, direct, exact, insert, lpm, modify, optional, update};

fn all(rig: &Rig, table: &str) -> v1::TableEntry {
    v1::TableEntry {
        table_id: rig.table(table),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_p21_each_update_has_its_error_and_three_modes_differ() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let good = |to: u8| insert(rig.entry("exact_one", vec![exact(1, &[to])], 0, "send", &[&[1]]));
    let bad = || {
        insert(rig.entry(
            "exact_one",
            vec![exact(1, &[1, 0, 0, 0, 0])],
            0,
            "drop",
            &[],
        ))
    };
    let result = client.write(vec![good(1), bad(), good(1), good(2)]).await;
    let wanted = [Code::Ok, Code::OutOfRange, Code::AlreadyExists, Code::Ok];
    assert_eq!(codes(&result, 4), wanted);
    let message = result.unwrap_err().message().to_owned();
    assert!(
        message.contains("number 1") && message.contains("to"),
        "{message}"
    );
    for mode in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let before = client.entries(v1::TableEntry::default()).await;
        let result = client
            .write_as(vec![good(5), modify_to(&rig, 1, 3), bad(), good(6)], mode)
            .await;
        let wanted = [
            Code::Aborted,
            Code::Aborted,
            Code::OutOfRange,
            Code::Aborted,
        ];
        assert_eq!(codes(&result, 4), wanted);
        assert_eq!(
            client.entries(v1::TableEntry::default()).await,
            before,
            "as if it never was"
        );
        client
            .write_as(vec![modify_to(&rig, 1, 2)], mode)
            .await
            .unwrap();
    }
    // The data plane, too, never saw the batches that were taken back.
    rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(rig.wires.receive(WAIT).unwrap().0, PortId::new(2));
    let strange = v1::WriteRequest {
        atomicity: 9,
        ..client.request(vec![], Atomicity::ContinueOnError)
    };
    assert_eq!(
        client.rpc.write(strange).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    let unspecified = update(
        Type::Unspecified,
        Entity::TableEntry(all(&rig, "exact_one")),
    );
    let empty = v1::Update {
        r#type: Type::Insert.into(),
        entity: None,
    };
    let result = client.write(vec![unspecified, empty]).await;
    assert_eq!(codes(&result, 2), [Code::InvalidArgument; 2]);
}

fn modify_to(rig: &Rig, to: u8, port: u8) -> v1::Update {
    modify(rig.entry("exact_one", vec![exact(1, &[to])], 0, "send", &[&[port]]))
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_thousand_errors_arrive() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let bad = || insert(rig.entry("exact_one", vec![exact(1, &[])], 0, "drop", &[]));
    let result = client.write((0..1000).map(|_| bad()).collect()).await;
    assert_eq!(codes(&result, 1000), vec![Code::OutOfRange; 1000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn p22_concurrent_batches_are_as_one_after_the_other() {
    // Each batch writes its own number into the same keys, in another order, as a whole. Whatever
    // the interleaving: all keys show the same batch in the end, and every read on the way shows
    // one batch only.
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    const KEYS: u8 = 20;
    let first =
        (0..KEYS).map(|k| insert(rig.entry("exact_one", vec![exact(1, &[k])], 0, "send", &[&[1]])));
    client.write(first.collect()).await.unwrap();
    let mut writers = Vec::new();
    for writer in 0..4u8 {
        let mut rpc = rig.channel().await;
        let batch = |round: u8| {
            let port = 1 + (writer * 50 + round) % 200;
            let keys = (0..KEYS).map(|k| (k * 7 + writer * 3) % KEYS);
            client.request(
                keys.map(|k| modify_to(&rig, k, port)).collect(),
                Atomicity::DataplaneAtomic,
            )
        };
        let batches: Vec<_> = (0..50).map(batch).collect();
        writers.push(tokio::spawn(async move {
            for batch in batches {
                rpc.write(batch).await.unwrap();
            }
        }));
    }
    let mut reads = 0;
    while writers.iter().any(|w| !w.is_finished()) || reads == 0 {
        let found = client.entries(all(&rig, "exact_one")).await;
        let actions: std::collections::HashSet<_> =
            found.iter().map(|e| format!("{:?}", e.action)).collect();
        assert_eq!(actions.len(), 1, "a read shows one batch");
        reads += 1;
    }
    for writer in writers {
        writer.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p22_when_a_write_returns_the_data_plane_has_it() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    client
        .write(vec![insert(rig.entry(
            "exact_one",
            vec![exact(1, &[1])],
            0,
            "send",
            &[&[1]],
        ))])
        .await
        .unwrap();
    for port in (1..=8).cycle().take(100) {
        client.write(vec![modify_to(&rig, 1, port)]).await.unwrap();
        rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(rig.wires.receive(WAIT).unwrap().0, PortId::new(port.into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p23_reads_by_everything_the_standard_filters_by() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let acl = |key: u8, priority, action, metadata: &'static [u8]| v1::TableEntry {
        metadata: metadata.into(),
        ..rig.entry("acl", vec![optional(3, &[key])], priority, action, &[])
    };
    let (a, b, c) = (
        acl(1, 1, "counted", b""),
        acl(2, 2, "NoAction", b"x"),
        acl(3, 2, "counted", b"y"),
    );
    client
        .write([&a, &b, &c].map(|e| insert(e.clone())).to_vec())
        .await
        .unwrap();
    let filter = all(&rig, "acl");
    let by = |change: &dyn Fn(&mut v1::TableEntry)| {
        let mut filter = filter.clone();
        change(&mut filter);
        filter
    };
    assert_eq!(
        client.entries(by(&|_| ())).await,
        [a.clone(), b.clone(), c.clone()]
    );
    assert_eq!(
        client.entries(by(&|f| f.priority = 2)).await,
        [b.clone(), c.clone()]
    );
    assert_eq!(
        client
            .entries(by(&|f| f.metadata = b"x".as_slice().into()))
            .await,
        [b.clone()]
    );
    let action = v1::Action {
        action_id: rig.action("counted"),
        params: vec![],
    };
    let counted = by(&|f| f.action = Some(direct(action.clone())));
    assert_eq!(client.entries(counted).await, [a.clone(), c.clone()]);
    let key = by(&|f| (f.r#match, f.priority) = (b.r#match.clone(), 2));
    assert_eq!(client.entries(key).await, [b.clone()]);
    let everything = client.entries(v1::TableEntry::default()).await;
    assert!(
        everything.iter().all(|e| !e.is_default_action),
        "defaults only when asked"
    );
    assert_eq!(
        everything.len(),
        3 + 2 + 2,
        "three, and those of the program"
    );
    let defaults = client
        .entries(v1::TableEntry {
            is_default_action: true,
            ..Default::default()
        })
        .await;
    assert_eq!(defaults.len(), rig.info.tables.len());
    let wrong = Entity::TableEntry(v1::TableEntry {
        priority: 2,
        ..Default::default()
    });
    let empty = v1::Entity { entity: None };
    let unknown = Entity::TableEntry(v1::TableEntry {
        table_id: 99,
        ..Default::default()
    });
    let good = Entity::TableEntry(filter.clone());
    let asked = vec![
        v1::Entity {
            entity: Some(wrong),
        },
        empty,
        v1::Entity { entity: Some(good) },
        v1::Entity {
            entity: Some(unknown),
        },
    ];
    let result = client.read_raw(asked).await.map(|_| ());
    let wanted = [
        Code::InvalidArgument,
        Code::InvalidArgument,
        Code::Ok,
        Code::NotFound,
    ];
    assert_eq!(codes(&result, 4), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn p24_large_reads_come_in_parts() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let entry = |to: u32| {
        insert(rig.entry(
            "routes",
            vec![lpm(1, &(to << 8).to_be_bytes(), 24)],
            0,
            "drop",
            &[],
        ))
    };
    client.write((1..1024).map(entry).collect()).await.unwrap();
    let wildcard = vec![
        v1::Entity {
            entity: Some(Entity::TableEntry(all(&rig, "routes")))
        };
        5
    ];
    let request = v1::ReadRequest {
        entities: wildcard,
        ..Default::default()
    };
    let mut answers = client.rpc.read(request).await.unwrap().into_inner();
    let (mut parts, mut entities) = (0, 0);
    while let Some(answer) = answers.message().await.unwrap() {
        parts += 1;
        entities += answer.entities.len();
    }
    assert_eq!(entities, 5 * 1023);
    assert!(parts >= 2, "{parts}");
}

fn index(index: i64) -> Option<v1::Index> {
    Some(v1::Index { index })
}

#[tokio::test(flavor = "multi_thread")]
async fn p24_indirect_counters_meters_and_registers() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let id = |p: &Option<p4runtime::p4::config::v1::Preamble>| p.as_ref().unwrap().id;
    let counter_id = id(&rig.info.counters[0].preamble);
    let meter_id = id(&rig.info.meters[0].preamble);
    let register_id = id(&rig.info.registers[0].preamble);
    let data = |packets| {
        Some(v1::CounterData {
            byte_count: 0,
            packet_count: packets,
        })
    };
    let counter = |at, data| {
        Entity::CounterEntry(v1::CounterEntry {
            counter_id,
            index: at,
            data,
        })
    };
    let config = Some(v1::MeterConfig {
        cir: 10,
        cburst: 20,
        pir: 30,
        pburst: 40,
        eburst: 0,
    });
    let meter = |at, config| {
        Entity::MeterEntry(v1::MeterEntry {
            meter_id,
            index: at,
            config,
            counter_data: None,
        })
    };
    let bits = |value: u8| {
        Some(v1::P4Data {
            data: Some(Data::Bitstring(vec![value])),
        })
    };
    let register = |at, data| {
        Entity::RegisterEntry(v1::RegisterEntry {
            register_id,
            index: at,
            data,
        })
    };
    for (verb, entity, wanted) in [
        (
            Type::Insert,
            counter(index(1), data(5)),
            Code::InvalidArgument,
        ),
        (Type::Delete, meter(index(1), config), Code::InvalidArgument),
        (
            Type::Modify,
            counter(index(-1), data(5)),
            Code::InvalidArgument,
        ),
        (Type::Modify, counter(index(16), data(5)), Code::OutOfRange),
        (Type::Modify, counter(index(1), data(5)), Code::Ok),
        (Type::Modify, meter(index(8), config), Code::OutOfRange),
        (Type::Modify, meter(index(2), config), Code::Ok),
        (Type::Modify, register(index(32), bits(1)), Code::OutOfRange),
        (
            Type::Modify,
            register(index(3), None),
            Code::InvalidArgument,
        ),
        (Type::Modify, register(None, bits(7)), Code::Ok),
        (Type::Modify, register(index(3), bits(9)), Code::Ok),
    ] {
        let text = format!("{entity:?}");
        assert_eq!(client.one(update(verb, entity)).await, wanted, "{text}");
    }
    let read = client
        .read(vec![
            counter(index(1), None),
            meter(index(2), None),
            register(index(3), None),
        ])
        .await;
    assert_eq!(
        read.unwrap(),
        [
            counter(index(1), data(5)),
            meter(index(2), config),
            register(index(3), bits(9))
        ]
    );
    assert_eq!(
        client.read(vec![register(None, None)]).await.unwrap().len(),
        32
    );
    assert_eq!(
        client
            .read(vec![Entity::CounterEntry(v1::CounterEntry::default())])
            .await
            .unwrap()
            .len(),
        16
    );
    // The data plane counts on from there.
    client
        .write(vec![insert(rig.entry(
            "exact_one",
            vec![exact(1, &[0])],
            0,
            "send",
            &[&[2]],
        ))])
        .await
        .unwrap();
    rig.wires.send(PortId::new(1), &[1, 0, 0, 0, 0, 0, 5]);
    assert!(rig.wires.receive(WAIT).is_some());
    assert_eq!(
        client
            .read(vec![counter(index(1), None)])
            .await
            .unwrap()
            .len(),
        1
    );
    let read = client
        .read(vec![counter(index(1), None), register(index(1), None)])
        .await
        .unwrap();
    let Entity::CounterEntry(counted) = &read[0] else {
        panic!("{read:?}")
    };
    assert_eq!(counted.data.unwrap().packet_count, 6);
    assert_eq!(read[1], register(index(1), bits(12)));
}

#[tokio::test(flavor = "multi_thread")]
async fn p24_direct_counters_and_meters() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let data = |packet_count| {
        Some(v1::CounterData {
            byte_count: 9,
            packet_count,
        })
    };
    let mut acl = rig.entry("acl", vec![optional(3, &[1])], 4, "counted", &[]);
    acl.counter_data = data(100);
    let config = Some(v1::MeterConfig {
        cir: 1,
        cburst: 2,
        pir: 3,
        pburst: 4,
        eburst: 0,
    });
    let mut policed = rig.entry("policed", vec![exact(1, &[1])], 0, "metered", &[]);
    policed.meter_config = config;
    client
        .write(vec![insert(acl.clone()), insert(policed.clone())])
        .await
        .unwrap();
    let wants = |entry: &v1::TableEntry| v1::TableEntry {
        counter_data: entry.counter_data.map(|_| v1::CounterData::default()),
        meter_config: entry.meter_config.map(|_| v1::MeterConfig::default()),
        table_id: entry.table_id,
        ..Default::default()
    };
    assert_eq!(client.entries(wants(&acl)).await, [acl.clone()]);
    assert_eq!(client.entries(wants(&policed)).await, [policed.clone()]);
    let key = |entry: &v1::TableEntry| v1::TableEntry {
        table_id: entry.table_id,
        r#match: entry.r#match.clone(),
        priority: entry.priority,
        ..Default::default()
    };
    let counter = |entry: &v1::TableEntry, data| {
        Entity::DirectCounterEntry(v1::DirectCounterEntry {
            table_entry: Some(Box::new(key(entry))),
            data,
        })
    };
    let meter = |entry: &v1::TableEntry, config| {
        Entity::DirectMeterEntry(v1::DirectMeterEntry {
            table_entry: Some(Box::new(key(entry))),
            config,
            counter_data: None,
        })
    };
    let mut gone = acl.clone();
    gone.priority = 5;
    for (verb, entity, wanted) in [
        (Type::Insert, counter(&acl, data(1)), Code::InvalidArgument),
        (Type::Modify, counter(&gone, data(1)), Code::NotFound),
        (
            Type::Modify,
            counter(&policed, data(1)),
            Code::InvalidArgument,
        ),
        (Type::Modify, counter(&acl, data(7)), Code::Ok),
        (Type::Modify, meter(&policed, None), Code::Ok),
    ] {
        assert_eq!(client.one(update(verb, entity)).await, wanted);
    }
    let read = client
        .read(vec![counter(&acl, None), meter(&policed, None)])
        .await
        .unwrap();
    assert_eq!(read, [counter(&acl, data(7)), meter(&policed, None)]);
    // A modification resets the meter and leaves the counter, unless it says otherwise.
    acl.counter_data = None;
    client
        .write(vec![modify(acl.clone()), modify(policed.clone())])
        .await
        .unwrap();
    let read = client
        .read(vec![counter(&acl, None), meter(&policed, None)])
        .await
        .unwrap();
    assert_eq!(read, [counter(&acl, data(7)), meter(&policed, config)]);
    policed.meter_config = None;
    client.write(vec![modify(policed.clone())]).await.unwrap();
    assert_eq!(
        client.read(vec![meter(&policed, None)]).await.unwrap(),
        [meter(&policed, None)]
    );
    // Where there is no such resource it cannot be set.
    let mut plain = rig.entry("exact_one", vec![exact(1, &[1])], 0, "drop", &[]);
    plain.counter_data = data(1);
    assert_eq!(client.one(insert(plain)).await, Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn p24_value_sets() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let id = rig.info.value_sets[0].preamble.as_ref().unwrap().id;
    let set = |values: &[u8]| {
        Entity::ValueSetEntry(v1::ValueSetEntry {
            value_set_id: id,
            members: values
                .iter()
                .map(|v| v1::ValueSetMember {
                    r#match: vec![exact(1, &[*v])],
                })
                .collect(),
        })
    };
    for (verb, entity, wanted) in [
        (Type::Insert, set(&[1]), Code::InvalidArgument),
        (Type::Modify, set(&[1, 1]), Code::AlreadyExists),
        (Type::Modify, set(&[1, 2, 3, 4, 5]), Code::ResourceExhausted),
        (Type::Modify, set(&[1, 2]), Code::Ok),
    ] {
        assert_eq!(client.one(update(verb, entity)).await, wanted);
    }
    assert_eq!(client.read(vec![set(&[])]).await.unwrap(), [set(&[1, 2])]);
    rig.wires.send(PortId::new(1), &[2, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        rig.wires.receive(WAIT).unwrap().0,
        PortId::new(4),
        "the parser takes the way of the set"
    );
    assert_eq!(client.one(update(Type::Modify, set(&[]))).await, Code::Ok);
    assert_eq!(
        client
            .read(vec![Entity::ValueSetEntry(v1::ValueSetEntry::default())])
            .await
            .unwrap(),
        [set(&[])]
    );
}

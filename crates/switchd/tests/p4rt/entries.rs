//! Entries, profiles, replication (P4Runtime 1.5, sections 9.1, 9.2 and 9.5).

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::{action_profile_group, replica, table_action};
use quantities::PortId;
use tonic::Code;

use crate::support::{
    Rig, WAIT, delete, direct, exact, insert, lpm, modify, optional, ternary, update,
};

fn default(rig: &Rig, table: &str, action: Option<v1::Action>) -> v1::TableEntry {
    v1::TableEntry {
        table_id: rig.table(table),
        is_default_action: true,
        action: action.map(direct),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p13_the_default_entry_can_only_be_modified() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let send = default(&rig, "exact_one", Some(rig.call("send", &[&[3]])));
    assert_eq!(
        client.one(insert(send.clone())).await,
        Code::InvalidArgument
    );
    assert_eq!(
        client.one(delete(send.clone())).await,
        Code::InvalidArgument
    );
    let mut noted = send.clone();
    noted.metadata = b"mine".as_slice().into();
    assert_eq!(client.one(modify(noted.clone())).await, Code::Ok);
    let filter = default(&rig, "exact_one", None);
    assert_eq!(client.entries(filter.clone()).await, [noted.clone()]);
    rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(rig.wires.receive(WAIT).unwrap().0, PortId::new(3));
    assert_eq!(
        client.one(modify(filter.clone())).await,
        Code::Ok,
        "no action resets it"
    );
    let reset = client.entries(filter).await;
    assert_eq!(
        reset,
        [default(&rig, "exact_one", Some(rig.call("drop", &[])))]
    );
    let mut keyed = send.clone();
    keyed.r#match = vec![exact(1, &[1])];
    assert_eq!(client.one(modify(keyed)).await, Code::InvalidArgument);
    let mut ranked = send;
    ranked.priority = 1;
    assert_eq!(client.one(modify(ranked)).await, Code::InvalidArgument);
    let constant = default(&rig, "policed", Some(rig.call("NoAction", &[])));
    assert_eq!(client.one(modify(constant)).await, Code::PermissionDenied);
    let keyless = insert(rig.entry("keyless", vec![], 0, "send", &[&[1]]));
    assert_eq!(client.one(keyless).await, Code::InvalidArgument);
    let keyless = modify(default(&rig, "keyless", Some(rig.call("send", &[&[1]]))));
    assert_eq!(client.one(keyless).await, Code::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn p14_p15_const_entries_stay_and_others_do_not() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let fixed = v1::TableEntry {
        table_id: rig.table("fixed"),
        ..Default::default()
    };
    let found = client.entries(fixed).await;
    assert!(found.iter().all(|e| e.is_const), "{found:?}");
    let priorities: Vec<i32> = found.iter().map(|e| e.priority).collect();
    assert_eq!(priorities, [2, 1], "N..1 in the order of the program");
    for verb in [insert, delete, modify] {
        let mut entry = found[0].clone();
        entry.is_const = false;
        assert_eq!(client.one(verb(entry)).await, Code::PermissionDenied);
    }
    let mut without_action = found[0].clone();
    (without_action.is_const, without_action.action) = (false, None);
    assert_eq!(
        client.one(modify(without_action)).await,
        Code::Ok,
        "nothing but direct resources"
    );
    let begun = |key: u8| rig.entry("begun", vec![exact(1, &[key])], 0, "send", &[&[5]]);
    assert_eq!(client.one(modify(begun(201))).await, Code::Ok);
    assert_eq!(client.one(delete(begun(201))).await, Code::Ok);
    assert_eq!(client.one(insert(begun(201))).await, Code::Ok);
    assert_eq!(client.one(modify(begun(200))).await, Code::PermissionDenied);
    assert_eq!(client.one(delete(begun(200))).await, Code::PermissionDenied);
    let mut claims = begun(7);
    claims.is_const = true;
    assert_eq!(client.one(insert(claims)).await, Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn p16_actions_where_and_as_they_are_declared() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let routes = |action, args: &[&[u8]]| {
        insert(rig.entry("routes", vec![lpm(1, &[10, 0, 0, 0], 8)], 0, action, args))
    };
    assert_eq!(
        client.one(routes("NoAction", &[])).await,
        Code::PermissionDenied,
        "@defaultonly"
    );
    let table_only = modify(default(&rig, "routes", Some(rig.call("to_cpu", &[]))));
    assert_eq!(
        client.one(table_only).await,
        Code::PermissionDenied,
        "@tableonly"
    );
    assert_eq!(
        client.one(routes("counted", &[])).await,
        Code::InvalidArgument,
        "another table's"
    );
    assert_eq!(
        client.one(routes("send", &[])).await,
        Code::InvalidArgument,
        "a missing parameter"
    );
    assert_eq!(
        client.one(routes("send", &[&[1], &[1]])).await,
        Code::InvalidArgument,
        "one too many"
    );
    assert_eq!(
        client.one(routes("send", &[&[2, 0]])).await,
        Code::OutOfRange
    );
    let mut none = rig.entry("routes", vec![lpm(1, &[10, 0, 0, 0], 8)], 0, "drop", &[]);
    none.action = None;
    assert_eq!(client.one(insert(none)).await, Code::InvalidArgument);
    let mut unknown = rig.entry("routes", vec![], 0, "drop", &[]);
    unknown.table_id = 0x0200_0001;
    let (code, message) = client.refused(insert(unknown)).await;
    assert_eq!(code, Code::NotFound);
    assert!(message.contains("33554433"), "{message}");
    for (kind, wanted) in [
        (table_action::Type::ActionProfileMemberId(1), Code::NotFound),
        (table_action::Type::ActionProfileGroupId(1), Code::NotFound),
        (
            table_action::Type::Action(rig.call("send", &[&[1]])),
            Code::InvalidArgument,
        ),
    ] {
        let mut entry = rig.entry("ecmp", vec![exact(1, &[1])], 0, "send", &[&[1]]);
        entry.action = Some(v1::TableAction { r#type: Some(kind) });
        assert_eq!(client.one(insert(entry)).await, wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p17_modify_is_a_whole_snapshot_and_delete_needs_only_the_key() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let mut entry = rig.entry("exact_one", vec![exact(1, &[1])], 0, "send", &[&[1]]);
    assert_eq!(client.one(modify(entry.clone())).await, Code::NotFound);
    assert_eq!(client.one(delete(entry.clone())).await, Code::NotFound);
    entry.metadata = b"note".as_slice().into();
    entry.idle_timeout_ns = 1 << 60;
    #[allow(deprecated)]
    {
        entry.controller_metadata = 77;
    }
    assert_eq!(client.one(insert(entry.clone())).await, Code::Ok);
    let filter = v1::TableEntry {
        table_id: rig.table("exact_one"),
        ..Default::default()
    };
    assert_eq!(client.entries(filter.clone()).await, [entry.clone()]);
    let plain = rig.entry("exact_one", vec![exact(1, &[1])], 0, "send", &[&[2]]);
    assert_eq!(client.one(modify(plain.clone())).await, Code::Ok);
    assert_eq!(
        client.entries(filter.clone()).await,
        [plain.clone()],
        "what is left out is gone"
    );
    let mut noted = plain.clone();
    noted.action = None;
    noted.metadata = b"again".as_slice().into();
    assert_eq!(client.one(modify(noted.clone())).await, Code::Ok);
    noted.action = plain.action.clone();
    assert_eq!(
        client.entries(filter.clone()).await,
        [noted],
        "without action the action stays"
    );
    let mut nonsense = plain.clone();
    nonsense.action = Some(direct(v1::Action {
        action_id: 1,
        params: vec![],
    }));
    nonsense.idle_timeout_ns = -1;
    assert_eq!(client.one(delete(nonsense)).await, Code::Ok);
    assert!(client.entries(filter).await.is_empty());
    assert_eq!(
        client.one(insert(plain)).await,
        Code::Ok,
        "its note did not stay behind"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_table_says_so() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let entry = |key: u8| insert(rig.entry("acl", vec![optional(3, &[key])], 1, "NoAction", &[]));
    let updates = (0..8).map(entry).collect();
    client.write(updates).await.unwrap();
    let (code, message) = client.refused(entry(8)).await;
    assert_eq!(code, Code::ResourceExhausted);
    assert!(
        message.contains("I.acl") && message.contains("8 entries"),
        "{message}"
    );
}

fn group(rig: &Rig, id: u32, members: &[(u32, i32, Option<u8>)]) -> Entity {
    use action_profile_group::{Member, member::WatchKind};
    Entity::ActionProfileGroup(v1::ActionProfileGroup {
        action_profile_id: rig.profile("spread"),
        group_id: id,
        members: members
            .iter()
            .map(|(member_id, weight, watch)| Member {
                member_id: *member_id,
                weight: *weight,
                watch_kind: watch.map(|p| WatchKind::WatchPort(vec![p])),
            })
            .collect(),
        max_size: 0,
    })
}

fn member(rig: &Rig, id: u32, port: u8) -> Entity {
    Entity::ActionProfileMember(v1::ActionProfileMember {
        action_profile_id: rig.profile("spread"),
        member_id: id,
        action: Some(rig.call("send", &[&[port]])),
    })
}

fn to_group(rig: &Rig, key: u8, id: u32) -> v1::TableEntry {
    v1::TableEntry {
        action: Some(v1::TableAction {
            r#type: Some(table_action::Type::ActionProfileGroupId(id)),
        }),
        ..rig.entry("ecmp", vec![exact(1, &[key])], 0, "drop", &[])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p18_members_groups_weights_and_watched_ports() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let ins = |entity| update(Type::Insert, entity);
    for (entity, wanted) in [
        (member(&rig, 1, 1), Code::Ok),
        (member(&rig, 1, 1), Code::AlreadyExists),
        (member(&rig, 2, 2), Code::Ok),
        (member(&rig, 0, 2), Code::InvalidArgument),
        (
            group(&rig, 1, &[(1, 1, None), (9, 1, None)]),
            Code::NotFound,
        ),
        (group(&rig, 1, &[(1, 0, None)]), Code::InvalidArgument),
        (
            group(&rig, 1, &[(1, 1, None), (1, 1, None)]),
            Code::InvalidArgument,
        ),
        (group(&rig, 1, &[(1, 1, Some(77))]), Code::InvalidArgument),
        (
            group(&rig, 1, &[(1, 1, Some(1)), (2, 3, Some(2))]),
            Code::Ok,
        ),
        (group(&rig, 2, &[]), Code::Ok),
        (group(&rig, 3, &[(2, 1, Some(2))]), Code::Ok),
    ] {
        let text = format!("{entity:?}");
        assert_eq!(client.one(ins(entity)).await, wanted, "{text}");
    }
    let read = client
        .read(vec![Entity::ActionProfileGroup(v1::ActionProfileGroup {
            action_profile_id: rig.profile("spread"),
            group_id: 1,
            ..Default::default()
        })])
        .await
        .unwrap();
    assert_eq!(read, [group(&rig, 1, &[(1, 1, Some(1)), (2, 3, Some(2))])]);
    for (key, id) in [(1, 1), (2, 2), (3, 3)] {
        assert_eq!(client.one(insert(to_group(&rig, key, id))).await, Code::Ok);
    }
    for entity in [member(&rig, 1, 1), group(&rig, 1, &[])] {
        let refused = client.one(update(Type::Delete, entity)).await;
        assert_eq!(refused, Code::FailedPrecondition, "it is in use");
    }
    // A packet of kind 3 goes where member 2 sends it as long as port 2 is up.
    rig.wires.send(PortId::new(1), &[3, 0, 0, 0, 1, 0, 0]);
    assert_eq!(rig.wires.receive(WAIT).unwrap().0, PortId::new(2));
    rig.engine
        .handle()
        .set_port_up(PortId::new(2), false)
        .unwrap();
    for _ in 0..20 {
        rig.wires.send(PortId::new(1), &[1, 0, 0, 0, 1, 0, 0]);
        assert_eq!(
            rig.wires.receive(WAIT).unwrap().0,
            PortId::new(1),
            "only member 1 is alive"
        );
    }
    let profile = rig.profile("shared");
    let in_plain = Entity::ActionProfileGroup(v1::ActionProfileGroup {
        action_profile_id: profile,
        group_id: 1,
        ..Default::default()
    });
    assert_eq!(
        client.one(ins(in_plain)).await,
        Code::InvalidArgument,
        "no selector, no groups"
    );
    for id in 1..=5 {
        let entity = Entity::ActionProfileMember(v1::ActionProfileMember {
            action_profile_id: profile,
            member_id: id,
            action: Some(rig.call("drop", &[])),
        });
        let wanted = if id <= 4 {
            Code::Ok
        } else {
            Code::ResourceExhausted
        };
        assert_eq!(client.one(ins(entity)).await, wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p18_one_shot_sets_come_back_as_they_were_and_do_not_mix() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let one_shot = |key: u8, weights: &[i32]| {
        let actions = weights
            .iter()
            .zip(1u8..)
            .map(|(weight, port)| v1::ActionProfileAction {
                action: Some(rig.call("send", &[&[port]])),
                weight: *weight,
                watch_kind: Some(v1::action_profile_action::WatchKind::WatchPort(vec![port])),
            });
        v1::TableEntry {
            action: Some(v1::TableAction {
                r#type: Some(table_action::Type::ActionProfileActionSet(
                    v1::ActionProfileActionSet {
                        action_profile_actions: actions.collect(),
                        ..Default::default()
                    },
                )),
            }),
            ..rig.entry("ecmp", vec![exact(1, &[key])], 0, "drop", &[])
        }
    };
    assert_eq!(
        client.one(insert(one_shot(1, &[1, 0]))).await,
        Code::InvalidArgument
    );
    let entry = one_shot(1, &[1, 2]);
    assert_eq!(client.one(insert(entry.clone())).await, Code::Ok);
    let filter = v1::TableEntry {
        table_id: rig.table("ecmp"),
        ..Default::default()
    };
    assert_eq!(client.entries(filter).await, [entry.clone()]);
    let mixed = client.one(update(Type::Insert, member(&rig, 1, 1))).await;
    assert_eq!(mixed, Code::InvalidArgument);
    assert_eq!(client.one(delete(entry)).await, Code::Ok);
    assert_eq!(
        client.one(update(Type::Insert, member(&rig, 1, 1))).await,
        Code::Ok
    );
    assert_eq!(
        client.one(insert(one_shot(2, &[1]))).await,
        Code::InvalidArgument
    );
}

fn replicas(ports: &[(u8, u32)]) -> Vec<v1::Replica> {
    let replica = |(port, instance): &(u8, u32)| v1::Replica {
        port_kind: Some(replica::PortKind::Port(vec![*port])),
        instance: *instance,
        backup_replicas: vec![],
    };
    ports.iter().map(replica).collect()
}

fn multicast(id: u32, ports: &[(u8, u32)]) -> Entity {
    Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(Engine::MulticastGroupEntry(v1::MulticastGroupEntry {
            multicast_group_id: id,
            replicas: replicas(ports),
            metadata: b"m".as_slice().into(),
        })),
    })
}

fn session(id: u32, ports: &[(u8, u32)]) -> Entity {
    Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(Engine::CloneSessionEntry(v1::CloneSessionEntry {
            session_id: id,
            replicas: replicas(ports),
            class_of_service: 3,
            packet_length_bytes: 5,
        })),
    })
}

async fn out(rig: &Rig) -> (u16, usize) {
    let (port, bytes) = rig.wires.receive(WAIT).unwrap();
    (port.get(), bytes.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn p18_multicast_groups_and_clone_sessions() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    for (verb, entity, wanted) in [
        (Type::Insert, multicast(0, &[]), Code::InvalidArgument),
        (Type::Modify, multicast(1, &[]), Code::NotFound),
        (
            Type::Insert,
            multicast(1, &[(2, 1), (2, 1)]),
            Code::InvalidArgument,
        ),
        (
            Type::Insert,
            multicast(1, &[(2, 1 << 16)]),
            Code::InvalidArgument,
        ),
        (Type::Insert, multicast(1, &[(2, 1), (3, 1)]), Code::Ok),
        (Type::Insert, multicast(1, &[]), Code::AlreadyExists),
        (Type::Insert, session(0, &[]), Code::InvalidArgument),
        (Type::Insert, session(7, &[(4, 9)]), Code::Ok),
        (Type::Delete, session(8, &[]), Code::NotFound),
    ] {
        let text = format!("{entity:?}");
        assert_eq!(client.one(update(verb, entity)).await, wanted, "{text}");
    }
    let read = client
        .read(vec![multicast(0, &[]), session(0, &[])])
        .await
        .unwrap();
    assert_eq!(
        read,
        [multicast(1, &[(2, 1), (3, 1)]), session(7, &[(4, 9)])]
    );
    let entries = vec![
        insert(rig.entry("exact_one", vec![exact(1, &[1])], 0, "group", &[&[1]])),
        insert(rig.entry("exact_one", vec![exact(1, &[2])], 0, "copy", &[&[7]])),
    ];
    client.write(entries).await.unwrap();
    rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 1, 0, 0]);
    assert_eq!([out(&rig).await, out(&rig).await], [(2, 7), (3, 7)]);
    rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 2, 0, 0]);
    let copy = out(&rig).await;
    let copy = if copy.0 == 4 { copy } else { out(&rig).await };
    assert_eq!(copy, (4, 5), "cut to five bytes");
    for entity in [multicast(1, &[]), session(7, &[])] {
        assert_eq!(client.one(update(Type::Delete, entity)).await, Code::Ok);
    }
    assert!(
        client
            .read(vec![multicast(0, &[]), session(0, &[])])
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_highest_priority_wins() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let acl = |value: u8, priority, action| {
        insert(rig.entry(
            "acl",
            vec![ternary(1, &[value], &[value])],
            priority,
            action,
            &[],
        ))
    };
    client
        .write(vec![acl(1, 1, "counted"), acl(2, 9, "NoAction")])
        .await
        .unwrap();
    for to in [1, 3] {
        rig.wires.send(PortId::new(1), &[0, 0, 0, 0, to, 0, 0]);
    }
    rig.wires.send(PortId::new(1), &[2; 7]);
    let filter = v1::TableEntry {
        table_id: rig.table("acl"),
        counter_data: Some(v1::CounterData::default()),
        ..Default::default()
    };
    let deadline = std::time::Instant::now() + WAIT;
    let counted = loop {
        let found = client.entries(filter.clone()).await;
        let counts: Vec<i64> = found
            .iter()
            .map(|e| e.counter_data.unwrap().packet_count)
            .collect();
        if counts[0] >= 1 || std::time::Instant::now() > deadline {
            break counts;
        }
    };
    assert_eq!(
        counted[0], 1,
        "the packet to 3 matches both, and the other wins"
    );
}

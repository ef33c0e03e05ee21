//! Bad input: the right code, and a message that says which update, which field, what was expected.

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::write_request::Atomicity;
use tonic::Code;

use crate::support::{
    PROGRAM, Rig, config_of, exact, insert, lpm, modify, optional, range, ternary, update,
};

/// Every word must be in the text.
fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_faulty_update_is_told_its_field_and_what_was_expected() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let one = |key: v1::FieldMatch, action: &str, args: &[&[u8]]| {
        insert(rig.entry("exact_one", vec![key], 0, action, args))
    };
    let acl = |key, priority| insert(rig.entry("acl", vec![key], priority, "counted", &[]));
    let route = |key| insert(rig.entry("routes", vec![key], 0, "drop", &[]));
    let mut unknown_table = rig.entry("exact_one", vec![exact(1, &[1])], 0, "drop", &[]);
    unknown_table.table_id = 99;
    let mut unknown_action = rig.entry("exact_one", vec![exact(1, &[1])], 0, "drop", &[]);
    unknown_action.action = Some(crate::support::direct(v1::Action {
        action_id: 77,
        params: vec![],
    }));
    let cases: Vec<(v1::Update, Code, &[&str])> = vec![
        (insert(unknown_table), Code::NotFound, &["table", "99"]),
        (
            one(exact(1, &[1, 0, 0, 0, 0]), "drop", &[]),
            Code::OutOfRange,
            &["I.exact_one", "h.h.to", "32 bits"],
        ),
        (
            one(exact(1, &[]), "drop", &[]),
            Code::OutOfRange,
            &["I.exact_one", "h.h.to", "empty"],
        ),
        (
            one(exact(9, &[1]), "drop", &[]),
            Code::InvalidArgument,
            &["I.exact_one", "field 9"],
        ),
        (
            one(lpm(1, &[1], 8), "drop", &[]),
            Code::InvalidArgument,
            &["I.exact_one", "h.h.to", "exact"],
        ),
        (
            one(exact(1, &[1]), "send", &[&[2, 0]]),
            Code::OutOfRange,
            &["I.exact_one", "port", "send", "9 bits"],
        ),
        (
            one(exact(1, &[1]), "send", &[]),
            Code::InvalidArgument,
            &["I.exact_one", "send", "port", "missing"],
        ),
        (
            one(exact(1, &[1]), "drop", &[&[1]]),
            Code::InvalidArgument,
            &["I.exact_one", "drop", "parameter 1"],
        ),
        (
            one(exact(1, &[1]), "counted", &[]),
            Code::InvalidArgument,
            &["I.exact_one", "action", "I.send"],
        ),
        (
            insert(unknown_action),
            Code::InvalidArgument,
            &["I.exact_one", "action 77", "I.send"],
        ),
        (
            route(lpm(1, &[10, 0, 0, 1], 8)),
            Code::InvalidArgument,
            &["I.routes", "h.h.to", "8"],
        ),
        (
            route(lpm(1, &[10, 0, 0, 0], 33)),
            Code::InvalidArgument,
            &["I.routes", "h.h.to", "33", "32"],
        ),
        (
            acl(ternary(1, &[3], &[1]), 1),
            Code::InvalidArgument,
            &["I.acl", "h.h.to", "mask"],
        ),
        (
            acl(range(2, &[9], &[3]), 1),
            Code::InvalidArgument,
            &["I.acl", "h.h.extra", "9", "3"],
        ),
        (
            acl(optional(3, &[1]), 0),
            Code::InvalidArgument,
            &["I.acl", "priority"],
        ),
        (
            insert(rig.entry("exact_one", vec![exact(1, &[1])], 5, "drop", &[])),
            Code::InvalidArgument,
            &["I.exact_one", "priority"],
        ),
        (
            modify(rig.entry("exact_one", vec![exact(1, &[1])], 0, "drop", &[])),
            Code::NotFound,
            &["I.exact_one"],
        ),
        (
            insert(rig.entry("fixed", vec![exact(2, &[9])], 3, "NoAction", &[])),
            Code::PermissionDenied,
            &["I.fixed", "const"],
        ),
    ];
    for (update, code, words) in &cases {
        let (said, text) = client.refused(update.clone()).await;
        assert_eq!(said, *code, "{words:?}: {text}");
        says(&text, words);
    }
    // In a batch: the place of the update, in words and by its place in the details.
    let batch = vec![
        one(exact(1, &[7]), "drop", &[]),
        cases[1].0.clone(),
        one(exact(1, &[8]), "drop", &[]),
    ];
    let status = client.write(batch).await.unwrap_err();
    assert_eq!(status.code(), Code::Unknown);
    says(status.message(), &["1 of 3 failed", "number 1", "h.h.to"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_table_names_itself_and_its_size() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let acl = |key| insert(rig.entry("acl", vec![optional(3, &[key])], 1, "counted", &[]));
    client.write((0..8).map(acl).collect()).await.unwrap();
    let (code, text) = client.refused(acl(9)).await;
    assert_eq!(code, Code::ResourceExhausted);
    says(&text, &["I.acl", "8"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_devices_and_stale_election_ids_are_told_what_is_right() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let mut newer = rig.client(Some(5), "").await;
    let entry = insert(rig.entry("exact_one", vec![exact(1, &[1])], 0, "drop", &[]));
    let stale = client.write(vec![entry.clone()]).await.unwrap_err();
    assert_eq!(stale.code(), Code::PermissionDenied);
    says(stale.message(), &["election id", "primary"]);
    let wrong = v1::WriteRequest {
        device_id: 3,
        ..newer.request(vec![entry.clone()], Atomicity::ContinueOnError)
    };
    let wrong = newer.rpc.write(wrong).await.unwrap_err();
    assert_eq!(wrong.code(), Code::NotFound);
    says(wrong.message(), &["no device 3", "device 0"]);
    newer.write(vec![entry]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn p4info_that_does_not_fit_names_what_does_not() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let fits = config_of(PROGRAM);
    let refuse = |change: &dyn Fn(&mut p4runtime::p4::config::v1::P4Info)| {
        let mut config = fits.clone();
        change(config.p4info.as_mut().unwrap());
        config
    };
    let cases: [(v1::ForwardingPipelineConfig, &[&str]); 3] = [
        (
            refuse(&|info| info.tables[0].preamble.as_mut().unwrap().name = "I.other".to_owned()),
            &["I.other"],
        ),
        (
            refuse(&|info| info.tables[0].match_fields[0].bitwidth = 48),
            &["I.exact_one", "h.h.to", "48", "32"],
        ),
        (
            refuse(&|info| {
                let send = info.actions.iter_mut().find(|a| !a.params.is_empty());
                send.unwrap().params[0].bitwidth = 16;
            }),
            &["port", "16", "9"],
        ),
    ];
    for (config, words) in cases {
        let refused = client.set(Set::VerifyAndCommit, Some(config)).await;
        let refused = refused.expect_err(words[0]);
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        says(refused.message(), words);
    }
    // The old program goes on.
    let entry = rig.entry("exact_one", vec![exact(1, &[1])], 0, "drop", &[]);
    client.write(vec![insert(entry)]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn faulty_other_entities_are_told_too() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let member = |profile, member_id, action| {
        Entity::ActionProfileMember(v1::ActionProfileMember {
            action_profile_id: profile,
            member_id,
            action: Some(action),
        })
    };
    let group = Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(
            v1::packet_replication_engine_entry::Type::MulticastGroupEntry(
                v1::MulticastGroupEntry {
                    multicast_group_id: 1,
                    replicas: vec![v1::Replica {
                        instance: 70_000,
                        port_kind: Some(v1::replica::PortKind::Port(vec![1])),
                        ..Default::default()
                    }],
                    ..Default::default()
                },
            ),
        ),
    });
    let register = Entity::RegisterEntry(v1::RegisterEntry {
        register_id: rig.info.registers[0].preamble.as_ref().unwrap().id,
        index: Some(v1::Index { index: 99 }),
        data: Some(v1::P4Data {
            data: Some(v1::p4_data::Data::Bitstring(vec![1])),
        }),
    });
    let to_nobody = v1::TableEntry {
        table_id: rig.table("ecmp"),
        r#match: vec![exact(1, &[1])],
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::ActionProfileGroupId(12)),
        }),
        ..Default::default()
    };
    let cases: [(v1::Update, Code, &[&str]); 5] = [
        (
            update(Type::Insert, member(99, 1, rig.call("drop", &[]))),
            Code::NotFound,
            &["profile", "99"],
        ),
        (
            update(
                Type::Insert,
                member(rig.profile("spread"), 1, rig.call("send", &[&[4, 0]])),
            ),
            Code::OutOfRange,
            &["I.spread", "port", "9 bits"],
        ),
        (
            update(Type::Insert, group),
            Code::InvalidArgument,
            &["multicast group 1", "replica 0", "70000"],
        ),
        (
            update(Type::Modify, register),
            Code::OutOfRange,
            &["I.sums", "99", "32"],
        ),
        (insert(to_nobody), Code::NotFound, &["I.ecmp", "12"]),
    ];
    for (update, code, words) in cases {
        let (said, text) = client.refused(update).await;
        assert_eq!(said, code, "{text}");
        says(&text, words);
    }
}

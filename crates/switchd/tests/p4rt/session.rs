//! Who may write (P4Runtime 1.5, chapter 5).

use p4runtime::client::ElectionId;
use p4runtime::p4::v1;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use p4runtime::p4::v1::write_request::Atomicity;
use switchd::server::ServerConfig;
use tonic::Code;

use crate::support::{Client, PROGRAM, Rig, arbitration, config_of, exact, insert};

#[tokio::test(flavor = "multi_thread")]
async fn p1_when_the_primary_goes_there_is_none_until_a_new_arbitration() {
    let rig = Rig::start().await;
    let one = rig.client(Some(5), "").await;
    let mut two = rig.client(Some(4), "").await;
    drop(one);
    assert_eq!(two.arbitrated().await, (Code::NotFound, Some(5)));
    let denied = two
        .set(Set::VerifyAndCommit, Some(config_of(PROGRAM)))
        .await;
    assert_eq!(denied.unwrap_err().code(), Code::PermissionDenied);
    two.say(arbitration(0, Some(6), "")).await;
    assert_eq!(two.arbitrated().await, (Code::Ok, Some(6)));
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_the_highest_id_is_remembered_after_its_client_has_gone() {
    let rig = Rig::start().await;
    let mut watcher = rig.client(None, "").await;
    let one = rig.client(Some(9), "").await;
    assert_eq!(watcher.arbitrated().await, (Code::AlreadyExists, Some(9)));
    drop(one);
    assert_eq!(watcher.arbitrated().await, (Code::NotFound, Some(9)));
    let mut low = Client::silent(rig.connection().await, Some(8), "").await;
    low.say(arbitration(0, Some(8), "")).await;
    assert_eq!(
        low.arbitrated().await,
        (Code::NotFound, Some(9)),
        "8 is below 9, which was"
    );
    low.say(arbitration(0, Some(9), "")).await;
    assert_eq!(
        low.arbitrated().await,
        (Code::Ok, Some(9)),
        "the same id may come back"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_an_unset_id_is_not_zero_and_never_primary() {
    let rig = Rig::start().await;
    let mut unset = Client::silent(rig.connection().await, None, "").await;
    unset.say(arbitration(0, None, "")).await;
    assert_eq!(unset.arbitrated().await, (Code::NotFound, None));
    let mut another = Client::silent(rig.connection().await, None, "").await;
    another.say(arbitration(0, None, "")).await;
    assert_eq!(
        another.arbitrated().await,
        (Code::NotFound, None),
        "several may be connected"
    );
    let mut zero = Client::silent(rig.connection().await, Some(0), "").await;
    zero.say(arbitration(0, Some(0), "")).await;
    assert_eq!(
        zero.arbitrated().await,
        (Code::Ok, Some(0)),
        "zero is an id like any other"
    );
    let denied = unset.set(Set::Verify, Some(config_of(PROGRAM))).await;
    assert_eq!(denied.unwrap_err().code(), Code::PermissionDenied);
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_p5_backups_hear_whether_there_is_a_primary_and_the_highest_id() {
    let rig = Rig::start().await;
    let mut backup = Client::silent(rig.connection().await, None, "").await;
    backup.say(arbitration(0, None, "")).await;
    assert_eq!(backup.arbitrated().await, (Code::NotFound, None));
    let mut primary = rig.client(Some(3), "").await;
    assert_eq!(backup.arbitrated().await, (Code::AlreadyExists, Some(3)));
    // The primary downgrades itself: everybody hears of it.
    primary.say(arbitration(0, Some(2), "")).await;
    assert_eq!(primary.arbitrated().await, (Code::NotFound, Some(3)));
    assert_eq!(backup.arbitrated().await, (Code::NotFound, Some(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn p6_what_ends_a_stream() {
    let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    config.limits.streams_of_role = 2;
    let rig = Rig::start_as(config).await;
    let one = rig.client(Some(1), "").await;
    let ends = |device, election, role: &'static str| {
        let connection = rig.connection();
        async move {
            let mut client = Client::silent(connection.await, election, role).await;
            client.say(arbitration(device, election, role)).await;
            client.hear().await.unwrap_err().code()
        }
    };
    assert_eq!(
        ends(0, Some(1), "").await,
        Code::InvalidArgument,
        "a duplicate id"
    );
    assert_eq!(
        ends(7, Some(2), "").await,
        Code::NotFound,
        "an unknown device"
    );
    let _two = rig.client(Some(2), "").await;
    assert_eq!(
        ends(0, Some(3), "").await,
        Code::ResourceExhausted,
        "too many streams"
    );
    for (device, role) in [(7, "other"), (0, "another")] {
        let mut client = rig.client(Some(1), "other").await;
        client.say(arbitration(device, Some(1), role)).await;
        assert_eq!(
            client.hear().await.unwrap_err().code(),
            Code::FailedPrecondition
        );
    }
    drop(one);
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_a_hand_over_waits_for_the_writes_in_flight() {
    let rig = Rig::start().await;
    let mut old = rig.ready().await;
    let entries = |from: u32| {
        let rig = &rig;
        (from..from + 4000).map(move |to| {
            insert(rig.entry(
                "routes",
                vec![crate::support::lpm(1, &to.to_be_bytes(), 32)],
                0,
                "drop",
                &[],
            ))
        })
    };
    let updates: Vec<_> = entries(1 << 24).take(1000).collect();
    let request = old.request(updates, Atomicity::ContinueOnError);
    let mut rpc = old.rpc.clone();
    let writing = tokio::spawn(async move { rpc.write(request).await.map(|_| ()) });
    let mut new = rig.client(Some(2), "").await;
    // Whatever the old primary's write became, it is over now: the state does not change any more.
    let count = |entries: Vec<v1::TableEntry>| entries.len();
    let filter = v1::TableEntry {
        table_id: rig.table("routes"),
        ..Default::default()
    };
    let before = count(new.entries(filter.clone()).await);
    let outcome = writing.await.unwrap();
    assert_eq!(count(new.entries(filter).await), before);
    match outcome {
        Ok(()) => assert_eq!(before, 1000),
        Err(status) => {
            assert_eq!((status.code(), before), (Code::PermissionDenied, 0));
        }
    }
    let late = old.write(entries(1).take(1).collect()).await;
    assert_eq!(late.unwrap_err().code(), Code::PermissionDenied);
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_roles_have_primaries_of_their_own() {
    let rig = Rig::start().await;
    let mut whole = rig.ready().await;
    let mut role = rig.client(Some(1), "tables").await;
    let entry = |to: u8| insert(rig.entry("exact_one", vec![exact(1, &[to])], 0, "send", &[&[2]]));
    assert_eq!(role.one(entry(1)).await, Code::Ok);
    assert_eq!(whole.one(entry(2)).await, Code::Ok);
    role.identity.election_id = Some(ElectionId(7));
    let denied = role.write(vec![entry(3)]).await.unwrap_err();
    assert_eq!(denied.code(), Code::PermissionDenied);
    assert_eq!(
        role.set(Set::VerifyAndCommit, None)
            .await
            .unwrap_err()
            .code(),
        Code::PermissionDenied
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_a_role_config_bounds_what_a_role_may_do() {
    use prost::Message as _;
    use prost_types::value::Kind;
    let rig = Rig::start().await;
    let mut whole = rig.ready().await;
    let value = |kind| prost_types::Value { kind: Some(kind) };
    let list = prost_types::ListValue {
        values: vec![value(Kind::StringValue("I.exact_one".to_owned()))],
    };
    let config = prost_types::Struct {
        fields: [
            ("write".to_owned(), value(Kind::ListValue(list.clone()))),
            ("read".to_owned(), value(Kind::ListValue(list))),
            ("pipeline".to_owned(), value(Kind::BoolValue(false))),
        ]
        .into(),
    };
    let ask = |type_url: &str| {
        let mut message = arbitration(0, Some(1), "narrow");
        if let v1::stream_message_request::Update::Arbitration(update) = &mut message {
            update.role.as_mut().unwrap().config = Some(prost_types::Any {
                type_url: type_url.to_owned(),
                value: config.encode_to_vec(),
            });
        }
        message
    };
    let mut narrow = Client::silent(rig.connection().await, Some(1), "narrow").await;
    narrow
        .say(ask("type.googleapis.com/google.protobuf.Struct"))
        .await;
    assert_eq!(narrow.arbitrated().await.0, Code::Ok);
    let one = insert(rig.entry("exact_one", vec![exact(1, &[1])], 0, "send", &[&[2]]));
    let other = insert(rig.entry("begun", vec![exact(1, &[1])], 0, "send", &[&[2]]));
    assert_eq!(narrow.one(one).await, Code::Ok);
    let (code, message) = narrow.refused(other.clone()).await;
    assert_eq!(code, Code::PermissionDenied, "{message}");
    assert_eq!(whole.one(other).await, Code::Ok);
    assert_eq!(narrow.entries(v1::TableEntry::default()).await.len(), 1);
    let denied = narrow.set(Set::Verify, Some(config_of(PROGRAM))).await;
    assert_eq!(denied.unwrap_err().code(), Code::PermissionDenied);
    let mut strange = Client::silent(rig.connection().await, Some(2), "narrow").await;
    strange.say(ask("type.googleapis.com/some.Other")).await;
    assert_eq!(
        strange.hear().await.unwrap_err().code(),
        Code::InvalidArgument
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn p9_checks_come_in_the_order_of_the_standard() {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    client.identity.device_id = 3;
    client.identity.election_id = Some(ElectionId(2));
    assert_eq!(
        client.write(vec![]).await.unwrap_err().code(),
        Code::NotFound
    );
    client.identity.device_id = 0;
    client.identity.role = "nobody".to_owned();
    assert_eq!(
        client.write(vec![]).await.unwrap_err().code(),
        Code::NotFound
    );
    client.identity.role = String::new();
    assert_eq!(
        client.write(vec![]).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    client.identity.election_id = Some(ElectionId(1));
    assert_eq!(
        client.write(vec![]).await.unwrap_err().code(),
        Code::FailedPrecondition
    );
    assert_eq!(
        client.read(vec![]).await.unwrap_err().code(),
        Code::FailedPrecondition
    );
    client.identity.device_id = 3;
    assert_eq!(
        client.read(vec![]).await.unwrap_err().code(),
        Code::NotFound
    );
}

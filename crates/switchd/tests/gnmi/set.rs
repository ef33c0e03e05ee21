//! Set.

use std::time::UNIX_EPOCH;

use gnmi::extensions::Extension;
use gnmi::proto::g_nmi_client::GNmiClient;
use gnmi::proto::typed_value::Value;
use gnmi::proto::update_result::Operation;
use gnmi::proto::{Encoding, SetRequest, TypedValue, Update};
use tonic::Code;
use tonic::transport::Channel;

use crate::support::{Rig, get, path, shown, text};

fn enabled(path_of: &str, value: Value) -> Update {
    Update {
        path: Some(path(path_of)),
        val: Some(TypedValue { value: Some(value) }),
        ..Update::default()
    }
}

const ONE: &str = "/interfaces/interface[name=1]/config/enabled";

#[tokio::test(flavor = "multi_thread")]
async fn a_port_is_disabled_and_enabled_again() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let state = async |client: &mut GNmiClient<Channel>| {
        let paths = [
            "config/enabled",
            "state/enabled",
            "state/admin-status",
            "state/oper-status",
        ];
        let paths = paths.map(|leaf| format!("/interfaces/interface[name=1]/{leaf}"));
        let paths = paths.each_ref().map(String::as_str);
        let answer = client
            .get(get(&paths, Encoding::Proto))
            .await
            .unwrap()
            .into_inner();
        let values = answer
            .notification
            .iter()
            .map(|n| shown(n.update[0].val.as_ref().unwrap()));
        values.collect::<Vec<_>>().join(" ")
    };
    let update = async |client: &mut GNmiClient<Channel>, update: Update| {
        let request = SetRequest {
            update: vec![update],
            ..SetRequest::default()
        };
        client.set(request).await.map(|answer| answer.into_inner())
    };
    rig.carry(b"before");
    let answer = update(&mut client, enabled(ONE, Value::BoolVal(false)))
        .await
        .unwrap();
    assert_eq!(answer.response.len(), 1);
    assert_eq!(answer.response[0].op, i32::from(Operation::Update));
    assert_eq!(text(answer.response[0].path.as_ref().unwrap()), ONE);
    assert!(answer.timestamp > 0);
    assert_eq!(state(&mut client).await, "false false DOWN DOWN");
    // Packets do not pass, and a link that comes up does not change that.
    rig.link(1, true);
    assert_eq!(state(&mut client).await, "false false DOWN DOWN");
    assert!(!rig.engine.handle().ports().unwrap()[0].1);
    let json = Value::JsonIetfVal(b"true".to_vec());
    update(&mut client, enabled(ONE, json)).await.unwrap();
    assert_eq!(state(&mut client).await, "true true UP UP");
    rig.carry(b"after");
    // The link is another matter.
    rig.link(1, false);
    assert_eq!(state(&mut client).await, "true true UP DOWN");
    rig.link(1, true);

    // The whole container, relative to a prefix; what is replaced without it has its default.
    let config = Value::JsonVal(br#"{"name": "1", "enabled": false}"#.to_vec());
    let request = SetRequest {
        prefix: Some(path("/interfaces/interface[name=1]")),
        replace: vec![enabled("config", config)],
        ..SetRequest::default()
    };
    client.set(request).await.unwrap();
    assert_eq!(state(&mut client).await, "false false DOWN DOWN");
    let request = SetRequest {
        replace: vec![enabled(
            "/interfaces/interface[name=1]/config",
            Value::JsonVal(b"{}".to_vec()),
        )],
        ..SetRequest::default()
    };
    client.set(request).await.unwrap();
    assert_eq!(state(&mut client).await, "true true UP UP");

    // What is deleted has its default; updates come after deletes.
    update(&mut client, enabled(ONE, Value::BoolVal(false)))
        .await
        .unwrap();
    let delete = SetRequest {
        delete: vec![path("/interfaces/interface[name=*]/config/enabled")],
        ..SetRequest::default()
    };
    client.set(delete.clone()).await.unwrap();
    assert_eq!(state(&mut client).await, "true true UP UP");
    let both = SetRequest {
        update: vec![enabled(ONE, Value::BoolVal(false))],
        ..delete
    };
    let answer = client.set(both).await.unwrap().into_inner();
    let operations: Vec<_> = answer.response.iter().map(|r| r.op).collect();
    assert_eq!(
        operations,
        [Operation::Delete, Operation::Update].map(i32::from)
    );
    assert_eq!(state(&mut client).await, "false false DOWN DOWN");

    let request = get(
        &["/interfaces/interface[name=1]/state/last-change"],
        Encoding::Proto,
    );
    let answer = client.get(request).await.unwrap().into_inner();
    let changed: u64 = shown(answer.notification[0].update[0].val.as_ref().unwrap())
        .parse()
        .unwrap();
    let now = UNIX_EPOCH.elapsed().unwrap().as_nanos();
    assert!(u128::from(changed) <= now && changed > 1_600_000_000_000_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_set_refuses_is_named_and_nothing_is_changed() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let config = |text: &str| Value::JsonVal(text.as_bytes().to_vec());
    let base = "/interfaces/interface[name=1]";
    for (place, value, code, words) in [
        (
            "config/mtu",
            Value::UintVal(1500),
            Code::Unimplemented,
            "config/mtu",
        ),
        (
            "config/name",
            Value::StringVal("x".to_owned()),
            Code::Unimplemented,
            "config/name",
        ),
        (
            "state/oper-status",
            Value::StringVal("UP".to_owned()),
            Code::InvalidArgument,
            "state",
        ),
        (
            "config/enabled",
            Value::StringVal("true".to_owned()),
            Code::InvalidArgument,
            "boolean",
        ),
        (
            "config/enabled",
            Value::JsonVal(b"tru".to_vec()),
            Code::InvalidArgument,
            "no JSON",
        ),
        (
            "config/enabled",
            Value::JsonVal(b"1".to_vec()),
            Code::InvalidArgument,
            "boolean",
        ),
        ("config", config("[]"), Code::InvalidArgument, "object"),
        (
            "config",
            config(r#"{"mtu": 9000}"#),
            Code::InvalidArgument,
            "`mtu`",
        ),
        (
            "config",
            config(r#"{"enabled": 1}"#),
            Code::InvalidArgument,
            "boolean",
        ),
        (
            "config",
            config(r#"{"name": "2"}"#),
            Code::InvalidArgument,
            "name",
        ),
        ("", config("{}"), Code::Unimplemented, "interface[name=1]"),
    ] {
        let request = SetRequest {
            // This one would do.
            replace: vec![enabled(
                "/interfaces/interface[name=2]/config/enabled",
                Value::BoolVal(false),
            )],
            update: vec![enabled(&format!("{base}/{place}"), value)],
            ..SetRequest::default()
        };
        let refused = client.set(request).await.unwrap_err();
        assert_eq!(refused.code(), code, "{place}: {refused}");
        assert!(refused.message().contains(words), "{refused}");
    }
    let off = || Value::BoolVal(false);
    for (request, code, words) in [
        (
            SetRequest {
                update: vec![enabled(
                    "/interfaces/interface[name=9]/config/enabled",
                    off(),
                )],
                ..SetRequest::default()
            },
            Code::NotFound,
            "[name=9]",
        ),
        (
            SetRequest {
                update: vec![enabled(
                    "/interfaces/interface[name=*]/config/enabled",
                    off(),
                )],
                ..SetRequest::default()
            },
            Code::InvalidArgument,
            "wildcards",
        ),
        (
            SetRequest {
                update: vec![enabled("/interfaces/interface/config/enabled", off())],
                ..SetRequest::default()
            },
            Code::InvalidArgument,
            "wildcards",
        ),
        (
            SetRequest {
                update: vec![enabled("/system/interface[name=1]/config/enabled", off())],
                ..SetRequest::default()
            },
            Code::Unimplemented,
            "/system",
        ),
        (
            SetRequest {
                update: vec![Update {
                    path: Some(path(ONE)),
                    ..Update::default()
                }],
                ..SetRequest::default()
            },
            Code::InvalidArgument,
            "no value",
        ),
        (
            SetRequest {
                union_replace: vec![enabled(ONE, off())],
                ..SetRequest::default()
            },
            Code::Unimplemented,
            "union_replace",
        ),
        (
            SetRequest {
                delete: vec![path("/interfaces/interface[name=1]")],
                ..SetRequest::default()
            },
            Code::Unimplemented,
            "deleted",
        ),
        (
            SetRequest {
                extension: vec![Extension::default()],
                ..SetRequest::default()
            },
            Code::Unimplemented,
            "extensions",
        ),
        (SetRequest::default(), Code::InvalidArgument, "no operation"),
    ] {
        let refused = client.set(request).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().contains(words), "{refused}");
    }
    let states = rig.engine.handle().port_states();
    assert!(states.ports.iter().all(|port| port.enabled));
}

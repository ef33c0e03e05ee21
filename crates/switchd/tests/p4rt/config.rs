//! Pipelines, capabilities, sizes, and what does not fit (P4Runtime 1.5, chapters 14, 15 and 17).

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::p4::v1::set_forwarding_pipeline_config_request::Action as Set;
use prost::Message as _;
use quantities::PortId;
use tonic::Code;

use crate::support::{Client, PROGRAM, Rig, WAIT, config_of, exact, insert};

async fn get(client: &mut Client, wanted: ResponseType) -> Option<v1::ForwardingPipelineConfig> {
    let request = v1::GetForwardingPipelineConfigRequest {
        device_id: 0,
        response_type: wanted.into(),
    };
    let response = client
        .rpc
        .get_forwarding_pipeline_config(request)
        .await
        .unwrap();
    response.into_inner().config
}

#[tokio::test(flavor = "multi_thread")]
async fn p25_verify_save_commit() {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    let config = config_of(PROGRAM);
    for action in [
        Set::Verify,
        Set::VerifyAndSave,
        Set::VerifyAndCommit,
        Set::ReconcileAndCommit,
        Set::Unspecified,
    ] {
        assert_eq!(
            client.set(action, None).await.unwrap_err().code(),
            Code::InvalidArgument
        );
    }
    assert_eq!(
        client.set(Set::Commit, None).await.unwrap_err().code(),
        Code::NotFound
    );
    client.set(Set::Verify, Some(config.clone())).await.unwrap();
    assert_eq!(
        get(&mut client, ResponseType::All).await,
        None,
        "verifying changes nothing"
    );
    client
        .set(Set::VerifyAndSave, Some(config.clone()))
        .await
        .unwrap();
    assert_eq!(
        client
            .set(Set::Commit, Some(config.clone()))
            .await
            .unwrap_err()
            .code(),
        Code::InvalidArgument
    );
    // Writes refer to what was saved, and are there when it runs.
    let entry = rig.entry("exact_one", vec![exact(1, &[1])], 0, "send", &[&[3]]);
    client.write(vec![insert(entry)]).await.unwrap();
    assert_eq!(
        rig.engine
            .handle()
            .port_counters(PortId::new(3))
            .unwrap()
            .unwrap()
            .sent,
        0
    );
    client.set(Set::Commit, None).await.unwrap();
    rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(rig.wires.receive(WAIT).unwrap().0, PortId::new(3));
    assert_eq!(
        client.set(Set::Commit, None).await.unwrap_err().code(),
        Code::NotFound
    );
    client
        .set(Set::VerifyAndCommit, Some(config))
        .await
        .unwrap();
    let found = client
        .entries(v1::TableEntry {
            table_id: rig.table("exact_one"),
            ..Default::default()
        })
        .await;
    assert!(found.is_empty(), "a new pipeline starts empty");
}

#[tokio::test(flavor = "multi_thread")]
async fn p25_reconcile_keeps_the_state_or_says_why_not() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let entry = rig.entry("exact_one", vec![exact(1, &[1])], 0, "send", &[&[3]]);
    let gone = rig.entry("begun", vec![exact(1, &[201])], 0, "send", &[&[2]]);
    client
        .write(vec![insert(entry.clone()), crate::support::delete(gone)])
        .await
        .unwrap();
    let before = client.entries(v1::TableEntry::default()).await;
    let grown = PROGRAM.replace("size = 64;", "size = 128;");
    client
        .set(Set::ReconcileAndCommit, Some(config_of(&grown)))
        .await
        .unwrap();
    assert_eq!(client.entries(v1::TableEntry::default()).await, before);
    let narrowed = PROGRAM.replace(
        "actions = { send; drop; group; copy;",
        "actions = { drop; group; copy;",
    );
    let refused = client
        .set(Set::ReconcileAndCommit, Some(config_of(&narrowed)))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert!(refused.message().contains("exact_one"), "{refused}");
    rig.wires.send(PortId::new(1), &[0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(
        rig.wires.receive(WAIT).unwrap().0,
        PortId::new(3),
        "the old one goes on"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn p25_the_device_config_is_verified_too_and_a_bad_one_changes_nothing() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let good = config_of(PROGRAM);
    let with = |change: &dyn Fn(&mut v1::ForwardingPipelineConfig)| {
        let mut config = good.clone();
        change(&mut config);
        config
    };
    let info = |change: &dyn Fn(&mut p4runtime::p4::config::v1::P4Info)| {
        with(&|c| change(c.p4info.as_mut().unwrap()))
    };
    for (config, said) in [
        (
            with(&|c| c.p4_device_config = b"control {".as_slice().into()),
            "p4_device_config",
        ),
        (
            with(&|c| c.p4_device_config = b"#include \"/etc/hostname\"".as_slice().into()),
            "include",
        ),
        (
            with(&|c| c.p4_device_config = b"{\"a\": ".as_slice().into()),
            "BMv2 JSON",
        ),
        (
            with(&|c| c.p4_device_config = b"\x01\x02".as_slice().into()),
            "no text",
        ),
        (with(&|c| c.p4_device_config = Vec::new()), "empty"),
        (with(&|c| c.p4info = None), "p4info"),
        (
            info(&|i| i.tables[0].preamble.as_mut().unwrap().name = "I.other".into()),
            "I.other",
        ),
        (
            info(&|i| i.tables[0].match_fields[0].bitwidth = 31),
            "31 bits",
        ),
        (
            info(&|i| i.tables[0].match_fields[0].name = "x".into()),
            "`x`",
        ),
        (
            info(&|i| i.actions.iter_mut().for_each(|a| drop(a.params.pop()))),
            "parameters",
        ),
        (info(&|i| drop(i.actions.remove(0))), "missing"),
        (
            info(&|i| i.tables[1].preamble = i.tables[0].preamble.clone()),
            "matched as",
        ),
        (info(&|i| drop(i.action_profiles.pop())), "profile"),
        (
            info(&|i| i.registers[0].preamble.as_mut().unwrap().name = "gone".into()),
            "gone",
        ),
    ] {
        for action in [Set::Verify, Set::VerifyAndCommit] {
            let refused = client
                .set(action, Some(config.clone()))
                .await
                .expect_err(said);
            assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
            assert!(refused.message().contains(said), "{said}: {refused}");
        }
    }
    assert_eq!(get(&mut client, ResponseType::All).await, Some(good));
}

#[tokio::test(flavor = "multi_thread")]
async fn p25_ids_are_those_of_the_given_p4info() {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    let mut config = config_of(PROGRAM);
    let info = config.p4info.as_mut().unwrap();
    let table = info
        .tables
        .iter_mut()
        .find(|t| t.preamble.as_ref().unwrap().alias == "exact_one")
        .unwrap();
    table.preamble.as_mut().unwrap().id = 0x0200_4242;
    table.match_fields[0].id = 9;
    client
        .set(Set::VerifyAndCommit, Some(config))
        .await
        .unwrap();
    let mut entry = rig.entry("exact_one", vec![exact(9, &[1])], 0, "drop", &[]);
    assert_eq!(client.one(insert(entry.clone())).await, Code::NotFound);
    entry.table_id = 0x0200_4242;
    assert_eq!(client.one(insert(entry)).await, Code::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn p25_a_wrapped_config_is_unwrapped() {
    let rig = Rig::start().await;
    let mut client = rig.client(Some(1), "").await;
    // p4.tmp.P4DeviceConfig { bool reassign = 1; bytes device_data = 3; }
    #[derive(Clone, PartialEq, prost::Message)]
    struct Wrapped {
        #[prost(bool, tag = "1")]
        reassign: bool,
        #[prost(bytes = "vec", tag = "3")]
        device_data: Vec<u8>,
    }
    let mut config = config_of(PROGRAM);
    let wrapped = Wrapped {
        reassign: true,
        device_data: config.p4_device_config.to_vec(),
    };
    config.p4_device_config = wrapped.encode_to_vec();
    client
        .set(Set::VerifyAndCommit, Some(config.clone()))
        .await
        .unwrap();
    let given = get(&mut client, ResponseType::DeviceConfigAndCookie)
        .await
        .unwrap();
    assert_eq!(
        given.p4_device_config, config.p4_device_config,
        "what was set is what is got"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn p26_four_ways_to_get_the_config() {
    let rig = Rig::start().await;
    let mut client = rig.client(None, "").await;
    assert_eq!(
        get(&mut client, ResponseType::All).await,
        None,
        "none was set, which is no error"
    );
    let _primary = rig.ready().await;
    let config = config_of(PROGRAM);
    for (wanted, info, device) in [
        (ResponseType::All, true, true),
        (ResponseType::CookieOnly, false, false),
        (ResponseType::P4infoAndCookie, true, false),
        (ResponseType::DeviceConfigAndCookie, false, true),
    ] {
        let got = get(&mut client, wanted).await.unwrap();
        assert_eq!(got.cookie, config.cookie);
        assert_eq!(got.p4info.is_some(), info);
        assert_eq!(got.p4_device_config == config.p4_device_config, device);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p28_capabilities() {
    let rig = Rig::start().await;
    let mut rpc = rig.channel().await;
    let mut ask = async |device_id| {
        rpc.capabilities(v1::CapabilitiesRequest { device_id })
            .await
    };
    assert_eq!(
        ask(0).await.unwrap().into_inner().p4runtime_api_version,
        "1.5.0"
    );
    assert_eq!(ask(5).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_messages_beyond_four_megabytes_are_taken() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let mut entry = rig.entry("exact_one", vec![exact(1, &[1])], 0, "drop", &[]);
    entry.metadata = vec![7; 5 << 20];
    client.write(vec![insert(entry.clone())]).await.unwrap();
    let found = client
        .entries(v1::TableEntry {
            table_id: rig.table("exact_one"),
            ..Default::default()
        })
        .await;
    assert_eq!(found, [entry]);
    let unknown = client
        .read(vec![Entity::ExternEntry(v1::ExternEntry {
            extern_type_id: 0x81,
            ..Default::default()
        })])
        .await;
    assert_eq!(unknown.unwrap_err().code(), Code::Unknown);
}

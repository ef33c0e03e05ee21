//! What a client of gNMI may take, and hostile ones.

use std::time::Duration;

use gnmi::proto::g_nmi_client::GNmiClient;
use gnmi::proto::subscription_list::Mode;
use gnmi::proto::{Encoding, SetRequest, SubscriptionMode};
use quantities::PortId;
use switchd::engine::io::MemoryIo;
use switchd::engine::{Engine, EngineConfig};
use switchd::server::{Server, ServerConfig};
use tonic::Code;
use tonic::transport::Channel;

use crate::support::{Call, Rig, WAIT, config, get, list, path, subscription, values};

const ALL: &str = "/interfaces";

fn small() -> ServerConfig {
    let mut config = config();
    config.limits.gnmi.paths = 4;
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_subscriptions_and_operations_are_counted() {
    let rig = Rig::start_as(small()).await;
    let mut client = rig.client().await;
    assert!(client.get(get(&[ALL; 4], Encoding::Proto)).await.is_ok());
    let refused = client
        .get(get(&[ALL; 5], Encoding::Proto))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(refused.message(), "the request has 5 paths; 4 may be");
    let request = SetRequest {
        delete: vec![path(ALL); 5],
        ..SetRequest::default()
    };
    let refused = client.set(request).await.unwrap_err();
    assert_eq!(refused.message(), "the request has 5 operations; 4 may be");
    let many = vec![subscription(ALL, SubscriptionMode::OnChange); 5];
    let refused = Call::open(&mut client, list(Mode::Once, many))
        .await
        .end()
        .await;
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(
        refused.message(),
        "the request has 5 subscriptions; 4 may be"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_and_what_is_remembered_are_counted() {
    let mut config = config();
    config.limits.gnmi.answer = 4000;
    config.limits.gnmi.values = 60;
    let rig = Rig::start_as(config).await;
    let mut client = rig.client().await;
    for encoding in [Encoding::Proto, Encoding::Json, Encoding::JsonIetf] {
        let refused = client.get(get(&[ALL; 6], encoding)).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{encoding:?}");
        assert!(refused.message().contains("4000 bytes"), "{refused}");
    }
    // One call remembers the values of both ports; there is no room for those of another, until it
    // ends.
    let all = || {
        list(
            Mode::Stream,
            vec![subscription(ALL, SubscriptionMode::OnChange)],
        )
    };
    let mut first = Call::open(&mut client, all()).await;
    first.synchronized().await;
    let refused = Call::open(&mut client, all()).await.end().await;
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("60 may be"), "{refused}");
    drop(first);
    loop {
        let mut call = Call::open(&mut client, all()).await;
        match call.next().await {
            Ok(_) => break,
            Err(status) => assert_eq!(status.code(), Code::ResourceExhausted),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_counted_and_silent_ones_end() {
    let mut config = config();
    config.limits.streams_of_client = 2;
    config.limits.arbitration = Duration::from_millis(200);
    let rig = Rig::start_as(config).await;
    let mut client = rig.client().await;
    let change = || {
        list(
            Mode::Stream,
            vec![subscription(ALL, SubscriptionMode::OnChange)],
        )
    };
    let mut calls = Vec::new();
    for _ in 0..2 {
        let mut call = Call::open(&mut client, change()).await;
        call.synchronized().await;
        calls.push(call);
    }
    let refused = Call::silent(&mut client).await.err().unwrap();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(
        refused.message().contains("2 streams of this connection"),
        "{refused}"
    );
    // Another client has its own.
    let mut other = rig.client().await;
    let mut silent = Call::silent(&mut other).await.unwrap();
    assert_eq!(silent.end().await.code(), Code::DeadlineExceeded);
    // A stream that stands has all the time that it wants.
    rig.link(1, false);
    assert!(!values([&calls[0].news().await]).is_empty());
}

/// A switch of many ports in memory: no lines, no interfaces.
async fn many_ports(count: u16, config: ServerConfig) -> (Engine, Server) {
    let (io, _wires) = MemoryIo::new();
    let engine = EngineConfig {
        ports: (0..count).map(PortId::new).collect(),
        ..EngineConfig::default()
    };
    let (engine, notifications) = Engine::start(&engine, io).unwrap();
    let server = Server::start(config, engine.handle().clone(), notifications).await;
    (engine, server.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_takes_nothing_is_ended_and_holds_up_nobody() {
    let mut config = config();
    config.limits.gnmi.patience = Duration::from_millis(200);
    // Room for what one subscription to all ports remembers, and not for two.
    config.limits.gnmi.values = 12_000;
    let (engine, server) = many_ports(500, config).await;
    let connect = async || {
        let address = format!("http://{}", server.address());
        let channel = Channel::from_shared(address).unwrap();
        let channel = channel.initial_stream_window_size(65_535).connect().await;
        GNmiClient::new(channel.unwrap())
    };
    let mut client = connect().await;
    let mut flood = vec![subscription(ALL, SubscriptionMode::Sample); 8];
    flood.insert(0, subscription(ALL, SubscriptionMode::OnChange));
    let mut lazy = Call::open(&mut client, list(Mode::Stream, flood)).await;
    // What the first subscription remembers has its room now.
    assert!(!lazy.news().await.update.is_empty());
    // Another client hears of every change meanwhile.
    let mut other = connect().await;
    let change = |text| {
        list(
            Mode::Stream,
            vec![subscription(text, SubscriptionMode::OnChange)],
        )
    };
    let status = change("/interfaces/interface[name=7]/state/oper-status");
    let mut call = Call::open(&mut other, status).await;
    assert_eq!(call.synchronized().await.len(), 1);
    for up in [false, true].repeat(10) {
        engine.handle().set_port_up(PortId::new(7), up).unwrap();
        assert_eq!(values([&call.news().await]).len(), 1);
    }
    // The room is free again once the lazy client's call has ended.
    let freed = async {
        loop {
            let mut call = Call::open(&mut other, change(ALL)).await;
            match call.next().await {
                Ok(_) => break,
                Err(status) => assert_eq!(status.code(), Code::ResourceExhausted),
            }
        }
    };
    tokio::time::timeout(WAIT, freed).await.unwrap();
    let end = lazy.end().await;
    assert_eq!(end.code(), Code::Aborted);
    assert!(end.message().contains("took nothing"), "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_clients_is_counted() {
    let mut config = config();
    config.limits.gnmi.waiting = 64 << 10;
    let (_engine, server) = many_ports(500, config).await;
    let address = format!("http://{}", server.address());
    let channel = Channel::from_shared(address).unwrap();
    let channel = channel.initial_stream_window_size(65_535).connect().await;
    let mut client = GNmiClient::new(channel.unwrap());
    let once = list(
        Mode::Once,
        vec![subscription(ALL, SubscriptionMode::OnChange); 8],
    );
    let refused = Call::open(&mut client, once).await.end().await;
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("65536 may be"), "{refused}");
}

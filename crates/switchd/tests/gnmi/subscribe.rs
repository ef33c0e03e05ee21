//! Subscribe: every mode.

use gnmi::extensions::Extension;
use gnmi::proto::subscribe_request::Request as Asked;
use gnmi::proto::subscribe_response::Response as Answer;
use gnmi::proto::subscription_list::Mode;
use gnmi::proto::{
    Encoding, Path, Poll, QosMarking, SubscribeRequest, Subscription, SubscriptionList,
    SubscriptionMode,
};
use quantities::PortId;
use tonic::Code;

use crate::support::{Call, Rig, asked, list, path, subscription, text, udp_end, values};

const STATUS: &str = "/interfaces/interface[name=*]/state/oper-status";
const ONE: &str = "/interfaces/interface[name=1]/state/oper-status";
const PACKETS: &str = "/interfaces/interface[name=1]/state/counters/in-pkts";
const MS: u64 = 1_000_000;

fn watch(text: &str, mode: SubscriptionMode) -> SubscriptionList {
    list(Mode::Stream, vec![subscription(text, mode)])
}

#[tokio::test(flavor = "multi_thread")]
async fn once_tells_everything_and_ends() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let once = list(
        Mode::Once,
        vec![subscription(STATUS, SubscriptionMode::TargetDefined)],
    );
    let mut call = Call::open(&mut client, once.clone()).await;
    let values = call.synchronized().await;
    assert_eq!(values.get(ONE).map(String::as_str), Some("UP"));
    assert_eq!(values.len(), 2);
    assert_eq!(call.next().await.unwrap(), None);
    // What is not there (yet) is no error.
    let none = list(
        Mode::Once,
        vec![subscription(
            "/interfaces/interface[name=9]/state",
            SubscriptionMode::TargetDefined,
        )],
    );
    assert!(
        Call::open(&mut client, none)
            .await
            .synchronized()
            .await
            .is_empty()
    );
    let only = SubscriptionList {
        updates_only: true,
        ..once
    };
    let mut call = Call::open(&mut client, only).await;
    assert!(call.synchronized().await.is_empty());
    assert_eq!(call.next().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn poll_tells_everything_each_time() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let poll = list(
        Mode::Poll,
        vec![subscription(PACKETS, SubscriptionMode::TargetDefined)],
    );
    let mut call = Call::open(&mut client, poll.clone()).await;
    assert_eq!(call.synchronized().await[PACKETS], "0");
    for count in 1..4 {
        rig.carry(b"frame");
        call.says.send(asked(Asked::Poll(Poll {}))).await.unwrap();
        assert_eq!(call.synchronized().await[PACKETS], count.to_string());
    }
    call.says
        .send(asked(Asked::Subscribe(poll.clone())))
        .await
        .unwrap();
    assert_eq!(call.end().await.code(), Code::InvalidArgument);
    let only = SubscriptionList {
        updates_only: true,
        ..poll
    };
    let mut call = Call::open(&mut client, only).await;
    assert!(call.synchronized().await.is_empty());
    call.says.send(asked(Asked::Poll(Poll {}))).await.unwrap();
    assert_eq!(call.synchronized().await[PACKETS], "3");
    // A client that has no more to ask ends the call.
    drop(std::mem::replace(
        &mut call.says,
        tokio::sync::mpsc::channel(1).0,
    ));
    assert_eq!(call.end().await.code(), Code::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_told_at_once_and_each_of_many() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut call = Call::open(&mut client, watch(STATUS, SubscriptionMode::OnChange)).await;
    assert_eq!(call.synchronized().await.len(), 2);
    for _ in 0..50 {
        rig.link(1, false);
        rig.link(1, true);
    }
    for _ in 0..50 {
        for expected in ["DOWN", "UP"] {
            let news = call.news().await;
            assert!(news.timestamp > 0 && !news.atomic);
            let news = values([&news]);
            assert_eq!(
                news.into_iter().collect::<Vec<_>>(),
                [(ONE.to_owned(), expected.to_owned())]
            );
        }
    }
    // The same state again is no change; the next one is the next news.
    rig.link(1, true);
    rig.link(2, false);
    let news = values([&call.news().await]);
    assert_eq!(news.into_values().collect::<Vec<_>>(), ["DOWN"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn disabling_a_port_changes_all_that_depends_on_it() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut call = Call::open(
        &mut client,
        watch("/interfaces/interface[name=1]", SubscriptionMode::OnChange),
    )
    .await;
    assert!(call.synchronized().await.len() > 15);
    let off = [(PortId::new(1), false)].into();
    rig.engine.handle().set_ports_enabled(&off).unwrap();
    let news = values([&call.news().await]);
    let at = |leaf: &str| {
        news.get(&format!("/interfaces/interface[name=1]/{leaf}"))
            .map(String::as_str)
    };
    assert_eq!(at("config/enabled"), Some("false"));
    assert_eq!(at("state/enabled"), Some("false"));
    assert_eq!(at("state/admin-status"), Some("DOWN"));
    assert_eq!(at("state/oper-status"), Some("DOWN"));
    assert_eq!(at("state/counters/interface-transitions"), Some("1"));
    assert!(at("state/last-change").is_some());
    assert_eq!(news.len(), 6);
    // Counters have no events: they are looked at.
    let on = [(PortId::new(1), true)].into();
    rig.engine.handle().set_ports_enabled(&on).unwrap();
    assert_eq!(values([&call.news().await]).len(), 6);
    rig.carry(b"frame");
    let news = values([&call.news().await]);
    assert_eq!(news[PACKETS], "1");
    assert!(!news.contains_key("/interfaces/interface[name=1]/state/counters/out-pkts"));
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_only_and_ports_that_come_and_go() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let only = SubscriptionList {
        updates_only: true,
        ..watch(STATUS, SubscriptionMode::OnChange)
    };
    let mut call = Call::open(&mut client, only).await;
    assert!(call.synchronized().await.is_empty());
    let (_end, three) = udp_end(3);
    rig.ports
        .lock()
        .unwrap()
        .add(three.parse().unwrap())
        .unwrap();
    let news = values([&call.news().await]);
    let name = "/interfaces/interface[name=3]/state/oper-status";
    assert_eq!(
        news.into_iter().collect::<Vec<_>>(),
        [(name.to_owned(), "UP".to_owned())]
    );
    rig.ports.lock().unwrap().remove(PortId::new(3)).unwrap();
    let news = call.news().await;
    assert_eq!(news.delete.iter().map(text).collect::<Vec<_>>(), [name]);
    rig.link(1, false);
    assert_eq!(values([&call.news().await])[ONE], "DOWN");
}

fn sample(interval: u64) -> Subscription {
    Subscription {
        sample_interval: interval,
        ..subscription(PACKETS, SubscriptionMode::Sample)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_come_again_and_again() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    // 0 is the shortest interval that there is.
    for interval in [0, 100 * MS] {
        let mut call = Call::open(&mut client, list(Mode::Stream, vec![sample(interval)])).await;
        let first = call.synchronized().await[PACKETS].clone();
        for _ in 0..3 {
            assert_eq!(values([&call.news().await])[PACKETS], first);
        }
        rig.carry(b"frame");
        let changed = loop {
            let value = values([&call.news().await])[PACKETS].clone();
            if value != first {
                break value;
            }
        };
        assert_eq!(
            changed.parse::<u64>().unwrap(),
            first.parse::<u64>().unwrap() + 1
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redundant_samples_are_left_out_but_for_heartbeats() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let quiet = Subscription {
        suppress_redundant: true,
        ..sample(100 * MS)
    };
    let mut call = Call::open(&mut client, list(Mode::Stream, vec![quiet.clone()])).await;
    assert_eq!(call.synchronized().await[PACKETS], "0");
    for count in 1..3 {
        rig.carry(b"frame");
        assert_eq!(values([&call.news().await])[PACKETS], count.to_string());
    }
    // A heartbeat tells it all the same; likewise of what changes by events.
    let beats = Subscription {
        heartbeat_interval: 100 * MS,
        ..quiet
    };
    let change = Subscription {
        heartbeat_interval: 100 * MS,
        ..subscription(ONE, SubscriptionMode::OnChange)
    };
    for (subscription, place, value) in [(beats, PACKETS, "2"), (change, ONE, "UP")] {
        let mut call = Call::open(&mut client, list(Mode::Stream, vec![subscription])).await;
        assert_eq!(call.synchronized().await[place], value);
        for _ in 0..3 {
            assert_eq!(values([&call.news().await])[place], value);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_switch_chooses_events_for_states_and_samples_for_counters() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let mut call = Call::open(
        &mut client,
        watch(
            "/interfaces/interface[name=1]/state",
            SubscriptionMode::TargetDefined,
        ),
    )
    .await;
    let all = call.synchronized().await;
    assert!(all.contains_key(ONE) && all.contains_key(PACKETS));
    rig.link(1, false);
    let (mut status, mut samples) = (false, 0);
    while !status || samples < 2 {
        let news = values([&call.news().await]);
        status |= news.contains_key(ONE);
        samples += usize::from(news.contains_key(PACKETS));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leaves_are_scalars_unless_ietf_is_asked_for() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    // Without an encoding too, which is the same as JSON.
    for (encoding, expected) in [
        (Encoding::Json, "UP"),
        (Encoding::Proto, "UP"),
        (Encoding::JsonIetf, "\"UP\""),
    ] {
        let list = SubscriptionList {
            encoding: encoding.into(),
            prefix: Some(Path {
                target: "leaf1".to_owned(),
                ..path("/interfaces")
            }),
            ..list(
                Mode::Stream,
                vec![subscription(
                    "interface[name=1]/state/oper-status",
                    SubscriptionMode::OnChange,
                )],
            )
        };
        let mut call = Call::open(&mut client, list).await;
        let news = call.news().await;
        assert_eq!(news.prefix.as_ref().unwrap().target, "leaf1");
        assert_eq!(values([&news])[ONE], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_subscribe_refuses_is_named() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let good = || watch(ONE, SubscriptionMode::OnChange);
    let with = |subscription: Subscription| list(Mode::Stream, vec![subscription]);
    let change = || subscription(ONE, SubscriptionMode::OnChange);
    for (list, code, words) in [
        (with(sample(10_000)), Code::InvalidArgument, "100000000 ns"),
        (
            with(Subscription {
                heartbeat_interval: 5,
                ..change()
            }),
            Code::InvalidArgument,
            "heartbeat_interval",
        ),
        (
            with(Subscription {
                sample_interval: 1 << 40,
                ..subscription(ONE, SubscriptionMode::TargetDefined)
            }),
            Code::InvalidArgument,
            "TARGET_DEFINED",
        ),
        (
            with(Subscription {
                mode: 77,
                ..change()
            }),
            Code::InvalidArgument,
            "77",
        ),
        (
            with(subscription("/components", SubscriptionMode::OnChange)),
            Code::Unimplemented,
            "/components",
        ),
        (
            with(subscription("/interfaces[a=b]", SubscriptionMode::OnChange)),
            Code::InvalidArgument,
            "/interfaces[a=b]",
        ),
        (
            SubscriptionList { mode: 77, ..good() },
            Code::InvalidArgument,
            "77",
        ),
        (
            SubscriptionList {
                encoding: Encoding::Ascii.into(),
                ..good()
            },
            Code::Unimplemented,
            "ASCII",
        ),
        (
            SubscriptionList {
                qos: Some(QosMarking { marking: 46 }),
                ..good()
            },
            Code::Unimplemented,
            "qos",
        ),
        (
            SubscriptionList {
                subscription: Vec::new(),
                ..good()
            },
            Code::InvalidArgument,
            "no subscription",
        ),
    ] {
        let refused = Call::open(&mut client, list).await.end().await;
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().contains(words), "{refused}");
    }
    let extended = SubscribeRequest {
        request: Some(Asked::Subscribe(good())),
        extension: vec![Extension::default()],
    };
    for (first, code) in [
        (asked(Asked::Poll(Poll {})), Code::InvalidArgument),
        (SubscribeRequest::default(), Code::InvalidArgument),
        (extended, Code::Unimplemented),
    ] {
        let mut call = Call::silent(&mut client).await.unwrap();
        call.says.send(first).await.unwrap();
        assert_eq!(call.end().await.code(), code);
    }
    // Another list on a stream ends it, and no other.
    let mut other = Call::open(&mut client, good()).await;
    let mut call = Call::open(&mut client, good()).await;
    other.synchronized().await;
    call.synchronized().await;
    call.says
        .send(asked(Asked::Subscribe(good())))
        .await
        .unwrap();
    assert_eq!(call.end().await.code(), Code::InvalidArgument);
    rig.link(1, false);
    assert_eq!(values([&other.news().await])[ONE], "DOWN");
    // A client that only listens from now on goes on hearing.
    drop(std::mem::replace(
        &mut other.says,
        tokio::sync::mpsc::channel(1).0,
    ));
    rig.link(1, true);
    assert_eq!(values([&other.news().await])[ONE], "UP");
    rig.server.stop().await;
    let end = loop {
        match other.next().await {
            Ok(Some(Answer::Update(_))) => {}
            other => break other,
        }
    };
    assert_eq!(end.unwrap_err().code(), Code::Unavailable);
}

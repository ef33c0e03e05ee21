//! The engine without a server: programs, packets, port status, visits, stopping.
#![allow(clippy::unwrap_used)]

mod threads;

use std::sync::Arc;
use std::time::{Duration, Instant};

use device::buffer::{BufferConfig, PortConfig, Threshold};
use p4exec::Update;
use p4exec::tables::{ActionCall, EntryAction, EntryOptions, EntryPriority, FieldMatch, NewEntry};
use p4exec::value::Bits;
use p4front::source::SourceMap;
use quantities::{BitRate, Bytes, Nanos, PortId, Priority};
use switchd::engine::control::Control;
use switchd::engine::io::{MemoryIo, MemoryWires};
use switchd::engine::lossless::LosslessStatus;
use switchd::engine::{Engine, EngineConfig, EngineError, Notification};
use tokio::sync::mpsc::Receiver;
use wire::MacAddr;
use wire::pfc::{self, Quanta};

const PROGRAM: &str = r"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> to; }
struct H { h_t h; }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action send(bit<9> port) { s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table route { key = { h.h.to: exact; } actions = { send; drop; } default_action = drop(); size = 64; }
    apply { route.apply(); digest<h_t>(1, h.h); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

const WAIT: Duration = Duration::from_secs(10);

fn engine() -> (Engine, Receiver<Notification>, MemoryWires) {
    let (io, wires) = MemoryIo::new();
    let config = EngineConfig {
        ports: (1..=3).map(PortId::new).collect(),
        cpu_port: Some(PortId::new(255)),
        ..EngineConfig::default()
    };
    let (engine, notifications) = Engine::start(&config, io).unwrap();
    (engine, notifications, wires)
}

fn load(engine: &Engine) -> Control {
    load_program(engine, PROGRAM)
}

fn load_program(engine: &Engine, program: &str) -> Control {
    let mut control = build(engine, program);
    control.launch().unwrap();
    control
}

/// A program that does not run yet.
fn build(engine: &Engine, program: &str) -> Control {
    let mut map = SourceMap::new();
    let main = map.add("test.p4", program).unwrap();
    let compiled = p4front::compile(&mut map, main, &p4front::Options::default()).unwrap();
    let executor = engine.handle().build(Arc::new(compiled.ir)).unwrap();
    Control::new(engine.handle(), executor)
}

fn route(control: &Control, to: u64, port: u64) -> Update {
    let state = control.state();
    Update::InsertEntry {
        table: state.table_named("I.route").unwrap(),
        entry: NewEntry {
            key: vec![FieldMatch::Exact(Bits::from_u64(8, to))],
            priority: EntryPriority(0),
            action: EntryAction::Call(ActionCall {
                action: state.action_named("I.send").unwrap(),
                args: vec![Bits::from_u64(9, port)],
            }),
            is_const: false,
            options: EntryOptions::default(),
        },
    }
}

#[test]
fn packets_take_the_way_the_committed_entries_say() {
    let (engine, mut notifications, wires) = engine();
    wires.send(PortId::new(1), &[7]);
    let deadline = Instant::now() + WAIT;
    while engine.handle().counters().unwrap().without_program == 0 {
        assert!(Instant::now() < deadline, "the packet was never looked at");
        std::thread::yield_now();
    }
    let mut control = load(&engine);
    let routes = [(7, 2), (8, 3), (9, 255)].map(|(to, port)| route(&control, to, port));
    let (undone, again) = (route(&control, 10, 3), route(&control, 7, 3));
    let mut batch = control.begin();
    for route in routes {
        batch.apply(route).unwrap();
    }
    let mark = batch.mark();
    batch.apply(undone).unwrap();
    batch.roll_back(mark);
    assert!(batch.apply(again).is_err(), "a duplicate");
    let delta = batch.commit();
    control.commit(delta).unwrap();
    wires.send(PortId::new(1), &[7, 1]);
    wires.send(PortId::new(1), &[8, 2]);
    assert_eq!(wires.receive(WAIT), Some((PortId::new(2), vec![7, 1])));
    assert_eq!(wires.receive(WAIT), Some((PortId::new(3), vec![8, 2])));
    engine.handle().inject(PortId::new(255), vec![9]).unwrap();
    let mut seen = Vec::new();
    while seen.last() != Some(&Notification::PacketIn(vec![9])) {
        seen.push(notifications.blocking_recv().unwrap());
    }
    let digests = seen
        .iter()
        .filter(|n| matches!(n, Notification::Digest(..)))
        .count();
    assert!(digests >= 2, "one digest per packet: {seen:?}");
    let counters = engine.handle().port_counters(PortId::new(2)).unwrap();
    assert_eq!(counters.unwrap().sent, 1);
    engine.stop();
}

#[test]
fn a_port_that_goes_down_is_known_at_once_and_survives_a_new_program() {
    let (engine, _notifications, wires) = engine();
    let handle = engine.handle().clone();
    handle.set_port_up(PortId::new(2), false).unwrap();
    let mut control = load(&engine);
    let routes = [(7, 2), (8, 3)].map(|(to, port)| route(&control, to, port));
    let mut batch = control.begin();
    for route in routes {
        batch.apply(route).unwrap();
    }
    let delta = batch.commit();
    control.commit(delta).unwrap();
    wires.send(PortId::new(1), &[7]);
    wires.send(PortId::new(1), &[8]);
    assert_eq!(wires.receive(WAIT), Some((PortId::new(3), vec![8])));
    let status = handle
        .visit_first(|state, _| state.data.port_status(8))
        .unwrap();
    assert_eq!(status.to_u64(), Some(0b1010));
    drop(load(&engine));
    handle.set_port_exists(PortId::new(4), true).unwrap();
    let status = handle
        .visit_first(|state, _| state.data.port_status(8))
        .unwrap();
    assert_eq!(status.to_u64(), Some(0b11010));
    let ports = handle.ports().unwrap();
    assert!(ports.contains(&(PortId::new(2), false)) && ports.contains(&(PortId::new(4), true)));
}

#[test]
fn what_is_asked_of_an_engine_without_program_or_life_is_an_error() {
    let (engine, _notifications, _wires) = engine();
    let handle = engine.handle().clone();
    assert_eq!(handle.visit_first(|_, _| ()), Err(EngineError::NoProgram));
    engine.stop();
    assert_eq!(handle.visit_first(|_, _| ()), Err(EngineError::Stopped));
    assert_eq!(handle.ports(), Err(EngineError::Stopped));
}

/// Every packet to port 1, lossless.
const LOSSLESS: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> to; }
struct H { h_t h; }
struct M {
    @switchwright("ing_prio") bit<3> ing;
    @switchwright("eg_prio") bit<3> eg;
}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply { s.egress_spec = 1; m.ing = 1; m.eg = 1; }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// 8 Mb/s: a packet of 976 bytes takes a millisecond of the wire.
fn lossless() -> BufferConfig {
    let port = |number| PortConfig {
        port: PortId::new(number),
        rate: BitRate::new(8_000_000),
        headroom: Bytes::new(200_000),
        mac: MacAddr::from([2, 0, 0, 0, 0, number as u8]),
        reaction: Nanos::new(0),
    };
    let classes = [Priority::new(1)].into_iter().collect();
    let mut config =
        BufferConfig::usual(Bytes::new(1_000_000), classes, (1..=3).map(port).collect());
    config.threshold = Threshold::Fixed {
        xoff: Bytes::new(20_000),
        xon: Bytes::new(10_000),
    };
    config
}

#[test]
fn a_lossless_switch_holds_its_rate_and_speaks_pfc() {
    let (io, wires) = MemoryIo::new();
    let config = EngineConfig {
        ports: (1..=3).map(PortId::new).collect(),
        lossless: Some(lossless()),
        ..EngineConfig::default()
    };
    let (engine, _notifications) = Engine::start(&config, io).unwrap();
    let _control = load_program(&engine, LOSSLESS);
    let mut packet = [0u8; 976];
    packet[12] = 8;
    let start = Instant::now();
    for number in 0..100 {
        packet[20] = number;
        wires.send(PortId::new(2), &packet);
    }
    let (mut numbers, mut pfc) = (Vec::new(), Vec::new());
    while numbers.len() < 100 {
        let (port, bytes) = wires.receive(WAIT).expect("a frame");
        match pfc::Repr::parse(&bytes) {
            Ok(frame) => pfc.push((port.get(), frame.times[1].unwrap())),
            Err(_) => numbers.push(bytes[20]),
        }
    }
    assert!(
        start.elapsed() >= Duration::from_millis(99),
        "the port has a rate"
    );
    assert_eq!(numbers, (0..100).collect::<Vec<u8>>());
    assert_eq!(pfc, [(2, Quanta::MAX), (2, Quanta::RESUME)]);

    // The far end of port 1 says stop: nothing leaves until it says go on.
    let say = |time| pfc::Repr::single(MacAddr::from([2; 6]), Priority::new(1), time).to_bytes();
    wires.send(PortId::new(1), &say(Quanta::MAX));
    wires.send(PortId::new(2), &packet);
    assert_eq!(wires.receive(Duration::from_millis(100)), None);
    let status = engine
        .handle()
        .inspect(LosslessStatus::of)
        .unwrap()
        .unwrap();
    assert_eq!(status.waits.len(), 1, "{status:?}");
    assert_eq!((status.totals.processed, status.totals.lossless), (101, 0));
    let (one, two) = (&status.ports[0].classes[0], &status.ports[1].classes[0]);
    assert_eq!(
        (one.class.get(), one.paused, one.queued.get()),
        (1, true, 976)
    );
    assert_eq!((two.counters.pauses_sent, two.counters.accepted), (1, 101));
    assert!(two.counters.headroom_peak.get() > 0);
    wires.send(PortId::new(1), &say(Quanta::RESUME));
    assert!(wires.receive(WAIT).is_some());
    // A link that goes down takes its queue along.
    wires.send(PortId::new(1), &say(Quanta::MAX));
    wires.send(PortId::new(2), &packet);
    engine.handle().set_port_up(PortId::new(1), false).unwrap();
    engine.handle().set_port_up(PortId::new(1), true).unwrap();
    wires.send(PortId::new(2), &packet);
    assert!(wires.receive(WAIT).is_some(), "and its pause");

    let wrong = EngineConfig {
        lossless: Some(BufferConfig {
            capacity: Bytes::new(100),
            ..lossless()
        }),
        ..EngineConfig::default()
    };
    let refused = Engine::start(&wrong, MemoryIo::new().0).map(|_| ());
    assert!(
        matches!(refused, Err(EngineError::Lossless(_))),
        "{refused:?}"
    );
}

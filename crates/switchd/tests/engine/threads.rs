//! Several data-plane threads: what packets count adds up, registers lose nothing, batches are seen
//! whole, commands reach all.

use std::collections::{BTreeMap, BTreeSet};

use p4exec::externs::counter::CounterCell;
use p4exec::externs::meter::MeterConfig;
use p4exec::state::EntryRef;
use quantities::Bytes;
use switchd::engine::flow::thread_of;
use switchd::engine::{ExecutorKind, Retired};

use super::*;

/// The first byte says where a frame leaves and is its flow with the next one. Objects, what
/// ingress does after the table, and what the table has besides are the case's own.
fn program(objects: &str, ingress: &str, table: &str) -> String {
    format!(
        r"
#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> to; bit<8> flow; bit<8> a; bit<8> b; bit<32> number; }}
struct H {{ h_t h; }}
struct M {{ }}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{
    state start {{ b.extract(h.h); transition accept; }}
}}
control V(inout H h, inout M m) {{ apply {{ }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{
    {objects}
    action send(bit<9> port) {{ s.egress_spec = port; }}
    action drop() {{ mark_to_drop(s); }}
    table route {{
        key = {{ h.h.to: exact; }} actions = {{ send; drop; }} default_action = drop(); size = 64; {table}
    }}
    apply {{ route.apply(); {ingress} }}
}}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out b, in H h) {{ apply {{ b.emit(h.h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
    )
}

const COUNTERS: &str =
    "counter(256, CounterType.packets_and_bytes) flows; direct_counter(CounterType.packets) hits;";
const REGISTER: &str = "register<bit<32>>(4) seen; counter(256, CounterType.packets) flows;";
const NUMBER: &str = "flows.count((bit<32>) h.h.flow); seen.read(h.h.number, 1); h.h.number = h.h.number + 1; seen.write(1, h.h.number);";

fn start(threads: usize, executor: ExecutorKind) -> (Engine, Receiver<Notification>, MemoryWires) {
    let (ios, wires) = MemoryIo::several(threads);
    let config = EngineConfig {
        ports: (1..=3).map(PortId::new).collect(),
        cpu_port: Some(PortId::new(255)),
        executor,
        ..EngineConfig::default()
    };
    let (engine, notifications) = Engine::start_threads(&config, ios).unwrap();
    assert_eq!(engine.handle().threads(), threads);
    (engine, notifications, wires)
}

fn commit(control: &mut Control, updates: impl IntoIterator<Item = Update>) {
    let mut batch = control.begin();
    for update in updates {
        batch.apply(update).unwrap();
    }
    let delta = batch.commit();
    control.commit(delta).unwrap();
}

fn frame(to: u8, flow: u8) -> Vec<u8> {
    vec![to, flow, 0, 0, 0, 0, 0, 0, 0x88]
}

/// Sends so many frames of each flow, and returns flow and number of what came back.
fn exchange(wires: &MemoryWires, flows: u8, each: u32) -> Vec<(u8, u32)> {
    for _ in 0..each {
        for flow in 0..flows {
            wires.send(PortId::new(1), &frame(7, flow));
        }
    }
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes[4..8].try_into().unwrap());
    let came = (0..each * u32::from(flows)).map(|_| {
        let (port, bytes) = wires.receive(WAIT).expect("a frame");
        assert_eq!(port, PortId::new(2));
        (bytes[1], number(&bytes))
    });
    came.collect()
}

fn shared_out(flows: u8, threads: usize) -> bool {
    let used: BTreeSet<usize> = (0..flows)
        .map(|f| thread_of(&frame(7, f), threads))
        .collect();
    used.len() == threads
}

/// What each case is tried with.
fn cases() -> impl Iterator<Item = (usize, ExecutorKind)> {
    [1, 2, 3].into_iter().flat_map(|threads| {
        [ExecutorKind::Interp, ExecutorKind::Compile].map(|kind| (threads, kind))
    })
}

#[test]
fn what_threads_count_adds_up_and_what_is_written_counts_once() {
    let ingress = "flows.count((bit<32>) h.h.flow);";
    let program = program(COUNTERS, ingress, "counters = hits;");
    for (threads, kind) in cases() {
        let (engine, _notifications, wires) = start(threads, kind);
        let mut control = build(&engine, &program);
        let (flows, table) = {
            let state = control.state();
            (
                state.extern_named("I.flows").unwrap(),
                state.table_named("I.route").unwrap(),
            )
        };
        let seven = route(&control, 7, 2);
        commit(&mut control, [seven]);
        // Written before the program runs: no thread has it twice.
        let set = |packets| Update::SetCounter {
            counter: flows,
            index: 3,
            value: CounterCell {
                packets,
                bytes: Bytes::new(1),
            },
        };
        commit(&mut control, [set(1000)]);
        control.launch().unwrap();
        assert!(shared_out(60, threads));
        exchange(&wires, 60, 50);
        let counted = control.counted(flows, 0..256).unwrap();
        let packets: Vec<u64> = counted.iter().map(|cell| cell.packets).collect();
        let expected = |flow: usize| match flow {
            3 => 1050,
            0..60 => 50,
            _ => 0,
        };
        assert_eq!(
            packets,
            (0..256).map(expected).collect::<Vec<u64>>(),
            "{threads} {kind:?}"
        );
        assert_eq!((counted[0].bytes.get(), counted[3].bytes.get()), (450, 451));
        let slot = control
            .state()
            .table(table)
            .unwrap()
            .iter()
            .next()
            .unwrap()
            .handle();
        let hits = |control: &Control| {
            let data = control.entry_data(table, vec![Some(slot.0), None]).unwrap();
            data.iter()
                .map(|data| data.counter.packets)
                .collect::<Vec<u64>>()
        };
        assert_eq!(hits(&control), [3000, 0]);
        let direct = Update::SetDirectCounter {
            table,
            entry: EntryRef::Handle(slot),
            value: CounterCell {
                packets: 5,
                bytes: Bytes::new(0),
            },
        };
        commit(&mut control, [set(7), direct]);
        exchange(&wires, 60, 1);
        assert_eq!(control.counted(flows, 3..5).unwrap().map_packets(), [8, 51]);
        assert_eq!(hits(&control), [65, 0]);
        // A new entry in the same place starts anew, on every thread.
        let again = route(&control, 7, 2);
        let Update::InsertEntry { entry, .. } = &again else {
            unreachable!()
        };
        let delete = Update::DeleteEntry {
            table,
            key: entry.key.clone(),
            priority: entry.priority,
        };
        commit(&mut control, [delete, again]);
        exchange(&wires, 60, 1);
        assert_eq!(hits(&control), [60, 0]);
        let port = |number| engine.handle().port_counters(PortId::new(number)).unwrap();
        let sent = 60 * 52;
        assert_eq!(port(1).unwrap().received, sent);
        assert_eq!(
            (port(2).unwrap().sent, port(2).unwrap().sent_bytes.get()),
            (sent, 9 * sent)
        );
        assert_eq!(port(9), None);
    }
}

trait Packets {
    fn map_packets(&self) -> Vec<u64>;
}

impl Packets for Vec<CounterCell> {
    fn map_packets(&self) -> Vec<u64> {
        self.iter().map(|cell| cell.packets).collect()
    }
}

#[test]
fn a_register_loses_no_update_and_numbers_rise_within_a_flow() {
    let program = program(REGISTER, NUMBER, "");
    for (threads, kind) in cases() {
        let (engine, _notifications, wires) = start(threads, kind);
        let mut control = load_program(&engine, &program);
        let seven = route(&control, 7, 2);
        commit(&mut control, [seven]);
        let (seen, flows) = {
            let named = |name| control.state().extern_named(name).unwrap();
            (named("I.seen"), named("I.flows"))
        };
        let numbers = exchange(&wires, 60, 100);
        // Every number once: no two packets read the same value.
        let mut all: Vec<u32> = numbers.iter().map(|(_, number)| *number).collect();
        all.sort_unstable();
        assert_eq!(all, (1..=6000).collect::<Vec<u32>>(), "{threads} {kind:?}");
        let mut last = BTreeMap::new();
        for (flow, number) in numbers {
            assert!(
                last.insert(flow, number) < Some(number),
                "a flow stays in order"
            );
        }
        let read = |control: &Control| {
            control
                .visit_one(move |state, _| state.register(seen).unwrap().read(1).unwrap().to_u64())
        };
        assert_eq!(read(&control).unwrap(), Some(6000));
        assert_eq!(
            control.counted(flows, 0..2).unwrap().map_packets(),
            [100, 100]
        );
        let value = Bits::from_u64(32, 70_000);
        commit(
            &mut control,
            [Update::SetRegister {
                register: seen,
                index: 1,
                value,
            }],
        );
        let mut numbers: Vec<u32> = exchange(&wires, 60, 1)
            .into_iter()
            .map(|(_, n)| n)
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (70_001..=70_060).collect::<Vec<u32>>());
    }
}

#[test]
fn a_meter_is_one_for_all_threads() {
    let objects = "meter(4, MeterType.packets) rate;";
    let ingress = "rate.execute_meter(1, h.h.number);";
    let program = program(objects, ingress, "");
    for (threads, kind) in cases() {
        let (engine, _notifications, wires) = start(threads, kind);
        let mut control = load_program(&engine, &program);
        let seven = route(&control, 7, 2);
        let meter = control.state().extern_named("I.rate").unwrap();
        // Bursts of 50 and 100 packets, and no more.
        let config = Some(MeterConfig {
            cir: 0,
            cburst: 50,
            pir: 0,
            pburst: 100,
        });
        commit(
            &mut control,
            [
                seven,
                Update::SetMeter {
                    meter,
                    index: 1,
                    config,
                },
            ],
        );
        let mut colours = [0; 3];
        for (_, colour) in exchange(&wires, 60, 10) {
            colours[colour as usize] += 1;
        }
        assert_eq!(colours, [50, 50, 500], "{threads} {kind:?}");
        let marked =
            control.visit_one(move |state, _| *state.meter(meter).unwrap().cells[1].marked());
        let marked = marked.unwrap();
        assert_eq!((marked.green.packets, marked.red.packets), (50, 500));
    }
}

#[test]
fn a_hit_on_any_thread_keeps_an_entry_awake() {
    let program = program("", "", "support_timeout = true;");
    for (threads, kind) in cases() {
        let (engine, _notifications, wires) = start(threads, kind);
        let mut control = load_program(&engine, &program);
        let mut seven = route(&control, 7, 2);
        if let Update::InsertEntry { entry, .. } = &mut seven {
            entry.options.idle_timeout = Nanos::new(1);
        }
        commit(&mut control, [seven]);
        let table = control.state().table_named("I.route").unwrap();
        let hit = |control: &Control| {
            let look = move |state: &mut p4exec::RuntimeState, _| {
                state.data.cells(table).unwrap().last_hit(0).unwrap()
            };
            control.visit_one(look).unwrap()
        };
        for thread in 0..threads {
            let own = (0..250).find(|f| thread_of(&frame(7, *f), threads) == thread);
            let before = hit(&control);
            wires.send(PortId::new(1), &frame(7, own.unwrap()));
            assert!(wires.receive(WAIT).is_some());
            assert!(
                hit(&control) > before,
                "{threads} {kind:?}, thread {thread}"
            );
        }
        let idle = control.visit_one(move |state, now| {
            let p4exec::RuntimeState { control, data } = state;
            data.take_idle(control, table, now, 0..10)
        });
        assert_eq!(idle.unwrap(), [0]);
    }
}

/// Two tables that batches keep alike.
const TWINS: &str = r"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> to; bit<8> flow; bit<8> a; bit<8> b; }
struct H { h_t h; }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    OBJECTS
    action set_a(bit<8> value) { h.h.a = value; }
    action set_b(bit<8> value) { h.h.b = value; }
    table first { key = { h.h.to: exact; } actions = { set_a; NoAction; } default_action = NoAction(); size = 16; }
    table second { key = { h.h.to: exact; } actions = { set_b; NoAction; } default_action = NoAction(); size = 16; }
    apply { first.apply(); s.egress_spec = 2; INGRESS second.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

#[test]
fn no_packet_sees_a_part_of_a_batch() {
    let register = [
        ("register<bit<32>>(4) seen;", "seen.write(0, 1);"),
        ("", ""),
    ];
    for ((threads, kind), (objects, ingress)) in
        cases().flat_map(|case| register.map(|r| (case, r)))
    {
        let program = TWINS
            .replace("OBJECTS", objects)
            .replace("INGRESS", ingress);
        let (engine, _notifications, wires) = start(threads, kind);
        let mut control = load_program(&engine, &program);
        let entry = |control: &Control, table: &str, action: &str, value| {
            let state = control.state();
            Update::InsertEntry {
                table: state.table_named(table).unwrap(),
                entry: NewEntry {
                    key: vec![FieldMatch::Exact(Bits::from_u64(8, 7))],
                    priority: EntryPriority(0),
                    action: EntryAction::Call(ActionCall {
                        action: state.action_named(action).unwrap(),
                        args: vec![Bits::from_u64(8, value)],
                    }),
                    is_const: false,
                    options: EntryOptions::default(),
                },
            }
        };
        let delete = |update: &Update| {
            let Update::InsertEntry { table, entry } = update else {
                unreachable!()
            };
            Update::DeleteEntry {
                table: *table,
                key: entry.key.clone(),
                priority: entry.priority,
            }
        };
        let both = |control: &Control, value| {
            [
                entry(control, "I.first", "I.set_a", value),
                entry(control, "I.second", "I.set_b", value),
            ]
        };
        let mut now = both(&control, 1);
        commit(&mut control, now.clone());
        let mut values = BTreeSet::new();
        for round in 0..60u64 {
            for flow in 0..100 {
                wires.send(PortId::new(1), &[7, flow, 0, 0]);
            }
            let next = both(&control, 1 + (round + 1) % 200);
            let gone = now.each_ref().map(delete);
            commit(&mut control, gone.into_iter().chain(next.clone()));
            now = next;
            for _ in 0..100 {
                let (_, bytes) = wires.receive(WAIT).expect("a frame");
                assert_eq!(bytes[2], bytes[3], "{threads} {kind:?}");
                values.insert(bytes[2]);
            }
            // What was sent after the batch sees it, on every thread.
            for flow in 0..20 {
                wires.send(PortId::new(1), &[7, flow, 0, 0]);
            }
            for _ in 0..20 {
                let (_, bytes) = wires.receive(WAIT).expect("a frame");
                assert_eq!(u64::from(bytes[2]), 1 + (round + 1) % 200);
            }
        }
        assert!(
            values.len() > 20,
            "batches came between packets: {values:?}"
        );
    }
}

#[test]
fn ports_programs_and_digests_are_those_of_all_threads() {
    for (threads, kind) in cases() {
        let (engine, mut notifications, wires) = start(threads, kind);
        let handle = engine.handle().clone();
        handle.set_port_up(PortId::new(2), false).unwrap();
        let mut control = load(&engine);
        let seven = [route(&control, 7, 2), route(&control, 8, 3)];
        commit(&mut control, seven);
        let send = |to: u8| (0..40).for_each(|flow| wires.send(PortId::new(1), &[to, flow]));
        send(7);
        send(8);
        for _ in 0..40 {
            assert_eq!(
                wires.receive(WAIT).unwrap().0,
                PortId::new(3),
                "{threads} {kind:?}"
            );
        }
        let digests = |notifications: &mut Receiver<Notification>, count| {
            let (mut digests, mut changes) = (0, 0);
            while digests < count {
                match notifications.blocking_recv().unwrap() {
                    Notification::Digest(..) => digests += 1,
                    Notification::Port(_) => changes += 1,
                    Notification::PacketIn(_) => {}
                }
            }
            changes
        };
        assert_eq!(digests(&mut notifications, 80), 1, "a change is told once");
        assert_eq!(
            handle
                .port_counters(PortId::new(2))
                .unwrap()
                .unwrap()
                .lost_down,
            40
        );
        handle.set_port_up(PortId::new(2), true).unwrap();
        send(7);
        for _ in 0..40 {
            assert_eq!(wires.receive(WAIT).unwrap().0, PortId::new(2));
        }
        // A program with a state of another kind, and back.
        let old: Retired = {
            let mut other = build(&engine, &program(REGISTER, NUMBER, ""));
            let seven = route(&other, 7, 3);
            commit(&mut other, [seven]);
            other.launch().unwrap()
        };
        drop(old);
        handle.set_port_exists(PortId::new(4), true).unwrap();
        handle.set_port_up(PortId::new(1), false).unwrap();
        let status = handle
            .visit_first(|state, _| state.data.port_status(8))
            .unwrap();
        assert_eq!(status.to_u64(), Some(0b1_1100));
        handle.set_port_up(PortId::new(1), true).unwrap();
        for flow in 0..40 {
            wires.send(PortId::new(1), &frame(7, flow));
        }
        for _ in 0..40 {
            assert_eq!(wires.receive(WAIT).unwrap().0, PortId::new(3));
        }
        handle.set_port_exists(PortId::new(4), false).unwrap();
        let _control = load(&engine);
        let status = handle
            .visit_first(|state, _| state.data.port_status(8))
            .unwrap();
        assert_eq!(status.to_u64(), Some(0b1110));
    }
}

#[test]
fn a_stopped_engine_answers_and_the_copy_is_kept() {
    let (engine, _notifications, _wires) = start(3, ExecutorKind::Interp);
    let mut control = load(&engine);
    let first = route(&control, 7, 2);
    commit(&mut control, [first]);
    let handle = engine.handle().clone();
    engine.stop();
    let second = route(&control, 8, 2);
    let mut batch = control.begin();
    batch.apply(second).unwrap();
    let delta = batch.commit();
    assert_eq!(control.commit(delta), Err(EngineError::Stopped));
    let table = control.state().table_named("I.route").unwrap();
    assert_eq!(control.state().table(table).unwrap().len(), 2);
    assert_eq!(handle.ports(), Err(EngineError::Stopped));
    assert_eq!(
        handle.port_counters(PortId::new(1)),
        Err(EngineError::Stopped)
    );
    assert_eq!(
        handle.set_port_up(PortId::new(1), true),
        Err(EngineError::Stopped)
    );
}

#[test]
fn what_takes_one_thread_is_refused_to_several() {
    let queues = EngineConfig {
        queues: std::num::NonZeroU8::new(2),
        ..EngineConfig::default()
    };
    let buffer = EngineConfig {
        lossless: Some(lossless()),
        ..EngineConfig::default()
    };
    for config in [queues, buffer] {
        let refused = Engine::start_threads(&config, MemoryIo::several(2).0).map(|_| ());
        assert!(
            matches!(refused, Err(EngineError::OneThread(_))),
            "{refused:?}"
        );
    }
    let none = Engine::start_threads(&EngineConfig::default(), MemoryIo::several(0).0).map(|_| ());
    assert!(matches!(none, Err(EngineError::Start(_))), "{none:?}");
    let (engine, _notifications, _wires) = start(2, ExecutorKind::Interp);
    let range = device::QueueRange {
        port: None,
        queue: None,
    };
    let set = engine
        .handle()
        .set_queues(range, device::QueueSetting::Depth(5));
    assert!(matches!(set, Err(EngineError::OneThread(_))), "{set:?}");
}

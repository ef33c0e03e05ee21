//! Ports around a program: what goes in and out, what is lost and why, what the program is told.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use super::net;
use std::sync::Arc;

use device::{Device, DeviceDrop, DeviceError, Taken, Transmit};
use p4exec::{DropReason, Executor as _, Interpreter, TraceEvent};
use p4front::Options;
use p4front::source::SourceMap;
use quantities::{Bytes, Nanos, PortId, Priority};

/// The first byte names the port to leave by, 0xff to be dropped; the second is the tag, which
/// rises by one: ING_PRIO is the old tag, EG_PRIO the new one. The third becomes the port status.
const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> port; bit<8> tag; bit<8> status; }
struct headers_t { h_t h; }
struct meta_t {
    @switchwright("ing_prio") bit<3> ing;
    @switchwright("eg_prio") bit<3> eg;
    @switchwright("port_status") bit<8> status;
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { pkt.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.h.port == 0xff) {
            mark_to_drop(sm);
        } else {
            sm.egress_spec = (bit<9>) hdr.h.port;
        }
        meta.ing = hdr.h.tag[2:0];
        hdr.h.tag = hdr.h.tag + 1;
        meta.eg = hdr.h.tag[2:0];
        hdr.h.status = meta.status;
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

fn port(id: u16) -> PortId {
    PortId::new(id)
}

pub(crate) fn switch(ports: &[u16]) -> Device<Interpreter> {
    let mut map = SourceMap::new();
    let main = map.add("ports.p4", PROGRAM).unwrap();
    let compiled = p4front::compile(&mut map, main, &Options::default()).unwrap();
    let interpreter = Interpreter::new(Arc::new(compiled.ir)).unwrap();
    Device::new(interpreter, ports.iter().copied().map(port))
}

#[test]
fn packets_leave_with_both_priorities() {
    let mut device = switch(&[1, 2, 4]);
    let sent = device.receive(Nanos::new(0), port(1), &[4, 2, 0, 0xaa]);
    let expected = Transmit {
        port: port(4),
        bytes: vec![4, 3, 0b1_0110, 0xaa],
        ing_prio: Priority::new(2),
        eg_prio: Priority::new(3),
    };
    assert_eq!(sent, [expected]);
    assert_eq!(device.drops(), []);
    let (one, four) = (
        device.counters(port(1)).unwrap(),
        device.counters(port(4)).unwrap(),
    );
    assert_eq!(
        (one.received, one.received_bytes, one.sent),
        (1, Bytes::new(4), 0)
    );
    assert_eq!(
        (four.sent, four.sent_bytes, four.received),
        (1, Bytes::new(4), 0)
    );
}

#[test]
fn ports_that_are_down_lose_packets_both_ways_and_the_program_knows() {
    let mut device = switch(&[1, 2, 4]);
    device.set_port_up(port(4), false).unwrap();
    assert_eq!(device.receive(Nanos::new(0), port(1), &[4, 0, 0]), []);
    assert_eq!(device.drops(), [DeviceDrop::PortDown(port(4))]);
    assert_eq!(device.receive(Nanos::new(0), port(4), &[1, 0, 0]), []);
    assert_eq!(device.drops(), [DeviceDrop::PortDown(port(4))]);
    assert_eq!(device.counters(port(4)).unwrap().lost_down, 2);
    assert_eq!(
        device.receive(Nanos::new(0), port(1), &[2, 0, 0])[0].bytes,
        [2, 1, 0b0110]
    );
    device.set_port_up(port(4), true).unwrap();
    assert_eq!(
        device.receive(Nanos::new(0), port(4), &[1, 0, 0])[0].bytes,
        [1, 1, 0b1_0110]
    );
    let states: Vec<_> = device.ports().map(|(id, up)| (id.get(), up)).collect();
    assert_eq!(states, [(1, true), (2, true), (4, true)]);
}

#[test]
fn unknown_ports_and_program_drops_are_told() {
    let mut device = switch(&[1]);
    assert_eq!(device.receive(Nanos::new(0), port(9), &[1, 0, 0]), []);
    assert_eq!(device.drops(), [DeviceDrop::NoSuchPort(port(9))]);
    assert_eq!(device.receive(Nanos::new(0), port(1), &[3, 0, 0]), []);
    assert_eq!(device.drops(), [DeviceDrop::NoSuchPort(port(3))]);
    assert_eq!(device.receive(Nanos::new(0), port(1), &[0xff, 0, 0]), []);
    assert_eq!(device.drops(), [DeviceDrop::Program(DropReason::Ingress)]);
    assert_eq!(
        device.set_port_up(port(9), true),
        Err(DeviceError::NoSuchPort(port(9)))
    );
    assert!(device.receive(Nanos::new(0), port(1), &[1, 0, 0]).len() == 1);
    assert_eq!(device.drops(), [], "only of the last packet");
}

#[test]
fn a_trace_shows_fields_by_name() {
    let mut device = switch(&[1, 2]);
    let mut trace: Vec<TraceEvent> = Vec::new();
    device.receive_traced(Nanos::new(0), port(1), &[2, 5, 0], &mut trace);
    let fields = trace.iter().find_map(|event| match event {
        TraceEvent::EndOfEgress { port, fields } => Some((port.get(), fields)),
        _ => None,
    });
    let (out, fields) = fields.unwrap();
    assert_eq!(out, 2);
    let value = |name: &str| {
        fields
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.low_u64())
    };
    assert_eq!(value("meta.ing"), Some(5));
    assert_eq!(value("hdr.h.tag"), Some(6));
    assert_eq!(value("standard_metadata.egress_port"), Some(2));
    assert!(device.executor().state().tables().next().is_none());
}

/// A batch is its packets one by one: the same goes out, is lost and is counted.
#[test]
fn batches_are_their_packets_in_order() {
    let packets: [(u16, &[u8]); 5] = [
        (1, &[2, 4, 0]),
        (3, &[1, 0, 0]),
        (1, &[0xff, 1, 0]),
        (9, &[1, 1, 0]),
        (2, &[3, 1, 0]),
    ];
    let (mut single, mut batched) = (switch(&[1, 2, 3]), switch(&[1, 2, 3]));
    for device in [&mut single, &mut batched] {
        device.set_port_up(port(3), false).unwrap();
    }
    let now = Nanos::new(1);
    let mut one_by_one = Vec::new();
    for (from, bytes) in packets {
        let sent = single.receive(now, port(from), bytes);
        one_by_one.extend(
            sent.into_iter()
                .map(|t| (t.port, t.bytes, t.ing_prio, t.eg_prio)),
        );
    }
    let arrivals = packets.map(|(from, bytes)| (port(from), bytes));
    let mut at_once = Vec::new();
    batched.receive_batch(now, &arrivals, |t| {
        at_once.push((t.port, t.bytes.to_vec(), t.ing_prio, t.eg_prio));
        Taken::Sent
    });
    assert_eq!(at_once, one_by_one);
    assert_eq!(batched.drops().len(), 4, "{:?}", batched.drops());
    for id in 1..=3 {
        assert_eq!(batched.counters(port(id)), single.counters(port(id)));
    }
}

/// What waits is counted when it leaves, and what found no room never is.
#[test]
fn packets_are_sent_when_they_leave() {
    let mut device = switch(&[1, 2]);
    let bytes: &[u8] = &[2, 4, 0];
    let mut outcomes = [Taken::Sent, Taken::Waits, Taken::Lost].into_iter();
    device.receive_batch(Nanos::new(1), &[(port(1), bytes); 3], |_| {
        outcomes.next().unwrap()
    });
    let counters = device.counters(port(2)).unwrap();
    assert_eq!((counters.sent, counters.lost_queue), (1, 1));
    assert_eq!(counters.sent_bytes, Bytes::new(3));
    assert!(device.depart(port(2), 3));
    let counters = device.counters(port(2)).unwrap();
    assert_eq!((counters.sent, counters.sent_bytes), (2, Bytes::new(6)));
    device.set_port_up(port(2), false).unwrap();
    assert!(!device.depart(port(2), 3) && !device.depart(port(9), 3));
    assert_eq!(device.counters(port(2)).unwrap().lost_down, 1);
}

/// With a buffer, packets wait in the queue that the program chose, and PFC frames stop queues and
/// go no further.
#[test]
fn a_buffer_holds_packets_until_their_port_is_free() {
    let mut device = switch(&[1, 2, 3]);
    let mut config = net::config(4, net::HEADROOM);
    config.ports.remove(0);
    config
        .ports
        .iter_mut()
        .for_each(|p| p.reaction = Nanos::new(0));
    device.set_buffer(Some(config)).unwrap();
    let (at, mut frame) = (Nanos::new(5), Vec::new());
    device.accept(at, port(1), &[2, 2, 0], 1_497);
    device.accept(at, port(1), &[2, 1, 0], 1_497);
    device.accept(at, port(1), &[9, 1, 0], 0);
    assert_eq!(
        device.drops(),
        [DeviceDrop::Buffer(device::buffer::Refusal::Port(port(9)))]
    );
    let buffer = device.buffer_mut().unwrap();
    assert_eq!(
        (buffer.next_ready(), buffer.next_ready()),
        (Some(port(2)), None)
    );
    assert_eq!(
        buffer.ingress_use(port(1), Priority::new(2)).0,
        Bytes::new(1_500)
    );
    assert_eq!(
        buffer.queue(port(2), Priority::new(3)),
        (Bytes::new(1_500), 1)
    );
    let pause = wire::pfc::Repr::single(
        wire::MacAddr::default(),
        Priority::new(2),
        wire::pfc::Quanta(100),
    );
    device.accept(at, port(2), &pause.to_bytes(), 0);
    let sent = device.transmit(at, port(2), &mut frame).unwrap();
    assert_eq!(
        (frame.as_slice(), sent.padding),
        (&[2, 3, 0b1110][..], 1_497)
    );
    assert_eq!(
        (sent.until, sent.class),
        (Nanos::new(305), Some(Priority::new(3)))
    );
    assert_eq!(
        device.transmit(sent.until, port(2), &mut frame),
        None,
        "class 2 is paused"
    );
    assert_eq!(
        device.counters(port(2)).unwrap().sent_bytes,
        Bytes::new(1_500)
    );
    device.set_link_up(sent.until, port(2), false);
    assert_eq!(device.buffer().unwrap().counters().flushed, 1);
    device.set_buffer(None).unwrap();
    device.set_link_up(sent.until, port(2), true);
    assert_eq!(
        device.receive(at, port(1), &[2, 0, 0]).len(),
        1,
        "at once, as before"
    );
}

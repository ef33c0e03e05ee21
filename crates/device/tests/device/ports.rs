//! Ports around a program: what goes in and out, what is lost and why, what the program is told.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use super::net;
use std::sync::Arc;

use device::{Device, DeviceDrop, DeviceError, Egress, Frame, QueueRange, QueueSetting, Queues};
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

/// A frame that has left: port, bytes, ING_PRIO, EG_PRIO.
pub(crate) type Sent = (PortId, Vec<u8>, Priority, Priority);

/// All that leaves by a time.
pub(crate) fn drain(device: &mut Device<Interpreter>, now: Nanos) -> Vec<Sent> {
    let mut sent = Vec::new();
    while let Some(frame) = device.poll_transmit(now) {
        let priorities = (frame.ing_prio, frame.eg_prio);
        let bytes = frame.bytes.to_vec();
        sent.push((frame.port, bytes, priorities.0, priorities.1));
    }
    sent
}

/// What leaves at once when one frame arrives.
fn receive(device: &mut Device<Interpreter>, from: u16, bytes: &[u8]) -> Vec<Vec<u8>> {
    let now = Nanos::new(0);
    device.accept(now, &[Frame::new(port(from), bytes)]);
    let sent = drain(device, now);
    sent.into_iter().map(|(_, bytes, ..)| bytes).collect()
}

const NONE: [Vec<u8>; 0] = [];

#[test]
fn packets_leave_with_both_priorities() {
    let mut device = switch(&[1, 2, 4]);
    device.accept(Nanos::new(0), &[Frame::new(port(1), &[4, 2, 0, 0xaa])]);
    assert_eq!(device.poll_timeout(), Some(Nanos::new(0)), "at once");
    let sent = drain(&mut device, Nanos::new(0));
    let bytes = vec![4, 3, 0b1_0110, 0xaa];
    let expected = (port(4), bytes, Priority::new(2), Priority::new(3));
    assert_eq!((sent, device.poll_timeout()), (vec![expected], None));
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
    device.set_link_up(Nanos::new(0), port(4), false).unwrap();
    assert_eq!(receive(&mut device, 1, &[4, 0, 0]), NONE);
    assert_eq!(device.drops(), [DeviceDrop::PortDown(port(4))]);
    assert_eq!(receive(&mut device, 4, &[1, 0, 0]), NONE);
    assert_eq!(device.drops(), [DeviceDrop::PortDown(port(4))]);
    assert_eq!(device.counters(port(4)).unwrap().lost_down, 2);
    assert_eq!(receive(&mut device, 1, &[2, 0, 0])[0], [2, 1, 0b0110]);
    device.set_link_up(Nanos::new(0), port(4), true).unwrap();
    assert_eq!(receive(&mut device, 4, &[1, 0, 0])[0], [1, 1, 0b1_0110]);
    let states: Vec<_> = device.ports().map(|(id, up)| (id.get(), up)).collect();
    assert_eq!(states, [(1, true), (2, true), (4, true)]);
}

#[test]
fn unknown_ports_and_program_drops_are_told() {
    let mut device = switch(&[1]);
    assert_eq!(receive(&mut device, 9, &[1, 0, 0]), NONE);
    assert_eq!(device.drops(), [DeviceDrop::NoSuchPort(port(9))]);
    assert_eq!(receive(&mut device, 1, &[3, 0, 0]), NONE);
    assert_eq!(device.drops(), [DeviceDrop::NoSuchPort(port(3))]);
    assert_eq!(receive(&mut device, 1, &[0xff, 0, 0]), NONE);
    assert_eq!(device.drops(), [DeviceDrop::Program(DropReason::Ingress)]);
    assert_eq!(
        device.set_link_up(Nanos::new(0), port(9), true),
        Err(DeviceError::NoSuchPort(port(9)))
    );
    assert!(receive(&mut device, 1, &[1, 0, 0]).len() == 1);
    assert_eq!(device.drops(), [], "only of the last packet");
}

#[test]
fn a_trace_shows_fields_by_name() {
    let mut device = switch(&[1, 2]);
    let mut trace: Vec<TraceEvent> = Vec::new();
    device.accept_traced(Nanos::new(0), port(1), &[2, 5, 0], &mut trace);
    let sent = drain(&mut device, Nanos::new(0));
    assert_eq!(sent[0].1, [2, 6, 0b110]);
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

/// A burst is its frames one by one: the same goes out, is lost and is counted, whatever the egress
/// is, and whether it was drained in between.
#[test]
fn bursts_are_their_frames_in_order() {
    let packets: [(u16, &[u8]); 5] = [
        (1, &[2, 4, 0]),
        (3, &[1, 0, 0]),
        (1, &[0xff, 1, 0]),
        (9, &[1, 1, 0]),
        (2, &[3, 1, 0]),
    ];
    // More than the program is run on at once.
    let frames = packets.map(|(from, bytes)| Frame::new(port(from), bytes));
    let frames = frames.repeat(20);
    let egresses = [Egress::default(), Egress::queues(None, None)];
    for egress in egresses {
        let (mut single, mut burst) = (switch(&[1, 2, 3]), switch(&[1, 2, 3]));
        let now = Nanos::new(1);
        for device in [&mut single, &mut burst] {
            device.set_egress(egress.clone());
            device.set_link_up(now, port(3), false).unwrap();
        }
        let (mut one_by_one, mut lost) = (Vec::new(), 0);
        for (number, frame) in frames.iter().enumerate() {
            single.accept(now, &[*frame]);
            lost += single.drops().len();
            if number % 3 == 0 {
                one_by_one.extend(drain(&mut single, now));
            }
        }
        one_by_one.extend(drain(&mut single, now));
        burst.accept(now, &frames);
        assert_eq!((burst.drops().len(), lost), (80, 80));
        assert_eq!(drain(&mut burst, now), one_by_one);
        assert_eq!(one_by_one.len(), 20);
        for id in 1..=3 {
            assert_eq!(burst.counters(port(id)), single.counters(port(id)));
        }
    }
}

/// What waits in a queue is counted when it leaves, and what found no room never is.
#[test]
fn packets_of_queues_are_sent_when_they_leave() {
    let second = |number: u64| Nanos::new(number * 1_000_000_000);
    let mut device = switch(&[1, 2]);
    let mut queues = Queues::new(None, None);
    assert!(queues.set(QueueRange::default(), QueueSetting::Rate(1)));
    assert!(queues.set(QueueRange::default(), QueueSetting::Depth(2)));
    device.set_egress(Egress::Queues(queues));
    device.accept(second(1), &[Frame::new(port(1), &[2, 4, 0]); 5]);
    let sent = |device: &Device<Interpreter>| {
        let counters = device.counters(port(2)).unwrap();
        (counters.sent, counters.sent_bytes.get())
    };
    assert_eq!(sent(&device), (0, 0));
    assert_eq!(drain(&mut device, second(1)).len(), 1);
    assert_eq!(device.counters(port(2)).unwrap().lost_queue, 2);
    assert_eq!(device.poll_timeout(), Some(second(2)));
    assert_eq!(drain(&mut device, second(2)).len(), 1);
    assert_eq!(sent(&device), (2, 6));
    device.set_link_up(second(2), port(2), false).unwrap();
    assert_eq!(drain(&mut device, second(3)), []);
    assert_eq!(device.counters(port(2)).unwrap().lost_down, 1);
    assert_eq!((sent(&device), device.poll_timeout()), ((2, 6), None));
}

/// Every change of a link or a port reaches the buffer.
#[test]
fn what_waits_in_a_buffer_goes_with_its_port() {
    let (mut device, now) = (switch(&[1, 2, 3]), Nanos::new(5));
    let mut config = net::config(4, net::HEADROOM);
    config.ports.remove(0);
    device.set_egress(Egress::buffer(config).unwrap());
    let frame = Frame {
        padding: 1_497,
        ..Frame::new(port(1), &[2, 2, 0])
    };
    device.accept(now, &[frame; 3]);
    assert_eq!(drain(&mut device, now).len(), 1, "one is on the wire");
    device.remove_port(now, port(2)).unwrap();
    assert_eq!(device.buffer().unwrap().counters().flushed, 2);
    device.add_port(now, port(2));
    device.accept(now, &[frame]);
    assert_eq!(device.drops(), []);
    assert_eq!(drain(&mut device, now).len(), 1);
    device.set_link_up(now, port(2), false).unwrap();
    device.accept(now, &[frame]);
    let refusal = device::buffer::Refusal::Port(port(2));
    assert_eq!(device.drops(), [DeviceDrop::Buffer(refusal)]);
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
    device.set_egress(Egress::buffer(config).unwrap());
    let at = Nanos::new(5);
    let padded = |bytes| Frame {
        padding: 1_497,
        ..Frame::new(port(1), bytes)
    };
    device.accept(at, &[padded(&[2, 2, 0]), padded(&[2, 1, 0])]);
    device.accept(at, &[Frame::new(port(1), &[9, 1, 0])]);
    assert_eq!(
        device.drops(),
        [DeviceDrop::Buffer(device::buffer::Refusal::Port(port(9)))]
    );
    let buffer = device.buffer().unwrap();
    let charged = buffer.ingress_use(port(1), Priority::new(2)).0;
    assert_eq!(charged, Bytes::new(1_500));
    let queued = buffer.queue(port(2), Priority::new(2));
    assert_eq!(queued, (Bytes::new(1_500), 1), "the other is on the wire");
    let class = Priority::new(2);
    let pause = wire::pfc::Repr::single(wire::MacAddr::default(), class, wire::pfc::Quanta(100));
    device.accept(at, &[Frame::new(port(2), &pause.to_bytes())]);
    assert_eq!(device.poll_timeout(), Some(Nanos::new(0)), "at once");
    let sent = device.poll_transmit(at).unwrap();
    assert_eq!((sent.bytes, sent.padding), (&[2, 3, 0b1110][..], 1_497));
    let queue = Some(Priority::new(3));
    assert_eq!((sent.until, sent.queue), (Nanos::new(305), queue));
    let until = sent.until;
    assert_eq!(device.poll_transmit(at), None);
    assert_eq!(device.poll_timeout(), Some(until));
    assert_eq!(device.poll_transmit(until), None, "class 2 is paused");
    let counters = device.counters(port(2)).unwrap();
    assert_eq!(counters.sent_bytes, Bytes::new(1_500));
    let end = device.poll_timeout().unwrap();
    assert_eq!(end, at + wire::pfc::Quanta(100).duration(net::RATE));
    assert_eq!(device.poll_transmit(end).unwrap().queue, Some(class));
    device.accept(end, &[Frame::new(port(1), &[2, 1, 0])]);
    device.set_link_up(end, port(2), false).unwrap();
    assert_eq!(device.buffer().unwrap().counters().flushed, 1);
    device.set_egress(Egress::default());
    device.set_link_up(end, port(2), true).unwrap();
    let sent = receive(&mut device, 1, &[2, 0, 0]);
    assert_eq!(sent.len(), 1, "at once, as before");
}

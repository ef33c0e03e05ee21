//! How buffer and wires are shared: dynamic thresholds, schedulers, lossy queues that drop their
//! tail.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::net::{HEADROOM, MTU, class, config, port};
use device::buffer::{
    Alpha, Buffer, BufferConfig, Offer, QueueLimit, Refusal, Scheduler, Threshold,
};
use quantities::{Bytes, Nanos};

const FRAME: [u8; MTU] = [0; MTU];

/// A frame of `length` bytes from a port's class to another port, of the same class.
fn offer(from: u16, to: u16, priority: u8, length: usize) -> Offer<'static> {
    Offer {
        in_port: port(from),
        ing_prio: class(priority),
        out_port: port(to),
        eg_prio: class(priority),
        bytes: &FRAME[..length],
        padding: 0,
    }
}

fn dynamic(alpha: f64, offset: u64) -> BufferConfig {
    let mut config = config(6, HEADROOM);
    config.capacity = Bytes::new(6 * 3 * HEADROOM + 900_000);
    config.threshold = Threshold::Dynamic {
        alpha: Alpha::new(alpha).unwrap(),
        offset: Bytes::new(offset),
    };
    config
}

/// With n input ports that take all they get, each is stopped at alpha / (1 + n * alpha) of the
/// shared buffer.
#[test]
fn dynamic_thresholds_share_what_is_free() {
    for (alpha, ports) in [(0.5, 1), (0.5, 3), (2.0, 1), (2.0, 4), (0.125, 2)] {
        let mut buffer = Buffer::new(dynamic(alpha, 3_000)).unwrap();
        let now = Nanos::new(0);
        let stopped = |buffer: &Buffer, id| {
            let counters = buffer.class_counters(port(id), class(1)).unwrap();
            counters.pauses_sent > 0
        };
        for _ in 0..600 {
            for id in 0..ports {
                if !stopped(&buffer, id) {
                    buffer.offer(now, offer(id, 5, 1, MTU)).unwrap();
                }
            }
        }
        let share = 900_000.0 * alpha / (1.0 + f64::from(ports) * alpha);
        for id in 0..ports {
            assert!(stopped(&buffer, id));
            let (used, headroom) = buffer.ingress_use(port(id), class(1));
            assert_eq!(headroom, Bytes::new(0));
            let used = used.get() as f64;
            assert!(
                (used - share).abs() <= 2.0 * MTU as f64,
                "alpha {alpha}, {ports} ports: {used} and not {share}"
            );
        }
    }
}

/// Who was stopped because others filled the buffer goes on when they have drained, not before.
#[test]
fn a_dynamic_threshold_rises_again_as_others_drain() {
    let mut buffer = Buffer::new(dynamic(1.0, 50_000)).unwrap();
    let mut frame = Vec::new();
    let now = Nanos::new(0);
    for _ in 0..290 {
        buffer.offer(now, offer(0, 5, 1, MTU)).unwrap();
    }
    for _ in 0..155 {
        buffer.offer(now, offer(1, 4, 1, MTU)).unwrap();
    }
    let is_held = |buffer: &Buffer, id| {
        let held = buffer.snapshot().held_back;
        held.iter().any(|h| h.port == port(id))
    };
    assert!(is_held(&buffer, 1) && !is_held(&buffer, 0));
    let (mut at, mut sent) = (now, 0);
    while is_held(&buffer, 1) {
        let departure = buffer.transmit(at, port(5), &mut frame).unwrap();
        (at, sent) = (departure.until, sent + 1);
        assert!(sent < 290, "port 0 has nothing left");
    }
    // Port 1 may use what is free less the offset: 232,500 + 50,000 <= 900,000 - 232,500 - what
    // port 0 still holds.
    assert_eq!(
        buffer.ingress_use(port(1), class(1)).0.get(),
        155 * MTU as u64
    );
    let other = buffer.ingress_use(port(0), class(1)).0.get();
    assert!(other <= 385_000 && other > 385_000 - MTU as u64, "{other}");
}

/// Bytes that each class sends while all three have always something to send; class 1 in short
/// frames.
fn sent(scheduler: Scheduler) -> [u64; 4] {
    let mut config = config(3, HEADROOM);
    config.capacity = Bytes::new(1 << 30);
    config.scheduler = scheduler;
    config.threshold = Threshold::Fixed {
        xoff: Bytes::new(1 << 28),
        xon: Bytes::new(0),
    };
    let mut buffer = Buffer::new(config).unwrap();
    let (mut at, mut frame, mut sent) = (Nanos::new(0), Vec::new(), [0; 4]);
    let length = |priority| if priority == 1 { 300 } else { MTU };
    for priority in [1, 2, 3] {
        for _ in 0..50 {
            buffer
                .offer(at, offer(0, 2, priority, length(priority)))
                .unwrap();
        }
    }
    for _ in 0..20_000 {
        let departure = buffer.transmit(at, port(2), &mut frame).unwrap();
        at = departure.until;
        let priority = departure.class.unwrap().get();
        sent[usize::from(priority)] += departure.length.get();
        buffer
            .offer(at, offer(0, 2, priority, length(priority)))
            .unwrap();
    }
    sent
}

#[test]
fn schedulers_share_a_wire_as_they_say() {
    let strict = sent(Scheduler::Strict);
    assert_eq!(strict, [0, 0, 0, 20_000 * MTU as u64]);
    // Packets 1 : 2 : 5, whatever their length.
    let wrr = sent(Scheduler::Wrr([1, 1, 2, 5, 1, 1, 1, 1]));
    assert_eq!(wrr, [0, 2_500 * 300, 5_000 * 1_500, 12_500 * 1_500]);
    // Bytes 1 : 2 : 5.
    let dwrr = sent(Scheduler::Dwrr([1, 1, 2, 5, 1, 1, 1, 1]));
    let unit = dwrr[1];
    assert!(dwrr[2].abs_diff(2 * unit) < unit / 50, "{dwrr:?}");
    assert!(dwrr[3].abs_diff(5 * unit) < unit / 50, "{dwrr:?}");
}

/// A lossy queue takes what fits and drops the rest, pauses nobody, and leaves lossless classes
/// alone.
#[test]
fn a_lossy_queue_drops_its_tail() {
    let mut config = config(3, HEADROOM);
    config.lossy_limit = QueueLimit::Fixed(Bytes::new(30_000));
    let mut buffer = Buffer::new(config).unwrap();
    let now = Nanos::new(0);
    let mut refused = 0;
    for number in 0..100 {
        match buffer.offer(now, offer(0, 2, 0, MTU)) {
            Ok(()) => assert!(number < 20, "30,000 bytes are 20 frames"),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::Lossy(port(2)));
                refused += 1;
            }
        }
        buffer.offer(now, offer(1, 2, 1, 300)).unwrap();
    }
    let counters = buffer.class_counters(port(0), class(0)).unwrap();
    assert_eq!(
        (counters.accepted, counters.refused_lossy, refused),
        (20, 80, 80)
    );
    assert_eq!(counters.pauses_sent, 0);
    assert_eq!(buffer.queue(port(2), class(0)), (Bytes::new(30_000), 20));
    assert_eq!(buffer.queue(port(2), class(1)), (Bytes::new(30_000), 100));
    assert_eq!(buffer.counters().refused_lossy, 80);
    assert_eq!(buffer.counters().refused_lossless, 0);
    assert!(!buffer.holds_back());
}

/// With a dynamic limit, n lossy queues grow to alpha / (1 + n * alpha) of the shared buffer each.
#[test]
fn lossy_queues_share_what_is_free() {
    for (alpha, queues) in [(1.0, 1), (1.0, 3), (0.25, 2)] {
        let mut config = dynamic(0.5, 3_000);
        config.lossy_limit = QueueLimit::Dynamic(Alpha::new(alpha).unwrap());
        let mut buffer = Buffer::new(config).unwrap();
        for _ in 0..700 {
            for out in 0..queues {
                let _ = buffer.offer(Nanos::new(0), offer(5, out, 0, MTU));
            }
        }
        let share = 900_000.0 * alpha / (1.0 + f64::from(queues) * alpha);
        for out in 0..queues {
            let used = buffer.queue(port(out), class(0)).0.get() as f64;
            assert!(
                (used - share).abs() <= 2.0 * MTU as f64,
                "{used} and not {share}"
            );
        }
        assert!(!buffer.holds_back());
    }
}

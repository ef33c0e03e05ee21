//! Whatever happens to a buffer, nothing appears, vanishes or is counted twice.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use super::net::{class, config, port};
use device::buffer::{Alpha, Buffer, Departure, Offer, QueueLimit, Scheduler, Threshold};
use proptest::prelude::*;
use quantities::{Bytes, Nanos};
use wire::MacAddr;
use wire::pfc::{self, Quanta};

const PORTS: u16 = 4;

#[derive(Clone, Debug)]
enum Step {
    Offer {
        from: u16,
        to: u16,
        ing: u8,
        eg: u8,
        length: usize,
        padding: u32,
    },
    Hear {
        port: u16,
        class: u8,
        quanta: u16,
    },
    Link {
        port: u16,
        up: bool,
    },
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let offer = (
        0..PORTS,
        0..PORTS,
        0u8..4,
        0u8..4,
        20usize..1500,
        0u32..3000,
    )
        .prop_map(|(from, to, ing, eg, length, padding)| Step::Offer {
            from,
            to,
            ing,
            eg,
            length,
            padding,
        });
    let hear =
        (0..PORTS, 0u8..8, prop_oneof![Just(0u16), 1u16..400]).prop_map(|(port, class, quanta)| {
            Step::Hear {
                port,
                class,
                quanta,
            }
        });
    let link = (0..PORTS, any::<bool>()).prop_map(|(port, up)| Step::Link { port, up });
    let wait = (0u64..3000).prop_map(Step::Wait);
    let step = prop_oneof![12 => offer, 2 => hear, 1 => link, 4 => wait];
    proptest::collection::vec(step, 1..200)
}

fn threshold() -> impl Strategy<Value = Threshold> {
    let dynamic = (1u32..40).prop_map(|eighths| Threshold::Dynamic {
        alpha: Alpha::new(f64::from(eighths) / 8.0).unwrap(),
        offset: Bytes::new(1_000),
    });
    let fixed = (1u64..30_000, 0u64..30_000).prop_map(|(xoff, below)| Threshold::Fixed {
        xoff: Bytes::new(xoff),
        xon: Bytes::new(xoff.saturating_sub(below)),
    });
    prop_oneof![fixed, dynamic]
}

/// Ports with a frame on the wire, and until when.
type Busy = BTreeMap<u16, Nanos>;

fn start(buffer: &mut Buffer, now: Nanos, id: u16, busy: &mut Busy, scratch: &mut Vec<u8>) {
    busy.remove(&id);
    if let Some(Departure {
        until,
        length,
        padding,
        ..
    }) = buffer.transmit(now, port(id), scratch)
    {
        assert_eq!(length.get(), scratch.len() as u64 + u64::from(padding));
        assert!(until > now);
        busy.insert(id, until);
    }
}

/// Runs ports and timers up to a time.
fn run(buffer: &mut Buffer, busy: &mut Busy, until: u64, scratch: &mut Vec<u8>) {
    loop {
        let free = busy.iter().map(|(id, at)| (*at, Some(*id))).min();
        let timer = buffer.next_timer().map(|at| (at, None));
        let Some((at, who)) = free.into_iter().chain(timer).min() else {
            return;
        };
        if at.get() > until {
            return;
        }
        match who {
            Some(id) => start(buffer, at, id, busy, scratch),
            None => buffer.run_timers(at),
        }
        ready(buffer, busy, at, scratch);
    }
}

fn ready(buffer: &mut Buffer, busy: &mut Busy, now: Nanos, scratch: &mut Vec<u8>) {
    while let Some(id) = buffer.next_ready() {
        start(buffer, now, id.get(), busy, scratch);
    }
}

fn check(buffer: &Buffer) {
    let counters = buffer.counters();
    assert_eq!(
        counters.offered,
        counters.accepted + counters.refused_lossy + counters.refused_lossless
    );
    assert_eq!(
        counters.accepted,
        counters.sent + counters.flushed + counters.evicted + counters.queued
    );
    let (mut used, mut waiting) = (0, 0);
    for id in 0..PORTS {
        for c in 0..8 {
            let (all, headroom) = buffer.ingress_use(port(id), class(c));
            used += all.get();
            assert!(headroom.get() <= buffer.config().ports[usize::from(id)].headroom.get());
            waiting += u64::from(buffer.queue(port(id), class(c)).1);
        }
    }
    assert_eq!(buffer.used().get(), used);
    assert!(used <= buffer.config().capacity.get());
    assert!(waiting <= counters.queued && counters.queued <= waiting + u64::from(PORTS));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn accepted_is_sent_or_queued_or_flushed(
        steps in steps(),
        threshold in threshold(),
        scheduler in prop_oneof![
            Just(Scheduler::Strict),
            Just(Scheduler::Wrr([1, 2, 3, 4, 1, 1, 1, 1])),
            Just(Scheduler::Dwrr([4, 3, 2, 1, 1, 1, 1, 1])),
        ],
        tied: bool,
        ranked in proptest::option::of(1_000u64..10_000),
    ) {
        let mut config = config(PORTS, 5_000);
        config.capacity = Bytes::new(100_000);
        config.threshold = threshold;
        config.scheduler = scheduler;
        config.tied_priorities = tied;
        config.lossy_limit = QueueLimit::Dynamic(Alpha::new(1.0).unwrap());
        config.pause = Quanta(300);
        config.ranked = ranked.map(Bytes::new).filter(|&limit| limit <= config.shared().unwrap());
        let mut buffer = Buffer::new(config).unwrap();
        let (mut busy, mut scratch, mut now) = (Busy::new(), Vec::new(), 0);
        for step in steps {
            match step {
                Step::Offer { from, to, ing, eg, length, padding } => {
                    let mut bytes = vec![0xab; length];
                    if let Some(head) = bytes.get_mut(12..50) {
                        // UDP over IPv4; flow and rank where ranked queues read them.
                        head[0..3].copy_from_slice(&[8, 0, 0x45]);
                        head[11] = 17;
                        head[30..38].copy_from_slice(&[0, 0, 0, ing, 0, 0, 0, padding as u8]);
                    }
                    let offer = Offer {
                        in_port: port(from),
                        ing_prio: class(ing),
                        out_port: port(to),
                        eg_prio: class(eg),
                        bytes: &bytes,
                        padding,
                    };
                    let _ = buffer.offer(Nanos::new(now), offer);
                }
                Step::Hear { port: id, class: c, quanta } => {
                    let frame = pfc::Repr::single(MacAddr::default(), class(c), Quanta(quanta));
                    buffer.receive_pfc(Nanos::new(now), port(id), &frame);
                }
                Step::Link { port: id, up } => {
                    buffer.set_port_up(Nanos::new(now), port(id), up);
                    if !up {
                        busy.remove(&id);
                    }
                }
                Step::Wait(nanos) => {
                    run(&mut buffer, &mut busy, now + nanos, &mut scratch);
                    now += nanos;
                }
            }
            ready(&mut buffer, &mut busy, Nanos::new(now), &mut scratch);
            check(&buffer);
        }
        // Left alone, with all links up, everything leaves and everybody may go on.
        for id in 0..PORTS {
            buffer.set_port_up(Nanos::new(now), port(id), true);
        }
        ready(&mut buffer, &mut busy, Nanos::new(now), &mut scratch);
        run(&mut buffer, &mut busy, now + 5_000_000, &mut scratch);
        check(&buffer);
        prop_assert_eq!(buffer.used(), Bytes::new(0));
        prop_assert!(!buffer.holds_back());
        prop_assert_eq!(buffer.next_timer(), None);
    }
}

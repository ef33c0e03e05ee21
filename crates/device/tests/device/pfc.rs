//! Pauses: how far they reach, what headroom they need, whom they stop, when they end, and when
//! they never do.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::net::{HEADROOM, MTU, Net, class, config, port};
use device::buffer::{Buffer, BufferError, Offer, PortConfig, Scheduler, Threshold};
use device::deadlock::{Detector, wait_for};
use quantities::{BitRate, Bytes, Nanos};

const FOREVER: u16 = u16::MAX;

/// Switch 0 is a sender whose wire 1 leads to switch 1, which sends on by port 2; what is lossy
/// goes from switch 1 back to the sender, and ends there.
fn line(switch: usize, bytes: &[u8]) -> Option<(u16, u8, u8)> {
    match (switch, bytes[0]) {
        (0, 2) => Some((1, 2, 2)),
        (1, 2) => Some((2, 2, 2)),
        (1, 9) => Some((1, 0, 0)),
        _ => None,
    }
}

/// A sender at full rate into a switch whose own port is paused; a lossy frame toward the sender
/// starts at `phase`, so that the PFC frame may have to wait for it. The peak of headroom, and the
/// violations.
fn fill(headroom: u64, phase: u64) -> (u64, u64) {
    let mut sender = config(3, 0);
    sender.capacity = Bytes::new(1 << 30);
    sender.threshold = Threshold::Fixed {
        xoff: Bytes::new(1 << 29),
        xon: Bytes::new(0),
    };
    let mut net = Net::new(vec![sender, config(3, headroom)], &[(0, 1, 1, 1)], line);
    net.pause(0, 1, 2, 2, FOREVER);
    for _ in 0..200 {
        net.inject(0, 0, 2, MTU);
    }
    // 34 frames reach XOFF: the last at 34 * 300 + 1500 ns.
    for frame in 0..40 {
        net.inject(5_000 + phase + frame * 300, 1, 9, MTU);
    }
    net.run(100_000);
    let counters = net.buffers[1].class_counters(port(1), class(2)).unwrap();
    assert!(
        counters.pauses_sent > 0,
        "the switch must have paused its sender"
    );
    assert!(net.buffers[0].is_paused(port(1), class(2)));
    (counters.headroom_peak.get(), net.violations())
}

#[test]
fn the_calculated_headroom_is_enough_and_one_frame_less_is_not() {
    let peaks: Vec<_> = (0..300)
        .step_by(7)
        .map(|phase| (fill(HEADROOM, phase), phase))
        .collect();
    let &((worst, _), phase) = peaks.iter().max().unwrap();
    assert!(peaks.iter().all(|((_, violations), _)| *violations == 0));
    assert!(
        worst <= HEADROOM && worst > HEADROOM - MTU as u64,
        "{worst}"
    );
    let (_, violations) = fill(HEADROOM - MTU as u64, phase);
    assert!(violations > 0, "a frame less overflows in phase {phase}");
}

/// TaggerDraft section 6.3: a packet of class 1 becomes class 2 at switch 1 and stays so at switch
/// 2, whose port is paused for class 2.
fn changing(switch: usize, bytes: &[u8]) -> Option<(u16, u8, u8)> {
    match (switch, bytes[0]) {
        (0, 1) => Some((1, 1, 1)),
        (1, 1) => Some((2, 1, 2)),
        (2, 1) => Some((2, 2, 2)),
        _ => None,
    }
}

fn transition(tied: bool) -> Net {
    let mut configs: Vec<_> = (0..3).map(|_| config(3, HEADROOM)).collect();
    configs[0].capacity = Bytes::new(1 << 30);
    configs[0].threshold = Threshold::Fixed {
        xoff: Bytes::new(1 << 29),
        xon: Bytes::new(0),
    };
    configs[1].tied_priorities = tied;
    let mut net = Net::new(configs, &[(0, 1, 1, 1), (1, 2, 2, 1)], changing);
    net.pause(0, 2, 2, 2, FOREVER);
    for _ in 0..400 {
        net.inject(0, 0, 1, MTU);
    }
    net.run(400_000);
    net
}

#[test]
fn a_class_that_changes_is_paused_in_the_queue_it_waits_in() {
    let decoupled = transition(false);
    assert_eq!(decoupled.violations(), 0);
    assert!(decoupled.buffers[1].is_paused(port(2), class(2)));
    assert!(
        decoupled.buffers[0].is_paused(port(1), class(1)),
        "the pause reaches the sender, as class 1"
    );
    let tied = transition(true);
    assert!(tied.violations() > 0, "the pause of class 2 stops nobody");
    assert!(!tied.buffers[0].is_paused(port(1), class(1)));
}

#[test]
fn pauses_are_renewed_while_they_last_and_lifted_after() {
    let mut net = transition(false);
    // One pause of 65535 quanta lasts 839 us; the far end of switch 2 lets go at 5 ms.
    for renewal in 1..13 {
        net.pause(renewal * 400_000, 2, 2, 2, FOREVER);
    }
    net.run(4_900_000);
    let counters = net.buffers[2].class_counters(port(1), class(2)).unwrap();
    assert!(counters.pauses_renewed >= 10, "{counters:?}");
    assert!(net.buffers[1].is_paused(port(2), class(2)));
    net.pause(5_000_000, 2, 2, 2, 0);
    net.run(6_000_000);
    assert_eq!(net.data(2, 2), 400, "everything arrives");
    assert_eq!(net.violations(), 0);
    for buffer in &net.buffers {
        assert_eq!(buffer.used(), Bytes::new(0));
        assert!(!buffer.holds_back());
    }
    let upstream = net.buffers[1].class_counters(port(2), class(2)).unwrap();
    assert!(upstream.paused.get() > 4_500_000, "{upstream:?}");
}

#[test]
fn a_pause_that_nobody_renews_ends() {
    let mut net = Net::new(vec![config(3, HEADROOM)], &[], |_, _| Some((2, 1, 1)));
    net.pause(0, 0, 2, 1, 1_000);
    net.inject(800, 0, 1, MTU);
    net.run(12_000);
    assert_eq!(net.data(0, 2), 0);
    net.run(20_000);
    // Heard after 768 ns; 1000 quanta of 12.8 ns.
    assert_eq!(net.delivered[&(0, 2)][0].0, 768 + 12_800 + 300);
}

/// The time of a frame counts from that frame (IEEE 802.1Qbb, 36.1.3.3): a shorter one ends a long
/// pause earlier, also one that comes after "go on".
#[test]
fn a_shorter_pause_takes_the_place_of_a_longer() {
    for go_on in [false, true] {
        let mut net = Net::new(vec![config(3, HEADROOM)], &[], |_, _| Some((2, 1, 1)));
        net.pause(0, 0, 2, 1, FOREVER);
        if go_on {
            net.pause(500, 0, 2, 1, 0);
        }
        net.pause(1_000, 0, 2, 1, 1_000);
        net.inject(1_800, 0, 1, MTU);
        net.run(13_000);
        assert_eq!(net.data(0, 2), 0);
        net.run(21_000);
        assert_eq!(net.delivered[&(0, 2)][0].0, 1_000 + 768 + 12_800 + 300);
    }
}

/// Three switches in a ring: what each gets goes on to the next, for ever (a routing loop).
fn ring(_: usize, _: &[u8]) -> Option<(u16, u8, u8)> {
    Some((1, 1, 1))
}

#[test]
fn a_ring_of_waiting_buffers_is_a_deadlock_and_is_named() {
    let mut net = Net::new(
        (0..3).map(|_| config(3, HEADROOM)).collect(),
        &[(0, 1, 1, 2), (1, 1, 2, 2), (2, 1, 0, 2)],
        ring,
    );
    for switch in 0..3 {
        for packet in 0..200 {
            net.inject(packet * 250, switch, 0, MTU);
        }
    }
    let mut detector = Detector::default();
    net.run(500_000);
    let early = detector.scan(
        Nanos::new(net.now),
        net.buffers.iter().enumerate(),
        net.peer(),
    );
    assert!(early.is_empty(), "not before a pause could have ended");
    net.run(2_500_000);
    let found = detector.scan(
        Nanos::new(net.now),
        net.buffers.iter().enumerate(),
        net.peer(),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    let cycle: Vec<_> = found[0]
        .cycle
        .iter()
        .map(|q| (q.switch, q.port.get(), q.class.get()))
        .collect();
    assert_eq!(cycle, [(0, 1, 1), (1, 1, 1), (2, 1, 1)]);
    assert!(found[0].closed.get() < 100_000, "{found:?}");
    let edges = wait_for(net.buffers.iter().enumerate(), net.peer());
    assert_eq!(edges.len(), 3);
    let again = detector.scan(
        Nanos::new(net.now),
        net.buffers.iter().enumerate(),
        net.peer(),
    );
    assert!(again.is_empty(), "it is told once");
    net.run(10_000_000);
    let lost = |b: &Buffer| {
        b.class_counters(port(2), class(1))
            .unwrap()
            .refused_lossless
    };
    assert_eq!(
        net.buffers.iter().map(lost).sum::<u64>(),
        0,
        "a deadlock loses nothing on its way"
    );
    assert!(net.buffers.iter().all(Buffer::holds_back), "and it lasts");
}

#[test]
fn waiting_for_a_host_is_no_deadlock() {
    let mut net = transition(false);
    for renewal in 1..10 {
        net.pause(renewal * 400_000, 2, 2, 2, FOREVER);
    }
    net.run(3_500_000);
    let mut detector = Detector::default();
    let found = detector.scan(
        Nanos::new(net.now),
        net.buffers.iter().enumerate(),
        net.peer(),
    );
    assert!(found.is_empty(), "{found:?}");
    let edges = wait_for(net.buffers.iter().enumerate(), net.peer());
    assert_eq!(edges.len(), 2, "but it is seen who waits: {edges:?}");
}

#[test]
fn a_link_that_goes_down_takes_its_queue_and_its_pauses_along() {
    let mut net = transition(false);
    let now = Nanos::new(net.now);
    net.buffers[2].set_port_up(now, port(2), false);
    let counters = net.buffers[2].counters();
    assert!(counters.flushed > 30);
    assert_eq!(counters.queued, 0);
    assert_eq!(counters.accepted, counters.sent + counters.flushed);
    // The flush went through the thresholds: switch 1 is told to go on.
    net.buffers[2].set_port_up(now, port(2), true);
    net.inject(net.now + 10, 2, 9, MTU);
    net.run(net.now + 100_000);
    assert!(net.data(2, 2) > 0);
}

#[test]
fn ports_keep_their_rate_to_the_nanosecond() {
    let mut odd = config(3, HEADROOM);
    for port in &mut odd.ports {
        port.rate = BitRate::new(7_000_000_007);
    }
    let mut net = Net::new(vec![odd], &[], |_, _| Some((2, 0, 0)));
    for _ in 0..60 {
        net.inject(0, 0, 0, 1_000);
    }
    net.run(1_000_000);
    let last = net.delivered[&(0, 2)].last().unwrap().0;
    assert_eq!(last, 60 * 8_000 * 1_000_000_000 / 7_000_000_007);
}

#[test]
fn impossible_configurations_are_refused() {
    type Change = fn(&mut device::buffer::BufferConfig);
    let cases: [(Change, &str); 9] = [
        (|c| c.capacity = Bytes::new(100_000), "headroom"),
        (
            |c| c.lossless = [class(0)].into_iter().collect(),
            "lossy class",
        ),
        (
            |c| {
                c.ports.push(PortConfig {
                    headroom: Bytes::new(0),
                    ..c.ports[0]
                })
            },
            "twice",
        ),
        (|c| c.ports[1].rate = BitRate::new(0), "rate 0"),
        (
            |c| {
                c.threshold = Threshold::Fixed {
                    xoff: Bytes::new(1),
                    xon: Bytes::new(2),
                }
            },
            "XON",
        ),
        (
            |c| {
                c.threshold = Threshold::Fixed {
                    xoff: Bytes::new(1 << 40),
                    xon: Bytes::new(2),
                }
            },
            "XOFF",
        ),
        (
            |c| {
                c.threshold = Threshold::Fixed {
                    xoff: Bytes::new(0),
                    xon: Bytes::new(0),
                }
            },
            "for ever",
        ),
        (
            |c| c.scheduler = Scheduler::Wrr([1, 0, 1, 1, 1, 1, 1, 1]),
            "weight",
        ),
        (|c| c.pause = wire::pfc::Quanta(0), "go on"),
    ];
    for (change, says) in cases {
        let mut wrong = config(3, HEADROOM);
        change(&mut wrong);
        let error: BufferError = Buffer::new(wrong).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// The link fails while a PFC frame is on the wire: the port sends again as soon as the link is
/// back.
#[test]
fn a_pause_frame_lost_with_its_link_does_not_block_the_port() {
    let mut config = config(2, HEADROOM);
    config.threshold = Threshold::Fixed {
        xoff: Bytes::new(1),
        xon: Bytes::new(0),
    };
    let mut buffer = Buffer::new(config).unwrap();
    let mut frame = Vec::new();
    let offer = |from, to| Offer {
        in_port: port(from),
        ing_prio: class(1),
        out_port: port(to),
        eg_prio: class(1),
        bytes: &[0; 64],
        padding: 0,
    };
    let now = Nanos::new(0);
    buffer.offer(now, offer(1, 0)).unwrap();
    let pause = buffer.transmit(now, port(1), &mut frame).unwrap();
    assert_eq!(pause.class, None, "the sender is told to stop");
    buffer.set_port_up(now, port(1), false);
    buffer.set_port_up(now, port(1), true);
    buffer.offer(now, offer(0, 1)).unwrap();
    let mut ready = std::iter::from_fn(|| buffer.next_ready()).collect::<Vec<_>>();
    ready.sort_unstable();
    assert_eq!(ready, [port(0), port(1)]);
    let again = buffer.transmit(now, port(1), &mut frame).unwrap();
    assert_eq!(again.class, None, "and is told again");
    let packet = buffer.transmit(again.until, port(1), &mut frame).unwrap();
    assert_eq!(packet.class, Some(class(1)));
}

//! Frames on which the program was run before they were taken in.

use device::{Ahead, Bench, Device};
use p4exec::Interpreter;
use proptest::prelude::*;
use quantities::{Nanos, Priority};
use wire::pfc::{self, Quanta};

use super::net::{self, port};
use super::ports::switch;

/// Ports of the switch; number 1 is down, and there is no number 4.
const PORTS: [u16; 4] = [0, 1, 2, 3];

/// What a frame that arrives is.
#[derive(Clone, Copy, Debug)]
enum Arriving {
    /// A packet for a port, or to be dropped, with a tag.
    Packet(u8, u8),
    /// A PFC frame that stops a class.
    Pause(u8),
}

impl Arriving {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Packet(to, tag) => vec![to, tag, 0],
            Self::Pause(class) => {
                let source = wire::MacAddr::default();
                let frame = pfc::Repr::single(source, Priority::new(class), Quanta(100));
                frame.to_bytes().to_vec()
            }
        }
    }
}

fn lossless_switch() -> Device<Interpreter> {
    let mut device = switch(&PORTS);
    device.set_port_up(port(1), false).expect("port 1");
    let config = net::config(4, net::HEADROOM);
    device.set_buffer(Some(config)).expect("it works");
    device
}

fn arriving() -> impl Strategy<Value = Arriving> {
    let to = prop_oneof![8 => 0u8..5, 1 => Just(0xff)];
    prop_oneof![
        8 => (to, 0u8..8).prop_map(|(to, tag)| Arriving::Packet(to, tag)),
        1 => (1u8..4).prop_map(Arriving::Pause),
    ]
}

proptest! {
    /// Whether the program ran on all frames at once or on each when it came makes no difference:
    /// what is lost and why, counters, queues, and what is sent.
    #[test]
    fn frames_run_ahead_are_taken_in_as_if_the_program_ran_then(
        frames in proptest::collection::vec((0u16..5, arriving(), 0u32..1_500, 1u64..400), 0..60),
    ) {
        let frames: Vec<_> = frames.into_iter().map(|(at, what, padding, gap)| (port(at), what.bytes(), padding, gap)).collect();
        let (mut plain, mut ahead_of) = (lossless_switch(), lossless_switch());
        let (mut bench, mut ahead) = (Bench::default(), Ahead::default());
        let packets: Vec<_> = frames
            .iter()
            .filter(|(at, bytes, ..)| ahead_of.is_for_program(*at, bytes))
            .map(|(at, bytes, ..)| (*at, bytes.as_slice()))
            .collect();
        ahead_of.run_ahead(Nanos::default(), &packets, &mut ahead);
        let mut now = Nanos::default();
        for (at, bytes, padding, gap) in &frames {
            now = Nanos::new(now.get() + gap);
            plain.accept(now, *at, bytes, *padding);
            if ahead_of.is_for_program(*at, bytes) {
                let lengths = (bytes.len() + *padding as usize, *padding);
                ahead_of.accept_ahead((&mut bench, &mut ahead), now, *at, lengths);
            } else {
                ahead_of.accept_on(&mut bench, now, *at, (bytes, *padding));
            }
            prop_assert_eq!(plain.drops(), bench.drops());
            for at in PORTS.map(port) {
                prop_assert_eq!(plain.counters(at), ahead_of.counters(at));
                let [mut one, mut other] = [Vec::new(), Vec::new()];
                let departures = (plain.transmit(now, at, &mut one), ahead_of.transmit(now, at, &mut other));
                prop_assert_eq!(departures.0.map(|d| (d.until, d.length, d.class)), departures.1.map(|d| (d.until, d.length, d.class)));
                prop_assert_eq!(one, other);
            }
            let [one, other] = [&plain, &ahead_of].map(|device| device.buffer().unwrap());
            prop_assert_eq!(one.counters(), other.counters());
            prop_assert!(one.queues().eq(other.queues()));
        }
    }

    /// A port that goes down after the program ran loses what comes by it, and what came before and
    /// after stays what it was.
    #[test]
    fn a_port_that_went_down_loses_its_frames_alone(from in proptest::collection::vec(prop_oneof![Just(2u16), Just(3)], 1..20)) {
        let mut device = lossless_switch();
        let (mut bench, mut ahead) = (Bench::default(), Ahead::default());
        let frames: Vec<_> = (0u8..).zip(&from).map(|(number, &at)| (port(at), vec![0, 2, 0, number])).collect();
        let packets: Vec<_> = frames.iter().map(|(at, bytes)| (*at, bytes.as_slice())).collect();
        device.run_ahead(Nanos::default(), &packets, &mut ahead);
        device.set_port_up(port(2), false).unwrap();
        for (at, _) in &frames {
            device.accept_ahead((&mut bench, &mut ahead), Nanos::default(), *at, (4, 0));
            let lost = if *at == port(2) { vec![device::DeviceDrop::PortDown(*at)] } else { Vec::new() };
            prop_assert_eq!(bench.drops(), lost);
        }
        let taken = from.iter().filter(|&&at| at == 3).count() as u64;
        prop_assert_eq!(device.buffer().unwrap().counters().accepted, taken);
        let mut sent = Vec::new();
        let first = (0u8..).zip(&from).find(|(_, at)| **at == 3).map(|(number, _)| number);
        let departure = device.transmit(Nanos::default(), port(0), &mut sent);
        prop_assert_eq!(departure.is_some(), first.is_some());
        prop_assert_eq!(sent.get(3).copied(), first);
    }
}

//! Frames on which the program was run before they were accepted.

use device::{Device, Egress, Frame, Scratch};
use p4exec::Interpreter;
use proptest::prelude::*;
use quantities::{Nanos, Priority};
use wire::pfc::{self, Quanta};

use super::net::{self, port};
use super::ports::{drain, switch};

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
    device
        .set_link_up(Nanos::default(), port(1), false)
        .expect("port 1");
    let config = net::config(4, net::HEADROOM);
    device.set_egress(Egress::buffer(config).expect("it works"));
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
    fn frames_looked_ahead_at_are_accepted_as_if_the_program_ran_then(
        frames in proptest::collection::vec((0u16..5, arriving(), 0u32..1_500, 1u64..400), 0..60),
    ) {
        let frames: Vec<_> = frames.into_iter().map(|(at, what, padding, gap)| (port(at), what.bytes(), padding, gap)).collect();
        let (mut plain, mut ahead) = (lossless_switch(), lossless_switch());
        let mut scratch = Scratch::default();
        let packets: Vec<_> = frames
            .iter()
            .filter(|(at, bytes, ..)| ahead.runs_program(&Frame::new(*at, bytes)))
            .map(|(at, bytes, ..)| (*at, bytes.as_slice()))
            .collect();
        ahead.look_ahead(&mut scratch, Nanos::default(), &packets);
        let mut now = Nanos::default();
        for (at, bytes, padding, gap) in &frames {
            now = Nanos::new(now.get() + gap);
            let mut frame = Frame { padding: *padding, ..Frame::new(*at, bytes) };
            plain.accept(now, &[frame]);
            frame.looked_ahead = ahead.runs_program(&frame);
            ahead.accept_with(&mut scratch, now, &[frame]);
            prop_assert_eq!(plain.drops(), scratch.drops());
            prop_assert_eq!(drain(&mut plain, now), drain(&mut ahead, now));
            prop_assert_eq!(plain.poll_timeout(), ahead.poll_timeout());
            for at in PORTS.map(port) {
                prop_assert_eq!(plain.counters(at), ahead.counters(at));
            }
            let [one, other] = [&plain, &ahead].map(|device| device.buffer().unwrap());
            prop_assert_eq!(one.counters(), other.counters());
            prop_assert!(one.queues().eq(other.queues()));
        }
    }

    /// A port that goes down after the program ran loses what comes by it, and what came before and
    /// after stays what it was.
    #[test]
    fn a_port_that_went_down_loses_its_frames_alone(from in proptest::collection::vec(prop_oneof![Just(2u16), Just(3)], 1..20)) {
        let mut device = lossless_switch();
        let mut scratch = Scratch::default();
        let frames: Vec<_> = (0u8..).zip(&from).map(|(number, &at)| (port(at), vec![0, 2, 0, number])).collect();
        let packets: Vec<_> = frames.iter().map(|(at, bytes)| (*at, bytes.as_slice())).collect();
        device.look_ahead(&mut scratch, Nanos::default(), &packets);
        device.set_link_up(Nanos::default(), port(2), false).unwrap();
        for (at, bytes) in &frames {
            let frame = Frame { looked_ahead: true, ..Frame::new(*at, bytes) };
            device.accept_with(&mut scratch, Nanos::default(), &[frame]);
            let lost = if *at == port(2) { vec![device::DeviceDrop::PortDown(*at)] } else { Vec::new() };
            prop_assert_eq!(scratch.drops(), lost);
        }
        let taken = from.iter().filter(|&&at| at == 3).count() as u64;
        prop_assert_eq!(device.buffer().unwrap().counters().accepted, taken);
        let first = (0u8..).zip(&from).find(|(_, at)| **at == 3).map(|(number, _)| number);
        let sent = drain(&mut device, Nanos::default());
        prop_assert_eq!(sent.first().map(|(_, bytes, ..)| bytes[3]), first);
    }
}

//! Priority-based flow control frames (IEEE 802.1Qbb; IEEE 802.3 annex 31D).
//!
//! A switch that runs out of room for a priority tells its neighbour to stop sending that
//! priority for a time. The time counts in quanta of 512 bit times at the link's rate; 0 means "go
//! on". The frame is untagged, goes to a reserved address and is never forwarded.

use quantities::{BitRate, Nanos, Priority};

use crate::ethernet::{self, Frame as EthernetFrame, MIN_FRAME_LEN};
use crate::view::{Field, get_u16, room, set_u16};
use crate::{EtherType, MacAddr, PacketError};

/// Where PFC frames go; bridges consume it and never forward it.
pub const DESTINATION: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);

/// MAC control opcode of PFC. (0x0001 is the PAUSE of a whole link.)
pub const OPCODE: u16 = 0x0101;

/// Number of priorities.
pub const PRIORITIES: usize = 8;

/// Length of a PFC frame without its frame check sequence: the shortest that Ethernet allows.
pub const FRAME_LEN: usize = MIN_FRAME_LEN;

/// Bytes of the frame that mean something; the rest is zero.
const CONTENT_LEN: usize = ethernet::HEADER_LEN + 2 + 2 + 2 * PRIORITIES;

mod field {
    use super::Field;
    pub(super) const OPCODE: Field = 14..16;
    pub(super) const CLASS_ENABLE: Field = 16..18;
    pub(super) const FIRST_TIME: usize = 18;
}

/// A pause time in quanta of 512 bit times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quanta(pub u16);

impl Quanta {
    /// Go on sending.
    pub const RESUME: Self = Self(0);
    /// The longest pause: 3.36 ms at 10 Gb/s.
    pub const MAX: Self = Self(u16::MAX);

    /// How long the pause lasts on a link of this rate, rounded up; at rate 0 for ever.
    #[must_use]
    pub fn duration(self, rate: BitRate) -> Nanos {
        let bits = u128::from(self.0) * 512;
        if bits == 0 {
            return Nanos::new(0);
        }
        let nanos = match u128::from(rate.get()) {
            0 => u128::MAX,
            rate => (bits * 1_000_000_000).div_ceil(rate),
        };
        Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

view! {
    /// View of a PFC frame, from its Ethernet header on.
    Frame, "PFC frame", CONTENT_LEN, check
}

fn check(bytes: &[u8]) -> Result<(), PacketError> {
    let wrong = |field, value: u16, rule| {
        Err(PacketError::Malformed {
            header: "PFC frame",
            field,
            value: value.into(),
            rule,
        })
    };
    let ether_type = EthernetFrame::new_checked(bytes)?.ether_type();
    if ether_type != EtherType::MAC_CONTROL {
        return wrong("EtherType", ether_type.0, "which must be 0x8808");
    }
    let opcode = get_u16(bytes, &field::OPCODE);
    if opcode != OPCODE {
        return wrong("opcode", opcode, "which must be 0x0101");
    }
    Ok(())
}

impl<T: AsRef<[u8]>> Frame<T> {
    /// Address of the port that sent it.
    pub fn src(&self) -> MacAddr {
        let mut address = [0; 6];
        address.copy_from_slice(&self.bytes()[6..12]);
        MacAddr(address)
    }

    /// Bit i tells whether the frame says anything of priority i.
    pub fn class_enable(&self) -> u8 {
        // The high byte is reserved.
        self.bytes()[field::CLASS_ENABLE.end - 1]
    }

    /// What the frame says of a priority: nothing, resume, or pause.
    pub fn time(&self, priority: Priority) -> Option<Quanta> {
        let class = priority.get();
        let enabled = class < 8 && self.class_enable() >> class & 1 == 1;
        enabled.then(|| Quanta(get_u16(self.bytes(), &time_field(class.into()))))
    }
}

fn time_field(class: usize) -> Field {
    let start = field::FIRST_TIME + 2 * class;
    start..start + 2
}

/// The meaning of a PFC frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repr {
    /// Address of the port that sends it.
    pub src: MacAddr,
    /// What it says of each priority: nothing, resume, or pause.
    pub times: [Option<Quanta>; PRIORITIES],
}

impl Repr {
    /// A frame that speaks of one priority only; of none if there is no such priority.
    #[must_use]
    pub fn single(src: MacAddr, priority: Priority, time: Quanta) -> Self {
        let mut times = [None; PRIORITIES];
        if let Some(slot) = times.get_mut(usize::from(priority.get())) {
            *slot = Some(time);
        }
        Self { src, times }
    }

    /// Reads the frame.
    pub fn parse<T: AsRef<[u8]>>(frame: &Frame<T>) -> Self {
        let mut times = [None; PRIORITIES];
        for (class, time) in (0..).zip(&mut times) {
            *time = frame.time(Priority::new(class));
        }
        Self {
            src: frame.src(),
            times,
        }
    }

    /// Writes the whole frame, padding included, at the start of `buffer`.
    ///
    /// # Errors
    /// [`PacketError::Truncated`] when the buffer is shorter than [`FRAME_LEN`].
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), PacketError> {
        let bytes = room(buffer, "PFC frame", FRAME_LEN)?;
        bytes.fill(0);
        let ethernet = ethernet::Repr {
            dst: DESTINATION,
            src: self.src,
            ether_type: EtherType::MAC_CONTROL,
        };
        ethernet.emit(bytes)?;
        set_u16(bytes, field::OPCODE, OPCODE);
        let mut enabled = 0;
        for (class, time) in self.times.iter().enumerate() {
            if let Some(Quanta(quanta)) = *time {
                enabled |= 1 << class;
                set_u16(bytes, time_field(class), quanta);
            }
        }
        set_u16(bytes, field::CLASS_ENABLE, enabled);
        Ok(())
    }

    /// The whole frame.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; FRAME_LEN] {
        let mut bytes = [0; FRAME_LEN];
        self.emit(&mut bytes)
            .expect("the buffer has the length of the frame");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_as_in_the_standard() {
        let frame = Repr::single(
            MacAddr([2, 0, 0, 0, 0, 9]),
            Priority::new(3),
            Quanta(0x1234),
        )
        .to_bytes();
        let mut expected = vec![
            0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01, 0x00, 0x08,
        ];
        expected.extend([0, 0, 0, 0, 0, 0, 0x12, 0x34]);
        expected.resize(60, 0);
        assert_eq!(frame[..], expected[..]);
    }

    #[test]
    fn durations() {
        assert_eq!(
            Quanta::MAX.duration(BitRate::gbps(10)),
            Nanos::new(3_355_392)
        );
        assert_eq!(
            Quanta::MAX.duration(BitRate::gbps(100)),
            Nanos::new(335_540)
        );
        assert_eq!(Quanta::RESUME.duration(BitRate::new(0)), Nanos::new(0));
        assert_eq!(Quanta(1).duration(BitRate::new(0)), Nanos::new(u64::MAX));
    }

    #[test]
    fn other_frames_are_refused() {
        let good = Repr::default().to_bytes();
        for at in [13, 14, 15] {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(Frame::new_checked(bad).is_err(), "byte {at}");
        }
        assert!(Frame::new_checked(&good[..33]).is_err());
        assert!(
            Frame::new_checked(&good[..34]).is_ok(),
            "padding may be gone"
        );
    }

    proptest! {
        #[test]
        fn round_trip(src: [u8; 6], times: [Option<u16>; 8]) {
            let repr = Repr { src: MacAddr(src), times: times.map(|t| t.map(Quanta)) };
            let bytes = repr.to_bytes();
            prop_assert_eq!(Repr::parse(&Frame::new_checked(bytes).unwrap()), repr);
        }
    }
}

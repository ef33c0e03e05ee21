//! Priority-based flow control frames (IEEE 802.1Qbb; IEEE 802.3 annex 31D).
//!
//! A switch that runs out of room for a priority tells its neighbour to stop sending that
//! priority for a time. The time counts in quanta of 512 bit times at the link's rate; 0 means "go
//! on". The frame is untagged, goes to a reserved address and is never forwarded.

use std::ops::Range;

use quantities::{BitRate, Nanos, Priority};

use crate::build::MIN_FRAME_LEN;
use crate::{EtherTypes, MacAddr, PacketError};

/// Where PFC frames go; bridges consume it and never forward it.
pub const DESTINATION: MacAddr = MacAddr(0x01, 0x80, 0xc2, 0x00, 0x00, 0x01);

/// MAC control opcode of PFC. (0x0001 is the PAUSE of a whole link.)
pub const OPCODE: u16 = 0x0101;

/// Number of priorities.
pub const PRIORITIES: usize = 8;

/// Length of a PFC frame without its frame check sequence: the shortest that Ethernet allows.
pub const FRAME_LEN: usize = MIN_FRAME_LEN;

/// Bytes of the frame that mean something; the rest is zero.
const CONTENT_LEN: usize = FIRST_TIME + 2 * PRIORITIES;

/// Where the fields stand. The high byte of the class-enable vector is reserved.
const ETHER_TYPE: Range<usize> = 12..14;
const OPCODE_AT: Range<usize> = 14..16;
const CLASS_ENABLE: usize = 17;
const FIRST_TIME: usize = 18;

/// Whether a frame is MAC control, PFC among it: no bridge forwards it, whatever it says.
#[must_use]
#[inline]
pub fn is_mac_control(frame: &[u8]) -> bool {
    frame.get(ETHER_TYPE) == Some(&EtherTypes::FlowControl.0.to_be_bytes())
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

    /// Reads a frame, from its Ethernet header on.
    ///
    /// # Errors
    /// [`PacketError`] if it is too short or no PFC frame.
    pub fn parse(bytes: &[u8]) -> Result<Self, PacketError> {
        let header = "PFC frame";
        let bytes = bytes
            .first_chunk::<CONTENT_LEN>()
            .ok_or(PacketError::Truncated {
                header,
                needed: CONTENT_LEN,
                have: bytes.len(),
            })?;
        let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        for (at, field, right, rule) in [
            (ETHER_TYPE, "EtherType", 0x8808, "which must be 0x8808"),
            (OPCODE_AT, "opcode", OPCODE, "which must be 0x0101"),
        ] {
            if word(at.start) != right {
                return Err(PacketError::Malformed {
                    header,
                    field,
                    value: word(at.start).into(),
                    rule,
                });
            }
        }
        let mut times = [None; PRIORITIES];
        for (class, time) in times.iter_mut().enumerate() {
            let enabled = bytes[CLASS_ENABLE] >> class & 1 == 1;
            *time = enabled.then(|| Quanta(word(FIRST_TIME + 2 * class)));
        }
        let [_, _, _, _, _, _, a, b, c, d, e, f, ..] = *bytes;
        let src = MacAddr(a, b, c, d, e, f);
        Ok(Self { src, times })
    }

    /// The whole frame, padding included.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; FRAME_LEN] {
        let mut bytes = [0; FRAME_LEN];
        bytes[..6].copy_from_slice(&DESTINATION.octets());
        bytes[6..12].copy_from_slice(&self.src.octets());
        bytes[ETHER_TYPE].copy_from_slice(&EtherTypes::FlowControl.0.to_be_bytes());
        bytes[OPCODE_AT].copy_from_slice(&OPCODE.to_be_bytes());
        for (class, time) in self.times.iter().enumerate() {
            if let Some(Quanta(quanta)) = *time {
                bytes[CLASS_ENABLE] |= 1 << class;
                let at = FIRST_TIME + 2 * class;
                bytes[at..at + 2].copy_from_slice(&quanta.to_be_bytes());
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_as_in_the_standard() {
        let frame =
            Repr::single(MacAddr(2, 0, 0, 0, 0, 9), Priority::new(3), Quanta(0x1234)).to_bytes();
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
            assert!(Repr::parse(&bad).is_err(), "byte {at}");
        }
        assert!(Repr::parse(&good[..33]).is_err());
        assert!(Repr::parse(&good[..34]).is_ok(), "padding may be gone");
    }

    proptest! {
        #[test]
        fn round_trip(src: [u8; 6], times: [Option<u16>; 8]) {
            let repr = Repr { src: src.into(), times: times.map(|t| t.map(Quanta)) };
            let bytes = repr.to_bytes();
            prop_assert_eq!(Repr::parse(&bytes), Ok(repr));
        }
    }
}

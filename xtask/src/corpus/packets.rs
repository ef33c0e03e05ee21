//! Packets of a fixed sequence: half of them IPv4 in Ethernet, so that parsers go on.

use std::fmt::Write as _;

/// How many.
const COUNT: usize = 16;

/// Packets as hexadecimal digits, the same every time.
pub(super) fn packets() -> Vec<String> {
    let mut random = Random(0x5eed);
    let one = |i: usize| {
        let length = 14 + random.below(114);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        if i.is_multiple_of(2) {
            bytes[12..14].copy_from_slice(&[0x08, 0x00]);
            bytes.resize(length.max(60), 0);
            bytes[14] = 0x45;
            bytes[22] = 64;
            bytes[23] = if i.is_multiple_of(4) { 6 } else { 17 };
        }
        bytes.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    (0..COUNT).map(one).collect()
}

/// Knuth's linear congruential generator of MMIX.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n) as usize
    }
}

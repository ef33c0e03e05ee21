//! The hash and checksum algorithms of v1model, bit for bit as BMv2 computes them, and those that
//! only Tofino has.
//!
//! Input is the concatenation of the fields, most significant bit first, the last byte filled up
//! with zero bits. (Tofino's CRCs take zero bits in front: programs for it have them among the
//! fields.) `csum16` is the Internet checksum (RFC 1071). The `_custom` algorithms are CRCs whose
//! parameters may be set, for each calculation that has a name; unset they equal CRC-16/ARC and
//! CRC-32/ISO-HDLC, as in BMv2.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A calculation whose CRC has parameters of its own, by the number that the program's JSON gives
/// it; all that have no name share 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Calculation(pub u16);

/// The algorithms of v1model's `HashAlgorithm` and of Tofino's `HashAlgorithm_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HashAlgorithm {
    /// CRC-32/ISO-HDLC.
    Crc32,
    /// A CRC of 32 bits with parameters of its own.
    Crc32Custom(Calculation),
    /// CRC-16/ARC.
    Crc16,
    /// A CRC of 16 bits with parameters of its own.
    Crc16Custom(Calculation),
    /// A random number: see [`super::random`].
    Random,
    /// The first eight bytes as a number.
    Identity,
    /// The Internet checksum.
    Csum16,
    /// Exclusive or of all 16-bit words.
    Xor16,
    /// Exclusive or of all bytes.
    Xor8,
    /// Exclusive or of all 32-bit words.
    Xor32,
    /// The last eight bytes as a number.
    LowBits,
    /// A CRC that the program describes.
    Crc(CrcConfig),
}

/// A CRC in the Rocksoft model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CrcConfig {
    /// Bits of the remainder, 1 to 64.
    pub width: u32,
    /// The polynomial without its leading term.
    pub polynomial: u64,
    /// The remainder at the start.
    pub initial: u64,
    /// Exclusive-ored to the result.
    pub final_xor: u64,
    /// Whether input bytes are taken least significant bit first.
    pub reflect_input: bool,
    /// Whether the remainder is reflected before the last step.
    pub reflect_output: bool,
}

impl CrcConfig {
    /// CRC-16/ARC.
    pub const CRC16: Self = Self {
        width: 16,
        polynomial: 0x8005,
        initial: 0,
        final_xor: 0,
        reflect_input: true,
        reflect_output: true,
    };
    /// CRC-32/ISO-HDLC.
    pub const CRC32: Self = Self {
        width: 32,
        polynomial: 0x04c1_1db7,
        initial: 0xffff_ffff,
        final_xor: 0xffff_ffff,
        reflect_input: true,
        reflect_output: true,
    };
    /// CRC-8/SMBUS, Tofino's `CRC8`.
    pub const CRC8: Self = Self {
        width: 8,
        polynomial: 7,
        initial: 0,
        final_xor: 0,
        reflect_input: false,
        reflect_output: false,
    };
    /// CRC-64/ECMA-182, Tofino's `CRC64`.
    pub const CRC64: Self = Self {
        width: 64,
        polynomial: 0x42f0_e1eb_a9ea_3693,
        ..Self::CRC8
    };
    /// Stands for Tofino's `RANDOM`: the compiler of the chip draws a linear function of the input
    /// and one constant, which stay the same from packet to packet. Which ones it draws is not
    /// specified.
    pub const RANDOM: Self = Self {
        initial: u64::MAX,
        final_xor: u64::MAX,
        ..Self::CRC64
    };

    /// The CRC of some bytes, without tables; a width beyond 1 to 64 is brought to the nearest of
    /// them.
    #[must_use]
    pub fn compute(&self, data: &[u8]) -> u64 {
        // The remainder stands at the top of a word, so that every width takes the same steps.
        let spare = 64 - self.width.clamp(1, 64);
        let polynomial = self.polynomial << spare;
        let mut rest = self.initial << spare;
        for byte in data {
            let byte = if self.reflect_input {
                byte.reverse_bits()
            } else {
                *byte
            };
            rest ^= u64::from(byte) << 56;
            for _ in 0..8 {
                let carry = rest >> 63 == 1;
                rest <<= 1;
                if carry {
                    rest ^= polynomial;
                }
            }
        }
        let rest = if self.reflect_output {
            rest.reverse_bits()
        } else {
            rest >> spare
        };
        (rest ^ self.final_xor) & (u64::MAX >> spare)
    }
}

/// A CRC with its tables.
#[derive(Clone, Debug)]
pub struct Crc {
    config: CrcConfig,
    table: Box<[u64; 256]>,
    /// Where input and output are reflected and 32 bits suffice, the whole remainder is kept
    /// reflected: table *k* moves a byte past *k* more bytes (slicing by eight, Kounavis and Berry
    /// 2005).
    sliced: Option<Box<[[u32; 256]; 8]>>,
}

/// The tables of a reflected CRC of up to 32 bits.
fn slice_tables(config: CrcConfig) -> Option<Box<[[u32; 256]; 8]>> {
    if !config.reflect_input || !config.reflect_output || config.width > 32 {
        return None;
    }
    Some(Box::new(reflected_tables(config)))
}

/// Table *k* of a reflected CRC moves a byte past *k* more bytes.
const fn reflected_tables<const N: usize>(config: CrcConfig) -> [[u32; 256]; N] {
    let polynomial = (config.polynomial.reverse_bits() >> (64 - config.width)) as u32;
    let mut tables = [[0; 256]; N];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = (rest >> 1) ^ if rest & 1 == 1 { polynomial } else { 0 };
            bit += 1;
        }
        tables[0][byte] = rest;
        byte += 1;
    }
    let mut k = 1;
    while k < N {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

/// Tables with which compiled code takes sixteen bytes at a time.
pub(crate) type WideTables = [[u32; 256]; 16];

static CRC16_TABLES: WideTables = reflected_tables(CrcConfig::CRC16);
static CRC32_TABLES: WideTables = reflected_tables(CrcConfig::CRC32);

/// The tables of the CRCs whose parameters never change, with the remainder at the start and what
/// is exclusive-ored at the end (both the same in either direction).
pub(crate) const fn fixed_crc(
    algorithm: HashAlgorithm,
) -> Option<(&'static WideTables, CrcConfig)> {
    match algorithm {
        HashAlgorithm::Crc16 => Some((&CRC16_TABLES, CrcConfig::CRC16)),
        HashAlgorithm::Crc32 => Some((&CRC32_TABLES, CrcConfig::CRC32)),
        _ => None,
    }
}

/// Moves a reflected remainder over some bytes.
fn slice_by_eight(tables: &[[u32; 256]; 8], mut rest: u32, data: &[u8]) -> u32 {
    let (eights, tail) = data.as_chunks::<8>();
    for chunk in eights {
        let word = u64::from_le_bytes(*chunk) ^ u64::from(rest);
        rest = (0..8).fold(0, |sum, k| {
            sum ^ tables[7 - k][(word >> (8 * k)) as usize & 0xff]
        });
    }
    let (fours, tail) = tail.as_chunks::<4>();
    for chunk in fours {
        let word = u32::from_le_bytes(*chunk) ^ rest;
        rest = (0..4).fold(0, |sum, k| {
            sum ^ tables[3 - k][(word >> (8 * k)) as usize & 0xff]
        });
    }
    for byte in tail {
        rest = (rest >> 8) ^ tables[0][((rest ^ u32::from(*byte)) & 0xff) as usize];
    }
    rest
}

impl Crc {
    /// The CRC of these parameters; a width beyond 8 to 64 is brought to the nearest of them.
    #[must_use]
    pub fn new(mut config: CrcConfig) -> Self {
        config.width = config.width.clamp(8, 64);
        let mask = u64::MAX >> (64 - config.width);
        let top = 1u64 << (config.width - 1);
        let mut table = Box::new([0; 256]);
        for (byte, place) in (0u64..).zip(table.iter_mut()) {
            let mut remainder = byte << (config.width - 8);
            for _ in 0..8 {
                let carry = remainder & top != 0;
                remainder = (remainder << 1) & mask;
                if carry {
                    remainder ^= config.polynomial & mask;
                }
            }
            *place = remainder;
        }
        Self {
            sliced: slice_tables(config),
            config,
            table,
        }
    }

    /// The CRC of some bytes.
    #[must_use]
    pub fn compute(&self, data: &[u8]) -> u64 {
        let CrcConfig {
            width,
            initial,
            final_xor,
            reflect_input,
            reflect_output,
            ..
        } = self.config;
        let mask = u64::MAX >> (64 - width);
        if let Some(tables) = &self.sliced {
            let initial = ((initial & mask).reverse_bits() >> (64 - width)) as u32;
            let rest = slice_by_eight(tables, initial, data);
            return (u64::from(rest) ^ final_xor) & mask;
        }
        let mut remainder = initial & mask;
        for byte in data {
            let byte = if reflect_input {
                byte.reverse_bits()
            } else {
                *byte
            };
            let index = ((remainder >> (width - 8)) as u8) ^ byte;
            // Two shifts: one of eight would overflow where the width is eight.
            remainder = ((remainder << 4) << 4) & mask ^ self.table[usize::from(index)];
        }
        if reflect_output {
            remainder = remainder.reverse_bits() >> (64 - width);
        }
        (remainder ^ final_xor) & mask
    }
}

/// The Internet checksum of RFC 1071, an odd last byte counting as the high one of its word.
#[must_use]
pub fn internet_checksum(data: &[u8]) -> u16 {
    let mut sum: u64 = 0;
    for pair in data.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u64::from(u16::from_be_bytes([pair[0], low]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Exclusive or of all words of some bytes (1 to 8), the last filled up with zeros.
#[must_use]
pub fn xor_words(data: &[u8], bytes: usize) -> u64 {
    let bytes = bytes.clamp(1, 8);
    data.chunks(bytes).fold(0, |sum, word| {
        let missing = bytes - word.len();
        sum ^ (identity(word) << (8 * missing))
    })
}

/// The first eight bytes as a number.
#[must_use]
pub fn identity(data: &[u8]) -> u64 {
    data.iter()
        .take(8)
        .fold(0, |acc, b| (acc << 8) | u64::from(*b))
}

/// The algorithms ready to run. [`HashAlgorithm::Random`] is the caller's, who has the generator.
#[derive(Clone, Debug)]
pub struct Hashers {
    crc16: Crc,
    crc32: Crc,
    /// The custom ones whose parameters were set.
    custom: BTreeMap<HashAlgorithm, Crc>,
}

impl Default for Hashers {
    fn default() -> Self {
        let (crc16, crc32) = (Crc::new(CrcConfig::CRC16), Crc::new(CrcConfig::CRC32));
        Self {
            custom: BTreeMap::new(),
            crc16,
            crc32,
        }
    }
}

impl Hashers {
    /// The parameters of a custom CRC, if some were set.
    #[must_use]
    pub fn custom(&self, algorithm: HashAlgorithm) -> Option<CrcConfig> {
        self.custom.get(&algorithm).map(|crc| crc.config)
    }

    /// The custom CRCs whose parameters were set.
    pub fn customs(&self) -> impl Iterator<Item = (HashAlgorithm, CrcConfig)> {
        self.custom.iter().map(|(of, crc)| (*of, crc.config))
    }

    /// Sets the parameters of a custom CRC, or takes them away.
    pub fn set_custom(&mut self, algorithm: HashAlgorithm, config: Option<CrcConfig>) {
        match config {
            Some(config) => drop(self.custom.insert(algorithm, Crc::new(config))),
            None => drop(self.custom.remove(&algorithm)),
        }
    }

    /// The hash of some bytes; `None` for [`HashAlgorithm::Random`].
    #[must_use]
    pub fn compute(&self, algorithm: HashAlgorithm, data: &[u8]) -> Option<u64> {
        Some(match algorithm {
            HashAlgorithm::Crc32 => self.crc32.compute(data),
            HashAlgorithm::Crc32Custom(_) => self
                .custom
                .get(&algorithm)
                .unwrap_or(&self.crc32)
                .compute(data),
            HashAlgorithm::Crc16 => self.crc16.compute(data),
            HashAlgorithm::Crc16Custom(_) => self
                .custom
                .get(&algorithm)
                .unwrap_or(&self.crc16)
                .compute(data),
            HashAlgorithm::Random => return None,
            HashAlgorithm::Identity => identity(data),
            HashAlgorithm::Csum16 => u64::from(internet_checksum(data)),
            HashAlgorithm::Xor16 => xor_words(data, 2),
            HashAlgorithm::Xor8 => xor_words(data, 1),
            HashAlgorithm::Xor32 => xor_words(data, 4),
            HashAlgorithm::LowBits => identity(&data[data.len().saturating_sub(8)..]),
            HashAlgorithm::Crc(config) => config.compute(data),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHECK: &[u8] = b"123456789";

    #[test]
    fn check_values_of_the_catalogue() {
        let hashers = Hashers::default();
        assert_eq!(hashers.compute(HashAlgorithm::Crc16, CHECK), Some(0xbb3d));
        assert_eq!(
            hashers.compute(HashAlgorithm::Crc32, CHECK),
            Some(0xcbf4_3926)
        );
        let ccitt = CrcConfig {
            width: 16,
            polynomial: 0x1021,
            initial: 0xffff,
            final_xor: 0,
            reflect_input: false,
            reflect_output: false,
        };
        assert_eq!(Crc::new(ccitt).compute(CHECK), 0x29b1);
        let smbus = CrcConfig {
            width: 8,
            polynomial: 7,
            initial: 0,
            ..ccitt
        };
        assert_eq!(Crc::new(smbus).compute(CHECK), 0xf4);
        let xz = CrcConfig {
            width: 64,
            polynomial: 0x42f0_e1eb_a9ea_3693,
            initial: u64::MAX,
            final_xor: u64::MAX,
            reflect_input: true,
            reflect_output: true,
        };
        assert_eq!(Crc::new(xz).compute(CHECK), 0x995d_c9bb_df19_39fa);
    }

    /// CRC-4/G-704, CRC-5/USB and CRC-7/MMC: narrower than a byte.
    #[test]
    fn check_values_of_narrow_crcs() {
        for (width, polynomial, initial, final_xor, reflected, check) in [
            (4, 3, 0, 0, true, 7),
            (5, 5, 0x1f, 0x1f, true, 0x19),
            (7, 9, 0, 0, false, 0x75),
            (8, 7, 0, 0, false, 0xf4),
            (
                64,
                0x42f0_e1eb_a9ea_3693,
                0,
                0,
                false,
                0x6c40_df5f_0b49_7347,
            ),
        ] {
            let config = CrcConfig {
                width,
                polynomial,
                initial,
                final_xor,
                reflect_input: reflected,
                reflect_output: reflected,
            };
            assert_eq!(config.compute(CHECK), check, "{width}");
        }
    }

    #[test]
    fn internet_checksum_of_a_real_header() {
        // RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2 (folded).
        assert_eq!(
            internet_checksum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
        assert_eq!(internet_checksum(&[]), 0xffff);
        assert_eq!(internet_checksum(&[0xab]), !0xab00);
    }

    #[test]
    fn identity_and_xor() {
        assert_eq!(identity(&[1, 2]), 0x0102);
        assert_eq!(
            identity(&[1, 2, 3, 4, 5, 6, 7, 8, 9]),
            0x0102_0304_0506_0708
        );
        let bytes = [0x12, 0x34, 0xff, 0xff, 0x01];
        assert_eq!(xor_words(&bytes, 2), 0x1234 ^ 0xffff ^ 0x0100);
        assert_eq!(xor_words(&bytes, 1), 0x12 ^ 0x34 ^ 0x01);
        assert_eq!(xor_words(&bytes, 4), 0x1234_ffff ^ 0x0100_0000);
        let hashers = Hashers::default();
        let low = hashers.compute(HashAlgorithm::LowBits, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(low, Some(0x0203_0405_0607_0809));
    }

    proptest! {
        #[test]
        fn crcs_with_and_without_tables_agree(
            data: Vec<u8>, width in 8_u32..=64, polynomial: u64, initial: u64, final_xor: u64,
            reflect_input: bool, reflect_output: bool,
        ) {
            let mask = u64::MAX >> (64 - width);
            let config = CrcConfig {
                width, polynomial: polynomial & mask, initial: initial & mask, final_xor: final_xor & mask,
                reflect_input, reflect_output,
            };
            prop_assert_eq!(config.compute(&data), Crc::new(config).compute(&data));
        }

        #[test]
        fn crcs_agree_with_another_implementation(data: Vec<u8>) {
            let hashers = Hashers::default();
            let arc = crc::Crc::<u16>::new(&crc::CRC_16_ARC).checksum(&data);
            let iso = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&data);
            prop_assert_eq!(hashers.compute(HashAlgorithm::Crc16, &data), Some(u64::from(arc)));
            prop_assert_eq!(hashers.compute(HashAlgorithm::Crc32, &data), Some(u64::from(iso)));
        }
    }
}

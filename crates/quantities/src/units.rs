//! Quantities as text with a unit: `100Gbps`, `3 km`, `10us`, `12MiB`.
//!
//! Reading accepts the spellings that people and other tools use. Writing gives the shortest exact
//! text in one spelling, and reading that text gives the quantity again.

use std::fmt;
use std::str::FromStr;

use crate::{BitRate, Bytes, Metres, Nanos};

/// A text that is not a quantity of the type that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    text: String,
    what: &'static str,
    example: &'static str,
    units: &'static [Unit],
    problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Number,
    Unit,
    Size,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            text,
            what,
            example,
            ..
        } = self;
        match self.problem {
            Problem::Number => write!(f, "`{text}` does not begin with a number")?,
            Problem::Unit => write!(f, "`{text}` does not end with a unit of {what}")?,
            Problem::Size => write!(f, "`{text}` is too large")?,
        }
        let names: Vec<&str> = self.units.iter().map(|unit| unit.name).collect();
        write!(
            f,
            "; write {what} as in `{example}`, with one of {}",
            names.join(", ")
        )
    }
}

impl std::error::Error for UnitError {}

/// A unit: the name that is written, what else is read, how much of the base unit it is.
#[derive(Debug, PartialEq, Eq)]
struct Unit {
    name: &'static str,
    aliases: &'static [&'static str],
    worth: u64,
}

const fn unit(name: &'static str, aliases: &'static [&'static str], worth: u64) -> Unit {
    Unit {
        name,
        aliases,
        worth,
    }
}

/// From small to large; writing takes the largest that divides the quantity.
const TIMES: &[Unit] = &[
    unit("ns", &[], 1),
    // U+00B5 and U+03BC both print as the Greek letter.
    unit("us", &["\u{b5}s", "\u{3bc}s"], 1_000),
    unit("ms", &[], 1_000_000),
    unit("s", &[], 1_000_000_000),
];
const RATES: &[Unit] = &[
    unit("bps", &["b/s", "bit/s"], 1),
    unit("Kbps", &["Kb/s", "Kbit/s", "K"], 1_000),
    unit("Mbps", &["Mb/s", "Mbit/s", "M"], 1_000_000),
    unit("Gbps", &["Gb/s", "Gbit/s", "G"], 1_000_000_000),
    unit("Tbps", &["Tb/s", "Tbit/s", "T"], 1_000_000_000_000),
];
/// Powers of ten and of two; a number alone counts bytes.
const SIZES: &[Unit] = &[
    unit("B", &[""], 1),
    unit("KB", &[], 1_000),
    unit("KiB", &[], 1 << 10),
    unit("MB", &[], 1_000_000),
    unit("MiB", &[], 1 << 20),
    unit("GB", &[], 1_000_000_000),
    unit("GiB", &[], 1 << 30),
];
/// A number alone counts metres.
const LENGTHS: &[Unit] = &[unit("m", &[""], 1), unit("km", &[], 1_000)];

/// How a type of quantity is read and written.
struct Spelling {
    what: &'static str,
    example: &'static str,
    units: &'static [Unit],
    /// Whether it counts bits: then `B`, which is a byte, is not read as `b`.
    bits: bool,
    largest: u64,
}

/// Beyond 2^53 a float does not count in ones.
const LARGEST: u64 = 9_000_000_000_000_000;

impl Spelling {
    fn read(&self, text: &str) -> Result<u64, UnitError> {
        let error = |problem| UnitError {
            text: text.to_owned(),
            what: self.what,
            example: self.example,
            units: self.units,
            problem,
        };
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let (number, name) = trimmed.split_at(split);
        let number: f64 = number
            .replace('_', "")
            .parse()
            .map_err(|_| error(Problem::Number))?;
        let name = name.trim_start();
        let worth = match self.find(name) {
            Some(unit) => unit.worth,
            // Zero is zero in every unit.
            None if name.is_empty() && number == 0.0 => 1,
            None => return Err(error(Problem::Unit)),
        };
        let value = (number * worth as f64).round();
        if value > self.largest as f64 {
            return Err(error(Problem::Size));
        }
        Ok(value as u64)
    }

    /// The unit of a name. Letter case does not matter, except where bits are counted.
    fn find(&self, name: &str) -> Option<&'static Unit> {
        if self.bits && name.contains('B') {
            return None;
        }
        self.units.iter().find(|unit| {
            let mut names = std::iter::once(&unit.name).chain(unit.aliases);
            names.any(|known| known.eq_ignore_ascii_case(name))
        })
    }

    fn write(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |unit: &&Unit| value.is_multiple_of(unit.worth);
        let unit = match value {
            0 => self.units.first(),
            _ => self.units.iter().rev().find(exact),
        };
        unit.map_or(Ok(()), |unit| {
            write!(f, "{}{}", value / unit.worth, unit.name)
        })
    }
}

const TIME: Spelling = Spelling {
    what: "a time",
    example: "250us",
    units: TIMES,
    bits: false,
    largest: LARGEST,
};
const SIZE: Spelling = Spelling {
    what: "a size",
    example: "50KB",
    units: SIZES,
    bits: false,
    largest: LARGEST,
};
const RATE: Spelling = Spelling {
    what: "a rate",
    example: "40Gbps",
    units: RATES,
    bits: true,
    largest: LARGEST,
};
const LENGTH: Spelling = Spelling {
    what: "a length",
    example: "300m",
    units: LENGTHS,
    bits: false,
    largest: u32::MAX as u64,
};

/// A quantity as text with a unit, in the shortest exact form: `100Gbps`, `1500ns`.
#[derive(Clone, Copy, Debug)]
pub struct WithUnit {
    value: u64,
    spelling: &'static Spelling,
}

impl fmt::Debug for Spelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl fmt::Display for WithUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spelling.write(self.value, f)
    }
}

macro_rules! with_unit {
    ($name:ident, $inner:ty, $spelling:expr) => {
        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                // `Spelling::largest` fits the type.
                $spelling.read(text).map(|value| Self::new(value as $inner))
            }
        }

        impl $name {
            /// The quantity with its unit, in the shortest exact form that [`FromStr`] reads.
            #[must_use]
            pub const fn with_unit(self) -> WithUnit {
                WithUnit {
                    value: self.get() as u64,
                    spelling: &$spelling,
                }
            }
        }
    };
}

with_unit!(Nanos, u64, TIME);
with_unit!(Bytes, u64, SIZE);
with_unit!(BitRate, u64, RATE);
with_unit!(Metres, u32, LENGTH);

/// Units of [`Bytes::rounded`] above the byte.
const ROUNDED_SIZES: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
/// Units of [`BitRate::rounded`] above the bit per second.
const ROUNDED_RATES: [(&str, u64); 4] = [
    ("Tb/s", 1_000_000_000_000),
    ("Gb/s", 1_000_000_000),
    ("Mb/s", 1_000_000),
    ("Kb/s", 1_000),
];
/// From here on sizes are given in units above the byte.
const LARGE_SIZE: u64 = 10 << 10;
/// The factor from which on a rate is given in the next larger unit: 1600 Gb/s stays so.
const LARGE_RATE: u64 = 10;

impl Bytes {
    /// The size for a person to read: `7379 B`, `41.0 KiB`, `12.0 MiB`. Below 10 KiB it is exact,
    /// above it has one decimal, rounded down. The unit is a power of 1024.
    #[must_use]
    pub fn rounded(self) -> String {
        let value = self.get();
        let large = |&&(_, worth): &&(&str, u64)| value >= LARGE_SIZE && value >= worth;
        match ROUNDED_SIZES.iter().find(large) {
            None => format!("{value} B"),
            Some((unit, worth)) => {
                let tenths = (value % worth).saturating_mul(10) / worth;
                format!("{}.{tenths} {unit}", value / worth)
            }
        }
    }
}

impl BitRate {
    /// The rate for a person to read: `400 Gb/s`, `2.5 Gb/s`, `1600 Gb/s`. It has up to three
    /// decimals, rounded down.
    #[must_use]
    pub fn rounded(self) -> String {
        let value = self.get();
        let fits = |&&(unit, worth): &&(&str, u64)| {
            let least = match unit {
                "Tb/s" => LARGE_RATE,
                _ => 1,
            };
            value >= worth.saturating_mul(least)
        };
        let Some((unit, worth)) = ROUNDED_RATES.iter().find(fits) else {
            return format!("{value} b/s");
        };
        let thousandths = value % worth / (worth / 1000);
        let decimals = format!("{thousandths:03}");
        match decimals.trim_end_matches('0') {
            "" => format!("{} {unit}", value / worth),
            decimals => format!("{}.{decimals} {unit}", value / worth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_rounded_quantities() {
        for (size, text) in [
            (0, "0 B"),
            (7_379, "7379 B"),
            (10_240, "10.0 KiB"),
            (42_015, "41.0 KiB"),
            (12 << 20, "12.0 MiB"),
            (3 << 30, "3.0 GiB"),
        ] {
            assert_eq!(Bytes::new(size).rounded(), text);
        }
        for (rate, text) in [
            (0, "0 b/s"),
            (999, "999 b/s"),
            (10_000_000, "10 Mb/s"),
            (2_500_000_000, "2.5 Gb/s"),
            (400_000_000_000, "400 Gb/s"),
            (1_600_000_000_000, "1600 Gb/s"),
            (12_800_000_000_000, "12.8 Tb/s"),
        ] {
            assert_eq!(BitRate::new(rate).rounded(), text);
        }
        assert!(Bytes::new(u64::MAX).rounded().ends_with(" GiB"));
        assert!(BitRate::new(u64::MAX).rounded().ends_with(" Tb/s"));
    }

    #[test]
    fn units_are_read() {
        assert_eq!("1.5ms".parse(), Ok(Nanos::new(1_500_000)));
        assert_eq!("12 MiB".parse(), Ok(Bytes::new(12 << 20)));
        assert_eq!("1_500".parse(), Ok(Bytes::new(1_500)));
        assert_eq!("0".parse(), Ok(Nanos::new(0)));
        assert_eq!("3 km".parse(), Ok(Metres::new(3_000)));
        for rate in ["40Gbps", "40 Gb/s", "40gbit/s", "40G", "0.04Tbps", "40000M"] {
            assert_eq!(rate.parse(), Ok(BitRate::gbps(40)), "{rate}");
        }
        for time in ["10us", "10 \u{b5}s", "10\u{3bc}s", "0.01ms"] {
            assert_eq!(time.parse(), Ok(Nanos::new(10_000)), "{time}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for wrong in [
            "12",
            "1.5",
            "",
            "ms",
            "5 parsecs",
            "-1ms",
            "1e99s",
            "1.2.3s",
        ] {
            assert!(wrong.parse::<Nanos>().is_err(), "{wrong}");
        }
        for wrong in ["40GBps", "40GB/s", "40", "9999999Tbps"] {
            assert!(wrong.parse::<BitRate>().is_err(), "{wrong}");
        }
        assert!("5000000km".parse::<Metres>().is_err());
    }

    #[test]
    fn an_error_names_the_units() {
        let error = "5 parsecs".parse::<Metres>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`5 parsecs` does not end with a unit of a length; write a length as in `300m`, with one of m, km"
        );
        let error = "9999999Tbps".parse::<BitRate>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`9999999Tbps` is too large; write a rate")
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut value: u64 = 1;
        while value < LARGEST / 7 {
            for value in [value, value + 1, value * 5] {
                let time = Nanos::new(value);
                assert_eq!(time.with_unit().to_string().parse(), Ok(time));
                let size = Bytes::new(value);
                assert_eq!(size.with_unit().to_string().parse(), Ok(size));
                let rate = BitRate::new(value);
                assert_eq!(rate.with_unit().to_string().parse(), Ok(rate));
            }
            value *= 10;
        }
        assert_eq!(BitRate::gbps(100).with_unit().to_string(), "100Gbps");
        assert_eq!(Nanos::new(1_500).with_unit().to_string(), "1500ns");
        assert_eq!(Metres::new(0).with_unit().to_string(), "0m");
    }
}

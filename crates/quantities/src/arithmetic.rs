//! Arithmetic on quantities of one kind, and between a rate, a time and a number of bytes.
//!
//! Sums, differences and products saturate at the ends of the type's range: a difference below
//! zero is zero. A caller to whom the end matters compares first.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use crate::{BitRate, Bytes, Nanos};

macro_rules! linear {
    ($name:ident) => {
        impl $name {
            /// The value zero.
            pub const ZERO: Self = Self(0);
            /// The largest value of the type.
            pub const MAX: Self = Self(u64::MAX);

            /// The sum, unless the type cannot hold it.
            #[must_use]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }

            /// The difference, unless it is below zero.
            #[must_use]
            pub const fn checked_sub(self, other: Self) -> Option<Self> {
                match self.0.checked_sub(other.0) {
                    Some(difference) => Some(Self(difference)),
                    None => None,
                }
            }
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;

            fn mul(self, times: u64) -> Self {
                Self(self.0.saturating_mul(times))
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self(0), Add::add)
            }
        }
    };
}

linear!(Nanos);
linear!(Bytes);
linear!(BitRate);

impl BitRate {
    /// The time to send `bytes` at this rate, rounded up. Zero bytes take zero time. At rate zero
    /// any other number of bytes takes [`Nanos::MAX`].
    #[must_use]
    pub fn time_of(self, bytes: Bytes) -> Nanos {
        let bits = u128::from(bytes.0) * 8 * NANOS_PER_SECOND;
        match (bits, self.0) {
            (0, _) => Nanos::ZERO,
            (_, 0) => Nanos::MAX,
            (bits, rate) => {
                Nanos(u64::try_from(bits.div_ceil(u128::from(rate))).unwrap_or(u64::MAX))
            }
        }
    }

    /// The number of whole bytes that this rate carries in `time`.
    #[must_use]
    pub fn bytes_in(self, time: Nanos) -> Bytes {
        let bits = u128::from(self.0) * u128::from(time.0) / NANOS_PER_SECOND;
        Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Nanos::new(5) - Nanos::new(7), Nanos::ZERO);
        assert_eq!(Bytes::MAX + Bytes::new(1), Bytes::MAX);
        assert_eq!(BitRate::MAX * 2, BitRate::MAX);
        assert_eq!(Bytes::MAX.checked_add(Bytes::new(1)), None);
        assert_eq!(Nanos::new(5).checked_sub(Nanos::new(7)), None);
        let total: Bytes = [3, 4].map(Bytes::new).into_iter().sum();
        assert_eq!(total, Bytes::new(7));
    }

    #[test]
    fn a_frame_takes_its_time_and_a_time_carries_its_frame() {
        for (rate, bytes) in [(BitRate::gbps(100), 64), (BitRate::gbps(3), 1_500)] {
            let time = rate.time_of(Bytes::new(bytes));
            assert!(rate.bytes_in(time) >= Bytes::new(bytes));
            assert!(rate.bytes_in(time - Nanos::new(1)) < Bytes::new(bytes));
        }
        assert_eq!(BitRate::ZERO.time_of(Bytes::new(1)), Nanos::MAX);
        assert_eq!(BitRate::ZERO.time_of(Bytes::ZERO), Nanos::ZERO);
        assert_eq!(BitRate::MAX.bytes_in(Nanos::MAX), Bytes::MAX);
    }
}

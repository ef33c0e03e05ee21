//! Random numbers: seeded, so that a run repeats.

use num_bigint::BigUint;
use num_traits::One as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::value::Bits;

/// The generator behind v1model's `random` and `HashAlgorithm.random`.
#[derive(Clone, Debug)]
pub struct RandomSource(ChaCha8Rng);

impl RandomSource {
    /// A generator whose sequence is fixed by the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A value from `low` to `high`, both included, each equally likely; `None` if there is none.
    pub fn between(&mut self, low: &Bits, high: &Bits) -> Option<Bits> {
        if low.cmp_unsigned(high).is_gt() {
            return None;
        }
        let count = high.to_biguint() - low.to_biguint() + BigUint::one();
        let bits = (&count - BigUint::one()).bits();
        let words = bits.div_ceil(64) as usize;
        // Rejection: half of the draws pass at worst, so this ends, and no value is favoured.
        loop {
            let digits: Vec<u8> = (0..words)
                .flat_map(|_| self.0.next_u64().to_le_bytes())
                .collect();
            let draw = BigUint::from_bytes_le(&digits) % (BigUint::one() << bits);
            if draw < count {
                return Some(Bits::from_biguint(low.width(), &(low.to_biguint() + draw)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_bounds_reach_them_and_repeat_with_the_seed() {
        let bits = |v| Bits::from_u64(8, v);
        let draw = |seed| {
            let mut source = RandomSource::new(seed);
            (0..500)
                .map(|_| source.between(&bits(3), &bits(9)).unwrap().low_u64())
                .collect()
        };
        let values: Vec<u64> = draw(1);
        assert_eq!(values.iter().min(), Some(&3));
        assert_eq!(values.iter().max(), Some(&9));
        assert_eq!(values, draw(1));
        assert_ne!(values, draw(2));
        let mut source = RandomSource::new(0);
        assert_eq!(source.between(&bits(4), &bits(4)), Some(bits(4)));
        assert_eq!(source.between(&bits(5), &bits(4)), None);
    }
}

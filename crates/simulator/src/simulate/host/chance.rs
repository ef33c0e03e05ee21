//! Numbers that look drawn: splitmix64, the same everywhere for the same seed.

/// The first source port of flows that do not name theirs, and how many there are.
const FIRST_PORT: u64 = 49_152;
const PORTS: u64 = 16_384;

/// A sequence of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The sequence of one of many that share a seed.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        let mut own = Self(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        own.draw();
        Self(own.draw())
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A source port for ECMP to look at.
    pub(crate) fn port(&mut self) -> u16 {
        (FIRST_PORT + self.draw() % PORTS) as u16
    }

    /// A number below `count`, which is not 0.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(count)) >> 64) as u64
    }

    /// A number in (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.draw() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// The time to the next of events that are independent of each other, so many in 10^9 units of
    /// time on average.
    pub(crate) fn wait(&mut self, rate: f64) -> u64 {
        (-self.unit().ln() * 1e9 / rate) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_even_and_waits_are_poisson() {
        let mut chance = Chance::of(1, 3);
        let mut counts = [0; 7];
        (0..70_000).for_each(|_| counts[chance.below(7) as usize] += 1);
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)));
        let waits: Vec<f64> = (0..50_000).map(|_| chance.wait(200.0) as f64).collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((4.9e6..5.1e6).contains(&mean), "{mean}");
        // Of an exponential distribution 1/e are longer than the mean.
        let longer = waits.iter().filter(|wait| **wait > mean).count();
        assert!((17_900..18_900).contains(&longer), "{longer}");
        assert_ne!(Chance::of(1, 3).draw(), Chance::of(1, 4).draw());
    }
}

//! Where chance comes from: a seed, or the bytes of an input.

/// Where choices come from.
#[derive(Clone, Debug)]
pub struct Choices<'b> {
    source: Source<'b>,
}

#[derive(Clone, Debug)]
enum Source<'b> {
    /// SplitMix64.
    Seed(u64),
    /// The rest of an input; zeros follow it.
    Bytes(&'b [u8]),
}

impl<'b> Choices<'b> {
    /// An endless sequence that looks random.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self {
            source: Source::Seed(seed),
        }
    }

    /// Choices as some bytes say.
    #[must_use]
    pub const fn of_bytes(bytes: &'b [u8]) -> Self {
        Self {
            source: Source::Bytes(bytes),
        }
    }

    /// Whether only zeros follow.
    #[must_use]
    pub const fn is_spent(&self) -> bool {
        matches!(self.source, Source::Bytes([]))
    }

    /// A number of `bytes` bytes, at most 8.
    fn draw(&mut self, bytes: usize) -> u64 {
        match &mut self.source {
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            }
            Source::Bytes(rest) => {
                let (taken, left) = rest.split_at(bytes.min(rest.len()));
                *rest = left;
                taken.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
            }
        }
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.draw(8)
    }

    /// A number below `end`; 0 where `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let bytes = match end {
            0..=1 => return 0,
            2..=256 => 1,
            257..=65_536 => 2,
            _ => 8,
        };
        (self.draw(bytes) % end as u64) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n.saturating_sub(1)
    }

    /// One of some things; `None` where there is none.
    pub fn pick<'t, T>(&mut self, things: &'t [T]) -> Option<&'t T> {
        let index = self.below(things.len());
        things.get(index)
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.draw(1) as u8).collect()
    }
}

//! Ternary keys as bits, and which of many keys overlap a given one.

use plan::failover::{
    Origin, PortMask, PortMatch, ReverseMatch, Rule, RuleRef, SwitchTable, Ternary,
};

/// The most words that a key can need: 24 bits of destination, 6 of the number of hops, 32 hops of
/// 7, 32 of a tag, 8 of a tree, 17 of an origin, 128 ports.
pub(super) const MAX_WORDS: usize = 7;

/// Where the parts of a rule's key stand in a row of bits; a part that no rule of the table asks
/// about takes no bits.
#[derive(Clone, Debug)]
pub(super) struct KeyLayout {
    destination: u32,
    count: u32,
    hop: u32,
    hops: usize,
    tag: u32,
    tree: u32,
    origin: u32,
    /// The ports that rules ask about: bit `i` of the last part is the status of the `i`-th.
    ports: Vec<quantities::PortId>,
    words: usize,
}

/// A key: which bits count, and their values, `W` words of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key<const W: usize> {
    value: [u64; W],
    mask: [u64; W],
}

impl<const W: usize> Key<W> {
    /// The smallest key that matches whatever either of two keys matches.
    pub(super) fn merged(&self, other: &Self) -> Self {
        let mask = std::array::from_fn(|at| {
            self.mask[at] & other.mask[at] & !(self.value[at] ^ other.value[at])
        });
        Self {
            value: std::array::from_fn(|at| self.value[at] & mask[at]),
            mask,
        }
    }

    /// How many bits that count here would not in the merged key.
    pub(super) fn loss(&self, other: &Self) -> u32 {
        let lost = (0..W).map(|at| {
            let agree = other.mask[at] & !(self.value[at] ^ other.value[at]);
            (self.mask[at] & !agree).count_ones()
        });
        lost.sum()
    }

    /// Whether everything that `other` matches is matched.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let missed = (0..W).fold(0, |missed, at| {
            let differ = self.value[at] ^ other.value[at];
            missed | self.mask[at] & (!other.mask[at] | differ)
        });
        missed == 0
    }
}

const fn width(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// Writes and reads parts of a key one after another.
struct Cursor<'a> {
    value: &'a mut [u64],
    mask: &'a mut [u64],
    at: u32,
}

impl Cursor<'_> {
    fn put(&mut self, bits: u32, part: Ternary) {
        let (word, shift) = ((self.at / 64) as usize, self.at % 64);
        let low = u32::MAX.checked_shr(32 - bits).unwrap_or(0);
        let places = [
            (&mut self.value, part.value() & low),
            (&mut self.mask, part.mask() & low),
        ];
        for (words, part) in places {
            let spread = u128::from(part) << shift;
            words[word] |= spread as u64;
            if shift + bits > 64 {
                words[word + 1] |= (spread >> 64) as u64;
            }
        }
        self.at += bits;
    }

    /// The next part; bits above it count, and are 0.
    fn get(&mut self, bits: u32) -> Ternary {
        let (mut value, mut mask) = (0u32, 0u32);
        for bit in 0..bits {
            let (word, shift) = ((self.at / 64) as usize, self.at % 64);
            value |= ((self.value[word] >> shift & 1) as u32) << bit;
            mask |= ((self.mask[word] >> shift & 1) as u32) << bit;
            self.at += 1;
        }
        let above = u32::MAX.checked_shl(bits).unwrap_or(0);
        if mask == 0 {
            return Ternary::ANY;
        }
        Ternary::new(value, mask | above)
    }
}

impl KeyLayout {
    /// A layout that holds every rule of a table.
    pub(super) fn of(table: &SwitchTable) -> Self {
        Self::with_codes(table, &[])
    }

    /// A layout that holds every rule of a table, and these codes of destinations too.
    pub(super) fn with_codes(table: &SwitchTable, codes: &[u32]) -> Self {
        let mut layout = Self {
            destination: codes.iter().copied().map(width).max().unwrap_or(0),
            count: 0,
            hop: 0,
            hops: table.longest_reverse(),
            tag: 0,
            tree: 0,
            origin: 0,
            ports: Vec::new(),
            words: 0,
        };
        let mut ports = PortMask::EMPTY;
        for rule in table.iter() {
            layout.destination = layout.destination.max(width(rule.destination.value()));
            layout.tag = layout.tag.max(width(rule.tag.value()));
            layout.count = layout.count.max(width(rule.reverse.count.value()));
            for hop in &rule.reverse.hops {
                layout.hop = layout.hop.max(width(hop.value()));
            }
            layout.tree = layout.tree.max(rule.tree.map_or(0, |_| 8));
            layout.origin = layout
                .origin
                .max(u32::from(rule.origin != Origin::Any) * 17);
            let asked = rule.ports.up.bits() | rule.ports.down.bits();
            ports = PortMask::from_bits(ports.bits() | asked);
        }
        layout.ports = ports.iter().collect();
        let hops = u32::try_from(layout.hops).unwrap_or(0) * layout.hop;
        let bits = layout.destination
            + layout.count
            + hops
            + layout.tag
            + layout.tree
            + layout.origin
            + u32::try_from(layout.ports.len()).unwrap_or(0);
        layout.words = (bits as usize).div_ceil(64).max(1);
        layout
    }

    pub(super) const fn words(&self) -> usize {
        self.words
    }

    /// The key of a rule. Hops beyond the longest reverse route that it can match read 0. Rules of
    /// a table whose layout is wider than `W` words have none: see [`KeyLayout::words`].
    pub(super) fn key<const W: usize>(&self, rule: &RuleRef<'_>) -> Key<W> {
        let mut key = Key {
            value: [0; W],
            mask: [0; W],
        };
        let mut cursor = Cursor {
            value: &mut key.value,
            mask: &mut key.mask,
            at: 0,
        };
        cursor.put(self.destination, rule.destination);
        cursor.put(self.count, rule.reverse.count);
        let most = self.most_hops(rule.reverse.count);
        for at in 0..self.hops {
            let hop = match rule.reverse.hops.get(at) {
                _ if at >= most => Ternary::exact(0),
                Some(&hop) => hop,
                None => Ternary::ANY,
            };
            cursor.put(self.hop, hop);
        }
        cursor.put(self.tag, rule.tag);
        let tree = rule
            .tree
            .map_or(Ternary::ANY, |t| Ternary::exact(u32::from(t)));
        cursor.put(self.tree, tree);
        cursor.put(self.origin, origin(rule.origin));
        for &port in &self.ports {
            let status = match (rule.ports.up.contains(port), rule.ports.down.contains(port)) {
                (true, _) => Ternary::exact(1),
                (_, true) => Ternary::exact(0),
                _ => Ternary::ANY,
            };
            cursor.put(1, status);
        }
        key
    }

    /// The most hops that a match on their number allows.
    fn most_hops(&self, count: Ternary) -> usize {
        let all = 1u32.checked_shl(self.count).unwrap_or(0).wrapping_sub(1);
        let most = count.value() | !count.mask() & all;
        if self.count == 0 && count.is_any() {
            return usize::MAX;
        }
        most as usize
    }

    /// The rule of a key; `longest` is how many hops its longest reverse route has, `pattern` gives
    /// what merging does not change.
    pub(super) fn rule<const W: usize>(
        &self,
        key: &Key<W>,
        longest: usize,
        pattern: &RuleRef<'_>,
    ) -> Rule {
        let (mut value, mut mask) = (key.value, key.mask);
        let mut cursor = Cursor {
            value: &mut value,
            mask: &mut mask,
            at: 0,
        };
        let part = |read: Ternary, bits: u32, asked: Ternary| match bits {
            0 => asked,
            _ => read,
        };
        let destination = part(
            cursor.get(self.destination),
            self.destination,
            pattern.destination,
        );
        let count = part(cursor.get(self.count), self.count, pattern.reverse.count);
        let mut hops: Vec<Ternary> = (0..self.hops).map(|_| cursor.get(self.hop)).collect();
        // Hops that the number of hops rules out need not be asked about.
        let most = self.most_hops(count);
        while hops.len() > longest
            && (hops.len() > most || hops.last().is_some_and(|hop| hop.is_any()))
        {
            hops.pop();
        }
        let tag = part(cursor.get(self.tag), self.tag, pattern.tag);
        let tree = cursor.get(self.tree);
        let _ = cursor.get(self.origin);
        let mut ports = PortMatch::default();
        for &port in &self.ports {
            let status = cursor.get(1);
            if !status.is_any() {
                let side = if status.matches(1) {
                    &mut ports.up
                } else {
                    &mut ports.down
                };
                *side = side.with(port);
            }
        }
        Rule {
            destination,
            tag,
            tree: tree.as_exact().and_then(|t| u8::try_from(t).ok()),
            origin: pattern.origin,
            reverse: ReverseMatch {
                count,
                hops: hops.into(),
            },
            ports,
            action: pattern.action.clone(),
        }
    }
}

fn origin(origin: Origin) -> Ternary {
    match origin {
        Origin::Any => Ternary::ANY,
        Origin::Host => Ternary::exact(0),
        Origin::Port(port) => Ternary::exact(u32::from(port.get()) + 1),
    }
}

/// Which of a list of keys overlap a given one: for every bit and value, the set of keys that
/// agree.
#[derive(Debug)]
pub(super) struct Overlaps {
    keys: usize,
    /// How many bits and values there are.
    rows: usize,
    /// `agree[word * rows + 2 * bit + value]` = which of 64 keys match the value in that bit.
    agree: Vec<u64>,
    /// Words of a summary.
    stride: usize,
    /// `some[(2 * bit + value) * stride..]` = the words of `agree` in which any key does.
    some: Vec<u64>,
    /// By row: its rank, `u16::MAX` for rows that every key agrees with, which tell nothing.
    ranks: Vec<u16>,
    /// The rows by rank: those that the fewest keys agree with are asked first.
    ranked: Vec<usize>,
}

/// The rows that a key asks about, as bits in the order of their ranks.
type Asked = [u64; 2 * MAX_WORDS];

impl Overlaps {
    pub(super) fn new<const W: usize>(keys: &[Key<W>]) -> Self {
        let words = keys.len().div_ceil(64);
        let stride = words.div_ceil(64).max(1);
        let rows = 2 * 64 * W;
        let mut overlaps = Self {
            keys: keys.len(),
            rows,
            agree: Vec::with_capacity(words * rows),
            stride,
            some: vec![0; rows * stride],
            ranks: vec![u16::MAX; rows],
            ranked: Vec::new(),
        };
        let mut agreeing = vec![0; rows];
        for keys in keys.chunks(64) {
            overlaps.append(keys, &mut agreeing);
        }
        let tell = (0..rows).filter(|&row| (agreeing[row] as usize) < keys.len());
        overlaps.ranked = tell.collect();
        overlaps.ranked.sort_by_key(|&row| agreeing[row]);
        for (rank, &row) in (0..).zip(&overlaps.ranked) {
            overlaps.ranks[row] = rank;
        }
        overlaps
    }

    /// Takes in the next 64 keys, or the last, and counts by row how many agree.
    fn append<const W: usize>(&mut self, keys: &[Key<W>], agreeing: &mut [u32]) {
        let word = self.agree.len() / self.rows;
        let there = u64::MAX >> (64 - keys.len());
        for part in 0..W {
            let (mut zeros, mut ones) = ([0u64; 64], [0u64; 64]);
            for (at, key) in keys.iter().enumerate() {
                ones[at] = key.value[part] & key.mask[part];
                zeros[at] = !key.value[part] & key.mask[part];
            }
            transpose(&mut ones);
            transpose(&mut zeros);
            for low in 0..64 {
                let agree = [!ones[low] & there, !zeros[low] & there];
                self.agree.extend(agree);
                for (value, agree) in agree.into_iter().enumerate() {
                    let row = 2 * (part * 64 + low) + value;
                    agreeing[row] += agree.count_ones();
                    self.some[row * self.stride + word / 64] |=
                        u64::from(agree != 0) << (word % 64);
                }
            }
        }
    }

    fn asked<const W: usize>(&self, key: &Key<W>) -> Asked {
        let mut asked = [0; 2 * MAX_WORDS];
        for part in 0..W {
            let mut bits = key.mask[part];
            while bits != 0 {
                let low = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let one = usize::from(key.value[part] >> low & 1 == 1);
                let rank = self.ranks[2 * (part * 64 + low) + one];
                if rank != u16::MAX {
                    asked[usize::from(rank) / 64] |= 1 << (rank % 64);
                }
            }
        }
        asked
    }

    /// Those of 64 keys, or of 64 words of keys, that agree in every row asked about; `agree` tells
    /// of each row.
    fn all(&self, mut all: u64, asked: &Asked, agree: impl Fn(usize) -> u64) -> u64 {
        for (word, &ranks) in asked
            .iter()
            .enumerate()
            .take(self.ranked.len().div_ceil(64))
        {
            let mut ranks = ranks;
            while ranks != 0 {
                let rank = word * 64 + ranks.trailing_zeros() as usize;
                ranks &= ranks - 1;
                all &= agree(self.ranked[rank]);
                if all == 0 {
                    return 0;
                }
            }
        }
        all
    }

    /// The first key in `from..to` that overlaps.
    pub(super) fn first<const W: usize>(
        &self,
        key: &Key<W>,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        let to = to.min(self.keys);
        if from >= to {
            return None;
        }
        let asked = self.asked(key);
        let (start, end) = (from / 64, to.div_ceil(64));
        for summary in start / 64..end.div_ceil(64) {
            let some = |row| self.some[row * self.stride + summary];
            let mut words = self.all(within(summary, start, end), &asked, some);
            while words != 0 {
                let word = summary * 64 + words.trailing_zeros() as usize;
                words &= words - 1;
                let agree = &self.agree[word * self.rows..][..self.rows];
                let all = self.all(within(word, from, to), &asked, |row| agree[row]);
                if all != 0 {
                    return Some(word * 64 + all.trailing_zeros() as usize);
                }
            }
        }
        None
    }
}

/// Which of the 64 numbers from `64 * word` lie in `from..to`.
fn within(word: usize, from: usize, to: usize) -> u64 {
    let start = word * 64;
    if start >= to || start + 64 <= from {
        return 0;
    }
    let above = u64::MAX << from.saturating_sub(start);
    let below = u64::MAX >> (start + 64).saturating_sub(to);
    above & below
}

/// Turns the rows of a matrix of 64 x 64 bits into its columns, by swapping ever smaller squares.
fn transpose(rows: &mut [u64; 64]) {
    let mut half = 32;
    let mut low = 0x0000_0000_ffff_ffff_u64;
    while half != 0 {
        let mut at = 0;
        while at < 64 {
            let swap = (rows[at] >> half ^ rows[at + half]) & low;
            rows[at] ^= swap << half;
            rows[at + half] ^= swap;
            at = (at + half + 1) & !half;
        }
        half /= 2;
        low ^= low << half;
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn columns_become_rows() {
        let mut rows: [u64; 64] =
            std::array::from_fn(|at| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let before = rows;
        transpose(&mut rows);
        for (at, row) in rows.iter().enumerate() {
            for (to, old) in before.iter().enumerate() {
                assert_eq!(row >> to & 1, old >> at & 1);
            }
        }
    }

    #[test]
    fn the_first_overlap_is_that_of_a_search_key_by_key() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        // Few bits that count, near each other, so that words and summaries are both full and
        // empty.
        let mut random = |cluster: usize| {
            let mask = [rng.random::<u64>() & rng.random::<u64>() & 0xfff, 0xff];
            let value = [
                rng.random::<u64>() & mask[0],
                (cluster as u64 / 90 + rng.random_range(0..2)) & 0xff,
            ];
            Key { value, mask }
        };
        let keys: Vec<Key<2>> = (0..9000).map(&mut random).collect();
        let overlaps = Overlaps::new(&keys);
        for at in 0..2000 {
            let key = random(at * 5);
            let (from, to) = (at * 3 % 5000, 9010 - at * 7 % 6000);
            let overlap = |other: &Key<2>| {
                (0..2).all(|word| {
                    let both = key.mask[word] & other.mask[word];
                    (key.value[word] ^ other.value[word]) & both == 0
                })
            };
            let expected = (from..to.min(keys.len())).find(|&at| overlap(&keys[at]));
            assert_eq!(overlaps.first(&key, from, to), expected);
        }
    }
}

//! Storage of frames by number: short ones side by side, each in a cache line of its own.

use p4exec::prefetch;

/// Bytes of a frame that needs no memory of its own: a line of the processor's cache.
pub const LINE: usize = 64;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u8; LINE]);

/// Frames by number. Numbers, and the memory behind them, are used again, the last one freed first:
/// it is the likeliest to be in the cache still.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    lines: Vec<Line>,
    /// By number: the bytes of frames that are longer than a line.
    long: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Frames {
    /// Keeps a frame; its number is valid until it is freed. Who keeps it remembers how long it is.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.lines.push(Line([0; LINE]));
            self.lines.len() as u32 - 1
        });
        let place = at as usize;
        if let Some(short) = self.lines[place].0.get_mut(..bytes.len()) {
            copy(short, bytes);
        } else {
            if self.long.len() <= place {
                self.long.resize_with(place + 1, Vec::new);
            }
            let long = &mut self.long[place];
            long.clear();
            long.extend_from_slice(bytes);
        }
        at
    }

    /// A frame of so many bytes.
    #[must_use]
    #[inline]
    pub fn get(&self, at: u32, length: usize) -> &[u8] {
        match self.lines[at as usize].0.get(..length) {
            Some(short) => short,
            None => &self.long[at as usize][..length],
        }
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: u32, length: usize) -> &mut [u8] {
        match self.lines[at as usize].0.get_mut(..length) {
            Some(short) => short,
            None => &mut self.long[at as usize][..length],
        }
    }

    /// Gives a number back. The bytes stay until the next frame is kept.
    #[inline]
    pub fn free(&mut self, at: u32) {
        self.free.push(at);
    }

    /// Has a frame fetched to the cache.
    #[inline]
    pub fn prefetch(&self, at: u32) {
        if let Some(line) = self.lines.get(at as usize) {
            prefetch(line);
        }
    }
}

/// Copies at most a line to a place of the same length: most frames have more than half of one, and
/// two halves that overlap take no call.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) {
    const HALF: usize = LINE / 2;
    if let (Some(first), Some(last)) = (from.first_chunk::<HALF>(), from.last_chunk::<HALF>()) {
        let (first, last) = (*first, *last);
        if let Some(place) = to.first_chunk_mut() {
            *place = first;
        }
        if let Some(place) = to.last_chunk_mut() {
            *place = last;
        }
    } else {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_any_length_are_what_they_were() {
        let mut frames = Frames::default();
        let lengths = [0, 1, LINE - 1, LINE, LINE + 1, 1_500];
        let make =
            |length: usize| -> Vec<u8> { (0..length).map(|i| (i * 7 + length) as u8).collect() };
        for round in 0..3 {
            let turned = |i: usize| lengths[(i + round) % lengths.len()];
            let kept: Vec<u32> = (0..lengths.len())
                .map(|i| frames.put(&make(turned(i))))
                .collect();
            for (i, &at) in kept.iter().enumerate() {
                assert_eq!(frames.get(at, turned(i)), make(turned(i)));
                assert_eq!(frames.get_mut(at, turned(i)), make(turned(i)));
            }
            kept.iter().for_each(|&at| frames.free(at));
            for (i, &at) in kept.iter().enumerate() {
                assert_eq!(
                    frames.get(at, turned(i)),
                    make(turned(i)),
                    "until the next is kept"
                );
            }
        }
        assert_eq!(frames.lines.len(), lengths.len(), "numbers are used again");
    }
}

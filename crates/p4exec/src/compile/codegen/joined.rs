//! Fields laid side by side. What was cut out of one word of the packet and is put together again
//! as it stood is one piece, however many fields it is.

use cranelift_codegen::ir::Value;

use super::Gen;
use super::packet::Origin;
use super::words::{Words, top_mask};

/// Bits of a word that go to another word.
struct Piece {
    word: Value,
    /// The place of its lowest bit there, less its place in `word`.
    up: i32,
    /// The bits that it takes in the other word.
    mask: u64,
}

/// Bits of words.
pub(super) struct Bits {
    pub(super) words: Words,
    /// Bits of the first word below them.
    pub(super) low: u32,
    pub(super) width: u32,
}

impl Gen<'_, '_> {
    /// Fields laid side by side in words, the first bit of the first field at the top of the first
    /// word; the last word is filled up with zeroes.
    pub(super) fn joined(&mut self, fields: &[(Words, u32)]) -> Vec<Value> {
        let bits: u32 = fields.iter().map(|(_, width)| width).sum();
        let mut words: Vec<Vec<Piece>> = Vec::new();
        words.resize_with(bits.div_ceil(64) as usize, Vec::new);
        let mut bit = 0;
        for (value, width) in fields {
            let mut left = *width;
            while left > 0 {
                // The next bits of the field that fit the current word.
                let used = bit % 64;
                let count = (64 - used).min(left);
                let piece = self.piece_of(value, left - count, count, 64 - used - count);
                add(&mut words[(bit / 64) as usize], piece);
                bit += count;
                left -= count;
            }
        }
        words.into_iter().map(|p| self.put_together(p)).collect()
    }

    /// `count` bits of a value from bit `low` up, which go to bit `to` of a word.
    fn piece_of(&mut self, value: &[Value], low: u32, count: u32, to: u32) -> Piece {
        let mask = top_mask(count) << to;
        let inside = low / 64 == (low + count - 1) / 64;
        let origin = value
            .get((low / 64) as usize)
            .and_then(|word| self.origins.get(word).copied());
        // A field that was cast to a wider one has zeroes above it, not what stands beside it in
        // the packet.
        let origin = origin.filter(|origin| low % 64 + count <= origin.width);
        let (word, below) = match origin {
            _ if !inside => (self.bits_from(value, low, count)[0], 0),
            Some(origin) => (origin.word, origin.low + low % 64),
            None => (self.word(value, (low / 64) as usize), low % 64),
        };
        let up = to as i32 - below as i32;
        Piece { word, up, mask }
    }

    /// The word that pieces make.
    fn put_together(&mut self, pieces: Vec<Piece>) -> Value {
        let mut word: Option<Value> = None;
        for piece in pieces {
            let part = self.moved(piece.word, piece.up, piece.mask);
            word = Some(match word {
                Some(others) => self.or(others, part),
                None => part,
            });
        }
        word.unwrap_or_else(|| self.imm(0))
    }

    /// Where the bits of fields are, those that stood beside each other in a word of the packet as
    /// one.
    pub(super) fn coalesced(&self, fields: &[(Words, u32)]) -> Vec<Bits> {
        let mut runs: Vec<(Words, u32, Option<Origin>)> = Vec::new();
        for (value, width) in fields {
            let origin = match value[..] {
                [word] => self.origins.get(&word).copied(),
                _ => None,
            };
            let origin = origin.filter(|origin| origin.width == *width);
            if let (Some((_, run, Some(before))), Some(own)) = (runs.last_mut(), origin)
                && before.word == own.word
                && before.low == own.low + own.width
            {
                *run += own.width;
                before.low = own.low;
                before.width += own.width;
                continue;
            }
            runs.push((value.clone(), *width, origin));
        }
        let place = |(value, width, origin): (Words, u32, Option<Origin>)| match origin {
            Some(Origin { word, low, .. }) => Bits {
                words: vec![word],
                low,
                width,
            },
            None => Bits {
                words: value,
                low: 0,
                width,
            },
        };
        runs.into_iter().map(place).collect()
    }
}

/// Adds a piece to those of a word.
fn add(pieces: &mut Vec<Piece>, piece: Piece) {
    let same = |p: &&mut Piece| p.word == piece.word && p.up == piece.up;
    match pieces.iter_mut().find(same) {
        Some(other) => other.mask |= piece.mask,
        None => pieces.push(piece),
    }
}

//! How the keys of one table are packed.
//!
//! Two forms. *Key words* are what a lookup is given: every field takes `ceil(width / 64)` words,
//! in key order, most significant word first. *Dense words* are what is stored and hashed: the same
//! words moved beside each other, so that five header fields of 104 bits take two words. An
//! entry's stored key is one or two dense halves, by [`KeyForm`]:
//!
//! | form | tables | first half | second half | rank |
//! |---|---|---|---|---|
//! | exact | all fields exact | value | none | 0 |
//! | prefix | one LPM field up to 128 bits, the rest exact | value | none | prefix length |
//! | masked | anything else | value; a range's low | mask; a range's high | priority |
//!
//! The stored key is canonical (bits that do not matter are zero), so that two entries are the same
//! if and only if their words and ranks are.

use smallvec::SmallVec;

use super::key::{FieldMatch, KeyError, KeyField, MatchKind, canonical_field};
use crate::value::Bits;

/// The widest field that longest-prefix match takes, in bits.
pub(super) const MAX_PREFIX_WIDTH: u32 = 128;

/// What an entry's stored key consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// Values only.
    Exact,
    /// Values, and the prefix length of one field as the rank.
    Prefix {
        /// The LPM field.
        field: usize,
    },
    /// Values and masks (bounds where a field is a range).
    Masked,
}

/// Where one key word lies among the dense words.
#[derive(Clone, Copy, Debug)]
struct Piece {
    word: usize,
    shift: u32,
    bits: u32,
}

/// The low `bits` bits.
pub(crate) const fn low_ones(bits: u32) -> u64 {
    if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

/// The fields of a table's key and how they are packed.
#[derive(Clone, Debug)]
pub struct KeyLayout {
    fields: Vec<KeyField>,
    /// First key word of each field, and after the last the number of words.
    starts: Vec<usize>,
    /// One per key word.
    pieces: Vec<Piece>,
    dense: usize,
    form: KeyForm,
    /// The range fields, and the bits of the dense words that belong to none.
    ranges: Vec<usize>,
    unranged: Vec<u64>,
    priority: bool,
}

/// Words of a key that are kept without memory of their own: two addresses of IPv6, or one and its
/// mask.
const SHORT_KEY: usize = 4;

/// The key of an entry in its table's stored form, with its rank. Made by the methods of
/// [`KeyLayout`], to be used again for the next entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedKey {
    pub(crate) words: SmallVec<[u64; SHORT_KEY]>,
    pub(crate) rank: i32,
}

impl PackedKey {
    /// The stored words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Prefix length or priority, by the form.
    #[must_use]
    pub const fn rank(&self) -> i32 {
        self.rank
    }
}

/// Gives each key word a place: the first dense word with room for it.
fn place_words(fields: &[KeyField]) -> (Vec<Piece>, usize) {
    let mut used: Vec<u32> = Vec::new();
    let mut pieces = Vec::new();
    for field in fields {
        let words = field.width.div_ceil(64);
        for index in 0..words {
            let bits = if index == 0 {
                field.width - (words - 1) * 64
            } else {
                64
            };
            let word = match used.iter().position(|taken| taken + bits <= 64) {
                Some(word) => word,
                None => {
                    used.push(0);
                    used.len() - 1
                }
            };
            pieces.push(Piece {
                word,
                shift: used[word],
                bits,
            });
            used[word] += bits;
        }
    }
    (pieces, used.len())
}

impl KeyLayout {
    /// The layout of a key with these fields.
    #[must_use]
    pub fn new(fields: Vec<KeyField>) -> Self {
        let priority = fields.iter().any(|f| f.kind.needs_priority());
        let lpm: Vec<usize> = (0..fields.len())
            .filter(|i| fields[*i].kind == MatchKind::Lpm)
            .collect();
        let form = match lpm.as_slice() {
            _ if priority => KeyForm::Masked,
            [] => KeyForm::Exact,
            [field] if fields[*field].width <= MAX_PREFIX_WIDTH => {
                KeyForm::Prefix { field: *field }
            }
            _ => KeyForm::Masked,
        };
        Self::with_form(fields, form)
    }

    /// The layout of keys that are only matched one by one, as a value set does.
    pub(crate) fn masked(fields: Vec<KeyField>) -> Self {
        Self::with_form(fields, KeyForm::Masked)
    }

    fn with_form(fields: Vec<KeyField>, form: KeyForm) -> Self {
        let mut starts = vec![0];
        let mut next = 0;
        for field in &fields {
            next += field.width.div_ceil(64) as usize;
            starts.push(next);
        }
        let (pieces, dense) = place_words(&fields);
        let ranges: Vec<usize> = (0..fields.len())
            .filter(|i| fields[*i].kind == MatchKind::Range)
            .collect();
        let mut unranged = vec![u64::MAX; dense];
        for field in &ranges {
            for piece in &pieces[starts[*field]..starts[*field + 1]] {
                unranged[piece.word] &= !(low_ones(piece.bits) << piece.shift);
            }
        }
        let priority = fields.iter().any(|f| f.kind.needs_priority());
        Self {
            fields,
            starts,
            pieces,
            dense,
            form,
            ranges,
            unranged,
            priority,
        }
    }

    /// The fields in key order.
    #[must_use]
    pub fn fields(&self) -> &[KeyField] {
        &self.fields
    }

    /// Words of a key as lookups take it.
    #[must_use]
    pub fn words(&self) -> usize {
        self.pieces.len()
    }

    /// The key words of field `index`.
    #[must_use]
    pub fn field_words(&self, index: usize) -> std::ops::Range<usize> {
        self.starts[index]..self.starts[index + 1]
    }

    /// Words of a key as it is hashed.
    #[must_use]
    pub const fn dense_words(&self) -> usize {
        self.dense
    }

    /// The bits of a dense word, from its low end, that belong to fields.
    pub(crate) fn dense_bits(&self, word: usize) -> u32 {
        let pieces = self.pieces.iter().filter(|piece| piece.word == word);
        pieces.map(|piece| piece.bits).sum()
    }

    /// Words of an entry's stored key.
    #[must_use]
    pub const fn stored_words(&self) -> usize {
        match self.form {
            KeyForm::Exact | KeyForm::Prefix { .. } => self.dense,
            KeyForm::Masked => self.dense * 2,
        }
    }

    /// What an entry's stored key consists of.
    #[must_use]
    pub const fn form(&self) -> KeyForm {
        self.form
    }

    /// The range fields.
    pub(crate) fn ranges(&self) -> &[usize] {
        &self.ranges
    }

    /// The dense bits that belong to no range field.
    pub(crate) fn unranged(&self) -> &[u64] {
        &self.unranged
    }

    /// Whether entries carry a priority.
    #[must_use]
    pub const fn needs_priority(&self) -> bool {
        self.priority
    }

    /// Packs the values of all fields as key words; `out` is cleared first.
    pub fn pack(&self, values: &[Bits], out: &mut Vec<u64>) {
        out.clear();
        for (field, value) in self.fields.iter().zip(values) {
            if value.width() == field.width {
                value.push_words(out);
            } else {
                value.resize_unsigned(field.width).push_words(out);
            }
        }
    }

    /// Whether key words are dense words already.
    pub(crate) fn is_plain(&self) -> bool {
        self.pieces.len() == 1 || self.pieces.is_empty()
    }

    /// Where each key word lies among the dense words: which, and how many bits from its low end.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.pieces.iter().map(|piece| (piece.word, piece.shift))
    }

    /// Moves key words beside each other. `out` has the dense length and is zero.
    #[inline]
    pub(crate) fn densify(&self, key: &[u64], out: &mut [u64]) {
        for (piece, word) in self.pieces.iter().zip(key) {
            out[piece.word] |= word << piece.shift;
        }
    }

    /// The pieces of a field, most significant word first.
    fn field_pieces(&self, field: usize) -> &[Piece] {
        &self.pieces[self.starts[field]..self.starts[field + 1]]
    }

    /// The words of a field in a dense half, most significant first.
    pub(crate) fn field_in<'a>(
        &'a self,
        field: usize,
        half: &'a [u64],
    ) -> impl Iterator<Item = u64> + 'a {
        self.field_pieces(field)
            .iter()
            .map(|p| (half[p.word] >> p.shift) & low_ones(p.bits))
    }

    /// Writes a field's words (most significant first) into a dense half.
    pub(crate) fn write_field(
        &self,
        field: usize,
        half: &mut [u64],
        words: impl Iterator<Item = u64>,
    ) {
        for (piece, word) in self.field_pieces(field).iter().zip(words) {
            let place = low_ones(piece.bits) << piece.shift;
            half[piece.word] = (half[piece.word] & !place) | ((word << piece.shift) & place);
        }
    }

    /// Whether a stored masked key matches a dense key: the definition of ternary and range match
    /// on words.
    #[inline]
    pub(crate) fn verify(&self, stored: &[u64], key: &[u64]) -> bool {
        let (value, mask) = stored.split_at(self.dense);
        if self.ranges.is_empty() {
            // The usual lengths without a loop.
            return match (value, mask, key) {
                ([v], [m], [k]) => (k & m) ^ v == 0,
                ([v, w], [m, n], [k, l]) => ((k & m) ^ v) | ((l & n) ^ w) == 0,
                _ => {
                    let differ = value.iter().zip(mask).zip(key);
                    differ.fold(0, |acc, ((v, m), k)| acc | ((k & m) ^ v)) == 0
                }
            };
        }
        let parts = value.iter().zip(mask).zip(key).zip(&self.unranged);
        let differ = parts.fold(0, |acc, (((v, m), k), u)| acc | (((k & m) ^ v) & u));
        // Words that come most significant first compare like the numbers they make.
        differ == 0
            && self.ranges.iter().all(|field| {
                let key = || self.field_in(*field, key);
                key().cmp(self.field_in(*field, value)).is_ge()
                    && key().cmp(self.field_in(*field, mask)).is_le()
            })
    }

    /// Checks a key, makes it canonical and packs it.
    ///
    /// # Errors
    /// [`KeyError`] with the field that does not fit.
    pub fn pack_match(
        &self,
        key: &[FieldMatch],
        priority: i32,
        out: &mut PackedKey,
    ) -> Result<(), KeyError> {
        if key.len() != self.fields.len() {
            return Err(KeyError::FieldCount {
                expected: self.fields.len(),
                given: key.len(),
            });
        }
        self.start(priority, out);
        let mut words = Vec::new();
        for (index, (field, given)) in self.fields.iter().zip(key).enumerate() {
            let (first, second, len) = match canonical_field(field, given)? {
                FieldMatch::Exact(value) => (value, Some(Bits::ones(field.width)), 0),
                FieldMatch::Lpm { value, prefix_len } => {
                    let mask = Bits::prefix_mask(field.width, prefix_len);
                    (value, Some(mask), prefix_len)
                }
                FieldMatch::Ternary { value, mask } => (value, Some(mask), 0),
                FieldMatch::Range { low, high } => (low, Some(high), 0),
                FieldMatch::Optional(Some(value)) => (value, Some(Bits::ones(field.width)), 0),
                FieldMatch::Optional(None) => continue,
            };
            self.add_rank(len, out);
            words.clear();
            first.push_words(&mut words);
            let (values, masks) = out.words.split_at_mut(self.dense);
            self.write_field(index, values, words.iter().copied());
            if let (KeyForm::Masked, Some(second)) = (self.form, second) {
                words.clear();
                second.push_words(&mut words);
                self.write_field(index, masks, words.iter().copied());
            }
        }
        Ok(())
    }

    /// Begins a packed key: every field that can match anything does, exact fields are zero. Tables
    /// whose entries have no priority ignore `priority`.
    pub fn start(&self, priority: i32, out: &mut PackedKey) {
        out.words.clear();
        out.words.resize(self.stored_words(), 0);
        out.rank = if self.priority { priority } else { 0 };
        if self.form == KeyForm::Masked {
            let masks = &mut out.words[self.dense..];
            for (index, field) in self.fields.iter().enumerate() {
                if matches!(field.kind, MatchKind::Exact | MatchKind::Range) {
                    self.write_field(index, masks, std::iter::repeat(u64::MAX));
                }
            }
        }
    }

    /// Adds a prefix length to the rank, where prefix lengths rank.
    pub(crate) fn add_rank(&self, len: u32, out: &mut PackedKey) {
        if !self.priority {
            out.rank += len as i32;
        }
    }

    /// The typed matches of a stored key.
    #[must_use]
    pub fn unpack(&self, stored: &[u64], rank: i32) -> Vec<FieldMatch> {
        let (values, masks) = stored.split_at(self.dense.min(stored.len()));
        let mut words = Vec::new();
        let mut read = |field: usize, half: &[u64]| {
            words.clear();
            words.extend(self.field_in(field, half));
            Bits::from_words(self.fields[field].width, &words)
        };
        let mut matches = Vec::with_capacity(self.fields.len());
        for (index, field) in self.fields.iter().enumerate() {
            let value = read(index, values);
            let mut second = || read(index, masks);
            matches.push(match (field.kind, self.form) {
                (MatchKind::Exact, _) => FieldMatch::Exact(value),
                (MatchKind::Lpm, KeyForm::Masked) => FieldMatch::Lpm {
                    value,
                    prefix_len: self.field_in(index, masks).map(u64::count_ones).sum(),
                },
                (MatchKind::Lpm, _) => FieldMatch::Lpm {
                    value,
                    prefix_len: rank.unsigned_abs(),
                },
                (MatchKind::Ternary, _) => FieldMatch::Ternary {
                    value,
                    mask: second(),
                },
                (MatchKind::Range, _) => FieldMatch::Range {
                    low: value,
                    high: second(),
                },
                (MatchKind::Optional, _) => {
                    let given = self.field_in(index, masks).any(|w| w != 0);
                    FieldMatch::Optional(given.then_some(value))
                }
            });
        }
        matches
    }
}

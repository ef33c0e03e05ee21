//! Packed keys straight from big-endian byte strings, as they come over the wire: no big numbers,
//! no allocation. What does not fit is refused with the same errors as a typed key; bits that do
//! not matter must be zero here, for the wire's form is canonical.

use super::key::{KeyError, KeyField, MatchKind};
use super::layout::{KeyForm, KeyLayout, PackedKey, low_ones};

/// Whether a big-endian number fits `width` bits.
pub(super) fn fits(value: &[u8], width: u32) -> bool {
    let zeroes = value.iter().take_while(|b| **b == 0).count();
    let Some(first) = value.get(zeroes) else {
        return true;
    };
    let bits = (value.len() - zeroes) * 8 - first.leading_zeros() as usize;
    bits <= width as usize
}

/// The low `count` words of a big-endian number, most significant first.
pub(super) fn words_of(value: &[u8], count: usize) -> impl Iterator<Item = u64> + '_ {
    (0..count).rev().map(move |index| {
        let end = value.len().saturating_sub(index * 8);
        let start = end.saturating_sub(8);
        let part = value[start..end].iter();
        part.fold(0, |acc, byte| (acc << 8) | u64::from(*byte))
    })
}

/// The number as messages show it.
pub(super) fn show(value: &[u8]) -> String {
    let digits: String = value.iter().map(|b| format!("{b:02x}")).collect();
    let shown = digits.trim_start_matches('0');
    format!("0x{}", if shown.is_empty() { "0" } else { shown })
}

/// Word `index` (most significant first) of the mask of a prefix.
fn prefix_word(width: u32, len: u32, index: usize) -> u64 {
    let words = width.div_ceil(64);
    let top = width - (words - 1) * 64;
    let (before, bits) = match index as u32 {
        0 => (0, top),
        index => (top + (index - 1) * 64, 64),
    };
    let set = len.saturating_sub(before).min(bits);
    if set == 0 {
        0
    } else {
        low_ones(set) << (bits - set)
    }
}

impl KeyLayout {
    fn field_of(&self, index: usize, kind: MatchKind) -> Result<&KeyField, KeyError> {
        let Some(field) = self.fields().get(index) else {
            return Err(KeyError::FieldCount {
                expected: self.fields().len(),
                given: index + 1,
            });
        };
        if field.kind != kind {
            return Err(KeyError::Kind {
                field: field.name.clone(),
                expected: field.kind,
                given: kind,
            });
        }
        Ok(field)
    }

    fn checked<'v>(field: &KeyField, value: &'v [u8]) -> Result<&'v [u8], KeyError> {
        if fits(value, field.width) {
            return Ok(value);
        }
        Err(KeyError::TooWide {
            field: field.name.clone(),
            width: field.width,
            value: show(value),
        })
    }

    fn write(&self, index: usize, second: bool, key: &mut PackedKey, value: &[u8]) {
        let words = self.field_words(index).len();
        let dense = self.dense_words();
        let half = if second {
            key.words.get_mut(dense..)
        } else {
            key.words.get_mut(..dense)
        };
        if let Some(half) = half
            && half.len() >= dense
        {
            self.write_field(index, half, words_of(value, words));
        }
    }

    /// Sets an exact field of a key begun with [`KeyLayout::start`].
    ///
    /// # Errors
    /// [`KeyError`] if the field is of another kind or the value too large.
    pub fn set_exact(
        &self,
        key: &mut PackedKey,
        field: usize,
        value: &[u8],
    ) -> Result<(), KeyError> {
        let value = Self::checked(self.field_of(field, MatchKind::Exact)?, value)?;
        self.write(field, false, key, value);
        Ok(())
    }

    /// Sets an optional field; one not set matches anything.
    ///
    /// # Errors
    /// [`KeyError`] if the field is of another kind or the value too large.
    pub fn set_optional(
        &self,
        key: &mut PackedKey,
        field: usize,
        value: &[u8],
    ) -> Result<(), KeyError> {
        let value = Self::checked(self.field_of(field, MatchKind::Optional)?, value)?;
        self.write(field, false, key, value);
        let masks = &mut key.words[self.dense_words()..];
        self.write_field(field, masks, std::iter::repeat(u64::MAX));
        Ok(())
    }

    /// Sets an LPM field; one not set matches anything.
    ///
    /// # Errors
    /// [`KeyError`] if the field is of another kind, the value or the prefix too long, or bits
    /// behind the prefix are set.
    pub fn set_lpm(
        &self,
        key: &mut PackedKey,
        field: usize,
        value: &[u8],
        prefix_len: u32,
    ) -> Result<(), KeyError> {
        let of = self.field_of(field, MatchKind::Lpm)?;
        let value = Self::checked(of, value)?;
        if prefix_len > of.width {
            return Err(KeyError::PrefixTooLong {
                field: of.name.clone(),
                width: of.width,
                prefix_len,
            });
        }
        let words = self.field_words(field).len();
        let mask = |index| prefix_word(of.width, prefix_len, index);
        let mut numbers = words_of(value, words).enumerate();
        if numbers.any(|(index, word)| word & !mask(index) != 0) {
            return Err(KeyError::StrayBits {
                field: of.name.clone(),
            });
        }
        self.write(field, false, key, value);
        if self.form() == KeyForm::Masked {
            let masks = &mut key.words[self.dense_words()..];
            self.write_field(field, masks, (0..words).map(mask));
        }
        self.add_rank(prefix_len, key);
        Ok(())
    }

    /// Sets a ternary field; one not set matches anything.
    ///
    /// # Errors
    /// [`KeyError`] if the field is of another kind, value or mask too large, or bits of the value
    /// are set that the mask does not have.
    pub fn set_ternary(
        &self,
        key: &mut PackedKey,
        field: usize,
        value: &[u8],
        mask: &[u8],
    ) -> Result<(), KeyError> {
        let of = self.field_of(field, MatchKind::Ternary)?;
        let (value, mask) = (Self::checked(of, value)?, Self::checked(of, mask)?);
        let words = self.field_words(field).len();
        let mut pairs = words_of(value, words).zip(words_of(mask, words));
        if pairs.any(|(value, mask)| value & !mask != 0) {
            return Err(KeyError::StrayBits {
                field: of.name.clone(),
            });
        }
        self.write(field, false, key, value);
        self.write(field, true, key, mask);
        Ok(())
    }

    /// Sets a range field; one not set matches anything.
    ///
    /// # Errors
    /// [`KeyError`] if the field is of another kind, a bound too large, or the range empty.
    pub fn set_range(
        &self,
        key: &mut PackedKey,
        field: usize,
        low: &[u8],
        high: &[u8],
    ) -> Result<(), KeyError> {
        let of = self.field_of(field, MatchKind::Range)?;
        let (low, high) = (Self::checked(of, low)?, Self::checked(of, high)?);
        let words = self.field_words(field).len();
        if words_of(low, words).gt(words_of(high, words)) {
            return Err(KeyError::EmptyRange {
                field: of.name.clone(),
                low: show(low),
                high: show(high),
            });
        }
        self.write(field, false, key, low);
        self.write(field, true, key, high);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::key::FieldMatch;
    use crate::value::Bits;
    use proptest::prelude::*;

    fn layout(kinds: &[(u32, MatchKind)]) -> KeyLayout {
        let field = |(i, (width, kind)): (usize, &(u32, MatchKind))| KeyField {
            name: format!("k{i}"),
            width: *width,
            kind: *kind,
        };
        KeyLayout::new(kinds.iter().enumerate().map(field).collect())
    }

    proptest! {
        #[test]
        fn bytes_and_typed_keys_pack_alike(
            width in 1u32..200,
            raw in proptest::collection::vec(any::<u8>(), 25),
            other in proptest::collection::vec(any::<u8>(), 25),
            len in 0u32..200,
        ) {
            use MatchKind::{Exact, Lpm, Optional, Range, Ternary};
            let len = len.min(width);
            let bytes = |b: &Bits| b.to_biguint().to_bytes_be();
            let (a, b) = (Bits::from_bytes_be(width, &raw), Bits::from_bytes_be(width, &other));
            let (low, high) = if a.cmp_unsigned(&b).is_le() { (&a, &b) } else { (&b, &a) };
            let mask = Bits::prefix_mask(width, len);
            for kinds in [
                vec![(9, Exact), (width, Exact), (width, Optional), (width, Ternary), (width, Range),
                     (width, Lpm)],
                vec![(width, Exact), (width, Lpm)],
                vec![(width, Lpm), (9, Lpm)],
            ] {
                let layout = layout(&kinds);
                let (mut wire, mut typed) = (PackedKey::default(), PackedKey::default());
                layout.start(7, &mut wire);
                let mut key = Vec::new();
                for (i, (width, kind)) in kinds.iter().enumerate() {
                    if *width == 9 {
                        // Left as it begins.
                        key.push(FieldMatch::any(*kind, 9).unwrap_or(FieldMatch::Exact(Bits::zero(9))));
                        continue;
                    }
                    key.push(match kind {
                        Exact => FieldMatch::Exact(a.clone()),
                        Optional => FieldMatch::Optional(Some(a.clone())),
                        Ternary => FieldMatch::Ternary { value: a.and(&b), mask: b.clone() },
                        Range => FieldMatch::Range { low: low.clone(), high: high.clone() },
                        Lpm => FieldMatch::Lpm { value: a.and(&mask), prefix_len: len },
                    });
                    match kind {
                        Exact => layout.set_exact(&mut wire, i, &bytes(&a)),
                        Optional => layout.set_optional(&mut wire, i, &bytes(&a)),
                        Ternary => layout.set_ternary(&mut wire, i, &bytes(&a.and(&b)), &bytes(&b)),
                        Range => layout.set_range(&mut wire, i, &bytes(low), &bytes(high)),
                        Lpm => layout.set_lpm(&mut wire, i, &bytes(&a.and(&mask)), len),
                    }.unwrap();
                }
                layout.pack_match(&key, 7, &mut typed).unwrap();
                prop_assert_eq!(&wire, &typed);
                prop_assert_eq!(layout.unpack(wire.words(), wire.rank()), key);
            }
        }
    }

    #[test]
    fn misfits_are_refused() {
        use MatchKind::{Lpm, Range, Ternary};
        let layout = layout(&[(12, Ternary), (12, Range), (12, Lpm)]);
        let mut key = PackedKey::default();
        layout.start(1, &mut key);
        let is = |result: Result<(), KeyError>, text: &str| {
            let shown = result.unwrap_err().to_string();
            assert!(shown.contains(text), "{shown}");
        };
        is(
            layout.set_ternary(&mut key, 0, &[0x10, 0], &[0xff]),
            "0x1000 does not fit",
        );
        is(layout.set_ternary(&mut key, 0, &[3], &[1]), "do not matter");
        is(layout.set_range(&mut key, 1, &[3], &[1]), "empty");
        is(layout.set_lpm(&mut key, 2, &[3], 13), "exceeds");
        is(layout.set_lpm(&mut key, 2, &[3], 11), "do not matter");
        is(layout.set_exact(&mut key, 0, &[3]), "ternary");
        layout
            .set_ternary(&mut key, 0, &[0, 0, 0x0f, 0], &[0x0f, 0xff])
            .unwrap();
    }
}

//! Whether a set of a `select` holds a key.

use std::cmp::Ordering;

use p4ir::{BigUint, KeySet};

use crate::state::const_bits;
use crate::value::Bits;

/// Whether the set holds the key; `signed` says how a range compares it.
pub(crate) fn holds(set: &KeySet, key: &Bits, signed: bool) -> bool {
    let bits = |v: &BigUint| Bits::from_biguint(key.width(), v);
    match set {
        KeySet::Any => true,
        KeySet::Value(value) => const_bits(value, key.width()) == *key,
        KeySet::Mask { value, mask } => {
            let mask = bits(mask);
            key.and(&mask) == bits(value).and(&mask)
        }
        KeySet::Range { lo, hi } => {
            let order = |a: &Bits, b: &Bits| {
                if signed {
                    a.cmp_signed(b)
                } else {
                    a.cmp_unsigned(b)
                }
            };
            order(key, &bits(lo)) != Ordering::Less && order(key, &bits(hi)) != Ordering::Greater
        }
    }
}

//! Lookups of keys in tables of ten thousand entries, half of which are there.

use std::hint::black_box;

use p4exec::tables::{
    EntryPriority, FieldMatch, KeyField, MatchKind, MemberId, PackedAction, PackedKey, Table,
    TableSpec,
};
use p4exec::value::Bits;

use super::{Failure, Kernel};

/// Entries of a table.
const ENTRIES: u64 = 10_000;
/// Lookups of one run.
const LOOKUPS: u64 = 8192;

/// A fixed sequence that looks random (SplitMix64).
pub(super) fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn word(value: u64) -> Bits {
    Bits::from_u64(32, value & 0xffff_ffff)
}

/// Two fields of 32 bits, matched whole.
pub(super) fn exact() -> Result<Kernel, Failure> {
    let entry = |n| vec![FieldMatch::Exact(word(mix(n))), FieldMatch::Exact(word(n))];
    let key = |n| vec![word(mix(n)), word(n)];
    kernel(&[MatchKind::Exact; 2], entry, key)
}

/// Prefixes of 12 to 32 bits.
pub(super) fn prefix() -> Result<Kernel, Failure> {
    let entry = |n| {
        vec![FieldMatch::Lpm {
            value: word(mix(n)),
            prefix_len: 12 + (mix(n + 1) % 21) as u32,
        }]
    };
    kernel(&[MatchKind::Lpm], entry, |n| vec![word(mix(n))])
}

/// Two fields of 32 bits under 16 masks.
pub(super) fn ternary() -> Result<Kernel, Failure> {
    let mask = |n: u64| mix(1_000_000 + mix(n) % 16) | 0xf000_000f;
    let entry = move |n| {
        let field = |value, mask| FieldMatch::Ternary {
            value: word(value & mask),
            mask: word(mask),
        };
        vec![
            field(mix(n), mask(n)),
            field(mix(n + 7), mask(n).rotate_left(9)),
        ]
    };
    let key = |n| vec![word(mix(n)), word(mix(n + 7))];
    kernel(&[MatchKind::Ternary; 2], entry, key)
}

/// A table of `entry(0)`, `entry(1)`..., in which `key(0)`, `key(2)`... are looked up: those of the
/// second half match nothing, or by chance.
fn kernel(
    kinds: &[MatchKind],
    entry: impl Fn(u64) -> Vec<FieldMatch>,
    key: impl Fn(u64) -> Vec<Bits>,
) -> Result<Kernel, Failure> {
    let field = |(i, kind): (usize, &MatchKind)| KeyField {
        name: format!("k{i}"),
        width: 32,
        kind: *kind,
    };
    let keys = kinds.iter().enumerate().map(field).collect();
    let mut table = Table::new(TableSpec::of_profile("counted", keys));
    let ranked = kinds.contains(&MatchKind::Ternary);
    let mut action = PackedAction::default();
    action.set_member(MemberId(0));
    for n in 0..ENTRIES {
        let mut packed = PackedKey::default();
        let priority = EntryPriority(if ranked { 1 + (n % 1000) as i32 } else { 0 });
        table.pack_key(&entry(n), priority, &mut packed)?;
        // Prefixes and masked values may be there already.
        let _ = table.insert_packed(&packed, &action);
    }
    let mut keys = Vec::new();
    let mut words = Vec::new();
    for n in 0..LOOKUPS {
        words.clear();
        let number = mix(n + 99) % (2 * ENTRIES);
        table.layout().pack(&key(number), &mut words);
        keys.extend_from_slice(&words);
    }
    let words = table.layout().words();
    let run = move || {
        for key in keys.chunks_exact(words) {
            let _ = black_box(table.lookup(black_box(key)));
        }
        LOOKUPS
    };
    Ok(Kernel {
        unit: "lookup",
        run: Box::new(run),
    })
}

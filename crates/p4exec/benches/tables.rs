//! Lookup, insertion and memory of the match structures on sets of entries as they occur: exact and
//! LPM tables, access lists with few masks, prefix pairs, ranges, and the worst case of a mask for
//! every entry.
//!
//! Run with `cargo bench -p switchwright-p4exec --bench tables`; a word in the arguments selects
//! sets by name.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use p4exec::tables::{
    EntryPriority, FieldMatch, KeyField, MatchKind, MemberId, PackedAction, PackedKey, Table,
    TableSpec,
};
use p4exec::value::Bits;

/// A fixed sequence that looks random (SplitMix64).
fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A set of entries: the key's fields, and the matches and priority of entry `n`.
struct Set {
    name: &'static str,
    entries: u64,
    fields: Vec<(u32, MatchKind)>,
    entry: fn(u64) -> Vec<FieldMatch>,
}

fn bits(width: u32, value: u64) -> Bits {
    Bits::from_u64(width, value)
}

fn ternary(width: u32, value: u64, mask: u64) -> FieldMatch {
    FieldMatch::Ternary {
        value: bits(width, value),
        mask: bits(width, mask),
    }
}

fn lpm(width: u32, n: u64, len: u32) -> FieldMatch {
    let value = Bits::from_u128(128, u128::from(mix(n)) << 64 | u128::from(mix(n + 1)));
    FieldMatch::Lpm {
        value: value.slice(127, 128 - width),
        prefix_len: len,
    }
}

/// Lengths like those of a routing table: mostly /24, many /16 to /23, few others.
fn length_v4(n: u64) -> u32 {
    match mix(n) % 16 {
        0..=8 => 24,
        9..=13 => 16 + (mix(n + 1) % 8) as u32,
        14 => 8 + (mix(n + 1) % 8) as u32,
        _ => 25 + (mix(n + 1) % 8) as u32,
    }
}

/// One of `count` masks over address pair, protocol and ports, each bit set or not.
fn five_tuple(n: u64, count: u64) -> Vec<FieldMatch> {
    let which = mix(n ^ 0x5555) % count;
    let field = |width: u32, at: u64| {
        let mask = mix(which * 8 + at) & (u64::MAX >> (64 - width));
        ternary(width, mix(n * 8 + at) & mask, mask)
    };
    vec![
        field(32, 0),
        field(32, 1),
        field(8, 2),
        field(16, 3),
        field(16, 4),
    ]
}

/// Source and destination prefix, protocol or any, a port exactly or a range or any: an access list
/// as ClassBench makes them.
fn access_list(n: u64) -> Vec<FieldMatch> {
    let prefix = |n: u64| {
        let len = [0, 8, 16, 16, 20, 24, 24, 26, 28, 30, 32, 32][(mix(n) % 12) as usize];
        let mask = if len == 0 {
            0
        } else {
            u64::from(u32::MAX << (32 - len))
        };
        ternary(32, mix(n + 77) & mask, mask)
    };
    let port = |n: u64| {
        let (low, high) = match mix(n) % 4 {
            0 => (0, 65535),
            1 => (1024, 65535),
            2 => (mix(n + 1) % 1024, mix(n + 1) % 1024),
            _ => {
                let low = mix(n + 1) % 60_000;
                (low, low + mix(n + 2) % 5000)
            }
        };
        FieldMatch::Range {
            low: bits(16, low),
            high: bits(16, high),
        }
    };
    let protocol = match mix(n * 31) % 3 {
        0 => FieldMatch::Optional(None),
        1 => FieldMatch::Optional(Some(bits(8, 6))),
        _ => FieldMatch::Optional(Some(bits(8, 17))),
    };
    // At least one side is specific, as in real lists.
    let mut key = vec![
        prefix(n * 16),
        prefix(n * 16 + 5),
        protocol,
        port(n * 16 + 9),
        port(n * 16 + 12),
    ];
    if !mix(n * 7).is_multiple_of(8) {
        let len = 24 + mix(n * 9) % 9;
        let mask = u64::from(u32::MAX << (32 - len));
        key[(n % 2) as usize] = ternary(32, mix(n * 16 + 3) & mask, mask);
    }
    key
}

fn sets() -> Vec<Set> {
    use MatchKind::{Exact, Lpm, Optional, Range, Ternary};
    let tuple = vec![
        (32, Ternary),
        (32, Ternary),
        (8, Ternary),
        (16, Ternary),
        (16, Ternary),
    ];
    let set = |name, entries, fields: &[(u32, MatchKind)], entry| Set {
        name,
        entries,
        fields: fields.to_vec(),
        entry,
    };
    vec![
        set("exact 100k", 100_000, &[(32, Exact)], |n| {
            vec![FieldMatch::Exact(bits(32, mix(n) >> 32))]
        }),
        set("exact 1M", 1_000_000, &[(48, Exact)], |n| {
            vec![FieldMatch::Exact(bits(48, mix(n) >> 16))]
        }),
        set("lpm v4 100k", 100_000, &[(32, Lpm)], |n| {
            vec![lpm(32, n, length_v4(n))]
        }),
        set("lpm v4 1M", 1_000_000, &[(32, Lpm)], |n| {
            vec![lpm(32, n, 16 + (mix(n) % 17) as u32)]
        }),
        set("lpm v6 100k", 100_000, &[(128, Lpm)], |n| {
            vec![lpm(128, n, 32 + (mix(n) % 33) as u32)]
        }),
        set("ternary 32 masks 100k", 100_000, &tuple, |n| {
            five_tuple(n, 32)
        }),
        set("ternary 200 masks 100k", 100_000, &tuple, |n| {
            five_tuple(n, 200)
        }),
        set(
            "access list 100k",
            100_000,
            &[
                (32, Ternary),
                (32, Ternary),
                (8, Optional),
                (16, Range),
                (16, Range),
            ],
            access_list,
        ),
        set("range 100k", 100_000, &[(32, Range)], |n| {
            let low = mix(n) >> 32;
            let high = (low + mix(n + 1) % 4096).min(u64::from(u32::MAX));
            vec![FieldMatch::Range {
                low: bits(32, low),
                high: bits(32, high),
            }]
        }),
        set("a mask each 20k", 20_000, &[(32, Ternary)], |n| {
            vec![ternary(32, mix(n) & mix(n + 9) >> 32, mix(n + 9) >> 32)]
        }),
    ]
}

fn spec(set: &Set) -> TableSpec {
    let field = |(i, (width, kind)): (usize, &(u32, MatchKind))| KeyField {
        name: format!("k{i}"),
        width: *width,
        kind: *kind,
    };
    let keys = set.fields.iter().enumerate().map(field).collect();
    TableSpec::of_profile(set.name, keys)
}

fn action() -> PackedAction {
    let mut action = PackedAction::default();
    action.set_member(MemberId(0));
    action
}

/// Fills a table; entries that collide are left out.
fn fill(set: &Set, keys: &[PackedKey]) -> Table {
    let mut table = Table::new(spec(set));
    let action = action();
    for key in keys {
        let _ = table.insert_packed(key, &action);
    }
    table
}

/// Key words that entry `n` matches.
fn matching_key(set: &Set, table: &Table, n: u64) -> Vec<u64> {
    let values = (set.entry)(n).into_iter().enumerate().map(|(i, m)| {
        let width = set.fields[i].0;
        let noise = Bits::from_u128(128, u128::from(mix(n + 3)) << 64 | u128::from(mix(n + 4)))
            .resize_unsigned(width);
        match m {
            FieldMatch::Exact(value) | FieldMatch::Optional(Some(value)) => value,
            FieldMatch::Optional(None) => noise,
            FieldMatch::Ternary { value, mask } => value.or(&noise.and(&mask.not())),
            FieldMatch::Range { low, .. } => low,
            FieldMatch::Lpm { value, prefix_len } => {
                let mask = Bits::prefix_mask(width, prefix_len);
                value.and(&mask).or(&noise.and(&mask.not()))
            }
        }
    });
    let mut words = Vec::new();
    table.layout().pack(&values.collect::<Vec<_>>(), &mut words);
    words
}

/// Times of the quickest of many short runs, which others on the machine disturb least.
fn quickest(runs: usize, items: usize, mut run: impl FnMut()) -> f64 {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let best = (0..runs).map(|_| time(&mut run)).min().unwrap_or_default();
    best.as_nanos() as f64 / items as f64
}

/// Nanoseconds per lookup of keys that lie side by side.
fn lookups(table: &Table, keys: &[Vec<u64>]) -> f64 {
    let words = table.layout().words();
    let flat: Vec<u64> = keys.concat();
    let mut chunks = flat.chunks(words * CHUNK).cycle();
    quickest(400, CHUNK, || {
        let chunk = chunks.next().unwrap_or_default();
        for key in chunk.chunks_exact(words) {
            black_box(table.lookup(key));
        }
    })
}

/// Lookups of one timed run.
const CHUNK: usize = 2048;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    println!(
        "{:<26} {:>9} {:>8} {:>8} {:>9} {:>7} {:>6}",
        "set", "entries", "hit ns", "rand ns", "insert ns", "bytes", "probes"
    );
    for set in sets() {
        if !wanted.is_empty() && !wanted.iter().any(|w| set.name.contains(w.as_str())) {
            continue;
        }
        let empty = Table::new(spec(&set));
        let pack = |n| {
            let mut key = PackedKey::default();
            let priority = EntryPriority((mix(n) % 100_000) as i32);
            empty
                .pack_key(&(set.entry)(n), priority, &mut key)
                .expect("the set fits its table");
            key
        };
        let keys: Vec<PackedKey> = (0..set.entries).map(pack).collect();
        let full = fill(&set, &keys);
        let hits: Vec<Vec<u64>> = (0..65_536)
            .map(|n| matching_key(&set, &full, mix(n) % set.entries))
            .collect();
        let misses: Vec<Vec<u64>> = (0..65_536).map(|n| random_key(&full, n)).collect();
        let insert = quickest(5, keys.len(), || {
            black_box(fill(&set, &keys));
        });
        println!(
            "{:<26} {:>9} {:>8.1} {:>8.1} {:>9.1} {:>7} {:>6}",
            set.name,
            full.len(),
            lookups(&full, &hits),
            lookups(&full, &misses),
            insert,
            full.bytes() / full.len(),
            full.probes()
        );
    }
}

/// Key words with every bit random.
fn random_key(table: &Table, n: u64) -> Vec<u64> {
    let fields = table.layout().fields().iter().enumerate();
    let values = fields.map(|(i, field)| {
        let part = |at| u128::from(mix(n * 64 + i as u64 * 2 + at));
        Bits::from_u128(128, part(0) << 64 | part(1)).resize_unsigned(field.width)
    });
    let mut words = Vec::new();
    table.layout().pack(&values.collect::<Vec<_>>(), &mut words);
    words
}

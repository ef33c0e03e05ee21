//! Lookup and insertion in tables of 100,000 entries, one group per match structure.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p4exec::tables::{
    EntryAction, EntryOptions, EntryPriority, FieldMatch, KeyField, MatchKind, MemberId, NewEntry,
    Table, TableSpec,
};
use p4exec::value::Bits;

const ENTRIES: u64 = 100_000;

/// A fixed sequence that looks random (SplitMix64).
fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn field(kind: MatchKind, n: u64) -> FieldMatch {
    let bits = |v: u64| Bits::from_u64(32, v);
    match kind {
        MatchKind::Exact => FieldMatch::Exact(bits(n)),
        MatchKind::Lpm => FieldMatch::Lpm {
            value: bits(mix(n)),
            prefix_len: 16 + (mix(n + 1) % 17) as u32,
        },
        // 64 masks: 24 to 31 high bits with one of eight bytes cleared of its low bits.
        MatchKind::Ternary => {
            let mask = Bits::prefix_mask(32, 24 + (n % 8) as u32);
            let hole = bits(1 << (8 + mix(n) % 8)).not();
            FieldMatch::Ternary {
                value: bits(mix(n)),
                mask: mask.and(&hole),
            }
        }
        MatchKind::Range => {
            let low = mix(n) & 0xffff_ffff;
            FieldMatch::Range {
                low: bits(low),
                high: bits((low + mix(n + 1) % 4096).min(u64::from(u32::MAX))),
            }
        }
        MatchKind::Optional => FieldMatch::Optional(Some(bits(n))),
    }
}

fn table(kind: MatchKind) -> Table {
    let mut table = Table::new(TableSpec {
        name: kind.to_string(),
        keys: vec![KeyField {
            name: "k".into(),
            width: 32,
            kind,
        }],
        actions: vec![],
        default_action: None,
        const_default: false,
        const_entries: false,
        size: None,
        indirect: true,
    });
    for n in 0..ENTRIES {
        // Random masks and prefixes collide now and then; those few are left out.
        let _ = table.insert(&NewEntry {
            key: vec![field(kind, n)],
            priority: EntryPriority((mix(n) % 1000) as i32),
            action: EntryAction::Member(MemberId(0)),
            is_const: false,
            options: EntryOptions::default(),
        });
    }
    table
}

fn tables(c: &mut Criterion) {
    for kind in [
        MatchKind::Exact,
        MatchKind::Lpm,
        MatchKind::Ternary,
        MatchKind::Range,
    ] {
        let mut group = c.benchmark_group(kind.to_string());
        let full = table(kind);
        group.throughput(Throughput::Elements(1));
        let mut n = 0u64;
        group.bench_function("hit", |b| {
            b.iter(|| {
                n = (n + 1) % ENTRIES;
                let key = if kind == MatchKind::Exact {
                    n
                } else {
                    mix(n) & 0xffff_ffff
                };
                black_box(full.lookup(&[key]))
            });
        });
        group.bench_function("random key", |b| {
            b.iter(|| {
                n += 1;
                black_box(full.lookup(&[mix(n) >> 32]))
            });
        });
        group.sample_size(10);
        group.throughput(Throughput::Elements(ENTRIES));
        group.bench_function("build", |b| b.iter(|| table(kind)));
        group.finish();
    }
}

criterion_group!(benches, tables);
criterion_main!(benches);

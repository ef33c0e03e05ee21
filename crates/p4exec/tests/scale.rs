//! Tables of 100,000 entries answer as a scan would, and take entries in and out.

use p4exec::tables::{
    EntryAction, EntryHandle, EntryOptions, EntryPriority, FieldMatch, KeyField, MatchKind,
    MemberId, NewEntry, Table, TableSpec,
};
use p4exec::value::Bits;

const ENTRIES: u64 = 100_000;

fn table(kind: MatchKind) -> Table {
    let key = KeyField {
        name: "k".into(),
        width: 32,
        kind,
    };
    Table::new(TableSpec::of_profile("big", vec![key]))
}

fn entry(key: FieldMatch, priority: i32) -> NewEntry {
    NewEntry {
        key: vec![key],
        priority: EntryPriority(priority),
        action: EntryAction::Member(MemberId(0)),
        is_const: false,
        options: EntryOptions::default(),
    }
}

fn mix(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

/// Fills a table, looks some keys up, removes every other entry, looks again, removes the rest.
fn fill_probe_drain(kind: MatchKind, make: impl Fn(u64) -> FieldMatch) {
    let mut table = table(kind);
    for n in 0..ENTRIES {
        let _ = table.insert(&entry(make(n), (mix(n) % 100) as i32));
    }
    assert!(
        table.len() > 90_000,
        "few entries are equal: {}",
        table.len()
    );
    let probe = |table: &Table| {
        for n in (0..ENTRIES).step_by(2500) {
            for key in [n, mix(n) & 0xffff_ffff] {
                let bits = Bits::from_u64(32, key);
                let best = table
                    .iter()
                    .map(|view| (view.handle(), view.to_entry()))
                    .filter(|(_, e)| e.key[0].matches(&bits))
                    .max_by_key(|(handle, e)| {
                        let len = match e.key[0] {
                            FieldMatch::Lpm { prefix_len, .. } => prefix_len as i32,
                            _ => e.priority.0,
                        };
                        (len, std::cmp::Reverse(*handle))
                    })
                    .map(|(handle, _)| handle);
                assert_eq!(table.lookup(&[key]).map(EntryHandle), best, "key {key:#x}");
            }
        }
    };
    probe(&table);
    let handles: Vec<_> = table.iter().map(|e| e.handle()).collect();
    for handle in handles.iter().step_by(2) {
        table.remove(*handle).expect("the handle was just listed");
    }
    probe(&table);
    for handle in handles.iter().skip(1).step_by(2) {
        table.remove(*handle).expect("half are left");
    }
    assert!(table.is_empty());
}

#[test]
fn exact() {
    fill_probe_drain(MatchKind::Exact, |n| {
        FieldMatch::Exact(Bits::from_u64(32, n))
    });
}

#[test]
fn lpm() {
    fill_probe_drain(MatchKind::Lpm, |n| FieldMatch::Lpm {
        value: Bits::from_u64(32, mix(n)),
        prefix_len: 16 + (mix(n + 7) % 17) as u32,
    });
}

#[test]
fn ternary() {
    fill_probe_drain(MatchKind::Ternary, |n| FieldMatch::Ternary {
        value: Bits::from_u64(32, mix(n)),
        mask: Bits::prefix_mask(32, 20 + (n % 12) as u32),
    });
}

#[test]
fn every_entry_its_own_mask() {
    fill_probe_drain(MatchKind::Ternary, |n| FieldMatch::Ternary {
        value: Bits::from_u64(32, mix(n)),
        mask: Bits::from_u64(32, n | 0xffff_0000),
    });
}

#[test]
fn range() {
    fill_probe_drain(MatchKind::Range, |n| {
        let low = mix(n) & 0xffff_ffff;
        let high = (low + mix(n + 1) % 100_000).min(u64::from(u32::MAX));
        FieldMatch::Range {
            low: Bits::from_u64(32, low),
            high: Bits::from_u64(32, high),
        }
    });
}

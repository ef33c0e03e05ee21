//! Every match structure against a linear scan, through inserts, changes and deletes.

use p4exec::tables::{
    ActionCall, ActionSpec, EntryAction, EntryHandle, EntryOptions, EntryPriority, FieldMatch,
    KeyField, MatchKind, NewEntry, PackedKey, Table, TableError, TableSpec, approach,
};
use p4exec::value::Bits;
use p4ir::{ActionId, Entity as _};
use proptest::prelude::*;

fn spec(keys: &[(u32, MatchKind)]) -> TableSpec {
    let keys = keys
        .iter()
        .enumerate()
        .map(|(i, (width, kind))| KeyField {
            name: format!("k{i}"),
            width: *width,
            kind: *kind,
        })
        .collect();
    let action = ActionSpec {
        id: ActionId::new(0),
        name: "set".into(),
        params: vec![32],
        in_entries: true,
        as_default: true,
    };
    TableSpec {
        name: "t".into(),
        keys,
        actions: vec![action],
        default_action: None,
        const_default: false,
        const_entries: false,
        size: None,
        indirect: false,
    }
}

fn set(value: u64) -> EntryAction {
    EntryAction::Call(ActionCall {
        action: ActionId::new(0),
        args: vec![Bits::from_u64(32, value)],
    })
}

fn entry(key: Vec<FieldMatch>, priority: i32, value: u64) -> NewEntry {
    NewEntry {
        key,
        priority: EntryPriority(priority),
        action: set(value),
        is_const: false,
        options: EntryOptions::default(),
    }
}

/// The definition: of the entries that match, the one with the longest prefix (tables without
/// priorities) or the largest priority; among equals the lowest handle.
fn scan(table: &Table, key: &[Bits]) -> Option<EntryHandle> {
    table
        .iter()
        .map(|view| (view.handle(), view.to_entry()))
        .filter(|(_, e)| e.key.iter().zip(key).all(|(m, k)| m.matches(k)))
        .max_by_key(|(handle, e)| {
            let prefix: u32 = e
                .key
                .iter()
                .map(|m| {
                    if let FieldMatch::Lpm { prefix_len, .. } = m {
                        *prefix_len
                    } else {
                        0
                    }
                })
                .sum();
            let rank = if table.layout().needs_priority() {
                e.priority.0
            } else {
                prefix as i32
            };
            (rank, std::cmp::Reverse(*handle))
        })
        .map(|(handle, _)| handle)
}

/// A value of few distinct bytes, so that random keys and entries meet often.
fn value(width: u32) -> impl Strategy<Value = Bits> {
    prop_oneof![
        3 => (0u64..4).prop_map(move |v| Bits::from_u64(width, v)),
        2 => (0u64..4, 0..width).prop_map(move |(v, n)| Bits::from_u64(width, v).shl(n)),
        1 => proptest::collection::vec(any::<u8>(), 20)
            .prop_map(move |v| Bits::from_bytes_be(width, &v)),
    ]
}

fn field(width: u32, kind: MatchKind) -> BoxedStrategy<FieldMatch> {
    match kind {
        MatchKind::Exact => value(width).prop_map(FieldMatch::Exact).boxed(),
        MatchKind::Lpm => (value(width), 0..=width)
            .prop_map(|(value, prefix_len)| FieldMatch::Lpm { value, prefix_len })
            .boxed(),
        MatchKind::Ternary => (value(width), value(width), any::<bool>())
            .prop_map(|(value, mask, invert)| {
                let mask = if invert { mask.not() } else { mask };
                FieldMatch::Ternary { value, mask }
            })
            .boxed(),
        MatchKind::Range => (value(width), value(width))
            .prop_map(|(a, b)| {
                let (low, high) = if a.cmp_unsigned(&b).is_le() {
                    (a, b)
                } else {
                    (b, a)
                };
                FieldMatch::Range { low, high }
            })
            .boxed(),
        MatchKind::Optional => proptest::option::of(value(width))
            .prop_map(FieldMatch::Optional)
            .boxed(),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<FieldMatch>, i32),
    /// Deletes the entry with this index among those installed.
    Delete(prop::sample::Index),
    Lookup(Vec<Bits>),
}

fn steps(keys: &[(u32, MatchKind)]) -> impl Strategy<Value = Vec<Step>> + use<> {
    let key: Vec<_> = keys.iter().map(|(w, k)| field(*w, *k)).collect();
    let values: Vec<_> = keys.iter().map(|(w, _)| value(*w)).collect();
    let step = prop_oneof![
        3 => (key, 0i32..6).prop_map(|(k, p)| Step::Insert(k, p)),
        1 => any::<prop::sample::Index>().prop_map(Step::Delete),
        4 => values.prop_map(Step::Lookup),
    ];
    proptest::collection::vec(step, 1..120)
}

fn shape() -> impl Strategy<Value = Vec<(u32, MatchKind)>> {
    use MatchKind::{Exact, Lpm, Optional, Range, Ternary};
    prop::sample::select(vec![
        vec![(9, Exact)],
        vec![(48, Exact), (128, Exact), (130, Exact)],
        vec![(32, Lpm)],
        vec![(128, Lpm)],
        vec![(200, Lpm)],
        vec![(9, Exact), (32, Lpm), (70, Exact)],
        vec![(16, Ternary)],
        vec![(130, Ternary), (8, Exact)],
        vec![(16, Range)],
        vec![(100, Range), (7, Range), (1, Exact)],
        vec![(12, Optional), (32, Lpm)],
        vec![
            (8, Exact),
            (8, Lpm),
            (8, Ternary),
            (8, Range),
            (8, Optional),
        ],
        vec![(1000, Ternary), (200, Exact)],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn structures_agree_with_a_linear_scan(
        (keys, steps) in shape().prop_flat_map(|k| { let s = steps(&k); (Just(k), s) })
    ) {
        let mut table = Table::new(spec(&keys));
        let mut words = Vec::new();
        for (n, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(key, priority) => {
                    let known = table.find(&key, EntryPriority(priority));
                    // Whatever the structure looks like, the way to an entry ends in it.
                    let mut packed = PackedKey::default();
                    table.pack_key(&key, EntryPriority(priority), &mut packed).unwrap();
                    approach(std::iter::once((&table, packed.words(), packed.rank())));
                    match table.insert(&entry(key, priority, n as u64)) {
                        Ok(_) => prop_assert!(known.is_err()),
                        Err(TableError::Duplicate { .. }) => prop_assert!(known.is_ok()),
                        Err(other) => return Err(TestCaseError::fail(other.to_string())),
                    }
                }
                Step::Delete(index) => {
                    let handles: Vec<_> = table.iter().map(|e| e.handle()).collect();
                    if !handles.is_empty() {
                        let handle = *index.get(&handles);
                        let gone = table.remove(handle).unwrap();
                        prop_assert!(table.find(&gone.key, gone.priority).is_err());
                    }
                }
                Step::Lookup(key) => {
                    table.layout().pack(&key, &mut words);
                    prop_assert_eq!(table.lookup(&words).map(EntryHandle), scan(&table, &key));
                }
            }
        }
        let handles: Vec<_> = table.iter().map(|e| e.handle()).collect();
        prop_assert_eq!(handles.len(), table.len());
        for handle in handles {
            table.remove(handle).unwrap();
        }
        prop_assert_eq!(table.lookup(&words), None);
    }
}

#[test]
fn keys_are_made_canonical_and_misfits_are_named() {
    use MatchKind::{Lpm, Ternary};
    let mut table = Table::new(spec(&[(32, Lpm), (8, Ternary)]));
    let key = vec![
        FieldMatch::Lpm {
            value: Bits::from_u64(32, 0x0a01_02ff),
            prefix_len: 24,
        },
        FieldMatch::Ternary {
            value: Bits::from_u64(64, 0xff),
            mask: Bits::from_u64(8, 0xf0),
        },
    ];
    let handle = table.insert(&entry(key, 1, 0)).unwrap();
    let shown: Vec<_> = table
        .entry(handle)
        .unwrap()
        .key
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(shown, ["0x0a010200/24", "0xf0 &&& 0xf0"]);

    let refuse = |table: &mut Table, key: Vec<FieldMatch>| {
        table.insert(&entry(key, 1, 0)).unwrap_err().to_string()
    };
    let lpm = |prefix_len| FieldMatch::Lpm {
        value: Bits::zero(32),
        prefix_len,
    };
    assert_eq!(
        refuse(&mut table, vec![lpm(0)]),
        "table `t`: the key has 1 fields where the table has 2; give one match per field"
    );
    assert_eq!(
        refuse(
            &mut table,
            vec![lpm(33), FieldMatch::any(Ternary, 8).unwrap()]
        ),
        "table `t`: prefix length 33 exceeds the 32 bits of field `k0`"
    );
    assert_eq!(
        refuse(&mut table, vec![lpm(1), FieldMatch::Exact(Bits::zero(8))]),
        "table `t`: field `k1` is matched as exact where the table says ternary"
    );
    let wide = FieldMatch::Ternary {
        value: Bits::zero(8),
        mask: Bits::from_u64(9, 256),
    };
    assert_eq!(
        refuse(&mut table, vec![lpm(1), wide]),
        "table `t`: value 0x100 does not fit field `k1` of 8 bits"
    );
}

#[test]
fn const_full_and_foreign_are_refused() {
    let mut sp = spec(&[(8, MatchKind::Exact)]);
    sp.size = Some(1);
    let key = |v| vec![FieldMatch::Exact(Bits::from_u64(8, v))];
    let mut table = Table::new(sp.clone());
    let first = table.insert(&entry(key(1), 0, 1)).unwrap();
    assert!(matches!(
        table.insert(&entry(key(2), 0, 1)),
        Err(TableError::Full { size: 1, .. })
    ));
    assert!(matches!(
        table.insert(&entry(key(1), 0, 1)),
        Err(TableError::Duplicate { .. })
    ));
    let stranger = EntryAction::Call(ActionCall {
        action: ActionId::new(9),
        args: vec![],
    });
    assert!(matches!(
        table.modify(first, &stranger),
        Err(TableError::ActionNotAllowed { .. })
    ));
    let short = EntryAction::Call(ActionCall {
        action: ActionId::new(0),
        args: vec![],
    });
    assert!(matches!(
        table.modify(first, &short),
        Err(TableError::ArgumentCount { .. })
    ));
    assert_eq!(table.modify(first, &set(7)).unwrap(), set(1));
    table.remove(first).unwrap();
    assert!(matches!(
        table.remove(first),
        Err(TableError::NotFound { .. })
    ));
    let again = table.insert(&entry(key(1), 0, 1)).unwrap();
    assert_eq!(again, first, "the slot is used again");

    sp.const_entries = true;
    sp.const_default = true;
    let mut table = Table::new(sp);
    assert!(matches!(
        table.insert(&entry(key(1), 0, 1)),
        Err(TableError::ConstEntries { .. })
    ));
    let own = NewEntry {
        is_const: true,
        ..entry(key(1), 0, 1)
    };
    let handle = table.insert(&own).unwrap();
    assert!(matches!(
        table.remove(handle),
        Err(TableError::ConstEntries { .. })
    ));
}

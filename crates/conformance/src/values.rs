//! Points 10 to 12: byte strings, keys in normal form, priorities.

use p4runtime::p4::v1::{
    self, entity::Entity as Kind, field_match, field_match::FieldMatchType, update,
};
use tonic::Code;

use super::bench::{TestBed, exact, key};

const BYTES: &str = "any amount of leading zeros is taken; the empty string and values too wide are OUT_OF_RANGE (8.3; 9.1.1 and 9.1.2 say INVALID_ARGUMENT); answers are in the shortest form";
const NORMAL: &str = "a key that matches everything is left out; bits outside prefix or mask are 0; low <= high; else INVALID_ARGUMENT (9.1.1)";
const PRIORITY: &str = "a priority above 0 with ternary, range or optional keys, and none otherwise; else INVALID_ARGUMENT (9.1.1)";

/// All of them.
pub(super) async fn check(bench: &mut TestBed) {
    bytes(bench).await;
    normal_forms(bench).await;
    priorities(bench).await;
}

async fn bytes(bench: &mut TestBed) {
    let padded = bench.exact(&[0, 0, 0, 7], &[0, 0, 9], 1);
    let outcome = bench
        .put(update::Type::Insert, Kind::TableEntry(padded))
        .await;
    bench.demand(10, "keys with leading zeros", &outcome, &[Code::Ok], BYTES);
    let read = bench.entries(bench.exact(&[7], &[9], 1)).await;
    let shortest = read.as_ref().is_ok_and(|entries| {
        let keys: Vec<&v1::FieldMatch> = entries.iter().flat_map(|entry| &entry.r#match).collect();
        keys.len() == 2
            && keys.iter().any(|k| **k == exact(1, &[7]))
            && keys.iter().any(|k| **k == exact(2, &[9]))
    });
    let seen = format!("{read:?}").chars().take(100).collect::<String>();
    let seen = if shortest {
        "7 and 9, one byte each".to_owned()
    } else {
        seen
    };
    bench.judge(10, "the answer's form", shortest, seen, BYTES);
    let mut param = bench.exact(&[8], &[9], 1);
    param.action = Some(v1::TableAction {
        r#type: Some(v1::table_action::Type::Action(
            bench.call("send", &[&[0, 0, 1]]),
        )),
    });
    let outcome = bench
        .put(update::Type::Insert, Kind::TableEntry(param))
        .await;
    bench.demand(
        10,
        "a parameter with leading zeros",
        &outcome,
        &[Code::Ok],
        BYTES,
    );
    for (check, entry) in [
        ("an empty key", bench.exact(&[], &[1], 1)),
        (
            "a key one bit too wide (12 bits)",
            bench.exact(&[1], &[0x10, 0], 1),
        ),
        ("a key one byte too wide", bench.exact(&[1, 0, 0], &[1], 1)),
    ] {
        let outcome = bench
            .put(update::Type::Insert, Kind::TableEntry(entry))
            .await;
        bench.demand(
            10,
            check,
            &outcome,
            &[Code::OutOfRange, Code::InvalidArgument],
            BYTES,
        );
    }
    for (check, value) in [
        ("an empty parameter", &[][..]),
        ("a parameter one bit too wide (9 bits)", &[2, 0]),
    ] {
        let mut entry = bench.exact(&[10], &[1], 1);
        entry.action = Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(bench.call("send", &[value]))),
        });
        let outcome = bench
            .put(update::Type::Insert, Kind::TableEntry(entry))
            .await;
        bench.demand(
            10,
            check,
            &outcome,
            &[Code::OutOfRange, Code::InvalidArgument],
            BYTES,
        );
    }
}

fn lpm(bench: &TestBed, value: &[u8], prefix_len: i32) -> v1::TableEntry {
    v1::TableEntry {
        table_id: bench.table("lpm_match"),
        r#match: vec![key(
            1,
            FieldMatchType::Lpm(field_match::Lpm {
                value: value.to_vec().into(),
                prefix_len,
            }),
        )],
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(
                bench.call("send_metered", &[&[1]]),
            )),
        }),
        ..Default::default()
    }
}

/// An entry of `mixed_match`: the exact key, and these.
pub(super) fn mixed(bench: &TestBed, keys: Vec<v1::FieldMatch>, priority: i32) -> v1::TableEntry {
    let mut all = keys;
    all.push(exact(4, &[1]));
    v1::TableEntry {
        table_id: bench.table("mixed_match"),
        r#match: all,
        action: bench.send(1),
        priority,
        ..Default::default()
    }
}

pub(super) fn ternary(value: &[u8], mask: &[u8]) -> v1::FieldMatch {
    let (value, mask) = (value.to_vec().into(), mask.to_vec().into());
    key(
        1,
        FieldMatchType::Ternary(field_match::Ternary { value, mask }),
    )
}

pub(super) fn range(low: &[u8], high: &[u8]) -> v1::FieldMatch {
    let (low, high) = (low.to_vec().into(), high.to_vec().into());
    key(2, FieldMatchType::Range(field_match::Range { low, high }))
}

pub(super) fn optional(value: &[u8]) -> v1::FieldMatch {
    let value = value.to_vec().into();
    key(3, FieldMatchType::Optional(field_match::Optional { value }))
}

async fn normal_forms(bench: &mut TestBed) {
    let everything = v1::TableEntry {
        r#match: Vec::new(),
        ..lpm(bench, &[], 0)
    };
    let right = [
        ("an LPM entry", lpm(bench, &[10, 0, 0, 0], 8)),
        ("the LPM entry for everything, its key left out", everything),
        (
            "ternary, range and optional keys",
            mixed(
                bench,
                vec![ternary(&[0x10], &[0xf0]), range(&[1], &[5]), optional(&[3])],
                4,
            ),
        ),
        (
            "only the exact key of a mixed table",
            mixed(bench, Vec::new(), 1),
        ),
    ];
    for (check, entry) in right {
        let outcome = bench
            .put(update::Type::Insert, Kind::TableEntry(entry))
            .await;
        bench.demand(11, check, &outcome, &[Code::Ok], NORMAL);
    }
    let twice = mixed(
        bench,
        vec![ternary(&[0x20], &[0xf0]), ternary(&[0x10], &[0xf0])],
        5,
    );
    let missing = v1::TableEntry {
        r#match: vec![ternary(&[1], &[1])],
        ..mixed(bench, Vec::new(), 6)
    };
    let kind = v1::TableEntry {
        r#match: vec![exact(1, &[1])],
        ..lpm(bench, &[], 0)
    };
    let wrong = [
        ("LPM bits after the prefix", lpm(bench, &[10, 0, 0, 1], 8)),
        ("an LPM prefix of 0 written out", lpm(bench, &[0], 0)),
        ("an LPM prefix longer than the key", lpm(bench, &[1], 33)),
        (
            "ternary bits outside the mask",
            mixed(bench, vec![ternary(&[0x11], &[0xf0])], 2),
        ),
        (
            "a ternary mask of 0 written out",
            mixed(bench, vec![ternary(&[0], &[0])], 2),
        ),
        (
            "a range that ends before it begins",
            mixed(bench, vec![range(&[5], &[1])], 2),
        ),
        (
            "the whole range written out",
            mixed(bench, vec![range(&[0], &[0xff, 0xff])], 2),
        ),
        ("a key given twice", twice),
        ("an exact key left out", missing),
        ("a key of another kind", kind),
    ];
    for (check, entry) in wrong {
        let outcome = bench
            .put(update::Type::Insert, Kind::TableEntry(entry))
            .await;
        bench.demand(11, check, &outcome, &[Code::InvalidArgument], NORMAL);
    }
}

async fn priorities(bench: &mut TestBed) {
    let exact_with = v1::TableEntry {
        priority: 3,
        ..bench.exact(&[0x33], &[1], 1)
    };
    let wrong = [
        (
            "no priority with a ternary key",
            mixed(bench, vec![ternary(&[0x40], &[0xf0])], 0),
        ),
        (
            "a negative priority",
            mixed(bench, vec![ternary(&[0x40], &[0xf0])], -1),
        ),
        ("a priority with exact keys only", exact_with),
    ];
    for (check, entry) in wrong {
        let outcome = bench
            .put(update::Type::Insert, Kind::TableEntry(entry))
            .await;
        bench.demand(12, check, &outcome, &[Code::InvalidArgument], PRIORITY);
    }
    let same_match = |priority| mixed(bench, vec![ternary(&[0x50], &[0xf0])], priority);
    let (low, high) = (same_match(7), same_match(8));
    let first = bench.put(update::Type::Insert, Kind::TableEntry(low)).await;
    let second = bench
        .put(update::Type::Insert, Kind::TableEntry(high))
        .await;
    bench.judge(
        12,
        "one match at two priorities: two entries",
        first.code == Code::Ok && second.code == Code::Ok,
        format!("{first}; {second}"),
        "match and priority together name an entry (9.1)",
    );
}

//! Cases with thousands of entries, made from a seed for `cases/many.p4`.
//!
//! [`case`] draws entries for a table of every match kind and packets that meet them, and finds
//! each packet's answer by looking at every entry. So the case is an oracle of its own: executors,
//! BMv2 among them, must agree with it and not only with one another.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use packetgen::Choices;

/// The answer of a default action.
const MISS: u16 = 0xffff;

/// How a table matches one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

/// Fields of the packet's header, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Which,
    A,
    B,
    C,
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::Which => "hdr.q.which",
            Self::A => "hdr.q.a",
            Self::B => "hdr.q.b",
            Self::C => "hdr.q.c",
        }
    }

    const fn width(self) -> u32 {
        match self {
            Self::Which => 8,
            Self::A => 16,
            Self::B => 32,
            Self::C => 48,
        }
    }

    const fn ones(self) -> u64 {
        (1 << self.width()) - 1
    }
}

/// A table of `many.p4`; its number is what packets call it by.
struct Shape {
    which: u64,
    name: &'static str,
    keys: &'static [(Field, Kind)],
}

const SHAPES: [Shape; 7] = [
    Shape {
        which: 1,
        name: "exact_many",
        keys: &[(Field::C, Kind::Exact), (Field::A, Kind::Exact)],
    },
    Shape {
        which: 2,
        name: "Ing.lpm_many",
        keys: &[(Field::B, Kind::Lpm)],
    },
    Shape {
        which: 3,
        name: "exact_lpm_many",
        keys: &[(Field::A, Kind::Exact), (Field::B, Kind::Lpm)],
    },
    Shape {
        which: 4,
        name: "ternary_many",
        keys: &[(Field::B, Kind::Ternary), (Field::C, Kind::Ternary)],
    },
    Shape {
        which: 5,
        name: "range_many",
        keys: &[(Field::A, Kind::Range), (Field::B, Kind::Range)],
    },
    Shape {
        which: 6,
        name: "optional_many",
        keys: &[(Field::A, Kind::Optional), (Field::B, Kind::Optional)],
    },
    Shape {
        which: 7,
        name: "mixed_many",
        keys: &[
            (Field::A, Kind::Range),
            (Field::B, Kind::Lpm),
            (Field::C, Kind::Ternary),
            (Field::Which, Kind::Exact),
        ],
    },
];

impl Shape {
    fn needs_priority(&self) -> bool {
        let kinds = [Kind::Ternary, Kind::Range, Kind::Optional];
        self.keys.iter().any(|(_, kind)| kinds.contains(kind))
    }
}

/// How an entry matches a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    Bits { value: u64, mask: u64 },
    Range { low: u64, high: u64 },
}

impl Match {
    const fn holds(self, key: u64) -> bool {
        match self {
            Self::Bits { value, mask } => key & mask == value,
            Self::Range { low, high } => low <= key && key <= high,
        }
    }
}

struct Row {
    keys: Vec<Match>,
    priority: usize,
    answer: u16,
}

/// Values of the header's fields.
#[derive(Clone, Copy, Default)]
struct Query {
    which: u64,
    a: u64,
    b: u64,
    c: u64,
}

impl Query {
    const fn get(&self, field: Field) -> u64 {
        match field {
            Field::Which => self.which,
            Field::A => self.a,
            Field::B => self.b,
            Field::C => self.c,
        }
    }

    const fn get_mut(&mut self, field: Field) -> &mut u64 {
        match field {
            Field::Which => &mut self.which,
            Field::A => &mut self.a,
            Field::B => &mut self.b,
            Field::C => &mut self.c,
        }
    }

    fn write(&self, text: &mut String, answer: u16) {
        let Self { which, a, b, c } = self;
        let _ = writeln!(text, "packet 1 {which:02x} 0000 {a:04x} {b:08x} {c:012x}");
        let _ = writeln!(
            text,
            "expect 1 {which:02x} {answer:04x} {a:04x} {b:08x} {c:012x} $"
        );
    }
}

/// An STF case for `cases/many.p4`: `entries` in every table, and `packets` for each.
#[must_use]
pub fn case(seed: u64, entries: usize, packets: usize) -> String {
    let mut choices = Choices::seeded(seed);
    let mut text =
        format!("# seed {seed}, {entries} entries and {packets} packets for each table\n");
    let mut queries = Vec::new();
    for shape in &SHAPES {
        let rows = rows(shape, entries, &mut choices);
        for row in &rows {
            entry(shape, row, &mut text);
        }
        for _ in 0..packets {
            let query = aimed(shape, &rows, &mut choices);
            queries.push((query, answer(shape, &rows, &query)));
        }
    }
    groups(entries, packets, &mut choices, &mut text, &mut queries);
    for (query, answer) in queries {
        query.write(&mut text, answer);
    }
    text
}

fn any(field: Field, choices: &mut Choices<'_>) -> u64 {
    choices.number() & field.ones()
}

/// A prefix of `len` bits as a mask.
const fn prefix(field: Field, len: u32) -> u64 {
    if len == 0 {
        0
    } else {
        field.ones() ^ (field.ones() >> len)
    }
}

/// Different rows, with different priorities in random order.
fn rows(shape: &Shape, count: usize, choices: &mut Choices<'_>) -> Vec<Row> {
    let mut priorities: Vec<usize> = (1..=count).collect();
    for i in (1..count).rev() {
        priorities.swap(i, choices.below(i + 1));
    }
    // A few values, so that rows overlap.
    let pool: Vec<Query> = (0..count.isqrt() + 1)
        .map(|_| Query {
            which: shape.which,
            a: any(Field::A, choices),
            b: any(Field::B, choices),
            c: any(Field::C, choices),
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut rows = Vec::with_capacity(count);
    while rows.len() < count {
        let keys: Vec<Match> = shape
            .keys
            .iter()
            .map(|(field, kind)| key(*field, *kind, &pool, choices))
            .collect();
        if seen.insert(keys.clone()) {
            rows.push(Row {
                keys,
                priority: priorities[rows.len()],
                answer: (choices.number() % u64::from(MISS)) as u16,
            });
        }
    }
    rows
}

fn key(field: Field, kind: Kind, pool: &[Query], choices: &mut Choices<'_>) -> Match {
    let near = choices.pick(pool).map_or(0, |query| query.get(field));
    let bits = |value: u64, mask: u64| Match::Bits {
        value: value & mask,
        mask,
    };
    let width = field.width() as usize;
    match kind {
        Kind::Exact if field == Field::Which => bits(near, field.ones()),
        Kind::Exact if choices.one_in(2) => bits(near, field.ones()),
        Kind::Exact => bits(any(field, choices), field.ones()),
        // A value of the pool under a prefix, its low bits changed: prefixes of prefixes.
        Kind::Lpm => {
            let kept = choices.below(width + 1) as u32;
            let value = near ^ (any(field, choices) & !prefix(field, kept));
            let len = (kept as usize + choices.below(width - kept as usize + 1)) as u32;
            bits(value, prefix(field, len))
        }
        Kind::Ternary => {
            let mask = match choices.below(4) {
                0 => field.ones(),
                1 => prefix(field, choices.below(width + 1) as u32),
                2 => 0xff << (8 * choices.below(width / 8)),
                _ => any(field, choices) | any(field, choices),
            };
            bits(near, mask)
        }
        Kind::Range => {
            let size = field.ones() >> choices.below(width);
            let low = near.saturating_sub(choices.number() % (size + 1));
            let high = low.saturating_add(size).min(field.ones());
            Match::Range { low, high }
        }
        Kind::Optional if choices.one_in(3) => bits(0, 0),
        Kind::Optional if choices.one_in(2) => bits(near, field.ones()),
        Kind::Optional => bits(any(field, choices), field.ones()),
    }
}

fn entry(shape: &Shape, row: &Row, text: &mut String) {
    let _ = write!(text, "add {}", shape.name);
    if shape.needs_priority() {
        let _ = write!(text, " {}", row.priority);
    }
    for ((field, kind), key) in shape.keys.iter().zip(&row.keys) {
        let name = field.name();
        let _ = match (kind, *key) {
            (Kind::Lpm, Match::Bits { value, mask }) => {
                write!(text, " {name}:{value:#x}/{}", mask.count_ones())
            }
            (Kind::Ternary, Match::Bits { value, mask }) => {
                write!(text, " {name}:{value:#x}&&&{mask:#x}")
            }
            // A key that is left out matches everything.
            (Kind::Optional, Match::Bits { mask: 0, .. }) => Ok(()),
            // All digits, for JSON for BMv2 has the key as ternary, where digits that are not
            // written match everything.
            (_, Match::Bits { value, .. }) => {
                let digits = field.width() as usize / 4;
                write!(text, " {name}:0x{value:0digits$x}")
            }
            (_, Match::Range { low, high }) => write!(text, " {name}:{low:#x}..{high:#x}"),
        };
    }
    let _ = writeln!(text, " answer(value:{})", row.answer);
}

/// A packet that some row matches, mostly.
fn aimed(shape: &Shape, rows: &[Row], choices: &mut Choices<'_>) -> Query {
    let mut query = Query {
        which: shape.which,
        a: any(Field::A, choices),
        b: any(Field::B, choices),
        c: any(Field::C, choices),
    };
    let Some(row) = choices.pick(rows) else {
        return query;
    };
    for ((field, _), key) in shape.keys.iter().zip(&row.keys) {
        let place = query.get_mut(*field);
        *place = match *key {
            Match::Bits { value, mask } => value | (*place & !mask & field.ones()),
            // At an end, next to one, or within.
            Match::Range { low, high } => match choices.below(5) {
                0 => low,
                1 => high,
                2 => low.saturating_sub(1),
                3 => (high + 1).min(field.ones()),
                _ => low + choices.number() % (high - low + 1),
            },
        };
    }
    if choices.one_in(4) {
        let fields = [Field::A, Field::B, Field::C];
        let field = choices.pick(&fields).copied().unwrap_or(Field::A);
        *query.get_mut(field) ^= 1 << choices.below(field.width() as usize);
    }
    query
}

/// What the best row says: the greatest priority, or else the longest prefix.
fn answer(shape: &Shape, rows: &[Row], query: &Query) -> u16 {
    let holds = |row: &&Row| {
        let keys = shape.keys.iter().zip(&row.keys);
        keys.into_iter()
            .all(|((field, _), key)| key.holds(query.get(*field)))
    };
    let rank = |row: &&Row| match shape.needs_priority() {
        true => row.priority,
        false => row
            .keys
            .iter()
            .map(|key| match key {
                Match::Bits { mask, .. } => mask.count_ones() as usize,
                Match::Range { .. } => 0,
            })
            .sum(),
    };
    let best = rows.iter().filter(holds).max_by_key(rank);
    best.map_or(MISS, |row| row.answer)
}

/// Groups of up to 64 members; the selector hashes by `identity`, so the key is the hash.
fn groups(
    entries: usize,
    packets: usize,
    choices: &mut Choices<'_>,
    text: &mut String,
    queries: &mut Vec<(Query, u16)>,
) {
    let members = (entries / 8).max(1);
    for member in 0..members {
        let _ = writeln!(text, "member pick {member} answer(value:{member})");
    }
    let mut groups = Vec::new();
    for group in 0..(entries / 32).max(1) {
        let wanted = 1 + choices.below(64.min(members));
        let mut list = BTreeSet::new();
        while list.len() < wanted {
            list.insert(choices.below(members));
        }
        let words: Vec<String> = list.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "group pick {group} {}", words.join(" "));
        let _ = writeln!(text, "add select_many hdr.q.a:{group} @group({group})");
        groups.push(list.into_iter().collect::<Vec<usize>>());
    }
    for _ in 0..packets {
        let group = choices.below(groups.len());
        let query = Query {
            which: 8,
            a: group as u64,
            b: any(Field::B, choices),
            c: any(Field::C, choices),
        };
        // BMv2 keeps 32 bits of a selector's hash.
        let hash = query.c & 0xffff_ffff;
        let pick = |list: &Vec<usize>| list[(hash % list.len() as u64) as usize] as u16;
        queries.push((query, groups.get(group).map_or(MISS, pick)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_one_case_that_meets_its_entries() {
        let text = case(7, 200, 50);
        assert_eq!(text, case(7, 200, 50));
        assert_ne!(text, case(8, 200, 50));
        let parsed = stf::parse(&text).expect("what is written can be read");
        assert!(parsed.statements.len() > 7 * 200 + 8 * 50 * 2);
        let misses = text.matches(" ffff ").count();
        assert!((1..8 * 50 / 2).contains(&misses), "{misses} misses");
    }
}

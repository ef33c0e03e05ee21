//! Tables of a few entries, whose keys compiled code compares with all of them at once: both
//! executors find what a search of all entries finds, for every number of entries up to more than
//! are compared so, and for keys of one word and of two.

use std::sync::Arc;

use p4exec::tables::{ActionCall, EntryAction, EntryPriority, FieldMatch, NewEntry};
use p4exec::value::Bits;
use p4exec::{Batch, Executor, ExecutorKind, Update, executor};
use p4front::Options;
use p4test::compile_text;
use packetgen::Choices;
use quantities::{Nanos, PortId};

use super::by_json::ByJson;

/// A packet's kind says which table it comes to; what it finds is its mark.
const PROGRAM: &str = "
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> mark; bit<16> a; bit<32> b; bit<64> c; bit<128> d; }
struct headers { h_t h; }
struct meta { }
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { packet.extract(h.h); transition accept; }
}
control V(inout headers h, inout meta m) { apply {} }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action mark(bit<8> mark) { h.h.mark = mark; }
    table short_exact { key = { h.h.a: exact; } actions = { mark; } default_action = mark(0); }
    table long_exact { key = { h.h.a: exact; h.h.b: exact; h.h.c: exact; } actions = { mark; } default_action = mark(0); }
    table short_masked { key = { h.h.a: ternary; } actions = { mark; } default_action = mark(0); }
    table masked { key = { h.h.a: ternary; h.h.b: ternary; } actions = { mark; } default_action = mark(0); }
    table long_masked { key = { h.h.c: ternary; h.h.b: ternary; } actions = { mark; } default_action = mark(0); }
    table prefixes { key = { h.h.b: lpm; } actions = { mark; } default_action = mark(0); }
    table more_prefixes { key = { h.h.a: exact; h.h.c: lpm; } actions = { mark; } default_action = mark(0); }
    table long_prefixes { key = { h.h.d: lpm; } actions = { mark; } default_action = mark(0); }
    apply {
        s.egress_spec = 1;
        if (h.h.kind == 0) { short_exact.apply(); }
        else if (h.h.kind == 1) { long_exact.apply(); }
        else if (h.h.kind == 2) { short_masked.apply(); }
        else if (h.h.kind == 3) { masked.apply(); }
        else if (h.h.kind == 4) { long_masked.apply(); }
        else if (h.h.kind == 5) { prefixes.apply(); }
        else if (h.h.kind == 6) { more_prefixes.apply(); }
        else { long_prefixes.apply(); }
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply {} }
control C(inout headers h, inout meta m) { apply {} }
control D(packet_out packet, in headers h) { apply { packet.emit(h.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// The fields of a packet: their widths, and how many bytes stand before each.
const FIELDS: [(char, u32, usize); 4] = [('a', 16, 2), ('b', 32, 4), ('c', 64, 8), ('d', 128, 16)];

/// How a field is matched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Exact,
    Masked,
    Prefix,
}

/// The tables by kind of packet, with their keys.
const TABLES: [(&str, &[(char, How)]); 8] = [
    ("I.short_exact", &[('a', How::Exact)]),
    (
        "I.long_exact",
        &[('a', How::Exact), ('b', How::Exact), ('c', How::Exact)],
    ),
    ("I.short_masked", &[('a', How::Masked)]),
    ("I.masked", &[('a', How::Masked), ('b', How::Masked)]),
    ("I.long_masked", &[('c', How::Masked), ('b', How::Masked)]),
    ("I.prefixes", &[('b', How::Prefix)]),
    ("I.more_prefixes", &[('a', How::Exact), ('c', How::Prefix)]),
    ("I.long_prefixes", &[('d', How::Prefix)]),
];

/// Numbers of entries: around those that are compared in one go, and beyond those that are compared
/// at all.
const COUNTS: [usize; 9] = [0, 1, 3, 4, 5, 8, 15, 16, 17];

fn low(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

fn field(name: char) -> (u32, usize) {
    let known = FIELDS.iter().find(|(known, ..)| *known == name);
    known.map_or((1, 0), |(_, width, at)| (*width, *at))
}

/// Values that differ at either end, so that many packets match something.
fn value(width: u32, choices: &mut Choices<'_>) -> u128 {
    let [high, end] = [(); 2].map(|()| choices.below(8) as u128);
    high << (width - 3) | end
}

/// An entry, to be searched through.
struct Known {
    rank: i32,
    mark: u8,
    /// By field of the key: value and mask.
    key: Vec<(u128, u128)>,
}

/// Fills a table of both switches, and of the JSON, with some entries, all different.
fn fill(
    (switches, json): (&mut [Box<dyn Executor + Send>], &mut ByJson),
    (name, key): (&str, &[(char, How)]),
    count: usize,
    choices: &mut Choices<'_>,
) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for _ in 0..1000 {
        if known.len() == count {
            break;
        }
        let mark = known.len() as u8 + 1;
        let mut entry = Known {
            rank: 0,
            mark,
            key: Vec::new(),
        };
        let mut fields = Vec::new();
        for (of, how) in key {
            let (width, _) = field(*of);
            let value = value(width, choices);
            let bits = |value| Bits::from_u128(width, value);
            let (mask, matched) = match how {
                How::Exact => (low(width), FieldMatch::Exact(bits(value))),
                How::Masked => {
                    let ends = [low(width), 7, 7 << (width - 3), 1];
                    let mask = ends[choices.below(4)];
                    let (value, ones) = (bits(value & mask), bits(mask));
                    entry.rank = i32::from(mark) + 1;
                    (mask, FieldMatch::Ternary { value, mask: ones })
                }
                How::Prefix => {
                    let prefix_len = [width, 3, 2, width - 1][choices.below(4)];
                    let mask = low(width) & !low(width - prefix_len);
                    let value = bits(value & mask);
                    entry.rank = prefix_len as i32;
                    (mask, FieldMatch::Lpm { value, prefix_len })
                }
            };
            fields.push(matched);
            entry.key.push((value & mask, mask));
        }
        if known.iter().any(|other| other.key == entry.key) {
            continue;
        }
        let masked = key.iter().any(|(_, how)| *how == How::Masked);
        let mut made = None;
        for switch in &mut *switches {
            let state = switch.state_mut();
            let table = state.table_named(name).expect("a table of the program");
            let action = state.action_named("I.mark").expect("its action");
            let call = ActionCall {
                action,
                args: vec![Bits::from_u64(8, u64::from(mark))],
            };
            let entry = NewEntry {
                key: fields.clone(),
                priority: EntryPriority(if masked { entry.rank } else { 0 }),
                action: EntryAction::Call(call),
                is_const: false,
                options: Default::default(),
            };
            let update = Update::InsertEntry { table, entry };
            let taken = state.apply(update.clone(), Nanos::new(0));
            taken.expect("it is taken");
            made = Some(update);
        }
        json.take(&made.expect("switches"), true);
        known.push(entry);
    }
    assert_eq!(known.len(), count, "{name} has so many different keys");
    known
}

/// What a search of all entries finds for a packet.
fn searched(known: &[Known], key: &[(char, How)], packet: &[u8]) -> u8 {
    let of_packet: Vec<u128> = key
        .iter()
        .map(|(of, _)| {
            let (width, at) = field(*of);
            let bytes = &packet[at..at + width as usize / 8];
            bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | u128::from(*byte))
        })
        .collect();
    let matches = |entry: &&Known| {
        let mut pairs = entry.key.iter().zip(&of_packet);
        pairs.all(|((value, mask), field)| field & mask == *value)
    };
    let best = known.iter().filter(matches).max_by_key(|entry| entry.rank);
    best.map_or(0, |entry| entry.mark)
}

fn packet(kind: usize, choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = vec![kind as u8, 0xff];
    for (_, width, _) in FIELDS {
        let value = value(width, choices).to_be_bytes();
        bytes.extend(&value[16 - width as usize / 8..]);
    }
    bytes
}

#[test]
fn few_entries_at_once_are_found_as_one_by_one() {
    let program = compile_text("lanes.p4", PROGRAM, &Options::default());
    let program = program.expect("the program compiles");
    let mut choices = Choices::seeded(5);
    let mut found = 0;
    for count in COUNTS {
        let mut switches = [ExecutorKind::Interp, ExecutorKind::Compile]
            .map(|kind| executor(kind, Arc::clone(&program)).expect("it starts"));
        let mut json = ByJson::of(&program);
        for (kind, table) in TABLES.into_iter().enumerate() {
            let known = fill((&mut switches, &mut json), table, count, &mut choices);
            let packets: Vec<Vec<u8>> = (0..200).map(|_| packet(kind, &mut choices)).collect();
            let list: Vec<(PortId, &[u8])> =
                packets.iter().map(|p| (PortId::new(1), &p[..])).collect();
            for switch in &mut switches {
                let mut out = Batch::default();
                switch.process_batch(Nanos::new(0), &list, &mut out);
                assert_eq!(out.sent.len(), packets.len());
                json.send(Nanos::new(0), &packets, &out, &table.0);
                for (sent, packet) in out.sent.iter().zip(&packets) {
                    let mark = searched(&known, table.1, packet);
                    assert_eq!(
                        out.packet(sent)[1],
                        mark,
                        "{} of {count}: {packet:?}",
                        table.0
                    );
                    found += usize::from(mark > 0);
                }
            }
        }
    }
    assert!(found > 5000, "packets match entries: {found}");
}

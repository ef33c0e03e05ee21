//! Tables of members and groups, few entries and many, groups of any size: what is picked while
//! entries, groups, members and ports change.

use p4exec::tables::{
    ActionCall, EntryAction, EntryPriority, FieldMatch, GroupId, GroupMember, MemberId, NewEntry,
};
use p4exec::value::Bits;
use p4exec::{Departure, RuntimeState, Update};
use p4ir::ExternId;
use packetgen::Choices;
use quantities::{Nanos, PortId};

use super::both::{both_of, both_send, both_take, of_one_header};
use super::by_json::ByJson;

/// Changes, with packets after each.
const ROUNDS: usize = 1500;

/// Members of each profile.
const MEMBERS: u32 = 12;

/// Groups of each profile.
const GROUPS: u32 = 6;

/// Keys of each table. `one` has never more than one entry.
const KEYS: [(&str, &[&str]); 5] = [
    ("one", &["h.h.a: exact;"]),
    ("exact", &["h.h.a: exact;"]),
    ("masked", &["h.h.a: ternary;"]),
    ("long", &["h.h.b: exact;", "h.h.a: exact;"]),
    ("both", &["h.h.b: ternary;", "h.h.a: ternary;"]),
];

fn program() -> String {
    let mut tables = String::new();
    let mut applied = String::new();
    for (nth, (name, keys)) in KEYS.iter().enumerate() {
        let keys = keys.concat();
        tables += &format!(
            "@max_group_size(60) action_selector(HashAlgorithm.identity, 64, 16) {name}_members;
             table {name} {{ key = {{ {keys} h.h.pick: selector; }} actions = {{ mark; drop; }} implementation = {name}_members; size = 32; }}\n"
        );
        applied += &format!("if (h.h.kind == {nth} && {name}.apply().hit) {{ h.h.hit = 1; }}\n");
    }
    let declared = format!(
        "
    action mark(bit<80> mark, bit<9> port) {{ h.h.mark = mark; s.egress_spec = port; }}
    action drop() {{ mark_to_drop(s); }}
    {tables}"
    );
    of_one_header(
        "bit<8> kind; bit<16> a; bit<40> b; bit<16> pick; bit<80> mark; bit<8> hit;",
        &declared,
        &applied,
    )
}

/// The key and the priority of an entry.
fn key(nth_table: usize, entry: u64) -> (Vec<FieldMatch>, EntryPriority) {
    let (_, keys) = KEYS[nth_table];
    let mask = if entry.is_multiple_of(4) { 0xc } else { 0xf };
    let fields = keys.iter().rev().enumerate().map(|(nth, field)| {
        let width = if nth == 0 { 16 } else { 40 };
        // The second field has its place beyond 32 bits.
        let up = if nth == 0 { 0 } else { 34 };
        let bits = |value: u64| Bits::from_u64(width, value << up);
        match field.contains("ternary") {
            true => FieldMatch::Ternary {
                value: bits(entry & mask),
                mask: bits(mask),
            },
            false => FieldMatch::Exact(bits(entry)),
        }
    });
    let mut fields: Vec<FieldMatch> = fields.collect();
    fields.reverse();
    let masked = keys[0].contains("ternary");
    let priority = if masked { 1 + entry as i32 } else { 0 };
    (fields, EntryPriority(priority))
}

fn members(choices: &mut Choices<'_>) -> Vec<GroupMember> {
    let first = choices.below(MEMBERS as usize) as u32;
    let count = choices.below(MEMBERS as usize) as u32;
    let member = |nth: u32| GroupMember {
        member: MemberId(1 + (first + nth) % MEMBERS),
        weight: 1 + choices.below(3) as u32 / 2,
        watch_port: choices.one_in(3).then(|| PortId::new(1 + (nth % 4) as u16)),
    };
    (0..count).map(member).collect()
}

fn call(state: &RuntimeState, choices: &mut Choices<'_>) -> ActionCall {
    let action = state.action_named("I.mark").expect("an action");
    let mark = choices.below(1 << 30) as u128;
    ActionCall {
        action,
        args: vec![
            Bits::from_u128(80, mark << 50 | mark),
            Bits::from_u64(9, choices.below(8) as u64),
        ],
    }
}

/// A change of a table or of its profile.
fn change(state: &RuntimeState, choices: &mut Choices<'_>) -> Update {
    let nth = choices.below(KEYS.len());
    let name = KEYS[nth].0;
    let table = state.table_named(&format!("I.{name}"));
    let table = table.expect("a table of the program");
    let profile = state.extern_named(&format!("I.{name}_members"));
    let profile: ExternId = profile.expect("its members");
    let entries = if name == "one" { 1 } else { 8 };
    let (key, priority) = key(nth, 3 + choices.below(entries) as u64);
    let member = MemberId(1 + choices.below(MEMBERS as usize) as u32);
    let group = GroupId(1 + choices.below(GROUPS as usize) as u32);
    let action = match choices.below(3) {
        0 => EntryAction::Member(member),
        _ => EntryAction::Group(group),
    };
    match choices.below(8) {
        0 => Update::InsertMember {
            profile,
            member,
            call: call(state, choices),
        },
        1 => Update::ModifyMember {
            profile,
            member,
            call: call(state, choices),
        },
        2 => Update::InsertGroup {
            profile,
            group,
            members: members(choices),
        },
        3 => Update::ModifyGroup {
            profile,
            group,
            members: members(choices),
        },
        4 => Update::DeleteEntry {
            table,
            key,
            priority,
        },
        5 => Update::ModifyEntry {
            table,
            key,
            priority,
            action,
            options: None,
        },
        _ => Update::InsertEntry {
            table,
            entry: NewEntry {
                key,
                priority,
                action,
                is_const: false,
                options: Default::default(),
            },
        },
    }
}

fn packet(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = vec![choices.below(KEYS.len()) as u8];
    let entry = 3 + choices.below(9) as u64;
    bytes.extend((entry as u16).to_be_bytes());
    // Few have the key of no entry.
    let other = if choices.one_in(20) { 1 } else { entry };
    bytes.extend_from_slice(&(other << 34).to_be_bytes()[3..]);
    bytes.extend((choices.below(1 << 16) as u16).to_be_bytes());
    bytes.extend([0; 11]);
    bytes
}

#[test]
fn places_of_groups_are_picked_alike() {
    let mut switches = both_of("picks.p4", &program());
    let mut json = ByJson::of(switches[0].state().program());
    let mut choices = Choices::seeded(12);
    let mut hits = [0; KEYS.len()];
    let mut changed = 0;
    for round in 0..ROUNDS {
        // First the tables are filled; then they change a few times between packets.
        let changes = if round == 0 { 500 } else { choices.below(4) };
        for _ in 0..changes {
            let update = change(switches[0].state(), &mut choices);
            let taken = both_take(&mut switches, update.clone());
            json.take(&update, taken);
            changed += usize::from(taken);
        }
        if choices.one_in(5) {
            let port = PortId::new(1 + choices.below(4) as u16);
            let up = choices.one_in(2);
            for switch in &mut switches {
                switch.state_mut().set_port_up(port, up);
            }
            json.state_mut().set_port_up(port, up);
        }
        let count = 1 + choices.below(60);
        let packets: Vec<Vec<u8>> = (0..count).map(|_| packet(&mut choices)).collect();
        let what = format!("round {round}");
        let expected = both_send(&mut switches, &packets, &what);
        json.send(Nanos::new(0), &packets, &expected, &what);
        let marked = |sent: &Departure| {
            let bytes = expected.packet(sent);
            (bytes[bytes.len() - 2] > 0 && bytes.last() == Some(&1)).then(|| bytes[0])
        };
        for kind in expected.sent.iter().filter_map(marked) {
            hits[usize::from(kind)] += 1;
        }
    }
    assert!(
        hits.iter().all(|hits| *hits > 300) && changed > 500,
        "{hits:?} hits, {changed} changes"
    );
}

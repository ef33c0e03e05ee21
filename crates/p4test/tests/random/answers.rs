//! Answers of look-ups that are kept: packets ask the same again and again, and between batches
//! entries, defaults and whole states change.

use p4exec::tables::{ActionCall, EntryAction, EntryPriority, FieldMatch, NewEntry};
use p4exec::value::Bits;
use p4exec::{RuntimeState, Update};
use packetgen::Choices;
use quantities::Nanos;

use super::both::{both_of, both_send, both_take, of_one_header};
use super::by_json::ByJson;

/// Entries of each table: more than are compared one by one.
const ENTRIES: u32 = 40;

/// Changes, with packets after each.
const ROUNDS: usize = 600;

/// Keys of one to five words, and one table that counts.
const TABLES: [&str; 6] = ["one", "two", "three", "four", "five", "counted"];

fn program() -> String {
    let table = |(nth, name): (usize, &&str)| {
        let words = [
            "a: ternary;",
            "b: exact;",
            "c: exact;",
            "d: exact;",
            "e: exact;",
        ];
        let keys: String = words[..=nth.min(4)]
            .iter()
            .map(|word| format!("h.h.{word} "))
            .collect();
        let counters = if *name == "counted" {
            "counters = seen;"
        } else {
            ""
        };
        format!(
            "table {name} {{ key = {{ {keys} }} actions = {{ mark; drop; NoAction; }} default_action = drop(); {counters} size = 64; }}\n"
        )
    };
    let tables: String = TABLES.iter().enumerate().map(table).collect();
    let applied: String = TABLES
        .iter()
        .enumerate()
        .map(|(nth, name)| {
            format!("if (h.h.kind == {nth} && {name}.apply().hit) {{ h.h.hit = 1; }}\n")
        })
        .collect();
    let declared = format!(
        "
    direct_counter(CounterType.packets) seen;
    action mark(bit<8> mark) {{ h.h.mark = mark; s.egress_spec = 2; }}
    action drop() {{ mark_to_drop(s); }}
    {tables}"
    );
    of_one_header(
        "bit<8> kind; bit<64> a; bit<64> b; bit<64> c; bit<64> d; bit<64> e; bit<8> mark; bit<8> hit;",
        &declared,
        &applied,
    )
}

/// The key and the priority of an entry. Every eighth one matches seven others, too.
fn key(nth_table: usize, entry: u32) -> (Vec<FieldMatch>, EntryPriority) {
    let mask = if entry.is_multiple_of(8) { 0x38 } else { 0x3f };
    let bits = |value: u32| Bits::from_u64(64, u64::from(value));
    let mut key = vec![FieldMatch::Ternary {
        value: bits(entry & mask),
        mask: bits(mask),
    }];
    for _ in 0..nth_table.min(4) {
        key.push(FieldMatch::Exact(bits(7)));
    }
    (key, EntryPriority(1 + (entry % 8) as i32))
}

/// A change of a table: an entry comes, goes or does something else, or the default does.
fn change(state: &RuntimeState, choices: &mut Choices<'_>) -> Update {
    let nth = choices.below(TABLES.len());
    let table = state.table_named(&format!("I.{}", TABLES[nth]));
    let table = table.expect("a table of the program");
    let action = state.action_named("I.mark").expect("its action");
    let call = ActionCall {
        action,
        args: vec![Bits::from_u64(8, choices.below(256) as u64)],
    };
    let (key, priority) = key(nth, choices.below(ENTRIES as usize) as u32);
    match choices.below(4) {
        0 => Update::DeleteEntry {
            table,
            key,
            priority,
        },
        1 => Update::ModifyEntry {
            table,
            key,
            priority,
            action: EntryAction::Call(call),
            options: None,
        },
        2 => Update::SetDefault {
            table,
            call: choices.one_in(2).then_some(call),
        },
        _ => Update::InsertEntry {
            table,
            entry: NewEntry {
                key,
                priority,
                action: EntryAction::Call(call),
                is_const: false,
                options: Default::default(),
            },
        },
    }
}

fn packet(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = vec![choices.below(TABLES.len()) as u8];
    bytes.extend((choices.below(64) as u64).to_be_bytes());
    for _ in 0..4 {
        // Few do not come near an entry.
        let value = if choices.one_in(20) { 8_u64 } else { 7 };
        bytes.extend(value.to_be_bytes());
    }
    bytes.extend([0; 2]);
    bytes
}

#[test]
fn answers_are_forgotten_when_tables_change() {
    let mut switches = both_of("answers.p4", &program());
    let mut json = ByJson::of(switches[0].state().program());
    let mut choices = Choices::seeded(11);
    let (mut kept, mut kept_by_json): (Option<RuntimeState>, Option<RuntimeState>) = (None, None);
    let (mut hits, mut changed) = (0, 0);
    for round in 0..ROUNDS {
        // First the tables are filled; then they change one at a time.
        let changes = if round == 0 { 3000 } else { choices.below(2) };
        for _ in 0..changes {
            let update = change(switches[0].state(), &mut choices);
            let taken = both_take(&mut switches, update.clone());
            json.take(&update, taken);
            changed += usize::from(taken);
        }
        if choices.one_in(20) {
            // The whole state is that of some time ago, and this one's turn comes again.
            let now = switches[0].state().clone();
            let then = kept.replace(now.clone()).unwrap_or(now);
            for switch in &mut switches {
                switch.state_mut().clone_from(&then);
            }
            let now = json.state_mut().clone();
            let then = kept_by_json.replace(now.clone()).unwrap_or(now);
            json.state_mut().clone_from(&then);
        }
        // A copy takes the state's place, and what was there goes on to change.
        let mut before = switches.each_mut().map(|switch| {
            let copy = switch.state().clone();
            std::mem::replace(switch.state_mut(), copy)
        });
        for _ in 0..50 {
            let update = change(&before[1], &mut choices);
            // What is refused changes nothing.
            let _ = before[1].apply(update, Nanos::new(0));
        }
        let count = 1 + choices.below(60);
        let packets: Vec<Vec<u8>> = (0..count).map(|_| packet(&mut choices)).collect();
        let what = format!("round {round}");
        let expected = both_send(&mut switches, &packets, &what);
        json.send(Nanos::new(0), &packets, &expected, &what);
        let hit = |sent: &&p4exec::Departure| expected.packet(sent).last() == Some(&1);
        hits += expected.sent.iter().filter(hit).count();
    }
    assert!(
        hits > 5000 && changed > 500,
        "{hits} hits, {changed} changes"
    );
}

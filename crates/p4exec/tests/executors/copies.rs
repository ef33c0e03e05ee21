//! Transactions on one copy of the control part, replayed on the other: both stay alike, refused
//! changes leave nothing, and the data part follows.

use std::sync::Arc;

use p4exec::externs::counter::CounterCell;
use p4exec::state::{CloneSession, EntryRef};
use p4exec::tables::{
    EntryAction, EntryOptions, EntryPriority, FieldMatch, GroupId, GroupMember, MemberId, NewEntry,
    WeightedCall,
};
use p4exec::value::Bits;
use p4exec::{ControlState, ExecutorKind, RuntimeState, Update, executor};
use p4ir::MatchKind;
use proptest::prelude::*;
use quantities::{Bytes, Nanos, PortId};

use super::build::*;
use super::state::{set_port, with_selector};

/// An update in small numbers, so that keys, members and groups meet.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u8, u8),
    Modify(u8, u8, u8),
    Delete(u8, u8),
    Default(Option<u8>),
    InsertMember(u8),
    ModifyMember(u8, u8),
    DeleteMember(u8),
    Group(u8, u8, bool),
    DeleteGroup(u8),
    Counter(u8, u8, u8),
    Multicast(u8, bool),
    Session(u8, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 0u8..4;
    prop_oneof![
        6 => (0u8..12, n(), 0u8..8).prop_map(|(k, p, a)| Step::Insert(k, p, a)),
        2 => (0u8..12, n(), 0u8..8).prop_map(|(k, p, a)| Step::Modify(k, p, a)),
        4 => (0u8..12, n()).prop_map(|(k, p)| Step::Delete(k, p)),
        1 => proptest::option::of(n()).prop_map(Step::Default),
        3 => n().prop_map(Step::InsertMember),
        1 => (n(), n()).prop_map(|(m, p)| Step::ModifyMember(m, p)),
        1 => n().prop_map(Step::DeleteMember),
        3 => (n(), 0u8..16, any::<bool>()).prop_map(|(g, m, new)| Step::Group(g, m, new)),
        1 => n().prop_map(Step::DeleteGroup),
        1 => (0u8..12, n(), n()).prop_map(|(k, p, v)| Step::Counter(k, p, v)),
        1 => (n(), any::<bool>()).prop_map(|(g, set)| Step::Multicast(g, set)),
        1 => (n(), any::<bool>()).prop_map(|(s, set)| Step::Session(s, set)),
    ]
}

/// One of twelve keys of a kind; several match the same packets.
fn key(kind: MatchKind, n: u8) -> Vec<FieldMatch> {
    let bits = |v: u8| Bits::from_u64(8, u64::from(v));
    vec![match kind {
        MatchKind::Lpm => FieldMatch::Lpm {
            value: bits(n << 4),
            prefix_len: u32::from(n % 9),
        },
        MatchKind::Ternary => FieldMatch::Ternary {
            value: bits(n),
            mask: bits(n | 0x30 << (n % 3)),
        },
        MatchKind::Range => FieldMatch::Range {
            low: bits(n),
            high: bits(n + 7 * (n % 5)),
        },
        MatchKind::Optional => FieldMatch::Optional((n > 1).then(|| bits(n))),
        _ => FieldMatch::Exact(bits(n)),
    }]
}

fn update(state: &ControlState, fresh: &RuntimeState, kind: MatchKind, step: &Step) -> Update {
    let table = state.table_named("t").unwrap();
    let profile = state.extern_named("action_selector").unwrap();
    let call = |port: u8| set_port(fresh, u64::from(port));
    let priority = |p: &u8| EntryPriority(i32::from(*p));
    let action = |a: u8| match a {
        0..=2 => EntryAction::Member(MemberId(u32::from(a))),
        3..=5 => EntryAction::Group(GroupId(u32::from(a - 3))),
        _ => EntryAction::OneShot(vec![
            WeightedCall {
                call: call(a),
                weight: 2,
                watch_port: Some(PortId::new(1)),
            },
            WeightedCall {
                call: call(1),
                weight: 1,
                watch_port: None,
            },
        ]),
    };
    let options = |a: u8| EntryOptions {
        controller_metadata: vec![a; usize::from(a % 3)],
        counter: (a % 2 == 1).then_some(CounterCell {
            packets: 5,
            bytes: Bytes::new(7),
        }),
        ..EntryOptions::default()
    };
    match step {
        Step::Insert(k, p, a) => Update::InsertEntry {
            table,
            entry: NewEntry {
                key: key(kind, *k),
                priority: priority(p),
                action: action(*a),
                is_const: false,
                options: options(*a),
            },
        },
        Step::Modify(k, p, a) => Update::ModifyEntry {
            table,
            key: key(kind, *k),
            priority: priority(p),
            action: action(*a),
            options: (a % 4 < 2).then(|| options(*a)),
        },
        Step::Delete(k, p) => Update::DeleteEntry {
            table,
            key: key(kind, *k),
            priority: priority(p),
        },
        Step::Default(port) => Update::SetDefault {
            table,
            call: port.map(call),
        },
        Step::InsertMember(m) => Update::InsertMember {
            profile,
            member: MemberId(u32::from(*m)),
            call: call(*m),
        },
        Step::ModifyMember(m, port) => Update::ModifyMember {
            profile,
            member: MemberId(u32::from(*m)),
            call: call(*port),
        },
        Step::DeleteMember(m) => Update::DeleteMember {
            profile,
            member: MemberId(u32::from(*m)),
        },
        Step::Group(g, set, new) => {
            let members = (0..4u32)
                .filter(|m| set >> m & 1 == 1)
                .map(|m| GroupMember {
                    member: MemberId(m),
                    weight: 1 + m,
                    watch_port: (m == 2).then(|| PortId::new(2)),
                });
            let (group, members) = (GroupId(u32::from(*g)), members.collect());
            if *new {
                Update::InsertGroup {
                    profile,
                    group,
                    members,
                }
            } else {
                Update::ModifyGroup {
                    profile,
                    group,
                    members,
                }
            }
        }
        Step::DeleteGroup(g) => Update::DeleteGroup {
            profile,
            group: GroupId(u32::from(*g)),
        },
        Step::Counter(k, p, v) => Update::SetDirectCounter {
            table,
            entry: EntryRef::Key {
                key: key(kind, *k),
                priority: priority(p),
            },
            value: CounterCell {
                packets: u64::from(*v),
                bytes: Bytes::new(1),
            },
        },
        Step::Multicast(g, set) => Update::SetMulticastGroup {
            group: u16::from(*g),
            replicas: set.then(|| vec![replica(1, u16::from(*g))]),
        },
        Step::Session(s, set) => Update::SetCloneSession {
            session: u32::from(*s),
            config: set.then(CloneSession::default),
        },
    }
}

/// All that can be read of a control part, slots and winners included.
fn read(control: &ControlState) -> Vec<String> {
    let mut lines = Vec::new();
    for (_, table) in control.tables() {
        lines.push(format!("{:?}", table.default_action()));
        let entries = table.iter();
        lines.extend(entries.map(|e| format!("{} {:?}", e.handle(), e.to_entry())));
        let winners: Vec<_> = (0..256).map(|key| table.lookup(&[key])).collect();
        lines.push(format!("{winners:?}"));
    }
    let id = control.extern_named("action_selector").unwrap();
    lines.push(format!("{:?}", control.profile(id).unwrap()));
    lines.push(format!("{:?}", control.replication));
    lines
}

fn kind() -> impl Strategy<Value = MatchKind> {
    prop_oneof![
        Just(MatchKind::Exact),
        Just(MatchKind::Lpm),
        Just(MatchKind::Ternary),
        Just(MatchKind::Range),
        Just(MatchKind::Optional),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn copies_stay_alike(
        kind in kind(),
        batches in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(step(), 1..24)),
            1..12,
        ),
    ) {
        let fresh = RuntimeState::new(with_selector(kind)).unwrap();
        // One state run by swaps, one by whole batches on itself.
        let (mut swapped, mut plain) = (fresh.clone(), fresh.clone());
        let mut copy = Arc::new(ControlState::clone(&fresh.control));
        let now = Nanos::new(9);
        for (whole, steps) in batches {
            let updates: Vec<_> = steps.iter().map(|s| update(&copy, &fresh, kind, s)).collect();
            let before = read(&copy);
            let mut transaction = Arc::make_mut(&mut copy).begin();
            let results: Vec<_> = updates.iter().map(|u| transaction.apply(u.clone())).collect();
            let failed = results.iter().position(Result::is_err);
            if let (true, Some(first)) = (whole, failed) {
                drop(transaction);
                prop_assert_eq!(read(&copy), before, "nothing is left of a refused batch");
                let refused = plain.apply_batch(updates, now).unwrap_err();
                prop_assert_eq!(Err(refused.1), results[first].clone());
            } else {
                let delta = transaction.commit();
                swapped.swap_control(&mut copy, &delta, now);
                prop_assert_eq!(read(&copy), before, "the old copy comes back as it was");
                delta.replay(Arc::make_mut(&mut copy));
                let each = updates.into_iter().map(|u| plain.apply_batch(vec![u], now).map_err(|(_, e)| e));
                prop_assert_eq!(each.collect::<Vec<_>>(), results);
            }
            prop_assert_eq!(read(&copy), read(&swapped.control));
            prop_assert_eq!(read(&copy), read(&plain.control));
        }
        let table = copy.table_named("t").unwrap();
        for entry in copy.table(table).unwrap().iter() {
            let slot = Some(entry.handle().0);
            let (a, b) = (swapped.cells(table).unwrap(), plain.cells(table).unwrap());
            prop_assert_eq!(a.counter(slot), b.counter(slot));
        }
    }
}

#[test]
fn marks_take_back_a_part() {
    let fresh = RuntimeState::new(with_selector(MatchKind::Ternary)).unwrap();
    let mut control = ControlState::clone(&fresh.control);
    let step = |c: &ControlState, s: Step| update(c, &fresh, MatchKind::Ternary, &s);
    let member = step(&control, Step::InsertMember(0));
    let inserts: Vec<_> = (0..4)
        .map(|k| step(&control, Step::Insert(k, 1, 0)))
        .collect();
    let delete = step(&control, Step::Delete(1, 1));
    let mut transaction = control.begin();
    transaction.apply(member).unwrap();
    for insert in &inserts[..3] {
        transaction.apply(insert.clone()).unwrap();
    }
    let kept = read(transaction.control());
    let mark = transaction.mark();
    transaction.apply(delete).unwrap();
    transaction.apply(inserts[3].clone()).unwrap();
    assert_ne!(read(transaction.control()), kept);
    transaction.roll_back(mark);
    assert_eq!(read(transaction.control()), kept);
    let delta = transaction.commit();
    let mut other = ControlState::clone(&fresh.control);
    delta.replay(&mut other);
    assert_eq!(read(&other), kept);
}

#[test]
fn direct_counters_of_entries_and_default_are_written_and_start_anew() {
    for executor_kind in ExecutorKind::ALL {
        let mut switch = executor(executor_kind, with_selector(MatchKind::Exact)).unwrap();
        let fresh = switch.state().clone();
        let make = |s: Step| update(&fresh.control, &fresh, MatchKind::Exact, &s);
        let table = fresh.table_named("t").unwrap();
        let state = switch.state_mut();
        let now = Nanos::default();
        let setup = [
            Step::InsertMember(0),
            Step::Insert(1, 0, 0),
            Step::Counter(1, 0, 3),
        ];
        state.apply_batch(setup.map(make).to_vec(), now).unwrap();
        let packets =
            |state: &RuntimeState, slot| state.cells(table).unwrap().counter(slot).packets;
        assert_eq!(packets(state, Some(0)), 3);
        send(&mut switch, &[1, 0]);
        assert_eq!(packets(switch.state(), Some(0)), 4);
        send(&mut switch, &[9, 0]);
        assert_eq!(
            packets(switch.state(), None),
            1,
            "a miss counts for the default"
        );
        let state = switch.state_mut();
        let clear = Update::SetDirectCounter {
            table,
            entry: EntryRef::Default,
            value: CounterCell::default(),
        };
        let again = vec![make(Step::Delete(1, 0)), make(Step::Insert(1, 0, 0)), clear];
        state.apply_batch(again, now).unwrap();
        assert_eq!(packets(state, Some(0)), 0, "a new entry counts from zero");
        assert_eq!(packets(state, None), 0);
        let meter = Update::SetDirectMeter {
            table,
            entry: EntryRef::Default,
            config: None,
        };
        let error = state.apply(meter, now).unwrap_err();
        assert!(error.to_string().contains("no direct meter"), "{error}");
    }
}

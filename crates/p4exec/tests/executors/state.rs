//! Selectors, direct counters, and batches of updates that are done as a whole or not at all.

use std::sync::Arc;

use p4exec::externs::counter::CounterCell;
use p4exec::tables::{
    ActionCall, EntryAction, EntryOptions, EntryPriority, FieldMatch, GroupId, GroupMember,
    MemberId, NewEntry,
};
use p4exec::value::Bits;
use p4exec::{ExecutorKind, RuntimeState, StateError, Update, executor};
use p4ir::*;
use quantities::{Bytes, Nanos, PortId};

use super::build::*;

/// A program with a table of a key over `op` that sets `egress_spec`, held by a selector that
/// hashes `arg`, and a direct counter.
pub(crate) fn with_selector(kind: MatchKind) -> Arc<ValidProgram> {
    let mut b = Build::new();
    let (op, arg) = (Build::header().field(0), Build::header().field(1));
    let nine = b.p.types.bit(9);
    let algorithms = b.p.types.intern(Type::Enum {
        name: "HashAlgorithm".into(),
        members: vec!["identity".into()],
    });
    let algorithm = b.p.add_expr(ExprKind::Const(Const::Enum(0)), algorithms);
    let (size, width) = (b.number(32, 16), b.number(32, 16));
    let instance = |type_name: &str, args| ExternInstance {
        name: type_name.into(),
        ty: ExternType::from_name(type_name),
        type_args: vec![],
        args,
        annotations: vec![],
        span: Span::default(),
    };
    let args = [
        ("algorithm", algorithm),
        ("size", size),
        ("outputWidth", width),
    ];
    let args = args.map(|(n, e)| (n.to_owned(), e)).to_vec();
    let selector = b.p.externs.push(instance("action_selector", args));
    let direct = b.p.externs.push(instance("direct_counter", vec![]));
    let port = b.p.vars.push(Var {
        name: "port".into(),
        ty: nine,
        kind: VarKind::Param,
        span: Span::default(),
    });
    let set = b.copy(b.standard("egress_spec"), &Place::var(port));
    let param = Param {
        name: "port".into(),
        direction: Direction::None,
        var: port,
    };
    let action = |name: &str, params, body| Action {
        name: name.into(),
        params,
        body,
        annotations: vec![],
        span: Span::default(),
    };
    let set_port = b.p.actions.push(action("set_port", vec![param], vec![set]));
    let miss =
        b.p.actions
            .push(action("miss", vec![], vec![Build::drop_call()]));
    let (op, arg) = (b.read(&op), b.read(&arg));
    let key = |expr, kind, name: &str| Key {
        expr,
        kind,
        name: name.into(),
        annotations: vec![],
        span: Span::default(),
    };
    let offered = |action| TableAction {
        action,
        copy_in: vec![],
        copy_out: vec![],
        scope: ActionScope::TableAndDefault,
        annotations: vec![],
    };
    let table = b.p.tables.push(Table {
        name: "t".into(),
        prologue: vec![],
        keys: vec![
            key(op, KeyKind::Match(kind), "op"),
            key(arg, KeyKind::Selector, "arg"),
        ],
        actions: vec![offered(set_port), offered(miss)],
        default_action: DefaultAction {
            action: 1,
            args: vec![],
            is_const: false,
        },
        entries: vec![],
        const_entries: false,
        size: None,
        implementation: Some(selector),
        direct: vec![direct],
        idle_timeout: true,
        annotations: vec![],
        span: Span::default(),
    });
    let apply = stmt(StmtKind::ApplyTable {
        table,
        hit: None,
        action_run: None,
    });
    b.finish(vec![apply], vec![])
}

pub(crate) fn set_port(state: &RuntimeState, port: u64) -> ActionCall {
    let action = state.action_named("set_port").unwrap();
    ActionCall {
        action,
        args: vec![Bits::from_u64(9, port)],
    }
}

fn key(op: u64) -> Vec<FieldMatch> {
    vec![FieldMatch::Exact(Bits::from_u64(8, op))]
}

fn group_entry() -> NewEntry {
    let action = EntryAction::Group(GroupId(1));
    NewEntry {
        key: key(0),
        priority: EntryPriority(0),
        action,
        is_const: false,
        options: EntryOptions::default(),
    }
}

/// Members 1 and 2 send to ports 1 and 2; group 1 has both, each watching its port.
fn selector_updates(state: &RuntimeState) -> Vec<Update> {
    let profile = state.extern_named("action_selector").unwrap();
    let table = state.table_named("t").unwrap();
    let member = |id: u32| Update::InsertMember {
        profile,
        member: MemberId(id),
        call: set_port(state, u64::from(id)),
    };
    let members = [1, 2].map(|id| GroupMember {
        member: MemberId(id),
        weight: 1,
        watch_port: Some(PortId::new(id as u16)),
    });
    vec![
        member(1),
        member(2),
        Update::InsertGroup {
            profile,
            group: GroupId(1),
            members: members.to_vec(),
        },
        Update::InsertEntry {
            table,
            entry: group_entry(),
        },
    ]
}

#[test]
fn selectors_hash_and_follow_port_status() {
    for kind in ExecutorKind::ALL {
        let mut switch = executor(kind, with_selector(MatchKind::Exact)).unwrap();
        let updates = selector_updates(switch.state());
        switch
            .state_mut()
            .apply_batch(updates, Nanos::default())
            .unwrap();
        let port = |switch: &mut Switch, arg| send(switch, &[0, arg]).0.first().map(|s| s.0);
        let picks: Vec<_> = (0..4).map(|arg| port(&mut switch, arg)).collect();
        assert_eq!(
            picks,
            [Some(1), Some(2), Some(1), Some(2)],
            "identity hash modulo 2"
        );
        switch.state_mut().set_port_up(PortId::new(1), false);
        assert_eq!(port(&mut switch, 0), Some(2));
        switch.state_mut().set_port_up(PortId::new(2), false);
        assert_eq!(
            port(&mut switch, 0),
            None,
            "an empty group runs the default action"
        );
        let table = switch.state().table_named("t").unwrap();
        let entry = switch.state().table(table).unwrap().iter().next().unwrap();
        let cells = switch.state().cells(table).unwrap();
        assert_eq!(
            cells.counter(Some(entry.handle().0)),
            CounterCell {
                packets: 6,
                bytes: Bytes::new(12)
            }
        );
    }
}

#[test]
fn a_batch_is_done_as_a_whole_or_not_at_all() {
    for kind in ExecutorKind::ALL {
        let mut switch = executor(kind, with_selector(MatchKind::Exact)).unwrap();
        let profile = switch.state().extern_named("action_selector").unwrap();
        let table = switch.state().table_named("t").unwrap();
        let show = |switch: &Switch| {
            let state = switch.state();
            let entries: Vec<_> = state
                .table(table)
                .unwrap()
                .iter()
                .map(|e| (e.key(), e.action()))
                .collect();
            let p = state.profile(profile).unwrap();
            (
                entries,
                p.members().clone(),
                p.groups().clone(),
                state.replication().groups().clone(),
                state.table(table).unwrap().default_action(),
            )
        };
        let empty = show(&switch);
        let mut updates = selector_updates(switch.state());
        updates.push(Update::SetMulticastGroup {
            group: 1,
            replicas: Some(vec![replica(1, 1)]),
        });
        updates.push(Update::SetDefault {
            table,
            call: Some(set_port(switch.state(), 9)),
        });
        updates.push(Update::DeleteMember {
            profile,
            member: MemberId(1),
        });
        let now = Nanos::default();
        let (at, error) = switch
            .state_mut()
            .apply_batch(updates.clone(), now)
            .unwrap_err();
        assert_eq!(at, 6);
        assert!(error.to_string().contains("in use by group 1"), "{error}");
        assert_eq!(show(&switch), empty, "nothing is left of a failed batch");

        updates.pop();
        switch.state_mut().apply_batch(updates, now).unwrap();
        let full = show(&switch);
        let undone = vec![
            Update::SetDefault { table, call: None },
            Update::DeleteEntry {
                table,
                key: key(0),
                priority: EntryPriority(0),
            },
            Update::DeleteGroup {
                profile,
                group: GroupId(1),
            },
            Update::DeleteMember {
                profile,
                member: MemberId(2),
            },
            Update::ModifyMember {
                profile,
                member: MemberId(1),
                call: set_port(switch.state(), 5),
            },
            Update::SetMulticastGroup {
                group: 0,
                replicas: None,
            },
        ];
        let (at, error) = switch.state_mut().apply_batch(undone, now).unwrap_err();
        assert_eq!((at, error), (5, StateError::GroupZero));
        assert_eq!(show(&switch), full, "deletions are taken back too");

        let in_use = Update::DeleteGroup {
            profile,
            group: GroupId(1),
        };
        let error = switch.state_mut().apply(in_use, now).unwrap_err();
        assert!(
            error.to_string().contains("in use by 1 table entries"),
            "{error}"
        );
    }
}

/// Idle entries are told once per timeout, hits put that off, and slots may be asked for in parts.
#[test]
fn idle_entries_are_told_again_after_each_timeout() {
    let ms = |n: u64| Nanos::new(n * 1_000_000);
    let mut switch = executor(ExecutorKind::Interp, with_selector(MatchKind::Exact)).unwrap();
    let state = switch.state_mut();
    let table = state.table_named("t").unwrap();
    let mut updates = selector_updates(state);
    updates.pop();
    // Entries 0, 2 and 4 age in 10 ms, 6 in 25 ms, the others never.
    for op in 0..8u64 {
        let timeout = match op {
            0 | 2 | 4 => 10,
            6 => 25,
            _ => 0,
        };
        updates.push(Update::InsertEntry {
            table,
            entry: NewEntry {
                key: key(op),
                options: EntryOptions {
                    idle_timeout: ms(timeout),
                    ..EntryOptions::default()
                },
                ..group_entry()
            },
        });
    }
    state.apply_batch(updates, ms(1)).unwrap();
    let slots: Vec<u32> = {
        let entries = state.table(table).unwrap();
        let find = |op| entries.find(&key(op), EntryPriority(0)).unwrap().0;
        (0..8).map(find).collect()
    };
    let told = |state: &mut RuntimeState, now: u64, step: u32| -> Vec<u32> {
        let RuntimeState { control, data } = state;
        let parts = (0..16u32).step_by(step as usize);
        parts
            .flat_map(|start| data.take_idle(control, table, ms(now), start..start + step))
            .collect()
    };
    let of = |ops: &[usize]| ops.iter().map(|op| slots[*op]).collect::<Vec<u32>>();
    assert_eq!(told(state, 10, 16), of(&[]));
    // A packet hits entry 2 meanwhile.
    state.data.cells_mut(table).unwrap().hit(slots[2], ms(8));
    assert_eq!(told(state, 11, 3), of(&[0, 4]));
    assert_eq!(told(state, 12, 16), of(&[]), "told already");
    assert_eq!(told(state, 18, 1), of(&[2]));
    assert_eq!(told(state, 21, 16), of(&[0, 4]), "another timeout has gone");
    assert_eq!(told(state, 26, 16), of(&[6]));
    // A change starts the time anew; without a timeout nothing is told.
    let change = |op: u64, timeout: u64| Update::ModifyEntry {
        table,
        key: key(op),
        priority: EntryPriority(0),
        action: EntryAction::Group(GroupId(1)),
        options: Some(EntryOptions {
            idle_timeout: ms(timeout),
            ..EntryOptions::default()
        }),
    };
    state
        .apply_batch(vec![change(0, 10), change(4, 0)], ms(30))
        .unwrap();
    assert_eq!(told(state, 39, 16), of(&[2]));
    assert_eq!(told(state, 40, 16), of(&[0]));
}

//! All formats carry the same entries: whatever fits a program is written, read back and equal.

use p4runtime::P4InfoIndex;
use p4runtime::p4::config::v1::match_field::{Match, MatchType};
use p4runtime::p4::config::v1::{
    Action, ActionProfile, ActionRef, MatchField, P4Info, Preamble, Table, action::Param,
    action_ref::Scope,
};
use proptest::prelude::*;
use quantities::PortId;

use super::runtime_json::ProgramFiles;
use super::*;

const WIDTHS: [u32; 8] = [1, 9, 12, 16, 32, 48, 128, 254];

fn preamble(id: u32, name: &str) -> Option<Preamble> {
    let alias = name.rsplit('.').next().unwrap_or(name).to_owned();
    Some(Preamble {
        id,
        name: name.to_owned(),
        alias,
        ..Default::default()
    })
}

fn field(id: u32, name: &str, kind: MatchType, bits: u32) -> MatchField {
    MatchField {
        id,
        name: name.to_owned(),
        bitwidth: bits as i32,
        r#match: Some(Match::MatchType(kind.into())),
        ..Default::default()
    }
}

/// A program with a table of every kind and an action with a parameter of every width.
fn program() -> P4InfoIndex {
    let action = |id, name: &str, widths: &[u32]| Action {
        preamble: preamble(id, name),
        params: widths
            .iter()
            .zip(1..)
            .map(|(&bits, id)| Param {
                id,
                name: format!("p{bits}"),
                bitwidth: bits as i32,
                ..Default::default()
            })
            .collect(),
    };
    let refs = |ids: &[u32]| {
        let any = ids.iter().map(|&id| ActionRef {
            id,
            ..Default::default()
        });
        let only = ActionRef {
            id: 3,
            scope: Scope::DefaultOnly.into(),
            ..Default::default()
        };
        any.chain([only]).collect::<Vec<_>>()
    };
    let table = |id, name: &str, match_fields| Table {
        preamble: preamble(id, name),
        match_fields,
        action_refs: refs(&[1, 2]),
        ..Default::default()
    };
    let exact = WIDTHS.iter().zip(1..);
    let exact = exact.map(|(&bits, id)| field(id, &format!("e{bits}"), MatchType::Exact, bits));
    P4InfoIndex::new(P4Info {
        tables: vec![
            table(10, "c.exact", exact.collect()),
            table(11, "c.route", vec![field(1, "dst", MatchType::Lpm, 32)]),
            table(
                12,
                "c.acl",
                vec![
                    field(1, "tag", MatchType::Exact, 6),
                    field(2, "ports", MatchType::Ternary, 254),
                    field(3, "dst6", MatchType::Lpm, 128),
                    field(4, "l4", MatchType::Range, 16),
                    field(5, "vlan", MatchType::Optional, 12),
                ],
            ),
            Table {
                implementation_id: 20,
                ..table(13, "c.ecmp", vec![field(1, "group", MatchType::Exact, 16)])
            },
        ],
        actions: vec![
            action(1, "c.all", &WIDTHS),
            action(2, "c.send", &[9]),
            action(3, "NoAction", &[]),
        ],
        action_profiles: vec![ActionProfile {
            preamble: preamble(20, "c.sel"),
            table_ids: vec![13],
            with_selector: true,
            ..Default::default()
        }],
        ..Default::default()
    })
    .unwrap()
}

fn bits(width: u32) -> impl Strategy<Value = Bits> {
    let bytes = prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(255)], 32);
    bytes.prop_map(move |bytes| {
        (0..width)
            .filter(|i| bytes[*i as usize / 8] >> (i % 8) & 1 == 1)
            .fold(Bits::zero(width), |value, i| value.with_bit(i))
    })
}

fn call() -> impl Strategy<Value = NamedCall> {
    let all = WIDTHS.map(|width| bits(width).prop_map(move |v| (format!("p{width}").into(), v)));
    let all = Vec::from(all);
    prop_oneof![
        all.prop_map(|params| NamedCall {
            action: "c.all".into(),
            params
        }),
        bits(9).prop_map(|v| NamedCall {
            action: "c.send".into(),
            params: vec![("p9".into(), v)]
        }),
    ]
}

fn key(field: &'static str, value: Option<FieldMatch>) -> Option<Key> {
    Some(Key {
        field: field.into(),
        value: value?,
    })
}

fn entry(
    table: &'static str,
    keys: Vec<Key>,
    priority: Option<i32>,
    action: NamedAction,
) -> TableEntry {
    TableEntry {
        table: table.into(),
        keys,
        priority,
        action,
        is_default: false,
    }
}

fn exact_entry() -> impl Strategy<Value = TableEntry> {
    let values = Vec::from(WIDTHS.map(bits));
    (values, call()).prop_map(|(values, call)| {
        let keys = values.into_iter().zip(WIDTHS).map(|(value, width)| Key {
            field: format!("e{width}").into(),
            value: FieldMatch::Exact(value),
        });
        entry("c.exact", keys.collect(), None, NamedAction::Call(call))
    })
}

fn route_entry() -> impl Strategy<Value = TableEntry> {
    (bits(32), 0_u32..33, call()).prop_map(|(value, prefix_len, call)| {
        let keys = key("dst", FieldMatch::lpm(&value, prefix_len))
            .into_iter()
            .collect();
        entry("c.route", keys, None, NamedAction::Call(call))
    })
}

fn acl_entry() -> impl Strategy<Value = TableEntry> {
    let keys = (
        bits(6),
        bits(254),
        bits(254),
        bits(128),
        0_u32..129,
        bits(16),
        bits(16),
        prop::option::of(bits(12)),
    );
    (keys, 1..=i32::MAX, call()).prop_map(|(keys, priority, call)| {
        let (tag, ports, mask, dst6, prefix_len, a, b, vlan) = keys;
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        let keys = [
            key("tag", Some(FieldMatch::Exact(tag))),
            key("ports", FieldMatch::ternary(&ports, mask)),
            key("dst6", FieldMatch::lpm(&dst6, prefix_len)),
            key("l4", FieldMatch::range(low, high)),
            key("vlan", vlan.map(|vlan| FieldMatch::Optional(Some(vlan)))),
        ];
        entry(
            "c.acl",
            keys.into_iter().flatten().collect(),
            Some(priority),
            NamedAction::Call(call),
        )
    })
}

fn default_entry() -> impl Strategy<Value = TableEntry> {
    let action = prop_oneof![call(), Just(NamedCall::bare("NoAction"))];
    (prop_oneof![Just("c.exact"), Just("c.acl")], action).prop_map(|(table, call)| TableEntry {
        is_default: true,
        ..entry(table, vec![], None, NamedAction::Call(call))
    })
}

fn replicas() -> impl Strategy<Value = Vec<Replica>> {
    prop::collection::btree_set((0_u16..3, 0_u16..512), 0..5).prop_map(|set| {
        set.into_iter()
            .map(|(instance, port)| Replica {
                rid: instance,
                port: PortId::new(port),
            })
            .collect()
    })
}

fn switches() -> impl Strategy<Value = SwitchEntries> {
    let tables = prop::collection::vec(
        prop_oneof![exact_entry(), route_entry(), acl_entry(), default_entry()],
        0..12,
    );
    let members = prop::collection::vec(call(), 1..6);
    let groups = prop::collection::vec(prop::collection::btree_set(1_u32..6, 0..5), 1..4);
    let uses = prop::collection::vec(
        (bits(16), any::<prop::sample::Index>(), any::<bool>()),
        0..5,
    );
    let multicast = prop::collection::btree_map(1_u32..100, replicas(), 0..3);
    let clones = prop::collection::btree_map(1_u32..100, replicas(), 0..3);
    (tables, members, groups, uses, multicast, clones).prop_map(
        |(mut tables, members, groups, uses, multicast, clones)| {
            let count = members.len() as u32;
            for (group, index, to_member) in uses {
                let keys = vec![Key {
                    field: "group".into(),
                    value: FieldMatch::Exact(group),
                }];
                let action = if to_member {
                    NamedAction::Member(MemberId(index.index(members.len()) as u32 + 1))
                } else {
                    NamedAction::Group(GroupId(index.index(groups.len()) as u32 + 1))
                };
                tables.push(entry("c.ecmp", keys, None, action));
            }
            let mut entries = SwitchEntries {
                switch: "s1".into(),
                members: members
                    .into_iter()
                    .zip(1..)
                    .map(|(action, id)| Member {
                        profile: "c.sel".into(),
                        id,
                        action,
                    })
                    .collect(),
                groups: groups
                    .into_iter()
                    .zip(1..)
                    .map(|(members, id)| Group {
                        profile: "c.sel".into(),
                        id,
                        members: members.into_iter().filter(|&m| m <= count).collect(),
                    })
                    .collect(),
                tables,
                multicast_groups: multicast
                    .into_iter()
                    .map(|(id, replicas)| MulticastGroup { id, replicas })
                    .collect(),
                clone_sessions: clones
                    .into_iter()
                    .map(|(id, replicas)| {
                        let session = CloneSession {
                            replicas,
                            ..CloneSession::default()
                        };
                        (id, session)
                    })
                    .collect(),
            };
            Catalog::of_p4info(program().info())
                .arrange(&mut entries)
                .unwrap();
            entries
        },
    )
}

fn files() -> ProgramFiles {
    ProgramFiles {
        p4info: "p4/x.p4info.txtpb".into(),
        bmv2_json: "p4/x.json".into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn all_formats_carry_the_same(entries in switches()) {
        let info = program();
        let text = write_request::write_text(&entries, &info).unwrap();
        prop_assert_eq!(&write_request::read_text("s1", &text, &info).unwrap(), &entries);
        let message = write_request::write(&entries, &info).unwrap();
        prop_assert_eq!(&p4runtime::from_text::<p4runtime::p4::v1::WriteRequest>(&text).unwrap(), &message);
        let updates = text.lines().filter(|line| line.starts_with("updates { ")).count();
        prop_assert_eq!(updates, message.updates.len(), "an update a line");
        let binary = write_request::write_binary(&entries, &info).unwrap();
        prop_assert_eq!(&write_request::message_of_binary("s1", &binary).unwrap(), &message);
        let text = runtime_json::write(&entries, &info, &files()).unwrap();
        prop_assert_eq!(&runtime_json::read("s1", &text, &info).unwrap(), &(entries.clone(), files()));
        let text = commands::write(&entries, &info).unwrap();
        prop_assert_eq!(&commands::read("s1", &text, &info).unwrap(), &entries);
        prop_assert!(!text.contains("\n\n"), "an empty line repeats a command");
    }

    #[test]
    fn readers_do_not_panic(text: String, command in "(table_add|table_indirect_add|act_prof_create_member) c.(acl|ecmp|sel) [ -~]*") {
        let info = program();
        let _ = write_request::read_text("s1", &text, &info);
        let _ = runtime_json::read("s1", &text, &info);
        let _ = commands::read("s1", &text, &info);
        let _ = commands::read("s1", &command, &info);
    }
}

fn number(value: u32, width: u32) -> Bits {
    Bits::from_uint(value, width).unwrap()
}

fn send(port: u32) -> NamedCall {
    NamedCall {
        action: "c.send".into(),
        params: vec![("p9".into(), number(port, 9))],
    }
}

fn sample() -> SwitchEntries {
    let acl = |tag, ports: Option<u32>, priority, port| {
        let ports = ports.and_then(|p| FieldMatch::ternary(&Bits::zero(254), number(p, 254)));
        let keys = [
            key("tag", Some(FieldMatch::Exact(number(tag, 6)))),
            key("ports", ports),
        ];
        entry(
            "c.acl",
            keys.into_iter().flatten().collect(),
            Some(priority),
            NamedAction::Call(send(port)),
        )
    };
    let dst = FieldMatch::lpm(&number(0x0a00_0100, 32), 24);
    let group = FieldMatch::Exact(number(7, 16));
    SwitchEntries {
        switch: "leaf1".into(),
        members: vec![
            Member {
                profile: "c.sel".into(),
                id: 1,
                action: send(1),
            },
            Member {
                profile: "c.sel".into(),
                id: 2,
                action: send(2),
            },
        ],
        groups: vec![Group {
            profile: "c.sel".into(),
            id: 1,
            members: vec![1, 2],
        }],
        tables: vec![
            entry(
                "c.route",
                key("dst", dst).into_iter().collect(),
                None,
                NamedAction::Call(send(5)),
            ),
            acl(1, Some(0b1110), 20, 3),
            acl(1, None, 10, 4),
            TableEntry {
                is_default: true,
                ..entry(
                    "c.acl",
                    vec![],
                    None,
                    NamedAction::Call(NamedCall::bare("NoAction")),
                )
            },
            entry(
                "c.ecmp",
                key("group", Some(group)).into_iter().collect(),
                None,
                NamedAction::Group(GroupId(1)),
            ),
        ],
        multicast_groups: vec![MulticastGroup {
            id: 3,
            replicas: vec![
                Replica {
                    rid: 0,
                    port: PortId::new(1),
                },
                Replica {
                    rid: 0,
                    port: PortId::new(2),
                },
            ],
        }],
        clone_sessions: vec![],
    }
}

#[test]
fn golden_files() {
    let (entries, info) = (sample(), program());
    insta::assert_snapshot!(
        "entries.txtpb",
        write_request::write_text(&entries, &info).unwrap()
    );
    insta::assert_snapshot!(
        "runtime.json",
        runtime_json::write(&entries, &info, &files()).unwrap()
    );
    insta::assert_snapshot!("commands.txt", commands::write(&entries, &info).unwrap());
}

#[test]
fn the_entry_that_wins_is_the_same() {
    let (entries, info) = (sample(), program());
    let commands = commands::write(&entries, &info).unwrap();
    let priorities: Vec<i32> = commands
        .lines()
        .filter(|line| line.starts_with("table_add c.acl"))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(
        priorities[0] < priorities[1],
        "the smallest wins there: {priorities:?}"
    );
}

/// What is wrong with the sample after a change, as a user reads it.
fn complaint(change: impl FnOnce(&mut SwitchEntries)) -> String {
    let mut entries = sample();
    change(&mut entries);
    Catalog::of_p4info(program().info())
        .resolve(&entries)
        .unwrap_err()
        .to_string()
}

#[test]
fn what_does_not_fit_is_told() {
    let cases = [
        complaint(|e| e.tables[0].table = "c.rout".into()),
        complaint(|e| e.tables[0].keys[0].field = "src".into()),
        complaint(|e| e.tables[0].keys[0].value = FieldMatch::Exact(number(1, 32))),
        complaint(|e| e.tables[1].keys[0].value = FieldMatch::Exact(number(64, 7))),
        complaint(|e| drop(e.tables[1].keys.remove(0))),
        complaint(|e| e.tables[0].priority = Some(1)),
        complaint(|e| e.tables[1].priority = Some(0)),
        complaint(|e| e.tables[1].action = NamedAction::Call(NamedCall::bare("NoAction"))),
        complaint(|e| e.tables[1].action = NamedAction::Call(NamedCall::bare("c.send"))),
        complaint(|e| e.tables[1].action = NamedAction::Group(GroupId(1))),
        complaint(|e| e.tables[4].action = NamedAction::Group(GroupId(2))),
        complaint(|e| e.tables[4].action = NamedAction::Call(send(1))),
        complaint(|e| e.groups[0].members.push(3)),
        complaint(|e| e.members[1].id = 3),
        complaint(|e| {
            e.tables[0].keys[0].value = FieldMatch::Lpm {
                value: number(0x0a00_0101, 32),
                prefix_len: 24,
            };
        }),
        complaint(|e| e.multicast_groups[0].id = 0),
    ];
    insta::assert_snapshot!("complaints", cases.join("\n"));
}

#[test]
fn clones_that_are_cut_have_no_command() {
    let mut entries = sample();
    let session = CloneSession {
        truncate_to: Some(64),
        ..CloneSession::default()
    };
    entries.clone_sessions.push((5, session));
    let error = commands::write(&entries, &program())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "leaf1, clone session 5: commands.txt cannot express a length to which clones are cut"
    );
}

#[test]
fn lines_are_named() {
    let text = "table_set_default c.acl NoAction\ntable_add c.route c.send 10.0.1.0 => 5\n";
    let error = commands::read("s1", text, &program())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "s1, commands.txt line 2: the key dst is written with /"
    );
}

/// A file written by hand in the manner of the tutorials, which say "don't care" in full.
#[test]
fn other_hands_are_read() {
    let text = r#"{ "target": "bmv2", "p4info": "a", "bmv2_json": "b", "table_entries": [
        { "table": "c.acl", "match": { "tag": 1, "ports": [0, 0], "dst6": ["::", 0], "l4": [0, 65535] },
          "priority": 4, "action_name": "c.send", "action_params": { "p9": 3 } } ] }"#;
    let (entries, _) = runtime_json::read("s1", text, &program()).unwrap();
    assert_eq!(entries.tables[0].keys.len(), 1);
    assert_eq!(entries.tables[0].priority, Some(4));
}

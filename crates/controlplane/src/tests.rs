//! The push without a switch: canonical forms, diffs and their order, the journal.
#![allow(clippy::unwrap_used, clippy::panic, clippy::useless_conversion)]

use std::collections::BTreeMap;

use p4runtime::p4::config::v1 as config;
use p4runtime::p4::v1::{
    self, entity::Entity as Kind, field_match, field_match::FieldMatchType, update,
};
use p4runtime::{P4InfoIndex, from_text};

use super::diff::{self, ChangeKind};
use super::entity::{self, EntityKey};
use super::journal::{Journal, JournalError, Progress, Snapshot};
use super::state::SwitchState;

/// A table with a key of every kind, one with room for two entries, and a selector.
fn info() -> P4InfoIndex {
    let text = r#"
tables { preamble { id: 0x02000001 name: "I.all" alias: "all" }
  match_fields { id: 1 name: "e" bitwidth: 16 match_type: EXACT }
  match_fields { id: 2 name: "l" bitwidth: 32 match_type: LPM }
  match_fields { id: 3 name: "t" bitwidth: 12 match_type: TERNARY }
  match_fields { id: 4 name: "r" bitwidth: 8 match_type: RANGE }
  match_fields { id: 5 name: "o" bitwidth: 9 match_type: OPTIONAL }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 }
  initial_default_action { action_id: 0x01000001 arguments { param_id: 1 value: "\007" } }
  size: 1024 }
tables { preamble { id: 0x02000002 name: "I.tight" alias: "tight" }
  match_fields { id: 1 name: "e" bitwidth: 16 match_type: EXACT }
  action_refs { id: 0x01000001 } size: 2 }
actions { preamble { id: 0x01000001 name: "I.send" alias: "send" } params { id: 1 name: "port" bitwidth: 9 } }
actions { preamble { id: 0x01000002 name: "NoAction" alias: "NoAction" } }
action_profiles { preamble { id: 0x11000001 name: "I.ecmp" alias: "ecmp" } with_selector: true size: 64 }
"#;
    P4InfoIndex::new(from_text::<config::P4Info>(text).unwrap()).unwrap()
}

fn entity(text: &str) -> v1::Entity {
    from_text(text).unwrap()
}

fn set(texts: &[&str]) -> BTreeMap<EntityKey, v1::Entity> {
    let info = info();
    let all = texts
        .iter()
        .map(|text| entity::canonical(&entity(text), &info).unwrap());
    all.flatten().collect()
}

fn tight(value: u8, port: u8) -> String {
    format!(
        "table_entry {{ table_id: 0x02000002 match {{ field_id: 1 exact {{ value: \"\\{value:03o}\" }} }} \
         action {{ action {{ action_id: 0x01000001 params {{ param_id: 1 value: \"\\{port:03o}\" }} }} }} }}"
    )
}

#[test]
fn equal_entities_look_equal_however_they_are_written() {
    let padded = r#"table_entry { table_id: 0x02000001 priority: 5
        match { field_id: 5 optional { value: "\000\001" } }
        match { field_id: 4 range { low: "\000" high: "\377" } }
        match { field_id: 3 ternary { value: "\017\377" mask: "\000\360" } }
        match { field_id: 2 lpm { value: "\012\001\002\003" prefix_len: 8 } }
        match { field_id: 1 exact { value: "\000\000\011" } }
        action { action { action_id: 0x01000001 params { param_id: 1 value: "\000\003" } } }
        counter_data { packet_count: 7 } time_since_last_hit { elapsed_ns: 9 } }"#;
    let plain = r#"table_entry { table_id: 0x02000001 priority: 5
        match { field_id: 1 exact { value: "\011" } }
        match { field_id: 2 lpm { value: "\012\000\000\000" prefix_len: 8 } }
        match { field_id: 3 ternary { value: "\360" mask: "\360" } }
        match { field_id: 5 optional { value: "\001" } }
        action { action { action_id: 0x01000001 params { param_id: 1 value: "\003" } } } }"#;
    assert_eq!(set(&[padded]), set(&[plain]));
    let described = entity::describe(set(&[plain]).values().next().unwrap(), &info());
    assert_eq!(
        described,
        "I.all e=9 l=10.0.0.0/8 t=0xf0&0xf0 o=1 priority 5 -> I.send(port=3)"
    );
}

#[test]
fn old_and_new_names_of_ports_are_the_same() {
    let old = "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 \
               replicas { egress_port: 2 instance: 1 } replicas { egress_port: 1 } } }";
    let new = "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 \
               replicas { port: \"\\001\" } replicas { port: \"\\000\\002\" instance: 1 } } }";
    assert_eq!(set(&[old]), set(&[new]));
}

#[test]
fn groups_are_sets() {
    let group = |members: &str| {
        format!("action_profile_group {{ action_profile_id: 0x11000001 group_id: 3 {members} }}")
    };
    let (one, two) = (
        "members { member_id: 1 weight: 1 }",
        "members { member_id: 2 weight: 1 }",
    );
    let (ab, ba) = (
        group(&format!("{one} {two}")),
        group(&format!("max_size: 64 {two} {one}")),
    );
    assert_eq!(set(&[&ab]), set(&[&ba]));
    assert_ne!(set(&[&ab]), set(&[&group(one)]));
}

#[test]
fn a_default_entry_as_the_program_has_it_is_nobodys() {
    let default = |port: u8| {
        format!(
            "table_entry {{ table_id: 0x02000001 is_default_action: true action {{ action {{ action_id: 0x01000001 \
             params {{ param_id: 1 value: \"\\{port:03o}\" }} }} }} }}"
        )
    };
    assert!(set(&[&default(7)]).is_empty());
    assert!(set(&["table_entry { table_id: 0x02000001 is_default_action: true }"]).is_empty());
    let other = set(&[&default(8)]);
    assert_eq!(other.len(), 1);
    // Away with it: a MODIFY without an action, for a default entry is neither inserted nor
    // deleted.
    let changes = diff::changes(&other, &BTreeMap::new());
    let stages = diff::stages(&changes, &other, &info());
    let [update] = stages.concat().try_into().unwrap();
    assert_eq!(update.r#type(), update::Type::Modify);
    let Some(Kind::TableEntry(entry)) = update.entity.unwrap().entity else {
        panic!("a table entry")
    };
    assert!(entry.is_default_action && entry.action.is_none());
}

#[test]
fn what_does_not_fit_the_program_is_an_error() {
    let wrong = [
        ("table_entry { table_id: 0x02000009 }", "no table with id"),
        (
            "table_entry { table_id: 0x02000001 match { field_id: 9 exact { value: \"a\" } } }",
            "no match field '9'",
        ),
        (
            "table_entry { table_id: 0x02000001 match { field_id: 3 ternary { value: \"\\377\\377\" mask: \"a\" } } }",
            "the key t",
        ),
        ("register_entry { register_id: 1 }", "never have"),
    ];
    for (text, words) in wrong {
        let error = entity::canonical(&entity(text), &info())
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn what_is_referred_to_is_made_first_and_removed_last() {
    let member = "action_profile_member { action_profile_id: 0x11000001 member_id: 1 action { action_id: 0x01000002 } }";
    let group = "action_profile_group { action_profile_id: 0x11000001 group_id: 1 members { member_id: 1 weight: 1 } }";
    let entry =
        "table_entry { table_id: 0x02000001 priority: 1 action { action_profile_group_id: 1 } }";
    let (nothing, all) = (BTreeMap::new(), set(&[entry, group, member]));
    let kinds = |stages: Vec<Vec<v1::Update>>| -> Vec<&'static str> {
        stages
            .concat()
            .iter()
            .map(
                |update| match update.entity.as_ref().unwrap().entity.as_ref().unwrap() {
                    Kind::ActionProfileMember(_) => "member",
                    Kind::ActionProfileGroup(_) => "group",
                    _ => "entry",
                },
            )
            .collect()
    };
    let made = diff::stages(&diff::changes(&nothing, &all), &nothing, &info());
    assert_eq!(kinds(made), ["member", "group", "entry"]);
    let removed = diff::stages(&diff::changes(&all, &nothing), &all, &info());
    assert_eq!(kinds(removed), ["entry", "group", "member"]);
}

#[test]
fn the_new_comes_before_the_old_goes_where_there_is_room() {
    let types = |before: &[&str], after: &[&str]| -> Vec<update::Type> {
        let (before, after) = (set(before), set(after));
        let stages = diff::stages(&diff::changes(&before, &after), &before, &info());
        stages.concat().iter().map(v1::Update::r#type).collect()
    };
    let (one, two, three) = (tight(1, 1), tight(2, 1), tight(3, 1));
    assert_eq!(
        types(&[&one], &[&two]),
        [update::Type::Insert, update::Type::Delete]
    );
    // The table holds two: no room for both.
    assert_eq!(
        types(&[&one, &two], &[&one, &three]),
        [update::Type::Delete, update::Type::Insert]
    );
    assert_eq!(types(&[&one], &[&tight(1, 9)]), [update::Type::Modify]);
}

#[test]
fn changes_lead_from_one_set_to_the_other() {
    let before = set(&[&tight(1, 1), &tight(2, 2), &tight(3, 3)]);
    let after = set(&[&tight(2, 2), &tight(3, 9), &tight(4, 4)]);
    let changes = diff::changes(&before, &after);
    let count = |kind| changes.iter().filter(|change| change.kind == kind).count();
    assert_eq!(
        (
            count(ChangeKind::Insert),
            count(ChangeKind::Modify),
            count(ChangeKind::Delete)
        ),
        (1, 1, 1)
    );
    let mut held = before;
    for change in changes {
        match change.after {
            Some(entity) => held.insert(change.key, entity),
            None => held.remove(&change.key),
        };
    }
    assert_eq!(held, after);
}

#[test]
fn the_journal_survives_and_is_held_by_one() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("build.push");
    let state = SwitchState {
        pipeline: Some(v1::ForwardingPipelineConfig {
            p4info: Some(info().info().clone()),
            p4_device_config: b"program".as_slice().into(),
            cookie: None,
        }),
        entities: set(&[&tight(1, 1), &tight(2, 7)]),
        ..SwitchState::default()
    };
    let snapshot = Snapshot {
        pipeline: state.pipeline.clone(),
        entities: state.entities.clone(),
    };
    let kept = |journal: &Journal, states: &[(&str, &SwitchState)]| {
        let kept = states.iter().map(|(name, state)| {
            let record = journal.store().keep(name, state).unwrap();
            ((*name).to_owned(), record)
        });
        kept.collect::<BTreeMap<_, _>>()
    };
    let snapshots = |journal: &Journal| {
        let records = journal.records().unwrap().into_values();
        let held = records.map(|record| journal.store().snapshot(&record).unwrap());
        held.collect::<Vec<_>>()
    };
    let empty = SwitchState::default();
    {
        let mut journal = Journal::open(&folder).unwrap();
        assert!(matches!(journal.records(), Err(JournalError::Nothing(_))));
        assert!(matches!(Journal::open(&folder), Err(JournalError::Busy(_))));
        let records = kept(&journal, &[("s1", &state), ("s2", &empty)]);
        journal.begin(&records).unwrap();
    }
    let mut journal = Journal::open(&folder).unwrap();
    assert_eq!(journal.progress(), Some(Progress::Pushing));
    assert_eq!(snapshots(&journal), [snapshot, Snapshot::default()]);
    journal.finish(Progress::Pushed).unwrap();
    let only = kept(&journal, &[("s2", &empty)]);
    journal.begin(&only).unwrap();
    assert_eq!(journal.records().unwrap(), only);
    // What no record names is gone.
    let files = std::fs::read_dir(&folder).unwrap().flatten();
    let kept = files
        .filter(|f| f.file_name().to_string_lossy().ends_with(".pb"))
        .count();
    assert_eq!(kept, 1);
    drop(journal);
    std::fs::write(folder.join("journal.json"), "{").unwrap();
    assert!(matches!(
        Journal::open(&folder),
        Err(JournalError::Damaged { .. })
    ));
}

/// Keys are named by their canonical match, so other matches are other keys.
#[test]
fn other_matches_are_other_entries() {
    let exact = |value: u8| v1::FieldMatch {
        field_id: 1,
        field_match_type: Some(FieldMatchType::Exact(field_match::Exact {
            value: vec![value].into(),
        })),
    };
    assert_ne!(exact(1), exact(2));
    assert_eq!(set(&[&tight(1, 1), &tight(1, 2)]).len(), 1);
    assert_eq!(set(&[&tight(1, 1), &tight(2, 1)]).len(), 2);
}

#[test]
fn programs_that_are_not_the_builds_are_told_apart() {
    use super::desired::DesiredPipeline;
    use super::state::{Foreign, SwitchState};

    let with_arch = |arch: &str| {
        let mut info = info().info().clone();
        info.pkg_info = Some(config::PkgInfo {
            arch: arch.to_owned(),
            ..Default::default()
        });
        info
    };
    let program = |info: config::P4Info, text: &str| {
        DesiredPipeline::new("p".to_owned(), info, text.to_owned()).unwrap()
    };
    let ours = program(with_arch("v1model"), "one");
    let runs = |other: &DesiredPipeline| SwitchState {
        pipeline: Some(other.message(Vec::new())),
        ..SwitchState::default()
    };
    let told = |other: &DesiredPipeline| runs(other).other_program(&ours);
    assert_eq!(SwitchState::default().other_program(&ours), None);
    assert_eq!(told(&ours), None);
    assert_eq!(
        told(&program(with_arch("v1model"), "two")),
        Some(Foreign::Version)
    );
    assert_eq!(
        told(&program(with_arch("tna"), "one")),
        Some(Foreign::Architecture("tna".to_owned()))
    );
    let difference = |change: &dyn Fn(&mut config::P4Info)| {
        let mut info = with_arch("v1model");
        change(&mut info);
        match told(&program(info, "one")) {
            Some(Foreign::Program(difference)) => difference,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        difference(&|info| drop(info.tables.pop())),
        "it has no table I.tight"
    );
    assert_eq!(
        difference(&|info| info.tables[0].size = 7),
        "its table I.all is another"
    );
    assert_eq!(
        difference(&|info| info.actions[0].params.clear()),
        "its action I.send is another, or missing"
    );
}

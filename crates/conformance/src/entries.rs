//! Points 13 to 17 and 19: default and constant entries, scopes, snapshots, timeouts.

use std::time::Duration;

use p4runtime::p4::v1::stream_message_response::Update as Answer;
use p4runtime::p4::v1::{self, entity::Entity as Kind, table_action, update};
use tonic::Code;

use super::Verdict;
use super::bench::{Outcome, SOON, StreamEvent, TestBed, exact, id_of};

const DEFAULT: &str = "a default entry is only ever modified; without an action it is reset; a const default action is PERMISSION_DENIED (9.1.3)";
const CONSTANT: &str = "tables with const entries take no writes (PERMISSION_DENIED), but their direct resources do (9.1.4)";
const INITIAL: &str = "const entries read back with is_const and priorities N to 1 in order; entries without const can be changed (9.1.4, 9.1.5)";
const SCOPE: &str = "an action outside its scope is PERMISSION_DENIED; a missing or extra parameter INVALID_ARGUMENT; an unknown member or group NOT_FOUND (9.1.2)";
const SNAPSHOT: &str = "INSERT of what is there is ALREADY_EXISTS, MODIFY and DELETE of what is not NOT_FOUND; MODIFY replaces the whole value; DELETE needs the key alone (9, 12)";
const TIMEOUT: &str = "an entry that no packet hits for its timeout is notified, again and again; time_since_last_hit is read when asked for (9.1.8, 16.4)";

/// All of them.
pub(super) async fn check(bench: &mut TestBed) {
    defaults(bench).await;
    constants(bench).await;
    scopes(bench).await;
    snapshots(bench).await;
    timeouts(bench).await;
}

fn default_of(bench: &TestBed, table: &str, action: Option<v1::Action>) -> v1::TableEntry {
    v1::TableEntry {
        table_id: bench.table(table),
        is_default_action: true,
        action: action.map(|action| v1::TableAction {
            r#type: Some(table_action::Type::Action(action)),
        }),
        ..Default::default()
    }
}

async fn defaults(bench: &mut TestBed) {
    let to = |bench: &TestBed, port: u8| {
        default_of(bench, "ageing", Some(bench.call("send", &[&[port]])))
    };
    for (check, kind) in [
        ("INSERT of a default entry", update::Type::Insert),
        ("DELETE of a default entry", update::Type::Delete),
    ] {
        let outcome = bench.put(kind, Kind::TableEntry(to(bench, 5))).await;
        bench.demand(13, check, &outcome, &[Code::InvalidArgument], DEFAULT);
    }
    let outcome = bench
        .put(update::Type::Modify, Kind::TableEntry(to(bench, 6)))
        .await;
    bench.demand(
        13,
        "MODIFY of a default entry",
        &outcome,
        &[Code::Ok],
        DEFAULT,
    );
    let now = held_default(bench, "ageing").await;
    let wanted = bench.call("send", &[&[6]]);
    bench.judge(
        13,
        "it reads back",
        now == Some(wanted),
        format!("{now:?}"),
        DEFAULT,
    );
    let outcome = bench
        .put(
            update::Type::Modify,
            Kind::TableEntry(default_of(bench, "ageing", None)),
        )
        .await;
    bench.demand(
        13,
        "MODIFY without an action",
        &outcome,
        &[Code::Ok],
        DEFAULT,
    );
    let now = held_default(bench, "ageing").await;
    let initial = bench.call("drop_it", &[]);
    bench.judge(
        13,
        "the program's own is back",
        now.as_ref().is_none_or(|now| *now == initial),
        format!("{now:?}"),
        DEFAULT,
    );
    let with_keys = v1::TableEntry {
        r#match: vec![exact(1, &[1])],
        ..to(bench, 5)
    };
    let outcome = bench
        .put(update::Type::Modify, Kind::TableEntry(with_keys))
        .await;
    bench.demand(
        13,
        "a default entry with keys",
        &outcome,
        &[Code::InvalidArgument],
        DEFAULT,
    );
    let constant = default_of(bench, "constant", Some(bench.call("send", &[&[1]])));
    let outcome = bench
        .put(update::Type::Modify, Kind::TableEntry(constant))
        .await;
    bench.demand(
        13,
        "MODIFY of a const default action",
        &outcome,
        &[Code::PermissionDenied],
        DEFAULT,
    );
}

async fn held_default(bench: &TestBed, table: &str) -> Option<v1::Action> {
    let entries = bench.entries(default_of(bench, table, None)).await.ok()?;
    let action = entries
        .into_iter()
        .find(|entry| entry.is_default_action)?
        .action?;
    match action.r#type? {
        table_action::Type::Action(call) => Some(call),
        _ => None,
    }
}

async fn constants(bench: &mut TestBed) {
    let table_id = bench.table("constant");
    let all = v1::TableEntry {
        table_id,
        ..Default::default()
    };
    let held = bench.entries(all).await.unwrap_or_default();
    let mut by_priority = held.clone();
    by_priority.sort_by_key(|entry| -entry.priority);
    let priorities: Vec<i32> = by_priority.iter().map(|entry| entry.priority).collect();
    bench.judge(
        15,
        "priorities of const entries",
        priorities == [3, 2, 1],
        format!("{priorities:?}"),
        INITIAL,
    );
    let marked = held.iter().filter(|entry| entry.is_const).count();
    bench.judge(
        15,
        "they are marked const",
        marked == 3,
        format!("{marked} of {}", held.len()),
        INITIAL,
    );
    let new = v1::TableEntry {
        r#match: vec![super::values::ternary(&[0x40], &[0xf0])],
        priority: 9,
        action: bench.send(1),
        table_id,
        ..Default::default()
    };
    let outcome = bench.put(update::Type::Insert, Kind::TableEntry(new)).await;
    bench.demand(
        14,
        "INSERT into a const table",
        &outcome,
        &[Code::PermissionDenied],
        CONSTANT,
    );
    if let Some(first) = by_priority.first() {
        let key = v1::TableEntry {
            table_id,
            r#match: first.r#match.clone(),
            priority: first.priority,
            ..Default::default()
        };
        let outcome = bench
            .put(update::Type::Delete, Kind::TableEntry(key.clone()))
            .await;
        bench.demand(
            14,
            "DELETE of a const entry",
            &outcome,
            &[Code::PermissionDenied],
            CONSTANT,
        );
        let counter = Kind::DirectCounterEntry(v1::DirectCounterEntry {
            table_entry: Some(Box::new(key)),
            data: Some(v1::CounterData {
                byte_count: 0,
                packet_count: 42,
            }),
        });
        let outcome = bench.put(update::Type::Modify, counter).await;
        bench.demand(
            14,
            "MODIFY of its direct counter",
            &outcome,
            &[Code::Ok],
            CONSTANT,
        );
    }
    initial(bench).await;
}

async fn initial(bench: &mut TestBed) {
    let entry = |value: u8, port: u8| v1::TableEntry {
        table_id: bench.table("initial"),
        r#match: vec![exact(1, &[value])],
        action: bench.send(port),
        ..Default::default()
    };
    let (changed, new) = (entry(1, 7), entry(9, 9));
    let all = v1::TableEntry {
        table_id: bench.table("initial"),
        ..Default::default()
    };
    let count = bench.entries(all).await.map(|entries| entries.len());
    bench.judge(
        15,
        "entries without const are there",
        count.as_ref().is_ok_and(|n| *n == 2),
        match &count {
            Ok(count) => format!("{count} entries"),
            Err(_) => Outcome::of_any(&count).to_string(),
        },
        INITIAL,
    );
    let outcome = bench
        .put(update::Type::Modify, Kind::TableEntry(changed.clone()))
        .await;
    bench.demand(
        15,
        "MODIFY of such an entry",
        &outcome,
        &[Code::Ok],
        INITIAL,
    );
    let outcome = bench
        .put(update::Type::Delete, Kind::TableEntry(changed))
        .await;
    bench.demand(
        15,
        "DELETE of such an entry",
        &outcome,
        &[Code::Ok],
        INITIAL,
    );
    let outcome = bench.put(update::Type::Insert, Kind::TableEntry(new)).await;
    bench.demand(
        15,
        "INSERT beside such entries",
        &outcome,
        &[Code::Ok],
        INITIAL,
    );
}

async fn scopes(bench: &mut TestBed) {
    let with = |bench: &TestBed, number: u8, action: v1::Action| v1::TableEntry {
        action: Some(v1::TableAction {
            r#type: Some(table_action::Type::Action(action)),
        }),
        ..bench.exact(&[0x16, number], &[1], 1)
    };
    let extra = bench.call("send", &[&[1], &[2]]);
    let twice = v1::Action {
        params: vec![
            v1::action::Param {
                param_id: 1,
                value: vec![1].into()
            };
            2
        ],
        ..bench.call("send", &[])
    };
    let cases = [
        (
            "a default-only action in an entry",
            with(bench, 1, bench.call("drop_it", &[])),
            Code::PermissionDenied,
        ),
        (
            "a missing parameter",
            with(bench, 2, bench.call("send", &[])),
            Code::InvalidArgument,
        ),
        (
            "an extra parameter",
            with(bench, 3, extra),
            Code::InvalidArgument,
        ),
        (
            "a parameter given twice",
            with(bench, 4, twice),
            Code::InvalidArgument,
        ),
        (
            "an action of another table",
            with(bench, 5, bench.call("send_metered", &[&[1]])),
            Code::InvalidArgument,
        ),
    ];
    for (check, entry, code) in cases {
        let outcome = bench
            .put(update::Type::Insert, Kind::TableEntry(entry))
            .await;
        bench.demand(16, check, &outcome, &[code], SCOPE);
    }
    let table_only = default_of(bench, "exact_match", Some(bench.call("NoAction", &[])));
    let outcome = bench
        .put(update::Type::Modify, Kind::TableEntry(table_only))
        .await;
    bench.demand(
        16,
        "a table-only action as the default",
        &outcome,
        &[Code::PermissionDenied],
        SCOPE,
    );
    let choosing = |action| v1::TableEntry {
        table_id: bench.table("choosing"),
        r#match: vec![exact(1, &[0x16])],
        action: Some(v1::TableAction {
            r#type: Some(action),
        }),
        ..Default::default()
    };
    let cases = [
        (
            "an unknown member",
            choosing(table_action::Type::ActionProfileMemberId(4711)),
            Code::NotFound,
        ),
        (
            "an unknown group",
            choosing(table_action::Type::ActionProfileGroupId(4711)),
            Code::NotFound,
        ),
    ];
    for (check, entry, code) in cases {
        let outcome = bench
            .put(update::Type::Insert, Kind::TableEntry(entry))
            .await;
        bench.demand(16, check, &outcome, &[code], SCOPE);
    }
    for (check, entry, codes) in [
        (
            "an unknown table",
            v1::TableEntry {
                table_id: 0x02ff_fff0,
                ..bench.exact(&[1], &[1], 1)
            },
            [Code::NotFound, Code::InvalidArgument],
        ),
        (
            "an unknown key",
            v1::TableEntry {
                r#match: vec![exact(1, &[1]), exact(2, &[1]), exact(99, &[1])],
                ..bench.exact(&[1], &[1], 1)
            },
            [Code::InvalidArgument, Code::NotFound],
        ),
    ] {
        let outcome = bench
            .put(update::Type::Insert, Kind::TableEntry(entry))
            .await;
        bench.demand(
            16,
            check,
            &outcome,
            &codes,
            "what the P4Info does not have is NOT_FOUND or INVALID_ARGUMENT (9.1)",
        );
    }
}

async fn snapshots(bench: &mut TestBed) {
    let noted = v1::TableEntry {
        metadata: b"note".to_vec().into(),
        ..bench.exact(&[0x17], &[1], 1)
    };
    let outcome = bench
        .put(update::Type::Insert, Kind::TableEntry(noted.clone()))
        .await;
    bench.demand(17, "INSERT with metadata", &outcome, &[Code::Ok], SNAPSHOT);
    let outcome = bench
        .put(update::Type::Insert, Kind::TableEntry(noted.clone()))
        .await;
    bench.demand(
        17,
        "INSERT of the same again",
        &outcome,
        &[Code::AlreadyExists],
        SNAPSHOT,
    );
    let held = bench
        .entries(bench.exact(&[0x17], &[1], 1))
        .await
        .unwrap_or_default();
    let kept = held.iter().any(|entry| entry.metadata[..] == b"note"[..]);
    bench.judge(
        17,
        "metadata reads back",
        kept,
        format!("{} entries", held.len()),
        SNAPSHOT,
    );
    let plain = bench.exact(&[0x17], &[1], 2);
    let outcome = bench
        .put(update::Type::Modify, Kind::TableEntry(plain.clone()))
        .await;
    bench.demand(
        17,
        "MODIFY without metadata",
        &outcome,
        &[Code::Ok],
        SNAPSHOT,
    );
    let held = bench.entries(plain.clone()).await.unwrap_or_default();
    let replaced = held.len() == 1
        && held
            .iter()
            .all(|e| e.metadata.is_empty() && e.action == plain.action);
    bench.judge(
        17,
        "the whole value is replaced",
        replaced,
        format!(
            "{} entries, metadata {:?}",
            held.len(),
            held.first().map(|e| &e.metadata)
        ),
        SNAPSHOT,
    );
    let absent = bench.exact(&[0x18], &[1], 2);
    for (check, kind) in [
        ("MODIFY of nothing", update::Type::Modify),
        ("DELETE of nothing", update::Type::Delete),
    ] {
        let outcome = bench.put(kind, Kind::TableEntry(absent.clone())).await;
        bench.demand(17, check, &outcome, &[Code::NotFound], SNAPSHOT);
    }
    let key_alone = v1::TableEntry {
        action: None,
        ..plain
    };
    let outcome = bench
        .put(update::Type::Delete, Kind::TableEntry(key_alone))
        .await;
    bench.demand(
        17,
        "DELETE by the key alone",
        &outcome,
        &[Code::Ok],
        SNAPSHOT,
    );
    let outcome = bench
        .put(update::Type::Unspecified, Kind::TableEntry(absent))
        .await;
    bench.demand(
        17,
        "an update of type UNSPECIFIED",
        &outcome,
        &[Code::InvalidArgument],
        SNAPSHOT,
    );
}

async fn timeouts(bench: &mut TestBed) {
    let entry = v1::TableEntry {
        table_id: bench.table("ageing"),
        r#match: vec![exact(1, &[0x19])],
        action: bench.send(1),
        idle_timeout_ns: 500_000_000,
        ..Default::default()
    };
    let on_exact = v1::TableEntry {
        idle_timeout_ns: 500_000_000,
        ..bench.exact(&[0x19], &[1], 1)
    };
    let outcome = bench
        .put(update::Type::Insert, Kind::TableEntry(on_exact))
        .await;
    bench.demand(
        19,
        "a timeout in a table without timeouts",
        &outcome,
        &[Code::InvalidArgument],
        TIMEOUT,
    );
    let outcome = bench
        .put(update::Type::Insert, Kind::TableEntry(entry.clone()))
        .await;
    bench.demand(
        19,
        "an entry with a timeout",
        &outcome,
        &[Code::Ok],
        TIMEOUT,
    );
    if outcome.code != Code::Ok {
        return;
    }
    let asked = v1::TableEntry {
        time_since_last_hit: Some(v1::table_entry::IdleTimeout::default()),
        action: None,
        idle_timeout_ns: 0,
        ..entry.clone()
    };
    let held = bench.entries(asked).await.unwrap_or_default();
    let told = held.iter().any(|entry| entry.time_since_last_hit.is_some());
    bench.judge(
        19,
        "time_since_last_hit when asked for",
        told,
        format!("{} entries", held.len()),
        TIMEOUT,
    );
    for check in ["the notification", "the next notification"] {
        if bench.options.quick && check.contains("next") {
            break;
        }
        let heard = match &mut bench.primary {
            Some((_, stream)) => {
                let wanted = |answer: &Answer| matches!(answer, Answer::IdleTimeoutNotification(_));
                stream
                    .hear_until(SOON.max(Duration::from_secs(4)), wanted)
                    .await
            }
            None => StreamEvent::Nothing,
        };
        let right = match &heard {
            StreamEvent::Said(Answer::IdleTimeoutNotification(note)) => note
                .table_entry
                .iter()
                .any(|e| e.table_id == entry.table_id && e.r#match == entry.r#match),
            _ => false,
        };
        let verdict = if right { Verdict::Pass } else { Verdict::Fail };
        bench.note(19, check, verdict, heard.describe(), TIMEOUT);
    }
}

/// The id of an extern of the program, by its last name.
pub(super) fn profile(bench: &TestBed) -> u32 {
    id_of(
        bench.info().action_profiles.iter().map(|p| &p.preamble),
        "choice",
    )
}

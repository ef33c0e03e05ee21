//! Points 23 and 24: wildcards, streams of answers, counters, meters, registers, value sets.

use p4runtime::p4::v1::{self, entity::Entity as Kind, update};
use tonic::Code;

use super::Verdict;
use super::bench::{Outcome, TestBed, id_of, key, one};
use super::values::{mixed, ternary};

const WILDCARD: &str = "table id 0 with no other filter reads all tables; action, priority and metadata filter; default entries only when asked for; an empty entity is INVALID_ARGUMENT (9.1.6, 13.2)";
const LARGE: &str = "a large answer comes in several messages, each within 4 MB (13)";
const DATA: &str = "counters, meters, registers and value sets are read and written (9.3 to 9.7)";

/// Entries of the large read.
const LARGE_COUNT: u32 = 20_000;

/// All of them.
pub(super) async fn check(bench: &mut TestBed) {
    wildcards(bench).await;
    data(bench).await;
    if !bench.options.quick {
        large(bench).await;
    }
}

async fn count(bench: &TestBed, filter: v1::TableEntry) -> Result<usize, Outcome> {
    match bench.entries(filter).await {
        Ok(entries) => Ok(entries.len()),
        Err(status) => Err(Outcome::of(Err(status))),
    }
}

fn seen(count: &Result<usize, Outcome>) -> String {
    match count {
        Ok(count) => format!("{count} entries"),
        Err(outcome) => outcome.to_string(),
    }
}

async fn wildcards(bench: &mut TestBed) {
    let noted = v1::TableEntry {
        metadata: b"mine".to_vec().into(),
        ..bench.exact(&[2], &[1], 2)
    };
    let marked = v1::TableEntry {
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(
                bench.call("send_marked", &[&[1], &[5]]),
            )),
        }),
        ..bench.exact(&[3], &[1], 1)
    };
    let entries = [
        bench.exact(&[1], &[1], 1),
        noted,
        marked,
        mixed(bench, vec![ternary(&[0x10], &[0xf0])], 3),
        mixed(bench, vec![ternary(&[0x20], &[0xf0])], 4),
    ];
    let updates = entries.map(|entry| one(update::Type::Insert, Kind::TableEntry(entry)));
    let outcome = Outcome::of(bench.write(updates.to_vec()).await);
    if outcome.code != Code::Ok {
        return bench.note(
            23,
            "five entries to read",
            Verdict::Fail,
            outcome.to_string(),
            WILDCARD,
        );
    }
    let of = |table_id| v1::TableEntry {
        table_id,
        ..Default::default()
    };
    let (exact, mixed) = (bench.table("exact_match"), bench.table("mixed_match"));
    let action = v1::TableAction {
        r#type: Some(v1::table_action::Type::Action(v1::Action {
            action_id: bench.action_id("send_marked"),
            params: Vec::new(),
        })),
    };
    // The program brings five entries of its own.
    let cases = [
        ("everything", of(0), 10),
        ("one table", of(exact), 3),
        ("one entry by its key", bench.exact(&[2], &[1], 2), 1),
        (
            "by action",
            v1::TableEntry {
                action: Some(action),
                ..of(exact)
            },
            1,
        ),
        (
            "by priority",
            v1::TableEntry {
                priority: 4,
                ..of(mixed)
            },
            1,
        ),
        (
            "by metadata",
            v1::TableEntry {
                metadata: b"mine".to_vec().into(),
                ..of(exact)
            },
            1,
        ),
        (
            "the default entry of a table",
            v1::TableEntry {
                is_default_action: true,
                ..of(exact)
            },
            1,
        ),
        ("a key that is not there", bench.exact(&[99], &[1], 1), 0),
    ];
    for (check, filter, wanted) in cases {
        let filter = if check == "one entry by its key" || check == "a key that is not there" {
            v1::TableEntry {
                action: None,
                ..filter
            }
        } else {
            filter
        };
        let found = count(bench, filter).await;
        let right = matches!(&found, Ok(found) if *found == wanted);
        bench.judge(
            23,
            check,
            right,
            format!("{}, {wanted} expected", seen(&found)),
            WILDCARD,
        );
    }
    let filtered = v1::TableEntry {
        priority: 4,
        ..of(0)
    };
    let found = count(bench, filtered).await;
    let refused = matches!(&found, Err(outcome) if outcome.code == Code::InvalidArgument);
    bench.judge(
        23,
        "all tables with another filter",
        refused,
        seen(&found),
        WILDCARD,
    );
    let request = bench.who(None).read(vec![v1::Entity { entity: None }]);
    let empty = Outcome::of_any(&bench.connection.read(request).await);
    bench.demand(
        23,
        "an empty entity",
        &empty,
        &[Code::InvalidArgument],
        WILDCARD,
    );
}

fn extern_id(bench: &TestBed, name: &str) -> u32 {
    let info = bench.info();
    let preambles = info.counters.iter().map(|c| &c.preamble);
    let preambles = preambles
        .chain(info.meters.iter().map(|m| &m.preamble))
        .chain(info.registers.iter().map(|r| &r.preamble))
        .chain(info.value_sets.iter().map(|v| &v.preamble));
    id_of(preambles, name)
}

async fn data(bench: &mut TestBed) {
    let index = Some(v1::Index { index: 3 });
    let counter = v1::CounterEntry {
        counter_id: extern_id(bench, "cells"),
        index,
        data: Some(v1::CounterData {
            byte_count: 1000,
            packet_count: 10,
        }),
    };
    written_and_read(bench, "a counter cell", Kind::CounterEntry(counter)).await;
    let config = v1::MeterConfig {
        cir: 1000,
        cburst: 100,
        pir: 2000,
        pburst: 200,
        eburst: 0,
    };
    let meter = v1::MeterEntry {
        meter_id: extern_id(bench, "rates"),
        index,
        config: Some(config),
        counter_data: None,
    };
    written_and_read(bench, "a meter cell", Kind::MeterEntry(meter)).await;
    let register = v1::RegisterEntry {
        register_id: extern_id(bench, "memory"),
        index,
        data: Some(v1::P4Data {
            data: Some(v1::p4_data::Data::Bitstring(vec![0x12, 0x34].into())),
        }),
    };
    written_and_read(bench, super::REGISTER, Kind::RegisterEntry(register)).await;
    let member = |value: u8| v1::ValueSetMember {
        r#match: vec![super::bench::exact(1, &[0x9a, value])],
    };
    let set = v1::ValueSetEntry {
        value_set_id: extern_id(bench, "key_types"),
        members: vec![member(1), member(2)],
    };
    written_and_read(bench, super::VALUE_SET, Kind::ValueSetEntry(set)).await;
    let whole = bench.read(Kind::CounterEntry(v1::CounterEntry {
        counter_id: extern_id(bench, "cells"),
        ..Default::default()
    }));
    let whole = whole.await.map(|found| found.len());
    bench.judge(
        24,
        "a whole counter array",
        whole.as_ref().is_ok_and(|n| *n == 16),
        format!("{:?} cells", whole.unwrap_or(0)),
        DATA,
    );
    let outside = v1::CounterEntry {
        counter_id: extern_id(bench, "cells"),
        index: Some(v1::Index { index: 16 }),
        data: None,
    };
    let read = bench.read(Kind::CounterEntry(outside)).await;
    bench.demand(
        24,
        "a cell outside the array",
        &Outcome::of_any(&read),
        &[Code::OutOfRange],
        DATA,
    );
    direct(bench, config).await;
}

async fn direct(bench: &mut TestBed, config: v1::MeterConfig) {
    let lpm = v1::TableEntry {
        table_id: bench.table("lpm_match"),
        r#match: vec![key(
            1,
            v1::field_match::FieldMatchType::Lpm(v1::field_match::Lpm {
                value: vec![10, 0, 0, 0].into(),
                prefix_len: 8,
            }),
        )],
        ..Default::default()
    };
    let entry = v1::TableEntry {
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(
                bench.call("send_metered", &[&[1]]),
            )),
        }),
        ..lpm.clone()
    };
    let _ = bench
        .put(update::Type::Insert, Kind::TableEntry(entry))
        .await;
    let meter = v1::DirectMeterEntry {
        table_entry: Some(Box::new(lpm)),
        config: Some(config),
        counter_data: None,
    };
    written_and_read(bench, "a direct meter", Kind::DirectMeterEntry(meter)).await;
    let counter = v1::DirectCounterEntry {
        table_entry: Some(Box::new(v1::TableEntry {
            action: None,
            ..bench.exact(&[1], &[1], 1)
        })),
        data: Some(v1::CounterData {
            byte_count: 77,
            packet_count: 7,
        }),
    };
    written_and_read(bench, "a direct counter", Kind::DirectCounterEntry(counter)).await;
}

/// MODIFY, then a Read of the same.
async fn written_and_read(bench: &mut TestBed, check: &'static str, entity: Kind) {
    let outcome = bench.put(update::Type::Modify, entity.clone()).await;
    if outcome.code == Code::Unimplemented {
        return bench.note(24, check, Verdict::Fail, outcome.to_string(), DATA);
    }
    if outcome.code != Code::Ok {
        return bench.demand(24, check, &outcome, &[Code::Ok], DATA);
    }
    let query = without_value(entity.clone());
    match bench.read(query).await {
        Err(status) => bench.demand(24, check, &Outcome::of(Err(status)), &[Code::Ok], DATA),
        Ok(found) => {
            let there = found.contains(&entity);
            let seen = if there {
                "reads back".to_owned()
            } else {
                format!("{found:?}").chars().take(120).collect()
            };
            bench.judge(24, check, there, seen, DATA);
        }
    }
}

fn without_value(entity: Kind) -> Kind {
    match entity {
        Kind::CounterEntry(entry) => Kind::CounterEntry(v1::CounterEntry {
            data: None,
            ..entry
        }),
        Kind::MeterEntry(entry) => Kind::MeterEntry(v1::MeterEntry {
            config: None,
            ..entry
        }),
        Kind::RegisterEntry(entry) => Kind::RegisterEntry(v1::RegisterEntry {
            data: None,
            ..entry
        }),
        Kind::ValueSetEntry(entry) => Kind::ValueSetEntry(v1::ValueSetEntry {
            members: Vec::new(),
            ..entry
        }),
        Kind::DirectCounterEntry(entry) => Kind::DirectCounterEntry(v1::DirectCounterEntry {
            data: None,
            ..entry
        }),
        Kind::DirectMeterEntry(entry) => Kind::DirectMeterEntry(v1::DirectMeterEntry {
            config: None,
            ..entry
        }),
        other => other,
    }
}

async fn large(bench: &mut TestBed) {
    let mut written = 0;
    for base in (0x1_0000..0x1_0000 + LARGE_COUNT).step_by(1000) {
        let batch = (base..base + 1000)
            .map(|n| {
                let entry = v1::TableEntry {
                    metadata: vec![b'x'; 250].into(),
                    ..bench.numbered(n)
                };
                one(update::Type::Insert, Kind::TableEntry(entry))
            })
            .collect();
        if bench.write(batch).await.is_ok() {
            written += 1000;
        }
    }
    let filter = v1::TableEntry {
        table_id: bench.table("exact_match"),
        ..Default::default()
    };
    let read = bench
        .read_as(&bench.me(), vec![Kind::TableEntry(filter)])
        .await;
    let (right, seen) = match &read {
        Ok((found, messages)) => (
            found.len() >= written as usize && *messages > 1,
            format!(
                "{written} written; {} entries in {messages} messages",
                found.len()
            ),
        ),
        Err(status) => (false, Outcome::of(Err(status.clone())).to_string()),
    };
    bench.judge(
        24,
        "20,000 entries with 250 bytes of metadata",
        right,
        seen,
        LARGE,
    );
    bench.look().await;
}

//! Points 20 to 22 and 29: errors of a batch, atomicity, concurrent batches, size.

use p4runtime::google::rpc;
use p4runtime::p4::v1::write_request::Atomicity;
use p4runtime::p4::v1::{self, entity::Entity as Kind, update};
use prost::Message as _;
use tonic::{Code, Status};

use super::Verdict;
use super::bench::{Outcome, TestBed, name, one};

const DETAILS: &str = "a failed batch is UNKNOWN with one p4.Error per update, in order (12.3)";
const CONTINUE: &str = "CONTINUE_ON_ERROR tries every update (12.2)";
const ATOMIC: &str = "ROLLBACK_ON_ERROR and DATAPLANE_ATOMIC leave everything as it was if one update fails; a server without them says UNIMPLEMENTED (12.2)";
const SERIAL: &str = "concurrent batches have the effect of some order of them (12.1)";
const SIZE: &str = "a server receives messages of at least 4 MB (guidelines)";

/// All of them.
pub(super) async fn check(bench: &mut TestBed) {
    details(bench).await;
    continue_on_error(bench).await;
    for (mode, check) in [
        (Atomicity::RollbackOnError, super::ROLLBACK),
        (Atomicity::DataplaneAtomic, super::DATAPLANE),
    ] {
        atomic(bench, mode, check).await;
    }
    concurrent(bench).await;
    if !bench.options.quick {
        large(bench).await;
    }
}

fn insert(bench: &TestBed, number: u32) -> v1::Update {
    one(
        update::Type::Insert,
        Kind::TableEntry(bench.numbered(number)),
    )
}

/// A batch of three in which the second fails: it is there already.
async fn with_failure(bench: &TestBed, base: u32, mode: Atomicity) -> Result<(), Status> {
    let _ = bench.write(vec![insert(bench, base + 1)]).await;
    let batch = (base..base + 3)
        .map(|number| insert(bench, number))
        .collect();
    bench.write_as(&bench.me(), batch, mode).await
}

/// Which of the three are there.
async fn there(bench: &TestBed, base: u32) -> Vec<bool> {
    let mut found = Vec::new();
    for number in base..base + 3 {
        let held = bench.entries(bench.numbered(number)).await;
        found.push(held.is_ok_and(|entries| !entries.is_empty()));
    }
    found
}

fn codes(status: &Status) -> Option<Vec<Code>> {
    let details = rpc::Status::decode(status.details()).ok()?;
    details
        .details
        .iter()
        .map(|any| {
            let error = v1::Error::decode(any.value.as_slice()).ok()?;
            Some(Code::from_i32(error.canonical_code))
        })
        .collect()
}

fn listed(codes: &[Code]) -> String {
    codes
        .iter()
        .map(|code| name(*code))
        .collect::<Vec<_>>()
        .join(", ")
}

async fn details(bench: &mut TestBed) {
    let result = with_failure(bench, 0x2000, Atomicity::ContinueOnError).await;
    let Err(status) = result else {
        bench.judge(20, "a batch with a failure", false, "OK", DETAILS);
        return;
    };
    bench.judge(
        20,
        "the status of a batch with a failure",
        status.code() == Code::Unknown,
        name(status.code()),
        DETAILS,
    );
    let found = codes(&status).unwrap_or_default();
    let right = found == [Code::Ok, Code::AlreadyExists, Code::Ok];
    bench.judge(
        20,
        "its details",
        right,
        format!("{} errors: {}", found.len(), listed(&found)),
        DETAILS,
    );
    // The same thousand again: every one fails, and the errors are more than 8 KB.
    let batch: Vec<v1::Update> = (0x3000..0x3000 + 1000).map(|n| insert(bench, n)).collect();
    let first = Outcome::of(bench.write(batch.clone()).await);
    let second = bench.write(batch).await;
    let found = second.as_ref().err().and_then(codes).unwrap_or_default();
    bench.judge(
        20,
        "the details of a thousand failures",
        first.code == Code::Ok
            && found.len() == 1000
            && found.iter().all(|code| *code == Code::AlreadyExists),
        format!(
            "first {first}, then {} with {} errors",
            Outcome::of(second),
            found.len()
        ),
        DETAILS,
    );
    let alone = bench.write(vec![insert(bench, 0x2000)]).await;
    let found = alone.as_ref().err().and_then(codes).unwrap_or_default();
    bench.judge(
        20,
        "a batch of one failure",
        found == [Code::AlreadyExists],
        format!("{}: {}", Outcome::of(alone), listed(&found)),
        DETAILS,
    );
}

async fn continue_on_error(bench: &mut TestBed) {
    let _ = with_failure(bench, 0x2100, Atomicity::ContinueOnError).await;
    let found = there(bench, 0x2100).await;
    bench.judge(
        21,
        "CONTINUE_ON_ERROR",
        found == [true, true, true],
        format!("there: {found:?}"),
        CONTINUE,
    );
}

async fn atomic(bench: &mut TestBed, mode: Atomicity, check: &'static str) {
    let base = 0x2200 + 0x100 * mode as u32;
    let result = with_failure(bench, base, mode).await;
    let outcome = Outcome::of_any(&result);
    if result
        .as_ref()
        .is_err_and(|status| status.code() == Code::Unimplemented)
    {
        bench.note(21, check, Verdict::Lacks, outcome.to_string(), ATOMIC);
        return;
    }
    let found = there(bench, base).await;
    bench.judge(
        21,
        check,
        found == [false, true, false],
        format!("{outcome}; there: {found:?}"),
        ATOMIC,
    );
    let codes = result.as_ref().err().and_then(codes).unwrap_or_default();
    let named = codes.len() == 3 && codes[1] == Code::AlreadyExists;
    bench.judge(
        21,
        "its details",
        named,
        listed(&codes),
        "one p4.Error per update; the failed one says why (12.3)",
    );
    let good = (base + 0x10..base + 0x13)
        .map(|n| insert(bench, n))
        .collect();
    let outcome = Outcome::of(bench.write_as(&bench.me(), good, mode).await);
    bench.demand(
        21,
        "a batch without failures in this mode",
        &outcome,
        &[Code::Ok],
        ATOMIC,
    );
}

/// Eight batches with the same twenty keys: every key is inserted by exactly one of them.
async fn concurrent(bench: &mut TestBed) {
    let batches = (0..8).map(|_| {
        let batch: Vec<v1::Update> = (0x5000..0x5014).map(|n| insert(bench, n)).collect();
        bench.write(batch)
    });
    let results = futures::future::join_all(batches).await;
    let successes: usize = results
        .iter()
        .map(|result| match result {
            Ok(()) => 20,
            Err(status) => {
                codes(status).map_or(0, |codes| codes.iter().filter(|c| **c == Code::Ok).count())
            }
        })
        .sum();
    bench.judge(
        22,
        "eight batches at once with the same twenty inserts",
        successes == 20,
        format!("{successes} inserts succeeded"),
        SERIAL,
    );
    let after = bench.write(vec![insert(bench, 0x5100)]).await;
    let read = bench
        .entries(bench.numbered(0x5100))
        .await
        .unwrap_or_default();
    bench.judge(
        22,
        "a Read right after a Write",
        after.is_ok() && read.len() == 1,
        format!("{} entries", read.len()),
        "a Write returns when it has taken effect (12)",
    );
}

async fn large(bench: &mut TestBed) {
    let note = vec![b'n'; 1000];
    let update = |number| {
        let entry = v1::TableEntry {
            metadata: note.clone().into(),
            ..bench.numbered(number)
        };
        one(update::Type::Insert, Kind::TableEntry(entry))
    };
    let batch: Vec<v1::Update> = (0x8000..0x8000 + 3700).map(update).collect();
    let bytes: usize = batch.iter().map(|update| update.encoded_len() + 4).sum();
    let outcome = Outcome::of(bench.write(batch).await);
    bench.judge(
        29,
        "a Write of nearly 4 MB",
        outcome.code == Code::Ok,
        format!("{bytes} bytes: {outcome}"),
        SIZE,
    );
    bench.look().await;
}

//! Points 1 to 9: who is primary, and who may do what.

use std::time::Duration;

use p4runtime::client::{ElectionId, Identity};
use p4runtime::p4::v1::write_request::Atomicity;
use p4runtime::p4::v1::{self, entity::Entity as Kind, update};
use tonic::Code;

use super::Verdict;
use super::bench::{NEVER, Outcome, SOON, Stream, StreamEvent, TestBed, one};

/// Streams that a server is asked to hold at a time.
const STREAMS: u128 = 200;

const ALONE: &str = "when the primary disconnects there is no primary until a client bids (5.3)";
const MEMORY: &str =
    "the highest election id ever seen for a device and role counts, until restart (5.3)";
const UNSET: &str =
    "an unset election id is not {0,0}: never primary, and several may connect (5.3)";
const STATUS: &str = "backups hear ALREADY_EXISTS beside a primary and NOT_FOUND without one (5.4)";
const HIGHEST: &str = "notifications carry the highest election id seen (5.4)";
const REFUSED: &str = "a duplicate election id is INVALID_ARGUMENT, an unknown device NOT_FOUND, another role or device on an open stream FAILED_PRECONDITION (5.3)";
const DRAIN: &str = "Writes in flight are finished before the new primary is told (5.3)";
const ROLES: &str =
    "each role has a primary of its own; Write, Read and SetForwardingPipelineConfig name it (5.2)";
const ORDER: &str = "checks go: NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION (12, 14)";

/// All of them.
pub(super) async fn check(bench: &mut TestBed) {
    unset_ids(bench).await;
    duplicates_and_strangers(bench).await;
    primaries_and_backups(bench).await;
    roles(bench).await;
    hand_over(bench).await;
    order_of_checks(bench).await;
    if !bench.options.quick {
        many_streams(bench).await;
    }
}

fn harmless(bench: &TestBed, number: u8) -> v1::Update {
    one(
        update::Type::Insert,
        Kind::TableEntry(bench.exact(&[number], &[1], 1)),
    )
}

async fn write_as(bench: &TestBed, who: &Identity, number: u8) -> Outcome {
    let update = harmless(bench, number);
    Outcome::of(
        bench
            .write_as(who, vec![update], Atomicity::ContinueOnError)
            .await,
    )
}

async fn unset_ids(bench: &mut TestBed) {
    let who = bench.who(None);
    let (first, heard) = bench.enter(&who).await;
    let (second, heard_too) = bench.enter(&who).await;
    let backup = |code: Option<Code>| code == Some(Code::AlreadyExists);
    bench.judge(
        3,
        "two clients without an election id",
        backup(heard.code()) && backup(heard_too.code()),
        format!("{}; {}", heard.describe(), heard_too.describe()),
        UNSET,
    );
    let outcome = write_as(bench, &who, 1).await;
    bench.demand(
        3,
        "a Write without an election id",
        &outcome,
        &[Code::PermissionDenied],
        UNSET,
    );
    drop((first, second));
}

async fn duplicates_and_strangers(bench: &mut TestBed) {
    let me = bench.me();
    let (stream, heard) = bench.enter(&me).await;
    bench.judge(
        6,
        "an election id that is taken",
        heard.code() == Some(Code::InvalidArgument),
        heard.describe(),
        REFUSED,
    );
    drop(stream);
    let stranger = Identity {
        device_id: bench.endpoint.device_id.wrapping_add(0x00c0_ffee),
        ..me.clone()
    };
    let (stream, heard) = bench.enter(&stranger).await;
    bench.judge(
        6,
        "a stream to an unknown device",
        heard.code() == Some(Code::NotFound),
        heard.describe(),
        REFUSED,
    );
    drop(stream);
    for (check, change) in [
        ("another device on an open stream", true),
        ("another role on an open stream", false),
    ] {
        let id = bench.me().election_id.map(|id| ElectionId(id.0 - 1));
        let low = bench.who(id);
        let (stream, _) = bench.enter(&low).await;
        let mut other = low;
        if change {
            other.device_id = other.device_id.wrapping_add(1);
        } else {
            other.role = "another".to_owned();
        }
        let heard = match stream {
            Some(mut stream) => {
                stream.bid(&other).await;
                stream.arbitration(SOON).await
            }
            None => StreamEvent::Nothing,
        };
        bench.judge(
            6,
            check,
            heard.code() == Some(Code::FailedPrecondition),
            heard.describe(),
            REFUSED,
        );
    }
}

/// A stream that must be there for what follows.
async fn enter(bench: &TestBed, id: ElectionId) -> (Option<Stream>, StreamEvent) {
    bench.enter(&bench.who(Some(id))).await
}

async fn primaries_and_backups(bench: &mut TestBed) {
    let Some((top, primary)) = bench.primary.take() else {
        return bench.note(1, "a primary", Verdict::Skip, "we are not primary", ALONE);
    };
    let low = ElectionId(top.0 - 5);
    let (backup, heard) = enter(bench, low).await;
    bench.judge(
        4,
        "a backup beside a primary",
        heard.code() == Some(Code::AlreadyExists),
        heard.describe(),
        STATUS,
    );
    bench.judge(
        5,
        "what the backup is told",
        heard.election_id() == Some(top),
        heard.describe(),
        HIGHEST,
    );
    drop(primary);
    let Some(mut backup) = backup else {
        bench.judge(
            1,
            "the primary leaves",
            false,
            "the backup was not let in",
            ALONE,
        );
        return again(bench).await;
    };
    let heard = backup.arbitration(SOON).await;
    bench.judge(
        4,
        "a backup when the primary leaves",
        heard.code() == Some(Code::NotFound),
        heard.describe(),
        STATUS,
    );
    bench.judge(
        5,
        "what it is told then",
        heard.election_id() == Some(top),
        heard.describe(),
        HIGHEST,
    );
    let outcome = write_as(bench, &bench.who(Some(low)), 2).await;
    bench.demand(
        1,
        "a Write of the backup that is left",
        &outcome,
        &[Code::PermissionDenied],
        ALONE,
    );
    let outcome = write_as(bench, &bench.who(Some(top)), 2).await;
    bench.demand(
        1,
        "a Write in the name of the primary that left",
        &outcome,
        &[Code::PermissionDenied],
        ALONE,
    );
    let lower = ElectionId(top.0 - 2);
    let (third, heard) = enter(bench, lower).await;
    bench.judge(
        2,
        "a bid below the highest id ever",
        heard.code() == Some(Code::NotFound),
        heard.describe(),
        MEMORY,
    );
    drop(third);
    let higher = bench.fresh_id();
    backup.bid(&bench.who(Some(higher))).await;
    let heard = backup.arbitration(SOON).await;
    let heard = match heard.code() {
        // News of the third client may come first.
        Some(Code::NotFound) => backup.arbitration(SOON).await,
        _ => heard,
    };
    bench.judge(
        1,
        "the backup bids higher",
        heard.code() == Some(Code::Ok),
        heard.describe(),
        ALONE,
    );
    let outcome = write_as(bench, &bench.who(Some(higher)), 2).await;
    bench.demand(
        1,
        "a Write of the new primary",
        &outcome,
        &[Code::Ok],
        ALONE,
    );
    drop(backup);
    again(bench).await;
}

async fn again(bench: &mut TestBed) {
    if let Err(error) = bench.reclaim().await {
        bench.died(&error);
    }
}

async fn roles(bench: &mut TestBed) {
    let id = bench
        .me()
        .election_id
        .map_or(ElectionId(1), |id| ElectionId(id.0 - 3));
    let role = Identity {
        role: "conform".to_owned(),
        ..bench.who(Some(id))
    };
    let (stream, heard) = bench.enter(&role).await;
    if heard.code() != Some(Code::Ok) {
        bench.judge(
            8,
            "a role beside the default one, with a lower election id",
            false,
            heard.describe(),
            ROLES,
        );
        return;
    }
    bench.judge(
        8,
        "a role beside the default one, with a lower election id",
        true,
        heard.describe(),
        ROLES,
    );
    let crossed = Identity {
        role: "conform".to_owned(),
        ..bench.me()
    };
    let outcome = write_as(bench, &crossed, 3).await;
    bench.demand(
        8,
        "a Write of a role with the other role's election id",
        &outcome,
        &[Code::PermissionDenied],
        ROLES,
    );
    let outcome = write_as(bench, &bench.me(), 3).await;
    bench.demand(
        8,
        "a Write of the default role meanwhile",
        &outcome,
        &[Code::Ok],
        ROLES,
    );
    let unknown = Identity {
        role: "nobody".to_owned(),
        ..bench.me()
    };
    let outcome = write_as(bench, &unknown, 4).await;
    bench.demand(
        8,
        "a Write of a role that nobody has",
        &outcome,
        &[
            Code::PermissionDenied,
            Code::NotFound,
            Code::InvalidArgument,
        ],
        ROLES,
    );
    drop(stream);
}

/// The old primary's batch is under way while a new one takes over: what the new one reads stays.
async fn hand_over(bench: &mut TestBed) {
    let me = bench.me();
    let updates = (0..2000).map(|n| {
        one(
            update::Type::Insert,
            Kind::TableEntry(bench.numbered(0x1000 + n)),
        )
    });
    let updates: Vec<v1::Update> = updates.collect();
    let higher = bench.fresh_id();
    let successor = bench.who(Some(higher));
    let batch = bench.write_as(&me, updates, Atomicity::ContinueOnError);
    let takeover = async {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let (stream, heard) = bench.enter(&successor).await;
        let count = count(bench).await;
        tokio::time::sleep(NEVER).await;
        (stream, heard, count, self::count(bench).await)
    };
    let (batch, (stream, heard, at_once, later)) = tokio::join!(batch, takeover);
    let outcome = Outcome::of(batch);
    bench.judge(
        7,
        "a new primary while the old one's batch is written",
        heard.code() == Some(Code::Ok) && at_once == later && at_once.is_some(),
        format!(
            "the batch: {outcome}; entries when told and later: {} and {}",
            at_once.map_or_else(|| "?".to_owned(), |n| n.to_string()),
            later.map_or_else(|| "?".to_owned(), |n| n.to_string())
        ),
        DRAIN,
    );
    let outcome = write_as(bench, &me, 5).await;
    bench.demand(
        7,
        "a Write of the old primary afterwards",
        &outcome,
        &[Code::PermissionDenied],
        DRAIN,
    );
    drop(stream);
    again(bench).await;
}

async fn count(bench: &TestBed) -> Option<usize> {
    let filter = v1::TableEntry {
        table_id: bench.table("exact_match"),
        ..Default::default()
    };
    bench
        .entries(filter)
        .await
        .ok()
        .map(|entries| entries.len())
}

async fn order_of_checks(bench: &mut TestBed) {
    let wrong = Identity {
        device_id: bench.endpoint.device_id.wrapping_add(0x00c0_ffee),
        ..bench.who(Some(ElectionId(1)))
    };
    let outcome = write_as(bench, &wrong, 6).await;
    bench.demand(
        9,
        "a Write to an unknown device with a stale election id",
        &outcome,
        &[Code::NotFound],
        ORDER,
    );
    let read = bench
        .read_as(&wrong, vec![Kind::TableEntry(v1::TableEntry::default())])
        .await;
    bench.demand(
        9,
        "a Read from an unknown device",
        &Outcome::of_any(&read),
        &[Code::NotFound],
        ORDER,
    );
    let stale = bench.who(Some(ElectionId(1)));
    let outcome = write_as(bench, &stale, 6).await;
    bench.demand(
        9,
        "a Write with a stale election id",
        &outcome,
        &[Code::PermissionDenied],
        ORDER,
    );
}

async fn many_streams(bench: &mut TestBed) {
    let mut streams = Vec::new();
    let mut refusal = None;
    for number in 1..=STREAMS {
        // Far below ours: backups all.
        let (stream, heard) = bench.enter(&bench.who(Some(ElectionId(number)))).await;
        match heard.code() {
            Some(Code::AlreadyExists) => streams.extend(stream),
            Some(Code::InvalidArgument) => {} // an id that somebody has already
            _ => {
                refusal = Some(heard);
                break;
            }
        }
    }
    let right = refusal
        .as_ref()
        .is_none_or(|heard| heard.code() == Some(Code::ResourceExhausted));
    let seen = match &refusal {
        Some(heard) => format!("after {} streams: {}", streams.len(), heard.describe()),
        None => format!("{} streams are held", streams.len()),
    };
    bench.judge(
        6,
        "very many streams",
        right,
        seen,
        "a server with too many streams answers RESOURCE_EXHAUSTED (5.3)",
    );
}

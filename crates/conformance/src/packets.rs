//! Point 27: packets out and in; and digests, which come the same way.

use p4runtime::p4::v1::stream_message_response::Update as Answer;
use p4runtime::p4::v1::{
    self, entity::Entity as Kind, stream_message_request::Update, table_action, update,
};
use tonic::Code;

use super::Verdict;
use super::bench::{NEVER, SOON, StreamEvent, TestBed, id_of};

const OUT: &str = "packet-out metadata matches the P4Info exactly, else the packet is dropped, perhaps with a StreamError, and the stream stays (16.1, 16.6)";
const IN: &str =
    "packets for the controller go to the primary with the metadata of packet_in (16.1)";
const DIGEST: &str = "digest lists go to the primary once they are asked for (9.8, 16.3)";

const LIST: &str = "a digest list";

/// All of them.
pub(super) async fn check(bench: &mut TestBed) {
    let takes = takes_packets_out(bench).await;
    packets_out(bench, &takes).await;
    packet_in(bench).await;
    digest(bench, &takes).await;
}

/// Whether packets out get anywhere. A server that has no port for the controller takes none, which
/// is its configuration, no fault; who names that port ([`super::ConformOptions::cpu_port`]) says
/// that it has one.
async fn takes_packets_out(bench: &mut TestBed) -> Result<(), String> {
    let named = bench.options.cpu_port.is_some();
    let Some((_, stream)) = bench.primary.as_mut().filter(|_| !named) else {
        return Ok(());
    };
    stream.say(to_port(1, 0x0800)).await;
    match stream.hear(NEVER).await {
        StreamEvent::Said(Answer::Error(error))
            if error.canonical_code == Code::FailedPrecondition as i32 =>
        {
            Err(format!(
                "a right packet out is refused ({}); --cpu-port names the port that leads to the controller",
                error.message
            ))
        }
        _ => Ok(()),
    }
}

/// A frame of 64 bytes.
fn frame(kind: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(kind.to_be_bytes());
    frame.resize(64, 0);
    frame
}

fn packet_out(metadata: Vec<(u32, Vec<u8>)>, kind: u16) -> Update {
    let metadata = metadata.into_iter();
    Update::Packet(v1::PacketOut {
        payload: frame(kind).into(),
        metadata: metadata
            .map(|(metadata_id, value)| v1::PacketMetadata {
                metadata_id,
                value: value.into(),
            })
            .collect(),
    })
}

fn to_port(port: u16, kind: u16) -> Update {
    let port = p4runtime::bytestring::canonical(&port.to_be_bytes()).to_vec();
    packet_out(vec![(1, vec![0xff, 0xff]), (2, port)], kind)
}

async fn packets_out(bench: &mut TestBed, takes: &Result<(), String>) {
    let mark = || (1, vec![0xff, 0xff]);
    let cases = [
        ("a packet out without metadata", Vec::new()),
        ("one with metadata missing", vec![mark()]),
        (
            "one with unknown metadata",
            vec![mark(), (2, vec![1]), (9, vec![1])],
        ),
        (
            "one with metadata given twice",
            vec![mark(), (2, vec![1]), (2, vec![1])],
        ),
        (
            "one with metadata too wide",
            vec![mark(), (2, vec![1, 0, 0])],
        ),
    ];
    let after = "a right one after them";
    if let Err(why) = takes {
        for check in cases.map(|(check, _)| check).into_iter().chain([after]) {
            bench.note(27, check, Verdict::Skip, why.clone(), OUT);
        }
        return;
    }
    for (check, metadata) in cases {
        let heard = match &mut bench.primary {
            Some((_, stream)) => {
                stream.say(packet_out(metadata, 0x0800)).await;
                stream.hear(NEVER).await
            }
            None => StreamEvent::Nothing,
        };
        let right = match &heard {
            StreamEvent::Nothing => true,
            StreamEvent::Said(Answer::Error(error)) => {
                // Too wide a value is out of range too (8.3).
                [Code::InvalidArgument as i32, Code::OutOfRange as i32]
                    .contains(&error.canonical_code)
            }
            _ => false,
        };
        bench.judge(27, check, right, heard.describe(), OUT);
        if matches!(heard, StreamEvent::Ended(..)) && bench.reclaim().await.is_err() {
            return bench.died(&"no session after a packet out");
        }
    }
    let heard = match &mut bench.primary {
        Some((_, stream)) => {
            stream.say(to_port(1, 0x0800)).await;
            stream.hear(NEVER).await
        }
        None => StreamEvent::Nothing,
    };
    let alive = matches!(heard, StreamEvent::Nothing);
    bench.judge(27, after, alive, heard.describe(), OUT);
}

async fn packet_in(bench: &mut TestBed) {
    let check = "a packet for the controller's port";
    let Some(port) = bench.options.cpu_port else {
        let seen = "which port leads to the controller was not said (--cpu-port)";
        return bench.note(27, check, Verdict::Skip, seen, IN);
    };
    let bytes = p4runtime::bytestring::canonical(&port.to_be_bytes()).to_vec();
    let cpu = v1::TableEntry {
        table_id: bench.table("cpu"),
        is_default_action: true,
        action: Some(v1::TableAction {
            r#type: Some(table_action::Type::Action(bench.call("set_cpu", &[&bytes]))),
        }),
        ..Default::default()
    };
    let outcome = bench.put(update::Type::Modify, Kind::TableEntry(cpu)).await;
    if outcome.code != Code::Ok {
        return bench.note(27, check, Verdict::Fail, outcome.to_string(), IN);
    }
    let heard = match &mut bench.primary {
        Some((_, stream)) => {
            stream.say(to_port(port, 0x0800)).await;
            stream
                .hear_until(SOON, |answer| matches!(answer, Answer::Packet(_)))
                .await
        }
        None => StreamEvent::Nothing,
    };
    let right = match &heard {
        StreamEvent::Said(Answer::Packet(packet)) => {
            packet.payload == frame(0x0800) && packet.metadata.len() == 1
        }
        _ => false,
    };
    bench.judge(27, check, right, heard.describe(), IN);
}

async fn digest(bench: &mut TestBed, takes: &Result<(), String>) {
    let digest_id = id_of(bench.info().digests.iter().map(|d| &d.preamble), "note_t");
    let entry = v1::DigestEntry {
        digest_id,
        config: Some(v1::digest_entry::Config {
            max_timeout_ns: 1_000_000,
            max_list_size: 1,
            ack_timeout_ns: 1_000_000_000,
        }),
    };
    let outcome = bench
        .put(update::Type::Insert, Kind::DigestEntry(entry))
        .await;
    bench.demand(27, "a digest is asked for", &outcome, &[Code::Ok], DIGEST);
    let read = bench
        .read(Kind::DigestEntry(v1::DigestEntry {
            digest_id,
            config: None,
        }))
        .await;
    let right = read.as_ref().is_ok_and(|found| {
        found
            .iter()
            .any(|kind| matches!(kind, Kind::DigestEntry(e) if e.config == entry.config))
    });
    bench.judge(
        27,
        "its configuration reads back",
        right,
        format!("{} entries", read.map_or(0, |found| found.len())),
        DIGEST,
    );
    match takes {
        Ok(()) => digest_list(bench, digest_id).await,
        Err(why) => bench.note(27, LIST, Verdict::Skip, why.clone(), DIGEST),
    }
    let wrong = match &mut bench.primary {
        Some((_, stream)) => {
            stream
                .say(Update::DigestAck(v1::DigestListAck {
                    digest_id: 1,
                    list_id: 9,
                }))
                .await;
            stream.hear(NEVER).await
        }
        None => StreamEvent::Nothing,
    };
    let right = matches!(
        wrong,
        StreamEvent::Nothing | StreamEvent::Said(Answer::Error(_))
    );
    bench.judge(
        27,
        "an acknowledgement of nothing",
        right,
        wrong.describe(),
        DIGEST,
    );
}

/// A packet of which the program sends a digest.
async fn digest_list(bench: &mut TestBed, digest_id: u32) {
    let heard = match &mut bench.primary {
        Some((_, stream)) => {
            stream.say(to_port(1, 0x8888)).await;
            stream
                .hear_until(SOON, |answer| matches!(answer, Answer::Digest(_)))
                .await
        }
        None => StreamEvent::Nothing,
    };
    let right = matches!(&heard, StreamEvent::Said(Answer::Digest(list)) if list.digest_id == digest_id && list.data.len() == 1);
    bench.judge(27, LIST, right, heard.describe(), DIGEST);
    if let (StreamEvent::Said(Answer::Digest(list)), Some((_, stream))) =
        (&heard, &mut bench.primary)
    {
        let ack = v1::DigestListAck {
            digest_id,
            list_id: list.list_id,
        };
        stream.say(Update::DigestAck(ack)).await;
        let after = stream.hear(NEVER).await;
        let (right, seen) = (matches!(after, StreamEvent::Nothing), after.describe());
        bench.judge(27, "its acknowledgement", right, seen, DIGEST);
    }
}

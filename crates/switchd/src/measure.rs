//! How fast a P4Runtime server takes entries and gives them back, measured from a client: ours, or any other.

use std::time::{Duration, Instant};

use p4runtime::p4::v1;
use p4runtime::p4::v1::entity::Entity;
use p4runtime::p4::v1::field_match::{self, FieldMatchType};
use p4runtime::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::p4::v1::table_action;
use p4runtime::p4::v1::update::Type;
use tonic::Status;
use tonic::transport::Channel;

/// A program with one LPM table of a million entries, to be measured on any v1model target.
pub const PROGRAM: &str = include_str!("measure.p4");

/// Figures of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Entries written and read.
    pub entries: usize,
    /// Entries written per second.
    pub writes: f64,
    /// Entries read per second.
    pub reads: f64,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Entries in all.
    pub entries: usize,
    /// Entries in one batch.
    pub batch: usize,
    /// Batches under way at a time.
    pub in_flight: usize,
    /// The device.
    pub device_id: u64,
    /// The primary's election id.
    pub election_id: v1::Uint128,
    /// The table, its only match field being field 1, LPM over 32 bits.
    pub table_id: u32,
    /// An action with one parameter of 9 bits.
    pub action_id: u32,
}

fn entry(load: &Load, number: u32) -> v1::Update {
    // Every address once, scattered over the space: the odd constant makes multiplication a permutation.
    let address = number.wrapping_mul(0x9e37_79b1);
    v1::Update {
        r#type: Type::Insert.into(),
        entity: Some(v1::Entity {
            entity: Some(Entity::TableEntry(v1::TableEntry {
                table_id: load.table_id,
                r#match: vec![v1::FieldMatch {
                    field_id: 1,
                    field_match_type: Some(FieldMatchType::Lpm(field_match::Lpm {
                        value: address.to_be_bytes().to_vec(),
                        prefix_len: 32,
                    })),
                }],
                action: Some(v1::TableAction {
                    r#type: Some(table_action::Type::Action(v1::Action {
                        action_id: load.action_id,
                        params: vec![v1::action::Param {
                            param_id: 1,
                            value: vec![(number % 250) as u8 + 1],
                        }],
                    })),
                }),
                ..Default::default()
            })),
        }),
    }
}

/// Writes the entries, batches made beforehand, and reads them back.
///
/// # Errors
/// The first status that is not OK; UNKNOWN if fewer entries come back than were written.
pub async fn measure(rpc: &P4RuntimeClient<Channel>, load: &Load) -> Result<Rates, Status> {
    let count = u32::try_from(load.entries).unwrap_or(u32::MAX);
    let mut numbers = 0..count;
    let mut requests: Vec<v1::WriteRequest> = Vec::new();
    while !numbers.is_empty() {
        let batch = numbers.by_ref().take(load.batch.max(1));
        requests.push(v1::WriteRequest {
            device_id: load.device_id,
            election_id: Some(load.election_id),
            updates: batch.map(|n| entry(load, n)).collect(),
            ..Default::default()
        });
    }
    requests.reverse();
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    while let Some(request) = requests.pop() {
        if tasks.len() >= load.in_flight.max(1)
            && let Some(done) = tasks.join_next().await
        {
            done.map_err(|e| Status::internal(e.to_string()))??;
        }
        let mut rpc = rpc.clone();
        tasks.spawn(async move { rpc.write(request).await.map(|_| ()) });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(|e| Status::internal(e.to_string()))??;
    }
    let writing = began.elapsed();
    let filter = v1::TableEntry {
        table_id: load.table_id,
        ..Default::default()
    };
    let request = v1::ReadRequest {
        device_id: load.device_id,
        role: String::new(),
        entities: vec![v1::Entity {
            entity: Some(Entity::TableEntry(filter)),
        }],
    };
    let began = Instant::now();
    let mut answers = rpc.clone().read(request).await?.into_inner();
    let mut read = 0;
    while let Some(answer) = answers.message().await? {
        read += answer.entities.len();
    }
    let reading = began.elapsed();
    if read < load.entries {
        return Err(Status::unknown(format!(
            "{read} of {} entries came back",
            load.entries
        )));
    }
    let rate = |time: Duration| load.entries as f64 / time.as_secs_f64().max(1e-9);
    Ok(Rates {
        entries: load.entries,
        writes: rate(writing),
        reads: rate(reading),
    })
}

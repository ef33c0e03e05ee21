//! A fuzzer for P4Runtime servers with a model that says what each update must be answered.
//!
//! [`fuzz`] draws batches of valid updates and of invalid ones (see [`invalid::Fault`]) for any
//! P4Info, predicts the status of each update from a model that is nothing but maps of messages
//! ([`model`]), and compares both the statuses and, by reading everything back, the state. It knows
//! nothing of the server it talks to; where the standard leaves a choice, any choice is right.

pub mod draw;
pub mod invalid;
pub mod model;

use std::collections::BTreeMap;

use p4runtime::client::{Connection, ElectionId, Identity};
use p4runtime::google::rpc;
use p4runtime::p4::config::v1::P4Info;
use p4runtime::p4::v1;
use p4runtime::p4::v1::update::Type;
use p4runtime::p4::v1::write_request::Atomicity;
use prost::Message as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;
use tonic::{Code, Status};

use draw::Draw;
use model::Model;

/// How much is drawn.
#[derive(Clone, Debug)]
pub struct FuzzConfig {
    /// Same seed, same updates.
    pub seed: u64,
    /// Updates in all.
    pub updates: usize,
    /// The most updates in one batch.
    pub batch: usize,
    /// Batches between two reads of everything.
    pub read_every: usize,
    /// Who writes: the primary.
    pub identity: Identity,
    /// Whether batches that must be made as a whole are drawn too; not every server has them.
    pub atomic: bool,
}

impl Default for FuzzConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            updates: 10_000,
            batch: 64,
            read_every: 50,
            identity: Identity {
                election_id: Some(ElectionId(1)),
                ..Identity::default()
            },
            atomic: true,
        }
    }
}

/// What was done, and where server and model disagree.
#[derive(Clone, Debug, Default)]
pub struct FuzzReport {
    /// Updates sent.
    pub updates: usize,
    /// Of them, such as the server took.
    pub accepted: usize,
    /// Times everything was read and compared.
    pub reads: usize,
    /// How often each kind of update was drawn.
    pub kinds: BTreeMap<&'static str, usize>,
    /// What was wrong, the first few.
    pub disagreements: Vec<String>,
}

/// Disagreements that are told; after as many the rest would only repeat them.
const ENOUGH: usize = 10;

/// Why fuzzing ended early.
#[derive(Debug, Error)]
pub enum FuzzError {
    /// A call failed as a whole.
    #[error("{what}: {status}")]
    Call {
        /// Which.
        what: &'static str,
        /// How.
        status: Box<Status>,
    },
    /// The program offers nothing to write.
    #[error("P4Info has no table that can be written")]
    Nothing,
}

fn call(what: &'static str) -> impl Fn(Status) -> FuzzError {
    move |status| FuzzError::Call {
        what,
        status: Box::new(status),
    }
}

/// Fuzzes a server on which the program of `info` runs, in the name of its primary.
///
/// # Errors
/// [`FuzzError`]; disagreements are not errors but in the report.
pub async fn fuzz(
    connection: &Connection,
    info: &P4Info,
    config: &FuzzConfig,
) -> Result<FuzzReport, FuzzError> {
    let mut rng = ChaCha8Rng::seed_from_u64(config.seed);
    let mut model = Model::new(info);
    if model.tables().is_empty() {
        return Err(FuzzError::Nothing);
    }
    // What the program itself installs is not in P4Info.
    model.adopt(read(connection, config, &model).await?);
    let mut report = FuzzReport::default();
    let mut batches = 0;
    while report.updates < config.updates && report.disagreements.len() < ENOUGH {
        let size = rng
            .random_range(1..=config.batch)
            .min(config.updates - report.updates);
        let whole = config.atomic && rng.random_range(0..4) == 0;
        let before = whole.then(|| model.clone());
        let mut draws: Vec<Draw> = Vec::with_capacity(size);
        for _ in 0..size {
            let draw = draw(&mut rng, &model);
            *report.kinds.entry(draw.kind).or_default() += 1;
            // The model takes the update at once, so that later ones of the batch are judged by it.
            if draw.expected == [Code::Ok] {
                model.apply(&draw.update);
            }
            draws.push(draw);
        }
        let atomicity = if whole {
            Atomicity::RollbackOnError
        } else {
            Atomicity::ContinueOnError
        };
        let updates = draws.iter().map(|d| d.update.clone()).collect();
        let request = config.identity.write(updates, atomicity);
        let answer = connection.write(request).await;
        let codes = codes(&answer, size).map_err(|()| {
            call("Write")(answer.clone().err().unwrap_or_else(|| Status::unknown("")))
        })?;
        report.updates += size;
        report.accepted += codes.iter().filter(|c| **c == Code::Ok).count();
        judge(&mut report, &draws, &codes, whole, answer.err().as_ref());
        if let Some(before) = before
            && draws.iter().any(|d| d.expected != [Code::Ok])
        {
            model = before;
        }
        batches += 1;
        if batches % config.read_every == 0 || report.updates >= config.updates {
            report.reads += 1;
            let state = read(connection, config, &model).await?;
            model.compare(&state, &mut report.disagreements);
        }
    }
    Ok(report)
}

/// Compares the statuses with those predicted.
fn judge(
    report: &mut FuzzReport,
    draws: &[Draw],
    codes: &[Code],
    whole: bool,
    status: Option<&Status>,
) {
    let fails = draws.iter().position(|d| d.expected != [Code::Ok]);
    for (index, (draw, code)) in draws.iter().zip(codes).enumerate() {
        let right = match (whole, fails) {
            // One failed: all others are as if they had not been asked for.
            (true, Some(first)) if index != first => *code != Code::Ok,
            _ => draw.expected.contains(code),
        };
        if !right && report.disagreements.len() < ENOUGH {
            let said = status.map_or("", |s| s.message());
            report.disagreements.push(format!(
                "{}{}: expected {:?}, got {code:?} for {:?} ({said})",
                if whole { "atomic " } else { "" },
                draw.kind,
                draw.expected,
                draw.update
            ));
        }
    }
}

/// The code of each update; an error if the batch was not even tried.
fn codes(answer: &Result<(), Status>, count: usize) -> Result<Vec<Code>, ()> {
    let Err(status) = answer else {
        return Ok(vec![Code::Ok; count]);
    };
    let details = rpc::Status::decode(status.details())
        .map_err(|_| ())?
        .details;
    if details.len() != count {
        return Err(());
    }
    let code = |any: &prost_types::Any| {
        let error = v1::Error::decode(any.value.as_slice()).map_err(|_| ())?;
        Ok(error.canonical_code.into())
    };
    details.iter().map(code).collect()
}

/// Everything the model knows of.
async fn read(
    connection: &Connection,
    config: &FuzzConfig,
    model: &Model,
) -> Result<Vec<v1::entity::Entity>, FuzzError> {
    let request = config.identity.read(model.requests());
    let found = connection.read(request).await.map_err(call("Read"))?;
    Ok(found.into_iter().filter_map(|e| e.entity).collect())
}

/// Draws an update, valid or not.
fn draw(rng: &mut ChaCha8Rng, model: &Model) -> Draw {
    for _ in 0..100 {
        let drawn = match rng.random_range(0..20) {
            0..=10 => draw::table_update(rng, model),
            11..=12 => draw::profile_update(rng, model),
            13 => draw::multicast_update(rng, model),
            14 => draw::default_update(rng, model),
            _ => invalid::draw(rng, model),
        };
        if let Some(drawn) = drawn {
            return drawn;
        }
    }
    // A program with next to nothing to write.
    Draw {
        kind: "empty",
        update: v1::Update {
            r#type: Type::Insert.into(),
            entity: None,
        },
        expected: vec![Code::InvalidArgument],
    }
}

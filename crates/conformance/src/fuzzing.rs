//! Random updates, valid and not, against a model that says what each must be answered
//! ([`fuzz`](crate::fuzz)).

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use super::Verdict;
use super::bench::TestBed;
use crate::fuzz::{FuzzConfig, FuzzError, fuzz};

/// Updates in one batch at most. A batch that is refused as a whole lists every update in a header,
/// and gRPC libraries take 8 KB of those.
const BATCH: usize = 32;

/// What was drawn, and where the server and the model disagree.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fuzzing {
    /// Same seed, same updates.
    pub seed: u64,
    /// Updates sent.
    pub updates: usize,
    /// Of them, such as the server took.
    pub accepted: usize,
    /// Times everything was read back and compared.
    pub reads: usize,
    /// How often each kind of update was drawn; faults begin with a capital.
    pub kinds: BTreeMap<&'static str, usize>,
    /// How long it took.
    pub seconds: f64,
    /// The first disagreements, or what ended it early.
    pub disagreements: Vec<String>,
}

/// How much is drawn.
#[derive(Clone, Copy, Debug)]
pub struct FuzzOptions {
    /// Same seed, same updates.
    pub seed: u64,
    /// Updates in all.
    pub updates: usize,
}

/// Fuzzes a server on which the conformance program was just loaded.
pub(super) async fn check(bench: &mut TestBed, options: FuzzOptions) -> Fuzzing {
    let mut done = Fuzzing {
        seed: options.seed,
        ..Fuzzing::default()
    };
    if bench.primary.is_none() {
        done.disagreements
            .push("the server was dead before".to_owned());
        return done;
    }
    let config = FuzzConfig {
        seed: options.seed,
        updates: options.updates,
        batch: BATCH,
        identity: bench.me(),
        // Point 21 has found out whether there are any.
        atomic: !bench.has(21, Verdict::Lacks),
        ..FuzzConfig::default()
    };
    let info = bench.pipeline.info.info().clone();
    let began = Instant::now();
    let report = fuzz(&bench.connection, &info, &config).await;
    done.seconds = began.elapsed().as_secs_f64();
    match report {
        Ok(report) => {
            done.updates = report.updates;
            done.accepted = report.accepted;
            done.reads = report.reads;
            done.kinds = report.kinds;
            done.disagreements = report.disagreements;
        }
        Err(error @ (FuzzError::Call { .. } | FuzzError::Nothing)) => {
            done.disagreements.push(format!("it ended early: {error}"));
        }
    }
    done
}

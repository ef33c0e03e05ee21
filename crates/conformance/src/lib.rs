//! Conformance of a P4Runtime server, seen from outside: 29 points that servers get wrong and
//! clients rely on (P4Runtime 1.5), each tried with a small program of our own.
//!
//! | points | module |
//! |---|---|
//! | 1-9 session and arbitration | `session` |
//! | 10-19 values and entries | `values`, `entries`, `groups` |
//! | 20-24, 29 reads and writes | `batches`, `reads` |
//! | 25-28 configuration and stream | `pipeline`, `packets` |
//!
//! A check never takes a server's word for it: what was written is read back. A server that dies
//! under a check has failed it, and the checks after it are skipped; those that have killed servers
//! come last.
//!
//! [`fuzz`] tries a server with random updates beside a model, [`rates`] measures how many entries
//! it takes and gives back.
// Byte fields are given as whatever type the messages have.
#![allow(clippy::useless_conversion)]

mod answer;
mod batches;
mod bench;
mod entries;
pub mod fuzz;
mod fuzzing;
mod groups;
mod packets;
mod pipeline;
pub mod rates;
mod reads;
mod session;
mod values;

use std::path::PathBuf;

use p4front::source::SourceMap;
use serde::Serialize;
use thiserror::Error;

use bench::TestBed;
use controlplane::desired::DesiredPipeline;
use controlplane::devices::ConfigFormat;
use controlplane::{Endpoint, RemoteError};
pub use fuzzing::{FuzzOptions, Fuzzing};
use p4gen::capabilities::{Atomicity, Capabilities};

/// The program.
pub const PROGRAM: &str = include_str!("conform.p4");

/// The points and their names.
pub const POINTS: [(u8, &str); 29] = [
    (1, "no primary after the primary leaves"),
    (2, "the highest election id is remembered"),
    (3, "unset election ids"),
    (4, "what backups are told"),
    (5, "notifications carry the highest id"),
    (6, "refused streams"),
    (7, "hand-over drains writes"),
    (8, "roles"),
    (9, "order of checks"),
    (10, "byte strings"),
    (11, "keys in normal form"),
    (12, "priorities"),
    (13, "default entries"),
    (14, "const tables"),
    (15, "initial entries"),
    (16, "scopes and references"),
    (17, "snapshots"),
    (18, "selectors and replication"),
    (19, "idle timeouts"),
    (20, "errors of a batch"),
    (21, "atomicity"),
    (22, "concurrent batches"),
    (23, "wildcard reads"),
    (24, "large reads; counters, meters, registers, value sets"),
    (25, "verify, save, commit, reconcile"),
    (26, "what is told of the program"),
    (27, "packets and digests"),
    (28, "capabilities"),
    (29, "messages of 4 MB"),
];

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As the specification says.
    Pass,
    /// Not there, which the specification allows.
    Lacks,
    /// Could not be tried.
    Skip,
    /// Not as the specification says.
    Fail,
}

impl Verdict {
    /// The word in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Lacks => "lacks",
            Self::Skip => "skip",
            Self::Fail => "FAIL",
        }
    }
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The point, 1 to 29.
    pub point: u8,
    /// What was tried.
    pub check: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// What was seen.
    pub seen: String,
    /// What the specification says, with the section.
    pub spec: &'static str,
}

/// All checks of a server.
#[derive(Clone, Debug, Serialize)]
pub struct Conformance {
    /// Where it is.
    pub address: String,
    /// The version of P4Runtime that it names.
    pub api_version: String,
    /// Whether nothing failed.
    pub conforms: bool,
    /// Where the server is otherwise than its target is known for (`switchwright targets`), where
    /// the target is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// The checks, by point.
    pub findings: Vec<Finding>,
    /// Random updates, where they were asked for.
    pub fuzzing: Option<Fuzzing>,
}

impl Conformance {
    /// Judges by what the target is known to have: see [`ConformOptions::target`].
    fn hold_against(&mut self, target: &Capabilities) {
        for finding in &mut self.findings {
            let Some(has) = offered(target, finding.check) else {
                continue;
            };
            let seen = match finding.verdict {
                Verdict::Pass => Some(true),
                Verdict::Lacks | Verdict::Fail => Some(false),
                Verdict::Skip => None,
            };
            if let Some(seen) = seen.filter(|seen| *seen != has) {
                let word = |has| if has { "has" } else { "lacks" };
                self.differs.push(format!(
                    "it {} what `{}` tries, and a switch of target {} is known to {} it",
                    word(seen),
                    finding.check,
                    target.target,
                    if has { "have" } else { "lack" }
                ));
            }
            finding.verdict = match finding.verdict {
                Verdict::Lacks if has => Verdict::Fail,
                Verdict::Fail if !has => Verdict::Lacks,
                verdict => verdict,
            };
        }
        let agrees = |fuzzing: &Fuzzing| fuzzing.disagreements.is_empty();
        self.conforms = self.findings.iter().all(|f| f.verdict != Verdict::Fail)
            && self.fuzzing.as_ref().is_none_or(agrees);
    }

    /// How many checks came out so.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings
            .iter()
            .filter(|f| f.verdict == verdict)
            .count()
    }
}

/// Whether a target has what a check tries; none where it is nothing that targets differ in.
fn offered(target: &Capabilities, check: &str) -> Option<bool> {
    match check {
        ROLLBACK => Some(target.atomicity >= Atomicity::RollbackOnError),
        DATAPLANE => Some(target.atomicity >= Atomicity::DataplaneAtomic),
        REGISTER => Some(target.registers),
        VALUE_SET => Some(target.value_sets),
        _ => None,
    }
}

/// Names of the checks that targets differ in.
const ROLLBACK: &str = "ROLLBACK_ON_ERROR";
const DATAPLANE: &str = "DATAPLANE_ATOMIC";
const REGISTER: &str = "a register cell";
const VALUE_SET: &str = "a value set";

/// What to try.
#[derive(Clone, Debug)]
pub struct ConformOptions {
    /// Leave out what takes long or much.
    pub quick: bool,
    /// The port that leads to the controller, for packets in.
    pub cpu_port: Option<u16>,
    /// Two ports that the server has, for groups that watch ports; without them such are looked
    /// for.
    pub ports: Option<[u8; 2]>,
    /// What the server takes as a device config.
    pub config: ConfigFormat,
    /// A device config of [`PROGRAM`] made beforehand.
    pub config_file: Option<PathBuf>,
    /// Random updates after the checks.
    pub fuzz: Option<FuzzOptions>,
    /// What the server is: what this target has and the server lacks fails; what the target has not
    /// is no failure.
    pub target: Option<&'static Capabilities>,
}

/// Why nothing could be tried.
#[derive(Debug, Error)]
pub enum ConformError {
    /// The server cannot be reached, or does not load the program.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// Our own program does not compile.
    #[error("the conformance program does not compile: {0}; this is a bug of Switchwright")]
    Program(String),
}

/// What the checks are called while they run.
pub type Watch<'a> = &'a (dyn Fn(&str) + Sync);

/// Tries a server. Whatever it holds is replaced.
///
/// # Errors
/// [`ConformError`] where nothing can be tried at all.
pub async fn run(
    endpoint: &Endpoint,
    options: &ConformOptions,
    watch: Watch<'_>,
) -> Result<Conformance, ConformError> {
    let mut bench = TestBed::open(endpoint, options, program()?).await?;
    watch("before a program");
    pipeline::before_any(&mut bench).await;
    watch("loading the program");
    bench.load().await?;
    watch("session");
    session::check(&mut bench).await;
    watch("values");
    bench.refresh().await?;
    values::check(&mut bench).await;
    watch("entries");
    bench.refresh().await?;
    entries::check(&mut bench).await;
    watch("groups");
    bench.refresh().await?;
    groups::check(&mut bench).await;
    watch("batches");
    bench.refresh().await?;
    batches::check(&mut bench).await;
    watch("reads");
    bench.refresh().await?;
    reads::check(&mut bench).await;
    watch("packets");
    bench.refresh().await?;
    packets::check(&mut bench).await;
    watch("configuration");
    bench.refresh().await?;
    pipeline::check(&mut bench).await;
    if let Some(fuzz) = options.fuzz {
        watch("random updates");
        bench.refresh().await?;
        bench.fuzzing = Some(fuzzing::check(&mut bench, fuzz).await);
    }
    let mut report = bench.into_report();
    if let Some(target) = options.target {
        report.hold_against(target);
    }
    Ok(report)
}

/// Our program and its P4Info.
fn program() -> Result<DesiredPipeline, ConformError> {
    let bug = |error: &dyn std::fmt::Display| ConformError::Program(error.to_string());
    let mut map = SourceMap::new();
    let main = map
        .add("conform.p4", PROGRAM)
        .map_err(|error| bug(&error))?;
    let options = p4front::Options::default();
    let compiled = p4front::compile(&mut map, main, &options)
        .map_err(|findings| ConformError::Program(findings.render(&map)))?;
    let info = compiled.p4info;
    DesiredPipeline::new("conform".to_owned(), info, PROGRAM.to_owned())
        .map_err(|error| bug(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4gen::targets::{EMBEDDED, V1MODEL};

    #[test]
    fn what_a_target_has_not_is_no_failure_and_what_it_has_must_be_there() {
        let finding = |check, verdict| Finding {
            point: 21,
            check,
            verdict,
            seen: String::new(),
            spec: "",
        };
        let found = vec![
            finding(DATAPLANE, Verdict::Lacks),
            finding(REGISTER, Verdict::Fail),
            finding(VALUE_SET, Verdict::Pass),
            finding("another", Verdict::Pass),
        ];
        let held = |target| {
            let mut report = Conformance {
                address: String::new(),
                api_version: String::new(),
                conforms: false,
                differs: Vec::new(),
                findings: found.clone(),
                fuzzing: None,
            };
            report.hold_against(target);
            report
        };
        let v1model = held(&V1MODEL.capabilities);
        assert!(v1model.conforms);
        assert_eq!(
            v1model.differs,
            ["it has what `a value set` tries, and a switch of target v1model is known to lack it"]
        );
        let embedded = held(&EMBEDDED.capabilities);
        assert!(!embedded.conforms);
        assert_eq!(embedded.count(Verdict::Fail), 2);
        assert_eq!(embedded.differs.len(), 2);
        assert!(embedded.differs[0].starts_with("it lacks what `DATAPLANE_ATOMIC`"));
    }
}

//! How fast plans are made, proven and built.

use std::path::Path;

use p4gen::build::{self, BuildError};
use p4gen::targets::V1MODEL;
use plan::{CheckFailure, Tables, check};
use quantities::Bytes;
use schemes::failover::FailoverError;
use schemes::{SchemeError, TaggerOptions};
use serde::Serialize;
use thiserror::Error;
use topology::Topology;
use topology::generate::{Cables, FatTree, GenerateError, Jellyfish, JellyfishSize};

use super::machine::{peak_memory, reset_peak_memory, timed};

/// A topology to be planned.
#[derive(Clone, Debug)]
pub struct PlanningCase {
    /// Its name in reports.
    pub name: &'static str,
    generator: Generator,
    /// Whether the build is measured too.
    build: bool,
    /// Whether the peer is run: it knows shortest paths only, and takes long.
    pub has_peer: bool,
}

#[derive(Clone, Debug)]
enum Generator {
    Jellyfish { switches: u32, ports: u16 },
    FatTree { k: u16 },
}

/// What one case took.
#[derive(Clone, Debug, Serialize)]
pub struct PlanningFigure {
    /// The case.
    pub name: &'static str,
    /// Switches.
    pub switches: usize,
    /// Hosts.
    pub hosts: usize,
    /// Lossless tags needed.
    pub tags: usize,
    /// Rules over all switches.
    pub rules: usize,
    /// Seconds to generate the topology.
    pub generate_seconds: f64,
    /// Seconds to compute the tables: the best of [`RUNS`].
    pub plan_seconds: f64,
    /// Seconds to prove them.
    pub check_seconds: f64,
    /// Seconds to write the build directory, where measured.
    pub build_seconds: Option<f64>,
    /// The most memory held meanwhile, where the system tells.
    pub peak_memory: Option<Bytes>,
}

/// Why a benchmark did not run to its end.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// The topology.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The tables.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The failover tables.
    #[error(transparent)]
    Failover(#[from] FailoverError),
    /// Nothing to measure.
    #[error(
        "the topology has too few disjoint trees, or the plan no failover tables; this is a bug of Switchwright"
    )]
    NoTables,
    /// The proof.
    #[error(transparent)]
    Check(#[from] Box<CheckFailure>),
    /// The build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A program of others that does not end.
    #[error(
        "{what} had not ended after {seconds} s, and was stopped; leave it out with `--no-peer`, or see why it hangs"
    )]
    Late {
        /// The program.
        what: &'static str,
        /// How long it had.
        seconds: u64,
    },
}

/// The cases of `switchwright bench plan`.
#[must_use]
pub fn cases() -> Vec<PlanningCase> {
    let jellyfish = |name, ports, has_peer| PlanningCase {
        name,
        generator: Generator::Jellyfish {
            switches: 1000,
            ports,
        },
        build: false,
        has_peer,
    };
    let fat_tree = |name, k| PlanningCase {
        name,
        generator: Generator::FatTree { k },
        build: true,
        has_peer: false,
    };
    vec![
        // The script takes half a minute here, and many minutes on the denser ones.
        jellyfish("jellyfish 1000 x 12", 12, true),
        jellyfish("jellyfish 1000 x 24", 24, false),
        jellyfish("jellyfish 1000 x 40", 40, false),
        fat_tree("fat-tree k = 8", 8),
        fat_tree("fat-tree k = 32", 32),
    ]
}

impl PlanningCase {
    /// Makes the topology.
    ///
    /// # Errors
    /// [`GenerateError`].
    pub fn topology(&self) -> Result<Topology, GenerateError> {
        let cables = Cables::default();
        match self.generator {
            Generator::Jellyfish { switches, ports } => {
                let size = JellyfishSize::Switches {
                    switches,
                    fabric_ports: ports / 2,
                };
                Jellyfish {
                    size,
                    ports,
                    seed: 1,
                    cables,
                }
                .generate()
            }
            Generator::FatTree { k } => FatTree { k, cables }.generate(),
        }
    }
}

/// How often the tables are computed: a run of milliseconds is at the mercy of whatever else the
/// machine does.
const RUNS: usize = 5;

/// The tables of a topology, and the best time of several runs.
fn plan_best(topology: &Topology) -> Result<(Tables, f64), SchemeError> {
    let run = || timed(|| schemes::tagger(topology, &TaggerOptions::default()));
    let (mut tables, mut best) = run();
    for _ in 1..RUNS {
        let (again, seconds) = run();
        (tables, best) = (again, best.min(seconds));
    }
    Ok((tables?, best))
}

/// Runs a case; the build goes into `directory`.
///
/// # Errors
/// [`MeasureError`].
pub fn measure(case: &PlanningCase, directory: &Path) -> Result<PlanningFigure, MeasureError> {
    reset_peak_memory();
    let (topology, generate_seconds) = timed(|| case.topology());
    let topology = topology?;
    let (switches, hosts) = (topology.switches().len(), topology.hosts().len());
    let (tables, plan_seconds) = plan_best(&topology)?;
    let tags = tables.tagging.priorities.len();
    let rules = tables.tagging.rules.iter().map(Vec::len).sum();
    let (plan, check_seconds) = timed(|| check(tables, &check::Options::default()));
    let plan = plan?;
    let mut build_seconds = None;
    if case.build {
        let place = directory.join(case.name.replace([' ', '='], "-"));
        let (built, seconds) = timed(|| build::build(&plan, &V1MODEL, &place, &|_| ()));
        built?;
        build_seconds = Some(seconds);
    }
    Ok(PlanningFigure {
        name: case.name,
        switches,
        hosts,
        tags,
        rules,
        generate_seconds,
        plan_seconds,
        check_seconds,
        build_seconds,
        peak_memory: peak_memory(),
    })
}

//! The proof of failover tables in figures: how many sets of failures it settles, by how many
//! walks, in what time.

use plan::check::FailureOptions;
use plan::check::resilience::resilience;
use plan::failover::Output;
use schemes::failover::{FailoverOptions, FailoverScheme, PathPolicy};
use serde::{Deserialize, Serialize};
use topology::generate::{Cables, FatTree, Jellyfish, JellyfishSize};
use topology::{Fabric, Topology};

use super::super::machine::timed;
use super::super::planning::MeasureError;
use super::{Shape, tables};

/// A plan to prove.
#[derive(Clone, Debug)]
pub struct ProofCase {
    /// Its name.
    pub name: &'static str,
    ground: GroundName,
    options: FailoverOptions,
    failures: u32,
    exhaustive: bool,
}

#[derive(Clone, Copy, Debug)]
enum GroundName {
    FatTree4,
    Jellyfish20,
    Egft(u32),
}

/// What a proof took.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ProofFigure {
    /// The plan.
    pub name: String,
    /// Links that may fail.
    pub links: usize,
    /// Pairs of a switch with hosts and a destination.
    pub pairs: u64,
    /// The most failures at once.
    pub failures: u32,
    /// Whether all sets of so many were settled.
    pub exhaustive: bool,
    /// Sets of failures that were settled.
    pub sets: u64,
    /// Walks that this took.
    pub walks: u64,
    /// Walks if every set had been walked for every pair, over the walks that were made.
    pub saved: f64,
    /// Seconds.
    pub seconds: f64,
    /// Packets that were lost or went in circles although there was a way.
    pub lost: u64,
}

/// The proofs that are measured.
#[must_use]
pub fn proof_cases() -> Vec<ProofCase> {
    let plinko = |t| FailoverOptions {
        resilience: t,
        output: Output::SourceRoutes,
        stack: Some(32),
        ..FailoverOptions::new(FailoverScheme::Plinko)
    };
    let compressed = |t| FailoverOptions {
        compress: true,
        paths: PathPolicy::Common,
        ..plinko(t)
    };
    let case = |name, ground, options: FailoverOptions, exhaustive| ProofCase {
        name,
        ground,
        failures: u32::from(options.resilience),
        options,
        exhaustive,
    };
    vec![
        case(
            "fat-tree k4, plinko t2",
            GroundName::FatTree4,
            plinko(2),
            true,
        ),
        case(
            "jellyfish 20x8, plinko t2",
            GroundName::Jellyfish20,
            plinko(2),
            true,
        ),
        case(
            "jellyfish 20x8, plinko t3",
            GroundName::Jellyfish20,
            plinko(3),
            true,
        ),
        case(
            "egft 512, plinko t1",
            GroundName::Egft(512),
            plinko(1),
            true,
        ),
        case(
            "egft 512, plinko t1 compressed",
            GroundName::Egft(512),
            compressed(1),
            true,
        ),
        case(
            "egft 512, plinko t2",
            GroundName::Egft(512),
            plinko(2),
            true,
        ),
        case(
            "egft 1024, plinko t4, 200 sets",
            GroundName::Egft(1024),
            plinko(4),
            false,
        ),
    ]
}

impl ProofCase {
    fn topology(&self) -> Result<Topology, MeasureError> {
        let cables = Cables::default();
        Ok(match self.ground {
            GroundName::FatTree4 => FatTree { k: 4, cables }.generate()?,
            GroundName::Jellyfish20 => Jellyfish {
                size: JellyfishSize::Switches {
                    switches: 20,
                    fabric_ports: 8,
                },
                ports: 9,
                seed: 1,
                cables,
            }
            .generate()?,
            GroundName::Egft(hosts) => Shape::Egft.topology(hosts)?,
        })
    }
}

/// Plans and proves one case.
///
/// # Errors
/// [`MeasureError`].
pub fn proof(case: &ProofCase) -> Result<ProofFigure, MeasureError> {
    let topology = case.topology()?;
    let failover = tables(&topology, &case.options)?;
    let options = FailureOptions {
        failures: Some(case.failures),
        most_walks: if case.exhaustive { u64::MAX } else { 0 },
        ..FailureOptions::default()
    };
    let (report, seconds) = timed(|| resilience(&topology, &failover, &options));
    let fabric = Fabric::new(&topology);
    let sources = fabric.edge_switches().count() as u64;
    let pairs: u64 = failover
        .destinations
        .iter()
        .map(|d| sources.saturating_sub(d.homes(&topology).len() as u64))
        .sum();
    Ok(ProofFigure {
        name: case.name.to_owned(),
        links: fabric.arcs().len() / 2,
        pairs,
        failures: case.failures,
        exhaustive: report.exhaustive,
        sets: report.sets_checked,
        walks: report.walks,
        saved: report.sets_checked as f64 * pairs as f64 / report.walks.max(1) as f64,
        seconds,
        lost: report.lost + report.loops,
    })
}

//! What the proof of failover tables tells.

use std::fmt;

use serde::Serialize;

use crate::failover::{LabelKind, Part};

/// A packet that was lost although there was a way, or that went in circles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// Where from and where to, in words.
    pub pair: String,
    /// The failed links or switches, by name.
    pub failed: Vec<String>,
    /// The way of the packet: each switch with the ports by which it came and left.
    pub walk: Vec<String>,
    /// What became of it at the last one.
    pub end: String,
}

impl fmt::Display for LostPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = if self.failed.is_empty() {
            "nothing".to_owned()
        } else {
            self.failed.join(", ")
        };
        write!(
            f,
            "with {failed} failed, a packet from {} goes {}: {}",
            self.pair,
            self.walk.join(" > "),
            self.end
        )
    }
}

/// What the proof found of destinations whose packets survive failures in one way, where a plan has
/// several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PartReport {
    /// What the header of packets to them says.
    pub label: LabelKind,
    /// How many destinations there are.
    pub destinations: usize,
    /// Failures that the plan claims that they survive.
    pub claimed: u32,
    /// The most failures that were tried at once.
    pub checked_failures: u32,
    /// The most failures of which all sets were tried.
    pub exhaustive_failures: u32,
}

impl PartReport {
    /// Of which all sets of so many failures were explored, or as many as were `wanted` if that is
    /// fewer.
    pub(super) fn of(part: &Part, explored: u32, wanted: impl Fn(u32) -> u32) -> Self {
        let claimed = part.protection.failures;
        let checked_failures = wanted(claimed);
        Self {
            label: part.protection.label,
            destinations: part.destinations,
            claimed,
            checked_failures,
            exhaustive_failures: checked_failures.min(explored),
        }
    }
}

/// What the proof of failover tables found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FailureReport {
    /// Failures that the plan claims to survive; where destinations differ, those that packets to
    /// any survive.
    pub claimed: u32,
    /// The most failures that were tried at once.
    pub checked_failures: u32,
    /// Whether all sets of so many were tried.
    pub exhaustive: bool,
    /// The most failures of which all sets were tried.
    pub exhaustive_failures: u32,
    /// What was drawn beyond them.
    pub sample: Option<Sample>,
    /// The destinations by how their packets survive failures, where they differ; else empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartReport>,
    /// Sets of failures that were tried.
    pub sets_checked: u64,
    /// Packets that were walked.
    pub walks: u64,
    /// (set, source, destination) that lost a packet which had a way; sets that only add failures
    /// which the walk does not touch are not counted again.
    pub lost: u64,
    /// (set, source, destination) whose packet went in circles, counted likewise.
    pub loops: u64,
    /// The greatest hops of a walk over the fewest possible, both counted from host to host.
    pub stretch_max: f64,
    /// (set, source, destination) whose packet arrived, but turned lossy on its way; `None` without
    /// lossless tags.
    pub lossy: Option<u64>,
    /// The fewest priorities by which these ways can be lossless: 2 if the links cannot be put in
    /// an order that all of them follow, else 1; `None` without lossless tags.
    pub priorities_at_least: Option<u32>,
    /// The first packet that was lost.
    #[serde(skip)]
    pub first_lost: Option<LostPacket>,
    /// The first packet that turned lossy.
    #[serde(skip)]
    pub first_lossy: Option<LostPacket>,
    /// For every dependency of a cycle of buffers, which walk it comes from.
    #[serde(skip)]
    pub causes: Vec<String>,
}

/// Sets of failures that were drawn, where exploring all was too much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// How many were drawn (of each size, where destinations differ in how many failures they
    /// survive).
    pub sets: u64,
    /// How many of them uniformly, each by itself; the others are of neighbours.
    pub uniform: u64,
    /// A share of all sets of the size that was drawn.
    pub share: f64,
    /// The probability that a fault which shows in that share of the sets was missed: `(1 -
    /// share)^uniform`.
    pub missed: f64,
}

/// The share of [`Sample::share`].
const SHARE: f64 = 0.01;

impl Sample {
    pub(super) fn of(sets: u64) -> Self {
        // Uniform sets and neighbours are drawn in turn, uniform ones first.
        let uniform = sets.div_ceil(2);
        Self {
            sets,
            uniform,
            share: SHARE,
            missed: (1.0 - SHARE).powf(uniform as f64),
        }
    }
}

//! Peers: other programs that do the same job, run beside ours where they are found.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The script of `benches/peers/`, carried in the binary so that the benchmark runs anywhere.
const GREEDY: &str = include_str!("../peers/greedy_tagger.py");

/// What a peer reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerFigure {
    /// Tags it needed.
    pub tags: u32,
    /// Rules it made.
    pub rules: u64,
    /// Seconds of planning, reading not counted.
    pub seconds: f64,
}

/// Runs the plain Python script's greedy Tagger on a topology file; `None` where python3 is missing
/// or fails.
#[must_use]
pub fn python_greedy(topology: &Path) -> Option<PeerFigure> {
    let output = Command::new("python3")
        .arg("-c")
        .arg(GREEDY)
        .arg(topology)
        .output()
        .ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// The script of `benches/peers/` that packs trees with passagemath-graphs.
const TREES: &str = include_str!("../peers/roskind_tarjan.py");

/// What passagemath-graphs reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreesPeer {
    /// Seconds of packing, reading not counted.
    pub seconds: f64,
    /// Depth of every tree hung on its centre.
    pub depths: Vec<u32>,
}

/// Packs edge-disjoint trees of a topology file with passagemath-graphs, run by the given Python;
/// `None` where that is missing or fails.
#[must_use]
pub fn sage_trees(python: &str, topology: &Path, count: u8) -> Option<TreesPeer> {
    let output = Command::new(python)
        .arg("-c")
        .arg(TREES)
        .arg(topology)
        .arg(count.to_string())
        .output()
        .ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

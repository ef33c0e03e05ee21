//! Peers: other programs that do the same job, run beside ours where they are found.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The script of `benches/peers/`, carried in the binary so that the benchmark runs anywhere.
const GREEDY: &str = include_str!("../../benches/peers/greedy_tagger.py");

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

/// Runs the plain Python script's greedy Tagger on a topology file; `None` where python3 is missing or fails.
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

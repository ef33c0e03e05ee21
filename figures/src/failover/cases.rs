//! Figures by case, so that several machines can share the cases and what they found can be put in
//! order again.

use measure::failover::FailureFigure;
use serde::{Deserialize, Serialize};

use super::super::peer::TreesPeer;
use super::{
    CustomHardware, LossFigure, ProofFigure, SchemeState, StateFigure, SwitchFailureFigure,
    TreesFigure,
};

/// What cases have given, each figure with the number of its case: all of them, or those of a
/// share.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// Plinko's tables before and after compression.
    pub state: Vec<(usize, StateFigure)>,
    /// The tables of all schemes.
    pub schemes: Vec<(usize, SchemeState)>,
    /// What trees take of hardware made for them.
    pub custom: Vec<(usize, CustomHardware)>,
    /// Losses, stretch and throughput under failed links.
    pub failures: Vec<(usize, FailureFigure)>,
    /// What all flows lose under many sets of failures.
    pub losses: Vec<(usize, LossFigure)>,
    /// Under failed switches.
    pub switch_failures: Vec<(usize, SwitchFailureFigure)>,
    /// Proofs.
    pub proofs: Vec<(usize, ProofFigure)>,
    /// Trees of a regular graph.
    pub trees: Option<TreesFigure>,
    /// The peer's.
    pub trees_peer: Option<TreesPeer>,
}

impl Cases {
    /// Adds what another share has given.
    pub fn add(&mut self, other: Self) {
        self.state.extend(other.state);
        self.schemes.extend(other.schemes);
        self.custom.extend(other.custom);
        self.failures.extend(other.failures);
        self.losses.extend(other.losses);
        self.switch_failures.extend(other.switch_failures);
        self.proofs.extend(other.proofs);
        self.trees = self.trees.take().or(other.trees);
        self.trees_peer = self.trees_peer.take().or(other.trees_peer);
    }
}

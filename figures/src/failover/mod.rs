//! The failover schemes in figures: time, state and compression; stretch, losses and throughput
//! under failures; trees; the proof. Stephens15's figures stand beside ours where it has them.

mod cases;
mod deadlock;
mod failures;
mod losses;
mod paper;
mod plots;
mod proofs;
mod state;
mod traffic;
mod trees;

use plan::failover::Failover;
use schemes::failover::{FailoverOptions, failover};
use topology::Topology;
use topology::generate::{Cables, Egft, EgftSize, Jellyfish, JellyfishSize};

use super::planning::MeasureError;

pub use cases::Cases;
pub use deadlock::{
    PriorityCase, PriorityEnd, PriorityFigure, open_priority_cells, priorities, priority_cases,
    priority_ends,
};
pub use failures::{
    FailurePlan, SwitchFailureFigure, failure_cases, reactive_on, reactive_routing, under_failures,
    under_switch_failures,
};
pub use losses::{LossFigure, loss_cases, losses};
pub use paper::{RATIOS, RatioCell, STRETCH, StretchCell, within_reach};
pub use plots::{loss_plots, state_plots, switch_plots};
pub use proofs::{ProofCase, ProofFigure, proof, proof_cases};
pub use state::{
    CustomHardware, SchemeState, StateFigure, custom_hardware, scheme_state, state, variants,
};
pub use trees::{TreesFigure, regular_graph, trees};

/// Ports of Stephens15's switches.
const PORTS: u16 = 64;

/// The topologies of Stephens15's evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An extended generalized fat-tree.
    Egft,
    /// A random regular graph.
    Jellyfish,
}

impl Shape {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Egft => "egft-b1",
            Self::Jellyfish => "jellyfish-b1",
        }
    }

    /// The name with so many hosts per unit of bisection bandwidth: `egft-b6`.
    #[must_use]
    pub fn name_at(self, oversubscription: u8) -> String {
        match self {
            Self::Egft => format!("egft-b{oversubscription}"),
            Self::Jellyfish => format!("jellyfish-b{oversubscription}"),
        }
    }

    /// The topology with so many hosts, at full bisection bandwidth.
    ///
    /// # Errors
    /// [`MeasureError::Generate`].
    pub fn topology(self, hosts: u32) -> Result<Topology, MeasureError> {
        self.topology_at(hosts, 1)
    }

    /// The topology with so many hosts, and so many of them per unit of bisection bandwidth.
    ///
    /// # Errors
    /// [`MeasureError::Generate`].
    pub fn topology_at(self, hosts: u32, oversubscription: u8) -> Result<Topology, MeasureError> {
        let cables = Cables::default();
        let oversubscription = f64::from(oversubscription);
        Ok(match self {
            Self::Egft => {
                let size = EgftSize::Hosts {
                    hosts,
                    ports: PORTS,
                    oversubscription,
                };
                Egft { size, cables }.generate()
            }
            Self::Jellyfish => {
                let size = JellyfishSize::Hosts {
                    hosts,
                    oversubscription,
                };
                Jellyfish {
                    size,
                    ports: PORTS,
                    seed: 1,
                    cables,
                }
                .generate()
            }
        }?)
    }
}

/// The tables of a plan that has nothing else.
fn tables(topology: &Topology, options: &FailoverOptions) -> Result<Failover, MeasureError> {
    let tables = failover(topology, options)?;
    tables.failover.ok_or(MeasureError::NoTables)
}

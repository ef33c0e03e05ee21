//! Failover tables under failures: losses, stretch and throughput, with the approximations of
//! Stephens15 section 4.1.1 beside.

mod equations;
mod failures;
mod plots;
mod throughput;
mod traffic;

pub use equations::{edge_failure, edge_failure_simple, ends_failure, vertex_failure};
pub use failures::{
    FailureFigure, Ground, PartLosses, SetTally, Sets, Tally, figures_by, figures_of_sets,
    kind_of_sets, plan_under_failures, share_under_failures,
};
pub use plots::{Named, distinct, failure_plots};
pub use traffic::Bundle;

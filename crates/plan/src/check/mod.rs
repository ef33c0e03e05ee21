//! The proof: reads the tables of a plan, and nothing else, and shows
//!
//! - **shape**: every name, tag, port and code that the plan refers to exists; rules of equal precedence
//!   that match the same packet agree;
//! - **priorities**: distinct tags have distinct lossless priorities, and there are enough;
//! - **no cyclic buffer dependency** for any routing whatever and any behaviour of the hosts: the graph
//!   over lossless ingress buffers (port, tag) that the rules make reachable from host-facing ports is
//!   acyclic, and tags never fall (Tagger17, theorem 1);
//! - **promises**: every route that the plan promises stays lossless, replayed through the rules;
//! - **forwarding**: the plan's own forwarding has no loop and drops nothing that has a way;
//! - **failover**: with any so many failures, packets arrive if there is a way, and never circulate
//!   (see [`resilience`]);
//! - **budgets**: ports, TCAM bits, and PFC headroom within the buffer.
//!
//! Not shown: that hosts drain what they receive (a host that pauses for ever stops its own traffic), and
//! that forwarding keeps to the promised routes (what strays is lossy, not deadlocked).

mod depend;
mod error;
mod forward;
mod lookup;
mod replay;
mod report;
pub mod resilience;
mod shape;
mod shortest;
mod walk;

use std::fmt;

use thiserror::Error;

pub use error::{Buffer, Cycle, Fault, LostRoute, PlanError, PortName};
pub use report::{CheckReport, Resilience};
pub use resilience::{FailureOptions, FailureReport, LostPacket};

use super::checked::CheckedPlan;
use super::model::Tables;
use depend::Dependencies;
use lookup::{Lookup, Ports};

/// What the proof may be asked to leave out.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether budgets count: off to see whether tables are sound apart from what today's switches have.
    pub budgets: bool,
    /// How failover tables are proven.
    pub failures: FailureOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            budgets: true,
            failures: FailureOptions::default(),
        }
    }
}

/// A refused plan: every error that was found, and the report.
#[derive(Clone, Debug, Error)]
pub struct CheckFailure {
    /// What is wrong; at least one error.
    pub errors: Vec<PlanError>,
    /// The same in figures.
    pub report: CheckReport,
}

impl CheckFailure {
    /// Whose fault the refusal is: malformed input outweighs a failed proof, which outweighs a target that
    /// is too small.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let faults = self.errors.iter().map(PlanError::fault);
        faults.min().unwrap_or(Fault::Proof)
    }
}

impl fmt::Display for CheckFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// Proves a plan.
///
/// # Errors
/// Every error that could be found: one cycle, one conflict per switch, one lost route per promise.
pub fn check(tables: Tables, options: &Options) -> Result<CheckedPlan, Box<CheckFailure>> {
    let mut failures = None;
    let mut errors = match &tables.failover {
        None => vec![],
        Some(failover) => {
            let mut errors = resilience::shape(&tables.topology, failover);
            if errors.is_empty() {
                let found = resilience::resilience(&tables.topology, failover, &options.failures);
                errors.extend(PlanError::of_failures(&found));
                failures = Some(found);
            }
            errors
        }
    };
    if tables.has_tags() {
        errors.extend(of_tags(&tables, options));
    }
    if !options.budgets {
        errors.retain(|error| error.fault() != Fault::Target);
    }
    if errors.is_empty() {
        return Ok(CheckedPlan::witness(tables, CheckReport::proven(failures)));
    }
    let report = CheckReport::refused(&errors, failures);
    Err(Box::new(CheckFailure { errors, report }))
}

/// What is wrong with the lossless tags and the forwarding under them.
fn of_tags(tables: &Tables, options: &Options) -> Vec<PlanError> {
    let mut errors = shape::references(tables);
    if errors.is_empty() {
        errors.extend(shape::priorities(tables));
        errors.extend(shape::carrier(tables));
        if options.budgets {
            errors.extend(shape::budgets(tables));
        }
        errors.extend(behaviour(tables));
        if tables.failover.is_none() {
            errors.extend(forward::forwarding(tables));
        }
    }
    errors
}

/// What following packets shows.
fn behaviour(tables: &Tables) -> Vec<PlanError> {
    let lookup = match Lookup::new(tables) {
        Ok(lookup) => lookup,
        Err(conflicts) => return conflicts,
    };
    let ports = Ports::new(&tables.topology);
    let (mut graph, mut errors) = Dependencies::new(tables, &ports, &lookup);
    errors.extend(graph.shortest_cycle().map(PlanError::Cycle));
    errors.extend(graph.passed_limits());
    for promise in &tables.promises {
        errors.extend(replay::promise(tables, &lookup, promise).err());
    }
    errors
}

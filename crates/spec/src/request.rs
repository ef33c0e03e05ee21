//! A whole request: a network, what is planned for it, and what its switches are.

use std::sync::Arc;

use plan::Tables;
use quantities::Progress;
use serde::Deserialize;
use topology::Topology;

use super::error::ScenarioError;
use super::plan_spec::PlanSpec;
use super::topology_spec::{CablesSpec, TopologySpec};

/// A network, what is planned for it, and what its switches are. The simulator makes the network
/// in memory; a build directory begins with the same request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Switches, hosts and links.
    pub topology: TopologySpec,
    /// Rates and lengths of the links.
    #[serde(default)]
    pub cables: CablesSpec,
    /// What is planned for it.
    #[serde(default)]
    pub plan: PlanSpec,
    /// What the switches are.
    #[serde(default)]
    pub target: TargetSpec,
}

/// What the switches are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetSpec {
    /// BMv2's `simple_switch` and the embedded switch.
    #[default]
    V1model,
}

impl Request {
    /// Switches, hosts and links.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if a generator refuses its arguments, or names do not fit together.
    pub fn topology(&self) -> Result<Topology, ScenarioError> {
        self.topology.generate(&self.cables)
    }

    /// The tables that the plan asks for, yet to be proven.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if the topology is wrong or the scheme refuses it.
    pub fn tables(&self) -> Result<Tables, ScenarioError> {
        self.plan
            .tables(&self.topology()?, &Arc::<Progress>::default())
    }
}

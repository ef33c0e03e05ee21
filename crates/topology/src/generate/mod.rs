//! Generators: parameters in, topology out. The same parameters give the same topology, byte for
//! byte.
//!
//! Every generator is a struct of parameters with a `generate` method that checks them first.
//! Port order is part of the contract: hosts first, then links toward the hosts, then links away
//! from them, so that `port 1` of a leaf is always its first host.

mod bcube;
mod clos;
mod egft;
#[cfg(test)]
mod expander_tests;
mod fat_tree;
mod flattened_clos;
mod jellyfish;
mod optical;
mod small;
#[cfg(test)]
mod tests;
mod xpander;

use thiserror::Error;

use super::assumed::AssumedOfLink;
use super::build::{Builder, HostDraft, at_host, at_switch};
use super::error::TopologyError;
use super::ids::{HostId, SwitchId};
use super::model::{Link, VirtualLayers};

pub use super::cables::Cables;
pub use bcube::Bcube;
pub use clos::{Clos, ThreeLayerClos};
pub use egft::{Egft, EgftShape, EgftSize};
pub use fat_tree::FatTree;
pub use flattened_clos::{FlattenedClos, layers_needed};
pub use jellyfish::{Jellyfish, JellyfishSize};
pub use optical::OpticalSwitches;
pub use small::{Line, Ring, ThreeNode};
pub use xpander::Xpander;

/// The most ports of a generated switch: what a `u16` port number can count with room to spare.
const MAX_PORTS: u32 = 32_768;
/// The most switches or hosts that a generator makes.
const MAX_NODES: u64 = 4_000_000;

/// Why a topology was not generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GenerateError {
    /// A parameter is out of its range.
    #[error("{topology}: {parameter} is {value}, but must be {expected}")]
    Parameter {
        /// The generator.
        topology: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What it was.
        value: u64,
        /// What it may be.
        expected: String,
    },
    /// The parameters are each fine, but do not go together.
    #[error("{topology}: {reason}")]
    Impossible {
        /// The generator.
        topology: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The result is not a valid topology.
    #[error("{topology}: {source}")]
    Invalid {
        /// The generator.
        topology: &'static str,
        /// What is wrong with it.
        source: TopologyError,
    },
}

/// Checks the parameters of one generator.
struct Check(&'static str);

impl Check {
    /// `value` must lie in `low..=high`.
    fn range(
        &self,
        parameter: &'static str,
        value: impl Into<u64>,
        low: u64,
        high: u64,
    ) -> Result<(), GenerateError> {
        let value = value.into();
        if (low..=high).contains(&value) {
            return Ok(());
        }
        Err(GenerateError::Parameter {
            topology: self.0,
            parameter,
            value,
            expected: format!("between {low} and {high}"),
        })
    }

    /// A switch of some kind needs `ports` ports.
    fn ports(&self, kind: &str, ports: u64) -> Result<u16, GenerateError> {
        match u16::try_from(ports) {
            Ok(narrow) if ports <= u64::from(MAX_PORTS) => Ok(narrow),
            _ => Err(self.impossible(format!(
                "{kind} would need {ports} ports; at most {MAX_PORTS} are supported"
            ))),
        }
    }

    /// There would be `nodes` of some kind.
    fn nodes(&self, kind: &str, nodes: Option<u64>) -> Result<(), GenerateError> {
        match nodes {
            Some(nodes) if nodes <= MAX_NODES => Ok(()),
            _ => Err(self.impossible(format!(
                "that is more than {MAX_NODES} {kind}, which is not supported"
            ))),
        }
    }

    fn impossible(&self, reason: impl Into<String>) -> GenerateError {
        GenerateError::Impossible {
            topology: self.0,
            reason: reason.into(),
        }
    }
}

/// A [`Builder`] that knows the cables of its generator and counts the hosts.
struct Network {
    topology: &'static str,
    builder: Builder,
    cables: Cables,
}

impl Network {
    fn new(topology: &'static str, name: String, cables: Cables) -> Self {
        Self {
            topology,
            builder: Builder::new(name),
            cables,
        }
    }

    /// Adds the next host (`h1`, `h2`, ...) on a port of a switch.
    fn host(&mut self, switch: SwitchId, port: u16) -> HostId {
        let host = self.builder.host(HostDraft {
            name: format!("h{}", self.builder.host_count() + 1),
            ..HostDraft::default()
        });
        self.builder.link(
            at_switch(switch, port),
            at_host(host),
            self.cables.host_rate,
            self.cables.host_length,
        );
        host
    }

    /// Adds hosts on ports `1..=hosts` of a switch.
    fn hosts(&mut self, switch: SwitchId, hosts: u16) {
        for port in 1..=hosts {
            self.host(switch, port);
        }
    }

    /// Joins two switches.
    fn join(&mut self, a: (SwitchId, u16), b: (SwitchId, u16)) {
        self.builder.link(
            at_switch(a.0, a.1),
            at_switch(b.0, b.1),
            self.cables.fabric_rate,
            self.cables.fabric_length,
        );
    }

    /// Joins a port in virtual layer `layer` to one in the layer above, through an OCS if one is
    /// given.
    fn join_layers(
        &mut self,
        lower: (SwitchId, u16),
        upper: (SwitchId, u16),
        layer: u8,
        ocs: Option<u32>,
    ) {
        self.builder.push(Link {
            a: at_switch(lower.0, lower.1),
            b: at_switch(upper.0, upper.1),
            rate: self.cables.fabric_rate,
            length: self.cables.fabric_length,
            up: true,
            virtual_layers: Some(VirtualLayers {
                a: layer,
                b: layer + 1,
            }),
            ocs,
            assumed: AssumedOfLink::default(),
        });
    }

    fn finish(self) -> Result<super::Topology, GenerateError> {
        let topology = self.topology;
        self.builder
            .finish()
            .map_err(|source| GenerateError::Invalid { topology, source })
    }
}

/// For each node the smallest node of its component.
fn components<'a>(nodes: usize, edges: impl IntoIterator<Item = &'a (usize, usize)>) -> Vec<usize> {
    let mut root: Vec<usize> = (0..nodes).collect();
    fn find(root: &mut [usize], mut v: usize) -> usize {
        while root[v] != v {
            root[v] = root[root[v]];
            v = root[v];
        }
        v
    }
    for &(a, b) in edges {
        let (a, b) = (find(&mut root, a), find(&mut root, b));
        root[a.max(b)] = a.min(b);
    }
    (0..nodes).map(|v| find(&mut root, v)).collect()
}

/// Whether the edges join all nodes.
fn is_connected<'a>(nodes: usize, edges: impl IntoIterator<Item = &'a (usize, usize)>) -> bool {
    components(nodes, edges).iter().all(|&root| root == 0)
}

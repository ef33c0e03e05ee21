//! The three-layer fat-tree of k-port switches.

use super::clos::{layer, mesh};
use super::{Cables, Check, GenerateError, Network};
use crate::Topology;

/// A fat-tree of k-port switches: k pods of k/2 edge and k/2 aggregation switches, k^2/4 cores,
/// k^3/4 hosts. Aggregation switch i of every pod joins the i-th k/2 cores; core port p leads to
/// pod p.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Ports per switch, even.
    pub k: u16,
    /// Rates and lengths.
    pub cables: Cables,
}

impl FatTree {
    /// Generates the topology.
    ///
    /// # Errors
    /// [`GenerateError`] unless k is even and between 2 and 128.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("fat-tree");
        check.range("k", self.k, 2, 128)?;
        if !self.k.is_multiple_of(2) {
            return Err(GenerateError::Parameter {
                topology: "fat-tree",
                parameter: "k",
                value: u64::from(self.k),
                expected: "even (half the ports face up, half down)".to_owned(),
            });
        }
        let half = self.k / 2;
        let numbers = 1..=u32::from(half);
        let mut net = Network::new("fat-tree", format!("fat-tree-{}", self.k), self.cables);
        let mut pods = Vec::new();
        for pod in 0..u32::from(self.k) {
            let (lower, upper) = (format!("p{}e", pod + 1), format!("p{}a", pod + 1));
            let edges = layer(&mut net, &lower, numbers.clone(), self.k, 0, Some(pod));
            let aggs = layer(&mut net, &upper, numbers.clone(), self.k, 1, Some(pod));
            for &edge in &edges {
                net.hosts(edge, half);
            }
            mesh(&mut net, &edges, half, &aggs, 0, 1);
            pods.push(aggs);
        }
        let cores = 1..=u32::from(half) * u32::from(half);
        let cores = layer(&mut net, "core", cores, self.k, 2, None);
        for (pod, aggs) in (0..).zip(&pods) {
            for (agg, cores) in aggs.iter().zip(cores.chunks(usize::from(half))) {
                mesh(&mut net, std::slice::from_ref(agg), half, cores, pod, 1);
            }
        }
        net.finish()
    }
}

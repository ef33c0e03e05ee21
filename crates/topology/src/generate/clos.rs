//! Folded Clos networks of two and three layers.

use super::{Cables, Check, GenerateError, MAX_PORTS, Network};
use crate::{Switch, SwitchId, Topology};

/// Two layers: every leaf joins every spine. A leaf's ports are its hosts', then those to spine 1,
/// 2, ...; a spine's ports lead to leaf 1, 2, ... in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clos {
    /// Number of leaves (`leaf1`, ...).
    pub leaves: u32,
    /// Number of spines (`spine1`, ...).
    pub spines: u32,
    /// Hosts per leaf.
    pub hosts: u16,
    /// Links between each leaf and each spine.
    pub parallel: u16,
    /// Rates and lengths.
    pub cables: Cables,
}

impl Clos {
    /// Generates the topology.
    ///
    /// # Errors
    /// [`GenerateError`] if a parameter is out of range or a switch needs too many ports.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("clos");
        let most = u64::from(MAX_PORTS);
        check.range("the number of leaves", self.leaves, 1, most)?;
        check.range("the number of spines", self.spines, 1, most)?;
        check.range("the number of parallel links", self.parallel, 1, most)?;
        let parallel = u64::from(self.parallel);
        let up = u64::from(self.spines) * parallel;
        let leaf_ports = check.ports("a leaf", u64::from(self.hosts) + up)?;
        let spine_ports = check.ports("a spine", u64::from(self.leaves) * parallel)?;
        check.nodes(
            "hosts",
            Some(u64::from(self.leaves) * u64::from(self.hosts)),
        )?;

        let name = format!("clos-{}x{}", self.leaves, self.spines);
        let mut net = Network::new("clos", name, self.cables);
        let leaves = layer(&mut net, "leaf", 1..=self.leaves, leaf_ports, 0, None);
        let spines = layer(&mut net, "spine", 1..=self.spines, spine_ports, 1, None);
        for &leaf in &leaves {
            net.hosts(leaf, self.hosts);
        }
        mesh(&mut net, &leaves, self.hosts, &spines, 0, self.parallel);
        net.finish()
    }
}

/// Three layers: pods in which every leaf joins every aggregation switch, and spines above.
///
/// With `planes`, aggregation switch number i of every pod joins only the spines of plane i, and
/// there are as many planes as aggregation switches in a pod (the usual data-center fabric);
/// without, every aggregation switch joins every spine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreeLayerClos {
    /// Number of pods.
    pub pods: u32,
    /// Leaves per pod (`p1l1`, ...).
    pub leaves: u32,
    /// Aggregation switches per pod (`p1a1`, ...).
    pub aggregations: u32,
    /// Number of spines in all (`spine1`, ...).
    pub spines: u32,
    /// Hosts per leaf.
    pub hosts: u16,
    /// Whether the spines form planes.
    pub planes: bool,
    /// Links between each aggregation switch and each of its spines.
    pub parallel: u16,
    /// Rates and lengths.
    pub cables: Cables,
}

impl ThreeLayerClos {
    /// Generates the topology.
    ///
    /// # Errors
    /// [`GenerateError`] if a parameter is out of range, a switch needs too many ports, or the
    /// spines cannot be split evenly into planes.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let (leaf_ports, aggregation_ports, spine_ports) = self.check()?;
        let name = format!(
            "clos-{}x{}x{}x{}",
            self.pods, self.leaves, self.aggregations, self.spines
        );
        let mut net = Network::new("clos", name, self.cables);
        let mut aggregations = Vec::new();
        for pod in 0..self.pods {
            let prefix = format!("p{}", pod + 1);
            let (lower, upper) = (format!("{prefix}l"), format!("{prefix}a"));
            let leaves = layer(&mut net, &lower, 1..=self.leaves, leaf_ports, 0, Some(pod));
            let numbers = 1..=self.aggregations;
            let aggs = layer(&mut net, &upper, numbers, aggregation_ports, 1, Some(pod));
            for &leaf in &leaves {
                net.hosts(leaf, self.hosts);
            }
            mesh(&mut net, &leaves, self.hosts, &aggs, 0, 1);
            aggregations.push(aggs);
        }
        let spines = layer(&mut net, "spine", 1..=self.spines, spine_ports, 2, None);
        // `check` has bounded all of these by the port numbers.
        let down = u16::try_from(self.leaves).unwrap_or(u16::MAX);
        let planes = if self.planes {
            aggregations[0].len()
        } else {
            1
        };
        let per_plane = spines.len() / planes;
        for (pod, aggs) in aggregations.iter().enumerate() {
            for (plane, spines) in spines.chunks(per_plane).enumerate() {
                let members = if self.planes {
                    &aggs[plane..=plane]
                } else {
                    aggs
                };
                let before = pod * members.len() * usize::from(self.parallel);
                let first = u16::try_from(before).unwrap_or(u16::MAX);
                mesh(&mut net, members, down, spines, first, self.parallel);
            }
        }
        net.finish()
    }

    /// Checks the parameters; the port counts of a leaf, an aggregation switch and a spine.
    fn check(&self) -> Result<(u16, u16, u16), GenerateError> {
        let check = Check("clos");
        let most = u64::from(MAX_PORTS);
        let (aggregations, spines) = (u64::from(self.aggregations), u64::from(self.spines));
        check.range("the number of pods", self.pods, 1, most)?;
        check.range("the number of leaves per pod", self.leaves, 1, most)?;
        check.range(
            "the number of aggregation switches per pod",
            aggregations,
            1,
            most,
        )?;
        check.range("the number of spines", spines, 1, most)?;
        if self.planes && !spines.is_multiple_of(aggregations) {
            return Err(check.impossible(format!(
                "{spines} spines do not split evenly into {aggregations} planes, one per aggregation \
                 switch of a pod; take a multiple"
            )));
        }
        let parallel = u64::from(self.parallel);
        check.range("the number of parallel links", parallel, 1, most)?;
        let members = if self.planes { 1 } else { aggregations };
        let up = parallel
            * if self.planes {
                spines / aggregations
            } else {
                spines
            };
        let leaf = check.ports("a leaf", u64::from(self.hosts) + aggregations)?;
        let aggregation = check.ports("an aggregation switch", u64::from(self.leaves) + up)?;
        let spine = check.ports("a spine", u64::from(self.pods) * members * parallel)?;
        let leaves = u64::from(self.pods) * u64::from(self.leaves);
        check.nodes("hosts", leaves.checked_mul(u64::from(self.hosts)))?;
        check.nodes(
            "switches",
            Some(leaves + u64::from(self.pods) * aggregations),
        )?;
        Ok((leaf, aggregation, spine))
    }
}

/// Adds numbered switches of one kind.
pub(super) fn layer(
    net: &mut Network,
    prefix: &str,
    numbers: std::ops::RangeInclusive<u32>,
    ports: u16,
    layer: u8,
    group: Option<u32>,
) -> Vec<SwitchId> {
    numbers
        .map(|number| {
            net.builder.switch(Switch {
                layer: Some(layer),
                group,
                ..Switch::new(format!("{prefix}{number}"), ports)
            })
        })
        .collect()
}

/// Joins every lower switch to every upper one by `parallel` links. A lower switch uses the ports
/// after `lower_base`, an upper one those after `upper_base`, in the order of the switches at the
/// far end.
pub(super) fn mesh(
    net: &mut Network,
    lower: &[SwitchId],
    lower_base: u16,
    upper: &[SwitchId],
    upper_base: u16,
    parallel: u16,
) {
    for (l, &below) in (0..).zip(lower) {
        for (u, &above) in (0..).zip(upper) {
            for link in 1..=parallel {
                let lower_port = lower_base + u * parallel + link;
                let upper_port = upper_base + l * parallel + link;
                net.join((below, lower_port), (above, upper_port));
            }
        }
    }
}

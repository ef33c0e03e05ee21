//! The network that a scenario is for: a topology, what its plan is to be, and the target. The
//! simulator makes it in memory; whatever builds a directory from a scenario begins with the same
//! [`NetworkSpec`].

use std::collections::BTreeMap;

use plan::Tables;
use quantities::{BitRate, Metres};
use serde::Deserialize;
use topology::Topology;
use topology::generate::{Bcube, Cables, Clos, FatTree, Line, Ring, ThreeLayerClos, ThreeNode};

use super::error::ScenarioError;
use super::generators::{EgftSpec, FlattenedClosSpec, JellyfishSpec, XpanderSpec};
use super::planned::PlanSpec;
use super::quantity::Speed;

/// The network that a scenario is for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
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

/// A generator with its arguments, as `switchwright topo` takes them, or switches and links by
/// name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologySpec {
    /// The papers' triangle.
    ThreeNode,
    /// Switches in a row.
    Line(RowSpec),
    /// Switches in a circle.
    Ring(RowSpec),
    /// Leaf-spine, or with `pods` three layers.
    Clos(ClosSpec),
    /// The k-ary fat-tree.
    FatTree {
        /// Ports of every switch.
        k: u16,
    },
    /// BCube(n, k).
    Bcube {
        /// Ports of every switch.
        n: u16,
        /// The k of BCube(n, k).
        k: u16,
    },
    /// An extended generalized fat tree, sized for the fewest switches.
    Egft(EgftSpec),
    /// A random regular graph.
    Jellyfish(JellyfishSpec),
    /// An expander whose ports stand in virtual layers.
    FlattenedClos(FlattenedClosSpec),
    /// A random lift of a complete graph.
    Xpander(XpanderSpec),
    /// Everything by name.
    Drawn(DrawnSpec),
}

/// Switches in a row or circle.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// Number of switches.
    pub switches: u32,
    /// Hosts per switch.
    #[serde(default = "one_host")]
    pub hosts: u16,
}

/// A Clos.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosSpec {
    /// Leaves; per pod, with `pods`.
    pub leaves: u32,
    /// Spines in all.
    pub spines: u32,
    /// Hosts per leaf.
    #[serde(default = "one_host")]
    pub hosts: u16,
    /// Three layers: this many pods.
    pub pods: Option<u32>,
    /// Three layers: aggregation switches per pod.
    pub aggregations: Option<u32>,
    /// Three layers: each aggregation switch of a pod joins the spines of its own plane only.
    #[serde(default)]
    pub planes: bool,
    /// Links between each leaf and each spine, or each aggregation switch and each of its spines; 1
    /// if absent.
    pub parallel: Option<u16>,
}

/// Switches, hosts and links by name. A switch's hosts have its first ports; then come its links in
/// the order of the list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnSpec {
    /// The hosts of every switch.
    pub switches: BTreeMap<String, Vec<String>>,
    /// Links as pairs of switches; a pair that is named twice has two.
    pub links: Vec<[String; 2]>,
}

fn one_host() -> u16 {
    1
}

/// Rates and lengths, where they are not the generators' own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CablesSpec {
    /// Rate of links between switches.
    pub fabric_rate: Option<Speed>,
    /// Rate of links to hosts.
    pub host_rate: Option<Speed>,
    /// Length of links between switches, in metres.
    pub fabric_length: Option<u32>,
    /// Length of links to hosts, in metres.
    pub host_length: Option<u32>,
}

/// What the switches are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetSpec {
    /// BMv2's `simple_switch` and the embedded switch.
    #[default]
    V1model,
}

impl TargetSpec {}

impl NetworkSpec {
    /// Switches, hosts and links.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if a generator refuses its arguments, or names do not fit together.
    pub fn topology(&self) -> Result<Topology, ScenarioError> {
        let cables = self.cables.cables();
        let made = match &self.topology {
            TopologySpec::ThreeNode => ThreeNode { cables }.generate(),
            TopologySpec::Line(row) => Line {
                switches: row.switches,
                hosts: row.hosts,
                cables,
            }
            .generate(),
            TopologySpec::Ring(row) => Ring {
                switches: row.switches,
                hosts: row.hosts,
                cables,
            }
            .generate(),
            TopologySpec::Clos(clos) => return clos.generate(cables),
            &TopologySpec::FatTree { k } => FatTree { k, cables }.generate(),
            &TopologySpec::Bcube { n, k } => Bcube { n, k, cables }.generate(),
            TopologySpec::Egft(tree) => tree.generate(cables),
            TopologySpec::Jellyfish(fish) => return fish.generate(cables),
            TopologySpec::FlattenedClos(clos) => clos.generate(cables),
            TopologySpec::Xpander(xpander) => xpander.generate(cables),
            TopologySpec::Drawn(drawn) => return drawn.build(cables),
        };
        made.map_err(wrong)
    }

    /// The tables that the plan asks for, yet to be proven.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if the topology is wrong or the scheme refuses it.
    pub fn tables(&self) -> Result<Tables, ScenarioError> {
        self.plan.tables(&self.topology()?)
    }
}

fn wrong(error: impl std::fmt::Display) -> ScenarioError {
    ScenarioError::wrong("network.topology", error)
}

impl CablesSpec {
    fn cables(&self) -> Cables {
        let usual = Cables::default();
        let rate = |rate: Option<Speed>, usual: BitRate| rate.map_or(usual, |speed| speed.0);
        let length = |length: Option<u32>, usual: Metres| length.map_or(usual, Metres::new);
        Cables {
            host_rate: rate(self.host_rate, usual.host_rate),
            fabric_rate: rate(self.fabric_rate, usual.fabric_rate),
            host_length: length(self.host_length, usual.host_length),
            fabric_length: length(self.fabric_length, usual.fabric_length),
        }
    }
}

impl ClosSpec {
    fn generate(&self, cables: Cables) -> Result<Topology, ScenarioError> {
        let parallel = self.parallel.unwrap_or(1);
        match (self.pods, self.aggregations) {
            (None, None) if self.planes => {
                return Err(wrong("`planes` are of a clos of three layers; leave it out, or say `pods` and `aggregations`"));
            }
            (None, None) => Clos {
                leaves: self.leaves,
                spines: self.spines,
                hosts: self.hosts,
                parallel,
                cables,
            }
            .generate(),
            (Some(pods), Some(aggregations)) => ThreeLayerClos {
                pods,
                leaves: self.leaves,
                aggregations,
                spines: self.spines,
                hosts: self.hosts,
                planes: self.planes,
                parallel,
                cables,
            }
            .generate(),
            _ => {
                return Err(wrong(
                    "a clos of three layers has both `pods` and `aggregations`",
                ));
            }
        }
        .map_err(wrong)
    }
}

impl DrawnSpec {
    /// By way of a topology file, which checks names and derives addresses.
    fn build(&self, cables: Cables) -> Result<Topology, ScenarioError> {
        let mut used: BTreeMap<&str, u32> = BTreeMap::new();
        let mut links = Vec::new();
        let gigabits = |rate: BitRate| rate.get() as f64 / 1e9;
        for (switch, hosts) in &self.switches {
            for (number, host) in hosts.iter().enumerate() {
                links.push(serde_json::json!({
                    "a": format!("{switch}:{}", number + 1), "b": format!("{host}:0"),
                    "rate_gbps": gigabits(cables.host_rate), "length_m": cables.host_length.get(),
                }));
            }
            used.insert(switch, u32::try_from(hosts.len()).unwrap_or(u32::MAX));
        }
        for [a, b] in &self.links {
            let mut port = |name: &'_ String| {
                let known = self.switches.get_key_value(name);
                let (name, _) =
                    known.ok_or_else(|| wrong(format!("there is no switch `{name}`")))?;
                let last = used.entry(name).or_default();
                *last = last.saturating_add(1);
                Ok(format!("{name}:{last}"))
            };
            let (a, b) = (port(a)?, port(b)?);
            links.push(serde_json::json!({
                "a": a, "b": b,
                "rate_gbps": gigabits(cables.fabric_rate), "length_m": cables.fabric_length.get(),
            }));
        }
        let switch =
            |(name, ports): (&&str, &u32)| serde_json::json!({ "name": name, "ports": ports });
        let host = |name: &String| serde_json::json!({ "name": name });
        let file = serde_json::json!({
            "format": topology::FORMAT, "version": topology::VERSION, "name": "drawn",
            "switches": used.iter().map(switch).collect::<Vec<_>>(),
            "hosts": self.switches.values().flatten().map(host).collect::<Vec<_>>(),
            "links": links,
        });
        Topology::from_json(&file.to_string()).map_err(wrong)
    }
}

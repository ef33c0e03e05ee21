//! Topologies as users ask for them: a generator with its arguments, or switches and links by name.

use std::collections::BTreeMap;

use quantities::BitRate;
use serde::Deserialize;
use topology::generate::{Bcube, Cables, Clos, FatTree, Line, Ring, ThreeLayerClos, ThreeNode};
use topology::{Supplied, Topology};

use super::error::ScenarioError;
use super::generators::{EgftSpec, FlattenedClosSpec, JellyfishSpec, XpanderSpec};
use super::quantity::{Length, Speed};

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
    FatTree(FatTreeSpec),
    /// BCube(n, k).
    Bcube(BcubeSpec),
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct RowSpec {
    /// Number of switches.
    #[cfg_attr(feature = "clap", arg(value_name = "N"))]
    pub switches: u32,
    /// Hosts per switch.
    #[serde(default = "one")]
    #[cfg_attr(feature = "clap", arg(long, default_value_t = 1))]
    pub hosts: u16,
}

/// A Clos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ClosSpec {
    /// Leaves (per pod, with --pods).
    #[cfg_attr(feature = "clap", arg(long))]
    pub leaves: u32,
    /// Spines in all.
    #[cfg_attr(feature = "clap", arg(long))]
    pub spines: u32,
    /// Hosts per leaf.
    #[serde(default = "one")]
    #[cfg_attr(feature = "clap", arg(long, default_value_t = 1))]
    pub hosts: u16,
    /// Three layers: this many pods.
    #[cfg_attr(feature = "clap", arg(long, requires = "aggregations"))]
    pub pods: Option<u32>,
    /// Three layers: aggregation switches per pod.
    #[cfg_attr(feature = "clap", arg(long, requires = "pods"))]
    pub aggregations: Option<u32>,
    /// Three layers: each aggregation switch of a pod joins the spines of its own plane only.
    #[serde(default)]
    #[cfg_attr(feature = "clap", arg(long, requires = "pods"))]
    pub planes: bool,
    /// Links between each leaf and each spine; with --pods between each aggregation switch and each
    /// of its spines.
    #[serde(default = "one")]
    #[cfg_attr(feature = "clap", arg(long, default_value_t = 1))]
    pub parallel: u16,
}

/// The k-ary fat-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct FatTreeSpec {
    /// Ports of every switch; even.
    #[cfg_attr(feature = "clap", arg(short, long))]
    pub k: u16,
}

/// BCube(n, k).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct BcubeSpec {
    /// Ports of every switch.
    #[cfg_attr(feature = "clap", arg(short, long))]
    pub n: u16,
    /// The k of BCube(n, k): servers have k + 1 ports.
    #[cfg_attr(feature = "clap", arg(long = "levels", alias = "k", value_name = "K"))]
    pub k: u16,
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

const fn one() -> u16 {
    1
}

/// Heading of `switchwright topo --help`.
#[cfg(feature = "clap")]
const LINKS: &str = "Links";

/// Rates and lengths of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct CablesSpec {
    /// Rate of links between switches, in Gb/s (`100` or `100Gbps`) [default: 100].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "GBPS", value_parser = Speed::gigabits, help_heading = LINKS)
    )]
    pub fabric_rate: Option<Speed>,
    /// Rate of links to hosts, in Gb/s [default: 100].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "GBPS", value_parser = Speed::gigabits, help_heading = LINKS)
    )]
    pub host_rate: Option<Speed>,
    /// Length of links between switches, in metres (`3000` or `3km`) [default: 100].
    #[cfg_attr(feature = "clap", arg(long, value_name = "METRES", help_heading = LINKS))]
    pub fabric_length: Option<Length>,
    /// Length of links to hosts, in metres [default: 10].
    #[cfg_attr(feature = "clap", arg(long, value_name = "METRES", help_heading = LINKS))]
    pub host_length: Option<Length>,
}

impl TopologySpec {
    /// Switches, hosts and links.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] if a generator refuses its arguments, or names do not fit together.
    pub fn generate(&self, cables: &CablesSpec) -> Result<Topology, ScenarioError> {
        let cables = cables.cables();
        let made = match *self {
            Self::ThreeNode => ThreeNode { cables }.generate(),
            Self::Line(RowSpec { switches, hosts }) => Line {
                switches,
                hosts,
                cables,
            }
            .generate(),
            Self::Ring(RowSpec { switches, hosts }) => Ring {
                switches,
                hosts,
                cables,
            }
            .generate(),
            Self::Clos(clos) => return clos.generate(cables),
            Self::FatTree(FatTreeSpec { k }) => FatTree { k, cables }.generate(),
            Self::Bcube(BcubeSpec { n, k }) => Bcube { n, k, cables }.generate(),
            Self::Egft(tree) => tree.generate(cables),
            Self::Jellyfish(fish) => return fish.generate(cables),
            Self::FlattenedClos(ref clos) => clos.generate(cables),
            Self::Xpander(xpander) => xpander.generate(cables),
            Self::Drawn(ref drawn) => return drawn.build(cables),
        };
        made.map_err(wrong)
    }
}

fn wrong(error: impl std::fmt::Display) -> ScenarioError {
    ScenarioError::wrong("network.topology", error)
}

impl CablesSpec {
    fn cables(&self) -> Cables {
        let usual = Cables::default();
        let given = self.supplied();
        Cables {
            host_rate: given.host_rate.unwrap_or(usual.host_rate),
            fabric_rate: given.fabric_rate.unwrap_or(usual.fabric_rate),
            host_length: given.host_length.unwrap_or(usual.host_length),
            fabric_length: given.fabric_length.unwrap_or(usual.fabric_length),
        }
    }

    /// What is given, by the place of a link.
    #[must_use]
    pub fn supplied(&self) -> Supplied {
        let rate = |own: Option<Speed>| own.map(|speed| speed.0);
        let length = |own: Option<Length>| own.map(|length| length.0);
        Supplied {
            host_rate: rate(self.host_rate),
            fabric_rate: rate(self.fabric_rate),
            host_length: length(self.host_length),
            fabric_length: length(self.fabric_length),
        }
    }
}

impl ClosSpec {
    fn generate(&self, cables: Cables) -> Result<Topology, ScenarioError> {
        let parallel = self.parallel;
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

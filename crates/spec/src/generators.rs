//! Generators that take a size: fat trees for a number of hosts, and random graphs.

use std::str::FromStr;

use serde::Deserialize;
use topology::Topology;
use topology::generate::{
    Cables, Egft, EgftSize, FlattenedClos, GenerateError, Jellyfish, JellyfishSize,
    OpticalSwitches, Xpander,
};

use super::error::ScenarioError;

/// The seed of random graphs, if none is asked for.
const fn default_seed() -> u64 {
    1
}

/// The oversubscription of a network, if none is asked for.
const FULL_BISECTION: f64 = 1.0;

/// An extended generalized fat tree, sized for the fewest switches (Stephens15 section 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct EgftSpec {
    /// Number of hosts.
    #[cfg_attr(feature = "clap", arg(long))]
    pub hosts: u32,
    /// Ports of every switch.
    #[cfg_attr(feature = "clap", arg(long))]
    pub ports: u16,
    /// Host bandwidth to bisection bandwidth: 1 for full bisection [default: 1].
    #[cfg_attr(feature = "clap", arg(long))]
    pub oversubscription: Option<f64>,
}

/// A random regular graph, by its number of switches or of hosts (Stephens15
/// section 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct JellyfishSpec {
    /// Number of switches.
    #[cfg_attr(
        feature = "clap",
        arg(long, requires = "fabric_ports", required_unless_present = "hosts")
    )]
    pub switches: Option<u32>,
    /// Ports of every switch.
    #[cfg_attr(feature = "clap", arg(long))]
    pub ports: u16,
    /// Ports of every switch that lead to other switches; the rest lead to hosts.
    #[cfg_attr(feature = "clap", arg(long, requires = "switches"))]
    pub fabric_ports: Option<u16>,
    /// Instead of --switches: size for this many hosts (Stephens15 section 4.7).
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "switches"))]
    pub hosts: Option<u32>,
    /// With --hosts: host bandwidth to bisection bandwidth [default: 1].
    #[cfg_attr(feature = "clap", arg(long, requires = "hosts"))]
    pub oversubscription: Option<f64>,
    /// Seed of the random graph.
    #[serde(default = "default_seed")]
    #[cfg_attr(feature = "clap", arg(long, default_value_t = default_seed()))]
    pub seed: u64,
}

/// A Flattened Clos: an expander whose ports stand in virtual layers (FC23 section 3).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct FlattenedClosSpec {
    /// Number of switches.
    #[cfg_attr(feature = "clap", arg(long))]
    pub switches: u32,
    /// Ports of every switch.
    #[cfg_attr(feature = "clap", arg(long))]
    pub ports: u16,
    /// Ports of every switch that lead to other switches, an even number; the rest lead to hosts.
    #[cfg_attr(feature = "clap", arg(long))]
    pub fabric_ports: u16,
    /// Virtual layers; without it the fewest that give switches enough common ancestors (FC23
    /// section 3.3).
    #[cfg_attr(feature = "clap", arg(long, value_name = "K"))]
    pub layers: Option<u8>,
    /// Links of a switch from each layer to the next, as in 7-6-7; without it half of the fabric
    /// ports, divided evenly.
    #[cfg_attr(feature = "clap", arg(long, value_name = "A-B-C"))]
    pub split: Option<SplitText>,
    /// Let no two switches be linked more than once.
    #[serde(default)]
    #[cfg_attr(feature = "clap", arg(long))]
    pub single_links: bool,
    /// Run links through optical circuit switches of so many ports, which bounds what links there
    /// can be (FC23 section 3.3, virtual-layered cabling).
    #[cfg_attr(feature = "clap", arg(long, value_name = "PORTS"))]
    pub ocs_ports: Option<u16>,
    /// With --ocs-ports: how many times as many of them as a switch has fabric ports (FC23's eta);
    /// without it the fewest.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "ETA", requires = "ocs_ports")
    )]
    pub eta: Option<u32>,
    /// Seed of the random graphs.
    #[serde(default = "default_seed")]
    #[cfg_attr(feature = "clap", arg(long, default_value_t = default_seed()))]
    pub seed: u64,
}

/// The links of a switch from each virtual layer to the next, as users write them: `7-6-7`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SplitText(Vec<u16>);

impl FromStr for SplitText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u16>, _> = text.split('-').map(str::parse).collect();
        numbers
            .map(Self)
            .map_err(|_| format!("`{text}` is no list of numbers such as 7-6-7"))
    }
}

impl TryFrom<String> for SplitText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A random lift of a complete graph (Xpander16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct XpanderSpec {
    /// Number of switches: a multiple of the fabric ports and one.
    #[cfg_attr(feature = "clap", arg(long))]
    pub switches: u32,
    /// Ports of every switch.
    #[cfg_attr(feature = "clap", arg(long))]
    pub ports: u16,
    /// Ports of every switch that lead to other switches; the rest lead to hosts.
    #[cfg_attr(feature = "clap", arg(long))]
    pub fabric_ports: u16,
    /// Seed of the matchings.
    #[serde(default = "default_seed")]
    #[cfg_attr(feature = "clap", arg(long, default_value_t = default_seed()))]
    pub seed: u64,
}

fn wrong(error: impl std::fmt::Display) -> ScenarioError {
    ScenarioError::wrong("network.topology", error)
}

impl EgftSpec {
    pub(super) fn generate(self, cables: Cables) -> Result<Topology, GenerateError> {
        Egft {
            size: EgftSize::Hosts {
                hosts: self.hosts,
                ports: self.ports,
                oversubscription: self.oversubscription.unwrap_or(FULL_BISECTION),
            },
            cables,
        }
        .generate()
    }
}

impl JellyfishSpec {
    pub(super) fn generate(self, cables: Cables) -> Result<Topology, ScenarioError> {
        let size = match (self.switches, self.fabric_ports, self.hosts) {
            (Some(switches), Some(fabric_ports), None) if self.oversubscription.is_none() => {
                JellyfishSize::Switches {
                    switches,
                    fabric_ports,
                }
            }
            (None, None, Some(hosts)) => JellyfishSize::Hosts {
                hosts,
                oversubscription: self.oversubscription.unwrap_or(FULL_BISECTION),
            },
            _ => {
                return Err(wrong(
                    "a jellyfish has either `switches` and `fabric_ports`, or `hosts` and, if it likes, `oversubscription`",
                ));
            }
        };
        let made = Jellyfish {
            size,
            ports: self.ports,
            seed: self.seed,
            cables,
        }
        .generate();
        made.map_err(wrong)
    }
}

impl FlattenedClosSpec {
    pub(super) fn generate(&self, cables: Cables) -> Result<Topology, GenerateError> {
        FlattenedClos {
            switches: self.switches,
            ports: self.ports,
            fabric_ports: self.fabric_ports,
            layers: self.layers,
            split: self.split.as_ref().map(|split| split.0.clone()),
            single_links: self.single_links,
            optical: self.ocs_ports.map(|ports| OpticalSwitches {
                ports,
                eta: self.eta,
            }),
            seed: self.seed,
            cables,
        }
        .generate()
    }
}

impl XpanderSpec {
    pub(super) fn generate(self, cables: Cables) -> Result<Topology, GenerateError> {
        Xpander {
            switches: self.switches,
            ports: self.ports,
            fabric_ports: self.fabric_ports,
            seed: self.seed,
            cables,
        }
        .generate()
    }
}

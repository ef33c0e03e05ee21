//! Generators of a scenario's network that are told by numbers: trees by their size, and random
//! graphs.

use serde::Deserialize;
use topology::Topology;
use topology::generate::{
    Cables, Egft, EgftSize, FlattenedClos, GenerateError, Jellyfish, JellyfishSize, Xpander,
};

use super::error::ScenarioError;

/// The seed of random graphs, if nobody says one: as `switchwright topo` has it.
const USUAL_SEED: u64 = 1;

/// An extended generalized fat tree, sized for the fewest switches (Stephens15 section 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EgftSpec {
    /// Number of hosts.
    pub hosts: u32,
    /// Ports of every switch.
    pub ports: u16,
    /// Host bandwidth to bisection bandwidth; 1 if absent.
    pub oversubscription: Option<f64>,
}

/// A random regular graph: of so many switches, or of as many as so many hosts take (Stephens15
/// section 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JellyfishSpec {
    /// Ports of every switch.
    pub ports: u16,
    /// Number of switches.
    pub switches: Option<u32>,
    /// With `switches`: ports that lead to other switches.
    pub fabric_ports: Option<u16>,
    /// Instead of `switches`: number of hosts.
    pub hosts: Option<u32>,
    /// With `hosts`: host bandwidth to bisection bandwidth; 1 if absent.
    pub oversubscription: Option<f64>,
    /// Seed of the graph; 1 if absent.
    pub seed: Option<u64>,
}

/// A Flattened Clos: an expander whose ports stand in virtual layers (FC23 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlattenedClosSpec {
    /// Number of switches.
    pub switches: u32,
    /// Ports of every switch.
    pub ports: u16,
    /// Ports that lead to other switches, an even number.
    pub fabric_ports: u16,
    /// Virtual layers; if absent, the fewest that give switches enough common ancestors.
    pub layers: Option<u8>,
    /// Let no two switches be linked more than once.
    #[serde(default)]
    pub single_links: bool,
    /// Seed of the random graphs; 1 if absent.
    pub seed: Option<u64>,
}

/// A random lift of a complete graph (Xpander16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XpanderSpec {
    /// Number of switches: a multiple of the fabric ports and one.
    pub switches: u32,
    /// Ports of every switch.
    pub ports: u16,
    /// Ports that lead to other switches.
    pub fabric_ports: u16,
    /// Seed of the matchings; 1 if absent.
    pub seed: Option<u64>,
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
                oversubscription: self.oversubscription.unwrap_or(1.0),
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
                oversubscription: self.oversubscription.unwrap_or(1.0),
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
            seed: self.seed.unwrap_or(USUAL_SEED),
            cables,
        }
        .generate();
        made.map_err(wrong)
    }
}

impl FlattenedClosSpec {
    pub(super) fn generate(self, cables: Cables) -> Result<Topology, GenerateError> {
        FlattenedClos {
            switches: self.switches,
            ports: self.ports,
            fabric_ports: self.fabric_ports,
            layers: self.layers,
            split: None,
            single_links: self.single_links,
            optical: None,
            seed: self.seed.unwrap_or(USUAL_SEED),
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
            seed: self.seed.unwrap_or(USUAL_SEED),
            cables,
        }
        .generate()
    }
}

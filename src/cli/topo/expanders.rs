//! Arguments of the expanders that FC23 compares.

use clap::Args;
use topology::Topology;
use topology::generate::{FlattenedClos, GenerateError, OpticalSwitches, Xpander};

use super::LinkOptions;

#[derive(Debug, Args)]
pub(super) struct FlattenedClosArgs {
    /// Number of switches.
    #[arg(long)]
    switches: u32,
    /// Ports of every switch.
    #[arg(long)]
    ports: u16,
    /// Ports of every switch that lead to other switches, an even number; the rest lead to hosts.
    #[arg(long)]
    fabric_ports: u16,
    /// Virtual layers; without it the fewest that give switches enough common ancestors (FC23
    /// section 3.3).
    #[arg(long, value_name = "K")]
    layers: Option<u8>,
    /// Links of a switch from each layer to the next, as in 7-6-7; without it half of the fabric
    /// ports, divided evenly.
    #[arg(long, value_name = "A-B-C", value_parser = split)]
    split: Option<Split>,
    /// Let no two switches be linked more than once.
    #[arg(long)]
    single_links: bool,
    /// Run links through optical circuit switches of so many ports, which bounds what links there
    /// can be (FC23 section 3.3, virtual-layered cabling).
    #[arg(long, value_name = "PORTS")]
    ocs_ports: Option<u16>,
    /// With --ocs-ports: how many times as many of them as a switch has fabric ports (FC23's eta);
    /// without it the fewest.
    #[arg(long, value_name = "ETA", requires = "ocs_ports")]
    eta: Option<u32>,
    /// Seed of the random graphs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) made: LinkOptions,
}

#[derive(Debug, Args)]
pub(super) struct XpanderArgs {
    /// Number of switches: a multiple of the fabric ports and one.
    #[arg(long)]
    switches: u32,
    /// Ports of every switch.
    #[arg(long)]
    ports: u16,
    /// Ports of every switch that lead to other switches; the rest lead to hosts.
    #[arg(long)]
    fabric_ports: u16,
    /// Seed of the matchings.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) made: LinkOptions,
}

/// The links of a switch from each layer to the next.
#[derive(Clone, Debug)]
struct Split(Vec<u16>);

/// Reads `7-6-7`.
fn split(text: &str) -> Result<Split, String> {
    let numbers: Result<Vec<u16>, _> = text.split('-').map(str::parse).collect();
    numbers
        .map(Split)
        .map_err(|_| format!("`{text}` is no list of numbers such as 7-6-7"))
}

impl FlattenedClosArgs {
    pub(super) fn generate(&self) -> Result<Topology, GenerateError> {
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
            cables: self.made.cables(),
        }
        .generate()
    }
}

impl XpanderArgs {
    pub(super) fn generate(&self) -> Result<Topology, GenerateError> {
        Xpander {
            switches: self.switches,
            ports: self.ports,
            fabric_ports: self.fabric_ports,
            seed: self.seed,
            cables: self.made.cables(),
        }
        .generate()
    }
}

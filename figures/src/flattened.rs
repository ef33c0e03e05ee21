//! Disjoint paths of Flattened Clos networks beside FC23's Tables 1, 2, 6 and 7.

use plan::CheckFailure;
use quantities::Progress;
use schemes::SchemeError;
use serde::Serialize;
use thiserror::Error;
use topology::Topology;
use topology::flattened::{FlattenedError, FlattenedLinks, PathStatistics};
use topology::generate::{Cables, FlattenedClos, GenerateError, OpticalSwitches, layers_needed};
use topology::routes::RouteError;

use super::machine::timed;
use super::trees::{PaperTrees, TreeLengths};

/// A table of FC23 whose rows count disjoint paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlattenedTable {
    /// Table 1: how many virtual layers to take, 64-port switches.
    Layers,
    /// Table 2: 32-port switches.
    SmallSwitches,
    /// Table 6: 64-port switches, links drawn freely and as optical circuit switches can join them.
    Cabling,
    /// Table 7: 64-port switches, with the length of shortest paths.
    LargeSwitches,
}

/// A network of FC23.
#[derive(Clone, Copy, Debug)]
pub struct FlattenedNetwork {
    pub(super) switches: u32,
    pub(super) ports: u16,
    pub(super) fabric_ports: u16,
    pub(super) split: &'static [u16],
}

/// A row of a table: a network, and what FC23 prints of it.
#[derive(Clone, Copy, Debug)]
pub struct FlattenedCase {
    /// The network.
    pub network: FlattenedNetwork,
    /// Whether its links run through optical circuit switches.
    optical: Option<OpticalSwitches>,
    paper: PaperPaths,
    /// Where the table has trees, too.
    trees: Option<PaperTrees>,
}

/// What FC23 prints of a network. Its lengths count switches, which is one more than links.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PaperPaths {
    /// Disjoint paths of a pair, on average.
    pub paths: f64,
    /// Switches of a path, on average.
    pub length: f64,
    /// Switches of a pair's shortest path, on average, where the table has it.
    pub shortest: Option<f64>,
    /// The fewest paths of a pair, where the table has it.
    pub fewest: Option<u32>,
}

/// What one network has.
#[derive(Clone, Debug, Serialize)]
pub struct FlattenedFigure {
    /// Its name: switches, ports, links of a switch from each layer to the next; FC23's eta, where
    /// links run through optical circuit switches of 320 ports.
    pub case: String,
    /// The fewest virtual layers by the rule of FC23 section 3.3.
    pub layers_needed: Option<u8>,
    /// The virtual layers it has.
    pub layers: usize,
    /// Disjoint paths of a pair, on average.
    pub paths: Option<f64>,
    /// Switches of a path, on average.
    pub length: Option<f64>,
    /// Switches of a pair's shortest path up and down, on average.
    pub shortest: Option<f64>,
    /// The fewest paths of a pair.
    pub fewest: u32,
    /// What FC23 prints.
    pub paper: PaperPaths,
    /// Edge-disjoint spanning trees of the same network, where the table has them.
    pub trees: Option<TreeLengths>,
    /// Whether averages are within 2 % and the minimum within 1 of what FC23 prints.
    pub agrees: bool,
    /// Seconds for all pairs.
    pub seconds: f64,
}

/// Why a network was not measured.
#[derive(Debug, Error)]
pub enum FlattenedBenchError {
    /// It was not made.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// It is no Flattened Clos.
    #[error(transparent)]
    Flattened(#[from] FlattenedError),
    /// It has no plan.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// Its plan was refused.
    #[error(transparent)]
    Check(#[from] Box<CheckFailure>),
    /// It has no forwarding tables.
    #[error(transparent)]
    Routes(#[from] RouteError),
}

const S10: &[u16] = &[10, 10];
const S7: &[u16] = &[7, 6, 7];
const S5: &[u16] = &[5, 5, 5, 5];
const S3: &[u16] = &[3, 3, 3];
const S2: &[u16] = &[2, 2, 2, 3];

impl FlattenedTable {
    /// The table of this number; those of other numbers hold no paths.
    #[must_use]
    pub const fn numbered(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Layers),
            2 => Some(Self::SmallSwitches),
            6 => Some(Self::Cabling),
            7 => Some(Self::LargeSwitches),
            _ => None,
        }
    }

    /// Its rows.
    #[must_use]
    pub fn cases(self) -> Vec<FlattenedCase> {
        let large = |(switches, split, paths, length, shortest, fewest)| FlattenedCase {
            network: FlattenedNetwork {
                switches,
                ports: 64,
                fabric_ports: 40,
                split,
            },
            optical: None,
            paper: PaperPaths {
                paths,
                length,
                shortest,
                fewest,
            },
            trees: None,
        };
        let beside = |case, (length, shortest)| FlattenedCase {
            trees: Some(PaperTrees { length, shortest }),
            ..case
        };
        // FC23 takes an eta for 160 ports of each, though all 320 can be used.
        let optical = |eta, row| FlattenedCase {
            optical: Some(OpticalSwitches {
                ports: 320,
                eta: Some(eta),
            }),
            ..large(row)
        };
        let small = |(switches, split, paths, length, shortest)| FlattenedCase {
            network: FlattenedNetwork {
                switches,
                ports: 32,
                fabric_ports: 18,
                split,
            },
            ..large((switches, split, paths, length, Some(shortest), None))
        };
        match self {
            Self::Layers => vec![
                large((500, S10, 10.05, 4.29, None, Some(4))),
                large((500, S7, 16.08, 4.57, None, Some(12))),
                large((1000, S10, 7.10, 4.43, None, Some(1))),
                large((1000, S7, 14.01, 4.86, None, Some(9))),
                large((2000, S7, 11.85, 5.13, None, Some(7))),
                large((2000, S5, 15.77, 5.36, None, Some(11))),
                large((3000, S7, 10.63, 5.30, None, Some(6))),
                large((3000, S5, 14.66, 5.54, None, Some(10))),
                large((5000, S7, 9.17, 5.52, None, Some(3))),
                large((5000, S5, 13.28, 5.75, None, Some(9))),
            ],
            Self::SmallSwitches => vec![
                beside(small((50, S3, 8.02, 3.86, 2.68)), (7.69, 3.12)),
                beside(small((100, S3, 6.43, 4.22, 3.04)), (10.01, 4.04)),
                beside(small((200, S3, 4.99, 4.56, 3.44)), (14.01, 5.50)),
                beside(small((300, S3, 4.24, 4.75, 3.70)), (16.70, 6.52)),
                beside(small((500, S2, 4.55, 5.22, 4.00)), (21.96, 8.14)),
            ],
            Self::Cabling => vec![
                large((500, S7, 16.08, 4.57, None, Some(12))),
                optical(4, (500, S7, 16.10, 4.57, None, Some(12))),
                large((1000, S7, 14.01, 4.86, None, Some(9))),
                optical(7, (1000, S7, 14.01, 4.86, None, Some(9))),
                large((2000, S5, 15.77, 5.36, None, Some(11))),
                optical(13, (2000, S5, 15.77, 5.36, None, Some(11))),
                large((3000, S5, 14.66, 5.54, None, Some(10))),
                optical(19, (3000, S5, 14.66, 5.53, None, Some(10))),
                large((5000, S5, 13.28, 5.75, None, Some(9))),
                optical(32, (5000, S5, 13.28, 5.75, None, Some(9))),
            ],
            // For 2000 and 3000 switches the table repeats Table 1's minima where the shortest
            // length should stand.
            Self::LargeSwitches => vec![
                beside(
                    large((500, S7, 16.08, 4.57, Some(3.20), None)),
                    (18.34, 5.26),
                ),
                beside(
                    large((1000, S7, 14.01, 4.86, Some(3.50), None)),
                    (26.52, 6.99),
                ),
                beside(large((2000, S7, 11.85, 5.13, None, None)), (33.49, 9.12)),
                beside(large((3000, S7, 10.63, 5.30, None, None)), (39.82, 10.45)),
            ],
        }
    }
}

impl FlattenedNetwork {
    /// Switches, ports, links of a switch from each layer to the next: `500 x 64 7-6-7`.
    #[must_use]
    pub fn name(&self) -> String {
        let split: Vec<String> = self.split.iter().map(u16::to_string).collect();
        format!("{} x {} {}", self.switches, self.ports, split.join("-"))
    }

    /// Hosts of every switch.
    pub(super) fn hosts_per_switch(&self) -> usize {
        usize::from(self.ports - self.fabric_ports)
    }

    /// Generates the network.
    pub(super) fn generate(&self, seed: u64) -> Result<Topology, GenerateError> {
        self.generate_through(None, seed)
    }

    /// Generates the network, its links through optical circuit switches if any are given.
    pub(super) fn generate_through(
        &self,
        optical: Option<OpticalSwitches>,
        seed: u64,
    ) -> Result<Topology, GenerateError> {
        let clos = FlattenedClos {
            switches: self.switches,
            ports: self.ports,
            fabric_ports: self.fabric_ports,
            layers: None,
            split: Some(self.split.to_vec()),
            single_links: true,
            optical,
            seed,
            cables: Cables::default(),
        };
        clos.generate()
    }
}

impl FlattenedCase {
    /// The network's name, and FC23's eta where links run through optical circuit switches: `500 x
    /// 64 7-6-7, eta 4`.
    #[must_use]
    pub fn name(&self) -> String {
        let eta = self.optical.and_then(|optical| optical.eta);
        let eta = eta.map_or_else(String::new, |eta| format!(", eta {eta}"));
        self.network.name() + &eta
    }

    /// What FC23 prints of its paths.
    #[must_use]
    pub const fn paper(&self) -> PaperPaths {
        self.paper
    }

    /// What FC23 prints of trees, where the table has them.
    #[must_use]
    pub const fn paper_trees(&self) -> Option<PaperTrees> {
        self.trees
    }

    /// Its switches.
    #[must_use]
    pub const fn switches(&self) -> u32 {
        self.network.switches
    }

    /// Whether its links are drawn freely.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.optical.is_none()
    }

    /// Generates the network and counts the paths of all pairs.
    ///
    /// # Errors
    /// [`FlattenedBenchError`].
    pub fn measure(
        &self,
        seed: u64,
        progress: &Progress,
    ) -> Result<FlattenedFigure, FlattenedBenchError> {
        let topology = self.network.generate_through(self.optical, seed)?;
        let graph = FlattenedLinks::new(&topology)?;
        progress.begin(u64::from(self.network.switches));
        let (found, seconds) = timed(|| PathStatistics::new(&graph, &|| progress.advance(1)));
        let switches = |links: Option<f64>| links.map(|links| links + 1.0);
        let figure = FlattenedFigure {
            case: self.name(),
            layers_needed: layers_needed(self.network.switches, self.network.fabric_ports),
            layers: graph.layer_count(),
            paths: found.mean_paths(),
            length: switches(found.mean_links()),
            shortest: switches(found.mean_shortest()),
            fewest: found.fewest,
            paper: self.paper,
            trees: self.trees.map(|paper| TreeLengths::new(&topology, paper)),
            agrees: false,
            seconds,
        };
        let agrees = figure.agrees();
        Ok(FlattenedFigure { agrees, ..figure })
    }
}

impl FlattenedFigure {
    fn agrees(&self) -> bool {
        let near = |ours: Option<f64>, paper: Option<f64>| {
            paper.is_none_or(|paper| ours.is_some_and(|ours| (ours / paper - 1.0).abs() <= 0.02))
        };
        let paper = &self.paper;
        near(self.paths, Some(paper.paths))
            && near(self.length, Some(paper.length))
            && near(self.shortest, paper.shortest)
            && paper
                .fewest
                .is_none_or(|fewest| fewest.abs_diff(self.fewest) <= 1)
    }
}

//! Tags and rules by topology and size (TaggerDraft section 7.3.1), and the tags of Tagger17's
//! greedy algorithm.

use plan::check::{Options, check};
use schemes::{Algorithm, TaggerOptions, greedy_count, tagger};
use serde::Serialize;
use topology::Topology;
use topology::generate::{Bcube, Cables, FatTree, GenerateError, Jellyfish, JellyfishSize};
use topology::routes::RoutePolicy;

use super::planning::MeasureError;

/// A network whose tags are counted.
#[derive(Clone, Debug)]
pub struct TaggingCase {
    /// Its name.
    pub name: String,
    network: Network,
    routes: RoutePolicy,
}

#[derive(Clone, Copy, Debug)]
enum Network {
    FatTree { k: u16 },
    Bcube { n: u16, k: u16 },
    Jellyfish { switches: u32, ports: u16 },
}

/// What a network takes.
#[derive(Clone, Debug, Serialize)]
pub struct TaggingFigure {
    /// The network.
    pub name: String,
    /// The routes that are lossless.
    pub routes: String,
    /// Switches.
    pub switches: usize,
    /// Hosts.
    pub hosts: usize,
    /// Lossless priorities.
    pub priorities: usize,
    /// Rules over all switches.
    pub rules_total: u64,
    /// Rules of the switch with most.
    pub rules_max: u64,
    /// The same as rules of one input and one output port: over all switches.
    pub exact_rules_total: u64,
    /// And of the switch with most.
    pub exact_rules_max: u64,
    /// Tags of Tagger17's Algorithm 2.
    pub greedy_tags: usize,
    /// Keys of its rules that would need several new tags.
    pub greedy_conflicts: usize,
    /// Whether switches can hold them: with a conflict they cannot.
    pub greedy_installable: bool,
}

/// The networks of `switchwright bench tags`, smaller ones first.
#[must_use]
pub fn tagging_cases() -> Vec<TaggingCase> {
    let fat_trees = [4, 8, 16].map(|k| {
        let name = format!("fat-tree k = {k}, 1 bounce");
        (
            name,
            Network::FatTree { k },
            RoutePolicy::UpDown { bounces: 1 },
        )
    });
    let bcubes = [(4, 1), (8, 1), (4, 2)].map(|(n, k)| {
        let name = format!("bcube({n}, {k}), rotated orders");
        (name, Network::Bcube { n, k }, RoutePolicy::BcubeRotations)
    });
    let jellyfish =
        [(100, 24), (500, 24), (1000, 12), (1000, 24), (1000, 40)].map(|(switches, ports)| {
            let name = format!("jellyfish {switches} x {ports}");
            (
                name,
                Network::Jellyfish { switches, ports },
                RoutePolicy::Shortest,
            )
        });
    let all = fat_trees.into_iter().chain(bcubes).chain(jellyfish);
    all.map(|(name, network, routes)| TaggingCase {
        name,
        network,
        routes,
    })
    .collect()
}

impl TaggingCase {
    fn topology(&self) -> Result<Topology, GenerateError> {
        let cables = Cables::default();
        match self.network {
            Network::FatTree { k } => FatTree { k, cables }.generate(),
            Network::Bcube { n, k } => Bcube { n, k, cables }.generate(),
            Network::Jellyfish { switches, ports } => Jellyfish {
                size: JellyfishSize::Switches {
                    switches,
                    fabric_ports: ports / 2,
                },
                ports,
                seed: 1,
                cables,
            }
            .generate(),
        }
    }

    /// Plans, proves and counts.
    ///
    /// # Errors
    /// [`MeasureError`].
    pub fn measure(&self) -> Result<TaggingFigure, MeasureError> {
        let topology = self.topology()?;
        let algorithm = match self.network {
            Network::FatTree { .. } => Algorithm::Clos,
            Network::Bcube { .. } | Network::Jellyfish { .. } => Algorithm::SingleValued,
        };
        let options = TaggerOptions {
            algorithm: Some(algorithm),
            routes: Some(self.routes.clone()),
            ..TaggerOptions::default()
        };
        let plan = check(tagger(&topology, &options)?, &Options::default())?;
        let summary = plan.summary(0.0);
        let greedy = greedy_count(&topology, &self.routes)?;
        Ok(TaggingFigure {
            name: self.name.clone(),
            routes: self.routes.to_string(),
            switches: summary.switches,
            hosts: summary.hosts,
            priorities: summary.lossless_priorities,
            rules_total: summary.rules_total,
            rules_max: summary.rules_max_per_switch,
            exact_rules_total: summary.exact_rules_total,
            exact_rules_max: summary.exact_rules_max_per_switch,
            greedy_tags: greedy.tags,
            greedy_conflicts: greedy.multi_valued,
            greedy_installable: greedy.installable(),
        })
    }
}

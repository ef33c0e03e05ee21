//! Routings of any network that put packets into virtual lanes, as managers of InfiniBand networks
//! have them: DFSSSP (Domke11), LASH (Skeie02), and Up*/Down* (Schroeder91). A packet keeps the
//! lane that its first switch gave it, and the ways of a lane close no cycle of buffers.
//!
//! Every pair of switches with hosts has one way, which the first switch writes into the packet.
//! Nothing is claimed about failures.

mod layers;
mod paths;

use plan::failover::{
    Action, Claim, Destination, Element, Failover, LabelKind, Origin, Output, Rule, SwitchTable,
    Target, Write,
};
use plan::{Provenance, Tables, Tag};
use strum::{IntoStaticStr, VariantArray};
use topology::{Fabric, SwitchId, Topology};

use super::channels::among_hosts;
use super::lossless::with_tags;
use super::{FailoverError, MAX_HOPS, check_ports};
use crate::cells::{Cells, Squares};
use crate::{FIRST_TAG, TaggerOptions};
use layers::Turns;
use paths::{LanePaths, dfsssp, lash, up_down};

/// A routing with virtual lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum LaneRouting {
    /// First up to a root, then down, along a spanning tree's order of the switches: one lane.
    UpDownAny,
    /// One shortest way for each pair, both directions in the first lane that it closes no cycle
    /// in.
    Lash,
    /// Shortest ways that spread load over links, in lanes that cut cycles where few ways go
    /// (Domke11).
    Dfsssp,
}

impl LaneRouting {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a routing does to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneCount {
    /// Virtual lanes.
    pub lanes: usize,
    /// Lanes that are needed at least: two where all ways together close a cycle.
    pub at_least: usize,
    /// Pairs of hosts over the link, in one direction, that has most.
    pub most_loaded: u64,
    /// The links of the longest way.
    pub longest: usize,
}

/// The ways of a routing with their lanes.
struct Routed {
    paths: LanePaths,
    lane: Vec<u8>,
    count: LaneCount,
}

impl Routed {
    fn new(fabric: &Fabric, routing: LaneRouting) -> Self {
        let paths = match routing {
            LaneRouting::UpDownAny => up_down(fabric),
            LaneRouting::Lash => lash(fabric),
            LaneRouting::Dfsssp => dfsssp(fabric),
        };
        let turns = Turns::new(fabric, &paths);
        let (lane, lanes) = match routing {
            LaneRouting::Lash => turns.first_that_fits(&paths),
            LaneRouting::UpDownAny | LaneRouting::Dfsssp => turns.cut(),
        };
        let at_least = if turns.together_acyclic() { 1 } else { 2 };
        let count = LaneCount {
            lanes,
            at_least,
            most_loaded: paths.most_loaded(fabric),
            longest: paths.longest(),
        };
        Self { paths, lane, count }
    }
}

/// Counts the lanes of a routing without making tables.
#[must_use]
pub fn count_lanes(topology: &Topology, routing: LaneRouting) -> LaneCount {
    Routed::new(&Fabric::new(topology), routing).count
}

/// Tables of a routing whose packets are lossless, each in its lane.
///
/// # Errors
/// [`FailoverError`] if ways are longer than a header can be, ports or lanes too many.
pub fn virtual_lanes(
    topology: &Topology,
    routing: LaneRouting,
    options: &TaggerOptions,
) -> Result<Tables, FailoverError> {
    let fabric = Fabric::new(topology);
    check_ports(topology, &fabric)?;
    let routed = Routed::new(&fabric, routing);
    let longest = routed.count.longest.max(1);
    let most = u8::try_from(MAX_HOPS).unwrap_or(u8::MAX);
    let stack = u8::try_from(longest).ok().filter(|&stack| stack <= most);
    let stack = stack.ok_or(FailoverError::LongWays {
        needed: longest,
        most,
    })?;
    let failover = tables(topology, &fabric, &routed, stack);
    let squares = Squares::new(&fabric);
    let mut levels: Vec<Cells> = vec![squares.empty(); routed.count.lanes];
    among_hosts(&fabric, &squares, &mut levels[0]);
    for (path, &lane) in routed.paths.iter().zip(&routed.lane) {
        let cells = &mut levels[usize::from(lane)];
        for pair in path.arcs.windows(2) {
            let first = fabric.out_range(fabric.arc(pair[1]).from).start as usize;
            cells.set(squares.through(pair[0], pair[1].index() - first), lane);
        }
        if let Some(&last) = path.arcs.last() {
            cells.set(squares.to_hosts(last), lane);
        }
    }
    let tagged = crate::tables(&fabric, options, &levels)?;
    let mut provenance = Provenance::ours(routing.name(), "");
    provenance.seed = options.seed;
    let load = routed.count.most_loaded;
    provenance
        .options
        .insert("most-loaded-link".to_owned(), load.to_string());
    let tables = Tables::failover_only(topology.clone(), provenance, failover);
    with_tags(tables, "lanes", tagged, routed.count.at_least, options)
}

/// The rules of all first switches: ports of the whole way, and the lane.
fn tables(topology: &Topology, fabric: &Fabric, routed: &Routed, stack: u8) -> Failover {
    let mut tables = vec![SwitchTable::default(); topology.switches().len()];
    let edge: Vec<SwitchId> = fabric.edge_switches().collect();
    let mut code = vec![0u32; topology.switches().len()];
    let destinations = (0u32..).zip(&edge).map(|(number, &switch)| {
        code[switch.index()] = number;
        Destination::new(number, Target::Switch { switch, path: 0 })
    });
    let destinations: Vec<Destination> = destinations.collect();
    for (path, &lane) in routed.paths.iter().zip(&routed.lane) {
        // `check_ports` has bounded them.
        let port = |&arc: &topology::ArcId| {
            u8::try_from(fabric.arc(arc).out_port.get()).unwrap_or(u8::MAX)
        };
        let action = Action::Forward {
            route: path.arcs.iter().map(port).collect(),
            write: Write {
                channel: Some(Tag::new(FIRST_TAG.get() + lane)),
                ..Write::default()
            },
        };
        tables[path.from.index()].push(Rule {
            origin: Origin::Host,
            ..Rule::to(code[path.to.index()], action)
        });
    }
    tables.iter_mut().for_each(SwitchTable::shrink);
    Failover {
        label: LabelKind::RouteId,
        output: Output::SourceRoutes,
        claim: Claim {
            failures: 0,
            element: Element::Link,
        },
        stack,
        destinations,
        tables,
    }
}

#[cfg(test)]
mod tests {
    use plan::check::{Options, check};
    use topology::generate::{Cables, FatTree, Jellyfish, JellyfishSize, Ring};

    use super::*;

    fn options() -> TaggerOptions {
        TaggerOptions {
            carrier: plan::CarrierKind::Shim,
            ..TaggerOptions::default()
        }
    }

    fn jellyfish(switches: u32, fabric_ports: u16) -> Topology {
        let jellyfish = Jellyfish {
            size: JellyfishSize::Switches {
                switches,
                fabric_ports,
            },
            ports: fabric_ports + 2,
            seed: 1,
            cables: Cables::default(),
        };
        jellyfish.generate().unwrap()
    }

    /// All routings on all kinds of networks are proven: no cycle of buffers, every pair of hosts
    /// joined.
    #[test]
    fn every_routing_is_proven() {
        let cables = Cables::default();
        let ring = Ring {
            switches: 7,
            hosts: 1,
            cables,
        };
        let networks = [
            jellyfish(20, 4),
            FatTree { k: 4, cables }.generate().unwrap(),
            ring.generate().unwrap(),
        ];
        for topology in &networks {
            for &routing in LaneRouting::ALL {
                let tables = virtual_lanes(topology, routing, &options()).unwrap();
                let lanes = tables.tagging.priorities.len();
                let counted = count_lanes(topology, routing);
                assert_eq!(lanes, counted.lanes);
                assert!(counted.at_least <= lanes && lanes <= 4, "{counted:?}");
                if routing == LaneRouting::UpDownAny {
                    assert_eq!(lanes, 1);
                }
                let edge = topology.switches().len();
                let rules: usize = tables
                    .failover
                    .as_ref()
                    .map(|failover| {
                        failover
                            .tables
                            .iter()
                            .map(|table| table.iter().count())
                            .sum()
                    })
                    .unwrap();
                assert!(rules <= edge * (edge - 1) && rules > 0);
                let plan = check(tables, &Options::default()).unwrap();
                assert_eq!(plan.report().cbd_free, Some(true));
            }
        }
    }

    /// Ways of LASH and DFSSSP are shortest; those of Up*/Down* on a tree-like network too.
    #[test]
    fn ways_are_shortest() {
        let topology = jellyfish(30, 5);
        let fabric = Fabric::new(&topology);
        for paths in [lash(&fabric), dfsssp(&fabric)] {
            let mut pairs = 0;
            for path in paths.iter() {
                let hops = fabric.distances(path.to)[path.from.index()];
                assert_eq!(path.arcs.len(), usize::from(hops));
                pairs += 1;
            }
            assert_eq!(pairs, 30 * 29);
        }
        // Load is spread: no link carries more than a few times its share.
        let spread = dfsssp(&fabric).most_loaded(&fabric);
        let hosts = topology.hosts().len() as u64;
        assert!(spread < hosts * hosts / 20, "{spread} of {hosts} hosts");
    }

    #[test]
    fn lanes_of_a_denser_network() {
        let topology = jellyfish(100, 10);
        let counted = count_lanes(&topology, LaneRouting::Dfsssp);
        assert_eq!(counted.at_least, 2);
        assert!(counted.lanes <= 4, "{counted:?}");
    }
}

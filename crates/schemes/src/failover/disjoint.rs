//! Source routes over the disjoint paths of a Flattened Clos (FC23 section 3.2): the first switch
//! writes the ports of the whole path into the packet, others only follow them.
//!
//! Destinations are switches by their first, second, ... path; the flow's hash chooses among them.
//! A pair with fewer paths than others has some of them under several numbers. Nothing is claimed
//! about failures: a packet before a failed link is dropped.

use plan::failover::{
    Action, Claim, Destination, Element, Failover, LabelKind, Origin, Output, Rule, SwitchTable,
    Target, Write,
};
use plan::{Provenance, Tables};
use quantities::Progress;
use rayon::prelude::*;
use topology::flattened::{FlattenedLinks, Router, VirtualPath};
use topology::{Fabric, NodeId, SwitchId, Topology};

use super::lossless::with_tags;
use super::options::stack_for;
use super::{FailoverError, MAX_HOPS, check_ports};
use crate::{SchemeError, TaggerOptions, flattened};

/// Which paths are taken, and how they are written.
#[derive(Clone, Copy, Debug)]
pub struct SourceRouteOptions {
    /// The most paths of a pair of switches; `None` for as many as the pair with the most has.
    pub paths: Option<u16>,
    /// Turns other than up, then down, that stay lossless; the paths have none.
    pub bounces: u8,
    /// The most hops that a header holds.
    pub stack: Option<u8>,
}

/// Tables of source routes over disjoint paths, lossless by the virtual layers of ports.
///
/// # Errors
/// [`FailoverError`] if the topology is no Flattened Clos, its paths are longer than the header, or
/// its ports too many.
pub fn source_routes(
    topology: &Topology,
    wanted: SourceRouteOptions,
    options: &TaggerOptions,
    progress: &Progress,
) -> Result<Tables, FailoverError> {
    let links = FlattenedLinks::new(topology).map_err(SchemeError::from)?;
    let fabric = Fabric::new(topology);
    check_ports(topology, &fabric)?;
    let edge: Vec<SwitchId> = fabric.edge_switches().collect();
    let routes = Routes::new(topology, &links, &edge, wanted.paths, progress);
    if let Some((from, to)) = routes.missing() {
        let name = |at: usize| topology.switch(edge[at]).name.clone();
        return Err(FailoverError::Apart {
            from: name(from),
            to: name(to),
            layers: links.layer_count(),
        });
    }
    let longest = routes.longest();
    let most = wanted.stack.map_or(MAX_HOPS, usize::from);
    if longest > most {
        return Err(FailoverError::Paths {
            needed: longest,
            stack: most,
        });
    }
    let failover = routes.tables(topology, &edge, stack_for(wanted.stack, longest))?;
    let tagged = flattened::rules(topology, options, wanted.bounces)?;
    let mut provenance = Provenance::ours("flattened-clos", "");
    provenance.seed = options.seed;
    let known = &mut provenance.options;
    known.insert("bounces".to_owned(), wanted.bounces.to_string());
    known.insert("output".to_owned(), "source-routes".to_owned());
    known.insert("multipath".to_owned(), routes.most.to_string());
    let tables = Tables::failover_only(topology.clone(), provenance, failover);
    with_tags(tables, "virtual-layers", tagged, 1, options)
}

/// The ports by which the switches of a path are left.
type Route = Box<[u8]>;

/// The paths of all pairs of switches with hosts.
struct Routes {
    /// `of[to][from]`, both in the order of the switches with hosts.
    of: Vec<Vec<Vec<Route>>>,
    /// The most paths of a pair.
    most: u16,
}

impl Routes {
    fn new(
        topology: &Topology,
        links: &FlattenedLinks,
        edge: &[SwitchId],
        most: Option<u16>,
        progress: &Progress,
    ) -> Self {
        progress.begin(edge.len() as u64);
        let limit = most.map_or(usize::MAX, usize::from);
        // One direction of every pair is searched, the other is the same, reversed.
        let forward = edge.par_iter().enumerate().map_init(
            || Router::new(links),
            |router, (at, &to)| {
                let before = edge[..at].iter();
                let paths = before.map(|&from| {
                    let mut paths = router.paths(from, to);
                    paths.truncate(limit);
                    let both = |path: &VirtualPath| ports(topology, from, path);
                    paths.iter().map(both).collect::<Vec<_>>()
                });
                let paths: Vec<Vec<(Route, Route)>> = paths.collect();
                progress.advance(1);
                paths
            },
        );
        let forward: Vec<Vec<Vec<(Route, Route)>>> = forward.collect();
        let mut of = vec![vec![Vec::new(); edge.len()]; edge.len()];
        let mut found = 1;
        for (to, row) in forward.into_iter().enumerate() {
            for (from, paths) in row.into_iter().enumerate() {
                found = found.max(paths.len());
                let (there, back) = paths.into_iter().unzip();
                (of[to][from], of[from][to]) = (there, back);
            }
        }
        Self {
            of,
            most: most.unwrap_or_else(|| u16::try_from(found).unwrap_or(u16::MAX)),
        }
    }

    /// The first pair that has no path, by places among the switches with hosts.
    fn missing(&self) -> Option<(usize, usize)> {
        let pairs = self.of.iter().enumerate().flat_map(|(to, row)| {
            let lone = move |(from, paths): (usize, &Vec<Route>)| {
                (from != to && paths.is_empty()).then_some((from, to))
            };
            row.iter().enumerate().filter_map(lone)
        });
        pairs.min()
    }

    /// The most switches that write or follow a route.
    fn longest(&self) -> usize {
        let all = self.of.iter().flatten().flatten();
        all.map(|route| route.len()).max().unwrap_or(0)
    }

    fn tables(
        &self,
        topology: &Topology,
        edge: &[SwitchId],
        stack: u8,
    ) -> Result<Failover, FailoverError> {
        let mut destinations = Vec::with_capacity(edge.len() * usize::from(self.most));
        let mut tables = vec![SwitchTable::default(); topology.switches().len()];
        for (to, &switch) in edge.iter().enumerate() {
            for path in 0..self.most {
                let code = u32::try_from(destinations.len()).unwrap_or(u32::MAX);
                let target = Target::Switch { switch, path };
                destinations.push(Destination::new(code, target));
                for (from, routes) in self.of[to].iter().enumerate() {
                    let Some(route) = routes.get(usize::from(path) % routes.len().max(1)) else {
                        continue;
                    };
                    let action = Action::Forward {
                        route: route.clone(),
                        write: Write::default(),
                    };
                    tables[edge[from].index()].push(Rule {
                        origin: Origin::Host,
                        ..Rule::to(code, action)
                    });
                }
            }
        }
        if destinations.len() > 1 << 24 {
            return Err(FailoverError::TooLarge(
                "there are more destinations than a code of 24 bits can number",
            ));
        }
        tables.iter_mut().for_each(SwitchTable::shrink);
        Ok(Failover {
            label: LabelKind::RouteId,
            output: Output::SourceRoutes,
            claim: Claim {
                failures: 0,
                element: Element::Link,
            },
            stack,
            destinations,
            tables,
        })
    }
}

/// The ports by which the switches of a path are left, there and back.
fn ports(topology: &Topology, from: SwitchId, path: &VirtualPath) -> (Route, Route) {
    let mut at = from;
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for crossing in path {
        let link = topology.link(crossing.link);
        let (near, far) = match link.a.node == NodeId::Switch(at) {
            true => (link.a, link.b),
            false => (link.b, link.a),
        };
        // `check_ports` has bounded them.
        let [near, far] = [near, far].map(|end| u8::try_from(end.port.get()).unwrap_or(u8::MAX));
        there.push(near);
        back.push(far);
        at = crossing.to;
    }
    back.reverse();
    (there.into(), back.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plan::check::{Options, check};
    use quantities::PortId;
    use topology::generate::{Cables, FlattenedClos};

    use super::*;

    fn flattened(switches: u32, split: &[u16]) -> Topology {
        let fabric_ports = 2 * split.iter().sum::<u16>();
        let made = FlattenedClos {
            switches,
            ports: fabric_ports + 2,
            fabric_ports,
            layers: None,
            split: Some(split.to_vec()),
            single_links: false,
            optical: None,
            seed: 1,
            cables: Cables::default(),
        };
        made.generate().unwrap()
    }

    fn made(
        topology: &Topology,
        paths: Option<u16>,
        stack: Option<u8>,
    ) -> Result<Tables, FailoverError> {
        let wanted = SourceRouteOptions {
            paths,
            bounces: 0,
            stack,
        };
        let options = TaggerOptions {
            carrier: plan::CarrierKind::Shim,
            ..TaggerOptions::default()
        };
        source_routes(topology, wanted, &options, &Progress::default())
    }

    /// Follows every route by its ports: it arrives, and those of a pair share no link, but where
    /// one stands several times.
    #[test]
    fn routes_of_a_pair_are_those_of_the_router() {
        let topology = flattened(16, &[2, 3]);
        let tables = made(&topology, None, None).unwrap();
        let failover = tables.failover.as_ref().unwrap();
        let links = FlattenedLinks::new(&topology).unwrap();
        let mut router = Router::new(&links);
        let mut pairs = 0;
        for from in topology.switch_ids() {
            for to in topology.switch_ids().filter(|&to| to != from) {
                let mut routes = BTreeSet::new();
                let mut used = BTreeSet::new();
                for rule in failover.table(from).unwrap().iter() {
                    let destination = failover.destinations[rule.destination.value() as usize];
                    let Action::Forward { route, .. } = rule.action else {
                        panic!("a drop");
                    };
                    let Target::Switch { switch, .. } = destination.target else {
                        panic!("a host");
                    };
                    if switch != to || !routes.insert(route.clone()) {
                        continue;
                    }
                    let mut at = from;
                    for &port in route.iter() {
                        let peer = topology.peer(at, PortId::new(port.into())).unwrap();
                        assert!(used.insert((at, peer.link)), "a link twice");
                        let NodeId::Switch(next) = peer.end.node else {
                            panic!("a host on the way");
                        };
                        at = next;
                    }
                    assert_eq!(at, to);
                }
                assert_eq!(routes.len(), router.paths(from, to).len());
                pairs += usize::from(!routes.is_empty());
            }
        }
        assert_eq!(pairs, 16 * 15);
        let plan = check(tables, &Options::default()).unwrap();
        assert_eq!(plan.tagging().priorities.len(), 1);
    }

    #[test]
    fn fewer_paths_and_headers_too_short() {
        let topology = flattened(16, &[2, 3]);
        let two = made(&topology, Some(2), None).unwrap().failover.unwrap();
        assert_eq!(two.destinations.len(), 32);
        let error = made(&topology, None, Some(1)).unwrap_err().to_string();
        assert!(error.contains("up to 4 links do not fit"), "{error}");
    }

    #[test]
    fn a_pair_without_a_path_is_named_with_what_would_give_it_one() {
        // Of two layers with one link up, few pairs have a common neighbour.
        let topology = flattened(10, &[1, 1]);
        let links = FlattenedLinks::new(&topology).unwrap();
        let mut router = Router::new(&links);
        let mut pairs = topology.switch_ids().flat_map(|from| {
            let later = topology.switch_ids().filter(move |to| *to > from);
            later.map(move |to| (from, to))
        });
        let (from, to) = pairs
            .find(|&(from, to)| router.paths(from, to).is_empty())
            .expect("a pair without a path");
        let name = |switch| topology.switch(switch).name.clone();
        let error = made(&topology, None, None).unwrap_err().to_string();
        let named = format!("leads from `{}` to `{}` through 3", name(from), name(to));
        assert!(error.contains(&named), "{error}");
        assert!(error.contains("--layers 4"), "{error}");
    }
}

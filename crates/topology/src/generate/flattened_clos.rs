//! Flattened Clos: an expander whose ports stand in virtual layers (FC23 section 3).

use std::collections::BTreeSet;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::optical::{self, OpticalSwitches};
use super::{Cables, Check, GenerateError, MAX_NODES, MAX_PORTS, Network};
use crate::routes::{RoutePolicy, RouteSet};
use crate::{Switch, Topology};

/// How often a graph is drawn until one is connected.
const DRAWS: usize = 100;

/// A Flattened Clos: for every two neighbouring virtual layers a random regular bipartite graph
/// between the ports of all switches in the one layer and those in the other, never from a switch
/// to itself. Two switches may be joined by several links, of different layers or in opposite
/// directions. Ports of a switch are its hosts', then for each pair of layers from the lowest those
/// in its lower layer and those in its upper one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlattenedClos {
    /// Number of switches.
    pub switches: u32,
    /// Ports per switch.
    pub ports: u16,
    /// Ports of each switch that lead to switches; even. The others lead to hosts.
    pub fabric_ports: u16,
    /// Number of virtual layers; `None` for as many as `split` has, or as are needed to join all
    /// pairs of switches with hosts.
    pub layers: Option<u8>,
    /// Links that a switch has from each layer to the next (FC23's a); `None` to divide half of the
    /// fabric ports evenly.
    pub split: Option<Vec<u16>>,
    /// Whether no two switches are joined by several links. FC23 does not ask for it, but the
    /// figures of its smallest network (Table 2, 50 switches) are those of such a one.
    pub single_links: bool,
    /// Optical circuit switches through which links run, if any do; they bound which links there
    /// can be (FC23 section 3.3, virtual-layered cabling).
    pub optical: Option<OpticalSwitches>,
    /// Seed of the random graphs.
    pub seed: u64,
    /// Rates and lengths.
    pub cables: Cables,
}

impl FlattenedClos {
    /// Generates the topology. Where nobody says how many layers there are, it takes as many as
    /// [`layers_needed`] says, or more until every two switches with hosts are joined by a way up
    /// and down (FC23 section 3.2.3, strategy (*)).
    ///
    /// # Errors
    /// [`GenerateError`] if a parameter is out of range, or no connected network has that shape.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("flattened-clos");
        self.check(&check)?;
        if self.layers.is_some() || self.split.is_some() {
            return self.draw_network(&check, &self.degrees(&check)?);
        }
        let fewest = self.layer_count(&check)?;
        let mut apart = None;
        for layers in fewest..=self.most_layers() {
            let split = even_split(self.fabric_ports / 2, layers);
            self.check_split(&check, &split)?;
            let topology = self.draw_network(&check, &split)?;
            match pair_apart(&topology) {
                None => return Ok(topology),
                Some(pair) => apart = Some((layers, pair)),
            }
        }
        let pair = apart.map_or_else(String::new, |(layers, (from, to))| {
            format!("; with {layers} no way up and down leads from `{from}` to `{to}`")
        });
        Err(check.impossible(format!(
            "no number of virtual layers from {fewest} to {} joins all pairs of {} switches with {} fabric ports{pair}; \
             use more fabric ports or fewer switches, or take a network with such pairs by saying --layers",
            self.most_layers(),
            self.switches,
            self.fabric_ports
        )))
    }

    /// A connected network with so many links of a switch from each layer to the next.
    fn draw_network(&self, check: &Check, split: &[u16]) -> Result<Topology, GenerateError> {
        let hosts = self.ports - self.fabric_ports;
        check.nodes("hosts", Some(u64::from(self.switches) * u64::from(hosts)))?;
        let name = format!("flattened-clos-{}x{}", self.switches, self.ports);
        let mut net = Network::new("flattened-clos", name, self.cables);
        let mut ids = Vec::new();
        for number in 1..=self.switches {
            let switch = Switch::new(format!("s{number}"), self.ports);
            ids.push(net.builder.switch(switch));
        }
        for &id in &ids {
            net.hosts(id, hosts);
        }
        let graphs = self.connected(check, split)?;
        let mut first = hosts + 1;
        let mut groups = 0;
        for ((layer, &degree), graph) in (1..).zip(split).zip(&graphs) {
            // The next free port of each switch in the lower and in the upper layer.
            let mut lower = vec![first; ids.len()];
            let mut upper = vec![first + degree; ids.len()];
            for &(a, b, ocs) in graph {
                let ocs = ocs.map(|ocs| groups + ocs);
                net.join_layers((ids[a], lower[a]), (ids[b], upper[b]), layer, ocs);
                lower[a] += 1;
                upper[b] += 1;
            }
            first += 2 * degree;
            if let Some(optical) = self.optical {
                groups += 2 * u32::from(degree) * optical.eta(self.switches);
            }
        }
        net.finish()
    }

    /// Checks all parameters but how links are divided among the layers.
    fn check(&self, check: &Check) -> Result<(), GenerateError> {
        check.range("the number of ports", self.ports, 1, u64::from(MAX_PORTS))?;
        check.range("the number of switches", self.switches, 2, MAX_NODES)?;
        let fabric_ports = self.fabric_ports;
        check.range(
            "the number of fabric ports",
            fabric_ports,
            2,
            u64::from(self.ports),
        )?;
        if fabric_ports % 2 == 1 {
            let above = if fabric_ports < self.ports {
                format!(" or {}", fabric_ports + 1)
            } else {
                String::new()
            };
            return Err(check.impossible(format!(
                "{fabric_ports} fabric ports are odd, but each link up needs one down; use {}{above}",
                fabric_ports - 1
            )));
        }
        if self.single_links && u32::from(fabric_ports) >= self.switches {
            return Err(check.impossible(format!(
                "{fabric_ports} fabric ports to different switches need at least {} switches, there are {}; use more switches, or allow several links of two",
                fabric_ports + 1,
                self.switches
            )));
        }
        match self
            .optical
            .and_then(|optical| optical.refusal(self.switches))
        {
            Some(reason) => Err(check.impossible(reason)),
            None => Ok(()),
        }
    }

    /// The links that a switch has from each layer to the next, as they were asked for.
    fn degrees(&self, check: &Check) -> Result<Vec<u16>, GenerateError> {
        let split = match &self.split {
            Some(split) => self.given_split(check, split)?,
            None => even_split(self.fabric_ports / 2, self.layer_count(check)?),
        };
        self.check_split(check, &split)?;
        Ok(split)
    }

    /// Checks that there are switches enough for the links of one between two layers.
    fn check_split(&self, check: &Check, split: &[u16]) -> Result<(), GenerateError> {
        let largest = split.iter().copied().max().unwrap_or(0);
        if u32::from(largest) < self.switches {
            return Ok(());
        }
        Err(check.impossible(format!(
            "{} links of a switch between two layers need at least {} switches, there are {}; use more switches, fewer fabric ports or more layers",
            largest,
            u32::from(largest) + 1,
            self.switches
        )))
    }

    /// The most layers, for each needs a link to the next.
    fn most_layers(&self) -> u8 {
        u8::try_from(self.fabric_ports / 2 + 1).unwrap_or(u8::MAX)
    }

    fn given_split(&self, check: &Check, split: &[u16]) -> Result<Vec<u16>, GenerateError> {
        let half = self.fabric_ports / 2;
        let sum: u32 = split.iter().map(|&degree| u32::from(degree)).sum();
        if split.contains(&0) || sum != u32::from(half) {
            return Err(check.impossible(format!(
                "a split for {} fabric ports is numbers of at least 1 that make {half}, such as {}",
                self.fabric_ports,
                joined(&even_split(half, half.min(2) as u8 + 1))
            )));
        }
        if let Some(layers) = self.layers
            && usize::from(layers) != split.len() + 1
        {
            return Err(check.impossible(format!(
                "a split into {} is for {} layers, not for {layers}; give one of the two",
                split.len(),
                split.len() + 1
            )));
        }
        if split.len() >= usize::from(u8::MAX) {
            return Err(check.impossible(format!("{} layers are too many", split.len() + 1)));
        }
        Ok(split.to_vec())
    }

    fn layer_count(&self, check: &Check) -> Result<u8, GenerateError> {
        let most = self.most_layers();
        if let Some(layers) = self.layers {
            if !(2..=most).contains(&layers) {
                return Err(check.impossible(format!(
                    "{layers} layers; {} fabric ports make 2 to {most}, for every layer needs a link up",
                    self.fabric_ports
                )));
            }
            return Ok(layers);
        }
        layers_needed(self.switches, self.fabric_ports).ok_or_else(|| {
            let enough = (self.fabric_ports..=u16::MAX - 1)
                .step_by(2)
                .find(|&ports| layers_needed(self.switches, ports).is_some());
            check.impossible(format!(
                "{} switches of {} fabric ports have too few ways up (FC23 section 3.3); use {}at least {} fabric ports, or say --layers",
                self.switches,
                self.fabric_ports,
                if enough.is_some() { "" } else { "fewer switches or " },
                enough.unwrap_or(u16::MAX - 1)
            ))
        })
    }

    /// Draws the graphs until the network is connected.
    fn connected(&self, check: &Check, split: &[u16]) -> Result<Vec<Links>, GenerateError> {
        let switches = self.switches as usize;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        for _ in 0..DRAWS {
            let graphs = self.draw(split, &mut rng);
            if let Some(graphs) = graphs
                && super::is_connected(switches, pairs(&graphs).iter())
            {
                return Ok(graphs);
            }
        }
        let (how, more) = match self.single_links {
            true => (" and single links", "switches"),
            false => ("", "fabric ports"),
        };
        Err(check.impossible(format!(
            "none of {DRAWS} networks of {switches} switches with {} fabric ports{how} was connected; use more {more}",
            self.fabric_ports
        )))
    }

    /// Draws the graph between each two neighbouring layers.
    fn draw(&self, split: &[u16], rng: &mut ChaCha8Rng) -> Option<Vec<Links>> {
        let mut joined = BTreeSet::new();
        let one = |&degree: &u16| {
            let size = (self.switches as usize, usize::from(degree));
            let apart = self.single_links.then_some(&joined);
            let links = match self.optical {
                Some(optical) => {
                    let eta = optical.eta(self.switches) as usize;
                    let mut circuits = optical::draw(size, eta, apart, rng)?;
                    circuits.sort_unstable();
                    let link = |(a, b, ocs)| (a, b, u32::try_from(ocs + 1).ok());
                    circuits.into_iter().map(link).collect()
                }
                None => {
                    let edges = match apart {
                        Some(_) => {
                            let mut edges = sparse_bipartite(size.0, size.1, apart, rng)?;
                            edges.sort_unstable();
                            edges
                        }
                        None => bipartite(size.0, size.1, rng),
                    };
                    edges.into_iter().map(|(a, b)| (a, b, None)).collect()
                }
            };
            if self.single_links {
                let links: &Links = &links;
                joined.extend(links.iter().map(|&(a, b, _)| (a.min(b), a.max(b))));
            }
            Some(links)
        };
        split.iter().map(one).collect()
    }
}

/// The names of two switches with hosts that no way up and down joins, if there are such.
fn pair_apart(topology: &Topology) -> Option<(String, String)> {
    let policy = RoutePolicy::VirtualUpDown { bounces: 0 };
    // Networks of more layers than routes can count have no ways up and down at all.
    let set = RouteSet::new(topology, policy).ok()?;
    let &(from, to) = set.joined_pairs(1).named.first()?;
    let name = |switch| topology.switch(switch).name.clone();
    Some((name(from), name(to)))
}

/// Links from a switch's port in one layer to a switch's port in the next; and the OCS, counted
/// from 1 for each pair of layers.
type Links = Vec<(usize, usize, Option<u32>)>;

fn pairs(graphs: &[Links]) -> Edges {
    let links = graphs.iter().flatten();
    links.map(|&(a, b, _)| (a, b)).collect()
}

/// Links from a switch's port in one layer to a switch's port in the next.
type Edges = Vec<(usize, usize)>;

/// The fewest virtual layers with which switches have enough common ancestors: the least k with
/// (1 + s / (2 (k - 1)))^(k - 1) > sqrt(2 N ln N), for N switches of s fabric ports (FC23 section
/// 3.3). `None` if no k does, given that each layer needs a link to the next.
#[must_use]
pub fn layers_needed(switches: u32, fabric_ports: u16) -> Option<u8> {
    let switches = f64::from(switches);
    let needed = (2.0 * switches * switches.ln()).sqrt();
    let half = f64::from(fabric_ports / 2);
    let most = u8::try_from(fabric_ports / 2).unwrap_or(u8::MAX - 1);
    (1..=most.min(u8::MAX - 1))
        .find(|&steps| (1.0 + half / f64::from(steps)).powi(i32::from(steps)) > needed)
        .map(|steps| steps + 1)
}

/// Half of the fabric ports over the steps between layers as evenly as can be; what is left over
/// goes to the last step, the first, the last but one, and so on (FC23 uses 7-6-7 and 2-2-2-3).
fn even_split(half: u16, layers: u8) -> Vec<u16> {
    let steps = u16::from(layers) - 1;
    let mut split = vec![half / steps; usize::from(steps)];
    for extra in 0..usize::from(half % steps) {
        let at = match extra % 2 {
            0 => split.len() - 1 - extra / 2,
            _ => extra / 2,
        };
        split[at] += 1;
    }
    split
}

fn joined(split: &[u16]) -> String {
    let numbers: Vec<String> = split.iter().map(u16::to_string).collect();
    numbers.join("-")
}

/// A random bipartite graph between two copies of `nodes` nodes: every node of either side has
/// `degree` edges (less than `nodes`), none twice, none to its own copy. Sorted.
fn bipartite(nodes: usize, degree: usize, rng: &mut ChaCha8Rng) -> Edges {
    let others = nodes - 1;
    if 2 * degree > others {
        // A dense graph is the complement of a sparse one, which random swaps find quickly.
        let absent = sparse_bipartite(nodes, others - degree, None, rng);
        let absent: BTreeSet<_> = absent.into_iter().flatten().collect();
        let all = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
        return all
            .filter(|edge| edge.0 != edge.1 && !absent.contains(edge))
            .collect();
    }
    let mut edges = sparse_bipartite(nodes, degree, None, rng).unwrap_or_default();
    edges.sort_unstable();
    edges
}

/// Pairs the ends of both sides at random, then swaps ends until no edge is double or leads to a
/// node's own copy. With the pairs that are `joined` already, lower number first, no edge joins
/// such a pair, nor do two edges join one; `None` if that was not found.
fn sparse_bipartite(
    nodes: usize,
    degree: usize,
    joined: Option<&BTreeSet<(usize, usize)>>,
    rng: &mut ChaCha8Rng,
) -> Option<Edges> {
    let left = (0..nodes).flat_map(|v| std::iter::repeat_n(v, degree));
    let mut right: Vec<usize> = left.clone().collect();
    let fresh = |present: &BTreeSet<(usize, usize)>, (a, b): (usize, usize)| {
        let known = |joined: &BTreeSet<_>| {
            present.contains(&(b, a)) || joined.contains(&(a.min(b), a.max(b)))
        };
        a != b && !present.contains(&(a, b)) && !joined.is_some_and(known)
    };
    let mut draws = 0;
    while joined.is_none() || draws < DRAWS {
        draws += 1;
        right.shuffle(rng);
        let mut present = BTreeSet::new();
        let (mut edges, mut bad) = (Vec::new(), Vec::new());
        for edge in left.clone().zip(right.iter().copied()) {
            if fresh(&present, edge) {
                present.insert(edge);
                edges.push(edge);
            } else {
                bad.push(edge);
            }
        }
        // Each bad edge (a, b) and a random good one (c, d) become (a, d) and (c, b).
        let mut patience = 100 * (bad.len() + 10);
        while let Some(&(a, b)) = bad.last()
            && patience > 0
            && !edges.is_empty()
        {
            patience -= 1;
            let at = rng.random_range(0..edges.len());
            let (c, d) = edges[at];
            let (first, second) = ((a, d), (c, b));
            let twins = joined.is_some() && first == (second.1, second.0);
            if first != second && !twins && fresh(&present, first) && fresh(&present, second) {
                present.remove(&(c, d));
                present.extend([first, second]);
                edges[at] = first;
                edges.push(second);
                bad.pop();
            }
        }
        if bad.is_empty() {
            return Some(edges);
        }
    }
    None
}

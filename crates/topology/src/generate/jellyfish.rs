//! Jellyfish: a random regular graph of switches (Jellyfish12).

use std::collections::BTreeSet;

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Cables, Check, GenerateError, MAX_NODES, MAX_PORTS, Network, components};
use crate::{Switch, Topology};

/// How large a Jellyfish network is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JellyfishSize {
    /// So many switches; `fabric_ports` of each port count lead to switches, the others to hosts.
    Switches {
        /// Number of switches.
        switches: u32,
        /// Ports of each switch that lead to switches.
        fabric_ports: u16,
    },
    /// So many hosts at a given oversubscription (at least 1; 1 is full bisection bandwidth): the
    /// fewest fabric ports whose asymptotic bisection bandwidth suffices (Stephens15 section 4.7).
    Hosts {
        /// Number of hosts.
        hosts: u32,
        /// Host bandwidth over bisection bandwidth.
        oversubscription: f64,
    },
}

/// A random regular graph of switches (`s1`, ...), connected, without parallel links unless there
/// are too few switches for that. Ports of a switch are its hosts', then those to other switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Jellyfish {
    /// How large it is.
    pub size: JellyfishSize,
    /// Ports per switch.
    pub ports: u16,
    /// Seed of the random graph.
    pub seed: u64,
    /// Rates and lengths.
    pub cables: Cables,
}

impl Jellyfish {
    /// Generates the topology. Where switches times fabric ports is odd, one fabric port stays
    /// free.
    ///
    /// # Errors
    /// [`GenerateError`] if a parameter is out of range, or no connected network has that shape.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let check = Check("jellyfish");
        check.range("the number of ports", self.ports, 1, u64::from(MAX_PORTS))?;
        let (switches, fabric_ports, hosts) = self.dimensions(&check)?;
        check.range("the number of switches", switches, 1, MAX_NODES)?;
        check.range(
            "the number of fabric ports",
            fabric_ports,
            0,
            u64::from(self.ports),
        )?;
        check.nodes("hosts", Some(hosts))?;
        if switches > 2 && fabric_ports < 2 || switches == 2 && fabric_ports == 0 {
            return Err(check.impossible(format!(
                "{switches} switches with {fabric_ports} fabric ports each cannot be connected; use at \
                 least 2 fabric ports"
            )));
        }

        let name = format!("jellyfish-{switches}x{}", self.ports);
        let mut net = Network::new("jellyfish", name, self.cables);
        let mut ids = Vec::new();
        let mut next_port = Vec::new();
        for number in 0..switches {
            let id = net
                .builder
                .switch(Switch::new(format!("s{}", number + 1), self.ports));
            // Hosts are dealt round robin, so that counts differ by at most one.
            let share = hosts / u64::from(switches);
            let extra = u64::from(u64::from(number) < hosts % u64::from(switches));
            let share = u16::try_from(share + extra).unwrap_or(u16::MAX);
            net.hosts(id, share);
            ids.push(id);
            next_port.push(share);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        for (a, b) in random_regular(ids.len(), usize::from(fabric_ports), &mut rng) {
            next_port[a] += 1;
            next_port[b] += 1;
            net.join((ids[a], next_port[a]), (ids[b], next_port[b]));
        }
        net.finish()
    }

    /// The number of switches, fabric ports and hosts.
    fn dimensions(&self, check: &Check) -> Result<(u32, u16, u64), GenerateError> {
        match self.size {
            JellyfishSize::Switches {
                switches,
                fabric_ports,
            } => {
                check.range(
                    "the number of fabric ports",
                    fabric_ports,
                    0,
                    u64::from(self.ports),
                )?;
                let hosts = u64::from(switches) * u64::from(self.ports - fabric_ports);
                Ok((switches, fabric_ports, hosts))
            }
            JellyfishSize::Hosts {
                hosts,
                oversubscription,
            } => {
                check.range("the number of hosts", hosts, 1, MAX_NODES)?;
                let fabric_ports = self.fabric_ports(check, oversubscription)?;
                let per_switch = u32::from(self.ports - fabric_ports);
                Ok((hosts.div_ceil(per_switch), fabric_ports, u64::from(hosts)))
            }
        }
    }

    /// The smallest r with (r / 2 - sqrt(r ln 2)) / (P - r) >= 1 / B: Bollobas' bound on the
    /// bisection of a random r-regular graph over the host bandwidth of one side.
    pub(super) fn fabric_ports(
        &self,
        check: &Check,
        oversubscription: f64,
    ) -> Result<u16, GenerateError> {
        if !(oversubscription.is_finite() && oversubscription >= 1.0) {
            return Err(check.impossible(format!(
                "the oversubscription is {oversubscription}, but must be a number of at least 1"
            )));
        }
        let enough = |r: &u16| {
            let fabric = f64::from(*r);
            let bisection = fabric / 2.0 - (fabric * std::f64::consts::LN_2).sqrt();
            bisection * oversubscription >= f64::from(self.ports - *r)
        };
        (1..self.ports).find(enough).ok_or_else(|| {
            check.impossible(format!(
                "switches of {} ports are too small for an oversubscription of {oversubscription}; use \
                 more ports or accept more oversubscription",
                self.ports
            ))
        })
    }
}

/// The edges of a random connected graph of `nodes` nodes of the given degree (one node has one
/// less if nodes times degree is odd), sorted. It has parallel edges only if `degree >= nodes`.
fn random_regular(nodes: usize, degree: usize, rng: &mut ChaCha8Rng) -> Vec<(usize, usize)> {
    if nodes < 2 {
        return Vec::new();
    }
    // As many complete graphs as fit, and a simple random graph for the rest.
    let complete = degree / (nodes - 1);
    let rest = degree % (nodes - 1);
    let mut edges: Vec<_> = pairs(nodes)
        .flat_map(|pair| std::iter::repeat_n(pair, complete))
        .collect();
    let mut wanted = vec![rest; nodes];
    if nodes * rest % 2 == 1 {
        wanted[nodes - 1] -= 1;
    }
    if 2 * rest > nodes {
        // A dense graph is the complement of a sparse one, which random swaps find quickly.
        let sparse: Vec<_> = wanted.iter().map(|w| nodes - 1 - w).collect();
        let absent: BTreeSet<_> = random_simple(&sparse, rng).into_iter().collect();
        edges.extend(pairs(nodes).filter(|pair| !absent.contains(pair)));
    } else {
        let mut simple = random_simple(&wanted, rng);
        if complete == 0 {
            connect(nodes, &mut simple, rng);
        }
        edges.extend(simple);
    }
    edges.sort_unstable();
    edges
}

/// All pairs of nodes.
fn pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..nodes).flat_map(move |a| (a + 1..nodes).map(move |b| (a, b)))
}

/// A random simple graph with the given degrees (even in sum, at most about half the nodes): pair
/// the stubs at random, then swap ends until no edge is a loop or a double.
fn random_simple(degrees: &[usize], rng: &mut ChaCha8Rng) -> Vec<(usize, usize)> {
    let stubs = degrees.iter().enumerate();
    let mut stubs: Vec<_> = stubs
        .flat_map(|(v, &d)| std::iter::repeat_n(v, d))
        .collect();
    loop {
        stubs.shuffle(rng);
        let mut present = BTreeSet::new();
        let (mut edges, mut bad) = (Vec::new(), Vec::new());
        for pair in stubs.chunks_exact(2) {
            let edge = ordered(pair[0], pair[1]);
            if edge.0 != edge.1 && present.insert(edge) {
                edges.push(edge);
            } else {
                bad.push(edge);
            }
        }
        // Each bad edge (a, b) and a random good one (c, d) become (a, c) and (b, d).
        let mut patience = 100 * (bad.len() + 10);
        while let Some(&(a, b)) = bad.last()
            && patience > 0
            && !edges.is_empty()
        {
            patience -= 1;
            let at = rng.random_range(0..edges.len());
            let (mut c, mut d) = edges[at];
            if rng.random() {
                (c, d) = (d, c);
            }
            let (first, second) = (ordered(a, c), ordered(b, d));
            let fresh = |e: (usize, usize)| e.0 != e.1 && !present.contains(&e);
            if first != second && fresh(first) && fresh(second) {
                present.remove(&ordered(c, d));
                present.extend([first, second]);
                edges[at] = first;
                edges.push(second);
                bad.pop();
            }
        }
        if bad.is_empty() {
            return edges;
        }
    }
}

fn ordered(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

/// Joins the components of a graph by swaps that keep every degree: an edge (a, b) of one component
/// and an edge (c, d) of another become (a, c) and (b, d). A swap joins the two unless both edges
/// were bridges, and with degrees of 2 and more each component has an edge that is none.
fn connect(nodes: usize, edges: &mut [(usize, usize)], rng: &mut ChaCha8Rng) {
    loop {
        let component = components(nodes, &*edges);
        let of = |root: bool| {
            let inside = |&at: &usize| (component[edges[at].0] == component[0]) == root;
            (0..edges.len()).filter(inside).collect::<Vec<_>>()
        };
        let (inside, outside) = (of(true), of(false));
        let (Some(&x), Some(&y)) = (inside.choose(rng), outside.choose(rng)) else {
            return;
        };
        let ((a, b), (c, d)) = (edges[x], edges[y]);
        edges[x] = ordered(a, c);
        edges[y] = ordered(b, d);
    }
}

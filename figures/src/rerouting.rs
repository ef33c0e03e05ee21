//! Rerouting around one failed link of a Flattened Clos (FC23 section 7.1): only the switch before
//! the link reacts. Packets are followed through the tables and the tag rules of a plan.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plan::check::{Options, check};
use plan::{CheckedPlan, ClassId, NewTag, Tag};
use quantities::{PortId, Progress};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use schemes::{TaggerOptions, flattened_clos};
use serde::Serialize;
use topology::routes::forwarding::{Forwarding, Reroute};
use topology::{HostId, LinkId, NodeId, SwitchId, Topology};

use super::flattened::{FlattenedBenchError, FlattenedNetwork};
use super::machine::timed;

/// The bounces that stay lossless: two priorities.
const BOUNCES: u8 = 1;

/// What becomes of packets under single failures of links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReroutingFigure {
    /// Switches, ports, links of a switch from each layer to the next.
    pub case: String,
    /// Links between switches.
    pub links: usize,
    /// How many of them failed, one at a time.
    pub failures: usize,
    /// Whether that was all of them.
    pub exhaustive: bool,
    /// Pairs of switches with hosts, times failures.
    pub pairs: u64,
    /// Pairs of which a way led over the failed link.
    pub rerouted: u64,
    /// Rerouted pairs that arrive without a bounce, whatever way they take.
    pub without_bounce: u64,
    /// Rerouted pairs that arrive lossless, with a bounce on some way.
    pub one_bounce: u64,
    /// Pairs with a packet that turns lossy.
    pub lossy: u64,
    /// Pairs with a packet that is dropped, or comes to another host.
    pub lost: u64,
    /// Pairs with a packet that may circulate.
    pub circulating: u64,
    /// Seconds for all failures.
    pub seconds: f64,
}

impl ReroutingFigure {
    /// Whether two priorities kept every pair lossless under every failure that was tried.
    #[must_use]
    pub fn lossless(&self) -> bool {
        self.lossy + self.lost + self.circulating == 0
    }

    fn and(self, other: Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            rerouted: self.rerouted + other.rerouted,
            without_bounce: self.without_bounce + other.without_bounce,
            one_bounce: self.one_bounce + other.one_bounce,
            lossy: self.lossy + other.lossy,
            lost: self.lost + other.lost,
            circulating: self.circulating + other.circulating,
            ..self
        }
    }

    fn count(&mut self, found: Outcome) {
        self.pairs += 1;
        self.rerouted += u64::from(found.rerouted);
        let counter = match found.fate {
            Fate::Arrives { .. } if !found.rerouted => return,
            Fate::Arrives { bounces: 0 } => &mut self.without_bounce,
            Fate::Arrives { .. } => &mut self.one_bounce,
            Fate::Lossy => &mut self.lossy,
            Fate::Lost => &mut self.lost,
            Fate::Circulates => &mut self.circulating,
        };
        *counter += 1;
    }
}

/// What becomes of a packet, worse and worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Arrives { bounces: u8 },
    Lossy,
    Lost,
    Circulates,
}

/// The worst fate over all ways.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    fate: Fate,
    /// Whether some way led over the failed link before.
    rerouted: bool,
}

impl FlattenedNetwork {
    /// Fails links one at a time, all of them or `failures` that are drawn, and follows packets
    /// between all switches.
    ///
    /// # Errors
    /// [`FlattenedBenchError`].
    pub fn reroute(
        &self,
        failures: usize,
        seed: u64,
        progress: &Progress,
    ) -> Result<ReroutingFigure, FlattenedBenchError> {
        let topology = self.generate(seed)?;
        let figure = reroute(&topology, failures, seed, progress)?;
        let case = self.name();
        Ok(ReroutingFigure { case, ..figure })
    }
}

fn reroute(
    topology: &Topology,
    failures: usize,
    seed: u64,
    progress: &Progress,
) -> Result<ReroutingFigure, FlattenedBenchError> {
    let tables = flattened_clos(topology, BOUNCES, &TaggerOptions::default())?;
    let plan = check(tables, &Options::default())?;
    let policy = &plan.tables().forwarding;
    let healthy = Forwarding::new(topology, policy, Reroute::Converged)?;
    let between = |link: &LinkId| topology.link(*link).virtual_layers.is_some();
    let links: Vec<LinkId> = topology.link_ids().filter(between).collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let drawn = sample(&mut random, links.len(), failures.min(links.len()));
    let drawn: Vec<LinkId> = drawn.iter().map(|at| links[at]).collect();
    progress.begin(drawn.len() as u64);
    let one = |&link: &LinkId| {
        let failed = topology.with_failed_links(&[link]);
        let tables = Forwarding::new(&failed, policy, Reroute::Local)?;
        let mut figure = ReroutingFigure::default();
        for (to, host) in first_hosts(topology) {
            Walk::new(&plan, &failed, (&healthy, &tables), link, to, host).count(&mut figure);
        }
        progress.advance(1);
        Ok::<_, FlattenedBenchError>(figure)
    };
    let (sum, seconds) = timed(|| {
        let figures = drawn.par_iter().map(one);
        figures.try_reduce(ReroutingFigure::default, |a, b| Ok(a.and(b)))
    });
    Ok(ReroutingFigure {
        links: links.len(),
        failures: drawn.len(),
        exhaustive: drawn.len() == links.len(),
        seconds,
        ..sum?
    })
}

/// The first host of every switch that has one.
fn first_hosts(topology: &Topology) -> impl Iterator<Item = (SwitchId, (PortId, HostId))> {
    topology.switch_ids().filter_map(|switch| {
        let host = topology
            .peers(switch)
            .find_map(|(port, peer)| match peer.end.node {
                NodeId::Host(host) => Some((port, host)),
                NodeId::Switch(_) => None,
            });
        Some((switch, host?))
    })
}

/// A packet at a switch: by which port it has come, with which tag.
type State = (SwitchId, PortId, Tag);

/// Packets to one host while a link is down.
struct Walk<'a> {
    plan: &'a CheckedPlan,
    topology: &'a Topology,
    link: LinkId,
    to: SwitchId,
    host: HostId,
    initial: Tag,
    /// By switch: the ports by which packets leave, and whether the failed link is among those of
    /// before.
    hops: Vec<(Vec<PortId>, bool)>,
    /// What is known of states; nothing yet of those on the way under way.
    known: BTreeMap<State, Option<Outcome>>,
}

impl<'a> Walk<'a> {
    fn new(
        plan: &'a CheckedPlan,
        topology: &'a Topology,
        (healthy, tables): (&Forwarding, &Forwarding),
        link: LinkId,
        to: SwitchId,
        (_, host): (PortId, HostId),
    ) -> Self {
        let address = IpAddr::V4(topology.host(host).ipv4);
        let hops = topology.switch_ids().map(|switch| {
            let ports = tables.switch(switch).lookup(address).iter();
            let mut before = healthy.switch(switch).lookup(address).iter();
            let over = |port| topology.peer(switch, port).is_some_and(|p| p.link == link);
            let ports: Vec<PortId> = ports.map(|hop| hop.port).collect();
            (ports, before.any(|hop| over(hop.port)))
        });
        Self {
            hops: hops.collect(),
            initial: plan.tagging().classes[0].initial,
            known: BTreeMap::new(),
            plan,
            topology,
            link,
            to,
            host,
        }
    }

    /// Packets from all other switches.
    fn count(mut self, figure: &mut ReroutingFigure) {
        for (from, (port, _)) in first_hosts(self.topology) {
            if from != self.to {
                figure.count(self.follow((from, port, self.initial)));
            }
        }
    }

    /// The worst that becomes of a packet.
    fn follow(&mut self, state: State) -> Outcome {
        if let Some(known) = self.known.get(&state) {
            let circulates = Outcome {
                fate: Fate::Circulates,
                rerouted: false,
            };
            return known.unwrap_or(circulates);
        }
        self.known.insert(state, None);
        let (switch, in_port, tag) = state;
        let (ports, rerouted) = self.hops[switch.index()].clone();
        let mut found = Outcome {
            fate: Fate::Arrives { bounces: 0 },
            rerouted,
        };
        if ports.is_empty() {
            found.fate = Fate::Lost;
        }
        for port in ports {
            let next = self.leave(switch, in_port, tag, port);
            found.fate = found.fate.max(next.fate);
            found.rerouted |= next.rerouted;
        }
        self.known.insert(state, Some(found));
        found
    }

    fn leave(&mut self, switch: SwitchId, in_port: PortId, tag: Tag, port: PortId) -> Outcome {
        let done = |fate| Outcome {
            fate,
            rerouted: false,
        };
        let class = ClassId::new(0);
        let classified = self.plan.classify(switch, class, tag, in_port, port);
        let peer = self.topology.peer(switch, port);
        let Some(peer) = peer.filter(|peer| peer.link != self.link) else {
            return done(Fate::Lost);
        };
        let NewTag::Lossless(tag) = classified.new_tag else {
            return done(Fate::Lossy);
        };
        match peer.end.node {
            NodeId::Switch(next) => self.follow((next, peer.end.port, tag)),
            NodeId::Host(host) if host == self.host => done(Fate::Arrives {
                bounces: tag.get() - self.initial.get(),
            }),
            NodeId::Host(_) => done(Fate::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use topology::generate::{Cables, FlattenedClos};

    use super::*;

    fn made(switches: u32, split: &[u16]) -> Topology {
        let fabric_ports = 2 * split.iter().sum::<u16>();
        let clos = FlattenedClos {
            switches,
            ports: fabric_ports + 1,
            fabric_ports,
            layers: None,
            split: Some(split.to_vec()),
            single_links: true,
            optical: None,
            seed: 1,
            cables: Cables::default(),
        };
        clos.generate().unwrap()
    }

    /// Two priorities keep every single link failure lossless: all of them, in a Flattened Clos of
    /// 50 switches.
    #[test]
    fn one_bounce_is_enough_for_every_single_failure() {
        let topology = made(50, &[3, 3, 3]);
        let figure = reroute(&topology, usize::MAX, 1, &Progress::default()).unwrap();
        assert!(figure.exhaustive && figure.lossless(), "{figure:?}");
        assert_eq!((figure.failures, figure.pairs), (450, 450 * 50 * 49));
        assert!(
            figure.one_bounce > 0 && figure.without_bounce > figure.one_bounce,
            "{figure:?}"
        );
        assert_eq!(figure.rerouted, figure.without_bounce + figure.one_bounce);
    }

    /// Where links are few a bounce is not always enough, or there is no other way: that is told.
    #[test]
    fn what_cannot_be_rerouted_is_counted() {
        let topology = made(6, &[1]);
        let figure = reroute(&topology, usize::MAX, 1, &Progress::default()).unwrap();
        assert!(!figure.lossless(), "{figure:?}");
    }
}

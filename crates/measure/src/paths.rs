//! Whether packets are rerouted, measured as TaggerDraft section 3.1 does: a host sends to a switch
//! of the highest layer, in a packet within a packet, and the switch unwraps it and sends what was
//! in it back. Its TTL tells how many switches it has crossed on the way down; if the replies of
//! one measurement differ, some were rerouted.
//!
//! The switches are embedded ones, which run the generated program, and the packet enters the
//! highest switch as it was unwrapped; or those of the emulator, in real time, where probes are
//! packets within packets.

use std::collections::BTreeMap;

use emulator::emulate::{EmulateError, Options, Probes};
use plan::ClassId;
use quantities::PortId;
use serde::Serialize;
use simulator::embedded::{Network, NetworkError, Probe, WalkEnd};
use topology::{Fabric, HostId, NodeId, SwitchId, Topology};

/// The TTL of replies as they begin.
pub const FIRST_TTL: u8 = 64;

/// What came of all measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathsFigure {
    /// Measurements: pairs of a host and a switch of the highest layer.
    pub measurements: u64,
    /// Measurements whose replies had different TTLs.
    pub rerouted: u64,
    /// The part of them.
    pub probability: f64,
    /// Replies by their TTL.
    pub replies: BTreeMap<u8, u64>,
    /// Probes without a reply.
    pub lost: u64,
    /// Those that were rerouted, as `host <- switch`, with their TTLs.
    pub found: Vec<ReroutedPair>,
}

/// A measurement whose replies had different TTLs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReroutedPair {
    /// The host.
    pub host: String,
    /// The switch of the highest layer.
    pub switch: String,
    /// Replies by their TTL.
    pub replies: BTreeMap<u8, u64>,
}

/// Sends probes.
pub trait Prober {
    /// Why that may fail.
    type Error;

    /// The TTL of a host's reply from a switch of the highest layer, as the host gets it; nothing
    /// if none comes. What is to fail has failed `after`, which once true remains so; `number`
    /// tells the flows of a measurement apart.
    ///
    /// # Errors
    /// What keeps the network from working.
    fn reply(
        &mut self,
        after: bool,
        host: HostId,
        top: SwitchId,
        number: u16,
    ) -> Result<Option<u8>, Self::Error>;
}

/// Probes from every host to every switch of the highest layer: of each measurement's `probes`, one
/// flow each, the first half are sent before, the others after something may have failed.
///
/// # Errors
/// As the prober's.
pub fn measure_paths<P: Prober>(
    topology: &Topology,
    prober: &mut P,
    probes: u16,
) -> Result<PathsFigure, P::Error> {
    let tops = highest(topology);
    let pairs: Vec<(HostId, SwitchId)> = topology
        .host_ids()
        .flat_map(|host| tops.iter().map(move |&top| (host, top)))
        .collect();
    let mut figure = PathsFigure::default();
    let mut replies = vec![BTreeMap::new(); pairs.len()];
    for (after, numbers) in [(false, 0..probes / 2), (true, probes / 2..probes)] {
        for (&(host, top), replies) in pairs.iter().zip(&mut replies) {
            for number in numbers.clone() {
                match prober.reply(after, host, top, number)? {
                    Some(ttl) => *replies.entry(ttl).or_insert(0) += 1,
                    None => figure.lost += 1,
                }
            }
        }
    }
    for ((host, top), replies) in pairs.into_iter().zip(replies) {
        figure.add(topology, host, top, replies);
    }
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let part = figure.rerouted as f64 / figure.measurements.max(1) as f64;
    figure.probability = part;
    Ok(figure)
}

/// Embedded switches before and after a failure: a probe enters the highest switch as it was
/// unwrapped.
pub struct EmbeddedProber<'a> {
    before: &'a mut Network,
    after: &'a mut Network,
    /// By host and switch: the port by which the host's probes come in.
    ports: BTreeMap<(HostId, SwitchId), Option<PortId>>,
}

impl<'a> EmbeddedProber<'a> {
    /// The network as it was, and as it is.
    pub fn new(before: &'a mut Network, after: &'a mut Network) -> Self {
        Self {
            before,
            after,
            ports: BTreeMap::new(),
        }
    }
}

impl Prober for EmbeddedProber<'_> {
    type Error = NetworkError;

    fn reply(
        &mut self,
        after: bool,
        host: HostId,
        top: SwitchId,
        number: u16,
    ) -> Result<Option<u8>, NetworkError> {
        let network = if after {
            &mut *self.after
        } else {
            &mut *self.before
        };
        let topology = network.topology();
        let port = self.ports.entry((host, top));
        let port = *port.or_insert_with(|| toward(topology, &Fabric::new(topology), top, host));
        port.map_or(Ok(None), |port| reply(network, host, top, port, number))
    }
}

/// Switches in real time, in namespaces: probes are packets within packets, which the highest
/// switches unwrap.
pub struct LiveProber<'a> {
    probes: Probes<'a>,
    failed: bool,
}

impl<'a> LiveProber<'a> {
    /// Sets the network up, in which these links will fail.
    ///
    /// # Errors
    /// [`EmulateError`].
    pub fn new(
        network: &'a Network,
        failed: &[String],
        options: &Options,
    ) -> Result<Self, EmulateError> {
        let tops = highest(network.plan().topology());
        Ok(Self {
            probes: Probes::new(network, failed, &tops, options)?,
            failed: failed.is_empty(),
        })
    }
}

impl Prober for LiveProber<'_> {
    type Error = EmulateError;

    fn reply(
        &mut self,
        after: bool,
        host: HostId,
        top: SwitchId,
        number: u16,
    ) -> Result<Option<u8>, EmulateError> {
        if after && !std::mem::replace(&mut self.failed, true) {
            self.probes.fail()?;
        }
        self.probes.reply(host, top, number)
    }
}

impl PathsFigure {
    fn add(
        &mut self,
        topology: &Topology,
        host: HostId,
        top: SwitchId,
        replies: BTreeMap<u8, u64>,
    ) {
        self.measurements += 1;
        for (&ttl, &count) in &replies {
            *self.replies.entry(ttl).or_default() += count;
        }
        if replies.len() > 1 {
            self.rerouted += 1;
            self.found.push(ReroutedPair {
                host: topology.host(host).name.clone(),
                switch: topology.switch(top).name.clone(),
                replies,
            });
        }
    }
}

/// The switches of the highest layer; none if switches have no layers.
fn highest(topology: &Topology) -> Vec<SwitchId> {
    let fabric = Fabric::new(topology);
    let most = fabric
        .switch_ids()
        .filter_map(|switch| fabric.layer(switch))
        .max();
    let top = |switch: &SwitchId| most.is_some() && fabric.layer(*switch) == most;
    fabric.switch_ids().filter(top).collect()
}

/// The port by which a host's packets come into a switch: that of its nearest neighbour.
fn toward(topology: &Topology, fabric: &Fabric, top: SwitchId, host: HostId) -> Option<PortId> {
    let (_, uplink) = topology.uplinks(host).first()?;
    let NodeId::Switch(home) = uplink.end.node else {
        return None;
    };
    let hops = fabric.distances(home);
    let nearest = fabric
        .out_arcs(top)
        .min_by_key(|(id, arc)| (hops[arc.to.index()], id.index()));
    nearest.map(|(_, arc)| arc.out_port)
}

/// The TTL of one reply, as the host gets it; nothing if it does not.
fn reply(
    network: &mut Network,
    host: HostId,
    top: SwitchId,
    port: PortId,
    number: u16,
) -> Result<Option<u8>, NetworkError> {
    let topology = network.topology();
    let other = topology
        .host_ids()
        .find(|&other| other != host)
        .unwrap_or(host);
    let probe = Probe {
        from: other,
        to: host,
        class: Some(ClassId::new(0)),
        flow: 49_152 + number,
        ipv6: false,
    };
    let name = topology.host(host).name.clone();
    let mac = topology.port_mac(top, port);
    let (mut packet, ..) = network.packet(&probe)?;
    packet[..mac.len()].copy_from_slice(&mac);
    let walk = network.walk(&name, packet, top, port)?;
    let arrived = matches!(&walk.end, WalkEnd::Delivered { host } if *host == name);
    let last = walk.hops.last().filter(|_| arrived);
    Ok(last.and_then(|hop| ttl(hop.bytes_after.as_deref()?)))
}

/// The TTL of an IPv4 packet in hexadecimal, behind a VLAN tag or not.
fn ttl(bytes: &str) -> Option<u8> {
    let byte = |at: usize| u8::from_str_radix(bytes.get(2 * at..2 * at + 2)?, 16).ok();
    let kind = [byte(12)?, byte(13)?];
    let start = if kind == [0x81, 0x00] { 18 } else { 14 };
    byte(start + 8)
}

#[cfg(test)]
mod tests {
    use plan::check::{Options, check};
    use schemes::{TaggerOptions, tagger};
    use simulator::embedded::Reroute;
    use topology::generate::{Cables, FatTree};

    use super::*;

    /// TaggerDraft section 3.1: replies from the top of a three-layer Clos come with TTL 61; where
    /// a link below has failed, with 59.
    #[test]
    fn rerouted_replies_have_crossed_two_switches_more() {
        let cables = Cables::default();
        let topology = FatTree { k: 4, cables }.generate().unwrap();
        let tables = tagger(&topology, &TaggerOptions::default()).unwrap();
        let plan = check(tables, &Options::default()).unwrap();
        let network = || Network::of(plan.clone()).unwrap();
        let measure = |after: &mut Network| {
            let mut before = network();
            let mut prober = EmbeddedProber::new(&mut before, after);
            measure_paths(&topology, &mut prober, 4).unwrap()
        };
        let quiet = measure(&mut network());
        assert_eq!((quiet.measurements, quiet.rerouted, quiet.lost), (64, 0, 0));
        assert_eq!(quiet.replies.keys().copied().collect::<Vec<_>>(), [61]);
        let link = topology.link_named("p1a1-p1e1").unwrap();
        let mut failed = network()
            .after_failures(&[link], Reroute::Converged)
            .unwrap();
        let figure = measure(&mut failed);
        // Two hosts, two switches above the one before the failed link.
        assert_eq!(
            (figure.measurements, figure.rerouted, figure.lost),
            (64, 4, 0)
        );
        assert_eq!(figure.replies.keys().copied().collect::<Vec<_>>(), [59, 61]);
        assert_eq!(figure.found.len(), 4);
        assert!((figure.probability - 1.0 / 16.0).abs() < 1e-9);
    }
}

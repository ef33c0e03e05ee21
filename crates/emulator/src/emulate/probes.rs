//! Probes through the network in real time: hosts send packets within packets up to the switches of
//! the highest layer, which send what was in them back (TaggerDraft section 3.1).
//!
//! What a switch of the highest layer has for that in its hardware stands before its ports here: it
//! takes a packet within a packet that arrives there and hands the inner one to the same port.
//! Which of those switches a probe climbs to is up to the hash of its outer addresses; so sources
//! are tried until it is the one that is asked for. Where failures leave a host no way up to a
//! switch (no switch has an address here to which routing would lead around them), another host's
//! probe takes the inner packet there: what is measured is the way down.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use linuxnet::{PacketOptions, PacketSocket, Poller};
use plan::{CarrierKind, ClassId};
use simulator::embedded::{Network, Probe};
use simulator::simulate::player::{NetworkEvent, ScenarioPlayer};
use spec::Scenario;
use topology::{Fabric, HostId, NodeId, SwitchId, Topology};
use wire::Packet as _;

use super::lab::Lab;
use super::{EmulateError, Options, scale, slower, tunnel};
use device::buffer::Buffer;

/// How long an answer may take; where others have the processors a switch's thread may be late.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long is waited at once.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Sources that are tried for each other host until a probe climbs to the switch that is asked for.
/// They are documentation's (RFC 5737), which no host has.
const SOURCES: u8 = 8;
const FIRST_SOURCE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 0);

/// A network in namespaces that answers probes.
pub struct Probes<'a> {
    network: &'a Network,
    topology: &'a Topology,
    live: ScenarioPlayer,
    cards: Vec<PacketSocket>,
    gates: Vec<Gate>,
    poller: Poller,
    /// The outer addresses that lead from a host to a switch.
    ways: BTreeMap<(HostId, SwitchId), ProbePath>,
    // Last: sockets close before their interfaces go.
    lab: Lab,
}

/// Who sends, to whom, and from where it claims to be.
#[derive(Clone, Copy)]
struct ProbePath {
    from: HostId,
    to: HostId,
    source: Ipv4Addr,
}

/// A port of a switch of the highest layer.
struct Gate {
    switch: SwitchId,
    /// Hears what arrives at the port.
    arriving: PacketSocket,
    /// The other end of its cable: what leaves there arrives at the port.
    entering: PacketSocket,
}

impl<'a> Probes<'a> {
    /// Sets the network up, as [`super::emulate`] does, with what unwraps probes at `tops`.
    /// `failed` fail later, in [`Self::fail`].
    ///
    /// # Errors
    /// [`EmulateError`]; [`EmulateError::Carrier`] if tags travel in a header that stands before
    /// IP.
    pub fn new(
        network: &'a Network,
        failed: &[String],
        tops: &[SwitchId],
        options: &Options,
    ) -> Result<Self, EmulateError> {
        if network.plan().carrier().kind == CarrierKind::Shim {
            return Err(EmulateError::Carrier);
        }
        let topology = network.plan().topology();
        let scenario = scenario(failed)?;
        let factor = scale(network, &scenario, options.rate)?;
        let (live, _) = ScenarioPlayer::new(network, &scenario)?;
        let origin = Instant::now();
        let longest = u32::try_from(live.longest_frame()).unwrap_or(u32::MAX);
        let mut lab = Lab::build(topology, longest, options)?;
        for (id, buffer) in topology.switch_ids().zip(&live.buffers) {
            let name = &topology.switch(id).name;
            let slow = slower(buffer, factor, options.lateness, name)?;
            Buffer::new(slow.clone()).map_err(|source| EmulateError::Buffer {
                switch: name.clone(),
                source,
            })?;
            lab.start_switch(topology, id, live.executor(id)?, slow, origin, options)?;
        }
        let cards = lab.sockets(topology)?;
        let gates = gates(&lab, topology, tops)?;
        let poller = Poller::new()?;
        for socket in cards.iter().chain(gates.iter().map(|gate| &gate.arriving)) {
            poller.add(socket)?;
        }
        Ok(Self {
            network,
            topology,
            live,
            cards,
            gates,
            poller,
            ways: BTreeMap::new(),
            lab,
        })
    }

    /// Lets what was to fail fail, and gives switches the routes that are left.
    ///
    /// # Errors
    /// [`EmulateError`].
    pub fn fail(&mut self) -> Result<(), EmulateError> {
        for number in 0..self.live.order.len() {
            let (happening, changed) = self.live.act(0, number)?;
            if let NetworkEvent::Fail(link) = happening {
                self.lab.set_link(self.topology, link, false)?;
            }
            for (id, executor) in changed {
                self.lab.switch(id).replace(Box::new(executor))?;
            }
        }
        self.ways.clear();
        Ok(())
    }

    /// The TTL of the reply that a host gets from a switch of the highest layer to a probe of a
    /// flow of that number; nothing if none comes.
    ///
    /// # Errors
    /// [`EmulateError`].
    pub fn reply(
        &mut self,
        host: HostId,
        top: SwitchId,
        number: u16,
    ) -> Result<Option<u8>, EmulateError> {
        let known = self.ways.get(&(host, top)).copied();
        let inner = self.frame(self.other(host), host, number)?;
        let topology = self.topology;
        let others = topology.host_ids().filter(|&other| other != host);
        let senders = std::iter::once(host).chain(others);
        let candidates = senders.flat_map(|from| candidates(topology, from));
        for way in known.into_iter().chain(candidates) {
            let outer = self.frame(way.from, way.to, number)?;
            let probe = tunnel::wrap(&outer, way.source, &inner)?;
            self.drain();
            let card = &mut self.cards[way.from.index()];
            card.send(&probe);
            card.flush();
            let Some((gate, bare)) = self.arrival()? else {
                continue;
            };
            if self.gates[gate].switch != top {
                continue;
            }
            self.ways.insert((host, top), way);
            let entering = &mut self.gates[gate].entering;
            entering.send(&bare);
            entering.flush();
            return self.returned(host, number);
        }
        Ok(None)
    }

    /// Somebody else, who sends the inner packet by its own account.
    fn other(&self, host: HostId) -> HostId {
        let mut others = self.topology.host_ids();
        others.find(|&other| other != host).unwrap_or(host)
    }

    /// A packet of a flow from one host to another.
    fn frame(&self, from: HostId, to: HostId, number: u16) -> Result<Vec<u8>, EmulateError> {
        let probe = Probe {
            from,
            to,
            class: Some(ClassId::new(0)),
            flow: flow(number),
            ipv6: false,
        };
        let (bytes, ..) = self
            .network
            .packet(&probe)
            .map_err(simulator::simulate::SimulateError::from)?;
        Ok(bytes)
    }

    /// Forgets what has arrived.
    fn drain(&mut self) {
        for socket in self
            .cards
            .iter_mut()
            .chain(self.gates.iter_mut().map(|gate| &mut gate.arriving))
        {
            socket.receive(usize::MAX, |_| {});
            socket.settle();
        }
    }

    /// At which port of a highest switch a packet within a packet arrives, and what was in it.
    fn arrival(&mut self) -> Result<Option<(usize, Vec<u8>)>, EmulateError> {
        let end = Instant::now() + ANSWER_TIMEOUT;
        while Instant::now() < end {
            for (number, gate) in self.gates.iter_mut().enumerate() {
                let mut found = None;
                gate.arriving.receive(usize::MAX, |frame| {
                    found = found.take().or_else(|| tunnel::unwrap(frame));
                });
                if let Some(bare) = found {
                    return Ok(Some((number, bare)));
                }
            }
            self.poller.wait(Some(POLL_INTERVAL))?;
        }
        Ok(None)
    }

    /// The TTL of what comes back to a host.
    fn returned(&mut self, host: HostId, number: u16) -> Result<Option<u8>, EmulateError> {
        let address = self.topology.host(host).ipv4;
        let end = Instant::now() + ANSWER_TIMEOUT;
        while Instant::now() < end {
            let mut found = None;
            self.cards[host.index()].receive(usize::MAX, |frame| {
                found = found.or_else(|| ttl(frame, address, flow(number)));
            });
            if found.is_some() {
                return Ok(found);
            }
            self.poller.wait(Some(POLL_INTERVAL))?;
        }
        Ok(None)
    }
}

/// Outer addresses whose packets climb to the highest layer: from a host to those that are farthest
/// away.
fn candidates(topology: &Topology, host: HostId) -> Vec<ProbePath> {
    let fabric = Fabric::new(topology);
    let home = |host: HostId| match topology.uplinks(host).first()?.1.end.node {
        NodeId::Switch(switch) => Some(switch),
        NodeId::Host(_) => None,
    };
    let Some(own) = home(host) else {
        return Vec::new();
    };
    let hops = fabric.distances(own);
    let far = |other: HostId| home(other).map(|switch| hops[switch.index()]);
    let farthest = topology.host_ids().filter_map(far).max();
    let others: Vec<HostId> = topology
        .host_ids()
        .filter(|&other| far(other) == farthest)
        .collect();
    let way = |number: u8, to: HostId| ProbePath {
        from: host,
        to,
        source: Ipv4Addr::from(u32::from(FIRST_SOURCE) + u32::from(number)),
    };
    let of = |number: u8| others.iter().map(move |&to| (number, to));
    let all = (1..=SOURCES).flat_map(of);
    all.map(|(number, to)| way(number, to)).collect()
}

/// The UDP source port of a flow.
const fn flow(number: u16) -> u16 {
    49_152 + number
}

/// The TTL of a packet to an address, of a flow.
fn ttl(frame: &[u8], to: Ipv4Addr, flow: u16) -> Option<u8> {
    let packet = tunnel::packet(frame)?;
    let ports = wire::headers::udp(packet.payload()).ok()?;
    let mine = packet.get_destination() == to && ports.get_source() == flow;
    mine.then(|| packet.get_ttl())
}

/// What is to fail, as a scenario, in which nobody else sends.
fn scenario(failed: &[String]) -> Result<Scenario, EmulateError> {
    let events = failed
        .iter()
        .map(|link| format!("  - {{ at: 0us, fail: {link} }}\n"));
    let mut text = "name: paths\nduration: 1ms\nflows: [{ pattern: permutation }]\n".to_owned();
    if !failed.is_empty() {
        text += "events:\n";
        text.extend(events);
        text += "  - { at: 0us, reroute: converged }\n";
    }
    Ok(Scenario::from_yaml(&text).map_err(simulator::simulate::SimulateError::from)?)
}

/// The ports of the switches of the highest layer.
fn gates(lab: &Lab, topology: &Topology, tops: &[SwitchId]) -> Result<Vec<Gate>, EmulateError> {
    let mut gates = Vec::new();
    for &top in tops {
        for (port, peer) in topology.peers(top) {
            let NodeId::Switch(below) = peer.end.node else {
                continue;
            };
            let ends = [(top, port), (below, peer.end.port)];
            let [own, other] = ends.map(|(switch, port)| lab.interface(topology, switch, port));
            let (Some(own), Some(other)) = (own, other) else {
                continue;
            };
            let options = PacketOptions::default();
            let (arriving, entering) = lab.in_fabric(|| {
                Ok((
                    PacketSocket::open(own, &options)?,
                    PacketSocket::open(other, &options)?,
                ))
            })?;
            gates.push(Gate {
                switch: top,
                arriving,
                entering,
            });
        }
    }
    Ok(gates)
}

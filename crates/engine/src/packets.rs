//! A packet's way through the network, with what each switch did and the lines of P4 that ran.

use p4gen::family::ProgramFeatures;
use p4gen::program::{self, Program};
use p4gen::targets::V1MODEL;
use plan::ClassId;
use quantities::PortId;
use serde_json::{Value, json};
use simulator::embedded::{Hop, Network, NetworkError, Probe, Reroute, Walk};
use topology::{LinkId, NodeId, SwitchId, Topology};

use crate::headers::headers;
use crate::limits::{MAX_PACKET_BYTES, Trust};
use crate::network::Networks;
use crate::request::{PacketSpec, Routing, TraceRequest};
use crate::{Refusal, value};

/// The source port of packets that do not name theirs.
const USUAL_FLOW: u16 = 49_152;

impl Networks {
    /// Answers `trace`.
    pub(crate) fn trace(&mut self, asked: &TraceRequest) -> Result<Value, Refusal> {
        let trust = self.trust();
        let plan = self.plan_of(&asked.network)?;
        let features = ProgramFeatures::of(&plan);
        let generated = program::generate(features, &V1MODEL.capabilities);
        let mut generated = generated.map_err(Refusal::wrong)?;
        if let Some(text) = &asked.program {
            generated.main.text.clone_from(text);
        }
        let (network, fail, routing) = (&asked.network, &asked.fail, asked.routing);
        let key = format!("{network:?} {fail:?} {routing:?} {:?}", asked.program);
        let program = generated.clone();
        let network = self.network(key, || {
            let network = Network::with_program(plan, program).map_err(refuse)?;
            after(network, fail, routing)
        })?;
        let (from, bytes, switch, port) = packet(network, &asked.packet, trust)?;
        let walk = network.walk(&from, bytes, switch, port).map_err(refuse)?;
        answer(network, &generated, &walk)
    }
}

fn refuse(error: NetworkError) -> Refusal {
    Refusal::wrong(error)
}

/// The network with what has failed.
fn after(network: Network, fail: &[String], routing: Routing) -> Result<Network, Refusal> {
    if fail.is_empty() {
        return Ok(network);
    }
    let links = failed_links(network.topology(), fail)?;
    network
        .after_failures(&links, reacting(routing))
        .map_err(refuse)
}

/// Links by name.
pub(crate) fn failed_links(topology: &Topology, names: &[String]) -> Result<Vec<LinkId>, Refusal> {
    let links = names.iter().map(|name| topology.link_named(name));
    links.map(|link| link.map_err(Refusal::wrong)).collect()
}

/// Who has reacted.
pub(crate) const fn reacting(routing: Routing) -> Reroute {
    match routing {
        Routing::Converged => Reroute::Converged,
        Routing::Local => Reroute::Local,
    }
}

/// What is sent: by whom, the bytes, and where they come in.
fn packet(
    network: &Network,
    spec: &PacketSpec,
    trust: Trust,
) -> Result<(String, Vec<u8>, SwitchId, PortId), Refusal> {
    let topology = network.topology();
    match spec {
        PacketSpec::Hosts {
            from,
            to,
            class,
            lossy,
            flow,
            ipv6,
        } => {
            let probe = Probe {
                from: topology.host_named(from).map_err(Refusal::wrong)?,
                to: topology.host_named(to).map_err(Refusal::wrong)?,
                class: (!lossy).then_some(ClassId::new(*class)),
                flow: flow.unwrap_or(USUAL_FLOW),
                ipv6: *ipv6,
            };
            let (bytes, switch, port) = network.packet(&probe).map_err(refuse)?;
            Ok((from.clone(), bytes, switch, port))
        }
        PacketSpec::Bytes {
            switch,
            port,
            bytes,
        } => {
            let id = topology.switch_named(switch).map_err(Refusal::wrong)?;
            let port = PortId::new(*port);
            let Some(peer) = topology.peer(id, port) else {
                let problem = format!("port {port} of `{switch}` leads nowhere");
                return Err(Refusal::Wrong(problem));
            };
            let from = match peer.end.node {
                NodeId::Host(host) => topology.host(host).name.clone(),
                NodeId::Switch(other) => topology.switch(other).name.clone(),
            };
            Ok((from, read_hex(bytes, trust)?, id, port))
        }
    }
}

/// Reads the bytes of a packet.
pub(crate) fn read_hex(text: &str, trust: Trust) -> Result<Vec<u8>, Refusal> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    trust.at_most("a packet in bytes", MAX_PACKET_BYTES, digits.len() / 2)?;
    let wrong = |what: String| Refusal::Wrong(format!("the packet's bytes: {what}"));
    let digit = |c: &char| {
        let digit = c.to_digit(16);
        digit.ok_or_else(|| wrong(format!("`{c}` is no hexadecimal digit")))
    };
    let digits = digits.iter().map(digit).collect::<Result<Vec<_>, _>>()?;
    if digits.is_empty() || digits.len() % 2 == 1 {
        return Err(wrong(format!(
            "there are {} digits; every byte has two",
            digits.len()
        )));
    }
    let bytes = digits.chunks_exact(2);
    Ok(bytes.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

fn answer(network: &Network, generated: &Program, walk: &Walk) -> Result<Value, Refusal> {
    let names = &network.program().files;
    let topology = network.topology();
    let mut hops = Vec::with_capacity(walk.hops.len());
    for hop in &walk.hops {
        hops.push(one_hop(hop, names, topology)?);
    }
    let files = generated.files();
    let files: Vec<Value> = files
        .map(|file| json!({ "name": file.name, "text": file.text }))
        .collect();
    let mut answer = value(walk)?;
    answer["hops"] = value(hops)?;
    answer["files"] = value(files)?;
    Ok(answer)
}

fn one_hop(hop: &Hop, names: &[String], topology: &topology::Topology) -> Result<Value, Refusal> {
    let shown = |text: &str| -> Result<Value, Refusal> {
        let (headers, payload) = headers(&read_hex(text, Trust::Owner)?);
        Ok(json!({ "headers": headers, "payload": payload }))
    };
    let switch = topology.switch_named(&hop.switch).map_err(Refusal::wrong)?;
    let link = |port| topology.peer(switch, port).map(|peer| peer.link.index());
    let lines = hop.lines.iter().map(|(file, line)| {
        let name = names.get(*file as usize).map_or("", String::as_str);
        (name, line)
    });
    let mut answer = value(hop)?;
    answer["before"] = shown(&hop.bytes_before)?;
    answer["after"] = match &hop.bytes_after {
        Some(bytes) => shown(bytes)?,
        None => Value::Null,
    };
    answer["number"] = value(switch.index())?;
    answer["in_link"] = value(link(hop.in_port))?;
    answer["out_link"] = value(hop.out_port.and_then(link))?;
    answer["lines"] = value(lines.collect::<Vec<_>>())?;
    Ok(answer)
}

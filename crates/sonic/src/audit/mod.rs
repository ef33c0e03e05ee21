//! The audit of a fabric that runs: what its switches' maps, PFC and buffers do to lossless
//! traffic, over the ways that packets may take.
//!
//! | module | looks at |
//! |---|---|
//! | [`links`] | PFC at both ends of cables |
//! | [`buffers`] | headroom, profiles of queues, pools |
//! | [`follow`] | every DSCP from every host on, hop by hop |
//! | [`proof`] | buffers that wait for each other: the maps as tag tables, proven by [`plan::check()`] |

mod buffers;
mod finding;
mod follow;
mod links;
mod proof;

use std::collections::BTreeSet;

use plan::{TagRule, check::Cycle};
use quantities::{Bytes, PortId};
use serde::Serialize;
use topology::{SwitchId, Topology};

pub use finding::{Finding, FindingKind};

use crate::interfaces::interface;
use crate::pipeline::{Pipeline, PortIndex};
use crate::tables::ConfigDb;

/// A fabric with the configurations of its switches.
pub struct Fabric<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The configuration of every switch, in the topology's order.
    pub configs: &'a [ConfigDb],
    /// The largest frame: headroom has to take it.
    pub mtu: Bytes,
}

/// Which ways packets take.
#[derive(Clone, Copy, Debug)]
pub enum Routing<'a> {
    /// Any: every port leads to every port, the same one included.
    Any,
    /// Those turns for which these rules of a tag table have an entry, by switch.
    Turns(&'a [Vec<TagRule>]),
}

/// What an audit shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditReport {
    /// Switches with a configuration.
    pub switches: usize,
    /// Cables between them and to hosts.
    pub links: usize,
    /// The DSCPs that are lossless somewhere, of those that hosts can send.
    pub lossless_dscps: Vec<u8>,
    /// The priorities with PFC somewhere.
    pub lossless_priorities: Vec<u8>,
    /// Whether no buffers can wait for each other in a circle; `null` if that was not computed.
    pub cbd_free: Option<bool>,
    /// Why `cbd_free` is `null`, if it is.
    pub cbd_free_unknown: Option<String>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// A port with its maps, or none where it is not in the configuration.
#[derive(Clone, Copy)]
struct Plug {
    port: PortId,
    index: Option<PortIndex>,
}

/// The switches with their pipelines, and the turns that packets make.
struct View<'a> {
    fabric: &'a Fabric<'a>,
    pipelines: Vec<Pipeline>,
    /// By switch and port number.
    plugs: Vec<Vec<Option<Plug>>>,
    routing: Routing<'a>,
}

impl View<'_> {
    fn new<'a>(fabric: &'a Fabric<'a>, routing: Routing<'a>) -> View<'a> {
        let topology = fabric.topology;
        let pipelines: Vec<Pipeline> = fabric.configs.iter().map(Pipeline::of).collect();
        let plugs = topology
            .switch_ids()
            .zip(&pipelines)
            .map(|(switch, pipeline)| {
                let last = topology.switch(switch).ports;
                let mut plugs = vec![None; usize::from(last) + 1];
                for (port, _) in topology.peers(switch) {
                    let index = pipeline.port(&interface(topology, switch, port));
                    plugs[usize::from(port.get())] = Some(Plug { port, index });
                }
                plugs
            });
        View {
            plugs: plugs.collect(),
            fabric,
            pipelines,
            routing,
        }
    }

    fn config(&self, switch: SwitchId) -> &ConfigDb {
        &self.fabric.configs[switch.index()]
    }

    /// The priorities with PFC of a port.
    fn enabled(&self, switch: SwitchId, port: PortId) -> BTreeSet<u8> {
        let name = interface(self.fabric.topology, switch, port);
        let row = self.config(switch).port_qos.get(&name);
        row.map(|row| row.pfc_enable.clone()).unwrap_or_default()
    }

    fn index(&self, switch: SwitchId, port: PortId) -> Option<PortIndex> {
        let plugs = self.plugs.get(switch.index())?;
        (*plugs.get(usize::from(port.get()))?)?.index
    }

    /// Whether PFC is on for a priority of a port.
    fn pfc(&self, switch: SwitchId, port: PortId, priority: u8) -> bool {
        let index = self.index(switch, port);
        index.is_some_and(|index| self.pipelines[switch.index()].pfc(index, priority))
    }

    /// The priority whose PAUSE stops a queue of a port, if there is one.
    fn pausing(&self, switch: SwitchId, port: PortId, queue: u8) -> impl Iterator<Item = u8> + '_ {
        let pipeline = &self.pipelines[switch.index()];
        let index = self.index(switch, port);
        (0..8u8).filter(move |&priority| {
            index.is_some_and(|index| {
                pipeline.pfc(index, priority) && pipeline.paused_queue(index, priority) == queue
            })
        })
    }

    /// The ports by which packets that came in by a port may leave.
    fn outs(&self, switch: SwitchId, in_port: PortId) -> Vec<PortId> {
        let plugged = self.plugs[switch.index()]
            .iter()
            .flatten()
            .map(|plug| plug.port);
        match self.routing {
            Routing::Any => plugged.collect(),
            Routing::Turns(rules) => {
                let rules = rules.get(switch.index());
                let rules = rules.map_or(&[][..], Vec::as_slice);
                let turns = |out: &PortId| {
                    rules
                        .iter()
                        .any(|r| r.in_ports.contains(in_port) && r.out_ports.contains(*out))
                };
                plugged.filter(turns).collect()
            }
        }
    }

    /// `leaf1:Ethernet4`.
    fn name(&self, switch: SwitchId, port: PortId) -> String {
        let topology = self.fabric.topology;
        let interface = interface(topology, switch, port);
        format!("{}:{interface}", topology.switch(switch).name)
    }
}

/// Audits a fabric.
#[must_use]
pub fn audit(fabric: &Fabric<'_>, routing: Routing<'_>) -> AuditReport {
    let view = View::new(fabric, routing);
    let mut findings = links::findings(&view);
    findings.extend(buffers::findings(&view));
    let followed = follow::follow(&view, &findings);
    findings.extend(followed.findings.iter().cloned());
    let proof = proof::prove(&view, &followed);
    findings.extend(proof.cycle.map(|cycle| cyclic(&view, &cycle)));
    findings.sort();
    findings.dedup();
    let priorities = fabric
        .configs
        .iter()
        .flat_map(|config| config.port_qos.values());
    let priorities = priorities.flat_map(|row| row.pfc_enable.iter().copied());
    let priorities: BTreeSet<u8> = priorities.collect();
    AuditReport {
        switches: fabric.topology.switches().len(),
        links: fabric.topology.links().len(),
        lossless_dscps: followed.lossless_dscps(),
        lossless_priorities: priorities.into_iter().collect(),
        cbd_free: proof.cbd_free,
        cbd_free_unknown: proof.unknown,
        findings,
    }
}

impl AuditReport {
    /// One report of the parts of a fabric that are not connected, each audited by itself. Nothing
    /// waits for anything across them: there is no cycle if there is none in any. Where nothing is
    /// connected at all, nothing is shown.
    #[must_use]
    pub fn of_parts(parts: Vec<Self>) -> Self {
        let mut whole = Self {
            switches: 0,
            links: 0,
            lossless_dscps: Vec::new(),
            lossless_priorities: Vec::new(),
            cbd_free: Some(true),
            cbd_free_unknown: None,
            findings: Vec::new(),
        };
        for part in parts {
            whole.switches += part.switches;
            whole.links += part.links;
            whole.lossless_dscps.extend(part.lossless_dscps);
            whole.lossless_priorities.extend(part.lossless_priorities);
            whole.findings.extend(part.findings);
            whole.cbd_free = match (whole.cbd_free, part.cbd_free) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            whole.cbd_free_unknown = whole.cbd_free_unknown.or(part.cbd_free_unknown);
        }
        if whole.links == 0 {
            let why = "no switch names a neighbour, in DEVICE_NEIGHBOR or by LLDP";
            whole.cbd_free = None;
            whole.cbd_free_unknown = Some(why.to_owned());
        } else if whole.cbd_free.is_some() {
            whole.cbd_free_unknown = None;
        }
        for numbers in [&mut whole.lossless_dscps, &mut whole.lossless_priorities] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        whole.findings.sort();
        whole
    }
}

fn cyclic(view: &View<'_>, cycle: &Cycle) -> Finding {
    let topology = view.fabric.topology;
    let name = |at: &plan::check::Buffer| {
        let switch = topology.switch_named(&at.port.switch);
        let port = switch.map_or_else(
            |_| at.port.to_string(),
            |switch| view.name(switch, at.port.port),
        );
        format!("{port} priority {}", at.tag)
    };
    let buffers: Vec<String> = cycle.buffers.iter().map(name).collect();
    let first = buffers.first().cloned().unwrap_or_default();
    Finding {
        kind: FindingKind::CyclicBuffers,
        place: first.clone(),
        problem: format!("{} -> {first}", buffers.join(" -> ")),
    }
}

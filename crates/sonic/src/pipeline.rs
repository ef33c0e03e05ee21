//! What the maps of a switch do to a packet: DSCP to traffic class and priority group by its ingress port, to queue and new
//! DSCP by its egress port (SonicQos).
//!
//! It is rebuilt from the tables alone, knows no plan, and is what written configurations are compared by and what running
//! ones are audited by.

use std::collections::BTreeMap;

use crate::platform::{HIGHEST_DSCP, HIGHEST_TC};
use crate::tables::{ConfigDb, MapKind};

const DSCPS: usize = HIGHEST_DSCP as usize + 1;
const TCS: usize = HIGHEST_TC as usize + 1;

/// A port of a [`Pipeline`], as its position among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortIndex(usize);

/// The maps of one port. What no map says is 0, and the DSCP stays.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PortMaps {
    dscp_to_tc: [u8; DSCPS],
    tc_to_group: [u8; TCS],
    tc_to_queue: [u8; TCS],
    tc_to_dscp: [Option<u8>; TCS],
    /// By priority: whether PFC is on.
    pfc: [bool; 8],
}

/// An ACL rule with its ports looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    in_ports: Vec<bool>,
    out_ports: Vec<bool>,
    dscp: u8,
    tc: u8,
}

/// What a switch does to packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    names: BTreeMap<String, PortIndex>,
    ports: Vec<PortMaps>,
    /// The first that matches counts.
    rules: Vec<Rule>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Treatment {
    /// The traffic class.
    pub tc: u8,
    /// The priority group that accounts it where it came in.
    pub priority_group: u8,
    /// The queue in which it waits for the wire.
    pub queue: u8,
    /// The DSCP with which it leaves.
    pub dscp: u8,
}

impl Pipeline {
    /// The pipeline of a configuration, with the ports of `PORT` and of `PORT_QOS_MAP`.
    #[must_use]
    pub fn of(config: &ConfigDb) -> Self {
        let all = config.ports.keys().chain(config.port_qos.keys());
        let names: std::collections::BTreeSet<&String> = all.collect();
        let ports = names.iter().map(|name| port_maps(config, name)).collect();
        let names: BTreeMap<String, PortIndex> = names
            .into_iter()
            .cloned()
            .zip((0..).map(PortIndex))
            .collect();
        let mut acl: Vec<_> = config.acl.iter().collect();
        acl.sort_by(|a, b| b.priority.cmp(&a.priority).then(a.name.cmp(&b.name)));
        let rules = acl.into_iter().map(|rule| {
            // A rule that names no ports matches all.
            let matched = |wanted: &std::collections::BTreeSet<String>| {
                let all = wanted.is_empty();
                names
                    .keys()
                    .map(|name| all || wanted.contains(name))
                    .collect()
            };
            Rule {
                in_ports: matched(&rule.in_ports),
                out_ports: matched(&rule.out_ports),
                dscp: rule.dscp,
                tc: rule.tc,
            }
        });
        Self {
            rules: rules.collect(),
            names,
            ports,
        }
    }

    /// The port of this name.
    #[must_use]
    pub fn port(&self, name: &str) -> Option<PortIndex> {
        self.names.get(name).copied()
    }

    /// Whether PFC is on for a priority of a port.
    #[must_use]
    pub fn pfc(&self, port: PortIndex, priority: u8) -> bool {
        let pfc = &self.ports[port.0].pfc;
        pfc.get(usize::from(priority)).copied().unwrap_or_default()
    }

    /// What becomes of a packet with this DSCP.
    #[must_use]
    pub fn treat(&self, in_port: PortIndex, dscp: u8, out_port: PortIndex) -> Treatment {
        let dscp = dscp & HIGHEST_DSCP;
        let (ingress, egress) = (&self.ports[in_port.0], &self.ports[out_port.0]);
        let matches = |rule: &&Rule| {
            rule.dscp == dscp && rule.in_ports[in_port.0] && rule.out_ports[out_port.0]
        };
        let rule = self.rules.iter().find(matches);
        let mapped = ingress.dscp_to_tc[usize::from(dscp)];
        let tc = rule.map_or(mapped, |rule| rule.tc);
        let at = usize::from(tc.min(HIGHEST_TC));
        Treatment {
            tc,
            priority_group: ingress.tc_to_group[at],
            queue: egress.tc_to_queue[at],
            dscp: egress.tc_to_dscp[at].unwrap_or(dscp),
        }
    }

    /// The priority group that accounts a packet where it comes in if no ACL rule matches it.
    #[must_use]
    pub fn arrival(&self, in_port: PortIndex, dscp: u8) -> u8 {
        let ingress = &self.ports[in_port.0];
        let tc = ingress.dscp_to_tc[usize::from(dscp & HIGHEST_DSCP)];
        ingress.tc_to_group[usize::from(tc.min(HIGHEST_TC))]
    }

    /// Whether ACL rules set traffic classes.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }
}

fn port_maps(config: &ConfigDb, name: &str) -> PortMaps {
    let mut maps = PortMaps {
        dscp_to_tc: [0; DSCPS],
        tc_to_group: [0; TCS],
        tc_to_queue: [0; TCS],
        tc_to_dscp: [None; TCS],
        pfc: [false; 8],
    };
    let each = |kind| config.map_of(kind, name).into_iter().flatten();
    for (&dscp, &tc) in each(MapKind::DscpToTc) {
        maps.dscp_to_tc[usize::from(dscp)] = tc;
    }
    for (&tc, &group) in each(MapKind::TcToPriorityGroup) {
        maps.tc_to_group[usize::from(tc)] = group;
    }
    for (&tc, &queue) in each(MapKind::TcToQueue) {
        maps.tc_to_queue[usize::from(tc)] = queue;
    }
    for (&tc, &dscp) in each(MapKind::TcToDscp) {
        maps.tc_to_dscp[usize::from(tc)] = Some(dscp);
    }
    if let Some(row) = config.port_qos.get(name) {
        for &priority in &row.pfc_enable {
            maps.pfc[usize::from(priority)] = true;
        }
    }
    maps
}

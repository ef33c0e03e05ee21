//! What the maps of a switch do to a packet: DSCP to traffic class and priority group by its
//! ingress port, to queue and new DSCP by its egress port (SonicQos).
//!
//! It is rebuilt from the tables alone, knows no plan, and is what written configurations are
//! compared by and what running ones are audited by.

use std::collections::{BTreeMap, BTreeSet};

use crate::platform::{HIGHEST_DSCP, HIGHEST_TC};
use crate::tables::{ConfigDb, MapKind};

/// How many DSCPs there are.
pub const DSCPS: u8 = HIGHEST_DSCP + 1;
/// How many traffic classes there may be.
pub const TCS: u8 = HIGHEST_TC + 1;

/// A port of a [`Pipeline`], as its position among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortIndex(usize);

/// The maps of one port. What no map says is 0, and the DSCP stays.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PortMaps {
    dscp_to_tc: [u8; DSCPS as usize],
    tc_to_group: [u8; TCS as usize],
    tc_to_queue: [u8; TCS as usize],
    tc_to_dscp: [Option<u8>; TCS as usize],
    /// By priority: whether PFC is on, and which queue a PAUSE stops.
    pfc: [bool; 8],
    pfc_to_queue: [u8; 8],
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
        let names: BTreeSet<&String> = all.collect();
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
            let matched = |wanted: &BTreeSet<String>| {
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

    /// The queue of a port that a received PAUSE of a priority stops.
    #[must_use]
    pub fn paused_queue(&self, port: PortIndex, priority: u8) -> u8 {
        self.ports[port.0].pfc_to_queue[usize::from(priority & 7)]
    }

    /// What becomes of a packet with this DSCP. The priority group is that of its traffic class by
    /// DSCP: it is chosen where the packet comes in, before its egress port is known, and so before
    /// an ACL rule sets the class by which queue and new DSCP are chosen.
    #[must_use]
    pub fn treat(&self, in_port: PortIndex, dscp: u8, out_port: PortIndex) -> Treatment {
        let dscp = dscp & HIGHEST_DSCP;
        let egress = &self.ports[out_port.0];
        let mapped = self.class_of(in_port, dscp);
        let tc = self.rule(in_port, dscp, out_port).unwrap_or(mapped);
        let at = usize::from(tc.min(HIGHEST_TC));
        Treatment {
            tc,
            priority_group: self.group_of(in_port, mapped),
            queue: egress.tc_to_queue[at],
            dscp: egress.tc_to_dscp[at].unwrap_or(dscp),
        }
    }

    /// The priority group that accounts a packet where it comes in.
    #[must_use]
    pub fn arrival(&self, in_port: PortIndex, dscp: u8) -> u8 {
        self.group_of(in_port, self.class_of(in_port, dscp))
    }

    /// The traffic class of a DSCP that comes in by a port.
    #[must_use]
    pub fn class_of(&self, in_port: PortIndex, dscp: u8) -> u8 {
        self.ports[in_port.0].dscp_to_tc[usize::from(dscp & HIGHEST_DSCP)]
    }

    /// The priority group of a traffic class that comes in by a port.
    #[must_use]
    pub fn group_of(&self, in_port: PortIndex, tc: u8) -> u8 {
        self.ports[in_port.0].tc_to_group[usize::from(tc & HIGHEST_TC)]
    }

    /// The queue of a traffic class that leaves by a port.
    #[must_use]
    pub fn queue_of(&self, out_port: PortIndex, tc: u8) -> u8 {
        self.ports[out_port.0].tc_to_queue[usize::from(tc & HIGHEST_TC)]
    }

    /// The DSCP with which a traffic class leaves by a port, if it changes there.
    #[must_use]
    pub fn dscp_of(&self, out_port: PortIndex, tc: u8) -> Option<u8> {
        self.ports[out_port.0].tc_to_dscp[usize::from(tc & HIGHEST_TC)]
    }

    /// The traffic class that an ACL rule sets, if one matches.
    #[must_use]
    pub fn rule(&self, in_port: PortIndex, dscp: u8, out_port: PortIndex) -> Option<u8> {
        let matches = |rule: &&Rule| {
            rule.dscp == dscp && rule.in_ports[in_port.0] && rule.out_ports[out_port.0]
        };
        self.rules.iter().find(matches).map(|rule| rule.tc)
    }

    /// Whether ACL rules set traffic classes.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }
}

fn port_maps(config: &ConfigDb, name: &str) -> PortMaps {
    let mut maps = PortMaps {
        dscp_to_tc: [0; DSCPS as usize],
        tc_to_group: [0; TCS as usize],
        tc_to_queue: [0; TCS as usize],
        tc_to_dscp: [None; TCS as usize],
        pfc: [false; 8],
        // Without a map a priority stops the queue of its number.
        pfc_to_queue: [0, 1, 2, 3, 4, 5, 6, 7],
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
    for (&priority, &queue) in each(MapKind::PfcToQueue) {
        maps.pfc_to_queue[usize::from(priority)] = queue;
    }
    if let Some(row) = config.port_qos.get(name) {
        for &priority in &row.pfc_enable {
            maps.pfc[usize::from(priority)] = true;
        }
    }
    maps
}

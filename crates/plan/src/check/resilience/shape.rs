//! What can be said of failover tables without walking a packet.

use std::collections::BTreeSet;

use quantities::PortId;
use topology::{NodeId, SwitchId, Topology};

use crate::check::error::PlanError;
use crate::failover::{Action, Failover, MAX_HOPS, Origin, Output, RuleRef, Ternary, WIDEST};

/// The most trees that a header marks.
const MOST_TREES: u8 = 24;

/// Every reference that leads nowhere: one per switch.
pub(in crate::check) fn shape(topology: &Topology, failover: &Failover) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let switches = topology.switches();
    if failover.tables.len() != switches.len() {
        errors.push(PlanError::RuleLists {
            given: failover.tables.len(),
            switches: switches.len(),
        });
        return errors;
    }
    if usize::from(failover.stack) > MAX_HOPS {
        errors.push(PlanError::Failover {
            place: "failover.stack".to_owned(),
            reason: format!("routes in a header have at most {MAX_HOPS} hops"),
        });
    }
    let mut named = Named::new(topology, failover);
    for (id, table) in topology.switch_ids().zip(&failover.tables) {
        let switch = topology.switch(id);
        for (number, rule) in table.iter().enumerate() {
            let bad = named.missing(id, &rule);
            let bad = bad.or_else(|| action(failover.output, rule.action));
            if let Some(reason) = bad {
                errors.push(PlanError::Failover {
                    place: format!("failover rule {} of switch `{}`", number + 1, switch.name),
                    reason,
                });
                break;
            }
        }
    }
    errors
}

/// What rules refer to: ports of switches, and destinations.
struct Named<'a> {
    topology: &'a Topology,
    failover: &'a Failover,
    /// Sets of codes that are known to have a destination.
    destinations: BTreeSet<(u32, u32)>,
}

impl<'a> Named<'a> {
    const fn new(topology: &'a Topology, failover: &'a Failover) -> Self {
        Self {
            topology,
            failover,
            destinations: BTreeSet::new(),
        }
    }

    /// What a rule of a switch refers to that does not exist. All fields of a rule are named here,
    /// so that a new one cannot be forgotten.
    fn missing(&mut self, switch: SwitchId, rule: &RuleRef<'_>) -> Option<String> {
        let RuleRef {
            destination,
            tag: _,
            tree,
            origin,
            reverse,
            ports,
            action,
        } = rule;
        let (route, new_tree) = match action {
            Action::Drop => (&[][..], None),
            // Channels are among the tags, which are looked up with those of the tag rules.
            Action::Forward { route, write } => (&route[..], write.tree),
        };
        let origin = match origin {
            Origin::Any | Origin::Host => None,
            Origin::Port(port) => Some(*port),
        };
        let mut own = ports.up.iter().chain(ports.down.iter()).chain(origin);
        let came = reverse.hops.iter().map_while(|hop| hop.as_exact());
        let came = came.map(|port| u16::try_from(port).unwrap_or(u16::MAX));
        // Hops beyond the end of a reverse route read 0.
        let came = came.take_while(|port| *port != 0).map(PortId::new);
        let goes = route.iter().map(|port| PortId::new((*port).into()));
        let mut trees = tree.iter().copied().chain(new_tree);
        own.find_map(|port| self.no_port(switch, port))
            .or_else(|| self.along(switch, goes))
            .or_else(|| self.along(switch, came))
            .or_else(|| {
                let most = MOST_TREES;
                let tree = trees.find(|tree| *tree > most)?;
                Some(format!(
                    "there is no tree {tree}; a header marks trees 1 to {most}"
                ))
            })
            .or_else(|| self.no_destination(*destination))
    }

    fn no_port(&self, switch: SwitchId, port: PortId) -> Option<String> {
        let switch = self.topology.switch(switch);
        let known = (1..=switch.ports).contains(&port.get());
        (!known).then(|| {
            format!(
                "there is no port {port}; `{}` has ports 1 to {}",
                switch.name, switch.ports
            )
        })
    }

    /// The first port that does not exist on a way over the links at these ports, as far as they
    /// lead to switches.
    fn along(&self, from: SwitchId, ports: impl Iterator<Item = PortId>) -> Option<String> {
        let mut at = from;
        for port in ports {
            let missing = self.no_port(at, port);
            if missing.is_some() {
                return missing;
            }
            match self.topology.peer(at, port)?.end.node {
                NodeId::Switch(next) => at = next,
                NodeId::Host(_) => return None,
            }
        }
        None
    }

    fn no_destination(&mut self, asked: Ternary) -> Option<String> {
        let key = (asked.value(), asked.mask());
        if asked.is_any() || self.destinations.contains(&key) {
            return None;
        }
        let all = &self.failover.destinations;
        let found = match asked.as_exact() {
            Some(code) => all.binary_search_by_key(&code, |to| to.code).is_ok(),
            None => all.iter().any(|to| asked.matches(to.code)),
        };
        if found {
            self.destinations.insert(key);
            return None;
        }
        Some(format!(
            "its `dst` {asked} is no destination's code; name one of `destinations`"
        ))
    }
}

fn action(output: Output, action: &Action) -> Option<String> {
    let Action::Forward { route, .. } = action else {
        return None;
    };
    let Some(&first) = route.first() else {
        return Some("it forwards by no port; give one, or drop".to_owned());
    };
    if u16::from(first) > WIDEST.get() {
        return Some(format!(
            "port {first} is beyond the port status, which ends at {WIDEST}"
        ));
    }
    (output == Output::HopByHop && route.len() > 1)
        .then(|| "it puts out a route, but the plan says `hop-by-hop`; set `output`".to_owned())
}

//! A plan in between: on a network that has the cables of both plans, it promises the routes of
//! both. So forwarding can change while its rules alone are in force.

use std::collections::{BTreeMap, BTreeSet};

use plan::Tables;
use topology::routes::{RoutePolicy, RouteSet};
use topology::{Endpoint, Link, NodeId, Topology};

use crate::{Algorithm, ClassSpec, TaggerOptions, tagger};

/// The most routes that a plan in between is made for: they are listed one by one.
const MOST_ROUTES: usize = 100_000;

/// A plan that promises the routes of two plans. Nothing where the networks contradict each other,
/// where the routes are too many, or where the classes differ.
pub(super) fn between(old: &Tables, new: &Tables) -> Option<Tables> {
    let names = |plan: &Tables| -> Vec<String> {
        let classes = plan.tagging.classes.iter();
        classes.map(|class| class.name.clone()).collect()
    };
    if names(old) != names(new) || old.tagging.class_bits != new.tagging.class_bits {
        return None;
    }
    let network = joined(&old.topology, &new.topology)?;
    let mut routes = BTreeSet::new();
    for plan in [old, new] {
        for promise in &plan.promises {
            list(plan, &promise.routes, &mut routes)?;
        }
    }
    let options = TaggerOptions {
        algorithm: Some(Algorithm::SingleValued),
        routes: Some(RoutePolicy::Explicit {
            routes: routes.into_iter().collect(),
        }),
        classes: names(new)
            .into_iter()
            .map(|name| ClassSpec {
                name,
                bounces: None,
            })
            .collect(),
        class_bits: new.tagging.class_bits,
        carrier: new.carrier.kind,
        form: new.tagging.form,
        budget: new.budget.clone(),
        ..TaggerOptions::default()
    };
    tagger(&network, &options).ok()
}

/// Lists the routes of a policy as lines of a route file; nothing if they are too many.
fn list(plan: &Tables, policy: &RoutePolicy, lines: &mut BTreeSet<String>) -> Option<()> {
    let network = &plan.topology;
    let set = RouteSet::new(network, policy.clone()).ok()?;
    for route in set.routes() {
        let mut line = network.host(route.source).name.clone();
        for hop in &route.hops {
            let name = &network.switch(hop.switch).name;
            line.push_str(&format!(" {name}:{}", hop.out_port));
        }
        line.push(' ');
        line.push_str(&network.host(route.destination).name);
        lines.insert(line);
        if lines.len() > MOST_ROUTES {
            return None;
        }
    }
    Some(())
}

/// The network with the switches, hosts and cables of both; nothing if they join a port to two
/// others.
fn joined(old: &Topology, new: &Topology) -> Option<Topology> {
    let mut switches = old.switches().to_vec();
    for switch in new.switches() {
        match switches.iter_mut().find(|known| known.name == switch.name) {
            Some(known) => known.ports = known.ports.max(switch.ports),
            None => switches.push(switch.clone()),
        }
    }
    let mut hosts = old.hosts().to_vec();
    for host in new.hosts() {
        if hosts.iter().all(|known| known.name != host.name) {
            hosts.push(host.clone());
        }
    }
    let places = |names: Vec<&str>| -> BTreeMap<String, u32> {
        names.into_iter().map(str::to_owned).zip(0..).collect()
    };
    let by_switch = places(switches.iter().map(|s| s.name.as_str()).collect());
    let by_host = places(hosts.iter().map(|h| h.name.as_str()).collect());
    let mut links: Vec<Link> = old.links().to_vec();
    let mut taken: BTreeMap<Endpoint, Endpoint> = BTreeMap::new();
    for link in &links {
        taken.insert(link.a, link.b);
        taken.insert(link.b, link.a);
    }
    for link in new.links() {
        let end = |end: Endpoint| {
            let node = match end.node {
                NodeId::Switch(id) => {
                    let place = by_switch.get(&new.switch(id).name)?;
                    NodeId::Switch(topology::SwitchId::new(*place))
                }
                NodeId::Host(id) => {
                    let place = by_host.get(&new.host(id).name)?;
                    NodeId::Host(topology::HostId::new(*place))
                }
            };
            Some(Endpoint { node, ..end })
        };
        let (a, b) = (end(link.a)?, end(link.b)?);
        match (taken.get(&a), taken.get(&b)) {
            (Some(other), _) if *other == b => {}
            (None, None) => links.push(Link {
                a,
                b,
                ..link.clone()
            }),
            _ => return None,
        }
    }
    Topology::new(new.name().to_owned(), switches, hosts, links).ok()
}

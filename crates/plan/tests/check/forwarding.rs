//! Where the plan's own forwarding turns lossy, against brute force: every packet between two
//! hosts, by every next hop.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plan::check::{Options, check};
use plan::{ClassId, NewTag, Tables, Tag};
use quantities::PortId;
use schemes::{Algorithm, TaggerOptions, tagger};
use topology::generate::{Bcube, Cables, Clos, Ring};
use topology::routes::RoutePolicy;
use topology::routes::forwarding::{Forwarding, Reroute};
use topology::{HostId, NodeId, SwitchId, Topology};

/// The topology with some links down.
fn without(topology: &Topology, down: &[usize]) -> Topology {
    let mut json: serde_json::Value = serde_json::from_str(&topology.to_json()).unwrap();
    for link in down {
        json["links"][link]["up"] = false.into();
    }
    Topology::from_json(&json.to_string()).unwrap()
}

/// Whether a packet from a port turns lossy on some way to a host.
fn strays(
    tables: &Tables,
    forwarding: &Forwarding,
    class: ClassId,
    (switch, port): (SwitchId, PortId),
    to: HostId,
) -> bool {
    let topology = &tables.topology;
    let host = topology.host(to);
    let initial = tables.tagging.classes[class.index()].initial;
    let mut seen: BTreeSet<(SwitchId, PortId, Tag)> = BTreeSet::new();
    let mut open = vec![(switch, port, initial)];
    while let Some((at, in_port, tag)) = open.pop() {
        for address in [IpAddr::V4(host.ipv4), IpAddr::V6(host.ipv6)] {
            for hop in forwarding.switch(at).lookup(address) {
                let NewTag::Lossless(new) =
                    tables.tagging.new_tag(at, class, tag, in_port, hop.port)
                else {
                    return true;
                };
                let far = topology.peer(at, hop.port).unwrap().end;
                if let NodeId::Switch(next) = far.node
                    && seen.insert((next, far.port, new))
                {
                    open.push((next, far.port, new));
                }
            }
        }
    }
    false
}

/// The pairs of switches between whose hosts something turns lossy, and how many pairs there are.
fn brute(tables: &Tables) -> (BTreeSet<(usize, String, String)>, u64) {
    let topology = &tables.topology;
    let forwarding = Forwarding::new(topology, &tables.forwarding, Reroute::Converged).unwrap();
    let homes: Vec<(HostId, SwitchId, PortId)> = topology
        .host_ids()
        .map(|host| {
            let (_, peer) = topology.uplinks(host)[0];
            let NodeId::Switch(switch) = peer.end.node else {
                panic!("a host at a host");
            };
            (host, switch, peer.end.port)
        })
        .collect();
    let mut lossy = BTreeSet::new();
    let mut pairs = BTreeSet::new();
    for class in 0..tables.tagging.classes.len() {
        for (_, from, port) in &homes {
            for (to, at, _) in homes.iter().filter(|(_, at, _)| at != from) {
                let name = |switch: SwitchId| topology.switch(switch).name.clone();
                let pair = (class, name(*from), name(*at));
                let id = ClassId::new(u8::try_from(class).unwrap());
                if strays(tables, &forwarding, id, (*from, *port), *to) {
                    lossy.insert(pair.clone());
                }
                pairs.insert(pair);
            }
        }
    }
    (lossy, pairs.len() as u64)
}

fn compare(tables: Tables) -> usize {
    let (lossy, pairs) = brute(&tables);
    let names: Vec<String> = tables
        .tagging
        .classes
        .iter()
        .map(|c| c.name.clone())
        .collect();
    let plan = check(tables, &Options::default()).unwrap();
    let found = plan.report().forwarding.unwrap();
    assert_eq!((found.pairs, found.lossy), (pairs, lossy.len() as u64));
    let told = found.lossy_ways.into_iter().map(|way| {
        let class = names.iter().position(|name| *name == way.class).unwrap();
        (class, way.switches[0].clone(), way.to)
    });
    assert_eq!(told.collect::<BTreeSet<_>>(), lossy);
    lossy.len()
}

#[test]
fn strays_are_those_of_brute_force() {
    let cables = Cables::default();
    let bcube = Bcube { n: 2, k: 2, cables }.generate().unwrap();
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables,
    };
    let clos = clos.generate().unwrap();
    let ring = Ring {
        switches: 5,
        hosts: 1,
        cables,
    };
    let ring = ring.generate().unwrap();
    let mut strayed = 0;
    for (topology, routes, bounces) in [
        (&bcube, Some(RoutePolicy::BcubeDigit), 0),
        (&clos, None, 0),
        (&clos, None, 1),
        (&ring, None, 0),
    ] {
        for down in 0..topology.links().len() {
            // A host without a link is no host.
            let link = topology.link(topology.link_ids().nth(down).unwrap());
            if [link.a, link.b]
                .iter()
                .any(|end| matches!(end.node, NodeId::Host(_)))
            {
                continue;
            }
            for classes in [1, 2] {
                let options = TaggerOptions {
                    routes: routes.clone(),
                    bounces,
                    algorithm: routes.is_some().then_some(Algorithm::SingleValued),
                    ..TaggerOptions::default()
                };
                let options = options.with_classes(classes);
                let topology = without(topology, &[down]);
                strayed += compare(tagger(&topology, &options).unwrap());
            }
        }
    }
    assert!(strayed > 50, "{strayed}");
}

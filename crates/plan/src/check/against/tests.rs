//! Plans on networks that were cabled otherwise.
#![allow(clippy::unwrap_used)]

use quantities::BitRate;
use schemes::TaggerOptions;
use topology::difference::MatchBy;
use topology::generate::{Cables, Clos};
use topology::{Endpoint, Link, LinkId};

use super::*;

/// Four leaves with two hosts each (ports 1 and 2), two spines (ports 3 and 4 of leaves).
fn clos() -> Topology {
    let clos = Clos {
        leaves: 4,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    clos.generate().unwrap()
}

/// Tables that a scheme made. They come through a file: the crate that schemes know is not the one
/// under test.
fn plan() -> Tables {
    let tables = schemes::tagger(&clos(), &TaggerOptions::default()).unwrap();
    Tables::from_json(&tables.to_json()).unwrap()
}

fn with_links(change: impl FnOnce(&Topology, &mut Vec<Link>)) -> Topology {
    let base = clos();
    let mut links = base.links().to_vec();
    change(&base, &mut links);
    let (switches, hosts) = (base.switches().to_vec(), base.hosts().to_vec());
    Topology::new("cabled".to_owned(), switches, hosts, links).unwrap()
}

/// Exchanges the second ends of two links, named as `leaf1-spine1`.
fn exchanged(first: &str, second: &str) -> Topology {
    with_links(|base, links| {
        let [x, y] = [first, second].map(|name| base.link_named(name).unwrap().index());
        let far: [Endpoint; 2] = [links[x].b, links[y].b];
        links[x].b = far[1];
        links[y].b = far[0];
    })
}

fn judged(network: &Topology) -> (CheckReport, AgainstReport) {
    let against = Against::new(plan(), network).unwrap();
    let outcome = against.check(&Options::default());
    against.conclude(outcome)
}

#[test]
fn the_plan_holds_on_its_own_network() {
    let (report, about) = judged(&clos());
    assert!(about.equal && about.holds && report.proven, "{about:?}");
    assert!(about.entries.is_empty() && about.broken.is_empty());
}

#[test]
fn two_exchanged_cables_are_not_proven() {
    let (report, about) = judged(&exchanged("leaf1-spine1", "leaf2-spine1"));
    assert_eq!(report.verdict, Verdict::Refuted);
    assert!(!about.holds && !report.proven);
    assert_eq!(about.difference.items.len(), 1, "{}", about.difference);
    let misled = |switch: &str, port| {
        let own = about.entries.iter().filter(|e| e.port.switch == switch);
        let mut own = own.filter(|e| e.port.port.get() == port);
        own.next().cloned().unwrap()
    };
    let first = misled("spine1", 1);
    assert_eq!(first.port.planned.as_deref(), Some("leaf1"));
    assert_eq!(first.port.actual.as_deref(), Some("leaf2"));
    assert_eq!(
        (first.destinations, &first.first[..]),
        (2, &["h1".to_owned(), "h2".to_owned()][..])
    );
    assert_eq!(about.entries.len(), 2, "{:?}", about.entries);
    // A packet that comes to the wrong leaf goes up again.
    let said = about.broken.join("\n");
    assert!(
        said.contains("circulate") || said.contains("dropped"),
        "{said}"
    );
}

#[test]
fn exchanged_uplinks_of_one_leaf_are_harmless() {
    // Leaves send up by either port, and both spines still reach the leaf by the planned ports.
    let network = with_links(|base, links| {
        let [x, y] = ["leaf1-spine1", "leaf1-spine2"].map(|n| base.link_named(n).unwrap().index());
        let near: [Endpoint; 2] = [links[x].a, links[y].a];
        links[x].a = near[1];
        links[y].a = near[0];
    });
    let (report, about) = judged(&network);
    assert!(
        !about.equal && about.holds && report.proven,
        "{:?}",
        about.broken
    );
    assert_eq!(about.entries.len(), 2);
    assert!(about.tag_rules.iter().all(|rules| rules.turned.is_empty()));
}

#[test]
fn exchanged_hosts_are_not_proven() {
    let (_, about) = judged(&exchanged("leaf1-h1", "leaf1-h2"));
    assert!(!about.holds);
    assert!(
        about.broken.iter().any(|line| line.contains("dropped")),
        "{:?}",
        about.broken
    );
}

#[test]
fn links_that_are_down_are_a_state_of_the_plan() {
    let base = clos();
    let down: Vec<LinkId> = ["leaf1-spine1", "leaf2-spine2"]
        .map(|name| base.link_named(name).unwrap())
        .into();
    let network = base.with_failed_links(&down);
    let (report, about) = judged(&network);
    assert!(about.holds && report.proven, "{:?}", about.broken);
    assert!(!about.equal && about.difference.items.iter().all(Item::is_state));
    let stranded = about.stranded.unwrap();
    assert_eq!(stranded.switches, ["spine1", "spine2"]);
    // The same figures as of a plan whose own network is in that state.
    let mut moved = plan();
    moved.topology = network;
    let own = crate::check(moved, &Options::default()).unwrap().report();
    assert_eq!(report, own);
}

#[test]
fn a_missing_cable_loses_packets() {
    let network = with_links(|base, links| {
        links.remove(base.link_named("leaf1-spine1").unwrap().index());
    });
    let (_, about) = judged(&network);
    let said = about.broken.join("\n");
    assert!(
        !about.holds && said.contains("dropped at `spine1`"),
        "{said}"
    );
}

#[test]
fn cables_that_are_faster_need_more_headroom() {
    let faster = |factor: u64| {
        with_links(|_, links| {
            for link in links {
                link.rate = BitRate::new(link.rate.get() * factor / 2);
            }
        })
    };
    let (_, about) = judged(&faster(8));
    assert!(!about.holds);
    let ports = clos()
        .links()
        .iter()
        .filter(|l| matches!(l.b.node, NodeId::Host(_)))
        .count();
    assert_eq!(
        about.headroom.len(),
        ports + 2 * (clos().links().len() - ports)
    );
    let (report, about) = judged(&faster(1));
    assert!(
        about.holds && report.proven && about.headroom.is_empty(),
        "{:?}",
        about.broken
    );
}

#[test]
fn a_cable_between_leaves_turns_tag_rules() {
    // The spine port of one leaf goes to another leaf.
    let network = with_links(|base, links| {
        let x = base.link_named("leaf1-spine1").unwrap().index();
        let y = base.link_named("leaf2-spine2").unwrap().index();
        let (a, b) = (links[x].b, links[y].a);
        links[x].b = b;
        links[y].a = a;
    });
    let (report, about) = judged(&network);
    assert!(!about.holds && !report.proven);
    let turned = |name: &str| {
        about
            .tag_rules
            .iter()
            .any(|r| r.switch == name && !r.turned.is_empty())
    };
    assert!(turned("leaf1") && turned("leaf2"), "{:?}", about.tag_rules);
}

#[test]
fn a_switch_that_the_plan_does_not_have_is_not_proven() {
    let base = clos();
    let mut switches = base.switches().to_vec();
    switches.iter_mut().for_each(|switch| switch.ports += 1);
    let mut other = switches[5].clone();
    other.name = "core9".to_owned();
    other.subnet = None;
    switches.push(other);
    let mut links = base.links().to_vec();
    let end = |node: u32, port: u16| Endpoint {
        node: NodeId::Switch(SwitchId::new(node)),
        port: quantities::PortId::new(port),
    };
    let like = links[0].clone();
    links.push(Link {
        a: end(0, 5),
        b: end(6, 1),
        ..like
    });
    let network = Topology::new("n".to_owned(), switches, base.hosts().to_vec(), links).unwrap();
    let (_, about) = judged(&network);
    assert!(!about.holds);
    assert!(
        about
            .broken
            .iter()
            .any(|line| line.contains("`core9` is not in the plan")),
        "{:?}",
        about.broken
    );
}

#[test]
fn ports_that_are_numbered_otherwise_are_matched_by_name() {
    let named = |shift: u16| {
        let base = clos();
        let mut switches = base.switches().to_vec();
        for switch in &mut switches {
            let names = (1..=switch.ports)
                .map(|p| (quantities::PortId::new(p + shift), format!("Ethernet{p}")));
            switch.interfaces = names.collect();
            switch.ports += shift;
        }
        let moved = |end: Endpoint| match end.node {
            NodeId::Switch(_) => Endpoint {
                port: quantities::PortId::new(end.port.get() + shift),
                ..end
            },
            NodeId::Host(_) => end,
        };
        let links = base.links().iter().map(|link| Link {
            a: moved(link.a),
            b: moved(link.b),
            ..link.clone()
        });
        Topology::new(
            "n".to_owned(),
            switches,
            base.hosts().to_vec(),
            links.collect(),
        )
        .unwrap()
    };
    let mut plan = plan();
    plan.topology = named(0);
    let against = Against::new(plan, &named(60)).unwrap();
    let (report, about) = against.conclude(against.check(&Options::default()));
    assert!(about.equal && report.proven, "{}", about.difference);
}

#[test]
fn a_network_without_the_plans_switches_is_refused() {
    let base = clos();
    let mut switches = base.switches().to_vec();
    for switch in &mut switches {
        switch.name = format!("x-{}", switch.name);
    }
    let network = Topology::new(
        "n".to_owned(),
        switches,
        base.hosts().to_vec(),
        base.links().to_vec(),
    )
    .unwrap();
    let refused = Against::new(plan(), &network).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("none of the plan's switches (leaf1, ...)")
    );
    let structure = Comparison::new(&base, &network, MatchBy::Structure);
    assert_eq!(structure.matched_switches(), 6);
}

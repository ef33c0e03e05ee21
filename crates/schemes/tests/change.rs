//! Changes between plans of a network before and after one of its links is gone.

use plan::Tables;
use plan::check::Options;
use plan::check::change::{Change, check};
use schemes::{LossyChange, Means, TaggerOptions, find_change, tagger};
use topology::generate::{Cables, Jellyfish, JellyfishSize};
use topology::{LinkId, NodeId, Topology};

fn jellyfish(seed: u64) -> Topology {
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 20,
            fabric_ports: 4,
        },
        ports: 8,
        seed,
        cables: Cables::default(),
    };
    jellyfish.generate().expect("a network")
}

/// The network without its first link between switches.
fn without_a_link(network: &Topology) -> Topology {
    let switches = |link: &LinkId| {
        let link = network.link(*link);
        [link.a, link.b]
            .iter()
            .all(|end| matches!(end.node, NodeId::Switch(_)))
    };
    let link = network.link_ids().find(switches).expect("a link");
    let links = network.link_ids().filter(|id| *id != link);
    let links = links.map(|id| network.link(id).clone()).collect();
    let (switches, hosts) = (network.switches().to_vec(), network.hosts().to_vec());
    Topology::new(network.name().to_owned(), switches, hosts, links).expect("a network")
}

fn plan(network: &Topology) -> Tables {
    tagger(network, &TaggerOptions::default()).expect("a plan")
}

#[test]
fn plans_one_link_apart_are_joined_by_proven_steps() {
    let mut means = [0; 5];
    for seed in 11..=14 {
        let network = jellyfish(seed);
        let (old, new) = (plan(&network), plan(&without_a_link(&network)));
        let found = find_change(&old, &new, &Options::default(), LossyChange::Never);
        let found = found.unwrap_or_else(|no| panic!("seed {seed}: {no}"));
        means[found.means as usize] += 1;
        let text = found.change.to_json();
        let read = Change::from_json(&text).expect("a change file");
        assert_eq!(read, found.change);
        let proven = check(read, &Options::default()).expect("it is proven from its file alone");
        assert!(proven.report().proven);
    }
    println!("by means: {means:?}");
    // What the plan in between is for: neither plan keeps the routes of the other lossless.
    assert!(means[Means::PlanBetween as usize] > 0, "{means:?}");
}

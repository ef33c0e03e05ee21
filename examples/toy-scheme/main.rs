//! A scheme in one file, to begin a scheme with: lossless packets keep to a spanning tree.
//!
//! A tree of links has no cycle, so buffers along it cannot wait on each other in a circle, if no
//! packet leaves by the port by which it came. One tag and one lossless priority suffice. Whatever
//! leaves the tree turns lossy. CONTRIBUTING.md says which files a scheme of the command has beside
//! this function.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;

use plan::check::{Options, check};
use plan::{
    Budget, Carrier, CarrierKind, Class, NewTag, PortSet, Provenance, RuleForm, Tables, Tag,
    TagRule, Tagging,
};
use quantities::{PortId, Priority};
use topology::generate::{Cables, Jellyfish, JellyfishSize};
use topology::routes::RoutePolicy;
use topology::{LinkId, NodeId, SwitchId, Topology};

/// The only tag.
const TAG: Tag = Tag::new(1);

/// The scheme: routes in, tables out. It is pure, and proves nothing.
fn tree(topology: &Topology) -> Tables {
    let links = spanning_tree(topology);
    let rules = |switch| {
        let peers = topology.peers(switch);
        let on_tree =
            peers.filter(|(_, peer)| is_host(peer.end.node) || links.contains(&peer.link));
        rules(&on_tree.map(|(port, _)| port).collect::<Vec<_>>())
    };
    Tables {
        provenance: Provenance::ours("toy-tree", ""),
        tagging: Tagging {
            classes: vec![Class {
                name: "lossless".to_owned(),
                initial: TAG,
                limit: None,
            }],
            class_bits: false,
            priorities: BTreeMap::from([(TAG, Priority::new(1))]),
            form: RuleForm::PortSets,
            rules: topology.switch_ids().map(rules).collect(),
        },
        carrier: Carrier::numbered(CarrierKind::Dscp, [TAG], false),
        promises: vec![],
        forwarding: RoutePolicy::Shortest,
        failover: None,
        budget: Budget::default(),
        topology: topology.clone(),
    }
}

fn is_host(node: NodeId) -> bool {
    matches!(node, NodeId::Host(_))
}

/// The links by which a breadth-first search from the first switch reaches every other.
fn spanning_tree(topology: &Topology) -> BTreeSet<LinkId> {
    let mut links = BTreeSet::new();
    let mut seen: BTreeSet<SwitchId> = topology.switch_ids().take(1).collect();
    let mut queue: VecDeque<SwitchId> = seen.iter().copied().collect();
    while let Some(switch) = queue.pop_front() {
        for (_, peer) in topology.peers(switch) {
            if let NodeId::Switch(next) = peer.end.node
                && seen.insert(next)
            {
                links.insert(peer.link);
                queue.push_back(next);
            }
        }
    }
    links
}

/// A switch keeps the tag of packets that come by one of these ports and leave by another.
fn rules(ports: &[PortId]) -> Vec<TagRule> {
    let rule = |&port: &PortId| TagRule {
        precedence: 0,
        class: None,
        tag: TAG,
        in_ports: PortSet::single(port),
        out_ports: ports
            .iter()
            .copied()
            .filter(|other| *other != port)
            .collect(),
        new_tag: NewTag::Lossless(TAG),
    };
    ports.iter().map(rule).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 20,
            fabric_ports: 4,
        },
        ports: 6,
        seed: 1,
        cables: Cables::default(),
    };
    let plan = check(tree(&jellyfish.generate()?), &Options::default())?;
    let report = plan.report();
    println!(
        "{}: cyclic buffer dependency: {}, lossless priorities: {}",
        plan.tables().provenance.scheme,
        if report.cbd_free == Some(true) {
            "none"
        } else {
            "not excluded"
        },
        report.lossless_priorities
    );
    Ok(())
}

//! Failover plans with lossless tags as programs: at every switch a packet gets the tag and the priorities that the plan's rules say,
//! whatever has failed, and what arrives was lossless on its whole way.

use netsim::embedded::{Fleet, Network, Probe, TrailEnd, WalkEnd};
use plan::check::Options;
use plan::{CarrierKind, CheckedPlan, ClassId, LOSSY_PRIORITY, RuleForm, TagCode, check};
use schemes::TaggerOptions;
use schemes::failover::{FailoverOptions, Method, lossless_failover};
use topology::generate::{Cables, FatTree, Jellyfish, JellyfishSize, ThreeNode};
use topology::routes::forwarding::Reroute;
use topology::{LinkId, NodeId, Topology};

use super::variants;

const CLASS: ClassId = ClassId::new(0);

fn lossless_plan(topology: &Topology, options: &FailoverOptions, form: RuleForm) -> CheckedPlan {
    let tags = TaggerOptions {
        carrier: CarrierKind::Shim,
        form,
        ..TaggerOptions::default()
    };
    let tables = lossless_failover(topology, options, Method::Rising, &tags).unwrap();
    check(tables, &Options::default()).unwrap()
}

/// Networks, and how many disjoint trees each has.
fn topologies() -> [(Topology, u8); 3] {
    let cables = Cables::default();
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 8,
            fabric_ports: 4,
        },
        ports: 5,
        seed: 3,
        cables,
    };
    [
        (ThreeNode { cables }.generate().unwrap(), 1),
        (FatTree { k: 4, cables }.generate().unwrap(), 1),
        (jellyfish.generate().unwrap(), 2),
    ]
}

/// Links between switches.
fn fabric_links(topology: &Topology) -> Vec<LinkId> {
    let between = |link: &LinkId| {
        let link = topology.link(*link);
        matches!(
            (link.a.node, link.b.node),
            (NodeId::Switch(_), NodeId::Switch(_))
        )
    };
    topology.link_ids().filter(between).collect()
}

/// Walks a packet of class 0, and one that is lossy, between some hosts; how many hops were looked at, and the highest tag.
fn walks(plan: &CheckedPlan, failed: &[LinkId]) -> (usize, u16) {
    let topology = plan.topology();
    let network = Network::of(plan.clone()).unwrap();
    let mut network = network.after_failures(failed, Reroute::Converged).unwrap();
    let (mut hops, mut highest) = (0, 0);
    let hosts: Vec<_> = topology.host_ids().collect();
    for (at, &from) in hosts.iter().enumerate() {
        for to in [hosts[(at + 1) % hosts.len()], hosts[(at + 5) % hosts.len()]] {
            for class in [Some(CLASS), None].into_iter().filter(|_| from != to) {
                let probe = Probe {
                    from,
                    to,
                    class,
                    flow: 9,
                    ipv6: at % 2 == 0,
                };
                let (bytes, switch, port) = network.packet(&probe).unwrap();
                let walk = network.walk("h", bytes, switch, port).unwrap();
                let host = topology.host(to).name.clone();
                assert_eq!(walk.end, WalkEnd::Delivered { host }, "{failed:?}");
                let classes = plan.tagging().classes.iter();
                let initial = classes.map(|class| class.initial).next().unwrap();
                let mut tag = class.map(|_| initial);
                for hop in &walk.hops {
                    let switch = topology.switch_named(&hop.switch).unwrap();
                    let out = hop.out_port.unwrap();
                    let said = tag.map(|tag| plan.classify(switch, CLASS, tag, hop.in_port, out));
                    let (ingress, egress) =
                        said.map_or((LOSSY_PRIORITY, LOSSY_PRIORITY), |s| (s.ingress, s.egress));
                    assert_eq!((hop.ing_prio, hop.eg_prio), (ingress, egress), "{hop:?}");
                    tag = said.and_then(|said| said.new_tag.tag());
                    assert_eq!(
                        tag.is_some(),
                        class.is_some(),
                        "lossless to the end: {hop:?}"
                    );
                    if let Some(code) = hop.code_after {
                        let codes = &plan.carrier().codes;
                        let expected = tag.map_or(plan.carrier().lossy, |tag| codes[&tag]);
                        assert_eq!(TagCode::new(code), expected, "{hop:?}");
                        highest = highest.max(code);
                    }
                    hops += 1;
                }
            }
        }
    }
    (hops, highest)
}

/// Compiled code takes the same ways.
fn compiled(plan: &CheckedPlan, failed: &[LinkId]) {
    let topology = plan.topology();
    let mut fleet = Fleet::of(plan.clone()).unwrap();
    fleet.set_failed(failed);
    let hosts: Vec<_> = topology.host_ids().collect();
    let pairs = hosts.iter().zip(hosts.iter().cycle().skip(1));
    let pairs: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
    let probes: Vec<_> = pairs
        .iter()
        .map(|(from, to)| fleet.probe(**from, **to, b"x").unwrap())
        .collect();
    for ((_, to), trail) in pairs.iter().zip(fleet.send(&probes)) {
        assert!(
            matches!(&trail.end, TrailEnd::Host(host, _) if host == *to),
            "{trail:?}"
        );
    }
}

#[test]
fn packets_keep_the_tags_that_the_plan_says_whatever_has_failed() {
    let (mut hops, mut highest) = (0, 0);
    for (topology, trees) in topologies() {
        let links = fabric_links(&topology);
        for (number, (name, mut options)) in variants().into_iter().enumerate() {
            if options.scheme.by_trees() {
                options.trees = Some(trees);
            }
            let form = [RuleForm::Exact, RuleForm::PortSets][number % 2];
            let plan = lossless_plan(&topology, &options, form);
            let survives = options.trees != Some(1);
            let failed = links.iter().step_by(7).map(std::slice::from_ref);
            for failed in failed.take(if survives { 3 } else { 0 }).chain([&[][..]]) {
                let (walked, tag) = walks(&plan, failed);
                assert!(walked > 0, "{name}");
                compiled(&plan, failed);
                hops += walked;
                highest = highest.max(tag);
            }
        }
    }
    assert!(hops > 5000 && highest > 0, "{hops} hops, tags to {highest}");
}

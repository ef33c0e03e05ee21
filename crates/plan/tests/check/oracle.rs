//! The proof against brute force: on small networks with random rules every packet walk is
//! enumerated, with no code in common with the proof but the definition of what a rule says.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use plan::check::*;
use plan::{
    Budget, Carrier, CarrierKind, Class, ClassId, NewTag, PortSet, Promise, Provenance, RuleForm,
    Tables, Tag, TagRule, Tagging,
};
use proptest::prelude::*;
use quantities::{BitRate, Metres, PortId, Priority};
use schemes::{Algorithm, Search, TaggerOptions, tagger};
use topology::generate::{Cables, Clos, Ring, ThreeNode};
use topology::routes::{RoutePolicy, RouteSet};
use topology::{Endpoint, Host, HostId, Link, NodeId, Role, Switch, SwitchId, Topology};

/// A packet that has just come into a switch.
type State = (ClassId, Tag, SwitchId, PortId);

/// A lossless ingress buffer.
type Node = (SwitchId, PortId, Tag);

/// What brute force finds.
#[derive(Debug, PartialEq, Eq)]
struct Truth {
    /// Length of a shortest cycle.
    cycle: Option<usize>,
    /// Whether a tag falls somewhere.
    falls: bool,
    /// Whether rules of one precedence disagree.
    conflict: bool,
    /// Whether a promised route turns lossy.
    lost: bool,
}

/// Enumerates all walks of all packets, with every class that is (and one that is not) in the plan.
fn walk_all(tables: &Tables) -> (BTreeMap<Node, BTreeSet<Node>>, bool) {
    let topology = &tables.topology;
    let classes = u8::try_from(tables.tagging.classes.len()).unwrap() + 1;
    let mut queue: Vec<State> = Vec::new();
    for switch in topology.switch_ids() {
        for (port, peer) in topology.peers(switch) {
            if matches!(peer.end.node, NodeId::Host(_)) {
                for class in (0..classes).map(ClassId::new) {
                    let tags = tables.tagging.priorities.keys();
                    queue.extend(tags.map(|tag| (class, *tag, switch, port)));
                }
            }
        }
    }
    let mut seen: BTreeSet<State> = queue.iter().copied().collect();
    let mut edges: BTreeMap<Node, BTreeSet<Node>> = BTreeMap::new();
    let mut falls = false;
    while let Some((class, tag, switch, in_port)) = queue.pop() {
        for out in (0..=topology.switch(switch).ports).map(PortId::new) {
            let NewTag::Lossless(new) = tables.tagging.new_tag(switch, class, tag, in_port, out)
            else {
                continue;
            };
            let peer = topology.peer(switch, out);
            let to_host = peer.is_some_and(|peer| matches!(peer.end.node, NodeId::Host(_)));
            falls |= new < tag && !to_host;
            let Some(peer) = peer else {
                continue;
            };
            let NodeId::Switch(next) = peer.end.node else {
                continue;
            };
            let from = edges.entry((switch, in_port, tag)).or_default();
            from.insert((next, peer.end.port, new));
            let state = (class, new, next, peer.end.port);
            if seen.insert(state) {
                queue.push(state);
            }
        }
    }
    (edges, falls)
}

fn shortest_cycle(edges: &BTreeMap<Node, BTreeSet<Node>>) -> Option<usize> {
    let lengths = edges.keys().filter_map(|start| {
        let mut layer = BTreeSet::from([*start]);
        let mut seen = BTreeSet::new();
        for length in 1.. {
            layer = layer
                .iter()
                .filter_map(|n| edges.get(n))
                .flatten()
                .copied()
                .collect();
            if layer.contains(start) {
                return Some(length);
            }
            layer.retain(|node| seen.insert(*node));
            if layer.is_empty() {
                return None;
            }
        }
        None
    });
    lengths.min()
}

fn conflict(tables: &Tables) -> bool {
    tables.tagging.rules.iter().any(|rules| {
        rules.iter().enumerate().any(|(at, a)| {
            rules[at + 1..].iter().any(|b| {
                a.precedence == b.precedence
                    && a.tag == b.tag
                    && a.new_tag != b.new_tag
                    && (a.class.is_none() || b.class.is_none() || a.class == b.class)
                    && a.in_ports.iter().any(|p| b.in_ports.contains(p))
                    && a.out_ports.iter().any(|p| b.out_ports.contains(p))
            })
        })
    })
}

fn lost(tables: &Tables) -> bool {
    tables.promises.iter().any(|promise| {
        let set = RouteSet::new(&tables.topology, promise.routes.clone()).unwrap();
        set.routes().any(|route| {
            let mut tag = tables.tagging.classes[promise.class.index()].initial;
            route.hops.iter().any(|hop| {
                let tagging = &tables.tagging;
                match tagging.new_tag(hop.switch, promise.class, tag, hop.in_port, hop.out_port) {
                    NewTag::Lossless(next) => {
                        tag = next;
                        false
                    }
                    NewTag::Lossy => true,
                }
            })
        })
    })
}

fn truth(tables: &Tables) -> Truth {
    let (edges, falls) = walk_all(tables);
    Truth {
        cycle: shortest_cycle(&edges),
        falls,
        conflict: conflict(tables),
        lost: lost(tables),
    }
}

/// What the proof says, in the same terms.
fn verdict(tables: Tables) -> Truth {
    let errors = match check(
        tables,
        &Options {
            budgets: false,
            ..Options::default()
        },
    ) {
        Ok(_) => vec![],
        Err(failure) => failure.errors,
    };
    let cycle = errors.iter().find_map(|error| match error {
        PlanError::Cycle(cycle) => Some(cycle.buffers.len()),
        _ => None,
    });
    let has = |kind: fn(&PlanError) -> bool| errors.iter().any(kind);
    let known = |e: &PlanError| {
        matches!(
            e,
            PlanError::Cycle(_)
                | PlanError::TagFalls { .. }
                | PlanError::Conflict { .. }
                | PlanError::RouteLost(_)
                | PlanError::LimitPassed { .. }
        )
    };
    assert!(errors.iter().all(known), "{errors:?}");
    Truth {
        cycle,
        falls: has(|e| matches!(e, PlanError::TagFalls { .. })),
        conflict: has(|e| matches!(e, PlanError::Conflict { .. })),
        lost: has(|e| matches!(e, PlanError::RouteLost(_))),
    }
}

fn agree(tables: &Tables) -> Result<(), TestCaseError> {
    let truth = truth(tables);
    let verdict = verdict(tables.clone());
    if truth.conflict {
        // Tables with two answers are no tables: nothing else is said of them.
        prop_assert!(verdict.conflict);
    } else {
        prop_assert_eq!(verdict, truth);
    }
    Ok(())
}

/// Ports of every switch of a random network.
const PORTS: u16 = 4;

/// A connected network of `links.len() + 1` switches or so: a tree, some more links, hosts on what
/// is free.
fn network(parents: &[usize], extra: &[(usize, usize)], hosts: &[usize]) -> Topology {
    let count = parents.len() + 1;
    let mut free: Vec<u16> = vec![1; count];
    let mut take = |switch: usize| {
        let port = free[switch];
        free[switch] += 1;
        (port <= PORTS).then(|| Endpoint {
            node: NodeId::Switch(SwitchId::new(u32::try_from(switch).unwrap())),
            port: PortId::new(port),
        })
    };
    let link = |a, b| Link {
        a,
        b,
        rate: BitRate::gbps(100),
        length: Metres::new(10),
        up: true,
        virtual_layers: None,
        ocs: None,
        assumed: topology::AssumedOfLink::default(),
    };
    let tree = parents
        .iter()
        .enumerate()
        .map(|(at, parent)| (at + 1, parent % (at + 1)));
    let pairs: Vec<(usize, usize)> = tree
        .chain(extra.iter().map(|(a, b)| (a % count, b % count)))
        .filter(|(a, b)| a != b)
        .collect();
    let mut links = Vec::new();
    for (a, b) in pairs {
        if let (Some(a), Some(b)) = (take(a), take(b)) {
            links.push(link(a, b));
        }
    }
    let mut hosts_made = Vec::new();
    for switch in hosts {
        if let Some(end) = take(switch % count) {
            let number = u32::try_from(hosts_made.len()).unwrap();
            let port = PortId::new(0);
            let node = NodeId::Host(HostId::new(number));
            links.push(link(end, Endpoint { node, port }));
            hosts_made.push(Host {
                name: format!("h{number}"),
                mac: [2, 0, 0, 0, 0, u8::try_from(number).unwrap()],
                ipv4: Ipv4Addr::from(0x0a00_0001 + number),
                ipv6: Ipv6Addr::from(
                    0xfd00_0000_0000_0000_0000_0000_0000_0001 + u128::from(number),
                ),
                interfaces: BTreeMap::new(),
            });
        }
    }
    let switches = (0..count).map(|number| Switch {
        name: format!("s{number}"),
        ports: PORTS,
        role: Role::Switch,
        layer: None,
        group: None,
        subnet: None,
        buffer: None,
        interfaces: BTreeMap::new(),
        up: true,
    });
    Topology::new("random".to_owned(), switches.collect(), hosts_made, links).unwrap()
}

fn port_set() -> impl Strategy<Value = PortSet> {
    let ports = prop::collection::btree_set(1..=PORTS, 1..=PORTS as usize);
    ports.prop_map(|ports| ports.into_iter().map(PortId::new).collect())
}

fn rule(tags: u8) -> impl Strategy<Value = TagRule> {
    let new_tag = prop_oneof![
        1 => Just(NewTag::Lossy),
        6 => (0..tags).prop_map(|tag| NewTag::Lossless(Tag::new(tag)))
    ];
    let class = prop_oneof![3 => Just(None), 1 => (0u8..2).prop_map(|c| Some(ClassId::new(c)))];
    (
        0u8..40,
        class,
        0..tags,
        port_set(),
        port_set(),
        new_tag,
        any::<bool>(),
    )
        .prop_map(
            |(precedence, class, tag, in_ports, out_ports, new_tag, monotone)| TagRule {
                precedence,
                class,
                tag: Tag::new(tag),
                in_ports,
                out_ports,
                // Without falling tags more often than not, or nothing else would ever be seen.
                new_tag: match new_tag {
                    NewTag::Lossless(new) if monotone => NewTag::Lossless(new.max(Tag::new(tag))),
                    other => other,
                },
            },
        )
}

fn random_tables() -> impl Strategy<Value = Tables> {
    let parents = prop::collection::vec(0usize..8, 1..4);
    let extra = prop::collection::vec((0usize..8, 0usize..8), 0..4);
    let hosts = prop::collection::vec(0usize..8, 0..4);
    let shape = (parents, extra, hosts).prop_map(|(p, e, h)| network(&p, &e, &h));
    let policy = prop_oneof![
        Just(RoutePolicy::Shortest),
        Just(RoutePolicy::AllSimple { max_switches: 3 })
    ];
    (shape, 1u8..4, policy).prop_flat_map(|(topology, tags, routes)| {
        let switches = topology.switches().len();
        let rules = prop::collection::vec(prop::collection::vec(rule(tags), 0..6), switches);
        rules.prop_map(move |rules| {
            let tags = (0..tags).map(Tag::new);
            let class = |name: &str| Class {
                name: name.to_owned(),
                initial: Tag::new(0),
                limit: None,
            };
            Tables {
                provenance: Provenance::ours("random", ""),
                tagging: Tagging {
                    classes: vec![class("a"), class("b")],
                    class_bits: true,
                    priorities: tags.clone().zip((1..).map(Priority::new)).collect(),
                    form: RuleForm::PortSets,
                    rules,
                },
                carrier: Carrier::numbered(CarrierKind::Dscp, tags, true),
                promises: vec![Promise {
                    class: ClassId::new(1),
                    routes: routes.clone(),
                }],
                forwarding: RoutePolicy::Shortest,
                failover: None,
                budget: Budget::default(),
                topology: topology.clone(),
            }
        })
    })
}

/// Sound tables of a small network.
fn sound_tables() -> impl Strategy<Value = Tables> {
    let cables = Cables::default();
    let clos = Clos {
        leaves: 3,
        spines: 2,
        hosts: 1,
        parallel: 1,
        cables,
    };
    let ring = Ring {
        switches: 5,
        hosts: 1,
        cables,
    };
    let networks = [
        (clos.generate().unwrap(), RoutePolicy::UpDown { bounces: 1 }),
        (
            clos.generate().unwrap(),
            RoutePolicy::AllSimple { max_switches: 4 },
        ),
        (ring.generate().unwrap(), RoutePolicy::Shortest),
        (
            ring.generate().unwrap(),
            RoutePolicy::AllSimple { max_switches: 5 },
        ),
        (
            ThreeNode { cables }.generate().unwrap(),
            RoutePolicy::AllSimple { max_switches: 3 },
        ),
    ];
    let made = networks.into_iter().flat_map(|(topology, routes)| {
        let algorithms = [
            None,
            Some(Algorithm::SingleValued),
            Some(Algorithm::Optimal),
            Some(Algorithm::BruteForce),
        ];
        let forms = [RuleForm::PortSets, RuleForm::Exact];
        algorithms.into_iter().flat_map(move |algorithm| {
            let (topology, routes) = (topology.clone(), routes.clone());
            forms.into_iter().map(move |form| {
                let options = TaggerOptions {
                    algorithm,
                    routes: Some(routes.clone()),
                    form,
                    search: Search {
                        moves: 100_000,
                        stop: None,
                    },
                    ..TaggerOptions::default()
                };
                tagger(&topology, &options).unwrap()
            })
        })
    });
    prop::sample::select(made.collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_every_walk(tables in random_tables()) {
        agree(&tables)?;
    }

    #[test]
    fn what_schemes_make_is_sound(tables in sound_tables()) {
        let nothing = Truth { cycle: None, falls: false, conflict: false, lost: false };
        prop_assert_eq!(&truth(&tables), &nothing);
        prop_assert_eq!(verdict(tables), nothing);
    }

    #[test]
    fn a_flipped_rule_is_caught(
        tables in sound_tables(),
        switch in any::<prop::sample::Index>(),
        rule in any::<prop::sample::Index>(),
        new_tag in prop::option::of(any::<prop::sample::Index>()),
        ports in prop::option::of((port_set(), port_set())),
    ) {
        let mut tables = tables;
        let tags: Vec<Tag> = tables.tagging.priorities.keys().copied().collect();
        let place = switch.index(tables.tagging.rules.len());
        let most = tables.topology.switches()[place].ports;
        let rules = &mut tables.tagging.rules[place];
        let flipped = rule.index(rules.len());
        rules[flipped].new_tag = match new_tag {
            Some(tag) => NewTag::Lossless(tags[tag.index(tags.len())]),
            None => NewTag::Lossy,
        };
        if let Some((in_ports, out_ports)) = ports
            && [&in_ports, &out_ports].iter().all(|set| set.last() <= Some(PortId::new(most)))
        {
            tables.tagging.form = RuleForm::PortSets;
            (rules[flipped].in_ports, rules[flipped].out_ports) = (in_ports, out_ports);
        }
        agree(&tables)?;
    }
}

//! The schemes against the figures of the papers; every table goes through the proof.

use plan::CheckedPlan;
use plan::check::{Options, check};
use topology::generate::{
    Bcube, Cables, Clos, FatTree, FlattenedClos, Jellyfish, JellyfishSize, Ring, ThreeNode,
};

use super::*;

fn clos(leaves: u32, hosts: u16) -> Topology {
    let clos = Clos {
        leaves,
        spines: 4,
        hosts,
        parallel: 1,
        cables: Cables::default(),
    };
    clos.generate().expect("a valid Clos")
}

#[test]
fn two_rules_per_tag_whatever_the_radix() {
    for (leaves, hosts) in [(4, 2), (40, 30)] {
        let topology = clos(leaves, hosts);
        for bounces in 0..4 {
            let options = TaggerOptions {
                bounces,
                ..TaggerOptions::default()
            };
            let tables = tagger(&topology, &options).expect("a layered topology");
            assert_eq!(tables.tagging.priorities.len(), usize::from(bounces) + 1);
            let plan = check(tables, &Options::default()).expect("a sound plan");
            for switch in plan.topology().switch_ids() {
                assert!(plan.counts(switch).rules <= 2 * (u64::from(bounces) + 1));
            }
        }
    }
}

#[test]
fn fat_tree_is_proven() {
    let fat_tree = FatTree {
        k: 8,
        cables: Cables::default(),
    };
    let topology = fat_tree.generate().expect("a valid fat-tree");
    let tables = tagger(&topology, &TaggerOptions::default()).expect("a layered topology");
    check(tables, &Options::default()).expect("a sound plan");
}

#[test]
fn classes_share_all_but_one_tag_each() {
    let topology = clos(4, 2);
    for class_bits in [false, true] {
        let mut options = TaggerOptions {
            bounces: 1,
            class_bits,
            ..TaggerOptions::default()
        }
        .with_classes(3);
        let tables = tagger(&topology, &options).expect("a layered topology");
        assert_eq!(tables.tagging.priorities.len(), 1 + 3);
        check(tables, &Options::default()).expect("a sound plan");
        options.classes[2].bounces = Some(0);
        let tables = tagger(&topology, &options).expect("a layered topology");
        assert_eq!(tables.tagging.priorities.len(), 3);
        check(tables, &Options::default()).expect("a sound plan");
    }
}

#[test]
fn ttl_counts_switches() {
    let three = ThreeNode {
        cables: Cables::default(),
    };
    let topology = three.generate().expect("the triangle");
    let tables = ttl(&topology, None, &TaggerOptions::default()).expect("few hops");
    assert_eq!(tables.tagging.priorities.len(), 2);
    check(tables, &Options::default()).expect("a sound plan");
    let tables = ttl(&topology, Some(9), &TaggerOptions::default()).expect("few hops");
    let failure = check(tables, &Options::default()).expect_err("nine tags, seven priorities");
    assert_eq!(failure.fault(), plan::Fault::Target);
}

fn three_node() -> Topology {
    let cables = Cables::default();
    ThreeNode { cables }.generate().expect("the triangle")
}

fn jellyfish(switches: u32, ports: u16, fabric_ports: u16) -> Topology {
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches,
            fabric_ports,
        },
        ports,
        seed: 1,
        cables: Cables::default(),
    };
    jellyfish.generate().expect("a valid Jellyfish")
}

fn bcube(n: u16, k: u16) -> Topology {
    let cables = Cables::default();
    Bcube { n, k, cables }.generate().expect("a valid BCube")
}

/// Tables of an algorithm for some routes, unchecked.
fn made(
    topology: &Topology,
    algorithm: Algorithm,
    routes: &RoutePolicy,
) -> Result<Tables, SchemeError> {
    let options = TaggerOptions {
        algorithm: Some(algorithm),
        routes: Some(routes.clone()),
        ..TaggerOptions::default()
    };
    tagger(topology, &options)
}

/// Proven tables of an algorithm for some routes.
fn proven(topology: &Topology, algorithm: Algorithm, routes: &RoutePolicy) -> CheckedPlan {
    let tables = made(topology, algorithm, routes).expect("tables");
    let options = Options {
        budgets: false,
        ..Options::default()
    };
    check(tables, &options).unwrap_or_else(|e| panic!("{}: {e}", algorithm.name()))
}

fn tags(plan: &CheckedPlan) -> usize {
    plan.tagging().priorities.len()
}

/// Tagger17's second table: switch, tag, in port, out port, new tag.
const THREE_NODE_RULES: [(&str, u8, u16, u16, u8); 20] = [
    ("A", 0, 2, 3, 0),
    ("A", 0, 2, 4, 0),
    ("A", 0, 3, 2, 0),
    ("A", 0, 3, 4, 1),
    ("A", 0, 4, 2, 0),
    ("A", 0, 4, 3, 0),
    ("B", 0, 2, 1, 0),
    ("B", 0, 2, 4, 0),
    ("B", 0, 1, 2, 0),
    ("B", 0, 1, 4, 1),
    ("B", 0, 4, 1, 0),
    ("B", 0, 4, 2, 0),
    ("C", 0, 4, 1, 0),
    ("C", 0, 4, 3, 0),
    ("C", 0, 1, 3, 0),
    ("C", 0, 1, 4, 0),
    ("C", 0, 3, 1, 0),
    ("C", 0, 3, 4, 0),
    ("C", 1, 1, 4, 1),
    ("C", 1, 3, 4, 1),
];

#[test]
fn greedy_makes_the_table_of_the_paper() {
    let options = TaggerOptions {
        algorithm: Some(Algorithm::Greedy),
        routes: Some(RoutePolicy::AllSimple { max_switches: 3 }),
        form: RuleForm::Exact,
        ..TaggerOptions::default()
    };
    let topology = three_node();
    let tables = tagger(&topology, &options).expect("single-valued here");
    let mut rules = Vec::new();
    for (switch, own) in topology.switches().iter().zip(&tables.tagging.rules) {
        for rule in own {
            let port = |set: &plan::PortSet| set.as_single().expect("exact").get();
            let new_tag = rule.new_tag.tag().expect("lossless").get();
            let (in_port, out_port) = (port(&rule.in_ports), port(&rule.out_ports));
            rules.push((
                switch.name.as_str(),
                rule.tag.get(),
                in_port,
                out_port,
                new_tag,
            ));
        }
    }
    let mut expected = THREE_NODE_RULES.to_vec();
    rules.sort_unstable();
    expected.sort_unstable();
    assert_eq!(rules, expected);
    check(tables, &Options::default()).expect("a sound plan");
}

#[test]
fn tags_of_the_triangle() {
    let routes = RoutePolicy::AllSimple { max_switches: 3 };
    let count = |algorithm| tags(&proven(&three_node(), algorithm, &routes));
    assert_eq!(count(Algorithm::BruteForce), 3);
    assert_eq!(count(Algorithm::Greedy), 2);
    assert_eq!(count(Algorithm::SingleValued), 2);
}

#[test]
fn bcube_needs_one_tag_per_order_of_digits() {
    for (n, k) in [(2, 1), (4, 1), (2, 2), (3, 2)] {
        let topology = bcube(n, k);
        let one = proven(&topology, Algorithm::SingleValued, &RoutePolicy::BcubeDigit);
        assert_eq!(tags(&one), 1, "BCube({n}, {k}), one order");
        // Tagger17 counts one tag per order; one rise, where an order wraps round, is enough for
        // all of them.
        let all = proven(
            &topology,
            Algorithm::SingleValued,
            &RoutePolicy::BcubeRotations,
        );
        assert_eq!(tags(&all), 2, "BCube({n}, {k}), all rotations");
    }
}

#[test]
fn greedy_is_refused_with_the_conflicting_key() {
    let refused = made(
        &bcube(2, 1),
        Algorithm::Greedy,
        &RoutePolicy::BcubeRotations,
    );
    let text = refused.expect_err("multi-valued").to_string();
    assert!(
        text.contains(
            "at switch `w0.0`, tag 0 from port 1 to port 2 becomes 0 on one route and 1 on another"
        ),
        "{text}"
    );
}

/// TaggerDraft section 3.3 has half of the headroom in trees; what is so is that ports of hosts
/// need none for bounced packets.
#[test]
fn headroom_is_needed_where_priorities_can_come_in() {
    let topology = clos(4, 2);
    let routes = RoutePolicy::UpDown { bounces: 1 };
    let plan = proven(&topology, Algorithm::Clos, &routes);
    let arriving = plan.arriving();
    for switch in topology.switch_ids() {
        for (port, peer) in topology.peers(switch) {
            let count = arriving[switch.index()]
                .get(&port)
                .map_or(0, |own| own.len());
            let host = matches!(peer.end.node, topology::NodeId::Host(_));
            assert_eq!(count, if host { 1 } else { 2 }, "{port} of {switch:?}");
        }
    }
    for needed in plan.headroom_needed() {
        assert!(
            needed.needed <= needed.all && needed.part() > 0.5,
            "{needed:?}"
        );
    }
    // Without bounces one priority is all there is.
    let routes = RoutePolicy::UpDown { bounces: 0 };
    let plan = proven(&topology, Algorithm::SingleValued, &routes);
    let whole = |needed: &plan::HeadroomNeeded| needed.needed == needed.all;
    assert!(plan.headroom_needed().iter().all(whole));
}

/// Tagger17's greedy on a Clos with one bounce takes three tags, which no table can hold; on the
/// triangle two, which one can.
#[test]
fn the_greedy_algorithm_is_counted_where_it_is_refused() {
    let fat_tree = FatTree {
        k: 4,
        cables: Cables::default(),
    };
    let topology = fat_tree.generate().expect("a valid fat-tree");
    let counted = crate::greedy_count(&topology, &RoutePolicy::UpDown { bounces: 1 }).unwrap();
    assert!(counted.tags >= 3 && !counted.installable(), "{counted:?}");
    let routes = RoutePolicy::AllSimple { max_switches: 3 };
    let counted = crate::greedy_count(&three_node(), &routes).unwrap();
    assert_eq!((counted.tags, counted.multi_valued), (2, 0));
}

#[test]
fn structure_is_found_without_being_told() {
    // No cycle in the routes, no second tag.
    let tree = clos(4, 2);
    let up_down = |bounces| RoutePolicy::UpDown { bounces };
    let plan = proven(&tree, Algorithm::SingleValued, &up_down(0));
    assert_eq!(tags(&plan), 1);
    // Tagger17's greedy needs three tags where bounces are at leaves and ToRs; the optimum is two.
    let fat_tree = FatTree {
        k: 4,
        cables: Cables::default(),
    };
    let topology = fat_tree.generate().expect("a valid fat-tree");
    let plan = proven(&topology, Algorithm::SingleValued, &up_down(1));
    assert_eq!(tags(&plan), 2);
    let ring = Ring {
        switches: 8,
        hosts: 1,
        cables: Cables::default(),
    };
    let topology = ring.generate().expect("a valid ring");
    let plan = proven(&topology, Algorithm::SingleValued, &RoutePolicy::Shortest);
    assert_eq!(tags(&plan), 2);
}

#[test]
fn every_algorithm_in_every_form_is_proven() {
    let jellyfish = jellyfish(40, 8, 4);
    let bcube = bcube(3, 1);
    let cases = [
        (&jellyfish, RoutePolicy::Shortest),
        (&jellyfish, RoutePolicy::Ksp { k: 4 }),
        (&bcube, RoutePolicy::BcubeRotations),
        (&bcube, RoutePolicy::Shortest),
    ];
    for (topology, routes) in cases {
        for algorithm in [Algorithm::BruteForce, Algorithm::SingleValued] {
            for form in [RuleForm::Exact, RuleForm::PortSets] {
                let options = TaggerOptions {
                    algorithm: Some(algorithm),
                    routes: Some(routes.clone()),
                    form,
                    ..TaggerOptions::default()
                };
                let tables = tagger(topology, &options).expect("tables");
                let checked = check(
                    tables,
                    &Options {
                        budgets: false,
                        ..Options::default()
                    },
                );
                checked.unwrap_or_else(|e| panic!("{} {routes}: {e}", algorithm.name()));
            }
        }
    }
}

#[test]
fn port_sets_say_what_exact_rules_say() {
    let topology = jellyfish(40, 8, 4);
    let of = |form| {
        let options = TaggerOptions {
            form,
            ..TaggerOptions::default()
        };
        tagger(&topology, &options).expect("tables").tagging.rules
    };
    let (sets, exact) = (of(RuleForm::PortSets), of(RuleForm::Exact));
    assert_eq!(exact::expand(sets.clone()), exact::expand(exact.clone()));
    let count = |rules: &[Vec<TagRule>]| rules.iter().map(Vec::len).sum::<usize>();
    assert!(
        count(&sets) * 3 < count(&exact),
        "{} of {}",
        count(&sets),
        count(&exact)
    );
}

#[test]
fn classes_share_tags_on_any_topology() {
    for class_bits in [false, true] {
        let topology = jellyfish(40, 8, 4);
        let options = TaggerOptions {
            class_bits,
            ..TaggerOptions::default()
        }
        .with_classes(3);
        let tables = tagger(&topology, &options).expect("tables");
        let plan = check(tables, &Options::default()).expect("a sound plan");
        let one = proven(&topology, Algorithm::SingleValued, &RoutePolicy::Shortest);
        assert!(tags(&plan) <= tags(&one) + 2 + 1);
    }
}

#[test]
fn jellyfish_needs_few_tags() {
    for (switches, ports, fabric, most) in [(200, 12, 6, 4), (300, 24, 12, 3)] {
        let topology = jellyfish(switches, ports, fabric);
        let plan = proven(&topology, Algorithm::SingleValued, &RoutePolicy::Shortest);
        assert!(tags(&plan) <= most, "{switches} x {ports}: {}", tags(&plan));
    }
}

#[test]
fn two_tags_do_on_jellyfish_of_20_to_50_switches() {
    let sparse = [(20, 3, 3), (26, 3, 1), (30, 4, 2), (36, 5, 4), (40, 4, 4)];
    let large = [(46, 5, 5), (46, 6, 3), (50, 3, 3), (50, 4, 2), (50, 5, 1)];
    for (switches, fabric_ports, seed) in sparse.into_iter().chain(large) {
        let jellyfish = Jellyfish {
            size: JellyfishSize::Switches {
                switches,
                fabric_ports,
            },
            ports: 2 * fabric_ports,
            seed,
            cables: Cables::default(),
        };
        let topology = jellyfish.generate().expect("a valid Jellyfish");
        let usual = proven(&topology, Algorithm::SingleValued, &RoutePolicy::Shortest);
        assert_eq!(tags(&usual), 3, "{switches} x {fabric_ports}, seed {seed}");
        let plan = proven(&topology, Algorithm::Optimal, &RoutePolicy::Shortest);
        assert_eq!(tags(&plan), 2, "{switches} x {fabric_ports}, seed {seed}");
    }
}

#[test]
fn optimal_proves_that_two_tags_do_not_suffice() {
    let routes = RoutePolicy::AllSimple { max_switches: 5 };
    let plan = proven(&jellyfish(8, 8, 4), Algorithm::Optimal, &routes);
    assert_eq!(tags(&plan), 3);
    assert_eq!(plan.tables().provenance.options[TAGS_AT_LEAST], "3");
}

fn flattened(switches: u32, split: &[u16]) -> Topology {
    let fabric_ports = 2 * split.iter().sum::<u16>();
    let clos = FlattenedClos {
        switches,
        ports: fabric_ports + 1,
        fabric_ports,
        layers: None,
        split: Some(split.to_vec()),
        single_links: false,
        optical: None,
        seed: 1,
        cables: Cables::default(),
    };
    clos.generate().expect("a valid Flattened Clos")
}

/// What the proof says against tables, which close a cycle of buffers.
fn cycle(tables: Tables) -> String {
    let failure = check(tables, &Options::default()).expect_err("a cycle");
    assert_eq!(failure.fault(), plan::Fault::Proof);
    failure.to_string()
}

#[test]
fn flattened_clos_is_proven_with_a_rule_per_layer_and_direction() {
    for split in [&[3, 3, 3][..], &[2, 2, 2, 3]] {
        let topology = flattened(50, split);
        let options = TaggerOptions::default();
        for bounces in [0, 1] {
            let tables = flattened_clos(&topology, bounces, &options).expect("virtual layers");
            let tags = tables.tagging.priorities.len();
            assert_eq!(tags, usize::from(bounces) + 1);
            let layers = split.len() + 1;
            let plan = check(tables, &Options::default()).expect("a sound plan");
            for switch in plan.topology().switch_ids() {
                let rules = plan.counts(switch).rules;
                assert!(rules <= 2 * (layers * tags) as u64, "{rules}");
            }
            let forwarded = plan.report().forwarding.expect("followed");
            assert_eq!((forwarded.pairs, forwarded.lossy), (50 * 49, 0));
        }
    }
}

/// The tables of a Flattened Clos without bounces, after something was changed.
fn changed(topology: &Topology, change: impl Fn(&mut Tables)) -> Tables {
    let options = TaggerOptions::default();
    let mut tables = flattened_clos(topology, 0, &options).expect("virtual layers");
    change(&mut tables);
    tables
}

/// With one tag whatever turns the rules allow close no cycle; with one port in a wrong layer, one
/// turn from down to up that keeps its tag, or rules that heed no layers at all, they do.
#[test]
fn wrong_rules_of_a_flattened_clos_close_a_cycle() {
    let topology = flattened(50, &[3, 3, 3]);
    check(changed(&topology, |_| {}), &Options::default()).expect("no cycle");

    // Ports of s1: its host, three up from layer 1, three down from layer 2, three up from layer 2,
    // ...; s1 takes port 2 for one down from layer 2.
    let text = topology.to_json();
    let port = text.find("s1:2\"").expect("a link at port 2");
    let (before, after) = text.split_at(port);
    let layers = ("\"a_layer\":1,\"b_layer\":2", "\"a_layer\":2,\"b_layer\":1");
    let after = after.replacen(layers.0, layers.1, 1);
    let misled = Topology::from_json(&(before.to_owned() + &after)).expect("other layers");
    let layer = changed(&topology, |tables| {
        tables.tagging.rules[0] = changed(&misled, |_| {}).tagging.rules[0].clone();
    });
    assert!(cycle(layer).contains("cyclic buffer dependency"));

    let turn = changed(&topology, |tables| {
        let down = |rule: &&mut plan::TagRule| rule.in_ports == "2-4".parse().expect("ports");
        let mut rules = tables.tagging.rules[0].iter_mut();
        let rule = rules.find(down).expect("what comes down to layer 1");
        rule.out_ports = "1-19".parse().expect("ports");
    });
    assert!(cycle(turn).contains("cyclic buffer dependency"));

    let unordered = changed(&topology, |tables| {
        let all: plan::PortSet = "1-19".parse().expect("ports");
        for rule in tables.tagging.rules.iter_mut().flatten() {
            (rule.in_ports, rule.out_ports) = (all.clone(), all.clone());
        }
    });
    assert!(cycle(unordered).contains("cyclic buffer dependency"));
}

#[test]
fn one_tag_is_refused_on_jellyfish_and_proven_on_a_clos() {
    let options = TaggerOptions::default();
    let ksp = RoutePolicy::Ksp { k: 4 };
    for (name, routes) in [("ecmp", RoutePolicy::Shortest), ("ksp", ksp)] {
        for topology in [jellyfish(30, 8, 5), flattened(50, &[3, 3, 3])] {
            let tables = one_tag(&topology, name, &routes, &options).expect("tables");
            assert_eq!(tables.tagging.priorities.len(), 1);
            assert!(cycle(tables).contains("cyclic buffer dependency"));
        }
    }
    let tables = one_tag(&clos(4, 2), "ecmp", &RoutePolicy::Shortest, &options).expect("tables");
    check(tables, &Options::default()).expect("up, then down");
}

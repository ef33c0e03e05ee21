//! The three-switch examples of Stephens15: Tables 4.3 to 4.5 (Figure 4.5), 4.7 (Figure 4.6) and
//! 4.8 (Figure 4.7), as our planners make them.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use plan::failover::{Action, Origin, PortMask, RuleRef, Ternary};
use topology::{ArcId, NodeId};

use super::*;

/// Switches I, II, III and Dst with a host each on port 1; links as in Figure 4.5 and, if asked,
/// I - III.
fn network(closed: bool) -> Topology {
    let mut ends = vec![
        ("I:2", "II:2"),
        ("II:3", "III:2"),
        ("I:3", "Dst:2"),
        ("II:4", "Dst:3"),
        ("III:3", "Dst:4"),
    ];
    if closed {
        ends.push(("I:4", "III:4"));
    }
    let names = ["I", "II", "III", "Dst"];
    let list = |items: Vec<String>| items.join(", ");
    let switches = list(
        names
            .map(|n| format!(r#"{{"name": "{n}", "ports": 4}}"#))
            .to_vec(),
    );
    let hosts = list(names.map(|n| format!(r#"{{"name": "h{n}"}}"#)).to_vec());
    let mut links: Vec<String> = names
        .iter()
        .map(|n| format!(r#"{{"a": "{n}:1", "b": "h{n}:0"}}"#))
        .collect();
    links.extend(
        ends.iter()
            .map(|(a, b)| format!(r#"{{"a": "{a}", "b": "{b}"}}"#)),
    );
    let links = list(links);
    Topology::from_json(&format!(
        r#"{{"format": "switchwright-topology", "version": 1, "name": "003", "switches": [{switches}],
            "hosts": [{hosts}], "links": [{links}]}}"#
    ))
    .unwrap()
}

/// The code of Dst, the last of the switches.
const DST: u32 = 3;

/// A link as the paper writes it, seen from a switch.
fn edge(topology: &Topology, switch: SwitchId, port: PortId) -> String {
    let far = topology.peer(switch, port).unwrap().end.node;
    format!(
        "{}-{}",
        topology.switch(switch).name,
        topology.node_name(far)
    )
}

fn edges(topology: &Topology, switch: SwitchId, ports: PortMask) -> String {
    let edges: Vec<String> = ports
        .iter()
        .map(|port| edge(topology, switch, port))
        .collect();
    match edges.as_slice() {
        [] => "{}".to_owned(),
        edges => format!("{{{}}}", edges.join(", ")),
    }
}

fn route(topology: &Topology, switch: SwitchId, action: &Action) -> String {
    let Action::Forward { route, .. } = action else {
        return "drop".to_owned();
    };
    let mut at = switch;
    let mut edges = Vec::new();
    for &port in route {
        let port = PortId::new(u16::from(port));
        edges.push(edge(topology, at, port));
        match topology.peer(at, port).unwrap().end.node {
            NodeId::Switch(next) => at = next,
            NodeId::Host(_) => break,
        }
    }
    format!("[{}]", edges.join(", "))
}

/// What each number of FCP stands for, read off the tables: a rule that needs ports down adds their
/// links.
fn sets(topology: &Topology, failover: &Failover) -> BTreeMap<u32, BTreeSet<String>> {
    let mut sets = BTreeMap::from([(0, BTreeSet::new())]);
    for _ in 0..3 {
        for (switch, table) in topology.switch_ids().zip(&failover.tables) {
            for rule in table
                .iter()
                .filter(|rule| rule.destination == Ternary::exact(DST))
            {
                let known = rule.tag.as_exact().and_then(|tag| sets.get(&tag)).cloned();
                let (Some(mut set), Action::Forward { write, .. }) = (known, rule.action) else {
                    continue;
                };
                let down = rule.ports.down.iter();
                set.extend(down.map(|port| edge(topology, switch, port)));
                if write.tag.mask != 0 {
                    sets.insert(write.tag.value, set);
                }
            }
        }
    }
    sets
}

/// The forwarding function for Dst at II.
fn function(options: &FailoverOptions) -> String {
    let topology = network(false);
    let tables = failover(&topology, options).unwrap();
    let failover = tables.failover.unwrap();
    let ii = topology.switch_named("II").unwrap();
    let sets = sets(&topology, &failover);
    let label = |rule: &RuleRef<'_>| match failover.label {
        LabelKind::ReverseRoute => {
            let mut at = ii;
            let mut hops = Vec::new();
            for hop in &rule.reverse.hops {
                let port = PortId::new(u16::try_from(hop.value()).unwrap());
                hops.push(edge(&topology, at, port));
                if let NodeId::Switch(back) = topology.peer(at, port).unwrap().end.node {
                    at = back;
                }
            }
            format!("[{}]", hops.join(", "))
        }
        LabelKind::RouteId => format!("p{}", rule.tag.value()),
        _ => format!("{:?}", sets[&rule.tag.value()]).replace('"', ""),
    };
    let line = |rule: RuleRef<'_>| {
        let out = rule.action.out().unwrap().0;
        let mut way = route(&topology, ii, rule.action);
        if let (LabelKind::RouteId, Action::Forward { write, .. }) = (failover.label, rule.action) {
            way = format!("p{} ({way})", write.tag.value);
        }
        format!(
            "(Dst, {}, {}, {}) -> {way}",
            label(&rule),
            edges(&topology, ii, rule.ports.down),
            edge(&topology, ii, out)
        )
    };
    let table = failover.table(ii).unwrap();
    let own = table
        .iter()
        .filter(|rule| rule.destination == Ternary::exact(DST));
    own.map(line).collect::<Vec<_>>().join("\n")
}

fn options(scheme: FailoverScheme) -> FailoverOptions {
    FailoverOptions {
        resilience: 2,
        output: Output::SourceRoutes,
        multipath: Some(1),
        paths: PathPolicy::FirstShortest,
        ..FailoverOptions::new(scheme)
    }
}

#[test]
fn table_4_3_mpls_frr() {
    insta::assert_snapshot!(function(&options(FailoverScheme::MplsFrr)));
}

#[test]
fn table_4_4_fcp() {
    insta::assert_snapshot!(function(&options(FailoverScheme::Fcp)));
}

#[test]
fn table_4_5_plinko() {
    insta::assert_snapshot!(function(&options(FailoverScheme::Plinko)));
}

/// The rules for trees at II; `came` names the link by which a packet on a tree comes in.
fn tree_function(
    topology: &Topology,
    rules: Placed,
    came: impl Fn(&RuleRef<'_>) -> String,
    tree: impl Fn(u32) -> String,
) -> String {
    let ii = topology.switch_named("II").unwrap();
    let line = |rule: &RuleRef<'_>| {
        let Action::Forward { route, write } = rule.action else {
            return String::new();
        };
        let out = edge(topology, ii, PortId::new(u16::from(route[0])));
        let bits = (0..32).filter(|bit| write.tag.value >> bit & 1 == 1);
        let failed: Vec<String> = bits.map(&tree).collect();
        format!(
            "(Dst, {}, {}, {{}}, {out}, {{}}) -> ([{out}], {{{}}})",
            came(rule),
            tree(rule.tag.mask().trailing_zeros()),
            failed.join(", ")
        )
    };
    let rules = rules.by_switch();
    let own = rules.of(ii);
    own.map(|rule| line(&rule)).collect::<Vec<_>>().join("\n")
}

fn arc(topology: &Topology, fabric: &Fabric, from: &str, to: &str) -> ArcId {
    let (from, to) = (
        topology.switch_named(from).unwrap(),
        topology.switch_named(to).unwrap(),
    );
    let found = fabric.out_arcs(from).find(|(_, arc)| arc.to == to);
    found.unwrap().0
}

fn tree_options(scheme: FailoverScheme) -> FailoverOptions {
    FailoverOptions {
        trees: Some(2),
        multipath: Some(1),
        paths: PathPolicy::FirstShortest,
        ..FailoverOptions::new(scheme)
    }
}

#[test]
fn table_4_7_edst() {
    let topology = network(true);
    let fabric = Fabric::new(&topology);
    let arc = |from, to| arc(&topology, &fabric, from, to);
    let trees = [
        vec![arc("II", "Dst"), arc("III", "Dst"), arc("I", "III")],
        vec![arc("II", "I"), arc("III", "II"), arc("I", "Dst")],
    ];
    let options = tree_options(FailoverScheme::Edst);
    let set = TreeSet::of_edges(&fabric, &trees, &options);
    let rules = set.rules(&fabric, DST, topology.switch_named("Dst").unwrap());
    let came = |rule: &RuleRef<'_>| match rule.origin {
        Origin::Port(port) => {
            let ii = topology.switch_named("II").unwrap();
            let far = topology.peer(ii, port).unwrap().end.node;
            format!("{}-II", topology.node_name(far))
        }
        _ => "self".to_owned(),
    };
    let tree = |bit: u32| format!("{}-T", bit + 1);
    insta::assert_snapshot!(tree_function(&topology, rules, came, tree));
}

#[test]
fn table_4_8_adst_with_a_default_tree() {
    let topology = network(false);
    let fabric = Fabric::new(&topology);
    let arc = |from, to| Some(arc(&topology, &fabric, from, to));
    // In the order of the switches: I, II, III, Dst.
    let trees = vec![
        vec![arc("I", "II"), arc("II", "III"), arc("III", "Dst"), None],
        vec![arc("I", "Dst"), arc("II", "I"), arc("III", "II"), None],
    ];
    let default = vec![arc("I", "Dst"), arc("II", "Dst"), arc("III", "Dst"), None];
    let home = topology.switch_named("Dst").unwrap();
    let rules = TreeSet::rules_of_arcs(&fabric, DST, home, trees, Some(default));
    // A packet on a marked tree comes by the arc of that tree.
    let came = |rule: &RuleRef<'_>| match rule.tree {
        Some(1) => "I-II".to_owned(),
        Some(2) => "III-II".to_owned(),
        _ => "self".to_owned(),
    };
    let tree = |bit: u32| match bit {
        2 => "SP".to_owned(),
        bit => format!("{}-T", bit + 1),
    };
    insta::assert_snapshot!(tree_function(&topology, rules, came, tree));
}

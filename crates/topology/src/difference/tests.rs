//! Faults are made at random in networks of every kind, and each has to be named exactly.

use std::collections::BTreeSet;

use quantities::{BitRate, Metres, PortId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::generate::{
    Bcube, Cables, Clos, Egft, EgftSize, FatTree, FlattenedClos, Jellyfish, JellyfishSize, Ring,
};
use crate::model::{Endpoint, Link, Switch};
use crate::{NodeId, SwitchId};

/// Free ports of every switch beside those with cables.
const SPARE: u16 = 3;
const FAULTS_EACH: u64 = 90;

/// The same network with free ports.
fn spare(topology: &Topology) -> Topology {
    let mut switches = topology.switches().to_vec();
    switches.iter_mut().for_each(|switch| switch.ports += SPARE);
    rebuilt(topology, switches, topology.links().to_vec()).expect("a valid network")
}

fn switch(index: usize) -> SwitchId {
    SwitchId::new(u32::try_from(index).expect("few switches"))
}

fn rebuilt(base: &Topology, switches: Vec<Switch>, links: Vec<Link>) -> Option<Topology> {
    let hosts = base.hosts().to_vec();
    Topology::new(base.name().to_owned(), switches, hosts, links).ok()
}

fn networks() -> Vec<Topology> {
    let cables = Cables::default();
    let clos = Clos {
        leaves: 6,
        spines: 3,
        hosts: 3,
        parallel: 2,
        cables,
    };
    let jellyfish = Jellyfish {
        size: JellyfishSize::Switches {
            switches: 24,
            fabric_ports: 5,
        },
        ports: 8,
        seed: 3,
        cables,
    };
    let egft = Egft {
        size: EgftSize::Hosts {
            hosts: 48,
            ports: 8,
            oversubscription: 1.0,
        },
        cables,
    };
    let flattened = FlattenedClos {
        switches: 20,
        ports: 12,
        fabric_ports: 8,
        layers: None,
        split: None,
        single_links: false,
        optical: None,
        seed: 1,
        cables,
    };
    [
        clos.generate(),
        FatTree { k: 4, cables }.generate(),
        jellyfish.generate(),
        Bcube { n: 3, k: 1, cables }.generate(),
        egft.generate(),
        flattened.generate(),
    ]
    .map(|made| spare(&made.expect("a valid network")))
    .into()
}

/// What a difference says of cables: its kind, the cables of the first network and those of the
/// second.
type Said = (&'static str, BTreeSet<String>, BTreeSet<String>);

fn end(end: &End) -> String {
    match end.kind {
        NodeKind::Switch => format!("{}:{}", end.node, end.port),
        NodeKind::Host => end.node.clone(),
    }
}

fn wire(x: String, y: String) -> String {
    if x < y {
        format!("{x} {y}")
    } else {
        format!("{y} {x}")
    }
}

fn said(item: &Item) -> Said {
    let cable = |cable: &Cable| BTreeSet::from([wire(end(&cable.a), end(&cable.b))]);
    let none = BTreeSet::new;
    let moved = |cables: &[Reconnected], second: bool| {
        let far = |c: &Reconnected| if second { c.to.clone() } else { c.from.clone() };
        let wires = cables
            .iter()
            .filter_map(|c| Some(wire(end(&c.end), end(&far(c)?))));
        wires.collect::<BTreeSet<_>>()
    };
    let both = |cables: &[Reconnected]| (moved(cables, false), moved(cables, true));
    let (kind, (first, second)) = match item {
        Item::CableMissing { cable: c } => ("missing", (cable(c), none())),
        Item::CableAdded { cable: c } => ("added", (none(), cable(c))),
        Item::WrongPort { cable } => ("port", both(std::slice::from_ref(cable))),
        Item::WrongNode { cable } => ("node", both(std::slice::from_ref(cable))),
        Item::Exchanged { cables, .. } => ("exchanged", both(cables)),
        Item::Permuted { cables } => ("permuted", both(cables)),
        Item::Rate { cable: c, .. } => ("rate", (cable(c), cable(c))),
        Item::Length { cable: c, .. } => ("length", (cable(c), cable(c))),
        Item::LinkState { cable: c, .. } => ("state", (cable(c), cable(c))),
        other => panic!("{other}"),
    };
    (kind, first, second)
}

/// Faults under construction: the changed links, and the differences that are expected.
struct Faults<'a> {
    base: &'a Topology,
    links: Vec<Link>,
    /// Links that no fault has touched.
    untouched: Vec<usize>,
    expected: Vec<Said>,
    random: ChaCha8Rng,
}

impl Faults<'_> {
    fn name(&self, end: Endpoint) -> String {
        match end.node {
            NodeId::Switch(_) => self.base.endpoint_name(end),
            NodeId::Host(_) => self.base.node_name(end.node).to_owned(),
        }
    }

    fn wire(&self, link: &Link) -> String {
        wire(self.name(link.a), self.name(link.b))
    }

    fn take(&mut self) -> usize {
        let at = self.random.random_range(0..self.untouched.len());
        self.untouched.swap_remove(at)
    }

    /// A port of a switch that nothing is plugged into, before or after.
    fn free_port(&mut self, switch: SwitchId) -> Endpoint {
        let ports = self.base.switch(switch).ports;
        let used = |port: u16| {
            let end = Endpoint {
                node: NodeId::Switch(switch),
                port: PortId::new(port),
            };
            let links = self.links.iter().chain(self.base.links());
            (
                end,
                links.into_iter().any(|link| link.a == end || link.b == end),
            )
        };
        let free: Vec<Endpoint> = (1..=ports)
            .map(used)
            .filter_map(|(end, used)| (!used).then_some(end))
            .collect();
        free[self.random.random_range(0..free.len())]
    }

    /// An end of a link that is at a switch; the other end, and whether it was turned.
    fn turned(&mut self, at: usize) -> bool {
        let link = &self.links[at];
        match (link.a.node, link.b.node) {
            (NodeId::Host(_), _) => false,
            (_, NodeId::Host(_)) => true,
            _ => self.random.random(),
        }
    }

    fn say(&mut self, kind: &'static str, before: &[usize], old: &[Link]) {
        let first = old.iter().map(|link| self.wire(link)).collect();
        let second = before
            .iter()
            .map(|at| self.wire(&self.links[*at]))
            .collect();
        self.expected.push((kind, first, second));
    }

    /// Each of these cables gets the end of the next one.
    fn rotate(&mut self, kind: &'static str, count: usize) -> Option<()> {
        let at: Vec<usize> = (0..count).map(|_| self.take()).collect();
        let old: Vec<Link> = at.iter().map(|at| self.links[*at].clone()).collect();
        let ends: Vec<Endpoint> = old.iter().map(|link| link.b).collect();
        for (number, at) in at.iter().enumerate() {
            let link = &mut self.links[*at];
            link.b = ends[(number + 1) % count];
            let hosts = [link.a, link.b]
                .iter()
                .filter(|e| matches!(e.node, NodeId::Host(_)))
                .count();
            if link.a.node == link.b.node || hosts == 2 {
                return None;
            }
        }
        self.say(kind, &at, &old);
        Some(())
    }

    /// Moves an end to a free port of the same switch, or of another.
    fn replug(&mut self, kind: &'static str) -> Option<()> {
        let at = self.take();
        let old = self.links[at].clone();
        let first = self.turned(at);
        let moved = if first { old.a } else { old.b };
        let stays = if first { old.b } else { old.a };
        let NodeId::Switch(here) = moved.node else {
            return None;
        };
        let to = match kind {
            "port" => here,
            _ => {
                let count = self.base.switches().len();
                switch(self.random.random_range(0..count))
            }
        };
        if (kind == "node" && to == here) || stays.node == NodeId::Switch(to) {
            return None;
        }
        let free = self.free_port(to);
        let link = &mut self.links[at];
        *(if first { &mut link.a } else { &mut link.b }) = free;
        self.say(kind, &[at], &[old]);
        Some(())
    }

    fn add(&mut self) -> Option<()> {
        let count = self.base.switches().len();
        let [x, y] = [0; 2].map(|_| switch(self.random.random_range(0..count)));
        if x == y {
            return None;
        }
        let (a, b) = (self.free_port(x), self.free_port(y));
        let like = self.base.links()[0].clone();
        self.links.push(Link { a, b, ..like });
        let second = BTreeSet::from([wire(self.name(a), self.name(b))]);
        self.expected.push(("added", BTreeSet::new(), second));
        Some(())
    }

    fn change(&mut self, kind: &'static str) -> Option<()> {
        let at = self.take();
        let old = self.links[at].clone();
        let link = &mut self.links[at];
        match kind {
            "rate" => link.rate = BitRate::new(link.rate.get() / 10),
            "length" => link.length = Metres::new(link.length.get() + 7),
            _ => link.up = false,
        }
        self.say(kind, &[at], &[old]);
        Some(())
    }

    /// Removes a cable between switches, after all others have their places.
    fn remove(&mut self) -> Option<()> {
        let between = |link: &Link| {
            matches!(
                (link.a.node, link.b.node),
                (NodeId::Switch(_), NodeId::Switch(_))
            )
        };
        let at = *self
            .untouched
            .iter()
            .rev()
            .find(|at| between(&self.links[**at]))?;
        let link = self.links.remove(at);
        self.expected.push((
            "missing",
            BTreeSet::from([self.wire(&link)]),
            BTreeSet::new(),
        ));
        Some(())
    }

    fn one(&mut self, which: u32) -> Option<()> {
        match which {
            0 => self.rotate("exchanged", 2),
            1 => self.rotate("permuted", 3),
            2 => self.replug("port"),
            3 => self.replug("node"),
            4 => self.add(),
            5 => self.change("rate"),
            6 => self.change("length"),
            _ => self.change("state"),
        }
    }
}

/// A network with one fault or two, and the differences that are expected; `None` if the faults
/// make no valid network.
fn faulty(base: &Topology, seed: u64) -> Option<(Topology, Vec<Said>)> {
    let mut faults = Faults {
        base,
        links: base.links().to_vec(),
        untouched: (0..base.links().len()).collect(),
        expected: Vec::new(),
        random: ChaCha8Rng::seed_from_u64(seed),
    };
    for _ in 0..1 + seed % 2 {
        let which = faults.random.random_range(0..8);
        faults.one(which)?;
    }
    if faults.random.random_range(0..4) == 0 {
        faults.remove()?;
    }
    let Faults {
        mut expected,
        links,
        ..
    } = faults;
    expected.sort();
    Some((rebuilt(base, base.switches().to_vec(), links)?, expected))
}

/// A difference the other way round.
fn mirrored(item: &Item) -> Item {
    let back = |c: &Reconnected| Reconnected {
        end: c.end.clone(),
        from: c.to.clone(),
        to: c.from.clone(),
    };
    let all = |cables: &[Reconnected]| {
        let mut cables: Vec<Reconnected> = cables.iter().map(back).collect();
        cables.sort();
        cables
    };
    match item.clone() {
        Item::CableMissing { cable } => Item::CableAdded { cable },
        Item::CableAdded { cable } => Item::CableMissing { cable },
        Item::WrongPort { cable } => Item::WrongPort {
            cable: back(&cable),
        },
        Item::WrongNode { cable } => Item::WrongNode {
            cable: back(&cable),
        },
        Item::Exchanged { cables, at } => Item::Exchanged {
            cables: all(&cables),
            at,
        },
        Item::Permuted { cables } => Item::Permuted {
            cables: all(&cables),
        },
        Item::Rate { cable, from, to } => Item::Rate {
            cable,
            from: to,
            to: from,
        },
        Item::Length { cable, from, to } => Item::Length {
            cable,
            from: to,
            to: from,
        },
        Item::LinkState { cable, up } => Item::LinkState { cable, up: !up },
        other => other,
    }
}

fn sorted(items: impl IntoIterator<Item = Item>) -> Vec<String> {
    let mut lines: Vec<String> = items.into_iter().map(|item| format!("{item:?}")).collect();
    lines.sort();
    lines
}

#[test]
fn every_fault_is_named_exactly() {
    let mut tried = 0;
    for base in networks() {
        for seed in 0..FAULTS_EACH {
            let Some((changed, expected)) = faulty(&base, seed) else {
                continue;
            };
            tried += 1;
            let there = Comparison::new(&base, &changed, MatchBy::Auto).difference();
            let mut found: Vec<Said> = there.items.iter().map(said).collect();
            found.sort();
            assert_eq!(found, expected, "{} seed {seed}: {there}", base.name());
            let back = Comparison::new(&changed, &base, MatchBy::Auto).difference();
            let mirror = there.items.iter().map(mirrored);
            assert_eq!(
                sorted(back.items),
                sorted(mirror),
                "{} seed {seed}",
                base.name()
            );
        }
    }
    assert!(tried > 400, "{tried} networks with faults");
}

#[test]
fn a_network_does_not_differ_from_itself() {
    for base in networks() {
        for by in [MatchBy::Auto, MatchBy::Name, MatchBy::Structure] {
            let found = Comparison::new(&base, &base, by).difference();
            assert!(found.is_empty(), "{}: {found}", base.name());
        }
    }
}

/// The same network with other names, its switches in another order.
fn renamed(base: &Topology) -> Topology {
    let count = base.switches().len();
    let place = |id: SwitchId| (id.index() * 7 + 3) % count;
    let mut switches: Vec<Option<Switch>> = vec![None; count];
    for id in base.switch_ids() {
        let name = format!("other-{}", id.index());
        switches[place(id)] = Some(Switch {
            name,
            ..base.switch(id).clone()
        });
    }
    let moved = |end: Endpoint| match end.node {
        NodeId::Switch(id) => Endpoint {
            node: NodeId::Switch(switch(place(id))),
            ..end
        },
        NodeId::Host(_) => end,
    };
    let links = base.links().iter().map(|link| Link {
        a: moved(link.a),
        b: moved(link.b),
        ..link.clone()
    });
    let mut hosts = base.hosts().to_vec();
    for (number, host) in hosts.iter_mut().enumerate() {
        host.name = format!("server-{number}");
    }
    let switches = switches.into_iter().flatten().collect();
    Topology::new("other".to_owned(), switches, hosts, links.collect()).expect("a valid network")
}

fn without_names(found: &Difference) -> Vec<Item> {
    let items = found.items.iter();
    let kept = items.filter(|item| !matches!(item, Item::NodeName { .. }));
    kept.cloned().collect()
}

#[test]
fn networks_without_a_name_in_common_are_matched_by_structure() {
    for base in networks() {
        if base.switches().len() % 7 == 0 {
            continue;
        }
        let other = renamed(&base);
        let found = Comparison::new(&base, &other, MatchBy::Auto).difference();
        assert_eq!(found.matched_by, MatchedBy::Structure);
        assert_eq!(without_names(&found), [], "{}: {found}", base.name());
        let by_name = Comparison::new(&base, &other, MatchBy::Name).difference();
        assert_eq!(by_name.matched_by, MatchedBy::Name);
        let missing = |item: &&Item| matches!(item, Item::NodeMissing { .. });
        let nodes = base.switches().len() + base.hosts().len();
        assert_eq!(by_name.items.iter().filter(missing).count(), nodes);
    }
}

#[test]
fn one_fault_is_found_by_structure_too() {
    for base in networks() {
        if base.switches().len() % 7 == 0 {
            continue;
        }
        let last = base.links().len() - 1;
        let mut links = base.links().to_vec();
        links.remove(last);
        let Some(missing) = rebuilt(&base, base.switches().to_vec(), links) else {
            continue;
        };
        let found = Comparison::new(&base, &renamed(&missing), MatchBy::Auto).difference();
        let rest = without_names(&found);
        assert!(
            matches!(rest[..], [Item::CableMissing { .. }]),
            "{}: {found}",
            base.name()
        );
    }
}

#[test]
fn what_structure_cannot_tell_apart_is_counted() {
    let ring = |hosts| Ring {
        switches: 6,
        hosts,
        cables: Cables::default(),
    };
    let base = ring(1).generate().expect("a ring");
    let found = Comparison::new(&base, &renamed_ring(&base), MatchBy::Auto).difference();
    assert_eq!(found.ambiguous_switches, 6, "{found}");
    assert_eq!(without_names(&found), []);
    assert!(
        found
            .to_string()
            .contains("does not distinguish 6 switches")
    );
}

fn renamed_ring(base: &Topology) -> Topology {
    let mut switches = base.switches().to_vec();
    for switch in &mut switches {
        switch.name = format!("x-{}", switch.name);
    }
    let mut hosts = base.hosts().to_vec();
    for host in &mut hosts {
        host.name = format!("x-{}", host.name);
    }
    let links = base.links().to_vec();
    Topology::new("x".to_owned(), switches, hosts, links).expect("a valid network")
}

#[test]
fn ports_are_matched_by_name_where_both_networks_have_names() {
    let text = |names: [&str; 2], ports: [u16; 2]| {
        format!(
            r#"{{"format": "switchwright-topology", "version": 1, "name": "n",
            "switches": [
              {{"name": "s1", "ports": 9, "interfaces": {{"{p}": "{}", "{q}": "{}"}}}},
              {{"name": "s2", "ports": 9}}],
            "hosts": [{{"name": "h1"}}],
            "links": [{{"a": "s1:{p}", "b": "h1:0"}}, {{"a": "s1:{q}", "b": "s2:1"}}]}}"#,
            names[0],
            names[1],
            p = ports[0],
            q = ports[1]
        )
    };
    let read = |text: String| Topology::from_json(&text).expect("a topology");
    let a = read(text(["Ethernet1", "Ethernet49"], [1, 2]));
    let b = read(text(["Ethernet1", "Ethernet49"], [7, 9]));
    let found = Comparison::new(&a, &b, MatchBy::Auto).difference();
    assert!(found.is_empty(), "{found}");
    let crossed = read(text(["Ethernet49", "Ethernet1"], [7, 9]));
    let found = Comparison::new(&a, &crossed, MatchBy::Auto).difference();
    let lines = found.to_string();
    assert!(
        lines.contains("s1 Ethernet1") && lines.contains("exchanged at s1"),
        "{lines}"
    );
    let other = read(text(["swp1", "swp49"], [1, 2]));
    let found = Comparison::new(&a, &other, MatchBy::Auto).difference();
    assert_eq!(
        found.to_string(),
        "s1 Ethernet1 is called swp1\ns1 Ethernet49 is called swp49\n"
    );
}

#[test]
fn a_swap_of_two_leaves_at_a_spine_is_one_line() {
    let clos = Clos {
        leaves: 4,
        spines: 2,
        hosts: 2,
        parallel: 1,
        cables: Cables::default(),
    };
    let base = clos.generate().expect("a Clos");
    let mut links = base.links().to_vec();
    let [x, y] = ["leaf1-spine1", "leaf2-spine1"].map(|name| base.link_named(name).expect(name));
    let far = [links[x.index()].b, links[y.index()].b];
    links[x.index()].b = far[1];
    links[y.index()].b = far[0];
    let changed = rebuilt(&base, base.switches().to_vec(), links).expect("a valid network");
    let found = Comparison::new(&base, &changed, MatchBy::Auto).difference();
    assert_eq!(
        found.to_string(),
        "leaf1 port 3 and leaf2 port 3 are exchanged at spine1: leaf1 port 3 leads to spine1 port 2, not to port 1; \
         leaf2 port 3 leads to spine1 port 1, not to port 2\n"
    );
}

#[test]
fn a_switch_that_is_replaced_under_another_name_is_told_as_renamed() {
    let base = &networks()[0];
    let mut switches = base.switches().to_vec();
    let last = switches.len() - 1;
    switches[last].name = "core9".to_owned();
    let changed = rebuilt(base, switches, base.links().to_vec()).expect("a valid network");
    let found = Comparison::new(base, &changed, MatchBy::Auto).difference();
    assert_eq!(found.to_string(), "switch spine3 is called core9\n");
    let by_name = Comparison::new(base, &changed, MatchBy::Name).difference();
    let kinds: Vec<&str> = by_name
        .items
        .iter()
        .map(|item| match item {
            Item::NodeMissing { cables, .. } if cables.is_empty() => "missing",
            Item::NodeAdded { cables, .. } if cables.is_empty() => "added",
            Item::WrongNode { .. } => "node",
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(kinds[..2], ["missing", "added"]);
    assert_eq!(kinds.len(), 2 + 12);
}

#[test]
fn the_second_network_is_told_in_the_terms_of_the_first() {
    for base in networks() {
        let other = renamed_ring(&base);
        let comparison = Comparison::new(&base, &other, MatchBy::Auto);
        let told = comparison.second_as_first();
        assert_eq!(told.switches(), base.switches());
        let ends = |t: &Topology| {
            let mut ends: Vec<_> = t
                .links()
                .iter()
                .map(|l| (l.a.min(l.b), l.a.max(l.b)))
                .collect();
            ends.sort_unstable();
            ends
        };
        assert_eq!(ends(&told), ends(&base));
        let same = comparison.first_in_state_of_second();
        assert_eq!(same, base);
    }
}

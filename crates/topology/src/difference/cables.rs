//! Differences of cables: paths and cycles of slots in which both networks alternate.

use std::collections::{BTreeMap, BTreeSet};

use super::Comparison;
use super::item::{Cable, Item, Reconnected};
use super::nodes::{all, count};
use super::ports::{Slot, kind};
use crate::model::Topology;

/// The differences of nodes and cables, nodes first.
pub(super) fn items(comparison: &Comparison<'_>) -> Vec<Item> {
    let changes = Changes::new(comparison);
    let (mut lone_a, mut lone_b) = (BTreeMap::new(), BTreeMap::new());
    let mut items = Vec::new();
    for chain in changes.chains() {
        match changes.lone(&chain) {
            Some(Lone::Missing(node, cable)) => push(&mut lone_a, node, cable),
            Some(Lone::Added(node, cable)) => push(&mut lone_b, node, cable),
            None => items.extend(changes.item(&chain)),
        }
    }
    let mut all = nodes(comparison, lone_a, lone_b);
    all.extend(items);
    all
}

type ByNode = BTreeMap<usize, Vec<Cable>>;

fn push(cables: &mut ByNode, node: usize, cable: Cable) {
    cables.entry(node).or_default().push(cable);
}

/// Nodes that only one network has, with their cables, and nodes of another name or kind.
fn nodes(comparison: &Comparison<'_>, mut lone_a: ByNode, mut lone_b: ByNode) -> Vec<Item> {
    let Comparison { a, b, nodes, .. } = comparison;
    let mut items = Vec::new();
    for (number, node) in all(a).enumerate() {
        let name = a.node_name(node).to_owned();
        let Some(other) = nodes.partner_of_a(node) else {
            items.push(Item::NodeMissing {
                node: name,
                what: kind(node),
                cables: lone_a.remove(&number).unwrap_or_default(),
            });
            continue;
        };
        let (from, to) = (kind(node), kind(other));
        if from != to {
            let node = name.clone();
            items.push(Item::NodeKind { node, from, to });
        }
        if b.node_name(other) != name {
            items.push(Item::NodeName {
                what: from,
                from: name,
                to: b.node_name(other).to_owned(),
            });
        }
    }
    for (number, node) in all(b).enumerate() {
        if nodes.partner_of_b(node).is_none() {
            items.push(Item::NodeAdded {
                node: b.node_name(node).to_owned(),
                what: kind(node),
                cables: lone_b.remove(&(count(a) + number)).unwrap_or_default(),
            });
        }
    }
    items
}

/// A cable that is in one network only because one of its nodes is.
enum Lone {
    Missing(usize, Cable),
    Added(usize, Cable),
}

/// Slots in a row; each is joined with the next one by a cable that only one network has.
struct Chain {
    slots: Vec<Slot>,
    /// Whether the first cable is in the first network; the networks alternate.
    begins_in_a: bool,
    /// Whether a cable joins the last slot with the first.
    closed: bool,
}

/// The cables that are in one network only: where each of their slots leads.
struct Changes<'a> {
    a: &'a Topology,
    b: &'a Topology,
    comparison: &'a Comparison<'a>,
    /// In the first network.
    from: BTreeMap<Slot, Slot>,
    /// In the second.
    to: BTreeMap<Slot, Slot>,
}

impl<'a> Changes<'a> {
    fn new(comparison: &'a Comparison<'a>) -> Self {
        let slots = &comparison.slots;
        let (mut from, mut to) = (BTreeMap::new(), BTreeMap::new());
        let far = |pair: &[Slot; 2], slot: Slot| if pair[0] == slot { pair[1] } else { pair[0] };
        let in_b = |slot: Slot| Some(far(&slots.of_b[slots.link_b(slot)?.index()], slot));
        let in_a = |slot: Slot| Some(far(&slots.of_a[slots.link_a(slot)?.index()], slot));
        for &[x, y] in slots.of_a.iter().filter(|[x, y]| in_b(*x) != Some(*y)) {
            from.extend([(x, y), (y, x)]);
        }
        for &[x, y] in slots.of_b.iter().filter(|[x, y]| in_a(*x) != Some(*y)) {
            to.extend([(x, y), (y, x)]);
        }
        Self {
            a: comparison.a,
            b: comparison.b,
            comparison,
            from,
            to,
        }
    }

    /// All paths, then all cycles, each by its lowest end or slot.
    fn chains(&self) -> Vec<Chain> {
        let slots: BTreeSet<Slot> = self.from.keys().chain(self.to.keys()).copied().collect();
        let mut seen = BTreeSet::new();
        let mut chains = Vec::new();
        let is_end = |slot: &Slot| self.from.contains_key(slot) != self.to.contains_key(slot);
        for slot in slots.iter().filter(|slot| is_end(slot)) {
            if !seen.contains(slot) {
                let begins_in_a = self.from.contains_key(slot);
                chains.push(self.chain(*slot, begins_in_a, &mut seen));
            }
        }
        for slot in &slots {
            if !seen.contains(slot) {
                chains.push(self.chain(*slot, true, &mut seen));
            }
        }
        chains
    }

    fn chain(&self, start: Slot, begins_in_a: bool, seen: &mut BTreeSet<Slot>) -> Chain {
        let mut slots = vec![start];
        let mut in_a = begins_in_a;
        let mut at = start;
        seen.insert(start);
        let closed = loop {
            let step = if in_a { &self.from } else { &self.to };
            match step.get(&at) {
                None => break false,
                Some(next) if *next == start => break true,
                Some(next) => at = *next,
            }
            seen.insert(at);
            slots.push(at);
            in_a = !in_a;
        };
        Chain {
            slots,
            begins_in_a,
            closed,
        }
    }

    fn cable(&self, a: Slot, b: Slot) -> Cable {
        Cable::new(self.name(a), self.name(b))
    }

    fn name(&self, slot: Slot) -> super::End {
        self.comparison.slots.name(slot, self.a, self.b)
    }

    /// A single cable of a node that is in one network only.
    fn lone(&self, chain: &Chain) -> Option<Lone> {
        let [x, y] = chain.slots[..] else { return None };
        let nodes = &self.comparison.nodes;
        let known = count(self.a);
        let only_a = |slot: &&Slot| nodes.of_a.get(slot.node).is_some_and(Option::is_none);
        let only_b = |slot: &&Slot| slot.node >= known;
        let cable = || self.cable(x, y);
        if chain.begins_in_a {
            let slot = [x, y].iter().find(only_a).copied()?;
            Some(Lone::Missing(slot.node, cable()))
        } else {
            let slot = [x, y].iter().find(only_b).copied()?;
            Some(Lone::Added(slot.node, cable()))
        }
    }

    /// Every other slot, with where it leads in both networks.
    fn reconnected(&self, slots: &[Slot]) -> Vec<Reconnected> {
        let name = |slot: Option<&Slot>| slot.map(|slot| self.name(*slot));
        let ends = slots.iter().map(|slot| Reconnected {
            end: self.name(*slot),
            from: name(self.from.get(slot)),
            to: name(self.to.get(slot)),
        });
        let mut ends: Vec<Reconnected> = ends.collect();
        ends.sort();
        ends
    }

    /// The slots by which a chain is described: every other one, so that each cable is described
    /// once.
    fn described(&self, chain: &Chain) -> Vec<Slot> {
        let every = |first: usize| chain.slots.iter().skip(first).step_by(2).copied();
        let (even, odd): (Vec<Slot>, Vec<Slot>) = (every(0).collect(), every(1).collect());
        if !chain.closed {
            // The second slot and the last but one have both cables, if one choice has all.
            return if even.len() > odd.len() {
                odd
            } else {
                self.lower(even, odd)
            };
        }
        let one_node = |slots: &[Slot]| slots.windows(2).all(|pair| pair[0].node == pair[1].node);
        match (one_node(&even), one_node(&odd)) {
            // They are exchanged where the others are.
            (true, false) => odd,
            (false, true) => even,
            _ => self.lower(even, odd),
        }
    }

    /// Those with the first name, so that the order of the networks does not matter.
    fn lower(&self, x: Vec<Slot>, y: Vec<Slot>) -> Vec<Slot> {
        let least = |slots: &[Slot]| slots.iter().map(|slot| self.name(*slot)).min();
        if least(&x) <= least(&y) { x } else { y }
    }

    fn item(&self, chain: &Chain) -> Option<Item> {
        if let ([x, y], false) = (&chain.slots[..], chain.closed) {
            let cable = self.cable(*x, *y);
            return Some(match chain.begins_in_a {
                true => Item::CableMissing { cable },
                false => Item::CableAdded { cable },
            });
        }
        let described = self.described(chain);
        let mut cables = self.reconnected(&described);
        if cables.len() > 1 {
            return Some(match (chain.closed, cables.len()) {
                (true, 2) => Item::Exchanged {
                    at: one_node(&cables),
                    cables,
                },
                _ => Item::Permuted { cables },
            });
        }
        let cable = cables.pop()?;
        let node = |end: &Option<super::End>| end.as_ref().map(|end| end.node.clone());
        Some(match node(&cable.from) == node(&cable.to) {
            true => Item::WrongPort { cable },
            false => Item::WrongNode { cable },
        })
    }
}

/// The node that all cables end at in the first network, if it is one.
fn one_node(cables: &[Reconnected]) -> Option<String> {
    let mut nodes = cables.iter().map(|cable| Some(&cable.from.as_ref()?.node));
    let first = nodes.next()??;
    nodes.all(|node| node == Some(first)).then(|| first.clone())
}

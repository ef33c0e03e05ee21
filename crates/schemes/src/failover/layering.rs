//! Putting sets of dependencies into as few acyclic layers as can be found.

use topology::{ArcId, Fabric};

use crate::acyclic::Acyclic;

/// The links of a network and which may follow which.
pub(super) struct Links<'a> {
    fabric: &'a Fabric,
    /// By arc: the number of its first pair; last how many pairs there are.
    first: Vec<u32>,
}

impl<'a> Links<'a> {
    pub(super) fn new(fabric: &'a Fabric) -> Self {
        let mut first = vec![0];
        let mut count = 0u32;
        for arc in fabric.arcs() {
            count += u32::try_from(fabric.out(arc.to).count()).unwrap_or(u32::MAX);
            first.push(count);
        }
        Self { fabric, first }
    }

    /// The number of a pair of arcs that follow each other.
    pub(super) fn pair(&self, arc: ArcId, next: ArcId) -> u32 {
        let start = self.fabric.out_range(self.fabric.arc(next).from).start;
        self.first[arc.index()] + u32::try_from(next.index()).unwrap_or(u32::MAX) - start
    }

    /// The first arc of a pair, and the place of the second among those that leave where it ends.
    pub(super) fn split(&self, pair: u32) -> (ArcId, usize) {
        let arc = self.first.partition_point(|&first| first <= pair) - 1;
        let place = (pair - self.first[arc]) as usize;
        (ArcId::new(u32::try_from(arc).unwrap_or(u32::MAX)), place)
    }

    /// Both arcs of a pair.
    fn ends(&self, pair: u32) -> (usize, usize) {
        let (arc, place) = self.split(pair);
        let start = self.fabric.out_range(self.fabric.arc(arc).to).start as usize;
        (arc.index(), start + place)
    }

    fn arcs(&self) -> usize {
        self.first.len() - 1
    }

    fn pairs(&self) -> usize {
        self.first.last().copied().unwrap_or(0) as usize
    }

    /// The pairs that begin with an arc, with the arcs that they end with.
    fn after(&self, arc: usize) -> impl DoubleEndedIterator<Item = (u32, usize)> + use<> {
        let from = self.first[arc];
        let start = self.fabric.out_range(self.fabric.arcs()[arc].to).start as usize;
        (from..self.first[arc + 1]).map(move |pair| (pair, start + (pair - from) as usize))
    }

    /// Whether pairs close no cycle.
    pub(super) fn is_acyclic(&self, pairs: &[u32]) -> bool {
        let mut out: std::collections::BTreeMap<usize, Vec<usize>> =
            std::collections::BTreeMap::new();
        let mut waiting: std::collections::BTreeMap<usize, u32> = std::collections::BTreeMap::new();
        for &pair in pairs {
            let (from, to) = self.ends(pair);
            out.entry(from).or_default().push(to);
            waiting.entry(from).or_default();
            *waiting.entry(to).or_default() += 1;
        }
        let mut free: Vec<usize> = waiting
            .iter()
            .filter(|(_, w)| **w == 0)
            .map(|(a, _)| *a)
            .collect();
        let mut done = 0;
        while let Some(arc) = free.pop() {
            done += 1;
            for next in out.get(&arc).into_iter().flatten() {
                if let Some(left) = waiting.get_mut(next) {
                    *left -= 1;
                    if *left == 0 {
                        free.push(*next);
                    }
                }
            }
        }
        done == waiting.len()
    }
}

/// The layer of every unit, a set of pairs, such that the pairs of a layer close no cycle, and how
/// many layers there are: as few as either method finds or are given, but spread over `least` if
/// there are fewer. No unit may be cyclic by itself.
pub(super) fn fewest(
    links: &Links<'_>,
    units: &[Vec<u32>],
    given: Option<(Vec<u8>, usize)>,
    least: usize,
) -> (Vec<u8>, usize) {
    let by_cycles = layers(links, units, cut_cycles);
    let by_order = layers(links, units, cut_by_order);
    let found = [Some(by_cycles), Some(by_order), given];
    let fewest = found.into_iter().flatten().min_by_key(|(_, count)| *count);
    let (mut layer, mut count) = fewest.unwrap_or_default();
    while count < least.min(units.len()) {
        spread(&mut layer, count);
        count += 1;
    }
    (layer, count)
}

/// Positions of the arcs such that few units lead backward.
pub(super) fn order_of(links: &Links<'_>, units: &[Vec<u32>]) -> Vec<u32> {
    let all: Vec<usize> = (0..units.len()).collect();
    order(links, &Layer::new(links, units, &all))
}

/// Units that are looked at for a clique.
const CANDIDATES: usize = 1000;

/// How many layers there must be: the size of a set of units of which no two fit into one layer,
/// found greedily among those that `layer` put highest.
pub(super) fn at_least(links: &Links<'_>, units: &[Vec<u32>], layer: &[u8]) -> usize {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by_key(|&unit| std::cmp::Reverse((layer[unit], units[unit].len())));
    let mut clique: Vec<usize> = Vec::new();
    for unit in order.into_iter().take(CANDIDATES) {
        let apart = clique.iter().all(|&other| {
            let mut both = [&units[unit][..], &units[other]].concat();
            both.sort_unstable();
            both.dedup();
            !links.is_acyclic(&both)
        });
        if apart {
            clique.push(unit);
        }
    }
    clique.len()
}

/// Moves every other unit of the fullest layer to a new one.
fn spread(layer: &mut [u8], count: usize) {
    let mut sizes = vec![0usize; count];
    for &layer in &*layer {
        sizes[usize::from(layer)] += 1;
    }
    let fullest = (0..count)
        .rev()
        .max_by_key(|&layer| sizes[layer])
        .unwrap_or(0);
    let members = layer
        .iter_mut()
        .filter(|layer| usize::from(**layer) == fullest);
    for member in members.skip(1).step_by(2) {
        *member = u8::try_from(count).unwrap_or(u8::MAX);
    }
}

/// Layer by layer: `cut` says which units must leave for the rest to be acyclic.
fn layers(
    links: &Links<'_>,
    units: &[Vec<u32>],
    cut: impl Fn(&Links<'_>, &mut Layer<'_>) -> Vec<usize>,
) -> (Vec<u8>, usize) {
    let mut layers = vec![0u8; units.len()];
    let mut present: Vec<usize> = (0..units.len()).collect();
    let mut number = 0usize;
    loop {
        for &unit in &present {
            layers[unit] = u8::try_from(number).unwrap_or(u8::MAX);
        }
        number += 1;
        let mut layer = Layer::new(links, units, &present);
        let moved = cut(links, &mut layer);
        let moved = layer.refill(links, moved);
        // A layer number is a byte; what needs more is refused by whoever asked.
        if moved.is_empty() || number > usize::from(u8::MAX) {
            return (layers, number);
        }
        present = moved;
    }
}

/// The units of a layer and what they use.
struct Layer<'u> {
    units: &'u [Vec<u32>],
    there: Vec<bool>,
    /// By pair: how many units of the layer use it.
    count: Vec<u32>,
    /// By pair: the units that used it at first.
    users: Vec<Vec<u32>>,
}

impl<'u> Layer<'u> {
    fn new(links: &Links<'_>, units: &'u [Vec<u32>], present: &[usize]) -> Self {
        let mut layer = Self {
            units,
            there: vec![false; units.len()],
            count: vec![0; links.pairs()],
            users: vec![Vec::new(); links.pairs()],
        };
        for &unit in present {
            layer.there[unit] = true;
            for &pair in &units[unit] {
                layer.count[pair as usize] += 1;
                layer.users[pair as usize].push(u32::try_from(unit).unwrap_or(u32::MAX));
            }
        }
        layer
    }

    /// Takes all units that use a pair out of the layer.
    fn clear(&mut self, pair: u32, moved: &mut Vec<usize>) {
        for unit in std::mem::take(&mut self.users[pair as usize]) {
            let unit = unit as usize;
            if std::mem::replace(&mut self.there[unit], false) {
                moved.push(unit);
                for &pair in &self.units[unit] {
                    self.count[pair as usize] -= 1;
                }
            }
        }
    }
}

impl Layer<'_> {
    /// Takes units back that close no cycle after all, those first that bring the fewest pairs;
    /// what is left out. (Ours: a cut takes out more than it must, for later cuts break the same
    /// cycles.)
    fn refill(&mut self, links: &Links<'_>, mut moved: Vec<usize>) -> Vec<usize> {
        if moved.is_empty() {
            return moved;
        }
        let mut graph = Acyclic::new(links.arcs());
        let used = (0..links.arcs())
            .flat_map(|arc| links.after(arc).map(move |(pair, to)| (arc, pair, to)));
        let used = used.filter(|&(_, pair, _)| self.count[pair as usize] > 0);
        let number = |arc: usize| u32::try_from(arc).unwrap_or(u32::MAX);
        graph.fill(used.map(|(arc, _, to)| (number(arc), number(to))));
        let fresh = |layer: &Self, unit: usize| {
            let pairs = layer.units[unit].iter();
            pairs
                .filter(|&&pair| layer.count[pair as usize] == 0)
                .count()
        };
        moved.sort_by_cached_key(|&unit| fresh(self, unit));
        moved.retain(|&unit| !self.take_back(links, &mut graph, unit));
        moved.sort_unstable();
        moved
    }

    /// Puts a unit into the layer if it closes no cycle.
    fn take_back(&mut self, links: &Links<'_>, graph: &mut Acyclic, unit: usize) -> bool {
        let mut added: Vec<(u32, u32)> = Vec::new();
        for &pair in &self.units[unit] {
            if self.count[pair as usize] > 0 {
                continue;
            }
            let (from, to) = links.ends(pair);
            let ends = (
                u32::try_from(from).unwrap_or(u32::MAX),
                u32::try_from(to).unwrap_or(u32::MAX),
            );
            if !graph.add(ends.0, ends.1) {
                added
                    .into_iter()
                    .for_each(|(from, to)| graph.remove(from, to));
                return false;
            }
            added.push(ends);
        }
        self.there[unit] = true;
        for &pair in &self.units[unit] {
            self.count[pair as usize] += 1;
        }
        true
    }
}

/// DFSSSP (Domke11): finds a cycle, takes out the units of its least used pair, and goes on until
/// there is none.
fn cut_cycles(links: &Links<'_>, layer: &mut Layer<'_>) -> Vec<usize> {
    let mut moved = Vec::new();
    let mut done = vec![false; links.arcs()];
    for start in 0..links.arcs() {
        while let Some(cycle) = find_cycle(links, layer, start, &mut done) {
            let least = cycle
                .into_iter()
                .min_by_key(|&pair| layer.count[pair as usize]);
            if let Some(pair) = least {
                layer.clear(pair, &mut moved);
            }
        }
    }
    moved.sort_unstable();
    moved
}

/// A cycle that the search from an arc meets. Arcs from which no cycle is met are marked done:
/// cutting pairs adds none.
fn find_cycle(
    links: &Links<'_>,
    layer: &Layer<'_>,
    start: usize,
    done: &mut [bool],
) -> Option<Vec<u32>> {
    if done[start] {
        return None;
    }
    let mut on_path = std::collections::BTreeMap::from([(start, 0usize)]);
    let mut path: Vec<(usize, u32)> = vec![(start, u32::MAX)];
    let mut ahead = vec![links.after(start)];
    while let Some(next) = ahead.last_mut() {
        let Some((pair, to)) = next.find(|&(pair, to)| layer.count[pair as usize] > 0 && !done[to])
        else {
            ahead.pop();
            if let Some((arc, _)) = path.pop() {
                done[arc] = true;
                on_path.remove(&arc);
            }
            continue;
        };
        if let Some(&depth) = on_path.get(&to) {
            let mut cycle: Vec<u32> = path[depth + 1..].iter().map(|&(_, pair)| pair).collect();
            cycle.push(pair);
            return Some(cycle);
        }
        on_path.insert(to, path.len());
        path.push((to, pair));
        ahead.push(links.after(to));
    }
    None
}

/// FAS-VC: orders the arcs so that little leads backward, and takes out the units that go there.
fn cut_by_order(links: &Links<'_>, layer: &mut Layer<'_>) -> Vec<usize> {
    let position = order(links, layer);
    let mut moved = Vec::new();
    for arc in 0..links.arcs() {
        for (pair, to) in links.after(arc) {
            if layer.count[pair as usize] > 0 && position[to] <= position[arc] {
                layer.clear(pair, &mut moved);
            }
        }
    }
    moved.sort_unstable();
    moved
}

/// The order of Eades93, weighted by how many units use a pair: sinks go to the back, sources to
/// the front, else the arc whose pairs lead out most.
fn order(links: &Links<'_>, layer: &Layer<'_>) -> Vec<u32> {
    let arcs = links.arcs();
    let mut into: Vec<Vec<(usize, u32)>> = vec![Vec::new(); arcs];
    let (mut leads_out, mut leads_in) = (vec![0i64; arcs], vec![0i64; arcs]);
    let used = (0..arcs).flat_map(|arc| links.after(arc).map(move |(pair, to)| (arc, pair, to)));
    for (arc, pair, to) in used.filter(|&(_, pair, _)| layer.count[pair as usize] > 0) {
        into[to].push((arc, pair));
        leads_out[arc] += i64::from(layer.count[pair as usize]);
        leads_in[to] += i64::from(layer.count[pair as usize]);
    }
    let mut left = vec![true; arcs];
    let mut position = vec![0u32; arcs];
    let (mut front, mut back) = (0u32, u32::try_from(arcs).unwrap_or(u32::MAX));
    let mut easy: Vec<usize> = (0..arcs).collect();
    for _ in 0..arcs {
        let sink_or_source = loop {
            let Some(arc) = easy.pop() else { break None };
            if left[arc] && (leads_out[arc] == 0 || leads_in[arc] == 0) {
                break Some(arc);
            }
        };
        let best = || {
            let open = (0..arcs).rev().filter(|&arc| left[arc]);
            open.max_by_key(|&arc| leads_out[arc] - leads_in[arc])
        };
        let Some(arc) = sink_or_source.or_else(best) else {
            break;
        };
        left[arc] = false;
        if leads_out[arc] == 0 {
            back -= 1;
            position[arc] = back;
        } else {
            position[arc] = front;
            front += 1;
        }
        for (pair, to) in links.after(arc) {
            leads_in[to] -= i64::from(layer.count[pair as usize]);
            easy.push(to);
        }
        for &(from, pair) in &into[arc] {
            leads_out[from] -= i64::from(layer.count[pair as usize]);
            easy.push(from);
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use topology::generate::{Cables, Jellyfish, JellyfishSize};

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn no_layer_has_a_cycle_and_no_unit_is_left_out(
            picks in prop::collection::vec(prop::collection::vec((0usize..1000, 0usize..1000), 1..6), 1..60),
            least in 0usize..6,
        ) {
            let size = JellyfishSize::Switches { switches: 8, fabric_ports: 4 };
            let jellyfish = Jellyfish { size, ports: 5, seed: 1, cables: Cables::default() };
            let topology = jellyfish.generate().expect("a topology");
            let fabric = Fabric::new(&topology);
            let links = Links::new(&fabric);
            let mut units: Vec<Vec<u32>> = picks
                .iter()
                .map(|pairs| {
                    let pair = |&(arc, place): &(usize, usize)| {
                        let after: Vec<_> = links.after(arc % links.arcs()).collect();
                        after[place % after.len()].0
                    };
                    let mut unit: Vec<u32> = pairs.iter().map(pair).collect();
                    unit.sort_unstable();
                    unit.dedup();
                    unit
                })
                .collect();
            units.retain(|unit| links.is_acyclic(unit));
            let (layer, count) = fewest(&links, &units, None, least);
            prop_assert!(at_least(&links, &units, &layer) <= count);
            prop_assert!(count >= least.min(units.len()));
            for number in 0..count {
                let members = units.iter().zip(&layer).filter(|(_, l)| usize::from(**l) == number);
                let mut pairs: Vec<u32> = members.flat_map(|(unit, _)| unit.iter().copied()).collect();
                pairs.sort_unstable();
                pairs.dedup();
                prop_assert!(links.is_acyclic(&pairs));
                prop_assert!(units.is_empty() || !pairs.is_empty());
            }
            prop_assert!(layer.iter().all(|l| usize::from(*l) < count));
        }
    }
}

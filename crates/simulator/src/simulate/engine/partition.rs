//! Which parts of a network are simulated beside each other: each with about as much to do, few
//! cables between them, and those long ones, for nothing that one part does is seen by another
//! before the shortest of them has been passed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::PeerPort;

/// The most parts.
pub(crate) const MAX_PARTS: u8 = u8::MAX;
/// How much more than its share a part may have to do, in percent, for longer cables between the
/// parts.
const UNEVEN: u64 = 10;

/// Cables that take fewer nanoseconds join switches to a group: in less time too little happens at
/// a switch.
const LEAST_LOOKAHEAD: u64 = 32;

/// See the module documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// How many parts there are.
    pub(crate) parts: u8,
    /// By switch and by host: its part.
    pub(crate) switches: Vec<u8>,
    pub(crate) hosts: Arc<[u8]>,
    /// What the shortest cable between two parts takes, in nanoseconds.
    pub(crate) lookahead: u64,
}

/// What has to be in one part: switches, by what they have to do, and cables to others.
#[derive(Debug, Default)]
struct Unit {
    work: u64,
    /// By other unit: how many cables.
    cables: BTreeMap<usize, u64>,
}

impl Partition {
    /// All in one part.
    pub(crate) fn whole(switches: usize, hosts: usize) -> Self {
        Self {
            parts: 1,
            switches: vec![0; switches],
            hosts: vec![0; hosts].into(),
            lookahead: u64::MAX,
        }
    }

    /// At most so many parts of a network: of its cables by switch and port, of what each switch
    /// and its hosts have to do, and by host where it is plugged in. The same for the same network,
    /// on any machine.
    pub(crate) fn new(
        cables: &[Vec<Option<PeerPort>>],
        work: &[u64],
        uplinks: &[PeerPort],
        parts: u8,
    ) -> Self {
        let homes = homes(uplinks);
        let between = between(cables, &homes);
        let mut delays: Vec<u64> = between.iter().map(|&(_, _, delay)| delay).collect();
        delays.sort_unstable();
        delays.dedup();
        // From the longest on: cables that are shorter are within a part.
        let mut found = None;
        while let Some(shortest) = delays.pop().filter(|delay| *delay > 0) {
            let tried = Tried::new(&between, work, parts, shortest);
            let better = found.as_ref().is_none_or(|f: &Tried| tried.most < f.most);
            if better {
                found = Some(tried);
            }
            if found.as_ref().is_some_and(|f| f.is_even(work, parts)) {
                break;
            }
        }
        let Some(found) = found.filter(|found| found.parts > 1) else {
            return Self::whole(cables.len(), uplinks.len());
        };
        let cut = between
            .iter()
            .filter(|(a, b, _)| found.part_of[*a] != found.part_of[*b]);
        Self {
            parts: found.parts,
            hosts: homes.iter().map(|&home| found.part_of[home]).collect(),
            lookahead: cut.map(|(_, _, delay)| *delay).min().unwrap_or(u64::MAX),
            switches: found.part_of,
        }
    }
}

/// By host: its switch.
pub(crate) fn homes(uplinks: &[PeerPort]) -> Vec<usize> {
    uplinks.iter().map(|far| far.node as usize).collect()
}

/// Switches that one thread simulates together for a while before it turns to others (see
/// [`calendar`](super::calendar)): those that are joined by the shortest cables, mostly each alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Near {
    /// By switch.
    pub(crate) group_of: Vec<usize>,
    /// How many groups there are.
    pub(crate) count: usize,
    /// What the shortest cable between two groups takes, in nanoseconds.
    pub(crate) lookahead: u64,
}

/// The groups of a network of these cables, of hosts at these switches.
pub(crate) fn near(cables: &[Vec<Option<PeerPort>>], homes: &[usize]) -> Near {
    let between = between(cables, homes);
    let group_of = joined(&between, cables.len(), LEAST_LOOKAHEAD);
    let cut = between
        .iter()
        .filter(|(a, b, _)| group_of[*a] != group_of[*b]);
    Near {
        lookahead: cut.map(|(_, _, delay)| *delay).min().unwrap_or(u64::MAX),
        count: group_of.iter().max().map_or(0, |last| last + 1),
        group_of,
    }
}

/// Cables between switches, and those of hosts to other switches than their first, as two switches
/// and a delay.
fn between(cables: &[Vec<Option<PeerPort>>], homes: &[usize]) -> Vec<(usize, usize, u64)> {
    let mut found = Vec::new();
    for (switch, ports) in cables.iter().enumerate() {
        for far in ports.iter().flatten() {
            let node = far.node as usize;
            let other = match far.host {
                true => homes.get(node).copied().unwrap_or(switch),
                false => node,
            };
            if other != switch {
                found.push((switch, other, far.delay));
            }
        }
    }
    found
}

/// One way to part a network.
struct Tried {
    parts: u8,
    /// By switch.
    part_of: Vec<u8>,
    /// What the part with the most to do has to do.
    most: u64,
}

impl Tried {
    /// Cables that take less than `shortest` are within parts.
    fn new(between: &[(usize, usize, u64)], work: &[u64], parts: u8, shortest: u64) -> Self {
        let unit_of = joined(between, work.len(), shortest);
        let mut units: Vec<Unit> = Vec::new();
        for (switch, &unit) in unit_of.iter().enumerate() {
            if units.len() <= unit {
                units.resize_with(unit + 1, Unit::default);
            }
            units[unit].work += work[switch];
        }
        for &(a, b, _) in between {
            let (a, b) = (unit_of[a], unit_of[b]);
            if a != b {
                *units[a].cables.entry(b).or_default() += 1;
            }
        }
        let (parts_of_units, parts) = grown(&units, parts);
        let mut sums = vec![0; usize::from(parts)];
        for (unit, part) in units.iter().zip(&parts_of_units) {
            sums[usize::from(*part)] += unit.work;
        }
        Self {
            parts,
            part_of: unit_of.iter().map(|&unit| parts_of_units[unit]).collect(),
            most: sums.into_iter().max().unwrap_or(0),
        }
    }

    /// Whether no part has much more to do than its share of so many.
    fn is_even(&self, work: &[u64], parts: u8) -> bool {
        let share = work.iter().sum::<u64>() / u64::from(parts.max(1));
        self.most * 100 <= share * (100 + UNEVEN)
    }
}

/// The number of each switch's unit: cables that take less than `shortest` join switches. Units are
/// numbered in the order of their first switches.
fn joined(between: &[(usize, usize, u64)], switches: usize, shortest: u64) -> Vec<usize> {
    let mut first: Vec<usize> = (0..switches).collect();
    let root = |first: &mut Vec<usize>, mut at: usize| {
        while first[at] != at {
            first[at] = first[first[at]];
            at = first[at];
        }
        at
    };
    for &(a, b, _) in between.iter().filter(|(_, _, delay)| *delay < shortest) {
        let (a, b) = (root(&mut first, a), root(&mut first, b));
        let (low, high) = (a.min(b), a.max(b));
        first[high] = low;
    }
    let mut numbers = BTreeMap::new();
    let mut units = Vec::with_capacity(switches);
    for switch in 0..switches {
        let next = numbers.len();
        let at = root(&mut first, switch);
        units.push(*numbers.entry(at).or_insert(next));
    }
    units
}

/// The part of each unit, and how many parts there are: each grows from its first unit by the one
/// that has the most cables to it, until it has its share of what is left.
fn grown(units: &[Unit], parts: u8) -> (Vec<u8>, u8) {
    let parts = usize::from(parts.max(1)).min(units.len().max(1));
    let mut part_of: Vec<Option<u8>> = vec![None; units.len()];
    let mut left: u64 = units.iter().map(|unit| unit.work).sum();
    let mut free = units.len();
    let mut lowest = 0;
    for part in 0..parts {
        let others = parts - part - 1;
        let share = left / (others as u64 + 1);
        let mut own = 0;
        let mut near: BTreeMap<usize, u64> = BTreeMap::new();
        while free > others {
            while part_of.get(lowest).is_some_and(Option::is_some) {
                lowest += 1;
            }
            let closest = near
                .iter()
                .max_by_key(|&(unit, cables)| (cables, std::cmp::Reverse(unit)));
            let next = closest.map_or(lowest, |(unit, _)| *unit);
            let Some(unit) = units.get(next) else {
                break;
            };
            // The last one takes all that is left; none takes nothing.
            if others > 0 && own > 0 && own + unit.work / 2 > share {
                break;
            }
            part_of[next] = Some(part as u8);
            near.remove(&next);
            own += unit.work.max(1);
            left -= unit.work;
            free -= 1;
            for (&other, cables) in &unit.cables {
                if part_of[other].is_none() {
                    *near.entry(other).or_default() += cables;
                }
            }
        }
    }
    let part_of = part_of.into_iter().map(Option::unwrap_or_default).collect();
    (part_of, parts as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn far(host: bool, node: u32, delay: u64) -> Option<PeerPort> {
        Some(PeerPort {
            host,
            shard: 0,
            port: 1,
            node,
            delay,
        })
    }

    /// A line of switches, each with a host, with cables of these delays between them.
    fn line(delays: &[u64]) -> (Vec<Vec<Option<PeerPort>>>, Vec<PeerPort>) {
        let switches = delays.len() + 1;
        let mut cables = vec![Vec::new(); switches];
        for (at, &delay) in delays.iter().enumerate() {
            cables[at].push(far(false, at as u32 + 1, delay));
            cables[at + 1].push(far(false, at as u32, delay));
        }
        let mut uplinks = Vec::new();
        for (switch, ports) in cables.iter_mut().enumerate() {
            ports.push(far(true, switch as u32, 50));
            uplinks.extend(far(false, switch as u32, 50));
        }
        (cables, uplinks)
    }

    fn parts(delays: &[u64], count: u8) -> Partition {
        let (cables, uplinks) = line(delays);
        Partition::new(&cables, &vec![10; cables.len()], &uplinks, count)
    }

    #[test]
    fn parts_are_even_and_hosts_are_with_their_switch() {
        let found = parts(&[500; 5], 2);
        assert_eq!(found.switches, [0, 0, 0, 1, 1, 1]);
        assert_eq!(found.hosts[..], [0, 0, 0, 1, 1, 1]);
        assert_eq!((found.parts, found.lookahead), (2, 500));
    }

    #[test]
    fn cables_between_parts_are_long_ones_if_parts_stay_even() {
        let found = parts(&[5, 5, 500, 5, 5], 2);
        assert_eq!(
            (found.switches, found.lookahead),
            (vec![0, 0, 0, 1, 1, 1], 500)
        );
        // Here they would not: 1 switch beside 5.
        let found = parts(&[500, 5, 5, 5, 5], 2);
        assert_eq!(
            (found.switches, found.lookahead),
            (vec![0, 0, 0, 1, 1, 1], 5)
        );
    }

    #[test]
    fn cables_of_no_length_are_within_a_part() {
        assert_eq!(parts(&[0; 5], 4), Partition::whole(6, 6));
        let found = parts(&[0, 0, 7, 0, 0], 4);
        assert_eq!((found.parts, found.lookahead), (2, 7));
    }

    #[test]
    fn switches_that_are_close_to_each_other_form_a_group() {
        let groups = |delays: &[u64]| {
            let (cables, uplinks) = line(delays);
            let found = near(&cables, &homes(&uplinks));
            (found.group_of, found.count, found.lookahead)
        };
        assert_eq!(groups(&[500, 400]), (vec![0, 1, 2], 3, 400));
        assert_eq!(groups(&[5, 500, 0]), (vec![0, 0, 1, 1], 2, 500));
        assert_eq!(groups(&[5, 5]), (vec![0, 0, 0], 1, u64::MAX));
    }

    #[test]
    fn there_are_no_more_parts_than_switches() {
        let found = parts(&[500; 2], 8);
        assert_eq!((found.parts, found.switches), (3, vec![0, 1, 2]));
    }
}

//! Links between two virtual layers as optical circuit switches (OCSs) can join them: FC23's
//! virtual-layered cabling (section 3.3).
//!
//! Cables from switches to OCSs are laid once, at random; links are circuits through the OCSs, and
//! can be changed later. Every switch has a cable to twice as many OCSs of a pair of layers as it
//! has links up: half of them to ports of the lower layer, half of the upper. An OCS joins as many
//! ports of the one layer as of the other.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Optical circuit switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpticalSwitches {
    /// Ports of each, for both directions of a cable.
    pub ports: u16,
    /// By how many times there are more OCSs than a switch has cables to (FC23's eta); `None` for
    /// as few as have the ports.
    pub eta: Option<u32>,
}

impl OpticalSwitches {
    /// FC23's eta: how often the least number of OCSs is needed for so many switches.
    pub(super) fn eta(&self, switches: u32) -> u32 {
        let needed = switches.div_ceil(u32::from(self.ports).max(1));
        self.eta.unwrap_or(needed)
    }

    /// Why so many switches cannot be cabled, and what would do.
    pub(super) fn refusal(&self, switches: u32) -> Option<String> {
        let eta = self.eta(switches);
        let fewest = switches.div_ceil(u32::from(self.ports).max(1));
        if self.ports < 2 || self.ports % 2 == 1 {
            return Some(format!(
                "optical circuit switches of {} ports cannot join two layers half and half; give an even number",
                self.ports
            ));
        }
        if eta < fewest {
            return Some(format!(
                "with eta {eta} optical circuit switches of {} ports serve {} switches, not {switches}; use at least {fewest}",
                self.ports,
                u64::from(eta) * u64::from(self.ports)
            ));
        }
        if u64::from(eta) * 2 > u64::from(switches) && eta > 1 {
            return Some(format!(
                "an eta of {eta} leaves fewer than two switches to an optical circuit switch; use at most {}",
                (switches / 2).max(1)
            ));
        }
        (eta == 1 && switches % 2 == 1).then(|| {
            format!(
                "{switches} switches are odd, but each optical circuit switch joins them two by two; use an even number, or an eta of 2"
            )
        })
    }
}

/// A link: switch in the lower layer, switch in the upper one, OCS.
pub(super) type Circuit = (usize, usize, usize);

/// Draws the links between two layers, `degree` up from every switch; `joined` are pairs of
/// switches, lower number first, that no link may join, and no two links then join a pair. `None`
/// if that was not found.
pub(super) fn draw(
    (switches, degree): (usize, usize),
    eta: usize,
    joined: Option<&BTreeSet<(usize, usize)>>,
    rng: &mut ChaCha8Rng,
) -> Option<Vec<Circuit>> {
    let mut cables = Cables::new(switches, degree, eta, rng);
    cables.mix(rng);
    let [lower, upper] = cables.ends;
    let mut circuits: Vec<Circuit> = Vec::with_capacity(switches * degree);
    for (ocs, (lower, mut upper)) in lower.into_iter().zip(upper).enumerate() {
        upper.shuffle(rng);
        circuits.extend(lower.into_iter().zip(upper).map(|(a, b)| (a, b, ocs)));
    }
    match joined {
        Some(joined) => separate(circuits, joined, rng),
        None => Some(circuits),
    }
}

/// A side of an OCS.
const LOWER: usize = 0;
const UPPER: usize = 1;

/// Which switches have a cable to which OCS: `ends[side][ocs]`.
struct Cables {
    ends: [Vec<Vec<usize>>; 2],
    /// Those that a switch has a cable to, with the side.
    of_switch: Vec<Vec<(usize, usize)>>,
}

impl Cables {
    /// Some cables: a class of switches has all cables to the OCSs of its own, half of them to
    /// either side in turn. What an odd class leaves over is joined to OCSs of several classes.
    fn new(switches: usize, degree: usize, eta: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut cables = Self {
            ends: [0, 1].map(|_| vec![Vec::new(); 2 * degree * eta]),
            of_switch: vec![Vec::new(); switches],
        };
        let mut order: Vec<usize> = (0..switches).collect();
        order.shuffle(rng);
        let mut classes: Vec<Vec<usize>> = vec![Vec::new(); eta];
        for (at, switch) in order.into_iter().enumerate() {
            classes[at % eta].push(switch);
        }
        // The OCSs of a class, in two halves.
        let half = |class: usize, side: usize| {
            let first = 2 * degree * class + degree * side;
            first..first + degree
        };
        let odd: Vec<usize> = (0..eta).filter(|&c| classes[c].len() % 2 == 1).collect();
        let mut groups: Vec<Vec<usize>> = odd.chunks(2).map(<[usize]>::to_vec).collect();
        // A group of one cannot be: it takes two switches of another class, or joins the group
        // before.
        if let Some(last) = groups.pop_if(|group| group.len() == 1) {
            match groups.last_mut() {
                Some(group) => group.extend(last),
                None => groups.push([last[0], (last[0] + 1) % eta, (last[0] + 1) % eta].to_vec()),
            }
        }
        for group in groups {
            let taken: Vec<usize> = group.iter().filter_map(|&c| classes[c].pop()).collect();
            // The halves of OCSs that the group's switches share in a circle.
            let halves: Vec<_> = match group.len() {
                2 => vec![half(group[0], 0), half(group[1], 0)],
                _ if group[1] == group[2] => {
                    vec![half(group[0], 0), half(group[0], 1), half(group[1], 0)]
                }
                _ => group.iter().map(|&class| half(class, 0)).collect(),
            };
            for (at, &switch) in taken.iter().enumerate() {
                let next = &halves[(at + 1) % halves.len()];
                halves[at]
                    .clone()
                    .for_each(|ocs| cables.lay(switch, LOWER, ocs));
                next.clone().for_each(|ocs| cables.lay(switch, UPPER, ocs));
            }
        }
        for (class, members) in classes.into_iter().enumerate() {
            for (at, switch) in members.into_iter().enumerate() {
                half(class, at % 2).for_each(|ocs| cables.lay(switch, LOWER, ocs));
                half(class, 1 - at % 2).for_each(|ocs| cables.lay(switch, UPPER, ocs));
            }
        }
        cables
    }

    fn lay(&mut self, switch: usize, side: usize, ocs: usize) {
        self.ends[side][ocs].push(switch);
        self.of_switch[switch].push((ocs, side));
    }

    /// Exchanges cables of two switches many times: those to one side of two OCSs, or, where both
    /// switches have cables to both OCSs, the sides of these.
    fn mix(&mut self, rng: &mut ChaCha8Rng) {
        let switches = self.of_switch.len();
        let cables = self.of_switch.first().map_or(0, Vec::len);
        for _ in 0..20 * switches * cables {
            let (v, w) = (rng.random_range(0..switches), rng.random_range(0..switches));
            let (i, j) = (rng.random_range(0..cables), rng.random_range(0..cables));
            let ((o, side), (p, other)) = (self.of_switch[v][i], self.of_switch[w][j]);
            if v == w || o == p {
                continue;
            }
            let at = |switch: usize, ocs: usize| {
                let mine = &self.of_switch[switch];
                mine.iter().position(|&(mine, _)| mine == ocs)
            };
            match (at(v, p), at(w, o)) {
                (None, None) if side == other => {
                    self.replace(side, o, v, w);
                    self.replace(side, p, w, v);
                    self.of_switch[v][i].0 = p;
                    self.of_switch[w][j].0 = o;
                }
                (Some(k), Some(l)) => {
                    let turned = 1 - side;
                    if [self.of_switch[v][k].1, self.of_switch[w][l].1, other]
                        == [turned, turned, side]
                    {
                        self.replace(side, o, v, w);
                        self.replace(turned, o, w, v);
                        self.replace(side, p, w, v);
                        self.replace(turned, p, v, w);
                        for (switch, cable) in [(v, i), (v, k), (w, j), (w, l)] {
                            self.of_switch[switch][cable].1 ^= 1;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn replace(&mut self, side: usize, ocs: usize, old: usize, new: usize) {
        let end = self.ends[side][ocs].iter_mut().find(|end| **end == old);
        if let Some(end) = end {
            *end = new;
        }
    }
}

/// How often a link in the way is exchanged with another of its OCS, for each link.
const MAX_ATTEMPTS: usize = 100;

/// Exchanges the upper ends of links of an OCS until no two links join the same switches, nor any
/// those of `joined`.
fn separate(
    mut circuits: Vec<Circuit>,
    joined: &BTreeSet<(usize, usize)>,
    rng: &mut ChaCha8Rng,
) -> Option<Vec<Circuit>> {
    let pair = |a: usize, b: usize| (a.min(b), a.max(b));
    // Links of an OCS stand together.
    let mut count: BTreeMap<(usize, usize), usize> = joined.iter().map(|&pair| (pair, 1)).collect();
    for &(a, b, _) in &circuits {
        *count.entry(pair(a, b)).or_default() += 1;
    }
    let is_free = |count: &BTreeMap<_, usize>, a, b| count.get(&pair(a, b)).is_none_or(|&n| n == 0);
    let in_the_way = |count: &BTreeMap<_, usize>, circuits: &[Circuit]| -> Vec<usize> {
        let double = |&at: &usize| {
            let (a, b, _) = circuits[at];
            count.get(&pair(a, b)).is_some_and(|&n| n > 1)
        };
        (0..circuits.len()).filter(double).collect()
    };
    let mut patience = MAX_ATTEMPTS * circuits.len();
    loop {
        let bad = in_the_way(&count, &circuits);
        if bad.is_empty() {
            return Some(circuits);
        }
        for at in bad {
            patience = patience.checked_sub(1)?;
            let (a, b, ocs) = circuits[at];
            let first = circuits.partition_point(|&(_, _, other)| other < ocs);
            let end = circuits.partition_point(|&(_, _, other)| other <= ocs);
            let with = rng.random_range(first..end);
            let (c, d, _) = circuits[with];
            if with != at
                && pair(a, d) != pair(c, b)
                && is_free(&count, a, d)
                && is_free(&count, c, b)
            {
                for old in [pair(a, b), pair(c, d)] {
                    *count.entry(old).or_default() -= 1;
                }
                for new in [pair(a, d), pair(c, b)] {
                    *count.entry(new).or_default() += 1;
                }
                (circuits[at].1, circuits[with].1) = (d, b);
            }
        }
    }
}

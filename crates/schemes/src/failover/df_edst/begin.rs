//! On which tree packets begin, by destination and switch: a short one (Stephens15 section 5.4.2),
//! and of equally short ones that whose links the fewest others take, so that load is spread over
//! channels, trees and links.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use topology::{Fabric, SwitchId, UNREACHABLE};

use super::super::trees::draw;
use super::transitions::places;
use super::{Channels, Toward};

/// A tree of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    channel: u8,
    place: u8,
}

impl Start {
    fn new(channel: usize, place: usize) -> Self {
        let byte = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        Self {
            channel: byte(channel),
            place: byte(place),
        }
    }

    pub(super) fn channel(self) -> usize {
        usize::from(self.channel)
    }

    pub(super) fn place(self) -> usize {
        usize::from(self.place)
    }
}

/// On which trees packets begin toward the destinations at one switch.
pub(in super::super) struct Beginnings {
    /// The code of the first destination there.
    first: u32,
    /// By destination, in the order of codes, and by switch.
    starts: Vec<Vec<Option<Start>>>,
}

impl Beginnings {
    pub(super) fn of(&self, code: u32) -> &[Option<Start>] {
        let place = code.checked_sub(self.first).map(|place| place as usize);
        place
            .and_then(|place| self.starts.get(place))
            .map_or(&[], |starts| &starts[..])
    }
}

/// From how many of the shortest trees one is chosen (Stephens15 section 5.4.2).
const MOST: usize = 8;
/// The random numbers by which beginnings are drawn are none of those by which trees are.
const STREAM: u64 = 2 << 32;

impl Channels {
    /// The beginnings toward switches with destinations, each with the first code there and how
    /// many follow each other.
    pub(in super::super) fn beginnings(
        &self,
        fabric: &Fabric,
        homes: &[(SwitchId, u32, usize)],
    ) -> Vec<Beginnings> {
        let of = |&(home, first, count): &(SwitchId, u32, usize)| Beginnings {
            first,
            starts: self.begin_toward(fabric, home, count),
        };
        homes.par_iter().map(of).collect()
    }

    fn begin_toward(
        &self,
        fabric: &Fabric,
        home: SwitchId,
        count: usize,
    ) -> Vec<Vec<Option<Start>>> {
        let toward = self.all_toward(fabric, home);
        let least = fabric.distances(home);
        let mut rng = draw(self.options.seed, STREAM + home.index() as u64);
        let mut load = vec![0u32; fabric.arcs().len()];
        let mut order: Vec<SwitchId> = fabric.switch_ids().filter(|&s| s != home).collect();
        let mut all = Vec::new();
        for _ in 0..count {
            order.shuffle(&mut rng);
            let mut starts = vec![None; fabric.switch_count()];
            for &switch in &order {
                let near = self.near(&toward, switch, least[switch.index()], &mut rng);
                let way = |start: &Start| way(fabric, &toward[start.channel()], *start, switch);
                let taken = |start: &Start| -> u32 { way(start).map(|arc| load[arc]).sum() };
                let Some(best) = near.into_iter().min_by_key(taken) else {
                    continue;
                };
                if !fabric.attachments(switch).is_empty() {
                    let arcs: Vec<usize> = way(&best).collect();
                    arcs.into_iter().for_each(|arc| load[arc] += 1);
                }
                starts[switch.index()] = Some(best);
            }
            all.push(starts);
        }
        all
    }

    /// The trees on which packets may begin at a switch, over all channels: those within 1.35 of
    /// the shortest way and as short as the eighth; if there are none, the shortest. At random: of
    /// equals none is preferred.
    fn near(
        &self,
        toward: &[Toward],
        switch: SwitchId,
        least: u16,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Start> {
        let own = |channel: usize| {
            let initial = self.channels[channel]
                .graph
                .initial(toward[channel].present);
            places(initial).map(move |place| Start::new(channel, place))
        };
        let hops = |start: &Start| toward[start.channel()].hops[start.place()][switch.index()];
        let mut all: Vec<Start> = (0..self.channels.len()).flat_map(own).collect();
        all.shuffle(rng);
        all.sort_by_key(hops);
        let Some(best) = all.first().map(hops).filter(|&best| best != UNREACHABLE) else {
            return Vec::new();
        };
        let near = |hops: u16| u32::from(hops) * 100 <= u32::from(least) * 135;
        let last = match all.get(MOST - 1).or(all.last()).map(hops) {
            Some(eighth) if near(best) => eighth,
            _ => best,
        };
        all.retain(|start| hops(start) <= last && (near(hops(start)) || hops(start) == best));
        all
    }
}

/// The arcs of the way of a tree from a switch to the destination, by number.
fn way<'a>(
    fabric: &'a Fabric,
    toward: &'a Toward,
    start: Start,
    switch: SwitchId,
) -> impl Iterator<Item = usize> + 'a {
    let next = &toward.next[start.place()];
    let arcs = std::iter::successors(next[switch.index()], move |&arc| {
        next[fabric.arc(arc).to.index()]
    });
    arcs.map(|arc| arc.index())
}

//! Deadlock-free failure-identifying resilience (DF-FI, Stephens15 sections 5.1 and 5.4.1): every
//! packet keeps the channel that its first switch gave it, and the ways of a channel's packets
//! close no cycle of buffers, whatever has failed.
//!
//! A *unit* is what one rule of a first switch can tell apart: source switch, destination, first
//! link. All ways of a unit share a channel. Units are put into channels in two ways, and the one
//! that takes fewer channels is kept: cutting one cycle after another where it costs fewest units
//! (DFSSSP), and cutting all at once by a feedback arc set (FAS-VC).

use std::collections::BTreeSet;

use indexmap::IndexMap;
use plan::Tables;
use plan::Tag;
use plan::check::resilience::fold_ways;
use plan::failover::{Action, Failover, Origin, SwitchTable};
use topology::{ArcId, Fabric, SwitchId, Topology};

use super::FailoverError;
use super::dependency::Chosen;
use super::layering::{Links, at_least, fewest, order_of};
use crate::cells::{Cells, Squares};
use crate::{FIRST_TAG, Tagged, TaggerOptions};

/// Walks after which tagging is given up.
pub const MAX_WALKS: u64 = 10_000_000;

/// The ways of one unit.
#[derive(Default)]
struct Ways {
    pairs: BTreeSet<u32>,
    last: BTreeSet<ArcId>,
}

type Units = IndexMap<(SwitchId, ArcId), Ways, foldhash::fast::FixedState>;

/// The most channels that tags can count.
const MAX_CHANNELS: usize = 200;

/// Puts every unit into a channel: the tables, whose rules for packets from hosts now give
/// channels, and the tag rules; and how many channels there must be, as far as is known. Where ways
/// were chosen within channels, these are given.
pub(super) fn channels(
    tables: &Tables,
    fabric: &Fabric,
    failover: Failover,
    given: Option<&[Chosen]>,
    least: u8,
    options: &TaggerOptions,
) -> Result<(Failover, Tagged, usize), FailoverError> {
    let links = Links::new(fabric);
    let units = gather(&tables.topology, &links, &failover);
    let units = units.ok_or(FailoverError::Walks { most: MAX_WALKS })?;
    let all = || units.iter().flat_map(IndexMap::values);
    let sets: Vec<Vec<u32>> = all()
        .map(|ways| ways.pairs.iter().copied().collect())
        .collect();
    if let Some(cyclic) = sets.iter().position(|unit| !links.is_acyclic(unit)) {
        let keys = units.iter().enumerate();
        let mut keys = keys.flat_map(|(at, units)| units.keys().map(move |key| (at, key)));
        let (destination, source) = keys
            .nth(cyclic)
            .map_or((0, SwitchId::new(0)), |(at, key)| (at, key.0));
        return Err(FailoverError::CyclicUnit {
            source_switch: tables.topology.switch(source).name.clone(),
            destination: failover.destinations[destination].describe(&tables.topology),
        });
    }
    let given = given.and_then(|chosen| as_given(&units, chosen));
    let (channel, count) = fewest(&links, &sets, given, usize::from(least));
    if count > MAX_CHANNELS {
        return Err(FailoverError::Channels {
            needed: count,
            most: MAX_CHANNELS,
        });
    }
    // One channel is enough just if all ways together close no cycle.
    let together: BTreeSet<u32> = sets.iter().flatten().copied().collect();
    let together: Vec<u32> = together.into_iter().collect();
    let bound =
        at_least(&links, &sets, &channel).max(if links.is_acyclic(&together) { 1 } else { 2 });
    let squares = Squares::new(fabric);
    let mut levels: Vec<Cells> = vec![squares.empty(); count.max(1)];
    among_hosts(fabric, &squares, &mut levels[0]);
    for (ways, &channel) in all().zip(&channel) {
        let cells = &mut levels[usize::from(channel)];
        for &last in &ways.last {
            cells.set(squares.to_hosts(last), channel);
        }
        for &pair in &ways.pairs {
            let (arc, place) = links.split(pair);
            cells.set(squares.through(arc, place), channel);
        }
    }
    let mut numbered = channel.into_iter();
    let chosen: Vec<IndexMap<(SwitchId, ArcId), u8>> = units
        .into_iter()
        .map(|units| units.into_keys().zip(numbered.by_ref()).collect())
        .collect();
    let failover = give(fabric, failover, &chosen);
    let tagged = crate::tables(fabric, options, &levels)?;
    Ok((failover, tagged, bound))
}

/// The channels of all units as they were given, and how many there are; `None` if a unit has none.
fn as_given(units: &[Units], chosen: &[Chosen]) -> Option<(Vec<u8>, usize)> {
    let toward = units.iter().zip(chosen);
    let channel = toward.flat_map(|(units, chosen)| units.keys().map(|key| chosen.get(key)));
    let channel: Vec<u8> = channel.map(Option::<&u8>::copied).collect::<Option<_>>()?;
    let count = channel
        .iter()
        .max()
        .map_or(0, |&most| usize::from(most) + 1);
    Some((channel, count))
}

/// The units of every destination with their ways; `None` if there are too many walks.
fn gather(topology: &Topology, links: &Links<'_>, failover: &Failover) -> Option<Vec<Units>> {
    fold_ways(
        topology,
        failover,
        MAX_WALKS,
        Units::default,
        |units, way| {
            let (Some(&first), Some(&last)) = (way.arcs.first(), way.arcs.last()) else {
                return;
            };
            let unit = units.entry((way.source, first)).or_default();
            unit.last.insert(last);
            let pairs = way.arcs.windows(2);
            unit.pairs
                .extend(pairs.map(|pair| links.pair(pair[0], pair[1])));
        },
    )
}

/// An order of the links such that few ways of a plan lead backward; `None` if there are too many
/// walks.
pub(super) fn order(topology: &Topology, fabric: &Fabric, failover: &Failover) -> Option<Vec<u32>> {
    let links = Links::new(fabric);
    let units = gather(topology, &links, failover)?;
    let pairs = units.iter().flat_map(IndexMap::values);
    let sets: Vec<Vec<u32>> = pairs
        .map(|ways| ways.pairs.iter().copied().collect())
        .collect();
    Some(order_of(&links, &sets))
}

/// In a network of two layers, an order of the links that every way follows which only ever turns
/// to upper switches of higher number: by upper switch, links up before links down.
pub(super) fn by_upper_switch(fabric: &Fabric) -> Option<Vec<u32>> {
    let layers: Option<BTreeSet<u8>> = fabric
        .switch_ids()
        .map(|switch| fabric.layer(switch))
        .collect();
    if layers?.len() != 2 {
        return None;
    }
    let place = |arc: &topology::Arc| {
        let down = fabric.layer(arc.from) > fabric.layer(arc.to);
        let upper = if down { arc.from } else { arc.to };
        Some(2 * u32::try_from(upper.index()).ok()? + u32::from(down))
    };
    fabric.arcs().iter().map(place).collect()
}

/// Keeps packets between the hosts of a switch lossless.
pub(super) fn among_hosts(fabric: &Fabric, squares: &Squares<'_>, first: &mut Cells) {
    for switch in fabric.edge_switches() {
        if fabric.attachments(switch).len() > 1 {
            first.set(squares.among_hosts(switch), 0);
        }
    }
}

/// Makes the rules for packets from hosts give channels.
fn give(
    fabric: &Fabric,
    mut failover: Failover,
    chosen: &[IndexMap<(SwitchId, ArcId), u8>],
) -> Failover {
    let codes: IndexMap<u32, usize> = (0..)
        .zip(&failover.destinations)
        .map(|(at, destination)| (destination.code, at))
        .collect();
    for (switch, table) in (0..).map(SwitchId::new).zip(&mut failover.tables) {
        let mut given = SwitchTable::default();
        for rule in table.iter() {
            let mut rule = rule.to_rule();
            let from_host = rule.reverse.count.as_exact() == Some(0);
            let destination = rule
                .destination
                .as_exact()
                .and_then(|code| codes.get(&code));
            let out = rule.action.out().map(|(out, _)| out);
            let first = out.and_then(|out| fabric.arc_at(switch, out));
            if let (true, Some(&destination), Some(first)) = (from_host, destination, first) {
                rule.origin = Origin::Host;
                let channel = chosen[destination].get(&(switch, first));
                if let Action::Forward { write, .. } = &mut rule.action {
                    write.channel = channel.map(|&channel| Tag::new(FIRST_TAG.get() + channel));
                }
            }
            given.push(rule);
        }
        given.shrink();
        *table = given;
    }
    failover
}

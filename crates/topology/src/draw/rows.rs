//! Layouts in rows: layered networks, and server-centric ones.

use std::collections::BTreeMap;

use super::super::ids::{NodeId, SwitchId};
use super::super::model::{Role, Topology};
use super::layout::{Band, Layout, Point, SIDE, Shape, bends};
use super::{Detail, HOST_CHARACTER, Place, Purpose, rack_of};

const MARGIN: f64 = 28.0;
const TITLE: f64 = 50.0;
const GROUP_GAP: f64 = 30.0;
const BOX_GAP: f64 = 12.0;
/// Pixels between two numbered ports.
const PORT_SLOT: f64 = 16.0;

/// The sizes that follow from the detail.
struct Sizes {
    detail: Detail,
    box_height: f64,
    host_slot: f64,
    host_radius: f64,
}

impl Sizes {
    fn new(topology: &Topology, widest: usize, purpose: Purpose) -> Self {
        let detail = Detail::of(topology, widest, purpose);
        let (host_slot, host_radius) = match (detail.hosts, topology.hosts().len()) {
            (false, _) => (0.0, 0.0),
            (true, 0..=24) => (44.0, 8.0),
            (true, 25..=64) => (30.0, 6.0),
            (true, _) => (13.0, 4.0),
        };
        let host_slot = match detail.hosts && purpose == Purpose::Picture {
            true => super::host_slot(topology).max(host_slot),
            false => host_slot,
        };
        Self {
            detail,
            box_height: if detail.names { 26.0 } else { 8.0 },
            host_slot,
            host_radius,
        }
    }

    /// The width of a switch's box: its name, and its ports if they are numbered.
    fn box_width(&self, topology: &Topology, switch: SwitchId) -> f64 {
        if !self.detail.names {
            return 5.0;
        }
        let name = 7.6 * length(topology.switch(switch).name.chars().count()) + 16.0;
        if !self.detail.roomy {
            return name.max(34.0);
        }
        // The side with more links decides: those to hosts and lower layers, or those up.
        let layer = topology.switch(switch).layer;
        let up = topology
            .peers(switch)
            .filter(|(_, peer)| match peer.end.node {
                NodeId::Switch(other) => topology.switch(other).layer > layer,
                NodeId::Host(_) => false,
            });
        let up = up.count();
        let links = up.max(topology.peers(switch).count() - up);
        name.max(PORT_SLOT * length(links) / SIDE)
    }

    /// The width that a switch needs in its row, with its hosts below.
    fn slot(&self, topology: &Topology, switch: SwitchId) -> f64 {
        let hosts = length(hosts_of(topology, switch).count()) * self.host_slot;
        let rack = match !self.detail.hosts && self.detail.names {
            true => length(rack_of(topology, switch).chars().count()) * HOST_CHARACTER,
            false => 0.0,
        };
        let gap = if self.detail.names { BOX_GAP } else { 2.0 };
        hosts.max(rack).max(self.box_width(topology, switch)) + gap
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 pixels")]
fn length(n: usize) -> f64 {
    n as f64
}

fn hosts_of(topology: &Topology, switch: SwitchId) -> impl Iterator<Item = usize> + '_ {
    topology
        .peers(switch)
        .filter_map(move |(_, peer)| match peer.end.node {
            // A host of several switches is drawn below its first.
            NodeId::Host(h) => {
                let first = topology.uplinks(h).first().map(|(_, peer)| peer.end.node);
                (first == Some(NodeId::Switch(switch))).then_some(h.index())
            }
            NodeId::Switch(_) => None,
        })
}

/// Rows by layer, the hosts' at the bottom, groups side by side.
pub(super) fn layered(topology: &Topology, purpose: Purpose) -> Layout {
    let layer = |s: SwitchId| usize::from(topology.switch(s).layer.unwrap_or(0));
    let count = topology.switch_ids().map(layer).max().unwrap_or(0) + 1;
    let mut rows: Vec<Vec<(Option<u32>, SwitchId)>> = vec![Vec::new(); count];
    for switch in topology.switch_ids() {
        rows[layer(switch)].push((topology.switch(switch).group, switch));
    }
    rows.iter_mut().for_each(|row| row.sort_unstable());
    arrange(topology, &rows, purpose)
}

/// Servers in the lowest row with their hosts, the switches above in as many rows as a server has
/// links.
pub(super) fn server_centric(topology: &Topology, purpose: Purpose) -> Layout {
    let (servers, switches): (Vec<_>, Vec<_>) = topology
        .switch_ids()
        .map(|s| (None, s))
        .partition(|&(_, s)| topology.switch(s).role == Role::Server);
    let to_switches = |&(_, server): &(Option<u32>, SwitchId)| {
        let peers = topology
            .peers(server)
            .filter(|(_, p)| matches!(p.end.node, NodeId::Switch(_)));
        peers.count()
    };
    let levels = servers.iter().map(to_switches).max().unwrap_or(1).max(1);
    let per_row = switches.len().div_ceil(levels).max(1);
    let mut rows = vec![servers];
    rows.extend(switches.chunks(per_row).map(<[_]>::to_vec));
    arrange(topology, &rows, purpose)
}

/// Places rows, the first at the bottom.
fn arrange(topology: &Topology, rows: &[Vec<(Option<u32>, SwitchId)>], purpose: Purpose) -> Layout {
    let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let sizes = Sizes::new(topology, widest, purpose);
    // The width of each group is that of its widest row; what belongs to no group spans them all.
    let groups = group_widths(topology, rows, &sizes);
    let gaps = length(groups.len().saturating_sub(1)) * GROUP_GAP;
    let free = |row: &Vec<(Option<u32>, SwitchId)>| -> f64 {
        let free = row.iter().filter(|(group, _)| !groups.contains_key(group));
        free.map(|&(_, switch)| sizes.slot(topology, switch)).sum()
    };
    let grouped: f64 = groups.values().sum::<f64>() + gaps;
    let inner = rows.iter().map(free).fold(grouped.max(320.0), f64::max);
    let stretch = (inner - gaps) / (grouped - gaps).max(1.0);
    let mut spans: BTreeMap<Option<u32>, (f64, f64)> = BTreeMap::new();
    let mut x = MARGIN;
    for (&group, &width) in &groups {
        spans.insert(group, (x, x + width * stretch));
        x += width * stretch + GROUP_GAP;
    }

    let step = (inner / 8.0).clamp(if sizes.detail.roomy { 120.0 } else { 95.0 }, 330.0);
    let bottom = TITLE + 24.0 + length(rows.len() - 1) * step + sizes.box_height;
    let mut switches = vec![None; topology.switches().len()];
    for (level, row) in rows.iter().enumerate() {
        let y = bottom - length(level) * step - sizes.box_height / 2.0;
        place_row(
            topology,
            row,
            y,
            &spans,
            (MARGIN, MARGIN + inner),
            &sizes,
            &mut switches,
        );
    }
    let switches: Vec<Place> = switches.into_iter().flatten().collect();
    let drop = if sizes.detail.hosts && !topology.hosts().is_empty() {
        62.0
    } else {
        22.0
    };
    let hosts = place_hosts(topology, &switches, &sizes, drop - 8.0);
    let bands = bands(rows, &spans, bottom, step, &sizes);
    Layout {
        width: inner + 2.0 * MARGIN,
        height: bottom + drop + MARGIN,
        detail: sizes.detail,
        switches,
        hosts,
        host_radius: sizes.host_radius,
        bands,
        bends: bends(topology, 0.0),
        rows: true,
    }
}

/// The groups that the lowest row is made of, with the widths they need.
fn group_widths(
    topology: &Topology,
    rows: &[Vec<(Option<u32>, SwitchId)>],
    sizes: &Sizes,
) -> BTreeMap<Option<u32>, f64> {
    let mut groups: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    for &(group, _) in rows.first().into_iter().flatten() {
        groups.insert(group, 0.0);
    }
    for row in rows {
        let mut widths: BTreeMap<Option<u32>, f64> = BTreeMap::new();
        for &(group, switch) in row {
            *widths.entry(group).or_default() += sizes.slot(topology, switch);
        }
        for (group, width) in widths {
            if let Some(widest) = groups.get_mut(&group) {
                *widest = widest.max(width);
            }
        }
    }
    groups
}

/// Spreads the switches of a row, each group over its span.
fn place_row(
    topology: &Topology,
    row: &[(Option<u32>, SwitchId)],
    y: f64,
    spans: &BTreeMap<Option<u32>, (f64, f64)>,
    whole: (f64, f64),
    sizes: &Sizes,
    places: &mut [Option<Place>],
) {
    for part in row.chunk_by(|a, b| a.0 == b.0) {
        let group = part.first().and_then(|(group, _)| *group);
        let (start, end) = spans.get(&group).copied().unwrap_or(whole);
        let needed: f64 = part.iter().map(|&(_, s)| sizes.slot(topology, s)).sum();
        let extra = (end - start - needed) / length(part.len());
        let mut x = start;
        for &(_, switch) in part {
            let slot = sizes.slot(topology, switch) + extra;
            let shape = Shape::Box(sizes.box_width(topology, switch), sizes.box_height);
            let at = Point::new(x + slot / 2.0, y);
            places[switch.index()] = Some(Place { at, shape });
            x += slot;
        }
    }
}

fn place_hosts(
    topology: &Topology,
    switches: &[Place],
    sizes: &Sizes,
    drop: f64,
) -> Vec<Option<Point>> {
    let mut places = vec![None; topology.hosts().len()];
    if !sizes.detail.hosts {
        return places;
    }
    for switch in topology.switch_ids() {
        let Place { at, .. } = switches[switch.index()];
        let hosts: Vec<usize> = hosts_of(topology, switch).collect();
        let first = at.x - (length(hosts.len()) - 1.0) / 2.0 * sizes.host_slot;
        for (number, host) in hosts.into_iter().enumerate() {
            let x = first + length(number) * sizes.host_slot;
            places[host] = Some(Point::new(x, at.y + drop));
        }
    }
    places
}

/// A tinted area behind each group, over the rows that have groups.
fn bands(
    rows: &[Vec<(Option<u32>, SwitchId)>],
    spans: &BTreeMap<Option<u32>, (f64, f64)>,
    bottom: f64,
    step: f64,
    sizes: &Sizes,
) -> Vec<Band> {
    let grouped =
        |row: &&Vec<(Option<u32>, SwitchId)>| row.iter().any(|(group, _)| group.is_some());
    let levels = rows.iter().take_while(grouped).count();
    if levels == 0 {
        return Vec::new();
    }
    let top = bottom - length(levels - 1) * step - sizes.box_height - 14.0;
    let foot = if sizes.detail.hosts { 74.0 } else { 26.0 };
    let band = |&(start, end): &(f64, f64)| Band {
        x: start - 8.0,
        y: top,
        width: end - start + 16.0,
        height: bottom + foot - top,
    };
    spans.values().map(band).collect()
}

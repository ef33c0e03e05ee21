//! Layouts for networks without layers: a line, a circle, or whatever simulated forces make of it.

use std::f64::consts::{FRAC_PI_2, TAU};

use super::super::fabric::Fabric;
use super::super::ids::{NodeId, SwitchId};
use super::super::model::Topology;
use super::layout::{Layout, Point, Shape, bends};
use super::{Detail, HOST_CHARACTER, Place, PortLabels, Purpose, rack_of};

const TITLE: f64 = 50.0;
/// Up to this many switches forces are simulated; beyond, a circle shows as much.
const FORCED: usize = 400;
/// Up to this many switches a circle is drawn if the network is dense.
const CIRCLED: usize = 12;
const ROUNDS: usize = 300;

pub(super) fn layout(topology: &Topology, purpose: Purpose) -> Layout {
    // Links that are down count: a failure does not rearrange the picture.
    let fabric = Fabric::new(&topology.all_up());
    let count = topology.switches().len();
    let detail = Detail::of(topology, count, purpose);
    let radius = if detail.names {
        name_radius(topology)
    } else {
        4.0
    };
    let spacing = if detail.names {
        radius * 2.0
            + if detail.ports == PortLabels::All {
                110.0
            } else {
                62.0
            }
    } else {
        26.0
    };
    let mut places = match order_of_line(&fabric) {
        Some(order) if count <= 12 => line(&order, spacing),
        _ => match order_of_ring(&fabric) {
            Some(order) => circle(&order, spacing),
            None if count <= CIRCLED && dense(&fabric) || count > FORCED => {
                circle(&fabric.switch_ids().collect::<Vec<_>>(), spacing)
            }
            None => forced(&fabric, spacing),
        },
    };
    let centre = centre(&places);
    let host_radius = if detail.host_names { 7.0 } else { 3.5 };
    let reach = radius
        + if detail.ports == PortLabels::All {
            46.0
        } else {
            24.0
        };
    let hosts = match detail.hosts {
        true => around(topology, &places, centre, reach, host_radius),
        false => vec![None; topology.hosts().len()],
    };

    // Everything is moved into view.
    let racks = match detail.names && !detail.hosts {
        true => widest_rack(topology),
        false => 0.0,
    };
    let room = if detail.names {
        (radius.max(24.0) + 12.0).max(racks / 2.0)
    } else {
        radius + 6.0
    };
    let (mut low, mut high) = (
        Point::new(f64::MAX, f64::MAX),
        Point::new(f64::MIN, f64::MIN),
    );
    let label = if detail.host_names { 34.0 } else { 10.0 };
    let switches = places.iter().map(|&p| (p, room));
    let drawn = hosts.iter().flatten().map(|&p| (p, label));
    for (point, room) in switches.chain(drawn) {
        low = Point::new(low.x.min(point.x - room), low.y.min(point.y - room));
        high = Point::new(high.x.max(point.x + room), high.y.max(point.y + room));
    }
    let width = (high.x - low.x).max(320.0);
    let shift = Point::new((width - high.x - low.x) / 2.0, TITLE - low.y);
    let moved = |p: Point| Point::new(p.x + shift.x, p.y + shift.y);
    places.iter_mut().for_each(|p| *p = moved(*p));
    let shape = Shape::Disc(radius);
    Layout {
        width,
        height: high.y - low.y + TITLE + 12.0,
        detail,
        switches: places.into_iter().map(|at| Place { at, shape }).collect(),
        hosts: hosts.into_iter().map(|host| host.map(moved)).collect(),
        host_radius,
        bands: Vec::new(),
        bends: bends(
            topology,
            if detail.ports == PortLabels::All {
                16.0
            } else {
                7.0
            },
        ),
        rows: false,
    }
}

/// The radius in which the longest name fits; a small one where it does not, and stands below.
fn name_radius(topology: &Topology) -> f64 {
    let longest = topology
        .switches()
        .iter()
        .map(|s| s.name.chars().count())
        .max()
        .unwrap_or(0);
    match length(longest) * 3.8 + 3.0 {
        radius if radius > 24.0 => 10.0,
        radius => radius.max(14.0),
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 pixels")]
fn length(n: usize) -> f64 {
    n as f64
}

/// Pixels of the longest label of hosts.
fn widest_rack(topology: &Topology) -> f64 {
    let labels = topology
        .switch_ids()
        .map(|switch| rack_of(topology, switch));
    let widths = labels.map(|label| length(label.chars().count()) * HOST_CHARACTER);
    widths.fold(0.0, f64::max)
}

fn centre(places: &[Point]) -> Point {
    let n = length(places.len().max(1));
    let (x, y) = places
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.x, y + p.y));
    Point::new(x / n, y / n)
}

fn neighbours(fabric: &Fabric, switch: SwitchId) -> Vec<SwitchId> {
    let mut ends: Vec<_> = fabric.out_arcs(switch).map(|(_, arc)| arc.to).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// The switches of a network that is one line, from end to end.
fn order_of_line(fabric: &Fabric) -> Option<Vec<SwitchId>> {
    let degree = |s: &SwitchId| neighbours(fabric, *s).len();
    let start = fabric.switch_ids().find(|s| degree(s) <= 1)?;
    let order = follow(fabric, start);
    let straight = fabric.switch_ids().all(|s| degree(&s) <= 2);
    (straight && order.len() == fabric.switch_count()).then_some(order)
}

/// The switches of a network that is one ring.
fn order_of_ring(fabric: &Fabric) -> Option<Vec<SwitchId>> {
    let round = fabric
        .switch_ids()
        .all(|s| neighbours(fabric, s).len() == 2);
    let order = follow(fabric, SwitchId::new(0));
    (round && order.len() == fabric.switch_count()).then_some(order)
}

/// Goes from switch to neighbour as long as there is a new one.
fn follow(fabric: &Fabric, start: SwitchId) -> Vec<SwitchId> {
    let mut seen = vec![false; fabric.switch_count()];
    let mut order = Vec::new();
    let mut next = Some(start);
    while let Some(at) = next {
        seen[at.index()] = true;
        order.push(at);
        next = neighbours(fabric, at)
            .into_iter()
            .find(|n| !seen[n.index()]);
    }
    order
}

/// Whether more than a third of all pairs are linked.
fn dense(fabric: &Fabric) -> bool {
    let n = fabric.switch_count();
    let linked: usize = fabric
        .switch_ids()
        .map(|s| neighbours(fabric, s).len())
        .sum();
    3 * linked > n * n.saturating_sub(1)
}

fn line(order: &[SwitchId], spacing: f64) -> Vec<Point> {
    let mut places = vec![Point::new(0.0, 0.0); order.len()];
    for (at, switch) in order.iter().enumerate() {
        places[switch.index()] = Point::new(length(at) * spacing, 0.0);
    }
    places
}

/// Evenly around a circle, the first at the top.
fn circle(order: &[SwitchId], spacing: f64) -> Vec<Point> {
    let n = length(order.len());
    let radius = (spacing * n / TAU).max(if order.len() < 2 { 0.0 } else { spacing * 0.6 });
    let radius = radius.min(900.0);
    let mut places = vec![Point::new(0.0, 0.0); order.len()];
    for (at, switch) in order.iter().enumerate() {
        let angle = TAU * length(at) / n - FRAC_PI_2;
        places[switch.index()] = Point::new(radius * angle.cos(), radius * angle.sin());
    }
    places
}

/// Fruchterman and Reingold's simulation, started from a circle: all switches repel, linked ones
/// attract.
fn forced(fabric: &Fabric, spacing: f64) -> Vec<Point> {
    let order: Vec<_> = fabric.switch_ids().collect();
    let mut places = circle(&order, spacing);
    let links: Vec<(usize, usize)> = order
        .iter()
        .flat_map(|&s| {
            neighbours(fabric, s)
                .into_iter()
                .map(move |n| (s.index(), n.index()))
        })
        .filter(|(a, b)| a < b)
        .collect();
    // A golden-angle twist breaks the symmetry of the start, the same way every time.
    for (at, place) in places.iter_mut().enumerate() {
        let twist = 2.399_963 * length(at);
        place.x += spacing * 0.3 * twist.cos();
        place.y += spacing * 0.3 * twist.sin();
    }
    for round in 0..ROUNDS {
        let mut force = vec![Point::new(0.0, 0.0); places.len()];
        for a in 0..places.len() {
            for b in a + 1..places.len() {
                let (dx, dy) = (places[a].x - places[b].x, places[a].y - places[b].y);
                let push = spacing * spacing / (dx * dx + dy * dy).max(1.0);
                add(&mut force, a, b, dx * push, dy * push);
            }
        }
        for &(a, b) in &links {
            let (dx, dy) = (places[a].x - places[b].x, places[a].y - places[b].y);
            let pull = -dx.hypot(dy) / spacing;
            add(&mut force, a, b, dx * pull, dy * pull);
        }
        let middle = centre(&places);
        let heat = spacing * 1.5 * (1.0 - length(round) / length(ROUNDS)).powi(2) + 0.2;
        for (place, force) in places.iter_mut().zip(force) {
            // A slight pull to the middle keeps loosely linked parts in view.
            let fx = force.x + (middle.x - place.x) * 0.12;
            let fy = force.y + (middle.y - place.y) * 0.12;
            let size = fx.hypot(fy).max(1e-9);
            place.x += fx / size * size.min(heat);
            place.y += fy / size * size.min(heat);
        }
    }
    places
}

fn add(force: &mut [Point], a: usize, b: usize, x: f64, y: f64) {
    force[a].x += x;
    force[a].y += y;
    force[b].x -= x;
    force[b].y -= y;
}

/// Hosts fan out around their switches, away from the middle and from the switch's links.
fn around(
    topology: &Topology,
    switches: &[Point],
    centre: Point,
    reach: f64,
    radius: f64,
) -> Vec<Option<Point>> {
    let mut places = vec![None; topology.hosts().len()];
    for switch in topology.switch_ids() {
        let at = switches[switch.index()];
        let mut links: Vec<f64> = Vec::new();
        let mut hosts = Vec::new();
        for (_, peer) in topology.peers(switch) {
            match peer.end.node {
                NodeId::Switch(other) => {
                    let to = switches[other.index()];
                    links.push((to.y - at.y).atan2(to.x - at.x).rem_euclid(TAU));
                }
                NodeId::Host(host) => {
                    let first = topology
                        .uplinks(host)
                        .first()
                        .map(|(_, peer)| peer.end.node);
                    if first == Some(NodeId::Switch(switch)) {
                        hosts.push(host);
                    }
                }
            }
        }
        let (middle, free) = widest_gap(&mut links, at, centre);
        let wanted = 2.0 * (radius + 7.0) / reach;
        let step = wanted
            .max(0.42)
            .min(free * 0.86 / length(hosts.len().max(1)));
        let first = middle - step * (length(hosts.len()) - 1.0) / 2.0;
        for (number, host) in hosts.into_iter().enumerate() {
            let angle = first + step * length(number);
            let point = Point::new(at.x + reach * angle.cos(), at.y + reach * angle.sin());
            places[host.index()] = Some(point);
        }
    }
    places
}

/// The middle and size of the widest angle without a link; of near equal ones, that away from the
/// centre, then that below.
fn widest_gap(links: &mut [f64], at: Point, centre: Point) -> (f64, f64) {
    let away = match (at.x - centre.x).hypot(at.y - centre.y) < 1.0 {
        true => FRAC_PI_2,
        false => (at.y - centre.y).atan2(at.x - centre.x),
    };
    links.sort_by(f64::total_cmp);
    let gaps = (0..links.len()).map(|i| {
        let start = links[i];
        let end = if i + 1 < links.len() {
            links[i + 1]
        } else {
            links[0] + TAU
        };
        (start + (end - start) / 2.0, end - start)
    });
    let score =
        |&(middle, size): &(f64, f64)| size + 0.25 * (middle - away).cos() + 0.05 * middle.sin();
    gaps.max_by(|a, b| score(a).total_cmp(&score(b)))
        .unwrap_or((away, TAU))
}

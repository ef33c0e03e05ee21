//! Where things are on a drawing, and where links meet them.

use super::super::ids::{LinkId, NodeId, SwitchId};
use super::super::model::{Endpoint, Topology};
use super::{Detail, Place};

/// The part of a box's side that links meet.
pub(super) const SIDE: f64 = 0.88;

/// A point of the drawing, in pixels from the upper left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Point {
    pub(super) const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The point `distance` from here toward `other`.
    pub(super) fn toward(self, other: Self, distance: f64) -> Self {
        let (dx, dy) = (other.x - self.x, other.y - self.y);
        let length = dx.hypot(dy).max(1e-6);
        Self::new(
            self.x + dx / length * distance,
            self.y + dy / length * distance,
        )
    }
}

/// The outline of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// A box of width and height; links meet its upper and lower side.
    Box(f64, f64),
    /// A disc of a radius; links meet it from all around.
    Disc(f64),
}

/// A tinted area behind the nodes of a group.
#[derive(Clone, Debug)]
pub(super) struct Band {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A drawing before it is drawn.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) detail: Detail,
    pub(super) switches: Vec<Place>,
    /// `None` where hosts are not drawn one by one.
    pub(super) hosts: Vec<Option<Point>>,
    pub(super) host_radius: f64,
    pub(super) bands: Vec<Band>,
    /// How far the middle of each link is off the straight line, to keep parallel links apart.
    pub(super) bends: Vec<f64>,
    /// Whether the switches stand in rows with hosts below (else anywhere, with hosts around them).
    pub(super) rows: bool,
}

impl Layout {
    fn position(&self, node: NodeId) -> Option<Point> {
        match node {
            NodeId::Switch(s) => Some(self.switches[s.index()].at),
            NodeId::Host(h) => self.hosts[h.index()],
        }
    }

    /// Both ends of every link; `None` where a link leads to a host that is not drawn.
    pub(super) fn link_ends(&self, topology: &Topology) -> Vec<Option<[Point; 2]>> {
        let mut ends = vec![None; topology.links().len()];
        for link in topology.link_ids() {
            let entry = topology.link(link);
            if let (Some(a), Some(b)) = (self.position(entry.a.node), self.position(entry.b.node)) {
                ends[link.index()] = Some([a, b]);
            }
        }
        let centres = ends.clone();
        for switch in topology.switch_ids() {
            match self.switches[switch.index()].shape {
                Shape::Disc(radius) => {
                    for (link, end) in plugged(topology, switch) {
                        if let (Some(ends), Some(centres)) =
                            (&mut ends[link.index()], centres[link.index()])
                        {
                            ends[end] = centres[end].toward(centres[1 - end], radius);
                        }
                    }
                }
                Shape::Box(width, height) => {
                    self.fan(topology, switch, (width, height), &centres, &mut ends);
                }
            }
        }
        ends
    }

    /// Spreads the links of a box along its sides, in the order in which they leave.
    fn fan(
        &self,
        topology: &Topology,
        switch: SwitchId,
        (width, height): (f64, f64),
        centres: &[Option<[Point; 2]>],
        ends: &mut [Option<[Point; 2]>],
    ) {
        let at = self.switches[switch.index()].at;
        let mut sides: [Vec<(f64, LinkId, usize)>; 2] = [Vec::new(), Vec::new()];
        for (link, end) in plugged(topology, switch) {
            if let Some(centres) = centres[link.index()] {
                let far = centres[1 - end];
                sides[usize::from(far.y > at.y)].push((far.x, link, end));
            }
        }
        for (side, links) in sides.iter_mut().enumerate() {
            links.sort_by(|a, b| a.0.total_cmp(&b.0));
            #[expect(clippy::cast_precision_loss, reason = "a few links")]
            let step = width * SIDE / links.len().max(1) as f64;
            let y = if side == 1 {
                at.y + height / 2.0
            } else {
                at.y - height / 2.0
            };
            let mut x = at.x - width * SIDE / 2.0 + step / 2.0;
            for &(_, link, end) in links.iter() {
                if let Some(ends) = &mut ends[link.index()] {
                    ends[end] = Point::new(x, y);
                }
                x += step;
            }
        }
    }

    /// Where the number of a port goes, next to its switch and on its link as far as that is level.
    pub(super) fn port_label(&self, near: Point, far: Point, bend: f64) -> Point {
        let (dx, dy) = (far.x - near.x, far.y - near.y);
        if self.rows {
            let x = (dx / dy.abs().max(1.0) * 9.0).clamp(-5.0, 5.0);
            return Point::new(near.x + x, near.y + 9.0 * dy.signum());
        }
        let at = near.toward(far, 11.0);
        // A bent link leaves its end at an angle: this far along, it is that far off the straight
        // line.
        let length = dx.hypot(dy).max(1e-6);
        let part = 11.0 / length;
        let lift = 4.0 * bend * part * (1.0 - part);
        Point::new(at.x - dy / length * lift, at.y + dx / length * lift)
    }

    /// Where a host's name goes: below it in rows, else on the far side from its switch.
    pub(super) fn host_label(&self, at: Point, switch: Point) -> Point {
        let gap = self.host_radius + 11.0;
        if self.rows {
            return Point::new(at.x, at.y + gap);
        }
        at.toward(switch, -gap)
    }
}

/// The links at a switch, each with which of its ends is here.
fn plugged(topology: &Topology, switch: SwitchId) -> impl Iterator<Item = (LinkId, usize)> + '_ {
    topology.peers(switch).map(move |(port, peer)| {
        let here = Endpoint {
            node: NodeId::Switch(switch),
            port,
        };
        (peer.link, usize::from(topology.link(peer.link).b == here))
    })
}

/// Bends that keep links between the same two nodes apart: 0 for a single one, else evenly to both
/// sides.
pub(super) fn bends(topology: &Topology, gap: f64) -> Vec<f64> {
    let mut bundles: std::collections::BTreeMap<(NodeId, NodeId), Vec<LinkId>> =
        std::collections::BTreeMap::new();
    for id in topology.link_ids() {
        let link = topology.link(id);
        let (a, b) = (link.a.node, link.b.node);
        bundles.entry((a.min(b), a.max(b))).or_default().push(id);
    }
    let mut bends = vec![0.0; topology.links().len()];
    for ((low, _), links) in bundles {
        #[expect(clippy::cast_precision_loss, reason = "a few links")]
        let middle = (links.len() - 1) as f64 / 2.0;
        for (at, link) in links.into_iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a few links")]
            let offset = (at as f64 - middle) * gap;
            // The side is counted from the lower node, whichever end of the link it is.
            let flipped = topology.link(link).a.node != low;
            bends[link.index()] = if flipped { -offset } else { offset };
        }
    }
    bends
}

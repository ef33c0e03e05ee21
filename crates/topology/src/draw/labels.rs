//! Where there is room for labels of ports.

use std::collections::BTreeMap;

use super::layout::{Layout, Point, Shape};
use crate::model::Topology;

/// Width of a character and height of a line, in pixels, of the font of ports.
const CHARACTER: f64 = 6.6;
const LINE: f64 = 10.0;
/// Space around a label.
const GAP: f64 = 1.0;
/// Side of the squares by which rectangles are found.
const SQUARE: f64 = 32.0;

/// A rectangle: left, top, right, bottom.
type Rectangle = [f64; 4];

/// Rectangles that are covered.
#[derive(Default)]
pub(super) struct Labels {
    covered: BTreeMap<(i64, i64), Vec<Rectangle>>,
}

impl Labels {
    /// The drawing without labels of ports: its switches and hosts.
    pub(super) fn around(topology: &Topology, layout: &Layout) -> Self {
        let mut labels = Self::default();
        for place in &layout.switches {
            let (w, h) = match place.shape {
                Shape::Box(w, h) => (w / 2.0, h / 2.0),
                // Corners of the square around a disc are free.
                Shape::Disc(r) => (r * 0.75, r * 0.75),
            };
            let Point { x, y } = place.at;
            labels.cover([x - w, y - h, x + w, y + h]);
        }
        let radius = layout.host_radius;
        let hosts = topology
            .host_ids()
            .filter_map(|id| layout.hosts[id.index()]);
        for Point { x, y } in hosts {
            labels.cover([x - radius, y - radius, x + radius, y + radius]);
        }
        labels
    }

    /// Covers the rectangle of a text around a point, if nothing else covers a part of it.
    pub(super) fn place(&mut self, at: Point, text: &str) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a few letters")]
        let half = text.chars().count() as f64 * CHARACTER / 2.0;
        // The point is on the base line.
        let label = [
            at.x - half - GAP,
            at.y - LINE + 2.0,
            at.x + half + GAP,
            at.y + 1.0,
        ];
        let free = squares(label).all(|square| {
            let here = self.covered.get(&square);
            here.is_none_or(|here| here.iter().all(|other| !meet(label, *other)))
        });
        if free {
            self.cover(label);
        }
        free
    }

    fn cover(&mut self, rectangle: Rectangle) {
        for square in squares(rectangle) {
            self.covered.entry(square).or_default().push(rectangle);
        }
    }
}

fn meet(a: Rectangle, b: Rectangle) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// The squares that a rectangle has a part of.
fn squares([left, top, right, bottom]: Rectangle) -> impl Iterator<Item = (i64, i64)> {
    #[expect(clippy::cast_possible_truncation, reason = "pixels")]
    let number = |at: f64| (at / SQUARE).floor() as i64;
    let (columns, rows) = (number(left)..=number(right), number(top)..=number(bottom));
    columns.flat_map(move |x| rows.clone().map(move |y| (x, y)))
}

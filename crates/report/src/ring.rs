//! A cycle of things that wait for each other, as boxes in a ring with arrows.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use crate::page::{ALARM, Page};

/// A box of a ring: two lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingBox {
    /// The first line, in bold.
    pub name: String,
    /// The second line.
    pub detail: String,
}

/// Boxes that are drawn at most; the others are counted.
const MOST: usize = 12;
/// Width of a character of the two lines, about.
const CHARACTERS: (f64, f64) = (7.4, 6.1);
/// Height of a box.
const HEIGHT: f64 = 42.0;
const MARGIN: f64 = 20.0;
const TITLE: f64 = 40.0;

/// Draws boxes that each wait for the next, and the last for the first.
#[must_use]
pub fn ring(title: &str, boxes: &[RingBox]) -> String {
    let shown = &boxes[..boxes.len().min(MOST)];
    let width = box_width(shown);
    let count = shown.len().max(1);
    #[expect(clippy::cast_precision_loss, reason = "a few boxes")]
    let (radius_x, radius_y) = match count {
        0..=2 => (width * 0.5 + 60.0, 0.0),
        _ => (
            (width + 40.0) * count as f64 / TAU + 40.0,
            (HEIGHT + 40.0) * count as f64 / TAU + 20.0,
        ),
    };
    let bend = if count <= 2 { 60.0 } else { 0.0 };
    let size = (
        2.0 * (radius_x + width / 2.0 + MARGIN),
        TITLE + 2.0 * (radius_y + HEIGHT / 2.0 + MARGIN) + bend,
    );
    let centre = (size.0 / 2.0, TITLE + (size.1 - TITLE) / 2.0);
    #[expect(clippy::cast_precision_loss, reason = "a few boxes")]
    let place = |at: usize| {
        let angle = TAU * at as f64 / count as f64 - TAU / 2.0;
        (
            centre.0 + radius_x * angle.cos(),
            centre.1 + radius_y * angle.sin(),
        )
    };
    let mut page = Page::new(title, size.0, size.1);
    let _ = writeln!(
        page.text,
        "<defs><marker id=\"ring-arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"12\" markerHeight=\"12\" \
         markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0,0 L10,5 L0,10 z\" fill=\"{ALARM}\"/></marker></defs>"
    );
    for at in 0..shown.len() {
        arrow(&mut page, place(at), place((at + 1) % count), width, count);
    }
    for (at, one) in shown.iter().enumerate() {
        draw(&mut page, one, place(at), width);
    }
    if boxes.len() > shown.len() {
        let text = format!("and {} more", boxes.len() - shown.len());
        page.label(16.0, size.1 - 8.0, "start", &text);
    }
    page.finish()
}

fn box_width(boxes: &[RingBox]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few letters")]
    let length = |text: &str| text.chars().count() as f64;
    let widths = boxes.iter().map(|one| {
        let name = length(&one.name) * CHARACTERS.0;
        name.max(length(&one.detail) * CHARACTERS.1) + 20.0
    });
    widths.fold(90.0, f64::max)
}

/// An arrow from the edge of one box to the edge of another.
fn arrow(page: &mut Page, from: (f64, f64), to: (f64, f64), width: f64, count: usize) {
    let style = format!(
        "fill=\"none\" stroke=\"{ALARM}\" stroke-width=\"2\" marker-end=\"url(#ring-arrow)\""
    );
    if count <= 2 {
        // Two boxes side by side: one arrow above, one below.
        let side = if from.0 < to.0 { -1.0 } else { 1.0 };
        let edge = side * HEIGHT / 2.0;
        let (a, b) = ((from.0, from.1 + edge), (to.0, to.1 + edge));
        let lift = a.1 + side * 30.0;
        let _ = writeln!(
            page.text,
            "<path d=\"M{:.1} {:.1}C{:.1} {lift:.1} {:.1} {lift:.1} {:.1} {:.1}\" {style}/>",
            a.0, a.1, a.0, b.0, b.0, b.1
        );
        return;
    }
    let (a, b) = (edge_of(from, to, width), edge_of(to, from, width));
    let _ = writeln!(
        page.text,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" {style}/>",
        a.0, a.1, b.0, b.1
    );
}

/// Where the line from the middle of a box to a point leaves the box.
fn edge_of(from: (f64, f64), to: (f64, f64), width: f64) -> (f64, f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let part_x = (width / 2.0) / dx.abs().max(1e-6);
    let part_y = (HEIGHT / 2.0) / dy.abs().max(1e-6);
    let part = part_x.min(part_y).min(0.5);
    (from.0 + dx * part, from.1 + dy * part)
}

fn draw(page: &mut Page, one: &RingBox, at: (f64, f64), width: f64) {
    let _ = writeln!(
        page.text,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"#fdecee\" stroke=\"{ALARM}\"/>",
        at.0 - width / 2.0,
        at.1 - HEIGHT / 2.0
    );
    let name = "text-anchor=\"middle\" font-weight=\"700\" fill=\"#1c2330\"";
    page.plain(at.0, at.1 - 4.0, name, &one.name);
    let detail = "text-anchor=\"middle\" fill=\"#495057\"";
    page.plain(at.0, at.1 + 12.0, detail, &one.detail);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> Vec<RingBox> {
        let one = |number| RingBox {
            name: format!("leaf{number} <a>"),
            detail: "port 3, priority 1".to_owned(),
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn every_box_has_an_arrow_to_the_next() {
        for count in [0, 1, 2, 3, 7, 40] {
            let svg = ring("t", &boxes(count));
            let shown = count.min(MOST);
            assert_eq!(svg.matches("marker-end").count(), shown, "{count}");
            assert_eq!(svg.matches("&lt;a&gt;").count(), shown, "{count}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        assert!(ring("t", &boxes(40)).contains("and 28 more"));
    }
}

//! The wait-for graph at the moment of deadlock: the circle in red, in a ring; those that wait for
//! it around.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write;

use device::deadlock::{QueueId, WaitEdge};
use report::{ALARM, Page};
use topology::{SwitchId, Topology};

use crate::simulate::observe::report::{SimulationReport, queue_name};

/// Queues beside the circle that are drawn.
const MAX_QUEUES: usize = 24;
const WIDTH: f64 = 960.0;
/// From the circle to the queues around it: boxes side by side do not touch.
const RINGS: f64 = 120.0;
/// Queues that stand beside each other around the circle.
const ONE_RING: usize = 12;
/// Half the size of a queue's box.
const BOX: (f64, f64) = (74.0, 19.0);

/// Draws the graph of the first deadlock.
pub(super) fn draw(
    title: &str,
    topology: &Topology,
    report: &SimulationReport,
    edges: &[WaitEdge],
) -> String {
    let first = report.deadlock.first();
    let cycle: &[String] = first.map_or(&[], |d| d.cycle.as_slice());
    let name = |queue: QueueId| queue_name(topology, queue);
    let rank = |queue: QueueId| cycle.iter().position(|n| *n == name(queue));
    let mut queues: Vec<QueueId> = edges.iter().flat_map(|e| [e.from, e.to]).collect();
    queues.sort_unstable();
    queues.dedup();
    let (mut inner, outer): (Vec<QueueId>, Vec<QueueId>) =
        queues.into_iter().partition(|&q| rank(q).is_some());
    inner.sort_by_key(|&q| rank(q));
    let left_out = outer.len().saturating_sub(MAX_QUEUES);
    let (places, height) = arrange(&inner, &outer[..outer.len() - left_out], edges);
    let mut page = Page::new(title, WIDTH, height);
    let _ = writeln!(
        page.text,
        "<defs><marker id=\"a\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" \
         markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0,0 L10,5 L0,10 z\" fill=\"#8a94a6\"/></marker>\
         <marker id=\"b\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"14\" markerHeight=\"14\" \
         markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0,0 L10,5 L0,10 z\" fill=\"{ALARM}\"/></marker></defs>"
    );
    for edge in edges {
        let (Some(&from), Some(&to)) = (places.get(&edge.from), places.get(&edge.to)) else {
            continue;
        };
        let next = |a: Option<usize>| a.map(|a| (a + 1) % cycle.len());
        let hot = rank(edge.to).is_some() && next(rank(edge.from)) == rank(edge.to);
        arrow(&mut page, from, to, hot);
    }
    for (&queue, &place) in &places {
        queue_box(&mut page, topology, queue, place, rank(queue).is_some());
    }
    if let Some(deadlock) = first {
        let text = format!(
            "closed at {:.1} us, certain at {:.1} us; each queue waits for the next: {}",
            deadlock.closed_us,
            deadlock.confirmed_us,
            deadlock.switches.join(" -> ")
        );
        page.label(16.0, 44.0, "start", &text);
    }
    if left_out > 0 {
        let text = format!("{left_out} queues more wait behind these");
        page.label(16.0, height - 12.0, "start", &text);
    }
    page.finish()
}

/// Where the queues stand, and how high the page is.
fn arrange(
    inner: &[QueueId],
    outer: &[QueueId],
    edges: &[WaitEdge],
) -> (BTreeMap<QueueId, (f64, f64)>, f64) {
    let near = 60.0 + 22.0 * inner.len() as f64;
    let far = near + RINGS;
    let radius = if outer.is_empty() { near } else { far }.min(310.0);
    // Where many stand around, every other one stands further out.
    let out = if outer.len() > ONE_RING {
        2.5 * BOX.1
    } else {
        0.0
    };
    let height = 2.0 * (radius + out) + 150.0;
    let centre = (WIDTH / 2.0, height / 2.0 + 20.0);
    let place = |angle: f64, radius: f64| {
        let most = WIDTH / 2.0 - BOX.0 - 4.0;
        let x = centre.0 + (1.3 * radius * angle.cos()).clamp(-most, most);
        (x, centre.1 + radius * angle.sin())
    };
    let turn = |number: usize, of: usize| TAU * number as f64 / of.max(1) as f64 - TAU / 4.0;
    let mut angles: BTreeMap<QueueId, f64> = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (number, &queue) in inner.iter().enumerate() {
        let angle = turn(number, inner.len());
        angles.insert(queue, angle);
        places.insert(
            queue,
            place(
                angle,
                if outer.is_empty() {
                    near
                } else {
                    near.min(radius - RINGS)
                }
                .max(90.0),
            ),
        );
    }
    // Around them, each near whom it waits for.
    let mut ring: Vec<(f64, QueueId)> = outer
        .iter()
        .map(|&queue| {
            let ahead = edges.iter().filter(|e| e.from == queue);
            let angle = ahead.filter_map(|e| angles.get(&e.to)).next();
            (angle.copied().unwrap_or(TAU), queue)
        })
        .collect();
    ring.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let count = ring.len().max(8);
    for (number, (_, queue)) in ring.into_iter().enumerate() {
        let out = out * (number % 2) as f64;
        places.insert(queue, place(turn(number, count), radius + out));
    }
    (places, height)
}

/// An arrow between two boxes, bent so that one back does not lie on it.
fn arrow(page: &mut Page, from: (f64, f64), to: (f64, f64), hot: bool) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let bend = (0.18 * length).min(48.0);
    let middle = (
        (from.0 + to.0) / 2.0 - bend * dy / length,
        (from.1 + to.1) / 2.0 + bend * dx / length,
    );
    let (start, end) = (edge_of(from, middle, 2.0), edge_of(to, middle, 4.0));
    let style = match hot {
        true => format!("stroke=\"{ALARM}\" stroke-width=\"2.6\" marker-end=\"url(#b)\""),
        false => "stroke=\"#8a94a6\" stroke-width=\"1.2\" marker-end=\"url(#a)\"".to_owned(),
    };
    let _ = writeln!(
        page.text,
        "<path d=\"M{:.1},{:.1} Q{:.1},{:.1} {:.1},{:.1}\" fill=\"none\" {style}/>",
        start.0, start.1, middle.0, middle.1, end.0, end.1
    );
}

/// Where the line from a box's centre to a point leaves the box, and a little further.
fn edge_of(centre: (f64, f64), point: (f64, f64), gap: f64) -> (f64, f64) {
    let (dx, dy) = (point.0 - centre.0, point.1 - centre.1);
    let across = |half: f64, way: f64| (half + gap) / way.abs().max(1e-6);
    let part = across(BOX.0, dx).min(across(BOX.1, dy)).min(1.0);
    (centre.0 + part * dx, centre.1 + part * dy)
}

fn queue_box(
    page: &mut Page,
    topology: &Topology,
    queue: QueueId,
    (x, y): (f64, f64),
    in_cycle: bool,
) {
    let (fill, stroke) = match in_cycle {
        true => ("#fdecee", ALARM),
        false => ("#f4f6fa", "#8a94a6"),
    };
    let _ = writeln!(
        page.text,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.0}\" height=\"{:.0}\" rx=\"6\" fill=\"{fill}\" stroke=\"{stroke}\" \
         stroke-width=\"1.4\"/>",
        x - BOX.0,
        y - BOX.1,
        2.0 * BOX.0,
        2.0 * BOX.1
    );
    let id = SwitchId::new(queue.switch as u32);
    let peer = topology.peer(id, queue.port);
    let peer = peer.map_or("?", |p| topology.node_name(p.end.node));
    let bold = "text-anchor=\"middle\" font-weight=\"700\" fill=\"#1c2330\"";
    page.styled(
        x,
        y - 3.0,
        bold,
        &format!("{} -> {peer}", topology.switch(id).name),
    );
    let text = format!("port {}, priority {}", queue.port, queue.class);
    page.label(x, y + 11.0, "middle", &text);
}

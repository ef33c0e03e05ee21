//! The pictures of a simulation, as SVG: throughput and buffers over time, pauses as a Gantt chart, and
//! the wait-for graph at the moment of deadlock.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write;

use device::deadlock::{QueueId, WaitEdge};
use units::{PortId, Priority};

use super::report::{Report, port_name, queue_name};
use super::world::World;
use crate::topology::{SwitchId, Topology};

const COLOURS: [&str; 10] = [
    "#1f6feb", "#d62839", "#2a9d8f", "#e09f3e", "#7b2cbf", "#577590", "#f3722c", "#43aa8b",
    "#b5179e", "#6c757d",
];
/// Curves that are drawn; what is beyond is drawn as one sum.
const MOST_CURVES: usize = 10;
/// Rows of the Gantt chart: the queues that were paused longest.
const MOST_ROWS: usize = 48;
/// Queues of the wait-for graph that are drawn.
const MOST_QUEUES: usize = 36;

/// See the module documentation. Each is a whole SVG document.
#[derive(Clone, Debug)]
pub struct Plots {
    /// Throughput of the flows.
    pub throughput: String,
    /// Bytes in the switches' buffers.
    pub queues: String,
    /// When queues were paused.
    pub pauses: String,
    /// Who waited for whom at the first deadlock, if there was one.
    pub deadlock: Option<String>,
    /// Throughput of all flows together: times in microseconds, gigabits per second.
    pub goodput: Vec<(f64, f64)>,
}

impl Plots {
    pub(super) fn draw(topology: &Topology, report: &Report, world: &World) -> Self {
        let title = |what: &str| {
            let tags = if report.tags {
                "with tags"
            } else {
                "without tags"
            };
            format!("{}, {tags}: {what}", report.scenario)
        };
        Self {
            throughput: throughput(&title("throughput"), report, world),
            queues: buffers(&title("bytes in the buffers"), topology, world),
            pauses: pauses(&title("paused queues"), topology, world),
            deadlock: (!world.graph.is_empty())
                .then(|| graph(&title("who waits for whom"), topology, report, &world.graph)),
            goodput: goodput(world),
        }
    }
}

/// Throughput of all flows together, of several runs over the same time, in one diagram.
#[must_use]
pub fn compare_goodput(title: &str, runs: &[(&str, &Plots)]) -> String {
    let longest = runs.iter().map(|(_, plots)| &plots.goodput);
    let longest = longest
        .max_by_key(|g| g.len())
        .map_or(&[][..], Vec::as_slice);
    let times: Vec<f64> = longest.iter().map(|(time, _)| *time).collect();
    let values = |plots: &Plots| plots.goodput.iter().map(|(_, gbps)| *gbps).collect();
    let series: Vec<(String, Vec<f64>)> = runs
        .iter()
        .map(|(name, plots)| ((*name).to_owned(), values(plots)))
        .collect();
    let until = times.last().copied().unwrap_or(1.0);
    curves(title, "Gb/s", until, &times, &series)
}

fn goodput(world: &World) -> Vec<(f64, f64)> {
    let sum = |at: usize| -> f64 {
        let bytes = world.trace.arrived.iter().filter_map(|flow| flow.get(at));
        bytes.map(|&b| f64::from(b)).sum()
    };
    let times = world.trace.times.iter().enumerate();
    times
        .map(|(at, &time)| (micros(time), sum(at) * 8.0 / world.sample as f64))
        .collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// An SVG document. Writing to a string cannot fail.
struct Page {
    text: String,
}

impl Page {
    fn new(title: &str, width: f64, height: f64) -> Self {
        let mut text = String::new();
        let title = escape(title);
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" font-family=\"Inter,'Segoe UI',Roboto,Arial,sans-serif\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"700\" fill=\"#212529\">{title}</text>\n"
        );
        Self { text }
    }

    fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\" fill=\"#495057\" text-anchor=\"{anchor}\" paint-order=\"stroke\" stroke=\"#fff\" stroke-width=\"3\">{}</text>",
            escape(text)
        );
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let _ = writeln!(
            self.text,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>",
            from.0, from.1, to.0, to.1
        );
    }

    fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// The place of a diagram on its page, and what its axes stand for.
struct Axes {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// In microseconds.
    until: f64,
    most: f64,
}

impl Axes {
    fn at(&self, time: f64, value: f64) -> (f64, f64) {
        let x = self.left + self.width * time / self.until.max(1e-9);
        (
            x,
            self.top + self.height * (1.0 - value / self.most.max(1e-9)),
        )
    }

    fn time(&self, page: &mut Page) {
        let bottom = self.top + self.height;
        let step = nice(self.until / 8.0);
        let mut time = 0.0;
        while time <= self.until * 1.0001 {
            let (x, _) = self.at(time, 0.0);
            page.line((x, self.top), (x, bottom), "stroke=\"#e9ecef\"");
            let text = match self.until >= 2_000.0 {
                true => format!("{:.3}", time / 1e3),
                false => format!("{time:.1}"),
            };
            let text = match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.'),
                false => &text,
            };
            page.label(x, bottom + 16.0, "middle", text);
            time += step;
        }
        let unit = if self.until >= 2_000.0 { "ms" } else { "us" };
        page.label(self.left + self.width, bottom + 32.0, "end", unit);
    }

    fn values(&self, page: &mut Page, unit: &str) {
        let step = nice(self.most / 5.0);
        let mut value = 0.0;
        while value <= self.most * 1.0001 {
            let (left, y) = self.at(0.0, value);
            page.line((left, y), (left + self.width, y), "stroke=\"#e9ecef\"");
            page.label(left - 6.0, y + 4.0, "end", &format!("{value}"));
            value += step;
        }
        page.label(self.left - 6.0, self.top - 10.0, "end", unit);
    }
}

/// A round number near this one.
fn nice(raw: f64) -> f64 {
    if raw <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(raw.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0];
    power * times.into_iter().find(|t| power * t >= raw).unwrap_or(10.0)
}

/// Curves over time, with a legend.
fn curves(
    title: &str,
    unit: &str,
    until: f64,
    times: &[f64],
    series: &[(String, Vec<f64>)],
) -> String {
    let mut page = Page::new(title, 960.0, 420.0 + 16.0 * series.len() as f64);
    let values = series.iter().flat_map(|(_, values)| values);
    let axes = Axes {
        left: 70.0,
        top: 60.0,
        width: 860.0,
        height: 300.0,
        until,
        most: values.copied().fold(0.0, f64::max).max(1e-3) * 1.05,
    };
    axes.time(&mut page);
    axes.values(&mut page, unit);
    for (number, (name, values)) in series.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let mut points = String::new();
        for (&time, &value) in times.iter().zip(values) {
            let (x, y) = axes.at(time, value);
            let _ = write!(points, "{x:.1},{y:.1} ");
        }
        let _ = writeln!(
            page.text,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>"
        );
        let y = 412.0 + 16.0 * number as f64;
        let style = format!("stroke=\"{colour}\" stroke-width=\"3\"");
        page.line((70.0, y - 4.0), (94.0, y - 4.0), &style);
        page.label(100.0, y, "start", name);
    }
    page.finish()
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// The first curves, and the sum of the others.
fn few(mut series: Vec<(String, Vec<f64>)>) -> Vec<(String, Vec<f64>)> {
    if series.len() <= MOST_CURVES {
        return series;
    }
    let rest = series.split_off(MOST_CURVES - 1);
    let points = rest.iter().map(|(_, v)| v.len()).max().unwrap_or(0);
    let sum = |at: usize| rest.iter().filter_map(|(_, v)| v.get(at)).sum::<f64>();
    series.push((
        format!("{} others together", rest.len()),
        (0..points).map(sum).collect(),
    ));
    series
}

fn throughput(title: &str, report: &Report, world: &World) -> String {
    let trace = &world.trace;
    let times: Vec<f64> = trace.times.iter().map(|&t| micros(t)).collect();
    let rate = |bytes: &u32| f64::from(*bytes) * 8.0 / world.sample as f64;
    let series = report
        .flows
        .iter()
        .zip(&trace.arrived)
        .map(|(flow, bytes)| (flow.name.clone(), bytes.iter().map(rate).collect()))
        .collect();
    curves(title, "Gb/s", micros(world.now), &times, &few(series))
}

fn buffers(title: &str, topology: &Topology, world: &World) -> String {
    let trace = &world.trace;
    let times: Vec<f64> = trace.times.iter().map(|&t| micros(t)).collect();
    let mut series: Vec<(String, Vec<f64>)> = topology
        .switches()
        .iter()
        .zip(&trace.buffers)
        .map(|(switch, bytes)| {
            let kilobytes = bytes.iter().map(|&b| f64::from(b) / 1e3).collect();
            (switch.name.clone(), kilobytes)
        })
        .collect();
    // The fullest first; equal ones as they stand in the topology.
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    series.sort_by(|a, b| most(&b.1).total_cmp(&most(&a.1)));
    curves(title, "KB", micros(world.now), &times, &few(series))
}

/// When a queue was paused, from and until.
type Spans = Vec<(u64, u64)>;

fn pauses(title: &str, topology: &Topology, world: &World) -> String {
    let mut spans: BTreeMap<(u32, PortId, Priority), Spans> = BTreeMap::new();
    for (switch, edge) in &world.trace.pauses {
        let row = spans.entry((*switch, edge.port, edge.class)).or_default();
        match (edge.paused, row.last_mut()) {
            (true, _) => row.push((edge.at.get(), world.now)),
            (false, Some(last)) => last.1 = edge.at.get(),
            (false, None) => {}
        }
    }
    let total = |spans: &Spans| spans.iter().map(|(from, until)| until - from).sum::<u64>();
    let mut rows: Vec<_> = spans
        .into_iter()
        .map(|(queue, s)| (total(&s), queue, s))
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    rows.sort_by_key(|row| row.1);
    let height = 16.0 * rows.len().max(1) as f64;
    let mut page = Page::new(title, 1060.0, height + 110.0);
    let axes = Axes {
        left: 240.0,
        top: 50.0,
        width: 790.0,
        height,
        until: micros(world.now),
        most: 1.0,
    };
    axes.time(&mut page);
    for (number, (_, (switch, port, class), spans)) in rows.iter().enumerate() {
        let y = axes.top + 16.0 * number as f64;
        let name = port_name(topology, *switch as usize, *port, *class);
        page.label(axes.left - 6.0, y + 12.0, "end", &name);
        let colour = COLOURS[usize::from(class.get()) % COLOURS.len()];
        for (from, until) in spans {
            let (x, _) = axes.at(micros(*from), 0.0);
            let (end, _) = axes.at(micros(*until), 0.0);
            let width = (end - x).max(0.3);
            let _ = writeln!(
                page.text,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"12\" fill=\"{colour}\"/>",
                y + 2.0
            );
        }
    }
    let note = match (rows.is_empty(), left_out) {
        (true, _) => "nothing was paused".to_owned(),
        (_, 0) => String::new(),
        (_, more) => format!("{more} queues that were paused for a shorter time are left out"),
    };
    page.label(16.0, height + 96.0, "start", &note);
    page.finish()
}

/// The wait-for graph: the circle of the first deadlock in red, in a ring; others around it.
fn graph(title: &str, topology: &Topology, report: &Report, edges: &[WaitEdge]) -> String {
    let first = report.deadlock.first();
    let name = |queue: QueueId| queue_name(topology, queue);
    let in_cycle = |queue: QueueId| first.is_some_and(|d| d.cycle.contains(&name(queue)));
    let mut queues: Vec<QueueId> = edges.iter().flat_map(|e| [e.from, e.to]).collect();
    queues.sort_unstable();
    queues.dedup();
    let (mut inner, mut outer): (Vec<QueueId>, Vec<QueueId>) =
        queues.into_iter().partition(|&q| in_cycle(q));
    if let Some(deadlock) = first {
        inner.sort_by_key(|&q| deadlock.cycle.iter().position(|n| *n == name(q)));
    }
    let left_out = outer.len().saturating_sub(MOST_QUEUES);
    outer.truncate(MOST_QUEUES);
    let (width, height) = (1000.0, 800.0);
    let (x, y) = (width / 2.0, height / 2.0 + 20.0);
    let mut places: BTreeMap<QueueId, (f64, f64)> = BTreeMap::new();
    for (ring, radius) in [(&inner, 170.0), (&outer, 320.0)] {
        for (number, &queue) in ring.iter().enumerate() {
            let angle = TAU * number as f64 / ring.len() as f64 - TAU / 4.0;
            let place = (x + 1.25 * radius * angle.cos(), y + radius * angle.sin());
            places.insert(queue, place);
        }
    }
    let mut page = Page::new(title, width, height);
    page.text.push_str(
        "<defs><marker id=\"a\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path d=\"M0,0 L10,5 L0,10 z\" fill=\"context-stroke\"/></marker></defs>\n",
    );
    for edge in edges {
        let (Some(&from), Some(&to)) = (places.get(&edge.from), places.get(&edge.to)) else {
            continue;
        };
        let hot = follows(
            first.map(|d| d.cycle.as_slice()),
            &name(edge.from),
            &name(edge.to),
        );
        let style = match hot {
            true => "stroke=\"#d62839\" stroke-width=\"3\" marker-end=\"url(#a)\"",
            false => "stroke=\"#adb5bd\" stroke-width=\"1.2\" marker-end=\"url(#a)\"",
        };
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1.0);
        let (ux, uy) = (dx / length, dy / length);
        page.line(
            (from.0 + 18.0 * ux, from.1 + 18.0 * uy),
            (to.0 - 20.0 * ux, to.1 - 20.0 * uy),
            style,
        );
    }
    for (&queue, &(x, y)) in &places {
        let colour = if in_cycle(queue) {
            "#d62839"
        } else {
            "#6c757d"
        };
        let _ = writeln!(
            page.text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"14\" fill=\"{colour}\"/>"
        );
        let switch = &topology.switch(SwitchId::new(queue.switch as u32)).name;
        let peer = topology.peer(SwitchId::new(queue.switch as u32), queue.port);
        let peer = peer.map_or("?", |p| topology.node_name(p.end.node));
        page.label(x, y + 28.0, "middle", &format!("{switch} -> {peer}"));
        page.label(x, y + 41.0, "middle", &format!("priority {}", queue.class));
    }
    if let Some(deadlock) = first {
        let text = format!(
            "closed at {:.1} us; every queue waits for the next: {}",
            deadlock.closed_us,
            deadlock.switches.join(" -> ")
        );
        page.label(16.0, 44.0, "start", &text);
    }
    if left_out > 0 {
        page.label(
            16.0,
            height - 12.0,
            "start",
            &format!("{left_out} queues more wait behind these"),
        );
    }
    page.finish()
}

/// Whether one queue comes right after the other in the cycle.
fn follows(cycle: Option<&[String]>, from: &str, to: &str) -> bool {
    let Some(cycle) = cycle else {
        return false;
    };
    let next = cycle.iter().cycle().skip(1);
    cycle.iter().zip(next).any(|(a, b)| a == from && b == to)
}

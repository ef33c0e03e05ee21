//! The pictures of a simulation, as SVG: throughput, queues and buffers over time, pauses as a
//! Gantt chart, and the wait-for graph at the moment of deadlock.

mod graph;

use std::collections::BTreeMap;
use std::fmt::Write;

use quantities::{PortId, Priority};
use report::{Axis, COLOURS, Mark, Page, Plot, Stroke, TimeAxes, colours_of};
use topology::Topology;

use crate::simulate::engine::simulation::Simulation;
use crate::simulate::observe::completions::Completions;
use crate::simulate::observe::report::{SimulationReport, port_name};

/// Curves that are drawn; what is beyond is drawn as one sum.
const MAX_CURVES: usize = 8;
/// Rows of the Gantt chart: the queues that were paused longest.
const MAX_ROWS: usize = 48;

/// See the module documentation. Each is a whole SVG document.
#[derive(Clone, Debug, PartialEq)]
pub struct Plots {
    /// Throughput of the flows.
    pub throughput: String,
    /// Bytes in the switches' longest queues.
    pub queues: String,
    /// Bytes in the switches' buffers.
    pub buffers: String,
    /// When queues were paused.
    pub pauses: String,
    /// Who waited for whom at the first deadlock, if there was one.
    pub deadlock: Option<String>,
    /// Completion times of workloads' jobs by their size, if there are workloads.
    pub completions: Option<String>,
    /// Throughput of all flows together: times in microseconds, gigabits per second.
    pub goodput: Vec<(f64, f64)>,
    /// Throughput of each flow, and then of each workload, at the same times, in gigabits per
    /// second.
    pub flows: Vec<Vec<f64>>,
}

impl Plots {
    pub(crate) fn draw(
        topology: &Topology,
        report: &SimulationReport,
        simulation: &Simulation,
    ) -> Self {
        let tags = if report.tags {
            "with tags"
        } else {
            "without tags"
        };
        let title = |what: &str| format!("{}, {tags}: {what}", report.scenario);
        let times = simulation
            .coordinator
            .trace
            .times
            .iter()
            .map(|&t| micros(t))
            .collect();
        let drawing = Drawing {
            times,
            until: micros(simulation.coordinator.now),
            marks: marks(report),
        };
        let deadlock = || {
            graph::draw(
                &title("who waits for whom"),
                topology,
                report,
                &simulation.coordinator.graph,
            )
        };
        Self {
            throughput: throughput(&title("throughput"), &drawing, report, simulation),
            queues: queues(&title("the longest queues"), &drawing, topology, simulation),
            buffers: buffers(
                &title("the fullest buffers"),
                &drawing,
                topology,
                simulation,
            ),
            pauses: pauses(&title("paused queues"), &drawing, topology, simulation),
            deadlock: (!simulation.coordinator.graph.is_empty()).then(deadlock),
            completions: (!report.workloads.is_empty())
                .then(|| completions(&title("completion times"), report)),
            goodput: goodput(simulation),
            flows: rates(simulation),
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
    let drawing = Drawing {
        until: times.last().copied().unwrap_or(1.0),
        times,
        marks: Vec::new(),
    };
    drawing.curves(title, "goodput, Gb/s", &series)
}

fn goodput(simulation: &Simulation) -> Vec<(f64, f64)> {
    let sum = |at: usize| -> f64 {
        let bytes = simulation
            .coordinator
            .trace
            .arrived
            .iter()
            .filter_map(|flow| flow.get(at));
        bytes.map(|&b| f64::from(b)).sum()
    };
    let times = simulation.coordinator.trace.times.iter().enumerate();
    times
        .map(|(at, &time)| {
            (
                micros(time),
                sum(at) * 8.0 / simulation.coordinator.sample as f64,
            )
        })
        .collect()
}

/// What all diagrams over time have in common.
struct Drawing {
    /// Of the points, in microseconds.
    times: Vec<f64>,
    until: f64,
    marks: Vec<Mark>,
}

/// Series of points, with their names.
type Series = Vec<(String, Vec<f64>)>;

/// What the scenario did, and deadlocks, in order of time.
fn marks(report: &SimulationReport) -> Vec<Mark> {
    let events = report.timeline.iter().map(|event| Mark {
        at: event.at_us,
        text: event.what.clone(),
        alarm: false,
    });
    let deadlocks = report.deadlock.iter().map(|deadlock| Mark {
        at: deadlock.closed_us,
        text: "deadlock".to_owned(),
        alarm: true,
    });
    let mut marks: Vec<Mark> = events.chain(deadlocks).collect();
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    marks
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

impl Drawing {
    /// Curves over time, with a legend.
    fn curves(&self, title: &str, what: &str, series: &[(String, Vec<f64>)]) -> String {
        let values = series.iter().flat_map(|(_, values)| values);
        let mut axes = TimeAxes {
            left: 78.0,
            top: 44.0,
            width: 852.0,
            height: 300.0,
            until: self.until,
            most: values.copied().fold(0.0, f64::max).max(1e-3) * 1.05,
        };
        axes.top += 14.0 * axes.rows(&self.marks) as f64;
        let legend = axes.top + axes.height + 54.0;
        let rows = series.len().div_ceil(2) as f64;
        let mut page = Page::new(title, 960.0, legend + 16.0 * rows);
        axes.time(&mut page);
        axes.values(&mut page, what);
        let colours = colours_of(series.iter().map(|(name, _)| name.as_str()));
        for (number, ((name, values), colour)) in series.iter().zip(colours).enumerate() {
            let mut points = String::new();
            for (&time, &value) in self.times.iter().zip(values) {
                let (x, y) = axes.at(time, value);
                let _ = write!(points, "{x:.1},{y:.1} ");
            }
            let _ = writeln!(
                page.text,
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" \
                 stroke-linejoin=\"round\"/>"
            );
            let x = axes.left + (number % 2) as f64 * axes.width / 2.0;
            let y = legend + 16.0 * (number / 2) as f64;
            let style = format!("stroke=\"{colour}\" stroke-width=\"3\"");
            page.line((x, y - 4.0), (x + 24.0, y - 4.0), &style);
            page.label(x + 30.0, y, "start", name);
        }
        axes.marks(&mut page, &self.marks);
        page.finish()
    }
}

/// The first curves, and the sum of the others.
fn few(mut series: Series) -> Series {
    if series.len() <= MAX_CURVES {
        return series;
    }
    let rest = series.split_off(MAX_CURVES - 1);
    let points = rest.iter().map(|(_, v)| v.len()).max().unwrap_or(0);
    let sum = |at: usize| rest.iter().filter_map(|(_, v)| v.get(at)).sum::<f64>();
    series.push((
        format!("{} others together", rest.len()),
        (0..points).map(sum).collect(),
    ));
    series
}

/// Those with the highest points first, without those that are always 0; how many were left out
/// beyond the first few.
fn highest(mut series: Series) -> (Series, usize) {
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    series.retain(|(_, values)| most(values) > 0.0);
    // Equal ones stay in the topology's order.
    series.sort_by(|a, b| most(&b.1).total_cmp(&most(&a.1)));
    let left_out = series.len().saturating_sub(MAX_CURVES);
    series.truncate(MAX_CURVES);
    (series, left_out)
}

fn beyond(title: &str, left_out: usize) -> String {
    match left_out {
        0 => title.to_owned(),
        more => format!("{title} ({more} others stayed below)"),
    }
}

/// Percentiles of completion times, for every workload by size.
fn completions(title: &str, report: &SimulationReport) -> String {
    type Reading = fn(&Completions) -> f64;
    let readings: [(&str, Stroke, Reading); 3] = [
        ("median", Stroke::Dashed, |found| found.normalized.p50),
        ("99 %", Stroke::Solid, |found| found.normalized.p99),
        ("99.9 %", Stroke::Solid, |found| found.normalized.p999),
    ];
    let mut plot = Plot::new(
        title,
        Axis::log("bytes of a flow, or of an answer"),
        Axis::log("in units of the optimum"),
    );
    for (number, workload) in report.workloads.iter().enumerate() {
        for (at, (name, stroke, reading)) in readings.iter().enumerate() {
            let found = workload.completions.iter();
            let points = found.map(|found| (found.bytes as f64, reading(found)));
            let name = format!("{}, {name}", workload.name);
            plot.add(&name, *stroke, 2 * number + at / 2, points.collect());
        }
    }
    plot.svg()
}

/// What arrived of every flow, and of every workload, at each point, in gigabits per second.
fn rates(simulation: &Simulation) -> Vec<Vec<f64>> {
    let rate = |bytes: &u32| f64::from(*bytes) * 8.0 / simulation.coordinator.sample as f64;
    let arrived = simulation.coordinator.trace.arrived.iter();
    arrived
        .map(|bytes| bytes.iter().map(rate).collect())
        .collect()
}

fn throughput(
    title: &str,
    drawing: &Drawing,
    report: &SimulationReport,
    simulation: &Simulation,
) -> String {
    let names = report.flows.iter().map(|flow| &flow.name);
    let names = names.chain(report.workloads.iter().map(|workload| &workload.name));
    let series = names.cloned().zip(rates(simulation));
    drawing.curves(title, "throughput, Gb/s", &few(series.collect()))
}

fn queues(title: &str, drawing: &Drawing, topology: &Topology, simulation: &Simulation) -> String {
    let points = simulation.coordinator.trace.times.len();
    let series = simulation
        .coordinator
        .trace
        .queues
        .iter()
        .map(|(queue, depths)| {
            let mut values = vec![0.0; points];
            for &(point, bytes) in depths {
                if let Some(value) = values.get_mut(point as usize) {
                    *value = f64::from(bytes) / 1e3;
                }
            }
            (
                port_name(topology, queue.switch, queue.port, queue.class),
                values,
            )
        });
    let (series, left_out) = highest(series.collect());
    drawing.curves(&beyond(title, left_out), "bytes waiting, KB", &series)
}

fn buffers(title: &str, drawing: &Drawing, topology: &Topology, simulation: &Simulation) -> String {
    let switches = topology
        .switches()
        .iter()
        .zip(&simulation.coordinator.trace.buffers);
    let series = switches.map(|(switch, bytes)| {
        let kilobytes = bytes.iter().map(|&b| f64::from(b) / 1e3).collect();
        (switch.name.clone(), kilobytes)
    });
    let (series, left_out) = highest(series.collect());
    drawing.curves(&beyond(title, left_out), "bytes in the buffer, KB", &series)
}

/// When a queue was paused, from and until.
type Spans = Vec<(u64, u64)>;
type Row = (u64, (u32, PortId, Priority), Spans);

/// The queues that were paused, in the topology's order, each with how long in all; how many
/// shorter ones are left out.
fn paused(simulation: &Simulation) -> (Vec<Row>, usize) {
    let mut spans: BTreeMap<(u32, PortId, Priority), Spans> = BTreeMap::new();
    for (switch, edge) in &simulation.coordinator.trace.pauses {
        let row = spans.entry((*switch, edge.port, edge.class)).or_default();
        match (edge.paused, row.last_mut()) {
            (true, _) => row.push((edge.at.get(), simulation.coordinator.now)),
            (false, Some(last)) => last.1 = edge.at.get(),
            (false, None) => {}
        }
    }
    let total = |spans: &Spans| spans.iter().map(|(from, until)| until - from).sum();
    let rows = spans.into_iter().map(|(queue, s)| (total(&s), queue, s));
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    rows.sort_by_key(|row| row.1);
    (rows, left_out)
}

fn pauses(title: &str, drawing: &Drawing, topology: &Topology, simulation: &Simulation) -> String {
    let (rows, left_out) = paused(simulation);
    let height = 16.0 * rows.len().max(1) as f64;
    let mut axes = TimeAxes {
        left: 240.0,
        top: 44.0,
        width: 600.0,
        height,
        until: drawing.until,
        most: 1.0,
    };
    axes.top += 14.0 * axes.rows(&drawing.marks) as f64;
    let bottom = axes.top + height;
    let mut page = Page::new(title, 960.0, bottom + 66.0);
    axes.time(&mut page);
    for (number, (total, (switch, port, class), spans)) in rows.iter().enumerate() {
        let y = axes.top + 16.0 * number as f64;
        let name = port_name(topology, *switch as usize, *port, *class);
        page.label(axes.left - 6.0, y + 12.0, "end", &name);
        let share = 100.0 * *total as f64 / simulation.coordinator.now.max(1) as f64;
        let text = format!("{share:.1} % paused");
        page.label(axes.left + axes.width + 8.0, y + 12.0, "start", &text);
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
    let mut classes: Vec<Priority> = rows.iter().map(|(_, (_, _, class), _)| *class).collect();
    classes.sort_unstable();
    classes.dedup();
    for (number, class) in classes.iter().enumerate() {
        let x = axes.left + 90.0 * number as f64;
        let colour = COLOURS[usize::from(class.get()) % COLOURS.len()];
        let style = format!("stroke=\"{colour}\" stroke-width=\"10\"");
        page.line((x, bottom + 50.0), (x + 16.0, bottom + 50.0), &style);
        page.label(
            x + 22.0,
            bottom + 54.0,
            "start",
            &format!("priority {class}"),
        );
    }
    let note = match (rows.is_empty(), left_out) {
        (true, _) => "nothing was paused".to_owned(),
        (_, 0) => String::new(),
        (_, more) => format!("{more} queues that were paused for a shorter time are left out"),
    };
    page.label(944.0, bottom + 54.0, "end", &note);
    axes.marks(&mut page, &drawing.marks);
    page.finish()
}

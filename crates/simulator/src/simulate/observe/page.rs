//! The page of a simulation: figures and pictures in one file that needs nothing else.

use askama::Template;

use super::completions::Completions;
use super::diagrams::Plots;
use super::report::{ClassReport, FlowReport, SimulationReport, SwitchReport};

/// Rows of a table; the JSON has all.
const MAX_ROWS: usize = 200;

/// Every field is text in its final form.
#[derive(Template)]
#[template(path = "report_simulation.html")]
struct Page<'a> {
    name: &'a str,
    about: &'a str,
    subtitle: String,
    deadlocks: Vec<Deadlock<'a>>,
    losses: String,
    cards: Vec<Card>,
    throughput: &'a str,
    queues: &'a str,
    buffers: &'a str,
    pauses: &'a str,
    graph: &'a str,
    timeline: Vec<Event<'a>>,
    flows_text: String,
    flows: Vec<Vec<String>>,
    jobs: Vec<Vec<String>>,
    completions: &'a str,
    switches: Vec<Vec<String>>,
    classes_text: String,
    classes: Vec<Vec<String>>,
    version: &'static str,
    /// CSS, as the pages of builds have it.
    style: &'static str,
}

struct Deadlock<'a> {
    text: String,
    cycle: &'a [String],
}

struct Card {
    figure: String,
    label: &'static str,
}

struct Event<'a> {
    at: String,
    what: &'a str,
}

impl Plots {
    /// The report and the pictures as one HTML page. `about` is what the scenario says of itself.
    ///
    /// # Errors
    /// Only by a bug of Switchwright.
    pub fn page(&self, report: &SimulationReport, about: &str) -> Result<String, askama::Error> {
        let tags = match report.tags {
            true => "Tags as planned",
            false => "Without tags: plain PFC",
        };
        let classes = || {
            report
                .switches
                .iter()
                .flat_map(|s| s.classes.iter().map(move |c| (s, c)))
        };
        let flows = report.flows.iter().take(MAX_ROWS);
        Page {
            name: &report.scenario,
            about: about.trim(),
            subtitle: format!("{tags}; {} us of virtual time", tidy(report.simulated_us)),
            deadlocks: deadlocks(report),
            losses: losses(report),
            cards: cards(report),
            throughput: &self.throughput,
            queues: &self.queues,
            buffers: &self.buffers,
            pauses: &self.pauses,
            graph: self.deadlock.as_deref().unwrap_or_default(),
            timeline: timeline(report),
            flows_text: shown("flows", report.flows.len()),
            flows: flows.map(flow).collect(),
            jobs: jobs(report),
            completions: self.completions.as_deref().unwrap_or_default(),
            switches: report.switches.iter().map(switch).collect(),
            classes_text: shown("ports' classes that saw packets", classes().count()),
            classes: classes().take(MAX_ROWS).map(|(s, c)| class(s, c)).collect(),
            version: env!("CARGO_PKG_VERSION"),
            style: report::STYLE,
        }
        .render()
    }
}

fn shown(what: &str, count: usize) -> String {
    match count {
        0..=MAX_ROWS => format!("{count} {what}."),
        _ => format!("The first {MAX_ROWS} of {count} {what}; `simulate --json` has all."),
    }
}

fn tidy(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn deadlocks(report: &SimulationReport) -> Vec<Deadlock<'_>> {
    let text = |d: &super::report::DeadlockReport| {
        format!(
            "The circle closed at {} us and was certain at {} us; {} queues can never move again. Each of these waits \
             for the next, and the last for the first:",
            tidy(d.closed_us),
            tidy(d.confirmed_us),
            d.stuck
        )
    };
    let deadlocks = report.deadlock.iter().map(|d| Deadlock {
        text: text(d),
        cycle: &d.cycle,
    });
    deadlocks.collect()
}

fn losses(report: &SimulationReport) -> String {
    let losses = report.losses;
    format!(
        "Lost: {} lossless packets, {} lossy, {} by the program, {} with links.",
        losses.lossless, losses.lossy, losses.program, losses.link_down
    )
}

fn cards(report: &SimulationReport) -> Vec<Card> {
    let card = |figure: String, label| Card { figure, label };
    vec![
        card(report.deadlocks.to_string(), "deadlocks"),
        card(
            report.lossless_drops.to_string(),
            "lossless packets dropped",
        ),
        card(format!("{:.2}", report.gbps), "Gb/s in all"),
        card(report.packets.to_string(), "packets arrived"),
        card(report.packet_hops.to_string(), "packet-hops"),
        card(report.stuck_queues.to_string(), "queues stuck at the end"),
    ]
}

fn timeline(report: &SimulationReport) -> Vec<Event<'_>> {
    let events = report.timeline.iter().map(|event| Event {
        at: tidy(event.at_us),
        what: &event.what,
    });
    events.collect()
}

fn flow(flow: &FlowReport) -> Vec<String> {
    vec![
        flow.name.clone(),
        flow.from.clone(),
        flow.to.clone(),
        flow.priority.to_string(),
        format!("{:.3}", flow.gbps),
        format!("{:.3}", flow.gbps_at_end),
        flow.bytes.to_string(),
        flow.marked.to_string(),
        flow.completed_us.map_or_else(|| "-".to_owned(), tidy),
    ]
}

/// Workloads by size.
fn jobs(report: &SimulationReport) -> Vec<Vec<String>> {
    let row = |(name, found): (&String, &Completions)| {
        vec![
            name.clone(),
            found.bytes.to_string(),
            found.jobs.to_string(),
            found.unfinished.to_string(),
            tidy(found.optimum_us),
            tidy(found.times_us.p50),
            tidy(found.times_us.p99),
            tidy(found.times_us.p999),
            format!("{:.2}", found.normalized.p99),
        ]
    };
    let all = report.workloads.iter().flat_map(|workload| {
        let found = workload.completions.iter();
        found.map(move |found| (&workload.name, found))
    });
    all.map(row).collect()
}

fn switch(switch: &SwitchReport) -> Vec<String> {
    vec![
        switch.name.clone(),
        switch.peak_bytes.to_string(),
        switch.headroom_peak_bytes.to_string(),
        switch.pauses_sent.to_string(),
        tidy(switch.paused_us),
        switch.marked.to_string(),
        switch.lossless_drops.to_string(),
    ]
}

fn class(switch: &SwitchReport, class: &ClassReport) -> Vec<String> {
    vec![
        format!("{}:{}->{}", switch.name, class.port, class.peer),
        class.priority.to_string(),
        class.accepted.to_string(),
        class.ingress_peak_bytes.to_string(),
        class.headroom_peak_bytes.to_string(),
        class.headroom_bytes.to_string(),
        class.pauses_sent.to_string(),
        class.sent.to_string(),
        class.queue_peak_bytes.to_string(),
        tidy(class.paused_us),
        class.marked.to_string(),
        (class.lossless_drops + class.lossy_drops + class.flushed + class.evicted).to_string(),
    ]
}

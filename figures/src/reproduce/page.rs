//! One page with all entries: tables, and ours over the papers' points.

use askama::Template;
use report::{Axis, Plot, Stroke};

use super::item::{Axes, Item};
use super::verdict::{ItemReport, Verdict};

#[derive(Template)]
#[template(path = "reproduce/page.html")]
struct Page {
    items: Vec<ItemView>,
    version: &'static str,
}

struct ItemView {
    anchor: String,
    source: String,
    title: String,
    verdict: &'static str,
    class: &'static str,
    counts: String,
    effort: &'static str,
    reason: Option<String>,
    topology: String,
    sizes: String,
    seeds: String,
    command: String,
    plots: Vec<String>,
    rows: Vec<RowView>,
}

struct RowView {
    name: String,
    paper: String,
    ours: String,
    tolerance: String,
    verdict: &'static str,
    class: &'static str,
    difference: String,
    reason: String,
}

/// A verdict in words.
#[must_use]
pub fn told(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("not computed", Verdict::words)
}

const fn class(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Reproduced) => "reproduced",
        Some(Verdict::Better) => "better",
        Some(Verdict::Differs) => "differs",
        Some(Verdict::NotLegible) | None => "open",
    }
}

/// The page, in HTML.
///
/// # Errors
/// None today: what stands in the template is checked when it is built.
pub fn page(reports: &[(Option<&Item>, ItemReport)]) -> Result<String, askama::Error> {
    let views = reports.iter().map(|(item, report)| view(*item, report));
    Page {
        items: views.collect(),
        version: env!("CARGO_PKG_VERSION"),
    }
    .render()
}

fn view(item: Option<&Item>, report: &ItemReport) -> ItemView {
    let plots = item
        .and_then(|item| item.axes)
        .map(|axes| draw(&axes, report));
    let rows = report.rows.iter().map(|row| RowView {
        name: row.name.clone(),
        paper: row.paper.clone(),
        ours: row.ours_words(),
        tolerance: row.tolerance.clone(),
        verdict: told(row.verdict),
        class: class(row.verdict),
        difference: row.difference.clone().unwrap_or_default(),
        reason: row.reason.clone().unwrap_or_default(),
    });
    ItemView {
        anchor: format!("{}-{}", report.paper, report.item),
        source: report.source.clone(),
        title: report.title.clone(),
        verdict: told(report.verdict),
        class: class(report.verdict),
        counts: report.counts.words(),
        effort: report.effort.name(),
        reason: report.reason.clone(),
        topology: report.topology.clone(),
        sizes: report.sizes.clone(),
        seeds: report.seeds.clone(),
        command: report.command.clone(),
        plots: plots.flatten().into_iter().collect(),
        rows: rows.collect(),
    }
}

/// Ours as lines, the paper's points as crosses; nothing if there is nothing to draw.
fn draw(axes: &Axes, report: &ItemReport) -> Option<String> {
    let axis = |(label, log): (&str, bool)| {
        if log {
            Axis::log(label)
        } else {
            Axis::linear(label)
        }
    };
    let title = format!("{}: {}", report.source, report.title);
    let mut plot = Plot::new(&title, axis(axes.x), axis(axes.y));
    let mut series: Vec<&str> = Vec::new();
    let named = report.rows.iter().filter(|row| row.x.is_some());
    let named = named.map(|row| row.series.as_str());
    for name in named.chain(report.points.iter().map(|point| point.series.as_str())) {
        if !series.contains(&name) {
            series.push(name);
        }
    }
    let shown = |x: f64, y: f64| (!axes.x.1 || x > 0.0) && (!axes.y.1 || y > 0.0);
    let in_order = |mut points: Vec<(f64, f64)>| {
        points.retain(|&(x, y)| shown(x, y));
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    for (colour, name) in series.into_iter().enumerate() {
        let ours = report.points.iter().filter(|point| point.series == name);
        let ours = ours.map(|point| (point.x, point.y.mean)).collect();
        plot.add(name, Stroke::Solid, colour, in_order(ours));
        let rows = report.rows.iter().filter(|row| row.series == name);
        let theirs = rows.filter_map(|row| Some((row.x?, row.paper_number?)));
        let theirs = in_order(theirs.collect());
        plot.add(
            &format!("{name}, {}", report.paper),
            Stroke::Marks,
            colour,
            theirs,
        );
    }
    (!plot.series.is_empty()).then(|| plot.svg())
}

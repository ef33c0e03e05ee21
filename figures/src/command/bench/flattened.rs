//! `switchwright bench flattened-clos`: disjoint paths beside FC23's Tables 1, 2, 6 and 7, and its
//! Figure 3.

use serde::Serialize;

use crate::{
    CablingCase, CablingFigure, ComparedNetwork, CyclicFigure, FlattenedCase, FlattenedFigure,
    FlattenedTable, PacketBench, PacketCase, PacketFigure, PaperThroughput, PaperTimes,
    ReroutingFigure, THROUGHPUT_CASES, TRAFFIC, Throughput, ThroughputCase, ThroughputFigure,
    Traffic, TreeLengths, cabling_cases, measure_cyclic, plot_cyclic,
};
use measure::Machine;
use switchwright::cli::fault::Fault;
use switchwright::cli::terminal::{self, Terminal};

#[derive(Serialize)]
struct PathsReport {
    machine: Machine,
    table: u8,
    seed: u64,
    rows: Vec<FlattenedFigure>,
}

/// Runs the rows of a table that have `only` in their name, such as `500 x 64`: counts their paths,
/// or has so many of their links fail.
pub(super) fn run(
    table: u8,
    seed: u64,
    only: Option<&str>,
    failures: Option<usize>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let rows = FlattenedTable::numbered(table).ok_or_else(|| {
        Fault::input(format!("--table {table}: it is not among those of paths"))
            .help("the tables are 1, 2, 6 and 7; without --rerouting 3 and 4, too")
    })?;
    let mut cases = rows.cases();
    let wanted = |name: &str| only.is_none_or(|text| name.contains(text));
    // Failures concern networks, however they are cabled.
    cases.retain(|case| failures.is_none() || case.is_free());
    if !cases.iter().any(|case| wanted(&case.name())) {
        let names: Vec<String> = cases.iter().map(FlattenedCase::name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(super::none_matches(only, &names));
    }
    cases.retain(|case| wanted(&case.name()));
    if let Some(failures) = failures {
        return rerouting(&cases, failures, seed, terminal);
    }
    let mut report = PathsReport {
        machine: Machine::here(),
        table,
        seed,
        rows: Vec::new(),
    };
    for case in &cases {
        let watch = terminal.watch(&case.name());
        let figure = case.measure(seed, watch.progress());
        drop(watch);
        report.rows.push(figure.map_err(Fault::input)?);
    }
    terminal.result(&report, || describe(&report))
}

#[derive(Serialize)]
struct ReroutingReport {
    seed: u64,
    rows: Vec<ReroutingFigure>,
}

fn rerouting(
    cases: &[FlattenedCase],
    failures: usize,
    seed: u64,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let mut rows = Vec::new();
    for case in cases {
        let watch = terminal.watch(&case.network.name());
        let figure = case.network.reroute(failures, seed, watch.progress());
        drop(watch);
        rows.push(figure.map_err(Fault::input)?);
    }
    let report = ReroutingReport { seed, rows };
    terminal.result(&report, || describe_rerouting(&report))
}

fn describe_rerouting(report: &ReroutingReport) -> String {
    let rows = report.rows.iter().map(|row| {
        vec![
            row.case.clone(),
            format!("{} of {}", row.failures, row.links),
            row.pairs.to_string(),
            row.rerouted.to_string(),
            row.without_bounce.to_string(),
            row.one_bounce.to_string(),
            row.lossy.to_string(),
            row.lost.to_string(),
            row.circulating.to_string(),
            if row.lossless() { "yes" } else { "no" }.to_owned(),
            format!("{:.1}", row.seconds),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "switches x ports, links up",
        "failed",
        "pairs",
        "rerouted",
        "no bounce",
        "a bounce",
        "lossy",
        "lost",
        "circulate",
        "lossless",
        "s",
    ];
    format!(
        "{}pairs of switches times failures of one link, where only the switch before the link reacts; two lossless priorities; seed {}\n",
        terminal::table(&header, &[1, 2, 3, 4, 5, 6, 7, 8, 10], &rows),
        report.seed
    )
}

fn describe(report: &PathsReport) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |n| format!("{n:.2}"));
    let count = |count: Option<u32>| count.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let rows: Vec<Vec<String>> = report
        .rows
        .iter()
        .map(|row| {
            let needed = row.layers_needed.map(u32::from);
            vec![
                row.case.clone(),
                format!("{} / {}", count(needed), row.layers),
                number(row.paths),
                number(Some(row.paper.paths)),
                number(row.length),
                number(Some(row.paper.length)),
                number(row.shortest),
                number(row.paper.shortest),
                row.fewest.to_string(),
                count(row.paper.fewest),
                trees(&row.trees),
                if row.agrees { "yes" } else { "no" }.to_owned(),
                format!("{:.1}", row.seconds),
            ]
        })
        .collect();
    let header = [
        "switches x ports, links up",
        "layers needed / taken",
        "paths",
        "FC23",
        "length",
        "FC23",
        "shortest",
        "FC23",
        "fewest",
        "FC23",
        "trees: length, shortest (FC23)",
        "agrees",
        "s",
    ];
    format!(
        "{}\n{}all pairs, seed {}; lengths count switches; agrees: averages within 2 %, the fewest within 1\n",
        report.machine.describe(),
        terminal::table(&header, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12], &rows),
        report.seed
    )
}

/// Figures of trees, those of FC23 in brackets.
fn trees(figure: &Option<TreeLengths>) -> String {
    figure.as_ref().map_or_else(
        || "-".to_owned(),
        |found| {
            format!(
                "{}: {:.2} ({:.2}), {:.2} ({:.2})",
                found.trees, found.length, found.paper.length, found.shortest, found.paper.shortest
            )
        },
    )
}

#[derive(Serialize)]
struct CyclicReport {
    figure: u8,
    seed: u64,
    traffic: [Traffic; TRAFFIC.len()],
    rows: Vec<CyclicFigure>,
}

/// FC23's Figure 3.
pub(super) fn figure(
    graphs: u32,
    seed: u64,
    plot: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let watch = terminal.watch("drawing graphs");
    let rows = measure_cyclic(graphs, seed, watch.progress());
    drop(watch);
    let report = CyclicReport {
        figure: 3,
        seed,
        traffic: TRAFFIC,
        rows: rows.map_err(Fault::input)?,
    };
    if let Some(path) = plot {
        terminal::write(path, &plot_cyclic(&report.rows).svg())?;
    }
    terminal.result(&report, || describe_cyclic(&report))
}

fn describe_cyclic(report: &CyclicReport) -> String {
    let row = |row: &CyclicFigure| {
        let mut cells = vec![row.kind.name().to_owned(), row.switches.to_string()];
        cells.extend(row.cyclic.iter().map(|share| format!("{share:.2}")));
        cells
    };
    let rows: Vec<Vec<String>> = report.rows.iter().map(row).collect();
    let mut header = vec!["graphs".to_owned(), "switches".to_owned()];
    header.extend(TRAFFIC.map(Traffic::name));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let graphs = report.rows.first().map_or(0, |row| row.graphs);
    format!(
        "{}share of {graphs} graphs with a cyclic buffer dependency, 5 links a switch, all shortest paths, one tag; seed {}\n",
        terminal::table(&header, &[1, 2, 3, 4, 5], &rows),
        report.seed
    )
}

#[derive(Serialize)]
struct ThroughputReport {
    machine: Machine,
    table: u8,
    seed: u64,
    rows: Vec<ThroughputFigure>,
}

/// FC23's Table 3, the columns of throughput, with bounds that are within `gap` percent of each
/// other, and a smaller and a larger network; those that have `only` in their name.
pub(super) fn throughput(
    gap: f64,
    seed: u64,
    only: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let name = |case: &ThroughputCase| case.network.name();
    let wanted = |case: &&ThroughputCase| only.is_none_or(|text| name(case).contains(text));
    let cases: Vec<&ThroughputCase> = THROUGHPUT_CASES.iter().filter(wanted).collect();
    if cases.is_empty() {
        let names = THROUGHPUT_CASES.each_ref().map(name);
        return Err(super::none_matches(
            only,
            &names.each_ref().map(String::as_str),
        ));
    }
    let mut report = ThroughputReport {
        machine: Machine::here(),
        table: 3,
        seed,
        rows: Vec::new(),
    };
    for case in cases {
        let watch = terminal.watch(&name(case));
        let rows = case.measure(gap / 100.0, seed, watch.progress());
        drop(watch);
        report.rows.extend(rows.map_err(Fault::input)?);
    }
    terminal.result(&report, || describe_throughput(&report))
}

fn describe_throughput(report: &ThroughputReport) -> String {
    let bounds = |found: &Throughput| format!("{:.3} to {:.3}", found.at_least, found.at_most);
    let rows = report.rows.iter().map(|row| {
        let paper = |figure: fn(&PaperThroughput) -> f64| {
            let printed = row.paper.as_ref().map(figure);
            printed.map_or_else(|| "-".to_owned(), |printed| format!("{printed:.2}"))
        };
        let clos = row.clos.map(|clos| {
            let (layers, switches) = (clos.layers, clos.switches);
            format!("{:.2} ({switches}, {layers} layers)", clos.throughput)
        });
        vec![
            row.case.clone(),
            row.traffic.to_owned(),
            bounds(&row.flattened),
            paper(|paper| paper.flattened),
            bounds(&row.all_up_down),
            bounds(&row.trees),
            paper(|paper| paper.trees),
            format!("{:.1}", row.flattened.at_least / row.trees.at_most),
            clos.unwrap_or_else(|| "-".to_owned()),
            paper(|paper| paper.clos),
            match row.agrees {
                Some(true) => "yes",
                Some(false) => "no",
                None => "-",
            }
            .to_owned(),
            format!("{:.1}", row.seconds),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "network",
        "traffic",
        "disjoint paths",
        "FC23",
        "all up and down",
        "trees",
        "FC23",
        "times",
        "Clos (switches)",
        "FC23",
        "agrees",
        "s",
    ];
    format!(
        "{}seed {}: by which factor hosts' line rates can be carried; the Clos has no more switches (FC23's of Table 3 has 148);\nagrees: at least 1.42, 1.22, 0.51, and 2 to 10 times what trees carry, over disjoint paths\n",
        terminal::table(&header, &[2, 3, 4, 5, 6, 7, 8, 9, 11], &rows),
        report.seed
    )
}

#[derive(Serialize)]
struct CablingReport {
    machine: Machine,
    table: u8,
    seed: u64,
    rows: Vec<CablingFigure>,
}

/// FC23's Table 4, the columns of Flattened Clos; rows that have `only` in their name.
pub(super) fn cabling(seed: u64, only: Option<&str>, terminal: &Terminal) -> Result<(), Fault> {
    let mut cases = cabling_cases();
    let wanted = |case: &CablingCase| only.is_none_or(|text| case.name().contains(text));
    if !cases.iter().any(wanted) {
        let names: Vec<String> = cases.iter().map(CablingCase::name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(super::none_matches(only, &names));
    }
    cases.retain(wanted);
    let mut report = CablingReport {
        machine: Machine::here(),
        table: 4,
        seed,
        rows: Vec::new(),
    };
    for case in &cases {
        let watch = terminal.watch(&case.name());
        let figure = case.measure(seed, watch.progress());
        drop(watch);
        report.rows.push(figure.map_err(Fault::input)?);
    }
    terminal.result(&report, || describe_cabling(&report))
}

fn describe_cabling(report: &CablingReport) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |n| format!("{n:.2}"));
    let rows = report.rows.iter().map(|row| {
        let paper = &row.paper;
        vec![
            row.case.clone(),
            format!("{} ({})", row.ocs, paper.ocs),
            format!("{} ({})", row.transceivers, paper.transceivers),
            format!("{:.1} ({:.1})", row.copper_km, paper.copper_km),
            row.fiber_distance.to_string(),
            number(Some(row.metres_per_rack)),
            number(row.cost_without_fiber),
            format!("{} ({:.2})", number(row.cost), paper.cost),
            if row.agrees { "yes" } else { "no" }.to_owned(),
            format!("{:.1}", row.seconds),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "switches",
        "OCS",
        "transceivers",
        "copper, km",
        "fiber, racks",
        "m a rack",
        "without fiber",
        "cost",
        "agrees",
        "s",
    ];
    format!(
        "{}in brackets FC23's Table 4; cost in millions of dollars; FC23 does not say how far racks stand apart: so many metres make its length of fiber\n",
        terminal::table(&header, &[1, 2, 3, 4, 5, 6, 7, 9], &rows)
    )
}

#[derive(Serialize)]
struct CompletionReport {
    machine: Machine,
    seed: u64,
    rows: Vec<CompletionRow>,
}

#[derive(Serialize)]
struct CompletionRow {
    #[serde(flatten)]
    figure: PacketFigure,
    /// As multiples of those of the Flattened Clos; absent if either is.
    p50_ratio: Option<f64>,
    p99_ratio: Option<f64>,
    /// FC23's, likewise.
    paper_p50_ratio: Option<f64>,
    paper_p99_ratio: Option<f64>,
}

impl CompletionRow {
    fn new(figure: PacketFigure, flattened: Option<&PacketFigure>) -> Self {
        let ratio =
            |of: &dyn Fn(&PacketFigure) -> Option<f64>| Some(of(&figure)? / of(flattened?)?);
        let paper =
            |of: fn(&PaperTimes) -> f64| move |row: &PacketFigure| row.paper.as_ref().map(of);
        Self {
            p50_ratio: ratio(&|row| row.p50_ms),
            p99_ratio: ratio(&|row| row.p99_ms),
            paper_p50_ratio: ratio(&paper(|paper| paper.p50)),
            paper_p99_ratio: ratio(&paper(|paper| paper.p99)),
            figure,
        }
    }
}

/// Flow completion times of the networks of Table 3; cases that have `only` in their name.
pub(super) fn completion(
    load: f64,
    seed: u64,
    only: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Fault> {
    let mut cases: Vec<PacketCase> = PacketCase::all().collect();
    let wanted = |case: &PacketCase| only.is_none_or(|text| case.name().contains(text));
    if !cases.iter().any(wanted) {
        let names: Vec<String> = cases.iter().map(PacketCase::name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(super::none_matches(only, &names));
    }
    cases.retain(wanted);
    let bench = PacketBench::new(load, seed).map_err(Fault::input)?;
    let mut figures = Vec::new();
    for case in &cases {
        let watch = terminal.watch(&case.name());
        let figure = bench.measure(case, watch.progress());
        drop(watch);
        figures.push(figure.map_err(Fault::input)?);
    }
    let flattened: Vec<PacketFigure> = figures
        .iter()
        .filter(|figure| figure.network == ComparedNetwork::Flattened)
        .cloned()
        .collect();
    let rows = figures.into_iter().map(|figure| {
        let beside = flattened
            .iter()
            .find(|other| other.traffic == figure.traffic);
        CompletionRow::new(figure, beside)
    });
    let report = CompletionReport {
        machine: Machine::here(),
        seed,
        rows: rows.collect(),
    };
    terminal.result(&report, || describe_completion(&report))
}

fn describe_completion(report: &CompletionReport) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |n| format!("{n:.2}"));
    let rows = report.rows.iter().map(|row| {
        let figure = &row.figure;
        vec![
            figure.traffic.to_owned(),
            figure.network.name().to_owned(),
            format!("{} of {}", figure.completed, figure.flows),
            number(figure.p50_ms),
            number(row.p50_ratio),
            number(row.paper_p50_ratio),
            number(figure.p99_ms),
            number(row.p99_ratio),
            number(row.paper_p99_ratio),
            figure.pauses.to_string(),
            figure.losses.to_string(),
            figure.deadlocks.to_string(),
            format!("{:.1}", figure.seconds),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header = [
        "traffic",
        "network",
        "arrived",
        "P50, ms",
        "times",
        "FC23",
        "P99, ms",
        "times",
        "FC23",
        "pauses",
        "lost",
        "deadlocks",
        "s",
    ];
    format!(
        "{}load {}, seed {}; times: those of the Flattened Clos (up and down); FC23 does not say how long its flows are\n",
        terminal::table(&header, &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], &rows),
        report.rows.first().map_or(0.0, |row| row.figure.load),
        report.seed
    )
}

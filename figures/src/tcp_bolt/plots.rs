//! The figures as plots.

use report::{Axis, Plot, Stroke};

use super::mix::{BackgroundRow, IncastRow};
use super::shares::{HeadOfLineRow, ShareRow, SharesRun};
use super::speedup::SpeedupRow;
use super::variant::Variant;

/// A curve for every transport of some rows.
fn curves<Row>(
    plot: &mut Plot,
    rows: &[Row],
    variant: fn(&Row) -> Variant,
    point: fn(&Row) -> (f64, f64),
) {
    for (colour, wanted) in Variant::ALL.into_iter().enumerate() {
        let own = rows.iter().filter(|row| variant(row) == wanted);
        // More transports than colours: those beyond are dashed.
        let stroke = if colour < 6 {
            Stroke::Solid
        } else {
            Stroke::Dashed
        };
        plot.add(wanted.name(), stroke, colour, own.map(point).collect());
    }
}

/// Figure 3.1.
#[must_use]
pub fn plot_speedup(rows: &[SpeedupRow]) -> Plot {
    let mut plot = Plot::new(
        "One flow over two hops: how much faster than TCP",
        Axis::log("bytes of the flow"),
        Axis::linear("times as fast as TCP"),
    );
    curves(
        &mut plot,
        rows,
        |row| row.variant,
        |row| (row.bytes as f64, row.speedup),
    );
    let paper = rows
        .iter()
        .filter_map(|row| Some((row.bytes as f64, row.paper?)));
    let paper: Vec<(f64, [f64; 2])> = paper.collect();
    for (name, at) in [("Stephens15, at least", 0), ("Stephens15, at most", 1)] {
        let points = paper.iter().map(|(bytes, range)| (*bytes, range[at]));
        plot.add(name, Stroke::Marks, 2, points.collect());
    }
    plot
}

/// Figures 3.2, 3.3 and 3.5: a run over time.
#[must_use]
pub fn plot_shares(run: &SharesRun<ShareRow>) -> Plot {
    over_time("B and H1 to H4 send to A", run)
}

/// Figures 3.4 and 3.6: a run over time.
#[must_use]
pub fn plot_head_of_line(run: &SharesRun<HeadOfLineRow>) -> Plot {
    over_time("A sends to C and D, others to C", run)
}

fn over_time<Row>(title: &str, run: &SharesRun<Row>) -> Plot {
    let mut plot = Plot::new(
        &format!("{title}: {}", run.variant.name()),
        Axis::linear("milliseconds"),
        Axis::linear("throughput, Gb/s"),
    );
    for (colour, (name, values)) in run.series.iter().enumerate() {
        let points = run.times.iter().copied().zip(values.iter().copied());
        plot.add(name, Stroke::Solid, colour, points.collect());
    }
    plot
}

/// Figure 3.7.
#[must_use]
pub fn plot_mix_background(rows: &[BackgroundRow]) -> Plot {
    let mut plot = Plot::new(
        "Background flows on 54 hosts: 99th percentile of completion times",
        Axis::log("bytes of the flow"),
        Axis::log("in units of the optimum"),
    );
    curves(
        &mut plot,
        rows,
        |row| row.variant,
        |row| (row.bytes as f64, row.p99),
    );
    plot
}

/// Figures 3.8 and 3.9.
#[must_use]
pub fn plot_mix_incasts(rows: &[IncastRow]) -> Plot {
    let mut plot = Plot::new(
        "Incasts on 54 hosts: 99.9th percentile of completion times",
        Axis::log("bytes of each answer"),
        Axis::log("in units of the optimum"),
    );
    curves(
        &mut plot,
        rows,
        |row| row.variant,
        |row| (row.bytes as f64, row.p999),
    );
    plot
}

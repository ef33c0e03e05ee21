//! Plots: `report`, plotters. A line of 200 points over labelled axes, as SVG.

use report::{Axis, Plot, Stroke};
use plotters::prelude::*;

use crate::{microseconds, row};

fn points() -> Vec<(f64, f64)> {
    (0..200)
        .map(|i| (f64::from(i), (f64::from(i) / 20.0).sin()))
        .collect()
}

fn ours() -> String {
    let mut plot = Plot::new("title", Axis::linear("x"), Axis::linear("y"));
    plot.add("line", Stroke::Solid, 0, points());
    plot.svg()
}

fn plotters() -> String {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (860, 400)).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .caption("title", ("sans-serif", 16))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d(0.0..200.0, -1.0..1.0)
            .expect("axes");
        chart
            .configure_mesh()
            .x_desc("x")
            .y_desc("y")
            .draw()
            .expect("a mesh");
        let line = chart
            .draw_series(LineSeries::new(points(), &BLUE))
            .expect("a line");
        line.label("line");
        chart.configure_series_labels().draw().expect("a legend");
        root.present().expect("memory takes everything");
    }
    text
}

pub fn compare() {
    let what = "a plot of 200 points";
    row(what, "plot", microseconds(50, ours), ours().len());
    row(
        what,
        "plotters",
        microseconds(20, plotters),
        plotters().len(),
    );
}

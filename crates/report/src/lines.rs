//! Line plots: figures for reports.
//!
//! A plot is a title, two axes and series of points. Lines join what was measured, dashes what a
//! formula says, and bare marks stand for somebody else's figures. Points that a logarithmic axis
//! cannot show are left out.

use std::fmt::Write as _;

use crate::page::{COLOURS, GRID, Page};
use crate::scale::{Ruler, Scale, number};

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// How numbers are spread over it.
    pub scale: Scale,
}

impl Axis {
    /// An even axis from zero.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            scale: Scale::Linear,
        }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            scale: Scale::Log,
        }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stroke {
    /// A line with marks: measured.
    #[default]
    Solid,
    /// A dashed line: a formula.
    Dashed,
    /// Marks alone: somebody else's figures.
    Marks,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Which of the colours; series of one subject share it.
    pub colour: usize,
    /// The points, x rising.
    pub points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upward.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// Size of the drawing and of the field in it.
const WIDTH: f64 = 860.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 360.0;
/// Height of a line of the legend.
const LINE: f64 = 18.0;

impl Plot {
    /// An empty plot.
    #[must_use]
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            x,
            y,
            series: Vec::new(),
        }
    }

    /// Adds a series unless it has no points.
    pub fn add(&mut self, name: &str, stroke: Stroke, colour: usize, points: Vec<(f64, f64)>) {
        if points.is_empty() {
            return;
        }
        self.series.push(Series {
            name: name.to_owned(),
            stroke,
            colour,
            points,
        });
    }

    /// The plot as an SVG document. The same plot gives the same bytes.
    #[must_use]
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Ruler::new(self.x.scale, points().map(|p| p.0), LEFT, RIGHT);
        let y = Ruler::new(self.y.scale, points().map(|p| p.1), BOTTOM, TOP);
        let height = (BOTTOM + 60.0).max(TOP + LINE * self.series.len() as f64 + 20.0);
        let mut page = Page::new(&self.title, WIDTH, height);
        self.grid(&mut page, &x, &y);
        for series in &self.series {
            draw(&mut page, series, &x, &y);
        }
        for (at, series) in self.series.iter().enumerate() {
            legend(&mut page, series, TOP + 8.0 + LINE * at as f64);
        }
        page.finish()
    }

    fn grid(&self, page: &mut Page, x: &Ruler, y: &Ruler) {
        for tick in x.ticks() {
            let Some(at) = x.at(tick) else { continue };
            page.line((at, TOP), (at, BOTTOM), GRID);
            page.label(at, BOTTOM + 16.0, "middle", &number(tick));
        }
        for tick in y.ticks() {
            let Some(at) = y.at(tick) else { continue };
            page.line((LEFT, at), (RIGHT, at), GRID);
            page.label(LEFT - 6.0, at + 4.0, "end", &number(tick));
        }
        let (middle, centre) = (f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM));
        let frame = "stroke=\"#495057\"";
        page.line((LEFT, TOP), (LEFT, BOTTOM), frame);
        page.line((LEFT, BOTTOM), (RIGHT, BOTTOM), frame);
        page.label(middle, BOTTOM + 40.0, "middle", &self.x.label);
        page.upright(18.0, centre, &self.y.label);
    }
}

const fn colour(series: &Series) -> &'static str {
    COLOURS[series.colour % COLOURS.len()]
}

fn draw(page: &mut Page, series: &Series, x: &Ruler, y: &Ruler) {
    let shown: Vec<(f64, f64)> = series
        .points
        .iter()
        .filter_map(|&(a, b)| Some((x.at(a)?, y.at(b)?)))
        .collect();
    if series.stroke != Stroke::Marks && shown.len() > 1 {
        let way: Vec<String> = shown
            .iter()
            .map(|(a, b)| format!("{a:.1} {b:.1}"))
            .collect();
        let dash = match series.stroke {
            Stroke::Dashed => " stroke-dasharray=\"5 4\"",
            _ => "",
        };
        let _ = writeln!(
            page.text,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{dash}/>",
            way.join("L"),
            colour(series)
        );
    }
    if series.stroke != Stroke::Dashed {
        for (a, b) in shown {
            mark(page, series, a, b);
        }
    }
}

fn mark(page: &mut Page, series: &Series, x: f64, y: f64) {
    let colour = colour(series);
    let _ = match series.stroke {
        Stroke::Marks => writeln!(
            page.text,
            "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"{colour}\" stroke-width=\"1.6\"/>",
            x - 4.0,
            y - 4.0
        ),
        _ => writeln!(
            page.text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.8\" fill=\"{colour}\"/>"
        ),
    };
}

fn legend(page: &mut Page, series: &Series, y: f64) {
    let (from, to) = (RIGHT + 14.0, RIGHT + 38.0);
    if series.stroke != Stroke::Marks {
        let dash = match series.stroke {
            Stroke::Dashed => " stroke-dasharray=\"5 4\"",
            _ => "",
        };
        let _ = writeln!(
            page.text,
            "<path d=\"M{from} {y:.1}H{to}\" stroke=\"{}\" stroke-width=\"1.6\"{dash}/>",
            colour(series)
        );
    }
    if series.stroke != Stroke::Dashed {
        mark(page, series, f64::midpoint(from, to), y);
    }
    page.label(to + 8.0, y + 4.0, "start", &series.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_plot() {
        let mut plot = Plot::new("a < b", Axis::log("failed"), Axis::linear("stretch"));
        plot.add(
            "ours",
            Stroke::Solid,
            0,
            vec![(1.0, 1.0), (16.0, 1.5), (256.0, 2.0)],
        );
        plot.add("formula", Stroke::Dashed, 0, vec![(1.0, 1.1), (256.0, 2.2)]);
        plot.add("theirs", Stroke::Marks, 1, vec![(16.0, 1.6)]);
        plot.add("nothing", Stroke::Solid, 2, vec![]);
        insta::assert_snapshot!(plot.svg());
    }

    #[test]
    fn odd_values_draw_nothing_odd() {
        for y in [Axis::log("y"), Axis::linear("y")] {
            let mut plot = Plot::new("t", Axis::log("x"), y);
            assert!(!plot.svg().contains("NaN"));
            plot.add(
                "s",
                Stroke::Solid,
                99,
                vec![(0.0, 1.0), (1.0, 0.0), (10.0, f64::NAN), (1e3, 1e-9)],
            );
            let svg = plot.svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

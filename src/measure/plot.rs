//! Line plots as SVG: figures for reports, without a drawing library.
//!
//! A plot is a title, two axes and series of points. Lines join what was measured, dashes what a formula says, and
//! bare marks stand for somebody else's figures. Points that a logarithmic axis cannot show are left out.

use std::fmt::Write as _;

/// How numbers are spread over an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from zero.
    #[default]
    Linear,
    /// By factors of ten.
    Log,
}

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

/// Colours that differ in lightness too, for those who see fewer (Okabe and Ito).
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31",
];
/// Size of the drawing and of the field in it.
const WIDTH: f64 = 860.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 360.0;
/// Height of a line of the legend.
const LINE: f64 = 18.0;

/// An axis with its ends on the drawing.
struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Ruler {
    /// The ruler that has room for all values.
    fn new(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let shown = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        let (low, high) = match scale {
            _ if low > high => (1.0, 10.0),
            Scale::Linear => {
                let step = step(high.max(f64::MIN_POSITIVE));
                (0.0, (high / step).ceil().max(1.0) * step)
            }
            Scale::Log => {
                let (low, high) = (low.log10().floor(), high.log10().ceil());
                (10f64.powf(low), 10f64.powf(high.max(low + 1.0)))
            }
        };
        Self {
            scale,
            low,
            high,
            from,
            to,
        }
    }

    /// Where a value stands, if it can be shown.
    fn at(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => {
                (value / self.low).log10() / (self.high / self.low).log10()
            }
            Scale::Log => return None,
        };
        part.is_finite()
            .then_some(self.from + part * (self.to - self.from))
    }

    /// The values that get a line and a number.
    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = step(self.high);
                let count = (self.high / step).round() as u32;
                (0..=count).map(|at| f64::from(at) * step).collect()
            }
            Scale::Log => {
                let decades = (self.high / self.low).log10().round() as i32;
                let every = (decades / 8 + 1).max(1) as usize;
                let first = self.low.log10().round() as i32;
                let all = (first..=first + decades).step_by(every);
                all.map(|exponent| 10f64.powi(exponent)).collect()
            }
        }
    }
}

/// A round step that divides a range into five to ten parts.
fn step(range: f64) -> f64 {
    let decade = 10f64.powf(range.log10().floor());
    let steps = [0.1, 0.2, 0.5, 1.0].map(|part| part * decade);
    let fits = steps.into_iter().find(|step| range / step <= 10.0);
    fits.unwrap_or(decade)
}

/// A number on an axis: plain where that is short, else a power of ten.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-3..1e5).contains(&value) {
        let text = format!("{value:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{value:.0e}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

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
        let mut svg = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
             font-size=\"12\" role=\"img\">\n<title>{title}</title>\n<rect width=\"{WIDTH}\" height=\"{height}\" \
             fill=\"#fff\"/>\n<text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{title}</text>\n",
            title = escaped(&self.title),
        );
        self.grid(&mut svg, &x, &y);
        for series in &self.series {
            draw(&mut svg, series, &x, &y);
        }
        for (at, series) in self.series.iter().enumerate() {
            legend(&mut svg, series, TOP + 8.0 + LINE * at as f64);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn grid(&self, svg: &mut String, x: &Ruler, y: &Ruler) {
        for tick in x.ticks() {
            let Some(at) = x.at(tick) else { continue };
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                BOTTOM + 16.0,
                number(tick)
            );
        }
        for tick in y.ticks() {
            let Some(at) = y.at(tick) else { continue };
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                number(tick)
            );
        }
        let (middle, centre) = ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"#444\"/>\n\
             <text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(18 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 40.0,
            escaped(&self.x.label),
            escaped(&self.y.label)
        );
    }
}

const fn colour(series: &Series) -> &'static str {
    COLOURS[series.colour % COLOURS.len()]
}

fn draw(svg: &mut String, series: &Series, x: &Ruler, y: &Ruler) {
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
            svg,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{dash}/>",
            way.join("L"),
            colour(series)
        );
    }
    if series.stroke != Stroke::Dashed {
        for (a, b) in shown {
            mark(svg, series, a, b);
        }
    }
}

fn mark(svg: &mut String, series: &Series, x: f64, y: f64) {
    let colour = colour(series);
    let _ = match series.stroke {
        Stroke::Marks => writeln!(
            svg,
            "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"{colour}\" stroke-width=\"1.6\"/>",
            x - 4.0,
            y - 4.0
        ),
        _ => writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.8\" fill=\"{colour}\"/>"
        ),
    };
}

fn legend(svg: &mut String, series: &Series, y: f64) {
    let (from, to) = (RIGHT + 14.0, RIGHT + 38.0);
    if series.stroke != Stroke::Marks {
        let dash = match series.stroke {
            Stroke::Dashed => " stroke-dasharray=\"5 4\"",
            _ => "",
        };
        let _ = writeln!(
            svg,
            "<path d=\"M{from} {y:.1}H{to}\" stroke=\"{}\" stroke-width=\"1.6\"{dash}/>",
            colour(series)
        );
    }
    if series.stroke != Stroke::Dashed {
        mark(svg, series, f64::midpoint(from, to), y);
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{:.1}\">{}</text>",
        to + 8.0,
        y + 4.0,
        escaped(&series.name)
    );
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

    #[test]
    fn steps_are_round() {
        assert_eq!([7.0, 12.0, 100.0, 0.4].map(step), [1.0, 2.0, 10.0, 0.05]);
        let numbers = [0.0, 0.05, 1.0, 1000.0, 1e-9].map(number);
        assert_eq!(numbers, ["0", "0.05", "1", "1000", "1e-9"]);
    }
}

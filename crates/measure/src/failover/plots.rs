//! The figures as plots, in the manner of Stephens15's Figures 4.1 and 4.11 to 4.18.

use report::{Axis, Plot, Scale, Stroke};

use super::failures::{FailureFigure, kind_of_sets};

/// A plot with the name of its file, without the ending.
pub type Named = (String, Plot);

/// Reads one value off a figure, if it has it.
type Reading = fn(&FailureFigure) -> Option<f64>;

/// What is read off a figure.
struct Quantity {
    file: &'static str,
    label: &'static str,
    scale: Scale,
    ours: Reading,
    /// A formula or somebody else's figure to stand beside.
    beside: Option<(&'static str, Stroke, Reading)>,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        file: "loss",
        label: "probability of a routing failure",
        scale: Scale::Log,
        ours: |f| Some(f.lost),
        beside: Some(("(4.2)", Stroke::Dashed, |f| f.lost_by_4_2)),
    },
    Quantity {
        file: "stretch",
        label: "stretch, 99.9th percentile",
        scale: Scale::Linear,
        ours: |f| Some(f.stretch_999),
        beside: Some(("Stephens15", Stroke::Marks, |f| f.stretch_999_of_paper)),
    },
    Quantity {
        file: "throughput",
        label: "throughput over hosts times line rate",
        scale: Scale::Linear,
        ours: |f| Some(f.throughput),
        beside: None,
    },
];

/// Losses, stretch and throughput against failed links: for each quantity one plot with uniform and
/// one with neighbouring failures, for each family of schemes (the first word of their names).
#[must_use]
pub fn failure_plots(figures: &[FailureFigure]) -> Vec<Named> {
    let mut plots = Vec::new();
    let all = distinct(figures.iter().map(|f| f.subject.as_str()));
    let family = |subject: &str| subject.split(' ').next().unwrap_or(subject).to_owned();
    let families = distinct(all.iter().map(|subject| family(subject)));
    for family_name in &families {
        let own: Vec<&str> = all
            .iter()
            .copied()
            .filter(|subject| family(subject) == *family_name)
            .collect();
        for quantity in &QUANTITIES {
            for correlated in [false, true] {
                let kind = kind_of_sets(correlated);
                let title = format!("{family_name}: {}, {kind}", quantity.label);
                let y = Axis {
                    label: quantity.label.to_owned(),
                    scale: quantity.scale,
                };
                let mut plot = Plot::new(&title, Axis::log("failed links"), y);
                for (colour, subject) in own.iter().enumerate() {
                    let of = figures
                        .iter()
                        .filter(|f| f.subject == *subject && f.correlated == correlated);
                    curves(
                        &mut plot,
                        quantity,
                        subject,
                        colour,
                        &of.collect::<Vec<_>>(),
                    );
                }
                if !plot.series.is_empty() {
                    plots.push((format!("{}-{family_name}-{kind}", quantity.file), plot));
                }
            }
        }
    }
    plots
}

fn curves(
    plot: &mut Plot,
    quantity: &Quantity,
    subject: &str,
    colour: usize,
    figures: &[&FailureFigure],
) {
    let points = |of: fn(&FailureFigure) -> Option<f64>| -> Vec<(f64, f64)> {
        figures
            .iter()
            .filter_map(|&f| Some((f64::from(f.failures), of(f)?)))
            .filter(|&(failures, y)| failures > 0.0 && plot_y(quantity.scale, y))
            .collect()
    };
    let ours = points(quantity.ours);
    let beside = quantity
        .beside
        .map(|(name, stroke, of)| (name, stroke, points(of)));
    plot.add(subject, Stroke::Solid, colour, ours);
    if let Some((name, stroke, points)) = beside {
        plot.add(&format!("{subject} {name}"), stroke, colour, points);
    }
}

fn plot_y(scale: Scale, y: f64) -> bool {
    scale == Scale::Linear || y > 0.0
}

/// Each value once, in the order of their first appearance.
#[must_use]
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

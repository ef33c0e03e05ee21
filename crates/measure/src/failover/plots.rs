//! The figures as plots, in the manner of Stephens15's Figures 4.1, 4.4 and 4.11 to 4.18.

use plot::{Axis, Plot, Scale, Stroke};

use super::failures::{FailureFigure, SwitchFailureFigure, kind_of_sets};
use super::losses::LossFigure;
use super::state::{SchemeState, StateFigure};

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

/// What part of all flows is lost against failed links, for each topology and family of schemes
/// (the first word of their names), failure-identifying schemes with equation 4.2.
#[must_use]
pub fn loss_plots(figures: &[LossFigure]) -> Vec<Named> {
    let family = |f: &LossFigure| {
        let scheme = f.subject.split(' ').next().unwrap_or(&f.subject).to_owned();
        format!("{} {scheme}", f.topology)
    };
    let families = distinct(figures.iter().map(family));
    let plot = |name: &String| {
        let title = format!("{name}: flows lost although there is a way");
        let y = Axis {
            label: "part of all flows".to_owned(),
            scale: Scale::Log,
        };
        let mut plot = Plot::new(&title, Axis::log("failed links"), y);
        let own: Vec<&LossFigure> = figures.iter().filter(|&f| family(f) == *name).collect();
        let subjects = distinct(own.iter().map(|f| f.subject.as_str()));
        for (colour, subject) in subjects.into_iter().enumerate() {
            let points = |of: fn(&LossFigure) -> Option<f64>| -> Vec<(f64, f64)> {
                let of_subject = own.iter().filter(|f| f.subject == subject);
                of_subject
                    .filter_map(|f| Some((f64::from(f.failures), of(f)?)))
                    .filter(|&(_, lost)| lost > 0.0)
                    .collect()
            };
            plot.add(subject, Stroke::Solid, colour, points(|f| Some(f.lost)));
            let beside = format!("{subject} (4.2)");
            plot.add(&beside, Stroke::Dashed, colour, points(|f| f.lost_by_4_2));
        }
        (format!("losses-{}", name.replace(' ', "-")), plot)
    };
    let plots = families.iter().map(plot);
    plots.filter(|(_, plot)| !plot.series.is_empty()).collect()
}

/// Losses against failed switches, with equations 4.3 and 4.4.
#[must_use]
pub fn switch_plots(figures: &[SwitchFailureFigure]) -> Vec<Named> {
    let mut plot = Plot::new(
        "plinko: flows lost when switches fail (Stephens15 Figure 4.2)",
        Axis::log("failed switches"),
        Axis::log("probability of a routing failure"),
    );
    let subjects = distinct(figures.iter().map(|f| f.subject.as_str()));
    for (colour, subject) in subjects.into_iter().enumerate() {
        let own = || figures.iter().filter(|f| f.subject == subject);
        let ours = own().map(|f| (f64::from(f.failures), f.lost));
        plot.add(
            subject,
            Stroke::Solid,
            colour,
            ours.filter(|p| p.1 > 0.0).collect(),
        );
        let formula = own().filter_map(|f| Some((f64::from(f.failures), f.lost_by_equation?)));
        let formula = formula.filter(|p| p.1 > 0.0).collect();
        plot.add(
            &format!("{subject}, formula"),
            Stroke::Dashed,
            colour,
            formula,
        );
    }
    if plot.series.is_empty() {
        return Vec::new();
    }
    vec![("loss-switches".to_owned(), plot)]
}

/// Compression ratios against hosts with Stephens15's beside, and TCAM bits per switch of every
/// scheme.
#[must_use]
pub fn state_plots(ratios: &[StateFigure], schemes: &[SchemeState]) -> Vec<Named> {
    let mut plots = Vec::new();
    for topology in distinct(ratios.iter().map(|f| f.topology.as_str())) {
        for (output, shared) in distinct(
            ratios
                .iter()
                .map(|f| (f.output.as_str(), f.shared_backup_ways)),
        ) {
            let own: Vec<&StateFigure> = ratios
                .iter()
                .filter(|f| {
                    (f.topology.as_str(), f.output.as_str(), f.shared_backup_ways)
                        == (topology, output, shared)
                })
                .collect();
            let ways = if shared { "" } else { "-common-only" };
            if !own.is_empty() {
                plots.push((
                    format!("ratio-{topology}-{output}{ways}"),
                    ratio_plot(topology, output, &own),
                ));
            }
        }
    }
    for topology in distinct(schemes.iter().map(|f| f.topology.as_str())) {
        for t in distinct(schemes.iter().map(|f| f.t)) {
            let title = format!("{topology}: TCAM of a switch, {t}-resilient");
            let mut plot = Plot::new(&title, Axis::log("hosts"), Axis::log("Mbit"));
            let own = || {
                schemes
                    .iter()
                    .filter(|f| (f.topology.as_str(), f.t) == (topology, t))
            };
            for (colour, variant) in distinct(own().map(|f| f.variant.as_str()))
                .into_iter()
                .enumerate()
            {
                let points = own().filter(|f| f.variant == variant);
                let points = points.map(|f| (f64::from(f.hosts), f.bits_max as f64 / 1e6));
                plot.add(variant, Stroke::Solid, colour, points.collect());
            }
            if !plot.series.is_empty() {
                plots.push((format!("state-{topology}-t{t}"), plot));
            }
        }
    }
    plots
}

fn ratio_plot(topology: &str, output: &str, figures: &[&StateFigure]) -> Plot {
    let title = format!("{topology}, {output}: rules before over after compression");
    let mut plot = Plot::new(&title, Axis::log("hosts"), Axis::log("ratio"));
    for (colour, t) in distinct(figures.iter().map(|f| f.t))
        .into_iter()
        .enumerate()
    {
        let own = || figures.iter().filter(|f| f.t == t);
        let ours = own().map(|f| (f64::from(f.hosts), f.ratio)).collect();
        let theirs = own()
            .filter_map(|f| Some((f64::from(f.hosts), f.ratio_of_paper?)))
            .collect();
        plot.add(&format!("t = {t}"), Stroke::Solid, colour, ours);
        plot.add(
            &format!("t = {t}, Stephens15"),
            Stroke::Marks,
            colour,
            theirs,
        );
    }
    plot
}

/// Each value once, in the order of their first appearance.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

//! The figures as plots, in the manner of Stephens15's Figures 4.1, 4.2, 4.4 and 4.11 to 4.18.

use measure::failover::{Named, distinct};
use report::{Axis, Plot, Scale, Stroke};

use super::failures::SwitchFailureFigure;
use super::losses::LossFigure;
use super::state::{SchemeState, StateFigure};

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

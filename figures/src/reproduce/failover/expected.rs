//! Sections 4.1 and 4.8.3: what is lost when links or switches fail.

use schemes::failover::{FailoverScheme, TreeGrowth};
use topology::Topology;

use super::super::estimate::Estimate;
use super::super::item::{Effort, EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::ground::{GROWTHS, at, lost_below, plinko, sets, trees as by_trees, under};
use crate::failover::{Shape, under_switch_failures};
use measure::failover::{FailureFigure, Sets, kind_of_sets};

const SIZES: [u32; 5] = [1, 4, 16, 64, 256];
const HOSTS: u32 = 1024;

/// 99.999 % of flows arrive (section 4.1).
const FIVE_NINES: f64 = 1e-5;

const T4_64: &str = "t = 4, 64 failed links: lost";
const T4_16: &str = "t = 4, 16 failed links: lost";
const T0_1: &str = "t = 0, 1 failed link: lost";

fn equation(t: u8) -> String {
    format!("t = {t}, 64 failed links: equation 4.2 over what is lost")
}

/// Figure 4.1.
pub(super) fn links_rows() -> Vec<Row> {
    let mut rows =
        vec![
        Row::new("t = 4", T4_64, Said::AtMost(FIVE_NINES)).at(64.0).lower().because(
            "with 64 failed links a flow in 40,000 was lost, as equation 4.2 has it (2.4e-5)",
        ),
        Row::new("t = 4", T4_16, Said::AtMost(FIVE_NINES)).at(16.0).lower(),
        Row::new("t = 0", T0_1, Said::Number(1e-3)).at(1.0).within(Tolerance::Factor(3.0)).lower(),
    ];
    // Always within an order of magnitude.
    let near = |t| Row::new("equation", equation(t), Said::Between(0.1, 10.0));
    rows.extend([0, 1, 2].map(near));
    rows
}

/// What is lost by failed links, as curves: ours, and equation 4.2.
fn curves(t: u8, figures: &[FailureFigure]) -> Vec<Value> {
    let series = format!("t = {t}");
    let uniform = figures.iter().filter(|figure| !figure.correlated);
    let points = uniform.flat_map(|figure| {
        let x = f64::from(figure.failures);
        let lost = Value::of(format!("{series}, {x} links"), figure.lost).on(&series, x);
        let formula = figure.lost_by_4_2.map(|lost| {
            let own = format!("{series}, by (4.2)");
            Value::of(format!("{own}, {x} links"), lost).on(&own, x)
        });
        [Some(lost), formula].into_iter().flatten()
    });
    points.collect()
}

/// Losses on the fat-tree.
pub(super) fn links(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(HOSTS).told()?;
    let mut values = Vec::new();
    for t in [0, 1, 2, 4] {
        let own = Sets {
            count: if t == 4 { 20 } else { sets(run, &[]).count },
            ..sets(run, &SIZES)
        };
        let figures = under(&topology, &plinko(t), &own, run)?;
        values.extend(curves(t, &figures));
        let many = at(&figures, 64, false)?;
        if t == 4 {
            values.extend(lost_below(many, FIVE_NINES).map(|lost| Value::of(T4_64, lost)));
            let few = at(&figures, 16, false)?;
            values.extend(lost_below(few, FIVE_NINES).map(|lost| Value::of(T4_16, lost)));
        } else if let Some(formula) = many.lost_by_4_2.filter(|_| many.lost > 0.0) {
            values.push(Value::of(equation(t), formula / many.lost));
        }
        if t == 0 {
            values.push(Value::of(T0_1, at(&figures, 1, false)?.lost));
        }
    }
    Ok(values)
}

const REACTIVE: &str = "t = 2 of switches, 16 failed: lost over that of shortest paths";
const FORMULA: &str = "t = 2 of switches, 16 failed: equation 4.4 over what is lost";
const ENDS: &str = "shortest paths, 16 failed: equation 4.3 over what is lost";

/// Figure 4.2.
pub(super) fn switches_rows() -> Vec<Row> {
    let near = |name| Row::new("lost", name, Said::Number(1.0)).within(Tolerance::Part(0.25));
    [REACTIVE, FORMULA, ENDS].map(near).to_vec()
}

/// Losses by failed switches.
pub(super) fn switches(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let sizes = [1, 2, 4, 8, 16];
    let hosts = run.effort.pick(512, 1024);
    let own = Sets {
        count: 40,
        ..sets(run, &sizes)
    };
    let figures = under_switch_failures(hosts, &own).told()?;
    let mut values: Vec<Value> = figures
        .iter()
        .map(|figure| {
            let x = f64::from(figure.failures);
            Value::of(format!("{}, {x}", figure.subject), figure.lost).on(&figure.subject, x)
        })
        .collect();
    let found = |subject: &str| {
        let mut figures = figures.iter();
        figures
            .find(|figure| figure.subject == subject && figure.failures == sizes[4])
            .ok_or_else(|| ItemError::new(format!("no figure of {subject}")))
    };
    let (shortest, plinko) = (found("shortest paths")?, found("plinko t2 of switches")?);
    values.push(Value::of(REACTIVE, plinko.lost / shortest.lost));
    for (name, figure) in [(FORMULA, plinko), (ENDS, shortest)] {
        let formula = figure.lost_by_equation;
        values.extend(formula.map(|formula| Value::of(name, formula / figure.lost)));
    }
    Ok(values)
}

const NONE_UNIFORM: &str = "t = 4, uniform: part of the sets that lose no flow";
const NONE_NEIGHBOURS: &str = "t = 4, neighbours: part of the sets that lose no flow";
const LESS: &str = "t = 0: neighbours lose fewer flows than uniform failures";

/// Figure 4.3.
pub(super) fn distribution_rows() -> Vec<Row> {
    let part = |name, part| {
        Row::new("sets", name, Said::Number(part))
            .within(Tolerance::By(0.15))
            .higher()
    };
    vec![
        part(NONE_UNIFORM, 0.7),
        part(NONE_NEIGHBOURS, 0.0),
        Row::holds(LESS),
    ]
}

/// The distribution over sets of 64 links.
pub(super) fn distribution(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(HOSTS).told()?;
    let own = Sets {
        count: run.effort.pick(20, 200),
        ..sets(run, &[64])
    };
    let mut values = Vec::new();
    let mut lost = Vec::new();
    for t in [0, 4] {
        let figures = under(&topology, &plinko(t), &own, run)?;
        for correlated in [false, true] {
            let figure = at(&figures, 64, correlated)?;
            let mut parts = figure.lost_of_sets.clone();
            parts.sort_by(f64::total_cmp);
            let kind = kind_of_sets(correlated);
            let series = format!("t = {t}, {kind}");
            let all = parts.len().max(1) as f64;
            for (number, part) in (1u32..).zip(&parts) {
                let name = format!("{series}, set {number}");
                values.push(Value::of(name, f64::from(number) / all).on(&series, *part));
            }
            lost.push(figure.lost);
            if t == 4 {
                let none: Vec<f64> = parts
                    .iter()
                    .map(|&p| f64::from(u8::from(p == 0.0)))
                    .collect();
                let name = if correlated {
                    NONE_NEIGHBOURS
                } else {
                    NONE_UNIFORM
                };
                values.push(Value::estimated(name, Estimate::of(&none)));
            }
        }
    }
    values.push(Value::holds(LESS, lost[1] < lost[0]));
    Ok(values)
}

const MORE: &str = "B1, t = 2, 64 failed links: neighbours over uniform";
const B6_16: &str = "B6, t = 4, 16 failed links: lost";

/// Figure 4.4, and section 4.1.
pub(super) fn neighbours_rows() -> Vec<Row> {
    vec![
        Row::new("times", MORE, Said::Number(10.0)).within(Tolerance::Factor(5.0)).lower(),
        Row::new("B6, t = 4", B6_16, Said::AtMost(FIVE_NINES)).at(16.0).lower().because(
            "our network of this size has fewer links than the thesis may have had, so that 16 failures are a larger part of them",
        ),
    ]
}

/// Neighbouring failures, and the network with less bandwidth.
pub(super) fn neighbours(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let own = Sets {
        count: 20,
        ..sets(run, &[4, 16, 64])
    };
    let mut values = Vec::new();
    for (oversubscription, t) in [(1, 2), (6, 4)] {
        let topology: Topology = Shape::Egft.topology_at(HOSTS, oversubscription).told()?;
        let figures = under(&topology, &plinko(t), &own, run)?;
        for figure in &figures {
            let kind = kind_of_sets(figure.correlated);
            let series = format!("B{oversubscription}, t = {t}, {kind}");
            let x = f64::from(figure.failures);
            values.push(Value::of(format!("{series}, {x}"), figure.lost).on(&series, x));
        }
        if oversubscription == 1 {
            let (uniform, neighbours) = (at(&figures, 64, false)?, at(&figures, 64, true)?);
            if uniform.lost > 0.0 {
                values.push(Value::of(MORE, neighbours.lost / uniform.lost));
            }
        } else {
            let lost = lost_below(at(&figures, 16, false)?, FIVE_NINES);
            values.extend(lost.map(|lost| Value::of(B6_16, lost)));
        }
    }
    Ok(values)
}

const TREES: [(FailoverScheme, &str, f64); 2] = [
    (FailoverScheme::Edst, "EDST", 1e-6),
    (FailoverScheme::Adst, "ADST", 1e-7),
];
const DEFAULT_TREE: &str = ", default tree beside";

fn of_trees(name: &str, t: u8, failures: u32) -> String {
    format!("{name}, t = {t}, {failures} failed links: lost")
}

/// Figure 4.18: with 64 failed links, and without resilience with one.
pub(super) fn trees_rows() -> Vec<Row> {
    const REASON: &str = "a flow that has one tree is lost by any failed link of its way, as in failure-identifying schemes; with a default tree beside it, where both use that \
                          link (next row). Neither is as rare as the thesis finds it, which does not say what its packets have without resilience";
    const FIVE: &str = "every tree enters its destination's switch over one link; five such links are among 64 failed ones of 1,024 in 8e-7 of all cases, so that no five trees \
                        lose less. Where ways have two links, as over shallow trees, one fails with 12 % and five with 2.6e-5; over random trees they have more";
    let of_scheme = |(_, name, most): (FailoverScheme, &str, f64)| {
        let four = GROWTHS.map(|(_, trees)| {
            Row::new(name, of_trees(name, 4, 64) + trees, Said::AtMost(most))
                .at(64.0)
                .lower()
                .full()
                .because(FIVE)
        });
        let none = |beside: &str| {
            let own = of_trees(name, 0, 1) + beside;
            Row::new(name, own, Said::Number(1e-6))
                .at(1.0)
                .within(Tolerance::Factor(3.0))
                .lower()
                .because(REASON)
        };
        four.into_iter().chain([none(""), none(DEFAULT_TREE)])
    };
    TREES.into_iter().flat_map(of_scheme).collect()
}

/// Losses of trees that grow as Stephens15's; of five, of shallow ones too.
pub(super) fn trees(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(HOSTS).told()?;
    let mut values = Vec::new();
    for (scheme, name, most) in TREES {
        for (default_tree, beside) in [(false, ""), (true, DEFAULT_TREE)] {
            let options = by_trees(scheme, 0, default_tree, TreeGrowth::Random);
            // So many flows that some are lost.
            let count = if default_tree { 200 } else { 10 };
            let own = Sets {
                count,
                ..sets(run, &[1])
            };
            let figures = under(&topology, &options, &own, run)?;
            let lost = lost_below(at(&figures, 1, false)?, 1e-6);
            values.extend(lost.map(|lost| Value::of(of_trees(name, 0, 1) + beside, lost)));
        }
        if run.effort == Effort::Full {
            // So many flows that none lost of them says something.
            let own = Sets {
                count: 200,
                ..sets(run, &[64])
            };
            for (growth, trees) in GROWTHS {
                let options = by_trees(scheme, 4, false, growth);
                let figures = under(&topology, &options, &own, run)?;
                let lost = lost_below(at(&figures, 64, false)?, most);
                values.extend(lost.map(|lost| Value::of(of_trees(name, 4, 64) + trees, lost)));
            }
        }
    }
    Ok(values)
}

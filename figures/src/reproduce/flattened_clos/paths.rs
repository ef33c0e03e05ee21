//! Tables 1, 2, 6 and 7, Figures 3, 5 and 10: disjoint paths, layers, cycles, rerouting.

use quantities::Progress;
use topology::generate::layers_needed;

use super::super::estimate::Estimate;
use super::super::item::{Effort, EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use crate::{ExpanderKind, FlattenedCase, FlattenedTable, TRAFFIC, measure_cyclic};

/// What the tables print of a network.
const QUANTITIES: [&str; 6] = [
    "paths",
    "length",
    "shortest",
    "fewest",
    "trees: length",
    "trees: shortest",
];

fn name(case: &FlattenedCase, quantity: &str) -> String {
    format!("{}: {quantity}", case.name())
}

/// The largest network that is computed quickly.
const QUICK: u32 = 500;
/// The largest of which several are drawn.
const SEVERAL: u32 = 1000;

const TREES: &str =
    "how long ways over trees are depends on which trees are found; FC23's are deeper";

pub(super) fn rows(table: FlattenedTable) -> Vec<Row> {
    let of_case = |case: FlattenedCase| {
        let (paper, trees) = (case.paper(), case.paper_trees());
        let said = [
            Some(paper.paths),
            Some(paper.length),
            paper.shortest,
            paper.fewest.map(f64::from),
            trees.map(|trees| trees.length),
            trees.map(|trees| trees.shortest),
        ];
        let rows = QUANTITIES
            .into_iter()
            .zip(said)
            .filter_map(|(quantity, said)| {
                let row = Row::new(quantity, name(&case, quantity), Said::Number(said?))
                    .at(f64::from(case.switches()))
                    .full_if(case.switches() > QUICK);
                Some(match quantity {
                    "fewest" => row.within(Tolerance::By(1.0)).higher(),
                    "paths" => row.higher(),
                    quantity if quantity.starts_with("trees") => {
                        row.within(Tolerance::Part(0.05)).lower().because(TREES)
                    }
                    _ => row.lower(),
                })
            });
        rows.collect::<Vec<_>>()
    };
    table.cases().into_iter().flat_map(of_case).collect()
}

pub(super) fn measure(table: FlattenedTable, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    for case in table.cases() {
        if case.switches() > QUICK && run.effort == Effort::Quick {
            continue;
        }
        let seeds = if case.switches() > SEVERAL {
            1..=1
        } else {
            run.seeds()
        };
        let mut runs: Vec<Vec<f64>> = vec![Vec::new(); QUANTITIES.len()];
        for seed in seeds {
            let figure = case.measure(seed, run.progress).told()?;
            let trees = figure.trees.as_ref();
            let found = [
                figure.paths,
                figure.length,
                figure.shortest,
                Some(f64::from(figure.fewest)),
                trees.map(|trees| trees.length),
                trees.map(|trees| trees.shortest),
            ];
            for (runs, found) in runs.iter_mut().zip(found) {
                runs.extend(found);
            }
        }
        let of_quantity = QUANTITIES
            .into_iter()
            .zip(&runs)
            .filter(|(_, runs)| !runs.is_empty());
        values.extend(
            of_quantity.map(|(quantity, runs)| {
                Value::estimated(name(&case, quantity), Estimate::of(runs))
            }),
        );
    }
    Ok(values)
}

/// Table 7; for 2000 and 3000 switches its shortest lengths repeat Table 1's minima, which is no
/// number of theirs.
pub(super) fn table_7_rows() -> Vec<Row> {
    let mut all = rows(FlattenedTable::LargeSwitches);
    all.extend([2000, 3000].map(|switches| {
        let printed =
            format!("{switches} x 64 7-6-7: shortest, where the minimum of Table 1 is printed");
        Row::new("shortest", printed, Said::NotLegible)
    }));
    all
}

/// Layers by switches: the k_min of Table 1.
const LAYERS: [(u32, f64); 5] = [
    (500, 3.0),
    (1000, 3.0),
    (2000, 4.0),
    (3000, 4.0),
    (5000, 4.0),
];

fn of_switches(switches: u32) -> String {
    format!("{switches} switches")
}

/// Figure 5.
pub(super) fn layers_rows() -> Vec<Row> {
    LAYERS
        .map(|(switches, layers)| {
            Row::exact("fewest layers", of_switches(switches), layers).at(f64::from(switches))
        })
        .to_vec()
}

/// Ours.
pub(super) fn layers(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let value = |(switches, _)| {
        let layers = layers_needed(switches, 40);
        layers.map(|layers| Value::of(of_switches(switches), f64::from(layers)))
    };
    Ok(LAYERS.into_iter().filter_map(value).collect())
}

fn closes(kind: ExpanderKind) -> String {
    format!(
        "{}, all to all: part of the graphs of 40 switches and more",
        kind.name()
    )
}

const EARLIER: &str = "Xpander closes cycles in no fewer graphs than Jellyfish";

/// Figure 3: with tens of switches the probability is one, Xpander earlier.
pub(super) fn cycles_rows() -> Vec<Row> {
    let mut rows = ExpanderKind::ALL
        .map(|kind| {
            Row::new(kind.name(), closes(kind), Said::Number(1.0)).within(Tolerance::Part(0.01))
        })
        .to_vec();
    rows.push(Row::holds(EARLIER));
    rows
}

/// Ours.
pub(super) fn cycles(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let figures = measure_cyclic(run.effort.pick(20, 100), 1, run.progress).told()?;
    let mut values = Vec::new();
    for figure in &figures {
        for (traffic, part) in TRAFFIC.into_iter().zip(&figure.cyclic) {
            let series = format!("{}, {}", figure.kind.name(), traffic.name());
            let x = f64::from(figure.switches);
            values.push(Value::of(format!("{series}, {x}"), *part).on(&series, x));
        }
    }
    let parts = |kind, from: u32| -> Vec<f64> {
        let own = figures
            .iter()
            .filter(|figure| figure.kind == kind && figure.switches >= from);
        own.map(|figure| figure.cyclic[0]).collect()
    };
    for kind in ExpanderKind::ALL {
        values.push(Value::estimated(
            closes(kind),
            Estimate::of(&parts(kind, 40)),
        ));
    }
    // Of the sizes that both have.
    let sum = |kind| {
        let own = figures
            .iter()
            .filter(|figure| figure.kind == kind && figure.switches.is_multiple_of(6));
        own.map(|figure| figure.cyclic[0]).sum::<f64>()
    };
    let [jellyfish, xpander] = ExpanderKind::ALL.map(sum);
    values.push(Value::holds(EARLIER, xpander >= jellyfish));
    Ok(values)
}

const LOSSLESS: &str = "every packet arrives, lossless with two priorities";
const WITHOUT: &str = "some affected packets need no bounce";

/// Figure 10 and section 7.1, which only suspects it.
pub(super) fn rerouting_rows() -> Vec<Row> {
    [WITHOUT, LOSSLESS].map(Row::holds).to_vec()
}

/// Ours.
pub(super) fn rerouting(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let cases = FlattenedTable::SmallSwitches.cases();
    let network = cases.first().map(|case| case.network);
    let network = network.ok_or_else(|| ItemError::new("no network"))?;
    let progress = Progress::default();
    let figure = network
        .reroute(run.effort.pick(40, 450), 1, &progress)
        .told()?;
    Ok(vec![
        Value::holds(WITHOUT, figure.without_bounce > 0),
        Value::holds(LOSSLESS, figure.lossless()),
    ])
}

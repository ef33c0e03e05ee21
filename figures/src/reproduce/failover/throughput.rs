//! Figures 4.16 and 4.17: throughput beside that of shortest paths.

use schemes::failover::{FailoverOptions, FailoverScheme};

use super::super::item::{EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::ground::{GROWTHS, at, plinko, sets, trees as by_trees, under};
use crate::failover::{Shape, reactive_on};

const HOSTS: u32 = 1024;

fn routings_name(ways: u16) -> String {
    format!("{ways} routings to a switch over one to every host")
}

const LOW: &str = "t = 1, 64 failed links, over shortest paths";

/// Figure 4.16: just under 5 %, under 10 %, and about 15 % are lost with 8, 4 and 2 routings.
pub(super) fn routings_rows() -> Vec<Row> {
    let row = |(ways, part)| {
        Row::new("random routings", routings_name(ways), Said::Number(part))
            .at(f64::from(ways))
            .within(Tolerance::Part(0.03))
            .higher()
    };
    let mut rows = [(2, 0.85), (4, 0.90), (8, 0.95)].map(row).to_vec();
    rows.push(
        Row::new("resilience", LOW, Said::Number(1.0))
            .within(Tolerance::Part(0.03))
            .higher(),
    );
    rows
}

/// Throughput by the number of routings.
pub(super) fn routings(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(HOSTS).told()?;
    let own = sets(run, &[1, 64]);
    let shortest = reactive_on(&topology, &own).told()?;
    let every_host = under(&topology, &plinko(1), &own, run)?;
    let low = at(&every_host, 64, false)?.throughput / at(&shortest, 64, false)?.throughput;
    let mut values = vec![Value::of(LOW, low)];
    let single = sets(run, &[1]);
    for ways in [1, 2, 4, 8] {
        let options = FailoverOptions {
            multipath: Some(ways),
            ..plinko(1)
        };
        let figures = under(&topology, &options, &single, run)?;
        let part = at(&figures, 1, false)?.throughput / at(&every_host, 1, false)?.throughput;
        values.push(Value::of(routings_name(ways), part).on("random routings", f64::from(ways)));
    }
    Ok(values)
}

const BEST: &str = "best of all, 256 failed links, over shortest paths";
const WORST: &str = "worst of all, 256 failed links, over shortest paths";

/// Figure 4.17: 7 % lost at best, 23 % at worst given 256 failures.
pub(super) fn trees_rows() -> Vec<Row> {
    const RANDOM: &str = "links in random order make trees deeper than the thesis's seem to be: of two such trees a flow crosses many links. How its trees grow is not said; \
                          shallow ones carry more than it has";
    let row = |(name, part): (&str, f64), trees: &str| {
        Row::new(
            "over shortest paths",
            format!("{name}{trees}"),
            Said::Number(part),
        )
        .at(256.0)
        .within(Tolerance::Part(0.05))
        .higher()
        .because(RANDOM)
    };
    let of_growth = |(_, trees)| [(BEST, 0.93), (WORST, 0.77)].map(|one| row(one, trees));
    GROWTHS.into_iter().flat_map(of_growth).collect()
}

/// Throughput of trees.
pub(super) fn trees(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(HOSTS).told()?;
    let sizes = [1, 16, 64, 256];
    let own = sets(run, &sizes);
    let shortest = reactive_on(&topology, &own).told()?;
    let resilience = run.effort.pick(&[1][..], &[1, 4]);
    let mut values = Vec::new();
    for (growth, grown) in GROWTHS {
        let mut parts = Vec::new();
        for scheme in [FailoverScheme::Edst, FailoverScheme::Adst] {
            for &t in resilience {
                for default_tree in [false, true] {
                    let options = by_trees(scheme, t, default_tree, growth);
                    let figures = under(&topology, &options, &own, run)?;
                    let tree = if default_tree { ", default tree" } else { "" };
                    let series = format!("{}, t = {t}{tree}{grown}", scheme.name());
                    for failures in sizes {
                        let carried = at(&figures, failures, false)?.throughput;
                        let part = carried / at(&shortest, failures, false)?.throughput;
                        let x = f64::from(failures);
                        values.push(Value::of(format!("{series}, {x}"), part).on(&series, x));
                        if failures == 256 {
                            parts.push(part);
                        }
                    }
                }
            }
        }
        let best = parts.iter().copied().fold(0.0, f64::max);
        let worst = parts.iter().copied().fold(f64::INFINITY, f64::min);
        values.push(Value::of(format!("{BEST}{grown}"), best));
        values.push(Value::of(format!("{WORST}{grown}"), worst));
    }
    Ok(values)
}

//! Tables 5.1 to 5.3: virtual channels of DF-FI; beside them tags that rise, for the same ways.

use super::super::item::{Effort, EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use crate::failover::{PriorityCase, open_priority_cells, priorities, priority_cases};

const RISING: &str = ", rising tags";

fn quick(case: &PriorityCase) -> bool {
    case.resilience() <= 2 && case.hosts() <= 1024 && case.ways() <= 2
}

fn series(case: &PriorityCase) -> String {
    let aware = if case.compression_aware() {
        ", compression-aware"
    } else {
        ""
    };
    format!("{} hosts, t = {}{aware}", case.hosts(), case.resilience())
}

/// The kind of network, which is the first word of a cell's name.
fn graph_of(name: &str) -> String {
    name.split(' ').next().unwrap_or_default().to_owned()
}

fn cases(graph: &str) -> Vec<PriorityCase> {
    let mut cases = priority_cases();
    cases.retain(|case| graph_of(&case.name()) == graph);
    cases
}

pub(super) fn rows(graph: &str) -> Vec<Row> {
    let computed = cases(graph).into_iter().flat_map(|case| {
        let said = Said::Number(f64::from(case.paper()));
        let ways = f64::from(case.ways());
        let row = |series: String, name: String| {
            Row::new(&series, name, said)
                .at(ways)
                .within(Tolerance::By(0.0))
                .lower()
                .full_if(!quick(&case))
        };
        [
            row(series(&case), case.name()),
            row(series(&case) + RISING, case.name() + RISING),
        ]
    });
    let open = open_priority_cells()
        .into_iter()
        .filter(|name| graph_of(name) == graph);
    let open = open.map(|name| Row::new("", name, Said::NotLegible));
    computed.chain(open).collect()
}

pub(super) fn measure(graph: &str, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    let mut wanted = cases(graph);
    wanted.retain(|case| run.effort == Effort::Full || quick(case));
    for case in wanted {
        let figure = priorities(&case).told()?;
        let value =
            |name: String, count: Option<u32>| count.map(|count| Value::of(name, f64::from(count)));
        values.extend(value(case.name(), figure.df_fi));
        values.extend(value(case.name() + RISING, figure.rising));
    }
    Ok(values)
}

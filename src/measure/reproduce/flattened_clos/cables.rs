//! Tables 4 and 5, and the columns of Table 3 that count cables.

use quantities::Progress;
use topology::cabling::Prices;

use super::super::item::{Effort, ItemError, Row, Run, Said, Told, Tolerance, Value};
use crate::measure::{CablingCase, CablingFigure, cabling_cases, table_3_cabling};

const QUANTITIES: [&str; 4] = [
    "OCSs",
    "copper, km",
    "transceivers",
    "cost at its fiber, million",
];

/// FC23's columns for Clos networks: nobody has said how they were sized.
const CLOS: [&str; 5] = [
    "switches",
    "copper and fiber",
    "transceivers",
    "cost",
    "bisection bandwidth",
];

/// Switches up to which networks are cabled quickly.
const QUICK: u32 = 900;

fn name(case: &CablingCase, quantity: &str) -> String {
    format!("{}: {quantity}", case.name())
}

fn case_rows(case: &CablingCase, full: bool) -> Vec<Row> {
    let paper = case.paper();
    #[expect(clippy::cast_precision_loss, reason = "hundreds of thousands")]
    let said = [
        f64::from(paper.ocs),
        paper.copper_km,
        paper.transceivers as f64,
        paper.cost,
    ];
    let within = [
        Tolerance::By(0.0),
        Tolerance::By(0.05),
        Tolerance::By(0.0),
        Tolerance::Part(0.005),
    ];
    let rows = QUANTITIES.into_iter().zip(said).zip(within);
    let row = |((quantity, said), within)| {
        Row::new(quantity, name(case, quantity), Said::Number(said))
            .within(within)
            .lower()
            .full_if(full)
    };
    let mut rows: Vec<Row> = rows.map(row).collect();
    let fiber = name(
        case,
        "metres from rack to rack that make its length of fiber",
    );
    rows.push(
        // The unit of its floor plan is not said: one that is the same in all rows would reproduce it.
        Row::new("fiber", fiber, Said::Number(2.0))
            .within(Tolerance::Part(0.12))
            .full_if(full),
    );
    rows
}

fn case_values(case: &CablingCase, figure: &CablingFigure) -> Vec<Value> {
    #[expect(clippy::cast_precision_loss, reason = "hundreds of thousands")]
    let found = [
        Some(f64::from(figure.ocs)),
        Some(figure.copper_km),
        Some(figure.transceivers as f64),
        figure.cost,
    ];
    let quantities = QUANTITIES.into_iter().zip(found);
    let mut values: Vec<Value> = quantities
        .filter_map(|(quantity, found)| Some(Value::of(name(case, quantity), found?)))
        .collect();
    let fiber = name(
        case,
        "metres from rack to rack that make its length of fiber",
    );
    values.push(Value::of(fiber, figure.metres_per_rack));
    values
}

/// Table 4.
pub(super) fn table_4_rows() -> Vec<Row> {
    let cases = cabling_cases();
    let mut rows: Vec<Row> = cases
        .iter()
        .flat_map(|case| case_rows(case, case.switches() > QUICK))
        .collect();
    rows.extend(CLOS.map(|column| {
        let name =
            format!("Clos: {column} (the paper does not say how its Clos networks are sized)");
        Row::new("Clos", name, Said::NotLegible)
    }));
    rows
}

/// Ours.
pub(super) fn table_4(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    for case in cabling_cases() {
        if case.switches() <= QUICK || run.effort == Effort::Full {
            let figure = case.measure(1, &Progress::default()).told()?;
            values.extend(case_values(&case, &figure));
        }
    }
    Ok(values)
}

/// The columns of Table 3, which has none of OCSs.
pub(super) fn table_3_rows() -> Vec<Row> {
    let mut rows = case_rows(&table_3_cabling(), false);
    rows.retain(|row| row.series != QUANTITIES[0]);
    rows
}

/// Ours.
pub(super) fn table_3() -> Result<Vec<Value>, ItemError> {
    let case = table_3_cabling();
    let figure = case.measure(1, &Progress::default()).told()?;
    Ok(case_values(&case, &figure))
}

/// Table 5, in dollars: switch, OCS, copper cable; fibers by metres, and what 50 m more cost; transceivers by reach.
const SWITCH: f64 = 59_099.0;
const OCS: f64 = 60_000.0;
const COPPER: f64 = 189.0;
const FIBERS: [(f64, f64); 8] = [
    (2.0, 4.29),
    (5.0, 4.71),
    (10.0, 5.29),
    (15.0, 5.71),
    (20.0, 6.38),
    (30.0, 7.38),
    (50.0, 9.46),
    (100.0, 16.54),
];
const FURTHER: f64 = 6.3;
const TRANSCEIVERS: [(f64, f64); 3] = [(100.0, 499.0), (500.0, 799.0), (2000.0, 1099.0)];

fn fiber(metres: f64) -> String {
    format!("fiber of {metres} m")
}

fn transceiver(metres: f64) -> String {
    format!("transceiver for {metres} m")
}

/// Table 5: what `--prices fc23` takes.
pub(super) fn prices_rows() -> Vec<Row> {
    let price = |name: String, price| Row::exact("dollars", name, price);
    let mut rows = vec![
        price("switch".to_owned(), SWITCH),
        price("OCS".to_owned(), OCS),
        price("copper cable of 2 m".to_owned(), COPPER),
    ];
    rows.extend(FIBERS.map(|(metres, dollars)| price(fiber(metres), dollars)));
    rows.push(price("50 m of fiber more".to_owned(), FURTHER));
    rows.extend(TRANSCEIVERS.map(|(metres, dollars)| price(transceiver(metres), dollars)));
    rows
}

/// Ours.
pub(super) fn prices(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let prices = Prices::fc23();
    let mut values = vec![
        Value::of("switch", prices.switch),
        Value::of("OCS", prices.ocs),
        Value::of("copper cable of 2 m", prices.copper),
    ];
    let fibers = prices.fiber.iter();
    values.extend(fibers.map(|own| Value::of(fiber(own.metres), own.price)));
    let further = prices.further_fiber.as_ref();
    values.extend(further.map(|own| Value::of("50 m of fiber more", own.price)));
    let transceivers = prices.transceivers.iter();
    values.extend(transceivers.map(|own| Value::of(transceiver(own.reach), own.price)));
    Ok(values)
}

//! Tables 4 and 5, and the columns of Table 3 that count cables.

use quantities::Progress;
use topology::cabling::Prices;

use super::super::item::{Effort, EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use crate::{
    CablingCase, CablingFigure, ClosCabling, cabling_cases, cabling_name as case_name,
    table_3_cabling,
};

const QUANTITIES: [&str; 4] = [
    "OCSs",
    "copper, km",
    "transceivers",
    "cost at its fiber, million",
];

/// FC23's columns for Clos networks: hosts in all, FC23's hosts of a switch; of the Clos hosts of a
/// leaf, switches, copper and fiber in km, transceivers, cost in millions, bisection bandwidth; and
/// bisection bandwidth of the Flattened Clos.
const CLOS: [(u32, u16, [f64; 7], f64); 18] = [
    (
        2400,
        8,
        [16.0, 406.0, 4.8, 40.6, 10560.0, 29.76, 1280.0],
        1292.0,
    ),
    (
        2400,
        12,
        [22.0, 220.0, 4.8, 15.2, 4480.0, 15.71, 560.0],
        684.0,
    ),
    (
        2400,
        16,
        [25.0, 166.0, 4.8, 8.7, 2688.0, 11.62, 336.0],
        396.0,
    ),
    (
        4800,
        8,
        [16.0, 860.0, 9.6, 107.7, 19456.0, 61.52, 2432.0],
        2526.0,
    ),
    (
        4800,
        12,
        [21.0, 482.0, 9.6, 48.7, 10560.0, 34.7, 1320.0],
        1358.0,
    ),
    (
        4800,
        16,
        [25.0, 332.0, 9.6, 22.9, 5376.0, 23.23, 672.0],
        772.0,
    ),
    (
        7200,
        8,
        [16.0, 1170.0, 14.4, 201.5, 29696.0, 85.45, 3712.0],
        3786.0,
    ),
    (
        7200,
        12,
        [21.0, 761.0, 14.4, 88.4, 15488.0, 54.13, 1936.0],
        2018.0,
    ),
    (
        7200,
        16,
        [25.0, 526.0, 14.4, 40.6, 8046.0, 36.5, 1008.0],
        1156.0,
    ),
    (
        24000,
        8,
        [16.0, 5500.0, 101.3, 1393.5, 97008.0, 383.53, 12288.0],
        12716.0,
    ),
    (
        24000,
        12,
        [22.0, 2885.0, 71.6, 493.8, 44298.0, 199.58, 6400.0],
        6788.0,
    ),
    (
        24000,
        16,
        [25.0, 2052.0, 62.3, 268.8, 26880.0, 140.7, 3584.0],
        3826.0,
    ),
    (
        48000,
        8,
        [16.0, 12152.0, 227.0, 5065.5, 192512.0, 850.55, 24576.0],
        25614.0,
    ),
    (
        48000,
        12,
        [21.0, 6691.0, 156.4, 2071.1, 100958.0, 465.72, 12672.0],
        13612.0,
    ),
    (
        48000,
        16,
        [25.0, 4104.0, 124.7, 940.8, 53760.0, 282.75, 7168.0],
        7674.0,
    ),
    (
        72000,
        8,
        [16.0, 21300.0, 406.1, 11090.5, 288768.0, 1471.83, 36864.0],
        38638.0,
    ),
    (
        72000,
        12,
        [21.0, 10018.0, 234.1, 4480.7, 151360.0, 702.92, 19712.0],
        20626.0,
    ),
    (
        72000,
        16,
        [25.0, 6828.0, 201.3, 2021.8, 80640.0, 468.66, 10752.0],
        11714.0,
    ),
];
const CLOS_QUANTITIES: [&str; 7] = [
    "hosts of a leaf",
    "switches",
    "copper, km",
    "fiber, km",
    "transceivers",
    "cost, million",
    "bisection bandwidth",
];
/// What FC23 prints for a quantity is rounded, or misprinted, like this.
const CLOS_WITHIN: [Tolerance; 7] = [
    Tolerance::By(0.0),
    Tolerance::By(0.0),
    Tolerance::By(0.08),
    Tolerance::By(0.06),
    Tolerance::By(0.0),
    Tolerance::Part(0.001),
    Tolerance::By(0.0),
];
const HOSTS_OF_A_LEAF: &str = "FC23 gives a leaf as few hosts as leave the Clos no more bisection bandwidth than the Flattened Clos has; ours of the \
                               Flattened Clos, by halves that cut fewer links, is lower";
const MISPRINT: &str = "by the layout that makes all other rows it is ours: two digits are exchanged, or one is another";

fn beside(hosts: u32, per_switch: u16) -> String {
    format!("{hosts} hosts, {per_switch} a switch")
}

fn bisection_name(hosts: u32, per_switch: u16) -> String {
    format!("{}: bisection bandwidth", beside(hosts, per_switch))
}

fn clos_name(hosts: u32, per_switch: u16, quantity: &str) -> String {
    format!("Clos beside {}: {quantity}", beside(hosts, per_switch))
}

fn clos_rows() -> impl Iterator<Item = Row> {
    CLOS.into_iter()
        .flat_map(|(hosts, per_switch, clos, bisection)| {
            let full = hosts / u32::from(per_switch) > QUICK;
            let own = Row::new(
                "Flattened Clos",
                bisection_name(hosts, per_switch),
                Said::Number(bisection),
            )
            .within(Tolerance::Part(0.05))
            .full_if(full);
            let quantities = CLOS_QUANTITIES.into_iter().zip(clos).zip(CLOS_WITHIN);
            let clos: Vec<Row> = quantities
                .map(|((quantity, number), within)| {
                    let name = clos_name(hosts, per_switch, quantity);
                    // How many hosts a leaf has follows from the Flattened Clos's bisection
                    // bandwidth.
                    let chosen = quantity == CLOS_QUANTITIES[0];
                    Row::new("Clos", name, Said::Number(number))
                        .within(within)
                        .because(if chosen { HOSTS_OF_A_LEAF } else { MISPRINT })
                        .full_if(chosen && full)
                })
                .collect();
            clos.into_iter().chain([own])
        })
}

/// The Clos networks, which have as many hosts at a leaf as FC23's, and what that number would be
/// by our halving of the Flattened Clos, where it has been cabled.
fn clos_values(halved: &[(String, u64)]) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    for (hosts, per_switch, [per_leaf, ..], _) in CLOS {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below 32"
        )]
        let clos = ClosCabling::new(hosts, per_leaf as u16)
            .ok_or_else(|| ItemError::new("no Clos of four layers has so many hosts"))?;
        #[expect(clippy::cast_precision_loss, reason = "hundreds of thousands")]
        let found = [
            clos.switches as f64,
            clos.copper_km(),
            clos.fiber_km(),
            clos.transceivers() as f64,
            clos.cost(&Prices::fc23()).told()? / 1e6,
            clos.bisection as f64,
        ];
        let quantities = CLOS_QUANTITIES[1..].iter().zip(found);
        values.extend(
            quantities
                .map(|(quantity, found)| Value::of(clos_name(hosts, per_switch, quantity), found)),
        );
        let case = case_name(hosts / u32::from(per_switch), per_switch);
        let Some((_, bisection)) = halved.iter().find(|(name, _)| *name == case) else {
            continue;
        };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        values.push(Value::of(
            bisection_name(hosts, per_switch),
            *bisection as f64,
        ));
        let chosen = ClosCabling::hosts_per_leaf_within(hosts, *bisection);
        values.extend(chosen.map(|chosen| {
            let name = clos_name(hosts, per_switch, CLOS_QUANTITIES[0]);
            Value::of(name, f64::from(chosen))
        }));
    }
    Ok(values)
}

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
        // The unit of its floor plan is not said: one that is the same in all rows would reproduce
        // it.
        Row::new("fiber", fiber, Said::Number(2.0))
            .within(Tolerance::Part(0.12))
            .because("the larger the network the fewer, as if a part of every fiber were the same in all; FC23 does not give its floor plan")
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
    rows.extend(clos_rows());
    rows
}

/// Ours.
pub(super) fn table_4(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    let mut halved = Vec::new();
    for case in cabling_cases() {
        if case.switches() <= QUICK || run.effort == Effort::Full {
            let figure = case.measure(1, &Progress::default()).told()?;
            values.extend(case_values(&case, &figure));
            halved.push((case.name(), figure.bisection));
        }
    }
    values.extend(clos_values(&halved)?);
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

/// Table 5, in dollars: switch, OCS, copper cable; fibers by metres, and what 50 m more cost;
/// transceivers by reach.
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

//! Table 1: the third column is the second over the first, which only says that the draft counts
//! right; what its method sees of a rerouted packet is measured.

use plan::check::{Options, check};
use schemes::{TaggerOptions, tagger};
use simulator::embedded::{Network, Reroute};
use topology::generate::{Cables, FatTree};

use super::super::item::{EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use measure::{EmbeddedProber, measure_paths};

/// Day of November 2016, measurements, rerouted ones, probability.
const DAYS: [(u8, f64, f64, f64); 7] = [
    (1, 11_381_533_570.0, 148_416.0, 1.3e-5),
    (2, 11_056_408_780.0, 130_815.0, 1.2e-5),
    (3, 10_316_034_165.0, 104_472.0, 1.0e-5),
    (4, 10_273_000_622.0, 92_555.0, 0.9e-5),
    (5, 10_230_003_382.0, 102_872.0, 1.0e-5),
    (6, 10_491_233_987.0, 106_266.0, 1.0e-5),
    (7, 9_608_289_622.0, 100_916.0, 1.1e-5),
];

fn day(day: u8) -> String {
    format!("11/0{day}/2016: rerouted over all, from the draft's counts")
}

const DIRECT: &str = "TTL of a reply over the shortest way";
const REROUTED: &str = "TTL of a reply that was rerouted once";

/// Table 1 and section 3.1.
pub(super) fn rows() -> Vec<Row> {
    let days = DAYS.map(|(number, _, _, part)| {
        // One digit after the point.
        Row::new("probability", day(number), Said::Number(part)).within(Tolerance::By(5.1e-7))
    });
    let ttls = [(DIRECT, 61.0), (REROUTED, 59.0)];
    let ttls = ttls.map(|(name, ttl)| Row::exact("TTL", name, ttl));
    days.into_iter().chain(ttls).collect()
}

/// Ours.
pub(super) fn measure(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let days = DAYS.map(|(number, all, rerouted, _)| Value::of(day(number), rerouted / all));
    let mut values = days.to_vec();
    let cables = Cables::default();
    let topology = FatTree { k: 4, cables }.generate().told()?;
    let tables = tagger(&topology, &TaggerOptions::default()).told()?;
    let plan = check(tables, &Options::default()).told()?;
    let link = topology.link_named("p1a1-p1e1").told()?;
    let mut before = Network::of(plan.clone()).told()?;
    let mut after = Network::of(plan)
        .told()?
        .after_failures(&[link], Reroute::Local)
        .told()?;
    let mut prober = EmbeddedProber::new(&mut before, &mut after);
    let figure = measure_paths(&topology, &mut prober, 4).told()?;
    let seen: Vec<u8> = figure.replies.keys().copied().collect();
    if let [rerouted, direct] = seen[..] {
        values.push(Value::of(DIRECT, f64::from(direct)));
        values.push(Value::of(REROUTED, f64::from(rerouted)));
    }
    Ok(values)
}

//! Tags by topology and routes, and the deadlock of bounced flows.

use plan::check::{Options, check};
use schemes::{Algorithm, TaggerOptions, greedy_count, tagger};
use topology::Topology;
use topology::generate::{Bcube, Cables, FatTree, Jellyfish, JellyfishSize};
use topology::routes::RoutePolicy;

use super::super::item::{EntryError, ItemError, Row, Run, Value};
use super::super::scenes::{Play, play};

fn fat_tree() -> Result<Topology, ItemError> {
    let cables = Cables::default();
    FatTree { k: 4, cables }.generate().told()
}

/// Tags of a proven plan.
fn tags(topology: &Topology, options: &TaggerOptions) -> Result<f64, ItemError> {
    let tables = tagger(topology, options).told()?;
    let tags = tables.tagging.priorities.len();
    check(tables, &Options::default()).told()?;
    Ok(tags as f64)
}

fn count(
    topology: &Topology,
    routes: &RoutePolicy,
    algorithm: Algorithm,
) -> Result<f64, ItemError> {
    let options = TaggerOptions {
        algorithm: Some(algorithm),
        routes: Some(routes.clone()),
        ..TaggerOptions::default()
    };
    tags(topology, &options)
}

const BOUNCES: std::ops::RangeInclusive<u8> = 0..=3;
const OPTIMAL: &str = "Tagger for Clos";
const BRUTE: &str = "up-down routes by Algorithm 1";
const GREEDY: &str = "1 bounce by Algorithm 2";

fn bounces(bounces: u8) -> String {
    format!("{bounces} bounces")
}

/// Section 3: k - 1 bounces take k priorities; section 4: Algorithm 1 takes 5 without bounces,
/// Algorithm 2 three with one.
pub(super) fn clos_rows() -> Vec<Row> {
    let clos =
        BOUNCES.map(|b| Row::exact(OPTIMAL, bounces(b), f64::from(b) + 1.0).at(f64::from(b)));
    let brute = Row::exact(BRUTE, BRUTE, 5.0)
        .at(0.0)
        .lower()
        .because("ours raises no tag toward a host, and counts from the first switch");
    let greedy = Row::exact(GREEDY, GREEDY, 3.0).at(1.0).lower();
    clos.chain([brute, greedy]).collect()
}

/// Tags of a fat-tree.
pub(super) fn clos(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = fat_tree()?;
    let mut values = Vec::new();
    for b in BOUNCES {
        let options = TaggerOptions {
            bounces: b,
            ..TaggerOptions::default()
        };
        values.push(Value::of(bounces(b), tags(&topology, &options)?));
    }
    let up_down = RoutePolicy::UpDown { bounces: 0 };
    let brute = count(&topology, &up_down, Algorithm::BruteForce)?;
    values.push(Value::of(BRUTE, brute));
    // What Algorithm 2 makes here no switch can hold: it is a count only.
    let routes = RoutePolicy::UpDown { bounces: 1 };
    let greedy = greedy_count(&topology, &routes).told()?;
    values.push(Value::of(GREEDY, greedy.tags as f64));
    Ok(values)
}

fn levels(levels: u16) -> String {
    format!("{levels} levels")
}

/// Section 4.3.
pub(super) fn bcube_rows() -> Vec<Row> {
    let row = |k: u16| {
        let number = f64::from(k);
        Row::exact("BCube", levels(k), number).at(number).lower()
    };
    [2, 3].map(row).to_vec()
}

/// Tags of BCubes.
pub(super) fn bcube(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    for k in [2, 3] {
        let bcube = Bcube {
            n: 4,
            k: k - 1,
            cables: Cables::default(),
        };
        let topology = bcube.generate().told()?;
        let routes = RoutePolicy::BcubeRotations;
        let tags = count(&topology, &routes, Algorithm::SingleValued)?;
        values.push(Value::of(levels(k), tags));
    }
    Ok(values)
}

const PORTS: [u16; 3] = [12, 24, 40];

fn greedy_of(ports: u16) -> String {
    format!("1000 x {ports}, Algorithm 2, a count that no switch can hold")
}

fn own_of(ports: u16) -> String {
    format!("1000 x {ports}, single-valued rules")
}

/// Section 4.3: five tags for 1000 nodes; how many ports they have is not said.
pub(super) fn jellyfish_rows() -> Vec<Row> {
    let rows = PORTS.iter().flat_map(|&ports| {
        [greedy_of(ports), own_of(ports)].map(|name| Row::exact("tags", name, 5.0).lower())
    });
    rows.collect()
}

/// Tags of Jellyfish.
pub(super) fn jellyfish(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    for ports in PORTS {
        let jellyfish = Jellyfish {
            size: JellyfishSize::Switches {
                switches: 1000,
                fabric_ports: ports / 2,
            },
            ports,
            seed: 1,
            cables: Cables::default(),
        };
        let topology = jellyfish.generate().told()?;
        let greedy = greedy_count(&topology, &RoutePolicy::Shortest).told()?;
        values.push(Value::of(greedy_of(ports), greedy.tags as f64));
        let tables = tagger(&topology, &TaggerOptions::default()).told()?;
        let tags = tables.tagging.priorities.len();
        values.push(Value::of(own_of(ports), tags as f64));
    }
    Ok(values)
}

const CLASSES: [(u8, u8); 5] = [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)];

fn class(classes: u8, bounces: u8) -> String {
    format!("N = {classes}, M = {bounces}")
}

/// Section 4.3: M + N.
pub(super) fn class_rows() -> Vec<Row> {
    let row = |(n, m)| Row::exact("tags", class(n, m), f64::from(n + m)).lower();
    CLASSES.map(row).to_vec()
}

/// Tags of several classes.
pub(super) fn classes(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = fat_tree()?;
    let value = |(classes, bounces)| {
        let options = TaggerOptions {
            bounces,
            ..TaggerOptions::default().with_classes(classes)
        };
        Ok(Value::of(
            class(classes, bounces),
            tags(&topology, &options)?,
        ))
    };
    CLASSES.into_iter().map(value).collect()
}

const DEADLOCK: &str = "without tags a deadlock forms";
const NONE: &str = "with tags none forms";
const KEPT: &str = "with tags no lossless packet is dropped";

/// Figures 2 and 3.
pub(super) fn bounce_rows() -> Vec<Row> {
    [DEADLOCK, NONE, KEPT].map(Row::holds).to_vec()
}

/// The scenario, twice.
pub(super) fn bounce(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let without = Play {
        without_tags: true,
        ..Play::default()
    };
    let plain = play("bounce", without)?;
    let tagged = play("bounce", Play::default())?;
    Ok(vec![
        Value::holds(DEADLOCK, plain.deadlocks > 0),
        Value::holds(NONE, tagged.deadlocks == 0),
        Value::holds(KEPT, tagged.lossless_drops == 0),
    ])
}

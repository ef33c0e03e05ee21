//! Figures 5.12, 5.13, 5.16, 5.17, 5.19 and 5.20: throughput beside that of shortest paths.

use schemes::failover::FailoverOptions;
use topology::Topology;

use super::super::super::item::{EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::{LINE, MAX, NO_RES, RAND, T, Variant, at, curve, hosts, sets, under};
use crate::failover::{Shape, reactive_on};
use measure::failover::FailureFigure;

/// Throughput of variants over that of shortest paths, one failed link at least.
fn carried(
    topology: &Topology,
    variants: &[(&str, FailoverOptions)],
    run: &Run<'_>,
) -> Result<(Vec<Value>, Vec<f64>), ItemError> {
    let own = sets(run, &[1, 16], 4);
    let shortest = reactive_on(topology, &own).told()?;
    let (mut values, mut parts) = (Vec::new(), Vec::new());
    for (series, options) in variants {
        let figures = under(topology, options, &own, run)?;
        let part = |figure: &FailureFigure| {
            let beside = at(&shortest, figure.failures).ok()?;
            Some(figure.throughput / beside.throughput)
        };
        parts.push(part(at(&figures, 1)?).unwrap_or(f64::NAN));
        curve(&mut values, series, &figures, part);
    }
    Ok((values, parts))
}

const NEAR: &str = "NoRes, 8 trees and 8 routings, over shortest paths";
const HALF: &str = "Line over shortest paths";
const FOUR: &str = "NoRes, 4 routings over 8";

/// Figures 5.12 and 5.13: NoRes is "not far off", Line "almost half", and half of the routings
/// "almost half".
pub(in super::super) fn carried_rows() -> Vec<Row> {
    const REASON: &str = "our trees are shallow and drawn anew for every channel, so that four channels of them carry nearly what eight do";
    vec![
        Row::new("part", NEAR, Said::Number(0.93))
            .within(Tolerance::Part(0.06))
            .higher(),
        Row::new("part", HALF, Said::Number(0.5))
            .within(Tolerance::Part(0.25))
            .higher(),
        Row::new("part", FOUR, Said::Number(0.5))
            .within(Tolerance::Part(0.25))
            .higher()
            .because(REASON),
    ]
}

pub(in super::super) fn simple_carried(
    shape: Shape,
    run: &Run<'_>,
) -> Result<Vec<Value>, ItemError> {
    let topology = shape.topology(hosts(run)).told()?;
    let four = Variant {
        channels: 4,
        ..NO_RES
    };
    let variants = [
        ("NoRes, 8 routings", NO_RES.options()),
        ("Line, 8 routings", LINE.options()),
        ("NoRes, 4 routings", four.options()),
    ];
    let (mut values, parts) = carried(&topology, &variants, run)?;
    values.push(Value::of(NEAR, parts[0]));
    values.push(Value::of(HALF, parts[1]));
    values.push(Value::of(FOUR, parts[2] / parts[0]));
    Ok(values)
}

const T_CARRIED: &str = "T over shortest paths";
const CONNECTED: &str = "T with a line through layer 0, over T without";

/// Figures 5.16 and 5.17: "often within 10 %"; connecting layer 0 costs nothing.
pub(in super::super) fn t_carried_rows() -> Vec<Row> {
    vec![
        Row::new("part", T_CARRIED, Said::AtLeast(0.9)).within(Tolerance::Part(0.03)),
        Row::new("part", CONNECTED, Said::Number(1.0))
            .within(Tolerance::Part(0.03))
            .higher(),
    ]
}

pub(in super::super) fn t_carried(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = shape.topology(hosts(run)).told()?;
    let connected = Variant {
        connected: true,
        ..T
    };
    let variants = [("T", T.options()), ("T, connected", connected.options())];
    let (mut values, parts) = carried(&topology, &variants, run)?;
    values.push(Value::of(T_CARRIED, parts[0]));
    values.push(Value::of(CONNECTED, parts[1] / parts[0]));
    Ok(values)
}

fn reduced(shape: &str, r: u8) -> String {
    format!("{shape}, Rand {r}-R: percent below shortest paths")
}

const NO_DIFFERENCE: &str = "Max 3-R over Rand 3-R: throughput";
const TWELVE: &str = "Max 3-R, 12 trees and 4 routings over 8 and 8: throughput";

/// Figure 5.19: no numbers in the text; Rand and Max alike.
pub(in super::super) fn rand_carried_jellyfish_rows() -> Vec<Row> {
    [NO_DIFFERENCE, TWELVE]
        .map(|name| {
            Row::new("part", name, Said::Number(1.0))
                .within(Tolerance::Part(0.05))
                .higher()
        })
        .to_vec()
}

pub(in super::super) fn alike(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = shape.topology(hosts(run)).told()?;
    let twelve = Variant {
        subset: 12,
        channels: 4,
        ..MAX.surviving(3)
    };
    let variants = [
        ("Rand 3-R", RAND.surviving(3).options()),
        ("Max 3-R", MAX.surviving(3).options()),
        ("Max 3-R, 12 trees, 4 routings", twelve.options()),
    ];
    let (mut values, parts) = carried(&topology, &variants, run)?;
    values.push(Value::of(NO_DIFFERENCE, parts[1] / parts[0]));
    values.push(Value::of(TWELVE, parts[2] / parts[1]));
    Ok(values)
}

/// Figure 5.20: 6.5 and 10.9 % with 1024 hosts (B1), 6.7 and 14.3 % with 2048 (B2).
pub(in super::super) fn rand_carried_egft_rows() -> Vec<Row> {
    let row = |shape: &str, r, percent| {
        Row::new(shape, reduced(shape, r), Said::Number(percent))
            .within(Tolerance::By(3.0))
            .lower()
    };
    vec![
        row("1024 hosts, B1", 0, 6.5),
        row("1024 hosts, B1", 3, 10.9),
        row("2048 hosts, B2", 0, 6.7).full(),
        row("2048 hosts, B2", 3, 14.3).full(),
    ]
}

/// Ours.
pub(in super::super) fn rand_carried_egft(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let mut values = Vec::new();
    let grounds = [("1024 hosts, B1", 1024, 1), ("2048 hosts, B2", 2048, 2)];
    let computed = run.effort.pick(1, grounds.len());
    for (name, hosts, oversubscription) in grounds.into_iter().take(computed) {
        let topology = Shape::Egft.topology_at(hosts, oversubscription).told()?;
        let variants = [
            ("Rand 0-R", RAND.options()),
            ("Rand 3-R", RAND.surviving(3).options()),
        ];
        let (own, parts) = carried(&topology, &variants, run)?;
        if hosts == 1024 {
            values.extend(own);
        }
        for (r, part) in [(0, parts[0]), (3, parts[1])] {
            values.push(Value::of(reduced(name, r), 100.0 * (1.0 - part)));
        }
    }
    Ok(values)
}

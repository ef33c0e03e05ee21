//! Figures 5.10, 5.11, 5.14, 5.15, 5.21 and 5.22: what is lost when links fail.

use schemes::failover::FailoverOptions;
use topology::Topology;

use super::super::super::item::{EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::{
    A_LAYER, LINE, MAX, NO_RES, RAND, T, Variant, any_to_any, at, curve, hosts, sets, under,
};
use crate::failover::Shape;
use measure::failover::FailureFigure;

const FEWER: &str = "16 failed links: NoRes loses more than Line";
const FEWEST: &str = "64 failed links: any tree to any other loses no more than Line";
const SUBSETS: &str = "64 failed links: Line with 4 trees loses more than with 8";

/// Figures 5.10 and 5.11 state no numbers that our copy shows; what the text says of them is to
/// hold.
pub(in super::super) fn lost_rows() -> Vec<Row> {
    [FEWER, FEWEST, SUBSETS].map(Row::holds).to_vec()
}

pub(in super::super) fn lost(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = shape.topology(hosts(run)).told()?;
    let own = sets(run, &[1, 4, 16, 64], 8);
    let none = under(&topology, &NO_RES.options(), &own, run)?;
    let line = under(&topology, &LINE.options(), &own, run)?;
    let short = Variant { subset: 4, ..LINE };
    let short = under(&topology, &short.options(), &own, run)?;
    let any = under(&topology, &any_to_any(8), &own, run)?;
    let lost = |figures: &[FailureFigure], failures| at(figures, failures).map(|f| f.lost);
    let mut values = vec![
        Value::holds(FEWER, lost(&none, 16)? > lost(&line, 16)?),
        Value::holds(FEWEST, lost(&any, 64)? <= lost(&line, 64)?),
        Value::holds(SUBSETS, lost(&short, 64)? > lost(&line, 64)?),
    ];
    for (series, figures) in [
        ("NoRes", &none),
        ("Line, 8 trees", &line),
        ("Line, 4 trees", &short),
        ("any to any, 8 trees", &any),
    ] {
        curve(&mut values, series, figures, |figure| Some(figure.lost));
    }
    Ok(values)
}

const T_BELOW: &str = "64 failed links: T loses no more than ALayer";
const T_NO_RES: &str = "64 failed links: T loses less than NoRes";

/// Figure 5.14.
pub(in super::super) fn layers_rows() -> Vec<Row> {
    [T_BELOW, T_NO_RES].map(Row::holds).to_vec()
}

/// Ours.
pub(in super::super) fn layers(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Jellyfish.topology(hosts(run)).told()?;
    let own = sets(run, &[16, 64], 8);
    let t = under(&topology, &T.options(), &own, run)?;
    let layers = under(&topology, &A_LAYER.options(), &own, run)?;
    let none = under(&topology, &NO_RES.options(), &own, run)?;
    let lost = |figures: &[FailureFigure]| at(figures, 64).map(|f| f.lost);
    let mut values = vec![
        Value::holds(T_BELOW, lost(&t)? <= lost(&layers)?),
        Value::holds(T_NO_RES, lost(&t)? < lost(&none)?),
    ];
    for (series, figures) in [("T", &t), ("ALayer", &layers), ("NoRes", &none)] {
        curve(&mut values, series, figures, |figure| Some(figure.lost));
    }
    Ok(values)
}

const T_64: &str = "T, 64 failed links: lost";

const FOUR_LINKS: &str = "of 1024 links 64 are down, so that a spine has lost the links of all four trees of a packet with 1.5e-5, and trees are longer than one link; Stephens15's figure is below that";

/// Figure 5.15: from 1.5e-5 to 4.2e-7, the best of three failures 6.9e-7.
pub(in super::super) fn t_lost_rows() -> Vec<Row> {
    vec![
        Row::new("T", T_64, Said::Between(4.2e-7, 1.5e-5))
            .at(64.0)
            .lower()
            .because(FOUR_LINKS),
    ]
}

/// Losses of so many flows that none lost says it: nothing otherwise.
fn lost_at_64(
    topology: &Topology,
    options: &FailoverOptions,
    most: f64,
    run: &Run<'_>,
) -> Result<(Vec<FailureFigure>, Option<f64>), ItemError> {
    let figures = under(topology, options, &sets(run, &[64], 16), run)?;
    let figure = at(&figures, 64)?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let enough = figure.flows as f64 * most >= 3.0;
    let lost = (figure.lost > 0.0 || enough).then_some(figure.lost);
    Ok((figures, lost))
}

/// Ours.
pub(in super::super) fn t_lost(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(1024).told()?;
    let (figures, lost) = lost_at_64(&topology, &T.options(), 1.5e-5, run)?;
    let mut values: Vec<Value> = lost.map(|lost| Value::of(T_64, lost)).into_iter().collect();
    curve(&mut values, "T", &figures, |figure| Some(figure.lost));
    Ok(values)
}

const ORDERS: &str = "64 failed links: NoRes over Max 3-R, times as many lost";

/// Figure 5.21: about three orders of magnitude.
pub(in super::super) fn max_lost_jellyfish_rows() -> Vec<Row> {
    vec![Row::new("times", ORDERS, Said::AtLeast(1000.0)).within(Tolerance::Factor(5.0))]
}

/// Ours.
pub(in super::super) fn max_lost_jellyfish(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Jellyfish.topology(hosts(run)).told()?;
    let own = sets(run, &[16, 64], 16);
    let none = under(&topology, &NO_RES.options(), &own, run)?;
    let max = under(&topology, &MAX.surviving(3).options(), &own, run)?;
    let (without, with) = (at(&none, 64)?, at(&max, 64)?);
    // None lost of so many flows is less than three of them, with 95 % certainty.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let least = if with.lost > 0.0 {
        with.lost
    } else {
        3.0 / with.flows as f64
    };
    let mut values = vec![Value::of(ORDERS, without.lost / least)];
    for (series, figures) in [("NoRes", &none), ("Max 3-R", &max)] {
        curve(&mut values, series, figures, |figure| Some(figure.lost));
    }
    Ok(values)
}

fn rand_64(r: u8) -> String {
    format!("Rand {r}-R, 64 failed links: lost")
}

/// Figure 5.22: from 2.8e-5 (0-R) to 1.3e-6 (3-R), with 12 trees and 4 routings.
pub(in super::super) fn rand_lost_rows() -> Vec<Row> {
    const LAST: &str = "of 1024 links 64 are down, so that the second link of a way is with 6 %, and packets that began on the last of 12 trees have no other: 5e-3 of all; Stephens15's figure is below that";
    vec![
        Row::new("Rand 0-R", rand_64(0), Said::Number(2.8e-5))
            .at(64.0)
            .within(Tolerance::Factor(3.0))
            .lower()
            .because(LAST),
        Row::new("Rand 3-R", rand_64(3), Said::Number(1.3e-6))
            .at(64.0)
            .within(Tolerance::Factor(3.0))
            .lower()
            .because(FOUR_LINKS)
            .full(),
    ]
}

/// Ours.
pub(in super::super) fn rand_lost(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(1024).told()?;
    let mut values = Vec::new();
    for (r, most) in [(0, 2.8e-5), (3, 1.3e-6)] {
        let variant = Variant {
            subset: 12,
            channels: 4,
            ..RAND.surviving(r)
        };
        let options = variant.options();
        let (figures, lost) = lost_at_64(&topology, &options, most, run)?;
        values.extend(lost.map(|lost| Value::of(rand_64(r), lost)));
        curve(&mut values, &format!("Rand {r}-R"), &figures, |figure| {
            Some(figure.lost)
        });
    }
    Ok(values)
}

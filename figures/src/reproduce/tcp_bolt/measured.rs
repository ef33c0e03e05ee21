//! What is played for the entries of the chapter.

use super::super::item::{Effort, EntryError, ItemError, Run, Value};
use super::numbers::{
    AFTERWARDS, ALONE, BESIDE, BLOCKED, FREE, IDLE, KILOBYTES, LOADED, MOST_SAVED, OVER_TWO,
    SLOWEST, TOGETHER, share,
};
use crate::tcp_bolt::{
    BoltOptions, HeadOfLineRow, Mix, ShareRow, SharesRun, Variant, figure_3_1, figure_3_2,
    figure_3_3, figure_3_4, figure_3_5, figure_3_6, mix, round_trips as measure_round_trips,
};

fn options(run: &Run<'_>) -> BoltOptions {
    BoltOptions {
        quick: run.effort == Effort::Quick,
        ..BoltOptions::default()
    }
}

/// What windows that grow by a packet in a round trip take to find their shares: never less.
fn long() -> BoltOptions {
    BoltOptions::default()
}

/// Figure 3.1.
pub(super) fn speedup(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let rows = figure_3_1(&options(run), run.progress).told()?;
    let own = rows
        .iter()
        .filter(|row| row.variant == Variant::TcpDcb)
        .collect::<Vec<_>>();
    let most = own.iter().map(|row| row.speedup).fold(0.0, f64::max);
    let mut values = vec![Value::of(MOST_SAVED, 100.0 * (1.0 - 1.0 / most))];
    for row in own {
        let kilobytes = row.bytes as f64 / 1e3;
        let said = KILOBYTES.iter().find(|(size, _)| *size == kilobytes);
        let name = said.map_or_else(|| format!("{kilobytes} KB"), |(_, name)| (*name).to_owned());
        values.push(Value::of(name, row.speedup).on("times as fast", kilobytes));
    }
    Ok(values)
}

fn shares(run: &SharesRun<ShareRow>) -> Vec<Value> {
    let of_row = |row: &ShareRow| {
        [
            Value::of(share(row.flows, ALONE), row.near),
            Value::of(share(row.flows, TOGETHER), row.far[0]),
        ]
    };
    run.rows.iter().flat_map(of_row).collect()
}

/// Figure 3.2.
pub(super) fn fair(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    Ok(shares(&figure_3_2(&long()).told()?))
}

/// Figure 3.3.
pub(super) fn per_port(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    Ok(shares(&figure_3_3(&options(run)).told()?))
}

/// Figure 3.5.
pub(super) fn nearly_fair(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    Ok(shares(&figure_3_5(&long()).told()?))
}

fn only(run: &SharesRun<HeadOfLineRow>) -> Result<&HeadOfLineRow, ItemError> {
    run.rows
        .first()
        .ok_or_else(|| ItemError::new("nothing was played"))
}

/// Figure 3.4.
pub(super) fn blocked(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let played = figure_3_4(&options(run)).told()?;
    let row = only(&played)?;
    Ok(vec![
        Value::of(BLOCKED, row.a_d),
        Value::of(FREE, row.a_d_alone),
        Value::of(AFTERWARDS, row.others_alone),
    ])
}

/// Figure 3.6.
pub(super) fn unblocked(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let played = figure_3_6(&long()).told()?;
    let row = only(&played)?;
    // Four flows share C's link; what D's flow has alone is all that its link carries.
    let fair = (row.a_c + 3.0 * row.others) / 4.0;
    Ok(vec![
        Value::of(OVER_TWO, row.a_c / fair),
        Value::of(BESIDE, row.a_d / (row.a_d_alone - row.a_c)),
    ])
}

/// Section 3.3.1.
pub(super) fn round_trips(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let rows = measure_round_trips(&options(run), run.progress).told()?;
    let own = rows.iter().find(|row| row.variant == Variant::TcpDcb);
    let row = own.ok_or_else(|| ItemError::new("TCP-DCB was not played"))?;
    Ok(vec![
        Value::of(IDLE, row.least_us),
        Value::of(LOADED, row.far_us),
    ])
}

/// The mix with these transports. Seeds are averaged size by size before ratios are taken: an
/// interval of ratios over two seeds would hold nearly every number of the paper.
fn mixed(
    run: &Run<'_>,
    variants: &[Variant],
    values: impl Fn(&Mix) -> Vec<Value>,
) -> Result<Vec<Value>, ItemError> {
    let options = BoltOptions {
        seeds: run.effort.pick(2, 5),
        ..options(run)
    };
    let played = mix(&options, variants, run.progress).told()?;
    let claims = played.claims().into_iter();
    let mut found: Vec<Value> = claims
        .map(|claim| Value::of(claim.what, claim.ours))
        .collect();
    found.extend(values(&played));
    Ok(found)
}

/// A point of a transport's curve.
fn point(variant: Variant, bytes: u64, y: f64) -> Value {
    let kilobytes = bytes as f64 / 1e3;
    Value::of(format!("{}, {kilobytes} KB", variant.name()), y).on(variant.name(), kilobytes)
}

fn incast_points(mix: &Mix) -> Vec<Value> {
    let rows = mix.incasts().into_iter();
    rows.map(|row| point(row.variant, row.bytes, row.p999))
        .collect()
}

/// Figure 3.7.
pub(super) fn background(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let variants = [
        Variant::Tcp,
        Variant::TcpDcb,
        Variant::Dctcp,
        Variant::DctcpDcb,
        Variant::TcpBolt,
        Variant::PFabric,
    ];
    mixed(run, &variants, |mix| {
        let rows = mix.background().into_iter();
        rows.map(|row| point(row.variant, row.bytes, row.p99))
            .collect()
    })
}

/// Figure 3.8.
pub(super) fn incast(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let variants = [
        Variant::Tcp,
        Variant::TcpNoSs,
        Variant::TcpDcb,
        Variant::Dctcp,
        Variant::DctcpNoSs,
        Variant::TcpBolt,
        Variant::PsTcpBolt,
        Variant::PFabric,
    ];
    mixed(run, &variants, |mix| {
        let rows = mix.incasts();
        let slowest = |variant: Variant| {
            let own = rows.iter().filter(move |row| row.variant == variant);
            own.map(|row| row.p999).fold(0.0, f64::max)
        };
        // Those that the paper's figure shows.
        let shown = [
            Variant::Dctcp,
            Variant::TcpBolt,
            Variant::PsTcpBolt,
            Variant::PFabric,
        ];
        let worst = shown
            .into_iter()
            .all(|other| slowest(other) <= slowest(Variant::Tcp));
        let mut values = incast_points(mix);
        values.push(Value::holds(SLOWEST, worst));
        values
    })
}

/// Figure 3.9.
pub(super) fn lossless(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let variants = [Variant::TcpBolt, Variant::PsTcpBolt, Variant::PsDctcpNoSs];
    mixed(run, &variants, incast_points)
}

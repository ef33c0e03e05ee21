//! Section 4.8.1, and 4.5 and 4.9: what tables take of a switch.

use schemes::failover::{FailoverOptions, FailoverScheme, TreeGrowth};

use super::super::item::{Effort, EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::ground::trees;
use crate::failover::{SchemeState, Shape, custom_hardware, scheme_state, variants};

const MBIT: f64 = 1e6;

/// One variant of Figures 4.11 to 4.15 on the switch that needs most.
fn variant(
    shape: Shape,
    oversubscription: u8,
    hosts: u32,
    t: u8,
    name: &str,
) -> Result<SchemeState, ItemError> {
    let topology = shape.topology_at(hosts, oversubscription).told()?;
    let all = variants(t);
    let options = all
        .iter()
        .find(|(own, _)| *own == name)
        .map(|(_, options)| options);
    let options: &FailoverOptions =
        options.ok_or_else(|| ItemError::new(format!("no variant `{name}`")))?;
    scheme_state(&shape.name_at(oversubscription), &topology, name, options).told()
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn bits(state: &SchemeState) -> f64 {
    state.bits_max as f64
}

const PLAIN: &str = "plinko hop by hop";
const SOURCE_8: &str = "plinko source routes, 8 paths";
const ALL: &str = "plinko source routes, 8 paths, compressed";
const FCP: &str = "fcp hop by hop";
const FCP_8: &str = "fcp source routes, 8 paths";
const MPLS: &str = "mpls-frr hop by hop";
const MPLS_8: &str = "mpls-frr source routes, 8 paths";

const SIX_PLAIN: &str = "2048 hosts, t = 6, without compression: Mbit";
const SIX_SAVED: &str = "2048 hosts, t = 6, all optimizations: percent saved";

/// Figure 4.8.
pub(super) fn six_rows() -> Vec<Row> {
    vec![
        Row::new("Mbit", SIX_PLAIN, Said::AtLeast(40.0))
            .lower()
            .full(),
        Row::new("percent", SIX_SAVED, Said::AtLeast(95.0)).full(),
    ]
}

/// Plinko for six failures.
pub(super) fn six(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    if run.effort == Effort::Quick {
        return Ok(Vec::new());
    }
    let plain = variant(Shape::Egft, 1, 2048, 6, PLAIN)?;
    let all = variant(Shape::Egft, 1, 2048, 6, ALL)?;
    Ok(vec![
        Value::of(SIX_PLAIN, bits(&plain) / MBIT),
        Value::of(SIX_SAVED, 100.0 * (1.0 - bits(&all) / bits(&plain))),
    ])
}

const BOTH: &str = "source routes and 8 routings: percent saved";
const EVERYTHING: &str = "with compression too: percent saved";

/// Figure 4.11.
pub(super) fn savings_rows() -> Vec<Row> {
    const REASON: &str = "the thesis does not say for how many hosts; the fewer, the fewer hosts share a switch's routes";
    vec![
        Row::new("percent", BOTH, Said::Between(84.0, 92.0))
            .within(Tolerance::Part(0.02))
            .higher()
            .because(REASON),
        Row::new("percent", EVERYTHING, Said::Number(99.0))
            .within(Tolerance::By(1.0))
            .higher()
            .because(REASON),
    ]
}

/// What every step saves.
pub(super) fn savings(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let (hosts, t) = run.effort.pick((512, 2), (1024, 4));
    let of = |name| variant(Shape::Jellyfish, 6, hosts, t, name);
    let plain = bits(&of(PLAIN)?);
    let saved = |state: &SchemeState| 100.0 * (1.0 - bits(state) / plain);
    Ok(vec![
        Value::of(BOTH, saved(&of(SOURCE_8)?)),
        Value::of(EVERYTHING, saved(&of(ALL)?)),
    ])
}

const LESS: &str = "t = 2, all optimizations: Plinko takes less than FCP and MPLS-FRR";
const SAVED: &str = "FCP, source routes and 8 routings: percent saved";

fn naive(hosts: u32) -> String {
    format!("{hosts} hosts, t = 4, FCP hop by hop: Mbit")
}

pub(super) fn scheme_rows(hosts: u32) -> Vec<Row> {
    vec![
        Row::new("Mbit", naive(hosts), Said::Number(10.0))
            .within(Tolerance::Factor(2.0))
            .lower()
            .full(),
        Row::new("percent", SAVED, Said::AtLeast(84.0))
            .within(Tolerance::Part(0.02))
            .because("fewer hosts share a switch's routes in a network of 512 hosts"),
        Row::holds(LESS),
    ]
}

pub(super) fn schemes(
    shape: Shape,
    oversubscription: u8,
    hosts: u32,
    run: &Run<'_>,
) -> Result<Vec<Value>, ItemError> {
    let of = |hosts, t, name| variant(shape, oversubscription, hosts, t, name);
    let quick = 512;
    let all = bits(&of(quick, 2, ALL)?);
    let fcp = bits(&of(quick, 2, FCP_8)?);
    let mpls = bits(&of(quick, 2, MPLS_8)?);
    let plain = bits(&of(quick, 2, FCP)?);
    let mut values = vec![
        Value::holds(
            LESS,
            all < fcp && all < mpls && plain < bits(&of(quick, 2, MPLS)?) * 2.0,
        ),
        Value::of(SAVED, 100.0 * (1.0 - fcp / plain)),
    ];
    if run.effort == Effort::Full {
        values.push(Value::of(naive(hosts), bits(&of(hosts, 4, FCP)?) / MBIT));
    }
    Ok(values)
}

const DEFAULT: &str = "512 hosts, t = 4: bits with a default tree over those without";
const OVER_FCP: &str = "2048 hosts, t = 4: bits over those of FCP, all optimizations";
const LARGE: &str = "8192 hosts, t = 4: Mbit";

pub(super) fn tree_rows(large: bool) -> Vec<Row> {
    let mut rows = vec![
        // "Minimal": not a number; a tenth is what we take it for.
        Row::new("times", DEFAULT, Said::AtMost(1.1)).because(
            "with a default tree packets carry the number of their tree, so that every rule is wider",
        ),
        Row::new("times", OVER_FCP, Said::AtLeast(2.0)).lower().full(),
    ];
    if large {
        rows.push(
            Row::new("Mbit", LARGE, Said::Number(40.0))
                .within(Tolerance::Factor(2.0))
                .lower()
                .full(),
        );
    }
    rows
}

pub(super) fn tree_state(
    shape: Shape,
    oversubscription: u8,
    large: bool,
    run: &Run<'_>,
) -> Result<Vec<Value>, ItemError> {
    let of = |hosts, name| variant(shape, oversubscription, hosts, 4, name);
    let with = bits(&of(512, "edst, default tree, 8 paths")?);
    let mut values = vec![Value::of(DEFAULT, with / bits(&of(512, "edst, 8 paths")?))];
    if run.effort == Effort::Full {
        let trees = bits(&of(2048, "edst, 8 paths")?);
        values.push(Value::of(OVER_FCP, trees / bits(&of(2048, FCP_8)?)));
        if large {
            values.push(Value::of(LARGE, bits(&of(8192, "edst, 8 paths")?) / MBIT));
        }
    }
    Ok(values)
}

fn custom_name(t: u8) -> String {
    format!("t = {t}: rules of a switch over (destinations times t + 1)")
}

/// Section 4.9: a rule for every destination and tree, |D| (t + 1) in all.
pub(super) fn custom_rows() -> Vec<Row> {
    [1, 2, 4]
        .map(|t| {
            Row::new("times", custom_name(t), Said::Number(1.0))
                .within(Tolerance::Part(0.1))
                .lower()
        })
        .to_vec()
}

/// What of the tables such hardware has to hold: distinct outputs by destination and tree.
pub(super) fn custom(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(512).told()?;
    let value = |t: u8| {
        let options = trees(FailoverScheme::Edst, t, false, TreeGrowth::Shallow);
        let custom = custom_hardware(&topology, &options).told()?;
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let part = custom.rules_max as f64 / (custom.destinations as f64 * f64::from(t + 1));
        Ok(Value::of(custom_name(t), part))
    };
    [1, 2, 4].into_iter().map(value).collect()
}

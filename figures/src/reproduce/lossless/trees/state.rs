//! Figures 5.8, 5.9, 5.18, 5.23 and 5.24: TCAM of the switch with most.

use plan::failover::Failover;
use schemes::failover::FailoverOptions;

use super::super::super::item::{Effort, EntryError, ItemError, Row, Run, Said, Tolerance, Value};
use super::{LINE, MAX, NO_RES, RAND, T, Variant, any_to_any, plan};
use crate::failover::Shape;

/// Rules of the switch with most, and of all together.
fn rules(failover: &Failover) -> (f64, f64) {
    let counts = || failover.counts().into_iter().map(|count| count.rules);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let (most, all) = (
        counts().max().unwrap_or(0) as f64,
        counts().sum::<u64>() as f64,
    );
    (most, all)
}

/// Mbit of the switch with most, 64 bits a rule (section 5.3).
fn mbit(failover: &Failover, bits_of_rule: u32) -> f64 {
    rules(failover).0 * f64::from(bits_of_rule) / 1e6
}

const FOUR_E: &str = "Line with 4 routings over 8: bits";
const FOUR_E_OF_ALL: &str = "Line with 4 routings over 8: bits of all switches";
const FULLEST: &str = "the switch with most is compared, as the thesis does: of few switches one stands out the more the fewer sets of trees its rules are \
                       of. Over all switches it is half (next row)";
const FOUR_T: &str = "Line: what 4 trees for 8 save over what 4 routings for 8 save";
const LINE_4096: &str = "Line, 4096 hosts: Mbit";
const LINE_8192: &str = "Line, 8192 hosts: Mbit";
const ANY_2048: &str = "any tree to any other, 2048 hosts: Mbit";
const ANY_4096: &str = "any tree to any other, 4096 hosts: Mbit";

/// Figures 5.8 and 5.9: 40 Mbit are needed from 4096 to 8192 hosts by Line, from 2048 to 4096 by
/// NoDFR; state is linear in routings, and half of the trees saves twice as much.
pub(in super::super) fn state_rows() -> Vec<Row> {
    vec![
        Row::new("part", FOUR_E, Said::Number(0.5))
            .within(Tolerance::Part(0.05))
            .because(FULLEST),
        Row::new("part", FOUR_E_OF_ALL, Said::Number(0.5)).within(Tolerance::Part(0.05)),
        Row::new("times", FOUR_T, Said::Number(2.0)).within(Tolerance::Part(0.5)),
        Row::new("Mbit", LINE_4096, Said::AtMost(40.0)).full(),
        Row::new("Mbit", LINE_8192, Said::AtLeast(40.0))
            .lower()
            .full(),
        Row::new("Mbit", ANY_2048, Said::AtMost(40.0)).full(),
        Row::new("Mbit", ANY_4096, Said::AtLeast(40.0))
            .lower()
            .full(),
    ]
}

pub(in super::super) fn state(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let small = shape.topology(512).told()?;
    let of = |variant: Variant| Ok::<_, ItemError>(rules(&plan(&small, &variant.options())?));
    let (most, all) = of(LINE)?;
    let (fewer_routings, all_fewer_routings) = of(Variant {
        channels: 4,
        ..LINE
    })?;
    let (fewer_trees, _) = of(Variant { subset: 4, ..LINE })?;
    let saved = (most / fewer_trees) / (most / fewer_routings);
    let mut values = vec![
        Value::of(FOUR_E, fewer_routings / most),
        Value::of(FOUR_E_OF_ALL, all_fewer_routings / all),
        Value::of(FOUR_T, saved),
    ];
    if run.effort == Effort::Full {
        for (hosts, name) in [(4096, LINE_4096), (8192, LINE_8192)] {
            let topology = shape.topology(hosts).told()?;
            values.push(Value::of(
                name,
                mbit(&plan(&topology, &LINE.options())?, 64),
            ));
        }
        for (hosts, name) in [(2048, ANY_2048), (4096, ANY_4096)] {
            let topology = shape.topology(hosts).told()?;
            let tables = plan(&topology, &any_to_any(8))?;
            // A bit for every tree beside the port status.
            values.push(Value::of(name, mbit(&tables, 64 + 8)));
        }
    }
    Ok(values)
}

const BETWEEN: &str = "T takes more than NoRes and less than any tree to any other";

/// Figure 5.18.
pub(in super::super) fn t_state_rows() -> Vec<Row> {
    vec![Row::holds(BETWEEN)]
}

/// Ours.
pub(in super::super) fn t_state(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(512).told()?;
    let of = |options: &FailoverOptions, bits| {
        Ok::<_, ItemError>(mbit(&plan(&topology, options)?, bits))
    };
    let (none, t, any) = (
        of(&NO_RES.options(), 64)?,
        of(&T.options(), 64)?,
        of(&any_to_any(8), 72)?,
    );
    Ok(vec![Value::holds(BETWEEN, none < t && t < any)])
}

const SAME_STATE: &str = "Rand 3-R over Max 3-R: bits";
const SAME_SIZE: &str = "Max 3-R, 12 trees and 4 routings over 8 and 8: bits";
const MIDDLE: &str = "Max takes more than NoRes and less than any tree to any other";

/// Figure 5.23: all of them nearly the same.
pub(in super::super) fn rand_state_rows() -> Vec<Row> {
    vec![
        Row::new("part", SAME_STATE, Said::Number(1.0)).within(Tolerance::Part(0.15)),
        Row::new("part", SAME_SIZE, Said::Number(1.0)).within(Tolerance::Part(0.25)),
        Row::holds(MIDDLE),
    ]
}

/// Ours.
pub(in super::super) fn rand_state(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(512).told()?;
    let of = |options: &FailoverOptions, bits| {
        Ok::<_, ItemError>(mbit(&plan(&topology, options)?, bits))
    };
    let max = of(&MAX.surviving(3).options(), 64)?;
    let rand = of(&RAND.surviving(3).options(), 64)?;
    let twelve = Variant {
        subset: 12,
        channels: 4,
        ..MAX.surviving(3)
    };
    let twelve = of(&twelve.options(), 64)?;
    let (none, any) = (of(&NO_RES.options(), 64)?, of(&any_to_any(8), 72)?);
    Ok(vec![
        Value::of(SAME_STATE, rand / max),
        Value::of(SAME_SIZE, twelve / max),
        Value::holds(MIDDLE, none < max && max < any),
    ])
}

const UNLABELED: &str = "2048 hosts, Max 3-R, no label: Mbit";
const LABEL: &str = "512 hosts, Max 3-R: without a label takes more";

/// Figure 5.24: more than 40 Mbit from 2048 hosts on.
pub(in super::super) fn unlabeled_rows() -> Vec<Row> {
    vec![
        Row::new("Mbit", UNLABELED, Said::AtLeast(40.0))
            .lower()
            .full(),
        Row::holds(LABEL),
    ]
}

/// Ours.
pub(in super::super) fn unlabeled(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let without = FailoverOptions {
        mark_trees: false,
        ..MAX.surviving(3).options()
    };
    let of = |hosts, options: &FailoverOptions| {
        let topology = Shape::Egft.topology(hosts).told()?;
        Ok::<_, ItemError>(mbit(&plan(&topology, options)?, 64))
    };
    let small = of(512, &without)?;
    let mut values = vec![Value::holds(
        LABEL,
        small > of(512, &MAX.surviving(3).options())?,
    )];
    if run.effort == Effort::Full {
        values.push(Value::of(UNLABELED, of(2048, &without)?));
    }
    Ok(values)
}

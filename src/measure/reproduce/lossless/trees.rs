//! Section 5.4.2: DF-EDST by tree transition graph.

use plan::failover::Failover;
use schemes::failover::{
    FailoverOptions, FailoverScheme, TransitionKind, TransitionOptions, failover,
};
use topology::Topology;

use super::super::item::{Effort, ItemError, Row, Run, Said, Told, Tolerance, Value};
use crate::measure::failover::{FailureFigure, Sets, Shape, plan_under_failures, reactive_on};

/// A plan of trees: the graph, trees to a destination, channels (and routings), and what must survive.
#[derive(Clone, Copy)]
struct Variant {
    kind: TransitionKind,
    subset: u8,
    channels: u8,
    resilience: u8,
    initial: Option<u8>,
    connected: bool,
}

impl Variant {
    const fn new(kind: TransitionKind) -> Self {
        Self {
            kind,
            subset: 8,
            channels: 8,
            resilience: 0,
            initial: None,
            connected: false,
        }
    }

    const fn surviving(self, resilience: u8) -> Self {
        Self { resilience, ..self }
    }

    fn options(self) -> FailoverOptions {
        FailoverOptions {
            resilience: self.resilience,
            multipath: Some(u16::from(self.channels)),
            mark_trees: true,
            transitions: TransitionOptions {
                channels: self.channels,
                initial: self.initial,
                subset: Some(self.subset),
                connected: self.connected,
                ..TransitionOptions::new(self.kind)
            },
            ..FailoverOptions::new(FailoverScheme::DfEdst)
        }
    }
}

/// Trees from any to any other, which the failed trees in the header end: Stephens15's NoDFR.
fn any_to_any(subset: u8) -> FailoverOptions {
    FailoverOptions {
        resilience: subset - 1,
        multipath: Some(8),
        mark_trees: true,
        ..FailoverOptions::new(FailoverScheme::Edst)
    }
}

fn plan(topology: &Topology, options: &FailoverOptions) -> Result<Failover, ItemError> {
    let tables = failover(topology, options).told()?;
    tables
        .failover
        .ok_or_else(|| ItemError::new("no failover tables"))
}

fn hosts(run: &Run<'_>) -> u32 {
    run.effort.pick(512, 1024)
}

fn sets(run: &Run<'_>, sizes: &[u32], count: u32) -> Sets {
    Sets {
        sizes: sizes.to_vec(),
        count: run.effort.pick(count, 5 * count),
        seed: 1,
    }
}

fn under(
    topology: &Topology,
    options: &FailoverOptions,
    sets: &Sets,
    run: &Run<'_>,
) -> Result<Vec<FailureFigure>, ItemError> {
    let tables = plan(topology, options)?;
    Ok(plan_under_failures(
        "trees",
        topology,
        &tables,
        sets,
        run.progress,
    ))
}

/// The uniform figure of so many failures.
fn at(figures: &[FailureFigure], failures: u32) -> Result<&FailureFigure, ItemError> {
    let mut figures = figures.iter();
    figures
        .find(|figure| figure.failures == failures && !figure.correlated)
        .ok_or_else(|| ItemError::new(format!("no sets of {failures} failed links")))
}

/// Mbit of the switch with most, 64 bits a rule (section 5.3).
fn mbit(failover: &Failover, bits_of_rule: u64) -> f64 {
    let rules = failover
        .counts()
        .iter()
        .map(|count| count.rules)
        .max()
        .unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let bits = (rules * bits_of_rule) as f64;
    bits / 1e6
}

const NO_RES: Variant = Variant::new(TransitionKind::NoRes);
const LINE: Variant = Variant::new(TransitionKind::Line);

const FOUR_E: &str = "Line with 4 routings over 8: bits";
const FOUR_T: &str = "Line: what 4 trees for 8 save over what 4 routings for 8 save";
const LINE_4096: &str = "Line, 4096 hosts: Mbit";
const LINE_8192: &str = "Line, 8192 hosts: Mbit";
const ANY_2048: &str = "any tree to any other, 2048 hosts: Mbit";
const ANY_4096: &str = "any tree to any other, 4096 hosts: Mbit";

/// Figures 5.8 and 5.9: 40 Mbit are needed from 4096 to 8192 hosts by Line, from 2048 to 4096 by NoDFR; state is linear in routings, and half of the
/// trees saves twice as much.
fn state_rows() -> Vec<Row> {
    vec![
        Row::new("part", FOUR_E, Said::Number(0.5)).within(Tolerance::Part(0.05)),
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

fn state(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let small = shape.topology(512).told()?;
    let of = |variant: Variant| Ok::<_, ItemError>(mbit(&plan(&small, &variant.options())?, 64));
    let all = of(LINE)?;
    let fewer_routings = of(Variant {
        channels: 4,
        ..LINE
    })?;
    let fewer_trees = of(Variant { subset: 4, ..LINE })?;
    let saved = (all / fewer_trees) / (all / fewer_routings);
    let mut values = vec![
        Value::of(FOUR_E, fewer_routings / all),
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

/// Figure 5.8.
pub(super) fn state_jellyfish_rows() -> Vec<Row> {
    state_rows()
}

/// Ours.
pub(super) fn state_jellyfish(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    state(Shape::Jellyfish, run)
}

/// Figure 5.9.
pub(super) fn state_egft_rows() -> Vec<Row> {
    state_rows()
}

/// Ours.
pub(super) fn state_egft(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    state(Shape::Egft, run)
}

const FEWER: &str = "16 failed links: NoRes loses more than Line";
const FEWEST: &str = "64 failed links: any tree to any other loses no more than Line";
const SUBSETS: &str = "64 failed links: Line with 4 trees loses more than with 8";

/// Figures 5.10 and 5.11 state no numbers that our copy shows; what the text says of them is to hold.
fn lost_rows() -> Vec<Row> {
    [FEWER, FEWEST, SUBSETS].map(Row::holds).to_vec()
}

fn curve(
    values: &mut Vec<Value>,
    series: &str,
    figures: &[FailureFigure],
    y: impl Fn(&FailureFigure) -> Option<f64>,
) {
    for figure in figures.iter().filter(|figure| !figure.correlated) {
        let x = f64::from(figure.failures);
        values
            .extend(y(figure).map(|y| Value::of(format!("{series}, {x} failed"), y).on(series, x)));
    }
}

fn lost(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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

/// Figure 5.10.
pub(super) fn lost_jellyfish_rows() -> Vec<Row> {
    lost_rows()
}

/// Ours.
pub(super) fn lost_jellyfish(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    lost(Shape::Jellyfish, run)
}

/// Figure 5.11.
pub(super) fn lost_egft_rows() -> Vec<Row> {
    lost_rows()
}

/// Ours.
pub(super) fn lost_egft(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    lost(Shape::Egft, run)
}

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

/// Figures 5.12 and 5.13: NoRes is "not far off", Line "almost half", and half of the routings "almost half".
fn carried_rows() -> Vec<Row> {
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

fn simple_carried(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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

/// Figure 5.12.
pub(super) fn carried_jellyfish_rows() -> Vec<Row> {
    carried_rows()
}

/// Ours.
pub(super) fn carried_jellyfish(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    simple_carried(Shape::Jellyfish, run)
}

/// Figure 5.13.
pub(super) fn carried_egft_rows() -> Vec<Row> {
    carried_rows()
}

/// Ours.
pub(super) fn carried_egft(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    simple_carried(Shape::Egft, run)
}

/// The T graph of the thesis's best: eight initial trees, of which at most five lead to a destination.
const T: Variant = Variant::new(TransitionKind::T).surviving(3);
const A_LAYER: Variant = Variant::new(TransitionKind::ALayer).surviving(3);

const T_BELOW: &str = "64 failed links: T loses no more than ALayer";
const T_NO_RES: &str = "64 failed links: T loses less than NoRes";

/// Figure 5.14.
pub(super) fn layers_rows() -> Vec<Row> {
    [T_BELOW, T_NO_RES].map(Row::holds).to_vec()
}

/// Ours.
pub(super) fn layers(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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
pub(super) fn t_lost_rows() -> Vec<Row> {
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
pub(super) fn t_lost(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    let topology = Shape::Egft.topology(1024).told()?;
    let (figures, lost) = lost_at_64(&topology, &T.options(), 1.5e-5, run)?;
    let mut values: Vec<Value> = lost.map(|lost| Value::of(T_64, lost)).into_iter().collect();
    curve(&mut values, "T", &figures, |figure| Some(figure.lost));
    Ok(values)
}

const T_CARRIED: &str = "T over shortest paths";
const CONNECTED: &str = "T with a line through layer 0, over T without";

/// Figures 5.16 and 5.17: "often within 10 %"; connecting layer 0 costs nothing.
fn t_carried_rows() -> Vec<Row> {
    vec![
        Row::new("part", T_CARRIED, Said::AtLeast(0.9)).within(Tolerance::Part(0.03)),
        Row::new("part", CONNECTED, Said::Number(1.0))
            .within(Tolerance::Part(0.03))
            .higher(),
    ]
}

fn t_carried(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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

/// Figure 5.16.
pub(super) fn t_carried_jellyfish_rows() -> Vec<Row> {
    t_carried_rows()
}

/// Ours.
pub(super) fn t_carried_jellyfish(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    t_carried(Shape::Jellyfish, run)
}

/// Figure 5.17.
pub(super) fn t_carried_egft_rows() -> Vec<Row> {
    t_carried_rows()
}

/// Ours.
pub(super) fn t_carried_egft(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    t_carried(Shape::Egft, run)
}

const BETWEEN: &str = "T takes more than NoRes and less than any tree to any other";

/// Figure 5.18.
pub(super) fn t_state_rows() -> Vec<Row> {
    vec![Row::holds(BETWEEN)]
}

/// Ours.
pub(super) fn t_state(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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

const RAND: Variant = Variant::new(TransitionKind::Rand);
const MAX: Variant = Variant::new(TransitionKind::Max);

fn reduced(shape: &str, r: u8) -> String {
    format!("{shape}, Rand {r}-R: percent below shortest paths")
}

const NO_DIFFERENCE: &str = "Max 3-R over Rand 3-R: throughput";
const TWELVE: &str = "Max 3-R, 12 trees and 4 routings over 8 and 8: throughput";

/// Figure 5.19: no numbers in the text; Rand and Max alike.
pub(super) fn rand_carried_jellyfish_rows() -> Vec<Row> {
    [NO_DIFFERENCE, TWELVE]
        .map(|name| {
            Row::new("part", name, Said::Number(1.0))
                .within(Tolerance::Part(0.05))
                .higher()
        })
        .to_vec()
}

fn alike(shape: Shape, run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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

/// Ours.
pub(super) fn rand_carried_jellyfish(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
    alike(Shape::Jellyfish, run)
}

/// Figure 5.20: 6.5 and 10.9 % with 1024 hosts (B1), 6.7 and 14.3 % with 2048 (B2).
pub(super) fn rand_carried_egft_rows() -> Vec<Row> {
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
pub(super) fn rand_carried_egft(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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

const ORDERS: &str = "64 failed links: NoRes over Max 3-R, times as many lost";

/// Figure 5.21: about three orders of magnitude.
pub(super) fn max_lost_jellyfish_rows() -> Vec<Row> {
    vec![Row::new("times", ORDERS, Said::AtLeast(1000.0)).within(Tolerance::Factor(5.0))]
}

/// Ours.
pub(super) fn max_lost_jellyfish(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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
pub(super) fn rand_lost_rows() -> Vec<Row> {
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
pub(super) fn rand_lost(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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

const SAME_STATE: &str = "Rand 3-R over Max 3-R: bits";
const SAME_SIZE: &str = "Max 3-R, 12 trees and 4 routings over 8 and 8: bits";
const MIDDLE: &str = "Max takes more than NoRes and less than any tree to any other";

/// Figure 5.23: all of them nearly the same.
pub(super) fn rand_state_rows() -> Vec<Row> {
    vec![
        Row::new("part", SAME_STATE, Said::Number(1.0)).within(Tolerance::Part(0.15)),
        Row::new("part", SAME_SIZE, Said::Number(1.0)).within(Tolerance::Part(0.25)),
        Row::holds(MIDDLE),
    ]
}

/// Ours.
pub(super) fn rand_state(_: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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
pub(super) fn unlabeled_rows() -> Vec<Row> {
    vec![
        Row::new("Mbit", UNLABELED, Said::AtLeast(40.0))
            .lower()
            .full(),
        Row::holds(LABEL),
    ]
}

/// Ours.
pub(super) fn unlabeled(run: &Run<'_>) -> Result<Vec<Value>, ItemError> {
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

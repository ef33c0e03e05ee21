//! Section 5.4.2: DF-EDST by tree transition graph: what it takes of a switch, what it loses, what
//! it carries.

pub(super) mod carried;
pub(super) mod lost;
pub(super) mod state;

use plan::failover::Failover;
use schemes::failover::{
    FailoverOptions, FailoverScheme, TransitionKind, TransitionOptions, failover,
};
use topology::Topology;

use super::super::item::{EntryError, ItemError, Run, Value};
use measure::failover::{FailureFigure, Sets, plan_under_failures};

/// A plan of trees: the graph, trees to a destination, channels (and routings), and what must
/// survive.
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

const NO_RES: Variant = Variant::new(TransitionKind::NoRes);
const LINE: Variant = Variant::new(TransitionKind::Line);

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

/// The T graph of the thesis's best: eight initial trees, of which at most five lead to a
/// destination.
const T: Variant = Variant::new(TransitionKind::T).surviving(3);
const A_LAYER: Variant = Variant::new(TransitionKind::ALayer).surviving(3);

const RAND: Variant = Variant::new(TransitionKind::Rand);
const MAX: Variant = Variant::new(TransitionKind::Max);

//! What an entry is: a table or figure of a paper, its numbers, and the work that finds ours.

use quantities::Progress;
use serde::{Deserialize, Serialize};

use super::estimate::Estimate;

/// A paper, by its key in `docs/references.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Paper {
    /// Tagger.
    Tagger17,
    /// Its earlier draft.
    TaggerDraft,
    /// The thesis on congestion and failures.
    Stephens15,
    /// Flattened Clos.
    FC23,
}

impl Paper {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Tagger17,
        Self::TaggerDraft,
        Self::Stephens15,
        Self::FC23,
    ];

    /// The key.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tagger17 => "Tagger17",
            Self::TaggerDraft => "TaggerDraft",
            Self::Stephens15 => "Stephens15",
            Self::FC23 => "FC23",
        }
    }
}

/// How much is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// Smaller sizes, few seeds: all entries in a quarter of an hour on two cores.
    Quick,
    /// The papers' sizes and more seeds: hours.
    Full,
}

impl Effort {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// One of two, by effort.
    #[must_use]
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// What a paper says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// This number.
    Number(f64),
    /// So much or more.
    AtLeast(f64),
    /// So much or less.
    AtMost(f64),
    /// Something from one number to another.
    Between(f64, f64),
    /// Something that our copy does not show.
    NotLegible,
}

/// Which way a number is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Neither: it is to be the same.
    Neither,
    /// Less.
    Lower,
    /// More.
    Higher,
}

/// How near a number must be to be the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// By so large a part of the paper's.
    Part(f64),
    /// By so much.
    By(f64),
    /// By this factor.
    Factor(f64),
}

impl Tolerance {
    /// In words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Part(0.0) => "exact".to_owned(),
            Self::By(0.0) => "exact".to_owned(),
            Self::Part(part) => format!("{} %", super::estimate::short(part * 100.0)),
            Self::By(by) => super::estimate::short(by),
            Self::Factor(factor) => format!("factor {}", super::estimate::short(factor)),
        }
    }
}

/// A number of a paper, to stand beside ours.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is; unique in its entry.
    pub name: String,
    /// The curve or column that it belongs to.
    pub series: String,
    /// Where it stands on the axis to the right, if it is drawn.
    pub x: Option<f64>,
    /// What the paper says.
    pub said: Said,
    /// Which way is better.
    pub better: Better,
    /// How near is the same.
    pub tolerance: Tolerance,
    /// From which effort on it is computed.
    pub effort: Effort,
    /// Why ours differs where it does, as far as is known.
    pub reason: &'static str,
    /// Why ours is not computed with any effort, if it is not.
    pub out_of_reach: Option<&'static str>,
}

impl Row {
    /// A number of a paper, to be met within 2 %.
    #[must_use]
    pub fn new(series: &str, name: impl Into<String>, said: Said) -> Self {
        Self {
            name: name.into(),
            series: series.to_owned(),
            x: None,
            said,
            better: Better::Neither,
            tolerance: Tolerance::Part(0.02),
            effort: Effort::Quick,
            reason: "",
            out_of_reach: None,
        }
    }

    /// A number to be met exactly.
    #[must_use]
    pub fn exact(series: &str, name: impl Into<String>, number: f64) -> Self {
        Self::new(series, name, Said::Number(number)).within(Tolerance::By(0.0))
    }

    /// A statement that is to hold: ours is 1 if it does.
    #[must_use]
    pub fn holds(name: impl Into<String>) -> Self {
        Self::exact("holds", name, 1.0)
    }

    /// Draws it.
    #[must_use]
    pub fn at(mut self, x: f64) -> Self {
        self.x = Some(x);
        self
    }

    /// Lower is better.
    #[must_use]
    pub fn lower(mut self) -> Self {
        self.better = Better::Lower;
        self
    }

    /// Higher is better.
    #[must_use]
    pub fn higher(mut self) -> Self {
        self.better = Better::Higher;
        self
    }

    /// How near is the same.
    #[must_use]
    pub fn within(mut self, tolerance: Tolerance) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Computed with full effort only.
    #[must_use]
    pub fn full(mut self) -> Self {
        self.effort = Effort::Full;
        self
    }

    /// Computed with full effort only, if so.
    #[must_use]
    pub fn full_if(self, full: bool) -> Self {
        if full { self.full() } else { self }
    }

    /// Why ours differs.
    #[must_use]
    pub fn because(mut self, reason: &'static str) -> Self {
        self.reason = reason;
        self
    }

    /// Computed with no effort, if there is a reason.
    #[must_use]
    pub fn out_of_reach(mut self, reason: Option<&'static str>) -> Self {
        self.out_of_reach = reason;
        self
    }
}

/// A number of ours.
#[derive(Clone, Debug)]
pub struct Value {
    /// The name of the row that it stands in; other numbers are drawn only.
    pub name: String,
    /// The curve that it belongs to.
    pub series: String,
    /// Where it stands on the axis to the right.
    pub x: Option<f64>,
    /// The number.
    pub estimate: Estimate,
}

impl Value {
    /// The number of a row.
    #[must_use]
    pub fn of(name: impl Into<String>, number: f64) -> Self {
        Self::estimated(name, Estimate::of(&[number]))
    }

    /// The mean of several runs, for a row.
    #[must_use]
    pub fn estimated(name: impl Into<String>, estimate: Estimate) -> Self {
        Self {
            name: name.into(),
            series: String::new(),
            x: None,
            estimate,
        }
    }

    /// Ours of a row where there is no such thing: no rule, no flow.
    #[must_use]
    pub fn none(name: impl Into<String>) -> Self {
        // What is no number is shown as "none", wherever it comes from.
        Self::of(name, f64::NAN)
    }

    /// Whether a statement holds.
    #[must_use]
    pub fn holds(name: impl Into<String>, holds: bool) -> Self {
        Self::of(name, f64::from(u8::from(holds)))
    }

    /// Draws it on a curve.
    #[must_use]
    pub fn on(mut self, series: &str, x: f64) -> Self {
        series.clone_into(&mut self.series);
        self.x = Some(x);
        self
    }
}

/// The values of several runs, one after the other, as means by name.
#[must_use]
pub(super) fn averaged(runs: &[Vec<Value>]) -> Vec<Value> {
    let first = runs.first().map(Vec::as_slice).unwrap_or_default();
    let mean = |value: &Value| {
        let own = runs
            .iter()
            .flatten()
            .filter(|other| other.name == value.name);
        let means: Vec<f64> = own.map(|other| other.estimate.mean).collect();
        Value {
            estimate: Estimate::of(&means),
            ..value.clone()
        }
    };
    first.iter().map(mean).collect()
}

/// What the work of an entry is given.
#[derive(Debug)]
pub struct Run<'a> {
    /// How much to compute.
    pub effort: Effort,
    /// Where to tell how much is done.
    pub progress: &'a std::sync::Arc<Progress>,
}

impl Run<'_> {
    /// The seeds to average over.
    #[must_use]
    pub fn seeds(&self) -> std::ops::RangeInclusive<u64> {
        1..=self.effort.pick(2, 5)
    }
}

/// Why an entry has no numbers of ours.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ItemError(String);

impl ItemError {
    /// What went wrong, with its causes.
    pub fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Turns an error of a measurement into one of an entry.
pub trait EntryError<T> {
    /// The value, or the error in words.
    ///
    /// # Errors
    /// The error.
    fn told(self) -> Result<T, ItemError>;
}

impl<T, E: std::fmt::Display> EntryError<T> for Result<T, E> {
    fn told(self) -> Result<T, ItemError> {
        self.map_err(ItemError::new)
    }
}

/// How ours are found: a value for the name of each row that the effort asks for, and others that
/// are drawn only.
pub type Work = fn(&Run<'_>) -> Result<Vec<Value>, ItemError>;

/// The axes of an entry's plot: what they measure, and whether they are logarithmic.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    /// To the right.
    pub x: (&'static str, bool),
    /// Upward.
    pub y: (&'static str, bool),
}

/// A table or figure of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// The paper.
    pub paper: Paper,
    /// Its name on the command line, such as `table-4.11`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The networks.
    pub topology: &'static str,
    /// Their sizes.
    pub sizes: &'static str,
    /// Seeds, and what is drawn by them.
    pub seeds: &'static str,
    /// Where in the paper it stands, such as `Table 4.11`.
    pub place: &'static str,
    /// The command that measures the same by itself.
    pub command: &'static str,
    /// The axes, if it is drawn.
    pub axes: Option<Axes>,
    /// The paper's numbers.
    pub rows: fn() -> Vec<Row>,
    /// How ours are found.
    pub work: Work,
}

impl Item {
    /// An entry: its name, what it shows, the paper and the place in it, its networks with their
    /// sizes and what is drawn in them, the command that measures the same by itself, the axes if
    /// it is drawn, and the paper's numbers with the work that finds ours.
    pub(super) const fn measured(
        name: &'static str,
        title: &'static str,
        (paper, place): (Paper, &'static str),
        (topology, sizes, seeds): (&'static str, &'static str, &'static str),
        command: &'static str,
        axes: Option<Axes>,
        (rows, work): (fn() -> Vec<Row>, Work),
    ) -> Self {
        Self {
            paper,
            name,
            title,
            topology,
            sizes,
            seeds,
            place,
            command,
            axes,
            rows,
            work,
        }
    }

    /// The source: key of the paper and place in it.
    #[must_use]
    pub fn source(&self) -> String {
        format!("{} {}", self.paper.key(), self.place)
    }
}

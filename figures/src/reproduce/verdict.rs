//! Ours beside a paper's: verdicts of rows and entries.

use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, rounded, short};
use super::item::{Better, Effort, Item, Row, Run, Said, Tolerance, Value};

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Our copy of the paper does not show the number.
    #[serde(rename = "not legible in our copy")]
    NotLegible,
    /// The same, as near as was asked for.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Not the same, but on the good side.
    #[serde(rename = "better")]
    Better,
    /// Not the same.
    #[serde(rename = "differs")]
    Differs,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotLegible => "not legible in our copy",
            Self::Reproduced => "reproduced",
            Self::Better => "better",
            Self::Differs => "differs",
        }
    }
}

/// A row with ours in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowReport {
    /// What it is.
    pub name: String,
    /// The curve or column.
    pub series: String,
    /// Where it is drawn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub x: Option<f64>,
    /// The paper's, in words.
    pub paper: String,
    /// The paper's as a number, where it says one.
    pub paper_number: Option<f64>,
    /// How near is the same.
    pub tolerance: String,
    /// Ours.
    pub ours: Option<Estimate>,
    /// The verdict; `null` if nothing was computed.
    pub verdict: Option<Verdict>,
    /// By how much they differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub difference: Option<String>,
    /// Why, or why nothing was computed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// A point of ours on a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The curve.
    pub series: String,
    /// To the right.
    pub x: f64,
    /// Upward.
    pub y: Estimate,
}

/// An entry with ours in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemReport {
    /// The paper's key.
    pub paper: String,
    /// The name.
    pub item: String,
    /// What it shows.
    pub title: String,
    /// Where in which paper it stands.
    pub source: String,
    /// The networks.
    pub topology: String,
    /// Their sizes.
    pub sizes: String,
    /// Seeds.
    pub seeds: String,
    /// What measures the same by itself.
    pub command: String,
    /// How much was computed.
    pub effort: Effort,
    /// By what it is known whether it has to be done again.
    pub digest: String,
    /// The verdict over all rows that were computed: the worst.
    pub verdict: Option<Verdict>,
    /// Rows by verdict.
    pub counts: Counts,
    /// Why nothing was computed, if so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The paper's numbers beside ours.
    pub rows: Vec<RowReport>,
    /// Our curves.
    pub points: Vec<Point>,
    /// How long it took.
    pub seconds: f64,
}

/// Rows by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The same.
    pub reproduced: usize,
    /// On the good side.
    pub better: usize,
    /// Not the same.
    pub differs: usize,
    /// Not shown by our copy.
    pub not_legible: usize,
    /// Not computed.
    pub open: usize,
}

impl Counts {
    /// Counts verdicts.
    pub fn of(verdicts: impl Iterator<Item = Option<Verdict>>) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *match verdict {
                Some(Verdict::Reproduced) => &mut counts.reproduced,
                Some(Verdict::Better) => &mut counts.better,
                Some(Verdict::Differs) => &mut counts.differs,
                Some(Verdict::NotLegible) => &mut counts.not_legible,
                None => &mut counts.open,
            } += 1;
        }
        counts
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            reproduced: self.reproduced + other.reproduced,
            better: self.better + other.better,
            differs: self.differs + other.differs,
            not_legible: self.not_legible + other.not_legible,
            open: self.open + other.open,
        }
    }

    /// Those that are not none, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let all = [
            (self.reproduced, "reproduced"),
            (self.better, "better"),
            (self.differs, "differ"),
            (self.not_legible, "not legible"),
            (self.open, "not computed"),
        ];
        let some = all.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = some
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        words.join(", ")
    }
}

impl Item {
    /// Computes ours.
    pub fn compute(&self, run: &Run<'_>) -> ItemReport {
        let (done, seconds) = super::super::machine::timed(|| (self.work)(run));
        match done {
            Ok(values) => self.report(run.effort, &values, None, seconds),
            Err(error) => self.report(run.effort, &[], Some(error.to_string()), seconds),
        }
    }

    fn report(
        &self,
        effort: Effort,
        values: &[Value],
        reason: Option<String>,
        seconds: f64,
    ) -> ItemReport {
        let rows = (self.rows)();
        let ours = |row: &Row| values.iter().find(|value| value.name == row.name);
        let left_out = |row: &Row| match (&reason, row.out_of_reach) {
            (Some(reason), _) => reason.clone(),
            (None, Some(reason)) => reason.to_owned(),
            (None, None) if row.effort > effort => "computed with --full only".to_owned(),
            (None, None) => "not computed".to_owned(),
        };
        let reports: Vec<RowReport> = rows
            .iter()
            .map(|row| judge(row, ours(row).map(|value| value.estimate), &left_out(row)))
            .collect();
        let drawn = values.iter().filter_map(|value| {
            let row = rows.iter().find(|row| row.name == value.name);
            let x = value.x.or_else(|| row.and_then(|row| row.x))?;
            if !value.estimate.mean.is_finite() {
                return None;
            }
            let own = &value.series;
            let series = if own.is_empty() { &row?.series } else { own };
            Some(Point {
                series: series.clone(),
                x: rounded(x),
                y: value.estimate,
            })
        });
        let verdicts = || reports.iter().map(|row| row.verdict);
        ItemReport {
            paper: self.paper.key().to_owned(),
            item: self.name.to_owned(),
            title: self.title.to_owned(),
            source: self.source(),
            topology: self.topology.to_owned(),
            sizes: self.sizes.to_owned(),
            seeds: self.seeds.to_owned(),
            command: self.command.to_owned(),
            effort,
            digest: self.digest(effort),
            verdict: verdicts().flatten().max(),
            counts: Counts::of(verdicts()),
            reason,
            points: drawn.collect(),
            rows: reports,
            seconds,
        }
    }

    /// What a report was made of: another version, effort or row is another digest.
    #[must_use]
    pub fn digest(&self, effort: Effort) -> String {
        let made = format!(
            "{} {} {} {:?} {:?}",
            env!("CARGO_PKG_VERSION"),
            self.source(),
            self.name,
            effort,
            (self.rows)()
        );
        p4gen::build::Digest::of(made.as_bytes()).to_string()
    }
}

impl RowReport {
    /// Ours in words.
    #[must_use]
    pub fn ours_words(&self) -> String {
        match (self.ours, self.verdict) {
            (Some(ours), _) => ours.words(),
            (None, None | Some(Verdict::NotLegible)) => "-".to_owned(),
            (None, Some(_)) => "none".to_owned(),
        }
    }
}

/// The verdict of a row. A number of ours that is none differs from any number, by nothing that can
/// be counted.
fn judge(row: &Row, ours: Option<Estimate>, left_out: &str) -> RowReport {
    let (verdict, difference) = match (row.said, ours) {
        (Said::NotLegible, _) => (Some(Verdict::NotLegible), None),
        (_, None) => (None, None),
        (_, Some(ours)) if !ours.mean.is_finite() => (Some(Verdict::Differs), None),
        (said, Some(ours)) => {
            let verdict = compare(row, said, &ours);
            (Some(verdict), difference(said, ours.mean, verdict))
        }
    };
    let reason = match verdict {
        None => Some(left_out.to_owned()),
        Some(Verdict::Differs) if row.reason.is_empty() => Some("not known".to_owned()),
        Some(Verdict::Differs) => Some(row.reason.to_owned()),
        Some(_) => None,
    };
    RowReport {
        name: row.name.clone(),
        series: row.series.clone(),
        x: row.x.map(rounded),
        paper: words(row.said),
        paper_number: match row.said {
            Said::Number(number) | Said::AtLeast(number) | Said::AtMost(number) => Some(number),
            Said::Between(..) | Said::NotLegible => None,
        },
        tolerance: row.tolerance.words(),
        ours: ours.filter(|ours| ours.mean.is_finite()),
        verdict,
        difference,
        reason,
    }
}

/// What a paper says, in words.
fn words(said: Said) -> String {
    match said {
        Said::Number(number) => short(number),
        Said::AtLeast(number) => format!("at least {}", short(number)),
        Said::AtMost(number) => format!("at most {}", short(number)),
        Said::Between(low, high) => format!("{} to {}", short(low), short(high)),
        Said::NotLegible => "?".to_owned(),
    }
}

/// What is as good as a number, downward and upward.
fn band(tolerance: Tolerance, low: f64, high: f64) -> (f64, f64) {
    match tolerance {
        Tolerance::Part(part) => (low - part * low.abs(), high + part * high.abs()),
        Tolerance::By(by) => (low - by, high + by),
        Tolerance::Factor(factor) => (low / factor, high * factor),
    }
}

fn compare(row: &Row, said: Said, ours: &Estimate) -> Verdict {
    let (low, high) = match said {
        Said::Number(number) => (number, number),
        Said::AtLeast(number) => (number, f64::INFINITY),
        Said::AtMost(number) => (f64::NEG_INFINITY, number),
        Said::Between(low, high) => (low, high),
        Said::NotLegible => return Verdict::NotLegible,
    };
    // What a last printed digit leaves open is no difference.
    const SLACK: f64 = 1e-9;
    let (least, most) = band(row.tolerance, low, high);
    let within = ours.mean >= least - SLACK && ours.mean <= most + SLACK;
    let by_chance = matches!((said, ours.interval), (Said::Number(paper), Some((from, to)))
        if from <= paper && paper <= to);
    let good = match row.better {
        Better::Neither => false,
        Better::Lower => ours.mean < low,
        Better::Higher => ours.mean > high,
    };
    match (within || by_chance, good) {
        (true, _) => Verdict::Reproduced,
        (false, true) => Verdict::Better,
        (false, false) => Verdict::Differs,
    }
}

/// By how much ours is off, in words.
fn difference(said: Said, ours: f64, verdict: Verdict) -> Option<String> {
    if verdict == Verdict::Reproduced {
        return None;
    }
    let nearest = match said {
        Said::Number(number) | Said::AtLeast(number) | Said::AtMost(number) => number,
        Said::Between(low, high) => ours.clamp(low, high),
        Said::NotLegible => return None,
    };
    if nearest == 0.0 || ours == 0.0 {
        return Some(format!("by {}", short(ours - nearest)));
    }
    let ratio = ours / nearest;
    Some(if (0.5..=2.0).contains(&ratio) {
        let percent = (ratio - 1.0) * 100.0;
        format!(
            "{}{} %",
            if percent < 0.0 { "" } else { "+" },
            short(rounded_to(percent))
        )
    } else {
        format!("{} times", short(ratio))
    })
}

/// A percentage to a tenth.
fn rounded_to(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(row: &Row, ours: f64) -> Verdict {
        judge(row, Some(Estimate::of(&[ours])), "").verdict.unwrap()
    }

    #[test]
    fn a_number_is_reproduced_better_or_differs() {
        let row = Row::new("", "a", Said::Number(10.0)).lower();
        assert_eq!(verdict(&row, 10.1), Verdict::Reproduced);
        assert_eq!(verdict(&row, 9.0), Verdict::Better);
        assert_eq!(verdict(&row, 11.0), Verdict::Differs);
        let row = Row::exact("", "a", 3.0);
        assert_eq!(verdict(&row, 3.0), Verdict::Reproduced);
        assert_eq!(verdict(&row, 2.0), Verdict::Differs);
        let row = Row::new("", "a", Said::Between(0.1, 0.2)).within(Tolerance::Factor(2.0));
        assert_eq!(verdict(&row, 0.05), Verdict::Reproduced);
        assert_eq!(verdict(&row, 0.5), Verdict::Differs);
        let row = Row::new("", "a", Said::AtMost(1e-6)).lower();
        assert_eq!(verdict(&row, 0.0), Verdict::Reproduced);
        assert_eq!(verdict(&row, 1e-5), Verdict::Differs);
        assert_eq!(
            verdict(&Row::new("", "a", Said::NotLegible), 1.0),
            Verdict::NotLegible
        );
    }

    #[test]
    fn an_interval_that_holds_the_papers_number_reproduces_it() {
        let row = Row::new("", "a", Said::Number(10.0));
        let report = judge(&row, Some(Estimate::of(&[9.0, 11.5])), "");
        assert_eq!(report.verdict, Some(Verdict::Reproduced));
    }

    #[test]
    fn what_was_not_computed_has_no_verdict_and_says_why() {
        let report = judge(&Row::exact("", "a", 1.0), None, "because");
        assert_eq!(
            (report.verdict, report.reason.as_deref()),
            (None, Some("because"))
        );
        let report = judge(&Row::exact("", "a", 1.0), Some(Estimate::of(&[4.0])), "");
        assert_eq!(report.difference.as_deref(), Some("4 times"));
        assert_eq!(report.reason.as_deref(), Some("not known"));
    }

    #[test]
    fn what_there_is_none_of_is_said_so_without_a_ratio() {
        for none in [f64::NAN, f64::INFINITY] {
            let report = judge(&Row::exact("", "a", 3.0), Some(Estimate::of(&[none])), "");
            assert_eq!(report.verdict, Some(Verdict::Differs));
            assert_eq!((report.ours, report.difference.as_deref()), (None, None));
            assert_eq!(report.ours_words(), "none");
            let text = serde_json::to_string(&report).unwrap();
            assert!(text.contains(r#""ours":null"#), "{text}");
        }
        let left_out = judge(&Row::exact("", "a", 3.0), None, "because");
        assert_eq!(left_out.ours_words(), "-");
    }
}

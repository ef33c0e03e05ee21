//! The counts on record, for each environment of its own, and how those counted now compare with
//! them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// So many parts in a thousand may a count rise.
const TOLERATED: i64 = 30;

/// Instructions of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// Of one run.
    pub instructions: u64,
    /// What one run does so often; at least 1.
    pub operations: u64,
    /// What an operation is.
    pub unit: String,
}

/// Kernels by name.
pub(super) type Counts = BTreeMap<String, Count>;

/// What decides beside our sources which instructions are run: counts of another environment say
/// nothing of this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Environment {
    /// The target triple.
    pub target: String,
    /// The compiler and its version.
    pub rustc: String,
    /// Flags given to it by the caller.
    pub flags: String,
    /// The C library and its version.
    pub libc: String,
    /// What the processor can do, as programs see it under valgrind.
    pub processor: String,
}

/// The file of counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Records(Vec<(Environment, Counts)>);

/// How a kernel compares.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// From so many instructions of so many operations, by so many thousandths of the instructions
    /// of an operation.
    By(Count, i64),
    /// It is not on record.
    New,
    /// It is on record and was not counted.
    Gone(Count),
}

/// See [`Records::compare`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    /// What is different from the environment on record that is nearest; empty if counts can be
    /// compared.
    differences: Vec<String>,
    /// By kernel, what was counted, and how it compares; `None` where nothing can be compared.
    rows: BTreeMap<String, (Option<Count>, Option<Change>)>,
}

impl Count {
    fn each(&self) -> f64 {
        self.instructions as f64 / self.operations as f64
    }

    /// Thousandths by which an operation takes more than in `old`, rounded away from zero so that
    /// what is above a limit stays there.
    fn change(&self, old: &Self) -> i64 {
        let now = i128::from(self.instructions) * i128::from(old.operations);
        let before = (i128::from(old.instructions) * i128::from(self.operations)).max(1);
        let (more, rest) = (
            (now - before) * 1000 / before,
            (now - before) * 1000 % before,
        );
        i64::try_from(more + rest.signum()).unwrap_or(i64::MAX)
    }

    fn of(value: &Value) -> Option<Self> {
        Some(Self {
            instructions: value["instructions"].as_u64().filter(|n| *n > 0)?,
            operations: value["operations"].as_u64().filter(|n| *n > 0)?,
            unit: value["unit"].as_str()?.to_owned(),
        })
    }
}

impl Environment {
    /// Its parts under their names in the file.
    fn parts(&self) -> [(&'static str, &str); 5] {
        [
            ("target", &self.target),
            ("rustc", &self.rustc),
            ("flags", &self.flags),
            ("libc", &self.libc),
            ("processor", &self.processor),
        ]
    }

    /// What differs from one on record.
    fn differences(&self, recorded: &Self) -> Vec<String> {
        let pairs = self.parts().into_iter().zip(recorded.parts());
        let differ = pairs.filter(|(here, there)| here != there);
        differ
            .map(|((name, here), (_, there))| format!("{name} `{here}`, on record `{there}`"))
            .collect()
    }

    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(Self {
            target: text("target")?,
            rustc: text("rustc")?,
            flags: text("flags")?,
            libc: text("libc")?,
            processor: text("processor")?,
        })
    }
}

impl Records {
    /// The file's; none where there is no file yet.
    ///
    /// # Errors
    /// It cannot be read, or says something else.
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        if !file.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|e| format!("{}: {e}", file.display()))?;
        Self::parse(&text).map_err(|why| {
            let file = file.display();
            format!("{file}: {why}; `cargo xtask counts --bless` writes it anew once it is removed")
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let records = value["records"].as_array().ok_or("no `records`")?;
        let record = |value: &Value| {
            let environment = Environment::of(value)?;
            let counts = value["counts"].as_object()?.iter();
            let counts = counts.map(|(name, count)| Some((name.clone(), Count::of(count)?)));
            Some((environment, counts.collect::<Option<Counts>>()?))
        };
        let records = records.iter().enumerate().map(|(number, value)| {
            record(value).ok_or_else(|| format!("record {number} lacks something"))
        });
        Ok(Self(records.collect::<Result<_, _>>()?))
    }

    fn text(&self) -> String {
        let count = |count: &Count| {
            json!({
                "instructions": count.instructions,
                "operations": count.operations,
                "unit": count.unit,
            })
        };
        let record = |(environment, counts): &(Environment, Counts)| {
            let counts = counts.iter().map(|(name, c)| (name.clone(), count(c)));
            let mut record: serde_json::Map<String, Value> = environment
                .parts()
                .into_iter()
                .map(|(name, part)| (name.to_owned(), part.into()))
                .collect();
            record.insert("counts".to_owned(), Value::Object(counts.collect()));
            Value::Object(record)
        };
        let records: Vec<Value> = self.0.iter().map(record).collect();
        format!("{:#}\n", json!({ "records": records }))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub(super) fn write(&self, file: &Path) -> Result<(), String> {
        std::fs::write(file, self.text()).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// Puts counts in the place of those of the same environment.
    pub(super) fn put(&mut self, environment: Environment, counts: Counts) {
        match self.0.iter_mut().find(|(known, _)| *known == environment) {
            Some((_, recorded)) => *recorded = counts,
            None => self.0.push((environment, counts)),
        }
    }

    /// Compares with the record of the same environment, if there is one.
    pub(super) fn compare(&self, environment: &Environment, counts: &Counts) -> Comparison {
        let nearest = self
            .0
            .iter()
            .map(|(known, recorded)| (environment.differences(known), recorded))
            .min_by_key(|(differences, _)| differences.len());
        let counted = |name: &String, count: &Count| (name.clone(), (Some(count.clone()), None));
        let mut rows: BTreeMap<_, _> = counts.iter().map(|(n, c)| counted(n, c)).collect();
        let none = || vec!["nothing is on record".to_owned()];
        let (differences, recorded) = match nearest {
            Some((differences, recorded)) => (differences, Some(recorded)),
            None => (none(), None),
        };
        if let Some(recorded) = recorded.filter(|_| differences.is_empty()) {
            for (name, (count, change)) in &mut rows {
                let old = recorded.get(name).zip(count.as_ref());
                *change = Some(old.map_or(Change::New, |(old, count)| {
                    Change::By(old.clone(), count.change(old))
                }));
            }
            for (name, old) in recorded
                .iter()
                .filter(|(name, _)| !counts.contains_key(*name))
            {
                rows.insert(name.clone(), (None, Some(Change::Gone(old.clone()))));
            }
        }
        Comparison { differences, rows }
    }
}

impl Comparison {
    /// What is not to be let pass: more instructions, kernels that only one side knows.
    pub(super) fn faults(&self) -> Vec<String> {
        let fault = |(name, (_, change)): (&String, &(Option<Count>, Option<Change>))| match change
            .as_ref()?
        {
            Change::By(_, by) if *by > TOLERATED => Some(format!(
                "kernel `{name}` takes {} instructions",
                percent(*by)
            )),
            Change::By(..) => None,
            Change::New => Some(format!("kernel `{name}` is not on record")),
            Change::Gone(_) => Some(format!("kernel `{name}` is on record and no more there")),
        };
        self.rows.iter().filter_map(fault).collect()
    }

    /// A table for people.
    pub(super) fn describe(&self) -> String {
        let mut text = format!(
            "{:<16} {:>12} {:>12} {:>8}\n",
            "instructions per", "on record", "now", "change"
        );
        for (name, (count, change)) in &self.rows {
            let each = |count: &Count| format!("{:.1}", count.each());
            let old = match change {
                Some(Change::By(old, _) | Change::Gone(old)) => Some(old),
                Some(Change::New) | None => None,
            };
            let unit = count.as_ref().or(old).map_or("", |c| c.unit.as_str());
            let said = match change {
                Some(Change::By(_, by)) if *by < -TOLERATED => {
                    format!(
                        "{} (better: `cargo xtask counts --bless` keeps it)",
                        percent(*by)
                    )
                }
                Some(Change::By(_, by)) if *by > TOLERATED => format!("{} (worse)", percent(*by)),
                Some(Change::By(_, by)) => percent(*by),
                Some(Change::New) => "new".to_owned(),
                Some(Change::Gone(_)) => "gone".to_owned(),
                None => "-".to_owned(),
            };
            let (old, now) = (old.map(each), count.as_ref().map(each));
            text.push_str(&format!(
                "{:<16} {:>12} {:>12} {said:>8}\n",
                format!("{name} {unit}"),
                old.as_deref().unwrap_or("-"),
                now.as_deref().unwrap_or("-"),
            ));
        }
        if !self.differences.is_empty() {
            let differences = self.differences.join("; ");
            text.push_str(&format!(
                "xtask: counts are not comparable with those on record: {differences}\n"
            ));
        }
        text
    }
}

/// Thousandths as a percentage with its sign.
fn percent(thousandths: i64) -> String {
    format!("{:+.1} %", thousandths as f64 / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(rustc: &str) -> Environment {
        Environment {
            target: "x86_64-unknown-linux-gnu".to_owned(),
            rustc: rustc.to_owned(),
            libc: "glibc 2.36".to_owned(),
            ..Environment::default()
        }
    }

    fn counts(all: &[(&str, u64, u64)]) -> Counts {
        let count = |(name, instructions, operations): &(&str, u64, u64)| {
            let count = Count {
                instructions: *instructions,
                operations: *operations,
                unit: "packet".to_owned(),
            };
            ((*name).to_owned(), count)
        };
        all.iter().map(count).collect()
    }

    fn records() -> Records {
        let mut records = Records::default();
        records.put(
            environment("1"),
            counts(&[("parse", 10_000, 100), ("key", 5000, 10)]),
        );
        records
    }

    #[test]
    fn up_to_three_percent_pass_and_more_is_a_fault() {
        let compare = |parse| {
            let counted = counts(&[("parse", parse, 100), ("key", 5000, 10)]);
            records().compare(&environment("1"), &counted)
        };
        for passes in [10_000, 10_300, 9700, 5000] {
            assert_eq!(compare(passes).faults(), Vec::<String>::new(), "{passes}");
        }
        let worse = compare(10_301);
        assert_eq!(worse.faults(), ["kernel `parse` takes +3.1 % instructions"]);
        assert!(worse.describe().contains("(worse)"), "{}", worse.describe());
        let better = compare(9000).describe();
        assert!(better.contains("-10.0 % (better"), "{better}");
        assert!(!compare(9800).describe().contains("better"));
    }

    #[test]
    fn what_counts_is_the_operation() {
        let counted = counts(&[("parse", 20_000, 200), ("key", 5000, 9)]);
        let comparison = records().compare(&environment("1"), &counted);
        assert_eq!(
            comparison.faults(),
            ["kernel `key` takes +11.2 % instructions"]
        );
    }

    #[test]
    fn other_compilers_are_not_compared_and_that_is_said() {
        let counted = counts(&[("parse", 99_000, 100)]);
        let comparison = records().compare(&environment("2"), &counted);
        assert!(comparison.faults().is_empty());
        let said = comparison.describe();
        assert!(said.contains("not comparable"), "{said}");
        assert!(said.contains("rustc `2`, on record `1`"), "{said}");
        assert!(!said.contains("target"), "{said}");
        let first = Records::default().compare(&environment("1"), &counted);
        assert!(first.faults().is_empty() && first.describe().contains("nothing is on record"));
    }

    #[test]
    fn kernels_of_one_side_only_are_faults() {
        let comparison = records().compare(
            &environment("1"),
            &counts(&[("parse", 10_000, 100), ("push", 1, 1)]),
        );
        assert_eq!(
            comparison.faults(),
            [
                "kernel `key` is on record and no more there",
                "kernel `push` is not on record"
            ]
        );
    }

    #[test]
    fn records_are_read_as_they_were_written_and_each_environment_keeps_its_own() {
        let mut records = records();
        records.put(environment("2"), counts(&[("parse", 7, 1)]));
        records.put(environment("2"), counts(&[("parse", 8, 1)]));
        assert_eq!(records.0.len(), 2);
        assert_eq!(Records::parse(&records.text()), Ok(records.clone()));
        assert!(Records::parse("{}").is_err());
        let zero = records
            .text()
            .replace("\"operations\": 1,", "\"operations\": 0,");
        assert!(Records::parse(&zero).is_err());
    }
}

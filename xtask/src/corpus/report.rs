//! What was found, as a table or as JSON.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::judge::Outcome;
use super::list::{Class, Known, Profile, Repository};

/// Counts of a repository, and its deviations.
#[derive(Default)]
pub(super) struct Counts {
    name: String,
    commit: String,
    /// In the order of `COLUMNS`.
    numbers: [usize; COLUMNS.len()],
    explained: BTreeSet<String>,
    deviations: Vec<String>,
}

/// What is counted: files, all of which are formatted; programs; those that are accepted; those
/// that are refused, in all and by fault; those that run, whose JSON is written, and whose P4Info
/// is compared with a published one.
const COLUMNS: [&str; 11] = [
    "files", "programs", "accepted", "refused", "author", "missing", "other", "ours", "run",
    "JSON", "P4Info",
];

#[derive(Default)]
pub(super) struct Report {
    pub(super) found: Vec<Counts>,
    pub(super) missing: Vec<String>,
    /// Checkouts of other commits than the list's.
    pub(super) moved: Vec<String>,
}

impl Counts {
    pub(super) fn new(name: &str, commit: &str, files: usize) -> Self {
        let mut made = Self {
            name: name.to_owned(),
            commit: commit.to_owned(),
            ..Self::default()
        };
        made.numbers[0] = files;
        made
    }

    pub(super) fn add(&mut self, file: &str, profile: &Profile, outcome: Outcome) {
        let refused = outcome.refused.is_some();
        let of = |class| outcome.class == Some(class);
        let counted = [
            false,
            true,
            !refused,
            refused,
            of(Class::Author),
            of(Class::Missing),
            of(Class::Other),
            of(Class::Ours),
            outcome.ran,
            outcome.written,
            outcome.published,
        ];
        for (number, one) in self.numbers.iter_mut().zip(counted) {
            *number += usize::from(one);
        }
        self.explained.extend(outcome.explained);
        let suffix = profile.suffix();
        let found = outcome.deviations.into_iter();
        self.deviations
            .extend(found.map(|what| format!("{file}{suffix}: {what}")));
    }

    /// Files that are formatted wrongly.
    pub(super) fn unformatted(&mut self, repository: &Repository, wrong: Vec<(String, String)>) {
        for (file, what) in wrong {
            match repository
                .known
                .iter()
                .position(|known| known.explains(&file, &what))
            {
                Some(i) => {
                    self.explained.insert(format!("known {i}"));
                }
                None => self.deviations.push(format!("{file}: {what}")),
            }
        }
    }

    /// What the list explains and nothing needs: the list is wrong too.
    pub(super) fn unused(&mut self, repository: &Repository) {
        let refused = repository.refused.iter().map(|refusal| &refusal.known);
        let lists: [(&str, Vec<&Known>); 3] = [
            ("refused", refused.collect()),
            ("unrun", repository.unrun.iter().collect()),
            ("known", repository.known.iter().collect()),
        ];
        for (kind, list) in lists {
            for (i, known) in list.into_iter().enumerate() {
                if !self.explained.contains(&format!("{kind} {i}")) {
                    self.deviations.push(format!(
                        "the list: `{kind}` \"{}\" ({}) holds for no program",
                        known.says, known.why
                    ));
                }
            }
        }
    }
}

impl Report {
    pub(super) fn deviations(&self) -> usize {
        self.found
            .iter()
            .map(|counts| counts.deviations.len())
            .sum()
    }

    fn all(&self) -> [usize; COLUMNS.len()] {
        let mut sum = [0; COLUMNS.len()];
        for counts in &self.found {
            for (sum, n) in sum.iter_mut().zip(counts.numbers) {
                *sum += n;
            }
        }
        sum
    }

    pub(super) fn print(&self, json: bool) {
        if json {
            return self.print_json();
        }
        println!("| repository | {} |", COLUMNS.join(" | "));
        println!("|---|{}", "---|".repeat(COLUMNS.len()));
        let row = |name: &str, numbers: [usize; COLUMNS.len()]| {
            let cells: Vec<String> = numbers.iter().map(usize::to_string).collect();
            println!("| {name} | {} |", cells.join(" | "));
        };
        for counts in &self.found {
            row(&counts.name, counts.numbers);
        }
        row("all", self.all());
        for name in &self.missing {
            println!("skipped: there is no checkout of {name}");
        }
        for one in &self.moved {
            println!("another commit: {one}");
        }
        for counts in &self.found {
            for deviation in &counts.deviations {
                println!("deviates: {}: {deviation}", counts.name);
            }
        }
    }

    fn print_json(&self) {
        let named = |numbers: [usize; COLUMNS.len()]| {
            let fields = COLUMNS.iter().zip(numbers);
            let fields = fields.map(|(name, n)| ((*name).to_owned(), json!(n)));
            Value::Object(fields.collect())
        };
        let found: Vec<_> = self
            .found
            .iter()
            .map(|c| {
                json!({
                    "name": c.name, "commit": c.commit, "counts": named(c.numbers),
                    "deviations": c.deviations,
                })
            })
            .collect();
        println!(
            "{:#}",
            json!({ "repositories": found, "all": named(self.all()), "missing": self.missing, "moved": self.moved })
        );
    }
}

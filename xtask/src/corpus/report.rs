//! What was found, as a table or as JSON.

use std::collections::BTreeSet;

use serde_json::json;

use super::judge::Outcome;
use super::list::{Profile, Repository};

/// Counts of a repository, and its deviations.
#[derive(Default)]
pub(super) struct Counts {
    name: String,
    /// P4 files, all of which are formatted.
    pub(super) files: usize,
    programs: usize,
    accepted: usize,
    run: usize,
    written: usize,
    published: usize,
    explained: BTreeSet<String>,
    deviations: Vec<String>,
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) found: Vec<Counts>,
    pub(super) missing: Vec<String>,
}

impl Counts {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, file: &str, profile: &Profile, outcome: Outcome) {
        self.programs += 1;
        self.accepted += usize::from(outcome.refused.is_none());
        self.run += usize::from(outcome.ran);
        self.written += usize::from(outcome.written);
        self.published += usize::from(outcome.published);
        self.explained.extend(outcome.explained);
        let suffix = profile.suffix();
        let found = outcome.deviations.into_iter();
        self.deviations
            .extend(found.map(|what| format!("{file}{suffix}: {what}")));
    }

    /// Files that are formatted wrongly.
    pub(super) fn unformatted(&mut self, wrong: Vec<(String, String)>) {
        let wrong = wrong.into_iter();
        self.deviations
            .extend(wrong.map(|(file, what)| format!("{file}: {what}")));
    }

    /// What the list explains and nothing needs: the list is wrong too.
    pub(super) fn unused(&mut self, repository: &Repository) {
        let lists = [
            ("refused", &repository.refused),
            ("unrun", &repository.unrun),
            ("known", &repository.known),
        ];
        for (kind, list) in lists {
            for (i, known) in list.iter().enumerate() {
                if !self.explained.contains(&format!("{kind} {i}")) {
                    self.deviations.push(format!(
                        "the list: `{kind}` \"{}\" ({}) holds for no program",
                        known.says, known.why
                    ));
                }
            }
        }
    }

    fn numbers(&self) -> [usize; 7] {
        let refused = self.programs - self.accepted;
        [
            self.files,
            self.programs,
            self.accepted,
            refused,
            self.run,
            self.written,
            self.published,
        ]
    }
}

impl Report {
    pub(super) fn deviations(&self) -> usize {
        self.found
            .iter()
            .map(|counts| counts.deviations.len())
            .sum()
    }

    fn all(&self) -> [usize; 7] {
        let mut sum = [0; 7];
        for counts in &self.found {
            for (sum, n) in sum.iter_mut().zip(counts.numbers()) {
                *sum += n;
            }
        }
        sum
    }

    pub(super) fn print(&self, json: bool) {
        if json {
            return self.print_json();
        }
        println!("| repository | files | programs | accepted | refused | run | JSON | P4Info |");
        println!("|---|---|---|---|---|---|---|---|");
        let row = |name: &str, numbers: [usize; 7]| {
            let cells: Vec<String> = numbers.iter().map(usize::to_string).collect();
            println!("| {name} | {} |", cells.join(" | "));
        };
        for counts in &self.found {
            row(&counts.name, counts.numbers());
        }
        row("all", self.all());
        for name in &self.missing {
            println!("skipped: there is no checkout of {name}");
        }
        for counts in &self.found {
            for deviation in &counts.deviations {
                println!("deviates: {}: {deviation}", counts.name);
            }
        }
    }

    fn print_json(&self) {
        let named = |[files, programs, accepted, refused, run, written, published]: [usize; 7]| {
            json!({
                "files": files, "programs": programs, "accepted": accepted, "refused": refused,
                "run": run, "json": written, "p4info": published,
            })
        };
        let found: Vec<_> = self
            .found
            .iter()
            .map(|c| json!({ "name": c.name, "counts": named(c.numbers()), "deviations": c.deviations }))
            .collect();
        println!(
            "{:#}",
            json!({ "repositories": found, "all": named(self.all()), "missing": self.missing })
        );
    }
}

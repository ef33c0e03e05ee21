//! What a judge found.

use std::path::Path;

use serde::Serialize;

/// A case, and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub about: String,
    /// Whether the work does that.
    pub passed: bool,
    /// Points that it is worth.
    pub points: u32,
    /// What went otherwise: the packet, what was expected, and where it went.
    pub why: Vec<String>,
}

impl CaseResult {
    pub(crate) fn new(name: impl Into<String>, about: impl Into<String>, why: Vec<String>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            passed: why.is_empty(),
            points: 1,
            why,
        }
    }
}

/// A grade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grade {
    /// Title of the lab.
    pub lab: String,
    /// What was judged.
    pub file: String,
    /// Cases that passed.
    pub passed: usize,
    /// Cases that did not.
    pub failed: usize,
    /// Points of those that passed.
    pub points: u32,
    /// Points that there are.
    pub of: u32,
    /// Every case.
    pub cases: Vec<CaseResult>,
}

impl Grade {
    pub(crate) fn new(lab: String, file: &Path, cases: Vec<CaseResult>) -> Self {
        let passed = cases.iter().filter(|c| c.passed).count();
        let points = |all: bool| {
            cases
                .iter()
                .filter(|c| all || c.passed)
                .map(|c| c.points)
                .sum()
        };
        Self {
            lab,
            file: file.display().to_string(),
            passed,
            failed: cases.len() - passed,
            points: points(false),
            of: points(true),
            cases,
        }
    }
}

//! What a judge found.

use std::path::Path;

use serde::Serialize;

use crate::builtin::Difference;
use crate::lab::Cases;

/// A case, and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub about: String,
    /// Whether the work does that.
    pub passed: bool,
    /// Points that it is worth; none where the skeleton passes it.
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
    /// Where the cases come from.
    pub cases_from: Cases,
    /// SHA-256 of everything that the judge reads of the lab, in hexadecimal.
    pub lab_sha256: String,
    /// SHA-256 of what was judged, in hexadecimal.
    pub file_sha256: String,
    /// Where the student's copy differs from what the judge reads.
    pub differences: Vec<Difference>,
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
            cases_from: Cases::default(),
            lab_sha256: String::new(),
            file_sha256: String::new(),
            differences: Vec::new(),
        }
    }
}

//! Labs, and how what students hand in is judged.
//!
//! A lab is a folder: `lab.yaml` says what is handed in and how it is judged ([`Judge`]); the rest
//! of the folder is for people (README, hints, solution) and for the judge (cases). Nothing that is
//! judged needs rights. All but controllers are judged in this process; for those switches and a
//! Python run, on loopback, and end with the judge.
//!
//! The labs of the course are part of this library: they are judged by its own cases, whatever a
//! student's copy holds.
//!
//! What judges say is about one packet wherever it can be: which one went wrong, what was expected,
//! and where it went instead.

mod bench;
mod builtin;
mod controller;
mod grade;
mod lab;
mod plans;
mod program;
mod scenario;
mod tests;
pub mod tutorials;

pub use bench::Tools;
pub use builtin::{Difference, Differs};
pub use grade::{CaseResult, Grade};
pub use lab::{Cases, Judge, Lab, LabError};

use std::path::Path;

impl Lab {
    /// Judges what a student handed in. `tools` are for labs whose work is a controller.
    ///
    /// # Errors
    /// [`LabError`] if the file cannot be read, or the lab itself is broken. What is wrong with the
    /// student's work is in the grade.
    pub fn grade(&self, file: &Path, tools: &Tools) -> Result<Grade, LabError> {
        let mut cases = match &self.judge {
            Judge::Program { substitute } => program::judge(self, file, substitute)?,
            Judge::Plan {
                most_priorities,
                most_rules,
            } => plans::judge(self, file, *most_priorities, *most_rules)?,
            Judge::Scenario => scenario::judge(self, file)?,
            Judge::Controller => controller::judge(self, file, tools)?,
            Judge::Test => tests::judge(self, file)?,
        };
        for case in &mut cases {
            if self.skeleton_passes.contains(&case.name) {
                case.points = 0;
            }
        }
        let work = lab::read(file)?;
        Ok(Grade {
            cases_from: self.cases,
            lab_sha256: self.digest.clone(),
            file_sha256: builtin::digest_of_text(work.as_bytes()),
            differences: self.differences.clone(),
            ..Grade::new(self.title.clone(), file, cases)
        })
    }
}

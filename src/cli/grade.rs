//! `switchwright grade`: what students hand in, judged.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use course::{CaseResult, Cases, Difference, Differs, Grade, Lab, LabError, Tools, tutorials};

use super::fault::{Fault, Status, chain};
use super::own;
use super::terminal::Terminal;

/// Arguments of `switchwright grade`.
#[derive(Debug, Args)]
pub(super) struct GradeCommand {
    /// The lab's folder, for example labs/02-longest-prefix; with `--suite`, the checkout. A lab of
    /// the course is judged by the cases of this program, whatever the folder holds; its name is
    /// enough where FILE is given.
    lab: PathBuf,
    /// What is judged [default: the file that the lab has students change].
    #[arg(conflicts_with = "suite")]
    file: Option<PathBuf>,
    /// Grade all exercises of a course that others published.
    #[arg(long, value_enum)]
    suite: Option<Suite>,
    /// Grade the solutions that the course brings.
    #[arg(long, conflicts_with = "file")]
    solutions: bool,
    /// Grade a lab by the cases in its folder instead of the built-in ones, to write cases.
    #[arg(long, conflicts_with = "suite")]
    own_cases: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Suite {
    /// The exercises of p4lang/tutorials.
    Tutorials,
}

impl GradeCommand {
    pub(super) fn run(&self, terminal: &Terminal) -> Result<(), Fault> {
        if let Some(Suite::Tutorials) = self.suite {
            return self.suite(terminal);
        }
        let cases = match self.own_cases {
            true => Cases::Folder,
            false => Cases::Program,
        };
        let lab = Lab::open(&self.lab, cases).map_err(refuse)?;
        for difference in &lab.differences {
            terminal.note(described_difference(difference));
        }
        let file = match (&self.file, self.solutions) {
            (Some(file), _) => file.clone(),
            (None, true) => lab.solution(),
            (None, false) => lab.start(),
        };
        let bar = terminal.progress(&lab.title);
        let grade = lab.grade(&file, &tools()?);
        bar.finish_and_clear();
        let grade = grade.map_err(refuse)?;
        terminal.result(&grade, || describe(&grade))?;
        verdict(grade.failed)
    }

    /// Judges all exercises of p4lang/tutorials. What fails says more than what could not be
    /// judged.
    fn suite(&self, terminal: &Terminal) -> Result<(), Fault> {
        let bar = terminal.progress("p4lang/tutorials");
        let suite = tutorials::grade(&self.lab, self.solutions, &tools()?);
        bar.finish_and_clear();
        let suite = suite.map_err(refuse)?;
        terminal.result(&suite, || {
            let total = format!("{} of {} exercises pass\n", suite.passed, suite.cases.len());
            described(&suite.cases) + &left_out(&suite) + &total
        })?;
        verdict(suite.failed)?;
        match suite.not_judged.is_empty() {
            true => Ok(()),
            false => Err(Fault::shown(Status::Target)),
        }
    }
}

/// Exercises that could not be judged, and why.
fn left_out(suite: &tutorials::Suite) -> String {
    let lines = suite.not_judged.iter();
    lines.fold(String::new(), |text, left| {
        text + &format!("not judged  {}: {}\n", left.name, left.why)
    })
}

/// The programs that judges start: this one, and the Python that clients of P4Runtime are installed
/// for.
fn tools() -> Result<Tools, Fault> {
    let python = std::env::var_os("P4RUNTIME_CLIENTS").unwrap_or_else(|| "python3".into());
    Ok(Tools {
        switchwright: own::file()?,
        python: Path::new(&python).to_owned(),
    })
}

fn refuse(error: LabError) -> Fault {
    match error {
        LabError::Missing { .. } => Fault::with(Status::Target, chain(&error)),
        _ => Fault::input(chain(&error)),
    }
}

fn verdict(failed: usize) -> Result<(), Fault> {
    match failed {
        0 => Ok(()),
        _ => Err(Fault::shown(Status::Failed)),
    }
}

fn described_difference(difference: &Difference) -> String {
    let how = match difference.how {
        Differs::Missing => "is missing in this copy of the lab; the program's own is used",
        Differs::Changed => "was changed in this copy of the lab; the program's own is used",
        Differs::Added => "is no file of this lab; it is not used",
    };
    format!("note: {} {how}", difference.file)
}

fn described(cases: &[CaseResult]) -> String {
    let mut text = String::new();
    for case in cases {
        let mark = if case.passed { "passed" } else { "FAILED" };
        text += &format!("{mark}  {}: {}\n", case.name, case.about);
        for line in case.why.iter().flat_map(|why| why.lines()) {
            text += &format!("        {line}\n");
        }
    }
    text
}

fn describe(grade: &Grade) -> String {
    let total = format!("{} of {} points: {}\n", grade.points, grade.of, grade.lab);
    described(&grade.cases) + &total
}

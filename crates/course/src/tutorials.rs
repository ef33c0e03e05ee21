//! The exercises of p4lang/tutorials, judged by cases of our own.

mod p4runtime;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::bench::Tools;
use crate::grade::{CaseResult, Grade};
use crate::lab::LabError;
use crate::program::{case, compile, play};

/// An exercise.
struct Exercise {
    name: &'static str,
    /// Our case.
    case: &'static str,
    /// A text of the program that is another while it is judged, so that what it asks for can be
    /// seen with few packets.
    substitute: Option<(&'static str, &'static str)>,
}

macro_rules! exercise {
    ($name:literal) => {
        exercise!($name, None)
    };
    ($name:literal, $substitute:expr) => {
        Exercise {
            name: $name,
            case: include_str!(concat!("../labs/tutorials/", $name, ".stf")),
            substitute: $substitute,
        }
    };
}

/// Those whose solution is a P4 program. That of `p4runtime` is a controller.
const EXERCISES: [Exercise; 12] = [
    exercise!("basic"),
    exercise!("basic_tunnel"),
    exercise!("calc"),
    // Marks begin with an empty queue, for a queue of ten packets takes a network under load.
    exercise!("ecn", Some(("ECN_THRESHOLD = 10", "ECN_THRESHOLD = 0"))),
    exercise!("firewall"),
    exercise!("flowcache"),
    exercise!("link_monitor"),
    exercise!("load_balance"),
    exercise!("mri"),
    exercise!("multicast"),
    exercise!("qos"),
    exercise!("source_routing"),
];

/// What all exercises came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suite {
    /// Exercises that pass.
    pub passed: usize,
    /// Exercises that do not.
    pub failed: usize,
    /// Every exercise that was judged, as a case.
    pub cases: Vec<CaseResult>,
    /// Exercises that cannot be judged here.
    pub not_judged: Vec<NotJudged>,
}

/// An exercise that was not judged, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotJudged {
    /// Its name.
    pub name: String,
    /// What is missing, and how it can be had.
    pub why: String,
}

/// Judges the exercises of a checkout: what students write, or the solutions. `tools` are for the
/// one whose solution is a controller; where something is missing that it takes, the others are
/// judged all the same.
///
/// # Errors
/// [`LabError`] if a program is not where the exercises have it.
pub fn grade(checkout: &Path, solutions: bool, tools: &Tools) -> Result<Suite, LabError> {
    let cases = EXERCISES
        .iter()
        .map(|exercise| one(exercise, checkout, solutions));
    let mut cases = cases.collect::<Result<Vec<_>, _>>()?;
    let mut not_judged = Vec::new();
    match p4runtime::judge(checkout, solutions, tools) {
        Ok(case) => cases.push(case),
        Err(LabError::Missing { why }) => not_judged.push(NotJudged {
            name: p4runtime::NAME.to_owned(),
            why,
        }),
        Err(error) => return Err(error),
    }
    let grade = Grade::new(String::new(), checkout, cases);
    Ok(Suite {
        passed: grade.passed,
        failed: grade.failed,
        cases: grade.cases,
        not_judged,
    })
}

fn one(exercise: &Exercise, checkout: &Path, solutions: bool) -> Result<CaseResult, LabError> {
    let mut folder = checkout.join("exercises").join(exercise.name);
    if solutions {
        folder.push("solution");
    }
    let file = folder.join(exercise.name).with_extension("p4");
    let (about, case) = case(Path::new(exercise.name), exercise.case)?;
    let substitute = exercise
        .substitute
        .map(|(old, new)| (old.to_owned(), new.to_owned()));
    let program = compile(&file, Vec::new(), &BTreeMap::from_iter(substitute))?;
    let why = match program {
        Ok(program) => play(&program, &case),
        Err(found) => vec![format!(
            "the program does not compile:\n{}",
            found.trim_end()
        )],
    };
    Ok(CaseResult::new(exercise.name, about, why))
}

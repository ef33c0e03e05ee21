//! The exercises of p4lang/tutorials, judged by cases of our own.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::grade::{CaseResult, Grade};
use crate::lab::LabError;
use crate::program::{case, compile, play};

/// An exercise.
struct Exercise {
    name: &'static str,
    /// Our case.
    case: &'static str,
    /// A text of the program that is another while it is judged, so that what it asks for can be seen with few packets.
    substitute: Option<(&'static str, &'static str)>,
}

macro_rules! exercise {
    ($name:literal) => {
        exercise!($name, None)
    };
    ($name:literal, $substitute:expr) => {
        Exercise {
            name: $name,
            case: include_str!(concat!("../../../labs/tutorials/", $name, ".stf")),
            substitute: $substitute,
        }
    };
}

/// Those whose solution is a P4 program. `p4runtime` is not among them: its program is given, and its solution is a controller.
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
    /// Every exercise as a case.
    pub cases: Vec<CaseResult>,
}

/// Judges the exercises of a checkout: what students write, or the solutions.
///
/// # Errors
/// [`LabError`] if a program is not where the exercises have it.
pub fn grade(checkout: &Path, solutions: bool) -> Result<Suite, LabError> {
    let cases = EXERCISES
        .iter()
        .map(|exercise| one(exercise, checkout, solutions));
    let cases = cases.collect::<Result<Vec<_>, _>>()?;
    let grade = Grade::new(String::new(), checkout, cases);
    Ok(Suite {
        passed: grade.passed,
        failed: grade.failed,
        cases: grade.cases,
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
    let program = compile(&file, &[], &BTreeMap::from_iter(substitute))?;
    let why = match program {
        Ok(program) => play(&program, &case),
        Err(found) => vec![format!(
            "the program does not compile:\n{}",
            found.trim_end()
        )],
    };
    Ok(CaseResult::new(exercise.name, about, why))
}

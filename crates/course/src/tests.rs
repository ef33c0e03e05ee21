//! Tests that students write: they must tell the right program from wrong ones.

use std::collections::BTreeMap;
use std::path::Path;

use crate::grade::CaseResult;
use crate::lab::{Lab, LabError, read, stem};
use crate::program::{compile, play};

pub(crate) fn judge(lab: &Lab, file: &Path) -> Result<Vec<CaseResult>, LabError> {
    let text = read(file)?;
    let case = stf::parse(&text);
    let mut results = Vec::new();
    for path in lab.files("programs", ".p4")? {
        let program = compile(&path, lab.include(), &BTreeMap::new())?;
        let program = program.map_err(|why| LabError::Broken {
            path: path.display().to_string(),
            why,
        })?;
        let name = stem(&path);
        let right = name == "right";
        let about = match right {
            true => "the test passes on the program that is right",
            false => "the test finds what is wrong with this program",
        };
        let found = match &case {
            Ok(case) => play(&program, case),
            Err(error) => vec![error.to_string()],
        };
        let why = match (right, &case) {
            (_, Err(_)) | (true, _) => found,
            (false, _) if found.is_empty() => vec!["the test passes on it".to_owned()],
            (false, _) => Vec::new(),
        };
        results.push(CaseResult::new(name, about, why));
    }
    Ok(results)
}

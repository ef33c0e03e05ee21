//! Plan files that students compute, in whatever language: proven, on the lab's network, within its
//! bounds.

use std::path::Path;

use plan::Tables;
use plan::check::Options;

use crate::grade::CaseResult;
use crate::lab::{Lab, LabError, read};

pub(crate) fn judge(
    lab: &Lab,
    file: &Path,
    most_priorities: usize,
    most_rules: usize,
) -> Result<Vec<CaseResult>, LabError> {
    let wanted = reference(lab)?;
    let text = read(file)?;
    let about = [
        (
            "plan",
            "the file is a plan for the lab's network, and promises the routes that the lab asks for",
        ),
        (
            "proof",
            "no cyclic buffer dependency, whatever routing does; promised routes are lossless to their ends",
        ),
        (
            "priorities",
            "it takes no more lossless priorities than there are",
        ),
        ("rules", "no switch has more rules than its tables hold"),
    ];
    let tables = match Tables::from_json(&text) {
        Ok(tables) => tables,
        Err(error) => {
            let why = error.to_string();
            return Ok(about
                .map(|(name, about)| CaseResult::new(name, about, vec![why.clone()]))
                .into());
        }
    };
    let mut whys = [(); 4].map(|()| Vec::new());
    if tables.topology != wanted.topology {
        whys[0].push("its network is not that of the lab's plan".to_owned());
    }
    if tables.promises != wanted.promises {
        whys[0].push("it promises other routes than the lab's plan".to_owned());
    }
    let priorities = tables
        .tagging
        .priorities
        .values()
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    if priorities > most_priorities {
        whys[2].push(format!(
            "it takes {priorities} lossless priorities; there are {most_priorities}"
        ));
    }
    let most = tables.tagging.rules.iter().map(Vec::len).max().unwrap_or(0);
    if most > most_rules {
        whys[3].push(format!(
            "a switch has {most} rules; its tables hold {most_rules}"
        ));
    }
    if let Err(failure) = plan::check(tables, &Options::default()) {
        whys[1].push(failure.to_string());
    }
    let results = about.into_iter().zip(whys);
    Ok(results
        .map(|((name, about), why)| CaseResult::new(name, about, why))
        .collect())
}

/// The plan that the lab hands out: its network and promises are those that count.
fn reference(lab: &Lab) -> Result<Tables, LabError> {
    let path = lab.folder.join("given/plan.json");
    Tables::from_json(&read(&path)?).map_err(|e| LabError::Broken {
        path: path.display().to_string(),
        why: e.to_string(),
    })
}

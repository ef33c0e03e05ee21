//! The workflows of CI call tasks that exist, and the release's workflow has no steps of its own:
//! it calls those of `cargo xtask release`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{TASKS, release};

const FOLDER: &str = ".github/workflows";

/// The workflow that makes a release.
const RELEASE: &str = "release.yml";

/// Programs that build or pack: in the release's workflow only `cargo xtask release` calls them.
const BUILDERS: [&str; 7] = [
    "cargo",
    "maturin",
    "npm",
    "tar",
    "dpkg-deb",
    "sha256sum",
    "gzip",
];

/// Finds what is wrong in the workflows.
///
/// # Errors
/// A workflow that cannot be read.
pub(crate) fn check(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let folder = root.join(FOLDER);
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        check_text(&name, &text, findings)?;
    }
    Ok(())
}

fn check_text(name: &str, text: &str, findings: &mut Vec<String>) -> Result<(), String> {
    let workflow: Value =
        serde_saphyr::from_str(text).map_err(|e| format!("{FOLDER}/{name}: {e}"))?;
    let mut found = |what: String| findings.push(format!("{FOLDER}/{name}: {what}"));
    let mut called = Vec::new();
    for step in steps(&workflow) {
        let used = step["uses"].as_str().unwrap_or_default();
        if name == RELEASE && used.contains("maturin") {
            found(format!("`{used}` builds the wheel a second way"));
        }
        for line in lines(step["run"].as_str().unwrap_or_default()) {
            match task(&line) {
                Some(("release", rest)) => match release::Options::read(rest) {
                    Ok(options) => called.extend(options.steps),
                    Err(why) => found(why),
                },
                Some((task, _)) if !TASKS.contains(&task) => {
                    found(format!("there is no task `cargo xtask {task}`"));
                }
                Some(_) if name != RELEASE => {}
                Some((task, _)) => found(format!("it calls `cargo xtask {task}`, not `release`")),
                None if name == RELEASE => {
                    let installs = line.iter().any(|word| word == "install");
                    let mut words = line.iter().filter(|_| !installs);
                    if let Some(builder) = words.find(|w| BUILDERS.contains(&w.as_str())) {
                        found(format!(
                            "it calls `{builder}` itself, not a step of `cargo xtask release`"
                        ));
                    }
                }
                None => {}
            }
        }
    }
    if name == RELEASE {
        for step in release::STEPS {
            if !called.iter().any(|called| called == step) {
                found(format!(
                    "no job calls the step `{step}` of `cargo xtask release`"
                ));
            }
        }
    }
    Ok(())
}

/// The steps of all jobs.
fn steps(workflow: &Value) -> impl Iterator<Item = &Value> {
    let jobs = workflow["jobs"].as_object();
    let jobs = jobs.into_iter().flat_map(|jobs| jobs.values());
    jobs.filter_map(|job| job["steps"].as_array()).flatten()
}

/// The commands of a shell script, as words.
fn lines(script: &str) -> Vec<Vec<String>> {
    let joined = script.replace("\\\n", " ");
    let commands = joined.lines().flat_map(|line| line.split("&&"));
    let commands = commands.filter(|command| !command.trim_start().starts_with('#'));
    let words = commands.map(|command| {
        let words = command.split_whitespace();
        words
            .map(|word| word.trim_matches('"').to_owned())
            .collect()
    });
    words.collect()
}

/// The task that a command line calls, and the words behind it.
fn task(line: &[String]) -> Option<(&str, &[String])> {
    let at = line
        .windows(2)
        .position(|pair| pair[0] == "cargo" && pair[1] == "xtask")?;
    let (task, rest) = line[at + 2..].split_first()?;
    Some((task, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, run: &str) -> Vec<String> {
        let run = run.replace('\n', "\n          ");
        let text = format!("jobs:\n  one:\n    steps:\n      - run: |\n          {run}\n");
        let mut found = Vec::new();
        check_text(name, &text, &mut found).expect("YAML");
        found
    }

    #[test]
    fn a_workflow_calls_tasks_that_exist() {
        assert!(findings("test.yml", "cargo xtask wasm\ncargo build").is_empty());
        let found = findings("test.yml", "rustup show && cargo xtask wheels");
        assert!(found.len() == 1 && found[0].contains("wheels"), "{found:?}");
        assert_eq!(
            findings("nightly.yml", "cargo xtask release binaries").len(),
            1
        );
    }

    #[test]
    fn the_workflow_of_a_release_calls_its_steps_and_nothing_else() {
        let all = "pip install maturin\ncargo xtask release binary deb --profile \"$PROFILE\"\ncargo xtask release wheel bare sums";
        assert!(findings(RELEASE, all).is_empty());
        let found = findings(RELEASE, "cargo xtask release binary deb wheel bare");
        assert!(found.len() == 1 && found[0].contains("`sums`"), "{found:?}");
        for more in [
            "cargo build --profile dist",
            "tar -cf a.tar a",
            "cargo xtask page",
        ] {
            let found = findings(RELEASE, &format!("{all}\n{more}"));
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }
}

//! Whether the wheel of tests is made of the libraries that tests are made of. Cargo gives a
//! library the features that all ask for whom it builds at once: the workspace for tests, but for
//! the wheel one package. Where these differ, the library and all that use it are compiled twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::wheel;

/// The features of each package, as a list; of one that is built both for the machine that compiles
/// and for the product, two lists.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Finds libraries that the wheel has with other features than tests have.
pub(crate) fn check(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let tests = features(root, &["--workspace", "-e", "normal,build,dev"])?;
    let of_tests = wheel::OF_TESTS.join(",");
    let wheel = ["-p", wheel::PACKAGE, "--features", &of_tests];
    let wheel = features(root, &[&wheel[..], &["-e", "normal,build"]].concat())?;
    findings.extend(differ(&tests, &wheel));
    Ok(())
}

/// What cargo says of the packages that arguments choose.
fn features(root: &Path, chosen: &[&str]) -> Result<Features, String> {
    let form = ["--locked", "--prefix", "none", "-f", "{p}|{f}"];
    super::ask_cargo(root, "tree", &[&form, chosen].concat()).map(|tree| of(&tree))
}

fn of(tree: &str) -> Features {
    let mut all = Features::new();
    for (package, features) in tree.lines().filter_map(|line| line.split_once('|')) {
        let features = features.trim_end_matches(" (*)").to_owned();
        all.entry(package.to_owned()).or_default().insert(features);
    }
    all
}

/// What the wheel has otherwise than tests; what these have not at all it needs for itself.
fn differ(tests: &Features, wheel: &Features) -> Vec<String> {
    let mut findings = Vec::new();
    let others = |(package, _): &(&String, _)| package.split(' ').next() != Some(wheel::PACKAGE);
    for (package, lists) in wheel.iter().filter(others) {
        let Some(known) = tests.get(package) else {
            continue;
        };
        for list in lists.difference(known) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            findings.push(format!(
                "crates/python/Cargo.toml: the wheel of tests has {package} with the features [{list}] and tests have it with [{}], so that it and what uses it are compiled \
                 twice: of a crate of ours, let all who want its default say `default-features = true`, none name what the default brings; of another, add what tests have \
                 to the wheel's feature `shared`",
                known.join("] and [")
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_features_are_found_and_the_wheels_own_packages_are_not() {
        let tests = of("switchwright-python v0.1.0|\na v1|std\na v1|std (*)\na v1|\nb v2|x,y\n");
        let wheel = of("switchwright-python v0.1.0|extension\na v1|\nb v2|x (*)\nc v1|z\n");
        let found = differ(&tests, &wheel);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("has b v2 with the features [x] and tests have it with [x,y]"),
            "{found:?}"
        );
    }
}

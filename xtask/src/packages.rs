//! Whether every crate can be packaged: cargo does it, and no source includes a file from outside
//! its crate's folder, which no package has.

use std::path::{Component, Path};

/// What reads a file while a crate is built.
const INCLUDES: [&str; 2] = ["include_str!(", "include_bytes!("];

/// Packages all crates; with `verify`, builds each from its package.
///
/// # Errors
/// Cargo's.
pub(crate) fn run(root: &Path, verify: bool) -> Result<(), String> {
    let mut arguments = vec![
        "package",
        "--workspace",
        "--locked",
        "--allow-dirty",
        "--quiet",
    ];
    if !verify {
        arguments.push("--no-verify");
    }
    super::cargo(root, &arguments, &[])
}

/// Finds includes of files from outside a crate; `file` is relative to the root.
pub(crate) fn check(file: &Path, text: &str, findings: &mut Vec<String>) {
    let Some(depth) = depth(file) else {
        return;
    };
    for include in INCLUDES {
        for (at, _) in text.match_indices(include) {
            let rest = &text[at + include.len()..];
            let path = rest.split('"').nth(1).unwrap_or_default();
            if path.split('/').take_while(|part| *part == "..").count() > depth {
                let line = text[..at].lines().count();
                findings.push(format!(
                    "{}:{line}: `{path}` lies outside the crate, so its package would lack it; link it into the crate's folder",
                    file.display()
                ));
            }
        }
    }
}

/// How many folders a source file of a package lies below its crate's folder; `None` for what no
/// package builds.
fn depth(file: &Path) -> Option<usize> {
    let mut parts = file.components().filter_map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    let within = match parts.next()? {
        "crates" => parts.nth(1)?,
        "figures" => parts.next()?,
        "src" => "src",
        _ => return None,
    };
    // The depth counts the folder `src` and those in it, and not the file.
    let published = !file.starts_with("crates/p4test");
    (within == "src" && published && !file.ends_with("tests.rs")).then(|| parts.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_include_stays_within_its_crate() {
        let found = |file: &str, text: &str| {
            let mut findings = Vec::new();
            check(Path::new(file), text, &mut findings);
            findings
        };
        let includes = |path: &str| format!("const A: &str =\n    include_str!(\n\"{path}\");");
        let file = "crates/a/src/b/c.rs";
        assert!(found(file, &includes("../../d.txt")).is_empty());
        assert_eq!(found(file, &includes("../../../d.txt")).len(), 1);
        assert_eq!(found("src/main.rs", &includes("../../d.txt")).len(), 1);
        assert!(found("src/main.rs", &includes("../d.txt")).is_empty());
        assert!(found("crates/p4test/src/a.rs", &includes("../../../d.txt")).is_empty());
        assert!(found("tests/a.rs", &includes("../../d.txt")).is_empty());
    }
}

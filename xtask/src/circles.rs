//! Circles between the modules of a crate: two that import each other, or more in a row, can only
//! be read together.
//!
//! Modules are compared with their siblings; a module and what it contains may know each other.
//! Imports and paths are read from the source text: whatever begins with `crate::`, `self::` or
//! `super::`, as far as it names a module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Modules that do need each other, with the reason.
const ALLOWED: &[(&str, &[&str], &str)] = &[(
    "crates/switchd/src/server",
    &["reading", "reads"],
    "a reading that is not done yet goes back into the queue that serves it",
)];

/// A module's place below its crate: the names on the way to it.
type Module = Vec<String>;

/// Finds circles in all crates; `files` are relative to the root, with their texts.
pub(crate) fn check(files: &[(PathBuf, String)], findings: &mut Vec<String>) {
    let mut crates: BTreeMap<String, BTreeMap<Module, &str>> = BTreeMap::new();
    for (path, text) in files {
        if let Some((sources, module)) = place(path) {
            crates.entry(sources).or_default().insert(module, text);
        }
    }
    for (sources, modules) in &crates {
        for (folder, siblings) in edges(modules) {
            let within = [&[sources.clone()][..], &folder].concat().join("/");
            for circle in circles(&siblings) {
                let names: Vec<&str> = circle.iter().map(String::as_str).collect();
                let allowed = |(at, members, _): &&(&str, &[&str], &str)| {
                    *at == within && **members == *names
                };
                if !ALLOWED.iter().any(|a| allowed(&a)) {
                    findings.push(format!(
                        "{within}: the modules {} import each other; move what one needs of the other, or give the reason in xtask/src/circles.rs",
                        names.join(", ")
                    ));
                }
            }
        }
    }
}

/// The folder of sources that a file belongs to, and its module there; `None` if it is no module of
/// a library or tests.
fn place(path: &Path) -> Option<(String, Module)> {
    let text = path.to_string_lossy().replace('\\', "/");
    let (sources, rest) = match text.strip_prefix("src/") {
        Some(rest) => ("src".to_owned(), rest),
        None => {
            let (before, rest) = text.split_once("/src/")?;
            (format!("{before}/src"), rest)
        }
    };
    let mut module: Module = rest
        .strip_suffix(".rs")?
        .split('/')
        .map(str::to_owned)
        .collect();
    match module.last().map(String::as_str) {
        Some("mod") => drop(module.pop()),
        Some("lib" | "main") if module.len() == 1 => module.clear(),
        Some("tests") => return None,
        _ => {}
    }
    (!module.iter().any(|name| name == "tests")).then_some((sources, module))
}

/// By folder of modules: which of its modules imports which.
fn edges(modules: &BTreeMap<Module, &str>) -> BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> {
    let mut found: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, text) in modules {
        for path in paths(text) {
            let Some(target) = resolve(modules, module, &path) else {
                continue;
            };
            let common = module
                .iter()
                .zip(&target)
                .take_while(|(a, b)| a == b)
                .count();
            if let (Some(from), Some(to)) = (module.get(common), target.get(common)) {
                let folder = found.entry(module[..common].to_vec()).or_default();
                folder.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    found
}

/// The deepest module that a path names.
fn resolve(modules: &BTreeMap<Module, &str>, from: &Module, path: &[String]) -> Option<Module> {
    let mut names = path.iter().peekable();
    let mut at = match names.next()?.as_str() {
        "crate" => Module::new(),
        "self" => from.clone(),
        _ => from.split_last()?.1.to_vec(),
    };
    while names.next_if(|name| *name == "super").is_some() {
        at.pop()?;
    }
    let mut deepest = modules.contains_key(&at).then(|| at.clone());
    for name in names {
        at.push(name.clone());
        if modules.contains_key(&at) {
            deepest = Some(at.clone());
        }
    }
    deepest
}

/// The paths in a source text that begin at the crate, at the module or above it; trees of imports
/// are spelled out.
fn paths(text: &str) -> Vec<Vec<String>> {
    let code = without_comments_and_tests(text);
    let mut found = Vec::new();
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                let mut rest = &code[at..];
                tree(&mut rest, &[], &mut found);
            }
        }
    }
    found
}

/// Reads a path, or a tree of imports in braces, and leaves `rest` behind it.
fn tree(rest: &mut &str, before: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    loop {
        *rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            *rest = inner;
            while !rest.trim_start().starts_with('}') && !rest.is_empty() {
                let length = rest.len();
                tree(rest, &path, found);
                *rest = rest.trim_start();
                *rest = rest.strip_prefix(',').unwrap_or(rest);
                if rest.len() == length {
                    break; // neither a path nor a list of paths
                }
            }
            *rest = rest.trim_start();
            *rest = rest.strip_prefix('}').unwrap_or(rest);
            return;
        }
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        *rest = after;
        if !name.is_empty() {
            path.push(name.to_owned());
        }
        match rest.strip_prefix("::") {
            Some(after) if !name.is_empty() => *rest = after,
            _ => break,
        }
    }
    if let Some(after) = rest.strip_prefix(" as ") {
        let end = after.find([',', ';', '}']).unwrap_or(after.len());
        *rest = &after[end..];
    }
    found.push(path);
}

/// The text without line comments, up to the tests that close it.
fn without_comments_and_tests(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("#[cfg(")
            && line.contains("test")
            && lines.peek() == Some(&"mod tests {")
        {
            break;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// The sets of modules that reach each other, members and sets in order.
fn circles(siblings: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&String> = siblings.get(from).into_iter().flatten().collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(siblings.get(next).into_iter().flatten());
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        siblings.keys().map(|m| (m, reached(m))).collect();
    let together = |a: &String, b: &String| {
        reach.get(a).is_some_and(|r| r.contains(b)) && reach.get(b).is_some_and(|r| r.contains(a))
    };
    let set = |a: &String| {
        siblings
            .keys()
            .filter(|b| *b == a || together(a, b))
            .cloned()
            .collect::<Vec<_>>()
    };
    siblings
        .keys()
        .map(set)
        .filter(|members| members.len() > 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(PathBuf, String)> = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect();
        let mut findings = Vec::new();
        check(&files, &mut findings);
        findings
    }

    #[test]
    fn siblings_that_import_each_other_are_found() {
        let circle = found(&[
            ("crates/plan/src/lib.rs", "mod a; mod b; mod c;"),
            ("crates/plan/src/a.rs", "use super::b::B;"),
            ("crates/plan/src/b/mod.rs", "mod inner;"),
            ("crates/plan/src/b/inner.rs", "fn f() { crate::c::g(); }"),
            ("crates/plan/src/c.rs", "use crate::{a::A as Other, d};"),
        ]);
        assert_eq!(circle.len(), 1, "{circle:?}");
        assert!(
            circle[0].starts_with("crates/plan/src: the modules a, b, c "),
            "{circle:?}"
        );
    }

    #[test]
    fn parents_comments_tests_and_strangers_do_not_count() {
        let none = found(&[
            ("src/lib.rs", "mod a; mod b; use a::A;"),
            ("src/a.rs", "use super::Parent; use crate::b::B;"),
            (
                "src/b.rs",
                "// use crate::a::A;\nuse other_crate::a::A;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            ),
            ("crates/plan/src/b/tests.rs", "use crate::a::A;"),
        ]);
        assert_eq!(none, Vec::<String>::new());
    }

    #[test]
    fn trees_of_imports_are_spelled_out() {
        let text = "use crate::{a::{self, B}, c as d, e::f::{g, h}};";
        let mut spelled: Vec<String> = paths(text).iter().map(|p| p.join("::")).collect();
        spelled.sort();
        let all = [
            "crate::a::B",
            "crate::a::self",
            "crate::c",
            "crate::e::f::g",
            "crate::e::f::h",
        ];
        assert_eq!(spelled, all);
    }
}

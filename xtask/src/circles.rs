//! Who imports whom among the modules of a crate: circles, in which modules can only be read
//! together, and imports against a declared order.
//!
//! Modules are compared with their siblings; a module and what it contains may know each other.
//! Paths that begin with `crate::`, `self::` or `super::` count as far as they name a module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::syntax::NamedPath;

/// Modules that do need each other, with the reason.
const ALLOWED: &[(&str, &[&str], &str)] = &[(
    "crates/switchd/src/server",
    &["reading", "reads"],
    "a reading that is not done yet goes back into the queue that serves it",
)];

/// The order of modules inside a crate. Between crates Cargo keeps it.
struct Order {
    /// The folder of the crate's sources.
    within: &'static str,
    /// Ranks of modules: one imports only what an earlier rank holds. A module that is not listed
    /// stands before all.
    ranks: &'static [&'static [&'static str]],
}

const ORDERS: &[Order] = &[
    Order {
        within: "crates/topology/src",
        ranks: &[&["routes"], &["generate"]],
    },
    Order {
        within: "crates/p4gen/src",
        ranks: &[
            &["layout"],
            &["entries", "capabilities"],
            &["family"],
            &["program", "hosts"],
            &["targets"],
            &["build"],
        ],
    },
    Order {
        within: "crates/simulator/src",
        ranks: &[&["embedded"], &["simulate"]],
    },
    Order {
        within: "crates/emulator/src",
        ranks: &[&["drill"], &["emulate"]],
    },
];

/// A module's place below its crate: the names on the way to it.
type Module = Vec<String>;

/// The modules of a crate, with the files and what they name.
type Modules<'a> = BTreeMap<Module, (&'a Path, &'a [NamedPath])>;

/// Which module of a folder imports which, and where it first does.
type Imports = BTreeMap<String, BTreeMap<String, String>>;

/// Finds circles and imports against the order in all crates. Files are relative to the root.
pub(crate) fn check(files: &[(PathBuf, Vec<NamedPath>)], findings: &mut Vec<String>) {
    let mut crates: BTreeMap<String, Modules> = BTreeMap::new();
    for (path, names) in files {
        if let Some((sources, module)) = place(path) {
            let modules = crates.entry(sources).or_default();
            modules.insert(module, (path, names));
        }
    }
    for (sources, modules) in &crates {
        for (folder, siblings) in imports(modules) {
            if let Some(order) = ORDERS.iter().find(|o| o.within == *sources)
                && folder.is_empty()
            {
                check_order(order, &siblings, findings);
            }
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

/// Finds imports of modules that do not stand in an earlier rank.
fn check_order(order: &Order, imports: &Imports, findings: &mut Vec<String>) {
    let rank = |name: &str| order.ranks.iter().position(|rank| rank.contains(&name));
    for (from, others) in imports {
        for (other, at) in others {
            let earlier = rank(from).is_some_and(|own| rank(other).is_some_and(|r| r < own));
            if rank(other).is_some() && !earlier {
                findings.push(format!(
                    "{at}: `{from}` imports `{other}`, which does not stand before it"
                ));
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
fn imports(modules: &Modules) -> BTreeMap<Module, Imports> {
    let mut found: BTreeMap<Module, Imports> = BTreeMap::new();
    for (module, (file, names)) in modules {
        for path in *names {
            let Some(target) = resolve(modules, module, path) else {
                continue;
            };
            let common = module
                .iter()
                .zip(&target)
                .take_while(|(a, b)| a == b)
                .count();
            if let (Some(from), Some(to)) = (module.get(common), target.get(common)) {
                let folder = found.entry(module[..common].to_vec()).or_default();
                let others = folder.entry(from.clone()).or_default();
                let at = || format!("{}:{}", file.display(), path.line);
                others.entry(to.clone()).or_insert_with(at);
            }
        }
    }
    found
}

/// The deepest module that a path names which begins at the crate, at its module or above it.
fn resolve(modules: &Modules, file: &Module, path: &NamedPath) -> Option<Module> {
    let mut names = path.names.iter().peekable();
    let mut at = match names.peek()?.as_str() {
        "crate" => Module::new(),
        "self" | "super" => [&file[..], &path.inline].concat(),
        _ => return None,
    };
    names.next_if(|name| *name != "super");
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

/// The sets of modules that reach each other, members and sets in order.
fn circles(siblings: &Imports) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&String> = siblings
            .get(from)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(siblings.get(next).into_iter().flat_map(BTreeMap::keys));
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
    use crate::syntax;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), syntax::paths(text).expect("Rust")))
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
    fn an_import_against_the_order_is_found() {
        for (path, import, count) in [
            (
                "crates/topology/src/model/mod.rs",
                "crate::routes::Route",
                1,
            ),
            (
                "crates/topology/src/routes/set.rs",
                "crate::model::Topology",
                0,
            ),
            (
                "crates/p4gen/src/entries/mod.rs",
                "crate::{family::X, layout}",
                1,
            ),
            ("crates/p4gen/src/family/mod.rs", "super::entries::X", 0),
            ("crates/p4gen/src/targets/mod.rs", "super::build::X", 1),
            ("crates/p4gen/src/entries/mod.rs", "crate::layout::X", 0),
            ("crates/p4gen/src/layout/mod.rs", "crate::build::X", 1),
        ] {
            let others = ["routes", "model", "family", "entries", "layout", "build"];
            let folder = path.split("/src/").next().unwrap_or_default();
            let modules = others.map(|name| format!("{folder}/src/{name}/mod.rs"));
            let text = format!("use {import};");
            let mut files = vec![(path, &text[..])];
            files.extend(modules.iter().filter(|m| *m != path).map(|m| (&m[..], "")));
            let found = found(&files);
            assert_eq!(found.len(), count, "{path} {import}: {found:?}");
        }
    }
}

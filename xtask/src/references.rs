//! Sources are cited by keys, and every key stands in `docs/references.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::book;

/// Where the keys are listed.
const DOCUMENT: &str = "docs/references.md";

/// What follows a key where part of a source is cited.
const PARTS: &[&str] = &[
    "section",
    "sections",
    "chapter",
    "equation",
    "equations",
    "Table",
    "Tables",
    "Figure",
    "Figures",
    "Fig.",
    "Figs.",
    "Algorithm",
    "theorem",
];

/// Checks what cites in source files and in documents; the words of this tool's own are left out.
pub(crate) fn check_all(
    root: &Path,
    sources: &[PathBuf],
    findings: &mut Vec<String>,
) -> Result<(), String> {
    let read = |file: &Path| {
        fs::read_to_string(root.join(file)).map_err(|e| format!("{}: {e}", file.display()))
    };
    let keys = listed(&read(Path::new(DOCUMENT))?);
    let sources = sources.iter().filter(|file| !file.starts_with("xtask"));
    for file in sources.cloned().chain(documents(root)) {
        for (number, line) in read(&file)?.lines().enumerate() {
            let at = format!("{}:{}", file.display(), number + 1);
            check(&at, line, &keys, findings);
            let named = documents_named(line);
            for missing in named.filter(|name| !root.join(name).is_file()) {
                findings.push(format!("{at}: there is no `{missing}`"));
            }
        }
    }
    Ok(())
}

/// The documents at the root and those of the book, in order.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    book::documents_in(root, false, &mut found);
    book::documents_in(&root.join("docs"), true, &mut found);
    let relative = |path: PathBuf| path.strip_prefix(root).ok().map(Path::to_path_buf);
    let mut files: Vec<PathBuf> = found.into_iter().filter_map(relative).collect();
    files.sort();
    files
}

/// The first column of the document's table.
fn listed(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" | ").next())
        .map(str::to_owned)
        .collect()
}

/// Finds citations in a line whose key is not listed, sources that are cited by a number, and
/// documents that are cited by the number of a part, which none has.
fn check(at: &str, line: &str, keys: &BTreeSet<String>, findings: &mut Vec<String>) {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || "(),;`[]".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    for pair in words.windows(2).filter(|pair| PARTS.contains(&pair[1])) {
        let key = pair[0].strip_suffix("'s").unwrap_or(pair[0]);
        if (is_key(key) && !keys.contains(key)) || is_number(key) {
            findings.push(format!("{at}: `{key}` is no key of {DOCUMENT}"));
        }
    }
    let numbered = |pair: &&[&str]| {
        pair[0].ends_with(".md") && pair[1].starts_with(|c: char| c.is_ascii_digit())
    };
    for pair in words.windows(2).filter(numbered) {
        findings.push(format!(
            "{at}: `{} {}`: no document has numbered parts; cite the public source",
            pair[0], pair[1]
        ));
    }
}

/// The documents of this repository that a line names by their path from the root.
fn documents_named(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| c.is_whitespace() || "(),;`[]#\"".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':']));
    words.filter(|word| word.starts_with("docs/") && word.ends_with(".md"))
}

/// A name with a year: `Tagger17`.
fn is_key(word: &str) -> bool {
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    word.len() == name.len() + 2
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(char::is_alphabetic)
}

/// Three digits that begin with two zeroes, by which papers were once cited.
fn is_number(word: &str) -> bool {
    word.len() == 3 && word.starts_with("00") && word.ends_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_named_by_their_path() {
        let line = "/// See docs/a.md, (`docs/b/c.md#part`) and docs/d.md. Not p4lang/x/docs/e.md, docs/f.svg";
        let named: Vec<&str> = documents_named(line).collect();
        assert_eq!(named, ["docs/a.md", "docs/b/c.md", "docs/d.md"]);
    }

    #[test]
    fn a_citation_needs_a_listed_key() {
        let keys = listed("| key | what |\n|---|---|\n| Tagger17 | a paper |\n");
        let found = |line: &str| {
            let mut findings = Vec::new();
            check("f:1", line, &keys, &mut findings);
            findings.len()
        };
        assert_eq!(found("/// As in (Tagger17 section 4)."), 0);
        assert_eq!(
            found("/// As in Nobody99, section 4, and Nobody99's Table 1."),
            2
        );
        assert_eq!(found("/// As in 003 section 4."), 1);
        assert_eq!(found("/// The id is wrong (rules.md 7, 9)."), 1);
        assert_eq!(found("/// See docs/rules.md, section 2."), 0);
        assert_eq!(
            found("/// IEEE 802.1Q section 4, RFC 791 section 3, P4_16 section 6.8"),
            0
        );
    }
}

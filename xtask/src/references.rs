//! Sources are cited by keys, and every key stands in `docs/references.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

/// The keys of the list.
pub(crate) fn keys(root: &Path) -> Result<BTreeSet<String>, String> {
    let text = fs::read_to_string(root.join(DOCUMENT)).map_err(|e| format!("{DOCUMENT}: {e}"))?;
    Ok(listed(&text))
}

/// The first column of the document's table.
fn listed(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" | ").next())
        .map(str::to_owned)
        .collect()
}

/// Finds citations in a line whose key is not listed, and sources that are cited by a number.
pub(crate) fn check(at: &str, line: &str, keys: &BTreeSet<String>, findings: &mut Vec<String>) {
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
        assert_eq!(
            found("/// IEEE 802.1Q section 4, RFC 791 section 3, P4_16 section 6.8"),
            0
        );
    }
}

//! The formatter: tokens stay, comments stay, and formatting twice changes nothing, over every program of the repository and of p4c's samples.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use p4front::format::{FormatError, format};

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|e| e.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            programs(&path, found);
        } else if path.extension().is_some_and(|e| e == "p4") && path.is_file() {
            found.push(path);
        }
    }
}

/// The comments of a text, without the blanks in and around them.
fn comments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut in_string = false;
    while let Some(c) = rest.chars().next() {
        let end = match (in_string, rest) {
            (false, r) if r.starts_with("//") => r.find('\n').unwrap_or(r.len()),
            (false, r) if r.starts_with("/*") => r.find("*/").map_or(r.len(), |at| at + 2),
            (true, r) if r.starts_with('\\') => {
                rest = rest.get(2..).unwrap_or_default();
                continue;
            }
            _ => {
                in_string ^= c == '"';
                in_string &= c != '\n';
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        found.push(rest[..end].split_whitespace().collect());
        rest = &rest[end..];
    }
    found
}

#[test]
fn formatting_keeps_tokens_and_comments_and_is_done_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    programs(&root, &mut found);
    assert!(found.len() > 50, "{} programs", found.len());
    match std::env::var_os("P4C_TESTDATA") {
        Some(testdata) => {
            programs(&Path::new(&testdata).join("p4_16_samples"), &mut found);
            programs(&Path::new(&testdata).join("p4_16_errors"), &mut found);
        }
        None => println!("skipped: P4C_TESTDATA does not name p4c's testdata"),
    }
    let mut wrong = Vec::new();
    for path in &found {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let name = path.display().to_string();
        match format(&name, &text) {
            Ok(once) => {
                if format(&name, &once).unwrap() != once {
                    wrong.push(format!("{name}: not the same when formatted again"));
                }
                if comments(&once) != comments(&text) {
                    wrong.push(format!("{name}: comments differ"));
                }
                if once.lines().any(|line| line.ends_with(' ')) {
                    wrong.push(format!("{name}: blanks at the end of a line"));
                }
            }
            Err(error @ FormatError::Changed(_)) => wrong.push(error.to_string()),
            // Programs with text that is no P4.
            Err(_) => {}
        }
    }
    println!("{} programs", found.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! What `p4 fmt` makes of every file, by a reading that shares nothing with it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::command::{Switchwright, scratch_file};

/// Comments, and everything else that is no blank, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tokens(Vec<String>);

impl Tokens {
    /// What is no comment and no string.
    pub(super) fn plain(&self) -> Vec<&str> {
        let parts = self.0.iter().map(String::as_str);
        parts
            .filter(|p| !p.starts_with("//") && !p.starts_with("/*") && !p.starts_with('"'))
            .collect()
    }
}

/// A text's comments, strings, words and other characters, and the ends of its directives. Blanks
/// in comments do not count.
pub(super) fn parts(text: &str) -> Tokens {
    let joined = joined(text.trim_start_matches('\u{feff}'));
    let mut rest = joined.as_str();
    let mut found = Vec::new();
    let (mut line_begins, mut directive) = (true, false);
    while let Some(c) = rest.chars().next() {
        let (part, behind) = rest.split_at(length(rest, c));
        rest = behind;
        if part.starts_with("//") || part.starts_with("/*") {
            found.push(part.split_whitespace().collect());
        } else if c == '\n' {
            if directive {
                found.push(part.to_owned());
            }
            (line_begins, directive) = (true, false);
        } else if !c.is_whitespace() {
            directive |= line_begins && c == '#';
            line_begins = false;
            found.push(part.to_owned());
        }
    }
    if directive {
        found.push("\n".to_owned());
    }
    Tokens(found)
}

/// The length of the part that a text begins with.
fn length(rest: &str, first: char) -> usize {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        let end = rest.get(2..).and_then(|r| r.find("*/"));
        end.map_or(rest.len(), |at| at + 4)
    } else if first == '"' {
        string(rest)
    } else if word(first) {
        rest.find(|c| !word(c)).unwrap_or(rest.len())
    } else {
        first.len_utf8()
    }
}

/// The length of the string that a text begins with, or 1 if it is not closed.
pub(super) fn string(text: &str) -> usize {
    let mut escaped = true; // the opening quote
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => {}
        }
    }
    1
}

/// A text with the lines joined that end in `\`.
fn joined(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let end = line.trim_end_matches([' ', '\t', '\r', '\n', '\x0b', '\x0c'].as_slice());
        match end.strip_suffix('\\') {
            Some(kept) if line.ends_with('\n') => whole.push_str(kept),
            _ => whole.push_str(line),
        }
    }
    whole
}

/// Formats copies of texts; names those that are changed in more than blanks, or by formatting
/// again, and those that are refused.
///
/// # Errors
/// The command cannot be started, or no file can be written.
pub(super) fn judge(
    command: &Switchwright,
    folder: &Path,
    files: &[String],
) -> Result<Vec<(String, String)>, String> {
    let mut copies = Vec::new();
    for (i, file) in files.iter().enumerate() {
        // What is no UTF-8 is no P4: the command refuses it, and nothing can be compared.
        let Ok(before) = fs::read_to_string(folder.join(file)) else {
            continue;
        };
        let path = scratch_file(&format!("{i}-{}", short(file)));
        fs::write(&path, &before).map_err(|e| format!("{}: {e}", path.display()))?;
        copies.push((file, path, before));
    }
    let all: Vec<_> = copies.iter().map(|(_, path, _)| path.clone()).collect();
    let together = command.p4(&with("fmt", &[], &all))?.status == Some(0)
        && command.p4(&with("fmt", &["--check"], &all))?.status == Some(0);
    let mut wrong = Vec::new();
    for (file, path, before) in &copies {
        let what = match together {
            true => changed(before, &read(path)?),
            false => one(command, path, before)?,
        };
        wrong.extend(what.map(|what| ((*file).clone(), what)));
        fs::remove_file(path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(wrong)
}

/// A file's name without its folders and what a path could not take.
fn short(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "_")
}

fn with(command: &str, options: &[&str], files: &[PathBuf]) -> Vec<OsString> {
    let words = std::iter::once(&command).chain(options).map(OsString::from);
    words
        .chain(files.iter().map(|f| f.clone().into()))
        .collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn changed(before: &str, after: &str) -> Option<String> {
    (parts(before) != parts(after)).then(|| "fmt changes tokens or comments".to_owned())
}

/// Formats one copy, which is as it was before, or formatted already.
fn one(command: &Switchwright, copy: &Path, before: &str) -> Result<Option<String>, String> {
    fs::write(copy, before).map_err(|e| e.to_string())?;
    let files = [copy.to_path_buf()];
    let said = command.p4(&with("fmt", &[], &files))?;
    let after = read(copy)?;
    if let Some(broken) = said.broken() {
        return Ok(Some(format!("fmt: {broken}")));
    }
    if said.status != Some(0) {
        let kept = if after == before {
            ""
        } else {
            ", and the file is changed"
        };
        return Ok(Some(format!("fmt refuses: {}{kept}", said.why())));
    }
    if let Some(what) = changed(before, &after) {
        return Ok(Some(what));
    }
    let again = command.p4(&with("fmt", &["--check"], &files))?;
    Ok((again.status != Some(0)).then(|| "formatting again changes it".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_do_not_count_and_the_rest_does() {
        assert_eq!(
            parts("a=b; // c  d\n\"x y\""),
            parts("a = b;//c d\n\n \"x y\"")
        );
        assert_ne!(parts("\"x y\""), parts("\"x  y\""));
        assert_ne!(parts("/*// a*/ b"), parts("/*/ b"));
        assert_ne!(parts("a // b \\\n c\nd"), parts("a // b\n c\nd"));
        assert_ne!(parts("a b"), parts("ab"));
        assert_ne!(parts("#define A b\nc"), parts("#define A b c"));
        assert_ne!(parts("a\n #define B"), parts("a #define B"));
        assert_eq!(parts("#endif"), parts("#endif\n"));
        assert_eq!(parts("#define A \\\n b\nc"), parts("#define A b\n c"));
    }
}

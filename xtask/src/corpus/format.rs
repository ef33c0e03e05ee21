//! What `p4 fmt` makes of every file, by a reading that shares nothing with it.

use std::fs;
use std::path::Path;

use super::command::Switchwright;

/// Comments, and everything else that is no blank, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts(Vec<String>);

impl Parts {
    /// What is no comment and no string.
    pub(super) fn plain(&self) -> Vec<&str> {
        let parts = self.0.iter().map(String::as_str);
        parts
            .filter(|p| !p.starts_with("//") && !p.starts_with("/*") && !p.starts_with('"'))
            .collect()
    }
}

/// A text's comments, strings, words and other characters. Blanks in comments do not count.
pub(super) fn parts(text: &str) -> Parts {
    let joined = joined(text.trim_start_matches('\u{feff}'));
    let mut rest = joined.as_str();
    let mut found = Vec::new();
    while let Some(c) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.get(2..)
                .and_then(|r| r.find("*/"))
                .map_or(rest.len(), |at| at + 4)
        } else if c == '"' {
            string(rest)
        } else if word(c) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        let (part, behind) = rest.split_at(length);
        rest = behind;
        if part.starts_with("//") || part.starts_with("/*") {
            found.push(part.split_whitespace().collect());
        } else if !c.is_whitespace() {
            found.push(part.to_owned());
        }
    }
    Parts(found)
}

/// The length of the string that a text begins with, or 1 if it is not closed.
fn string(text: &str) -> usize {
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

/// Formats copies of files; names those that are changed in more than blanks, or by formatting
/// again, and those that are refused.
pub(super) fn judge(
    command: &Switchwright,
    folder: &Path,
    files: &[String],
) -> Result<Vec<(String, String)>, String> {
    let scratch = std::env::temp_dir().join(format!("corpus-format-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let mut wrong = Vec::new();
    for file in files {
        let copy = scratch.join("program.p4");
        let Ok(before) = fs::read_to_string(folder.join(file)) else {
            continue; // no text
        };
        fs::write(&copy, &before).map_err(|e| format!("{}: {e}", copy.display()))?;
        if let Some(what) = one(command, &copy, &before)? {
            wrong.push((file.clone(), what));
        }
    }
    fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    Ok(wrong)
}

fn one(command: &Switchwright, copy: &Path, before: &str) -> Result<Option<String>, String> {
    let path = copy.to_string_lossy();
    let said = command.p4(&["fmt", &path])?;
    let after = fs::read_to_string(copy).map_err(|e| e.to_string())?;
    if let Some(broken) = said.broken() {
        return Ok(Some(broken));
    }
    if said.status != Some(0) {
        let kept = if after == before {
            ""
        } else {
            ", and the file is changed"
        };
        return Ok(Some(format!("fmt refuses: {}{kept}", said.why())));
    }
    if parts(before) != parts(&after) {
        return Ok(Some("fmt changes tokens or comments".to_owned()));
    }
    let again = command.p4(&["fmt", "--check", &path])?;
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
    }
}

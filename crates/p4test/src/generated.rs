//! The rendered programs in `p4src/generated`. Those for Tofino 2 stand there as differences from
//! Tofino 1's.

use std::path::PathBuf;

use crate::root;

/// The folder of a program for Tofino 2, and that of the program that it differs from.
const DIFFERENCES: (&str, &str) = ("t2na/", "tna/");

/// Where the rendered programs are.
#[must_use]
pub fn generated() -> PathBuf {
    root().join("p4src/generated")
}

/// The text of a rendered program, such as `tagger-shim-exact` or `t2na/tagger-shim-exact`; `None`
/// if there is none.
#[must_use]
pub fn generated_text(name: &str) -> Option<String> {
    let read = |name: &str, ending: &str| {
        let path = generated().join(format!("{name}.{ending}"));
        std::fs::read_to_string(path).ok()
    };
    match name.strip_prefix(DIFFERENCES.0) {
        Some(rest) => {
            let other = read(&format!("{}{rest}", DIFFERENCES.1), "p4")?;
            apply(&other, &read(name, "diff")?)
        }
        None => read(name, "p4"),
    }
}

/// A text with a difference in unified format applied; `None` if the difference is from another
/// text.
fn apply(text: &str, difference: &str) -> Option<String> {
    let mut old = text.lines();
    let mut taken = 0;
    let mut new = Vec::new();
    for line in difference
        .lines()
        .skip_while(|line| !line.starts_with("@@"))
    {
        if let Some(place) = line.strip_prefix("@@ -") {
            let until = lines_before(place)?;
            new.extend(old.by_ref().take(usize::checked_sub(until, taken)?));
            taken = until;
        } else if let Some(added) = line.strip_prefix('+') {
            new.push(added);
        } else {
            let kept = line.strip_prefix(' ');
            if old.next()? != kept.or_else(|| line.strip_prefix('-'))? {
                return None;
            }
            taken += 1;
            new.extend(kept);
        }
    }
    new.extend(old);
    Some(new.join("\n") + "\n")
}

/// How many lines of the old text stand before a place: `12,3 +12,4 @@`, where 3 lines from line 12
/// on are replaced, or `12,0 +13 @@`, where something comes after line 12.
fn lines_before(place: &str) -> Option<usize> {
    let (old, _) = place.split_once(' ')?;
    match old.split_once(',') {
        Some((first, "0")) => first.parse().ok(),
        Some((first, _)) => first.parse::<usize>().ok()?.checked_sub(1),
        None => old.parse::<usize>().ok()?.checked_sub(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_applied_to_the_text_that_they_are_from() {
        let old = "a\nb\nc\nd\n";
        let difference = "--- x\n+++ y\n@@ -1 +1,2 @@\n-a\n+A\n+A\n@@ -3,0 +5 @@\n+e\n";
        assert_eq!(
            apply(old, difference).as_deref(),
            Some("A\nA\nb\nc\ne\nd\n")
        );
        assert_eq!(apply("x\nb\nc\nd\n", difference), None);
        let with_context = "@@ -1,2 +1 @@\n a\n-b\n";
        assert_eq!(apply(old, with_context).as_deref(), Some("a\nc\nd\n"));
    }
}

//! Names that could have been meant: advice for findings about names that are not known.

use crate::diag::Diagnostic;

/// Bytes of the longest name that is compared with others.
const MAX_COMPARED: usize = 64;
/// Candidates looked at.
const MAX_CANDIDATES: usize = 1000;
/// Candidates that are listed where none is like the name.
const MAX_LISTED: usize = 10;
/// Characters of the shortest name that is recognised as a part of another.
const MIN_PART: usize = 4;

impl Diagnostic {
    /// With the one of the `known` names that is most like `name` as advice, if one is like it.
    #[must_use]
    pub(crate) fn with_nearest<'n>(
        self,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        match closest(name, known) {
            Some(close) => self.with_help(format!("did you mean `{close}`?")),
            None => self,
        }
    }

    /// With advice for `name`, which is not one of a closed list of names: the one that is most
    /// like it, else the one that it is a part of, else all of them if they are few. `what` they
    /// are: `match kinds`.
    #[must_use]
    pub(crate) fn with_known<'n>(
        self,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().take(MAX_CANDIDATES).collect();
        let near = closest(name, known.iter().copied());
        if let Some(near) = near.or_else(|| overlapping(name, &known)) {
            return self.with_help(format!("did you mean `{near}`?"));
        }
        if known.is_empty() || known.len() > MAX_LISTED {
            return self;
        }
        self.with_help(format!("known {what}: `{}`", known.join("`, `")))
    }
}

/// The candidate nearest to a misspelt name, if it is near. Case does not count.
pub(crate) fn closest<'n>(
    name: &str,
    candidates: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let length = name.chars().count();
    let limit = length / 3;
    let wanted = name.to_lowercase();
    // A name that is longer or shorter by more characters is further away than the limit.
    candidates
        .into_iter()
        .filter(|c| *c != name && c.chars().count().abs_diff(length) <= limit)
        .take(MAX_CANDIDATES)
        .map(|c| (edit_distance(&wanted, &c.to_lowercase()), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

/// The shortest candidate that contains a name or is contained in it: `valid` and `isValid`. Case
/// does not count.
pub(crate) fn overlapping<'n>(name: &str, candidates: &[&'n str]) -> Option<&'n str> {
    let wanted = name.to_lowercase();
    let overlaps = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let (part, whole) = match candidate.len() < wanted.len() {
            true => (&candidate, &wanted),
            false => (&wanted, &candidate),
        };
        part.chars().count() >= MIN_PART && whole.contains(part.as_str())
    };
    let short = candidates.iter().filter(|c| c.len() <= MAX_COMPARED);
    short
        .copied()
        .filter(|c| *c != name && name.len() <= MAX_COMPARED && overlaps(c))
        .min_by_key(|c| (c.len(), *c))
}

/// Levenshtein's distance in characters, where two neighbours that changed places count once.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let changed = row[j] + usize::from(a[i] != b[j]);
            let mut least = changed.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(above[j - 1] + 1);
            }
            next.push(least);
        }
        above = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        let fields = ["dstAddr", "srcAddr", "etherType"];
        assert_eq!(closest("dstAdr", fields), Some("dstAddr"));
        assert_eq!(closest("DSTADDR", fields), Some("dstAddr"));
        assert_eq!(closest("srcAddr", fields), None);
        assert_eq!(closest("ttl", fields), None);
    }

    #[test]
    fn parts_of_names_are_recognised() {
        let methods = ["isValid", "setValid", "setInvalid"];
        assert_eq!(overlapping("valid", &methods), Some("isValid"));
        assert_eq!(overlapping("isValidHeader", &methods), Some("isValid"));
        assert_eq!(overlapping("set", &methods), None);
    }

    #[test]
    fn distances() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", "abc"), 0);
        assert_eq!(edit_distance("abc", ""), 3);
        assert_eq!(edit_distance("szie", "size"), 1);
        assert_eq!(edit_distance("vlaue", "values"), 2);
    }
}

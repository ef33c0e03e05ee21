//! Lists of names in messages.

/// Names that a message lists before it counts the others.
pub(crate) const LISTED: usize = 8;

/// The first names of a list, and how many more there are: `a, b and 3 more`.
pub(crate) fn first_names(names: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_counted() {
        assert_eq!(first_names(&["a", "b"], 2), "a, b");
        assert_eq!(first_names(&["a", "b", "c"], 2), "a, b and 1 more");
    }
}

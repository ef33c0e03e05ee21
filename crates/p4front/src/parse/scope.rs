//! Which names are types, by scope: all the parser needs to know about names.

use std::collections::HashMap;

use crate::ast::Symbol;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Object,
}

/// Nested scopes, innermost last; the first is the top level.
#[derive(Debug)]
pub(super) struct Scopes {
    stack: Vec<HashMap<Symbol, Kind>>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self {
            stack: vec![HashMap::new()],
        }
    }

    pub(super) fn push(&mut self) {
        self.stack.push(HashMap::new());
    }

    /// How many scopes are open; see [`Scopes::truncate`].
    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Closes scopes that a failed construct left open.
    pub(super) fn truncate(&mut self, depth: usize) {
        self.stack.truncate(depth.max(1));
    }

    pub(super) fn declare_type(&mut self, name: &Symbol) {
        self.declare(name, Kind::Type);
    }

    pub(super) fn declare_object(&mut self, name: &Symbol) {
        self.declare(name, Kind::Object);
    }

    /// The first declaration in a scope counts; a conflicting second one is the resolver's matter.
    fn declare(&mut self, name: &Symbol, kind: Kind) {
        if let Some(scope) = self.stack.last_mut() {
            scope.entry(name.clone()).or_insert(kind);
        }
    }

    pub(super) fn is_type(&self, name: &str) -> bool {
        let kind = self.stack.iter().rev().find_map(|s| s.get(name));
        kind == Some(&Kind::Type)
    }

    pub(super) fn is_top_level_type(&self, name: &str) -> bool {
        self.stack.first().and_then(|s| s.get(name)) == Some(&Kind::Type)
    }

    /// The type in scope whose name is most like `name`, if one is like it.
    pub(super) fn similar_type(&self, name: &str) -> Option<Symbol> {
        let most = name.len() / 3;
        let types = self
            .stack
            .iter()
            .flatten()
            .filter(|(_, k)| **k == Kind::Type);
        let scored = types.filter(|(n, _)| self.is_type(n)).filter_map(|(n, _)| {
            let d = distance(&n.to_lowercase(), &name.to_lowercase());
            (d <= most).then(|| (d, n.clone()))
        });
        scored.min().map(|(_, n)| n)
    }
}

/// Levenshtein distance in bytes, of names of at most 64 bytes; others are far apart.
fn distance(a: &str, b: &str) -> usize {
    if a.len().max(b.len()) > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.bytes().zip(row.iter_mut().skip(1)) {
            let up = *cell;
            *cell = (diagonal + usize::from(x != y)).min(up + 1).min(left + 1);
            (diagonal, left) = (up, *cell);
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("abc", ""), 3);
    }

    #[test]
    fn inner_objects_hide_outer_types() {
        let mut s = Scopes::new();
        s.declare_type(&"T".into());
        s.push();
        assert!(s.is_type("T"));
        s.declare_object(&"T".into());
        assert!(!s.is_type("T") && s.is_top_level_type("T"));
        s.truncate(1);
        assert!(s.is_type("T"));
        assert_eq!(s.similar_type("t").as_deref(), Some("T"));
        assert_eq!(s.similar_type("X"), None);
    }
}

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

    /// The types that can be named here, in order.
    pub(super) fn types(&self) -> Vec<&str> {
        let names = self.stack.iter().flat_map(|scope| scope.keys());
        let mut types: Vec<&str> = names.filter(|n| self.is_type(n)).map(|n| &**n).collect();
        types.sort_unstable();
        types
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(s.types(), ["T"]);
    }
}

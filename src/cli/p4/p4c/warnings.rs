//! `--Wdisable`, `--Winfo`, `--Wwarn`, `--Werror`: what becomes of warnings.

use std::collections::BTreeMap;

use p4front::diag::{Diagnostic, Severity};

use crate::cli::fault::Fault;

/// What becomes of a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Action {
    Ignore,
    Note,
    #[default]
    Warn,
    Fail,
}

/// What becomes of warnings, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Warnings {
    all: Action,
    named: BTreeMap<String, Action>,
}

/// Names of p4c's warnings (`lib/error_catalog.cpp`), and the classes of ours that say the same.
const NAMES: [(&str, &[&str]); 28] = [
    ("legacy", &[]),
    ("failed", &[]),
    ("unknown", &["annotation"]),
    ("invalid", &[]),
    ("unsupported", &["pragma"]),
    ("deprecated", &[]),
    ("uninitialized", &[]),
    ("unused", &[]),
    ("missing", &["arch", "empty"]),
    ("ordering", &[]),
    ("mismatch", &[]),
    ("overflow", &[]),
    ("ignore-prop", &["table"]),
    ("type-inference", &[]),
    ("parser-transition", &[]),
    ("unreachable", &["table"]),
    ("shadow", &[]),
    ("uninitialized-use", &[]),
    ("uninitialized-out-param", &[]),
    ("ignore", &[]),
    ("invalid-header", &[]),
    ("duplicate-priorities", &[]),
    ("entries-out-of-priority-order", &[]),
    ("multi-header-extract", &[]),
    ("expr", &[]),
    ("duplicate", &[]),
    ("branch", &[]),
    ("keys", &[]),
];

/// Classes of our own warnings.
const OURS: [&str; 6] = [
    "annotation",
    "arch",
    "empty",
    "pragma",
    "preprocessor",
    "table",
];

/// Names of p4c's errors that are no warnings too: they cannot be demoted.
const ERRORS: [&str; 9] = [
    "unexpected",
    "expected",
    "not-found",
    "overlimit",
    "insufficient",
    "type-error",
    "target-error",
    "reserved",
    "I/O error",
];

/// Whether a word is a list of names of warnings.
pub(super) fn are_names(word: &str) -> bool {
    word.split(',')
        .all(|name| OURS.contains(&name) || NAMES.iter().any(|(known, _)| *known == name))
}

impl Warnings {
    /// Sets what becomes of the warnings of some names, or of all.
    ///
    /// # Errors
    /// The name of an error, which stays an error.
    pub(super) fn set(&mut self, names: Option<String>, action: Action) -> Result<(), Fault> {
        let Some(names) = names else {
            // Warnings are warnings, and p4c's `--Winfo` alone changes nothing.
            if matches!(action, Action::Ignore | Action::Fail) {
                self.all = action;
            }
            return Ok(());
        };
        for name in names.split(',') {
            if action != Action::Fail && ERRORS.contains(&name) {
                let message = format!("error `{name}` cannot be demoted");
                return Err(Fault::input(message).help("only warnings can"));
            }
            self.named.insert(name.to_owned(), action);
        }
        Ok(())
    }

    /// What becomes of a finding: nothing if it is not wanted.
    pub(super) fn judge(&self, mut found: Diagnostic) -> Option<Diagnostic> {
        if found.severity != Severity::Warning {
            return Some(found);
        }
        let says = |name: &str| {
            let same =
                |(known, ours): &(&str, &[&str])| *known == name && ours.contains(&found.code);
            name == found.code || NAMES.iter().any(same)
        };
        let named = self.named.iter().find(|(name, _)| says(name));
        match named.map_or(self.all, |(_, action)| *action) {
            Action::Ignore => return None,
            Action::Note => found.severity = Severity::Note,
            Action::Warn => {}
            Action::Fail => found.severity = Severity::Error,
        }
        Some(found)
    }
}

//! What a user chooses about how a program is read, and which files it may see.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The files that a program can include besides those that are built in.
///
/// A program read with [`Files::Builtin`] or [`Files::Memory`] reaches nothing of the machine it is
/// read on, however its `#include`s are spelled: there is nothing that could open a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Files {
    /// None.
    #[default]
    Builtin,
    /// These texts, by path. A name relative to the including file may hold `..`.
    Memory(BTreeMap<PathBuf, String>),
    /// The disk, as `cpp` sees it: for programs of whoever runs this process, who may read those
    /// files anyway.
    Disk,
    /// The disk, with these texts in the place of the files at these absolute paths: an editor's
    /// unsaved texts.
    Overlay(Arc<BTreeMap<PathBuf, Arc<str>>>),
}

/// Where `core.p4` and `v1model.p4` come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Builtins {
    /// Ours, unless a file of that name is found beside the including file (for `"..."`) or on the
    /// include path: what p4c does with its own.
    #[default]
    AfterPath,
    /// Ours whenever these names are included, whatever is on the include path.
    BeforePath,
}

/// How a program is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folders searched for included files (`-I`), in order.
    pub include_paths: Vec<PathBuf>,
    /// Object-like macros (`-D name=value`), in order. An empty value is an empty definition.
    pub defines: Vec<(String, String)>,
    /// Where the architecture comes from.
    pub builtins: Builtins,
    /// Where included files come from.
    pub files: Files,
}

impl Default for Options {
    /// Built-in files only; `__TARGET_BMV2__` defined, as p4c does for v1model.
    fn default() -> Self {
        Self {
            include_paths: Vec::new(),
            defines: vec![("__TARGET_BMV2__".into(), "1".into())],
            builtins: Builtins::default(),
            files: Files::default(),
        }
    }
}

impl Options {
    /// The defaults, for a program on disk that includes files beside it.
    #[must_use]
    pub fn on_disk() -> Self {
        Self {
            files: Files::Disk,
            ..Self::default()
        }
    }
}

//! What a user chooses about how a program is read.

use std::collections::BTreeMap;
use std::path::PathBuf;

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
    /// Files that exist only here, by path; they hide files of the same path on disk.
    pub files: BTreeMap<PathBuf, String>,
}

impl Default for Options {
    /// No include path; `__TARGET_BMV2__` defined, as p4c does for v1model.
    fn default() -> Self {
        Self {
            include_paths: Vec::new(),
            defines: vec![("__TARGET_BMV2__".into(), "1".into())],
            builtins: Builtins::default(),
            files: BTreeMap::new(),
        }
    }
}

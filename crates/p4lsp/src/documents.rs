//! The texts that an editor has open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::TextDocumentContentChangeEvent;

use crate::position::offset;

/// Open texts by path.
#[derive(Default)]
pub(crate) struct Documents {
    texts: Arc<BTreeMap<PathBuf, Arc<str>>>,
    versions: BTreeMap<PathBuf, i32>,
}

impl Documents {
    pub(crate) fn open(&mut self, path: PathBuf, text: &str, version: i32) {
        self.versions.insert(path.clone(), version);
        Arc::make_mut(&mut self.texts).insert(path, text.into());
    }

    pub(crate) fn close(&mut self, path: &Path) {
        self.versions.remove(path);
        Arc::make_mut(&mut self.texts).remove(path);
    }

    /// Carries edits out, one after the other; of a text that is not open, none.
    pub(crate) fn edit(
        &mut self,
        path: &Path,
        edits: Vec<TextDocumentContentChangeEvent>,
        version: i32,
    ) {
        let Some(text) = Arc::make_mut(&mut self.texts).get_mut(path) else {
            return;
        };
        let mut now = text.to_string();
        for edit in edits {
            match edit.range {
                None => now = edit.text,
                Some(range) => {
                    let start = offset(&now, range.start);
                    let end = offset(&now, range.end).max(start);
                    now.replace_range(start..end, &edit.text);
                }
            }
        }
        *text = now.into();
        self.versions.insert(path.to_path_buf(), version);
    }

    pub(crate) fn text(&self, path: &Path) -> Option<&Arc<str>> {
        self.texts.get(path)
    }

    pub(crate) fn version(&self, path: &Path) -> Option<i32> {
        self.versions.get(path).copied()
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.texts.keys()
    }

    /// All open texts, as they are now.
    pub(crate) fn snapshot(&self) -> Arc<BTreeMap<PathBuf, Arc<str>>> {
        Arc::clone(&self.texts)
    }
}

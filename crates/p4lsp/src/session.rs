//! What is known of the editor's texts and the programs they are in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use p4front::Options;
use p4front::index::Reading;

use crate::analysis::{Analysis, read};
use crate::documents::Documents;
use crate::workspace::Workspace;

/// A program that is worked on.
#[derive(Default)]
pub(crate) struct Program {
    /// Grows with every edit of one of its files.
    pub(crate) generation: u64,
    /// The generation that the thread was asked for, and whether it was said that it is urgent.
    pub(crate) asked: Option<(u64, bool)>,
    pub(crate) reading: Option<(u64, Arc<Reading>)>,
    pub(crate) analysis: Option<(u64, Arc<Analysis>)>,
    /// Files that findings were published for.
    pub(crate) published: BTreeSet<PathBuf>,
}

/// Texts and programs.
pub(crate) struct Session {
    /// The options programs are read with.
    pub(crate) options: Options,
    pub(crate) documents: Documents,
    pub(crate) workspace: Workspace,
    /// Programs by their main file.
    pub(crate) programs: BTreeMap<PathBuf, Program>,
    /// Which program an open file is in.
    pub(crate) roots: BTreeMap<PathBuf, PathBuf>,
}

impl Session {
    /// The program that an open file is in, parsed as it is now.
    pub(crate) fn reading(&mut self, path: &Path) -> Option<Arc<Reading>> {
        let root = self.roots.get(path)?.clone();
        let program = self.programs.entry(root.clone()).or_default();
        let generation = program.generation;
        if let Some((at, reading)) = &program.reading
            && *at == generation
        {
            return Some(Arc::clone(reading));
        }
        let reading = read(&root, &self.documents.snapshot(), &self.options)?;
        let reading = Arc::new(reading);
        program.reading = Some((generation, Arc::clone(&reading)));
        Some(reading)
    }

    /// Programs that were parsed, with their main files.
    pub(crate) fn readings(&self) -> BTreeMap<PathBuf, Arc<Reading>> {
        let parsed = self.programs.iter().filter_map(|(root, program)| {
            let (_, reading) = program.reading.as_ref()?;
            Some((root.clone(), Arc::clone(reading)))
        });
        parsed.collect()
    }
}

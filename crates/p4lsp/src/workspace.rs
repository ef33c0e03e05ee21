//! Which program a file belongs to: the main file that includes it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::documents::Documents;
use p4front::pp::normal;

/// Files looked at, at most.
const MAX_FILES: usize = 5_000;
/// Folders inside each other, at most.
const MAX_DEPTH: usize = 12;
/// Folders above a file that are searched if the editor names no folder.
const ABOVE: usize = 3;
/// Bytes of the longest file that is looked at.
const MAX_BYTES: u64 = 1 << 22;

/// What a file says of the program it is in.
#[derive(Clone, Debug, Default)]
struct Sketch {
    /// Names in its `#include "..."` and `#include <...>`.
    includes: Vec<String>,
    /// It has an instance called `main`.
    main: bool,
}

/// The P4 files of the folders that are open.
#[derive(Default)]
pub(crate) struct Workspace {
    folders: Vec<PathBuf>,
    include_paths: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Sketch>,
    searched: BTreeSet<PathBuf>,
}

impl Workspace {
    pub(crate) fn new(folders: Vec<PathBuf>, include_paths: Vec<PathBuf>) -> Self {
        Self {
            folders,
            include_paths,
            ..Self::default()
        }
    }

    /// Files were saved, made or removed: they are looked at anew when they are needed.
    pub(crate) fn forget(&mut self) {
        self.files.clear();
        self.searched.clear();
    }

    /// The main file of the program that a file is in, one that is open if there is a choice: the
    /// file itself if it is one, or if none includes it.
    pub(crate) fn root_of(&mut self, path: &Path, documents: &Documents) -> PathBuf {
        let mains = self.including(path, documents);
        let open = mains.iter().find(|main| documents.text(main).is_some());
        let main = open.or(mains.first()).cloned();
        main.unwrap_or_else(|| path.to_path_buf())
    }

    /// All main files whose program a file is in, the nearest first; none if there are none.
    pub(crate) fn including(&mut self, path: &Path, documents: &Documents) -> Vec<PathBuf> {
        if documents.text(path).is_some_and(|text| sketch(text).main) {
            return vec![path.to_path_buf()];
        }
        for folder in self.places(path) {
            self.search(&folder);
            let mut files = self.files.clone();
            for open in documents.paths() {
                if let Some(text) = documents.text(open) {
                    files.insert(open.clone(), sketch(text));
                }
            }
            let found = self.mains_above(path, &files);
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// All main files of the folders that are open.
    pub(crate) fn mains(&mut self) -> Vec<PathBuf> {
        for folder in self.folders.clone() {
            self.search(&folder);
        }
        let mains = self.files.iter().filter(|(_, sketch)| sketch.main);
        mains.map(|(path, _)| path.clone()).collect()
    }

    /// Folders to search for what includes a file, one after the other.
    fn places(&self, path: &Path) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = self.folders.clone();
        if !places.iter().any(|folder| path.starts_with(folder)) {
            places.extend(path.ancestors().skip(1).take(ABOVE).map(Path::to_path_buf));
        }
        places.retain(|folder| folder.parent().is_some());
        places
    }

    fn search(&mut self, folder: &Path) {
        if !self.searched.insert(folder.to_path_buf()) {
            return;
        }
        let mut waiting = VecDeque::from([(folder.to_path_buf(), 0)]);
        let mut seen = 0;
        while let Some((folder, depth)) = waiting.pop_front() {
            let Ok(entries) = std::fs::read_dir(&folder) else {
                continue;
            };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                seen += 1;
                if seen > MAX_FILES * 4 || self.files.len() >= MAX_FILES {
                    return;
                }
                if path.is_symlink() {
                    continue;
                }
                if path.is_dir() {
                    if depth < MAX_DEPTH && !is_hidden(&path) {
                        waiting.push_back((path, depth + 1));
                    }
                } else if is_p4(&path) && !self.files.contains_key(&path) {
                    let sketch = read(&path);
                    self.files.insert(path, sketch);
                }
            }
        }
    }

    /// Main files that include a file, directly or not; the nearest first.
    fn mains_above(&self, path: &Path, files: &BTreeMap<PathBuf, Sketch>) -> Vec<PathBuf> {
        let mut mains = Vec::new();
        let mut seen = BTreeSet::from([path.to_path_buf()]);
        let mut waiting = VecDeque::from([path.to_path_buf()]);
        while let Some(included) = waiting.pop_front() {
            if files.get(&included).is_some_and(|sketch| sketch.main) {
                mains.push(included);
                continue;
            }
            let file_name = included.file_name();
            for (includer, sketch) in files {
                let mut names = sketch.includes.iter();
                let reaches = names.any(|name| {
                    Path::new(name).file_name() == file_name
                        && self.means(includer, name, &included)
                });
                if reaches && seen.insert(includer.clone()) {
                    waiting.push_back(includer.clone());
                }
            }
        }
        mains
    }

    /// Whether a name in an `#include` of a file means another file.
    fn means(&self, includer: &Path, name: &str, included: &Path) -> bool {
        let beside = includer.parent().into_iter().map(Path::to_path_buf);
        let mut folders = beside.chain(self.include_paths.iter().cloned());
        folders.any(|folder| normal(&folder.join(name)) == included)
    }
}

fn is_hidden(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with('.') || matches!(name, "target" | "node_modules"))
}

fn is_p4(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| matches!(ending, "p4" | "p4i" | "p4inc" | "h"))
}

fn read(path: &Path) -> Sketch {
    let small = std::fs::metadata(path).is_ok_and(|m| m.len() <= MAX_BYTES);
    match std::fs::read(path) {
        Ok(bytes) if small => sketch(&String::from_utf8_lossy(&bytes)),
        _ => Sketch::default(),
    }
}

fn sketch(text: &str) -> Sketch {
    let mut found = Sketch::default();
    let mut called = false;
    for line in text.lines() {
        let line = line.trim();
        if let Some(directive) = line.strip_prefix('#') {
            let name = directive
                .trim_start()
                .strip_prefix("include")
                .map(str::trim);
            let quoted = name.and_then(|n| n.strip_prefix(['"', '<']));
            let name = quoted.and_then(|n| n.split(['"', '>']).next());
            found.includes.extend(name.map(str::to_owned));
            continue;
        }
        let code = line.split("//").next().unwrap_or_default().trim_end();
        if let Some(before) = code.strip_suffix(';').map(str::trim_end)
            && let Some(before) = before.strip_suffix("main")
        {
            let before = before.trim_end();
            found.main |= before.ends_with(')') || (before.is_empty() && called);
        }
        if !code.is_empty() {
            called = code.ends_with(')');
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_has_includes_and_main() {
        let text = "#include <core.p4>\n# include \"a/b.p4\"\nS(P(),\n C()) main; // x\n";
        let sketch = sketch(text);
        assert_eq!(sketch.includes, ["core.p4", "a/b.p4"]);
        assert!(sketch.main);
        assert!(super::sketch("S(P())\n  main;\n").main);
        assert!(!super::sketch("// the main;\ndomain;\n").main);
    }
}

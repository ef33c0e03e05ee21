//! The labs that are part of this program: what judges read comes from here, whatever a student's
//! copy holds.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Files by their path within the lab.
type Files = &'static [(&'static str, &'static [u8])];

/// A lab of the course.
#[derive(Clone, Copy)]
pub(crate) struct Builtin {
    /// The name of its folder.
    pub(crate) name: &'static str,
    files: Files,
}

include!(concat!(env!("OUT_DIR"), "/labs.rs"));

/// What judges read of a lab: these files, and everything in these folders.
const PARTS: [&str; 5] = ["cases", "given", "given.yaml", "lab.yaml", "programs"];

/// How a copy of a lab differs from the lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The file, within the lab's folder.
    pub file: String,
    /// How.
    pub how: Differs,
}

/// See [`Difference`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Differs {
    /// The copy has no such file.
    Missing,
    /// The copy has other content.
    Changed,
    /// The lab has no such file.
    Added,
}

/// The lab whose folder has this name.
pub(crate) fn by_name(name: &str) -> Option<Builtin> {
    LABS.iter().copied().find(|lab| lab.name == name)
}

/// All labs.
pub(crate) fn all() -> &'static [Builtin] {
    LABS
}

impl Builtin {
    /// One of its files, as text.
    pub(crate) fn text(&self, file: &str) -> Option<&'static str> {
        let (_, bytes) = self.files.iter().find(|(name, _)| *name == file)?;
        std::str::from_utf8(bytes).ok()
    }

    /// Writes the lab into a folder, with `common` beside it.
    pub(crate) fn lay_out(&self, folder: &Path) -> io::Result<()> {
        let own = self
            .files
            .iter()
            .map(|(name, bytes)| (self.name, name, bytes));
        let common = COMMON.iter().map(|(name, bytes)| ("common", name, bytes));
        for (part, name, bytes) in own.chain(common) {
            let path = folder.join(part).join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, bytes)?;
        }
        Ok(())
    }

    /// Where a copy differs, by file.
    pub(crate) fn differences(&self, folder: &Path) -> Vec<Difference> {
        let copy = read_all(folder);
        let mut found = BTreeMap::new();
        for (name, bytes) in self.files {
            match copy.get(*name) {
                None => found.insert((*name).to_owned(), Differs::Missing),
                Some(other) if other != bytes => found.insert((*name).to_owned(), Differs::Changed),
                Some(_) => None,
            };
        }
        for name in copy.into_keys() {
            if !self.files.iter().any(|(known, _)| *known == name) {
                found.insert(name, Differs::Added);
            }
        }
        let pairs = found.into_iter();
        pairs.map(|(file, how)| Difference { file, how }).collect()
    }

    /// The digest of what judges read, common files too.
    pub(crate) fn digest(&self) -> String {
        let own = self.files.iter().map(|(name, bytes)| (*name, *bytes));
        let common = COMMON.iter().map(|(name, bytes)| (*name, *bytes));
        digest(own.chain(common))
    }
}

/// What judges would read of a folder; what cannot be read is left out.
fn read_all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for part in PARTS {
        walk(folder, Path::new(part), &mut files);
    }
    files
}

fn walk(root: &Path, below: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    let path = root.join(below);
    if path.is_file() {
        if let Ok(bytes) = std::fs::read(&path) {
            files.insert(below.to_string_lossy().into_owned(), bytes);
        }
        return;
    }
    for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
        walk(root, &below.join(entry.file_name()), files);
    }
}

/// The digest of what judges read of a folder.
pub(crate) fn digest_of(folder: &Path) -> String {
    let files = read_all(folder);
    digest(
        files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice())),
    )
}

/// SHA-256 of names, lengths and contents, in hexadecimal.
fn digest<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    for (name, bytes) in files {
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    }
    hex(&hash.finalize())
}

/// SHA-256 of a text, in hexadecimal.
pub(crate) fn digest_of_text(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! A directory that appears complete or not at all: written beside its place, then renamed into it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use files::Scratch;
use thiserror::Error;

use super::digest::Digest;
use super::manifest::{BuildDirectory, MANIFEST};

/// Why a directory cannot be written.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// There is something else in its place.
    #[error(
        "`{0}` exists and is not a build directory of Switchwright (it has no {MANIFEST}): name another \
         place, or remove it yourself"
    )]
    NotOurs(PathBuf),
    /// The path names no directory of its own (`/`, `..`).
    #[error("`{0}` cannot be a build directory: name a directory that may be made or replaced")]
    NoName(PathBuf),
    /// The operating system refused.
    #[error("cannot write `{path}`: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A directory under construction. Dropped before [`commit`](Self::commit), it leaves nothing
/// behind.
pub(crate) struct Staging {
    place: Place,
    digests: Mutex<BTreeMap<String, Digest>>,
}

/// Where the files go.
enum Place {
    Disk(Workshop),
    /// Files by path.
    Memory(Mutex<BTreeMap<String, Vec<u8>>>),
}

/// A directory on the disk, beside its place.
struct Workshop {
    /// Holds what is being written, and the replaced directory for a moment.
    scratch: Scratch,
    target: PathBuf,
}

impl Workshop {
    fn root(&self) -> PathBuf {
        self.scratch.path().join("new")
    }
}

impl Staging {
    /// Starts a directory that is never on a disk.
    pub(crate) fn in_memory() -> Self {
        Self {
            place: Place::Memory(Mutex::default()),
            digests: Mutex::default(),
        }
    }

    /// Starts a directory that is to stand at `target`.
    pub(crate) fn beside(target: &Path) -> Result<Self, DirectoryError> {
        let target = &followed(target);
        let name = target
            .file_name()
            .ok_or_else(|| DirectoryError::NoName(target.to_owned()))?;
        refuse_foreign(target)?;
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(parent).map_err(at(parent))?;
        let prefix = format!(".{}.", name.to_string_lossy());
        let scratch = Scratch::within(parent, &prefix).map_err(at(parent))?;
        let workshop = Workshop {
            scratch,
            target: target.to_owned(),
        };
        let root = workshop.root();
        std::fs::create_dir(&root).map_err(at(&root))?;
        Ok(Self {
            place: Place::Disk(workshop),
            digests: Mutex::default(),
        })
    }

    /// Makes a directory, and those above it.
    pub(crate) fn make_dir(&self, relative: &str) -> Result<(), DirectoryError> {
        let Place::Disk(workshop) = &self.place else {
            return Ok(());
        };
        let path = workshop.root().join(relative);
        std::fs::create_dir_all(&path).map_err(at(&path))
    }

    /// Writes a file (its directory exists) and remembers its digest.
    pub(crate) fn write(&self, relative: &str, bytes: &[u8]) -> Result<(), DirectoryError> {
        self.write_unlisted(relative, bytes)?;
        let digest = Digest::of(bytes);
        let mut digests = match self.digests.lock() {
            Ok(digests) => digests,
            Err(poisoned) => poisoned.into_inner(),
        };
        digests.insert(relative.to_owned(), digest);
        Ok(())
    }

    /// Writes a file that the manifest does not list: the manifest.
    pub(crate) fn write_unlisted(
        &self,
        relative: &str,
        bytes: &[u8],
    ) -> Result<(), DirectoryError> {
        match &self.place {
            Place::Disk(workshop) => {
                let path = workshop.root().join(relative);
                std::fs::write(&path, bytes).map_err(at(&path))
            }
            Place::Memory(files) => {
                let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
                files.insert(relative.to_owned(), bytes.to_vec());
                Ok(())
            }
        }
    }

    /// The digests of all files written so far, by path.
    pub(crate) fn digests(&self) -> BTreeMap<String, Digest> {
        match self.digests.lock() {
            Ok(digests) => digests.clone(),
            Err(poisoned) => poisoned.into_inner().clone(),
        }
    }

    /// Puts the directory in its place, where it has one. A build directory that stood there is
    /// gone afterwards. Otherwise its files, by path.
    pub(crate) fn commit(self) -> Result<BTreeMap<String, Vec<u8>>, DirectoryError> {
        match self.place {
            Place::Disk(workshop) => workshop.commit().map(|()| BTreeMap::new()),
            Place::Memory(files) => Ok(files.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

impl Workshop {
    fn commit(self) -> Result<(), DirectoryError> {
        refuse_foreign(&self.target)?;
        let old = self.scratch.path().join("old");
        let replaces = self.target.symlink_metadata().is_ok();
        if replaces {
            let mode = std::fs::metadata(&self.target).map_err(at(&self.target))?;
            std::fs::set_permissions(self.root(), mode.permissions()).map_err(at(&self.target))?;
            std::fs::rename(&self.target, &old).map_err(at(&self.target))?;
        }
        if let Err(error) = std::fs::rename(self.root(), &self.target) {
            if replaces {
                std::fs::rename(&old, &self.target).map_err(at(&self.target))?;
            }
            return Err(at(&self.target)(error));
        }
        Ok(())
    }
}

/// Where a link leads: the link stays, what it leads to is replaced.
fn followed(target: &Path) -> PathBuf {
    match target.symlink_metadata() {
        Ok(found) if found.is_symlink() => target.canonicalize().unwrap_or(target.to_owned()),
        _ => target.to_owned(),
    }
}

/// Refuses to replace anything but a build directory or an empty one.
fn refuse_foreign(target: &Path) -> Result<(), DirectoryError> {
    if target.symlink_metadata().is_err() {
        return Ok(());
    }
    let empty = std::fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    if empty || BuildDirectory::open(target).is_ok() {
        Ok(())
    } else {
        Err(DirectoryError::NotOurs(target.to_owned()))
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> DirectoryError + use<> {
    let path = path.to_owned();
    move |source| DirectoryError::Io {
        path: path.clone(),
        source,
    }
}

/// A name of a switch or host as a file name: what is not a letter, a digit, `.`, `_` or `-`
/// becomes `%XX`, and so does a leading dot or `-`: commands take what begins with `-` for an
/// option. Different names stay different.
#[must_use]
pub fn file_name(name: &str) -> String {
    use std::fmt::Write as _;

    let mut out = String::with_capacity(name.len());
    for (index, byte) in name.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || byte == b'_';
        if plain || (matches!(byte, b'.' | b'-') && index > 0) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_safe_and_stay_apart() {
        assert_eq!(file_name("leaf-1.a"), "leaf-1.a");
        assert_eq!(file_name("-rf"), "%2Drf");
        assert_eq!(file_name("../etc"), "%2E.%2Fetc");
        assert_eq!(file_name("New York"), "New%20York");
        assert_eq!(file_name("New%20York"), "New%2520York");
    }

    #[test]
    fn nothing_is_left_behind_without_commit() {
        let place = tempfile::tempdir().unwrap();
        let staging = Staging::beside(&place.path().join("out")).unwrap();
        staging.write("a", b"1").unwrap();
        drop(staging);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_empty_directory_is_replaced_and_a_foreign_one_is_not() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        std::fs::create_dir(&target).unwrap();
        let staging = Staging::beside(&target).unwrap();
        staging.write("a", b"1").unwrap();
        staging.commit().unwrap();
        assert_eq!(std::fs::read(target.join("a")).unwrap(), b"1");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        // What stands there now has no manifest: not ours.
        assert!(matches!(
            Staging::beside(&target),
            Err(DirectoryError::NotOurs(_))
        ));
        assert_eq!(std::fs::read(target.join("a")).unwrap(), b"1");
    }

    #[test]
    fn a_path_without_a_name_is_refused() {
        for path in ["/", "..", "a/.."] {
            let staging = Staging::beside(Path::new(path));
            assert!(matches!(staging, Err(DirectoryError::NoName(_))), "{path}");
        }
    }
}

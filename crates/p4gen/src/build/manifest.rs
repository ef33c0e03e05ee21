//! `manifest.json`: what a build directory was made from and what is in it. It is what makes a
//! directory ours, and how `trace` and `push` find their files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use plan::Provenance;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::digest::Digest;
use crate::capabilities::{Api, Capabilities};
use crate::targets::{self, ProgramFiles, SwitchFiles};

/// File name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// What [`Manifest::format`] says.
const FORMAT: &str = "switchwright-build";
/// The version of the format that this code writes, and the only one that it reads.
const VERSION: u32 = 1;

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Always `switchwright-build`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Version of Switchwright that built it.
    pub built_by: String,
    /// The target.
    pub target: String,
    /// How many priority queues a switch needs (BMv2: `--priority-queues`).
    pub priority_queues: u16,
    /// The program.
    pub program: ProgramFiles,
    /// What it was made from.
    pub made_from: MadeFrom,
    /// The switches, in topology order; the position is the P4Runtime device id.
    pub switches: Vec<SwitchFiles>,
    /// SHA-256 of every file except this one, by path.
    pub files: BTreeMap<String, Digest>,
}

/// What a build was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeFrom {
    /// The topology's name.
    pub topology: String,
    /// The plan file in this directory.
    pub plan: String,
    /// How the plan was made: scheme, options, seed, tool and version.
    pub provenance: Provenance,
}

impl Manifest {
    /// A manifest of this version.
    pub(crate) fn new(
        target: &str,
        priority_queues: u16,
        program: ProgramFiles,
        made_from: MadeFrom,
        switches: Vec<SwitchFiles>,
        files: BTreeMap<String, Digest>,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            built_by: env!("CARGO_PKG_VERSION").to_owned(),
            target: target.to_owned(),
            priority_queues,
            program,
            made_from,
            switches,
            files,
        }
    }
}

/// A build directory that exists.
#[derive(Clone, Debug)]
pub struct BuildDirectory {
    path: PathBuf,
    manifest: Manifest,
}

/// Why a directory cannot be used.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// There is no manifest, or it cannot be read.
    #[error(
        "`{path}` cannot be read ({source}): is this a directory that `switchwright build` made?"
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The manifest is not one of ours.
    #[error("`{path}` is not a manifest of Switchwright: {reason}; build the directory anew")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Another version's.
    #[error(
        "`{path}` has version {found}, this program reads version {VERSION}: build the directory anew"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u32,
    },
    /// A file was changed after the build.
    #[error("`{path}` is not what was built (its digest differs from the manifest's): build anew")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// It was built for switches that are not reached so.
    #[error(
        "`{directory}` was built for target {target}, whose tables are filled over {api} (`switchwright push` does it); build with `--target v1model` for \
         this"
    )]
    Target {
        /// The directory.
        directory: PathBuf,
        /// Its target.
        target: String,
        /// That target's API.
        api: &'static str,
    },
    /// There is no such switch.
    #[error("there is no switch `{name}` in `{directory}`")]
    NoSuchSwitch {
        /// The name asked for.
        name: String,
        /// The directory.
        directory: PathBuf,
    },
}

impl BuildDirectory {
    /// Opens a build directory.
    ///
    /// # Errors
    /// [`ManifestError`] unless it has a manifest of this version.
    pub fn open(path: &Path) -> Result<Self, ManifestError> {
        let file = path.join(MANIFEST);
        let text = std::fs::read_to_string(&file).map_err(|source| ManifestError::Unreadable {
            path: file.clone(),
            source,
        })?;
        let malformed = |reason: String| ManifestError::Malformed {
            path: file.clone(),
            reason,
        };
        let head: Head = serde_json::from_str(&text).map_err(|e| malformed(e.to_string()))?;
        if head.format != FORMAT {
            return Err(malformed(format!("its format is `{}`", head.format)));
        }
        if head.version != VERSION {
            return Err(ManifestError::Version {
                path: file,
                found: head.version,
            });
        }
        let manifest = serde_json::from_str(&text).map_err(|e| malformed(e.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            manifest,
        })
    }

    /// What it was built for.
    ///
    /// # Errors
    /// [`ManifestError::Malformed`] for a target that there is not.
    pub fn target(&self) -> Result<&'static Capabilities, ManifestError> {
        let name = &self.manifest.target;
        let found = targets::named(name).map(targets::Target::capabilities);
        found.ok_or_else(|| ManifestError::Malformed {
            path: self.path.join(MANIFEST),
            reason: format!("there is no target `{name}`"),
        })
    }

    /// The directory, if its switches are reached over P4Runtime.
    ///
    /// # Errors
    /// [`ManifestError::Target`].
    pub fn over_p4runtime(self) -> Result<Self, ManifestError> {
        match targets::named(&self.manifest.target).map(|target| target.capabilities().api) {
            Some(api @ Api::BfRuntime) => Err(ManifestError::Target {
                target: self.manifest.target,
                directory: self.path,
                api: api.name(),
            }),
            _ => Ok(self),
        }
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The path of a file that the manifest names.
    #[must_use]
    pub fn path(&self, relative: &str) -> PathBuf {
        self.path.join(relative)
    }

    /// Reads a file of the directory and holds it against the manifest.
    ///
    /// # Errors
    /// [`ManifestError::Unreadable`], or [`ManifestError::Changed`] if it is not what was built.
    pub fn read(&self, relative: &str) -> Result<Vec<u8>, ManifestError> {
        let path = self.path(relative);
        let bytes = std::fs::read(&path).map_err(|source| ManifestError::Unreadable {
            path: path.clone(),
            source,
        })?;
        if self.manifest.files.get(relative) == Some(&Digest::of(&bytes)) {
            Ok(bytes)
        } else {
            Err(ManifestError::Changed { path })
        }
    }

    /// Reads a text file of the directory; see [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_text(&self, relative: &str) -> Result<String, ManifestError> {
        let bytes = self.read(relative)?;
        String::from_utf8(bytes).map_err(|_| ManifestError::Changed {
            path: self.path(relative),
        })
    }

    /// Holds the program, with the files that it includes, against the manifest.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn program_unchanged(&self) -> Result<(), ManifestError> {
        let files = self.manifest.files.keys();
        let mut sources = files.filter(|path| path.ends_with(".p4"));
        sources.try_for_each(|path| self.read(path).map(drop))
    }

    /// The files of a switch.
    ///
    /// # Errors
    /// [`ManifestError::NoSuchSwitch`].
    pub fn switch(&self, name: &str) -> Result<&SwitchFiles, ManifestError> {
        let found = self.manifest.switches.iter().find(|s| s.name == name);
        found.ok_or_else(|| ManifestError::NoSuchSwitch {
            name: name.to_owned(),
            directory: self.path.clone(),
        })
    }
}

/// As much of a manifest as every version has.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

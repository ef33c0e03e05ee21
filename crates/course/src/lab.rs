//! A lab's folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

/// The first line of a `lab.yaml`.
const FORMAT: &str = "switchwright-lab";
/// The version of the format that is read.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// How work is judged.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Judge {
    /// A P4 program plays all `cases/*.stf`.
    Program {
        /// Texts of the program that are others while it is judged.
        #[serde(default)]
        substitute: BTreeMap<String, String>,
    },
    /// A plan file for `topology.json` is proven.
    Plan {
        /// Lossless priorities that it may use.
        most_priorities: usize,
        /// Rules that a switch may have.
        most_rules: usize,
    },
    /// A scenario of the simulator deadlocks without tags, and not with them.
    Scenario,
    /// A Python program fills a switch that runs `given/router.p4`, over P4Runtime; packets of all `cases/*.stf` go through it.
    Controller,
    /// An STF case passes on `programs/right.p4` and fails on every `programs/wrong-*.p4`.
    Test,
}

/// Why a lab cannot be graded.
#[derive(Debug, Error)]
pub enum LabError {
    /// A file of the lab, or the work, cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The folder is no lab.
    #[error("{path}: {why}")]
    Broken {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// Something that judging takes is not here.
    #[error("{why}")]
    Missing {
        /// What, and how it can be had.
        why: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabFile {
    format: String,
    version: u32,
    title: String,
    #[serde(rename = "minutes")]
    _minutes: u32,
    file: PathBuf,
    judge: Judge,
}

/// A lab.
#[derive(Clone, Debug)]
pub struct Lab {
    /// Its folder.
    pub folder: PathBuf,
    /// Its title.
    pub title: String,
    /// The file that students change, within the folder.
    pub file: PathBuf,
    /// How it is judged.
    pub judge: Judge,
}

impl Lab {
    /// Opens a lab's folder.
    ///
    /// # Errors
    /// [`LabError`] if there is no `lab.yaml`, or it is none.
    pub fn open(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join("lab.yaml");
        let text = read(&path)?;
        let broken = |why: String| LabError::Broken {
            path: path.display().to_string(),
            why,
        };
        let lab: LabFile = serde_saphyr::from_str(&text).map_err(|e| broken(e.to_string()))?;
        if lab.format != FORMAT || lab.version != VERSION {
            return Err(broken(format!(
                "not a lab: expected `format: {FORMAT}` and `version: {VERSION}`"
            )));
        }
        Ok(Self {
            folder: folder.to_owned(),
            title: lab.title,
            file: lab.file,
            judge: lab.judge,
        })
    }

    /// What students change.
    #[must_use]
    pub fn start(&self) -> PathBuf {
        self.folder.join(&self.file)
    }

    /// The solution that comes along.
    #[must_use]
    pub fn solution(&self) -> PathBuf {
        self.folder.join("solution").join(&self.file)
    }

    /// The files of a folder of the lab that end so, in order.
    pub(crate) fn files(&self, folder: &str, ending: &str) -> Result<Vec<PathBuf>, LabError> {
        let folder = self.folder.join(folder);
        let failed = |source| LabError::Read {
            path: folder.display().to_string(),
            source,
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
        found.sort();
        if found.is_empty() {
            let why = format!("no file that ends in {ending}");
            let path = folder.display().to_string();
            return Err(LabError::Broken { path, why });
        }
        Ok(found)
    }
}

/// The text of a file of bounded size.
pub(crate) fn read(path: &Path) -> Result<String, LabError> {
    let failed = |source| LabError::Read {
        path: path.display().to_string(),
        source,
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MAX_BYTES {
        let why = format!("{size} bytes are too many; the limit is {MAX_BYTES}");
        let path = path.display().to_string();
        return Err(LabError::Broken { path, why });
    }
    std::fs::read_to_string(path).map_err(failed)
}

/// The name of a case by its file.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

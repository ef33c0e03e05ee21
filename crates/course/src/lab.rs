//! A lab's folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::Scratch;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::builtin::{self, Builtin, Difference};

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
    /// A Python program fills a switch that runs `given/router.p4`, over P4Runtime; packets of all
    /// `cases/*.stf` go through it.
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
    /// Cases that the skeleton passes: they must pass, and are worth no point.
    #[serde(default)]
    skeleton_passes: Vec<String>,
}

/// Whose cases work is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cases {
    /// Those of this program, for labs that it knows; the folder's own for others.
    #[default]
    Program,
    /// Those of the folder.
    Folder,
}

/// A lab.
#[derive(Clone, Debug)]
pub struct Lab {
    /// The folder that was named: the student's copy.
    pub home: PathBuf,
    /// The folder that judges read.
    pub folder: PathBuf,
    /// Its title.
    pub title: String,
    /// The file that students change, within the folder.
    pub file: PathBuf,
    /// How it is judged.
    pub judge: Judge,
    /// Cases that are worth no point, for the skeleton passes them.
    pub skeleton_passes: Vec<String>,
    /// Where cases come from.
    pub cases: Cases,
    /// SHA-256 of everything that judges read.
    pub digest: String,
    /// Where the student's copy differs from what judges read.
    pub differences: Vec<Difference>,
    /// Where what judges read lies, if it came from this program.
    _scratch: Option<Arc<Scratch>>,
}

impl Lab {
    /// Opens a lab. One that this program knows, by the name of the folder or by its title, is
    /// judged by this program's cases unless `cases` says otherwise, and its folder need hold no
    /// more than the work.
    ///
    /// # Errors
    /// [`LabError`] if there is no `lab.yaml`, or it is none.
    pub fn open(folder: &Path, cases: Cases) -> Result<Self, LabError> {
        if cases == Cases::Program
            && let Some(known) = known(folder)
        {
            return Self::of_program(folder, known);
        }
        let path = folder.join("lab.yaml");
        let text = read(&path)?;
        Ok(Self {
            cases: Cases::Folder,
            digest: builtin::digest_of(folder),
            ..Self::parse(folder, &path, &text)?
        })
    }

    fn of_program(home: &Path, known: Builtin) -> Result<Self, LabError> {
        let failed = |source| LabError::Read {
            path: format!("a copy of lab {}", known.name),
            source,
        };
        let scratch = Scratch::new().map_err(failed)?;
        known.lay_out(scratch.path()).map_err(failed)?;
        let folder = scratch.path().join(known.name);
        let path = folder.join("lab.yaml");
        let lab = Self::parse(home, &path, known.text("lab.yaml").unwrap_or_default())?;
        Ok(Self {
            folder,
            cases: Cases::Program,
            digest: known.digest(),
            differences: match home.join("lab.yaml").is_file() || home.join("cases").is_dir() {
                true => known.differences(home),
                // No copy, but a folder with the work.
                false => Vec::new(),
            },
            _scratch: Some(Arc::new(scratch)),
            ..lab
        })
    }

    fn parse(folder: &Path, path: &Path, text: &str) -> Result<Self, LabError> {
        let broken = |why: String| LabError::Broken {
            path: path.display().to_string(),
            why,
        };
        let lab: LabFile =
            serde_saphyr::from_str(text).map_err(|e| broken(topology::yaml_problem(text, &e)))?;
        if lab.format != FORMAT || lab.version != VERSION {
            return Err(broken(format!(
                "not a lab: expected `format: {FORMAT}` and `version: {VERSION}`"
            )));
        }
        Ok(Self {
            home: folder.to_owned(),
            folder: folder.to_owned(),
            title: lab.title,
            file: lab.file,
            judge: lab.judge,
            skeleton_passes: lab.skeleton_passes,
            cases: Cases::Folder,
            digest: String::new(),
            differences: Vec::new(),
            _scratch: None,
        })
    }

    /// Folders that programs of the lab include from: what judges read, then the student's own.
    pub(crate) fn include(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.clone(), self.folder.join("../common")];
        if self.home != self.folder {
            folders.push(self.home.clone());
        }
        folders
    }

    /// What students change.
    #[must_use]
    pub fn start(&self) -> PathBuf {
        self.home.join(&self.file)
    }

    /// The solution that comes along.
    #[must_use]
    pub fn solution(&self) -> PathBuf {
        self.home.join("solution").join(&self.file)
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

/// The lab of this program that a folder is a copy of: by the folder's name, or by the title in its
/// `lab.yaml`.
fn known(folder: &Path) -> Option<Builtin> {
    let resolved = folder.canonicalize();
    let names = [Some(folder), resolved.as_deref().ok()];
    let names = names.into_iter().flatten().filter_map(Path::file_name);
    let named = names
        .filter_map(|name| builtin::by_name(name.to_str()?))
        .next();
    named.or_else(|| {
        let path = folder.join("lab.yaml");
        let title = |text: &str| Some(Lab::parse(folder, &path, text).ok()?.title);
        let given = title(&read(&path).ok()?)?;
        let all = builtin::all().iter().copied();
        let same = |lab: &Builtin| lab.text("lab.yaml").and_then(title).as_ref() == Some(&given);
        all.into_iter().find(same)
    })
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

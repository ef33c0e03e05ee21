//! The journal of a push: what every switch held before it, on disk before the first write, so that
//! a push can be undone later, and one that was killed can be finished or undone by the next.
//!
//! A directory with `journal.json`, which says how far the last push came, and one file per program
//! and per switch. `journal.json` is replaced in one step and last, so there is always one whole
//! journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use p4gen::build::Digest;
use p4runtime::P4InfoIndex;
use p4runtime::p4::v1;
use prost::Message as _;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::entity::{self, EntityKey};
use super::state::SwitchState;

const JOURNAL: &str = "journal.json";
const LOCK: &str = "lock";
const FORMAT: &str = "switchwright-push-journal";
const VERSION: u32 = 1;
/// The field of a `p4.v1.ReadResponse` that has the entities.
const ENTITIES: u32 = 1;

/// Why the journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The operating system refused.
    #[error("the journal `{path}` cannot be used: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of it was not written.
    #[error("the journal: {0}")]
    File(#[from] files::FileError),
    /// Another push is running.
    #[error(
        "another push is running with the journal `{0}`: wait for it, or name another with --state"
    )]
    Busy(PathBuf),
    /// A file is not what we wrote.
    #[error(
        "the journal `{path}` is damaged ({reason}): move it away to start anew, without a way back"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// There was no push.
    #[error("there is no push to undo: `{0}` holds no journal")]
    Nothing(PathBuf),
}

/// How far the last push came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// It was started; if nobody holds the lock, it was killed.
    Pushing,
    /// Everything was written and read back.
    Pushed,
    /// Everything is as it was before.
    RolledBack,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JournalFile {
    format: String,
    version: u32,
    progress: Progress,
    switches: Vec<SwitchRecord>,
}

/// Where the journal has what a switch held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchRecord {
    name: String,
    /// File with the `p4.v1.ForwardingPipelineConfig`.
    pipeline: Option<String>,
    /// File with the entities, a `p4.v1.ReadResponse`.
    entities: String,
}

/// What a switch held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Its program.
    pub pipeline: Option<v1::ForwardingPipelineConfig>,
    /// Its entities.
    pub entities: BTreeMap<EntityKey, v1::Entity>,
}

/// The files of a journal, one for what every switch held: written and read one at a time, for
/// together they may be larger than the memory.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// The journal of a network, held by us alone until this is dropped.
#[derive(Debug)]
pub struct Journal {
    store: Store,
    last: Option<JournalFile>,
    /// The operating system gives the lock back when we end, however we end.
    _lock: File,
}

impl Journal {
    /// Opens the journal, making its directory if need be.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(folder.to_owned())),
            Err(TryLockError::Error(source)) => return Err(at(&path)(source)),
        }
        Ok(Self {
            last: read(folder)?,
            store: Store {
                folder: folder.to_owned(),
            },
            _lock: lock,
        })
    }

    /// How far the last push came.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        self.last.as_ref().map(|last| last.progress)
    }

    /// Its files.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Where it has what every switch that the last push touched held before it, by the names of
    /// switches.
    ///
    /// # Errors
    /// [`JournalError::Nothing`] without a push; damaged files.
    pub fn records(&self) -> Result<BTreeMap<String, SwitchRecord>, JournalError> {
        let last = self.last.as_ref();
        let last = last.ok_or_else(|| JournalError::Nothing(self.store.folder.clone()))?;
        let records = last.switches.iter();
        records
            .map(|record| {
                // What is damaged is told before anything is brought back.
                self.store.snapshot(record)?;
                Ok((record.name.clone(), record.clone()))
            })
            .collect()
    }

    /// Records that a push begins, and what the switches that it will touch hold. Other files go.
    ///
    /// # Errors
    /// A disk that refuses: then nothing may be pushed.
    pub fn begin(&mut self, records: &BTreeMap<String, SwitchRecord>) -> Result<(), JournalError> {
        self.commit(JournalFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            progress: Progress::Pushing,
            switches: records.values().cloned().collect(),
        })?;
        self.sweep();
        Ok(())
    }

    /// Records how the push ended.
    ///
    /// # Errors
    /// A disk that refuses.
    pub fn finish(&mut self, progress: Progress) -> Result<(), JournalError> {
        match self.last.take() {
            Some(last) => self.commit(JournalFile { progress, ..last }),
            None => Ok(()),
        }
    }

    fn commit(&mut self, file: JournalFile) -> Result<(), JournalError> {
        let path = self.store.folder.join(JOURNAL);
        let text = serde_json::to_vec_pretty(&file).map_err(|error| at(&path)(error.into()))?;
        files::write_durably(&path, &text)?;
        self.last = Some(file);
        Ok(())
    }

    /// Removes files that no record names; what cannot be removed may stay.
    fn sweep(&self) {
        let records = self.last.iter().flat_map(|last| &last.switches);
        let named: BTreeSet<&str> = records
            .flat_map(|record| [Some(record.entities.as_str()), record.pipeline.as_deref()])
            .flatten()
            .collect();
        let Ok(files) = fs::read_dir(&self.store.folder) else {
            return;
        };
        for file in files.flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".pb") && !named.contains(name.as_ref()) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

impl Store {
    /// Writes down what a switch holds; it counts once [`Journal::begin`] names it.
    ///
    /// # Errors
    /// A disk that refuses.
    pub fn keep(&self, name: &str, state: &SwitchState) -> Result<SwitchRecord, JournalError> {
        let pipeline = state.pipeline.as_ref();
        let pipeline = pipeline.map(|config| self.write("pipeline", &config.encode_to_vec()));
        Ok(SwitchRecord {
            name: name.to_owned(),
            pipeline: pipeline.transpose()?,
            entities: self.write("entities", &encoded(&state.entities))?,
        })
    }

    /// What a switch held.
    ///
    /// # Errors
    /// Files that are missing or damaged.
    pub fn snapshot(&self, record: &SwitchRecord) -> Result<Snapshot, JournalError> {
        let Some(file) = &record.pipeline else {
            return Ok(Snapshot::default());
        };
        let config: v1::ForwardingPipelineConfig = self.message(file)?;
        let path = self.folder.join(&record.entities);
        let damaged = |reason: String| JournalError::Damaged {
            path: path.clone(),
            reason,
        };
        let info = config.p4info.clone().unwrap_or_default();
        let info = P4InfoIndex::new(info).map_err(|error| damaged(error.to_string()))?;
        let held: v1::ReadResponse = self.message(&record.entities)?;
        let mut entities = BTreeMap::new();
        for entity in &held.entities {
            let canonical = entity::canonical(entity, &info);
            entities.extend(canonical.map_err(|error| damaged(error.to_string()))?);
        }
        Ok(Snapshot {
            pipeline: Some(config),
            entities,
        })
    }

    fn message<M: prost::Message + Default>(&self, file: &str) -> Result<M, JournalError> {
        let path = self.folder.join(file);
        let bytes = fs::read(&path).map_err(at(&path))?;
        M::decode(bytes.as_slice()).map_err(|error| JournalError::Damaged {
            path,
            reason: error.to_string(),
        })
    }

    /// Writes a message under the name of its digest; equal messages share a file. It is there
    /// whole or not at all, also after a power failure.
    fn write(&self, kind: &str, message: &[u8]) -> Result<String, JournalError> {
        let name = format!("{kind}-{}.pb", Digest::of(message));
        let path = self.folder.join(&name);
        if !fs::read(&path).is_ok_and(|held| held == message) {
            files::write_durably(&path, message)?;
        }
        Ok(name)
    }
}

/// Entities as a `p4.v1.ReadResponse`, without a copy of them.
fn encoded(entities: &BTreeMap<EntityKey, v1::Entity>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entity in entities.values() {
        prost::encoding::message::encode(ENTITIES, entity, &mut bytes);
    }
    bytes
}

/// The digest of entities.
pub(super) fn digest(entities: &BTreeMap<EntityKey, v1::Entity>) -> Digest {
    Digest::of(&encoded(entities))
}

fn read(folder: &Path) -> Result<Option<JournalFile>, JournalError> {
    let path = folder.join(JOURNAL);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(&path)(error)),
    };
    let damaged = |reason: String| JournalError::Damaged {
        path: path.clone(),
        reason,
    };
    let file: JournalFile =
        serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    if file.format != FORMAT || file.version != VERSION {
        return Err(damaged(format!(
            "it is `{}` version {}",
            file.format, file.version
        )));
    }
    Ok(Some(file))
}

fn at(path: &Path) -> impl Fn(io::Error) -> JournalError + use<> {
    let path = path.to_owned();
    move |source| JournalError::Io {
        path: path.clone(),
        source,
    }
}

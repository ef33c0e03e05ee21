//! State on disk (`--state-dir`): the pipeline and its entries survive the process.
//!
//! One file, `state`: a snapshot and after it a journal of batches, as records with checksums
//! ([`records`]). A new snapshot is written beside and renamed over the file, so the file is whole
//! at any moment; a batch is one record, so a record cut short by a crash is dropped as a whole:
//! never half a batch. A file that was changed after it was written is refused and left as it is.
//!
//! The folder belongs to one process at a time: a second file, `lock`, is locked for as long as the
//! store is open, and the system gives the lock back however the process ends. Who is not the owner
//! may read none of it: a state has what the client wrote, keys too.
//!
//! When is what safe: a batch is handed to the operating system before the data plane gets it,
//! hence survives `kill -9` of the process. Against a crash of the machine, snapshots (a new
//! pipeline, a graceful stop) are forced to the disk at once, batches at the latest when a second
//! has passed since the last time and another batch comes.

mod records;

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use p4runtime::p4::v1;
use prost::Message;
use thiserror::Error;

use super::encoded::EncodedWrite;
use super::pipeline::Pipeline;
use super::restore;
use crate::engine::EngineHandle;
use crate::translate::refusal::Refusal;
use records::{FileItem, MAGIC, Records, frame};

/// Updates in one record of a snapshot.
const CHUNK: usize = 1000;

/// A journal is rewritten when it is this large, and twice its snapshot.
const COMPACT_FROM: u64 = 64 << 20;

/// Batches are forced to the disk this often at most.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Files are their owner's alone, and so is a folder that is made for them.
const OWNER_FILE: u32 = 0o600;
const OWNER_FOLDER: u32 = 0o700;

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A `ForwardingPipelineConfig`.
    Config = 1,
    /// A `WriteRequest` that is part of the snapshot.
    State = 2,
    /// Nothing: the snapshot is whole.
    Sealed = 3,
    /// A `WriteRequest` that came after it.
    Batch = 4,
}

impl Kind {
    fn of(number: u8) -> Option<Self> {
        [Self::Config, Self::State, Self::Sealed, Self::Batch]
            .into_iter()
            .find(|kind| *kind as u8 == number)
    }
}

/// Why the state cannot be kept or found.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refuses.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// Another process keeps its state there.
    #[error(
        "{folder} holds the state of another switch that runs (process {owner}); name another folder, or stop that switch first"
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Its process, if that is known.
        owner: String,
    },
    /// The file is not what it should be.
    #[error(
        "{path} is damaged at byte {place} of {size}: {why}; it is left as it is. To start without it, move it away or name another folder{}",
        salvage_hint(path, *place, *salvage)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the first record begins that is not as it was written.
        place: u64,
        /// Bytes of the file.
        size: u64,
        /// Whether what stands before is a whole state: an older one.
        salvage: bool,
        /// What is wrong.
        why: String,
    },
    /// It cannot be written.
    #[error("{path}: {why}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The state does not fit its own program.
    #[error("{path}: {refusal}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        refusal: Refusal,
    },
}

/// How to go on with what stands before the damage.
fn salvage_hint(path: &Path, place: u64, possible: bool) -> String {
    if !possible {
        return String::new();
    }
    let path = path.display();
    format!(
        "; to start with what was saved before the damage, keep a copy and run `truncate -s {place} {path}`"
    )
}

/// A folder where state is kept, locked until this is closed or dropped.
pub struct Store {
    path: PathBuf,
    lock: Option<File>,
    journal: Option<File>,
    /// A part of a record that could not be written may stand behind the journal.
    untidy: bool,
    snapshot_bytes: u64,
    journal_bytes: u64,
    synced: Instant,
}

/// Opens a file of ours to write, made for its owner alone, or made so.
fn owned(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.write(true).mode(OWNER_FILE).open(path)?;
    file.set_permissions(Permissions::from_mode(OWNER_FILE))?;
    Ok(file)
}

/// Locks a folder for this process, and writes down which it is.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("lock");
    let io = |source| StoreError::Io {
        path: path.clone(),
        source,
    };
    let mut options = OpenOptions::new();
    let mut file = owned(&path, options.read(true).create(true).truncate(false)).map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            // Only for the message: what cannot be read is not said.
            let _ = (&file).take(20).read_to_string(&mut owner);
            let owner = Some(owner.trim()).filter(|o| !o.is_empty());
            return Err(StoreError::Locked {
                folder: folder.to_owned(),
                owner: owner.unwrap_or("unknown").to_owned(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    let process = format!("{}\n", std::process::id());
    let written = file
        .set_len(0)
        .and_then(|()| file.write_all(process.as_bytes()));
    written.map_err(io)?;
    Ok(file)
}

impl Store {
    /// The store of a folder, which is made if need be.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process has it; [`StoreError::Io`] if it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(OWNER_FOLDER)
            .create(folder);
        made.map_err(|source| StoreError::Io {
            path: folder.to_owned(),
            source,
        })?;
        Ok(Self {
            lock: Some(lock(folder)?),
            path: folder.join("state"),
            journal: None,
            untidy: false,
            snapshot_bytes: 0,
            journal_bytes: 0,
            synced: Instant::now(),
        })
    }

    /// Gives the folder back: nothing is written from now on.
    pub fn close(&mut self) {
        self.lock = None;
        self.journal = None;
    }

    fn io(&self) -> impl Fn(io::Error) -> StoreError + use<'_> {
        |source| StoreError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn check_open(&self) -> Result<(), StoreError> {
        if self.lock.is_some() {
            return Ok(());
        }
        Err(StoreError::Unwritable {
            path: self.path.clone(),
            why: "the switch is stopping",
        })
    }

    /// The pipeline that was saved, ready to run; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`] if there is one that cannot be restored; the file is as it was then.
    pub fn restore(&mut self, engine: &EngineHandle) -> Result<Option<Pipeline>, StoreError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(self.io()(e)),
        };
        let Some(mut records) = Records::open(file).map_err(self.io())? else {
            return Err(StoreError::Damaged {
                path: self.path.clone(),
                place: 0,
                size: fs::metadata(&self.path).map_or(0, |m| m.len()),
                salvage: false,
                why: "it does not begin as a state file does".to_owned(),
            });
        };
        let (pipeline, snapshot_bytes) = self.replay(engine, &mut records)?;
        if records.old {
            // Its records do not say whether their lengths are right: it goes on in today's layout.
            self.snapshot(&pipeline)?;
        } else {
            self.resume(&records, snapshot_bytes)?;
        }
        Ok(Some(pipeline))
    }

    /// Makes what the records say, and tells how many bytes the snapshot has.
    fn replay(
        &self,
        engine: &EngineHandle,
        records: &mut Records,
    ) -> Result<(Pipeline, u64), StoreError> {
        let mut snapshot_bytes = None;
        let mut restored = Restored {
            engine,
            pipeline: None,
            sealed: false,
        };
        let (place, why) = loop {
            let place = records.place;
            match records.next().map_err(self.io())? {
                FileItem::Record(kind, payload) => match restored.take(kind, &payload) {
                    Ok(()) if restored.sealed => {
                        snapshot_bytes.get_or_insert(records.place);
                    }
                    Ok(()) => {}
                    Err(Wrong::Refused(refusal)) => {
                        return Err(StoreError::Refused {
                            path: self.path.clone(),
                            refusal,
                        });
                    }
                    Err(Wrong::Unfit(why)) => break (place, why),
                },
                FileItem::Damaged(why) => break (place, why),
                FileItem::Torn if records.old => break (place, "its last record is cut short"),
                FileItem::End | FileItem::Torn => match (restored.pipeline, snapshot_bytes) {
                    (Some(pipeline), Some(snapshot)) => return Ok((pipeline, snapshot)),
                    _ => break (place, "its snapshot is cut short"),
                },
            }
        };
        Err(StoreError::Damaged {
            path: self.path.clone(),
            place,
            size: records.size,
            salvage: snapshot_bytes.is_some(),
            why: why.to_owned(),
        })
    }

    /// Drops what a crash cut short, and lets new batches follow what is whole.
    fn resume(&mut self, records: &Records, snapshot_bytes: u64) -> Result<(), StoreError> {
        let file = owned(&self.path, &mut OpenOptions::new()).map_err(self.io())?;
        if records.left() > 0 {
            tracing::warn!(
                file = %self.path.display(),
                "the end of the file is not whole, as a crash leaves it: its {} bytes from byte {} on are dropped",
                records.left(),
                records.place
            );
            file.set_len(records.place).map_err(self.io())?;
        }
        self.snapshot_bytes = snapshot_bytes;
        self.journal_bytes = records.place - snapshot_bytes;
        self.journal = Some(file);
        Ok(())
    }

    /// Starts over with a pipeline and what it holds, safely on disk.
    ///
    /// # Errors
    /// [`StoreError`]; the file is as it was then.
    pub fn pipeline(&mut self, pipeline: &Pipeline) -> Result<(), StoreError> {
        self.snapshot(pipeline)
    }

    /// Writes everything a pipeline holds, safely to disk.
    ///
    /// # Errors
    /// [`StoreError`]; the file is as it was then.
    pub fn snapshot(&mut self, pipeline: &Pipeline) -> Result<(), StoreError> {
        self.check_open()?;
        let next = self.path.with_extension("next");
        let at_next = |source| StoreError::Io {
            path: next.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        let file = owned(&next, options.create(true).truncate(true)).map_err(at_next)?;
        let mut out = Snapshot {
            out: BufWriter::with_capacity(1 << 20, file),
            written: 0,
            failed: None,
        };
        out.put(MAGIC);
        out.record(Kind::Config, &pipeline.config);
        let mut chunk = v1::WriteRequest::default();
        restore::replay(&pipeline.contents, &mut |update| {
            chunk.updates.push(update);
            if chunk.updates.len() == CHUNK {
                out.record(Kind::State, &chunk);
                chunk.updates.clear();
            }
        })
        .map_err(|refusal| StoreError::Refused {
            path: self.path.clone(),
            refusal,
        })?;
        if !chunk.updates.is_empty() {
            out.record(Kind::State, &chunk);
        }
        out.record(Kind::Sealed, &v1::WriteResponse {});
        if let Some(error) = out.failed {
            return Err(at_next(error));
        }
        let file = out.out.into_inner().map_err(|e| at_next(e.into_error()))?;
        file.sync_all().map_err(at_next)?;
        fs::rename(&next, &self.path).map_err(self.io())?;
        self.snapshot_bytes = out.written;
        self.journal_bytes = 0;
        self.untidy = false;
        self.journal = Some(file);
        // From here on the new file is the one that counts: what may still fail is only when its
        // name is safe.
        let folder = self.path.parent().unwrap_or(Path::new("."));
        if let Err(error) = File::open(folder).and_then(|f| f.sync_all()) {
            tracing::warn!(folder = %folder.display(), %error, "a crash of the machine may bring an older state back");
        }
        Ok(())
    }

    /// Adds a batch: those of its updates that were made.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the batch must not be made then.
    pub fn batch(
        &mut self,
        request: &EncodedWrite,
        refusals: &[(usize, Refusal)],
        whole: bool,
    ) -> Result<(), StoreError> {
        if refusals.len() == request.updates.len() || (whole && !refusals.is_empty()) {
            return Ok(());
        }
        self.check_open()?;
        if self.journal.is_none() {
            return Ok(());
        }
        let mut refused = refusals.iter().map(|(i, _)| *i).peekable();
        let mut made = EncodedWrite::default();
        let place = self.snapshot_bytes + self.journal_bytes;
        let record = if refusals.is_empty() {
            frame(Kind::Batch, request, place)
        } else {
            for (index, update) in request.updates.iter().enumerate() {
                if refused.next_if_eq(&index).is_none() {
                    made.updates.push(update.clone());
                }
            }
            frame(Kind::Batch, &made, place)
        };
        let record = record.ok_or_else(|| StoreError::Unwritable {
            path: self.path.clone(),
            why: "the batch is too large for a record; write less at a time",
        })?;
        self.append(&record, place).map_err(self.io())?;
        self.journal_bytes += record.len() as u64;
        Ok(())
    }

    /// Writes a record behind what is whole.
    fn append(&mut self, record: &[u8], place: u64) -> io::Result<()> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        // A part of an earlier record may be there: it goes, so that records follow what is whole.
        if self.untidy {
            journal.set_len(place)?;
        }
        let due = self.synced.elapsed() >= SYNC_EVERY;
        let mut written = journal.write_all_at(record, place);
        if due {
            written = written.and_then(|()| journal.sync_data());
            self.synced = Instant::now();
        }
        self.untidy = written.is_err() && journal.set_len(place).is_err();
        written
    }

    /// Writes a new snapshot if the journal has grown large; if that fails the journal goes on.
    pub fn compact_if_large(&mut self, pipeline: &Pipeline) {
        if self.journal_bytes > COMPACT_FROM
            && self.journal_bytes > self.snapshot_bytes * 2
            && let Err(error) = self.snapshot(pipeline)
        {
            tracing::warn!(%error, "the journal could not be compacted");
        }
    }
}

/// A snapshot on its way to the disk. The first failure is kept and ends it.
struct Snapshot {
    out: BufWriter<File>,
    written: u64,
    failed: Option<io::Error>,
}

impl Snapshot {
    fn put(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
            self.written += bytes.len() as u64;
        }
    }

    fn record(&mut self, kind: Kind, message: &impl Message) {
        match frame(kind, message, self.written) {
            Some(record) => self.put(&record),
            None => self.failed = Some(ErrorKind::FileTooLarge.into()),
        }
    }
}

/// Why a record does not continue those before it.
enum Wrong {
    /// It is not what it should be.
    Unfit(&'static str),
    /// It does not fit its own program.
    Refused(Refusal),
}

/// What the records said so far.
struct Restored<'a> {
    engine: &'a EngineHandle,
    pipeline: Option<Pipeline>,
    /// The snapshot is whole.
    sealed: bool,
}

impl Restored<'_> {
    fn take(&mut self, kind: u8, payload: &[u8]) -> Result<(), Wrong> {
        let kind = Kind::of(kind);
        match (kind, self.pipeline.as_mut(), self.sealed) {
            (Some(Kind::Config), None, false) => {
                let config = v1::ForwardingPipelineConfig::decode(payload)
                    .map_err(|_| Wrong::Unfit("its config cannot be read"))?;
                let mut fresh = Pipeline::build(self.engine, config).map_err(Wrong::Refused)?;
                restore::clear(self.engine, &mut fresh.contents).map_err(Wrong::Refused)?;
                self.pipeline = Some(fresh);
            }
            (Some(Kind::State), Some(pipeline), false)
            | (Some(Kind::Batch), Some(pipeline), true) => {
                let batch = EncodedWrite::decode(payload)
                    .map_err(|_| Wrong::Unfit("a batch cannot be read"))?;
                let made = restore::make(
                    self.engine,
                    &mut pipeline.contents,
                    &batch.updates,
                    "saved batch",
                );
                made.map_err(Wrong::Refused)?;
            }
            (Some(Kind::Sealed), Some(_), false) => self.sealed = true,
            _ => return Err(Wrong::Unfit("a record is out of place")),
        }
        Ok(())
    }
}

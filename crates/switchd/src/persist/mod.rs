//! State on disk (`--state-dir`): the pipeline and its entries survive the process.
//!
//! One file, `state`: a snapshot and after it a journal of batches. Each record is its length, the CRC-32 of its payload,
//! and the payload, a protobuf message behind a byte that says which. A new snapshot is written beside and renamed over the file, so
//! the file is whole at any moment; a batch is one record, so a record cut short by a crash is dropped as a whole: never half a batch.
//!
//! When is what safe: a batch is handed to the operating system before the data plane gets it, hence survives `kill -9` of the
//! process. Against a crash of the machine, snapshots (a new pipeline, a graceful stop) are forced to the disk at once, batches at
//! the latest when a second has passed since the last time and another batch comes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use p4runtime::p4::v1;
use prost::Message;
use thiserror::Error;

use crate::engine::EngineHandle;
use crate::server::pipeline::Pipeline;
use crate::server::restore;
use crate::translate::refusal::Refusal;

/// First bytes of the file: what it is, and the version of its layout.
const MAGIC: &[u8; 8] = b"SWSTATE1";

/// Updates in one record of a snapshot.
const CHUNK: usize = 1000;

/// The largest record that is believed.
const MAX_RECORD: u32 = 1 << 30;

/// A journal is rewritten when it is this large, and twice its snapshot.
const COMPACT_FROM: u64 = 64 << 20;

/// Batches are forced to the disk this often at most.
const SYNC_EVERY: Duration = Duration::from_secs(1);

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);

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
    /// The file is not what it should be.
    #[error("{path} is not a whole state file: {why}; move it away to start without state")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
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

/// A folder where state is kept.
pub struct Store {
    path: PathBuf,
    journal: Option<File>,
    snapshot_bytes: u64,
    journal_bytes: u64,
    synced: Instant,
}

fn frame(kind: Kind, message: &impl Message) -> Vec<u8> {
    let mut payload = vec![kind as u8];
    message.encode_raw(&mut payload);
    let mut record = Vec::with_capacity(payload.len() + 8);
    record.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    record.extend_from_slice(&CRC.checksum(&payload).to_le_bytes());
    record.extend_from_slice(&payload);
    record
}

impl Store {
    /// The store of a folder, which is made if need be.
    ///
    /// # Errors
    /// [`StoreError::Io`] if it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(|source| StoreError::Io {
            path: folder.to_owned(),
            source,
        })?;
        Ok(Self {
            path: folder.join("state"),
            journal: None,
            snapshot_bytes: 0,
            journal_bytes: 0,
            synced: Instant::now(),
        })
    }

    fn io(&self) -> impl Fn(io::Error) -> StoreError + use<'_> {
        |source| StoreError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn damaged<T>(&self, why: impl Into<String>) -> Result<T, StoreError> {
        Err(StoreError::Damaged {
            path: self.path.clone(),
            why: why.into(),
        })
    }

    /// The pipeline that was saved, ready to run; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`] if there is one that cannot be restored.
    pub fn restore(&mut self, engine: &EngineHandle) -> Result<Option<Pipeline>, StoreError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(self.io()(e)),
        };
        let mut records = Records::new(file);
        if !records.magic().map_err(self.io())? {
            return self.damaged("it does not begin as one");
        }
        let mut pipeline: Option<Pipeline> = None;
        let mut sealed = false;
        while let Some((kind, payload)) = records.next().map_err(self.io())? {
            let refused = |refusal: Refusal| StoreError::Refused {
                path: self.path.clone(),
                refusal,
            };
            match (kind, pipeline.as_mut()) {
                (1, None) => {
                    let Ok(config) = v1::ForwardingPipelineConfig::decode(payload.as_slice())
                    else {
                        return self.damaged("its config cannot be read");
                    };
                    let mut fresh = Pipeline::build(engine, config).map_err(refused)?;
                    restore::clear(engine, &mut fresh.book).map_err(refused)?;
                    pipeline = Some(fresh);
                }
                (2 | 4, Some(pipeline)) => {
                    let Ok(batch) = v1::WriteRequest::decode(payload.as_slice()) else {
                        return self.damaged("a batch cannot be read");
                    };
                    restore::make(engine, &mut pipeline.book, &batch.updates, "saved batch")
                        .map_err(refused)?;
                }
                (3, Some(_)) => {
                    sealed = true;
                    self.snapshot_bytes = records.whole;
                }
                _ => return self.damaged(format!("a record of kind {kind} is out of place")),
            }
        }
        if !sealed {
            return self.damaged("its snapshot is cut short");
        }
        // What a crash cut short is dropped, and new batches follow what is whole.
        let file = OpenOptions::new()
            .write(true)
            .open(&self.path)
            .map_err(self.io())?;
        file.set_len(records.whole).map_err(self.io())?;
        let mut file = file;
        io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(self.io())?;
        self.journal_bytes = records.whole - self.snapshot_bytes;
        self.journal = Some(file);
        Ok(pipeline)
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
        let next = self.path.with_extension("next");
        let at_next = |source| StoreError::Io {
            path: next.clone(),
            source,
        };
        let file = File::create(&next).map_err(at_next)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let mut written = MAGIC.len() as u64;
        let mut failed = out.write_all(MAGIC).err();
        let mut put = |record: Vec<u8>| {
            if failed.is_none() {
                failed = out.write_all(&record).err();
                written += record.len() as u64;
            }
        };
        put(frame(Kind::Config, &pipeline.config));
        let mut chunk = v1::WriteRequest::default();
        restore::replay(&pipeline.book, &mut |update| {
            chunk.updates.push(update);
            if chunk.updates.len() == CHUNK {
                put(frame(Kind::State, &chunk));
                chunk.updates.clear();
            }
        })
        .map_err(|refusal| StoreError::Refused {
            path: self.path.clone(),
            refusal,
        })?;
        if !chunk.updates.is_empty() {
            put(frame(Kind::State, &chunk));
        }
        put(frame(Kind::Sealed, &v1::WriteResponse {}));
        if let Some(error) = failed {
            return Err(at_next(error));
        }
        let file = out.into_inner().map_err(|e| at_next(e.into_error()))?;
        file.sync_all().map_err(at_next)?;
        fs::rename(&next, &self.path).map_err(self.io())?;
        if let Some(folder) = self.path.parent() {
            File::open(folder)
                .and_then(|f| f.sync_all())
                .map_err(self.io())?;
        }
        self.snapshot_bytes = written;
        self.journal_bytes = 0;
        self.journal = Some(file);
        Ok(())
    }

    /// Adds a batch: those of its updates that were made.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the batch must not be made then.
    pub fn batch(
        &mut self,
        request: &v1::WriteRequest,
        refusals: &[(usize, Refusal)],
        whole: bool,
    ) -> Result<(), StoreError> {
        if refusals.len() == request.updates.len() || (whole && !refusals.is_empty()) {
            return Ok(());
        }
        let mut refused = refusals.iter().map(|(i, _)| *i).peekable();
        let mut made = v1::WriteRequest::default();
        let record = if refusals.is_empty() {
            frame(Kind::Batch, request)
        } else {
            for (index, update) in request.updates.iter().enumerate() {
                if refused.next_if_eq(&index).is_none() {
                    made.updates.push(update.clone());
                }
            }
            frame(Kind::Batch, &made)
        };
        let before = self.snapshot_bytes + self.journal_bytes;
        let Some(journal) = self.journal.as_mut() else {
            return Ok(());
        };
        if let Err(error) = journal.write_all(&record) {
            // A part of the record may be there: it goes, so that later records follow what is whole.
            let _ = journal.set_len(before);
            let _ = io::Seek::seek(journal, io::SeekFrom::Start(before));
            return Err(self.io()(error));
        }
        self.journal_bytes += record.len() as u64;
        if self.synced.elapsed() >= SYNC_EVERY {
            let synced = journal.sync_data();
            synced.map_err(self.io())?;
            self.synced = Instant::now();
        }
        Ok(())
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

/// The records of a file, up to the first that is not whole.
struct Records {
    input: BufReader<File>,
    /// Bytes that were whole.
    whole: u64,
}

impl Records {
    fn new(file: File) -> Self {
        let input = BufReader::with_capacity(1 << 20, file);
        Self { input, whole: 0 }
    }

    fn magic(&mut self) -> io::Result<bool> {
        let mut magic = [0; 8];
        let found = fill(&mut self.input, &mut magic)? && &magic == MAGIC;
        self.whole = magic.len() as u64;
        Ok(found)
    }

    fn next(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        let mut head = [0; 8];
        if !fill(&mut self.input, &mut head)? {
            return Ok(None);
        }
        let [a, b, c, d, e, f, g, h] = head;
        let length = u32::from_le_bytes([a, b, c, d]);
        if length == 0 || length > MAX_RECORD {
            return Ok(None);
        }
        let mut payload = vec![0; length as usize];
        if !fill(&mut self.input, &mut payload)? {
            return Ok(None);
        }
        if CRC.checksum(&payload) != u32::from_le_bytes([e, f, g, h]) {
            return Ok(None);
        }
        self.whole += 8 + u64::from(length);
        let kind = payload.remove(0);
        Ok(Some((kind, payload)))
    }
}

/// Reads all of a buffer; false if the file ends before.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

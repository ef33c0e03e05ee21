//! Capture files: frames to play in, frames that left, and logs of what passed a port.

use std::fs::{File, TryLockError};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pcap_file::pcap::{PcapHeader, PcapReader};
use pcap_file::{DataLink, Endianness, TsResolution};
use quantities::PortId;

use super::{Line, LineStats, PortError, lock};
use crate::engine::flow::thread_of;

/// The largest frame in a file, in bytes.
const LARGEST: u32 = 1 << 18;

fn wrong(port: PortId, path: &Path, detail: impl ToString) -> PortError {
    PortError::Capture {
        port,
        path: path.to_owned(),
        detail: detail.to_string(),
    }
}

/// Frames to be played in at a port by one thread.
pub(super) struct Input {
    pub(super) port: PortId,
    path: PathBuf,
    /// Which of how many threads it is: other threads play the frames of other flows.
    thread: (usize, usize),
    reader: PcapReader<BufReader<File>>,
    next: Option<(Duration, Vec<u8>)>,
}

impl Input {
    /// The part of each thread. Every thread reads the file itself, so what can be read only once
    /// is the first one's.
    pub(super) fn open(port: PortId, path: &Path, threads: usize) -> Result<Vec<Self>, PortError> {
        let regular = path.metadata().is_ok_and(|data| data.is_file());
        let readers = if regular { threads } else { 1 };
        (0..readers)
            .map(|number| Self::open_part(port, path, (number, readers)))
            .collect()
    }

    fn open_part(port: PortId, path: &Path, thread: (usize, usize)) -> Result<Self, PortError> {
        let file = File::open(path).map_err(|e| wrong(port, path, e))?;
        let reader = PcapReader::new(BufReader::new(file)).map_err(|e| wrong(port, path, e))?;
        let link = reader.header().datalink;
        if link != DataLink::ETHERNET {
            let detail = format!("it holds {link:?} frames, not Ethernet");
            return Err(wrong(port, path, detail));
        }
        let mut input = Self {
            port,
            path: path.to_owned(),
            thread,
            reader,
            next: None,
        };
        input.advance();
        Ok(input)
    }

    /// When the next frame was captured; `None` at the end.
    pub(super) fn time(&self) -> Option<Duration> {
        self.next.as_ref().map(|(time, _)| *time)
    }

    /// Takes the next frame.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let (_, frame) = self.next.take()?;
        self.advance();
        Some(frame)
    }

    /// Goes to the next frame of this thread.
    fn advance(&mut self) {
        let (own, threads) = self.thread;
        self.next = loop {
            match self.reader.next_packet() {
                None => break None,
                Some(Ok(packet)) if thread_of(&packet.data, threads) == own => {
                    break Some((packet.timestamp, packet.data.into_owned()));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    let path = self.path.display();
                    tracing::warn!(port = %self.port, %path, %error, "the capture file ends early");
                    break None;
                }
            }
        };
    }
}

/// A file of frames, with the time of writing.
pub(super) struct Output {
    file: BufWriter<File>,
    failed: bool,
    path: PathBuf,
}

impl Output {
    pub(super) fn create(port: PortId, path: &Path) -> Result<Self, PortError> {
        let file = files::stream(path).map_err(|e| wrong(port, path, io::Error::other(e)))?;
        let mut file = BufWriter::new(file);
        let header = PcapHeader {
            snaplen: LARGEST,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        header
            .write_to(&mut file)
            .map_err(|e| wrong(port, path, e))?;
        file.flush().map_err(|e| wrong(port, path, e))?;
        Ok(Self {
            file,
            failed: false,
            path: path.to_owned(),
        })
    }

    /// Sees to it that nobody else writes a regular file, by whatever name, for as long as this
    /// lives: two ports would write over each other.
    pub(super) fn alone(self, port: PortId) -> Result<Self, PortError> {
        let file = self.file.get_ref();
        let regular = file.metadata().is_ok_and(|data| data.is_file());
        match regular.then(|| file.try_lock()) {
            Some(Err(TryLockError::WouldBlock)) => {
                let detail = "another port or switch writes it; name another file";
                Err(wrong(port, &self.path, detail))
            }
            Some(Err(TryLockError::Error(error))) => Err(wrong(port, &self.path, error)),
            Some(Ok(())) | None => Ok(self),
        }
    }

    /// Writes a frame; says whether it could.
    pub(super) fn write(&mut self, frame: &[u8]) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let length = u32::try_from(frame.len()).unwrap_or(LARGEST);
        // A record's header: seconds, nanoseconds, bytes here, bytes on the wire.
        let numbers = [now.as_secs() as u32, now.subsec_nanos(), length, length];
        let header: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        let done = self
            .file
            .write_all(&header)
            .and_then(|()| self.file.write_all(frame));
        self.tell(done)
    }

    /// Lets others see what was written.
    pub(super) fn flush(&mut self) {
        let done = self.file.flush();
        self.tell(done);
    }

    /// Says once that writing fails.
    fn tell(&mut self, done: io::Result<()>) -> bool {
        let Err(error) = done else { return true };
        if !std::mem::replace(&mut self.failed, true) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "frames are not written any more");
        }
        false
    }
}

/// A port whose frames go to a file, which threads write in turns; those that come in are played by
/// the [`super::PortSet`], which knows the order over all files.
pub(super) struct Files {
    output: Option<Arc<Mutex<Output>>>,
    stats: LineStats,
}

impl Files {
    pub(super) fn new(output: Option<Arc<Mutex<Output>>>) -> Self {
        Self {
            output,
            stats: LineStats::default(),
        }
    }
}

impl Line for Files {
    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&[u8])) -> usize {
        0
    }

    fn send_all(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) {
        let Some(output) = &self.output else {
            self.stats.send_refused += frames.count() as u64;
            return;
        };
        let mut output = lock(output);
        for frame in frames {
            match output.write(frame) {
                true => self.stats.sent += 1,
                false => self.stats.send_refused += 1,
            }
        }
        output.flush();
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn woken(&mut self) {}

    fn stats(&mut self) -> LineStats {
        self.stats
    }
}

/// Copies of what passes a port, in two files named after what it is connected to, as BMv2's
/// `--pcap` makes them. Threads write them in turns.
#[derive(Clone)]
pub(super) struct Tap {
    pub(super) inward: Arc<Mutex<Output>>,
    pub(super) outward: Arc<Mutex<Output>>,
}

impl Tap {
    pub(super) fn create(port: PortId, folder: &Path, name: &str) -> Result<Self, PortError> {
        let file = |direction: &str| {
            let path = folder.join(format!("{name}_{direction}.pcap"));
            Output::create(port, &path).map(|output| Arc::new(Mutex::new(output)))
        };
        Ok(Self {
            inward: file("in")?,
            outward: file("out")?,
        })
    }
}

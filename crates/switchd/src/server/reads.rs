//! Reads in progress: how many, whose, and on which threads. Reads need no election, so whoever
//! connects may start them; nobody may keep them from others by taking nothing of the answers.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use p4runtime::p4::v1;
use prost::bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::Stream;
use tonic::Status;

use super::answers::{Answer, Parts};
use super::connections::Client;
use super::limits::{Limits, Permit, Places};
use super::reading::Reading;
use super::roles::Permissions;
use super::switch::Switch;
use crate::translate::pipeline_state::PipelineState;

/// How often a read that waits for a thread looks for one that is held in vain.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

type Job = Box<dyn FnOnce() + Send>;

/// A read that was let in.
struct Open {
    client: Arc<Client>,
    answer: Arc<Answer>,
}

/// See the module's documentation.
pub struct Reads {
    limits: Limits,
    places: Arc<Places>,
    answers: Arc<Places>,
    /// One permit per thread.
    turns: Arc<Semaphore>,
    jobs: Sender<Job>,
    queue: Receiver<Job>,
    threads: AtomicUsize,
    idle: Arc<AtomicUsize>,
    count: AtomicU64,
    open: Mutex<BTreeMap<u64, Open>>,
    /// Held by the read that looks at the state itself: writers wait for one read at most, not for
    /// all.
    look: Mutex<()>,
    /// Reads that wait to look.
    looking: AtomicUsize,
    memory: Arc<Places>,
    copies: Mutex<Vec<(u64, Weak<Copy>)>>,
}

/// A copy of the state, which nobody changes.
pub struct Copy {
    /// The copy.
    pub contents: PipelineState,
    _memory: Permit,
}

impl Reads {
    /// None yet; `answers` is the memory for what waits for clients.
    #[must_use]
    pub fn new(limits: Limits, answers: Arc<Places>) -> Arc<Self> {
        let (jobs, queue) = unbounded();
        Arc::new(Self {
            limits,
            places: Places::new(limits.reads),
            answers,
            turns: Arc::new(Semaphore::new(limits.read_threads)),
            jobs,
            queue,
            threads: AtomicUsize::new(0),
            idle: Arc::default(),
            count: AtomicU64::new(0),
            open: Mutex::default(),
            look: Mutex::new(()),
            looking: AtomicUsize::new(0),
            memory: Places::new(limits.copies),
            copies: Mutex::default(),
        })
    }

    /// Their limits.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Memory for what waits for clients.
    #[must_use]
    pub const fn answers(&self) -> &Arc<Places> {
        &self.answers
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a read as soon as there is a thread for it.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED if there are too many; UNAVAILABLE if the system gives no thread.
    pub async fn start(
        self: &Arc<Self>,
        client: &Arc<Client>,
        switch: Arc<Switch>,
        request: v1::ReadRequest,
        permissions: Option<Permissions>,
    ) -> Result<AnswerStream, Status> {
        let own = client.reads.take(1).ok_or_else(|| {
            Status::resource_exhausted(format!(
                "{} reads of this connection are in progress: take their answers, or cancel them",
                client.reads.most()
            ))
        })?;
        let place = self.places.take(1).ok_or_else(|| {
            self.close_abandoned();
            Status::resource_exhausted(format!(
                "{} reads are in progress; try again",
                self.places.most()
            ))
        })?;
        let turn = self.turn().await?;
        let answer = Answer::new();
        let id = self.count.fetch_add(1, Ordering::Relaxed);
        let open = Open {
            client: Arc::clone(client),
            answer: Arc::clone(&answer),
        };
        self.open().insert(id, open);
        let stream = AnswerStream {
            parts: Parts(Arc::clone(&answer)),
            id,
            reads: Arc::clone(self),
            _places: (own, place),
        };
        let reading = Reading::new(Arc::clone(self), answer, request, permissions);
        self.run(turn, move || reading.run(&switch))?;
        Ok(stream)
    }

    /// Waits for a thread. Who takes nothing of its answer loses its own to who waits.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Status> {
        let mut turn = std::pin::pin!(Arc::clone(&self.turns).acquire_owned());
        loop {
            match tokio::time::timeout(POLL_INTERVAL, turn.as_mut()).await {
                Ok(turn) => {
                    return turn.map_err(|_| Status::unavailable("the switch is stopping"));
                }
                Err(_) => drop(self.end_stalled(true)),
            }
        }
    }

    /// Ends a read that holds what others wait for, a thread or only memory: the one whose client
    /// has taken nothing for longest, if that is too long. Whether there was one.
    pub fn end_stalled(&self, of_threads: bool) -> bool {
        let open = self.open();
        let answers = open.values().map(|read| &read.answer);
        let holding = answers.filter(|answer| !(of_threads && answer.complete()));
        let longest = holding.max_by_key(|answer| answer.stalled());
        let Some(answer) = longest.filter(|answer| answer.stalled() >= self.limits.stalled) else {
            return false;
        };
        answer.cut(Status::aborted(format!(
            "the client took nothing of the answer for {} ms while others wait; read again",
            self.limits.stalled.as_millis()
        )));
        true
    }

    /// Closes the connection of a read that is over and whose client has taken nothing for longest,
    /// not even the end: that reaches nobody who keeps the stream's window shut.
    fn close_abandoned(&self) {
        let open = self.open();
        let longest = open.values().max_by_key(|read| read.answer.abandoned());
        if let Some(read) = longest.filter(|r| r.answer.abandoned() >= self.limits.patience) {
            tracing::warn!(
                client = read.client.id,
                "closed: it takes nothing of the answers to its reads"
            );
            read.client.close();
        }
    }

    /// Runs a job on a thread of the reads' own; there are as many as permits at most.
    fn run(
        &self,
        turn: OwnedSemaphorePermit,
        job: impl FnOnce() + Send + 'static,
    ) -> Result<(), Status> {
        let job = Box::new(move || {
            job();
            drop(turn);
        });
        let unavailable =
            |e: &dyn std::fmt::Display| Status::unavailable(format!("no thread: {e}"));
        // Each thread that is idle takes a job; one that is counted as idle and was just given one
        // is no loss, for permits are few.
        let waiting = self.queue.len();
        let threads = self.threads.load(Ordering::Relaxed);
        if self.idle.load(Ordering::Acquire) <= waiting && threads < self.limits.read_threads {
            let (queue, idle) = (self.queue.clone(), Arc::clone(&self.idle));
            let named = std::thread::Builder::new().name("read".to_owned());
            let started = named.spawn(move || serve(&queue, &idle));
            match started {
                Ok(_) => drop(self.threads.fetch_add(1, Ordering::Relaxed)),
                Err(error) if threads == 0 => return Err(unavailable(&error)),
                Err(error) => tracing::warn!(%error, "no further thread for reads"),
            }
        }
        self.jobs.send(job).map_err(|e| unavailable(&e))
    }

    /// Waits until no other read looks at the state itself.
    pub fn look(&self) -> MutexGuard<'_, ()> {
        self.looking.fetch_add(1, Ordering::AcqRel);
        let look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        self.looking.fetch_sub(1, Ordering::AcqRel);
        look
    }

    /// Whether a read waits to look.
    pub fn look_awaited(&self) -> bool {
        self.looking.load(Ordering::Acquire) > 0
    }

    /// A copy of the state at a revision, shared by all who need one; `None` if there is no room
    /// for it beside others.
    pub fn copy(&self, revision: u64, contents: &PipelineState) -> Option<Arc<Copy>> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.retain(|(_, copy)| copy.strong_count() > 0);
        let same = copies.iter().find(|(of, _)| *of == revision);
        if let Some(copy) = same.and_then(|(_, copy)| copy.upgrade()) {
            return Some(copy);
        }
        let copy = Arc::new(Copy {
            _memory: self.memory.take(contents.bytes())?,
            contents: contents.copy(),
        });
        copies.push((revision, Arc::downgrade(&copy)));
        Some(copy)
    }
}

fn serve(queue: &Receiver<Job>, idle: &AtomicUsize) {
    loop {
        idle.fetch_add(1, Ordering::AcqRel);
        let job = queue.recv();
        idle.fetch_sub(1, Ordering::AcqRel);
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}

/// What the client gets of a read.
pub struct AnswerStream {
    parts: Parts,
    id: u64,
    reads: Arc<Reads>,
    _places: (Permit, Permit),
}

impl Stream for AnswerStream {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.parts).poll_next(context)
    }
}

impl Drop for AnswerStream {
    fn drop(&mut self) {
        self.reads.open().remove(&self.id);
    }
}

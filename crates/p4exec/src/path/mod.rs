//! A packet's path through a switch, for every engine that runs the blocks.
//!
//! [`PacketLoop`] is what all architectures have in common: packets that wait for a block, a bound
//! on the number of blocks that they get, drops, and what a tracer is shown. What a switch does
//! before, between and after the blocks is an [`Architecture`]: [`v1model`] or [`tofino`]. The
//! blocks themselves are run by an [`Engine`]: the interpreter or compiled code.

pub(crate) mod tofino;
pub(crate) mod v1model;

use std::collections::VecDeque;
use std::ops::Range;

use quantities::{Nanos, PortId};

use crate::exec::{DropReason, OutputMetadata, Sink};
use crate::externs::digest::Digest;
use crate::names::NamedLeaf;
use crate::state::RuntimeState;
use crate::trace::{Fields, TraceEvent, Tracer};
use crate::value::Bits;

/// What a program asked for while a block ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// Session and metadata kept.
    pub(crate) clone: Option<(u32, Vec<usize>)>,
    /// Metadata kept.
    pub(crate) resubmit: Option<Vec<usize>>,
    /// Metadata kept.
    pub(crate) recirculate: Option<Vec<usize>>,
    pub(crate) truncate: Option<usize>,
    pub(crate) digests: Vec<Digest>,
    /// Tofino: session, and the header before the copy.
    pub(crate) mirrors: Vec<(u32, Vec<u8>)>,
    /// Tofino: what comes in the place of the port metadata.
    pub(crate) resubmit_with: Option<Vec<u8>>,
}

impl Requests {
    /// `truncate`: the least of all calls counts.
    pub(crate) fn truncate_to(&mut self, limit: usize) {
        self.truncate = least(self.truncate, Some(limit));
    }
}

/// The smaller of two limits.
fn least(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}

/// What a block runs on besides storage and state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass<'a> {
    pub(crate) now: Nanos,
    /// The packet as it came to this pass.
    pub(crate) bytes: &'a [u8],
    /// Bits of it that the parser took; 0 before it ran.
    pub(crate) parsed: usize,
    /// What counters and meters count.
    pub(crate) length: usize,
}

impl<'a> Pass<'a> {
    /// Of a packet as it was received, before the parser ran.
    #[inline]
    pub(crate) const fn received(now: Nanos, bytes: &'a [u8]) -> Self {
        Self {
            now,
            bytes,
            parsed: 0,
            length: bytes.len(),
        }
    }
}

/// A tracer for one block, if the packet is traced.
pub(crate) type MaybeTracer<'t> = Option<&'t mut dyn Tracer>;

/// Runs the blocks of one program on its own storage and state. Leaves are those of the layout.
pub(crate) trait Engine {
    /// A copy of headers, user and standard metadata.
    type Snapshot: Clone;

    fn state_mut(&mut self) -> &mut RuntimeState;
    /// The low 64 bits of a leaf.
    fn get(&self, leaf: usize) -> u64;
    /// Sets a leaf to the low bits of a value.
    fn set(&mut self, leaf: usize, value: u64);
    fn leaf(&self, leaf: usize) -> Bits;
    /// Sets a leaf to a value of its own width.
    fn set_leaf(&mut self, leaf: usize, value: &Bits);
    fn leaf_width(&self, leaf: usize) -> u32;
    fn zero(&mut self, leaves: Range<usize>);
    fn save(&self) -> Self::Snapshot;
    fn restore(&mut self, saved: &Self::Snapshot);
    /// Runs the parser; the error it ended with and the bits it took.
    fn parse<'a>(&'a mut self, pass: Pass<'a>, tracer: MaybeTracer<'a>) -> (u32, usize);
    /// Verifies checksums and runs ingress.
    fn ingress<'a>(
        &'a mut self,
        pass: Pass<'a>,
        tracer: MaybeTracer<'a>,
    ) -> Result<Requests, DropReason>;
    /// Runs egress.
    fn egress<'a>(
        &'a mut self,
        pass: Pass<'a>,
        tracer: MaybeTracer<'a>,
    ) -> Result<Requests, DropReason>;
    /// Computes checksums and writes headers and payload.
    fn deparse<'a>(
        &'a mut self,
        pass: Pass<'a>,
        tracer: MaybeTracer<'a>,
    ) -> Result<Vec<u8>, DropReason>;
}

/// What an architecture does with packets around its blocks.
pub(crate) trait Architecture<E: Engine>: Sized {
    /// A packet that waits for ingress.
    type Ingress;
    /// A packet that waits for egress.
    type Egress;

    /// How often a received packet, and all that comes of it, may enter ingress or egress.
    fn passes(&self) -> u32;

    /// Takes a packet through ingress to what comes after it.
    ///
    /// # Errors
    /// Why the packet ends there.
    fn ingress(path: &mut PacketLoop<'_, E, Self>, job: &Self::Ingress) -> Result<(), DropReason>;

    /// Takes a packet through egress to what comes after it.
    ///
    /// # Errors
    /// Why the packet ends there.
    fn egress(path: &mut PacketLoop<'_, E, Self>, job: &Self::Egress) -> Result<(), DropReason>;
}

enum Job<I, O> {
    Ingress(I),
    Egress(O),
}

/// One received packet's way through the switch, with all that comes of it.
pub(crate) struct PacketLoop<'a, E: Engine, A: Architecture<E>> {
    engine: &'a mut E,
    architecture: A,
    now: Nanos,
    out: &'a mut dyn Sink,
    tracer: Option<&'a mut dyn Tracer>,
    jobs: VecDeque<Job<A::Ingress, A::Egress>>,
}

impl<'a, E: Engine, A: Architecture<E>> PacketLoop<'a, E, A> {
    /// No packet waits yet.
    fn new(
        engine: &'a mut E,
        architecture: A,
        now: Nanos,
        out: &'a mut dyn Sink,
        tracer: Option<&'a mut dyn Tracer>,
    ) -> Self {
        Self {
            engine,
            architecture,
            now,
            out,
            tracer,
            jobs: VecDeque::new(),
        }
    }

    fn await_ingress(&mut self, job: A::Ingress) {
        self.jobs.push_back(Job::Ingress(job));
    }

    fn await_egress(&mut self, job: A::Egress) {
        self.jobs.push_back(Job::Egress(job));
    }

    /// Takes all packets that wait through as many blocks as are granted; some passes have been
    /// made.
    fn work(&mut self, made: u32) {
        let passes = self.architecture.passes();
        for _ in made..passes {
            let ended = match self.jobs.pop_front() {
                Some(Job::Ingress(job)) => A::ingress(self, &job),
                Some(Job::Egress(job)) => A::egress(self, &job),
                None => return,
            };
            self.settle(ended);
        }
        for _ in 0..self.jobs.len() {
            self.discard(DropReason::PassBound(passes));
        }
    }

    /// Drops a packet that ended.
    fn settle(&mut self, ended: Result<(), DropReason>) {
        if let Err(reason) = ended {
            self.discard(reason);
        }
    }

    fn discard(&mut self, reason: DropReason) {
        self.trace(|| TraceEvent::Dropped(reason.clone()));
        self.out.dropped(reason);
    }

    /// Sends a packet.
    fn send(&mut self, port: PortId, bytes: Vec<u8>, metadata: OutputMetadata) {
        self.trace(|| TraceEvent::Sent {
            port,
            bytes: bytes.clone(),
        });
        self.out.sent(port, bytes, metadata);
    }

    fn trace(&mut self, event: impl FnOnce() -> TraceEvent) {
        if let Some(tracer) = &mut self.tracer {
            tracer.event(event());
        }
    }

    /// Shows an event with the fields that these names have, which are read only for a tracer.
    fn trace_fields(&mut self, names: &[NamedLeaf], event: impl FnOnce(Fields) -> TraceEvent) {
        if self.tracer.is_none() {
            return;
        }
        let shown = names.iter().filter(|n| {
            n.valid
                .is_none_or(|valid| self.engine.leaf(valid).is_true())
        });
        let fields = shown
            .map(|n| (n.name.clone(), self.engine.leaf(n.leaf)))
            .collect();
        self.trace(|| event(fields));
    }

    /// A block's pass over a packet, of which the parser took some bits.
    const fn pass<'b>(&self, bytes: &'b [u8], parsed: usize, length: usize) -> Pass<'b> {
        Pass {
            now: self.now,
            bytes,
            parsed,
            length,
        }
    }

    fn get(&self, leaf: Option<usize>) -> u64 {
        leaf.map_or(0, |leaf| self.engine.get(leaf))
    }

    fn set(&mut self, leaf: Option<usize>, value: u64) {
        if let Some(leaf) = leaf {
            self.engine.set(leaf, value);
        }
    }
}

/// The same tracer for a shorter time.
fn reborrow<'t>(tracer: &'t mut Option<&mut dyn Tracer>) -> MaybeTracer<'t> {
    tracer.as_mut().map(|t| &mut **t as &mut dyn Tracer)
}

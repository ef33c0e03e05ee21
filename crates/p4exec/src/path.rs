//! A packet's way through a v1model switch, whoever runs the blocks.
//!
//! [`Path`] does what BMv2's `simple_switch` does around the six blocks: it fills the metadata,
//! takes the requests of ingress and egress (clone, resubmit, recirculate, multicast, digest),
//! keeps the packets that wait for a block, and bounds their number. The blocks themselves are run
//! by an
//! [`Engine`]: the interpreter or compiled code.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use quantities::{Nanos, PortId, Priority};

use crate::exec::{DropReason, OutputMetadata, Sink};
use crate::externs::digest::Digest;
use crate::forward::{
    EgressMetadata, IngressMetadata, StandardMetadata, enter_egress, enter_ingress,
};
use crate::state::{Replica, RuntimeState};
use crate::trace::{Fields, TraceEvent, Tracer};
use crate::v1model::{DROP_PORT, V1ModelInfo, instance_type};
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

/// A packet waiting for ingress.
pub(crate) struct IngressJob {
    pub(crate) bytes: Rc<[u8]>,
    /// As `standard_metadata` shows it: 0 for what did not come from a port.
    pub(crate) port: PortId,
    pub(crate) instance_type: u64,
    pub(crate) preserved: Vec<(usize, Bits)>,
}

impl IngressJob {
    /// A packet that came from a port.
    pub(crate) fn received(bytes: &[u8], port: PortId) -> Self {
        Self {
            bytes: bytes.into(),
            port,
            instance_type: instance_type::NORMAL,
            preserved: Vec::new(),
        }
    }
}

/// A packet waiting for egress.
#[derive(Clone)]
pub(crate) struct EgressJob<S> {
    /// Headers, user metadata, standard metadata.
    leaves: S,
    /// The packet as parsed, and how many of its bits the parser took.
    bytes: Rc<[u8]>,
    parsed: usize,
    replica: Replica,
    instance_type: u64,
    /// Bytes of the packet as it came.
    length: usize,
    truncate: Option<usize>,
}

enum Job<S> {
    Ingress(IngressJob),
    Egress(EgressJob<S>),
}

/// One received packet's way through the switch, with all that comes of it.
pub(crate) struct Path<'a, E: Engine> {
    engine: &'a mut E,
    info: Arc<V1ModelInfo>,
    now: Nanos,
    out: &'a mut dyn Sink,
    tracer: Option<&'a mut dyn Tracer>,
    jobs: VecDeque<Job<E::Snapshot>>,
}

/// Takes a packet all the way.
pub(crate) fn run<'a, E: Engine>(
    engine: &'a mut E,
    info: Arc<V1ModelInfo>,
    now: Nanos,
    packet: &[u8],
    ingress_port: PortId,
    out: &'a mut dyn Sink,
    tracer: Option<&'a mut dyn Tracer>,
) {
    let first = IngressJob::received(packet, ingress_port);
    let mut path = Path {
        engine,
        info,
        now,
        out,
        tracer,
        jobs: VecDeque::from([Job::Ingress(first)]),
    };
    path.work(0);
}

/// Takes a packet on from the end of ingress, which ran outside.
pub(crate) fn resume_after_ingress<E: Engine>(
    engine: &mut E,
    info: Arc<V1ModelInfo>,
    now: Nanos,
    job: &IngressJob,
    parsed: usize,
    requests: Requests,
    out: &mut dyn Sink,
) {
    let mut path = Path {
        engine,
        info,
        now,
        out,
        tracer: None,
        jobs: VecDeque::new(),
    };
    path.after_ingress(job, parsed, requests);
    path.work(1);
}

/// Takes a unicast packet on from the end of its first egress, which ran outside.
pub(crate) fn resume_after_egress<E: Engine>(
    engine: &mut E,
    info: Arc<V1ModelInfo>,
    pass: Pass<'_>,
    (port, rid): (PortId, u16),
    requests: Requests,
    out: &mut dyn Sink,
) {
    let job = EgressJob {
        leaves: engine.save(),
        bytes: pass.bytes.into(),
        parsed: pass.parsed,
        replica: Replica { port, rid },
        instance_type: instance_type::NORMAL,
        length: pass.length,
        truncate: None,
    };
    let mut path = Path {
        engine,
        info,
        now: pass.now,
        out,
        tracer: None,
        jobs: VecDeque::new(),
    };
    path.after_egress(&job, pass, requests);
    path.work(2);
}

impl<E: Engine> Path<'_, E> {
    /// Takes all packets that wait through as many blocks as are granted; some passes have been
    /// made.
    fn work(&mut self, made: u32) {
        for _ in made..self.info.passes {
            match self.jobs.pop_front() {
                Some(Job::Ingress(job)) => self.ingress(&job),
                Some(Job::Egress(job)) => self.egress(&job),
                None => return,
            }
        }
        for _ in 0..self.jobs.len() {
            self.discard(DropReason::PassBound(self.info.passes));
        }
    }

    fn trace(&mut self, event: impl FnOnce() -> TraceEvent) {
        if let Some(tracer) = &mut self.tracer {
            tracer.event(event());
        }
    }

    fn discard(&mut self, reason: DropReason) {
        self.trace(|| TraceEvent::Dropped(reason.clone()));
        self.out.dropped(reason);
    }

    fn get(&self, leaf: Option<usize>) -> u64 {
        leaf.map_or(0, |leaf| self.engine.get(leaf))
    }

    /// Zeroes user and standard metadata and sets the kept fields.
    fn reset_metadata(&mut self, preserved: &[(usize, Bits)]) {
        self.engine.zero(self.info.metadata.clone());
        self.engine.zero(self.info.standard_metadata.clone());
        for (leaf, value) in preserved {
            self.engine.set_leaf(*leaf, value);
        }
    }

    fn preserved(&self, leaves: &[usize]) -> Vec<(usize, Bits)> {
        leaves
            .iter()
            .map(|leaf| (*leaf, self.engine.leaf(*leaf)))
            .collect()
    }

    fn fields(&self) -> Fields {
        let shown = self.info.names.iter().filter(|n| {
            n.valid
                .is_none_or(|valid| self.engine.leaf(valid).is_true())
        });
        shown
            .map(|n| (n.name.clone(), self.engine.leaf(n.leaf)))
            .collect()
    }

    /// Fills the metadata a packet enters the parser with.
    fn enter(&mut self, job: &IngressJob) {
        self.reset_metadata(&job.preserved);
        let info = Arc::clone(&self.info);
        let standard = &info.standard;
        let received = job.instance_type == instance_type::NORMAL;
        let packet = IngressMetadata {
            port: u64::from(job.port.get()),
            length: job.bytes.len() as u64,
            time: received.then_some(self.now.get() / 1000),
        };
        enter_ingress(self, standard, packet);
        self.set_field(standard.instance_type, job.instance_type);
        if let Some(leaf) = info.port_status {
            let width = self.engine.leaf_width(leaf);
            let status = self.engine.state_mut().port_status(width);
            self.engine.set_leaf(leaf, &status);
        }
    }

    /// Parses, and returns how many bits were taken.
    fn parse(&mut self, bytes: &[u8]) -> usize {
        self.engine.zero(self.info.headers.clone());
        let pass = Pass::received(self.now, bytes);
        let (error, parsed) = self.engine.parse(pass, reborrow(&mut self.tracer));
        self.set_field(self.info.standard.parser_error, u64::from(error));
        parsed
    }

    fn ingress(&mut self, job: &IngressJob) {
        let length = job.bytes.len();
        let (port, kind) = (job.port, job.instance_type);
        self.trace(|| TraceEvent::Ingress {
            port,
            length,
            instance_type: kind,
        });
        self.enter(job);
        let parsed = self.parse(&job.bytes);
        let pass = Pass {
            now: self.now,
            bytes: &job.bytes,
            parsed,
            length,
        };
        let requests = match self.engine.ingress(pass, reborrow(&mut self.tracer)) {
            Ok(requests) => requests,
            Err(reason) => return self.discard(reason),
        };
        if self.tracer.is_some() {
            let fields = self.fields();
            self.trace(|| TraceEvent::EndOfIngress { fields });
        }
        self.after_ingress(job, parsed, requests);
    }

    /// Step 3 of the packet path: clone, digest, then resubmit, multicast, drop or unicast.
    fn after_ingress(&mut self, job: &IngressJob, parsed: usize, requests: Requests) {
        if let Some((session, kept)) = &requests.clone {
            self.clone_ingress(job, *session, kept);
        }
        // A register names what to learn: the last call wins.
        if let Some(digest) = requests.digests.into_iter().next_back() {
            self.engine.state_mut().data.digests.push(digest);
        }
        if let Some(kept) = &requests.resubmit {
            let preserved = self.preserved(kept);
            self.jobs.push_back(Job::Ingress(IngressJob {
                bytes: Rc::clone(&job.bytes),
                port: PortId::new(0),
                instance_type: instance_type::RESUBMITTED,
                preserved,
            }));
            return;
        }
        let group = self.get(self.info.standard.mcast_grp) as u16;
        let egress_spec = self.get(self.info.standard.egress_spec);
        // BMv2 copies packets without their truncation, so multicast copies are whole.
        let (replicas, kind, truncate) = if group != 0 {
            let state = self.engine.state_mut();
            let copies = state.control.replication.copies(group, state.data.ports());
            if copies.is_empty() {
                return self.discard(DropReason::EmptyMulticastGroup(group));
            }
            (copies, instance_type::REPLICATED, None)
        } else if egress_spec == DROP_PORT {
            return self.discard(DropReason::Ingress);
        } else {
            let rid = self.get(self.info.standard.egress_rid) as u16;
            let replica = Replica {
                port: PortId::new(egress_spec as u16),
                rid,
            };
            (vec![replica], instance_type::NORMAL, requests.truncate)
        };
        let job = EgressJob {
            leaves: self.engine.save(),
            bytes: Rc::clone(&job.bytes),
            parsed,
            replica: replicas[0],
            instance_type: kind,
            length: job.bytes.len(),
            truncate,
        };
        self.enqueue(&job, &replicas);
    }

    fn enqueue(&mut self, job: &EgressJob<E::Snapshot>, replicas: &[Replica]) {
        for replica in replicas {
            self.jobs.push_back(Job::Egress(EgressJob {
                replica: *replica,
                ..job.clone()
            }));
        }
    }

    /// A clone of the packet as it came to this ingress, parsed again. BMv2 parses it with the
    /// ingress port alone, then zeroes all metadata but the fields kept.
    fn clone_ingress(&mut self, job: &IngressJob, session: u32, kept: &[usize]) {
        let state = self.engine.state_mut();
        let Some((session, replicas)) = state
            .control
            .replication
            .clones(session, state.data.ports())
        else {
            return;
        };
        let truncate = session.truncate_to.map(|n| n as usize);
        let Some(first) = replicas.first().copied() else {
            return;
        };
        let original = self.engine.save();
        let preserved = self.preserved(kept);
        self.reset_metadata(&[]);
        let ingress_port = self.info.standard.ingress_port;
        self.set_field(ingress_port, u64::from(job.port.get()));
        let parsed = self.parse(&job.bytes);
        self.reset_metadata(&preserved);
        let clone = EgressJob {
            leaves: self.engine.save(),
            bytes: Rc::clone(&job.bytes),
            parsed,
            replica: first,
            instance_type: instance_type::INGRESS_CLONE,
            length: job.bytes.len(),
            truncate,
        };
        self.enqueue(&clone, &replicas);
        self.engine.restore(&original);
    }

    fn egress(&mut self, job: &EgressJob<E::Snapshot>) {
        let Replica { port, rid } = job.replica;
        let kind = job.instance_type;
        self.trace(|| TraceEvent::Egress {
            port,
            rid,
            instance_type: kind,
        });
        self.engine.restore(&job.leaves);
        let info = Arc::clone(&self.info);
        let packet = EgressMetadata {
            port: u64::from(port.get()),
            instance_type: kind,
            length: job.length as u64,
            time: self.now.get() / 1000,
        };
        enter_egress(self, &info.standard, packet);
        self.set_field(info.standard.egress_rid, u64::from(rid));
        let pass = Pass {
            now: self.now,
            bytes: &job.bytes,
            parsed: job.parsed,
            length: job.length,
        };
        let requests = match self.engine.egress(pass, reborrow(&mut self.tracer)) {
            Ok(requests) => requests,
            Err(reason) => return self.discard(reason),
        };
        if self.tracer.is_some() {
            let fields = self.fields();
            self.trace(|| TraceEvent::EndOfEgress { port, fields });
        }
        self.after_egress(job, pass, requests);
    }

    /// Steps 4 and 5 after egress itself: clone, drop, deparse, recirculate or send.
    fn after_egress(&mut self, job: &EgressJob<E::Snapshot>, pass: Pass<'_>, requests: Requests) {
        let Replica { port, rid } = job.replica;
        if let Some((session, kept)) = &requests.clone {
            self.clone_egress(job, *session, kept);
        }
        if self.get(self.info.standard.egress_spec) == DROP_PORT {
            return self.discard(DropReason::Egress);
        }
        let mut bytes = match self.engine.deparse(pass, reborrow(&mut self.tracer)) {
            Ok(bytes) => bytes,
            Err(reason) => return self.discard(reason),
        };
        if let Some(kept) = &requests.recirculate {
            let preserved = self.preserved(kept);
            self.jobs.push_back(Job::Ingress(IngressJob {
                bytes: bytes.into(),
                port: PortId::new(0),
                instance_type: instance_type::RECIRCULATED,
                preserved,
            }));
            return;
        }
        if let Some(limit) = least(requests.truncate, job.truncate) {
            bytes.truncate(limit);
        }
        self.trace(|| TraceEvent::Sent {
            port,
            bytes: bytes.clone(),
        });
        let metadata = self.output_metadata(job.instance_type, rid);
        self.out.sent(port, bytes, metadata);
    }

    /// A clone with the headers as egress left them, back to the start of egress.
    fn clone_egress(&mut self, job: &EgressJob<E::Snapshot>, session: u32, kept: &[usize]) {
        let state = self.engine.state_mut();
        let Some((session, replicas)) = state
            .control
            .replication
            .clones(session, state.data.ports())
        else {
            return;
        };
        let truncate = session.truncate_to.map(|n| n as usize);
        let original = self.engine.save();
        let preserved = self.preserved(kept);
        self.reset_metadata(&preserved);
        let clone = EgressJob {
            leaves: self.engine.save(),
            instance_type: instance_type::EGRESS_CLONE,
            truncate,
            ..job.clone()
        };
        self.enqueue(&clone, &replicas);
        self.engine.restore(&original);
    }

    fn output_metadata(&self, instance_type: u64, rid: u16) -> OutputMetadata {
        let class = |leaf: Option<usize>| {
            leaf.map(|leaf| Priority::new(self.engine.get(leaf).min(255) as u8))
        };
        OutputMetadata {
            queue: self.get(self.info.standard.priority) as u8,
            ing_prio: class(self.info.ing_prio),
            eg_prio: class(self.info.eg_prio),
            instance_type: instance_type as u32,
            rid,
        }
    }
}

impl<E: Engine> StandardMetadata for Path<'_, E> {
    type Field = Option<usize>;
    type Value = u64;

    fn constant(&mut self, value: u64) -> u64 {
        value
    }

    fn field(&mut self, field: Option<usize>) -> u64 {
        self.get(field)
    }

    fn set_field(&mut self, field: Option<usize>, value: u64) {
        if let Some(leaf) = field {
            self.engine.set(leaf, value);
        }
    }
}

/// The same tracer for a shorter time.
pub(crate) fn reborrow<'t>(tracer: &'t mut Option<&mut dyn Tracer>) -> MaybeTracer<'t> {
    tracer.as_mut().map(|t| &mut **t as &mut dyn Tracer)
}

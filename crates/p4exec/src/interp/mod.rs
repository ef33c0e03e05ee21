//! The reference interpreter: the semantics essay of `p4ir`, written down as directly as possible.
//!
//! It walks the tree for every packet and copies freely. What matters is that one can see that it
//! is right; the fast executor is measured against it.
//!
//! # Bounds
//!
//! No program makes it run forever. Per pass through parser or block, loops and parser states share
//! [`MAX_ROUNDS`]: beyond it a parser rejects with `error.ParserTimeout` and a control drops the packet
//! ([`DropReason::LoopBound`]). A packet and all that comes of it pass through ingress or egress at
//! most [`MAX_PASSES`] times.

mod control;
mod expr;
mod externs;
mod machine;
mod parser;
mod support;
mod table;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use p4ir::ValidProgram;
use units::{Nanos, PortId, Priority};

use crate::exec::{DropReason, Executor, Output, OutputMetadata, Outputs};
use crate::externs::digest::Digest;
use crate::state::{BuildError, Replica, RuntimeState};
use crate::trace::{Fields, TraceEvent, Tracer};
use crate::v1model::{DROP_PORT, V1Info, instance_type, leaf_width};
use crate::value::Bits;
use machine::{Flow, Machine};

/// Loop rounds and parser states per pass.
pub const MAX_ROUNDS: u64 = 1 << 16;

/// Passes through ingress and egress that one received packet may cause.
pub const MAX_PASSES: u32 = 4096;

/// The reference interpreter of one v1model program.
pub struct Interpreter {
    program: Arc<ValidProgram>,
    info: V1Info,
    state: RuntimeState,
    /// One bit string per leaf of the layout.
    storage: Vec<Bits>,
}

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
}

/// A packet waiting for ingress.
struct IngressJob {
    bytes: Rc<[u8]>,
    /// As `standard_metadata` shows it: 0 for what did not come from a port.
    port: PortId,
    instance_type: u64,
    preserved: Vec<(usize, Bits)>,
}

/// A packet waiting for egress.
#[derive(Clone)]
struct EgressJob {
    /// Headers, user metadata, standard metadata.
    leaves: Rc<[Bits]>,
    /// The packet as parsed, and how many of its bits the parser took.
    bytes: Rc<[u8]>,
    parsed: usize,
    replica: Replica,
    instance_type: u64,
    /// Bytes of the packet as it came.
    length: usize,
    truncate: Option<usize>,
}

enum Job {
    Ingress(IngressJob),
    Egress(EgressJob),
}

impl Interpreter {
    /// An interpreter with the program's initial state.
    pub fn new(program: Arc<ValidProgram>) -> Result<Self, BuildError> {
        let architecture = || BuildError::Architecture(program.main.type_name.clone());
        let info = V1Info::new(&program).ok_or_else(architecture)?;
        support::check(&program)?;
        let state = RuntimeState::new(Arc::clone(&program))?;
        let storage = program
            .layout()
            .leaves()
            .iter()
            .map(|l| Bits::zero(leaf_width(l.kind)))
            .collect();
        Ok(Self {
            program,
            info,
            state,
            storage,
        })
    }

    /// What is known of the program's metadata.
    #[must_use]
    pub const fn info(&self) -> &V1Info {
        &self.info
    }

    fn run<'a>(
        &'a mut self,
        now: Nanos,
        packet: &[u8],
        ingress_port: PortId,
        out: &'a mut Outputs,
        tracer: Option<&'a mut dyn Tracer>,
    ) {
        let first = IngressJob {
            bytes: packet.into(),
            port: ingress_port,
            instance_type: instance_type::NORMAL,
            preserved: Vec::new(),
        };
        let mut path = Path {
            switch: self,
            now,
            out,
            tracer,
            jobs: VecDeque::from([Job::Ingress(first)]),
        };
        for _ in 0..MAX_PASSES {
            match path.jobs.pop_front() {
                Some(Job::Ingress(job)) => path.ingress(&job),
                Some(Job::Egress(job)) => path.egress(&job),
                None => return,
            }
        }
        for _ in 0..path.jobs.len() {
            path.discard(DropReason::PassBound(MAX_PASSES));
        }
    }
}

impl Executor for Interpreter {
    fn process(&mut self, now: Nanos, packet: &[u8], ingress_port: PortId, out: &mut Outputs) {
        self.run(now, packet, ingress_port, out, None);
    }

    fn process_traced(
        &mut self,
        now: Nanos,
        packet: &[u8],
        ingress_port: PortId,
        out: &mut Outputs,
        tracer: &mut dyn Tracer,
    ) {
        self.run(now, packet, ingress_port, out, Some(tracer));
    }

    fn state(&self) -> &RuntimeState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut RuntimeState {
        &mut self.state
    }
}

/// One received packet's way through the switch, with all that comes of it.
struct Path<'a> {
    switch: &'a mut Interpreter,
    now: Nanos,
    out: &'a mut Outputs,
    tracer: Option<&'a mut dyn Tracer>,
    jobs: VecDeque<Job>,
}

impl Path<'_> {
    fn trace(&mut self, event: impl FnOnce() -> TraceEvent) {
        if let Some(tracer) = &mut self.tracer {
            tracer.event(event());
        }
    }

    fn discard(&mut self, reason: DropReason) {
        self.trace(|| TraceEvent::Dropped(reason.clone()));
        self.out.dropped.push(reason);
    }

    fn machine<'m>(&'m mut self, bytes: &'m [u8], length: usize) -> Machine<'m> {
        let switch = &mut *self.switch;
        Machine::new(
            &switch.program,
            &switch.info,
            &mut switch.storage,
            &mut switch.state,
            self.tracer.as_mut().map(|t| &mut **t as &mut dyn Tracer),
            self.now,
            bytes,
            length,
        )
    }

    fn get(&self, leaf: Option<usize>) -> u64 {
        leaf.map_or(0, |leaf| self.switch.storage[leaf].low_u64())
    }

    fn set(&mut self, leaf: Option<usize>, value: u64) {
        if let Some(leaf) = leaf {
            let width = self.switch.storage[leaf].width();
            self.switch.storage[leaf] = Bits::from_u64(width, value);
        }
    }

    /// Zeroes user and standard metadata and sets the kept fields.
    fn reset_metadata(&mut self, preserved: &[(usize, Bits)]) {
        let info = &self.switch.info;
        for leaf in info.metadata.clone().chain(info.standard_metadata.clone()) {
            let kind = self.switch.program.layout().leaves()[leaf].kind;
            self.switch.storage[leaf] = Bits::zero(leaf_width(kind));
        }
        for (leaf, value) in preserved {
            self.switch.storage[*leaf] = value.clone();
        }
    }

    fn preserved(&self, leaves: &[usize]) -> Vec<(usize, Bits)> {
        leaves
            .iter()
            .map(|leaf| (*leaf, self.switch.storage[*leaf].clone()))
            .collect()
    }

    /// The leaves of headers and metadata, to be put back by [`Path::restore`].
    fn save(&self) -> Rc<[Bits]> {
        let info = &self.switch.info;
        [&info.headers, &info.metadata, &info.standard_metadata]
            .into_iter()
            .flat_map(|range| self.switch.storage[range.clone()].iter().cloned())
            .collect()
    }

    fn restore(&mut self, leaves: &[Bits]) {
        let info = &self.switch.info;
        let places = info
            .headers
            .clone()
            .chain(info.metadata.clone())
            .chain(info.standard_metadata.clone());
        for (leaf, value) in places.zip(leaves) {
            self.switch.storage[leaf] = value.clone();
        }
    }

    fn fields(&self) -> Fields {
        let storage = &self.switch.storage;
        let shown = self
            .switch
            .info
            .names
            .iter()
            .filter(|n| n.valid.is_none_or(|valid| storage[valid].is_true()));
        shown
            .map(|n| (n.name.clone(), storage[n.leaf].clone()))
            .collect()
    }

    /// Fills the metadata a packet enters the parser with.
    fn enter(&mut self, port: PortId, length: usize, kind: u64, preserved: &[(usize, Bits)]) {
        self.reset_metadata(preserved);
        let standard = self.switch.info.standard.clone();
        self.set(standard.ingress_port, u64::from(port.get()));
        self.set(standard.packet_length, length as u64);
        self.set(standard.instance_type, kind);
        if kind == instance_type::NORMAL {
            self.set(standard.ingress_global_timestamp, self.now.get() / 1000);
        }
        if let Some(leaf) = self.switch.info.port_status {
            let width = self.switch.storage[leaf].width();
            self.switch.storage[leaf] = self.switch.state.port_status(width);
        }
    }

    /// Parses, and returns how many bits were taken.
    fn parse(&mut self, bytes: &[u8], length: usize) -> usize {
        let (headers, parser) = (
            self.switch.info.headers.clone(),
            self.switch.info.view.parser,
        );
        for leaf in headers {
            let kind = self.switch.program.layout().leaves()[leaf].kind;
            self.switch.storage[leaf] = Bits::zero(leaf_width(kind));
        }
        let mut machine = self.machine(bytes, length);
        let error = machine.run_top_parser(parser);
        let parsed = machine.parsed_bits();
        self.set(self.switch.info.standard.parser_error, u64::from(error));
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
        self.enter(port, length, kind, &job.preserved);
        let parsed = self.parse(&job.bytes, length);

        let view = self.switch.info.view;
        let mut machine = self.machine(&job.bytes, length);
        machine.set_parsed_bits(parsed);
        let mut flow = machine.run_top_control(view.verify_checksum);
        if !matches!(flow, Flow::Abort(_)) {
            flow = machine.run_top_control(view.ingress);
        }
        let requests = machine.take_requests();
        if let Flow::Abort(reason) = flow {
            return self.discard(reason);
        }
        if self.tracer.is_some() {
            let fields = self.fields();
            self.trace(|| TraceEvent::EndOfIngress { fields });
        }
        self.after_ingress(job, parsed, requests);
    }

    /// Step 3 of the packet path: clone, digest, then resubmit, multicast, drop or unicast.
    fn after_ingress(&mut self, job: &IngressJob, parsed: usize, requests: Requests) {
        let standard = self.switch.info.standard.clone();
        if let Some((session, kept)) = &requests.clone {
            self.clone_ingress(job, *session, kept);
        }
        for digest in requests.digests {
            self.switch.state.digests.push(digest);
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
        let group = self.get(standard.mcast_grp) as u16;
        let egress_spec = self.get(standard.egress_spec);
        let (replicas, kind) = if group != 0 {
            match self.switch.state.replication.group(group) {
                Some(replicas) if !replicas.is_empty() => {
                    (replicas.to_vec(), instance_type::REPLICATED)
                }
                _ => return self.discard(DropReason::EmptyMulticastGroup(group)),
            }
        } else if egress_spec == DROP_PORT {
            return self.discard(DropReason::Ingress);
        } else {
            let rid = self.get(standard.egress_rid) as u16;
            let replica = Replica {
                port: PortId::new(egress_spec as u16),
                rid,
            };
            (vec![replica], instance_type::NORMAL)
        };
        let job = EgressJob {
            leaves: self.save(),
            bytes: Rc::clone(&job.bytes),
            parsed,
            replica: replicas[0],
            instance_type: kind,
            length: job.bytes.len(),
            truncate: requests.truncate,
        };
        self.enqueue(&job, &replicas);
    }

    fn enqueue(&mut self, job: &EgressJob, replicas: &[Replica]) {
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
        let replication = &self.switch.state.replication;
        let Some(session) = replication.session(session).cloned() else {
            return;
        };
        let replicas = replication.clones(&session);
        let Some(first) = replicas.first().copied() else {
            return;
        };
        let original = self.save();
        let preserved = self.preserved(kept);
        self.reset_metadata(&[]);
        let ingress_port = self.switch.info.standard.ingress_port;
        self.set(ingress_port, u64::from(job.port.get()));
        let length = job.bytes.len();
        let parsed = self.parse(&job.bytes, length);
        self.reset_metadata(&preserved);
        let clone = EgressJob {
            leaves: self.save(),
            bytes: Rc::clone(&job.bytes),
            parsed,
            replica: first,
            instance_type: instance_type::INGRESS_CLONE,
            length,
            truncate: session.truncate_to.map(|n| n as usize),
        };
        self.enqueue(&clone, &replicas);
        self.restore(&original);
    }

    fn egress(&mut self, job: &EgressJob) {
        let Replica { port, rid } = job.replica;
        let kind = job.instance_type;
        self.trace(|| TraceEvent::Egress {
            port,
            rid,
            instance_type: kind,
        });
        self.restore(&job.leaves);
        let standard = self.switch.info.standard.clone();
        self.set(standard.instance_type, kind);
        self.set(standard.egress_port, u64::from(port.get()));
        self.set(standard.egress_rid, u64::from(rid));
        self.set(standard.egress_spec, 0);
        self.set(standard.packet_length, job.length as u64);
        self.set(standard.enq_timestamp, self.now.get() / 1000);
        self.set(standard.egress_global_timestamp, self.now.get() / 1000);

        let view = self.switch.info.view;
        let mut machine = self.machine(&job.bytes, job.length);
        machine.set_parsed_bits(job.parsed);
        let flow = machine.run_top_control(view.egress);
        let requests = machine.take_requests();
        if let Flow::Abort(reason) = flow {
            return self.discard(reason);
        }
        if self.tracer.is_some() {
            let fields = self.fields();
            self.trace(|| TraceEvent::EndOfEgress { port, fields });
        }
        for digest in requests.digests {
            self.switch.state.digests.push(digest);
        }
        if let Some((session, kept)) = &requests.clone {
            self.clone_egress(job, *session, kept);
        }
        if self.get(standard.egress_spec) == DROP_PORT {
            return self.discard(DropReason::Egress);
        }
        let Some(mut bytes) = self.deparse(job) else {
            return;
        };
        if let Some(limit) = requests.truncate.or(job.truncate) {
            bytes.truncate(limit);
        }
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
        self.trace(|| TraceEvent::Sent {
            port,
            bytes: bytes.clone(),
        });
        let metadata = self.output_metadata(kind, rid);
        self.out.sent.push(Output {
            port,
            bytes,
            metadata,
        });
    }

    /// A clone with the headers as egress left them, back to the start of egress.
    fn clone_egress(&mut self, job: &EgressJob, session: u32, kept: &[usize]) {
        let replication = &self.switch.state.replication;
        let Some(session) = replication.session(session).cloned() else {
            return;
        };
        let replicas = replication.clones(&session);
        let original = self.save();
        let preserved = self.preserved(kept);
        self.reset_metadata(&preserved);
        let clone = EgressJob {
            leaves: self.save(),
            instance_type: instance_type::EGRESS_CLONE,
            truncate: session.truncate_to.map(|n| n as usize),
            ..job.clone()
        };
        self.enqueue(&clone, &replicas);
        self.restore(&original);
    }

    /// Computes checksums and writes headers and payload; `None` if the program was stopped.
    fn deparse(&mut self, job: &EgressJob) -> Option<Vec<u8>> {
        let view = self.switch.info.view;
        let mut machine = self.machine(&job.bytes, job.length);
        machine.set_parsed_bits(job.parsed);
        let mut flow = machine.run_top_control(view.compute_checksum);
        if !matches!(flow, Flow::Abort(_)) {
            flow = machine.run_top_control(view.deparser);
        }
        let bytes = machine.finish_packet();
        if let Flow::Abort(reason) = flow {
            self.discard(reason);
            return None;
        }
        Some(bytes)
    }

    fn output_metadata(&self, instance_type: u64, rid: u16) -> OutputMetadata {
        let info = &self.switch.info;
        let class = |leaf: Option<usize>| {
            leaf.map(|leaf| Priority::new(self.switch.storage[leaf].low_u64().min(255) as u8))
        };
        OutputMetadata {
            queue: self.get(info.standard.priority) as u8,
            ing_prio: class(info.ing_prio),
            eg_prio: class(info.eg_prio),
            instance_type: instance_type as u32,
            rid,
        }
    }
}

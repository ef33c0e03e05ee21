//! A packet's way through a v1model switch.
//!
//! This is what BMv2's `simple_switch` does around the six blocks: it fills the metadata, and takes
//! the requests of ingress and egress (clone, resubmit, recirculate, multicast, digest).

use std::rc::Rc;

use quantities::{Nanos, PortId, Priority};

use super::{Architecture, Engine, PacketLoop, Pass, Requests, least, reborrow};
use crate::exec::{DropReason, OutputMetadata, Sink};
use crate::forward::{
    EgressMetadata, IngressMetadata, StandardMetadata, enter_egress, enter_ingress,
};
use crate::state::Replica;
use crate::trace::{TraceEvent, Tracer};
use crate::v1model::{DROP_PORT, V1ModelInfo, instance_type};
use crate::value::Bits;

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

/// v1model's switch, and where a program has the metadata that it reads and writes.
pub(crate) struct V1Model<'i>(&'i V1ModelInfo);

/// The way of a packet through it.
type Path<'a, 'i, E> = PacketLoop<'a, E, V1Model<'i>>;

impl<E: Engine> Architecture<E> for V1Model<'_> {
    type Ingress = IngressJob;
    type Egress = EgressJob<E::Snapshot>;

    fn passes(&self) -> u32 {
        self.0.passes
    }

    fn ingress(path: &mut PacketLoop<'_, E, Self>, job: &IngressJob) -> Result<(), DropReason> {
        path.ingress(job)
    }

    fn egress(path: &mut PacketLoop<'_, E, Self>, job: &Self::Egress) -> Result<(), DropReason> {
        path.egress(job)
    }
}

/// Takes a packet all the way.
pub(crate) fn run<'a, E: Engine>(
    engine: &'a mut E,
    info: &V1ModelInfo,
    now: Nanos,
    packet: &[u8],
    ingress_port: PortId,
    out: &'a mut dyn Sink,
    tracer: Option<&'a mut dyn Tracer>,
) {
    let mut path = Path::new(engine, V1Model(info), now, out, tracer);
    path.await_ingress(IngressJob::received(packet, ingress_port));
    path.work(0);
}

/// Takes a packet on from the end of ingress, which ran outside.
pub(crate) fn resume_after_ingress<E: Engine>(
    engine: &mut E,
    info: &V1ModelInfo,
    now: Nanos,
    job: &IngressJob,
    parsed: usize,
    requests: Requests,
    out: &mut dyn Sink,
) {
    let mut path = Path::new(engine, V1Model(info), now, out, None);
    let ended = path.after_ingress(job, parsed, requests);
    path.settle(ended);
    path.work(1);
}

/// Takes a unicast packet on from the end of its first egress, which ran outside.
pub(crate) fn resume_after_egress<E: Engine>(
    engine: &mut E,
    info: &V1ModelInfo,
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
    let mut path = Path::new(engine, V1Model(info), pass.now, out, None);
    let ended = path.after_egress(&job, pass, requests);
    path.settle(ended);
    path.work(2);
}

impl<'i, E: Engine> Path<'_, 'i, E> {
    const fn info(&self) -> &'i V1ModelInfo {
        self.architecture.0
    }

    /// Zeroes user and standard metadata and sets the kept fields.
    fn reset_metadata(&mut self, preserved: &[(usize, Bits)]) {
        self.engine.zero(self.info().metadata.clone());
        self.engine.zero(self.info().standard_metadata.clone());
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

    /// Fills the metadata a packet enters the parser with.
    fn enter(&mut self, job: &IngressJob) {
        self.reset_metadata(&job.preserved);
        let info = self.info();
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
        self.engine.zero(self.info().headers.clone());
        let pass = Pass::received(self.now, bytes);
        let (error, parsed) = self.engine.parse(pass, reborrow(&mut self.tracer));
        self.set_field(self.info().standard.parser_error, u64::from(error));
        parsed
    }

    fn ingress(&mut self, job: &IngressJob) -> Result<(), DropReason> {
        let length = job.bytes.len();
        let (port, kind) = (job.port, job.instance_type);
        self.trace(|| TraceEvent::Ingress {
            port,
            length,
            instance_type: kind,
        });
        self.enter(job);
        let parsed = self.parse(&job.bytes);
        let pass = self.pass(&job.bytes, parsed, length);
        let requests = self.engine.ingress(pass, reborrow(&mut self.tracer))?;
        self.trace_fields(&self.info().names, |fields| TraceEvent::EndOfIngress {
            fields,
        });
        self.after_ingress(job, parsed, requests)
    }

    /// Step 3 of the packet path: clone, digest, then resubmit, multicast, drop or unicast.
    fn after_ingress(
        &mut self,
        job: &IngressJob,
        parsed: usize,
        requests: Requests,
    ) -> Result<(), DropReason> {
        if let Some((session, kept)) = &requests.clone {
            self.clone_ingress(job, *session, kept);
        }
        // A register names what to learn: the last call wins.
        if let Some(digest) = requests.digests.into_iter().next_back() {
            self.engine.state_mut().data.digests.push(digest);
        }
        if let Some(kept) = &requests.resubmit {
            let preserved = self.preserved(kept);
            self.await_ingress(IngressJob {
                bytes: Rc::clone(&job.bytes),
                port: PortId::new(0),
                instance_type: instance_type::RESUBMITTED,
                preserved,
            });
            return Ok(());
        }
        let group = self.get(self.info().standard.mcast_grp) as u16;
        let egress_spec = self.get(self.info().standard.egress_spec);
        // BMv2 copies packets without their truncation, so multicast copies are whole.
        let (replicas, kind, truncate) = if group != 0 {
            let state = self.engine.state_mut();
            let copies = state.control.replication.copies(group, state.data.ports());
            if copies.is_empty() {
                return Err(DropReason::EmptyMulticastGroup(group));
            }
            (copies, instance_type::REPLICATED, None)
        } else if egress_spec == DROP_PORT {
            return Err(DropReason::Ingress);
        } else {
            let rid = self.get(self.info().standard.egress_rid) as u16;
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
        Ok(())
    }

    fn enqueue(&mut self, job: &EgressJob<E::Snapshot>, replicas: &[Replica]) {
        for replica in replicas {
            self.await_egress(EgressJob {
                replica: *replica,
                ..job.clone()
            });
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
        let ingress_port = self.info().standard.ingress_port;
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

    fn egress(&mut self, job: &EgressJob<E::Snapshot>) -> Result<(), DropReason> {
        let Replica { port, rid } = job.replica;
        let kind = job.instance_type;
        self.trace(|| TraceEvent::Egress {
            port,
            rid,
            instance_type: kind,
        });
        self.engine.restore(&job.leaves);
        let info = self.info();
        let packet = EgressMetadata {
            port: u64::from(port.get()),
            instance_type: kind,
            length: job.length as u64,
            time: self.now.get() / 1000,
        };
        enter_egress(self, &info.standard, packet);
        self.set_field(info.standard.egress_rid, u64::from(rid));
        let pass = self.pass(&job.bytes, job.parsed, job.length);
        let requests = self.engine.egress(pass, reborrow(&mut self.tracer))?;
        self.trace_fields(&info.names, |fields| TraceEvent::EndOfEgress {
            port,
            fields,
        });
        self.after_egress(job, pass, requests)
    }

    /// Steps 4 and 5 after egress itself: clone, drop, deparse, recirculate or send.
    fn after_egress(
        &mut self,
        job: &EgressJob<E::Snapshot>,
        pass: Pass<'_>,
        requests: Requests,
    ) -> Result<(), DropReason> {
        let Replica { port, rid } = job.replica;
        if let Some((session, kept)) = &requests.clone {
            self.clone_egress(job, *session, kept);
        }
        if self.get(self.info().standard.egress_spec) == DROP_PORT {
            return Err(DropReason::Egress);
        }
        let mut bytes = self.engine.deparse(pass, reborrow(&mut self.tracer))?;
        if let Some(kept) = &requests.recirculate {
            let preserved = self.preserved(kept);
            self.await_ingress(IngressJob {
                bytes: bytes.into(),
                port: PortId::new(0),
                instance_type: instance_type::RECIRCULATED,
                preserved,
            });
            return Ok(());
        }
        if let Some(limit) = least(requests.truncate, job.truncate) {
            bytes.truncate(limit);
        }
        let metadata = self.output_metadata(job.instance_type, rid);
        self.send(port, bytes, metadata);
        Ok(())
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
            queue: self.get(self.info().standard.priority) as u8,
            ing_prio: class(self.info().ing_prio),
            eg_prio: class(self.info().eg_prio),
            instance_type: instance_type as u32,
            rid,
        }
    }
}

impl<E: Engine> StandardMetadata for Path<'_, '_, E> {
    type Field = Option<usize>;
    type Value = u64;

    fn constant(&mut self, value: u64) -> u64 {
        value
    }

    fn field(&mut self, field: Option<usize>) -> u64 {
        self.get(field)
    }

    fn set_field(&mut self, field: Option<usize>, value: u64) {
        self.set(field, value);
    }
}

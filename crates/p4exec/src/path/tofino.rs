//! A packet's way through a Tofino switch, whoever runs the blocks: see the first page of `p4ir`.

use std::ops::Range;
use std::rc::Rc;

use quantities::{Nanos, PortId, Priority};

use super::{Architecture, Engine, MaybeTracer, PacketLoop, Pass, Requests, reborrow};
use crate::exec::{DropReason, OutputMetadata, Sink};
use crate::state::Replica;
use crate::tna::{EgressMetadata, Gress, NO_PORT, TnaInfo, parser_error};
use crate::trace::{TraceEvent, Tracer};
use crate::v1model::instance_type;

/// Bits of `drop_ctl`.
const DROP: u64 = 1;
const NO_MIRROR: u64 = 4;

/// Runs what Tofino has besides v1model's blocks.
pub(crate) trait TnaEngine: Engine {
    /// Runs the egress parser; the error it ended with and the bits it took.
    fn parse_egress<'a>(&'a mut self, pass: Pass<'a>, tracer: MaybeTracer<'a>) -> (u32, usize);
    /// Runs a deparser: the packet, and what it asked for.
    fn deparse_asking<'a>(
        &'a mut self,
        gress: Gress,
        pass: Pass<'a>,
        tracer: MaybeTracer<'a>,
    ) -> Result<(Vec<u8>, Requests), DropReason>;
}

/// A packet waiting for ingress.
pub(crate) struct IngressJob {
    packet: Rc<[u8]>,
    port: PortId,
    resubmitted: Option<Vec<u8>>,
}

/// A packet waiting for egress.
pub(crate) struct EgressJob {
    packet: Rc<[u8]>,
    replica: Replica,
    qid: u64,
    cos: u64,
    instance_type: u64,
}

/// Tofino's switch, and where a program has the metadata that it reads and writes.
pub(crate) struct Tofino<'i>(&'i TnaInfo);

/// The way of a packet through it.
type Path<'a, 'i, E> = PacketLoop<'a, E, Tofino<'i>>;

impl<E: TnaEngine> Architecture<E> for Tofino<'_> {
    type Ingress = IngressJob;
    type Egress = EgressJob;

    fn passes(&self) -> u32 {
        self.0.passes
    }

    fn ingress(path: &mut PacketLoop<'_, E, Self>, job: &IngressJob) -> Result<(), DropReason> {
        path.ingress(job)
    }

    fn egress(path: &mut PacketLoop<'_, E, Self>, job: &EgressJob) -> Result<(), DropReason> {
        path.egress(job)
    }
}

/// Takes a packet all the way.
pub(crate) fn run<'a, E: TnaEngine>(
    engine: &'a mut E,
    info: &TnaInfo,
    now: Nanos,
    packet: &[u8],
    port: PortId,
    out: &'a mut dyn Sink,
    tracer: Option<&'a mut dyn Tracer>,
) {
    let mut path = Path::new(engine, Tofino(info), now, out, tracer);
    path.await_ingress(IngressJob {
        packet: packet.into(),
        port,
        resubmitted: None,
    });
    path.work(0);
}

impl<'i, E: TnaEngine> Path<'_, 'i, E> {
    const fn info(&self) -> &'i TnaInfo {
        self.architecture.0
    }

    fn clear(&mut self, leaves: &[Range<usize>]) {
        for range in leaves {
            self.engine.zero(range.clone());
        }
    }

    /// The name and the flag in `parser_err` of a parser's error. `reject` has none: the chip's
    /// parser ends there as it does at `accept`.
    fn parser_error(&self, error: u32) -> Option<&(String, u64)> {
        let known = self.info().errors.get(error as usize);
        known.filter(|_| error != 0)
    }

    /// `parser_err` of a packet that goes on to the ingress control.
    ///
    /// # Errors
    /// The ingress parser drops a packet with an error that the control does not read, and always
    /// one for which no case of a `select` matches.
    fn ingress_parser_err(&self, error: u32) -> Result<u64, DropReason> {
        match self.parser_error(error) {
            None => Ok(0),
            Some((_, flag))
                if self.info().ingress_takes_errors && flag & parser_error::NO_MATCH == 0 =>
            {
                Ok(*flag)
            }
            Some((name, _)) => Err(DropReason::Parser(name.clone())),
        }
    }

    fn ingress(&mut self, job: &IngressJob) -> Result<(), DropReason> {
        let info = self.info();
        let (port, length) = (job.port, job.packet.len());
        let kind = match job.resubmitted {
            Some(_) => instance_type::RESUBMITTED,
            None => instance_type::NORMAL,
        };
        self.trace(|| TraceEvent::Ingress {
            port,
            length,
            instance_type: kind,
        });
        let fields = &info.ingress;
        self.clear(&info.ingress_leaves);
        let now = self.now.get();
        let mut bytes = info.ingress_prefix(port.get(), now, job.resubmitted.as_deref());
        bytes.extend_from_slice(&job.packet);
        let mut pass = self.pass(&bytes, 0, length);
        let (error, parsed) = self.engine.parse(pass, reborrow(&mut self.tracer));
        pass.parsed = parsed.max(info.ingress_prefix_bits());
        let flag = self.ingress_parser_err(error)?;
        self.set(fields.parser_err, flag);
        self.set(fields.global_tstamp, now);
        if self.get(fields.ucast_egress_port) == 0 {
            self.set(fields.ucast_egress_port, NO_PORT);
        }
        self.engine.ingress(pass, reborrow(&mut self.tracer))?;
        self.trace_fields(&info.ingress_names, |fields| TraceEvent::EndOfIngress {
            fields,
        });
        let tracer = reborrow(&mut self.tracer);
        let (packet, requests) = self.engine.deparse_asking(Gress::Ingress, pass, tracer)?;
        self.after_ingress(job, packet.into(), requests)
    }

    /// Step 4 of the packet path: digest, mirror, then drop, resubmission, or the traffic manager.
    fn after_ingress(
        &mut self,
        job: &IngressJob,
        packet: Rc<[u8]>,
        requests: Requests,
    ) -> Result<(), DropReason> {
        let fields = &self.info().ingress;
        let drop_ctl = self.get(fields.drop_ctl);
        if let Some(digest) = requests.digests.into_iter().next_back() {
            self.engine.state_mut().data.digests.push(digest);
        }
        if drop_ctl & NO_MIRROR == 0 {
            self.mirror(&requests.mirrors, &job.packet, instance_type::INGRESS_CLONE);
        }
        if drop_ctl & DROP != 0 {
            return Err(DropReason::Ingress);
        }
        if let Some(data) = requests.resubmit_with {
            self.await_ingress(IngressJob {
                packet: Rc::clone(&job.packet),
                port: job.port,
                resubmitted: Some(data),
            });
            return Ok(());
        }
        let (qid, cos) = (self.get(fields.qid), self.get(fields.ingress_cos));
        let mut copies = Vec::new();
        let mut empty = None;
        for group in [fields.mcast_grp_a, fields.mcast_grp_b] {
            let group = self.get(group) as u16;
            if group == 0 {
                continue;
            }
            let state = self.engine.state_mut();
            let members = state.control.replication.copies(group, state.data.ports());
            if members.is_empty() {
                empty = Some(DropReason::EmptyMulticastGroup(group));
            }
            let kind = instance_type::REPLICATED;
            copies.extend(members.into_iter().map(|replica| (replica, kind)));
        }
        let port = self.get(fields.ucast_egress_port);
        if fields.ucast_egress_port.is_some() && port != NO_PORT {
            let rid = self.get(fields.rid) as u16;
            let port = PortId::new(port as u16);
            copies.push((Replica { port, rid }, instance_type::NORMAL));
        }
        if copies.is_empty() {
            return Err(empty.unwrap_or(DropReason::Ingress));
        }
        let bypass = self.get(fields.bypass_egress) != 0;
        for (replica, instance_type) in copies {
            let job = EgressJob {
                packet: Rc::clone(&packet),
                replica,
                qid,
                cos,
                instance_type,
            };
            if bypass {
                self.leave(&job, packet.to_vec());
            } else {
                self.await_egress(job);
            }
        }
        Ok(())
    }

    /// Copies with a header of their own before them, straight to egress.
    fn mirror(&mut self, mirrors: &[(u32, Vec<u8>)], packet: &[u8], kind: u64) {
        for (session, header) in mirrors {
            let state = self.engine.state_mut();
            let Some((session, replicas)) = state
                .control
                .replication
                .clones(*session, state.data.ports())
            else {
                continue;
            };
            let limit = session.truncate_to.map_or(usize::MAX, |n| n as usize);
            let mut copy = [header, packet].concat();
            copy.truncate(limit);
            let copy: Rc<[u8]> = copy.into();
            for replica in replicas {
                self.await_egress(EgressJob {
                    packet: Rc::clone(&copy),
                    replica,
                    qid: 0,
                    cos: 0,
                    instance_type: kind,
                });
            }
        }
    }

    fn egress(&mut self, job: &EgressJob) -> Result<(), DropReason> {
        let info = self.info();
        let Replica { port, rid } = job.replica;
        let kind = job.instance_type;
        self.trace(|| TraceEvent::Egress {
            port,
            rid,
            instance_type: kind,
        });
        let fields = &info.egress;
        self.clear(&info.egress_leaves);
        let now = self.now.get();
        let mut bytes = info.egress_prefix(&EgressMetadata {
            port: u64::from(port.get()),
            rid: u64::from(rid),
            qid: job.qid,
            length: job.packet.len() as u64,
            time: now,
        });
        let prefix = bytes.len() * 8;
        bytes.extend_from_slice(&job.packet);
        let mut pass = self.pass(&bytes, 0, job.packet.len());
        let (error, parsed) = self.engine.parse_egress(pass, reborrow(&mut self.tracer));
        pass.parsed = parsed.max(prefix);
        // The egress parser never drops a packet.
        let flag = self.parser_error(error).map_or(0, |(_, flag)| *flag);
        self.set(fields.parser_err, flag);
        self.set(fields.global_tstamp, now);
        self.engine.egress(pass, reborrow(&mut self.tracer))?;
        self.trace_fields(&info.egress_names, |fields| TraceEvent::EndOfEgress {
            port,
            fields,
        });
        let tracer = reborrow(&mut self.tracer);
        let (packet, requests) = self.engine.deparse_asking(Gress::Egress, pass, tracer)?;
        let drop_ctl = self.get(fields.drop_ctl);
        if drop_ctl & NO_MIRROR == 0 {
            self.mirror(&requests.mirrors, &packet, instance_type::EGRESS_CLONE);
        }
        if drop_ctl & DROP != 0 {
            return Err(DropReason::Egress);
        }
        self.leave(job, packet);
        Ok(())
    }

    fn leave(&mut self, job: &EgressJob, bytes: Vec<u8>) {
        let queue = job.qid as u8;
        let metadata = OutputMetadata {
            queue,
            ing_prio: Some(Priority::new(job.cos as u8)),
            eg_prio: Some(Priority::new(queue)),
            instance_type: job.instance_type as u32,
            rid: job.replica.rid,
        };
        self.send(job.replica.port, bytes, metadata);
    }
}

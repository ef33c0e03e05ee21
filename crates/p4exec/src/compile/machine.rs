//! Compiled blocks run by the executor: batches of packets, and what happens between the blocks of
//! those that ask for something special.

use std::ops::Range;
use std::rc::Rc;

use quantities::{Nanos, PortId, Priority};

use super::ahead::LookAhead;
use super::caches::Caches;
use super::code::{Cell, Code, get, set};
use super::jit::{Arrival, BlockKind, LARGEST_PRIORITY, Left, Session, prefetch_behind};
use super::runtime::{Foreseen, Runtime, Scratch, append_payload};
use crate::exec::{Batch, Departure, DropReason, OutputMetadata, Sink};
use crate::forward::{
    Blocks, EgressMetadata, IngressMetadata, StandardMetadata, Step, Way, enter_ingress, forward,
};
use crate::path::tofino::TnaEngine;
use crate::path::v1model::{self, IngressJob};
use crate::path::{Engine, MaybeTracer, Pass, Requests};
use crate::prefetch;
use crate::state::RuntimeState;
use crate::tables::{CACHE_LINE, TOGETHER};
use crate::tna::Gress;
use crate::v1model::{DROP_PORT, V1ModelInfo, instance_type};
use crate::value::Bits;

/// How many packets are fetched to the cache while others are processed: what takes longer than
/// memory does.
const AHEAD: usize = TOGETHER;

/// What compiled code writes to besides the state; its memory is kept from packet to packet.
pub(super) struct Memory {
    /// Headers, metadata and variables of the packet under way.
    pub(super) frame: Vec<u64>,
    pub(super) scratch: Scratch,
    pub(super) batch: Batch,
}

impl Memory {
    pub(super) fn new(code: &Code) -> Self {
        Self {
            frame: vec![0; code.layout.words],
            scratch: Scratch::default(),
            batch: Batch::default(),
        }
    }
}

/// Headers of the next packets from a place on are on their way to the cache while others are
/// processed.
#[inline]
fn prefetch_headers(packets: &[Arrival<'_>], from: usize) {
    for (_, packet) in packets.iter().skip(from).take(AHEAD) {
        prefetch(*packet);
        // It may begin anywhere on its line.
        prefetch_behind(*packet, CACHE_LINE - 1);
    }
}

/// Compiled blocks with what they run on, for one call of the executor.
pub(super) struct Machine<'a> {
    session: Session<'a>,
    pub(super) code: &'a Code,
    /// [`Code::out_room`], if all blocks are one function.
    in_one: Option<usize>,
    /// Where first look-ups are kept, if packets are looked ahead of.
    pub(super) ahead: Option<&'a mut LookAhead>,
}

impl<'a> Machine<'a> {
    /// Of one switch, whose caches are in line with its state.
    pub(super) fn new(
        code: &'a Code,
        state: &'a mut RuntimeState,
        memory: &'a mut Memory,
        caches: &'a mut Caches,
    ) -> Self {
        let runtime = Runtime {
            program: &code.program,
            info: &code.info,
            layout: &code.layout,
            sites: &code.sites,
            frame: &mut memory.frame,
            state,
            scratch: &mut memory.scratch,
            memo: &mut caches.memo,
            foreseen: [Foreseen::default(); TOGETHER],
            now: Nanos::default(),
            length: quantities::Bytes::default(),
        };
        let (images, answers) = (caches.images.addresses(), caches.answers.places());
        let (counters, port_status) = (&caches.counters, &caches.port_status);
        Self {
            session: Session::new(
                &code.native,
                runtime,
                images,
                answers,
                counters,
                port_status,
            ),
            in_one: code.native.has_whole().then_some(code.out_room).flatten(),
            ahead: caches.ahead.as_deref_mut(),
            code,
        }
    }
}

impl Machine<'_> {
    /// Takes the packets of a batch all the way.
    pub(super) fn forward(
        &mut self,
        info: &V1ModelInfo,
        now: Nanos,
        packets: &[Arrival<'_>],
        out: &mut Batch,
    ) {
        if packets.len() <= AHEAD {
            return self.forward_some(info, now, packets, 0, out);
        }
        let mut first = 0;
        for chunk in packets.chunks(AHEAD) {
            prefetch_headers(packets, first + AHEAD);
            self.forward_some(info, now, chunk, first, out);
            first += chunk.len();
        }
    }

    /// Takes the packets of a batch all the way, their first look-ups together.
    pub(super) fn forward_ahead(
        &mut self,
        info: &V1ModelInfo,
        now: Nanos,
        packets: &[Arrival<'_>],
        ahead: &mut LookAhead,
        out: &mut Batch,
    ) {
        let [first, second] = &mut ahead.0;
        let (mut these, mut next) = (first, second);
        let mut chunks = packets.chunks(TOGETHER);
        let chunk = chunks.clone().next().unwrap_or_default();
        these.look_at(&mut self.session, now, chunk);
        let mut first = 0;
        while let Some(chunk) = chunks.next() {
            let foreseen = these.end(&self.session.runtime.state.control);
            let later = chunks.clone().next().unwrap_or_default();
            next.look_at(&mut self.session, now, later);
            prefetch_headers(packets, first + 2 * TOGETHER);
            self.session.runtime.foreseen = foreseen;
            self.forward_some(info, now, chunk, first, out);
            first += chunk.len();
            std::mem::swap(&mut these, &mut next);
        }
        self.session.runtime.foreseen = [Foreseen::default(); TOGETHER];
    }

    /// Takes packets all the way, on the short way as long as they ask for nothing special. The
    /// first one has this number in the batch.
    fn forward_some(
        &mut self,
        info: &V1ModelInfo,
        now: Nanos,
        packets: &[Arrival<'_>],
        first: usize,
        out: &mut Batch,
    ) {
        let mut from = 0;
        while let Some(mut rest @ [packet, ..]) = packets.get(from..) {
            if !self.code.clears {
                // The frame is made for one packet.
                rest = std::slice::from_ref(packet);
                self.enter(info, now, packet.1.len(), packet.0);
            }
            let number = first + from;
            let Some(room) = self.in_one else {
                out.arrival = number as u32;
                self.forward_by_blocks(info, now, *packet, out);
                from += 1;
                continue;
            };
            match self.session.run_whole(now, rest, number, out, room) {
                None => from += rest.len(),
                Some(left) => {
                    let at = left.packet - first;
                    self.leave_whole(info, now, packets[at], left, out);
                    from = at + 1;
                }
            }
        }
    }

    /// Takes on a packet that the function of all blocks left off.
    #[inline(never)]
    fn leave_whole(
        &mut self,
        info: &V1ModelInfo,
        now: Nanos,
        (port, bytes): Arrival<'_>,
        left: Left,
        out: &mut Batch,
    ) {
        out.arrival = left.packet as u32;
        let mut pass = Pass::received(now, bytes);
        pass.parsed = left.parsed;
        self.leave(left.way, info, pass, port, left.forwarded, out);
    }

    /// Takes a packet all the way with a function for each block.
    #[inline(never)]
    fn forward_by_blocks(
        &mut self,
        info: &V1ModelInfo,
        now: Nanos,
        (port, bytes): Arrival<'_>,
        out: &mut Batch,
    ) {
        let start = out.bytes.len();
        let mut pass = Pass::received(now, bytes);
        let (way, forwarded) = self.run_blocks(&mut pass, &mut out.bytes);
        if way == Way::Sent {
            let (sent_to, rid) = forwarded;
            out.sent.push(Departure {
                arrival: out.arrival,
                port: sent_to,
                range: start..out.bytes.len(),
                metadata: self.metadata(rid),
            });
        } else {
            self.leave(way, info, pass, port, forwarded, out);
        }
    }

    /// Takes on a packet that left the short way before it was sent.
    fn leave(
        &mut self,
        way: Way,
        info: &V1ModelInfo,
        pass: Pass<'_>,
        port: PortId,
        forwarded: (PortId, u16),
        out: &mut Batch,
    ) {
        match way {
            Way::Sent => {}
            Way::Aborted => {
                let reason = self.aborted();
                out.dropped(reason);
            }
            Way::DroppedInIngress => out.dropped(DropReason::Ingress),
            Way::DroppedInEgress => out.dropped(DropReason::Egress),
            Way::AfterIngress => {
                let requests = self.take_requests();
                let job = IngressJob::received(pass.bytes, port);
                v1model::resume_after_ingress(
                    self,
                    info,
                    pass.now,
                    &job,
                    pass.parsed,
                    requests,
                    out,
                );
            }
            Way::AfterEgress => {
                let requests = self.take_requests();
                v1model::resume_after_egress(self, info, pass, forwarded, requests, out);
            }
        }
    }

    /// The short way with a function for each block: how it ended, and the port and replica number
    /// with which the packet left ingress.
    fn run_blocks(&mut self, pass: &mut Pass<'_>, out: &mut Vec<u8>) -> (Way, (PortId, u16)) {
        let fields = &self.code.fields;
        let (error, parsed) = self.run_parser(*pass);
        pass.parsed = parsed;
        let mut steps = Steps {
            machine: self,
            pass: *pass,
            out,
            forwarded: (PortId::new(0), 0),
        };
        let way = match forward(&mut steps, &fields.standard, error.into()) {
            Step::Continue(()) => Way::Sent,
            Step::Break(way) => way,
        };
        (way, steps.forwarded)
    }

    fn frame(&mut self) -> &mut [u64] {
        self.session.runtime.frame
    }

    /// Clears headers and metadata and fills in what a received packet enters with.
    fn enter(&mut self, info: &V1ModelInfo, now: Nanos, length: usize, port: PortId) {
        let fields = &self.code.fields;
        let kept = self.session.runtime.layout.kept;
        let frame = self.frame();
        frame[..kept].fill(0);
        let packet = IngressMetadata {
            port: u64::from(port.get()),
            length: length as u64,
            time: Some(now.get() / 1000),
        };
        enter_ingress(&mut FrameFields(frame), &fields.standard, packet);
        if let Some(leaf) = info.port_status {
            let slot = self.session.runtime.layout.slot(leaf);
            let status = self.session.runtime.state.port_status(slot.width);
            slot.write(self.frame(), &status);
        }
    }

    /// Runs the parser; its error, and the bits it took.
    fn run_parser(&mut self, pass: Pass<'_>) -> (u32, usize) {
        let ended = self.session.run(BlockKind::Parser, pass);
        self.refuse_requests();
        (ended.code as u32, ended.parsed)
    }

    /// What parser, checksums and deparser ask for is not granted.
    fn refuse_requests(&mut self) {
        if self.session.runtime.scratch.requested {
            self.take_requests();
        }
    }

    /// Runs ingress or egress; the error is why the packet ends there.
    fn block(&mut self, kind: BlockKind, pass: Pass<'_>) -> Result<(), DropReason> {
        if self.session.run(kind, pass).code == 0 {
            return Ok(());
        }
        Err(self.aborted())
    }

    /// Why a block was aborted; what it asked for before is forgotten.
    fn aborted(&mut self) -> DropReason {
        self.take_requests();
        let reason = self.session.runtime.scratch.abort.take();
        // Compiled code aborts only after it said why.
        reason.unwrap_or(DropReason::LoopBound(crate::interp::MAX_ROUNDS))
    }

    fn take_requests(&mut self) -> Requests {
        self.session.runtime.scratch.requested = false;
        std::mem::take(&mut self.session.runtime.scratch.requests)
    }

    /// Computes checksums and appends the packet.
    fn write_packet(&mut self, pass: Pass<'_>, out: &mut Vec<u8>) -> Result<(), DropReason> {
        self.write_by(BlockKind::Deparser, pass, out)?;
        self.refuse_requests();
        Ok(())
    }

    /// Runs a deparser and appends the packet; what it asked for is left.
    fn write_by(
        &mut self,
        kind: BlockKind,
        pass: Pass<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), DropReason> {
        let code = match self.code.out_room {
            Some(room) => self.session.run_deparser(kind, pass, out, room).code,
            None => self.session.run(kind, pass).code,
        };
        if code != 0 {
            self.session.runtime.scratch.writer = crate::bitio::BitWriter::new();
            return Err(self.aborted());
        }
        if self.code.out_room.is_some() && pass.parsed.is_multiple_of(8) {
            out.extend_from_slice(pass.bytes.get(pass.parsed / 8..).unwrap_or_default());
            return Ok(());
        }
        let mut writer = std::mem::take(&mut self.session.runtime.scratch.writer);
        append_payload(&mut writer, pass.bytes, pass.parsed);
        out.extend_from_slice(&writer.into_bytes());
        Ok(())
    }

    /// What the frame says of a packet that leaves egress.
    fn metadata(&self, rid: u16) -> OutputMetadata {
        let fields = &self.code.fields;
        let frame = &*self.session.runtime.frame;
        let class = |cell: Cell| {
            let said = get(frame, cell).min(LARGEST_PRIORITY) as u8;
            cell.map(|_| Priority::new(said))
        };
        OutputMetadata {
            queue: get(frame, fields.standard.priority) as u8,
            ing_prio: class(fields.ing_prio),
            eg_prio: class(fields.eg_prio),
            instance_type: instance_type::NORMAL as u32,
            rid,
        }
    }
}

/// The standard metadata in a frame.
struct FrameFields<'f>(&'f mut [u64]);

impl StandardMetadata for FrameFields<'_> {
    type Field = Cell;
    type Value = u64;

    fn constant(&mut self, value: u64) -> u64 {
        value
    }

    fn field(&mut self, field: Cell) -> u64 {
        get(self.0, field)
    }

    fn set_field(&mut self, field: Cell, value: u64) {
        set(self.0, field, value);
    }
}

/// The steps of [`forward`] with a function for each block.
struct Steps<'s, 'm, 'p> {
    machine: &'s mut Machine<'m>,
    pass: Pass<'p>,
    out: &'s mut Vec<u8>,
    /// The port and replica number with which the packet left ingress.
    forwarded: (PortId, u16),
}

impl Steps<'_, '_, '_> {
    fn block(&mut self, kind: BlockKind) -> Step {
        match self.machine.session.run(kind, self.pass).code {
            0 => Step::Continue(()),
            _ => Step::Break(Way::Aborted),
        }
    }
}

impl StandardMetadata for Steps<'_, '_, '_> {
    type Field = Cell;
    type Value = u64;

    fn constant(&mut self, value: u64) -> u64 {
        value
    }

    fn field(&mut self, field: Cell) -> u64 {
        get(self.machine.frame(), field)
    }

    fn set_field(&mut self, field: Cell, value: u64) {
        set(self.machine.frame(), field, value);
    }
}

impl Blocks for Steps<'_, '_, '_> {
    fn ingress(&mut self) -> Step {
        self.block(BlockKind::Ingress)
    }

    fn passed_on(&mut self, port: u64, rid: u64) -> EgressMetadata<u64> {
        self.forwarded = (PortId::new(port as u16), rid as u16);
        EgressMetadata {
            port: u64::from(port as u16),
            instance_type: instance_type::NORMAL,
            length: self.pass.length as u64,
            time: self.pass.now.get() / 1000,
        }
    }

    fn egress(&mut self) -> Step {
        self.block(BlockKind::Egress)
    }

    fn deparse(&mut self) -> Step {
        let start = self.out.len();
        match self.machine.write_packet(self.pass, self.out) {
            Ok(()) => Step::Continue(()),
            Err(reason) => {
                self.out.truncate(start);
                self.machine.session.runtime.scratch.abort = Some(reason);
                Step::Break(Way::Aborted)
            }
        }
    }

    fn leave_if_requested(&mut self, way: Way) -> Step {
        self.leave_if(self.machine.session.runtime.scratch.requested.into(), way)
    }

    fn leave_if(&mut self, value: u64, way: Way) -> Step {
        match value {
            0 => Step::Continue(()),
            _ => Step::Break(way),
        }
    }

    fn leave_if_dropped(&mut self, port: u64, way: Way) -> Step {
        self.leave_if((port == DROP_PORT).into(), way)
    }
}

impl TnaEngine for Machine<'_> {
    fn parse_egress<'a>(&'a mut self, pass: Pass<'a>, _: MaybeTracer<'a>) -> (u32, usize) {
        let ended = self.session.run(BlockKind::EgressParser, pass);
        self.refuse_requests();
        (ended.code as u32, ended.parsed)
    }

    fn deparse_asking<'a>(
        &'a mut self,
        gress: Gress,
        pass: Pass<'a>,
        _: MaybeTracer<'a>,
    ) -> Result<(Vec<u8>, Requests), DropReason> {
        let kind = match gress {
            Gress::Ingress => BlockKind::IngressDeparser,
            Gress::Egress => BlockKind::Deparser,
        };
        let mut bytes = Vec::new();
        self.write_by(kind, pass, &mut bytes)?;
        Ok((bytes, self.take_requests()))
    }
}

impl Engine for Machine<'_> {
    type Snapshot = Rc<[u64]>;

    fn state_mut(&mut self) -> &mut RuntimeState {
        self.session.runtime.state
    }

    fn get(&self, leaf: usize) -> u64 {
        let slot = self.session.runtime.layout.slot(leaf);
        self.session.runtime.frame[slot.word as usize]
    }

    fn set(&mut self, leaf: usize, value: u64) {
        let slot = self.session.runtime.layout.slot(leaf);
        slot.write(self.frame(), &Bits::from_u64(slot.width, value));
    }

    fn leaf(&self, leaf: usize) -> Bits {
        self.session.runtime.leaf(leaf)
    }

    fn set_leaf(&mut self, leaf: usize, value: &Bits) {
        let slot = self.session.runtime.layout.slot(leaf);
        slot.write(self.frame(), value);
    }

    fn leaf_width(&self, leaf: usize) -> u32 {
        self.session.runtime.layout.slot(leaf).width
    }

    fn zero(&mut self, leaves: Range<usize>) {
        let words = self.session.runtime.layout.range(&leaves);
        self.frame()[words].fill(0);
    }

    fn save(&self) -> Rc<[u64]> {
        self.session.runtime.frame[..self.session.runtime.layout.kept].into()
    }

    fn restore(&mut self, saved: &Rc<[u64]>) {
        self.frame()[..saved.len()].copy_from_slice(saved);
    }

    fn parse<'a>(&'a mut self, pass: Pass<'a>, _: MaybeTracer<'a>) -> (u32, usize) {
        self.run_parser(pass)
    }

    fn ingress<'a>(
        &'a mut self,
        pass: Pass<'a>,
        _: MaybeTracer<'a>,
    ) -> Result<Requests, DropReason> {
        self.block(BlockKind::Ingress, pass)?;
        Ok(self.take_requests())
    }

    fn egress<'a>(
        &'a mut self,
        pass: Pass<'a>,
        _: MaybeTracer<'a>,
    ) -> Result<Requests, DropReason> {
        self.block(BlockKind::Egress, pass)?;
        Ok(self.take_requests())
    }

    fn deparse<'a>(
        &'a mut self,
        pass: Pass<'a>,
        _: MaybeTracer<'a>,
    ) -> Result<Vec<u8>, DropReason> {
        let mut bytes = Vec::new();
        self.write_packet(pass, &mut bytes)?;
        Ok(bytes)
    }
}

//! The compiled executor: a program becomes machine code when the pipeline is set.
//!
//! # How it works
//!
//! All storage of a program is one flat array of words, the *frame* (`frame.rs`). `codegen/` writes
//! four functions as Cranelift IR: the parser; checksum verification and ingress; egress; checksum
//! computation and deparser; and a fifth of all of them, with what `simple_switch` does between
//! them, if the program reads and writes whole bytes and keeps to the rules that `Unit::blocks`
//! checks. Actions, functions, controls and subparsers are copied into their callers, except those
//! that are large and called more than once (`plan.rs`). Within a function, what was stored in a
//! word is kept as a value as long as all paths agree on it; every store also goes to the frame, so
//! that the other functions and helpers find it there.
//!
//! Native code does: control flow, arithmetic up to 64 bits and most of it beyond, extraction and
//! emission of headers (one comparison with the packet's end per header, words loaded and stored
//! whole), Internet checksums and CRCs, counters, keys of tables and action data, and lookups in
//! tables of a few entries, groups of members included, in copies made for it (`image.rs`). It
//! calls out (`runtime.rs`, through `jit.rs`) for other lookups, other hashes, meters, registers,
//! random numbers, digests, requests to clone, resubmit or recirculate, value sets, varbits,
//! checksums over the payload, headers that are not whole bytes, and multiplication, division and
//! shifts by variable amounts of values beyond 64 bits.
//!
//! Keys reach the tables packed as they are stored. Exact tables take one probe; what a lookup in
//! another table found is remembered (`memo.rs`) for as long as the table's entries stay the same;
//! where it changes nothing and picks nothing, native code finds what it came to by itself
//! (`answers.rs`). While a table is large, the first look-ups of many packets are made together,
//! before these are run (`ahead.rs`).
//!
//! Packets that ask for nothing special stay in one loop that allocates nothing. Where all blocks
//! are one function, the loop is in it: it takes packet after packet, and writes bytes, departures
//! and drops straight into the batch. Else it is `Machine::forward_some`: in with parser and
//! ingress, out with egress and deparser. Everything else (clones, multicast, resubmission,
//! recirculation, digests, truncation) continues on the same [`Path`](crate::path) as in the
//! interpreter, with compiled blocks.
//!
//! Tofino's six blocks are a function each, and every packet goes the way of `tna_path`, as in the
//! interpreter.
//!
//! Traced packets are run by the interpreter, on the same state: events come at places that
//! compiled code does not have, and who listens does not hurry. What is sent, and what the state
//! becomes, is the same.

mod ahead;
mod answers;
mod codegen;
mod frame;
mod image;
mod jit;
mod memo;
mod object;
mod plan;
mod runtime;
mod site;

use crate::prefetch;
use crate::tables::{CACHE_LINE, TOGETHER};
pub use codegen::{Cut, Listing};
pub use jit::prefetch_behind;
pub use object::Object;

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use p4ir::ValidProgram;
use quantities::{Nanos, PortId, Priority};

use crate::exec::{Batch, Departure, DropReason, Executor, OutputMetadata, Outputs, Sink};
use crate::forward::{
    Blocks, EgressMetadata, IngressMetadata, StandardMetadata, Step, Way, enter_ingress, forward,
};
use crate::info::{ArchitectureInfo, ProgramInfo};
use crate::interp::Interpreter;
use crate::path::{self, Engine, IngressJob, MaybeTracer, Pass, Requests};
use crate::state::{BuildError, RuntimeState};
use crate::tna::Gress;
use crate::tna_path::{self, TnaEngine};
use crate::trace::Tracer;
use crate::v1model::{DROP_PORT, StandardFields, V1ModelInfo, instance_type};
use crate::value::Bits;
use ahead::LookAhead;
use answers::Answers;
use frame::{FrameLayout, words_of};
use image::Images;
use jit::{Arrival, BlockKind, Cells, Code, LARGEST_PRIORITY, Left, Session};
use memo::Memo;
use runtime::{Foreseen, Runtime, Scratch, append_payload};
use site::Site;

/// How many packets are fetched to the cache while others are processed: what takes longer than
/// memory does.
const AHEAD: usize = TOGETHER;

/// A program for v1model or Tofino as machine code. See the module documentation.
pub struct Compiled {
    /// Holds the state, and runs traced packets.
    interpreter: Interpreter,
    program: Arc<ValidProgram>,
    info: Arc<ProgramInfo>,
    layout: FrameLayout,
    sites: Vec<Site>,
    out_room: Option<usize>,
    clears: bool,
    fields: Fields,
    frame: Vec<u64>,
    scratch: Scratch,
    memo: Memo,
    /// Where first look-ups are kept, if the code can look ahead and it is worth it.
    ahead: Option<Box<LookAhead>>,
    images: Images,
    answers: Answers,
    counters: Vec<Cells>,
    /// Which ports are up, as the program's metadata has it.
    port_status: Vec<u64>,
    /// Whether images and counters are those of the state: nobody could change it since they were
    /// made.
    fresh: bool,
    batch: Batch,
    code: Arc<Code>,
}

/// A field of the standard or user metadata: its word, and the mask of its width.
type Cell = Option<(usize, u64)>;

/// The fields that the switch itself reads and writes.
#[derive(Clone, Copy, Debug, Default)]
struct Fields {
    standard: StandardFields<Cell>,
    ing_prio: Cell,
    eg_prio: Cell,
}

impl Fields {
    fn new(info: &ProgramInfo, layout: &FrameLayout) -> Self {
        let cell = |leaf: Option<usize>| {
            leaf.map(|leaf| {
                let slot = layout.slot(leaf);
                let mask = u64::MAX >> (64 - slot.width.clamp(1, 64));
                (slot.word as usize, mask)
            })
        };
        let Some(info) = info.v1model() else {
            return Self::default();
        };
        Self {
            standard: info.standard.map(cell),
            ing_prio: cell(info.ing_prio),
            eg_prio: cell(info.eg_prio),
        }
    }
}

fn get(frame: &[u64], cell: Cell) -> u64 {
    cell.map_or(0, |(word, _)| frame[word])
}

fn set(frame: &mut [u64], cell: Cell, value: u64) {
    if let Some((word, mask)) = cell {
        frame[word] = value & mask;
    }
}

impl Compiled {
    /// Compiles a program; it starts with the program's initial state.
    pub fn new(program: Arc<ValidProgram>) -> Result<Self, BuildError> {
        let interpreter = Interpreter::new(Arc::clone(&program))?;
        let info = interpreter.shared_info();
        let layout = FrameLayout::new(&program, &info);
        let object = codegen::compile(&interpreter.state().control, &info, &layout, None, None)?;
        Self::assemble(interpreter, layout, object)
    }

    /// The same, but packets end at a place in the program; `None` if its blocks are not one
    /// function, where nothing can be cut.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn cut(program: Arc<ValidProgram>, cut: Cut) -> Result<Option<Self>, BuildError> {
        let interpreter = Interpreter::new(program)?;
        let info = interpreter.shared_info();
        let layout = FrameLayout::new(interpreter.state().control.program(), &info);
        let control = &interpreter.state().control;
        let object = codegen::compile(control, &info, &layout, None, Some(cut))?;
        match object.whole {
            Some(_) => Self::assemble(interpreter, layout, object).map(Some),
            None => Ok(None),
        }
    }

    /// Generates the code of a program and proves that its initial state can be made, but runs
    /// nothing: what [`Compiled::link`] takes, in this process or in another one of the same build
    /// on the same machine.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn generate(program: &Arc<ValidProgram>) -> Result<Object, BuildError> {
        let interpreter = Interpreter::new(Arc::clone(program))?;
        let info = interpreter.shared_info();
        let layout = FrameLayout::new(program, &info);
        codegen::compile(&interpreter.state().control, &info, &layout, None, None)
    }

    /// An executor of a program with the code that [`Compiled::generate`] made of it; the time it
    /// takes grows with the size of both. The code is believed: whoever reads an object from
    /// elsewhere has to know that `generate` wrote it for this very program.
    ///
    /// # Errors
    /// As [`Compiled::new`]; [`BuildError::CodeGenerator`] if the object is of another build, or
    /// not whole.
    pub fn link(program: Arc<ValidProgram>, object: Object) -> Result<Self, BuildError> {
        let interpreter = Interpreter::new(Arc::clone(&program))?;
        let layout = FrameLayout::new(&program, &interpreter.shared_info());
        Self::assemble(interpreter, layout, object)
    }

    fn assemble(
        interpreter: Interpreter,
        layout: FrameLayout,
        object: Object,
    ) -> Result<Self, BuildError> {
        let info = interpreter.shared_info();
        let program = Arc::clone(interpreter.state().control.program());
        let blocks = if info.blocks.between.is_some() { 6 } else { 4 };
        object.check(&program, blocks)?;
        Ok(Self {
            interpreter,
            fields: Fields::new(&info, &layout),
            frame: vec![0; layout.words],
            scratch: Scratch::default(),
            memo: Memo::new(program.tables.len()),
            ahead: None,
            images: Images::new(&program, object.looked_up.clone()),
            answers: Answers::new(&program),
            counters: Vec::new(),
            port_status: Vec::new(),
            fresh: false,
            batch: Batch::default(),
            code: Arc::new(object.link()?),
            sites: object.sites,
            out_room: object.out_room,
            clears: object.clears,
            program,
            info,
            layout,
        })
    }

    /// The functions of a program as they are written, in Cranelift IR and as machine code.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn listing(program: Arc<ValidProgram>) -> Result<Vec<Listing>, BuildError> {
        let interpreter = Interpreter::new(Arc::clone(&program))?;
        let info = interpreter.shared_info();
        let layout = FrameLayout::new(&program, &info);
        let mut listing = Vec::new();
        let control = &interpreter.state().control;
        codegen::compile(control, &info, &layout, Some(&mut listing), None)?;
        Ok(listing)
    }

    /// Another switch of the same program, with the program's initial state: it shares the machine
    /// code.
    pub fn sibling(&self) -> Result<Self, BuildError> {
        RuntimeState::new(Arc::clone(&self.program)).map(|state| self.with_state(state))
    }

    /// Another executor of the same program, on a state of it: it shares the machine code.
    #[must_use]
    pub fn with_state(&self, state: RuntimeState) -> Self {
        Self {
            interpreter: self.interpreter.with_state(state),
            program: Arc::clone(&self.program),
            info: Arc::clone(&self.info),
            layout: self.layout.clone(),
            sites: self.sites.clone(),
            out_room: self.out_room,
            clears: self.clears,
            fields: self.fields,
            frame: vec![0; self.layout.words],
            scratch: Scratch::default(),
            memo: Memo::new(self.program.tables.len()),
            ahead: None,
            images: self.images.sibling(&self.program),
            answers: Answers::new(&self.program),
            counters: Vec::new(),
            port_status: Vec::new(),
            fresh: false,
            batch: Batch::default(),
            code: Arc::clone(&self.code),
        }
    }

    /// Exchanges the storage of the packet under way, which means nothing between packets: switches
    /// of the same program that take turns may share one, so that it stays in the cache. One of
    /// another length (an empty one, at first) is made to fit.
    pub fn swap_frame(&mut self, frame: &mut Vec<u64>) {
        if frame.len() != self.frame.len() {
            *frame = vec![0; self.frame.len()];
        }
        std::mem::swap(&mut self.frame, frame);
    }

    fn machine(&mut self) -> Machine<'_> {
        if !self.fresh {
            let state = Executor::state_mut(&mut self.interpreter);
            self.images.refresh(&self.program, state);
            Cells::find(&mut self.counters, state);
            self.port_status.clear();
            if let Some(leaf) = self.info.v1model().and_then(|info| info.port_status) {
                let slot = self.layout.slot(leaf);
                let status = state.port_status(slot.width);
                self.port_status.resize(slot.words() as usize, 0);
                words_of(&status, &mut self.port_status);
            }
            if !self.code.looks_ahead() || !ahead::has_large_table(&state.control) {
                self.ahead = None;
            } else if self.ahead.is_none() {
                self.ahead = Some(Box::default());
            }
            self.answers.refresh(state, self.ahead.is_some());
            self.fresh = true;
        }
        Machine {
            session: Session::new(
                &self.code,
                Runtime {
                    program: &self.program,
                    info: &self.info,
                    layout: &self.layout,
                    sites: &self.sites,
                    frame: &mut self.frame,
                    state: Executor::state_mut(&mut self.interpreter),
                    scratch: &mut self.scratch,
                    memo: &mut self.memo,
                    foreseen: [Foreseen::default(); TOGETHER],
                    now: Nanos::default(),
                    length: quantities::Bytes::default(),
                },
                self.images.addresses(),
                self.answers.places(),
                &self.counters,
                &self.port_status,
            ),
            in_one: self.code.has_whole().then_some(self.out_room).flatten(),
            fields: &self.fields,
            info: &self.info,
            out_room: self.out_room,
            clears: self.clears,
            ahead: self.ahead.as_deref_mut(),
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

impl Executor for Compiled {
    fn process(&mut self, now: Nanos, packet: &[u8], ingress_port: PortId, out: &mut Outputs) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        self.process_batch(now, &[(ingress_port, packet)], &mut batch);
        for departure in &batch.sent {
            let bytes = batch.packet(departure).to_vec();
            out.sent(departure.port, bytes, departure.metadata);
        }
        for (_, reason) in batch.dropped.drain(..) {
            out.dropped(reason);
        }
        self.batch = batch;
    }

    fn process_traced(
        &mut self,
        now: Nanos,
        packet: &[u8],
        ingress_port: PortId,
        out: &mut Outputs,
        tracer: &mut dyn Tracer,
    ) {
        self.interpreter
            .process_traced(now, packet, ingress_port, out, tracer);
    }

    fn process_batch(&mut self, now: Nanos, packets: &[(PortId, &[u8])], out: &mut Batch) {
        let mut machine = self.machine();
        let info = match &machine.info.architecture {
            ArchitectureInfo::V1Model(info) => info,
            ArchitectureInfo::Tofino(info) => {
                for (arrival, (port, packet)) in packets.iter().enumerate() {
                    out.arrival = arrival as u32;
                    tna_path::run(&mut machine, info, now, packet, *port, out, None);
                }
                return;
            }
        };
        if packets.len() >= ahead::SOME_PACKETS
            && let Some(ahead) = machine.ahead.take()
        {
            return machine.forward_ahead(info, now, packets, ahead, out);
        }
        machine.forward(info, now, packets, out);
    }

    fn state(&self) -> &RuntimeState {
        self.interpreter.state()
    }

    fn state_mut(&mut self) -> &mut RuntimeState {
        self.fresh = false;
        Executor::state_mut(&mut self.interpreter)
    }
}

/// Compiled blocks with what they run on, for one call of the executor.
struct Machine<'a> {
    session: Session<'a>,
    fields: &'a Fields,
    info: &'a ProgramInfo,
    out_room: Option<usize>,
    /// The same, if all blocks are one function.
    in_one: Option<usize>,
    /// Whether that function takes a frame that was not cleared.
    clears: bool,
    /// Where first look-ups are kept, if packets are looked ahead of.
    ahead: Option<&'a mut LookAhead>,
}

impl Machine<'_> {
    /// Takes the packets of a batch all the way.
    fn forward(
        &mut self,
        info: &Arc<V1ModelInfo>,
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

    /// Takes packets all the way, on the short way as long as they ask for nothing special. The
    /// first one has this number in the batch.
    fn forward_some(
        &mut self,
        info: &Arc<V1ModelInfo>,
        now: Nanos,
        packets: &[Arrival<'_>],
        first: usize,
        out: &mut Batch,
    ) {
        let mut from = 0;
        while let Some(mut rest @ [packet, ..]) = packets.get(from..) {
            if !self.clears {
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
        info: &Arc<V1ModelInfo>,
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
        info: &Arc<V1ModelInfo>,
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
        info: &Arc<V1ModelInfo>,
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
                let (info, requests) = (Arc::clone(info), self.take_requests());
                let job = IngressJob::received(pass.bytes, port);
                path::resume_after_ingress(self, info, pass.now, &job, pass.parsed, requests, out);
            }
            Way::AfterEgress => {
                let (info, requests) = (Arc::clone(info), self.take_requests());
                path::resume_after_egress(self, info, pass, forwarded, requests, out);
            }
        }
    }

    /// The short way with a function for each block: how it ended, and the port and replica number
    /// with which the packet left ingress.
    fn run_blocks(&mut self, pass: &mut Pass<'_>, out: &mut Vec<u8>) -> (Way, (PortId, u16)) {
        let fields = self.fields;
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
        let fields = self.fields;
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
        let code = match self.out_room {
            Some(room) => self.session.run_deparser(kind, pass, out, room).code,
            None => self.session.run(kind, pass).code,
        };
        if code != 0 {
            self.session.runtime.scratch.writer = crate::bitio::BitWriter::new();
            return Err(self.aborted());
        }
        if self.out_room.is_some() && pass.parsed.is_multiple_of(8) {
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
        let fields = self.fields;
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

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
//! before these are run (`ahead.rs`). How long all of that holds is decided in one place
//! (`caches.rs`).
//!
//! Packets that ask for nothing special stay in one loop that allocates nothing. Where all blocks
//! are one function, the loop is in it: it takes packet after packet, and writes bytes, departures
//! and drops straight into the batch. Else it is `Machine::forward_some`: in with parser and
//! ingress, out with egress and deparser. Everything else (clones, multicast, resubmission,
//! recirculation, digests, truncation) continues on the same [`crate::path`] as in the
//! interpreter, with compiled blocks.
//!
//! Tofino's six blocks are a function each, and every packet takes the same path as in the
//! interpreter.
//!
//! Traced packets are run by the interpreter, on the same state: events come at places that
//! compiled code does not have, and who listens does not hurry. What is sent, and what the state
//! becomes, is the same.

mod ahead;
mod answers;
mod caches;
mod code;
mod codegen;
mod epoch;
mod frame;
mod image;
mod jit;
mod machine;
mod memo;
mod object;
mod plan;
mod runtime;
mod site;

pub use codegen::{Cut, Listing};
pub use jit::prefetch_behind;
pub use object::Object;

use std::sync::Arc;

use p4ir::ValidProgram;
use quantities::{Nanos, PortId};

use crate::exec::{Batch, Executor, Outputs, Sink};
use crate::info::ArchitectureInfo;
use crate::interp::Interpreter;
use crate::path;
use crate::state::{BuildError, RuntimeState};
use crate::trace::Tracer;
use caches::Caches;
use code::Code;
use frame::FrameLayout;
use machine::{Machine, Memory};

/// A program for v1model or Tofino as machine code. See the module documentation.
pub struct Compiled {
    /// What all switches of the program share.
    code: Arc<Code>,
    /// What the code writes to besides the state.
    memory: Memory,
    /// What spares it look-ups.
    caches: Caches,
    /// Holds the state, and runs traced packets.
    interpreter: Interpreter,
}

impl Compiled {
    /// Compiles a program; it starts with the program's initial state.
    pub fn new(program: Arc<ValidProgram>) -> Result<Self, BuildError> {
        let interpreter = Interpreter::new(program)?;
        let (layout, object) = generate(&interpreter, None, None)?;
        Self::assemble(interpreter, layout, object)
    }

    /// The same, but packets end at a place in the program; `None` if its blocks are not one
    /// function, where nothing can be cut.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn cut(program: Arc<ValidProgram>, cut: Cut) -> Result<Option<Self>, BuildError> {
        let interpreter = Interpreter::new(program)?;
        let (layout, object) = generate(&interpreter, None, Some(cut))?;
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
        generate(&interpreter, None, None).map(|(_, object)| object)
    }

    /// An executor of a program with the code that [`Compiled::generate`] made of it; the time it
    /// takes grows with the size of both. The code is believed: whoever reads an object from
    /// elsewhere has to know that `generate` wrote it for this very program.
    ///
    /// # Errors
    /// As [`Compiled::new`]; [`BuildError::CodeGenerator`] if the object is of another build, or
    /// not whole.
    pub fn link(program: Arc<ValidProgram>, object: Object) -> Result<Self, BuildError> {
        let interpreter = Interpreter::new(program)?;
        let layout = layout(&interpreter);
        Self::assemble(interpreter, layout, object)
    }

    fn assemble(
        interpreter: Interpreter,
        layout: FrameLayout,
        object: Object,
    ) -> Result<Self, BuildError> {
        let program = Arc::clone(interpreter.state().control.program());
        let code = Code::new(program, interpreter.shared_info(), layout, object)?;
        Ok(Self::on(Arc::new(code), interpreter))
    }

    fn on(code: Arc<Code>, interpreter: Interpreter) -> Self {
        Self {
            memory: Memory::new(&code),
            caches: Caches::new(&code),
            interpreter,
            code,
        }
    }

    /// The functions of a program as they are written, in Cranelift IR and as machine code.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn listing(program: Arc<ValidProgram>) -> Result<Vec<Listing>, BuildError> {
        let mut listing = Vec::new();
        generate(&Interpreter::new(program)?, Some(&mut listing), None)?;
        Ok(listing)
    }

    /// Another switch of the same program, with the program's initial state: it shares the machine
    /// code.
    pub fn sibling(&self) -> Result<Self, BuildError> {
        RuntimeState::new(Arc::clone(&self.code.program)).map(|state| self.with_state(state))
    }

    /// Another executor of the same program, on a state of it: it shares the machine code.
    #[must_use]
    pub fn with_state(&self, state: RuntimeState) -> Self {
        Self::on(Arc::clone(&self.code), self.interpreter.with_state(state))
    }

    /// Exchanges the storage of the packet under way, which means nothing between packets: switches
    /// of the same program that take turns may share one, so that it stays in the cache. One of
    /// another length (an empty one, at first) is made to fit.
    pub fn swap_frame(&mut self, frame: &mut Vec<u64>) {
        let own = &mut self.memory.frame;
        if frame.len() != own.len() {
            *frame = vec![0; own.len()];
        }
        std::mem::swap(own, frame);
    }

    fn machine(&mut self) -> Machine<'_> {
        let code = &*self.code;
        let state = Executor::state_mut(&mut self.interpreter);
        self.caches.refresh(code, state);
        Machine::new(code, state, &mut self.memory, &mut self.caches)
    }
}

/// The storage of the program that an interpreter was made for.
fn layout(interpreter: &Interpreter) -> FrameLayout {
    let program = interpreter.state().control.program();
    FrameLayout::new(program, &interpreter.shared_info())
}

/// Generates the code of the program that an interpreter was made for, for this layout.
fn generate(
    interpreter: &Interpreter,
    listing: Option<&mut Vec<Listing>>,
    cut: Option<Cut>,
) -> Result<(FrameLayout, Object), BuildError> {
    let layout = layout(interpreter);
    let control = &interpreter.state().control;
    let object = codegen::compile(control, &interpreter.shared_info(), &layout, listing, cut)?;
    Ok((layout, object))
}

impl Executor for Compiled {
    fn process(&mut self, now: Nanos, packet: &[u8], ingress_port: PortId, out: &mut Outputs) {
        let mut batch = std::mem::take(&mut self.memory.batch);
        batch.clear();
        self.process_batch(now, &[(ingress_port, packet)], &mut batch);
        for departure in &batch.sent {
            let bytes = batch.packet(departure).to_vec();
            out.sent(departure.port, bytes, departure.metadata);
        }
        for (_, reason) in batch.dropped.drain(..) {
            out.dropped(reason);
        }
        self.memory.batch = batch;
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
        let info = match &machine.code.info.architecture {
            ArchitectureInfo::V1Model(info) => info,
            ArchitectureInfo::Tofino(info) => {
                for (arrival, (port, packet)) in packets.iter().enumerate() {
                    out.arrival = arrival as u32;
                    path::tofino::run(&mut machine, info, now, packet, *port, out, None);
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
        self.caches.may_be_stale();
        Executor::state_mut(&mut self.interpreter)
    }
}

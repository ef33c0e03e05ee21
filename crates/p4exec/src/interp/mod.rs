//! The reference interpreter: the semantics essay of `p4ir`, written down as directly as possible.
//!
//! It walks the tree for every packet and copies freely. What matters is that one can see that it
//! is right; the fast executor is measured against it.
//!
//! # Bounds
//!
//! No program makes it run for long. What a pass costs without loops is bounded when the program is
//! validated ([`p4ir::limits`]). Per pass through parser or block, loops and the states of cyclic
//! parsers share [`MAX_ROUNDS`], of which long ones spend more than one: beyond it a parser rejects
//! with `error.ParserTimeout` and a control drops the packet ([`DropReason::LoopBound`]). A packet
//! and all that comes of it pass through ingress or egress at most [`MAX_PASSES`] times, fewer
//! where the blocks are dear.

mod control;
mod expr;
mod externs;
mod machine;
mod parser;
mod support;
mod table;

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use p4ir::ValidProgram;
use quantities::{Nanos, PortId};

use crate::exec::{DropReason, Executor, Outputs};
use crate::info::{ArchitectureInfo, ProgramInfo};
use crate::path::tofino::TnaEngine;
use crate::path::{self, Engine, MaybeTracer, Pass, Requests};
use crate::state::{BuildError, RuntimeState, check_main};
use crate::tna::Gress;
use crate::trace::Tracer;
use crate::v1model::leaf_width;
use crate::value::Bits;
use machine::Machine;

pub use self::support::{UnsupportedCall, unsupported_calls};
pub use crate::limits::MAX_PASSES;

/// Loop rounds and states of cyclic parsers per pass.
pub const MAX_ROUNDS: u64 = p4ir::limits::ROUNDS;

/// The reference interpreter of one program for v1model or Tofino.
pub struct Interpreter {
    program: Arc<ValidProgram>,
    info: Arc<ProgramInfo>,
    state: RuntimeState,
    /// One bit string per leaf of the layout.
    storage: Vec<Bits>,
}

impl Interpreter {
    /// An interpreter with the program's initial state.
    pub fn new(program: Arc<ValidProgram>) -> Result<Self, BuildError> {
        check_main(&program)?;
        let architecture = || BuildError::Architecture(program.main.type_name.clone());
        let info = ProgramInfo::new(&program).ok_or_else(architecture)?;
        support::check(&program)?;
        Self::of(program, Arc::new(info))
    }

    fn of(program: Arc<ValidProgram>, info: Arc<ProgramInfo>) -> Result<Self, BuildError> {
        RuntimeState::new(program).map(|state| Self::on(state, info))
    }

    fn on(state: RuntimeState, info: Arc<ProgramInfo>) -> Self {
        let program = Arc::clone(state.program());
        let storage = program
            .layout()
            .leaves()
            .iter()
            .map(|l| Bits::zero(leaf_width(l.kind)))
            .collect();
        Self {
            program,
            info,
            state,
            storage,
        }
    }

    /// Another executor of the same program, on a state of it.
    #[must_use]
    pub fn with_state(&self, state: RuntimeState) -> Self {
        Self::on(state, Arc::clone(&self.info))
    }

    /// Another switch of the same program, with the program's initial state.
    ///
    /// # Errors
    /// As [`Interpreter::new`].
    pub fn sibling(&self) -> Result<Self, BuildError> {
        Self::of(Arc::clone(&self.program), Arc::clone(&self.info))
    }

    /// Exchanges the storage of the packet under way, which means nothing between packets, with
    /// that of another switch of the same program. One of another length (an empty one, at first)
    /// is made to fit.
    pub fn swap_frame(&mut self, frame: &mut Vec<Bits>) {
        if frame.len() != self.storage.len() {
            frame.clone_from(&self.storage);
        }
        std::mem::swap(&mut self.storage, frame);
    }

    pub(crate) fn shared_info(&self) -> Arc<ProgramInfo> {
        Arc::clone(&self.info)
    }

    fn run<'a>(
        &'a mut self,
        now: Nanos,
        packet: &[u8],
        ingress_port: PortId,
        out: &'a mut Outputs,
        tracer: Option<&'a mut dyn Tracer>,
    ) {
        let info = Arc::clone(&self.info);
        match &info.architecture {
            ArchitectureInfo::V1Model(info) => {
                path::v1model::run(self, info, now, packet, ingress_port, out, tracer);
            }
            ArchitectureInfo::Tofino(info) => {
                path::tofino::run(self, info, now, packet, ingress_port, out, tracer);
            }
        }
    }

    fn machine<'m>(&'m mut self, pass: Pass<'m>, tracer: MaybeTracer<'m>) -> Machine<'m> {
        let mut machine = Machine::new(
            &self.program,
            &self.info,
            &mut self.storage,
            &mut self.state,
            tracer,
            pass.now,
            pass.bytes,
            pass.length,
        );
        machine.set_parsed_bits(pass.parsed);
        machine
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

impl Engine for Interpreter {
    type Snapshot = Rc<[Bits]>;

    fn state_mut(&mut self) -> &mut RuntimeState {
        &mut self.state
    }

    fn get(&self, leaf: usize) -> u64 {
        self.storage[leaf].low_u64()
    }

    fn set(&mut self, leaf: usize, value: u64) {
        self.storage[leaf] = Bits::from_u64(self.storage[leaf].width(), value);
    }

    fn leaf(&self, leaf: usize) -> Bits {
        self.storage[leaf].clone()
    }

    fn set_leaf(&mut self, leaf: usize, value: &Bits) {
        self.storage[leaf] = value.clone();
    }

    fn leaf_width(&self, leaf: usize) -> u32 {
        self.storage[leaf].width()
    }

    fn zero(&mut self, leaves: Range<usize>) {
        for leaf in leaves {
            let kind = self.program.layout().leaves()[leaf].kind;
            self.storage[leaf] = Bits::zero(leaf_width(kind));
        }
    }

    fn save(&self) -> Rc<[Bits]> {
        let kept = self.info.kept().into_iter();
        kept.flat_map(|range| self.storage[range].iter().cloned())
            .collect()
    }

    fn restore(&mut self, saved: &Rc<[Bits]>) {
        for (leaf, value) in self.info.kept().into_iter().flatten().zip(&**saved) {
            self.storage[leaf] = value.clone();
        }
    }

    fn parse<'a>(&'a mut self, pass: Pass<'a>, tracer: MaybeTracer<'a>) -> (u32, usize) {
        let parser = self.info.blocks.parser;
        let mut machine = self.machine(pass, tracer);
        let error = machine.run_top_parser(parser);
        (error, machine.parsed_bits())
    }

    fn ingress<'a>(
        &'a mut self,
        pass: Pass<'a>,
        tracer: MaybeTracer<'a>,
    ) -> Result<Requests, DropReason> {
        let info = Arc::clone(&self.info);
        let mut machine = self.machine(pass, tracer);
        machine.run_top_controls(&info.blocks.ingress)?;
        Ok(machine.take_requests())
    }

    fn egress<'a>(
        &'a mut self,
        pass: Pass<'a>,
        tracer: MaybeTracer<'a>,
    ) -> Result<Requests, DropReason> {
        let info = Arc::clone(&self.info);
        let mut machine = self.machine(pass, tracer);
        machine.run_top_controls(&info.blocks.egress)?;
        Ok(machine.take_requests())
    }

    fn deparse<'a>(
        &'a mut self,
        pass: Pass<'a>,
        tracer: MaybeTracer<'a>,
    ) -> Result<Vec<u8>, DropReason> {
        let info = Arc::clone(&self.info);
        let mut machine = self.machine(pass, tracer);
        machine.run_top_controls(&info.blocks.deparser)?;
        Ok(machine.finish_packet())
    }
}

impl TnaEngine for Interpreter {
    fn parse_egress<'a>(&'a mut self, pass: Pass<'a>, tracer: MaybeTracer<'a>) -> (u32, usize) {
        let Some((_, parser)) = self.info.blocks.between else {
            return (0, 0);
        };
        let mut machine = self.machine(pass, tracer);
        let error = machine.run_top_parser(parser);
        (error, machine.parsed_bits())
    }

    fn deparse_asking<'a>(
        &'a mut self,
        gress: Gress,
        pass: Pass<'a>,
        tracer: MaybeTracer<'a>,
    ) -> Result<(Vec<u8>, Requests), DropReason> {
        let info = Arc::clone(&self.info);
        let mut machine = self.machine(pass, tracer);
        match (gress, info.blocks.between) {
            (Gress::Ingress, Some((deparser, _))) => machine.run_top_controls(&[deparser])?,
            _ => machine.run_top_controls(&info.blocks.deparser)?,
        }
        let requests = machine.take_requests();
        Ok((machine.finish_packet(), requests))
    }
}

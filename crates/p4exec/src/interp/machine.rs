//! The machine a block runs on: storage, the packet, and the bookkeeping of one pass.

use p4ir::{ExternId, Place, Projection, Type, TypeId, ValidProgram};
use quantities::{Bytes, Nanos};

use super::MAX_ROUNDS;
use crate::bitio::{BitWriter, read_bits};
use crate::exec::DropReason;
use crate::info::ProgramInfo;
use crate::path::Requests;
use crate::state::RuntimeState;
use crate::trace::{TraceEvent, Tracer};
use crate::v1model::leaf_width;
use crate::value::Bits;

/// Where control goes after a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next statement.
    Next,
    /// Out of the innermost loop.
    Break,
    /// To the next round of the innermost loop.
    Continue,
    /// Out of the innermost callable.
    Return,
    /// Out of the top-level block.
    Exit,
    /// The parser rejects, with this error.
    Reject(u32),
    /// The packet ends here.
    Abort(DropReason),
}

/// A place found in storage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    /// First leaf.
    pub(crate) leaf: usize,
    /// Type of the place.
    pub(crate) ty: TypeId,
}

/// See the module documentation.
pub(crate) struct Machine<'a> {
    pub(super) program: &'a ValidProgram,
    pub(super) info: &'a ProgramInfo,
    pub(super) storage: &'a mut [Bits],
    pub(super) state: &'a mut RuntimeState,
    pub(super) tracer: Option<&'a mut dyn Tracer>,
    pub(super) now: Nanos,
    /// The packet as it came to this pass.
    pub(super) bytes: &'a [u8],
    /// Bits of it the parser took.
    pub(super) cursor: usize,
    pub(super) in_parser: bool,
    /// What counters and meters count.
    pub(super) length: Bytes,
    pub(super) writer: BitWriter,
    pub(super) requests: Requests,
    /// What direct objects said when their table was last applied: meters the colour, registers the
    /// cell.
    pub(super) direct: Vec<(ExternId, u64)>,
    rounds: u64,
}

impl<'a> Machine<'a> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        program: &'a ValidProgram,
        info: &'a ProgramInfo,
        storage: &'a mut [Bits],
        state: &'a mut RuntimeState,
        tracer: Option<&'a mut dyn Tracer>,
        now: Nanos,
        bytes: &'a [u8],
        length: usize,
    ) -> Self {
        Self {
            program,
            info,
            storage,
            state,
            tracer,
            now,
            bytes,
            cursor: 0,
            in_parser: false,
            length: Bytes::new(length as u64),
            writer: BitWriter::new(),
            requests: Requests::default(),
            direct: Vec::new(),
            rounds: 0,
        }
    }

    pub(super) fn trace(&mut self, event: impl FnOnce() -> TraceEvent) {
        if let Some(tracer) = &mut self.tracer {
            tracer.event(event());
        }
    }

    /// Tells that what stands here runs.
    pub(super) fn trace_line(&mut self, at: p4ir::Span) {
        if let Some(tracer) = &mut self.tracer {
            tracer.statement(at);
        }
    }

    pub(super) const fn parsed_bits(&self) -> usize {
        self.cursor
    }

    pub(super) const fn set_parsed_bits(&mut self, bits: usize) {
        self.cursor = bits;
    }

    pub(super) fn take_requests(&mut self) -> Requests {
        std::mem::take(&mut self.requests)
    }

    /// The packet the deparser wrote, followed by the payload.
    pub(super) fn finish_packet(&mut self) -> Vec<u8> {
        let mut writer = std::mem::take(&mut self.writer);
        self.append_payload(&mut writer);
        writer.into_bytes()
    }

    /// Appends what the parser did not take.
    pub(super) fn append_payload(&self, writer: &mut BitWriter) {
        let aligned = self.cursor.next_multiple_of(8).min(self.bytes.len() * 8);
        let odd = (aligned - self.cursor) as u32;
        if let Some(bits) = read_bits(self.bytes, self.cursor, odd) {
            writer.push(&bits);
        }
        writer.push_bytes(&self.bytes[aligned / 8..]);
    }

    /// Counts a loop round or parser state that stands for so many; false once there were too many.
    pub(super) fn spend_rounds(&mut self, rounds: u32) -> bool {
        self.rounds += u64::from(rounds);
        self.rounds <= MAX_ROUNDS
    }

    /// Leaves of a type.
    pub(super) fn leaves_of(&self, ty: TypeId) -> usize {
        self.program.layout().leaves_of(ty) as usize
    }

    /// Where a place lies; `None` if an index computed at run time is out of bounds.
    pub(super) fn locate(&self, place: &Place) -> Option<Located> {
        let program = self.program;
        let layout = program.layout();
        let mut ty = program.vars[place.var].ty;
        let mut leaf = layout.base(place.var) as usize;
        for step in &place.path {
            let index = match (step, &program.types[ty]) {
                (Projection::Field(field), t) => {
                    leaf += layout.field_offset(ty, *field) as usize;
                    ty = t.fields()?.get(*field as usize)?.ty;
                    continue;
                }
                (Projection::Index(index), _) => u64::from(*index),
                (Projection::DynIndex(expr), _) => self.eval(*expr).to_u64()?,
            };
            let Type::Stack { element, size } = &program.types[ty] else {
                return None;
            };
            let index = u32::try_from(index).ok().filter(|index| index < size)?;
            leaf += layout.element_offset(*element, index) as usize;
            ty = *element;
        }
        Some(Located { leaf, ty })
    }

    /// The zero of a leaf.
    pub(super) fn zero_leaf(&self, leaf: usize) -> Bits {
        Bits::zero(leaf_width(self.program.layout().leaves()[leaf].kind))
    }

    /// Zeroes all leaves of a place.
    pub(super) fn reset(&mut self, at: Located) {
        for leaf in at.leaf..at.leaf + self.leaves_of(at.ty) {
            self.storage[leaf] = self.zero_leaf(leaf);
        }
    }

    /// Stores a scalar. A varbit takes the width of its value, anything else keeps its own.
    pub(super) fn store(&mut self, at: Located, value: Bits) {
        let varbit = matches!(self.program.types[at.ty], Type::Varbit { .. });
        let width = self.storage[at.leaf].width();
        self.storage[at.leaf] = if varbit || value.width() == width {
            value
        } else {
            value.resize_unsigned(width)
        };
    }

    /// Stores a scalar in a place; nothing if it is out of bounds.
    pub(super) fn store_place(&mut self, place: &Place, value: Bits) {
        if let Some(at) = self.locate(place) {
            self.store(at, value);
        }
    }

    /// Copies all leaves of a place of one type to another.
    pub(super) fn copy(&mut self, from: Located, to: Located) {
        for i in 0..self.leaves_of(to.ty) {
            self.storage[to.leaf + i] = self.storage[from.leaf + i].clone();
        }
    }

    /// Adds one to the `nextIndex` of a stack.
    pub(super) fn advance(&mut self, stack: &Place) {
        if let Some(at) = self.locate(stack) {
            let next = &self.storage[at.leaf];
            self.storage[at.leaf] = next.wrapping_add(&Bits::from_u64(next.width(), 1));
        }
    }

    /// A stack's element type, size and leaves per element.
    pub(super) fn stack(&self, ty: TypeId) -> Option<(TypeId, usize, usize)> {
        match &self.program.types[ty] {
            Type::Stack { element, size } => {
                Some((*element, *size as usize, self.leaves_of(*element)))
            }
            _ => None,
        }
    }
}

//! Parsers: states, extraction, selection.

use p4ir::{ExprId, LeafKind, ParserId, Place, SelectMatch, Target, Transition, TypeId};

use super::machine::{Flow, Machine};
use crate::bitio::read_bits;
use crate::key_set;
use crate::trace::TraceEvent;
use crate::v1model::{leaf_width, set_by_reading};
use crate::value::Bits;

impl Machine<'_> {
    /// Runs the program's parser and returns the error it ended with, 0 if none.
    pub(super) fn run_top_parser(&mut self, id: ParserId) -> u32 {
        self.in_parser = true;
        let flow = self.run_parser(id);
        self.in_parser = false;
        let Flow::Reject(error) = flow else { return 0 };
        let name = self.program.errors.get(error as usize).cloned();
        self.trace(|| TraceEvent::ParserError {
            error: name.unwrap_or_default(),
        });
        error
    }

    fn error(&self, name: &str) -> Flow {
        Flow::Reject(self.program.error_index(name).unwrap_or(0))
    }

    /// Runs a parser from its start state to the end.
    pub(super) fn run_parser(&mut self, id: ParserId) -> Flow {
        let program = self.program;
        let parser = &program.parsers[id];
        match self.run_block(&parser.init) {
            Flow::Next => {}
            other => return other,
        }
        let mut state = parser.start;
        loop {
            let current = &program.states[state];
            if !self.spend_rounds(current.rounds) {
                return self.out_of_rounds();
            }
            self.trace_line(current.span);
            self.trace(|| TraceEvent::ParserState {
                parser: parser.name.clone(),
                state: current.name.clone(),
            });
            match self.run_block(&current.body) {
                Flow::Next => {}
                other => return other,
            }
            let target = match &current.transition {
                Transition::Goto(target) => Some(*target),
                Transition::Select { keys, cases } => {
                    let values: Vec<Bits> = keys.iter().map(|k| self.eval(*k)).collect();
                    let types: Vec<TypeId> = keys.iter().map(|k| program.expr_type(*k)).collect();
                    let case = cases
                        .iter()
                        .find(|c| self.case_matches(&c.matches, &values, &types));
                    case.map(|c| c.target)
                }
            };
            match target {
                Some(Target::State(next)) => state = next,
                Some(Target::Accept) => return Flow::Next,
                Some(Target::Reject) => return Flow::Reject(0),
                // BMv2 ends the parse and names no error.
                None => return Flow::Reject(0),
            }
        }
    }

    fn case_matches(&self, matches: &SelectMatch, values: &[Bits], types: &[TypeId]) -> bool {
        match matches {
            SelectMatch::Sets(sets) => sets
                .iter()
                .zip(values)
                .zip(types)
                .all(|((set, value), ty)| key_set::holds(set, value, self.is_signed(*ty))),
            SelectMatch::ValueSet(id) => self
                .state
                .value_set(*id)
                .is_ok_and(|set| set.contains(values)),
        }
    }

    /// Reads the fields of a header from the packet at the cursor. `varbit` is the length of its
    /// varbit field; like BMv2, this parser works in whole bytes and raises
    /// `ParserInvalidArgument` otherwise. Nothing changes unless all of it is there.
    pub(super) fn extract(
        &mut self,
        header: &Place,
        varbit: Option<ExprId>,
        advance: Option<&Place>,
    ) -> Flow {
        // An index out of bounds was refused by the check that lowering puts before extraction.
        let Some(at) = self.locate(header) else {
            return self.error("StackOutOfBounds");
        };
        let varbit = varbit.map_or(0, |size| self.eval(size).to_u64().unwrap_or(u64::MAX));
        if !varbit.is_multiple_of(8) {
            return self.error("ParserInvalidArgument");
        }
        let leaves = at.leaf + 1..at.leaf + self.leaves_of(at.ty);
        let (values, end) = match self.read_leaves(leaves.clone(), varbit) {
            Ok(read) => read,
            Err(error) => return self.error(error),
        };
        for (leaf, value) in leaves.zip(values) {
            self.storage[leaf] = value;
        }
        self.storage[at.leaf] = Bits::from_bool(true);
        self.cursor = end;
        if let Some(stack) = advance {
            self.advance(stack);
        }
        Flow::Next
    }

    /// The values of some leaves as they lie in the packet, and the cursor behind them.
    fn read_leaves(
        &self,
        leaves: std::ops::Range<usize>,
        varbit: u64,
    ) -> Result<(Vec<Bits>, usize), &'static str> {
        let mut values = Vec::with_capacity(leaves.len());
        let mut cursor = self.cursor;
        for leaf in leaves {
            let kind = self.program.layout().leaves()[leaf].kind;
            if let Some(value) = set_by_reading(kind) {
                values.push(value);
                continue;
            }
            let width = match kind {
                LeafKind::Varbit { max } => u32::try_from(varbit)
                    .ok()
                    .filter(|w| *w <= max)
                    .ok_or("HeaderTooShort")?,
                other => leaf_width(other),
            };
            values.push(read_bits(self.bytes, cursor, width).ok_or("PacketTooShort")?);
            cursor += width as usize;
        }
        Ok((values, cursor))
    }

    /// Reads the bits ahead into a place; headers in it become valid.
    pub(super) fn lookahead(&mut self, dst: &Place) -> Flow {
        let Some(at) = self.locate(dst) else {
            return Flow::Next;
        };
        let mut cursor = self.cursor;
        let leaves = at.leaf..at.leaf + self.leaves_of(at.ty);
        let mut values = Vec::with_capacity(leaves.len());
        for leaf in leaves.clone() {
            let kind = self.program.layout().leaves()[leaf].kind;
            if let Some(value) = set_by_reading(kind) {
                values.push(value);
                continue;
            }
            let width = leaf_width(kind);
            let Some(value) = read_bits(self.bytes, cursor, width) else {
                return self.error("PacketTooShort");
            };
            values.push(value);
            cursor += width as usize;
        }
        for (leaf, value) in leaves.zip(values) {
            self.storage[leaf] = value;
        }
        Flow::Next
    }

    /// Moves the cursor ahead, by whole bytes as BMv2 does.
    pub(super) fn skip(&mut self, bits: ExprId) -> Flow {
        let bits = self.eval(bits);
        if !bits.low_u64().is_multiple_of(8) {
            return self.error("ParserInvalidArgument");
        }
        let ahead = bits.to_usize().and_then(|n| self.cursor.checked_add(n));
        match ahead.filter(|cursor| *cursor <= self.bytes.len() * 8) {
            Some(cursor) => {
                self.cursor = cursor;
                Flow::Next
            }
            None => self.error("PacketTooShort"),
        }
    }
}

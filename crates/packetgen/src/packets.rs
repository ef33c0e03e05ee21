//! Packets that a program's parser accepts, mostly: made by walking the parser's states backwards
//! through their conditions.
//!
//! The walk appends a value for every field that a state extracts, then picks a case of the
//! `select` and writes into the fields it looks at whatever makes that case match. What it cannot
//! follow (branches on computed values, subparsers' copies) it leaves to chance.

use std::collections::BTreeMap;
use std::sync::Arc;

use p4exec::externs::hash::internet_checksum;
use p4exec::tna::INGRESS_METADATA_BITS;
use p4exec::v1model::scalar_width;
use p4exec::value::Bits;
use p4ir::{
    BinaryOp, Block, Callee, Const, ExprId, ExprKind, KeySet, ParserId, Pipeline, Place,
    Projection, SelectMatch, StmtKind, Target, Transition, Type, TypeId, ValidProgram, VarId,
};

use crate::{Choices, Pool};

/// States one packet visits at most.
const MAX_STATES: usize = 48;
/// Bytes of headers at most.
const MAX_HEADER: usize = 1400;

/// Makes packets for one program.
#[derive(Clone, Debug)]
pub struct PacketMaker {
    program: Arc<ValidProgram>,
}

impl PacketMaker {
    /// For a program.
    #[must_use]
    pub const fn new(program: Arc<ValidProgram>) -> Self {
        Self { program }
    }

    /// A packet: mostly one the parser accepts, sometimes damaged, cut or noise.
    pub fn packet(&self, pool: &Pool, choices: &mut Choices<'_>) -> Vec<u8> {
        if choices.one_in(16) {
            let length = choices.below(96);
            return choices.bytes(length);
        }
        let mut bytes = self.well_formed(pool, choices);
        match choices.below(12) {
            0 => bytes.truncate(choices.below(bytes.len() + 1)),
            1 if !bytes.is_empty() => {
                for _ in 0..=choices.below(4) {
                    let at = choices.below(bytes.len());
                    bytes[at] = choices.below(256) as u8;
                }
            }
            _ => {}
        }
        bytes
    }

    /// A packet made by the parser's states, and a payload.
    pub fn well_formed(&self, pool: &Pool, choices: &mut Choices<'_>) -> Vec<u8> {
        // What Tofino lays before a packet for the parser is not part of it.
        let (parser, before) = match self.program.pipeline() {
            Some(Pipeline::V1Model(view)) => (view.parser, 0),
            Some(Pipeline::Tofino(view)) => {
                let bits = INGRESS_METADATA_BITS + view.port_metadata_bits as usize;
                (view.ingress.parser, bits / 8)
            }
            None => return choices.bytes(64),
        };
        let mut walk = Walk {
            program: &self.program,
            pool,
            bits: Vec::new(),
            cursor: 0,
            fields: BTreeMap::new(),
            sums: Vec::new(),
            states: 0,
        };
        walk.parser(parser, choices);
        let mut packet = walk.finish(choices);
        packet.drain(..before.min(packet.len()));
        packet
    }
}

/// A field without the indices on the way to it: the latest element of a stack stands for all.
type FieldName = (VarId, Vec<Option<u32>>);

struct Walk<'p> {
    program: &'p ValidProgram,
    pool: &'p Pool,
    /// One bit each.
    bits: Vec<bool>,
    /// How far the parser has come.
    cursor: usize,
    /// First bit and width.
    fields: BTreeMap<FieldName, (usize, u32)>,
    /// Internet checksums to put right: first bit of the header, its bits, first bit of the sum.
    sums: Vec<(usize, usize, usize)>,
    states: usize,
}

fn name(place: &Place) -> FieldName {
    let step = |p: &Projection| match p {
        Projection::Field(i) => Some(*i),
        Projection::Index(_) | Projection::DynIndex(_) => None,
    };
    (place.var, place.path.iter().map(step).collect())
}

impl Walk<'_> {
    fn parser(&mut self, id: ParserId, choices: &mut Choices<'_>) -> bool {
        let program = self.program;
        let parser = &program.parsers[id];
        self.block(&parser.init, choices);
        let mut state = parser.start;
        loop {
            self.states += 1;
            if self.states > MAX_STATES || self.bits.len() > MAX_HEADER * 8 {
                return false;
            }
            let current = &program.states[state];
            self.block(&current.body, choices);
            let target = match &current.transition {
                Transition::Goto(target) => *target,
                Transition::Select { keys, cases } => {
                    let Some(case) = choices.pick(cases) else {
                        return false;
                    };
                    if let SelectMatch::Sets(sets) = &case.matches {
                        for (key, set) in keys.iter().zip(sets) {
                            self.satisfy(*key, set, choices);
                        }
                    }
                    case.target
                }
            };
            match target {
                Target::State(next) => state = next,
                Target::Accept => return true,
                Target::Reject => return false,
            }
        }
    }

    fn block(&mut self, block: &Block, choices: &mut Choices<'_>) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Extract { header, .. } => self.extract(header, 0, choices),
                StmtKind::ExtractVarbit { header, size, .. } => {
                    let bits = self.known(*size).unwrap_or(0).min(2048) as usize;
                    self.extract(header, bits, choices);
                }
                StmtKind::Lookahead { dst } => {
                    let start = self.cursor;
                    self.fill(dst, 0, choices);
                    self.cursor = start;
                }
                StmtKind::Advance { bits } => {
                    let bits = self.known(*bits).unwrap_or(0).min(4096) as usize;
                    self.cursor += bits;
                    while self.bits.len() < self.cursor {
                        self.bits.push(choices.one_in(2));
                    }
                }
                StmtKind::Assign(assign) => {
                    if let Some(at) = self.whereabouts(assign.value) {
                        self.fields.insert(name(&assign.dst), at);
                    }
                }
                StmtKind::Call {
                    callee: Callee::Parser(parser),
                    ..
                } => {
                    self.parser(*parser, choices);
                }
                StmtKind::If { then, other, .. } => {
                    let taken = if choices.one_in(2) { then } else { other };
                    self.block(taken, choices);
                }
                _ => {}
            }
        }
    }

    fn extract(&mut self, header: &Place, varbit: usize, choices: &mut Choices<'_>) {
        let start = self.cursor;
        self.fill(header, varbit, choices);
        let at = |names: &[&str]| {
            let ty = self.program.place_type(header)?;
            let field = names
                .iter()
                .find_map(|n| self.program.types.field_index(ty, n))?;
            self.fields.get(&name(&header.field(field))).copied()
        };
        let sums = [
            "hdrChecksum",
            "hdr_checksum",
            "header_checksum",
            "checksum",
            "csum",
        ];
        let sum = at(&sums);
        let ihl = at(&["ihl"]).filter(|(_, width)| *width == 4);
        let version = at(&["version"]).filter(|(_, width)| *width == 4);
        if let (Some((ihl, _)), Some((version, _))) = (ihl, version)
            && !choices.one_in(8)
        {
            let words = ((self.cursor - start) / 32) as u64;
            self.write(version, &Bits::from_u64(4, 4));
            self.write(ihl, &Bits::from_u64(4, words));
            if let Some((sum, 16)) = sum {
                self.sums.push((start, self.cursor, sum));
            }
        }
    }

    /// Puts the scalars of a place at the cursor. Bits that are there already stay.
    fn fill(&mut self, place: &Place, varbit: usize, choices: &mut Choices<'_>) {
        if let Some(ty) = self.program.place_type(&static_place(place)) {
            self.fill_type(place, ty, varbit, choices);
        }
    }

    fn fill_type(&mut self, place: &Place, ty: TypeId, varbit: usize, choices: &mut Choices<'_>) {
        match &self.program.types[ty] {
            Type::Record { fields, .. } => {
                for (index, field) in fields.iter().enumerate() {
                    self.fill_type(&place.field(index as u32), field.ty, varbit, choices);
                }
            }
            Type::Stack { element, size } => {
                for index in 0..*size {
                    let place = place.project(Projection::Index(index));
                    self.fill_type(&place, *element, varbit, choices);
                }
            }
            Type::Varbit { max } => {
                let width = varbit.min(*max as usize);
                for _ in 0..width {
                    self.bits.push(choices.one_in(2));
                }
                self.cursor += width;
            }
            _ => {
                let width = scalar_width(self.program, ty);
                self.fields.insert(name(place), (self.cursor, width));
                let end = self.cursor + width as usize;
                if self.bits.len() < end {
                    let value = self.pool.value(choices, width);
                    let have = self.bits.len() - self.cursor.min(self.bits.len());
                    let new = width - have as u32;
                    let fresh = (0..new).rev().map(|i| value.bit(i));
                    self.bits.extend(fresh);
                }
                self.cursor = end;
            }
        }
    }

    fn write(&mut self, at: usize, value: &Bits) {
        for (i, place) in (0..value.width()).rev().zip(at..) {
            if let Some(bit) = self.bits.get_mut(place) {
                *bit = value.bit(i);
            }
        }
    }

    /// Makes the value of `key` one of `set`, where the packet alone decides it.
    fn satisfy(&mut self, key: ExprId, set: &KeySet, choices: &mut Choices<'_>) {
        let Some((at, width)) = self.whereabouts(key) else {
            return;
        };
        let value = match set {
            KeySet::Any => return,
            KeySet::Value(Const::Bits(value)) => Bits::from_biguint(width, value),
            KeySet::Value(Const::Bool(value)) => Bits::from_bool(*value),
            KeySet::Value(_) => return,
            KeySet::Mask { value, mask } => {
                let mask = Bits::from_biguint(width, mask);
                let rest = self.pool.value(choices, width).and(&mask.not());
                Bits::from_biguint(width, value).and(&mask).or(&rest)
            }
            KeySet::Range { lo, hi } => {
                let end = if choices.one_in(2) { lo } else { hi };
                Bits::from_biguint(width, end)
            }
        };
        self.write(at, &value);
    }

    /// Where in the packet a value comes from, if it is a piece of it.
    fn whereabouts(&self, expr: ExprId) -> Option<(usize, u32)> {
        match &self.program.exprs[expr].kind {
            ExprKind::Read(place) => self.fields.get(&name(place)).copied(),
            ExprKind::Slice { value, hi, lo } => {
                let (at, width) = self.whereabouts(*value)?;
                let above = width.checked_sub(hi + 1)?;
                Some((at + above as usize, hi + 1 - lo))
            }
            ExprKind::Cast(value) => {
                let (at, width) = self.whereabouts(*value)?;
                let wanted = scalar_width(self.program, self.program.expr_type(expr));
                let dropped = width.saturating_sub(wanted);
                Some((at + dropped as usize, width - dropped))
            }
            _ => None,
        }
    }

    /// The value of an expression over the fields so far, where it fits in 64 bits.
    fn known(&self, expr: ExprId) -> Option<u64> {
        match &self.program.exprs[expr].kind {
            ExprKind::Const(Const::Bits(value)) => u64::try_from(value).ok(),
            ExprKind::Cast(value) => self.known(*value),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.known(*a)?, self.known(*b)?);
                match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    BinaryOp::Shl => a.checked_shl(u32::try_from(b).ok()?),
                    BinaryOp::Concat => None,
                    _ => None,
                }
            }
            _ => {
                let (at, width) = self.whereabouts(expr)?;
                let bits = self.bits.get(at..at + width as usize)?;
                (width <= 64).then(|| bits.iter().fold(0, |n, b| n << 1 | u64::from(*b)))
            }
        }
    }

    /// The bytes, with checksums put right and a payload.
    fn finish(self, choices: &mut Choices<'_>) -> Vec<u8> {
        let byte =
            |bits: &[bool]| (0..8).fold(0, |n, i| n << 1 | u8::from(bits.get(i) == Some(&true)));
        let mut bytes: Vec<u8> = self.bits.chunks(8).map(byte).collect();
        for (start, end, sum) in self.sums {
            let (start, end, sum) = (start / 8, end / 8, sum / 8);
            bytes[sum..sum + 2].fill(0);
            let value = internet_checksum(&bytes[start..end]);
            bytes[sum..sum + 2].copy_from_slice(&value.to_be_bytes());
        }
        let payload = choices.below(48);
        bytes.extend(choices.bytes(payload));
        bytes
    }
}

/// The place with every index known, for the type of what lies there.
fn static_place(place: &Place) -> Place {
    let step = |p: &Projection| match p {
        Projection::DynIndex(_) => Projection::Index(0),
        other => *other,
    };
    Place {
        var: place.var,
        path: place.path.iter().map(step).collect(),
    }
}

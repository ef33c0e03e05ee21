//! Places: where they are in the frame, and reading and writing them.

use crate::compile::plan::MANY_WORDS;
use std::ops::Range;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value};
use p4ir::{Assign, ExprKind, Place, Projection, Type, TypeId};

use super::words::Words;
use super::{FLAGS, Gen, Helper};

/// Variables beyond which an aggregate is brought to the frame to be copied or cleared there.
const MANY_VARIABLES: u32 = 512;

/// A place in the frame.
#[derive(Clone, Debug)]
pub(super) enum Spot {
    /// At a known word.
    Fixed(u32),
    /// Where an index computed at run time says.
    Moving {
        /// Byte offset to read from: the area of zeroes if the index is out of bounds.
        from: Value,
        /// Byte offset to write to: the dump if the index is out of bounds.
        to: Value,
        /// Whether all indices are in bounds, a truth value.
        ok: Value,
        /// Words that may be meant.
        region: Range<u32>,
    },
    /// An index that is out of bounds for certain.
    Nowhere,
}

impl Gen<'_, '_> {
    /// The type of a place.
    pub(super) fn place_type(&self, place: &Place) -> TypeId {
        let program = self.unit.program;
        // Validation established that every place has a type.
        program
            .place_type(place)
            .unwrap_or(program.vars[place.var].ty)
    }

    /// Where a place is.
    pub(super) fn locate(&mut self, place: &Place) -> Spot {
        let (program, layout) = (self.unit.program, self.unit.layout);
        let mut ty = program.vars[place.var].ty;
        let mut word = layout.base(place.var);
        let mut moving: Option<(Value, Value, Range<u32>)> = None;
        for step in &place.path {
            if let (Projection::Field(field), Some(fields)) = (step, program.types[ty].fields()) {
                word += layout.field_offset(ty, *field);
                ty = fields[*field as usize].ty;
                continue;
            }
            let Type::Stack { element, size } = program.types[ty] else {
                return Spot::Nowhere;
            };
            let stride = layout.words_of(element);
            match step {
                Projection::Index(index) if *index < size => word += 1 + index * stride,
                Projection::DynIndex(expr) if size > 0 => {
                    let index = self.eval(*expr);
                    let index = self.saturated(&index);
                    if let Some(index) = self.known(index) {
                        match u32::try_from(index) {
                            Ok(index) if index < size => word += 1 + index * stride,
                            _ => return Spot::Nowhere,
                        }
                        ty = element;
                        continue;
                    }
                    let bound = self.imm(i64::from(size));
                    let ok = self.b.ins().icmp(IntCC::UnsignedLessThan, index, bound);
                    let bytes = self.b.ins().imul_imm_s(index, i64::from(stride) * 8);
                    let region = word..word + 1 + size * stride;
                    word += 1;
                    moving = Some(match moving {
                        None => (bytes, ok, region),
                        Some((before, and, region)) => (
                            self.b.ins().iadd(before, bytes),
                            self.b.ins().band(and, ok),
                            region,
                        ),
                    });
                }
                _ => return Spot::Nowhere,
            }
            ty = element;
        }
        let Some((bytes, ok, region)) = moving else {
            return Spot::Fixed(word);
        };
        let base = self.imm(i64::from(word) * 8);
        let at = self.b.ins().iadd(bytes, base);
        let zeros = self.imm(i64::from(layout.zeros) * 8);
        let dump = self.imm(i64::from(layout.dump) * 8);
        Spot::Moving {
            from: self.b.ins().select(ok, at, zeros),
            to: self.b.ins().select(ok, at, dump),
            ok,
            region,
        }
    }

    /// A part of a place, some words into it.
    pub(super) fn part(&mut self, spot: &Spot, offset: u32) -> Spot {
        match spot {
            Spot::Fixed(word) => Spot::Fixed(word + offset),
            Spot::Nowhere => Spot::Nowhere,
            Spot::Moving {
                from,
                to,
                ok,
                region,
            } => {
                let bytes = i64::from(offset) * 8;
                Spot::Moving {
                    from: self.b.ins().iadd_imm_s(*from, bytes),
                    to: self.b.ins().iadd_imm_s(*to, bytes),
                    ok: *ok,
                    region: region.clone(),
                }
            }
        }
    }

    /// Some words of a place.
    pub(super) fn read(&mut self, spot: &Spot, count: usize) -> Words {
        match spot {
            Spot::Fixed(word) => (0..count as u32)
                .map(|i| self.load_word(word + i))
                .collect(),
            Spot::Nowhere => vec![self.imm(0); count],
            Spot::Moving { from, region, .. } => {
                self.flush(region.clone());
                let address = self.b.ins().iadd(self.frame, *from);
                self.load_words(address, count)
            }
        }
    }

    /// Writes words from the start of a place.
    pub(super) fn write(&mut self, spot: &Spot, value: &[Value]) {
        match spot {
            Spot::Fixed(word) => {
                for (i, value) in (0..).zip(value) {
                    self.store_word(word + i, *value);
                }
            }
            Spot::Nowhere => {}
            Spot::Moving { to, region, .. } => {
                self.flush(region.clone());
                let address = self.b.ins().iadd(self.frame, *to);
                for (i, value) in value.iter().enumerate() {
                    self.b.ins().store(FLAGS, *value, address, (i * 8) as i32);
                }
                self.forget(region.clone());
            }
        }
    }

    /// Words that writing to a place may change.
    fn region(&self, spot: &Spot, ty: TypeId) -> Range<u32> {
        match spot {
            Spot::Fixed(word) => *word..*word + self.unit.layout.words_of(ty),
            Spot::Moving { region, .. } => region.clone(),
            Spot::Nowhere => 0..0,
        }
    }

    /// Brings a place in memory up to date, for a helper.
    pub(super) fn flush_place(&mut self, spot: &Spot, ty: TypeId) {
        let region = self.region(spot, ty);
        self.flush(region);
    }

    /// Forgets what a helper wrote to a place.
    pub(super) fn forget_place(&mut self, spot: &Spot, ty: TypeId) {
        let region = self.region(spot, ty);
        self.forget(region);
    }

    /// The word index of a place as a value: to write to, or to read from.
    pub(super) fn word_index(&mut self, spot: &Spot, to_write: bool) -> Value {
        match spot {
            Spot::Fixed(word) => self.imm(i64::from(*word)),
            Spot::Moving { from, to, .. } => {
                let bytes = if to_write { *to } else { *from };
                self.b.ins().ushr_imm_s(bytes, 3)
            }
            Spot::Nowhere => {
                let layout = self.unit.layout;
                let area = if to_write { layout.dump } else { layout.zeros };
                self.imm(i64::from(area))
            }
        }
    }

    /// Whether words of a place are written one by one. Where they are variables that costs
    /// nothing, and what is known of them stays so.
    pub(super) fn is_short(&self, spot: &Spot, count: u32) -> bool {
        let variables = self.registers.is_some() && matches!(spot, Spot::Fixed(_));
        count
            <= if variables {
                MANY_VARIABLES
            } else {
                MANY_WORDS
            }
    }

    /// Zeroes a whole place.
    pub(super) fn reset(&mut self, spot: &Spot, ty: TypeId) {
        let count = self.unit.layout.words_of(ty);
        if self.is_short(spot, count) {
            let zeros = vec![self.imm(0); count as usize];
            return self.write(spot, &zeros);
        }
        self.flush_place(spot, ty);
        let at = self.word_index(spot, true);
        let count = self.imm(i64::from(count));
        self.call_helper(Helper::ZeroWords, &[self.frame, at, count]);
        self.forget_place(spot, ty);
    }

    /// Copies all words of a type.
    fn copy(&mut self, from: &Spot, to: &Spot, ty: TypeId) {
        let count = self.unit.layout.words_of(ty);
        if self.is_short(from, count) && self.is_short(to, count) {
            let value = self.read(from, count as usize);
            return self.write(to, &value);
        }
        self.flush_place(from, ty);
        self.flush_place(to, ty);
        let (at, source) = (self.word_index(to, true), self.word_index(from, false));
        let count = self.imm(i64::from(count));
        self.call_helper(Helper::CopyWords, &[self.frame, at, source, count]);
        self.forget_place(to, ty);
    }

    /// `dst = value`, scalar or aggregate.
    pub(super) fn assign(&mut self, assign: &Assign) {
        let program = self.unit.program;
        let expr = &program.exprs[assign.value];
        let scalar = program.types[expr.ty].is_scalar();
        let varbit = matches!(program.types[expr.ty], Type::Varbit { .. });
        if let (true, ExprKind::Read(source)) = (!scalar || varbit, &expr.kind) {
            let (from, to) = (self.locate(source), self.locate(&assign.dst));
            return self.copy(&from, &to, expr.ty);
        }
        if scalar {
            let value = self.eval(assign.value);
            self.store_scalar(&assign.dst, &value, self.width(expr.ty));
        }
    }

    pub(super) fn assign_all(&mut self, assigns: &[Assign]) {
        for assign in assigns {
            if self.live {
                self.assign(assign);
            }
        }
    }

    /// Stores a scalar of some width in a place, cut or filled with zeroes to the place's width.
    pub(super) fn store_scalar(&mut self, dst: &Place, value: &[Value], width: u32) {
        let ty = self.place_type(dst);
        let to = self.locate(dst);
        if matches!(self.unit.program.types[ty], Type::Varbit { .. }) {
            return self.write(&to, value);
        }
        let wanted = self.width(ty);
        let value = self.resized(value, width, wanted);
        self.write(&to, &value);
    }
}

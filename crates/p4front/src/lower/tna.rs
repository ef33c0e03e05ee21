//! The Tofino Native Architecture, put in terms of what executors know already.
//!
//! Objects of `tna.p4` and `t2na.p4` that are v1model's under another name become those (`Register`
//! is a `register`), so that tables, P4Info and executors need not know them twice. Calls become
//! statements:
//!
//! * `Checksum` in a parser is a 16-bit running sum, a variable like any other; `update` in a
//!   deparser is `update_checksum`.
//! * `Hash.get` is `hash`, or plain wiring for `IDENTITY` and the XOR algorithms (`tna_hash.rs`).
//! * `RegisterAction.execute` reads the cell, calls the body of `apply` as a function, and writes
//!   the cell; the cell of a `DirectRegister` is that of the entry which its table found.
//! * What else the stateful ALU computes inside `apply` is in `tna_alu.rs`.
//! * Meters tell colours as `MeterColor_t` counts them: red is 3.
//! * What a deparser asks for is a call of `mirror`, `resubmit_with` or `digest`.
//!
//! What is not listed here stays the call of a method that no executor knows, and says so when the
//! program is loaded.

use std::collections::HashMap;

use num_bigint::BigUint;
use num_traits::ToPrimitive as _;
use p4ir::{
    Architecture, Assign, BinaryOp, Callee, Const, ExprId, ExprKind, ExternArg, ExternCall,
    ExternCallee, ExternFunction, ExternId, ExternInstance, ExternMethod, ExternType, Place,
    StmtKind, Type, UnaryOp,
};

use super::residual::Deposit;
use super::value::{Elab, Object, Val};
use super::{BodyKind, FunctionInstance, Lowerer};
use crate::ast::Direction;
use crate::p4info::SelectorFact;
use crate::source::Span;
use crate::types::Ty;

/// Red as meters count colours, and as `MeterColor_t` does.
const RED: (u64, u64) = (2, 3);

/// What is known of the program's objects besides their instances.
#[derive(Default)]
pub(super) struct Objects {
    /// The running sum of a `Checksum`, the value of a `ParserCounter`.
    sums: HashMap<ExternId, Place>,
    /// The register that a `RegisterAction` works on, and the type of its cells.
    registers: HashMap<ExternId, (ExternId, Ty)>,
    /// Its `apply`.
    applies: HashMap<ExternId, FunctionInstance>,
    /// The type of a register's cells.
    cells: HashMap<ExternId, Ty>,
    /// Where residuals of checksums go.
    pub(super) deposits: Vec<Deposit>,
    /// The polynomial of a `Hash` that has one.
    pub(super) polynomials: HashMap<ExternId, ExternId>,
}

impl<'a> Lowerer<'a> {
    /// Whether the program is made for `tna.p4` or `t2na.p4`.
    pub(super) fn tna(&self) -> bool {
        self.emitter
            .ir
            .architecture
            .is_some_and(Architecture::is_tofino)
    }

    /// A selector with the arguments that v1model's has.
    pub(super) fn tna_selector(&mut self, instance: &mut ExternInstance, values: &[Elab<'a>]) {
        let object = |at: usize, name: &str| match values.get(at).map(|v| &v.val) {
            Some(Val::Object(Object::Extern(id))) => {
                let args = self.emitter.ir.externs[*id].args.iter();
                args.clone().find(|(n, _)| n == name).map(|(_, e)| *e)
            }
            _ => None,
        };
        let own_size = instance.args.iter().find(|(n, _)| n == "size");
        let size = object(0, "size").or(own_size.map(|(_, e)| *e));
        let algorithm = object(1, "algo");
        let hash = match values.get(1).map(|v| &v.val) {
            Some(Val::Object(Object::Extern(id))) => Some(*id),
            _ => None,
        };
        let described = hash
            .and_then(|id| self.described_crc(id))
            .unwrap_or_default();
        instance.args = [("algorithm", algorithm), ("size", size)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .chain(described)
            .collect();
    }

    /// Notes down what calls of a new object will need.
    pub(super) fn tna_made(&mut self, id: ExternId, targs: &[Ty], values: &[Elab<'a>], span: Span) {
        match &self.emitter.ir.externs[id].ty {
            ty @ (ExternType::Checksum | ExternType::ParserCounter) => {
                let width = if *ty == ExternType::Checksum { 16 } else { 8 };
                let sum = self.temp(&Ty::bit(width), span);
                if self.body.kind != BodyKind::Constant {
                    self.emit(StmtKind::Reset(sum.clone()), span);
                }
                self.tna_objects.sums.insert(id, sum);
            }
            ty @ (ExternType::Register | ExternType::DirectRegister) => {
                let initial = usize::from(*ty == ExternType::Register);
                if let Some(cell) = targs.first() {
                    self.tna_objects.cells.insert(id, cell.clone());
                }
                if let Some(initial) = values.get(initial) {
                    self.initial_value(id, initial, span);
                }
            }
            ExternType::ActionSelector => {
                if let Some(Val::Object(Object::Extern(profile))) = values.first().map(|v| &v.val) {
                    // The last two say how large a group may be, and how many there are.
                    let group = values.len().checked_sub(2).and_then(|at| values.get(at));
                    self.facts.selectors.push(SelectorFact {
                        selector: id,
                        profile: *profile,
                        max_group_size: group
                            .and_then(|size| size.as_int())
                            .and_then(|size| size.to_i32()),
                    });
                }
            }
            ExternType::Hash => {
                if let Some(Val::Object(Object::Extern(poly))) = values.get(1).map(|v| &v.val) {
                    self.tna_objects.polynomials.insert(id, *poly);
                }
            }
            ExternType::DirectRegisterAction
            | ExternType::RegisterAction
            | ExternType::RegisterAction2
            | ExternType::RegisterAction3
            | ExternType::RegisterAction4
            | ExternType::MinMaxAction => {
                if let Some(Val::Object(Object::Extern(register))) = values.first().map(|v| &v.val)
                    && let Some(cell) = self.tna_objects.cells.get(register)
                {
                    let known = (*register, cell.clone());
                    self.tna_objects.registers.insert(id, known);
                }
            }
            ExternType::Counter
            | ExternType::DirectCounter
            | ExternType::Meter
            | ExternType::DirectMeter
            | ExternType::ActionProfile
            | ExternType::Checksum16
            | ExternType::CrcPolynomial
            | ExternType::Digest
            | ExternType::Mirror
            | ExternType::Resubmit
            | ExternType::ParserPriority
            | ExternType::Random
            | ExternType::Other(_) => {}
        }
    }

    /// The bits that every cell of a register starts with, as one number.
    fn initial_value(&mut self, id: ExternId, initial: &Elab<'a>, span: Span) {
        let mut leaves = Vec::new();
        let initial = self.with_widths(initial.clone(), span);
        self.leaves(&initial, span, &mut leaves);
        let (mut bits, mut width) = (BigUint::default(), 0);
        for leaf in leaves {
            let leaf_width = self.expr_width(leaf);
            let value = match &self.emitter.ir.exprs[leaf].kind {
                ExprKind::Const(Const::Bits(value)) => value.clone(),
                ExprKind::Const(Const::Bool(value)) => u32::from(*value).into(),
                _ => return,
            };
            bits = (bits << leaf_width) | value;
            width += leaf_width;
        }
        let ty = self.emitter.ir.types.bit(width);
        let value = self
            .emitter
            .ir
            .add_expr(ExprKind::Const(Const::Bits(bits)), ty);
        let args = &mut self.emitter.ir.externs[id].args;
        args.retain(|(name, _)| name != "initial_value");
        args.push(("initial_value".to_owned(), value));
    }

    /// Keeps the body of a `RegisterAction`'s `apply`.
    pub(super) fn tna_apply(&mut self, function: FunctionInstance) {
        if let Some(Elab {
            val: Val::Object(Object::Extern(id)),
            ..
        }) = &self.this
        {
            self.tna_objects.applies.insert(*id, function);
        }
    }

    // ----- expressions -----

    pub(super) fn number(&mut self, value: u64, width: u32) -> ExprId {
        let ty = self.emitter.ir.types.bit(width);
        self.emitter
            .ir
            .add_expr(ExprKind::Const(Const::Bits(value.into())), ty)
    }

    pub(super) fn boolean(&mut self, kind: ExprKind) -> ExprId {
        let ty = self.emitter.ir.types.boolean();
        self.emitter.ir.add_expr(kind, ty)
    }

    pub(super) fn bits(&mut self, kind: ExprKind, width: u32) -> ExprId {
        let ty = self.emitter.ir.types.bit(width);
        self.emitter.ir.add_expr(kind, ty)
    }

    /// The value stored in a variable of some bits.
    pub(super) fn load_bits(&mut self, place: &Place, width: u32) -> ExprId {
        self.bits(ExprKind::Read(place.clone()), width)
    }

    pub(super) fn resize(&mut self, value: ExprId, width: u32) -> ExprId {
        if self.expr_width(value) == width {
            return value;
        }
        self.bits(ExprKind::Cast(value), width)
    }

    pub(super) fn expr_width(&self, expr: ExprId) -> u32 {
        match self.emitter.ir.types[self.emitter.ir.exprs[expr].ty] {
            Type::Bits { width, .. } => width,
            _ => 1,
        }
    }

    pub(super) fn assign_expr(&mut self, dst: &Place, value: ExprId, span: Span) {
        let dst = dst.clone();
        self.emit(StmtKind::Assign(Assign { dst, value }), span);
    }

    /// A value that later statements cannot change.
    pub(super) fn keep(&mut self, value: ExprId, span: Span) -> ExprId {
        if matches!(self.emitter.ir.exprs[value].kind, ExprKind::Const(_)) {
            return value;
        }
        let width = self.expr_width(value);
        let temp = self.temp(&Ty::bit(width), span);
        self.assign_expr(&temp, value, span);
        self.load_bits(&temp, width)
    }

    /// All of a call's data as one value.
    pub(super) fn joined(&mut self, data: &[ExprId]) -> Option<ExprId> {
        let mut all = None;
        for value in data {
            let width = match self.emitter.ir.types[self.emitter.ir.exprs[*value].ty] {
                Type::Bits { width, .. } => width,
                Type::Bool => 1,
                _ => return None,
            };
            let value = match self.emitter.ir.types[self.emitter.ir.exprs[*value].ty] {
                Type::Bits { signed: false, .. } => *value,
                _ => self.bits(ExprKind::Cast(*value), width),
            };
            all = Some(match all {
                None => value,
                Some(before) => {
                    let total = self.expr_width(before) + width;
                    self.bits(ExprKind::Binary(BinaryOp::Concat, before, value), total)
                }
            });
        }
        all
    }

    /// A member of v1model's own enum of algorithms, which has the Internet checksum.
    fn csum16(&mut self) -> ExprId {
        let ty = self.emitter.ir.types.intern(Type::Enum {
            name: "HashAlgorithm".to_owned(),
            members: vec!["csum16".to_owned()],
        });
        self.emitter
            .ir
            .add_expr(ExprKind::Const(Const::Enum(0)), ty)
    }

    // ----- calls -----

    /// Emits what a call of an extern function or method means; false if it is not one of those
    /// above.
    pub(super) fn tna_call(
        &mut self,
        object: Option<ExternId>,
        name: &str,
        args: &[ExternArg],
        (place, result): (Option<&Place>, &Ty),
        tys: &[Ty],
        span: Span,
    ) -> bool {
        let Some(id) = object else {
            return self.tna_function(name, args, (place, result), tys, span);
        };
        let ty = self.emitter.ir.externs[id].ty.clone();
        match (ty, name) {
            (ExternType::Checksum, _) => self.checksum(id, name, args, place, span),
            (ExternType::ParserCounter, _) => self.parser_counter(id, name, args, place, span),
            (ExternType::ParserPriority, "set") | (ExternType::DirectCounter, "count") => true,
            (ExternType::Hash, "get") => self.hash(id, args, place, span),
            (ExternType::Random, "get") => self.random(place, span),
            (ExternType::Counter, "count") => {
                self.object_call(id, ExternMethod::Count, args[..1].to_vec(), span);
                true
            }
            (ExternType::Meter, "execute") => {
                let colour = self.temp(&Ty::bit(8), span);
                let mut given = args[..1].to_vec();
                given.push(ExternArg::Out(colour.clone()));
                self.object_call(id, ExternMethod::ExecuteMeter, given, span);
                self.colour(&colour, place, span)
            }
            (ExternType::DirectMeter, "execute") => {
                let colour = self.temp(&Ty::bit(8), span);
                let read = vec![ExternArg::Out(colour.clone())];
                self.object_call(id, ExternMethod::ReadDirectMeter, read, span);
                self.colour(&colour, place, span)
            }
            (ExternType::Register, "read") => {
                let Some(place) = place else { return true };
                let read = vec![ExternArg::Out(place.clone()), args[0].clone()];
                self.object_call(id, ExternMethod::ReadRegister, read, span);
                true
            }
            (ExternType::Register, "write") => {
                self.object_call(id, ExternMethod::WriteRegister, args.to_vec(), span);
                true
            }
            (ExternType::DirectRegister, "read") => {
                let Some(place) = place else { return true };
                let index = self.entry_cell(id, span);
                let read = vec![ExternArg::Out(place.clone()), ExternArg::In(index)];
                self.object_call(id, ExternMethod::ReadRegister, read, span);
                true
            }
            (ExternType::DirectRegister, "write") => {
                let index = self.entry_cell(id, span);
                let write = vec![ExternArg::In(index), args[0].clone()];
                self.object_call(id, ExternMethod::WriteRegister, write, span);
                true
            }
            (ExternType::DirectRegisterAction, "execute") => {
                let Some((register, _)) = self.tna_objects.registers.get(&id) else {
                    return false;
                };
                let index = self.entry_cell(*register, span);
                self.register_action(id, index, args, place, span)
            }
            (
                ExternType::RegisterAction
                | ExternType::RegisterAction2
                | ExternType::RegisterAction3
                | ExternType::RegisterAction4
                | ExternType::MinMaxAction,
                "execute",
            ) => match args {
                [ExternArg::In(index), rest @ ..] => {
                    self.register_action(id, *index, rest, place, span)
                }
                _ => false,
            },
            (
                ExternType::DirectRegisterAction
                | ExternType::RegisterAction
                | ExternType::RegisterAction2
                | ExternType::RegisterAction3
                | ExternType::RegisterAction4
                | ExternType::MinMaxAction,
                _,
            ) => self.stateful_alu(name, args, place, span),
            (ExternType::Other(name), "read") if name == "RegisterParam" => {
                self.parameter(id, place, span)
            }
            (ExternType::Mirror, "emit") => {
                self.plain(ExternFunction::Mirror, args.to_vec(), span);
                true
            }
            (ExternType::Resubmit, "emit") => {
                self.plain(ExternFunction::ResubmitWith, args.to_vec(), span);
                true
            }
            (ExternType::Digest, "pack") => {
                if let Some(ty) = tys.first() {
                    let ty = self.checker.infer.resolve(ty);
                    self.facts.digests.push(ty);
                }
                let receiver = ExternArg::In(self.number(1, 32));
                self.plain(
                    ExternFunction::Digest,
                    vec![receiver, args[0].clone()],
                    span,
                );
                true
            }
            _ => false,
        }
    }

    fn object_call(
        &mut self,
        id: ExternId,
        method: ExternMethod,
        args: Vec<ExternArg>,
        span: Span,
    ) {
        let call = ExternCall {
            callee: ExternCallee::Method(id, method),
            type_args: Vec::new(),
            args,
            result: None,
        };
        self.emit(StmtKind::Extern(call), span);
    }

    pub(super) fn plain(&mut self, function: ExternFunction, args: Vec<ExternArg>, span: Span) {
        let call = ExternCall {
            callee: ExternCallee::Function(function),
            type_args: Vec::new(),
            args,
            result: None,
        };
        self.emit_extern(call, span);
    }

    fn tna_function(
        &mut self,
        name: &str,
        args: &[ExternArg],
        (place, _): (Option<&Place>, &Ty),
        tys: &[Ty],
        span: Span,
    ) -> bool {
        let value = |at: usize| match args.get(at) {
            Some(ExternArg::In(value)) => Some(*value),
            _ => None,
        };
        match name {
            "invalidate" => return true,
            "port_metadata_unpack" => return self.unpack_port(place, span),
            _ => {}
        }
        let computed = match (name, value(0), value(1)) {
            ("min" | "max", Some(a), Some(b)) => {
                let op = if name == "min" {
                    BinaryOp::Le
                } else {
                    BinaryOp::Ge
                };
                let cond = self.boolean(ExprKind::Binary(op, a, b));
                let ty = self.emitter.ir.exprs[a].ty;
                let (then, other) = (a, b);
                self.emitter
                    .ir
                    .add_expr(ExprKind::Mux { cond, then, other }, ty)
            }
            ("is_validated", ..) => self.boolean(ExprKind::Const(Const::Bool(true))),
            ("sizeInBits" | "sizeInBytes", ..) => {
                let ty = tys.first().map(|ty| self.checker.infer.resolve(ty));
                let Some(bits) = ty.and_then(|ty| ty.size_bits(false)) else {
                    return false;
                };
                self.number(if name == "sizeInBits" { bits } else { bits / 8 }, 32)
            }
            _ => return false,
        };
        if let Some(place) = place {
            self.assign_expr(place, computed, span);
        }
        true
    }

    /// The port's metadata: all of it is skipped.
    fn unpack_port(&mut self, place: Option<&Place>, span: Span) -> bool {
        let Some(architecture) = self.emitter.ir.architecture else {
            return false;
        };
        if let Some(place) = place {
            self.emit(StmtKind::Lookahead { dst: place.clone() }, span);
        }
        let bits = self.number(architecture.port_metadata_bits().into(), 32);
        self.emit(StmtKind::Advance { bits }, span);
        true
    }

    /// The Internet checksum of a call's data, in a variable.
    fn sum_of(&mut self, data: &ExternArg, span: Span) -> Place {
        let sum = self.temp(&Ty::bit(16), span);
        let args = vec![
            ExternArg::In(self.boolean(ExprKind::Const(Const::Bool(true)))),
            data.clone(),
            ExternArg::InOut(sum.clone()),
            ExternArg::In(self.csum16()),
        ];
        self.plain(ExternFunction::UpdateChecksum, args, span);
        sum
    }

    /// Adds data to a running sum, or takes them away.
    pub(super) fn sum_up(&mut self, total: &Place, data: &ExternArg, add: bool, span: Span) {
        // The checksum is the complement of the sum, and complement is negation.
        let sum = self.sum_of(data, span);
        let mut part = self.load_bits(&sum, 16);
        if add {
            part = self.bits(ExprKind::Unary(UnaryOp::BitNot, part), 16);
        }
        let before = self.load_bits(total, 16);
        let (a, b) = (self.resize(before, 17), self.resize(part, 17));
        let value = self.bits(ExprKind::Binary(BinaryOp::Add, a, b), 17);
        let value = self.keep(value, span);
        let (hi, lo) = (15, 0);
        let low = self.bits(ExprKind::Slice { value, hi, lo }, 16);
        let (hi, lo) = (16, 16);
        let carry = self.bits(ExprKind::Slice { value, hi, lo }, 1);
        let carry = self.resize(carry, 16);
        let folded = self.bits(ExprKind::Binary(BinaryOp::Add, low, carry), 16);
        self.assign_expr(total, folded, span);
    }

    fn checksum(
        &mut self,
        id: ExternId,
        name: &str,
        args: &[ExternArg],
        place: Option<&Place>,
        span: Span,
    ) -> bool {
        let Some(total) = self.tna_objects.sums.get(&id).cloned() else {
            return false;
        };
        match (name, args) {
            ("add" | "subtract", [data, ..]) => {
                self.sum_up(&total, data, name == "add", span);
            }
            ("subtract_all_and_deposit", [ExternArg::Out(residual)]) => {
                self.deposit(total, residual, span);
            }
            ("verify", _) => {
                let (sum, ones) = (self.load_bits(&total, 16), self.number(0xffff, 16));
                let wrong = self.boolean(ExprKind::Binary(BinaryOp::Ne, sum, ones));
                if let Some(place) = place {
                    self.assign_expr(place, wrong, span);
                }
            }
            ("get", _) => {
                let sum = self.load_bits(&total, 16);
                if let Some(place) = place {
                    self.assign_expr(place, sum, span);
                }
            }
            ("update", [data, zeros, ..]) => {
                let sum = self.sum_of(data, span);
                let mut value = self.load_bits(&sum, 16);
                if let ExternArg::In(cond) = zeros {
                    let (zero, ones) = (self.number(0, 16), self.number(0xffff, 16));
                    let is_zero = self.boolean(ExprKind::Binary(BinaryOp::Eq, value, zero));
                    let cond = self.boolean(ExprKind::Binary(BinaryOp::And, *cond, is_zero));
                    let (then, other) = (ones, value);
                    value = self.bits(ExprKind::Mux { cond, then, other }, 16);
                }
                if let Some(place) = place {
                    self.assign_expr(place, value, span);
                }
            }
            _ => return false,
        }
        true
    }

    fn parser_counter(
        &mut self,
        id: ExternId,
        name: &str,
        args: &[ExternArg],
        place: Option<&Place>,
        span: Span,
    ) -> bool {
        let Some(counter) = self.tna_objects.sums.get(&id).cloned() else {
            return false;
        };
        let now = self.load_bits(&counter, 8);
        let tell = |s: &mut Self, op, number| {
            let number = s.number(number, 8);
            let value = s.boolean(ExprKind::Binary(op, now, number));
            if let Some(place) = place {
                s.assign_expr(place, value, span);
            }
        };
        match (name, args) {
            ("set", [ExternArg::In(value)]) => {
                let value = self.resize(*value, 8);
                self.assign_expr(&counter, value, span);
            }
            (
                "set",
                [
                    ExternArg::In(field),
                    ExternArg::In(max),
                    ExternArg::In(rotate),
                    ExternArg::In(mask),
                    ExternArg::In(add),
                ],
            ) => {
                let value = self.counter_value([*field, *max, *rotate, *mask, *add], span);
                self.assign_expr(&counter, value, span);
            }
            ("increment" | "decrement", [ExternArg::In(value)]) => {
                let op = match name {
                    "increment" => BinaryOp::Add,
                    _ => BinaryOp::Sub,
                };
                let value = self.resize(*value, 8);
                let value = self.bits(ExprKind::Binary(op, now, value), 8);
                self.assign_expr(&counter, value, span);
            }
            ("is_zero", _) => tell(self, BinaryOp::Eq, 0),
            ("is_negative", _) => tell(self, BinaryOp::Ge, 0x80),
            _ => return false,
        }
        true
    }

    fn random(&mut self, place: Option<&Place>, span: Span) -> bool {
        let Some(place) = place else { return true };
        let Some(ty) = self.emitter.ir.place_type(place) else {
            return false;
        };
        let Type::Bits { width, .. } = self.emitter.ir.types[ty] else {
            return false;
        };
        let ones = (BigUint::from(1u32) << width) - 1u32;
        let low = self.bits(ExprKind::Const(Const::Bits(BigUint::default())), width);
        let high = self.bits(ExprKind::Const(Const::Bits(ones)), width);
        let args = vec![
            ExternArg::Out(place.clone()),
            ExternArg::In(low),
            ExternArg::In(high),
        ];
        self.plain(ExternFunction::Random, args, span);
        true
    }

    fn colour(&mut self, colour: &Place, place: Option<&Place>, span: Span) -> bool {
        let Some(place) = place else { return true };
        let other = self.load_bits(colour, 8);
        let (red, then) = (self.number(RED.0, 8), self.number(RED.1, 8));
        let cond = self.boolean(ExprKind::Binary(BinaryOp::Eq, other, red));
        let value = self.bits(ExprKind::Mux { cond, then, other }, 8);
        self.assign_expr(place, value, span);
        true
    }

    /// The cell of a direct register that belongs to the entry which its table found.
    fn entry_cell(&mut self, register: ExternId, span: Span) -> ExprId {
        let cell = self.temp(&Ty::bit(32), span);
        let ask = vec![ExternArg::Out(cell.clone())];
        self.object_call(register, ExternMethod::EntryCell, ask, span);
        self.load_bits(&cell, 32)
    }

    /// A parameter of stateful programs has its initial value: no control plane that is served here
    /// sets it.
    fn parameter(&mut self, id: ExternId, place: Option<&Place>, span: Span) -> bool {
        let args = self.emitter.ir.externs[id].args.iter();
        let value = args.clone().find(|(name, _)| name == "initial_value");
        let Some((_, value)) = value.cloned() else {
            return false;
        };
        if let Some(place) = place {
            self.assign_expr(place, value, span);
        }
        true
    }

    /// `execute`: the cell in, `apply`, the cell out; results go to the place and to `out`
    /// arguments.
    fn register_action(
        &mut self,
        id: ExternId,
        index: ExprId,
        args: &[ExternArg],
        place: Option<&Place>,
        span: Span,
    ) -> bool {
        let Some((register, cell)) = self.tna_objects.registers.get(&id).cloned() else {
            return false;
        };
        let Some(apply) = self.tna_objects.applies.get(&id).cloned() else {
            return false;
        };
        let Some((value, value_ty, _)) = apply.params.first() else {
            return false;
        };
        if *value_ty != cell {
            return false;
        }
        let index = self.keep(index, span);
        let value = Place::var(*value);
        // An index beyond the register reads zero.
        self.reset(value.clone(), &cell, span);
        let read = vec![ExternArg::Out(value.clone()), ExternArg::In(index)];
        self.object_call(register, ExternMethod::ReadRegister, read, span);
        let results = apply.params.iter().skip(1);
        let results = results.filter(|(.., direction)| *direction == Direction::Out);
        let rest = args.iter().map(|arg| match arg {
            ExternArg::Out(place) => Some(place),
            _ => None,
        });
        let (copy_out, ()) = self.nested(|s| {
            for ((var, ty, _), to) in results.zip(std::iter::once(place).chain(rest)) {
                if let Some(to) = to {
                    let value = Elab::place(ty.clone(), Place::var(*var), false);
                    s.store(to, ty, value, span);
                }
            }
        });
        self.emit(
            StmtKind::Call {
                callee: Callee::Function(apply.id),
                copy_in: Vec::new(),
                copy_out,
            },
            span,
        );
        let stored = self.extern_in(Elab::place(cell, value, false), span);
        let write = vec![ExternArg::In(index), stored];
        self.object_call(register, ExternMethod::WriteRegister, write, span);
        true
    }
}

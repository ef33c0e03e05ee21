//! `Checksum.subtract_all_and_deposit` of Tofino's parsers: headers that are extracted behind the
//! call are subtracted too, and the sum is stored when the parser ends.
//!
//! Which headers these are depends on the way through the parser: a flag says that the call was
//! made. All states of the parser ask for it, for a state that stands in front of the call can
//! follow it.

use p4ir::{
    Assign, Block, Const, ExprId, ExprKind, ExternArg, ParserId, Place, Projection, StateId,
    StmtKind, Type, TypeId, Var, VarKind,
};

use super::Lowerer;
use crate::source::Span;
use crate::types::Ty;

/// A call of `subtract_all_and_deposit`.
#[derive(Clone)]
pub(super) struct Deposit {
    /// Whether the call was made for this packet.
    made: Place,
    total: Place,
    residual: Place,
    span: Span,
}

impl Lowerer<'_> {
    pub(super) fn deposit(&mut self, total: Place, residual: &Place, span: Span) {
        let made = self.temp(&Ty::Bool, span);
        let yes = self.truth(true);
        self.assign_expr(&made, yes, span);
        self.tna_objects.deposits.push(Deposit {
            made,
            total,
            residual: residual.clone(),
            span,
        });
    }

    fn truth(&mut self, value: bool) -> ExprId {
        let ty = self.emitter.ir.types.boolean();
        let kind = ExprKind::Const(Const::Bool(value));
        self.emitter.ir.add_expr(kind, ty)
    }

    /// Completes the deposits of a parser with these states and subparsers. `init` runs first.
    pub(super) fn complete_deposits(
        &mut self,
        init: &mut Block,
        own: &[StateId],
        subparsers: &[ParserId],
    ) {
        let deposits = std::mem::take(&mut self.tna_objects.deposits);
        for deposit in &deposits {
            let ((), start) = self.made_apart(|s| {
                s.emit(StmtKind::Reset(deposit.made.clone()), deposit.span);
            });
            init.extend(start);
        }
        if deposits.is_empty() {
            return;
        }
        let parsers = subparsers.iter();
        let inner: Vec<StateId> = parsers
            .flat_map(|id| self.emitter.ir.parsers[*id].states.clone())
            .collect();
        for id in own.iter().chain(&inner) {
            let body = std::mem::take(&mut self.emitter.ir.states[*id].body);
            self.emitter.ir.states[*id].body = self.subtracting(body, &deposits);
        }
        for id in own {
            for deposit in &deposits {
                let ((), end) = self.made_apart(|s| s.store_residual(deposit));
                self.emitter.ir.states[*id].body.extend(end);
            }
        }
    }

    fn made_apart<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (T, Block) {
        let (block, result) = self.nested(f);
        (result, block)
    }

    fn store_residual(&mut self, deposit: &Deposit) {
        let width = self.width_at(&deposit.residual);
        let sum = self.load_bits(&deposit.total, 16);
        let value = self.resize(sum, width);
        let dst = deposit.residual.clone();
        let ((), then) = self.made_apart(|s| {
            s.emit(StmtKind::Assign(Assign { dst, value }), deposit.span);
        });
        self.if_made(deposit, then);
    }

    fn width_at(&self, place: &Place) -> u32 {
        let ty = self.emitter.ir.place_type(place);
        match ty.map(|ty| &self.emitter.ir.types[ty]) {
            Some(Type::Bits { width, .. }) => *width,
            _ => 16,
        }
    }

    fn if_made(&mut self, deposit: &Deposit, then: Block) {
        let ty = self.emitter.ir.types.boolean();
        let read = ExprKind::Read(deposit.made.clone());
        let cond = self.emitter.ir.add_expr(read, ty);
        let other = Vec::new();
        self.emit(StmtKind::If { cond, then, other }, deposit.span);
    }

    /// Statements with subtractions in front of what extracts headers.
    fn subtracting(&mut self, body: Block, deposits: &[Deposit]) -> Block {
        let mut made = Vec::new();
        for mut stmt in body {
            match &mut stmt.kind {
                StmtKind::Extract { header, .. } => {
                    let header = header.clone();
                    for deposit in deposits {
                        let ((), before) = self.made_apart(|s| s.subtract_ahead(&header, deposit));
                        made.extend(before);
                    }
                }
                StmtKind::ExtractVarbit { .. } => {
                    let span = deposits[0].span;
                    let text = "the parser extracts a header with a varbit field: \
                                `subtract_all_and_deposit` takes headers of fixed size only";
                    self.error("tna", span, text);
                }
                StmtKind::If { then, other, .. } => {
                    *then = self.subtracting(std::mem::take(then), deposits);
                    *other = self.subtracting(std::mem::take(other), deposits);
                }
                StmtKind::Loop { body, .. } => {
                    *body = self.subtracting(std::mem::take(body), deposits);
                }
                _ => {}
            }
            made.push(stmt);
        }
        made
    }

    /// Subtracts the bits ahead that are about to become a header.
    fn subtract_ahead(&mut self, header: &Place, deposit: &Deposit) {
        let Some(ty) = self.emitter.ir.place_type(header) else {
            return;
        };
        let span = deposit.span;
        let place = self.emitter.span(&self.checker, span);
        let ahead = Place::var(self.emitter.ir.vars.push(Var {
            name: "tmp".to_owned(),
            ty,
            kind: VarKind::Temp,
            span: place,
        }));
        let mut values = Vec::new();
        self.scalars(&ahead, ty, &mut values);
        let data = ExternArg::Fields { ty, values };
        let ((), then) = self.made_apart(|s| {
            s.emit(StmtKind::Lookahead { dst: ahead }, span);
            s.sum_up(&deposit.total, &data, false, span);
        });
        self.if_made(deposit, then);
    }

    /// Reads of all scalars of a place in order.
    fn scalars(&mut self, place: &Place, ty: TypeId, values: &mut Vec<ExprId>) {
        let parts: Vec<(Projection, TypeId)> = match &self.emitter.ir.types[ty] {
            Type::Record { fields, .. } => (0..)
                .zip(fields)
                .map(|(i, field)| (Projection::Field(i), field.ty))
                .collect(),
            Type::Stack { element, size } => (0..*size)
                .map(|i| (Projection::Index(i), *element))
                .collect(),
            _ => {
                let read = ExprKind::Read(place.clone());
                values.push(self.emitter.ir.add_expr(read, ty));
                return;
            }
        };
        for (step, ty) in parts {
            self.scalars(&place.project(step), ty, values);
        }
    }
}

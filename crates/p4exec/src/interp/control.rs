//! Statements and calls.

use p4ir::{Assign, Block, Callee, ControlId, ExprId, ExprKind, Place, Stmt, StmtKind, SwitchCase};

use super::MAX_ROUNDS;
use super::machine::{Flow, Machine};
use crate::exec::DropReason;
use crate::state::const_bits;
use crate::v1model::scalar_width;
use crate::value::Bits;

impl Machine<'_> {
    /// Runs a control as a top-level block; the error is why the packet ends there.
    fn run_top_control(&mut self, id: ControlId) -> Result<(), DropReason> {
        match self.run_control(id) {
            Flow::Abort(reason) => Err(reason),
            _ => Ok(()),
        }
    }

    /// Some of them in order.
    pub(super) fn run_top_controls(&mut self, ids: &[ControlId]) -> Result<(), DropReason> {
        ids.iter().try_for_each(|id| self.run_top_control(*id))
    }

    fn run_control(&mut self, id: ControlId) -> Flow {
        let program = self.program;
        let control = &program.controls[id];
        match self.run_block(&control.init) {
            Flow::Next => self.run_block(&control.body),
            other => other,
        }
    }

    /// Runs statements in order until one leads elsewhere.
    pub(super) fn run_block(&mut self, block: &Block) -> Flow {
        for stmt in block {
            match self.run_stmt(stmt) {
                Flow::Next => {}
                other => return other,
            }
        }
        Flow::Next
    }

    fn run_stmt(&mut self, stmt: &Stmt) -> Flow {
        self.trace_line(stmt.span);
        match &stmt.kind {
            StmtKind::Assign(assign) => self.assign(assign),
            StmtKind::AssignSlice { dst, hi, lo, value } => {
                let part = self.eval(*value);
                if let Some(at) = self.locate(dst) {
                    self.storage[at.leaf] = self.storage[at.leaf].with_slice(*hi, *lo, &part);
                }
            }
            StmtKind::Reset(place) => {
                if let Some(at) = self.locate(place) {
                    self.reset(at);
                }
            }
            StmtKind::SetValid(place) => {
                if let Some(at) = self.locate(place)
                    && !self.storage[at.leaf].is_true()
                {
                    self.reset(at);
                    self.storage[at.leaf] = Bits::from_bool(true);
                }
            }
            StmtKind::SetInvalid(place) => {
                if let Some(at) = self.locate(place) {
                    self.storage[at.leaf] = Bits::from_bool(false);
                }
            }
            StmtKind::PushFront { stack, count } => self.shift_stack(stack, *count, true),
            StmtKind::PopFront { stack, count } => self.shift_stack(stack, *count, false),
            StmtKind::If { cond, then, other } => {
                return self.run_block(if self.eval(*cond).is_true() {
                    then
                } else {
                    other
                });
            }
            StmtKind::Switch {
                value,
                cases,
                default,
            } => {
                return self.switch(*value, cases, default);
            }
            StmtKind::Loop {
                head,
                cond,
                body,
                step,
                rounds,
            } => {
                return self.run_loop((head, body, step), *cond, *rounds);
            }
            StmtKind::Break => return Flow::Break,
            StmtKind::Continue => return Flow::Continue,
            StmtKind::Return => return Flow::Return,
            StmtKind::Exit => return Flow::Exit,
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            } => {
                return self.call(*callee, copy_in, copy_out);
            }
            StmtKind::ApplyTable {
                table,
                hit,
                action_run,
            } => {
                return self.apply_table(*table, *hit, *action_run);
            }
            StmtKind::Extern(call) => return self.call_extern(call, stmt.span),
            StmtKind::Extract { header, advance } => {
                return self.extract(header, None, advance.as_ref());
            }
            StmtKind::ExtractVarbit {
                header,
                size,
                advance,
            } => {
                return self.extract(header, Some(*size), advance.as_ref());
            }
            StmtKind::Lookahead { dst } => return self.lookahead(dst),
            StmtKind::Advance { bits } => return self.skip(*bits),
            StmtKind::Verify { cond, error } => {
                if !self.eval(*cond).is_true() {
                    return Flow::Reject(self.eval(*error).low_u64() as u32);
                }
            }
            StmtKind::Emit { header } => self.emit(header),
        }
        Flow::Next
    }

    pub(super) fn assign(&mut self, assign: &Assign) {
        let program = self.program;
        let expr = &program.exprs[assign.value];
        if program.types[expr.ty].is_scalar() {
            let value = self.eval(assign.value);
            self.store_place(&assign.dst, value);
        } else if let ExprKind::Read(source) = &expr.kind
            && let Some(to) = self.locate(&assign.dst)
        {
            match self.locate(source) {
                Some(from) => self.copy(from, to),
                None => self.reset(to),
            }
        }
    }

    pub(super) fn assign_all(&mut self, assigns: &[Assign]) {
        for assign in assigns {
            self.assign(assign);
        }
    }

    /// `push_front` (elements move up) or `pop_front` (down), with `nextIndex` kept in bounds.
    fn shift_stack(&mut self, place: &Place, count: u32, push: bool) {
        let Some(at) = self.locate(place) else { return };
        let Some((element, size, leaves)) = self.stack(at.ty) else {
            return;
        };
        let count = (count as usize).min(size);
        let first = at.leaf + 1;
        let elements = &mut self.storage[first..first + size * leaves];
        let fresh = if push {
            elements.rotate_right(count * leaves);
            0..count
        } else {
            elements.rotate_left(count * leaves);
            size - count..size
        };
        for index in fresh {
            self.reset(super::machine::Located {
                leaf: first + index * leaves,
                ty: element,
            });
        }
        let next = self.storage[at.leaf].low_u64();
        let next = if push {
            (next + count as u64).min(size as u64)
        } else {
            next.saturating_sub(count as u64)
        };
        self.storage[at.leaf] = Bits::from_u64(self.storage[at.leaf].width(), next);
    }

    fn switch(&mut self, value: ExprId, cases: &[SwitchCase], default: &Block) -> Flow {
        let width = scalar_width(self.program, self.program.expr_type(value));
        let value = self.eval(value);
        let case = cases
            .iter()
            .find(|c| c.labels.iter().any(|l| const_bits(l, width) == value));
        self.run_block(case.map_or(default, |c| &c.body))
    }

    fn run_loop(
        &mut self,
        (head, body, step): (&Block, &Block, &Block),
        cond: ExprId,
        rounds: u32,
    ) -> Flow {
        loop {
            if !self.spend_rounds(rounds) {
                return self.out_of_rounds();
            }
            match self.run_block(head) {
                Flow::Next => {}
                other => return other,
            }
            if !self.eval(cond).is_true() {
                return Flow::Next;
            }
            match self.run_block(body) {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Flow::Next,
                other => return other,
            }
            match self.run_block(step) {
                Flow::Next => {}
                other => return other,
            }
        }
    }

    /// What ends a pass that went round too often.
    pub(super) fn out_of_rounds(&self) -> Flow {
        if self.in_parser {
            Flow::Reject(self.program.error_index("ParserTimeout").unwrap_or(0))
        } else {
            Flow::Abort(DropReason::LoopBound(MAX_ROUNDS))
        }
    }

    fn call(&mut self, callee: Callee, copy_in: &[Assign], copy_out: &Block) -> Flow {
        let program = self.program;
        self.assign_all(copy_in);
        let flow = match callee {
            Callee::Action(id) => self.run_block(&program.actions[id].body),
            Callee::Function(id) => self.run_block(&program.functions[id].body),
            Callee::Control(id) => self.run_control(id),
            Callee::Parser(id) => self.run_parser(id),
        };
        match flow {
            Flow::Abort(_) => flow,
            Flow::Exit | Flow::Reject(_) => {
                self.run_block(copy_out);
                flow
            }
            _ => {
                self.run_block(copy_out);
                Flow::Next
            }
        }
    }

    /// Appends a header to the outgoing packet if it is valid.
    fn emit(&mut self, header: &Place) {
        let Some(at) = self.locate(header) else {
            return;
        };
        if self.storage[at.leaf].is_true() {
            for leaf in at.leaf + 1..at.leaf + self.leaves_of(at.ty) {
                if self.program.layout().leaves()[leaf].kind.is_data() {
                    self.writer.push(&self.storage[leaf]);
                }
            }
        }
    }
}

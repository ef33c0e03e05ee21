//! Statements and calls.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, TrapCode, Value};
use cranelift_frontend::Switch;
use p4ir::{Assign, Block, Callee, Const, ExprId, Place, Stmt, StmtKind, SwitchCase, Type};

use super::place::Spot;
use super::words::Words;
use super::{
    ABORTED, BROKEN, CONTINUED, EXITED, Exits, FUNCTIONS, Gen, Helper, Kind, Label, REJECTED,
    RETURNED, field,
};
use crate::compile::plan::Outlined;
use crate::interp::MAX_ROUNDS;
use crate::state::const_bits;

/// Stands where writing was given up; such code is thrown away.
const TOO_MUCH: TrapCode = TrapCode::unwrap_user(1);

/// Stands at the end of code that nothing jumps to.
pub(super) const NEVER: TrapCode = TrapCode::unwrap_user(2);

/// Constants that are compared one by one; among more a switch of Cranelift chooses.
pub(super) const COMPARED: usize = 16;

impl<'p> Gen<'_, 'p> {
    pub(super) fn block(&mut self, block: &'p [Stmt]) {
        let Some(pieces) = self.unit.plan.pieces(self.unit.program, block) else {
            return self.stmts(block);
        };
        for (piece, alone) in pieces {
            if !self.live {
                return;
            }
            if alone {
                self.call_part(Outlined::Piece(piece), &[]);
            } else {
                self.stmts(piece);
            }
        }
    }

    pub(super) fn stmts(&mut self, stmts: &'p [Stmt]) {
        for stmt in stmts {
            if !self.live {
                return;
            }
            if !self.has_room() {
                self.b.ins().trap(TOO_MUCH);
                self.live = false;
                return;
            }
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt) {
        match &stmt.kind {
            StmtKind::Assign(assign) => self.assign(assign),
            StmtKind::AssignSlice { dst, hi, lo, value } => {
                self.assign_slice(dst, *hi, *lo, *value);
            }
            StmtKind::Reset(place) => {
                let (spot, ty) = (self.locate(place), self.place_type(place));
                self.reset(&spot, ty);
            }
            StmtKind::SetValid(place) => self.set_valid(place),
            StmtKind::SetInvalid(place) => {
                let spot = self.locate(place);
                let zero = self.imm(0);
                self.write(&spot, &[zero]);
            }
            StmtKind::PushFront { stack, count } => self.shift_stack(stack, *count, true),
            StmtKind::PopFront { stack, count } => self.shift_stack(stack, *count, false),
            StmtKind::If { cond, then, other } => self.if_else(*cond, then, other),
            StmtKind::Switch {
                value,
                cases,
                default,
            } => self.switch(*value, cases, default),
            StmtKind::Loop {
                head,
                cond,
                body,
                step,
                rounds,
            } => self.run_loop((head, body, step), *cond, *rounds),
            StmtKind::Break => {
                if let Some((end, _)) = self.in_loop {
                    self.goto(end);
                }
            }
            StmtKind::Continue => {
                if let Some((_, next)) = self.in_loop {
                    self.goto(next);
                }
            }
            StmtKind::Return => self.goto(self.exits.done),
            StmtKind::Exit => self.goto(self.exits.exit),
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            } => self.call(*callee, copy_in, copy_out),
            StmtKind::ApplyTable {
                table,
                hit,
                action_run,
            } => self.apply_table(*table, *hit, *action_run),
            StmtKind::Extern(call) => self.extern_call(call, stmt.span),
            StmtKind::Extract { header, advance } => self.extract(header, None, advance.as_ref()),
            StmtKind::ExtractVarbit {
                header,
                size,
                advance,
            } => self.extract(header, Some(*size), advance.as_ref()),
            StmtKind::Lookahead { dst } => self.lookahead(dst),
            StmtKind::Advance { bits } => self.skip(*bits),
            StmtKind::Verify { cond, error } => {
                let holds = self.truth(*cond);
                let (good, bad) = (self.label(), self.label());
                self.branch(holds, good, bad);
                self.bind(bad);
                let error = self.eval_low(*error);
                self.reject(error);
                self.bind(good);
            }
            StmtKind::Emit { header } => self.emit(header),
        }
    }

    fn assign_slice(&mut self, dst: &Place, hi: u32, lo: u32, value: ExprId) {
        let ty = self.place_type(dst);
        let width = self.width(ty);
        let part_width = hi.saturating_sub(lo) + 1;
        let part = self.eval(value);
        let from = self.unit.program.expr_type(value);
        let part = self.resized(&part, self.width(from), part_width);
        let filling = self.shifted_up(&part, lo, width);
        let ones = vec![self.imm(-1); super::words::words(part_width)];
        let ones = self.trim(ones, part_width);
        let hole = self.shifted_up(&ones, lo, width);
        let spot = self.locate(dst);
        let old = self.read(&spot, self.type_words(ty));
        let kept = self.each(&old, &hole, |g, old, hole| {
            let rest = g.b.ins().bnot(hole);
            g.b.ins().band(old, rest)
        });
        let new = self.each(&kept, &filling, |g, a, b| g.b.ins().bor(a, b));
        self.write(&spot, &new);
    }

    fn set_valid(&mut self, place: &Place) {
        let (spot, ty) = (self.locate(place), self.place_type(place));
        let valid = self.read(&spot, 1)[0];
        let (fresh, done) = (self.label(), self.label());
        self.branch(valid, done, fresh);
        self.bind(fresh);
        self.reset(&spot, ty);
        let one = self.imm(1);
        self.write(&spot, &[one]);
        self.goto(done);
        self.bind(done);
    }

    /// Moves the elements of a stack at a word, each of so many words; see
    /// [`Runtime`](crate::compile::runtime::Runtime) for the rules.
    fn shift_words(&mut self, at: u32, (size, words): (u32, u32), count: u32, push: bool) {
        let count = count.min(size);
        let zero = self.imm(0);
        let next = self.load_word(at);
        let elements: Vec<Value> = (0..size * words)
            .map(|i| self.load_word(at + 1 + i))
            .collect();
        let shift = (count * words) as usize;
        let zeros = std::iter::repeat_n(zero, shift);
        let kept = elements.len() - shift;
        let moved: Vec<Value> = if push {
            zeros.chain(elements[..kept].iter().copied()).collect()
        } else {
            elements[shift..].iter().copied().chain(zeros).collect()
        };
        for (i, value) in (at + 1..).zip(moved) {
            self.store_word(i, value);
        }
        let [size, by] = [size, count].map(|n| self.imm(n.into()));
        let (beyond, bound, moved) = if push {
            let moved = self.b.ins().iadd(next, by);
            let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, moved, size);
            (beyond, size, moved)
        } else {
            let moved = self.b.ins().isub(next, by);
            let beyond = self.b.ins().icmp(IntCC::UnsignedLessThan, next, by);
            (beyond, zero, moved)
        };
        let next = self.b.ins().select(beyond, bound, moved);
        self.store_word(at, next);
    }

    fn shift_stack(&mut self, place: &Place, count: u32, push: bool) {
        let (spot, ty) = (self.locate(place), self.place_type(place));
        let Type::Stack { element, size } = self.unit.program.types[ty] else {
            return;
        };
        if let Spot::Fixed(word) = spot
            && self.is_short(&spot, self.unit.layout.words_of(ty))
        {
            return self.shift_words(
                word,
                (size, self.unit.layout.words_of(element)),
                count,
                push,
            );
        }
        let done = self.label();
        if let Spot::Moving { ok, .. } = spot {
            self.branch_unless(ok, done);
        }
        if !matches!(spot, Spot::Nowhere) {
            self.flush_place(&spot, ty);
            let word = self.word_index(&spot, true);
            let words = self.unit.layout.words_of(element);
            let [size, words, count] = [size, words, count].map(|n| self.imm(i64::from(n)));
            let push = self.imm(push.into());
            self.call_helper(
                Helper::ShiftStack,
                &[self.ctx, word, size, words, count, push],
            );
            self.forget_place(&spot, ty);
        }
        self.goto(done);
        self.bind(done);
    }

    fn if_else(&mut self, cond: ExprId, then: &'p Block, other: &'p Block) {
        let cond = self.truth(cond);
        let (yes, no, done) = (self.label(), self.label(), self.label());
        self.branch(cond, yes, no);
        self.bind(yes);
        self.block(then);
        self.goto(done);
        self.bind(no);
        self.block(other);
        self.goto(done);
        self.bind(done);
    }

    fn switch(&mut self, value: ExprId, cases: &'p [SwitchCase], default: &'p Block) {
        let Some(pieces) = self.unit.plan.case_pieces(self.unit.program, cases) else {
            return self.switch_here(value, cases, default);
        };
        // What is found here only says which piece has the case: it looks again.
        let (words, width) = self.switched(value);
        let done = self.label();
        let mut parts = Vec::new();
        for piece in pieces {
            let part = self.label();
            let labels = piece.iter().flat_map(|case| &case.labels);
            parts.push((part, labels.collect(), piece));
        }
        let arms = parts.iter().map(|(label, labels, _)| (*label, labels));
        self.dispatch(&words, width, arms);
        self.block(default);
        self.goto(done);
        for (label, _, piece) in parts {
            self.bind(label);
            if self.live {
                self.call_part(Outlined::Cases(value, piece), &[]);
            }
            self.goto(done);
        }
        self.bind(done);
    }

    /// A switch without pieces.
    pub(super) fn switch_here(
        &mut self,
        value: ExprId,
        cases: &'p [SwitchCase],
        default: &'p [Stmt],
    ) {
        let (words, width) = self.switched(value);
        let done = self.label();
        let mut bodies = Vec::new();
        for case in cases {
            bodies.push((self.label(), case.labels.iter().collect(), &case.body));
        }
        let arms = bodies.iter().map(|(label, labels, _)| (*label, labels));
        self.dispatch(&words, width, arms);
        self.block(default);
        self.goto(done);
        for (label, _, body) in bodies {
            self.bind(label);
            self.block(body);
            self.goto(done);
        }
        self.bind(done);
    }

    /// The value of a switch, and its width.
    fn switched(&mut self, value: ExprId) -> (Words, u32) {
        let width = self.width(self.unit.program.expr_type(value));
        (self.eval(value), width)
    }

    /// Goes to the arm that has a value among its constants, if one has; else on.
    fn dispatch<'x>(
        &mut self,
        value: &[Value],
        width: u32,
        arms: impl Iterator<Item = (Label, &'x Vec<&'p Const>)>,
    ) where
        'p: 'x,
    {
        let each = arms.flat_map(|(arm, constants)| constants.iter().map(move |c| (*c, arm)));
        if let [word] = value {
            let words = each.map(|(c, arm)| (const_bits(c, width).low_u64(), arm));
            return self.dispatch_word(*word, words);
        }
        for (constant, arm) in each {
            let constant = self.constant(constant, width);
            let same = self.equal(value, &constant);
            self.branch_if(same, arm);
        }
    }

    /// The same for a value of one word.
    pub(super) fn dispatch_word(&mut self, value: Value, arms: impl Iterator<Item = (u64, Label)>) {
        let arms: Vec<(u64, Label)> = arms.collect();
        if arms.len() <= COMPARED {
            for (constant, arm) in arms {
                let same = self
                    .b
                    .ins()
                    .icmp_imm_s(IntCC::Equal, value, constant as i64);
                self.branch_if(same, arm);
            }
            return;
        }
        if !self.live {
            return;
        }
        let mut switch = Switch::new();
        for (constant, arm) in arms {
            let block = self.reach(arm);
            switch.set_entry(u128::from(constant), block);
        }
        let on = self.label();
        let block = self.reach(on);
        switch.emit(&mut self.b, value, block);
        self.live = false;
        self.bind(on);
    }

    fn run_loop(
        &mut self,
        (head, body, step): (&'p Block, &'p Block, &'p Block),
        cond: ExprId,
        rounds: u32,
    ) {
        let (top, next, end) = (self.backward_label(), self.label(), self.label());
        let outer = self.in_loop.replace((end, next));
        self.goto(top);
        self.bind(top);
        self.spend_rounds(rounds);
        self.block(head);
        if self.live {
            let cond = self.truth(cond);
            self.branch_unless(cond, end);
        }
        self.block(body);
        self.goto(next);
        self.bind(next);
        self.block(step);
        self.goto(top);
        self.live = false;
        self.in_loop = outer;
        self.bind(end);
    }

    /// Counts a loop round or parser state that stands for so many; too many reject in a parser and
    /// abort elsewhere.
    pub(super) fn spend_rounds(&mut self, count: u32) {
        self.unit.spends_rounds = true;
        let rounds = self.load_ctx(field::ROUNDS);
        let rounds = self.b.ins().iadd_imm_s(rounds, i64::from(count));
        self.store_ctx(field::ROUNDS, rounds);
        let most = self.imm_u(MAX_ROUNDS);
        let over = self.b.ins().icmp(IntCC::UnsignedGreaterThan, rounds, most);
        let (bad, good) = (self.label(), self.label());
        self.branch(over, bad, good);
        self.bind(bad);
        if self.kind == Kind::Parser {
            self.reject_named("ParserTimeout");
        } else {
            self.call_helper(Helper::AbortLoop, &[self.ctx]);
            self.goto(self.exits.abort);
        }
        self.bind(good);
    }

    /// The parser rejects with an error.
    pub(super) fn reject(&mut self, error: Value) {
        self.b.def_var(self.error, error);
        let label = self.rejection(error);
        self.goto(label);
    }

    /// The parser rejects with an error of the core library.
    pub(super) fn reject_named(&mut self, name: &str) {
        let index = self.unit.program.error_index(name).unwrap_or(0);
        let error = self.imm(i64::from(index));
        self.reject(error);
    }

    pub(super) fn call(&mut self, callee: Callee, copy_in: &[Assign], copy_out: &'p [Stmt]) {
        self.assign_all(copy_in);
        if self.unit.plan.is_outlined(callee) {
            return self.call_part(Outlined::Callable(callee), copy_out);
        }
        let outer = self.exits;
        let outer_loop = self.in_loop.take();
        let [done, exit, reject] = [(); 3].map(|()| self.label());
        self.exits = Exits {
            done,
            exit,
            reject,
            ..outer
        };
        self.body(callee);
        self.goto(done);
        self.exits = outer;
        self.in_loop = outer_loop;
        for (left, further) in [(exit, outer.exit), (reject, outer.reject)] {
            self.bind(left);
            self.block(copy_out);
            self.goto(further);
        }
        self.bind(done);
        self.block(copy_out);
    }

    /// Calls the function of a part and goes on where it says.
    fn call_part(&mut self, part: Outlined<'p>, copy_out: &'p [Stmt]) {
        let id = self.unit.function(part, self.kind);
        self.save_position();
        let all = 0..self.unit.layout.zeros;
        self.flush(all.clone());
        let code = self.call_external(FUNCTIONS, id, &[self.ctx, self.frame]);
        self.cache.clear();
        self.take_over(all);
        self.load_position();
        let (next, other) = (self.label(), self.label());
        self.branch(code, other, next);
        self.bind(other);
        let (exit, rest) = (self.label(), self.label());
        let exited = self.b.ins().icmp_imm_s(IntCC::Equal, code, EXITED);
        self.branch(exited, exit, rest);
        self.bind(exit);
        self.block(copy_out);
        self.goto(self.exits.exit);
        self.bind(rest);
        if !matches!(part, Outlined::Callable(_)) {
            let (end, round) = self.in_loop.unzip();
            for (code_then, label) in [
                (RETURNED, Some(self.exits.done)),
                (BROKEN, end),
                (CONTINUED, round),
            ] {
                if let Some(label) = label {
                    let same = self.b.ins().icmp_imm_s(IntCC::Equal, code, code_then);
                    self.branch_if(same, label);
                }
            }
        }
        if self.kind == Kind::Parser {
            let aborted = self.b.ins().icmp_imm_s(IntCC::Equal, code, ABORTED);
            self.branch_if(aborted, self.exits.abort);
            self.block(copy_out);
            let error = self.b.ins().iadd_imm_s(code, -REJECTED);
            self.reject(error);
        } else {
            self.goto(self.exits.abort);
        }
        self.bind(next);
        self.block(copy_out);
    }
}

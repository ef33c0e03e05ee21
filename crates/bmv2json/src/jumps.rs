//! Jumps inside actions. p4c compiles `if` and loops in actions to `_jump_if_zero(cond, to)` and
//! `_jump(to)`, where `to` is the index of a primitive.
//!
//! Forward jumps that nest are `if`s again. Anything else becomes a loop that switches on the
//! number of the basic block to run next.

use num_bigint::BigInt;
use num_traits::ToPrimitive as _;
use p4ir::{
    Assign, BinaryOp, Const, ExprId, ExprKind, Place, StmtKind, SwitchCase, VarId, VarKind,
};

use crate::data::Reader;
use crate::error::Read;
use crate::model::{Arg, Primitive};

/// Where a primitive may go besides to the next one.
enum Jump {
    Always(usize),
    IfZero(Arg, usize),
}

impl Reader<'_> {
    /// All primitives of an action.
    pub(crate) fn jumping_primitives(&mut self, all: &[Primitive]) -> Read<()> {
        let jumps: Vec<Option<Jump>> = all.iter().map(|p| self.jump(p)).collect::<Read<_>>()?;
        if nests(&jumps, 0, jumps.len(), 0) {
            self.nested_primitives(all, &jumps, 0, all.len())
        } else {
            self.dispatched_primitives(all, &jumps)
        }
    }

    fn jump(&self, p: &Primitive) -> Read<Option<Jump>> {
        let target = |arg: Option<&Arg>| match arg {
            Some(Arg::Number(n)) => n
                .to_usize()
                .ok_or_else(|| self.malformed("a jump out of the action")),
            _ => Err(self.malformed("a jump to a computed place")),
        };
        Ok(match p.op.as_str() {
            "_jump" => {
                let args = self.operands(p, Some(1))?;
                Some(Jump::Always(target(args.first())?))
            }
            "_jump_if_zero" => {
                let mut args = self.operands(p, Some(2))?;
                let to = target(args.get(1))?;
                Some(Jump::IfZero(args.swap_remove(0), to))
            }
            _ => None,
        })
    }

    fn nested_primitives(
        &mut self,
        all: &[Primitive],
        jumps: &[Option<Jump>],
        from: usize,
        to: usize,
    ) -> Read<()> {
        let mut i = from;
        while i < to {
            match (&all.get(i), jumps.get(i)) {
                (Some(p), Some(None)) => {
                    self.primitive(p)?;
                    i += 1;
                }
                (Some(p), Some(Some(Jump::IfZero(cond, _)))) => {
                    self.at(p.source_info.as_ref());
                    let shape = shape(jumps, i, to);
                    let cond = self.condition(cond)?;
                    let (then_end, else_range, next) = shape;
                    let then = self.block(|r| r.nested_primitives(all, jumps, i + 1, then_end))?;
                    let other = self
                        .block(|r| r.nested_primitives(all, jumps, else_range.0, else_range.1))?;
                    self.emit(StmtKind::If { cond, then, other });
                    i = next;
                }
                // `nests` admits no lone jump but one to the end of its block.
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// `loop { switch (pc) { block 0; block 1; ... } }`
    fn dispatched_primitives(&mut self, all: &[Primitive], jumps: &[Option<Jump>]) -> Read<()> {
        let end = all.len();
        let mut leaders = vec![0, end];
        for (i, j) in jumps.iter().enumerate() {
            if let Some(Jump::Always(to) | Jump::IfZero(_, to)) = j {
                if *to > end {
                    return Err(self.malformed("a jump out of the action"));
                }
                leaders.extend([*to, i + 1]);
            }
        }
        leaders.sort_unstable();
        leaders.dedup();
        let ty = self.bits(32, false);
        let pc = self.var("pc", ty, VarKind::Temp);
        self.set_pc(pc, 0);
        let mut cases = Vec::new();
        for pair in leaders.windows(2) {
            let [from, to] = *pair else { continue };
            let labels = vec![Const::Bits(from.into())];
            let body = self.block(|r| r.basic_block(all, jumps, from, to, pc))?;
            cases.push(SwitchCase { labels, body });
        }
        let value = self.read(Place::var(pc), ty);
        let cond = self.not_at(value, end);
        let body = self.block(|r| {
            r.emit(StmtKind::Switch {
                value,
                cases,
                default: Vec::new(),
            });
            Ok(())
        })?;
        self.emit(StmtKind::Loop {
            head: Vec::new(),
            cond,
            body,
            step: Vec::new(),
            rounds: 1,
        });
        Ok(())
    }

    fn not_at(&mut self, pc: ExprId, end: usize) -> ExprId {
        let end = self.constant(&BigInt::from(end), 32, false);
        let ty = self.program.types.boolean();
        self.program
            .add_expr(ExprKind::Binary(BinaryOp::Ne, pc, end), ty)
    }

    fn set_pc(&mut self, pc: VarId, to: usize) {
        let value = self.constant(&BigInt::from(to), 32, false);
        self.emit(StmtKind::Assign(Assign {
            dst: Place::var(pc),
            value,
        }));
    }

    fn basic_block(
        &mut self,
        all: &[Primitive],
        jumps: &[Option<Jump>],
        from: usize,
        to: usize,
        pc: VarId,
    ) -> Read<()> {
        for i in from..to {
            match (all.get(i), jumps.get(i)) {
                (Some(_), Some(Some(Jump::Always(target)))) => {
                    self.set_pc(pc, *target);
                    return Ok(());
                }
                (Some(p), Some(Some(Jump::IfZero(cond, target)))) => {
                    self.at(p.source_info.as_ref());
                    let cond = self.condition(cond)?;
                    let then = self.block(|r| {
                        r.set_pc(pc, i + 1);
                        Ok(())
                    })?;
                    let other = self.block(|r| {
                        r.set_pc(pc, *target);
                        Ok(())
                    })?;
                    self.emit(StmtKind::If { cond, then, other });
                    return Ok(());
                }
                (Some(p), _) => self.primitive(p)?,
                (None, _) => {}
            }
        }
        self.set_pc(pc, to);
        Ok(())
    }
}

/// End of the first branch, range of the second, and what follows the `if` at `i` in a block that
/// ends at `end`.
fn shape(jumps: &[Option<Jump>], i: usize, end: usize) -> (usize, (usize, usize), usize) {
    let Some(Some(Jump::IfZero(_, to))) = jumps.get(i) else {
        return (end, (end, end), end);
    };
    let to = (*to).min(end);
    match to.checked_sub(1).and_then(|last| jumps.get(last)) {
        Some(Some(Jump::Always(after))) if to > i + 1 && *after >= to => {
            (to - 1, (to, (*after).min(end)), (*after).min(end))
        }
        _ => (to, (to, to), to),
    }
}

/// Deepest nesting of `if`s; beyond it the loop is used.
const MAX_DEPTH: usize = 100;

/// True if the jumps in `from..to` go forward and nest.
fn nests(jumps: &[Option<Jump>], from: usize, to: usize, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let mut i = from;
    while i < to {
        match jumps.get(i) {
            Some(Some(Jump::Always(_))) => return false,
            Some(Some(Jump::IfZero(_, target))) => {
                let (then_end, other, next) = shape(jumps, i, to);
                let inside = *target > i && *target <= to && other.1 <= to;
                let after = match jumps.get(then_end) {
                    Some(Some(Jump::Always(after))) if then_end + 1 == other.0 => *after <= to,
                    _ => true,
                };
                if !inside
                    || !after
                    || !nests(jumps, i + 1, then_end, depth + 1)
                    || !nests(jumps, other.0, other.1, depth + 1)
                {
                    return false;
                }
                i = next;
            }
            _ => i += 1,
        }
    }
    true
}

//! Random statements.

use super::super::ast::{
    Block, Callee, Code, Direction, ELEMENTS, Expr, Lvalue, Record, Stmt, Ty, VarRef,
};
use super::super::value::ones;
use super::Maker;
use super::scope::{Known, Place};

/// A kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Assign,
    If,
    Switch,
    SwitchAction,
    Apply,
    Function,
    Action,
    Block,
    SetValid,
    SetInvalid,
    Shift,
    Extract,
    Return,
    Exit,
}

impl Maker<'_, '_> {
    /// A block of up to `size` statements; `depth` says how far further blocks may nest in it.
    pub(super) fn block(&mut self, size: usize, depth: usize, nested: bool) -> Block {
        let mut block = Vec::new();
        for _ in 0..size {
            let kinds = self.kinds(depth, nested);
            let made = self
                .weighted(&kinds)
                .and_then(|kind| self.stmt(kind, depth));
            let Some(stmt) = made else { continue };
            let ends = matches!(stmt, Stmt::Return(_) | Stmt::Exit);
            block.push(stmt);
            if ends {
                break;
            }
        }
        block
    }

    /// What may stand here, and how often.
    fn kinds(&self, depth: usize, nested: bool) -> Vec<(usize, Kind)> {
        let place = self.scope.place;
        let only = |places: &[Place], weight: usize| match places.contains(&place) {
            true => weight,
            false => 0,
        };
        let calls = usize::from(self.scope.calls > 0);
        let tables = usize::from(!self.scope.tables.is_empty());
        let blocks = usize::from(depth > 0);
        let inside = usize::from(nested);
        use Place::{Action, Control, Function, Parser};
        vec![
            (40, Kind::Assign),
            (blocks * only(&[Control, Function], 12), Kind::If),
            (blocks * only(&[Action], 4), Kind::If),
            (blocks * only(&[Control], 5), Kind::Switch),
            (tables * blocks * only(&[Control], 6), Kind::SwitchAction),
            (tables * only(&[Control], 6), Kind::Apply),
            (calls * 10, Kind::Function),
            (calls * only(&[Control, Action], 10), Kind::Action),
            (calls * only(&[Control, Parser], 18), Kind::Block),
            (3, Kind::SetValid),
            (1, Kind::SetInvalid),
            (only(&[Control, Action], 2), Kind::Shift),
            (only(&[Parser], 8), Kind::Extract),
            (inside * only(&[Control, Function, Action], 4), Kind::Return),
            (inside * only(&[Control, Action], 3), Kind::Exit),
        ]
    }

    fn stmt(&mut self, kind: Kind, depth: usize) -> Option<Stmt> {
        let element = Ty::Record(Record::Element);
        Some(match kind {
            Kind::Assign => return self.assign(),
            Kind::If => {
                let cond = self.if_cond();
                let size = self.between(1, 3);
                let then = self.block(size, depth - 1, true);
                let other = match self.chance(50) {
                    true => self.block(2, depth - 1, true),
                    false => Vec::new(),
                };
                Stmt::If(cond, then, other)
            }
            Kind::Switch => self.switch(depth),
            Kind::SwitchAction => return self.switch_action(depth),
            Kind::Apply => {
                let at = self.choices.below(self.scope.tables.len());
                Stmt::Apply(self.scope.tables.remove(at))
            }
            Kind::Function | Kind::Action | Kind::Block => {
                let callee = self.callee(kind)?;
                let code = self.program.called(self.code, callee);
                self.scope.calls -= 1;
                Stmt::Call(callee, self.args(code)?)
            }
            Kind::SetValid => Stmt::SetValid(self.lvalue(element, true)?),
            Kind::SetInvalid => Stmt::SetInvalid(self.lvalue(element, true)?),
            Kind::Shift => {
                let stack = self.lvalue(Ty::Stack, true)?;
                let count = self.between(1, ELEMENTS - 1);
                match self.chance(50) {
                    true => Stmt::Push(stack, count),
                    false => Stmt::Pop(stack, count),
                }
            }
            Kind::Extract => Stmt::Extract(self.lvalue(element, true)?),
            Kind::Return => Stmt::Return(self.scope.result.map(|width| self.number(width, 1))),
            Kind::Exit => Stmt::Exit,
        })
    }

    /// Something of a kind that can be called from here.
    fn callee(&mut self, kind: Kind) -> Option<Callee> {
        let (count, make): (usize, fn(usize) -> Callee) = match (kind, self.code) {
            (Kind::Function, _) => {
                let function = self.choices.pick(&self.scope.functions)?;
                return Some(Callee::Function(*function));
            }
            (Kind::Action, _) => (self.scope.actions, Callee::Action),
            (_, Code::Control(c)) => (self.program.controls[c].instances.len(), Callee::Control),
            (_, Code::Parser(p)) => (self.program.parsers[p].instances.len(), Callee::Parser),
            _ => return None,
        };
        (count > 0).then(|| make(self.choices.below(count)))
    }

    fn assign(&mut self) -> Option<Stmt> {
        let width = self.width();
        let kinds = [
            (75, Ty::Bits(width)),
            (12, Ty::Record(Record::Element)),
            (8, Ty::Record(Record::Pair)),
            (3, Ty::Stack),
            (2, Ty::Record(Record::Fields)),
        ];
        let ty = self.weighted(&kinds)?;
        let place = self.lvalue(ty, true)?;
        let source = self.source(ty, 2)?;
        Some(Stmt::Assign(place, source))
    }

    fn switch(&mut self, depth: usize) -> Stmt {
        let width = self.width();
        let value = self.number(width, 1);
        let mut cases: Vec<(u64, Block)> = Vec::new();
        for _ in 0..self.between(1, 3) {
            let Expr::Const(_, label) = self.constant(width) else {
                continue;
            };
            if cases.iter().all(|(known, _)| *known != label & ones(width)) {
                let block = self.block(2, depth - 1, true);
                cases.push((label, block));
            }
        }
        let default = self.block(2, depth - 1, true);
        Stmt::Switch(value, cases, default)
    }

    fn switch_action(&mut self, depth: usize) -> Option<Stmt> {
        let at = self.choices.below(self.scope.tables.len());
        let table = self.scope.tables.remove(at);
        let control = self.program.around(self.code)?;
        let count = control.tables[table].actions.len();
        let mut cases = Vec::new();
        for listed in 0..count {
            if self.chance(60) {
                cases.push((listed, self.block(2, depth - 1, true)));
            }
        }
        if cases.is_empty() {
            cases.push((0, self.block(2, depth - 1, true)));
        }
        let default = match cases.len() < count {
            true => self.block(2, depth - 1, true),
            false => Vec::new(),
        };
        Some(Stmt::SwitchAction(table, cases, default))
    }

    /// Declares locals, then gives most `out` parameters a value, each before it can be read.
    pub(super) fn prologue(&mut self, locals: usize) -> Block {
        let callable = self.program.code(self.code);
        let outs: Vec<(usize, Ty)> = callable
            .params()
            .enumerate()
            .filter(|(_, (_, direction))| *direction == Direction::Out)
            .map(|(index, (var, _))| (index, var.ty))
            .collect();
        let is_out = |k: &Known| outs.iter().any(|(index, _)| k.var == VarRef::Own(*index));
        let all = self.scope.known.iter().copied();
        let (hidden, seen): (Vec<Known>, Vec<Known>) = all.partition(is_out);
        self.scope.known = seen;
        self.locals(locals);
        let mut block = Vec::new();
        for ((index, ty), known) in outs.into_iter().zip(hidden) {
            let source = match self.chance(98) {
                true => self.source(ty, 1),
                false => None,
            };
            let place = Lvalue {
                var: VarRef::Own(index),
                steps: Vec::new(),
                slice: None,
            };
            block.extend(source.map(|source| Stmt::Assign(place, source)));
            self.scope.known.push(known);
        }
        block
    }
}

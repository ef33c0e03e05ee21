//! What a packet costs: the steps of one pass through each callable and how deep statements and
//! calls go, found along the call graph without running anything; and how many rounds a round of
//! each loop and each parser state counts as.
//!
//! A step is a statement, an operation of an expression, a word that is copied or cleared, a label
//! or set that is compared. Of branches, actions of a table, and paths through a parser the dearest
//! counts. A loop counts with one round, a parser whose states form a cycle with each state once:
//! what goes beyond is counted when it happens.

use std::collections::HashMap;

use crate::block::{Parser, SelectMatch, State, Target, Transition};
use crate::entity::{Entity, ExprId, StateId, TableId, TypeId};
use crate::expr::{Place, Projection};
use crate::limits::{Exceeded, Limit, STEPS_PER_ROUND};
use crate::stmt::{Assign, Block, Callee, ExternArg, ExternCall, Stmt, StmtKind};
use crate::{Program, Span};

/// A node of the call graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Node {
    Callee(Callee),
    Table(TableId),
}

/// What running something takes.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    steps: u64,
    /// Statements inside each other, those of callees included.
    depth: u64,
    /// Something inside asks for too much and was told.
    told: bool,
}

impl Work {
    fn steps(steps: u64) -> Self {
        Self {
            steps,
            ..Self::default()
        }
    }

    /// One after the other.
    fn then(self, next: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(next.steps),
            depth: self.depth.max(next.depth),
            told: self.told || next.told,
        }
    }

    /// One or the other.
    fn or(self, other: Self) -> Self {
        Self {
            steps: self.steps.max(other.steps),
            depth: self.depth.max(other.depth),
            told: self.told || other.told,
        }
    }

    fn exceeds(self) -> Option<Exceeded> {
        let steps = Limit::Steps.check(self.steps);
        steps.and(Limit::Depth.check(self.depth)).err()
    }
}

/// The work of callables and tables, callees before callers.
pub(super) struct Survey<'p> {
    program: &'p Program,
    /// Words of each type.
    words: &'p [u64],
    /// Steps of each expression with all its operands.
    exprs: Vec<u64>,
    done: HashMap<Node, Work>,
    /// Rounds of the loops inside each node, in the order of [`loops`].
    rounds: HashMap<Node, Vec<u32>>,
    states: HashMap<StateId, u32>,
}

impl<'p> Survey<'p> {
    pub(super) fn new(program: &'p Program, words: &'p [u64]) -> Self {
        let mut survey = Self {
            program,
            words,
            exprs: Vec::with_capacity(program.exprs.len()),
            done: HashMap::new(),
            rounds: HashMap::new(),
            states: HashMap::new(),
        };
        for expr in program.exprs.values() {
            let steps = expr
                .kind
                .operands()
                .into_iter()
                .fold(1, |sum: u64, e| sum.saturating_add(survey.exprs[e.index()]));
            survey.exprs.push(steps);
        }
        survey
    }

    /// Looks at a node whose callees have been looked at. An error if it is the first on its way up
    /// that asks for too much.
    pub(super) fn look_at(&mut self, node: Node) -> Result<(), (Span, Exceeded)> {
        let program = self.program;
        let mut rounds = Vec::new();
        let (work, span) = match node {
            Node::Callee(Callee::Action(id)) => {
                let action = &program.actions[id];
                (self.block(&action.body, &mut rounds), action.span)
            }
            Node::Callee(Callee::Function(id)) => {
                let function = &program.functions[id];
                (self.block(&function.body, &mut rounds), function.span)
            }
            Node::Callee(Callee::Control(id)) => {
                let control = &program.controls[id];
                let init = self.block(&control.init, &mut rounds);
                let work = init.then(self.block(&control.body, &mut rounds));
                (work, control.span)
            }
            Node::Callee(Callee::Parser(id)) => {
                let parser = &program.parsers[id];
                (self.parser(parser, &mut rounds), parser.span)
            }
            Node::Table(id) => (self.table(id, &mut rounds), program.tables[id].span),
        };
        self.rounds.insert(node, rounds);
        let error = work.exceeds();
        let told = work.told || error.is_some();
        self.done.insert(node, Work { told, ..work });
        match error {
            Some(error) if !work.told => Err((span, error)),
            _ => Ok(()),
        }
    }

    /// Steps of the dearest node.
    pub(super) fn dearest(&self) -> u64 {
        self.done.values().map(|w| w.steps).max().unwrap_or(0)
    }

    /// What [`settle`] writes into the program.
    pub(super) fn into_rounds(self) -> (HashMap<Node, Vec<u32>>, HashMap<StateId, u32>) {
        (self.rounds, self.states)
    }

    fn expr(&self, id: ExprId) -> u64 {
        self.exprs[id.index()]
    }

    fn type_words(&self, ty: TypeId) -> u64 {
        self.words[ty.index()]
    }

    /// Words of a place, and the steps of its indices.
    fn place(&self, place: &Place) -> u64 {
        let indices = place.path.iter().filter_map(|step| match step {
            Projection::DynIndex(index) => Some(self.expr(*index)),
            _ => None,
        });
        let ty = self.program.place_type(place);
        indices.fold(ty.map_or(1, |ty| self.type_words(ty)), u64::saturating_add)
    }

    fn assign(&self, assign: &Assign) -> u64 {
        self.expr(assign.value)
            .saturating_add(self.place(&assign.dst))
    }

    fn assigns(&self, all: &[Assign]) -> u64 {
        all.iter()
            .map(|a| self.assign(a))
            .fold(0, u64::saturating_add)
    }

    fn block(&mut self, block: &Block, rounds: &mut Vec<u32>) -> Work {
        let mut work = Work::default();
        for stmt in block {
            work = work.then(self.stmt(stmt, rounds));
        }
        Work {
            depth: work.depth + u64::from(!block.is_empty()),
            ..work
        }
    }

    fn callee(&self, node: Node) -> Work {
        self.done.get(&node).copied().unwrap_or_default()
    }

    fn stmt(&mut self, stmt: &Stmt, rounds: &mut Vec<u32>) -> Work {
        let one = Work::steps(1);
        match &stmt.kind {
            StmtKind::If { cond, then, other } => {
                let branches = self.block(then, rounds).or(self.block(other, rounds));
                Work::steps(self.expr(*cond)).then(branches)
            }
            StmtKind::Switch {
                value,
                cases,
                default,
            } => {
                let mut branches = Work::default();
                let mut labels = 1;
                for case in cases {
                    labels += case.labels.len() as u64;
                    branches = branches.or(self.block(&case.body, rounds));
                }
                branches = branches.or(self.block(default, rounds));
                Work::steps(self.expr(*value).saturating_add(labels)).then(branches)
            }
            StmtKind::Loop {
                head,
                cond,
                body,
                step,
                rounds: _,
            } => {
                let at = rounds.len();
                rounds.push(1);
                let round = Work::steps(self.expr(*cond))
                    .then(self.block(head, rounds))
                    .then(self.block(body, rounds))
                    .then(self.block(step, rounds));
                rounds[at] = as_rounds(round.steps);
                round
            }
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            } => one
                .then(Work::steps(self.assigns(copy_in)))
                .then(self.callee(Node::Callee(*callee)))
                .then(self.block(copy_out, rounds)),
            StmtKind::ApplyTable { table, .. } => one.then(self.callee(Node::Table(*table))),
            other => Work::steps(self.simple(other)),
        }
    }

    /// Steps of a statement without others inside.
    fn simple(&self, kind: &StmtKind) -> u64 {
        let sum = |parts: &[u64]| parts.iter().copied().fold(1, u64::saturating_add);
        match kind {
            StmtKind::Assign(assign) => sum(&[self.assign(assign)]),
            StmtKind::AssignSlice { dst, value, .. } => sum(&[self.expr(*value), self.place(dst)]),
            StmtKind::Reset(place)
            | StmtKind::SetValid(place)
            | StmtKind::SetInvalid(place)
            | StmtKind::Lookahead { dst: place }
            | StmtKind::Emit { header: place }
            | StmtKind::PushFront { stack: place, .. }
            | StmtKind::PopFront { stack: place, .. } => sum(&[self.place(place)]),
            StmtKind::Extract { header, .. } => sum(&[self.place(header)]),
            StmtKind::ExtractVarbit { header, size, .. } => {
                sum(&[self.place(header), self.expr(*size)])
            }
            StmtKind::Advance { bits } => sum(&[self.expr(*bits)]),
            StmtKind::Verify { cond, error } => sum(&[self.expr(*cond), self.expr(*error)]),
            StmtKind::Extern(call) => sum(&[self.extern_call(call)]),
            _ => 1,
        }
    }

    fn extern_call(&self, call: &ExternCall) -> u64 {
        let arg = |arg: &ExternArg| match arg {
            ExternArg::In(e) => self.expr(*e),
            ExternArg::Fields { values, .. } => values
                .iter()
                .map(|e| self.expr(*e))
                .fold(0, u64::saturating_add),
            ExternArg::Out(place) | ExternArg::InOut(place) => self.place(place),
            ExternArg::Object(_) | ExternArg::Omitted => 0,
        };
        let result = call.result.as_ref().map_or(0, |place| self.place(place));
        call.args.iter().map(arg).fold(result, u64::saturating_add)
    }

    fn table(&mut self, id: TableId, rounds: &mut Vec<u32>) -> Work {
        let table = &self.program.tables[id];
        let keys = table.keys.iter().map(|k| self.expr(k.expr));
        let keys = Work::steps(keys.fold(1, u64::saturating_add));
        let mut work = Work::default();
        for action in &table.actions {
            let copies = Work::steps(self.assigns(&action.copy_in));
            let body = self.callee(Node::Callee(Callee::Action(action.action)));
            let out = self.block(&action.copy_out, rounds);
            work = work.or(copies.then(body).then(out));
        }
        self.block(&table.prologue, rounds).then(keys).then(work)
    }

    fn parser(&mut self, parser: &Parser, rounds: &mut Vec<u32>) -> Work {
        let program = self.program;
        let init = self.block(&parser.init, rounds);
        let mut works: HashMap<StateId, Work> = HashMap::new();
        for id in &parser.states {
            let state = &program.states[*id];
            let select = Work::steps(self.select(state));
            works.insert(*id, self.block(&state.body, rounds).then(select));
        }
        let order = program.state_order(parser.start);
        let cyclic = !order.heads.is_empty();
        for (id, work) in &works {
            let counted = if cyclic { as_rounds(work.steps) } else { 0 };
            self.states.insert(*id, counted);
        }
        if cyclic {
            let all = works.values().copied();
            return all.fold(init, Work::then);
        }
        // From the ends to the start: a state's work with the dearest way on.
        let mut ways: HashMap<StateId, Work> = HashMap::new();
        for id in order.states.iter().rev() {
            let mut on = Work::default();
            for target in program.states[*id].transition.targets() {
                if let Target::State(next) = target {
                    on = on.or(ways.get(&next).copied().unwrap_or_default());
                }
            }
            let own = works.get(id).copied().unwrap_or_default();
            ways.insert(*id, own.then(on));
        }
        init.then(ways.get(&parser.start).copied().unwrap_or_default())
    }

    /// Steps of choosing the next state.
    fn select(&self, state: &State) -> u64 {
        let Transition::Select { keys, cases } = &state.transition else {
            return 1;
        };
        let keys = keys.iter().map(|k| self.expr(*k));
        let sets = cases.iter().map(|case| match &case.matches {
            SelectMatch::Sets(sets) => sets.len() as u64,
            SelectMatch::ValueSet(_) => 1,
        });
        keys.chain(sets).fold(1, u64::saturating_add)
    }
}

/// Rounds that so many steps count as.
fn as_rounds(steps: u64) -> u32 {
    u32::try_from(steps.div_ceil(STEPS_PER_ROUND).max(1)).unwrap_or(u32::MAX)
}

/// Writes into a program what the rounds of its loops and its states count as.
pub(super) fn settle(
    program: &mut Program,
    rounds: &HashMap<Node, Vec<u32>>,
    states: &HashMap<StateId, u32>,
) {
    let of = |node: Node| rounds.get(&node).map_or(&[][..], Vec::as_slice).iter();
    for (id, action) in program.actions.iter_mut() {
        loops(&mut action.body, &mut of(Node::Callee(Callee::Action(id))));
    }
    for (id, function) in program.functions.iter_mut() {
        let node = Node::Callee(Callee::Function(id));
        loops(&mut function.body, &mut of(node));
    }
    for (id, control) in program.controls.iter_mut() {
        let mut rounds = of(Node::Callee(Callee::Control(id)));
        loops(&mut control.init, &mut rounds);
        loops(&mut control.body, &mut rounds);
    }
    for (id, table) in program.tables.iter_mut() {
        loops(&mut table.prologue, &mut of(Node::Table(id)));
    }
    for (id, parser) in program.parsers.iter_mut() {
        let mut rounds = of(Node::Callee(Callee::Parser(id)));
        loops(&mut parser.init, &mut rounds);
        for id in &parser.states {
            let state = &mut program.states[*id];
            loops(&mut state.body, &mut rounds);
            state.rounds = states.get(id).copied().unwrap_or(0);
        }
    }
}

/// Writes the rounds of the loops in a block, each before those inside it.
fn loops<'r>(block: &mut Block, rounds: &mut impl Iterator<Item = &'r u32>) {
    for stmt in block {
        match &mut stmt.kind {
            StmtKind::If { then, other, .. } => {
                loops(then, rounds);
                loops(other, rounds);
            }
            StmtKind::Switch { cases, default, .. } => {
                for case in cases {
                    loops(&mut case.body, rounds);
                }
                loops(default, rounds);
            }
            StmtKind::Loop {
                head,
                body,
                step,
                rounds: own,
                ..
            } => {
                *own = rounds.next().copied().unwrap_or(1);
                loops(head, rounds);
                loops(body, rounds);
                loops(step, rounds);
            }
            _ => {}
        }
    }
}

//! What the generator decides before it writes any code: which callables get a function of their own,
//! whether packets are read and written in whole bytes, and what has to be counted.

use std::collections::{HashMap, HashSet};

use p4ir::{
    Block, Callee, LeafKind, ParserId, Place, Stmt, StmtKind, Target, Transition, TypeId,
    ValidProgram,
};

use super::frame::FrameLayout;
use crate::v1model::{ProgramInfo, leaf_width};

/// A callable that is called more than once is copied to its callers up to this many statements.
const INLINE: usize = 40;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Plan {
    /// Whether the parser always stands between two bytes.
    pub(super) whole_bytes: bool,
    /// Whether parser states must be counted, because some path could run too many of them.
    pub(super) count_states: bool,
    /// The most bytes the deparser writes before the payload. `None` if that is unknown, or if it
    /// writes odd bits: then it writes through a buffer that can do everything.
    pub(super) out_room: Option<usize>,
    outlined: HashSet<Callee>,
}

impl Plan {
    pub(super) fn new(program: &ValidProgram, info: &ProgramInfo, layout: &FrameLayout) -> Self {
        let mut survey = Survey {
            program,
            sites: HashMap::new(),
            weights: HashMap::new(),
            outlined: HashSet::new(),
            loops: false,
            odd: false,
        };
        survey.look_at_all(layout);
        let blocks = &info.blocks;
        survey.weight(Callee::Parser(blocks.parser));
        if let Some((deparser, parser)) = blocks.between {
            survey.weight(Callee::Control(deparser));
            survey.weight(Callee::Parser(parser));
        }
        for controls in [&blocks.ingress, &blocks.egress, &blocks.deparser] {
            for id in controls {
                survey.weight(Callee::Control(*id));
            }
        }
        // Room for either deparser of Tofino.
        let deparsers = blocks.between.map(|(deparser, _)| deparser);
        let deparsers = deparsers.into_iter().chain(blocks.deparser.last().copied());
        let room = deparsers
            .flat_map(|id| [&program.controls[id].init, &program.controls[id].body])
            .map(|block| room(program, layout, block))
            .sum();
        let cyclic = || program.parsers.keys().any(|id| is_cyclic(program, id));
        Self {
            whole_bytes: !survey.odd,
            count_states: survey.loops || cyclic(),
            out_room: room,
            outlined: survey.outlined,
        }
    }

    /// Whether a callable is a function of its own.
    pub(super) fn is_outlined(&self, callee: Callee) -> bool {
        self.outlined.contains(&callee)
    }
}

/// The statements of a callable.
pub(super) fn bodies(program: &ValidProgram, callee: Callee) -> Vec<&Block> {
    match callee {
        Callee::Action(id) => vec![&program.actions[id].body],
        Callee::Function(id) => vec![&program.functions[id].body],
        Callee::Control(id) => {
            let control = &program.controls[id];
            vec![&control.init, &control.body]
        }
        Callee::Parser(id) => {
            let parser = &program.parsers[id];
            let states = parser.states.iter().map(|s| &program.states[*s].body);
            std::iter::once(&parser.init).chain(states).collect()
        }
    }
}

/// The blocks directly inside a statement.
fn inner(stmt: &Stmt) -> Vec<&Block> {
    match &stmt.kind {
        StmtKind::If { then, other, .. } => vec![then, other],
        StmtKind::Switch { cases, default, .. } => {
            let cases = cases.iter().map(|c| &c.body);
            cases.chain(std::iter::once(default)).collect()
        }
        StmtKind::Loop {
            head, body, step, ..
        } => vec![head, body, step],
        _ => Vec::new(),
    }
}

/// Bits of a type in a packet, and whether it has a varbit and how long that may get.
pub(super) fn packet_bits(
    program: &ValidProgram,
    layout: &FrameLayout,
    ty: TypeId,
) -> (usize, Option<usize>) {
    let (mut bits, mut varbit) = (0, None);
    for (_, kind) in layout.shape(program, ty) {
        match kind {
            LeafKind::Valid => {}
            LeafKind::Varbit { max } => varbit = Some(varbit.unwrap_or(0) + max as usize),
            other => bits += leaf_width(other) as usize,
        }
    }
    (bits, varbit)
}

/// The most bytes that emits of a block write.
fn room(program: &ValidProgram, layout: &FrameLayout, block: &Block) -> Option<usize> {
    let mut sum = 0;
    for stmt in block {
        sum += match &stmt.kind {
            StmtKind::Emit { header } => {
                let (bits, varbit) = packet_bits(program, layout, program.place_type(header)?);
                let whole = bits.is_multiple_of(8);
                whole.then(|| bits / 8 + varbit.unwrap_or(0).div_ceil(8))?
            }
            StmtKind::Call { callee, .. } => bodies(program, *callee)
                .into_iter()
                .map(|b| room(program, layout, b))
                .sum::<Option<usize>>()?,
            _ => {
                let inner: Option<usize> = inner(stmt)
                    .into_iter()
                    .map(|b| room(program, layout, b))
                    .sum();
                let inner = inner?;
                if inner > 0 && matches!(stmt.kind, StmtKind::Loop { .. }) {
                    return None;
                }
                inner
            }
        };
    }
    Some(sum)
}

struct Survey<'p> {
    program: &'p ValidProgram,
    /// Places that call each callable.
    sites: HashMap<Callee, usize>,
    weights: HashMap<Callee, usize>,
    outlined: HashSet<Callee>,
    loops: bool,
    odd: bool,
}

impl<'p> Survey<'p> {
    fn look_at_all(&mut self, layout: &FrameLayout) {
        let program = self.program;
        let blocks = program
            .actions
            .values()
            .map(|a| &a.body)
            .chain(program.functions.values().map(|f| &f.body))
            .chain(program.tables.values().map(|t| &t.prologue))
            .chain(program.controls.values().flat_map(|c| [&c.init, &c.body]))
            .chain(program.parsers.values().map(|p| &p.init))
            .chain(program.states.values().map(|s| &s.body));
        for block in blocks {
            self.look_at(layout, block);
        }
    }

    fn look_at(&mut self, layout: &FrameLayout, block: &'p Block) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Call { callee, .. } => *self.sites.entry(*callee).or_default() += 1,
                StmtKind::ApplyTable { table, .. } => {
                    for action in &self.program.tables[*table].actions {
                        let callee = Callee::Action(action.action);
                        *self.sites.entry(callee).or_default() += 1;
                    }
                }
                StmtKind::Loop { .. } => self.loops = true,
                StmtKind::Extract { header, .. } | StmtKind::ExtractVarbit { header, .. } => {
                    self.odd |= !self.is_whole(layout, header);
                }
                _ => {}
            }
            for block in inner(stmt) {
                self.look_at(layout, block);
            }
        }
    }

    fn is_whole(&self, layout: &FrameLayout, header: &Place) -> bool {
        let ty = self.program.place_type(header);
        ty.is_some_and(|ty| packet_bits(self.program, layout, ty).0.is_multiple_of(8))
    }

    /// Statements a call of this callable stands for.
    fn weight(&mut self, callee: Callee) -> usize {
        if let Some(weight) = self.weights.get(&callee) {
            return *weight;
        }
        let blocks = bodies(self.program, callee);
        let mut weight: usize = blocks.into_iter().map(|b| self.block_weight(b)).sum();
        if weight > INLINE && self.sites.get(&callee).is_some_and(|sites| *sites > 1) {
            self.outlined.insert(callee);
            weight = 1;
        }
        self.weights.insert(callee, weight);
        weight
    }

    fn block_weight(&mut self, block: &'p Block) -> usize {
        let mut sum = 0;
        for stmt in block {
            sum += 1;
            match &stmt.kind {
                StmtKind::Call { callee, .. } => sum += self.weight(*callee),
                StmtKind::ApplyTable { table, .. } => {
                    let table = &self.program.tables[*table];
                    sum += self.block_weight(&table.prologue);
                    for action in &table.actions {
                        sum += self.weight(Callee::Action(action.action));
                    }
                }
                _ => {}
            }
            for block in inner(stmt) {
                sum += self.block_weight(block);
            }
        }
        sum
    }
}

/// Where a state leads.
pub(super) fn successors(transition: &Transition) -> Vec<Target> {
    match transition {
        Transition::Goto(target) => vec![*target],
        Transition::Select { cases, .. } => cases.iter().map(|c| c.target).collect(),
    }
}

/// Whether some states of a parser form a cycle.
fn is_cyclic(program: &ValidProgram, parser: ParserId) -> bool {
    let (_, heads) = state_order(program, parser);
    !heads.is_empty()
}

/// The reachable states of a parser, each before those it leads to as far as that is possible, and
/// the states that cycles lead back to.
pub(super) fn state_order(
    program: &ValidProgram,
    parser: ParserId,
) -> (Vec<p4ir::StateId>, HashSet<p4ir::StateId>) {
    let start = program.parsers[parser].start;
    let mut order = Vec::new();
    let mut heads = HashSet::new();
    let mut open = HashSet::from([start]);
    let mut seen = HashSet::from([start]);
    let targets = |state| successors(&program.states[state].transition);
    let mut stack = vec![(start, targets(start))];
    while let Some((state, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(Target::State(next)) => {
                if open.contains(&next) {
                    heads.insert(next);
                }
                if seen.insert(next) {
                    open.insert(next);
                    stack.push((next, targets(next)));
                }
            }
            Some(_) => {}
            None => {
                open.remove(state);
                order.push(*state);
                stack.pop();
            }
        }
    }
    order.reverse();
    (order, heads)
}

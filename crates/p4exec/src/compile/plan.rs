//! What the generator decides before it writes any code: which callables get a function of their
//! own, and whether packets are read and written in whole bytes.

use std::collections::{HashMap, HashSet};

use p4ir::{
    Block, Callee, Entity as _, ExprId, ExprKind, ExternArg, LeafKind, Place, Stmt, StmtKind,
    SwitchCase, TypeId, ValidProgram,
};

use super::frame::FrameLayout;
use crate::info::ProgramInfo;
use crate::v1model::leaf_width;

/// A callable that is called more than once is copied to its callers up to this many statements.
const INLINE: usize = 40;

/// A block of more statements is cut into pieces: the time that the code generator takes for one
/// function grows faster than the function.
const LARGE: usize = 1000;

/// Aggregates of more words are copied and cleared by a helper.
pub(super) const MANY_WORDS: u32 = 48;

/// Statements of a piece, unless one alone has more.
const PIECE: usize = 200;

/// Cases of a switch that is cut into pieces.
const MANY_CASES: usize = 64;

/// Code that gets a function of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outlined<'p> {
    Callable(Callee),
    /// Statements in a row out of a large block.
    Piece(&'p [Stmt]),
    /// Some cases of a switch on a value.
    Cases(ExprId, &'p [SwitchCase]),
}

/// Statements with whether they are worth a function. One that has others inside is not: those are
/// cut in turn.
fn piece(stmts: &[Stmt], cost: usize) -> (&[Stmt], bool) {
    let worth = match stmts {
        [only] => {
            let outer = matches!(
                only.kind,
                StmtKind::If { .. }
                    | StmtKind::Switch { .. }
                    | StmtKind::Loop { .. }
                    | StmtKind::Call { .. }
                    | StmtKind::ApplyTable { .. }
            );
            !outer && cost > PIECE / 4
        }
        _ => true,
    };
    (stmts, worth)
}

/// What tells parts of one program apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PartKey {
    Callable(Callee),
    /// Where its statements or cases are.
    At(usize),
}

impl Outlined<'_> {
    pub(super) fn key(self) -> PartKey {
        match self {
            Self::Callable(callee) => PartKey::Callable(callee),
            Self::Piece(stmts) => PartKey::At(stmts.as_ptr().addr()),
            Self::Cases(_, cases) => PartKey::At(cases.as_ptr().addr()),
        }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Plan {
    /// Whether the parser always stands between two bytes.
    pub(super) whole_bytes: bool,
    /// The most bytes the deparser writes before the payload. `None` if that is unknown, or if it
    /// writes odd bits: then it writes through a buffer that can do everything.
    pub(super) out_room: Option<usize>,
    outlined: HashSet<Callee>,
    costs: Costs,
}

impl Plan {
    pub(super) fn new(program: &ValidProgram, info: &ProgramInfo, layout: &FrameLayout) -> Self {
        let mut survey = Survey {
            program,
            sites: HashMap::new(),
            weights: HashMap::new(),
            order: Vec::new(),
            outlined: HashSet::new(),
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
        let costs = Costs::new(program, layout, &mut survey);
        // Room for either deparser of Tofino.
        let deparsers = blocks.between.map(|(deparser, _)| deparser);
        let deparsers = deparsers.into_iter().chain(blocks.deparser.last().copied());
        let room = deparsers
            .flat_map(|id| [&program.controls[id].init, &program.controls[id].body])
            .map(|block| room(program, layout, block))
            .sum();
        Self {
            whole_bytes: !survey.odd,
            out_room: room,
            costs,
            outlined: survey.outlined,
        }
    }

    /// A large block cut into pieces, with whether each is worth a function; `None` for a block
    /// that is not large.
    pub(super) fn pieces<'p>(
        &self,
        program: &'p ValidProgram,
        block: &'p [Stmt],
    ) -> Option<Vec<(&'p [Stmt], bool)>> {
        let cost = |stmt| self.costs.stmt(program, &self.outlined, stmt);
        let costs: Vec<usize> = block.iter().map(cost).collect();
        if costs.iter().sum::<usize>() <= LARGE {
            return None;
        }
        let mut pieces = Vec::new();
        let (mut from, mut sum) = (0, 0);
        for (at, cost) in costs.iter().enumerate() {
            if at > from && sum + cost > PIECE {
                pieces.push(piece(&block[from..at], sum));
                (from, sum) = (at, 0);
            }
            sum += cost;
        }
        pieces.push(piece(&block[from..], sum));
        Some(pieces)
    }

    /// Whether the cases of a switch are cut into pieces, and into which.
    pub(super) fn case_pieces<'p>(
        &self,
        program: &'p ValidProgram,
        cases: &'p [SwitchCase],
    ) -> Option<impl Iterator<Item = &'p [SwitchCase]> + use<'p>> {
        let cost = |c: &SwitchCase| self.costs.block(program, &self.outlined, &c.body);
        let bodies: usize = cases.iter().map(cost).sum();
        let large = cases.len() > MANY_CASES && bodies + cases.len() > LARGE;
        large.then(|| cases.chunks(MANY_CASES))
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

/// Bits of a type in a packet, and whether it has a varbit and how long that may get.
pub(super) fn packet_bits(
    program: &ValidProgram,
    layout: &FrameLayout,
    ty: TypeId,
) -> (usize, Option<usize>) {
    let (mut bits, mut varbit) = (0, None);
    for (_, kind) in layout.shape(program, ty) {
        match kind {
            kind if !kind.is_data() => {}
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
                let inner: Option<usize> = stmt
                    .kind
                    .blocks()
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
    /// Callables in the order in which they were weighed: callees first.
    order: Vec<Callee>,
    outlined: HashSet<Callee>,
    odd: bool,
}

impl<'p> Survey<'p> {
    fn look_at_all(&mut self, layout: &FrameLayout) {
        let program = self.program;
        for block in program.blocks() {
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
                StmtKind::Extract { header, .. } | StmtKind::ExtractVarbit { header, .. } => {
                    self.odd |= !self.is_whole(layout, header);
                }
                _ => {}
            }
            for block in stmt.kind.blocks() {
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
        self.order.push(callee);
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
                        let callee = Callee::Action(action.action);
                        let weight = self.weight(callee);
                        // All of them together would be too large.
                        let many = table.actions.len() > MANY_CASES && weight > 1;
                        if many {
                            self.outlined.insert(callee);
                        }
                        sum += if many { 1 } else { weight };
                    }
                }
                _ => {}
            }
            for block in stmt.kind.blocks() {
                sum += self.block_weight(block);
            }
        }
        sum
    }
}

/// What code costs to make: as many statements as it stands for, where every eight words that one
/// works on count as one more.
#[derive(Debug)]
struct Costs {
    /// Words that each expression works on, with its operands.
    exprs: Vec<usize>,
    callables: HashMap<Callee, usize>,
}

impl Costs {
    /// The costs of all callables that were weighed. Dear ones that are called more than once
    /// become functions.
    fn new(program: &ValidProgram, layout: &FrameLayout, survey: &mut Survey<'_>) -> Self {
        let mut costs = Self {
            exprs: Vec::with_capacity(program.exprs.len()),
            callables: HashMap::new(),
        };
        for expr in program.exprs.values() {
            let own = match (layout.words_of(expr.ty), &expr.kind) {
                // Copied by a helper.
                (words, ExprKind::Read(_)) if words > MANY_WORDS => 1,
                (words, _) => words as usize,
            };
            let operands = expr.kind.operands().into_iter();
            let words = operands.map(|e| costs.exprs[e.index()]);
            costs.exprs.push(words.fold(own, usize::saturating_add));
        }
        // Callees were weighed before their callers.
        for callee in std::mem::take(&mut survey.order) {
            let blocks = bodies(program, callee).into_iter();
            let cost = blocks
                .map(|b| costs.block(program, &survey.outlined, b))
                .sum();
            let calls = survey.sites.get(&callee).copied().unwrap_or(0);
            if cost > PIECE && calls > 1 {
                survey.outlined.insert(callee);
            }
            costs.callables.insert(callee, cost);
        }
        costs
    }

    fn block(&self, program: &ValidProgram, outlined: &HashSet<Callee>, block: &[Stmt]) -> usize {
        let stmts = block.iter().map(|s| self.stmt(program, outlined, s));
        stmts.fold(0, usize::saturating_add)
    }

    fn stmt(&self, program: &ValidProgram, outlined: &HashSet<Callee>, stmt: &Stmt) -> usize {
        let called = |callee| match outlined.contains(&callee) {
            true => 1,
            false => self.callables.get(&callee).copied().unwrap_or(1),
        };
        let own = match &stmt.kind {
            StmtKind::Assign(assign) => self.words(assign.value),
            StmtKind::AssignSlice { value, .. } | StmtKind::Switch { value, .. } => {
                self.words(*value)
            }
            StmtKind::If { cond, .. } | StmtKind::Loop { cond, .. } => self.words(*cond),
            StmtKind::Extern(call) => call.args.iter().map(|arg| self.argument(arg)).sum(),
            StmtKind::Call {
                callee,
                copy_in,
                copy_out,
            } => {
                let copies: usize = copy_in.iter().map(|a| self.words(a.value)).sum();
                copies + called(*callee) + self.block(program, outlined, copy_out)
            }
            StmtKind::ApplyTable { table, .. } => {
                let table = &program.tables[*table];
                let keys: usize = table.keys.iter().map(|k| self.words(k.expr)).sum();
                let actions = table.actions.iter();
                let actions: usize = actions.map(|a| called(Callee::Action(a.action))).sum();
                keys + actions + self.block(program, outlined, &table.prologue)
            }
            _ => 0,
        };
        let inner = stmt.kind.blocks().into_iter();
        let inner = inner.map(|b| self.block(program, outlined, b));
        inner.fold(own.saturating_add(1), usize::saturating_add)
    }

    /// What working on a value counts as.
    fn words(&self, value: ExprId) -> usize {
        self.exprs[value.index()] / 8
    }

    fn argument(&self, arg: &ExternArg) -> usize {
        match arg {
            ExternArg::In(value) => self.words(*value),
            ExternArg::Fields { values, .. } => {
                let words = values.iter().map(|v| self.exprs[v.index()]);
                words.fold(0, usize::saturating_add) / 8
            }
            _ => 0,
        }
    }
}

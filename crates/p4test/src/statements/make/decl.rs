//! Random functions, actions, tables, parsers and controls.

use super::super::ast::{
    Arg, Block, Callable, Callee, Choice, Code, Control, Direction, ELEMENTS, Entry, Expr, Given,
    Kind, Listed, Lvalue, Op, Parser, Record, Source, Step, Stmt, Table, Ty, Var, VarRef,
};
use super::super::value::ones;
use super::super::walk::{self, Visitor};
use super::Maker;
use super::scope::{Place, Scope};

const ELEMENT: Ty = Ty::Record(Record::Element);
const HEADERS: Ty = Ty::Record(Record::Headers);
const META: Ty = Ty::Record(Record::Meta);

impl Maker<'_, '_> {
    pub(super) fn all(&mut self) {
        for _ in 0..self.between(2, 4) {
            self.function();
        }
        for _ in 0..self.between(0, 2) {
            self.parser(false);
        }
        self.parser(true);
        for _ in 0..self.between(1, 3) {
            self.control(false);
        }
        self.control(true);
    }

    /// Code without a body, with random parameters of some types.
    fn callable(&mut self, name: &str, types: &[(usize, Ty)], most: usize, data: bool) -> Callable {
        let mut callable = Callable {
            name: name.to_owned(),
            vars: Vec::new(),
            directions: Vec::new(),
            defaults: Vec::new(),
            init: Vec::new(),
            body: Vec::new(),
            result: None,
        };
        for _ in 0..self.between(1, most) {
            let ty = self.weighted(types).unwrap_or(Ty::Bits(8));
            let directions = [
                (50, Direction::InOut),
                (22, Direction::In),
                (28, Direction::Out),
            ];
            let direction = self.weighted(&directions).unwrap_or(Direction::InOut);
            // Whole packets are not made anew.
            let direction = match (ty, direction) {
                (HEADERS | META | Ty::Record(Record::Fields), Direction::Out) => Direction::InOut,
                (_, other) => other,
            };
            callable.push_param(ty, direction);
            if let (Ty::Bits(width), Direction::In) = (ty, direction)
                && self.chance(40)
                && let Expr::Const(_, value) = self.constant(width)
                && let Some(default) = callable.defaults.last_mut()
            {
                *default = Some(value);
            }
        }
        if data && self.chance(35) {
            callable.push_param(Ty::Bits(8), Direction::None);
        }
        callable
    }

    /// What functions and actions pass to each other.
    fn types(&mut self) -> Vec<(usize, Ty)> {
        let width = self.width();
        vec![
            (40, Ty::Bits(8)),
            (16, Ty::Bits(width)),
            (6, Ty::Bits(2)),
            (18, ELEMENT),
            (10, Ty::Record(Record::Pair)),
            (8, Ty::Stack),
        ]
    }

    /// Puts locals into the code under way.
    pub(super) fn locals(&mut self, count: usize) {
        let calls = std::mem::take(&mut self.scope.calls);
        for _ in 0..count {
            let kinds = [
                (60, Ty::Bits(8)),
                (10, Ty::Bits(2)),
                (15, ELEMENT),
                (15, Ty::Record(Record::Pair)),
            ];
            let ty = self.weighted(&kinds).unwrap_or(Ty::Bits(8));
            let Some(first) = self.source(ty, 1) else {
                continue;
            };
            let callable = self.under_way();
            let name = format!("{}v{}", callable.name, callable.init.len());
            callable.vars.push(Var { name, ty });
            callable.init.push(first);
            let var = VarRef::Own(callable.vars.len() - 1);
            self.scope.know(var, ty);
        }
        self.scope.calls = calls;
    }

    fn under_way(&mut self) -> &mut Callable {
        match self.code {
            Code::Function(f) => &mut self.program.functions[f],
            Code::Parser(p) => &mut self.program.parsers[p].code,
            Code::Control(c) => &mut self.program.controls[c].code,
            Code::Action(c, a) => &mut self.program.controls[c].actions[a],
        }
    }

    fn begin(&mut self, code: Code, place: Place) {
        self.code = code;
        self.scope = Scope::new(place);
        let functions = 0..self.program.functions.len();
        let able = |f: &usize| place != Place::Parser || self.is_straight(*f);
        self.scope.functions = functions.filter(able).collect();
        self.scope.learn(&self.program, code, false);
        self.recent.clear();
    }

    fn function(&mut self) {
        let index = self.program.functions.len();
        let types = self.types();
        let callable = self.callable(&format!("f{index}"), &types, 3, false);
        self.program.functions.push(callable);
        self.begin(Code::Function(index), Place::Function);
        self.scope.functions = (0..index).collect();
        self.scope.result = self.chance(85).then(|| self.width());
        let locals = self.choices.below(2);
        let mut body = self.prologue(locals);
        let size = self.between(1, 4);
        body.extend(self.block(size, 1, false));
        let result = self
            .scope
            .result
            .map(|width| (width, self.number(width, 1)));
        let callable = self.under_way();
        callable.body = body;
        callable.result = result;
    }

    /// Whether a function runs straight through, with all it calls: parsers of BMv2 cannot branch.
    fn is_straight(&self, function: usize) -> bool {
        let mut straight = Straight {
            holds: true,
            calls: Vec::new(),
        };
        walk::callable(&mut self.program.functions[function].clone(), &mut straight);
        straight.holds && straight.calls.iter().all(|f| self.is_straight(*f))
    }

    fn parser(&mut self, is_top: bool) {
        let index = self.program.parsers.len();
        let code = match is_top {
            true => whole("P", Direction::Out),
            false => {
                let types = [
                    (50, Ty::Bits(8)),
                    (40, ELEMENT),
                    (5, Ty::Stack),
                    (5, HEADERS),
                ];
                self.callable(&format!("S{index}"), &types, 3, false)
            }
        };
        let instances = self.instances(index);
        self.program.parsers.push(Parser { code, instances });
        self.begin(Code::Parser(index), Place::Parser);
        let mut body = match is_top {
            true => extractions(),
            false => self.prologue(0),
        };
        if !is_top {
            self.extract_params(&mut body);
        }
        let size = match is_top {
            true => self.between(0, 5),
            false => self.between(1, 3),
        };
        body.extend(self.block(size, 1, false));
        self.under_way().body = body;
    }

    /// Instances of some of the first `count` parsers or controls.
    fn instances(&mut self, count: usize) -> Vec<usize> {
        let mut instances = Vec::new();
        if count > 0 {
            for _ in 0..self.between(1, 2) {
                instances.push(self.choices.below(count));
            }
        }
        instances
    }

    /// Takes headers that are parameters from the packet.
    fn extract_params(&mut self, body: &mut Vec<Stmt>) {
        let params: Vec<_> = self
            .program
            .code(self.code)
            .params()
            .map(|(var, d)| (var.ty, d))
            .collect();
        for (index, (ty, direction)) in params.into_iter().enumerate() {
            if ty == ELEMENT && direction != Direction::In && self.chance(60) {
                body.push(Stmt::Extract(own(index, Vec::new())));
            }
        }
    }

    fn control(&mut self, is_top: bool) {
        let index = self.program.controls.len();
        let code = match is_top {
            true => whole("Ing", Direction::InOut),
            false => {
                let mut types = self.types();
                types.extend([(6, HEADERS), (4, META), (4, Ty::Record(Record::Fields))]);
                self.callable(&format!("C{index}"), &types, 3, false)
            }
        };
        let instances = self.instances(index);
        self.program.controls.push(Control {
            code,
            actions: Vec::new(),
            tables: Vec::new(),
            instances,
        });
        self.begin(Code::Control(index), Place::Control);
        let locals = self.between(0, 2 + usize::from(is_top));
        let first = self.prologue(locals);
        let actions = self.between(usize::from(is_top), 2 + usize::from(is_top));
        for _ in 0..actions {
            self.action(index);
        }
        if actions > 0 {
            for _ in 0..self.between(0, 1 + usize::from(is_top)) {
                self.table(index);
            }
        }
        self.begin(Code::Control(index), Place::Control);
        self.scope.actions = actions;
        self.scope.tables = (0..self.program.controls[index].tables.len()).collect();
        self.scope.calls = if is_top { 12 } else { 4 };
        let size = if is_top {
            self.between(5, 14)
        } else {
            self.between(1, 5)
        };
        let mut body = first;
        body.extend(self.block(size, 2, false));
        self.under_way().body = body;
    }

    fn action(&mut self, control: usize) {
        let index = self.program.controls[control].actions.len();
        let types = self.types();
        let callable = self.callable(&format!("a{control}{index}"), &types, 2, true);
        self.program.controls[control].actions.push(callable);
        self.begin(Code::Action(control, index), Place::Action);
        self.scope.actions = index;
        self.scope.calls = 2;
        let first = self.prologue(0);
        self.scope
            .learn(&self.program, Code::Control(control), true);
        let size = self.between(1, 3);
        let mut body = first;
        body.extend(self.block(size, 1, false));
        if self.chance(8) {
            body.push(if self.chance(50) {
                Stmt::Exit
            } else {
                Stmt::Return(None)
            });
        }
        self.under_way().body = body;
    }

    fn table(&mut self, control: usize) {
        self.begin(Code::Control(control), Place::Control);
        self.scope.calls = usize::from(self.chance(20));
        let mut keys = Vec::new();
        for _ in 0..self.between(1, 2) {
            let width = self.width();
            let mut key = self.number(width, 1);
            // BMv2 masks the entries of a key that is masked by a constant.
            if let Expr::Binary(op @ Op::And, ..) = &mut key {
                *op = Op::Xor;
            }
            if matches!(key, Expr::Const(..)) {
                key = self.lvalue(Ty::Bits(width), false).map_or(key, Expr::Read);
            }
            let kind = if self.chance(60) {
                Kind::Exact
            } else {
                Kind::Ternary
            };
            keys.push((width, key, kind));
        }
        self.scope.calls = 0;
        let count = self.program.controls[control].actions.len();
        let mut actions = Vec::new();
        for action in 0..count {
            if (actions.is_empty() || self.chance(70))
                && let Some(bound) = self.bound(Code::Action(control, action))
            {
                actions.push(Listed { action, bound });
            }
        }
        if actions.is_empty() {
            return;
        }
        let mut table = Table {
            name: format!("t{control}{}", self.program.controls[control].tables.len()),
            keys,
            default: self.choice(control, &actions),
            actions,
            entries: Vec::new(),
        };
        for _ in 0..self.choices.below(5) {
            self.entry(control, &mut table);
        }
        self.program.controls[control].tables.push(table);
    }

    /// Arguments for the parameters with a direction.
    fn bound(&mut self, action: Code) -> Option<Vec<Given>> {
        let mut bound = self.all_args(action)?;
        let directions = &self.program.code(action).directions;
        bound.retain(|given| directions[given.param] != Direction::None);
        Some(bound)
    }

    fn choice(&mut self, control: usize, actions: &[Listed]) -> Choice {
        let listed = self.choices.below(actions.len());
        let action = Code::Action(control, actions[listed].action);
        let callable = self.program.code(action);
        let named = actions[listed].bound.iter().any(|given| given.named);
        let params = callable.params().enumerate();
        let widths: Vec<(usize, u32)> = params
            .filter_map(|(param, (var, direction))| match var.ty {
                Ty::Bits(width) if direction == Direction::None => Some((param, width)),
                _ => None,
            })
            .collect();
        let given = |(param, width)| {
            let arg = Arg::Value(Source::Number(self.constant(width)));
            Given { param, named, arg }
        };
        let data = widths.into_iter().map(given).collect();
        Choice { listed, data }
    }

    fn entry(&mut self, control: usize, table: &mut Table) {
        let mut keys = Vec::new();
        for (width, _, kind) in &table.keys {
            let Expr::Const(_, value) = self.constant(*width) else {
                continue;
            };
            let masks = [ones(*width), 1, 3, 0];
            let mask = match kind {
                Kind::Exact => ones(*width),
                Kind::Ternary => self.choices.pick(&masks).copied().unwrap_or(0) & ones(*width),
            };
            keys.push((value & mask, mask));
        }
        if table.entries.iter().all(|e| e.keys != keys) {
            let choice = self.choice(control, &table.actions);
            table.entries.push(Entry { keys, choice });
        }
    }
}

/// Looks for branches.
struct Straight {
    holds: bool,
    calls: Vec<usize>,
}

impl Visitor for Straight {
    fn block(&mut self, block: &mut Block) {
        let branches = |s: &Stmt| matches!(s, Stmt::If(..) | Stmt::Return(_));
        self.holds &= !block.iter().any(branches);
    }

    fn number(&mut self, e: &mut Expr) {
        self.holds &= !matches!(e, Expr::Mux(..));
    }

    fn callee(&mut self, callee: Callee) {
        if let Callee::Function(f) = callee {
            self.calls.push(f);
        }
    }
}

impl Callable {
    fn push_param(&mut self, ty: Ty, direction: Direction) {
        let name = format!("{}p{}", self.name, self.vars.len());
        self.vars.push(Var { name, ty });
        self.directions.push(direction);
        self.defaults.push(None);
    }
}

/// A block that has headers and metadata.
fn whole(name: &str, headers: Direction) -> Callable {
    let var = |name: &str, ty| Var {
        name: name.to_owned(),
        ty,
    };
    Callable {
        name: name.to_owned(),
        vars: vec![var("hdr", HEADERS), var("meta", META)],
        directions: vec![headers, Direction::InOut],
        defaults: vec![None, None],
        init: Vec::new(),
        body: Vec::new(),
        result: None,
    }
}

fn own(var: usize, steps: Vec<Step>) -> Lvalue {
    Lvalue {
        var: VarRef::Own(var),
        steps,
        slice: None,
    }
}

/// Takes all headers but the last from the packet.
fn extractions() -> Vec<Stmt> {
    let field = |index| own(0, vec![Step::Field(index)]);
    let next = own(0, vec![Step::Field(1), Step::Next]);
    let mut all = vec![Stmt::Extract(field(0))];
    all.extend((0..ELEMENTS).map(|_| Stmt::Extract(next.clone())));
    all.extend([2, 3].map(|index| Stmt::Extract(field(index))));
    all
}

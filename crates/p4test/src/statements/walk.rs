//! Going through all of a program, and which parts of it are ever run.

use super::ast::{
    Arg, Block, Callable, Callee, Code, Cond, Expr, Given, Lvalue, Program, Source, Step, Stmt,
    Table,
};

/// What is done on the way; each part is met before those inside it.
pub(super) trait Visitor {
    fn block(&mut self, _: &mut Block) {}
    fn number(&mut self, _: &mut Expr) {}
    fn callee(&mut self, _: Callee) {}
    fn table(&mut self, _: usize) {}
}

/// Goes through all code and all tables.
pub(super) fn program(program: &mut Program, v: &mut impl Visitor) {
    for function in &mut program.functions {
        callable(function, v);
    }
    for parser in &mut program.parsers {
        callable(&mut parser.code, v);
    }
    for control in &mut program.controls {
        for action in &mut control.actions {
            callable(action, v);
        }
        for t in &mut control.tables {
            table(t, v);
        }
        callable(&mut control.code, v);
    }
}

/// Goes through code.
pub(super) fn callable(code: &mut Callable, v: &mut impl Visitor) {
    for first in &mut code.init {
        source(first, v);
    }
    block(&mut code.body, v);
    if let Some((_, value)) = &mut code.result {
        number(value, v);
    }
}

fn table(table: &mut Table, v: &mut impl Visitor) {
    for (_, key, _) in &mut table.keys {
        number(key, v);
    }
    for listed in &mut table.actions {
        v.callee(Callee::Action(listed.action));
        args(&mut listed.bound, v);
    }
}

fn block(stmts: &mut Block, v: &mut impl Visitor) {
    v.block(stmts);
    for stmt in stmts {
        self::stmt(stmt, v);
    }
}

fn stmt(stmt: &mut Stmt, v: &mut impl Visitor) {
    match stmt {
        Stmt::Assign(to, from) => {
            place(to, v);
            source(from, v);
        }
        Stmt::SetValid(p) | Stmt::SetInvalid(p) | Stmt::Push(p, _) | Stmt::Pop(p, _) => place(p, v),
        Stmt::Extract(p) => place(p, v),
        Stmt::If(c, then, other) => {
            cond(c, v);
            block(then, v);
            block(other, v);
        }
        Stmt::Switch(value, cases, default) => {
            number(value, v);
            cases.iter_mut().for_each(|(_, body)| block(body, v));
            block(default, v);
        }
        Stmt::SwitchAction(table, cases, default) => {
            v.table(*table);
            cases.iter_mut().for_each(|(_, body)| block(body, v));
            block(default, v);
        }
        Stmt::Apply(table) => v.table(*table),
        Stmt::Call(callee, all) => {
            v.callee(*callee);
            args(all, v);
        }
        Stmt::Return(Some(value)) => number(value, v),
        Stmt::Return(None) | Stmt::Exit => {}
    }
}

fn args(all: &mut [Given], v: &mut impl Visitor) {
    for given in all {
        match &mut given.arg {
            Arg::Value(value) => source(value, v),
            Arg::Place(p) => place(p, v),
        }
    }
}

fn source(from: &mut Source, v: &mut impl Visitor) {
    match from {
        Source::Number(e) => number(e, v),
        Source::Copy(p) => place(p, v),
        Source::List(all) => all.iter_mut().for_each(|e| number(e, v)),
    }
}

fn place(p: &mut Lvalue, v: &mut impl Visitor) {
    for step in &mut p.steps {
        if let Step::Moving(index) = step {
            number(index, v);
        }
    }
}

fn number(e: &mut Expr, v: &mut impl Visitor) {
    v.number(e);
    match e {
        Expr::Const(..) => {}
        Expr::Read(p) => place(p, v),
        Expr::Binary(_, a, b) => {
            number(a, v);
            number(b, v);
        }
        Expr::Not(a) | Expr::Cast(_, a) => number(a, v),
        Expr::Mux(c, a, b) => {
            cond(c, v);
            number(a, v);
            number(b, v);
        }
        Expr::Call(function, all) => {
            v.callee(Callee::Function(*function));
            args(all, v);
        }
    }
}

fn cond(c: &mut Cond, v: &mut impl Visitor) {
    match c {
        Cond::Compare(_, a, b) => {
            number(a, v);
            number(b, v);
        }
        Cond::IsValid(p) => place(p, v),
        Cond::Not(a) => cond(a, v),
        Cond::And(a, b) | Cond::Or(a, b) => {
            cond(a, v);
            cond(b, v);
        }
        Cond::Hit(table) => v.table(*table),
    }
}

/// Whether finding a place calls a function.
pub(super) fn calls(p: &Lvalue) -> bool {
    if !p.steps.iter().any(|step| matches!(step, Step::Moving(_))) {
        return false;
    }
    let mut found = Reads::default();
    place(&mut p.clone(), &mut found);
    !found.callees.is_empty()
}

/// Whether a value is computed by calling a function.
pub(super) fn has_calls(value: &Source) -> bool {
    let mut found = Reads::default();
    source(&mut value.clone(), &mut found);
    !found.callees.is_empty()
}

/// Whether a number is computed from some part of a place.
pub(super) fn reads(e: &Expr, place: &Lvalue) -> bool {
    let mut found = Reads::default();
    number(&mut e.clone(), &mut found);
    found.reads.iter().any(|read| may_overlap(read, place))
}

fn may_overlap(a: &Lvalue, b: &Lvalue) -> bool {
    let same = |(a, b): (&Step, &Step)| match (a, b) {
        (Step::Field(a), Step::Field(b)) | (Step::Index(a), Step::Index(b)) => a == b,
        _ => true,
    };
    a.var == b.var && a.steps.iter().zip(&b.steps).all(same)
}

/// What can be run: code, tables, and instances of controls and parsers.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) codes: Vec<Code>,
    /// Control and table.
    pub(super) tables: Vec<(usize, usize)>,
    /// Where it stands, and the instance.
    pub(super) instances: Vec<(Code, Callee)>,
}

/// Finds what parser and ingress lead to.
pub(super) fn reached(program: &Program) -> Reached {
    let mut reached = Reached::default();
    reached.codes.push(Code::Parser(program.parsers.len() - 1));
    reached
        .codes
        .push(Code::Control(program.controls.len() - 1));
    let mut next = 0;
    while let Some(code) = reached.codes.get(next).copied() {
        next += 1;
        let mut found = Reads::default();
        callable(&mut program.code(code).clone(), &mut found);
        for t in std::mem::take(&mut found.tables) {
            if let (Some(control), Code::Control(c)) = (program.around(code), code) {
                table(&mut control.tables[t].clone(), &mut found);
                reached.tables.push((c, t));
            }
        }
        for callee in found.callees {
            if matches!(callee, Callee::Control(_) | Callee::Parser(_)) {
                reached.instances.push((code, callee));
            }
            let called = program.called(code, callee);
            if !reached.codes.contains(&called) {
                reached.codes.push(called);
            }
        }
    }
    reached
}

#[derive(Default)]
struct Reads {
    callees: Vec<Callee>,
    tables: Vec<usize>,
    reads: Vec<Lvalue>,
}

impl Visitor for Reads {
    fn number(&mut self, e: &mut Expr) {
        if let Expr::Read(place) = e {
            self.reads.push(place.clone());
        }
    }

    fn callee(&mut self, callee: Callee) {
        self.callees.push(callee);
    }

    fn table(&mut self, table: usize) {
        self.tables.push(table);
    }
}

//! What the instantiation `main` reaches: what it does not reach has no place in P4Info.

use std::collections::BTreeSet;

use p4ir::{
    ActionId, ArgValue, Callee, ExternCallee, ExternFunction, Package, Program, StmtKind, TableId,
    ValueSetId,
};

/// What `main` reaches.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) tables: BTreeSet<TableId>,
    pub(super) value_sets: BTreeSet<ValueSetId>,
    /// Actions called from the body of a control.
    pub(super) called: BTreeSet<ActionId>,
    pub(super) digest: bool,
    /// An extern function is called.
    pub(super) extern_function: bool,
    seen: BTreeSet<Callee>,
}

impl Reached {
    pub(super) fn of(ir: &Program) -> Self {
        let mut reached = Self::default();
        reached.package(ir, &ir.main);
        reached
    }

    fn package(&mut self, ir: &Program, package: &Package) {
        for arg in &package.args {
            match &arg.value {
                ArgValue::Control(id) => self.callee(ir, Callee::Control(*id)),
                ArgValue::Parser(id) => self.callee(ir, Callee::Parser(*id)),
                ArgValue::Package(inner) => self.package(ir, inner),
                _ => {}
            }
        }
    }

    fn callee(&mut self, ir: &Program, callee: Callee) {
        if !self.seen.insert(callee) {
            return;
        }
        match callee {
            Callee::Action(id) => self.body(ir, &ir.actions[id].body),
            Callee::Function(id) => self.body(ir, &ir.functions[id].body),
            Callee::Control(id) => {
                for body in [&ir.controls[id].init, &ir.controls[id].body] {
                    self.body(ir, body);
                    direct_calls(body, &mut self.called);
                }
            }
            Callee::Parser(id) => {
                self.body(ir, &ir.parsers[id].init);
                for state in &ir.parsers[id].states {
                    self.body(ir, &ir.states[*state].body);
                }
                self.value_sets
                    .extend(ir.parsers[id].value_sets.iter().copied());
            }
        }
    }

    fn body(&mut self, ir: &Program, body: &[p4ir::Stmt]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Call { callee, .. } => self.callee(ir, *callee),
                StmtKind::ApplyTable { table, .. } => self.table(ir, *table),
                StmtKind::Extern(call) => {
                    if let ExternCallee::Function(function) = &call.callee {
                        self.digest |= *function == ExternFunction::Digest;
                        self.extern_function = true;
                    }
                }
                _ => {}
            }
            for block in stmt.kind.blocks() {
                self.body(ir, block);
            }
        }
    }

    fn table(&mut self, ir: &Program, id: TableId) {
        if !self.tables.insert(id) {
            return;
        }
        let table = &ir.tables[id];
        self.body(ir, &table.prologue);
        for action in &table.actions {
            self.callee(ir, Callee::Action(action.action));
        }
    }
}

/// Actions that statements call, not looking into callees.
fn direct_calls(body: &[p4ir::Stmt], out: &mut BTreeSet<ActionId>) {
    for stmt in body {
        if let StmtKind::Call {
            callee: Callee::Action(id),
            ..
        } = &stmt.kind
        {
            out.insert(*id);
        }
        for block in stmt.kind.blocks() {
            direct_calls(block, out);
        }
    }
}

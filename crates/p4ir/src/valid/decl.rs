//! Checks of tables, parsers, controls, the package, and of the absence of recursion.

use std::collections::{BTreeMap, HashSet};

use super::Checker;
use super::body::Context;
use super::work::{Node, Survey};
use crate::Span;
use crate::arch::{ArgValue, Package};
use crate::block::{KeySet, Param, Parser, SelectMatch, Table, Target, Transition};
use crate::entity::{StateId, TypeId};
use crate::expr::Const;
use crate::stmt::Callee;
use crate::types::Type;

impl Checker<'_> {
    /// Checks everything that has a body; the call graph, callees before callers.
    pub(super) fn declarations(&mut self) -> Vec<Node> {
        let program = self.program;
        let mut calls: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        for (id, action) in program.actions.iter() {
            self.params(&action.name, &action.params);
            let out = calls.entry(Node::Callee(Callee::Action(id))).or_default();
            self.body(&action.body, control(&action.name), out);
        }
        for (id, function) in program.functions.iter() {
            self.params(&function.name, &function.params);
            let out = calls.entry(Node::Callee(Callee::Function(id))).or_default();
            // A function may be called from parsers and controls; it contains statements of
            // neither.
            self.body(&function.body, control(&function.name), out);
        }
        for (id, block) in program.controls.iter() {
            self.params(&block.name, &block.params);
            let out = calls.entry(Node::Callee(Callee::Control(id))).or_default();
            self.body(&block.init, control(&block.name), out);
            self.body(&block.body, control(&block.name), out);
        }
        for (id, parser) in program.parsers.iter() {
            self.params(&parser.name, &parser.params);
            let out = calls.entry(Node::Callee(Callee::Parser(id))).or_default();
            self.parser(parser, out);
        }
        for (id, table) in program.tables.iter() {
            self.table(table);
            let out = calls.entry(Node::Table(id)).or_default();
            let actions = table.actions.iter();
            out.extend(actions.map(|a| Node::Callee(Callee::Action(a.action))));
            self.body(&table.prologue, control(&table.name), out);
        }
        let order = self.call_order(&calls);
        self.package(&program.main);
        order
    }

    /// Holds what a packet costs to its bounds; callees come before callers.
    pub(super) fn work(&mut self, order: &[Node], survey: &mut Survey<'_>) {
        for node in order {
            if let Err((span, exceeded)) = survey.look_at(*node) {
                self.exceed(self.name(*node), span, exceeded);
            }
        }
    }

    fn name(&self, node: Node) -> String {
        let program = self.program;
        match node {
            Node::Callee(Callee::Action(id)) => program.actions[id].name.clone(),
            Node::Callee(Callee::Function(id)) => program.functions[id].name.clone(),
            Node::Callee(Callee::Control(id)) => program.controls[id].name.clone(),
            Node::Callee(Callee::Parser(id)) => program.parsers[id].name.clone(),
            Node::Table(id) => program.tables[id].name.clone(),
        }
    }

    fn params(&mut self, owner: &str, params: &[Param]) {
        for param in params {
            if self.program.vars.get(param.var).is_none() {
                self.fail(
                    owner,
                    Span::default(),
                    format!("parameter {} has no storage", param.name),
                );
            }
        }
    }

    fn parser(&mut self, parser: &Parser, callees: &mut Vec<Node>) {
        let cx = Context {
            owner: &parser.name,
            parser: true,
            in_loop: false,
        };
        self.body(&parser.init, cx, callees);
        let own: HashSet<_> = parser.states.iter().copied().collect();
        if !parser.states.contains(&parser.start) {
            self.fail(
                &parser.name,
                parser.span,
                "start state is not among the states",
            );
        }
        for id in &parser.states {
            let Some(state) = self.program.states.get(*id) else {
                self.fail(&parser.name, parser.span, format!("unknown state {id}"));
                continue;
            };
            self.body(&state.body, cx, callees);
            if let Err(message) = self.transition(&own, &state.transition) {
                self.fail(
                    format!("{}.{}", parser.name, state.name),
                    state.span,
                    message,
                );
            }
        }
    }

    fn transition(&self, own: &HashSet<StateId>, transition: &Transition) -> Result<(), String> {
        let target = |t: &Target| match t {
            Target::State(id) if !own.contains(id) => {
                Err(format!("transition to {id}, a state of another parser"))
            }
            _ => Ok(()),
        };
        match transition {
            Transition::Goto(t) => target(t),
            Transition::Select { keys, cases } => {
                for case in cases {
                    target(&case.target)?;
                    match &case.matches {
                        SelectMatch::ValueSet(id) => {
                            let set = self
                                .program
                                .value_sets
                                .get(*id)
                                .ok_or("unknown value set")?;
                            if set.fields.len() != keys.len() {
                                return Err(
                                    "value set and select have different numbers of fields".into(),
                                );
                            }
                        }
                        SelectMatch::Sets(sets) => {
                            if sets.len() != keys.len() {
                                return Err("select case has the wrong number of sets".into());
                            }
                            for (set, key) in sets.iter().zip(keys) {
                                let expr = self.program.exprs.get(*key).ok_or("unknown key")?;
                                self.key_set(set, expr.ty)?;
                            }
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn key_set(&self, set: &KeySet, ty: TypeId) -> Result<(), String> {
        let width = |t: &Type| {
            t.bits()
                .map(|(w, _)| w)
                .ok_or("mask or range on a key that is not bits")
        };
        match set {
            KeySet::Any => Ok(()),
            KeySet::Value(v) => self.constant(v, ty),
            KeySet::Mask { value: a, mask: b } | KeySet::Range { lo: a, hi: b } => {
                let width = width(&self.program.types[ty])?;
                self.fits(a, width)?;
                self.fits(b, width)
            }
        }
    }

    fn action_args(&self, table: &Table, action: u32, args: &[Const]) -> Result<(), String> {
        let action = table
            .actions
            .get(action as usize)
            .ok_or("action is not in the table's list")?;
        let action = self
            .program
            .actions
            .get(action.action)
            .ok_or("unknown action")?;
        let params: Vec<_> = action.data_params().collect();
        if params.len() != args.len() {
            return Err(format!(
                "{} takes {} arguments, {} given",
                action.name,
                params.len(),
                args.len()
            ));
        }
        for (param, arg) in params.iter().zip(args) {
            self.constant(arg, self.program.vars[param.var].ty)?;
        }
        Ok(())
    }

    fn table(&mut self, table: &Table) {
        let mut errors = Vec::new();
        for action in &table.actions {
            if self.program.actions.get(action.action).is_none() {
                self.fail(&table.name, table.span, "unknown action");
                return;
            }
            for copy in &action.copy_in {
                errors.extend(self.assign(copy).err());
            }
            let out = self.copies_out(&action.copy_out, control(&table.name));
            errors.extend(out.err());
        }
        for key in &table.keys {
            match self.program.exprs.get(key.expr) {
                None => errors.push("unknown key expression".into()),
                Some(e) if !self.program.types[e.ty].is_scalar() => {
                    errors.push(format!("key {} is no scalar", key.name))
                }
                Some(_) => {}
            }
        }
        if errors.is_empty() {
            let default = &table.default_action;
            errors.extend(self.action_args(table, default.action, &default.args).err());
            for entry in &table.entries {
                errors.extend(self.action_args(table, entry.action, &entry.args).err());
                if entry.keys.len() != table.keys.len() {
                    errors.push("entry has the wrong number of keys".into());
                    continue;
                }
                for (set, key) in entry.keys.iter().zip(&table.keys) {
                    errors.extend(self.key_set(set, self.program.exprs[key.expr].ty).err());
                }
            }
        }
        let objects = table.implementation.iter().chain(&table.direct);
        if objects
            .into_iter()
            .any(|id| self.program.externs.get(*id).is_none())
        {
            errors.push("unknown extern object".into());
        }
        for message in errors {
            self.fail(&table.name, table.span, message);
        }
    }

    /// All nodes, callees before callers; a node that calls itself is an error.
    fn call_order(&mut self, calls: &BTreeMap<Node, Vec<Node>>) -> Vec<Node> {
        let mut order = Vec::with_capacity(calls.len());
        // Depth-first with colours: absent = new, false = on the path, true = done.
        let mut done: BTreeMap<Node, bool> = BTreeMap::new();
        for root in calls.keys() {
            let mut stack = vec![(*root, 0usize)];
            if done.contains_key(root) {
                continue;
            }
            done.insert(*root, false);
            while let Some((node, next)) = stack.pop() {
                let Some(callee) = calls.get(&node).and_then(|c| c.get(next)) else {
                    done.insert(node, true);
                    order.push(node);
                    continue;
                };
                stack.push((node, next + 1));
                match done.get(callee) {
                    Some(true) => {}
                    Some(false) => {
                        self.fail(format!("{callee:?}"), Span::default(), "calls itself");
                        return order;
                    }
                    None => {
                        done.insert(*callee, false);
                        stack.push((*callee, 0));
                    }
                }
            }
        }
        order
    }

    fn package(&mut self, package: &Package) {
        for arg in &package.args {
            let known = match &arg.value {
                ArgValue::Parser(id) => self.program.parsers.get(*id).is_some(),
                ArgValue::Control(id) => self.program.controls.get(*id).is_some(),
                ArgValue::Extern(id) => self.program.externs.get(*id).is_some(),
                ArgValue::Value(id) => self.program.exprs.get(*id).is_some(),
                ArgValue::Package(inner) => {
                    self.package(inner);
                    true
                }
            };
            if !known {
                self.fail(
                    &package.type_name,
                    Span::default(),
                    format!("argument {} is unknown", arg.name),
                );
            }
        }
    }
}

fn control(owner: &str) -> Context<'_> {
    Context {
        owner,
        parser: false,
        in_loop: false,
    }
}

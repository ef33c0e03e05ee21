//! Parsers: states, transitions, value sets.

use std::collections::HashMap;

use num_traits::ToPrimitive;
use p4ir::{
    Const, Entity as _, ExprId, KeyKind, KeySet, MatchKind, Parser, ParserId, SelectCase,
    SelectMatch, State, StateId, Stmt, StmtKind, Target, Transition, ValueSet, ValueSetField,
    ValueSetId,
};

use super::keyset::Known;
use super::value::{Elab, Val};
use super::{Entity, Lowerer, annot};
use crate::ast::{self, AnnotationBody, DeclKind, ExprKind, NodeId, Symbol, TransitionKind};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::{RecordKind, Ty};

type States = HashMap<Symbol, StateId>;

impl<'a> Lowerer<'a> {
    /// The body of a parser whose parameters are declared (and reset in the current block).
    pub(super) fn parser_body(&mut self, p: &'a ast::Parser, params: Vec<p4ir::Param>) -> ParserId {
        let first = (
            self.emitter.ir.value_sets.len(),
            self.emitter.ir.parsers.len(),
        );
        // Those of a parser around this one are its own.
        let deposits = std::mem::take(&mut self.tna_objects.deposits);
        let here = p.states.first().map_or(NodeId::default(), |s| s.at.id);
        for (i, local) in p.locals.iter().enumerate() {
            self.at_local(here, i, p.locals.len());
            self.annotation_values(&local.annotations);
            match &local.kind {
                DeclKind::Variable(v) => self.variable(v),
                DeclKind::Constant(c) => {
                    let value = self.constant(c);
                    self.declare(&c.name, Entity::Value(value));
                }
                DeclKind::Instance(i) => self.local_instance(local, i),
                DeclKind::ValueSet(v) => self.value_set(local, v),
                _ => self.error(
                    "syntax",
                    local.at.span,
                    "this cannot be declared in a parser",
                ),
            }
        }
        self.at_local(here, p.locals.len(), p.locals.len());
        let mut init = std::mem::take(&mut self.emitter.out);
        let outer = std::mem::take(&mut self.checker.notes.states);
        let (states, mut ids) = self.declare_states(p);
        for (state, id) in p.states.iter().zip(&ids) {
            self.state(state, *id, &states);
        }
        self.checker.notes.states = outer;
        let start = match states.get("start") {
            Some(id) => *id,
            None => {
                let text = format!("parser `{}` has no state `start`", p.signature.name);
                self.error("parser", p.signature.name.span, text);
                ids.first().copied().unwrap_or_else(|| self.empty_state())
            }
        };
        self.check_reach(p, start, &ids);
        self.no_match(&mut ids, p.signature.name.span);
        let subparsers: Vec<ParserId> = self.emitter.ir.parsers.keys().skip(first.1).collect();
        self.complete_deposits(&mut init, &ids, &subparsers);
        self.tna_objects.deposits = deposits;
        let parser = Parser {
            name: self.prefix.clone(),
            type_name: p.signature.name.to_string(),
            params,
            init,
            start,
            states: ids,
            value_sets: self.emitter.ir.value_sets.keys().skip(first.0).collect(),
            subparsers,
            span: self.span(p.signature.name.span),
        };
        self.emitter.ir.parsers.push(parser)
    }

    /// A parser that can only go round in circles is an error.
    fn check_reach(&mut self, p: &'a ast::Parser, start: StateId, ids: &[StateId]) {
        let mut seen = vec![start];
        let mut next = 0;
        while let Some(id) = seen.get(next).copied() {
            next += 1;
            let targets: Vec<Target> = match &self.emitter.ir.states[id].transition {
                Transition::Goto(target) => vec![*target],
                Transition::Select { cases, .. } => {
                    let total = cases.iter().any(|c| match &c.matches {
                        SelectMatch::Sets(sets) => sets.iter().all(|s| *s == p4ir::KeySet::Any),
                        SelectMatch::ValueSet(_) => false,
                    });
                    // Without a case for the rest the parser can reject.
                    if !total {
                        return;
                    }
                    cases.iter().map(|c| c.target).collect()
                }
            };
            for target in targets {
                match target {
                    Target::State(id) if ids.contains(&id) => {
                        if !seen.contains(&id) {
                            seen.push(id);
                        }
                    }
                    _ => return,
                }
            }
        }
        let text = format!(
            "parser `{}` never reaches `accept` or `reject`",
            p.signature.name
        );
        self.error("parser", p.signature.name.span, text);
    }

    fn empty_state(&mut self) -> StateId {
        self.emitter.ir.states.push(State {
            name: String::new(),
            body: Vec::new(),
            transition: Transition::Goto(Target::Reject),
            rounds: 0,
            span: p4ir::Span::default(),
        })
    }

    fn declare_states(&mut self, p: &'a ast::Parser) -> (States, Vec<StateId>) {
        let mut states = States::new();
        let mut ids = Vec::new();
        for state in &p.states {
            let (name, at) = (state.name.name.clone(), state.name.span);
            self.checker.notes.states.entry(name).or_insert(at);
            let id = self.empty_state();
            self.emitter.ir.states[id].name = state.name.to_string();
            self.emitter.ir.states[id].span = self.span(state.name.span);
            ids.push(id);
            if matches!(&*state.name.name, "accept" | "reject") {
                self.error(
                    "parser",
                    state.name.span,
                    format!("state `{}` is built in and cannot be declared", state.name),
                );
            } else if states.insert(state.name.name.clone(), id).is_some() {
                self.error(
                    "name",
                    state.name.span,
                    format!("state `{}` is declared twice", state.name),
                );
            }
        }
        (states, ids)
    }

    fn state(&mut self, state: &'a ast::State, id: StateId, states: &States) {
        let (body, transition) = self.nested(|s| {
            s.scoped(|s| {
                s.annotation_values(&state.annotations);
                s.stmts_of(state.at.id, &state.body);
                match &state.transition {
                    None => {
                        s.warn(
                            "parser",
                            state.name.span,
                            format!("state `{}` has no transition: it rejects", state.name),
                        );
                        Transition::Goto(Target::Reject)
                    }
                    Some(t) => match &t.kind {
                        TransitionKind::Direct(name) => Transition::Goto(s.target(name, states)),
                        TransitionKind::Select { keys, cases } => s.select(keys, cases, states),
                    },
                }
            })
        });
        self.emitter.ir.states[id].body = body;
        self.emitter.ir.states[id].transition = transition;
    }

    fn target(&mut self, name: &ast::Ident, states: &States) -> Target {
        match (&*name.name, self.checker.notes.states.get(&name.name)) {
            ("accept", _) => self.checker.used_built_in(name.span, "accept"),
            ("reject", _) => self.checker.used_built_in(name.span, "reject"),
            (_, Some(at)) => self.checker.used(name.span, *at),
            _ => {}
        }
        match (&*name.name, states.get(&name.name)) {
            ("accept", _) => Target::Accept,
            ("reject", _) => Target::Reject,
            (_, Some(id)) => Target::State(*id),
            _ => {
                let mut known: Vec<&str> = states.keys().map(|state| &**state).collect();
                known.extend(["accept", "reject"]);
                known.sort_unstable();
                known.dedup();
                let text = format!("there is no state `{name}`");
                self.report(
                    Diagnostic::error("name", name.span, text)
                        .with_known("states", &name.name, known),
                );
                Target::Reject
            }
        }
    }

    /// A `select` that matches nothing leads to a state that raises `NoMatch` (P4_16 12.6).
    fn no_match(&mut self, ids: &mut Vec<StateId>, span: Span) {
        let refused = StateId::new(self.emitter.ir.states.len());
        let mut used = false;
        for id in ids.iter() {
            if let Transition::Select { keys, cases } = &mut self.emitter.ir.states[*id].transition
            {
                let total = |c: &SelectCase| matches!(&c.matches, SelectMatch::Sets(sets) if sets.iter().all(|s| *s == KeySet::Any));
                if !cases.iter().any(total) {
                    used = true;
                    cases.push(SelectCase {
                        matches: SelectMatch::Sets(vec![KeySet::Any; keys.len()]),
                        target: Target::State(refused),
                    });
                }
            }
        }
        if !used {
            return;
        }
        let boolean = self.emitter.ir.types.boolean();
        let never = p4ir::ExprKind::Const(Const::Bool(false));
        let cond = self.emitter.ir.add_expr(never, boolean);
        let no_match = self.emitter.ir.error_index("NoMatch").unwrap_or(0);
        let kind = p4ir::ExprKind::Const(Const::Error(no_match));
        let error = self.emitter.ir.add_expr(kind, self.emitter.common.error);
        let span = self.span(span);
        let body = vec![Stmt {
            kind: StmtKind::Verify { cond, error },
            span,
        }];
        ids.push(self.emitter.ir.states.push(State {
            name: "reject".to_owned(),
            body,
            transition: Transition::Goto(Target::Reject),
            rounds: 0,
            span,
        }));
    }

    fn select(
        &mut self,
        keys: &'a [ast::Expr],
        cases: &'a [ast::SelectCase],
        states: &States,
    ) -> Transition {
        let mut values: Vec<Elab<'a>> = Vec::new();
        for key in keys {
            let mark = self.emitter.out.len();
            let value = self.expr(key, None);
            if self.emitter.out.len() > mark {
                for earlier in &mut values {
                    self.spill(earlier, mark, key.at.span);
                }
            }
            values.push(value);
        }
        let mut flat = Vec::new();
        for (value, key) in values.iter().zip(keys) {
            if matches!(value.ty, Ty::Record(_)) {
                let text = format!("`{}` cannot be matched as a whole", value.ty);
                self.report(
                    Diagnostic::error("type", key.at.span, text)
                        .with_help("match its fields: `select ({ x.a, x.b })`"),
                );
            }
            self.flatten_key(value, key, &mut flat);
        }
        let tys: Vec<Ty> = values
            .iter()
            .map(|v| self.checker.infer.resolve(&v.ty))
            .collect();
        let tys: Vec<Ty> = tys.iter().map(shape).collect();
        let mut selection = Selection::default();
        for case in cases {
            let target = self.target(&case.next, states);
            self.select_case(&case.keyset, &tys, &flat, target, &mut selection);
        }
        let span = keys.first().map_or(Span::default(), |k| k.at.span);
        let keys = flat.iter().map(|v| self.scalar(v, span)).collect();
        selection.into_transition(keys)
    }

    fn flatten_key(&mut self, value: &Elab<'a>, key: &'a ast::Expr, out: &mut Vec<Elab<'a>>) {
        if Self::is_scalar(&value.ty) {
            if value.ty == Ty::Int {
                self.error("type", key.at.span, "the width of this key is not known");
            } else if !value.ty.is_data() {
                self.error(
                    "type",
                    key.at.span,
                    format!("`{}` cannot be matched", value.ty),
                );
            }
            out.push(value.clone());
            return;
        }
        for i in 0..value.ty.components().len() {
            let part = self.component(value, i as u32, key.at.span);
            self.flatten_key(&part, key, out);
        }
    }

    /// Adds a case. A case with values that are known at run time only has a key of its own:
    /// whether its sets hold the keys.
    fn select_case(
        &mut self,
        keyset: &'a ast::Keyset,
        tys: &[Ty],
        keys: &[Elab<'a>],
        target: Target,
        to: &mut Selection,
    ) {
        if let Some(id) = self.value_set_named(keyset) {
            let fields = self.emitter.ir.value_sets[id].fields.len();
            if fields != keys.len() {
                let keys = keys.len();
                let text = format!("the value set has {fields} fields, the select {keys} keys");
                return self.error("type", keyset.at.span, text);
            }
            to.cases
                .push((CaseMatch::ValueSet(id, keyset.at.span), target));
            return;
        }
        let (effects, sets) = self.nested(|s| s.scalar_sets(keyset, tys, Known::AtRunTime));
        let Some(sets) = sets else { return };
        if !effects.is_empty() {
            let text = "a set of a `select` cannot call anything";
            let d = Diagnostic::error("unsupported", keyset.at.span, text);
            return self.report(d.with_help("store the result in a variable before `transition`"));
        }
        let mut known = Vec::new();
        let mut computed: Option<Elab<'a>> = None;
        for (set, key) in sets.iter().zip(keys) {
            match self.known_set(set) {
                Some(set) => known.push(set),
                None => {
                    let holds = self.holds(set, key, keyset.at.span);
                    computed = Some(match computed {
                        Some(all) => self.and(all, holds, keyset.at.span),
                        None => holds,
                    });
                    known.push(KeySet::Any);
                }
            }
        }
        let condition = computed.map(|holds| self.scalar(&holds, keyset.at.span));
        let number = condition.map(|condition| {
            to.conditions.push(condition);
            to.conditions.len() - 1
        });
        to.cases.push((CaseMatch::Sets(known, number), target));
        if let (Some(_), Some(at)) = (to.conditions.first(), to.value_set()) {
            let text = "a value set cannot stand beside sets that are known at run time only";
            self.report(Diagnostic::error("unsupported", at, text).with_help(
                "match the value set in a state of its own, which leads to the other cases",
            ));
        }
    }

    /// The value set that a case names.
    fn value_set_named(&mut self, keyset: &'a ast::Keyset) -> Option<ValueSetId> {
        let [only] = keyset.elements.as_slice() else {
            return None;
        };
        let ExprKind::Path(path) = &only.kind else {
            return None;
        };
        match self.find(path)? {
            Entity::Value(Elab {
                val: Val::ValueSet(id),
                ..
            }) => Some(id),
            _ => None,
        }
    }

    fn value_set(&mut self, decl: &'a ast::Decl, v: &'a ast::ValueSet) {
        let ty = self.ty(&v.element);
        let size = self
            .const_int(&v.size)
            .and_then(|n| n.to_u64())
            .unwrap_or(0);
        let name = self.control_plane_name(&v.name.name, &decl.annotations, v.name.span);
        let mut fields = Vec::new();
        match &ty {
            Ty::Record(r) if r.kind == RecordKind::Struct => {
                let ast_fields = match self.checker.decls.get(&r.decl).map(|d| &d.kind) {
                    Some(DeclKind::Composite(c)) => c.fields.as_slice(),
                    _ => &[],
                };
                for field in &r.fields {
                    let notes = ast_fields
                        .get(field.index)
                        .map_or(&[][..], |f| &f.annotations);
                    let kind = match annot::find(notes, "match").map(|a| &a.body) {
                        Some(AnnotationBody::Unstructured(tokens)) if tokens.len() == 1 => {
                            KeyKind::from_name(&tokens[0].text)
                        }
                        _ => KeyKind::Match(MatchKind::Exact),
                    };
                    let ty = self.ir_ty(&field.ty);
                    fields.push(ValueSetField {
                        name: field.name.to_string(),
                        ty,
                        kind,
                    });
                }
            }
            Ty::Tuple(all) => {
                for (i, t) in all.iter().enumerate() {
                    let ty = self.ir_ty(t);
                    fields.push(ValueSetField {
                        name: format!("field{i}"),
                        ty,
                        kind: KeyKind::Match(MatchKind::Exact),
                    });
                }
            }
            Ty::Poison => {}
            other
                if Self::is_scalar(other)
                    && other.is_data()
                    && !matches!(other, Ty::Int | Ty::String) =>
            {
                let ty = self.ir_ty(other);
                let kind = match annot::find(&decl.annotations, "match").map(|a| &a.body) {
                    Some(AnnotationBody::Unstructured(tokens)) if tokens.len() == 1 => {
                        KeyKind::from_name(&tokens[0].text)
                    }
                    _ => KeyKind::Match(MatchKind::Exact),
                };
                fields.push(ValueSetField {
                    name: String::new(),
                    ty,
                    kind,
                });
            }
            other => self.error(
                "type",
                v.element.at.span,
                format!("a value set cannot hold `{other}`"),
            ),
        }
        let set = ValueSet {
            name,
            fields,
            size,
            annotations: self.annotations(&decl.annotations),
            span: self.span(v.name.span),
        };
        let id = self.emitter.ir.value_sets.push(set);
        self.facts
            .value_set(id, &decl.annotations, ty, decl.at.span);
        self.declare(
            &v.name,
            Entity::Value(Elab::new(Ty::ValueSet, Val::ValueSet(id))),
        );
    }
}

/// The type of a select key, with lists as the tuples they are.
fn shape(ty: &Ty) -> Ty {
    match ty {
        Ty::ListExpr(all) => Ty::tuple(all.iter().map(shape).collect()),
        other => other.clone(),
    }
}

/// The cases of a `select` while they are collected.
#[derive(Default)]
struct Selection {
    cases: Vec<(CaseMatch, Target)>,
    /// What is asked at run time, each by one case.
    conditions: Vec<ExprId>,
}

/// What a case matches.
enum CaseMatch {
    /// One set per key, and the condition that must hold besides.
    Sets(Vec<KeySet>, Option<usize>),
    ValueSet(ValueSetId, Span),
}

impl Selection {
    fn value_set(&self) -> Option<Span> {
        self.cases.iter().find_map(|(matches, _)| match matches {
            CaseMatch::ValueSet(_, at) => Some(*at),
            CaseMatch::Sets(..) => None,
        })
    }

    /// The transition: the conditions are keys behind the others.
    fn into_transition(self, mut keys: Vec<ExprId>) -> Transition {
        let count = self.conditions.len();
        keys.extend(self.conditions);
        let case = |(matches, target)| {
            let matches = match matches {
                CaseMatch::ValueSet(id, _) => SelectMatch::ValueSet(id),
                CaseMatch::Sets(mut sets, condition) => {
                    sets.extend((0..count).map(|i| match condition {
                        Some(own) if own == i => KeySet::Value(Const::Bool(true)),
                        _ => KeySet::Any,
                    }));
                    SelectMatch::Sets(sets)
                }
            };
            SelectCase { matches, target }
        };
        let cases = self.cases.into_iter().map(case).collect();
        Transition::Select { keys, cases }
    }
}

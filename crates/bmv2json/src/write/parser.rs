//! The parser as states: subparsers written out, conditions as states that select on a bit.

use std::collections::BTreeMap;

use p4ir::{
    BigUint, KeySet, ParserId, SelectCase, SelectMatch, StateId, StmtKind, Target, Transition,
};
use serde_json::{Value, json};

use super::json::{ones, operand, unary};
use super::steps::Step;
use super::table::bits;
use super::{Write, Writer};

/// States while they are made.
#[derive(Default)]
struct States {
    list: Vec<State>,
    /// Where `return`, `break` and `continue` of the innermost scopes and loops lead.
    returns: Vec<usize>,
    loops: Vec<(usize, usize)>,
}

#[derive(Default)]
struct State {
    name: String,
    ops: Vec<Value>,
    key: Vec<Value>,
    transitions: Vec<Value>,
}

/// Where a parser that is written out leads.
#[derive(Clone, Copy)]
struct Ends {
    /// After `accept`; none is the end of parsing.
    accept: Option<usize>,
}

/// Most transitions that one case becomes, as ranges become masks.
const MAX_TRANSITIONS: usize = 4096;

impl States {
    fn add(&mut self, name: &str) -> usize {
        let taken = self.list.iter().any(|s| s.name == name);
        let name = match taken {
            true => format!("{name}_{}", self.list.len()),
            false => name.to_owned(),
        };
        self.list.push(State {
            name,
            ..State::default()
        });
        self.list.len() - 1
    }

    fn goto(&mut self, from: usize, to: Option<usize>) {
        let transition = self.transition("default", Value::Null, Value::Null, to);
        self.list[from].transitions.push(transition);
    }

    fn transition(&self, kind: &str, value: Value, mask: Value, to: Option<usize>) -> Value {
        let next = to.map(|to| self.list[to].name.clone());
        json!({ "type": kind, "value": value, "mask": mask, "next_state": next })
    }
}

impl Writer<'_> {
    pub(super) fn parser(&mut self) -> Write<Value> {
        self.in_parser = true;
        let id = self.blocks.parser;
        let mut states = States::default();
        // BMv2 starts with all headers invalid and all metadata zero.
        let headers = self.blocks.headers;
        let whole = |kind: &StmtKind| matches!(kind, StmtKind::Reset(p) if p.var == headers && p.path.is_empty());
        let init: Vec<_> = self.p.parsers[id]
            .init
            .iter()
            .filter(|s| !whole(&s.kind))
            .cloned()
            .collect();
        let init = self.block(&init)?;
        let first = (!init.is_empty()).then(|| states.add("init"));
        let start = self.inline(id, Ends { accept: None }, &mut states)?;
        if let Some(first) = first
            && let Some(last) = self.run(&init, first, &mut states)?
        {
            states.goto(last, Some(start));
        }
        self.in_parser = false;
        let init_state = states.list[first.unwrap_or(start)].name.clone();
        let list = states.list.into_iter().enumerate();
        let list: Vec<Value> = list
            .map(|(i, s)| {
                json!({
                    "name": s.name, "id": i, "parser_ops": s.ops, "transitions": s.transitions,
                    "transition_key": s.key,
                })
            })
            .collect();
        Ok(json!({ "name": "parser", "id": 0, "init_state": init_state, "parse_states": list }))
    }

    /// Writes out the states of a parser; the first.
    fn inline(&mut self, id: ParserId, ends: Ends, states: &mut States) -> Write<usize> {
        let parser = &self.p.parsers[id];
        let mut known: BTreeMap<StateId, usize> = BTreeMap::new();
        let order = self.p.state_order(parser.start).states;
        for state in &order {
            let name = self.p.states[*state].name.clone();
            known.insert(*state, states.add(&name));
        }
        for state in &order {
            let s = &self.p.states[*state];
            self.span = s.span;
            let steps = self.block(&s.body)?;
            if let Some(last) = self.run(&steps, known[state], states)? {
                self.leave(&s.transition, last, &known, ends, states)?;
            }
        }
        Ok(known[&parser.start])
    }

    /// Takes steps from a state on; the state that it ends in, if it goes on at all.
    fn run(&mut self, steps: &[Step], mut at: usize, states: &mut States) -> Write<Option<usize>> {
        for step in steps {
            match step {
                Step::Op(primitive) => states.list[at].ops.push(parser_op(primitive)),
                Step::Parse(op) => states.list[at].ops.push(op.clone()),
                Step::If(cond, then, other, _) => {
                    let [yes, no, join] = ["then", "else", "join"].map(|n| states.add(n));
                    self.branch(cond, at, yes, no, states);
                    for (steps, from) in [(then, yes), (other, no)] {
                        if let Some(last) = self.run(steps, from, states)? {
                            states.goto(last, Some(join));
                        }
                    }
                    at = join;
                }
                Step::Scope(inner) => {
                    let end = states.add("end");
                    states.returns.push(end);
                    let last = self.run(inner, at, states)?;
                    states.returns.pop();
                    if let Some(last) = last {
                        states.goto(last, Some(end));
                    }
                    at = end;
                }
                Step::Loop {
                    head,
                    cond,
                    body,
                    step,
                } => {
                    at = self.run_loop([head, body, step], cond, at, states)?;
                }
                Step::Return | Step::Break | Step::Continue => {
                    let to = match step {
                        Step::Return => states.returns.last().copied(),
                        Step::Break => states.loops.last().map(|(end, _)| *end),
                        _ => states.loops.last().map(|(_, step)| *step),
                    };
                    states.goto(at, to);
                    return Ok(None);
                }
                Step::Sub(parser, after, renames) => {
                    let end = states.add("end");
                    let outside = self.enter(renames);
                    self.frames.push(after.clone());
                    let init = self.p.parsers[*parser].init.clone();
                    let init = self.block(&init)?;
                    let begun = self.run(&init, at, states)?;
                    let start = self.inline(*parser, Ends { accept: Some(end) }, states)?;
                    self.frames.pop();
                    self.renames = outside;
                    if let Some(begun) = begun {
                        states.goto(begun, Some(start));
                    }
                    let Some(last) = self.run(after, end, states)? else {
                        return Ok(None);
                    };
                    at = last;
                }
                Step::Exit | Step::Apply(..) | Step::Emit(_) => {
                    return Err(self.error("a statement that a parser cannot have"));
                }
            }
        }
        Ok(Some(at))
    }

    fn branch(&mut self, cond: &Value, at: usize, yes: usize, no: usize, states: &mut States) {
        let bit = self.temp(1, false);
        let value = operand(unary("b2d", cond.clone()));
        states.list[at]
            .ops
            .push(json!({ "op": "set", "parameters": [bit.clone(), value] }));
        states.list[at].key = vec![bit];
        let met = states.transition("hexstr", json!("0x01"), Value::Null, Some(yes));
        states.list[at].transitions.push(met);
        states.goto(at, Some(no));
    }

    fn run_loop(
        &mut self,
        [head, body, step]: [&Vec<Step>; 3],
        cond: &Value,
        at: usize,
        states: &mut States,
    ) -> Write<usize> {
        let [top, inside, next, end] = ["loop", "body", "step", "end"].map(|n| states.add(n));
        states.goto(at, Some(top));
        if let Some(tested) = self.run(head, top, states)? {
            self.branch(cond, tested, inside, end, states);
        }
        states.loops.push((end, next));
        let last = self.run(body, inside, states)?;
        states.loops.pop();
        if let Some(last) = last {
            states.goto(last, Some(next));
        }
        if let Some(last) = self.run(step, next, states)? {
            states.goto(last, Some(top));
        }
        Ok(end)
    }

    /// Ends a state as its transition says.
    fn leave(
        &mut self,
        transition: &Transition,
        at: usize,
        known: &BTreeMap<StateId, usize>,
        ends: Ends,
        states: &mut States,
    ) -> Write<()> {
        let rejected = if transition.targets().any(|t| t == Target::Reject) {
            self.rejected(states)?
        } else {
            None
        };
        let lead = |target: &Target| match target {
            Target::State(state) => known.get(state).copied(),
            Target::Accept => ends.accept,
            Target::Reject => rejected,
        };
        match transition {
            Transition::Goto(target) => states.goto(at, lead(target)),
            Transition::Select { keys, cases } => {
                let mut widths = Vec::new();
                for key in keys {
                    let (width, signed) = self.stored(self.p.expr_type(*key))?;
                    if width == 0 {
                        return Err(self.error("a `select` on a value of no bits"));
                    }
                    widths.push((width, signed));
                    let value = self.num(*key)?;
                    let direct = matches!(value["type"].as_str(), Some("field" | "stack_field"));
                    let field = if direct {
                        value
                    } else {
                        let temp = self.temp(width, signed);
                        let set =
                            json!({ "op": "set", "parameters": [temp.clone(), operand(value)] });
                        states.list[at].ops.push(set);
                        temp
                    };
                    states.list[at].key.push(field);
                }
                for case in cases {
                    self.case(case, &widths, at, lead(&case.target), states)?;
                }
            }
        }
        Ok(())
    }

    /// The state that a parser ends in without success: callers' copies are made there.
    fn rejected(&mut self, states: &mut States) -> Write<Option<usize>> {
        let copies: Vec<Step> = self.frames.iter().rev().flatten().cloned().collect();
        if copies.is_empty() {
            return Ok(None);
        }
        let first = states.add("reject");
        if let Some(last) = self.run(&copies, first, states)? {
            states.goto(last, None);
        }
        Ok(Some(first))
    }

    fn case(
        &self,
        case: &SelectCase,
        widths: &[(u32, bool)],
        at: usize,
        to: Option<usize>,
        states: &mut States,
    ) -> Write<()> {
        let sets = match &case.matches {
            SelectMatch::ValueSet(id) => {
                let name = &self.p.value_sets[*id].name;
                let made = states.transition("parse_vset", json!(name), Value::Null, to);
                states.list[at].transitions.push(made);
                return Ok(());
            }
            SelectMatch::Sets(sets) => sets,
        };
        if sets.iter().all(|set| *set == KeySet::Any) {
            states.goto(at, to);
            return Ok(());
        }
        let mut all = vec![(BigUint::default(), BigUint::default())];
        let mut total = 0;
        for (set, (width, signed)) in sets.iter().zip(widths) {
            let bytes = width.div_ceil(8) * 8;
            total += bytes;
            let parts = masks(set, *width, *signed);
            let joined = |(v, m): &(BigUint, BigUint)| {
                let (v, m) = (v << bytes, m << bytes);
                let parts = parts.iter();
                parts
                    .map(|(value, mask)| (&v | value, &m | mask))
                    .collect::<Vec<_>>()
            };
            all = all.iter().flat_map(joined).collect();
            if all.len() > MAX_TRANSITIONS {
                return Err(self.error(format!(
                    "ranges that take more than {MAX_TRANSITIONS} masks"
                )));
            }
        }
        // Bits beyond a key's width are zero, so that they may count.
        let exact = sets.iter().all(|set| matches!(set, KeySet::Value(_)));
        for (value, mask) in all {
            let text = |n: &BigUint| json!(super::json::padded(n, total));
            let mask = if exact { Value::Null } else { text(&mask) };
            let made = states.transition("hexstr", text(&value), mask, to);
            states.list[at].transitions.push(made);
        }
        Ok(())
    }
}

/// A primitive as an operation of the parser.
fn parser_op(primitive: &Value) -> Value {
    if primitive["op"] != "assign" {
        return json!({ "op": "primitive", "parameters": [primitive] });
    }
    let mut source = primitive["parameters"][1].clone();
    if source["type"] == "stack_field" {
        source = json!({ "type": "expression", "value": source });
    }
    json!({ "op": "set", "parameters": [primitive["parameters"][0], source] })
}

/// A set of values as values and masks.
fn masks(set: &KeySet, width: u32, signed: bool) -> Vec<(BigUint, BigUint)> {
    let all = ones(width);
    match set {
        KeySet::Any => vec![(BigUint::default(), BigUint::default())],
        KeySet::Value(value) => vec![(bits(value), all)],
        KeySet::Mask { value, mask } => vec![(value & mask, mask.clone())],
        // From negative to positive: two's complement has them at both ends.
        KeySet::Range { lo, hi } if signed && lo > hi => {
            let mut parts = prefixes(lo.clone(), &all, width);
            parts.extend(prefixes(BigUint::default(), hi, width));
            parts
        }
        KeySet::Range { lo, hi } => prefixes(lo.clone(), hi, width),
    }
}

/// `lo..=hi` as prefixes, the fewest.
fn prefixes(mut lo: BigUint, hi: &BigUint, width: u32) -> Vec<(BigUint, BigUint)> {
    let one = BigUint::from(1u32);
    let mut made = Vec::new();
    while lo <= *hi {
        let aligned = lo
            .trailing_zeros()
            .unwrap_or(u64::from(width))
            .min(u64::from(width));
        let room = (hi - &lo + &one).bits() - 1;
        let free = aligned.min(room);
        let block = &one << free;
        made.push((lo.clone(), ones(width) - (&block - &one)));
        lo += block;
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_prefixes() {
        let found = prefixes(4u32.into(), &9u32.into(), 8);
        let wanted = [(4u32, 0xfcu32), (8, 0xfe)].map(|(v, m)| (v.into(), m.into()));
        assert_eq!(found, wanted);
        assert_eq!(
            prefixes(0u32.into(), &255u32.into(), 8),
            [(0u32.into(), 0u32.into())]
        );
        let signed = KeySet::Range {
            lo: 0xffu32.into(),
            hi: 1u32.into(),
        };
        assert_eq!(masks(&signed, 8, true).len(), 2);
    }

    #[test]
    fn numbers_have_whole_bytes() {
        assert_eq!(super::super::json::padded(&0x1u32.into(), 9), "0x0001");
        assert_eq!(super::super::json::number(0u32)["value"], "0x0");
    }
}

//! Parsers: states and selection.

use std::collections::HashMap;

use cranelift_codegen::ir::{InstBuilder as _, Value, condcodes::IntCC};
use indexmap::{IndexMap, IndexSet};
use p4ir::{
    BigUint, Const, Entity as _, ExprId, KeySet, ParserId, SelectCase, SelectMatch, StateId,
    Target, Transition, Type, ValueSetId,
};

use super::stmt::COMPARED;
use super::words::Words;
use super::{Gen, Helper, Label};
use crate::compile::frame::Slot;
use crate::compile::site::{SearchedCase, SelectSlot, Site};
use crate::state::const_bits;

/// Cases with masks or ranges up to which each is compared in line. The registers of a longer chain
/// take time that grows with its square.
const SEARCHED: usize = 256;

/// A key of a `select`: its value, width, and whether it is signed.
struct SelectKey {
    value: Words,
    width: u32,
    signed: bool,
}

impl<'p> Gen<'_, 'p> {
    /// A parser from its initialisation to the end; acceptance goes to `done`.
    pub(super) fn parser(&mut self, id: ParserId) {
        let program = self.unit.program;
        let parser = &program.parsers[id];
        self.block(&parser.init);
        let order = program.state_order(parser.start);
        let mut labels = HashMap::new();
        for state in &order.states {
            let label = if order.heads.contains(state) {
                self.backward_label()
            } else {
                self.label()
            };
            labels.insert(*state, label);
        }
        self.goto(labels[&parser.start]);
        for state in order.states {
            self.bind(labels[&state]);
            if !self.live {
                continue;
            }
            let rounds = program.states[state].rounds;
            if rounds > 0 {
                self.spend_rounds(rounds);
            }
            self.block(&program.states[state].body);
            if self.live {
                self.transition(&program.states[state].transition, &labels);
            }
        }
        self.live = false;
    }

    pub(super) fn transition(&mut self, transition: &Transition, labels: &HashMap<StateId, Label>) {
        match transition {
            Transition::Goto(target) => self.go(*target, labels),
            Transition::Select { keys, cases } => self.select(keys, cases, labels),
        }
    }

    fn go(&mut self, target: Target, labels: &HashMap<StateId, Label>) {
        match target {
            Target::State(state) => self.goto(labels[&state]),
            Target::Accept => self.goto(self.exits.done),
            Target::Reject => {
                let none = self.imm(0);
                self.reject(none);
            }
        }
    }

    fn select(&mut self, keys: &[ExprId], cases: &[SelectCase], labels: &HashMap<StateId, Label>) {
        let program = self.unit.program;
        let mut values = Vec::new();
        for key in keys {
            let ty = program.expr_type(*key);
            values.push(SelectKey {
                value: self.eval(*key),
                width: self.width(ty),
                signed: matches!(program.types[ty], Type::Bits { signed: true, .. }),
            });
        }
        let mut cases = self.values_first(&values, cases, labels);
        while let [case, others @ ..] = cases {
            let set = |c: &&SelectCase| matches!(c.matches, SelectMatch::Sets(_));
            let run = cases.iter().take_while(set).count();
            if run > SEARCHED {
                self.search(&values, &cases[..run], labels);
                cases = &cases[run..];
                continue;
            }
            cases = others;
            let Some(mut holds) = self.case_holds(case, &values) else {
                return self.go(case.target, labels);
            };
            // Cases behind it that go the same way share its branch: which of them it is, a
            // processor need not guess.
            while let [same, others @ ..] = cases
                && same.target == case.target
                && let Some(also) = self.case_holds(same, &values)
            {
                cases = others;
                holds = self.b.ins().bor(holds, also);
            }
            let next = self.label();
            if let Target::State(state) = case.target {
                self.branch(holds, labels[&state], next);
            } else {
                let taken = self.label();
                self.branch(holds, taken, next);
                self.bind(taken);
                self.go(case.target, labels);
            }
            self.bind(next);
        }
        // BMv2 ends the parse and names no error.
        let none = self.imm(0);
        self.reject(none);
    }

    /// Whether a case holds; `None` if it does whatever the keys are.
    fn case_holds(&mut self, case: &SelectCase, keys: &[SelectKey]) -> Option<Value> {
        match &case.matches {
            SelectMatch::Sets(sets) => self.sets_hold(sets, keys),
            SelectMatch::ValueSet(id) => Some(self.value_set_holds(*id, keys)),
        }
    }

    /// Has cases of sets searched outside.
    fn search(
        &mut self,
        keys: &[SelectKey],
        cases: &[SelectCase],
        labels: &HashMap<StateId, Label>,
    ) {
        let mut targets = IndexSet::new();
        let mut searched = Vec::with_capacity(cases.len());
        for case in cases {
            if let SelectMatch::Sets(sets) = &case.matches {
                let (target, _) = targets.insert_full(case.target);
                let sets = sets.clone();
                searched.push(SearchedCase { sets, target });
            }
        }
        let (mut words, mut slots) = (Words::new(), Vec::with_capacity(keys.len()));
        for SelectKey {
            value,
            width,
            signed,
        } in keys
        {
            let slot = Slot::of_bits(words.len() as u32, *width);
            slots.push(SelectSlot {
                slot,
                signed: *signed,
            });
            words.extend(value);
        }
        let site = self.site(Site::Cases {
            keys: slots,
            key_words: words.len(),
            cases: searched,
        });
        let key = self.spill(&words);
        let target = self.call_helper(Helper::FirstCase, &[self.ctx, site, key]);
        self.go_to_one(target, (0..).zip(targets), labels);
    }

    /// Goes to the target that stands beside the word's value, on if none does.
    fn go_to_one(
        &mut self,
        word: Value,
        arms: impl Iterator<Item = (u64, Target)>,
        labels: &HashMap<StateId, Label>,
    ) {
        let mut taken = Vec::new();
        let mut others: HashMap<Target, Label> = HashMap::new();
        let arms: Vec<(u64, Label)> = arms
            .map(|(value, target)| match target {
                Target::State(state) => (value, labels[&state]),
                other => {
                    let label = *others.entry(other).or_insert_with(|| {
                        let label = self.label();
                        taken.push((label, other));
                        label
                    });
                    (value, label)
                }
            })
            .collect();
        self.dispatch_word(word, arms.into_iter());
        let on = self.label();
        self.goto(on);
        for (label, target) in taken {
            self.bind(label);
            if self.live {
                self.go(target, labels);
            }
        }
        self.bind(on);
    }

    /// Where many cases in front each have one value of one key, chooses among them at once; the
    /// other cases.
    fn values_first<'c>(
        &mut self,
        keys: &[SelectKey],
        cases: &'c [SelectCase],
        labels: &HashMap<StateId, Label>,
    ) -> &'c [SelectCase] {
        let [SelectKey { value, width, .. }] = keys else {
            return cases;
        };
        let [word] = value.as_slice() else {
            return cases;
        };
        let single = |case: &SelectCase| match &case.matches {
            SelectMatch::Sets(sets) => match sets.as_slice() {
                [KeySet::Value(value)] => Some(const_bits(value, *width).low_u64()),
                _ => None,
            },
            SelectMatch::ValueSet(_) => None,
        };
        // Of equal values the first counts.
        let mut arms = IndexMap::new();
        let mut count = 0;
        for (value, case) in cases.iter().map_while(|c| Some((single(c)?, c))) {
            arms.entry(value).or_insert(case.target);
            count += 1;
        }
        if arms.len() <= COMPARED {
            return cases;
        }
        self.go_to_one(*word, arms.into_iter(), labels);
        &cases[count..]
    }

    /// Whether every set holds its key; `None` if they do whatever the keys are.
    fn sets_hold(&mut self, sets: &[KeySet], keys: &[SelectKey]) -> Option<Value> {
        let mut all: Option<Value> = None;
        for (set, key) in sets.iter().zip(keys) {
            let Some(holds) = self.set_holds(set, key) else {
                continue;
            };
            all = Some(match all {
                Some(others) => self.b.ins().band(others, holds),
                None => holds,
            });
        }
        all
    }

    fn set_holds(&mut self, set: &KeySet, key: &SelectKey) -> Option<Value> {
        let number = |g: &mut Self, v: &BigUint| g.constant(&Const::Bits(v.clone()), key.width);
        Some(match set {
            KeySet::Any => return None,
            KeySet::Value(value) => {
                let value = self.constant(value, key.width);
                self.equal(&key.value, &value)
            }
            KeySet::Mask { value, mask } => {
                let (value, mask) = (number(self, value), number(self, mask));
                let and = |g: &mut Self, a, b| g.b.ins().band(a, b);
                let (left, right) = (
                    self.each(&key.value, &mask, and),
                    self.each(&value, &mask, and),
                );
                self.equal(&left, &right)
            }
            KeySet::Range { lo, hi } => {
                let (lo, hi) = (number(self, lo), number(self, hi));
                let kind = (key.width, key.signed);
                let above = self.ordered(&lo, &key.value, kind, true);
                let below = self.ordered(&key.value, &hi, kind, true);
                self.b.ins().band(above, below)
            }
        })
    }

    fn value_set_holds(&mut self, id: ValueSetId, keys: &[SelectKey]) -> Value {
        let fields = &self.unit.program.value_sets[id].fields;
        let mut words = Vec::new();
        for (key, field) in keys.iter().zip(fields) {
            let width = self.width(field.ty);
            if width > 0 {
                let value = self.resized(&key.value, key.width, width);
                words.extend(value.into_iter().rev());
            }
        }
        let (set, key) = (self.imm(id.index() as i64), self.spill(&words));
        let held = self.call_helper(Helper::ValueSet, &[self.ctx, set, key]);
        self.b.ins().icmp_imm_s(IntCC::NotEqual, held, 0)
    }
}

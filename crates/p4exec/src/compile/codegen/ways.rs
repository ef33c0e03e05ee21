//! The ways through a parser, each written on its own in the function of all blocks: behind the
//! parser, code then knows which headers there are and where in the packet every field was, so that
//! it asks for neither again.

use std::collections::{HashMap, VecDeque};

use cranelift_codegen::ir::Value;
use p4ir::{ParserId, SelectCase, StateId, Target, Transition, ValidProgram};

use super::{Exits, Gen, Label};

/// Ways beyond which a parser is written once.
const MANY: usize = 64;

/// Instructions beyond which the rest of a program is not written once more for another way.
const ROOM: usize = 40_000;

/// Where a state goes on, each target once.
fn targets(transition: &Transition) -> Vec<Target> {
    let mut targets = match transition {
        Transition::Goto(target) => vec![*target],
        Transition::Select { cases, .. } => cases.iter().map(|c: &SelectCase| c.target).collect(),
    };
    let mut seen = Vec::new();
    targets.retain(|target| {
        let new = !seen.contains(target);
        seen.push(*target);
        new
    });
    targets
}

/// How many ways lead from a state to the end, if they are few; states do not come back to
/// themselves.
fn count(program: &ValidProgram, state: StateId, known: &mut HashMap<StateId, usize>) -> usize {
    if let Some(ways) = known.get(&state) {
        return *ways;
    }
    let mut ways = 0usize;
    for target in targets(&program.states[state].transition) {
        ways = ways.saturating_add(match target {
            Target::State(next) => count(program, next, known),
            Target::Accept => 1,
            Target::Reject => 0,
        });
    }
    known.insert(state, ways);
    ways
}

/// Where packets go that a parser rejects.
#[derive(Debug)]
pub(super) struct Rejections {
    /// With an error that is known only when the code runs.
    any: Label,
    /// With this error: what follows then knows it.
    known: Vec<(u64, Label)>,
}

impl Gen<'_, '_> {
    /// The label for a packet that the parser rejects.
    pub(super) fn rejection(&mut self, error: Value) -> Label {
        let label = self.exits.reject;
        let known = self.known(error);
        let new = self.label();
        match (&mut self.rejections, known) {
            (Some(rejections), Some(number)) if rejections.any == label => {
                let same = rejections.known.iter().find(|(error, _)| *error == number);
                if let Some((_, label)) = same {
                    return *label;
                }
                rejections.known.push((number, new));
                new
            }
            _ => label,
        }
    }

    /// How many ways of a parser have an end of their own: all, where the rest of the program is
    /// small enough, else as many as there is room for; none where they are too many, or go in
    /// circles.
    fn own_ends(&self, id: ParserId) -> usize {
        let program = self.unit.program;
        let start = program.parsers[id].start;
        if self.registers.is_none()
            || self.unit.looks_ahead
            || !program.state_order(start).heads.is_empty()
        {
            return 0;
        }
        let ways = count(program, start, &mut HashMap::new());
        // The blocks were written once before, each on its own.
        let room = ROOM / self.unit.instructions.max(1);
        match ways {
            0..=MANY if ways <= room => ways,
            // The others share one.
            0..=MANY => room.saturating_sub(1),
            _ => 0,
        }
    }

    /// A parser from its initialisation to its ends, which nothing follows yet: one for each way,
    /// the shortest first, and one for those beyond what there is room for; and one for each error
    /// with which it rejects.
    pub(super) fn parser_ends(&mut self, id: ParserId) -> Vec<Label> {
        let rejected = self.label();
        self.exits = Exits {
            done: rejected,
            exit: rejected,
            reject: rejected,
            abort: rejected,
        };
        let own_ends = self.own_ends(id);
        if own_ends == 0 {
            self.parser(id);
            return vec![rejected];
        }
        self.rejections = Some(Rejections {
            any: rejected,
            known: Vec::new(),
        });
        let program = self.unit.program;
        let parser = &program.parsers[id];
        self.block(&parser.init);
        let (start, others) = (self.label(), self.label());
        self.goto(start);
        let mut ends = Vec::new();
        let mut waiting = VecDeque::from([(parser.start, start)]);
        while let Some((state, label)) = waiting.pop_front() {
            self.bind(label);
            if !self.live {
                continue;
            }
            let state = &program.states[state];
            let accepts = targets(&state.transition).contains(&Target::Accept);
            self.exits.done = if accepts && ends.len() < own_ends {
                ends.push(self.label());
                ends[ends.len() - 1]
            } else {
                others
            };
            let mut labels = HashMap::new();
            for target in targets(&state.transition) {
                if let Target::State(next) = target {
                    let label = self.label();
                    labels.insert(next, label);
                    waiting.push_back((next, label));
                }
            }
            self.block(&state.body);
            if self.live {
                self.transition(&state.transition, &labels);
            }
        }
        let rejections = self.rejections.take().map(|rejections| rejections.known);
        ends.extend(rejections.into_iter().flatten().map(|(_, label)| label));
        ends.extend([others, rejected]);
        ends
    }
}

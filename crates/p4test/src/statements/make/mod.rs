//! Makes random programs that are well typed, end, and stay within their stacks. Mostly they are
//! well defined too; where they are not, the oracle notices.

mod decl;
mod expr;
mod scope;
mod stmt;

use packetgen::Choices;

use super::ast::{Arg, Code, Direction, Given, Lvalue, Program, Ty};
use scope::{Place, Scope};

/// How many places are remembered, to be named again: what aliases is what goes wrong.
const MEMORY: usize = 5;

/// A random program.
#[must_use]
pub fn program(choices: &mut Choices<'_>) -> Program {
    let empty = Program {
        functions: Vec::new(),
        parsers: Vec::new(),
        controls: Vec::new(),
    };
    let mut maker = Maker {
        choices,
        program: empty,
        code: Code::Function(0),
        scope: Scope::new(Place::Function),
        recent: Vec::new(),
    };
    maker.all();
    maker.program
}

/// A random packet for such a program: mostly long enough, with small numbers that often meet.
#[must_use]
pub fn packet(choices: &mut Choices<'_>) -> Vec<u8> {
    let length = match choices.below(12) {
        0 => choices.below(20),
        _ => 19 + choices.below(24),
    };
    let byte = |choices: &mut Choices<'_>| match choices.below(3) {
        0 => choices.below(256) as u8,
        1 => choices.below(8) as u8,
        _ => 0x11 * choices.below(16) as u8,
    };
    (0..length).map(|_| byte(choices)).collect()
}

struct Maker<'c, 'b> {
    choices: &'c mut Choices<'b>,
    program: Program,
    /// The code under way.
    code: Code,
    scope: Scope,
    /// Places named lately, whether they may be written, and their types.
    recent: Vec<(Lvalue, bool, Ty)>,
}

impl Maker<'_, '_> {
    /// True `n` times in a hundred.
    fn chance(&mut self, n: usize) -> bool {
        self.choices.below(100) < n
    }

    /// One of some things, each as often as its weight says.
    fn weighted<T: Copy>(&mut self, things: &[(usize, T)]) -> Option<T> {
        let all: usize = things.iter().map(|(weight, _)| weight).sum();
        let mut at = self.choices.below(all);
        for (weight, thing) in things {
            if at < *weight {
                return Some(*thing);
            }
            at -= weight;
        }
        None
    }

    /// A number between `low` and `high`.
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.choices.below(high - low + 1)
    }

    fn remember(&mut self, place: &Lvalue, writable: bool, ty: Ty) {
        if self.recent.len() == MEMORY {
            self.recent.remove(0);
        }
        self.recent.push((place.clone(), writable, ty));
    }

    /// Arguments for the parameters of some code, some of them by name, in another order than the
    /// parameters, or left out where the parameter has a default value; `None` if nothing in sight
    /// fits one.
    fn args(&mut self, callee: Code) -> Option<Vec<Given>> {
        let mut args = self.all_args(callee)?;
        let defaults = self.program.code(callee).defaults.clone();
        if args.first().is_some_and(|given| given.named) {
            args.retain(|given| defaults[given.param].is_none() || self.chance(50));
        } else {
            let last = |args: &[Given]| args.last().is_some_and(|g| defaults[g.param].is_some());
            while last(&args) && self.chance(50) {
                args.pop();
            }
        }
        Some(args)
    }

    /// An argument for every parameter.
    fn all_args(&mut self, callee: Code) -> Option<Vec<Given>> {
        let params: Vec<(Ty, Direction)> = {
            let callable = self.program.code(callee);
            callable.params().map(|(var, d)| (var.ty, d)).collect()
        };
        let named = self.chance(40);
        let mut args = Vec::new();
        for (param, (ty, direction)) in params.into_iter().enumerate() {
            let arg = match direction {
                Direction::In | Direction::None => Arg::Value(self.source(ty, 1)?),
                Direction::Out | Direction::InOut => Arg::Place(self.lvalue(ty, true)?),
            };
            args.push(Given { param, named, arg });
        }
        if named {
            for at in 1..args.len() {
                let other = self.choices.below(at + 1);
                args.swap(at, other);
            }
        }
        Some(args)
    }
}

//! The least part of a program that still goes wrong, as far as leaving out goes.

use super::ast::{Arg, Block, Expr, Program, Source, Stmt};
use super::walk::{self, Visitor};

/// Makes a program smaller as long as `fails` says that it still goes wrong; it is asked `most`
/// times.
pub(super) fn shrink(
    program: Program,
    most: usize,
    mut fails: impl FnMut(&Program) -> bool,
) -> Program {
    let mut best = program;
    let mut left = most;
    loop {
        let before = best.clone();
        for way in Reduction::ALL {
            let mut at = 0;
            while left > 0 {
                let mut smaller = best.clone();
                let mut edit = Edit {
                    way,
                    at,
                    done: false,
                };
                walk::program(&mut smaller, &mut edit);
                if !edit.done {
                    break;
                }
                left -= 1;
                // What was left out makes room for what came behind.
                if smaller != best && fails(&smaller) {
                    best = smaller;
                } else {
                    at += 1;
                }
            }
        }
        if best == before || left == 0 {
            return best;
        }
    }
}

/// A way to make a program smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    /// A statement is left out.
    Remove,
    /// A branch stands for the whole statement: the first, the other.
    Then,
    Else,
    /// A number is put in place of a larger one: an operand, or zero.
    Operand,
    Second,
    Zero,
}

impl Reduction {
    const ALL: [Self; 6] = [
        Self::Remove,
        Self::Then,
        Self::Else,
        Self::Operand,
        Self::Second,
        Self::Zero,
    ];
}

/// One change, at the `at`th place where its way applies.
struct Edit {
    way: Reduction,
    at: usize,
    done: bool,
}

impl Edit {
    /// Whether this is the place.
    fn here(&mut self) -> bool {
        if self.done {
            return false;
        }
        self.done = self.at == 0;
        self.at = self.at.saturating_sub(1);
        self.done
    }
}

impl Visitor for Edit {
    fn block(&mut self, block: &mut Block) {
        for index in 0..block.len() {
            let branch = match (&block[index], self.way) {
                (_, Reduction::Remove) => Some(Vec::new()),
                (Stmt::If(_, then, _), Reduction::Then) => Some(then.clone()),
                (Stmt::If(_, _, other), Reduction::Else) => Some(other.clone()),
                (Stmt::Switch(_, cases, _), Reduction::Then) => cases.first().map(|c| c.1.clone()),
                (Stmt::Switch(_, _, default), Reduction::Else) => Some(default.clone()),
                (Stmt::SwitchAction(table, ..), Reduction::Then) => Some(vec![Stmt::Apply(*table)]),
                _ => None,
            };
            if let Some(branch) = branch
                && self.here()
            {
                block.splice(index..=index, branch);
                return;
            }
        }
    }

    fn number(&mut self, e: &mut Expr) {
        let smaller = match (&*e, self.way) {
            (Expr::Binary(_, a, _) | Expr::Mux(_, a, _) | Expr::Not(a), Reduction::Operand) => {
                Some((**a).clone())
            }
            (Expr::Binary(_, _, b) | Expr::Mux(_, _, b), Reduction::Second) => Some((**b).clone()),
            (Expr::Call(_, args), Reduction::Operand) => {
                args.iter().find_map(|given| match &given.arg {
                    Arg::Value(Source::Number(e)) => Some(e.clone()),
                    Arg::Place(place) => Some(Expr::Read(place.clone())),
                    Arg::Value(_) => None,
                })
            }
            (Expr::Const(..), _) => None,
            (_, Reduction::Zero) => width(e).map(|width| Expr::Const(width, 0)),
            _ => None,
        };
        if let Some(smaller) = smaller
            && self.here()
        {
            *e = smaller;
        }
    }
}

/// The width of a number, where it says so itself.
fn width(e: &Expr) -> Option<u32> {
    match e {
        Expr::Const(width, _) | Expr::Cast(width, _) => Some(*width),
        Expr::Binary(_, a, _) | Expr::Mux(_, a, _) | Expr::Not(a) => width(a),
        Expr::Read(place) => place.slice.map(|(hi, lo)| hi - lo + 1),
        Expr::Call(..) => None,
    }
}

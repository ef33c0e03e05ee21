//! Random places, numbers and truth values.

use super::super::ast::{
    Code, Cond, ELEMENTS, Expr, INDEX, Lvalue, Op, Record, Source, Step, Test, Ty,
};
use super::super::value::ones;
use super::Maker;
use super::scope::{Hop, Path, Place};

impl Maker<'_, '_> {
    /// A place of a type: one named lately, a part of something in sight, or bits of a wider
    /// number.
    pub(super) fn lvalue(&mut self, ty: Ty, writable: bool) -> Option<Lvalue> {
        if self.chance(35)
            && let Some(known) = self.known_place(ty, writable)
        {
            return Some(known);
        }
        let wanted = |found: Ty| match (found, ty) {
            (Ty::Bits(has), Ty::Bits(wants)) => has >= wants,
            (found, ty) => found == ty,
        };
        let mut paths = self.scope.paths(writable, wanted);
        let exact = paths.iter().any(|p| p.ty == ty);
        if exact && self.chance(70) {
            paths.retain(|p| p.ty == ty);
        }
        let path = self.choices.pick(&paths)?.clone();
        let place = self.place(&path);
        self.remember(&place, writable, path.ty);
        Some(self.cut(place, path.ty, ty))
    }

    /// A place named lately, or bits of it.
    fn known_place(&mut self, ty: Ty, writable: bool) -> Option<Lvalue> {
        let fits = |(_, may, found): &&(Lvalue, bool, Ty)| {
            let wide = match (*found, ty) {
                (Ty::Bits(has), Ty::Bits(wants)) => has >= wants,
                (found, ty) => found == ty,
            };
            wide && (*may || !writable)
        };
        let all: Vec<_> = self.recent.iter().filter(fits).cloned().collect();
        let (place, _, found) = self.choices.pick(&all)?.clone();
        Some(self.cut(place, found, ty))
    }

    /// Bits of a place, if it is wider than wanted: often the lowest, so that indices meet.
    fn cut(&mut self, place: Lvalue, has: Ty, wants: Ty) -> Lvalue {
        let (Ty::Bits(has), Ty::Bits(wants)) = (has, wants) else {
            return place;
        };
        if has == wants {
            return place;
        }
        let lo = match self.chance(60) {
            true => 0,
            false => self.choices.below((has - wants) as usize + 1) as u32,
        };
        Lvalue {
            slice: Some((lo + wants - 1, lo)),
            ..place
        }
    }

    fn place(&mut self, path: &Path) -> Lvalue {
        let mut steps = Vec::new();
        for hop in &path.hops {
            steps.push(match hop {
                Hop::Field(field) => Step::Field(*field),
                Hop::Element if self.chance(45) => Step::Index(self.choices.below(ELEMENTS)),
                Hop::Element => Step::Moving(Box::new(self.index())),
            });
        }
        Lvalue {
            var: path.var,
            steps,
            slice: None,
        }
    }

    fn index(&mut self) -> Expr {
        let depth = usize::from(self.chance(25));
        // What holds a moving index itself would nest without end.
        let plain = |e: &Expr| !matches!(e, Expr::Const(..));
        let mut index = self.number(INDEX, depth);
        if !plain(&index) && self.chance(70) {
            index = self.number(INDEX, depth);
        }
        index
    }

    /// A value of any type; `None` if nothing in sight has it.
    pub(super) fn source(&mut self, ty: Ty, depth: usize) -> Option<Source> {
        let record = match ty {
            Ty::Bits(width) => return Some(Source::Number(self.number(width, depth))),
            Ty::Record(record @ (Record::Element | Record::Pair | Record::Fields)) => Some(record),
            _ => None,
        };
        let listed = record.is_some() && self.chance(40);
        let copied = match listed {
            true => None,
            false => self.lvalue(ty, false),
        };
        match (copied, record) {
            (Some(place), _) => Some(Source::Copy(place)),
            (None, Some(record)) => {
                let widths = record.fields().iter().filter_map(|(_, ty)| match ty {
                    Ty::Bits(width) => Some(*width),
                    _ => None,
                });
                let all = widths.map(|w| self.number(w, depth.min(1)));
                Some(Source::List(all.collect()))
            }
            (None, None) => None,
        }
    }

    /// A number of some width.
    pub(super) fn number(&mut self, width: u32, depth: usize) -> Expr {
        let deeper = usize::from(depth > 0);
        let straight = usize::from(self.scope.place != Place::Parser);
        let kinds = [
            (20, 'c'),
            (45, 'r'),
            (25 * deeper, 'b'),
            (20 * deeper, 'f'),
            (6 * deeper, 'w'),
            (5 * deeper * straight, 'm'),
            (4 * deeper, 'n'),
        ];
        let made = match self.weighted(&kinds).unwrap_or('c') {
            'r' => self.lvalue(Ty::Bits(width), false).map(Expr::Read),
            'b' => Some(self.binary(width, depth - 1)),
            'f' => self.result(width),
            'w' => {
                let from = self.width();
                let inner = self.number(from, depth - 1);
                (from != width).then(|| Expr::Cast(width, Box::new(inner)))
            }
            'm' => {
                let cond = self.cond(depth - 1);
                let (a, b) = (self.number(width, depth - 1), self.number(width, depth - 1));
                Some(Expr::Mux(Box::new(cond), Box::new(a), Box::new(b)))
            }
            'n' => Some(Expr::Not(Box::new(self.number(width, depth - 1)))),
            _ => None,
        };
        made.unwrap_or_else(|| self.constant(width))
    }

    fn binary(&mut self, width: u32, depth: usize) -> Expr {
        let ops = [Op::Add, Op::Add, Op::Sub, Op::And, Op::Or, Op::Xor];
        let op = self.choices.pick(&ops).copied().unwrap_or(Op::Add);
        let (a, b) = (self.number(width, depth), self.number(width, depth));
        Expr::Binary(op, Box::new(a), Box::new(b))
    }

    /// The result of a function, cast if it has another width.
    fn result(&mut self, width: u32) -> Option<Expr> {
        if self.scope.calls == 0 {
            return None;
        }
        let with_result = |f: &&usize| self.program.functions[**f].result.is_some();
        let able: Vec<usize> = self
            .scope
            .functions
            .iter()
            .filter(with_result)
            .copied()
            .collect();
        let function = *self.choices.pick(&able)?;
        self.scope.calls -= 1;
        let args = self.args(Code::Function(function))?;
        let call = Expr::Call(function, args);
        let given = self.program.functions[function].result.as_ref()?.0;
        Some(match given == width {
            true => call,
            false => Expr::Cast(width, Box::new(call)),
        })
    }

    pub(super) fn constant(&mut self, width: u32) -> Expr {
        let value = match self.choices.below(3) {
            0 => self.choices.number(),
            _ => self.choices.below(6) as u64,
        };
        Expr::Const(width, value & ones(width))
    }

    /// A width, mostly of a byte.
    pub(super) fn width(&mut self) -> u32 {
        self.weighted(&[(60, 8), (12, 16), (14, 2), (14, 4)])
            .unwrap_or(8)
    }

    /// The condition of an `if`, which may apply a table.
    pub(super) fn if_cond(&mut self) -> Cond {
        let cond = self.cond(1);
        if self.scope.tables.is_empty() || !self.chance(25) {
            return cond;
        }
        let at = self.choices.below(self.scope.tables.len());
        let hit = Cond::Hit(self.scope.tables.remove(at));
        match self.choices.below(4) {
            0 => Cond::Not(Box::new(hit)),
            1 => Cond::And(Box::new(cond), Box::new(hit)),
            2 => Cond::Or(Box::new(hit), Box::new(cond)),
            _ => hit,
        }
    }

    pub(super) fn cond(&mut self, depth: usize) -> Cond {
        let deeper = usize::from(depth > 0);
        let kinds = [
            (60, 'c'),
            (15, 'v'),
            (8 * deeper, 'n'),
            (10 * deeper, 'a'),
            (10 * deeper, 'o'),
        ];
        match self.weighted(&kinds).unwrap_or('c') {
            'v' => {
                if let Some(header) = self.lvalue(Ty::Record(Record::Element), false) {
                    return Cond::IsValid(header);
                }
            }
            'n' => return Cond::Not(Box::new(self.cond(depth - 1))),
            'a' | 'o' if depth > 0 => {
                let (a, b) = (self.cond(depth - 1), self.cond(depth - 1));
                let (a, b) = (Box::new(a), Box::new(b));
                return match self.chance(50) {
                    true => Cond::And(a, b),
                    false => Cond::Or(a, b),
                };
            }
            _ => {}
        }
        let tests = [Test::Equal, Test::Unequal, Test::Less, Test::AtLeast];
        let test = self.choices.pick(&tests).copied().unwrap_or(Test::Equal);
        let width = self.width();
        Cond::Compare(test, self.number(width, depth), self.number(width, depth))
    }
}

//! Random expressions of every operator and width: compiled code computes what the interpreter
//! does.

use std::sync::Arc;

use p4exec::{ExecutorKind, Outputs, executor};
use p4ir::*;
use proptest::prelude::*;
use quantities::{Nanos, PortId};

use super::build::*;

/// A fixed sequence that looks random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Mostly up to 128, where machine words begin and end more often than elsewhere.
    fn width(&mut self) -> u32 {
        let edges = [1, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200];
        match self.below(3) {
            0 => edges[self.below(edges.len() as u64) as usize],
            _ => 1 + self.below(128) as u32,
        }
    }

    /// Often zero, one, all ones, or the extremes of `int<width>`.
    fn value(&mut self, width: u32) -> BigUint {
        let one = BigUint::from(1u32);
        let all = (&one << width) - &one;
        match self.below(8) {
            0 => BigUint::ZERO,
            1 => one & &all,
            2 => all,
            3 => &one << (width - 1),
            4 => (&one << (width - 1)) - &one,
            5 => BigUint::from(self.below(200)) & all,
            _ => {
                let words: Vec<u32> = (0..width.div_ceil(32))
                    .map(|_| self.next() as u32)
                    .collect();
                BigUint::new(words) & all
            }
        }
    }
}

struct Expressions {
    b: Build,
    random: Random,
    /// Assigns the variables that expressions read.
    setup: Block,
}

impl Expressions {
    fn ty(&mut self, width: u32, signed: bool) -> TypeId {
        self.b.p.types.intern(Type::Bits { width, signed })
    }

    fn add(&mut self, kind: ExprKind, ty: TypeId) -> ExprId {
        self.b.p.add_expr(kind, ty)
    }

    fn constant(&mut self, width: u32, signed: bool) -> ExprId {
        let value = self.random.value(width);
        let ty = self.ty(width, signed);
        self.add(ExprKind::Const(Const::Bits(value)), ty)
    }

    /// A variable with a value the compiler cannot know: a constant xor a field of the packet,
    /// which is zero when it comes.
    fn variable(&mut self, width: u32, signed: bool) -> ExprId {
        let ty = self.ty(width, signed);
        let var = self.b.p.vars.push(Var {
            name: "v".into(),
            ty,
            kind: VarKind::Local,
            span: Span::default(),
        });
        let op = self.b.read(&Build::header().field(0));
        let op = self.add(ExprKind::Cast(op), ty);
        let value = self.constant(width, signed);
        let value = self.add(ExprKind::Binary(BinaryOp::BitXor, value, op), ty);
        self.setup.push(stmt(StmtKind::Assign(Assign {
            dst: Place::var(var),
            value,
        })));
        self.add(ExprKind::Read(Place::var(var)), ty)
    }

    fn bits(&mut self, width: u32, signed: bool, depth: u32) -> ExprId {
        let ty = self.ty(width, signed);
        if depth == 0 {
            return if self.random.below(4) == 0 {
                self.constant(width, signed)
            } else {
                self.variable(width, signed)
            };
        }
        let next = depth - 1;
        let kind = match self.random.below(10) {
            0 => {
                let op = [UnaryOp::Neg, UnaryOp::BitNot][self.random.below(2) as usize];
                ExprKind::Unary(op, self.bits(width, signed, next))
            }
            1..=3 => {
                use BinaryOp::*;
                let ops = [
                    Add, Sub, AddSat, SubSat, Mul, Div, Mod, BitAnd, BitOr, BitXor,
                ];
                let op = ops[self.random.below(10) as usize];
                let (a, b) = (
                    self.bits(width, signed, next),
                    self.bits(width, signed, next),
                );
                ExprKind::Binary(op, a, b)
            }
            4 => {
                let op = [BinaryOp::Shl, BinaryOp::Shr][self.random.below(2) as usize];
                let by = self.random.width();
                let (a, b) = (self.bits(width, signed, next), self.bits(by, false, 0));
                ExprKind::Binary(op, a, b)
            }
            5 if width > 1 => {
                let left = 1 + self.random.below(u64::from(width) - 1) as u32;
                let other = self.random.below(2) == 0;
                let (a, b) = (
                    self.bits(left, signed, next),
                    self.bits(width - left, other, next),
                );
                ExprKind::Binary(BinaryOp::Concat, a, b)
            }
            6 | 5 => {
                let (from, from_signed) = (self.random.width(), self.random.below(2) == 0);
                ExprKind::Cast(self.bits(from, from_signed, next))
            }
            7 if !signed => {
                let lo = self.random.below(70) as u32;
                let whole = width + lo + self.random.below(10) as u32;
                let value = self.bits(whole, self.random.0.is_multiple_of(2), next);
                ExprKind::Slice {
                    value,
                    hi: lo + width - 1,
                    lo,
                }
            }
            8 if width == 1 => ExprKind::Cast(self.boolean(next)),
            _ => {
                let cond = self.boolean(next);
                let (then, other) = (
                    self.bits(width, signed, next),
                    self.bits(width, signed, next),
                );
                ExprKind::Mux { cond, then, other }
            }
        };
        self.add(kind, ty)
    }

    fn boolean(&mut self, depth: u32) -> ExprId {
        let ty = self.b.p.types.boolean();
        let next = depth.saturating_sub(1);
        let kind = match self.random.below(if depth == 0 { 4 } else { 8 }) {
            5 => ExprKind::Unary(UnaryOp::Not, self.boolean(next)),
            6 => {
                let op = [BinaryOp::And, BinaryOp::Or][self.random.below(2) as usize];
                let (a, b) = (self.boolean(next), self.boolean(next));
                ExprKind::Binary(op, a, b)
            }
            7 => ExprKind::Cast(self.bits(1, false, next)),
            _ => {
                use BinaryOp::*;
                let op = [Eq, Ne, Lt, Le, Gt, Ge][self.random.below(6) as usize];
                let (width, signed) = (self.random.width(), self.random.below(2) == 0);
                let (a, b) = (
                    self.bits(width, signed, next),
                    self.bits(width, signed, next),
                );
                ExprKind::Binary(op, a, b)
            }
        };
        self.add(kind, ty)
    }

    /// A program that digests the values of random expressions.
    fn program(seed: u64) -> Arc<ValidProgram> {
        let mut this = Self {
            b: Build::new(),
            random: Random(seed),
            setup: Vec::new(),
        };
        let mut values = Vec::new();
        for _ in 0..8 {
            let depth = this.random.below(4) as u32;
            let (width, signed) = (this.random.width(), this.random.below(2) == 0);
            values.push(this.bits(width, signed, depth));
        }
        let receiver = this.b.number(32, 1);
        let ty = this.b.p.vars[Build::var(META)].ty;
        let digest = Build::call(
            "digest",
            vec![ExternArg::In(receiver), ExternArg::Fields { ty, values }],
        );
        let mut ingress = std::mem::take(&mut this.setup);
        ingress.push(digest);
        this.b.finish(ingress, vec![])
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn compiled_expressions_have_the_interpreters_values(seed: u64) {
        let program = Expressions::program(seed);
        let values = ExecutorKind::ALL.map(|kind| {
            let mut switch = executor(kind, Arc::clone(&program)).unwrap();
            let mut out = Outputs::default();
            switch.process(Nanos::new(0), &[0, 0], PortId::new(1), &mut out);
            switch.state_mut().data.digests.take()
        });
        prop_assert_eq!(values[0].len(), 1);
        prop_assert_eq!(&values[0], &values[1]);
    }
}

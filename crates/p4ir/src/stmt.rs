//! Statements: everything that changes something.

use serde::{Deserialize, Serialize};

use crate::Span;
use crate::entity::{
    ActionId, ControlId, ExprId, ExternId, FunctionId, ParserId, TableId, TypeId, VarId,
};
use crate::expr::{Const, Place};
use crate::externs::ExternCallee;

/// Statements run in order.
pub type Block = Vec<Stmt>;

/// A statement and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands in the source.
    pub span: Span,
}

/// `dst = value`. A value of aggregate type is a [`crate::ExprKind::Read`]; source and destination
/// may overlap only if they are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assign {
    /// Where to.
    pub dst: Place,
    /// What.
    pub value: ExprId,
}

/// What a [`StmtKind::Call`] runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Callee {
    /// An action called directly.
    Action(ActionId),
    /// A function.
    Function(FunctionId),
    /// A control's `apply`.
    Control(ControlId),
    /// A subparser's `apply`; only in parsers.
    Parser(ParserId),
}

/// One argument of an extern call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExternArg {
    /// A scalar passed in.
    In(ExprId),
    /// An aggregate passed in, as its scalar leaves in order (validity and `nextIndex` left out).
    Fields {
        /// Type of the aggregate.
        ty: TypeId,
        /// Its leaves.
        values: Vec<ExprId>,
    },
    /// `out`: written by the extern.
    Out(Place),
    /// `inout`: read and written by the extern.
    InOut(Place),
    /// An extern object passed by reference.
    Object(ExternId),
    /// `_` or an omitted optional argument.
    Omitted,
}

/// A call to an extern function or method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternCall {
    /// What is called.
    pub callee: ExternCallee,
    /// Type arguments, inferred or given, of the function or method itself.
    pub type_args: Vec<TypeId>,
    /// Arguments in declaration order.
    pub args: Vec<ExternArg>,
    /// Where the return value goes.
    pub result: Option<Place>,
}

/// One branch of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchCase {
    /// Values that take this branch, of the type of the switched expression.
    pub labels: Vec<Const>,
    /// What it runs.
    pub body: Block,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StmtKind {
    /// `dst = value`, scalar or aggregate.
    Assign(Assign),
    /// `dst[hi:lo] = value`: `dst` is bits, `value` is `bit<hi - lo + 1>`.
    AssignSlice {
        /// The whole.
        dst: Place,
        /// Most significant bit written.
        hi: u32,
        /// Least significant bit written.
        lo: u32,
        /// New bits.
        value: ExprId,
    },
    /// Zeroes a place: scalars zero, headers invalid with zero fields, `nextIndex` 0.
    Reset(Place),
    /// Makes a header valid. If it was invalid its fields become zero; if valid, nothing changes.
    SetValid(Place),
    /// Makes a header invalid.
    SetInvalid(Place),
    /// `stack.push_front(count)`: shifts elements towards higher indices; new ones are invalid;
    /// `nextIndex` grows by `count`, at most to the size.
    PushFront {
        /// The stack.
        stack: Place,
        /// By how many elements, at least 1.
        count: u32,
    },
    /// `stack.pop_front(count)`: the reverse; `nextIndex` falls by `count`, at least to 0.
    PopFront {
        /// The stack.
        stack: Place,
        /// By how many elements, at least 1.
        count: u32,
    },
    /// Conditional.
    If {
        /// A bool.
        cond: ExprId,
        /// Run if true.
        then: Block,
        /// Run if false.
        other: Block,
    },
    /// Multi-way branch on a scalar; labels are distinct, there is no fall-through.
    Switch {
        /// The scalar.
        value: ExprId,
        /// Branches.
        cases: Vec<SwitchCase>,
        /// Run if no label matches.
        default: Block,
    },
    /// `loop { head; if !cond break; body; step }`; `continue` in the body goes to `step`.
    Loop {
        /// Run before each test: hoisted parts of the condition.
        head: Block,
        /// A bool.
        cond: ExprId,
        /// The body.
        body: Block,
        /// Run after the body.
        step: Block,
        /// Rounds that one round counts as, at least 1 (see [`crate::limits::STEPS_PER_ROUND`]);
        /// written by [`crate::validate`].
        rounds: u32,
    },
    /// Leaves the innermost loop.
    Break,
    /// Next round of the innermost loop.
    Continue,
    /// Ends the innermost callable. A function's value was stored before.
    Return,
    /// Ends the top-level block.
    Exit,
    /// Runs a callee between copies in and out.
    Call {
        /// Who.
        callee: Callee,
        /// Run before, in order.
        copy_in: Vec<Assign>,
        /// Run after, in order, also if the callee exits or rejects: nothing but
        /// [`StmtKind::Assign`], [`StmtKind::AssignSlice`], [`StmtKind::SetInvalid`], and
        /// [`StmtKind::If`] around these.
        copy_out: Block,
    },
    /// Applies a table.
    ApplyTable {
        /// The table.
        table: TableId,
        /// A bool variable that receives `hit`.
        hit: Option<VarId>,
        /// A `bit<32>` variable that receives the index of the action run in
        /// [`crate::Table::actions`].
        action_run: Option<VarId>,
    },
    /// Calls an extern function or method.
    Extern(ExternCall),
    /// Parser: takes a header of fixed size from the packet. Raises `PacketTooShort`.
    Extract {
        /// The header.
        header: Place,
        /// Increment the `nextIndex` of this stack afterwards.
        advance: Option<Place>,
    },
    /// Parser: the same for a header with one varbit field, whose length in bits is `size`.
    ExtractVarbit {
        /// The header.
        header: Place,
        /// Length of the varbit field in bits, a `bit<32>`.
        size: ExprId,
        /// Increment the `nextIndex` of this stack afterwards.
        advance: Option<Place>,
    },
    /// Parser: reads the bits ahead into a place without consuming them; a header becomes valid.
    Lookahead {
        /// Scalar, struct, tuple or header of fixed size.
        dst: Place,
    },
    /// Parser: skips bits; `bit<32>`. Raises `PacketTooShort`.
    Advance {
        /// How many bits.
        bits: ExprId,
    },
    /// Parser: raises `error` unless `cond` holds.
    Verify {
        /// A bool.
        cond: ExprId,
        /// An error.
        error: ExprId,
    },
    /// Deparser: appends the header to the outgoing packet if it is valid.
    Emit {
        /// The header.
        header: Place,
    },
}

impl StmtKind {
    /// The blocks directly inside a statement that branches or loops, in order.
    #[must_use]
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Self::If { then, other, .. } => vec![then, other],
            Self::Switch { cases, default, .. } => {
                let cases = cases.iter().map(|case| &case.body);
                cases.chain(std::iter::once(default)).collect()
            }
            Self::Loop {
                head, body, step, ..
            } => vec![head, body, step],
            _ => Vec::new(),
        }
    }
}

//! Typed intermediate representation of a P4_16 program.
//!
//! A [`Program`] is what a front end hands to an executor: every name is resolved, every type is
//! monomorphic, every compile-time expression is folded, every instance is its own block. There is
//! nothing left to look up. [`validate`] turns a `Program` into a [`ValidProgram`], the only thing
//! an executor accepts, so that executors need no error paths for malformed input.
//!
//! ```
//! use p4ir::{Const, ExprKind, Program, Type, validate};
//!
//! let mut program = Program::default();
//! let boolean = program.types.intern(Type::Bool);
//! program.add_expr(ExprKind::Const(Const::Bool(true)), boolean);
//! assert!(validate(program.clone()).is_ok());
//!
//! // A number is no `bool`: every such fault is listed.
//! program.add_expr(ExprKind::Const(Const::Bits(1_u8.into())), boolean);
//! let errors = validate(program).expect_err("a wrong constant");
//! assert_eq!(errors.len(), 1);
//! ```
//!
//! The crate `p4front` makes programs from text, `bmv2json` from p4c's JSON; `p4exec` runs them.
//!
//! A `Program` can be written down and read back (serde), so that one process may build it and
//! another run it; what was read back goes through [`validate`] again.
//!
//! # Storage: everything is static
//!
//! P4 has no recursion, so each parameter, local variable and temporary of each callable has *one*
//! slot for the whole program, a [`VarId`]. A variable that holds a struct, header or stack is one
//! `VarId`; a [`Place`] names a part of it (`var` plus projections). [`Layout`] flattens all
//! variables into numbered scalar leaves, so that an executor may keep one flat array per packet
//! and allocate nothing while packets flow.
//!
//! Slots keep their contents between calls and between packets. Lowering therefore writes
//! [`StmtKind::Reset`] wherever the language creates a fresh value (a local without initialiser, an
//! `out` parameter on entry). An executor must not clear anything on its own, except what the
//! architecture clears per packet (the user and standard metadata of v1model, see below).
//!
//! # Values
//!
//! * `bit<N>` and `int<N>` of any width from 0 up; `int<N>` is kept as its two's complement bits,
//!   and [`Const::Bits`] holds those bits as a non-negative number below 2^N.
//! * A serialisable enum has become its `bit<N>`/`int<N>`; a `type T2 = T` newtype has become `T`.
//!   Plain enums and `error` are indices into their member lists.
//! * `varbit<N>` is a current length (0..=N) and that many bits.
//! * A header is a validity bit and its fields; a header stack is `nextIndex` and its elements; a
//!   header union is laid out as a struct of headers: lowering writes out, as ordinary statements,
//!   that making one member valid makes the others invalid.
//! * Uninitialised values are **zero** (false, `error.NoError`, first enum member, empty varbit,
//!   invalid header). The language leaves them undefined; both executors agree on zero.
//! * Fields of an *invalid* header: the language leaves reads undefined and writes without effect
//!   on anything that can be observed. Here a header's fields keep their storage when it turns
//!   invalid: reading returns the last value stored, except that [`StmtKind::SetValid`] on an
//!   invalid header and [`StmtKind::Reset`] zero the fields (so a fresh header never shows an
//!   earlier packet's data). Copying a header copies the validity bit *and* the fields.
//! * Indexing a stack beyond its size: a read yields zero or an invalid header, a write is ignored.
//!
//! # Expressions are pure
//!
//! An [`Expr`] reads storage and computes; it never changes anything and never fails. Whatever has
//! an effect (calls, table application, extern methods, `lookahead`) was hoisted by lowering into
//! statements that write temporaries, in the evaluation order P4 prescribes: left to right,
//! operands before operation, and the right side of `&&`, `||` and the arms of `?:` only if they
//! are reached. Where the arms have no effects they stay expressions, and an executor may evaluate
//! both.
//!
//! Every expression has a scalar type, with one exception: [`ExprKind::Read`] of a place of any
//! type may stand as the value of an [`Assign`], where it copies the whole aggregate. Comparing
//! aggregates, `?:` on aggregates, list and struct expressions were expanded into scalar work by
//! lowering.
//!
//! Arithmetic: `Add`, `Sub`, `Mul`, `Neg` wrap at the width; `AddSat`/`SubSat` saturate by the
//! type's signedness; a shift by the width or more gives 0 (or all sign bits for `Shr` of
//! `int<N>`); `Div`/`Mod` by zero give 0. Comparison follows the operands' signedness. `Cast`
//! between bit types extends by the *source's* signedness, then truncates.
//!
//! # Calls: copy in, run, copy out
//!
//! [`StmtKind::Call`] lists the copies explicitly. `copy_in` are run in order, then the callee's
//! body, then `copy_out` in order, **also when the callee ended by `exit` or a parser rejected**. A
//! function's result is one of the copies out; a slice is copied out as a slice, and a member of a
//! union takes the validity of the others.
//!
//! Lowering keeps to P4_16, section 6.8, as follows.
//!
//! * Arguments are evaluated from left to right, each before the next: its value, if the parameter
//!   is `in` or `inout`, and *where* it is, if it is `out` or `inout`. Stack indices and the moving
//!   ends of slices are put into temporaries then. So nothing that a later argument, the callee or
//!   an earlier copy out does changes what is passed or where a result goes. The left side of an
//!   assignment is evaluated before the right side, and saved in the same way if the right side has
//!   effects.
//! * No two parameters share storage while the callee runs, and of two copies out to one place the
//!   last one wins.
//! * Lowering omits the copies of a parser's or control's parameter where nobody can tell: where
//!   the argument is a whole place, known when the program is compiled, of which no other argument
//!   of the call has any part. Such a callee works on the caller's `VarId`, and the call has no
//!   copy for that parameter. That is decided where an instance is first applied. Another call of
//!   the same instance whose arguments are other places, or share storage, borrows that storage: it
//!   saves it, passes its own values through it, and restores it before it copies out.
//! * An `out` parameter starts out reset, whatever its argument held.
//!
//! * `return` ends the innermost callable (action, function, control, parser state machine
//!   excluded).
//! * `exit` ends the whole top-level block (ingress, egress, ...), running copies out on the way.
//!   In an action run by a table it ends the block of the control that applied the table as well.
//!
//! # Tables
//!
//! [`StmtKind::ApplyTable`] runs the table's `prologue`, evaluates the keys in order, finds the
//! entry, writes the action data into the action's parameters, and runs the action (with the
//! table-bound copies of [`TableAction`]). It then stores `hit` (an entry matched; the default
//! action is a miss) and `action_run` (index into [`Table::actions`]) where the program asks for
//! them. They are stored even if the action exits, but nobody can see that. A selector or profile
//! that leads to an empty group runs no action member: the executor runs the default action, and
//! reports a hit. A selector picks by the low 32 bits of its hash modulo the number of live places,
//! as BMv2 does: the `outputWidth` of its constructor means nothing.
//!
//! Initial entries: [`Entry::priority`] is normalised so that the *larger number wins*, whatever
//! the source said; entries of a table that needs no priorities have 0. For LPM tables the longer
//! prefix wins.
//!
//! # Parsers
//!
//! A parser is a set of states. Run [`Parser::init`], then the start state: its body, then its
//! transition. A `select` without a matching case rejects, as the state `reject` does:
//! `parser_error` stays `NoError`. P4_16 wants `error.NoMatch` there, so lowering adds a case that
//! raises it; BMv2 raises nothing, and so programs read from its JSON have no such case. A failing
//! [`StmtKind::Verify`], an extraction beyond the packet (`PacketTooShort`) or a varbit longer than
//! its maximum (`HeaderTooShort`) raises its error: the error is recorded and the state machine
//! goes to *reject*, at any nesting depth of subparsers; an extraction that fails changes nothing.
//! Using `stack.next`/`stack.last` out of bounds raises `StackOutOfBounds`: lowering writes the
//! check as a `Verify` before the use, and the index as an expression over `nextIndex`. `Extract`
//! with `advance` increments that stack's `nextIndex` after success. A subparser that accepts
//! returns to its caller; one that rejects rejects the whole parser.
//!
//! The *core* errors come first in [`Program::errors`], in the order of `core.p4`. Extraction makes
//! the header valid and overwrites all its fields. A parser may loop without consuming input: see
//! below.
//!
//! # Bounds
//!
//! No valid program works on a packet for long. What one pass through a block of the pipeline costs
//! without its loops is known when the program is validated, and bounded
//! ([`limits::Limit::Steps`]). Rounds of loops and states of cyclic parsers are counted:
//! [`StmtKind::Loop`] and [`State`] say how many rounds ([`limits::STEPS_PER_ROUND`] steps each)
//! one stands for, and a pass may spend [`limits::ROUNDS`] of them. Beyond that a parser rejects
//! with `ParserTimeout`, and anything else drops the packet.
//!
//! # Externs
//!
//! Extern objects are instances ([`ExternInstance`]) with compile-time constructor arguments. Calls
//! name a callee ([`ExternCallee`]) that was resolved when the program was made, and arguments in
//! declaration order, each [`ExternArg`] by its direction; an argument of aggregate type is given
//! as the list of its scalar leaves ([`ExternArg::Fields`]), header fields in order, validity left
//! out. An algorithm is a member of an enum, or the list of what describes a CRC ([`CRC_PARTS`]).
//! Names and argument orders are those of the architecture's `.p4` file.
//!
//! # The packet path of v1model
//!
//! [`Program::pipeline`] gives the six blocks. Lowering makes all six use the same three variables
//! for headers, user metadata and standard metadata, so nothing is copied between blocks. Per
//! packet, an executor does what BMv2's `simple_switch` does:
//!
//! 1. Zero user and standard metadata; set `ingress_port`, `packet_length`, `instance_type` = 0
//!    (normal), timestamps. Parse. A parser error sets `standard_metadata.parser_error`; the
//!    packet goes on to ingress all the same, with what was extracted so far. What the parser did
//!    not consume is the payload.
//! 2. `verifyChecksum`: a failing `verify_checksum` sets `checksum_error` = 1 and goes on.
//! 3. Ingress. Afterwards, in this order: a requested clone (ingress-to-egress; the *unmodified*
//!    packet as it came, parsed again), the digest, a resubmit (the original packet starts over
//!    with instance type 6, whatever `egress_spec` and `mcast_grp` say), then, if `mcast_grp` != 0,
//!    multicast (whatever `egress_spec` says); else if `egress_spec` is the drop port (511), drop;
//!    else unicast to `egress_spec`. `mark_to_drop` sets `egress_spec` to 511 and `mcast_grp` to 0.
//!    Of several calls of `clone`, `resubmit`, `recirculate` or `digest` in one block the last
//!    counts. A session or group that does not exist has no copies.
//! 4. Egress per copy: `egress_port` and `egress_rid` set, `instance_type` 0 normal (also of what
//!    was resubmitted or recirculated before), 1 ingress clone, 2 egress clone, 5 replicated;
//!    ingress sees 4 recirculated, 6 resubmitted. `egress_spec` is set to 0 on entry, so 511 at the
//!    end of egress means: drop; any other value and `mcast_grp` mean nothing. Then an egress clone
//!    is made, with the headers as egress left them, even of a packet that egress drops, and enters
//!    egress again.
//! 5. `computeChecksum`, then deparse: emitted headers, then the payload. A recirculated packet is
//!    that, and starts over with instance type 4. Otherwise `truncate(n)` cuts the result to n
//!    bytes, the least n of all calls in ingress and egress. Truncation belongs to the packet and
//!    not to its copies: clones, multicast copies, resubmitted and recirculated packets are whole.
//!
//! Clones, resubmitted and recirculated packets keep user metadata fields marked `@field_list(i)`
//! for the index given, with the values at the end of the block, and zero the rest; their
//! `ingress_port` is 0 (an ingress clone's too). `bmv2-tests/cases/path.stf` holds each of these
//! statements against `simple_switch`.
//!
//! # The packet path of Tofino
//!
//! [`Program::pipeline`] gives two parsers, two controls and two deparsers. The three blocks of
//! ingress share variables (one for each type that the architecture passes), and so do the three of
//! egress; ingress and egress share nothing. Lowering has put the externs of `tna.p4` in terms of
//! those of v1model (see `p4front`'s `lower/tna.rs`): what is left of them in the IR are the
//! functions `mirror`, `resubmit_with` and `digest`, which deparsers call. Per packet:
//!
//! 1. All variables of ingress are zero, but `ucast_egress_port` is 511: no unicast copy unless it
//!    is set. Before the packet stand 64 bits of `ingress_intrinsic_metadata_t` and the port
//!    metadata, which are zero here, or the data of a resubmission. They never count as packet,
//!    whether the parser takes them or not.
//! 2. The ingress parser. An error ends the packet, unless the program reads `parser_err`.
//! 3. Ingress, then its deparser, which writes the packet with whatever header is bridged to
//!    egress.
//! 4. A digest, a mirror (of the packet as it came, with the mirror's header before it; not if bit
//!    2 of `drop_ctl`), then, if bit 0 of `drop_ctl` is set, the end; else a resubmission, or else
//!    copies for the groups `mcast_grp_a` and `mcast_grp_b` and for `ucast_egress_port`. With
//!    `bypass_egress` they leave at once.
//! 5. Egress per copy: all its variables zero; `egress_intrinsic_metadata_t` stands before what the
//!    ingress deparser wrote. Parser, control, deparser; a mirror (of the packet as it leaves); the
//!    packet is sent unless bit 0 of `drop_ctl` is set.
//!
//! With every packet sent go `ingress_cos` as its ingress priority and `qid` as its egress
//! priority.

#![allow(
    clippy::disallowed_types,
    reason = "hash maps answer look-ups; what goes out is sorted or in the order of the input"
)]

mod arch;
mod block;
mod entity;
mod expr;
mod externs;
mod layout;
pub mod limits;
mod stmt;
mod text;
mod types;
mod valid;

pub use arch::{Architecture, ArgValue, Gress, Package, PackageArg, Pipeline, Tna, V1Model};
pub use block::{
    Action, ActionScope, Annotation, AnnotationValue, Control, DefaultAction, Direction, Entry,
    ExternInstance, Function, Key, KeyKind, KeySet, MatchKind, Param, Parser, SelectCase,
    SelectMatch, State, StateOrder, Table, TableAction, Target, Transition, ValueSet,
    ValueSetField, Var, VarKind,
};
pub use entity::{
    ActionId, Arena, ControlId, Entity, ExprId, ExternId, FunctionId, ParserId, StateId, TableId,
    TypeId, ValueSetId, VarId,
};
pub use expr::{BinaryOp, Const, Expr, ExprKind, Place, Projection, UnaryOp};
pub use externs::{CRC_PARTS, ExternCallee, ExternFunction, ExternMethod, ExternType};
pub use layout::{Layout, Leaf, LeafKind};
pub use num_bigint::{BigInt, BigUint};
pub use stmt::{Assign, Block, Callee, ExternArg, ExternCall, Stmt, StmtKind, SwitchCase};
pub use types::{Field, RecordKind, Type, TypeTable};
pub use valid::{ValidProgram, ValidationError, validate};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A place in the source: `program.files[file]`, line and column counted from 1. Line 0 means
/// unknown.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Span {
    /// Index into [`Program::files`].
    pub file: u32,
    /// Line, from 1; 0 when the construct has no place in the source.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// The errors that `core.p4` declares, in its order.
pub const CORE_ERRORS: [&str; 7] = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

/// A whole program after lowering. See the crate documentation for its semantics.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// Source files, as `Span::file` refers to them.
    pub files: Vec<String>,
    /// The text that begins at a place: its first line, shortened to [`Program::MAX_EXCERPT`]
    /// characters.
    #[serde(with = "pairs")]
    pub excerpts: BTreeMap<Span, String>,
    /// All types, interned.
    pub types: TypeTable,
    /// Member names of `error`; the core errors first, `NoError` at 0.
    pub errors: Vec<String>,
    /// All expressions of the program.
    pub exprs: Arena<ExprId, Expr>,
    /// All storage: parameters, locals, temporaries, results.
    pub vars: Arena<VarId, Var>,
    /// Actions, one per instance of the control that declares them.
    pub actions: Arena<ActionId, Action>,
    /// Functions, one per instantiation of their type parameters.
    pub functions: Arena<FunctionId, Function>,
    /// Tables, one per instance of the control that declares them.
    pub tables: Arena<TableId, Table>,
    /// Parser instances.
    pub parsers: Arena<ParserId, Parser>,
    /// States of all parsers.
    pub states: Arena<StateId, State>,
    /// Control instances.
    pub controls: Arena<ControlId, Control>,
    /// Parser value sets.
    pub value_sets: Arena<ValueSetId, ValueSet>,
    /// Extern objects.
    pub externs: Arena<ExternId, ExternInstance>,
    /// What the program is made for, if it is one that is known; [`Program::pipeline`] says whether
    /// `main` keeps to it.
    pub architecture: Option<Architecture>,
    /// The instantiation `main`.
    pub main: Package,
}

impl Program {
    /// Most characters of an excerpt. One line of text may hold a whole program.
    pub const MAX_EXCERPT: usize = 160;

    /// Records the text of the construct at a place. Of several that begin there, the longest is
    /// kept.
    pub fn add_excerpt(&mut self, at: Span, text: &str) {
        let text = text.trim_end();
        let mut characters = text.char_indices().enumerate();
        let last =
            |(n, (_, c)): &(usize, (usize, char))| *n == Self::MAX_EXCERPT || "\r\n".contains(*c);
        let end = characters.find(last).map_or(text.len(), |(_, (at, _))| at);
        let mut short = text[..end].trim_end().to_owned();
        if end < text.len() {
            short.push_str(" ...");
        }
        let known = self.excerpts.entry(at).or_default();
        if short.len() > known.len() {
            *known = short;
        }
    }

    /// The error's index in [`Program::errors`].
    pub fn error_index(&self, name: &str) -> Option<u32> {
        self.errors.iter().position(|e| e == name).map(|i| i as u32)
    }

    /// The statements of all that can be run, block by block, but for blocks in other ones.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let actions = self.actions.values().map(|action| &action.body);
        actions
            .chain(self.functions.values().map(|function| &function.body))
            .chain(self.tables.values().map(|table| &table.prologue))
            .chain(self.controls.values().flat_map(|c| [&c.init, &c.body]))
            .chain(self.parsers.values().map(|parser| &parser.init))
            .chain(self.states.values().map(|state| &state.body))
    }

    /// Adds an expression.
    pub fn add_expr(&mut self, kind: ExprKind, ty: TypeId) -> ExprId {
        self.exprs.push(Expr { kind, ty })
    }

    /// The type of an expression.
    pub fn expr_type(&self, id: ExprId) -> TypeId {
        self.exprs[id].ty
    }

    /// The type of a place, or `None` if a projection does not fit the type it is applied to.
    pub fn place_type(&self, place: &Place) -> Option<TypeId> {
        let mut ty = self.vars.get(place.var)?.ty;
        for projection in &place.path {
            ty = match (projection, self.types.get(ty)?) {
                (Projection::Field(i), t) => t.fields()?.get(*i as usize)?.ty,
                (Projection::Index(i), Type::Stack { element, size }) if i < size => *element,
                (Projection::DynIndex(_), Type::Stack { element, .. }) => *element,
                _ => return None,
            };
        }
        Some(ty)
    }

    /// The table of this control-plane name.
    pub fn table_by_name(&self, name: &str) -> Option<TableId> {
        self.tables
            .iter()
            .find(|(_, t)| t.name == name)
            .map(|(id, _)| id)
    }

    /// The action of this control-plane name.
    pub fn action_by_name(&self, name: &str) -> Option<ActionId> {
        self.actions
            .iter()
            .find(|(_, a)| a.name == name)
            .map(|(id, _)| id)
    }

    /// The extern instance of this control-plane name.
    pub fn extern_by_name(&self, name: &str) -> Option<ExternId> {
        self.externs
            .iter()
            .find(|(_, e)| e.name == name)
            .map(|(id, _)| id)
    }
}

/// A map as a list of pairs: the keys of JSON's objects are texts.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::Span;

    pub(crate) fn serialize<S: Serializer>(
        map: &BTreeMap<Span, String>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<Span, String>, D::Error> {
        Vec::<(Span, String)>::deserialize(from).map(|pairs| pairs.into_iter().collect())
    }
}

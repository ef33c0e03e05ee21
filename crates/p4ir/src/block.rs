//! Declarations: variables, actions, functions, tables, parsers, controls, extern instances.

use std::collections::HashSet;
use std::fmt;

use num_bigint::{BigInt, BigUint};
use serde::{Deserialize, Serialize};

use crate::entity::{
    ActionId, ControlId, ExprId, ExternId, ParserId, StateId, TableId, TypeId, ValueSetId, VarId,
};
use crate::expr::Const;
use crate::externs::ExternType;
use crate::stmt::{Assign, Block};
use crate::{Program, Span};

/// A value inside an annotation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AnnotationValue {
    /// A number.
    Int(BigInt),
    /// A string.
    Str(String),
    /// A boolean.
    Bool(bool),
    /// Anything else, as its tokens.
    Tokens(String),
}

/// `@name(values)` or `@name[key = value]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Annotation {
    /// Name without `@`.
    pub name: String,
    /// Values; the key is empty for positional ones.
    pub values: Vec<(String, AnnotationValue)>,
}

impl Annotation {
    /// Whether it is `@name(text)`, or has the text among other values.
    pub fn says(&self, name: &str, text: &str) -> bool {
        self.name == name
            && self.values.iter().any(|(_, value)| match value {
                AnnotationValue::Str(own) | AnnotationValue::Tokens(own) => {
                    own.trim_matches('"') == text
                }
                _ => false,
            })
    }
}

/// Why a variable exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VarKind {
    /// Parameter of a callable.
    Param,
    /// Declared in the source.
    Local,
    /// Made by lowering.
    Temp,
    /// A function's return value.
    Result,
}

/// Storage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Var {
    /// Name in the source, for messages and traces.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Why it exists.
    pub kind: VarKind,
    /// Declaration.
    pub span: Span,
}

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// Copied in.
    In,
    /// Copied out.
    Out,
    /// Both.
    InOut,
    /// Directionless: action data, filled in by the control plane or by a direct call.
    None,
}

/// A parameter. `packet_in`/`packet_out` and other extern parameters are not listed: they are
/// implicit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Param {
    /// Name in the source.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Its storage (possibly shared with the caller's, see the crate documentation).
    pub var: VarId,
}

/// An action of one control instance (or of the top level).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Action {
    /// Control-plane name, e.g. `MyIngress.ipv4_forward`.
    pub name: String,
    /// Parameters in order; directionless ones last.
    pub params: Vec<Param>,
    /// Body.
    pub body: Block,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

impl Action {
    /// The parameters that action data fills, in order.
    pub fn data_params(&self) -> impl Iterator<Item = &Param> {
        self.params
            .iter()
            .filter(|p| p.direction == Direction::None)
    }
}

/// A function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    /// Name in the source.
    pub name: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// Where the return value is left.
    pub result: Option<VarId>,
    /// Body.
    pub body: Block,
    /// Declaration.
    pub span: Span,
}

/// How entries match a value: the kinds that P4Runtime knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchKind {
    /// Equal to the entry's value.
    Exact,
    /// Begins with the entry's prefix; the longest wins.
    Lpm,
    /// Equal under the entry's mask; the largest priority wins.
    Ternary,
    /// Between the entry's bounds, both included; the largest priority wins.
    Range,
    /// Equal to the entry's value, or anything; the largest priority wins.
    Optional,
}

impl MatchKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Exact,
        Self::Lpm,
        Self::Ternary,
        Self::Range,
        Self::Optional,
    ];

    /// The name in the source.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Lpm => "lpm",
            Self::Ternary => "ternary",
            Self::Range => "range",
            Self::Optional => "optional",
        }
    }

    /// Whether entries of a table with such a key carry a priority (P4Runtime 1.5, section 9.1).
    #[must_use]
    pub const fn needs_priority(self) -> bool {
        matches!(self, Self::Ternary | Self::Range | Self::Optional)
    }
}

impl fmt::Display for MatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a table does with a key field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum KeyKind {
    /// Matches it against entries.
    Match(MatchKind),
    /// Does not match it: the action selector hashes it.
    Selector,
    /// Matches it in a way of the architecture.
    Other(String),
}

impl KeyKind {
    /// The name in the source.
    pub fn name(&self) -> &str {
        match self {
            Self::Match(kind) => kind.name(),
            Self::Selector => "selector",
            Self::Other(name) => name,
        }
    }

    /// The kind called `name`.
    pub fn from_name(name: &str) -> Self {
        match MatchKind::ALL.into_iter().find(|kind| kind.name() == name) {
            Some(kind) => Self::Match(kind),
            None if name == "selector" => Self::Selector,
            None => Self::Other(name.to_owned()),
        }
    }

    /// How entries match the field, if they do in one of the known ways.
    pub const fn matched(&self) -> Option<MatchKind> {
        match self {
            Self::Match(kind) => Some(*kind),
            Self::Selector | Self::Other(_) => None,
        }
    }

    /// Whether entries of a table with such a key carry a priority.
    pub fn needs_priority(&self) -> bool {
        self.matched().is_some_and(MatchKind::needs_priority)
    }
}

/// A key field of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Key {
    /// The value looked up; a scalar.
    pub expr: ExprId,
    /// How it is matched.
    pub kind: KeyKind,
    /// Control-plane name.
    pub name: String,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Its place in the source.
    pub span: Span,
}

/// A set of values of one key field, in entries and in `select`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum KeySet {
    /// `default` or `_`.
    Any,
    /// One value.
    Value(Const),
    /// `value &&& mask`. For an LPM key the mask is a prefix.
    Mask {
        /// Bits that must match where the mask is 1.
        value: BigUint,
        /// Bits that count.
        mask: BigUint,
    },
    /// `lo .. hi`, both ends included.
    Range {
        /// Lower end.
        lo: BigUint,
        /// Upper end; compared by the key's signedness.
        hi: BigUint,
    },
}

/// Where an action may be used in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ActionScope {
    /// In entries and as default.
    TableAndDefault,
    /// `@tableonly`.
    TableOnly,
    /// `@defaultonly`.
    DefaultOnly,
}

/// An action in the list of a table, with the arguments bound there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableAction {
    /// The action.
    pub action: ActionId,
    /// Copies of bound `in`/`inout` arguments, run before the body.
    pub copy_in: Vec<Assign>,
    /// Copies of bound `out`/`inout` arguments, run after the body, also on `exit`; of the same
    /// statements as those of a [`crate::StmtKind::Call`].
    pub copy_out: Block,
    /// Where it may be used.
    pub scope: ActionScope,
    /// Annotations in the action list.
    pub annotations: Vec<Annotation>,
}

/// The default action of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DefaultAction {
    /// Index into [`Table::actions`].
    pub action: u32,
    /// Action data, one per directionless parameter.
    pub args: Vec<Const>,
    /// Declared `const`: the control plane cannot change it.
    pub is_const: bool,
}

/// An entry from the program text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// One set per key.
    pub keys: Vec<KeySet>,
    /// Index into [`Table::actions`].
    pub action: u32,
    /// Action data, one per directionless parameter.
    pub args: Vec<Const>,
    /// The larger wins; 0 where the table needs none.
    pub priority: u32,
    /// Whether the control plane cannot change or remove it.
    pub is_const: bool,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Its place in the source.
    pub span: Span,
}

/// A table of one control instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Control-plane name, e.g. `MyIngress.ipv4_lpm`.
    pub name: String,
    /// Run before the keys are evaluated: their hoisted effects. Mostly empty.
    pub prologue: Block,
    /// Key fields; none for a table that always runs its default action.
    pub keys: Vec<Key>,
    /// Actions in order of the list; a default action that is not in the list comes last.
    pub actions: Vec<TableAction>,
    /// What a miss runs; `NoAction` when the program names none.
    pub default_action: DefaultAction,
    /// Entries from the program.
    pub entries: Vec<Entry>,
    /// Declared `const entries`: the control plane cannot add any.
    pub const_entries: bool,
    /// Wanted number of entries, if given.
    pub size: Option<u64>,
    /// Action profile or selector that holds the actions.
    pub implementation: Option<ExternId>,
    /// Direct counters and meters bound to the table.
    pub direct: Vec<ExternId>,
    /// `support_timeout = true`.
    pub idle_timeout: bool,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

impl Table {
    /// Whether entries carry a priority.
    pub fn needs_priority(&self) -> bool {
        self.keys.iter().any(|k| k.kind.needs_priority())
    }

    /// How many entries the table holds: its `size`, or `default` where it gives none, and never
    /// fewer than its initial entries. A `size` is a recommendation (P4_16, "Size"), and BMv2 takes
    /// the larger number. `None` is no limit.
    pub fn capacity(&self, default: Option<u64>) -> Option<u64> {
        let size = self.size.filter(|size| *size > 0).or(default)?;
        Some(size.max(self.entries.len() as u64))
    }
}

/// A field of a value set's elements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValueSetField {
    /// Control-plane name.
    pub name: String,
    /// Scalar type.
    pub ty: TypeId,
    /// How it is matched (`@match`).
    pub kind: KeyKind,
}

/// A parser value set: filled by the control plane, empty at start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValueSet {
    /// Control-plane name.
    pub name: String,
    /// Fields, as many as the `select` has keys.
    pub fields: Vec<ValueSetField>,
    /// Greatest number of elements.
    pub size: u64,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

/// Where a transition leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// Another state of the same parser.
    State(StateId),
    /// The parser ends well.
    Accept,
    /// The parser ends with its error (`NoError` if none was raised).
    Reject,
}

/// What a `select` case matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SelectMatch {
    /// One set per key.
    Sets(Vec<KeySet>),
    /// All keys together, in a value set.
    ValueSet(ValueSetId),
}

/// A case of a `select`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SelectCase {
    /// What it matches.
    pub matches: SelectMatch,
    /// Where it leads.
    pub target: Target,
}

/// How a state ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Transition {
    /// Unconditionally.
    Goto(Target),
    /// First matching case in order; none rejects.
    Select {
        /// Scalars.
        keys: Vec<ExprId>,
        /// Cases.
        cases: Vec<SelectCase>,
    },
}

impl Transition {
    /// Where it may lead.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        let (goto, cases) = match self {
            Self::Goto(target) => (Some(*target), &[][..]),
            Self::Select { cases, .. } => (None, &cases[..]),
        };
        goto.into_iter().chain(cases.iter().map(|c| c.target))
    }
}

/// The states of a parser that can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOrder {
    /// Each before those it leads to, as far as that is possible.
    pub states: Vec<StateId>,
    /// Those that cycles lead back to.
    pub heads: HashSet<StateId>,
}

impl Program {
    /// The states that can be reached from one.
    #[must_use]
    pub fn state_order(&self, start: StateId) -> StateOrder {
        let mut order = StateOrder::default();
        let mut open = HashSet::from([start]);
        let mut seen = HashSet::from([start]);
        let targets = |state: StateId| self.states[state].transition.targets().collect();
        let mut stack: Vec<(StateId, Vec<Target>)> = vec![(start, targets(start))];
        while let Some((state, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(Target::State(next)) => {
                    if open.contains(&next) {
                        order.heads.insert(next);
                    }
                    if seen.insert(next) {
                        open.insert(next);
                        stack.push((next, targets(next)));
                    }
                }
                Some(Target::Accept | Target::Reject) => {}
                None => {
                    open.remove(state);
                    order.states.push(*state);
                    stack.pop();
                }
            }
        }
        order.states.reverse();
        order
    }
}

/// A parser state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// Name in the source.
    pub name: String,
    /// Its statements.
    pub body: Block,
    /// How it ends.
    pub transition: Transition,
    /// Rounds that the state counts as when it is run; 0, not counted, where no state of the parser
    /// can be run twice. Written by [`crate::validate`].
    pub rounds: u32,
    /// Declaration.
    pub span: Span,
}

/// A parser instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parser {
    /// Control-plane name of the instance.
    pub name: String,
    /// Name of the parser declaration.
    pub type_name: String,
    /// Apply parameters.
    pub params: Vec<Param>,
    /// Initialises locals and `out` parameters; run before the start state.
    pub init: Block,
    /// The state named `start`.
    pub start: StateId,
    /// All states, in source order.
    pub states: Vec<StateId>,
    /// Value sets declared here.
    pub value_sets: Vec<ValueSetId>,
    /// Subparser instances declared here.
    pub subparsers: Vec<ParserId>,
    /// Declaration.
    pub span: Span,
}

/// A control instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Control {
    /// Control-plane name of the instance.
    pub name: String,
    /// Name of the control declaration.
    pub type_name: String,
    /// Apply parameters.
    pub params: Vec<Param>,
    /// Initialises locals and `out` parameters; run before the body.
    pub init: Block,
    /// The `apply` block.
    pub body: Block,
    /// Tables declared here.
    pub tables: Vec<TableId>,
    /// Actions declared here.
    pub actions: Vec<ActionId>,
    /// Control instances declared here.
    pub subcontrols: Vec<ControlId>,
    /// Declaration.
    pub span: Span,
}

/// An extern object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExternInstance {
    /// Control-plane name.
    pub name: String,
    /// What it is.
    pub ty: ExternType,
    /// Type arguments.
    pub type_args: Vec<TypeId>,
    /// Constructor arguments in declaration order, with the parameter's name.
    pub args: Vec<(String, ExprId)>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// Declaration.
    pub span: Span,
}

//! Syntax tree of a P4_16 program (language specification 1.2.5, as p4c's grammar accepts it).
//!
//! The tree is what was written after preprocessing, without names resolved or types known:
//!
//! * every node that later stages talk about has an [`At`]: its [`Span`] and a [`NodeId`] unique in
//!   the [`Program`], the key of side tables (`types[expr.at.id]`);
//! * two trees are equal (`==`) if they have the same *shape*: [`At`]s never differ, and
//!   identifiers compare by name. `parse(print(p)) == p` holds for every program;
//! * parentheses that only group are not kept; the printer puts back those that matter;
//! * declarators with array brackets are folded into the type: `bit<8> x[4]` has type
//!   `Array(bit<8>, 4)`, as `bit<8>[4] x` does;
//! * a name in expression position is [`ExprKind::Path`] if it named no type where it stood, and
//!   [`ExprKind::TypeName`] (below a member access) or [`ExprKind::Construct`] if it did. What is a
//!   type name is decided while parsing, by scope, as the grammar of the language needs it;
//! * annotations are kept with their tokens ([`AnnotationBody::Unstructured`]); the module
//!   [`crate::annotations`] reads those with a known meaning.

use std::fmt;
use std::sync::Arc;

use num_bigint::BigInt;

use crate::source::Span;

mod decl;
mod expr;
mod print;

mod stmt;

pub use decl::*;
pub use expr::*;
pub use stmt::*;

/// Text of a name or a literal. Shared, not interned: compare with `==`.
pub type Symbol = Arc<str>;

/// Number of a node, unique in its [`Program`]; ids are dense from 0 and follow the text only
/// roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u32);

/// Identity and place of a node. Any two are equal, so that trees compare by shape.
#[derive(Clone, Copy, Default)]
pub struct At {
    /// The node's number.
    pub id: NodeId,
    /// The text it was made from.
    pub span: Span,
}

impl PartialEq for At {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for At {}

impl fmt::Debug for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}@{:?}", self.id.0, self.span)
    }
}

/// A name with its place. Equal if the names are.
#[derive(Clone)]
pub struct Ident {
    /// The name.
    pub name: Symbol,
    /// Where it is written.
    pub span: Span,
}

impl PartialEq for Ident {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
impl Eq for Ident {}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.name)
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A whole program: all declarations of the main file and of what it includes, in order.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// Declarations at the top level.
    pub decls: Vec<Decl>,
    /// All [`NodeId`]s of the program are below this number.
    pub node_count: u32,
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.decls == other.decls
    }
}
impl Eq for Program {}

/// `name` or `.name` (looked up at the top level only).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// True with a leading dot.
    pub absolute: bool,
    /// The name.
    pub name: Ident,
}

/// A type as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Identity and place.
    pub at: At,
    /// What it is.
    pub kind: TypeKind,
}

/// The forms of [`Type`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    /// `bool`
    Bool,
    /// `error`
    Error,
    /// `match_kind`
    MatchKind,
    /// `string`
    String,
    /// `void`; only as a result or a type argument.
    Void,
    /// `_`; only as a type argument.
    DontCare,
    /// `int` of any size, compile-time only.
    Integer,
    /// `bit<W>`; `bit` alone has no width and means `bit<1>`.
    Bit(Option<Box<Expr>>),
    /// `int<W>`
    Int(Box<Expr>),
    /// `varbit<W>`
    Varbit(Box<Expr>),
    /// A named type or type variable.
    Name(Path),
    /// `Base<Args>`; `args` may be empty.
    Specialized {
        /// The generic type.
        base: Path,
        /// Its arguments.
        args: Vec<Type>,
    },
    /// `Element[size]`: a header stack or an array.
    Array {
        /// Type of an element.
        element: Box<Type>,
        /// Number of elements; a constant expression.
        size: Box<Expr>,
    },
    /// `tuple<...>`
    Tuple(Vec<Type>),
    /// `list<T>`
    List(Box<Type>),
}

/// An annotation, `@name...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// Identity and place.
    pub at: At,
    /// The name without `@`.
    pub name: Ident,
    /// True if it was written `@pragma name tokens` up to the end of the line.
    pub pragma: bool,
    /// What follows the name.
    pub body: AnnotationBody,
}

/// What an annotation carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnotationBody {
    /// Only a name.
    Empty,
    /// `(tokens)`: any tokens with balanced parentheses.
    Unstructured(Vec<AnnotationToken>),
    /// `[a, b]`: a possibly empty list of expressions.
    Expressions(Vec<Expr>),
    /// `[k = v, ...]`.
    KeyValues(Vec<NamedExpr>),
}

/// One token of an unstructured annotation body.
#[derive(Clone)]
pub struct AnnotationToken {
    /// What sort of token.
    pub kind: AnnotationTokenKind,
    /// Its text as written; for strings the text between the quotes, escapes not yet replaced.
    pub text: Symbol,
    /// Where.
    pub span: Span,
}

impl PartialEq for AnnotationToken {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.text == other.text
    }
}
impl Eq for AnnotationToken {}

impl fmt::Debug for AnnotationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({:?})", self.kind, self.text)
    }
}

/// The sorts of tokens in unstructured annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationTokenKind {
    /// A name or keyword.
    Word,
    /// An integer literal.
    Integer,
    /// A string literal.
    String,
    /// An operator, bracket or separator.
    Punctuation,
    /// A character that is no token of the language.
    Other,
}

/// An integer literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntLiteral {
    /// The number; never negative (a minus sign is an operator).
    pub value: BigInt,
    /// Width and sign if written (`8w1`, `8s1`); none: type `int`.
    pub width: Option<LiteralWidth>,
    /// Base it was written in: 2, 8, 10 or 16.
    pub base: u32,
}

/// The type prefix of an integer literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiteralWidth {
    /// Width in bits.
    pub bits: u32,
    /// `s` rather than `w`.
    pub signed: bool,
}

/// Direction of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// No direction written.
    None,
    /// `in`
    In,
    /// `out`
    Out,
    /// `inout`
    InOut,
}

/// A parameter of a function, method, action, parser, control, package or constructor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Identity and place.
    pub at: At,
    /// Its annotations (`@optional`, ...).
    pub annotations: Vec<Annotation>,
    /// Its direction.
    pub direction: Direction,
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
    /// Default value.
    pub default: Option<Expr>,
}

/// A type parameter, `<T>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeParam {
    /// Identity and place.
    pub at: At,
    /// Its name.
    pub name: Ident,
}

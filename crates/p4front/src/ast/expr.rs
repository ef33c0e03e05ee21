//! Expressions, arguments and key sets.

use super::{At, Ident, IntLiteral, Path, Symbol, Type};

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expr {
    /// Identity and place.
    pub at: At,
    /// What it is.
    pub kind: ExprKind,
}

/// The forms of [`Expr`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExprKind {
    /// An integer literal.
    Int(IntLiteral),
    /// `true`, `false`
    Bool(bool),
    /// A string literal with its escapes (`\"`, `\\`) replaced.
    String(Symbol),
    /// `this`
    This,
    /// `...`: default values from here on (in initialisers).
    Dots,
    /// `_`, or `default` in a key set: matches anything; as an argument: not of interest.
    DontCare,
    /// `{#}`: an invalid header or header union.
    Invalid,
    /// A name of something other than a type.
    Path(Path),
    /// A type before a dot: `E.member`, `error.NoError`; only as the base of [`ExprKind::Member`].
    TypeName(Box<Type>),
    /// `base.member`
    Member {
        /// What has the member.
        base: Box<Expr>,
        /// Its name.
        member: Ident,
    },
    /// `base[index]`
    Index {
        /// Stack, array, list or tuple.
        base: Box<Expr>,
        /// Which element.
        index: Box<Expr>,
    },
    /// `base[high:low]`
    Slice {
        /// The bit string.
        base: Box<Expr>,
        /// Most significant bit, inclusive.
        high: Box<Expr>,
        /// Least significant bit, inclusive.
        low: Box<Expr>,
    },
    /// `base[low+:width]`
    PlusSlice {
        /// The bit string.
        base: Box<Expr>,
        /// Least significant bit.
        low: Box<Expr>,
        /// Number of bits.
        width: Box<Expr>,
    },
    /// `{a, b}`; [`ExprKind::Dots`] may be the last element.
    List(Vec<Expr>),
    /// `{f = a, g = b}`, with `...` at the end if `dots`.
    Struct {
        /// Fields in the order written.
        fields: Vec<NamedExpr>,
        /// Fields not named take their default value.
        dots: bool,
    },
    /// A unary operation.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// A binary operation.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `value &&& mask`; in key sets.
    Mask {
        /// The value.
        value: Box<Expr>,
        /// Bits that count.
        mask: Box<Expr>,
    },
    /// `low .. high`, both inclusive; in key sets and `for ... in`.
    Range {
        /// First.
        low: Box<Expr>,
        /// Last.
        high: Box<Expr>,
    },
    /// `condition ? then : otherwise`
    Ternary {
        /// The condition.
        condition: Box<Expr>,
        /// Value if true.
        then: Box<Expr>,
        /// Value if false.
        otherwise: Box<Expr>,
    },
    /// `callee<T>(args)`: function, method, action, table or built-in.
    Call {
        /// What is called.
        callee: Box<Expr>,
        /// Type arguments; empty if none are written.
        type_args: Vec<Type>,
        /// Arguments.
        args: Vec<Arg>,
    },
    /// `T(args)`: an object is made.
    Construct {
        /// A named or specialised type.
        ty: Type,
        /// Constructor arguments.
        args: Vec<Arg>,
    },
    /// `(T) operand`
    Cast {
        /// Target type.
        ty: Type,
        /// What is converted.
        operand: Box<Expr>,
    },
}

/// `name = value` in an initialiser or a structured annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedExpr {
    /// Identity and place.
    pub at: At,
    /// The name.
    pub name: Ident,
    /// The value.
    pub value: Expr,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// Identity and place.
    pub at: At,
    /// The parameter it is for, if written `name = value`.
    pub name: Option<Ident>,
    /// Its value; [`ExprKind::DontCare`] for `_`.
    pub value: Expr,
}

/// What a `select` case or a table entry matches: one value per key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyset {
    /// Identity and place.
    pub at: At,
    /// One element per key: an expression, [`ExprKind::Mask`], [`ExprKind::Range`],
    /// [`ExprKind::DontCare`]; or the name of a value set.
    pub elements: Vec<Expr>,
    /// Written with parentheses that make it a tuple, `(a, b)` or `(a &&& b)`. A single
    /// expression in parentheses, `(a)`, is that expression and no tuple.
    pub tuple: bool,
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `-`
    Negate,
    /// `+`
    Plus,
}

impl UnaryOp {
    /// The operator as written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::Complement => "~",
            UnaryOp::Negate => "-",
            UnaryOp::Plus => "+",
        }
    }
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `|+|`, saturating
    AddSat,
    /// `|-|`, saturating
    SubSat,
    /// `++`
    Concat,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&&`
    And,
    /// `||`
    Or,
}

impl BinaryOp {
    /// The operator as written.
    pub fn symbol(self) -> &'static str {
        use BinaryOp as B;
        match self {
            B::Mul => "*",
            B::Div => "/",
            B::Mod => "%",
            B::Add => "+",
            B::Sub => "-",
            B::AddSat => "|+|",
            B::SubSat => "|-|",
            B::Concat => "++",
            B::Shl => "<<",
            B::Shr => ">>",
            B::BitAnd => "&",
            B::BitXor => "^",
            B::BitOr => "|",
            B::Lt => "<",
            B::Le => "<=",
            B::Gt => ">",
            B::Ge => ">=",
            B::Eq => "==",
            B::Ne => "!=",
            B::And => "&&",
            B::Or => "||",
        }
    }

    /// Binding strength: all binary operators associate to the left, higher binds tighter.
    /// (`?:` is 0.) The order is the language's: `&`, `^`, `|` bind tighter than comparisons.
    pub fn precedence(self) -> u8 {
        use BinaryOp as B;
        match self {
            B::Or => 1,
            B::And => 2,
            B::Eq | B::Ne => 3,
            B::Lt | B::Le | B::Gt | B::Ge => 4,
            B::BitOr => 5,
            B::BitXor => 6,
            B::BitAnd => 7,
            B::Shl | B::Shr => 8,
            B::Add | B::Sub | B::AddSat | B::SubSat | B::Concat => 9,
            B::Mul | B::Div | B::Mod => 10,
        }
    }
}

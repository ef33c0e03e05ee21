//! Programs as the generator makes them: a small part of P4_16, resolved and typed.

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// `bit<N>`.
    Bits(u32),
    /// A struct or header.
    Record(Record),
    /// `e_t[4]`.
    Stack,
}

/// Elements of a stack: as many as two bits tell apart, so that an index is always in bounds.
pub const ELEMENTS: usize = 4;
/// Width of an index.
pub const INDEX: u32 = 2;

/// The structs and headers every program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Header `c_t`: always valid.
    Fields,
    /// Header `e_t`: elements of the stack, and single ones.
    Element,
    /// Header `r_t`: what the packet takes along of the metadata.
    Report,
    /// Struct `pair_t`.
    Pair,
    /// Struct `headers_t`.
    Headers,
    /// Struct `meta_t`.
    Meta,
}

const BYTE: Ty = Ty::Bits(8);
const ELEMENT: Ty = Ty::Record(Record::Element);

impl Record {
    /// All of them, each behind those it is made of.
    pub const ALL: [Self; 6] = [
        Self::Fields,
        Self::Element,
        Self::Report,
        Self::Pair,
        Self::Headers,
        Self::Meta,
    ];

    /// Its name in the program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fields => "c_t",
            Self::Element => "e_t",
            Self::Report => "r_t",
            Self::Pair => "pair_t",
            Self::Headers => "headers_t",
            Self::Meta => "meta_t",
        }
    }

    /// Whether it is a header.
    #[must_use]
    pub const fn is_header(self) -> bool {
        matches!(self, Self::Fields | Self::Element | Self::Report)
    }

    /// Its fields, in order.
    #[must_use]
    pub const fn fields(self) -> &'static [(&'static str, Ty)] {
        match self {
            Self::Fields => &[
                ("a", BYTE),
                ("b", BYTE),
                ("w", Ty::Bits(16)),
                ("x", Ty::Bits(4)),
                ("y", Ty::Bits(4)),
            ],
            Self::Element => &[("v", BYTE), ("w", BYTE)],
            Self::Report => &[("m", BYTE), ("n", Ty::Bits(16)), ("x", BYTE), ("y", BYTE)],
            Self::Pair => &[("x", BYTE), ("y", BYTE)],
            Self::Headers => &[
                ("c", Ty::Record(Self::Fields)),
                ("s", Ty::Stack),
                ("h", ELEMENT),
                ("k", ELEMENT),
                ("r", Ty::Record(Self::Report)),
            ],
            Self::Meta => &[
                ("m", BYTE),
                ("n", Ty::Bits(16)),
                ("p", Ty::Record(Self::Pair)),
            ],
        }
    }
}

/// A variable: one of the callable's own, or one of the control around an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarRef {
    /// Parameters, then locals.
    Own(usize),
    /// The same of the control that declares the action.
    Outer(usize),
}

/// One step into a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A field of a record.
    Field(usize),
    /// An element of a stack.
    Index(usize),
    /// An element whose number is computed, in [`INDEX`] bits.
    Moving(Box<Expr>),
    /// `.next` of a stack; only where a parser extracts.
    Next,
}

/// Something that has storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Lvalue {
    /// The variable.
    pub var: VarRef,
    /// Into it.
    pub steps: Vec<Step>,
    /// Bits of the scalar there: the highest, the lowest.
    pub slice: Option<(u32, u32)>,
}

/// Operators on two numbers of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
}

/// A number.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Width and value.
    Const(u32, u64),
    /// What is stored.
    Read(Lvalue),
    /// Of two.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `~`
    Not(Box<Expr>),
    /// `(bit<N>) e`
    Cast(u32, Box<Expr>),
    /// `c ? a : b`
    Mux(Box<Cond>, Box<Expr>, Box<Expr>),
    /// The result of a function.
    Call(usize, Vec<Given>),
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `>=`
    AtLeast,
}

/// A truth value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cond {
    /// Of two numbers.
    Compare(Test, Expr, Expr),
    /// `h.isValid()`
    IsValid(Lvalue),
    /// `!`
    Not(Box<Cond>),
    /// `&&`
    And(Box<Cond>, Box<Cond>),
    /// `||`
    Or(Box<Cond>, Box<Cond>),
    /// `t.apply().hit`, of a table of this control.
    Hit(usize),
}

/// A value of any type.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A number.
    Number(Expr),
    /// What is stored in a place, whole.
    Copy(Lvalue),
    /// `{ ... }`, for a struct or header.
    List(Vec<Expr>),
}

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Copied in.
    In,
    /// Copied out.
    Out,
    /// Both.
    InOut,
    /// None: a number from the table or from the caller.
    None,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// For `in`, or for no direction.
    Value(Source),
    /// For `out` and `inout`.
    Place(Lvalue),
}

/// An argument as a call writes it. A call lists its arguments in the order of evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Position of the parameter.
    pub param: usize,
    /// Whether the call names the parameter. Otherwise the argument stands at its position.
    pub named: bool,
    /// What is passed.
    pub arg: Arg,
}

/// What a statement calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function, by number.
    Function(usize),
    /// An action of this control.
    Action(usize),
    /// An instance of this control.
    Control(usize),
    /// An instance of this parser.
    Parser(usize),
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `place = value;`
    Assign(Lvalue, Source),
    /// `h.setValid();`
    SetValid(Lvalue),
    /// `h.setInvalid();`
    SetInvalid(Lvalue),
    /// `s.push_front(n);`
    Push(Lvalue, usize),
    /// `s.pop_front(n);`
    Pop(Lvalue, usize),
    /// `if`
    If(Cond, Block, Block),
    /// `switch` on a number.
    Switch(Expr, Vec<(u64, Block)>, Block),
    /// `switch (t.apply().action_run)`; positions in the table's list of actions.
    SwitchAction(usize, Vec<(usize, Block)>, Block),
    /// `t.apply();`
    Apply(usize),
    /// A call whose result, if any, is not used.
    Call(Callee, Vec<Given>),
    /// `return;`, in a function with the value.
    Return(Option<Expr>),
    /// `exit;`
    Exit,
    /// `pkt.extract(h);`
    Extract(Lvalue),
}

/// A parameter or local variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Its name, which no other variable in sight has.
    pub name: String,
    /// Its type.
    pub ty: Ty,
}

/// A function, an action, or the code of a control or parser.
#[derive(Clone, Debug, PartialEq)]
pub struct Callable {
    /// Its name.
    pub name: String,
    /// Parameters and locals.
    pub vars: Vec<Var>,
    /// Directions of the parameters, which come first.
    pub directions: Vec<Direction>,
    /// Default values of the parameters; only numbers of direction `in` have one.
    pub defaults: Vec<Option<u64>>,
    /// First values of the locals.
    pub init: Vec<Source>,
    /// What it does.
    pub body: Block,
    /// Of a function: what it returns in the end, and how wide that is.
    pub result: Option<(u32, Expr)>,
}

impl Callable {
    /// The parameters.
    pub fn params(&self) -> impl Iterator<Item = (&Var, Direction)> {
        self.vars.iter().zip(self.directions.iter().copied())
    }

    /// The locals with their first values.
    pub fn locals(&self) -> impl Iterator<Item = (&Var, &Source)> {
        self.vars[self.directions.len()..].iter().zip(&self.init)
    }
}

/// How a key is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `exact`
    Exact,
    /// `ternary`: value and mask
    Ternary,
}

/// An action in a table's list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// An action of the control.
    pub action: usize,
    /// Arguments for its parameters with a direction.
    pub bound: Vec<Given>,
}

/// A choice of a table: an action of its list and constants for the parameters without direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Position in the list.
    pub listed: usize,
    /// The constants.
    pub data: Vec<Given>,
}

/// An entry: per key the value and the mask, and what it chooses.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Per key.
    pub keys: Vec<(u64, u64)>,
    /// What it chooses.
    pub choice: Choice,
}

/// A table with constant entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Keys: width, what is looked up, how.
    pub keys: Vec<(u32, Expr, Kind)>,
    /// Its actions.
    pub actions: Vec<Listed>,
    /// Its entries; the first that matches counts.
    pub entries: Vec<Entry>,
    /// What a miss chooses.
    pub default: Choice,
}

/// A control.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// Parameters, locals and `apply`.
    pub code: Callable,
    /// Actions.
    pub actions: Vec<Callable>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Instances of controls that come before it in the program.
    pub instances: Vec<usize>,
}

/// A parser of one state.
#[derive(Clone, Debug, PartialEq)]
pub struct Parser {
    /// Parameters behind the packet, locals, and the state.
    pub code: Callable,
    /// Instances of parsers that come before it in the program.
    pub instances: Vec<usize>,
}

/// A program for v1model. What comes before may be called by what follows; the last control is
/// ingress, and the last parser the parser.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Functions.
    pub functions: Vec<Callable>,
    /// Parsers.
    pub parsers: Vec<Parser>,
    /// Controls.
    pub controls: Vec<Control>,
}

/// Which code of a program is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A function.
    Function(usize),
    /// A parser.
    Parser(usize),
    /// The `apply` of a control.
    Control(usize),
    /// An action of a control.
    Action(usize, usize),
}

impl Program {
    /// Code by its number.
    #[must_use]
    pub fn code(&self, code: Code) -> &Callable {
        match code {
            Code::Function(f) => &self.functions[f],
            Code::Parser(p) => &self.parsers[p].code,
            Code::Control(c) => &self.controls[c].code,
            Code::Action(c, a) => &self.controls[c].actions[a],
        }
    }

    /// What a callee is, called from some code.
    #[must_use]
    pub fn called(&self, from: Code, callee: Callee) -> Code {
        let control = match from {
            Code::Control(c) | Code::Action(c, _) => c,
            Code::Function(_) | Code::Parser(_) => 0,
        };
        match (callee, from) {
            (Callee::Function(f), _) => Code::Function(f),
            (Callee::Action(a), _) => Code::Action(control, a),
            (Callee::Control(i), _) => Code::Control(self.controls[control].instances[i]),
            (Callee::Parser(i), Code::Parser(p)) => Code::Parser(self.parsers[p].instances[i]),
            (Callee::Parser(i), _) => Code::Parser(i),
        }
    }

    /// The control that some code belongs to.
    #[must_use]
    pub fn around(&self, code: Code) -> Option<&Control> {
        match code {
            Code::Control(c) | Code::Action(c, _) => self.controls.get(c),
            Code::Function(_) | Code::Parser(_) => None,
        }
    }

    /// All variables that code sees.
    #[must_use]
    pub fn var(&self, code: Code, var: VarRef) -> &Var {
        match (var, code) {
            (VarRef::Outer(v), Code::Action(c, _)) => &self.controls[c].code.vars[v],
            (VarRef::Own(v) | VarRef::Outer(v), _) => &self.code(code).vars[v],
        }
    }

    /// The type of a place that code names.
    #[must_use]
    pub fn type_of(&self, code: Code, place: &Lvalue) -> Ty {
        let mut ty = self.var(code, place.var).ty;
        for step in &place.steps {
            ty = match (step, ty) {
                (Step::Field(field), Ty::Record(record)) => record.fields()[*field].1,
                _ => Ty::Record(Record::Element),
            };
        }
        place.slice.map_or(ty, |(hi, lo)| Ty::Bits(hi - lo + 1))
    }
}

//! Declarations and tables.

use super::{
    Annotation, Arg, At, Block, Expr, Ident, Keyset, NamedExpr, Param, Path, State, Type, TypeParam,
};

/// A declaration: at the top level, local to a parser, control or block, or in the initialiser
/// block of an instantiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decl {
    /// Identity and place.
    pub at: At,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// What is declared.
    pub kind: DeclKind,
}

/// The forms of [`Decl`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclKind {
    /// `const T name = value;`
    Constant(Constant),
    /// `T name;` or `T name = value;`
    Variable(Variable),
    /// `T(args) name;`
    Instance(Instance),
    /// `error { ... }`; several add up.
    Error(Vec<Ident>),
    /// `match_kind { ... }`; several add up.
    MatchKind(Vec<Ident>),
    /// `header`, `header_union`, `struct`
    Composite(Composite),
    /// `enum name { ... }`
    Enum(Enum),
    /// `enum T name { a = 1, ... }`
    SerializableEnum(SerializableEnum),
    /// `typedef`
    Typedef(Typedef),
    /// `type T name;`: a new type.
    NewType(NewType),
    /// `extern name { ... }`
    ExternObject(ExternObject),
    /// `extern T name(...);`
    ExternFunction(Prototype),
    /// `extern name;`: announces an extern object.
    ExternForward(Ident),
    /// `parser name(...);`
    ParserType(Callable),
    /// `control name(...);`
    ControlType(Callable),
    /// `package name(...);`
    Package(Callable),
    /// `parser name(...) { ... }`
    Parser(Parser),
    /// `control name(...) { ... }`
    Control(Control),
    /// `action name(...) { ... }`
    Action(Action),
    /// `table name { ... }`
    Table(Table),
    /// `value_set<T>(size) name;`
    ValueSet(ValueSet),
    /// `T name(...) { ... }`
    Function(Function),
}

impl Decl {
    /// The name it introduces; none for `error` and `match_kind`, which add members.
    pub fn name(&self) -> Option<&Ident> {
        use DeclKind as K;
        match &self.kind {
            K::Error(_) | K::MatchKind(_) => None,
            K::Constant(d) => Some(&d.name),
            K::Variable(d) => Some(&d.name),
            K::Instance(d) => Some(&d.name),
            K::Composite(d) => Some(&d.name),
            K::Enum(d) => Some(&d.name),
            K::SerializableEnum(d) => Some(&d.name),
            K::Typedef(d) => Some(&d.name),
            K::NewType(d) => Some(&d.name),
            K::ExternObject(d) => Some(&d.name),
            K::ExternFunction(d) => Some(&d.name),
            K::ExternForward(name) => Some(name),
            K::ParserType(d) | K::ControlType(d) | K::Package(d) => Some(&d.name),
            K::Parser(d) => Some(&d.signature.name),
            K::Control(d) => Some(&d.signature.name),
            K::Action(d) => Some(&d.name),
            K::Table(d) => Some(&d.name),
            K::ValueSet(d) => Some(&d.name),
            K::Function(d) => Some(&d.prototype.name),
        }
    }
}

/// `const T name = value;`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
}

/// `T name;` or `T name = value;`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
    /// Its first value.
    pub init: Option<Expr>,
}

/// `T(args) name;` or `T(args) name = { ... };`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The type of the object (parser, control, extern, package; possibly specialised; an array
    /// type if the name has brackets).
    pub ty: Type,
    /// Constructor arguments.
    pub args: Vec<Arg>,
    /// Its name.
    pub name: Ident,
    /// Definitions of its abstract methods, and instances these use.
    pub init: Option<Vec<Decl>>,
}

/// Which of the three types with fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompositeKind {
    /// `header`
    Header,
    /// `header_union`
    HeaderUnion,
    /// `struct`
    Struct,
}

/// A `header`, `header_union` or `struct`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composite {
    /// Which.
    pub kind: CompositeKind,
    /// Its name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<TypeParam>,
    /// Fields in order.
    pub fields: Vec<Field>,
}

/// A field of a [`Composite`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Identity and place.
    pub at: At,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Ident,
}

/// `enum name { ... }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enum {
    /// Its name.
    pub name: Ident,
    /// Its members.
    pub members: Vec<Ident>,
}

/// `enum T name { a = 1, ... }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerializableEnum {
    /// Type of the values.
    pub underlying: Type,
    /// Its name.
    pub name: Ident,
    /// Members with their values.
    pub members: Vec<NamedExpr>,
}

/// `typedef T name;`, where `T` may be a type declared on the spot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typedef {
    /// What it stands for.
    pub target: TypedefTarget,
    /// Its name.
    pub name: Ident,
}

/// What a [`Typedef`] stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedefTarget {
    /// A type.
    Type(Type),
    /// A header, header union, struct or enum declared here. `dimensions` are the sizes of array
    /// brackets behind the name, outermost last.
    Declared {
        /// The declaration.
        decl: Box<Decl>,
        /// Array sizes, usually none.
        dimensions: Vec<Expr>,
    },
}

/// `type T name;`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewType {
    /// What represents it.
    pub underlying: Type,
    /// Its name.
    pub name: Ident,
}

/// `extern name<T> { ... }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternObject {
    /// Its name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<TypeParam>,
    /// Constructors and methods.
    pub methods: Vec<Method>,
}

/// A method or constructor of an extern object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Identity and place.
    pub at: At,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// What it is.
    pub kind: MethodKind,
    /// Its signature; for a constructor the result is `void` and the name that of the object.
    pub prototype: Prototype,
}

/// The sorts of methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodKind {
    /// `Name(...);`
    Constructor,
    /// `T name(...);`
    Method,
    /// `abstract T name(...);`: defined by the program where it instantiates the object.
    Abstract,
}

/// Result, name and parameters of a function or method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// Type of the result; may be `void` or one of `type_params`.
    pub result: Type,
    /// Its name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<TypeParam>,
    /// Parameters.
    pub params: Vec<Param>,
}

/// Name and parameters of a parser, control or package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callable {
    /// Its name.
    pub name: Ident,
    /// Type parameters.
    pub type_params: Vec<TypeParam>,
    /// Parameters (of `apply`; for a package, of its constructor).
    pub params: Vec<Param>,
}

/// A parser with its states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parser {
    /// Its name and parameters.
    pub signature: Callable,
    /// Constructor parameters.
    pub constructor_params: Vec<Param>,
    /// Constants, variables, instances and value sets.
    pub locals: Vec<Decl>,
    /// Its states, at least one.
    pub states: Vec<State>,
}

/// A control with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// Its name and parameters.
    pub signature: Callable,
    /// Constructor parameters.
    pub constructor_params: Vec<Param>,
    /// Constants, variables, instances, actions and tables.
    pub locals: Vec<Decl>,
    /// `apply { ... }`
    pub body: Block,
}

/// `action name(params) { ... }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Its name.
    pub name: Ident,
    /// Parameters; those without direction come from the table entry.
    pub params: Vec<Param>,
    /// What it does.
    pub body: Block,
}

/// `T name(params) { ... }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its signature.
    pub prototype: Prototype,
    /// What it does.
    pub body: Block,
}

/// `value_set<T>(size) name;`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSet {
    /// Type of its elements.
    pub element: Type,
    /// How many it must be able to hold.
    pub size: Expr,
    /// Its name.
    pub name: Ident,
}

/// `table name { ... }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: Ident,
    /// Its properties in order.
    pub properties: Vec<TableProperty>,
}

impl Table {
    /// The property called `name`: `key`, `actions`, `entries`, `default_action`, `size`, ...
    pub fn property(&self, name: &str) -> Option<&TableProperty> {
        self.properties.iter().find(|p| &*p.name.name == name)
    }

    /// Its key elements; empty if it has no key.
    pub fn key(&self) -> &[KeyElement] {
        match self.property("key").map(|p| &p.value) {
            Some(PropertyValue::Key(k)) => k,
            _ => &[],
        }
    }

    /// Its actions; empty if none are listed.
    pub fn actions(&self) -> &[ActionRef] {
        match self.property("actions").map(|p| &p.value) {
            Some(PropertyValue::Actions(a)) => a,
            _ => &[],
        }
    }

    /// Its initial entries.
    pub fn entries(&self) -> &[Entry] {
        match self.property("entries").map(|p| &p.value) {
            Some(PropertyValue::Entries(e)) => e,
            _ => &[],
        }
    }
}

/// A property of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableProperty {
    /// Identity and place.
    pub at: At,
    /// Its annotations (none for `key` and `actions`).
    pub annotations: Vec<Annotation>,
    /// Written with `const`.
    pub is_const: bool,
    /// Its name.
    pub name: Ident,
    /// Its value.
    pub value: PropertyValue,
}

/// The value of a [`TableProperty`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyValue {
    /// `key = { ... }`
    Key(Vec<KeyElement>),
    /// `actions = { ... }`
    Actions(Vec<ActionRef>),
    /// `entries = { ... }`
    Entries(Vec<Entry>),
    /// Anything else, `default_action` included.
    Expr(Expr),
}

/// `expression : match_kind @annotations;`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyElement {
    /// Identity and place.
    pub at: At,
    /// What is matched on.
    pub expr: Expr,
    /// How.
    pub match_kind: Ident,
    /// Its annotations (`@name`, ...).
    pub annotations: Vec<Annotation>,
}

/// An action in the list of a table or in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRef {
    /// Identity and place.
    pub at: At,
    /// Its annotations (`@defaultonly`, `@tableonly`, ...); none in entries.
    pub annotations: Vec<Annotation>,
    /// The action.
    pub path: Path,
    /// Arguments; none if written without parentheses.
    pub args: Option<Vec<Arg>>,
}

/// An initial entry of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Identity and place.
    pub at: At,
    /// Written with `const`.
    pub is_const: bool,
    /// `priority = p :`
    pub priority: Option<Expr>,
    /// What it matches.
    pub keyset: Keyset,
    /// What it does.
    pub action: ActionRef,
    /// Annotations behind the action.
    pub annotations: Vec<Annotation>,
}

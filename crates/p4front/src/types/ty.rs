//! Types as the programmer sees them: nominal, generic, before lowering.

use std::fmt;
use std::rc::Rc;

use indexmap::IndexSet;
use num_bigint::BigInt;
use p4ir::limits::{Exceeded, Limit};

use crate::ast::{NodeId, Symbol};

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    /// An error was reported here; equal to everything, so that one mistake is told once.
    Poison,
    Void,
    Bool,
    String,
    Error,
    MatchKind,
    /// `int` of any size: only at compile time.
    Int,
    Bits {
        width: u32,
        signed: bool,
    },
    Varbit(u32),
    /// An inference variable.
    Var(u32),
    /// What `_` leaves open among the type arguments of an object; meets every type. Each call of a
    /// method decides anew what it is there.
    Any,
    /// A type parameter of a generic declaration that is checked without being instantiated.
    Param(NodeId, Symbol),
    Record(Rc<Record>),
    Enum(Rc<EnumTy>),
    New(Rc<NewTy>),
    /// A header stack or array.
    Stack(Rc<Ty>, u32),
    Tuple(Rc<Types>),
    List(Rc<Ty>),
    /// Type of `{a, b}` before it becomes a struct, header, tuple or list.
    ListExpr(Vec<Ty>),
    /// Type of `{f = a}` before it becomes a struct or header.
    StructExpr(Vec<(Symbol, Ty)>),
    /// Type of `{#}`.
    InvalidHeader,
    /// Extern object type with its arguments.
    Extern(NodeId, Symbol, Rc<Types>),
    /// A parser or control declaration, or a bodiless parser/control type.
    Block(NodeId, Symbol, Rc<Types>),
    /// A package type.
    Package(NodeId, Symbol, Rc<Types>),
    /// What `t` is when it names a table.
    Table,
    /// What `t.apply()` gives.
    ApplyResult,
    /// A name of an action.
    Action,
    /// A value set.
    ValueSet,
}

/// How large a type is, in the measures of [`p4ir::limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Words that a value takes.
    pub(crate) words: u64,
    /// Types inside each other.
    pub(crate) depth: u64,
}

impl Extent {
    /// Of what has no components.
    pub(crate) const WORD: Self = Self { words: 1, depth: 1 };

    /// Of something that has one of each of these.
    pub(crate) fn all(parts: impl Iterator<Item = Self>) -> Self {
        let sum = parts.fold(Self { words: 0, depth: 0 }, |all, part| Self {
            words: all.words.saturating_add(part.words),
            depth: all.depth.max(part.depth),
        });
        Self {
            words: sum.words.max(1),
            depth: sum.depth + 1,
        }
    }

    /// Of an array of so many of these.
    pub(crate) fn times(self, n: u32) -> Self {
        Self {
            words: self.words.saturating_mul(u64::from(n)).saturating_add(1),
            depth: self.depth + 1,
        }
    }

    /// The larger in each measure.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            words: self.words.max(other.words),
            depth: self.depth.max(other.depth),
        }
    }

    /// An error if a type cannot be that large.
    pub(crate) fn check(self) -> Result<(), Exceeded> {
        Limit::TypeWords.check(self.words)?;
        Limit::TypeDepth.check(self.depth)
    }
}

/// The record types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RecordKind {
    Struct,
    Header,
    Union,
}

/// A field of a record.
#[derive(Clone, Debug)]
pub(crate) struct FieldTy {
    pub(crate) name: Symbol,
    pub(crate) ty: Ty,
    /// Index into the declaration's fields, for annotations.
    pub(crate) index: usize,
}

/// A struct, header or header union, instantiated with its type arguments.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) kind: RecordKind,
    pub(crate) decl: NodeId,
    pub(crate) name: Symbol,
    pub(crate) args: Vec<Ty>,
    pub(crate) fields: Vec<FieldTy>,
    /// The larger of what the fields and what the arguments take.
    pub(crate) extent: Extent,
    /// An inference variable is inside.
    pub(crate) open: bool,
}

/// Types in a row, the components of a tuple or the arguments of a type, and what is known of all
/// together.
#[derive(Debug)]
pub(crate) struct Types {
    parts: Vec<Ty>,
    extent: Extent,
    open: bool,
}

impl Types {
    pub(crate) fn new(parts: Vec<Ty>) -> Rc<Self> {
        Rc::new(Self {
            extent: Extent::all(parts.iter().map(Ty::extent)),
            open: parts.iter().any(Ty::is_open),
            parts,
        })
    }
}

impl std::ops::Deref for Types {
    type Target = [Ty];
    fn deref(&self) -> &[Ty] {
        &self.parts
    }
}

impl PartialEq for Types {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}
impl Eq for Types {}
impl std::hash::Hash for Types {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.parts.hash(state);
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.decl == other.decl && self.args == other.args
    }
}
impl Eq for Record {}
impl std::hash::Hash for Record {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.decl.hash(state);
        self.args.hash(state);
    }
}

impl Record {
    /// A record of its fields, with what follows from them.
    pub(crate) fn new(
        (kind, decl, name): (RecordKind, NodeId, Symbol),
        args: Vec<Ty>,
        fields: Vec<FieldTy>,
    ) -> Self {
        let mut extent = Extent::all(fields.iter().map(|f| f.ty.extent()));
        let validity = u64::from(kind == RecordKind::Header);
        extent.words = extent.words.saturating_add(validity);
        let of_args = Extent::all(args.iter().map(Ty::extent));
        Self {
            open: args.iter().any(Ty::is_open) || fields.iter().any(|f| f.ty.is_open()),
            extent: extent.or(of_args),
            kind,
            decl,
            name,
            args,
            fields,
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<(u32, &FieldTy)> {
        let at = self.fields.iter().position(|f| &*f.name == name)?;
        Some((at as u32, &self.fields[at]))
    }
}

/// An enum; serialisable if it has an underlying type.
#[derive(Clone, Debug)]
pub(crate) struct EnumTy {
    pub(crate) decl: NodeId,
    pub(crate) name: Symbol,
    pub(crate) members: IndexSet<Symbol>,
    /// Underlying type and the members' values.
    pub(crate) repr: Option<(Ty, Vec<BigInt>)>,
}

impl PartialEq for EnumTy {
    fn eq(&self, other: &Self) -> bool {
        self.decl == other.decl
    }
}
impl Eq for EnumTy {}
impl std::hash::Hash for EnumTy {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.decl.hash(state);
    }
}

/// `type T name`.
#[derive(Clone, Debug)]
pub(crate) struct NewTy {
    pub(crate) decl: NodeId,
    pub(crate) name: Symbol,
    pub(crate) underlying: Ty,
    pub(crate) extent: Extent,
}

impl PartialEq for NewTy {
    fn eq(&self, other: &Self) -> bool {
        self.decl == other.decl
    }
}
impl Eq for NewTy {}
impl std::hash::Hash for NewTy {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.decl.hash(state);
    }
}

impl Ty {
    pub(crate) fn bit(width: u32) -> Self {
        Ty::Bits {
            width,
            signed: false,
        }
    }

    pub(crate) fn tuple(parts: Vec<Ty>) -> Self {
        Ty::Tuple(Types::new(parts))
    }

    /// Types of the components of an aggregate; none of what is none.
    pub(crate) fn components(&self) -> Vec<Ty> {
        match self {
            Ty::Record(r) => r.fields.iter().map(|f| f.ty.clone()).collect(),
            Ty::Tuple(all) => all.to_vec(),
            Ty::ListExpr(all) => all.clone(),
            Ty::StructExpr(all) => all.iter().map(|(_, t)| t.clone()).collect(),
            Ty::Stack(t, n) => vec![(**t).clone(); *n as usize],
            _ => Vec::new(),
        }
    }

    pub(crate) fn is_poison(&self) -> bool {
        matches!(self, Ty::Poison)
    }

    /// Whether an inference variable is inside.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Ty::Var(_) => true,
            Ty::Record(r) => r.open,
            Ty::Tuple(all)
            | Ty::Extern(_, _, all)
            | Ty::Block(_, _, all)
            | Ty::Package(_, _, all) => all.open,
            Ty::Stack(t, _) | Ty::List(t) => t.is_open(),
            Ty::ListExpr(all) => all.iter().any(Ty::is_open),
            Ty::StructExpr(all) => all.iter().any(|(_, t)| t.is_open()),
            _ => false,
        }
    }

    /// Width and signedness of `bit<N>`/`int<N>`.
    pub(crate) fn bits(&self) -> Option<(u32, bool)> {
        match self {
            Ty::Bits { width, signed } => Some((*width, *signed)),
            _ => None,
        }
    }

    /// Width and signedness of `bit<N>`, `int<N>` and of a `type` that is made of one of them. An
    /// integer literal becomes a value of such a type by itself.
    pub(crate) fn number(&self) -> Option<(u32, bool)> {
        match self {
            Ty::New(n) => n.underlying.number(),
            _ => self.bits(),
        }
    }

    /// The record, if it is one.
    pub(crate) fn record(&self) -> Option<&Rc<Record>> {
        match self {
            Ty::Record(r) => Some(r),
            _ => None,
        }
    }

    pub(crate) fn is_header(&self) -> bool {
        self.record().is_some_and(|r| r.kind == RecordKind::Header)
    }

    pub(crate) fn is_union(&self) -> bool {
        self.record().is_some_and(|r| r.kind == RecordKind::Union)
    }

    /// Whether it is that of packets, whose methods are the language's own.
    pub(crate) fn is_packet(&self) -> bool {
        matches!(self, Ty::Extern(_, name, _) if matches!(&**name, "packet_in" | "packet_out"))
    }

    /// A serialisable enum's underlying type.
    pub(crate) fn enum_repr(&self) -> Option<&Ty> {
        match self {
            Ty::Enum(e) => e.repr.as_ref().map(|(t, _)| t),
            _ => None,
        }
    }

    /// Whether values exist at run time as data.
    pub(crate) fn is_data(&self) -> bool {
        !matches!(
            self,
            Ty::Void
                | Ty::MatchKind
                | Ty::Extern(..)
                | Ty::Block(..)
                | Ty::Package(..)
                | Ty::Table
                | Ty::ApplyResult
                | Ty::Action
                | Ty::ValueSet
        )
    }

    /// Bits on the wire; `None` if not fixed or not serialisable.
    pub(crate) fn size_bits(&self, max: bool) -> Option<u64> {
        match self {
            Ty::Bits { width, .. } => Some(u64::from(*width)),
            Ty::Bool => Some(1),
            Ty::Varbit(n) => Some(if max { u64::from(*n) } else { 0 }),
            Ty::New(n) => n.underlying.size_bits(max),
            Ty::Enum(_) => self.enum_repr()?.size_bits(max),
            Ty::Tuple(all) => all.iter().map(|t| t.size_bits(max)).sum(),
            Ty::Stack(element, n) => Some(element.size_bits(max)? * u64::from(*n)),
            Ty::Record(r) => {
                let sizes = r.fields.iter().map(|f| f.ty.size_bits(max));
                if r.kind != RecordKind::Union {
                    return sizes.sum();
                }
                let all: Option<Vec<u64>> = sizes.collect();
                let all = all?;
                if max {
                    all.into_iter().max()
                } else {
                    all.into_iter().min()
                }
            }
            _ => None,
        }
    }

    /// How large the type is.
    pub(crate) fn extent(&self) -> Extent {
        let all = |parts: &[Ty]| Extent::all(parts.iter().map(Ty::extent));
        match self {
            Ty::Record(r) => r.extent,
            Ty::New(n) => n.extent,
            Ty::Tuple(parts)
            | Ty::Extern(_, _, parts)
            | Ty::Block(_, _, parts)
            | Ty::Package(_, _, parts) => parts.extent,
            Ty::ListExpr(parts) => all(parts),
            Ty::StructExpr(parts) => Extent::all(parts.iter().map(|(_, t)| t.extent())),
            Ty::Stack(element, n) => element.extent().times(*n),
            Ty::List(element) => element.extent().times(1),
            Ty::Bits { width, .. } => Extent {
                words: u64::from(width.div_ceil(64).max(1)),
                ..Extent::WORD
            },
            Ty::Varbit(max) => Extent {
                words: 1 + u64::from(max.div_ceil(64)),
                ..Extent::WORD
            },
            _ => Extent::WORD,
        }
    }

    /// Whether a parameter with a direction can have this type.
    pub(crate) fn can_be_directed(&self) -> bool {
        !matches!(
            self,
            Ty::Extern(..) | Ty::String | Ty::Int | Ty::Package(..) | Ty::Block(..)
        )
    }

    /// Whether a header can hold it: bits, and arrays and structs of them, but no headers.
    pub(crate) fn fits_header(&self) -> bool {
        match self {
            Ty::Bits { .. } | Ty::Bool | Ty::Varbit(_) | Ty::New(_) => true,
            Ty::Poison | Ty::Var(_) | Ty::Param(..) => true,
            Ty::Enum(e) => e.repr.is_some(),
            Ty::Stack(element, _) => element.fits_header(),
            Ty::Record(r) => {
                r.kind == RecordKind::Struct && r.fields.iter().all(|f| f.ty.fits_header())
            }
            _ => false,
        }
    }

    /// The scalars that make up a value, each with its name behind that of the value, in the order
    /// in which [`p4ir::Layout`] has them: the validity of a header stands before its fields.
    pub(crate) fn scalar_parts(&self) -> Vec<(String, Ty)> {
        let mut parts = Vec::new();
        self.push_parts("", &mut parts);
        parts
    }

    fn push_parts(&self, name: &str, out: &mut Vec<(String, Ty)>) {
        if self.is_header() {
            out.push((format!("{name}.$valid$"), Ty::Bool));
        }
        match self {
            Ty::Record(r) => {
                for field in &r.fields {
                    field.ty.push_parts(&format!("{name}.{}", field.name), out);
                }
            }
            Ty::Tuple(all) => {
                for (i, part) in all.iter().enumerate() {
                    part.push_parts(&format!("{name}.{i}"), out);
                }
            }
            Ty::Stack(element, size) => {
                for i in 0..*size {
                    element.push_parts(&format!("{name}[{i}]"), out);
                }
            }
            scalar => out.push((name.to_owned(), scalar.clone())),
        }
    }

    /// Whether the declaration `decl` occurs in the type.
    pub(crate) fn mentions(&self, decl: NodeId) -> bool {
        match self {
            Ty::Stack(t, _) | Ty::List(t) => t.mentions(decl),
            Ty::Tuple(all) => all.iter().any(|t| t.mentions(decl)),
            Ty::Extern(id, _, args) | Ty::Block(id, _, args) | Ty::Package(id, _, args) => {
                *id == decl || args.iter().any(|t| t.mentions(decl))
            }
            Ty::Record(r) => r.decl == decl || r.args.iter().any(|t| t.mentions(decl)),
            _ => false,
        }
    }

    /// Whether a varbit is inside.
    pub(crate) fn has_varbit(&self) -> bool {
        match self {
            Ty::Varbit(_) => true,
            Ty::Record(r) => r.fields.iter().any(|f| f.ty.has_varbit()),
            Ty::Stack(t, _) => t.has_varbit(),
            Ty::Tuple(all) => all.iter().any(Ty::has_varbit),
            _ => false,
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, all: &[Ty]) -> fmt::Result {
    for (i, t) in all.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{t}")?;
    }
    Ok(())
}

fn named(f: &mut fmt::Formatter<'_>, name: &str, args: &[Ty]) -> fmt::Result {
    f.write_str(name)?;
    if !args.is_empty() {
        f.write_str("<")?;
        list(f, args)?;
        f.write_str(">")?;
    }
    Ok(())
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Poison => f.write_str("<error>"),
            Ty::Void => f.write_str("void"),
            Ty::Bool => f.write_str("bool"),
            Ty::String => f.write_str("string"),
            Ty::Error => f.write_str("error"),
            Ty::MatchKind => f.write_str("match_kind"),
            Ty::Int => f.write_str("int"),
            Ty::Bits {
                width,
                signed: false,
            } => write!(f, "bit<{width}>"),
            Ty::Bits {
                width,
                signed: true,
            } => write!(f, "int<{width}>"),
            Ty::Varbit(n) => write!(f, "varbit<{n}>"),
            Ty::Var(_) | Ty::Any => f.write_str("_"),
            Ty::Param(_, name) => f.write_str(name),
            Ty::Record(r) => named(f, &r.name, &r.args),
            Ty::Enum(e) => f.write_str(&e.name),
            Ty::New(n) => f.write_str(&n.name),
            Ty::Stack(t, n) => write!(f, "{t}[{n}]"),
            Ty::Tuple(all) => named(f, "tuple", all),
            Ty::List(t) => write!(f, "list<{t}>"),
            Ty::ListExpr(all) => {
                f.write_str("{ ")?;
                list(f, all)?;
                f.write_str(" }")
            }
            Ty::StructExpr(all) => {
                f.write_str("{ ")?;
                for (i, (name, ty)) in all.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{name} = {ty}")?;
                }
                f.write_str(" }")
            }
            Ty::InvalidHeader => f.write_str("{#}"),
            Ty::Extern(_, name, args) | Ty::Block(_, name, args) | Ty::Package(_, name, args) => {
                named(f, name, args)
            }
            Ty::Table => f.write_str("table"),
            Ty::ApplyResult => f.write_str("result of a table's apply"),
            Ty::Action => f.write_str("action"),
            Ty::ValueSet => f.write_str("value_set"),
        }
    }
}

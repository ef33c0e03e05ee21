//! Types, interned: equal types have equal [`TypeId`]s.

use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

use crate::block::Annotation;
use crate::entity::{Entity, TypeId};

/// What a record of fields is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordKind {
    /// `struct`.
    Struct,
    /// `tuple<...>`: fields are named by position.
    Tuple,
    /// `header_union`: every field is a header, at most one is valid.
    Union,
    /// `header`: has a validity bit; fields are bits, bool, varbit or structs of these.
    Header,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Name in the source; the position as text for a tuple.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Annotations such as `@field_list(1)`.
    pub annotations: Vec<Annotation>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// `bit<width>` or, if `signed`, `int<width>`.
    Bits {
        /// Width in bits.
        width: u32,
        /// `int<N>`.
        signed: bool,
    },
    /// `bool`.
    Bool,
    /// `error`: index into [`crate::Program::errors`].
    Error,
    /// `string`: only constants, only as extern argument.
    String,
    /// `varbit<max>`.
    Varbit {
        /// Greatest length in bits.
        max: u32,
    },
    /// A plain enum: a value is the index of its member.
    Enum {
        /// Its name.
        name: String,
        /// Member names.
        members: Vec<String>,
    },
    /// Struct, tuple, header or header union.
    Record {
        /// Which of them.
        kind: RecordKind,
        /// Name in the source; empty for a tuple.
        name: String,
        /// Fields in order.
        fields: Vec<Field>,
    },
    /// `element[size]`: a stack of headers or header unions, or an array of anything else.
    Stack {
        /// Type of the elements.
        element: TypeId,
        /// Their number.
        size: u32,
    },
}

impl Type {
    /// Fields of a record.
    pub fn fields(&self) -> Option<&[Field]> {
        match self {
            Type::Record { fields, .. } => Some(fields),
            _ => None,
        }
    }

    /// Whether values fit one leaf of the layout: everything but records and stacks.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Type::Record { .. } | Type::Stack { .. })
    }

    /// Whether it is a header.
    pub fn is_header(&self) -> bool {
        matches!(
            self,
            Type::Record {
                kind: RecordKind::Header,
                ..
            }
        )
    }

    /// Width and signedness of `bit<N>`/`int<N>`.
    pub fn bits(&self) -> Option<(u32, bool)> {
        match self {
            Type::Bits { width, signed } => Some((*width, *signed)),
            _ => None,
        }
    }
}

/// All types of a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TypeTable {
    set: IndexSet<Type>,
}

impl TypeTable {
    /// The handle of a type, adding it if it is new.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        TypeId::new(self.set.insert_full(ty).0)
    }

    /// `bit<width>`.
    pub fn bit(&mut self, width: u32) -> TypeId {
        self.intern(Type::Bits {
            width,
            signed: false,
        })
    }

    /// `bool`.
    pub fn boolean(&mut self) -> TypeId {
        self.intern(Type::Bool)
    }

    /// The type, or `None` when the handle is of another table.
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.set.get_index(id.index())
    }

    /// Handles and types in order of creation.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TypeId, &Type)> {
        self.set
            .iter()
            .enumerate()
            .map(|(i, t)| (TypeId::new(i), t))
    }

    /// Number of types.
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Position of the field called `name` in a record type.
    pub fn field_index(&self, ty: TypeId, name: &str) -> Option<u32> {
        let fields = self.get(ty)?.fields()?;
        fields.iter().position(|f| f.name == name).map(|i| i as u32)
    }

    /// Bits of a value on the wire: fields of headers and structs and elements of arrays in order,
    /// varbit counted as 0, bool as 1. `None` for what has no wire form (error, plain enum, string,
    /// union).
    pub fn wire_width(&self, ty: TypeId) -> Option<u64> {
        match self.get(ty)? {
            Type::Bits { width, .. } => Some(u64::from(*width)),
            Type::Bool => Some(1),
            Type::Varbit { .. } => Some(0),
            Type::Record { kind, fields, .. } if *kind != RecordKind::Union => {
                fields.iter().map(|f| self.wire_width(f.ty)).sum()
            }
            Type::Stack { element, size } => {
                self.wire_width(*element)?.checked_mul(u64::from(*size))
            }
            _ => None,
        }
    }
}

impl std::ops::Index<TypeId> for TypeTable {
    type Output = Type;
    fn index(&self, id: TypeId) -> &Type {
        &self.set[id.index()]
    }
}

//! Flattening of variables into numbered scalar leaves.
//!
//! A scalar is one leaf. A record is its fields in order; a header has its validity as an extra
//! leaf in front. A stack is `nextIndex` and then its elements. So the leaf of a place is the base
//! of its variable plus [`Layout::field_offset`] per field step and `1 + index * leaves(element)`
//! per index step.

use serde::{Deserialize, Serialize};

use crate::Program;
use crate::entity::{Arena, Entity, TypeId, VarId};
use crate::expr::{Place, Projection};
use crate::types::{RecordKind, Type, TypeTable};

/// What a leaf holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LeafKind {
    /// `bit<N>`/`int<N>`.
    Bits {
        /// Width in bits.
        width: u32,
        /// `int<N>`.
        signed: bool,
    },
    /// `bool`.
    Bool,
    /// Validity of the header whose fields follow.
    Valid,
    /// `nextIndex` of the stack whose elements follow.
    NextIndex,
    /// `error`.
    Error,
    /// A plain enum.
    Enum,
    /// `varbit<max>`.
    Varbit {
        /// Greatest length in bits.
        max: u32,
    },
    /// `string`.
    Str,
}

impl LeafKind {
    /// Whether it is a value of the program, which a packet or a register holds: neither the
    /// validity of a header nor the counter of a stack.
    pub const fn is_data(self) -> bool {
        !matches!(self, LeafKind::Valid | LeafKind::NextIndex)
    }
}

/// One leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What it holds.
    pub kind: LeafKind,
    /// The variable it belongs to.
    pub var: VarId,
}

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    per_type: Vec<u32>,
    /// By type, leaves in front of each field; empty for what is no record.
    fields: Vec<Vec<u32>>,
    bases: Arena<VarId, u32>,
    leaves: Vec<Leaf>,
}

impl Layout {
    /// Lays out all variables. Types must be well-formed (elements created before what contains
    /// them).
    pub(crate) fn new(program: &Program) -> Self {
        let types = &program.types;
        let mut layout = Self::default();
        for (_, ty) in types.iter() {
            let mut offsets = Vec::new();
            let n = match ty {
                Type::Record { kind, fields, .. } => {
                    let mut next = u32::from(*kind == RecordKind::Header);
                    for field in fields {
                        offsets.push(next);
                        next += layout.leaves_of(field.ty);
                    }
                    next
                }
                Type::Stack { element, size } => 1 + size * layout.leaves_of(*element),
                _ => 1,
            };
            layout.per_type.push(n);
            layout.fields.push(offsets);
        }
        for (var, decl) in program.vars.iter() {
            layout.bases.push(layout.leaves.len() as u32);
            push_leaves(types, decl.ty, var, &mut layout.leaves);
        }
        layout
    }

    /// Number of leaves of a type.
    pub fn leaves_of(&self, ty: TypeId) -> u32 {
        self.per_type.get(ty.index()).copied().unwrap_or(0)
    }

    /// First leaf of a variable.
    pub fn base(&self, var: VarId) -> u32 {
        self.bases[var]
    }

    /// All leaves of all variables.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Distance from the first leaf of a record to the first leaf of its field; 0 if it has no such
    /// field.
    pub fn field_offset(&self, record: TypeId, field: u32) -> u32 {
        let offsets = self.fields.get(record.index());
        let offset = offsets.and_then(|all| all.get(field as usize));
        offset.copied().unwrap_or(0)
    }

    /// Distance from the first leaf of a stack to the first leaf of an element.
    pub fn element_offset(&self, element: TypeId, index: u32) -> u32 {
        1 + index * self.leaves_of(element)
    }

    /// First leaf of a place without run-time indices; `None` if it has one.
    pub fn place(&self, program: &Program, place: &Place) -> Option<u32> {
        let mut ty = program.vars[place.var].ty;
        let mut at = self.base(place.var);
        for step in &place.path {
            match (step, &program.types[ty]) {
                (Projection::Field(i), Type::Record { fields, .. }) => {
                    at += self.field_offset(ty, *i);
                    ty = fields[*i as usize].ty;
                }
                (Projection::Index(i), Type::Stack { element, .. }) => {
                    at += self.element_offset(*element, *i);
                    ty = *element;
                }
                _ => return None,
            }
        }
        Some(at)
    }
}

fn push_leaves(types: &TypeTable, ty: TypeId, var: VarId, out: &mut Vec<Leaf>) {
    let kind = match &types[ty] {
        Type::Record { kind, fields, .. } => {
            if *kind == RecordKind::Header {
                out.push(Leaf {
                    kind: LeafKind::Valid,
                    var,
                });
            }
            for field in fields {
                push_leaves(types, field.ty, var, out);
            }
            return;
        }
        Type::Stack { element, size } => {
            out.push(Leaf {
                kind: LeafKind::NextIndex,
                var,
            });
            for _ in 0..*size {
                push_leaves(types, *element, var, out);
            }
            return;
        }
        Type::Bits { width, signed } => LeafKind::Bits {
            width: *width,
            signed: *signed,
        },
        Type::Bool => LeafKind::Bool,
        Type::Error => LeafKind::Error,
        Type::Enum { .. } => LeafKind::Enum,
        Type::Varbit { max } => LeafKind::Varbit { max: *max },
        Type::String => LeafKind::Str,
    };
    out.push(Leaf { kind, var });
}

//! Types as P4Info describes them.

use std::collections::HashMap;

use super::notes::{Notes, notes};
use super::{NewType, NewTypeKind, SerializableEnum, TypeInfo, TypeSpec};
use crate::annotations::{self, SdnType};
use crate::ast::{self, DeclKind, NodeId};
use crate::types::fold::to_bits;
use crate::types::{RecordKind, Ty};

/// Declarations of types by id.
pub(crate) type Decls<'a> = HashMap<NodeId, &'a ast::Decl>;

/// Records by declaration.
pub(crate) type Records = HashMap<NodeId, std::rc::Rc<crate::types::Record>>;

/// Collects the user-defined types that occur.
pub(super) struct Types<'a, 'd> {
    pub(super) decls: &'d Decls<'a>,
    /// Records without type arguments, by declaration.
    pub(super) records: &'d Records,
    pub(super) errors: &'d [String],
    pub(super) info: TypeInfo,
}

/// A number as bytes padded to the width.
pub(super) fn padded(value: &num_bigint::BigUint, width: u32) -> Vec<u8> {
    let bytes = value.to_bytes_be();
    let length = width.div_ceil(8) as usize;
    let mut out = vec![0; length.saturating_sub(bytes.len())];
    out.extend(bytes.iter().skip(bytes.len().saturating_sub(length)));
    out
}

impl<'a> Types<'a, '_> {
    fn annotations(&self, id: NodeId) -> &'a [ast::Annotation] {
        self.decls.get(&id).map_or(&[], |d| &d.annotations)
    }

    /// The control-plane name of a declared type.
    pub(super) fn name(&self, id: NodeId, name: &str) -> String {
        explicit_name(self.annotations(id)).unwrap_or_else(|| name.to_owned())
    }

    fn field_name(&self, record: NodeId, index: usize, name: &str) -> String {
        match self.decls.get(&record).map(|d| &d.kind) {
            Some(DeclKind::Composite(c)) => c
                .fields
                .get(index)
                .and_then(|f| explicit_name(&f.annotations))
                .unwrap_or_else(|| name.to_owned()),
            _ => name.to_owned(),
        }
    }

    /// Describes a type and notes the named types inside.
    pub(super) fn spec(&mut self, ty: &Ty) -> TypeSpec {
        match ty {
            Ty::Bits {
                width,
                signed: false,
            } => TypeSpec::Bit(*width),
            Ty::Bits {
                width,
                signed: true,
            } => TypeSpec::Int(*width),
            Ty::Varbit(max) => TypeSpec::Varbit(*max),
            Ty::Bool => TypeSpec::Bool,
            Ty::Error => {
                self.info.errors = self.errors.to_vec();
                TypeSpec::Error
            }
            Ty::Tuple(all) => TypeSpec::Tuple(all.iter().map(|t| self.spec(t)).collect()),
            Ty::ListExpr(all) => TypeSpec::Tuple(all.iter().map(|t| self.spec(t)).collect()),
            Ty::Enum(e) => {
                let name = self.name(e.decl, &e.name);
                match &e.repr {
                    None if self.info.enums.contains_key(&name) => TypeSpec::Enum(name),
                    Some(_) if self.info.serializable_enums.contains_key(&name) => {
                        TypeSpec::SerializableEnum(name)
                    }
                    None => {
                        let members = e.members.iter().map(ToString::to_string).collect();
                        self.info.enums.insert(name.clone(), members);
                        TypeSpec::Enum(name)
                    }
                    Some((repr, values)) => {
                        let bitwidth = repr.bits().map_or(0, |(w, _)| w);
                        let bytes = values
                            .iter()
                            .map(|v| padded(&to_bits(v, bitwidth), bitwidth));
                        let members = e
                            .members
                            .iter()
                            .map(ToString::to_string)
                            .zip(bytes)
                            .collect();
                        let spec = SerializableEnum { bitwidth, members };
                        self.info.serializable_enums.insert(name.clone(), spec);
                        TypeSpec::SerializableEnum(name)
                    }
                }
            }
            Ty::New(n) => self.new_type(n),
            Ty::Stack(element, size) => {
                let inner = self.spec(element);
                match inner {
                    TypeSpec::HeaderUnion(name) => TypeSpec::HeaderUnionStack(name, *size),
                    TypeSpec::Header(name) => TypeSpec::HeaderStack(name, *size),
                    other => TypeSpec::Tuple(vec![other; *size as usize]),
                }
            }
            Ty::Record(r) => self.record(r),
            _ => TypeSpec::Tuple(Vec::new()),
        }
    }

    fn record(&mut self, r: &crate::types::Record) -> TypeSpec {
        let name = self.name(r.decl, &r.name);
        match r.kind {
            RecordKind::Struct => {
                if !self.info.structs.contains_key(&name) {
                    let mut members = Vec::new();
                    for f in &r.fields {
                        let spec = self.spec(&f.ty);
                        members.push((self.field_name(r.decl, f.index, &f.name), spec));
                    }
                    self.info.structs.insert(name.clone(), members);
                }
                TypeSpec::Struct(name)
            }
            RecordKind::Header => {
                if !self.info.headers.contains_key(&name) {
                    let mut members = Vec::new();
                    self.flatten(r, "", &mut members);
                    self.info.headers.insert(name.clone(), members);
                }
                TypeSpec::Header(name)
            }
            RecordKind::Union => {
                let mut members = Vec::new();
                for f in &r.fields {
                    if let TypeSpec::Header(header) = self.spec(&f.ty) {
                        members.push((self.field_name(r.decl, f.index, &f.name), header));
                    }
                }
                self.info.header_unions.insert(name.clone(), members);
                TypeSpec::HeaderUnion(name)
            }
        }
    }

    fn flatten(
        &mut self,
        r: &crate::types::Record,
        prefix: &str,
        out: &mut Vec<(String, TypeSpec)>,
    ) {
        for f in &r.fields {
            let name = format!("{prefix}{}", self.field_name(r.decl, f.index, &f.name));
            match &f.ty {
                Ty::Record(inner) => self.flatten(inner, &format!("{name}."), out),
                other => {
                    let spec = self.spec(other);
                    out.push((name, spec));
                }
            }
        }
    }

    fn new_type(&mut self, n: &crate::types::NewTy) -> TypeSpec {
        let name = self.name(n.decl, &n.name);
        let mut underlying = n.underlying.clone();
        while let Ty::New(inner) = &underlying {
            underlying = inner.underlying.clone();
        }
        let original = self.spec(&underlying);
        let list = self.annotations(n.decl);
        let kind = match self.translation(n.decl) {
            None => NewTypeKind::Original(original),
            Some(t) => match t.sdn_type {
                SdnType::String => NewTypeKind::TranslatedString { uri: t.uri },
                SdnType::Bits(bitwidth) => NewTypeKind::TranslatedBits {
                    uri: t.uri,
                    bitwidth,
                },
            },
        };
        let Notes {
            plain, structured, ..
        } = notes(list, &["p4runtime_translation"]);
        let spec = NewType {
            kind,
            annotations: plain,
            structured_annotations: structured,
        };
        self.info.new_types.insert(name.clone(), spec);
        TypeSpec::NewType(name)
    }

    fn translation(&self, id: NodeId) -> Option<annotations::Translation> {
        let a = annotations::find(self.annotations(id), "p4runtime_translation")?;
        annotations::translation(a).ok()
    }

    /// Width of a field for the control plane; 0 for translated strings and `error`.
    pub(super) fn width(&self, ty: &Ty) -> u32 {
        match ty {
            Ty::New(n) => match self.translation(n.decl).map(|t| t.sdn_type) {
                Some(SdnType::Bits(w)) => w,
                Some(SdnType::String) => 0,
                None => self.width(&n.underlying),
            },
            Ty::Enum(e) => match &e.repr {
                Some((repr, _)) => self.width(repr),
                // What p4c counts for a plain enum.
                None => 32,
            },
            Ty::Bits { width, .. } => *width,
            Ty::Bool => 1,
            Ty::Varbit(max) => *max,
            _ => 0,
        }
    }

    /// The name of a `type`; also notes the type if it is user-defined.
    pub(super) fn type_name(&mut self, ty: &Ty) -> Option<String> {
        self.spec(ty);
        match ty {
            Ty::New(n) => Some(n.name.to_string()),
            _ => None,
        }
    }
}

/// The value of an explicit `@name`.
pub(super) fn explicit_name(list: &[ast::Annotation]) -> Option<String> {
    let a = annotations::find(list, "name")?;
    let name = annotations::string(a).ok()?;
    Some(name.strip_prefix('.').map_or(name.clone(), str::to_owned))
}

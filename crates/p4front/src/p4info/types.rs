//! Types as P4Info describes them.

use std::collections::HashMap;

use num_bigint::BigInt;
use p4runtime::p4::config::v1 as proto;
use p4runtime::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime::p4::config::v1::p4_new_type_spec::Representation;

use super::int32;
use super::notes::{Notes, notes};
use crate::annotations::{self, SdnType};
use crate::ast::{self, DeclKind, NodeId, Symbol};
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
    pub(super) info: proto::P4TypeInfo,
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
    pub(super) fn data_type(&mut self, ty: &Ty) -> proto::P4DataTypeSpec {
        proto::P4DataTypeSpec {
            type_spec: Some(self.spec(ty)),
        }
    }

    fn spec(&mut self, ty: &Ty) -> TypeSpec {
        match ty {
            Ty::Bits { .. } | Ty::Varbit(_) => TypeSpec::Bitstring(bitstring(ty)),
            Ty::Bool => TypeSpec::Bool(proto::P4BoolType {}),
            Ty::Error => {
                let members = self.errors.to_vec();
                self.info.error =
                    (!members.is_empty()).then_some(proto::P4ErrorTypeSpec { members });
                TypeSpec::Error(proto::P4ErrorType {})
            }
            Ty::Tuple(all) => tuple(all.iter().map(|t| self.data_type(t)).collect()),
            Ty::ListExpr(all) => tuple(all.iter().map(|t| self.data_type(t)).collect()),
            Ty::Enum(e) => self.enumeration(e),
            Ty::New(n) => self.new_type(n),
            Ty::Stack(element, size) => match self.spec(element) {
                TypeSpec::HeaderUnion(union) => {
                    TypeSpec::HeaderUnionStack(proto::P4HeaderUnionStackTypeSpec {
                        header_union: Some(union),
                        size: int32(*size),
                    })
                }
                TypeSpec::Header(header) => TypeSpec::HeaderStack(proto::P4HeaderStackTypeSpec {
                    header: Some(header),
                    size: int32(*size),
                }),
                other => {
                    let type_spec = Some(other);
                    tuple(vec![proto::P4DataTypeSpec { type_spec }; *size as usize])
                }
            },
            Ty::Record(r) => self.record(r),
            _ => tuple(Vec::new()),
        }
    }

    fn enumeration(&mut self, e: &crate::types::EnumTy) -> TypeSpec {
        let name = self.name(e.decl, &e.name);
        let Some((repr, values)) = &e.repr else {
            let member = |member: &Symbol| proto::p4_enum_type_spec::Member {
                name: member.to_string(),
                ..Default::default()
            };
            let entry = self.info.enums.entry(name.clone());
            entry.or_insert_with(|| proto::P4EnumTypeSpec {
                members: e.members.iter().map(member).collect(),
                ..Default::default()
            });
            return TypeSpec::Enum(named(name));
        };
        let width = repr.bits().map_or(0, |(w, _)| w);
        let member =
            |(member, value): (&Symbol, &BigInt)| proto::p4_serializable_enum_type_spec::Member {
                name: member.to_string(),
                value: padded(&to_bits(value, width), width),
                ..Default::default()
            };
        let entry = self.info.serializable_enums.entry(name.clone());
        entry.or_insert_with(|| proto::P4SerializableEnumTypeSpec {
            underlying_type: Some(bit(width)),
            members: e.members.iter().zip(values).map(member).collect(),
            ..Default::default()
        });
        TypeSpec::SerializableEnum(named(name))
    }

    fn record(&mut self, r: &crate::types::Record) -> TypeSpec {
        let name = self.name(r.decl, &r.name);
        match r.kind {
            RecordKind::Struct => {
                if !self.info.structs.contains_key(&name) {
                    let mut members = Vec::new();
                    for f in &r.fields {
                        members.push(proto::p4_struct_type_spec::Member {
                            type_spec: Some(self.data_type(&f.ty)),
                            name: self.field_name(r.decl, f.index, &f.name),
                        });
                    }
                    let spec = proto::P4StructTypeSpec {
                        members,
                        ..Default::default()
                    };
                    self.info.structs.insert(name.clone(), spec);
                }
                TypeSpec::Struct(named(name))
            }
            RecordKind::Header => {
                if !self.info.headers.contains_key(&name) {
                    let mut members = Vec::new();
                    self.flatten(r, "", &mut members);
                    let spec = proto::P4HeaderTypeSpec {
                        members,
                        ..Default::default()
                    };
                    self.info.headers.insert(name.clone(), spec);
                }
                TypeSpec::Header(named(name))
            }
            RecordKind::Union => {
                let mut members = Vec::new();
                for f in &r.fields {
                    if let TypeSpec::Header(header) = self.spec(&f.ty) {
                        members.push(proto::p4_header_union_type_spec::Member {
                            name: self.field_name(r.decl, f.index, &f.name),
                            header: Some(header),
                        });
                    }
                }
                let spec = proto::P4HeaderUnionTypeSpec {
                    members,
                    ..Default::default()
                };
                self.info.header_unions.insert(name.clone(), spec);
                TypeSpec::HeaderUnion(named(name))
            }
        }
    }

    fn flatten(
        &mut self,
        r: &crate::types::Record,
        prefix: &str,
        out: &mut Vec<proto::p4_header_type_spec::Member>,
    ) {
        for f in &r.fields {
            let name = format!("{prefix}{}", self.field_name(r.decl, f.index, &f.name));
            match &f.ty {
                Ty::Record(inner) => self.flatten(inner, &format!("{name}."), out),
                other => {
                    self.spec(other);
                    let type_spec = Some(bitstring(other));
                    out.push(proto::p4_header_type_spec::Member { name, type_spec });
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
        let original = self.data_type(&underlying);
        let list = self.annotations(n.decl);
        let representation = match self.translation(n.decl) {
            None => Representation::OriginalType(original),
            Some(t) => Representation::TranslatedType(translated(t)),
        };
        let Notes {
            plain, structured, ..
        } = notes(list, &["p4runtime_translation"]);
        let spec = proto::P4NewTypeSpec {
            representation: Some(representation),
            annotations: plain,
            structured_annotations: structured,
            ..Default::default()
        };
        self.info.new_types.insert(name.clone(), spec);
        TypeSpec::NewType(named(name))
    }

    fn translation(&self, id: NodeId) -> Option<annotations::Translation> {
        let a = annotations::find(self.annotations(id), "p4runtime_translation")?;
        annotations::translation(a).ok()
    }

    /// Width of a field for the control plane; 0 for translated strings and `error`.
    pub(super) fn width(&self, ty: &Ty) -> i32 {
        int32(self.bits(ty))
    }

    fn bits(&self, ty: &Ty) -> u32 {
        match ty {
            Ty::New(n) => match self.translation(n.decl).map(|t| t.sdn_type) {
                Some(SdnType::Bits(w)) => w,
                Some(SdnType::String) => 0,
                None => self.bits(&n.underlying),
            },
            Ty::Enum(e) => match &e.repr {
                Some((repr, _)) => self.bits(repr),
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
    pub(super) fn type_name(&mut self, ty: &Ty) -> Option<proto::P4NamedType> {
        self.spec(ty);
        match ty {
            Ty::New(n) => Some(named(n.name.to_string())),
            _ => None,
        }
    }
}

/// A reference to a type of the list of types.
pub(super) fn named(name: String) -> proto::P4NamedType {
    proto::P4NamedType { name }
}

fn tuple(members: Vec<proto::P4DataTypeSpec>) -> TypeSpec {
    TypeSpec::Tuple(proto::P4TupleTypeSpec { members })
}

fn bit(width: u32) -> proto::P4BitTypeSpec {
    proto::P4BitTypeSpec {
        bitwidth: int32(width),
    }
}

/// A type whose values are byte strings; empty for others, which headers do not have.
fn bitstring(ty: &Ty) -> proto::P4BitstringLikeTypeSpec {
    let type_spec = match *ty {
        Ty::Bits {
            width,
            signed: false,
        } => Some(Bitstring::Bit(bit(width))),
        Ty::Bits { width, .. } => Some(Bitstring::Int(proto::P4IntTypeSpec {
            bitwidth: int32(width),
        })),
        Ty::Varbit(max) => Some(Bitstring::Varbit(proto::P4VarbitTypeSpec {
            max_bitwidth: int32(max),
        })),
        _ => None,
    };
    proto::P4BitstringLikeTypeSpec {
        type_spec,
        ..Default::default()
    }
}

fn translated(translation: annotations::Translation) -> proto::P4NewTypeTranslation {
    use proto::p4_new_type_translation::{SdnString, SdnType as Sdn};
    proto::P4NewTypeTranslation {
        uri: translation.uri,
        sdn_type: Some(match translation.sdn_type {
            SdnType::String => Sdn::SdnString(SdnString {}),
            SdnType::Bits(width) => Sdn::SdnBitwidth(int32(width)),
        }),
    }
}

/// The value of an explicit `@name`.
pub(super) fn explicit_name(list: &[ast::Annotation]) -> Option<String> {
    let a = annotations::find(list, "name")?;
    let name = annotations::string(a).ok()?;
    Some(name.strip_prefix('.').map_or(name.clone(), str::to_owned))
}

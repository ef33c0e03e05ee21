//! P4Info of extern objects, value sets, packet headers, and the package.

use std::collections::BTreeMap;

use num_traits::ToPrimitive;
use p4ir::{Const, ExprKind, ExternId, ExternType};
use p4runtime::p4::config::v1 as proto;
use p4runtime::p4::config::v1::action_profile::{
    SelectorSizeSemantics, SumOfMembers, SumOfWeights,
};
use p4runtime::p4::config::v1::controller_packet_metadata::Metadata;
use p4runtime::p4::config::v1::counter_spec::Unit;
use p4runtime::p4::config::v1::match_field::{Match, MatchType};
use p4runtime::p4::config::v1::{
    ActionProfile, ControllerPacketMetadata, Counter, CounterSpec, DirectCounter, DirectMeter,
    MatchField, Meter, MeterSpec, Preamble, Register, ValueSet,
};

use super::build::{Builder, extern_kind, match_kind};
use super::facts::{ExternFact, TableFact, ValueSetFact};
use super::ids::{Kind, field_ids};
use super::int32;
use super::notes::{Notes, hidden, id_of, notes};
use super::types::explicit_name;
use crate::annotations;
use crate::ast::{self, DeclKind};
use crate::types::{RecordKind, Ty};

/// A field of a flattened header.
struct FlatField {
    name: String,
    ty: Ty,
    annotations: Vec<ast::Annotation>,
}

/// A meter's unit; P4Runtime has none for both.
pub(super) fn meter_spec(unit: Unit) -> MeterSpec {
    use proto::meter_spec;
    let unit = match unit {
        Unit::Packets => meter_spec::Unit::Packets,
        Unit::Bytes => meter_spec::Unit::Bytes,
        Unit::Both | Unit::Unspecified => meter_spec::Unit::Unspecified,
    };
    MeterSpec {
        unit: unit.into(),
        ..Default::default()
    }
}

impl<'a> Builder<'a, '_> {
    /// The constant given for a constructor parameter.
    fn constructor_arg(&self, id: ExternId, name: &str) -> Option<&Const> {
        let (_, expr) = self.ir.externs[id].args.iter().find(|(n, _)| n == name)?;
        match &self.ir.exprs[*expr].kind {
            ExprKind::Const(value) => Some(value),
            _ => None,
        }
    }

    fn size(&self, id: ExternId) -> i64 {
        match self.constructor_arg(id, "size") {
            Some(Const::Bits(v)) => v.to_i64().unwrap_or(i64::MAX),
            _ => 0,
        }
    }

    fn unit(&self, id: ExternId) -> Unit {
        let object = &self.ir.externs[id];
        let index = match self.constructor_arg(id, "type") {
            Some(Const::Enum(i)) => *i,
            _ => 0,
        };
        let ty = object
            .args
            .iter()
            .find(|(n, _)| n == "type")
            .map(|(_, e)| self.ir.exprs[*e].ty);
        match ty.and_then(|t| self.ir.types.get(t)) {
            Some(p4ir::Type::Enum { members, .. }) => {
                let member = members.get(index as usize).map(|m| m.to_ascii_lowercase());
                match member.as_deref() {
                    Some("bytes") => Unit::Bytes,
                    Some("packets_and_bytes") => Unit::Both,
                    _ => Unit::Packets,
                }
            }
            _ => Unit::Packets,
        }
    }

    pub(super) fn extern_object(&mut self, fact: &ExternFact<'a>, tables: &[&TableFact<'a>]) {
        let ir = self.ir;
        let object = &ir.externs[fact.id];
        let Some(kind) = extern_kind(&object.ty) else {
            return;
        };
        let skip: &[&str] = match kind {
            Kind::ActionProfile => &[
                "max_group_size",
                "selector_size_semantics",
                "max_member_weight",
            ],
            _ => &[],
        };
        let preamble = Some(self.preamble(kind, &object.name, fact.annotations, skip));
        let (size, unit) = (self.size(fact.id), self.unit(fact.id));
        let counted = Some(CounterSpec { unit: unit.into() });
        let measured = Some(meter_spec(unit));
        let table_of = |b: &Self| {
            let table = tables
                .iter()
                .find(|t| ir.tables[t.id].direct.contains(&fact.id));
            table.map(|t| b.symbols.id(Kind::Table, &ir.tables[t.id].name))
        };
        match kind {
            Kind::Counter => {
                let index_type_name = fact.type_args.first().and_then(|t| self.types.type_name(t));
                self.info.counters.push(Counter {
                    preamble,
                    spec: counted,
                    size,
                    index_type_name,
                });
            }
            Kind::Meter => {
                let index_type_name = fact.type_args.first().and_then(|t| self.types.type_name(t));
                self.info.meters.push(Meter {
                    preamble,
                    spec: measured,
                    size,
                    index_type_name,
                });
            }
            Kind::DirectCounter => {
                if let Some(direct_table_id) = table_of(self) {
                    self.info.direct_counters.push(DirectCounter {
                        preamble,
                        spec: counted,
                        direct_table_id,
                    });
                }
            }
            Kind::DirectMeter => {
                if let Some(direct_table_id) = table_of(self) {
                    self.info.direct_meters.push(DirectMeter {
                        preamble,
                        spec: measured,
                        direct_table_id,
                    });
                }
            }
            Kind::Register => {
                let of = fact.type_args.first().unwrap_or(&Ty::Bits {
                    width: 0,
                    signed: false,
                });
                let type_spec = Some(self.types.data_type(of));
                let index_type_name = fact.type_args.get(1).and_then(|t| self.types.type_name(t));
                self.info.registers.push(Register {
                    preamble,
                    type_spec,
                    size: int32(size),
                    index_type_name,
                });
            }
            _ => self.action_profile(fact, preamble, size, tables),
        }
    }

    fn action_profile(
        &mut self,
        fact: &ExternFact<'a>,
        preamble: Option<Preamble>,
        size: i64,
        tables: &[&TableFact<'a>],
    ) {
        let number = |name| {
            let a = annotations::find(fact.annotations, name)?;
            annotations::integer(a).ok()?.to_i32()
        };
        let selector = self.selectors.iter().find(|s| s.profile == fact.id);
        let with_selector =
            selector.is_some() || self.ir.externs[fact.id].ty == ExternType::ActionSelector;
        let semantics = annotations::find(fact.annotations, "selector_size_semantics")
            .and_then(|a| annotations::string(a).ok())
            .map(|text| text.to_ascii_lowercase());
        let size_semantics = match semantics.as_deref() {
            Some("sum_of_members") => Some(SelectorSizeSemantics::SumOfMembers(SumOfMembers {
                max_member_weight: number("max_member_weight").unwrap_or_default(),
            })),
            Some("sum_of_weights") => Some(SelectorSizeSemantics::SumOfWeights(SumOfWeights {})),
            _ => None,
        };
        // p4c lists the tables in order of their names.
        let users: BTreeMap<&str, u32> = tables
            .iter()
            .map(|t| &self.ir.tables[t.id])
            .filter(|t| {
                t.implementation == Some(fact.id)
                    || selector.is_some_and(|s| t.implementation == Some(s.selector))
            })
            .map(|t| (t.name.as_str(), self.symbols.id(Kind::Table, &t.name)))
            .collect();
        self.info.action_profiles.push(ActionProfile {
            preamble,
            table_ids: users.into_values().collect(),
            with_selector,
            size,
            max_group_size: number("max_group_size")
                .or(selector.and_then(|s| s.max_group_size))
                .filter(|_| with_selector)
                .unwrap_or_default(),
            weights_disallowed: false,
            selector_size_semantics: size_semantics.filter(|_| with_selector),
        });
    }

    pub(super) fn value_set(&mut self, fact: &ValueSetFact<'a>) {
        let set = &self.ir.value_sets[fact.id];
        let preamble = Some(self.preamble(Kind::ValueSet, &set.name, fact.annotations, &[]));
        let exact = Match::MatchType(MatchType::Exact.into());
        let simple = |id: u32, name: String, bitwidth: i32| MatchField {
            id,
            name,
            bitwidth,
            r#match: Some(exact.clone()),
            ..Default::default()
        };
        let mut fields = Vec::new();
        match &fact.element {
            Ty::Record(r) if r.kind == RecordKind::Struct => {
                let declared = match self.types.decls.get(&r.decl).map(|d| &d.kind) {
                    Some(DeclKind::Composite(c)) => c.fields.as_slice(),
                    _ => &[],
                };
                let given: Vec<_> = declared.iter().map(|f| id_of(&f.annotations)).collect();
                let ids = field_ids(&given);
                for (i, (field, ast_field)) in r.fields.iter().zip(declared).enumerate() {
                    let Notes {
                        plain,
                        structured,
                        doc,
                    } = notes(&ast_field.annotations, &["match"]);
                    let kind = set.fields.get(i).map(|f| &f.kind);
                    fields.push(MatchField {
                        r#match: kind.and_then(match_kind).or(Some(exact.clone())),
                        annotations: plain,
                        structured_annotations: structured,
                        doc,
                        ..simple(
                            ids[i],
                            explicit_name(&ast_field.annotations)
                                .unwrap_or_else(|| field.name.to_string()),
                            self.types.width(&field.ty),
                        )
                    });
                }
            }
            Ty::Enum(e) if e.repr.is_some() => {
                let width = self.types.width(&fact.element);
                for (i, member) in e.members.iter().enumerate() {
                    fields.push(simple(i as u32 + 1, member.to_string(), width));
                }
            }
            other => fields.push(simple(1, String::new(), self.types.width(other))),
        }
        self.info.value_sets.push(ValueSet {
            preamble,
            r#match: fields,
            size: int32(set.size),
        });
    }

    pub(super) fn controller_header(&mut self, (decl, controller): &(&'a ast::Decl, String)) {
        if hidden(&decl.annotations) {
            return;
        }
        let name = self.header_name(decl);
        let mut preamble = self.preamble(Kind::ControllerHeader, &name, &decl.annotations, &[]);
        preamble.name.clone_from(controller);
        preamble.alias.clone_from(controller);
        let mut fields = Vec::new();
        if let Some(record) = self.types.records.get(&decl.at.id) {
            self.flat_fields(record, "", &[], &mut fields);
        }
        let given: Vec<_> = fields.iter().map(|f| id_of(&f.annotations)).collect();
        let mut metadata = Vec::new();
        for (field, id) in fields.iter().zip(field_ids(&given)) {
            if hidden(&field.annotations) {
                continue;
            }
            let Notes {
                plain, structured, ..
            } = notes(&field.annotations, &[]);
            metadata.push(Metadata {
                id,
                name: field.name.clone(),
                bitwidth: self.types.width(&field.ty),
                type_name: self.types.type_name(&field.ty),
                annotations: plain,
                structured_annotations: structured,
                ..Default::default()
            });
        }
        let preamble = Some(preamble);
        self.info
            .controller_packet_metadata
            .push(ControllerPacketMetadata { preamble, metadata });
    }

    /// Fields of a header with structs inside taken apart; names joined by dots, annotations of the
    /// inner field winning over those of the outer.
    fn flat_fields(
        &self,
        record: &crate::types::Record,
        prefix: &str,
        outer: &[ast::Annotation],
        out: &mut Vec<FlatField>,
    ) {
        let declared = match self.types.decls.get(&record.decl).map(|d| &d.kind) {
            Some(DeclKind::Composite(c)) => c.fields.as_slice(),
            _ => &[],
        };
        for field in &record.fields {
            let own = declared
                .get(field.index)
                .map_or(&[][..], |f| f.annotations.as_slice());
            let local = explicit_name(own).filter(|_| prefix.is_empty());
            let name = format!(
                "{prefix}{}",
                local.unwrap_or_else(|| field.name.to_string())
            );
            let mut annotations = own.to_vec();
            let inherited = outer
                .iter()
                .filter(|a| own.iter().all(|o| o.name != a.name));
            annotations.extend(inherited.cloned());
            match &field.ty {
                Ty::Record(inner) => {
                    self.flat_fields(inner, &format!("{name}."), &annotations, out)
                }
                ty => out.push(FlatField {
                    name,
                    ty: ty.clone(),
                    annotations,
                }),
            }
        }
    }
}

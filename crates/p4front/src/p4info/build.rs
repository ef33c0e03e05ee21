//! Building P4Info from a lowered program and the facts lowering noted down.

use std::collections::{BTreeMap, BTreeSet};

use num_traits::ToPrimitive;
use p4ir::{ActionId, Const, ExprKind, ExternId, Program};

use super::facts::{ActionFact, ExternFact, Facts, TableFact, ValueSetFact};
use super::ids::{IdError, Kind, Symbols, field_ids};
use super::notes::*;
use super::reach::Reached;
use super::types::{Decls, Records, Types, explicit_name, padded};
use super::{
    Action, ActionArgument, ActionParam, ActionProfile, ActionRef, AnnotationLiteral,
    ControllerPacketMetadata, Counter, DefaultAction, Digest, DirectCounter, DirectMeter,
    MatchField, MatchType, Meter, P4Info, PacketMetadata, PkgInfo, Preamble, Register, Scope,
    SizeSemantics, Table, TypeInfo, TypeSpec, Unit, ValueSet,
};
use crate::annotations;
use crate::ast::{self, AnnotationBody, DeclKind, Direction};
use crate::diag::{Diagnostic, Diagnostics};
use crate::types::{RecordKind, Ty};

/// Size of a table that gives none, as p4c has it.
const DEFAULT_TABLE_SIZE: i64 = 1024;

/// A field of a flattened header.
struct FlatField {
    name: String,
    ty: Ty,
    annotations: Vec<ast::Annotation>,
}

struct Builder<'a, 'd> {
    ir: &'d Program,
    symbols: Symbols,
    types: Types<'a, 'd>,
    info: P4Info,
}

/// P4Info of a validated program.
pub(crate) fn build<'a>(
    ir: &Program,
    facts: &Facts<'a>,
    program: &'a ast::Program,
    decls: &Decls<'a>,
    records: &Records,
    diags: &mut Diagnostics,
) -> P4Info {
    let reached = Reached::of(ir);
    let types = Types {
        decls,
        records,
        errors: &ir.errors,
        info: TypeInfo::default(),
    };
    let mut b = Builder {
        ir,
        symbols: Symbols::default(),
        types,
        info: P4Info::default(),
    };
    let tables: Vec<_> = facts
        .tables
        .iter()
        .filter(|t| reached.tables.contains(&t.id))
        .collect();
    let in_tables: BTreeSet<ActionId> = tables
        .iter()
        .flat_map(|t| ir.tables[t.id].actions.iter().map(|a| a.action))
        .collect();
    let mut actions: Vec<_> = facts
        .actions
        .iter()
        .filter(|a| in_tables.contains(&a.id) || reached.called.contains(&a.id))
        .collect();
    actions.sort_by_key(|a| (ir.actions[a.id].name.contains('.'), a.id));
    let externs: Vec<_> = facts.externs.iter().collect();
    let sets: Vec<_> = facts
        .value_sets
        .iter()
        .filter(|v| reached.value_sets.contains(&v.id))
        .collect();
    let digests = if reached.digest {
        digest_names(facts, &b.types)
    } else {
        Vec::new()
    };
    let headers = controller_headers(program);
    b.collect(
        &tables, &actions, &externs, &sets, &digests, &headers, diags,
    );
    for action in &actions {
        b.action(action, in_tables.contains(&action.id));
    }
    tables.iter().for_each(|t| b.table(t));
    externs.iter().for_each(|e| b.extern_object(e, &tables));
    sets.iter().for_each(|v| b.value_set(v));
    for (name, ty) in &digests {
        let type_spec = b.types.spec(ty);
        let preamble = b.preamble(Kind::Digest, name, &[], &[]);
        b.info.digests.push(Digest {
            preamble,
            type_spec,
        });
    }
    headers.iter().for_each(|h| b.controller_header(h));
    b.pkg_info(program);
    // p4c writes the message, if empty, wherever it looked for types.
    let described = !(!reached.extern_function
        && b.info.tables.is_empty()
        && externs.is_empty()
        && digests.is_empty()
        && b.info.controller_packet_metadata.is_empty()
        && b.info.actions.iter().all(|a| a.params.is_empty()));
    b.info.type_info = described.then_some(b.types.info);
    b.info
}

/// Headers annotated `@controller_header`, with the annotation's name.
fn controller_headers(program: &ast::Program) -> Vec<(&ast::Decl, String)> {
    let annotated = |d: &&ast::Decl| {
        matches!(&d.kind, DeclKind::Composite(c) if c.kind == ast::CompositeKind::Header)
            && annotations::find(&d.annotations, "controller_header").is_some()
    };
    program
        .decls
        .iter()
        .filter(annotated)
        .filter_map(|d| {
            let a = annotations::find(&d.annotations, "controller_header")?;
            Some((d, annotations::string(a).ok()?))
        })
        .collect()
}

/// Digests by name: the name of the struct, or a number for what has none.
fn digest_names(facts: &Facts<'_>, types: &Types<'_, '_>) -> Vec<(String, Ty)> {
    let mut out: Vec<(String, Ty)> = Vec::new();
    let mut anonymous = 0;
    for ty in &facts.digests {
        let name = match ty {
            Ty::Record(r) => types.name(r.decl, &r.name),
            _ => {
                anonymous += 1;
                format!("digest_{}", anonymous - 1)
            }
        };
        if !out.iter().any(|(n, _)| *n == name) {
            out.push((name, ty.clone()));
        }
    }
    out
}

fn extern_kind(type_name: &str) -> Option<Kind> {
    Some(match type_name {
        "counter" => Kind::Counter,
        "direct_counter" => Kind::DirectCounter,
        "meter" => Kind::Meter,
        "direct_meter" => Kind::DirectMeter,
        "register" => Kind::Register,
        "action_profile" | "action_selector" => Kind::ActionProfile,
        _ => return None,
    })
}

impl<'a> Builder<'a, '_> {
    #[allow(clippy::too_many_arguments)]
    fn collect(
        &mut self,
        tables: &[&TableFact<'a>],
        actions: &[&ActionFact<'a>],
        externs: &[&ExternFact<'a>],
        sets: &[&ValueSetFact<'a>],
        digests: &[(String, Ty)],
        headers: &[(&'a ast::Decl, String)],
        diags: &mut Diagnostics,
    ) {
        let ir = self.ir;
        let mut all: Vec<(Kind, String, &[ast::Annotation])> = Vec::new();
        all.extend(
            actions
                .iter()
                .map(|a| (Kind::Action, ir.actions[a.id].name.clone(), a.annotations)),
        );
        all.extend(
            tables
                .iter()
                .map(|t| (Kind::Table, ir.tables[t.id].name.clone(), t.annotations)),
        );
        for e in externs {
            if let Some(kind) = extern_kind(&ir.externs[e.id].type_name) {
                all.push((kind, ir.externs[e.id].name.clone(), e.annotations));
            }
        }
        all.extend(sets.iter().map(|v| {
            (
                Kind::ValueSet,
                ir.value_sets[v.id].name.clone(),
                v.annotations,
            )
        }));
        all.extend(
            digests
                .iter()
                .map(|(name, _)| (Kind::Digest, name.clone(), &[][..])),
        );
        for (decl, _) in headers {
            let name = self.header_name(decl);
            all.push((Kind::ControllerHeader, name, &decl.annotations));
        }
        for (kind, name, annotations) in all {
            let id = id_of(annotations);
            let Err(error) = self.symbols.add(kind, &name, id) else {
                continue;
            };
            let span = annotations::find(annotations, "id").map(|a| a.at.span);
            let text = match error {
                IdError::WrongPrefix => {
                    format!("the @id of `{name}` has the prefix of another kind of object")
                }
                IdError::Taken => format!("the @id of `{name}` is that of another object"),
            };
            diags.push(Diagnostic::error("annotation", span, text));
        }
        self.symbols.assign();
    }

    fn header_name(&self, decl: &ast::Decl) -> String {
        let own = decl.name().map_or(String::new(), |n| n.to_string());
        explicit_name(&decl.annotations).unwrap_or(own)
    }

    fn preamble(
        &self,
        kind: Kind,
        name: &str,
        list: &[ast::Annotation],
        skip: &[&str],
    ) -> Preamble {
        let Notes {
            plain,
            structured,
            doc,
        } = notes(list, skip);
        Preamble {
            id: self.symbols.id(kind, name),
            name: name.to_owned(),
            alias: self.symbols.alias(name),
            annotations: plain,
            structured_annotations: structured,
            doc,
        }
    }

    /// `in_table` tells whether a table lists the action; otherwise the program itself calls it, and no
    /// parameter is the control plane's to fill.
    fn action(&mut self, fact: &ActionFact<'a>, in_table: bool) {
        if hidden(fact.annotations) {
            return;
        }
        let name = self.ir.actions[fact.id].name.clone();
        let preamble = self.preamble(Kind::Action, &name, fact.annotations, &[]);
        if self
            .info
            .actions
            .iter()
            .any(|a| a.preamble.id == preamble.id)
        {
            return;
        }
        let data: Vec<_> = fact
            .params
            .iter()
            .filter(|(p, _)| in_table && p.direction == Direction::None)
            .collect();
        let given: Vec<_> = data.iter().map(|(p, _)| id_of(&p.annotations)).collect();
        let mut params = Vec::new();
        for ((param, ty), id) in data.into_iter().zip(field_ids(&given)) {
            let Notes {
                plain,
                structured,
                doc,
            } = notes(&param.annotations, &[]);
            let plain_enum = match ty {
                Ty::Enum(e) if e.repr.is_none() => Some(self.types.name(e.decl, &e.name)),
                _ => None,
            };
            params.push(ActionParam {
                id,
                name: explicit_name(&param.annotations).unwrap_or_else(|| param.name.to_string()),
                bitwidth: if plain_enum.is_some() {
                    0
                } else {
                    self.types.width(ty)
                },
                type_name: self.types.type_name(ty).or(plain_enum),
                annotations: plain,
                structured_annotations: structured,
                doc,
            });
        }
        self.info.actions.push(Action { preamble, params });
    }

    fn table(&mut self, fact: &TableFact<'a>) {
        if hidden(fact.annotations) {
            return;
        }
        let ir = self.ir;
        let table = &ir.tables[fact.id];
        let preamble = self.preamble(Kind::Table, &table.name, fact.annotations, &[]);
        let match_fields = self.match_fields(fact);
        let listed = fact.table.actions();
        let mut action_refs = Vec::new();
        for (i, action) in table.actions.iter().enumerate() {
            let list = listed.get(i).map(|a| a.annotations.as_slice());
            let Notes {
                mut plain,
                structured,
                ..
            } = notes(list.unwrap_or(&[]), &[]);
            if list.is_none() {
                plain.push("@defaultonly".into());
            }
            action_refs.push(ActionRef {
                id: self
                    .symbols
                    .id(Kind::Action, &ir.actions[action.action].name),
                scope: match action.scope {
                    p4ir::ActionScope::TableAndDefault => Scope::TableAndDefault,
                    p4ir::ActionScope::TableOnly => Scope::TableOnly,
                    p4ir::ActionScope::DefaultOnly => Scope::DefaultOnly,
                },
                annotations: plain,
                structured_annotations: structured,
            });
        }
        let default = self.default_action(table);
        let default_id = default.as_ref().map(|d| d.action_id);
        let resource = |b: &Self, id: &ExternId| {
            let object = &ir.externs[*id];
            extern_kind(&object.type_name).map_or(0, |kind| b.symbols.id(kind, &object.name))
        };
        // Counters first, as p4c lists them.
        let mut direct = table.direct.clone();
        direct.sort_by_key(|id| ir.externs[*id].type_name.clone());
        self.info.tables.push(Table {
            preamble,
            match_fields,
            action_refs,
            const_default_action_id: default_id.filter(|_| table.default_action.is_const),
            initial_default_action: default,
            implementation_id: table.implementation.as_ref().map(|id| resource(self, id)),
            direct_resource_ids: direct.iter().map(|id| resource(self, id)).collect(),
            size: table
                .size
                .filter(|s| *s > 0)
                .map_or(DEFAULT_TABLE_SIZE, |s| s as i64),
            idle_timeout: table.idle_timeout,
            is_const_table: table.const_entries,
            has_initial_entries: !table.entries.is_empty(),
        });
    }

    fn default_action(&self, table: &p4ir::Table) -> Option<DefaultAction> {
        let default = &table.default_action;
        let action = &self.ir.actions[table.actions.get(default.action as usize)?.action];
        let id = self.symbols.id(Kind::Action, &action.name);
        let params: Vec<_> = action.data_params().collect();
        let known = self.info.actions.iter().find(|a| a.preamble.id == id);
        let mut arguments = Vec::new();
        for (i, (param, value)) in params.iter().zip(&default.args).enumerate() {
            let width = self.ir.types[self.ir.vars[param.var].ty]
                .bits()
                .map_or(1, |(w, _)| w);
            let bytes = match value {
                Const::Bits(v) => padded(v, width),
                Const::Bool(b) => vec![u8::from(*b)],
                _ => continue,
            };
            let param_id = known
                .and_then(|a| a.params.get(i))
                .map_or(i as u32 + 1, |p| p.id);
            arguments.push(ActionArgument {
                param_id,
                value: bytes,
            });
        }
        Some(DefaultAction {
            action_id: id,
            arguments,
        })
    }

    fn match_fields(&mut self, fact: &TableFact<'a>) -> Vec<MatchField> {
        let table = &self.ir.tables[fact.id];
        let keys = fact.table.key();
        let given: Vec<_> = keys.iter().map(|k| id_of(&k.annotations)).collect();
        let ids = field_ids(&given);
        let mut out = Vec::new();
        for (((key, element), ty), id) in table.keys.iter().zip(keys).zip(&fact.key_types).zip(ids)
        {
            let Some(match_type) = match_type(&key.kind) else {
                continue;
            };
            let Notes {
                plain,
                structured,
                doc,
            } = notes(&element.annotations, &[]);
            out.push(MatchField {
                id,
                name: key.name.clone(),
                bitwidth: self.types.width(ty),
                match_type,
                type_name: self.types.type_name(ty),
                annotations: plain,
                structured_annotations: structured,
                doc,
            });
        }
        out
    }

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
                match members.get(index as usize).map(String::as_str) {
                    Some("bytes") => Unit::Bytes,
                    Some("packets_and_bytes") => Unit::Both,
                    _ => Unit::Packets,
                }
            }
            _ => Unit::Packets,
        }
    }

    fn extern_object(&mut self, fact: &ExternFact<'a>, tables: &[&TableFact<'a>]) {
        let ir = self.ir;
        let object = &ir.externs[fact.id];
        let Some(kind) = extern_kind(&object.type_name) else {
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
        let preamble = self.preamble(kind, &object.name, fact.annotations, skip);
        let (size, unit) = (self.size(fact.id), self.unit(fact.id));
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
                    unit,
                    size,
                    index_type_name,
                });
            }
            Kind::Meter => {
                let index_type_name = fact.type_args.first().and_then(|t| self.types.type_name(t));
                self.info.meters.push(Meter {
                    preamble,
                    unit,
                    size,
                    index_type_name,
                });
            }
            Kind::DirectCounter => {
                if let Some(direct_table_id) = table_of(self) {
                    self.info.direct_counters.push(DirectCounter {
                        preamble,
                        unit,
                        direct_table_id,
                    });
                }
            }
            Kind::DirectMeter => {
                if let Some(direct_table_id) = table_of(self) {
                    self.info.direct_meters.push(DirectMeter {
                        preamble,
                        unit,
                        direct_table_id,
                    });
                }
            }
            Kind::Register => {
                let type_spec = fact
                    .type_args
                    .first()
                    .map_or(TypeSpec::Bit(0), |t| self.types.spec(t));
                let index_type_name = fact.type_args.get(1).and_then(|t| self.types.type_name(t));
                self.info.registers.push(Register {
                    preamble,
                    type_spec,
                    size,
                    index_type_name,
                });
            }
            _ => self.action_profile(fact, preamble, size, tables),
        }
    }

    fn action_profile(
        &mut self,
        fact: &ExternFact<'a>,
        preamble: Preamble,
        size: i64,
        tables: &[&TableFact<'a>],
    ) {
        let number = |name| {
            let a = annotations::find(fact.annotations, name)?;
            annotations::integer(a).ok()?.to_i32()
        };
        let with_selector = self.ir.externs[fact.id].type_name == "action_selector";
        let semantics = annotations::find(fact.annotations, "selector_size_semantics")
            .and_then(|a| annotations::string(a).ok())
            .map(|text| text.to_ascii_lowercase());
        let size_semantics = match semantics.as_deref() {
            Some("sum_of_members") => {
                Some(SizeSemantics::SumOfMembers(number("max_member_weight")))
            }
            Some("sum_of_weights") => Some(SizeSemantics::SumOfWeights),
            _ => None,
        };
        // p4c lists the tables in order of their names.
        let users: BTreeMap<&str, u32> = tables
            .iter()
            .map(|t| &self.ir.tables[t.id])
            .filter(|t| t.implementation == Some(fact.id))
            .map(|t| (t.name.as_str(), self.symbols.id(Kind::Table, &t.name)))
            .collect();
        self.info.action_profiles.push(ActionProfile {
            preamble,
            table_ids: users.into_values().collect(),
            with_selector,
            size,
            max_group_size: number("max_group_size").filter(|_| with_selector),
            size_semantics: size_semantics.filter(|_| with_selector),
        });
    }

    fn value_set(&mut self, fact: &ValueSetFact<'a>) {
        let set = &self.ir.value_sets[fact.id];
        let preamble = self.preamble(Kind::ValueSet, &set.name, fact.annotations, &[]);
        let simple = |id: u32, name: String, bitwidth: u32| MatchField {
            id,
            name,
            bitwidth,
            match_type: MatchType::Exact,
            type_name: None,
            annotations: Vec::new(),
            structured_annotations: Vec::new(),
            doc: None,
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
                        match_type: kind.and_then(match_type).unwrap_or(MatchType::Exact),
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
        let size = i32::try_from(set.size).unwrap_or(i32::MAX);
        self.info.value_sets.push(ValueSet {
            preamble,
            fields,
            size,
        });
    }

    fn controller_header(&mut self, (decl, controller): &(&'a ast::Decl, String)) {
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
            metadata.push(PacketMetadata {
                id,
                name: field.name.clone(),
                bitwidth: self.types.width(&field.ty),
                type_name: self.types.type_name(&field.ty),
                annotations: plain,
                structured_annotations: structured,
            });
        }
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

    fn pkg_info(&mut self, program: &'a ast::Program) {
        let main = program
            .decls
            .iter()
            .find(|d| d.name().is_some_and(|n| &*n.name == "main"));
        let Some(main) = main else {
            return;
        };
        let mut pkg = PkgInfo {
            arch: match self.ir.main.type_name.as_str() {
                "V1Switch" => "v1model".into(),
                other => other.to_owned(),
            },
            ..PkgInfo::default()
        };
        let Notes {
            plain, structured, ..
        } = notes(&main.annotations, &["pkginfo", "platform_property"]);
        pkg.annotations = plain;
        for s in structured {
            match s.name.as_str() {
                "pkginfo" => {
                    for (key, value) in s.values {
                        if let (Some(key), AnnotationLiteral::Str(text)) = (key, value) {
                            pkg.fields.insert(key, text);
                        }
                    }
                }
                "platform_property" => {
                    for (key, value) in s.values {
                        if let (Some(key), AnnotationLiteral::Int(number)) = (key, value) {
                            pkg.platform_properties.insert(key, number);
                        }
                    }
                }
                _ => pkg.structured_annotations.push(s),
            }
        }
        for a in &main.annotations {
            let unparsed = matches!(a.body, AnnotationBody::Unstructured(_));
            if !unparsed || !matches!(&*a.name.name, "pkginfo" | "platform_property") {
                continue;
            }
            for kv in annotations::key_values(a).unwrap_or_default() {
                match literal(&kv.value) {
                    AnnotationLiteral::Str(text) => {
                        pkg.fields.insert(kv.name.to_string(), text);
                    }
                    AnnotationLiteral::Int(number) => {
                        pkg.platform_properties.insert(kv.name.to_string(), number);
                    }
                    AnnotationLiteral::Bool(_) => {}
                }
            }
        }
        if let Some(arch) = pkg.fields.remove("arch") {
            pkg.arch = arch;
        }
        self.info.pkg_info = pkg;
    }
}

fn match_type(kind: &p4ir::MatchKind) -> Option<MatchType> {
    Some(match kind {
        p4ir::MatchKind::Exact => MatchType::Exact,
        p4ir::MatchKind::Lpm => MatchType::Lpm,
        p4ir::MatchKind::Ternary => MatchType::Ternary,
        p4ir::MatchKind::Range => MatchType::Range,
        p4ir::MatchKind::Optional => MatchType::Optional,
        p4ir::MatchKind::Selector => return None,
        p4ir::MatchKind::Other(name) => MatchType::Other(name.clone()),
    })
}

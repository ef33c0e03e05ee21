//! Building P4Info from a lowered program and the facts lowering noted down.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use p4ir::{ActionId, Const, ExternId, ExternType, Pipeline, Program};
use p4runtime::p4::config::v1 as proto;
use p4runtime::p4::config::v1::match_field::{Match, MatchType};
use p4runtime::p4::config::v1::table::IdleTimeoutBehavior;
use p4runtime::p4::config::v1::table_action_call::Argument;
use p4runtime::p4::config::v1::{
    Action, ActionRef, Digest, MatchField, P4Info, P4TypeInfo, Preamble, Table, TableActionCall,
};

use super::facts::{ActionFact, ExternFact, Facts, SelectorFact, TableFact, ValueSetFact};
use super::ids::{IdError, Kind, Symbols, field_ids};
use super::notes::{Notes, hidden, id_of, notes};
use super::reach::Reached;
use super::types::{Decls, Records, Types, explicit_name, named, padded};
use crate::annotations;
use crate::ast::{self, DeclKind, Direction};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::types::Ty;

/// Size of a table that gives none, as p4c has it.
pub(super) const DEFAULT_TABLE_SIZE: u64 = 1024;

/// P4Info while it is built.
pub(super) struct Builder<'a, 'd> {
    pub(super) ir: &'d Program,
    pub(super) symbols: Symbols,
    /// Selectors that draw from a profile of their own.
    pub(super) selectors: &'d [SelectorFact],
    pub(super) types: Types<'a, 'd>,
    pub(super) info: P4Info,
    /// The actions that `info` has, by id.
    actions: HashSet<u32>,
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
        info: P4TypeInfo::default(),
    };
    let mut b = Builder {
        ir,
        symbols: pipe_of(ir, program).map_or_else(Symbols::default, Symbols::in_pipe),
        selectors: &facts.selectors,
        types,
        info: P4Info::default(),
        actions: HashSet::new(),
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
    let mut seen = BTreeSet::new();
    actions.retain(|a| {
        let name = ir.actions[a.id].name.as_str();
        seen.insert((name, a.decl.at.id))
    });
    // A selector is its profile, to P4Runtime.
    let drawing = |e: &&ExternFact<'_>| facts.selectors.iter().all(|s| s.selector != e.id);
    let externs: Vec<_> = facts.externs.iter().filter(drawing).collect();
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
    duplicate_names(ir, &tables, &actions, diags);
    duplicate_objects(ir, &externs, &sets, diags);
    b.collect(
        &tables, &actions, &externs, &sets, &digests, &headers, diags,
    );
    // Actions that share a name are one object: it is a table's if one of them is.
    let names = in_tables.iter().map(|id| ir.actions[*id].name.as_str());
    let names: BTreeSet<&str> = names.collect();
    for action in &actions {
        b.action(action, names.contains(ir.actions[action.id].name.as_str()));
    }
    tables.iter().for_each(|t| b.table(t));
    externs.iter().for_each(|e| b.extern_object(e, &tables));
    sets.iter().for_each(|v| b.value_set(v));
    for (name, ty) in &digests {
        let type_spec = Some(b.types.data_type(ty));
        let preamble = Some(b.preamble(Kind::Digest, name, &[], &[]));
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

/// The name of the pipe that `main` of a program for Tofino is made of; none where it is made of
/// several, whose names stand in those of their objects.
fn pipe_of<'a>(ir: &Program, program: &'a ast::Program) -> Option<&'a str> {
    match ir.pipeline()? {
        Pipeline::Tofino(_) if ir.pipes() == 1 => {}
        Pipeline::Tofino(_) | Pipeline::V1Model(_) => return None,
    }
    program.decls.iter().find_map(|decl| match &decl.kind {
        DeclKind::Instance(main) if &*main.name.name == "main" => {
            match &main.args.first()?.value.kind {
                ast::ExprKind::Path(pipe) => Some(&*pipe.name.name),
                _ => None,
            }
        }
        _ => None,
    })
}

/// Two declarations of one control-plane name cannot be told apart. (Two instances of one
/// declaration can share it, and so can actions that are the same: they are one object to the
/// control plane, as for p4c.)
fn duplicate_names(
    ir: &Program,
    tables: &[&TableFact<'_>],
    actions: &[&ActionFact<'_>],
    diags: &mut Diagnostics,
) {
    let mut seen: BTreeMap<&str, &ast::Decl> = BTreeMap::new();
    for table in tables {
        let name = ir.tables[table.id].name.as_str();
        if let Some(first) = seen.insert(name, table.decl) {
            let found = one_name("table", name, table.decl, first);
            diags.push(found.with_help("give one of them another `@name`"));
        }
    }
    let mut seen: BTreeMap<&str, &ActionFact<'_>> = BTreeMap::new();
    for action in actions {
        let name = ir.actions[action.id].name.as_str();
        let first = *seen.entry(name).or_insert(action);
        if !same_action(first, action) {
            let found = one_name("action", name, action.decl, first.decl);
            diags.push(found.with_help(
                "give one of them another `@name`, or both the same parameters and the same body",
            ));
        }
    }
    for table in tables {
        listed_twice(ir, table, diags);
    }
}

/// That two objects have one name.
fn one_name(kind: &str, name: &str, decl: &ast::Decl, first: &ast::Decl) -> Diagnostic {
    let text = format!("two {kind}s have the control-plane name `{name}`");
    Diagnostic::error("annotation", decl.at.span, text).with_related(first.at.span, "the other one")
}

/// Whether two actions have the same parameters and the same body. What they do with the direct
/// counter and the direct meter of their table may differ: these belong to the table.
fn same_action(a: &ActionFact<'_>, b: &ActionFact<'_>) -> bool {
    let (DeclKind::Action(x), DeclKind::Action(y)) = (&a.decl.kind, &b.decl.kind) else {
        return false;
    };
    let types = |fact: &ActionFact<'_>| -> Vec<Ty> {
        fact.params.iter().map(|(_, ty)| ty.clone()).collect()
    };
    a.decl.at.id == b.decl.at.id
        || (x.params == y.params && acts(&x.body) == acts(&y.body) && types(a) == types(b))
}

/// The statements of an action but for `counter.count()` and `meter.read(colour)`, which only
/// direct counters and meters have without an index.
fn acts(body: &ast::Block) -> Vec<&ast::Stmt> {
    let direct = |stmt: &&ast::Stmt| {
        let ast::StmtKind::Call(call) = &stmt.kind else {
            return false;
        };
        let ast::ExprKind::Call { callee, args, .. } = &call.kind else {
            return false;
        };
        let ast::ExprKind::Member { member, .. } = &callee.kind else {
            return false;
        };
        matches!((&*member.name, args.len()), ("count", 0) | ("read", 1))
    };
    body.stmts.iter().filter(|stmt| !direct(stmt)).collect()
}

/// A table that lists two actions of one name: an entry could not say which it means.
fn listed_twice(ir: &Program, table: &TableFact<'_>, diags: &mut Diagnostics) {
    let mut seen = BTreeSet::new();
    for (i, action) in ir.tables[table.id].actions.iter().enumerate() {
        let name = ir.actions[action.action].name.as_str();
        if !seen.insert(name) {
            let at = table.table.actions().get(i).map(|a| a.at.span);
            let text = format!("the table lists two actions of the control-plane name `{name}`");
            diags.push(
                Diagnostic::error("annotation", at.unwrap_or(table.decl.at.span), text)
                    .with_help("give one of them another `@name`"),
            );
        }
    }
}

/// The same for extern objects and value sets.
fn duplicate_objects(
    ir: &Program,
    externs: &[&ExternFact<'_>],
    sets: &[&ValueSetFact<'_>],
    diags: &mut Diagnostics,
) {
    let externs = externs.iter().filter_map(|e| {
        let object = &ir.externs[e.id];
        Some((extern_kind(&object.ty)?, object.name.as_str(), e.span))
    });
    let sets = sets
        .iter()
        .map(|v| (Kind::ValueSet, ir.value_sets[v.id].name.as_str(), v.span));
    let mut seen: BTreeMap<(Kind, &str), Span> = BTreeMap::new();
    for (kind, name, span) in externs.chain(sets) {
        let Some(first) = seen.insert((kind, name), span) else {
            continue;
        };
        let text = format!(
            "two objects of kind `{}` have the control-plane name `{name}`",
            kind.name()
        );
        diags.push(
            Diagnostic::error("annotation", span, text)
                .with_related(first, "the other one")
                .with_help(
                    "give one of them another name with `@name(\"...\")`; for an object that is made in a table's \
                     property, write the annotation in front of the property, or declare the object outside of the table",
                ),
        );
    }
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

pub(super) const fn extern_kind(ty: &ExternType) -> Option<Kind> {
    Some(match ty {
        ExternType::Counter => Kind::Counter,
        ExternType::DirectCounter => Kind::DirectCounter,
        ExternType::Meter => Kind::Meter,
        ExternType::DirectMeter => Kind::DirectMeter,
        ExternType::Register => Kind::Register,
        ExternType::ActionProfile | ExternType::ActionSelector => Kind::ActionProfile,
        ExternType::Checksum
        | ExternType::Checksum16
        | ExternType::CrcPolynomial
        | ExternType::Digest
        | ExternType::DirectRegister
        | ExternType::DirectRegisterAction
        | ExternType::Hash
        | ExternType::MinMaxAction
        | ExternType::Mirror
        | ExternType::ParserCounter
        | ExternType::ParserPriority
        | ExternType::Random
        | ExternType::RegisterAction
        | ExternType::RegisterAction2
        | ExternType::RegisterAction3
        | ExternType::RegisterAction4
        | ExternType::Resubmit
        | ExternType::Other(_) => return None,
    })
}

impl<'a> Builder<'a, '_> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn collect(
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
            if let Some(kind) = extern_kind(&ir.externs[e.id].ty) {
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

    pub(super) fn header_name(&self, decl: &ast::Decl) -> String {
        let own = decl.name().map_or(String::new(), |n| n.to_string());
        explicit_name(&decl.annotations).unwrap_or(own)
    }

    pub(super) fn preamble(
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
            ..Default::default()
        }
    }

    /// `in_table` tells whether a table lists the action; otherwise the program itself calls it,
    /// and no parameter is the control plane's to fill.
    pub(super) fn action(&mut self, fact: &ActionFact<'a>, in_table: bool) {
        if hidden(fact.annotations) {
            return;
        }
        let name = self.ir.actions[fact.id].name.clone();
        let preamble = self.preamble(Kind::Action, &name, fact.annotations, &[]);
        if !self.actions.insert(preamble.id) {
            return;
        }
        // A parameter that is no scalar is one for each scalar in it.
        let data: Vec<_> = fact
            .params
            .iter()
            .filter(|(p, _)| in_table && p.direction == Direction::None)
            .flat_map(|(p, ty)| ty.scalar_parts().into_iter().map(move |part| (p, part)))
            .collect();
        let given: Vec<_> = data
            .iter()
            .map(|(p, (part, _))| part.is_empty().then(|| id_of(&p.annotations)).flatten())
            .collect();
        let mut params = Vec::new();
        for ((param, (part, ty)), id) in data.into_iter().zip(field_ids(&given)) {
            let Notes {
                plain,
                structured,
                doc,
            } = notes(&param.annotations, &[]);
            let name = explicit_name(&param.annotations).unwrap_or_else(|| param.name.to_string());
            let plain_enum = match &ty {
                Ty::Enum(e) if e.repr.is_none() => Some(self.types.name(e.decl, &e.name)),
                _ => None,
            };
            params.push(proto::action::Param {
                id,
                name: name + &part,
                bitwidth: if plain_enum.is_some() {
                    0
                } else {
                    self.types.width(&ty)
                },
                type_name: self.types.type_name(&ty).or(plain_enum.map(named)),
                annotations: plain,
                structured_annotations: structured,
                doc,
                ..Default::default()
            });
        }
        let preamble = Some(preamble);
        self.info.actions.push(Action { preamble, params });
    }

    pub(super) fn table(&mut self, fact: &TableFact<'a>) {
        if hidden(fact.annotations) {
            return;
        }
        let ir = self.ir;
        let table = &ir.tables[fact.id];
        let preamble = Some(self.preamble(Kind::Table, &table.name, fact.annotations, &[]));
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
                scope: scope(action.scope).into(),
                annotations: plain,
                structured_annotations: structured,
                ..Default::default()
            });
        }
        let default = self.default_action(table);
        let default_id = default.as_ref().map(|d| d.action_id);
        let resource = |b: &Self, id: &ExternId| {
            let selector = b.selectors.iter().find(|s| s.selector == *id);
            let object = &ir.externs[selector.map_or(*id, |s| s.profile)];
            extern_kind(&object.ty).map_or(0, |kind| b.symbols.id(kind, &object.name))
        };
        // Counters first, as p4c lists them.
        let mut direct = table.direct.clone();
        direct.sort_by_key(|id| ir.externs[*id].ty.clone());
        self.info.tables.push(Table {
            preamble,
            match_fields,
            action_refs,
            const_default_action_id: default_id
                .filter(|_| table.default_action.is_const)
                .unwrap_or_default(),
            initial_default_action: default,
            implementation_id: table
                .implementation
                .as_ref()
                .map_or(0, |id| resource(self, id)),
            direct_resource_ids: direct.iter().map(|id| resource(self, id)).collect(),
            size: table
                .capacity(Some(DEFAULT_TABLE_SIZE))
                .and_then(|size| i64::try_from(size).ok())
                .unwrap_or(i64::MAX),
            idle_timeout_behavior: if table.idle_timeout {
                IdleTimeoutBehavior::NotifyControl.into()
            } else {
                IdleTimeoutBehavior::NoTimeout.into()
            },
            is_const_table: table.const_entries,
            has_initial_entries: !table.entries.is_empty(),
            other_properties: None,
        });
    }

    pub(super) fn default_action(&self, table: &p4ir::Table) -> Option<TableActionCall> {
        let default = &table.default_action;
        let action = &self.ir.actions[table.actions.get(default.action as usize)?.action];
        let id = self.symbols.id(Kind::Action, &action.name);
        let params: Vec<_> = action.data_params().collect();
        let known = self.info.actions.iter().find(|a| a.id() == id);
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
            arguments.push(Argument {
                param_id,
                value: bytes,
            });
        }
        Some(TableActionCall {
            action_id: id,
            arguments,
        })
    }

    pub(super) fn match_fields(&mut self, fact: &TableFact<'a>) -> Vec<MatchField> {
        let table = &self.ir.tables[fact.id];
        let keys = fact.table.key();
        let given: Vec<_> = keys.iter().map(|k| id_of(&k.annotations)).collect();
        let ids = field_ids(&given);
        let mut out = Vec::new();
        for (((key, element), ty), id) in table.keys.iter().zip(keys).zip(&fact.key_types).zip(ids)
        {
            let Some(kind) = match_kind(&key.kind) else {
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
                r#match: Some(kind),
                type_name: self.types.type_name(ty),
                annotations: plain,
                structured_annotations: structured,
                doc,
                ..Default::default()
            });
        }
        out
    }
}

/// P4Info's name of a match kind.
#[must_use]
pub const fn match_type(kind: p4ir::MatchKind) -> MatchType {
    use p4ir::MatchKind;
    match kind {
        MatchKind::Exact => MatchType::Exact,
        MatchKind::Lpm => MatchType::Lpm,
        MatchKind::Ternary => MatchType::Ternary,
        MatchKind::Range => MatchType::Range,
        MatchKind::Optional => MatchType::Optional,
    }
}

/// How a key field matches; `None` for what only selects a member.
pub(super) fn match_kind(kind: &p4ir::KeyKind) -> Option<Match> {
    match kind {
        p4ir::KeyKind::Match(kind) => Some(Match::MatchType(match_type(*kind).into())),
        p4ir::KeyKind::Selector => None,
        p4ir::KeyKind::Other(name) => Some(Match::OtherMatchType(name.clone())),
    }
}

pub(super) fn scope(scope: p4ir::ActionScope) -> proto::action_ref::Scope {
    use proto::action_ref::Scope;
    match scope {
        p4ir::ActionScope::TableAndDefault => Scope::TableAndDefault,
        p4ir::ActionScope::TableOnly => Scope::TableOnly,
        p4ir::ActionScope::DefaultOnly => Scope::DefaultOnly,
    }
}

//! Tables, and applying them.

use std::collections::HashSet;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use p4ir::{
    ActionScope, Assign, Block, DefaultAction, ExternId, ExternType, Key, KeyKind, Place, Table,
    TableAction, TableId,
};

use super::args::Passing;
use super::value::{Elab, Object, Val};
use super::{ActionInfo, ActionParam, Entity, Lowerer, annot, undeclared};
use crate::ast::{self, Direction, ExprKind, PropertyValue};
use crate::diag::Diagnostic;
use crate::pp::declared_by;
use crate::source::Span;
use crate::tofino::TABLE_PROPERTIES;
use crate::types::Ty;

/// The actions of a table while it is built.
pub(super) struct ActionList<'a> {
    pub(super) listed: Vec<TableAction>,
    /// The arguments written in the list.
    pub(super) bound: Vec<&'a [ast::Arg]>,
    pub(super) infos: Vec<Rc<ActionInfo<'a>>>,
}

/// Properties that have a meaning: those of the language, and what v1model and Tofino add.
const PROPERTIES: [&str; 11] = [
    "actions",
    "counters",
    "default_action",
    "entries",
    "implementation",
    "key",
    "largest_priority_wins",
    "meters",
    "priority_delta",
    "size",
    "support_timeout",
];

/// Expressions that a table counts as, besides its keys, actions and entries.
const TABLE_NODES: u64 = 16;

impl<'a> Lowerer<'a> {
    pub(super) fn table(&mut self, decl: &'a ast::Decl, t: &'a ast::Table) -> TableId {
        // Inside, the table's name means the table, which has no value.
        let itself = Entity::Value(Elab::new(Ty::Table, Val::Poison));
        self.checker.scopes.push(super::Scope::new());
        self.declare(&t.name, itself);
        let (prologue, (keys, key_tys)) = self.nested(|s| s.keys(t));
        let mut actions = self.action_list(t);
        let default_action = self.default_action(t, &mut actions);
        let (entries, const_entries) = self.entries(t, &keys, &key_tys, &actions);
        self.checker.scopes.pop();
        self.spend(TABLE_NODES);
        let name = self.control_plane_name(&t.name.name, &decl.annotations, t.name.span);
        let mut table = Table {
            name,
            prologue,
            keys,
            actions: actions.listed,
            default_action,
            entries,
            const_entries,
            size: None,
            implementation: None,
            direct: Vec::new(),
            idle_timeout: false,
            annotations: self.annotations(&decl.annotations),
            span: self.span(t.name.span),
        };
        self.properties(t, &mut table);
        self.check_size(t, &table);
        let id = self.emitter.ir.tables.push(table);
        self.facts.table(id, decl, t, key_tys);
        id
    }

    fn keys(&mut self, t: &'a ast::Table) -> (Vec<Key>, Vec<Ty>) {
        let mut values: Vec<Elab<'a>> = Vec::new();
        let mut named = Vec::new();
        for element in t.key() {
            let span = element.at.span;
            if self.is_beside(span) {
                continue;
            }
            self.annotation_values(&element.annotations);
            if let Some(at) = self.checker.notes.match_kind_at(&element.match_kind.name) {
                self.checker.used(element.match_kind.span, at);
            }
            if !self.checker.match_kinds.contains(&element.match_kind.name) {
                let wrong = &element.match_kind;
                let text = format!("`{wrong}` is not a match kind");
                let d = Diagnostic::error("name", wrong.span, text);
                let known = self.checker.match_kinds.iter().map(|kind| &**kind);
                let d = match declared_by(&wrong.name) {
                    Some(file) => d.with_help(format!("`#include <{file}>` declares it")),
                    None => d.with_known("match kinds", &wrong.name, known),
                };
                self.report(d);
            }
            self.push_component(&mut values, &element.expr, None);
            let Some(value) = values.last() else { continue };
            let ok = Self::is_scalar(&value.ty)
                && value.ty.is_data()
                && !matches!(value.ty, Ty::Int | Ty::String);
            if !ok {
                let text = format!("a key cannot have type `{}`", value.ty);
                self.error("type", span, text);
                values.pop();
                continue;
            }
            let is_poison = value.ty.is_poison();
            let name = match annot::string_annotation(&element.annotations, "name") {
                Some(name) => name.strip_prefix('.').map_or(name.clone(), str::to_owned),
                None => self.key_name(&element.expr).unwrap_or_else(|| {
                    if !is_poison {
                        self.report(
                            Diagnostic::error(
                                "table",
                                span,
                                "this key is an expression and needs a name",
                            )
                            .with_help("write `@name(\"...\")` behind the match kind"),
                        );
                    }
                    String::new()
                }),
            };
            named.push((element, name));
        }
        let mut keys = Vec::new();
        for (value, (element, name)) in values.iter().zip(named) {
            let span = element.at.span;
            keys.push(Key {
                expr: self.scalar(value, span),
                kind: KeyKind::from_name(&element.match_kind.name),
                name,
                annotations: self.annotations(&element.annotations),
                span: self.span(span),
            });
        }
        (keys, values.into_iter().map(|v| v.ty).collect())
    }

    /// The control-plane name an expression gives a key.
    fn key_name(&mut self, e: &'a ast::Expr) -> Option<String> {
        Some(match &e.kind {
            ExprKind::Path(path) if path.absolute => format!(".{}", path.name),
            ExprKind::Path(path) => path.name.to_string(),
            ExprKind::Member { base, member } => match self.field_name(base, member) {
                name if name.starts_with('.') => name[1..].to_owned(),
                name => format!("{}.{name}", self.key_name(base)?),
            },
            ExprKind::Index { base, index } => {
                format!("{}[{}]", self.key_name(base)?, self.key_name(index)?)
            }
            ExprKind::Slice { base, high, low } => {
                format!(
                    "{}[{}:{}]",
                    self.key_name(base)?,
                    self.key_name(high)?,
                    self.key_name(low)?
                )
            }
            ExprKind::Int(literal) => {
                // The name is that of the value, which a width may have cut.
                let value = match literal.width {
                    Some(width) if !width.signed => {
                        &literal.value % (BigInt::from(1) << width.bits)
                    }
                    _ => literal.value.clone(),
                };
                match literal.base {
                    16 => format!("{value:#x}"),
                    8 => format!("{value:#o}"),
                    2 => format!("{value:#b}"),
                    _ => value.to_string(),
                }
            }
            ExprKind::Binary {
                op: ast::BinaryOp::BitAnd,
                left,
                right,
            } => {
                format!("{} & {}", self.key_name(left)?, self.key_name(right)?)
            }
            ExprKind::Call { callee, args, .. } if args.is_empty() => match &callee.kind {
                ExprKind::Member { base, member } if &*member.name == "isValid" => {
                    format!("{}.$valid$", self.key_name(base)?)
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The control-plane name of a field: its `@name`, or its own.
    fn field_name(&mut self, base: &'a ast::Expr, member: &ast::Ident) -> String {
        let (_, value) = self.nested(|s| s.expr(base, None));
        let declared = match &value.ty {
            Ty::Record(r) => self.checker.decls.get(&r.decl).map(|d| &d.kind),
            _ => None,
        };
        let annotations = match declared {
            Some(ast::DeclKind::Composite(c)) => c
                .fields
                .iter()
                .find(|f| f.name == *member)
                .map(|f| f.annotations.as_slice()),
            _ => None,
        };
        annotations
            .and_then(|list| annot::string_annotation(list, "name"))
            .unwrap_or_else(|| member.to_string())
    }

    pub(super) fn action_named(&mut self, path: &ast::Path) -> Option<Rc<ActionInfo<'a>>> {
        let Some(entity) = self.find(path) else {
            let d = undeclared(path);
            let d = match d.help {
                Some(_) => d,
                None => d.with_known("actions", &path.name.name, self.checker.actions(path)),
            };
            self.report(d);
            return None;
        };
        match entity {
            Entity::Value(Elab {
                val: Val::Action(info),
                ..
            }) => Some(info),
            Entity::Poison => None,
            _ => {
                self.error(
                    "table",
                    path.name.span,
                    format!("`{}` is not an action", path.name),
                );
                None
            }
        }
    }

    fn action_list(&mut self, t: &'a ast::Table) -> ActionList<'a> {
        let mut list = ActionList {
            listed: Vec::new(),
            bound: Vec::new(),
            infos: Vec::new(),
        };
        if t.property("actions").is_none() {
            self.error(
                "table",
                t.name.span,
                format!("table `{}` lists no actions", t.name),
            );
        }
        let mut seen = HashSet::new();
        for action in t.actions() {
            if self.is_beside(action.at.span) {
                continue;
            }
            self.spend(1);
            self.annotation_values(&action.annotations);
            let Some(info) = self.action_named(&action.path) else {
                continue;
            };
            if !seen.insert(info.id) {
                self.error(
                    "table",
                    action.at.span,
                    format!("action `{}` is listed twice", action.path.name),
                );
                continue;
            }
            let outer = std::mem::replace(&mut self.body.kind, super::BodyKind::Action);
            let (effects, (copy_in, copy_out)) = self.nested(|s| s.bound_arguments(&info, action));
            self.body.kind = outer;
            for param in info.params.iter().filter(|p| p.is_data()) {
                if !Self::is_scalar(&param.ty) && self.v1model() {
                    let text = format!(
                        "the control plane cannot give `{}` of action `{}`: its type is `{}`",
                        param.decl.name, info.decl.name, param.ty
                    );
                    self.report(
                        Diagnostic::error("table", action.at.span, text)
                            .with_related(param.decl.at.span, "the parameter is declared here"),
                    );
                }
            }
            let has = |name| annot::find(&action.annotations, name).is_some();
            let scope = match (has("tableonly"), has("defaultonly")) {
                (true, true) => {
                    self.error(
                        "table",
                        action.at.span,
                        "an action cannot be both @tableonly and @defaultonly",
                    );
                    ActionScope::TableAndDefault
                }
                (true, false) => ActionScope::TableOnly,
                (false, true) => ActionScope::DefaultOnly,
                (false, false) => ActionScope::TableAndDefault,
            };
            let annotations = self.annotations(&action.annotations);
            let data = info.params.iter().filter(|p| p.is_data());
            let plain = effects.is_empty() && data.into_iter().all(|p| Self::is_scalar(&p.ty));
            let (id, copy_in, copy_out) = match plain {
                true => (info.id, copy_in, copy_out),
                false => {
                    let id = self.wrap_action(&info, effects, copy_in, copy_out, action.at.span);
                    (id, Vec::new(), Block::new())
                }
            };
            list.listed.push(TableAction {
                action: id,
                copy_in,
                copy_out,
                scope,
                annotations,
            });
            list.infos.push(info);
            list.bound.push(action.args.as_deref().unwrap_or(&[]));
        }
        list
    }

    /// Copies for the directed parameters of an action in a table's list.
    fn bound_arguments(
        &mut self,
        info: &Rc<ActionInfo<'a>>,
        action: &'a ast::ActionRef,
    ) -> (Vec<Assign>, Block) {
        let directed = |p: &ast::Param| p.direction != Direction::None;
        let count = info.decl.params.iter().filter(|p| directed(p)).count();
        let args = action.args.as_deref().unwrap_or(&[]);
        if args.len() != count {
            let text = format!(
                "action `{}` has {count} parameters with a direction; {} are bound here",
                info.decl.name,
                args.len()
            );
            self.error("table", action.at.span, text);
            return (Vec::new(), Block::new());
        }
        // Those without a direction come last.
        let params = &info.decl.params[..count];
        let passing: Vec<_> = info.params[..count]
            .iter()
            .map(|p| Passing {
                place: Place::var(p.var),
                ty: p.ty.clone(),
                direction: p.decl.direction,
            })
            .collect();
        let tys: Vec<_> = passing.iter().map(|p| p.ty.clone()).collect();
        let span = action.at.span;
        let what = format!("action `{}`", info.decl.name);
        let bound = self.bind(&what, params, args, span);
        let values = bound.and_then(|bound| self.arguments(params, &tys, &bound, span));
        match values {
            Some(values) => self.copies(values.into_written(passing), span),
            None => (Vec::new(), Block::new()),
        }
    }

    fn default_action(&mut self, t: &'a ast::Table, list: &mut ActionList<'a>) -> DefaultAction {
        let none = DefaultAction {
            action: 0,
            args: Vec::new(),
            is_const: false,
        };
        let Some(property) = t.property("default_action") else {
            return self.implicit_default(list);
        };
        let PropertyValue::Expr(e) = &property.value else {
            return none;
        };
        let is_const = property.is_const;
        let (path, args) = match &e.kind {
            ExprKind::Path(path) => (path, &[][..]),
            ExprKind::Call { callee, args, .. } => match &callee.kind {
                ExprKind::Path(path) => (path, args.as_slice()),
                _ => {
                    self.error("table", e.at.span, "the default action must be an action");
                    return none;
                }
            },
            _ => {
                self.error("table", e.at.span, "the default action must be an action");
                return none;
            }
        };
        let Some(info) = self.action_named(path) else {
            return none;
        };
        let Some(index) = list.infos.iter().position(|i| i.id == info.id) else {
            self.report(not_listed(path, e.at.span, list));
            return none;
        };
        if list.listed[index].scope == ActionScope::TableOnly {
            self.error(
                "table",
                e.at.span,
                format!("`{}` is @tableonly and cannot be the default", path.name),
            );
        }
        self.check_order(t, property, &path.name);
        self.check_bound(list, index, args);
        let args = self.action_data(&info, args, e.at.span).unwrap_or_default();
        DefaultAction {
            action: index as u32,
            args,
            is_const,
        }
    }

    /// The default action stands behind the list it chooses from.
    fn check_order(
        &mut self,
        t: &'a ast::Table,
        property: &'a ast::TableProperty,
        name: &ast::Ident,
    ) {
        let Some(actions) = t.property("actions") else {
            return;
        };
        if property.at.span.start < actions.at.span.start {
            let text =
                format!("`{name}` is not yet listed: the actions stand behind the default action");
            self.report(
                Diagnostic::error("table", property.at.span, text)
                    .with_related(actions.name.span, "the list is here"),
            );
        }
    }

    /// Arguments for parameters with a direction repeat those of the list of actions.
    pub(super) fn check_bound(
        &mut self,
        list: &ActionList<'a>,
        index: usize,
        args: &'a [ast::Arg],
    ) {
        let info = list.infos[index].clone();
        if args.len() != info.params.len() {
            return;
        }
        // Those without a direction come last.
        let directed = |p: &&ActionParam<'_>| p.decl.direction != Direction::None;
        for (i, param) in info.params.iter().filter(directed).enumerate() {
            let listed = argument_of(list.bound[index], param.decl, i);
            let given = argument_of(args, param.decl, i);
            let (Some(bound), Some(given)) = (listed, given) else {
                return;
            };
            if same_shape(&given.value, &bound.value) {
                continue;
            }
            let (_, (a, b)) = self.nested(|s| {
                let a = s.expr(&given.value, Some(&param.ty));
                (a, s.expr(&bound.value, Some(&param.ty)))
            });
            let same = matches!((a.as_int(), b.as_int()), (Some(x), Some(y)) if x == y);
            if !same && !a.is_poison() && !b.is_poison() {
                let text = format!(
                    "the argument for `{}` is not the one in the list of actions",
                    param.decl.name
                );
                self.report(
                    Diagnostic::error("table", given.at.span, text)
                        .with_related(bound.at.span, "bound to this in the list"),
                );
            }
        }
    }

    /// Without a default action a table runs `NoAction`.
    fn implicit_default(&mut self, list: &mut ActionList<'a>) -> DefaultAction {
        let index = match self.global("NoAction") {
            Some(Entity::Value(Elab {
                val: Val::Action(info),
                ..
            })) if info.decl.params.is_empty() => {
                match list.infos.iter().position(|i| i.id == info.id) {
                    Some(index) => index,
                    None => {
                        list.listed.push(TableAction {
                            action: info.id,
                            copy_in: Vec::new(),
                            copy_out: Vec::new(),
                            scope: ActionScope::DefaultOnly,
                            annotations: vec![p4ir::Annotation {
                                name: "defaultonly".into(),
                                values: Vec::new(),
                            }],
                        });
                        list.infos.push(info);
                        list.bound.push(&[]);
                        list.listed.len() - 1
                    }
                }
            }
            _ => {
                self.report(
                    Diagnostic::error(
                        "table",
                        None,
                        "a table without default action runs `NoAction`, which is not declared (or has parameters)",
                    )
                    .with_help("`#include <core.p4>`"),
                );
                0
            }
        };
        DefaultAction {
            action: index as u32,
            args: Vec::new(),
            is_const: false,
        }
    }

    fn property_expr(t: &'a ast::Table, name: &str) -> Option<&'a ast::Expr> {
        match &t.property(name)?.value {
            PropertyValue::Expr(e) => Some(e),
            _ => None,
        }
    }

    pub(super) fn bool_property(&mut self, t: &'a ast::Table, name: &str) -> Option<bool> {
        let e = Self::property_expr(t, name)?;
        match self.const_expr(e, Some(&Ty::Bool)).val {
            Val::Bool(b) => Some(b),
            Val::Poison => None,
            _ => {
                self.error("table", e.at.span, format!("`{name}` must be a boolean"));
                None
            }
        }
    }

    pub(super) fn int_property(&mut self, t: &'a ast::Table, name: &str) -> Option<i64> {
        let e = Self::property_expr(t, name)?;
        let value = self.const_int(e)?;
        match value.to_i64().filter(|v| *v >= 0) {
            Some(v) => Some(v),
            None => {
                self.error("table", e.at.span, format!("`{name}` cannot be {value}"));
                None
            }
        }
    }

    fn properties(&mut self, t: &'a ast::Table, table: &mut Table) {
        table.size = self.int_property(t, "size").map(|n| n as u64);
        self.check_properties(t);
        table.idle_timeout = self.bool_property(t, "support_timeout").unwrap_or(false);
        let mut seen = std::collections::HashSet::new();
        for property in &t.properties {
            if !seen.insert(property.name.name.clone()) {
                self.error(
                    "table",
                    property.at.span,
                    format!("property `{}` is given twice", property.name),
                );
                continue;
            }
            let PropertyValue::Expr(e) = &property.value else {
                continue;
            };
            let wanted: &[ExternType] = match &*property.name.name {
                "implementation" => &[ExternType::ActionProfile, ExternType::ActionSelector],
                "counters" => &[ExternType::DirectCounter],
                "meters" => &[ExternType::DirectMeter],
                "registers" if self.tna() => &[ExternType::DirectRegister],
                _ => continue,
            };
            if let Some(id) = self.property_object(property, e, wanted) {
                if &*property.name.name == "implementation" {
                    table.implementation = Some(id);
                    if self.tna() {
                        self.fill_selector(id, &mut table.keys);
                    }
                } else {
                    table.direct.push(id);
                }
            }
        }
    }

    /// Properties that are not known, and those that mean something only beside others.
    fn check_properties(&mut self, t: &'a ast::Table) {
        self.bool_property(t, "largest_priority_wins");
        if self.int_property(t, "priority_delta") == Some(0) {
            self.error("table", t.name.span, "`priority_delta` must be positive");
        }
        for property in &t.properties {
            let name = &property.name;
            let tofinos: &[&str] = if self.tna() { &TABLE_PROPERTIES } else { &[] };
            if !PROPERTIES.contains(&&*name.name) && !tofinos.contains(&&*name.name) {
                let known = PROPERTIES.iter().chain(tofinos).copied();
                let text = format!("property `{name}` is not known and has no effect");
                let d = Diagnostic::warning("table", name.span, text);
                self.report(d.with_nearest(&name.name, known));
            }
        }
        let position = |name: &str| t.properties.iter().position(|p| &*p.name.name == name);
        if let (Some(entries), Some(key)) = (position("entries"), position("key"))
            && entries < key
        {
            self.error(
                "table",
                t.properties[entries].at.span,
                "entries must stand behind the key",
            );
        }
    }

    /// A `size` that the initial entries exceed.
    fn check_size(&mut self, t: &'a ast::Table, table: &Table) {
        let count = table.entries.len() as u64;
        if let (Some(size @ 1..), Some(property)) = (table.size, t.property("size"))
            && size < count
        {
            let text = format!(
                "table `{}` has {count} initial entries: its size is {count}, not {size}",
                t.name
            );
            self.report(
                Diagnostic::warning("table", property.at.span, text)
                    .with_help(format!("write `size = {count}` or more")),
            );
        }
    }

    fn property_object(
        &mut self,
        property: &'a ast::TableProperty,
        e: &'a ast::Expr,
        wanted: &[ExternType],
    ) -> Option<ExternId> {
        let value = match &e.kind {
            // An object made on the spot is called as the property is annotated.
            ExprKind::Construct { ty, args } => {
                let ty = self.ty(ty);
                // Such a name is not prefixed.
                let name =
                    annot::string_annotation(&property.annotations, "name").unwrap_or_else(|| {
                        self.control_plane_name(&property.name.name, &[], property.name.span)
                    });
                self.make(&ty, args, name, &property.annotations, e.at.span)
            }
            _ => self.expr(e, None),
        };
        let Val::Object(Object::Extern(id)) = value.val else {
            if !value.is_poison() {
                self.error(
                    "table",
                    e.at.span,
                    format!("`{}` must be an extern object", property.name),
                );
            }
            return None;
        };
        let given = &self.emitter.ir.externs[id].ty;
        if given.is_managed() && !wanted.contains(given) {
            let names: Vec<&str> = wanted.iter().map(ExternType::name).collect();
            let text = format!(
                "`{}` must be {}, not `{}`",
                property.name,
                names.join(" or "),
                given.name()
            );
            self.error("table", e.at.span, text);
            return None;
        }
        Some(id)
    }
}

/// That an action stands where one of the table's list has to.
pub(super) fn not_listed(path: &ast::Path, span: Span, list: &ActionList<'_>) -> Diagnostic {
    let name = &path.name;
    let text = format!("`{name}` is not in the table's list of actions");
    let listed = list.infos.iter().map(|info| &*info.decl.name.name);
    Diagnostic::error("table", span, text).with_known("actions of the table", &name.name, listed)
}

/// The argument for the parameter at a position: by its name, or by the position.
fn argument_of<'a>(
    args: &'a [ast::Arg],
    param: &ast::Param,
    position: usize,
) -> Option<&'a ast::Arg> {
    let named = args.iter().find(|a| a.name.as_ref() == Some(&param.name));
    named.or_else(|| args.get(position).filter(|a| a.name.is_none()))
}

/// Whether two expressions are written alike; named fields may come in any order.
fn same_shape(a: &ast::Expr, b: &ast::Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Struct { fields: x, dots: p }, ExprKind::Struct { fields: y, dots: q }) => {
            let found = |f: &ast::NamedExpr| {
                y.iter()
                    .any(|g| f.name == g.name && same_shape(&f.value, &g.value))
            };
            p == q && x.len() == y.len() && x.iter().all(found)
        }
        _ => a == b,
    }
}

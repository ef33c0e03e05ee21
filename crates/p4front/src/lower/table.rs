//! Tables, and applying them.

use std::rc::Rc;

use num_traits::ToPrimitive;
use p4ir::{
    ActionScope, Assign, Const, DefaultAction, Entry, ExternId, Key, MatchKind, Place, StmtKind,
    Table, TableAction, TableId, VarKind,
};

use super::value::{Elab, Object, Val};
use super::{ActionInfo, BodyKind, Entity, Lowerer, annot};
use crate::annotations;
use crate::ast::{self, Direction, ExprKind, PropertyValue};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::types::Ty;

/// The actions of a table while it is built.
struct ActionList<'a> {
    listed: Vec<TableAction>,
    infos: Vec<Rc<ActionInfo<'a>>>,
}

impl<'a> Lowerer<'a> {
    pub(super) fn table(&mut self, decl: &'a ast::Decl, t: &'a ast::Table) -> TableId {
        let (prologue, (keys, key_tys)) = self.nested(|s| s.keys(t));
        let mut actions = self.action_list(t);
        let default_action = self.default_action(t, &mut actions);
        let (entries, const_entries) = self.entries(t, &keys, &key_tys, &actions);
        let name = self.control_plane_name(&t.name.name, &decl.annotations);
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
        let id = self.ir.tables.push(table);
        self.facts.table(id, decl, t, key_tys);
        id
    }

    fn keys(&mut self, t: &'a ast::Table) -> (Vec<Key>, Vec<Ty>) {
        let mut keys = Vec::new();
        let mut tys = Vec::new();
        for element in t.key() {
            let span = element.at.span;
            if !self.match_kinds.contains(&element.match_kind.name) {
                self.error(
                    "name",
                    element.match_kind.span,
                    format!("`{}` is not a match kind", element.match_kind),
                );
            }
            let value = self.expr(&element.expr, None);
            let ok = Self::is_scalar(&value.ty)
                && value.ty.is_data()
                && !matches!(value.ty, Ty::Int | Ty::String);
            if !ok {
                self.error(
                    "type",
                    span,
                    format!("a key cannot have type `{}`", value.ty),
                );
                continue;
            }
            let name = match annot::string_annotation(&element.annotations, "name") {
                Some(name) => name.strip_prefix('.').map_or(name.clone(), str::to_owned),
                None => self.key_name(&element.expr).unwrap_or_else(|| {
                    if !value.ty.is_poison() {
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
            let expr = self.scalar(&value, span);
            keys.push(Key {
                expr,
                kind: MatchKind::from_name(&element.match_kind.name),
                name,
                annotations: self.annotations(&element.annotations),
                span: self.span(span),
            });
            tys.push(value.ty);
        }
        (keys, tys)
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
            ExprKind::Int(literal) => match literal.base {
                16 => format!("{:#x}", literal.value),
                8 => format!("{:#o}", literal.value),
                2 => format!("{:#b}", literal.value),
                _ => literal.value.to_string(),
            },
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
            Ty::Record(r) => self.decls.get(&r.decl).map(|d| &d.kind),
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

    fn action_named(&mut self, path: &ast::Path) -> Option<Rc<ActionInfo<'a>>> {
        match self.lookup(path) {
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
            infos: Vec::new(),
        };
        if t.property("actions").is_none() {
            self.error(
                "table",
                t.name.span,
                format!("table `{}` lists no actions", t.name),
            );
        }
        for action in t.actions() {
            let Some(info) = self.action_named(&action.path) else {
                continue;
            };
            if list.infos.iter().any(|i| i.id == info.id) {
                self.error(
                    "table",
                    action.at.span,
                    format!("action `{}` is listed twice", action.path.name),
                );
                continue;
            }
            let (copy_in, copy_out) = self.bound_arguments(&info, action);
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
            list.listed.push(TableAction {
                action: info.id,
                copy_in,
                copy_out,
                scope,
                annotations,
            });
            list.infos.push(info);
        }
        list
    }

    /// Copies for the directed parameters of an action in a table's list.
    fn bound_arguments(
        &mut self,
        info: &Rc<ActionInfo<'a>>,
        action: &'a ast::ActionRef,
    ) -> (Vec<Assign>, Vec<Assign>) {
        let directed: Vec<_> = info
            .params
            .iter()
            .filter(|p| p.decl.direction != Direction::None)
            .collect();
        let args = action.args.as_deref().unwrap_or(&[]);
        let mut copy_in = Vec::new();
        let mut copy_out = Vec::new();
        if args.len() != directed.len() {
            let text = format!(
                "action `{}` has {} parameters with a direction; {} are bound here",
                info.decl.name,
                directed.len(),
                args.len()
            );
            self.error("table", action.at.span, text);
            return (copy_in, copy_out);
        }
        for (param, arg) in directed.into_iter().zip(args) {
            let span = arg.at.span;
            if param.decl.direction == Direction::In {
                let value = self.expr(&arg.value, Some(&param.ty));
                let value = self.coerce(value, &param.ty, span);
                if value.is_poison() {
                    continue;
                }
                let value = self.scalar_or_copy(&value, span);
                copy_in.push(Assign {
                    dst: Place::var(param.var),
                    value,
                });
                continue;
            }
            let Some(l) = self.lvalue(&arg.value) else {
                continue;
            };
            if l.ty() != param.ty || !matches!(l.part, super::assign::Part::All) {
                self.error(
                    "type",
                    span,
                    format!(
                        "expected a place of type `{}`, found `{}`",
                        param.ty,
                        l.ty()
                    ),
                );
                continue;
            }
            let old = self.read(l.place.clone(), &param.ty);
            if param.decl.direction == Direction::InOut {
                copy_in.push(Assign {
                    dst: Place::var(param.var),
                    value: old,
                });
            }
            let new = self.read(Place::var(param.var), &param.ty);
            copy_out.push(Assign {
                dst: l.place,
                value: new,
            });
        }
        (copy_in, copy_out)
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
            self.error(
                "table",
                e.at.span,
                format!("`{}` is not in the table's list of actions", path.name),
            );
            return none;
        };
        if list.listed[index].scope == ActionScope::TableOnly {
            self.error(
                "table",
                e.at.span,
                format!("`{}` is @tableonly and cannot be the default", path.name),
            );
        }
        let args = self.action_data(&info, args, e.at.span).unwrap_or_default();
        DefaultAction {
            action: index as u32,
            args,
            is_const,
        }
    }

    /// Without a default action a table runs `NoAction`.
    fn implicit_default(&mut self, list: &mut ActionList<'a>) -> DefaultAction {
        let index = match self.global("NoAction") {
            Some(Entity::Value(Elab {
                val: Val::Action(info),
                ..
            })) => match list.infos.iter().position(|i| i.id == info.id) {
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
                    list.listed.len() - 1
                }
            },
            _ => 0,
        };
        DefaultAction {
            action: index as u32,
            args: Vec::new(),
            is_const: false,
        }
    }

    /// Compile-time action data. Arguments bound in the action list may be repeated in front.
    fn action_data(
        &mut self,
        info: &Rc<ActionInfo<'a>>,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<Vec<Const>> {
        let all: Vec<_> = info.params.iter().collect();
        let data: Vec<_> = all
            .iter()
            .copied()
            .filter(|p| p.decl.direction == Direction::None)
            .collect();
        let params = if args.len() == all.len() || args.iter().any(|a| a.name.is_some()) {
            &all
        } else {
            &data
        };
        let mut slots: Vec<Option<Const>> = vec![None; data.len()];
        if args.len() > params.len() {
            let text = format!(
                "action `{}` takes {} arguments, {} given",
                info.decl.name,
                data.len(),
                args.len()
            );
            self.error("call", span, text);
            return None;
        }
        for (i, arg) in args.iter().enumerate() {
            let position = match &arg.name {
                None => Some(i),
                Some(name) => params.iter().position(|p| p.decl.name == *name),
            };
            let Some(param) = position.and_then(|i| params.get(i)) else {
                self.error(
                    "call",
                    arg.at.span,
                    format!("action `{}` has no such parameter", info.decl.name),
                );
                return None;
            };
            if param.decl.direction != Direction::None {
                continue;
            }
            let value = self.const_expr(&arg.value, Some(&param.ty));
            let value = self.coerce(value, &param.ty, arg.at.span);
            if value.is_poison() {
                return None;
            }
            let slot = data.iter().position(|p| p.var == param.var)?;
            slots[slot] = self.constant_of(&value);
        }
        for (slot, param) in slots.iter_mut().zip(&data) {
            if let (None, Some(default)) = (&slot, &param.decl.default) {
                let value = self.const_expr(default, Some(&param.ty));
                let value = self.coerce(value, &param.ty, default.at.span);
                *slot = self.constant_of(&value);
            }
        }
        if let Some(missing) = slots.iter().position(Option::is_none) {
            let text = format!(
                "the argument for `{}` of action `{}` is missing",
                data[missing].decl.name, info.decl.name
            );
            self.error("call", span, text);
            return None;
        }
        slots.into_iter().collect()
    }

    fn entries(
        &mut self,
        t: &'a ast::Table,
        keys: &[Key],
        tys: &[Ty],
        list: &ActionList<'a>,
    ) -> (Vec<Entry>, bool) {
        let Some(property) = t.property("entries") else {
            return (Vec::new(), false);
        };
        let mut out = Vec::new();
        let mut priorities = Vec::new();
        if keys.len() != t.key().len() {
            return (out, property.is_const);
        }
        if keys.is_empty() && !t.entries().is_empty() {
            self.error(
                "table",
                property.at.span,
                "a table without a key cannot have entries",
            );
            return (out, property.is_const);
        }
        for entry in t.entries() {
            let priority = entry
                .priority
                .as_ref()
                .and_then(|p| self.const_int(p))
                .and_then(|p| p.to_i64());
            let Some(sets) = self.key_sets(&entry.keyset, tys) else {
                continue;
            };
            let Some(info) = self.action_named(&entry.action.path) else {
                continue;
            };
            let Some(index) = list.infos.iter().position(|i| i.id == info.id) else {
                let text = format!(
                    "`{}` is not in the table's list of actions",
                    entry.action.path.name
                );
                self.error("table", entry.action.at.span, text);
                continue;
            };
            if list.listed[index].scope == ActionScope::DefaultOnly {
                let text = format!(
                    "`{}` is @defaultonly and cannot stand in an entry",
                    entry.action.path.name
                );
                self.error("table", entry.action.at.span, text);
            }
            let args = entry.action.args.as_deref().unwrap_or(&[]);
            let Some(args) = self.action_data(&info, args, entry.action.at.span) else {
                continue;
            };
            priorities.push(priority);
            out.push(Entry {
                keys: sets,
                action: index as u32,
                args,
                priority: 0,
                is_const: property.is_const || entry.is_const,
                annotations: self.annotations(&entry.annotations),
                span: self.span(entry.at.span),
            });
        }
        if keys.iter().any(|k| k.kind.needs_priority()) {
            self.prioritise(t, &mut out, &priorities);
        } else if priorities.iter().any(Option::is_some) {
            self.error(
                "table",
                property.at.span,
                "entries of this table have no priorities: its key does not need them",
            );
        }
        (out, property.is_const)
    }

    /// Gives entries the priorities they have by the language (explicit, or by position), turned so that the larger
    /// number wins.
    fn prioritise(&mut self, t: &'a ast::Table, entries: &mut [Entry], explicit: &[Option<i64>]) {
        let Some(property) = t.property("entries") else {
            return;
        };
        let some = explicit.iter().any(Option::is_some);
        if property.is_const {
            if some {
                self.error(
                    "table",
                    property.at.span,
                    "`const entries` cannot have priorities",
                );
            }
            self.prioritise_constant(t, entries);
            return;
        }
        if some && explicit.first().is_some_and(Option::is_none) {
            self.error(
                "table",
                property.at.span,
                "if entries have priorities, the first one must have one",
            );
        }
        let largest_wins = self
            .bool_property(t, "largest_priority_wins")
            .unwrap_or(true);
        let delta = self.int_property(t, "priority_delta").unwrap_or(1).max(1);
        let count = entries.len() as i64;
        let mut values: Vec<i64> = Vec::new();
        for given in explicit {
            let value = match (given, values.last()) {
                (Some(p), _) => *p,
                (None, None) if largest_wins => (count - 1).saturating_mul(delta).saturating_add(1),
                (None, None) => 1,
                (None, Some(last)) if largest_wins => last.saturating_sub(delta),
                (None, Some(last)) => last.saturating_add(delta),
            };
            values.push(value);
        }
        set_priorities(entries, &values, largest_wins);
    }

    /// Constant entries: the first wins; or, as BMv2 has it, the smallest `@priority`, which is the
    /// position where none is given.
    fn prioritise_constant(&mut self, t: &'a ast::Table, entries: &mut [Entry]) {
        let annotated = |e: &ast::Entry| {
            let a = annotations::find(&e.annotations, "priority")?;
            annotations::integer(a).ok()?.to_i64()
        };
        let given: Vec<Option<i64>> = t.entries().iter().map(annotated).collect();
        let values: Vec<i64> = given
            .iter()
            .enumerate()
            .map(|(i, p)| p.unwrap_or(i as i64 + 1))
            .collect();
        set_priorities(entries, &values, false);
    }

    fn property_expr(t: &'a ast::Table, name: &str) -> Option<&'a ast::Expr> {
        match &t.property(name)?.value {
            PropertyValue::Expr(e) => Some(e),
            _ => None,
        }
    }

    fn bool_property(&mut self, t: &'a ast::Table, name: &str) -> Option<bool> {
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

    fn int_property(&mut self, t: &'a ast::Table, name: &str) -> Option<i64> {
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
            let wanted: &[&str] = match &*property.name.name {
                "implementation" => &["action_profile", "action_selector"],
                "counters" => &["direct_counter"],
                "meters" => &["direct_meter"],
                _ => continue,
            };
            if let Some(id) = self.property_object(property, e, wanted) {
                if &*property.name.name == "implementation" {
                    table.implementation = Some(id);
                } else {
                    table.direct.push(id);
                }
            }
        }
    }

    fn property_object(
        &mut self,
        property: &'a ast::TableProperty,
        e: &'a ast::Expr,
        wanted: &[&str],
    ) -> Option<ExternId> {
        let value = match &e.kind {
            // An object made on the spot is called as the property is annotated.
            ExprKind::Construct { ty, args } => {
                let ty = self.ty(ty);
                // Such a name is not prefixed.
                let name = annot::string_annotation(&property.annotations, "name")
                    .unwrap_or_else(|| self.control_plane_name(&property.name.name, &[]));
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
        let kind = &self.ir.externs[id].type_name;
        if !wanted.contains(&kind.as_str()) {
            let text = format!(
                "`{}` must be {}, not `{kind}`",
                property.name,
                wanted.join(" or ")
            );
            self.error("table", e.at.span, text);
            return None;
        }
        Some(id)
    }

    /// The table a path names.
    pub(super) fn table_named(&mut self, e: &'a ast::Expr) -> Option<TableId> {
        let ExprKind::Path(path) = &e.kind else {
            return None;
        };
        match self.find(path)? {
            Entity::Value(Elab {
                val: Val::Table(id),
                ..
            }) => Some(id),
            _ => None,
        }
    }

    /// The table applied by an expression `t.apply()`.
    pub(super) fn applied_table(&mut self, e: &'a ast::Expr) -> Option<TableId> {
        let ExprKind::Call { callee, args, .. } = &e.kind else {
            return None;
        };
        match &callee.kind {
            ExprKind::Member { base, member } if &*member.name == "apply" && args.is_empty() => {
                self.table_named(base)
            }
            _ => None,
        }
    }

    /// Emits the application; `hit`/`run` say which results are wanted.
    fn emit_apply(
        &mut self,
        table: TableId,
        hit: bool,
        run: bool,
        span: Span,
    ) -> (Option<Place>, Option<Place>) {
        if self.body.kind != BodyKind::Control {
            self.error(
                "call",
                span,
                "tables can only be applied in the `apply` of controls",
            );
            return (None, None);
        }
        let mut result =
            |wanted: bool, ty: Ty| wanted.then(|| self.new_var("tmp", &ty, VarKind::Temp, span));
        let hit = result(hit, Ty::Bool);
        let action_run = result(run, Ty::bit(32));
        self.emit(
            StmtKind::ApplyTable {
                table,
                hit,
                action_run,
            },
            span,
        );
        (hit.map(Place::var), action_run.map(Place::var))
    }

    /// `t.apply()` for its effect.
    pub(super) fn apply_bare(
        &mut self,
        table: TableId,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Elab<'a> {
        if !args.is_empty() {
            self.error("call", span, "`apply` of a table takes no arguments");
        }
        self.emit_apply(table, false, false, span);
        Elab::new(Ty::ApplyResult, Val::Void)
    }

    /// `t.apply().hit`, `.miss`, or `.action_run` outside a switch.
    pub(super) fn apply_result(&mut self, table: TableId, member: &str, span: Span) -> Elab<'a> {
        if member == "action_run" {
            self.error("flow", span, "`action_run` can only be used in `switch`");
            return Elab::poison();
        }
        let (Some(hit), _) = self.emit_apply(table, true, false, span) else {
            return Elab::new(Ty::Bool, Val::Poison);
        };
        let hit = Elab::place(Ty::Bool, hit, false);
        if member == "hit" {
            hit
        } else {
            self.not(hit, span)
        }
    }

    pub(super) fn switch_on_action(
        &mut self,
        table: TableId,
        cases: &'a [ast::SwitchCase],
        span: Span,
    ) {
        let (_, run) = self.emit_apply(table, false, true, span);
        let label = |s: &mut Self, e: &'a ast::Expr| {
            let ExprKind::Path(path) = &e.kind else {
                s.error("flow", e.at.span, "a case must name an action of the table");
                return None;
            };
            let info = s.action_named(path)?;
            match s.ir.tables[table]
                .actions
                .iter()
                .position(|a| a.action == info.id)
            {
                Some(i) => Some(Const::Bits((i as u32).into())),
                None => {
                    s.error(
                        "flow",
                        e.at.span,
                        format!("`{}` is not an action of the table", path.name),
                    );
                    None
                }
            }
        };
        let (arms, default) = self.switch_arms(cases, label);
        if let Some(run) = run {
            let value = self.read(run, &Ty::bit(32));
            self.emit(
                StmtKind::Switch {
                    value,
                    cases: arms,
                    default,
                },
                span,
            );
        }
    }
}

/// Stores priorities so that the larger number wins, keeping the numbers of the source where that is so already.
fn set_priorities(entries: &mut [Entry], values: &[i64], largest_wins: bool) {
    let top = values.iter().copied().max().unwrap_or(0);
    let lowest = values.iter().copied().min().unwrap_or(1);
    for (entry, value) in entries.iter_mut().zip(values) {
        let turned = match (largest_wins, lowest >= 1) {
            (true, true) => *value,
            (true, false) => value.saturating_sub(lowest).saturating_add(1),
            (false, _) => top.saturating_sub(*value).saturating_add(1),
        };
        entry.priority = turned.clamp(1, i64::from(u32::MAX)) as u32;
    }
}

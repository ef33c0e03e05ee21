//! Tables: keys, actions, default and initial entries.

use num_bigint::{BigInt, BigUint};
use num_traits::One;
use p4ir::{
    Action, ActionScope, BinaryOp, Const, DefaultAction, Entry, ExprKind, ExternArg, Key, KeyKind,
    KeySet, MatchKind, Place, StmtKind, Table, TableAction, TableId, Type, VarKind,
};

use crate::data::Reader;
use crate::error::Read;
use crate::expr::wrap;
use crate::model::{self, Arg, hex};

impl Reader<'_> {
    pub(crate) fn table(&mut self, t: &model::Table, profiles: &[model::Profile]) -> Read<TableId> {
        self.context = format!("table `{}`", t.name);
        self.at(t.source_info.as_ref());
        let span = self.span;
        let mut keys = Vec::new();
        for k in &t.key {
            keys.push(self.key(k)?);
        }
        let profile = t.action_profile.as_deref();
        for p in profiles.iter().filter(|p| Some(p.name.as_str()) == profile) {
            self.selector_keys(p, &mut keys)?;
        }
        let mut actions = Vec::new();
        for id in &t.action_ids {
            actions.push(self.table_action(*id)?);
        }
        let direct = self.direct(t)?;
        if let Some(name) = &t.direct_meters {
            self.meter_reads(name, &mut actions)?;
        }
        let default_action = self.default_action(t, &mut actions)?;
        let needs_priority = keys.iter().any(|k| k.kind.needs_priority());
        let highest = t.entries.iter().map(|e| e.priority).max().unwrap_or(0);
        let mut entries = Vec::new();
        for e in &t.entries {
            let mut entry = self.entry(e, t, &keys, &actions)?;
            // In BMv2 the smallest number wins.
            entry.priority = if needs_priority {
                highest - e.priority + 1
            } else {
                0
            };
            entries.push(entry);
        }
        let implementation = profile.map(|p| {
            self.externs
                .get(p)
                .copied()
                .ok_or_else(|| self.unknown("action profile", p))
        });
        let implementation = implementation.transpose()?;
        self.share_actions(implementation, &mut actions);
        Ok(self.program.tables.push(Table {
            name: t.name.clone(),
            prologue: Vec::new(),
            keys,
            actions,
            default_action,
            const_entries: !entries.is_empty(),
            entries,
            size: t.max_size,
            implementation,
            direct,
            idle_timeout: t.support_timeout,
            annotations: Vec::new(),
            span,
        }))
    }

    fn key(&mut self, k: &model::Key) -> Read<Key> {
        let context = self.context.clone();
        let (expr, kind) = if k.match_type == "valid" {
            let name = k.target.as_str().unwrap_or_default();
            let valid = Arg::Field(name.into(), "$valid$".into());
            (self.exact(&valid)?, KeyKind::Match(MatchKind::Exact))
        } else {
            let target = if k.target.is_array() {
                serde_json::json!({ "type": "field", "value": k.target })
            } else {
                k.target.clone()
            };
            let field = Arg::new(&target, &context)?;
            (self.exact(&field)?, KeyKind::from_name(&k.match_type))
        };
        let mut value = expr.expr;
        if let Some(mask) = &k.mask {
            let mask = hex(mask).ok_or_else(|| self.malformed("a mask that is no number"))?;
            if wrap(&mask, expr.width) != (BigUint::one() << expr.width) - 1u32 {
                let mask = self.constant(&mask, expr.width, expr.signed);
                let ty = self.bits(expr.width, expr.signed);
                let kind = ExprKind::Binary(BinaryOp::BitAnd, value, mask);
                value = self.program.add_expr(kind, ty);
            }
        }
        let name = k.name.clone().unwrap_or_else(|| k.target.to_string());
        Ok(Key {
            expr: value,
            kind,
            name,
            annotations: Vec::new(),
            span: self.span,
        })
    }

    /// The input of a selector's hash.
    fn selector_keys(&mut self, p: &model::Profile, keys: &mut Vec<Key>) -> Read<()> {
        let Some(selector) = &p.selector else {
            return Ok(());
        };
        for v in &selector.input {
            let context = self.context.clone();
            let expr = self.exact(&Arg::new(v, &context)?)?.expr;
            let (kind, name) = (KeyKind::Selector, format!("selector{}", keys.len()));
            keys.push(Key {
                expr,
                kind,
                name,
                annotations: Vec::new(),
                span: self.span,
            });
        }
        Ok(())
    }

    fn table_action(&self, id: i64) -> Read<TableAction> {
        let action = self.actions.get(&id).copied();
        Ok(TableAction {
            action: action.ok_or_else(|| self.unknown("action", id.to_string()))?,
            copy_in: Vec::new(),
            copy_out: Vec::new(),
            scope: ActionScope::TableAndDefault,
            annotations: Vec::new(),
        })
    }

    fn direct(&self, t: &model::Table) -> Read<Vec<p4ir::ExternId>> {
        let counters = self.json.counter_arrays.iter().filter(|a| {
            t.with_counters && a.is_direct && a.binding.as_deref() == Some(t.name.as_str())
        });
        let names = counters
            .map(|a| a.name.as_str())
            .chain(t.direct_meters.as_deref());
        names
            .map(|n| {
                self.externs
                    .get(n)
                    .copied()
                    .ok_or_else(|| self.unknown("object", n))
            })
            .collect()
    }

    /// BMv2 stores the colour of a direct meter before the action runs: each action of the table
    /// begins with that. The table gets actions of its own, since others may use the same.
    fn meter_reads(&mut self, meter: &str, actions: &mut [TableAction]) -> Read<()> {
        let json = self.json;
        let array = json.meter_arrays.iter().find(|a| a.name == meter);
        let Some((header, field)) = array.and_then(|a| a.result_target.as_ref()) else {
            return Ok(());
        };
        let target = Arg::Field(header.clone(), field.clone());
        for a in actions {
            let place = self.field_arg(&target)?.0;
            let mut body = self.block(|r| {
                let object = Arg::Named("meter_array".into(), meter.into());
                r.method(&object, "read", vec![ExternArg::Out(place)])
            })?;
            let own: &Action = &self.program.actions[a.action];
            let mut own = own.clone();
            body.append(&mut own.body);
            own.body = body;
            a.action = self.program.actions.push(own);
        }
        Ok(())
    }

    /// BMv2 looks up the action of a member by its name, whichever table it is listed in. So tables
    /// of one profile share their actions, though each has a copy in the file.
    fn share_actions(&self, implementation: Option<p4ir::ExternId>, actions: &mut [TableAction]) {
        if implementation.is_none() {
            return;
        }
        let all = &self.program.actions;
        let types = |action: &Action| -> Vec<p4ir::TypeId> {
            let params = action.params.iter();
            params.map(|p| self.program.vars[p.var].ty).collect()
        };
        let tables = self.program.tables.values();
        let others: Vec<&TableAction> = tables
            .filter(|table| table.implementation == implementation)
            .flat_map(|table| &table.actions)
            .collect();
        for own in actions {
            let (name, params) = (&all[own.action].name, types(&all[own.action]));
            let same = others.iter().find(|other| {
                let other = &all[other.action];
                other.name == *name && types(other) == params
            });
            if let Some(same) = same {
                own.action = same.action;
            }
        }
    }

    /// The position of an action in the table's list.
    fn position(&self, t: &model::Table, id: i64) -> Read<u32> {
        let found = (0u32..).zip(&t.action_ids).find(|(_, a)| **a == id);
        found
            .map(|(i, _)| i)
            .ok_or_else(|| self.unknown("action of the table", id.to_string()))
    }

    fn default_action(
        &mut self,
        t: &model::Table,
        actions: &mut Vec<TableAction>,
    ) -> Read<DefaultAction> {
        if let Some(d) = &t.default_entry {
            let action = self.position(t, d.action_id)?;
            let args = self.action_args(actions, action, &d.action_data)?;
            return Ok(DefaultAction {
                action,
                args,
                is_const: d.action_entry_const,
            });
        }
        let name = |a: &TableAction| self.program.actions[a.action].name.as_str();
        let known = actions.iter().position(|a| name(a) == "NoAction");
        let index = known.unwrap_or_else(|| {
            let action = self.program.actions.push(Action {
                name: "NoAction".into(),
                params: Vec::new(),
                body: Vec::new(),
                annotations: Vec::new(),
                span: self.span,
            });
            actions.push(TableAction {
                action,
                copy_in: Vec::new(),
                copy_out: Vec::new(),
                scope: ActionScope::DefaultOnly,
                annotations: Vec::new(),
            });
            actions.len() - 1
        });
        let action = u32::try_from(index).unwrap_or(0);
        Ok(DefaultAction {
            action,
            args: Vec::new(),
            is_const: false,
        })
    }

    fn action_args(
        &self,
        actions: &[TableAction],
        index: u32,
        data: &[String],
    ) -> Read<Vec<Const>> {
        let action = actions
            .get(index as usize)
            .map(|a| &self.program.actions[a.action]);
        let params: Vec<_> = action
            .map(|a| a.data_params().collect())
            .unwrap_or_default();
        if params.len() != data.len() {
            return Err(self.malformed("action data that does not fit the action"));
        }
        let mut args = Vec::new();
        for (p, d) in params.iter().zip(data) {
            let ty = self.program.vars[p.var].ty;
            let width = self
                .program
                .types
                .get(ty)
                .and_then(Type::bits)
                .map_or(0, |(w, _)| w);
            let value = hex(d).ok_or_else(|| self.malformed("action data that is no number"))?;
            args.push(Const::Bits(wrap(&value, width)));
        }
        Ok(args)
    }

    fn entry(
        &mut self,
        e: &model::Entry,
        t: &model::Table,
        keys: &[Key],
        actions: &[TableAction],
    ) -> Read<Entry> {
        self.at(e.source_info.as_ref());
        let mut sets = Vec::new();
        for (k, m) in keys.iter().zip(&e.match_key) {
            let ty = self.program.expr_type(k.expr);
            let width = self
                .program
                .types
                .get(ty)
                .and_then(Type::bits)
                .map_or(1, |(w, _)| w);
            sets.push(self.key_set(&k.kind, m, width)?);
        }
        sets.resize(keys.len().max(sets.len()), KeySet::Any); // selector inputs have no match
        let action = self.position(t, e.action_entry.action_id)?;
        Ok(Entry {
            keys: sets,
            action,
            args: self.action_args(actions, action, &e.action_entry.action_data)?,
            priority: 0,
            is_const: true,
            annotations: Vec::new(),
            span: self.span,
        })
    }

    fn key_set(&self, kind: &KeyKind, m: &model::MatchKey, width: u32) -> Read<KeySet> {
        let number = |text: Option<&str>| -> Read<BigUint> {
            let value = text.and_then(hex);
            let value = value.ok_or_else(|| self.malformed("a match that is no number"))?;
            Ok(wrap(&value, width))
        };
        if m.match_type == "valid" {
            let valid = m
                .key
                .as_ref()
                .and_then(serde_json::Value::as_bool)
                .unwrap_or(false);
            return Ok(KeySet::Value(Const::Bits(BigUint::from(u32::from(valid)))));
        }
        if m.start.is_some() {
            let (lo, hi) = (number(m.start.as_deref())?, number(m.end.as_deref())?);
            return Ok(KeySet::Range { lo, hi });
        }
        let value = number(m.key.as_ref().and_then(|k| k.as_str()))?;
        let ones = (BigUint::one() << width) - 1u32;
        let mask = match (&m.mask, m.prefix_length) {
            (Some(mask), _) => number(Some(mask))?,
            (None, Some(length)) => {
                let low = (BigInt::one() << width.saturating_sub(length)) - 1;
                wrap(&(BigInt::from(ones.clone()) - low), width)
            }
            (None, None) => ones.clone(),
        };
        Ok(match kind {
            _ if mask == BigUint::default() => KeySet::Any,
            KeyKind::Match(MatchKind::Lpm | MatchKind::Ternary) if mask != ones => KeySet::Mask {
                value: value & &mask,
                mask,
            },
            _ => KeySet::Value(Const::Bits(value)),
        })
    }

    /// True if applying the table is the same as calling its only action: p4c makes such tables of
    /// the statements between tables.
    pub(crate) fn is_call(&self, t: &model::Table) -> bool {
        t.key.is_empty()
            && t.kind == "simple"
            && t.action_ids.len() == 1
            && t.entries.is_empty()
            && !t.with_counters
            && t.direct_meters.is_none()
            && t.default_entry
                .as_ref()
                .is_some_and(|d| d.action_entry_const && d.action_data.is_empty())
            && t.next_tables.keys().all(|k| !k.starts_with("__"))
    }

    /// `apply`, remembering hit or action in a variable if `hit` or `run` asks for it.
    pub(crate) fn apply(&mut self, table: TableId, hit: bool, run: bool) -> Option<Place> {
        let flag = self.program.types.boolean();
        let number = self.bits(32, false);
        let hit = hit.then(|| self.var("hit", flag, VarKind::Temp));
        let action_run = run.then(|| self.var("action_run", number, VarKind::Temp));
        self.emit(StmtKind::ApplyTable {
            table,
            hit,
            action_run,
        });
        hit.or(action_run).map(Place::var)
    }
}

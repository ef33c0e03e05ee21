//! Tables: keys, actions, default and initial entries.

use p4ir::{
    BigUint, Const, Entry, ExprKind, ExternType, KeyKind, KeySet, MatchKind, TableId, Type, TypeId,
};
use serde_json::{Map, Value, json};

use super::control::Pipe;
use super::json::{ones, padded};
use super::steps::{Edges, Step};
use super::{Write, Writer};

/// Entries of a table that says nothing of its size, as p4c has it.
pub(super) const DEFAULT_SIZE: u64 = 1024;

impl Writer<'_> {
    /// Adds a table whose edges lead to `nodes`; its name.
    pub(super) fn table(
        &mut self,
        id: TableId,
        edges: &Edges,
        nodes: &[Option<String>],
        next: &Option<String>,
        pipe: &mut Pipe,
    ) -> Write<String> {
        let table = &self.p.tables[id];
        self.span = table.span;
        let names: Vec<String> = table
            .actions
            .iter()
            .map(|a| self.p.actions[a.action].name.clone())
            .collect();
        let mut leads = Map::new();
        match edges {
            Edges::HitMiss(..) => {
                leads.insert("__HIT__".into(), json!(nodes[0]));
                leads.insert("__MISS__".into(), json!(nodes[1]));
            }
            _ => {
                for (i, name) in names.iter().enumerate() {
                    let to = json!(nodes.get(i).unwrap_or(next));
                    let before = leads.insert(name.clone(), to.clone());
                    if before.is_some_and(|before| before != to) {
                        return Err(self.error(format!(
                            "table `{}` goes on differently after two actions called `{name}`",
                            table.name
                        )));
                    }
                }
            }
        }
        let leads = Value::Object(leads);
        if let Some(before) = self.placed.insert(id, leads.clone()) {
            if before == leads {
                return Ok(table.name.clone());
            }
            return Err(self.error(format!(
                "table `{}` applied at two places that go on differently",
                table.name
            )));
        }
        let made =
            self.table_object(id, &names, leads, matches!(edges, Edges::HitMiss(..)), next)?;
        pipe.tables.push(made);
        Ok(table.name.clone())
    }

    fn table_object(
        &mut self,
        id: TableId,
        names: &[String],
        leads: Value,
        by_hit: bool,
        next: &Option<String>,
    ) -> Write<Value> {
        let table = &self.p.tables[id];
        let keys = self.keys(id)?;
        let mut ids = Vec::new();
        for i in 0..table.actions.len() {
            ids.push(self.table_action(id, i)?);
        }
        let of_type = |ty: ExternType| {
            let externs = &self.p.externs;
            table
                .direct
                .iter()
                .find(|e| externs[**e].ty == ty)
                .map(|e| externs[*e].name.clone())
        };
        let (counter, meter) = (
            of_type(ExternType::DirectCounter),
            of_type(ExternType::DirectMeter),
        );
        let kind = match table.implementation.map(|i| &self.p.externs[i].ty) {
            None => "simple",
            Some(ExternType::ActionSelector) => "indirect_ws",
            Some(_) => "indirect",
        };
        let base = if by_hit { &None } else { next };
        let mut made = self.placed(json!({
            "name": table.name, "id": 0, "key": keys, "match_type": match_type(table.keys.iter().map(|k| &k.kind)),
            "type": kind, "max_size": table.capacity(Some(DEFAULT_SIZE)), "with_counters": counter.is_some(),
            "support_timeout": table.idle_timeout, "direct_meters": meter,
            "action_ids": ids, "actions": names, "base_default_next": base, "next_tables": leads,
        }));
        let Some(map) = made.as_object_mut() else {
            return Ok(made);
        };
        if let Some(implementation) = table.implementation {
            map.insert(
                "action_profile".into(),
                json!(self.p.externs[implementation].name),
            );
        }
        let default = &table.default_action;
        let name = names
            .get(default.action as usize)
            .map_or("", String::as_str);
        if kind == "simple" || default.is_const || name != "NoAction" {
            let data = self.action_data(id, default.action, &default.args)?;
            let number = ids.get(default.action as usize);
            map.insert(
                "default_entry".into(),
                json!({
                    "action_id": number, "action_const": false, "action_data": data,
                    "action_entry_const": default.is_const,
                }),
            );
        }
        if !table.entries.is_empty() {
            let highest = table.entries.iter().map(|e| e.priority).max().unwrap_or(0);
            let mut entries = Vec::new();
            for entry in &table.entries {
                entries.push(self.entry(id, entry, &ids, highest)?);
            }
            map.insert("entries".into(), Value::Array(entries));
        }
        Ok(made)
    }

    /// The action of one table: with the copies that are bound there, and data by position.
    fn table_action(&mut self, id: TableId, i: usize) -> Write<usize> {
        let bound = &self.p.tables[id].actions[i];
        let action = &self.p.actions[bound.action];
        let span = std::mem::replace(&mut self.span, action.span);
        let mut data = Vec::new();
        self.data.clear();
        for (position, param) in action.data_params().enumerate() {
            let (width, _) = self.stored(self.p.vars[param.var].ty)?;
            data.push(json!({ "name": param.name, "bitwidth": width }));
            self.data.insert(param.var, position);
        }
        let mut steps = Vec::new();
        for copy in &bound.copy_in {
            steps.extend(self.assign(copy)?);
        }
        let after = self.block(&bound.copy_out)?;
        self.frames.push(after.clone());
        let body = self.block(&action.body)?;
        self.frames.pop();
        steps.push(Step::Scope(body));
        steps.extend(after);
        self.data.clear();
        let primitives = self.primitives(&steps)?;
        self.span = span;
        Ok(self.add_action(&action.name, data, primitives))
    }

    fn is_selected(kind: &KeyKind) -> bool {
        *kind == KeyKind::Selector
    }

    /// Key fields; what is no field is stored in one before, see [`Writer::key_steps`].
    fn keys(&mut self, id: TableId) -> Write<Vec<Value>> {
        let mut made = Vec::new();
        for (i, key) in self.p.tables[id].keys.iter().enumerate() {
            if Self::is_selected(&key.kind) {
                continue;
            }
            let target = self.key_field(id, i)?;
            made.push(json!({
                "match_type": key_type(&key.kind), "name": key.name, "target": target["value"], "mask": null,
            }));
        }
        Ok(made)
    }

    /// The field that holds a key.
    pub(super) fn key_field(&mut self, id: TableId, i: usize) -> Write<Value> {
        let expr = self.p.tables[id].keys[i].expr;
        if let ExprKind::IsValid(place) = &self.p.exprs[expr].kind
            && place.is_static()
        {
            let header = self.header(place)?;
            return Ok(super::json::field(&header, "$valid$"));
        }
        if let Some(field) = self.plain_field(expr)? {
            return Ok(field);
        }
        // The same field whenever it is asked for.
        let name = format!("key.{}.{i}", self.p.tables[id].name);
        if !self.temps.iter().any(|(known, ..)| *known == name) {
            let (width, signed) = self.stored(self.p.expr_type(expr))?;
            self.temps.push((name.clone(), width.max(1), signed));
        }
        Ok(super::json::field("scalars", &name))
    }

    /// What happens before a table is looked up.
    pub(super) fn key_steps(&mut self, id: TableId) -> Write<Vec<Step>> {
        let table = &self.p.tables[id];
        let mut steps = self.block(&table.prologue)?;
        for (i, key) in table.keys.iter().enumerate() {
            let field = self.key_field(id, i)?;
            let name = field["value"][1].as_str().unwrap_or_default();
            if field["value"][0] == "scalars" && name.starts_with("key.") {
                let value = self.argument(key.expr)?;
                steps.push(self.primitive("assign", vec![field, value]));
            }
        }
        Ok(steps)
    }

    fn action_data(&self, id: TableId, action: u32, args: &[Const]) -> Write<Vec<String>> {
        let bound = &self.p.tables[id].actions[action as usize];
        let params = self.p.actions[bound.action].data_params();
        let mut data = Vec::new();
        for (param, arg) in params.zip(args) {
            let (width, _) = self.stored(self.p.vars[param.var].ty)?;
            data.push(padded(&bits(arg), width));
        }
        Ok(data)
    }

    fn entry(&mut self, id: TableId, entry: &Entry, ids: &[usize], highest: u32) -> Write<Value> {
        self.span = entry.span;
        let table = &self.p.tables[id];
        let mut keys = Vec::new();
        for (key, set) in table.keys.iter().zip(&entry.keys) {
            if Self::is_selected(&key.kind) {
                continue;
            }
            keys.push(self.match_key(&key.kind, set, self.p.expr_type(key.expr))?);
        }
        let data = self.action_data(id, entry.action, &entry.args)?;
        // In BMv2 the smallest number wins.
        let priority = match table.needs_priority() {
            true => highest - entry.priority + 1,
            false => 1,
        };
        Ok(self.placed(json!({
            "match_key": keys, "priority": priority,
            "action_entry": { "action_id": ids.get(entry.action as usize), "action_data": data },
        })))
    }

    fn match_key(&self, kind: &KeyKind, set: &KeySet, ty: TypeId) -> Write<Value> {
        let (width, _) = self.stored(ty)?;
        let all = ones(width);
        let text = |n: &BigUint| padded(n, width);
        let zero = BigUint::default();
        let (value, mask) = match set {
            KeySet::Any => (zero.clone(), zero.clone()),
            KeySet::Value(value) => (bits(value), all.clone()),
            KeySet::Mask { value, mask } => (value.clone(), mask.clone()),
            KeySet::Range { lo, hi } => {
                return Ok(json!({ "match_type": "range", "start": text(lo), "end": text(hi) }));
            }
        };
        Ok(match kind {
            KeyKind::Match(MatchKind::Exact) if self.p.types[ty] == Type::Bool || mask == all => {
                json!({ "match_type": "exact", "key": text(&value) })
            }
            KeyKind::Match(MatchKind::Lpm) => {
                json!({ "match_type": "lpm", "key": text(&value), "prefix_length": mask.count_ones() })
            }
            KeyKind::Match(MatchKind::Range) if mask == all => {
                json!({ "match_type": "range", "start": text(&value), "end": text(&value) })
            }
            KeyKind::Match(MatchKind::Range) => {
                json!({ "match_type": "range", "start": text(&zero), "end": text(&all) })
            }
            _ => {
                json!({ "match_type": key_type(kind), "key": text(&value), "mask": text(&mask) })
            }
        })
    }
}

/// How BMv2 matches a key: it knows no optional ones, and P4Runtime servers write theirs as
/// ternary.
fn key_type(kind: &KeyKind) -> &str {
    match kind {
        KeyKind::Match(MatchKind::Optional) => MatchKind::Ternary.name(),
        kind => kind.name(),
    }
}

/// What BMv2 has to look entries up by.
fn match_type<'k>(kinds: impl Iterator<Item = &'k KeyKind>) -> &'static str {
    let rank = |kind: &KeyKind| match kind {
        KeyKind::Match(MatchKind::Range) => 3,
        KeyKind::Match(MatchKind::Ternary | MatchKind::Optional) => 2,
        KeyKind::Match(MatchKind::Lpm) => 1,
        _ => 0,
    };
    match kinds.map(rank).max() {
        Some(3) => "range",
        Some(2) => "ternary",
        Some(1) => "lpm",
        _ => "exact",
    }
}

/// A constant's bits.
pub(super) fn bits(value: &Const) -> BigUint {
    match value {
        Const::Bits(bits) => bits.clone(),
        Const::Bool(b) => u32::from(*b).into(),
        Const::Error(i) | Const::Enum(i) => (*i).into(),
        Const::Str(_) => BigUint::default(),
    }
}

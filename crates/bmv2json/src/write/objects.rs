//! Counters, meters, registers, profiles and value sets.

use p4ir::{
    Const, ExprKind, ExternId, ExternInstance, ExternType, KeyKind, MatchKind, Table, TableId,
    Type, ValueSetField,
};
use serde_json::{Value, json};

use super::table::DEFAULT_SIZE;
use super::{Write, Writer, with_source};

impl Writer<'_> {
    /// A constructor argument that is a number.
    fn size_of(&self, e: &ExternInstance, name: &str) -> Option<u64> {
        let (_, id) = e.args.iter().find(|(n, _)| n == name)?;
        match &self.p.exprs[*id].kind {
            ExprKind::Const(Const::Bits(bits)) => u64::try_from(bits).ok(),
            _ => None,
        }
    }

    /// The member of an enum that a constructor argument is.
    fn member_of(&self, e: &ExternInstance, name: &str) -> Option<String> {
        let (_, id) = e.args.iter().find(|(n, _)| n == name)?;
        let expr = &self.p.exprs[*id];
        match (&expr.kind, &self.p.types[expr.ty]) {
            (ExprKind::Const(Const::Enum(i)), Type::Enum { members, .. }) => {
                members.get(*i as usize).cloned()
            }
            _ => None,
        }
    }

    /// The table of a direct counter or meter, if it is one that was written: one that is applied.
    fn bound_to(&self, id: ExternId) -> Option<&Table> {
        let mut tables = self.placed.keys().map(|table| &self.p.tables[*table]);
        tables.find(|t| t.direct.contains(&id))
    }

    /// `counter_arrays`, `meter_arrays`, `register_arrays`.
    pub(super) fn arrays(&mut self) -> Write<[Vec<Value>; 3]> {
        let [mut counters, mut meters, mut registers] = [(); 3].map(|()| Vec::new());
        for (id, e) in self.p.externs.iter() {
            self.span = e.span;
            let size = self.size_of(e, "size").unwrap_or(0);
            let binding = self.bound_to(id);
            let bound = binding.map(|t| &t.name);
            match e.ty {
                ExternType::Counter => {
                    counters.push(self.placed(json!({ "name": e.name, "id": counters.len(), "size": size, "is_direct": false })));
                }
                ExternType::DirectCounter if binding.is_some() => {
                    counters.push(self.placed(json!({ "name": e.name, "id": counters.len(), "is_direct": true, "binding": bound })));
                }
                ExternType::Meter | ExternType::DirectMeter => {
                    let kind = self
                        .member_of(e, "type")
                        .unwrap_or_else(|| "packets".into());
                    let mut made = json!({ "name": e.name, "id": meters.len(), "rate_count": 2, "type": kind });
                    match (&e.ty, binding) {
                        (ExternType::Meter, _) => {
                            made["is_direct"] = json!(false);
                            made["size"] = json!(size);
                        }
                        (_, Some(table)) => {
                            let Some(target) = self.meter_targets.get(&id) else {
                                return Err(self.error(format!(
                                    "direct meter `{}`, which no action reads",
                                    e.name
                                )));
                            };
                            made["is_direct"] = json!(true);
                            // BMv2 makes as many, and ends if the table has another number of
                            // entries.
                            made["size"] = json!(table.capacity(Some(DEFAULT_SIZE)));
                            made["binding"] = json!(table.name);
                            made["result_target"] = target.clone();
                        }
                        (_, None) => continue,
                    }
                    meters.push(self.placed(made));
                }
                ExternType::Register => {
                    let width = match e.type_args.first() {
                        Some(ty) => self.stored(*ty)?.0,
                        None => 32,
                    };
                    registers.push(self.placed(json!({ "name": e.name, "id": registers.len(), "size": size, "bitwidth": width })));
                }
                _ => {}
            }
        }
        Ok([counters, meters, registers])
    }

    /// An action profile or selector, and what its hash reads.
    pub(super) fn profile(&mut self, id: ExternId, table: TableId, number: usize) -> Write<Value> {
        let e = &self.p.externs[id];
        let size = self.size_of(e, "size").unwrap_or(0);
        let made = json!({ "name": e.name, "id": number, "max_size": size });
        let mut made = with_source(made, self.source_of(e.span));
        if e.ty == ExternType::ActionSelector {
            let algorithm = self
                .member_of(e, "algorithm")
                .unwrap_or_else(|| "crc16".into());
            let mut input = Vec::new();
            for (i, key) in self.p.tables[table].keys.iter().enumerate() {
                if key.kind == KeyKind::Selector {
                    input.push(self.key_field(table, i)?);
                }
            }
            made["selector"] = json!({ "algo": algorithm, "input": input });
        }
        Ok(made)
    }

    pub(super) fn value_sets(&mut self) -> Write<Vec<Value>> {
        let mut made = Vec::new();
        for set in self.p.value_sets.values() {
            let inexact = |f: &&ValueSetField| f.kind != KeyKind::Match(MatchKind::Exact);
            if let Some(field) = set.fields.iter().find(inexact) {
                self.span = set.span;
                return Err(self.error(format!(
                    "value set `{}` matches as `{}`, and BMv2's value sets match as `exact` only: \
                     leave `@match` out, or match in a table",
                    set.name,
                    field.kind.name()
                )));
            }
            let widths = set
                .fields
                .iter()
                .filter_map(|f| self.p.types.wire_width(f.ty));
            made.push(json!({
                "name": set.name, "id": made.len(), "max_size": set.size,
                "compressed_bitwidth": widths.sum::<u64>(),
            }));
        }
        Ok(made)
    }
}

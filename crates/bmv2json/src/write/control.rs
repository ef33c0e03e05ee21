//! A control as a pipeline: a graph of tables, conditions and tables without keys that only call an
//! action.

use p4ir::ControlId;
use serde_json::{Value, json};

use super::graph::{applies, conditional, without_unreachable};
use super::steps::{Edges, Step};
use super::{Write, Writer, with_source};

/// A pipeline while it is made.
#[derive(Default)]
pub(super) struct Pipe {
    pub(super) tables: Vec<Value>,
    conditions: Vec<Value>,
    profiles: Vec<Value>,
    known_profiles: Vec<p4ir::ExternId>,
}

/// The name of a node; none is the end of the pipeline.
type Next = Option<String>;

impl Writer<'_> {
    pub(super) fn pipeline(&mut self, name: &str, id: usize, control: ControlId) -> Write<Value> {
        let control = &self.p.controls[control];
        let source = self.source_of(control.span);
        let mut steps = self.block(&control.init)?;
        steps.extend(self.block(&control.body)?);
        let mut pipe = Pipe::default();
        let first = self.graph(&steps, None, &None, &mut pipe)?;
        for (i, t) in pipe.tables.iter_mut().enumerate() {
            t["id"] = json!(i);
        }
        let made = json!({
            "name": name, "id": id, "init_table": first, "tables": pipe.tables,
            "action_profiles": pipe.profiles, "conditionals": pipe.conditions,
        });
        Ok(with_source(made, source))
    }

    /// The first node of these steps, after which `next` comes. `end` is where a return leads.
    pub(super) fn graph(
        &mut self,
        steps: &[Step],
        next: Next,
        end: &Next,
        pipe: &mut Pipe,
    ) -> Write<Next> {
        let steps = without_unreachable(steps);
        let mut next = next;
        let mut run = Vec::new();
        for step in steps.iter().rev() {
            if !conditional(step) {
                run.push(step.clone());
                continue;
            }
            next = self.action_node(&mut run, next, pipe)?;
            next = match step {
                Step::If(cond, then, other, source) => {
                    let yes = self.graph(then, next.clone(), end, pipe)?;
                    let no = self.graph(other, next, end, pipe)?;
                    Some(self.condition_node(cond, source, yes, no, pipe))
                }
                Step::Scope(inner) => self.graph(inner, next.clone(), &next, pipe)?,
                Step::Return => end.clone(),
                Step::Apply(table, edges) => Some(self.apply(*table, edges, next, end, pipe)?),
                _ => return Err(self.error("`break`, `continue` or a loop around a table")),
            };
        }
        self.action_node(&mut run, next, pipe)
    }

    /// A table that does nothing but run these steps, which stand in reverse order.
    fn action_node(&mut self, run: &mut Vec<Step>, next: Next, pipe: &mut Pipe) -> Write<Next> {
        if run.is_empty() {
            return Ok(next);
        }
        let steps: Vec<Step> = run.drain(..).rev().collect();
        let primitives = self.primitives(&steps)?;
        if primitives.is_empty() {
            return Ok(next);
        }
        let number = self.number();
        let (action, name) = (format!("act_{number}"), format!("tbl_act_{number}"));
        let source = primitives[0]["source_info"].clone();
        let id = self.add_action(&action, Vec::new(), primitives);
        let table = json!({
            "name": name, "id": 0, "key": [], "match_type": "exact", "type": "simple", "max_size": 1024,
            "with_counters": false, "support_timeout": false, "direct_meters": null,
            "action_ids": [id], "actions": [action], "base_default_next": next,
            "next_tables": { action: next },
            "default_entry": { "action_id": id, "action_const": true, "action_data": [], "action_entry_const": true },
        });
        pipe.tables.push(with_source(table, source));
        Ok(Some(name))
    }

    fn condition_node(
        &mut self,
        cond: &Value,
        source: &Value,
        yes: Next,
        no: Next,
        pipe: &mut Pipe,
    ) -> String {
        let name = format!("node_{}", self.number());
        let id = pipe.conditions.len();
        let node = json!({
            "name": name, "id": id, "expression": cond, "true_next": yes, "false_next": no,
        });
        pipe.conditions.push(with_source(node, source.clone()));
        name
    }

    fn apply(
        &mut self,
        table: p4ir::TableId,
        edges: &Edges,
        next: Next,
        end: &Next,
        pipe: &mut Pipe,
    ) -> Write<String> {
        let inner = match edges {
            Edges::None => Vec::new(),
            Edges::HitMiss(hit, miss) => vec![hit, miss],
            Edges::Actions(all) => all.iter().collect(),
        };
        let mut nodes = Vec::new();
        let mut seen: Vec<(String, Next)> = Vec::new();
        for steps in inner {
            // Branches that are the same share their nodes.
            let key = format!("{steps:?}");
            let known = seen.iter().find(|(k, _)| *k == key).map(|(_, n)| n.clone());
            let node = match known {
                Some(node) => node,
                None => self.graph(steps, next.clone(), end, pipe)?,
            };
            seen.push((key, node.clone()));
            nodes.push(node);
        }
        let name = self.table(table, edges, &nodes, &next, pipe)?;
        if let Some(profile) = self.p.tables[table].implementation
            && !pipe.known_profiles.contains(&profile)
        {
            let made = self.profile(profile, table, pipe.profiles.len())?;
            pipe.profiles.push(made);
            pipe.known_profiles.push(profile);
        }
        let before = self.key_steps(table)?;
        if applies(&before) {
            return Err(self.error("a table applied in the key of another"));
        }
        let first = self.graph(&before, Some(name.clone()), &None, pipe)?;
        Ok(first.unwrap_or(name))
    }
}

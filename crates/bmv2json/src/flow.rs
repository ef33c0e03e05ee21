//! Pipelines: from a graph of tables and conditions back to statements.
//!
//! Where paths that part at a node meet again is the node's immediate postdominator; what lies
//! between is the node's branches. Programs without `goto` come out as they were written; a graph
//! that is not of that kind would have parts twice, which is bounded.

use std::collections::BTreeMap;

use p4ir::{Callee, Const, Control, ControlId, StmtKind, SwitchCase, TableId};

use crate::data::Reader;
use crate::error::Read;
use crate::model::{self, Arg};

/// A node by position; the last position is the end of the pipeline.
type NodeId = usize;

enum Node<'j> {
    Table {
        table: &'j model::Table,
        id: Option<TableId>,
        next: Next,
    },
    Condition {
        condition: &'j model::Conditional,
        yes: NodeId,
        no: NodeId,
    },
    Call {
        action: i64,
        next: NodeId,
    },
}

/// Where a table leads.
enum Next {
    HitMiss(NodeId, NodeId),
    /// By position in the table's list of actions.
    Actions(Vec<NodeId>),
}

struct Graph<'j> {
    nodes: Vec<Node<'j>>,
    /// Immediate postdominator of each node.
    joins: Vec<NodeId>,
    /// How many more statements may be made.
    budget: usize,
}

/// Deepest nesting of branches.
const MAX_DEPTH: usize = 200;

impl Reader<'_> {
    /// The control of the pipeline called `name`.
    pub(crate) fn pipeline(&mut self, name: &str) -> Read<ControlId> {
        let json = self.json;
        let pipeline = json.pipelines.iter().find(|p| p.name == name);
        self.context = "pipelines".into();
        let pipeline = pipeline.ok_or_else(|| self.unknown("pipeline", name))?;
        let mut tables = Vec::new();
        let mut graph = self.graph(pipeline, &mut tables)?;
        self.context = format!("pipeline `{name}`");
        graph.joins = self.joins(&graph.nodes)?;
        graph.budget = 16 * graph.nodes.len() + 1024;
        let end = graph.nodes.len();
        let start = match &pipeline.init_table {
            None => end,
            Some(first) => self.node_named(pipeline, first)?,
        };
        let body = self.block(|r| r.walk(&mut graph, start, end, 0))?;
        self.at(pipeline.source_info.as_ref());
        Ok(self.program.controls.push(Control {
            name: name.into(),
            type_name: name.into(),
            params: self.shared_params(3),
            init: Vec::new(),
            body,
            tables,
            actions: Vec::new(),
            subcontrols: Vec::new(),
            span: self.span,
        }))
    }

    /// Nodes are numbered: tables, conditions, calls, as they stand.
    fn node_named(&self, p: &model::Pipeline, name: &str) -> Read<NodeId> {
        let tables = p.tables.iter().map(|t| t.name.as_str());
        let conditions = p.conditionals.iter().map(|c| c.name.as_str());
        let calls = p.action_calls.iter().map(|c| c.name.as_str());
        let found = tables
            .chain(conditions)
            .chain(calls)
            .position(|n| n == name);
        found.ok_or_else(|| self.unknown("table or condition", name))
    }

    fn graph<'j>(&mut self, p: &'j model::Pipeline, tables: &mut Vec<TableId>) -> Read<Graph<'j>> {
        let end = p.tables.len() + p.conditionals.len() + p.action_calls.len();
        let names: BTreeMap<&str, NodeId> = p
            .tables
            .iter()
            .map(|t| t.name.as_str())
            .chain(p.conditionals.iter().map(|c| c.name.as_str()))
            .chain(p.action_calls.iter().map(|c| c.name.as_str()))
            .enumerate()
            .map(|(i, n)| (n, i))
            .collect();
        let mut nodes = Vec::new();
        for t in &p.tables {
            let id = if self.is_call(t) {
                None
            } else {
                Some(self.table(t, &p.action_profiles)?)
            };
            tables.extend(id);
            let next = self.next_of(t, id, &names, end)?;
            nodes.push(Node::Table { table: t, id, next });
        }
        self.context = format!("pipeline `{}`", p.name);
        let target = |r: &Self, next: &Option<String>| match next {
            None => Ok(end),
            Some(n) => names
                .get(n.as_str())
                .copied()
                .ok_or_else(|| r.unknown("table or condition", n)),
        };
        for c in &p.conditionals {
            let (yes, no) = (target(self, &c.true_next)?, target(self, &c.false_next)?);
            nodes.push(Node::Condition {
                condition: c,
                yes,
                no,
            });
        }
        for c in &p.action_calls {
            let next = target(self, &c.next_node)?;
            nodes.push(Node::Call {
                action: c.action_id,
                next,
            });
        }
        Ok(Graph {
            nodes,
            joins: Vec::new(),
            budget: 0,
        })
    }

    fn next_of(
        &self,
        t: &model::Table,
        id: Option<TableId>,
        names: &BTreeMap<&str, NodeId>,
        end: NodeId,
    ) -> Read<Next> {
        let target = |next: Option<&String>| match next {
            None => Ok(end),
            Some(n) => names
                .get(n.as_str())
                .copied()
                .ok_or_else(|| self.unknown("table or condition", n)),
        };
        let edge = |name: &str| t.next_tables.get(name).map(Option::as_ref);
        if t.next_tables.contains_key("__HIT__") || t.next_tables.contains_key("__MISS__") {
            let base = t.base_default_next.as_ref();
            let hit = target(edge("__HIT__").unwrap_or(base))?;
            return Ok(Next::HitMiss(
                hit,
                target(edge("__MISS__").unwrap_or(base))?,
            ));
        }
        let actions: Vec<p4ir::ActionId> = match id {
            Some(id) => self.program.tables[id]
                .actions
                .iter()
                .map(|a| a.action)
                .collect(),
            None => t
                .action_ids
                .iter()
                .filter_map(|a| self.actions.get(a).copied())
                .collect(),
        };
        let mut nexts = Vec::new();
        for a in actions {
            let name = &self.program.actions[a].name;
            nexts.push(target(edge(name).unwrap_or(t.base_default_next.as_ref()))?);
        }
        Ok(Next::Actions(nexts))
    }

    /// Immediate postdominators; an error if the graph has a cycle.
    fn joins(&self, nodes: &[Node<'_>]) -> Read<Vec<NodeId>> {
        let end = nodes.len();
        let order = self.topological(nodes)?;
        let mut joins = vec![end; end + 1];
        let mut depth = vec![0usize; end + 1];
        for &n in order.iter().rev() {
            let Some(node) = nodes.get(n) else { continue };
            let mut common: Option<NodeId> = None;
            for mut s in node.successors() {
                if let Some(mut c) = common {
                    while c != s {
                        if depth[c] >= depth[s] {
                            c = joins[c];
                        } else {
                            s = joins[s];
                        }
                    }
                }
                common = Some(s);
            }
            joins[n] = common.unwrap_or(end);
            depth[n] = depth[joins[n]] + 1;
        }
        Ok(joins)
    }

    fn topological(&self, nodes: &[Node<'_>]) -> Read<Vec<NodeId>> {
        let mut incoming = vec![0usize; nodes.len() + 1];
        for s in nodes.iter().flat_map(Node::successors) {
            incoming[s] += 1;
        }
        let mut ready: Vec<NodeId> = (0..nodes.len()).filter(|n| incoming[*n] == 0).collect();
        let mut order = Vec::new();
        while let Some(n) = ready.pop() {
            order.push(n);
            for s in nodes[n].successors() {
                incoming[s] -= 1;
                if incoming[s] == 0 && s < nodes.len() {
                    ready.push(s);
                }
            }
        }
        if order.len() < nodes.len() {
            return Err(self.malformed("the control flow has a cycle"));
        }
        Ok(order)
    }

    /// Statements from `node` up to `stop`.
    fn walk(&mut self, g: &mut Graph<'_>, node: NodeId, stop: NodeId, depth: usize) -> Read<()> {
        if depth > MAX_DEPTH {
            return Err(self.unsupported(format!("control flow nested more than {MAX_DEPTH} deep")));
        }
        let mut at = node;
        while at != stop && at < g.nodes.len() {
            g.budget = g
                .budget
                .checked_sub(1)
                .ok_or_else(|| self.unsupported("control flow that is no nest of conditions"))?;
            let join = g.joins[at];
            match &g.nodes[at] {
                Node::Call { action, .. } => {
                    let action = *action;
                    self.call_action(action)?;
                }
                Node::Condition { condition, yes, no } => {
                    let (condition, yes, no) = (*condition, *yes, *no);
                    self.at(condition.source_info.as_ref());
                    let context = self.context.clone();
                    let cond = self.condition(&Arg::new(&condition.expression, &context)?)?;
                    let then = self.block(|r| r.walk(g, yes, join, depth + 1))?;
                    let other = self.block(|r| r.walk(g, no, join, depth + 1))?;
                    self.at(condition.source_info.as_ref());
                    self.emit(StmtKind::If { cond, then, other });
                }
                Node::Table { .. } => self.walk_table(g, at, join, depth)?,
            }
            at = join;
        }
        Ok(())
    }

    fn call_action(&mut self, id: i64) -> Read<()> {
        let action = self.actions.get(&id).copied();
        let action = action.ok_or_else(|| self.unknown("action", id.to_string()))?;
        if !self.program.actions[action].params.is_empty() {
            return Err(self.malformed("an action with parameters is called without any"));
        }
        let callee = Callee::Action(action);
        self.emit(StmtKind::Call {
            callee,
            copy_in: Vec::new(),
            copy_out: Vec::new(),
        });
        Ok(())
    }

    fn walk_table(
        &mut self,
        g: &mut Graph<'_>,
        at: NodeId,
        join: NodeId,
        depth: usize,
    ) -> Read<()> {
        let Node::Table { table, id, next } = &g.nodes[at] else {
            return Ok(());
        };
        let table = *table;
        self.at(table.source_info.as_ref());
        let Some(id) = *id else {
            let action = table.action_ids.first().copied().unwrap_or(-1);
            return self.call_action(action);
        };
        match next {
            Next::HitMiss(hit, miss) => {
                let (hit, miss) = (*hit, *miss);
                let Some(flag) = self.apply(id, true, false) else {
                    return Ok(());
                };
                let ty = self.program.types.boolean();
                let cond = self.read(flag, ty);
                let then = self.block(|r| r.walk(g, hit, join, depth + 1))?;
                let other = self.block(|r| r.walk(g, miss, join, depth + 1))?;
                self.emit(StmtKind::If { cond, then, other });
            }
            Next::Actions(nexts) => {
                let mut targets: BTreeMap<NodeId, Vec<Const>> = BTreeMap::new();
                for (i, n) in nexts.iter().enumerate().filter(|(_, n)| **n != join) {
                    targets.entry(*n).or_default().push(Const::Bits(i.into()));
                }
                let run = self.apply(id, false, !targets.is_empty());
                let Some(run) = run else { return Ok(()) };
                let ty = self.bits(32, false);
                let value = self.read(run, ty);
                let mut cases = Vec::new();
                for (target, labels) in targets {
                    let body = self.block(|r| r.walk(g, target, join, depth + 1))?;
                    cases.push(SwitchCase { labels, body });
                }
                self.emit(StmtKind::Switch {
                    value,
                    cases,
                    default: Vec::new(),
                });
            }
        }
        Ok(())
    }
}

impl Node<'_> {
    fn successors(&self) -> Vec<NodeId> {
        match self {
            Node::Condition { yes, no, .. } => vec![*yes, *no],
            Node::Call { next, .. } => vec![*next],
            Node::Table {
                next: Next::HitMiss(hit, miss),
                ..
            } => vec![*hit, *miss],
            Node::Table {
                next: Next::Actions(nexts),
                ..
            } => nexts.clone(),
        }
    }
}

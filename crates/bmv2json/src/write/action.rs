//! Steps as the primitives of an action: conditions and loops are jumps to the index of a
//! primitive.

use serde_json::{Value, json};

use super::json::{number, operand, unary};
use super::steps::Step;
use super::{Write, Writer};

/// Primitives while they are made.
#[derive(Default)]
struct Primitives {
    list: Vec<Value>,
    /// Where jumps to the end of the innermost scopes and loops stand.
    returns: Vec<Vec<usize>>,
    breaks: Vec<Vec<usize>>,
    continues: Vec<Vec<usize>>,
}

impl Primitives {
    /// A jump whose target is not known yet; its position.
    fn jump(&mut self) -> usize {
        self.list
            .push(json!({ "op": "_jump", "parameters": [number(0u32)] }));
        self.list.len() - 1
    }

    fn jump_if_zero(&mut self, cond: Value) -> usize {
        let cond = operand(as_number(cond));
        self.list
            .push(json!({ "op": "_jump_if_zero", "parameters": [cond, number(0u32)] }));
        self.list.len() - 1
    }

    /// Takes jumps to the end away that stand there anyway.
    fn trim(&mut self) {
        let target = |primitive: &Value| primitive["parameters"][0]["value"].clone();
        while let Some(last) = self.list.last()
            && last["op"] == "_jump"
            && target(last) == number(self.list.len())["value"]
        {
            let end = number(self.list.len());
            self.list.pop();
            let before = number(self.list.len());
            let parameters = self.list.iter_mut().filter(|p| is_jump(p));
            for to in parameters.filter_map(|p| p["parameters"].as_array_mut()?.last_mut()) {
                if *to == end {
                    *to = before.clone();
                }
            }
        }
    }

    /// Lets jumps lead to the next primitive.
    fn land(&mut self, jumps: impl IntoIterator<Item = usize>) {
        let here = self.list.len();
        self.lead(jumps, here);
    }

    fn lead(&mut self, jumps: impl IntoIterator<Item = usize>, to: usize) {
        for jump in jumps {
            let parameters = self.list[jump]["parameters"].as_array_mut();
            if let Some(target) = parameters.and_then(|p| p.last_mut()) {
                *target = number(to);
            }
        }
    }
}

fn is_jump(primitive: &Value) -> bool {
    matches!(primitive["op"].as_str(), Some("_jump" | "_jump_if_zero"))
}

/// A condition as the number that `_jump_if_zero` takes: one of type bool ends simple_switch.
fn as_number(cond: Value) -> Value {
    match cond["value"]["op"].as_str() {
        Some("d2b") => cond["value"]["right"].clone(),
        _ => unary("b2d", cond),
    }
}

impl Writer<'_> {
    /// The primitives of an action that takes these steps.
    pub(super) fn primitives(&self, steps: &[Step]) -> Write<Vec<Value>> {
        let mut made = Primitives::default();
        made.returns.push(Vec::new());
        self.put_all(steps, &mut made)?;
        let ends = made.returns.pop().unwrap_or_default();
        made.land(ends);
        made.trim();
        Ok(made.list)
    }

    fn put_all(&self, steps: &[Step], out: &mut Primitives) -> Write<()> {
        steps.iter().try_for_each(|step| self.put(step, out))
    }

    fn put(&self, step: &Step, out: &mut Primitives) -> Write<()> {
        match step {
            Step::Op(primitive) => out.list.push(primitive.clone()),
            Step::Exit => {
                out.list.push(json!({ "op": "exit", "parameters": [] }));
                // BMv2 ends the pipeline after the action, not the action.
                let jump = out.jump();
                if let Some(whole) = out.returns.first_mut() {
                    whole.push(jump);
                }
            }
            Step::If(cond, then, other, _) => {
                let past_then = out.jump_if_zero(cond.clone());
                self.put_all(then, out)?;
                if other.is_empty() {
                    out.land([past_then]);
                } else {
                    let past_other = out.jump();
                    out.land([past_then]);
                    self.put_all(other, out)?;
                    out.land([past_other]);
                }
            }
            Step::Loop {
                head,
                cond,
                body,
                step,
            } => self.put_loop([head, body, step], cond, out)?,
            Step::Scope(inner) => {
                out.returns.push(Vec::new());
                self.put_all(inner, out)?;
                let ends = out.returns.pop().unwrap_or_default();
                out.land(ends);
            }
            Step::Return | Step::Break | Step::Continue => {
                let jump = out.jump();
                let list = match step {
                    Step::Return => out.returns.last_mut(),
                    Step::Break => out.breaks.last_mut(),
                    _ => out.continues.last_mut(),
                };
                match list {
                    Some(list) => list.push(jump),
                    None => return Err(self.error("`break` or `continue` outside of a loop")),
                }
            }
            Step::Apply(table, _) => {
                let name = &self.p.tables[*table].name;
                return Err(self.error(format!("table `{name}` applied in a loop")));
            }
            Step::Parse(_) | Step::Sub(..) | Step::Emit(_) => {
                return Err(self.error("a statement that this block cannot have"));
            }
        }
        Ok(())
    }

    fn put_loop(
        &self,
        [head, body, step]: [&Vec<Step>; 3],
        cond: &Value,
        out: &mut Primitives,
    ) -> Write<()> {
        let start = out.list.len();
        self.put_all(head, out)?;
        let end = out.jump_if_zero(cond.clone());
        out.breaks.push(vec![end]);
        out.continues.push(Vec::new());
        self.put_all(body, out)?;
        let continues = out.continues.pop().unwrap_or_default();
        out.land(continues);
        self.put_all(step, out)?;
        let back = out.jump();
        out.lead([back], start);
        let ends = out.breaks.pop().unwrap_or_default();
        out.land(ends);
        Ok(())
    }

    /// Adds an action; its number.
    pub(super) fn add_action(
        &mut self,
        name: &str,
        data: Vec<Value>,
        primitives: Vec<Value>,
    ) -> usize {
        let id = self.actions.len();
        self.actions.push(json!({
            "name": name, "id": id, "runtime_data": data, "primitives": primitives,
        }));
        id
    }
}

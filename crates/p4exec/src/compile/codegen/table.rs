//! Applying a table: keys are packed and laid out on the stack, a helper finds the action, and the code of each
//! action takes its data straight from the words it found.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value, types::I64};
use p4ir::{Entity as _, MatchKind, TableId, VarId};

use crate::tables::Table;

use super::{Exits, FLAGS, Gen, Helper, field};

impl Gen<'_, '_> {
    pub(super) fn apply_table(
        &mut self,
        id: TableId,
        hit: Option<VarId>,
        action_run: Option<VarId>,
    ) {
        let program = self.unit.program;
        let table = &program.tables[id];
        self.block(&table.prologue);
        if !self.live {
            return;
        }
        let position = self.look_up(id);
        let done = self.label();
        let mut arms = Vec::new();
        for (index, _) in table.actions.iter().enumerate() {
            let arm = self.label();
            let chosen = self
                .b
                .ins()
                .icmp_imm_s(IntCC::Equal, position, index as i64);
            self.branch_if(chosen, arm);
            arms.push(arm);
        }
        // Nothing to run.
        self.store_index(action_run, 0);
        self.goto(done);
        for (index, arm) in arms.into_iter().enumerate() {
            self.bind(arm);
            self.run_action(id, index);
            self.store_index(action_run, index);
            self.goto(done);
        }
        self.bind(done);
        if let (Some(var), true) = (hit, self.live) {
            let value = self.load_ctx(field::HIT);
            self.store_word(self.unit.layout.base(var), value);
        }
    }

    fn store_index(&mut self, action_run: Option<VarId>, index: usize) {
        if let (Some(var), true) = (action_run, self.live) {
            let value = self.imm(index as i64);
            self.store_word(self.unit.layout.base(var), value);
        }
    }

    /// Looks the keys up; the place of the action to run in the table's list.
    fn look_up(&mut self, id: TableId) -> Value {
        let program = self.unit.program;
        let (mut key, mut selector) = (Vec::new(), Vec::new());
        for field in &program.tables[id].keys {
            let width = self.width(program.expr_type(field.expr));
            let value = self.eval(field.expr);
            if field.kind == MatchKind::Selector {
                selector.push((value, width));
            } else if width > 0 {
                key.extend(value.into_iter().rev());
            }
        }
        let key = self.packed(id, &key);
        let key_len = self.imm(key.len() as i64);
        let key = self.spill(&key);
        let bits: u32 = selector.iter().map(|(_, width)| width).sum();
        let joined = self.joined(&selector);
        let bytes = self.slot(joined.len());
        self.store_joined(&joined, bytes);
        let table = self.imm(id.index() as i64);
        let len = self.imm(i64::from(bits.div_ceil(8)));
        self.call_helper(Helper::Apply, &[self.ctx, table, key, key_len, bytes, len])
    }

    /// Key words moved beside each other as the table stores them.
    fn packed(&mut self, id: TableId, key: &[Value]) -> Vec<Value> {
        let control = self.unit.control;
        let Some(layout) = control.known_table(id).map(Table::layout) else {
            return Vec::new();
        };
        let mut dense: Vec<Option<Value>> = vec![None; layout.dense_words()];
        for ((word, shift), value) in layout.places().zip(key) {
            let moved = self.shl_imm(*value, shift);
            dense[word] = Some(match dense[word] {
                Some(before) => self.b.ins().bor(before, moved),
                None => moved,
            });
        }
        // Every dense word has a key word in it.
        dense.into_iter().flatten().collect()
    }

    fn run_action(&mut self, id: TableId, index: usize) {
        let program = self.unit.program;
        let bound = &program.tables[id].actions[index];
        let action = &program.actions[bound.action];
        let mut params = action.data_params().peekable();
        if params.peek().is_some() {
            let args = self.load_ctx(field::ARGS);
            let mut offset = 0;
            for param in params {
                let first = self.unit.layout.base(param.var);
                let width = self.width(program.vars[param.var].ty);
                for i in 0..width.div_ceil(64) {
                    let value = self.b.ins().load(I64, FLAGS, args, offset);
                    self.store_word(first + i, value);
                    offset += 8;
                }
            }
        }
        self.assign_all(&bound.copy_in);
        let outer = self.exits;
        let outer_loop = self.in_loop.take();
        let (done, exit) = (self.label(), self.label());
        self.exits = Exits {
            done,
            exit,
            ..outer
        };
        if self
            .unit
            .plan
            .is_outlined(p4ir::Callee::Action(bound.action))
        {
            self.call(p4ir::Callee::Action(bound.action), &[], &[]);
        } else {
            self.block(&action.body);
        }
        self.goto(done);
        self.exits = outer;
        self.in_loop = outer_loop;
        self.bind(exit);
        self.assign_all(&bound.copy_out);
        self.goto(outer.exit);
        self.bind(done);
        self.assign_all(&bound.copy_out);
    }
}

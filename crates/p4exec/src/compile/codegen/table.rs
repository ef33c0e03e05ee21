//! Applying a table: keys are packed; a table of few entries is compared with them here, through its
//! image (see [`image`](crate::compile::image)), any other by a helper that gets the keys on the
//! stack. The code of each action takes its data straight from the words that were found.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, MemFlagsData, Value, types::I64};
use cranelift_frontend::Variable;
use p4ir::{Entity as _, MatchKind, TableId, VarId};

use super::words::Words;
use super::{Cut, Exits, FLAGS, Gen, Helper, field};
use crate::compile::image;
use crate::externs::hash::HashAlgorithm;
use crate::state::ProfileState;
use crate::tables::Table;

/// An image stays as it is while code runs, so its words may be loaded where they are used.
const IMAGE: MemFlagsData = MemFlagsData::trusted().with_readonly().with_can_move();

/// Values with their widths.
type Fields = Vec<(Words, u32)>;

/// What a lookup came to.
#[derive(Clone, Copy)]
struct Found {
    /// The place of the action in the table's list.
    position: Variable,
    /// Where its data is.
    args: Variable,
    /// Whether an entry matched.
    hit: Variable,
}

/// How a group of a table's profile is picked from.
#[derive(Clone, Copy)]
enum Choice {
    /// The table has none.
    Direct,
    /// By a hash.
    Hash(HashAlgorithm),
}

impl<'p> Gen<'_, 'p> {
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
        let found = self.look_up(id);
        let position = self.b.use_var(found.position);
        self.cut_storing(Cut::Action(id), &[position]);
        let done = self.label();
        let arms: Vec<_> = table.actions.iter().map(|_| self.label()).collect();
        self.dispatch_word(position, (0..).zip(arms.iter().copied()));
        // Nothing to run.
        self.store_index(action_run, 0);
        self.goto(done);
        for (index, arm) in arms.into_iter().enumerate() {
            self.bind(arm);
            self.run_action(id, index, found.args);
            self.store_index(action_run, index);
            self.goto(done);
        }
        self.bind(done);
        if let (Some(var), true) = (hit, self.live) {
            let value = self.b.use_var(found.hit);
            self.store_word(self.unit.layout.base(var), value);
        }
    }

    fn store_index(&mut self, action_run: Option<VarId>, index: usize) {
        if let (Some(var), true) = (action_run, self.live) {
            let value = self.imm(index as i64);
            self.store_word(self.unit.layout.base(var), value);
        }
    }

    /// Looks the keys up.
    fn look_up(&mut self, id: TableId) -> Found {
        self.cut_storing(Cut::Key(id), &[]);
        let program = self.unit.program;
        let (mut key, mut selector) = (Vec::new(), Fields::new());
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
        self.cut_storing(Cut::LookUp(id), &key);
        let [position, args, hit] = [(); 3].map(|()| self.b.declare_var(I64));
        let found = Found {
            position,
            args,
            hit,
        };
        let Some(choice) = self.choice_here(id) else {
            self.look_up_outside(id, &key, &selector, found);
            return found;
        };
        let images = self.load_ctx(field::IMAGES);
        let place = id.index() as i32 * 8;
        let image = self.b.ins().load(I64, FLAGS, images, place);
        let (here, outside, done) = (self.label(), self.label(), self.label());
        self.branch(image, here, outside);
        self.bind(here);
        self.look_up_here(image, &key, (choice, &selector), found);
        self.goto(done);
        self.bind(outside);
        self.set_cold();
        self.look_up_outside(id, &key, &selector, found);
        self.goto(done);
        self.bind(done);
        found
    }

    /// Whether and how a table may be looked up by compiled code when its entries are few.
    fn choice_here(&mut self, id: TableId) -> Option<Choice> {
        let (program, control) = (self.unit.program, self.unit.control);
        let table = &program.tables[id];
        let layout = control.known_table(id)?.layout();
        let short = layout.fields().is_empty() || matches!(layout.dense_words(), 1 | 2);
        if !short || !layout.ranges().is_empty() || !table.direct.is_empty() {
            return None;
        }
        let choice = match table.implementation {
            None => Choice::Direct,
            Some(profile) => match control.profile_state(profile).ok()?.algorithm {
                HashAlgorithm::Random => return None,
                algorithm => Choice::Hash(algorithm),
            },
        };
        self.unit.looked_up.insert(id);
        Some(choice)
    }

    /// Asks a helper.
    fn look_up_outside(&mut self, id: TableId, key: &[Value], selector: &Fields, found: Found) {
        if self.unit.looks_ahead {
            self.end_ahead(Some((id, key)));
        }
        let key_len = self.imm(key.len() as i64);
        let key = self.spill(key);
        let bits: u32 = selector.iter().map(|(_, width)| width).sum();
        let joined = self.joined(selector);
        let bytes = self.slot(joined.len());
        self.store_joined(&joined, bytes);
        let table = self.imm(id.index() as i64);
        let len = self.imm(i64::from(bits.div_ceil(8)));
        let position =
            self.call_helper(Helper::Apply, &[self.ctx, table, key, key_len, bytes, len]);
        self.b.def_var(found.position, position);
        let args = self.load_ctx(field::ARGS);
        self.b.def_var(found.args, args);
        let hit = self.load_ctx(field::HIT);
        self.b.def_var(found.hit, hit);
    }

    /// Compares the key with the entries of an image.
    fn look_up_here(
        &mut self,
        image: Value,
        key: &[Value],
        (choice, selector): (Choice, &Fields),
        found: Found,
    ) {
        let miss = self.b.ins().load(I64, IMAGE, image, image::MISS);
        let best = self.b.declare_var(I64);
        self.b.def_var(best, miss);
        if !key.is_empty() {
            self.compare_all(image, key, best);
        }
        let best = self.b.use_var(best);
        let hit = self.b.ins().icmp(IntCC::NotEqual, best, miss);
        let hit = self.b.ins().uextend(I64, hit);
        self.b.def_var(found.hit, hit);
        let mut row = self.b.ins().iadd(image, best);
        if let Choice::Hash(algorithm) = choice {
            let hash = self.hash_of(algorithm, selector);
            let hash = self.and_imm(hash, ProfileState::cut(u64::MAX));
            row = self.pick(image, row, hash);
        }
        let position = self.b.ins().load(I64, IMAGE, row, 0);
        self.b.def_var(found.position, position);
        let args = self.b.ins().iadd_imm_s(row, 8);
        self.b.def_var(found.args, args);
    }

    /// Sets `best` to what the last entry of an image that matches comes to. No branch depends on the key.
    fn compare_all(&mut self, image: Value, key: &[Value], best: Variable) {
        let end = self.b.ins().load(I64, IMAGE, image, image::END);
        let end = self.b.ins().iadd(image, end);
        let at = self.b.declare_var(I64);
        let first = self.b.ins().iadd_imm_s(image, image::ENTRIES as i64);
        self.b.def_var(at, first);
        let [head, body, done] = [(); 3].map(|()| self.b.create_block());
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let entry = self.b.use_var(at);
        let over = self.b.ins().icmp(IntCC::Equal, entry, end);
        self.b.ins().brif(over, done, &[], body, &[]);
        self.b.switch_to_block(body);
        let words = key.len();
        let stride = (2 * words + 1) * 8;
        let mut target = self.b.use_var(best);
        for nth in 0..image::UNROLLED {
            let word = |index: usize| (nth * stride + index * 8) as i32;
            let (mut masked, mut values) = (Vec::new(), Vec::new());
            for (i, key) in key.iter().enumerate() {
                let mask = self.b.ins().load(I64, IMAGE, entry, word(i));
                masked.push(self.b.ins().band(*key, mask));
                values.push(self.b.ins().load(I64, IMAGE, entry, word(words + i)));
            }
            let same = self.equal(&masked, &values);
            let own = self.b.ins().load(I64, IMAGE, entry, word(2 * words));
            target = self.b.ins().select(same, own, target);
        }
        self.b.def_var(best, target);
        let next = self
            .b
            .ins()
            .iadd_imm_s(entry, (image::UNROLLED * stride) as i64);
        self.b.def_var(at, next);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(done);
    }

    /// The row of the place that a hash of at most 32 bits picks: the hash modulo the number of places,
    /// by two multiplications (Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019).
    fn pick(&mut self, image: Value, places: Value, hash: Value) -> Value {
        const {
            assert!(
                ProfileState::HASH_BITS <= 32,
                "the two multiplications are exact up to 32"
            )
        };
        let count = self.b.ins().load(I64, IMAGE, places, 0);
        let inverse = self.b.ins().load(I64, IMAGE, places, 8);
        let fraction = self.b.ins().imul(inverse, hash);
        let place = self.b.ins().umulhi(fraction, count);
        let offset = self.shl_imm(place, 3);
        let at = self.b.ins().iadd(places, offset);
        let row = self.b.ins().load(I64, IMAGE, at, 16);
        self.b.ins().iadd(image, row)
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

    fn run_action(&mut self, id: TableId, index: usize, args: Variable) {
        let program = self.unit.program;
        let bound = &program.tables[id].actions[index];
        let action = &program.actions[bound.action];
        let mut params = action.data_params().peekable();
        if params.peek().is_some() {
            let args = self.b.use_var(args);
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
        self.block(&bound.copy_out);
        self.goto(outer.exit);
        self.bind(done);
        self.block(&bound.copy_out);
    }
}

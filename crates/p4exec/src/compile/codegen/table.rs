//! Applying a table: keys are packed; a table of few entries is compared with them here, through
//! its image (see [`image`](crate::compile::image)), any other by a helper that gets the keys on
//! the stack. The code of each action takes its data straight from the words that were found.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder as _, MemFlagsData, Value,
    types::{I32, I32X4, I64},
};
use cranelift_frontend::Variable;
use p4ir::{Entity as _, KeyKind, TableId, VarId};

use super::words::Words;
use super::{CONSTANT, Cut, Exits, FLAGS, Gen, Helper, Label, field};
use crate::compile::answers::{Answer, Place, is_plain, is_short};
use crate::compile::image::{self, Addresses, Shape};
use crate::compile::memo::{FACTORS, LINES};
use crate::externs::hash::HashAlgorithm;
use crate::state::ProfileState;
use crate::tables::layout::low_ones;
use crate::tables::{KeyLayout, Table};

/// Of an image, which stays as it is while code runs. It is read where that is written, and not
/// before the loop over packets: a table may have none.
const IMAGE: MemFlagsData = FLAGS.with_readonly();

/// Of columns in an image, whose vectors do not lie at multiples of their length.
const VECTOR: MemFlagsData = MemFlagsData::new().with_notrap().with_readonly();

/// Values with their widths.
type Fields = Vec<(Words, u32)>;

/// What a lookup came to.
#[derive(Clone, Copy)]
struct Found {
    /// The place of the action in the table's list.
    position: Variable,
    /// Where its data is.
    args: Variable,
    /// Whether an entry matched, if somebody asks.
    hit: Option<Variable>,
}

/// How a group of a table's profile is picked from.
#[derive(Clone, Copy)]
enum Choice {
    /// The table has none.
    Direct,
    /// By a hash.
    Hash(HashAlgorithm),
}

/// A key as it is compared with four entries at once: one to a lane, so that no branch depends on
/// the key.
struct Columns {
    /// By column: its 32 bits of the key.
    narrow: Vec<Value>,
    /// By column: the same four times.
    keys: Vec<Value>,
    /// Whether entries have masks.
    masked: bool,
}

impl Columns {
    fn of(generator: &mut Gen<'_, '_>, key: &[Value], layout: &KeyLayout) -> Self {
        let columns = image::columns(layout).into_iter().map(|(word, up)| {
            let bits = generator.shr_imm(key[word], up);
            generator.b.ins().ireduce(I32, bits)
        });
        let narrow: Vec<Value> = columns.collect();
        let splat = |bits: &Value| generator.b.ins().splat(I32X4, *bits);
        Self {
            keys: narrow.iter().map(splat).collect(),
            narrow,
            masked: image::is_masked(layout),
        }
    }
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
        let found = self.look_up(id, hit.is_some());
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
        if let (Some(var), Some(hit), true) = (hit, found.hit, self.live) {
            let value = self.b.use_var(hit);
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
    fn look_up(&mut self, id: TableId, says_hit: bool) -> Found {
        self.cut_storing(Cut::Key(id), &[]);
        let program = self.unit.program;
        let (mut key, mut selector) = (Vec::new(), Fields::new());
        for field in &program.tables[id].keys {
            let width = self.width(program.expr_type(field.expr));
            let value = self.eval(field.expr);
            if field.kind == KeyKind::Selector {
                selector.push((value, width));
            } else if width > 0 {
                key.extend(value.into_iter().rev());
            }
        }
        let key = self.packed(id, &key);
        self.cut_storing(Cut::LookUp(id), &key);
        let found = Found {
            position: self.b.declare_var(I64),
            args: self.b.declare_var(I64),
            hit: says_hit.then(|| self.b.declare_var(I64)),
        };
        let done = self.label();
        let Some(choice) = self.choice_here(id) else {
            self.look_up_answer(id, &key, found, done);
            self.look_up_outside(id, &key, &selector, found);
            self.goto(done);
            self.bind(done);
            return found;
        };
        let outside = self.look_up_here(id, &key, (choice, &selector), found);
        self.goto(done);
        self.bind(outside);
        self.set_cold();
        self.look_up_answer(id, &key, found, done);
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
                HashAlgorithm::Random | HashAlgorithm::Crc(_) => return None,
                algorithm => Choice::Hash(algorithm),
            },
        };
        self.unit.looked_up.insert(id);
        Some(choice)
    }

    /// Finds the answer to the same key from before, if the table keeps answers; else the code goes
    /// `on` after it was found.
    fn look_up_answer(&mut self, id: TableId, key: &[Value], found: Found, on: Label) {
        let table = &self.unit.program.tables[id];
        if !is_plain(table) || !is_short(key.len()) || self.unit.looks_ahead {
            return;
        }
        let places = self.load_ctx(field::ANSWERS);
        let at = id.index() * size_of::<Place>();
        let place =
            |g: &mut Self, field: usize| g.b.ins().load(I64, CONSTANT, places, (at + field) as i32);
        let lines = place(self, offset_of!(Place, lines));
        let epoch = place(self, offset_of!(Place, epoch));
        let none = self.label();
        self.branch_unless(lines, none);
        let mut sum = self.imm(0);
        for (word, factor) in key.iter().zip(FACTORS) {
            let high = self.shr_imm(*word, 32);
            let folded = self.b.ins().bxor(*word, high);
            let factor = self.imm_u(factor);
            let product = self.b.ins().imul(folded, factor);
            sum = self.b.ins().iadd(sum, product);
        }
        let (count, bytes) = (LINES.trailing_zeros(), size_of::<Answer>().trailing_zeros());
        let mask = (LINES as u64 - 1) << bytes;
        let offset = self.moved(sum, (count + bytes) as i32 - 64, mask);
        let line = self.b.ins().iadd(lines, offset);
        let of_line = |g: &mut Self, field: usize| g.b.ins().load(I64, FLAGS, line, field as i32);
        let known = of_line(self, offset_of!(Answer, epoch));
        let mut differences = self.b.ins().bxor(known, epoch);
        for (i, word) in key.iter().enumerate() {
            let known = of_line(self, offset_of!(Answer, key) + i * size_of::<u64>());
            let difference = self.b.ins().bxor(known, *word);
            differences = self.b.ins().bor(differences, difference);
        }
        let same = self.label();
        self.branch(differences, none, same);
        self.bind(same);
        for (variable, field) in [
            (Some(found.position), offset_of!(Answer, position)),
            (Some(found.args), offset_of!(Answer, args)),
            (found.hit, offset_of!(Answer, hit)),
        ] {
            if let Some(variable) = variable {
                let value = of_line(self, field);
                self.b.def_var(variable, value);
            }
        }
        self.goto(on);
        self.bind(none);
        self.set_cold();
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
        if let Some(variable) = found.hit {
            let hit = self.load_ctx(field::HIT);
            self.b.def_var(variable, hit);
        }
    }

    /// Looks the key up in the table's image. The label is that of tables without one.
    fn look_up_here(
        &mut self,
        id: TableId,
        key: &[Value],
        (choice, selector): (Choice, &Fields),
        found: Found,
    ) -> Label {
        let outside = self.label();
        let control = self.unit.control;
        let Some(table) = control.known_table(id) else {
            return outside;
        };
        let shape = Shape::of(table);
        let (image, nth) = if key.is_empty() {
            let image = self.image_of(id, offset_of!(Addresses, any));
            let on = self.label();
            self.branch_on_address(image, on, outside);
            self.bind(on);
            (image, self.imm(0))
        } else {
            self.entry_of(id, key, table.layout(), choice, outside)
        };
        if let Some(variable) = found.hit {
            let hit = self.said(image, nth, 1, image::HITS);
            self.b.def_var(variable, hit);
        }
        let (position, args) = match choice {
            Choice::Direct => {
                let position = self.said(image, nth, 1, shape.said);
                let row = self.nth_of(image, nth, shape.row_words);
                (position, self.b.ins().iadd_imm_s(row, shape.rows as i64))
            }
            Choice::Hash(algorithm) => {
                let hash = self.hash_of(algorithm, selector);
                let hash = self.and_imm(hash, ProfileState::cut(u64::MAX));
                let row = self.pick(image, nth, shape, hash);
                let position = self.b.ins().load(I64, IMAGE, row, 0);
                (position, self.b.ins().iadd_imm_s(row, 8))
            }
        };
        self.b.def_var(found.position, position);
        self.b.def_var(found.args, args);
        outside
    }

    /// What an image says of an entry at some offset, where it says some words (a power of two) of
    /// each.
    fn said(&mut self, image: Value, nth: Value, words: usize, offset: usize) -> Value {
        let at = self.nth_of(image, nth, words);
        self.b.ins().load(I64, IMAGE, at, offset as i32)
    }

    /// Where one of several parts is that have some words (a power of two) each, less where they
    /// begin.
    fn nth_of(&mut self, from: Value, nth: Value, words: usize) -> Value {
        let offset = self.shl_imm(nth, words.trailing_zeros() + 3);
        self.b.ins().iadd(from, offset)
    }

    /// Goes to one place if there is an address, to another if there is none.
    fn branch_on_address(&mut self, address: Value, some: Label, none: Label) {
        // None begins at 1. A test for zero would name the value twice, and load it twice where it
        // was stored on the stack.
        let is_some = self
            .b
            .ins()
            .icmp_imm_s(IntCC::UnsignedGreaterThan, address, 1);
        self.branch(is_some, some, none);
    }

    /// One of the addresses of a table's image.
    fn image_of(&mut self, id: TableId, which: usize) -> Value {
        let images = self.load_ctx(field::IMAGES);
        let at = id.index() * size_of::<Addresses>() + which;
        self.b.ins().load(I64, CONSTANT, images, at as i32)
    }

    /// The image of a table, and the number of the first entry in it that matches, or of one behind
    /// the last. Tables without an image go `outside`.
    fn entry_of(
        &mut self,
        id: TableId,
        key: &[Value],
        layout: &KeyLayout,
        choice: Choice,
        outside: Label,
    ) -> (Value, Value) {
        const {
            assert!(image::MOST == 4 * image::FEW, "four vectors hold all");
        };
        let columns = Columns::of(self, key, layout);
        let [image, place] = [(); 2].map(|()| self.b.declare_var(I64));
        let [short, long, many, done] = [(); 4].map(|()| self.label());
        if matches!(choice, Choice::Hash(_)) {
            self.look_at_one(id, &columns, (image, place), done);
        }
        let few = self.image_of(id, offset_of!(Addresses, few));
        self.branch_on_address(few, short, long);
        self.bind(short);
        let same = self.lanes(few, &columns, 0);
        self.set_first(place, same, image::FEW);
        self.b.def_var(image, few);
        self.goto(done);
        self.bind(long);
        self.set_cold();
        let any = self.image_of(id, offset_of!(Addresses, any));
        self.branch_on_address(any, many, outside);
        self.bind(many);
        self.set_cold();
        let [a, b, c, d] = [0, 1, 2, 3].map(|nth| self.lanes(any, &columns, nth));
        let (low, high) = (self.b.ins().snarrow(a, b), self.b.ins().snarrow(c, d));
        let same = self.b.ins().snarrow(low, high);
        self.set_first(place, same, image::MOST);
        self.b.def_var(image, any);
        self.goto(done);
        self.bind(done);
        let (image, place) = (self.b.use_var(image), self.b.use_var(place));
        self.note_possible(place, low_ones(usize::BITS - image::MOST.leading_zeros()));
        (image, place)
    }

    /// Finds the number of the entry if the table has one, and the code goes `on` then.
    ///
    /// Tables of members often have one group, which every packet has the key of. What is picked
    /// from it need not wait for the comparison then, as a processor guesses how that branch goes.
    fn look_at_one(
        &mut self,
        id: TableId,
        columns: &Columns,
        (image, place): (Variable, Variable),
        on: Label,
    ) {
        let [single, others, hit, miss] = [(); 4].map(|()| self.label());
        let one = self.image_of(id, offset_of!(Addresses, one));
        self.branch_on_address(one, single, others);
        self.bind(single);
        let mut differences = None;
        for (key, value) in self.beside(one, &columns.narrow, columns.masked, 0) {
            let difference = self.b.ins().bxor(key, value);
            differences = Some(match differences {
                Some(others) => self.b.ins().bor(others, difference),
                None => difference,
            });
        }
        self.b.def_var(image, one);
        let Some(differences) = differences else {
            return self.goto(others);
        };
        self.branch(differences, miss, hit);
        for (label, nth) in [(hit, 0), (miss, image::MOST)] {
            self.bind(label);
            let nth = self.imm(nth as i64);
            self.b.def_var(place, nth);
            self.goto(on);
        }
        self.bind(others);
    }

    /// Which of four entries match: lanes of ones and of zeroes.
    fn lanes(&mut self, image: Value, columns: &Columns, nth: usize) -> Value {
        let mut all = None;
        for (key, value) in self.beside(image, &columns.keys, columns.masked, nth) {
            let same = self.b.ins().icmp(IntCC::Equal, key, value);
            all = Some(match all {
                Some(others) => self.b.ins().band(others, same),
                None => same,
            });
        }
        // A key has a column.
        all.unwrap_or_else(|| {
            self.b
                .ins()
                .load(I32X4, VECTOR, image, image::COLUMNS as i32)
        })
    }

    /// By column: the key, less what the entries' masks leave out, and what the entries have there:
    /// of as many as a value of a key has 32 bits of, from the `nth` four on.
    fn beside(
        &mut self,
        image: Value,
        keys: &[Value],
        masked: bool,
        nth: usize,
    ) -> Vec<(Value, Value)> {
        let mut at = image::COLUMNS + nth * image::FEW * size_of::<u32>();
        let mut pairs = Vec::with_capacity(keys.len());
        for key in keys {
            let ty = self.b.func.dfg.value_type(*key);
            let mut load = |g: &mut Self| {
                let bits = g.b.ins().load(ty, VECTOR, image, at as i32);
                at += image::LANES;
                bits
            };
            let key = match masked.then(|| load(self)) {
                Some(mask) => self.b.ins().band(*key, mask),
                None => *key,
            };
            let value = load(self);
            pairs.push((key, value));
        }
        pairs
    }

    /// Sets a variable to the first lane that is ones; to their number if none is.
    fn set_first(&mut self, place: Variable, lanes: Value, count: usize) {
        let bits = self.b.ins().vhigh_bits(I64, lanes);
        let end = self.imm(1 << count);
        let bits = self.b.ins().bor(bits, end);
        let first = self.b.ins().ctz(bits);
        self.b.def_var(place, first);
    }

    /// The row of the place that a hash of at most 32 bits picks: the hash modulo the number of
    /// places, by a mask if that is a power of two, else by two multiplications (Lemire, Kaser,
    /// Kurz, "Faster remainder by direct computation", 2019).
    fn pick(&mut self, image: Value, nth: Value, shape: Shape, hash: Value) -> Value {
        const {
            assert!(
                ProfileState::HASH_BITS <= 32,
                "the two multiplications are exact up to 32"
            )
        };
        let said = |g: &mut Self, field| g.said(image, nth, image::CHOICE, shape.said + field);
        let first = said(self, offset_of!(image::Choice, rows));
        let rows = self.b.ins().iadd(image, first);
        let place = self.b.declare_var(I64);
        let [power, any, done] = [(); 3].map(|()| self.label());
        let mask = said(self, offset_of!(image::Choice, mask));
        // Its sign tells.
        const { assert!(image::ANY_COUNT >> 63 == 1) };
        let is_any = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, mask, 0);
        self.branch(is_any, any, power);
        self.bind(power);
        let low = self.b.ins().band(hash, mask);
        self.b.def_var(place, low);
        self.goto(done);
        self.bind(any);
        let count = said(self, offset_of!(image::Choice, count));
        let inverse = said(self, offset_of!(image::Choice, inverse));
        let fraction = self.b.ins().imul(inverse, hash);
        let remainder = self.b.ins().umulhi(fraction, count);
        self.b.def_var(place, remainder);
        self.goto(done);
        self.bind(done);
        let place = self.b.use_var(place);
        self.note_possible(place, u64::from(u32::MAX));
        self.nth_of(rows, place, shape.row_words)
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
                Some(before) => self.or(before, moved),
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
                    // Entries hold what fits the parameter.
                    self.note_possible(value, low_ones(width - 64 * i));
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

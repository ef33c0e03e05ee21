//! Writes a program as Cranelift IR: one function per block of the pipeline, one of all blocks
//! (`whole.rs`), one per callable that is too large to be copied to its callers, and one per piece
//! of a block that is too large for one function.
//!
//! Everything is stored through to the frame at once, so helpers and other functions find it there;
//! but a function remembers which value each word of the frame holds ([`Gen::cache`]), so that it
//! loads what it stored only where control flow joins with different values.

mod ahead;
mod context;
mod emit;
mod expr;
mod externs;
mod joined;
mod known;
mod packet;
mod parser;
mod place;
mod registers;
mod stmt;
mod table;
mod ways;
mod whole;
mod words;

use std::collections::{BTreeSet, HashMap};

use cranelift_codegen::cursor::{Cursor as _, FuncCursor};
use cranelift_codegen::ir::{
    self, AbiParam, InstBuilder as _, MemFlagsData, Signature, StackSlotData, StackSlotKind, Value,
    types::I64,
};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::{Context, control::ControlPlane};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use p4ir::{Callee, ControlId, ExternType, TableId, ValidProgram};

use super::frame::FrameLayout;
use super::jit::{Helper, field};
use super::object::{self, Effort, FUNCTIONS, Function, Object, SYMBOLS, Symbol, broken};
use super::plan::{Outlined, PartKey, Plan};
use super::site::Site;
use crate::info::ProgramInfo;
use crate::limits::{MAX_INSTRUCTIONS, MAX_STACK_BYTES};
use crate::state::{BuildError, ControlState};
use crate::v1model::V1ModelInfo;
use registers::Registers;
use ways::Rejections;

/// What a function may do with the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Parser,
    Control,
    /// A control that writes the packet.
    Deparser,
}

/// Blocks of a function beyond which its code is made with little effort. Generated programs have
/// some hundred.
const MANY_BLOCKS: usize = 8192;

/// What is common to all functions of a program.
struct Unit<'p> {
    program: &'p ValidProgram,
    /// How tables pack their keys.
    control: &'p ControlState,
    info: &'p ProgramInfo,
    layout: &'p FrameLayout,
    plan: Plan,
    sites: Vec<Site>,
    isa: OwnedTargetIsa,
    /// What was compiled, by number; `None` while it is not yet.
    compiled: Vec<Option<Function>>,
    /// What the code refers to.
    symbols: Vec<Symbol>,
    /// Functions of parts, and those among them not written yet.
    functions: HashMap<(PartKey, Kind), u32>,
    waiting: Vec<(Outlined<'p>, Kind, u32)>,
    /// Instructions of Cranelift's IR written so far.
    instructions: usize,
    /// Bytes of stack of each function, and what it calls.
    stack: HashMap<u32, Stack>,
    /// The function that is being written.
    writing: Option<u32>,
    /// Places so far that ask the switch for a clone or the like.
    requests: usize,
    /// Whether there are loops, or states that come back, which count their rounds.
    spends_rounds: bool,
    /// Tables that compiled code looks up by itself while their entries are few.
    looked_up: BTreeSet<TableId>,
    /// Where packets end early, and the label of that end in the function of all blocks.
    cut: Option<Cut>,
    cut_end: Option<Label>,
    /// The function that looks ahead is written (`ahead.rs`).
    looks_ahead: bool,
    /// What was written, if somebody wants to read it.
    listing: Option<&'p mut Vec<Listing>>,
}

/// A place in a program where packets end, and nothing becomes of them: what comes before it costs
/// the time that they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before the parser.
    Start,
    /// Behind the parser.
    Parsed,
    /// Where the key of a table is made.
    Key(TableId),
    /// Where it is looked up.
    LookUp(TableId),
    /// Where the action of a table is run.
    Action(TableId),
    /// Behind ingress.
    Ingress,
    /// Behind egress.
    Egress,
}

/// A function as it was written.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The block of the pipeline, or the callable.
    pub name: String,
    /// Cranelift IR.
    pub ir: String,
    /// What became of it, in the notation of Cranelift's own assembler.
    pub assembly: String,
}

/// Compiles a program.
pub(super) fn compile<'p>(
    control: &'p ControlState,
    info: &'p ProgramInfo,
    layout: &'p FrameLayout,
    listing: Option<&'p mut Vec<Listing>>,
    cut: Option<Cut>,
) -> Result<Object, BuildError> {
    let program = &**control.program();
    let mut unit = Unit {
        program,
        control,
        info,
        layout,
        plan: Plan::new(program, info, layout),
        sites: Vec::new(),
        isa: object::isa(Effort::Usual)?,
        compiled: Vec::new(),
        symbols: Vec::new(),
        functions: HashMap::new(),
        waiting: Vec::new(),
        instructions: 0,
        stack: HashMap::new(),
        writing: None,
        requests: 0,
        spends_rounds: false,
        looked_up: BTreeSet::new(),
        cut,
        cut_end: None,
        looks_ahead: false,
        listing,
    };
    let mut context = FunctionBuilderContext::new();
    let (blocks, in_one) = unit.blocks(&mut context)?;
    let clears = in_one.is_some() && unit.in_registers();
    let whole = if let Some(info) = in_one {
        let id = unit.declare();
        unit.define(&mut context, "whole", id, Kind::Parser, |generator| {
            generator.whole(info);
        })?;
        unit.define_waiting(&mut context)?;
        Some(id)
    } else {
        None
    };
    let ahead = match in_one {
        Some(info) if clears && cut.is_none() && unit.may_look_ahead() => {
            Some(unit.look_ahead(&mut context, info)?)
        }
        _ => None,
    };
    let mut known = HashMap::new();
    for id in blocks.iter().copied().chain(whole).chain(ahead) {
        let need = stack_bytes(id, &unit.stack, &mut known);
        if need > MAX_STACK_BYTES {
            return Err(BuildError::StackBytes { need });
        }
    }
    let functions: Option<Vec<Function>> = unit.compiled.into_iter().collect();
    let functions = functions.ok_or_else(|| broken("a function was never written"))?;
    Ok(Object {
        blocks,
        whole,
        clears,
        ahead,
        sites: unit.sites,
        out_room: unit.plan.out_room,
        looked_up: unit.looked_up.into_iter().collect(),
        ..Object::new(functions, unit.symbols)
    })
}

/// What a function takes on the stack.
#[derive(Debug, Default)]
struct Stack {
    own: u64,
    calls: BTreeSet<u32>,
}

/// Bytes of stack of a function with the deepest of what it calls. Functions do not call
/// themselves, and calls are no deeper than [`p4ir::limits::Limit::Depth`].
fn stack_bytes(id: u32, all: &HashMap<u32, Stack>, known: &mut HashMap<u32, u64>) -> u64 {
    if let Some(bytes) = known.get(&id) {
        return *bytes;
    }
    let Some(stack) = all.get(&id) else {
        return 0;
    };
    let calls = stack.calls.iter();
    let deepest = calls.map(|id| stack_bytes(*id, all, known)).max();
    let bytes = stack.own + deepest.unwrap_or(0);
    known.insert(id, bytes);
    bytes
}

impl<'p> Unit<'p> {
    /// So many words in, one out: the signature of all functions and helpers.
    fn signature(&self, params: usize) -> Signature {
        let mut signature = Signature::new(self.isa.default_call_conv());
        signature.params = vec![AbiParam::new(I64); params];
        signature.returns = vec![AbiParam::new(I64)];
        signature
    }

    /// The number of a function to be defined.
    fn declare(&mut self) -> u32 {
        self.compiled.push(None);
        self.compiled.len() as u32 - 1
    }

    /// The number of a symbol.
    fn symbol(&mut self, symbol: Symbol) -> u32 {
        let known = self.symbols.iter().position(|known| *known == symbol);
        let number = known.unwrap_or_else(|| {
            self.symbols.push(symbol);
            self.symbols.len() - 1
        });
        number as u32
    }

    /// Writes the blocks in the order of [`BlockKind`](crate::compile::jit::BlockKind). Returns the
    /// metadata if they may also be written as one: they are v1model's, packets are read and
    /// written in whole bytes, only ingress and egress ask the switch for anything, and no block
    /// reads what a direct meter said in another.
    fn blocks(
        &mut self,
        context: &mut FunctionBuilderContext,
    ) -> Result<(Vec<u32>, Option<&'p V1ModelInfo>), BuildError> {
        let blocks = &self.info.blocks;
        let controls = |ids: &[ControlId]| -> Vec<Callee> {
            ids.iter().copied().map(Callee::Control).collect()
        };
        let parser = |id| vec![Callee::Parser(id)];
        let mut tops: Vec<(&str, Kind, Vec<Callee>)> = vec![
            ("parser", Kind::Parser, parser(blocks.parser)),
            ("ingress", Kind::Control, controls(&blocks.ingress)),
            ("egress", Kind::Control, controls(&blocks.egress)),
            ("deparser", Kind::Deparser, controls(&blocks.deparser)),
        ];
        if let Some((deparser, egress_parser)) = blocks.between {
            tops.push(("ingress deparser", Kind::Deparser, controls(&[deparser])));
            tops.push(("egress parser", Kind::Parser, parser(egress_parser)));
        }
        let mut in_one = self.plan.whole_bytes
            && self.plan.out_room.is_some()
            && !self
                .program
                .externs
                .values()
                .any(|object| object.ty == ExternType::DirectMeter);
        let mut ids = Vec::new();
        for (name, kind, callees) in tops {
            let id = self.declare();
            let asked = self.requests;
            self.define(context, name, id, kind, |generator| generator.top(&callees))?;
            self.define_waiting(context)?;
            in_one &= kind == Kind::Control || self.requests == asked;
            ids.push(id);
        }
        let in_one = self.info.v1model().filter(|_| in_one);
        Ok((ids, in_one))
    }

    /// Writes the functions of parts that others call.
    fn define_waiting(&mut self, context: &mut FunctionBuilderContext) -> Result<(), BuildError> {
        while let Some((part, kind, id)) = self.waiting.pop() {
            let name = match part {
                Outlined::Callable(callee) => format!("{callee:?}"),
                Outlined::Piece(stmts) => format!("{} statements", stmts.len()),
                Outlined::Cases(_, cases) => format!("{} cases", cases.len()),
            };
            self.define(context, &name, id, kind, |generator| {
                generator.separate(part)
            })?;
        }
        Ok(())
    }

    /// The function of a part, to be written later if it is new.
    fn function(&mut self, part: Outlined<'p>, kind: Kind) -> u32 {
        let key = (part.key(), kind);
        let id = match self.functions.get(&key) {
            Some(id) => *id,
            None => {
                let id = self.declare();
                self.functions.insert(key, id);
                self.waiting.push((part, kind, id));
                id
            }
        };
        if let Some(writing) = self.writing {
            self.stack.entry(writing).or_default().calls.insert(id);
        }
        id
    }

    /// Whether the words of the frame are variables in the function of all blocks: nothing of it
    /// has a function of its own, which would need them in memory.
    fn in_registers(&self) -> bool {
        self.functions.is_empty() && self.layout.words <= registers::MANY_WORDS as usize
    }

    /// Whether there is room for a function that has so many instructions.
    fn has_room(&self, instructions: usize) -> bool {
        self.instructions + instructions <= MAX_INSTRUCTIONS
    }

    fn define(
        &mut self,
        context: &mut FunctionBuilderContext,
        name: &str,
        id: u32,
        kind: Kind,
        body: impl FnOnce(&mut Gen<'_, 'p>),
    ) -> Result<(), BuildError> {
        self.writing = Some(id);
        let mut function = Context::new();
        function.func.signature = self.signature(2);
        let target = self.isa.frontend_config();
        let builder = FunctionBuilder::new(&mut function.func, context);
        let mut generator = Gen::new(self, builder, kind);
        body(&mut generator);
        if generator.idle {
            generator.b.ins().trap(stmt::NEVER);
        }
        generator.b.seal_all_blocks();
        let written = generator.b.func.dfg.num_insts();
        let long = generator.b.func.dfg.num_blocks() > MANY_BLOCKS;
        generator.b.finalize(target);
        if !self.has_room(written) {
            return Err(BuildError::CodeSize {
                need: self.instructions + written,
            });
        }
        self.instructions += written;
        let ir = self.listing.as_ref().map(|_| function.func.to_string());
        function.set_disasm(self.listing.is_some());
        let quick = long.then(|| object::isa(Effort::Little)).transpose()?;
        function
            .compile(
                &**quick.as_ref().unwrap_or(&self.isa),
                &mut ControlPlane::default(),
            )
            .map_err(|e| broken(e.inner))?;
        self.compiled[id as usize] = Some(Function::new(&function)?);
        let frame = function
            .compiled_code()
            .and_then(|c| c.buffer.frame_layout());
        // The return address and the caller's frame pointer come on top.
        let own = frame.map_or(0, |frame| u64::from(frame.frame_to_fp_offset)) + 16;
        self.stack.entry(id).or_default().own = own;
        if let (Some(listing), Some(ir)) = (&mut self.listing, ir) {
            let assembly = function.compiled_code().and_then(|code| code.vcode.clone());
            listing.push(Listing {
                name: name.to_owned(),
                ir,
                assembly: assembly.unwrap_or_default(),
            });
        }
        Ok(())
    }
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label(usize);

/// What is known of a place to jump to.
#[derive(Debug, Default)]
struct Target {
    /// Made by the first jump.
    block: Option<ir::Block>,
    /// What all jumps so far agree on.
    cache: HashMap<u32, Value>,
    /// Jumps from below will come, so nothing may be agreed on.
    backward: bool,
}

/// Where control goes that does not go on.
#[derive(Clone, Copy, Debug)]
struct Exits {
    /// `return`.
    done: Label,
    exit: Label,
    /// Rejection; the error is in [`Gen::error`].
    reject: Label,
    abort: Label,
}

/// What functions of parts return: 0 to go on, these, or [`REJECTED`] plus the error. A callable
/// does not return [`RETURNED`] or leave its caller's loop.
const EXITED: i64 = 1;
const ABORTED: i64 = 2;
const RETURNED: i64 = 3;
const BROKEN: i64 = 4;
const CONTINUED: i64 = 5;
const REJECTED: i64 = 6;

/// A packet of a batch, in the function of all blocks.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    at: Value,
    length: Value,
    port: Value,
    /// Where the parser ended, once it did.
    parsed: Option<Value>,
}

/// Writes one function.
struct Gen<'u, 'p> {
    unit: &'u mut Unit<'p>,
    b: FunctionBuilder<'u>,
    kind: Kind,
    entry: ir::Block,
    ctx: Value,
    frame: Value,
    /// What words of the frame hold; and the last sum of [`SUM`].
    cache: HashMap<u32, Value>,
    /// Sums that Internet checksums were made of, and what was added.
    sums: HashMap<Value, Vec<externs::Part>>,
    /// Words of the frame as variables, if they are.
    registers: Option<Registers>,
    /// Where packets go that the parser rejects, if that is told apart.
    rejections: Option<Rejections>,
    /// Fields of the packet and where they were cut out.
    origins: HashMap<Value, packet::Origin>,
    /// The bits that values may have set which were loaded from where more would not fit.
    narrow: HashMap<Value, u64>,
    /// Whether the code that follows can be reached.
    live: bool,
    /// Whether it goes to a block that nothing jumps to.
    idle: bool,
    targets: Vec<Target>,
    exits: Exits,
    /// `break` and `continue` of the innermost loop.
    in_loop: Option<(Label, Label)>,
    consts: HashMap<i64, Value>,
    /// Words loaded whose use may still be put off.
    loads: usize,
    /// The function's own memory on the stack.
    slots: Slots,
    /// Functions that this one calls, by namespace and number.
    imported: HashMap<(u32, u32), ir::FuncRef>,
    /// Where the parser stands, or where the deparser writes: a pointer.
    position: Variable,
    /// In the function of all blocks: the packet under way.
    arrived: Option<Arrived>,
    /// Behind the packet.
    end: Option<Value>,
    /// The parser's error, set before a jump to `reject`.
    error: Variable,
}

/// The memory that a function has on the stack: one slot, so that a loop's head computes one
/// address and others are sums with it, made where they are used. Nobody reads the first word.
struct Slots {
    slot: ir::StackSlot,
    address: Value,
    words: usize,
}

/// Where [`Gen::cache`] has the last sum of an Internet checksum: behind all frames.
const SUM: u32 = u32::MAX;

const FLAGS: MemFlagsData = MemFlagsData::trusted();

/// Of memory that stays as it is while code runs: it may be loaded where it is used.
const CONSTANT: MemFlagsData = FLAGS.with_readonly().with_can_move();

impl<'u, 'p> Gen<'u, 'p> {
    /// Whether more may be written. If not, what is written is thrown away.
    fn has_room(&self) -> bool {
        self.unit.has_room(self.b.func.dfg.num_insts())
    }

    fn new(unit: &'u mut Unit<'p>, mut b: FunctionBuilder<'u>, kind: Kind) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let (ctx, frame) = (b.block_params(entry)[0], b.block_params(entry)[1]);
        let position = b.declare_var(I64);
        let error = b.declare_var(I64);
        let zero = b.ins().iconst(I64, 0);
        b.def_var(error, zero);
        b.def_var(position, zero);
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = b.create_sized_stack_slot(data);
        let slots = Slots {
            slot,
            address: b.ins().stack_addr(I64, slot, 0),
            words: 1,
        };
        let nowhere = Label(0);
        let mut generator = Self {
            unit,
            b,
            kind,
            entry,
            ctx,
            frame,
            cache: HashMap::new(),
            sums: HashMap::new(),
            registers: None,
            rejections: None,
            origins: HashMap::new(),
            narrow: HashMap::new(),
            live: true,
            idle: false,
            targets: Vec::new(),
            exits: Exits {
                done: nowhere,
                exit: nowhere,
                reject: nowhere,
                abort: nowhere,
            },
            in_loop: None,
            consts: HashMap::new(),
            loads: 0,
            slots,
            imported: HashMap::new(),
            position,
            arrived: None,
            end: None,
            error,
        };
        if generator.reads_bytes() {
            generator.find_end();
        }
        generator.load_position();
        generator
    }

    /// A block of the pipeline: its callables one after the other. Exits end one, aborts all.
    fn top(&mut self, callees: &[Callee]) {
        let abort = self.label();
        // A parser that aborts ends like one that accepts.
        let stop = (self.kind != Kind::Parser).then_some(abort);
        self.in_turn(callees, stop);
        if self.live {
            self.save_position();
            let code = if self.kind == Kind::Parser {
                self.b.use_var(self.error)
            } else {
                self.imm(0)
            };
            self.b.ins().return_(&[code]);
        }
        self.bind(abort);
        if self.live {
            let code = self.imm(1);
            self.b.ins().return_(&[code]);
        }
    }

    /// Callables one after the other; aborts go to `abort`, or to the next callable.
    fn in_turn(&mut self, callees: &[Callee], abort: Option<Label>) {
        for callee in callees {
            if !self.live {
                return;
            }
            let next = self.label();
            self.exits = Exits {
                done: next,
                exit: next,
                reject: next,
                abort: abort.unwrap_or(next),
            };
            self.body(*callee);
            self.goto(next);
            self.bind(next);
        }
    }

    /// A part as a function of its own.
    fn separate(&mut self, part: Outlined<'p>) {
        let [next, done, exit, reject, abort] = [(); 5].map(|()| self.label());
        let [end, round] = [(); 2].map(|()| self.label());
        self.exits = Exits {
            done,
            exit,
            reject,
            abort,
        };
        let returned = match part {
            Outlined::Callable(callee) => {
                self.body(callee);
                0
            }
            Outlined::Piece(stmts) => {
                self.in_loop = Some((end, round));
                self.stmts(stmts);
                RETURNED
            }
            Outlined::Cases(value, cases) => {
                self.in_loop = Some((end, round));
                self.switch_here(value, cases, &[]);
                RETURNED
            }
        };
        self.goto(next);
        for (label, code) in [
            (next, 0),
            (done, returned),
            (exit, EXITED),
            (abort, ABORTED),
            (end, BROKEN),
            (round, CONTINUED),
        ] {
            self.bind(label);
            if self.live {
                self.save_position();
                let code = self.imm(code);
                self.b.ins().return_(&[code]);
            }
        }
        self.bind(reject);
        if self.live {
            self.save_position();
            let error = self.b.use_var(self.error);
            let code = self.b.ins().iadd_imm_s(error, REJECTED);
            self.b.ins().return_(&[code]);
        }
        self.live = false;
    }

    /// The statements of a callable; what they leave goes to the exits in force.
    fn body(&mut self, callee: Callee) {
        let program = self.unit.program;
        match callee {
            Callee::Action(id) => self.block(&program.actions[id].body),
            Callee::Function(id) => self.block(&program.functions[id].body),
            Callee::Control(id) => {
                let control = &program.controls[id];
                self.block(&control.init);
                self.block(&control.body);
            }
            Callee::Parser(id) => self.parser(id),
        }
    }

    // ----- control flow -----

    fn label(&mut self) -> Label {
        self.targets.push(Target::default());
        Label(self.targets.len() - 1)
    }

    /// A label that will also be jumped to from below.
    fn backward_label(&mut self) -> Label {
        let label = self.label();
        self.targets[label.0].backward = true;
        label
    }

    /// The block of a label that is about to be jumped to from here.
    fn reach(&mut self, label: Label) -> ir::Block {
        let target = &mut self.targets[label.0];
        match target.block {
            Some(block) => {
                target
                    .cache
                    .retain(|word, v| self.cache.get(word) == Some(v));
                block
            }
            None => {
                let block = self.b.create_block();
                target.block = Some(block);
                if !target.backward {
                    target.cache = self.cache.clone();
                }
                block
            }
        }
    }

    fn goto(&mut self, label: Label) {
        if self.live {
            let block = self.reach(label);
            self.b.ins().jump(block, &[]);
            self.live = false;
        }
    }

    /// Goes to `then` if a value is not zero, else to `other`.
    fn branch(&mut self, cond: Value, then: Label, other: Label) {
        if !self.live {
            return;
        }
        if let Some(number) = self.known(cond) {
            self.goto(if number == 0 { other } else { then });
        } else {
            let (then, other) = (self.reach(then), self.reach(other));
            self.b.ins().brif(cond, then, &[], other, &[]);
            self.live = false;
        }
    }

    /// Goes to `there` if a value is not zero, else goes on.
    fn branch_if(&mut self, cond: Value, there: Label) {
        let on = self.label();
        self.branch(cond, there, on);
        self.bind(on);
    }

    /// Goes to `there` if a value is zero, else goes on.
    fn branch_unless(&mut self, cond: Value, there: Label) {
        let on = self.label();
        self.branch(cond, on, there);
        self.bind(on);
    }

    /// Code for a label follows; nothing may fall into it. All jumps to it were written, unless it
    /// is a backward one.
    fn bind(&mut self, label: Label) {
        if std::mem::take(&mut self.idle) {
            self.b.ins().trap(stmt::NEVER);
        }
        let target = &mut self.targets[label.0];
        self.cache = std::mem::take(&mut target.cache);
        self.live = target.block.is_some();
        let (block, backward) = (target.block, target.backward);
        let block = match block {
            Some(block) => block,
            None => {
                // What is written here is thrown away.
                self.idle = true;
                self.b.create_block()
            }
        };
        self.b.switch_to_block(block);
        if !backward {
            self.b.seal_block(block);
        }
    }

    /// The code that follows is rarely run.
    fn set_cold(&mut self) {
        if let (Some(block), true) = (self.b.current_block(), self.live) {
            self.b.set_cold_block(block);
        }
    }

    // ----- values -----

    /// A constant. They all stand in the entry block, so that equal ones are one value.
    fn imm(&mut self, value: i64) -> Value {
        if let Some(known) = self.consts.get(&value) {
            return *known;
        }
        let mut cursor = FuncCursor::new(self.b.func).at_first_insertion_point(self.entry);
        let made = cursor.ins().iconst(I64, value);
        self.consts.insert(value, made);
        made
    }

    fn imm_u(&mut self, value: u64) -> Value {
        self.imm(value as i64)
    }

    /// Calls a helper.
    fn call_helper(&mut self, helper: Helper, args: &[Value]) -> Value {
        debug_assert_eq!(args.len(), helper.params(), "{helper:?}");
        if self.unit.looks_ahead {
            self.end_ahead(None);
            return self.imm(0);
        }
        let symbol = self.unit.symbol(Symbol::Helper(helper));
        self.call_external(SYMBOLS, symbol, args)
    }

    /// Calls a function of the object, or a helper.
    fn call_external(&mut self, namespace: u32, index: u32, args: &[Value]) -> Value {
        let function = match self.imported.get(&(namespace, index)) {
            Some(known) => *known,
            None => {
                let signature = self.unit.signature(args.len());
                let data = ir::ExtFuncData {
                    name: self.external_name(namespace, index),
                    signature: self.b.import_signature(signature),
                    // Helpers may be anywhere; the functions of an object lie together.
                    colocated: namespace == FUNCTIONS,
                    patchable: false,
                };
                let imported = self.b.import_function(data);
                self.imported.insert((namespace, index), imported);
                imported
            }
        };
        let call = self.b.ins().call(function, args);
        self.b.inst_results(call)[0]
    }

    /// The name by which this function knows something of the object.
    fn external_name(&mut self, namespace: u32, index: u32) -> ir::ExternalName {
        let name = ir::UserExternalName { namespace, index };
        ir::ExternalName::user(self.b.func.declare_imported_user_function(name))
    }

    /// Where something that code reads is.
    fn address_of(&mut self, symbol: Symbol) -> Value {
        let index = self.unit.symbol(symbol);
        let data = ir::GlobalValueData::Symbol {
            name: self.external_name(SYMBOLS, index),
            offset: 0.into(),
            colocated: false,
            tls: false,
        };
        let global = self.b.create_global_value(data);
        self.b.ins().symbol_value(I64, global)
    }

    /// The address of some new words of the stack.
    fn slot(&mut self, words: usize) -> Value {
        let at = self.slots.words;
        self.slots.words += words.max(1);
        self.b.func.sized_stack_slots[self.slots.slot].size = (self.slots.words * 8) as u32;
        self.b.ins().iadd_imm_s(self.slots.address, (at * 8) as i64)
    }

    /// The address of a word of the stack that nobody reads.
    fn scratch(&mut self) -> Value {
        self.slots.address
    }

    /// Some values in a new stack slot.
    fn spill(&mut self, words: &[Value]) -> Value {
        let slot = self.slot(words.len());
        for (i, word) in words.iter().enumerate() {
            self.b.ins().store(FLAGS, *word, slot, (i * 8) as i32);
        }
        slot
    }

    /// Adds a site.
    fn site(&mut self, site: Site) -> Value {
        self.unit.sites.push(site);
        self.imm((self.unit.sites.len() - 1) as i64)
    }
}

//! All blocks of the pipeline in one function, with what `simple_switch` does between them for a
//! packet that asks for nothing special: what one block stored, the next finds in a register. It
//! takes the packets of a batch one after the other, and returns where one leaves the short way.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder as _, Value,
    types::{I8X16, I32, I64},
};
use cranelift_frontend::Variable;
use p4ir::{Callee, ControlId};

use super::packet::BYTES;
use super::words::top_mask;
use super::{Arrived, Cut, FLAGS, Gen, Helper, Kind, Label, field};
use crate::compile::jit::{LARGEST_PRIORITY, arrival, departure};
use crate::forward::{Blocks, EgressMetadata, StandardMetadata, Step, Way, forward};
use crate::info;
use crate::v1model::{DROP_PORT, V1ModelInfo, instance_type};

/// The steps of [`forward`], as code that is written.
struct Steps<'g, 'u, 'p> {
    generator: &'g mut Gen<'u, 'p>,
    /// Where the code goes on that leaves early, by [`Way`].
    exits: [Label; WAYS.len()],
    /// The port and replica number with which the packet left ingress.
    passed_on: Option<(Value, Value)>,
}

/// The ways that leave early.
const WAYS: [Way; 5] = [
    Way::Aborted,
    Way::AfterIngress,
    Way::DroppedInIngress,
    Way::AfterEgress,
    Way::DroppedInEgress,
];

/// Where packets go on whose headers are written, and what they take along.
struct Leaving {
    label: Label,
    /// Where the payload is, and where it goes.
    payload: Variable,
    at: Variable,
    queue: Variable,
    ing_prio: Variable,
    eg_prio: Variable,
    port: Variable,
    rid: Variable,
}

impl Leaving {
    fn new(generator: &mut Gen<'_, '_>) -> Self {
        let label = generator.label();
        let [payload, at, queue, ing_prio, eg_prio, port, rid] =
            [(); 7].map(|()| generator.b.declare_var(I64));
        Self {
            label,
            payload,
            at,
            queue,
            ing_prio,
            eg_prio,
            port,
            rid,
        }
    }
}

/// Where the code goes on that leaves so.
fn exit_of(exits: &[Label; WAYS.len()], way: Way) -> Label {
    let at = WAYS.iter().position(|known| *known == way);
    exits[at.unwrap_or(0)]
}

impl Steps<'_, '_, '_> {
    fn exit(&self, way: Way) -> Label {
        exit_of(&self.exits, way)
    }

    /// Goes on if the code that follows can be reached.
    const fn step(&self) -> Step {
        if self.generator.live {
            Step::Continue(())
        } else {
            Step::Break(Way::Aborted)
        }
    }

    fn controls(
        &mut self,
        kind: Kind,
        of: impl FnOnce(&info::Blocks) -> &[ControlId],
        cut: Option<Cut>,
    ) -> Step {
        let callees: Vec<Callee> = of(&self.generator.unit.info.blocks)
            .iter()
            .copied()
            .map(Callee::Control)
            .collect();
        self.generator.enter(kind);
        let abort = self.exit(Way::Aborted);
        self.generator.in_turn(&callees, Some(abort));
        if let Some(cut) = cut {
            self.generator.cut_storing(cut, &[]);
        }
        self.step()
    }
}

impl StandardMetadata for Steps<'_, '_, '_> {
    type Field = Option<usize>;
    type Value = Value;

    fn constant(&mut self, value: u64) -> Value {
        self.generator.imm_u(value)
    }

    fn field(&mut self, field: Option<usize>) -> Value {
        match field {
            Some(leaf) => {
                let word = self.generator.unit.layout.slot(leaf).word;
                self.generator.load_word(word)
            }
            None => self.generator.imm(0),
        }
    }

    fn set_field(&mut self, field: Option<usize>, value: Value) {
        if let Some(leaf) = field {
            let slot = self.generator.unit.layout.slot(leaf);
            let mask = u64::MAX >> (64 - slot.width.clamp(1, 64));
            let value = self.generator.and_imm(value, mask);
            self.generator.store_word(slot.word, value);
        }
    }
}

impl Blocks for Steps<'_, '_, '_> {
    fn ingress(&mut self) -> Step {
        self.controls(Kind::Control, |blocks| &blocks.ingress, Some(Cut::Ingress))
    }

    fn passed_on(&mut self, port: Value, rid: Value) -> EgressMetadata<Value> {
        self.passed_on = Some((port, rid));
        EgressMetadata {
            port,
            instance_type: self.generator.imm_u(instance_type::NORMAL),
            length: self.generator.load_ctx(field::LENGTH),
            time: self.generator.load_ctx(field::NOW_US),
        }
    }

    fn egress(&mut self) -> Step {
        self.controls(Kind::Control, |blocks| &blocks.egress, Some(Cut::Egress))
    }

    fn deparse(&mut self) -> Step {
        self.controls(Kind::Deparser, |blocks| &blocks.deparser, None)
    }

    fn leave_if_requested(&mut self, way: Way) -> Step {
        if self.generator.unit.requests > 0 {
            let requested = self.generator.load_ctx(field::REQUESTED);
            self.leave_if(requested, way)?;
        }
        Step::Continue(())
    }

    fn leave_if(&mut self, value: Value, way: Way) -> Step {
        let exit = self.exit(way);
        let generator = &mut *self.generator;
        let (leaves, stays) = (generator.label(), generator.label());
        generator.branch(value, leaves, stays);
        generator.bind(leaves);
        if generator.live && matches!(way, Way::AfterIngress | Way::AfterEgress) {
            generator.set_cold();
            generator.flush(0..generator.unit.layout.kept as u32);
            generator.store_parsed();
            if let (Some((port, rid)), Way::AfterEgress) = (self.passed_on, way) {
                generator.store_ctx(field::PORT, port);
                generator.store_ctx(field::RID, rid);
            }
        }
        generator.goto(exit);
        generator.bind(stays);
        self.step()
    }

    fn leave_if_dropped(&mut self, port: Value, way: Way) -> Step {
        let drop = DROP_PORT as i64;
        let dropped = self.generator.b.ins().icmp_imm_s(IntCC::Equal, port, drop);
        self.leave_if(dropped, way)
    }
}

impl Gen<'_, '_> {
    /// The function of all blocks. It takes the packets from [`field::NEXT`] to [`field::STOP`],
    /// with a frame whose metadata is set as of a received packet, cleared else, unless words are
    /// variables; it returns a [`Way`], which is [`Way::Sent`] when all were sent or dropped.
    ///
    /// Where the switch looks ahead, it takes one packet, and returns where [`Gen::end_ahead`]
    /// says.
    pub(super) fn whole(&mut self, info: &V1ModelInfo) {
        let top = match self.unit.looks_ahead {
            true => self.label(),
            false => self.backward_label(),
        };
        self.goto(top);
        self.bind(top);
        let arrived = self.take_packet();
        self.start_cleared(info, arrived);
        let exits = WAYS.map(|_| self.label());
        self.unit.cut_end = Some(match self.unit.looks_ahead {
            true => exit_of(&exits, Way::DroppedInIngress),
            false => top,
        });
        self.cut_storing(Cut::Start, &[]);
        let parser = self.unit.info.blocks.parser;
        let leaving = Leaving::new(self);
        for end in self.parser_ends(parser) {
            self.bind(end);
            if !self.live {
                continue;
            }
            self.kind = Kind::Parser;
            self.end_parser();
            let error = self.b.use_var(self.error);
            self.cut_storing(Cut::Parsed, &[error]);
            let mut steps = Steps {
                generator: &mut *self,
                exits,
                passed_on: None,
            };
            if forward(&mut steps, &info.standard, error).is_continue() {
                let passed_on = steps.passed_on;
                self.leave_sent(info, passed_on, &leaving);
            }
        }
        self.bind(leaving.label);
        if self.live {
            self.depart(info, &leaving);
            self.goto(top);
        }
        for (label, way) in exits.into_iter().zip(WAYS) {
            self.bind(label);
            let dropped = matches!(way, Way::DroppedInIngress | Way::DroppedInEgress);
            if dropped && self.live && !self.unit.looks_ahead {
                self.note_drop(way);
                self.goto(top);
            }
            self.end(way);
        }
    }

    /// Notes that the packet is dropped.
    fn note_drop(&mut self, way: Way) {
        let number = self.load_ctx(field::ARRIVAL);
        let twice = self.b.ins().iadd(number, number);
        let egress = i64::from(way == Way::DroppedInEgress);
        let word = self.b.ins().iadd_imm_s(twice, egress);
        let at = self.load_ctx(field::DROPPED);
        self.b.ins().store(FLAGS, word, at, 0);
        let next = self.b.ins().iadd_imm_s(at, size_of::<u64>() as i64);
        self.store_ctx(field::DROPPED, next);
    }

    /// Takes the next packet, or returns if there is none.
    fn take_packet(&mut self) -> Arrived {
        let next = self.load_ctx(field::NEXT);
        if !self.unit.looks_ahead {
            let stop = self.load_ctx(field::STOP);
            let none = self.b.ins().icmp(IntCC::Equal, next, stop);
            let (end, on) = (self.label(), self.label());
            self.branch(none, end, on);
            self.bind(end);
            self.end(Way::Sent);
            self.bind(on);
        }
        let at = self.b.ins().load(I64, FLAGS, next, arrival::AT as i32);
        let length = self.b.ins().load(I64, FLAGS, next, arrival::LENGTH as i32);
        let port = self.b.ins().uload16(I64, FLAGS, next, arrival::PORT as i32);
        let behind = self.b.ins().iadd_imm_s(next, arrival::SIZE as i64);
        self.store_ctx(field::NEXT, behind);
        let number = self.load_ctx(field::ARRIVAL);
        let number = self.b.ins().iadd_imm_s(number, 1);
        self.store_ctx(field::ARRIVAL, number);
        // Helpers and the functions of parts find the packet in the context.
        self.store_ctx(field::PACKET, at);
        self.store_ctx(field::PACKET_LEN, length);
        self.store_ctx(field::LENGTH, length);
        let zero = self.imm(0);
        if self.unit.requests > 0 {
            self.store_ctx(field::REQUESTED, zero);
        }
        if self.unit.spends_rounds {
            self.store_ctx(field::ROUNDS, zero);
        }
        let arrived = Arrived {
            at,
            length,
            port,
            parsed: None,
        };
        self.arrived = Some(arrived);
        self.b.def_var(self.error, zero);
        if self.reads_bytes() {
            self.find_end();
            self.b.def_var(self.position, at);
        } else {
            self.store_ctx(field::CURSOR, zero);
        }
        arrived
    }

    /// The parser has ended here.
    fn end_parser(&mut self) {
        if !self.unit.in_registers() {
            // The functions of parts find its place in the context.
            self.save_position();
        } else if let Some(arrived) = &mut self.arrived {
            arrived.parsed = Some(self.b.use_var(self.position));
        }
    }

    /// Gives the place where the parser ended to the context, if it is not there.
    pub(super) fn store_parsed(&mut self) {
        if let Some(Arrived {
            at,
            parsed: Some(parsed),
            ..
        }) = self.arrived
        {
            self.store_cursor(at, parsed);
        }
    }

    /// Ends the packet here if this is the place. Some values are stored, so that they are
    /// computed.
    pub(super) fn cut_storing(&mut self, here: Cut, values: &[Value]) {
        let (Some(cut), Some(end), true) = (self.unit.cut, self.unit.cut_end, self.live) else {
            return;
        };
        if cut == here {
            for value in values {
                self.store_ctx(field::PORT, *value);
            }
            self.goto(end);
            // What follows is written, but nothing jumps to it.
            let on = self.label();
            self.bind(on);
        }
    }

    /// Goes on with a packet whose headers are written; what the program says of it is taken along.
    fn leave_sent(
        &mut self,
        info: &V1ModelInfo,
        passed_on: Option<(Value, Value)>,
        leaving: &Leaving,
    ) {
        if !self.live {
            return;
        }
        let mut said = |leaf: Option<usize>, is_priority: bool| {
            let Some(leaf) = leaf else {
                return self.imm(0);
            };
            let slot = self.unit.layout.slot(leaf);
            let said = self.load_word(slot.word);
            if is_priority && slot.width > u8::BITS {
                let largest = self.imm_u(LARGEST_PRIORITY);
                return self.b.ins().umin(said, largest);
            }
            said
        };
        let queue = said(info.standard.priority, false);
        let ing_prio = said(info.ing_prio, true);
        let eg_prio = said(info.eg_prio, true);
        let zero = self.imm(0);
        let (port, rid) = passed_on.unwrap_or((zero, zero));
        let payload = match self.arrived.and_then(|arrived| arrived.parsed) {
            Some(parsed) => parsed,
            None => self.load_cursor(),
        };
        let at = self.b.use_var(self.position);
        for (variable, value) in [
            (leaving.payload, payload),
            (leaving.at, at),
            (leaving.queue, queue),
            (leaving.ing_prio, ing_prio),
            (leaving.eg_prio, eg_prio),
            (leaving.port, port),
            (leaving.rid, rid),
        ] {
            self.b.def_var(variable, value);
        }
        self.goto(leaving.label);
    }

    /// Copies the payload behind the headers, and notes the departure.
    fn depart(&mut self, info: &V1ModelInfo, leaving: &Leaving) {
        let behind = self.copy_payload(leaving);
        let start = self.load_ctx(field::START);
        self.store_ctx(field::START, behind);
        let all = self.load_ctx(field::ALL_BYTES);
        let departure = self.load_ctx(field::SENT);
        let next = self.b.ins().iadd_imm_s(departure, departure::SIZE as i64);
        self.store_ctx(field::SENT, next);
        for (place, field) in [(start, departure::START), (behind, departure::END)] {
            let offset = self.b.ins().isub(place, all);
            self.b.ins().store(FLAGS, offset, departure, field as i32);
        }
        let number = self.load_ctx(field::ARRIVAL);
        let kind = self.imm_u(instance_type::NORMAL);
        for (number, field) in [
            (number, departure::ARRIVAL),
            (kind, departure::INSTANCE_TYPE),
        ] {
            self.b
                .ins()
                .istore32(FLAGS, number, departure, field as i32);
        }
        let queue = self.b.use_var(leaving.queue);
        self.b
            .ins()
            .istore8(FLAGS, queue, departure, departure::QUEUE as i32);
        let ing_prio = self.priority(info.ing_prio.is_some(), leaving.ing_prio);
        let eg_prio = self.priority(info.eg_prio.is_some(), leaving.eg_prio);
        let port = self.b.use_var(leaving.port);
        let rid = self.b.use_var(leaving.rid);
        for (number, field) in [
            (ing_prio, departure::ING_PRIO),
            (eg_prio, departure::EG_PRIO),
            (port, departure::PORT),
            (rid, departure::RID),
        ] {
            // Priorities do not begin at even addresses.
            self.b
                .ins()
                .istore16(BYTES, number, departure, field as i32);
        }
    }

    /// A priority as [`departure`] has it.
    fn priority(&mut self, is_said: bool, said: Variable) -> Value {
        if !is_said {
            return self.imm_u(departure::NONE.into());
        }
        let said = self.b.use_var(said);
        let said = self.shl_imm(said, departure::VALUE);
        let some = self.imm_u(departure::SOME.into());
        self.b.ins().bor(said, some)
    }

    /// Copies what the parser left behind what was written; where that ends.
    fn copy_payload(&mut self, leaving: &Leaving) -> Value {
        let from = self.b.use_var(leaving.payload);
        let to = self.b.use_var(leaving.at);
        // The packet's end is one of those things that are no longer in a register here.
        let packet = self.load_ctx(field::PACKET);
        let length = self.load_ctx(field::PACKET_LEN);
        let end = self.b.ins().iadd(packet, length);
        let count = self.b.ins().isub(end, from);
        let behind = self.b.ins().iadd(to, count);
        let [outside, done] = [(); 2].map(|()| self.label());
        let most = 2 * i64::from(I8X16.bytes());
        let long = self
            .b
            .ins()
            .icmp_imm_u(IntCC::UnsignedGreaterThan, count, most);
        self.branch_if(long, outside);
        // As two parts that overlap, which is what most short payloads are.
        for part in [I8X16, I64, I32] {
            let (fits, short) = (self.label(), self.label());
            let bytes = part.bytes() as i32;
            let is_short =
                self.b
                    .ins()
                    .icmp_imm_u(IntCC::UnsignedLessThan, count, i64::from(bytes));
            self.branch(is_short, short, fits);
            self.bind(fits);
            let first = self.b.ins().load(part, BYTES, from, 0);
            let last = self.b.ins().load(part, BYTES, end, -bytes);
            self.b.ins().store(BYTES, first, to, 0);
            self.b.ins().store(BYTES, last, behind, -bytes);
            self.goto(done);
            self.bind(short);
        }
        self.goto(outside);
        self.bind(outside);
        self.call_helper(Helper::CopyBytes, &[to, from, count]);
        self.goto(done);
        self.bind(done);
        behind
    }

    /// What was not set for the packet is zero.
    fn start_cleared(&mut self, info: &V1ModelInfo, arrived: Arrived) {
        let layout = self.unit.layout;
        let standard = &info.standard;
        let in_registers = self.unit.in_registers();
        if in_registers {
            self.use_registers();
        }
        let zero = self.imm(0);
        for word in 0..layout.kept as u32 {
            self.cache.insert(word, zero);
        }
        let now = self.load_ctx(field::NOW_US);
        for (leaf, value) in [
            (standard.ingress_port, arrived.port),
            (standard.packet_length, arrived.length),
            (standard.ingress_global_timestamp, now),
        ] {
            let Some(slot) = leaf.map(|leaf| layout.slot(leaf)) else {
                continue;
            };
            if in_registers {
                let value = self.and_imm(value, top_mask(slot.width.min(64)));
                self.store_word(slot.word, value);
            } else {
                self.forget(slot.word..slot.word + slot.words());
            }
        }
        if let Some(slot) = info.port_status.map(|leaf| layout.slot(leaf)) {
            let words = slot.word..slot.word + slot.words();
            if in_registers {
                let status = self.load_ctx(field::PORT_STATUS);
                let status = self.load_words(status, words.len());
                for (word, value) in words.zip(status) {
                    self.store_word(word, value);
                }
            } else {
                self.forget(words);
            }
        }
    }

    /// Begins a block of another kind.
    fn enter(&mut self, kind: Kind) {
        self.kind = kind;
        if self.live {
            // The blocks were written before, each on its own.
            if self.unit.spends_rounds {
                let zero = self.imm(0);
                self.store_ctx(field::ROUNDS, zero);
            }
            if self.writes_bytes() {
                let start = self.load_ctx(field::START);
                self.b.def_var(self.position, start);
            }
        }
    }

    fn end(&mut self, way: Way) {
        if self.live {
            let code = self.imm_u(way as u64);
            self.b.ins().return_(&[code]);
            self.live = false;
        }
    }
}

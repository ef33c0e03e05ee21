//! All blocks of the pipeline in one function, with what `simple_switch` does between them for a
//! packet that asks for nothing special: what one block stored, the next finds in a register.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value};
use p4ir::{Callee, ControlId};

use super::words::top_mask;
use super::{Cut, FLAGS, Gen, Kind, Label, field};
use crate::compile::jit::LARGEST_PRIORITY;
use crate::forward::{Blocks, EgressMetadata, StandardMetadata, Step, Way, forward};
use crate::info;
use crate::v1model::{DROP_PORT, V1ModelInfo, instance_type};

/// The steps of [`forward`], as code that is written.
struct Steps<'g, 'u, 'p> {
    generator: &'g mut Gen<'u, 'p>,
    /// Where the code goes on that leaves early, by [`Way`].
    exits: [Label; WAYS.len()],
}

/// The ways that leave early.
const WAYS: [Way; 5] = [
    Way::Aborted,
    Way::AfterIngress,
    Way::DroppedInIngress,
    Way::AfterEgress,
    Way::DroppedInEgress,
];

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
        self.generator.store_ctx(field::PORT, port);
        self.generator.store_ctx(field::RID, rid);
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
        self.controls(Kind::Deparser, |blocks| &blocks.deparser, None)?;
        self.generator.save_position();
        Step::Continue(())
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
    /// The function of all blocks. It is given the whole packet, and a frame in which the metadata of a received packet is set, cleared
    /// else unless words are variables, and returns a [`Way`].
    pub(super) fn whole(&mut self, info: &V1ModelInfo) {
        self.start_cleared(info);
        if self.reads_bytes() {
            // Nothing was taken from the packet yet.
            let packet = self.load_ctx(field::PACKET);
            self.b.def_var(self.position, packet);
        }
        let exits = WAYS.map(|_| self.label());
        self.unit.cut_end = Some(exit_of(&exits, Way::DroppedInIngress));
        self.cut_storing(Cut::Start, &[]);
        let parser = self.unit.info.blocks.parser;
        for end in self.parser_ends(parser) {
            self.bind(end);
            if !self.live {
                continue;
            }
            self.kind = Kind::Parser;
            self.save_position();
            let error = self.b.use_var(self.error);
            self.cut_storing(Cut::Parsed, &[error]);
            let mut steps = Steps {
                generator: &mut *self,
                exits,
            };
            if forward(&mut steps, &info.standard, error).is_continue() {
                self.leave_sent(info);
            }
        }
        for (label, way) in exits.into_iter().zip(WAYS) {
            self.bind(label);
            self.end(way);
        }
    }

    /// Ends the packet here if this is the place. Some values are stored, so that they are computed.
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

    /// Ends with a packet that is written; the switch reads what the program says of it.
    fn leave_sent(&mut self, info: &V1ModelInfo) {
        for (leaf, field) in [
            (info.standard.priority, field::QUEUE),
            (info.ing_prio, field::ING_PRIO),
            (info.eg_prio, field::EG_PRIO),
        ] {
            let (Some(leaf), true) = (leaf, self.live) else {
                continue;
            };
            let slot = self.unit.layout.slot(leaf);
            let mut said = self.load_word(slot.word);
            if field != field::QUEUE && slot.width > u8::BITS {
                let largest = self.imm_u(LARGEST_PRIORITY);
                said = self.b.ins().umin(said, largest);
            }
            let ctx = self.ctx;
            self.b.ins().istore8(FLAGS, said, ctx, field);
        }
        self.end(Way::Sent);
    }

    /// What was not set for the packet is zero.
    fn start_cleared(&mut self, info: &V1ModelInfo) {
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
        for (leaf, field) in [
            (standard.ingress_port, field::IN_PORT),
            (standard.packet_length, field::LENGTH),
            (standard.ingress_global_timestamp, field::NOW_US),
        ] {
            let Some(slot) = leaf.map(|leaf| layout.slot(leaf)) else {
                continue;
            };
            if in_registers {
                let value = self.load_ctx(field);
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
            self.load_position();
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

//! All blocks of the pipeline in one function, with what `simple_switch` does between them for a
//! packet that asks for nothing special: what one block stored, the next finds in a register.

use std::ops::ControlFlow;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value};
use p4ir::{Callee, ControlId};

use super::{Gen, Kind, Label, field};
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

impl Steps<'_, '_, '_> {
    fn exit(&self, way: Way) -> Label {
        let at = WAYS.iter().position(|known| *known == way);
        self.exits[at.unwrap_or(0)]
    }

    /// Goes on if the code that follows can be reached.
    const fn step(&self) -> Step {
        if self.generator.live {
            Step::Continue(())
        } else {
            Step::Break(Way::Aborted)
        }
    }

    fn controls(&mut self, kind: Kind, of: impl FnOnce(&info::Blocks) -> &[ControlId]) -> Step {
        let callees: Vec<Callee> = of(&self.generator.unit.info.blocks)
            .iter()
            .copied()
            .map(Callee::Control)
            .collect();
        self.generator.enter(kind);
        let abort = self.exit(Way::Aborted);
        self.generator.in_turn(&callees, Some(abort));
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
    fn parse(&mut self) -> ControlFlow<Way, Value> {
        let parser = self.generator.unit.info.blocks.parser;
        self.generator.in_turn(&[Callee::Parser(parser)], None);
        self.step()?;
        self.generator.save_position();
        let error = self.generator.error;
        ControlFlow::Continue(self.generator.b.use_var(error))
    }

    fn ingress(&mut self) -> Step {
        self.controls(Kind::Control, |blocks| &blocks.ingress)
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
        self.controls(Kind::Control, |blocks| &blocks.egress)
    }

    fn deparse(&mut self) -> Step {
        self.controls(Kind::Deparser, |blocks| &blocks.deparser)?;
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
        self.generator.branch_if(value, exit);
        Step::Continue(())
    }

    fn leave_if_dropped(&mut self, port: Value, way: Way) -> Step {
        let drop = DROP_PORT as i64;
        let dropped = self.generator.b.ins().icmp_imm_s(IntCC::Equal, port, drop);
        self.leave_if(dropped, way)
    }
}

impl Gen<'_, '_> {
    /// The function of all blocks. It is given a cleared frame in which the metadata of a received
    /// packet is set, and returns a [`Way`].
    pub(super) fn whole(&mut self, info: &V1ModelInfo) {
        self.start_cleared(info);
        let exits = WAYS.map(|_| self.label());
        let mut steps = Steps {
            generator: &mut *self,
            exits,
        };
        if forward(&mut steps, &info.standard).is_continue() {
            self.end(Way::Sent);
        }
        for (label, way) in exits.into_iter().zip(WAYS) {
            self.bind(label);
            self.end(way);
        }
    }

    /// What was not set for the packet is zero.
    fn start_cleared(&mut self, info: &V1ModelInfo) {
        let layout = self.unit.layout;
        let standard = &info.standard;
        let mut set = Vec::new();
        for leaf in [
            standard.ingress_port,
            standard.packet_length,
            standard.ingress_global_timestamp,
            info.port_status,
        ] {
            let slot = leaf.map(|leaf| layout.slot(leaf));
            set.extend(slot.map(|slot| slot.word..slot.word + slot.words()));
        }
        let zero = self.imm(0);
        for word in 0..layout.kept as u32 {
            if !set.iter().any(|words| words.contains(&word)) {
                self.cache.insert(word, zero);
            }
        }
    }

    /// Begins a block of another kind.
    fn enter(&mut self, kind: Kind) {
        self.kind = kind;
        if self.live {
            let zero = self.imm(0);
            self.store_ctx(field::ROUNDS, zero);
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

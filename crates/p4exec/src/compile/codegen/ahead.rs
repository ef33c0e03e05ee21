//! The function that looks ahead: a packet's way as far as the first table that compiled code does
//! not look up by itself. It returns that table and the key, and leaves nothing behind, so that the
//! executor can look up the keys of many packets together before it runs the first of them
//! ([`crate::compile::ahead`]).
//!
//! What lies before that table must be the same when the packet is run: where a packet comes to
//! something that packets change (a register, a counter, a meter), or to anything that a helper
//! does, the function ends without a key.

use cranelift_codegen::ir::{InstBuilder as _, Value};
use cranelift_frontend::FunctionBuilderContext;
use p4ir::{Entity as _, TableId};

use super::{Cut, FLAGS, Gen, Kind, Unit, field};
use crate::compile::ahead::MANY_ENTRIES;
use crate::compile::jit::FIRST_TABLE;
use crate::compile::memo::KEY_WORDS;
use crate::state::BuildError;
use crate::v1model::V1ModelInfo;

impl Unit<'_> {
    /// Whether a table may come to hold so much that looking ahead is worth its code.
    pub(super) fn may_look_ahead(&self) -> bool {
        let mut tables = self.program.tables.values();
        tables.any(|table| {
            let size = table.capacity(None).unwrap_or_default();
            !table.keys.is_empty() && size >= MANY_ENTRIES as u64
        })
    }

    /// Writes the function; the one of all blocks has been written.
    pub(super) fn look_ahead(
        &mut self,
        context: &mut FunctionBuilderContext,
        info: &V1ModelInfo,
    ) -> Result<u32, BuildError> {
        let id = self.declare();
        (self.looks_ahead, self.cut) = (true, Some(Cut::Ingress));
        let written = self.define(context, "look ahead", id, Kind::Parser, |generator| {
            generator.whole(info);
        });
        (self.looks_ahead, self.cut) = (false, None);
        written.map(|()| id)
    }
}

impl Gen<'_, '_> {
    /// Ends the function that looks ahead, with the first look-up if that was reached and its key
    /// is not too long.
    pub(super) fn end_ahead(&mut self, found: Option<(TableId, &[Value])>) {
        if !self.live {
            return;
        }
        let mut code = 0;
        if let Some((id, key)) = found.filter(|(_, key)| (1..=KEY_WORDS).contains(&key.len())) {
            let place = self.load_ctx(field::KEY);
            for (i, word) in key.iter().enumerate() {
                self.b.ins().store(FLAGS, *word, place, (i * 8) as i32);
            }
            code = FIRST_TABLE + id.index() as u64;
        }
        let code = self.imm_u(code);
        self.b.ins().return_(&[code]);
        self.live = false;
        // What follows is written, but nothing jumps to it.
        let on = self.label();
        self.bind(on);
    }
}
